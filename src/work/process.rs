//! Forks: a forked child has the memory of its parent, and none of the parent's threads.
//!
//! So a child makes values with threads anew ([`PerProcess`]), and a lock that it has from its parent may stay locked for ever
//! ([`BoundedLock`]). [`Process`] tells a child from its parent.

use std::{
    convert::Infallible,
    hint, process,
    sync::{Mutex, MutexGuard, OnceLock, TryLockError},
    thread,
};

/// A process. A forked child is another process than its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process(u32);

impl Process {
    /// Returns the process of the caller.
    pub(crate) fn current() -> Self {
        Self(process::id())
    }

    /// Whether the caller is in this process, not in a child that was forked from it.
    pub(crate) fn is_current(self) -> bool {
        self == Self::current()
    }

    /// Returns the number that the system gave to the process, which is not 0.
    pub(crate) fn id(self) -> u32 {
        self.0
    }

    /// Returns a process that is not the current one.
    #[cfg(test)]
    pub(crate) fn other() -> Self {
        Self(process::id().wrapping_add(1))
    }
}

/// A value that each process makes for itself on first use. A forked child leaves the value of its parent alone and makes its own.
///
/// For statics: the value of a parent is never dropped. While a value is made, no lock is held that a child could find locked.
pub(crate) struct PerProcess<T>(OnceLock<Box<Made<T>>>);

/// The value of a process, and behind it those of the processes that were forked from it.
struct Made<T> {
    process: Process,
    value: T,
    forked: PerProcess<T>,
}

impl<T> PerProcess<T> {
    /// Creates a value that no process has made yet.
    pub(crate) const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Returns the value of this process, which the first call makes. If several threads make it at the same time, one of their values
    /// is kept, and `discard` gets the others.
    ///
    /// # Errors
    /// Errors of `make`. The next call makes the value then.
    pub(crate) fn get_or_make<E>(&self, make: impl Fn() -> Result<T, E>, discard: impl Fn(T)) -> Result<&T, E> {
        self.of(Process::current(), make, discard)
    }

    /// Returns the value of this process, which the first call makes.
    pub(crate) fn get_or_default(&self) -> &T
    where
        T: Default,
    {
        let Ok(value) = self.get_or_make(|| Ok::<_, Infallible>(T::default()), drop);
        value
    }

    fn of<E>(&self, process: Process, make: impl Fn() -> Result<T, E>, discard: impl Fn(T)) -> Result<&T, E> {
        let mut place = self;
        loop {
            match place.0.get() {
                // A process that has ended may have had the same number, so only the newest value can be that of this process.
                Some(made) if made.process == process && made.forked.0.get().is_none() => return Ok(&made.value),
                Some(older) => place = &older.forked,
                None => {
                    let made = Made { process, value: make()?, forked: Self::new() };
                    // Fails if another thread was first.
                    if let Err(second) = place.0.set(Box::new(made)) {
                        discard(second.value);
                    }
                }
            }
        }
    }
}

/// Number of attempts of [`BoundedLock::lock`]. The thread yields after each.
const YIELDS: usize = 1_000;

/// Number of attempts of [`BoundedLock::lock_spinning`].
const SPINS: usize = 100;

/// A lock that a fork may have left locked: a thread of the parent held it, and a forked child has no such thread. So nobody waits for the
/// lock: after a bounded number of attempts, the caller goes on without the value.
///
/// A panic of a thread that holds the lock does not make it unusable.
#[derive(Default)]
pub(crate) struct BoundedLock<T>(Mutex<T>);

