//! Listings of folders, page by page. A listing of a remote store that breaks off continues after the last name: the backend
//! resumes interrupted range reads, but not interrupted listings.
//!
//! A listing returns size and time of each object, so that callers need no request per object.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::stream::TryStreamExt;
use object_store::{ObjectStore, path::Path};
use tokio::time::sleep;

use super::wire;
use crate::{
    Error, Result, machine,
    store::{
        failure::{self, Doing},
        inner::Inner,
        local::LocalFiles,
        name,
        options::Service,
        store::Store,
    },
};

/// Maximum backoff before a listing continues. The first backoff is that of the backend; each later one doubles.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// Number of attempts to list a folder when names look damaged.
const LISTINGS: usize = 3;
/// Number of answers without a name that are no listing, or have invalid names, after which a listing is repeated.
const GARBLED: usize = 2;

/// One object of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// Name, relative to the root of the store.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Time of the write by the clock of the store: milliseconds since 1970-01-01T00:00Z.
    pub modified_ms: i64,
}

impl Listed {
    pub(in crate::store) fn new(name: String, bytes: u64, modified_ms: i64) -> Self {
        Self { name, bytes, modified_ms }
    }
}

impl Store {
    /// Whether this store supports listings; a web server does not.
    pub(crate) fn lists(&self) -> bool {
        self.inner.remote.as_ref().is_none_or(|remote| remote.service != Service::Http)
    }

    /// Whether the connection is plain HTTP, which does not detect flipped bits. Only verified content is safe there.
    pub(crate) fn is_plain(&self) -> bool {
        self.inner.remote.as_ref().is_some_and(|remote| remote.plain)
    }

    /// Lists all objects in and below a folder (`""` is the root), sorted by name, with size and time. Most remote stores need
    /// one request per 1,000 objects.
    ///
    /// # Errors
    /// - `Denied`, `Unavailable`: the store refuses or does not answer.
    /// - `Unavailable`: repeated listings had different names that do not belong into the folder.
    /// - `Unsupported`: the store is a web server.
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

    /// Lists all objects in and below a folder (`""` is the root): names relative to the root and sizes in bytes, sorted by name.
    ///
    /// A folder that does not exist is an empty folder.
    ///
    /// # Errors
    /// - `Denied`, `Unavailable`: the store refuses or does not answer.
    /// - `Unavailable`: repeated listings had different names that do not belong into the folder.
    /// - `Unsupported`: the store is a web server.
    pub async fn list(&self, folder: &str) -> Result<Vec<(String, u64)>> {
        Ok(self.list_all(folder).await?.into_iter().map(|listed| (listed.name, listed.bytes)).collect())
    }

    /// Returns the first `count` names in and below a folder, in order. Memory is bounded by `count`.
    ///
    /// # Errors
    /// - `Denied`, `Unavailable`: the store refuses or does not answer.
    /// - `Unavailable`: repeated listings had different names that do not belong into the folder.
    /// - `Unsupported`: the store is a web server.
    pub async fn list_first(&self, folder: &str, count: usize) -> Result<Vec<String>> {
        Ok(self.list_expected(folder, count, |_| true).await?.into_iter().map(|listed| listed.name).collect())
    }

    /// Returns the first `count` objects in and below a folder, sorted by name.
    ///
    /// A bit flip in transit changes a name into another name. So the folder is listed again if names are out of order,
    /// duplicate, outside the folder, or not `expected`. Names that two listings agree on are accepted.
    ///
    /// # Errors
    /// - `Denied`, `Unavailable`: the store refuses or does not answer.
    /// - `Unavailable`: all listings had names that do not belong there, and no two listings agree.
    /// - `Unsupported`: the store is a web server.
    pub(crate) async fn list_expected(&self, folder: &str, count: usize, expected: impl Fn(&str) -> bool) -> Result<Vec<Listed>> {
        let mut before = None;
        for _ in 0..LISTINGS {
            let (listed, sound) = self.list_once(folder, count).await?;
            let strange: Vec<String> =
                listed.iter().filter(|listed| !expected(&listed.name)).map(|listed| listed.name.clone()).collect();
            if sound && (strange.is_empty() || before.as_ref().is_some_and(|(existing, _)| *existing == strange)) {
                return Ok(listed);
            }
            if before.as_ref().is_some_and(|(_, existing)| *existing == listed) {
                return Ok(listed);
            }
            before = Some((strange, listed));
        }
        Err(Error::unavailable(format!(
            "{}: listed {folder} {LISTINGS} times: each listing had names that do not belong there, and no two listings agree; retry",
            self.url()
        )))
    }

    /// Returns the first `count` names of the objects directly in a folder that has no folders in it, in order.
    ///
    /// On a local disk this reads the folder alone: sizes and times of 10,000 files would take most of the time.
    ///
    /// # Errors
    /// The same as those of [`Store::list_expected`].
    pub(crate) async fn names_expected(
        &self,
        folder: &str,
        count: usize,
        expected: impl Fn(&str) -> bool,
    ) -> Result<Vec<String>> {
        if self.inner.files.is_none() {
            let listed = self.list_expected(folder, count, expected).await?;
            return Ok(listed.into_iter().map(|listed| listed.name).collect());
        }
        let folder = folder.to_owned();
        let names = self.inner.on_disk(move |files| files.names_in(&folder)).await?;
        let mut names = names.unwrap_or_default();
        names.sort_unstable();
        names.truncate(count);
        Ok(names)
    }

