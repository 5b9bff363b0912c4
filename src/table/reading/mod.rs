//! Reads rows and windows of tables: the loader, its source tables, and its results.

mod beside;
pub(in crate::table) mod index_values;
pub(in crate::table) mod loader;
mod result;
pub(in crate::table) mod rows;
pub(in crate::table) mod samples;
mod select;
pub(in crate::table) mod source;
mod sources;
pub(in crate::table) mod splits;
pub(in crate::table) mod streams;
pub(in crate::table) mod times;
mod typed;
pub(in crate::table) mod view;
mod wanted;
pub(in crate::table) mod windows;

pub use loader::RowLoader;
pub use rows::{Element, Row, Rows, Tensor};
pub(crate) use samples::{SampleColumns, SampleKey};
pub use windows::Windows;

use streams::more_than_nothing;
