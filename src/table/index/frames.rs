//! Rows as polars frames, and frames as rows to write.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema as ArrowSchema};
use polars::{frame::DataFrame, prelude::Column as PolarsColumn};

use super::index::Index;
use crate::{
    error::{Error, Result},
    index,
    schema::{Column, ColumnId},
    table::{Rows, RowsWriter, TableWriter},
    write::PartitionWriter,
};

impl Rows {
    /// Returns the rows as a polars frame. Columns are numbers, booleans, dates, times and texts; rows that do not exist are null.
    ///
    /// ```
    /// # async fn example(loader: &tetrys::RowLoader) -> tetrys::Result<()> {
    /// let labels = loader.clone().columns(["labels.*"])?.take(&[4, 8, 15]).await?.to_frame()?;
    /// assert_eq!(labels.height(), 3);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// - `Unsupported`: a column holds tensors, bytes, lists, or 16-bit floats; [`Rows::batch`] has them as Arrow columns.
    pub fn to_frame(&self) -> Result<DataFrame> {
        let schema = self.batch().schema();
        let types = schema.fields().iter().zip(self.column_types());
        let columns = types.map(|(field, ty)| match ty.is_indexable() {
            true => Ok(Column { id: ColumnId(0), name: field.name().clone(), ty: ty.clone(), properties: BTreeMap::new() }),
            false => Err(Error::unsupported(format!(
                "column `{}` is {ty}, which a frame does not hold here: leave it out, or use the Arrow columns of `batch`",
                field.name()
            ))),
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        index::frame(&columns.iter().collect::<Vec<_>>(), self.len() as u64, [Ok(self.batch().clone())])
    }
}

impl PartitionWriter {
    /// Writes the rows of a polars frame, as [`PartitionWriter::write`] does. Columns are numbers, booleans, dates, times and texts.
    ///
    /// # Errors
    /// - `Invalid`: the frame has a column of another type, or its columns do not fit the schema.
    /// - Those of [`PartitionWriter::write`].
    pub async fn write_frame(&mut self, frame: &DataFrame) -> Result<()> {
        self.write(&batch_of(frame.columns(), frame.height())?).await
    }
}

impl RowsWriter {
    /// Writes the rows of a polars frame, as [`RowsWriter::write`] does. Columns are numbers, booleans, dates, times and texts.
    ///
    /// # Errors
    /// - `Invalid`: the frame has a column of another type, or its columns do not fit the schema.
    /// - Those of [`RowsWriter::write`].
    pub async fn write_frame(&mut self, writer: &TableWriter, frame: &DataFrame) -> Result<()> {
        self.write(writer, &batch_of(frame.columns(), frame.height())?).await
    }
}

impl Index {
    /// Returns the rows as an Arrow batch, without the locator columns. Types are those of [`Table::take_index`](crate::Table::take_index).
    ///
    /// ```
    /// # fn example(index: &tetrys::Index) -> tetrys::Result<()> {
    /// let batch = index.slice(100, 10).to_batch()?; // up to ten rows
    /// assert_eq!(batch.num_columns(), index.column_names().count());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// - `Invalid`: a column has a type that no index of a table has, such as a list.
    pub fn to_batch(&self) -> Result<RecordBatch> {
        let columns = self.to_frame();
        let columns: Vec<_> = columns.columns().iter().filter(|column| !Self::is_locator(column.name())).cloned().collect();
        batch_of(&columns, self.len())
    }
}

fn batch_of(columns: &[PolarsColumn], rows: usize) -> Result<RecordBatch> {
    let (mut fields, mut arrays) = (Vec::new(), Vec::new());
    for column in columns {
        let ty = index::column_type(column)?;
        arrays.push(index::unframed(column, &ty)?);
        fields.push(Field::new(column.name().as_str(), ty.arrow(), true));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(Arc::new(ArrowSchema::new(fields)), arrays, &options);
    batch.map_err(|error| Error::internal(format!("a frame as a batch: {error}")))
}
