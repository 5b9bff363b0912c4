//! The parts of partitions, joined into segments: payload is not touched, memory holds one part and one row group.

use std::{
    fs::File,
    io::{Read, Seek},
};

use arrow_array::RecordBatch;
use bytes::Bytes;
use uuid::Uuid;

use super::statistics::Collector;
use crate::{
    error::{Error, Result},
    format::{
        ColumnBytes, GroupSegment, HashesWriter, IndexWriter, LayoutRun, LayoutWriter, MAX_SEGMENT_ROWS, Segment,
        SequenceTracker, index_reader, read_hashes, read_layout,
    },
    id::{Hash, ObjectRef},
    schema::Schema,
    store::Store,
    write::{PartObjects, Receipt},
};

/// Stores the segments of a session's receipts, which are in order, and gives what the manifest says of them. A segment takes
/// whole partitions, at least one, up to `segment_rows` rows.
///
/// # Errors
/// `Invalid` where sequences of different partitions break the rules, naming the row; `Corrupt` where a part is not what its
/// receipt says; errors of the store.
pub async fn merge(store: &Store, schema: &Schema, receipts: &[Receipt], segment_rows: u64) -> Result<Vec<Segment>> {
    let mut tracker = SequenceTracker::new(schema);
    let mut segments: Vec<Segment> = Vec::new();
    let parts: Vec<(&Receipt, &PartObjects)> =
        receipts.iter().filter_map(|receipt| receipt.parts.as_ref().map(|parts| (receipt, parts))).collect();
    let mut rest = parts.as_slice();
    let mut first_row = 0;
    while !rest.is_empty() {
        let mut rows = 0;
        let taken = rest.iter().take_while(|(receipt, _)| {
            rows = u64::saturating_add(rows, receipt.rows);
            rows <= segment_rows.min(MAX_SEGMENT_ROWS)
        });
        let (here, after) = rest.split_at(taken.count().max(1));
        let segment = merge_segment(store, schema, here, &mut tracker, first_row).await?;
        first_row += segment.rows;
        segments.push(segment);
        rest = after;
    }
    Ok(segments)
}

async fn merge_segment(
    store: &Store,
    schema: &Schema,
    parts: &[(&Receipt, &PartObjects)],
    tracker: &mut SequenceTracker,
    first_row: u64,
) -> Result<Segment> {
    let session = parts.first().map_or(Uuid::nil(), |(receipt, _)| receipt.session);
    let mut index = IndexWriter::new(temporary()?, schema)?;
    let mut statistics: Vec<Collector> = schema.index().map(|column| Collector::new(column.id)).collect();
    let mut sequences: Vec<u32> = Vec::new();
    let (mut rows, mut continues) = (0_u64, false);
    for (receipt, part) in parts {
        let bytes = get_part(store, session, &part.index).await?;
        let mut part_rows = 0;
        for batch in index_reader(bytes, schema, receipt.rows)? {
            let batch: RecordBatch = batch?;
            let starts = tracker.push(&batch)?;
            let mut next_start = starts.iter().peekable();
            for row in 0..batch.num_rows() {
                let starts = next_start.next_if(|start| **start == row).is_some();
                match sequences.last_mut() {
                    Some(held) if !starts => *held += 1,
                    _ => {
                        continues |= !starts;
                        sequences.push(1);
                    }
                }
            }
            statistics.iter_mut().zip(batch.columns()).for_each(|(collector, column)| collector.push(column));
            part_rows += batch.num_rows() as u64;
            index.write(&batch)?;
        }
        if part_rows != receipt.rows {
            return Err(Error::corrupt(format!(
                "index of partition {}: {part_rows} rows, its receipt says {}",
                receipt.partition, receipt.rows
            )));
        }
        rows += part_rows;
    }
    let index = put_file(store, "index", index.finish(&sequences)?).await?;
    let mut groups = Vec::new();
    for number in 0..schema.groups().len() {
        groups.push(merge_group(store, schema, parts, session, number).await?);
    }
    Ok(Segment {
        first_row,
        rows,
        sequences: sequences.len() as u64,
        continues,
        index,
        statistics: statistics.into_iter().map(Collector::finish).collect(),
        groups,
    })
}

async fn merge_group(
    store: &Store,
    schema: &Schema,
    parts: &[(&Receipt, &PartObjects)],
    session: Uuid,
    number: usize,
) -> Result<GroupSegment> {
    let width = schema.groups()[number].columns.len();
    let mut runs: Vec<LayoutRun> = Vec::new();
    let mut hashes = HashesWriter::new(temporary()?)?;
    let mut columns = vec![ColumnBytes::default(); width];
    let (mut blocks, mut stored_bytes) = (0, 0);
    for (receipt, part) in parts {
        let group = part.groups.get(number).filter(|group| group.columns.len() == width).ok_or_else(|| {
            Error::corrupt(format!(
                "receipt of partition {}: column group {number} is missing or of another width",
                receipt.partition
            ))
        })?;
        runs.extend(read_layout(get_part(store, session, &group.layout).await?, width, receipt.rows, 0)?);
        hashes.write(&read_hashes(get_part(store, session, &group.hashes).await?, group.blocks)?)?;
        blocks += group.blocks;
        stored_bytes += group.stored_bytes;
        for (sum, column) in columns.iter_mut().zip(&group.columns) {
            sum.stored += column.stored;
            sum.logical += column.logical;
        }
    }
    let layout = LayoutWriter::write(&runs)?;
    let layout_ref = ObjectRef { blake3: Hash::of(&layout), bytes: layout.len() as u64 };
    store.put_content(&format!("layout/{}.parquet", layout_ref.blake3), layout.into()).await?;
    let hashes = put_file(store, "hashes", hashes.finish()?).await?;
    Ok(GroupSegment { layout: layout_ref, hashes, blocks, runs: runs.len() as u64, stored_bytes, columns })
}

fn temporary() -> Result<File> {
    tempfile::tempfile().map_err(|error| Error::from(error).at("a temporary file for a segment"))
}

async fn get_part(store: &Store, session: Uuid, part: &ObjectRef) -> Result<Bytes> {
    let name = Receipt::part_name(session, part.blake3);
    let bytes = store.get_exact(&name, part.bytes).await?;
    let found = Hash::of(&bytes);
    if found != part.blake3 {
        return Err(Error::corrupt(format!("{name}: blake3 {found}")));
    }
    Ok(bytes)
}

/// Stores a finished temporary file under the hash of its bytes.
async fn put_file(store: &Store, folder: &str, mut file: File) -> Result<ObjectRef> {
    let failed = |error: std::io::Error| Error::from(error).at("reading a segment back from its temporary file");
    file.rewind().map_err(failed)?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        match file.read(&mut buffer).map_err(failed)? {
            0 => break,
            read => {
                hasher.update(&buffer[..read]);
                bytes += read as u64;
            }
        }
    }
    file.rewind().map_err(failed)?;
    let object = ObjectRef { blake3: Hash(*hasher.finalize().as_bytes()), bytes };
    store.put_file(&format!("{folder}/{}.parquet", object.blake3), file, bytes).await?;
    Ok(object)
}
