//! Measures how many bytes are stored again if tables and versions are written again with rows changed, inserted, deleted and
//! appended at random.
//!
//! Takes no arguments; prints a table with the goal and the result of each figure. `TETRYS_SEED` chooses other rows. Payload is
//! noise, so that compression does not change its size; the speed figures use lidar sweeps in millimetres. All data is in a
//! temporary folder.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, Int64Array, LargeBinaryArray, LargeStringArray, RecordBatch};
use arrow_schema::{DataType, Field};
use tetrys::{
    Preset, Schema, Store, Table, TableWriter, WriteOptions,
    table::Cuts,
    write::{Locality, Sharing, worst_windows},
};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let seed = std::env::var("TETRYS_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    println!("seed {seed}\n\n| figure | wanted | result |\n|---|---|---|");
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?.block_on(async {
        again(seed).await?;
        labels(seed).await?;
        edits(seed).await?;
        random_rows(seed).await?;
        versions(seed).await?;
        scattered(seed).await
    })
}

/// A row of a log: log, time, and the seeds of its payload.
#[derive(Clone, Debug)]
struct Row {
    log: u32,
    time: i64,
    seed: u64,
    label: u64,
}

fn rows(logs: u32, each: u32, seed: u64) -> Vec<Row> {
    let row = |log: u32, time: u32| {
        let number = u64::from(log) << 32 | u64::from(time);
        Row { log, time: 1000 * i64::from(time), seed: mix(seed, number), label: mix(seed + 1, number) }
    };
    (0..logs).flat_map(|log| (0..each).map(move |time| row(log, time))).collect()
}

fn mix(seed: u64, number: u64) -> u64 {
    fastrand::Rng::with_seed(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).u64(..)
}

fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut out = vec![0; bytes];
    fastrand::Rng::with_seed(seed).fill(&mut out);
    out
}

/// Columns of noise with this many bytes for each row. The last of several columns uses the seed of the labels.
fn schema(groups: &[(&str, usize)]) -> Outcome<Schema> {
    let mut schema = Schema::builder().index("log", "utf8").index("time", "i64");
    for (name, _) in groups {
        schema = schema.group(*name, [(format!("{name}.bytes"), "binary")]);
    }
    Ok(schema.sequence_by(["log"]).order_by(["time"]).build()?)
}

fn batch(groups: &[(&str, usize)], rows: &[Row]) -> Outcome<RecordBatch> {
    let logs: ArrayRef = Arc::new(LargeStringArray::from_iter_values(rows.iter().map(|row| format!("log-{:05}", row.log))));
    let times: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.time)));
    let mut columns = vec![("log".to_owned(), logs), ("time".to_owned(), times)];
    for (number, (name, bytes)) in groups.iter().enumerate() {
        let seed = |row: &Row| if number > 0 && number + 1 == groups.len() { row.label } else { mix(row.seed, number as u64) };
        let values = LargeBinaryArray::from_iter_values(rows.iter().map(|row| noise(seed(row), *bytes)));
        columns.push((format!("{name}.bytes"), Arc::new(values)));
    }
    Ok(RecordBatch::try_from_iter(columns)?)
}

/// Writes rows with a session, in partitions of `each` rows; returns the time of the writes alone.
async fn write(writer: TableWriter, groups: &[(&str, usize)], rows: &[Row]) -> Outcome<(Table, Sharing, Duration)> {
    let (mut receipts, mut sharing, mut spent) = (Vec::new(), Sharing::default(), Duration::ZERO);
    let mut partition = writer.partition()?;
    for some in rows.chunks(64) {
        let batch = batch(groups, some)?;
        let started = Instant::now();
        partition.write(&batch).await?;
        spent += started.elapsed();
    }
    let started = Instant::now();
    let receipt = partition.finish().await?;
    spent += started.elapsed();
    sharing = sharing.and(receipt.sharing.clone());
    receipts.push(receipt);
    Ok((writer.commit(receipts).await?, sharing, spent))
}

async fn create(
    folder: &Path,
    name: &str,
    schema: &Schema,
    options: &WriteOptions,
    references: &[&Table],
) -> Outcome<TableWriter> {
    let store = Store::open(&folder.join(name).display().to_string())?;
    let writer = Table::create_in(store, schema.clone(), options.clone()).await?;
    Ok(writer.references(references.iter().copied()).await?)
}

