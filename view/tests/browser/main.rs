//! The page in a browser. The tests need Node, the packages of `view/web` (`npm ci`) and a Chromium, and are skipped without one of these.
//!
//! `TETRYS_PICTURES=FOLDER` keeps a picture of each page, at both widths and in both themes.

#[path = "../common/mod.rs"]
mod common;

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use tetrys::{Schema, Table, WriteOptions};
use tetrys_view::{Options, Server, Source};

use common::{block_on, damage, environment::skip, write_drives};

/// Rows above which the scroll bar stands for more rows than a page is high.
const MANY: i64 = 700_000;

/// Returns a Chromium without a window; `TETRYS_CHROMIUM` names one.
fn chromium() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("TETRYS_CHROMIUM") {
        return Some(named.into());
    }
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let names = ["chromium-headless-shell", "chromium", "google-chrome"];
    names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|file| file.is_file())
}

/// Runs a scenario of `browser.mjs` with these addresses.
fn run(scenario: &str, addresses: &[String]) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Some(chromium) = chromium() else {
        return skip("no Chromium (Debian: chromium-headless-shell); TETRYS_CHROMIUM names one");
    };
    if !here.join("web/node_modules/playwright-core").is_dir() {
        return skip("no packages in view/web/node_modules: `npm ci` in view/web");
    }
    let mut command = Command::new("node");
    command.arg(here.join("tests/browser/browser.mjs")).arg(scenario).args(addresses).env("CHROMIUM", chromium);
    let Ok(output) = command.output() else { return skip("no Node") };
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{out}{err}");
    assert!(output.status.success() && out.contains("\nall done\n"), "{out}{err}");
}

/// Runs a scenario with a table of drives, and a view of it.
fn run_with_drives(scenario: &'static str) {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let table = write_drives(&folder.path().join("drives")).await;
        let view = folder.path().join("rainy").display().to_string();
        table.index().await.unwrap().filter_sql("weather = 'rain'").unwrap().save(&view).await.unwrap();
        let sources = vec![Source::of_table(table), Source::of_table(Table::open(&view).await.unwrap())];
        let server = Server::start(sources, Options::default()).await.unwrap();
        let url = server.url();
        tokio::task::spawn_blocking(move || run(scenario, &[url])).await.unwrap();
    });
}

#[test]
fn the_pages_are_accessible_in_both_themes_and_widths() {
    run_with_drives("looks");
}

#[test]
fn the_pages_work_with_mouse_and_keyboard() {
    run_with_drives("pages");
}

#[test]
fn a_damaged_row_shows_its_error_in_its_card() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let table = write_drives(&folder.path().join("drives")).await;
        damage(&table, &folder.path().join("drives"), "lidar", 70).await;
        let server = Server::start(vec![Source::of_table(table)], Options::default()).await.unwrap();
        let url = server.url();
        tokio::task::spawn_blocking(move || run("damaged", &[url])).await.unwrap();
    });
}

#[test]
fn the_last_of_many_rows_is_reached_by_keys_wheel_and_scroll_bar() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let schema = Schema::builder().index("number", "i64").index("half", "i64").build().unwrap();
        let root = folder.path().join("many").display().to_string();
        let writer = Table::create(&root, schema, WriteOptions::default()).await.unwrap();
        let mut partition = writer.partition().unwrap();
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("number", Arc::new(Int64Array::from_iter_values(0..MANY))),
            ("half", Arc::new(Int64Array::from_iter_values((0..MANY).map(|row| row / 2)))),
        ];
        partition.write(&RecordBatch::try_from_iter(columns).unwrap()).await.unwrap();
        let table = writer.commit([partition.finish().await.unwrap()]).await.unwrap();
        let server = Server::start(vec![Source::of_table(table)], Options::default()).await.unwrap();
        let url = server.url();
        tokio::task::spawn_blocking(move || run("many", &[url])).await.unwrap();
    });
}
