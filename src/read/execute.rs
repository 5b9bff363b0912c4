//! Executes a read plan: fetches its ranges, decodes every block once, and assembles the columns.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use arrow_array::ArrayRef;
use bytes::Bytes;
use futures::future::try_join_all;

use super::{
    assemble::Assembly,
    block_cache::CachedBlocks,
    decode::{GroupTypes, decode_block},
    files::{self, Files},
    flights::Flights,
    land::Landing,
    layout::Layout,
    page::{Page, lost, store_of},
    plan::{BlockBytes, BlockRead, GroupPlan, RangeRead, ReadPlan},
    sizes::{BYTES_AS_ONE, HERE, PARALLEL_ABOVE, PARALLEL_PLAIN_ABOVE, PIECE, SHARED_PIECE, VALUE},
};
use crate::{
    codec::Chain,
    error::{Error, ErrorKind, Result},
    format::LayoutRun,
    offload::{Stop, offload},
    schema::{ColumnId, Schema},
    store::{RangeRequest, Store},
    threads::{others_for, share, share_in_order},
};

/// Executes a read plan and returns each wanted column with its rows.
///
/// `layouts[g]` belongs to `plan.groups[g]`. `stores` has the store of every owner that the plan names. Blocks of which only some
/// rows were wanted are added to `cache`.
///
/// Decoding work of about a millisecond or less runs on the calling thread; longer work runs off the executor. Dropping the
/// future stops that work soon.
///
/// # Errors
/// - `Corrupt`: stored bytes fail their checks, or a chunk that the layout names does not exist.
/// - Any error of the stores.
pub async fn execute(
    stores: &BTreeMap<u32, Store>,
    schema: &Schema,
    layouts: &[Arc<Layout>],
    plan: ReadPlan,
    cache: &CachedBlocks,
    flights: &Flights,
) -> Result<Vec<(ColumnId, ArrayRef)>> {
    let groups = plan.groups.iter().map(|group| Described::new(schema, group)).collect::<Result<Vec<_>>>()?;
    let reading = |plan, from| Reading { groups: groups.clone(), layouts: layouts.to_vec(), plan, cache: cache.clone(), from };
    if stores.values().all(Store::is_local) {
        let from = match is_piecewise(&plan) {
            true => Origin::Files(Files::new(stores)),
            false => {
                files::prefetch(stores, &plan);
                Origin::Fetched(fetch(stores, &plan).await?)
            }
        };
        return reading(plan, from).read().await;
    }
    let mut boarded = flights.board(stores, plan.clone(), cache)?;
    let read = async {
        let fetched = boarded.arrive().await?;
        let mut plan = ReadPlan { groups: std::mem::take(&mut boarded.plan.groups) };
        if boarded.joins() {
            // Another read that waited for the same blocks may have decoded and cached them.
            for group in &mut plan.groups {
                group.look_again(cache, |_| true);
            }
        }
        reading(plan, Origin::Fetched(fetched)).read().await
    };
    match read.await {
        // If a request of another read failed, or gave bytes that fail their checks, this read sends its own requests.
        Err(error) if boarded.joins() && (boarded.others_failed() || error.kind() == ErrorKind::Corrupt) => {
            drop(boarded);
            let fetched = fetch(stores, &plan).await?;
            reading(plan, Origin::Fetched(fetched)).read().await
        }
        read => read,
    }
}

/// Whether the threads that decode a local read also read its files, piece by piece. A small read fetches all ranges first.
fn is_piecewise(plan: &ReadPlan) -> bool {
    let ranges = plan.groups.iter().flat_map(|group| &group.ranges);
    ranges.map(|range| range.range.end - range.range.start).sum::<u64>() > PIECE
}

/// Splits the groups of a plan for reads piece by piece: the columns that are read directly into the result, and the rest of the
/// group in short ranges, each of which is read once.
fn local_parts(plan: ReadPlan, groups: &[Described], layouts: &[Arc<Layout>]) -> Result<Vec<(Option<Landing>, GroupPlan)>> {
    let parts = plan.groups.into_iter().zip(groups).zip(layouts).map(|((mut group, described), layout)| {
        let landing = Landing::take_from(&mut group, &described.types, layout)?;
        Ok((landing, if group.pages.is_empty() { group } else { group.in_short_ranges(PIECE) }))
    });
    parts.collect()
}

/// Returns the number of file reads that [`execute`] makes for this plan if all of its stores are local.
///
/// # Errors
/// - `Internal`: the plan names a group or a block that the schema or the layouts do not have.
pub fn file_reads(schema: &Schema, layouts: &[Arc<Layout>], plan: ReadPlan) -> Result<usize> {
    if !is_piecewise(&plan) {
        return Ok(plan.groups.iter().map(|group| group.ranges.len()).sum());
    }
    let groups = plan.groups.iter().map(|group| Described::new(schema, group)).collect::<Result<Vec<_>>>()?;
    let reads = local_parts(plan, &groups, layouts)?.into_iter().map(|(landing, rest)| {
        landing.map_or(0, |landing| landing.file_reads()) + if rest.pages.is_empty() { 0 } else { rest.ranges.len() }
    });
    Ok(reads.sum())
}

