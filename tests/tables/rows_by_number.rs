//! Rows of an index by their numbers, of tables and of views: the same as those of the whole index, by few of its bytes.
#![cfg(feature = "frame")]

use std::ops::Range;

use polars::prelude::{col, lit};
use tetrys::{ErrorKind, IndexRequest, Store, Table, WriteOptions};

use crate::{
    common::{
        self,
        tables::{Rng, block_on, write},
    },
    partial::{condition, fresh, rows, same, schema, table},
};

/// Rows by their numbers, alone and under conditions of every kind; and what is read for them is what `explain` says.
#[test]
fn rows_by_number_equal_those_of_the_whole_index_under_any_condition() {
    let mut rng = Rng(common::seed());
    for tails in [true, false] {
        let (_, table, counting) = table(tails);
        let whole = block_on(table.index()).unwrap();
        for case in 0..if common::full() { 300 } else { 16 } {
            let (sql, expression) = condition(&mut rng, case % 4);
            let start = rng.below(table.rows() + 1);
            let rows =
                start..start + [rng.below(table.rows() - start + 1), rng.below(40).min(table.rows() - start)][case as usize % 2];
            let what = format!("{rows:?}, {sql}");
            let part = whole.to_frame().slice(rows.start as i64, (rows.end - rows.start) as usize);
            let part = whole.with_frame(part).unwrap();
            let request = |table: &Table| table.index().rows(rows.clone());
            same(&block_on(request(&table)).unwrap(), &part, &what);
            same(&block_on(request(&table).filter(expression.clone())).unwrap(), &part.filter(expression).unwrap(), &what);
            let above = col("tiny").gt(col("tiny").mean());
            same(&block_on(request(&table).filter(above.clone())).unwrap(), &part.filter(above).unwrap(), &what);
            let named = request(&table).filter_sql(&*sql).columns(["time", "log"]);
            let expected = part.filter_sql(&sql).and_then(|found| found.select([col("log"), col("time")]));
            same(&block_on(named).unwrap(), &expected.unwrap(), &what);
            let explained = block_on(request(&table).columns(["time"]).explain()).unwrap();
            counting.reset();
            block_on(request(&fresh(&table)).columns(["time"])).unwrap();
            let gets: Vec<u64> =
                counting.reset().gets.iter().filter(|get| get.path.starts_with("index/")).map(|get| get.bytes).collect();
            assert_eq!(
                (gets.len() as u64, gets.iter().sum::<u64>()),
                (explained.requests, explained.bytes),
                "{what}: {explained}"
            );
            // Of a wide index, two pages of the column and the tails of the segments are read for a few rows.
            assert!(!tails || rows.end - rows.start > 40 || explained.bytes < explained.index_bytes / 10, "{what}: {explained}");
        }
        // All rows need no tail.
        let requests = |request: IndexRequest| block_on(request.explain()).unwrap().requests;
        assert_eq!(requests(table.index().rows(0..table.rows())), 3);
        assert_eq!(requests(table.index().rows(0..table.rows()).columns(["time"])), requests(table.index().columns(["time"])));
        for rows in [table.rows()..table.rows() + 1, Range { start: 5, end: 4 }, 0..u64::MAX] {
            let refused = block_on(table.index().rows(rows.clone())).unwrap_err();
            assert!(
                refused.kind() == ErrorKind::Invalid && refused.to_string().contains("ascending order"),
                "{rows:?}: {refused}"
            );
        }
    }
}

/// The rows of a view are numbered in its own order.
#[test]
fn rows_of_a_view_have_its_own_numbers() {
    let (mut rng, folder) = (Rng(common::seed()), tempfile::tempdir().unwrap());
    let url = |name: &str| folder.path().join(name).display().to_string();
    let parts = [rows(&mut rng, 0..4, 60, 9)];
    let table = block_on(write(Store::open(&url("table")).unwrap(), schema(), WriteOptions::default(), &parts)).unwrap();
    block_on(block_on(table.index()).unwrap().filter(col("tiny").gt(lit(20))).unwrap().save(&url("view"))).unwrap();
    let view = block_on(Table::open(&url("view"))).unwrap();
    let whole = block_on(view.index()).unwrap();
    assert!(view.rows() > 50 && view.rows() < table.rows());
    let part = whole.with_frame(whole.to_frame().slice(7, 30)).unwrap();
    same(&block_on(view.index().rows(7..37)).unwrap(), &part, "a view");
    let late = col("time").gt(col("time").mean());
    same(&block_on(view.index().rows(7..37).filter(late.clone())).unwrap(), &part.filter(late).unwrap(), "a condition of a view");
    assert_eq!(block_on(view.index().rows(7..table.rows())).unwrap_err().kind(), ErrorKind::Invalid);
}
