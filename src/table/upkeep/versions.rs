//! The versions of a table as a handle of its own: their list, their tags, and what became of one.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::VersionInfo;
use crate::{commit::Fate, error::Result, store::Store, table::version::table::Table};

/// The versions of a table: [`Table::versions`] makes the handle of a version, and [`Versions::of`] that of a table whose versions
/// need not be readable.
///
/// ```no_run
/// # async fn example() -> tetrys::Result<()> {
/// let table = tetrys::Table::open("/data/sensors").await?;
/// for version in table.versions().list().await? {
///     println!("{} {:?} {} rows, {:?}", version.version, version.operation, version.rows, version.tags);
/// }
/// let first = table.versions().open(1).await?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Versions<'a, T = Table>(&'a T);

impl Table {
    /// Returns the versions of the table.
    pub fn versions(&self) -> Versions<'_> {
        Versions(self)
    }
}

impl<'a> Versions<'a, Store> {
    /// Returns the versions of the table in `store`. None is opened.
    pub fn of(store: &'a Store) -> Self {
        Self(store)
    }
}

impl<'a> Versions<'a> {
    /// Opens another version of the table. URLs that [`Table::allow`] allowed for this handle stay allowed.
    ///
    /// # Errors
    /// - `NotFound`: there is no such version. The message says which versions exist.
    /// - `Corrupt`: the manifest is damaged.
    /// - `Unsupported`: the version needs a feature that this build does not know.
    /// - Errors of the store.
    pub async fn open(self, version: u64) -> Result<Table> {
        let opened = Table::open_version_in(self.0.store().clone(), version).await?;
        Ok(opened.allow(self.0.allowed().iter().cloned()))
    }

    /// Returns the existing versions of this table, newest first. If the store cannot list its objects, such as a web server,
    /// returns the versions up to this one, at most about 1,000.
    ///
    /// # Errors
    /// - `Unsupported`: this build cannot read a manifest.
    /// - Errors of the store.
    pub async fn list(self) -> Result<Vec<VersionInfo>> {
        self.0.history().await
    }

    /// Returns the newest `limit` versions among those that [`Versions::list`] returns, and whether there may be older ones. Reads their
    /// manifests, and that of the newest version.
    ///
    /// ```
    /// # use tetrys::{Schema, Table, WriteOptions};
    /// # tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
    /// # let folder = tempfile::tempdir()?; let url = folder.path().join("t").display().to_string();
    /// # let schema = Schema::builder().index("id", "i64").build()?;
    /// let first = Table::create(&url, schema, WriteOptions::default()).await?.commit([]).await?;
    /// let second = first.edit().set_property("place", "Zurich").commit().await?;
    /// let (versions, has_older) = second.versions().recent(1).await?;
    /// assert_eq!((versions[0].version, versions.len(), has_older), (2, 1, true));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?; Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - `Unsupported`: this build cannot read a manifest.
    /// - Errors of the store.
    pub async fn recent(self, limit: usize) -> Result<(Vec<VersionInfo>, bool)> {
        self.0.recent_history(limit).await
    }

