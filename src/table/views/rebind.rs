//! Tables that moved: a table that uses chunks or rows of others is told where they are now. What is taken is the very version, by
//! the hash of its manifest; another one is refused. Follows `format-spec/views.md#sources`.

use crate::{
    commit,
    error::{Error, ErrorKind, Result},
    format::{ForeignTable, Manifest},
    store::{Store, StoreOptions},
    table::{changing::session::Session, table::Table},
};

/// More places than anybody keeps a table at (`format-spec/manifest.md#limits`).
const MAX_URLS: usize = 16;

impl Table {
    /// The next version of this table, which finds tables that it uses at these URLs from now on: first there, then where they
    /// were before. No chunk and no index is written.
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
    /// `NotFound` for a URL with none of the versions that this table uses, naming what is there and what is wanted; `Invalid`
    /// where it uses no other table; `Conflict` where it has a newer version, or a table was collected meanwhile; `Denied` where a
    /// table cannot be told that it is used (see [`Table::allow_unpinned`]); errors of the stores.
    pub async fn rebind<U: AsRef<str>>(&self, urls: impl IntoIterator<Item = U>) -> Result<Self> {
        self.rebind_with(urls, &StoreOptions::from_env()).await
    }

    /// As [`Table::rebind`], the stores at these URLs being reached as `options` say.
    ///
    /// # Errors
    /// As [`Table::rebind`]; `Invalid` for options that cannot be.
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
                foreign.urls.retain(|held| *held != url);
                foreign.urls.insert(0, url);
                foreign.urls.truncate(MAX_URLS);
                *place = Some(store.clone());
            }
            if !found {
                return Err(Error::not_found(format!("{}: {}", store.url(), wanted(&store, &before.stores).await)));
            }
        }
        let mut session = Session::create(self.store().clone());
        session.allow_unpinned = self.inner.allow_unpinned;
        (session.base, session.table) = (Some(self.clone()), before.table);
        // The others are told of the new version too, where they can be reached.
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

    /// This view over sources that are open already, wherever they lie: for stores that no URL opens, or that are elsewhere this
    /// one time. Sources that are not given are found as before.
    ///
    /// # Errors
    /// `NotFound` for a table version that is none of its sources; as [`Table::sources`].
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

/// Whether the very version lies in this store.
async fn is_at(store: &Store, foreign: &ForeignTable) -> Result<bool> {
    match commit::hash_of(store, foreign.version).await {
        Ok(hash) => Ok(hash == foreign.blake3),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// What is wanted, and what is there.
async fn wanted(store: &Store, stores: &[ForeignTable]) -> String {
    let wanted: Vec<String> =
        stores.iter().map(|foreign| format!("version {} of table {}", foreign.version, foreign.table)).collect();
    let there = match Table::open_store(store.clone()).await {
        Ok(table) => format!("table {} with versions up to {}", table.manifest().table, table.version()),
        Err(error) => format!("no table ({error})"),
    };
    format!("expected {}, found {there}", wanted.join(", or "))
}
