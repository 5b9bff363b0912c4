//! Threads that work for a waiting caller: a shared pool for short work ([`share`]), and a new thread for one closure
//! ([`elsewhere`]).

use std::{
    collections::BTreeMap,
    io,
    num::NonZero,
    panic::resume_unwind,
    sync::{
        Condvar, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use rayon_core::{ThreadPool, ThreadPoolBuilder};

use super::process::{BoundedLock, PerProcess};
use crate::{environment::setting, error::Result};

/// The environment variable with the number of threads that read and decode.
const VARIABLE: &str = "TETRYS_THREADS";

/// Minimum work per thread in bytes: reading, checking or copying so many bytes takes a little longer than waking a thread.
const SHARE: u64 = 256 << 10;

/// Returns the number of threads that share work: the value of `TETRYS_THREADS`, or the number of cores.
///
/// ```
/// assert!(tetrys::extension::threads() > 0);
/// ```
///
/// The number is cached: asking the system for the number of cores reads files, which takes as long as reading a small row.
pub fn threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| {
        let number = configured().ok().flatten().or_else(|| thread::available_parallelism().ok());
        number.map_or(1, NonZero::get)
    })
}

fn configured() -> Result<Option<NonZero<usize>>> {
    setting(VARIABLE, "a number of threads, 1 or more", |text| text.parse().ok())
}

/// Checks that the variable, if it is set, holds a number of threads.
///
/// # Errors
/// - `Invalid`: the value is not a number of 1 or more.
pub(crate) fn check_threads() -> Result<()> {
    configured().map(drop)
}

/// The pool threads of a process, started on first use.
#[derive(Default)]
struct Helpers {
    /// Locked while a thread starts the pool.
    starting: BoundedLock<()>,
    /// `None` if the system gave no threads.
    pool: OnceLock<Option<ThreadPool>>,
    /// Number of idle threads. Only idle threads get work, so no caller waits for a busy thread.
    idle: AtomicUsize,
}

/// Returns the pool; `None` while another thread starts it. A fork does not copy threads, so a forked child starts a pool of its own.
fn helpers() -> Option<&'static Helpers> {
    static HELPERS: PerProcess<Helpers> = PerProcess::new();
    let helpers = HELPERS.get_or_default();
    if helpers.pool.get().is_none() {
        let _starting = helpers.starting.try_lock()?;
        helpers.pool.get_or_init(|| {
            let pool = ThreadPoolBuilder::new().num_threads(threads() - 1).thread_name(|_| "tetrys-read".to_owned());
            let pool = pool.build().ok();
            helpers.idle.store(pool.as_ref().map_or(0, ThreadPool::current_num_threads), Ordering::Release);
            pool
        });
    }
    Some(helpers)
}

impl Helpers {
    /// Takes up to `wanted` idle threads; returns the pool and the number of threads taken.
    fn claim(&self, wanted: usize) -> Option<(&ThreadPool, usize)> {
        let taken = self.idle.fetch_update(Ordering::AcqRel, Ordering::Acquire, |idle| Some(idle - idle.min(wanted)));
        let claimed = taken.unwrap_or_else(|idle| idle).min(wanted);
        self.pool.get()?.as_ref().filter(|_| claimed > 0).map(|pool| (pool, claimed))
    }
}

/// Marks a thread as idle when dropped, also after a panic of its work.
struct IdleAgain<'a>(&'a AtomicUsize);

impl Drop for IdleAgain<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

/// Returns how many more threads are worth waking for work on `bytes` bytes: each thread gets at least [`SHARE`] bytes.
pub(crate) fn others_for(bytes: u64) -> usize {
    usize::try_from(bytes / SHARE).unwrap_or(usize::MAX).saturating_sub(1)
}

