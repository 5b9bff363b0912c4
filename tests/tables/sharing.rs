//! Rows are not stored twice: a table that is written with another table as reference stores only new blocks, reads the same rows
//! as if it had stored everything, and does not trust the hashes of the other table.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use crate::common::hooked::{Act, Hooked};
use crate::common::tables::{
    self, Rng, Taste, assert_reads, assert_rows, block_on, cut_by, joined, rows_of, sensors, tiny_cuts, two_partitions,
};
use arrow_array::{ArrayRef, Int64Array, LargeBinaryArray, LargeStringArray, RecordBatch};
use arrow_select::{concat::concat_batches, take::take_record_batch};
use tetrys::{
    ErrorKind, Preset, Schema, Store, Table, WriteOptions,
    format::{HashesWriter, Pin, read_hashes},
    id::{Hash, ObjectRef},
    write::{Locality, Reuse, Sharing, worst_windows},
};

fn store(folder: &Path, name: &str) -> Store {
    Store::open(folder.join(name).to_str().unwrap()).unwrap()
}

/// Writes the partitions as a new table that may share chunks with `references`.
async fn write(
    store: Store,
    schema: &Schema,
    options: WriteOptions,
    references: &[&Table],
    partitions: &[RecordBatch],
) -> tetrys::Result<(Table, Sharing)> {
    let writer = Table::create_in(store, schema.clone(), options).await?.references(references.iter().copied()).await?;
    assert!(writer.unpinned().is_empty(), "{:?}", writer.unpinned());
    let (mut receipts, mut sharing) = (Vec::new(), Sharing::default());
    for batch in partitions {
        let mut partition = writer.partition()?;
        partition.write(batch).await?;
        let receipt = partition.finish().await?;
        sharing = sharing.and(receipt.sharing.clone());
        receipts.push(receipt);
    }
    Ok((writer.commit(receipts).await?, sharing))
}

async fn chunk_bytes(table: &Table) -> u64 {
    table.store().list("chunks").await.unwrap().iter().map(|(_, bytes)| bytes).sum()
}

/// Returns 60 logs of 10 rows of 2 KB. Each row is a block of its own, so rows can be inserted and deleted alone.
fn wide(seed: u64) -> (Schema, RecordBatch) {
    let mut rng = Rng(seed);
    let schema = Schema::builder().index("log", "utf8").index("time", "i64").group("camera", [("camera.jpeg", "binary")]);
    let schema = schema.group("labels", [("labels.text", "utf8")]).sequence_by(["log"]).build().unwrap();
    let rows = 600;
    let logs: ArrayRef = Arc::new(LargeStringArray::from_iter_values((0..rows).map(|row| format!("log-{:02}", row / 10))));
    let times: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
    let jpegs: ArrayRef = Arc::new(LargeBinaryArray::from_iter_values((0..rows).map(|_| rng.bytes(2_000))));
    let texts: ArrayRef = Arc::new(LargeStringArray::from_iter_values((0..rows).map(|row| format!("label {}", row * 7 % 13))));
    let batch = [("log", logs), ("time", times), ("camera.jpeg", jpegs), ("labels.text", texts)];
    (schema, RecordBatch::try_from_iter(batch).unwrap())
}

/// Returns the rows with new pictures in some of them.
fn repainted(batch: &RecordBatch, seed: u64, changed: impl Fn(usize) -> bool) -> RecordBatch {
    let mut rng = Rng(seed);
    let column = batch.column_by_name("camera.jpeg").unwrap();
    let column = column.as_any().downcast_ref::<LargeBinaryArray>().unwrap();
    let paint = |row| if changed(row) { rng.bytes(2_000) } else { column.value(row).to_vec() };
    let jpegs: Vec<Vec<u8>> = (0..batch.num_rows()).map(paint).collect();
    let mut columns = batch.columns().to_vec();
    columns[2] = Arc::new(LargeBinaryArray::from_iter_values(jpegs));
    RecordBatch::try_new(batch.schema(), columns).unwrap()
}

