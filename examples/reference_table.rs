//! Shares blocks with another table: a second extraction of the same drives refers to the blocks of the first and stores the
//! rest.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, LargeBinaryArray, RecordBatch};
use tetrys::{Schema, Table, WriteOptions, table::Sharing};

const ROWS: u64 = 400;

/// Returns pictures of 40 KB. Some rows have another picture in the second extraction.
fn rows(extraction: u64) -> Result<RecordBatch, Box<dyn std::error::Error>> {
    let picture = |row: u64| {
        let seed = if row % 100 == 50 { row + 1_000 * extraction } else { row };
        let mut bytes = vec![0; 40_000];
        fastrand::Rng::with_seed(seed).fill(&mut bytes);
        bytes
    };
    let log: ArrayRef = Arc::new(Int64Array::from_iter_values((0..ROWS as i64).map(|row| row / 100)));
    let time: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS as i64));
    let pictures: ArrayRef = Arc::new(LargeBinaryArray::from_iter_values((0..ROWS).map(picture)));
    Ok(RecordBatch::try_from_iter([("log", log), ("time", time), ("camera.jpeg", pictures)])?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let url = |name: &str| folder.path().join(name).display().to_string();
    let schema = Schema::builder().index("log", "i64").index("time", "i64").group("camera", [("camera.jpeg", "binary")]);
    let schema = schema.sequence_by(["log"]).build()?;

    let writer = Table::create(&url("march"), schema.clone(), WriteOptions::default()).await?;
    let mut partition = writer.partition()?;
    partition.write(&rows(1)?).await?;
    let march = writer.commit([partition.finish().await?]).await?;

    // The second extraction looks up every block in `march` before it encodes the block, and pins `march`.
    let writer = Table::create(&url("april"), schema, WriteOptions::default()).await?.references([&march]).await?;
    assert!(writer.unpinned().is_empty(), "march is writable, so that it could be pinned");
    let mut partition = writer.partition()?;
    partition.write(&rows(2)?).await?;
    let receipt = partition.finish().await?;
    let Sharing { blocks, new_bytes, worst, .. } = receipt.sharing.clone();
    let april = writer.commit([receipt]).await?;

    // 4 of 400 pictures are new. A window of neighbouring rows that contains one of them needs one more byte range.
    assert_eq!((blocks, worst.extra_ranges), (396, 1));
    assert!(new_bytes < 4 * 40_000 + 2_000);
    let info = april.info().await?;
    println!("april: {} bytes of its own, {} bytes in {}", info.own_bytes, info.referenced_bytes, info.references[0]);
    assert_eq!(info.references, ["../march"]);
    assert_eq!(march.store().list("pins").await?.len(), 1);

    // Readers see no difference to a table that stores everything.
    let all: Vec<u64> = (0..ROWS).collect();
    let found = april.row_loader().take(&all).await?;
    assert_eq!(Some(found.column("camera.jpeg")?), rows(2)?.column_by_name("camera.jpeg"));

    // `materialize` copies the shared chunks, so that the table no longer needs `march`.
    let alone = april.storage().materialize(|_, _| {}).await?;
    std::fs::remove_dir_all(url("march"))?;
    assert!(alone.storage().verify(|_, _| {}).await?.damage.is_empty());
    Ok(())
}
