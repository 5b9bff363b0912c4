//! Decoded blocks to the rows asked for: consecutive rows of a block are one slice, and slices are gathered as blocks come.

use std::sync::Arc;

use arrow_array::{ArrayRef, make_array, new_null_array};

use super::{decode::Page, gather::Gather, plan::GroupPlan};
use crate::{
    error::{Error, Result, counted},
    schema::ColumnType,
};

/// The columns of one group, as far as its blocks have come.
pub(super) struct Assembly {
    types: Vec<ColumnType>,
    slices: Vec<Slice>,
    /// The first slice that has not been gathered.
    next: usize,
    /// The wanted pages of the blocks that came and are needed, as many for each block as there are types.
    pages: Vec<Option<Page>>,
    /// How many slices need each block.
    uses: Vec<usize>,
    /// A column each; none before the first rows are gathered.
    columns: Vec<Gather>,
    rows: usize,
    rows_left: usize,
    is_expecting: bool,
}

/// Consecutive rows of the result.
#[derive(Clone, Copy)]
pub(super) enum Slice {
    Missing(usize),
    Rows { block: usize, start: usize, len: usize },
}

impl Slice {
    fn len(self) -> usize {
        match self {
            Self::Missing(rows) | Self::Rows { len: rows, .. } => rows,
        }
    }

    pub(super) fn block(self) -> Option<usize> {
        match self {
            Self::Missing(_) => None,
            Self::Rows { block, .. } => Some(block),
        }
    }
}

impl Assembly {
    /// The wanted columns of a group have these types.
    pub(super) fn new(plan: &GroupPlan, types: Vec<ColumnType>) -> Self {
        let slices = slices(plan);
        let mut uses = vec![0; plan.blocks.len()];
        for block in slices.iter().filter_map(|slice| slice.block()) {
            if let Some(uses) = uses.get_mut(block) {
                *uses += 1;
            }
        }
        let pages = vec![None; plan.blocks.len() * types.len()];
        let rows = plan.rows.len();
        Self { types, slices, next: 0, pages, uses, columns: Vec::new(), rows, rows_left: rows, is_expecting: false }
    }

    /// The blocks in the order in which their rows come out.
    pub(super) fn order(&self) -> Vec<usize> {
        let mut seen = vec![false; self.uses.len()];
        let mut first = |block: &usize| seen.get_mut(*block).is_some_and(|seen| !std::mem::replace(seen, true));
        self.slices.iter().filter_map(|slice| slice.block()).filter(|block| first(block)).collect()
    }

    /// Takes the wanted pages of a block.
    pub(super) fn add(&mut self, block: usize, pages: impl IntoIterator<Item = Page>) -> Result<()> {
        let places =
            places(&mut self.pages, self.types.len(), block).ok_or_else(|| Error::internal(format!("no block {block}")))?;
        places.iter_mut().zip(pages).for_each(|(place, page)| *place = Some(page));
        Ok(())
    }

    /// Gathers what can be: up to the first row whose block has not come.
    pub(super) fn gather(&mut self) -> Result<()> {
        if self.columns.is_empty() {
            self.columns = self.types.iter().map(|ty| Gather::new(&ty.arrow(), self.rows)).collect::<Result<_>>()?;
        }
        while let Some(slice) = self.slices.get(self.next).copied() {
            match slice {
                Slice::Missing(rows) => self.columns.iter_mut().for_each(|column| column.append_nulls(rows)),
                Slice::Rows { block, start, len } => {
                    let pages = places(&mut self.pages, self.types.len(), block);
                    let Some((pages, uses)) = pages.zip(self.uses.get_mut(block)) else { break };
                    if pages.iter().any(Option::is_none) {
                        break;
                    }
                    *uses -= 1;
                    for (column, page) in self.columns.iter_mut().zip(pages) {
                        if let Some(found) = page {
                            column.append(found, start, len)?;
                        }
                        if *uses == 0 {
                            *page = None;
                        }
                    }
                }
            }
            self.rows_left -= slice.len();
            self.next += 1;
            // The first values say how long the others will be, about.
            if slice.block().is_some() && !std::mem::replace(&mut self.is_expecting, true) {
                self.columns.iter_mut().for_each(|column| column.expect(self.rows_left));
            }
        }
        Ok(())
    }

    /// The wanted columns, once every block came.
    ///
    /// A result that is exactly one block is that block's pages, without copying; any other one is copied, so that a few rows never
    /// keep a large buffer alive.
    ///
    /// # Errors
    /// `Unsupported` where the rows do not fit one Arrow array.
    pub(super) fn finish(mut self) -> Result<Vec<ArrayRef>> {
        if let [Slice::Rows { block, start: 0, len }] = self.slices.as_slice()
            && let Some(pages) = places(&mut self.pages, self.types.len(), *block)
            && pages.iter().all(|page| page.as_ref().is_some_and(|page| page.len() == *len))
        {
            let pages = pages.iter_mut().filter_map(Option::take);
            return Ok(pages.map(|page| make_array(Arc::unwrap_or_clone(page))).collect());
        }
        if self.rows == 0 {
            return Ok(self.types.iter().map(|ty| new_null_array(&ty.arrow(), 0)).collect());
        }
        self.gather()?;
        if self.rows_left > 0 {
            return Err(Error::internal(format!("{} of {} without their blocks", self.rows_left, counted(self.rows, "row"))));
        }
        self.columns.into_iter().map(Gather::finish).collect()
    }
}

/// Where the pages of a block are put.
fn places(pages: &mut [Option<Page>], columns: usize, block: usize) -> Option<&mut [Option<Page>]> {
    pages.get_mut(block * columns..(block + 1) * columns)
}

/// The rows of a plan as they come out.
pub(super) fn slices(plan: &GroupPlan) -> Vec<Slice> {
    let mut slices: Vec<Slice> = Vec::new();
    for row in &plan.rows {
        match (slices.last_mut(), row) {
            (Some(Slice::Missing(rows)), None) => *rows += 1,
            (Some(Slice::Rows { block, start, len }), Some((next, row))) if block == next && *start + *len == *row => *len += 1,
            (_, None) => slices.push(Slice::Missing(1)),
            (_, Some((block, row))) => slices.push(Slice::Rows { block: *block, start: *row, len: 1 }),
        }
    }
    slices
}
