//! Records to blocks to chunks to stored objects.
//!
//! ```text
//! RecordBatch -> flat columns -> rows cut into blocks -> canonical pages, logical hash -> encoded blocks -> chunk -> store
//! ```
//! Everything up to the finished chunk is pure; [`PartitionWriter`] uploads and ends in a [`Receipt`].

mod chunk;
mod flat;
mod group;
mod partition;
mod receipt;

pub use partition::{PartitionWriter, WriteOptions};
pub use receipt::{PartGroup, PartObjects, Receipt};
