//! Runs polars work that waits for polars' own runtime on a thread outside of any other runtime.
//!
//! To plan a lazy frame, polars calls `block_in_place` of the tokio runtime on whose thread it runs, and then blocks. A
//! single-threaded runtime and a `LocalSet` panic there. Inside a runtime this file therefore runs such work on a new thread and
//! waits for it. A frame in memory takes milliseconds, and starting a thread takes some tens of microseconds.

use polars::prelude::{DataFrame, LazyFrame, PolarsError, PolarsResult};
use tokio::runtime::Handle;

use crate::threads::elsewhere;

/// Collects a lazy frame.
pub(crate) fn collect(frame: LazyFrame) -> PolarsResult<DataFrame> {
    aside(|| frame.collect())
}

/// Runs `work`, on a new thread if this thread belongs to a runtime.
pub(crate) fn aside<T: Send>(work: impl FnOnce() -> PolarsResult<T> + Send) -> PolarsResult<T> {
    if Handle::try_current().is_err() {
        return work();
    }
    elsewhere("tetrys-frame", work)
        .unwrap_or_else(|error| Err(PolarsError::ComputeError(format!("starting a thread: {error}").into())))
}
