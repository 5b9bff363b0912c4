//! Reads rows in five steps: plan, fetch, verify, decode, assemble. Does not depend on polars.
//!
//! [`plan`] is a pure function: it turns rows, columns and layouts into byte ranges. [`execute`] fetches the ranges, verifies and
//! decodes every block once, and assembles Arrow columns.
#![deny(clippy::unwrap_used, clippy::indexing_slicing, clippy::cast_possible_truncation)]

mod assemble;
mod block_cache;
mod cover;
mod decode;
mod execute;
mod files;
mod flights;
mod gather;
mod land;
mod layout;
mod page;
mod plan;
mod sizes;
mod times;
mod window;

pub use block_cache::{BlockCache, CachedBlocks};
pub use cover::{GroupCost, cover};
pub use execute::{execute, file_reads};
pub use flights::Flights;
pub use layout::{BlockPlace, Layout, RowPlace};
pub use page::Page;
pub use plan::{
    BlockBytes, BlockRead, Coalesce, Explain, ExplainGroup, GroupPlan, GroupRequest, RangeRead, ReadPlan, SubRange, plan,
};
pub use times::{Pick, TimeOffsets, TimeSpan, Times};
pub use window::{Edge, Offsets, Sequences, Window, window};
