//! Lists, writes and deletes the files below the root of a local store. Each folder is opened by its name in the folder above, and
//! never through a link: a folder `chunks` that is a link to another place would let garbage collection delete the files there, and
//! writers write there. The root itself may be a link, and so may a file.
//!
//! An object is written to a name that ends in `#` and a number, synced, linked to its own name, and its folder is synced. Follows
//! `format-spec/manifest.md#commit`.

mod kind;
#[cfg(not(unix))]
mod paths;
#[cfg(unix)]
mod unix;

use std::{fs, fs::File, io, path::Path};

use self::kind::{Kind, Target};
#[cfg(not(unix))]
use self::paths::Folder;
#[cfg(unix)]
use self::unix::Folder;
use super::{
    failure::{self, Doing},
    inner::Put,
    local::{LocalFiles, is_unfinished},
    name,
    remote::listing::Listed,
};
use crate::{Error, Result};

/// The longest name that is listed, in bytes: it also bounds the depth of folders.
const LONGEST: usize = 4096;

/// Why a folder was not opened.
enum Closed {
    /// The folder of this name is a link.
    Link(String),
    Failed(io::Error),
}

impl From<io::Error> for Closed {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// How often a write makes the folders of its name while another process removes them.
const TRIES: usize = 100;

/// What to do with a link to a folder in a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Links {
    Refuse,
    Skip,
}