/// The schema of one group of a plan.
#[derive(Clone)]
struct Described {
    types: Arc<GroupTypes>,
    /// The wanted columns.
    ids: Vec<ColumnId>,
    /// The page numbers of the wanted columns, in the same order.
    pages: Vec<usize>,
}

impl Described {
    fn new(schema: &Schema, group: &GroupPlan) -> Result<Self> {
        let described =
            schema.groups().get(group.group).ok_or_else(|| Error::internal(format!("no column group {}", group.group)))?;
        let id = |page: &usize| described.columns.get(*page).copied().ok_or_else(|| Error::internal(format!("no column {page}")));
        let types = described.columns.iter().filter_map(|id| schema.column(*id)).map(|column| column.ty.clone()).collect();
        let types = Arc::new(GroupTypes { types, name: described.name.clone() });
        Ok(Self { types, ids: group.pages.iter().map(id).collect::<Result<_>>()?, pages: group.pages.clone() })
    }

    fn id(&self, page: usize) -> Result<ColumnId> {
        let id = self.pages.iter().position(|held| *held == page).and_then(|place| self.ids.get(place));
        id.copied().ok_or_else(|| Error::internal(format!("no column {page}")))
    }
}

/// A plan with everything that is needed to decode and assemble its columns.
struct Reading {
    groups: Vec<Described>,
    layouts: Vec<Arc<Layout>>,
    plan: ReadPlan,
    cache: CachedBlocks,
    from: Origin,
}

/// The source of the ranges of a plan.
enum Origin {
    /// The bytes of all ranges, in the order of the plan.
    Fetched(Vec<Bytes>),
    /// The local files from which the ranges are still to be read.
    Files(Files),
}

impl Reading {
    #[tracing::instrument(level = "debug", name = "decode", skip_all, fields(groups = self.groups.len()))]
    async fn read(self) -> Result<Vec<(ColumnId, ArrayRef)>> {
        match self.work()? <= HERE {
            true => self.read_here(&Stop::default()),
            false => offload(|stop: &Stop| self.read_here(stop)).await,
        }
    }

    /// Estimates the work of decoding and assembling, in stored bytes to decode.
    fn work(&self) -> Result<u64> {
        let mut work = 0_u64;
        for (group, layout) in self.plan.groups.iter().zip(&self.layouts) {
            let stored = group.stored();
            let bytes = match stored > HERE && is_plain(group, layout)? {
                true => stored / BYTES_AS_ONE,
                false => stored.max(stored.saturating_mul(layout.expansion()) / BYTES_AS_ONE),
            };
            work = work.saturating_add(bytes).saturating_add(VALUE * group.rows.len() as u64 * group.pages.len() as u64);
        }
        Ok(work)
    }

    fn read_here(self, stop: &Stop) -> Result<Vec<(ColumnId, ArrayRef)>> {
        let Self { groups, layouts, plan, cache, from } = self;
        let (files, mut fetched) = match from {
            Origin::Fetched(fetched) => (None, fetched.into_iter()),
            Origin::Files(files) => {
                files.start(&plan);
                (Some(files), Vec::new().into_iter())
            }
        };
        // The columns of each group: first those read directly into the result, then the others.
        let mut columns: Vec<Vec<(ColumnId, ArrayRef)>> = Vec::with_capacity(plan.groups.len());
        let mut reads = Vec::new();
        let parts = match files {
            Some(_) => local_parts(plan, &groups, &layouts)?,
            None => plan.groups.into_iter().map(|group| (None, group)).collect(),
        };
        for (((landing, group), described), layout) in parts.into_iter().zip(&groups).zip(&layouts) {
            let mut arrays = Vec::with_capacity(group.pages.len());
            if let (Some(files), Some(landing)) = (&files, landing) {
                for (page, array) in landing.read(files, stop)? {
                    arrays.push((described.id(page)?, array));
                }
            }
            if !group.pages.is_empty() {
                let ids = group.pages.iter().map(|page| described.id(*page)).collect::<Result<Vec<_>>>()?;
                let ranges = match &files {
                    Some(files) => Ranges::Files(files.clone()),
                    None => Ranges::Fetched(fetched.by_ref().take(group.ranges.len()).collect()),
                };
                let (types, layout) = (Arc::clone(&described.types), Arc::clone(layout));
                let read = GroupRead { group, types, layout, ranges, cache: cache.clone(), stop: stop.clone() };
                reads.push((columns.len(), ids, read));
            }
            columns.push(arrays);
        }
        let is_few = |read: &GroupRead| files.is_some() && read.group.stored() <= PARALLEL_ABOVE;
        let (few, many): (Vec<_>, Vec<_>) = reads.into_iter().partition(|(.., read)| is_few(read));
        let mut read = read_together(few)?;
        for (group, ids, many) in many {
            read.push((group, ids, many.read()?));
        }
        for (group, ids, arrays) in read {
            let columns = columns.get_mut(group).ok_or_else(|| Error::internal(format!("no group {group}")))?;
            columns.extend(ids.into_iter().zip(arrays));
        }
        Ok(columns.into_iter().flatten().collect())
    }
}

