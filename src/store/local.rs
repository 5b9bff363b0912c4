//! Local files, read directly: a positioned read on a cached handle, without a hop through a runtime.
//!
//! A handle is opened once and kept among the last 256 used. Objects are immutable, so a handle never goes stale; a file
//! cut short after it was opened shows as a short read. The buffer of a positioned read must be zeroed first, which costs a
//! quarter of a read of 1 MiB from the page cache (172 us, 130 us without); so a long range is read through the handle's own
//! position while nobody else uses that, which fills fresh memory. Only regular files under the root are opened: a link that leads out
//! of the root, a device or a pipe is refused.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::failure::{self, Doing};
use super::name;
use super::ranges::RangeRequest;
use crate::{Error, Result};

/// How many handles are kept open.
const HANDLES: usize = 256;
/// From so many bytes on, zeroing a buffer costs more than moving the handle's position.
const LONG: u64 = 64 << 10;

/// A directory whose files are read directly.
pub(super) struct LocalFiles {
    root: PathBuf,
    url: String,
    handles: Mutex<Handles>,
}

struct Handle {
    file: File,
    bytes: u64,
    /// Held while the file's position is in use.
    position: Mutex<()>,
    /// The process that opened it: a forked child shares the position and must leave it alone.
    opened_by: u32,
}

#[derive(Default)]
struct Handles {
    open: HashMap<Arc<str>, (Arc<Handle>, u64)>,
    clock: u64,
}

impl LocalFiles {
    pub(super) fn new(root: PathBuf, url: String) -> Self {
        Self { root, url, handles: Mutex::default() }
    }

    /// The bytes of one checked request.
    pub(super) fn read(&self, request: &RangeRequest) -> Result<Bytes> {
        request.check(&self.url)?;
        if request.range.is_empty() {
            return Ok(Bytes::new());
        }
        let handle = self.handle(&request.name)?;
        if handle.bytes < request.object_bytes {
            return Err(request.short_object(&self.url, handle.bytes));
        }
        let short = |found| request.wrong_answer(&self.url, &request.range, found);
        let range = request.range.clone();
        if request.bytes() >= LONG
            && handle.opened_by == std::process::id()
            && let Ok(_position) = handle.position.try_lock()
        {
            return read_through(&handle.file, &request.name, &self.url, range, short);
        }
        read_at(&handle.file, &request.name, &self.url, range, short)
    }

    /// The whole of an object, whose size `accept` has seen before any of it is read. Not cached.
    pub(super) fn read_whole(&self, name: &str, accept: impl FnOnce(u64) -> Result<()>) -> Result<Bytes> {
        let handle = self.open(name)?;
        accept(handle.bytes)?;
        read_through(&handle.file, name, &self.url, 0..handle.bytes, |found| {
            failure::length(name, &self.url, "the file was cut short while it was read", handle.bytes, found)
        })
    }

    /// How many bytes an object holds.
    pub(super) fn size(&self, name: &str) -> Result<u64> {
        Ok(self.open(name)?.bytes)
    }

    /// Makes an object that somebody else wrote as durable as one written here: its bytes, then its name.
    pub(super) fn sync(&self, name: &str) -> Result<()> {
        let path = self.path(name)?;
        let sync = || -> io::Result<()> {
            File::open(&path)?.sync_all()?;
            match path.parent() {
                Some(parent) if cfg!(unix) => File::open(parent)?.sync_all(),
                _ => Ok(()),
            }
        };
        sync().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => failure::disk(&error, Doing::Writing, name, &self.url),
            _ => Error::outcome_unknown(format!("writing {name} in {}: it is there, and cannot be synced: {error}", self.url)),
        })
    }

    /// Closes the handle of an object that was deleted.
    pub(super) fn forget(&self, name: &str) {
        self.handles().open.remove(name);
    }

    fn handle(&self, name: &Arc<str>) -> Result<Arc<Handle>> {
        if let Some(handle) = self.handles().get(name) {
            return Ok(handle);
        }
        let handle = Arc::new(self.open(name)?);
        self.handles().keep(Arc::clone(name), Arc::clone(&handle));
        Ok(handle)
    }

    fn handles(&self) -> std::sync::MutexGuard<'_, Handles> {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, name: &str) -> Result<PathBuf> {
        name::check(name)?;
        Ok(self.root.join(name))
    }

    fn open(&self, name: &str) -> Result<Handle> {
        let path = self.path(name)?;
        let disk = |error: io::Error| failure::disk(&error, Doing::Reading, name, &self.url);
        let real = path.canonicalize().map_err(disk)?;
        if real != path && !real.starts_with(self.root.canonicalize().map_err(disk)?) {
            return Err(Error::denied(format!("reading {name} in {}: a link leads out of the store's directory", self.url)));
        }
        // Asked before opening, since opening a pipe would wait for its writer.
        if !real.metadata().map_err(disk)?.is_file() {
            return Err(Error::invalid(format!("reading {name} in {}: it is not a regular file", self.url)));
        }
        let file = File::open(&real).map_err(disk)?;
        let metadata = file.metadata().map_err(disk)?;
        Ok(Handle { bytes: metadata.len(), file, position: Mutex::new(()), opened_by: std::process::id() })
    }
}

