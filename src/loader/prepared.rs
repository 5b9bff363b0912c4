//! The first batches of the next epoch, which are read before an epoch ends. A loader and its clones share one place for them, since each
//! epoch may be run by another clone.

use std::{
    fmt,
    mem::forget,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use super::mix::Mix;
use crate::work::{BoundedLock, Executor};

/// Identifies the reads of an epoch: the epoch, what decides its batches, and the runtime that drives the reads.
#[derive(PartialEq)]
pub(super) struct Key {
    executor: Executor,
    epoch: u64,
    seeds: Vec<u64>,
    mix: Option<Mix>,
}

impl Key {
    pub(super) fn new(epoch: u64, seeds: Vec<u64>, mix: Option<Mix>) -> Self {
        Self { executor: Executor::current(), epoch, seeds, mix }
    }
}

/// A place for the reads at the start of an epoch.
pub(super) struct Prepared<R>(Arc<Place<R>>);

struct Place<R> {
    kept: BoundedLock<Option<(Key, R)>>,
    was_used: AtomicBool,
}

impl<R> Prepared<R> {
    /// Notes that an epoch began with reads from here.
    pub(super) fn note_use(&self) {
        self.0.was_used.store(true, Ordering::Relaxed);
    }

    /// Whether an epoch has begun with reads from here: then more of them are expected.
    pub(super) fn was_used(&self) -> bool {
        self.0.was_used.load(Ordering::Relaxed)
    }

    /// Returns the reads of this epoch. Drops those of another one.
    pub(super) fn take(&self, key: &Key) -> Option<R> {
        let kept = self.0.kept.lock()?.take();
        match kept {
            Some((of, run)) if of == *key => Some(run),
            other => {
                drop_or_leave(other);
                None
            }
        }
    }

    /// Keeps the reads of an epoch, in the place of earlier ones.
    pub(super) fn put(&self, key: Key, run: R) {
        drop_or_leave(self.0.kept.lock().and_then(|mut kept| kept.replace((key, run))));
    }

    /// Gives up the place in a forked child, with the reads of the parent.
    pub(super) fn leave(&mut self) {
        let left = std::mem::take(self);
        drop_or_leave(left.0.kept.lock().and_then(|mut kept| kept.take()));
        forget(left);
    }
}

/// Drops reads, unless this process is a forked child and they are its parent's: that would wake threads that do not exist here.
fn drop_or_leave<R>(kept: Option<(Key, R)>) {
    if kept.as_ref().is_some_and(|(key, _)| !key.executor.process.is_current()) {
        forget(kept);
    }
}

impl<R> Clone for Prepared<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R> Default for Prepared<R> {
    fn default() -> Self {
        Self(Arc::new(Place { kept: BoundedLock::default(), was_used: AtomicBool::new(false) }))
    }
}

impl<R> fmt::Debug for Prepared<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").finish_non_exhaustive()
    }
}
