//! Merges camera frames, lidar sweeps and GPS positions with different rates by time (as-of merge). Nothing is resampled or
//! copied: several frames share one sweep.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, LargeBinaryArray, LargeStringArray, RecordBatch};
use tetrys::{Merge, Pick, RowLoader, Schema, Table, WriteOptions};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let url = |name: &str| folder.path().join(name).display().to_string();
    // A frame every 33 ms, a sweep every 100 ms, a position every second. The unit of the times is a property of their column.
    let frames = sensor(&url("camera"), "camera", 300, 33, 5).await?.index().await?;
    let sweeps = sensor(&url("lidar"), "lidar", 100, 100, 0).await?.index().await?;
    let fixes = sensor(&url("gps"), "gps", 10, 1000, 450).await?.index().await?;

    // Takes the nearest sweep within 40 ms of the frame, and the last position before it, without a limit.
    let nearest = Merge::on(["log_id"]).as_of("timestamp", Pick::Nearest).tolerance("40ms")?;
    let latest = Merge::on(["log_id"]).as_of("timestamp", Pick::Before).left();
    let synced = frames.merge(&sweeps, &nearest)?.merge(&fixes, &latest)?;
    println!("{} of {} frames have a sweep within 40 ms", synced.len(), frames.len());
    assert!(synced.len() > 230 && synced.len() < 300);

    // A window of ten frames reads at most three lidar blocks, each once.
    let loader = RowLoader::new(&synced)?;
    let cost = loader.clone().columns(["lidar.*"])?.explain(100, -9..=0).await?;
    assert!(cost.groups[0].blocks <= 5 && cost.ranges == 1, "{cost:?}");
    let window = loader.get_rows(100, -9..=0).await?;
    assert_eq!(window.mask(), [true; 10]);

    // A frame before the first position has none: null in the column, and false in the mask.
    let start = loader.get_rows(0, 0..=0).await?;
    assert_eq!((start.column_mask("camera.data")?, start.column_mask("gps.data")?), (vec![true], vec![false]));
    Ok(())
}

async fn sensor(url: &str, name: &str, rows: i64, step: i64, first: i64) -> Result<Table, Box<dyn std::error::Error>> {
    let data = format!("{name}.data");
    let schema = Schema::builder()
        .index("log_id", "utf8")
        .index("timestamp", "i64")
        .group(name, [(data.as_str(), "binary")])
        .sequence_by(["log_id"])
        .order_by(["timestamp"])
        .property("timestamp", "unit", "ms")
        .build()?;
    let columns: [(&str, ArrayRef); 3] = [
        ("log_id", Arc::new(LargeStringArray::from(vec!["monday"; rows as usize]))),
        ("timestamp", Arc::new(Int64Array::from_iter_values((0..rows).map(|row| first + row * step)))),
        (&data, Arc::new(LargeBinaryArray::from_iter_values((0..rows).map(|row| vec![row as u8; 40_000])))),
    ];
    let writer = Table::create(url, schema, WriteOptions::default()).await?;
    let mut partition = writer.partition()?;
    partition.write(&RecordBatch::try_from_iter(columns)?).await?;
    Ok(writer.commit([partition.finish().await?]).await?)
}
