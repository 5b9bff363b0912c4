//! ROS 1 bags (`.bag`): records, chunks, the index, and the messages of a file with their places.
//!
//! Follows [version 2.0 of the format](https://wiki.ros.org/Bags/Format/2.0). The index at the end of a bag is trusted only if it is
//! complete; else the file is read from front to back, as one whose recorder did not finish it (`.bag.active`) always is.

mod block;
mod chunk;
mod connections;
mod file;
mod index;
mod records;
mod scan;

pub use file::BagFile;

/// Ends of the names of bags, also of those that somebody compressed as a whole.
pub(crate) const ENDS: [&str; 6] = [".bag", ".bag.active", ".bag.zst", ".bag.zstd", ".bag.active.zst", ".bag.active.zstd"];

/// Whether a file with this name is a ROS 1 bag.
pub(crate) fn is_bag(name: &str) -> bool {
    ENDS.iter().any(|end| name.ends_with(end))
}
