//! Compaction on request stores blocks side by side that lay scattered over many chunks and tables. The rows stay the same,
//! windows need fewer ranges, only the affected blocks are copied, and earlier versions do not change.

use crate::common;
use std::{collections::BTreeSet, path::Path, sync::Arc};

use crate::common::tables::{self, Rng, Taste, assert_reads, block_on, cut_by, rows_of, sensors, tiny_cuts};
use arrow_array::{ArrayRef, Int64Array, LargeBinaryArray, LargeStringArray, RecordBatch, UInt64Array};
use arrow_select::{concat::concat_batches, take::take_record_batch};
use object_store::{ObjectStore, memory::InMemory};
use tetrys::{
    ErrorKind, Preset, Schema, Store, Table, WriteOptions,
    id::ChunkId,
    store::CountingStore,
    table::{Cuts, VerifyReach},
    write::{Gathered, Locality},
};

const ROWS: u64 = 48;
const MOST: u64 = 4 << 20;

fn store(folder: &Path, name: &str) -> Store {
    Store::open(folder.join(name).to_str().unwrap()).unwrap()
}

/// Returns three logs of 16 rows. Each row is a block of its own and has 3 KB, half of them compressible.
fn wide(seed: u64) -> (Schema, RecordBatch) {
    let mut rng = Rng(seed);
    let schema =
        Schema::builder().index("log", "utf8").index("time", "i64").group("camera", [("jpeg", "binary"), ("gain", "u8[2500]")]);
    let schema = schema.sequence_by(["log"]).order_by(["time"]).build().unwrap();
    let logs = (0..ROWS).map(|row| format!("log-{}", row / 16));
    let noise: Vec<Vec<u8>> = (0..ROWS).map(|_| rng.bytes(1_500)).collect();
    let gains: Vec<u8> = (0..ROWS).flat_map(|row| (0..2_500).map(move |place| (row + place / 100) as u8)).collect();
    let field = Arc::new(arrow_schema::Field::new("item", arrow_schema::DataType::UInt8, true));
    let gains = arrow_array::FixedSizeListArray::new(field, 2_500, Arc::new(arrow_array::UInt8Array::from(gains)), None);
    let columns: [(&str, ArrayRef); 4] = [
        ("log", Arc::new(LargeStringArray::from_iter_values(logs))),
        ("time", Arc::new(Int64Array::from_iter_values((0..ROWS).map(|row| 10 * (row as i64 % 16))))),
        ("jpeg", Arc::new(LargeBinaryArray::from_iter_values(noise))),
        ("gain", Arc::new(gains)),
    ];
    (schema, RecordBatch::try_from_iter(columns).unwrap())
}

fn options(preset: Preset) -> WriteOptions {
    let cuts = Cuts { block_min: 256, block_target: 512, block_max: 1024, ..Cuts::default() };
    WriteOptions::default().preset(preset).cuts(cuts).locality(Locality::NONE)
}

fn taken(batch: &RecordBatch, rows: impl IntoIterator<Item = u64>) -> RecordBatch {
    take_record_batch(batch, &UInt64Array::from_iter_values(rows)).unwrap()
}

async fn write(store: Store, schema: &Schema, options: WriteOptions, references: &[&Table], rows: &RecordBatch) -> Table {
    let writer = Table::create_in(store, schema.clone(), options).await.unwrap();
    let writer = writer.references(references.iter().copied()).await.unwrap();
    let mut partition = writer.partition().unwrap();
    partition.write(rows).await.unwrap();
    writer.commit([partition.finish().await.unwrap()]).await.unwrap()
}

