//! Binds a table to new URLs of the tables whose chunks or rows it uses. Accepts only the exact version, which the hash of its
//! manifest identifies. Follows `format-spec/views.md#sources`.

use crate::{
    commit,
    error::{Error, ErrorKind, Result},
    format::{ForeignTable, Manifest},
    store::{Store, StoreOptions},
    table::{session::Session, version::table::Table},
};

/// Maximum number of URLs of one referenced table (`format-spec/manifest.md#limits`).
const MAX_URLS: usize = 16;

impl Table {
    /// Commits a version that looks for the tables that it uses at these URLs first, and then at the URLs known before. Writes no
    /// chunk and no index.
    ///
    /// ```no_run
    /// # async fn example() -> tetrys::Result<()> {
    /// use tetrys::Table;
    /// let busy = Table::open("/data/busy").await?; // its sensors moved to another disk
    /// let busy = busy.rebind(["/disk2/sensors"]).await?;
    /// assert!(busy.sources().await.is_ok());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// - `NotFound`: a URL has none of the versions that this table uses. The message names the expected and the found versions.
    /// - `Invalid`: this table uses no other table.
    /// - `Unsupported`: this version needs a later writer.
    /// - `Conflict`: this table has a newer version, or a garbage collection deleted a version that it uses.
    /// - `Denied`: no pin can be written to a table that this one uses (see [`Table::allow_unpinned`]).
    /// - Errors of the stores.
    pub async fn rebind<U: AsRef<str>>(&self, urls: impl IntoIterator<Item = U>) -> Result<Self> {
        self.rebind_with(urls, &StoreOptions::from_env()).await
    }

    /// Binds the table as [`Table::rebind`] does, with options for the stores at these URLs.
    ///
    /// # Errors
    /// - `NotFound`: a URL has none of the versions that this table uses. The message names the expected and the found versions.
    /// - `Invalid`: this table uses no other table, or the store options are impossible.
    /// - `Unsupported`: this version needs a later writer.
    /// - `Conflict`: this table has a newer version, or a garbage collection deleted a version that it uses.
    /// - `Denied`: no pin can be written to a table that this one uses (see [`Table::allow_unpinned`]).
    /// - Errors of the stores.
    ///
    /// ```no_run
    /// # async fn example() -> tetrys::Result<()> {
    /// use tetrys::{StoreOptions, Table};
    /// let options = StoreOptions::new([("endpoint", "http://127.0.0.1:9000"), ("aws_profile", "minio")]);
    /// let busy = Table::open_with("s3://bucket/busy", &options).await?;
    /// let busy = busy.rebind_with(["s3://archive/sensors"], &options).await?;
    /// # Ok(()) }
    /// ```
    pub async fn rebind_with<U: AsRef<str>>(&self, urls: impl IntoIterator<Item = U>, options: &StoreOptions) -> Result<Self> {
        let before = self.manifest();
        if before.stores.is_empty() {
            return Err(Error::invalid(format!("{}: it uses no other table", self.url())));
        }
        self.next_version_may_be_written()?;
        let (mut stores, mut found_in) = (before.stores.clone(), vec![None; before.stores.len()]);
        for url in urls {
            let store = Store::open_with(url.as_ref(), options)?;
            let mut found = false;
            for (foreign, place) in stores.iter_mut().zip(&mut found_in) {
                if !is_at(&store, foreign).await? {
                    continue;
                }
                found = true;
                let url = self.store().url_of(&store)?;
                foreign.urls.retain(|existing| *existing != url);
                foreign.urls.insert(0, url);
                foreign.urls.truncate(MAX_URLS);
                *place = Some(store.clone());
            }
            if !found {
                return Err(Error::not_found(format!("{}: {}", store.url(), wanted(&store, &before.stores).await)));
            }
        }
        let mut session = Session::first_or_next(self.store(), Some(self), false);
        // Pin the other tables for the new version too, if they can be reached.
        for ((foreign, place), old) in stores.iter().zip(found_in).zip(&before.stores) {
            let store = match place {
                Some(store) => Ok(store),
                None => self.open_foreign(old).await.map(|(store, _)| store),
            };
            session.owners.inherit(foreign.clone(), store);
        }
        let manifest = Manifest { stores, ..session.child()? };
        session.publish_alone(manifest).await
    }

    /// Returns this view with sources that are open already. Use it for stores that no URL opens, or for sources that are in
    /// another place only this time; nothing is written. The other sources are found by their URLs.
    ///
    /// # Errors
    /// - `NotFound`: a given table version is not a source of the view, or a source is at none of its URLs.
    /// - `Denied`: a URL of a source is not [allowed](Table::allow).
    /// - `Corrupt`: a source differs from the description in the view.
    /// - Errors of the stores.
    pub async fn bind<'a>(&self, tables: impl IntoIterator<Item = &'a Self>) -> Result<Self> {
        let stores = &self.manifest().stores;
        let mut given: Vec<Option<Self>> = vec![None; stores.len()];
        for table in tables {
            let is_it = |foreign: &ForeignTable| {
                (foreign.table, foreign.version, foreign.blake3)
                    == (table.manifest().table, table.version(), table.manifest_hash())
            };
            let places: Vec<usize> = (0..stores.len()).filter(|place| is_it(&stores[*place])).collect();
            if places.is_empty() {
                let wanted = wanted(table.store(), stores).await;
                return Err(Error::not_found(format!("{} version {}: {wanted}", table.url(), table.version())));
            }
            places.into_iter().for_each(|place| given[place] = Some(table.clone()));
        }
        let bound = Self::of(self.store().clone(), self.manifest().clone(), self.manifest_hash(), self.inner.allowed.clone());
        let opened = bound.open_sources(&given).await?;
        bound.inner.sources.set(opened);
        Ok(bound)
    }
}

/// Whether this store has exactly the version that `foreign` describes.
async fn is_at(store: &Store, foreign: &ForeignTable) -> Result<bool> {
    match commit::hash_of(store, foreign.version).await {
        Ok(hash) => Ok(hash == foreign.blake3),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Describes the expected versions and the table found in `store`, for an error message.
async fn wanted(store: &Store, stores: &[ForeignTable]) -> String {
    let wanted: Vec<String> =
        stores.iter().map(|foreign| format!("version {} of table {}", foreign.version, foreign.table)).collect();
    let there = match Table::open_in(store.clone()).await {
        Ok(table) => format!("table {} with versions up to {}", table.manifest().table, table.version()),
        Err(error) => format!("no table ({error})"),
    };
    format!("expected {}, found {there}", wanted.join(", or "))
}
