//! Reads local files directly: positioned reads on cached file handles, without a hop through a runtime.
//!
//! The 256 most recently used handles of the whole process stay open, of all stores together, so that reading many tables does not
//! take all descriptors of the process. Objects are immutable, so a handle never becomes stale; a file that is truncated after it
//! was opened gives a short read. Long ranges are read into recycled [`buffers`]. Only regular files under the root are
//! opened: a link that leads out of the root, a device or a pipe is refused.
//! `folders/` lists, writes and deletes files.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{
    Arc, LazyLock, MutexGuard,
    atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;

use super::{
    buffers::{self, PooledBuffer},
    direct,
    failure::{self, Doing},
    name,
    ranges::RangeRequest,
    testing::journal::Watched,
};
use crate::{Error, Result, error::counted, work::BoundedLock};

/// Maximum number of open handles of all stores of the process.
const MAX_HANDLES: usize = 256;

/// The open handles of the process.
static HANDLES: LazyLock<BoundedLock<Handles>> = LazyLock::new(BoundedLock::default);

/// Bytes of one request to prefetch: the kernel cuts a longer one to the read-ahead of the disk, 128 KiB or more.
#[cfg(target_os = "linux")]
const PREFETCH_STEP: u64 = 128 << 10;

/// Reads a byte if it is in the page cache; `AGAIN` if it is not.
#[cfg(target_os = "linux")]
fn probe(file: &File, at: u64) -> rustix::io::Result<usize> {
    rustix::io::preadv2(file, &mut [io::IoSliceMut::new(&mut [0])], at, rustix::io::ReadWriteFlags::NOWAIT)
}

/// A directory of objects.
pub(super) struct LocalFiles {
    root: PathBuf,
    url: String,
    /// Number of this store among those of the process.
    number: u64,
    /// Number of ranges that were read.
    reads: AtomicU64,
    /// Whether ranges are read past the page cache.
    is_direct: bool,
    /// Records what is done to the files, for tests.
    pub(super) journal: Option<Watched>,
}

struct Handle {
    file: File,
    /// The same file, opened for reads past the page cache, if the store reads so and the file system can.
    direct: Option<File>,
    bytes: u64,
}

#[derive(Default)]
struct Handles {
    /// The handle of each object, by the number of its store and its name, with the time of its last use.
    open: HashMap<(u64, Arc<str>), (Arc<Handle>, u64)>,
    clock: u64,
}

/// Whether a name ends in `#` and a number. No object has such a name.
pub(super) fn is_unfinished(name: &str) -> bool {
    name.rsplit_once('#').is_some_and(|(rest, number)| {
        !rest.is_empty() && !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
    })
}

impl LocalFiles {
    pub(super) fn new(root: PathBuf, url: String, is_direct: bool) -> Self {
        static STORES: AtomicU64 = AtomicU64::new(0);
        let (journal, number) = (Watched::of(&root), STORES.fetch_add(1, Ordering::Relaxed));
        Self { journal, root, url, number, reads: AtomicU64::new(0), is_direct }
    }

    /// Whether ranges are read past the page cache.
    pub(super) fn is_direct(&self) -> bool {
        self.is_direct
    }

    /// Returns the directory.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the URL of the directory.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Returns the number of ranges that were read.
    pub(super) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    /// Reads the range of one request.
    pub(super) fn read(&self, request: &RangeRequest) -> Result<Bytes> {
        request.check(&self.url)?;
        if request.range.is_empty() {
            return Ok(Bytes::new());
        }
        let handle = self.handle_of(request)?;
        self.reads.fetch_add(1, Ordering::Relaxed);
        let short = |found| request.wrong_answer(&self.url, &request.range, found);
        if let Some(file) = &handle.direct {
            let buffer = buffers::room(direct::buffer_bytes(&request.range), &request.name, &self.url)?;
            // Whatever such a read cannot do, a read through the page cache can, or says why not.
            if let Ok(read) = direct::read(file, &request.range, buffer)
                && read.len() as u64 == request.bytes()
            {
                return Ok(read);
            }
        }
        read_at(&handle.file, &request.name, &self.url, request.range.clone(), short)
    }

    /// Reads the range of one request into `parts`, which together are as long as the range.
    pub(super) fn read_into(&self, request: &RangeRequest, parts: [&mut [u8]; 2]) -> Result<()> {
        request.check(&self.url)?;
        let handle = self.handle_of(request)?;
        self.reads.fetch_add(1, Ordering::Relaxed);
        let read = read_parts(&handle.file, request.range.start, parts);
        match read.map_err(|error| failure::disk(&error, Doing::Reading, &request.name, &self.url))? {
            read if read < request.bytes() => Err(request.wrong_answer(&self.url, &request.range, read)),
            _ => Ok(()),
        }
    }

