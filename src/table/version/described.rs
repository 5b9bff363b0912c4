//! Properties of a version that its manifest holds. No call in this file reads from the store.

use std::{collections::BTreeMap, ops::Range};

use serde_json::Value;
use uuid::Uuid;

use super::table::Table;
use crate::format::ForeignTable;

/// Size of a column group over all rows of a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GroupBytes {
    /// Number of stored bytes: encoded and compressed.
    pub stored: u64,
    /// Number of bytes of the decoded values.
    pub logical: u64,
}

/// A segment of a version: rows that one change wrote. Appends add segments, and compaction merges them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SegmentInfo {
    /// Row numbers of the segment.
    pub rows: Range<u64>,
    /// The column groups, in the order of the schema.
    pub groups: Vec<SegmentGroup>,
}

/// A column group of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SegmentGroup {
    /// Number of blocks.
    pub blocks: u64,
    /// Number of runs of neighbouring blocks of a chunk. A newly written table has one run a chunk.
    pub runs: u64,
    /// Stored bytes of the blocks.
    pub stored: u64,
    /// Stored bytes of the layout, which says where the blocks are.
    pub layout: u64,
}

impl Table {
    /// Returns the id of the table. All versions and copies of the table have the same id.
    pub fn id(&self) -> Uuid {
        self.manifest().table
    }

    /// Returns the name of the preset for new column groups: `fast`, `balanced`, `compact`, or a preset of a later build.
    pub fn preset(&self) -> &str {
        &self.manifest().preset
    }

    /// Returns the properties of the table, by key.
    pub fn properties(&self) -> &BTreeMap<String, Value> {
        &self.manifest().properties
    }

    /// Does what `Versions::tags` says.
    pub(crate) fn tags(&self) -> &BTreeMap<String, u64> {
        &self.manifest().tags
    }

    /// Returns the lineage of the version: the operation that made it, the writer, and the notes of the writer.
    pub fn lineage(&self) -> &Value {
        &self.manifest().lineage
    }

    /// Returns the names of the attachments, and the size of each in bytes. [`Table::attachment`] reads an attachment.
    pub fn attachments(&self) -> impl ExactSizeIterator<Item = (&str, u64)> {
        self.manifest().attachments.iter().map(|(name, object)| (name.as_str(), object.bytes))
    }

    /// Returns the number of sequences (recordings).
    pub fn sequence_count(&self) -> u64 {
        self.manifest().sequences()
    }

    /// Does what `Storage::segment_count` says.
    pub(crate) fn segment_count(&self) -> usize {
        self.manifest().segments.len()
    }

    /// Does what `Storage::segments` says.
    pub(crate) fn segments(&self) -> impl ExactSizeIterator<Item = SegmentInfo> {
        self.manifest().segments.iter().map(|segment| SegmentInfo {
            rows: segment.first_row..segment.first_row + segment.rows,
            groups: segment
                .groups
                .iter()
                .map(|group| SegmentGroup {
                    blocks: group.blocks,
                    runs: group.runs,
                    stored: group.stored_bytes,
                    layout: group.layout.bytes,
                })
                .collect(),
        })
    }

    /// Does what `Storage::group_bytes` says.
    pub(crate) fn group_bytes(&self, group: usize) -> GroupBytes {
        let groups = self.manifest().segments.iter().filter_map(|segment| segment.groups.get(group));
        groups.fold(GroupBytes::default(), |sum, group| GroupBytes {
            stored: sum.stored + group.stored_bytes,
            logical: sum.logical + group.columns.iter().map(|column| column.logical).sum::<u64>(),
        })
    }

    /// Does what `Storage::owners` says.
    pub(crate) fn owners(&self) -> &[ForeignTable] {
        &self.manifest().stores
    }

    /// Whether the version is a view, whose rows are rows of other tables ([`Table::sources`]).
    pub fn is_view(&self) -> bool {
        self.manifest().view.is_some()
    }
}
