//! The first batches of the next epoch, which are read before an epoch ends. A loader and its clones share one place for them, since each
//! epoch may be run by another clone.

use std::{
    fmt,
    mem::forget,
    sync::{Arc, Mutex},
};

use super::mix::Mix;
use crate::flight::{Lane, lane, patiently};

/// What decides the batches of an epoch, of loaders that share a place; and who reads them.
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
        held.and_then(|(of, run)| (of == *key).then_some(run))
    }

    /// Keeps the reads of an epoch, in the place of earlier ones.
    pub(super) fn put(&self, key: Key, run: R) {
        let before = patiently(&self.0).and_then(|mut held| held.replace((key, run)));
        drop(before);
    }

    /// Forgets the reads, in a forked child: dropping them would wake threads that do not exist here.
    pub(super) fn leave(&mut self) {
        let held = std::mem::take(self);
        if let Some(run) = patiently(&held.0).and_then(|mut held| held.take()) {
            forget(run);
        }
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
