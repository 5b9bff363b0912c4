//! The library without `async`: the same tables, indexes and loaders, with calls that block.
//!
//! The first call starts one runtime for the whole process. Calls also work inside asynchronous code, but each call blocks the
//! runtime thread that it runs on, so asynchronous code should use the asynchronous types. Every call may return `Unavailable` if
//! a thread cannot be started.
//!
//! ```
//! # use std::sync::Arc;
//! # use arrow_array::{Int64Array, RecordBatch, StringArray};
//! use tetrys::{Schema, WriteOptions, blocking::Table};
//! # let folder = tempfile::tempdir()?; let url = folder.path().join("words").display().to_string();
//! let schema = Schema::builder().index("id", "i64").group("text", [("text.word", "utf8")]).build()?;
//! # let batch = RecordBatch::try_from_iter([
//! #     ("id", Arc::new(Int64Array::from(vec![1, 2])) as _),
//! #     ("text.word", Arc::new(StringArray::from(vec!["one", "two"])) as _),
//! # ])?;
//! let table = Table::write(&url, schema, WriteOptions::default(), [batch])?;
//! let row = Table::open(&url)?.row_loader().columns(["text.*"])?.get_row(1)?;
//! assert_eq!(row.text("text.word")?, "two");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod changes;
mod plans;

pub use changes::{GroupReplacer, PartitionWriter, TableWriter};
pub use plans::WritePlan;

use std::{process, sync::OnceLock};

use arrow_array::RecordBatch;
use futures::{StreamExt, stream::BoxStream};
use tokio::runtime::{Handle, Runtime};

#[cfg(feature = "frame")]
use crate::table::{Index, SavedView, ViewWriter};
use crate::{
    Edge, Error, Explain, Result, Row, Rows, Schema, Window, Windows, WriteOptions,
    table::{self, Coalesce, Diff, Verification, VerifyReach},
    threads::elsewhere,
};

/// The runtime of a process, and behind it those of the processes that were forked from it.
struct OfProcess {
    process: u32,
    runtime: Runtime,
    forked: OnceLock<Box<Self>>,
}

/// Returns the runtime on which the calls of this module wait; it starts with the first call. Threads do not survive a fork, so a
/// forked child starts a runtime of its own.
///
/// # Errors
/// - `Unavailable`: the system gives no threads.
pub fn runtime() -> Result<&'static Runtime> {
    static FIRST: OnceLock<Box<OfProcess>> = OnceLock::new();
    let (mut place, process) = (&FIRST, process::id());
    loop {
        match place.get() {
            Some(held) if held.process == process => return Ok(&held.runtime),
            Some(parent) => place = &parent.forked,
            None => {
                let made = tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("tetrys").build();
                let runtime = made.map_err(|error| Error::from(error).at("starting threads"))?;
                if let Err(second) = place.set(Box::new(OfProcess { process, runtime, forked: OnceLock::new() })) {
                    // Another thread was first. Dropping a runtime waits for its threads, which is not allowed inside a runtime.
                    second.runtime.shutdown_background();
                }
            }
        }
    }
}

/// Waits for a future. A runtime thread must not wait for another runtime, so there a new thread waits.
fn wait<T: Send>(work: impl Future<Output = Result<T>> + Send) -> Result<T> {
    let runtime = runtime()?;
    if Handle::try_current().is_err() {
        return runtime.block_on(work);
    }
    elsewhere("tetrys-wait", || runtime.block_on(work)).unwrap_or_else(|error| Err(Error::from(error).at("starting a thread")))
}

/// Returns an iterator over a stream. Each call waits for one item.
fn items<T: Send>(mut stream: BoxStream<'_, Result<T>>) -> Result<impl Iterator<Item = Result<T>>> {
    runtime()?;
    Ok(std::iter::from_fn(move || wait(async { stream.next().await.transpose() }).transpose()))
}

/// One version of a table. Blocking variant of [`crate::Table`].
#[derive(Clone, Debug)]
pub struct Table(table::Table);

impl Table {
    /// Opens a table, as [`crate::Table::open`] does.
    ///
    /// # Errors
    /// - `NotFound`: there is no table, no such version or no such tag.
    /// - `Corrupt`, `Unsupported`: this build cannot read the manifest.
    /// - Errors of the store.
    pub fn open(url: &str) -> Result<Self> {
        wait(table::Table::open(url)).map(Self)
    }

