//! Shares requests in flight to remote stores among all reads of one loader.
//!
//! If another read has already requested the bytes that a read needs, the read waits for that response and sends no request of
//! its own ([`crate::work::Flight`]). Errors are not shared: if the request of the other read fails, the waiting read sends its
//! own.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{
    block_cache::CachedBlocks,
    group_plan::{BlockBytes, BlockRead, Coalesce, GroupPlan, RangeRead, SubRange},
    layout::BlockPlace,
    page::lost,
    plan::ReadPlan,
};
use crate::{
    error::{Error, Result},
    id::ChunkId,
    store::{SPLIT_ABOVE, Stores, range_parts},
    work::{self, BoundedLock, Executor},
};
use bytes::Bytes;
use futures::{FutureExt, StreamExt, stream};

/// The most requests of one read in flight at a time.
pub const CONCURRENT: usize = 64;

/// A fetch of one or more ranges in flight. Its error belongs to the read that began the fetch.
type Flight = work::Flight<Arc<[Bytes]>>;
type WeakFlight = work::WeakFlight<Arc<[Bytes]>>;

/// The ranges in flight.
#[derive(Default)]
pub struct Flights(BoundedLock<BTreeMap<Place, Entry>>);

/// The start of a range: table, owner, chunk and first byte.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    source: usize,
    owner: u32,
    chunk: ChunkId,
    start: u64,
}

/// A range in flight.
struct Entry {
    end: u64,
    executor: Executor,
    flight: WeakFlight,
    /// The index of the range within its flight.
    number: usize,
}

/// A range in flight that contains wanted bytes.
struct Hit {
    place: Place,
    flight: Flight,
    number: usize,
}

/// A read whose ranges are in flight.
pub(super) struct JoinedRead<'a> {
    flights: &'a Flights,
    /// The plan. Each of its ranges is fetched by this read, or is part of a range that another read fetches.
    pub(super) plan: ReadPlan,
    /// The origin of each range of the plan.
    origins: Vec<Origin>,
    /// The flights of this read, followed by the flights of other reads.
    waits: Vec<Flight>,
    /// Number of flights of this read.
    own: usize,
    /// Whether a flight of another read failed.
    others_failed: AtomicBool,
    /// Number of flights that are polled at a time.
    at_once: usize,
    /// The entries of [`Flights`] that this read added or joined.
    places: Vec<Place>,
}

/// The range in flight that holds a range of the plan.
struct Origin {
    /// The index of the flight in [`JoinedRead::waits`].
    wait: usize,
    /// The index of the range within the flight.
    number: usize,
    /// The first byte of the range in flight, as an offset in the chunk.
    start: u64,
}

impl std::fmt::Debug for Flights {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Flights").finish_non_exhaustive()
    }
}

impl Flights {
    /// Joins the flights of other reads that already fetch bytes of the plan, and registers flights for all other bytes. Blocks
    /// that were cached after the plan was made are not fetched.
    ///
    /// # Errors
    /// - `Internal`: the plan names an owner without a store, or a range has no flight.
    pub(super) fn join(&self, stores: &Stores, mut plan: ReadPlan, cache: &CachedBlocks) -> Result<JoinedRead<'_>> {
        let executor = Executor::current();
        let mut entries = self.0.lock();
        let mut joined = Vec::with_capacity(plan.groups.len());
        for group in &mut plan.groups {
            let hits = entries.as_ref().map(|entries| find(entries, executor, cache.source, group)).unwrap_or_default();
            // A flight is removed after its blocks are cached. So a block whose flight has just been removed is in the cache.
            let is_hit = |block: usize| hits.range((block, 0)..(block + 1, 0)).next().is_some();
            let found = take_cached(group, cache, |block| !is_hit(block));
            joined.push(if found || !hits.is_empty() {
                regroup(group, hits)
            } else {
                group.ranges.iter().map(|_| None).collect()
            });
        }
        let ranges: Vec<&RangeRead> = plan.groups.iter().flat_map(|group| &group.ranges).collect();
        let joined: Vec<Option<Hit>> = joined.into_iter().flatten().collect();
        let own = ranges.iter().copied().enumerate().zip(&joined).filter(|(_, hit)| hit.is_none()).map(|(range, _)| range);
        let (batches, at_once) = batches(own.collect());
        let mut origins: Vec<Option<Origin>> = ranges.iter().map(|_| None).collect();
        let (mut waits, mut places) = (Vec::with_capacity(batches.len()), Vec::new());
        for batch in &batches {
            let flight = fetch(stores, batch)?;
            for (number, (range_number, range)) in batch.iter().enumerate() {
                if let Some(origin) = origins.get_mut(*range_number) {
                    *origin = Some(Origin { wait: waits.len(), number, start: range.range.start });
                }
                let place = Place { source: cache.source, owner: range.owner, chunk: range.chunk, start: range.range.start };
                if let Some((entries, flight)) = entries.as_mut().zip(flight.downgrade()) {
                    entries.insert(place, Entry { end: range.range.end, executor, flight, number });
                    places.push(place);
                }
            }
            waits.push(flight);
        }
        drop(entries);
        let own = waits.len();
        for (origin, hit) in origins.iter_mut().zip(joined) {
            if let Some(Hit { place, flight, number }) = hit {
                *origin = Some(Origin { wait: waits.len(), number, start: place.start });
                places.push(place);
                waits.push(flight);
            }
        }
        let origins = origins.into_iter().collect::<Option<_>>().ok_or_else(|| Error::internal("a range has no flight"))?;
        Ok(JoinedRead { flights: self, plan, origins, waits, own, others_failed: AtomicBool::new(false), at_once, places })
    }
}

