//! Describes a log topic by topic (types, rates, both clocks), and writes a recipe to start from.

use std::fmt::Write as _;

use serde::Serialize;
use tetrys::{Error, Result, extension::blocking};

use crate::{
    columns::columns,
    input::Cancel,
    log::{Log, LogSource, Message, OpenOptions, Place},
    recipe::{name_of, written},
    video::is_video,
};

/// Describes a log: its files, its topics and its time span.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogInfo {
    /// Its name.
    pub log: String,
    /// Its files.
    pub files: Vec<FileInfo>,
    /// Its messages.
    pub messages: u64,
    /// First and last log time, in nanoseconds since 1970.
    pub log_time: Option<(i64, i64)>,
    /// Its topics by name.
    pub topics: Vec<TopicReport>,
    /// Sentences about what is missing or damaged.
    pub warnings: Vec<String>,
}

/// Describes a file of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileInfo {
    /// Path or URL.
    pub file: String,
    /// Its bytes.
    pub bytes: u64,
    /// Its chunks.
    pub chunks: u32,
    /// Whether the index at its end is complete.
    pub indexed: bool,
    /// Chunks without a CRC. Damage in them is not found.
    pub chunks_without_crc: u64,
}

/// Describes a topic of a log: its type, its messages and its clocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TopicReport {
    /// Its name.
    pub topic: String,
    /// The type of its messages.
    pub schema: String,
    /// How they are encoded.
    pub encoding: String,
    /// Why they stay bytes, or cannot be used.
    pub problem: Option<String>,
    /// Number of messages.
    pub messages: u64,
    /// Bytes of all messages.
    pub bytes: u64,
    /// Messages a second, by log time.
    pub rate: Option<f64>,
    /// Longest time between two messages, by log time, in nanoseconds.
    pub longest_gap: Option<i64>,
    /// Smallest, median and largest log time - stamp, in nanoseconds.
    pub delay: Option<(i64, i64, i64)>,
    /// Messages without a stamp, or with 0.
    pub without_stamp: u64,
    /// Messages whose stamp is before that of the message before.
    pub steps_back: u64,
    /// Messages whose stamp is that of the message before.
    pub equal_stamps: u64,
    /// Messages whose log time is that of the message before.
    pub equal_log_times: u64,
    /// Messages with a publish time.
    pub with_publish_time: u64,
    /// Names and types of columns.
    pub columns: Vec<(String, String)>,
    /// The time that a recipe should use: `stamp` or `log`.
    pub time: String,
    /// Median time between two messages, in nanoseconds.
    pub period: Option<i64>,
    /// Time between two messages that 99 of 100 do not exceed, by log time, in nanoseconds.
    pub usual_gap: Option<i64>,
}

/// Times of the messages of a topic in the order of the files.
#[derive(Default)]
struct Seen {
    /// Log time and stamp.
    times: Vec<(i64, Option<i64>)>,
    bytes: u64,
    with_publish_time: u64,
    first: Option<bytes::Bytes>,
    fault: Option<String>,
}

/// Reads all messages of a log and returns what it has.
///
/// # Errors
/// - Those of [`Log::open`].
pub async fn info(source: &LogSource, options: &OpenOptions) -> Result<LogInfo> {
    let (source, options, cancel) = (source.clone(), options.clone(), Cancel::default());
    // Reading ends when the caller drops this future.
    let _guard = cancel.on_drop();
    blocking(move || of_log(Log::open_with(&source, &options, &cancel)?)).await
}

