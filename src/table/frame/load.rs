//! Loads index columns into a frame: segment by segment, on all threads, each row group directly into its place.
//!
//! Memory holds the frame, and the objects of a few segments: at most an eighth of the frame, and at least one object. While the
//! segments of a remote store are decoded, the next ones arrive.

use std::{mem::size_of, ops::Range};

use bytes::Bytes;
use futures::future::join;
use polars::prelude::DataFrame;

use crate::{
    error::{Error, Result},
    format::{PackedLengths, RowGroups, Segment},
    index::{Filling, Leftovers, Part, frame_bytes},
    offload::{Stop, offload_large},
    schema::Column,
    store::release_buffers,
    table::table::{Table, recorded_sequences},
    threads::{share, threads},
};

/// An index of fewer rows is decoded by one thread.
const ROWS_OF_THREADS: u64 = 1 << 16;
/// The most threads that decode an index. More threads would only wait for memory.
const MAX_THREADS: usize = 8;
/// Objects of so many bytes are always read together.
const FEW_BYTES: u64 = 8 << 20;
/// Buffers of so many bytes are freed after use: a load needs each size once.
pub(super) const LARGE: usize = 16 << 20;
/// Maximum objects that are read together.
const MAX_OBJECTS: usize = 256;

impl Table {
    /// Loads some index columns of all rows, and the sequences. `columns` are ascending places. If `categorical`, text becomes
    /// categorical.
    pub(in crate::table) async fn load_frame(&self, columns: &[usize], categorical: bool) -> Result<DataFrame> {
        let segments = &self.manifest().segments;
        let mut loading = Loading { filling: None, columns: columns.to_vec(), categorical, sequences: Vec::new() };
        let room = frame_bytes(&self.described(columns), self.rows(), categorical) / 8;
        let ahead = !self.store().is_local();
        let mut waves = waves(segments, if ahead { room / 2 } else { room }).into_iter();
        let mut next = waves.next();
        let mut read = match next.clone() {
            Some(wave) => Some(self.index_objects_of(wave).await?),
            None => None,
        };
        while let (Some(wave), Some(objects)) = (next, read) {
            next = waves.next();
            let (table, work) = (self.clone(), self.index_work_of(&objects, wave.clone(), columns.len()));
            let is_large = objects.iter().map(Bytes::len).sum::<usize>() > LARGE;
            let decode = offload_large(work, move |stop| {
                loading.decode(&table, &objects, wave, stop)?;
                Ok(loading)
            });
            let decoded;
            (decoded, read) = match next.clone() {
                Some(wave) if ahead => {
                    let (decoded, read) = join(decode, self.index_objects_of(wave)).await;
                    (decoded?, Some(read?))
                }
                // The objects before are dropped first.
                Some(wave) => {
                    let decoded = decode.await?;
                    free(is_large);
                    (decoded, Some(self.index_objects_of(wave).await?))
                }
                None => (decode.await?, None),
            };
            free(is_large);
            loading = decoded;
        }
        let table = self.clone();
        offload_large(usize::try_from(self.rows()).unwrap_or(usize::MAX), move |_| {
            table.keep_sequences(&loading.sequences);
            loading.finish(&table)
        })
        .await
    }

    /// Decodes some index columns of all rows from the index objects of all segments. `columns` are ascending places.
    pub(in crate::table) fn frame_of(&self, objects: &[Bytes], columns: &[usize], categorical: bool) -> Result<DataFrame> {
        let mut loading = Loading { filling: None, columns: columns.to_vec(), categorical, sequences: Vec::new() };
        loading.decode(self, objects, 0..objects.len(), &Stop::default())?;
        loading.finish(self)
    }

    /// Returns the index columns at these places of the stored schema.
    pub(super) fn described(&self, columns: &[usize]) -> Vec<&Column> {
        let stored = self.manifest().schema.index().enumerate();
        stored.filter(|(place, _)| columns.contains(place)).map(|(_, column)| column).collect()
    }

    /// Estimates the work of decoding some segments, in bytes.
    fn index_work_of(&self, objects: &[Bytes], wave: Range<usize>, columns: usize) -> usize {
        let rows: u64 = self.manifest().segments.get(wave).unwrap_or_default().iter().map(|segment| segment.rows).sum();
        let decoded = usize::try_from(rows).unwrap_or(usize::MAX).saturating_mul(size_of::<u64>()).saturating_mul(columns + 1);
        objects.iter().map(Bytes::len).sum::<usize>().max(decoded)
    }
}

/// Frees the buffers of large objects, which are otherwise kept for later reads.
pub(super) fn free(is_large: bool) {
    if is_large {
        release_buffers();
    }
}

