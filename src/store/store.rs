//! [`Store`]: bytes at names under one root, over any backend of `object_store`.
//!
//! Every read says how long its answer must be and gets exactly that or an error; every write is create-only. One request
//! goes to the backend per range (long ranges in parallel parts); ranges are never merged here, since that is the planner's
//! decision. Plain local directories are read without going through the backend.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::path::Path as FilePath;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutPayload};

use super::{
    allowed::Place,
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
    upload::PART,
};
use crate::{Error, ErrorKind, Result, error::counted, threads};

/// Bytes at names under one root: a local directory, memory, or any `object_store` backend. Clones share it.
///
/// Names are relative, of `A-Z a-z 0-9 . _ / -`; no part is empty, `.` or `..`.
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
    /// Present where reads go through the cache.
    trial: Option<Arc<Trial>>,
}

impl Store {
    /// Opens the store at a path or URL, with the options of the environment; see [`Store::open_with`].
    ///
    /// # Errors
    /// As [`Store::open_with`].
    pub fn open(url: &str) -> Result<Self> {
        Self::open_with(url, &StoreOptions::from_env())
    }

    /// Opens the store at a path or URL:
    ///
    /// | URL | store |
    /// |---|---|
    /// | a path, `file:///path` | a directory; it need not exist yet: the first write makes it |
    /// | `memory://`, `memory://NAME` | memory of its own each time; the same one within this process for as long as somebody holds it |
    /// | `s3://bucket/path` | S3, and what speaks its language at the option `endpoint` |
    /// | `gs://bucket/path` | Google Cloud Storage |
    /// | `az://container/path`, `abfss://container@account.dfs.core.windows.net/path` | Azure Blob Storage |
    /// | `http://host/path`, `https://host/path` | any web server that answers ranges; read only, and without listings: tables are opened as `URL@VERSION` |
    ///
    /// What is written to a directory is synced to disk before the write is said to have happened. Nothing is sent before
    /// the first read or write. Credentials of S3 come from the options, else the environment, else a profile of
    /// `~/.aws/config` and `~/.aws/credentials`, else from the machine; `skip_signature=true` reads public buckets.
    ///
    /// # Errors
    /// `Unsupported` naming the scheme for other schemes; `Invalid` for a URL or path that cannot be one or holds a secret,
    /// and for options that cannot be.
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
        threads::check()?;
        let Some((scheme, rest)) = url.split_once("://") else {
            return match url.strip_prefix("file:") {
                Some(path) => Self::open_path(FilePath::new(path), options),
                None => Self::open_path(FilePath::new(url), options),
            };
        };
        match scheme {
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
        Self { inner: Arc::new(inner), trial: None }
    }

    fn of_remote(remote: Remote, url: &str, options: &StoreOptions) -> Result<Self> {
        let Remote { objects, prefix, service, retry, wire, secrets, identity, single_writer, plain, machine } = remote;
        let (keeps_conditions, identity, secrets) = (Arc::default(), identity.into(), secrets.into());
        let remote = Some(Reached { service, retry, wire, secrets, identity, single_writer, plain, keeps_conditions, machine });
        let (url, cache) = (failure::public_url(url.trim_end_matches('/')), Cache::of(options)?);
        let (options, allowed) = (options.clone(), options.allowed_places()?.into());
        Ok(Self::of(Inner { objects, prefix, url, files: None, remote, cache, options, allowed }))
    }

    /// Whether tables in this store may refer to this place, as its options say.
    pub(crate) fn allows(&self, place: &Place) -> bool {
        self.inner.allowed.iter().any(|allowed| allowed.holds(place))
    }

