//! Selects rows by their index columns with expressions, SQL or any frame operation, and reads exactly these rows.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, LargeBinaryArray, LargeStringArray, RecordBatch};
use polars::prelude::{col, lit};
use tetrys::{RowLoader, Schema, Table, WriteOptions};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let table = drives(&folder.path().join("drives").display().to_string()).await?;
    let index = table.index().await?;

    // Filters with an expression, sorts, and samples with a seed. The index keeps its locator columns.
    let rain = index.filter(col("weather").eq(lit("rain")))?;
    let fastest = rain.sort(["speed"], true)?.slice(0, 3);
    let some = index.sample(5, 42)?;
    assert_eq!((rain.len(), fastest.len(), some.len()), (34, 3, 5));

    // Or changes the frame with any polars operation, and makes an index of it again.
    let one_a_weather = index.lazy().group_by_stable([col("weather")]).agg([col("*").first()]).collect()?;
    let first = index.with_frame(one_a_weather)?;
    assert_eq!(first.len(), 3);

    // A position is a row of this frame.
    let loader = RowLoader::new(&fastest)?.columns(["camera.*"])?;
    let row = loader.get_row(0).await?;
    assert_eq!(row.bytes("camera.jpeg")?, [99; 9]);
    println!("{}\nfastest in the rain: {} bytes of picture", fastest.frame(), row.bytes("camera.jpeg")?.len());

    // Reads many rows in any order; each block is read once.
    let rows = RowLoader::new(&some)?.take(&[4, 0, 2]).await?;
    assert_eq!(rows.len(), 3);

    // A frame without its locators is an error that names them; it never reads a wrong row.
    let lost = index.query("SELECT weather, speed FROM t")?;
    println!("without locators: {}", index.with_frame(lost).unwrap_err());
    Ok(())
}

async fn drives(url: &str) -> Result<Table, Box<dyn std::error::Error>> {
    let schema = Schema::builder()
        .index("frame", "i64")
        .index("weather", "utf8")
        .index("speed", "f64")
        .group("camera", [("camera.jpeg", "binary")])
        .build()?;
    let weather = ["rain", "sun", "fog"];
    let columns: [(&str, ArrayRef); 4] = [
        ("frame", Arc::new((0..100).collect::<Int64Array>())),
        ("weather", Arc::new(LargeStringArray::from_iter_values((0..100).map(|row| weather[row % 3])))),
        ("speed", Arc::new(Float64Array::from_iter_values((0..100).map(|row| f64::from(row) / 4.0)))),
        ("camera.jpeg", Arc::new(LargeBinaryArray::from_iter_values((0..100_u8).map(|row| vec![row; usize::from(row % 10)])))),
    ];
    let writer = Table::create(url, schema, WriteOptions::default()).await?;
    let mut partition = writer.partition()?;
    partition.write(&RecordBatch::try_from_iter(columns)?).await?;
    Ok(writer.commit([partition.finish().await?]).await?)
}