impl JoinedRead<'_> {
    /// Whether this read waits for flights of other reads.
    pub(super) fn joins(&self) -> bool {
        self.waits.len() > self.own
    }

    /// Whether a flight of another read failed.
    pub(super) fn others_failed(&self) -> bool {
        self.others_failed.load(Ordering::Relaxed)
    }

    /// Takes from the cache the blocks that another read, which waited for the same flights, has decoded and cached.
    pub(super) fn take_cached(&mut self, cache: &CachedBlocks) {
        for group in &mut self.plan.groups {
            take_cached(group, cache, |_| true);
        }
    }

    /// Waits for all flights and returns the bytes of each range of the plan, in order.
    ///
    /// # Errors
    /// - Any error of the stores, from a flight of this read.
    /// - `Unavailable`: a flight of another read failed; [`JoinedRead::others_failed`] is true then.
    pub(super) async fn wait(&self) -> Result<Vec<Bytes>> {
        let mut waits = stream::iter(self.waits.clone()).buffered(self.at_once);
        let mut answers: Vec<Arc<[Bytes]>> = Vec::with_capacity(self.waits.len());
        while let Some(answer) = waits.next().await {
            let is_own = answers.len() < self.own;
            answers.push(answer.map_err(|failed| {
                self.others_failed.fetch_or(!is_own, Ordering::Relaxed);
                let error = if is_own { failed.take() } else { None };
                error.unwrap_or_else(|| Error::unavailable("the request of another read, which this read waited for, failed"))
            })?);
        }
        drop(waits);
        let ranges = self.plan.groups.iter().flat_map(|group| &group.ranges).zip(&self.origins);
        let bytes = ranges.map(|(range, origin)| {
            let answer = answers.get(origin.wait)?.get(origin.number)?;
            let place = |at: u64| usize::try_from(at.checked_sub(origin.start)?).ok();
            let part = answer.get(place(range.range.start)?..place(range.range.end)?)?;
            // A copy, so that a few bytes do not keep a large response alive.
            Some(if part.len() < answer.len() / 2 { Bytes::copy_from_slice(part) } else { answer.slice_ref(part) })
        });
        bytes.collect::<Option<_>>().ok_or_else(|| Error::internal("a response does not hold the bytes of its range"))
    }
}

impl Drop for JoinedRead<'_> {
    fn drop(&mut self) {
        self.waits.clear();
        let Some(mut entries) = self.flights.0.lock() else { return };
        for place in &self.places {
            if entries.get(place).is_some_and(|entry| entry.flight.upgrade().is_none()) {
                entries.remove(place);
            }
        }
    }
}

/// Looks in the cache for blocks that were added after the plan was made, and takes them from there. Only blocks for whose
/// number `wanted` is true are looked up. Returns whether any was found.
fn take_cached(group: &mut GroupPlan, cache: &CachedBlocks, wanted: impl Fn(usize) -> bool) -> bool {
    let open =
        |(number, block): &(usize, &BlockRead)| block.rows > 1 && !matches!(block.bytes, BlockBytes::Cached) && wanted(*number);
    let open: Vec<(usize, BlockPlace)> =
        group.blocks.iter().enumerate().filter(open).map(|(number, block)| (number, block.place)).collect();
    if open.is_empty() || !cache.is_on() {
        return false;
    }
    let cached = cache.snapshot(group.group(), open.iter().map(|(_, place)| *place), &group.pages);
    if cached.pages.is_empty() {
        return false;
    }
    let found: BTreeSet<usize> =
        open.iter().enumerate().filter(|(asked, _)| cached.has(*asked)).map(|(_, (number, _))| *number).collect();
    let (mut before, mut new) = (std::mem::take(&mut group.cached).into_iter(), cached.pages.into_iter());
    for (number, block) in group.blocks.iter_mut().enumerate() {
        if found.contains(&number) {
            (block.bytes, block.to_cache) = (BlockBytes::Cached, false);
            group.cached.extend(new.by_ref().take(group.pages.len()));
        } else if matches!(block.bytes, BlockBytes::Cached) {
            group.cached.extend(before.by_ref().take(group.pages.len()));
        }
    }
    true
}

