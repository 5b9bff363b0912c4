//! What a table's columns are: their types, their groups, which of them make the index, and patterns that name them.
//!
//! Pure values; see `format-spec/manifest.md#schema`.

mod change;
mod column_type;
mod pattern;
mod table_schema;

pub use column_type::{ColumnType, Primitive, TimeUnit};
pub use pattern::ColumnPattern;
pub(crate) use pattern::{no_match, select};
pub use table_schema::{Column, ColumnGroup, ColumnId, NULLABLE, PRESET, Schema, SchemaBuilder};
