//! Reads rows and windows of tables: the loader, its source tables, and its results.

pub(in crate::table) mod index_values;
pub(in crate::table) mod loader;
pub(in crate::table) mod parts;
pub(in crate::table) mod rows;
pub(in crate::table) mod samples;
pub(in crate::table) mod source;
pub(in crate::table) mod splits;
pub(in crate::table) mod streams;
pub(in crate::table) mod times;
mod typed;
pub(in crate::table) mod windows;

pub use loader::RowLoader;
pub use rows::{Element, Row, Rows, Tensor};
pub(crate) use samples::{SampleColumns, SampleKey};
pub(crate) use streams::more_than_nothing;
pub use windows::Windows;
