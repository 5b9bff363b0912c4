//! Plans how the threads that decode a group also read it from local files, piece by piece. Pure: values in, values out.

use super::{
    group_plan::{BlockBytes, Coalesce, GroupPlan, RangeRead, SubRange},
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

    /// Returns the number of file reads.
    pub(super) fn file_reads(&self) -> usize {
        self.landing.as_ref().map_or(0, Landing::file_reads) + self.rest.as_ref().map_or(0, |rest| rest.ranges.len())
    }
}

/// Restricts a plan to some of its wanted pages: `left` has their indexes in [`GroupPlan::pages`], and for each page its
/// byte range in the chunk for every block. The ranges are needed if whole blocks were to be read.
///
/// # Errors
/// - `Internal`: the byte range of a page is needed and not known.
fn keep_only(group: &mut GroupPlan, left: &[Left]) -> Result<()> {
    let unknown = || Error::internal("the byte range of a page is not known");
    for (number, block) in group.blocks.iter_mut().enumerate() {
        let sub_range = |(position, places): &Left| match &block.bytes {
            BlockBytes::Pages(sub_ranges) => sub_ranges.get(*position).cloned(),
            BlockBytes::Block(whole) => {
                let start = group.ranges.get(whole.range)?.range.start;
                let place = places.as_ref()?.get(number)?;
                let within = |at: u64| at.checked_sub(start).and_then(|at| usize::try_from(at).ok());
                Some(SubRange { range: whole.range, within: within(place.start)?..within(place.end)? })
            }
            BlockBytes::Cached => None,
        };
        block.bytes = BlockBytes::Pages(left.iter().map(sub_range).collect::<Option<_>>().ok_or_else(unknown)?);
    }
    let pages = left.iter().map(|(position, _)| group.pages.get(*position).copied()).collect::<Option<_>>();
    group.pages = pages.ok_or_else(unknown)?;
    Ok(())
}

/// Cuts the ranges into ranges of at most `most` bytes. A single longer sub-range stays one range.
fn cut_ranges(group: &mut GroupPlan, most: u64) {
    let mut short: Vec<RangeRead> = Vec::new();
    let mut newest: Vec<Option<usize>> = vec![None; group.ranges.len()];
    for sub_range in group.blocks.iter_mut().flat_map(|block| block.bytes.sub_ranges_mut()) {
        let Some((long, newest)) = group.ranges.get(sub_range.range).zip(newest.get_mut(sub_range.range)) else { continue };
        let bytes = long.range.start + sub_range.within.start as u64..long.range.start + sub_range.within.end as u64;
        let fits = |range: &RangeRead| {
            let near = bytes.start <= range.range.end + Coalesce::LOCAL.max_gap;
            near && range.range.start <= bytes.start && bytes.end - range.range.start <= most
        };
        let number = newest.filter(|number| short.get(*number).is_some_and(fits)).unwrap_or(short.len());
        if number == short.len() {
            short.push(RangeRead { range: bytes.clone(), ..long.clone() });
        }
        *newest = Some(number);
        let Some(range) = short.get_mut(number) else { continue };
        range.range.end = range.range.end.max(bytes.end);
        let start = usize::try_from(bytes.start - range.range.start).unwrap_or(usize::MAX);
        *sub_range = SubRange { range: number, within: start..start.saturating_add(sub_range.within.len()) };
    }
    group.ranges = short;
}
