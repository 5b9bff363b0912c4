//! Reads through the cache, on trial: nothing is trusted until the caller has verified it.
//!
//! A store sees bytes, not pages, so it cannot detect a flipped bit. It returns cached bytes, fetches the rest, and remembers
//! both. If the caller finds all bytes sound, the fetched bytes are added to the cache. If not, the entries that were read are
//! evicted, and the caller reads again from the store itself.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};

use super::{
    Cache,
    disk::Found,
    entry::{ObjectKey, key_of},
};
use crate::{
    Result,
    store::{inner::Inner, ranges::RangeRequest, sent::Sent},
    work::blocking,
};

/// Number of ranges that a job looks for or writes on disk, and number of concurrent jobs.
const IN_ONE_GO: usize = 16;
const THREADS: usize = 4;

/// The answers of one read until the caller accepts or rejects them.
pub(in crate::store) struct Trial {
    cache: Arc<Cache>,
    answers: Mutex<Answers>,
}

#[derive(Default)]
struct Answers {
    /// Whole requested ranges that are not in the memory cache.
    small: Vec<(ObjectKey, Range<u64>, Bytes)>,
    /// Fetched bytes that are not on disk.
    fetched: Vec<(ObjectKey, u64, Bytes)>,
    /// Requested ranges that came from the cache, in part or in whole.
    cached: Vec<(ObjectKey, Range<u64>)>,
}

