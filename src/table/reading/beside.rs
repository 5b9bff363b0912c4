//! Index columns beside the payload of rows that are read in order.
//!
//! A loader keeps the index columns of a whole table, once its reads have asked for as much as these have. A task reads some rows of a
//! table once, and needs the index of these alone: this file reads it, from the index of the table itself.

use std::{collections::VecDeque, ops::Range, sync::Arc};

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, new_empty_array};
use arrow_schema::{Schema as ArrowSchema, SchemaRef};
use arrow_select::concat::concat;

use super::{loader::RowLoader, rows::Rows, wanted::Wanted, windows::Windows};
use crate::{
    error::{Error, Result},
    ranges::check_ranges,
    schema::ColumnType,
    table::version::{seen::seen_columns, table::Table},
};

/// The index columns of some rows of a table, and the columns of the rows that they become a part of.
pub(super) struct IndexBeside {
    table: Table,
    /// Ascending places of the columns in the stored index.
    places: Vec<usize>,
    /// For each index column of the result, its place among those.
    order: Vec<usize>,
    /// Columns of the result: the index columns, then those of the payload.
    schema: SchemaRef,
    types: Arc<[ColumnType]>,
    /// Rows that are not taken yet, the next one first.
    rows: VecDeque<RecordBatch>,
}

impl RowLoader {
    /// Returns the index columns that this loader reads, of positions that are given as ranges in ascending order, as Arrow batches: their
    /// schema, and the batches. Reads no payload. Of a loader for all rows of a table, it reads only the parts of the index that have these
    /// rows, as [`Table::index_rows`] does.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// use tetrys::{Schema, Table, WriteOptions};
    /// # tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
    /// # let folder = tempfile::tempdir()?; let url = folder.path().join("t").display().to_string();
    /// # let schema = Schema::builder().index("log", "i64").index("time", "i64").build()?;
    /// # let numbers = |first| Arc::new(Int64Array::from_iter_values(first..first + 3)) as arrow_array::ArrayRef;
    /// # let batch = RecordBatch::try_from_iter([("log", numbers(0)), ("time", numbers(70))])?;
    /// # let writer = Table::create(&url, schema, WriteOptions::default()).await?;
    /// # let mut partition = writer.partition()?; partition.write(&batch).await?;
    /// # let table = writer.commit([partition.finish().await?]).await?;
    /// let loader = table.row_loader().columns(["time"])?; // of a table with the columns log and time
    /// let (schema, batches) = loader.index_rows(&[1..3]).await?;
    /// assert_eq!(schema.fields().len(), 1);
    /// assert_eq!(batches[0].column(0).as_ref(), &Int64Array::from(vec![71, 72]));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?; Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - `Invalid`: a range ends outside the loader, or before the range in front of it.
    /// - `Conflict`: a garbage collection has deleted the version of a table.
    /// - `Corrupt`: an index object is missing or differs from what the manifest says.
    /// - Any error of the stores.
    pub async fn index_rows(&self, rows: &[Range<u64>]) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        check_ranges(rows, self.len())?;
        let index = self.only(|column| column.of_index);
        let Some(mut beside) = index.index_beside() else {
            let positions: Vec<u64> = rows.iter().cloned().flatten().collect();
            let found = index.take(&positions).await?;
            return Ok((found.batch().schema(), vec![found.batch().clone()]));
        };
        beside.load(rows).await?;
        let mut batches = Vec::with_capacity(beside.rows.len());
        while let Some(rows) = beside.rows.front().map(RecordBatch::num_rows) {
            batches.push(beside.batch(Vec::new(), rows)?);
        }
        Ok((beside.schema, batches))
    }

    /// Returns the stored bytes of an index, and the number of rows that it has: of the table whose rows the positions are, or of all
    /// source tables.
    pub(super) fn index_size(&self) -> (u64, u64) {
        let bytes = |table: &Table| table.manifest().segments.iter().map(|segment| segment.index.bytes).sum::<u64>();
        let of = |table: &Table| (bytes(table), table.rows());
        match self.table() {
            Some(table) => of(table),
            None => self
                .sources()
                .iter()
                .map(|source| of(&source.table))
                .fold((0, 0), |(bytes, rows): (u64, u64), one| (bytes.saturating_add(one.0), rows.saturating_add(one.1))),
        }
    }

    /// Returns the index columns that this loader reads, before their rows are loaded. `None` if it reads none, or if its positions are not
    /// the rows of one table that has them.
    pub(super) fn index_beside(&self) -> Option<IndexBeside> {
        let table = self.table()?;
        let wanted: Vec<&Wanted> = self.columns.iter().filter(|column| column.of_index).collect();
        let stored: Vec<usize> = wanted.iter().map(|column| stored_place(table, column)).collect::<Option<_>>()?;
        if stored.is_empty() {
            return None;
        }
        let mut places = stored.clone();
        places.sort_unstable();
        places.dedup();
        let order = stored.iter().filter_map(|place| places.binary_search(place).ok()).collect();
        let fields: Vec<_> = self.columns.iter().map(|column| column.ty.arrow_field(&column.name)).collect();
        let types = self.columns.iter().map(|column| column.ty.clone()).collect();
        let (schema, rows) = (Arc::new(ArrowSchema::new(fields)), VecDeque::new());
        Some(IndexBeside { table: table.clone(), places, order, schema, types, rows })
    }
}