    /// Whether the middle of a range is not in the page cache, so that reading it waits for the disk; its ends may share a page with
    /// ranges that were read before. `false` if the file system cannot tell.
    #[cfg(target_os = "linux")]
    pub(super) fn is_cold(&self, request: &RangeRequest) -> bool {
        let middle = request.range.start + request.bytes() / 2;
        self.handle(&request.name).is_ok_and(|handle| probe(&handle.file, middle) == Err(rustix::io::Errno::AGAIN))
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn is_cold(&self, _: &RangeRequest) -> bool {
        false
    }

    /// Starts to read a range into the page cache and does not wait for it. Errors are left to the read itself.
    #[cfg(target_os = "linux")]
    pub(super) fn prefetch(&self, request: &RangeRequest) {
        let Ok(handle) = self.handle(&request.name) else { return };
        let Range { mut start, end } = request.range;
        while start < end.min(handle.bytes) {
            let step = (end - start).min(PREFETCH_STEP);
            let _ = rustix::fs::fadvise(&handle.file, start, step.try_into().ok(), rustix::fs::Advice::WillNeed);
            start += step;
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn prefetch(&self, _: &RangeRequest) {}

    /// Reads a whole object. `accept` checks the size before the read. The handle is not cached.
    pub(super) fn read_whole(&self, name: &str, accept: impl FnOnce(u64) -> Result<()>) -> Result<Bytes> {
        let handle = self.open(name)?;
        accept(handle.bytes)?;
        read_at(&handle.file, name, &self.url, 0..handle.bytes, |found| {
            failure::length(name, &self.url, "the file was cut short while it was read", handle.bytes, found)
        })
    }

    /// Returns the size of an object in bytes.
    pub(super) fn size(&self, name: &str) -> Result<u64> {
        Ok(self.open(name)?.bytes)
    }

    /// Closes the handle of a deleted object.
    pub(super) fn forget(&self, name: &str) {
        if let Some(mut handles) = handles() {
            handles.open.remove(&(self.number, Arc::from(name)));
        }
    }

    /// Closes the handles of this store.
    pub(super) fn forget_all(&self) {
        let open =
            handles().map(|mut handles| handles.open.extract_if(|(store, _), _| *store == self.number).collect::<Vec<_>>());
        // Closed without the lock.
        drop(open);
    }

    /// Returns the open file of a request and checks that it is as long as the request states.
    fn handle_of(&self, request: &RangeRequest) -> Result<Arc<Handle>> {
        let handle = self.handle(&request.name)?;
        match handle.bytes < request.object_bytes {
            true => Err(request.short_object(&self.url, handle.bytes)),
            false => Ok(handle),
        }
    }

    fn handle(&self, name: &Arc<str>) -> Result<Arc<Handle>> {
        let open = handles().and_then(|mut handles| handles.get(self.number, name));
        if let Some(handle) = open {
            return Ok(handle);
        }
        let handle = Arc::new(self.open(name)?);
        // Plans name every byte that they need and prefetch it; the read-ahead of the kernel would read megabytes beyond each random
        // row. File systems that cannot be probed get no prefetch, so they keep the read-ahead.
        #[cfg(target_os = "linux")]
        if probe(&handle.file, 0) != Err(rustix::io::Errno::OPNOTSUPP) {
            let _ = rustix::fs::fadvise(&handle.file, 0, None, rustix::fs::Advice::Random);
        }
        let closed = handles().and_then(|mut handles| handles.insert(self.number, name, &handle));
        // Closed without the lock.
        drop(closed);
        Ok(handle)
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
            let mut folders = name.match_indices('/').map(|(end, _)| name.split_at(end).0);
            let is_link = |folder: &&str| self.root.join(folder).is_symlink();
            if let Some(folder) = folders.find(is_link) {
                return Err(failure::linked_folder(folder, Doing::Reading, name, &self.url));
            }
            return Err(Error::denied(format!("reading {name} in {}: a link leads out of the store's directory", self.url)));
        }
        // Checked before the file is opened, because opening a pipe would block until there is a writer.
        let kind = real.metadata().map_err(disk)?.file_type();
        if !kind.is_file() {
            let found = if kind.is_dir() { "a folder" } else { "a pipe, a socket or a device" };
            return Err(Error::corrupt(format!("reading {name} in {}: expected a file, found {found}", self.url)));
        }
        let file = File::open(&real).map_err(disk)?;
        let metadata = file.metadata().map_err(disk)?;
        let direct = if self.is_direct { direct::open(&real) } else { None };
        Ok(Handle { bytes: metadata.len(), file, direct })
    }
}

impl Drop for LocalFiles {
    fn drop(&mut self) {
        self.forget_all();
    }
}

/// Takes the lock of the handles. `None` in a forked child that finds it held for ever: files are opened for each read there.
fn handles() -> Option<MutexGuard<'static, Handles>> {
    HANDLES.lock()
}

impl Handles {
    fn get(&mut self, store: u64, name: &Arc<str>) -> Option<Arc<Handle>> {
        self.clock += 1;
        let (handle, used) = self.open.get_mut(&(store, Arc::clone(name)))?;
        *used = self.clock;
        Some(Arc::clone(handle))
    }