fn wide_cuts() -> WriteOptions {
    let cuts = tetrys::table::Cuts {
        block_min: 200,
        block_target: 400,
        block_max: 4_000,
        chunk_min: 40_000,
        chunk_target: 80_000,
        chunk_max: 160_000,
    };
    WriteOptions::default().cuts(cuts)
}

#[test]
fn a_table_written_again_stores_no_chunk_and_reads_the_same() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (schema, partitions) = two_partitions(11);
        let first = tables::write(store(folder.path(), "first"), schema.clone(), cut_by(tiny_cuts()), &partitions).await.unwrap();
        for (name, preset) in [("same", Preset::Balanced), ("other", Preset::Compact)] {
            let options = cut_by(tiny_cuts()).preset(preset);
            let (again, sharing) = write(store(folder.path(), name), &schema, options, &[&first], &partitions).await.unwrap();
            assert_eq!(chunk_bytes(&again).await, 0, "{name}");
            assert_eq!((sharing.new_bytes, sharing.refused, sharing.stored_again), (0, 0, 0), "{sharing:?}");
            assert_reads(&again, &joined(&partitions)).await;
            let info = again.info().await.unwrap();
            assert_eq!((info.own_chunk_bytes, info.references.as_slice()), (0, &["../first".to_owned()][..]));
            assert_eq!(info.referenced_chunk_bytes, first.info().await.unwrap().own_chunk_bytes);
            // The size of each column is known without the manifest of the original.
            let sums = |table: &Table| {
                table.manifest().segments.iter().flat_map(|s| &s.groups).flat_map(|g| g.columns.clone()).collect::<Vec<_>>()
            };
            assert_eq!(sums(&again), sums(&first));
        }
    });
}

#[test]
fn the_owner_is_told_and_a_reference_that_was_not_needed_is_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (schema, partitions) = two_partitions(12);
        let first = tables::write(store(folder.path(), "first"), schema.clone(), cut_by(tiny_cuts()), &partitions).await.unwrap();
        let mut rng = Rng(99);
        let strange = [rows_of(&schema, &mut rng, &[("x", 9)], Taste::NOISE)];
        let other = tables::write(store(folder.path(), "other"), schema.clone(), cut_by(tiny_cuts()), &strange).await.unwrap();
        let (again, _) =
            write(store(folder.path(), "again"), &schema, cut_by(tiny_cuts()), &[&other, &first], &partitions).await.unwrap();
        assert!(other.store().list("pins").await.unwrap().is_empty());
        assert_eq!(again.manifest().stores.len(), 1);
        let pins = first.store().list("pins").await.unwrap();
        let pin = Pin::parse(&first.store().get_exact(&pins[0].0, pins[0].1).await.unwrap(), &pins[0].0).unwrap();
        assert_eq!((pins.len(), pin.owner.blake3, pin.commit()), (1, first.manifest_hash(), again.manifest().commit_id));
        assert_eq!((pin.table, pin.version, pin.urls), (again.manifest().table, 1, vec!["../again".to_owned()]));
    });
}

/// By default, an append looks for blocks in the last segment of the table. Here the blocks are in an earlier version.
#[test]
fn an_append_shares_with_an_earlier_version_of_its_table_that_it_names() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (schema, partitions) = two_partitions(11);
        let first = tables::write(store(folder.path(), "t"), schema.clone(), cut_by(tiny_cuts()), &partitions).await.unwrap();
        let writer = first.overwrite(schema, cut_by(tiny_cuts()).reuse(Reuse::None)).await.unwrap();
        let second = writer.commit([]).await.unwrap();
        let append = async |references: &[&Table]| {
            let writer = second.append(WriteOptions::default()).await.unwrap();
            let writer = writer.references(references.iter().copied()).await.unwrap();
            let mut partition = writer.partition().unwrap();
            partition.write(&partitions[0]).await.unwrap();
            (partition.finish().await.unwrap().sharing, writer)
        };
        assert_eq!(append(&[]).await.0.blocks, 0);
        let (sharing, _) = append(&[&first]).await;
        assert!(sharing.blocks > 0 && sharing.new_bytes == 0, "{sharing:?}");
    });
}

