//! The first batches of the next epoch, which are read before an epoch ends. A loader and its clones share one place for them, since each
//! epoch may be run by another clone.

use std::{
    fmt,
    mem::forget,
    process,
    sync::{Arc, Mutex},
};

use super::mix::Mix;
use crate::flight::{Lane, lane, patiently};

/// Identifies the reads of an epoch: the epoch, what decides its batches, and the runtime that drives the reads.
#[derive(PartialEq)]
pub(super) struct Key {
    lane: Lane,
    epoch: u64,
    seeds: Vec<u64>,
    mix: Option<Mix>,
}

impl Key {
    pub(super) fn new(epoch: u64, seeds: Vec<u64>, mix: Option<Mix>) -> Self {
        Self { lane: lane(), epoch, seeds, mix }
    }
}

/// A place for the reads at the start of an epoch.
pub(super) struct Prepared<R>(Arc<Mutex<Option<(Key, R)>>>);

impl<R> Prepared<R> {
    /// Returns the reads of this epoch. Drops those of another one.
    pub(super) fn take(&self, key: &Key) -> Option<R> {
        let held = patiently(&self.0)?.take();
        match held {
            Some((of, run)) if of == *key => Some(run),
            other => {
                drop_or_leave(other);
                None
            }
        }
    }

    /// Keeps the reads of an epoch, in the place of earlier ones.
    pub(super) fn put(&self, key: Key, run: R) {
        drop_or_leave(patiently(&self.0).and_then(|mut held| held.replace((key, run))));
    }

    /// Gives up the place in a forked child, with the reads of the parent.
    pub(super) fn leave(&mut self) {
        let held = std::mem::take(self);
        drop_or_leave(patiently(&held.0).and_then(|mut held| held.take()));
        forget(held);
    }
}

/// Drops reads, unless this process is a forked child and they are its parent's: that would wake threads that do not exist here.
fn drop_or_leave<R>(held: Option<(Key, R)>) {
    if held.as_ref().is_some_and(|(key, _)| key.lane.0 != process::id()) {
        forget(held);
    }
}

impl<R> Clone for Prepared<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R> Default for Prepared<R> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<R> fmt::Debug for Prepared<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").finish_non_exhaustive()
    }
}
