//! Assembles the requested rows from decoded blocks. Consecutive rows of a block form one slice; slices are copied as soon as
//! their blocks are decoded.

use std::sync::Arc;

use arrow_array::{ArrayRef, new_null_array};
use bytes::Bytes;

use super::{
    columns::{Columns, GroupColumns},
    gather::Gather,
    group_plan::{GroupPlan, Slice},
    page::Page,
};
use crate::{
    error::{Error, Result, counted},
    format::fixed_to_array,
    store::PooledBuffer,
};

/// The wanted columns of one group, built from the blocks that are decoded so far.
pub(super) struct Assembly {
    group: Arc<GroupColumns>,
    /// The numbers of the wanted pages.
    wanted: Arc<[usize]>,
    slices: Vec<Slice>,
    /// The first slice that is not yet gathered.
    next: usize,
    /// The wanted pages of every block, `wanted.len()` places for each block. A place is empty until its block is decoded, and
    /// again once no slice needs the block.
    pages: Vec<Option<Page>>,
    /// Number of slices that still need each block.
    uses: Vec<usize>,
    /// One gatherer for each column; empty until the first rows are gathered.
    columns: Vec<Gather>,
    rows: usize,
    rows_left: usize,
    is_expecting: bool,
}

impl Assembly {
    /// Creates an assembly of the wanted columns of a plan. Takes the slices out of the plan.
    pub(super) fn new(plan: &mut GroupPlan) -> Self {
        let slices = std::mem::take(&mut plan.slices);
        let mut uses = vec![0; plan.blocks.len()];
        for block in slices.iter().filter_map(|slice| slice.block()) {
            if let Some(uses) = uses.get_mut(block) {
                *uses += 1;
            }
        }
        let (group, wanted) = (Arc::clone(&plan.columns), Arc::clone(&plan.pages));
        let pages = vec![None; plan.blocks.len() * wanted.len()];
        let rows = plan.rows;
        Self { group, wanted, slices, next: 0, pages, uses, columns: Vec::new(), rows, rows_left: rows, is_expecting: false }
    }

    /// Returns each needed block once, in the order of the first result row that needs it.
    pub(super) fn order(&self) -> Vec<usize> {
        let mut seen = vec![false; self.uses.len()];
        let mut first = |block: &usize| seen.get_mut(*block).is_some_and(|seen| !std::mem::replace(seen, true));
        self.slices.iter().filter_map(|slice| slice.block()).filter(|block| first(block)).collect()
    }

    /// Adds the wanted pages of a decoded block.
    pub(super) fn add(&mut self, block: usize, pages: impl IntoIterator<Item = Page>) -> Result<()> {
        let places =
            places(&mut self.pages, self.wanted.len(), block).ok_or_else(|| Error::internal(format!("no block {block}")))?;
        places.iter_mut().zip(pages).for_each(|(place, page)| *place = Some(page));
        Ok(())
    }

