//! The read plan: a pure value. Rows x columns in, byte ranges out; another part fetches them.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use serde::Serialize;

use super::{
    decode::Page,
    kept::Kept,
    layout::{BlockPlace, Layout, RowPlace},
};
use crate::{
    error::{Error, Result},
    format::{ChunkSeed, LayoutRun},
    id::ChunkId,
    store::{RangeRequest, SPLIT_ABOVE, range_parts},
};

/// When two ranges of one chunk become one request: the gap between them is read and thrown away where that costs less than
/// another request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coalesce {
    /// Gaps of up to this many bytes are bridged.
    pub max_gap: u64,
    /// No bridge makes a range longer than this.
    pub max_bridged: u64,
    /// Blocks that touch are one range up to this; a longer block is one all the same.
    pub max_range: u64,
}

impl Coalesce {
    /// Bytes in memory: nothing is bridged.
    pub const MEMORY: Self = Self { max_gap: 0, max_bridged: 0, max_range: u64::MAX };
    /// A local disk: a positioned read costs about as much as copying 16 KiB.
    pub const LOCAL: Self = Self { max_gap: 16 << 10, max_bridged: 1 << 20, max_range: u64::MAX };
    /// An object store: 30 ms at 90 MB/s are 2.7 MB; a third of that keeps waste low when many streams share a link.
    pub const REMOTE: Self = Self { max_gap: 1 << 20, max_bridged: 12 << 20, max_range: u64::MAX };
}

/// One column group to be read.
#[derive(Clone, Debug)]
pub struct GroupRequest<'a> {
    /// Its number in the schema.
    pub group: usize,
    /// The numbers of the wanted pages in its blocks.
    pub pages: Vec<usize>,
    /// Its block map.
    pub layout: &'a Layout,
    /// Where decoded blocks of it may be kept.
    pub kept: &'a Kept,
}

/// The reads that some rows need.
#[derive(Clone, Debug)]
pub struct ReadPlan {
    /// One for each column group.
    pub groups: Vec<GroupPlan>,
}

/// The reads of one column group.
#[derive(Clone, Debug)]
pub struct GroupPlan {
    /// Its number in the schema.
    pub group: usize,
    /// The numbers of the wanted pages.
    pub pages: Vec<usize>,
    /// Every block that holds a wanted row, once, in table order.
    pub blocks: Vec<BlockRead>,
    /// The ranges that hold the blocks, in the order of the blocks.
    pub ranges: Vec<RangeRead>,
    /// The wanted pages of the blocks that were kept, one block after another, each in the order of `pages`.
    pub kept: Vec<Page>,
    /// For each row that comes out: its block (a number in `blocks`) and its row there.
    pub rows: Vec<Option<(usize, usize)>>,
}

/// A block to be read.
#[derive(Clone, Debug)]
pub struct BlockRead {
    /// Where the layout has it.
    pub place: BlockPlace,
    /// Its number within its chunk.
    pub ordinal: u32,
    /// Its rows.
    pub rows: u32,
    /// Seeds its checksums.
    pub seed: ChunkSeed,
    /// The part of the block that is read.
    pub bytes: BlockBytes,
    /// Whether it is kept once it is decoded: some of its rows are wanted, and not all.
    pub keep: bool,
}

/// The bytes of a block that are read.
#[derive(Clone, Debug)]
pub enum BlockBytes {
    /// All of it.
    Block(Stretch),
    /// Its wanted pages, in the order of [`GroupPlan::pages`], where the layout says where they lie.
    Pages(Vec<Stretch>),
    /// Nothing: its wanted pages were kept, and are in [`GroupPlan::kept`].
    Kept,
}

impl RangeRead {
    /// The request for it.
    pub(super) fn request(&self) -> RangeRequest {
        RangeRequest::new(self.chunk.object_name(), self.chunk_bytes, self.range.clone())
    }
}

impl BlockBytes {
    /// The number of these bytes.
    pub fn stored(&self) -> u64 {
        self.stretches().iter().map(|stretch| stretch.within.len() as u64).sum()
    }

    pub(super) fn stretches_mut(&mut self) -> &mut [Stretch] {
        match self {
            Self::Block(stretch) => std::slice::from_mut(stretch),
            Self::Pages(stretches) => stretches,
            Self::Kept => &mut [],
        }
    }

    /// Its stretches.
    pub fn stretches(&self) -> &[Stretch] {
        match self {
            Self::Block(stretch) => std::slice::from_ref(stretch),
            Self::Pages(stretches) => stretches,
            Self::Kept => &[],
        }
    }
}

/// Consecutive bytes of a fetched range.
#[derive(Clone, Debug)]
pub struct Stretch {
    /// The range that holds them (a number in `ranges`).
    pub range: usize,
    /// Where they lie in that range.
    pub within: Range<usize>,
}

/// A range of a chunk to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeRead {
    /// Whose chunk it is: 0 the table's own, k the k-th of the manifest's `stores`.
    pub owner: u32,
    /// The chunk.
    pub chunk: ChunkId,
    /// Its size.
    pub chunk_bytes: u64,
    /// The bytes of it.
    pub range: Range<u64>,
}