    /// A store over `objects`, all names under `prefix`; `url` is what errors call it.
    ///
    /// User, password, query and fragment of `url` are dropped: they may be secret.
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
            return Err(Error::invalid("the path of a store is empty"));
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
        let objects = LocalFileSystem::new_with_prefix(&there).map_err(backend)?.with_fsync(true);
        let prefix = Path::parse(missing.join("/")).map_err(|error| backend(error.into()))?;
        let files = Some(LocalFiles::new(root, url.clone()));
        let (objects, options, allowed) = (Arc::new(objects), options.clone(), options.allowed_places()?.into());
        Ok(Self::of(Inner { objects, prefix, url, files, remote: None, cache: None, options, allowed }))
    }

    /// The URL of the root, without secrets.
    pub fn url(&self) -> &str {
        &self.inner.url
    }

    /// True where objects are plain files of this machine, so that [`Store::read_now`] answers.
    pub fn is_local(&self) -> bool {
        self.inner.files.is_some()
    }

    /// This store read through its cache, on trial: the answers are to be checked by whoever asks, who then says
    /// [`Store::keep`] or [`Store::reject`] of all answers of this handle. Only objects that are named by the hash of their
    /// content are ever kept. Without a cache ([`StoreOptions`]) this is the store itself.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// use tetrys::store::Store;
    /// let store = Store::open("memory://")?; // local stores have no cache
    /// store.put_new("chunks/aa/one", "sensor bytes".into()).await?;
    /// let trial = store.on_trial();
    /// let bytes = match trial.get_exact("chunks/aa/one", 12).await? {
    ///     good if good == "sensor bytes" => { trial.keep().await; good }
    ///     _ if trial.reject().await => store.get_exact("chunks/aa/one", 12).await?,
    ///     _ => panic!("damage in the store itself"),
    /// };
    /// assert_eq!(bytes, "sensor bytes");
    /// # Ok::<(), tetrys::Error>(()) }).unwrap();
    /// ```
    pub fn on_trial(&self) -> Self {
        let trial = self.inner.cache.as_ref().and_then(Trial::new).map(Arc::new);
        Self { inner: Arc::clone(&self.inner), trial }
    }

    /// Whether this store has a cache, so that [`Store::on_trial`] differs from it.
    pub fn is_cached(&self) -> bool {
        self.inner.cache.is_some()
    }

    /// The same store without its cache: what it answers is what is stored there.
    ///
    /// ```
    /// # let store = tetrys::Store::open("memory://")?;
    /// assert!(!store.uncached().is_cached());
    /// # Ok::<(), tetrys::Error>(())
    /// ```
    pub fn uncached(&self) -> Self {
        let Inner { objects, prefix, url, files: None, remote, cache: Some(_), options, allowed } = &*self.inner else {
            return self.clone();
        };
        let (objects, prefix, url) = (Arc::clone(objects), prefix.clone(), url.clone());
        let (remote, options, allowed) = (remote.clone(), options.clone(), Arc::clone(allowed));
        Self::of(Inner { objects, prefix, url, files: None, remote, cache: None, options, allowed })
    }

    /// Keeps what this handle has fetched: it was found to be right.
    pub async fn keep(&self) {
        if let Some(trial) = &self.trial {
            trial.keep().await;
        }
    }

    /// Drops what this handle has taken from the cache; true if that was anything, so that reading from the store itself may
    /// help.
    pub async fn reject(&self) -> bool {
        match &self.trial {
            Some(trial) => trial.reject().await,
            None => false,
        }
    }

    /// HTTP requests sent over this store's connections so far, retries included; `None` where the store is not remote.
    pub fn requests_sent(&self) -> Option<u64> {
        self.inner.remote.as_ref().map(|remote| remote.wire.sent())
    }

    /// The whole of an object of at most `limit` bytes; its size is checked before its body is read.
    ///
    /// # Errors
    /// `NotFound`; `Corrupt` if it holds more than `limit` bytes, or another number than the store says; `Denied`,
    /// `Unavailable` as the store answers.
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

    /// The whole of an object of exactly `bytes` bytes.
    ///
    /// # Errors
    /// `NotFound`; `Corrupt` naming the expected and the found length; `Denied`, `Unavailable` as the store answers.
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

    /// How many bytes an object holds.
    ///
    /// # Errors
    /// `NotFound`; `Denied`, `Unavailable` as the store answers.
    pub async fn size(&self, name: &str) -> Result<u64> {
        self.inner.size(name).await
    }

    /// When an object was written, by the store's clock: milliseconds since 1970-01-01T00:00Z.
    ///
    /// # Errors
    /// `NotFound`; `Denied`, `Unavailable` as the store answers.
    pub async fn modified(&self, name: &str) -> Result<i64> {
        let location = self.inner.locate(name)?;
        let found = reading(self.inner.objects.head(&location)).await;
        let found = found.map_err(|error| self.inner.fail(error, Doing::Reading, name))?;
        Ok(found.last_modified.timestamp_millis())
    }

    /// The bytes of every request, in order, each exactly as long as asked.
    ///
    /// An empty range costs no request, one of more than 12 MiB several in parallel, every other one exactly one; at most
    /// 64 are on their way at a time. Local files are read in place, large batches on a few threads of the runtime. Buffers
    /// are the caller's own: a small answer never keeps a large one alive.
    ///
    /// # Errors
    /// `Corrupt` naming the object, the range, the expected and the found length if a range is not inside its object, the
    /// object is shorter than said or the answer is not as long as asked; otherwise as [`Store::get`]. The first failure
    /// ends the call.
    pub async fn read(&self, requests: &[RangeRequest]) -> Result<Vec<Bytes>> {
        for request in requests {
            request.check(&self.inner.url)?;
        }
        match &self.trial {
            Some(trial) => trial.read(&self.inner, requests).await,
            None if self.inner.files.is_some() => self.inner.read_files(requests).await,
            None => self.inner.read_objects(requests).await,
        }
    }

    /// The bytes of one request, read on this thread; `None` where objects are not plain local files.
    ///
    /// # Errors
    /// As [`Store::read`].
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
    pub fn read_now(&self, request: &RangeRequest) -> Option<Result<Bytes>> {
        self.inner.files.as_ref().map(|files| files.read(request))
    }

    /// As [`Store::read_now`], into `parts` of memory, which are as long together as the range.
    pub(crate) fn read_into_now(&self, request: &RangeRequest, parts: [&mut [u8]; 2]) -> Option<Result<()>> {
        self.inner.files.as_ref().map(|files| files.read_into(request, parts))
    }

    /// Writes an object that is not there yet; one that is there is left as it is.
    ///
    /// # Errors
    /// `OutcomeUnknown` if the object may be visible without being durable; `Unavailable` if the disk is full or the store
    /// does not answer (a remote store may then still have done it: read the name back); `Denied`.
    pub async fn put_new(&self, name: &str, payload: PutPayload) -> Result<Put> {
        self.inner.beyond_http(Doing::Writing)?;
        let location = self.inner.locate(name)?;
        if self.inner.remote.as_ref().is_some_and(|remote| remote.single_writer) {
            // The store may not look before it writes, so this does; between the two nobody else writes, as promised.
            match self.inner.size(name).await {
                Ok(_) => return Ok(Put::AlreadyThere),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        match self.inner.objects.put_opts(&location, payload, PutMode::Create.into()).await {
            Ok(_) => Ok(Put::Created),
            Err(object_store::Error::AlreadyExists { .. }) => self.inner.already_there(name).await,
            Err(error) => Err(self.inner.fail(error, Doing::Writing, name)),
        }
    }

    /// Makes sure that create-only writes are create-only here: some servers that speak the language of S3 ignore the condition,
    /// and two writers would both be told that they won. A remote store is asked once, with an object below `sessions/` that is
    /// taken away again; local ones and memory are known.
    ///
    /// # Errors
    /// `Unsupported` where the store overwrites; the option `single_writer=true` promises that nobody else writes, and is
    /// believed. Otherwise as [`Store::put_new`].
    pub async fn ensure_create_only(&self) -> Result<()> {
        let Some(remote) = self.inner.remote.as_ref().filter(|remote| !remote.single_writer) else { return Ok(()) };
        let store = self.clone();
        let asked = async move {
            let name = format!("sessions/probe-{}", uuid::Uuid::new_v4());
            store.put_new(&name, "first".into()).await?;
            let second = store.put_new(&name, "second".into()).await;
            let _ = store.delete(&name).await;
            match second? {
                Put::AlreadyThere => Ok(()),
                Put::Created => Err(Error::unsupported(format!(
                    "{}: the store ignores create-only puts (If-None-Match): of two writers at a time both would win, and one \
                     would lose its rows; write elsewhere, or promise with the store option single_writer=true that nobody else \
                     writes",
                    store.inner.url
                ))),
            }
        };
        remote.keeps_conditions.get_or_load(|| Box::pin(asked)).await
    }

    /// Writes an object under a name that stands for its content.
    ///
    /// A name that is there with the same size is taken as the same content.
    ///
    /// # Errors
    /// `Corrupt` if the name is there with another size; otherwise as [`Store::put_new`].
    pub async fn put_content(&self, name: &str, content: Bytes) -> Result<Put> {
        let bytes = content.len() as u64;
        const TRIES: usize = 4;
        for _ in 0..TRIES {
            if self.put_new(name, content.clone().into()).await? == Put::Created {
                return Ok(Put::Created);
            }
            match self.size(name).await {
                // Garbage collection deleted it between the two.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                found => return self.inner.same_size(name, bytes, found?).map(|()| Put::AlreadyThere),
            }
        }
        Err(Error::unavailable(format!("{name} in {}: it is there and gone again; retry", self.inner.url)))
    }

    /// Writes the first `bytes` bytes of `file` under a name that stands for its content; more than 8 MiB go up in parts.
    ///
    /// A name that is there with the same size is taken as the same content. An upload in parts is not create-only, so this
    /// is for names made of a hash.
    ///
    /// # Errors
    /// `Corrupt` if the name is there with another size; `Invalid` if the file is shorter than `bytes`; otherwise as
    /// [`Store::put_new`]. Parts of a failed upload are taken back as far as the store allows.
    pub async fn put_file(&self, name: &str, file: File, bytes: u64) -> Result<Put> {
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

    /// Deletes an object; one that is not there is fine.
    ///
    /// # Errors
    /// `Denied`, `Unavailable` as the store answers.
    pub async fn delete(&self, name: &str) -> Result<()> {
        self.inner.beyond_http(Doing::Deleting)?;
        let location = self.inner.locate(name)?;
        let deleted = self.inner.objects.delete(&location).await;
        if let Some(files) = &self.inner.files {
            files.forget(name);
        }
        match deleted {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => match self.inner.fail(error, Doing::Deleting, name) {
                error if error.kind() == ErrorKind::NotFound => Ok(()),
                error => Err(error),
            },
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(&self.inner.url).finish()
    }
}

/// The store called `name` in this process's memory; a new one for the empty name.
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