/// Writes a table whose rows lie in the chunks of four other tables in turn. The rows of its last log all lie in the first of
/// them.
async fn scattered(folder: &Path, presets: [Preset; 2]) -> (Table, Vec<Table>, RecordBatch) {
    let (schema, rows) = wide(11);
    let mut owners = Vec::new();
    for turn in 0..4 {
        let own = (0..ROWS).filter(|row| if *row < 32 { row % 4 == turn } else { turn == 0 });
        let (store, options) = (store(folder, &format!("owner-{turn}")), options(presets[turn as usize % 2]));
        owners.push(write(store, &schema, options, &[], &taken(&rows, own)).await);
    }
    let references: Vec<&Table> = owners.iter().collect();
    let all = write(store(folder, "all"), &schema, options(Preset::Fast), &references, &rows).await;
    assert!(all.store().list("chunks").await.unwrap().is_empty(), "everything is shared");
    (all, owners, rows)
}

/// A block: owner, chunk, and the start and end in the chunk.
type Place = (u32, ChunkId, u64, u64);

/// Returns for each row the number of ranges of the window of eight rows that begins at the row. Adjacent blocks of one chunk are
/// one range; no gap is bridged.
async fn ranges(table: &Table, group: usize) -> Vec<usize> {
    let layout = table.storage().layout(group).await.unwrap();
    let sequences = table.sequences().await.unwrap();
    let place = |row: u64| -> Place {
        let place = layout.locate(row).unwrap().block;
        let (run, bytes) = (layout.run(place).unwrap(), layout.byte_range(place).unwrap());
        (run.owner, run.chunk, bytes.start, bytes.end)
    };
    let count = |row: u64| {
        let end = sequences.around(row).unwrap().end.min(row + 8);
        let places: BTreeSet<_> = (row..end).map(place).collect();
        let touch = |(before, next): &(&Place, &Place)| (before.0, before.1, before.3) == (next.0, next.1, next.2);
        places.len() - places.iter().zip(places.iter().skip(1)).filter(touch).count()
    };
    (0..table.rows()).map(count).collect()
}

async fn bytes_below(table: &Table, folder: &str) -> u64 {
    table.store().list(folder).await.unwrap().iter().map(|(_, bytes)| bytes).sum()
}

fn bound() -> Locality {
    Locality { window: 8, ..Locality::default() }
}

#[test]
fn rows_scattered_over_four_tables_are_put_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (table, owners, rows) = scattered(folder.path(), [Preset::Balanced; 2]).await;
        let before = tables::objects(table.store()).await;
        assert_eq!(ranges(&table, 0).await.into_iter().max(), Some(4));
        let (next, moved) = table.storage().compact_runs(MOST, bound()).await.unwrap();
        assert_eq!((next.version(), moved.before.extra_ranges > 1), (2, true));
        assert_reads(&next, &rows).await;
        let most = ranges(&next, 0).await;
        assert!(most.iter().all(|ranges| *ranges <= 2), "{most:?}");
        assert!(moved.after.extra_ranges <= 1 && moved.after.percent <= 150, "{moved:?}");

        // The rows of the last log were adjacent already, so the new version refers to their old place.
        let (was, is) = (table.storage().layout(0).await.unwrap(), next.storage().layout(0).await.unwrap());
        for row in 32..ROWS {
            let place = |layout: &tetrys::read::Layout| {
                let place = layout.locate(row).unwrap().block;
                let run = layout.run(place).unwrap();
                (run.owner, run.chunk, layout.byte_range(place).unwrap())
            };
            assert_eq!(place(&was), place(&is), "row {row}");
        }
        // All bytes are accounted for: blocks are copied unchanged, and the hashes and the index stay.
        let now = tables::objects(table.store()).await;
        let new: u64 = now.iter().filter(|object| !before.contains(object)).map(|(_, bytes)| bytes.len() as u64).sum();
        let manifest = next.store().size(&tetrys::format::manifest_name(2)).await.unwrap();
        assert_eq!(next.manifest().lineage["bytes_added"], new - manifest);
        assert_eq!((bytes_below(&next, "chunks").await, moved.chunks, moved.encoded), (moved.bytes, 1, 0));
        assert!((1..=32).contains(&moved.blocks), "{moved:?}");
        let stored = |table: &Table| table.manifest().segments[0].groups[0].clone();
        assert_eq!(stored(&next).stored_bytes, stored(&table).stored_bytes);
        assert_eq!((stored(&next).hashes, stored(&next).columns), (stored(&table).hashes, stored(&table).columns));
        assert_eq!(next.manifest().segments[0].index, table.manifest().segments[0].index);

        // The earlier version is unchanged, and a second compaction has nothing to do.
        assert!(before.iter().all(|object| now.contains(object)));
        assert_reads(&table, &rows).await;
        let (again, moved) = next.storage().compact_runs(MOST, bound()).await.unwrap();
        assert_eq!((again.version(), moved.blocks), (2, 0));
        for owner in &owners {
            assert_eq!(owner.store().list("pins").await.unwrap().len(), 2, "one for each version");
        }
        assert_eq!(
            table.storage().compact_runs(MOST, Locality { window: 0, ..bound() }).await.unwrap_err().kind(),
            ErrorKind::Invalid
        );
    });
}

