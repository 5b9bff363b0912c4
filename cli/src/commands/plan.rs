//! `tetrys plan` and `tetrys throughput`: predicts and measures how fast a data loader reads a table.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use serde_json::json;
use tetrys::{
    Error, Offsets, Table,
    loader::{DataLoader, Forecast, Last, LoaderOptions, Shuffle},
};

use super::write_json;
use crate::{
    failure::{Failure, Outcome},
    numbers::{positive, whole},
    progress, text,
};

#[derive(Args, Debug)]
#[command(
    after_help = "Plans the batches that a data loader would read, from the index and the layout alone: no payload is read. Figures are means over plans from all over an epoch: a process sends `requests of a batch` times `batches of an epoch` in an epoch. The time counts the store alone: decoding comes on top, and the processor may be the limit. `tetrys throughput` measures.

Mixing: `neighbour distance` is the mean distance in the index of samples that follow each other, as a share of the index; `largest share` is the share of a step that comes from one sequence.

Examples:
  tetrys plan drives --batch 64 --columns 'camera.*'
  tetrys plan s3://bucket/drives --batch 64 --shuffle block --latency 30ms --bandwidth 500
  tetrys plan drives --batch 32 --columns 'camera.*' --offsets=-3..=0 --world-size 8 --json"
)]
pub(crate) struct Plan {
    #[command(flatten)]
    batches: Batches,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Reads batches as a data loader does, and throws them away. Prints what `tetrys plan` predicts beside what was measured. A local table that was read before may come from the page cache of the system.

A training loop that takes up to 0.8 of the samples per second that are measured here rarely waits for batches. --rate N takes the samples at the rate of your loop, and prints the share of the time that it waits, from its second batch on.

Examples:
  tetrys throughput drives --batch 64 --columns 'camera.*'
  tetrys throughput s3://bucket/drives --batch 64 --shuffle block --seconds 30
  tetrys throughput s3://bucket/drives --batch 64 --rate 800"
)]
pub(crate) struct Throughput {
    #[command(flatten)]
    batches: Batches,
    /// Stop after so many seconds, or at the end of an epoch
    #[arg(long, value_name = "S", default_value_t = 10.0, value_parser = positive)]
    seconds: f64,
    /// Take so many samples per second, as a training loop does, and print how long it waits [default: as many as there are]
    #[arg(long, value_name = "N", value_parser = positive)]
    rate: Option<f64>,
    /// Do not show a progress bar
    #[arg(long, short)]
    quiet: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The batches of a data loader, and the store that they are read from.
#[derive(Args, Debug)]
struct Batches {
    /// The table or view: a path or URL; TABLE@3 is version 3
    table: String,
    /// Samples of a batch, on each rank
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = whole(0..=u64::MAX))]
    batch: u64,
    /// Columns to read, as a pattern: `camera.*`, `*.jpeg`, or `re:..`. May be repeated [default: the columns of all column groups]
    #[arg(long, value_name = "PATTERN")]
    columns: Vec<String>,
    /// Read all columns as windows around each sample: `-10..=0`, `-50..=0/5` or `-20,-10,0`
    #[arg(long, value_name = "A..=B", allow_hyphen_values = true)]
    offsets: Option<Offsets>,
    /// Order of the samples: all mixed, blocks of neighbours mixed, whole sequences, or as in the index
    #[arg(long, default_value = "global", value_parser = PossibleValuesParser::new(["global", "block", "sequence", "none"]).map(|mode| shuffle(&mode)))]
    shuffle: Shuffle,
    /// Seed of the order
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole(0..=u64::MAX))]
    seed: u64,
    /// Number of processes that share an epoch; the figures are those of one
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(0..=u64::MAX))]
    world_size: u64,
    /// Bytes of decoded rows that are read ahead, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 512, value_parser = whole(0..=u64::MAX))]
    prefetch: u64,
    /// Time until the store begins to answer: `30ms`, `0.1ms` [default: 0.1ms for a local table, 30ms for others]
    #[arg(long, value_name = "T", allow_hyphen_values = true, value_parser = duration)]
    latency: Option<Duration>,
    /// MB that the store delivers in a second, over all requests [default: 2000 for a local table, 500 for others]
    #[arg(long, value_name = "MB/S", value_parser = positive)]
    bandwidth: Option<f64>,
}