#[test]
fn references_are_flat_however_long_the_chain() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (schema, batch) = wide(1);
        let (mut tables, mut rows): (Vec<Table>, _) = (Vec::new(), batch);
        for link in 0..4_usize {
            rows = repainted(&rows, link as u64, |row| row % 100 == 20 * link);
            let references: Vec<&Table> = tables.last().into_iter().collect();
            let name = format!("t{link}");
            let (table, _) =
                write(store(folder.path(), &name), &schema, wide_cuts(), &references, std::slice::from_ref(&rows)).await.unwrap();
            tables.push(table);
        }
        let last = tables.last().unwrap();
        let urls: BTreeSet<&str> = last.manifest().stores.iter().map(|store| store.urls[0].as_str()).collect();
        assert_eq!(urls, BTreeSet::from(["../t0", "../t1", "../t2"]));
        assert_reads(last, &rows).await;
        // Each table that uses an owner has left a pin there.
        assert_eq!(tables[0].store().list("pins").await.unwrap().len(), 3);
        // Blocks of the first table are shared directly, not through the table in between.
        assert!(last.info().await.unwrap().own_chunk_bytes < 600 * 2_000 / 20);
    });
}

#[test]
fn changed_rows_are_stored_and_their_neighbours_are_not() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (schema, batch) = wide(2);
        let (first, _) =
            write(store(folder.path(), "first"), &schema, wide_cuts(), &[], std::slice::from_ref(&batch)).await.unwrap();
        let changed = repainted(&batch, 5, |row| row % 97 == 13);
        let count = (0..600).filter(|row| row % 97 == 13).count() as u64;
        let (again, sharing) =
            write(store(folder.path(), "again"), &schema, wide_cuts(), &[&first], std::slice::from_ref(&changed)).await.unwrap();
        assert_reads(&again, &changed).await;
        assert!(chunk_bytes(&again).await < count * 2_300, "{} bytes for {count} rows: {sharing:?}", chunk_bytes(&again).await);
        // All windows keep the bound that the writer reported.
        let layout = again.storage().layout(0).await.unwrap();
        let worst = worst_windows(layout.runs(), |row| row % 10 == 0, Locality::default());
        assert!(worst.extra_ranges <= 1 && worst.percent <= 150, "{worst:?}");
        assert!(sharing.worst.extra_ranges <= 1 && sharing.worst.percent <= 150, "{sharing:?}");
    });
}

#[test]
fn rows_inserted_and_deleted_disturb_their_neighbours_alone() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (schema, batch) = wide(3);
        let (first, _) =
            write(store(folder.path(), "first"), &schema, wide_cuts(), &[], std::slice::from_ref(&batch)).await.unwrap();
        // One row in the middle of each log is deleted.
        let kept = arrow_array::UInt64Array::from_iter_values((0..600).filter(|row| row % 10 != 5));
        let fewer = take_record_batch(&batch, &kept).unwrap();
        let (deleted, sharing) =
            write(store(folder.path(), "deleted"), &schema, wide_cuts(), &[&first], std::slice::from_ref(&fewer)).await.unwrap();
        assert_reads(&deleted, &fewer).await;
        let info = deleted.info().await.unwrap();
        assert_eq!(info.column_groups[0].bytes, deleted.rows() * first.info().await.unwrap().column_groups[0].bytes / 600);
        assert!(sharing.new_bytes < 60_000, "{sharing:?}");
        // The opposite case: the deleted rows are inserted again.
        let (inserted, sharing) =
            write(store(folder.path(), "inserted"), &schema, wide_cuts(), &[&deleted], std::slice::from_ref(&batch))
                .await
                .unwrap();
        assert_reads(&inserted, &batch).await;
        assert!(sharing.new_bytes < 60 * 2_300 + 60_000, "{sharing:?}");
    });
}

/// Returns rows of logs, each with the seed of its 2 KB.
fn logged(rows: &[(usize, u64)]) -> RecordBatch {
    let logs: ArrayRef = Arc::new(LargeStringArray::from_iter_values(rows.iter().map(|(log, _)| format!("log-{log:02}"))));
    let times: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows.len() as i64));
    let jpegs: ArrayRef = Arc::new(LargeBinaryArray::from_iter_values(rows.iter().map(|(_, seed)| Rng(*seed).bytes(2_000))));
    let texts: ArrayRef = Arc::new(LargeStringArray::from_iter_values(rows.iter().map(|(log, _)| format!("label {log}"))));
    let batch = [("log", logs), ("time", times), ("camera.jpeg", jpegs), ("labels.text", texts)];
    RecordBatch::try_from_iter(batch).unwrap()
}

