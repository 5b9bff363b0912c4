//! Imports logs as a table: one partition a log. A log that fails is named, and the others are committed.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use arrow_array::{Array, cast::AsArray};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use tetrys::{
    Error, ErrorKind, Result, Schema, Store, Table, WriteOptions,
    ingest::{Target, threads, writer},
    table::TableWriter,
};
use tokio::task::JoinSet;

use crate::{
    input::Cancel,
    layout::{self, LOG, Stream},
    log::{Log, LogSource, OpenOptions},
    recipe::Recipe,
    rows::{LogReport, Rows},
};

/// Property of the table: the recipe that its rows were made with.
pub const RECIPE: &str = "logs.recipe";
/// Attachment of the table: what became of all of its logs, as JSON. [`Ingested::report`] has those of one import.
pub const REPORT: &str = "logs.report.json";
/// Rows of a partition.
const MAX_ROWS: u64 = 4 << 20;

/// How to import logs.
#[derive(Clone, Debug)]
pub struct IngestSettings {
    /// Which messages become which rows.
    pub recipe: Recipe,
    /// How logs are opened.
    pub open: OpenOptions,
    /// First and last time of rows, in nanoseconds since 1970, inclusive.
    pub span: (Option<i64>, Option<i64>),
    /// How to store rows.
    pub write: WriteOptions,
    /// Number of logs imported at a time. 0 = `TETRYS_THREADS`, or the number of threads of the machine, at most 4.
    pub workers: usize,
    /// Tables whose chunks may be shared: blocks that they have are not stored again.
    pub references: Vec<Table>,
}

/// The result of an import.
#[derive(Debug)]
pub struct Ingested {
    /// The table.
    pub table: Table,
    /// The report of each log that this import added.
    pub report: Report,
    /// Logs that failed, and why. The table has nothing of them.
    pub failed: Vec<(String, Error)>,
    /// Logs that the table had already.
    pub present: Vec<String>,
}

/// Reports the import of several logs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct Report {
    /// Each log.
    pub logs: Vec<LogReport>,
    /// Logs that failed, and why.
    pub failed: BTreeMap<String, String>,
}

impl Report {
    /// Returns the report of a table to which logs were added.
    fn and(mut self, added: &Self) -> Self {
        let is_again = |log: &str| added.failed.contains_key(log) || added.logs.iter().any(|other| other.log == log);
        self.logs.retain(|log| !is_again(&log.log));
        self.failed.retain(|log, _| !is_again(log));
        self.logs.extend(added.logs.iter().cloned());
        self.failed.extend(added.failed.clone());
        self
    }
}

impl IngestSettings {
    /// Returns the settings of a recipe, with everything else as it is by default.
    pub fn new(recipe: Recipe) -> Self {
        let (open, write) = (OpenOptions::default(), WriteOptions::default());
        Self { recipe, open, span: (None, None), write, workers: 0, references: Vec::new() }
    }
}

