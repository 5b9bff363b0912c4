//! Reads from web servers that send no ranges of bytes, such as `python3 -m http.server`: an object is read whole, up to a bound, and the
//! last one is kept.

use std::{
    ops::Range,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::{Bytes, BytesMut};
use futures::FutureExt;

use super::{
    failure::length,
    fetch::Filled,
    inner::Inner,
    options::Service,
    ranges::RangeRequest,
};
use crate::{Error, Result, error::counted, once::Once};

/// The largest object that is read whole, in bytes.
const MOST: u64 = 256 << 20;

/// Whether a web server sends no ranges, and the object that was read last.
#[derive(Default)]
pub(super) struct Wholes {
    found: AtomicBool,
    last: Mutex<Option<Whole>>,
}

/// An object that is read whole.
struct Whole {
    name: Arc<str>,
    bytes: u64,
    content: Arc<Once<Bytes>>,
}

impl Inner {
    /// Whether an earlier request has shown that the web server sends no ranges.
    pub(super) fn sends_no_ranges(&self) -> bool {
        self.remote.as_ref().is_some_and(|remote| remote.wholes.found.load(Ordering::Relaxed))
    }

    /// Notes that the web server sends no ranges, if that is what an error of the backend says.
    pub(super) fn found_no_ranges(&self, error: &object_store::Error) -> bool {
        let Some(remote) = self.remote.as_ref().filter(|remote| remote.service == Service::Http) else { return false };
        let found = matches!(error, object_store::Error::NotSupported { .. });
        remote.wholes.found.fetch_or(found, Ordering::Relaxed) || found
    }

    /// Reads an object whole, or takes the one that was read last, and returns a part of it.
    ///
    /// # Errors
    /// - `Unsupported`: the object is larger than 256 MiB.
    /// - Errors of [`Inner::whole`].
    pub(super) async fn part_of_whole(
        self: &Arc<Self>,
        request: &RangeRequest,
        part: Range<u64>,
        buffer: Option<BytesMut>,
    ) -> Result<Filled> {
        let (name, bytes, url) = (&request.name, request.object_bytes, &self.url);
        if bytes > MOST {
            return Err(Error::unsupported(format!(
                "{name} in {url}: the web server sends no ranges of bytes (it ignores the header Range), and the object has {}; at most {MOST} \
                 are read whole: serve the folder with a server that sends ranges",
                counted(bytes, "byte")
            )));
        }
        let Some(remote) = &self.remote else { return Err(Error::internal("no web server")) };
        let content = {
            let mut last = remote.wholes.last.lock().unwrap_or_else(PoisonError::into_inner);
            match &*last {
                Some(held) if (&held.name, held.bytes) == (name, bytes) => Arc::clone(&held.content),
                _ => {
                    let content = Arc::new(Once::default());
                    *last = Some(Whole { name: Arc::clone(name), bytes, content: Arc::clone(&content) });
                    content
                }
            }
        };
        let (inner, owned) = (Arc::clone(self), Arc::clone(name));
        let load = move || {
            async move {
                let (url, of) = (inner.url.clone(), Arc::clone(&owned));
                let accept = move |found| match found == bytes {
                    true => Ok(()),
                    false => Err(length(&of, &url, "the whole object", bytes, found)),
                };
                inner.whole(&owned, accept).await
            }
            .boxed()
        };
        let content = content.get_or_load(load).await?;
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(content.len());
        let mut buffer = self.buffer(buffer, part.end - part.start, name)?;
        buffer.extend(&content[place(part.start)..place(part.end)]);
        Ok(buffer)
    }
}
