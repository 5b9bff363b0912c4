//! The blocks of a column group for drawing: rows, bytes, chunk, owner, highlighted or not.

use std::{collections::BTreeSet, ops::Range};

use tetrys::{
    Result,
    table::{BlockPlace, ChunkId, Layout},
};

/// The blocks of one column group.
pub(crate) struct GroupMap {
    /// Name of the group.
    pub(crate) name: String,
    /// The blocks in table order.
    pub(crate) blocks: Vec<Block>,
    /// Number of different chunks that hold the blocks.
    pub(crate) chunks: u64,
    /// Names of chunks by number. A chunk that is used twice has two numbers.
    pub(crate) names: Vec<ChunkId>,
}

/// One block.
pub(crate) struct Block {
    /// Row numbers of the block, cut to the shown rows.
    pub(crate) rows: Range<u64>,
    /// Stored bytes of the block.
    pub(crate) bytes: u64,
    /// Number of its chunk in the group, in table order.
    pub(crate) chunk: u64,
    /// The table that holds the block: 0 for this table, k for the k-th table that the manifest names.
    pub(crate) owner: u32,
    /// Whether the highlighted read takes the block.
    pub(crate) lit: bool,
}

impl GroupMap {
    /// Returns the blocks that hold some of `rows`. Blocks that hold one of the rows `lit` are highlighted.
    pub(crate) fn of(name: &str, layout: &Layout, lit: &[u64], rows: &Range<u64>) -> Result<Self> {
        let lit: BTreeSet<BlockPlace> =
            lit.iter().map(|row| layout.locate(*row).map(|place| place.block)).collect::<Result<_>>()?;
        let mut names: Vec<ChunkId> = Vec::new();
        let (mut blocks, mut row) = (Vec::new(), 0);
        for (number, run) in layout.chunk_runs().enumerate() {
            // Two equal partitions in a row share one chunk, which then begins again.
            if names.last() != Some(&run.chunk()) || run.first_block() == 0 {
                names.push(run.chunk());
            }
            if row + run.rows() <= rows.start || row >= rows.end {
                row += run.rows();
                continue;
            }
            for block in 0..run.blocks() {
                let end = row + u64::from(run.block_rows(block));
                if row < rows.end && rows.start < end {
                    blocks.push(Block {
                        rows: row.max(rows.start)..end.min(rows.end),
                        bytes: run.block_bytes(block),
                        chunk: names.len() as u64 - 1,
                        owner: run.owner(),
                        lit: lit.contains(&BlockPlace { run: number, block }),
                    });
                }
                row = end;
            }
        }
        let map = Self { name: name.to_owned(), blocks, chunks: 0, names };
        let chunks = map.blocks.iter().map(|block| map.chunk_of(block)).collect::<BTreeSet<_>>().len() as u64;
        Ok(Self { chunks, ..map })
    }

    /// Returns the name of the chunk of a block.
    pub(crate) fn chunk_of(&self, block: &Block) -> Option<ChunkId> {
        usize::try_from(block.chunk).ok().and_then(|chunk| self.names.get(chunk)).copied()
    }

    /// Returns the rows at which chunks of the group begin, except the first.
    fn chunk_starts(&self) -> BTreeSet<u64> {
        self.blocks.windows(2).filter(|pair| pair[0].chunk != pair[1].chunk).map(|pair| pair[1].rows.start).collect()
    }
}

/// Returns the rows at which every group begins a chunk. Every start of a partition is such a row: a chunk never spans
/// partitions.
pub(crate) fn seams(maps: &[GroupMap]) -> BTreeSet<u64> {
    let mut starts = maps.iter().filter(|map| !map.blocks.is_empty()).map(GroupMap::chunk_starts);
    let Some(first) = starts.next() else { return BTreeSet::new() };
    starts.fold(first, |common, starts| common.intersection(&starts).copied().collect())
}
