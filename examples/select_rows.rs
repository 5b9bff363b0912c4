//! Choose rows by their index columns, in as many ways as a frame has, and read exactly those.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, LargeBinaryArray, LargeStringArray, RecordBatch};
use polars::prelude::{col, lit};
use tetrys::{RowLoader, Schema, Table, WriteOptions};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let table = drives(&folder.path().join("drives").display().to_string()).await?;
    let index = table.index().await?;

    // Filter with an expression, sort, take some at random with a seed: the locators come along by themselves.
    let rain = index.filter(col("weather").eq(lit("rain")))?;
    let fastest = rain.sort(["speed"], true)?.slice(0, 3);
    let some = index.sample(5, 42)?;
    assert_eq!((rain.len(), fastest.len(), some.len()), (34, 3, 5));

    // Or do anything to the frame yourself, and hand it back.
    let one_a_weather = index.lazy().group_by_stable([col("weather")]).agg([col("*").first()]).collect()?;
    let first = index.with_frame(one_a_weather)?;
    assert_eq!(first.len(), 3);

    // Positions are rows of the frame at hand.
    let loader = RowLoader::new(&fastest)?.columns(["camera.*"])?;
    let row = loader.get_row(0).await?;
    assert_eq!(row.bytes("camera.jpeg")?, [99; 9]);
    println!("{}\nfastest in the rain: {} bytes of picture", fastest.frame(), row.bytes("camera.jpeg")?.len());

    // Many rows at once: each block is read once, whatever the order.
    let rows = RowLoader::new(&some)?.take(&[4, 0, 2]).await?;
    assert_eq!(rows.len(), 3);

    // A frame that lost its locators is refused by name, and never reads a wrong row.
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
