//! [`FaultyStore`]: a backend that fails on demand. Operations are numbered from 0, so a test can run once to count them, and
//! then once per operation with a fault at that operation: before it happens, after it happened, or half-way.
//!
//! Every request is one operation: a put, each step of a multipart upload (begin, part, end, abort), a get, a head, a listing,
//! each deleted object, a copy, a rename. Concurrent requests are numbered in the order in which they start.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    CopyMode, CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, RenameTargetMode, Result, UploadPart,
};

use super::body;

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The operation does not happen.
    Before,
    /// The operation happens, but its answer is lost.
    After,
    /// Half of the operation happens. A put or a part stores the first half of its bytes and fails, which is worse than real
    /// backends, whose puts are atomic. The body of a get ends after half of its bytes without an error. A listing fails
    /// half-way. A rename leaves both names. The end of an upload does not happen. All other operations fail as with
    /// [`Fault::After`].
    Torn,
}

impl Fault {
    /// All faults.
    pub const ALL: [Self; 3] = [Self::Before, Self::After, Self::Torn];
}

/// The operations of a [`FaultyStore`] that fail, and whether the store stays down afterwards.
///
/// ```
/// use tetrys::store::{Fault, Faults};
/// let crash = Faults::none().at(7, Fault::After).then_crash();
/// assert_eq!(crash.of(7), Some(Fault::After));
/// assert_eq!(crash.of(6), None);
/// assert_eq!(Faults::seeded(1, 10).of(3), Faults::seeded(1, 10).of(3));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Faults {
    script: BTreeMap<u64, Fault>,
    seeded: Option<(u64, u64)>,
    crash: bool,
}

impl Faults {
    /// Creates a plan without faults.
    pub fn none() -> Self {
        Self::default()
    }

    /// Creates a plan in which about one operation in `one_in` fails, in a random way that depends on `seed`.
    pub fn seeded(seed: u64, one_in: u64) -> Self {
        Self { seeded: Some((seed, one_in.max(1))), ..Self::default() }
    }

    /// Adds a fault at operation `operation`; the first operation is 0.
    pub fn at(mut self, operation: u64, fault: Fault) -> Self {
        self.script.insert(operation, fault);
        self
    }

    /// Makes every operation after the first fault fail, as if the process had lost its store.
    pub fn then_crash(mut self) -> Self {
        self.crash = true;
        self
    }

    /// Returns the fault of operation `operation`, if it has one.
    pub fn of(&self, operation: u64) -> Option<Fault> {
        let scripted = self.script.get(&operation).copied();
        scripted.or_else(|| {
            let (seed, one_in) = self.seeded?;
            let drawn = mix(seed ^ mix(operation));
            let [a, b, c] = Fault::ALL;
            drawn.is_multiple_of(one_in).then(|| [a, b, c][(mix(drawn) % 3) as usize])
        })
    }
}

/// A backend that injects faults into another backend. Clones share the count of operations and the faults.
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// use std::sync::Arc;
/// use tetrys::store::{Fault, Faults, FaultyStore, Put, Store};
///
/// let faulty = FaultyStore::new(object_store::memory::InMemory::new());
/// let store = Store::new(Arc::new(faulty.clone()), "".into(), "memory://");
/// faulty.arm(Faults::none().at(0, Fault::After));
/// let lost = store.put_new("a", "bytes".into()).await.unwrap_err();
/// assert_eq!(lost.kind(), tetrys::ErrorKind::Unavailable);
/// assert_eq!(store.put_new("a", "bytes".into()).await?, Put::AlreadyThere);
/// assert_eq!(faulty.log(), ["put a", "put a"]);
/// # Ok::<(), tetrys::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct FaultyStore {
    inner: Arc<dyn ObjectStore>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    faults: Faults,
    log: Vec<String>,
    down: Option<u64>,
}

/// A running operation and its fault.
struct Operation {
    number: u64,
    what: String,
    fault: Option<Fault>,
}

impl FaultyStore {
    /// Wraps `inner`, without faults.
    pub fn new(inner: impl ObjectStore) -> Self {
        Self { inner: Arc::new(inner), state: Arc::default() }
    }

    /// Sets the faults. The count of operations restarts from 0, and a crashed store works again.
    pub fn arm(&self, faults: Faults) {
        *self.state() = State { faults, ..State::default() };
    }

    /// Returns the number of operations since the store was created or armed.
    pub fn operations(&self) -> u64 {
        self.state().log.len() as u64
    }

    /// Returns the operations since the store was created or armed: verb and path.
    pub fn log(&self) -> Vec<String> {
        self.state().log.clone()
    }

