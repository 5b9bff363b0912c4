//! Imports whose recipe gives matches tables of their own: each table is an import of logs, and a view joins their rows by time.
//!
//! ```text
//! TABLE-rows   the rows: clock, matches, and the time difference of each match
//! URL          a row for each message of a match with table = "URL"    \
//! TABLE        a view: the rows with their messages                    / joined by log and time, as the policy says
//! ```
//!
//! A log whose messages cannot be imported has no rows either. The tables come first, so an import that is interrupted leaves no rows
//! without their messages; the same import again adds to each table what it lacks, and then saves the view.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::Value as Json;
use tetrys::{
    ColumnType, Error, ErrorKind, Merge, Pick, Result, Schema, Store, Table, ViewOptions, ViewTarget, WriteOptions,
    polars::prelude::col,
};

use crate::{
    layout::{LOG, PART, TIME},
    log::LogSource,
    recipe::{Bound, Clock, Match, Policy, Recipe, Topic},
    report::{LogReport, Report},
    same,
    table::{self, IngestSettings, Ingested, RECIPE, check_names, check_recipe},
};

/// Imports logs into the table in `store`, which may exist: then only logs are imported whose names it does not have. `progress`
/// receives the number of rows written so far.
///
/// If matches have tables of their own ([`Match::table`]), the rows become the table `URL-rows` beside the URL of `store`, and the table
/// in `store` a view of all these tables.
///
/// Goes on where the same import was interrupted: logs that it has written are not read again, unless one of their files has another size
/// or time by now.
///
/// # Errors
/// After an error there is no new table or version in `store`.
/// - `Invalid`: two logs have the same name; the table was made with another recipe, or no log at all could be imported: the
///   message is that of the first one.
/// - `NotFound`: a file or a topic is missing.
/// - `Exists`: the folder of a new table has other files.
/// - `Corrupt`: with `strict`, a file is cut or damaged.
/// - Errors of the stores.
pub async fn ingest(
    sources: &[LogSource],
    store: Store,
    settings: &IngestSettings,
    progress: impl Fn(u64) + Send + Sync + 'static,
) -> Result<Ingested> {
    let parts = parts(&store, settings)?;
    if !has_view(&settings.recipe) {
        return table::ingest(sources, store, settings, false, progress).await;
    }
    check_names(sources)?;
    check(&store, settings).await?;
    let (rows, progress) = (Arc::new(AtomicU64::new(0)), Arc::new(progress));
    let mut all = Imported::default();
    for part in parts {
        let (before, rows, progress) = (rows.load(Ordering::Relaxed), Arc::clone(&rows), Arc::clone(&progress));
        let report = move |more: u64| {
            rows.store(before + more, Ordering::Relaxed);
            progress(before + more);
        };
        let left = all.left(sources)?;
        all.add(table::ingest(&left, part.store, &part.settings, true, report).await?);
    }
    let view = view(&store, settings, &all.tables, &all.report).await?;
    let Imported { tables, report, failed, present, resumed, went_on } = all;
    let present = present.unwrap_or_default();
    Ok(Ingested { table: view, report, failed: failed.into_iter().collect(), present, resumed, went_on, tables })
}

/// One of the tables that an import writes.
#[derive(Clone, Debug)]
pub struct ImportPart {
    /// The store of the table.
    pub store: Store,
    /// The settings of its own import. The recipe of the table of a match has the topic as the clock.
    pub settings: IngestSettings,
}

/// Returns the tables that an import writes: those of matches in the order of the recipe, and then the table of the rows. Without
/// [`Match::table`] there is only the table in `store`.
///
/// # Errors
/// - `Invalid`: two of the tables, or one of them and the view, have the same URL, or one is in the folder of the other; or the URL of
///   the table has no neighbours; or the first time of rows is behind the last.
/// - Errors of opening a store.
pub fn parts(store: &Store, settings: &IngestSettings) -> Result<Vec<ImportPart>> {
    same::check_span(settings.span)?;
    if !has_view(&settings.recipe) {
        return Ok(vec![ImportPart { store: store.clone(), settings: settings.clone() }]);
    }
    let url = store.url().trim_end_matches('/');
    let has_name =
        url.split_once("://").is_some_and(|(scheme, rest)| rest.contains('/') || (scheme == "memory" && !rest.is_empty()));
    if !has_name {
        return Err(Error::invalid(format!(
            "{}: expected a table with a name, because its rows become the table NAME-rows",
            store.url()
        )));
    }
    let mut parts = Vec::new();
    for matched in &settings.recipe.matches {
        let Some(table) = &matched.table else { continue };
        let place = |error: Error| error.at(format!("match `{}`: table", matched.name));
        let store = Store::open_with(table, &settings.tables).map_err(place)?;
        // All messages: a decoder of video needs those before a row, too.
        let own = IngestSettings { recipe: own_recipe(&settings.recipe, matched), span: (None, None), ..settings.clone() };
        parts.push(ImportPart { store, settings: own });
    }
    let rows = Store::open_with(&format!("{url}-rows"), &settings.tables)?;
    parts.push(ImportPart { store: rows, settings: settings.clone() });
    let mut urls: Vec<&str> = parts.iter().map(|part| part.store.url().trim_end_matches('/')).chain([url]).collect();
    urls.sort_unstable();
    if let Some(pair) = urls.windows(2).find(|pair| pair[0] == pair[1]) {
        let url = pair[0];
        return Err(Error::invalid(format!("{url}: expected a table of its own for each match, for the rows and for the view")));
    }
    // The folder of a new table is empty.
    let is_inside = |one: &str, other: &str| one.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'));
    let mut pairs = urls.iter().flat_map(|one| urls.iter().map(move |other| (*one, *other)));
    match pairs.find(|(one, other)| is_inside(one, other)) {
        Some((one, other)) => Err(Error::invalid(format!(
            "{other}: expected no table in the folder of another one, found {one}; name a place beside it"
        ))),
        None => Ok(parts),
    }
}