/// Imports logs into the table in `store`, which may exist: then only logs are imported whose names it does not have. `progress`
/// receives the number of rows written so far.
///
/// # Errors
/// After an error there is no new table or version.
/// - `Invalid`: two logs have the same name; the table was made with another recipe, or no log at all could be imported: the
///   message is that of the first one.
/// - `NotFound`: a file or a topic is missing.
/// - `Corrupt`: with `strict`, a file is cut or damaged.
/// - Errors of the stores.
pub async fn ingest(
    sources: &[LogSource],
    store: Store,
    settings: &IngestSettings,
    progress: impl Fn(u64) + Send + Sync + 'static,
) -> Result<Ingested> {
    check_names(sources)?;
    // Work that blocks a thread ends when the caller drops this future, for example because of Ctrl-C.
    let cancel = Cancel::default();
    let _guard = cancel.on_drop();
    let recipe = settings.recipe.to_json()?;
    let base = match Table::open_in(store.clone()).await {
        Ok(table) => Some(table),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let (mut present, mut earlier) = (BTreeSet::new(), Report::default());
    if let Some(table) = &base {
        let own = table.properties().get(RECIPE);
        if own != Some(&recipe) {
            let which = if own.is_some() { "with another recipe" } else { "without a recipe" };
            return Err(Error::invalid(format!(
                "{}: the table was made {which}; logs are added with the recipe that it has",
                table.url()
            )));
        }
        earlier = report_of(table).await?;
        present = names_of(table).await?;
        // A log without rows was imported, too.
        present.extend(earlier.logs.iter().filter(|log| log.rows == 0).map(|log| log.log.clone()));
    }
    let (here, wanted): (Vec<&LogSource>, Vec<&LogSource>) = sources.iter().partition(|source| present.contains(&source.name));
    let present: Vec<String> = here.into_iter().map(|source| source.name.clone()).collect();
    if let (true, Some(table)) = (wanted.is_empty(), base.clone()) {
        return Ok(Ingested { table, report: Report::default(), failed: Vec::new(), present });
    }
    let wanted: Vec<LogSource> = wanted.into_iter().cloned().collect();
    let (schema, mut failed) = match &base {
        Some(table) => (table.schema().clone(), BTreeMap::new()),
        None => first_schema(&wanted, settings, &cancel).await?,
    };
    let target = if base.is_some() { Target::Append } else { Target::New };
    let writer = writer(store, base, schema, settings.write.clone(), target, &settings.references).await?;
    let writer = Arc::new(writer);
    let written = write(&writer, &wanted, settings, &mut failed, progress, &cancel).await?;
    let (mut receipts, mut logs) = (Vec::new(), Vec::new());
    for (receipt, report) in written {
        receipts.push(receipt);
        logs.push(report);
    }
    if receipts.is_empty() {
        let first = wanted.iter().find_map(|source| failed.remove(&source.name));
        return Err(first.unwrap_or_else(|| Error::invalid("expected logs, found none")));
    }
    let texts = failed.iter().map(|(name, error)| (name.clone(), error.to_string())).collect();
    let report = Report { logs, failed: texts };
    writer.set_property(RECIPE, recipe);
    writer.set_lineage("source", json!({"kind": "logs", "logs": report.logs.len(), "failed": report.failed.len()}));
    writer.set_lineage("matches", totals(&report));
    let text = serde_json::to_vec(&earlier.and(&report)).map_err(|error| Error::internal(format!("a report: {error}")))?;
    writer.attach(REPORT, text).await?;
    let table = writer.commit(receipts).await?;
    Ok(Ingested { table, report, failed: failed.into_iter().collect(), present })
}

/// Returns the report that a table has of its logs. A table whose attachment is no report has none: rows do not depend on it.
///
/// # Errors
/// - Errors of the store.
async fn report_of(table: &Table) -> Result<Report> {
    match table.attachment(REPORT).await {
        Ok(text) => Ok(serde_json::from_slice(&text).unwrap_or_default()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Report::default()),
        Err(error) => Err(error),
    }
}

/// Returns the sum of the reports of all logs, match by match.
fn totals(report: &Report) -> Json {
    let mut totals = serde_json::Map::new();
    for found in report.logs.iter().flat_map(|log| &log.matches) {
        let counts = [
            ("matched", found.matched),
            ("reused", found.reused),
            ("skipped", found.skipped),
            ("missing", found.missing),
            ("late", found.late + found.without_stamp),
        ];
        let total = totals.entry(found.name.clone()).or_insert_with(|| json!({"largest_dt": null}));
        for (key, count) in counts {
            let before = total.get(key).and_then(Json::as_u64).unwrap_or(0);
            total[key] = json!(before + count);
        }
        let largest = total["largest_dt"].as_u64().max(found.largest_dt);
        total["largest_dt"] = json!(largest);
    }
    totals.into()
}

fn check_names(sources: &[LogSource]) -> Result<()> {
    let mut seen = BTreeMap::new();
    for source in sources {
        if let Some(other) = seen.insert(&source.name, source.files.first()) {
            let (one, other) = (source.files.first(), other);
            let text = |file: Option<&String>| file.cloned().unwrap_or_default();
            return Err(Error::invalid(format!(
                "two logs are called `{}`: {} and {}; rename one, or make them one log (--join)",
                source.name,
                text(other),
                text(one)
            )));
        }
    }
    match sources.is_empty() {
        true => Err(Error::invalid("expected logs, found none")),
        false => Ok(()),
    }
}

/// Returns the names of the logs that a table has.
async fn names_of(table: &Table) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for batch in table.index_batches().await? {
        let batch = batch?;
        let Some(column) = batch.column_by_name(LOG) else { continue };
        let large = column.as_string_opt::<i64>().map(|texts| texts.iter().flatten().map(str::to_owned).collect::<Vec<_>>());
        let small = column.as_string_opt::<i32>().map(|texts| texts.iter().flatten().map(str::to_owned).collect::<Vec<_>>());
        let view = column.as_string_view_opt().map(|texts| texts.iter().flatten().map(str::to_owned).collect::<Vec<_>>());
        names.extend(
            large
                .or(small)
                .or(view)
                .ok_or_else(|| Error::internal(format!("the column `{LOG}` has the type {}", column.data_type())))?,
        );
    }
    Ok(names)
}

