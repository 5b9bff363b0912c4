//! Reads rows in five steps: plan, fetch, verify, decode, assemble. Does not depend on polars.
//!
//! A [`ReadPlan`] is a plain value, made by pure functions: [`locate`] turns rows into blocks, [`plan_group`] turns blocks into byte
//! ranges, and [`ReadPlan::new`] decides how they are read. [`execute`] fetches the ranges, verifies and decodes every block once, and
//! assembles Arrow columns: `local` from files, `remote` from object stores.
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
mod group_plan;
mod land;
mod landing;
mod layout;
mod local;
mod page;
mod pieces;
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
pub use group_plan::{Coalesce, GroupPlan, GroupRequest, locate, plan_group};
pub use layout::{BlockPlace, ChunkRun, Layout, RowPlace};
pub use plan::{BlockPlaces, Explain, ExplainGroup, RangePlace, ReadPlan};
pub use splits::{Piece, ReadSplit, SplitSize, even_splits, splits};
pub use times::{Pick, TimeOffsets, TimeSpan, Times};
pub(crate) use window::MAX_WINDOW;
pub use window::{Edge, Offsets, Sequences, Window, window};

// For tests.
#[cfg(feature = "unstable")]
pub use {
    block_cache::Snapshot,
    group_plan::{BlockBytes, BlockRead, Located, RangeRead, Slice, SubRange},
    page::Page,
    splits::ReadSplits,
};
