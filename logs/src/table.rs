//! Imports logs as a table: one partition a log. A log that fails is named, and the others are committed.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use arrow_array::{Array, cast::AsArray};
use serde_json::{Value as Json, json};
use tetrys::{
    Error, ErrorKind, Receipt, Result, Schema, Store, StoreOptions, Table, WriteOptions, WritePlan,
    extension::{blocking, threads, writer},
    ingest::{IngestOptions, Target},
    table::TableWriter,
};
use tokio::task::JoinSet;

use crate::{
    found::Found,
    input::{Cancel, CancelOnDrop},
    layout::{self, LOG, Stream},
    limits::{CACHE, MESSAGES, WRITE_MEMORY},
    log::{Log, LogSource, OpenOptions},
    recipe::{Recipe, difference},
    report::{LogReport, Report},
    resume::{self, FileStamp, Note, Resumed},
    rows::Rows,
    same, sparse, tf,
};

/// Property of the table: the recipe that its rows were made with.
pub const RECIPE: &str = "logs.recipe";
/// Attachment of the table: what became of all of its logs, as JSON. [`Ingested::report`] has those of one import.
pub const REPORT: &str = "logs.report.json";
/// Property of a session that has a plan: a digest of what its import is made of. The committed table does not have it.
const MADE_OF: &str = "logs.made_of";
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
    /// How to store rows. The writers of all logs at a time share at most 256 MiB, if [`WriteOptions::write_memory`] is not less.
    pub write: WriteOptions,
    /// Number of logs imported at a time. 0 = `TETRYS_THREADS`, or the number of threads of the machine, at most 4.
    pub workers: usize,
    /// Tables whose chunks may be shared: blocks that they have are not stored again.
    pub references: Vec<Table>,
    /// Options of the stores of the tables that the recipe names ([`Match::table`](crate::recipe::Match::table)).
    pub tables: StoreOptions,
    /// Bytes of memory for the times and the places of the messages of all logs at a time, 64 MiB by default. Beyond that, they lie in
    /// temporary files. Those of one topic may take as much once more.
    pub message_memory: usize,
}

/// The result of an import.
#[derive(Debug)]
pub struct Ingested {
    /// The table.
    pub table: Table,
    /// The report of each log that this import added.
    pub report: Report,
    /// Logs that failed, and why. The table has nothing of them, or (`Exists`) rows of another file, or of other times.
    pub failed: Vec<(String, Error)>,
    /// Logs that the table had already.
    pub present: Vec<String>,
    /// Logs that an import before this one had written when it was interrupted. They were not read again.
    pub resumed: Vec<String>,
    /// Whether this import went on with the session of one that was interrupted, also before that had written a log.
    pub went_on: bool,
    /// If `table` is a view, because matches have tables of their own: these tables in the order of the recipe, and last that of the rows.
    pub tables: Vec<Table>,
}

impl Ingested {
    pub(crate) fn of(table: Table, report: Report) -> Self {
        let (failed, present, resumed, went_on, tables) = Default::default();
        Self { table, report, failed, present, resumed, went_on, tables }
    }
}

impl IngestSettings {
    /// Returns the settings of a recipe, with everything else as it is by default.
    pub fn new(recipe: Recipe) -> Self {
        let (open, write) = (OpenOptions::default(), WriteOptions::default());
        let (span, workers, references, tables) = ((None, None), 0, Vec::new(), StoreOptions::from_env());
        Self { recipe, open, span, write, workers, references, tables, message_memory: MESSAGES }
    }
}

/// Imports logs into the table in `store`. All of an import but tables of matches: see [`crate::ingest`]. `is_part` says that other
/// tables follow: then a table that exists stays as it is if none of the logs can be imported, and that is no error.
///
/// # Errors
/// Those of [`crate::ingest`].
pub(crate) async fn ingest(
    sources: &[LogSource],
    store: Store,
    settings: &IngestSettings,
    is_part: bool,
    progress: impl Fn(u64) + Send + Sync + 'static,
) -> Result<Ingested> {
    let (work, _guard) = Work::of(settings).await?;
    let (import, done, mut failed) = match begin(sources, store, &work, is_part, true).await? {
        Begun::Present(ingested) => return Ok(ingested),
        Begun::Import(import, done, failed) => (*import, done, failed),
    };
    let resumed: Vec<String> = done.keys().filter_map(|number| import.sources.get(*number)).map(|log| log.name.clone()).collect();
    let (import, written) = write(import, work, done, &mut failed, progress).await?;
    finish(import, written, failed, resumed).await
}

