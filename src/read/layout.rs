//! The block map of one column group in memory: resolves a row to a block, a block to a byte range.
//!
//! Lengths stay bit-packed as they are stored (`format-spec/segment.md#layout`); offsets are prefix sums with checkpoints.

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
    /// See [`Layout::expansion`]; 0 where nobody said.
    expansion: u64,
}

/// A block: its run and its number there. Orders as blocks do in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockPlace {
    /// The run's number in the layout.
    pub run: usize,
    /// The block's number in the run.
    pub block: usize,
}

/// Where a row lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowPlace {
    /// Its block.
    pub block: BlockPlace,
    /// Its number within the block.
    pub row: usize,
}

impl Layout {
    /// The layout of these runs, in table order.
    pub fn new(runs: Vec<LayoutRun>) -> Self {
        let mut starts = vec![0];
        let mut end = 0;
        for run in &runs {
            end += run.rows;
            starts.push(end);
        }
        Self { runs, starts, expansion: 0 }
    }

    /// The same of a group whose values take so many bytes decoded.
    pub fn with_logical_bytes(mut self, bytes: u64) -> Self {
        self.expansion = bytes / self.runs.iter().map(LayoutRun::stored_bytes).fold(1, u64::saturating_add);
        self
    }

    /// How many bytes a stored byte decodes to, about; at least 1.
    pub fn expansion(&self) -> u64 {
        self.expansion.max(1)
    }

    /// Its runs.
    pub fn runs(&self) -> &[LayoutRun] {
        &self.runs
    }

    /// Rows covered.
    pub fn rows(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Where a table row lies.
    ///
    /// # Errors
    /// `Invalid` for a row outside the table.
    pub fn locate(&self, row: u64) -> Result<RowPlace> {
        let outside = || Error::invalid(format!("row {row} is outside 0..{}", self.rows()));
        let number = self.starts.partition_point(|start| *start <= row).checked_sub(1).ok_or_else(outside)?;
        let (run, start) = self.runs.get(number).zip(self.starts.get(number)).ok_or_else(outside)?;
        let (block, first) = run.block_rows.find(row - start).ok_or_else(outside)?;
        let within = usize::try_from(row - start - first).map_err(|_| outside())?;
        Ok(RowPlace { block: BlockPlace { run: number, block }, row: within })
    }

    /// The run of a block.
    ///
    /// # Errors
    /// `Internal` for a block that this layout did not give out.
    pub fn run(&self, place: BlockPlace) -> Result<&LayoutRun> {
        let run = self.runs.get(place.run).filter(|run| place.block < run.lengths.len());
        run.ok_or_else(|| Error::internal(format!("no block {place:?} in the layout")))
    }

    /// The table row at which a block starts.
    pub fn first_row(&self, place: BlockPlace) -> Result<u64> {
        let within = self.run(place)?.block_rows.sum_of_first(place.block);
        Ok(self.starts.get(place.run).copied().unwrap_or(0) + within)
    }

    /// Where a block lies in its chunk.
    ///
    /// # Errors
    /// As [`Layout::run`].
    pub fn byte_range(&self, place: BlockPlace) -> Result<Range<u64>> {
        let run = self.run(place)?;
        let start = run.first_offset + 8 * run.lengths.sum_of_first(place.block);
        Ok(start..start + 8 * u64::from(run.lengths.get(place.block)))
    }

    /// Bytes it takes in memory.
    pub fn memory_bytes(&self) -> usize {
        let runs = self.runs.iter().map(|run| size_of::<LayoutRun>() + run.heap_bytes());
        runs.sum::<usize>() + self.starts.len() * size_of::<u64>()
    }
}