fn shuffle(mode: &str) -> Shuffle {
    match mode {
        "block" => Shuffle::Block { rows: 0, window: 16 },
        "sequence" => Shuffle::Sequence,
        "none" => Shuffle::None,
        _ => Shuffle::Global,
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let scale = match &text[split..] {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return Err("expected a time with us, ms or s, as in 30ms".to_owned()),
    };
    let number: f64 = text[..split].trim().parse().map_err(|_| "expected a number with us, ms or s, as in 30ms".to_owned())?;
    let time = Duration::try_from_secs_f64(number * scale);
    time.map_err(|_| "expected a time that is neither negative nor too long".to_owned())
}

fn mib(bytes: f64) -> String {
    format!("{:.2} MiB", bytes / f64::from(1 << 20))
}

impl Batches {
    async fn open(&self) -> Result<(Table, DataLoader), Error> {
        let table = crate::opening::table(&self.table).await?;
        let mut rows = table.row_loader();
        if !self.columns.is_empty() {
            rows = rows.columns(&self.columns)?;
        }
        let mut options = LoaderOptions::new(self.batch).shuffle(self.shuffle).seed(self.seed).rank(0, self.world_size);
        options = options.last(Last::Pad).prefetch(self.prefetch.saturating_mul(1 << 20));
        if let Some(offsets) = &self.offsets {
            options = options.window("*", offsets)?;
        }
        let loader = DataLoader::new(rows, options).await?;
        Ok((table, loader))
    }

    /// Predicts what an epoch costs.
    async fn forecast(&self, table: &Table, loader: &DataLoader) -> Result<Forecast, Error> {
        let forecast = loader.forecast().await?;
        match (forecast.batches, forecast.bytes_of_batch > 0.0) {
            (0, _) => Err(Error::invalid(format!(
                "{}: an epoch has no batches: its samples do not fill one on each of the ranks",
                table.url()
            ))),
            (_, false) => Err(Error::invalid(format!(
                "{}: a data loader reads no bytes: expected a column of a column group, found columns of the index alone",
                table.url()
            ))),
            _ => Ok(forecast),
        }
    }

    /// The latency and the bytes per second of the store.
    fn store(&self, table: &Table) -> (Duration, f64) {
        let is_local = table.store().is_local();
        let latency = self.latency.unwrap_or(Duration::from_micros(if is_local { 100 } else { 30_000 }));
        (latency, self.bandwidth.unwrap_or(if is_local { 2000.0 } else { 500.0 }) * 1e6)
    }
}

impl Plan {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let (table, loader) = self.batches.open().await?;
        let (latency, bandwidth) = self.batches.store(&table);
        let forecast = self.batches.forecast(&table, &loader).await?;
        let rate = forecast.samples_per_second(latency, bandwidth);
        if self.json {
            let store = json!({"latency_s": latency.as_secs_f64(), "bytes_per_second": bandwidth});
            write_json(out, &json!({"plan": forecast, "store": store, "samples_per_second": rate}))?;
            return Ok(Outcome::Done);
        }
        write!(out, "{}", text::table(&["", ">"], &lines(&forecast)))?;
        writeln!(
            out,
            "\n{:.0} samples/s from a store of {:?} and {:.0} MB/s, without the time to decode",
            rate,
            latency,
            bandwidth / 1e6
        )?;
        Ok(Outcome::Done)
    }
}

fn lines(forecast: &Forecast) -> Vec<Vec<String>> {
    let quality = &forecast.quality;
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let cells = [
        ("samples of an epoch", text::count(forecast.samples)),
        ("batches of an epoch", text::count(forecast.batches)),
        ("requests of a batch", format!("{:.1}", forecast.requests_of_batch)),
        ("file reads of a batch", format!("{:.1}", forecast.file_reads_of_batch)),
        ("bytes of a batch", mib(forecast.bytes_of_batch)),
        ("  of which needed", mib(forecast.payload_of_batch)),
        ("  decoded, about", mib(forecast.decoded_of_batch as f64)),
        ("memory read ahead", mib(forecast.memory as f64)),
        ("neighbour distance", format!("{:.3} (perfect {:.3})", quality.neighbour_distance, quality.perfect_distance)),
        ("largest share", format!("{:.3} (perfect {:.3})", quality.largest_share, quality.perfect_share)),
    ];
    cells.into_iter().map(|(name, cell)| vec![name.to_owned(), cell]).collect()
}

