//! Tetrys: an immutable, versioned table engine for machine-learning data whose rows are wide.

pub mod error;
pub mod ingest;
pub mod schema;

pub use error::{Error, ErrorKind, Result};
pub use schema::{Column, ColumnGroup, ColumnId, ColumnPattern, ColumnType, Primitive, Schema, SchemaBuilder, TimeUnit};
