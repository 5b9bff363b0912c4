//! The index as a polars frame. Below `table/` only this folder uses polars.

mod aside;
mod columns;
mod depth;
mod frame;
mod lists;
mod locate;
mod merge;
mod predicate;
mod prepare;
mod pushdown;
mod serialized;
mod sql;
mod unframe;

pub(crate) use aside::{aside, check_process, collect};
pub use columns::{Filling, Leftovers, Part, frame_bytes};
pub(crate) use depth::within;
pub(crate) use frame::{bytes_of, internal, own_rows, shown_zone, taken};
pub use frame::{frame, with_locators, without_locators};
pub use locate::{NO_PARTNER, is_locator, locate, locator_column, retag};
pub use merge::Merge;
pub(crate) use predicate::{Piece, Predicate, both, bounded};
pub(crate) use pushdown::{Pushdown, is_by_row, of_columns, of_condition, of_expression, of_query};
pub(crate) use serialized::{of_serialized, sees_categories};
pub(crate) use sql::{error_text, filtered, query, with_columns};
pub(crate) use unframe::type_text;
pub use unframe::{column_type, stored_type, unframed};
