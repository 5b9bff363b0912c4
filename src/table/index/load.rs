//! Loads index columns into a frame: segment by segment, on all threads, each row group directly into its place.
//!
//! Memory holds the frame, the tails of the segments that are read in part, and the bytes of a few segments: at most an eighth of
//! the frame, and at least one segment. While the segments of a remote store are decoded, the next ones arrive.
//!
//! `choose.rs` reads segments in the same way, and keeps the rows that conditions choose.

use std::{collections::VecDeque, mem::size_of, ops::Range};

use bytes::Bytes;
use futures::{
    future::join,
    stream::{self, StreamExt},
};
use polars::prelude::DataFrame;

use super::segments::{IndexPlan, SEGMENTS_AT_ONCE, SegmentBytes, SegmentRead};
use crate::{
    error::{Error, Result},
    format::{PackedLengths, RowGroups},
    index::{Filling, Leftovers, Part, Predicate, frame_bytes},
    progress::Progress,
    schema::Column,
    store::release_buffers,
    table::version::table::Table,
    work::{self, Stop, offload_large, share, threads},
};

/// An index of fewer rows is decoded by one thread.
const ROWS_OF_THREADS: u64 = 1 << 16;
/// The most threads that decode an index. More threads would only wait for memory.
const MAX_THREADS: usize = 8;
/// Objects of so many bytes are always read together.
const FEW_BYTES: u64 = 8 << 20;
/// Buffers of so many bytes are freed after use: a load needs each size once.
pub(in crate::table) const LARGE: usize = 16 << 20;
/// Maximum objects that are read together.
const MAX_OBJECTS: usize = 256;

impl Table {
    /// Loads some index columns of all rows, and the sequences. `columns` are ascending places. If `categorical`, text becomes
    /// categorical. With tails, only these columns are read.
    pub(in crate::table) async fn load_frame(&self, columns: &[usize], categorical: bool) -> Result<DataFrame> {
        let plan = IndexPlan::new(self, columns.to_vec(), Predicate::Anything);
        let reads = self.plan_segments(&plan).await?;
        Ok(self.load_segments(reads, columns, categorical).await?.0)
    }

    /// Loads some index columns of these rows, and the sequences if rows of all segments are read. Returns also the rows: all rows
    /// of a segment whose tail or pages fail their checks.
    pub(super) async fn load_segments(
        &self,
        reads: Vec<SegmentRead>,
        columns: &[usize],
        categorical: bool,
    ) -> Result<(DataFrame, Vec<SegmentRead>)> {
        let rows = |reads: &[SegmentRead]| reads.iter().map(SegmentRead::height).sum();
        let sequences = SequencesRead::new(self, reads.len());
        let room = frame_bytes(&self.described(columns), rows(&reads), categorical) / 8;
        let start = |reads: &[SegmentRead]| Loading::new(columns, rows(reads), categorical, sequences.clone());
        let (loading, reads) = self.decoded(reads, columns.len(), room, start).await?;
        let table = self.clone();
        let frame = offload_large(usize::try_from(loading.rows).unwrap_or(usize::MAX), move |_| {
            loading.sequences.keep(&table);
            loading.finish(&table)
        });
        Ok((frame.await?, reads))
    }

    /// Reads and decodes `columns` columns of segments. Up to `room` bytes of them are read together. Returns also the rows that were
    /// read.
    pub(super) async fn decoded<D: Decoding>(
        &self,
        mut reads: Vec<SegmentRead>,
        columns: usize,
        room: u64,
        start: impl Fn(&[SegmentRead]) -> D,
    ) -> Result<(D, Vec<SegmentRead>)> {
        let mut is_first = true;
        loop {
            match self.decoded_once(&reads, columns, room, start(&reads)).await? {
                Decoded::All(decoding) => return Ok((decoding, reads)),
                // One damaged part costs one segment. With several, no part is trusted: each restart reads the segments before again.
                Decoded::OtherRows(place, read) => match reads.get_mut(place) {
                    Some(value) if is_first => *value = read,
                    _ => {
                        let segments = &self.manifest().segments;
                        let whole = |read: &mut SegmentRead| {
                            if let Some(segment) = segments.get(read.segment) {
                                *read = SegmentRead::whole(read.segment, segment);
                            }
                        };
                        reads.iter_mut().for_each(whole);
                    }
                },
            }
            is_first = false;
        }
    }

