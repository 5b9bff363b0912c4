//! [`Store`]: objects under one root, in any backend of `object_store`.
//!
//! Every read states its length and returns exactly that many bytes or an error. Every write is create-only. The store sends one
//! request per byte range, and parallel requests for the parts of a long range. It never coalesces ranges: that is the task of
//! the planner. Objects in local directories are read as files, without the backend.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::Write;
use std::path::Path as FilePath;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutPayload};
use tokio::time::sleep;

use super::{
    allowed::Place,
    buffers,
    cache::{Cache, Trial},
    failure::{self, Doing},
    inner::{Inner, Put, Reached},
    local::{self, LocalFiles},
    options::StoreOptions,
    ranges::RangeRequest,
    remote::{
        backend::{self, Remote},
        wire::reading,
    },
    sent::Sent,
    upload::PART,
};
use crate::{
    Error, ErrorKind, Result,
    error::counted,
    id::Salt,
    machine,
    work::{blocking, check_threads},
};

/// Number of times that a put is sent again which is in conflict with another request (status 409). S3 asks for that.
const CONFLICTS: usize = 5;

/// A store of objects under one root: a local directory, memory, or any `object_store` backend. Clones share the store.
///
/// Names of objects are relative to the root and consist of `A-Z a-z 0-9 . _ / -`. No part of a name is empty, `.` or `..`. Any
/// other name is an `Invalid` error.
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// use tetrys::store::{Put, RangeRequest, Store};
///
/// let store = Store::open("memory://")?;
/// assert_eq!(store.put_new("chunks/aa/one", "sensor bytes".into()).await?, Put::Created);
/// assert_eq!(store.put_new("chunks/aa/one", "other bytes".into()).await?, Put::AlreadyThere);
/// let ranges = [RangeRequest::new("chunks/aa/one", 12, 0..6), RangeRequest::new("chunks/aa/one", 12, 7..12)];
/// assert_eq!(store.read(&ranges).await?, ["sensor", "bytes"]);
/// # Ok::<(), tetrys::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct Store {
    pub(super) inner: Arc<Inner>,
    /// Present if reads go through the cache.
    trial: Option<Arc<Trial>>,
    /// Counts what this handle sends.
    sent: Option<Arc<Sent>>,
    /// The salt of the objects that are stored through this handle.
    salt: Salt,
}

impl Store {
    /// Opens the store at a path or URL with the options of the environment. See [`Store::open_with`] for the URLs.
    ///
    /// # Errors
    /// - `Unsupported`: the scheme of the URL is unknown.
    /// - `Invalid`: the path or URL is malformed or contains a secret, or an option of the environment is invalid.
    /// - `Denied`: no credentials are configured, and the environment disables the metadata service of the machine.
    pub fn open(url: &str) -> Result<Self> {
        Self::open_with(url, &StoreOptions::from_env())
    }