impl Throughput {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let (table, mut loader) = self.batches.open().await?;
        let (latency, bandwidth) = self.batches.store(&table);
        let forecast = self.batches.forecast(&table, &loader).await?;
        let predicted = forecast.samples_per_second(latency, bandwidth);
        let bar = progress::rows("reading", forecast.batches.saturating_mul(self.batches.batch), self.quiet);
        let began = Instant::now();
        let mut first = None;
        while loader.stats().batches == 0 || began.elapsed().as_secs_f64() < self.seconds {
            let Some(batch) = loader.next().await? else { break };
            bar.inc(batch.positions.len() as u64);
            // The first batch is read while the loop waits.
            first.get_or_insert_with(|| loader.stats());
            if let Some(rate) = self.rate {
                #[expect(clippy::cast_precision_loss, reason = "a batch has fewer than 2^53 samples")]
                let work = (batch.positions.len() as f64 / rate).min(self.seconds - began.elapsed().as_secs_f64());
                tokio::time::sleep(Duration::try_from_secs_f64(work.max(0.0)).unwrap_or(Duration::MAX)).await;
            }
        }
        let took = began.elapsed().as_secs_f64();
        bar.finish_and_clear();
        let (stats, planned) = (loader.stats(), loader.planned_reads());
        if stats.batches == 0 {
            return Err(Error::invalid(format!(
                "{}: an epoch has no batches: its samples do not fill one on each of the ranks",
                table.url()
            ))
            .into());
        }
        #[expect(clippy::cast_precision_loss, reason = "figures for people")]
        let (samples, bytes, batches) = (stats.samples as f64, stats.bytes as f64, stats.batches as f64);
        #[expect(clippy::cast_precision_loss, reason = "figures for people")]
        let (requests, requested) = (stats.requests as f64, stats.requested_bytes as f64);
        // Without a rate, the loop does nothing but wait.
        let wait_share = self.rate.and(first).and_then(|first| {
            let mut steady = stats;
            steady.consumer_waited = stats.consumer_waited.saturating_sub(first.consumer_waited);
            steady.wait_share()
        });
        if self.json {
            let measured = json!({
                "seconds": took, "wait_share": wait_share, "batches": stats.batches, "samples": stats.samples, "decoded_bytes": stats.bytes,
                "requests": stats.requests, "requested_bytes": stats.requested_bytes, "planned_requests": planned.requests,
                "planned_bytes": planned.bytes, "samples_per_second": samples / took,
            });
            write_json(out, &json!({"plan": forecast, "predicted_samples_per_second": predicted, "measured": measured}))?;
            return Ok(Outcome::Done);
        }
        #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
        let decoded = forecast.decoded_of_batch as f64;
        let rows = [
            ("samples/s", format!("{predicted:.0}"), format!("{:.0}", samples / took)),
            ("requests of a batch", format!("{:.1}", forecast.requests_of_batch), format!("{:.1}", requests / batches)),
            ("bytes of a batch", mib(forecast.bytes_of_batch), mib(requested / batches)),
            ("decoded bytes of a batch", mib(decoded), mib(bytes / batches)),
            ("decoded MB/s", format!("{:.0}", predicted * bytes / samples / 1e6), format!("{:.0}", bytes / took / 1e6)),
        ];
        let rows: Vec<_> =
            rows.into_iter().map(|(name, predicted, measured)| vec![name.to_owned(), predicted, measured]).collect();
        write!(out, "{}", text::table(&["", ">predicted", ">measured"], &rows))?;
        let noun = if stats.batches == 1 { "batch" } else { "batches" };
        let batches = text::count(stats.batches);
        writeln!(out, "\n{batches} {noun} in {took:.1} s; batches that were read ahead count as requests")?;
        match (self.rate, wait_share) {
            (Some(rate), Some(share)) => {
                let share = 100.0 * share;
                writeln!(out, "a loop that takes {rate} samples/s waited {share:.1} % of its time, from the second batch on")?;
            }
            (Some(rate), None) => {
                writeln!(out, "a loop that takes {rate} samples/s had one batch only: there is no share to tell")?
            }
            (None, _) => {
                writeln!(out, "a loop that takes up to {:.0} samples/s should not wait: --rate shows it", 0.8 * samples / took)?
            }
        }
        Ok(Outcome::Done)
    }
}