/// Writes twelve versions of six logs. Each version is written whole, with 1% of the rows deleted and 2% inserted at random
/// places. Returns the ratio of all chunk bytes to the bytes of the rows, the bytes that were stored again because of the bound,
/// and the names of the chunks.
async fn inserted_anywhere(folder: &Path, name: &str, locality: Locality) -> (f64, u64, Vec<(String, u64)>) {
    let (schema, _) = wide(1);
    let options = wide_cuts().locality(locality);
    let mut rng = Rng(24);
    let mut rows: Vec<(usize, u64)> = (0..300).map(|row| (row as usize / 50, 1 + row)).collect();
    let (mut unique, mut again) = (rows.len() as u64, 0);
    let (mut table, _) = write(store(folder, name), &schema, options.clone(), &[], &[logged(&rows)]).await.unwrap();
    for _ in 1..12 {
        for _ in 0..rows.len() / 100 {
            rows.remove(rng.below(rows.len() as u64) as usize);
        }
        for _ in 0..rows.len() / 50 {
            let place = rng.below(rows.len() as u64) as usize;
            unique += 1;
            rows.insert(place, (rows[place].0, 10_000 + unique));
        }
        let writer = table.overwrite(schema.clone(), options.clone()).await.unwrap();
        let mut partition = writer.partition().unwrap();
        let batch = logged(&rows);
        partition.write(&batch).await.unwrap();
        let receipt = partition.finish().await.unwrap();
        let sharing = receipt.sharing.clone();
        assert!(sharing.new_bytes >= sharing.stored_again_bytes, "{sharing:?}");
        assert_eq!(sharing.stored_again == 0, sharing.stored_again_bytes == 0, "{sharing:?}");
        again += sharing.stored_again_bytes;
        table = writer.commit([receipt]).await.unwrap();
        assert_reads(&table, &batch).await;
        let starts = |row: u64| row == 0 || rows[row as usize].0 != rows[row as usize - 1].0;
        let worst = worst_windows(table.storage().layout(0).await.unwrap().runs(), starts, locality);
        assert!(worst.extra_ranges <= locality.extra_ranges as u64 && worst.percent <= locality.percent, "{worst:?}");
    }
    let chunks = table.store().list("chunks").await.unwrap();
    let mut names: Vec<_> = chunks.into_iter().map(|(name, bytes)| (name.to_string(), bytes)).collect();
    names.sort();
    (chunk_bytes(&table).await as f64 / (unique * 2_000) as f64, again, names)
}

#[test]
fn rows_inserted_at_scattered_places_cost_little_more_than_themselves() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (near, again, chunks) = inserted_anywhere(folder.path(), "near", Locality::default()).await;
        let (far, none, _) = inserted_anywhere(folder.path(), "far", Locality::NONE).await;
        assert!(near <= 2.0 && far <= 1.1, "{near} {far}");
        assert!(again > 0 && none == 0);
        let (narrow, ..) = inserted_anywhere(folder.path(), "narrow", "6".parse().unwrap()).await;
        assert!(far < narrow && narrow < near, "{far} {narrow} {near}");
        // Only the rows and the settings determine what is stored again.
        assert_eq!(inserted_anywhere(folder.path(), "once more", Locality::default()).await.2, chunks);
    });
}