    /// Opens the store at a path or URL:
    ///
    /// | URL | store |
    /// |---|---|
    /// | a path, `file:///path` | a directory; the first write creates it |
    /// | `memory://` | new, empty memory |
    /// | `memory://NAME` | memory that all stores with this name share within this process, until the last of them is dropped |
    /// | `s3://bucket/path` | S3, or a compatible server at the option `endpoint` |
    /// | `gs://bucket/path` | Google Cloud Storage |
    /// | `az://container/path`, `abfss://container@account.dfs.core.windows.net/path` | Azure Blob Storage |
    /// | `http://host/path`, `https://host/path` | a web server, read-only; without byte ranges, by whole objects of at most 256 MiB |
    ///
    /// A web server has no listings: open its tables as `URL@VERSION`.
    ///
    /// A write to a directory syncs the object to disk before it returns. The directory may be a link; folders below it that are
    /// links are neither written nor listed, and nothing behind them is deleted. The store sends no request before the first read or
    /// write. Credentials of S3 come from the options, else from the environment, else from a profile in `~/.aws/config` and
    /// `~/.aws/credentials`, else from the metadata service of the machine. The option `skip_signature=true` reads
    /// public buckets.
    ///
    /// # Errors
    /// - `Unsupported`: the scheme of the URL is unknown.
    /// - `Invalid`: the path or URL is malformed or contains a secret, or an option is unknown or invalid.
    /// - `Denied`: no credentials are configured, and the options exclude the metadata service of the machine.
    ///
    /// ```
    /// use tetrys::store::{Store, StoreOptions};
    ///
    /// let options = StoreOptions::new([("region", "eu-west-1"), ("skip_signature", "true")]);
    /// let store = Store::open_with("s3://bucket/tables/sensors", &options)?;
    /// assert_eq!(store.url(), "s3://bucket/tables/sensors");
    /// # Ok::<(), tetrys::Error>(())
    /// ```
    pub fn open_with(url: &str, options: &StoreOptions) -> Result<Self> {
        check_threads()?;
        buffers::check()?;
        failure::open_files_limit();
        options.check()?;
        let Some((scheme, rest)) = url.split_once("://") else {
            return match url.strip_prefix("file:") {
                Some(path) => Self::open_path(FilePath::new(path), options),
                None => Self::open_path(FilePath::new(url), options),
            };
        };
        match scheme {
            // It would be the root of the file system.
            "file" if rest.is_empty() => Err(Error::invalid("URL file://: expected a path behind it, as in file:///data/table")),
            "file" => {
                let parsed = url::Url::parse(url).map_err(|error| Error::invalid(format!("URL {url}: {error}")))?;
                if parsed.query().is_some() || parsed.fragment().is_some() {
                    return Err(Error::invalid("a file URL has no query and no fragment; write `?` as %3F and `#` as %23"));
                }
                let path = parsed.to_file_path().map_err(|()| Error::invalid(format!("URL {url} is not a local path")))?;
                Self::open_path(&path, options)
            }
            "memory" => {
                let allowed = options.allowed_places()?.into();
                let (objects, prefix, url, options) = (memory(rest), Path::default(), url.to_owned(), options.ambient());
                Ok(Self::of(Inner { objects, prefix, url, files: None, remote: None, cache: None, options, allowed }))
            }
            _ => match backend::service(scheme) {
                Some(service) => Self::of_remote(backend::open(url, service, options)?, url, options),
                None => Err(Error::unsupported(format!(
                    "scheme `{}`: expected a path, or a URL that begins with file://, s3://, gs://, az://, abfss://, http://, \
                     https:// or memory://",
                    scheme.chars().take(32).collect::<String>()
                ))),
            },
        }
    }

    pub(super) fn of(inner: Inner) -> Self {
        Self { inner: Arc::new(inner), trial: None, sent: None, salt: Salt::NONE }
    }

    fn of_remote(remote: Remote, url: &str, options: &StoreOptions) -> Result<Self> {
        let Remote { objects, bulk, prefix, service, retry, wire, secrets, identity, single_writer, plain, machine, allowed } =
            remote;
        let (keeps_conditions, identity, secrets) = (Arc::default(), identity.into(), secrets.into());
        let remote = Some(Reached {
            service,
            retry,
            wire,
            secrets,
            identity,
            single_writer,
            plain,
            keeps_conditions,
            machine,
            bulk,
            wholes: Arc::default(),
        });
        let (url, cache) = (failure::public_url(url.trim_end_matches('/')), Cache::of(options)?);
        let (options, allowed) = (options.clone(), allowed.into());
        Ok(Self::of(Inner { objects, prefix, url, files: None, remote, cache, options, allowed }))
    }

    /// Whether the options allow tables in this store to refer to this place.
    pub(crate) fn allows(&self, place: &Place) -> bool {
        self.inner.allowed.iter().any(|allowed| allowed.holds(place))
    }

    /// Creates a store over `objects`, with all names under `prefix`. Error messages show `url`.
    ///
    /// User, password, query and fragment of `url` are removed, because they may be secret. Before you build an `object_store` client
    /// of a remote service, call [`install_crypto_provider`](super::install_crypto_provider).
    ///
    /// ```
    /// use std::sync::Arc;
    /// let objects = Arc::new(object_store::memory::InMemory::new());
    /// let store = tetrys::store::Store::new(objects, "tables/one".into(), "s3://key:secret@bucket/tables/one");
    /// assert_eq!(store.url(), "s3://bucket/tables/one");
    /// assert!(!store.is_local());
    /// ```
    pub fn new(objects: Arc<dyn ObjectStore>, prefix: Path, url: impl Into<String>) -> Self {
        let (url, options) = (failure::public_url(&url.into()), StoreOptions::from_env());
        let allowed = options.allowed_places().unwrap_or_default().into();
        Self::of(Inner { objects, prefix, url, files: None, remote: None, cache: None, options, allowed })
    }

