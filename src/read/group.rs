//! Reads one column group of a plan: decodes every block once and assembles the columns.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::ArrayRef;
use bytes::Bytes;

use super::{
    assemble::{Assembly, at_once},
    block_cache::CachedBlocks,
    columns::Columns,
    decode::decode_block,
    files::Files,
    group_plan::{BlockBytes, BlockRead, GroupPlan},
    page::Page,
    sizes::{PARALLEL_ABOVE, PARALLEL_PLAIN_ABOVE, PIECE, SHARED_PIECE},
};
use crate::{
    error::{Error, Result},
    work::{Stop, others_for, share_in_order},
};

/// Whether one thread decodes all blocks of a group before it assembles anything, if their bytes were fetched.
pub(super) fn is_small(group: &GroupPlan) -> bool {
    group.stored() <= PARALLEL_ABOVE
}

/// Decodes the blocks of a small group, all of whose ranges were fetched, and assembles the wanted columns: as
/// [`GroupRead::read`] does, without what threads and pieces need.
pub(super) fn read_small(group: &mut GroupPlan, fetched: &[Bytes], cache: &CachedBlocks, stop: &Stop) -> Result<Columns> {
    let wanted = group.pages.len();
    let mut cached = std::mem::take(&mut group.cached).into_iter();
    let mut pages: Vec<Page> = Vec::with_capacity(group.blocks.len() * wanted);
    for block in &group.blocks {
        let start = pages.len();
        match block.bytes {
            BlockBytes::Cached => pages.extend(cached.by_ref().take(wanted)),
            _ => {
                stop.check()?;
                decode_block(group, block, |number| fetched.get(number), &mut pages)?;
            }
        }
        let decoded = pages.get(start..).unwrap_or_default();
        if block.to_cache {
            cache.add(group.group(), &group.pages, &[(block.place, decoded)])?;
        }
    }
    at_once(group, pages)
}

/// One group of a plan and the source of its bytes.
pub(super) struct GroupRead {
    group: GroupPlan,
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
    /// Only with [`Ranges::Files`].
    ranges: BTreeSet<usize>,
}

impl GroupRead {
    pub(super) fn new(group: GroupPlan, ranges: Ranges, cache: &CachedBlocks, stop: &Stop) -> Self {
        Self { group, ranges, cache: cache.clone(), stop: stop.clone() }
    }

    /// Stored bytes that are to be decoded.
    pub(super) fn stored(&self) -> u64 {
        self.group.stored()
    }

    /// Creates the assembly and adds the cached blocks to it. Returns the assembly and the blocks that are still to be decoded,
    /// in the order in which the result needs them.
    fn start(&mut self) -> Result<(Assembly, Vec<usize>)> {
        let mut assembly = Assembly::new(&mut self.group);
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
    pub(super) fn read_here(mut self) -> Result<Columns> {
        let (mut assembly, order) = self.start()?;
        let pieces = self.pieces(order, PIECE);
        let several = pieces.len() > 1;
        for piece in pieces {
            for (block, columns) in self.decode(&piece)? {
                assembly.add(block, columns)?;
            }
            if several {
                assembly.gather()?;
            }
        }
        self.named(assembly.finish()?)
    }

    /// Decodes every block once and assembles the wanted columns. Threads share a large group.
    pub(super) fn read(mut self) -> Result<Columns> {
        let stored = self.group.stored();
        if stored <= PARALLEL_ABOVE || (stored <= PARALLEL_PLAIN_ABOVE && self.group.is_plain()?) {
            return self.read_here();
        }
        let (mut assembly, order) = self.start()?;
        let pieces = self.pieces(order, SHARED_PIECE);
        let add = |blocks: Vec<(usize, Vec<Page>)>| {
            for (block, columns) in blocks {
                assembly.add(block, columns)?;
            }
            assembly.gather()
        };
        share_in_order(pieces, others_for(stored), |piece| self.decode(&piece), add)?;
        self.named(assembly.finish()?)
    }

    /// Adds the ids of the wanted columns to their arrays.
    fn named(&self, arrays: Vec<ArrayRef>) -> Result<Columns> {
        self.group.pages.iter().zip(arrays).map(|(page, array)| Ok((self.group.columns.id(*page)?, array))).collect()
    }

    /// Cuts the blocks, in the order of `order`, into pieces of about `piece_bytes` stored bytes.
    ///
    /// With [`Ranges::Files`], a range belongs to exactly one piece, together with all blocks that lie in the range. So each
    /// range is read once.
    fn pieces(&self, order: Vec<usize>, piece_bytes: u64) -> Vec<Piece> {
        let sub_ranges = |block: usize| self.group.blocks.get(block).map_or(&[][..], |block| block.bytes.sub_ranges());
        let bytes = |block: usize| self.group.blocks.get(block).map_or(0, |block| block.bytes.stored());
        let files = matches!(self.ranges, Ranges::Files(_));
        if !files && self.group.stored() <= PARALLEL_ABOVE {
            return vec![Piece { blocks: order, ranges: BTreeSet::new() }];
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
        let mut bytes_so_far = piece_bytes;
        let mut taken = vec![false; self.group.blocks.len()];
        for first in order {
            if taken.get(first) == Some(&true) {
                continue;
            }
            if bytes_so_far >= piece_bytes {
                pieces.push(Piece::default());
                bytes_so_far = 0;
            }
            let Some(piece) = pieces.last_mut() else { continue };
            let mut open = vec![first];
            while let Some(block) = open.pop() {
                if taken.get_mut(block).is_none_or(|taken| std::mem::replace(taken, true)) {
                    continue;
                }
                bytes_so_far += bytes(block);
                piece.blocks.push(block);
                for sub_range in sub_ranges(block) {
                    if files && piece.ranges.insert(sub_range.range) {
                        open.extend(in_range.get(sub_range.range).into_iter().flatten());
                    }
                }
            }
        }
        pieces
    }

    /// Decodes the wanted pages of each block of a piece, and adds the blocks marked `to_cache` to the cache.
    fn decode(&self, piece: &Piece) -> Result<Vec<(usize, Vec<Page>)>> {
        let mut read: BTreeMap<usize, Bytes> = BTreeMap::new();
        if let Ranges::Files(files) = &self.ranges {
            for number in &piece.ranges {
                let range = self.group.ranges.get(*number).ok_or_else(|| Error::internal(format!("no range {number}")))?;
                read.insert(*number, files.read(range)?);
            }
        }
        let fetched = |number: usize| match &self.ranges {
            Ranges::Fetched(all) => all.get(number),
            Ranges::Files(_) => read.get(&number),
        };
        let decode = |block: &usize| {
            self.stop.check()?;
            let mut pages = Vec::with_capacity(self.group.pages.len());
            decode_block(&self.group, self.block(*block)?, fetched, &mut pages)?;
            Ok((*block, pages))
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
            self.cache.add(self.group.group(), &self.group.pages, &to_cache)?;
        }
        Ok(decoded)
    }

    fn block(&self, number: usize) -> Result<&BlockRead> {
        self.group.blocks.get(number).ok_or_else(|| Error::internal(format!("no block {number}")))
    }
}