impl<T> BoundedLock<T> {
    /// Creates an unlocked lock.
    pub(crate) const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// Takes a lock that is never held for long.
    pub(crate) fn lock(&self) -> Option<MutexGuard<'_, T>> {
        self.attempt(YIELDS, thread::yield_now)
    }

    /// Takes a lock that is never held for more than a microsecond. The thread keeps its core meanwhile.
    pub(crate) fn lock_spinning(&self) -> Option<MutexGuard<'_, T>> {
        self.attempt(SPINS, hint::spin_loop)
    }

    /// Takes the lock if it is free now. For a lock that may be held for long.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.attempt(1, || {})
    }

    fn attempt(&self, attempts: usize, mut pause: impl FnMut()) -> Option<MutexGuard<'_, T>> {
        for _ in 0..attempts {
            match self.0.try_lock() {
                Ok(guard) => return Some(guard),
                Err(TryLockError::Poisoned(guard)) => return Some(guard.into_inner()),
                Err(TryLockError::WouldBlock) => pause(),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::{
        cell::{Cell, RefCell},
        panic::{AssertUnwindSafe, catch_unwind},
    };

    use super::*;

    const PARENT: Process = Process(1);
    const CHILD: Process = Process(2);
    const GRANDCHILD: Process = Process(3);

    #[test]
    fn each_process_makes_its_value_once_and_leaves_that_of_its_parent() {
        let (value, made) = (PerProcess::new(), Cell::new(0));
        let make = || {
            made.set(made.get() + 1);
            Ok::<_, Infallible>(made.get())
        };
        // The last process has the number of the first, which has ended.
        for (process, expected) in
            [(PARENT, 1), (PARENT, 1), (CHILD, 2), (GRANDCHILD, 3), (GRANDCHILD, 3), (PARENT, 4), (PARENT, 4)]
        {
            assert_eq!(value.of(process, make, |_| panic!("there is no second value")), Ok(&expected), "{process:?}");
        }
        assert_eq!(made.get(), 4);
    }

    #[test]
    fn of_values_that_are_made_at_the_same_time_one_is_kept() {
        let (value, discarded) = (PerProcess::new(), RefCell::new(Vec::new()));
        let discard = |second| discarded.borrow_mut().push(second);
        // Another caller is faster while this one makes its value.
        let slow = || value.of(PARENT, || Ok::<_, Infallible>("first"), discard).map(|_| "second");
        assert_eq!(value.of(PARENT, slow, discard), Ok(&"first"));
        assert_eq!(*discarded.borrow(), ["second"]);
    }

    #[test]
    fn a_value_that_was_not_made_is_made_by_the_next_call() {
        let value = PerProcess::new();
        assert_eq!(value.get_or_make(|| Err("no threads"), drop), Err("no threads"));
        assert_eq!(value.get_or_make(|| Ok::<_, ()>(7), drop), Ok(&7));
        assert_eq!(value.get_or_default(), &7);
    }

    #[test]
    fn a_forked_child_is_another_process() {
        assert!(Process::current().is_current() && !Process::other().is_current());
        assert_eq!(Process::current().id(), process::id());
    }

    #[test]
    fn a_lock_that_stays_locked_is_given_up_after_a_bounded_number_of_attempts() {
        let (lock, pauses) = (BoundedLock::new(7), Cell::new(0));
        let guard = lock.lock().expect("nobody holds it");
        let pause = || pauses.set(pauses.get() + 1);
        assert!(lock.attempt(5, pause).is_none());
        assert_eq!(pauses.get(), 5);
        assert!(lock.lock().is_none() && lock.lock_spinning().is_none() && lock.try_lock().is_none());
        drop(guard);
        assert_eq!(lock.lock().map(|guard| *guard), Some(7));
        assert_eq!(lock.lock_spinning().map(|guard| *guard), Some(7));
        assert_eq!(lock.try_lock().map(|guard| *guard), Some(7));
    }

    #[test]
    fn a_lock_that_is_given_back_between_two_attempts_is_taken() {
        let (lock, pauses) = (BoundedLock::new(7), Cell::new(0));
        let mut other = lock.lock();
        let pause = || {
            pauses.set(pauses.get() + 1);
            if pauses.get() == 3 {
                drop(other.take());
            }
        };
        assert_eq!(lock.attempt(5, pause).map(|guard| *guard), Some(7));
        assert_eq!(pauses.get(), 3);
    }

    #[test]
    fn a_panic_of_a_thread_that_holds_the_lock_leaves_it_usable() {
        let lock = BoundedLock::new(7);
        let panics = || {
            let _guard = lock.lock();
            panic!("while the lock is held");
        };
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        assert_eq!(lock.lock().map(|guard| *guard), Some(7));
    }
}