    fn open_path(path: &FilePath, options: &StoreOptions) -> Result<Self> {
        if path.as_os_str().is_empty() {
            return Err(Error::invalid("expected a path or URL, found an empty text"));
        }
        let (there, missing) = local::resolve(path)?;
        let root = there.join(missing.iter().collect::<std::path::PathBuf>());
        let url = match url::Url::from_file_path(&root) {
            Ok(url) => url.to_string(),
            Err(()) => return Err(Error::invalid(format!("path {} cannot be written as a URL", root.display()))),
        };
        if !there.is_dir() {
            return Err(Error::invalid(format!("{url}: {} is not a directory", there.display())));
        }
        let backend = |error: object_store::Error| failure::backend(error, Doing::Reading, "", &url, &[]);
        // Only questions for times go through this backend: see `folders/`.
        let objects = LocalFileSystem::new_with_prefix(&there).map_err(backend)?;
        let prefix = Path::parse(missing.join("/")).map_err(|error| backend(error.into()))?;
        let files = Some(LocalFiles::new(root, url.clone(), options.reads_direct()?));
        let (objects, options, allowed) = (Arc::new(objects), options.clone(), options.allowed_places()?.into());
        Ok(Self::of(Inner { objects, prefix, url, files, remote: None, cache: None, options, allowed }))
    }

    /// Returns the URL of the root, without secrets.
    pub fn url(&self) -> &str {
        &self.inner.url
    }

    /// Whether the objects are local files.
    pub fn is_local(&self) -> bool {
        self.inner.files.is_some()
    }

    /// Whether the objects are local files that are read past the page cache (option `cold_reads`).
    pub(super) fn reads_direct(&self) -> bool {
        self.inner.files.as_ref().is_some_and(LocalFiles::is_direct)
    }

    internal! {
        /// Returns a handle that reads through the cache, on trial. The caller checks the bytes and then calls [`Store::admit`] if all
        /// reads of this handle were good, or [`Store::reject`] if not. The cache only stores objects whose name is the hash of their
        /// content. Without a cache ([`StoreOptions`]), the handle is the same as this store.
        ///
        /// ```
        /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
        /// use tetrys::store::Store;
        /// let store = Store::open("memory://")?; // local stores have no cache
        /// store.put_new("chunks/aa/one", "sensor bytes".into()).await?;
        /// let trial = store.on_trial();
        /// let bytes = match trial.get_exact("chunks/aa/one", 12).await? {
        ///     good if good == "sensor bytes" => { trial.admit().await; good }
        ///     _ if trial.reject().await => store.get_exact("chunks/aa/one", 12).await?,
        ///     _ => panic!("damage in the store itself"),
        /// };
        /// assert_eq!(bytes, "sensor bytes");
        /// # Ok::<(), tetrys::Error>(()) }).unwrap();
        /// ```
        fn on_trial(&self) -> Self {
            let trial = self.inner.cache.as_ref().and_then(Trial::new).map(Arc::new);
            Self { trial, ..self.clone() }
        }
    }

    /// Returns a handle of the same store whose objects get this salt.
    pub(crate) fn salted(&self, salt: Salt) -> Self {
        Self { salt, ..self.clone() }
    }

    /// Returns the salt of the objects that are stored through this handle.
    pub(crate) fn salt(&self) -> Salt {
        self.salt
    }

    /// Returns a handle whose reads of byte ranges are counted in `sent`.
    pub(super) fn count_in(&mut self, sent: &Arc<Sent>) {
        self.sent = Some(Arc::clone(sent));
    }

    fn sends(&self, request: &RangeRequest) {
        if let Some(sent) = &self.sent {
            sent.add(request.bytes());
        }
    }

    internal! {
        /// Whether this store has a cache.
        fn is_cached(&self) -> bool {
            self.inner.cache.is_some()
        }
    }

