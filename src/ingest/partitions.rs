//! Writes the partitions of a source with several workers and commits them as one table.
//!
//! Partition boundaries are chosen before the workers start and depend on the source alone. The table therefore has the same
//! bytes for any number of workers.

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use arrow_array::RecordBatch;
use futures::future::try_join_all;

use crate::{
    error::{Error, Result},
    table::{Table, TableWriter},
    work::{next_of, offload, threads},
    write::Receipt,
};

/// Writes the rows of each range as one partition, and commits. `rows` returns the batches of a range. `progress` receives the
/// number of rows written so far. `workers` is the number of partitions written at a time; 0 means one for each thread
/// (`TETRYS_THREADS`). `finish` receives the writer before the commit.
///
/// # Errors
/// After an error there is no new table or version.
/// - Errors of `rows` and of the store.
pub async fn write_partitions<I>(
    writer: TableWriter,
    partitions: Vec<Range<u64>>,
    workers: usize,
    rows: impl Fn(Range<u64>) -> Result<I> + Send + Sync + 'static,
    progress: impl Fn(u64) + Send + Sync + 'static,
    finish: impl FnOnce(&TableWriter),
) -> Result<Table>
where
    I: Iterator<Item = Result<RecordBatch>> + Send + 'static,
{
    let (writer, rows, progress) = (Arc::new(writer), Arc::new(rows), Arc::new(progress));
    let partitions: Arc<[Range<u64>]> = partitions.into();
    let (next, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicU64::new(0)));
    let workers = match workers {
        0 => threads(),
        workers => workers,
    };
    let jobs = (0..workers.min(partitions.len())).map(|_| {
        let (writer, partitions) = (Arc::clone(&writer), Arc::clone(&partitions));
        let (rows, next, done, progress) = (Arc::clone(&rows), Arc::clone(&next), Arc::clone(&done), Arc::clone(&progress));
        tokio::spawn(async move {
            let mut receipts = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(range) = partitions.get(number) else { return Ok(receipts) };
                let report = |rows| progress(done.fetch_add(rows, Ordering::Relaxed) + rows);
                let (rows, range) = (Arc::clone(&rows), range.clone());
                let written = async {
                    let batches = offload(move |_| rows(range)).await?;
                    write_partition(&writer, number, batches, report).await
                };
                receipts.push(written.await.inspect_err(|_| {
                    // The commit cannot happen any more, so let no worker start another partition.
                    next.store(partitions.len(), Ordering::Relaxed);
                })?);
            }
        })
    });
    let finished = try_join_all(jobs).await.map_err(|error| Error::internal(format!("an ingest worker stopped: {error}")))?;
    let receipts = finished.into_iter().collect::<Result<Vec<Vec<Receipt>>>>()?.concat();
    let writer = Arc::into_inner(writer).ok_or_else(|| Error::internal("an ingest worker is still writing"))?;
    finish(&writer);
    writer.commit(receipts).await
}

async fn write_partition(
    writer: &TableWriter,
    number: usize,
    mut batches: impl Iterator<Item = Result<RecordBatch>> + Send + 'static,
    progress: impl Fn(u64),
) -> Result<Receipt> {
    let number = u32::try_from(number).map_err(|_| Error::invalid("over 2^32 partitions"))?;
    let mut partition = writer.partition_at(number)?;
    loop {
        let (batch, rest) = next_of(batches).await?;
        let Some(batch) = batch.transpose()? else { break };
        batches = rest;
        partition.write(&batch).await?;
        progress(batch.num_rows() as u64);
        // A worker that never waits would keep the others of a small runtime from starting.
        tokio::task::yield_now().await;
    }
    partition.finish().await
}
