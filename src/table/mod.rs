//! What a user holds: tables, their writers, and loaders of rows. The only place where writing, committing, the frame and
//! reading meet.

mod columns;
mod compact;
mod diff;
mod diff_rows;
mod edit;
mod folding;
mod gc;
#[cfg(feature = "frame")]
pub mod hints;
mod history;
#[cfg(feature = "frame")]
mod index;
mod index_values;
mod info;
mod keys;
mod lists;
mod loader;
#[cfg(feature = "frame")]
mod merge;
mod objects;
mod publish;
mod rebasing;
mod rebind;
#[cfg(feature = "frame")]
pub mod recipe;
mod rows;
#[cfg(feature = "frame")]
mod saving;
mod seen;
mod session;
mod source;
mod splice;
#[cfg(feature = "frame")]
mod splits;
mod streams;
mod ticket;
mod times;
mod usage;
mod verify;
mod version;
mod view;
#[cfg(feature = "frame")]
mod view_index;
mod windows;
mod writer;

pub use columns::GroupReplacer;
pub use diff::{ColumnDiff, Diff, GroupDiff};
pub use edit::Edit;
pub use gc::{GcPlan, GcSettings, now_ms};
pub use history::VersionInfo;
#[cfg(feature = "frame")]
pub use index::Index;
pub use info::{GroupInfo, SourceInfo, TableInfo};
pub use loader::RowLoader;
#[cfg(feature = "frame")]
pub use recipe::{MadeView, Recipe};
pub use rows::{Element, Row, Rows, Tensor};
#[cfg(feature = "frame")]
pub use saving::{SavedView, ViewSize, ViewWriter};
pub(crate) use streams::more_than_nothing;
pub use ticket::Ticket;
pub use usage::{Usage, VersionUsage};
pub use verify::{Damage, Verification, VerifyReach};
pub use version::Table;
pub use windows::Windows;
pub use writer::TableWriter;
