//! Splits rows into training, validation and test parts by a hash of their log: all frames of a drive are in one part, and stay
//! there when drives are added.

use std::{collections::BTreeSet, sync::Arc};

use arrow_array::{ArrayRef, Int64Array, LargeBinaryArray, LargeStringArray, RecordBatch};
use tetrys::{Index, Schema, Table, ViewOptions, WriteOptions};

const SHARES: [(&str, f64); 3] = [("train", 0.8), ("val", 0.1), ("test", 0.1)];

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let url = |name: &str| folder.path().join(name).display().to_string();
    let drives = drives(&url("drives"), 200).await?;
    let parts = drives.index().await?.split(["log_id"], SHARES, "")?;
    for (name, part) in &parts {
        println!("{name}: {} frames of {} drives", part.len(), logs(part).len());
        part.save_with(&url(&format!("splits/{name}")), &ViewOptions::default().lineage("part", name.as_str())).await?;
    }
    assert_eq!(parts.iter().map(|(_, part)| part.len()).sum::<usize>(), 200 * 20);
    assert!((140..=180).contains(&logs(&parts[0].1).len()));

    // No drive is in two parts. The views are read like tables.
    let [train, val, test] = [0, 1, 2].map(|part| logs(&parts[part].1));
    assert!(train.is_disjoint(&val) && train.is_disjoint(&test) && val.is_disjoint(&test));
    let opened = Table::open(&url("splits/val")).await?;
    assert_eq!(opened.rows() as usize, parts[1].1.len());
    assert_eq!(opened.row_loader().get_row(0).await?.bytes("camera.jpeg")?.len(), 1000);

    // With half as many drives again, every old drive is in the same part as before.
    let more = self::drives(&url("more"), 300).await?.index().await?.split(["log_id"], SHARES, "")?;
    for ((name, before), (_, after)) in parts.iter().zip(&more) {
        assert!(logs(before).is_subset(&logs(after)), "{name}");
    }

    // Another salt gives other parts.
    let salted = drives.index().await?.split(["log_id"], SHARES, "fold 2")?;
    assert_ne!(logs(&salted[0].1), train);
    Ok(())
}

fn logs(index: &Index) -> BTreeSet<String> {
    let logs = index.frame().column("log_id").and_then(|column| column.str().cloned());
    logs.map(|logs| logs.iter().flatten().map(str::to_owned).collect()).unwrap_or_default()
}

async fn drives(url: &str, drives: i64) -> Result<Table, Box<dyn std::error::Error>> {
    let schema = Schema::builder()
        .index("log_id", "utf8")
        .index("timestamp", "i64")
        .group("camera", [("camera.jpeg", "binary")])
        .sequence_by(["log_id"])
        .build()?;
    let frames = || (0..drives).flat_map(|drive| (0..20).map(move |frame| (drive, frame)));
    let columns: [(&str, ArrayRef); 3] = [
        ("log_id", Arc::new(LargeStringArray::from_iter_values(frames().map(|(drive, _)| format!("drive-{drive:04}"))))),
        ("timestamp", Arc::new(Int64Array::from_iter_values(frames().map(|(_, frame)| frame * 100)))),
        ("camera.jpeg", Arc::new(LargeBinaryArray::from_iter_values(frames().map(|(drive, _)| vec![drive as u8; 1000])))),
    ];
    let writer = Table::create(url, schema, WriteOptions::default()).await?;
    let mut partition = writer.partition()?;
    partition.write(&RecordBatch::try_from_iter(columns)?).await?;
    Ok(writer.commit([partition.finish().await?]).await?)
}
