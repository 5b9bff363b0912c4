//! Imports that several processes carry out, such as the tasks of Ray or Spark. A driver begins the import of a table, any processes
//! write its logs, each any number of times, and a driver commits the receipts.
//!
//! ```no_run
//! # async fn example() -> tetrys::Result<()> {
//! use tetrys::Store;
//! use tetrys_logs::{IngestSettings, LogSource, Recipe, cluster};
//! let recipe = Recipe::parse(&std::fs::read_to_string("sync.toml")?)?;
//! let (logs, settings) = ([LogSource::of("monday.mcap")?, LogSource::of("tuesday.mcap")?], IngestSettings::new(recipe));
//! let (store, mut tables) = (Store::open("table")?, Vec::new());
//! cluster::check(&store, &settings).await?;
//! for part in cluster::parts(&store, &settings)? {
//!     let begun = cluster::begin(&logs, part.store.clone(), &part.settings).await?;
//!     let mut receipts = begun.done;
//!     if let Some(plan) = &begun.plan {
//!         for (number, log) in &begun.left {
//!             // In any process.
//!             receipts.push(cluster::write(log, part.store.clone(), &part.settings, plan.ticket(), *number).await?);
//!         }
//!     }
//!     let made = cluster::finish(&logs, part.store, &part.settings, begun.plan.as_ref(), receipts, Vec::new()).await?;
//!     tables.push(made.table);
//! }
//! # Ok(()) }
//! ```
//!
//! Without [`Match::table`](crate::recipe::Match::table) there is one part. Otherwise [`view`] joins the tables of all parts.

use std::{collections::BTreeMap, sync::Mutex};

use tetrys::{Error, Receipt, Result, Store, TableWriter, Ticket, WritePlan};

use crate::{
    log::LogSource,
    report::Report,
    resume, same,
    table::{self, Before, Begun, Import, IngestSettings, Ingested, Work, before, check_names},
};

pub use crate::tables::{ImportPart, check, parts, view};

/// The import of a table that has begun.
#[derive(Clone, Debug)]
pub struct BegunImport {
    /// The plan of its session, whose labels are the logs that the table lacks. `None`: it has all logs.
    pub plan: Option<WritePlan>,
    /// The receipts of logs that an import before this one had written when it was interrupted.
    pub done: Vec<Receipt>,
    /// The logs that are left to write, with their numbers in the plan.
    pub left: Vec<(u32, LogSource)>,
}

/// Begins the import of logs into a table, or goes on with one that was interrupted after it had written a log.
///
/// # Errors
/// Those of [`ingest`](crate::ingest).
pub async fn begin(sources: &[LogSource], store: Store, settings: &IngestSettings) -> Result<BegunImport> {
    let (work, _guard) = Work::of(&alone(settings)).await?;
    // Whether a plan was adopted is unknown where the import is finished, so an empty session is never adopted.
    Ok(match table::begin(sources, store, &work, true, false).await? {
        Begun::Present(_) => BegunImport { plan: None, done: Vec::new(), left: Vec::new() },
        Begun::Import(import, done, _) => {
            let left = (0_u32..).zip(import.sources).filter(|(number, _)| !done.contains_key(&(*number as usize))).collect();
            BegunImport { plan: Some(import.plan), done: done.into_values().map(|(receipt, _)| receipt).collect(), left }
        }
    })
}

/// Writes a log as the partition of its number in the plan, and returns the receipt.
///
/// # Errors
/// - `Invalid`: the session is over; the log does not fit to the columns of the table.
/// - Errors of the log and of the stores.
pub async fn write(source: &LogSource, store: Store, settings: &IngestSettings, ticket: &Ticket, number: u32) -> Result<Receipt> {
    let (work, _guard) = Work::of(&alone(settings)).await?;
    let writer = TableWriter::join(store, ticket)?.with_known_blocks().await?;
    writer.ensure_open().await?;
    table::write_log(&writer, source, number as usize, &work, None, |_| {}).await.map(|(receipt, _)| receipt)
}

/// Returns the settings of a process that writes one log at a time.
fn alone(settings: &IngestSettings) -> IngestSettings {
    IngestSettings { workers: 1, ..settings.clone() }
}

/// Commits the logs of these receipts, of which those of one log count once. `failed` has the errors of the others; a log with neither
/// has failed, too. `plan` is `None` if the table has all logs. If all of its logs have failed, a table that exists stays as it is, and
/// [`Ingested::failed`] names them.
///
/// # Errors
/// Those of [`ingest`](crate::ingest), but where the table exists already.
pub async fn finish(
    sources: &[LogSource],
    store: Store,
    settings: &IngestSettings,
    plan: Option<&WritePlan>,
    receipts: Vec<Receipt>,
    failed: Vec<(String, Error)>,
) -> Result<Ingested> {
    check_names(sources)?;
    let recipe = settings.recipe.to_json()?;
    same::check_span(settings.span)?;
    let Before { base, earlier, .. } = before(&store, &recipe).await?;
    let labels = plan.map(WritePlan::labels).unwrap_or_default();
    let here: Vec<LogSource> = sources.iter().filter(|source| !labels.contains(&source.name)).cloned().collect();
    let different = same::different(&here, &earlier, settings.span, &settings.open).await;
    let present = here.into_iter().map(|log| log.name).filter(|name| !different.contains_key(name)).collect();
    let Some(plan) = plan else {
        let table = base.ok_or_else(|| Error::invalid(format!("{}: expected a table with all logs, found none", store.url())))?;
        let failed = different.into_iter().collect();
        return Ok(Ingested { present, failed, ..Ingested::of(table, Report::default()) });
    };
    let of_label = |label: &String| {
        let found = sources.iter().find(|source| source.name == *label).cloned();
        found.ok_or_else(|| Error::invalid(format!("log `{label}` of the plan: it is not among the logs of this import")))
    };
    let wanted = labels.iter().map(of_label).collect::<Result<Vec<LogSource>>>()?;
    let writer = TableWriter::join(store.clone(), plan.ticket())?;
    let mut written = BTreeMap::new();
    for receipt in receipts {
        let report = resume::report_of(&receipt).filter(|_| receipt.label.as_ref() == labels.get(receipt.partition as usize));
        let report = report
            .ok_or_else(|| Error::invalid(format!("a receipt of partition {} is none of this import", receipt.partition)))?;
        written.insert(receipt.partition as usize, (receipt, report));
    }
    let mut failed: BTreeMap<String, Error> = failed.into_iter().collect();
    for (number, source) in (0_u32..).zip(&wanted) {
        match written.contains_key(&(number as usize)) {
            true => drop(failed.remove(&source.name)),
            false => {
                writer.abandon(number);
                failed.entry(source.name.clone()).or_insert_with(|| Error::invalid("no process has written it"));
            }
        }
    }
    let (plan, kept, prepared, went_on) = (plan.clone(), base, Mutex::default(), false);
    let import = Import { store, plan, writer, sources: wanted, recipe, earlier, present, different, kept, prepared, went_on };
    table::finish(import, written, failed, Vec::new()).await
}
