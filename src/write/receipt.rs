//! Receipts: what a finished partition hands to the committer. Small, serialisable, idempotent.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::locality::Worst;
use crate::{
    error::{Error, Result},
    format::ColumnBytes,
    id::{Hash, ObjectRef},
};

/// A finished partition.
///
/// It crosses processes as JSON (`serde_json`); equal receipts are one receipt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The session that gave the partition out.
    pub session: Uuid,
    /// Its number: partitions follow each other in the table by number.
    pub partition: u32,
    /// How many rows.
    pub rows: u64,
    /// Its parts; `None` for an empty partition.
    pub parts: Option<PartObjects>,
    /// The blocks that it did not have to store.
    #[serde(default)]
    pub sharing: Sharing,
}

/// Blocks that did not have to be stored, because they are stored already.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sharing {
    /// Blocks that are referenced where they lie.
    pub blocks: u64,
    /// Their stored bytes.
    pub bytes: u64,
    /// Bytes of new chunks.
    pub new_bytes: u64,
    /// Known blocks that were stored again because a window over them would have taken too many ranges or bytes.
    pub stored_again: u64,
    /// Bytes that they take in new chunks.
    #[serde(default)]
    pub stored_again_bytes: u64,
    /// Blocks that another table claims to have and that are not the same, or cannot be read there; they were stored anew.
    pub refused: u64,
    /// The first of them, and why.
    pub first_refused: Option<String>,
    /// The cost of the worst windows.
    pub worst: Worst,
}

impl Sharing {
    /// Both together.
    pub fn and(self, other: Self) -> Self {
        Self {
            blocks: self.blocks + other.blocks,
            bytes: self.bytes + other.bytes,
            new_bytes: self.new_bytes + other.new_bytes,
            stored_again: self.stored_again + other.stored_again,
            stored_again_bytes: self.stored_again_bytes + other.stored_again_bytes,
            refused: self.refused + other.refused,
            first_refused: self.first_refused.or(other.first_refused),
            worst: self.worst.or(other.worst),
        }
    }
}

/// The parts of a partition, which the commit merges into segments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartObjects {
    /// Index columns.
    pub index: ObjectRef,
    /// One for each column group, in schema order.
    pub groups: Vec<PartGroup>,
}

/// A column group of a partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartGroup {
    /// The block map.
    pub layout: ObjectRef,
    /// The logical block hashes.
    pub hashes: ObjectRef,
    /// How many blocks.
    pub blocks: u64,
    /// How many runs of blocks; one a chunk where nothing is shared.
    pub runs: u64,
    /// The numbers of the tables whose chunks it uses, rising, without its own.
    #[serde(default)]
    pub owners: Vec<u32>,
    /// Stored bytes of all blocks.
    pub stored_bytes: u64,
    /// One for each column.
    pub columns: Vec<ColumnBytes>,
}

impl Receipt {
    /// Where a part lies while its session is open.
    pub fn part_name(session: Uuid, hash: Hash) -> String {
        format!("sessions/{session}/{hash}.parquet")
    }

    /// The name and the text of the object that holds this receipt in the store while its session is open.
    pub(crate) fn stored(&self) -> Result<(String, Vec<u8>)> {
        let text = serde_json::to_vec(self).map_err(|error| Error::internal(error.to_string()))?;
        Ok((format!("sessions/{}/{}.receipt", self.session, Hash::of(&text)), text))
    }
}
