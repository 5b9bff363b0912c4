//! The library without `async`: the same tables, indexes and loaders, whose calls wait.
//!
//! One runtime serves the whole process; it is made by the first call. Inside asynchronous code a call does the same, and holds
//! up the thread of the runtime that it is made on until it is done: the asynchronous types are better there.
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

pub use changes::{GroupReplacer, PartitionWriter, TableWriter};

use std::sync::OnceLock;

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

/// The runtime of the process.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let made = tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("tetrys").build();
    let made = made.map_err(|error| Error::from(error).at("starting threads"))?;
    if let Err(second) = RUNTIME.set(made) {
        // Another thread was first. Dropped here it would wait for its threads, which inside a runtime nobody may.
        second.shutdown_background();
    }
    RUNTIME.get().ok_or_else(|| Error::internal("no runtime"))
}

/// Waits for work. A thread of a runtime may not wait for another runtime, so a thread of its own does.
fn wait<T: Send>(work: impl Future<Output = Result<T>> + Send) -> Result<T> {
    let runtime = runtime()?;
    if Handle::try_current().is_err() {
        return runtime.block_on(work);
    }
    elsewhere("tetrys-wait", || runtime.block_on(work)).unwrap_or_else(|error| Err(Error::from(error).at("starting a thread")))
}

/// What a stream gives, waited for item by item.
fn items<T: Send>(mut stream: BoxStream<'_, Result<T>>) -> Result<impl Iterator<Item = Result<T>>> {
    runtime()?;
    Ok(std::iter::from_fn(move || wait(async { stream.next().await.transpose() }).transpose()))
}

/// One version of a table; see [`crate::Table`].
#[derive(Clone, Debug)]
pub struct Table(table::Table);

impl Table {
    /// As [`crate::Table::open`].
    ///
    /// # Errors
    /// As there.
    pub fn open(url: &str) -> Result<Self> {
        wait(table::Table::open(url)).map(Self)
    }

    /// Writes all batches as one partition of a new table and commits it. For several partitions, and for batches that come one
    /// by one, there is [`Table::create`].
    ///
    /// # Errors
    /// As [`crate::Table::create`], [`crate::PartitionWriter::write`] and [`crate::TableWriter::commit`].
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

    /// The table for asynchronous use.
    pub fn as_async(&self) -> &table::Table {
        &self.0
    }

    /// As [`crate::Table::index`].
    ///
    /// # Errors
    /// As there.
    #[cfg(feature = "frame")]
    pub fn index(&self) -> Result<Index> {
        wait(self.0.index())
    }

    /// As [`crate::Table::row_loader`].
    pub fn row_loader(&self) -> RowLoader {
        RowLoader(self.0.row_loader())
    }

    /// As [`crate::Table::diff`].
    ///
    /// # Errors
    /// As there.
    pub fn diff<K: AsRef<str>>(&self, before: &Self, on: impl IntoIterator<Item = K>) -> Result<Diff> {
        let on: Vec<String> = on.into_iter().map(|key| key.as_ref().to_owned()).collect();
        wait(self.0.diff(&before.0, on))
    }

    /// As [`crate::Table::diff_exact`].
    ///
    /// # Errors
    /// As there.
    pub fn diff_exact<K: AsRef<str>>(&self, before: &Self, on: impl IntoIterator<Item = K>) -> Result<Diff> {
        let on: Vec<String> = on.into_iter().map(|key| key.as_ref().to_owned()).collect();
        wait(self.0.diff_exact(&before.0, on))
    }

    /// As [`crate::Table::rebind`].
    ///
    /// # Errors
    /// As there.
    pub fn rebind<U: AsRef<str>>(&self, urls: impl IntoIterator<Item = U>) -> Result<Self> {
        let urls: Vec<String> = urls.into_iter().map(|url| url.as_ref().to_owned()).collect();
        wait(self.0.rebind(urls)).map(Self)
    }

    /// As [`crate::Table::verify`].
    ///
    /// # Errors
    /// As there.
    pub fn verify(&self) -> Result<Verification> {
        wait(self.0.verify(|_, _| {}))
    }

    /// As [`crate::Table::verify_more`].
    ///
    /// # Errors
    /// As there.
    pub fn verify_more(&self, reach: VerifyReach) -> Result<Verification> {
        wait(self.0.verify_more(reach, |_, _| {}))
    }
}

/// As [`Index::save`], or [`ViewWriter::save`] for a view of which more is said.
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
/// As there.
#[cfg(feature = "frame")]
pub fn save(view: ViewWriter, url: &str) -> Result<SavedView> {
    wait(view.save(url))
}

/// As [`Index::with_sources`].
///
/// # Errors
/// As there.
#[cfg(feature = "frame")]
pub fn with_sources(index: &Index) -> Result<Index> {
    wait(index.with_sources())
}

