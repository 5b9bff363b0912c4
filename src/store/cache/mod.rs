//! The cache of remote reads: on a local disk, shared by the processes of this machine, and small answers also in memory.
//!
//! Cached objects are immutable and named by the hash of their content (`format-spec/README.md#objects`), so entries never become
//! stale. Manifests and listings, which determine the newest version, are never cached. Entries are added on trial: the caller
//! verifies the bytes (pages by their checksums, whole objects by their hashes) and reports the result ([`trial`]). Each entry on
//! disk has a checksum that depends on its position ([`entry`]), and the size of the cache is bounded ([`space`]). A failure of
//! the cache makes a read slower, but never fails the read.

mod disk;
mod entry;
mod folder;
mod memory;
mod settings;
mod space;
mod trial;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::options::StoreOptions;
use crate::{
    Result,
    work::{BoundedLock, Process},
};

use disk::Disk;
pub use folder::CacheStats;
use memory::Memory;
use settings::Settings;
pub(super) use trial::Trial;

/// The cache of a process. Stores with equal settings share one cache.
pub(super) struct Cache {
    settings: Settings,
    memory: Option<Memory>,
    disk: Option<Disk>,
    /// The process that opened the cache. A forked child does not use the cache of its parent: threads that do not exist in the
    /// child may hold its locks.
    process: Process,
}

impl Cache {
    /// Opens the cache that these options enable; `None` if they enable none. If the folder cannot be used, a warning is printed
    /// and there is no cache on disk.
    ///
    /// # Errors
    /// - `Invalid`: a size is malformed or too small.
    pub(super) fn of(options: &StoreOptions) -> Result<Option<Arc<Self>>> {
        static OPEN: Mutex<Vec<Weak<Cache>>> = Mutex::new(Vec::new());
        let Some(settings) = Settings::of(options)? else { return Ok(None) };
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|cache| cache.strong_count() > 0);
        let is_it = |cache: &Arc<Self>| cache.is_ours() && cache.settings == settings;
        if let Some(cache) = open.iter().filter_map(Weak::upgrade).find(is_it) {
            return Ok(Some(cache));
        }
        let cache = Arc::new(Self::open(settings));
        open.push(Arc::downgrade(&cache));
        Ok(Some(cache))
    }

    fn open(settings: Settings) -> Self {
        let disk = settings.folder.as_deref().and_then(|path| match folder::prepare(path) {
            Ok(folder) => Some(Disk::new(folder, settings.disk_bytes)),
            Err(why) => {
                warn(path, &why);
                None
            }
        });
        let memory = (settings.memory_bytes > 0).then(|| Memory::new(settings.memory_bytes));
        Self { settings, memory, disk, process: Process::current() }
    }

    /// Whether this process opened the cache, not a parent that forked this process.
    fn is_ours(&self) -> bool {
        self.process.is_current()
    }

    /// Returns this cache, or, in a forked child, a cache of the child in the same folder. `None` if the child cannot open one
    /// now: no caller waits for a lock that the parent may have held.
    fn here(self: &Arc<Self>) -> Option<Arc<Self>> {
        static BEHIND_A_FORK: BoundedLock<Vec<Arc<Cache>>> = BoundedLock::new(Vec::new());
        if self.is_ours() {
            return Some(Arc::clone(self));
        }
        let mut open = BEHIND_A_FORK.try_lock()?;
        open.retain(|cache| cache.is_ours());
        if let Some(cache) = open.iter().find(|cache| cache.settings == self.settings) {
            return Some(Arc::clone(cache));
        }
        let cache = Arc::new(Self::open(self.settings.clone()));
        open.push(Arc::clone(&cache));
        Some(cache)
    }
}

/// Prints why a cache cannot be used. Reads continue without the cache.
fn warn(folder: &Path, why: &str) {
    eprintln!("warning: cache {}: {why}; reading without it", folder.display());
}

/// The cache folder that options and environment name: reports its content and clears it, whether or not a store uses it now. See
/// [`StoreOptions`] for how to enable the cache.
///
/// ```
/// use tetrys::store::{CacheFolder, StoreOptions};
///
/// let folder = tempfile::tempdir()?;
/// let cache = folder.path().join("tetrys").display().to_string();
/// let options = StoreOptions::only([("cache", cache.as_str()), ("cache_size", "2GiB")]);
/// let cache = CacheFolder::of(&options)?.expect("one is named");
/// assert_eq!((cache.stats()?.bytes, cache.at_most()), (0, 2 << 30));
/// assert_eq!(cache.clear()?.entries, 0);
/// assert!(CacheFolder::of(&StoreOptions::only([("region", "eu-west-1")]))?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CacheFolder {
    path: std::path::PathBuf,
    at_most: u64,
}

impl CacheFolder {
    /// Returns the cache folder that these options name; `None` if they name none. Does not create the folder.
    ///
    /// # Errors
    /// - `Invalid`: a size is malformed or too small.
    pub fn of(options: &StoreOptions) -> Result<Option<Self>> {
        let settings = Settings::of(options)?;
        Ok(settings.and_then(|settings| Some(Self { path: settings.folder?, at_most: settings.disk_bytes })))
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the maximum size of the cache in bytes.
    pub fn at_most(&self) -> u64 {
        self.at_most
    }

    /// Counts the content of the folder. A folder that does not exist is empty.
    ///
    /// # Errors
    /// - `Invalid`: the folder is not a cache.
    /// - `Denied`, `Unavailable`: the file system refuses or fails.
    pub fn stats(&self) -> Result<CacheStats> {
        folder::stats(&self.path)
    }

    /// Deletes all entries of the cache and returns what was deleted. Other files stay, and processes that use the
    /// cache continue.
    ///
    /// # Errors
    /// - `Invalid`: the folder is not a cache.
    /// - `Unavailable`: another process keeps the lock of the cache for too long.
    /// - `Denied`, `Unavailable`: the file system refuses or fails.
    pub fn clear(&self) -> Result<CacheStats> {
        folder::clear(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behind_a_fork_a_process_has_a_cache_of_its_own_in_the_same_folder() {
        let folder = tempfile::tempdir().unwrap();
        let options = StoreOptions::only([("cache", folder.path().to_str().unwrap())]);
        let ours = Cache::of(&options).unwrap().unwrap();
        assert!(Arc::ptr_eq(&ours, &Cache::of(&options).unwrap().unwrap()) && Arc::ptr_eq(&ours, &ours.here().unwrap()));
        // The cache of a parent, as a forked child sees it.
        let parents = Arc::new(Cache { process: Process::other(), ..Cache::open(ours.settings.clone()) });
        let childs = parents.here().unwrap();
        assert!(childs.is_ours() && childs.settings == parents.settings && childs.disk.is_some());
        assert!(Arc::ptr_eq(&childs, &parents.here().unwrap()));
    }
}