    /// Whether a fault of [`Faults::then_crash`] has happened.
    pub fn crashed(&self) -> bool {
        self.state().down.is_some()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an operation.
    ///
    /// # Errors
    /// The fault of the operation, if the operation must not happen.
    fn begin(&self, verb: &str, place: impl fmt::Display) -> Result<Operation> {
        let mut state = self.state();
        let number = state.log.len() as u64;
        let what = format!("{verb} {place}").trim_end().to_owned();
        state.log.push(what.clone());
        let mut operation = Operation { number, what, fault: state.faults.of(number) };
        if let Some(since) = state.down {
            operation.fault = Some(Fault::Before);
            return Err(operation.error(&format!("the store is down since operation {since}")));
        }
        if operation.fault.is_some() && state.faults.crash {
            state.down = Some(number);
        }
        match operation.fault {
            Some(Fault::Before) => Err(operation.error("failed before it happened")),
            _ => Ok(operation),
        }
    }

    fn failing(&self, operation: Result<Operation>, listing: impl FnOnce(&dyn ObjectStore) -> Listing) -> Listing {
        match operation {
            Err(error) => stream::iter([Err(error)]).boxed(),
            Ok(operation) => match operation.fault {
                None => listing(&*self.inner),
                Some(Fault::Torn) => {
                    let entries = listing(&*self.inner);
                    stream::once(async move {
                        let mut entries: Vec<_> = entries.collect().await;
                        entries.truncate(entries.len() / 2);
                        entries.push(Err(operation.error("failed half-way")));
                        stream::iter(entries)
                    })
                    .flatten()
                    .boxed()
                }
                Some(_) => stream::iter([Err(operation.error("its answer was lost"))]).boxed(),
            },
        }
    }
}

type Listing = BoxStream<'static, Result<ObjectMeta>>;

impl Operation {
    fn error(&self, how: &str) -> Error {
        let source = format!("operation {} ({}) {how}", self.number, self.what).into();
        Error::Generic { store: "FaultyStore", source }
    }

    /// Returns the result of the operation, or an error if its answer is lost.
    fn end<T>(&self, result: Result<T>) -> Result<T> {
        match self.fault {
            None => result,
            Some(_) => Err(self.error("happened, and its answer was lost")),
        }
    }

    fn torn(&self) -> bool {
        self.fault == Some(Fault::Torn)
    }
}

impl fmt::Display for FaultyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FaultyStore({})", self.inner)
    }
}

impl fmt::Debug for FaultyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyStore").field("inner", &self.inner).finish_non_exhaustive()
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ObjectStore for FaultyStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        let operation = self.begin("put", location)?;
        let payload = if operation.torn() { half(&payload) } else { payload };
        operation.end(self.inner.put_opts(location, payload, opts).await)
    }

    async fn put_multipart_opts(&self, location: &Path, opts: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        let operation = self.begin("begin", location)?;
        let inner = operation.end(self.inner.put_multipart_opts(location, opts).await)?;
        Ok(Box::new(FaultyUpload { inner, store: self.clone(), location: location.clone() }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let head = options.head;
        let operation = self.begin(if head { "head" } else { "get" }, location)?;
        let answer = self.inner.get_opts(location, options).await;
        if !operation.torn() || head {
            return operation.end(answer);
        }
        let answer = answer?;
        let kept = (answer.range.end - answer.range.start) / 2;
        body::reshape(answer, |body| cut(body, kept)).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        body::each_range(self, location, ranges).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let store = self.clone();
        locations
            .and_then(move |location| {
                let store = store.clone();
                async move {
                    let operation = store.begin("delete", &location)?;
                    operation.end(store.inner.delete(&location).await)?;
                    Ok(location)
                }
            })
            .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let operation = self.begin("list", prefix.map(Path::as_ref).unwrap_or_default());
        self.failing(operation, |inner| inner.list(prefix))
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        let operation = self.begin("list", prefix.map(Path::as_ref).unwrap_or_default());
        self.failing(operation, |inner| inner.list_with_offset(prefix, offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let operation = self.begin("list", prefix.map(Path::as_ref).unwrap_or_default())?;
        operation.end(self.inner.list_with_delimiter(prefix).await)
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        let operation = self.begin("copy", format_args!("{from} to {to}"))?;
        operation.end(self.inner.copy_opts(from, to, options).await)
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        let operation = self.begin("rename", format_args!("{from} to {to}"))?;
        if !operation.torn() {
            return operation.end(self.inner.rename_opts(from, to, options).await);
        }
        let mode = match options.target_mode {
            RenameTargetMode::Overwrite => CopyMode::Overwrite,
            RenameTargetMode::Create => CopyMode::Create,
        };
        operation.end(self.inner.copy_opts(from, to, CopyOptions::new().with_mode(mode)).await)
    }
}

struct FaultyUpload {
    inner: Box<dyn MultipartUpload>,
    store: FaultyStore,
    location: Path,
}

impl fmt::Debug for FaultyUpload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FaultyUpload").field(&self.inner).finish()
    }
}

#[async_trait]
impl MultipartUpload for FaultyUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let operation = match self.store.begin("part", &self.location) {
            Ok(operation) => operation,
            Err(error) => return Box::pin(async move { Err(error) }),
        };
        let part = self.inner.put_part(if operation.torn() { half(&data) } else { data });
        Box::pin(async move { operation.end(part.await) })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let operation = self.store.begin("complete", &self.location)?;
        if operation.torn() {
            return Err(operation.error("did not end the upload"));
        }
        operation.end(self.inner.complete().await)
    }

    async fn abort(&mut self) -> Result<()> {
        let operation = self.store.begin("abort", &self.location)?;
        operation.end(self.inner.abort().await)
    }
}

/// Returns the first half of `payload`.
fn half(payload: &PutPayload) -> PutPayload {
    let mut left = payload.content_length() / 2;
    let mut kept = Vec::new();
    for bytes in payload {
        let take = left.min(bytes.len());
        kept.push(bytes.slice(..take));
        left -= take;
    }
    kept.into_iter().collect()
}

/// Truncates `body` after `left` bytes, without an error.
fn cut(body: BoxStream<'static, Result<Bytes>>, mut left: u64) -> BoxStream<'static, Result<Bytes>> {
    body.map_ok(move |mut piece| {
        piece.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        left -= piece.len() as u64;
        piece
    })
    .boxed()
}

/// Mixes the bits of a number: the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
