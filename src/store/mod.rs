//! Object storage: the layer between the format and the place of a table. Callers pass names relative to the root of a table, and
//! byte ranges within objects of known size. A read returns exactly the requested bytes or an error, a write never overwrites an
//! object, and every error names the object and the store. This layer does not interpret the bytes.
//!
//! The layers above use [`Store`]. Reads of remote stores can go through a cache (`cache/`). With the feature
//! `testing`, the wrappers `CountingStore`, `LatencyStore` and `FaultyStore` go between a store and its backend, to measure requests
//! and to inject faults.

mod allowed;
mod direct;
mod failure;
mod name;
mod options;
mod ranges;

mod buffers;
mod cache;
mod deletes;
mod fetch;
mod folders;
mod inner;
mod leftovers;
mod local;
mod many;
mod remote;
mod sent;
mod size;
#[expect(clippy::module_inception, reason = "the file is named after the type `Store`")]
mod store;
mod stores;
mod upload;
mod urls;
mod verified;
mod wholes;

mod selftest;
mod testing;

pub use allowed::allow_flag;
pub(crate) use allowed::{Place, how_to_allow};
pub(crate) use buffers::PooledBuffer;
pub use buffers::release_buffers;
pub use cache::{CacheFolder, CacheStats};
pub(crate) use failure::was_sent_again;
pub use inner::Put;
pub use options::StoreOptions;
pub use ranges::{READ_LIMITS, RangeRequest};
pub use remote::install_crypto_provider;
pub use selftest::{Verdict, selftest};
pub(crate) use sent::Sent;
pub use size::parse_size;
pub use store::Store;
#[cfg(feature = "testing")]
pub use testing::{CountingStore, Counts, Fault, Faults, FaultyStore, Get, Latency, LatencyStore};
pub(crate) use verified::verified;

// Some of these are public for tests and fuzz targets.
#[cfg(feature = "unstable")]
pub use {
    ranges::{MAX_RANGE, SPLIT_ABOVE, range_parts},
    remote::Listed,
    stores::{StoreKind, Stores},
    testing::{DiskStep, Journal},
};
#[cfg(not(feature = "unstable"))]
pub(crate) use {
    ranges::{SPLIT_ABOVE, range_parts},
    remote::Listed,
    stores::{StoreKind, Stores},
};
