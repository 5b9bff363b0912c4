//! Declares a schema: a tensor of variable shape, lists of text, nulls, properties and an attachment.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Int64Array, RecordBatch,
    builder::{FixedSizeListBuilder, Float32Builder, LargeListBuilder, LargeStringBuilder},
    cast::AsArray,
};
use serde_json::json;
use tetrys::{ErrorKind, Preset, Schema, Table, WriteOptions, table::Cuts};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let url = folder.path().join("sweeps").display().to_string();
    let schema = Schema::builder()
        .index("sweep", "i64")
        .group("lidar", [("lidar.points", "f32[?,4]")])
        .group("labels", [("labels.names", "list<utf8>")])
        .property("lidar.points", "unit", "metre")
        .build()?;
    // Small chunks, and the preset that compresses best.
    let options = WriteOptions::default().preset(Preset::Compact).cuts(Cuts::default().with_chunk_max(1 << 20)?);
    let writer = Table::create(&url, schema, options).await?;
    writer.set_property("provenance", json!({"vehicle": "a101", "labels": "v7"}));
    writer.attach("map", "roads and lanes").await?;

    let mut partition = writer.partition()?;
    partition.write(&sweeps()?).await?;
    writer.commit([partition.finish().await?]).await?;

    let table = Table::open(&url).await?;
    assert_eq!(table.properties()["provenance"]["labels"], "v7");
    assert_eq!(table.attachment("map").await?, "roads and lanes");
    let points = table.schema().column_named("lidar.points").ok_or("no such column")?;
    assert_eq!(points.properties["unit"], "metre");

    // Each row has a tensor of its own shape.
    let loader = table.row_loader();
    let row = loader.get_row(2).await?;
    let points = row.tensor::<f32>("lidar.points")?;
    assert_eq!((points.shape(), points.values()), ([2, 4].as_slice(), [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5].as_slice()));

    // Null differs from an empty tensor; a null item of a list differs from an empty text.
    assert_eq!(loader.get_row(1).await?.tensor::<f32>("lidar.points").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(loader.get_row(0).await?.tensor::<f32>("lidar.points")?.shape(), [0, 4]);
    let rows = loader.take(&[2, 0]).await?;
    let names = rows.column("labels.names")?.as_list::<i64>().value(0);
    assert_eq!(names.as_string::<i64>().iter().collect::<Vec<_>>(), [Some("car"), None, Some("")]);
    assert!(rows.column("labels.names")?.is_null(1));
    println!("3 sweeps, {} groups: {}", table.schema().groups().len(), table.url());
    Ok(())
}

/// Returns three sweeps: 0 has no points and no labels, 1 is null, 2 has two points and three labels.
fn sweeps() -> Result<RecordBatch, Box<dyn std::error::Error>> {
    // A list of points is stored as a tensor whose first extent differs between rows.
    let mut points = LargeListBuilder::new(FixedSizeListBuilder::new(Float32Builder::new(), 4));
    points.append(true);
    points.append(false);
    for point in 0..2 {
        points.values().values().append_slice(&[0.0, 0.5, 1.0, 1.5].map(|value| value + 2.0 * point as f32));
        points.values().append(true);
    }
    points.append(true);
    let mut names = LargeListBuilder::new(LargeStringBuilder::new());
    names.append(false);
    names.append(true);
    names.append_value([Some("car"), None, Some("")]);
    let columns: [(&str, ArrayRef); 3] = [
        ("sweep", Arc::new(Int64Array::from(vec![0, 1, 2]))),
        ("lidar.points", Arc::new(points.finish())),
        ("labels.names", Arc::new(names.finish())),
    ];
    Ok(RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))?)
}
