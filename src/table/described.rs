//! What a version says about itself in its manifest: no call here reads from the store.

use std::collections::BTreeMap;

use serde_json::Value;
use uuid::Uuid;

use super::table::Table;
use crate::format::ForeignTable;

/// Bytes of a column group over all rows of a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupBytes {
    /// Bytes as they are stored: encoded and compressed.
    pub stored: u64,
    /// Bytes of the decoded values.
    pub logical: u64,
}

impl Table {
    /// The id of the table, which all its versions and copies have.
    pub fn id(&self) -> Uuid {
        self.manifest().table
    }

    /// The name of the preset that new column groups are encoded with: `fast`, `balanced`, `compact`, or one of a later build.
    pub fn preset(&self) -> &str {
        &self.manifest().preset
    }

    /// The properties of the table, by key.
    pub fn properties(&self) -> &BTreeMap<String, Value> {
        &self.manifest().properties
    }

    /// The tags that this version knows, and the version that each names.
    pub fn tags(&self) -> &BTreeMap<String, u64> {
        &self.manifest().tags
    }

    /// What made the version: the operation, the writer, and what the writer noted.
    pub fn lineage(&self) -> &Value {
        &self.manifest().lineage
    }

    /// The names of the attachments, and the bytes of each. [`Table::attachment`] reads one.
    pub fn attachments(&self) -> impl ExactSizeIterator<Item = (&str, u64)> {
        self.manifest().attachments.iter().map(|(name, object)| (name.as_str(), object.bytes))
    }

    /// The number of sequences (recordings).
    pub fn sequence_count(&self) -> u64 {
        self.manifest().sequences()
    }

    /// The number of segments: appends add segments, and compaction merges them.
    pub fn segment_count(&self) -> usize {
        self.manifest().segments.len()
    }

    /// The bytes of a column group, given by its number in the schema; 0 for a number that no group has.
    pub fn group_bytes(&self, group: usize) -> GroupBytes {
        let groups = self.manifest().segments.iter().filter_map(|segment| segment.groups.get(group));
        groups.fold(GroupBytes::default(), |sum, group| GroupBytes {
            stored: sum.stored + group.stored_bytes,
            logical: sum.logical + group.columns.iter().map(|column| column.logical).sum::<u64>(),
        })
    }

    /// The other tables whose chunks this version refers to. A view refers to the tables that it is made of.
    pub fn owners(&self) -> &[ForeignTable] {
        &self.manifest().stores
    }

    /// Whether the version is a view: its rows are those of other tables ([`Table::sources`]).
    pub fn is_view(&self) -> bool {
        self.manifest().view.is_some()
    }
}