fn of_log(mut log: Log) -> Result<LogInfo> {
    let names: Vec<String> = log.topics.keys().cloned().collect();
    // A topic with messages of two types is counted, and not decoded.
    let usable: Vec<&str> = names.iter().map(String::as_str).filter(|name| log.topics[*name].conflict.is_none()).collect();
    let decoders: Vec<_> = usable.iter().map(|name| log.topics[*name].decoder.clone()).collect();
    let seen = std::sync::Mutex::new((0..usable.len()).map(|_| Seen::default()).collect::<Vec<_>>());
    let lock = || seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let visit = |topic: usize, _: Place, log_time: i64, message: Option<&Message>| {
        let message = message.ok_or_else(|| Error::internal("a message without its bytes"))?;
        let mut all = lock();
        let seen = &mut all[topic];
        let decoder = &decoders[topic];
        let stamp = if decoder.has_stamp() && seen.fault.is_none() { decoder.stamp(&message.data) } else { Ok(None) };
        let stamp = stamp.unwrap_or_else(|error| {
            seen.fault = Some(format!("message logged at {log_time}: {error}"));
            None
        });
        seen.times.push((log_time, stamp.filter(|stamp| *stamp != 0)));
        seen.bytes += message.data.len() as u64;
        seen.with_publish_time += u64::from(message.publish_time != 0);
        if seen.first.is_none() {
            seen.first = Some(message.data.clone());
        }
        Ok(())
    };
    let restart = || lock().iter_mut().for_each(|seen| *seen = Seen::default());
    log.visit(&usable, &vec![true; usable.len()], visit, restart)?;
    let mut seen: Vec<Option<Seen>> = seen.into_inner().unwrap_or_default().into_iter().map(Some).collect();
    let mut topics = Vec::new();
    for name in &names {
        let at = usable.iter().position(|usable| usable == name);
        topics.push(report(&log, name, at.and_then(|at| seen[at].take()).unwrap_or_default())?);
    }
    let times = topics_span(&topics);
    let files = log.files.iter().enumerate().map(|(number, file)| FileInfo {
        file: file.input().url().to_owned(),
        bytes: file.input().size(),
        chunks: file.statistics().chunks,
        indexed: file.is_indexed(),
        chunks_without_crc: file.unchecked_chunks().unwrap_or_else(|| log.unchecked_of(number)),
    });
    let messages = log.topics.values().map(|topic| topic.messages).sum();
    let (name, warnings) = (log.name().to_owned(), log.warnings());
    let files = files.collect();
    Ok(LogInfo {
        log: name,
        files,
        messages,
        log_time: times,
        topics: topics.into_iter().map(|(topic, _)| topic).collect(),
        warnings,
    })
}

fn topics_span(topics: &[(TopicReport, Option<(i64, i64)>)]) -> Option<(i64, i64)> {
    let spans = || topics.iter().filter_map(|(_, span)| *span);
    Some((spans().map(|(first, _)| first).min()?, spans().map(|(_, last)| last).max()?))
}

fn report(log: &Log, name: &str, seen: Seen) -> Result<(TopicReport, Option<(i64, i64)>)> {
    let topic = &log.topics[name];
    let mut report = TopicReport {
        topic: name.to_owned(),
        schema: topic.schema.clone(),
        encoding: topic.message_encoding.clone(),
        messages: topic.messages,
        bytes: seen.bytes,
        with_publish_time: seen.with_publish_time,
        ..TopicReport::default()
    };
    let problem = topic.conflict.clone().or(seen.fault).or_else(|| topic.decoder.reason().map(str::to_owned));
    let sample = seen.first.as_ref().map(|bytes| topic.decoder.decode(bytes)).transpose();
    let found = sample.and_then(|sample| columns(topic.decoder.ty(), sample.as_ref()));
    match found {
        Ok(columns) => report.columns = columns.into_iter().map(|column| (column.name, column.ty.to_string())).collect(),
        Err(error) => report.problem = Some(error.to_string()),
    }
    report.problem = problem.or(report.problem);
    let stamps: Vec<i64> = seen.times.iter().filter_map(|(_, stamp)| *stamp).collect();
    report.without_stamp = if topic.decoder.has_stamp() { (seen.times.len() - stamps.len()) as u64 } else { 0 };
    let pairs = |of: &dyn Fn(i64, i64) -> bool| stamps.windows(2).filter(|pair| of(pair[0], pair[1])).count() as u64;
    report.steps_back = pairs(&|one, other| other < one);
    report.equal_stamps = pairs(&|one, other| other == one);
    let mut logged: Vec<i64> = seen.times.iter().map(|(logged, _)| *logged).collect();
    logged.sort_unstable();
    report.equal_log_times = logged.windows(2).filter(|pair| pair[0] == pair[1]).count() as u64;
    let mut delays: Vec<i64> =
        seen.times.iter().filter_map(|(logged, stamp)| stamp.map(|stamp| logged.saturating_sub(stamp))).collect();
    delays.sort_unstable();
    if let (Some(first), Some(last)) = (delays.first(), delays.last()) {
        report.delay = Some((*first, delays[delays.len() / 2], *last));
    }
    let mut gaps: Vec<i64> = logged.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_unstable();
    report.longest_gap = gaps.last().copied();
    report.period = gaps.get(gaps.len() / 2).copied();
    report.usual_gap = gaps.get((gaps.len() * 99).div_ceil(100).saturating_sub(1)).copied();
    let span = logged.first().copied().zip(logged.last().copied());
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = |(first, last): (i64, i64)| (last > first).then(|| (logged.len() - 1) as f64 * 1e9 / (last - first) as f64);
    report.rate = span.and_then(rate);
    // Stamps are good if all are there, few step back, and they are of the same clock as the recorder's.
    let is_near = report.delay.is_some_and(|(_, median, _)| median.unsigned_abs() < 1_000_000_000);
    let is_good = !stamps.is_empty() && report.without_stamp == 0 && report.steps_back * 1000 <= stamps.len() as u64 && is_near;
    report.time = if is_good { "stamp" } else { "log" }.to_owned();
    Ok((report, span))
}

