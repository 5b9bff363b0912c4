//! Counts what a reader really sends: requests to a remote store, or reads of local files. What a cache answers is not sent.

use std::sync::atomic::{AtomicU64, Ordering};

/// The requests that the reads of some handles of stores sent. A request that the backend repeats after a failure counts once.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    requests: AtomicU64,
    bytes: AtomicU64,
}

impl Sent {
    /// Adds a request for this number of bytes.
    pub(super) fn add(&self, bytes: u64) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns the number of requests, and their bytes.
    pub(crate) fn get(&self) -> (u64, u64) {
        (self.requests.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }
}
