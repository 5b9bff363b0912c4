//! `tetrys ingest petastorm`: creates a table from a Petastorm data set, or from a folder of Parquet files.

use std::{io::Write, time::Instant};

use clap::Args;
use tetrys_petastorm::{Dataset, IngestSettings, ingest, warnings};

use super::{Writing, frame::group, json_of, say_warnings, sharing_text, stored_bytes, table_text};
use crate::{
    commands::write_json,
    failure::{Failure, Outcome, committed, say},
    numbers::whole,
    progress, text,
};

#[derive(Args, Debug)]
#[command(
    after_help = "Makes one row for each row of the data set, in Petastorm's order, and one column for each field. The pickles in _common_metadata are read as data: nothing in them is imported or called. Column properties keep the schema, so that tetrys.petastorm.make_reader gives the same rows.

Without --index and --group, small scalars become the index, and each other field becomes a column group of its own. The index column petastorm.row_group has the row group of each row. A folder without a Petastorm schema is imported as `tetrys ingest parquet` imports its files.

Examples:
  tetrys ingest petastorm file:///data/hello_world hello
  tetrys ingest petastorm s3://bucket/drives drives --sequence-by log_id --order-by timestamp
  tetrys ingest petastorm hello_world pixels --decode --reference hello
  tetrys ingest petastorm hello_world --show"
)]
pub(crate) struct Petastorm {
    /// The data set: a path or URL (file://, s3://, gs://, az://, abfss://) of a folder of Parquet files, or of one file
    source: String,
    /// The new table: a path or URL without a table; with --append or --overwrite, an existing table
    #[arg(required_unless_present = "show")]
    table: Option<String>,
    /// Print schema, row groups and row-group indexes of the data set as JSON, and import nothing
    #[arg(long, conflicts_with = "table")]
    show: bool,
    /// Store the pixels of pictures (png, jpeg) instead of their files
    #[arg(long)]
    decode: bool,
    /// Index columns, as patterns: small columns that are held in memory and queried [default: each column of a small type that
    /// is in no --group]
    #[arg(long, value_name = "PATTERN,..", value_delimiter = ',')]
    index: Option<Vec<String>>,
    /// A column group and its columns, which are stored and read together: `camera=image,pose`. May be repeated [default: a group
    /// for each other field]
    #[arg(long, value_name = "NAME=PATTERN,..", value_parser = group)]
    group: Vec<(String, Vec<String>)>,
    /// Fields to leave out, as patterns
    #[arg(long, value_name = "PATTERN,..", value_delimiter = ',')]
    drop: Vec<String>,
    /// Columns whose equal values make a sequence, such as a log or a scene. The rows of a sequence must be consecutive
    #[arg(long, value_name = "COLUMN,..", value_delimiter = ',')]
    sequence_by: Vec<String>,
    /// Columns that order the rows of a sequence; their values must not decrease within it
    #[arg(long, value_name = "COLUMN,..", value_delimiter = ',')]
    order_by: Vec<String>,
    /// Minimum rows of a partition, which one worker writes; a partition ends where a row group or a sequence ends [default:
    /// 8192, or 32 to 256 MiB of Parquet]
    #[arg(long, value_name = "N", value_parser = whole(1..=u64::MAX))]
    partition_rows: Option<u64>,
    #[command(flatten)]
    writing: Writing,
}

impl Petastorm {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let started = Instant::now();
        let Some(url) = self.table.filter(|_| !self.show) else {
            let dataset = Dataset::open(&self.source).await.map_err(Failure::Input)?;
            write_json(out, &dataset.to_json().map_err(Failure::Input)?)?;
            return Ok(Outcome::Done);
        };
        let settings = IngestSettings {
            decode: self.decode,
            index: self.index,
            groups: self.group,
            drop: self.drop,
            sequence_by: self.sequence_by,
            order_by: self.order_by,
            options: self.writing.ingest(&url, self.partition_rows.unwrap_or(0)).await?,
        };
        let store = crate::opening::store(&url)?;
        let dataset = Dataset::open(&self.source).await.map_err(Failure::Input)?;
        let fields = warnings(&dataset, &settings).map_err(Failure::Input)?;
        for warning in dataset.warnings().iter().chain(&fields) {
            say(format_args!("warning: {}", text::printable(warning)));
        }
        let bar = progress::rows("ingest", dataset.rows_len(), self.writing.quiet);
        let moved = bar.clone();
        let table = ingest(&dataset, store, &settings, move |rows| moved.set_position(rows)).await;
        bar.finish_and_clear();
        let table = table.map_err(Failure::Input)?;
        committed(table.url(), table.version());
        crate::opening::say_what_to_allow(table.url(), &table.must_allow().await);
        // Warnings are also printed with --quiet and --json.
        say_warnings(&table);
        if self.writing.json {
            write_json(out, &json_of(&table))?;
            return Ok(Outcome::Done);
        }
        if self.writing.quiet {
            return Ok(Outcome::Done);
        }
        let stored = stored_bytes(&table);
        let given = dataset.stored_bytes();
        writeln!(out, "{} in {}", table_text(&table), text::time(started.elapsed()))?;
        writeln!(
            out,
            "input   {}\nstored  {}, {} of the input",
            text::bytes(given),
            text::bytes(stored),
            text::ratio(stored, given)
        )?;
        if let Some(shared) = sharing_text(&table) {
            writeln!(out, "{shared}")?;
        }
        Ok(Outcome::Done)
    }
}
