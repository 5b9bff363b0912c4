//! Plans the read of one column group: turns rows into blocks, and blocks into byte ranges. Pure: values in, values out.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use super::{
    block_cache::Snapshot,
    columns::GroupColumns,
    layout::{BlockPlace, Layout},
    page::Page,
};
use crate::{
    codec::Chain,
    error::{Error, Result},
    format::{ChunkSeed, LayoutRun, PagePlace},
    id::ChunkId,
    store::RangeRequest,
};

/// The rule for coalescing ranges of one chunk. The gap between two ranges is read and discarded if that costs less than another
/// request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coalesce {
    /// The longest gap between two ranges that are coalesced, in bytes.
    pub max_gap: u64,
    /// The longest range that coalescing over a gap may produce, in bytes.
    pub max_bridged: u64,
    /// The longest range that coalescing of adjacent blocks may produce, in bytes. A single longer block is one range.
    pub max_range: u64,
}

impl Coalesce {
    /// For bytes in memory: only adjacent blocks are coalesced.
    pub const MEMORY: Self = Self { max_gap: 0, max_bridged: 0, max_range: u64::MAX };
    /// For a local disk: a positioned read costs about as much as copying 16 KiB.
    pub const LOCAL: Self = Self { max_gap: 16 << 10, max_bridged: 1 << 20, max_range: u64::MAX };
    /// For an object store: in the 30 ms of a request, a link of 90 MB/s transfers 2.7 MB. The gap is about a third of that,
    /// which keeps waste low if many streams share a link.
    pub const REMOTE: Self = Self { max_gap: 1 << 20, max_bridged: 12 << 20, max_range: u64::MAX };
}

/// One column group to be read.
#[derive(Clone, Debug)]
pub struct GroupRequest<'a> {
    /// The columns of the group.
    pub columns: &'a Arc<GroupColumns>,
    /// The numbers of the wanted pages in each block of the group.
    pub pages: &'a Arc<[usize]>,
    /// The layout of the group.
    pub layout: &'a Arc<Layout>,
}

/// The blocks that hold the wanted rows of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Located {
    /// Every block that holds a wanted row, once, in table order, and the number of wanted rows in it.
    pub blocks: Vec<(BlockPlace, u32)>,
    /// The rows of the result, in order.
    pub slices: Vec<Slice>,
    /// Number of rows of the result, including missing rows.
    pub rows: usize,
}

/// Consecutive rows of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slice {
    /// Missing rows.
    Missing(usize),
    /// Neighbouring rows of one block.
    Rows {
        /// The index of the block in the plan.
        block: usize,
        /// The number of the first row in the block.
        start: usize,
        /// Number of rows.
        len: usize,
    },
}

