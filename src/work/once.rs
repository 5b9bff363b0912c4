//! A value that is loaded once: concurrent callers share one load ([`Flight`]). If the load fails, the caller that began the load
//! gets the error or the panic, and the other callers share one more load.

use std::sync::OnceLock;

use futures::future::BoxFuture;

use super::{
    flight::{Executor, Flight, WeakFlight},
    process::BoundedLock,
};
use crate::error::{Error, Result};

/// A value that is loaded on first use.
pub(crate) struct Once<T> {
    value: OnceLock<T>,
    /// The running load. It is cancelled when the last caller that waits for it is dropped.
    load: BoundedLock<Option<(Executor, WeakFlight<T>)>>,
}

impl<T: Clone + Send + Sync + 'static> Once<T> {
    /// Returns the value if it is loaded.
    pub(crate) fn get(&self) -> Option<&T> {
        self.value.get()
    }

    /// Sets the value, unless a value is set already.
    pub(crate) fn set(&self, value: T) {
        let _ = self.value.set(value);
    }

    /// Returns the value. If the value is not loaded and no other caller is loading it, calls `load`.
    ///
    /// # Errors
    /// Errors of `load`.
    pub(crate) async fn get_or_load(&self, load: impl FnOnce() -> BoxFuture<'static, Result<T>>) -> Result<T> {
        if let Some(value) = self.value.get() {
            return Ok(value.clone());
        }
        // Waiters whose shared load failed share one more. If that fails too, each loads alone and gets its own error.
        for _ in 0..2 {
            let Some(shared) = self.join() else {
                return match self.begin(load()).await {
                    Ok(value) => Ok(self.fill(value)),
                    Err(failed) => Err(failed.take().unwrap_or_else(|| Error::internal("a load failed without its error"))),
                };
            };
            if let Ok(value) = shared.await {
                return Ok(self.fill(value));
            }
        }
        Ok(self.fill(load().await?))
    }

    /// Keeps a loaded value, unless another load has finished before. Returns the value that is kept.
    fn fill(&self, value: T) -> T {
        self.value.get_or_init(|| value).clone()
    }

    /// Returns the load that another caller on this executor has begun.
    fn join(&self) -> Option<Flight<T>> {
        let guard = self.load.lock()?;
        let flight = guard.as_ref().filter(|(of, _)| *of == Executor::current()).and_then(|(_, load)| load.upgrade())?;
        // A failed load is over: its remaining holders only read its outcome.
        (!flight.has_failed()).then_some(flight)
    }

    /// Begins a load that others can join.
    fn begin(&self, load: BoxFuture<'static, Result<T>>) -> Flight<T> {
        let flight = Flight::new(load);
        if let Some((mut guard, load)) = self.load.lock().zip(flight.downgrade()) {
            *guard = Some((Executor::current(), load));
        }
        flight
    }
}

impl<T> Default for Once<T> {
    fn default() -> Self {
        Self { value: OnceLock::new(), load: BoundedLock::new(None) }
    }
}

impl<T> From<T> for Once<T> {
    fn from(value: T) -> Self {
        Self { value: value.into(), load: BoundedLock::new(None) }
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Once<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Once").field(&self.value.get()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use futures::{FutureExt, executor::block_on, poll};

    use super::*;

    /// Returns loads that count themselves and yield a few times. Loads with a number below `sound` fail.
    fn loads(count: &Arc<AtomicUsize>, sound: usize) -> impl Fn() -> BoxFuture<'static, Result<usize>> + use<> {
        let count = Arc::clone(count);
        move || {
            let count = Arc::clone(&count);
            async move {
                let number = count.fetch_add(1, Ordering::SeqCst);
                for _ in 0..3 {
                    tokio::task::yield_now().await;
                }
                if number < sound { Err(Error::unavailable("not yet")) } else { Ok(number) }
            }
            .boxed()
        }
    }

    #[test]
    fn a_load_is_shared_whatever_becomes_of_the_caller_that_began_it() {
        block_on(async {
            for is_dropped in [true, false] {
                let (once, count) = (Once::<usize>::default(), Arc::default());
                let load = loads(&count, 0);
                let mut first = Box::pin(once.get_or_load(&load));
                assert!(poll!(&mut first).is_pending());
                let mut second = Box::pin(once.get_or_load(&load));
                assert!(poll!(&mut second).is_pending());
                let first = (!is_dropped).then_some(first);
                assert_eq!((second.await.unwrap(), count.load(Ordering::SeqCst)), (0, 1));
                // A caller that was asleep meanwhile gets the value, and later callers need no load.
                if let Some(first) = first {
                    assert_eq!(first.await.unwrap(), 0);
                }
                assert_eq!((once.get_or_load(&load).await.unwrap(), once.get()), (0, Some(&0)));
                assert_eq!(count.load(Ordering::SeqCst), 1);
            }
            // A load that was dropped without other callers starts again.
            let (once, count) = (Once::<usize>::default(), Arc::default());
            let load = loads(&count, 0);
            let mut first = Box::pin(once.get_or_load(&load));
            assert!(poll!(&mut first).is_pending());
            drop(first);
            assert_eq!(once.get_or_load(&load).await.unwrap(), 1);
        });
    }