    internal! {
        /// Returns the same store without its cache.
        ///
        /// ```
        /// # let store = tetrys::Store::open("memory://")?;
        /// assert!(!store.uncached().is_cached());
        /// # Ok::<(), tetrys::Error>(())
        /// ```
        fn uncached(&self) -> Self {
            let Inner { objects, prefix, url, files: None, remote, cache: Some(_), options, allowed } = &*self.inner else {
                return self.clone();
            };
            let (objects, prefix, url) = (Arc::clone(objects), prefix.clone(), url.clone());
            let (remote, options, allowed) = (remote.clone(), options.clone(), Arc::clone(allowed));
            Self::of(Inner { objects, prefix, url, files: None, remote, cache: None, options, allowed })
        }
    }

    internal! {
        /// Adds the bytes that this handle fetched to the cache. The caller has checked them.
        async fn admit(&self) {
            if let Some(trial) = &self.trial {
                trial.admit().await;
            }
        }
    }

    internal! {
        /// Evicts from the cache what this handle read from there. Returns whether that was anything, so that reading from the store
        /// itself may help.
        async fn reject(&self) -> bool {
            match &self.trial {
                Some(trial) => trial.reject().await,
                None => false,
            }
        }
    }

    internal! {
        /// Returns the number of HTTP requests that this store has sent, including retries; `None` if the store is not remote.
        fn requests_sent(&self) -> Option<u64> {
            self.inner.remote.as_ref().map(|remote| remote.wire.sent())
        }
    }

    /// Reads an object of at most `limit` bytes. The size is checked before the body is read.
    ///
    /// # Errors
    /// - `NotFound`: the object does not exist.
    /// - `Corrupt`: the object has more than `limit` bytes, or the body has another length than the store announced.
    /// - `Denied`, `Unavailable`: the store refuses or does not answer.
    pub async fn get(&self, name: &str, limit: u64) -> Result<Bytes> {
        let url = self.inner.url.clone();
        let owned = name.to_owned();
        self.inner
            .whole(name, move |found| match found <= limit {
                true => Ok(()),
                false => {
                    Err(Error::corrupt(format!("{owned} in {url}: expected at most {}, found {found}", counted(limit, "byte"))))
                }
            })
            .await
    }

    /// Reads an object of exactly `bytes` bytes.
    ///
    /// # Errors
    /// - `NotFound`: the object does not exist.
    /// - `Corrupt`: the object has another length. The message names the expected and the found length.
    /// - `Denied`, `Unavailable`: the store refuses or does not answer.
    pub async fn get_exact(&self, name: &str, bytes: u64) -> Result<Bytes> {
        let url = self.inner.url.clone();
        let owned = name.to_owned();
        let fetch = self.inner.whole(name, move |found| match found == bytes {
            true => Ok(()),
            false => Err(failure::length(&owned, &url, "the whole object", bytes, found)),
        });
        match &self.trial {
            Some(trial) => trial.whole(&self.inner, RangeRequest::new(name, bytes, 0..bytes), fetch).await,
            None => fetch.await,
        }
    }

    /// Returns the size of an object in bytes.
    ///
    /// # Errors
    /// - `NotFound`: the object does not exist.
    /// - `Denied`, `Unavailable`: the store refuses or does not answer.
    pub async fn size(&self, name: &str) -> Result<u64> {
        self.inner.size(name).await
    }

    /// Returns the time at which an object was written, by the clock of the store: milliseconds since 1970-01-01T00:00Z.
    ///
    /// # Errors
    /// - `NotFound`: the object does not exist.
    /// - `Denied`, `Unavailable`: the store refuses or does not answer.
    pub async fn modified(&self, name: &str) -> Result<i64> {
        let location = self.inner.locate(name)?;
        let found = reading(self.inner.objects.head(&location)).await;
        let found = found.map_err(|error| self.inner.fail(error, Doing::Reading, name))?;
        Ok(found.last_modified.timestamp_millis())
    }

