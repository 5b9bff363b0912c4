//! The same rows and settings give the same bytes, whatever the number of workers, the slicing of batches, the Arrow form of the
//! input, or the memory of the writer. An inserted or deleted row changes the blocks around it, and not all blocks after it.

use crate::common;
use std::{collections::BTreeSet, sync::Arc};

use crate::common::tables::{Rng, Taste, block_on, cut_by, memory, objects, rows_of, sensors, tiny_cuts};
use arrow_array::{
    Array, ArrayRef, BinaryArray, FixedSizeListArray, LargeListArray, ListArray, RecordBatch, StringArray, UInt64Array,
    cast::AsArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};
use arrow_select::{concat::concat_batches, take::take};
use tetrys::{
    Preset, Schema, Store, Table, TableWriter, WriteOptions, format::read_hashes, id::Hash, ingest::IngestOptions, table::Cuts,
};
use tetrys_l5::{Dataset, GeneratorSettings};

/// Returns all stored objects except the manifest, which has random ids of table, commit and session.
async fn stored(store: &Store) -> Vec<(String, Vec<u8>)> {
    let all = objects(store).await.into_iter();
    all.filter(|(name, _)| !name.starts_with("manifests/")).collect()
}

/// Writes the batches as one partition and returns the stored objects.
fn stored_of(schema: &Schema, options: &WriteOptions, batches: impl IntoIterator<Item = RecordBatch>) -> Vec<(String, Vec<u8>)> {
    block_on(async {
        let (_, store) = memory();
        let writer = Table::create_in(store.clone(), schema.clone(), options.clone()).await.unwrap();
        let mut partition = writer.partition().unwrap();
        for batch in batches {
            partition.write(&batch).await.unwrap();
        }
        writer.commit([partition.finish().await.unwrap()]).await.unwrap();
        stored(&store).await
    })
}

fn sliced(batch: &RecordBatch, rows: usize) -> Vec<RecordBatch> {
    (0..batch.num_rows()).step_by(rows).map(|start| batch.slice(start, rows.min(batch.num_rows() - start))).collect()
}

/// Returns the same rows as arrays with offsets.
fn with_offsets(batch: &RecordBatch) -> RecordBatch {
    let around = concat_batches(&batch.schema(), [&batch.slice(2, 3), batch, &batch.slice(0, 1)]).unwrap();
    around.slice(3, batch.num_rows())
}

fn each_column(batch: &RecordBatch, form: impl Fn(&ArrayRef) -> ArrayRef) -> RecordBatch {
    let schema = batch.schema();
    let columns = schema.fields().iter().zip(batch.columns());
    RecordBatch::try_from_iter(columns.map(|(field, column)| (field.name(), form(column))).collect::<Vec<_>>()).unwrap()
}

/// Converts text, bytes and lists to 32-bit offsets.
fn narrow(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::LargeUtf8 => Arc::new(StringArray::from_iter(array.as_string::<i64>())),
        DataType::LargeBinary => Arc::new(BinaryArray::from_iter(array.as_binary::<i64>())),
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            let items = narrow(list.values());
            let offsets = list.offsets().iter().map(|offset| *offset as i32).collect::<Vec<_>>();
            let field = Arc::new(Field::new("item", items.data_type().clone(), true));
            Arc::new(ListArray::new(field, OffsetBuffer::new(offsets.into()), items, list.nulls().cloned()))
        }
        _ => array.clone(),
    }
}

/// Converts tensors to lists: `[?,4]` to a list of lists of 4, and `[3,3]` to lists of 3 within lists of 3.
fn as_lists(array: &ArrayRef) -> ArrayRef {
    let in_lists_of = |size: i32, items: &ArrayRef| -> ArrayRef {
        let field = Arc::new(Field::new("item", items.data_type().clone(), true));
        Arc::new(FixedSizeListArray::new(field, size, items.clone(), None))
    };
    match array.data_type() {
        DataType::Struct(_) => {
            let data = array.as_struct().column_by_name("data").unwrap().as_list::<i64>();
            let rows = in_lists_of(4, data.values());
            let field = Arc::new(Field::new("item", rows.data_type().clone(), true));
            let offsets: Vec<i64> = data.offsets().iter().map(|offset| offset / 4).collect();
            Arc::new(LargeListArray::new(field, OffsetBuffer::new(offsets.into()), rows, array.nulls().cloned()))
        }
        DataType::FixedSizeList(_, 9) => {
            let rows = in_lists_of(3, array.as_fixed_size_list().values());
            let field = Arc::new(Field::new("item", rows.data_type().clone(), true));
            Arc::new(FixedSizeListArray::new(field, 3, rows, array.nulls().cloned()))
        }
        _ => array.clone(),
    }
}

