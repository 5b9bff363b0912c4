//! Runs long work off the executor: on the runtime's blocking pool, or on a new thread if there is no runtime. Meanwhile the
//! caller's thread runs other futures.
//!
//! Dropping the future of such work sets a flag. The work checks the flag between its steps and ends early.

use std::{
    future::poll_fn,
    panic::resume_unwind,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
    thread,
};

use tokio::{runtime::Handle, sync::oneshot};

use crate::{
    error::{Error, Result},
    machine,
};

/// A flag that is set once no caller waits for the work any more. By default there is none: the caller itself does the work.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Option<Arc<AtomicBool>>);

impl Stop {
    /// Checks that a caller still waits for the work.
    ///
    /// # Errors
    /// - `Internal`: the future of the work was dropped. No caller sees this error.
    pub(crate) fn check(&self) -> Result<()> {
        match self.0.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            true => Err(Error::internal("the work was cancelled: its future was dropped")),
            false => Ok(()),
        }
    }
}

/// Sets the flag when dropped.
struct Waits(Stop);

impl Drop for Waits {
    fn drop(&mut self) {
        if let Some(flag) = &self.0.0 {
            flag.store(true, Ordering::Relaxed);
        }
    }
}

/// Runs `work` off the executor. After the returned future is dropped, the work ends at its next [`Stop::check`].
///
/// # Errors
/// - `Unavailable`: the runtime shuts down, or the system cannot start a thread.
/// - Errors of `work`.
pub(crate) async fn offload<T: Send + 'static>(work: impl FnOnce(&Stop) -> Result<T> + Send + 'static) -> Result<T> {
    if !machine::has_threads() {
        return work(&Stop::default());
    }
    let waits = Waits(Stop(Some(Arc::default())));
    let stop = waits.0.clone();
    let work = move || away(|| stop.check().and_then(|()| work(&stop)));
    if let Ok(runtime) = Handle::try_current() {
        return on_pool(&runtime, work).await;
    }
    let (done, answer) = oneshot::channel();
    // Sending fails if the future was dropped; nothing is left to do then.
    let started = thread::Builder::new().name("tetrys-read".to_owned()).spawn(move || drop(done.send(work())));
    let started = started.map_err(|error| Error::from(error).at("starting a thread"))?;
    match answer.await {
        Ok(done) => done,
        // The thread panicked and is about to end.
        Err(_) => match started.join() {
            Err(panic) => resume_unwind(panic),
            Ok(()) => Err(Error::internal("a worker thread ended without a result")),
        },
    }
}

/// Runs `work` where blocking is allowed: on the blocking pool of the runtime, or on this thread if there is no runtime.
///
/// # Errors
/// - `Unavailable`: the runtime shuts down.
/// - Errors of `work`.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match Handle::try_current() {
        Ok(runtime) if machine::has_threads() => on_pool(&runtime, work).await,
        _ => work(),
    }
}

async fn on_pool<T: Send + 'static>(runtime: &Handle, work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match runtime.spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
        Err(_) => Err(Error::unavailable("the runtime is shutting down")),
    }
}

#[cfg(debug_assertions)]
thread_local! {
    /// Whether this thread does work that was offloaded.
    static IS_AWAY: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// In builds with assertions: checks that work on so many bytes does not hold an executor.
pub(crate) fn check_away(bytes: usize) {
    #[cfg(debug_assertions)]
    {
        let holds_executor = || machine::has_threads() && Handle::try_current().is_ok() && !IS_AWAY.get();
        assert!(
            bytes <= SMALL || !holds_executor(),
            "work on {} holds the executor: use `offload_large`",
            crate::error::counted(bytes, "byte")
        );
    }
    #[cfg(not(debug_assertions))]
    let _ = bytes;
}

/// Does work that was offloaded.
fn away<T>(work: impl FnOnce() -> T) -> T {
    #[cfg(debug_assertions)]
    IS_AWAY.set(true);
    let done = work();
    #[cfg(debug_assertions)]
    IS_AWAY.set(false);
    done
}

/// Bytes of work up to which the caller's thread does the work: decoding or encoding so many bytes takes about a millisecond.
pub(crate) const SMALL: usize = 256 << 10;

/// Runs work on `bytes` bytes: on this thread if they are at most [`SMALL`], else off the executor.
///
/// # Errors
/// - `Unavailable`: the runtime shuts down, or the system cannot start a thread.
/// - Errors of `work`.
pub(crate) async fn offload_large<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce(&Stop) -> Result<T> + Send + 'static,
) -> Result<T> {
    if bytes <= SMALL { work(&Stop::default()) } else { offload(work).await }
}

/// Computes the next item of an iterator off the executor. Returns the item and the iterator.
///
/// # Errors
/// - `Unavailable`: the runtime shuts down, or the system cannot start a thread.
pub(crate) async fn next_of<I>(mut items: I) -> Result<(Option<I::Item>, I)>
where
    I: Iterator<Item: Send> + Send + 'static,
{
    offload(move |_| Ok((items.next(), items))).await
}

/// Lets the executor run other futures before the caller continues.
pub(crate) async fn yield_now() {
    let mut yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use std::{panic, sync::mpsc, time::Duration};

    use futures::{FutureExt, executor::block_on};
    use tokio::runtime::Builder;

    use super::*;

    #[test]
    fn work_leaves_the_calling_thread_with_and_without_a_runtime() {
        let here = thread::current().id();
        let away = || offload(|_| Ok(thread::current().id()));
        let runtime = Builder::new_current_thread().build().expect("a runtime");
        assert_ne!(runtime.block_on(away()).expect("done"), here);
        assert_ne!(block_on(away()).expect("done"), here);
        assert_eq!(
            block_on(offload(|_| Err::<(), _>(Error::invalid("no")))).map_err(|error| error.kind()),
            Err(crate::ErrorKind::Invalid)
        );
        let panics = || block_on(offload(|_| -> Result<()> { panic!("seven") }));
        assert!(panic::catch_unwind(panics).is_err());
    }

    #[test]
    fn work_that_nobody_waits_for_is_told_so() {
        let runtime = Builder::new_current_thread().build().expect("a runtime");
        let (sender, receiver) = mpsc::channel();
        let endless = || {
            let sender = sender.clone();
            Box::pin(offload(move |stop: &Stop| {
                let _ = sender.send("begun");
                while stop.check().is_ok() {
                    thread::sleep(Duration::from_millis(1));
                }
                let _ = sender.send("ended");
                Ok(())
            }))
        };
        let next = || receiver.recv_timeout(Duration::from_secs(60));
        for inside in [Some(runtime), None] {
            let _entered = inside.as_ref().map(tokio::runtime::Runtime::enter);
            let mut work = endless();
            assert!((&mut work).now_or_never().is_none());
            assert_eq!(next(), Ok("begun"));
            drop(work);
            assert_eq!(next(), Ok("ended"));
        }
    }

    #[test]
    fn yielding_lets_others_run_first() {
        let order = std::cell::RefCell::new(Vec::new());
        let one = async {
            order.borrow_mut().push(1);
            yield_now().await;
            order.borrow_mut().push(3);
        };
        let two = async { order.borrow_mut().push(2) };
        block_on(futures::future::join(one, two));
        assert_eq!(order.into_inner(), [1, 2, 3]);
    }
}
