//! Listings: the names of a folder, page by page. A listing of a remote store whose answer is cut goes on where it was cut, as
//! ranges do; the backend does that for ranges, and for listings it does not.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::stream::TryStreamExt;
use object_store::{ObjectStore, path::Path};
use tokio::time::{Instant, sleep};

use super::failure::Doing;
use super::name;
use super::options::Service;
use super::store::{Inner, Store};
use crate::Result;

/// The longest wait before a listing is asked for again; the first is the backend's own, later ones double.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

impl Store {
    /// Every object of a folder (`""` is the root) and below it: names relative to the root, sizes in bytes, sorted by name.
    ///
    /// A folder that is not there is an empty one.
    ///
    /// # Errors
    /// `Denied`, `Unavailable` as the store answers.
    pub async fn list(&self, folder: &str) -> Result<Vec<(String, u64)>> {
        let mut names = BTreeMap::new();
        let take = |name, bytes| {
            names.insert(name, bytes);
            true
        };
        self.inner.each_name(folder, take).await?;
        Ok(names.into_iter().collect())
    }

    /// The `count` names of a folder and below it that sort first, in order. Memory is bounded by `count`.
    ///
    /// # Errors
    /// As [`Store::list`].
    pub async fn list_first(&self, folder: &str, count: usize) -> Result<Vec<String>> {
        let mut first = BTreeSet::new();
        // Not every backend promises an order; without one the listing is read to its end.
        let ordered = self.inner.lists_in_order();
        let take = |name, _| {
            first.insert(name);
            if first.len() > count {
                first.pop_last();
            }
            !(ordered && first.len() == count)
        };
        self.inner.each_name(folder, take).await?;
        Ok(first.into_iter().collect())
    }
}

impl Inner {
    /// Hands every name of a folder to `take` until it says that it has enough. A name may come twice.
    async fn each_name(&self, folder: &str, mut take: impl FnMut(String, u64) -> bool) -> Result<()> {
        self.beyond_http(Doing::Listing)?;
        let location = name::locate_folder(&self.prefix, folder).map_err(|error| error.at(&self.url))?;
        let prefix = (!location.as_ref().is_empty()).then_some(&location);
        let retry = self.remote.as_ref().map(|remote| &remote.retry);
        let fresh = || {
            let tries = retry.map_or(0, |retry| retry.max_retries);
            (tries, retry.map_or(Duration::ZERO, |retry| retry.backoff.init_backoff), Instant::now())
        };
        let (mut tries, mut wait, mut begin) = fresh();
        let (ordered, mut last) = (self.lists_in_order(), None::<Path>);
        loop {
            let mut listing = match last.as_ref().filter(|_| ordered) {
                Some(last) => self.objects.list_with_offset(prefix, last),
                None => self.objects.list(prefix),
            };
            let error = loop {
                match listing.try_next().await {
                    Ok(Some(object)) => {
                        let relative = name::relative(&self.prefix, &object.location);
                        last = Some(object.location);
                        // Patience is for what stands still; from the beginning again is no way forward.
                        if ordered {
                            (tries, wait, begin) = fresh();
                        }
                        if relative.is_some_and(|name| !take(name, object.size)) {
                            return Ok(());
                        }
                    }
                    Ok(None) => return Ok(()),
                    Err(error) => break error,
                }
            };
            let late = retry.is_none_or(|retry| begin.elapsed() + wait > retry.retry_timeout);
            if tries == 0 || late || !was_cut(&error) {
                return Err(self.fail(error, Doing::Listing, folder));
            }
            tries -= 1;
            sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    /// True where the service documents that names come in their order, so that the first ones are the first page.
    fn lists_in_order(&self) -> bool {
        let service = self.remote.as_ref().map(|remote| remote.service);
        match service {
            // A directory bucket (S3 Express) promises no order.
            Some(Service::S3) => !self.url.split('/').nth(2).is_some_and(|bucket| bucket.ends_with("--x-s3")),
            Some(Service::Gcs | Service::Azure) => true,
            Some(Service::Http) | None => false,
        }
    }
}

/// True where a listing began to be answered and its answer broke off or cannot be read; refusals have been tried again below us.
///
/// The backends keep their error types private, so their words are what there is to go by; `tests/s3_faults.rs` holds them.
fn was_cut(error: &object_store::Error) -> bool {
    let text = error.to_string();
    text.contains("list response body") || text.contains("invalid list response")
}
