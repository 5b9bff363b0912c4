//! The block map of a column group as a picture needs it: rows, bytes, chunk, lit or not.

use std::{collections::BTreeSet, ops::Range};

use tetrys::{
    Result,
    table::{BlockPlace, ChunkId, Layout},
};

/// The blocks of one column group.
pub(crate) struct GroupMap {
    /// Its name.
    pub(crate) name: String,
    /// In table order.
    pub(crate) blocks: Vec<Block>,
    /// How many different chunks hold them.
    pub(crate) chunks: u64,
    /// The name of each chunk by its number; one that is used again has two numbers.
    pub(crate) names: Vec<ChunkId>,
}

/// One block.
pub(crate) struct Block {
    /// Its rows.
    pub(crate) rows: Range<u64>,
    /// Its stored bytes.
    pub(crate) bytes: u64,
    /// The number of its chunk among those of the group, in the order in which rows begin one.
    pub(crate) chunk: u64,
    /// The table that holds it: 0 for this one, k for the k-th that its manifest names.
    pub(crate) owner: u32,
    /// Whether the read takes it.
    pub(crate) lit: bool,
}

impl GroupMap {
    /// The blocks that hold some of `rows`; those with one of the rows `lit` are lit.
    pub(crate) fn of(name: &str, layout: &Layout, lit: &[u64], rows: &Range<u64>) -> Result<Self> {
        let lit: BTreeSet<BlockPlace> =
            lit.iter().map(|row| layout.locate(*row).map(|place| place.block)).collect::<Result<_>>()?;
        let mut names: Vec<ChunkId> = Vec::new();
        let (mut blocks, mut row) = (Vec::new(), 0);
        for (number, run) in layout.runs().iter().enumerate() {
            // Equal partitions are one chunk, which then begins again.
            if names.last() != Some(&run.chunk) || run.first_block == 0 {
                names.push(run.chunk);
            }
            if row + run.rows <= rows.start || row >= rows.end {
                row += run.rows;
                continue;
            }
            for (block, (count, length)) in run.block_rows.iter().zip(run.lengths.iter()).enumerate() {
                let end = row + u64::from(count);
                if row < rows.end && rows.start < end {
                    blocks.push(Block {
                        rows: row.max(rows.start)..end.min(rows.end),
                        bytes: 8 * u64::from(length),
                        chunk: names.len() as u64 - 1,
                        owner: run.owner,
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

    /// The name of a block's chunk.
    pub(crate) fn chunk_of(&self, block: &Block) -> Option<ChunkId> {
        usize::try_from(block.chunk).ok().and_then(|chunk| self.names.get(chunk)).copied()
    }

    /// The rows at which its chunks begin, but the first.
    fn chunk_starts(&self) -> BTreeSet<u64> {
        self.blocks.windows(2).filter(|pair| pair[0].chunk != pair[1].chunk).map(|pair| pair[1].rows.start).collect()
    }
}

/// The rows at which every group begins a chunk. Partitions end there: no chunk holds rows of two.
pub(crate) fn seams(maps: &[GroupMap]) -> BTreeSet<u64> {
    let mut starts = maps.iter().filter(|map| !map.blocks.is_empty()).map(GroupMap::chunk_starts);
    let Some(first) = starts.next() else { return BTreeSet::new() };
    starts.fold(first, |common, starts| common.intersection(&starts).copied().collect())
}
