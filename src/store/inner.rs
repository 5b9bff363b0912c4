//! The shared state of a store: its handles, uploads and cached reads use it.

use std::sync::Arc;

use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, RetryConfig};

use super::{
    allowed::Place,
    cache::Cache,
    failure::{self, Doing},
    local::LocalFiles,
    name,
    options::{Service, StoreOptions},
    remote::{
        backend::{Bulk, Machine},
        wire::{Wire, reading},
    },
    wholes::Wholes,
};
use crate::{
    Error, Result,
    work::{Once, blocking},
};

/// The outcome of a create-only write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// The object is new and durable.
    Created,
    /// An object of that name existed before and was not changed.
    AlreadyThere,
}

/// The state of a store: the backend, the location of the objects, and the connection.
pub(super) struct Inner {
    pub(super) objects: Arc<dyn ObjectStore>,
    pub(super) prefix: Path,
    pub(super) url: String,
    /// Present if the objects are local files.
    pub(super) files: Option<LocalFiles>,
    /// Present if the store was opened by the URL of a remote service.
    pub(super) remote: Option<Reached>,
    /// The cache of a remote store, if the options enable it.
    pub(super) cache: Option<Arc<Cache>>,
    /// The options for opening other stores from here. The options that the caller gave for this store are not among them.
    pub(super) options: StoreOptions,
    /// Places that tables in this store may refer to, in addition to neighbours.
    pub(super) allowed: Arc<[Place]>,
}

/// The connection to a remote store.
#[derive(Clone)]
pub(super) struct Reached {
    pub(super) service: Service,
    /// The number of retries of a request, their backoff, and the total time.
    pub(super) retry: RetryConfig,
    pub(super) wire: Wire,
    pub(super) secrets: Arc<[String]>,
    /// Identifier of the bucket, different for every bucket.
    pub(super) identity: Arc<str>,
    /// Whether the caller promises that there are no other writers.
    pub(super) single_writer: bool,
    /// Whether the connection is plain HTTP.
    pub(super) plain: bool,
    /// Present if the service may know requests that delete many objects.
    pub(super) bulk: Option<Arc<Bulk>>,
    /// The objects that are read whole, if the store is a web server that sends no ranges.
    pub(super) wholes: Arc<Wholes>,
    /// Set once a check has shown that the store honours create-only puts.
    pub(super) keeps_conditions: Arc<Once<()>>,
    /// Present if the credentials come from the metadata service of the machine.
    pub(super) machine: Option<Machine>,
}

impl Inner {
    pub(super) fn locate(&self, name: &str) -> Result<Path> {
        name::locate(&self.prefix, name).map_err(|error| error.at(&self.url))
    }

    /// Returns the identifier of the bucket, different for every bucket; `None` if the store is not remote.
    pub(super) fn identity(&self) -> Option<&str> {
        self.remote.as_ref().map(|remote| &*remote.identity)
    }

    pub(super) fn fail(&self, error: object_store::Error, doing: Doing, name: &str) -> Error {
        let refused = self.remote.as_ref().and_then(|remote| remote.machine.as_ref()?.refusal(&error));
        if let Some(refused) = refused {
            return refused.at(&self.url);
        }
        let secrets = self.remote.as_ref().map(|remote| &*remote.secrets).unwrap_or_default();
        failure::backend(error, doing, name, &self.url, secrets)
    }

    pub(super) async fn size(self: &Arc<Self>, name: &str) -> Result<u64> {
        let location = self.locate(name)?;
        if let Some(files) = &self.files {
            return files.size(name);
        }
        Ok(reading(self.objects.head(&location)).await.map_err(|error| self.fail(error, Doing::Reading, name))?.size)
    }

    /// Refuses operations that a web server does not support.
    pub(super) fn beyond_http(&self, doing: Doing) -> Result<()> {
        match self.remote.as_ref().map(|remote| remote.service) {
            Some(Service::Http) => Err(Error::unsupported(match doing {
                Doing::Listing => format!("{}: a web server does not list its objects", self.url),
                _ => format!("{}: tables on a web server are read only", self.url),
            })),
            _ => Ok(()),
        }
    }

    /// Runs `work` on the local files, where blocking is allowed; `None` if the objects are not local files.
    pub(super) async fn on_disk<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&LocalFiles) -> Result<T> + Send + 'static,
    ) -> Result<Option<T>> {
        if self.files.is_none() {
            return Ok(None);
        }
        let inner = Arc::clone(self);
        blocking(move || inner.files.as_ref().map(work).transpose()).await
    }

    /// Syncs an object of another writer, so that it is as durable as our own objects before a commit refers to it.
    pub(super) async fn already_there(self: &Arc<Self>, name: &str) -> Result<Put> {
        let name = name.to_owned();
        self.on_disk(move |files| files.sync(&name)).await?;
        Ok(Put::AlreadyThere)
    }

    pub(super) fn same_size(&self, name: &str, expected: u64, found: u64) -> Result<()> {
        match expected == found {
            true => Ok(()),
            false => Err(failure::length(name, &self.url, "another object has this name", expected, found)),
        }
    }
}
