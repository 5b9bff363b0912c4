//! Counts of what the reads of a loader asked for.

use std::sync::atomic::{AtomicU64, Ordering};

use super::plan::{BlockBytes, ReadPlan};
use crate::store::range_parts;

/// What the reads of a loader asked for, for all its clones together.
#[derive(Debug, Default)]
pub struct ReadCounts {
    requests: AtomicU64,
    bytes: AtomicU64,
    blocks: AtomicU64,
    cached_blocks: AtomicU64,
}

/// The values of [`ReadCounts`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Requests to the stores; a request that two reads share counts for both.
    pub requests: u64,
    /// Bytes of these requests.
    pub bytes: u64,
    /// Blocks that were needed.
    pub blocks: u64,
    /// Blocks of these that were in the block cache.
    pub cached_blocks: u64,
}

impl ReadCounts {
    /// Adds the reads of a plan.
    pub fn add(&self, plan: &ReadPlan) {
        for group in &plan.groups {
            let lengths = || group.ranges.iter().map(|range| range.range.end - range.range.start);
            let cached = group.blocks.iter().filter(|block| matches!(block.bytes, BlockBytes::Cached)).count();
            self.requests.fetch_add(lengths().map(range_parts).sum::<usize>() as u64, Ordering::Relaxed);
            self.bytes.fetch_add(lengths().sum(), Ordering::Relaxed);
            self.blocks.fetch_add(group.blocks.len() as u64, Ordering::Relaxed);
            self.cached_blocks.fetch_add(cached as u64, Ordering::Relaxed);
        }
    }

    /// Returns the counts.
    pub fn get(&self) -> Counted {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let Self { requests, bytes, blocks, cached_blocks } = self;
        Counted { requests: of(requests), bytes: of(bytes), blocks: of(blocks), cached_blocks: of(cached_blocks) }
    }
}