/// An import that has begun.
pub(crate) enum Begun {
    /// The table has all of the logs.
    Present(Ingested),
    /// Logs that are not in the table, those that are written already, and those that cannot be read as far as that is known.
    Import(Box<Import>, Written, BTreeMap<String, Error>),
}

/// Finds out which logs the table lacks, and the session in which they are written: a new one, or that of the same import if it was
/// interrupted. `is_part` is that of [`ingest`]. Only with `adopts`, that may be a session in which no log is written: the process that
/// began it may still be at work, so the caller must not abort it.
///
/// # Errors
/// Those of [`crate::ingest`].
pub(crate) async fn begin(sources: &[LogSource], store: Store, work: &Work, is_part: bool, adopts: bool) -> Result<Begun> {
    check_names(sources)?;
    let Work { settings, identity, cancel } = work;
    let recipe = settings.recipe.to_json()?;
    let Before { base, earlier, present } = before(&store, &recipe).await?;
    let (here, wanted): (Vec<&LogSource>, Vec<&LogSource>) = sources.iter().partition(|source| present.contains(&source.name));
    let here: Vec<LogSource> = here.into_iter().cloned().collect();
    let different = same::different(&here, &earlier, settings.span, &settings.open).await;
    let present: Vec<String> = here.into_iter().map(|log| log.name).filter(|name| !different.contains_key(name)).collect();
    if let (true, Some(table)) = (wanted.is_empty(), base.clone()) {
        let failed = different.into_iter().collect();
        return Ok(Begun::Present(Ingested { present, failed, ..Ingested::of(table, Report::default()) }));
    }
    let wanted: Vec<LogSource> = wanted.into_iter().cloned().collect();
    let kept = base.clone().filter(|_| is_part);
    let found = resume::find(&store, base.as_ref(), &wanted, &settings.open, identity).await?;
    let (Resumed { plan, mut writer, done }, prepared, failed, went_on) = match found {
        Some(found) => (found, None, BTreeMap::new(), true),
        None => {
            // Before the files are read: if they change meanwhile, another import is not taken for this one.
            let digest = match adopts {
                true => Some(resume::digest(&wanted, &settings.open, identity).await?),
                false => None,
            };
            let New { writer, prepared, failed } = new(store.clone(), base, &wanted, settings, &recipe, cancel).await?;
            let found = match digest {
                Some(digest) => {
                    writer.set_property(MADE_OF, digest);
                    resume::find_empty(&store, &wanted, &writer).await?
                }
                None => None,
            };
            match found {
                Some(found) => (found, prepared, failed, true),
                None => (planned(writer, &wanted).await?, prepared, failed, false),
            }
        }
    };
    // The ticket has the share of the process that began the session, which may have had another number of workers.
    writer.set_write_memory(write_memory(settings, wanted.len().saturating_sub(done.len())));
    let prepared = Mutex::new(prepared);
    let import = Import { store, plan, writer, sources: wanted, recipe, earlier, present, different, kept, prepared, went_on };
    Ok(Begun::Import(Box::new(import), done, failed))
}

/// The state of a table before an import.
pub(crate) struct Before {
    /// The table, if there is one.
    pub(crate) base: Option<Table>,
    /// The report of its logs.
    pub(crate) earlier: Report,
    /// The names of its logs.
    pub(crate) present: BTreeSet<String>,
}

