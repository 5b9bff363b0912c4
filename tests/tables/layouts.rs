//! Layouts in parts: a read of few rows of a large table loads the layouts of their segments, and those of others are dropped.

use std::sync::Arc;

use crate::common::{
    self,
    tables::{Rng, assert_rows, block_on, cut_by, joined, memory, over, tiny_cuts, write},
};
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use tetrys::{ErrorKind, Schema, Table, store::CountingStore};

const SEGMENTS: u64 = 40;
const EACH: u64 = 7;

/// Writes a table of 40 segments of 7 rows, with two column groups. Returns all its rows, and a store that counts requests.
fn table() -> (RecordBatch, CountingStore) {
    let (raw, store) = memory();
    let schema =
        Schema::builder().index("log", "i64").index("id", "i64").group("x", [("x.a", "i64")]).group("y", [("y.b", "i64")]);
    let schema = schema.sequence_by(["log"]).build().unwrap();
    let part = |number: u64| {
        let ints = |value: fn(u64) -> i64| {
            Arc::new(Int64Array::from_iter_values((number * EACH..(number + 1) * EACH).map(value))) as ArrayRef
        };
        let columns = [("log", ints(|row| (row / 7) as i64)), ("id", ints(|row| row as i64))];
        let columns = columns.into_iter().chain([("x.a", ints(|row| 3 * row as i64)), ("y.b", ints(|row| -(row as i64)))]);
        RecordBatch::try_from_iter(columns).unwrap()
    };
    let parts: Vec<RecordBatch> = (0..SEGMENTS).map(part).collect();
    let table = block_on(write(store, schema, cut_by(tiny_cuts()).segment_rows(1), &parts)).unwrap();
    assert_eq!(table.storage().segment_count() as u64, SEGMENTS);
    (joined(&parts), CountingStore::new(raw))
}

/// Returns how many layouts were read since the last call.
fn layouts(counting: &CountingStore) -> usize {
    counting.reset().gets.iter().filter(|get| get.path.starts_with("layout/")).count()
}

#[test]
fn reading_a_few_rows_loads_the_layouts_of_their_segments() {
    let (rows, counting) = table();
    block_on(async {
        let table = Table::open_in(over(Arc::new(counting.clone()))).await.unwrap();
        counting.reset();
        let loader = table.row_loader().columns(["x.*"]).unwrap();
        let found = loader.take(&[3 * EACH + 1, 20 * EACH, 3 * EACH]).await.unwrap();
        assert_rows(&found, &rows, &[Some(3 * EACH + 1), Some(20 * EACH), Some(3 * EACH)]);
        assert_eq!(layouts(&counting), 2, "one column group of two segments");
        loader.take(&[20 * EACH + 3]).await.unwrap();
        assert_eq!(layouts(&counting), 0, "they are kept");
        table.row_loader().get_row(20 * EACH).await.unwrap();
        assert_eq!(layouts(&counting), 1, "the other group of one segment");
        // A window stays in its sequence, which is in one segment.
        loader.get_rows(30 * EACH + 2, -9..=9).await.unwrap();
        assert_eq!(layouts(&counting), 1);
        let all: Vec<u64> = (0..SEGMENTS * EACH).collect();
        let expected: Vec<Option<u64>> = all.iter().copied().map(Some).collect();
        assert_rows(&table.row_loader().take(&all).await.unwrap(), &rows, &expected);
        assert_eq!(layouts(&counting) as u64, 2 * SEGMENTS - 4, "every layout once");
    });
}

#[test]
fn layouts_that_were_not_used_for_long_are_dropped() {
    let (rows, counting) = table();
    block_on(async {
        let table = Table::open_in(over(Arc::new(counting.clone()))).await.unwrap();
        let loader = table.row_loader().columns(["x.*"]).unwrap();
        loader.get_row(0).await.unwrap();
        let one = table.storage().layout_memory();
        assert!(one > 0);
        table.storage().set_layout_memory(3 * one + one / 2);
        counting.reset();
        for segment in 0..SEGMENTS {
            loader.get_row(segment * EACH).await.unwrap();
            // The first segment is used again and again, so it stays.
            let found = loader.take(&[2]).await.unwrap();
            assert_rows(&found, &rows, &[Some(2)]);
            assert!(table.storage().layout_memory() <= 4 * one, "{} of {one} each", table.storage().layout_memory());
        }
        assert_eq!(layouts(&counting) as u64, SEGMENTS - 1);
        loader.get_row((SEGMENTS - 1) * EACH).await.unwrap();
        assert_eq!(layouts(&counting), 0, "the last one is there");
        loader.get_row(EACH).await.unwrap();
        assert_eq!(layouts(&counting), 1, "an early one was dropped");
    });
}

