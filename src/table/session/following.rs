//! Checks that new rows follow those of a version, by little of its index: the last row, and the rows of sequences that the new rows
//! start. Follows `format-spec/segment.md#sequences`.

use std::sync::Arc;

use futures::FutureExt;

use crate::{
    error::{Error, Result},
    format::{SequenceColumns, SequenceKey, SequenceTracker, appears_again},
    table::version::{lookup::Keys, table::Table},
    write::Receipt,
};

/// A row at an edge of a segment: the keys of its sequence, and of its order in it.
pub(in crate::table) type Edge = (SequenceKey, SequenceKey);

impl Table {
    /// Returns a tracker for rows after those of this version. It knows the last row alone, so [`Table::check_followed`] must follow.
    ///
    /// # Errors
    /// - `Corrupt`: the index is damaged.
    /// - Errors of the store.
    pub(in crate::table) async fn tracker_after_last_row(&self) -> Result<SequenceTracker> {
        let segments = &self.manifest().segments;
        let Some(last) = segments.iter().rposition(|segment| segment.rows > 0) else {
            return Ok(SequenceTracker::new(&self.manifest().schema));
        };
        let (table, row) = (self.clone(), segments[last].rows - 1);
        let load = || async move { table.edge(last, row).await }.boxed();
        let edge = self.inner.last_row.get_or_load(load).await?;
        Ok(SequenceTracker::after(&self.manifest().schema, self.rows(), edge))
    }

    /// Returns the keys of a row of a segment.
    ///
    /// # Errors
    /// - `Corrupt`: the index is damaged.
    /// - Errors of the store.
    pub(in crate::table) async fn edge(&self, segment: usize, row: u64) -> Result<Edge> {
        let columns = SequenceColumns::of(&self.manifest().schema);
        let places = columns.all();
        if places.is_empty() {
            // All rows are one sequence without an order.
            return Ok(Edge::default());
        }
        columns.keys(&self.index_row(segment, row, &places).await?, &places, 0)
    }

    /// Checks that no sequence that the rows after this version start has rows in it. `tracker` is that of
    /// [`Table::tracker_after_last_row`], and has seen the new rows, which are those of `receipts`.
    ///
    /// # Errors
    /// - `Invalid`: a sequence appears again after another one. The message names the partition and the row.
    /// - `Corrupt`: the index is damaged.
    /// - Errors of the store.
    pub(in crate::table) async fn check_followed(&self, tracker: &SequenceTracker, receipts: &[Receipt]) -> Result<()> {
        let columns = SequenceColumns::of(&self.manifest().schema);
        let places = columns.of_sequences();
        let Some(started) = tracker.started().filter(|_| !places.is_empty()) else { return Ok(()) };
        let keys = Arc::new(Keys::new(&places, started.values.clone()));
        let Some(number) = self.rows_with(&keys).await?.into_iter().map(|(_, number)| number).min() else { return Ok(()) };
        let row = started.rows.get(number).copied().unwrap_or_default();
        let (batch, at) = keys.row(number).ok_or_else(|| Error::internal("a sequence that no new row starts"))?;
        let error = Error::invalid(appears_again(row, &columns.describe(batch, &places, at)));
        let mut end = self.rows();
        let of = receipts.iter().find(|receipt| {
            end += receipt.rows;
            row < end
        });
        Err(match of {
            Some(receipt) => error.at(receipt.place()),
            None => error,
        })
    }
}
