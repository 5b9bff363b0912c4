//! Open folders on Unix: each name is looked up in the folder that is open, so no link can lead elsewhere.

use std::{fs::File, io, os::fd::OwnedFd, path::Path};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags},
    io::Errno,
};

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
            Err(Errno::LOOP) => return Err(io::ErrorKind::NotFound.into()),
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

    /// Opens a file of another writer, to sync it.
    pub(super) fn open_to_sync(&self, name: &str) -> io::Result<File> {
        // A file may be a link. `NONBLOCK`, because opening a pipe would wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.0, name, flags, Mode::empty())?.into())
    }

    /// Whether nothing is in this folder.
    pub(super) fn is_empty(&self) -> io::Result<bool> {
        for entry in Dir::read_from(&self.0)? {
            if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Gives a file a second name, which must be free. Where the file system has no hard links, the file loses its first name: returns
    /// whether it did.
    pub(super) fn link(&self, name: &str, second: &str) -> io::Result<bool> {
        match rustix::fs::linkat(&self.0, name, &self.0, second, AtFlags::empty()) {
            Err(error) if [Errno::PERM, Errno::OPNOTSUPP, Errno::NOTSUP, Errno::NOSYS].contains(&error) => {
                self.move_to(name, second).map(|()| true)
            }
            linked => Ok(linked.map(|()| false)?),
        }
    }

    /// Gives a file another name, which must be free.
    #[cfg(target_os = "linux")]
    fn move_to(&self, name: &str, second: &str) -> io::Result<()> {
        match rustix::fs::renameat_with(&self.0, name, &self.0, second, rustix::fs::RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Err(without_links()),
            moved => Ok(moved?),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn move_to(&self, _: &str, _: &str) -> io::Result<()> {
        Err(without_links())
    }

    /// Gives a file the name of another one, which loses it.
    pub(super) fn rename(&self, name: &str, second: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.0, name, &self.0, second)?)
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

/// The file system cannot give a file a name only if the name is free.
fn without_links() -> io::Error {
    io::Error::new(
        io::ErrorKind::Unsupported,
        "this file system has neither hard links nor renames that never replace a file, so two writers could overwrite each other",
    )
}

fn kind_of(kind: FileType) -> Kind {
    match kind {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn without_hard_links_a_file_is_moved_and_never_replaces_another() {
        let place = tempfile::tempdir().expect("done");
        let folder = Folder::root(place.path()).expect("done");
        for (name, content) in [("a#1", "one"), ("a#2", "two")] {
            std::fs::write(place.path().join(name), content).expect("done");
        }
        folder.move_to("a#1", "a").expect("done");
        assert_eq!(folder.move_to("a#2", "a").expect_err("a file has the name").kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(place.path().join("a")).expect("done"), b"one");
        assert!(!place.path().join("a#1").exists() && place.path().join("a#2").exists());
    }
}
