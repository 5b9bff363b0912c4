//! Columns that no condition reads are read of the chosen rows alone, where that saves many bytes.
#![cfg(feature = "frame")]

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use bytes::Bytes;
use object_store::{ObjectStore, ObjectStoreExt, memory::InMemory, path::Path};
use polars::prelude::{ChunkCompareIneq, DataFrame, col};
use tetrys::{ErrorKind, Index, IndexTails, Schema, Table, WriteOptions, store::CountingStore};

use crate::common::{
    self,
    tables::{Rng, block_on, memory, over, overwrite, write},
};

/// A table with random `id`, `a` and `b` in its index, in segments of so many rows. `row` is the number of the row.
fn table(rows: u64, segment_rows: u64, tails: IndexTails) -> (Arc<InMemory>, Table, CountingStore, RecordBatch) {
    let mut rng = Rng(common::seed());
    let mut column =
        |of: &dyn Fn(u64) -> u64| -> ArrayRef { Arc::new(UInt64Array::from_iter_values((0..rows).map(|_| of(rng.next())))) };
    let columns = [
        ("id", column(&|drawn| drawn >> 1)),
        ("a", column(&|drawn| drawn)),
        ("b", column(&|drawn| drawn)),
        ("row", Arc::new(UInt64Array::from_iter_values(0..rows))),
        ("n", column(&|drawn| drawn % 9)),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let index = ["id", "a", "b", "row"].into_iter().fold(Schema::builder(), |schema, name| schema.index(name, "u64"));
    let schema = index.group("g", [("n", "u64")]).build().unwrap();
    let raw = memory().0;
    let counting = CountingStore::new(raw.clone() as Arc<dyn ObjectStore>);
    let options = WriteOptions::default().index_tails(tails).segment_rows(segment_rows);
    let parts: Vec<_> = (0..rows).step_by(segment_rows as usize).collect();
    let parts = parts.into_iter().map(|first| batch.slice(first as usize, segment_rows.min(rows - first) as usize));
    let table = block_on(write(over(Arc::new(counting.clone())), schema, options, &parts.collect::<Vec<_>>())).unwrap();
    (raw, table, counting, batch)
}

/// The same version with nothing in memory.
fn fresh(table: &Table) -> Table {
    table.allow(Vec::<String>::new())
}

fn same(found: &Index, expected: &Index, what: &str) {
    let names: Vec<String> = found.column_names().map(str::to_owned).collect();
    let expected = expected.select(names.iter().map(|name| col(name.as_str()))).unwrap();
    assert_eq!(found.len(), expected.len(), "{what}");
    assert!(found.frame().equals_missing(expected.frame()), "{what}:\n{}\n{}", found.frame(), expected.frame());
}

/// The last segment is so short that it has no tail.
#[test]
fn columns_without_a_condition_are_read_when_the_rows_are_known() {
    let (_, table, counting, batch) = table(405_000, 200_000, IndexTails::default());
    let index_bytes: u64 = table.manifest().segments.iter().map(|segment| segment.index.bytes).sum();
    assert!(index_bytes > 4 << 20 && table.manifest().segments.len() == 3, "{index_bytes}");
    let ids = batch.column(0).as_any().downcast_ref::<UInt64Array>().unwrap();
    let whole = block_on(table.index()).unwrap();
    let small = u64::MAX / 100_000;
    let (few, every) = ([0, 65_535, 199_999, 200_000, 404_999].map(|row| ids.value(row)), u64::MAX);
    let listed = few.map(|id| id.to_string()).join(", ");
    for (condition, reads_little) in [
        (format!("id IN ({listed})"), true),
        (format!("id = {}", few[3]), true),
        (format!("id = {} AND a > 3", few[1] + 1), false),
        (format!("id < {small}"), true),
        (format!("id < {}", every / 3), false),
        (format!("id <= {}", every >> 1), false),
    ] {
        let expected = whole.filter_sql(&condition).unwrap();
        for chosen in [vec!["*"], vec!["b"], vec!["id", "b"]] {
            let request = |table: &Table| table.index().columns(chosen.iter().copied()).filter_sql(&*condition);
            let explained = block_on(request(&table).explain()).unwrap();
            let fresh = fresh(&table);
            counting.reset();
            let found = block_on(request(&fresh)).unwrap();
            let read: u64 = counting.reset().gets.iter().filter(|get| get.path.starts_with("index/")).map(|get| get.bytes).sum();
            same(&found, &expected, &format!("{condition}, {chosen:?}"));
            let message = format!("{condition}, {chosen:?}: {read} bytes, {explained}");
            // Pages without a small id are known by their bounds, so that little is left to leave out.
            assert!(explained.late_bytes >= 2 << 20 || condition.starts_with(&format!("id < {small}")), "{message}");
            assert!(explained.bytes <= index_bytes, "{message}");
            // A page has at most 8,192 rows of 8 bytes, and so has a dictionary. Small gaps between them are read.
            let other_columns = if chosen == ["*"] { 3 } else { 1 };
            let most = ((found.len() as u64 * other_columns) << 18).min(explained.late_bytes);
            let early = explained.bytes - explained.late_bytes;
            assert!((early..=early + most).contains(&read), "{message}");
            assert!(!reads_little || read * 3 < index_bytes * 2, "{message}");
        }
    }
}

/// A function excludes no page before it is read. The rows that it chooses lie together here.
#[test]
fn of_many_neighbouring_rows_the_other_pages_are_not_read() {
    let (_, table, counting, _) = table(400_000, 240_000, IndexTails::All);
    let last = |frame: DataFrame| Ok(frame.column("row")?.u64()?.gt_eq(320_000));
    let request = |table: &Table| table.index().columns(["a", "b"]).filter_with(["row"], last);
    let explained = block_on(request(&table).explain()).unwrap();
    let fresh = fresh(&table);
    counting.reset();
    let found = block_on(request(&fresh)).unwrap();
    let read: u64 = counting.reset().gets.iter().filter(|get| get.path.starts_with("index/")).map(|get| get.bytes).sum();
    same(&found, &block_on(table.index().filter_sql("row >= 320000")).unwrap(), "the last fifth");
    let late = read - (explained.bytes - explained.late_bytes);
    assert!(found.len() == 80_000 && late * 3 < explained.late_bytes, "{late} bytes, {explained}");
}

/// From no row to all rows. The long suite has more segments than are read at a time.
#[test]
fn columns_that_are_read_late_belong_to_their_rows_in_many_segments() {
    let rows = if common::full() { 2_700_000 } else { 270_000 };
    let (_, table, _, batch) = table(rows, 9_000, IndexTails::All);
    let whole = block_on(table.index()).unwrap();
    let ids = batch.column(0).as_any().downcast_ref::<UInt64Array>().unwrap();
    let mut rng = Rng(common::seed() ^ 1);
    for case in 0..if common::full() { 60 } else { 8 } {
        let (low, one, other) = (rng.next() >> 1, ids.value(rng.below(rows) as usize), ids.value(rng.below(rows) as usize));
        let condition = match case % 4 {
            0 => format!("id IN ({one}, {other})"),
            1 => format!("id > {low}"),
            2 => format!("id < {one} OR id > {other}"),
            _ => format!("id > {} OR id = {one}", u64::MAX / 2 - (u64::MAX >> rng.below(30)) / 8),
        };
        let explained = block_on(table.index().filter_sql(&*condition).explain()).unwrap();
        // Bounds may leave few pages of the others.
        assert!(explained.late_bytes > 0 || case % 4 == 1, "{condition}: {explained}");
        let found = block_on(fresh(&table).index().filter_sql(&*condition)).unwrap();
        same(&found, &whole.filter_sql(&condition).unwrap(), &condition);
    }
}

#[test]
fn damage_of_columns_that_are_read_late_is_found_or_harmless() {
    let (raw, table, _, batch) = table(250_000, 125_000, IndexTails::All);
    let ids = batch.column(0).as_any().downcast_ref::<UInt64Array>().unwrap();
    let (few, many) = (format!("id IN ({}, {})", ids.value(7), ids.value(249_999)), format!("id > {}", u64::MAX / 4));
    let whole = block_on(table.index()).unwrap();
    let expected = [&few, &many].map(|condition| whole.filter_sql(condition).unwrap());
    let segment = &table.manifest().segments[1];
    let name = format!("index/{}.parquet", segment.index.blake3);
    let sound: Bytes = block_on(async { raw.get(&Path::from(name.as_str())).await.unwrap().bytes().await.unwrap() });
    let (mut rng, mut found, mut harmless) = (Rng(common::seed() ^ 2), 0, 0);
    for _ in 0..if common::full() { 400 } else { 40 } {
        let mut bytes = sound.to_vec();
        let place = rng.below(sound.len() as u64);
        bytes[place as usize] ^= 1 << rng.below(8);
        block_on(overwrite(&*raw, &name, &bytes));
        for (condition, expected) in [&few, &many].into_iter().zip(&expected) {
            match block_on(fresh(&table).index().filter_sql(condition.as_str())) {
                Ok(index) => {
                    same(&index, expected, &format!("{condition}, byte {place}"));
                    harmless += 1;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Corrupt, "{condition}, byte {place}: {error}");
                    found += 1;
                }
            }
        }
    }
    assert!(found > 40 && harmless > 5, "{found} found, {harmless} harmless");
}
