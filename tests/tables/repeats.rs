//! Large blocks that repeat one after the other are stored once if the writer is told so, are read once, and read the same rows.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, LargeBinaryArray, LargeStringArray, RecordBatch};
use tetrys::{
    Schema, Store, Table, TableWriter, WriteOptions,
    table::{Coalesce, Cuts},
    write::{Locality, Sharing},
};

use crate::common::{
    cases,
    tables::{Rng, assert_reads, block_on, joined, objects},
};

const LARGE: usize = 20_000;

fn schema() -> Schema {
    let schema = Schema::builder().index("log", "utf8").index("time", "i64").group("camera", [("camera.jpeg", "binary")]);
    let schema =
        schema.group("lidar", [("lidar.points", "binary"), ("lidar.count", "i64")]).group("small", [("small.data", "binary")]);
    schema.sequence_by(["log"]).build().unwrap()
}

/// Rows of logs from this number on, whose large values are those of the row before in three of four cases, also where a new log begins. Returns them with the number of
/// different values of the camera and of the lidar.
fn rows(rng: &mut Rng, first: usize, count: usize) -> (RecordBatch, [usize; 2]) {
    let repeating = |rng: &mut Rng| {
        let mut values: Vec<Option<Vec<u8>>> = Vec::new();
        let mut different = 0;
        for _ in 0..count {
            match values.last().cloned() {
                Some(before) if !rng.once_in(4) => values.push(before),
                _ if rng.once_in(8) => values.push(None),
                _ => {
                    values.push(Some(rng.bytes(LARGE)));
                    different += 1;
                }
            }
        }
        (values, different)
    };
    let ((jpegs, pictures), (points, sweeps)) = (repeating(rng), repeating(rng));
    let counts = points.iter().map(|points| points.as_ref().map(|points| i64::from(points[0])));
    let column =
        |values: &[Option<Vec<u8>>]| Arc::new(LargeBinaryArray::from_iter(values.iter().map(Option::as_deref))) as ArrayRef;
    let small: Vec<Option<Vec<u8>>> = (0..count).map(|row| Some(vec![u8::try_from(row / 3 % 256).unwrap(); 40])).collect();
    let columns: [(&str, ArrayRef); 6] = [
        ("log", Arc::new(LargeStringArray::from_iter_values((0..count).map(|row| format!("log-{}", first + row / 25))))),
        ("time", Arc::new(Int64Array::from_iter_values((0..count).map(|row| i64::try_from(row).unwrap())))),
        ("camera.jpeg", column(&jpegs)),
        ("lidar.points", column(&points)),
        ("lidar.count", Arc::new(counts.collect::<Int64Array>())),
        ("small.data", column(&small)),
    ];
    let columns = columns.map(|(name, column)| (name, column, true));
    (RecordBatch::try_from_iter_with_nullable(columns).unwrap(), [pictures, sweeps])
}

fn options() -> WriteOptions {
    let cuts = Cuts {
        block_min: 200,
        block_target: 400,
        block_max: 4_000,
        chunk_min: 400_000,
        chunk_target: 800_000,
        chunk_max: 1_600_000,
    };
    WriteOptions::default().cuts(cuts).share_repeats(true)
}

async fn written(writer: &TableWriter, partitions: &[RecordBatch]) -> (Table, Sharing) {
    let (mut receipts, mut sharing) = (Vec::new(), Sharing::default());
    for batch in partitions {
        let mut partition = writer.partition().unwrap();
        // In pieces, so that a value repeats in the next batch.
        for start in (0..batch.num_rows()).step_by(7) {
            partition.write(&batch.slice(start, 7.min(batch.num_rows() - start))).await.unwrap();
        }
        let receipt = partition.finish().await.unwrap();
        sharing = sharing.and(receipt.sharing.clone());
        receipts.push(receipt);
    }
    (writer.commit(receipts).await.unwrap(), sharing)
}

async fn made(store: Store, options: WriteOptions, partitions: &[RecordBatch]) -> Table {
    written(&Table::create_in(store, schema(), options).await.unwrap(), partitions).await.0
}

fn memory() -> Store {
    Store::open("memory://").unwrap()
}

#[test]
fn a_large_block_that_repeats_is_stored_once_in_each_chunk() {
    let mut rng = Rng(crate::common::seed());
    for case in 0..cases(3) {
        let parts = [rows(&mut rng, 0, 150), rows(&mut rng, 6, 90)];
        let batches = [parts[0].0.clone(), parts[1].0.clone()];
        let values: usize = parts.iter().flat_map(|(_, different)| *different).sum();
        block_on(async {
            let (once, plain) =
                (made(memory(), options(), &batches).await, made(memory(), options().share_repeats(false), &batches).await);
            assert_reads(&once, &joined(&batches)).await;
            assert!(once.storage().verify(|_, _| {}).await.unwrap().damage.is_empty(), "case {case}");
            let (info, other) = (once.info().await.unwrap(), plain.info().await.unwrap());
            let chunks = usize::try_from(info.chunks).unwrap();
            let (least, most) = (values * LARGE, (values + chunks) * (LARGE + 500) + 40_000);
            let stored = usize::try_from(info.own_chunk_bytes).unwrap();
            assert!((least..most).contains(&stored), "case {case}: {stored} bytes of {values} values in {chunks} chunks");
            assert!(other.own_chunk_bytes > 2 * info.own_chunk_bytes, "case {case}: {} bytes", other.own_chunk_bytes);
            // The blocks are the same ones, and so are their logical bytes.
            let blocks = |info: &tetrys::table::TableInfo| {
                info.column_groups.iter().map(|group| (group.blocks, group.logical_bytes)).collect::<Vec<_>>()
            };
            assert_eq!(blocks(&info), blocks(&other), "case {case}");
            // Equal rows make equal objects, also where blocks go through a temporary file.
            let again = made(memory(), options().write_memory(100_000), &batches).await;
            let chunks = |objects: Vec<(String, Vec<u8>)>| {
                objects.into_iter().filter(|(name, _)| name.starts_with("chunks/")).collect::<Vec<_>>()
            };
            assert_eq!(chunks(objects(again.store()).await), chunks(objects(once.store()).await), "case {case}");
        });
    }
}