impl Slice {
    pub(super) fn len(self) -> usize {
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

/// The reads of one column group.
#[derive(Clone, Debug)]
pub struct GroupPlan {
    /// The columns of the group.
    pub columns: Arc<GroupColumns>,
    /// The layout of the group.
    pub layout: Arc<Layout>,
    /// The numbers of the wanted pages in each block.
    pub pages: Arc<[usize]>,
    /// Every block that holds a wanted row, once, in table order.
    pub blocks: Vec<BlockRead>,
    /// The ranges that hold the blocks, in the order of the blocks.
    pub ranges: Vec<RangeRead>,
    /// The wanted pages of the blocks found in the cache: one block after another, each in the order of `pages`.
    pub cached: Vec<Page>,
    /// The rows of the result, in order.
    pub slices: Vec<Slice>,
    /// Number of rows of the result, including missing rows.
    pub rows: usize,
}

/// A block to be read.
#[derive(Clone, Debug)]
pub struct BlockRead {
    /// The place of the block in the layout.
    pub place: BlockPlace,
    /// The number of the block within its chunk.
    pub ordinal: u32,
    /// Number of rows of the block.
    pub rows: u32,
    /// The seed of the block's checksums.
    pub seed: ChunkSeed,
    /// The part of the block that is read.
    pub bytes: BlockBytes,
    /// Whether the decoded block is added to the cache: some of its rows are wanted, but not all.
    pub to_cache: bool,
}

impl BlockRead {
    /// Returns the place, type and codec chain that a page of the block must have.
    pub(super) fn place<'a>(&self, columns: &'a GroupColumns, page: usize, chain: Option<&'a Chain>) -> Result<PagePlace<'a>> {
        let (ty, chain) = (columns.ty(page)?, chain.ok_or_else(|| Error::internal(format!("no column {page}")))?);
        let number = u16::try_from(page).map_err(|_| Error::internal("more than 65,534 pages"))?;
        Ok(PagePlace { seed: self.seed, ordinal: self.ordinal, page: number, rows: self.rows, ty, chain })
    }
}

/// The bytes of a block that are read.
#[derive(Clone, Debug)]
pub enum BlockBytes {
    /// The whole block.
    Block(SubRange),
    /// Only the wanted pages, in the order of [`GroupPlan::pages`]. The layout must store page lengths.
    Pages(Vec<SubRange>),
    /// Nothing: the wanted pages were found in the cache and are in [`GroupPlan::cached`].
    Cached,
}

impl RangeRead {
    /// Returns the request for the range.
    pub(super) fn request(&self) -> RangeRequest {
        RangeRequest::new(Arc::clone(&self.object), self.chunk_bytes, self.range.clone())
    }
}

impl BlockBytes {
    /// Returns the number of stored bytes that are read.
    pub fn stored(&self) -> u64 {
        self.sub_ranges().iter().map(|sub_range| sub_range.within.len() as u64).sum()
    }

    pub(super) fn sub_ranges_mut(&mut self) -> &mut [SubRange] {
        match self {
            Self::Block(sub_range) => std::slice::from_mut(sub_range),
            Self::Pages(sub_ranges) => sub_ranges,
            Self::Cached => &mut [],
        }
    }

    /// Returns the byte ranges that are read, in the order in which they are decoded.
    pub fn sub_ranges(&self) -> &[SubRange] {
        match self {
            Self::Block(sub_range) => std::slice::from_ref(sub_range),
            Self::Pages(sub_ranges) => sub_ranges,
            Self::Cached => &[],
        }
    }
}

/// Consecutive bytes of a fetched range.
#[derive(Clone, Debug)]
pub struct SubRange {
    /// The index of the range in [`GroupPlan::ranges`].
    pub range: usize,
    /// The bytes within that range.
    pub within: Range<usize>,
}

/// A range of a chunk to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeRead {
    /// The owner of the chunk: 0 is the table itself, k is the k-th of the manifest's `stores`.
    pub owner: u32,
    /// The chunk.
    pub chunk: ChunkId,
    /// The name of the chunk's object.
    pub object: Arc<str>,
    /// The size of the chunk in bytes.
    pub chunk_bytes: u64,
    /// The byte range within the chunk.
    pub range: Range<u64>,
}

/// Finds the blocks that hold `rows`. The rows are table rows; `None` is a missing row.
///
/// # Errors
/// - `Invalid`: a row is outside the table.
pub fn locate(layout: &Layout, rows: &[Option<u64>]) -> Result<Located> {
    let (mut blocks, mut slices): (Vec<(BlockPlace, u32)>, Vec<Slice>) = (Vec::new(), Vec::new());
    let mut is_sorted = true;
    for row in rows {
        let Some(row) = row else {
            match slices.last_mut() {
                Some(Slice::Missing(rows)) => *rows += 1,
                _ => slices.push(Slice::Missing(1)),
            }
            continue;
        };
        let place = layout.locate(*row)?;
        match blocks.last_mut() {
            Some((last, uses)) if *last == place.block || layout.is_repeat(*last, place.block) => *uses += 1,
            last => {
                is_sorted &= last.is_none_or(|(last, _)| *last < place.block);
                blocks.push((place.block, 1));
            }
        }
        let number = blocks.len() - 1;
        match slices.last_mut() {
            Some(Slice::Rows { block, start, len }) if *block == number && *start + *len == place.row => *len += 1,
            _ => slices.push(Slice::Rows { block: number, start: place.row, len: 1 }),
        }
    }
    if !is_sorted {
        let visited = std::mem::take(&mut blocks);
        let mut sorted = visited.clone();
        sorted.sort_unstable();
        sorted.dedup_by(|(block, uses), (first, all)| {
            let is_same = block == first;
            *all += if is_same { *uses } else { 0 };
            is_same
        });
        let number =
            |(block, _): &(BlockPlace, u32)| sorted.binary_search_by_key(block, |(block, _)| *block).unwrap_or(usize::MAX);
        let numbers: Vec<usize> = visited.iter().map(number).collect();
        for slice in &mut slices {
            if let Slice::Rows { block, .. } = slice {
                *block = numbers.get(*block).copied().unwrap_or(usize::MAX);
            }
        }
        blocks = sorted;
    }
    Ok(Located { blocks, slices, rows: rows.len() })
}

/// Plans the read of located rows. `cached` is what the cache held of the located blocks.
///
/// # Errors
/// - `Internal`: the layout does not have a block.
pub fn plan_group(request: &GroupRequest<'_>, located: Located, cached: Snapshot, coalesce: Coalesce) -> Result<GroupPlan> {
    let layout = request.layout;
    let mut blocks: Vec<BlockRead> = Vec::with_capacity(located.blocks.len());
    let mut ranges = Ranges { ranges: Vec::new(), coalesce };
    for (number, (place, uses)) in located.blocks.into_iter().enumerate() {
        let run = layout.run(place)?;
        let block_rows = run.block_rows.get(place.block);
        let some = request.pages.len() < run.chains.len();
        let pages = || request.pages.iter().map(|page| run.page_range(place.block, *page)).collect::<Option<Vec<_>>>();
        let was_cached = cached.has(number);
        let bytes = if was_cached {
            BlockBytes::Cached
        } else if let Some(pages) = some.then(pages).flatten() {
            BlockBytes::Pages(pages.into_iter().map(|page| ranges.add(layout, place, run, page)).collect())
        } else {
            BlockBytes::Block(ranges.add(layout, place, run, layout.byte_range(place)?))
        };
        let to_cache = !was_cached && cached.rule.takes(uses, block_rows);
        let ordinal = run.first_block + u32::try_from(place.block).unwrap_or(u32::MAX);
        blocks.push(BlockRead { place, ordinal, rows: block_rows, seed: run.seed, bytes, to_cache });
    }
    let (columns, layout, pages) = (Arc::clone(request.columns), Arc::clone(layout), Arc::clone(request.pages));
    let (ranges, cached) = (ranges.ranges, cached.pages);
    Ok(GroupPlan { columns, layout, pages, blocks, ranges, cached, slices: located.slices, rows: located.rows })
}

impl GroupPlan {
    /// Returns the number of the group in the schema.
    pub fn group(&self) -> usize {
        self.columns.group()
    }

