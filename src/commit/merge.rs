//! Merges the parts of partitions into segments. Payload stays untouched; memory holds one part or some small parts, one row group,
//! and the layouts of a segment.

use std::{
    collections::{BTreeMap, VecDeque},
    fs::File,
    io::{Read, Seek},
    sync::Arc,
};

use arrow_array::RecordBatch;
use bytes::Bytes;
use futures::{
    FutureExt,
    future::{BoxFuture, try_join, try_join_all},
    stream::{FuturesOrdered, StreamExt},
};
use uuid::Uuid;

use super::statistics::Collector;
use crate::{
    error::{Error, ErrorKind, Result, counted},
    format::{
        ColumnBytes, GroupSegment, HashesWriter, IndexWriter, LayoutRun, LayoutWriter, MAX_SEGMENT_ROWS, Segment,
        SequenceTracker, index_reader, read_hashes, read_layout,
    },
    id::{Hash, ObjectRef},
    schema::Schema,
    store::Store,
    work::{Stop, offload_large, share_in_order, threads, waves},
    write::{BufferedParts, IndexTails, PartObjects, Receipt, WrittenGroup},
};

/// Target of a merge of partitions.
#[derive(Debug)]
pub struct MergeInto<'a> {
    /// Schema of the rows.
    pub schema: &'a Schema,
    /// A tracker to which the earlier rows were pushed, or only the last of them.
    pub tracker: SequenceTracker,
    /// Number of earlier rows.
    pub first_row: u64,
    /// Maximum rows of a segment.
    pub segment_rows: u64,
    /// The manifest's number of each owner of chunks, by the number in the parts. 0 is the table itself in both.
    pub owners: &'a BTreeMap<u32, u32>,
    /// Whether every sequence must lie in one partition. The first partition may continue the last sequence of the earlier rows.
    pub whole_sequences: bool,
    /// Which segments get tails.
    pub tails: IndexTails,
    /// The parts that are not stored.
    pub(crate) buffered: &'a BufferedParts,
}

/// Maximum number of parts that are read ahead of the merge.
const PARTS_AHEAD: usize = 64;
/// Maximum bytes of parts that are read ahead, unless a single part has more.
const BYTES_AHEAD: u64 = 64 << 20;
/// Maximum number of parts that are decoded together.
const PARTS_TOGETHER: usize = 1024;
/// Maximum number of column groups that are merged together: each waits for its objects to be read and stored.
const GROUPS_TOGETHER: usize = 32;
/// Maximum bytes of the parts of column groups that are merged together, unless a single group has more.
const GROUP_BYTES_TOGETHER: u64 = 4 << 20;
/// Maximum rows of parts that are decoded together, unless a single part has more.
const ROWS_TOGETHER: u64 = 64 << 10;

/// Stores the segments of a session's receipts, which are in order. Returns the segments for the manifest, and the tracker, which has seen
/// their rows. A segment takes whole partitions, at least one, up to `segment_rows` rows.
///
/// # Errors
/// - `Invalid`: the sequences of different partitions break the rules. The message names partition and row.
/// - `Corrupt`: a part does not match its receipt.
/// - Errors of the store.
pub async fn merge(store: &Store, receipts: &[Receipt], into: MergeInto<'_>) -> Result<(Vec<Segment>, SequenceTracker)> {
    let MergeInto { schema, mut tracker, mut first_row, segment_rows, owners, whole_sequences, tails, buffered } = into;
    let shared = Arc::new(schema.clone());
    let whole_sequences = whole_sequences && schema.sequence_by().len() > 0;
    let mut before = None;
    let mut segments: Vec<Segment> = Vec::new();
    let parts: Vec<(&Receipt, &PartObjects)> =
        receipts.iter().filter_map(|receipt| receipt.parts.as_ref().map(|parts| (receipt, parts))).collect();
    for wave in waves(parts.iter().map(|(receipt, _)| receipt.rows), segment_rows.min(MAX_SEGMENT_ROWS), usize::MAX) {
        let here = &parts[wave];
        let tails = tails.has(here.iter().map(|(receipt, _)| receipt.rows).sum());
        let segment;
        let apart = whole_sequences.then(|| before.map(Receipt::place));
        let from = PartSource { store, buffered, session: here.first().map_or(Uuid::nil(), |(receipt, _)| receipt.session) };
        (segment, tracker) = merge_segment(from, (&shared, tails), here, tracker, apart, (first_row, owners)).await?;
        first_row += segment.rows;
        before = here.last().map(|(receipt, _)| *receipt);
        segments.push(segment);
    }
    Ok((segments, tracker))
}

