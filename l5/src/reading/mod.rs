//! Reads frames of a Level 5 data set from a table, a zarr group or arrays in memory, as the columns that all computations take.
//!
//! [`FrameTable`] has the positions of scenes, frames and agents in memory: 32 bytes a frame. [`FrameTable::windows`] reads the
//! frames around several positions with one plan, and [`FrameWindows::frames`] borrows the columns of one of them. [`FrameRows`] takes the
//! columns of rows that the caller has read.

mod columns;
mod frames;
mod read_rows;
mod scene_cache;
mod wanted;
mod windows;

pub use frames::{Arrays, FrameTable};
pub use read_rows::{Face, FrameRows, REQUIRED_COLUMNS, missing_column};
pub use wanted::Wanted;
pub use windows::{FrameWindows, Scratch};
