//! Reads whole objects and checked byte ranges, from local files or by requests to a backend.

use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures::FutureExt;
use futures::stream::{self, StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResult, GetResultPayload};

use super::{
    buffers::{self, PooledBuffer},
    failure::{self, Doing},
    inner::Inner,
    options::Service,
    ranges::{RangeRequest, SPLIT_ABOVE},
    remote::wire::{Measured, reading},
    sent::Sent,
    wholes::Wholes,
};
use crate::{
    Error, ErrorKind, Result,
    error::counted,
    id::Hash,
    work::{blocking, offload},
};

/// Maximum number of concurrent requests of one call.
const CONCURRENT: usize = 64;
/// The largest object of a web server without ranges that is read, in bytes: it is read whole.
const MOST_WHOLE: u64 = 256 << 20;
/// Limits in ranges and bytes up to which local reads run on the calling thread. Larger batches run on `READERS`
/// blocking threads.
const INLINE_RANGES: usize = 8;
const INLINE_BYTES: u64 = 4 << 20;
const READERS: usize = 4;

impl Inner {
    pub(super) async fn whole(
        self: &Arc<Self>,
        name: &str,
        accept: impl FnOnce(u64) -> Result<()> + Send + 'static,
    ) -> Result<Bytes> {
        let location = self.locate(name)?;
        if self.files.is_some() {
            let (inner, name) = (Arc::clone(self), name.to_owned());
            return blocking(move || match &inner.files {
                Some(files) => files.read_whole(&name, accept),
                None => Err(Error::internal("a local store without its directory")),
            })
            .await;
        }
        reading(self.whole_object(name, &location, accept)).await
    }

    async fn whole_object(&self, name: &str, location: &Path, accept: impl FnOnce(u64) -> Result<()>) -> Result<Bytes> {
        let fail = |error| self.fail(error, Doing::Reading, name);
        let answer = self.objects.get_opts(location, measured(GetOptions::new())).await.map_err(fail)?;
        let bytes = answer.meta.size;
        accept(bytes)?;
        let wrong = |found| failure::length(name, &self.url, "the whole object", bytes, found);
        if answer.range != (0..bytes) {
            return Err(wrong(answer.range.end.saturating_sub(answer.range.start)));
        }
        let buffer = BytesMut::from(Bytes::from(failure::reserve(bytes, name, &self.url)?));
        Ok(Filled::join([fill(Filled::Part(buffer), bytes, answer, fail, wrong).await?].into_iter()))
    }

