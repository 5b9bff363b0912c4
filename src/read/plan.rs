//! The plan of a read: a plain value, made before the first byte is read. It says what is read and how; [`super::execute()`] does it.

use std::{ops::Range, sync::Arc};

use serde::{Serialize, Serializer};

use super::{
    group_plan::{BlockBytes, GroupPlan, RangeRead},
    pieces::Pieces,
    sizes::PIECE,
};
use crate::store::{StoreKind, range_parts};

/// The reads that a request for rows of one table needs.
#[derive(Clone, Debug, Default)]
pub struct ReadPlan {
    /// One plan for each column group.
    pub groups: Vec<GroupPlan>,
    /// Whether the threads that decode a group also read it from local files, piece by piece. Otherwise all ranges are fetched before
    /// anything is decoded.
    pub(super) in_pieces: bool,
    /// How the stores are read.
    pub(super) kind: StoreKind,
}

impl ReadPlan {
    /// Completes the plans of the groups. `kind` is that of the stores that they name: a small local read fetches all ranges first, as
    /// a remote one does, and the threads that decode a larger one also read its files.
    pub fn new(groups: Vec<GroupPlan>, kind: StoreKind) -> Self {
        let bytes: u64 = groups.iter().flat_map(|group| &group.ranges).map(|range| range.range.end - range.range.start).sum();
        let in_pieces = kind == StoreKind::Local && bytes > PIECE;
        Self { groups, in_pieces, kind }
    }

    /// Returns the number of reads of local files; 0 if a store is not local.
    pub fn file_reads(&self) -> usize {
        let planned = |group: &GroupPlan| match self.in_pieces {
            // Damaged bytes that a read refuses have no pieces.
            true => Pieces::file_reads(group).unwrap_or(0),
            false => group.ranges.len(),
        };
        if self.kind == StoreKind::Remote { 0 } else { self.groups.iter().map(planned).sum() }
    }

    /// Returns the cost of the plan; `name` returns the names of a group and of its wanted columns. `places` says whether it has each
    /// range.
    pub fn explain(&self, name: impl Fn(&GroupPlan) -> (String, Vec<String>), places: bool) -> Explain {
        let groups = self.groups.iter().map(|group| {
            let (name, columns) = name(group);
            group.explain(name, columns, places)
        });
        let groups: Vec<ExplainGroup> = groups.collect();
        let requests = groups.iter().map(|group| group.requests).sum();
        Explain {
            ranges: groups.iter().map(|group| group.ranges).sum(),
            requests,
            bytes: groups.iter().map(|group| group.bytes).sum(),
            payload_bytes: groups.iter().map(|group| group.payload_bytes).sum(),
            hops: usize::from(requests > 0),
            file_reads: self.file_reads(),
            groups,
        }
    }
}

impl GroupPlan {
    /// Returns the number of blocks that are read and decoded.
    pub(super) fn blocks_read(&self) -> usize {
        self.blocks.iter().filter(|block| !matches!(block.bytes, BlockBytes::Cached)).count()
    }

    /// Returns the number of requests, and of requested bytes.
    pub(super) fn requests(&self) -> (usize, u64) {
        let lengths = self.ranges.iter().map(|range| range.range.end - range.range.start);
        lengths.fold((0, 0), |(requests, bytes), length| (requests + range_parts(length), bytes + length))
    }

    fn explain(&self, name: String, columns: Vec<String>, places: bool) -> ExplainGroup {
        let (requests, bytes) = self.requests();
        let places = if places { self.places() } else { Vec::new() };
        let (blocks, ranges, payload_bytes) = (self.blocks_read(), self.ranges.len(), self.stored());
        ExplainGroup { name, columns, blocks, ranges, requests, bytes, payload_bytes, places }
    }

    /// Returns the ranges, each with the wanted bytes in it.
    fn places(&self) -> Vec<RangePlace> {
        let place = |range: &RangeRead| RangePlace {
            object: Arc::clone(&range.object),
            owner: range.owner,
            bytes: range.range.clone(),
            blocks: Vec::new(),
        };
        let mut places: Vec<RangePlace> = self.ranges.iter().map(place).collect();
        for block in &self.blocks {
            for sub_range in block.bytes.sub_ranges() {
                if let Some(((_, bytes), place)) = self.bytes_of(sub_range).zip(places.get_mut(sub_range.range)) {
                    match place.blocks.last_mut() {
                        Some(last) if last.block == block.ordinal => last.bytes.push(bytes),
                        _ => place.blocks.push(BlockPlaces { block: block.ordinal, rows: block.rows, bytes: vec![bytes] }),
                    }
                }
            }
        }
        places
    }
}

/// The cost of a plan: the requests and bytes that a counting store sees when the plan is executed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
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
#[non_exhaustive]
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
    /// The ranges, and what is needed of each; empty unless they were asked for
    /// ([`RowLoader::explain_places`](crate::RowLoader::explain_places)).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<RangePlace>,
}

/// A byte range of an object that a read requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RangePlace {
    /// The name of the object, relative to the root of the store of its owner.
    #[serde(serialize_with = "as_text")]
    pub object: Arc<str>,
    /// The table that stores the object: 0 is the table that holds the group, k is the k-th of the `stores` of its manifest. Groups of a
    /// view or of a merged index are those of its source tables.
    pub owner: u32,
    /// The requested bytes of the object.
    pub bytes: Range<u64>,
    /// The blocks that are needed of the range.
    pub blocks: Vec<BlockPlaces>,
}

/// The bytes of a block that a read needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BlockPlaces {
    /// The number of the block in its object.
    pub block: u32,
    /// Number of rows of the block.
    pub rows: u32,
    /// The needed bytes of the object: the whole block, or its wanted pages.
    pub bytes: Vec<Range<u64>>,
}

fn as_text<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
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
