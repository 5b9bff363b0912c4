//! Work that computes: on a blocking thread, with the right to compute, until nobody waits for it any more.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tetrys::{Error, Result};
use tokio::sync::OwnedSemaphorePermit;

/// The right to compute. Work on a blocking thread keeps it until it ends, also when its request is gone.
pub(crate) type Turn = Arc<OwnedSemaphorePermit>;

/// A flag that is set once nobody waits for the work any more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Sets the flag.
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Checks that somebody waits for the work. Call it between parts.
    ///
    /// # Errors
    /// - `Internal`: the request is gone, so nobody sees this error.
    pub(crate) fn check(&self) -> Result<()> {
        match self.0.load(Ordering::Relaxed) {
            true => Err(Error::internal("the work was cancelled: its request is gone")),
            false => Ok(()),
        }
    }
}

/// Sets the flag when it is dropped.
struct Waits(Stop);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Runs work that computes on a blocking thread. After the returned future is dropped, the work ends at its next [`Stop::check`]. The turn
/// lasts until the work ends.
pub(crate) async fn on_blocking_thread<T: Send + 'static>(
    turn: Option<&Turn>,
    work: impl FnOnce(&Stop) -> Result<T> + Send + 'static,
) -> Result<T> {
    let (turn, waits) = (turn.cloned(), Waits(Stop::default()));
    let stop = waits.0.clone();
    let done = tokio::task::spawn_blocking(move || {
        let done = stop.check().and_then(|()| work(&stop));
        drop(turn);
        done
    })
    .await;
    done.map_err(|error| Error::internal(format!("work for the viewer: {error}")))?
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests may panic")]
mod tests {
    use std::sync::mpsc;

    use tokio::sync::Semaphore;

    use super::*;

    #[test]
    fn work_for_nobody_is_told_to_stop_and_keeps_its_turn_until_it_ends() {
        tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
            let turns = Arc::new(Semaphore::new(1));
            let turn: Turn = Arc::new(Arc::clone(&turns).acquire_owned().await.unwrap());
            let (begun, begins) = tokio::sync::oneshot::channel();
            let (end, ends) = mpsc::channel::<()>();
            let (sender, receiver) = tokio::sync::oneshot::channel();
            let waiting = tokio::spawn(async move {
                let work = move |stop: &Stop| {
                    stop.check()?;
                    begun.send(()).unwrap();
                    while stop.check().is_ok() {
                        std::thread::yield_now();
                    }
                    sender.send(()).unwrap();
                    ends.recv().unwrap();
                    Ok(())
                };
                on_blocking_thread(Some(&turn), work).await
            });
            begins.await.unwrap();
            waiting.abort();
            assert!(waiting.await.unwrap_err().is_cancelled());
            receiver.await.unwrap();
            assert_eq!(turns.available_permits(), 0, "the work goes on");
            end.send(()).unwrap();
            let _turn = turns.acquire().await.unwrap();
        });
    }
}
