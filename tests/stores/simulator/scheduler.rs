//! Runs tasks on one thread. A task runs until it asks for a turn; when all wait, the seed chooses whose turn it is. So the seed decides
//! in which order requests take effect, and in which order their answers arrive.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use tetrys::machine::Simulation;

use crate::common::tables::Rng;

/// A process of the simulated world.
pub(super) type Task = Pin<Box<dyn Future<Output = ()>>>;

/// Something that happens without a process: a request that is still under way.
pub(super) type Late = Box<dyn FnOnce() + Send>;

/// Chooses whose turn it is.
#[derive(Clone)]
pub(super) struct Scheduler(Arc<Mutex<State>>);

struct State {
    rng: Rng,
    /// The turns that are asked for: the task, what for, and how to wake it.
    asked: BTreeMap<u64, (usize, String, Waker)>,
    granted: BTreeSet<u64>,
    next: u64,
    /// The task that runs.
    current: usize,
    late: Vec<(String, Late)>,
    /// Whether nobody waits: the test itself looks at the store.
    is_quiet: bool,
    now_ms: i64,
    /// How far time may jump while processes run: those that wait then have slept, and requests come late.
    jumps_ms: u64,
    log: Vec<String>,
}

impl Scheduler {
    pub(super) fn new(seed: u64, jumps_ms: u64) -> Self {
        Self(Arc::new(Mutex::new(State {
            rng: Rng(seed),
            asked: BTreeMap::new(),
            granted: BTreeSet::new(),
            next: 0,
            current: 0,
            late: Vec::new(),
            is_quiet: true,
            now_ms: 1_000_000_000,
            jumps_ms,
            log: Vec::new(),
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Waits for a turn.
    pub(super) fn turn(&self, what: &str) -> Turn {
        Turn { scheduler: self.clone(), what: what.to_owned(), number: None }
    }

    /// Returns the time of the store's clock.
    pub(super) fn now_ms(&self) -> i64 {
        self.state().now_ms
    }

    /// Lets time pass.
    pub(super) fn pass(&self, ms: i64) {
        self.state().now_ms += ms;
    }

    /// Draws a number below `end`.
    pub(super) fn draw(&self, end: u64) -> u64 {
        self.state().rng.below(end)
    }

    /// Whether the test itself looks at the store.
    pub(super) fn is_quiet(&self) -> bool {
        self.state().is_quiet
    }

    /// Lets something happen at any later time.
    pub(super) fn later(&self, what: String, late: Late) {
        self.state().late.push((what, late));
    }

    pub(super) fn record(&self, what: String) {
        let mut state = self.state();
        let line = format!("{:>6} {}: {what}", state.now_ms - 1_000_000_000, state.current);
        state.log.push(line);
    }

    /// Returns the log, and forgets it.
    pub(super) fn log(&self) -> Vec<String> {
        std::mem::take(&mut self.state().log)
    }

    /// Runs these tasks to their ends. Up to `deaths` of them are killed at some turn. In the end, all that was under way has arrived.
    pub(super) fn run(&self, mut tasks: Vec<Option<Task>>, mut deaths: u64, machine: &Simulation) {
        self.state().is_quiet = false;
        let flags: Vec<Arc<Flag>> = tasks.iter().map(|_| Arc::new(Flag(AtomicBool::new(true)))).collect();
        let mut weights = vec![1; tasks.len()];
        loop {
            for (number, task) in tasks.iter_mut().enumerate() {
                while let Some(running) = task
                    && flags[number].0.swap(false, Ordering::Relaxed)
                {
                    self.state().current = number;
                    let waker = Waker::from(Arc::clone(&flags[number]));
                    if running.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                        *task = None;
                    }
                }
            }
            let live: Vec<usize> = (0..tasks.len()).filter(|number| tasks[*number].is_some()).collect();
            let mut state = self.state();
            if live.is_empty() && state.late.is_empty() {
                break;
            }
            let longest = state.jumps_ms.max(1);
            let passed = if state.rng.once_in(100) { state.rng.below(longest) } else { state.rng.below(40) };
            state.now_ms += passed as i64;
            machine.pass(Duration::from_millis(passed));
            if deaths > 0 && !live.is_empty() && state.rng.once_in(150) {
                deaths -= 1;
                let killed = *state.rng.pick(&live);
                state.current = killed;
                drop(state);
                self.record("killed".to_owned());
                tasks[killed] = None;
                continue;
            }
            if state.rng.once_in(25) {
                // For a while, some are much faster than others.
                weights = weights.iter().map(|_| *state.rng.pick(&[1, 1, 20, 400])).collect();
            }
            let choices: Vec<(u64, u64)> = state.asked.iter().map(|(number, (task, ..))| (*number, weights[*task])).collect();
            let under_way = state.late.len() as u64;
            let total = choices.iter().map(|(_, weight)| weight).sum::<u64>() + under_way;
            assert!(total > 0, "the tasks {live:?} wait for nothing");
            let mut drawn = state.rng.below(total);
            if drawn < under_way {
                let (what, late) = state.late.swap_remove(drawn as usize);
                drop(state);
                late();
                self.record(format!("arrives late: {what}"));
                continue;
            }
            drawn -= under_way;
            let chosen = choices.iter().find(|(_, weight)| {
                let is_it = drawn < *weight;
                drawn = drawn.saturating_sub(*weight);
                is_it
            });
            let (number, _) = *chosen.unwrap();
            let (.., waker) = state.asked.remove(&number).unwrap();
            state.granted.insert(number);
            waker.wake();
        }
        self.state().is_quiet = true;
    }
}

/// A turn of a task.
pub(super) struct Turn {
    scheduler: Scheduler,
    what: String,
    number: Option<u64>,
}

impl Future for Turn {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let mut state = this.scheduler.0.lock().unwrap();
        if state.is_quiet {
            return Poll::Ready(());
        }
        let number = *this.number.get_or_insert_with(|| {
            state.next += 1;
            state.next
        });
        if state.granted.remove(&number) {
            this.number = None;
            return Poll::Ready(());
        }
        let asked = (state.current, this.what.clone(), context.waker().clone());
        state.asked.insert(number, asked);
        Poll::Pending
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let mut state = self.scheduler.state();
            state.asked.remove(&number);
            state.granted.remove(&number);
        }
    }
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}