#[test]
fn a_window_over_rows_that_repeat_reads_each_value_once() {
    let (batch, _) = rows(&mut Rng(5), 0, 200);
    block_on(async {
        let (once, plain) = (
            made(memory(), options(), std::slice::from_ref(&batch)).await,
            made(memory(), options().share_repeats(false), std::slice::from_ref(&batch)).await,
        );
        for columns in [&["camera.*"][..], &["lidar.points"], &["lidar.count"], &["camera.jpeg", "lidar.*", "small.*"]] {
            let loader = |table: &Table| table.row_loader().columns(columns.iter().copied()).unwrap().coalesce(Coalesce::REMOTE);
            let mut less = 0;
            for row in 0..200 {
                let (shared, fresh) =
                    (loader(&once).explain(row, -9..=9).await.unwrap(), loader(&plain).explain(row, -9..=9).await.unwrap());
                assert!(shared.ranges <= fresh.ranges, "row {row}: {} and {} ranges", shared.ranges, fresh.ranges);
                // Small blocks at the ends of the window may be read over, and a large value between the counts of two blocks.
                let is_large = columns != ["lidar.count"];
                assert!(!is_large || shared.bytes <= fresh.bytes + 200, "row {row}: {} and {} bytes", shared.bytes, fresh.bytes);
                less += usize::from(2 * shared.bytes <= fresh.bytes);
                let (rows, others) = (loader(&once).get_rows(row, -9..=9).await, loader(&plain).get_rows(row, -9..=9).await);
                assert_eq!(rows.unwrap().batch(), others.unwrap().batch(), "row {row}");
            }
            assert!(less > 100 || columns == ["lidar.count"], "{columns:?}: {less}");
        }
        // Rows in any order, and the same row several times.
        let mut rng = Rng(6);
        for _ in 0..50 {
            let wanted: Vec<u64> = (0..20).map(|_| rng.below(200)).collect();
            let (rows, others) = (once.row_loader().take(&wanted).await, plain.row_loader().take(&wanted).await);
            assert_eq!(rows.unwrap().batch(), others.unwrap().batch(), "{wanted:?}");
        }
    });
}

#[test]
fn what_repeats_is_found_by_later_versions_and_stays_where_it_is() {
    let (batch, _) = rows(&mut Rng(8), 0, 150);
    let batches = [batch];
    let folder = tempfile::tempdir().unwrap();
    let store = |name: &str| Store::open(folder.path().join(name).to_str().unwrap()).unwrap();
    block_on(async {
        let first = made(store("first"), options(), &batches).await;
        let before = first.info().await.unwrap().own_chunk_bytes;
        // Written again, with repetitions of its own or without: all blocks are there.
        let mut newest = first;
        for share_repeats in [true, false] {
            let writer = newest.overwrite(schema(), options().share_repeats(share_repeats)).await.unwrap();
            let (second, sharing) = written(&writer, &batches).await;
            assert_eq!((sharing.new_bytes, sharing.stored_again), (0, 0), "{sharing:?}");
            assert_eq!((sharing.worst.extra_ranges, sharing.worst.percent), (0, 100), "{sharing:?}");
            assert_reads(&second, &batches[0]).await;
            newest = second;
        }
        // Half of the rows are known, and the others repeat.
        let half = made(store("half"), options(), &[batches[0].slice(0, 70)]).await;
        let writer = Table::create_in(store("mixed"), schema(), options()).await.unwrap().references([&half]).await.unwrap();
        let (mixed, sharing) = written(&writer, &batches).await;
        assert!(sharing.blocks > 0 && sharing.new_bytes > 0, "{sharing:?}");
        assert!(mixed.info().await.unwrap().own_chunk_bytes < before);
        assert_reads(&mixed, &batches[0]).await;
        // Nothing is scattered, so a compaction leaves the blocks alone.
        let (compacted, moved) = newest.storage().compact_runs(4 << 20, Locality::default()).await.unwrap();
        assert_eq!((moved.blocks, moved.before.extra_ranges), (0, 0), "{moved:?}");
        assert_eq!(compacted.info().await.unwrap().own_chunk_bytes, before);
    });
}

#[test]
fn a_process_that_joins_a_session_stores_repetitions_as_the_others_do() {
    let (batch, _) = rows(&mut Rng(9), 0, 80);
    block_on(async {
        let alone = made(memory(), options(), std::slice::from_ref(&batch)).await;
        let store = memory();
        let ticket = Table::create_in(store.clone(), schema(), options()).await.unwrap().ticket().unwrap();
        let (table, _) = written(&TableWriter::join(store, &ticket).unwrap(), std::slice::from_ref(&batch)).await;
        let (found, expected) = (table.info().await.unwrap(), alone.info().await.unwrap());
        assert_eq!(found.own_chunk_bytes, expected.own_chunk_bytes);
        assert!(ticket.to_json().contains("share_repeats"));
        let plain = Table::create_in(memory(), schema(), options().share_repeats(false)).await.unwrap().ticket().unwrap();
        assert!(!plain.to_json().contains("share_repeats"), "an earlier build must be able to read it");
    });
}
