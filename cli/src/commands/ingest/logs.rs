//! `tetrys ingest logs`: makes synchronised rows of MCAP and ROS recordings.

use std::{
    io::Write,
    path::{Path, PathBuf},
    time::Instant,
};

use clap::Args;
use tetrys::{Error, ErrorKind, Table, extension::LocalFile};
use tetrys_logs::{IngestSettings, LogReport, LogSource, OpenOptions, Recipe, ingest};

use super::{Storing, json_of, say_warnings, table_text};
use crate::{
    commands::{
        logs::{is_log, time, warn},
        write_json,
    },
    failure::{Failure, Outcome, committed, say},
    numbers::whole,
    progress, text,
};

/// Maximum bytes of a recipe.
const MAX_RECIPE: u64 = 1 << 20;

#[derive(Args, Debug)]
#[command(
    after_help = "Makes one sequence of rows for each log: a row for each message of a topic, or at a rate. The recipe says which messages each row gets, and NAME.dt has the time difference of each. `tetrys logs plan` writes a recipe to start from, and `tetrys help recipe` has all keys.

If there is a table already, the logs that it lacks are added; its recipe must be the same. A log that fails is named, the others are committed, and the exit code is 1: the same command again imports what is missing. It also goes on with an import that was interrupted: logs that are written are not read again, unless their files have changed. A file that is cut or damaged gives what can be read, with a warning.

A log is known by its name. If the table has it from a file of another size, or with another --from or --to, it is named, its rows stay as they are, and the exit code is 1.

The summary has a line for each log and match: MATCHED and MISSING count rows with and without a message, REUSED how often a message was used again, SKIPPED messages that no row has, LATE those left out because they were late or had no stamp, and LARGEST DT is the largest time between a row and its message.

A match with `table = \"URL\"` has all messages of its topic in that table, such as the frames of encoded video. TABLE is then a view of the rows, which are in TABLE-rows, and of these tables.

