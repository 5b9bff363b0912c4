//! Queries the index with SQL: statistics as a frame, and rows to read.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, LargeStringArray, RecordBatch};
use tetrys::{RowLoader, Schema, Table, WriteOptions};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let url = folder.path().join("frames").display().to_string();
    let schema =
        Schema::builder().index("city", "utf8").index("agents", "i64").group("notes", [("notes.text", "utf8")]).build()?;
    let cities = ["Pittsburgh", "Dallas", "Palo Alto"];
    let columns: [(&str, ArrayRef); 3] = [
        ("city", Arc::new(LargeStringArray::from_iter_values((0..300).map(|row| cities[row % 3])))),
        ("agents", Arc::new((0..300).map(|row| row * row % 101).collect::<Int64Array>())),
        ("notes.text", Arc::new(LargeStringArray::from_iter_values((0..300).map(|row| format!("frame {row}"))))),
    ];
    let writer = Table::create(&url, schema, WriteOptions::default()).await?;
    let mut partition = writer.partition()?;
    partition.write(&RecordBatch::try_from_iter(columns)?).await?;
    let index = writer.commit([partition.finish().await?]).await?.index().await?;

    // A query returns a frame. The name of the table is `t`.
    let counts = index.query("SELECT city, COUNT(*) AS frames, MAX(agents) AS most FROM t GROUP BY city ORDER BY city")?;
    println!("{counts}");
    assert_eq!(counts.height(), 3);

    // The rows of a query that keeps the locators, as SELECT * does, can be read.
    let busy = index.sql("SELECT * FROM t WHERE agents > 95 AND city <> 'Dallas' ORDER BY agents DESC LIMIT 4")?;
    let loader = RowLoader::new(&busy)?;
    for position in 0..loader.len() {
        println!("{}", loader.get_row(position).await?.text("notes.text")?);
    }
    assert_eq!(busy.len(), 4);
    Ok(())
}
