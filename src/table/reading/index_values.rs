//! Index columns in the result of a loader, in addition to group columns.
//!
//! The values come from the table and not from a frame, because windows contain rows that a filter has removed from the frame.

use std::sync::{Arc, PoisonError};

use arrow_array::{ArrayRef, UInt64Array, new_empty_array};
use arrow_select::{concat::concat, take::take};
use bytes::Bytes;
use futures::FutureExt;

use super::source::LoaderSource;
use crate::{
    error::{Error, Result},
    format::index_columns_reader,
    schema::{self, ColumnId, ColumnPattern, ColumnType},
    table::version::table::Table,
    work::{Stop, offload_large},
};

/// The prefix of a pattern of index columns. A column whose name has this prefix is found first.
const INDEX: &str = "index:";

impl Table {
    /// Returns the values of an index column for all rows. The values are loaded on first use, and then stay in memory.
    async fn index_values(&self, id: ColumnId) -> Result<ArrayRef> {
        let entry = Arc::clone(self.inner.index_values.lock().unwrap_or_else(PoisonError::into_inner).entry(id).or_default());
        let table = self.clone();
        let load = || {
            async move {
                // The values of the segments, and then those of the table.
                table.fits_in_memory(2 * 8)?;
                let objects = table.index_objects().await?;
                offload_large(table.index_work(&objects, 1), move |stop| table.index_column(objects, id, stop)).await
            }
            .boxed()
        };
        entry.get_or_load(load).await
    }

    /// Whether all values of an index column are in memory.
    fn is_index_loaded(&self, id: ColumnId) -> bool {
        let guard = self.inner.index_values.lock().unwrap_or_else(PoisonError::into_inner);
        guard.get(&id).is_some_and(|values| values.get().is_some())
    }

    /// Returns the place of an index column.
    fn index_place(&self, id: ColumnId) -> Result<usize> {
        let place = self.manifest().schema.index().position(|column| column.id == id);
        place.ok_or_else(|| Error::internal(format!("no index column {}", id.0)))
    }

    /// Decodes one index column of all segments. `objects` are the index objects, in order.
    ///
    /// # Errors
    /// - `Corrupt`: an index object is damaged.
    /// - `Unsupported`: the values do not fit in one Arrow array.
    /// - `Internal`: there is no such index column, or `stop` is raised.
    pub(in crate::table) fn index_column(&self, objects: Vec<Bytes>, id: ColumnId, stop: &Stop) -> Result<ArrayRef> {
        let schema = &self.manifest().schema;
        let place = self.index_place(id)?;
        let column = schema.index().nth(place).ok_or_else(|| Error::internal(format!("no index column {}", id.0)))?;
        let mut arrays = Vec::new();
        for (object, segment) in objects.into_iter().zip(&self.manifest().segments) {
            for batch in index_columns_reader(object, schema, segment.rows, &[place])? {
                stop.check()?;
                arrays.extend(batch?.columns().first().cloned());
            }
        }
        if arrays.is_empty() {
            return Ok(new_empty_array(&column.ty.arrow()));
        }
        let arrays: Vec<&dyn arrow_array::Array> = arrays.iter().map(AsRef::as_ref).collect();
        concat(&arrays).map_err(|error| Error::unsupported(format!("index column `{}`: {error}", column.name)))
    }
}

impl LoaderSource {
    /// Returns the values of an index column at rows of the table, and null for a missing row. The first reads of a large index read these
    /// rows alone, until they have read as much as the index has: then all values are loaded.
    pub(in crate::table) async fn index_at(&self, id: ColumnId, rows: &[Option<u64>]) -> Result<ArrayRef> {
        let failed = |error| Error::internal(format!("index rows: {error}"));
        if !self.table.is_index_loaded(id) {
            let mut wanted: Vec<u64> = rows.iter().flatten().copied().collect();
            wanted.sort_unstable();
            wanted.dedup();
            if self.table.reads_index_by_rows(&wanted) {
                let found = self.table.take_index_of(&[self.table.index_place(id)?], &wanted).await?;
                let place = |row: u64| wanted.binary_search(&row).ok().map(|place| place as u64);
                let places: UInt64Array = rows.iter().map(|row| row.and_then(place)).collect();
                return take(found.column(0), &places, None).map_err(failed);
            }
        }
        let values = self.table.index_values(id).await?;
        let rows = UInt64Array::from(rows.to_vec());
        offload_large(8 * rows.len(), move |_| take(&values, &rows, None).map_err(failed)).await
    }

    /// Returns the type of an index column.
    pub(in crate::table) fn index_type(&self, id: ColumnId) -> Option<ColumnType> {
        self.table.schema().column(id).map(|column| column.ty.clone())
    }
}

/// Returns the places of the group columns, and of the index columns, that match any of the patterns.
///
/// A pattern selects index columns only if it matches no group column. So `*` selects all group columns and no index column. Behind
/// `index:`, a pattern selects index columns alone.
///
/// # Errors
/// - `NotFound`: a pattern matches no column; the message names the nearest column.
/// - `Invalid`: a pattern is malformed.
pub(in crate::table) fn select<P: AsRef<str>>(
    names: &[&str],
    index: &[&str],
    patterns: impl IntoIterator<Item = P>,
) -> Result<(Vec<usize>, Vec<usize>)> {
    let (mut of_groups, mut of_index) = (Vec::new(), Vec::new());
    for text in patterns {
        let text = text.as_ref();
        let pattern: ColumnPattern = text.parse()?;
        let is_among = |names: &[&str]| names.iter().any(|name| pattern.matches(name));
        match (is_among(names), is_among(index)) {
            (true, _) => of_groups.push(text.to_owned()),
            (false, true) => of_index.push(text.to_owned()),
            (false, false) => match text.strip_prefix(INDEX) {
                Some(of_names) => of_index.push(of_names.to_owned()),
                None => return Err(Error::not_found(schema::no_match(text, names.iter().chain(index).copied()))),
            },
        }
    }
    Ok((schema::select(names, index, of_groups)?, schema::select(index, &[], of_index)?))
}