impl Trial {
    /// Starts a read through this cache.
    pub(in crate::store) fn new(cache: &Arc<Cache>) -> Option<Self> {
        cache.here().map(|cache| Self { cache, answers: Mutex::default() })
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads all requests, in order. Fetches at most one byte range per request, which never exceeds the request.
    pub(in crate::store) async fn read(
        &self,
        inner: &Arc<Inner>,
        requests: &[RangeRequest],
        sent: Option<&Arc<Sent>>,
    ) -> Result<Vec<Bytes>> {
        let keys: Vec<Option<ObjectKey>> = requests.iter().map(|request| inner.cache_key(request)).collect();
        let mut found = self.find(requests, &keys).await?;
        let mut missing = Vec::new();
        for (found, request) in found.iter().zip(requests) {
            let range = match found {
                Cached::Memory(_) => continue,
                Cached::Disk(found) => found.missing(),
            };
            missing.push(RangeRequest { range, ..request.clone() });
        }
        // An empty range needs no request.
        let mut fetched = inner.read_objects(&missing, sent).await?.into_iter();
        let mut missing = missing.into_iter();
        let mut whole = Vec::with_capacity(requests.len());
        let mut answers = self.answers();
        for ((source, request), key) in found.drain(..).zip(requests).zip(keys) {
            let found = match source {
                Cached::Memory(bytes) => {
                    answers.cached.extend(key.map(|key| (key, request.range.clone())));
                    whole.push(bytes);
                    continue;
                }
                Cached::Disk(found) => found,
            };
            let (bytes, start) = (fetched.next().unwrap_or_default(), missing.next().map_or(0, |missing| missing.range.start));
            let used = !found.is_empty();
            let joined = found.join(bytes.clone());
            if let Some(key) = key {
                if used {
                    answers.cached.push((key, request.range.clone()));
                }
                if !bytes.is_empty() {
                    answers.fetched.push((key, start, bytes));
                }
                answers.small.push((key, request.range.clone(), joined.clone()));
            }
            whole.push(joined);
        }
        Ok(whole)
    }

    /// Reads a whole object of known size.
    pub(in crate::store) async fn whole(
        &self,
        inner: &Arc<Inner>,
        request: RangeRequest,
        fetch: impl Future<Output = Result<Bytes>>,
    ) -> Result<Bytes> {
        let Some(key) = inner.cache_key(&request) else { return fetch.await };
        let keys = [Some(key)];
        let found = self.find(std::slice::from_ref(&request), &keys).await?.pop();
        let (bytes, cached) = match found {
            Some(Cached::Memory(bytes)) => (bytes, true),
            Some(Cached::Disk(found)) if found.missing().is_empty() => (found.join(Bytes::new()), true),
            // Cached parts are not used: fetching the whole object verifies its size.
            _ => (fetch.await?, false),
        };
        let mut answers = self.answers();
        match cached {
            true => answers.cached.push((key, request.range.clone())),
            false => answers.fetched.push((key, 0, bytes.clone())),
        }
        answers.small.push((key, request.range, bytes.clone()));
        Ok(bytes)
    }

    /// Finds the cached bytes of each request.
    async fn find(&self, requests: &[RangeRequest], keys: &[Option<ObjectKey>]) -> Result<Vec<Cached>> {
        let (mut found, mut asked) = (Vec::with_capacity(requests.len()), Vec::new());
        for (place, (request, key)) in requests.iter().zip(keys).enumerate() {
            let memory = self.cache.memory.as_ref().zip(*key).and_then(|(memory, key)| memory.find(key, &request.range));
            found.push(match memory {
                Some(bytes) => Cached::Memory(bytes),
                None => {
                    asked.extend(key.map(|key| (place, key, request.range.clone())));
                    Cached::Disk(Found::nothing(request.range.clone()))
                }
            });
        }
        if self.cache.disk.is_none() || asked.is_empty() {
            return Ok(found);
        }
        let jobs: Vec<Vec<_>> = asked.chunks(IN_ONE_GO).map(<[_]>::to_vec).collect();
        let jobs = jobs.into_iter().map(|job| {
            let cache = Arc::clone(&self.cache);
            blocking(move || {
                let find = |(place, key, range)| Some((place, Cached::Disk(cache.disk.as_ref()?.find(key, range))));
                Ok(job.into_iter().filter_map(find).collect::<Vec<_>>())
            })
        });
        let done: Vec<Vec<(usize, Cached)>> = stream::iter(jobs).buffered(THREADS).try_collect().await?;
        for (place, source) in done.into_iter().flatten() {
            if let Some(slot) = found.get_mut(place) {
                *slot = source;
            }
        }
        Ok(found)
    }

    /// Accepts the answers: adds them to the cache. Failures are ignored.
    pub(in crate::store) async fn admit(&self) {
        let Answers { small, fetched, .. } = std::mem::take(&mut *self.answers());
        if let Some(memory) = &self.cache.memory {
            small.iter().for_each(|(key, range, bytes)| memory.add(*key, range, bytes));
        }
        if self.cache.disk.is_none() || fetched.is_empty() {
            return;
        }
        let jobs: Vec<Vec<_>> = fetched.chunks(IN_ONE_GO).map(<[_]>::to_vec).collect();
        let jobs = jobs.into_iter().map(|job| {
            let cache = Arc::clone(&self.cache);
            blocking(move || {
                for (key, start, bytes) in job {
                    if let Some(disk) = &cache.disk {
                        disk.add(key, start, &bytes);
                    }
                }
                Ok(())
            })
        });
        stream::iter(jobs).buffer_unordered(THREADS).for_each(|_| async {}).await;
    }

    /// Rejects the answers: adds nothing and evicts the entries that were read. Returns false if no answer came from the cache.
    pub(in crate::store) async fn reject(&self) -> bool {
        let Answers { cached, .. } = std::mem::take(&mut *self.answers());
        if cached.is_empty() {
            return false;
        }
        let cache = Arc::clone(&self.cache);
        let _ = blocking(move || {
            for (key, range) in cached {
                if let Some(memory) = &cache.memory {
                    memory.drop_range(key, &range);
                }
                if let Some(disk) = &cache.disk {
                    disk.drop_range(key, range);
                }
            }
            Ok(())
        })
        .await;
        true
    }
}

/// The source of the bytes of a request.
enum Cached {
    Memory(Bytes),
    /// The cached bytes on disk, possibly none; the rest must be fetched.
    Disk(Found),
}

impl Inner {
    /// Returns the cache key of an object; `None` if the object cannot be cached.
    fn cache_key(&self, request: &RangeRequest) -> Option<ObjectKey> {
        key_of(self.identity()?, self.prefix.as_ref(), request)
    }
}
