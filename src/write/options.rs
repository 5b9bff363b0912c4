//! Options of a writer: plain data.

use serde::{Deserialize, Serialize};

use super::{known::Reuse, locality::Locality};
use crate::{
    codec::Preset,
    format::{Cuts, MAX_SEGMENT_ROWS},
};

/// Options of a writer. Each option has a method of its name that sets it.
///
/// ```
/// use tetrys::{Preset, WriteOptions};
///
/// let options = WriteOptions::default().preset(Preset::Compact).segment_rows(100_000);
/// assert_eq!((options.preset, options.segment_rows), (Preset::Compact, 100_000));
/// // Options are also read from a file: those that it leaves out have their defaults.
/// let options: WriteOptions = serde_json::from_str(r#"{"preset": "fast", "locality": {"window": 11}}"#)?;
/// assert_eq!((options.preset, options.locality.window), (Preset::Fast, 11));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[must_use]
#[non_exhaustive]
pub struct WriteOptions {
    /// Preset that chooses the codec chains.
    pub preset: Preset,
    /// Minimum, target and maximum sizes of blocks and chunks, in logical bytes.
    pub cuts: Cuts,
    /// Encoded bytes that one partition writer holds in memory, with the chunks that it uploads, before it spills to a temporary file.
    /// While it assembles a chunk, it holds up to a quarter more. It holds at least one chunk, twice while it assembles it, even if that
    /// exceeds this bound.
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
    /// Which index segments get tails, so that readers can read and verify parts of them.
    pub index_tails: IndexTails,
    /// Whether a block of at least 16 KiB that is equal to the block before it is stored once: both rows then refer to the same bytes of a
    /// chunk. For rows that repeat large values one after the other, such as pictures at half the rate of the rows. Each repetition takes
    /// about a hundred bytes of the layout, and a chunk begins with bytes of its own. A row of at least 16 KiB is then alone in its block.
    pub share_repeats: bool,
}

/// Which index segments get tails. By a tail, a reader loads and verifies only the columns and rows of the index that it needs. All
/// builds read a table with tails. Builds before the feature cannot write its later versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum IndexTails {
    /// Segments of at least 16,384 rows, and all segments that are added to a table with tails.
    #[default]
    Large,
    /// All segments.
    All,
    /// None, except segments that are added to a table with tails.
    None,
}

/// Rows of a segment that gets a tail by default: two pages of each column. A smaller segment is read as fast as its tail.
const LARGE_ROWS: u64 = 16 << 10;

impl IndexTails {
    /// Whether a segment of so many rows gets a tail.
    pub(crate) fn has(self, rows: u64) -> bool {
        match self {
            Self::Large => rows >= LARGE_ROWS,
            Self::All => true,
            Self::None => false,
        }
    }
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
            index_tails: IndexTails::default(),
            share_repeats: false,
        }
    }
}

impl WriteOptions {
    /// Sets [`WriteOptions::preset`].
    pub fn preset(mut self, preset: Preset) -> Self {
        self.preset = preset;
        self
    }

    /// Sets [`WriteOptions::cuts`].
    pub fn cuts(mut self, cuts: Cuts) -> Self {
        self.cuts = cuts;
        self
    }

    /// Sets [`WriteOptions::write_memory`].
    pub fn write_memory(mut self, write_memory: usize) -> Self {
        self.write_memory = write_memory;
        self
    }

    /// Sets [`WriteOptions::segment_rows`].
    pub fn segment_rows(mut self, segment_rows: u64) -> Self {
        self.segment_rows = segment_rows;
        self
    }

    /// Sets [`WriteOptions::reuse`].
    pub fn reuse(mut self, reuse: Reuse) -> Self {
        self.reuse = reuse;
        self
    }

    /// Sets [`WriteOptions::locality`].
    pub fn locality(mut self, locality: Locality) -> Self {
        self.locality = locality;
        self
    }

    /// Sets [`WriteOptions::known_memory`].
    pub fn known_memory(mut self, known_memory: usize) -> Self {
        self.known_memory = known_memory;
        self
    }

    /// Sets [`WriteOptions::allow_unpinned`].
    pub fn allow_unpinned(mut self, allow_unpinned: bool) -> Self {
        self.allow_unpinned = allow_unpinned;
        self
    }

    /// Sets [`WriteOptions::index_tails`].
    pub fn index_tails(mut self, index_tails: IndexTails) -> Self {
        self.index_tails = index_tails;
        self
    }

    /// Sets [`WriteOptions::share_repeats`].
    pub fn share_repeats(mut self, share_repeats: bool) -> Self {
        self.share_repeats = share_repeats;
        self
    }
}
