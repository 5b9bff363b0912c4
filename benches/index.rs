//! Measures the index of a million rows: opens, queries and merges it, reads a thousand of the selected rows, saves the merge as
//! a view, and compares two versions.
//!
//! ```sh
//! cargo bench -p tetrys --bench index
//! ```
//!
//! Two tables of 1,048,576 rows in 1,024 logs with a row every 100 ms, with eight index columns each. The payload is one small
//! group, because few of the figures read payload. Local disk, warm page cache; each figure is the best of three.

use std::{hint::black_box, sync::Arc, time::Instant};

use arrow_array::{ArrayRef, Float64Array, Int64Array, LargeStringArray, RecordBatch};
use polars::prelude::{col, lit};
use tetrys::{Index, Merge, Pick, RowLoader, Schema, Table, WriteOptions, block_on};

const LOGS: i64 = 1024;
const STEPS: i64 = 1024;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let url = |name: &str| folder.path().join(name).display().to_string();
    let (left, right) = (write(&url("left"), "sweep", 0)?, write(&url("right"), "boxes", 7)?);
    println!("{} rows, index of {} bytes", LOGS * STEPS, index_bytes(&left));

    best("open the table", || Ok(block_on(Table::open(&url("left")))?.version() as usize))?;
    best("open it and load its index", || Ok(block_on(block_on(Table::open(&url("left")))?.index())?.len()))?;
    best("the same, 2 of 8 columns", || {
        let table = block_on(Table::open(&url("left")))?;
        block_on(table.index_columns(["log_id", "timestamp"])).map(|index| index.len())
    })?;
    let (a, b) = (block_on(left.index())?, block_on(right.index())?);
    println!("frame: {} bytes", a.frame().estimated_size());
    let busy = |index: &Index| index.filter(col("agents").gt(lit(95)).and(col("speed").lt(lit(10.0))));
    best("filter", || Ok(busy(&a)?.len()))?;
    best("SQL: GROUP BY", || Ok(a.query("SELECT weather, COUNT(*) AS n, AVG(speed) AS s FROM t GROUP BY weather")?.height()))?;
    best("sort by two columns", || Ok(a.sort(["speed", "agents"], true)?.len()))?;
    best("sample 1,000", || Ok(a.sample(1000, 1)?.len()))?;
    best("merge by log_id and timestamp", || Ok(a.merge(&b, &Merge::on_pairs([("log_id", "log_id"), ("step", "step")]))?.len()))?;
    best("merge by time, nearest within 50 ms", || {
        Ok(a.merge(&b, &Merge::on(["log_id"]).as_of("timestamp", Pick::Nearest).tolerance("50ms")?)?.len())
    })?;
    let chosen = busy(&a)?.sample(1000, 2)?;
    let loader = RowLoader::new(&chosen)?;
    let positions: Vec<u64> = (0..loader.len()).collect();
    block_on(loader.take(&positions))?;
    best("make a loader of 1,000 rows found", || Ok(RowLoader::new(&chosen)?.len() as usize))?;
    best("take these 1,000 rows", || Ok(block_on(loader.take(&positions))?.len()))?;
    let by_key = Merge::on_pairs([("log_id", "log_id"), ("step", "step")]);
    let before = (status("VmRSS:"), reset_peak());
    let merged = a.merge(&b, &by_key)?;
    println!("a merge: {} before, {} at its peak, {} after", before.0, status("VmHWM:"), status("VmRSS:"));
    best("make a loader of the merged million", || Ok(RowLoader::new(&merged)?.len() as usize))?;
    let mut saved = 0;
    best("save the merge as a view", || {
        saved += 1;
        let view = block_on(merged.save(&url(&format!("view-{saved}"))))?.table;
        Ok(view.rows() as usize)
    })?;
    let view = block_on(Table::open(&url("view-1")))?;
    let info = block_on(view.info())?;
    println!("the view: index of {} bytes, join map of {}", info.index_bytes, info.sources[1].join_bytes);
    best("open the view and load its index", || Ok(block_on(block_on(Table::open(&url("view-1")))?.index())?.len()))?;
    let few = merged.filter(col("agents").gt(lit(95)))?;
    block_on(few.save(&url("few")))?;
    best("open a view of 5 % of its rows", || Ok(block_on(block_on(Table::open(&url("few")))?.index())?.len()))?;
    best("split by log into three", || Ok(a.split(["log_id"], [("train", 0.8), ("val", 0.1), ("test", 0.1)], "")?.len()))?;
    let other = write(&url("other"), "sweep", 1)?;
    best("diff of two versions, on log_id and step", || {
        let found = block_on(other.diff(&left, ["log_id", "step"]))?;
        assert_eq!((found.added.len(), found.changed.len() as i64), (0, LOGS * STEPS));
        Ok(found.bytes_read as usize)
    })?;
    best("diff of two views, the same", || {
        let again = block_on(Table::open(&url("view-2")))?;
        Ok(block_on(again.diff(&view, ["log_id", "step"]))?.unchanged as usize)
    })?;
    Ok(())
}

