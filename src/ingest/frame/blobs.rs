//! Reads the files that a frame names, a bounded number of bytes at a time.
//!
//! A frame is untrusted input. A file is read only if it is a regular file, lies inside the root after all links are followed,
//! and is within the size limit. This excludes links that lead out of the root, pipes that block the reader, and devices that
//! never end.

use std::{
    fs::{File, OpenOptions},
    io::{ErrorKind as Io, Read},
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use arrow_array::{Array, ArrayRef, RecordBatch, builder::LargeBinaryBuilder, cast::AsArray};
use arrow_schema::{Field, Schema as ArrowSchema};

use super::{
    arrays::Tensors,
    settings::{Blob, Content, FrameSettings, MAX_BLOB, Missing, MissingFiles},
};
use crate::error::{Error, ErrorKind, Result, counted, short};

/// A batch ends when its files have this many bytes.
const BATCH_BYTES: usize = 16 << 20;

/// The files of a frame: their root, their limits, and how to treat missing ones.
#[derive(Debug)]
pub(super) struct Files {
    root: PathBuf,
    /// The root with all links followed; `None` if it does not exist.
    real: Option<PathBuf>,
    blobs: Vec<Blob>,
    missing: Missing,
    most: u64,
    absent: MissingFiles,
}

impl Files {
    /// Prepares to read files below `root`.
    ///
    /// # Errors
    /// - `NotFound`: the root is not a folder, and files are to be read.
    /// - `Invalid`: the largest file may have more bytes than a value.
    /// - Errors of the file system, if the current folder is unknown.
    pub(super) fn new(root: &Path, settings: &FrameSettings) -> Result<Self> {
        let root = std::path::absolute(root).map_err(|error| Error::from(error).at(root.display()))?;
        let blobs = settings.blobs.clone();
        // Without this check, every file below a misspelt root would count as missing.
        if !blobs.is_empty() && !root.is_dir() {
            return Err(Error::not_found(format!("{}: no such folder; expected the root of the frame's files", root.display())));
        }
        let absent = settings.missing_files.clone();
        let most = settings.max_blob.unwrap_or(MAX_BLOB);
        if most > MAX_BLOB {
            return Err(Error::invalid(format!("max_blob: expected at most {MAX_BLOB} bytes, found {most}")));
        }
        Ok(Self { real: root.canonicalize().ok(), root: normal(&root), blobs, missing: settings.missing, most, absent })
    }

    /// Reads the files for rows of `batch`, from row `from` until the files have enough bytes. Returns these rows with the files
    /// as additional columns, which have types. `paths` has the column of paths for each blob. `first` is the row number in the
    /// frame of the batch's first row.
    ///
    /// # Errors
    /// The messages name row and path.
    /// - `NotFound`: a file is missing.
    /// - `Denied`: a file is outside the root.
    /// - `Invalid`: a file is too large, or not a regular file; an array does not fit the type of its column.
    /// - `Corrupt`, `Unsupported`: a file is no array that a table can hold.
    pub(super) fn beside(&self, batch: &RecordBatch, paths: &[ArrayRef], from: usize, first: u64) -> Result<RecordBatch> {
        let mut builders = self.blobs.iter().map(Values::of).collect::<Result<Vec<_>>>()?;
        let (mut row, mut bytes) = (from, 0);
        while row < batch.num_rows() && bytes < BATCH_BYTES {
            for (number, (paths, builder)) in paths.iter().zip(&mut builders).enumerate() {
                let read = self.with_file(number, paths, row, |file, size| {
                    let content = self.content(file, size)?;
                    bytes += content.len();
                    builder.append(&content)
                });
                if read.map_err(|error| error.at(format!("row {}", first + row as u64)))?.is_none() {
                    bytes += builder.append_null();
                    if paths.is_valid(row) {
                        self.absent.count(&self.blobs[number].column);
                    }
                }
            }
            row += 1;
        }
        let rows = batch.slice(from, row - from);
        let files = builders.into_iter().map(Values::finish).collect::<Result<Vec<_>>>()?;
        let fields = rows.schema_ref().fields().iter().cloned();
        let of_files = self.blobs.iter().zip(&files).map(|(blob, file)| Field::new(&blob.column, file.data_type().clone(), true));
        let schema = ArrowSchema::new(fields.chain(of_files.map(Arc::new)).collect::<Vec<_>>());
        let columns = rows.columns().iter().cloned().chain(files);
        RecordBatch::try_new(Arc::new(schema), columns.collect()).map_err(|error| Error::internal(error.to_string()))
    }

    /// Applies `work` to the file of a row, and its size. Returns `None` if the row names no file, or one that may be missing.
    pub(super) fn with_file<T>(
        &self,
        number: usize,
        paths: &ArrayRef,
        row: usize,
        work: impl FnOnce(File, u64) -> Result<T>,
    ) -> Result<Option<T>> {
        let texts = paths.as_string_opt::<i64>().ok_or_else(|| Error::internal("paths that are not text"))?;
        if texts.is_null(row) {
            return Ok(None);
        }
        let text = texts.value(row);
        let place = |error: Error| error.at(format!("{}, file {}", self.blobs[number].describe(), short(text)));
        match self.opened(text) {
            Err(error) if error.kind() == ErrorKind::NotFound && self.missing == Missing::Null => Ok(None),
            opened => opened.and_then(|(file, size)| work(file, size)).map(Some).map_err(place),
        }
    }

    /// Opens a file inside the root. Returns it with its size.
    fn opened(&self, text: &str) -> Result<(File, u64)> {
        let outside = || Error::denied(format!("outside of {}; choose another root", self.root.display()));
        let absent = || Error::not_found(format!("not in {}", self.root.display()));
        let file = normal(&self.root.join(text));
        if !file.starts_with(&self.root) {
            return Err(outside());
        }
        let of_system = |error: std::io::Error| match error.kind() {
            Io::NotFound | Io::NotADirectory => absent(),
            _ => error.into(),
        };
        let root = self.real.as_ref().ok_or_else(absent)?;
        let real = file.canonicalize().map_err(of_system)?;
        if !real.starts_with(root) {
            return Err(Error::denied(format!("a link leads to {}, outside of {}", real.display(), self.root.display())));
        }
        let opened = open(&real).map_err(of_system)?;
        let found = opened.metadata().map_err(of_system)?;
        if !found.is_file() {
            return Err(Error::invalid("expected a regular file, found a folder, a pipe or a device"));
        }
        match found.len() {
            bytes if bytes > self.most => Err(self.too_large(bytes)),
            bytes => Ok((opened, bytes)),
        }
    }

    /// Returns the bytes of a file.
    fn content(&self, file: File, size: u64) -> Result<Vec<u8>> {
        // The file may grow during the read.
        let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        file.take(self.most + 1).read_to_end(&mut content)?;
        match content.len() as u64 {
            bytes if bytes > self.most => Err(self.too_large(bytes)),
            _ => Ok(content),
        }
    }

    fn too_large(&self, bytes: u64) -> Error {
        Error::invalid(format!("{}, expected at most {} (max_blob)", counted(bytes, "byte"), self.most))
    }
}

/// Builds the column of a blob.
enum Values {
    Bytes(LargeBinaryBuilder),
    Arrays(Tensors),
}

impl Values {
    fn of(blob: &Blob) -> Result<Self> {
        match &blob.content {
            Content::Bytes => Ok(Self::Bytes(LargeBinaryBuilder::new())),
            Content::Npy(_) => Tensors::new(blob.ty()?).map(Self::Arrays),
        }
    }

    fn append(&mut self, file: &[u8]) -> Result<()> {
        match self {
            Self::Bytes(builder) => builder.append_value(file),
            Self::Arrays(tensors) => tensors.append(file)?,
        }
        Ok(())
    }

    /// Appends a null. Returns the bytes that it takes.
    fn append_null(&mut self) -> usize {
        match self {
            Self::Bytes(builder) => {
                builder.append_null();
                0
            }
            Self::Arrays(tensors) => tensors.append_null(),
        }
    }

    fn finish(self) -> Result<ArrayRef> {
        match self {
            Self::Bytes(mut builder) => Ok(Arc::new(builder.finish())),
            Self::Arrays(tensors) => tensors.finish(),
        }
    }
}

/// Opens a file without waiting for a peer at the other end of a pipe. Does not follow a link that replaced the file meanwhile.
fn open(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags((OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY).bits().cast_signed());
    }
    options.open(path)
}

/// Removes `.` and `..` from the path, without looking at the file system.
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
