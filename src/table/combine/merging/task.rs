//! A merge that is larger than memory, as its parts see it.

use std::collections::BTreeMap;

use polars::prelude::DataFrame;

use crate::{
    error::{Error, Mark, Result},
    index::{Merge, internal},
    table::version::{table::Table, temporary::Folder},
};

/// Two tables, and how to merge them.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) left: Table,
    pub(super) right: Table,
    /// The names of both tables in a recipe, for errors of loading them.
    pub(super) sources: Option<[String; 2]>,
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

/// Adds the name of a source in a recipe to an error of loading it: of the left table (0) or of the right one (1).
pub(super) fn at_source(sources: Option<&[String; 2]>, side: usize, error: Error) -> Error {
    match sources.and_then(|sources| sources.get(side)) {
        // What is wrong with the merge itself names the join.
        Some(name) if !error.is(Mark::Merge) => error.at(format!("source `{name}`")),
        _ => error,
    }
}

impl Task {
    /// Returns the columns of a frame of the right table that the view has.
    pub(super) fn kept(&self, frame: &DataFrame) -> Result<DataFrame> {
        let kept = frame.columns().iter().filter(|column| self.names.contains_key(column.name().as_str()));
        DataFrame::new(frame.height(), kept.cloned().collect()).map_err(internal)
    }
}
