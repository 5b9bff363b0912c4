//! Plans reads: turns rows and columns into byte ranges. Planning is pure; `execute` fetches the ranges.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};

use serde::Serialize;

use super::{
    block_cache::CachedBlocks,
    columns::GroupColumns,
    layout::{BlockPlace, Layout, RowPlace},
    page::Page,
};
use crate::{
    codec::Chain,
    error::{Error, Result},
    format::{ChunkSeed, LayoutRun, PagePlace},
    id::ChunkId,
    store::{RangeRequest, SPLIT_ABOVE, range_parts},
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
    /// The cache of decoded blocks.
    pub cache: &'a CachedBlocks,
}

/// The reads that a request for rows needs.
#[derive(Clone, Debug)]
pub struct ReadPlan {
    /// One plan for each column group.
    pub groups: Vec<GroupPlan>,
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
    /// For each row of the result: the index of its block in `blocks`, and the number of the row in the block. `None` is a
    /// missing row.
    pub rows: Vec<Option<(usize, usize)>>,
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

/// Plans the read of `rows` from a group. The rows are table rows; `None` is a missing row.
///
/// # Errors
/// - `Invalid`: a row is outside the table.
pub fn plan(request: &GroupRequest<'_>, rows: &[Option<u64>], coalesce: Coalesce) -> Result<GroupPlan> {
    let layout = request.layout;
    let places = rows.iter().map(|row| row.map(|row| layout.locate(row)).transpose()).collect::<Result<Vec<_>>>()?;
    let mut wanted: Vec<BlockPlace> = places.iter().flatten().map(|place| place.block).collect();
    if !wanted.is_sorted() {
        wanted.sort_unstable();
    }
    wanted.dedup();
    let numbered = |place: RowPlace| (wanted.binary_search(&place.block).unwrap_or(usize::MAX), place.row);
    let rows: Vec<Option<(usize, usize)>> = places.into_iter().map(|place| place.map(numbered)).collect();
    let mut uses = vec![0_u32; wanted.len()];
    for (block, _) in rows.iter().flatten() {
        if let Some(uses) = uses.get_mut(*block) {
            *uses += 1;
        }
    }
    let (were_cached, cached) = request.cache.find(request.columns.group(), &wanted, request.pages);
    let mut blocks: Vec<BlockRead> = Vec::with_capacity(wanted.len());
    let mut ranges = Ranges { ranges: Vec::new(), coalesce };
    for ((place, uses), was_cached) in wanted.iter().zip(uses).zip(were_cached) {
        let run = layout.run(*place)?;
        let block_rows = run.block_rows.get(place.block);
        let some = request.pages.len() < run.chains.len();
        let pages = || request.pages.iter().map(|page| run.page_range(place.block, *page)).collect::<Option<Vec<_>>>();
        let to_cache = !was_cached && request.cache.takes(uses, block_rows);
        let bytes = if was_cached {
            BlockBytes::Cached
        } else if let Some(pages) = some.then(pages).flatten() {
            BlockBytes::Pages(pages.into_iter().map(|page| ranges.add(layout, *place, run, page)).collect())
        } else {
            BlockBytes::Block(ranges.add(layout, *place, run, layout.byte_range(*place)?))
        };
        let ordinal = run.first_block + u32::try_from(place.block).unwrap_or(u32::MAX);
        blocks.push(BlockRead { place: *place, ordinal, rows: block_rows, seed: run.seed, bytes, to_cache });
    }
    let ranges = ranges.ranges;
    let (columns, layout, pages) = (Arc::clone(request.columns), Arc::clone(layout), Arc::clone(request.pages));
    Ok(GroupPlan { columns, layout, pages, blocks, ranges, cached, rows })
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

    /// Looks in the cache for blocks that were added after the plan was made, and takes them from there. Only blocks for whose
    /// number `wanted` is true are looked up. Returns whether any was found.
    pub(super) fn look_again(&mut self, cache: &CachedBlocks, wanted: impl Fn(usize) -> bool) -> bool {
        let open = |(number, block): &(usize, &BlockRead)| {
            block.rows > 1 && !matches!(block.bytes, BlockBytes::Cached) && wanted(*number)
        };
        let open: Vec<(usize, BlockPlace)> =
            self.blocks.iter().enumerate().filter(open).map(|(number, block)| (number, block.place)).collect();
        if open.is_empty() || !cache.is_on() {
            return false;
        }
        let places: Vec<BlockPlace> = open.iter().map(|(_, place)| *place).collect();
        let (are_cached, pages) = cache.find(self.group(), &places, &self.pages);
        if pages.is_empty() {
            return false;
        }
        let found: BTreeSet<usize> =
            open.iter().zip(are_cached).filter(|(_, cached)| *cached).map(|((number, _), _)| *number).collect();
        let (mut before, mut new) = (std::mem::take(&mut self.cached).into_iter(), pages.into_iter());
        for (number, block) in self.blocks.iter_mut().enumerate() {
            if found.contains(&number) {
                (block.bytes, block.to_cache) = (BlockBytes::Cached, false);
                self.cached.extend(new.by_ref().take(self.pages.len()));
            } else if matches!(block.bytes, BlockBytes::Cached) {
                self.cached.extend(before.by_ref().take(self.pages.len()));
            }
        }
        true
    }

    /// Restricts the plan to some of its wanted pages: `left` has their indexes in [`GroupPlan::pages`], and for each page its
    /// byte range in the chunk for every block. The ranges are needed if whole blocks were to be read.
    ///
    /// # Errors
    /// - `Internal`: the byte range of a page is needed and not known.
    pub(super) fn leave(&mut self, left: &[(usize, Option<Vec<Range<u64>>>)]) -> Result<()> {
        let unknown = || Error::internal("the byte range of a page is not known");
        for (number, block) in self.blocks.iter_mut().enumerate() {
            let sub_range = |(position, places): &(usize, Option<Vec<Range<u64>>>)| match &block.bytes {
                BlockBytes::Pages(sub_ranges) => sub_ranges.get(*position).cloned(),
                BlockBytes::Block(whole) => {
                    let start = self.ranges.get(whole.range)?.range.start;
                    let place = places.as_ref()?.get(number)?;
                    let within = |at: u64| at.checked_sub(start).and_then(|at| usize::try_from(at).ok());
                    Some(SubRange { range: whole.range, within: within(place.start)?..within(place.end)? })
                }
                BlockBytes::Cached => None,
            };
            block.bytes = BlockBytes::Pages(left.iter().map(sub_range).collect::<Option<_>>().ok_or_else(unknown)?);
        }
        let pages = left.iter().map(|(position, _)| self.pages.get(*position).copied()).collect::<Option<_>>();
        self.pages = pages.ok_or_else(unknown)?;
        Ok(())
    }

    /// Cuts the ranges into ranges of at most `most` bytes. A single longer sub-range stays one range.
    pub(super) fn in_short_ranges(mut self, most: u64) -> Self {
        let mut short: Vec<RangeRead> = Vec::new();
        let mut newest: Vec<Option<usize>> = vec![None; self.ranges.len()];
        for sub_range in self.blocks.iter_mut().flat_map(|block| block.bytes.sub_ranges_mut()) {
            let Some((long, newest)) = self.ranges.get(sub_range.range).zip(newest.get_mut(sub_range.range)) else { continue };
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
        self.ranges = short;
        self
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

/// The cost of a plan: the requests and bytes that a counting store sees when the plan is executed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Explain {
    /// The cost of each column group that is read.
    pub groups: Vec<ExplainGroup>,
    /// Number of byte ranges, before long ranges are split.
    pub ranges: usize,
    /// Number of requests to the store.
    pub requests: usize,
    /// Number of requested bytes, including gaps that are read and discarded.
    pub bytes: u64,
    /// Number of bytes of the needed blocks, or of the needed pages if pages are read alone.
    pub payload_bytes: u64,
    /// Number of dependent requests: each waits for the response of the one before.
    pub hops: usize,
    /// Number of reads of local files: long values are read page by page, and long ranges in pieces. 0 for other stores. A page of
    /// lists, or of tensors with null elements, may need one more: the nulls of their items stand before the values.
    pub file_reads: usize,
}

/// The cost of one column group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExplainGroup {
    /// The name of the group.
    pub name: String,
    /// The columns that are read from the group.
    pub columns: Vec<String>,
    /// Number of blocks that are read and decoded.
    pub blocks: usize,
    /// Number of byte ranges, before long ranges are split.
    pub ranges: usize,
    /// Number of requests to the store.
    pub requests: usize,
    /// Number of requested bytes, including gaps that are read and discarded.
    pub bytes: u64,
    /// Number of bytes of the needed blocks, or of the needed pages if pages are read alone.
    pub payload_bytes: u64,
}

impl Explain {
    /// Adds the cost of another plan that is executed at the same time: counts add up, and the larger number of hops counts.
    pub fn and(mut self, other: Self) -> Self {
        self.groups.extend(other.groups);
        Self {
            groups: self.groups,
            ranges: self.ranges + other.ranges,
            requests: self.requests + other.requests,
            bytes: self.bytes + other.bytes,
            payload_bytes: self.payload_bytes + other.payload_bytes,
            hops: self.hops.max(other.hops),
            file_reads: self.file_reads + other.file_reads,
        }
    }
}

impl ReadPlan {
    /// Returns the cost of the plan; `name` returns the names of a group and of its wanted columns.
    pub fn explain(&self, name: impl Fn(&GroupPlan) -> (String, Vec<String>)) -> Explain {
        let mut total = Explain::default();
        for group in &self.groups {
            let (name, columns) = name(group);
            let lengths = || group.ranges.iter().map(|range| range.range.end - range.range.start);
            let explained = ExplainGroup {
                name,
                columns,
                blocks: group.blocks.iter().filter(|block| !matches!(block.bytes, BlockBytes::Cached)).count(),
                ranges: group.ranges.len(),
                requests: lengths().map(range_parts).sum(),
                bytes: lengths().sum(),
                payload_bytes: group.blocks.iter().map(|block| block.bytes.stored()).sum(),
            };
            total.ranges += explained.ranges;
            total.requests += explained.requests;
            total.bytes += explained.bytes;
            total.payload_bytes += explained.payload_bytes;
            total.groups.push(explained);
        }
        total.hops = usize::from(total.requests > 0);
        debug_assert!(total.bytes <= SPLIT_ABOVE || total.requests >= 1);
        total
    }
}