    /// Returns the first name directly at the root that is not expected. Names of folders end in `/`. A remote store is asked for a
    /// page of names, and for one more page for each expected folder.
    ///
    /// # Errors
    /// - `Denied`, `Unavailable`: the store refuses or does not answer.
    /// - `Unsupported`: the store is a web server.
    pub(crate) async fn first_at_root(&self, expected: impl Fn(&str) -> bool) -> Result<Option<String>> {
        self.inner.beyond_http(Doing::Listing)?;
        match self.inner.on_disk(LocalFiles::names_at_root).await? {
            Some(names) => Ok(names.into_iter().filter(|name| !expected(name)).min()),
            None => wire::listing(self.inner.first_at_root(&expected)).await,
        }
    }

    /// Lists the folder once. Also returns whether the names were in the order of the store, without duplicates, and inside
    /// the folder.
    async fn list_once(&self, folder: &str, count: usize) -> Result<(Vec<Listed>, bool)> {
        let (mut first, mut last, mut in_order) = (BTreeMap::new(), None::<String>, true);
        // Without an ordered backend the listing must be read to its end.
        let ordered = self.inner.lists_in_order();
        let take = |found: Listed| {
            in_order &= !ordered || last.as_ref().is_none_or(|last| found.name > *last);
            last = Some(found.name.clone());
            first.insert(found.name.clone(), found);
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
    /// Passes each object of a folder to `take` until `take` returns false. A name may come twice. Returns whether all names were
    /// inside the store.
    async fn each_name(self: &Arc<Self>, folder: &str, mut take: impl FnMut(Listed) -> bool) -> Result<bool> {
        self.beyond_http(Doing::Listing)?;
        let location = name::locate_folder(&self.prefix, folder).map_err(|error| error.at(&self.url))?;
        let place = folder.to_owned();
        if let Some(listed) = self.on_disk(move |files| files.list(&place)).await? {
            let _ = listed.into_iter().all(take);
            return Ok(true);
        }
        wire::listing(self.each_name_read(folder, location, &mut take)).await
    }

    async fn first_at_root(&self, expected: &impl Fn(&str) -> bool) -> Result<Option<String>> {
        let prefix = (!self.prefix.as_ref().is_empty()).then_some(&self.prefix);
        let (mut behind, mut tries_left) = (None::<Path>, LISTINGS);
        'listing: loop {
            let mut listing = match &behind {
                Some(behind) => self.objects.list_with_offset(prefix, behind),
                None => self.objects.list(prefix),
            };
            loop {
                let object = match listing.try_next().await {
                    Ok(Some(object)) => object,
                    Ok(None) => return Ok(None),
                    Err(error) if tries_left > 1 && failure::broken_listing(&error) != (false, false) => {
                        tries_left -= 1;
                        wire::restarted();
                        continue 'listing;
                    }
                    Err(error) => return Err(self.fail(error, Doing::Listing, "")),
                };
                wire::named();
                let Some(name) = name::relative(&self.prefix, &object.location) else { continue };
                let folder = name.split_once('/').map(|(folder, _)| folder);
                let first = folder.map_or_else(|| name.to_string(), |folder| format!("{folder}/"));
                if !expected(&first) {
                    return Ok(Some(first));
                }
                if let Some(folder) = folder.filter(|_| self.lists_in_order()) {
                    // The byte behind `/`: no name in the folder comes after it.
                    behind = Some(self.prefix.clone().join(format!("{folder}0")));
                    continue 'listing;
                }
            }
        }
    }

    async fn each_name_read(&self, folder: &str, location: Path, take: &mut impl FnMut(Listed) -> bool) -> Result<bool> {
        let (mut sound, mut garbled) = (true, 0);
        let prefix = (!location.as_ref().is_empty()).then_some(&location);
        let retry = self.remote.as_ref().map(|remote| &remote.retry);
        let fresh = || {
            let tries = retry.map_or(0, |retry| retry.max_retries);
            (tries, retry.map_or(Duration::ZERO, |retry| retry.backoff.init_backoff), machine::timer_now())
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
                        wire::named();
                        let relative = name::relative(&self.prefix, &object.location);
                        sound &= relative.is_some();
                        last = Some(object.location.clone());
                        // The retries count anew after progress. A listing that starts from the beginning makes no progress.
                        if ordered {
                            (tries, wait, begin) = fresh();
                            garbled = 0;
                        }
                        let listed = |name| Listed::new(name, object.size, object.last_modified.timestamp_millis());
                        if relative.is_some_and(|name| !take(listed(name))) {
                            return Ok(sound);
                        }
                    }
                    Ok(None) => return Ok(sound),
                    Err(error) => break error,
                }
            };
            let late = retry.is_none_or(|retry| begin.elapsed() + wait > retry.retry_timeout);
            // A name or a page was damaged in transit, or is so in the store: two more attempts tell which.
            let (cut, invalid) = failure::broken_listing(&error);
            garbled += usize::from(invalid);
            let is_final = failure::known(&error).is_some() || !(cut || invalid) || garbled > GARBLED;
            if tries == 0 || late || is_final {
                return Err(self.fail(error, Doing::Listing, folder));
            }
            wire::restarted();
            tries -= 1;
            sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    /// Whether the service documents that listings are sorted, so that the first names are on the first page.
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
