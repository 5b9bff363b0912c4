//! A backend with a hook. Before each operation the hook decides whether it passes, fails before or after it is done, arrives later,
//! or ends the process. Operations are numbered from 0 in the order in which they start.

use std::{
    fmt,
    ops::Range,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, path::Path,
};

/// Outcome of an operation.
pub enum Act {
    Pass,
    /// The operation is not done and returns this error.
    Before(Error),
    /// The operation is done and returns this error.
    After(Error),
    /// The put returns this error and is still under way: [`Late::arrive`] does it. Other operations pass.
    Later(Error),
}

/// Puts that are still under way.
#[derive(Clone, Default)]
pub struct Late(Arc<Mutex<Vec<(Path, PutPayload, PutOptions)>>>);

impl Late {
    /// The puts arrive at this backend, in the order in which they were sent. The sender gets no answer any more.
    pub fn deliver(&self, at: &dyn ObjectStore) {
        for (location, payload, options) in std::mem::take(&mut *self.0.lock().unwrap()) {
            let _ = futures::executor::block_on(at.put_opts(&location, payload, options));
        }
    }
}

type Hook = dyn Fn(u64, &str, &str) -> Act + Send + Sync;

/// A backend with a hook. The hook receives the number, the verb and the path of each operation.
#[derive(Clone)]
pub struct Hooked {
    inner: Arc<dyn ObjectStore>,
    hook: Arc<Hook>,
    begun: Arc<AtomicU64>,
    late: Late,
}

impl Hooked {
    pub fn new(inner: Arc<dyn ObjectStore>, hook: impl Fn(u64, &str, &str) -> Act + Send + Sync + 'static) -> Self {
        Self { inner, hook: Arc::new(hook), begun: Arc::default(), late: Late::default() }
    }

    /// Keeps puts that are still under way in `late`.
    pub fn with_late(self, late: Late) -> Self {
        Self { late, ..self }
    }

    /// Returns the number of operations that have started.
    pub fn operations(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    fn act(&self, verb: &str, place: &Path) -> Act {
        (self.hook)(self.begun.fetch_add(1, Ordering::Relaxed), verb, place.as_ref())
    }

    /// Asks the hook. Returns the error to return after the operation is done, if any.
    fn begin(&self, verb: &str, place: &Path) -> Result<Option<Error>> {
        match self.act(verb, place) {
            Act::Pass | Act::Later(_) => Ok(None),
            Act::Before(error) => Err(error),
            Act::After(error) => Ok(Some(error)),
        }
    }
}

fn end<T>(result: Result<T>, failure: Option<Error>) -> Result<T> {
    failure.map_or(result, Err)
}

impl fmt::Display for Hooked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hooked({})", self.inner)
    }
}

impl fmt::Debug for Hooked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[async_trait]
impl ObjectStore for Hooked {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        match self.act("put", location) {
            Act::Pass => self.inner.put_opts(location, payload, opts).await,
            Act::Before(error) => Err(error),
            Act::After(error) => end(self.inner.put_opts(location, payload, opts).await, Some(error)),
            Act::Later(error) => {
                self.late.0.lock().unwrap().push((location.clone(), payload, opts));
                Err(error)
            }
        }
    }

    async fn put_multipart_opts(&self, location: &Path, opts: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        let failure = self.begin("begin", location)?;
        end(self.inner.put_multipart_opts(location, opts).await, failure)
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let failure = self.begin(if options.head { "head" } else { "get" }, location)?;
        end(self.inner.get_opts(location, options).await, failure)
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.inner.get_ranges(location, ranges).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let store = self.clone();
        locations
            .and_then(move |location| {
                let store = store.clone();
                async move {
                    let failure = store.begin("delete", &location)?;
                    end(store.inner.delete(&location).await, failure)?;
                    Ok(location)
                }
            })
            .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        match self.begin("list", prefix.unwrap_or(&Path::default())) {
            Ok(None) => self.inner.list(prefix),
            Ok(Some(error)) | Err(error) => stream::iter([Err(error)]).boxed(),
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

/// Returns the error of a local backend after a failure of the operating system. `words` is the backend's text for it.
pub fn disk_failure(words: &'static str, cause: std::io::ErrorKind) -> Error {
    #[derive(Debug)]
    struct Disk(&'static str, std::io::Error);
    impl fmt::Display for Disk {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{}: {}", self.0, self.1)
        }
    }
    impl std::error::Error for Disk {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.1)
        }
    }
    Error::Generic { store: "LocalFileSystem", source: Box::new(Disk(words, cause.into())) }
}

/// Returns the error of a store that does not answer.
pub fn no_answer() -> Error {
    Error::Generic { store: "Hooked", source: "no answer".into() }
}
