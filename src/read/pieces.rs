//! Plans how the threads that decode a group also read it from local files, piece by piece. Pure: values in, values out.

use std::ops::Range;

use super::{
    group_plan::{BlockBytes, BlockRead, Coalesce, GroupPlan, RangeRead, SubRange},
    landing::{Landing, Left},
    sizes::PIECE,
};
use crate::error::{Error, Result};

/// The reads of one group from local files.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    /// The columns that are read directly into the result.
    pub(super) landing: Option<Landing>,
    /// The other columns, in short ranges, each of which is read once. `None` if there are none.
    pub(super) rest: Option<GroupPlan>,
}

impl Pieces {
    /// Plans the reads of a group.
    ///
    /// # Errors
    /// - `Internal`: the plan names a block that its layout does not have.
    pub(super) fn of(group: GroupPlan) -> Result<Self> {
        let (landing, left) = Landing::of(&group)?.map_or((None, None), |(landing, left)| (Some(landing), Some(left)));
        let mut rest = Some(group).filter(|group| !group.pages.is_empty() && left.as_ref().is_none_or(|left| !left.is_empty()));
        if let Some(rest) = &mut rest {
            if let Some(left) = &left {
                keep_only(rest, left)?;
            }
            cut_ranges(rest, PIECE);
        }
        Ok(Self { landing, rest })
    }

    /// Returns the number of file reads of a group as [`Pieces::of`] plans them.
    ///
    /// # Errors
    /// Those of [`Pieces::of`].
    pub(super) fn file_reads(group: &GroupPlan) -> Result<usize> {
        let (landing, left) = Landing::file_reads(group)?.map_or((0, None), |(reads, left)| (reads, Some(left)));
        if group.pages.is_empty() || left.as_ref().is_some_and(Vec::is_empty) {
            return Ok(landing);
        }
        let mut short = ShortRanges::new(&group.ranges, PIECE);
        for (number, block) in group.blocks.iter().enumerate() {
            let chosen = left.as_ref().map(|left| kept(&group.ranges, block, number, left)).transpose()?;
            for sub_range in chosen.as_deref().unwrap_or(block.bytes.sub_ranges()) {
                short.place(sub_range);
            }
        }
        Ok(landing + short.ranges.len())
    }
}

/// Restricts a plan to some of its wanted pages: `left` has their indexes in [`GroupPlan::pages`], and for each page its
/// byte range in the chunk for every block. The ranges are needed if whole blocks were to be read.
///
/// # Errors
/// - `Internal`: the byte range of a page is needed and not known.
fn keep_only(group: &mut GroupPlan, left: &[Left]) -> Result<()> {
    for (number, block) in group.blocks.iter_mut().enumerate() {
        block.bytes = BlockBytes::Pages(kept(&group.ranges, block, number, left)?);
    }
    let pages = left.iter().map(|(position, _)| group.pages.get(*position).copied()).collect::<Option<_>>();
    group.pages = pages.ok_or_else(unknown)?;
    Ok(())
}

/// Returns the bytes of some pages of the block of this number: see [`keep_only`].
fn kept(ranges: &[RangeRead], block: &BlockRead, number: usize, left: &[Left]) -> Result<Vec<SubRange>> {
    let sub_range = |(position, places): &Left| match &block.bytes {
        BlockBytes::Pages(sub_ranges) => sub_ranges.get(*position).cloned(),
        BlockBytes::Block(whole) => {
            let start = ranges.get(whole.range)?.range.start;
            let place = places.as_ref()?.get(number)?;
            let within = |at: u64| at.checked_sub(start).and_then(|at| usize::try_from(at).ok());
            Some(SubRange { range: whole.range, within: within(place.start)?..within(place.end)? })
        }
        BlockBytes::Cached => None,
    };
    left.iter().map(sub_range).collect::<Option<_>>().ok_or_else(unknown)
}

fn unknown() -> Error {
    Error::internal("the byte range of a page is not known")
}

/// Cuts the ranges into ranges of at most `most` bytes. A single longer sub-range stays one range.
fn cut_ranges(group: &mut GroupPlan, most: u64) {
    let long = std::mem::take(&mut group.ranges);
    let mut short = ShortRanges::new(&long, most);
    for sub_range in group.blocks.iter_mut().flat_map(|block| block.bytes.sub_ranges_mut()) {
        if let Some(placed) = short.place(sub_range) {
            *sub_range = placed;
        }
    }
    let ranges = short.ranges.into_iter().filter_map(|(of, range)| Some(RangeRead { range, ..long.get(of)?.clone() }));
    group.ranges = ranges.collect();
}

/// Short ranges that hold sub-ranges of long ones.
struct ShortRanges<'a> {
    long: &'a [RangeRead],
    most: u64,
    /// The number of the long range, and the bytes of the chunk.
    ranges: Vec<(usize, Range<u64>)>,
    /// The newest short range of each long one.
    newest: Vec<Option<usize>>,
}

impl<'a> ShortRanges<'a> {
    fn new(long: &'a [RangeRead], most: u64) -> Self {
        Self { long, most, ranges: Vec::new(), newest: vec![None; long.len()] }
    }

    /// Adds a sub-range of a long range: to the newest short range of it, or as the first of another one. Returns its place there, or `None`
    /// if there is no such long range.
    fn place(&mut self, sub_range: &SubRange) -> Option<SubRange> {
        let long = self.long.get(sub_range.range)?;
        let newest = self.newest.get_mut(sub_range.range)?;
        let bytes = long.range.start + sub_range.within.start as u64..long.range.start + sub_range.within.end as u64;
        let most = self.most;
        let fits = |(_, range): &(usize, Range<u64>)| {
            let near = bytes.start <= range.end + Coalesce::LOCAL.max_gap;
            near && range.start <= bytes.start && bytes.end - range.start <= most
        };
        let number = newest.filter(|number| self.ranges.get(*number).is_some_and(fits)).unwrap_or(self.ranges.len());
        if number == self.ranges.len() {
            self.ranges.push((sub_range.range, bytes.clone()));
        }
        *newest = Some(number);
        let (_, range) = self.ranges.get_mut(number)?;
        range.end = range.end.max(bytes.end);
        let start = usize::try_from(bytes.start - range.start).unwrap_or(usize::MAX);
        Some(SubRange { range: number, within: start..start.saturating_add(sub_range.within.len()) })
    }
}
