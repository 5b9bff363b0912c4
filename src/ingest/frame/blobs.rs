//! The files that a frame names: resolved inside their root, and read beside the rows, a bounded number of bytes at a time.

use std::{
    io::ErrorKind as Io,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use arrow_array::{Array, ArrayRef, RecordBatch, builder::LargeBinaryBuilder, cast::AsArray};
use arrow_schema::{Field, Schema as ArrowSchema};

use super::settings::{Blob, Missing};
use crate::error::{Error, Result};

/// A batch is cut where its files have so many bytes.
const BATCH_BYTES: usize = 16 << 20;

/// Where files may be read, and what becomes of those that are not there.
#[derive(Clone, Debug)]
pub(super) struct Files {
    root: PathBuf,
    blobs: Vec<Blob>,
    missing: Missing,
}

impl Files {
    /// Files below `root`.
    ///
    /// # Errors
    /// As the file system says where the current folder is unknown.
    pub(super) fn new(root: &Path, blobs: &[Blob], missing: Missing) -> Result<Self> {
        let root = std::path::absolute(root).map_err(|error| Error::from(error).at(root.display()))?;
        Ok(Self { root: normal(&root), blobs: blobs.to_vec(), missing })
    }

    /// Reads the files of `batch` from its row `from` on, until they are many enough: the rows done with the files as columns
    /// beside them, the paths being those of `paths`. `first` is the frame's row at the start of the batch.
    ///
    /// # Errors
    /// `NotFound` for a missing file, `Denied` for one outside the root, naming row and path.
    pub(super) fn beside(&self, batch: &RecordBatch, paths: &[ArrayRef], from: usize, first: u64) -> Result<RecordBatch> {
        let mut builders: Vec<LargeBinaryBuilder> = self.blobs.iter().map(|_| LargeBinaryBuilder::new()).collect();
        let (mut row, mut bytes) = (from, 0);
        while row < batch.num_rows() && bytes < BATCH_BYTES {
            for ((blob, paths), builder) in self.blobs.iter().zip(paths).zip(&mut builders) {
                let content = self.read(blob, paths, row).map_err(|error| error.at(format!("row {}", first + row as u64)))?;
                bytes += content.as_ref().map_or(0, Vec::len);
                builder.append_option(content);
            }
            row += 1;
        }
        let rows = batch.slice(from, row - from);
        let fields = rows.schema_ref().fields().iter().cloned();
        let files = self.blobs.iter().map(|blob| Arc::new(Field::new(&blob.column, arrow_schema::DataType::LargeBinary, true)));
        let schema = ArrowSchema::new(fields.chain(files).collect::<Vec<_>>());
        let columns = rows.columns().iter().cloned();
        let files = builders.iter_mut().map(|builder| Arc::new(builder.finish()) as ArrayRef);
        RecordBatch::try_new(Arc::new(schema), columns.chain(files).collect()).map_err(|error| Error::internal(error.to_string()))
    }

    fn read(&self, blob: &Blob, paths: &ArrayRef, row: usize) -> Result<Option<Vec<u8>>> {
        let texts = paths.as_string_opt::<i64>().ok_or_else(|| Error::internal("paths that are not text"))?;
        if texts.is_null(row) {
            return Ok(None);
        }
        let text = texts.value(row);
        let place = |error: Error| error.at(format!("blob `{}`, file {text}", blob.column));
        let file = self.resolve(text).map_err(place)?;
        match std::fs::read(&file) {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == Io::NotFound && self.missing == Missing::Null => Ok(None),
            Err(error) if error.kind() == Io::NotFound => Err(place(Error::not_found(format!("not in {}", self.root.display())))),
            Err(error) => Err(place(Error::from(error))),
        }
    }

    /// A frame may come from anywhere: what it names outside the root would carry files into a table that nobody meant.
    fn resolve(&self, text: &str) -> Result<PathBuf> {
        let file = normal(&self.root.join(text));
        match file.starts_with(&self.root) {
            true => Ok(file),
            false => Err(Error::denied(format!("outside of {}; choose another root", self.root.display()))),
        }
    }
}

/// The path without `.` and `..`, by its text alone.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}
