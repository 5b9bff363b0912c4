//! [`LatencyStore`]: a backend with simulated latency and bandwidth, so that plans for a remote store can be measured on
//! a laptop.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions,
    PutPayload, PutResult, RenameOptions, Result, UploadPart,
};
use tokio::time::{Instant, sleep, sleep_until};

use super::body;

/// Maximum size of a piece of a body, in bytes.
const PIECE: usize = 64 << 10;
/// Number of names per request of a listing.
const PAGE: usize = 1000;
/// Maximum number of concurrent deletes.
const DELETES: usize = 10;

/// Latency and bandwidth of a [`LatencyStore`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// Delay of each request.
    pub per_request: Duration,
    /// Bandwidth of each body, up or down, in bytes per second; `None` is unlimited. Concurrent bodies do not share bandwidth.
    pub bytes_per_second: Option<u64>,
}

impl Latency {
    /// Returns the time to transfer `bytes` bytes in one stream.
    pub fn transfer(&self, bytes: u64) -> Duration {
        match self.bytes_per_second {
            Some(rate) => Duration::from_secs_f64(bytes as f64 / rate.max(1) as f64),
            None => Duration::ZERO,
        }
    }
}

/// A backend that delays the answers of another backend. Needs a tokio runtime with time enabled.
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// use std::{sync::Arc, time::{Duration, Instant}};
/// use tetrys::store::{Latency, LatencyStore, Store};
///
/// let far = Latency { per_request: Duration::from_millis(20), bytes_per_second: Some(50_000_000) };
/// let objects = LatencyStore::new(object_store::memory::InMemory::new(), far);
/// let store = Store::new(Arc::new(objects), "".into(), "memory://");
/// let start = Instant::now();
/// store.put_new("a", "0123456789".into()).await?;
/// assert!(start.elapsed() >= Duration::from_millis(20));
/// # Ok::<(), tetrys::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct LatencyStore {
    inner: Arc<dyn ObjectStore>,
    latency: Latency,
}

impl LatencyStore {
    /// Wraps `inner` with this latency.
    pub fn new(inner: impl ObjectStore, latency: Latency) -> Self {
        Self { inner: Arc::new(inner), latency }
    }

    async fn request(&self) {
        wait(self.latency.per_request).await;
    }

    fn paged(&self, entries: BoxStream<'static, Result<ObjectMeta>>) -> BoxStream<'static, Result<ObjectMeta>> {
        let per_request = self.latency.per_request;
        entries
            .enumerate()
            .then(move |(i, entry)| async move {
                if i > 0 && i % PAGE == 0 {
                    wait(per_request).await;
                }
                entry
            })
            .boxed()
    }
}

impl fmt::Display for LatencyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LatencyStore({})", self.inner)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ObjectStore for LatencyStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        wait(self.latency.per_request + self.latency.transfer(payload.content_length() as u64)).await;
        self.inner.put_opts(location, payload, opts).await
    }

    async fn put_multipart_opts(&self, location: &Path, opts: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        self.request().await;
        let inner = self.inner.put_multipart_opts(location, opts).await?;
        Ok(Box::new(SlowUpload { inner, latency: self.latency }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let head = options.head;
        self.request().await;
        let answer = self.inner.get_opts(location, options).await?;
        if head || self.latency.bytes_per_second.is_none() {
            return Ok(answer);
        }
        let latency = self.latency;
        body::reshape(answer, |body| paced(body, latency)).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        body::each_range(self, location, ranges).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let per_request = self.latency.per_request;
        let locations = locations
            .map(move |location| async move {
                wait(per_request).await;
                location
            })
            .buffered(DELETES)
            .boxed();
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (store, prefix) = (self.clone(), prefix.cloned());
        stream::once(async move {
            store.request().await;
            store.paged(store.inner.list(prefix.as_ref()))
        })
        .flatten()
        .boxed()
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        let (store, prefix, offset) = (self.clone(), prefix.cloned(), offset.clone());
        stream::once(async move {
            store.request().await;
            store.paged(store.inner.list_with_offset(prefix.as_ref(), &offset))
        })
        .flatten()
        .boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.request().await;
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.request().await;
        self.inner.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.request().await;
        self.inner.rename_opts(from, to, options).await
    }
}

/// Splits `body` into small pieces and delays each until its bytes could have arrived.
fn paced(body: BoxStream<'static, Result<Bytes>>, latency: Latency) -> BoxStream<'static, Result<Bytes>> {
    let start = Instant::now();
    let mut transferred = 0;
    body.map_ok(|mut bytes| {
        let pieces = bytes.len().div_ceil(PIECE);
        stream::iter((0..pieces).map(move |_| Ok(bytes.split_to(PIECE.min(bytes.len())))))
    })
    .try_flatten()
    .and_then(move |piece| {
        // All times are relative to one start, so that rounding by the coarse clock of the runtime does not accumulate.
        transferred += piece.len() as u64;
        let due = start + latency.transfer(transferred);
        async move {
            sleep_until(due).await;
            Ok(piece)
        }
    })
    .boxed()
}

async fn wait(time: Duration) {
    if !time.is_zero() {
        sleep(time).await;
    }
}

#[derive(Debug)]
struct SlowUpload {
    inner: Box<dyn MultipartUpload>,
    latency: Latency,
}

#[async_trait]
impl MultipartUpload for SlowUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let time = self.latency.per_request + self.latency.transfer(data.content_length() as u64);
        let part = self.inner.put_part(data);
        Box::pin(async move {
            wait(time).await;
            part.await
        })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        wait(self.latency.per_request).await;
        self.inner.complete().await
    }

    async fn abort(&mut self) -> Result<()> {
        wait(self.latency.per_request).await;
        self.inner.abort().await
    }
}