    pub(super) async fn read_files(self: &Arc<Self>, requests: &[RangeRequest]) -> Result<Vec<Bytes>> {
        let bytes = requests.iter().fold(0, |sum: u64, request| sum.saturating_add(request.bytes()));
        if requests.len() <= INLINE_RANGES && bytes <= INLINE_BYTES {
            return self.read_each(requests);
        }
        // Splits the requests into a few batches of about equal size; one thread reads each batch in order.
        let share = bytes.div_ceil(READERS as u64).max(1);
        let mut runs: Vec<Vec<RangeRequest>> = vec![Vec::new()];
        let mut open_bytes = 0;
        for request in requests {
            if open_bytes >= share || runs.last().is_some_and(|run| run.len() > requests.len() / READERS) {
                runs.push(Vec::new());
                open_bytes = 0;
            }
            open_bytes += request.bytes();
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

    pub(super) async fn read_objects(
        self: &Arc<Self>,
        requests: &[RangeRequest],
        sent: Option<&Arc<Sent>>,
    ) -> Result<Vec<Bytes>> {
        let mut fetches = Vec::new();
        let mut counts = Vec::with_capacity(requests.len());
        for request in requests {
            // The parts of one range are slices of one buffer, so that joining them is zero-copy.
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
                let (inner, request, sent) = (Arc::clone(self), request.clone(), sent.cloned());
                fetches.push(reading(async move {
                    if let Some(sent) = sent {
                        sent.add(part.end - part.start);
                    }
                    inner.fetch(request, part, buffer).await
                }));
            }
            counts.push(fetches.len() - before);
        }
        let parts: Vec<Filled> = stream::iter(fetches).buffered(CONCURRENT).try_collect().await?;
        let mut parts = parts.into_iter();
        Ok(counts.into_iter().map(|count| Filled::join(parts.by_ref().take(count))).collect())
    }

    async fn fetch(self: Arc<Self>, request: RangeRequest, part: Range<u64>, buffer: Option<BytesMut>) -> Result<Filled> {
        let name = &*request.name;
        let location = self.locate(name)?;
        let wholes = self.remote.as_ref().filter(|remote| remote.service == Service::Http).map(|remote| &remote.wholes);
        if let Some(wholes) = wholes.filter(|wholes| wholes.are_needed()) {
            return self.part_of_whole(wholes, &location, &request, part, buffer).await;
        }
        let options = measured(GetOptions::new().with_range(Some(GetRange::Bounded(part.clone()))));
        let answer = match self.objects.get_opts(&location, options).await {
            Ok(answer) => answer,
            Err(error) => {
                if let (Some(wholes), object_store::Error::NotSupported { .. }) = (wholes, &error) {
                    wholes.set_needed();
                    return self.part_of_whole(wholes, &location, &request, part, buffer).await;
                }
                let error = self.fail(error, Doing::Reading, name);
                // Each backend has another message for a range past the end of an object. The size tells whether that is
                // the cause.
                if error.kind() == ErrorKind::Unavailable
                    && !failure::is_silence(&error)
                    && let Ok(found) = self.size(name).await
                    && found < request.object_bytes
                {
                    return Err(request.short_object(&self.url, found));
                }
                return Err(error);
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
        let buffer = self.buffer(buffer, bytes, name)?;
        fill(buffer, bytes, answer, |error| self.fail(error, Doing::Reading, name), wrong).await
    }
}

impl Inner {
    /// Reads an object of a web server whole, or takes the one that was read last, and returns a part of it.
    ///
    /// # Errors
    /// - `Unsupported`: the object is larger than 256 MiB.
    /// - Errors of [`Inner::whole`].
    async fn part_of_whole(
        self: &Arc<Self>,
        wholes: &Wholes,
        location: &Path,
        request: &RangeRequest,
        part: Range<u64>,
        buffer: Option<BytesMut>,
    ) -> Result<Filled> {
        let (name, bytes, url) = (&request.name, request.object_bytes, &self.url);
        if bytes > MOST_WHOLE {
            return Err(Error::unsupported(format!(
                "{name} in {url}: the web server sends no ranges of bytes (it ignores the header Range), and the object has {}; at most \
                 {MOST_WHOLE} are read whole: serve the folder with a server that sends ranges",
                counted(bytes, "byte")
            )));
        }
        let (inner, owned) = (Arc::clone(self), Arc::clone(name));
        let load = move || {
            async move {
                let (url, of) = (inner.url.clone(), Arc::clone(&owned));
                let accept = move |found| match found == bytes {
                    true => Ok(()),
                    false => Err(failure::length(&of, &url, "the whole object", bytes, found)),
                };
                let content = inner.whole(&owned, accept).await?;
                // What is kept answers later reads too, so a flipped bit must not be kept.
                let Some(expected) = hash_in(&owned) else { return Ok(content) };
                let hashed = content.clone();
                let found = offload(move |_| Ok(Hash::of(&hashed))).await?;
                match found == expected {
                    true => Ok(content),
                    false => {
                        Err(Error::corrupt(format!("{owned} in {}: found blake3 {found}, its name has {expected}", inner.url)))
                    }
                }
            }
            .boxed()
        };
        let content = wholes.content(location, bytes).get_or_load(load).await?;
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(content.len());
        let mut buffer = self.buffer(buffer, part.end - part.start, name)?;
        buffer.extend(&content[place(part.start)..place(part.end)]);
        Ok(buffer)
    }

    /// Returns the buffer of a part: `given`, or one for `bytes` bytes that is recycled.
    fn buffer(&self, given: Option<BytesMut>, bytes: u64, name: &str) -> Result<Filled> {
        if let Some(given) = given {
            return Ok(Filled::Part(given));
        }
        let kept = usize::try_from(bytes).ok().and_then(buffers::take);
        Ok(Filled::Whole(match kept {
            Some(mut kept) => {
                kept.clear();
                kept
            }
            None => PooledBuffer::from(failure::reserve(bytes, name, &self.url)?),
        }))
    }
}

/// The bytes of a range, or of a part of a long range, whose parts share one buffer.
enum Filled {
    Whole(PooledBuffer),
    Part(BytesMut),
}

impl Filled {
    fn extend(&mut self, bytes: &[u8]) {
        match self {
            Self::Whole(buffer) => buffer.extend_from_slice(bytes),
            Self::Part(buffer) => buffer.extend_from_slice(bytes),
        }
    }

    /// Joins the parts of a range, zero-copy.
    fn join(parts: impl Iterator<Item = Self>) -> Bytes {
        let mut joined = BytesMut::new();
        for part in parts {
            match part {
                // Such a range has one part.
                Self::Whole(buffer) => return buffer.into_bytes(),
                Self::Part(part) => joined.unsplit(part),
            }
        }
        joined.freeze()
    }
}

/// Returns the hash in the name of an object that is named by its content.
fn hash_in(name: &str) -> Option<Hash> {
    name.rsplit('/').next()?.split('.').next()?.parse().ok()
}

/// Marks a request whose body is checked here, so that the connection does not bound it.
fn measured(mut options: GetOptions) -> GetOptions {
    options.extensions.insert(Measured);
    options
}

/// Appends the body of `answer` to `buffer`: exactly `bytes` bytes, and never more memory than that.
async fn fill(
    mut buffer: Filled,
    bytes: u64,
    answer: GetResult,
    fail: impl Fn(object_store::Error) -> Error,
    wrong: impl Fn(u64) -> Error,
) -> Result<Filled> {
    let mut found = 0;
    let mut body = match answer.payload {
        GetResultPayload::Stream(body) => body,
        // The stream of a file would switch threads every 8 KiB.
        GetResultPayload::File(..) => stream::iter([Ok(answer.bytes().await.map_err(&fail)?)]).boxed(),
    };
    while let Some(piece) = body.try_next().await.map_err(&fail)? {
        found += piece.len() as u64;
        if found > bytes {
            return Err(wrong(found));
        }
        buffer.extend(&piece);
    }
    if found == bytes { Ok(buffer) } else { Err(wrong(found)) }
}
