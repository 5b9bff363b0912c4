//! The parsed tails of index segments that a table keeps in memory, up to a number of bytes.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use crate::format::IndexTail;

/// Maximum bytes of the tails that a table keeps in memory.
const MAX_HELD: u64 = 128 << 20;
/// Bytes in memory for each stored byte of a tail.
const UNFOLDED: u64 = 6;

/// The tails of a table that were read, by the numbers of their segments. The oldest are dropped first.
#[derive(Default)]
pub(super) struct Tails(Mutex<HeldTails>);

#[derive(Default)]
struct HeldTails {
    tails: BTreeMap<usize, (Arc<IndexTail>, u64)>,
    oldest: VecDeque<usize>,
    bytes: u64,
}

impl Tails {
    /// Returns the tail of a segment, if it is there.
    pub(super) fn get(&self, segment: usize) -> Option<Arc<IndexTail>> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.tails.get(&segment).map(|(tail, _)| Arc::clone(tail))
    }

    /// Keeps the tail of a segment, which has so many stored bytes.
    #[cfg(feature = "frame")]
    pub(super) fn keep(&self, segment: usize, tail: &Arc<IndexTail>, stored: u64) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = stored.saturating_mul(UNFOLDED);
        if held.tails.insert(segment, (Arc::clone(tail), bytes)).is_some() {
            return;
        }
        held.oldest.push_back(segment);
        held.bytes += bytes;
        while held.bytes > MAX_HELD
            && let Some(oldest) = held.oldest.pop_front()
        {
            let dropped = held.tails.remove(&oldest);
            held.bytes -= dropped.map_or(0, |(_, bytes)| bytes);
        }
    }

    /// Drops the tail of a segment.
    #[cfg(feature = "frame")]
    pub(super) fn forget(&self, segment: usize) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let dropped = held.tails.remove(&segment);
        held.bytes -= dropped.map_or(0, |(_, bytes)| bytes);
        held.oldest.retain(|held| *held != segment);
    }
}