#[test]
fn a_window_keeps_the_bound_where_blocks_come_from_many_tables() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (schema, batch) = wide(4);
        // Each of six tables has every sixth row as the last table will have it.
        let mut tables = Vec::new();
        for part in 0..6_usize {
            let rows = repainted(&batch, 100 + part as u64, |row| row % 6 != part);
            let name = format!("part-{part}");
            tables.push(write(store(folder.path(), &name), &schema, wide_cuts(), &[], &[rows]).await.unwrap().0);
        }
        let references: Vec<&Table> = tables.iter().collect();
        for (name, bound, least) in [("near", Locality::default(), 1), ("far", Locality::NONE, 0)] {
            let options = wide_cuts().locality(bound);
            let (table, sharing) =
                write(store(folder.path(), name), &schema, options, &references, std::slice::from_ref(&batch)).await.unwrap();
            assert_reads(&table, &batch).await;
            assert!((sharing.stored_again > 0) == (least > 0), "{name}: {sharing:?}");
            let worst = worst_windows(table.storage().layout(0).await.unwrap().runs(), |row| row % 10 == 0, Locality::default());
            assert_eq!(worst.extra_ranges <= 1, least > 0, "{name}: {worst:?}");
        }
    });
}

#[test]
fn codecs_of_another_preset_and_everything_can_be_refused() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let schema = Schema::builder().index("id", "i64").group("g", [("x", "f32[100]")]).build().unwrap();
        let mut rng = Rng(8);
        let batch = tables::rows_of(&schema, &mut rng, &[("a", 300)], Taste { nulls: 0, length: 1, smooth: true });
        let compact = WriteOptions::default().preset(Preset::Compact);
        let (first, _) = write(store(folder.path(), "first"), &schema, compact, &[], std::slice::from_ref(&batch)).await.unwrap();
        for (name, preset, reuse, shares) in [
            ("any", Preset::Fast, Reuse::Any, true),
            ("same", Preset::Compact, Reuse::SamePreset, true),
            ("another", Preset::Fast, Reuse::SamePreset, false),
            ("none", Preset::Compact, Reuse::None, false),
        ] {
            let options = WriteOptions::default().preset(preset).reuse(reuse);
            let (table, _) =
                write(store(folder.path(), name), &schema, options, &[&first], std::slice::from_ref(&batch)).await.unwrap();
            assert_eq!(chunk_bytes(&table).await == 0, shares, "{name}");
            assert_reads(&table, &batch).await;
        }
    });
}

/// Publishes a copy of the table with false block hashes.
async fn lying(table: &Table, target: Store, lie: impl Fn(&mut Vec<Hash>)) -> Table {
    for (name, bytes) in tables::objects(table.store()).await {
        if !name.starts_with("manifests/") && !name.starts_with("pins/") {
            target.put_new(&name, bytes.into()).await.unwrap();
        }
    }
    let mut manifest = table.manifest().clone();
    manifest.table = uuid::Uuid::from_u128(5);
    for segment in &mut manifest.segments {
        for group in &mut segment.groups {
            let bytes =
                table.store().get_exact(&format!("hashes/{}.parquet", group.hashes.blake3), group.hashes.bytes).await.unwrap();
            let mut hashes = read_hashes(bytes, group.blocks).unwrap();
            lie(&mut hashes);
            let mut writer = HashesWriter::new(Vec::new()).unwrap();
            writer.write(&hashes).unwrap();
            let bytes = writer.finish().unwrap();
            group.hashes = ObjectRef { blake3: Hash::of(&bytes), bytes: bytes.len() as u64 };
            target.put_content(&format!("hashes/{}.parquet", group.hashes.blake3), bytes.into()).await.unwrap();
        }
    }
    tetrys::commit::publish(&target, &manifest).await.unwrap();
    Table::open_in(target).await.unwrap()
}

#[test]
fn hashes_that_lie_are_found_out_and_the_rows_are_stored() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (schema, batch) = wide(6);
        let (first, _) =
            write(store(folder.path(), "first"), &schema, wide_cuts(), &[], std::slice::from_ref(&batch)).await.unwrap();
        // Each block has the hash of its neighbour.
        let liar = lying(&first, store(folder.path(), "liar"), |hashes| hashes.rotate_right(1)).await;
        let (table, sharing) =
            write(store(folder.path(), "again"), &schema, wide_cuts(), &[&liar], std::slice::from_ref(&batch)).await.unwrap();
        assert!(sharing.refused >= 600, "{sharing:?}");
        assert!(sharing.first_refused.as_ref().unwrap().contains("its rows do not match its hash"), "{sharing:?}");
        assert!(table.manifest().stores.is_empty(), "nothing of the liar is used");
        assert_reads(&table, &batch).await;
    });
}

