//! Goes on with an import that was interrupted: finds its session, and the logs that it has written.
//!
//! The plan of the session names the logs. The receipt of each finished log says what it was made of: the settings, and the sizes and
//! times of its files. Only a log of which all of this is still so is taken over, with its report; nothing of it is read again. Of an
//! import that had finished no log, only the session is taken over, so that it and its chunks do not stay: if a digest in its plan says
//! that its settings and files are these.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hasher},
    time::UNIX_EPOCH,
};

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use tetrys::{Error, ErrorKind, Receipt, Result, Store, Table, Ticket, WritePlan, extension::blocking, table::TableWriter};
use tokio::task::JoinSet;

use crate::{
    definitions::Definitions,
    input::Input,
    log::{LogSource, OpenOptions},
    report::LogReport,
    sqlite,
};

/// Tasks that look at the files of logs at a time.
const STAMPS: usize = 16;

/// The note in the receipt of a log.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Note {
    /// The settings of the import.
    settings: Json,
    /// The files of the log, before they were read.
    files: Vec<FileStamp>,
    report: LogReport,
}

/// Size and time of a file. If both are as before, the file is taken for the same.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct FileStamp {
    file: String,
    bytes: u64,
    /// Nanoseconds since 1970; `None` for objects of a store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    modified: Option<u64>,
}

/// A session that an interrupted import has left.
pub(crate) struct Resumed {
    pub(crate) plan: WritePlan,
    pub(crate) writer: TableWriter,
    /// The logs that it has written, by their numbers.
    pub(crate) done: BTreeMap<usize, (Receipt, LogReport)>,
}

impl Note {
    /// Returns the text of the note of a log.
    ///
    /// # Errors
    /// - `Internal`: never.
    pub(crate) fn text(settings: &Json, files: Vec<FileStamp>, report: &LogReport) -> Result<String> {
        let note = Self { settings: settings.clone(), files, report: report.clone() };
        serde_json::to_string(&note).map_err(|error| Error::internal(format!("the note of a log: {error}")))
    }
}

/// Returns the report in the receipt of a log; `None` if it is no receipt of a log.
pub(crate) fn report_of(receipt: &Receipt) -> Option<LogReport> {
    serde_json::from_str::<Note>(receipt.note.as_deref()?).ok().map(|note| note.report)
}

/// Returns what tells that the files of definitions in folders are still the same. Blocks.
///
/// # Errors
/// - `NotFound`: a folder is missing.
/// - Errors of the file system.
pub(crate) fn definition_stamps(folders: &[String]) -> Result<Vec<FileStamp>> {
    let definitions = Definitions::find(folders).map_err(|error| error.at("msgs"))?;
    definitions.paths().map(|path| stamp_of(&path.display().to_string(), &OpenOptions::default())).collect()
}

/// Returns what tells that the files of a log are still the same, without reading them. Blocks.
///
/// # Errors
/// - `NotFound`: a file is missing.
/// - Errors of the file system or the store.
pub(crate) fn stamps(source: &LogSource, options: &OpenOptions) -> Result<Vec<FileStamp>> {
    let mut stamps = Vec::new();
    for url in source.expanded(options.strict)?.files {
        stamps.push(stamp_of(&url, options)?);
        // A recorder that crashed leaves a write-ahead log beside its bag. Both are read.
        let log = format!("{url}-wal");
        if sqlite::is_bag(&url) && std::path::Path::new(&log).exists() {
            stamps.push(stamp_of(&log, options)?);
        }
    }
    Ok(stamps)
}

/// Returns a digest of the settings of an import and of the sizes and times of its files. The digests of two builds of this crate may
/// differ: then a session of the other build is not adopted.
///
/// # Errors
/// - `Unavailable`: the runtime shuts down.
pub(crate) async fn digest(logs: &[LogSource], options: &OpenOptions, settings: &Json) -> Result<String> {
    let failed = |error: &dyn std::fmt::Display| Error::internal(format!("a digest of logs: {error}"));
    let mut jobs = JoinSet::new();
    // A store takes a request for each file.
    for (number, some) in logs.chunks(logs.len().div_ceil(STAMPS).max(1)).enumerate() {
        let (some, options) = (some.to_vec(), options.clone());
        // A file that is missing has no stamps; reading it says why.
        let stamps_of_some = move || Ok(some.iter().map(|log| stamps(log, &options).ok()).collect::<Vec<_>>());
        jobs.spawn(async move { (number, blocking(stamps_of_some).await) });
    }
    let mut all = BTreeMap::new();
    while let Some(job) = jobs.join_next().await {
        let (number, stamps) = job.map_err(|error| failed(&error))?;
        all.insert(number, stamps?);
    }
    let text = serde_json::to_string(&(settings, all)).map_err(|error| failed(&error))?;
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    Ok(format!("{:016x}", hasher.finish()))
}

/// Returns the bytes of the files of a log. `None`: a write-ahead log is beside one, which later moves into it.
pub(crate) fn bytes(stamps: &[FileStamp]) -> Option<u64> {
    let is_moving = stamps.iter().any(|stamp| stamp.file.ends_with("-wal"));
    (!is_moving).then(|| stamps.iter().map(|stamp| stamp.bytes).sum())
}

fn stamp_of(url: &str, options: &OpenOptions) -> Result<FileStamp> {
    let input = Input::opened(url, &options.store)?;
    let since = |time: std::time::SystemTime| time.duration_since(UNIX_EPOCH).ok();
    let modified = input.local_path().and_then(|path| std::fs::metadata(path).ok()?.modified().ok());
    let modified = modified.and_then(since).map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    Ok(FileStamp { file: url.to_owned(), bytes: input.size(), modified })
}

