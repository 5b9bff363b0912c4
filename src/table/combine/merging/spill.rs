//! Temporary files with rows of frames.

use std::{
    fs::File,
    io::{BufReader, BufWriter, Seek},
    sync::Arc,
};

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_ipc::{
    CompressionType,
    reader::StreamReader,
    writer::{IpcWriteOptions, StreamWriter},
};
use arrow_schema::{ArrowError, Schema as ArrowSchema, SchemaRef};
use polars::prelude::DataFrame;

use crate::{
    error::{Error, Result},
    index::{frame, stored_type, unframed},
    schema::{Column, ColumnId},
    table::version::temporary::{Counted, Folder},
};

/// A file to which rows are appended.
pub(super) struct Spill {
    described: Arc<[Column]>,
    schema: SchemaRef,
    writer: StreamWriter<BufWriter<Counted>>,
    rows: u64,
}

/// A file of rows that can be read.
pub(super) struct Spilled {
    described: Arc<[Column]>,
    file: File,
    /// Number of rows.
    pub(super) rows: u64,
}

impl Spill {
    /// Creates a file for frames with the columns of `like`.
    ///
    /// # Errors
    /// - `Invalid`: a column has a type that an index cannot hold.
    /// - `NotFound`, `Denied`, `Unavailable`: the folder does not take a file.
    pub(super) fn new(folder: &Folder, like: &DataFrame) -> Result<Self> {
        let column = |(number, column): (u32, &polars::prelude::Column)| {
            let (name, (ty, _)) = (column.name().to_string(), stored_type(column)?);
            Ok(Column { id: ColumnId(number), name, ty, properties: Default::default() })
        };
        let described = (0..).zip(like.columns()).map(column).collect::<Result<Arc<[Column]>>>()?;
        let fields = described.iter().map(|column| column.ty.arrow_field(&column.name)).collect::<Vec<_>>();
        let schema = Arc::new(ArrowSchema::new(fields));
        let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::LZ4_FRAME)).map_err(of_arrow)?;
        let writer = StreamWriter::try_new_with_options(BufWriter::new(folder.counted()?), &schema, options).map_err(of_arrow)?;
        Ok(Self { described, schema, writer, rows: 0 })
    }

    /// Appends rows.
    ///
    /// # Errors
    /// - `Unavailable`: the file cannot be written. The message names the folder and the bytes written.
    pub(super) fn write(&mut self, frame: &DataFrame) -> Result<()> {
        if frame.height() == 0 {
            return Ok(());
        }
        let columns = frame.columns().iter().zip(self.described.iter());
        let columns = columns.map(|(column, described)| unframed(column, &described.ty)).collect::<Result<Vec<ArrayRef>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(frame.height()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options).map_err(of_arrow)?;
        self.rows += frame.height() as u64;
        self.writer.write(&batch).map_err(of_arrow)
    }

    /// Ends the file.
    ///
    /// # Errors
    /// - `Unavailable`: the file cannot be written. The message names the folder and the bytes written.
    pub(super) fn finish(self) -> Result<Spilled> {
        let out = self.writer.into_inner().map_err(of_arrow)?;
        let out = out.into_inner().map_err(|error| of_arrow(error.into_error().into()))?;
        let mut file = out.into_file();
        file.rewind()?;
        Ok(Spilled { described: self.described, file, rows: self.rows })
    }
}

impl Spilled {
    /// Returns the rows in order, as frames of the sizes in which they were written. The file is deleted at the end.
    ///
    /// # Errors
    /// - `Unavailable`: the file cannot be read.
    pub(super) fn read(self) -> Result<impl Iterator<Item = Result<DataFrame>>> {
        let batches = StreamReader::try_new(BufReader::new(self.file), None).map_err(of_arrow)?;
        let described = self.described;
        Ok(batches.map(move |batch| {
            let batch = batch.map_err(of_arrow)?;
            let rows = batch.num_rows() as u64;
            frame(&described.iter().collect::<Vec<_>>(), rows, [Ok(batch)])
        }))
    }
}

fn of_arrow(error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, error) => Error::from(error),
        other => Error::internal(format!("a temporary file of a merge: {other}")),
    }
}