/// Reads small groups from local files, the largest group first. The threads share the groups.
fn read_together<T: Send>(mut reads: Vec<(usize, T, GroupRead)>) -> Result<Vec<(usize, T, Vec<ArrayRef>)>> {
    reads.sort_by_key(|(.., read)| Reverse(read.group.stored()));
    let bytes = reads.iter().map(|(.., read)| read.group.stored()).sum();
    share(reads, others_for(bytes), |(group, ids, read)| Ok((group, ids, read.read_here()?)))
}

/// Whether all wanted pages are plain: their values are stored without any codec.
fn is_plain(group: &GroupPlan, layout: &Layout) -> Result<bool> {
    let runs = group.runs(layout)?;
    let plain = |run: &&LayoutRun| group.pages.iter().all(|page| run.chains.get(*page).is_some_and(Chain::is_plain));
    Ok(runs.values().all(plain))
}

/// Fetches the ranges of all groups and returns their bytes in the order of the plan.
async fn fetch(stores: &BTreeMap<u32, Store>, plan: &ReadPlan) -> Result<Vec<Bytes>> {
    let mut requests: BTreeMap<u32, Vec<RangeRequest>> = BTreeMap::new();
    for range in plan.groups.iter().flat_map(|group| &group.ranges) {
        requests.entry(range.owner).or_default().push(range.request());
    }
    let reads = requests.iter().map(|(owner, requests)| async move {
        Ok::<_, Error>((*owner, store_of(stores, *owner)?.read(requests).await.map_err(lost)?.into_iter()))
    });
    let mut fetched: BTreeMap<u32, std::vec::IntoIter<Bytes>> = try_join_all(reads).await?.into_iter().collect();
    let mut next = |range: &RangeRead| fetched.get_mut(&range.owner).and_then(Iterator::next);
    let ranges = plan.groups.iter().flat_map(|group| &group.ranges);
    ranges.map(|range| next(range).ok_or_else(|| Error::internal("the store returned too few ranges"))).collect()
}

/// One group of a plan and the source of its bytes.
struct GroupRead {
    group: GroupPlan,
    types: Arc<GroupTypes>,
    layout: Arc<Layout>,
    ranges: Ranges,
    cache: CachedBlocks,
    stop: Stop,
}

/// The source of the ranges of a group.
enum Ranges {
    /// The bytes of all ranges, in the order of the plan.
    Fetched(Vec<Bytes>),
    /// The local files from which the ranges are still to be read.
    Files(Files),
}

/// Blocks that are decoded together, and the ranges that hold them.
#[derive(Default)]
struct Piece {
    blocks: Vec<usize>,
    ranges: BTreeSet<usize>,
}

impl GroupRead {
    /// Creates the assembly and adds the cached blocks to it. Returns the assembly and the blocks that are still to be decoded,
    /// in the order in which the result needs them.
    fn start(&mut self) -> Result<(Assembly, Vec<usize>)> {
        let wanted = self
            .group
            .pages
            .iter()
            .map(|page| self.types.types.get(*page).cloned().ok_or_else(|| Error::internal(format!("no column {page}"))));
        let mut assembly = Assembly::new(&self.group, wanted.collect::<Result<_>>()?);
        let mut order = assembly.order();
        if !self.group.cached.is_empty() {
            let mut cached = std::mem::take(&mut self.group.cached).into_iter();
            for (number, block) in self.group.blocks.iter().enumerate() {
                if matches!(block.bytes, BlockBytes::Cached) {
                    assembly.add(number, cached.by_ref().take(self.group.pages.len()))?;
                }
            }
            order.retain(|block| self.group.blocks.get(*block).is_some_and(|block| !matches!(block.bytes, BlockBytes::Cached)));
        }
        Ok((assembly, order))
    }

    /// Decodes every block once and assembles the wanted columns on the calling thread.
    fn read_here(mut self) -> Result<Vec<ArrayRef>> {
        let (mut assembly, order) = self.start()?;
        let pieces = self.pieces(&order, PIECE);
        let several = pieces.len() > 1;
        for piece in pieces {
            for (block, columns) in self.decode(&piece)? {
                assembly.add(block, columns)?;
            }
            if several {
                assembly.gather()?;
            }
        }
        assembly.finish()
    }

