//! Streams of rows: all of them in batches, or some of them one by one, read ahead of whoever uses them.

use futures::{Stream, StreamExt, stream};

use super::{
    loader::RowLoader,
    rows::{Row, Rows},
};
use crate::{
    ahead::Ahead,
    error::{Error, Result},
};

/// How many batches are read at a time, the one being used not counted.
const SCAN_AHEAD: usize = 2;

impl RowLoader {
    /// All positions in order, `batch_rows` at a time. While one batch is used, the next two are read.
    ///
    /// # Errors
    /// Each item as [`RowLoader::take`]. `Invalid`, as the only item, for batches of 0 rows.
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

    /// The rows at these positions one by one, in this order; they may repeat. `ahead` of them are planned and read together, as
    /// [`RowLoader::take`] does, and the next `ahead` of them while these are used. So at most twice as many rows are in memory, and
    /// positions are taken from their iterator no earlier. A row shares the memory of the rows that were read with it.
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
    /// Each item as [`RowLoader::get_row`]: an error is that of one row, and the rows behind it come all the same. `Invalid`, as the
    /// only item, for 0 rows ahead.
    pub fn rows<I>(&self, positions: I, ahead: usize) -> impl Stream<Item = Result<Row>> + Unpin + use<I>
    where
        I: IntoIterator<Item = u64>,
    {
        let mut positions = positions.into_iter().fuse();
        let batches = std::iter::from_fn(move || {
            let batch: Vec<u64> = positions.by_ref().take(ahead).collect();
            (!batch.is_empty()).then_some(batch)
        });
        let (reads, alone) = (self.clone(), self.clone());
        let rows = stream::iter(batches)
            .map(move |batch| {
                let loader = reads.clone();
                let read = async move {
                    let inside: Vec<u64> = batch.iter().copied().filter(|position| *position < loader.len()).collect();
                    // What fails together is read one by one, when it is asked for: that tells which rows fail.
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

/// # Errors
/// `Invalid` for 0 rows; `what` names them.
pub(crate) fn more_than_nothing(rows: usize, what: &str) -> Result<()> {
    if rows == 0 { Err(Error::invalid(format!("{what}: expected 1 or more"))) } else { Ok(()) }
}