/// Resets the peak memory that the kernel reports for this process.
fn reset_peak() -> bool {
    std::fs::write("/proc/self/clear_refs", "5").is_ok()
}

fn best(what: &str, mut work: impl FnMut() -> tetrys::Result<usize>) -> tetrys::Result<()> {
    let mut least = f64::INFINITY;
    for _ in 0..3 {
        let start = Instant::now();
        black_box(work()?);
        least = least.min(start.elapsed().as_secs_f64());
    }
    println!("{what:44} {:8.1} ms", least * 1e3);
    Ok(())
}

fn index_bytes(table: &Table) -> u64 {
    table.manifest().segments.iter().map(|segment| segment.index.bytes).sum()
}

fn status(field: &str) -> String {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    text.lines().find_map(|line| line.strip_prefix(field)).unwrap_or("unknown").trim().to_owned()
}

fn write(url: &str, name: &str, late: i64) -> Result<Table, Box<dyn std::error::Error>> {
    let value = format!("{name}.value");
    let schema = Schema::builder()
        .index("log_id", "utf8")
        .index("step", "i64")
        .index("timestamp", "timestamp[ms]")
        .index("weather", "utf8")
        .index("speed", "f64")
        .index("agents", "i64")
        .index(format!("{name}_id"), "i64")
        .index(format!("{name}_score"), "f64")
        .group(name, [(value.as_str(), "i64")])
        .sequence_by(["log_id"])
        .order_by(["timestamp"])
        .build()?;
    let weather = ["rain", "sun", "fog", "snow"];
    let batches = (0..LOGS).map(|log| {
        let rows = log * STEPS..(log + 1) * STEPS;
        let ints = |f: &dyn Fn(i64) -> i64| Arc::new(rows.clone().map(f).collect::<Int64Array>());
        let floats = |f: &dyn Fn(i64) -> f64| Arc::new(rows.clone().map(|row| Some(f(row))).collect::<Float64Array>());
        let times = Int64Array::from_iter_values(rows.clone().map(|row| row * 100 + late + row % 5));
        let (id, score) = (format!("{name}_id"), format!("{name}_score"));
        let columns: [(&str, ArrayRef); 9] = [
            ("log_id", Arc::new(LargeStringArray::from(vec![format!("log-{log:06}"); STEPS as usize]))),
            ("step", ints(&|row| row % STEPS)),
            ("timestamp", Arc::new(times.reinterpret_cast::<arrow_array::types::TimestampMillisecondType>())),
            ("weather", Arc::new(LargeStringArray::from(vec![weather[log as usize % 4]; STEPS as usize]))),
            ("speed", floats(&|row| (row * 7919 % 3000) as f64 / 100.0)),
            ("agents", ints(&|row| row * row % 101)),
            (&id, ints(&|row| row)),
            (&score, floats(&|row| 1.0 / (1 + row) as f64)),
            (&value, ints(&|row| row)),
        ];
        RecordBatch::try_from_iter(columns)
    });
    let batches = batches.collect::<Result<Vec<_>, _>>()?;
    Ok(block_on(async {
        let writer = Table::create(url, schema, WriteOptions::default()).await?;
        let mut partition = writer.partition()?;
        for batch in &batches {
            partition.write(batch).await?;
        }
        writer.commit([partition.finish().await?]).await
    })?)
}
