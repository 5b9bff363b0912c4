//! A folder that appears at once: it is filled under another name beside its target and renamed when complete, so nobody sees
//! half of it. Dropped before that, it is removed.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::error::{Error, Result};

/// A folder in the making.
pub(super) struct Staging {
    folder: PathBuf,
    target: PathBuf,
    published: bool,
}

impl Staging {
    /// Begins the folder that will be `target`.
    ///
    /// # Errors
    /// `Exists` where there is anything at `target`, `NotFound` where its parent is not there.
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

    /// Where to write.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes a whole file; `key` may name folders.
    pub(super) fn write(&self, key: &str, bytes: &[u8]) -> Result<()> {
        let path = self.folder.join(key);
        let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, bytes));
        written.map_err(|error| Error::from(error).at(path.display()))
    }

    /// Gives the folder its name.
    ///
    /// # Errors
    /// `Exists` where something has appeared at the target.
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
            // Nothing more can be done about a folder that cannot be removed, and its name says what it is.
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
