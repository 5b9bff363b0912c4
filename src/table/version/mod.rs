//! One version of a table, opened: its handle [`Table`], what is known of its objects, and its index columns row by row.

pub(in crate::table) mod described;
pub(in crate::table) mod index_rows;
pub(in crate::table) mod layout_cache;
pub(in crate::table) mod layouts;
pub(in crate::table) mod lists;
pub(in crate::table) mod lookup;
pub(in crate::table) mod objects;
pub(in crate::table) mod seen;
pub(in crate::table) mod table;
mod tail_cache;
pub(in crate::table) mod tails;
pub(in crate::table) mod temporary;
pub(in crate::table) mod url;

pub use described::{GroupBytes, SegmentGroup, SegmentInfo};
pub(crate) use index_rows::ranges_of;
pub use table::Table;
pub use url::TableUrl;
