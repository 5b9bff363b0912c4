//! Runs polars work that waits for polars' own threads, on a thread of its own.
//!
//! To plan a lazy frame, polars calls `block_in_place` of the tokio runtime on whose thread it runs, and then blocks. A
//! single-threaded runtime and a `LocalSet` panic there. polars also calls itself for each level of an expression. So this file runs
//! such work on a new thread outside of any runtime, with a large stack, and waits for it. A frame in memory takes milliseconds, and
//! starting a thread takes some tens of microseconds.
//!
//! The threads of polars do not survive a fork. In a child of a process that used them, polars would wait for ever;
//! [`check_process`] returns an error there.

use std::sync::atomic::{AtomicU32, Ordering};

use polars::prelude::{DataFrame, LazyFrame, PolarsError, PolarsResult};

use crate::{
    error::{Error, Result},
    work::{Process, elsewhere_with},
};

/// Bytes of the stack of such a thread. The system gives memory to the pages that are used.
const STACK: usize = 256 << 20;

/// The process that used polars' threads first; 0 before that.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Checks that polars' threads are there in this process, and records that it uses them.
///
/// # Errors
/// - `Unsupported`: this process was forked from one that has used them.
pub(crate) fn check_process() -> Result<()> {
    let here = Process::current().id();
    match OWNER.compare_exchange(0, here, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => Ok(()),
        Err(owner) if owner == here => Ok(()),
        Err(owner) => Err(Error::unsupported(format!(
            "frames do not survive a fork: process {owner} used frames before it forked this one; make the row loader before the \
             fork (reading rows works here), or start processes with `spawn` or `forkserver`"
        ))),
    }
}

/// Runs `work` on a new thread with a large stack.
///
/// # Errors
/// - `Unavailable`: the system cannot start a thread.
/// - Errors of `work`.
pub(super) fn on_large_stack<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    elsewhere_with("tetrys-frame", STACK, work).unwrap_or_else(|error| Err(Error::from(error).at("starting a thread")))
}

/// Collects a lazy frame.
pub(crate) fn collect(frame: LazyFrame) -> PolarsResult<DataFrame> {
    aside(|| frame.collect())
}

/// Runs `work` on a new thread with a large stack.
pub(crate) fn aside<T: Send>(work: impl FnOnce() -> PolarsResult<T> + Send) -> PolarsResult<T> {
    elsewhere_with("tetrys-frame", STACK, work)
        .unwrap_or_else(|error| Err(PolarsError::ComputeError(format!("starting a thread: {error}").into())))
}
