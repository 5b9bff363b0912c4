//! Tables of the rows of other tables: merges, splits and selections of indexes, and the views that save them without payload.

#[cfg(feature = "frame")]
mod merge;
#[cfg(feature = "frame")]
mod merging;
#[cfg(feature = "frame")]
mod new_view;
mod rebind;
#[cfg(feature = "frame")]
mod saving;
#[cfg(feature = "frame")]
mod splits;
#[cfg(feature = "frame")]
mod splitting;

#[cfg(feature = "frame")]
pub use self::{
    merging::TableMerge,
    new_view::{SavedView, ViewOptions, ViewSize},
    saving::ViewTarget,
    splitting::TableSplit,
};
#[cfg(feature = "frame")]
pub(crate) use self::{
    saving::{ViewInput, save_views, view_sizes},
    splits::check_part_names,
};
