//! The index as a polars frame: the only floor below `table/` that names polars.

mod aside;
mod frame;
mod locate;
mod merge;
mod unframe;

pub(crate) use aside::{aside, collect};
pub(crate) use frame::internal;
pub use frame::{frame, with_locators, without_locators};
pub use locate::{NO_PARTNER, is_locator, locate, locator_column, retag};
pub use merge::Merge;
pub use unframe::{column_type, unframed};