/// Plans the read of `rows` (table rows; `None` = a missing row) from each group.
///
/// # Errors
/// `Invalid` for a row outside the table.
pub fn plan(groups: &[GroupRequest<'_>], rows: &[Option<u64>], coalesce: Coalesce) -> Result<ReadPlan> {
    let groups = groups.iter().map(|group| plan_group(group, rows, coalesce)).collect::<Result<Vec<_>>>()?;
    Ok(ReadPlan { groups })
}

fn plan_group(request: &GroupRequest<'_>, rows: &[Option<u64>], coalesce: Coalesce) -> Result<GroupPlan> {
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
    let (were_kept, kept) = request.kept.find(request.group, &wanted, &request.pages);
    let mut blocks: Vec<BlockRead> = Vec::with_capacity(wanted.len());
    let mut ranges = Ranges { ranges: Vec::new(), coalesce };
    for ((place, uses), was_kept) in wanted.iter().zip(uses).zip(were_kept) {
        let run = layout.run(*place)?;
        let block_rows = run.block_rows.get(place.block);
        let some = request.pages.len() < run.chains.len();
        let pages = || request.pages.iter().map(|page| run.page_range(place.block, *page)).collect::<Option<Vec<_>>>();
        let keep = request.kept.keeps() && !was_kept && uses < block_rows;
        let bytes = if was_kept {
            BlockBytes::Kept
        } else if let Some(pages) = some.then(pages).flatten() {
            BlockBytes::Pages(pages.into_iter().map(|page| ranges.add(run, page)).collect())
        } else {
            BlockBytes::Block(ranges.add(run, layout.byte_range(*place)?))
        };
        let ordinal = run.first_block + u32::try_from(place.block).unwrap_or(u32::MAX);
        blocks.push(BlockRead { place: *place, ordinal, rows: block_rows, seed: run.seed, bytes, keep });
    }
    let ranges = ranges.ranges;
    Ok(GroupPlan { group: request.group, pages: request.pages.clone(), blocks, ranges, kept, rows })
}

impl GroupPlan {
    /// The runs that its blocks are of, by their numbers.
    pub(super) fn runs<'a>(&self, layout: &'a Layout) -> Result<BTreeMap<usize, &'a LayoutRun>> {
        let blocks = self.blocks.chunk_by(|block, next| block.place.run == next.place.run).filter_map(<[_]>::first);
        blocks.map(|block| Ok((block.place.run, layout.run(block.place)?))).collect()
    }

    /// Stored bytes of its blocks that are read.
    pub(super) fn stored(&self) -> u64 {
        self.blocks.iter().map(|block| block.bytes.stored()).sum()
    }

    /// The range that holds a stretch, and the bytes of the chunk that the stretch is.
    pub(super) fn bytes_of(&self, stretch: &Stretch) -> Option<(&RangeRead, Range<u64>)> {
        let range = self.ranges.get(stretch.range)?;
        let at = |within: usize| range.range.start + within as u64;
        Some((range, at(stretch.within.start)..at(stretch.within.end)))
    }

    /// Takes blocks that were kept since the plan was made, among those (by their numbers) that are `wanted`; whether there was any.
    pub(super) fn look_again(&mut self, kept: &Kept, wanted: impl Fn(usize) -> bool) -> bool {
        let open =
            |(number, block): &(usize, &BlockRead)| block.rows > 1 && !matches!(block.bytes, BlockBytes::Kept) && wanted(*number);
        let open: Vec<(usize, BlockPlace)> =
            self.blocks.iter().enumerate().filter(open).map(|(number, block)| (number, block.place)).collect();
        if open.is_empty() || !kept.keeps() {
            return false;
        }
        let places: Vec<BlockPlace> = open.iter().map(|(_, place)| *place).collect();
        let (are_kept, pages) = kept.find(self.group, &places, &self.pages);
        if pages.is_empty() {
            return false;
        }
        let found: BTreeSet<usize> =
            open.iter().zip(are_kept).filter(|(_, kept)| *kept).map(|((number, _), _)| *number).collect();
        let (mut before, mut new) = (std::mem::take(&mut self.kept).into_iter(), pages.into_iter());
        for (number, block) in self.blocks.iter_mut().enumerate() {
            if found.contains(&number) {
                (block.bytes, block.keep) = (BlockBytes::Kept, false);
                self.kept.extend(new.by_ref().take(self.pages.len()));
            } else if matches!(block.bytes, BlockBytes::Kept) {
                self.kept.extend(before.by_ref().take(self.pages.len()));
            }
        }
        true
    }

    /// Leaves some of the wanted pages to be read, by their places in [`GroupPlan::pages`]; each with where it lies in the chunk
    /// of each block, which must be known where others are taken away.
    pub(super) fn leave(&mut self, left: &[(usize, Option<Vec<Range<u64>>>)]) -> Result<()> {
        let unknown = || Error::internal("a page whose place is not known");
        for (number, block) in self.blocks.iter_mut().enumerate() {
            let stretch = |(position, places): &(usize, Option<Vec<Range<u64>>>)| match &block.bytes {
                BlockBytes::Pages(stretches) => stretches.get(*position).cloned(),
                BlockBytes::Block(whole) => {
                    let start = self.ranges.get(whole.range)?.range.start;
                    let place = places.as_ref()?.get(number)?;
                    let within = |at: u64| at.checked_sub(start).and_then(|at| usize::try_from(at).ok());
                    Some(Stretch { range: whole.range, within: within(place.start)?..within(place.end)? })
                }
                BlockBytes::Kept => None,
            };
            block.bytes = BlockBytes::Pages(left.iter().map(stretch).collect::<Option<_>>().ok_or_else(unknown)?);
        }
        let pages = left.iter().map(|(position, _)| self.pages.get(*position).copied()).collect::<Option<_>>();
        self.pages = pages.ok_or_else(unknown)?;
        Ok(())
    }

    /// The same reads in ranges of at most so many bytes; one longer stretch is a range all the same.
    pub(super) fn in_short_ranges(mut self, most: u64) -> Self {
        let mut short: Vec<RangeRead> = Vec::new();
        let mut newest: Vec<Option<usize>> = vec![None; self.ranges.len()];
        for stretch in self.blocks.iter_mut().flat_map(|block| block.bytes.stretches_mut()) {
            let Some((long, newest)) = self.ranges.get(stretch.range).zip(newest.get_mut(stretch.range)) else { continue };
            let bytes = long.range.start + stretch.within.start as u64..long.range.start + stretch.within.end as u64;
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
            *stretch = Stretch { range: number, within: start..start.saturating_add(stretch.within.len()) };
        }
        self.ranges = short;
        self
    }
}