    /// Keeps a handle. Returns the least recently used one if there are too many.
    fn insert(&mut self, store: u64, name: &Arc<str>, handle: &Arc<Handle>) -> Option<Arc<Handle>> {
        let closed = if self.open.len() >= MAX_HANDLES {
            // Scanning 256 entries costs little compared with opening the file.
            let oldest = self.open.iter().min_by_key(|(_, (_, used))| *used).map(|(key, _)| key.clone());
            oldest.and_then(|oldest| self.open.remove(&oldest))
        } else {
            None
        };
        self.clock += 1;
        self.open.insert((store, Arc::clone(name)), (Arc::clone(handle), self.clock));
        closed.map(|(handle, _)| handle)
    }
}

/// Reads a range of a file that is being uploaded as the object `name`.
pub(super) fn read_part(file: &File, name: &str, url: &str, range: Range<u64>) -> Result<Bytes> {
    let end = range.end;
    read_at(file, name, url, range.clone(), |found| {
        Error::invalid(format!(
            "writing {name} in {url}: expected {} in its file, found {}",
            counted(end, "byte"),
            range.start + found
        ))
    })
}

fn read_at(file: &File, name: &str, url: &str, range: Range<u64>, short: impl FnOnce(u64) -> Error) -> Result<Bytes> {
    let bytes = range.end - range.start;
    let len = usize::try_from(bytes).unwrap_or(usize::MAX);
    let (read, pooled) = match buffers::take(len) {
        Some(mut kept) => {
            // The buffer is never truncated: a longer read can use the rest of it without clearing memory.
            if kept.len() < len {
                kept.resize(len, 0);
            }
            (fill(&range, |done, at| read_some(file, &mut kept[done..len], at)), kept)
        }
        None => {
            let mut buffer = failure::reserve(bytes, name, url)?;
            let read = fill(&range, |_, at| read_new(file, &mut buffer, at));
            (read, PooledBuffer::from(buffer))
        }
    };
    match read.map_err(|error| failure::disk(&error, Doing::Reading, name, url))? {
        read if read < bytes => Err(short(read)),
        _ => Ok(Bytes::from_owner(pooled).slice(..len)),
    }
}

/// Calls `some` until the range is read or the file ends. `some` gets the number of bytes already read and the offset in
/// the file.
fn fill(range: &Range<u64>, mut some: impl FnMut(usize, u64) -> io::Result<usize>) -> io::Result<u64> {
    let mut done = 0_usize;
    while range.start + (done as u64) < range.end {
        match some(done, range.start + done as u64) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done as u64)
}

/// Appends to a buffer, up to its capacity, without clearing its memory first.
#[cfg(unix)]
fn read_new(file: &File, buffer: &mut Vec<u8>, offset: u64) -> io::Result<usize> {
    Ok(rustix::io::pread(file, rustix::buffer::spare_capacity(buffer), offset)?)
}

#[cfg(windows)]
fn read_new(file: &File, buffer: &mut Vec<u8>, offset: u64) -> io::Result<usize> {
    let done = buffer.len();
    buffer.resize(buffer.capacity(), 0);
    let read = read_some(file, &mut buffer[done..], offset);
    buffer.truncate(done + *read.as_ref().unwrap_or(&0));
    read
}

#[cfg(unix)]
fn read_some(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_some(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

/// Reads consecutive bytes of a file into two parts of memory, up to the end of the file.
#[cfg(unix)]
fn read_parts(file: &File, start: u64, parts: [&mut [u8]; 2]) -> io::Result<u64> {
    let mut parts = parts.map(io::IoSliceMut::new);
    let mut left = parts.as_mut_slice();
    let wanted = left.iter().map(|part| part.len() as u64).sum::<u64>();
    fill(&(start..start + wanted), |_, at| {
        let read = rustix::io::preadv(file, left, at)?;
        io::IoSliceMut::advance_slices(&mut left, read);
        Ok(read)
    })
}

#[cfg(windows)]
fn read_parts(file: &File, start: u64, parts: [&mut [u8]; 2]) -> io::Result<u64> {
    let mut read = 0;
    for part in parts {
        let range = start + read..start + read + part.len() as u64;
        read += fill(&range, |done, at| read_some(file, &mut part[done..], at))?;
    }
    Ok(read)
}

/// Makes `path` absolute. Returns the deepest part of it that exists, with links resolved, and the parts that do not exist yet.
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
