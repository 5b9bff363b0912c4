//! Finds rows by key. A key is the values of a row in some index columns.

use std::{collections::HashMap, sync::Arc};

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema as ArrowSchema};

use crate::{
    error::{Error, Result, plain},
    schema::Column,
    table::version::{lookup::Keys, table::Table},
    work::boxed,
    write::index_column,
};

impl Table {
    /// Returns for each row of `keys` the number of the table's row with the same values in the index columns `on`; `None` if
    /// there is none.
    ///
    /// # Errors
    /// - `Invalid`: `on` is empty or has a name that is not an index column, `keys` lacks a key column or has it with another
    ///   type, or two rows of the table have the same key of `keys`.
    /// - `Corrupt`: the index is damaged.
    /// - Errors of the store.
    pub async fn rows_by_key(&self, on: &[&str], keys: &RecordBatch) -> Result<Vec<Option<u64>>> {
        let columns = self.key_columns(on)?;
        let batch = keys_of(&columns, keys)?;
        let index: Vec<_> = self.manifest().schema.index().map(|column| column.id).collect();
        let places: Vec<usize> = columns.iter().filter_map(|column| index.iter().position(|index| *index == column.id)).collect();
        let keys = Arc::new(Keys::new(&places, vec![batch.clone()]));
        let mut rows: HashMap<usize, u64> = HashMap::new();
        for (row, number) in boxed(|| self.rows_with(&keys)).await? {
            if let Some(other) = rows.insert(number, row) {
                return Err(Error::invalid(format!("rows {other} and {row} of {} have the same key {on:?}", self.url())));
            }
        }
        let every: Vec<usize> = (0..places.len()).collect();
        let found = (0..batch.num_rows()).map(|row| keys.number_of(&batch, &every, row));
        found.map(|number| Ok(number?.and_then(|number| rows.get(&number).copied()))).collect()
    }

    /// Returns for each row of the table the number of the row of `keys` with the same values in the index columns `on`; `None`
    /// if there is none.
    ///
    /// # Errors
    /// - `Invalid`: a key of `keys` does not occur in the table or occurs twice in `keys`.
    /// - The errors of [`Table::rows_by_key`].
    pub(in crate::table) async fn aligned(&self, on: &[&str], keys: &RecordBatch) -> Result<Vec<Option<u64>>> {
        let found = self.rows_by_key(on, keys).await?;
        self.fits_in_memory(size_of::<Option<u64>>() as u64)?;
        let mut rows = vec![None; usize::try_from(self.rows()).map_err(|_| Error::invalid("too many rows for the memory"))?];
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
            return Err(Error::invalid("the key has no columns, at least one is needed"));
        }
        let column = |name: &&str| {
            let found = self.schema().index().find(|column| column.name == **name).cloned();
            found.ok_or_else(|| Error::invalid(format!("`{name}` is not an index column of {}", self.url())))
        };
        on.iter().map(column).collect()
    }
}

/// Returns the columns of a key, with the types of the index. Finds them by name.
fn keys_of(columns: &[Column], batch: &RecordBatch) -> Result<RecordBatch> {
    let mut fields = Vec::new();
    let mut arrays = Vec::new();
    for column in columns {
        let name = &column.name;
        let found = batch
            .column_by_name(name)
            .ok_or_else(|| Error::invalid(format!("expected a column `{name}`, which is in the key")))?;
        let array = index_column(found, &column.ty.arrow()).ok_or_else(|| {
            Error::invalid(format!("key `{name}`: expected {}, found {}", column.ty, plain(&found.data_type().to_string())))
        })?;
        fields.push(Field::new(name, array.data_type().clone(), true));
        arrays.push(array);
    }
    let batch = RecordBatch::try_new(ArrowSchema::new(fields).into(), arrays);
    batch.map_err(|error| Error::invalid(error.to_string()))
}
