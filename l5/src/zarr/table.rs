//! Imports an L5 data set as a table, with whole scenes in each partition, and exports it again.

use std::path::Path;

use arrow_array::RecordBatch;
use futures::{StreamExt, pin_mut};
use serde_json::Value;

use super::{
    Dataset, Exporter,
    renumber::{numbered, properties_of},
};
use crate::reading::FrameTable;
use tetrys::{
    Store, Table,
    error::{Error, Result},
    extension::{write_partitions, writer},
    ingest::IngestOptions,
};

/// Table property with everything that an export needs besides the rows.
const PROPERTY: &str = "l5";

/// Default frames of a partition.
const FRAMES: u64 = 8192;

/// Imports a data set as a table in `store`, with one row per frame. `progress` receives the number of frames written so far. A
/// partition has at least 8,192 frames by default, and ends where a scene ends.
///
/// # Errors
/// After an error there is no new table or version.
/// - `Exists`: there is a table already.
/// - `NotFound`: a version of an existing table is wanted, but there is no table.
/// - `Invalid`: the rows to append have other columns than the table.
/// - `Corrupt`: the data set is damaged. The message names array and record.
/// - Errors of the store.
pub async fn ingest(
    dataset: &Dataset,
    store: Store,
    options: &IngestOptions,
    progress: impl Fn(u64) + Send + Sync + 'static,
) -> Result<Table> {
    let writer = writer(store, None, dataset.schema().clone(), options).await?;
    writer.set_property(PROPERTY, dataset.properties().clone());
    let frames = if options.partition_rows == 0 { FRAMES } else { options.partition_rows };
    let (partitions, dataset) = (dataset.partitions(frames), dataset.clone());
    write_partitions(writer, partitions, options.workers, move |rows| dataset.rows(rows), progress, |_| {}).await
}

/// Rows read and written at a time.
const EXPORT_ROWS: usize = 256;

/// Exports a table that was made from an L5 data set, or a view of such tables, as an L5 zarr group. `progress` receives the
/// number of frames written so far.
///
/// A table is exported record by record. Frames, agents and faces of a view are numbered from 0. It has the attributes, dtypes
/// and chunks of its first source, and no masks: a mask counts frames that a view may have left out.
///
/// # Errors
/// - `Invalid`: the table was not made from an L5 data set.
/// - `Exists`: something exists at `target`.
/// - `Corrupt`: stored data is damaged.
/// - Errors of the store and of the file system.
pub async fn export_table(table: &Table, target: impl AsRef<Path>, progress: impl Fn(u64)) -> Result<()> {
    let noted = noted(table).await?;
    let frames = FrameTable::open(table, 0).await?;
    let mut exporter = Exporter::create(&properties_of(&noted, &frames, !table.is_view())?, target)?;
    let loader = table.row_loader();
    let rows = loader.scan(EXPORT_ROWS);
    pin_mut!(rows);
    let mut payload: Option<RecordBatch> = None;
    let mut done = 0_u64;
    for index in table.index_batches().await? {
        let mut index = index?;
        while index.num_rows() > 0 {
            let read = match payload.take() {
                Some(rest) => rest,
                None => rows.next().await.ok_or_else(|| Error::internal("the scan ended before the index"))??.batch().clone(),
            };
            let len = index.num_rows().min(read.num_rows());
            let next = done + len as u64;
            exporter.push(&numbered(&frames, done..next, &index.slice(0, len), &read.slice(0, len))?)?;
            index = index.slice(len, index.num_rows() - len);
            payload = (len < read.num_rows()).then(|| read.slice(len, read.num_rows() - len));
            done = next;
            progress(done);
        }
    }
    exporter.finish()
}

/// Returns what the ingest noted in the table, or in the first source of a view that was ingested.
async fn noted(table: &Table) -> Result<Value> {
    let of = |table: &Table| table.properties().get(PROPERTY).cloned();
    let noted = match of(table) {
        Some(own) => Some(own),
        None => table.sources().await?.iter().find_map(of),
    };
    noted.ok_or_else(|| Error::invalid(format!("{}: not made from an L5 data set", table.url())))
}
