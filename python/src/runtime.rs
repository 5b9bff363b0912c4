//! Waiting for asynchronous work: without the GIL, ended by Ctrl-C, and after a fork on a runtime of the child's own.

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

/// How often waiting looks for Ctrl-C.
const TICK: Duration = Duration::from_millis(50);

/// The runtime, and the process that it was started in. Its threads do not survive a fork: the child leaves it alone, not even
/// dropping it, and starts its own.
static RUNTIME: Mutex<Option<(u32, &'static Runtime)>> = Mutex::new(None);

/// The process whose thread pool polars has started; 0: none yet.
static FRAMES: AtomicU32 = AtomicU32::new(0);

/// Locked only by threads that hold the GIL, as a fork by Python does: no child inherits it locked.
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

/// What the work gives. The first step runs on this thread, so that a small local read needs no other.
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

/// As [`wait`], for long work: it runs on another thread, since a step that does not wait would not see Ctrl-C.
pub(crate) fn wait_long<T: Send + 'static>(
    py: Python<'_>,
    work: impl Future<Output = tetrys::Result<T>> + Send + 'static,
) -> PyResult<T> {
    wait(py, async {
        // Dropped with the set where Ctrl-C ends the wait.
        let mut tasks = tokio::task::JoinSet::new();
        tasks.spawn(work);
        match tasks.join_next().await {
            Some(Ok(done)) => done,
            Some(Err(error)) => Err(tetrys::Error::internal(format!("a task stopped: {error}"))),
            None => Err(tetrys::Error::internal("no task")),
        }
    })
}

/// Runs work on frames without the GIL. The threads of polars do not survive a fork, and waiting for them would never end.
pub(crate) fn with_frames<T: Send>(py: Python<'_>, work: impl FnOnce() -> tetrys::Result<T> + Send) -> PyResult<T> {
    check_frames().py()?;
    py.detach(work).py()
}

/// # Errors
/// `Unsupported` in the child of a process that has worked with frames.
pub(crate) fn check_frames() -> tetrys::Result<()> {
    let here = process::id();
    match FRAMES.compare_exchange(0, here, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => Ok(()),
        Err(owner) if owner == here => Ok(()),
        Err(owner) => Err(tetrys::Error::unsupported(format!(
            "frames do not survive a fork: process {owner} has used them before it forked this one; make the row loader before the \
             fork (reading rows works here), or start processes by `spawn` or `forkserver`"
        ))),
    }
}
