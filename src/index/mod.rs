//! The index as a polars frame: the only floor below `table/` that names polars.

mod frame;
mod locate;

pub use frame::frame;
pub use locate::{locate, locator_column};