#[test]
fn damaged_and_missing_blocks_of_a_reference_are_stored_anew() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (schema, batch) = wide(7);
        let (first, _) =
            write(store(folder.path(), "first"), &schema, wide_cuts(), &[], std::slice::from_ref(&batch)).await.unwrap();
        let chunks = first.store().list("chunks").await.unwrap();
        std::fs::remove_file(folder.path().join("first").join(&chunks[0].0)).unwrap();
        let damaged = folder.path().join("first").join(&chunks[1].0);
        let mut bytes = std::fs::read(&damaged).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&damaged, bytes).unwrap();
        let first = Table::open_in(store(folder.path(), "first")).await.unwrap();
        let (table, sharing) =
            write(store(folder.path(), "again"), &schema, wide_cuts(), &[&first], std::slice::from_ref(&batch)).await.unwrap();
        assert!(sharing.refused > 1 && sharing.blocks > 0, "{sharing:?}");
        // The intact blocks of the damaged chunk can still be read; deep verification names the chunk.
        let all: Vec<u64> = (0..600).collect();
        let rows: Vec<_> = all.iter().copied().map(Some).collect();
        assert_rows(&table.row_loader().take(&all).await.unwrap(), &batch, &rows);
        assert_eq!(table.storage().verify(|_, _| {}).await.unwrap().damage.len(), 1);
    });
}

#[test]
fn a_reference_without_a_name_and_one_that_comes_too_late_are_refused() {
    block_on(async {
        let (schema, partitions) = two_partitions(3);
        let first = tables::write(tables::memory().1, schema.clone(), cut_by(tiny_cuts()), &partitions).await.unwrap();
        let nameless = Store::open("memory://").unwrap();
        let nameless = tables::write(nameless, schema.clone(), cut_by(tiny_cuts()), &partitions).await.unwrap();
        let target = Store::open("memory://sharing-late/table").unwrap();
        let writer = Table::create_in(target.clone(), schema.clone(), cut_by(tiny_cuts())).await.unwrap();
        let error = writer.references([&nameless]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        let writer = Table::create_in(target, schema, cut_by(tiny_cuts())).await.unwrap();
        let _partition = writer.partition().unwrap();
        assert_eq!(writer.references([&first]).await.unwrap_err().kind(), ErrorKind::Invalid);
    });
}

#[test]
fn a_table_in_memory_refers_to_its_neighbour() {
    block_on(async {
        let (schema, partitions) = two_partitions(4);
        let first = Store::open("memory://sharing-near/first").unwrap();
        let first = tables::write(first, schema.clone(), cut_by(tiny_cuts()), &partitions).await.unwrap();
        let again = Store::open("memory://sharing-near/again").unwrap();
        let (again, _) = write(again, &schema, cut_by(tiny_cuts()), &[&first], &partitions).await.unwrap();
        assert_eq!(again.manifest().stores[0].urls, ["../first"]);
        assert_reads(&again, &joined(&partitions)).await;
    });
}

#[test]
fn what_is_known_is_found_in_any_memory() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let schema = sensors();
        let mut rng = Rng(21);
        let rows = [rows_of(&schema, &mut rng, &[("a", 200), ("b", 300)], Taste::NOISE)];
        let first = tables::write(store(folder.path(), "first"), schema.clone(), cut_by(tiny_cuts()), &rows).await.unwrap();
        let options = cut_by(tiny_cuts()).known_memory(1_000).write_memory(5_000);
        let (again, _) = write(store(folder.path(), "again"), &schema, options, &[&first], &rows).await.unwrap();
        assert_eq!(chunk_bytes(&again).await, 0);
        assert_reads(&again, &concat_batches(&rows[0].schema(), &rows).unwrap()).await;
    });
}