    /// Reads byte ranges. Returns one buffer per request, in order, of exactly the requested length.
    ///
    /// An empty range needs no request. A range of more than 12 MiB needs several parallel requests, any other range exactly one.
    /// At most 64 requests run at a time. Local files are read without a backend, large batches on a few blocking threads. Each
    /// range has a buffer of its own: a small result never keeps a large buffer alive.
    ///
    /// # Errors
    /// The first failure ends the call.
    /// - `NotFound`: an object does not exist.
    /// - `Corrupt`: a range exceeds its object, an object is shorter than stated, or the answer has another length than
    ///   requested. The message names the object, the range, the expected and the found length.
    /// - `Invalid`: a range has more than 4 GiB.
    /// - `Denied`, `Unavailable`: the store refuses or does not answer.
    #[tracing::instrument(level = "debug", name = "fetch", skip_all, fields(url = self.url(), ranges = requests.len()))]
    pub async fn read(&self, requests: &[RangeRequest]) -> Result<Vec<Bytes>> {
        for request in requests {
            request.check(&self.inner.url)?;
        }
        match &self.trial {
            Some(trial) => trial.read(&self.inner, requests, self.sent.as_ref()).await,
            None if self.inner.files.is_some() => {
                requests.iter().for_each(|request| self.sends(request));
                match self.reads_direct() {
                    true => self.inner.read_direct(requests).await,
                    false => self.inner.read_files(requests).await,
                }
            }
            None => self.inner.read_objects(requests, self.sent.as_ref()).await,
        }
    }

    internal! {
        /// Reads one byte range on the calling thread; `None` if the objects are not local files.
        ///
        /// # Errors
        /// - `NotFound`: the object does not exist.
        /// - `Corrupt`: the range exceeds the object, or the object is shorter than stated.
        /// - `Invalid`: the range has more than 4 GiB.
        /// - `Denied`, `Unavailable`: the file system refuses or fails.
        ///
        /// ```
        /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
        /// use tetrys::store::{RangeRequest, Store};
        ///
        /// # let folder = tempfile::tempdir().unwrap();
        /// # let path = folder.path().to_str().unwrap();
        /// let store = Store::open(path)?;
        /// store.put_new("attachments/map", "0123456789".into()).await?;
        /// let middle = store.read_now(&RangeRequest::new("attachments/map", 10, 3..6)).expect("a local store")?;
        /// assert_eq!(middle, "345");
        /// # Ok::<(), tetrys::Error>(()) }).unwrap();
        /// ```
        fn read_now(&self, request: &RangeRequest) -> Option<Result<Bytes>> {
            let files = self.inner.files.as_ref()?;
            self.sends(request);
            Some(files.read(request))
        }
    }

    internal! {
        /// Returns the number of ranges that were read from local files, through this handle and its clones; 0 if the objects are not
        /// local files.
        fn file_reads(&self) -> u64 {
            self.inner.files.as_ref().map_or(0, |files| files.reads())
        }
    }

    /// Whether reading a range of a local file would wait for the disk; `false` if unknown.
    pub(crate) fn is_cold_now(&self, request: &RangeRequest) -> bool {
        self.inner.files.as_ref().is_some_and(|files| files.is_cold(request))
    }

    /// Starts to read a range of a local file into the page cache and does not wait for it.
    pub(crate) fn prefetch_now(&self, request: &RangeRequest) {
        if let Some(files) = self.inner.files.as_ref() {
            files.prefetch(request);
        }
    }

    /// Reads one byte range into `parts`, on the calling thread; `None` if the objects are not local files. The parts together
    /// are as long as the range.
    pub(crate) fn read_into_now(&self, request: &RangeRequest, parts: [&mut [u8]; 2]) -> Option<Result<()>> {
        let files = self.inner.files.as_ref()?;
        self.sends(request);
        Some(files.read_into(request, parts))
    }