#[test]
fn a_bound_that_is_kept_moves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (schema, rows) = wide(12);
        let options = options(Preset::Fast).cuts(tiny_cuts());
        let table = write(store(folder.path(), "table"), &schema, options, &[], &rows).await;
        assert!(table.store().list("chunks").await.unwrap().len() > 4, "windows end chunks everywhere");
        let strict = Locality { window: 16, extra_ranges: 0, percent: 100 };
        let (next, moved) = table.storage().compact_runs(MOST, strict).await.unwrap();
        assert_eq!((next.version(), moved.blocks, moved.before), (1, 0, moved.after));
    });
}

#[test]
fn blocks_of_other_codecs_are_encoded_again() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (table, _, rows) = scattered(folder.path(), [Preset::Fast, Preset::Compact]).await;
        let (next, moved) = table.storage().compact_runs(MOST, Locality { extra_ranges: 0, ..bound() }).await.unwrap();
        assert_reads(&next, &rows).await;
        assert!(moved.encoded > 0 && moved.encoded < moved.blocks, "{moved:?}");
        let stored = &next.manifest().segments[0].groups[0];
        let pages: u64 = stored.columns.iter().map(|column| column.stored).sum();
        let directories = 24 * stored.blocks;
        assert_eq!(pages + directories, stored.stored_bytes, "what the manifest says of the columns is exact");
    });
}

#[test]
fn rows_appended_one_by_one_come_into_one_chunk() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (schema, rows) = wide(13);
        let mut table = write(store(folder.path(), "table"), &schema, options(Preset::Balanced), &[], &rows.slice(0, 1)).await;
        for row in 1..12 {
            let writer = table.append(options(Preset::Balanced)).await.unwrap();
            let mut partition = writer.partition().unwrap();
            partition.write(&rows.slice(row, 1)).await.unwrap();
            table = writer.commit([partition.finish().await.unwrap()]).await.unwrap();
        }
        // Eight segments were merged into one; their chunks stayed in place.
        assert_eq!((table.manifest().segments.len(), ranges(&table, 0).await[0]), (5, 8));
        let (next, moved) = table.storage().compact_runs(MOST, bound()).await.unwrap();
        assert_eq!(next.manifest().segments.len(), 1);
        assert_reads(&next, &rows.slice(0, 12)).await;
        assert!(ranges(&next, 0).await.into_iter().all(|ranges| ranges <= 2), "{moved:?}");
        assert_eq!(moved.chunks, 1);
    });
}