    /// Writes all batches as one partition of a new table and commits. Use [`Table::create`] for several partitions, or for
    /// batches that arrive one by one.
    ///
    /// # Errors
    /// - `Exists`: there is a table already.
    /// - `Invalid`: the options are impossible, the schema has no index column, or the batches do not fit the schema.
    /// - `Unsupported`: a part of a tensor is null, which is neither one element nor the whole tensor.
    /// - `Conflict`: another writer created the table meanwhile.
    /// - `OutcomeUnknown`: it is unknown whether the version exists.
    /// - Errors of the store.
    pub fn write(
        url: &str,
        schema: Schema,
        options: WriteOptions,
        batches: impl IntoIterator<Item = RecordBatch>,
    ) -> Result<Self> {
        let writer = Self::create(url, schema, options)?;
        let receipt = writer.write(batches)?;
        writer.commit([receipt])
    }

    /// Returns the table for asynchronous use.
    pub fn as_async(&self) -> &table::Table {
        &self.0
    }

    /// Loads the index of this version, as [`crate::Table::index`] does.
    ///
    /// # Errors
    /// - `Corrupt`: an index object does not match the manifest.
    /// - Errors of the store.
    #[cfg(feature = "frame")]
    pub fn index(&self) -> Result<Index> {
        wait(self.0.index())
    }

    /// Loads the part of the index that a request chooses, as [`crate::Table::index`] does.
    ///
    /// ```no_run
    /// # fn example(table: &tetrys::blocking::Table) -> tetrys::Result<()> {
    /// let index = table.index_with(|request| request.columns(["log_id", "weather"]).categorical())?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// - `NotFound`: a pattern matches no index column, or a source table of a view cannot be found.
    /// - `Invalid`: a pattern is malformed.
    /// - `Unsupported`: the system does not have the memory.
    /// - `Corrupt`: an index object does not match the manifest.
    /// - Errors of the store.
    #[cfg(feature = "frame")]
    pub fn index_with(&self, choose: impl FnOnce(table::IndexRequest) -> table::IndexRequest) -> Result<Index> {
        wait(choose(self.0.index()))
    }

    /// Returns a loader of the table's rows by row number, as [`crate::Table::row_loader`] does.
    pub fn row_loader(&self) -> RowLoader {
        RowLoader(self.0.row_loader())
    }

    /// Compares two versions or tables, as [`crate::Table::diff`] does.
    ///
    /// # Errors
    /// - `NotFound`: a key is not an index column of both tables.
    /// - `Invalid`: a key has different types in both tables.
    /// - `Corrupt`: stored data is damaged.
    /// - Errors of the store.
    pub fn diff<K: AsRef<str>>(&self, before: &Self, on: impl IntoIterator<Item = K>) -> Result<Diff> {
        let on: Vec<String> = on.into_iter().map(|key| key.as_ref().to_owned()).collect();
        wait(self.0.diff(&before.0, on))
    }

    /// Compares two versions or tables, and reads values where hashes do not suffice, as [`crate::Table::diff_exact`] does.
    ///
    /// # Errors
    /// - `NotFound`: a key is not an index column of both tables.
    /// - `Invalid`: a key has different types in both tables.
    /// - `Corrupt`: stored data is damaged.
    /// - Errors of the store.
    pub fn diff_exact<K: AsRef<str>>(&self, before: &Self, on: impl IntoIterator<Item = K>) -> Result<Diff> {
        let on: Vec<String> = on.into_iter().map(|key| key.as_ref().to_owned()).collect();
        wait(self.0.diff_exact(&before.0, on))
    }

    /// Compares two versions or tables with options, as [`crate::Table::diff_with`] does.
    ///
    /// # Errors
    /// - `NotFound`: a key is not an index column of both tables, or the folder for temporary files does not exist.
    /// - `Invalid`: a key has different types in both tables.
    /// - `Unavailable`: a temporary file cannot be written, as on a full disk.
    /// - `Corrupt`: stored data is damaged.
    /// - Errors of the store.
    pub fn diff_with<K: AsRef<str>>(
        &self,
        before: &Self,
        on: impl IntoIterator<Item = K>,
        options: &table::DiffOptions,
    ) -> Result<Diff> {
        let on: Vec<String> = on.into_iter().map(|key| key.as_ref().to_owned()).collect();
        wait(self.0.diff_with(&before.0, on, options))
    }

    /// Commits a version that looks for the tables it uses at these URLs first, as [`crate::Table::rebind`] does.
    ///
    /// # Errors
    /// - `NotFound`: a URL has none of the versions that this table uses.
    /// - `Invalid`: this table uses no other table.
    /// - `Conflict`: this table has a newer version, or a used version was collected meanwhile.
    /// - `Denied`: a pin cannot be written.
    /// - Errors of the stores.
    pub fn rebind<U: AsRef<str>>(&self, urls: impl IntoIterator<Item = U>) -> Result<Self> {
        let urls: Vec<String> = urls.into_iter().map(|url| url.as_ref().to_owned()).collect();
        wait(self.0.rebind(urls)).map(Self)
    }