    /// Decodes every block once and assembles the wanted columns. Threads share a large group.
    fn read(mut self) -> Result<Vec<ArrayRef>> {
        let stored = self.group.stored();
        if stored <= PARALLEL_ABOVE || (stored <= PARALLEL_PLAIN_ABOVE && is_plain(&self.group, &self.layout)?) {
            return self.read_here();
        }
        let (mut assembly, order) = self.start()?;
        let pieces = self.pieces(&order, SHARED_PIECE);
        let add = |blocks: Vec<(usize, Vec<Page>)>| {
            for (block, columns) in blocks {
                assembly.add(block, columns)?;
            }
            assembly.gather()
        };
        share_in_order(pieces, others_for(stored), |piece| self.decode(&piece), add)?;
        assembly.finish()
    }

    /// Cuts the blocks, in the order of `order`, into pieces of about `piece_bytes` stored bytes.
    ///
    /// With [`Ranges::Files`], a range belongs to exactly one piece, together with all blocks that lie in the range. So each
    /// range is read once.
    fn pieces(&self, order: &[usize], piece_bytes: u64) -> Vec<Piece> {
        let sub_ranges = |block: usize| self.group.blocks.get(block).map_or(&[][..], |block| block.bytes.sub_ranges());
        let bytes = |block: usize| self.group.blocks.get(block).map_or(0, |block| block.bytes.stored());
        let files = matches!(self.ranges, Ranges::Files(_));
        if !files && self.group.stored() <= PARALLEL_ABOVE {
            return vec![Piece { blocks: order.to_vec(), ranges: (0..self.group.ranges.len()).collect() }];
        }
        let mut in_range: Vec<Vec<usize>> = vec![Vec::new(); if files { self.group.ranges.len() } else { 0 }];
        for block in 0..self.group.blocks.len() {
            for sub_range in sub_ranges(block) {
                if let Some(blocks) = in_range.get_mut(sub_range.range).filter(|blocks| blocks.last() != Some(&block)) {
                    blocks.push(block);
                }
            }
        }
        let mut pieces: Vec<Piece> = Vec::new();
        let mut held = piece_bytes;
        let mut taken = vec![false; self.group.blocks.len()];
        for first in order {
            if taken.get(*first) == Some(&true) {
                continue;
            }
            if held >= piece_bytes {
                pieces.push(Piece::default());
                held = 0;
            }
            let Some(piece) = pieces.last_mut() else { continue };
            let mut open = vec![*first];
            while let Some(block) = open.pop() {
                if taken.get_mut(block).is_none_or(|taken| std::mem::replace(taken, true)) {
                    continue;
                }
                held += bytes(block);
                piece.blocks.push(block);
                for sub_range in sub_ranges(block) {
                    if piece.ranges.insert(sub_range.range) {
                        open.extend(in_range.get(sub_range.range).into_iter().flatten());
                    }
                }
            }
        }
        pieces
    }

    /// Decodes the wanted pages of each block of a piece, and adds the blocks marked `to_cache` to the cache.
    fn decode(&self, piece: &Piece) -> Result<Vec<(usize, Vec<Page>)>> {
        let ranges = piece.ranges.iter().map(|range| Ok((*range, self.range(*range)?))).collect::<Result<Vec<_>>>()?;
        let decode = |block: &usize| {
            self.stop.check()?;
            let read = self.block(*block)?;
            let chains: &[Chain] = &self.layout.run(read.place)?.chains;
            Ok((*block, decode_block(&self.group, &self.types, chains, read, &ranges)?))
        };
        let decoded = piece.blocks.iter().map(decode).collect::<Result<Vec<_>>>()?;
        let mut to_cache = Vec::new();
        for (block, pages) in &decoded {
            let read = self.block(*block)?;
            if read.to_cache {
                to_cache.push((read.place, pages.as_slice()));
            }
        }
        if !to_cache.is_empty() {
            self.cache.add(self.group.group, &self.group.pages, &to_cache)?;
        }
        Ok(decoded)
    }

    fn block(&self, number: usize) -> Result<&BlockRead> {
        self.group.blocks.get(number).ok_or_else(|| Error::internal(format!("no block {number}")))
    }

    fn range(&self, number: usize) -> Result<Bytes> {
        let unknown = || Error::internal(format!("no range {number}"));
        match &self.ranges {
            Ranges::Fetched(ranges) => ranges.get(number).cloned().ok_or_else(unknown),
            Ranges::Files(files) => files.read(self.group.ranges.get(number).ok_or_else(unknown)?),
        }
    }
}
