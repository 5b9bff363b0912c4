//! How rows are stored: plain data.

use super::{known::Reuse, locality::Locality};
use crate::{
    codec::Preset,
    format::{Cuts, MAX_SEGMENT_ROWS},
};

/// How rows are stored.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// Chooses the codec chains.
    pub preset: Preset,
    /// Where rows are cut into blocks and blocks into chunks.
    pub cuts: Cuts,
    /// Encoded bytes that one partition writer holds in memory before it spills to a temporary file; while chunks are being
    /// stored, one or as many of up to three as fit into this, their own bytes come on top.
    pub write_memory: usize,
    /// Rows of an index segment, at most (and 4,194,304 at most); a segment takes whole partitions, at least one.
    pub segment_rows: u64,
    /// Which blocks of reference tables and earlier versions are used again.
    pub reuse: Reuse,
    /// The most that sharing may cost a window of neighbouring rows.
    pub locality: Locality,
    /// Memory for the hashes of known blocks; beyond it they lie in temporary files.
    pub known_memory: usize,
    /// Whether to go on where a table whose chunks are used cannot be told so, being read-only as a rule: a garbage collection
    /// there may then delete the chunks. Without it that is an error, before anything is written.
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
