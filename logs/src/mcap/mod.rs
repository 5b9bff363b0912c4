//! MCAP files: records, chunks, the summary, and the messages of a file with their places.
//!
//! Follows the [specification of MCAP](https://mcap.dev/spec). The index at the end of a file is trusted only if it is complete;
//! else the file is read from front to back. Each chunk is checked against its CRC before a message of it is used.

mod block;
mod chunk;
mod file;
mod linear;
pub(crate) mod records;
mod summary;

pub use block::Block;
pub use file::McapFile;
pub use records::{Channel, MessageHead, Schema, Statistics};