/// Clears the values below nulls.
fn hiding_nothing(array: &ArrayRef) -> ArrayRef {
    let places: UInt64Array = (0..array.len()).map(|row| array.is_valid(row).then_some(row as u64)).collect();
    take(array, &places, None).unwrap()
}

#[test]
fn how_rows_arrive_cannot_be_seen_in_what_is_stored() {
    let mut rng = Rng(common::seed());
    let schema = sensors();
    let mut compared = 0;
    for taste in [Taste::SMALL, Taste::NOISE] {
        let batch = rows_of(&schema, &mut rng, &[("a", 30), ("b", 1), ("c", 25)], taste);
        for preset in [Preset::Fast, Preset::Balanced, Preset::Compact] {
            let options = cut_by(tiny_cuts()).preset(preset);
            let whole = stored_of(&schema, &options, [batch.clone()]);
            let forms = [
                ("row by row", sliced(&batch, 1)),
                ("seven rows at a time", sliced(&batch, 7)),
                ("an empty batch between", vec![batch.slice(0, 20), batch.slice(20, 0), batch.slice(20, 36)]),
                ("with offsets", vec![with_offsets(&batch)]),
                ("with offsets, in slices", sliced(&with_offsets(&batch), 9)),
                ("32-bit offsets", vec![each_column(&batch, narrow)]),
                ("32-bit offsets in slices", sliced(&each_column(&with_offsets(&batch), narrow), 5)),
                ("tensors as lists", vec![each_column(&batch, as_lists)]),
                ("tensors as lists, row by row", sliced(&each_column(&batch, as_lists), 1)),
                ("hiding nothing in null slots", vec![each_column(&batch, hiding_nothing)]),
                ("columns turned round", vec![batch.project(&(0..batch.num_columns()).rev().collect::<Vec<_>>()).unwrap()]),
            ];
            for (form, batches) in forms {
                assert_eq!(stored_of(&schema, &options, batches), whole, "{form}, {preset}");
                compared += 1;
            }
            for write_memory in [0, 3_000] {
                let options = options.clone().write_memory(write_memory);
                assert_eq!(stored_of(&schema, &options, sliced(&batch, 4)), whole, "{write_memory} bytes of memory, {preset}");
                compared += 1;
            }
        }
    }
    println!("{compared} ways of writing the same rows, the same bytes");
}

#[test]
fn the_order_and_the_time_of_partitions_cannot_be_seen_in_what_is_stored() {
    let schema = sensors();
    let mut rng = Rng(common::seed());
    let parts: Vec<_> = ["a", "b", "c", "d"].map(|log| rows_of(&schema, &mut rng, &[(log, 9)], Taste::NOISE)).into();
    let in_order = |order: [u32; 4]| {
        block_on(async {
            let (_, store) = memory();
            let writer = Table::create_in(store.clone(), schema.clone(), cut_by(tiny_cuts())).await.unwrap();
            let mut receipts = Vec::new();
            for number in order {
                let mut partition = writer.partition_at(number).unwrap();
                partition.write(&parts[number as usize]).await.unwrap();
                receipts.push(partition.finish().await.unwrap());
            }
            let table = writer.commit(receipts).await.unwrap();
            (stored(&store).await, table.manifest().segments.clone())
        })
    };
    let first = in_order([0, 1, 2, 3]);
    for order in [[3, 2, 1, 0], [2, 0, 3, 1]] {
        assert!(in_order(order) == first, "{order:?}");
    }
}

#[test]
fn partitions_written_in_a_joined_session_are_those_of_its_writer() {
    let schema = sensors();
    let mut rng = Rng(common::seed());
    let parts: Vec<_> = ["a", "b", "c"].map(|log| rows_of(&schema, &mut rng, &[(log, 9)], Taste::NOISE)).into();
    let written = |joins: bool| {
        block_on(async {
            let (_, store) = memory();
            let writer = Table::create_in(store.clone(), schema.clone(), cut_by(tiny_cuts())).await.unwrap();
            let mut receipts = Vec::new();
            for part in &parts {
                let mut partition = if joins {
                    let (ticket, number) = (writer.ticket().unwrap(), writer.reserve());
                    let joined = TableWriter::join(store.clone(), &ticket).unwrap();
                    joined.partition_at(number).unwrap()
                } else {
                    writer.partition().unwrap()
                };
                partition.write(part).await.unwrap();
                receipts.push(partition.finish().await.unwrap());
            }
            let table = writer.commit(receipts).await.unwrap();
            (stored(&store).await, table.manifest().segments.clone())
        })
    };
    assert!(written(true) == written(false));
}

