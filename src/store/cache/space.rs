//! The bound of a cache that several processes write to, any of which may be killed at any time.
//!
//! A process writes on a lease: so many bytes more may it add. Leases are given under a lock, each after a look at the whole
//! folder: what lies there, plus all that living processes may still add, plus the new lease stay within the bound, and the
//! entries that were not used for longest are deleted until they do. A lease is a file that its holder keeps locked; the lock
//! ends with the process, and with it the lease and what it left half written. Nothing is counted anywhere else, so nothing
//! can be counted wrongly after a kill.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::folder::{self, LEASES, NEW};

/// A lease is this part of the bound, and at least so many bytes: enough for an entry of a whole frame.
const PART: u64 = 64;
const LEAST: u64 = 2 << 20;
/// How long another process that makes room is waited for.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long nothing is written after there was no lease, and after the disk failed.
const CROWDED: Duration = Duration::from_secs(2);
const BROKEN: Duration = Duration::from_secs(60);

/// What a process may write.
pub(super) struct Space {
    folder: PathBuf,
    bound: u64,
    /// Held for reading while an entry is written, for writing while a lease is exchanged for the next.
    lease: RwLock<Option<Lease>>,
    /// Nothing is written before.
    quiet: Mutex<Option<Instant>>,
    number: AtomicU64,
    process: u32,
}

struct Lease {
    id: Uuid,
    path: PathBuf,
    left: AtomicU64,
    /// Locked as long as it is open.
    _file: File,
}

/// The right to write one file; while it is held the lease stays.
pub(super) struct Turn<'a> {
    /// Where the file is written before it gets its name.
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
        let (lease, quiet, number) = (RwLock::default(), Mutex::default(), AtomicU64::new(0));
        Self { folder: folder.to_owned(), bound, lease, quiet, number, process: std::process::id() }
    }

    /// Room for a file that counts for `cost` bytes; `None` where there is none now.
    ///
    /// # Errors
    /// Errors of the disk; nothing is written for a while then.
    pub(super) fn take(&self, cost: u64) -> io::Result<Option<Turn<'_>>> {
        // Others may use up the new lease before us.
        for _ in 0..4 {
            let held = self.lease.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(lease) = held.as_ref().filter(|lease| lease.take(cost)) {
                let number = self.number.fetch_add(1, Ordering::Relaxed);
                return Ok(Some(Turn { new: self.folder.join(NEW).join(folder::new_file(lease.id, number)), _lease: held }));
            }
            drop(held);
            if self.is_quiet() || !self.renew(cost)? {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// The disk failed: nothing is written for a while.
    pub(super) fn rest(&self) {
        self.quiet_for(BROKEN);
    }

    fn is_quiet(&self) -> bool {
        self.quiet.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|until| Instant::now() < until)
    }

    fn quiet_for(&self, time: Duration) {
        *self.quiet.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + time);
    }

    /// Exchanges the lease for a new one that has room for `cost`; false where there is none to be had now.
    fn renew(&self, cost: u64) -> io::Result<bool> {
        let mut held = self.lease.write().unwrap_or_else(PoisonError::into_inner);
        if held.as_ref().is_some_and(|lease| lease.left.load(Ordering::Relaxed) >= cost) {
            return Ok(true);
        }
        let Some(_lock) = folder::lock(&self.folder, PATIENCE)? else {
            self.quiet_for(CROWDED);
            return Ok(false);
        };
        // Nobody of this process writes now, and what was written is seen by the scan.
        if let Some(lease) = held.take() {
            folder::remove(&lease.path);
        }
        let grant = (self.bound / PART).max(LEAST).max(cost);
        let (others, _) = folder::leased(&self.folder);
        // Leases take half of the bound at most, so that many processes that write little do not keep the cache empty.
        let Some(room) = self.bound.checked_sub(others + grant).filter(|room| *room >= self.bound / 2) else {
            self.quiet_for(CROWDED);
            return Ok(false);
        };
        if !self.make_room(room) {
            self.quiet_for(BROKEN);
            return Ok(false);
        }
        let id = Uuid::new_v4();
        let path = self.folder.join(LEASES).join(folder::lease_file(id, grant));
        let file = File::create_new(&path)?;
        file.lock()?;
        *held = Some(Lease { id, path, left: AtomicU64::new(grant), _file: file });
        Ok(true)
    }

    /// Deletes what was not used for longest until the entries take `room` bytes at most; false where that does not work.
    fn make_room(&self, room: u64) -> bool {
        let mut held = folder::scan(&self.folder);
        let mut sum: u64 = held.iter().map(|entry| entry.cost).sum();
        if sum <= room {
            return true;
        }
        // A little more, so that the next lease does not begin by deleting again.
        let enough = room - room / 16;
        held.sort_unstable_by(|a, b| (a.used, &a.path).cmp(&(b.used, &b.path)));
        for entry in held {
            if sum <= enough {
                break;
            }
            if folder::remove(&entry.path) {
                sum -= entry.cost;
            }
        }
        sum <= room
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        let lease = self.lease.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        // A forked child has its parent's lease in its memory, and no say in it.
        if let Some(lease) = lease.filter(|_| self.process == std::process::id()) {
            folder::remove(&lease.path);
        }
    }
}
