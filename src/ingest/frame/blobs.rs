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

use super::settings::{Blob, FrameSettings, MAX_BLOB, Missing, MissingFiles};
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
    /// as additional columns. `paths` has the column of paths for each blob. `first` is the row number in the frame of the
    /// batch's first row.
    ///
    /// # Errors
    /// The messages name row and path.
    /// - `NotFound`: a file is missing.
    /// - `Denied`: a file is outside the root.
    /// - `Invalid`: a file is too large, or not a regular file.
    pub(super) fn beside(&self, batch: &RecordBatch, paths: &[ArrayRef], from: usize, first: u64) -> Result<RecordBatch> {
        let mut builders: Vec<LargeBinaryBuilder> = self.blobs.iter().map(|_| LargeBinaryBuilder::new()).collect();
        let (mut row, mut bytes) = (from, 0);
        while row < batch.num_rows() && bytes < BATCH_BYTES {
            for (number, (paths, builder)) in paths.iter().zip(&mut builders).enumerate() {
                let content = self.read(number, paths, row).map_err(|error| error.at(format!("row {}", first + row as u64)))?;
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

    fn read(&self, number: usize, paths: &ArrayRef, row: usize) -> Result<Option<Vec<u8>>> {
        let texts = paths.as_string_opt::<i64>().ok_or_else(|| Error::internal("paths that are not text"))?;
        if texts.is_null(row) {
            return Ok(None);
        }
        let text = texts.value(row);
        let place = |error: Error| error.at(format!("blob `{}`, file {}", self.blobs[number].column, short(text)));
        match self.content(text) {
            Err(error) if error.kind() == ErrorKind::NotFound && self.missing == Missing::Null => {
                self.absent.count(&self.blobs[number].column);
                Ok(None)
            }
            content => content.map(Some).map_err(place),
        }
    }

    /// Returns the bytes of a file inside the root.
    fn content(&self, text: &str) -> Result<Vec<u8>> {
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
        let too_large =
            |bytes: u64| Error::invalid(format!("{}, expected at most {} (max_blob)", counted(bytes, "byte"), self.most));
        if found.len() > self.most {
            return Err(too_large(found.len()));
        }
        // The file may grow during the read.
        let mut content = Vec::with_capacity(usize::try_from(found.len()).unwrap_or(0));
        opened.take(self.most + 1).read_to_end(&mut content).map_err(of_system)?;
        if content.len() as u64 > self.most {
            return Err(too_large(content.len() as u64));
        }
        Ok(content)
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
