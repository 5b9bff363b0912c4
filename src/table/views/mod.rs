//! Saved views: how a merge or a selection is stored, opened again, and bound to tables that have moved.

pub(in crate::table) mod rebind;
#[cfg(feature = "frame")]
pub(in crate::table) mod saving;
pub(in crate::table) mod view;
#[cfg(feature = "frame")]
pub(in crate::table) mod view_index;

#[cfg(feature = "frame")]
pub use saving::{SavedView, ViewSize, ViewWriter};
