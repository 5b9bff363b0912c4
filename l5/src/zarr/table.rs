//! Imports an L5 data set as a table, with whole scenes in each partition, and exports it again.

use std::{path::Path, sync::Arc};

use arrow_array::RecordBatch;
use arrow_schema::Schema as ArrowSchema;
use futures::{StreamExt, pin_mut};

use super::{Dataset, Exporter};
use crate::count::counted;
use tetrys::{
    Store, Table, WriteOptions,
    error::{Error, Result},
    ingest::{Target, write_partitions, writer},
};

/// Table property with everything that an export needs besides the rows.
const PROPERTY: &str = "l5";

/// How to import a data set.
#[derive(Clone, Debug)]
pub struct IngestSettings {
    /// How to store rows.
    pub write: WriteOptions,
    /// Number of partitions written at a time. 0 = `TETRYS_THREADS`, or the number of threads of the machine.
    pub workers: usize,
    /// Minimum frames of a partition. A partition ends where a scene ends.
    pub partition_rows: u64,
    /// Tables whose chunks may be shared: blocks that they have are not stored again.
    pub references: Vec<Table>,
    /// Whether the rows become a new table or a version of an existing one.
    pub target: Target,
}

impl Default for IngestSettings {
    fn default() -> Self {
        Self { write: WriteOptions::default(), workers: 0, partition_rows: 8192, references: Vec::new(), target: Target::New }
    }
}

/// Imports a data set as a table in `store`, with one row per frame. `progress` receives the number of frames written so far.
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
    settings: &IngestSettings,
    progress: impl Fn(u64) + Send + Sync + 'static,
) -> Result<Table> {
    let (schema, write) = (dataset.schema().clone(), settings.write.clone());
    let writer = writer(store, None, schema, write, settings.target, &settings.references).await?;
    writer.set_property(PROPERTY, dataset.properties().clone());
    let (partitions, dataset) = (dataset.partitions(settings.partition_rows), dataset.clone());
    write_partitions(writer, partitions, settings.workers, move |rows| dataset.rows(rows), progress, |_| {}).await
}

/// Rows read and written at a time.
const EXPORT_ROWS: usize = 256;

/// Exports a table that was made from an L5 data set as an L5 zarr group, record by record. `progress` receives the number of
/// frames written so far.
///
/// # Errors
/// - `Invalid`: the table was not made from an L5 data set.
/// - `Exists`: something exists at `target`.
/// - `Corrupt`: stored data is damaged.
/// - Errors of the store and of the file system.
pub async fn export_table(table: &Table, target: impl AsRef<Path>, progress: impl Fn(u64)) -> Result<()> {
    let properties = table.properties().get(PROPERTY);
    let properties = properties.ok_or_else(|| Error::invalid(format!("{}: not made from an L5 data set", table.url())))?;
    let mut exporter = Exporter::create(properties, target)?;
    let loader = table.row_loader();
    let rows = loader.scan(EXPORT_ROWS);
    pin_mut!(rows);
    let mut done = 0_u64;
    for index in table.index_batches().await? {
        let index = index?;
        let mut start = 0;
        while start < index.num_rows() {
            // Scans and index batches both end at multiples of a power of two. The power for scans is the smaller one.
            let len = EXPORT_ROWS.min(index.num_rows() - start);
            let payload = rows.next().await.ok_or_else(|| Error::internal("the scan ended before the index"))??;
            if payload.len() != len {
                return Err(Error::internal(format!("a scan of {} beside {len} of the index", counted(payload.len(), "row"))));
            }
            exporter.push(&beside(&index.slice(start, len), payload.batch())?)?;
            start += len;
            done += len as u64;
            progress(done);
        }
    }
    exporter.finish()
}

fn beside(left: &RecordBatch, right: &RecordBatch) -> Result<RecordBatch> {
    let fields: Vec<_> = left.schema().fields().iter().chain(right.schema().fields()).cloned().collect();
    let columns = left.columns().iter().chain(right.columns()).cloned().collect();
    RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns).map_err(|error| Error::internal(error.to_string()))
}
