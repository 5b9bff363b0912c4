//! The layout of one column group in memory: resolves a row to a block, and a block to a byte range.
//!
//! Lengths stay bit-packed as they are stored (`format-spec/segment.md#layout`). Offsets are prefix sums with checkpoints.

use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

use crate::{
    error::{Error, Result},
    format::LayoutRun,
    id::ChunkId,
};

/// The layout of one column group over all segments.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    runs: Vec<LayoutRun>,
    /// First table row of each run, and the number of rows behind the last.
    starts: Vec<u64>,
    /// See [`Layout::expansion`]; 0 if unknown.
    expansion: u64,
    /// The layouts of some segments, instead of runs.
    parts: Vec<Part>,
    /// Rows of the table, if the layout has parts.
    rows: u64,
    /// The name of the chunk object of each run, once a read has needed it.
    objects: Vec<OnceLock<Arc<str>>>,
}

/// The first row of a segment, the number of its first run in the table, and its layout.
pub(crate) type Part = (u64, usize, Arc<Layout>);

/// A block: its run and its number in the run. The order of places is the order of the blocks in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockPlace {
    /// The number of the run in the layout.
    pub run: usize,
    /// The number of the block in the run.
    pub block: usize,
}

/// A row: its block and its number in the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RowPlace {
    /// The block that holds the row.
    pub block: BlockPlace,
    /// The number of the row in the block.
    pub row: usize,
}

/// Neighbouring blocks of a column group that lie in one chunk, one behind the other: a run. Blocks are numbered within the run.
///
/// ```no_run
/// # async fn example(table: tetrys::Table) -> tetrys::Result<()> {
/// for run in table.storage().layout(0).await?.chunk_runs() {
///     let bytes: u64 = (0..run.blocks()).map(|block| run.block_bytes(block)).sum();
///     println!("{}: {} rows in {} blocks, {bytes} bytes", run.chunk(), run.rows(), run.blocks());
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ChunkRun<'a>(&'a LayoutRun);

impl ChunkRun<'_> {
    /// Returns the chunk that holds the blocks.
    pub fn chunk(&self) -> ChunkId {
        self.0.chunk
    }

    /// Returns the table that has the chunk: 0 for this table, k for the k-th of [`Storage::owners`](crate::table::Storage::owners).
    pub fn owner(&self) -> u32 {
        self.0.owner
    }

    /// Returns the number that the first block of the run has in its chunk.
    pub fn first_block(&self) -> u32 {
        self.0.first_block
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.0.rows
    }

    /// Returns the number of blocks.
    pub fn blocks(&self) -> usize {
        self.0.lengths.len()
    }

    /// Returns the number of rows of a block; 0 if the run has no such block.
    pub fn block_rows(&self, block: usize) -> u32 {
        if block < self.blocks() { self.0.block_rows.get(block) } else { 0 }
    }

    /// Returns the number of stored bytes of a block; 0 if the run has no such block.
    pub fn block_bytes(&self, block: usize) -> u64 {
        if block < self.blocks() { 8 * u64::from(self.0.lengths.get(block)) } else { 0 }
    }

    /// Returns the number of rows of the run that are before a block.
    pub fn rows_before(&self, block: usize) -> u64 {
        self.0.block_rows.sum_of_first(block)
    }

    /// Returns the number of stored bytes of the run that are before a block.
    pub fn bytes_before(&self, block: usize) -> u64 {
        8 * self.0.lengths.sum_of_first(block)
    }

    /// Returns the block that holds a row, which is counted from the first row of the run; `None` if the run has no such row.
    pub fn block_of(&self, row: u64) -> Option<usize> {
        self.0.block_rows.find(row).map(|(block, _)| block)
    }
}

impl Layout {
    internal! {
        /// Creates a layout from runs in table order.
        fn new(runs: Vec<LayoutRun>) -> Self {
            let mut starts = vec![0];
            let mut end = 0;
            for run in &runs {
                end += run.rows;
                starts.push(end);
            }
            let objects = vec![OnceLock::new(); runs.len()];
            Self { runs, starts, expansion: 0, parts: Vec::new(), rows: 0, objects }
        }
    }

    internal! {
        /// Creates a layout from the layouts of some segments of a table of `rows` rows, in table order: the first row of each, the
        /// number of its first run in the table, and the layout. Rows of other segments cannot be located.
        fn of_parts(parts: Vec<Part>, rows: u64) -> Self {
            Self { parts, rows, ..Self::default() }
        }
    }

    /// Returns the part with a run, and the place of the block in that part.
    fn part(&self, place: BlockPlace) -> Option<(&Part, BlockPlace)> {
        let number = self.parts.partition_point(|(_, first, _)| *first <= place.run).checked_sub(1)?;
        let part = self.parts.get(number)?;
        Some((part, BlockPlace { run: place.run.checked_sub(part.1)?, ..place }))
    }

    internal! {
        /// Sets the decoded size of all values of the group, in bytes. [`Layout::expansion`] follows from it.
        fn with_logical_bytes(self, bytes: u64) -> Self {
            let runs = self.runs.iter().chain(self.parts.iter().flat_map(|(_, _, part)| &part.runs));
            let stored = runs.map(LayoutRun::stored_bytes).fold(1, u64::saturating_add);
            self.with_expansion(bytes / stored)
        }
    }

    internal! {
        /// Sets the number of decoded bytes for each stored byte.
        fn with_expansion(mut self, expansion: u64) -> Self {
            self.expansion = expansion;
            self
        }
    }

    internal! {
        /// Returns the approximate number of decoded bytes for each stored byte; at least 1.
        fn expansion(&self) -> u64 {
            self.expansion.max(1)
        }
    }

