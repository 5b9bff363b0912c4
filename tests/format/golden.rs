//! Golden tables: small whole tables, each written once by the build of its time. The library and the reference reader must be
//! able to read them for ever, and nothing may rewrite them. [`TABLES`] lists the tables; `tests/golden/v1` holds a directory for
//! each of them, with the table and the expected rows in `expected.json`.

mod build;

use crate::common;
use crate::common::plain;
use crate::sums;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::common::tables::block_on;
use build::{TABLES, known_codecs};
use serde_json::Value;
use tetrys::{
    Table,
    codec::Chain,
    format::{LayoutRun, read_layout},
};

fn stored() -> PathBuf {
    common::root().join("tests/golden/v1")
}

/// Returns the names of the tables in a folder.
fn names(folder: &Path) -> BTreeSet<String> {
    sums::files(folder).iter().filter_map(|file| file.split_once('/')).map(|(name, _)| name.to_owned()).collect()
}

fn expected(folder: &Path, name: &str) -> Value {
    serde_json::from_slice(&fs::read(folder.join(name).join("expected.json")).unwrap()).unwrap()
}

/// Reads every table of a folder with the library and compares it with its `expected.json`.
fn read_all(folder: &Path) {
    for name in names(folder) {
        let path = folder.join(&name).join("table");
        block_on(async {
            let table = Table::open(path.to_str().unwrap()).await.unwrap();
            let (found, expected) = (plain::contents(&table).await, expected(folder, &name));
            assert!(found == expected, "{name}:\nfound    {found:.2000}\nexpected {expected:.2000}");
            let verified = table.storage().verify(|_, _| {}).await.unwrap();
            assert!(verified.damage.is_empty(), "{name}: {verified:?}");
        });
    }
}

/// Returns the runs of blocks of all tables of a folder.
fn runs(folder: &Path) -> Vec<LayoutRun> {
    let mut found = Vec::new();
    for name in names(folder) {
        let table = block_on(Table::open(folder.join(name).join("table").to_str().unwrap())).unwrap();
        for segment in &table.manifest().segments {
            for group in &segment.groups {
                let object = format!("layout/{}.parquet", group.layout.blake3);
                let bytes = block_on(table.store().get_exact(&object, group.layout.bytes)).unwrap();
                found.extend(read_layout(bytes, group.columns.len(), segment.rows, table.manifest().stores.len()).unwrap());
            }
        }
    }
    found
}

/// Returns the codec ids of a chain.
fn codecs(chain: &Chain) -> Vec<u8> {
    let mut bytes = Vec::new();
    chain.write(&mut bytes);
    bytes[1..].iter().copied().step_by(2).collect()
}

/// Checks that a folder with all tables contains everything that the list of tables promises.
fn check_promises(folder: &Path) {
    assert_eq!(names(folder), TABLES.iter().map(|table| table.name.to_owned()).collect());
    let runs = runs(folder);
    let found: BTreeSet<u8> = runs.iter().flat_map(|run| run.chains.iter().flat_map(codecs)).collect();
    assert_eq!(found, known_codecs(), "the codecs in golden tables, and those of the format");
    assert!(runs.iter().any(|run| run.pages.is_some()) && runs.iter().any(|run| run.pages.is_none()), "page lengths");
    assert!((0..=2).all(|owner| runs.iter().any(|run| run.owner == owner)), "owners");
    for table in TABLES {
        let manifest = block_on(Table::open(folder.join(table.name).join("table").to_str().unwrap())).unwrap();
        assert!((table.holds)(manifest.manifest()), "{} holds what it is there for", table.name);
        let bytes: u64 = sums::files(&folder.join(table.name))
            .iter()
            .map(|file| fs::metadata(folder.join(table.name).join(file)).unwrap().len())
            .sum();
        assert!(bytes < 120_000, "{}: {bytes} bytes", table.name);
    }
}

#[test]
fn golden_tables_made_now_are_read_and_hold_every_codec() {
    let folder = tempfile::tempdir().unwrap();
    build::tables(folder.path());
    read_all(folder.path());
    check_promises(folder.path());
}

#[test]
fn every_golden_table_is_read_as_it_was_written() {
    read_all(&stored());
}

#[test]
fn every_golden_table_is_listed_and_unchanged() {
    sums::check(&stored(), &[]);
    check_promises(&stored());
}

#[test]
fn the_reference_reader_reads_the_golden_tables() {
    let Some(python) = plain::python() else { return };
    let made = tempfile::tempdir().unwrap();
    build::tables(made.path());
    for folder in [made.path().to_owned(), stored()] {
        let names = names(&folder);
        let paths: Vec<_> = names.iter().map(|name| folder.join(name).join("table")).collect();
        let paths: Vec<&str> = paths.iter().map(|path| path.to_str().unwrap()).collect();
        let printed = plain::printed(&python, "read_table.py", &[&["--values"], paths.as_slice()].concat());
        assert_eq!(printed.lines().count(), names.len());
        for (name, line) in names.iter().zip(printed.lines()) {
            let found: Value = serde_json::from_str(line).unwrap();
            assert!(found == expected(&folder, name), "{name}: {line:.2000}");
        }
    }
}

/// Builds the tables that do not exist yet. Existing tables are never changed.
///
/// ```sh
/// cargo test -p tetrys --no-default-features --test format golden -- --ignored build_the_golden_tables
/// ```
#[test]
#[ignore = "writes into tests/golden/v1"]
fn build_the_golden_tables() {
    let made = tempfile::tempdir().unwrap();
    build::tables(made.path());
    read_all(made.path());
    check_promises(made.path());
    // A table is added whole or not at all. Its objects are named by their content, and another build may write other bytes.
    let there = names(&stored());
    for name in there {
        fs::remove_dir_all(made.path().join(name)).unwrap();
    }
    sums::add(made.path(), &stored(), &[]);
    read_all(&stored());
    check_promises(&stored());
}
