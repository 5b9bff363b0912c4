//! Reads rows in five steps: plan, fetch, verify, decode, assemble. Does not depend on polars.
//!
//! [`plan`] is a pure function: it turns rows, columns and layouts into byte ranges. [`execute`] fetches the ranges, verifies and
//! decodes every block once, and assembles Arrow columns: `local` from files, `remote` from object stores.
#![deny(clippy::unwrap_used, clippy::indexing_slicing, clippy::cast_possible_truncation)]

mod assemble;
mod block_cache;
mod columns;
mod counts;
mod cover;
mod decode;
mod execute;
mod files;
mod flights;
mod gather;
mod group;
mod land;
mod layout;
mod local;
mod page;
mod plan;
mod reading;
mod remote;
mod sizes;
mod splits;
mod times;
mod window;

pub use block_cache::{BlockCache, CachedBlocks};
pub use columns::GroupColumns;
pub use counts::{Counted, ReadCounts};
pub use cover::{GroupCost, cover};
pub use execute::execute;
pub use flights::{CONCURRENT, Flights};
pub use layout::{BlockPlace, Layout, RowPlace};
pub use local::file_reads;
pub use page::Page;
pub use plan::{
    BlockBytes, BlockRead, Coalesce, Explain, ExplainGroup, GroupPlan, GroupRequest, RangeRead, ReadPlan, SubRange, plan,
};
pub use splits::{Piece, Split, SplitSize, Splits, splits};
pub use times::{Pick, TimeOffsets, TimeSpan, Times};
pub(crate) use window::MAX_WINDOW;
pub use window::{Edge, Offsets, Sequences, Window, window};
