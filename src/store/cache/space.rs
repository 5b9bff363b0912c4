//! The size bound of a cache to which several processes write, any of which may be killed at any time.
//!
//! A process writes under a lease: the number of bytes that it may still add. A lease is granted under the lock of the cache,
//! after a scan of the folder. The entries, the leases of running processes and the new lease must fit the bound; the least
//! recently used entries are evicted until they do. A lease is a file that its holder keeps locked. The lock ends with the
//! process, so the next process can delete the lease and the unfinished files. There is no other counter, so a killed process
//! cannot leave a wrong count.
//!
//! Training reads the same data epoch after epoch, each time in another order. If the data does not fit, evicting the least
//! recently used entry for each fetched range deletes most entries before they are used again. So entries that were used since
//! this process opened the cache stay, and fetched ranges are not added. Of the bytes that are not added, one in [`TRICKLE`] is
//! added all the same, so the cache follows when the data changes (bimodal insertion: Qureshi et al., "Adaptive Insertion Policies
//! for High Performance Caching", ISCA 2007).

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant, SystemTime};

use uuid::Uuid;

use super::folder::{self, LEASES, NEW};
use crate::{machine, work::Process};

/// A lease is `1 / PART` of the bound, and at least `LEAST` bytes: enough for an entry of a whole frame.
const PART: u64 = 64;
const LEAST: u64 = 2 << 20;
/// Maximum wait for the lock of the cache.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long writes pause after no lease was available, and after the disk failed.
const CROWDED: Duration = Duration::from_secs(2);
const BROKEN: Duration = Duration::from_secs(60);
/// An entry that was not used for this long does not stay for its use alone.
const RECENT: Duration = Duration::from_secs(24 * 60 * 60);
/// While the cache is full of recently used entries, one of so many bytes is added.
const TRICKLE: u64 = 32;

/// The right of a process to write to the cache.
pub(super) struct Space {
    folder: PathBuf,
    bound: u64,
    /// Read-locked while an entry is written, write-locked while the lease is replaced.
    lease: RwLock<Option<Lease>>,
    /// Writes pause until this time.
    quiet: Mutex<Option<Instant>>,
    /// The time of day when this process opened the cache.
    opened: SystemTime,
    /// While the cache is full of recently used entries: how many more bytes are not added before some of these are evicted.
    not_added: Mutex<Option<u64>>,
    number: AtomicU64,
    process: Process,
}

struct Lease {
    id: Uuid,
    path: PathBuf,
    left: AtomicU64,
    /// The lease file; locked while it is open.
    _file: File,
}

/// The right to write one file. The lease cannot be replaced while it is held.
pub(super) struct Turn<'a> {
    /// Temporary path of the file.
    pub(super) new: PathBuf,
    _lease: RwLockReadGuard<'a, Option<Lease>>,
}

impl Lease {
    fn take(&self, cost: u64) -> bool {
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(cost)).is_ok()
    }
}

impl Space {
    pub(super) fn new(folder: &Path, bound: u64) -> Self {
        let (lease, quiet, not_added, number) = (RwLock::default(), Mutex::default(), Mutex::default(), AtomicU64::new(0));
        let (opened, process) = (machine::time_of_day(), Process::current());
        Self { folder: folder.to_owned(), bound, lease, quiet, opened, not_added, number, process }
    }

