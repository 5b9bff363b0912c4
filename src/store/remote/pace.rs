//! How many requests go to a host at a time, and when: the rate control of all stores there.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
    time::Duration,
};

use http::uri::Authority;
use tokio::{sync::Notify, time::Instant};

use crate::{
    machine,
    work::{BoundedLock, Executor},
};

/// Number of concurrent requests: initial and maximum.
const FIRST: f64 = 64.0;
const MOST: f64 = 256.0;
/// Refusals within this time halve the number only once.
const ONE_BURST: Duration = Duration::from_millis(200);

/// Limits the number of concurrent requests to a host: more after each success, half after a burst of refusals.
pub(super) struct Pace {
    state: Mutex<State>,
    freed: Notify,
    /// Whether the host has ever answered.
    pub(super) reached: AtomicBool,
}

struct State {
    limit: f64,
    waiting: usize,
    halved: Option<Instant>,
    /// Until when the host has asked to send nothing.
    paused: Option<Instant>,
}

/// A host as one runtime of one process reaches it.
type Reached = (Executor, Authority);

/// Number of rate controls from which on a new one replaces the oldest that nobody uses.
const KEPT: usize = 256;

/// Returns the rate control of a host, which all stores share that one runtime of this process drives. A runtime that rests sends nothing,
/// so others must not wait for its turns; and in a forked process the requests of its parent never end.
pub(super) fn pace_of(executor: Executor, host: &Authority) -> Arc<Pace> {
    static PACES: BoundedLock<Vec<(Reached, Arc<Pace>)>> = BoundedLock::new(Vec::new());
    let Some(mut paces) = PACES.lock() else { return Arc::new(Pace::new()) };
    if let Some((_, pace)) = paces.iter().find(|((of, name), _)| *of == executor && name == host) {
        return Arc::clone(pace);
    }
    if paces.len() >= KEPT
        && let Some(oldest) = paces.iter().position(|(_, pace)| Arc::strong_count(pace) == 1)
    {
        paces.remove(oldest);
    }
    let pace = Arc::new(Pace::new());
    paces.push(((executor, host.clone()), Arc::clone(&pace)));
    pace
}

pub(super) struct Turn<'a>(&'a Pace);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.lock().waiting -= 1;
        self.0.freed.notify_one();
    }
}