#[test]
fn a_table_that_is_materialized_needs_no_other() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (schema, batch) = wide(8);
        let (first, _) =
            write(store(folder.path(), "first"), &schema, wide_cuts(), &[], std::slice::from_ref(&batch)).await.unwrap();
        let changed = repainted(&batch, 5, |row| row % 50 == 3);
        let (again, _) =
            write(store(folder.path(), "again"), &schema, wide_cuts(), &[&first], std::slice::from_ref(&changed)).await.unwrap();
        // While the owner exists, a missing chunk is reported with its table, chunk and owner.
        let chunk = first.store().list("chunks").await.unwrap().remove(0).0;
        let (path, aside) = (folder.path().join("first").join(&chunk), folder.path().join("aside"));
        std::fs::rename(&path, &aside).unwrap();
        let again = Table::open_in(again.store().clone()).await.unwrap();
        let damage = again.storage().verify(|_, _| {}).await.unwrap().damage;
        assert_eq!(damage.len(), 1, "{damage:?}");
        assert!(damage[0].object.contains(&chunk) && damage[0].problem.contains("/first"), "{damage:?}");
        let error = again.storage().materialize(|_, _| {}).await.unwrap_err();
        assert!(error.kind() == ErrorKind::Corrupt && error.to_string().contains(&chunk), "{error}");
        std::fs::rename(&aside, &path).unwrap();

        let own = again.storage().materialize(|_, _| {}).await.unwrap();
        assert!(own.manifest().stores.is_empty() && own.version() == 2);
        std::fs::remove_dir_all(folder.path().join("first")).unwrap();
        let own = Table::open_in(own.store().clone()).await.unwrap();
        assert_reads(&own, &changed).await;
        assert_eq!(own.storage().materialize(|_, _| {}).await.unwrap().version(), 2, "nothing left to do");
    });
}

#[test]
fn a_window_over_shared_blocks_takes_one_range_more() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (schema, batch) = wide(9);
        let (first, _) =
            write(store(folder.path(), "first"), &schema, wide_cuts(), &[], std::slice::from_ref(&batch)).await.unwrap();
        let changed = repainted(&batch, 5, |row| row % 13 == 4);
        let (again, _) =
            write(store(folder.path(), "again"), &schema, wide_cuts(), &[&first], std::slice::from_ref(&changed)).await.unwrap();
        let camera = |table: &Table| table.row_loader().columns(["camera.*"]).unwrap().coalesce(tetrys::table::Coalesce::REMOTE);
        let mut more = 0;
        for row in 0..600 {
            let fresh = camera(&first).explain(row, -9..=9).await.unwrap();
            let shared = camera(&again).explain(row, -9..=9).await.unwrap();
            assert!(shared.ranges <= fresh.ranges + 1, "row {row}: {} and {} ranges", fresh.ranges, shared.ranges);
            assert!(2 * shared.bytes <= 3 * fresh.payload_bytes, "row {row}: {} and {} bytes", fresh.payload_bytes, shared.bytes);
            more += shared.ranges - fresh.ranges.min(shared.ranges);
        }
        assert!(more > 100, "most windows meet a changed row: {more}");
    });
}

#[test]
fn a_table_that_comes_home_owns_its_chunks_again() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (schema, batch) = wide(10);
        let (a, _) = write(store(folder.path(), "a"), &schema, wide_cuts(), &[], std::slice::from_ref(&batch)).await.unwrap();
        let (b, _) = write(store(folder.path(), "b"), &schema, wide_cuts(), &[&a], std::slice::from_ref(&batch)).await.unwrap();
        // A new version of a is written with b as reference. The chunks of b are those of a, so no circular reference results.
        let writer = a.overwrite(schema.clone(), wide_cuts()).await.unwrap().references([&b]).await.unwrap();
        let mut partition = writer.partition().unwrap();
        partition.write(&batch).await.unwrap();
        let second = writer.commit([partition.finish().await.unwrap()]).await.unwrap();
        assert!(second.manifest().stores.is_empty(), "{:?}", second.manifest().stores);
        assert_reads(&second, &batch).await;
        // A copy of a table cannot be a reference of that table.
        let copy = store(folder.path(), "copy");
        for (name, bytes) in tables::objects(a.store()).await {
            copy.put_new(&name, bytes.into()).await.unwrap();
        }
        let copy = Table::open_in(copy).await.unwrap();
        let error = a.append(wide_cuts()).await.unwrap().references([&copy]).await.unwrap_err();
        assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("is a copy of"), "{error}");
    });
}

