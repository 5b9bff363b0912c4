//! The layout of one column group in memory: resolves a row to a block, and a block to a byte range.
//!
//! Lengths stay bit-packed as they are stored (`format-spec/segment.md#layout`). Offsets are prefix sums with checkpoints.

use std::ops::Range;

use crate::{
    error::{Error, Result},
    format::LayoutRun,
};

/// The layout of one column group over all segments.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    runs: Vec<LayoutRun>,
    /// First table row of each run, and the number of rows behind the last.
    starts: Vec<u64>,
    /// See [`Layout::expansion`]; 0 if unknown.
    expansion: u64,
}

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
pub struct RowPlace {
    /// The block that holds the row.
    pub block: BlockPlace,
    /// The number of the row in the block.
    pub row: usize,
}

impl Layout {
    /// Creates a layout from runs in table order.
    pub fn new(runs: Vec<LayoutRun>) -> Self {
        let mut starts = vec![0];
        let mut end = 0;
        for run in &runs {
            end += run.rows;
            starts.push(end);
        }
        Self { runs, starts, expansion: 0 }
    }

    /// Sets the decoded size of all values of the group, in bytes. [`Layout::expansion`] follows from it.
    pub fn with_logical_bytes(mut self, bytes: u64) -> Self {
        self.expansion = bytes / self.runs.iter().map(LayoutRun::stored_bytes).fold(1, u64::saturating_add);
        self
    }

    /// Returns the approximate number of decoded bytes for each stored byte; at least 1.
    pub fn expansion(&self) -> u64 {
        self.expansion.max(1)
    }

    /// Returns the runs, in table order.
    pub fn runs(&self) -> &[LayoutRun] {
        &self.runs
    }

    /// Returns the number of rows of the layout.
    pub fn rows(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Returns the place of a table row.
    ///
    /// # Errors
    /// - `Invalid`: the row is outside the table.
    pub fn locate(&self, row: u64) -> Result<RowPlace> {
        let outside = || Error::invalid(format!("row {row} is outside 0..{}", self.rows()));
        let number = self.starts.partition_point(|start| *start <= row).checked_sub(1).ok_or_else(outside)?;
        let (run, start) = self.runs.get(number).zip(self.starts.get(number)).ok_or_else(outside)?;
        let (block, first) = run.block_rows.find(row - start).ok_or_else(outside)?;
        let within = usize::try_from(row - start - first).map_err(|_| outside())?;
        Ok(RowPlace { block: BlockPlace { run: number, block }, row: within })
    }

    /// Returns the run of a block.
    ///
    /// # Errors
    /// - `Internal`: the layout has no such block.
    pub fn run(&self, place: BlockPlace) -> Result<&LayoutRun> {
        let run = self.runs.get(place.run).filter(|run| place.block < run.lengths.len());
        run.ok_or_else(|| Error::internal(format!("no block {place:?} in the layout")))
    }

    /// Returns the first table row of a block.
    ///
    /// # Errors
    /// - `Internal`: the layout has no such block.
    pub fn first_row(&self, place: BlockPlace) -> Result<u64> {
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

    /// Returns the bytes that the layout takes in memory.
    pub fn memory_bytes(&self) -> usize {
        let runs = self.runs.iter().map(|run| size_of::<LayoutRun>() + run.heap_bytes());
        runs.sum::<usize>() + self.starts.len() * size_of::<u64>()
    }
}
