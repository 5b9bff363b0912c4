//! Properties of a version that its manifest holds. No call in this file reads from the store.

use std::collections::BTreeMap;

use serde_json::Value;
use uuid::Uuid;

use super::table::Table;
use crate::format::ForeignTable;

/// Size of a column group over all rows of a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupBytes {
    /// Number of stored bytes: encoded and compressed.
    pub stored: u64,
    /// Number of bytes of the decoded values.
    pub logical: u64,
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

    /// Returns the tags that this version lists, and the version number of each tag.
    pub fn tags(&self) -> &BTreeMap<String, u64> {
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

    /// Returns the number of segments. Appends add segments, and compaction merges them.
    pub fn segment_count(&self) -> usize {
        self.manifest().segments.len()
    }

    /// Returns the size of a column group, given by its number in the schema. The size is 0 if there is no such group.
    pub fn group_bytes(&self, group: usize) -> GroupBytes {
        let groups = self.manifest().segments.iter().filter_map(|segment| segment.groups.get(group));
        groups.fold(GroupBytes::default(), |sum, group| GroupBytes {
            stored: sum.stored + group.stored_bytes,
            logical: sum.logical + group.columns.iter().map(|column| column.logical).sum::<u64>(),
        })
    }

    /// Returns the other tables to which this version refers: tables whose chunks it uses, and the source tables of a view.
    pub fn owners(&self) -> &[ForeignTable] {
        &self.manifest().stores
    }

    /// Whether the version is a view, whose rows are rows of other tables ([`Table::sources`]).
    pub fn is_view(&self) -> bool {
        self.manifest().view.is_some()
    }
}
