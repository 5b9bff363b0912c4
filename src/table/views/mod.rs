//! Views: saves a merge or a selection as a table without payload, opens it, and binds it to sources that have moved.

#[cfg(feature = "frame")]
pub(in crate::table) mod new_view;
pub(in crate::table) mod rebind;
#[cfg(feature = "frame")]
mod saving;
pub(in crate::table) mod view;
#[cfg(feature = "frame")]
pub(in crate::table) mod view_index;

#[cfg(feature = "frame")]
pub use new_view::{SavedView, ViewOptions, ViewSize};
#[cfg(feature = "frame")]
pub use saving::ViewTarget;
#[cfg(feature = "frame")]
pub(crate) use saving::{ViewInput, save_views, view_sizes};