/// Where the parts of a session are, and where the segments are stored.
#[derive(Clone, Copy)]
struct PartSource<'a> {
    store: &'a Store,
    buffered: &'a BufferedParts,
    session: Uuid,
}

async fn merge_segment(
    from: PartSource<'_>,
    (schema, tails): (&Arc<Schema>, bool),
    parts: &[(&Receipt, &PartObjects)],
    mut tracker: SequenceTracker,
    // The place of the partition before, if no sequence may span two partitions.
    mut apart: Option<Option<String>>,
    (first_row, owners): (u64, &BTreeMap<u32, u32>),
) -> Result<(Segment, SequenceTracker)> {
    let mut index = SegmentIndex::new(schema, tails)?;
    let mut reads = Ahead::new(from, parts.iter().map(|(_, part)| part.index.clone()).collect());
    // Small parts are decoded together, on several threads.
    for wave in waves(parts.iter().map(|(receipt, _)| receipt.rows), ROWS_TOGETHER, PARTS_TOGETHER) {
        let mut read: Vec<ReadPart> = Vec::with_capacity(wave.len());
        for (receipt, _) in &parts[wave] {
            read.push(ReadPart { place: receipt.place(), rows: receipt.rows, bytes: reads.next().await? });
        }
        let (schema, rows) = (Arc::clone(schema), read.iter().map(|part| part.rows).sum());
        (index, tracker, apart) =
            offload_large(work(rows), move |stop| take_parts(read, &schema, index, tracker, apart, stop)).await?;
    }
    drop(reads);
    let bytes = |number: usize| {
        let parts = parts.iter().filter_map(|(_, part)| part.groups.get(number));
        parts.fold(0_u64, |sum, group| sum.saturating_add(group.layout.bytes).saturating_add(group.hashes.bytes))
    };
    let merged = async {
        let all = schema.groups().len();
        let mut groups = Vec::with_capacity(all);
        for wave in waves((0..all).map(bytes), GROUP_BYTES_TOGETHER, GROUPS_TOGETHER) {
            let merged: Vec<_> = wave.map(|number| merge_group(from, schema, parts, (number, owners))).collect();
            groups.extend(try_join_all(merged).await?);
        }
        Ok(groups)
    };
    let (segment, groups) = try_join(index.finish(from.store, first_row), merged).await?;
    Ok((Segment { groups, ..segment }, tracker))
}

/// The part of a partition, as it was stored.
struct ReadPart {
    place: String,
    rows: u64,
    bytes: Bytes,
}

/// Appends the rows of these parts to an index. `apart` is the place of the partition before, if no sequence may span two
/// partitions. Returns the index, the tracker and the place of the last partition.
fn take_parts(
    mut parts: Vec<ReadPart>,
    schema: &Schema,
    mut index: SegmentIndex,
    mut tracker: SequenceTracker,
    mut apart: Option<Option<String>>,
    stop: &Stop,
) -> Result<(SegmentIndex, SequenceTracker, Option<Option<String>>)> {
    let mut take = |place: String, rows: u64, batches: &mut dyn Iterator<Item = Result<RecordBatch>>| -> Result<()> {
        let (before, mut starts) = (index.rows, true);
        for batch in batches {
            stop.check()?;
            let is_first = index.rows == before;
            let starts_here = batch.and_then(|batch| index.push(&batch, &mut tracker)).map_err(|error| error.at(&place))?;
            starts = if is_first { starts_here } else { starts };
        }
        if let Some(Some(previous)) = &apart
            && !starts
        {
            return Err(Error::invalid(format!(
                "{place}: its first rows continue the last sequence of {previous}; all rows of a sequence must be in \
                 one partition"
            )));
        }
        if index.rows - before != rows {
            let found = counted(index.rows - before, "row");
            return Err(Error::corrupt(format!("index of {place}: {found}, its receipt says {rows}")));
        }
        apart = apart.take().map(|_| Some(place));
        Ok(())
    };
    match parts.len() {
        // A large part is decoded batch by batch.
        1 => {
            let ReadPart { place, rows, bytes } = parts.remove(0);
            let mut batches = index_reader(bytes, schema, rows).map_err(|error| error.at(&place))?;
            take(place, rows, &mut batches)?;
        }
        _ => {
            let decode = |ReadPart { place, rows, bytes }: ReadPart| {
                stop.check()?;
                let batches = index_reader(bytes, schema, rows).and_then(Iterator::collect::<Result<Vec<_>>>);
                batches.map_err(|error: Error| error.at(&place)).map(|batches| (place, rows, batches))
            };
            share_in_order(parts, threads() - 1, decode, |(place, rows, batches)| {
                take(place, rows, &mut batches.into_iter().map(Ok))
            })?;
        }
    }
    Ok((index, tracker, apart))
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
    /// The temporary file as errors name it.
    place: Option<Arc<str>>,
}