/// A table to which every log is appended by itself has a chunk for each. No window goes over two logs.
#[test]
fn small_chunks_of_different_sequences_become_one() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (logs, each) = (common::cases(40) as u64, 3);
        let schema = Schema::builder()
            .index("log", "utf8")
            .index("time", "i64")
            .group("g", [("g.x", "i64")])
            .group("same", [("same.y", "i64")])
            .sequence_by(["log"]);
        let schema = schema.order_by(["time"]).build().unwrap();
        let rows = |log: u64| {
            let columns: [(&str, ArrayRef); 4] = [
                ("log", Arc::new(LargeStringArray::from_iter_values((0..each).map(|_| format!("log {log}"))))),
                ("time", Arc::new(Int64Array::from_iter_values(0..each))),
                ("g.x", Arc::new(Int64Array::from_iter_values((0..each).map(|row| 100 * log as i64 + row)))),
                ("same.y", Arc::new(Int64Array::from_iter_values(0..each))),
            ];
            RecordBatch::try_from_iter(columns).unwrap()
        };
        let mut table = write(store(folder.path(), "t"), &schema, WriteOptions::default(), &[], &rows(0)).await;
        for log in 1..logs {
            let writer = table.append(WriteOptions::default()).await.unwrap();
            let mut partition = writer.partition().unwrap();
            partition.write(&rows(log)).await.unwrap();
            table = writer.commit([partition.finish().await.unwrap()]).await.unwrap();
        }
        let chunks = async |table: &Table, group: usize| -> BTreeSet<ChunkId> {
            table.storage().layout(group).await.unwrap().runs().iter().map(|run| run.chunk).collect()
        };
        // The other column group has the same block in every log, which is stored once.
        assert_eq!((chunks(&table, 0).await.len() as u64, chunks(&table, 1).await.len()), (logs, 1));
        let (next, moved) = table.storage().compact_runs(MOST, bound()).await.unwrap();
        assert_eq!((chunks(&next, 0).await.len(), moved.chunks, moved.blocks), (1, 1, logs), "{moved:?}");
        assert_eq!(chunks(&next, 1).await, chunks(&table, 1).await, "blocks that are shared are not copied");
        let all: Vec<RecordBatch> = (0..logs).map(rows).collect();
        assert_reads(&next, &concat_batches(&all[0].schema(), &all).unwrap()).await;
        assert!(next.storage().verify(|_, _| {}).await.unwrap().damage.is_empty());
        let (again, moved) = next.storage().compact_runs(MOST, bound()).await.unwrap();
        assert_eq!((again.version(), moved.blocks), (next.version(), 0));
    });
}

#[test]
fn any_history_reads_the_same_and_rests_after_one_compaction() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (cases, mut kept) = (common::cases(6), 0);
        for case in 0..cases {
            let mut rng = Rng(common::seed() + case as u64);
            let runs: Vec<(String, usize)> = (0..4).map(|log| (format!("log-{log}"), 5 + rng.below(30) as usize)).collect();
            let runs: Vec<(&str, usize)> = runs.iter().map(|(log, rows)| (log.as_str(), *rows)).collect();
            let mut rows = rows_of(&sensors(), &mut rng, &runs, Taste::SMALL);
            let options = cut_by(tiny_cuts()).locality(Locality::NONE);
            let name = format!("case-{case}");
            let mut table = write(store(folder.path(), &name), &sensors(), options.clone(), &[], &rows).await;
            for _ in 0..4 {
                let keep: Vec<u64> = (0..table.rows()).filter(|_| !rng.once_in(6)).collect();
                let gone: Vec<u64> = (0..table.rows()).filter(|row| !keep.contains(row)).collect();
                (table, rows) = (table.delete(gone, options.clone()).await.unwrap(), taken(&rows, keep));
                let more = rows_of(&sensors(), &mut rng, &[(&format!("more-{}", table.version()), 3)], Taste::SMALL);
                let writer = table.append(options.clone()).await.unwrap();
                let mut partition = writer.partition().unwrap();
                partition.write(&more).await.unwrap();
                table = writer.commit([partition.finish().await.unwrap()]).await.unwrap();
                rows = concat_batches(&rows.schema(), [&rows, &more]).unwrap();
            }
            let bound =
                Locality { window: 1 + rng.below(20), extra_ranges: rng.below(3) as usize, percent: 100 + 50 * rng.below(3) };
            let segments = 1 + rng.below(200);
            let (next, moved): (Table, Gathered) = table.storage().compact_runs(segments, bound).await.unwrap();
            // Windows stay beyond the bound only where new chunks, which end by their content, would make them no cheaper.
            if moved.after.extra_ranges <= bound.extra_ranges as u64 && moved.after.percent <= bound.percent.max(100) {
                kept += 1;
            }
            let (again, left) = next.storage().compact_runs(segments, bound).await.unwrap();
            assert_eq!((again.version(), left.blocks, left.after), (next.version(), 0, moved.after), "{bound:?}");
            assert_reads(&next, &rows).await;
        }
        assert!(cases - kept <= cases.div_ceil(10), "{kept} of {cases} keep the bound");
    });
}