#[test]
fn an_owner_of_a_later_format_and_one_that_is_not_allowed_are_named() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (schema, batch) = wide(11);
        let (first, _) =
            write(store(folder.path(), "first"), &schema, wide_cuts(), &[], std::slice::from_ref(&batch)).await.unwrap();
        let (second, _) =
            write(store(folder.path(), "second"), &schema, wide_cuts(), &[&first], std::slice::from_ref(&batch)).await.unwrap();
        // A table refers to the first table by absolute URLs that are not allowed. Its blocks in that table are not used.
        let mut manifest = second.manifest().clone();
        manifest.stores[0].urls = vec!["file:///etc".to_owned(), "http://169.254.169.254/latest".to_owned()];
        manifest.table = uuid::Uuid::from_u128(77);
        let stranger = store(folder.path(), "stranger");
        for (name, bytes) in tables::objects(second.store()).await.into_iter().filter(|(name, _)| !name.starts_with("manifests/"))
        {
            stranger.put_new(&name, bytes.into()).await.unwrap();
        }
        tetrys::commit::publish(&stranger, &manifest).await.unwrap();
        let stranger = Table::open_in(stranger).await.unwrap();
        let (table, sharing) =
            write(store(folder.path(), "third"), &schema, wide_cuts(), &[&stranger], std::slice::from_ref(&batch)).await.unwrap();
        assert_eq!((sharing.blocks, table.manifest().stores.len()), (0, 0));
        assert_reads(&table, &batch).await;
        // If the newest version of an owner has a later format, the objects that it condemns are unknown.
        let text = String::from_utf8(tetrys::format::Manifest::to_bytes(first.manifest()).unwrap().0).unwrap();
        let body = text.split(",\"blake3\":\"").collect::<Vec<_>>();
        let body = body[..body.len() - 1].join(",\"blake3\":\"").replacen("\"format\":1", "\"format\":9", 1);
        let later = format!("{body},\"blake3\":\"{}\"}}\n", Hash::of(body.as_bytes()));
        first.store().put_new(&tetrys::format::manifest_name(2), later.into()).await.unwrap();
        let writer = Table::create_in(store(folder.path(), "fourth"), schema, wide_cuts()).await.unwrap();
        let error = writer.references([&first]).await.unwrap_err();
        assert!(
            error.kind() == ErrorKind::Unsupported
                && error.to_string().contains("/first")
                && error.to_string().contains("format 9"),
            "{error}"
        );
    });
}

#[test]
fn an_owner_that_cannot_be_written_is_used_and_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (schema, batch) = wide(12);
        let (first, _) =
            write(store(folder.path(), "first"), &schema, wide_cuts(), &[], std::slice::from_ref(&batch)).await.unwrap();
        let path = folder.path().join("first");
        let files = Arc::new(object_store::local::LocalFileSystem::new_with_prefix(&path).unwrap());
        let read_only = Hooked::new(files, |_, verb, place| match verb {
            "put" => Act::Before(object_store::Error::PermissionDenied { path: place.to_owned(), source: "read-only".into() }),
            _ => Act::Pass,
        });
        let read_only = Store::new(Arc::new(read_only), object_store::path::Path::default(), first.url());
        let read_only = Table::open_in(read_only).await.unwrap();
        let create = async |options| {
            let writer = Table::create_in(store(folder.path(), "again"), schema.clone(), options).await.unwrap();
            writer.references([&read_only]).await
        };
        // The write fails with an error, and stores nothing.
        let error = create(wide_cuts()).await.unwrap_err();
        assert!(error.kind() == ErrorKind::Denied && error.to_string().contains("--allow-unpinned"), "{error}");
        let writer = create(wide_cuts().allow_unpinned(true)).await.unwrap();
        assert_eq!(writer.unpinned().iter().map(|owner| owner.url.as_str()).collect::<Vec<_>>(), [first.url()]);
        let mut partition = writer.partition().unwrap();
        partition.write(&batch).await.unwrap();
        let again = writer.commit([partition.finish().await.unwrap()]).await.unwrap();
        assert_eq!(again.manifest().lineage["not_pinned"], serde_json::json!([first.url()]));
        assert_reads(&again, &batch).await;
    });
}
