//! Receipts: what a finished partition hands to the committer. Small, serialisable, idempotent.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
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
    /// How many chunks.
    pub runs: u64,
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
}
