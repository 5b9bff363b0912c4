//! Writes the table of the demo: the rows of an L5 data set with additional camera and lidar columns, by as many workers as the
//! machine has threads, one partition per scene.

use std::{
    ops::Range,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use arrow_array::{
    ArrayRef, FixedSizeListArray, RecordBatch,
    builder::{FixedSizeListBuilder, Float32Builder, Float64Builder, LargeBinaryBuilder, LargeListBuilder},
    cast::AsArray,
    types::UInt64Type,
};
use futures::future::try_join_all;
use tetrys::{Error, Receipt, Result, Schema, Table, TableWriter, WriteOptions};
use tetrys_l5::{Dataset, GeneratorSettings};

use super::sensors;

/// Number of rows that are generated and written at a time.
const BATCH: usize = 8;

/// Generates the data set `l5`.
pub(super) fn generate(l5: &Path, scenes: u32, frames: u32) -> Result<()> {
    GeneratorSettings { seed: 1, scenes, frames_per_scene: frames, ..GeneratorSettings::default() }.generate(l5)
}

/// Writes the table `table` from the data set `l5` without the frame `lost`. Blocks that a table of `references` has are not
/// stored again.
pub(super) async fn write(l5: &Path, table: &Path, lost: Option<u64>, references: &[Table]) -> Result<Table> {
    let dataset = Dataset::open(l5)?;
    let writer = Table::create(&table.display().to_string(), schema(&dataset)?, WriteOptions::default()).await?;
    let writer = writer.references(references).await?;
    let (writer, partitions) = (Arc::new(writer), Arc::<[Range<u64>]>::from(dataset.partitions(1)));
    let next = Arc::new(AtomicUsize::new(0));
    let workers = tetrys::extension::threads().min(partitions.len());
    let jobs = (0..workers).map(|_| {
        let (writer, dataset) = (Arc::clone(&writer), dataset.clone());
        let (partitions, next) = (Arc::clone(&partitions), Arc::clone(&next));
        tokio::spawn(async move {
            let mut receipts = Vec::new();
            while let number = next.fetch_add(1, Ordering::Relaxed)
                && let Some(rows) = partitions.get(number)
            {
                receipts.push(write_partition(&writer, &dataset, number, rows.clone(), lost).await?);
            }
            Ok(receipts)
        })
    });
    let finished = try_join_all(jobs).await.map_err(|error| Error::internal(format!("a worker stopped: {error}")))?;
    let receipts = finished.into_iter().collect::<Result<Vec<Vec<Receipt>>>>()?.concat();
    let writer = Arc::into_inner(writer).ok_or_else(|| Error::internal("a worker is still writing"))?;
    writer.commit(receipts).await
}

/// Returns the schema: the columns of the data set, and a column group each for the camera and the lidar.
fn schema(dataset: &Dataset) -> Result<Schema> {
    let given = dataset.schema();
    let mut builder = Schema::builder();
    for column in given.index() {
        builder = builder.index(&column.name, &column.ty);
    }
    for column in given.columns() {
        for (key, value) in &column.properties {
            builder = builder.property(&column.name, key, value.clone());
        }
    }
    builder = builder
        .group("camera", [("camera.jpeg", "binary"), ("camera.intrinsics", "f64[3,3]")])
        .group("lidar", [("lidar.points", "f32[?,4]")])
        .property("lidar.points", "unit", "metre");
    for group in given.groups() {
        let columns = group.columns.iter().filter_map(|id| given.column(*id));
        builder = builder.group(&group.name, columns.map(|column| (column.name.as_str(), &column.ty)));
    }
    let names = |columns: &mut dyn Iterator<Item = &tetrys::schema::Column>| {
        columns.map(|column| column.name.clone()).collect::<Vec<_>>()
    };
    builder.sequence_by(names(&mut given.sequence_by())).order_by(names(&mut given.order_by())).build()
}

async fn write_partition(
    writer: &TableWriter,
    dataset: &Dataset,
    number: usize,
    rows: Range<u64>,
    lost: Option<u64>,
) -> Result<Receipt> {
    let number = u32::try_from(number).map_err(|_| Error::invalid("over 2^32 partitions"))?;
    let mut partition = writer.partition_at(number)?;
    let mut frame = rows.start;
    for batch in dataset.rows(rows)? {
        let batch = batch?;
        let mut start = 0;
        while start < batch.num_rows() {
            let mut len = BATCH.min(batch.num_rows() - start);
            if lost == Some(frame) {
                (start, frame) = (start + 1, frame + 1);
                continue;
            }
            if let Some(lost) = lost.filter(|lost| (frame..frame + len as u64).contains(lost)) {
                len = (lost - frame) as usize;
            }
            partition.write(&with_sensors(&batch.slice(start, len))?).await?;
            (start, frame) = (start + len, frame + len as u64);
            // Otherwise a worker that never waits would block the others on a runtime with few threads.
            tokio::task::yield_now().await;
        }
    }
    partition.finish().await
}

fn with_sensors(batch: &RecordBatch) -> Result<RecordBatch> {
    let frames = batch.column_by_name("frame").and_then(|column| column.as_primitive_opt::<UInt64Type>());
    let frames = frames.ok_or_else(|| Error::internal("a data set without the index column `frame`"))?;
    let mut jpeg = LargeBinaryBuilder::new();
    let mut points = LargeListBuilder::new(FixedSizeListBuilder::new(Float32Builder::new(), 4));
    for frame in frames.values() {
        jpeg.append_value(sensors::jpeg(*frame));
        let found = sensors::points(*frame);
        points.values().values().append_slice(&found);
        (0..found.len() / 4).for_each(|_| points.values().append(true));
        points.append(true);
    }
    let mut columns: Vec<(String, ArrayRef)> =
        batch.schema_ref().fields().iter().map(|field| field.name().clone()).zip(batch.columns().iter().cloned()).collect();
    columns.push(("camera.jpeg".to_owned(), Arc::new(jpeg.finish())));
    columns.push(("camera.intrinsics".to_owned(), Arc::new(intrinsics(batch.num_rows()))));
    columns.push(("lidar.points".to_owned(), Arc::new(points.finish())));
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true)))
        .map_err(|error| Error::internal(error.to_string()))
}

fn intrinsics(rows: usize) -> FixedSizeListArray {
    let mut matrices = FixedSizeListBuilder::new(Float64Builder::new(), 9);
    for _ in 0..rows {
        matrices.values().append_slice(&sensors::INTRINSICS);
        matrices.append(true);
    }
    matrices.finish()
}
