//! Saves a merge as a view: a table that copies no payload, opens like any other, can be filtered and merged again, and has
//! versions.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, LargeBinaryArray, LargeStringArray, RecordBatch};
use polars::prelude::{col, lit};
use tetrys::{Merge, RowLoader, Schema, Table, ViewOptions, WriteOptions};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let url = |name: &str| folder.path().join(name).display().to_string();
    let sweeps = table(&url("sweeps"), "lidar", 100, 100).await?;
    let labels = table(&url("labels"), "boxes", 50, 200).await?;

    // Merges once, and saves the result for all readers.
    let merged = sweeps.index().await?.merge(&labels.index().await?, &Merge::on(["log_id", "timestamp"]).left())?;
    let late =
        merged.filter(col("timestamp").gt_eq(lit(5000)))?.with_columns([(col("timestamp") / lit(1000)).alias("second")])?;
    let size = late.view_size().await?;
    late.save_with(&url("late"), &ViewOptions::default().lineage("made by", "examples/views.rs")).await?;
    println!("{} rows: {} bytes of index and {} of join maps", size.rows, size.index_bytes, size.join_bytes);
    assert_eq!((size.rows, size.payload_bytes), (50, 0));
    assert!(!folder.path().join("late/chunks").exists());

    // A view opens like any table. A window also contains rows that the filter left out, of both tables.
    let late = Table::open(&url("late")).await?;
    let index = late.index().await?;
    assert_eq!(index.column_names().collect::<Vec<_>>(), ["log_id", "timestamp", "second"]);
    let window = RowLoader::new(&index)?.columns(["lidar.*", "boxes.*"])?.get_rows(0, -2..=0).await?;
    assert_eq!((window.mask(), window.column_mask("boxes.data")?), (vec![true; 3], vec![true, false, true]));

    // A view of a view refers to the tables, not to the view in between.
    let few = index.filter(col("second").eq(lit(7)))?.save(&url("few")).await?.table;
    assert_eq!((few.rows(), few.sources().await?.len()), (10, 2));

    // New labels make the next version of the view. The old version does not change.
    let better = table(&url("better"), "boxes", 100, 100).await?;
    let merged = sweeps.index().await?.merge(&better.index().await?, &Merge::on(["log_id", "timestamp"]))?;
    let second = merged.save(&late).await?.table;
    assert_eq!((second.version(), second.rows()), (2, 100));
    assert_eq!(Table::open(&format!("{}@1", url("late"))).await?.rows(), 50);

    // `rebind` finds a table that moved by its UUID and hash, and rejects any other table.
    std::fs::rename(url("better"), url("moved"))?;
    assert!(Table::open(&url("late")).await?.index().await.is_err());
    assert!(second.rebind([url("labels")]).await.is_err());
    let bound = second.rebind([url("moved")]).await?;
    assert_eq!((bound.version(), Table::open(&url("late")).await?.index().await?.len()), (3, 100));

    // The difference between the versions comes from the index and block hashes; no payload is read.
    let found = bound.diff(&Table::open(&format!("{}@1", url("late"))).await?, ["log_id", "timestamp"]).await?;
    assert_eq!((found.added.len(), found.removed.len()), (50, 0));
    Ok(())
}

async fn table(url: &str, name: &str, rows: i64, step: i64) -> Result<Table, Box<dyn std::error::Error>> {
    let data = format!("{name}.data");
    let schema = Schema::builder()
        .index("log_id", "utf8")
        .index("timestamp", "i64")
        .group(name, [(data.as_str(), "binary")])
        .sequence_by(["log_id"])
        .build()?;
    let columns: [(&str, ArrayRef); 3] = [
        ("log_id", Arc::new(LargeStringArray::from(vec!["monday"; rows as usize]))),
        ("timestamp", Arc::new(Int64Array::from_iter_values((0..rows).map(|row| row * step)))),
        (&data, Arc::new(LargeBinaryArray::from_iter_values((0..rows).map(|row| vec![7; 1000 + row as usize])))),
    ];
    let writer = Table::create(url, schema, WriteOptions::default()).await?;
    let mut partition = writer.partition()?;
    partition.write(&RecordBatch::try_from_iter(columns)?).await?;
    Ok(writer.commit([partition.finish().await?]).await?)
}
