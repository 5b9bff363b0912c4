//! What a user holds: tables, their writers, and loaders of rows. The only place where writing, committing, the frame and
//! reading meet.

#[cfg(feature = "frame")]
mod index;
mod info;
mod loader;
#[cfg(feature = "frame")]
mod merge;
mod rows;
mod source;
mod ticket;
mod times;
mod verify;
mod version;
mod windows;
mod writer;

#[cfg(feature = "frame")]
pub use index::Index;
pub use info::{GroupInfo, TableInfo};
pub use loader::RowLoader;
pub use rows::{Element, Row, Rows, Tensor};
pub use ticket::Ticket;
pub use verify::{Damage, Verification};
pub use version::Table;
pub use windows::Windows;
pub use writer::TableWriter;
