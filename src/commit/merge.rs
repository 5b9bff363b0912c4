//! Merges the parts of partitions into segments. Payload stays untouched; memory holds one part and one row group.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{Read, Seek},
    sync::Arc,
};

use arrow_array::RecordBatch;
use bytes::Bytes;
use futures::stream::{self, Stream, StreamExt, TryStreamExt};
use uuid::Uuid;

use super::statistics::Collector;
use crate::{
    error::{Error, Result, counted},
    format::{
        ColumnBytes, GroupSegment, HashesWriter, IndexWriter, LayoutRun, LayoutWriter, MAX_SEGMENT_ROWS, Segment,
        SequenceTracker, index_reader, read_hashes, read_layout,
    },
    id::{Hash, ObjectRef},
    offload::{Stop, offload_large},
    schema::Schema,
    store::Store,
    write::{PartObjects, Receipt, WrittenGroup},
};

/// Target of a merge of partitions.
#[derive(Debug)]
pub struct MergeInto<'a> {
    /// Schema of the rows.
    pub schema: &'a Schema,
    /// Has seen all earlier rows. Their sequences may not reappear.
    pub tracker: SequenceTracker,
    /// Number of earlier rows.
    pub first_row: u64,
    /// Maximum rows of a segment.
    pub segment_rows: u64,
    /// The manifest's number of each owner of chunks, by the number in the parts. 0 is the table itself in both.
    pub owners: &'a BTreeMap<u32, u32>,
    /// Whether every sequence must lie in one partition. The first partition may continue the last sequence of the earlier rows.
    pub whole_sequences: bool,
}

/// Number of parts that are read ahead of the merge.
const PARTS_AHEAD: usize = 16;

/// Stores the segments of a session's receipts, which are in order. Returns the segments for the manifest. A segment takes whole
/// partitions, at least one, up to `segment_rows` rows.
///
/// # Errors
/// - `Invalid`: the sequences of different partitions break the rules. The message names partition and row.
/// - `Corrupt`: a part does not match its receipt.
/// - Errors of the store.
pub async fn merge(store: &Store, receipts: &[Receipt], into: MergeInto<'_>) -> Result<Vec<Segment>> {
    let MergeInto { schema, mut tracker, mut first_row, segment_rows, owners, whole_sequences } = into;
    let shared = Arc::new(schema.clone());
    let whole_sequences = whole_sequences && schema.sequence_by().len() > 0;
    let mut before = None;
    let mut segments: Vec<Segment> = Vec::new();
    let parts: Vec<(&Receipt, &PartObjects)> =
        receipts.iter().filter_map(|receipt| receipt.parts.as_ref().map(|parts| (receipt, parts))).collect();
    let mut rest = parts.as_slice();
    while !rest.is_empty() {
        let mut rows = 0;
        let taken = rest.iter().take_while(|(receipt, _)| {
            rows = u64::saturating_add(rows, receipt.rows);
            rows <= segment_rows.min(MAX_SEGMENT_ROWS)
        });
        let (here, after) = rest.split_at(taken.count().max(1));
        let segment;
        let apart = whole_sequences.then_some(before);
        (segment, tracker) = merge_segment(store, &shared, here, tracker, apart, (first_row, owners)).await?;
        first_row += segment.rows;
        before = here.last().map(|(receipt, _)| *receipt);
        segments.push(segment);
        rest = after;
    }
    Ok(segments)
}

async fn merge_segment(
    store: &Store,
    schema: &Arc<Schema>,
    parts: &[(&Receipt, &PartObjects)],
    mut tracker: SequenceTracker,
    // The partition before, if no sequence may span two partitions.
    mut apart: Option<Option<&Receipt>>,
    (first_row, owners): (u64, &BTreeMap<u32, u32>),
) -> Result<(Segment, SequenceTracker)> {
    let session = parts.first().map_or(Uuid::nil(), |(receipt, _)| receipt.session);
    let mut index = SegmentIndex::new(schema)?;
    let mut reads = ahead(store, session, parts.iter().map(|(_, part)| part.index.clone()).collect());
    for (receipt, _) in parts {
        let bytes = one_part(&mut reads).await?;
        let before = index.rows;
        let (schema, rows) = (Arc::clone(schema), receipt.rows);
        let starts;
        (index, tracker, starts) = offload_large(work(rows), move |stop| {
            let mut starts = true;
            for batch in index_reader(bytes, &schema, rows)? {
                stop.check()?;
                let is_first = index.rows == before;
                let starts_here = index.push(&batch?, &mut tracker)?;
                starts = if is_first { starts_here } else { starts };
            }
            Ok((index, tracker, starts))
        })
        .await
        .map_err(|error: Error| error.at(receipt.place()))?;
        if let Some(Some(previous)) = apart
            && !starts
        {
            let (place, previous) = (receipt.place(), previous.place());
            return Err(Error::invalid(format!(
                "{place}: its first rows continue the last sequence of {previous}; all rows of a sequence must be in \
                 one partition"
            )));
        }
        apart = apart.map(|_| Some(*receipt));
        if index.rows - before != receipt.rows {
            return Err(Error::corrupt(format!(
                "index of {}: {}, its receipt says {}",
                receipt.place(),
                counted(index.rows - before, "row"),
                receipt.rows
            )));
        }
    }
    drop(reads);
    let mut groups = Vec::new();
    for number in 0..schema.groups().len() {
        groups.push(merge_group(store, schema, parts, session, (number, owners)).await?);
    }
    Ok((index.finish(store, first_row, groups).await?, tracker))
}