#[test]
fn reads_with_any_memory_for_layouts_return_the_same_rows() {
    let (rows, counting) = table();
    let mut rng = Rng(common::seed());
    for _ in 0..if common::full() { 200 } else { 20 } {
        block_on(async {
            let table = Table::open_in(over(Arc::new(counting.clone()))).await.unwrap();
            table.storage().set_layout_memory(rng.below(20_000));
            let loader = table.row_loader();
            for _ in 0..5 {
                let wanted: Vec<u64> = (0..1 + rng.below(20)).map(|_| rng.below(SEGMENTS * EACH)).collect();
                let expected: Vec<Option<u64>> = wanted.iter().copied().map(Some).collect();
                assert_rows(&loader.take(&wanted).await.unwrap(), &rows, &expected);
                let row = rng.below(SEGMENTS * EACH);
                let window = loader.get_rows(row, -2..=2).await.unwrap();
                let inside = (-2..=2_i64).map(|offset| row.checked_add_signed(offset).filter(|other| other / EACH == row / EACH));
                assert_rows(&window, &rows, &inside.collect::<Vec<_>>());
            }
            if rng.once_in(3) {
                table.storage().layout(0).await.unwrap();
                assert_rows(&loader.take(&[5]).await.unwrap(), &rows, &[Some(5)]);
            }
        });
    }
}

#[test]
fn the_layout_of_some_rows_locates_them_as_the_whole_one_does_and_no_others() {
    let (_, counting) = table();
    block_on(async {
        let open = || async { Table::open_in(over(Arc::new(counting.clone()))).await.unwrap() };
        let (table, other) = (open().await, open().await);
        let whole = other.storage().layout(1).await.unwrap();
        counting.reset();
        let some = table.storage().layout_of_rows(1, 5 * EACH + 2..7 * EACH).await.unwrap();
        assert_eq!(layouts(&counting), 2, "those of two segments");
        assert_eq!((some.rows(), some.chunk_runs().len()), (whole.rows(), 0));
        for row in 5 * EACH..7 * EACH {
            let place = some.locate(row).unwrap();
            assert_eq!(place, whole.locate(row).unwrap(), "row {row}");
            let block = place.block;
            assert_eq!(some.byte_range(block).unwrap(), whole.byte_range(block).unwrap());
            assert_eq!(some.first_row(block).unwrap(), whole.first_row(block).unwrap());
            assert_eq!(some.chunk_run(block).unwrap().chunk(), whole.chunk_run(block).unwrap().chunk());
        }
        // Of rows that the layout is not for, it says so; those outside the table are named as such.
        for row in [0, 5 * EACH - 1, 7 * EACH, SEGMENTS * EACH - 1] {
            let error = some.locate(row).unwrap_err();
            assert!(error.to_string().contains(&format!("the layout of row {row} is not loaded")), "{error}");
        }
        for row in [SEGMENTS * EACH, u64::MAX] {
            let error = some.locate(row).unwrap_err();
            assert_eq!((error.kind(), error.to_string()), (ErrorKind::Invalid, format!("row {row} is outside 0..280")));
        }
        // No rows, rows from the last to the first, and rows outside the table.
        let backwards = std::ops::Range { start: 9, end: 2 };
        for rows in [0..0, 7..7, backwards, 280..281, 1_000..u64::MAX, u64::MAX..u64::MAX] {
            let none = table.storage().layout_of_rows(0, rows.clone()).await.unwrap();
            assert_eq!(layouts(&counting), 0, "{rows:?}");
            let error = none.locate(3).unwrap_err();
            assert!(error.to_string().contains("the layout of row 3 is not loaded"), "{rows:?}: {error}");
        }
        let all = table.storage().layout_of_rows(0, 0..u64::MAX).await.unwrap();
        assert!((0..SEGMENTS * EACH).all(|row| all.locate(row).is_ok()));
        for group in [2, usize::MAX] {
            let error = table.storage().layout_of_rows(group, 0..1).await.unwrap_err();
            assert_eq!((error.kind(), error.to_string()), (ErrorKind::Invalid, format!("column group {group} is outside 0..2")));
        }
    });
}