/// Returns the session of an import of these logs with these settings, into a table that exists (`base`) or does not, if it has written
/// some of them; of several, the one that has written the most.
///
/// # Errors
/// - Errors of the store.
pub(crate) async fn find(
    store: &Store,
    base: Option<&Table>,
    logs: &[LogSource],
    options: &OpenOptions,
    settings: &Json,
) -> Result<Option<Resumed>> {
    let mut best: Option<Resumed> = None;
    for plan in plans(store, logs).await? {
        let Ok(writer) = TableWriter::join(store.clone(), plan.ticket()) else { continue };
        let is_alike = match base {
            Some(base) => writer.appends() && writer.schema() == base.schema(),
            None => !writer.appends() && !writer.overwrites(),
        };
        if !is_alike {
            continue;
        }
        let receipts = match writer.receipts().await {
            Err(error) if error.kind() == ErrorKind::Corrupt => continue,
            receipts => receipts?,
        };
        let done = done(receipts, logs, options, settings).await?;
        if done.len() > best.as_ref().map_or(0, |best| best.done.len()) {
            best = Some(Resumed { plan, writer, done });
        }
    }
    let Some(Resumed { plan, writer, done }) = best else { return Ok(None) };
    match writer.with_known_blocks().await {
        // A collection has deleted the version that the session began with.
        Err(error) if matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound) => Ok(None),
        writer => Ok(Some(Resumed { plan, writer: writer?, done })),
    }
}

/// Returns the plans of the sessions that import these logs and are not over.
async fn plans(store: &Store, logs: &[LogSource]) -> Result<Vec<WritePlan>> {
    let mut plans = match WritePlan::open_in(store).await {
        // A plan of somebody else that cannot be read is no reason to refuse an import.
        Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported) => Vec::new(),
        plans => plans?,
    };
    plans.retain(|plan| plan.labels().iter().eq(logs.iter().map(|log| &log.name)));
    Ok(plans)
}

/// Returns the session of an import of these logs that was interrupted before a log was written, if it would make the same table as
/// `fresh`, a session that has stored nothing: their tickets have the same properties, also the digest of settings and files. The process
/// of that import may still be at work: then both write all logs, and the first one commits.
///
/// # Errors
/// - Errors of the store.
pub(crate) async fn find_empty(store: &Store, logs: &[LogSource], fresh: &TableWriter) -> Result<Option<Resumed>> {
    let Some(wanted) = essence(&fresh.ticket()?) else { return Ok(None) };
    for plan in plans(store, logs).await? {
        if essence(plan.ticket()).as_ref() != Some(&wanted) {
            continue;
        }
        let Ok(writer) = TableWriter::join(store.clone(), plan.ticket()) else { continue };
        if (writer.appends(), writer.overwrites()) != (fresh.appends(), fresh.overwrites()) {
            continue;
        }
        match writer.receipts().await {
            Ok(receipts) if receipts.is_empty() => {}
            // It has written logs, with other settings or of files that have changed.
            Ok(_) => continue,
            Err(error) if error.kind() == ErrorKind::Corrupt => continue,
            Err(error) => return Err(error),
        }
        match writer.with_known_blocks().await {
            Err(error) if matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound) => {}
            writer => return Ok(Some(Resumed { plan, writer: writer?, done: BTreeMap::new() })),
        }
    }
    Ok(None)
}

/// Returns what a ticket says of the table that its session makes. `None`: it cannot be read.
fn essence(ticket: &Ticket) -> Option<(Json, Vec<Json>)> {
    let mut record: Json = serde_json::from_str(&ticket.to_json()).ok()?;
    let plan: Json = serde_json::from_str(record.get("plan")?.as_str()?).ok()?;
    // The memory depends on the number of workers, and the others on the time: a new table has a salt if something was there before.
    let other = ["tetrys_session", "plan", "write_memory", "append_to", "since", "salted", "partitions", "url"];
    other.iter().for_each(|key| drop(record.as_object_mut().and_then(|record| record.remove(*key))));
    let of_table = ["schema", "preset", "cuts", "properties", "stores"];
    Some((record, of_table.iter().map(|key| plan.get(*key).cloned().unwrap_or_default()).collect()))
}

/// Returns the receipts of the logs that would be written as they are again, with the reports in them.
async fn done(
    receipts: Vec<Receipt>,
    logs: &[LogSource],
    options: &OpenOptions,
    settings: &Json,
) -> Result<BTreeMap<usize, (Receipt, LogReport)>> {
    let mut noted = Vec::new();
    for receipt in receipts {
        let note = receipt.note.as_deref().and_then(|note| serde_json::from_str::<Note>(note).ok());
        let number = receipt.partition as usize;
        if let Some((note, log)) = note.filter(|note| note.settings == *settings).zip(logs.get(number)) {
            noted.push((number, receipt, note, log.clone()));
        }
    }
    let options = options.clone();
    blocking(move || {
        // A file that is missing is none that stayed the same; reading it says why.
        let is_same = |note: &Note, log: &LogSource| stamps(log, &options).is_ok_and(|files| files == note.files);
        let same = noted.into_iter().filter(|(_, _, note, log)| is_same(note, log));
        Ok(same.map(|(number, receipt, note, _)| (number, (receipt, note.report))).collect())
    })
    .await
}