/// A frame while it is being loaded.
struct Loading {
    /// The columns, allocated when the first objects are there and have the rows that the manifest says.
    filling: Option<Filling>,
    columns: Vec<usize>,
    categorical: bool,
    /// The lengths of the sequences of each segment.
    sequences: Vec<PackedLengths>,
}

/// The work of one thread: some columns of one row group.
struct Work<'a> {
    object: &'a RowGroups,
    group: usize,
    columns: &'a [usize],
    parts: Vec<Part<'a>>,
}

impl Loading {
    /// Decodes the next segments, which have these index objects.
    fn decode(&mut self, table: &Table, objects: &[Bytes], segments: Range<usize>, stop: &Stop) -> Result<()> {
        let manifest = table.manifest();
        let segments: Vec<&Segment> = manifest.segments.get(segments).unwrap_or_default().iter().collect();
        let others = others_for(segments.iter().map(|segment| segment.rows).sum());
        let open = |(bytes, segment): (&Bytes, &Segment)| {
            stop.check()?;
            let runs = recorded_sequences(bytes, segment)?;
            Ok::<_, Error>((runs, RowGroups::new(bytes.clone(), &manifest.schema, segment.rows)?))
        };
        let opened = share(objects.iter().zip(segments.iter().copied()).collect(), others, open)?;
        let (runs, opened): (Vec<_>, Vec<_>) = opened.into_iter().unzip();
        self.sequences.extend(runs);
        let groups = opened.iter().flat_map(|object| (0..object.rows().len()).map(move |group| (object, group)));
        let filling = match &mut self.filling {
            Some(filling) => filling,
            none => none.insert(Filling::new(&table.described(&self.columns), table.rows(), self.categorical)?),
        };
        fill(filling, &groups.collect::<Vec<_>>(), &self.columns, others, stop)
    }

    /// Returns the frame.
    fn finish(self, table: &Table) -> Result<DataFrame> {
        match self.filling {
            Some(filling) => filling.finish(),
            // A table without segments.
            None => Filling::new(&table.described(&self.columns), table.rows(), self.categorical)?.finish(),
        }
    }
}

/// Returns the threads that share the decoding of so many rows, without this one.
pub(super) fn others_for(rows: u64) -> usize {
    if rows < ROWS_OF_THREADS { 0 } else { threads().clamp(1, MAX_THREADS) - 1 }
}

/// Decodes these row groups into the next rows of `filling`, which has these columns.
pub(super) fn fill(
    filling: &mut Filling,
    groups: &[(&RowGroups, usize)],
    columns: &[usize],
    others: usize,
    stop: &Stop,
) -> Result<()> {
    let rows_of = |(object, group): &(&RowGroups, usize)| object.rows().get(*group).copied().unwrap_or_default();
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

/// Returns the segments that are read together: neighbours whose objects take at most `room` bytes, and at least one.
fn waves(segments: &[Segment], room: u64) -> Vec<Range<usize>> {
    let (mut waves, mut bytes) = (Vec::<Range<usize>>::new(), 0);
    for (number, segment) in segments.iter().enumerate() {
        bytes += segment.index.bytes;
        match waves.last_mut() {
            Some(wave) if bytes <= room.max(FEW_BYTES) && wave.len() < MAX_OBJECTS => wave.end = number + 1,
            _ => {
                waves.push(number..number + 1);
                bytes = segment.index.bytes;
            }
        }
    }
    waves
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{Hash, ObjectRef};

    #[test]
    fn waves_have_all_segments_in_order_and_few_bytes() {
        let segment = |bytes| {
            let index = ObjectRef { blake3: Hash::of(b""), bytes };
            Segment {
                first_row: 0,
                rows: 1,
                sequences: 1,
                continues: false,
                index,
                tail: None,
                statistics: Vec::new(),
                groups: Vec::new(),
            }
        };
        let of = |bytes: &[u64], room| waves(&bytes.iter().copied().map(segment).collect::<Vec<_>>(), room);
        assert!(of(&[], 0).is_empty());
        assert_eq!(of(&[1, 1, 1], 0).first(), Some(&(0..3)), "small objects are read together");
        assert_eq!(of(&[FEW_BYTES, FEW_BYTES, FEW_BYTES], 0), [0..1, 1..2, 2..3]);
        assert_eq!(of(&[FEW_BYTES, FEW_BYTES, 2 * FEW_BYTES, 1], 2 * FEW_BYTES), [0..2, 2..3, 3..4]);
        assert_eq!(of(&vec![1; MAX_OBJECTS + 1], 0), [0..MAX_OBJECTS, MAX_OBJECTS..MAX_OBJECTS + 1]);
    }
}
