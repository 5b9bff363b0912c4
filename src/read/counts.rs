//! Counts of what the reads of a loader planned, and of what they sent to the stores.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use super::plan::ReadPlan;
use crate::store::Sent;

/// Counts the requests and bytes that the reads of a loader and its clones planned and sent.
#[derive(Debug, Default)]
pub struct ReadCounts {
    requests: AtomicU64,
    bytes: AtomicU64,
    blocks: AtomicU64,
    cached_blocks: AtomicU64,
    sent: Arc<Sent>,
}

/// The values of [`ReadCounts`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Requests that the read plans name: for all blocks that are not in the block cache.
    pub planned_requests: u64,
    /// Bytes of these requests.
    pub planned_bytes: u64,
    /// Requests that were sent. A cache answers some that were planned, and reads share others.
    pub requests: u64,
    /// Bytes of these requests.
    pub bytes: u64,
    /// Blocks that were needed.
    pub blocks: u64,
    /// Blocks of these that were in the block cache.
    pub cached_blocks: u64,
}

impl ReadCounts {
    /// Adds a plan.
    pub fn add(&self, plan: &ReadPlan) {
        for group in &plan.groups {
            let (requests, bytes) = group.requests();
            self.requests.fetch_add(requests as u64, Ordering::Relaxed);
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
            self.blocks.fetch_add(group.blocks.len() as u64, Ordering::Relaxed);
            self.cached_blocks.fetch_add((group.blocks.len() - group.blocks_read()) as u64, Ordering::Relaxed);
        }
    }

    /// Returns the counts of what is sent: handles of stores add to them.
    pub(crate) fn sent(&self) -> &Arc<Sent> {
        &self.sent
    }

    /// Returns the counts.
    pub fn get(&self) -> Counted {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (requests, bytes) = self.sent.get();
        Counted {
            planned_requests: of(&self.requests),
            planned_bytes: of(&self.bytes),
            requests,
            bytes,
            blocks: of(&self.blocks),
            cached_blocks: of(&self.cached_blocks),
        }
    }
}
