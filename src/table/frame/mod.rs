//! The index of a table as a polars frame: selections, merges with the indexes of other tables, and splits.

mod choose;
mod frames;
pub(in crate::table) mod index;
mod late;
mod load;
pub(in crate::table) mod located;
mod memory;
pub(in crate::table) mod merge;
mod merging;
mod missing;
mod request;
mod scan;
mod segments;
pub(in crate::table) mod splits;
mod splitting;

pub use index::Index;
pub use memory::{ColumnMemory, IndexMemory};
pub use merging::TableMerge;
pub use request::{IndexExplain, IndexRequest};
pub use scan::{IndexPart, IndexScan};
pub use splitting::TableSplit;