async fn bytes_below(table: &Table, folder: &str) -> Outcome<u64> {
    Ok(table.store().list(folder).await?.iter().map(|(_, bytes)| bytes).sum())
}

fn print_figure(figure: &str, wanted: &str, result: &str) {
    println!("| {figure} | {wanted} | {result} |");
}

/// Writes the same lidar sweeps again, with the same codecs and with others.
async fn again(seed: u64) -> Outcome<()> {
    const ROWS: usize = 240;
    const POINTS: usize = 20_000;
    let schema = Schema::builder().index("time", "i64").group("lidar", [("lidar.points", "f32[20000,4]")]).build()?;
    let mut sweeps = Vec::new();
    for row in 0..ROWS {
        let mut rng = fastrand::Rng::with_seed(mix(seed, row as u64));
        let mut values = Vec::with_capacity(4 * POINTS);
        for point in 0..POINTS {
            let angle = point as f32 / POINTS as f32 * std::f32::consts::TAU;
            let range = 20.0 + 10.0 * (angle * 3.0).sin() + rng.f32() * 0.2;
            let millimetres = |metres: f32| (metres * 1000.0).round() / 1000.0;
            values.extend([
                millimetres(range * angle.cos()),
                millimetres(range * angle.sin()),
                millimetres(rng.f32()),
                rng.u8(..) as f32,
            ]);
        }
        sweeps.push(values);
    }
    let batches: Vec<RecordBatch> = (0..ROWS)
        .map(|row| {
            let field = Arc::new(Field::new("item", DataType::Float32, true));
            let points =
                FixedSizeListArray::try_new(field, 4 * POINTS as i32, Arc::new(Float32Array::from(sweeps[row].clone())), None)?;
            Ok(RecordBatch::try_from_iter([
                ("time", Arc::new(Int64Array::from(vec![row as i64])) as ArrayRef),
                ("lidar.points", Arc::new(points) as ArrayRef),
            ])?)
        })
        .collect::<Outcome<_>>()?;
    let run = async |writer: TableWriter| -> Outcome<(Table, Sharing, Duration)> {
        let started = Instant::now();
        let mut partition = writer.partition()?;
        for batch in &batches {
            partition.write(batch).await?;
        }
        let receipt = partition.finish().await?;
        let (sharing, spent) = (receipt.sharing.clone(), started.elapsed());
        Ok((writer.commit([receipt]).await?, sharing, spent))
    };
    let mb = (ROWS * POINTS * 16) as f64 / 1e6;
    for (before, now) in [
        (Preset::Balanced, Preset::Balanced),
        (Preset::Compact, Preset::Compact),
        (Preset::Fast, Preset::Fast),
        (Preset::Balanced, Preset::Compact),
        (Preset::Compact, Preset::Balanced),
    ] {
        let folder = tempfile::tempdir()?;
        let options = |preset| WriteOptions::default().preset(preset);
        let (old, _, _) = run(create(folder.path(), "old", &schema, &options(before), &[]).await?).await?;
        let (_, _, first) = run(create(folder.path(), "first", &schema, &options(now), &[]).await?).await?;
        let (table, sharing, second) = run(create(folder.path(), "again", &schema, &options(now), &[&old]).await?).await?;
        let (own, _, own_time) = run(old.overwrite(schema.clone(), options(now)).await?).await?;
        let own_new = bytes_below(&own, "chunks").await? - old.info().await?.own_chunk_bytes;
        let rate = |spent: Duration| mb / spent.as_secs_f64();
        print_figure(
            &format!(
                "identical re-ingest of lidar, written `{}`, now `{}`: new chunk bytes; speed against storing it",
                before.name(),
                now.name()
            ),
            "0; 2x",
            &format!(
                "{}; {:.1}x ({:.0} against {:.0} MB/s); as a version of the same table {own_new}; {:.1}x ({:.0} MB/s)",
                bytes_below(&table, "chunks").await?.max(sharing.new_bytes),
                rate(second) / rate(first),
                rate(second),
                rate(first),
                rate(own_time) / rate(first),
                rate(own_time),
            ),
        );
    }
    Ok(())
}

