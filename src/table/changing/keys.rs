//! Rows by key: which row of a table has which values in some index columns.

use std::collections::HashMap;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema as ArrowSchema};

use crate::{
    error::{Error, Result},
    format::SequenceKey,
    schema::Column,
    table::table::Table,
    write::index_column,
};

impl Table {
    /// For each row of `keys`, the row of the table with the same values in its index columns `on`.
    ///
    /// # Errors
    /// `Invalid` for a column that is not an index column, keys of another type, and keys that two rows of the table have;
    /// `Corrupt`; errors of the store.
    pub async fn rows_by_key(&self, on: &[&str], keys: &RecordBatch) -> Result<Vec<Option<u64>>> {
        let rows = self.keyed(on).await?;
        let keys = keys_of(&self.key_columns(on)?, keys)?;
        Ok(keys.iter().map(|key| rows.get(key).copied()).collect())
    }

    /// For each row of the table, the row of `keys` with the same values in its index columns `on`.
    ///
    /// # Errors
    /// As [`Table::rows_by_key`]; `Invalid` for rows of `keys` that are in the table not at all, or twice in `keys`.
    pub(in crate::table) async fn aligned(&self, on: &[&str], keys: &RecordBatch) -> Result<Vec<Option<u64>>> {
        let found = self.rows_by_key(on, keys).await?;
        let mut rows = vec![None; usize::try_from(self.rows()).map_err(|_| Error::invalid("more rows than memory has bytes"))?];
        for (number, row) in found.into_iter().enumerate() {
            let row = row.ok_or_else(|| Error::invalid(format!("row {number}: its key {on:?} is not in the table")))?;
            let place = usize::try_from(row).ok().and_then(|row| rows.get_mut(row));
            let place = place.ok_or_else(|| Error::internal("a row outside the table"))?;
            if let Some(other) = place.replace(number as u64) {
                return Err(Error::invalid(format!("rows {other} and {number} have the same key {on:?}")));
            }
        }
        Ok(rows)
    }

    fn key_columns(&self, on: &[&str]) -> Result<Vec<Column>> {
        if on.is_empty() {
            return Err(Error::invalid("a key of no columns"));
        }
        let column = |name: &&str| {
            let found = self.schema().index().find(|column| column.name == **name).cloned();
            found.ok_or_else(|| Error::invalid(format!("`{name}` is not an index column of {}", self.url())))
        };
        on.iter().map(column).collect()
    }

    async fn keyed(&self, on: &[&str]) -> Result<HashMap<SequenceKey, u64>> {
        let columns = self.key_columns(on)?;
        let (mut rows, mut row) = (HashMap::new(), 0_u64);
        for batch in self.index_batches().await? {
            for key in keys_of(&columns, &batch?)? {
                if let Some(other) = rows.insert(key, row) {
                    return Err(Error::invalid(format!("rows {other} and {row} of {} have the same key {on:?}", self.url())));
                }
                row += 1;
            }
        }
        Ok(rows)
    }
}

/// The keys of a batch, its columns found by name.
fn keys_of(columns: &[Column], batch: &RecordBatch) -> Result<Vec<SequenceKey>> {
    let mut fields = Vec::new();
    let mut arrays = Vec::new();
    for column in columns {
        let name = &column.name;
        let found = batch.column_by_name(name).ok_or_else(|| Error::invalid(format!("no column `{name}` among the keys")))?;
        let array = index_column(found, &column.ty.arrow())
            .ok_or_else(|| Error::invalid(format!("key `{name}`: expected {}, found {}", column.ty, found.data_type())))?;
        fields.push(Field::new(name, array.data_type().clone(), true));
        arrays.push(array);
    }
    let batch = RecordBatch::try_new(ArrowSchema::new(fields).into(), arrays);
    let batch = batch.map_err(|error| Error::invalid(error.to_string()))?;
    let every: Vec<usize> = (0..columns.len()).collect();
    (0..batch.num_rows()).map(|row| SequenceKey::of(&batch, &every, row)).collect()
}
