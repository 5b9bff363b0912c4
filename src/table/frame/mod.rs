//! The index of a table as a polars frame: selections, merges with the indexes of other tables, and splits.

mod frames;
pub(in crate::table) mod index;
pub(in crate::table) mod merge;
pub(in crate::table) mod splits;

pub use index::Index;
