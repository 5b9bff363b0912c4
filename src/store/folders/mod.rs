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

use std::{
    fs,
    fs::File,
    io::{self, Write},
    path::Path,
};

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
    testing::DiskStep,
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
    /// - `Unsupported`: the file system can neither link nor rename without replacing.
    /// - `Invalid`, `Unavailable`: the name is no name of an object, or the file system fails; and the errors of `write`.
    pub(super) fn put(&self, name: &str, write: impl FnOnce(&mut File) -> Result<()>) -> Result<Put> {
        self.publish(name, write, false)
    }

    /// Replaces an object by one with other content, or writes it if it does not exist. Whenever the process or the machine stops, there
    /// is the one or the other.
    ///
    /// # Errors
    /// - As for [`LocalFiles::put`].
    pub(super) fn replace(&self, name: &str, content: &[u8]) -> Result<()> {
        let disk = |error: io::Error| failure::disk(&error, Doing::Writing, name, self.url());
        self.publish(name, |file| file.write_all(content).map_err(disk), true)?;
        self.forget(name);
        Ok(())
    }

    /// Writes a file under a name that no reader takes, syncs it, and gives it its own name.
    fn publish(&self, name: &str, write: impl FnOnce(&mut File) -> Result<()>, replaces: bool) -> Result<Put> {
        name::check(name)?;
        let closed = |closed: Closed| self.closed(closed, Doing::Writing, name);
        let disk = |error: io::Error| failure::disk(&error, Doing::Writing, name, self.url());
        let published = |error: io::Error| failure::disk_publishing(&error, name, self.url());
        let (place, last) = placed(name);
        let begin = || -> Result<(Folder, File, String), Closed> {
            let folder = self.made(&place)?;
            let (file, begun) = self.stage(&folder, &place, last)?;
            Ok((folder, file, begun))
        };
        let mut tries = 0;
        let (folder, mut file, begun) = loop {
            match begin() {
                // There is no root yet, or another process removed a folder of a session while it was empty.
                Err(Closed::Failed(error)) if error.kind() == io::ErrorKind::NotFound && tries < TRIES => {
                    tries += 1;
                    self.make_root().map_err(disk)?;
                }
                done => break done.map_err(closed)?,
            }
        };
        let written = write(&mut file).and_then(|()| self.sync_file(&mut file, &below(&place, &begun)).map_err(disk));
        drop(file);
        let mut is_moved = false;
        let done = written.and_then(|()| {
            let named = match replaces {
                true => self.rename(&folder, &place, &begun, last).map(|()| true),
                false => self.link(&folder, &place, &begun, last),
            };
            match named {
                Ok(moved) => {
                    is_moved = moved;
                    self.sync_folder(&folder, &place).map_err(published).map(|()| Put::Created)
                }
                Err(error) if replaces => Err(disk(error)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Put::AlreadyThere),
                Err(error) => Err(published(error)),
            }
        });
        // Another writer may have a file of the first name again. A file that stays is swept by garbage collection.
        if !is_moved {
            let _ = self.remove_in(&folder, &place, &begun);
        }
        done
    }

    /// Syncs an object of another writer, who may have been killed before: its bytes and its name. Its folder has something, so the name of
    /// that is on the disk ([`LocalFiles::made`]).
    ///
    /// # Errors
    /// - `NotFound`: there is no such object.
    /// - `OutcomeUnknown`: the object is visible and may not be durable.
    /// - `Denied`: a folder of the name is a link.
    pub(super) fn sync(&self, name: &str) -> Result<()> {
        let (place, last) = placed(name);
        let synced = || -> Result<(), Closed> {
            let folder = self.below(place.split('/'))?;
            let mut file = folder.open_to_sync(last)?;
            self.sync_file(&mut file, name)?;
            Ok(self.sync_folder(&folder, &place)?)
        };
        synced().map_err(|why| match why {
            Closed::Failed(error) if error.kind() != io::ErrorKind::NotFound => {
                Error::outcome_unknown(format!("writing {name} in {}: it exists but cannot be synced: {error}", self.url()))
            }
            why => self.closed(why, Doing::Writing, name),
        })
    }

    /// Syncs the names in a folder. A folder that does not exist needs no sync.
    ///
    /// # Errors
    /// - `Denied`: a folder is a link, or the file system refuses.
    /// - `Unavailable`: the file system fails.
    pub(super) fn settle(&self, place: &str) -> Result<()> {
        let settled = || -> Result<(), Closed> { Ok(self.sync_folder(&self.below(place.split('/'))?, place)?) };
        match settled() {
            Err(Closed::Failed(error)) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            settled => settled.map_err(|why| self.closed(why, Doing::Deleting, place)),
        }
    }

    /// Deletes a file: an object or, if `is_unfinished`, a file that a killed writer left. A file that does not exist is no error.
    ///
    /// # Errors
    /// - `Denied`: a folder of the name is a link, or the file system refuses.
    /// - `Unavailable`: the file system fails.
    pub(super) fn remove(&self, name: &str) -> Result<()> {
        let (folders, last) = split(name);
        let removed =
            self.below(folders).and_then(|folder| Ok(self.act(|at| DiskStep::Remove(at(name)), || folder.remove_file(last))?));
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
                let _ = self.act(|at| DiskStep::RemoveFolder(at(&below(folder, &part))), || opened.remove_folder(&part));
            }
        }
        let _ = self.act(|at| DiskStep::RemoveFolder(at(folder)), || above.remove_folder(last));
    }

    /// Does a step, and records it if there is a journal.
    fn act<T>(
        &self,
        step: impl FnOnce(&dyn Fn(&str) -> String) -> DiskStep,
        act: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        match &self.journal {
            Some(journal) => journal.act(step, act),
            None => act(),
        }
    }

    /// Syncs the content of a file.
    fn sync_file(&self, file: &mut File, name: &str) -> io::Result<()> {
        if let Some(journal) = &self.journal {
            journal.wrote(name, file)?;
        }
        self.act(|at| DiskStep::SyncFile(at(name)), || file.sync_all())
    }

    fn sync_folder(&self, folder: &Folder, place: &str) -> io::Result<()> {
        self.act(|at| DiskStep::SyncFolder(at(place)), || folder.sync())
    }

    /// Gives a file in a folder its own name, which must be free. Returns whether it has lost its first name.
    fn link(&self, folder: &Folder, place: &str, begun: &str, last: &str) -> io::Result<bool> {
        let step = |at: &dyn Fn(&str) -> String| DiskStep::Link { from: at(&below(place, begun)), to: at(&below(place, last)) };
        self.act(step, || folder.link(begun, last))
    }

    /// Gives a file in a folder the name of another one, which loses it.
    fn rename(&self, folder: &Folder, place: &str, begun: &str, last: &str) -> io::Result<()> {
        let step = |at: &dyn Fn(&str) -> String| DiskStep::Rename { from: at(&below(place, begun)), to: at(&below(place, last)) };
        self.act(step, || folder.rename(begun, last))
    }

    fn remove_in(&self, folder: &Folder, place: &str, last: &str) -> io::Result<()> {
        self.act(|at| DiskStep::Remove(at(&below(place, last))), || folder.remove_file(last))
    }

    /// Creates a new file whose name is `last`, `#` and a number. Returns it with its name.
    fn stage(&self, folder: &Folder, place: &str, last: &str) -> io::Result<(File, String)> {
        let mut number = 1_u64;
        loop {
            let name = format!("{last}#{number}");
            match self.act(|at| DiskStep::Create(at(&below(place, &name))), || folder.create(&name)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                created => return created.map(|file| (file, name)),
            }
        }
    }

    /// Opens the folder of this name, and makes it and those above it where they are missing.
    ///
    /// A writer syncs the folder above before it puts anything into a folder. So the name of a folder with entries is on the disk. An
    /// empty folder may be that of a process that was killed before this sync: then the folder above is synced here.
    fn made(&self, place: &str) -> Result<Folder, Closed> {
        let (mut folder, mut at) = (Folder::root(self.root())?, String::new());
        if folder.is_empty()? {
            self.root().ancestors().try_for_each(|folder| self.sync_above(folder))?;
        }
        for part in place.split('/').filter(|part| !part.is_empty()) {
            let above = at.clone();
            let (next, is_new) = match enter(&folder, part, &mut at) {
                Err(Closed::Failed(error)) if error.kind() == io::ErrorKind::NotFound => {
                    let step = |below: &dyn Fn(&str) -> String| DiskStep::MakeFolder(below(&at));
                    match self.act(step, || folder.make(part)) {
                        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
                        _ => (enter(&folder, part, &mut above.clone())?, true),
                    }
                }
                entered => (entered?, false),
            };
            if is_new || next.is_empty()? {
                self.sync_folder(&folder, &above)?;
            }
            folder = next;
        }
        Ok(folder)
    }

    /// Creates the root and the folders above it that do not exist. They are synced when something is put there.
    fn make_root(&self) -> io::Result<()> {
        let missing: Vec<&Path> = self.root().ancestors().take_while(|folder| !folder.is_dir()).collect();
        missing.into_iter().rev().try_for_each(|folder| {
            let make = || match fs::create_dir(folder) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                made => made,
            };
            self.act_at(folder, DiskStep::MakeFolder, make)
        })
    }

    /// Syncs the names in the folder above a folder. Where it cannot be synced, because it belongs to others or is on a file system that
    /// does not sync folders, it is left as it is.
    fn sync_above(&self, folder: &Path) -> io::Result<()> {
        use io::ErrorKind::{InvalidInput, PermissionDenied, ReadOnlyFilesystem, Unsupported};
        let Some(above) = folder.parent().filter(|_| cfg!(unix)) else { return Ok(()) };
        match self.act_at(above, DiskStep::SyncFolder, || File::open(above)?.sync_all()) {
            Err(error) if matches!(error.kind(), InvalidInput | PermissionDenied | ReadOnlyFilesystem | Unsupported) => Ok(()),
            synced => synced,
        }
    }

    /// Does a step with a folder above the root, and records it if there is a journal.
    fn act_at<T>(
        &self,
        path: &Path,
        step: impl FnOnce(String) -> DiskStep,
        act: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        match self.journal.as_ref().and_then(|journal| journal.name_of(path)) {
            Some(name) => self.act(|_| step(name), act),
            None => act(),
        }
    }

    /// Opens the folder below the root to which these names lead.
    fn below<'a>(&self, folders: impl Iterator<Item = &'a str>) -> Result<Folder, Closed> {
        let (mut folder, mut place) = (Folder::root(self.root())?, String::new());
        for part in folders.filter(|part| !part.is_empty()) {
            folder = enter(&folder, part, &mut place)?;
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

/// Returns the folder in which a name lies, and its last part.
fn placed(name: &str) -> (String, &str) {
    let (folders, last) = split(name);
    (folders.collect::<Vec<_>>().join("/"), last)
}

/// Returns the folders of a name, and its last part.
fn split(name: &str) -> (impl Iterator<Item = &str>, &str) {
    let (folders, last) = name.rsplit_once('/').unwrap_or(("", name));
    (folders.split('/').filter(|part| !part.is_empty()), last)
}

/// Opens a folder in `folder`. `place` is the name of `folder` below the root, and becomes that of the opened one.
fn enter(folder: &Folder, part: &str, place: &mut String) -> Result<Folder, Closed> {
    *place = below(place, part);
    folder.folder(part).map_err(|error| match is_link(folder, part) {
        true => Closed::Link(place.clone()),
        false => Closed::Failed(error),
    })
}

/// Returns the name below the root of what lies in a folder.
fn below(place: &str, part: &str) -> String {
    if place.is_empty() { part.to_owned() } else { format!("{place}/{part}") }
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
        let name = below(place, &part);
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