    async fn decoded_once<D: Decoding>(
        &self,
        reads: &[SegmentRead],
        columns: usize,
        room: u64,
        mut decoding: D,
    ) -> Result<Decoded<D>> {
        let ahead = D::READS_AHEAD || !self.store().is_local();
        let sizes: Vec<u64> = reads.iter().map(|read| read.bytes).collect();
        let mut waves = waves(&sizes, if ahead { room / 2 } else { room }).into_iter();
        let progress = Progress::new("reading the index", reads.iter().map(SegmentRead::height).sum());
        let mut next = waves.next();
        let mut found = match next.clone() {
            Some(wave) => Some(self.wave(reads, wave).await?),
            None => None,
        };
        while let (Some(wave), Some(read)) = (next, found) {
            let planned = reads.get(wave.clone()).unwrap_or_default();
            let changed = planned.iter().zip(&read).position(|(planned, (read, _))| planned.rows != read.rows);
            if let Some(place) = changed {
                let (read, _) = read.into_iter().nth(place).ok_or_else(|| Error::internal("a wave without its segment"))?;
                return Ok(Decoded::OtherRows(wave.start + place, read));
            }
            next = waves.next();
            let stored = read.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
            let rows: u64 = read.iter().map(|(read, _)| read.height()).sum();
            let decoded = usize::try_from(rows).unwrap_or(usize::MAX).saturating_mul(size_of::<u64>());
            let table = self.clone();
            let decode = offload_large(stored.max(decoded.saturating_mul(columns + 1)), move |stop| {
                decoding.decode(&table, read, stop)?;
                Ok(decoding)
            });
            let decoded;
            (decoded, found) = match next.clone() {
                Some(wave) if ahead => {
                    let (decoded, read) = join(decode, self.wave(reads, wave)).await;
                    (decoded?, Some(read?))
                }
                // The bytes before are dropped first.
                Some(wave) => {
                    let decoded = decode.await?;
                    free(stored > LARGE);
                    (decoded, Some(self.wave(reads, wave).await?))
                }
                None => (decode.await?, None),
            };
            free(stored > LARGE && !D::READS_AHEAD);
            decoding = decoded;
            progress.add(rows);
        }
        Ok(Decoded::All(decoding))
    }

    /// Reads the bytes of some segments, up to the first one of which other rows must be read.
    async fn wave(&self, reads: &[SegmentRead], wave: Range<usize>) -> Result<Vec<(SegmentRead, SegmentBytes)>> {
        let planned = reads.get(wave).unwrap_or_default();
        let reads = planned.iter().cloned().map(|read| self.segment_bytes(read)).collect::<Vec<_>>();
        let mut reads = stream::iter(reads).buffered(SEGMENTS_AT_ONCE).zip(stream::iter(planned));
        let mut found = Vec::with_capacity(planned.len());
        while let Some((read, planned)) = reads.next().await {
            let read = read?;
            let has_other_rows = read.0.rows != planned.rows;
            found.push(read);
            if has_other_rows {
                break;
            }
        }
        Ok(found)
    }

    /// Decodes some index columns of all rows from the index objects of all segments. `columns` are ascending places.
    pub(in crate::table) fn frame_of(&self, objects: &[Bytes], columns: &[usize], categorical: bool) -> Result<DataFrame> {
        let mut loading = Loading::new(columns, self.rows(), categorical, SequencesRead::new(self, objects.len()));
        let segments = self.manifest().segments.iter().enumerate().zip(objects);
        let read =
            segments.map(|((number, segment), bytes)| (SegmentRead::whole(number, segment), SegmentBytes::Whole(bytes.clone())));
        loading.decode(self, read.collect(), &Stop::default())?;
        loading.finish(self)
    }

    /// Returns the index columns at these places of the stored schema.
    pub(in crate::table) fn described(&self, columns: &[usize]) -> Vec<&Column> {
        let stored = self.manifest().schema.index().enumerate();
        stored.filter(|(place, _)| columns.contains(place)).map(|(_, column)| column).collect()
    }
}

/// Frees the buffers of large objects, which are otherwise kept for later reads.
pub(in crate::table) fn free(is_large: bool) {
    if is_large {
        release_buffers();
    }
}

/// Decodes segments, wave by wave, into a result.
pub(super) trait Decoding: Send + 'static {
    /// Whether the next segments of a local store are read meanwhile, into the buffers of segments before.
    const READS_AHEAD: bool;

    /// Decodes the next segments.
    fn decode(&mut self, table: &Table, read: Vec<(SegmentRead, SegmentBytes)>, stop: &Stop) -> Result<()>;
}

