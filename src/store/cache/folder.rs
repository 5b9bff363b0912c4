//! The folder of a cache: its layout, and which files may be deleted.
//!
//! ```text
//! FOLDER/tetrys-cache-1      the mark; a folder with files but without the mark is not a cache
//!        lock                held while a process makes room
//!        leases/UUID-BYTES   locked by each writing process: the bytes that it may still add
//!        new/UUID-NUMBER     entries being written by the holder of that lease
//!        abc/KEY-FROM-TO     entries
//! ```
//!
//! Only regular files with such names in real folders with such names are deleted. Links are never followed, and other
//! files stay.

use std::fs::{self, DirEntry, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use uuid::Uuid;

use super::entry;
use crate::{Error, Result, machine, store::failure};

const MARK: &str = "tetrys-cache-1";
const LOCK: &str = "lock";
pub(super) const LEASES: &str = "leases";
pub(super) const NEW: &str = "new";

/// The content of a cache on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStats {
    /// Number of entries.
    pub entries: u64,
    /// Bytes of the entries, each file rounded up to 4 KiB. The bound of the cache limits this number.
    pub bytes: u64,
    /// Number of processes that write to the cache now.
    pub writers: u64,
}

/// An entry found by a scan.
pub(super) struct CacheFile {
    pub(super) path: PathBuf,
    pub(super) used: SystemTime,
    pub(super) cost: u64,
}

/// Creates the folder if it does not exist, and checks that it is a cache. The error says why the folder cannot be a cache.
pub(super) fn prepare(path: &Path) -> std::result::Result<PathBuf, String> {
    let failed = |error: io::Error| error.to_string();
    make(path).map_err(failed)?;
    let folder = path.canonicalize().map_err(failed)?;
    // The mark is created before anything else, so a concurrent process sees it.
    if !is_cache(&folder).map_err(failed)? {
        let mark = folder.join(MARK);
        match File::create_new(&mark) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
            _ if is_file(&mark) => {}
            _ => return Err(format!("{MARK} exists and is not a file")),
        }
    }
    for inside in [LEASES, NEW] {
        make(&folder.join(inside)).map_err(failed)?;
        if !is_folder(&folder.join(inside)) {
            return Err(format!("{inside} exists and is not a folder"));
        }
    }
    Ok(folder)
}

/// Whether the folder has the mark. An empty folder may become a cache; any other folder without the mark is an error.
fn is_cache(folder: &Path) -> io::Result<bool> {
    if is_file(&folder.join(MARK)) {
        return Ok(true);
    }
    let empty = fs::read_dir(folder)?.next().is_none();
    // Checked again: another process may have created the mark in between.
    if empty || is_file(&folder.join(MARK)) {
        return Ok(!empty);
    }
    Err(io::Error::other(format!("it is not empty and has no file {MARK}, so it is not a cache")))
}

fn make(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    // Other users of the machine may not have access to the store.
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Creates the folder of a shard.
pub(super) fn make_shard(path: &Path) -> io::Result<()> {
    make(path)
}

/// Whether `path` is a folder, not a link to one.
pub(super) fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// Whether `path` is a regular file, not a link to one.
pub(super) fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
}

/// Deletes a file of the cache. Returns whether it no longer exists.
pub(super) fn remove(path: &Path) -> bool {
    match is_file(path).then(|| fs::remove_file(path)) {
        Some(Err(error)) => error.kind() == io::ErrorKind::NotFound,
        Some(Ok(())) => true,
        None => fs::symlink_metadata(path).is_err(),
    }
}

/// Clears the path of an entry. A link is removed, but not its target. A folder is removed if it is empty, else renamed. Returns
/// whether the path is free.
pub(super) fn clear_place(path: &Path) -> bool {
    let gone = |done: io::Result<()>| done.is_ok() || fs::symlink_metadata(path).is_err();
    match fs::symlink_metadata(path) {
        Err(_) => true,
        Ok(found) if found.is_symlink() => gone(fs::remove_file(path)),
        Ok(found) if found.is_dir() => {
            let aside = || path.with_file_name(format!("moved-{}", machine::new_id()));
            gone(fs::remove_dir(path).or_else(|_| fs::rename(path, aside())))
        }
        Ok(_) => false,
    }
}

/// Lists a folder: names and entries. Empty if the folder does not exist or is a link.
pub(super) fn files(folder: &Path) -> impl Iterator<Item = (String, DirEntry)> + use<> {
    let listed = is_folder(folder).then(|| fs::read_dir(folder).ok()).flatten();
    listed.into_iter().flatten().flatten().filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry)))
}