    /// Writes an object if no object of this name exists. An existing object is not changed.
    ///
    /// # Errors
    /// - `OutcomeUnknown`: the object may be visible without being durable.
    /// - `Unavailable`: the disk is full, or the store does not answer. A remote store may still have written the object: read
    ///   the name back.
    /// - `Denied`: the store refuses, or a folder below the root of a local directory is a link.
    /// - `Unsupported`: the store is a web server, or the file system can neither link nor rename without replacing.
    pub async fn put_new(&self, name: &str, payload: PutPayload) -> Result<Put> {
        self.inner.beyond_http(Doing::Writing)?;
        let location = self.inner.locate(name)?;
        if self.inner.remote.as_ref().is_some_and(|remote| remote.single_writer) {
            // The store cannot write conditionally, so the size is requested first. `single_writer` promises that no other writer
            // writes between the two requests.
            match self.inner.size(name).await {
                Ok(_) => return Ok(Put::AlreadyThere),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        if self.inner.files.is_some() {
            let owned = name.to_owned();
            let put = self.inner.on_disk(move |files| {
                let disk = |error: std::io::Error| failure::disk(&error, Doing::Writing, &owned, files.url());
                files.put(&owned, |out| payload.iter().try_for_each(|part| out.write_all(part)).map_err(disk))
            });
            return match put.await? {
                Some(Put::AlreadyThere) => self.inner.already_there(name).await,
                _ => Ok(Put::Created),
            };
        }
        let retry = self.inner.remote.as_ref().map(|remote| &remote.retry);
        let mut wait = retry.map_or(Duration::ZERO, |retry| retry.backoff.init_backoff);
        for tries_left in (0..=retry.map_or(0, |retry| retry.max_retries.min(CONFLICTS))).rev() {
            let error = match self.inner.objects.put_opts(&location, payload.clone(), PutMode::Create.into()).await {
                Ok(_) => return Ok(Put::Created),
                Err(error) => error,
            };
            let is_other = failure::is_other_conflict(&error);
            if matches!(error, object_store::Error::AlreadyExists { .. }) && !is_other {
                return self.inner.already_there(name).await;
            }
            let error = self.inner.fail(error, Doing::Writing, name);
            // The backend may have sent the put before: then the caller looks first whether it has arrived.
            let is_final = !is_other || error.kind() != ErrorKind::Unavailable || failure::was_sent_again(&error);
            if tries_left == 0 || is_final {
                return Err(error);
            }
            sleep(wait).await;
            wait *= 2;
        }
        Err(Error::internal(format!("{name} in {}: no put was sent", self.inner.url)))
    }

    internal! {
        /// Checks that the store honours create-only writes. Some S3-compatible servers ignore the condition, and then two concurrent
        /// writers would both win. The check writes and deletes an object below `sessions/`, once per remote store. Local directories
        /// and memory need no check.
        ///
        /// # Errors
        /// - `Unsupported`: the store overwrites objects. The option `single_writer=true` skips the check: it promises that there are
        ///   no other writers.
        /// - `OutcomeUnknown`, `Unavailable`, `Denied`: the check could not write or delete its object.
        async fn ensure_create_only(&self) -> Result<()> {
            let Some(remote) = self.inner.remote.as_ref().filter(|remote| !remote.single_writer) else { return Ok(()) };
            let store = self.clone();
            let asked = async move {
                let name = format!("sessions/probe-{}", machine::new_id());
                store.put_new(&name, "first".into()).await?;
                let second = store.put_new(&name, "second".into()).await;
                let _ = store.delete(&name).await;
                match second? {
                    Put::AlreadyThere => Ok(()),
                    Put::Created => Err(Error::unsupported(format!(
                        "{}: the store ignores create-only puts (If-None-Match): two concurrent writers would both win, and one \
                         would lose its rows; write to another store, or promise with the store option single_writer=true that there \
                         are no other writers",
                        store.inner.url
                    ))),
                }
            };
            remote.keeps_conditions.get_or_load(|| Box::pin(asked)).await
        }
    }

    internal! {
        /// Writes an object under a name derived from its content.
        ///
        /// An existing object of this name and size counts as the same content.
        ///
        /// # Errors
        /// - `Corrupt`: an object of this name exists with another size.
        /// - `OutcomeUnknown`: the object may be visible without being durable.
        /// - `Unavailable`: the disk is full, or the store does not answer.
        /// - `Denied`: the store refuses.
        async fn put_content(&self, name: &str, content: Bytes) -> Result<Put> {
            let bytes = content.len() as u64;
            const TRIES: usize = 4;
            for _ in 0..TRIES {
                if self.put_new(name, content.clone().into()).await? == Put::Created {
                    return Ok(Put::Created);
                }
                match self.size(name).await {
                    // Garbage collection deleted the object between the two requests.
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    found => return self.inner.same_size(name, bytes, found?).map(|()| Put::AlreadyThere),
                }
            }
            Err(Error::unavailable(format!("{name} in {}: the object keeps disappearing; retry", self.inner.url)))
        }
    }

    internal! {
        /// Writes the first `bytes` bytes of `file` under a name derived from its content. More than 8 MiB become a multipart upload.
        ///
        /// An existing object of this name and size counts as the same content. A multipart upload is not create-only, so the name
        /// must be derived from the content. A failed upload is aborted, which removes its parts if the store allows it.
        ///
        /// # Errors
        /// - `Corrupt`: an object of this name exists with another size.
        /// - `Invalid`: the file is shorter than `bytes`.
        /// - `OutcomeUnknown`: the object may be visible without being durable.
        /// - `Unavailable`: the disk is full, or the store does not answer.
        /// - `Denied`: the store refuses.
        async fn put_file(&self, name: &str, file: File, bytes: u64) -> Result<Put> {
            self.inner.beyond_http(Doing::Writing)?;
            let location = self.inner.locate(name)?;
            let file = Arc::new(file);
            if bytes <= PART {
                let payload = self.inner.file_part(name, &file, 0..bytes).await?;
                return self.put_content(name, payload).await;
            }
            match self.size(name).await {
                Ok(found) => {
                    self.inner.same_size(name, bytes, found)?;
                    return self.inner.already_there(name).await;
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            self.inner.upload(name, &location, &file, bytes).await.map(|()| Put::Created)
        }
    }

    /// Replaces a damaged object by its content, or writes it if it does not exist. Objects never change: `content` is what the object
    /// had when it was written. At no time is there part of it.
    ///
    /// # Errors
    /// - `OutcomeUnknown`: the object may be visible without being durable.
    /// - `Denied`, `Unavailable`: as for [`Store::put_new`].
    /// - `Invalid`: a folder has the name.
    /// - `Unsupported`: the store is a web server.
    pub(crate) async fn replace(&self, name: &str, content: Bytes) -> Result<()> {
        self.inner.beyond_http(Doing::Writing)?;
        let location = self.inner.locate(name)?;
        let (owned, copy, bytes) = (name.to_owned(), content.clone(), content.len() as u64);
        if let Some(()) = self.inner.on_disk(move |files| files.replace(&owned, &copy)).await? {
            return Ok(());
        }
        if bytes <= PART {
            let put = self.inner.objects.put_opts(&location, content.into(), PutMode::Overwrite.into()).await;
            return put.map(drop).map_err(|error| self.inner.fail(error, Doing::Writing, name));
        }
        // A whole chunk in one request may take longer than a request may.
        let file = blocking(move || {
            let written = tempfile::tempfile().and_then(|mut file| file.write_all(&content).map(|()| file));
            written.map_err(|error| Error::from(error).at("a temporary file for an object"))
        });
        self.inner.upload(name, &location, &Arc::new(file.await?), bytes).await
    }

    /// Makes the names in a folder durable. On local file systems a power cut may bring back a file that was deleted, and lose one that
    /// another process has made and not synced yet.
    ///
    /// # Errors
    /// - `Denied`, `Unavailable`: the file system refuses, or fails.
    pub(crate) async fn settle(&self, folder: &'static str) -> Result<()> {
        self.inner.on_disk(move |files| files.settle(folder)).await.map(drop)
    }

    /// Closes the open files of a local store. The next read of each opens it again, and finds it repaired if it was.
    pub(crate) fn close_files(&self) {
        if let Some(files) = &self.inner.files {
            files.forget_all();
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(&self.inner.url).finish()
    }
}

/// Returns the in-memory store `name` of this process; a new one if the name is empty.
fn memory(name: &str) -> Arc<InMemory> {
    static NAMED: Mutex<BTreeMap<String, Weak<InMemory>>> = Mutex::new(BTreeMap::new());
    let name = name.trim_matches('/');
    if name.is_empty() {
        return Arc::new(InMemory::new());
    }
    let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
    named.retain(|_, store| store.strong_count() > 0);
    if let Some(store) = named.get(name).and_then(Weak::upgrade) {
        return store;
    }
    let store = Arc::new(InMemory::new());
    named.insert(name.to_owned(), Arc::downgrade(&store));
    store
}
