//! A merge that is larger than memory, as its parts see it.

use std::collections::BTreeMap;

use polars::prelude::DataFrame;

use crate::{
    error::Result,
    index::{Merge, internal},
    table::{table::Table, temporary::Folder},
};

/// Two tables, and how to merge them.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) left: Table,
    pub(super) right: Table,
    pub(super) merge: Merge,
    /// The names of the columns from the right table.
    pub(super) names: BTreeMap<String, String>,
    /// The nanoseconds of a unit of integer times.
    pub(super) unit: Option<i64>,
    /// The columns of both tables, without rows.
    pub(super) left_frame: DataFrame,
    pub(super) right_frame: DataFrame,
    /// Estimated bytes of a row of the right table.
    pub(super) right_bytes: u64,
    pub(super) folder: Folder,
    pub(super) memory: u64,
}

impl Task {
    /// Returns the columns of a frame of the right table that the view has.
    pub(super) fn kept(&self, frame: &DataFrame) -> Result<DataFrame> {
        let kept = frame.columns().iter().filter(|column| self.names.contains_key(column.name().as_str()));
        DataFrame::new(frame.height(), kept.cloned().collect()).map_err(internal)
    }
}
