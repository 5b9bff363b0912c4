//! Temporary files of work that is larger than memory. The system deletes them when they are closed, also if the process is killed.

use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::error::{Error, Result, counted};

/// The memory limit of merges, splits and diffs, unless the caller sets one.
pub(in crate::table) const MEMORY_LIMIT: u64 = 2 << 30;

/// The folder of the temporary files of one operation.
#[derive(Clone, Debug)]
pub(in crate::table) struct Folder {
    /// Name of the operation in errors, such as `merge`.
    what: &'static str,
    path: Arc<Path>,
    /// Bytes that all files together have.
    written: Arc<AtomicU64>,
}

impl Folder {
    /// Uses this folder, or that of the system for temporary files.
    pub(in crate::table) fn new(what: &'static str, path: Option<PathBuf>) -> Self {
        Self { what, path: path.unwrap_or_else(std::env::temp_dir).into(), written: Arc::default() }
    }

    /// Creates a file that is deleted when it is closed.
    ///
    /// # Errors
    /// - `NotFound`, `Denied`, `Unavailable`: the folder does not take a file.
    pub(in crate::table) fn file(&self) -> Result<File> {
        tempfile::tempfile_in(&self.path).map_err(|error| Error::from(error).at(self.place()))
    }

    /// Returns the text by which errors name a file in the folder.
    pub(in crate::table) fn place(&self) -> Arc<str> {
        format!("{}: a temporary file in {}", self.what, self.path.display()).into()
    }

    /// Creates a file whose errors name the folder and the bytes that were written.
    ///
    /// # Errors
    /// - `NotFound`, `Denied`, `Unavailable`: the folder does not take a file.
    pub(in crate::table) fn counted(&self) -> Result<Counted> {
        Ok(Counted { file: self.file()?, folder: self.clone() })
    }
}

/// A temporary file.
#[derive(Debug)]
pub(in crate::table) struct Counted {
    file: File,
    folder: Folder,
}

impl Counted {
    /// Returns the file.
    pub(in crate::table) fn into_file(self) -> File {
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
                let (what, place) = (self.folder.what, self.folder.path.display());
                Err(io::Error::new(
                    error.kind(),
                    format!(
                        "{what}: the temporary files in {place} have {written} and cannot grow: {error}; choose a folder with more \
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