/// Opens the table that gets the logs, if it is there.
///
/// # Errors
/// - `Invalid`: it was made with another recipe.
/// - Errors of the store.
pub(crate) async fn before(store: &Store, recipe: &Json) -> Result<Before> {
    let base = match Table::open_in(store.clone()).await {
        Ok(table) => Some(table),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let (mut present, mut earlier) = (BTreeSet::new(), Report::default());
    if let Some(table) = &base {
        check_recipe(table, recipe)?;
        earlier = report_of(table).await?;
        present = names_of(table).await?;
        // A log without rows was imported, too.
        present.extend(earlier.logs.iter().filter(|log| log.rows == 0).map(|log| log.log.clone()));
    }
    Ok(Before { base, earlier, present })
}

/// Checks that a table was made with this recipe.
///
/// # Errors
/// - `Invalid`: it was made with another one, or with none.
pub(crate) fn check_recipe(table: &Table, recipe: &Json) -> Result<()> {
    let own = table.properties().get(RECIPE);
    if own == Some(recipe) {
        return Ok(());
    }
    let url = table.url();
    let Some(own) = own else {
        return Err(Error::invalid(format!(
            "{url}: the table was made without a recipe; logs are added with the recipe that a table has: name another table"
        )));
    };
    let differing = difference(recipe, own).unwrap_or_default();
    Err(Error::invalid(format!(
        "{url}: the table was made with another recipe: {differing}. Logs are added with the recipe that it has, which is the property \
         {RECIPE} in `tetrys info {url} --json`; or name another table"
    )))
}

/// Commits the logs that are written. The others, which have failed, are in no version.
///
/// # Errors
/// Those of [`crate::ingest`].
pub(crate) async fn finish(
    import: Import,
    written: Written,
    mut failed: BTreeMap<String, Error>,
    resumed: Vec<String>,
) -> Result<Ingested> {
    let Import { store, plan, writer, sources, recipe, earlier, present, different, kept, went_on, .. } = import;
    if written.is_empty() {
        // Nothing was written, so there is nothing to go on with. A failure leaves files that a collection deletes. But the process that
        // began a session before this import may still be at work in it.
        if !went_on {
            let _ = plan.abort(&store).await;
        }
        if let Some(table) = kept {
            let texts = failed.iter().map(|(name, error)| (name.clone(), error.to_string())).collect();
            let report = Report { failed: texts, ..Report::default() };
            let failed = failed.into_iter().chain(different).collect();
            return Ok(Ingested { failed, present, resumed, went_on, ..Ingested::of(table, report) });
        }
        let first = sources.iter().find_map(|source| failed.remove(&source.name));
        return Err(first.unwrap_or_else(|| Error::invalid("expected logs, found none")));
    }
    let (receipts, logs): (Vec<_>, Vec<_>) = written.into_values().unzip();
    let texts = failed.iter().map(|(name, error)| (name.clone(), error.to_string())).collect();
    let mut report = Report { logs, failed: texts, warnings: Vec::new() };
    writer.set_property(RECIPE, recipe);
    writer.remove_property(MADE_OF);
    for (key, value) in report.lineage() {
        writer.set_lineage(key, value);
    }
    let text = serde_json::to_vec(&earlier.and(&report)).map_err(|error| Error::internal(format!("a report: {error}")))?;
    writer.attach(REPORT, text.clone()).await?;
    let table = match writer.commit(receipts).await {
        // The session cannot be committed any more, so the same import must not find it again.
        Err(error) if error.kind() == ErrorKind::Conflict => {
            let _ = plan.abort(&store).await;
            return Err(error);
        }
        table => table?,
    };
    // Another process may have committed the session before.
    if table.attachment(REPORT).await.is_ok_and(|there| there != text) {
        leave_out(&table, &mut report, &mut failed).await?;
    }
    let failed = failed.into_iter().chain(different).collect();
    Ok(Ingested { failed, present, resumed, went_on, ..Ingested::of(table, report) })
}

/// Returns all settings that rows depend on, with the sizes and times of the files of definitions.
async fn identity(settings: &IngestSettings) -> Result<Json> {
    let msgs = settings.open.msgs.clone();
    let msgs = blocking(move || resume::definition_stamps(&msgs)).await?;
    let references: Vec<(&str, u64)> = settings.references.iter().map(|table| (table.url(), table.version())).collect();
    let IngestSettings { open: OpenOptions { strict, .. }, span, write, .. } = settings;
    let recipe = settings.recipe.to_json()?;
    Ok(json!({"recipe": recipe, "span": span, "strict": strict, "msgs": msgs, "write": write, "references": references}))
}

/// A session that has stored nothing.
struct New {
    writer: TableWriter,
    /// The first log that can be read, with its number.
    prepared: Option<(usize, Prepared)>,
    /// The logs that cannot be read, as far as the schema takes it.
    failed: BTreeMap<String, Error>,
}

/// Makes the writer of a session.
async fn new(
    store: Store,
    base: Option<Table>,
    wanted: &[LogSource],
    settings: &IngestSettings,
    recipe: &Json,
    cancel: &Cancel,
) -> Result<New> {
    let (schema, failed, prepared) = match &base {
        Some(table) => (table.schema().clone(), BTreeMap::new(), None),
        None => first_schema(wanted, settings, cancel).await?,
    };
    let target = if base.is_some() { Target::Append } else { Target::New };
    let memory = write_memory(settings, wanted.len());
    // A message may serve several rows.
    let write = settings.write.clone().share_repeats(true).write_memory(memory);
    let options = IngestOptions { write, references: settings.references.clone(), target, ..IngestOptions::default() };
    let writer = writer(store, base, schema, &options).await?;
    writer.set_property(RECIPE, recipe.clone());
    Ok(New { writer, prepared, failed })
}

/// Stores the plan of a session, so that the same import finds it if this one is interrupted.
async fn planned(writer: TableWriter, wanted: &[LogSource]) -> Result<Resumed> {
    let partitions = u32::try_from(wanted.len()).map_err(|_| Error::invalid("over 2^32 logs"))?;
    let plan = writer.plan(Some(partitions), wanted.iter().map(|source| source.name.clone()).collect()).await?;
    Ok(Resumed { plan, writer, done: BTreeMap::new() })
}

/// Returns how many of some logs are imported at a time, at least 1.
fn at_a_time(settings: &IngestSettings, logs: usize) -> usize {
    let workers = match settings.workers {
        0 => threads().min(4),
        workers => workers,
    };
    workers.min(logs).max(1)
}

/// Returns the bytes of memory of the writer of each log, if so many logs are to be written.
fn write_memory(settings: &IngestSettings, logs: usize) -> usize {
    settings.write.write_memory.min(WRITE_MEMORY) / at_a_time(settings, logs)
}

/// Moves logs of which the table does not have these rows from the report to the failed ones: another process was doing the same import,
/// and has committed it without them.
async fn leave_out(table: &Table, report: &mut Report, failed: &mut BTreeMap<String, Error>) -> Result<()> {
    let (there, reports) = (names_of(table).await?, report_of(table).await?.logs);
    for own in std::mem::take(&mut report.logs) {
        let why = match reports.iter().find(|other| other.log == own.log) {
            Some(other) if !other.is_of_same_rows(&own) => {
                "another process was importing the same logs with other times or settings, and has committed its rows of this log"
            }
            None if !there.contains(&own.log) => {
                "another process was doing the same import, and has committed it without this log; the same import again adds it"
            }
            _ => {
                report.logs.push(own);
                continue;
            }
        };
        let LogReport { log, .. } = own;
        report.failed.insert(log.clone(), why.to_owned());
        failed.insert(log, Error::conflict(why));
    }
    Ok(())
}

/// Returns the report that a table has of its logs. A table whose attachment is no report has none: rows do not depend on it.
///
/// # Errors
/// - Errors of the store.
pub(crate) async fn report_of(table: &Table) -> Result<Report> {
    match table.attachment(REPORT).await {
        Ok(text) => Ok(serde_json::from_slice(&text).unwrap_or_default()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Report::default()),
        Err(error) => Err(error),
    }
}

pub(crate) fn check_names(sources: &[LogSource]) -> Result<()> {
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

/// Returns the names of the logs that a table has, also of those without rows.
pub(crate) async fn logs_of(table: &Table) -> Result<BTreeSet<String>> {
    let mut names = names_of(table).await?;
    names.extend(report_of(table).await?.logs.into_iter().filter(|log| log.rows == 0).map(|log| log.log));
    Ok(names)
}

/// Returns the names of the logs that have rows in a table.
pub(crate) async fn names_of(table: &Table) -> Result<BTreeSet<String>> {
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

/// A log whose messages were found for the schema of the table, so that its import does not look for them again.
pub(crate) struct Prepared {
    /// Those of its files, before they were read.
    stamps: Vec<FileStamp>,
    found: Found,
}

/// Returns the schema of the first messages of each topic, the logs that cannot be read, and the first one that can, as far as that takes:
/// a log without messages of a topic does not say what its pictures or points are.
async fn first_schema(
    sources: &[LogSource],
    settings: &IngestSettings,
    cancel: &Cancel,
) -> Result<(Schema, BTreeMap<String, Error>, Option<(usize, Prepared)>)> {
    let (mut failed, mut first) = (BTreeMap::new(), None);
    let mut all: Vec<Stream> = Vec::new();
    // The log that is kept has the share of a worker from the start: the other workers have theirs.
    let workers = at_a_time(settings, sources.len());
    let (memory, cache) = (settings.message_memory / workers, CACHE / workers);
    for (number, source) in sources.iter().enumerate() {
        let (source, settings, cancel) = (source.clone(), settings.clone(), cancel.clone());
        let name = source.name.clone();
        let prepared = blocking(move || {
            let stamps = resume::stamps(&source, &settings.open)?;
            let mut log = Log::open_with(&source, &settings.open, &cancel)?;
            log.bound_cache(cache);
            let found = Found::of(log, &settings.recipe, memory)?.with_columns(&settings.recipe, None)?;
            found.ticks(&settings.recipe, settings.span.1)?;
            Ok(Prepared { stamps, found })
        });
        match prepared.await {
            Ok(prepared) => {
                let found = prepared.found.streams.clone();
                match all.is_empty() {
                    true => all = found,
                    false => {
                        all.iter_mut().zip(found).filter(|(known, _)| known.is_silent).for_each(|(known, found)| *known = found)
                    }
                }
                first.get_or_insert((number, prepared));
            }
            Err(error) => drop(failed.insert(name, error)),
        }
        if !all.is_empty() && all.iter().all(|stream| !stream.is_silent) {
            break;
        }
    }
    if let Some((topic, why)) = all.iter().find_map(|stream| Some((&stream.topic, stream.unknown.as_ref()?))) {
        let failure = sources.iter().find_map(|source| failed.get(&source.name));
        let failure = failure.map(|error| format!("; a log could not be read: {error}")).unwrap_or_default();
        return Err(Error::invalid(format!(
            "topic {topic}: no log has a message that says which columns there are: {why}{failure}"
        )));
    }
    match all.is_empty() {
        false => Ok((layout::schema(&all, &settings.recipe)?, failed, first)),
        true => {
            let first = sources.iter().find_map(|source| failed.remove(&source.name));
            Err(first.unwrap_or_else(|| Error::invalid("expected logs, found none")))
        }
    }
}

/// The settings with which each log of an import is written.
#[derive(Clone)]
pub(crate) struct Work {
    pub(crate) settings: IngestSettings,
    /// All settings that rows depend on.
    pub(crate) identity: Json,
    pub(crate) cancel: Cancel,
}

impl Work {
    /// Returns the work of an import, and what ends it when it is dropped, for example because of Ctrl-C.
    ///
    /// # Errors
    /// - `NotFound`: a folder of definitions is missing.
    /// - `Invalid`: the first time of rows is behind the last.
    pub(crate) async fn of(settings: &IngestSettings) -> Result<(Self, CancelOnDrop)> {
        same::check_span(settings.span)?;
        // Work that blocks a thread ends when the caller drops its future.
        let cancel = Cancel::default();
        let guard = cancel.on_drop();
        Ok((Self { settings: settings.clone(), identity: identity(settings).await?, cancel }, guard))
    }
}

/// An import into a table.
pub(crate) struct Import {
    pub(crate) store: Store,
    pub(crate) plan: WritePlan,
    pub(crate) writer: TableWriter,
    /// The logs that the table lacks.
    pub(crate) sources: Vec<LogSource>,
    pub(crate) recipe: Json,
    /// The report of the table before.
    pub(crate) earlier: Report,
    /// The logs that the table has.
    pub(crate) present: Vec<String>,
    /// The logs that the table has from another file or with other times, and an error for each.
    pub(crate) different: BTreeMap<String, Error>,
    /// The table that is the result if no log can be imported. `None`: that is an error.
    pub(crate) kept: Option<Table>,
    /// A log whose messages are found already, by its number.
    pub(crate) prepared: Mutex<Option<(usize, Prepared)>>,
    /// Whether the session is that of an import that was interrupted.
    pub(crate) went_on: bool,
}

impl Import {
    fn take_prepared(&self, number: usize) -> Option<Prepared> {
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        prepared.take_if(|(of, _)| *of == number).map(|(_, prepared)| prepared)
    }
}

/// The receipt and the report of each log that is written, by its number.
pub(crate) type Written = BTreeMap<usize, (Receipt, LogReport)>;

/// Writes one partition for each log that is not done. Puts those that fail into `failed`. Returns all that are written.
async fn write(
    import: Import,
    mut work: Work,
    mut done: Written,
    failed: &mut BTreeMap<String, Error>,
    progress: impl Fn(u64) + Send + Sync + 'static,
) -> Result<(Import, Written)> {
    let todo: Vec<usize> = (0..import.sources.len()).filter(|number| !done.contains_key(number)).collect();
    let rows: u64 = done.values().map(|(_, report)| report.rows).sum();
    if rows > 0 {
        progress(rows);
    }
    let workers = at_a_time(&work.settings, todo.len());
    work.settings.workers = workers;
    work.settings.message_memory /= workers;
    let (import, work, todo) = (Arc::new(import), Arc::new(work), Arc::new(todo));
    let (next, rows, progress) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicU64::new(rows)), Arc::new(progress));
    // If the caller is dropped, the set ends the jobs.
    let mut jobs = JoinSet::new();
    for _ in 0..workers.min(todo.len()) {
        let (import, work, todo) = (Arc::clone(&import), Arc::clone(&work), Arc::clone(&todo));
        let (next, rows, progress) = (Arc::clone(&next), Arc::clone(&rows), Arc::clone(&progress));
        jobs.spawn(async move {
            let mut found = Vec::new();
            loop {
                let Some(number) = todo.get(next.fetch_add(1, Ordering::Relaxed)) else { return found };
                let report = |more| progress(rows.fetch_add(more, Ordering::Relaxed) + more);
                let prepared = import.take_prepared(*number);
                let written = write_log(&import.writer, &import.sources[*number], *number, &work, prepared, report).await;
                found.push((*number, written));
            }
        });
    }
    while let Some(job) = jobs.join_next().await {
        for (number, result) in job.map_err(|error| Error::internal(format!("an ingest worker stopped: {error}")))? {
            let name = &import.sources[number].name;
            match result {
                Ok(written) => {
                    failed.remove(name);
                    done.insert(number, written);
                }
                Err(error) => {
                    import.writer.abandon(u32::try_from(number).unwrap_or(u32::MAX));
                    failed.insert(name.clone(), error);
                }
            }
        }
    }
    let import = Arc::into_inner(import).ok_or_else(|| Error::internal("an ingest worker is still writing"))?;
    Ok((import, done))
}

/// Writes a log as the partition of its number. Looks for its messages unless they are found (`prepared`). `progress` receives the number
/// of rows of each batch.
///
/// # Errors
/// - Errors of the log and of the stores.
pub(crate) async fn write_log(
    writer: &TableWriter,
    source: &LogSource,
    number: usize,
    work: &Work,
    prepared: Option<Prepared>,
    progress: impl Fn(u64),
) -> Result<(Receipt, LogReport)> {
    let Work { settings, identity, cancel } = work;
    let source = source.clone();
    let number = u32::try_from(number).map_err(|_| Error::invalid("over 2^32 logs"))?;
    let schema = writer.schema().clone();
    let (settings, cancel, name) = (settings.clone(), cancel.clone(), source.name.clone());
    let (of, options, cache) = (source.clone(), settings.open.clone(), CACHE / settings.workers.max(1));
    let span = settings.span;
    // Before the files are read: if they change meanwhile, they are read again.
    let (stamps, found) = match prepared {
        Some(Prepared { stamps, found }) => (stamps, Some(found)),
        None => (blocking(move || resume::stamps(&of, &options)).await?, None),
    };
    let open = move |scanned: bool, found: Option<Found>| {
        let mut found = match found {
            Some(found) => found,
            None => {
                let mut log = Log::open_with(&source, &settings.open, &cancel)?;
                log.bound_cache(cache);
                if scanned {
                    log.scan()?;
                }
                Found::of(log, &settings.recipe, settings.message_memory)?
            }
        };
        // A log that was found before may have had another share.
        found.log.bound_cache(cache);
        let rows = Rows::of(found, &settings.recipe, settings.span, Some(&schema))?;
        check_types(&rows, &schema)?;
        match rows.ticks_left()? {
            left if left > MAX_ROWS => Err(Error::invalid(format!("log {}: {left} rows, at most {MAX_ROWS}", source.name))),
            _ => Ok(rows),
        }
    };
    let first = open.clone();
    let mut rows = blocking(move || first(false, found)).await?;
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
                rows = blocking(move || again(true, None)).await?;
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
    let report = blocking(move || sparse::checked(&rows, span)).await?;
    let report = LogReport { bytes: resume::bytes(&stamps), span: Some(span), ..report };
    partition.note(Note::text(identity, stamps, &report)?);
    Ok((partition.finish().await?, report))
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
    found.extend(rows.transforms().flat_map(|report| tf::outputs(&report.name)).map(|(name, _)| name));
    let fixed = [LOG, layout::PART, layout::TIME];
    let lacking = schema.columns().iter().find(|column| !fixed.contains(&column.name.as_str()) && !found.contains(&column.name));
    match lacking {
        Some(column) => Err(Error::invalid(format!("log {name}: the column `{}` of the table is missing", column.name))),
        None => Ok(()),
    }
}