/// Returns a recipe to start from, as TOML. The clock is the topic with the most bytes; each other topic gives its last message.
///
/// # Errors
/// - `Invalid`: there is no topic with messages that can be decoded.
pub fn plan(infos: &[LogInfo]) -> Result<String> {
    // A topic must be in all logs.
    let first = infos.first().ok_or_else(|| Error::invalid("expected a log"))?;
    let in_all = |topic: &&TopicReport| {
        let same = |info: &LogInfo| {
            info.topics.iter().any(|other| other.topic == topic.topic && other.schema == topic.schema && other.messages > 0)
        };
        topic.problem.is_none() && infos.iter().all(same)
    };
    let topics: Vec<&TopicReport> = first.topics.iter().filter(in_all).collect();
    let clock = topics.iter().filter(|topic| topic.messages > 1).max_by_key(|topic| topic.bytes).or(topics.first());
    let clock = clock.ok_or_else(|| Error::invalid(format!("log {}: no topic with messages that can be decoded", first.log)))?;
    let mut text = format!(
        "# One row for each message of the clock. `nearest` and `linear` see messages after the row; they need future = true.\n\
         # `tetrys help recipe` has all keys and their meanings.\n\
         [clock]\ntopic = {}\nname = {}\ntime = \"{}\"\n",
        quoted(&clock.topic),
        quoted(&name_of(&clock.topic)),
        time_of(infos, clock)
    );
    let mut names = vec![name_of(&clock.topic)];
    for topic in topics.iter().filter(|topic| topic.topic != clock.topic) {
        let mut name = name_of(&topic.topic);
        while names.contains(&name) {
            name.push('_');
        }
        let tolerance = tolerance(infos, topic).map_or_else(|| "none".to_owned(), written);
        let hertz = topic.rate.map(|rate| format!(", {rate:.1} Hz")).unwrap_or_default();
        let video = match is_video(&topic.schema) {
            true => "# Encoded video: a decoder needs all frames. table = \"URL\" keeps them, in a table of their own.\n",
            false => "",
        };
        let _ = write!(
            text,
            "\n[[match]] # {}{hertz}\n{video}name = {}\ntopic = {}\ntime = \"{}\"\npolicy = \"last\"\ntolerance = \"{tolerance}\"\n",
            topic.schema.escape_default(),
            quoted(&name),
            quoted(&topic.topic),
            time_of(infos, topic),
        );
        names.push(name);
    }
    Ok(text)
}

/// Returns a tolerance that fits in all logs: twice the median time between two messages, or the time that 99 of 100 do not exceed if that
/// is more, as of messages in bursts. In whole milliseconds.
fn tolerance(infos: &[LogInfo], topic: &TopicReport) -> Option<i64> {
    let of = |info: &LogInfo| {
        let found = info.topics.iter().find(|other| other.topic == topic.topic)?;
        let twice = found.period?.saturating_mul(2).div_euclid(1_000_000);
        let usual = found.usual_gap.map_or(0, |gap| gap.div_euclid(1_000_000) + i64::from(gap % 1_000_000 != 0));
        Some(twice.max(usual).max(1).saturating_mul(1_000_000))
    };
    infos.iter().filter_map(of).max()
}

/// Returns the time that fits in all logs.
fn time_of(infos: &[LogInfo], topic: &TopicReport) -> &'static str {
    let of = |info: &LogInfo| info.topics.iter().any(|other| other.topic == topic.topic && other.time == "stamp");
    if infos.iter().all(of) { "stamp" } else { "log" }
}

fn quoted(text: &str) -> String {
    // Texts of TOML have the escapes of JSON.
    serde_json::Value::from(text).to_string()
}