Examples:
  tetrys ingest logs monday.mcap tuesday.mcap drives --recipe sync.toml
  tetrys ingest logs s3://bucket/monday.mcap drives --recipe sync.toml --strict
  tetrys ingest logs part_0.mcap part_1.mcap drive --join --recipe sync.toml --from 2026-05-01T12:00:00Z"
)]
pub(crate) struct Logs {
    /// The logs: paths or URLs of MCAP files, SQLite bags (.db3) or ROS 1 bags (.bag), or folders of rosbag2. The name of the file or folder is the name of the log
    #[arg(required = true, num_args = 1.., value_name = "LOG")]
    logs: Vec<String>,
    /// The table: a path or URL. A table that exists gets the logs that it lacks
    table: String,
    /// The recipe (TOML): the clock, and what each row gets
    #[arg(long, value_name = "FILE")]
    recipe: PathBuf,
    /// All files are one log, in this order
    #[arg(long)]
    join: bool,
    /// Leave out rows before this time: 2026-05-01T12:00:00Z, or nanoseconds since 1970
    #[arg(long, value_name = "TIME", value_parser = time)]
    from: Option<i64>,
    /// Leave out rows after this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    to: Option<i64>,
    /// Refuse files that are cut or damaged
    #[arg(long)]
    strict: bool,
    /// Folder of .msg or .idl files, such as /opt/ros/humble/share: types that a recording and the standard packages of ROS 2 lack. May be repeated
    #[arg(long, value_name = "DIR")]
    msgs: Vec<String>,
    #[command(flatten)]
    storing: Storing,
    /// Number of logs to import at once [default: TETRYS_THREADS, or the number of cores, at most 4]
    #[arg(long, value_name = "N", value_parser = whole(1..=u16::MAX))]
    workers: Option<u16>,
    /// Print no progress bar and no summary
    #[arg(long, short)]
    quiet: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Logs {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let started = Instant::now();
        if is_log(&self.table) && Path::new(&self.table).is_file() {
            return Err(Failure::Misuse(format!(
                "the last argument is the table, and {} is a log (a file): name the table behind the logs",
                text::printable(&self.table)
            )));
        }
        let text = LocalFile::text(&self.recipe, MAX_RECIPE)?;
        let recipe = Recipe::parse(&text).map_err(|error| error.at(self.recipe.display()))?;
        let sources = match self.join {
            true => vec![LogSource::joined(&self.logs)?],
            false => self.logs.iter().map(|url| LogSource::of(url)).collect::<Result<_, _>>()?,
        };
        let store = crate::opening::store(&self.table)?;
        let base = match Table::open_in(store.clone()).await {
            // The rows of a view are in a table of their own, which says how to store them.
            Ok(view) if view.is_view() => view.sources().await.ok().and_then(|sources| sources.first().cloned()),
            Ok(table) => Some(table),
            Err(error) if error.kind() == ErrorKind::NotFound && is_log(&self.table) => {
                return Err(Failure::Misuse(format!(
                    "the last argument is the table, and {} is the name of a log: name the table behind the logs",
                    text::printable(&self.table)
                )));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        let settings = IngestSettings {
            open: OpenOptions { strict: self.strict, store: crate::opening::options(), msgs: self.msgs },
            span: (self.from, self.to),
            write: self.storing.options(base.as_ref()),
            workers: self.workers.map_or(0, usize::from),
            tables: crate::opening::options(),
            ..IngestSettings::new(recipe)
        };
        let bar = progress::rows("ingest", 0, self.quiet);
        let moved = bar.clone();
        let ingested = ingest(&sources, store, &settings, move |rows| moved.set_position(rows)).await;
        bar.finish_and_clear();
        let ingested = ingested.map_err(Failure::Input)?;
        let table = &ingested.table;
        if !ingested.report.logs.is_empty() {
            committed(table.url(), table.version());
        }
        say_warnings(table);
        ingested.tables.iter().for_each(say_warnings);
        crate::opening::say_what_to_allow(table.url(), &table.must_allow().await);
        let report = &ingested.report;
        warn(report.logs.iter().flat_map(|log| &log.warnings).chain(&report.warnings), self.quiet);
        let (different, failed): (Vec<_>, Vec<_>) =
            ingested.failed.iter().partition(|(_, error)| error.kind() == ErrorKind::Exists);
        if self.json {
            let mut json = json_of(table);
            json["report"] = serde_json::to_value(&ingested.report).unwrap_or_default();
            let pairs = different.iter().map(|(name, error)| (name.clone(), serde_json::Value::from(error.to_string())));
            json["different"] = pairs.collect::<serde_json::Map<_, _>>().into();
            json["present"] = ingested.present.clone().into();
            json["resumed"] = ingested.resumed.clone().into();
            json["went_on"] = ingested.went_on.into();
            json["tables"] = ingested.tables.iter().map(json_of).collect();
            write_json(out, &json)?;
        } else if !self.quiet {
            let description = match ingested.tables.len() as u64 {
                0 => table_text(table),
                tables => {
                    format!("{}: {} of {}", table.url(), text::counted(table.rows(), "row"), text::counted(tables, "table"))
                }
            };
            writeln!(out, "{description} in {}", text::time(started.elapsed()))?;
            if !ingested.present.is_empty() {
                writeln!(out, "{} already there", text::counted(ingested.present.len() as u64, "log"))?;
            }
            if ingested.went_on && ingested.resumed.is_empty() {
                writeln!(out, "went on with the session of an earlier import")?;
            }
            if !ingested.resumed.is_empty() {
                let logs = text::counted(ingested.resumed.len() as u64, "log");
                writeln!(out, "{logs} written before this import was interrupted, not read again")?;
            }
            if !ingested.report.logs.is_empty() {
                write!(out, "{}", summary(&ingested.report.logs))?;
            }
        }
        for (name, error) in &different {
            say(format_args!("warning: log {}: {}", text::printable(name), text::printable(&error.to_string())));
        }
        for (name, error) in &failed {
            say(format_args!("error: log {}: {}", text::printable(name), text::printable(&error.to_string())));
        }
        match (failed.len() as u64, different.len() as u64) {
            (0, 0) => Ok(Outcome::Done),
            (0, different) => Err(Failure::Input(Error::exists(format!(
                "{} not imported: the table has rows of another file, or of other times, under the same name",
                if different == 1 { "1 log was".to_owned() } else { format!("{} were", text::counted(different, "log")) }
            )))),
            (failed, _) => Err(Failure::Input(Error::invalid(format!(
                "{} failed and {} not in the table; the same command again imports what is missing",
                text::counted(failed, "log"),
                if failed == 1 { "is" } else { "are" }
            )))),
        }
    }
}

/// One line for each log and match.
fn summary(logs: &[LogReport]) -> String {
    let headings = ["log", "match", "rows", "matched", "reused", "skipped", "missing", "late", "largest dt"];
    let mut rows = Vec::new();
    for log in logs {
        for found in &log.matches {
            let count = |number: u64| text::count(number);
            rows.push(vec![
                text::printable(&log.log),
                text::printable(&found.name),
                count(log.rows),
                count(found.matched),
                count(found.reused),
                count(found.skipped),
                count(found.missing),
                count(found.late + found.without_stamp),
                found.largest_dt.map_or_else(String::new, |ns| text::time(std::time::Duration::from_nanos(ns))),
            ]);
        }
    }
    let mut summary = text::table(&headings, &rows);
    for (log, found) in logs.iter().flat_map(|log| log.transforms.iter().map(move |found| (log, found))) {
        for (why, rows) in &found.missing {
            let (log, name) = (text::printable(&log.log), text::printable(&found.name));
            summary +=
                &format!("{log}: {} without the transform `{name}`: {}\n", text::counted(*rows, "row"), text::printable(why));
        }
    }
    summary
}
