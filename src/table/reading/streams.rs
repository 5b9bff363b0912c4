//! Streams of rows with prefetch: all rows in batches, or chosen rows one by one.

use futures::{Stream, StreamExt, stream};

use super::{
    loader::RowLoader,
    rows::{Row, Rows},
};
use crate::{
    error::{Error, Result},
    work::Ahead,
};

/// Number of batches that are prefetched while the caller uses one.
const SCAN_AHEAD: usize = 2;
/// The most rows that [`RowLoader::rows`] reads together.
const MOST_AHEAD: usize = 1 << 16;

impl RowLoader {
    /// Reads all positions in order, in batches of `batch_rows` rows. While the caller uses one batch, the next two are
    /// prefetched.
    ///
    /// # Errors
    /// An item of the stream may be an error:
    /// - `Invalid`: `batch_rows` is 0; the stream then has no other item.
    /// - `Corrupt`: stored bytes fail their checks, or an object is missing.
    /// - `Conflict`: a garbage collection has deleted the version of a table.
    /// - `Denied`, `NotFound`: another table, whose chunks or rows are needed, is not allowed or cannot be found.
    /// - Any error of the stores.
    pub fn scan(&self, batch_rows: usize) -> impl Stream<Item = Result<Rows>> + use<> {
        let batch = batch_rows as u64;
        let starts = (0..if batch == 0 { 0 } else { self.len() }).step_by(batch_rows.max(1));
        let loader = self.clone();
        let batches = stream::iter(starts)
            .map(move |start| {
                let loader = loader.clone();
                let read = async move {
                    let positions: Vec<u64> = (start..start.saturating_add(batch).min(loader.len())).collect();
                    loader.take(&positions).await
                };
                async { Ahead::start(read).await.done().await }
            })
            .buffered(SCAN_AHEAD);
        stream::iter(more_than_nothing(batch_rows, "batches of 0 rows").err().map(Err)).chain(batches)
    }

    /// Reads the rows at these positions one by one, in this order. Positions may repeat.
    ///
    /// The loader plans and reads `ahead` rows together, as [`RowLoader::take`] does, and prefetches the next `ahead` rows while
    /// the caller uses these. So at most `2 * ahead` rows are in memory, and positions are not taken from the iterator earlier
    /// than needed. A row shares the memory of the rows that were read with it. An `ahead` above 65,536 counts as 65,536.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// use futures::TryStreamExt;
    /// use tetrys::{Schema, Table, WriteOptions};
    /// # tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
    /// # let folder = tempfile::tempdir()?; let url = folder.path().join("t").display().to_string();
    /// # let schema = Schema::builder().index("id", "i64").group("squares", [("square", "i64")]).build()?;
    /// # let numbers = |of: fn(i64) -> i64| Arc::new(Int64Array::from_iter_values((0..100).map(of))) as arrow_array::ArrayRef;
    /// # let batch = RecordBatch::try_from_iter([("id", numbers(|id| id)), ("square", numbers(|id| id * id))])?;
    /// # let writer = Table::create(&url, schema, WriteOptions::default()).await?;
    /// # let mut partition = writer.partition()?;
    /// # partition.write(&batch).await?;
    /// # let table = writer.commit([partition.finish().await?]).await?;
    /// let mut rows = table.row_loader().rows([7, 3, 99], 64);
    /// let mut squares = Vec::new();
    /// while let Some(row) = rows.try_next().await? {
    ///     squares.push(row.tensor::<i64>("square")?.values()[0]);
    /// }
    /// assert_eq!(squares, [49, 9, 9801]);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// An item of the stream may be an error. The error belongs to one row, and the stream continues with the next row.
    /// - `Invalid`: a position is outside the loader, or `ahead` is 0; for 0 the stream has no other item.
    /// - `Corrupt`: stored bytes fail their checks, or an object is missing.
    /// - `Conflict`: a garbage collection has deleted the version of a table.
    /// - `Denied`, `NotFound`: another table, whose chunks or rows are needed, is not allowed or cannot be found.
    /// - Any error of the stores.
    pub fn rows<I>(&self, positions: I, ahead: usize) -> impl Stream<Item = Result<Row>> + Unpin + use<I>
    where
        I: IntoIterator<Item = u64>,
    {
        let mut positions = positions.into_iter().fuse();
        let batches = std::iter::from_fn(move || {
            let batch: Vec<u64> = positions.by_ref().take(ahead.min(MOST_AHEAD)).collect();
            (!batch.is_empty()).then_some(batch)
        });
        let (reads, alone) = (self.clone(), self.clone());
        let rows = stream::iter(batches)
            .map(move |batch| {
                let loader = reads.clone();
                let read = async move {
                    let inside: Vec<u64> = batch.iter().copied().filter(|position| *position < loader.len()).collect();
                    // If the batch fails, each of its rows is read alone when the caller asks for it. So only damaged rows fail.
                    Ok((loader.take(&inside).await.ok(), batch))
                };
                async { Ahead::start(read).await.done().await }
            })
            .buffered(2)
            .flat_map(move |read| {
                let (rows, batch, failed) = match read {
                    Ok((rows, batch)) => (rows, batch, None),
                    Err(error) => (None, Vec::new(), Some(Err(error))),
                };
                let (loader, mut place) = (alone.clone(), 0);
                let rows = stream::iter(batch).then(move |position| {
                    let found = rows.as_ref().filter(|_| position < loader.len()).map(|rows| rows.slice(place, 1));
                    place += usize::from(found.is_some());
                    let loader = loader.clone();
                    async move {
                        match found {
                            Some(row) => Ok(Row::new(row)),
                            None => loader.get_row(position).await,
                        }
                    }
                });
                stream::iter(failed).chain(rows)
            });
        Box::pin(stream::iter(more_than_nothing(ahead, "0 rows ahead").err().map(Err)).chain(rows))
    }
}

/// Checks that a number of rows is not 0. `what` is the start of the error message.
///
/// # Errors
/// - `Invalid`: `rows` is 0.
pub(crate) fn more_than_nothing(rows: usize, what: &str) -> Result<()> {
    if rows == 0 { Err(Error::invalid(format!("{what}: expected 1 or more"))) } else { Ok(()) }
}
