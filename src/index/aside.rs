//! Work of polars that waits for polars' own runtime, done where no other runtime is in the way.
//!
//! To plan a lazy frame, polars gives the thread back to the tokio runtime that it runs on, and then blocks it. A runtime of one
//! thread has nobody to take over, and panics; so does a `LocalSet`. Inside a runtime such work is therefore done by a thread of
//! its own, which is waited for: a frame in memory takes milliseconds, and starting a thread some tens of microseconds.

use std::{panic::resume_unwind, thread};

use polars::prelude::{DataFrame, LazyFrame, PolarsError, PolarsResult};
use tokio::runtime::Handle;

/// The frame that a lazy one gives.
pub(crate) fn collect(frame: LazyFrame) -> PolarsResult<DataFrame> {
    aside(|| frame.collect())
}

/// What `work` gives; on another thread where this one belongs to a runtime.
pub(crate) fn aside<T: Send>(work: impl FnOnce() -> PolarsResult<T> + Send) -> PolarsResult<T> {
    if Handle::try_current().is_err() {
        return work();
    }
    thread::scope(|scope| {
        let started = thread::Builder::new().name("tetrys-frame".to_owned()).spawn_scoped(scope, work);
        let started = started.map_err(|error| PolarsError::ComputeError(format!("starting a thread: {error}").into()))?;
        started.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}