    /// Reserves room for a file that counts `cost` bytes; `None` if there is no room now.
    ///
    /// # Errors
    /// - Errors of the file system. The caller then calls [`Space::rest`].
    pub(super) fn take(&self, cost: u64) -> io::Result<Option<Turn<'_>>> {
        // Other threads may use up the new lease first.
        for _ in 0..4 {
            let guard = self.lease.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(lease) = guard.as_ref().filter(|lease| lease.take(cost)) {
                let number = self.number.fetch_add(1, Ordering::Relaxed);
                return Ok(Some(Turn { new: self.folder.join(NEW).join(folder::new_file(lease.id, number)), _lease: guard }));
            }
            drop(guard);
            if self.is_quiet() || self.leaves_out(cost) || !self.renew(cost)? {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// Returns the time of day when this process opened the cache. Entries that were not used since then are evicted first.
    pub(super) fn opened(&self) -> SystemTime {
        self.opened
    }

    /// Whether a file of `cost` bytes is not added because the cache is full of recently used entries.
    fn leaves_out(&self, cost: u64) -> bool {
        let mut not_added = self.not_added.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(left) = not_added.as_mut().filter(|left| **left > 0) else { return false };
        *left = left.saturating_sub(cost);
        true
    }

    /// Pauses writes after the disk failed.
    pub(super) fn rest(&self) {
        self.quiet_for(BROKEN);
    }

    fn is_quiet(&self) -> bool {
        self.quiet.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|until| machine::now() < until)
    }

    fn quiet_for(&self, time: Duration) {
        *self.quiet.lock().unwrap_or_else(PoisonError::into_inner) = Some(machine::now() + time);
    }

    /// Replaces the lease by one with room for `cost` bytes. Returns false if no lease is available now.
    fn renew(&self, cost: u64) -> io::Result<bool> {
        let mut guard = self.lease.write().unwrap_or_else(PoisonError::into_inner);
        if guard.as_ref().is_some_and(|lease| lease.left.load(Ordering::Relaxed) >= cost) {
            return Ok(true);
        }
        let Some(_lock) = folder::lock(&self.folder, PATIENCE)? else {
            self.quiet_for(CROWDED);
            return Ok(false);
        };
        // No thread of this process is writing now, and the scan sees all files that were written.
        if let Some(lease) = guard.take() {
            folder::remove(&lease.path);
        }
        let grant = (self.bound / PART).max(LEAST).max(cost);
        let (others, _) = folder::leased(&self.folder);
        // All leases together are at most half of the bound, so that many idle writers do not keep the cache empty.
        let Some(room) = self.bound.checked_sub(others + grant).filter(|room| *room >= self.bound / 2) else {
            self.quiet_for(CROWDED);
            return Ok(false);
        };
        let mut not_added = self.not_added.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread found the cache full while this one waited.
        if not_added.is_some_and(|left| left > 0) {
            return Ok(false);
        }
        // Bytes were counted down to 0: now the least recently used entries go, however recently that was.
        let keep_recent = not_added.is_none();
        match self.make_room(room, keep_recent) {
            Room::Made => *not_added = None,
            Room::AllRecent => {
                *not_added = Some(grant.saturating_mul(TRICKLE - 1));
                return Ok(false);
            }
            Room::Failed => {
                self.quiet_for(BROKEN);
                return Ok(false);
            }
        }
        drop(not_added);
        let id = machine::new_id();
        let path = self.folder.join(LEASES).join(folder::lease_file(id, grant));
        let file = File::create_new(&path)?;
        file.lock()?;
        *guard = Some(Lease { id, path, left: AtomicU64::new(grant), _file: file });
        Ok(true)
    }

    /// Evicts the least recently used entries until the entries take at most `room` bytes. With `keep_recent`, only those that
    /// were not used since this process opened the cache, or not for [`RECENT`].
    fn make_room(&self, room: u64, keep_recent: bool) -> Room {
        let mut cache_files = folder::scan(&self.folder);
        let mut sum: u64 = cache_files.iter().map(|entry| entry.cost).sum();
        if sum <= room {
            return Room::Made;
        }
        let recent = machine::time_of_day().checked_sub(RECENT).map_or(self.opened, |day| day.max(self.opened));
        // Evicts a little more, so that the next lease does not start with an eviction. Recently used entries make room for one lease.
        let enough = if keep_recent { room - room / 16 } else { room };
        cache_files.sort_unstable_by(|a, b| (a.used, &a.path).cmp(&(b.used, &b.path)));
        for entry in cache_files {
            if sum <= enough {
                break;
            }
            if keep_recent && entry.used >= recent {
                return if sum <= room { Room::Made } else { Room::AllRecent };
            }
            if folder::remove(&entry.path) {
                sum -= entry.cost;
            }
        }
        if sum <= room { Room::Made } else { Room::Failed }
    }
}

/// Whether there is room for a lease.
enum Room {
    Made,
    /// The entries that are left were used recently.
    AllRecent,
    /// Entries could not be deleted.
    Failed,
}

impl Drop for Space {
    fn drop(&mut self) {
        let lease = self.lease.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        // A forked child has a copy of its parent's lease, which it must not delete.
        if let Some(lease) = lease.filter(|_| self.process.is_current()) {
            folder::remove(&lease.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn of_what_a_full_cache_leaves_out_one_byte_in_32_is_added() {
        let home = tempfile::tempdir().unwrap();
        let folder = folder::prepare(home.path()).unwrap();
        folder::make_shard(&folder.join("abc")).unwrap();
        let space = Space::new(&folder, 256 * MIB);
        let mut number = 0;
        let mut added = |times: u64| {
            let add = |_: &u64| {
                number += 1;
                let Some(turn) = space.take(MIB).unwrap() else { return false };
                // An entry without content: only its size counts here.
                File::create_new(&turn.new).unwrap().set_len(MIB).unwrap();
                let entry = folder.join("abc").join(format!("{number:032x}-00000-100000"));
                std::fs::rename(&turn.new, entry).unwrap();
                true
            };
            (0..times).filter(add).count()
        };
        // A lease of 4 MiB, then 124 that are left out.
        let first = added(300);
        assert!((250..=264).contains(&first), "{first} fill the cache");
        let later = added(6_400);
        assert!((190..=210).contains(&later), "{later} of 6400");
        assert!(folder::scan(&folder).iter().map(|entry| entry.cost).sum::<u64>() <= 256 * MIB);
    }
}