/// The ranges of a plan, joined as they come.
struct Ranges {
    ranges: Vec<RangeRead>,
    coalesce: Coalesce,
}

impl Ranges {
    /// Adds bytes of a run's chunk, to the last range of that chunk if they are near its end. That need not be the last of all:
    /// where a table shares chunks, new blocks lie in one chunk and those around them in another.
    fn add(&mut self, run: &LayoutRun, bytes: Range<u64>) -> Stretch {
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
                let (owner, chunk, chunk_bytes) = (run.owner, run.chunk, run.chunk_bytes);
                self.ranges.push(RangeRead { owner, chunk, chunk_bytes, range: bytes.clone() });
                bytes.start
            }
        };
        let start = usize::try_from(bytes.start - range_start).unwrap_or(usize::MAX);
        let len = usize::try_from(bytes.end - bytes.start).unwrap_or(usize::MAX);
        Stretch { range: number, within: start..start.saturating_add(len) }
    }
}

/// Ranges that are looked at for one of the same chunk: a window over shared blocks meets few chunks.
const LOOK_BACK: usize = 8;

/// The cost of a plan: the requests and bytes that a counting store sees when the plan is executed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Explain {
    /// One for each column group read.
    pub groups: Vec<ExplainGroup>,
    /// Ranges, before long ones are split.
    pub ranges: usize,
    /// Requests to the store.
    pub requests: usize,
    /// Bytes asked for.
    pub bytes: u64,
    /// Bytes of the blocks, or of the pages where those are read alone, that hold what is wanted.
    pub payload_bytes: u64,
    /// Requests that wait for one another.
    pub hops: usize,
}

/// The part of one column group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExplainGroup {
    /// Its name.
    pub name: String,
    /// The columns read from it.
    pub columns: Vec<String>,
    /// Blocks read and decoded.
    pub blocks: usize,
    /// Ranges of it.
    pub ranges: usize,
    /// Requests to the store.
    pub requests: usize,
    /// Bytes asked for.
    pub bytes: u64,
    /// Bytes of its blocks, or of their pages where those are read alone.
    pub payload_bytes: u64,
}

impl Explain {
    /// Both together, read at the same time.
    pub fn and(mut self, other: Self) -> Self {
        self.groups.extend(other.groups);
        Self {
            groups: self.groups,
            ranges: self.ranges + other.ranges,
            requests: self.requests + other.requests,
            bytes: self.bytes + other.bytes,
            payload_bytes: self.payload_bytes + other.payload_bytes,
            hops: self.hops.max(other.hops),
        }
    }
}

impl ReadPlan {
    /// The cost of the plan; `name` gives the names of a group and of its wanted columns.
    pub fn explain(&self, name: impl Fn(&GroupPlan) -> (String, Vec<String>)) -> Explain {
        let mut total = Explain::default();
        for group in &self.groups {
            let (name, columns) = name(group);
            let lengths = || group.ranges.iter().map(|range| range.range.end - range.range.start);
            let explained = ExplainGroup {
                name,
                columns,
                blocks: group.blocks.iter().filter(|block| !matches!(block.bytes, BlockBytes::Kept)).count(),
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
