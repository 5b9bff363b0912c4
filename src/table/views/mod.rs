//! Views: saves a merge or a selection as a table without payload, opens it, and binds it to sources that have moved.

pub(in crate::table) mod rebind;
#[cfg(feature = "frame")]
pub(in crate::table) mod saving;
pub(in crate::table) mod view;
#[cfg(feature = "frame")]
pub(in crate::table) mod view_index;

#[cfg(feature = "frame")]
pub(crate) use saving::check_targets;
#[cfg(feature = "frame")]
pub use saving::{SavedView, ViewSize, ViewWriter};
