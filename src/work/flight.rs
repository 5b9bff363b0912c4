//! A load that several callers share: concurrent readers of the same object wait for one load, and each of them can drive that
//! load to its end. So a reader that began the load and is never polled again blocks no other reader.
//!
//! Only callers in one runtime share a load ([`Executor`]): a connection makes no progress without its runtime, and after a fork the
//! threads of the parent are gone. Errors and panics are not shared: the caller that began the load gets them.

use std::{
    any::Any,
    collections::BTreeMap,
    panic::{AssertUnwindSafe, resume_unwind},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Waker},
};

use futures::{
    FutureExt,
    future::{BoxFuture, Shared, WeakShared},
};
use tokio::runtime::{Handle, Id};

use super::process::{BoundedLock, Process};
use crate::error::{Error, Result};

/// The process and the runtime that drive a future.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Executor {
    pub(crate) process: Process,
    runtime: Option<Id>,
}

impl Executor {
    /// Returns the executor of the caller.
    pub(crate) fn current() -> Self {
        Self { process: Process::current(), runtime: Handle::try_current().ok().map(|runtime| runtime.id()) }
    }
}

/// The reason why a load failed. The first caller of [`Failed::take`] gets the reason.
#[derive(Clone)]
pub(crate) struct Failed(Arc<Mutex<Option<Reason>>>);

enum Reason {
    Error(Error),
    Panic(Box<dyn Any + Send>),
}

impl Failed {
    fn new(reason: Reason) -> Self {
        Self(Arc::new(Mutex::new(Some(reason))))
    }

    /// Returns the error, unless another caller has taken it.
    ///
    /// # Panics
    /// Resumes the panic of the load if the load panicked.
    pub(crate) fn take(&self) -> Option<Error> {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).take()? {
            Reason::Error(error) => Some(error),
            Reason::Panic(panic) => resume_unwind(panic),
        }
    }
}

/// The outcome of a load.
pub(crate) type Outcome<T> = std::result::Result<T, Failed>;
type Load<T> = Shared<BoxFuture<'static, Outcome<T>>>;

/// A caller's handle to a shared load. The load is cancelled when its last handle is dropped.
///
/// `Shared` alone can lose a wake-up: it wakes all callers at once, and the first one to poll drives the load. A second caller
/// that polls meanwhile goes back to sleep. If the first caller is then dropped, nobody wakes the second. So a handle that is
/// dropped before the load is over wakes the others.
pub(crate) struct Flight<T> {
    load: Load<T>,
    waiting: Arc<BoundedLock<Waiting>>,
    /// The number of this handle in [`Waiting`]; set by the first poll.
    key: Option<u64>,
}

/// The callers that were polled and have no outcome yet.
#[derive(Default)]
struct Waiting {
    /// Number of polls so far.
    polls: u64,
    /// For each handle, by the number of its first poll: the number of its last poll, and its waker.
    wakers: BTreeMap<u64, (u64, Waker)>,
}

impl<T: Clone + Send + Sync + 'static> Flight<T> {
    /// Creates a load. The first poll of a handle starts it.
    pub(crate) fn new(load: BoxFuture<'static, Result<T>>) -> Self {
        // `Shared` wakes nobody after a panic, so a panic is an outcome like any other.
        let outcome = |loaded: std::thread::Result<Result<T>>| match loaded {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(Failed::new(Reason::Error(error))),
            Err(panic) => Err(Failed::new(Reason::Panic(panic))),
        };
        Self::of(AssertUnwindSafe(load).catch_unwind().map(outcome).boxed().shared(), Arc::default())
    }
}

impl<T> Flight<T> {
    fn of(load: Load<T>, waiting: Arc<BoundedLock<Waiting>>) -> Self {
        Self { load, waiting, key: None }
    }

    /// Returns a reference that does not keep the load alive; `None` if this handle has returned its outcome.
    pub(crate) fn downgrade(&self) -> Option<WeakFlight<T>> {
        Some(WeakFlight { load: self.load.downgrade()?, waiting: Arc::clone(&self.waiting) })
    }
}

impl<T: Clone> Flight<T> {
    /// Whether the load is over and gave no value.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.load.peek(), Some(Err(_)))
    }
}

impl<T> Clone for Flight<T> {
    fn clone(&self) -> Self {
        Self::of(self.load.clone(), Arc::clone(&self.waiting))
    }
}