/// Returns the approximate size of the index of `rows` rows, in bytes. Work of large size runs on other threads.
fn work(rows: u64) -> usize {
    usize::try_from(rows.saturating_mul(16)).unwrap_or(usize::MAX)
}

/// The index of a segment while it is being built.
pub struct SegmentIndex {
    writer: IndexWriter<File>,
    statistics: Vec<Collector>,
    sequences: Vec<u32>,
    rows: u64,
    continues: bool,
}

impl SegmentIndex {
    /// Creates an index without rows.
    ///
    /// # Errors
    /// - `Unavailable`: a temporary file cannot be created.
    pub fn new(schema: &Schema) -> Result<Self> {
        Ok(Self {
            writer: IndexWriter::new(temporary()?, schema)?,
            statistics: schema.index().map(|column| Collector::new(column.id)).collect(),
            sequences: Vec::new(),
            rows: 0,
            continues: false,
        })
    }

    /// Appends rows, with the index columns in order. `tracker` has seen all earlier rows. Returns whether the first of these
    /// rows starts a sequence.
    ///
    /// # Errors
    /// - `Invalid`: the rows break the rules of sequences. The message names the row.
    pub fn push(&mut self, batch: &RecordBatch, tracker: &mut SequenceTracker) -> Result<bool> {
        let starts = tracker.push(batch)?;
        let starts_first = starts.first() == Some(&0);
        let mut next_start = starts.iter().peekable();
        for row in 0..batch.num_rows() {
            let starts = next_start.next_if(|start| **start == row).is_some();
            match self.sequences.last_mut() {
                Some(held) if !starts => *held += 1,
                _ => {
                    self.continues |= !starts;
                    self.sequences.push(1);
                }
            }
        }
        self.statistics.iter_mut().zip(batch.columns()).for_each(|(collector, column)| collector.push(column));
        self.rows += batch.num_rows() as u64;
        self.writer.write(batch)?;
        Ok(starts_first)
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Stores the index. Returns the segment with these groups.
    ///
    /// # Errors
    /// - `Unavailable`: the temporary file cannot be read or written.
    /// - Errors of the store.
    pub async fn finish(self, store: &Store, first_row: u64, groups: Vec<GroupSegment>) -> Result<Segment> {
        let Self { writer, statistics, sequences, rows, continues } = self;
        let count = sequences.len() as u64;
        let file = offload_large(work(rows), move |_| writer.finish(&sequences)).await?;
        let index = put_file(store, "index", file).await?;
        Ok(Segment {
            first_row,
            rows,
            sequences: count,
            continues,
            index,
            statistics: statistics.into_iter().map(Collector::finish).collect(),
            groups,
        })
    }
}

impl std::fmt::Debug for SegmentIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SegmentIndex").field("rows", &self.rows).finish_non_exhaustive()
    }
}

async fn merge_group(
    store: &Store,
    schema: &Schema,
    parts: &[(&Receipt, &PartObjects)],
    session: Uuid,
    (number, owners): (usize, &BTreeMap<u32, u32>),
) -> Result<GroupSegment> {
    let width = schema.groups()[number].columns.len();
    let mut runs: Vec<LayoutRun> = Vec::new();
    let mut hashes = HashesWriter::new(temporary()?)?;
    let mut columns = vec![ColumnBytes::default(); width];
    let (mut blocks, mut stored_bytes) = (0, 0);
    let group_of = |receipt: &Receipt, part: &'_ PartObjects| {
        part.groups.get(number).filter(|group| group.columns.len() == width).cloned().ok_or_else(|| {
            Error::corrupt(format!(
                "receipt of {}: column group {number} is missing or has another number of columns",
                receipt.place()
            ))
        })
    };
    let groups = parts.iter().map(|(receipt, part)| group_of(receipt, part)).collect::<Result<Vec<_>>>()?;
    let stores = owners.keys().next_back().copied().unwrap_or(0);
    let mut reads = ahead(store, session, groups.iter().flat_map(|group| [group.layout.clone(), group.hashes.clone()]).collect());
    for ((receipt, _), group) in parts.iter().zip(&groups) {
        for run in read_layout(one_part(&mut reads).await?, width, receipt.rows, stores as usize)? {
            let owner = owner_in(owners, run.owner)?;
            runs.push(LayoutRun { owner, ..run });
        }
        hashes.write(&read_hashes(one_part(&mut reads).await?, group.blocks)?)?;
        blocks += group.blocks;
        stored_bytes += group.stored_bytes;
        for (sum, column) in columns.iter_mut().zip(&group.columns) {
            sum.stored += column.stored;
            sum.logical += column.logical;
        }
    }
    drop(reads);
    let (layout, hashes) = (put_layout(store, &runs).await?, put_file(store, "hashes", hashes.finish()?).await?);
    Ok(GroupSegment { layout, hashes, blocks, runs: runs.len() as u64, stored_bytes, columns })
}

