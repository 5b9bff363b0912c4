//! Bytes at names: the floor between the format and wherever a table lives. It is given names relative to a table's root
//! and byte ranges inside objects of known size; it promises that what it answers is exactly as long as what was asked,
//! that nothing is ever overwritten, and that every failure names the object and the store. It knows nothing of what the
//! bytes mean.
//!
//! [`Store`] is what the floors above hold; what it reads of remote stores it may keep near (`cache/`). The wrappers ([`CountingStore`], [`LatencyStore`], [`FaultyStore`]) stand
//! between it and a backend, to measure and to break things.

mod allowed;
mod failure;
mod name;
mod options;
mod ranges;

mod buffers;
mod cache;
mod fetch;
mod inner;
mod leftovers;
mod local;
mod remote;
#[expect(clippy::module_inception, reason = "the file of the type `Store` is called after it")]
mod store;
mod upload;
mod urls;

mod selftest;
mod testing;

pub use allowed::allow_flag;
pub(crate) use allowed::{Place, how_to_allow};
pub(crate) use buffers::Lent;
pub use buffers::release_buffers;
pub use cache::{CacheFolder, CacheStats};
pub use inner::Put;
pub use options::StoreOptions;
pub use ranges::{MAX_RANGE, READ_LIMITS, RangeRequest, SPLIT_ABOVE, range_parts};
pub use remote::Listed;
pub use selftest::{Verdict, selftest};
pub use store::Store;
pub use testing::{CountingStore, Counts, Fault, Faults, FaultyStore, Get, Latency, LatencyStore};
