//! Publishes a folder or a file atomically: the command fills it under a temporary name beside its target and renames it when it
//! is complete. A folder or a file that is dropped before that is removed, and so is one of a command that is interrupted.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use tetrys::{Error, Result};

use crate::interrupt::Staged;

/// A file that is not published yet.
#[derive(Debug)]
pub(crate) struct StagedFile {
    file: tempfile::NamedTempFile,
    _staged: Staged,
}

impl StagedFile {
    /// Creates a temporary file in the folder of `target`, with the permissions of any new file.
    ///
    /// # Errors
    /// Errors of the file system.
    pub(crate) fn new(target: &Path) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        // The umask of the process is applied to these permissions.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let (file, staged) = Staged::create(|| {
            let file = builder.tempfile_in(folder_above(target))?;
            let path = file.path().to_owned();
            Ok((file, path))
        })?;
        Ok(Self { file, _staged: staged })
    }

    /// Returns the temporary file to write into.
    pub(crate) fn file(&mut self) -> &mut fs::File {
        self.file.as_file_mut()
    }

    /// Renames the temporary file to `target`, once its content is on the disk.
    ///
    /// # Errors
    /// Errors of the file system, also if there is a file at `target` and it must not be replaced.
    pub(crate) fn publish(self, target: &Path, replace: bool) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        let published = if replace { self.file.persist(target) } else { self.file.persist_noclobber(target) };
        published.map(drop).map_err(|error| error.error)
    }
}

/// A folder for files that nobody needs after the command.
#[derive(Debug)]
pub(crate) struct TemporaryFolder {
    folder: tempfile::TempDir,
    staged: Staged,
}

impl TemporaryFolder {
    /// Creates a folder in the folder `above`; without one, in the temporary folder of the system.
    ///
    /// # Errors
    /// Errors of the file system.
    pub(crate) fn new(above: Option<&Path>) -> Result<Self> {
        let above = above.map_or_else(std::env::temp_dir, Path::to_owned);
        let created = Self::made(&tempfile::Builder::new(), &above);
        created.map_err(|error| Error::from(error).at(format!("a temporary folder in {}", above.display())))
    }

    fn made(name: &tempfile::Builder<'_, '_>, above: &Path) -> io::Result<Self> {
        let (folder, staged) = Staged::create(|| {
            let folder = name.tempdir_in(above)?;
            let path = folder.path().to_owned();
            Ok((folder, path))
        })?;
        Ok(Self { folder, staged })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// A folder that is not published yet.
#[derive(Debug)]
pub(crate) struct Staging {
    folder: TemporaryFolder,
    target: PathBuf,
}

impl Staging {
    /// Creates the temporary folder for `target`, which must be missing or empty.
    ///
    /// # Errors
    /// - `Exists`: `target` is a file or a folder with files.
    /// - `Invalid`: `target` has no file name.
    /// - Errors of the file system.
    pub(crate) fn new(target: &Path) -> Result<Self> {
        require_empty(target)?;
        let name = target.file_name();
        let name = name.ok_or_else(|| Error::invalid(format!("{}: expected the name of a new folder", target.display())))?;
        let prefix = format!(".{}.", name.to_string_lossy());
        let folder = TemporaryFolder::made(tempfile::Builder::new().prefix(&prefix).suffix(".tmp"), folder_above(target));
        let folder = folder.map_err(|error| Error::from(error).at(target.display()))?;
        Ok(Self { folder, target: target.to_owned() })
    }

    /// Returns the temporary folder to write into.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Renames the temporary folder to its target.
    ///
    /// # Errors
    /// - `Exists`: something appeared at the target in the meantime.
    /// - Errors of the file system.
    pub(crate) fn publish(self) -> Result<()> {
        require_empty(&self.target)?;
        // Some systems cannot rename over an empty folder.
        if self.target.is_dir() {
            fs::remove_dir(&self.target).map_err(|error| Error::from(error).at(self.target.display()))?;
        }
        let renamed = self.folder.staged.publishing(|| fs::rename(self.folder(), &self.target));
        renamed.map_err(|error| Error::from(error).at(self.target.display()))?;
        // There is nothing left to remove at its old name.
        let _ = self.folder.folder.keep();
        Ok(())
    }
}

/// Returns the folder of a file or folder.
fn folder_above(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Lets `write` make the new folder `target`, which it publishes itself, inside of a temporary folder. So an interrupt removes also
/// what `write` stages.
///
/// # Errors
/// - `Exists`: something is at `target`.
/// - `Invalid`: `target` has no file name.
/// - Errors of the file system, and those of `write`.
pub(crate) async fn folder_of(target: &Path, write: impl AsyncFnOnce(&Path) -> Result<()>) -> Result<()> {
    if target.symlink_metadata().is_ok() {
        return Err(Error::exists(format!("{}: expected a new folder, found something there", target.display())));
    }
    let staging = Staging::new(target)?;
    let made = staging.folder().join("new");
    write(&made).await?;
    staging.folder.staged.publishing(|| fs::rename(&made, target)).map_err(|error| Error::from(error).at(target.display()))
}

/// Checks that `path` is missing or an empty folder.
///
/// # Errors
/// - `Exists`: `path` is a file or a folder with files.
/// - Errors of the file system.
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