fn owner_in(owners: &BTreeMap<u32, u32>, owner: u32) -> Result<u32> {
    match owner {
        0 => Ok(0),
        owner => owners.get(&owner).copied().ok_or_else(|| Error::corrupt(format!("a part uses unknown owner {owner}"))),
    }
}

/// Stores the layout of these runs.
///
/// # Errors
/// - Errors of the store.
pub async fn put_layout(store: &Store, runs: &[LayoutRun]) -> Result<ObjectRef> {
    let bytes = LayoutWriter::write(runs)?;
    let object = ObjectRef::of(&bytes);
    store.put_content(&object.name_in("layout"), bytes.into()).await?;
    Ok(object)
}

/// Stores the layout and the hashes of a written column group, with its owners renumbered by `owners`. Returns the group for the
/// manifest.
///
/// # Errors
/// - `Corrupt`: the group uses an owner that `owners` does not have.
/// - Errors of the store.
pub async fn put_group(store: &Store, group: WrittenGroup, owners: &BTreeMap<u32, u32>) -> Result<GroupSegment> {
    let stored_bytes = group.stored_bytes();
    let WrittenGroup { mut runs, hashes, columns } = group;
    for run in &mut runs {
        run.owner = owner_in(owners, run.owner)?;
    }
    let mut writer = HashesWriter::new(temporary()?)?;
    writer.write(&hashes)?;
    let layout = put_layout(store, &runs).await?;
    let file = put_file(store, "hashes", writer.finish()?).await?;
    Ok(GroupSegment { layout, hashes: file, blocks: hashes.len() as u64, runs: runs.len() as u64, stored_bytes, columns })
}

fn temporary() -> Result<File> {
    tempfile::tempfile().map_err(|error| Error::from(error).at("a temporary file for a segment"))
}

/// Reads parts in order, some of them ahead.
fn ahead(store: &Store, session: Uuid, parts: Vec<ObjectRef>) -> impl Stream<Item = Result<Bytes>> + Unpin {
    let reads: Vec<_> = parts.into_iter().map(|part| get_part(store, session, part)).collect();
    stream::iter(reads).buffered(PARTS_AHEAD)
}

/// Returns the next part.
async fn one_part(reads: &mut (impl Stream<Item = Result<Bytes>> + Unpin)) -> Result<Bytes> {
    reads.try_next().await?.ok_or_else(|| Error::internal("fewer parts were read than there are"))
}

async fn get_part(store: &Store, session: Uuid, part: ObjectRef) -> Result<Bytes> {
    let name = Receipt::part_name(session, part.blake3);
    let bytes = store.get_exact(&name, part.bytes).await?;
    let found = Hash::of(&bytes);
    if found != part.blake3 {
        return Err(Error::corrupt(format!("{name}: its bytes have the hash {found}")));
    }
    Ok(bytes)
}

/// Stores a finished temporary file under the hash of its bytes.
async fn put_file(store: &Store, folder: &str, mut file: File) -> Result<ObjectRef> {
    let failed = |error: std::io::Error| Error::from(error).at("reading a segment back from its temporary file");
    let size = usize::try_from(file.metadata().map_err(failed)?.len()).unwrap_or(usize::MAX);
    let hash = move |stop: &Stop| {
        file.rewind().map_err(failed)?;
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; 1 << 20];
        let mut bytes = 0;
        loop {
            stop.check()?;
            match file.read(&mut buffer).map_err(failed)? {
                0 => break,
                read => {
                    hasher.update(&buffer[..read]);
                    bytes += read as u64;
                }
            }
        }
        file.rewind().map_err(failed)?;
        Ok((file, ObjectRef { blake3: Hash(*hasher.finalize().as_bytes()), bytes }))
    };
    let (file, object) = offload_large(size, hash).await?;
    store.put_file(&format!("{folder}/{}.parquet", object.blake3), file, object.bytes).await?;
    Ok(object)
}
