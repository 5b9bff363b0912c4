//! The parsed tails of index segments that a table keeps in memory, up to a number of bytes. `quick_cache` chooses which to evict.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quick_cache::{Weighter, unsync::Cache};

use crate::format::IndexTail;

/// Maximum bytes of the tails that a table keeps in memory.
const MAX_BYTES: u64 = 128 << 20;
/// Bytes in memory for each stored byte of a tail.
const UNFOLDED: u64 = 6;
/// Expected number of tails; determines only the initial capacity of the cache.
const USUAL: usize = 16;

/// The tails of a table that were read, by the numbers of their segments.
pub(in crate::table) struct Tails(Mutex<TailCache>);

/// Tails with their bytes in memory. One shard, because a tail may take a large share of the memory.
type TailCache = Cache<usize, (Arc<IndexTail>, u64), Weight>;

#[derive(Clone)]
struct Weight;

impl Weighter<usize, (Arc<IndexTail>, u64)> for Weight {
    fn weight(&self, _: &usize, (_, bytes): &(Arc<IndexTail>, u64)) -> u64 {
        *bytes
    }
}

impl Default for Tails {
    fn default() -> Self {
        Self(Mutex::new(Cache::with_weighter(USUAL, MAX_BYTES, Weight)))
    }
}

impl Tails {
    /// Returns the tail of a segment, if it is there.
    pub(in crate::table) fn get(&self, segment: usize) -> Option<Arc<IndexTail>> {
        self.lock().get(&segment).map(|(tail, _)| Arc::clone(tail))
    }

    /// Keeps the tail of a segment, which has so many stored bytes.
    pub(in crate::table) fn keep(&self, segment: usize, tail: &Arc<IndexTail>, stored: u64) {
        self.lock().insert(segment, (Arc::clone(tail), stored.saturating_mul(UNFOLDED)));
    }

    /// Drops the tail of a segment.
    pub(in crate::table) fn forget(&self, segment: usize) {
        self.lock().remove(&segment);
    }

    fn lock(&self) -> MutexGuard<'_, TailCache> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
