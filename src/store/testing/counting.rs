//! [`CountingStore`]: a backend that counts requests, so that tests can compare the requests of a plan with those that a
//! store saw.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{BoxStream, StreamExt};
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetRange, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions,
    PutOptions, PutPayload, PutResult, RenameOptions, Result, UploadPart,
};

use super::body;

/// The counts of a [`CountingStore`] since it was created or reset. Failed requests count too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// All GETs with a body, in the order of their answers.
    pub gets: Vec<Get>,
    /// Number of HEAD requests.
    pub heads: u64,
    /// Number of puts of whole objects.
    pub puts: u64,
    /// Number of multipart uploads that began.
    pub uploads: u64,
    /// Number of parts of multipart uploads.
    pub parts: u64,
    /// Number of completed multipart uploads.
    pub completes: u64,
    /// Number of aborted multipart uploads.
    pub aborts: u64,
    /// Number of listings; a listing of several pages counts once.
    pub lists: u64,
    /// Number of deleted objects.
    pub deletes: u64,
    /// Number of copies.
    pub copies: u64,
    /// Number of renames.
    pub renames: u64,
    /// Number of requests that failed.
    pub failed: u64,
    /// Bytes of the bodies of all GETs.
    pub bytes_read: u64,
    /// Bytes of all puts and parts.
    pub bytes_written: u64,
}

/// One GET with a body.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Get {
    /// Path of the object in the backend.
    pub path: String,
    /// Range of the answer; for a failed GET, the requested range.
    pub range: Range<u64>,
    /// Bytes of the answer; 0 if the GET failed.
    pub bytes: u64,
}

impl fmt::Display for Get {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}..{}", self.path, self.range.start, self.range.end)
    }
}

impl Counts {
    /// Returns the number of all requests.
    pub fn requests(&self) -> u64 {
        let Self { gets, heads, puts, uploads, parts, completes, aborts, lists, deletes, copies, renames, .. } = self;
        gets.len() as u64 + heads + puts + uploads + parts + completes + aborts + lists + deletes + copies + renames
    }
}

/// A backend that counts the requests to another backend. Clones share the counts.
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// use std::sync::Arc;
/// use tetrys::store::{CountingStore, RangeRequest, Store};
///
/// let counting = CountingStore::new(object_store::memory::InMemory::new());
/// let store = Store::new(Arc::new(counting.clone()), "".into(), "memory://");
/// store.put_new("a", "0123456789".into()).await?;
/// store.read(&[RangeRequest::new("a", 10, 2..5), RangeRequest::new("a", 10, 7..7)]).await?;
///
/// let counts = counting.reset();
/// assert_eq!((counts.puts, counts.bytes_written, counts.bytes_read), (1, 10, 3));
/// assert_eq!(counts.gets.iter().map(|get| get.to_string()).collect::<Vec<_>>(), ["a 2..5"]);
/// assert_eq!(counting.snapshot().requests(), 0);
/// # Ok::<(), tetrys::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct CountingStore {
    inner: Arc<dyn ObjectStore>,
    counts: Shared,
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Counts>>);

impl CountingStore {
    /// Wraps `inner`.
    pub fn new(inner: impl ObjectStore) -> Self {
        Self { inner: Arc::new(inner), counts: Shared::default() }
    }

    /// Returns the counts.
    pub fn snapshot(&self) -> Counts {
        self.counts.lock().clone()
    }

    /// Returns the counts and resets them to zero.
    pub fn reset(&self) -> Counts {
        std::mem::take(&mut *self.counts.lock())
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, count: impl FnOnce(&mut Counts)) {
        count(&mut self.lock());
    }

    fn seen<T>(&self, result: Result<T>) -> Result<T> {
        if result.is_err() {
            self.lock().failed += 1;
        }
        result
    }

    fn listed<T: 'static>(&self, items: BoxStream<'static, Result<T>>) -> BoxStream<'static, Result<T>> {
        let counts = self.clone();
        items.map(move |item| counts.seen(item)).boxed()
    }
}

impl fmt::Display for CountingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CountingStore({})", self.inner)
    }
}

impl fmt::Debug for CountingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CountingStore").field("inner", &self.inner).finish_non_exhaustive()
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ObjectStore for CountingStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        let bytes = payload.content_length() as u64;
        self.counts.add(|counts| {
            counts.puts += 1;
            counts.bytes_written += bytes;
        });
        self.counts.seen(self.inner.put_opts(location, payload, opts).await)
    }

    async fn put_multipart_opts(&self, location: &Path, opts: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        self.counts.add(|counts| counts.uploads += 1);
        let inner = self.counts.seen(self.inner.put_multipart_opts(location, opts).await)?;
        Ok(Box::new(CountedUpload { inner, counts: self.counts.clone() }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        if options.head {
            self.counts.add(|counts| counts.heads += 1);
            return self.counts.seen(self.inner.get_opts(location, options).await);
        }
        let asked = match &options.range {
            Some(GetRange::Bounded(range)) => range.clone(),
            Some(GetRange::Offset(start)) => *start..u64::MAX,
            Some(GetRange::Suffix(_)) | None => 0..u64::MAX,
        };
        let answer = self.inner.get_opts(location, options).await;
        let (range, bytes) = match &answer {
            Ok(answer) => (answer.range.clone(), answer.range.end.saturating_sub(answer.range.start)),
            Err(_) => (asked, 0),
        };
        self.counts.add(|counts| {
            counts.gets.push(Get { path: location.to_string(), range, bytes });
            counts.bytes_read += bytes;
        });
        self.counts.seen(answer)
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        body::each_range(self, location, ranges).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let counts = self.counts.clone();
        let locations = locations.inspect(move |_| counts.add(|counts| counts.deletes += 1)).boxed();
        self.counts.listed(self.inner.delete_stream(locations))
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.counts.add(|counts| counts.lists += 1);
        self.counts.listed(self.inner.list(prefix))
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        self.counts.add(|counts| counts.lists += 1);
        self.counts.listed(self.inner.list_with_offset(prefix, offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.counts.add(|counts| counts.lists += 1);
        self.counts.seen(self.inner.list_with_delimiter(prefix).await)
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.counts.add(|counts| counts.copies += 1);
        self.counts.seen(self.inner.copy_opts(from, to, options).await)
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.counts.add(|counts| counts.renames += 1);
        self.counts.seen(self.inner.rename_opts(from, to, options).await)
    }
}

struct CountedUpload {
    inner: Box<dyn MultipartUpload>,
    counts: Shared,
}

impl fmt::Debug for CountedUpload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CountedUpload").field(&self.inner).finish()
    }
}

#[async_trait]
impl MultipartUpload for CountedUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let bytes = data.content_length() as u64;
        let counts = self.counts.clone();
        let part = self.inner.put_part(data);
        Box::pin(async move {
            counts.add(|counts| {
                counts.parts += 1;
                counts.bytes_written += bytes;
            });
            counts.seen(part.await)
        })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.counts.add(|counts| counts.completes += 1);
        self.counts.seen(self.inner.complete().await)
    }

    async fn abort(&mut self) -> Result<()> {
        self.counts.add(|counts| counts.aborts += 1);
        self.counts.seen(self.inner.abort().await)
    }
}
