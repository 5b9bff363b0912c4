//! Backends for tests and measurements: they count requests, fail where they are told to, or are as far away as one says. And a journal of
//! what is done to local files.

#[cfg(feature = "testing")]
pub(in crate::store) mod body;
#[cfg(feature = "testing")]
pub(in crate::store) mod counting;
#[cfg(feature = "testing")]
pub(in crate::store) mod faulty;
pub(in crate::store) mod journal;
#[cfg(feature = "testing")]
pub(in crate::store) mod latency;

#[cfg(feature = "testing")]
pub use counting::{CountingStore, Counts, Get};
#[cfg(feature = "testing")]
pub use faulty::{Fault, Faults, FaultyStore};
pub use journal::DiskStep;
#[cfg(feature = "unstable")]
pub use journal::Journal;
#[cfg(feature = "testing")]
pub use latency::{Latency, LatencyStore};
