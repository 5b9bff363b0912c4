//! The bytes of a log file: a local file, or an object of a store, read by ranges. Counts its requests.

use std::{
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom, Write},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use tetrys::{Error, Result, Store, StoreOptions, extension::LocalFile, store::RangeRequest};
use tokio::runtime::Handle;

use crate::ahead;

/// Maximum bytes of one read.
pub(crate) const MAX_READ: u64 = 2 << 30;

/// Maximum bytes of a file that is decompressed.
const MAX_UNPACKED: u64 = 1 << 40;
/// Bytes of a compressed file that are read at a time.
const WINDOW: usize = 4 << 20;

/// A file of a log, open for reading. Clones share it.
#[derive(Clone, Debug)]
pub struct Input {
    url: Arc<str>,
    size: u64,
    place: Arc<Place>,
    requests: Arc<AtomicU64>,
    bytes: Arc<AtomicU64>,
    /// Ranges that were read ahead: where each begins, and its bytes.
    ahead: Arc<Mutex<Vec<(u64, Bytes)>>>,
    cancel: Cancel,
    /// The damage of a file that was decompressed or copied. The bytes before the damage are there.
    fault: Option<Arc<str>>,
}

#[derive(Debug)]
enum Place {
    /// A file at the path that is the URL.
    Named(Mutex<File>),
    /// A temporary file.
    Unnamed(Mutex<File>),
    Memory(Bytes),
    Remote {
        store: Store,
        name: Arc<str>,
        runtime: Handle,
    },
}

/// Whether the work on logs was given up. Then reads fail, and work that blocks a thread ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cancel(Arc<AtomicBool>);

/// Gives the work up when it is dropped.
#[derive(Debug)]
pub(crate) struct CancelOnDrop(Cancel);

impl Cancel {
    /// Returns a guard: the work is given up if its caller is dropped, for example by Ctrl-C.
    pub(crate) fn on_drop(&self) -> CancelOnDrop {
        CancelOnDrop(self.clone())
    }

