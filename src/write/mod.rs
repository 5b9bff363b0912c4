//! Records to blocks to chunks to stored objects.
//!
//! ```text
//! RecordBatch -> flat columns -> rows cut into blocks -> canonical pages, logical hash -> encoded blocks -> chunk -> store
//! ```
//! A block that is known already, by its logical hash, is neither encoded nor stored: [`Known`] finds it, and the layout points at
//! where it lies. [`PartitionWriter`] uploads what is new and ends in a [`Receipt`].

mod adopt;
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

pub use flat::canonical_array;
pub use gather::{Gathered, Gatherer};
pub use groups::{GroupsWriter, WrittenGroup};
pub use known::{Known, KnownBuilder, Reuse};
pub use locality::{Locality, Worst, worst_windows};
pub use options::WriteOptions;
pub use partition::{PartitionWriter, index_column};
pub use receipt::{PartGroup, PartObjects, Receipt, Sharing};