/// Returns the place of an index column in the stored index of a table. The index of a view has columns of its source tables, with ids of
/// its own.
fn stored_place(table: &Table, wanted: &Wanted) -> Option<usize> {
    let schema = &table.manifest().schema;
    let place = match (table.is_view(), wanted.origins.first()) {
        (true, _) => {
            let place = table.schema().index().position(|column| column.name == wanted.name)?;
            *seen_columns(table.manifest()).get(place)?
        }
        (false, Some((_, id))) => schema.index().position(|column| column.id == *id)?,
        (false, None) => return None,
    };
    (schema.index().nth(place)?.ty == wanted.ty).then_some(place)
}

impl IndexBeside {
    /// Loads the columns of these rows, given as ascending ranges.
    ///
    /// # Errors
    /// - `Conflict`: a garbage collection has deleted the version.
    /// - `Corrupt`: an index object is missing or differs from what the manifest says.
    /// - Errors of the store.
    pub(super) async fn load(&mut self, rows: &[Range<u64>]) -> Result<()> {
        let batches = self.table.index_batches_of(&self.places, rows).await?;
        self.rows = batches.into_iter().filter(|batch| batch.num_rows() > 0).collect();
        Ok(())
    }

    /// Returns the payload of the next rows with their index columns in front.
    ///
    /// # Errors
    /// - `Internal`: these rows were not loaded.
    pub(super) fn join(&mut self, payload: &Windows) -> Result<Windows> {
        let rows = payload.rows();
        let batch = self.batch(rows.batch().columns().to_vec(), rows.len())?;
        let joined = Rows::new(batch, Arc::clone(&self.types), rows.table_rows().to_vec());
        let joined = match rows.partners() {
            // The table has index columns for each of its rows.
            Some(partners) => {
                let index = vec![vec![true; rows.len()]; self.order.len()];
                joined.with_partners(index.into_iter().chain(partners.iter().cloned()).collect())
            }
            None => joined,
        };
        Ok(Windows::new(joined, payload.starts().to_vec()))
    }

    /// Returns the index columns of the next rows, which have these numbers, without payload.
    ///
    /// # Errors
    /// - `Internal`: these rows were not loaded.
    pub(super) fn alone(&mut self, numbers: &[u64]) -> Result<Windows> {
        let batch = self.batch(Vec::new(), numbers.len())?;
        let rows = Rows::new(batch, Arc::clone(&self.types), numbers.iter().copied().map(Some).collect());
        Ok(Windows::new(rows, (0..=numbers.len()).collect()))
    }

    /// Takes the index columns of the next rows, and puts other columns behind them.
    fn batch(&mut self, behind: Vec<ArrayRef>, count: usize) -> Result<RecordBatch> {
        let (mut parts, mut left) = (Vec::new(), count);
        while left > 0 {
            let next = self.rows.pop_front().ok_or_else(|| Error::internal("index rows: fewer than were wanted"))?;
            let here = left.min(next.num_rows());
            if here < next.num_rows() {
                self.rows.push_front(next.slice(here, next.num_rows() - here));
            }
            parts.push(next.slice(0, here));
            left -= here;
        }
        let mut columns = Vec::with_capacity(self.types.len());
        for (place, ty) in self.order.iter().zip(&*self.types) {
            let arrays: Vec<&dyn Array> = parts.iter().map(|part| part.column(*place).as_ref()).collect();
            columns.push(match (parts.first(), &*arrays) {
                (None, _) => new_empty_array(&ty.arrow()),
                (Some(part), [_]) => ArrayRef::clone(part.column(*place)),
                _ => concat(&arrays).map_err(|error| Error::unsupported(format!("index columns in one array: {error}")))?,
            });
        }
        columns.extend(behind);
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options);
        batch.map_err(|error| Error::internal(format!("index columns beside payload: {error}")))
    }
}
