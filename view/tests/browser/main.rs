//! The page in a browser. The tests need Node, the packages of `view/web` (`npm ci`) and a Chromium, and are skipped without one of these.
//!
//! `TETRYS_PICTURES=FOLDER` keeps a picture of each page, at both widths and in both themes.

#[path = "../common/mod.rs"]
mod common;
mod runner;

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float32Array, Float64Array, Int64Array, LargeStringArray, RecordBatch, UInt64Array};
use tetrys::{Schema, Table, WriteOptions};
use tetrys_view::{Options, Server, Source};

use common::{block_on, damage, write_drives};
use runner::run;

/// Rows above which the scroll bar stands for more rows than a page is high.
const MANY: i64 = 700_000;

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

/// Returns a text for each value, equal for equal values, as JSON.
fn json_of<T: Copy + ToString>(values: &[Option<T>]) -> serde_json::Value {
    values.iter().map(|value| value.map(|value| value.to_string())).collect()
}

#[test]
fn values_at_the_edges_of_their_types_are_chosen_by_clicks() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let big = [0, 1 << 53, (1 << 53) + 1, u64::MAX, u64::MAX - 1, 1 << 63, u64::MAX, (1 << 53) + 1].map(Some);
        let whole = [i64::MIN, i64::MAX, -1, 0, (1 << 53) + 1, i64::MIN, i64::MAX - 1, -(1 << 53) - 1].map(Some);
        let float = [f64::NAN, 0.0, 5e-324, 1e21, f64::INFINITY, 0.1, f64::NEG_INFINITY, -1.5e-7].map(Some);
        let half = [Some(0.1_f32), None, Some(f32::MAX), Some(1e-45), Some(0.1), Some(0.0), None, Some(16_777_216.0)];
        let text =
            [Some("it's"), Some("a \"b\""), Some("line\nbreak"), Some(""), None, Some("' OR 1 = 1"), Some("😀"), Some("it's")];
        let flag = [Some(true), None, Some(false), Some(true), None, Some(true), Some(false), Some(false)];
        let schema = Schema::builder().index("id", "i64").index("big", "u64").index("whole", "i64").index("float", "f64");
        let schema = schema.index("half", "f32").index("text", "utf8").index("flag", "bool").build().unwrap();
        let root = folder.path().join("edges").display().to_string();
        let writer = Table::create(&root, schema, WriteOptions::default()).await.unwrap();
        let mut partition = writer.partition().unwrap();
        let columns: Vec<(&str, ArrayRef, bool)> = vec![
            ("id", Arc::new(Int64Array::from_iter_values(0..8)), true),
            ("big", Arc::new(UInt64Array::from(big.to_vec())), true),
            ("whole", Arc::new(Int64Array::from(whole.to_vec())), true),
            ("float", Arc::new(Float64Array::from(float.to_vec())), true),
            ("half", Arc::new(Float32Array::from(half.to_vec())), true),
            ("text", Arc::new(LargeStringArray::from(text.to_vec())), true),
            ("flag", Arc::new(BooleanArray::from(flag.to_vec())), true),
        ];
        partition.write(&RecordBatch::try_from_iter_with_nullable(columns).unwrap()).await.unwrap();
        let table = writer.commit([partition.finish().await.unwrap()]).await.unwrap();
        let given = serde_json::json!({
            "id": json_of(&[0, 1, 2, 3, 4, 5, 6, 7].map(Some)), "big": json_of(&big), "whole": json_of(&whole), "float": json_of(&float),
            "half": json_of(&half), "text": json_of(&text), "flag": json_of(&flag),
        });
        let server = Server::start(vec![Source::of_table(table)], Options::default()).await.unwrap();
        let arguments = [server.url(), given.to_string()];
        tokio::task::spawn_blocking(move || run("edges", &arguments)).await.unwrap();
    });
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
