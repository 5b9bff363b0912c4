//! Reports how far a long change or comparison is, as events of the `tracing` crate at the level `debug`: their target is
//! `tetrys::progress`, and their fields are `what` (the phase), `done` and `total` (its steps, most often rows). Without a
//! subscriber a report costs an atomic addition.

use std::sync::atomic::{AtomicU64, Ordering};

/// A phase of some work. Any thread may add to it.
#[derive(Debug)]
pub(crate) struct Progress {
    what: &'static str,
    total: u64,
    done: AtomicU64,
}

impl Progress {
    /// Begins a phase of so many steps.
    pub(crate) fn new(what: &'static str, total: u64) -> Self {
        let this = Self { what, total, done: AtomicU64::new(0) };
        this.add(0);
        this
    }

    /// Adds steps that are done.
    pub(crate) fn add(&self, steps: u64) {
        let done = self.done.fetch_add(steps, Ordering::Relaxed).saturating_add(steps).min(self.total);
        tracing::debug!(target: "tetrys::progress", what = self.what, done, total = self.total);
    }
}
