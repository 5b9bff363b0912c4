//! Writes a table with several workers: a partition for each, receipts in any order, one commit. The chunks are the same as those
//! of one worker.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field};
use futures::future::try_join_all;
use tetrys::{ErrorKind, Preset, Receipt, Schema, Table, WriteOptions, table::Cuts};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let options = WriteOptions::default().preset(Preset::Fast).cuts(Cuts::default().with_chunk_max(1 << 20)?);

    // Three logs, three partitions. No block or chunk crosses the end of a partition.
    let url = folder.path().join("logs").display().to_string();
    let writer = Table::create(&url, schema()?, options.clone()).await?;
    let jobs = (0..3).map(|log| {
        let partition = writer.partition_at(log);
        async move {
            let mut partition = partition?;
            // Batches may have any size: they do not affect the stored bytes.
            for start in (0..100).step_by(25) {
                partition.write(&rows(log, start..start + 25)).await?;
            }
            partition.finish().await
        }
    });
    // A receipt is small and can be serialised: workers may run in other processes on other machines.
    let mut receipts: Vec<Receipt> = try_join_all(jobs).await?;
    let text = serde_json::to_string(&receipts)?;
    receipts = serde_json::from_str(&text)?;
    receipts.reverse();
    assert_eq!(Table::open(&url).await.unwrap_err().kind(), ErrorKind::NotFound, "nothing is visible before the commit");
    let table = writer.commit(receipts).await?;
    assert_eq!((table.version(), table.rows(), table.sequence_count()), (1, 300, 3));

    // `create` never overwrites a table.
    let again = Table::create(&url, schema()?, options.clone()).await;
    assert_eq!(again.unwrap_err().kind(), ErrorKind::Exists);

    // The same rows and settings give chunks with the same names, whichever writer wrote them.
    let other = folder.path().join("other").display().to_string();
    let writer = Table::create(&other, schema()?, options).await?;
    let mut receipts = Vec::new();
    for log in 0..3 {
        let mut partition = writer.partition()?;
        partition.write(&rows(log, 0..100)).await?;
        receipts.push(partition.finish().await?);
    }
    let other = writer.commit(receipts).await?;
    assert_eq!((chunks(&table).await?.len(), chunks(&table).await?), (3, chunks(&other).await?));

    // A log that continues after another log is an error.
    let torn = folder.path().join("torn");
    let writer = Table::create(&torn.display().to_string(), schema()?, WriteOptions::default()).await?;
    let mut partition = writer.partition()?;
    partition.write(&rows(0, 0..50)).await?;
    partition.write(&rows(1, 0..50)).await?;
    let error = partition.write(&rows(0, 50..100)).await.unwrap_err();
    assert!(error.to_string().contains("appears again after another one"), "{error}");
    assert!(!Path::new(&torn).join("manifests").exists());
    println!("{} rows in {} chunks: {error}", table.rows(), chunks(&table).await?.len());
    Ok(())
}

fn schema() -> tetrys::Result<Schema> {
    let schema = Schema::builder().index("log", "utf8").index("time", "i64").group("pose", [("pose.xyz", "f32[3]")]);
    schema.sequence_by(["log"]).order_by(["time"]).property("pose.xyz", "unit", "m").build()
}

fn rows(log: u32, rows: std::ops::Range<i64>) -> RecordBatch {
    let numbers: Float32Array =
        rows.clone().flat_map(|row| [0, 1, 2].map(|axis| (1000.0 * log as f32) + (row * 3 + axis) as f32)).collect();
    let poses = FixedSizeListArray::new(Arc::new(Field::new("item", DataType::Float32, true)), 3, Arc::new(numbers), None);
    let columns: [(&str, ArrayRef); 3] = [
        ("log", Arc::new(StringArray::from_iter_values(rows.clone().map(|_| format!("log {log}"))))),
        ("time", Arc::new(rows.collect::<Int64Array>())),
        ("pose.xyz", Arc::new(poses)),
    ];
    RecordBatch::try_from_iter(columns).expect("columns of one length")
}

async fn chunks(table: &Table) -> tetrys::Result<BTreeSet<String>> {
    Ok(table.store().list("chunks").await?.into_iter().map(|(name, _)| name).collect())
}
