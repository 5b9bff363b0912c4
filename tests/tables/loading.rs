//! Indexes in memory: every way of loading gives the same frame, text can become categorical, locators of consecutive rows take no
//! memory, and scans read the index part by part.
#![cfg(feature = "frame")]

use std::sync::Arc;

use crate::common::{
    self,
    tables::{Rng, Taste, block_on, column, cut_by, memory, rows_of, tiny_cuts, write},
};
use arrow_array::{ArrayRef, Int64Array, LargeStringArray, RecordBatch, cast::AsArray, types::Int64Type};
use polars::prelude::{DataFrame, DataType, IntoLazy, col, lit};
use tetrys::{ErrorKind, Index, Merge, RowLoader, Schema, Store, Table, index as frames, schema::Column, table::IndexRequest};

/// The types that index columns may have.
const TYPES: [&str; 20] = [
    "bool",
    "i8",
    "i16",
    "i32",
    "i64",
    "u8",
    "u16",
    "u32",
    "u64",
    "f32",
    "f64",
    "utf8",
    "categorical",
    "date",
    "timestamp[ms]",
    "timestamp[s]",
    "timestamp[us,UTC]",
    "timestamp[ns,Europe/Berlin]",
    "duration[s]",
    "duration[ns]",
];

/// Writes a table with an index column of every type, in many segments.
fn of_every_type(rng: &mut Rng, taste: Taste) -> Table {
    let mut schema = Schema::builder();
    for (place, ty) in TYPES.iter().enumerate() {
        schema = schema.index(format!("c{place}"), *ty);
    }
    let schema = schema.group("x", [("x", "i64")]).build().unwrap();
    let mut partitions = Vec::new();
    for _ in 0..1 + rng.below(6) {
        let rows = 1 + rng.below(40) as usize;
        let columns = schema.columns().iter().map(|described| {
            // Seconds must fit into 64-bit milliseconds.
            let seconds = described.ty.to_string().contains("[s");
            let taste = if seconds { Taste { smooth: true, ..taste } } else { taste };
            (described.name.as_str(), column(rng, &described.ty, rows, taste), true)
        });
        partitions.push(RecordBatch::try_from_iter_with_nullable(columns.collect::<Vec<_>>()).unwrap());
    }
    let (_, store) = memory();
    block_on(write(store, schema, cut_by(tiny_cuts()).segment_rows(1 + rng.below(60)), &partitions)).unwrap()
}

/// Returns the frame of the index as it is made from Arrow batches, column by column.
fn from_batches(table: &Table) -> DataFrame {
    let described: Vec<&Column> = table.schema().index().collect();
    frames::frame(&described, table.rows(), block_on(table.index_batches()).unwrap()).unwrap()
}

fn load(request: IndexRequest) -> Index {
    block_on(request).unwrap()
}

/// Returns the frame without locators, with categorical columns as text.
fn plain(index: &Index) -> DataFrame {
    let frame = frames::without_locators(index.frame()).unwrap();
    let categorical = frame.columns().iter().filter(|column| matches!(column.dtype(), DataType::Categorical(..)));
    let cast = categorical.map(|column| col(column.name().clone()).cast(DataType::String)).collect::<Vec<_>>();
    frame.clone().lazy().with_columns(cast).collect().unwrap()
}

#[test]
fn columns_that_are_filled_in_place_equal_those_of_batches_for_every_type() {
    let mut rng = Rng(common::seed());
    for case in 0..60 {
        let taste = [
            Taste::SMALL,
            Taste::NOISE,
            Taste { nulls: 0, length: 30, smooth: false },
            Taste { nulls: 1, length: 3, smooth: true },
        ];
        let table = of_every_type(&mut rng, taste[case % 4]);
        let (index, expected) = (block_on(table.index()).unwrap(), from_batches(&table));
        let found = frames::without_locators(index.frame()).unwrap();
        assert!(found.equals_missing(&expected), "case {case}: {found} {expected}");
        assert_eq!(found.schema(), expected.schema());
        let chosen = load(table.index().columns(["c11", "c4", "c0"]));
        let expected = expected.select(["c0", "c4", "c11"]).unwrap();
        assert!(frames::without_locators(chosen.frame()).unwrap().equals_missing(&expected), "case {case}");
    }
}

#[test]
fn categorical_text_has_the_same_values_and_four_bytes_a_row() {
    let mut rng = Rng(common::seed());
    for case in 0..20 {
        let table = of_every_type(&mut rng, Taste { nulls: 4, length: [4, 40][case % 2], smooth: true });
        let (text, categorical) = (load(table.index()), load(table.index().categorical()));
        assert!(plain(&text).equals_missing(&plain(&categorical)), "case {case}");
        assert_eq!(*text.frame().column("c11").unwrap().dtype(), DataType::String);
        for (name, loaded) in [("c11", &categorical), ("c12", &categorical), ("c12", &text)] {
            let column = loaded.frame().column(name).unwrap();
            assert!(matches!(column.dtype(), DataType::Categorical(..)), "{name}: {}", column.dtype());
            let bytes = loaded.memory().columns.iter().find(|column| column.name == name).unwrap().bytes;
            assert!(bytes <= 4 * table.rows() + table.rows().div_ceil(8), "{bytes} bytes of {} rows", table.rows());
        }
    }
}

