//! The time, random ids, and threads for long work. Commits, changes and collections get them here, so a simulator can replace them.

use std::{
    cell::Cell,
    marker::PhantomData,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use uuid::{Builder, Uuid};

thread_local! {
    static SIMULATED: Cell<Option<Simulated>> = const { Cell::new(None) };
}

#[derive(Clone, Copy)]
struct Simulated {
    seed: u64,
    /// Number of ids so far.
    ids: u64,
    began: Instant,
    passed: Duration,
}

/// A simulated machine. As long as it lives, this thread gets the time and random ids from it, and does long work itself instead of
/// handing it to others. So a run depends on the seed alone, and on the order in which the test polls its futures.
///
/// ```
/// use std::time::Duration;
/// use tetrys::machine::{Simulation, now, new_id};
/// let ids = || {
///     let machine = Simulation::start(7);
///     let before = now();
///     machine.pass(Duration::from_secs(60));
///     assert_eq!(now() - before, Duration::from_secs(60));
///     [new_id(), new_id()]
/// };
/// assert_eq!(ids(), ids());
/// ```
#[derive(Debug)]
pub struct Simulation(PhantomData<*const ()>);

#[cfg_attr(not(feature = "unstable"), expect(dead_code, reason = "tests start it"))]
impl Simulation {
    /// Starts to simulate.
    pub fn start(seed: u64) -> Self {
        SIMULATED.set(Some(Simulated { seed, ids: 0, began: Instant::now(), passed: Duration::ZERO }));
        Self(PhantomData)
    }

    /// Lets time pass.
    pub fn pass(&self, time: Duration) {
        SIMULATED.set(SIMULATED.get().map(|machine| Simulated { passed: machine.passed + time, ..machine }));
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        SIMULATED.set(None);
    }
}

/// Returns the time of the clock that is never set.
pub fn now() -> Instant {
    SIMULATED.get().map_or_else(Instant::now, |machine| machine.began + machine.passed)
}

/// Returns the time of that clock for timers, which stands still where a test of tokio says so.
pub(crate) fn timer_now() -> tokio::time::Instant {
    tokio::time::Instant::now()
}

/// Returns the time of day, by the clock of this machine, which may be wrong.
pub(crate) fn time_of_day() -> SystemTime {
    SIMULATED.get().map_or_else(SystemTime::now, |machine| UNIX_EPOCH + machine.passed)
}

/// Returns the time of this machine in milliseconds since 1970-01-01T00:00Z, for `now` of
/// [`Storage::plan_garbage`](crate::table::Storage::plan_garbage).
pub fn now_ms() -> i64 {
    let since = time_of_day().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Returns an id that no other call returns: 122 random bits.
pub fn new_id() -> Uuid {
    let Some(machine) = SIMULATED.get() else { return Uuid::new_v4() };
    SIMULATED.set(Some(Simulated { ids: machine.ids + 1, ..machine }));
    let drawn = blake3::hash(&[machine.seed.to_le_bytes(), machine.ids.to_le_bytes()].concat());
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(drawn.as_bytes()).for_each(|(byte, drawn)| *byte = *drawn);
    Builder::from_random_bytes(bytes).into_uuid()
}

/// Returns a random number from 0 up to 1.
pub(crate) fn share() -> f64 {
    f64::from(new_id().as_u128() as u32) / f64::from(u32::MAX)
}

/// Whether long work may go to other threads.
pub(crate) fn has_threads() -> bool {
    SIMULATED.get().is_none()
}
