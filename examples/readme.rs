//! The Rust code of README, over the table that README's Python code writes.

use std::{error::Error, sync::Arc};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, builder::*};
use polars::prelude::{col, lit};
use tetrys::{RowLoader, Table};
use tetrys::{Schema, WriteOptions};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    std::env::set_current_dir(folder.path())?;
    write_sweeps().await?;

    let index = Table::open("sweeps").await?.index().await?;
    let late = index.filter(col("time").gt_eq(lit(20)))?; // an ordinary polars frame: late.frame()
    let loader = RowLoader::new(&late)?.columns(["lidar.*"])?;
    let row = loader.get_row(0).await?;
    let window = loader.get_rows(0, -5..=0).await?; // this row and the five before it
    println!("{:?} {:?}", row.tensor::<f32>("lidar.points")?.shape(), window.mask());

    assert_eq!(row.tensor::<f32>("lidar.points")?.shape(), [120, 4]);
    assert_eq!(window.mask(), [true; 6]);
    Ok(())
}

/// Writes fifty sweeps of one recording. Row r has 100 + r points.
async fn write_sweeps() -> Result<(), Box<dyn Error>> {
    let mut points = LargeListBuilder::new(FixedSizeListBuilder::new(Float32Builder::new(), 4));
    for row in 0..50_u16 {
        for _ in 0..100 + row {
            points.values().values().append_slice(&[f32::from(row); 4]);
            points.values().append(true);
        }
        points.append(true);
    }
    let columns: [(&str, ArrayRef); 3] = [
        ("log", Arc::new(StringArray::from(vec!["monday"; 50]))),
        ("time", Arc::new((0..50).collect::<Int64Array>())),
        ("lidar.points", Arc::new(points.finish())),
    ];
    let schema = Schema::builder().index("log", "utf8").index("time", "i64").group("lidar", [("lidar.points", "f32[?,4]")]);
    let writer = Table::create("sweeps", schema.sequence_by(["log"]).build()?, WriteOptions::default()).await?;
    let mut partition = writer.partition()?;
    partition.write(&RecordBatch::try_from_iter(columns)?).await?;
    writer.commit([partition.finish().await?]).await?;
    Ok(())
}
