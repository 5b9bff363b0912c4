//! What was read of remote stores, kept near: on a local disk, shared by the processes of this machine, and small answers in
//! memory too.
//!
//! Objects are immutable and named by the hash of their content (`format-spec/README.md#objects`), so what was read once
//! stays true; manifests and listings, which say what is newest, are never kept. An answer is kept on trial: whoever asked
//! checks it (pages by their checksums, whole objects by their hashes) and says whether it was good ([`trial`]). What is on
//! disk carries a checksum of its own that knows its place ([`entry`]), and all of it stays within a bound ([`space`]).
//! Whatever goes wrong with the cache makes a read slower, never an error.

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
use crate::Result;

use disk::Disk;
pub use folder::CacheStats;
use memory::Memory;
use settings::Settings;
pub(super) use trial::Trial;

/// The cache of a process: one for all stores with the same settings.
pub(super) struct Cache {
    settings: Settings,
    memory: Option<Memory>,
    disk: Option<Disk>,
    /// A forked child leaves its parent's cache alone: locks may be held by threads that it does not have.
    process: u32,
}

impl Cache {
    /// The cache that these options ask for, if they do. A folder that cannot be one is warned of and left out.
    ///
    /// # Errors
    /// `Invalid` for sizes that cannot be.
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
        Self { settings, memory, disk, process: std::process::id() }
    }

    /// Whether this process made it, and not one that forked this one.
    fn is_ours(&self) -> bool {
        self.process == std::process::id()
    }

    /// This cache, or behind a fork one of the child's own in the same folder, which it keeps to its end. None where that may
    /// not be made now: a lock of the parent's is waited for by nobody.
    fn here(self: &Arc<Self>) -> Option<Arc<Self>> {
        static BEHIND_A_FORK: Mutex<Vec<Arc<Cache>>> = Mutex::new(Vec::new());
        if self.is_ours() {
            return Some(Arc::clone(self));
        }
        let mut open = BEHIND_A_FORK.try_lock().ok()?;
        open.retain(|cache| cache.is_ours());
        if let Some(cache) = open.iter().find(|cache| cache.settings == self.settings) {
            return Some(Arc::clone(cache));
        }
        let cache = Arc::new(Self::open(self.settings.clone()));
        open.push(Arc::clone(&cache));
        Some(cache)
    }
}

/// Says once for a cache what keeps it from being used; the reads go on without it.
fn warn(folder: &Path, why: &str) {
    eprintln!("warning: cache {}: {why}; reading without it", folder.display());
}

/// The folder of the cache that options and environment name, whether or not a store uses it now: what it holds, and emptying
/// it. [`StoreOptions`] has how it is switched on.
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
    /// The one that these options name, if they do. Nothing is made yet.
    ///
    /// # Errors
    /// `Invalid` for sizes that cannot be.
    pub fn of(options: &StoreOptions) -> Result<Option<Self>> {
        let settings = Settings::of(options)?;
        Ok(settings.and_then(|settings| Some(Self { path: settings.folder?, at_most: settings.disk_bytes })))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many bytes it may hold.
    pub fn at_most(&self) -> u64 {
        self.at_most
    }

    /// What it holds; nothing where it is not there yet.
    ///
    /// # Errors
    /// `Invalid` where the folder is something else than a cache; errors of the disk.
    pub fn stats(&self) -> Result<CacheStats> {
        folder::stats(&self.path)
    }

    /// Deletes everything that this library keeps in it, and says what that was. Files of others stay, and processes that use
    /// it go on.
    ///
    /// # Errors
    /// As [`CacheFolder::stats`]; `Unavailable` where another process makes room in it for too long.
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
        // As a child sees the cache of its parent.
        let parents = Arc::new(Cache { process: ours.process + 1, ..Cache::open(ours.settings.clone()) });
        let childs = parents.here().unwrap();
        assert!(childs.is_ours() && childs.settings == parents.settings && childs.disk.is_some());
        assert!(Arc::ptr_eq(&childs, &parents.here().unwrap()));
    }
}
