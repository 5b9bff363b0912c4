//! A folder that appears atomically. It is written under a temporary name beside its target, and renamed when it is complete, so
//! that nobody sees an incomplete folder. A folder that is dropped before that is removed.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tetrys::error::{Error, Result};

/// A folder that is being written.
pub(super) struct Staging {
    folder: PathBuf,
    target: PathBuf,
    published: bool,
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
        let hidden = format!(".{}.{}.tmp", name.to_string_lossy(), uuid::Uuid::new_v4().simple());
        let folder = target.with_file_name(hidden);
        fs::create_dir(&folder).map_err(|error| Error::from(error).at(folder.display()))?;
        Ok(Self { folder, target: target.to_path_buf(), published: false })
    }

    /// Returns the temporary folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes a whole file. `key` may contain folders.
    pub(super) fn write(&self, key: &str, bytes: &[u8]) -> Result<()> {
        let path = self.folder.join(key);
        let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, bytes));
        written.map_err(|error| Error::from(error).at(path.display()))
    }

    /// Renames the folder to its target.
    ///
    /// # Errors
    /// - `Exists`: something appeared at the target meanwhile.
    pub(super) fn publish(mut self) -> Result<()> {
        refuse_existing(&self.target)?;
        fs::rename(&self.folder, &self.target).map_err(|error| Error::from(error).at(self.target.display()))?;
        self.published = true;
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.published {
            // A folder that cannot be removed stays. Its name shows that it is temporary.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

fn refuse_existing(target: &Path) -> Result<()> {
    match fs::symlink_metadata(target) {
        Ok(_) => Err(Error::exists(format!("{}: expected a new folder, found something there", target.display()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::from(error).at(target.display())),
    }
}