    /// Gathers rows until the first row whose block is not decoded yet.
    pub(super) fn gather(&mut self) -> Result<()> {
        if self.columns.is_empty() {
            self.columns =
                self.wanted.iter().map(|page| Gather::new(self.group.arrow(*page)?, self.rows)).collect::<Result<_>>()?;
        }
        while let Some(slice) = self.slices.get(self.next).copied() {
            match slice {
                Slice::Missing(rows) => self.columns.iter_mut().for_each(|column| column.append_nulls(rows)),
                Slice::Rows { block, start, len } => {
                    let pages = places(&mut self.pages, self.wanted.len(), block);
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
            // The first values give an estimate of the length of the other values.
            if slice.block().is_some() && !std::mem::replace(&mut self.is_expecting, true) {
                self.columns.iter_mut().for_each(|column| column.expect(self.rows_left));
            }
        }
        Ok(())
    }

    /// Returns the wanted columns. Every needed block must have been added.
    ///
    /// If the result is exactly one block, the pages of that block become the result without a copy. Any other result is copied,
    /// so that a few rows never keep a large buffer alive.
    ///
    /// # Errors
    /// - `Unsupported`: the rows do not fit in one Arrow array.
    /// - `Internal`: a needed block was not added.
    pub(super) fn finish(mut self) -> Result<Vec<ArrayRef>> {
        if let [Slice::Rows { block, start: 0, len }] = self.slices.as_slice()
            && let Some(pages) = places(&mut self.pages, self.wanted.len(), *block)
            && pages.iter().all(|page| page.as_ref().is_some_and(|page| page.len() == *len))
        {
            let pages = pages.iter_mut().filter_map(Option::take).zip(self.wanted.iter());
            return pages.map(|(page, number)| page.into_array(self.group.arrow(*number)?)).collect();
        }
        if self.rows == 0 {
            return self.wanted.iter().map(|page| Ok(new_null_array(self.group.arrow(*page)?, 0))).collect();
        }
        self.gather()?;
        if self.rows_left > 0 {
            return Err(Error::internal(format!("{} of {}: the blocks are missing", self.rows_left, counted(self.rows, "row"))));
        }
        self.columns.into_iter().map(Gather::finish).collect()
    }
}

/// Assembles the wanted columns of a group from its decoded blocks: `pages` has the wanted pages of each block, one block after another.
///
/// If the result is exactly one block, its pages become the result without a copy. Any other result is copied, so that a few rows never
/// keep a large buffer alive.
///
/// # Errors
/// - `Unsupported`: the rows do not fit in one Arrow array.
/// - `Internal`: a needed page is missing.
pub(super) fn at_once(group: &GroupPlan, mut pages: Vec<Page>) -> Result<Columns> {
    let (wanted, missing) = (group.pages.len(), || Error::internal("a page was not decoded"));
    let is_whole = |page: &Page| matches!(group.slices.as_slice(), [Slice::Rows { start: 0, len, .. }] if page.len() == *len);
    let mut columns = Columns::with_capacity(wanted);
    for (place, number) in group.pages.iter().enumerate() {
        let (id, ty) = (group.columns.id(*number)?, group.columns.arrow(*number)?);
        if group.blocks.len() == 1
            && let Some(page) = pages.get_mut(place).filter(|page| is_whole(page))
        {
            let page = std::mem::replace(page, Page::Fixed { rows: 0, values: Bytes::new() });
            columns.push((id, page.into_array(ty)?));
            continue;
        }
        let page_of = |block: usize| pages.get(block * wanted + place);
        if let Some(values) = fixed_values(group, page_of, group.columns.width(*number)) {
            columns.push((id, fixed_to_array(ty, values.into_arrow(), group.rows)?));
            continue;
        }
        let mut gather = Gather::new(ty, group.rows)?;
        for slice in &group.slices {
            match *slice {
                Slice::Missing(rows) => gather.append_nulls(rows),
                Slice::Rows { block, start, len } => gather.append(page_of(block).ok_or_else(missing)?, start, len)?,
            }
        }
        columns.push((id, gather.finish()?));
    }
    Ok(columns)
}

/// Copies the rows of a column of `width` bytes a row, none of which is missing or has nulls, one after another. `None` for any other
/// column.
fn fixed_values<'a>(
    group: &GroupPlan,
    page_of: impl Fn(usize) -> Option<&'a Page>,
    width: Option<usize>,
) -> Option<PooledBuffer> {
    let width = width?;
    let part = |slice: &Slice| {
        let Slice::Rows { block, start, len } = *slice else { return None };
        let Page::Fixed { values, .. } = page_of(block)? else { return None };
        values.get(start.checked_mul(width)?..start.checked_add(len)?.checked_mul(width)?)
    };
    if group.rows == 0 || !group.slices.iter().all(|slice| part(slice).is_some()) {
        return None;
    }
    let mut all = PooledBuffer::with_capacity(group.rows.checked_mul(width)?);
    for slice in &group.slices {
        all.extend_from_slice(part(slice)?);
    }
    Some(all)
}

/// Returns the places of the pages of a block.
fn places(pages: &mut [Option<Page>], columns: usize, block: usize) -> Option<&mut [Option<Page>]> {
    pages.get_mut(block * columns..(block + 1) * columns)
}