/// Writes the same cameras and lidar sweeps again with new labels.
async fn labels(seed: u64) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let groups = [("camera", 80_000), ("lidar", 20_000), ("labels", 1_000)];
    let (schema, options) = (schema(&groups)?, WriteOptions::default());
    let mut rows = rows(10, 100, seed);
    let (first, _, _) = write(create(folder.path(), "first", &schema, &options, &[]).await?, &groups, &rows).await?;
    rows.iter_mut().for_each(|row| row.label = mix(row.label, 7));
    let (again, sharing, _) = write(create(folder.path(), "again", &schema, &options, &[&first]).await?, &groups, &rows).await?;
    let own = again.info().await?.column_groups[2].bytes;
    print_figure(
        "only labels changed: new chunk bytes against the blocks of the changed group",
        "1.01x",
        &format!("{:.4}x ({} against {own})", sharing.new_bytes as f64 / own as f64, sharing.new_bytes),
    );
    Ok(())
}

/// Inserts or deletes a row in the middle of each log.
async fn edits(seed: u64) -> Outcome<()> {
    let groups = [("camera", 20_000), ("pose", 128)];
    let schema = schema(&groups)?;
    let original = rows(20, 200, seed);
    let fewer: Vec<Row> = original.iter().filter(|row| row.time != 100_000).cloned().collect();
    for (what, cuts) in [("default chunks", Cuts::default()), ("chunks of 1 MiB", Cuts::default().with_chunk_max(1 << 20)?)] {
        let options = WriteOptions::default().cuts(cuts);
        for (edit, before, after) in [("inserted", &fewer, &original), ("deleted", &original, &fewer)] {
            let folder = tempfile::tempdir()?;
            let (first, _, _) = write(create(folder.path(), "first", &schema, &options, &[]).await?, &groups, before).await?;
            let (again, sharing, _) =
                write(create(folder.path(), "again", &schema, &options, &[&first]).await?, &groups, after).await?;
            let chunks = again.store().list("chunks").await?.len();
            print_figure(
                &format!("a row {edit} in the middle of each of 20 logs, {what}: new chunks for each group and edit"),
                "at most 2",
                &format!("{:.2} ({chunks} in all, {} bytes)", chunks as f64 / 40.0, sharing.new_bytes),
            );
        }
    }
    Ok(())
}

/// Changes the picture of one row in a hundred.
async fn random_rows(seed: u64) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let groups = [("camera", 80_000)];
    let (schema, options) = (schema(&groups)?, WriteOptions::default());
    let mut rows = rows(20, 150, seed);
    let (first, _, _) = write(create(folder.path(), "first", &schema, &options, &[]).await?, &groups, &rows).await?;
    let mut rng = fastrand::Rng::with_seed(seed);
    for row in rng.choose_multiple(0..rows.len(), rows.len() / 100) {
        rows[row].seed = mix(rows[row].seed, 3);
    }
    let (again, sharing, _) = write(create(folder.path(), "again", &schema, &options, &[&first]).await?, &groups, &rows).await?;
    let starts = |row: u64| row.is_multiple_of(150);
    let worst = worst_windows(again.storage().layout(0).await?.runs(), starts, Locality::default());
    print_figure(
        "1 % of the rows of a wide group changed at random: new bytes of all; the worst window",
        "3 %; +1 range, 150 %",
        &format!(
            "{:.2} %; +{} range, {} %",
            100.0 * sharing.new_bytes as f64 / bytes_below(&first, "chunks").await? as f64,
            worst.extra_ranges,
            worst.percent
        ),
    );
    Ok(())
}