/// Reads rows; see [`crate::RowLoader`].
#[derive(Clone, Debug)]
pub struct RowLoader(table::RowLoader);

impl RowLoader {
    /// As [`crate::RowLoader::new`].
    ///
    /// # Errors
    /// As there.
    #[cfg(feature = "frame")]
    pub fn new(index: &Index) -> Result<Self> {
        table::RowLoader::new(index).map(Self)
    }

    /// As [`crate::RowLoader::columns`].
    ///
    /// # Errors
    /// As there.
    pub fn columns<P: AsRef<str>>(self, patterns: impl IntoIterator<Item = P>) -> Result<Self> {
        self.0.columns(patterns).map(Self)
    }

    /// As [`crate::RowLoader::edge`].
    pub fn edge(self, edge: Edge) -> Self {
        Self(self.0.edge(edge))
    }

    /// As [`crate::RowLoader::coalesce`].
    pub fn coalesce(self, coalesce: Coalesce) -> Self {
        Self(self.0.coalesce(coalesce))
    }

    /// As [`crate::RowLoader::keep`].
    pub fn keep(self, bytes: usize) -> Self {
        Self(self.0.keep(bytes))
    }

    /// How many positions.
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As [`crate::RowLoader::get_row`].
    ///
    /// # Errors
    /// As there.
    pub fn get_row(&self, position: u64) -> Result<Row> {
        wait(self.0.get_row(position))
    }

    /// As [`crate::RowLoader::get_rows`].
    ///
    /// # Errors
    /// As there.
    pub fn get_rows<W>(&self, position: u64, window: W) -> Result<Rows>
    where
        Window: TryFrom<W>,
        Error: From<<Window as TryFrom<W>>::Error>,
    {
        let window = Window::try_from(window)?;
        wait(self.0.get_rows::<&Window>(position, &window))
    }

    /// As [`crate::RowLoader::get_windows`].
    ///
    /// # Errors
    /// As there.
    pub fn get_windows<W>(&self, positions: &[u64], window: W) -> Result<Windows>
    where
        Window: TryFrom<W>,
        Error: From<<Window as TryFrom<W>>::Error>,
    {
        let window = Window::try_from(window)?;
        wait(self.0.get_windows::<&Window>(positions, &window))
    }

    /// As [`crate::RowLoader::get_parts`].
    ///
    /// # Errors
    /// As there.
    pub fn get_parts<P: AsRef<str>, W>(&self, position: u64, parts: impl IntoIterator<Item = (P, W)>) -> Result<Vec<Rows>>
    where
        Window: TryFrom<W>,
        Error: From<<Window as TryFrom<W>>::Error>,
    {
        let parts = parts.into_iter().map(|(pattern, window)| Ok((pattern.as_ref().to_owned(), Window::try_from(window)?)));
        let parts = parts.collect::<Result<Vec<(String, Window)>>>()?;
        wait(self.0.get_parts::<String, Window>(position, parts))
    }

    /// As [`crate::RowLoader::take`].
    ///
    /// # Errors
    /// As there.
    pub fn take(&self, positions: &[u64]) -> Result<Rows> {
        wait(self.0.take(positions))
    }

    /// As [`crate::RowLoader::scan`]; the batches behind the one in use are read meanwhile.
    ///
    /// # Errors
    /// `Invalid` for batches of 0 rows; `Unavailable` where no thread can be started.
    pub fn scan(&self, batch_rows: usize) -> Result<impl Iterator<Item = Result<Rows>> + use<>> {
        table::more_than_nothing(batch_rows, "batches of 0 rows")?;
        items(self.0.scan(batch_rows).boxed())
    }

    /// As [`crate::RowLoader::rows`]; the rows behind those in use are read meanwhile.
    ///
    /// # Errors
    /// `Invalid` for 0 rows ahead; `Unavailable` where no thread can be started.
    pub fn rows<I>(&self, positions: I, ahead: usize) -> Result<impl Iterator<Item = Result<Row>> + use<I>>
    where
        I: IntoIterator<Item = u64, IntoIter: Send + 'static>,
    {
        table::more_than_nothing(ahead, "0 rows ahead")?;
        let positions = positions.into_iter();
        items(self.0.rows(positions, ahead).boxed())
    }

    /// As [`crate::RowLoader::explain`].
    ///
    /// # Errors
    /// As there.
    pub fn explain<W>(&self, position: u64, window: W) -> Result<Explain>
    where
        Window: TryFrom<W>,
        Error: From<<Window as TryFrom<W>>::Error>,
    {
        let window = Window::try_from(window)?;
        wait(self.0.explain::<&Window>(position, &window))
    }
}