    /// Returns the tags that this version lists, and the version number of each tag.
    pub fn tags(self) -> &'a BTreeMap<String, u64> {
        self.0.tags()
    }

    /// Commits a version with the content of an earlier one: its rows, columns, table properties, attachments, codec preset and
    /// cut limits, and the tables behind a view. Returns this version if it has that content already. The version of the handle is the newest.
    ///
    /// No row and no payload is read or written: the new version names the objects of the earlier one, and condemnations of these
    /// objects are withdrawn. Tags stay as they are, and so do the versions in between; views of these versions read the same rows
    /// as before. Column ids that were used since are not used again.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// # use tetrys::{Schema, Table, WriteOptions};
    /// # tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
    /// # let folder = tempfile::tempdir()?; let url = folder.path().join("t").display().to_string();
    /// # let column = || Arc::new(Int64Array::from_iter_values(0..10)) as _;
    /// # let schema = Schema::builder().index("id", "i64").group("square", [("square.side", "i64")]).build()?;
    /// # let writer = Table::create(&url, schema, WriteOptions::default()).await?;
    /// # let mut partition = writer.partition()?;
    /// # partition.write(&RecordBatch::try_from_iter([("id", column()), ("square.side", column())])?).await?;
    /// # let table = writer.commit([partition.finish().await?]).await?;
    /// let fewer = table.delete([0, 1, 2], WriteOptions::default()).await?;
    /// let again = fewer.versions().restore(1).await?;
    /// assert_eq!((again.version(), again.rows(), fewer.rows()), (3, 10, 7));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?; Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - `NotFound`: there was no such version, or its manifest is missing: a garbage collection deletes the versions that are not
    ///   kept. The message names the versions that exist.
    /// - `Conflict`: another writer committed since this version was opened, or a garbage collection deletes an object of the
    ///   earlier version, here or in a table that it uses.
    /// - `Unsupported`: this version or the earlier one needs a later writer.
    /// - `Denied`: no pin can be written to a table that the earlier version uses (see [`Table::allow_unpinned`]).
    /// - Errors of the stores.
    pub async fn restore(self, version: u64) -> Result<Table> {
        self.0.restore(version).await
    }

    /// Gives up a version whose manifest is damaged, so that garbage can be collected. The next collections delete the manifest, and
    /// what this version alone names. If there is a copy of the table, repair the manifest instead ([`Storage::repair`](super::Storage::repair)).
    ///
    /// # Errors
    /// - `NotFound`: there is no table, or no such version.
    /// - `Invalid`: the manifest is sound, or it is that of the newest version.
    /// - `Conflict`: the version has a tag, or another table uses it.
    /// - `Corrupt`: a pin cannot be read, and may keep this version.
    /// - Errors of the store.
    pub async fn give_up(self, version: u64) -> Result<()> {
        self.0.give_up(version).await
    }
}

impl Versions<'_, Store> {
    /// Returns the existing versions of the table in `store`, newest first, with those whose manifest is damaged. Reads manifests
    /// only.
    ///
    /// ```no_run
    /// # async fn example() -> tetrys::Result<()> {
    /// use tetrys::{Store, table::Versions};
    /// for version in Versions::of(&Store::open("/data/sensors")?).list().await? {
    ///     println!("{} {:?} {} rows, {:?}", version.version, version.operation, version.rows, version.tags);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// - `Unsupported`: this build cannot read a manifest.
    /// - Errors of the store.
    pub async fn list(self) -> Result<Vec<VersionInfo>> {
        Table::versions_in(self.0).await
    }
}

impl<T: AsRef<Store>> Versions<'_, T> {
    /// Finds out the outcome of a commit by the version that it was to make and its id. The message of
    /// [`ErrorKind::OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown) has both. Lists once, and reads the manifests of all later versions, so ask soon.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// # use tetrys::{Schema, Table, WriteOptions};
    /// # tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
    /// # let folder = tempfile::tempdir()?; let url = folder.path().join("t").display().to_string();
    /// # let column = || Arc::new(Int64Array::from_iter_values(0..10)) as _;
    /// # let schema = Schema::builder().index("id", "i64").group("x", [("x", "i64")]).build()?;
    /// # let writer = Table::create(&url, schema, WriteOptions::default()).await?;
    /// # let mut partition = writer.partition()?;
    /// # partition.write(&RecordBatch::try_from_iter([("id", column()), ("x", column())])?).await?;
    /// # let table = writer.commit([partition.finish().await?]).await?;
    /// use tetrys::table::Fate;
    ///
    /// let commit = table.manifest().commit_id;
    /// assert_eq!(table.versions().fate_of(1, commit).await?, Fate::Committed);
    /// assert_eq!(table.versions().fate_of(2, commit).await?, Fate::Open);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?; Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - `NotFound`: there is no table.
    /// - `Corrupt`, `Unsupported`: this build cannot read a version after this one.
    /// - Errors of the store.
    pub async fn fate_of(self, version: u64, commit: Uuid) -> Result<Fate> {
        Table::fate_of(self.0.as_ref(), version, commit).await
    }

    /// Rules out that a commit still arrives whose outcome is unknown: where no version has its number, commits an empty version with
    /// this number. Never returns [`Fate::Open`], except if the commit was to create the table.
    ///
    /// # Errors
    /// - `NotFound`: there is no table.
    /// - `Invalid`: the version is not the next one.
    /// - `Denied`: the store refuses to write.
    /// - `Unsupported`: the newest version needs a later writer.
    /// - `OutcomeUnknown`: the store does not answer.
    /// - Errors of the store.
    pub async fn rule_out(self, version: u64, commit: Uuid) -> Result<Fate> {
        Table::rule_out(self.0.as_ref(), version, commit).await
    }
}
