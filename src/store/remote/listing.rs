//! Listings: the names of a folder, page by page. A listing of a remote store whose answer is cut goes on where it was cut, as
//! ranges do; the backend does that for ranges, and for listings it does not.
//!
//! What a listing says of an object (its size, when it was written) is kept, so that nobody has to ask for each object alone.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::stream::TryStreamExt;
use object_store::{ObjectMeta, ObjectStore, path::Path};
use tokio::time::{Instant, sleep};

use super::wire::{progress, reading};
use crate::{
    Error, Result,
    store::{failure::Doing, inner::Inner, name, options::Service, store::Store},
};

/// The longest wait before a listing is asked for again; the first is the backend's own, later ones double.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// Attempts to list a folder whose names cannot be right.
const LISTINGS: usize = 3;

/// One object of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// Its name, relative to the root of the store.
    pub name: String,
    /// How many bytes it holds.
    pub bytes: u64,
    /// When it was written, by the store's clock: milliseconds since 1970-01-01T00:00Z.
    pub modified_ms: i64,
}

impl Listed {
    pub(in crate::store) fn new(name: String, bytes: u64, modified_ms: i64) -> Self {
        Self { name, bytes, modified_ms }
    }
}

impl Store {
    /// Whether this store says what objects it has; a web server does not.
    pub(crate) fn lists(&self) -> bool {
        self.inner.remote.as_ref().is_none_or(|remote| remote.service != Service::Http)
    }

    /// Whether answers come here over plain HTTP. There nothing detects a flipped bit; only content that is checked is safe.
    pub(crate) fn is_plain(&self) -> bool {
        self.inner.remote.as_ref().is_some_and(|remote| remote.plain)
    }

    /// Every object of a folder (`""` is the root) and below it, sorted by name, with size and time. One request lists 1,000
    /// objects on most remote stores.
    ///
    /// # Errors
    /// As [`Store::list`].
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # use tetrys::store::Store;
    /// let store = Store::open("memory://")?;
    /// store.put_new("chunks/aa/one", "sensor bytes".into()).await?;
    /// let listed = store.list_all("chunks").await?;
    /// assert_eq!((listed[0].name.as_str(), listed[0].bytes), ("chunks/aa/one", 12));
    /// assert!(listed[0].modified_ms > 0);
    /// # Ok::<(), tetrys::Error>(()) }).unwrap();
    /// ```
    pub async fn list_all(&self, folder: &str) -> Result<Vec<Listed>> {
        self.list_expected(folder, usize::MAX, |_| true).await
    }

    /// Every object of a folder (`""` is the root) and below it: names relative to the root, sizes in bytes, sorted by name.
    ///
    /// A folder that is not there is an empty one.
    ///
    /// # Errors
    /// `Denied`, `Unavailable` as the store answers; `Unavailable` where it lists names that cannot be right, and other ones
    /// each time.
    pub async fn list(&self, folder: &str) -> Result<Vec<(String, u64)>> {
        Ok(self.list_all(folder).await?.into_iter().map(|listed| (listed.name, listed.bytes)).collect())
    }

    /// The `count` names of a folder and below it that sort first, in order. Memory is bounded by `count`.
    ///
    /// # Errors
    /// As [`Store::list`].
    pub async fn list_first(&self, folder: &str, count: usize) -> Result<Vec<String>> {
        Ok(self.list_expected(folder, count, |_| true).await?.into_iter().map(|listed| listed.name).collect())
    }

    /// The `count` objects of a folder and below it whose names sort first, in order.
    ///
    /// A bit that flips on the way here changes a name into another one. So a folder is listed again where names come out of
    /// order or twice, lie elsewhere, or are not what is `expected` there. What two listings say alike is there.
    ///
    /// # Errors
    /// As [`Store::list`].
    pub(crate) async fn list_expected(&self, folder: &str, count: usize, expected: impl Fn(&str) -> bool) -> Result<Vec<Listed>> {
        let mut before = None;
        for _ in 0..LISTINGS {
            let (listed, sound) = self.list_once(folder, count).await?;
            let strange: Vec<String> =
                listed.iter().filter(|listed| !expected(&listed.name)).map(|listed| listed.name.clone()).collect();
            if sound && (strange.is_empty() || before.as_ref().is_some_and(|(held, _)| *held == strange)) {
                return Ok(listed);
            }
            if before.as_ref().is_some_and(|(_, held)| *held == listed) {
                return Ok(listed);
            }
            before = Some((strange, listed));
        }
        Err(Error::unavailable(format!(
            "{}: listed {folder} {LISTINGS} times: each listing had names that do not belong there, and no two listings agree; retry",
            self.url()
        )))
    }

    /// One listing, and whether its names came in the order in which the store lists, each once, and from where they were asked for.
    async fn list_once(&self, folder: &str, count: usize) -> Result<(Vec<Listed>, bool)> {
        let (mut first, mut last, mut in_order) = (BTreeMap::new(), None::<String>, true);
        // Not every backend promises an order; without one the listing is read to its end.
        let ordered = self.inner.lists_in_order();
        let take = |name: String, object: &ObjectMeta| {
            in_order &= !ordered || last.as_ref().is_none_or(|last| name > *last);
            last = Some(name.clone());
            let found = Listed::new(name.clone(), object.size, object.last_modified.timestamp_millis());
            first.insert(name, found);
            if first.len() > count {
                first.pop_last();
            }
            !(ordered && first.len() == count)
        };
        let sound = self.inner.each_name(folder, take).await?;
        Ok((first.into_values().collect(), in_order && sound))
    }
}

impl Inner {
    /// Hands every name of a folder to `take` until it says that it has enough. A name may come twice. Gives whether all of them
    /// lay where they were asked for.
    async fn each_name(&self, folder: &str, take: impl FnMut(String, &ObjectMeta) -> bool) -> Result<bool> {
        reading(self.each_name_read(folder, take)).await
    }

    async fn each_name_read(&self, folder: &str, mut take: impl FnMut(String, &ObjectMeta) -> bool) -> Result<bool> {
        self.beyond_http(Doing::Listing)?;
        let (mut sound, mut garbled_names) = (true, 0);
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
                        progress();
                        let relative = name::relative(&self.prefix, &object.location);
                        sound &= relative.is_some();
                        last = Some(object.location.clone());
                        // Patience is for what stands still; from the beginning again is no way forward.
                        if ordered {
                            (tries, wait, begin) = fresh();
                        }
                        if relative.is_some_and(|name| !take(name, &object)) {
                            return Ok(sound);
                        }
                    }
                    Ok(None) => return Ok(sound),
                    Err(error) => break error,
                }
            };
            let late = retry.is_none_or(|retry| begin.elapsed() + wait > retry.retry_timeout);
            // A name that cannot be one was garbled on the way, or is there: asking twice more tells.
            let garbled = error.to_string().contains("object with invalid path");
            garbled_names += usize::from(garbled);
            if tries == 0 || late || !(was_cut(&error) || garbled) || garbled_names > 2 {
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
/// The backends keep their error types private, so their words are what there is to go by; `tests/stores/s3_faults.rs` holds them.
fn was_cut(error: &object_store::Error) -> bool {
    let text = error.to_string();
    text.contains("list response body") || text.contains("invalid list response")
}
