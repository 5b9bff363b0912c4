//! Open folders on Unix: each name is looked up in the folder that is open, so no link can lead elsewhere.

use std::{fs::File, io, os::fd::OwnedFd, path::Path};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

use super::kind::{Kind, Target};

/// An open folder.
pub(super) struct Folder(OwnedFd);

impl Folder {
    /// Opens the root of a store, which may be a link.
    pub(super) fn root(path: &Path) -> io::Result<Self> {
        Ok(Self(rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?))
    }

    /// Opens a folder in this one; fails if it is a link.
    pub(super) fn folder(&self, name: &str) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::openat(&self.0, name, flags, Mode::empty())?))
    }

    /// Creates a folder in this one.
    pub(super) fn make(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.0, name, Mode::from_raw_mode(0o777))?)
    }

    /// Returns the names in this folder, in no order. Names that are not UTF-8 are left out: no object has one.
    pub(super) fn entries(&self) -> io::Result<Vec<(String, Kind)>> {
        let mut found = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            if matches!(name, "." | "..") {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => match self.kind(name) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    kind => kind?,
                },
                known => kind_of(known),
            };
            found.push((name.to_owned(), kind));
        }
        Ok(found)
    }

    /// Returns what a name in this folder is.
    pub(super) fn kind(&self, name: &str) -> io::Result<Kind> {
        let found = rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(kind_of(FileType::from_raw_mode(found.st_mode)))
    }

    /// Returns what a name in this folder leads to, behind links if `follow`. A link to itself leads to nothing.
    #[allow(clippy::useless_conversion, clippy::allow_attributes, reason = "the types of these numbers differ between systems")]
    pub(super) fn target(&self, name: &str, follow: bool) -> io::Result<Target> {
        let flags = if follow { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
        let found = match rustix::fs::statat(&self.0, name, flags) {
            Err(rustix::io::Errno::LOOP) => return Err(io::ErrorKind::NotFound.into()),
            found => found?,
        };
        let seconds = i64::try_from(found.st_mtime).unwrap_or(i64::MAX);
        let millis = i64::try_from(found.st_mtime_nsec).unwrap_or(0) / 1_000_000;
        Ok(Target {
            kind: kind_of(FileType::from_raw_mode(found.st_mode)),
            bytes: u64::try_from(found.st_size).unwrap_or(0),
            modified_ms: seconds.saturating_mul(1000).saturating_add(millis),
        })
    }

    /// Creates a file that does not exist.
    pub(super) fn create(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.0, name, flags, Mode::from_raw_mode(0o666))?.into())
    }

    /// Gives a file a second name, which must be free.
    pub(super) fn link(&self, name: &str, second: &str) -> io::Result<()> {
        Ok(rustix::fs::linkat(&self.0, name, &self.0, second, AtFlags::empty())?)
    }

    /// Removes a file, or a link.
    pub(super) fn remove_file(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Removes an empty folder.
    pub(super) fn remove_folder(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }

    /// Syncs the names in this folder.
    pub(super) fn sync(&self) -> io::Result<()> {
        File::from(self.0.try_clone()?).sync_all()
    }
}

fn kind_of(kind: FileType) -> Kind {
    match kind {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        _ => Kind::Other,
    }
}