impl SegmentIndex {
    /// Creates an index without rows. It gets a tail if `tails`.
    ///
    /// # Errors
    /// - `Unavailable`: a temporary file cannot be created.
    pub fn new(schema: &Schema, tails: bool) -> Result<Self> {
        Self::in_file(temporary()?, None, schema, tails)
    }

    /// Creates an index without rows as [`SegmentIndex::new`] does, in an empty temporary file. Errors of the file name `place`.
    ///
    /// # Errors
    /// - `Unavailable`: the file cannot be written.
    pub fn in_file(file: File, place: Option<Arc<str>>, schema: &Schema, tails: bool) -> Result<Self> {
        Ok(Self {
            writer: IndexWriter::new(file, schema, tails).map_err(|error| named(error, place.as_deref()))?,
            statistics: schema.index().map(|column| Collector::new(column.id)).collect(),
            sequences: Vec::new(),
            rows: 0,
            continues: false,
            place,
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
                Some(count) if !starts => *count += 1,
                _ => {
                    self.continues |= !starts;
                    self.sequences.push(1);
                }
            }
        }
        self.statistics.iter_mut().zip(batch.columns()).for_each(|(collector, column)| collector.push(column));
        self.rows += batch.num_rows() as u64;
        self.writer.write(batch).map_err(|error| named(error, self.place.as_deref()))?;
        Ok(starts_first)
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Stores the index. Returns the segment, still without column groups.
    ///
    /// # Errors
    /// - `Unavailable`: the temporary file cannot be read or written.
    /// - Errors of the store.
    pub async fn finish(self, store: &Store, first_row: u64) -> Result<Segment> {
        let Self { mut writer, statistics, sequences, rows, continues, place } = self;
        writer.salt(store.salt());
        let count = sequences.len() as u64;
        let finished = offload_large(work(rows), move |_| writer.finish_with_tail(&sequences)).await;
        let (file, tail) = finished.map_err(|error| named(error, place.as_deref()))?;
        let index = put_file(store, "index", file).await?;
        Ok(Segment {
            first_row,
            rows,
            sequences: count,
            continues,
            index,
            tail,
            statistics: statistics.into_iter().map(Collector::finish).collect(),
            groups: Vec::new(),
        })
    }
}

/// Returns the error with the place of the temporary file, unless the rows are wrong.
fn named(error: Error, place: Option<&str>) -> Error {
    match place {
        Some(place) if error.kind() != ErrorKind::Invalid => error.at(place),
        _ => error,
    }
}

impl std::fmt::Debug for SegmentIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SegmentIndex").field("rows", &self.rows).finish_non_exhaustive()
    }
}

