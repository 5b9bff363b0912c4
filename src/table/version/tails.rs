//! Reads parts of index segments, by their tails. Follows `format-spec/tails.md#reading`.
//!
//! A part that fails its checks is no error: the caller then reads the whole segment, whose BLAKE3 decides whether it is damaged.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};

use super::table::{Table, recorded_sequences};
use crate::{
    error::{Error, ErrorKind, Result},
    format::{BloomFilter, IndexTail, PackedLengths, Segment, SegmentPart, StoredFilter},
    id::Hash,
    read::Sequences,
    store::{RangeRequest, Store},
    work::offload_large,
};

/// The most tails that are read at a time.
pub(in crate::table) const TAILS_AT_ONCE: usize = 16;

/// Whether a part has so much of its segment that the whole segment is read instead.
pub(in crate::table) fn is_most_of(part: &SegmentPart, segment: &Segment) -> bool {
    part.bytes() > segment.index.bytes / 4 * 3
}

impl Table {
    /// Returns the tail of a segment, and keeps it in memory. `None` if the segment has none, or if the tail fails its checks.
    ///
    /// # Errors
    /// - `Conflict`: a garbage collection has deleted this version.
    /// - `Corrupt`: the index object is missing.
    /// - Any error of the store.
    pub(in crate::table) async fn index_tail(&self, number: usize) -> Result<Option<Arc<IndexTail>>> {
        if let Some(cached) = self.inner.tails.get(number) {
            return Ok(Some(cached));
        }
        let read = self.read_tail(number).await?;
        if let (Some(read), Some(tail)) = (&read, self.manifest().segments.get(number).and_then(|segment| segment.tail.as_ref()))
        {
            self.inner.tails.keep(number, read, tail.bytes);
        }
        Ok(read)
    }

    /// Reads the tail of a segment as [`Self::index_tail`] does, but neither looks for it in memory nor keeps it there.
    pub(in crate::table) async fn read_tail(&self, number: usize) -> Result<Option<Arc<IndexTail>>> {
        let Some(segment) = self.manifest().segments.get(number) else { return Ok(None) };
        let Some(tail) = &segment.tail else { return Ok(None) };
        let object_bytes = segment.index.bytes;
        let (table, rows, expected) = (self.clone(), segment.rows, tail.blake3);
        let parse = move |fetched: Vec<Bytes>| {
            let bytes = fetched.into_iter().next().unwrap_or_default();
            match Hash::of(&bytes) == expected {
                true => IndexTail::parse(&bytes, object_bytes, &table.manifest().schema, rows),
                false => Err(Error::corrupt("the tail of an index segment has another hash")),
            }
        };
        let range = object_bytes - tail.bytes..object_bytes;
        Ok(self.index_ranges(segment, std::slice::from_ref(&range), parse).await?.map(Arc::new))
    }

    /// Drops the tail of a segment whose pages have failed their checks.
    pub(in crate::table) fn forget_tail(&self, number: usize) {
        self.inner.tails.forget(number);
    }

    /// Reads the sequences from the tails of all segments; `None` if a segment has no sound tail.
    pub(in crate::table) async fn sequences_of_tails(&self) -> Result<Option<Arc<Sequences>>> {
        let segments = &self.manifest().segments;
        if segments.iter().any(|segment| segment.tail.is_none()) {
            return Ok(None);
        }
        let read = |number: usize| async move {
            let tail = match self.inner.tails.get(number) {
                Some(cached) => Some(cached),
                None => self.read_tail(number).await?,
            };
            let runs = tail.and_then(|tail| tail.sequences().ok());
            Ok::<_, Error>(runs.filter(|runs| runs.len() as u64 == segments[number].sequences))
        };
        let (firsts, places) = self.distinct_indexes();
        let read: Vec<_> = firsts.into_iter().map(read).collect();
        let runs: Vec<Option<PackedLengths>> = stream::iter(read).buffered(TAILS_AT_ONCE).try_collect().await?;
        let Some(runs) = runs.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
        let runs = places.into_iter().map(|place| &runs[place]);
        Ok(Some(Arc::new(Sequences::new(segments.iter().map(|segment| segment.continues).zip(runs)))))
    }

