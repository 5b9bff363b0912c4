//! Reads windows around rows: by row offsets, by time, with different columns at once, and many windows with one plan.

use std::sync::Arc;

use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, Int64Array, LargeStringArray, RecordBatch};
use arrow_schema::{DataType, Field};
use tetrys::{Edge, Offsets, Schema, Table, TimeOffsets, WriteOptions};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let table = recordings(&folder.path().join("recordings").display().to_string()).await?;
    let loader = table.row_loader();

    // Row 25 and the ten rows before it. The recording starts at row 20, and a window never leaves its recording.
    let history = loader.get_rows(25, -10..=0).await?;
    assert_eq!(history.mask(), [vec![false; 5], vec![true; 6]].concat());
    let position = history.tensor::<f32>("ego.position", 10)?;
    assert_eq!(position.view().shape(), [2]);

    // Instead of a mask, skips missing rows, or makes them an error.
    assert_eq!(loader.clone().edge(Edge::Skip).get_rows(25, -10..=0).await?.len(), 6);
    println!("{}", loader.clone().edge(Edge::Error).get_rows(25, -10..=0).await.unwrap_err());

    // Every fifth row: offsets may be any list.
    let sparse = loader.get_rows(15, Offsets::try_from(-15..=0)?.step_by(5)?).await?;
    assert_eq!(sparse.table_rows(), [Some(0), Some(5), Some(10), Some(15)]);

    // By time: rows are about 100 ms apart. An offset without a row within 20 ms is missing.
    let times = TimeOffsets::new("timestamp", ["-1s", "-500ms", "0s"])?.nearest("20ms")?;
    let by_time = loader.get_rows(15, times).await?;
    assert_eq!(by_time.table_rows(), [Some(5), Some(10), Some(15)]);

    // Ten positions of the ego vehicle and one label with one plan, and its cost without the cache of decoded blocks.
    let parts = [("ego.*", Offsets::try_from(-9..=0)?), ("label", Offsets::new([0])?)];
    let cost = loader.clone().cache_bytes(0).explain_of_parts(15, parts.clone()).await?;
    let found = loader.get_parts(15, parts).await?;
    assert_eq!((found[0].len(), found[1].len(), cost.ranges), (10, 1, 2));

    // A training batch: 8 overlapping windows, with each block read once, to be reshaped to [8, 10, 2].
    let positions: Vec<u64> = (10..18).collect();
    let batch = loader.get_windows(&positions, -9..=0).await?;
    assert_eq!((batch.len(), batch.rows().len()), (8, 80));
    println!(
        "8 windows of 10 rows: {} bytes read",
        loader.clone().cache_bytes(0).explain_windows(&positions, -9..=0).await?.bytes
    );
    Ok(())
}

async fn recordings(url: &str) -> Result<Table, Box<dyn std::error::Error>> {
    let schema = Schema::builder()
        .index("recording", "utf8")
        .index("timestamp", "timestamp[ms]")
        .group("ego", [("ego.position", "f32[2]")])
        .group("label", [("label", "utf8")])
        .sequence_by(["recording"])
        .order_by(["timestamp"])
        .build()?;
    let item = Arc::new(Field::new_list_field(DataType::Float32, true));
    let positions = Float32Array::from_iter_values((0..80_i16).map(f32::from));
    let times = Int64Array::from_iter_values((0..40).map(|row| (row % 20) * 100 + (row * 7) % 13));
    let columns: [(&str, ArrayRef); 4] = [
        ("recording", Arc::new(LargeStringArray::from_iter_values((0..40).map(|row| if row < 20 { "a" } else { "b" })))),
        ("timestamp", arrow_cast_ms(times)),
        ("ego.position", Arc::new(FixedSizeListArray::new(item, 2, Arc::new(positions), None))),
        ("label", Arc::new(LargeStringArray::from_iter_values((0..40).map(|row| format!("label {row}"))))),
    ];
    let writer = Table::create(url, schema, WriteOptions::default()).await?;
    let mut partition = writer.partition()?;
    partition.write(&RecordBatch::try_from_iter(columns)?).await?;
    Ok(writer.commit([partition.finish().await?]).await?)
}

fn arrow_cast_ms(times: Int64Array) -> ArrayRef {
    Arc::new(times.reinterpret_cast::<arrow_array::types::TimestampMillisecondType>())
}
