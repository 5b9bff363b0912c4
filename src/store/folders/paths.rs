//! Folders by their paths, on systems where a folder cannot be opened: each folder is looked at before it is used.

use std::{
    fs::{self, File, Metadata},
    io,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use super::kind::{Kind, Target};

/// A folder that is no link.
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Opens the root of a store, which may be a link.
    pub(super) fn root(path: &Path) -> io::Result<Self> {
        match fs::metadata(path)?.is_dir() {
            true => Ok(Self(path.to_owned())),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// Opens a folder in this one; fails if it is a link.
    pub(super) fn folder(&self, name: &str) -> io::Result<Self> {
        match self.kind(name)? {
            Kind::Folder => Ok(Self(self.0.join(name))),
            _ => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// Creates a folder in this one.
    pub(super) fn make(&self, name: &str) -> io::Result<()> {
        fs::create_dir(self.0.join(name))
    }

    /// Returns the names in this folder, in no order. Names that are not Unicode are left out: no object has one.
    pub(super) fn entries(&self) -> io::Result<Vec<(String, Kind)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let entry = entry?;
            if let Ok(name) = entry.file_name().into_string() {
                match self.kind(&name) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    kind => found.push((name, kind?)),
                }
            }
        }
        Ok(found)
    }

    /// Returns what a name in this folder is.
    pub(super) fn kind(&self, name: &str) -> io::Result<Kind> {
        Ok(kind_of(&fs::symlink_metadata(self.0.join(name))?))
    }

    /// Returns what a name in this folder leads to, behind links if `follow`.
    pub(super) fn target(&self, name: &str, follow: bool) -> io::Result<Target> {
        let path = self.0.join(name);
        let found = if follow { fs::metadata(path)? } else { fs::symlink_metadata(path)? };
        let since = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        let modified_ms = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        Ok(Target { kind: kind_of(&found), bytes: found.len(), modified_ms })
    }

    /// Creates a file that does not exist.
    pub(super) fn create(&self, name: &str) -> io::Result<File> {
        File::options().read(true).write(true).create_new(true).open(self.0.join(name))
    }

    /// Opens a file of another writer, to sync it: Windows syncs only what may be written.
    pub(super) fn open_to_sync(&self, name: &str) -> io::Result<File> {
        File::options().read(true).write(true).open(self.0.join(name))
    }

    /// Whether nothing is in this folder.
    pub(super) fn is_empty(&self) -> io::Result<bool> {
        Ok(fs::read_dir(&self.0)?.next().is_none())
    }

    /// Gives a file the name of another one, which loses it.
    pub(super) fn rename(&self, name: &str, second: &str) -> io::Result<()> {
        fs::rename(self.0.join(name), self.0.join(second))
    }

    /// Gives a file a second name, which must be free. Returns whether it has lost its first name: never.
    pub(super) fn link(&self, name: &str, second: &str) -> io::Result<bool> {
        fs::hard_link(self.0.join(name), self.0.join(second)).map(|()| false)
    }

    /// Removes a file, or a link to one.
    pub(super) fn remove_file(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.0.join(name))
    }

    /// Removes an empty folder.
    pub(super) fn remove_folder(&self, name: &str) -> io::Result<()> {
        fs::remove_dir(self.0.join(name))
    }

    /// Such systems cannot sync the names in a folder.
    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

fn kind_of(found: &Metadata) -> Kind {
    match () {
        () if found.is_symlink() => Kind::Link,
        () if found.is_dir() => Kind::Folder,
        () if found.is_file() => Kind::File,
        () => Kind::Other,
    }
}