/// Runs `work` for each item, on this thread and on up to `others` idle threads. Returns the results in the order of the items.
///
/// # Errors
/// The error of the first item, in their order, that failed. After a failure no thread begins another item.
pub(crate) fn share<T: Send, R: Send, E: Send>(
    items: Vec<T>,
    others: usize,
    work: impl Fn(T) -> std::result::Result<R, E> + Sync,
) -> std::result::Result<Vec<R>, E> {
    let others = others.min(threads() - 1).min(items.len().saturating_sub(1));
    let helpers = if others > 0 { helpers() } else { None };
    let Some((helpers, (pool, others))) = helpers.and_then(|helpers| Some((helpers, helpers.claim(others)?))) else {
        return items.into_iter().map(work).collect();
    };
    let count = items.len();
    let queue = Mutex::new(items.into_iter().enumerate());
    let done = Mutex::new(Vec::with_capacity(count));
    let failed = AtomicBool::new(false);
    let run = || {
        while !failed.load(Ordering::Relaxed) {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((place, item)) = next else { return };
            let result = work(item);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((place, result));
        }
    };
    pool.in_place_scope(|scope| {
        for _ in 0..others {
            scope.spawn(|_| {
                let _idle = IdleAgain(&helpers.idle);
                run();
            });
        }
        run();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Runs `work` for each item, on this thread and on up to `others` idle threads, and passes the results to `take`, on this thread
/// and in the order of the items. The number of results that wait for `take` is bounded, and so is the memory they use.
///
/// # Errors
/// The error of the first item, in their order, for which `work` or `take` failed. After a failure no thread begins another item.
pub(crate) fn share_in_order<T: Send, R: Send, E: Send>(
    items: Vec<T>,
    others: usize,
    work: impl Fn(T) -> std::result::Result<R, E> + Sync,
    mut take: impl FnMut(R) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let others = others.min(threads() - 1).min(items.len().saturating_sub(1));
    let helpers = if others > 0 { helpers() } else { None };
    let Some((helpers, (pool, others))) = helpers.and_then(|helpers| Some((helpers, helpers.claim(others)?))) else {
        return items.into_iter().try_for_each(|item| take(work(item)?));
    };
    let line = Line {
        state: Mutex::new(LineState { items: items.into_iter(), begun: 0, taken: 0, done: BTreeMap::new(), over: false }),
        changed: Condvar::new(),
        most: 2 * (others + 1),
    };
    pool.in_place_scope(|scope| {
        let _ends = EndOfLine(&line);
        for _ in 0..others {
            scope.spawn(|_| {
                let _idle = IdleAgain(&helpers.idle);
                // If `work` panics, no thread may wait for its result.
                let ends = EndOfLine(&line);
                while let Some((place, item)) = line.next_item() {
                    line.put(place, work(item));
                }
                std::mem::forget(ends);
            });
        }
        loop {
            match line.next() {
                Next::Take(done) => take(done?)?,
                Next::Work(place, item) => line.put(place, work(item)),
                Next::End => return Ok(()),
            }
        }
    })
}

/// Items that several threads work on, and results that one thread takes in order.
struct Line<T, R> {
    state: Mutex<LineState<T, R>>,
    changed: Condvar,
    /// Maximum number of items that are begun and not taken yet.
    most: usize,
}

struct LineState<T, R> {
    items: std::vec::IntoIter<T>,
    begun: usize,
    taken: usize,
    done: BTreeMap<usize, R>,
    over: bool,
}

/// The next step of the thread that calls `take`.
enum Next<T, R> {
    Take(R),
    Work(usize, T),
    End,
}

impl<T, R> Line<T, R> {
    fn lock(&self) -> MutexGuard<'_, LineState<T, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, LineState<T, R>>) -> MutexGuard<'a, LineState<T, R>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next item for a thread that only works; `None` at the end.
    fn next_item(&self) -> Option<(usize, T)> {
        let mut state = self.lock();
        loop {
            if state.over || state.items.len() == 0 {
                return None;
            }
            if let Some(begun) = state.begin(self.most) {
                return Some(begun);
            }
            state = self.wait(state);
        }
    }

    fn next(&self) -> Next<T, R> {
        let mut state = self.lock();
        loop {
            let place = state.taken;
            if let Some(done) = state.done.remove(&place) {
                state.taken += 1;
                self.changed.notify_all();
                return Next::Take(done);
            }
            if let Some((place, item)) = state.begin(self.most) {
                return Next::Work(place, item);
            }
            // Over: a thread panicked, and the scope passes the panic on.
            if state.over || (state.items.len() == 0 && state.taken == state.begun) {
                return Next::End;
            }
            state = self.wait(state);
        }
    }

    fn put(&self, place: usize, result: R) {
        self.lock().done.insert(place, result);
        self.changed.notify_all();
    }
}

impl<T, R> LineState<T, R> {
    fn begin(&mut self, most: usize) -> Option<(usize, T)> {
        let item = if self.begun - self.taken < most { self.items.next() } else { None }?;
        self.begun += 1;
        Some((self.begun - 1, item))
    }
}

/// Ends the work of all threads when it is dropped.
struct EndOfLine<'a, T, R>(&'a Line<T, R>);

impl<T, R> Drop for EndOfLine<'_, T, R> {
    fn drop(&mut self) {
        self.0.lock().over = true;
        self.0.changed.notify_all();
    }
}

/// Runs `work` on a new thread, waits for it and returns its result. A thread of a runtime may not block on another runtime,
/// a new thread may.
///
/// # Errors
/// The error of the system if it cannot start a thread.
pub(crate) fn elsewhere<T: Send>(name: &str, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    started(thread::Builder::new().name(name.to_owned()), work)
}

/// Runs `work` as [`elsewhere`] does, on a thread with a stack of this many bytes.
///
/// # Errors
/// The error of the system if it cannot start a thread.
pub(crate) fn elsewhere_with<T: Send>(name: &str, stack: usize, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    started(thread::Builder::new().name(name.to_owned()).stack_size(stack), work)
}

fn started<T: Send>(thread: thread::Builder, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let started = thread.spawn_scoped(scope, work)?;
        Ok(started.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, panic, time::Duration};

    use super::*;

    /// Waits until `is_so` returns true: other tests of this process may use the threads, for a long time on a busy machine. Gives up
    /// after ten minutes.
    fn comes_true(is_so: impl Fn() -> bool) -> bool {
        (0..60_000).any(|_| {
            is_so() || {
                thread::sleep(Duration::from_millis(10));
                false
            }
        })
    }

    fn all_are_idle() -> bool {
        threads() == 1 || helpers().is_some_and(|helpers| helpers.idle.load(Ordering::Acquire) == threads() - 1)
    }

    #[test]
    fn results_are_taken_in_order_and_few_wait_for_it() {
        let all = threads() - 1;
        let (begun, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = |number: usize| {
            let waiting = (begun.fetch_add(1, Ordering::SeqCst) + 1).saturating_sub(taken.load(Ordering::SeqCst));
            if number.is_multiple_of(7) {
                thread::sleep(Duration::from_millis(1));
            }
            if number == 300 { Err(number) } else { Ok((number, waiting)) }
        };
        let mut seen = Vec::new();
        let mut take = |(number, waiting): (usize, usize)| {
            taken.fetch_add(1, Ordering::SeqCst);
            seen.push((number, waiting));
            if number == 250 { Err(number) } else { Ok(()) }
        };
        assert_eq!(share_in_order((0..200).collect(), all, work, &mut take), Ok(()));
        assert_eq!(share_in_order((200..400).collect(), all, work, &mut take), Err(250));
        assert_eq!(seen.iter().map(|(number, _)| *number).collect::<Vec<_>>(), (0..=250).collect::<Vec<_>>());
        let most = seen.iter().take(200).map(|(_, waiting)| *waiting).max();
        assert!(most <= Some(2 * threads() + 1), "{most:?} were begun and not taken");
        assert_eq!(share_in_order((251..400).collect(), all, work, |_| Ok(())), Err(300));
        let panics = |number| if number == 20 { panic!("twenty") } else { Ok::<_, ()>(number) };
        assert!(panic::catch_unwind(|| share_in_order((0..40).collect(), all, panics, |_| Ok(()))).is_err());
        assert!(comes_true(all_are_idle), "a thread was lost");
    }

    #[test]
    fn work_is_shared_in_order_and_every_thread_is_given_back() {
        let all = threads() - 1;
        let doubled = share((0..1000).collect(), all, |number| Ok::<_, ()>(2 * number));
        assert_eq!(doubled, Ok((0..1000).map(|number| 2 * number).collect()));

        let slow = |()| {
            thread::sleep(Duration::from_millis(5));
            Ok::<_, ()>(thread::current().id())
        };
        let at_work = || share(vec![(); 8], all, slow).map(|threads| threads.into_iter().collect::<HashSet<_>>().len());
        assert!(comes_true(|| at_work().is_ok_and(|count| count > all.min(1))), "nobody else worked");

        // Nested work never waits for threads that are busy with the outer work.
        let inner = |number: u64| share((0..number).collect(), all, Ok::<_, ()>).map(|numbers| numbers.len() as u64);
        assert_eq!(share((0..50).collect(), all, inner), Ok((0..50).collect()));

        assert_eq!(share((0..50).collect(), all, |number| if number < 7 { Ok(number) } else { Err(number) }), Err(7));
        let second = |number| if number == 2 { panic!("two") } else { Ok::<_, ()>(number) };
        assert!(panic::catch_unwind(|| share(vec![1, 2, 3], all, second)).is_err());
        assert!(comes_true(all_are_idle), "a thread was lost");
        assert_eq!(share(Vec::<u8>::new(), all, Ok::<_, ()>), Ok(Vec::new()));
    }
}
