//! What a user holds: tables, their writers, and loaders of rows. The only place where writing, committing, the frame and
//! reading meet.

mod columns;
mod compact;
mod edit;
mod gc;
#[cfg(feature = "frame")]
mod index;
mod info;
mod keys;
mod loader;
#[cfg(feature = "frame")]
mod merge;
mod rows;
mod session;
mod source;
mod splice;
mod times;
mod usage;
mod verify;
mod version;
mod windows;
mod writer;

pub use columns::GroupReplacer;
pub use edit::Edit;
pub use gc::{GcPlan, GcSettings};
#[cfg(feature = "frame")]
pub use index::Index;
pub use info::{GroupInfo, TableInfo};
pub use loader::RowLoader;
pub use rows::{Element, Row, Rows, Tensor};
pub use usage::{Usage, VersionUsage};
pub use verify::{Damage, Verification};
pub use version::Table;
pub use windows::Windows;
pub use writer::TableWriter;
