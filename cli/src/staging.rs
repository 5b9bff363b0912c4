//! A folder that appears at once: filled under another name beside its target and renamed when complete, so nobody reads half
//! of it. Dropped before that, it is removed.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use tetrys::{Error, Result};

/// A file in the making, in the folder where its name will be; it gets the permissions of any new file.
///
/// # Errors
/// As the file system says.
pub(crate) fn new_file(target: &Path) -> io::Result<tempfile::NamedTempFile> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    // The process's mask takes its part from these.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

/// A folder in the making.
#[derive(Debug)]
pub(crate) struct Staging {
    folder: PathBuf,
    target: PathBuf,
    published: bool,
}

impl Staging {
    /// Begins the folder that will be `target`, which must not be there, or be empty.
    ///
    /// # Errors
    /// `Exists` where there is something; as the file system says.
    pub(crate) fn new(target: &Path) -> Result<Self> {
        require_empty(target)?;
        let name = target.file_name();
        let name = name.ok_or_else(|| Error::invalid(format!("{}: expected the name of a new folder", target.display())))?;
        let folder = target.with_file_name(format!(".{}.{}.tmp", name.to_string_lossy(), std::process::id()));
        fs::create_dir(&folder).map_err(|error| Error::from(error).at(folder.display()))?;
        Ok(Self { folder, target: target.to_owned(), published: false })
    }

    /// Where to write.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Gives the folder its name.
    ///
    /// # Errors
    /// `Exists` where something has appeared at the target meanwhile.
    pub(crate) fn publish(mut self) -> Result<()> {
        require_empty(&self.target)?;
        // Not every system renames over an empty folder.
        if self.target.is_dir() {
            fs::remove_dir(&self.target).map_err(|error| Error::from(error).at(self.target.display()))?;
        }
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

/// # Errors
/// `Exists` where there is anything but an empty folder at `path`.
pub(crate) fn require_empty(path: &Path) -> Result<()> {
    match fs::read_dir(path) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(Error::exists(format!("{}: expected a new or empty folder, found files in it", path.display()))),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Err(Error::exists(format!("{}: expected a new or empty folder, found a file", path.display())))
        }
        Err(error) => Err(Error::from(error).at(path.display())),
    }
}
