//! Decides which columns of a group are read from local files directly into the result. Pure: values in, values out. `land` reads them.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use super::{
    columns::GroupColumns,
    group_plan::{BlockRead, GroupPlan, Slice},
    layout::{BlockPlace, Layout},
    sizes::LONG,
};
use crate::{
    codec::Chain,
    error::Result,
    format::directory_len,
    schema::{ColumnType, Primitive},
};

/// The columns of one group that are read directly into the result.
#[derive(Clone, Debug)]
pub(super) struct Landing {
    pub(super) layout: Arc<Layout>,
    pub(super) group: Arc<GroupColumns>,
    pub(super) blocks: Vec<BlockRead>,
    pub(super) slices: Vec<Slice>,
    pub(super) rows: usize,
    pub(super) columns: Vec<Column>,
}

/// A column that is read directly into the result.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// The number of its page in each block.
    pub(super) page: usize,
    /// The byte range of its page in the chunk, for each block.
    pub(super) places: Vec<Range<u64>>,
}

/// A wanted page of a group that is not read directly: its index in [`GroupPlan::pages`], and its byte range in the chunk for every
/// block, if the ranges are known.
pub(super) type Left = (usize, Option<Vec<Range<u64>>>);

impl Landing {
    /// Returns the columns of a group that can be read directly into the result, and the other pages; `None` if there are no such
    /// columns.
    ///
    /// # Errors
    /// - `Internal`: the plan names a block that the layout does not have.
    pub(super) fn of(group: &GroupPlan) -> Result<Option<(Self, Vec<Left>)>> {
        let Some((columns, left)) = Self::columns(group)? else { return Ok(None) };
        let (layout, blocks, slices) = (Arc::clone(&group.layout), group.blocks.clone(), group.slices.clone());
        Ok(Some((Self { layout, group: Arc::clone(&group.columns), blocks, slices, rows: group.rows, columns }, left)))
    }

    /// Returns the number of reads of the columns that [`Landing::of`] returns, and the other pages.
    ///
    /// # Errors
    /// - `Internal`: the plan names a block that the layout does not have.
    pub(super) fn file_reads(group: &GroupPlan) -> Result<Option<(usize, Vec<Left>)>> {
        // The head of each page, then its values.
        Ok(Self::columns(group)?.map(|(columns, left)| (2 * columns.len() * group.blocks.len(), left)))
    }

    /// Chooses the columns: every block appears whole in the result, and the pages are long, plain and of known byte range.
    fn columns(group: &GroupPlan) -> Result<Option<(Vec<Column>, Vec<Left>)>> {
        let whole = |slice: &Slice| match slice {
            Slice::Missing(_) => true,
            Slice::Rows { block, start, len } => {
                *start == 0 && group.blocks.get(*block).is_some_and(|block| usize::try_from(block.rows) == Ok(*len))
            }
        };
        let (stored, blocks) = (group.stored(), group.blocks.len());
        if blocks < 2 || stored < LONG * blocks as u64 || !group.cached.is_empty() || !group.slices.iter().all(whole) {
            return Ok(None);
        }
        let runs = group.runs()?;
        let chunks: BTreeMap<_, _> = runs.values().map(|run| ((run.owner, run.chunk), run.chunk_bytes)).collect();
        // Blocks that overlap may claim more bytes than their chunks hold. No memory is allocated for such claims here.
        if stored > chunks.values().sum() {
            return Ok(None);
        }
        let lands = |page: usize, places: &[Range<u64>]| {
            let stored: u64 = places.iter().map(|place| place.end - place.start).sum();
            let plain = runs.values().all(|run| run.chains.get(page).is_some_and(Chain::is_plain));
            plain && stored >= LONG * places.len() as u64 && group.columns.ty(page).is_ok_and(|ty| !has_bits(ty))
        };
        let (mut columns, mut left) = (Vec::new(), Vec::new());
        for (position, page) in group.pages.iter().enumerate() {
            let places = group.blocks.iter().map(|block| page_place(&group.layout, block.place, *page));
            match places.collect::<Result<Option<Vec<_>>>>()? {
                Some(places) if lands(*page, &places) => columns.push(Column { page: *page, places }),
                places => left.push((position, places)),
            }
        }
        Ok((!columns.is_empty()).then_some((columns, left)))
    }
}

/// Returns the byte range of a page in its chunk. The range is known if the layout stores page lengths, or if the block has one
/// page.
fn page_place(layout: &Layout, place: BlockPlace, page: usize) -> Result<Option<Range<u64>>> {
    let run = layout.run(place)?;
    if let Some(range) = run.page_range(place.block, page) {
        return Ok(Some(range));
    }
    let block = layout.byte_range(place)?;
    let first = block.start + directory_len(1) as u64;
    Ok((run.chains.len() == 1 && first < block.end).then_some(first..block.end))
}

/// Whether the values are booleans: Arrow packs them as bits, but a page stores them as bytes.
fn has_bits(ty: &ColumnType) -> bool {
    match ty {
        ColumnType::List(item) => has_bits(item),
        ColumnType::Scalar(element) | ColumnType::Tensor { element, .. } => *element == Primitive::Bool,
        _ => false,
    }
}
