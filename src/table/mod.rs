//! What a user holds: tables, their writers, and loaders of rows. The only place where writing, committing, the frame and
//! reading meet.

mod diff;
#[cfg(feature = "frame")]
mod index;
mod info;
mod lists;
mod columns;
mod compact;
mod edit;
#[cfg(feature = "frame")]
mod index;
mod info;
mod keys;
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
mod session;
mod source;
mod splice;
mod times;
mod usage;
mod verify;
mod version;
mod view;
mod windows;
mod writer;

pub use diff::{ColumnDiff, Diff, GroupDiff};
pub use columns::GroupReplacer;
pub use edit::Edit;
#[cfg(feature = "frame")]
pub use index::Index;
pub use info::{GroupInfo, SourceInfo, TableInfo};
pub use loader::RowLoader;
#[cfg(feature = "frame")]
pub use saving::{SavedView, ViewSize, ViewWriter};
pub use rows::{Element, Row, Rows, Tensor};
pub use usage::{Usage, VersionUsage};
pub use verify::{Damage, Verification};
pub use version::Table;
pub use windows::Windows;
pub use writer::TableWriter;
