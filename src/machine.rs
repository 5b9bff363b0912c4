//! What this crate asks the machine for: the time, random ids, and threads for long work. Commits, changes and collections ask nobody
//! else, so a simulator can answer.

use std::{
    cell::{Cell, RefCell},
    marker::PhantomData,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use uuid::{Builder, Uuid};

thread_local! {
    static SIMULATED: RefCell<Option<Simulated>> = const { RefCell::new(None) };
    static IS_SIMULATED: Cell<bool> = const { Cell::new(false) };
}

struct Simulated {
    /// State of SplitMix64.
    random: u64,
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

impl Simulation {
    /// Starts to simulate.
    pub fn start(seed: u64) -> Self {
        let simulated = Simulated { random: seed, began: Instant::now(), passed: Duration::ZERO };
        SIMULATED.with_borrow_mut(|held| *held = Some(simulated));
        IS_SIMULATED.set(true);
        Self(PhantomData)
    }

    /// Lets time pass.
    pub fn pass(&self, time: Duration) {
        SIMULATED.with_borrow_mut(|held| held.iter_mut().for_each(|simulated| simulated.passed += time));
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        SIMULATED.with_borrow_mut(|held| *held = None);
        IS_SIMULATED.set(false);
    }
}

/// Returns what the simulated machine says, if there is one.
fn simulated<T>(say: impl FnOnce(&mut Simulated) -> T) -> Option<T> {
    match IS_SIMULATED.get() {
        true => SIMULATED.with_borrow_mut(|held| held.as_mut().map(say)),
        false => None,
    }
}

/// Returns the time of the clock that is never set.
pub fn now() -> Instant {
    simulated(|machine| machine.began + machine.passed).unwrap_or_else(Instant::now)
}

/// Returns the time of that clock for timers, which stands still where a test of tokio says so.
pub(crate) fn timer_now() -> tokio::time::Instant {
    tokio::time::Instant::now()
}

/// Returns the time of day, by the clock of this machine, which may be wrong.
pub(crate) fn time_of_day() -> SystemTime {
    simulated(|machine| UNIX_EPOCH + machine.passed).unwrap_or_else(SystemTime::now)
}

/// Returns the time of this machine in milliseconds since 1970-01-01T00:00Z, for `now` of
/// [`Table::plan_garbage`](crate::Table::plan_garbage).
pub fn now_ms() -> i64 {
    let since = time_of_day().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Returns an id that no other call returns: 122 random bits.
pub fn new_id() -> Uuid {
    simulated(|machine| {
        let mut bytes = [0; 16];
        let (first, second) = bytes.split_at_mut(8);
        first.copy_from_slice(&machine.draw().to_le_bytes());
        second.copy_from_slice(&machine.draw().to_le_bytes());
        Builder::from_random_bytes(bytes).into_uuid()
    })
    .unwrap_or_else(Uuid::new_v4)
}

/// Whether long work may go to other threads.
pub(crate) fn has_threads() -> bool {
    !IS_SIMULATED.get()
}

impl Simulated {
    /// SplitMix64 (Steele, Lea, Flood 2014).
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