/// Checks that the table in `store` can become the view of an import, before anything is imported. If the result is no view, the import
/// itself checks that first.
///
/// # Errors
/// - `Exists`: the folder of the table has other files.
/// - `Invalid`: there is a table with rows where the result is a view, or one that was made with another recipe.
/// - Errors of the store.
pub async fn check(store: &Store, settings: &IngestSettings) -> Result<()> {
    if has_view(&settings.recipe) && view_there(store, &settings.recipe.to_json()?).await?.is_none() {
        // The view is saved last. A writer of any table finds out now whether one can be made here, and is dropped.
        let schema = Schema::builder().index(LOG, ColumnType::Utf8).build()?;
        drop(Table::create_in(store.clone(), schema, WriteOptions::default()).await?);
    }
    Ok(())
}

/// Whether the table of an import is a view.
fn has_view(recipe: &Recipe) -> bool {
    recipe.matches.iter().any(|matched| matched.table.is_some())
}

/// Returns the recipe of the table of a match: a row for each message that the settings of its topic keep.
fn own_recipe(recipe: &Recipe, matched: &Match) -> Recipe {
    let clock = Clock {
        topic: Some(matched.topic.clone()),
        name: Some(matched.name.clone()),
        fields: matched.fields.clone(),
        of: matched.of.or(&recipe.defaults),
        ..Clock::default()
    };
    Recipe { clock, matches: Vec::new(), tf: BTreeMap::new(), defaults: Topic::default() }
}

/// The results of the tables that are imported so far.
#[derive(Debug, Default)]
struct Imported {
    tables: Vec<Table>,
    /// That of the newest table.
    report: Report,
    failed: BTreeMap<String, Error>,
    /// Logs that all of the tables had.
    present: Option<Vec<String>>,
    /// Those of the newest table.
    resumed: Vec<String>,
    /// Whether the import of one of the tables went on with the session of another import.
    went_on: bool,
}

impl Imported {
    /// Returns the logs that no table lacks so far.
    ///
    /// # Errors
    /// - That of the first log, if none is left.
    fn left(&mut self, sources: &[LogSource]) -> Result<Vec<LogSource>> {
        let left: Vec<LogSource> = sources.iter().filter(|log| !self.failed.contains_key(&log.name)).cloned().collect();
        let first = sources.first().filter(|_| left.is_empty());
        match first.and_then(|log| self.failed.remove(&log.name)) {
            Some(error) => Err(error),
            None => Ok(left),
        }
    }

    /// Adds the import of a table.
    fn add(&mut self, made: Ingested) {
        self.tables.push(made.table);
        self.report = joined(&self.report, made.report);
        self.failed.extend(made.failed);
        self.present = Some(match self.present.take() {
            Some(present) => present.into_iter().filter(|log| made.present.contains(log)).collect(),
            None => made.present,
        });
        self.resumed = made.resumed;
        self.went_on |= made.went_on;
    }
}

/// Returns the report of the next table of an import, with the warnings and the failed logs of those before. The next table may have a
/// log already whose messages were added to one before: then its warnings are those of the report itself.
fn joined(before: &Report, mut next: Report) -> Report {
    for log in &mut next.logs {
        let of_before = before.logs.iter().filter(|other| other.log == log.log).flat_map(|other| &other.warnings);
        let more: Vec<String> = of_before.filter(|warning| !log.warnings.contains(warning)).cloned().collect();
        log.warnings.extend(more);
    }
    let is_lost = |log: &&LogReport| next.logs.iter().all(|other| other.log != log.log);
    let lost = before.logs.iter().filter(is_lost).flat_map(|log| &log.warnings);
    let lost: Vec<String> = before.warnings.iter().chain(lost).cloned().collect();
    next.warnings.extend(lost);
    next.failed.extend(before.failed.iter().map(|(log, why)| (log.clone(), why.clone())));
    next
}

/// Returns the view of earlier imports, if there is one.
///
/// # Errors
/// - `Invalid`: there is a table with rows, or a view of another recipe.
/// - Errors of the store.
async fn view_there(store: &Store, recipe: &Json) -> Result<Option<Table>> {
    let table = match Table::open_in(store.clone()).await {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        table => table?,
    };
    check_recipe(&table, recipe)?;
    match table.is_view() {
        true => Ok(Some(table)),
        false => Err(Error::invalid(format!(
            "{}: expected a view, because a match has a table of its own; found a table with rows",
            table.url()
        ))),
    }
}

