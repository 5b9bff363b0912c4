//! Publishes versions of a table: appends, replaces, adds, patches, deletes and renames. Each version stores only new blocks, and
//! stays readable.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, Int64Array, LargeBinaryArray, RecordBatch, StringArray};
use tetrys::{ErrorKind, Schema, Table, WriteOptions};

fn drive(log: i64, rows: i64) -> Result<RecordBatch, Box<dyn std::error::Error>> {
    let column = |value: &dyn Fn(i64) -> i64| Arc::new(Int64Array::from_iter_values((0..rows).map(value))) as ArrayRef;
    let pictures = (0..rows).map(|row| vec![(log + row) as u8; 50_000]);
    let labels: ArrayRef = Arc::new(StringArray::from(vec!["car"; rows as usize]));
    Ok(RecordBatch::try_from_iter([
        ("log", column(&|_| log)),
        ("time", column(&|row| row)),
        ("camera.jpeg", Arc::new(LargeBinaryArray::from_iter_values(pictures)) as ArrayRef),
        ("labels.kind", labels),
    ])?)
}

async fn chunk_bytes(table: &Table) -> Result<u64, tetrys::Error> {
    Ok(table.store().list("chunks").await?.iter().map(|(_, bytes)| bytes).sum())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let url = folder.path().join("drives").display().to_string();
    let schema = Schema::builder().index("log", "i64").index("time", "i64").group("camera", [("camera.jpeg", "binary")]);
    let schema = schema.group("labels", [("labels.kind", "utf8")]).sequence_by(["log"]).order_by(["time"]).build()?;
    let options = WriteOptions::default;

    // Version 1 has two drives; version 2 appends one.
    let writer = Table::create(&url, schema, options()).await?;
    let (mut one, mut two) = (writer.partition()?, writer.partition()?);
    one.write(&drive(1, 30)?).await?;
    two.write(&drive(2, 30)?).await?;
    let first = writer.commit([one.finish().await?, two.finish().await?]).await?;
    let writer = first.append(options()).await?;
    let mut partition = writer.partition()?;
    partition.write(&drive(3, 20)?).await?;
    let second = writer.commit([partition.finish().await?]).await?;
    let before = chunk_bytes(&second).await?;

    // Version 3 replaces all labels, version 4 adds a group with rows matched by key, version 5 corrects two labels.
    let mut writer = second.replace_group("labels", options()).await?;
    writer
        .write(&RecordBatch::try_from_iter([("labels.kind", Arc::new(StringArray::from(vec!["van"; 80])) as ArrayRef)])?)
        .await?;
    let third = writer.commit().await?;
    let keys = |rows: &[(i64, i64)]| -> [(&'static str, ArrayRef); 2] {
        let column = |of: fn(&(i64, i64)) -> i64| Arc::new(Int64Array::from_iter_values(rows.iter().map(of))) as ArrayRef;
        [("log", column(|(log, _)| *log)), ("time", column(|(_, time)| *time))]
    };
    let known = [(3, 19), (1, 0)];
    let speed: ArrayRef = Arc::new(Float32Array::from(vec![3.5, 12.0]));
    let mut writer = third.add_group("ego", [("ego.speed", "f32")], options()).await?;
    writer
        .write_keyed(&["log", "time"], &RecordBatch::try_from_iter(keys(&known).into_iter().chain([("ego.speed", speed)]))?)
        .await?;
    let fourth = writer.commit().await?;
    let kinds: ArrayRef = Arc::new(StringArray::from(vec!["bus", "tram"]));
    let patch = RecordBatch::try_from_iter(keys(&[(1, 7), (2, 7)]).into_iter().chain([("labels.kind", kinds)]))?;
    let fifth = fourth.patch(&["log", "time"], &patch, options()).await?;
    let row = fifth.row_loader().columns(["labels.*"])?.get_row(37).await?;
    assert_eq!(row.text("labels.kind")?, "tram");

    // Version 6 deletes ten rows, version 7 renames a column. None of the versions stores a picture again.
    let sixth = fifth.delete(10..20, options()).await?;
    let seventh = sixth.edit().rename_column("labels.kind", "labels.class").tag("gold", 6).commit().await?;
    assert!(chunk_bytes(&seventh).await? < before + 2_000);

    // Every version stays readable. Two writers that change different parts both succeed; changes of the same part conflict.
    assert_eq!((Table::open(&format!("{url}@1")).await?.rows(), Table::open(&format!("{url}@gold")).await?.rows()), (60, 70));
    seventh.edit().set_property("license", "CC0").commit().await?;
    let ninth = seventh.edit().set_property("owner", "perception").commit().await?;
    assert_eq!(ninth.properties().len(), 2);
    let error = seventh.edit().set_property("owner", "planning").commit().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    println!("{error}");
    Ok(())
}
