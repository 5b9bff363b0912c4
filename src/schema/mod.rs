//! The schema of a table: columns and their types, column groups, the index, and patterns that select columns.
//!
//! Pure values, no I/O; see `format-spec/manifest.md#schema`.

mod change;
mod column_type;
mod pattern;
mod table_schema;

pub use column_type::{ColumnType, Primitive, TimeUnit};
pub use pattern::ColumnPattern;
pub(crate) use pattern::{no_match, select};
pub use table_schema::{BLOOM_FILTER, Column, ColumnGroup, ColumnId, NULLABLE, PRESET, Schema, SchemaBuilder};