impl LocalFiles {
    /// Writes an object if no file has its name. `write` writes the content.
    ///
    /// # Errors
    /// - `Denied`: a folder of the name is a link, or the file system refuses.
    /// - `OutcomeUnknown`: the object may be visible without being durable.
    /// - `Invalid`, `Unavailable`: the name is no name of an object, or the file system fails; and the errors of `write`.
    pub(super) fn put(&self, name: &str, write: impl FnOnce(&mut File) -> Result<()>) -> Result<Put> {
        name::check(name)?;
        let closed = |closed: Closed| self.closed(closed, Doing::Writing, name);
        let disk = |error: io::Error| failure::disk(&error, Doing::Writing, name, self.url());
        let published = |error: io::Error| failure::disk_publishing(&error, name, self.url());
        let (_, last) = split(name);
        let begin = || -> Result<(Folder, File, String), Closed> {
            let (mut folder, mut place) = (Folder::root(self.root())?, String::new());
            for part in split(name).0 {
                folder = enter(&folder, part, &mut place, true)?;
            }
            let (file, begun) = stage(&folder, last)?;
            Ok((folder, file, begun))
        };
        let mut tries = 0;
        let (folder, mut file, begun) = loop {
            match begin() {
                // There is no root yet, or another process removed a folder of a session while it was empty.
                Err(Closed::Failed(error)) if error.kind() == io::ErrorKind::NotFound && tries < TRIES => {
                    tries += 1;
                    make_root(self.root()).map_err(disk)?;
                }
                done => break done.map_err(closed)?,
            }
        };
        let written = write(&mut file).and_then(|()| file.sync_all().map_err(disk));
        drop(file);
        let done = written.and_then(|()| match folder.link(&begun, last) {
            Ok(()) => folder.sync().map_err(published).map(|()| Put::Created),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Put::AlreadyThere),
            Err(error) => Err(published(error)),
        });
        // A file that stays is swept by garbage collection.
        let _ = folder.remove_file(&begun);
        done
    }

    /// Deletes a file: an object or, if `is_unfinished`, a file that a killed writer left. A file that does not exist is no error.
    ///
    /// # Errors
    /// - `Denied`: a folder of the name is a link, or the file system refuses.
    /// - `Unavailable`: the file system fails.
    pub(super) fn remove(&self, name: &str) -> Result<()> {
        let (folders, last) = split(name);
        let removed = self.below(folders).and_then(|folder| Ok(folder.remove_file(last)?));
        self.forget(name);
        match removed {
            Err(Closed::Failed(error)) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(|why| self.closed(why, Doing::Deleting, name)),
        }
    }

    /// Lists all objects in and below a folder, in no order. A folder that does not exist is an empty folder. In the root (`""`),
    /// folders that are links are skipped.
    ///
    /// # Errors
    /// - `Denied`: a folder is a link, or the file system refuses.
    /// - `Unavailable`: the file system fails.
    pub(super) fn list(&self, folder: &str) -> Result<Vec<Listed>> {
        self.found(folder, |name| !is_unfinished(name))
    }

    /// Lists the unfinished files in and below a folder, in no order. In the root (`""`), folders that are links are skipped.
    ///
    /// # Errors
    /// - `Denied`: a folder is a link, or the file system refuses.
    /// - `Unavailable`: the file system fails.
    pub(super) fn unfinished(&self, folder: &str) -> Result<Vec<Listed>> {
        self.found(folder, is_unfinished)
    }

    /// Returns the names of the objects directly in a folder, in no order. A folder that does not exist is an empty folder.
    pub(super) fn names_in(&self, folder: &str) -> Result<Vec<String>> {
        let names = || -> Result<Vec<String>, Closed> {
            let opened = self.below(folder.split('/'))?;
            let mut names = Vec::new();
            for (part, kind) in opened.entries()? {
                // A regular file needs no look: sizes and times of 10,000 files would take most of the time.
                let leads_to_file = || -> io::Result<bool> {
                    let target = target(&opened, &part, kind)?;
                    Ok(target.is_some_and(|target| target.kind == Kind::File))
                };
                if !is_unfinished(&part) && (kind == Kind::File || (kind == Kind::Link && leads_to_file()?)) {
                    names.push(format!("{folder}/{part}"));
                }
            }
            Ok(names)
        };
        match names() {
            Err(Closed::Failed(error)) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            names => names.map_err(|why| self.closed(why, Doing::Listing, folder)),
        }
    }

    /// Returns the names directly in the root, in no order. Those of folders end in `/`. A root that does not exist has none.
    pub(super) fn names_at_root(&self) -> Result<Vec<String>> {
        let found = Folder::root(self.root()).and_then(|root| root.entries());
        let name = |(name, kind): (String, Kind)| if kind == Kind::Folder { format!("{name}/") } else { name };
        match found {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            found => found
                .map(|found| found.into_iter().map(name).collect())
                .map_err(|error| failure::disk(&error, Doing::Listing, "", self.url())),
        }
    }

    /// Removes the folders directly in `folder` that are empty and whose names are `ours`, and then `folder` if it is empty.
    /// Failures are ignored. A concurrent writer that needs a folder makes it again.
    pub(super) fn remove_empty(&self, folder: &str, ours: impl Fn(&str) -> bool) {
        let (above, last) = split(folder);
        let Ok(above) = self.below(above) else { return };
        let Ok(opened) = above.folder(last) else { return };
        for (part, kind) in opened.entries().unwrap_or_default() {
            if kind == Kind::Folder && ours(&part) {
                // Fails if the folder is not empty.
                let _ = opened.remove_folder(&part);
            }
        }
        let _ = above.remove_folder(last);
    }

    /// Opens the folder below the root to which these names lead.
    fn below<'a>(&self, folders: impl Iterator<Item = &'a str>) -> Result<Folder, Closed> {
        let (mut folder, mut place) = (Folder::root(self.root())?, String::new());
        for part in folders.filter(|part| !part.is_empty()) {
            folder = enter(&folder, part, &mut place, false)?;
        }
        Ok(folder)
    }

    /// Lists the wanted files in and below a folder, in no order.
    fn found(&self, folder: &str, wanted: impl Fn(&str) -> bool) -> Result<Vec<Listed>> {
        let folder = folder.trim_end_matches('/');
        let links = if folder.is_empty() { Links::Skip } else { Links::Refuse };
        let mut found = Vec::new();
        let walked = match self.below(folder.split('/')) {
            Ok(opened) => walk(&opened, folder, links, &wanted, &mut found),
            Err(Closed::Failed(error)) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(())
            }
            Err(closed) => Err(closed),
        };
        walked.map(|()| found).map_err(|why| self.closed(why, Doing::Listing, folder))
    }

    fn closed(&self, closed: Closed, doing: Doing, name: &str) -> Error {
        match closed {
            Closed::Failed(error) => failure::disk(&error, doing, name, self.url()),
            Closed::Link(folder) => failure::linked_folder(&folder, doing, name, self.url()),
        }
    }
}

