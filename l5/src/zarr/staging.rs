//! A folder that appears atomically. It is written under a temporary name beside its target, and renamed when it is complete, so
//! that nobody sees an incomplete folder. A folder that is dropped before that is removed.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use tetrys::error::{Error, Result};

/// A folder that is being written.
pub(super) struct Staging {
    folder: TempDir,
    target: PathBuf,
}

impl Staging {
    /// Creates the temporary folder for `target`.
    ///
    /// # Errors
    /// - `Exists`: something exists at `target`.
    /// - `NotFound`: the parent folder does not exist.
    /// - `Invalid`: `target` has no file name.
    pub(super) fn new(target: &Path) -> Result<Self> {
        let name = target
            .file_name()
            .ok_or_else(|| Error::invalid(format!("{}: expected the name of a new folder", target.display())))?;
        refuse_existing(target)?;
        let beside = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let prefix = format!(".{}.", name.to_string_lossy());
        let folder = tempfile::Builder::new().prefix(&prefix).suffix(".tmp").tempdir_in(beside);
        let folder = folder.map_err(|error| Error::from(error).at(target.display()))?;
        Ok(Self { folder, target: target.to_path_buf() })
    }

    /// Returns the temporary folder.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a whole file. `key` may contain folders.
    pub(super) fn write(&self, key: &str, bytes: &[u8]) -> Result<()> {
        let path = self.folder().join(key);
        let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, bytes));
        written.map_err(|error| Error::from(error).at(path.display()))
    }

    /// Renames the folder to its target.
    ///
    /// # Errors
    /// - `Exists`: something appeared at the target meanwhile.
    pub(super) fn publish(self) -> Result<()> {
        refuse_existing(&self.target)?;
        fs::rename(self.folder(), &self.target).map_err(|error| Error::from(error).at(self.target.display()))?;
        // There is nothing left to remove at its old name.
        let _ = self.folder.keep();
        Ok(())
    }
}

fn refuse_existing(target: &Path) -> Result<()> {
    match fs::symlink_metadata(target) {
        Ok(_) => Err(Error::exists(format!("{}: expected a new folder, found something there", target.display()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::from(error).at(target.display())),
    }
}