    fn check(&self) -> Result<()> {
        match self.0.load(Ordering::Relaxed) {
            true => Err(Error::unavailable("the work was interrupted")),
            false => Ok(()),
        }
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

impl Input {
    /// Opens a path or URL. Must be called on a thread that may block, inside a tokio runtime if the URL is remote. A file whose name
    /// ends in `.zst` or `.zstd` is decompressed to a temporary file.
    ///
    /// # Errors
    /// - `NotFound`: there is no such file.
    /// - `Invalid`, `Unsupported`: the path leads to something else than a file, or the URL is malformed.
    /// - `Corrupt`: nothing of a compressed file can be decompressed.
    /// - Errors of the file system or the store.
    pub fn open(url: &str, options: &StoreOptions) -> Result<Self> {
        Self::open_with(url, options, &Cancel::default())
    }

    /// Opens a path or URL, whose reads fail when the work is given up.
    pub(crate) fn open_with(url: &str, options: &StoreOptions, cancel: &Cancel) -> Result<Self> {
        let input = Self { cancel: cancel.clone(), ..Self::opened(url, options)? };
        match [".zst", ".zstd"].iter().any(|end| url.ends_with(end)) {
            true => unpacked(&input),
            false => Ok(input),
        }
    }

    /// Opens a path or URL as it is, also one of a compressed file. Reads nothing.
    pub(crate) fn opened(url: &str, options: &StoreOptions) -> Result<Self> {
        let local = match url.split_once("://") {
            None => Some(url),
            Some(("file", path)) => Some(path),
            Some(_) => None,
        };
        if let Some(path) = local {
            let file = LocalFile::regular(path, "a log file")?;
            let size = file.metadata().map_err(|error| Error::from(error).at(path))?.len();
            return Ok(Self::new(path, size, Place::Named(Mutex::new(file))));
        }
        let (folder, name) =
            url.rsplit_once('/').filter(|(folder, name)| !folder.ends_with('/') && !name.is_empty()).ok_or_else(|| {
                Error::invalid(format!("{url}: expected the URL of a log file in a bucket, such as s3://bucket/drive.mcap"))
            })?;
        let store = Store::open_with(folder, options)?;
        Self::of_store(store, name).map_err(|error| error.at(url))
    }

    /// Opens an object of a store. Must be called on a thread that may block, inside a tokio runtime.
    ///
    /// # Errors
    /// - `NotFound`: there is no such object.
    /// - Errors of the store.
    pub fn of_store(store: Store, name: &str) -> Result<Self> {
        let runtime = Handle::try_current().map_err(|error| Error::unsupported(format!("outside of tokio: {error}")))?;
        let size = runtime.block_on(store.size(name))?;
        let url = format!("{}/{name}", store.url().trim_end_matches('/'));
        let input = Self::new(&url, size, Place::Remote { store, name: name.into(), runtime });
        input.requests.fetch_add(1, Ordering::Relaxed);
        Ok(input)
    }

    /// Returns the input of bytes in memory. Messages name it `name`.
    pub fn of_bytes(name: &str, bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self::new(name, bytes.len() as u64, Place::Memory(bytes))
    }

    fn new(url: &str, size: u64, place: Place) -> Self {
        let (requests, bytes, ahead) = (Arc::default(), Arc::default(), Arc::default());
        Self { url: url.into(), size, place: Arc::new(place), requests, bytes, ahead, cancel: Cancel::default(), fault: None }
    }

    /// Returns an input of the same name with other bytes, and what is wrong with them.
    pub(crate) fn replaced(&self, file: File, size: u64, fault: Option<String>) -> Self {
        let fault = fault.map(Into::into).or_else(|| self.fault.clone());
        Self { cancel: self.cancel.clone(), fault, ..Self::new(self.url(), size, Place::Unnamed(Mutex::new(file))) }
    }

    /// Returns the path of a local file whose bytes are these.
    pub(crate) fn local_path(&self) -> Option<&str> {
        match &*self.place {
            Place::Named(_) => Some(self.url()),
            _ => None,
        }
    }

    /// Whether the work goes on.
    ///
    /// # Errors
    /// - `Unavailable`: it was given up.
    pub(crate) fn check(&self) -> Result<()> {
        self.cancel.check()
    }

    /// Returns what is wrong with a file that was decompressed or copied.
    pub(crate) fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Returns a warning for each of these faults of the file, and for its own ([`Input::fault`]), which comes first.
    pub(crate) fn warnings(&self, faults: Vec<String>) -> Vec<String> {
        let all = self.fault().map(str::to_owned).into_iter().chain(faults);
        all.map(|fault| format!("{}: {fault}", self.url())).collect()
    }

    /// Returns the path or URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the requests so far and the bytes that they returned.
    pub fn requests(&self) -> (u64, u64) {
        (self.requests.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }

    /// Reads a range.
    ///
    /// # Errors
    /// - `Corrupt`: the range ends behind the file, or the file was cut meanwhile.
    /// - `Unsupported`: the range is longer than 2 GiB.
    /// - Errors of the file system or the store.
    pub fn read(&self, start: u64, len: u64) -> Result<Bytes> {
        if start.checked_add(len).is_none_or(|end| end > self.size) {
            let (url, size) = (&self.url, self.size);
            return Err(Error::corrupt(format!("{url}: expected {len} bytes at {start}, the file has {size} bytes")));
        }
        if len > MAX_READ {
            return Err(Error::unsupported(format!("{}: a record of {len} bytes at {start}: over {MAX_READ}", self.url)));
        }
        self.cancel.check()?;
        if let Some(bytes) = self.that_was_read_ahead((start, len)) {
            return Ok(bytes);
        }
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(len, Ordering::Relaxed);
        match &*self.place {
            Place::Memory(bytes) => {
                let at = usize::try_from(start).unwrap_or(usize::MAX);
                Ok(bytes.slice(at..at + usize::try_from(len).unwrap_or(usize::MAX)))
            }
            Place::Named(file) | Place::Unnamed(file) => {
                let mut bytes = vec![0; usize::try_from(len).unwrap_or(usize::MAX)];
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                let read = file.seek(SeekFrom::Start(start)).and_then(|_| file.read_exact(&mut bytes));
                read.map_err(|error| Error::from(error).at(format!("{}: {len} bytes at {start}", self.url)))?;
                Ok(bytes.into())
            }
            Place::Remote { store, name, runtime } => {
                let request = RangeRequest::new(Arc::clone(name), self.size, start..start + len);
                let mut found = runtime.block_on(store.read(&[request]))?;
                found.pop().ok_or_else(|| Error::internal("a read without an answer"))
            }
        }
    }
}

impl Input {
    /// Whether the bytes come from a store, so that reading ahead saves time.
    pub(crate) fn is_remote(&self) -> bool {
        matches!(&*self.place, Place::Remote { .. })
    }

    /// Fetches ranges from a store before they are read: many at a time, and those near each other by one request. Keeps them until the next
    /// call. A failure is that of the read that follows.
    pub(crate) fn read_ahead(&self, ranges: &[(u64, u64)]) {
        let Place::Remote { store, name, runtime } = &*self.place else { return };
        let lock = || self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        let is_inside = |(start, len): &(u64, u64)| start.checked_add(*len).is_some_and(|end| end <= self.size);
        let mut wanted: Vec<(u64, u64)> = ranges.iter().copied().filter(is_inside).collect();
        let mut kept = std::mem::take(&mut *lock());
        kept.retain(|(first, bytes)| wanted.iter().any(|range| has(*first, bytes, *range)));
        wanted.retain(|range| !kept.iter().any(|(first, bytes)| has(*first, bytes, *range)));
        let joined = ahead::joined(wanted);
        let request = |(start, len): &(u64, u64)| RangeRequest::new(Arc::clone(name), self.size, *start..*start + *len);
        let requests: Vec<RangeRequest> = joined.iter().map(request).collect();
        if !requests.is_empty() && self.cancel.check().is_ok() {
            self.requests.fetch_add(requests.len() as u64, Ordering::Relaxed);
            self.bytes.fetch_add(joined.iter().map(|(_, len)| *len).sum::<u64>(), Ordering::Relaxed);
            if let Ok(found) = runtime.block_on(store.read(&requests)) {
                kept.extend(joined.iter().map(|(start, _)| *start).zip(found));
            }
        }
        *lock() = kept;
    }

    fn that_was_read_ahead(&self, range: (u64, u64)) -> Option<Bytes> {
        let ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        let (first, bytes) = ahead.iter().find(|(first, bytes)| has(*first, bytes, range))?;
        let (at, len) = (usize::try_from(range.0 - first).ok()?, usize::try_from(range.1).ok()?);
        let found = bytes.slice(at..at + len);
        // A part of a range keeps all of it in memory.
        Some(if 2 * len < bytes.len() { Bytes::copy_from_slice(&found) } else { found })
    }
}

/// Whether bytes that begin at `first` have a range.
fn has(first: u64, bytes: &Bytes, (start, len): (u64, u64)) -> bool {
    start >= first && start + len <= first + bytes.len() as u64
}

/// Decompresses a file to a temporary one, which has no name and is gone with its last reader.
fn unpacked(packed: &Input) -> Result<Input> {
    let place = |error: Error| error.at(packed.url());
    let here = |error: io::Error| Error::from(error).at(format!("{}: decompressing to a temporary file", packed.url()));
    let mut file = tempfile::tempfile().map_err(here)?;
    let ranges = Ranges { input: packed, at: 0, failed: None };
    let mut decoder = zstd::stream::read::Decoder::with_buffer(BufReader::with_capacity(WINDOW, ranges)).map_err(here)?;
    let (mut size, mut bytes, mut fault) = (0_u64, vec![0; 1 << 20], None);
    loop {
        let read = match decoder.read(&mut bytes) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) => match decoder.get_mut().get_mut().failed.take() {
                Some(error) => return Err(place(error)),
                None => {
                    fault = Some(format!("the file is cut or damaged: zstd, behind {size} decompressed bytes: {error}"));
                    break;
                }
            },
        };
        file.write_all(&bytes[..read]).map_err(here)?;
        size += read as u64;
        if size > MAX_UNPACKED {
            return Err(place(Error::unsupported(format!("over {MAX_UNPACKED} bytes, decompressed"))));
        }
    }
    match fault {
        Some(fault) if size == 0 => Err(place(Error::corrupt(fault))),
        fault => Ok(packed.replaced(file, size, fault)),
    }
}

/// Reads an input from front to back.
struct Ranges<'a> {
    input: &'a Input,
    at: u64,
    failed: Option<Error>,
}

impl Read for Ranges<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let len = (self.input.size() - self.at).min(out.len() as u64);
        let read = self.input.read(self.at, len).map_err(|error| {
            let message = io::Error::other(error.to_string());
            self.failed = Some(error);
            message
        })?;
        out[..read.len()].copy_from_slice(&read);
        self.at += len;
        Ok(read.len())
    }
}
