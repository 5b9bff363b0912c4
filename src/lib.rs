//! Tetrys: an immutable, versioned table engine for machine-learning data whose rows are wide.

mod ahead;
pub mod blocking;
pub mod codec;
pub mod commit;
pub mod error;
pub mod format;
pub mod id;
#[cfg(feature = "frame")]
pub mod index;
pub mod ingest;
mod offload;
mod once;
mod panics;
pub mod read;
pub mod schema;
pub mod store;
pub mod table;
mod threads;
pub mod write;

pub use codec::Preset;
pub use error::{Error, ErrorKind, Result};
pub use format::Cuts;
#[cfg(feature = "frame")]
pub use index::Merge;
pub use read::{Coalesce, Edge, Explain, Offsets, Pick, TimeOffsets, Window};
pub use schema::{Column, ColumnGroup, ColumnId, ColumnPattern, ColumnType, Primitive, Schema, SchemaBuilder, TimeUnit};
pub use store::{Store, StoreOptions};
#[cfg(feature = "frame")]
pub use table::{Index, Recipe, SavedView, ViewWriter};
pub use table::{Row, RowLoader, Rows, Table, TableWriter, Tensor, Ticket, Windows};
pub use write::{PartitionWriter, Receipt, WriteOptions};
