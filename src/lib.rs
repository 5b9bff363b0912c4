//! Tetrys: an immutable, versioned table engine for machine-learning data whose rows are wide.

pub mod error;
pub mod schema;
pub mod store;

pub use error::{Error, ErrorKind, Result};
pub use schema::{Column, ColumnGroup, ColumnId, ColumnPattern, ColumnType, Primitive, Schema, SchemaBuilder, TimeUnit};