#[test]
fn what_another_table_says_is_compared_before_it_is_copied() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (table, owners, _) = scattered(folder.path(), [Preset::Balanced; 2]).await;
        let (name, _) = owners[1].store().list("chunks").await.unwrap().remove(0);
        let path = folder.path().join("owner-1").join(&name);
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let error = table.storage().compact_runs(MOST, Locality { extra_ranges: 0, ..bound() }).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains(" of owner 2"), "{error}");
        assert_eq!(Table::open_in(table.store().clone()).await.unwrap().version(), 1);
    });
}

/// Returns ten rows of a new log.
fn ten_rows(number: u64) -> RecordBatch {
    let log = format!("log-{number}");
    rows_of(&sensors(), &mut Rng(number), &[(&log, 10)], Taste::SMALL)
}

async fn append(table: &Table, rows: &RecordBatch) -> tetrys::Result<Table> {
    let writer = table.append(WriteOptions::default()).await?;
    let mut partition = writer.partition()?;
    partition.write(rows).await?;
    writer.commit([partition.finish().await?]).await
}

#[test]
fn many_small_appends_leave_few_segments_small_manifests_and_cost_what_the_first_ones_did() {
    let appends = if common::full() { 300 } else { 96 };
    let counting = CountingStore::new(Arc::new(InMemory::new()) as Arc<dyn ObjectStore>);
    let store = tables::over(Arc::new(counting.clone()));
    block_on(async {
        let mut rows = vec![ten_rows(0)];
        let mut table = tables::write(store.clone(), sensors(), cut_by(tiny_cuts()), &rows).await.unwrap();
        let (mut requests, mut largest) = (Vec::new(), 0);
        for number in 1..=appends {
            rows.push(ten_rows(number));
            counting.reset();
            table = append(&table, rows.last().unwrap()).await.unwrap();
            let counts = counting.snapshot();
            requests.push(counts.gets.len() as u64 + counts.heads + counts.puts + counts.lists);
            largest = largest.max(table.manifest().segments.len());
        }
        // The segments have three orders of magnitude (10, 80 and 640 rows), with at most seven segments of each.
        assert!(largest <= 21, "{largest} segments");
        let manifests: u64 = store.list("manifests").await.unwrap().iter().map(|(_, bytes)| bytes).sum();
        let one = store.size(&tetrys::format::manifest_name(1)).await.unwrap();
        assert!(manifests <= appends * 22 * one, "{manifests} bytes of manifests, the first one has {one}");
        // An append searches at most 64 earlier versions for blocks that are stored already.
        let (early, late) = (&requests[64..80], &requests[requests.len() - 16..]);
        let most = |requests: &[u64]| *requests.iter().max().unwrap();
        println!(
            "{appends} appends: {largest} segments, {manifests} bytes of manifests, {} and {} requests",
            most(early),
            most(late)
        );
        assert!(most(late) <= most(early) + most(early) / 2, "{early:?} then {late:?}");
        assert_reads(&table, &concat_batches(&rows[0].schema(), &rows).unwrap()).await;
    });
}