/// Lists all entries of the cache.
pub(super) fn scan(folder: &Path) -> Vec<CacheFile> {
    let shards = files(folder).filter(|(name, _)| entry::is_shard(name));
    let entries = shards.flat_map(|(_, shard)| files(&shard.path()));
    let cache_files = entries.filter(|(name, _)| entry::parse_file(name).is_some()).filter_map(|(_, entry)| {
        // This is the metadata of the file itself, so a link is not an entry.
        let found = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        let used = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        Some(CacheFile { path: entry.path(), used, cost: entry::cost(found.len()) })
    });
    cache_files.collect()
}

/// Takes the lock of the cache; `None` if another process holds it for longer than `patience`. The lock of a process ends with
/// the process.
///
/// # Errors
/// - Errors of the file system, also if it does not support locks.
pub(super) fn lock(folder: &Path, patience: Duration) -> io::Result<Option<File>> {
    let path = folder.join(LOCK);
    if !is_file(&path) && fs::symlink_metadata(&path).is_ok() {
        return Err(io::Error::other(format!("{LOCK} exists and is not a file")));
    }
    let file = File::options().create(true).truncate(false).write(true).open(path)?;
    let begin = machine::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) if begin.elapsed() > patience => return Ok(None),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(10)),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Returns the bytes that running processes may still add, and the number of these processes. Deletes the leases and unfinished
/// files of processes that ended. The caller holds the lock.
pub(super) fn leased(folder: &Path) -> (u64, u64) {
    let (mut bytes, mut alive) = (0_u64, Vec::new());
    for (name, entry) in files(&folder.join(LEASES)) {
        let Some((id, granted)) = parse_lease(&name) else { continue };
        let path = entry.path();
        if !is_file(&path) {
            continue;
        }
        // The holder of a lease keeps it locked until its process ends.
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

/// Returns the file name of a lease.
pub(super) fn lease_file(id: Uuid, bytes: u64) -> String {
    format!("{id}-{bytes}")
}

/// Returns the file name of an unfinished entry.
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

/// Counts the content of a cache.
pub(super) fn stats(path: &Path) -> Result<CacheStats> {
    let Some(folder) = existing(path)? else { return Ok(CacheStats::default()) };
    let writers = files(&folder.join(LEASES)).filter(|(name, entry)| {
        let locked = |file: File| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        parse_lease(name).is_some() && is_file(&entry.path()) && File::open(entry.path()).is_ok_and(locked)
    });
    Ok(CacheStats { writers: writers.count() as u64, ..summed(&scan(&folder)) })
}

/// Deletes all entries and returns what was deleted.
pub(super) fn clear(path: &Path) -> Result<CacheStats> {
    const PATIENCE: Duration = Duration::from_secs(10);
    let failed = |error: io::Error| Error::from(error).at(format!("cache {}", path.display()));
    let Some(folder) = existing(path)? else { return Ok(CacheStats::default()) };
    let Some(_lock) = lock(&folder, PATIENCE).map_err(failed)? else {
        return Err(Error::unavailable(format!("cache {}: another process holds its lock; try again", path.display())));
    };
    let (_, writers) = leased(&folder);
    let mut cache_files = scan(&folder);
    cache_files.retain(|entry| remove(&entry.path));
    for (name, shard) in files(&folder) {
        // Only empty folders can be removed.
        if entry::is_shard(&name) && is_folder(&shard.path()) {
            let _ = fs::remove_dir(shard.path());
        }
    }
    Ok(CacheStats { writers, ..summed(&cache_files) })
}

fn summed(cache_files: &[CacheFile]) -> CacheStats {
    let bytes = cache_files.iter().map(|entry| entry.cost).sum();
    CacheStats { entries: cache_files.len() as u64, bytes, writers: 0 }
}

/// Returns the canonical path of the folder if it exists and has the mark.
fn existing(path: &Path) -> Result<Option<PathBuf>> {
    let failed = |error: io::Error| Error::from(error).at(format!("cache {}", path.display()));
    let folder = match path.canonicalize() {
        Ok(folder) => folder,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    match is_cache(&folder) {
        Ok(is_one) => Ok(is_one.then_some(folder)),
        Err(error) if failure::is_out_of_files(&error) => Err(failure::of_system(&error).at(format!("cache {}", path.display()))),
        Err(error) => Err(Error::invalid(format!("cache {}: {error}", path.display()))),
    }
}
