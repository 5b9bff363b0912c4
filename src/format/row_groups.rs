//! Reads the row groups of an index segment independently, so that several threads can decode one segment. Follows
//! `format-spec/segment.md#index`.
//!
//! The caller has verified the bytes against the BLAKE3 in the manifest.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use arrow_array::{RecordBatch, cast::AsArray};
use bytes::Bytes;
use parquet::arrow::{ProjectionMask, arrow_reader::ArrowReaderMetadata};

use super::{
    parquet::{Builder, check_rows, corrupt, open, parquet, selected},
    segment::{check_text, viewed_options},
};
use crate::{error::Result, schema::Schema};

/// An index segment whose footer is parsed and checked.
#[derive(Clone, Debug)]
pub struct RowGroups {
    bytes: Bytes,
    metadata: ArrowReaderMetadata,
    /// Rows of the segment.
    rows: u64,
    /// Rows of each row group.
    groups: Vec<u64>,
    /// Bytes of text that were read, per column.
    text: Arc<[AtomicU64]>,
}

impl RowGroups {
    /// Parses the footer of an index segment of exactly `rows` rows.
    ///
    /// # Errors
    /// - `Corrupt`: the file is not Parquet with the expected columns and rows.
    pub fn new(bytes: Bytes, schema: &Schema, rows: u64) -> Result<Self> {
        let builder = open(bytes.clone(), viewed_options(schema))?;
        if builder.schema().fields().len() != schema.index().len() {
            return Err(corrupt("columns differ from the schema's index columns"));
        }
        check_rows(builder.metadata(), rows)?;
        let metadata = parquet(|| ArrowReaderMetadata::try_new(Arc::clone(builder.metadata()), viewed_options(schema)))?;
        let groups = metadata.metadata().row_groups().iter().map(|group| group.num_rows().cast_unsigned()).collect();
        let text = schema.index().map(|_| AtomicU64::new(0)).collect();
        Ok(Self { bytes, metadata, rows, groups, text })
    }

    /// Returns the rows of each row group.
    pub fn rows(&self) -> &[u64] {
        &self.groups
    }

    /// Reads some columns of a row group: exactly its rows. `columns` are ascending column numbers. Text is a `Utf8View` whose
    /// bytes may be no UTF-8.
    ///
    /// # Errors
    /// - `Corrupt`: the row group is damaged, or has more text than an index may have.
    pub fn read(&self, group: usize, columns: &[usize]) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
        let rows = self.groups.get(group).copied().ok_or_else(|| corrupt(format!("no row group {group}")))?;
        let builder = Builder::new_with_metadata(self.bytes.clone(), self.metadata.clone());
        let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
        let batches = selected(builder.with_projection(mask).with_row_groups(vec![group]), rows)?;
        let (text, columns, rows) = (Arc::clone(&self.text), columns.to_vec(), self.rows);
        Ok(batches.map(move |batch| {
            let batch = batch?;
            for (array, column) in batch.columns().iter().zip(&columns) {
                let (Some(views), Some(total)) = (array.as_string_view_opt(), text.get(*column)) else { continue };
                check_text(views, |more| total.fetch_add(more, Ordering::Relaxed).saturating_add(more), rows)?;
            }
            Ok(batch)
        }))
    }
}
