//! The write path: record batches become blocks, blocks become chunks, and chunks become stored objects.
//!
//! ```text
//! RecordBatch -> flat columns -> rows cut into blocks -> canonical pages, logical hash -> encoded blocks -> chunk -> store
//! ```
//! A writer neither encodes nor stores a block whose logical hash is known already. [`Known`] finds the stored block, and the
//! layout refers to its place. [`PartitionWriter`] uploads the new blocks and returns a [`Receipt`].

mod adopt;
mod buffered;
mod chunk;
mod flat;
mod gather;
mod group;
mod groups;
mod known;
mod locality;
mod options;
mod partition;
mod receipt;
mod sample;

pub(crate) use buffered::BufferedParts;
pub use flat::canonical_array;
pub use gather::{Gathered, Gatherer};
pub(crate) use groups::slice_bytes;
pub use groups::{GroupsWriter, WrittenGroup};
pub use known::{Known, KnownBuilder, Reuse};
pub use locality::{Locality, Worst};
pub use options::{IndexTails, WriteOptions};
pub(crate) use partition::{Begin, store_buffered};
pub use partition::{PartitionWriter, index_column};
pub(crate) use receipt::partition_place;
pub use receipt::{PartObjects, Receipt, Sharing};

// For tests and benchmarks.
#[cfg(feature = "unstable")]
pub use {locality::worst_windows, receipt::PartGroup};
