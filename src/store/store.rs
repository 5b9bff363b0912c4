//! [`Store`]: bytes at names under one root, over any backend of `object_store`.
//!
//! Every read says how long its answer must be and gets exactly that or an error; every write is create-only. One request
//! goes to the backend per range (long ranges in parallel parts); ranges are never merged here, since that is the planner's
//! decision. Plain local directories are read without going through the backend.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::ops::Range;
use std::path::Path as FilePath;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::{Bytes, BytesMut};
use futures::stream::{self, FuturesUnordered, StreamExt, TryStreamExt};
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResult, GetResultPayload, ObjectStore, ObjectStoreExt, PutMode, PutPayload};

use super::failure::{self, Doing};
use super::local::{self, LocalFiles};
use super::name;
use super::ranges::{RangeRequest, SPLIT_ABOVE};
use crate::{Error, ErrorKind, Result};

/// Requests to the backend at a time, per call.
const CONCURRENT: usize = 64;
/// What one put may hold; more goes up in parts of this size.
const PART: u64 = 8 << 20;
/// Parts on their way at a time, and most parts of one upload.
const PARTS_AT_ONCE: usize = 4;
const MOST_PARTS: u64 = 10_000;
/// Local reads of at most so many ranges and bytes stay on the calling thread; others spread over a few.
const INLINE_RANGES: usize = 8;
const INLINE_BYTES: u64 = 4 << 20;
const READERS: usize = 4;

/// What became of a create-only write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// The object is new and durable.
    Created,
    /// An object of that name was there before; it was left as it is.
    AlreadyThere,
}

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
    inner: Arc<Inner>,
}

struct Inner {
    objects: Arc<dyn ObjectStore>,
    prefix: Path,
    url: String,
    /// Present where the objects are plain files of this machine.
    files: Option<LocalFiles>,
}

impl Store {
    /// Opens the store at a path, a `file://` URL or `memory://`. A directory need not exist yet: the first write makes it.
    ///
    /// `memory://` is a store of its own each time; `memory://NAME` is the same one within this process for as long as
    /// somebody holds it. What is written to a directory is synced to disk before the write is said to have happened.
    ///
    /// # Errors
    /// `Unsupported` naming the scheme for other schemes; `Invalid` for a URL or path that cannot be one.
    pub fn open(url: &str) -> Result<Self> {
        let Some((scheme, rest)) = url.split_once("://") else {
            return Self::open_path(FilePath::new(url));
        };
        match scheme {
            "file" => {
                let parsed = url::Url::parse(url).map_err(|error| Error::invalid(format!("URL {url}: {error}")))?;
                if parsed.query().is_some() || parsed.fragment().is_some() {
                    return Err(Error::invalid("a file URL has no query and no fragment; write `?` as %3F and `#` as %23"));
                }
                let path = parsed.to_file_path().map_err(|()| Error::invalid(format!("URL {url} is not a local path")))?;
                Self::open_path(&path)
            }
            "memory" => Ok(Self::new(memory(rest), Path::default(), url)),
            _ => Err(Error::unsupported(format!(
                "scheme `{}`: this build opens local paths, file:// and memory:// URLs",
                scheme.chars().take(32).collect::<String>()
            ))),
        }
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
        Self { inner: Arc::new(Inner { objects, prefix, url: failure::public_url(&url.into()), files: None }) }
    }

    fn open_path(path: &FilePath) -> Result<Self> {
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
        let backend = |error: object_store::Error| failure::backend(error, Doing::Reading, "", &url);
        let objects = LocalFileSystem::new_with_prefix(&there).map_err(backend)?.with_fsync(true);
        let prefix = Path::parse(missing.join("/")).map_err(|error| backend(error.into()))?;
        let files = Some(LocalFiles::new(root, url.clone()));
        Ok(Self { inner: Arc::new(Inner { objects: Arc::new(objects), prefix, url, files }) })
    }

    /// The URL of the root, without secrets.
    pub fn url(&self) -> &str {
        &self.inner.url
    }

    /// True where objects are plain files of this machine, so that [`Store::read_now`] answers.
    pub fn is_local(&self) -> bool {
        self.inner.files.is_some()
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
                false => Err(Error::corrupt(format!("{owned} in {url}: expected at most {limit} bytes, found {found}"))),
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
        self.inner
            .whole(name, move |found| match found == bytes {
                true => Ok(()),
                false => Err(failure::length(&owned, &url, "the whole object", bytes, found)),
            })
            .await
    }

