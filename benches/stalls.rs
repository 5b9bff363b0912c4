//! The longest time for which one step of a call holds its executor: other futures of a runtime with one thread wait so long.
//!
//! `cargo bench --bench stalls [-- ROWS]`: a table of 1,000,000 rows by default, with four index columns and 24 bytes of payload a row, in
//! memory. On Linux, processor time of the thread is counted, so that other processes do not matter; elsewhere time is.

use std::{
    future::poll_fn,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field};
use object_store::memory::InMemory;
use tetrys::{
    Merge, Result, Schema, Store, Table, WriteOptions,
    polars::prelude::{col, lit},
    table::{GcSettings, Storage, now_ms},
};

/// Rows of a log, and of a batch.
const LOG: i64 = 1_000;
const BATCH: i64 = 100_000;

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let rows = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(1_000_000);
    println!("{rows} rows\n");
    println!("| call | longest step, ms | steps | all steps, ms |");
    println!("|---|---|---|---|");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(measure(rows))?;
    Ok(())
}

/// Time that this thread has used its processor.
fn used(start: Instant) -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = text.and_then(|text| text.split_whitespace().next()?.parse().ok());
    nanoseconds.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

/// Runs a call, and prints its longest step.
async fn step<T>(what: &str, call: impl Future<Output = Result<T>>) -> Result<T> {
    let (mut longest, mut sum, mut steps, start) = (Duration::ZERO, Duration::ZERO, 0, Instant::now());
    let mut call = pin!(call);
    let done = poll_fn(|context| {
        let before = used(start);
        let polled = call.as_mut().poll(context);
        let took = used(start).saturating_sub(before);
        (longest, sum, steps) = (longest.max(took), sum + took, steps + 1);
        polled
    })
    .await?;
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!("| {what} | {:.1} | {steps} | {:.0} |", ms(longest), ms(sum));
    Ok(done)
}

async fn measure(rows: i64) -> Result<()> {
    let (store, labels) = (memory("t"), memory("labels"));
    let options = WriteOptions::default;
    let batches: Vec<RecordBatch> =
        (0..rows).step_by(BATCH as usize).map(|start| batch(start..rows.min(start + BATCH), 0.0)).collect();
    let table = step("create", write(store.clone(), &batches)).await?;
    let other = write(labels, &batches).await?;
    drop(batches);
    let ten = batch(rows + LOG..rows + LOG + 10, 0.0);
    let table = step("append ten rows", append(&table, &ten)).await?;
    step("open", Table::open_in(store.clone())).await?;
    step("info", table.info()).await?;
    step("take one row", table.row_loader().take(&[rows as u64 / 2])).await?;
    step("index of one row", table.take_index(&[rows as u64 / 2])).await?;
    let keys = ["log_id", "timestamp"];
    let patch = batch(rows / 2..rows / 2 + 1, 7.0);
    let patch = patch.project(&[0, 1, 4, 5]).expect("keys and payload");
    let table = step("patch a row", table.patch(&keys, &patch, options())).await?;
    let before = Table::open_version_in(store.clone(), table.version() - 1).await?;
    step("diff of that", table.diff(&before, keys)).await?;
    step("diff of all rows", table.diff(&other, keys)).await?;
    let table = step("delete a row", table.delete([rows as u64 / 3], options())).await?;
    let index = step("index", table.index().into_future()).await?;
    let few = table.index().filter(col("timestamp").lt(lit(5_000_i64)));
    step("index with a filter", few.into_future()).await?;
    let of_labels = other.index().await?;
    let on = Merge::on(keys);
    let merged = step("merge of two indexes", async { index.merge(&of_labels, &on) }).await?;
    step("save a view", merged.save(memory("view"))).await?;
    step("verify", table.storage().verify(|_, _| {})).await?;
    let z = Arc::new(Float64Array::from_iter_values((0..table.rows()).map(|row| row as f64))) as ArrayRef;
    let z = RecordBatch::try_from_iter([("z", z)]).expect("one column");
    step("add a group", async {
        let mut writer = table.add_group("more", [("z", "f64")], options()).await?;
        for start in (0..z.num_rows()).step_by(BATCH as usize) {
            writer.write(&z.slice(start, z.num_rows().min(start + BATCH as usize) - start)).await?;
        }
        writer.commit().await
    })
    .await?;
    let settings = GcSettings { keep_versions: 1, age: Duration::ZERO };
    step("gc", Storage::of(&store).collect_garbage(settings, now_ms())).await?;
    step("gc that deletes", Storage::of(&store).collect_garbage(settings, now_ms())).await?;
    Ok(())
}

fn memory(name: &str) -> Store {
    Store::new(Arc::new(InMemory::new()), name.into(), format!("memory://stalls/{name}"))
}

async fn write(store: Store, batches: &[RecordBatch]) -> Result<Table> {
    let schema = Schema::builder()
        .index("log_id", "utf8")
        .index("timestamp", "i64")
        .index("x", "f32")
        .index("speed", "f64")
        .group("pose", [("pose", "f32[4]"), ("label", "f64")])
        .sequence_by(["log_id"])
        .order_by(["timestamp"])
        .build()?;
    let writer = Table::create_in(store, schema, WriteOptions::default()).await?;
    let mut partition = writer.partition()?;
    for batch in batches {
        partition.write(batch).await?;
    }
    let receipt = partition.finish().await?;
    writer.commit([receipt]).await
}

async fn append(table: &Table, rows: &RecordBatch) -> Result<Table> {
    let writer = table.append(WriteOptions::default()).await?;
    let mut partition = writer.partition()?;
    partition.write(rows).await?;
    let receipt = partition.finish().await?;
    writer.commit([receipt]).await
}

fn batch(rows: std::ops::Range<i64>, add: f64) -> RecordBatch {
    let of = |value: fn(i64) -> f64| rows.clone().map(value);
    let pose = Float32Array::from_iter_values(rows.clone().flat_map(|row| (0..4).map(move |part| (row * 4 + part) as f32)));
    let item = Arc::new(Field::new("item", DataType::Float32, true));
    let pose = FixedSizeListArray::new(item, 4, Arc::new(pose), None);
    let columns: [(&str, ArrayRef); 6] = [
        ("log_id", Arc::new(StringArray::from_iter_values(rows.clone().map(|row| format!("log-{:08}", row / LOG))))),
        ("timestamp", Arc::new(Int64Array::from_iter_values(rows.clone()))),
        ("x", Arc::new(Float32Array::from_iter_values(of(|row| (row % 97) as f64).map(|value| value as f32)))),
        ("speed", Arc::new(Float64Array::from_iter_values(of(|row| (row * 31 % 1009) as f64)))),
        ("pose", Arc::new(pose)),
        ("label", Arc::new(Float64Array::from_iter_values(of(|row| row as f64).map(|value| value + add)))),
    ];
    RecordBatch::try_from_iter(columns).expect("columns of one length")
}