#[test]
fn writers_that_append_at_once_both_succeed_where_the_first_puts_segments_together() {
    for before in 5..9 {
        let (_, store) = tables::memory();
        block_on(async {
            let mut rows = vec![ten_rows(0)];
            let mut table = tables::write(store.clone(), sensors(), cut_by(tiny_cuts()), &rows).await.unwrap();
            for number in 1..before {
                rows.push(ten_rows(number));
                table = append(&table, rows.last().unwrap()).await.unwrap();
            }
            // Four writers append to the same version, and one writer replaces a group of it.
            for number in 0..4 {
                rows.push(ten_rows(100 + number));
                append(&table, rows.last().unwrap()).await.unwrap();
            }
            let all = concat_batches(&rows[0].schema(), &rows).unwrap();
            let counts: ArrayRef = Arc::new(arrow_array::UInt32Array::from_iter_values(0..all.num_rows() as u32));
            let mut columns = all.columns().to_vec();
            let known = table.rows() as usize;
            let place = all.schema().index_of("labels.count").unwrap();
            let kept = arrow_array::Array::slice(&columns[place], known, all.num_rows() - known);
            columns[place] = arrow_select::concat::concat(&[&counts.slice(0, known), &kept]).unwrap();
            let changed = RecordBatch::try_new(all.schema(), columns).unwrap();
            let mut writer = table.replace_group("labels", WriteOptions::default()).await.unwrap();
            writer.write(&tables::of_group(&changed.slice(0, known), "labels")).await.unwrap();
            let last = writer.commit().await.unwrap();
            assert_eq!(last.version(), before + 5);
            assert!(last.manifest().segments.len() <= 11, "{}", last.manifest().segments.len());
            assert_reads(&last, &changed).await;
            // Another writer deletes rows of the same version.
            let rest = table.delete([0, 3, 12], WriteOptions::default()).await.map(|table| table.version());
            assert_eq!(rest.unwrap_err().kind(), ErrorKind::Conflict, "the labels were changed as well");
        });
    }
}

#[test]
fn rows_that_were_deleted_meanwhile_go_together_with_appends_that_put_segments_together() {
    let (_, store) = tables::memory();
    block_on(async {
        let mut rows = vec![ten_rows(0)];
        let mut table = tables::write(store.clone(), sensors(), cut_by(tiny_cuts()), &rows).await.unwrap();
        for number in 1..6 {
            rows.push(ten_rows(number));
            table = append(&table, rows.last().unwrap()).await.unwrap();
        }
        let mut newest = table.clone();
        for number in 6..12 {
            rows.push(ten_rows(number));
            newest = append(&newest, rows.last().unwrap()).await.unwrap();
        }
        assert!(newest.manifest().segments.len() < 6);
        let rest = table.delete([0, 3, 12, 59], WriteOptions::default()).await.unwrap();
        let all = concat_batches(&rows[0].schema(), &rows).unwrap();
        let kept = (0..120).filter(|row| ![0, 3, 12, 59].contains(row));
        assert_reads(&rest, &take_record_batch(&all, &UInt64Array::from_iter_values(kept)).unwrap()).await;
    });
}

#[test]
fn what_two_writers_did_alike_is_named_also_where_one_of_them_put_segments_together() {
    let conflict = |appends: u64| {
        let (_, store) = tables::memory();
        let add = async |table: &Table, rows: u64| {
            let mut writer = table.add_group("more", [("more", "i64")], WriteOptions::default()).await.unwrap();
            let values: ArrayRef = Arc::new(Int64Array::from_iter_values((0..table.rows()).map(|row| row as i64 + rows as i64)));
            writer.write(&RecordBatch::try_from_iter([("more", values)]).unwrap()).await.unwrap();
            writer.commit().await
        };
        block_on(async {
            let mut table = tables::write(store.clone(), sensors(), cut_by(tiny_cuts()), &[ten_rows(0)]).await.unwrap();
            for number in 1..7 {
                table = append(&table, &ten_rows(number)).await.unwrap();
            }
            let mut theirs = add(&table, 1).await.unwrap();
            for number in 0..appends {
                let rows = ten_rows(100 + number);
                let more: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10));
                let names = rows
                    .schema()
                    .fields()
                    .iter()
                    .map(|field| field.name().clone())
                    .chain(["more".to_owned()])
                    .collect::<Vec<_>>();
                let columns = rows.columns().iter().cloned().chain([more]);
                theirs = append(&theirs, &RecordBatch::try_from_iter(names.into_iter().zip(columns)).unwrap()).await.unwrap();
            }
            assert_eq!(theirs.manifest().segments.len() < 7, appends > 0, "they are put together");
            let error = add(&table, 2).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Conflict);
            error.to_string().split_once(" is newer: ").map(|(_, text)| text.to_owned()).unwrap()
        })
    };
    let (alone, folded) = (conflict(0), conflict(3));
    assert_eq!(folded, alone);
    assert!(alone.contains("`more`"), "{alone}");
}

