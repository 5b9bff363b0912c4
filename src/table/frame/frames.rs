//! Rows as polars frames, and frames as rows to write.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema as ArrowSchema};
use polars::frame::DataFrame;

use crate::{
    error::{Error, Result},
    index,
    schema::{Column, ColumnId},
    table::Rows,
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
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for column in frame.columns() {
            let ty = index::column_type(column)?;
            arrays.push(index::unframed(column, &ty)?);
            fields.push(Field::new(column.name().as_str(), ty.arrow(), true));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(frame.height()));
        let batch = RecordBatch::try_new_with_options(Arc::new(ArrowSchema::new(fields)), arrays, &options);
        let batch = batch.map_err(|error| Error::internal(format!("a frame as a batch: {error}")))?;
        self.write(&batch).await
    }
}