    internal! {
        /// Returns the runs, in table order. A layout of parts returns none.
        fn runs(&self) -> &[LayoutRun] {
            &self.runs
        }
    }

    /// Returns the neighbouring blocks that lie in one chunk, in table order. The layout of some rows has none ([`Layout::chunk_run`]
    /// finds the run of a row).
    pub fn chunk_runs(&self) -> impl ExactSizeIterator<Item = ChunkRun<'_>> {
        self.runs.iter().map(ChunkRun)
    }

    /// Returns the run that a block is in.
    ///
    /// # Errors
    /// - `Internal`: the layout has no such block.
    pub fn chunk_run(&self, place: BlockPlace) -> Result<ChunkRun<'_>> {
        self.run(place).map(ChunkRun)
    }

    /// Returns the number of rows of the layout.
    pub fn rows(&self) -> u64 {
        self.starts.last().copied().unwrap_or(self.rows)
    }

    /// Returns the place of a table row.
    ///
    /// # Errors
    /// - `Invalid`: the row is outside the table.
    pub fn locate(&self, row: u64) -> Result<RowPlace> {
        let outside = || Error::invalid(format!("row {row} is outside 0..{}", self.rows()));
        // A layout of parts has no starts, also if no segment has the wanted rows.
        if self.starts.is_empty() && row < self.rows {
            let absent = || Error::internal(format!("the layout of row {row} is not loaded"));
            let number = self.parts.partition_point(|(first, ..)| *first <= row).checked_sub(1).ok_or_else(absent)?;
            let (first_row, first_run, part) = self.parts.get(number).ok_or_else(absent)?;
            let mut place = part.locate(row - first_row).map_err(|_| absent())?;
            place.block.run += first_run;
            return Ok(place);
        }
        let number = self.starts.partition_point(|start| *start <= row).checked_sub(1).ok_or_else(outside)?;
        let (run, start) = self.runs.get(number).zip(self.starts.get(number)).ok_or_else(outside)?;
        let (block, first) = run.block_rows.find(row - start).ok_or_else(outside)?;
        let within = usize::try_from(row - start - first).map_err(|_| outside())?;
        Ok(RowPlace { block: BlockPlace { run: number, block }, row: within })
    }

    internal! {
        /// Returns the run of a block.
        ///
        /// # Errors
        /// - `Internal`: the layout has no such block.
        fn run(&self, place: BlockPlace) -> Result<&LayoutRun> {
            if let Some(((_, _, part), within)) = self.part(place) {
                return part.run(within);
            }
            let run = self.runs.get(place.run).filter(|run| place.block < run.lengths.len());
            run.ok_or_else(|| Error::internal(format!("no block {place:?} in the layout")))
        }
    }

    /// Whether two blocks are the same bytes of one chunk, and the second begins its run: there, a table repeats the block before.
    pub(super) fn is_repeat(&self, place: BlockPlace, next: BlockPlace) -> bool {
        if next.block != 0 || next.run == place.run {
            return false;
        }
        let (Ok(run), Ok(other)) = (self.run(place), self.run(next)) else { return false };
        (run.chunk, run.owner, run.seed) == (other.chunk, other.owner, other.seed)
            && u32::try_from(place.block).is_ok_and(|block| run.first_block.checked_add(block) == Some(other.first_block))
            && self.byte_range(place).ok() == self.byte_range(next).ok()
            && run.block_rows.get(place.block) == other.block_rows.get(0)
            && run.chains == other.chains
    }

    /// Returns the name of the object that holds a block; `run` is the run of the block.
    pub(super) fn object(&self, place: BlockPlace, run: &LayoutRun) -> Arc<str> {
        let name = || run.chunk.object_name().into();
        if let Some(((_, _, part), within)) = self.part(place) {
            return part.object(within, run);
        }
        let Some(slot) = self.objects.get(place.run) else { return name() };
        if let Some(slot) = slot.get() {
            return Arc::clone(slot);
        }
        // Made before the cell is locked: a process that is forked meanwhile would wait for ever.
        let made = name();
        Arc::clone(slot.get_or_init(|| made))
    }

    /// Returns the first table row of a block.
    ///
    /// # Errors
    /// - `Internal`: the layout has no such block.
    pub fn first_row(&self, place: BlockPlace) -> Result<u64> {
        if let Some(((first_row, _, part), within)) = self.part(place) {
            return Ok(first_row + part.first_row(within)?);
        }
        let within = self.run(place)?.block_rows.sum_of_first(place.block);
        Ok(self.starts.get(place.run).copied().unwrap_or(0) + within)
    }

    /// Returns the byte range of a block in its chunk.
    ///
    /// # Errors
    /// - `Internal`: the layout has no such block.
    pub fn byte_range(&self, place: BlockPlace) -> Result<Range<u64>> {
        let run = self.run(place)?;
        let start = run.first_offset + 8 * run.lengths.sum_of_first(place.block);
        Ok(start..start + 8 * u64::from(run.lengths.get(place.block)))
    }

    internal! {
        /// Returns the bytes that the layout takes in memory.
        fn memory_bytes(&self) -> usize {
            let runs = self.runs.iter().map(|run| size_of::<LayoutRun>() + run.heap_bytes());
            // A name lies behind two counts of references.
            let name = self.runs.first().map_or(0, |run| run.chunk.object_name().len() + 2 * size_of::<usize>());
            runs.sum::<usize>() + self.starts.len() * (size_of::<u64>() + size_of::<OnceLock<Arc<str>>>() + name)
        }
    }
}
