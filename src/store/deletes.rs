//! Deletes: one object, or many.

use futures::{StreamExt, stream};
use object_store::{ObjectStoreExt, path::Path};

use super::{failure::Doing, store::Store};
use crate::{ErrorKind, Result};

/// Number of deletes of one object at a time.
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

    /// Deletes objects as [`Store::delete`] does. One request deletes up to 1,000 objects on S3, if the service knows such requests, and
    /// up to 256 on Azure. Tries all objects, unless the store stops answering.
    ///
    /// # Errors
    /// - Those of [`Store::delete`], for the first object that could not be deleted.
    pub(crate) async fn delete_all(&self, names: Vec<String>) -> Result<()> {
        self.inner.beyond_http(Doing::Deleting)?;
        let locations = names.iter().map(|name| self.inner.locate(name)).collect::<Result<Vec<_>>>()?;
        if names.len() > 1 && self.deletes_in_bulk(locations).await {
            return Ok(());
        }
        // Each object has an answer of its own.
        let deletes: Vec<_> = names.iter().map(|name| self.delete(name)).collect();
        let (mut deletes, mut refused) = (stream::iter(deletes).buffered(REQUESTS), Ok(()));
        while let Some(deleted) = deletes.next().await {
            match deleted {
                Err(error) if error.kind() == ErrorKind::Unavailable => return Err(error),
                deleted => refused = refused.and(deleted),
            }
        }
        refused
    }

    /// Deletes many objects with each request. Returns whether all of them are gone: `false` also if the service has no such requests, or
    /// if `object_store` cannot read its answers.
    async fn deletes_in_bulk(&self, locations: Vec<Path>) -> bool {
        let bulk = self.inner.remote.as_ref().and_then(|remote| remote.bulk.as_deref()).and_then(|bulk| (**bulk).as_ref());
        let Some(bulk) = bulk else { return false };
        let mut deleted = bulk.delete_stream(stream::iter(locations.into_iter().map(Ok)).boxed());
        while let Some(one) = deleted.next().await {
            match one {
                Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
                Err(_) => return false,
            }
        }
        true
    }
}