async fn merge_group(
    from: PartSource<'_>,
    schema: &Schema,
    parts: &[(&Receipt, &PartObjects)],
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
    let objects = groups.iter().flat_map(|group| [group.layout.clone(), group.hashes.clone()]);
    let (mut reads, store) = (Ahead::new(from, objects.collect()), from.store);
    let mut rest = parts.iter().zip(groups).collect::<Vec<_>>().into_iter();
    while !rest.as_slice().is_empty() {
        let mut read = Vec::new();
        for ((receipt, _), group) in rest.by_ref().take(PARTS_TOGETHER) {
            blocks += group.blocks;
            stored_bytes += group.stored_bytes;
            for (sum, column) in columns.iter_mut().zip(&group.columns) {
                sum.stored += column.stored;
                sum.logical += column.logical;
            }
            read.push((receipt.rows, group.blocks, reads.next().await?, reads.next().await?));
        }
        let (owners, stored) = (owners.clone(), (runs, hashes));
        let size = read.iter().map(|(_, _, layout, hashes)| layout.len() + hashes.len()).sum();
        (runs, hashes) = offload_large(size, move |stop| {
            let (mut runs, mut hashes) = stored;
            let parse = |(rows, blocks, layout, hashes): (u64, u64, Bytes, Bytes)| {
                stop.check()?;
                Ok::<_, Error>((read_layout(layout, width, rows, stores as usize)?, read_hashes(hashes, blocks)?))
            };
            share_in_order(read, threads() - 1, parse, |(layout, of_part)| {
                for run in layout {
                    let owner = owner_in(&owners, run.owner)?;
                    runs.push(LayoutRun { owner, ..run });
                }
                hashes.write(&of_part)
            })?;
            Ok((runs, hashes))
        })
        .await?;
    }
    drop(reads);
    hashes.salt(store.salt());
    let (layout, hashes) = try_join(put_layout(store, &runs), put_file(store, "hashes", hashes.finish()?)).await?;
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
    let bytes = LayoutWriter::salted(runs, store.salt())?;
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
    writer.salt(store.salt());
    let (layout, file) = try_join(put_layout(store, &runs), put_file(store, "hashes", writer.finish()?)).await?;
    Ok(GroupSegment { layout, hashes: file, blocks: hashes.len() as u64, runs: runs.len() as u64, stored_bytes, columns })
}

/// Creates a file that the system deletes when it is closed.
pub(super) fn temporary() -> Result<File> {
    tempfile::tempfile().map_err(|error| Error::from(error).at("a temporary file for a segment"))
}

/// Reads parts in order, some of them ahead. The others take no memory but that of their names.
struct Ahead<'a> {
    from: PartSource<'a>,
    rest: std::vec::IntoIter<ObjectRef>,
    reading: FuturesOrdered<BoxFuture<'a, Result<Bytes>>>,
    /// Bytes of each part that is being read.
    sizes: VecDeque<u64>,
}

impl<'a> Ahead<'a> {
    fn new(from: PartSource<'a>, parts: Vec<ObjectRef>) -> Self {
        Self { from, rest: parts.into_iter(), reading: FuturesOrdered::new(), sizes: VecDeque::new() }
    }

    /// Returns the next part.
    async fn next(&mut self) -> Result<Bytes> {
        while let Some(part) = self.rest.as_slice().first() {
            let bytes = self.sizes.iter().sum::<u64>().saturating_add(part.bytes);
            if self.sizes.len() >= PARTS_AHEAD || (bytes > BYTES_AHEAD && !self.sizes.is_empty()) {
                break;
            }
            self.sizes.push_back(part.bytes);
            self.reading.push_back(get_part(self.from, part.clone()).boxed());
            self.rest.next();
        }
        self.sizes.pop_front();
        self.reading.next().await.unwrap_or_else(|| Err(Error::internal("fewer parts were read than there are")))
    }
}

async fn get_part(from: PartSource<'_>, part: ObjectRef) -> Result<Bytes> {
    if let Some(part_bytes) = from.buffered.part(&part.blake3) {
        return Ok(part_bytes);
    }
    let name = Receipt::part_name(from.session, part.blake3);
    let read = || async {
        let bytes = from.store.get_exact(&name, part.bytes).await?;
        match Hash::of(&bytes) {
            found if found == part.blake3 => Ok(bytes),
            found => Err(Error::corrupt(format!("{}: {name}: its bytes have the hash {found}", from.store.url()))),
        }
    };
    from.store.twice_where_damaged(read).await.map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::not_found(format!(
            "{error}; if a writer finished this partition before it made the ticket, only that writer has the part and can commit"
        ))
        .with_source(error),
        _ => error,
    })
}

/// Stores a finished temporary file under the hash of its bytes.
///
/// # Errors
/// - `Unavailable`: the file cannot be read.
/// - Errors of the store.
pub async fn put_file(store: &Store, folder: &str, mut file: File) -> Result<ObjectRef> {
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
