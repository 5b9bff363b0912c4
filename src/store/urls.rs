//! URLs between stores: the URL by which objects of one store refer to another store, and how to open such a URL. Stores in one
//! bucket or on one host refer to each other by relative URLs, so that they can be moved together.

use std::sync::Arc;

use object_store::path::Path;

use super::{failure, inner::Inner, store::Store};
use crate::{Error, Result};

impl Store {
    /// Opens another store by its URL. In the same bucket or on the same host, the other store uses the connections and options
    /// of this store. Anywhere else, it uses only the options of the environment: options that were given for this store are
    /// never used elsewhere.
    ///
    /// # Errors
    /// - `Unsupported`: the scheme of the URL is unknown.
    /// - `Invalid`: the URL is malformed or contains a secret, or an option of the environment is invalid.
    /// - `Denied`: no credentials are configured, and the environment disables the metadata service of the machine.
    ///
    /// ```
    /// use std::sync::Arc;
    /// let objects = Arc::new(object_store::memory::InMemory::new());
    /// let labels = tetrys::store::Store::new(objects, "team/labels".into(), "s3://bucket/team/labels");
    /// let sensors = labels.open_other("s3://bucket/team/sensors")?;
    /// assert_eq!(sensors.url(), "s3://bucket/team/sensors");
    /// # Ok::<(), tetrys::Error>(())
    /// ```
    pub fn open_other(&self, url: &str) -> Result<Self> {
        let inner = &self.inner;
        let origin = |url: &str| {
            let parsed = url::Url::parse(url).ok()?;
            let secret = parsed.password().is_some() || parsed.query().is_some() || parsed.fragment().is_some();
            let authority =
                (parsed.scheme().to_owned(), parsed.username().to_owned(), parsed.host_str()?.to_owned(), parsed.port());
            (!secret).then(|| Some((authority, Path::from_url_path(parsed.path()).ok()?)))?
        };
        let plain = inner.files.is_none() && !inner.url.starts_with("memory:");
        if let (true, Some((here, root)), Some((there, prefix))) = (plain, origin(&inner.url), origin(url))
            && here == there
            && root == inner.prefix
        {
            let objects = Arc::clone(&inner.objects);
            let (remote, cache, options) = (inner.remote.clone(), inner.cache.clone(), inner.options.clone());
            let (url, allowed) = (failure::public_url(url.trim_end_matches('/')), Arc::clone(&inner.allowed));
            return Ok(Self::of(Inner { objects, prefix, url, files: None, remote, cache, options, allowed }));
        }
        match inner.files {
            // A local store needs no options: the given options are for the stores that its tables refer to. A token is for a host that
            // the caller names.
            Some(_) => Self::open_with(url, &inner.options.without_authorization()),
            None => Self::open_with(url, &inner.options.ambient()),
        }
    }

    /// Resolves a URL relative to the root of this store: `../sensors` is a neighbour.
    ///
    /// # Errors
    /// - `Invalid`: the URL is not relative, or leads out of the host or the bucket.
    pub fn neighbour(&self, relative: &str) -> Result<String> {
        let invalid = |why: &str| Error::invalid(format!("{}: relative URL `{relative}`: {why}", self.inner.url));
        let root = format!("{}/", self.inner.url.trim_end_matches('/'));
        let root = url::Url::parse(&root).map_err(|error| invalid(&error.to_string()))?;
        if relative.starts_with('/') || relative.contains(['\\', '?', '#', ':']) {
            return Err(invalid("expected names and `..` between slashes"));
        }
        let steps = relative.split('/').filter(|step| *step == "..").count();
        if steps > root.path_segments().map_or(0, |names| names.filter(|name| !name.is_empty()).count()) {
            return Err(invalid("it leads above the root"));
        }
        let joined = root.join(relative).map_err(|error| invalid(&error.to_string()))?;
        Ok(joined.as_str().trim_end_matches('/').to_owned())
    }

    /// Returns the URL by which objects of this store refer to another store: relative if both are on one host or in one bucket,
    /// else absolute. `.` is this store itself.
    ///
    /// ```
    /// use tetrys::Store;
    /// let (labels, sensors) = (Store::open("memory://bucket/labels")?, Store::open("memory://bucket/raw/sensors")?);
    /// assert_eq!(labels.url_of(&sensors)?, "../raw/sensors");
    /// assert_eq!(labels.neighbour("../raw/sensors")?, sensors.url());
    /// # Ok::<(), tetrys::Error>(())
    /// ```
    ///
    /// # Errors
    /// - `Invalid`: the other store has no URL by which it can be opened again, such as `memory://`; or its URL would mean
    ///   another store here, because the two stores have buckets of equal name at different endpoints.
    pub fn url_of(&self, other: &Self) -> Result<String> {
        let parts = |url: &str| {
            let url = url::Url::parse(&format!("{}/", url.trim_end_matches('/'))).ok()?;
            let names: Vec<String> = url.path_segments()?.filter(|name| !name.is_empty()).map(str::to_owned).collect();
            let host = (url.scheme().to_owned(), url.host_str().unwrap_or_default().to_owned(), url.port());
            let is_named = !names.is_empty() || !host.1.is_empty();
            is_named.then_some((host, names))
        };
        let nowhere = || Error::invalid(format!("{}: other stores cannot refer to a store without a name", other.inner.url));
        let (host, there) = parts(&other.inner.url).ok_or_else(nowhere)?;
        let absolute = Ok(other.inner.url.clone());
        let Some((_, here)) = parts(&self.inner.url).filter(|(own, _)| *own == host) else { return absolute };
        if let (Some(here), Some(there)) = (self.inner.identity(), other.inner.identity())
            && here != there
        {
            return Err(Error::invalid(format!(
                "{}: this store is at another endpoint or in another account than {}, where a bucket has the same name; a stored \
                 URL cannot tell them apart: open both with the same options, or write into a bucket with another name",
                other.inner.url, self.inner.url
            )));
        }
        let common = here.iter().zip(&there).take_while(|(here, there)| here == there).count();
        let steps = std::iter::repeat_n("..", here.len() - common).chain(there[common..].iter().map(String::as_str));
        let relative = steps.collect::<Vec<_>>().join("/");
        let relative = if relative.is_empty() { ".".to_owned() } else { relative };
        // Some names, such as names with a colon, cannot be in a relative URL.
        match self.neighbour(&relative) {
            Ok(found) if found == other.inner.url.trim_end_matches('/') => Ok(relative),
            _ => absolute,
        }
    }
}