impl<T: Clone> Future for Flight<T> {
    type Output = Outcome<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        // Registered before the load is polled: a handle that is dropped from here on wakes this one.
        let stamp = this.waiting.lock().map(|mut waiting| {
            waiting.polls += 1;
            let stamp = waiting.polls;
            let before = waiting.wakers.insert(*this.key.get_or_insert(stamp), (stamp, context.waker().clone()));
            // The lock is given back before a waker is dropped, which may run other code.
            drop(waiting);
            drop(before);
            stamp
        });
        let polled = this.load.poll_unpin(context);
        if polled.is_pending()
            && let Some(stamp) = stamp
            && let Some(waiting) = this.waiting.lock()
        {
            // Handles that were polled meanwhile found the load busy and went to sleep. This one may never be polled again.
            let busy = waiting.wakers.values().filter(|(other, _)| *other > stamp).map(|(_, waker)| waker.clone());
            let busy: Vec<Waker> = busy.collect();
            drop(waiting);
            busy.into_iter().for_each(Waker::wake);
        }
        polled
    }
}

impl<T> Drop for Flight<T> {
    fn drop(&mut self) {
        let Some(key) = self.key else { return };
        let Some(mut waiting) = self.waiting.lock() else { return };
        let own = waiting.wakers.remove(&key);
        let others = match self.load.peek() {
            None if self.load.strong_count().is_some() => std::mem::take(&mut waiting.wakers),
            _ => BTreeMap::new(),
        };
        drop(waiting);
        drop(own);
        others.into_values().for_each(|(_, waker)| waker.wake());
    }
}

/// A reference to a load that does not keep the load alive.
pub(crate) struct WeakFlight<T> {
    load: WeakShared<BoxFuture<'static, Outcome<T>>>,
    waiting: Arc<BoundedLock<Waiting>>,
}

impl<T> WeakFlight<T> {
    /// Returns a handle to the load if the load still has one.
    pub(crate) fn upgrade(&self) -> Option<Flight<T>> {
        Some(Flight::of(self.load.upgrade()?, Arc::clone(&self.waiting)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::task::{ArcWake, waker};

    use super::*;

    /// Counts how often it is woken.
    #[derive(Default)]
    struct Counter(AtomicUsize);

    impl ArcWake for Counter {
        fn wake_by_ref(this: &Arc<Self>) {
            this.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_caller_that_is_dropped_after_it_took_the_wake_up_hands_it_on() {
        let second: Arc<Mutex<Option<Flight<u8>>>> = Arc::default();
        let woken = Arc::new(Counter::default());
        let mut polls = 0;
        let load = {
            let (second, woken) = (Arc::clone(&second), Arc::clone(&woken));
            futures::future::poll_fn(move |context| {
                polls += 1;
                if polls > 1 {
                    return Poll::Ready(Ok(7));
                }
                // The event comes while the first caller polls: all are woken. The second polls and finds the load being polled.
                context.waker().wake_by_ref();
                let waker = waker(Arc::clone(&woken));
                let mut second = second.lock().unwrap();
                assert!(second.as_mut().unwrap().poll_unpin(&mut Context::from_waker(&waker)).is_pending());
                Poll::Pending
            })
        };
        let mut first = Flight::new(load.boxed());
        *second.lock().unwrap() = Some(first.clone());
        let waker_of_first = waker(Arc::new(Counter::default()));
        assert!(first.poll_unpin(&mut Context::from_waker(&waker_of_first)).is_pending());
        let before = woken.0.load(Ordering::SeqCst);
        drop(first);
        assert_eq!(woken.0.load(Ordering::SeqCst), before + 1, "the second caller would sleep for ever");
        let waker = waker(woken);
        let mut second = second.lock().unwrap().take().unwrap();
        let Poll::Ready(Ok(7)) = second.poll_unpin(&mut Context::from_waker(&waker)) else { panic!("no value") };
    }

    #[test]
    fn the_reason_of_a_failed_load_is_taken_once() {
        let flight = Flight::<u8>::new(async { Err(Error::unavailable("not yet")) }.boxed());
        let late = flight.clone();
        let failed = futures::executor::block_on(flight).unwrap_err();
        assert!(late.has_failed());
        assert!(failed.take().unwrap().to_string().contains("not yet"));
        assert!(futures::executor::block_on(late).unwrap_err().take().is_none());
    }

    #[test]
    fn a_panic_of_a_load_is_the_panic_of_whoever_takes_it() {
        let flight = Flight::<u8>::new(async { panic!("the load panics") }.boxed());
        let Err(failed) = futures::executor::block_on(flight) else { panic!("a value") };
        let panic = std::panic::catch_unwind(AssertUnwindSafe(|| failed.take())).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"the load panics"));
    }
}
