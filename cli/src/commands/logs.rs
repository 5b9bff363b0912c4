//! `tetrys logs`: shows what MCAP and ROS recordings have, and writes a recipe to import them with.

use std::{io::Write, time::Duration};

use clap::{Args, Subcommand};
use tetrys_logs::{LogInfo, LogSource, OpenOptions, info, parse_time, plan};

use crate::{
    commands::write_json,
    failure::{Failure, Outcome, say},
    text,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Logs {
    /// Show the topics of logs: types, rates, and how far their stamps are from the log time
    Info(Info),
    /// Write a recipe to start from, for `tetrys ingest logs`
    Plan(Plan),
}

#[derive(Args, Debug)]
#[command(
    after_help = "Reads all messages. DELAY is log time - stamp: the smallest, the median and the largest. BACK counts stamps that are before the one before, and EQUAL those that equal it. TIME is the time that a recipe should use: stamp, if all stamps are there, few step back and they are near the log time; else log. A topic whose messages stay bytes is named below the table, with the reason.

Examples:
  tetrys logs info monday.mcap
  tetrys logs info monday.mcap tuesday.mcap --json"
)]
pub(crate) struct Info {
    /// The logs: paths or URLs of MCAP files, SQLite bags (.db3) or ROS 1 bags (.bag), or folders of rosbag2
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<String>,
    /// Refuse files that are cut or damaged
    #[arg(long)]
    strict: bool,
    /// Folder of .msg or .idl files, such as /opt/ros/humble/share: types that a recording and the standard packages of ROS 2 lack. May be repeated
    #[arg(long, value_name = "DIR")]
    msgs: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
#[command(
    after_help = "The clock is the topic with the most bytes, and each other topic that all logs have gives its last message. Each topic gets its time: stamp, if all stamps are there, few step back and they are near the log time; else log. Of messages in bursts, the tolerance is the time between two messages that 99 of 100 do not exceed. Edit the recipe before you use it; `tetrys help recipe` has all keys.

Examples:
  tetrys logs plan monday.mcap
  tetrys logs plan monday.mcap tuesday.mcap > sync.toml"
)]
pub(crate) struct Plan {
    /// The logs: paths or URLs of MCAP files, SQLite bags (.db3) or ROS 1 bags (.bag), or folders of rosbag2
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<String>,
    /// Folder of .msg or .idl files, such as /opt/ros/humble/share: types that a recording and the standard packages of ROS 2 lack. May be repeated
    #[arg(long, value_name = "DIR")]
    msgs: Vec<String>,
    /// Print JSON: the recipe is the text `recipe`
    #[arg(long)]
    json: bool,
}

/// Parses a time: RFC 3339, or nanoseconds since 1970.
pub(crate) fn time(text: &str) -> Result<i64, String> {
    parse_time(text).ok_or_else(|| "expected a time such as 2026-05-01T12:00:00Z, or nanoseconds since 1970".to_owned())
}

/// Whether a path or URL ends as those of logs do.
pub(crate) fn is_log(url: &str) -> bool {
    let lower = url.to_ascii_lowercase();
    let name = lower.strip_suffix(".zstd").or_else(|| lower.strip_suffix(".zst")).unwrap_or(&lower);
    [".mcap", ".db3", ".bag", ".bag.active"].iter().any(|end| name.ends_with(end))
}

/// The end of a warning about chunks whose damage nobody finds. It is true of all logs of some recorders.
const UNCHECKED: &str = "without a CRC: damage in them cannot be detected";

/// Prints warnings about logs: one for all logs with chunks without a CRC, and none of these if `quiet`.
pub(crate) fn warn<'a>(warnings: impl IntoIterator<Item = &'a String>, quiet: bool) {
    let (unchecked, others): (Vec<_>, Vec<_>) = warnings.into_iter().partition(|warning| warning.ends_with(UNCHECKED));
    for warning in others {
        say(format_args!("warning: {}", text::printable(warning)));
    }
    match unchecked.as_slice() {
        _ if quiet => {}
        [] => {}
        [warning] => say(format_args!("warning: {}", text::printable(warning))),
        many => say(format_args!("warning: {} have chunks {UNCHECKED}", text::counted(many.len() as u64, "log"))),
    }
}

impl Logs {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        match self {
            Self::Info(command) => {
                let infos = read(&command.logs, command.strict, command.msgs).await?;
                if command.json {
                    write_json(out, &serde_json::to_value(&infos).unwrap_or_default())?;
                    return Ok(Outcome::Done);
                }
                for info in &infos {
                    show(info, out)?;
                }
                Ok(Outcome::Done)
            }
            Self::Plan(command) => {
                let infos = read(&command.logs, false, command.msgs).await?;
                let recipe = plan(&infos).map_err(Failure::Input)?;
                match command.json {
                    true => write_json(out, &serde_json::json!({"recipe": recipe}))?,
                    false => write!(out, "{recipe}")?,
                }
                Ok(Outcome::Done)
            }
        }
    }
}

async fn read(logs: &[String], strict: bool, msgs: Vec<String>) -> Result<Vec<LogInfo>, Failure> {
    let options = OpenOptions { strict, store: crate::opening::options(), msgs };
    let mut infos = Vec::new();
    for url in logs {
        let found = info(&LogSource::of(url)?, &options).await.map_err(Failure::Input)?;
        infos.push(found);
    }
    warn(infos.iter().flat_map(|info| &info.warnings), false);
    Ok(infos)
}

fn show(info: &LogInfo, out: &mut dyn Write) -> Result<(), Failure> {
    let bytes = info.files.iter().map(|file| file.bytes).sum();
    let length = info.log_time.map_or(0, |(first, last)| first.abs_diff(last));
    let length = text::time(Duration::from_nanos(length));
    let messages = text::counted(info.messages, "message");
    writeln!(out, "{}: {messages}, {length}, {}", text::printable(&info.log), text::bytes(bytes))?;
    for file in &info.files {
        let chunks = text::counted(u64::from(file.chunks), "chunk");
        let index = if file.indexed { "with an index" } else { "without a usable index: read from front to back" };
        let crc = match file.chunks_without_crc {
            0 => String::new(),
            without => format!(", {without} without a CRC"),
        };
        writeln!(out, "  {}: {chunks}, {index}{crc}", text::printable(&file.file))?;
    }
    let headings = ["topic", "type", "messages", "Hz", "bytes", "delay", "back", "equal", "time"];
    let ns = |ns: i64| format!("{}{}", if ns < 0 { "-" } else { "" }, text::time(Duration::from_nanos(ns.unsigned_abs())));
    let row = |topic: &tetrys_logs::TopicReport| {
        vec![
            text::printable(&topic.topic),
            text::printable(&topic.schema),
            text::count(topic.messages),
            topic.rate.map_or_else(String::new, |rate| format!("{rate:.1}")),
            text::bytes(topic.bytes),
            topic.delay.map_or_else(String::new, |(least, median, most)| format!("{} {} {}", ns(least), ns(median), ns(most))),
            text::count(topic.steps_back),
            text::count(topic.equal_stamps),
            topic.time.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = info.topics.iter().map(row).collect();
    write!(out, "{}", text::table(&headings, &rows))?;
    for topic in &info.topics {
        if let Some(problem) = &topic.problem {
            writeln!(out, "{}: {}", text::printable(&topic.topic), text::printable(problem))?;
        }
    }
    Ok(())
}
