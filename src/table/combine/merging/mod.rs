//! Merges tables whose indexes are larger than memory, and saves the result as a view.
//!
//! ```text
//! left index  --- some row groups at a time, in order ------------------+
//!                                                                       v
//! right index --- clustered like the left: ranges of rows (`runs`) --> join --> view index, join map
//!             \-- else: hash partitions in temporary files (`partitions`) --^
//! ```
//!
//! The result equals the merge of both indexes in memory, row by row.

mod partitions;
mod runs;
mod save;
mod spans;
mod spill;
mod task;

pub use save::TableMerge;