#[test]
fn verifying_all_versions_reads_each_object_once_and_ends_where_it_said() {
    let counting = CountingStore::new(Arc::new(InMemory::new()) as Arc<dyn ObjectStore>);
    let store = tables::over(Arc::new(counting.clone()));
    block_on(async {
        let mut table = tables::write(store.clone(), sensors(), cut_by(tiny_cuts()), &[ten_rows(0)]).await.unwrap();
        for number in 1..12 {
            table = append(&table, &ten_rows(number)).await.unwrap();
        }
        let table = Table::open_in(store.clone()).await.unwrap();
        for all_versions in [false, true] {
            counting.reset();
            let (mut last, mut calls) = ((0, 0), 0);
            let reach = VerifyReach { all_versions, sources: true };
            let verified = table.storage().verify_more(reach, |done, total| {
                assert!(done <= total && done >= last.0 && (calls == 0 || total == last.1), "{done} of {total} after {last:?}");
                (last, calls) = ((done, total), calls + 1);
            });
            assert!(verified.await.unwrap().damage.is_empty());
            assert!(calls > 10 && last.0 == last.1, "it ends with {last:?}");
            let mut asked = std::collections::BTreeMap::<String, u32>::new();
            counting.snapshot().gets.iter().for_each(|get| *asked.entry(get.path.clone()).or_default() += 1);
            // Sequences are checked for each version as a whole, so the index objects of segments that several versions share are
            // read several times.
            asked.retain(|path, times| *times > 1 && !path.starts_with("index/"));
            assert!(asked.is_empty(), "all versions {all_versions}: {asked:?}");
        }
    });
}

#[test]
fn merging_segments_reads_neither_payload_nor_segments_that_stay() {
    let counting = CountingStore::new(Arc::new(InMemory::new()) as Arc<dyn ObjectStore>);
    let store = tables::over(Arc::new(counting.clone()));
    block_on(async {
        let (schema, mut rng) = (sensors(), Rng(common::seed()));
        let sizes = [30, 1, 2, 30, 3, 1, 1];
        let logs = "abcdefg".chars().map(String::from).collect::<Vec<_>>();
        let parts: Vec<RecordBatch> =
            logs.iter().zip(sizes).map(|(log, rows)| rows_of(&schema, &mut rng, &[(log, rows)], Taste::SMALL)).collect();
        let table = tables::write(store.clone(), schema, cut_by(tiny_cuts()).segment_rows(1), &parts).await.unwrap();
        assert_eq!(table.manifest().segments.len(), 7);
        counting.reset();
        let next = table.storage().compact(30).await.unwrap();
        let read: BTreeSet<String> = counting.snapshot().gets.into_iter().map(|get| get.path).collect();
        let segments = &next.manifest().segments;
        assert_eq!(segments.iter().map(|segment| segment.rows).collect::<Vec<_>>(), [30, 3, 30, 5]);
        assert!(!read.iter().any(|name| name.contains("chunks/")), "{read:?}");
        for large in [0, 3] {
            let segment = &table.manifest().segments[large];
            let stays = segment.groups.iter().flat_map(|group| [group.layout.name_in("layout"), group.hashes.name_in("hashes")]);
            let stays: Vec<String> = stays.chain([segment.index.name_in("index")]).collect();
            assert!(!stays.iter().any(|name| read.contains(name)), "{read:?} {stays:?}");
            assert!(segments.contains(segment));
        }
        let again = Table::open_in(store).await.unwrap();
        assert_reads(&again, &concat_batches(&parts[0].schema(), &parts).unwrap()).await;
        assert_eq!(again.storage().compact(30).await.unwrap().version(), again.version(), "nothing is left to merge");
    });
}
