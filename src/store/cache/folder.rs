//! The folder of a cache: what makes it one, what lies in it, and what of it may be deleted.
//!
//! ```text
//! FOLDER/tetrys-cache-1      the mark; without it a folder that holds anything is left alone
//!        lock                held by whoever makes room
//!        leases/UUID-BYTES   held by each process that writes: so much more may it add
//!        new/UUID-NUMBER     entries being written, by the holder of that lease
//!        abc/KEY-FROM-TO     entries
//! ```
//!
//! Nothing is deleted but regular files with such names in real folders with such names: no link is followed, and files of
//! others stay.

use std::fs::{self, DirEntry, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use uuid::Uuid;

use super::entry;
use crate::{Error, Result};

const MARK: &str = "tetrys-cache-1";
const LOCK: &str = "lock";
pub(super) const LEASES: &str = "leases";
pub(super) const NEW: &str = "new";

/// What a cache on disk holds, or held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Entries.
    pub entries: u64,
    /// Bytes of them, each file rounded up to 4 KiB: what the bound is about.
    pub bytes: u64,
    /// Processes that write to it now.
    pub writers: u64,
}

/// An entry as a scan finds it.
pub(super) struct Held {
    pub(super) path: PathBuf,
    pub(super) used: SystemTime,
    pub(super) cost: u64,
}

/// Makes the folder where it is not there, and makes sure that it is a cache. Says why it cannot be one.
pub(super) fn prepare(path: &Path) -> std::result::Result<PathBuf, String> {
    let failed = |error: io::Error| error.to_string();
    make(path).map_err(failed)?;
    let folder = path.canonicalize().map_err(failed)?;
    // Whoever comes second sees the mark, since it is made before anything else.
    if !is_cache(&folder).map_err(failed)? {
        let mark = folder.join(MARK);
        match File::create_new(&mark) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
            _ if is_file(&mark) => {}
            _ => return Err(format!("{MARK} is there and is no file")),
        }
    }
    for inside in [LEASES, NEW] {
        make(&folder.join(inside)).map_err(failed)?;
        if !is_folder(&folder.join(inside)) {
            return Err(format!("{inside} is there and is no folder"));
        }
    }
    Ok(folder)
}

/// Whether the folder has the mark; an empty one has none yet.
fn is_cache(folder: &Path) -> io::Result<bool> {
    if is_file(&folder.join(MARK)) {
        return Ok(true);
    }
    let empty = fs::read_dir(folder)?.next().is_none();
    // Once more: another process may have made the mark in between.
    if empty || is_file(&folder.join(MARK)) {
        return Ok(!empty);
    }
    Err(io::Error::other(format!("it is not empty and has no file {MARK}, so it is something else than a cache")))
}

fn make(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    // What a store gave to one user is not for all.
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Makes the folder of a shard.
pub(super) fn make_shard(path: &Path) -> io::Result<()> {
    make(path)
}

/// A folder, and no link to one.
pub(super) fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// A regular file, and no link to one.
pub(super) fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
}

/// Deletes one of our files; one that is gone is fine.
pub(super) fn remove(path: &Path) -> bool {
    match is_file(path).then(|| fs::remove_file(path)) {
        Some(Err(error)) => error.kind() == io::ErrorKind::NotFound,
        Some(Ok(())) => true,
        None => fs::symlink_metadata(path).is_err(),
    }
}

/// Makes room for an entry where something else has its name: a link goes, what it leads to stays; a folder goes where it is
/// empty, and else aside, with what others keep in it. False where that does not work.
pub(super) fn clear_place(path: &Path) -> bool {
    let gone = |done: io::Result<()>| done.is_ok() || fs::symlink_metadata(path).is_err();
    match fs::symlink_metadata(path) {
        Err(_) => true,
        Ok(found) if found.is_symlink() => gone(fs::remove_file(path)),
        Ok(found) if found.is_dir() => {
            let aside = || path.with_file_name(format!("moved-{}", Uuid::new_v4()));
            gone(fs::remove_dir(path).or_else(|_| fs::rename(path, aside())))
        }
        Ok(_) => false,
    }
}

/// The entries of a real folder, and their names; nothing where it is not there.
pub(super) fn files(folder: &Path) -> impl Iterator<Item = (String, DirEntry)> + use<> {
    let listed = is_folder(folder).then(|| fs::read_dir(folder).ok()).flatten();
    listed.into_iter().flatten().flatten().filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry)))
}

/// Every entry of the cache.
pub(super) fn scan(folder: &Path) -> Vec<Held> {
    let shards = files(folder).filter(|(name, _)| entry::is_shard(name));
    let entries = shards.flat_map(|(_, shard)| files(&shard.path()));
    let held = entries.filter(|(name, _)| entry::parse_file(name).is_some()).filter_map(|(_, entry)| {
        // Of the entry itself: a link is none.
        let found = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        let used = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        Some(Held { path: entry.path(), used, cost: entry::cost(found.len()) })
    });
    held.collect()
}