/// Writes a table twenty times, each time with all rows.
async fn versions(seed: u64) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let groups = [("camera", 80_000), ("lidar", 20_000), ("labels", 1_000)];
    let (schema, options) = (schema(&groups)?, WriteOptions::default());
    let mut current = rows(30, 100, seed);
    let mut rng = fastrand::Rng::with_seed(seed);
    let (mut unique, mut stored_alone) = (current.len() as u64 * 101_000, 0);
    let (mut table, _, _) = write(create(folder.path(), "table", &schema, &options, &[]).await?, &groups, &current).await?;
    let mut worst = tetrys::write::Worst::default();
    stored_alone += current.len() as u64 * 101_000;
    for version in 1..20_u64 {
        let edited: Vec<usize> = rng.choose_multiple(0..current.len(), current.len() / 20);
        for row in edited {
            current[row].label = mix(current[row].label, version);
            unique += 1_000;
        }
        let (gone, more) = (current.len() / 100, current.len() / 50);
        let mut deleted = rng.choose_multiple(0..current.len(), gone);
        deleted.sort_unstable();
        for row in deleted.into_iter().rev() {
            current.remove(row);
        }
        let appended = rows(1, more as u32, mix(seed, version));
        current.extend(appended.into_iter().map(|row| Row { log: 1000 + version as u32, ..row }));
        unique += more as u64 * 101_000;
        stored_alone += current.len() as u64 * 101_000;
        let (next, sharing, _) = write(table.overwrite(schema.clone(), options.clone()).await?, &groups, &current).await?;
        worst = worst.or(sharing.worst);
        table = next;
    }
    let mut parts = Vec::new();
    for folder in ["chunks", "index", "layout", "hashes", "manifests"] {
        parts.push(format!("{folder} {}", bytes_below(&table, folder).await?));
    }
    let stored = bytes_below(&table, "").await?;
    print_figure(
        "twenty versions of 3,000 rows {camera 80 KB, lidar 20 KB, labels 1 KB}, each extracted whole, 5 % of labels edited, 2 % appended, \
         1 % deleted: all that is stored against the unique payload; the worst window",
        "1.15x; +1 range, 150 %",
        &format!(
            "{:.3}x ({stored} against {unique}; {}; without sharing {:.1}x); +{} range, {} %",
            stored as f64 / unique as f64,
            parts.join(", "),
            stored_alone as f64 / unique as f64,
            worst.extra_ranges,
            worst.percent
        ),
    );
    Ok(())
}

/// Writes twenty versions with rows inserted at random places: 1,000 rows of 60 KB in 20 logs.
async fn scattered(seed: u64) -> Outcome<()> {
    let groups = [("camera", 59_000), ("labels", 1_000)];
    let schema = schema(&groups)?;
    for (what, deleted, inserted) in [("1 % deleted, 2 % inserted", 1, 2), ("2 % inserted", 0, 2), ("1 % deleted", 1, 0)] {
        for (bound, locality) in [("the default bound", Locality::default()), ("no bound", Locality::NONE)] {
            let folder = tempfile::tempdir()?;
            let options = WriteOptions::default().locality(locality);
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut current = rows(20, 50, seed);
            let mut unique = current.len() as u64 * 60_000;
            let (mut again, mut worst) = (0, tetrys::write::Worst::default());
            let (mut table, _, _) =
                write(create(folder.path(), "table", &schema, &options, &[]).await?, &groups, &current).await?;
            for version in 1..20_u64 {
                for row in rng.choose_multiple(0..current.len(), current.len() / 20) {
                    current[row].label = mix(current[row].label, version);
                    unique += 1_000;
                }
                let count = current.len();
                for _ in 0..count * deleted / 100 {
                    current.remove(rng.usize(..current.len()));
                }
                for number in 0..count * inserted / 100 {
                    let (place, new) = (rng.usize(..current.len()), mix(mix(seed, version), number as u64));
                    current.insert(place, Row { seed: new, label: new, ..current[place].clone() });
                    unique += 60_000;
                }
                let (next, sharing, _) =
                    write(table.overwrite(schema.clone(), options.clone()).await?, &groups, &current).await?;
                again += sharing.stored_again_bytes;
                worst = worst.or(sharing.worst);
                table = next;
            }
            let stored = bytes_below(&table, "").await?;
            print_figure(
                &format!(
                    "twenty versions of 1,000 rows of 60 KB in 20 logs, 5 % of labels edited, {what} anywhere, {bound}: \
                     all that is stored against the unique payload"
                ),
                if locality == Locality::NONE { "1.2x" } else { "2.5x" },
                &format!(
                    "{:.3}x ({stored} against {unique}, {again} stored again); +{} range, {} %",
                    stored as f64 / unique as f64,
                    worst.extra_ranges,
                    worst.percent
                ),
            );
        }
    }
    Ok(())
}
