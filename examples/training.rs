//! Batches for training: shuffled, shared between ranks, with windows, and continued where another process stopped.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, Int64Array, RecordBatch, StringArray};
use tetrys::{
    Schema, Table, WriteOptions,
    loader::{DataLoader, Last, LoaderOptions, LoaderState, Shuffle, Stop},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let table = drives(&folder.path().join("drives").display().to_string()).await?;

    // Each of four processes would make this with its own rank. Blocks of neighbours are mixed, which suits object stores.
    let rows = table.row_loader().columns(["motion.*", "time"])?;
    let options = |batch_size, rank, ranks| {
        let shuffle = Shuffle::Block { rows: 25, window: 4 };
        let options = LoaderOptions::new(batch_size).shuffle(shuffle).seed(7).rank(rank, ranks).last(Last::Pad);
        // The speed of the last three rows of the same drive, and the rest of the sample alone.
        options.window("motion.speed", -2..=0)
    };
    let mut loader = DataLoader::new(rows.clone(), options(16, 0, 4)?).await?;
    println!("{} samples, {} batches on each rank", loader.samples(), loader.len());

    let batch = loader.next().await?.ok_or("an epoch has batches")?;
    let speeds = batch.parts[1].rows().array::<f32>("motion.speed")?;
    println!("batch of {} samples, speeds {:?}, of which {} exist", batch.positions.len(), speeds.shape(), {
        batch.parts[1].rows().mask().iter().filter(|exists| **exists).count()
    });

    // The state is a few hundred bytes of JSON. One process with another batch size goes on behind the 64 samples of that step.
    let state = serde_json::to_string(&loader.state())?;
    let mut alone = DataLoader::new(rows.clone(), options(100, 0, 1)?).await?;
    alone.load_state(&serde_json::from_str::<LoaderState>(&state)?)?;
    let mut left = 0;
    while let Some(batch) = alone.next().await? {
        left += batch.padding.iter().filter(|fills| !**fills).count();
    }
    println!("{left} samples were left");
    assert_eq!(left, 400 - 64);

    // What an epoch costs is known before it is read. (A new row loader has nothing in its block cache.)
    let unread = DataLoader::new(table.row_loader(), options(100, 0, 1)?).await?;
    let forecast = unread.forecast().await?;
    println!("{:.1} requests and {:.0} bytes for each batch", forecast.requests_of_batch, forecast.bytes_of_batch);

    // Three samples in four are of the first loader. The loaders may read different tables with the same columns.
    let city = DataLoader::new(rows.clone(), LoaderOptions::new(40).seed(1)).await?;
    let highway = DataLoader::new(rows, LoaderOptions::new(40).seed(2)).await?;
    let mut mixed = DataLoader::mix([&city, &highway], &[3.0, 1.0], Stop::Longest)?;
    let batch = mixed.next().await?.ok_or("an epoch has batches")?;
    println!("{} of 40 samples are of the first loader", batch.sources.iter().filter(|source| **source == 0).count());
    Ok(())
}

/// Writes a table of four drives.
async fn drives(url: &str) -> Result<Table, Box<dyn std::error::Error>> {
    let schema = Schema::builder()
        .index("drive", "utf8")
        .index("time", "i64")
        .group("motion", [("motion.speed", "f32"), ("motion.turn", "f32")])
        .sequence_by(["drive"])
        .order_by(["time"])
        .build()?;
    let floats =
        |of: fn(f32) -> f32| Arc::new(Float32Array::from_iter_values((0..400_u16).map(|row| of(row.into())))) as ArrayRef;
    let batch = RecordBatch::try_from_iter([
        ("drive", Arc::new(StringArray::from_iter_values((0..400).map(|row| format!("drive {}", row / 100)))) as ArrayRef),
        ("time", Arc::new(Int64Array::from_iter_values((0..400).map(|row| row * 100)))),
        ("motion.speed", floats(|row| 10.0 + row.sin())),
        ("motion.turn", floats(f32::cos)),
    ])?;
    let writer = Table::create(url, schema, WriteOptions::default()).await?;
    let mut partition = writer.partition()?;
    partition.write(&batch).await?;
    writer.commit([partition.finish().await?]).await?;
    Ok(Table::open(url).await?)
}
