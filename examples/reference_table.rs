//! A table extracted again stores what is new: blocks that its reference has are referred to where they lie.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, LargeBinaryArray, RecordBatch};
use tetrys::{Schema, Table, WriteOptions, table::Sharing};

const ROWS: u64 = 400;

/// Pictures of 40 KB; those of some rows are other ones in the second extraction.
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

    // The same drives, extracted again: `march` is asked for every block before it is encoded, and told that it is used.
    let writer = Table::create(&url("april"), schema, WriteOptions::default()).await?.references([&march]).await?;
    assert!(writer.unpinned().is_empty(), "march can be written, so it learns who uses its chunks");
    let mut partition = writer.partition()?;
    partition.write(&rows(2)?).await?;
    let receipt = partition.finish().await?;
    let Sharing { blocks, new_bytes, worst, .. } = receipt.sharing.clone();
    let april = writer.commit([receipt]).await?;

    // 4 of 400 pictures are new. A window of neighbouring rows takes one range more, where it meets one of them.
    assert_eq!((blocks, worst.extra_ranges), (396, 1));
    assert!(new_bytes < 4 * 40_000 + 2_000);
    let info = april.info().await?;
    println!("april: {} bytes of its own, {} bytes in {}", info.own_bytes, info.referenced_bytes, info.references[0]);
    assert_eq!(info.references, ["../march"]);
    assert_eq!(march.store().list("pins").await?.len(), 1);

    // It reads as if it had stored everything.
    let all: Vec<u64> = (0..ROWS).collect();
    let found = april.row_loader().take(&all).await?;
    assert_eq!(Some(found.column("camera.jpeg")?), rows(2)?.column_by_name("camera.jpeg"));

    // And can be made to: what lies in march is copied, and the tie is cut.
    let alone = april.materialize(|_, _| {}).await?;
    std::fs::remove_dir_all(url("march"))?;
    assert!(alone.verify(|_, _| {}).await?.damage.is_empty());
    Ok(())
}