/// Returns the schema of the first messages of each topic, and the logs that cannot be read, as far as that takes: a log without
/// messages of a topic does not say what its pictures or points are.
async fn first_schema(
    sources: &[LogSource],
    settings: &IngestSettings,
    cancel: &Cancel,
) -> Result<(Schema, BTreeMap<String, Error>)> {
    let mut failed = BTreeMap::new();
    let mut all: Vec<Stream> = Vec::new();
    for source in sources {
        let (source, settings, cancel) = (source.clone(), settings.clone(), cancel.clone());
        let name = source.name.clone();
        let found = blocking(move || {
            let log = Log::open_with(&source, &settings.open, &cancel)?;
            Ok(Rows::new(log, &settings.recipe, settings.span, None)?.streams())
        });
        match found.await {
            Ok(found) if all.is_empty() => all = found,
            Ok(found) => all.iter_mut().zip(found).filter(|(known, _)| known.is_silent).for_each(|(known, found)| *known = found),
            Err(error) => drop(failed.insert(name, error)),
        }
        if !all.is_empty() && all.iter().all(|stream| !stream.is_silent) {
            break;
        }
    }
    if let Some((topic, why)) = all.iter().find_map(|stream| Some((&stream.topic, stream.unknown.as_ref()?))) {
        let first = sources.iter().find_map(|source| failed.get(&source.name));
        let failure = first.map(|error| format!("; a log could not be read: {error}")).unwrap_or_default();
        return Err(Error::invalid(format!(
            "topic {topic}: no log has a message that says which columns there are: {why}{failure}"
        )));
    }
    match all.is_empty() {
        false => Ok((layout::schema(&all)?, failed)),
        true => {
            let first = sources.iter().find_map(|source| failed.remove(&source.name));
            Err(first.unwrap_or_else(|| Error::invalid("expected logs, found none")))
        }
    }
}

type Written = Vec<(tetrys::Receipt, LogReport)>;

/// Writes one partition for each log. Puts those that fail into `failed`.
async fn write(
    writer: &Arc<TableWriter>,
    sources: &[LogSource],
    settings: &IngestSettings,
    failed: &mut BTreeMap<String, Error>,
    progress: impl Fn(u64) + Send + Sync + 'static,
    cancel: &Cancel,
) -> Result<Written> {
    let (next, done, progress) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicU64::new(0)), Arc::new(progress));
    let workers = match settings.workers {
        0 => threads().min(4),
        workers => workers,
    };
    // If the caller is dropped, the set ends the jobs.
    let mut jobs = JoinSet::new();
    for _ in 0..workers.min(sources.len()) {
        let (writer, next, done, progress) = (Arc::clone(writer), Arc::clone(&next), Arc::clone(&done), Arc::clone(&progress));
        let (sources, settings, cancel) = (sources.to_vec(), settings.clone(), cancel.clone());
        jobs.spawn(async move {
            let mut found = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(source) = sources.get(number) else { return found };
                let report = |rows| progress(done.fetch_add(rows, Ordering::Relaxed) + rows);
                let written = write_log(&writer, number, source, &settings, report, &cancel).await;
                found.push((number, written));
            }
        });
    }
    let mut all = Vec::new();
    while let Some(job) = jobs.join_next().await {
        all.extend(job.map_err(|error| Error::internal(format!("an ingest worker stopped: {error}")))?);
    }
    all.sort_by_key(|(number, _)| *number);
    let mut written = Vec::new();
    for (number, result) in all {
        match result {
            Ok(result) => {
                failed.remove(&sources[number].name);
                written.push(result);
            }
            Err(error) => {
                writer.abandon(u32::try_from(number).unwrap_or(u32::MAX));
                failed.insert(sources[number].name.clone(), error);
            }
        }
    }
    Ok(written)
}

