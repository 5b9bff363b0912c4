//! Reads many ranges of local files past the page cache at a time, so that a disk gets many requests at once.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;

use super::{inner::Inner, local::LocalFiles, ranges::RangeRequest};
use crate::{Error, Result, work::offload};

/// Number of threads that read at a time. (`cold_reads`.)
const READERS: usize = 16;

impl Inner {
    /// Reads ranges of local files past the page cache, [`READERS`] at a time.
    pub(super) async fn read_direct(self: &Arc<Self>, requests: &[RangeRequest]) -> Result<Vec<Bytes>> {
        let (requests, next): (Arc<[RangeRequest]>, _) = (requests.into(), Arc::new(AtomicUsize::new(0)));
        let reads = (0..READERS.min(requests.len())).map(|_| {
            let (inner, requests, next) = (Arc::clone(self), Arc::clone(&requests), Arc::clone(&next));
            offload(move |stop| {
                let files: &LocalFiles =
                    inner.files.as_ref().ok_or_else(|| Error::internal("a local store without its directory"))?;
                let mut read = Vec::new();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(request) = requests.get(number) else { return Ok(read) };
                    stop.check()?;
                    read.push((number, files.read(request)?));
                }
            })
        });
        let mut read = futures::future::try_join_all(reads).await?.concat();
        read.sort_unstable_by_key(|(number, _)| *number);
        Ok(read.into_iter().map(|(_, bytes)| bytes).collect())
    }
}
