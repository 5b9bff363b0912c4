//! The bytes of a log file: a local file, or an object of a store, read by ranges. Counts its requests.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use tetrys::{Error, Result, Store, StoreOptions, ingest::LocalFile, store::RangeRequest};
use tokio::runtime::Handle;

/// Maximum bytes of one read.
pub(crate) const MAX_READ: u64 = 2 << 30;

/// A file of a log, open for reading. Clones share it.
#[derive(Clone, Debug)]
pub struct Input {
    url: Arc<str>,
    size: u64,
    place: Arc<Place>,
    requests: Arc<AtomicU64>,
    bytes: Arc<AtomicU64>,
}

#[derive(Debug)]
enum Place {
    Local(Mutex<File>),
    Memory(Bytes),
    Remote { store: Store, name: Arc<str>, runtime: Handle },
}

impl Input {
    /// Opens a path or URL. Must be called on a thread that may block, inside a tokio runtime if the URL is remote.
    ///
    /// # Errors
    /// - `NotFound`: there is no such file.
    /// - `Invalid`, `Unsupported`: the path leads to something else than a file, or the URL is malformed.
    /// - Errors of the file system or the store.
    pub fn open(url: &str, options: &StoreOptions) -> Result<Self> {
        let local = match url.split_once("://") {
            None => Some(url),
            Some(("file", path)) => Some(path),
            Some(_) => None,
        };
        if let Some(path) = local {
            let file = LocalFile::regular(path, "a log file")?;
            let size = file.metadata().map_err(|error| Error::from(error).at(path))?.len();
            return Ok(Self::new(path, size, Place::Local(Mutex::new(file))));
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
        Self { url: url.into(), size, place: Arc::new(place), requests: Arc::default(), bytes: Arc::default() }
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
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(len, Ordering::Relaxed);
        match &*self.place {
            Place::Memory(bytes) => {
                let at = usize::try_from(start).unwrap_or(usize::MAX);
                Ok(bytes.slice(at..at + usize::try_from(len).unwrap_or(usize::MAX)))
            }
            Place::Local(file) => {
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
