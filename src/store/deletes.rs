//! Deletes: one object, or many.

use futures::{StreamExt, TryStreamExt, stream};
use object_store::ObjectStoreExt;

use super::{failure::Doing, local::LocalFiles, store::Store};
use crate::{ErrorKind, Result};

/// Number of files that one task deletes.
const FILES: usize = 1_000;
/// Number of requests at a time, where each deletes one object.
const REQUESTS: usize = 64;

impl Store {
    /// Deletes an object. Deleting an object that does not exist is not an error.
    ///
    /// # Errors
    /// - `Denied`, `Unavailable`: the store refuses or does not answer, or a folder below the root of a local directory is a link.
    /// - `Unsupported`: the store is a web server.
    pub async fn delete(&self, name: &str) -> Result<()> {
        self.inner.beyond_http(Doing::Deleting)?;
        let location = self.inner.locate(name)?;
        let owned = name.to_owned();
        if let Some(()) = self.inner.on_disk(move |files| files.remove(&owned)).await? {
            return Ok(());
        }
        match self.inner.objects.delete(&location).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => match self.inner.fail(error, Doing::Deleting, name) {
                error if error.kind() == ErrorKind::NotFound => Ok(()),
                error => Err(error),
            },
        }
    }

    /// Deletes objects as [`Store::delete`] does. On S3, a request deletes up to 1,000, if the service knows such requests. Tries all of
    /// them where one is refused, and ends where the store does not answer.
    ///
    /// # Errors
    /// - Those of [`Store::delete`], for the first object that could not be deleted.
    pub(crate) async fn delete_all(&self, names: Vec<String>) -> Result<()> {
        self.inner.beyond_http(Doing::Deleting)?;
        let locations = names.iter().map(|name| self.inner.locate(name)).collect::<Result<Vec<_>>>()?;
        if self.inner.files.is_some() {
            let remove =
                |files: &LocalFiles, names: &[String]| names.iter().map(|name| files.remove(name)).fold(Ok(()), Result::and);
            let mut deleted = Ok(());
            for some in names.chunks(FILES).map(<[String]>::to_vec) {
                deleted = deleted.and(self.inner.on_disk(move |files| remove(files, &some)).await.map(drop));
            }
            return deleted;
        }
        if let Some(bulk) =
            self.inner.remote.as_ref().and_then(|remote| remote.bulk.as_deref()).and_then(|bulk| (**bulk).as_ref())
            && let [first, _, ..] = &names[..]
        {
            let deleted =
                bulk.delete_stream(stream::iter(locations.into_iter().map(Ok)).boxed()).try_for_each(|_| async { Ok(()) }).await;
            match deleted.map_err(|error| self.inner.fail(error, Doing::Deleting, first)) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Unavailable => return Err(error),
                // The service does not know such requests, or refuses one of the objects: below, each has its own answer.
                Err(_) => {}
            }
        }
        let deletes: Vec<_> = names.iter().map(|name| self.delete(name)).collect();
        let deleted: Vec<Result<()>> = stream::iter(deletes).buffered(REQUESTS).collect().await;
        deleted.into_iter().collect()
    }
}
