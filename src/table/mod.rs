//! What a user holds: tables, their writers, and loaders of rows. The only place where writing, committing, the frame and
//! reading meet.

mod diff;
#[cfg(feature = "frame")]
mod index;
mod info;
mod lists;
mod loader;
#[cfg(feature = "frame")]
mod merge;
mod rebind;
mod rows;
#[cfg(feature = "frame")]
mod saving;
mod source;
#[cfg(feature = "frame")]
mod splits;
mod times;
mod verify;
mod version;
mod view;
#[cfg(feature = "frame")]
mod view_index;
mod windows;
mod writer;

pub use diff::{ColumnDiff, Diff, GroupDiff};
#[cfg(feature = "frame")]
pub use index::Index;
pub use info::{GroupInfo, SourceInfo, TableInfo};
pub use loader::RowLoader;
pub use rows::{Element, Row, Rows, Tensor};
#[cfg(feature = "frame")]
pub use saving::{SavedView, ViewSize, ViewWriter};
pub use verify::{Damage, Verification};
pub use version::Table;
pub use windows::Windows;
pub use writer::TableWriter;
