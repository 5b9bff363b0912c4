//! Receipts: the result of a finished partition, passed to the committer. A receipt is small, serialisable and idempotent.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::locality::Worst;
use crate::{
    error::{Error, Result, short},
    format::ColumnBytes,
    id::{Hash, ObjectRef},
};

/// Result of a finished partition.
///
/// Processes exchange receipts as JSON (`serde_json`). A partition may be written several times, for example because a worker was
/// killed or an engine ran a task twice. Each time is an attempt with a receipt of its own. Receipts of a partition that differ
/// only in their attempts count as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "unstable"), non_exhaustive)]
pub struct Receipt {
    /// Write session that the partition belongs to.
    pub session: Uuid,
    /// Number of the partition. The table holds partitions in the order of their numbers.
    pub partition: u32,
    /// Identifies this writing of the partition. The nil UUID in receipts of earlier builds.
    #[serde(default)]
    pub attempt: Uuid,
    /// Name of what the partition was made from, such as a source file, for messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The text of [`PartitionWriter::note`](super::PartitionWriter::note). The engine does not read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Number of rows.
    pub rows: u64,
    /// Stored parts of the partition; `None` if the partition is empty.
    #[cfg(feature = "unstable")]
    pub parts: Option<PartObjects>,
    #[cfg(not(feature = "unstable"))]
    pub(crate) parts: Option<PartObjects>,
    /// Blocks that the partition shares with blocks stored before.
    #[serde(default)]
    pub sharing: Sharing,
}

/// Counts of blocks that were reused because they are stored already.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Sharing {
    /// Blocks that the layout refers to where they lie.
    pub blocks: u64,
    /// Stored bytes of these blocks.
    pub bytes: u64,
    /// Bytes of new chunks.
    pub new_bytes: u64,
    /// Known blocks that were stored again because a window over them would have needed too many byte ranges or bytes.
    pub stored_again: u64,
    /// Stored bytes of the blocks stored again.
    #[serde(default)]
    pub stored_again_bytes: u64,
    /// Blocks of other tables whose content does not match their hash, or that cannot be read. They were stored again.
    pub refused: u64,
    /// The first such block, and the reason.
    pub first_refused: Option<String>,
    /// Cost of the most expensive windows.
    pub worst: Worst,
}

impl Sharing {
    /// Combines two results: adds the counts, and takes the larger costs.
    pub fn and(self, other: Self) -> Self {
        Self {
            blocks: self.blocks.saturating_add(other.blocks),
            bytes: self.bytes.saturating_add(other.bytes),
            new_bytes: self.new_bytes.saturating_add(other.new_bytes),
            stored_again: self.stored_again.saturating_add(other.stored_again),
            stored_again_bytes: self.stored_again_bytes.saturating_add(other.stored_again_bytes),
            refused: self.refused.saturating_add(other.refused),
            first_refused: self.first_refused.or(other.first_refused),
            worst: self.worst.or(other.worst),
        }
    }
}

/// Stored parts of a partition. The commit merges them into segments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartObjects {
    /// Index columns.
    pub index: ObjectRef,
    /// One entry for each column group, in schema order.
    pub groups: Vec<PartGroup>,
}

/// Stored parts of one column group of a partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartGroup {
    /// Layout: where each block lies.
    pub layout: ObjectRef,
    /// Logical hashes of the blocks.
    pub hashes: ObjectRef,
    /// Number of blocks.
    pub blocks: u64,
    /// Number of runs in the layout: one per chunk if no blocks are shared.
    pub runs: u64,
    /// Numbers of the other tables whose chunks the group uses, in ascending order.
    #[serde(default)]
    pub owners: Vec<u32>,
    /// Stored bytes of all blocks.
    pub stored_bytes: u64,
    /// One entry for each column.
    pub columns: Vec<ColumnBytes>,
}

impl Receipt {
    /// Returns the name of a part's object, which exists while its session is open.
    pub fn part_name(session: Uuid, hash: Hash) -> String {
        format!("sessions/{session}/{hash}.parquet")
    }

    /// Returns the stored parts.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &ObjectRef> {
        self.parts.iter().flat_map(|parts| {
            let groups = parts.groups.iter().flat_map(|group| [&group.layout, &group.hashes]);
            std::iter::once(&parts.index).chain(groups)
        })
    }

    /// Returns the name and the text of the object that holds this receipt while its session is open. Names sort by partition,
    /// then by attempt.
    pub(crate) fn stored(&self) -> Result<(String, Vec<u8>)> {
        let text = serde_json::to_vec(self).map_err(|error| Error::internal(error.to_string()))?;
        Ok((format!("sessions/{}/{:010}-{}.receipt", self.session, self.partition, self.attempt), text))
    }

    /// Returns the stored bytes of the blocks of the partition that were stored for it. [`Receipt::sharing`] has those of the others.
    pub fn new_bytes(&self) -> u64 {
        let groups = self.parts.iter().flat_map(|parts| &parts.groups);
        groups.map(|group| group.stored_bytes).sum::<u64>().saturating_sub(self.sharing.bytes)
    }

    /// Whether a commit of this receipt gives the same rows in the same chunks as a commit of `other`.
    pub fn is_same_partition(&self, other: &Self) -> bool {
        (self.session, self.partition, self.rows) == (other.session, other.partition, other.rows) && self.parts == other.parts
    }

    /// Returns the number and the label of the partition, for messages.
    pub(crate) fn place(&self) -> String {
        partition_place(self.partition, self.label.as_deref())
    }
}

/// Returns the number and the label of a partition, for messages: ``partition 3 (`drive-7.zarr`)``.
pub(crate) fn partition_place(number: u32, label: Option<&str>) -> String {
    match label {
        Some(label) => format!("partition {number} (`{}`)", short(label)),
        None => format!("partition {number}"),
    }
}
