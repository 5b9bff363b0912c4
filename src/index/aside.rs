//! Work of polars that waits for polars' own runtime, done where no other runtime is in the way.
//!
//! To plan a lazy frame, polars gives the thread back to the tokio runtime that it runs on, and then blocks it. A runtime of one
//! thread has nobody to take over, and panics; so does a `LocalSet`. Inside a runtime such work is therefore done by a thread of
//! its own, which is waited for: a frame in memory takes milliseconds, and starting a thread some tens of microseconds.

use polars::prelude::{DataFrame, LazyFrame, PolarsError, PolarsResult};
use tokio::runtime::Handle;

use crate::threads::elsewhere;

/// The frame that a lazy one gives.
pub(crate) fn collect(frame: LazyFrame) -> PolarsResult<DataFrame> {
    aside(|| frame.collect())
}

/// What `work` gives; on another thread where this one belongs to a runtime.
pub(crate) fn aside<T: Send>(work: impl FnOnce() -> PolarsResult<T> + Send) -> PolarsResult<T> {
    if Handle::try_current().is_err() {
        return work();
    }
    elsewhere("tetrys-frame", work)
        .unwrap_or_else(|error| Err(PolarsError::ComputeError(format!("starting a thread: {error}").into())))
}
