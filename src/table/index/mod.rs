//! The index of a table or a view as a polars frame: requests, parts and selections.

mod choose;
mod frames;
#[expect(clippy::module_inception, reason = "the file of the type `Index` is called after it")]
pub(in crate::table) mod index;
mod late;
pub(in crate::table) mod load;
pub(in crate::table) mod located;
mod memory;
mod missing;
mod request;
pub(in crate::table) mod scan;
mod segments;
mod view_index;

pub use index::Index;
pub use memory::{ColumnMemory, IndexMemory};
pub use request::{IndexExplain, IndexRequest};
pub use scan::{IndexPart, IndexScan};
