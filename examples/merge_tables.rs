//! Merges the index of a sensor table with those of a label table and a weather table. No payload is copied.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, LargeBinaryArray, LargeStringArray, RecordBatch};
use tetrys::{Index, Merge, Pick, RowLoader, Schema, Table, WriteOptions};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let url = |name: &str| folder.path().join(name).display().to_string();
    // A sweep every 100 ms, labels for every second sweep, weather every second.
    let sweeps = table(&url("sweeps"), "lidar", (0..100).map(|row| row * 100)).await?.index().await?;
    let labels = table(&url("labels"), "boxes", (0..50).map(|row| row * 200)).await?.index().await?;
    let weather = table(&url("weather"), "weather", (0..10).map(|row| row * 1000 + 3)).await?.index().await?;

    // By equal keys: only rows with a partner, or all rows of the left table.
    let labelled = sweeps.merge(&labels, &Merge::on(["log_id", "timestamp"]))?;
    let all = sweeps.merge(&labels, &Merge::on(["log_id", "timestamp"]).left())?;
    assert_eq!((labelled.len(), all.len()), (50, 100));

    // By time: the last weather report before each sweep. A merged index can be merged again.
    let latest = Merge::on(["log_id"]).as_of("timestamp", Pick::Before).tolerance("1500")?.left();
    let merged = all.merge(&weather, &latest)?;

    // A row has columns of three tables. A window follows the rows of the sensor table, and finds their partners.
    let loader = RowLoader::new(&merged)?.columns(["lidar.*", "boxes.*", "weather.*"])?;
    let cost = loader.explain(20, -3..=0).await?;
    let window = loader.get_rows(20, -3..=0).await?;
    assert_eq!(window.mask(), [true; 4]);
    assert_eq!(window.column_mask("boxes.data")?, [false, true, false, true]);
    println!("4 rows of 3 tables: {} ranges, {} bytes", cost.ranges, cost.bytes);
    assert_eq!(cost.ranges, 3);

    // Concatenates two tables with the same columns.
    let more = table(&url("more"), "lidar", (0..30).map(|row| row * 100)).await?.index().await?;
    let both = Index::concat([&sweeps, &more])?;
    assert_eq!((both.len(), RowLoader::new(&both)?.get_row(129).await?.bytes("lidar.data")?.len()), (130, 29));
    Ok(())
}

async fn table(url: &str, name: &str, times: impl Iterator<Item = i64>) -> Result<Table, Box<dyn std::error::Error>> {
    let data = format!("{name}.data");
    let schema = Schema::builder()
        .index("log_id", "utf8")
        .index("timestamp", "i64")
        .group(name, [(data.as_str(), "binary")])
        .sequence_by(["log_id"])
        .build()?;
    let times: Vec<i64> = times.collect();
    let columns: [(&str, ArrayRef); 3] = [
        ("log_id", Arc::new(LargeStringArray::from(vec!["monday"; times.len()]))),
        ("timestamp", Arc::new(Int64Array::from(times.clone()))),
        (&data, Arc::new(LargeBinaryArray::from_iter_values((0..times.len()).map(|row| vec![7; row])))),
    ];
    let writer = Table::create(url, schema, WriteOptions::default()).await?;
    let mut partition = writer.partition()?;
    partition.write(&RecordBatch::try_from_iter(columns)?).await?;
    Ok(writer.commit([partition.finish().await?]).await?)
}
