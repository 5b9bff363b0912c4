//! How often small reads allocate memory. Most of the time of a read of a few kilobytes goes into allocations, and their number is the same
//! on a busy machine. Each bound is a little above what the read takes today, so that a change that adds an allocation for each row is seen.

use std::sync::Arc;

use allocation_counter::measure;
use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field};
use tetrys::{Preset, RowLoader, Schema, Table, WriteOptions};
use tokio::runtime::Runtime;

const ROWS: usize = 400;
/// Elements of a row: 1.3 KB.
const ELEMENTS: usize = 64 * 5;

async fn table(url: &str) -> Table {
    let schema = Schema::builder().index("frame", "i64").group("radar", [("radar.points", "f32[64,5]")]).build().unwrap();
    let writer = Table::create(url, schema, WriteOptions::default().preset(Preset::Fast)).await.unwrap();
    let mut partition = writer.partition().unwrap();
    let values: ArrayRef = Arc::new(Float32Array::from_iter_values((0..ROWS * ELEMENTS).map(|number| number as f32 * 0.25)));
    let item = Arc::new(Field::new("item", DataType::Float32, true));
    let points = FixedSizeListArray::try_new(item, ELEMENTS as i32, values, None).unwrap();
    let columns: [(&str, ArrayRef); 2] =
        [("frame", Arc::new(Int64Array::from_iter_values(0..ROWS as i64))), ("radar.points", Arc::new(points))];
    partition.write(&RecordBatch::try_from_iter(columns).unwrap()).await.unwrap();
    writer.commit([partition.finish().await.unwrap()]).await.unwrap()
}

/// Returns the allocations of a read on this thread, after reads that opened what stays open.
fn counted(runtime: &Runtime, read: impl AsyncFn(u64)) -> u64 {
    (0..20).for_each(|row| runtime.block_on(read(row)));
    let counts: Vec<u64> = (20..30).map(|row| measure(|| runtime.block_on(read(row))).count_total).collect();
    // Now and then the runtime allocates something of its own.
    *counts.iter().min().expect("ten reads")
}

#[test]
fn small_reads_allocate_little() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = Runtime::new().unwrap();
    let table = runtime.block_on(table(folder.path().to_str().unwrap()));
    let cached = table.row_loader();
    let loader: RowLoader = cached.clone().cache_bytes(0);
    runtime.block_on(cached.take(&(0..ROWS as u64).step_by(3).collect::<Vec<_>>())).unwrap();
    let of_row = async |row: u64| drop(loader.get_row(row).await.unwrap());
    let of_cached = async |row: u64| drop(cached.get_row(row * 3 + 1).await.unwrap());
    let of_window = async |row: u64| drop(loader.get_rows(row, -10..=0).await.unwrap());
    let rows: Vec<u64> = (0..200).map(|row| row * 241 % ROWS as u64).collect();
    let of_take = async |_: u64| drop(loader.take(&rows).await.unwrap());
    let found = [
        ("a row", counted(&runtime, of_row), 80),
        ("a row of a cached block", counted(&runtime, of_cached), 48),
        ("a window of 11 rows", counted(&runtime, of_window), 115),
        ("a take of 200 rows", counted(&runtime, of_take), 1_100),
    ];
    println!("{found:?}");
    for (what, count, most) in found {
        assert!(count <= most, "{what}: {count} allocations, at most {most} so far");
    }
}