/// The end of decoding.
enum Decoded<D> {
    All(D),
    /// A part of the segment at this place failed its checks. Replace its plan by this one, and start again.
    OtherRows(usize, SegmentRead),
}

/// A frame while it is being loaded.
struct Loading {
    /// The columns, allocated when the first segments are there and have the rows that the manifest says.
    filling: Option<Filling>,
    columns: Vec<usize>,
    rows: u64,
    categorical: bool,
    sequences: SequencesRead,
}

/// The sequences of the segments that were decoded.
#[derive(Clone, Debug)]
pub(super) struct SequencesRead {
    /// The lengths of the sequences of each segment; `None` if not all segments are read, or if a tail does not tell its sequences.
    lengths: Option<Vec<PackedLengths>>,
}

impl SequencesRead {
    /// Starts with none. So many segments are read.
    pub(super) fn new(table: &Table, segments: usize) -> Self {
        Self { lengths: (segments == table.manifest().segments.len()).then(Vec::new) }
    }

    /// Parses the sequences of a segment, if they are wanted.
    pub(super) fn parse(&self, table: &Table, read: &SegmentRead, bytes: &SegmentBytes) -> Result<Option<PackedLengths>> {
        match (&self.lengths, bytes) {
            (Some(_), SegmentBytes::Whole(_)) => read.sequences(table, bytes).map(Some),
            (Some(_), SegmentBytes::Part(_)) => Ok(read.sequences(table, bytes).ok()),
            (None, _) => Ok(None),
        }
    }

    /// Appends the sequences of the next segments.
    pub(super) fn extend(&mut self, lengths: Vec<Option<PackedLengths>>) {
        self.lengths = self.lengths.take().zip(lengths.into_iter().collect::<Option<Vec<_>>>()).map(|(mut all, next)| {
            all.extend(next);
            all
        });
    }

    /// Gives the sequences of all segments to the table, if they are known.
    pub(super) fn keep(&self, table: &Table) {
        if let Some(lengths) = &self.lengths {
            table.keep_sequences(lengths);
        }
    }
}

/// The work of one thread: some columns of one row group.
struct Work<'a> {
    object: &'a RowGroups,
    group: usize,
    columns: &'a [usize],
    parts: Vec<Part<'a>>,
}

impl Loading {
    fn new(columns: &[usize], rows: u64, categorical: bool, sequences: SequencesRead) -> Self {
        Self { filling: None, columns: columns.to_vec(), rows, categorical, sequences }
    }

    /// Returns the frame.
    fn finish(self, table: &Table) -> Result<DataFrame> {
        match self.filling {
            Some(filling) => filling.finish(),
            // No segment.
            None => Filling::new(&table.described(&self.columns), self.rows, self.categorical)?.finish(),
        }
    }
}

impl Decoding for Loading {
    const READS_AHEAD: bool = false;

    fn decode(&mut self, table: &Table, read: Vec<(SegmentRead, SegmentBytes)>, stop: &Stop) -> Result<()> {
        let others = others_for(read.iter().map(|(read, _)| read.height()).sum());
        let open = |(read, bytes): &(SegmentRead, SegmentBytes)| {
            stop.check()?;
            Ok::<_, Error>((self.sequences.parse(table, read, bytes)?, read.open(table, bytes)?))
        };
        let opened = share(read.iter().collect(), others, open)?;
        let (lengths, opened): (Vec<_>, Vec<_>) = opened.into_iter().unzip();
        self.sequences.extend(lengths);
        let groups = opened.iter().flat_map(|object| (0..object.rows().len()).map(move |group| (object, group)));
        let filling = match &mut self.filling {
            Some(filling) => filling,
            none => none.insert(Filling::new(&table.described(&self.columns), self.rows, self.categorical)?),
        };
        fill(filling, &groups.collect::<Vec<_>>(), &self.columns, others, stop)
    }
}

/// Returns the threads that share the decoding of so many rows, without this one.
pub(in crate::table) fn others_for(rows: u64) -> usize {
    if rows < ROWS_OF_THREADS { 0 } else { threads().clamp(1, MAX_THREADS) - 1 }
}