/// Returns the folders of a name, and its last part.
fn split(name: &str) -> (impl Iterator<Item = &str>, &str) {
    let (folders, last) = name.rsplit_once('/').unwrap_or(("", name));
    (folders.split('/').filter(|part| !part.is_empty()), last)
}

/// Opens a folder in `folder`, and creates it if it does not exist and `make` is set. `place` is the name of `folder` below the
/// root, and becomes that of the opened one.
fn enter(folder: &Folder, part: &str, place: &mut String, make: bool) -> Result<Folder, Closed> {
    if !place.is_empty() {
        place.push('/');
    }
    place.push_str(part);
    let opened = match folder.folder(part) {
        Err(error) if make && error.kind() == io::ErrorKind::NotFound => {
            match folder.make(part) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
                _ => folder.sync()?,
            }
            folder.folder(part)
        }
        opened => opened,
    };
    opened.map_err(|error| match is_link(folder, part) {
        true => Closed::Link(place.clone()),
        false => Closed::Failed(error),
    })
}

fn is_link(folder: &Folder, part: &str) -> bool {
    folder.kind(part).is_ok_and(|kind| kind == Kind::Link)
}

/// Returns what a name leads to; `None` if the file was deleted in the meantime, or is a link to nothing or to itself.
fn target(folder: &Folder, part: &str, kind: Kind) -> io::Result<Option<Target>> {
    match folder.target(part, kind == Kind::Link) {
        Ok(target) => Ok(Some(target)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Adds the wanted files in and below a folder, whose name below the root is `place`.
fn walk(
    folder: &Folder,
    place: &str,
    links: Links,
    wanted: &impl Fn(&str) -> bool,
    found: &mut Vec<Listed>,
) -> Result<(), Closed> {
    let entries = match folder.entries() {
        // Deleted in the meantime.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for (part, kind) in entries {
        let name = if place.is_empty() { part.clone() } else { format!("{place}/{part}") };
        if kind == Kind::Folder {
            match folder.folder(&part) {
                Ok(below) if name.len() < LONGEST => walk(&below, &name, links, wanted, found)?,
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
            continue;
        }
        if kind == Kind::Other || (kind == Kind::File && !wanted(&name)) {
            continue;
        }
        match target(folder, &part, kind)? {
            Some(Target { kind: Kind::File, bytes, modified_ms }) if wanted(&name) => {
                found.push(Listed::new(name, bytes, modified_ms));
            }
            Some(Target { kind: Kind::Folder, .. }) if links == Links::Refuse => return Err(Closed::Link(name)),
            _ => {}
        }
    }
    Ok(())
}

/// Creates a new file whose name is `last`, `#` and a number. Returns it with its name.
fn stage(folder: &Folder, last: &str) -> io::Result<(File, String)> {
    let mut number = 1_u64;
    loop {
        let name = format!("{last}#{number}");
        match folder.create(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            created => return created.map(|file| (file, name)),
        }
    }
}

/// Creates the root and the folders above it that do not exist, and syncs each folder that gained an entry.
fn make_root(root: &Path) -> io::Result<()> {
    if root.is_dir() {
        return Ok(());
    }
    let missing: Vec<&Path> = root.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists()).collect();
    fs::create_dir_all(root)?;
    for folder in missing {
        if let Some(above) = folder.parent().filter(|_| cfg!(unix)) {
            File::open(above)?.sync_all()?;
        }
    }
    Ok(())
}