    /// Returns the runs of the blocks, by their numbers in the layout.
    pub(super) fn runs(&self) -> Result<BTreeMap<usize, &LayoutRun>> {
        let blocks = self.blocks.chunk_by(|block, next| block.place.run == next.place.run).filter_map(<[_]>::first);
        blocks.map(|block| Ok((block.place.run, self.layout.run(block.place)?))).collect()
    }

    /// Whether all wanted pages are plain: their values are stored without any codec.
    pub(super) fn is_plain(&self) -> Result<bool> {
        let plain = |run: &&LayoutRun| self.pages.iter().all(|page| run.chains.get(*page).is_some_and(Chain::is_plain));
        Ok(self.runs()?.values().all(plain))
    }

    /// Returns the number of stored bytes that are read, without the gaps between the wanted bytes.
    pub(super) fn stored(&self) -> u64 {
        self.blocks.iter().map(|block| block.bytes.stored()).sum()
    }

    /// Returns the range that holds a sub-range, and the byte range of the sub-range in the chunk.
    pub(super) fn bytes_of(&self, sub_range: &SubRange) -> Option<(&RangeRead, Range<u64>)> {
        let range = self.ranges.get(sub_range.range)?;
        let at = |within: usize| range.range.start + within as u64;
        Some((range, at(sub_range.within.start)..at(sub_range.within.end)))
    }
}

/// The ranges of a plan, coalesced as they are added.
struct Ranges {
    ranges: Vec<RangeRead>,
    coalesce: Coalesce,
}

impl Ranges {
    /// Adds a byte range of a run's chunk. The bytes are coalesced with the last range of the same chunk if [`Coalesce`] allows
    /// it.
    ///
    /// That range need not be the last range of the plan: in a table that shares chunks, new blocks lie in one chunk and the
    /// blocks around them in another.
    fn add(&mut self, layout: &Layout, place: BlockPlace, run: &LayoutRun, bytes: Range<u64>) -> SubRange {
        let Coalesce { max_gap, max_bridged, max_range } = self.coalesce;
        let near = self.ranges.iter().enumerate().rev().take(LOOK_BACK);
        let same = near.filter(|(_, range)| range.chunk == run.chunk && range.owner == run.owner).map(|(number, _)| number);
        let joined = same.take(1).find(|number| {
            let Some(range) = self.ranges.get(*number) else { return false };
            let Some(gap) = bytes.start.checked_sub(range.range.end) else { return false };
            let most = if gap == 0 { max_range } else { max_bridged.min(max_range) };
            gap <= max_gap && bytes.end - range.range.start <= most
        });
        let number = joined.unwrap_or(self.ranges.len());
        let range_start = match self.ranges.get_mut(number) {
            Some(range) => {
                range.range.end = bytes.end;
                range.range.start
            }
            None => {
                let (owner, chunk, chunk_bytes, object) = (run.owner, run.chunk, run.chunk_bytes, layout.object(place, run));
                self.ranges.push(RangeRead { owner, chunk, object, chunk_bytes, range: bytes.clone() });
                bytes.start
            }
        };
        let start = usize::try_from(bytes.start - range_start).unwrap_or(usize::MAX);
        let len = usize::try_from(bytes.end - bytes.start).unwrap_or(usize::MAX);
        SubRange { range: number, within: start..start.saturating_add(len) }
    }
}

/// Number of the latest ranges that are searched for a range of the same chunk. A window over shared blocks touches few chunks.
const LOOK_BACK: usize = 8;