impl Handles {
    fn get(&mut self, name: &str) -> Option<Arc<Handle>> {
        self.clock += 1;
        let (handle, used) = self.open.get_mut(name)?;
        *used = self.clock;
        Some(Arc::clone(handle))
    }

    fn keep(&mut self, name: Arc<str>, handle: Arc<Handle>) {
        if self.open.len() >= HANDLES {
            // A scan of 256 entries is small beside the opening of a file that brought us here.
            let oldest = self.open.iter().min_by_key(|(_, (_, used))| *used).map(|(name, _)| Arc::clone(name));
            if let Some(oldest) = oldest {
                self.open.remove(&oldest);
            }
        }
        self.clock += 1;
        self.open.insert(name, (handle, self.clock));
    }
}

/// Some bytes of a file that is to become the object `name`.
pub(super) fn read_part(file: &File, name: &str, url: &str, range: Range<u64>) -> Result<Bytes> {
    let end = range.end;
    read_at(file, name, url, range.clone(), |found| {
        Error::invalid(format!("writing {name} in {url}: expected {end} bytes in its file, found {}", range.start + found))
    })
}

fn read_at(file: &File, name: &str, url: &str, range: Range<u64>, short: impl FnOnce(u64) -> Error) -> Result<Bytes> {
    let bytes = range.end - range.start;
    let mut buffer = failure::reserve(bytes, name, url)?;
    buffer.resize(usize::try_from(bytes).unwrap_or(buffer.capacity()), 0);
    let mut done = 0;
    while done < buffer.len() {
        match read_some(file, &mut buffer[done..], range.start + done as u64) {
            Ok(0) => return Err(short(done as u64)),
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failure::disk(&error, Doing::Reading, name, url)),
        }
    }
    Ok(Bytes::from(buffer))
}

/// As [`read_at`], but moves the file's position and fills memory that was not zeroed.
fn read_through(mut file: &File, name: &str, url: &str, range: Range<u64>, short: impl FnOnce(u64) -> Error) -> Result<Bytes> {
    let bytes = range.end - range.start;
    let mut buffer = failure::reserve(bytes, name, url)?;
    let disk = |error: io::Error| failure::disk(&error, Doing::Reading, name, url);
    file.seek(SeekFrom::Start(range.start)).map_err(disk)?;
    let read = file.take(bytes).read_to_end(&mut buffer).map_err(disk)? as u64;
    if read == bytes { Ok(Bytes::from(buffer)) } else { Err(short(read)) }
}

#[cfg(unix)]
fn read_some(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_some(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

/// `path` made absolute, as the deepest part of it that exists (its links resolved) and the parts still to be made.
pub(super) fn resolve(path: &Path) -> Result<(PathBuf, Vec<String>)> {
    let refuse = |why: &str| Error::invalid(format!("path {}: {why}", path.display()));
    let mut there = std::path::absolute(path).map_err(|error| refuse(&error.to_string()))?;
    let mut missing = Vec::new();
    loop {
        match there.canonicalize() {
            Ok(real) => {
                missing.reverse();
                return Ok((real, missing));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let last = there.file_name().ok_or_else(|| refuse("a part that does not exist is followed by `..`"))?;
                missing.push(last.to_str().ok_or_else(|| refuse("a new directory's name must be UTF-8"))?.to_owned());
                there.pop();
            }
            Err(error) => return Err(failure::disk(&error, Doing::Reading, "", &path.display().to_string())),
        }
    }
}
