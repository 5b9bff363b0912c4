//! Backends for tests and measurements: they count requests, fail where they are told to, or are as far away as one says. And a journal of
//! what is done to local files.

pub(in crate::store) mod body;
pub(in crate::store) mod counting;
pub(in crate::store) mod faulty;
pub(in crate::store) mod journal;
pub(in crate::store) mod latency;

pub use counting::{CountingStore, Counts, Get};
pub use faulty::{Fault, Faults, FaultyStore};
pub use journal::{DiskStep, Journal};
pub use latency::{Latency, LatencyStore};