/// Decodes these row groups into the next rows of `filling`, which has these columns.
pub(in crate::table) fn fill(
    filling: &mut Filling,
    groups: &[(&RowGroups, usize)],
    columns: &[usize],
    others: usize,
    stop: &Stop,
) -> Result<()> {
    let rows_of = |(object, group): &(&RowGroups, usize)| object.rows().nth(*group).unwrap_or_default();
    let rows: Vec<u64> = groups.iter().map(rows_of).collect();
    // Row groups are enough work for all threads, except in a small index with many columns.
    let pieces = (others + 1).div_ceil(groups.len().max(1)).clamp(1, columns.len().max(1));
    let width = columns.len().div_ceil(pieces).max(1);
    let mut work = Vec::new();
    for ((object, group), parts) in groups.iter().zip(filling.parts(&rows)?) {
        let mut parts = parts.into_iter();
        for columns in columns.chunks(width) {
            work.push(Work { object, group: *group, columns, parts: parts.by_ref().take(columns.len()).collect() });
        }
    }
    let done = share(work, others, |work: Work<'_>| {
        stop.check()?;
        let Work { object, group, columns, mut parts } = work;
        for batch in object.read(group, columns)? {
            parts.iter_mut().zip(batch?.columns()).try_for_each(|(part, array)| part.push(array))?;
        }
        Ok::<_, Error>(parts.into_iter().map(Part::finish).collect::<Vec<_>>())
    })?;
    let (mut done, works) = (done.into_iter(), columns.len().div_ceil(width));
    let leftovers: Vec<Vec<Vec<Leftovers>>> = groups.iter().map(|_| done.by_ref().take(works).flatten().collect()).collect();
    filling.keep(&rows, leftovers)
}

/// Takes the first `count` rows from these ranges.
pub(super) fn first_of(ranges: &mut VecDeque<Range<u64>>, mut count: u64) -> Vec<Range<u64>> {
    let mut taken = Vec::new();
    while count > 0
        && let Some(range) = ranges.pop_front()
    {
        let end = range.end.min(range.start.saturating_add(count));
        count -= end - range.start;
        if end < range.end {
            ranges.push_front(end..range.end);
        }
        taken.push(range.start..end);
    }
    taken
}

/// Returns neighbouring row groups and their rows together: as many as have `room` rows, and at least one.
pub(super) fn neighbours(rows: &[u64], room: u64) -> Vec<(Range<usize>, u64)> {
    let waves = work::waves(rows.iter().copied(), room, usize::MAX).into_iter();
    waves.map(|groups| (groups.clone(), rows.get(groups).unwrap_or_default().iter().sum())).collect()
}

/// Returns the segments that are read together, given by their bytes: neighbours of at most `room` bytes, and at least one.
fn waves(segments: &[u64], room: u64) -> Vec<Range<usize>> {
    work::waves(segments.iter().copied(), room.max(FEW_BYTES), MAX_OBJECTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waves_have_all_segments_in_order_and_few_bytes() {
        assert!(waves(&[], 0).is_empty());
        assert_eq!(waves(&[1, 1, 1], 0).first(), Some(&(0..3)), "small objects are read together");
        assert_eq!(waves(&[FEW_BYTES, FEW_BYTES, FEW_BYTES], 0), [0..1, 1..2, 2..3]);
        assert_eq!(waves(&[FEW_BYTES, FEW_BYTES, 2 * FEW_BYTES, 1], 2 * FEW_BYTES), [0..2, 2..3, 3..4]);
        assert_eq!(waves(&vec![1; MAX_OBJECTS + 1], 0), [0..MAX_OBJECTS, MAX_OBJECTS..MAX_OBJECTS + 1]);
    }

    #[test]
    fn the_first_rows_of_ranges_are_taken_in_order() {
        let mut ranges = VecDeque::from([0..5, 7..10, 20..30]);
        assert_eq!(first_of(&mut ranges, 6), [0..5, 7..8]);
        assert_eq!(first_of(&mut ranges, 3), [8..10, 20..21]);
        assert_eq!(first_of(&mut ranges, 9).first(), Some(&(21..30)));
        assert!(ranges.is_empty());
    }

    #[test]
    fn neighbours_have_all_row_groups_in_order() {
        assert!(neighbours(&[], 8).is_empty());
        assert_eq!(neighbours(&[4, 4, 1], 8), [(0..2, 8), (2..3, 1)]);
        assert_eq!(neighbours(&[16, 1], 8), [(0..1, 16), (1..2, 1)]);
    }
}