#[test]
fn any_number_of_workers_ingests_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("generated.zarr");
    let seed = common::seed();
    let settings = GeneratorSettings {
        seed,
        scenes: 11,
        frames_per_scene: 25,
        agents_per_frame: 9,
        mask: true,
        chunk_len: 333,
        ..Default::default()
    };
    settings.generate(&path).unwrap();
    let dataset = Dataset::open(&path).unwrap();
    let ingest = |workers: usize| {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap();
        runtime.block_on(async {
            let (_, store) = memory();
            let write = cut_by(Cuts { chunk_min: 4_000, chunk_target: 9_000, chunk_max: 20_000, ..Cuts::default() });
            let settings = IngestOptions { write, workers, partition_rows: 40, ..IngestOptions::default() };
            let table = tetrys_l5::ingest(&dataset, store.clone(), &settings, |_| {}).await.unwrap();
            let manifest = table.manifest();
            (stored(&store).await, manifest.segments.clone(), manifest.properties.clone())
        })
    };
    let alone = ingest(1);
    assert!(alone.0.len() > 30, "{} objects", alone.0.len());
    for workers in [2, 7] {
        assert!(ingest(workers) == alone, "{workers} workers");
    }
    println!("{} objects the same for 1, 2 and 7 workers", alone.0.len());
}

/// Returns the logical hashes of all blocks of all groups, and the names of the chunks.
fn block_hashes(schema: &Schema, options: &WriteOptions, batch: RecordBatch) -> (BTreeSet<Hash>, BTreeSet<String>) {
    block_on(async {
        let (_, store) = memory();
        let table: Table = common::tables::write(store.clone(), schema.clone(), options.clone(), &[batch]).await.unwrap();
        let mut hashes = BTreeSet::new();
        for group in &table.manifest().segments[0].groups {
            let name = format!("hashes/{}.parquet", group.hashes.blake3);
            hashes.extend(read_hashes(store.get_exact(&name, group.hashes.bytes).await.unwrap(), group.blocks).unwrap());
        }
        let chunks = store.list("chunks").await.unwrap().into_iter().map(|(name, _)| name).collect();
        (hashes, chunks)
    })
}

#[test]
fn a_row_inserted_or_deleted_leaves_most_blocks_and_chunks_as_they_were() {
    let mut rng = Rng(common::seed());
    let schema = sensors();
    let cuts =
        Cuts { block_min: 200, block_target: 500, block_max: 2_000, chunk_min: 3_000, chunk_target: 6_000, chunk_max: 20_000 };
    let options = cut_by(cuts);
    let rows = 2_000;
    let all = rows_of(&schema, &mut rng, &[("a", rows + 1)], Taste::NOISE);
    let (before, chunks_before) = block_hashes(&schema, &options, all.clone());
    let (mut kept, mut chunks_kept, trials) = (0.0, 0.0, common::cases(8));
    for _ in 0..trials {
        let at = 1 + rng.below(rows as u64 - 1) as usize;
        let without = concat_batches(&all.schema(), [&all.slice(0, at), &all.slice(at + 1, rows - at)]).unwrap();
        // In one direction a row was deleted; in the other direction it was inserted.
        let (after, chunks_after) = block_hashes(&schema, &options, without);
        let share = after.intersection(&before).count() as f64 / after.len() as f64;
        assert!(share > 0.5, "row {at}: {share} of {} blocks kept", after.len());
        kept += share;
        chunks_kept += chunks_after.intersection(&chunks_before).count() as f64 / chunks_after.len() as f64;
    }
    let (kept, chunks_kept) = (kept / trials as f64, chunks_kept / trials as f64);
    println!("{trials} rows deleted from {} blocks in {} chunks:", before.len(), chunks_before.len());
    println!("{:.1} % of the blocks and {:.1} % of the chunks kept", kept * 100.0, chunks_kept * 100.0);
    assert!(kept > 0.9 && chunks_kept > 0.6);
}
