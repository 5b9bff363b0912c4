//! A store whose requests take effect when the scheduler says so. Requests may be lost, and so may their answers; puts and deletes may
//! come late, or twice. The store has a clock of its own.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use futures::{
    FutureExt,
    stream::{self, BoxStream, StreamExt, TryStreamExt},
};
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, memory::InMemory, path::Path,
};

use super::scheduler::Scheduler;
use crate::common::hooked::no_answer;

/// Whether a request takes effect, and whether its answer arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Answered,
    /// It never arrives.
    Lost,
    /// It takes effect, and its answer is lost.
    Unanswered,
    /// There is no answer, and it takes effect at any later time.
    Late,
    /// It is answered, and takes effect once more at any later time.
    Twice,
}

#[derive(Clone)]
pub(super) struct SimulatedStore {
    objects: Arc<InMemory>,
    scheduler: Scheduler,
    /// When each object was written.
    written: Arc<Mutex<BTreeMap<Path, i64>>>,
    /// One in so many requests goes wrong; 0 for none.
    faults: u64,
}

impl SimulatedStore {
    pub(super) fn new(scheduler: Scheduler, faults: u64) -> Self {
        Self { objects: Arc::default(), scheduler, written: Arc::default(), faults }
    }

    /// Deletes everything.
    pub(super) fn clear(&self) {
        for meta in self.list_now(None) {
            self.delete_now(&meta.location).unwrap();
        }
    }

    /// Waits until the request arrives. Returns what becomes of it.
    async fn begin(&self, verb: &str, place: &Path, changes: bool) -> Fate {
        self.scheduler.turn(verb).await;
        if self.scheduler.is_quiet() {
            return Fate::Answered;
        }
        let fate = match self.faults > 0 && self.scheduler.draw(self.faults) == 0 {
            true if changes => [Fate::Lost, Fate::Unanswered, Fate::Late, Fate::Twice][self.scheduler.draw(4) as usize],
            true => Fate::Lost,
            false => Fate::Answered,
        };
        let suffix = if fate == Fate::Answered { String::new() } else { format!(" {fate:?}") };
        self.scheduler.record(format!("{verb} {place}{suffix}"));
        fate
    }

    /// Waits until the answer arrives.
    async fn answer(&self) {
        self.scheduler.turn("answer").await;
    }

    fn put_now(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let done = self.objects.put_opts(location, payload, options).now_or_never().unwrap();
        if done.is_ok() {
            self.written.lock().unwrap().insert(location.clone(), self.scheduler.now_ms());
        }
        done
    }

    fn delete_now(&self, location: &Path) -> Result<()> {
        self.written.lock().unwrap().remove(location);
        self.objects.delete(location).now_or_never().unwrap()
    }

    /// Lists in two requests, the first of which ends after any name. What is written and deleted between them shows in the second.
    async fn two_pages(&self, prefix: Option<&Path>) -> Vec<ObjectMeta> {
        let mut found = self.list_now(prefix);
        if !self.scheduler.is_quiet() && !found.is_empty() {
            found.truncate(1 + self.scheduler.draw(found.len() as u64) as usize);
            let last = found.last().map(|meta| meta.location.clone());
            self.scheduler.turn("list, second page").await;
            found.extend(self.list_now(prefix).into_iter().filter(|meta| Some(&meta.location) > last.as_ref()));
        }
        found
    }

    fn list_now(&self, prefix: Option<&Path>) -> Vec<ObjectMeta> {
        let found: Vec<Result<ObjectMeta>> = self.objects.list(prefix).collect().now_or_never().unwrap();
        found.into_iter().map(|meta| self.dated(meta.unwrap())).collect()
    }

    /// Sets the time of an object to that of the store's clock.
    fn dated(&self, mut meta: ObjectMeta) -> ObjectMeta {
        if let Some(written) = self.written.lock().unwrap().get(&meta.location) {
            meta.last_modified = chrono::DateTime::from_timestamp_millis(*written).unwrap();
        }
        meta
    }

    async fn change<T: Send + 'static>(
        &self,
        verb: &str,
        location: &Path,
        change: impl Fn(&Self) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let fate = self.begin(verb, location, true).await;
        let (this, what) = (self.clone(), format!("{verb} {location}"));
        let result = match fate {
            Fate::Answered => change(self),
            Fate::Lost => Err(no_answer()),
            Fate::Unanswered => change(self).and(Err(no_answer())),
            Fate::Late => {
                self.scheduler.later(what, Box::new(move || drop(change(&this))));
                Err(no_answer())
            }
            Fate::Twice => {
                let done = change(self);
                self.scheduler.later(what, Box::new(move || drop(change(&this))));
                done
            }
        };
        self.answer().await;
        result
    }
}

impl fmt::Display for SimulatedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SimulatedStore")
    }
}

impl fmt::Debug for SimulatedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[async_trait]
impl ObjectStore for SimulatedStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let place = location.clone();
        self.change("put", location, move |this| this.put_now(&place, payload.clone(), options.clone())).await
    }

    async fn put_multipart_opts(&self, location: &Path, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        panic!("{location} is longer than the objects of the simulated tables");
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let fate = self.begin(if options.head { "head" } else { "get" }, location, false).await;
        let result = match fate {
            Fate::Lost => Err(no_answer()),
            _ => self.objects.get_opts(location, options).await,
        };
        self.answer().await;
        result.map(|mut result| {
            result.meta = self.dated(result.meta);
            result
        })
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let store = self.clone();
        locations
            .and_then(move |location| {
                let store = store.clone();
                async move {
                    let place = location.clone();
                    store.change("delete", &location, move |this| this.delete_now(&place)).await?;
                    Ok(location)
                }
            })
            .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (store, prefix) = (self.clone(), prefix.cloned());
        let listed = async move {
            let fate = store.begin("list", prefix.as_ref().unwrap_or(&Path::default()), false).await;
            let found: Vec<Result<ObjectMeta>> = match fate {
                Fate::Lost => vec![Err(no_answer())],
                _ => store.two_pages(prefix.as_ref()).await.into_iter().map(Ok).collect(),
            };
            store.answer().await;
            stream::iter(found)
        };
        stream::once(listed).flatten().boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let fate = self.begin("list", prefix.unwrap_or(&Path::default()), false).await;
        let result = match fate {
            Fate::Lost => Err(no_answer()),
            _ => self.objects.list_with_delimiter(prefix).await,
        };
        self.answer().await;
        result.map(|mut result| {
            result.objects = result.objects.into_iter().map(|meta| self.dated(meta)).collect();
            result
        })
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(Error::NotImplemented { operation: "copy".into(), implementer: "SimulatedStore".into() })
    }
}
