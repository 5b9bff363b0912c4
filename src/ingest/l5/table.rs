//! From an L5 data set to a table, a partition for some scenes, and back.

use std::{path::Path, sync::Arc};

use arrow_array::RecordBatch;
use arrow_schema::Schema as ArrowSchema;
use futures::{StreamExt, pin_mut};

use super::{Dataset, Exporter};
use crate::{
    error::{Error, Result, counted},
    ingest::partitions::{Target, write_partitions, writer},
    store::Store,
    table::Table,
    write::WriteOptions,
};

/// The table property that holds what an export needs.
const PROPERTY: &str = "l5";

/// How a data set is taken in.
#[derive(Clone, Debug)]
pub struct IngestSettings {
    /// How rows are stored.
    pub write: WriteOptions,
    /// Partitions written at once; 0 = as many as `TETRYS_THREADS` says, or the machine has threads.
    pub workers: usize,
    /// Frames a partition, at least; partitions end with scenes.
    pub partition_rows: u64,
    /// Tables whose chunks may be used: what they have is not stored again.
    pub references: Vec<Table>,
    /// A new table, or a version of one that is there.
    pub target: Target,
}

impl Default for IngestSettings {
    fn default() -> Self {
        Self { write: WriteOptions::default(), workers: 0, partition_rows: 8192, references: Vec::new(), target: Target::New }
    }
}

/// Takes a data set in as a table in `store`, one row a frame; `progress` is told the frames done.
///
/// # Errors
/// `Exists` where there is a table already; errors of the data set, naming array and record; errors of the store. No half
/// table is visible.
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

/// Writes a table that was made from an L5 data set back as an L5 zarr, record for record; `progress` is told the frames done.
///
/// # Errors
/// `Invalid` for a table made from something else, `Exists` for a target that is there, `Corrupt`, errors of the store.
pub async fn export_table(table: &Table, target: impl AsRef<Path>, progress: impl Fn(u64)) -> Result<()> {
    let properties = table.manifest().properties.get(PROPERTY);
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
            // Scans and index batches are both cut at multiples of a power of two, a scan at the smaller one.
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