async fn write_log(
    writer: &TableWriter,
    number: usize,
    source: &LogSource,
    settings: &IngestSettings,
    progress: impl Fn(u64),
    cancel: &Cancel,
) -> Result<(tetrys::Receipt, LogReport)> {
    let number = u32::try_from(number).map_err(|_| Error::invalid("over 2^32 logs"))?;
    let schema = writer.schema().clone();
    let (source, settings, cancel) = (source.clone(), settings.clone(), cancel.clone());
    let name = source.name.clone();
    let open = move |scanned: bool| {
        let mut log = Log::open_with(&source, &settings.open, &cancel)?;
        if scanned {
            log.scan()?;
        }
        let rows = Rows::new(log, &settings.recipe, settings.span, Some(&schema))?;
        check_types(&rows, &schema)?;
        match rows.ticks_left() > MAX_ROWS {
            true => Err(Error::invalid(format!("log {}: {} rows, at most {MAX_ROWS}", source.name, rows.ticks_left()))),
            false => Ok(rows),
        }
    };
    let first = open.clone();
    let mut rows = blocking(move || first(false)).await?;
    let mut partition = writer.partition_at(number)?.label(name.clone());
    let (mut written, mut counted) = (0, 0);
    loop {
        let (batch, rest) = blocking(move || Ok((rows.next().transpose(), rows))).await?;
        rows = rest;
        let batch = match batch {
            Ok(Some(batch)) => batch,
            Ok(None) => break,
            // The index led to damage. The whole log tells what is left, and its rows begin anew.
            Err(error) if error.kind() == ErrorKind::Corrupt && rows.is_indexed() => {
                let again = open.clone();
                rows = blocking(move || again(true)).await?;
                partition = writer.partition_at(number)?.label(name.clone());
                written = 0;
                continue;
            }
            Err(error) => return Err(error),
        };
        partition.write(&batch).await?;
        // Rows that are written again were counted before.
        written += batch.num_rows() as u64;
        progress(written.saturating_sub(counted).min(batch.num_rows() as u64));
        counted = counted.max(written);
    }
    Ok((partition.finish().await?, rows.report()))
}

/// Checks that the columns of a log are those of the table.
fn check_types(rows: &Rows, schema: &Schema) -> Result<()> {
    let streams = rows.streams();
    let mut found = BTreeSet::new();
    let name = rows.report().log;
    for stream in &streams {
        for (column, ty, ..) in stream.outputs() {
            let here = schema.column_named(&column).map(|column| column.ty.to_string());
            if here.as_ref() != Some(&ty.to_string()) {
                let here = here.unwrap_or_else(|| "no such column".to_owned());
                // Another definition of the type may be one that cannot be read.
                let topic = &stream.topic;
                let why = rows.problem_of(topic).map(|why| format!("; the messages of topic {topic} stay bytes: {why}"));
                return Err(Error::invalid(format!(
                    "log {name}: column `{column}`: found {ty}, the other logs of the table have {here}{}",
                    why.unwrap_or_default()
                )));
            }
            found.insert(column);
        }
    }
    let fixed = [LOG, layout::PART, layout::TIME];
    let lacking = schema.columns().iter().find(|column| !fixed.contains(&column.name.as_str()) && !found.contains(&column.name));
    match lacking {
        Some(column) => Err(Error::invalid(format!("log {name}: the column `{}` of the table is missing", column.name))),
        None => Ok(()),
    }
}

/// Runs work that blocks on a thread of its own.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(Error::unavailable("the runtime is shutting down")),
    }
}