    /// How many bytes an object holds.
    ///
    /// # Errors
    /// `NotFound`; `Denied`, `Unavailable` as the store answers.
    pub async fn size(&self, name: &str) -> Result<u64> {
        self.inner.size(name).await
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
        if self.inner.files.is_some() { self.inner.read_files(requests).await } else { self.inner.read_objects(requests).await }
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

    /// Writes an object that is not there yet; one that is there is left as it is.
    ///
    /// # Errors
    /// `OutcomeUnknown` if the object may be visible without being durable; `Unavailable` if the disk is full or the store
    /// does not answer (a remote store may then still have done it: read the name back); `Denied`.
    pub async fn put_new(&self, name: &str, payload: PutPayload) -> Result<Put> {
        let location = self.inner.locate(name)?;
        match self.inner.objects.put_opts(&location, payload, PutMode::Create.into()).await {
            Ok(_) => Ok(Put::Created),
            Err(object_store::Error::AlreadyExists { .. }) => self.inner.already_there(name).await,
            Err(error) => Err(self.inner.fail(error, Doing::Writing, name)),
        }
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
        let location = self.inner.locate(name)?;
        let file = Arc::new(file);
        if bytes <= PART {
            let payload = self.inner.file_part(name, &file, 0..bytes).await?;
            let put = self.put_new(name, payload.into()).await?;
            if put == Put::AlreadyThere {
                self.inner.same_size(name, bytes, self.size(name).await?)?;
            }
            return Ok(put);
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

    /// Every object of a folder (`""` is the root) and below it: names relative to the root, sizes in bytes, sorted by name.
    ///
    /// A folder that is not there is an empty one.
    ///
    /// # Errors
    /// `Denied`, `Unavailable` as the store answers.
    pub async fn list(&self, folder: &str) -> Result<Vec<(String, u64)>> {
        let mut names: Vec<_> = self.inner.listing(folder)?.try_collect().await?;
        names.sort_unstable();
        Ok(names)
    }

    /// The `count` names of a folder and below it that sort first, in order. Memory is bounded by `count`.
    ///
    /// # Errors
    /// As [`Store::list`].
    pub async fn list_first(&self, folder: &str, count: usize) -> Result<Vec<String>> {
        let mut first = BTreeSet::new();
        let mut listing = self.inner.listing(folder)?;
        // Backends do not promise an order, so the listing is read to its end.
        while let Some((name, _)) = listing.try_next().await? {
            first.insert(name);
            if first.len() > count {
                first.pop_last();
            }
        }
        Ok(first.into_iter().collect())
    }

    /// Deletes an object; one that is not there is fine.
    ///
    /// # Errors
    /// `Denied`, `Unavailable` as the store answers.
    pub async fn delete(&self, name: &str) -> Result<()> {
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

impl Inner {
    fn locate(&self, name: &str) -> Result<Path> {
        name::locate(&self.prefix, name).map_err(|error| error.at(&self.url))
    }

    fn fail(&self, error: object_store::Error, doing: Doing, name: &str) -> Error {
        failure::backend(error, doing, name, &self.url)
    }

    async fn size(self: &Arc<Self>, name: &str) -> Result<u64> {
        let location = self.locate(name)?;
        if let Some(files) = &self.files {
            return files.size(name);
        }
        Ok(self.objects.head(&location).await.map_err(|error| self.fail(error, Doing::Reading, name))?.size)
    }

    async fn whole(self: &Arc<Self>, name: &str, accept: impl FnOnce(u64) -> Result<()> + Send + 'static) -> Result<Bytes> {
        let location = self.locate(name)?;
        if self.files.is_some() {
            let (inner, name) = (Arc::clone(self), name.to_owned());
            return blocking(move || match &inner.files {
                Some(files) => files.read_whole(&name, accept),
                None => Err(Error::internal("a local store without its directory")),
            })
            .await;
        }
        let fail = |error| self.fail(error, Doing::Reading, name);
        let answer = self.objects.get_opts(&location, GetOptions::new()).await.map_err(fail)?;
        let bytes = answer.meta.size;
        accept(bytes)?;
        let wrong = |found| failure::length(name, &self.url, "the whole object", bytes, found);
        if answer.range != (0..bytes) {
            return Err(wrong(answer.range.end.saturating_sub(answer.range.start)));
        }
        let buffer = BytesMut::from(Bytes::from(failure::reserve(bytes, name, &self.url)?));
        Ok(fill(buffer, bytes, answer, fail, wrong).await?.freeze())
    }

    async fn read_files(self: &Arc<Self>, requests: &[RangeRequest]) -> Result<Vec<Bytes>> {
        let bytes = requests.iter().fold(0, |sum: u64, request| sum.saturating_add(request.bytes()));
        if requests.len() <= INLINE_RANGES && bytes <= INLINE_BYTES {
            return self.read_each(requests);
        }
        // A few runs of about equal bytes, each read by one thread in order.
        let share = bytes.div_ceil(READERS as u64).max(1);
        let mut runs: Vec<Vec<RangeRequest>> = vec![Vec::new()];
        let mut held = 0;
        for request in requests {
            if held >= share || runs.last().is_some_and(|run| run.len() > requests.len() / READERS) {
                runs.push(Vec::new());
                held = 0;
            }
            held += request.bytes();
            if let Some(run) = runs.last_mut() {
                run.push(request.clone());
            }
        }
        let reads = runs.into_iter().map(|run| {
            let inner = Arc::clone(self);
            blocking(move || inner.read_each(&run))
        });
        Ok(futures::future::try_join_all(reads).await?.into_iter().flatten().collect())
    }

    fn read_each(&self, requests: &[RangeRequest]) -> Result<Vec<Bytes>> {
        let files = self.files.as_ref().ok_or_else(|| Error::internal("a local store without its directory"))?;
        requests.iter().map(|request| files.read(request)).collect()
    }

    async fn read_objects(self: &Arc<Self>, requests: &[RangeRequest]) -> Result<Vec<Bytes>> {
        let mut fetches = Vec::new();
        let mut counts = Vec::with_capacity(requests.len());
        for request in requests {
            // The parts of one range are slices of one buffer, joined again without copying.
            let mut whole = match request.bytes() > SPLIT_ABOVE {
                true => Some(BytesMut::from(Bytes::from(failure::reserve(request.bytes(), &request.name, &self.url)?))),
                false => None,
            };
            let before = fetches.len();
            for part in request.parts() {
                let buffer = whole.as_mut().map(|whole| {
                    let rest =
                        whole.split_off(usize::try_from(part.end - part.start).unwrap_or(usize::MAX).min(whole.capacity()));
                    std::mem::replace(whole, rest)
                });
                fetches.push(Arc::clone(self).fetch(request.clone(), part, buffer));
            }
            counts.push(fetches.len() - before);
        }
        let parts: Vec<BytesMut> = stream::iter(fetches).buffered(CONCURRENT).try_collect().await?;
        let mut parts = parts.into_iter();
        Ok(counts
            .into_iter()
            .map(|count| {
                let mut whole = BytesMut::new();
                parts.by_ref().take(count).for_each(|part| whole.unsplit(part));
                whole.freeze()
            })
            .collect())
    }

    async fn fetch(self: Arc<Self>, request: RangeRequest, part: Range<u64>, buffer: Option<BytesMut>) -> Result<BytesMut> {
        let name = &*request.name;
        let location = self.locate(name)?;
        let options = GetOptions::new().with_range(Some(GetRange::Bounded(part.clone())));
        let answer = match self.objects.get_opts(&location, options).await {
            Ok(answer) => answer,
            Err(error) => {
                let error = self.fail(error, Doing::Reading, name);
                // Backends refuse a range that starts past the end each in its own words; the size tells them apart.
                return Err(match (error.kind(), self.size(name).await) {
                    (ErrorKind::Unavailable, Ok(found)) if found < request.object_bytes => request.short_object(&self.url, found),
                    _ => error,
                });
            }
        };
        if answer.meta.size < request.object_bytes {
            return Err(request.short_object(&self.url, answer.meta.size));
        }
        let bytes = part.end - part.start;
        let wrong = |found| request.wrong_answer(&self.url, &part, found);
        if answer.range != part {
            return Err(wrong(answer.range.end.saturating_sub(answer.range.start)));
        }
        let buffer = match buffer {
            Some(buffer) => buffer,
            None => BytesMut::from(Bytes::from(failure::reserve(bytes, name, &self.url)?)),
        };
        fill(buffer, bytes, answer, |error| self.fail(error, Doing::Reading, name), wrong).await
    }

    fn listing(&self, folder: &str) -> Result<stream::BoxStream<'_, Result<(String, u64)>>> {
        let folder_name = folder.to_owned();
        let location = name::locate_folder(&self.prefix, folder).map_err(|error| error.at(&self.url))?;
        let prefix = (!location.as_ref().is_empty()).then_some(&location);
        Ok(self
            .objects
            .list(prefix)
            .map_err(move |error| self.fail(error, Doing::Listing, &folder_name))
            .try_filter_map(move |object| async move {
                Ok(name::relative(&self.prefix, &object.location).map(|name| (name, object.size)))
            })
            .boxed())
    }

    /// An object another writer made: as durable as our own before we build on it.
    async fn already_there(self: &Arc<Self>, name: &str) -> Result<Put> {
        if self.files.is_some() {
            let (inner, name) = (Arc::clone(self), name.to_owned());
            blocking(move || inner.files.as_ref().map_or(Ok(()), |files| files.sync(&name))).await?;
        }
        Ok(Put::AlreadyThere)
    }

    fn same_size(&self, name: &str, expected: u64, found: u64) -> Result<()> {
        match expected == found {
            true => Ok(()),
            false => Err(failure::length(name, &self.url, "another object has this name", expected, found)),
        }
    }

    async fn file_part(self: &Arc<Self>, name: &str, file: &Arc<File>, range: Range<u64>) -> Result<Bytes> {
        let (inner, name, file) = (Arc::clone(self), name.to_owned(), Arc::clone(file));
        blocking(move || local::read_part(&file, &name, &inner.url, range)).await
    }

    async fn upload(self: &Arc<Self>, name: &str, location: &Path, file: &Arc<File>, bytes: u64) -> Result<()> {
        let fail = |error| self.fail(error, Doing::Writing, name);
        let mut upload = self.objects.put_multipart(location).await.map_err(fail)?;
        let part = PART.max(bytes.div_ceil(MOST_PARTS));
        let done = async {
            let mut sending = FuturesUnordered::new();
            let mut start = 0;
            while start < bytes {
                let end = (start + part).min(bytes);
                let payload = self.file_part(name, file, start..end).await?;
                if sending.len() >= PARTS_AT_ONCE {
                    sending.try_next().await.map_err(fail)?;
                }
                sending.push(upload.put_part(payload.into()));
                start = end;
            }
            while sending.try_next().await.map_err(fail)?.is_some() {}
            Ok(())
        }
        .await;
        if let Err(error) = done {
            // The failure is what the caller must hear of; what cannot be taken back is swept by the store's own rules.
            let _ = upload.abort().await;
            return Err(error);
        }
        upload.complete().await.map(|_| ()).map_err(fail)
    }
}

/// The body of `answer` behind what `buffer` holds: exactly `bytes` bytes, never more memory than that.
async fn fill(
    mut buffer: BytesMut,
    bytes: u64,
    answer: GetResult,
    fail: impl Fn(object_store::Error) -> Error,
    wrong: impl Fn(u64) -> Error,
) -> Result<BytesMut> {
    let mut found = 0;
    let mut body = match answer.payload {
        GetResultPayload::Stream(body) => body,
        // A file's own stream hops to another thread every 8 KiB.
        GetResultPayload::File(..) => stream::iter([Ok(answer.bytes().await.map_err(&fail)?)]).boxed(),
    };
    while let Some(piece) = body.try_next().await.map_err(&fail)? {
        found += piece.len() as u64;
        if found > bytes {
            return Err(wrong(found));
        }
        buffer.extend_from_slice(&piece);
    }
    if found == bytes { Ok(buffer) } else { Err(wrong(found)) }
}

/// Runs `work` where blocking is allowed: a thread of the runtime's pool if there is a runtime, this thread if not.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => match runtime.spawn_blocking(work).await {
            Ok(done) => done,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(error) => Err(Error::unavailable(format!("the runtime is shutting down: {error}"))),
        },
        Err(_) => work(),
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
