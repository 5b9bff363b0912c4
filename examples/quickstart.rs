//! Writes a table, opens it, filters its index, and reads a row and the window around it.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Int64Array, LargeBinaryArray, RecordBatch, StringArray,
    builder::{Float32Builder, LargeListBuilder},
};
use polars::prelude::{col, lit};
use tetrys::{RowLoader, Schema, Table, WriteOptions};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let url = folder.path().join("drives").display().to_string();

    // Readers load index columns into memory. Columns of one group are stored and read together.
    let schema = Schema::builder()
        .index("log_id", "utf8")
        .index("timestamp", "i64")
        .index("pedestrians", "i64")
        .group("camera", [("camera.jpeg", "binary")])
        .group("radar", [("radar.ranges", "f32[?]")])
        .sequence_by(["log_id"])
        .order_by(["timestamp"])
        .build()?;
    let writer = Table::create(&url, schema, WriteOptions::default()).await?;
    let mut partition = writer.partition()?;
    partition.write(&drive("monday", 40)?).await?;
    partition.write(&drive("tuesday", 60)?).await?;
    writer.commit([partition.finish().await?]).await?;

    // The index is a polars frame: filter, sort and sample it.
    let table = Table::open(&url).await?;
    let index = table.index().await?;
    assert_eq!(index.len(), 100);
    let busy = index.filter(col("log_id").eq(lit("tuesday")).and(col("pedestrians").gt(lit(3))))?;
    println!("{}", busy.frame());

    // A position is a row of the filtered frame. A window follows the rows of the whole table.
    let loader = RowLoader::new(&busy)?.columns(["*.jpeg", "radar.*"])?;
    let cost = loader.explain(0, -6..=0).await?;
    let row = loader.get_row(0).await?;
    assert_eq!(row.bytes("camera.jpeg")?, picture(4));
    assert_eq!(row.tensor::<f32>("radar.ranges")?.values(), ranges(4));

    // Tuesday's row 4 and the six rows before it. Two of these would be Monday's: they are missing.
    let history = loader.get_rows(0, -6..=0).await?;
    assert_eq!(history.mask(), [false, false, true, true, true, true, true]);
    assert_eq!(history.tensor::<f32>("radar.ranges", 2)?.values(), ranges(0));
    assert_eq!((cost.groups.len(), cost.ranges, cost.requests), (2, 2, 2));
    println!("a window of {} rows: {} ranges, {} bytes", history.len(), cost.ranges, cost.bytes);
    Ok(())
}

/// Returns a drive of `rows` rows, 100 ms apart.
fn drive(log_id: &str, rows: i64) -> Result<RecordBatch, Box<dyn std::error::Error>> {
    let mut radar = LargeListBuilder::new(Float32Builder::new());
    for row in 0..rows {
        radar.values().append_slice(&ranges(row));
        radar.append(true);
    }
    let columns: [(&str, ArrayRef); 5] = [
        ("log_id", Arc::new(StringArray::from(vec![log_id; rows as usize]))),
        ("timestamp", Arc::new((0..rows).map(|row| row * 100_000_000).collect::<Int64Array>())),
        ("pedestrians", Arc::new((0..rows).map(|row| row % 5).collect::<Int64Array>())),
        ("camera.jpeg", Arc::new(LargeBinaryArray::from_iter_values((0..rows).map(picture)))),
        ("radar.ranges", Arc::new(radar.finish())),
    ];
    Ok(RecordBatch::try_from_iter(columns)?)
}

fn picture(row: i64) -> Vec<u8> {
    (0..10_000 + row).map(|byte| (byte * byte % 251) as u8).collect()
}

fn ranges(row: i64) -> Vec<f32> {
    (0..=row).map(|echo| echo as f32 * 1.5).collect()
}
