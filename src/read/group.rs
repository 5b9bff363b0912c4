//! Reads one column group of a plan: decodes every block once and assembles the columns.

use std::{collections::BTreeSet, sync::Arc};

use arrow_array::ArrayRef;
use bytes::Bytes;

use super::{
    assemble::Assembly,
    block_cache::CachedBlocks,
    decode::{GroupTypes, decode_block},
    files::Files,
    layout::Layout,
    page::Page,
    plan::{BlockBytes, BlockRead, GroupPlan},
    sizes::{PARALLEL_ABOVE, PARALLEL_PLAIN_ABOVE, PIECE, SHARED_PIECE},
};
use crate::{
    codec::Chain,
    error::{Error, Result},
    format::LayoutRun,
    offload::Stop,
    schema::{ColumnId, Schema},
    threads::{others_for, share_in_order},
};

/// The schema of one group of a plan.
#[derive(Clone)]
pub(super) struct Described {
    pub(super) types: Arc<GroupTypes>,
    /// The wanted columns.
    pub(super) ids: Vec<ColumnId>,
    /// The page numbers of the wanted columns, in the same order.
    pages: Vec<usize>,
}

impl Described {
    pub(super) fn new(schema: &Schema, group: &GroupPlan) -> Result<Self> {
        let described =
            schema.groups().get(group.group).ok_or_else(|| Error::internal(format!("no column group {}", group.group)))?;
        let id = |page: &usize| described.columns.get(*page).copied().ok_or_else(|| Error::internal(format!("no column {page}")));
        let types = described.columns.iter().filter_map(|id| schema.column(*id)).map(|column| column.ty.clone()).collect();
        let types = Arc::new(GroupTypes { types, name: described.name.clone() });
        Ok(Self { types, ids: group.pages.iter().map(id).collect::<Result<_>>()?, pages: group.pages.clone() })
    }

    pub(super) fn id(&self, page: usize) -> Result<ColumnId> {
        let id = self.pages.iter().position(|held| *held == page).and_then(|place| self.ids.get(place));
        id.copied().ok_or_else(|| Error::internal(format!("no column {page}")))
    }
}

/// Whether all wanted pages are plain: their values are stored without any codec.
pub(super) fn is_plain(group: &GroupPlan, layout: &Layout) -> Result<bool> {
    let runs = group.runs(layout)?;
    let plain = |run: &&LayoutRun| group.pages.iter().all(|page| run.chains.get(*page).is_some_and(Chain::is_plain));
    Ok(runs.values().all(plain))
}

/// One group of a plan and the source of its bytes.
pub(super) struct GroupRead {
    group: GroupPlan,
    types: Arc<GroupTypes>,
    layout: Arc<Layout>,
    ranges: Ranges,
    cache: CachedBlocks,
    stop: Stop,
}

/// The source of the ranges of a group.
pub(super) enum Ranges {
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
    pub(super) fn new(
        group: GroupPlan,
        described: &Described,
        layout: &Arc<Layout>,
        ranges: Ranges,
        cache: &CachedBlocks,
        stop: &Stop,
    ) -> Self {
        let (types, layout) = (Arc::clone(&described.types), Arc::clone(layout));
        Self { group, types, layout, ranges, cache: cache.clone(), stop: stop.clone() }
    }

    /// Stored bytes that are to be decoded.
    pub(super) fn stored(&self) -> u64 {
        self.group.stored()
    }

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
    pub(super) fn read_here(mut self) -> Result<Vec<ArrayRef>> {
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
    pub(super) fn read(mut self) -> Result<Vec<ArrayRef>> {
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
