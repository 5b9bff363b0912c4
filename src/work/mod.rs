//! Threads and forks: how work leaves the thread of its caller, how callers share work and its result, and what a fork changes.
//!
//! [`share`] spreads short work over idle threads, and [`offload()`] runs long work off the executor. [`Ahead`] is work that runs while its
//! caller does other work, and [`waves()`] cuts a list into what fits into memory together. [`Flight`] is a load that several callers
//! wait for, and any of them can finish. [`Once`] is a value that is loaded once. [`PerProcess`] is a value that a forked child makes anew,
//! and [`BoundedLock`] is a lock that a fork may have left locked. [`boxed`] keeps large futures off the stack.

mod ahead;
mod boxed;
mod flight;
mod offload;
mod once;
mod process;
mod threads;
mod waves;

pub(crate) use ahead::Ahead;
pub(crate) use boxed::boxed;
pub(crate) use flight::{Executor, Flight, WeakFlight};
pub use offload::blocking;
pub(crate) use offload::{SMALL, Stop, check_away, next_of, offload, offload_large, yield_now};
pub(crate) use once::Once;
pub(crate) use process::{BoundedLock, PerProcess, Process};
pub use threads::threads;
pub(crate) use threads::{check_threads, elsewhere, elsewhere_with, others_for, share, share_in_order};
pub(crate) use waves::waves;