    /// Reads the sequences of one segment, as if there were no other. Its tail has them; without one, its index object is read.
    ///
    /// # Errors
    /// - `Conflict`: a garbage collection has deleted this version.
    /// - `Corrupt`: the index object is missing or damaged.
    /// - Any error of the store.
    pub(in crate::table) async fn sequences_of_segment(&self, number: usize) -> Result<Sequences> {
        let segment = self.manifest().segments.get(number).ok_or_else(|| Error::internal(format!("no segment {number}")))?;
        let of_tail = self.read_tail(number).await?.and_then(|tail| tail.sequences().ok());
        let runs = match of_tail.filter(|runs| runs.len() as u64 == segment.sequences) {
            Some(runs) => runs,
            None => {
                let (bytes, segment) = (self.object("index", &segment.index).await?, segment.clone());
                offload_large(bytes.len(), move |_| recorded_sequences(&bytes, &segment)).await?
            }
        };
        Ok(Sequences::new([(false, &runs)]))
    }

    /// Reads and verifies the byte ranges of a part of a segment. `None` if the part fails its checks.
    ///
    /// # Errors
    /// - `Conflict`: a garbage collection has deleted this version.
    /// - `Corrupt`: the index object is missing.
    /// - Any error of the store.
    pub(in crate::table) async fn index_part(
        &self,
        segment: &Segment,
        tail: &Arc<IndexTail>,
        part: &Arc<SegmentPart>,
    ) -> Result<Option<Vec<Bytes>>> {
        let (tail, ranges, part) = (Arc::clone(tail), part.ranges().to_vec(), Arc::clone(part));
        let verify = move |fetched: Vec<Bytes>| tail.verify(&part, &fetched).map(|()| fetched);
        self.index_ranges(segment, &ranges, verify).await
    }

    /// Reads bloom filters of a segment. `None` if there are none, or if they fail their checks.
    ///
    /// # Errors
    /// - As [`Table::index_part`].
    pub(in crate::table) async fn open_filters(
        &self,
        segment: &Segment,
        filters: &[StoredFilter],
    ) -> Result<Option<Vec<BloomFilter>>> {
        if filters.is_empty() {
            return Ok(None);
        }
        let (ranges, filters): (Vec<Range<u64>>, _) = (filters.iter().map(StoredFilter::range).collect(), filters.to_vec());
        let open = move |fetched: Vec<Bytes>| filters.iter().zip(&fetched).map(|(filter, bytes)| filter.open(bytes)).collect();
        self.index_ranges(segment, &ranges, open).await
    }

    /// Reads byte ranges of the index object of a segment and checks them. `None` if they fail the checks.
    pub(in crate::table) async fn index_ranges<T: Send + 'static>(
        &self,
        segment: &Segment,
        ranges: &[Range<u64>],
        check: impl Fn(Vec<Bytes>) -> Result<T> + Clone + Send + 'static,
    ) -> Result<Option<T>> {
        let name: Arc<str> = segment.index.name_in("index").into();
        let request = |range: &Range<u64>| RangeRequest::new(Arc::clone(&name), segment.index.bytes, range.clone());
        let requests: Vec<RangeRequest> = ranges.iter().map(request).collect();
        let checked = |store: Store| {
            let (requests, check) = (&requests, check.clone());
            async move {
                let fetched = store.read(requests).await?;
                // Checking takes about a quarter of the time of decoding.
                let work = fetched.iter().map(Bytes::len).sum::<usize>() / 4;
                offload_large(work, move |_| check(fetched)).await
            }
        };
        match self.store().verified(checked).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(None),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(self.missing(&name, error).await),
            Err(error) => Err(error),
        }
    }
}