impl Pace {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State { limit: FIRST, waiting: 0, halved: None, paused: None }),
            freed: Notify::new(),
            reached: AtomicBool::new(false),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn, and then until the host wants requests again. Returns also how long that took.
    ///
    /// # Errors
    /// The host wants no request for this time, which is longer than `most`.
    pub(super) async fn turn(&self, most: Duration) -> Result<(Turn<'_>, Duration), Duration> {
        // Whoever stops waiting gives the turn back.
        let (turn, mut paused) = (self.free_turn().await, Duration::ZERO);
        while let Some(until) = self.paused_until() {
            let left = until - machine::timer_now();
            if left > most {
                return Err(left);
            }
            tokio::time::sleep_until(until).await;
            paused += left;
        }
        Ok((turn, paused))
    }

    fn paused_until(&self) -> Option<Instant> {
        self.lock().paused.filter(|until| *until > machine::timer_now())
    }

    async fn free_turn(&self) -> Turn<'_> {
        loop {
            // Created before the check, so that a turn that is freed in between is not missed.
            let freed = self.freed.notified();
            {
                let mut state = self.lock();
                if (state.waiting as f64) < state.limit.floor() {
                    state.waiting += 1;
                    if (state.waiting as f64) < state.limit.floor() {
                        self.freed.notify_one();
                    }
                    return Turn(self);
                }
            }
            freed.await;
        }
    }

    /// Notes a refusal, after which the host wants no request for some time.
    pub(super) fn refused(&self, now: Instant, after: Duration) {
        let mut state = self.lock();
        if !after.is_zero() {
            state.paused = state.paused.max(Some(now + after));
        }
        if state.halved.is_none_or(|last| now - last > ONE_BURST) {
            state.limit = (state.limit / 2.0).max(1.0);
            state.halved = Some(now);
        }
    }

    pub(super) fn answered(&self) {
        let mut state = self.lock();
        state.limit = (state.limit + 1.0 / state.limit).min(MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use std::sync::atomic::{AtomicU64, Ordering};
    use tokio::time::timeout;

    #[tokio::test]
    async fn nothing_is_sent_before_the_time_that_the_host_asks_for() {
        let (pace, begin) = (Pace::new(), machine::timer_now());
        pace.refused(begin, Duration::from_millis(70));
        pace.refused(begin, Duration::from_millis(20));
        let (turn, paused) = pace.turn(Duration::from_secs(9)).await.expect("a turn");
        assert!(paused > Duration::ZERO);
        drop(turn);
        assert!(begin.elapsed() >= Duration::from_millis(70), "{:?}", begin.elapsed());
        assert!(pace.turn(Duration::ZERO).now_or_never().is_some_and(|turn| turn.is_ok()), "the pause is over");
    }

    #[tokio::test]
    async fn a_pause_that_is_too_long_is_an_error_and_who_stops_waiting_gives_the_turn_back() {
        let pace = Pace::new();
        pace.lock().limit = 1.0;
        pace.refused(machine::timer_now(), Duration::from_secs(86_400));
        let left = pace.turn(Duration::from_secs(3600)).await.err().expect("too long");
        assert!(left > Duration::from_secs(86_000), "{left:?}");
        assert!(pace.turn(Duration::from_secs(86_400)).now_or_never().is_none(), "it waits");
        assert_eq!(pace.lock().waiting, 0, "and has given up");
    }

    #[tokio::test]
    async fn a_host_keeps_its_pace_while_nothing_is_sent_and_the_number_of_paces_is_bounded() {
        let host = |name: &str| name.parse::<Authority>().expect("a host");
        let kept = host("kept-host:9000");
        pace_of(Executor::current(), &kept).lock().limit = 7.0;
        assert_eq!(pace_of(Executor::current(), &kept).lock().limit, 7.0);
        let used = pace_of(Executor::current(), &kept);
        (0..3 * KEPT).for_each(|number| drop(pace_of(Executor::current(), &host(&format!("host-{number}:9000")))));
        assert!(Arc::ptr_eq(&used, &pace_of(Executor::current(), &kept)), "one that is used stays");
        drop(used);
        (0..3 * KEPT).for_each(|number| drop(pace_of(Executor::current(), &host(&format!("other-{number}:9000")))));
        assert_eq!(pace_of(Executor::current(), &kept).lock().limit, FIRST, "one that nobody uses goes at last");
    }

    #[test]
    fn refusals_halve_the_pace_once_a_burst_and_successes_raise_it() {
        let (pace, now) = (Pace::new(), Instant::now());
        (0..10).for_each(|_| pace.refused(now, Duration::ZERO));
        assert_eq!(pace.lock().limit, 32.0);
        (1..20).for_each(|burst| pace.refused(now + ONE_BURST * 2 * burst, Duration::ZERO));
        assert_eq!(pace.lock().limit, 1.0);
        (0..100_000).for_each(|_| pace.answered());
        assert_eq!(pace.lock().limit, MOST);
    }

    #[tokio::test]
    async fn no_more_wait_than_the_pace_allows_and_all_get_their_turn() {
        let pace = Pace::new();
        pace.lock().limit = 3.0;
        let most = AtomicU64::new(0);
        let jobs = (0..200).map(|_| async {
            let _turn = pace.turn(Duration::ZERO).await;
            let now = pace.lock().waiting as u64;
            most.fetch_max(now, Ordering::Relaxed);
            tokio::task::yield_now().await;
        });
        timeout(Duration::from_secs(600), futures::future::join_all(jobs)).await.expect("nobody waits for ever");
        assert_eq!((most.into_inner(), pace.lock().waiting), (3, 0));
    }
}