/// Saves the view of the tables of an import, or its next version. `tables` are those of [`parts`]. Returns the view as it is if it has
/// these versions already.
///
/// # Errors
/// - `Invalid`: a column is in two of the tables; the table of a match lacks a log that has rows; the table in `store` is no view of
///   this recipe.
/// - `Denied`: no pin can be written to one of the tables.
/// - `Conflict`: another process has saved the view meanwhile.
/// - Errors of the stores.
pub async fn view(store: &Store, settings: &IngestSettings, tables: &[Table], report: &Report) -> Result<Table> {
    let recipe = settings.recipe.to_json()?;
    let Some((rows, of_matches)) = tables.split_last() else { return Err(Error::internal("a view of no tables")) };
    let urls: Vec<&str> = tables.iter().map(Table::url).collect();
    let there = view_there(store, &recipe).await?.map(|view| view.allow(urls));
    let mut before = BTreeSet::new();
    if let Some(view) = &there {
        // The recipe names the tables, so a view that does not find them is saved again.
        let sources = view.sources().await.map(|sources| sources.to_vec()).unwrap_or_default();
        let wanted = std::iter::once(rows).chain(of_matches);
        let version = |table: &Table| (table.id(), table.version());
        if sources.iter().map(version).eq(wanted.map(version)) {
            return Ok(view.clone());
        }
        if let Some(rows) = sources.first() {
            before = table::logs_of(rows).await.unwrap_or_default();
        }
    }
    // A row whose messages are in none of the tables would get nulls, as if there were none.
    let of_rows = table::names_of(rows).await?;
    for matched in of_matches {
        let own = table::logs_of(matched).await?;
        if let Some(log) = of_rows.difference(&own).next() {
            return Err(Error::invalid(format!(
                "{}: expected log `{log}`, whose rows are in {}; import it again, too, or import from the working folder of before if \
                 the recipe names the table by a relative path",
                matched.url(),
                rows.url()
            )));
        }
    }
    let mut index = rows.index().await?;
    let matches: Vec<&Match> = settings.recipe.matches.iter().filter(|matched| matched.table.is_some()).collect();
    for (matched, table) in matches.into_iter().zip(of_matches) {
        let mut columns =
            table.schema().columns().iter().map(|column| column.name.as_str()).filter(|name| ![LOG, PART, TIME].contains(name));
        if let Some(column) = columns.find(|name| rows.schema().column_named(name).is_some()) {
            return Err(Error::invalid(format!(
                "match `{}`: column `{column}` is in {} and in {}; choose other fields, or set dt = false",
                matched.name,
                rows.url(),
                table.url()
            )));
        }
        // Log, part and time of the view are those of the rows. The time of the message is needed for the merge alone.
        let (own, time) = (table.index().await?, format!("time of {}", matched.name));
        let values = own.column_names().filter(|name| ![LOG, PART, TIME].contains(name));
        let own = own.select(values.map(col).chain([col(LOG), col(TIME).alias(time.as_str())]))?;
        let merged = index.merge(&own, &merge(matched, &time)?).map_err(|error| error.at(format!("match `{}`", matched.name)))?;
        let kept: Vec<String> = merged.column_names().filter(|name| *name != time).map(str::to_owned).collect();
        index = merged.select(kept.iter().map(|name| col(name.as_str())))?;
    }
    let mut options =
        ViewOptions { allow_unpinned: settings.write.allow_unpinned, ..ViewOptions::default() }.property(RECIPE, recipe);
    // An import before this one may have added rows, and was interrupted before it saved the view.
    let mut added = Report { logs: table::report_of(rows).await?.logs, ..report.clone() };
    added.logs.retain(|log| !before.contains(&log.log));
    for (key, value) in added.lineage() {
        options = options.lineage(key, value);
    }
    let target = there.map_or_else(|| ViewTarget::from(store), |view| ViewTarget::from(&view));
    Ok(index.save_with(target, &options).await?.table)
}

/// Returns how the rows are joined with the messages of a match, whose times are in the column `time`. Rows without a message stay: the
/// import has left out those that the recipe says.
fn merge(matched: &Match, time: &str) -> Result<Merge> {
    let pick = match matched.policy {
        Policy::Last => Pick::Before,
        Policy::Next => Pick::After,
        Policy::Nearest => Pick::Nearest,
        Policy::Linear | Policy::Slerp | Policy::All => return Err(Error::internal("a policy that no view has")),
    };
    let merge = Merge::on([LOG]).as_of_pair(TIME, time, pick).left();
    // Of messages with one time.
    let merge = if matched.policy == Policy::Next { merge.first() } else { merge.last() };
    match matched.tolerance {
        Some(Bound::At(ns)) => merge.tolerance(format!("{ns}ns")),
        Some(Bound::None) | None => Ok(merge),
    }
}
