//! Executes a plan: fetches its ranges, decodes every block once, assembles the columns.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use arrow_array::ArrayRef;
use bytes::Bytes;
use futures::future::try_join_all;

use super::{
    assemble::assemble,
    decode::{GroupTypes, decode_block},
    layout::Layout,
    plan::{GroupPlan, RangeRead, ReadPlan},
};
use crate::{
    codec::Chain,
    error::{Error, ErrorKind, Result},
    schema::{ColumnId, ColumnType, Schema},
    store::{RangeRequest, Store},
};

/// Stored bytes above which decoding is shared among threads.
const PARALLEL_ABOVE: u64 = 2 << 20;

/// Reads what the plan says; `layouts[g]` belongs to `plan.groups[g]`, `stores` holds that of each owner the plan names. Gives each wanted column with its rows.
///
/// # Errors
/// `Corrupt` where stored bytes are not what was written or not there; errors of the store.
pub async fn execute(
    stores: &BTreeMap<u32, Store>,
    schema: &Schema,
    layouts: &[Arc<Layout>],
    plan: ReadPlan,
) -> Result<Vec<(ColumnId, ArrayRef)>> {
    let mut requests: BTreeMap<u32, Vec<RangeRequest>> = BTreeMap::new();
    for range in plan.groups.iter().flat_map(|group| &group.ranges) {
        let request = RangeRequest::new(range.chunk.object_name(), range.chunk_bytes, range.range.clone());
        requests.entry(range.owner).or_default().push(request);
    }
    let reads = requests.iter().map(|(owner, requests)| async move {
        let store = stores.get(owner).ok_or_else(|| Error::internal(format!("no store of owner {owner}")))?;
        let fetched = store.read(requests).await.map_err(|error| match error.kind() {
            // The layout says it is there: somebody took it away.
            ErrorKind::NotFound => Error::corrupt(error.to_string()).with_source(error),
            _ => error,
        })?;
        Ok::<_, Error>((*owner, fetched.into_iter()))
    });
    let mut fetched: BTreeMap<u32, std::vec::IntoIter<Bytes>> = try_join_all(reads).await?.into_iter().collect();
    let mut columns = Vec::new();
    for (group, layout) in plan.groups.into_iter().zip(layouts) {
        let mut next = |range: &RangeRead| fetched.get_mut(&range.owner).and_then(Iterator::next);
        let ranges = group.ranges.iter().map(|range| next(range).ok_or_else(|| Error::internal("a range without an answer")));
        let ranges = ranges.collect::<Result<Vec<Bytes>>>()?;
        let described =
            schema.groups().get(group.group).ok_or_else(|| Error::internal(format!("no column group {}", group.group)))?;
        let types = described.columns.iter().filter_map(|id| schema.column(*id)).map(|column| column.ty.clone()).collect();
        let types = GroupTypes { types, name: described.name.clone() };
        let ids: Vec<Option<ColumnId>> = group.pages.iter().map(|page| described.columns.get(*page).copied()).collect();
        let arrays = read_group(group, types, Arc::clone(layout), ranges).await?;
        columns.extend(ids.into_iter().flatten().zip(arrays));
    }
    Ok(columns)
}

/// Decodes the blocks of one group and assembles its wanted columns.
async fn read_group(group: GroupPlan, types: GroupTypes, layout: Arc<Layout>, ranges: Vec<Bytes>) -> Result<Vec<ArrayRef>> {
    let bytes: u64 = ranges.iter().map(|range| range.len() as u64).sum();
    let threads = threads();
    let decoded = if bytes < PARALLEL_ABOVE || threads == 1 || group.blocks.len() < 2 {
        decode_blocks(&group, &types, &layout, &ranges, 0..group.blocks.len())?
    } else {
        let shared = Arc::new((group.clone(), types, layout, ranges));
        let share = group.blocks.len().div_ceil(threads);
        let jobs = (0..threads).map(|thread| {
            let shared = Arc::clone(&shared);
            let part = (thread * share).min(shared.0.blocks.len())..((thread + 1) * share).min(shared.0.blocks.len());
            tokio::task::spawn_blocking(move || {
                let (group, types, layout, ranges) = &*shared;
                decode_blocks(group, types, layout, ranges, part)
            })
        });
        let parts = try_join_all(jobs).await.map_err(|error| Error::internal(format!("decoding: {error}")))?;
        let decoded = parts.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
        return assemble_all(&group, &shared.1.types, decoded);
    };
    assemble_all(&group, &types.types, decoded)
}

/// How many threads decode; asking the system reads files, which takes as long as reading a small row.
fn threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| std::thread::available_parallelism().map_or(1, |threads| threads.get()))
}

fn decode_blocks(
    group: &GroupPlan,
    types: &GroupTypes,
    layout: &Layout,
    ranges: &[Bytes],
    part: std::ops::Range<usize>,
) -> Result<Vec<Vec<ArrayRef>>> {
    let blocks = group.blocks.get(part).unwrap_or_default();
    let decode = |block| -> Result<Vec<ArrayRef>> {
        let block: &super::plan::BlockRead = block;
        let chains: &[Chain] = &layout.run(block.place)?.chains;
        decode_block(group, types, chains, block, ranges)
    };
    blocks.iter().map(decode).collect()
}

fn assemble_all(group: &GroupPlan, types: &[ColumnType], decoded: Vec<Vec<ArrayRef>>) -> Result<Vec<ArrayRef>> {
    let mut columns = Vec::with_capacity(group.pages.len());
    for (wanted, page) in group.pages.iter().enumerate() {
        let ty = types.get(*page).ok_or_else(|| Error::internal(format!("no column {page}")))?;
        let blocks: Vec<&ArrayRef> = decoded.iter().filter_map(|block| block.get(wanted)).collect();
        columns.push(assemble(group, ty, &blocks)?);
    }
    Ok(columns)
}
