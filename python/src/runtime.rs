//! Runs asynchronous work: releases the GIL, stops on Ctrl-C, and starts a new runtime in a forked child.

use std::{
    pin::pin,
    process,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use pyo3::prelude::*;
use tokio::{
    runtime::{Builder, Runtime},
    time::timeout,
};

use crate::error::{IntoPython, raise};

/// Interval at which a wait checks for Ctrl-C.
const TICK: Duration = Duration::from_millis(50);

/// The runtime, and the process that started it. Its threads do not survive a fork: a child neither uses nor drops the runtime of
/// its parent, and starts its own.
static RUNTIME: Mutex<Option<(u32, &'static Runtime)>> = Mutex::new(None);

/// The process in which polars started its thread pool; 0 before the first use.
static FRAMES: AtomicU32 = AtomicU32::new(0);

/// Returns the runtime of this process. Only threads that hold the GIL lock it, and Python forks with the GIL held, so that no
/// child inherits a locked mutex.
fn runtime(_holds_gil: Python<'_>) -> tetrys::Result<&'static Runtime> {
    let mut held = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    match *held {
        Some((process, runtime)) if process == process::id() => Ok(runtime),
        _ => {
            let built = Builder::new_multi_thread().enable_all().thread_name("tetrys").build();
            let runtime: &'static Runtime = Box::leak(Box::new(built.map_err(tetrys::Error::from)?));
            *held = Some((process::id(), runtime));
            Ok(runtime)
        }
    }
}

/// Runs the work to its end and returns its result. Polls it on this thread, so that a small local read needs no other thread.
pub(crate) fn wait<T: Send>(py: Python<'_>, work: impl Future<Output = tetrys::Result<T>> + Send) -> PyResult<T> {
    let runtime = runtime(py).py()?;
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

/// Runs work on frames without the GIL. The threads of polars do not survive a fork: in a forked child, the work would hang.
pub(crate) fn with_frames<T: Send>(py: Python<'_>, work: impl FnOnce() -> tetrys::Result<T> + Send) -> PyResult<T> {
    check_frames().py()?;
    py.detach(work).py()
}

/// Checks that this process may use frames, and records that it does.
///
/// # Errors
/// - `Unsupported`: this process was forked from one that has used frames.
pub(crate) fn check_frames() -> tetrys::Result<()> {
    let here = process::id();
    match FRAMES.compare_exchange(0, here, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => Ok(()),
        Err(owner) if owner == here => Ok(()),
        Err(owner) => Err(tetrys::Error::unsupported(format!(
            "frames do not survive a fork: process {owner} used frames before it forked this one; make the row loader before the \
             fork (reading rows works here), or start processes with `spawn` or `forkserver`"
        ))),
    }
}