/// Finds the byte ranges of a group that are in flight. The keys are the block and the index of the sub-range within the block.
fn find(entries: &BTreeMap<Place, Entry>, executor: Executor, source: usize, group: &GroupPlan) -> BTreeMap<(usize, usize), Hit> {
    let mut hits = BTreeMap::new();
    if entries.is_empty() {
        return hits;
    }
    for (block, read) in group.blocks.iter().enumerate() {
        for (number, sub_range) in read.bytes.sub_ranges().iter().enumerate() {
            let Some((range, bytes)) = group.bytes_of(sub_range) else { continue };
            let place = |start| Place { source, owner: range.owner, chunk: range.chunk, start };
            let Some((place, entry)) = entries.range(place(0)..=place(bytes.start)).next_back() else { continue };
            // A read of few bytes does not wait for a much longer range.
            let flying = entry.end - place.start;
            let soon = flying <= SPLIT_ABOVE || flying / 2 <= bytes.end - bytes.start;
            if entry.executor == executor
                && entry.end >= bytes.end
                && soon
                && let Some(flight) = entry.flight.upgrade()
            {
                hits.insert((block, number), Hit { place: *place, flight, number: entry.number });
            }
        }
    }
    hits
}

/// Rebuilds the ranges of a group around the ranges that other reads fetch. Returns for each new range the flight that holds it,
/// or `None` if this read must fetch the range.
fn regroup(group: &mut GroupPlan, mut hits: BTreeMap<(usize, usize), Hit>) -> Vec<Option<Hit>> {
    let mut ranges: Vec<RangeRead> = Vec::new();
    let mut origins: Vec<Option<Hit>> = Vec::new();
    let mut of_flights: BTreeMap<Place, usize> = BTreeMap::new();
    let mut newest: Vec<Option<usize>> = vec![None; group.ranges.len()];
    let mut placed = Vec::new();
    for (block, read) in group.blocks.iter().enumerate() {
        for (number, sub_range) in read.bytes.sub_ranges().iter().enumerate() {
            let Some((range, bytes)) = group.bytes_of(sub_range) else { continue };
            let hit = hits.remove(&(block, number));
            let near = |number: &usize| {
                let before = ranges.get(*number);
                before.is_some_and(|before| bytes.start <= before.range.end.saturating_add(Coalesce::REMOTE.max_gap))
            };
            let found = match &hit {
                Some(hit) => of_flights.get(&hit.place).copied(),
                None => newest.get(sub_range.range).copied().flatten().filter(near),
            };
            let place = found.unwrap_or(ranges.len());
            if found.is_none() {
                if let Some(hit) = &hit {
                    of_flights.insert(hit.place, place);
                } else if let Some(newest) = newest.get_mut(sub_range.range) {
                    *newest = Some(place);
                }
                ranges.push(RangeRead { range: bytes.clone(), ..range.clone() });
                origins.push(hit);
            }
            if let Some(range) = ranges.get_mut(place) {
                range.range = range.range.start.min(bytes.start)..range.range.end.max(bytes.end);
            }
            placed.push((place, bytes));
        }
    }
    let sub_ranges = group.blocks.iter_mut().flat_map(|block| block.bytes.sub_ranges_mut());
    for (sub_range, (place, bytes)) in sub_ranges.zip(placed) {
        let start = ranges.get(place).map_or(0, |range| range.range.start);
        let within = |at: u64| usize::try_from(at - start).unwrap_or(usize::MAX);
        *sub_range = SubRange { range: place, within: within(bytes.start)..within(bytes.end) };
    }
    group.ranges = ranges;
    origins
}

/// Groups ranges into batches that are fetched together. Returns the batches and how many of them may be in flight at a time.
///
/// A small read has one batch for each owner. In a large read each range is a batch of its own, so that another read that joins
/// one range does not wait for all ranges. The numbers beside the ranges are their indexes in the plan.
fn batches(ranges: Vec<(usize, &RangeRead)>) -> (Vec<Vec<(usize, &RangeRead)>>, usize) {
    let bytes = |range: &RangeRead| range.range.end - range.range.start;
    if ranges.len() <= CONCURRENT && ranges.iter().map(|(_, range)| bytes(range)).sum::<u64>() <= SPLIT_ABOVE {
        let mut batches: BTreeMap<u32, Vec<_>> = BTreeMap::new();
        ranges.into_iter().for_each(|range| batches.entry(range.1.owner).or_default().push(range));
        return (batches.into_values().collect(), CONCURRENT);
    }
    let most = ranges.iter().map(|(_, range)| range_parts(bytes(range))).max().unwrap_or(1).max(1);
    (ranges.into_iter().map(|range| vec![range]).collect(), (CONCURRENT / most).max(1))
}

/// Creates the flight that fetches ranges of one owner. The requests start when the flight is first polled.
fn fetch(stores: &Stores, ranges: &[(usize, &RangeRead)]) -> Result<Flight> {
    let store = stores.of(ranges.first().map_or(0, |(_, range)| range.owner))?.clone();
    let requests: Vec<_> = ranges.iter().map(|(_, range)| range.request()).collect();
    Ok(Flight::new(async move { store.read(&requests).await.map(Arc::from).map_err(lost) }.boxed()))
}