    #[test]
    fn an_error_is_that_of_the_caller_that_began_the_load() {
        block_on(async {
            let (once, count) = (Once::<usize>::default(), Arc::default());
            let load = loads(&count, 1);
            let found = futures::future::join_all((0..4).map(|_| once.get_or_load(&load))).await;
            let failed: Vec<bool> = found.iter().map(Result::is_err).collect();
            assert_eq!(failed, [true, false, false, false]);
            assert!(once.get().is_some());
        });
    }

    #[test]
    fn callers_that_stay_end_whatever_fails_panics_or_is_dropped() {
        for seed in 0..150 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            let (once, begun) = (Arc::new(Once::<usize>::default()), Arc::new(AtomicUsize::new(0)));
            // The first loads fail or panic, each after some turns; all later ones succeed.
            let bad: Arc<[bool]> = (0..rng.usize(0..4)).map(|_| rng.bool()).collect();
            let turns = rng.usize(0..12);
            runtime.block_on(async {
                let (mut calls, mut dropped) = (Vec::new(), 0);
                for _ in 0..rng.usize(1..24) {
                    let (once, begun, bad) = (Arc::clone(&once), Arc::clone(&begun), Arc::clone(&bad));
                    calls.push(tokio::spawn(async move {
                        let load = || {
                            async move {
                                let number = begun.fetch_add(1, Ordering::SeqCst);
                                for _ in 0..turns {
                                    tokio::task::yield_now().await;
                                }
                                match bad.get(number) {
                                    Some(true) => panic!("load {number} panics"),
                                    Some(false) => Err(Error::unavailable("not yet")),
                                    None => Ok(number),
                                }
                            }
                            .boxed()
                        };
                        once.get_or_load(load).await
                    }));
                    if rng.u8(0..4) == 0 {
                        tokio::task::yield_now().await;
                        let number = rng.usize(0..calls.len());
                        calls.remove(number).abort();
                        dropped += 1;
                    }
                }
                let (mut values, mut failures) = (Vec::new(), 0);
                for call in calls {
                    let ended = tokio::time::timeout(std::time::Duration::from_secs(60), call).await;
                    match ended.unwrap_or_else(|_| panic!("seed {seed}: a caller waits for ever")) {
                        Ok(Ok(value)) => values.push(value),
                        Ok(Err(_)) | Err(_) => failures += 1,
                    }
                }
                assert!(failures <= bad.len(), "seed {seed}: {failures} callers failed, {} loads were bad", bad.len());
                assert!(values.windows(2).all(|pair| pair[0] == pair[1]), "seed {seed}: several values {values:?}");
                assert!(values.iter().all(|value| *value >= bad.len()), "seed {seed}: {values:?}, {dropped} dropped");
            });
        }
    }

    #[test]
    fn a_load_that_panics_holds_up_no_other_caller() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        runtime.block_on(async {
            let (once, count) = (Arc::new(Once::<usize>::default()), Arc::new(AtomicUsize::new(0)));
            let call = || {
                let (once, count) = (Arc::clone(&once), Arc::clone(&count));
                tokio::spawn(async move {
                    let load = || {
                        async move {
                            let number = count.fetch_add(1, Ordering::SeqCst);
                            for _ in 0..20 {
                                tokio::task::yield_now().await;
                            }
                            assert!(number > 0, "the first load panics");
                            Ok(number)
                        }
                        .boxed()
                    };
                    once.get_or_load(load).await
                })
            };
            let calls: Vec<_> = (0..16).map(|_| call()).collect();
            let mut panics = 0;
            for call in calls {
                match call.await {
                    Ok(value) => assert!(value.unwrap() > 0),
                    Err(error) => panics += usize::from(error.is_panic()),
                }
            }
            assert_eq!(panics, 1);
            assert!(call().await.unwrap().unwrap() > 0);
        });
    }

    #[test]
    fn callers_whose_load_failed_share_the_next_one() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (once, count) = (Once::<usize>::default(), Arc::default());
            let load = loads(&count, 1);
            let answers = futures::future::join_all((0..8).map(|_| once.get_or_load(&load))).await;
            assert_eq!(answers.iter().filter(|answer| answer.is_err()).count(), 1);
            assert_eq!(count.load(Ordering::SeqCst), 2);
        });
    }
}