    /// Reads and checks all objects of this version, as [`crate::Table::verify`] does.
    ///
    /// # Errors
    /// Damage is part of the result and not an error.
    /// - Errors of the store that do not concern the bytes.
    pub fn verify(&self) -> Result<Verification> {
        wait(self.0.verify(|_, _| {}))
    }

    /// Also checks other versions or the tables behind a view, as [`crate::Table::verify_more`] does.
    ///
    /// # Errors
    /// Damage is part of the result and not an error.
    /// - Errors of the store that do not concern the bytes, and for all versions those of a store that cannot list.
    pub fn verify_more(&self, reach: VerifyReach) -> Result<Verification> {
        wait(self.0.verify_more(reach, |_, _| {}))
    }
}

/// Saves a view, as [`Index::save`] and [`ViewWriter::save`] do.
///
/// ```no_run
/// use tetrys::{Merge, blocking::{self, Table}};
/// let (sensors, labels) = (Table::open("sensors")?.index()?, Table::open("labels")?.index()?);
/// let merged = sensors.merge(&labels, &Merge::on(["log_id", "timestamp"]))?;
/// blocking::save(merged.view_writer().property("who", "me"), "labelled")?;
/// # Ok::<(), tetrys::Error>(())
/// ```
///
/// # Errors
/// - `Exists`: there is a table already.
/// - `Denied`: a pin cannot be written into a table behind the view.
/// - `Invalid`: an index cannot hold a column, or the index has no columns.
/// - `Conflict`: a source version was collected meanwhile.
/// - Errors of the stores.
#[cfg(feature = "frame")]
pub fn save(view: ViewWriter, url: &str) -> Result<SavedView> {
    wait(view.save(url))
}

/// Loads all rows of the tables behind an index, so that it can be the left side of a merge, as [`Index::with_sources`] does.
///
/// # Errors
/// - `Corrupt`: an index object does not match the manifest.
/// - Errors of the stores.
#[cfg(feature = "frame")]
pub fn with_sources(index: &Index) -> Result<Index> {
    wait(index.with_sources())
}

/// Reads rows. Blocking variant of [`crate::RowLoader`].
#[derive(Clone, Debug)]
pub struct RowLoader(table::RowLoader);

impl RowLoader {
    /// Creates a loader whose positions are the rows of the index, as [`crate::RowLoader::new`] does.
    ///
    /// # Errors
    /// - `Invalid`: a locator column is missing, or does not point into its table version.
    #[cfg(feature = "frame")]
    pub fn new(index: &Index) -> Result<Self> {
        table::RowLoader::new(index).map(Self)
    }

    /// Reads only the columns that match a pattern, as [`crate::RowLoader::columns`] does.
    ///
    /// # Errors
    /// - `NotFound`: a pattern matches no column. The message names the nearest one.
    pub fn columns<P: AsRef<str>>(self, patterns: impl IntoIterator<Item = P>) -> Result<Self> {
        self.0.columns(patterns).map(Self)
    }

    /// Sets what windows do at the end of a sequence, as [`crate::RowLoader::edge`] does.
    pub fn edge(self, edge: Edge) -> Self {
        Self(self.0.edge(edge))
    }

    /// Sets when neighbouring byte ranges become one request, as [`crate::RowLoader::coalesce`] does.
    pub fn coalesce(self, coalesce: Coalesce) -> Self {
        Self(self.0.coalesce(coalesce))
    }

    /// Sets the bytes of decoded blocks to cache, as [`crate::RowLoader::cache_bytes`] does.
    pub fn cache_bytes(self, bytes: usize) -> Self {
        Self(self.0.cache_bytes(bytes))
    }

    /// Returns the number of positions.
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// Whether there are no positions.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the row at a position, as [`crate::RowLoader::get_row`] does.
    ///
    /// # Errors
    /// - `Invalid`: the position is out of range.
    /// - `Corrupt`: stored data is damaged.
    /// - Errors of the store.
    pub fn get_row(&self, position: u64) -> Result<Row> {
        wait(self.0.get_row(position))
    }

    /// Returns the window around a position, as [`crate::RowLoader::get_rows`] does.
    ///
    /// # Errors
    /// - `Invalid`: the position is out of range, the offsets are impossible, a row is missing under [`Edge::Error`], or the
    ///   tables were joined by hand.
    /// - `Corrupt`: stored data is damaged.
    /// - Errors of the store.
    pub fn get_rows<W>(&self, position: u64, window: W) -> Result<Rows>
    where
        Window: TryFrom<W>,
        Error: From<<Window as TryFrom<W>>::Error>,
    {
        let window = Window::try_from(window)?;
        wait(self.0.get_rows::<&Window>(position, &window))
    }