/// Writes a table of `rows` rows in logs of ten. `x` is the row.
fn logs(rows: i64) -> Table {
    logs_in(memory().1, rows)
}

fn logs_in(store: Store, rows: i64) -> Table {
    let schema = Schema::builder().index("log", "utf8").index("time", "i64").group("x", [("x", "i64")]).sequence_by(["log"]);
    let columns: [(&str, ArrayRef); 3] = [
        ("log", Arc::new(LargeStringArray::from_iter_values((0..rows).map(|row| format!("recording number {:06}", row / 10))))),
        ("time", Arc::new(Int64Array::from_iter_values(0..rows))),
        ("x", Arc::new(Int64Array::from_iter_values(0..rows))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let parts: Vec<RecordBatch> =
        (0..rows).step_by(20).map(|row| batch.slice(row as usize, 20.min(rows - row) as usize)).collect();
    block_on(write(store, schema.build().unwrap(), cut_by(tiny_cuts()).segment_rows(40), &parts)).unwrap()
}

/// Reads `x` of all rows of an index by its loader.
fn x(index: &Index) -> Vec<i64> {
    let loader = RowLoader::new(index).unwrap();
    let positions: Vec<u64> = (0..loader.len()).collect();
    let rows = block_on(loader.take(&positions)).unwrap();
    rows.column("x").unwrap().as_primitive::<Int64Type>().values().to_vec()
}

#[test]
fn repeated_texts_take_their_view_and_each_text_once_per_row_group() {
    let table = logs(200);
    let memory = block_on(table.index()).unwrap().memory();
    let [log, time] = &memory.columns[..] else { panic!("{memory:?}") };
    // 20 texts of 23 bytes.
    assert_eq!((log.bytes, time.bytes, memory.locator_bytes), (200 * 16 + 20 * 23, 200 * 8, 0));
    assert_eq!((memory.rows, memory.bytes()), (200, 200 * 24 + 20 * 23));
}

#[test]
fn locators_of_consecutive_rows_take_no_memory_and_name_the_same_rows() {
    let table = logs(100);
    let index = block_on(table.index()).unwrap();
    let bytes = |index: &Index| index.memory().locator_bytes;
    assert_eq!((bytes(&index), x(&index)), (0, (0..100).collect()));
    let slice = index.slice(-30, 12);
    assert_eq!((bytes(&slice), x(&slice)), (0, (70..82).collect()));
    let log = index.filter(col("log").eq(lit("recording number 000003"))).unwrap();
    assert_eq!((bytes(&log), x(&log)), (0, (30..40).collect()));
    let few = index.filter(col("time").gt_eq(lit(95)).or(col("time").lt(lit(2)))).unwrap();
    assert_eq!((bytes(&few), x(&few)), (7 * 8, vec![0, 1, 95, 96, 97, 98, 99]));
    let back = index.sort(["time"], true).unwrap();
    assert_eq!((bytes(&back), x(&back)), (800, (0..100).rev().collect()));
    let again = back.sort(["time"], false).unwrap();
    assert_eq!((bytes(&again), x(&again)), (0, (0..100).collect()));
    // The column is there whenever a caller asks for the frame, and the index takes back a frame with it.
    assert_eq!(index.frame().width(), 3);
    assert!(names_are(&index.to_frame(), &["log", "time"]));
    assert_eq!(x(&index.with_frame(index.to_frame().slice(7, 3)).unwrap()), [7, 8, 9]);
    assert_eq!(index.rows_of(&table).unwrap(), (0..100).collect::<Vec<_>>());
    // Windows of the loader of all rows stop at the edges of recordings.
    let loader = RowLoader::new(&index).unwrap();
    let window = block_on(loader.get_rows(10, -2..=1)).unwrap();
    assert_eq!(window.mask(), [false, false, true, true]);
}

/// Whether these are the names of the first columns.
fn names_are(frame: &DataFrame, names: &[&str]) -> bool {
    frame.columns().iter().take(names.len()).map(|column| column.name().as_str()).eq(names.iter().copied())
}

#[test]
fn a_categorical_index_is_filtered_merged_saved_and_read_as_one_of_text() {
    let (table, other) = (logs(60), logs(60));
    let load = |table: &Table| load(table.index().categorical());
    let (left, right) = (load(&table), load(&other));
    let found = left.filter(col("log").eq(lit("recording number 000002"))).unwrap();
    assert_eq!(x(&found), (20..30).collect::<Vec<_>>());
    assert_eq!(x(&left.filter_sql("log = 'recording number 000002'").unwrap()), (20..30).collect::<Vec<_>>());
    let merged = left.merge(&right, &Merge::on(["log", "time"])).unwrap();
    assert_eq!(x(&merged), (0..60).collect::<Vec<_>>());
    let error = left.merge(&block_on(other.index()).unwrap(), &Merge::on(["log", "time"])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("cast one of them"), "{error}");
}

#[test]
fn a_view_loads_its_text_as_categorical_columns_too() {
    let folder = tempfile::tempdir().unwrap();
    let url = |name: &str| folder.path().join(name).display().to_string();
    let table = logs_in(Store::open(&url("logs")).unwrap(), 60);
    let late = load(table.index().categorical()).filter(col("time").gt_eq(lit(25))).unwrap();
    let view = block_on(late.save(&url("late"))).unwrap().table;
    for request in [view.index(), view.index().categorical()] {
        let index = load(request);
        assert!(plain(&index).equals_missing(&plain(&late)), "{}", index.frame());
        // The rows of this view are neighbours.
        assert_eq!((x(&index), index.memory().locator_bytes), ((25..60).collect(), 0));
    }
    assert_eq!(view.scan_index().unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(view.index_from(late.to_frame()).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn a_scan_gives_all_rows_part_by_part_and_an_index_of_those_that_are_kept() {
    let mut rng = Rng(common::seed());
    for _ in 0..20 {
        let table = of_every_type(&mut rng, Taste::SMALL);
        let expected = block_on(table.index()).unwrap().to_frame();
        let names: Vec<String> = table.schema().index().map(|column| column.name.clone()).collect();
        let mut scan = table.scan_index().unwrap();
        assert_eq!(scan.empty().unwrap().schema(), expected.schema());
        let (mut parts, mut next) = (scan.empty().unwrap(), 0);
        while let Some(part) = block_on(scan.next()).unwrap() {
            assert_eq!(part.rows(), std::slice::from_ref(&(next..next + part.len())));
            next += part.len();
            parts.vstack_mut(&part.frame(&names, true).unwrap()).unwrap();
            let two = part.frame(["c4", "c1"], false).unwrap();
            assert!(names_are(&two, &["c1", "c4"]) && two.height() as u64 == part.len());
            assert_eq!(part.frame::<&str>([], false).unwrap().height(), two.height());
            assert_eq!(part.frame(["c99"], false).unwrap_err().kind(), ErrorKind::NotFound);
        }
        assert!(parts.equals_missing(&expected), "{parts} {expected}");
        assert!(block_on(scan.next()).unwrap().is_none());
    }
    let table = logs(100);
    let mut scan = table.scan_index().unwrap().categorical();
    let mut kept = scan.empty().unwrap();
    while let Some(part) = block_on(scan.next()).unwrap() {
        let frame = part.frame(["log", "time"], true).unwrap();
        kept.vstack_mut(&frame.lazy().filter(col("time").gt(lit(93))).collect().unwrap()).unwrap();
    }
    let found = table.index_from(kept).unwrap();
    assert_eq!(x(&found), (94..100).collect::<Vec<_>>());
    let window = block_on(RowLoader::new(&found).unwrap().get_rows(0, -5..=0)).unwrap();
    assert_eq!(window.mask(), [false, true, true, true, true, true], "windows have rows that the scan left out");
    let right = block_on(logs(100).index()).unwrap();
    let error = found.merge(&right, &Merge::on(["time"])).unwrap_err().to_string();
    assert!(error.contains("load the others by `with_sources` first"), "{error}");
    let merged = block_on(found.with_sources()).unwrap().merge(&right, &Merge::on(["time"])).unwrap();
    assert_eq!(merged.len(), 6);
    let foreign = logs(100).index_from(found.to_frame()).unwrap_err();
    assert_eq!(foreign.kind(), ErrorKind::Invalid);
}

#[test]
fn a_damaged_index_is_an_error_of_loads_and_scans() {
    let (schema, mut rng) = (common::tables::sensors(), Rng(common::seed()));
    let rows = rows_of(&schema, &mut rng, &[("a", 30)], Taste::SMALL);
    let (objects, store) = memory();
    let table = block_on(write(store, schema, cut_by(tiny_cuts()), &[rows])).unwrap();
    let name = block_on(table.storage().objects()).unwrap().into_keys().find(|name| name.starts_with("index/")).unwrap();
    let mut bytes = block_on(table.store().get(&name, 1 << 30)).unwrap().to_vec();
    let place = rng.below(bytes.len() as u64) as usize;
    bytes[place] ^= 4;
    block_on(common::tables::overwrite(&*objects, &name, &bytes));
    assert_eq!(block_on(table.index()).unwrap_err().kind(), ErrorKind::Corrupt);
    let mut scan = table.scan_index().unwrap();
    assert_eq!(block_on(scan.next()).unwrap_err().kind(), ErrorKind::Corrupt);
}