/// Takes the lock under which room is made; `None` where somebody else has it all the time. A process that ends, however it
/// ends, lets go of it.
///
/// # Errors
/// Errors of the disk, also where it has no locks.
pub(super) fn lock(folder: &Path, patience: Duration) -> io::Result<Option<File>> {
    let path = folder.join(LOCK);
    if !is_file(&path) && fs::symlink_metadata(&path).is_ok() {
        return Err(io::Error::other(format!("{LOCK} is there and is no file")));
    }
    let file = File::options().create(true).truncate(false).write(true).open(path)?;
    let begin = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) if begin.elapsed() > patience => return Ok(None),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(10)),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// The bytes that living processes may still add, how many they are, and the leftovers of dead ones deleted. Under the lock.
pub(super) fn leased(folder: &Path) -> (u64, u64) {
    let (mut bytes, mut alive) = (0_u64, Vec::new());
    for (name, entry) in files(&folder.join(LEASES)) {
        let Some((id, granted)) = parse_lease(&name) else { continue };
        let path = entry.path();
        if !is_file(&path) {
            continue;
        }
        // Its holder keeps it locked as long as it lives.
        match File::options().write(true).open(&path).map(|file| file.try_lock()) {
            Ok(Ok(())) => {
                remove(&path);
            }
            _ => {
                bytes = bytes.saturating_add(granted);
                alive.push(id);
            }
        }
    }
    for (name, entry) in files(&folder.join(NEW)) {
        if parse_new(&name).is_some_and(|id| !alive.contains(&id)) {
            remove(&entry.path());
        }
    }
    (bytes, alive.len() as u64)
}

/// The name of a lease.
pub(super) fn lease_file(id: Uuid, bytes: u64) -> String {
    format!("{id}-{bytes}")
}

/// The name of an entry that is being written.
pub(super) fn new_file(id: Uuid, number: u64) -> String {
    format!("{id}-{number}")
}

fn parse_lease(name: &str) -> Option<(Uuid, u64)> {
    let (id, bytes) = name.rsplit_once('-')?;
    let id = Uuid::try_parse(id).ok().filter(|parsed| parsed.to_string() == id)?;
    Some((id, bytes.parse().ok()?))
}

fn parse_new(name: &str) -> Option<Uuid> {
    parse_lease(name).map(|(id, _)| id)
}

/// What a cache holds.
pub(super) fn stats(path: &Path) -> Result<CacheStats> {
    let Some(folder) = existing(path)? else { return Ok(CacheStats::default()) };
    let writers = files(&folder.join(LEASES)).filter(|(name, entry)| {
        let locked = |file: File| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        parse_lease(name).is_some() && is_file(&entry.path()) && File::open(entry.path()).is_ok_and(locked)
    });
    Ok(CacheStats { writers: writers.count() as u64, ..summed(&scan(&folder)) })
}

/// Deletes all entries; what they were.
pub(super) fn clear(path: &Path) -> Result<CacheStats> {
    const PATIENCE: Duration = Duration::from_secs(10);
    let failed = |error: io::Error| Error::from(error).at(format!("cache {}", path.display()));
    let Some(folder) = existing(path)? else { return Ok(CacheStats::default()) };
    let Some(_lock) = lock(&folder, PATIENCE).map_err(failed)? else {
        return Err(Error::unavailable(format!("cache {}: another process makes room in it; try again", path.display())));
    };
    let (_, writers) = leased(&folder);
    let mut held = scan(&folder);
    held.retain(|entry| remove(&entry.path));
    for (name, shard) in files(&folder) {
        // Only empty ones go.
        if entry::is_shard(&name) && is_folder(&shard.path()) {
            let _ = fs::remove_dir(shard.path());
        }
    }
    Ok(CacheStats { writers, ..summed(&held) })
}

fn summed(held: &[Held]) -> CacheStats {
    let bytes = held.iter().map(|entry| entry.cost).sum();
    CacheStats { entries: held.len() as u64, bytes, writers: 0 }
}

/// The folder if it is there and is a cache.
fn existing(path: &Path) -> Result<Option<PathBuf>> {
    let failed = |error: io::Error| Error::from(error).at(format!("cache {}", path.display()));
    let folder = match path.canonicalize() {
        Ok(folder) => folder,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    match is_cache(&folder) {
        Ok(is_one) => Ok(is_one.then_some(folder)),
        Err(error) => Err(Error::invalid(format!("cache {}: {error}", path.display()))),
    }
}
