//! Reads the ranges of a plan from local files, and asks a cold disk for many of them at once.
//!
//! A disk is fast only while it has many requests at a time. Reads go range by range on a few threads, so the disk is asked ahead of
//! them: for the next [`LEAD`] bytes of the plan, in its order. A few ranges are probed first, because asking costs time that reads
//! from the page cache do not have.

use std::sync::{
    Arc, Mutex, OnceLock,
    atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;

use super::{
    group_plan::{GroupPlan, RangeRead},
    page::{lost, not_local},
    sizes::{LEAD, ONE_REQUEST, PROBES},
};
use crate::{
    error::Result,
    store::{RangeRequest, Stores},
};

/// The files of a plan.
#[derive(Clone)]
pub(super) struct Files {
    stores: Stores,
    ahead: Arc<OnceLock<Ahead>>,
}

/// The ranges of a plan that the disk is asked for.
struct Ahead {
    ranges: Vec<RangeRead>,
    /// Bytes that were read.
    read: AtomicU64,
    asked: Mutex<Asked>,
}

/// The number of ranges that the disk was asked for, and their bytes.
#[derive(Default)]
struct Asked {
    ranges: usize,
    bytes: u64,
}

impl Files {
    pub(super) fn new(stores: &Stores) -> Self {
        Self { stores: stores.clone(), ahead: Arc::default() }
    }

    /// Asks the disk for the first ranges of the plan, unless they are in the page cache.
    pub(super) fn start(&self, plan: &[GroupPlan]) {
        if is_cold(&self.stores, plan) {
            let ahead = self.ahead.get_or_init(|| Ahead::new(plan));
            ahead.advance(0, &self.stores);
        }
    }

    /// Reads a range.
    ///
    /// # Errors
    /// - `Corrupt`: the object does not exist.
    /// - Errors of the store.
    pub(super) fn read(&self, range: &RangeRead) -> Result<Bytes> {
        let read = self.stores.of(range.owner)?.read_now(&range.request()).ok_or_else(not_local)?.map_err(lost)?;
        self.advance(read.len() as u64);
        Ok(read)
    }

    /// Reads a range into two parts of memory, which together are as long as the range.
    ///
    /// # Errors
    /// As [`Files::read`].
    pub(super) fn read_into(&self, owner: u32, request: &RangeRequest, parts: [&mut [u8]; 2]) -> Result<()> {
        self.stores.of(owner)?.read_into_now(request, parts).ok_or_else(not_local)?.map_err(lost)?;
        self.advance(request.bytes());
        Ok(())
    }

    fn advance(&self, read: u64) {
        if let Some(ahead) = self.ahead.get() {
            ahead.advance(read, &self.stores);
        }
    }
}

impl Ahead {
    fn new(plan: &[GroupPlan]) -> Self {
        let ranges = ranges(plan).cloned().collect();
        Self { ranges, read: AtomicU64::new(0), asked: Mutex::default() }
    }

    /// Notes that bytes were read, and asks the disk for as many more. A thread that finds another one asking goes on reading.
    fn advance(&self, read: u64, stores: &Stores) {
        self.read.fetch_add(read, Ordering::Relaxed);
        let Ok(mut asked) = self.asked.try_lock() else { return };
        while asked.bytes < self.read.load(Ordering::Relaxed) + LEAD
            && let Some(range) = self.ranges.get(asked.ranges)
        {
            if let Some(store) = stores.get(range.owner) {
                store.prefetch_now(&range.request());
            }
            asked.ranges += 1;
            asked.bytes += range.range.end - range.range.start;
        }
    }
}

fn ranges(plan: &[GroupPlan]) -> impl Iterator<Item = &RangeRead> {
    plan.iter().flat_map(|group| &group.ranges)
}

/// Asks the disk for all ranges of a plan of few bytes, unless they are in the page cache.
pub(super) fn prefetch(stores: &Stores, plan: &[GroupPlan]) {
    if is_cold(stores, plan) {
        Ahead::new(plan).advance(0, stores);
    }
}

/// Whether any of the probed ranges is not in the page cache; `false` for a plan of one request, which needs no prefetch.
fn is_cold(stores: &Stores, plan: &[GroupPlan]) -> bool {
    let count = ranges(plan).count();
    if count < 2 && ranges(plan).all(|range| range.range.end - range.range.start <= ONE_REQUEST) {
        return false;
    }
    let is_cold = |range: &RangeRead| stores.get(range.owner).is_some_and(|store| store.is_cold_now(&range.request()));
    ranges(plan).step_by(count.div_ceil(PROBES)).any(is_cold)
}
