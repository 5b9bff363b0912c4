//! The library without `async`: [`block_on`] waits for any of its calls, and [`iter`] for the items of a stream.
//!
//! The first call starts one runtime for the whole process. Both also work inside asynchronous code, but each call blocks the
//! runtime thread that it runs on, so asynchronous code should `await` instead.
//!
//! ```
//! # use std::sync::Arc;
//! # use arrow_array::{Int64Array, RecordBatch, StringArray};
//! use tetrys::{Schema, Table, WriteOptions, block_on, blocking};
//! # let folder = tempfile::tempdir()?; let url = folder.path().join("words").display().to_string();
//! let schema = Schema::builder().index("id", "i64").group("text", [("text.word", "utf8")]).build()?;
//! # let batch = RecordBatch::try_from_iter([
//! #     ("id", Arc::new(Int64Array::from(vec![1, 2])) as _),
//! #     ("text.word", Arc::new(StringArray::from(vec!["one", "two"])) as _),
//! # ])?;
//! let writer = block_on(Table::create(&url, schema, WriteOptions::default()))?;
//! let mut partition = writer.partition()?;
//! block_on(partition.write(&batch))?;
//! let table = block_on(async { writer.commit([partition.finish().await?]).await })?;
//!
//! let loader = table.row_loader().columns(["text.*"])?;
//! assert_eq!(block_on(loader.get_row(1))?.text("text.word")?, "two");
//! for rows in blocking::iter(loader.scan(1)) {
//!     assert_eq!(rows?.len(), 1);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use futures::{Stream, StreamExt, stream::BoxStream};
use tokio::runtime::{Handle, Runtime};

use crate::{
    error::{Error, Result},
    work::{PerProcess, elsewhere},
};

/// Returns the runtime on which [`block_on`] waits; it starts with the first call. Threads do not survive a fork, so a forked child
/// starts a runtime of its own.
///
/// # Errors
/// - `Unavailable`: the system gives no threads.
pub fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: PerProcess<Runtime> = PerProcess::new();
    let start = || {
        let started = tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("tetrys").build();
        started.map_err(|error| Error::from(error).at("starting threads"))
    };
    // Dropping a runtime waits for its threads, which is not allowed inside a runtime.
    RUNTIME.get_or_make(start, Runtime::shutdown_background)
}

/// Waits for a call of this library, or for any other future, and returns its result.
///
/// ```no_run
/// use tetrys::{RowLoader, Table, block_on};
/// let table = block_on(Table::open("sweeps"))?;
/// let index = block_on(table.index())?;
/// let row = block_on(RowLoader::new(&index)?.get_row(0))?;
/// # Ok::<(), tetrys::Error>(())
/// ```
///
/// # Errors
/// - Those of the future.
/// - `Unavailable`: a thread cannot be started.
pub fn block_on<T, E>(work: impl Future<Output = Result<T, E>> + Send) -> Result<T, E>
where
    T: Send,
    E: From<Error> + Send,
{
    let runtime = runtime()?;
    if Handle::try_current().is_err() {
        return runtime.block_on(work);
    }
    // A runtime thread must not wait for another runtime, so a new thread waits.
    elsewhere("tetrys-wait", || runtime.block_on(work))
        .unwrap_or_else(|error| Err(Error::from(error).at("starting a thread").into()))
}

/// Returns an iterator over a stream, such as that of [`RowLoader::scan`](crate::RowLoader::scan). Each call waits for one item.
///
/// ```no_run
/// # fn example(loader: &tetrys::RowLoader) -> tetrys::Result<()> {
/// for row in tetrys::blocking::iter(loader.rows(0..100, 64)) {
///     println!("{}", row?.text("text.word")?);
/// }
/// # Ok(()) }
/// ```
///
/// # Errors
/// An item is an error where that of the stream is one. The iterator ends with an error of kind `Unavailable` if a thread cannot be
/// started.
pub fn iter<'a, T, E>(stream: impl Stream<Item = Result<T, E>> + Send + 'a) -> impl Iterator<Item = Result<T, E>> + 'a
where
    T: Send + 'a,
    E: From<Error> + Send + 'a,
{
    let mut stream: Option<BoxStream<'a, Result<T, E>>> = Some(stream.boxed());
    std::iter::from_fn(move || {
        let next = stream.as_mut()?;
        let (item, goes_on) = match block_on(async { Ok::<_, Error>(next.next().await) }) {
            Ok(item) => (item, true),
            Err(error) => (Some(Err(error.into())), false),
        };
        if !goes_on || item.is_none() {
            stream = None;
        }
        item
    })
}
