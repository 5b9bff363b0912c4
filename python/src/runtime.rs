//! Runs asynchronous work: releases the GIL and stops on Ctrl-C.

use std::{pin::pin, time::Duration};

use pyo3::prelude::*;
use tetrys::blocking::runtime;
use tokio::time::timeout;

use crate::error::{IntoPython, raise};

/// Interval at which a wait checks for Ctrl-C.
const TICK: Duration = Duration::from_millis(50);

/// Runs the work to its end and returns its result. Polls it on this thread, so that a small local read needs no other thread.
pub(crate) fn wait<T: Send>(py: Python<'_>, work: impl Future<Output = tetrys::Result<T>> + Send) -> PyResult<T> {
    wait_with(py, work, raise)
}

/// Does what [`wait`] does, and makes exceptions by `raise`.
pub(crate) fn wait_with<T: Send>(
    py: Python<'_>,
    work: impl Future<Output = tetrys::Result<T>> + Send,
    raise: fn(tetrys::Error) -> PyErr,
) -> PyResult<T> {
    let runtime = runtime().py()?;
    py.detach(|| {
        runtime.block_on(async {
            let mut work = pin!(work);
            loop {
                match timeout(TICK, &mut work).await {
                    Ok(done) => return done.map_err(raise),
                    Err(_) => Python::attach(|py| py.check_signals())?,
                }
            }
        })
    })
}

/// Runs long work on another thread, so that this thread checks for Ctrl-C also while a step of the work computes.
pub(crate) fn wait_long<T: Send + 'static>(
    py: Python<'_>,
    work: impl Future<Output = tetrys::Result<T>> + Send + 'static,
) -> PyResult<T> {
    wait(py, async {
        // If Ctrl-C ends the wait, dropping the set aborts the work.
        let mut tasks = tokio::task::JoinSet::new();
        tasks.spawn(work);
        match tasks.join_next().await {
            Some(Ok(done)) => done,
            Some(Err(error)) => Err(tetrys::Error::internal(format!("a task stopped: {error}"))),
            None => Err(tetrys::Error::internal("no task")),
        }
    })
}

/// Runs work on frames without the GIL.
pub(crate) fn with_frames<T: Send>(py: Python<'_>, work: impl FnOnce() -> tetrys::Result<T> + Send) -> PyResult<T> {
    py.detach(work).py()
}
