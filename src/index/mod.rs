//! The index as a polars frame: the only floor below `table/` that names polars.

mod frame;
mod locate;
mod merge;

pub use frame::frame;
pub use locate::{NO_PARTNER, is_locator, locate, locator_column, retag};
pub use merge::Merge;