    /// Returns the windows around several positions, as [`crate::RowLoader::get_windows`] does.
    ///
    /// # Errors
    /// - `Invalid`: a position is out of range, the offsets are impossible, a row is missing under [`Edge::Error`], or the tables
    ///   were joined by hand.
    /// - `Corrupt`: stored data is damaged.
    /// - Errors of the store.
    pub fn get_windows<W>(&self, positions: &[u64], window: W) -> Result<Windows>
    where
        Window: TryFrom<W>,
        Error: From<<Window as TryFrom<W>>::Error>,
    {
        let window = Window::try_from(window)?;
        wait(self.0.get_windows::<&Window>(positions, &window))
    }

    /// Returns windows of different columns around one position, as [`crate::RowLoader::get_parts`] does.
    ///
    /// # Errors
    /// - `Invalid`: the position is out of range, the offsets are impossible, a row is missing under [`Edge::Error`], or the
    ///   tables were joined by hand.
    /// - `NotFound`: a pattern matches no column.
    /// - `Corrupt`: stored data is damaged.
    /// - Errors of the store.
    pub fn get_parts<P: AsRef<str>, W>(&self, position: u64, parts: impl IntoIterator<Item = (P, W)>) -> Result<Vec<Rows>>
    where
        Window: TryFrom<W>,
        Error: From<<Window as TryFrom<W>>::Error>,
    {
        let parts = parts.into_iter().map(|(pattern, window)| Ok((pattern.as_ref().to_owned(), Window::try_from(window)?)));
        let parts = parts.collect::<Result<Vec<(String, Window)>>>()?;
        wait(self.0.get_parts::<String, Window>(position, parts))
    }

    /// Returns windows of different columns around several positions, as [`crate::RowLoader::get_parts_of_windows`] does.
    ///
    /// # Errors
    /// Those of [`crate::RowLoader::get_parts_of_windows`].
    pub fn get_parts_of_windows<P: AsRef<str>, W>(
        &self,
        positions: &[u64],
        parts: impl IntoIterator<Item = (P, W)>,
    ) -> Result<Vec<Windows>>
    where
        Window: TryFrom<W>,
        Error: From<<Window as TryFrom<W>>::Error>,
    {
        let parts = parts.into_iter().map(|(pattern, window)| Ok((pattern.as_ref().to_owned(), Window::try_from(window)?)));
        let parts = parts.collect::<Result<Vec<(String, Window)>>>()?;
        wait(self.0.get_parts_of_windows::<String, Window>(positions, parts))
    }

    /// Returns the rows at these positions, as [`crate::RowLoader::take`] does.
    ///
    /// # Errors
    /// - `Invalid`: a position is out of range.
    /// - `Corrupt`: stored data is damaged.
    /// - Errors of the store.
    pub fn take(&self, positions: &[u64]) -> Result<Rows> {
        wait(self.0.take(positions))
    }

    /// Returns all rows in batches of `batch_rows`, as [`crate::RowLoader::scan`] does. Reads the next batches while the caller
    /// uses one.
    ///
    /// # Errors
    /// - `Invalid`: `batch_rows` is 0.
    /// - `Unavailable`: a thread cannot be started.
    pub fn scan(&self, batch_rows: usize) -> Result<impl Iterator<Item = Result<Rows>> + use<>> {
        table::more_than_nothing(batch_rows, "batches of 0 rows")?;
        items(self.0.scan(batch_rows).boxed())
    }

    /// Returns the rows at these positions one by one, as [`crate::RowLoader::rows`] does. Reads the next rows while the caller
    /// uses some.
    ///
    /// # Errors
    /// - `Invalid`: `ahead` is 0.
    /// - `Unavailable`: a thread cannot be started.
    pub fn rows<I>(&self, positions: I, ahead: usize) -> Result<impl Iterator<Item = Result<Row>> + use<I>>
    where
        I: IntoIterator<Item = u64, IntoIter: Send + 'static>,
    {
        table::more_than_nothing(ahead, "0 rows ahead")?;
        let positions = positions.into_iter();
        items(self.0.rows(positions, ahead).boxed())
    }

    /// Returns the cost of reading a window, as [`crate::RowLoader::explain`] does.
    ///
    /// # Errors
    /// - `Invalid`: the position is out of range, the offsets are impossible, a row is missing under [`Edge::Error`], or the
    ///   tables were joined by hand.
    /// - `Corrupt`: stored data is damaged.
    /// - Errors of the store.
    pub fn explain<W>(&self, position: u64, window: W) -> Result<Explain>
    where
        Window: TryFrom<W>,
        Error: From<<Window as TryFrom<W>>::Error>,
    {
        let window = Window::try_from(window)?;
        wait(self.0.explain::<&Window>(position, &window))
    }
}
