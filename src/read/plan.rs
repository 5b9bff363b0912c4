//! The read plan: a pure value. Rows x columns in, byte ranges out; another part fetches them.

use std::ops::Range;

use serde::Serialize;

use super::layout::{BlockPlace, Layout};
use crate::{
    error::Result,
    format::ChunkSeed,
    id::ChunkId,
    store::{SPLIT_ABOVE, range_parts},
};

/// When two ranges of one chunk become one request: the gap between them is read and thrown away where that costs less than
/// another request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coalesce {
    /// Gaps of up to this many bytes are bridged.
    pub max_gap: u64,
    /// No bridge makes a range longer than this; blocks that touch are never parted.
    pub max_bridged: u64,
}

impl Coalesce {
    /// Bytes in memory: nothing is bridged.
    pub const MEMORY: Self = Self { max_gap: 0, max_bridged: 0 };
    /// A local disk: a positioned read costs about as much as copying 16 KiB.
    pub const LOCAL: Self = Self { max_gap: 16 << 10, max_bridged: 8 << 20 };
    /// An object store: 30 ms at 90 MB/s are 2.7 MB; a third of that keeps waste low when many streams share a link.
    pub const REMOTE: Self = Self { max_gap: 1 << 20, max_bridged: 12 << 20 };
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
}

/// What will be read for some rows.
#[derive(Clone, Debug)]
pub struct ReadPlan {
    /// One for each column group.
    pub groups: Vec<GroupPlan>,
    /// How many rows come out, missing ones included.
    pub rows: usize,
}

/// What will be read of one column group.
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
    /// The range that holds it (a number in `ranges`), and where it lies in that range.
    pub range: usize,
    /// Bytes within the range.
    pub within: Range<usize>,
}

/// A range of a chunk to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeRead {
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
    Ok(ReadPlan { groups, rows: rows.len() })
}

fn plan_group(request: &GroupRequest<'_>, rows: &[Option<u64>], coalesce: Coalesce) -> Result<GroupPlan> {
    let layout = request.layout;
    let places = rows.iter().map(|row| row.map(|row| layout.locate(row)).transpose()).collect::<Result<Vec<_>>>()?;
    let mut wanted: Vec<BlockPlace> = places.iter().flatten().map(|place| place.block).collect();
    if !wanted.is_sorted() {
        wanted.sort_unstable();
    }
    wanted.dedup();
    let mut blocks: Vec<BlockRead> = Vec::with_capacity(wanted.len());
    let mut ranges: Vec<RangeRead> = Vec::new();
    let mut last_run = None;
    for place in &wanted {
        let run = layout.run(*place)?;
        let bytes = layout.byte_range(*place)?;
        let joined = ranges.last_mut().filter(|last| {
            let near = last.range.end <= bytes.start && bytes.start - last.range.end <= coalesce.max_gap;
            let touches = last.range.end == bytes.start;
            // Two runs may lie in one chunk, as when a table shares it with another.
            (last_run == Some(place.run) || last.chunk == run.chunk)
                && (touches || (near && bytes.end - last.range.start <= coalesce.max_bridged))
        });
        match joined {
            Some(last) => last.range.end = bytes.end,
            None => ranges.push(RangeRead { chunk: run.chunk, chunk_bytes: run.chunk_bytes, range: bytes.clone() }),
        }
        last_run = Some(place.run);
        let range_start = ranges.last().map_or(0, |range| range.range.start);
        let start = usize::try_from(bytes.start - range_start).unwrap_or(usize::MAX);
        let len = usize::try_from(bytes.end - bytes.start).unwrap_or(usize::MAX);
        blocks.push(BlockRead {
            place: *place,
            ordinal: run.first_block + u32::try_from(place.block).unwrap_or(u32::MAX),
            rows: run.block_rows.get(place.block),
            seed: run.seed,
            range: ranges.len() - 1,
            within: start..start.saturating_add(len),
        });
    }
    let rows = places
        .into_iter()
        .map(|place| place.map(|place| (wanted.binary_search(&place.block).unwrap_or(usize::MAX), place.row)))
        .collect();
    Ok(GroupPlan { group: request.group, pages: request.pages.clone(), blocks, ranges, rows })
}

/// What a plan will cost: what a counting store sees when it is executed.
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
    /// Bytes of the blocks that hold wanted rows.
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
    /// Bytes of its blocks.
    pub payload_bytes: u64,
}

impl ReadPlan {
    /// What the plan costs; `name` gives the names of a group and of its wanted columns.
    pub fn explain(&self, name: impl Fn(&GroupPlan) -> (String, Vec<String>)) -> Explain {
        let mut total = Explain::default();
        for group in &self.groups {
            let (name, columns) = name(group);
            let lengths = || group.ranges.iter().map(|range| range.range.end - range.range.start);
            let explained = ExplainGroup {
                name,
                columns,
                blocks: group.blocks.len(),
                ranges: group.ranges.len(),
                requests: lengths().map(range_parts).sum(),
                bytes: lengths().sum(),
                payload_bytes: group.blocks.iter().map(|block| block.within.len() as u64).sum(),
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
