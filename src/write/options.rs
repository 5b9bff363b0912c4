//! Options of a writer: plain data.

use super::{known::Reuse, locality::Locality};
use crate::{
    codec::Preset,
    format::{Cuts, MAX_SEGMENT_ROWS},
};

/// Options of a writer.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// Preset that chooses the codec chains.
    pub preset: Preset,
    /// Minimum, target and maximum sizes of blocks and chunks, in logical bytes.
    pub cuts: Cuts,
    /// Encoded bytes that one partition writer holds in memory before it spills to a temporary file. Uploads come on top: a
    /// writer uploads one chunk, or up to three chunks if their bytes together fit into this budget.
    pub write_memory: usize,
    /// Maximum rows of an index segment, at most 4,194,304. A segment holds whole partitions, and at least one.
    pub segment_rows: u64,
    /// Which blocks of reference tables and earlier versions are reused.
    pub reuse: Reuse,
    /// Maximum read cost that sharing blocks may add to a window of neighbouring rows.
    pub locality: Locality,
    /// Bytes of memory for the hashes of known blocks. Hashes beyond this budget lie in temporary files.
    pub known_memory: usize,
    /// Whether the writer goes on if it cannot put a pin into a table whose chunks it uses, usually because that table is
    /// read-only. Garbage collection of that table may then delete the chunks. If false, a missing pin is an error before
    /// anything is written.
    pub allow_unpinned: bool,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            preset: Preset::default(),
            cuts: Cuts::default(),
            write_memory: 512 << 20,
            segment_rows: MAX_SEGMENT_ROWS,
            reuse: Reuse::default(),
            locality: Locality::default(),
            known_memory: 256 << 20,
            allow_unpinned: false,
        }
    }
}
