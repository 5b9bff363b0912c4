//! Temporary files with rows of frames. The system deletes them when they are closed, also if the process is killed.

use std::{
    fs::File,
    io::{self, BufReader, BufWriter, Seek, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
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
    error::{Error, Result, counted},
    index::{column_type, frame, unframed},
    schema::{Column, ColumnId},
};

/// The folder of temporary files.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    path: Arc<Path>,
    /// Bytes that all files together have.
    written: Arc<AtomicU64>,
}

impl Folder {
    /// Uses this folder, or that of the system for temporary files.
    pub(super) fn new(path: Option<PathBuf>) -> Self {
        Self { path: path.unwrap_or_else(std::env::temp_dir).into(), written: Arc::default() }
    }

    /// Creates a file that is deleted when it is closed.
    ///
    /// # Errors
    /// - `NotFound`, `Denied`, `Unavailable`: the folder does not take a file.
    pub(super) fn file(&self) -> Result<File> {
        let place = || format!("merge: a temporary file in {}", self.path.display());
        tempfile::tempfile_in(&self.path).map_err(|error| Error::from(error).at(place()))
    }

    /// Creates a file whose errors name the folder and the bytes that were written.
    ///
    /// # Errors
    /// - `NotFound`, `Denied`, `Unavailable`: the folder does not take a file.
    pub(super) fn counted(&self) -> Result<Counted> {
        Ok(Counted { file: self.file()?, folder: self.clone() })
    }
}

/// A temporary file.
#[derive(Debug)]
pub(super) struct Counted {
    file: File,
    folder: Folder,
}

impl Counted {
    /// Returns the file.
    pub(super) fn into_file(self) -> File {
        self.file
    }
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.file.write(bytes) {
            Ok(written) => {
                self.folder.written.fetch_add(written as u64, Ordering::Relaxed);
                Ok(written)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let written = counted(self.folder.written.load(Ordering::Relaxed), "byte");
                let place = self.folder.path.display();
                Err(io::Error::new(
                    error.kind(),
                    format!(
                        "merge: the temporary files in {place} have {written} and cannot grow: {error}; choose a folder with more \
                         room, or a higher memory limit"
                    ),
                ))
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

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
            let (name, ty) = (column.name().to_string(), column_type(column)?);
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
