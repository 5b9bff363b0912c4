//! The public API: which types can be sent to other threads, and equal results with and without `async`.
#![cfg(feature = "frame")]

use crate::common;
use crate::common::tables::{Rng, Taste, assert_rows, block_on, cut_by, rows_of, sensors, tiny_cuts};
use arrow_array::RecordBatch;
use tetrys::{
    Error, Explain, Index, Merge, Offsets, PartitionWriter, Receipt, Row, RowLoader, Rows, Schema, Store, Table, TableWriter,
    TimeOffsets, Windows, block_on as wait, blocking,
};

#[test]
fn everything_may_be_sent_to_and_shared_by_threads() {
    fn crosses<T: Send + Sync>() {}
    fn is_sent<T: Send>(_: T) {}
    crosses::<(Table, TableWriter, Schema, Store, Error)>();
    crosses::<(Index, Merge, RowLoader, Row, Rows, Windows, Offsets, TimeOffsets, Explain, Receipt)>();
    fn writer_is_sent(writer: PartitionWriter) {
        is_sent(writer);
    }
    let _: fn(PartitionWriter) = writer_is_sent;
    // Futures must be `Send` too, so that callers can spawn them.
    fn futures(table: &Table, loader: &RowLoader, index: &Index) {
        is_sent(Table::open(""));
        is_sent(table.index());
        is_sent(loader.get_row(0));
        is_sent(loader.get_rows(0, -1..=0));
        is_sent(loader.get_windows(&[], -1..=0));
        is_sent(loader.scan(1));
        is_sent(index.frame());
    }
    let _: fn(&Table, &RowLoader, &Index) = futures;
}

#[test]
fn waiting_calls_give_what_asynchronous_ones_give() {
    let folder = tempfile::tempdir().unwrap();
    let url = folder.path().join("table").display().to_string();
    let schema = sensors();
    let written: RecordBatch = rows_of(&schema, &mut Rng(common::seed()), &[("a", 12), ("b", 7)], Taste::SMALL);
    let writer = wait(Table::create(&url, schema, cut_by(tiny_cuts()))).unwrap();
    let mut partition = writer.partition().unwrap();
    for rows in [written.slice(0, 5), written.slice(5, 14)] {
        wait(partition.write(&rows)).unwrap();
    }
    let table = wait(async { writer.commit([partition.finish().await?]).await }).unwrap();
    assert!(wait(table.storage().verify(|_, _| {})).unwrap().damage.is_empty());
    let loader = RowLoader::new(&wait(wait(Table::open(&url)).unwrap().index()).unwrap()).unwrap().cache_bytes(0);
    assert_eq!((loader.len(), loader.is_empty()), (19, false));
    assert_rows(wait(loader.get_row(3)).unwrap().as_rows(), &written, &[Some(3)]);
    assert_rows(&wait(loader.get_rows(1, -2..=0)).unwrap(), &written, &[None, Some(0), Some(1)]);
    assert_rows(&wait(loader.take(&[18, 0])).unwrap(), &written, &[Some(18), Some(0)]);
    assert_rows(wait(loader.get_windows(&[0, 12], -1..=0)).unwrap().rows(), &written, &[None, Some(0), None, Some(12)]);
    assert_eq!(wait(loader.explain(1, -2..=0)).unwrap(), block_on(table.row_loader().explain(1, -2..=0)).unwrap());
    let scanned: Vec<u64> =
        blocking::iter(loader.scan(8)).flat_map(|rows| rows.unwrap().table_rows().to_vec()).flatten().collect();
    assert_eq!(scanned, (0..19).collect::<Vec<_>>());
    assert!(wait(Table::open(&format!("{url}-nowhere"))).unwrap_err().to_string().contains("no table there"));
}
