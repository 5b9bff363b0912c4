//! Logs: imports recordings with the crate `tetrys-logs`, shows what they have, and writes a recipe to start from.

use pyo3::prelude::*;
use tetrys::{Ticket, WritePlan, extension::LocalFile};
use tetrys_logs::{
    IngestSettings, Ingested, LogInfo, LogSource, OpenOptions, Recipe, Report, cluster, info, ingest, parse_time, plan,
};

use crate::{
    error::IntoPython,
    place::{Place, options_of, store_of},
    runtime::wait_long,
    table::Table,
    write::{Options, Receipt},
};

/// Maximum bytes of a recipe.
const MAX_RECIPE: u64 = 1 << 20;

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(ingest_logs, module)?)?;
    module.add_function(wrap_pyfunction!(logs_parts, module)?)?;
    module.add_function(wrap_pyfunction!(logs_begin, module)?)?;
    module.add_function(wrap_pyfunction!(logs_write, module)?)?;
    module.add_function(wrap_pyfunction!(logs_finish, module)?)?;
    module.add_function(wrap_pyfunction!(logs_view, module)?)?;
    module.add_function(wrap_pyfunction!(logs_info, module)?)?;
    module.add_function(wrap_pyfunction!(logs_plan, module)?)
}

/// Settings of an import: the fields of `tetrys._ingest_logs.Settings`.
#[derive(FromPyObject)]
struct Settings {
    recipe: String,
    is_json: bool,
    join: bool,
    strict: bool,
    msgs: Vec<String>,
    start: Option<String>,
    end: Option<String>,
    workers: usize,
}

impl Settings {
    /// Returns the settings of the library.
    fn parsed(&self, source: Place, place: &Place, options: &Options) -> PyResult<IngestSettings> {
        let recipe = match self.is_json {
            true => Recipe::from_json(&self.recipe).map_err(|error| error.at("recipe")),
            false => LocalFile::text(&self.recipe, MAX_RECIPE)
                .and_then(|text| Recipe::parse(&text).map_err(|error| error.at(&self.recipe))),
        };
        let time = |text: &Option<String>| {
            let wrong = |text: &String| {
                tetrys::Error::invalid(format!("`{text}`: expected a time such as 2026-05-01T12:00:00Z, or nanoseconds"))
            };
            text.as_ref().map(|text| parse_time(text).ok_or_else(|| wrong(text))).transpose()
        };
        let settings = IngestSettings::new(recipe.py()?);
        Ok(IngestSettings {
            open: OpenOptions { strict: self.strict, store: options_of(source).1, msgs: self.msgs.clone() },
            span: (time(&self.start).py()?, time(&self.end).py()?),
            write: options.write()?,
            workers: self.workers,
            tables: options_of(place.clone()).1,
            ..settings
        })
    }
}

/// A table, the report as JSON text, the logs that failed with their errors, and those that were there.
type Imported = (Table, String, Vec<(String, String)>, Vec<String>);

fn imported(made: Ingested) -> tetrys::Result<Imported> {
    let report = serde_json::to_string(&made.report).map_err(|error| tetrys::Error::internal(error.to_string()))?;
    let failed = made.failed.into_iter().map(|(name, error)| (name, error.to_string())).collect();
    Ok((Table::from(made.table), report, failed, made.present))
}

/// Imports logs.
#[pyfunction]
fn ingest_logs(
    py: Python<'_>,
    logs: Vec<String>,
    source: Place,
    place: Place,
    settings: Settings,
    options: Options,
    progress: Option<Py<PyAny>>,
) -> PyResult<Imported> {
    let sources = sources(&logs, settings.join).py()?;
    let (settings, store) = (settings.parsed(source, &place, &options)?, store_of(place)?);
    let work = async move {
        let report = move |done: u64| {
            if let Some(progress) = &progress {
                // An exception of the function must not stop the import: it is printed and ignored.
                Python::attach(|py| progress.call1(py, (done,)).map(drop).unwrap_or_else(|error| error.print(py)));
            }
        };
        imported(ingest(&sources, store, &settings, report).await?)
    };
    wait_long(py, work)
}

/// Returns the tables that an import writes: the URL of each, its recipe as JSON text, and whether it has all messages of its topic, also
/// those outside of `start` and `end`. The last one is that of the rows. Checks first that the table can become their view.
#[pyfunction]
fn logs_parts(py: Python<'_>, place: Place, settings: Settings, options: Options) -> PyResult<Vec<(String, String, bool)>> {
    let settings = settings.parsed(place.clone(), &place, &options)?;
    let span = settings.span;
    let of = |part: cluster::ImportPart| -> tetrys::Result<(String, String, bool)> {
        Ok((part.store.url().to_owned(), part.settings.recipe.to_json()?.to_string(), part.settings.span != span))
    };
    let store = store_of(place)?;
    let parts = cluster::parts(&store, &settings).py()?;
    wait_long(py, async move { cluster::check(&store, &settings).await })?;
    parts.into_iter().map(of).collect::<tetrys::Result<_>>().py()
}

/// A plan and its ticket as JSON texts, receipts, the number, name and files of logs, and the name and files of all logs.
type Begun = (Option<(String, String)>, Vec<Receipt>, Vec<(u32, String, Vec<String>)>, Vec<(String, Vec<String>)>);

/// Begins the import of one table, or goes on with it. Returns the plan of its session, if the table lacks logs; the receipts of logs that
/// are written already; those that are left; and all.
#[pyfunction]
fn logs_begin(
    py: Python<'_>,
    logs: Vec<String>,
    source: Place,
    place: Place,
    settings: Settings,
    options: Options,
) -> PyResult<Begun> {
    let sources = sources(&logs, settings.join).py()?;
    let (settings, store) = (settings.parsed(source, &place, &options)?, store_of(place)?);
    let all = sources.iter().map(|log| (log.name.clone(), log.files.clone())).collect();
    let begun = wait_long(py, async move { cluster::begin(&sources, store, &settings).await })?;
    let left = begun.left.into_iter().map(|(number, log)| (number, log.name, log.files)).collect();
    let plan = begun.plan.map(|plan| (plan.to_json(), plan.ticket().to_json()));
    Ok((plan, begun.done.into_iter().map(Receipt).collect(), left, all))
}

/// Writes a log as the partition of its number. `logs` are its files.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "what a task of a cluster carries")]
fn logs_write(
    py: Python<'_>,
    logs: Vec<String>,
    source: Place,
    place: Place,
    settings: Settings,
    options: Options,
    ticket: &str,
    number: u32,
) -> PyResult<Receipt> {
    let log = LogSource::joined(&logs).py()?;
    let ticket = Ticket::from_json(ticket).py()?;
    let (settings, store) = (settings.parsed(source, &place, &options)?, store_of(place)?);
    wait_long(py, async move { cluster::write(&log, store, &settings, &ticket, number).await }).map(Receipt)
}

/// Commits the logs of these receipts. `failed` has the names of others, and their errors.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "what an import is, and what became of it")]
fn logs_finish(
    py: Python<'_>,
    logs: Vec<String>,
    source: Place,
    place: Place,
    settings: Settings,
    options: Options,
    plan: Option<&str>,
    receipts: Vec<Py<Receipt>>,
    failed: Vec<(String, String)>,
) -> PyResult<Imported> {
    let (sources, plan) = (sources(&logs, settings.join).py()?, plan.map(WritePlan::from_json).transpose().py()?);
    let (settings, store) = (settings.parsed(source, &place, &options)?, store_of(place)?);
    let receipts = receipts.iter().map(|receipt| receipt.get().0.clone()).collect();
    let failed = failed.into_iter().map(|(name, why)| (name, tetrys::Error::invalid(why))).collect();
    let work = async move { imported(cluster::finish(&sources, store, &settings, plan.as_ref(), receipts, failed).await?) };
    wait_long(py, work)
}

/// Saves the view of the tables of an import. `report` is that of its rows, as JSON text.
#[pyfunction]
fn logs_view(
    py: Python<'_>,
    place: Place,
    settings: Settings,
    options: Options,
    tables: Vec<Py<Table>>,
    report: &str,
) -> PyResult<Table> {
    let (settings, store) = (settings.parsed(place.clone(), &place, &options)?, store_of(place)?);
    let report: Report = serde_json::from_str(report).map_err(|error| tetrys::Error::invalid_json(&error)).py()?;
    let tables: Vec<tetrys::Table> = tables.iter().map(|table| table.get().table.clone()).collect();
    wait_long(py, async move { cluster::view(&store, &settings, &tables, &report).await }).map(Table::from)
}

fn sources(logs: &[String], join: bool) -> tetrys::Result<Vec<LogSource>> {
    match join {
        true => Ok(vec![LogSource::joined(logs)?]),
        false => logs.iter().map(|url| LogSource::of(url)).collect(),
    }
}

async fn infos(logs: Vec<String>, source: Place, strict: bool, msgs: Vec<String>) -> tetrys::Result<Vec<LogInfo>> {
    let options = OpenOptions { strict, store: options_of(source).1, msgs };
    let mut infos = Vec::new();
    for source in sources(&logs, false)? {
        infos.push(info(&source, &options).await?);
    }
    Ok(infos)
}

/// Returns what logs have, as JSON text.
#[pyfunction]
fn logs_info(py: Python<'_>, logs: Vec<String>, source: Place, strict: bool, msgs: Vec<String>) -> PyResult<String> {
    wait_long(py, async move {
        let infos = infos(logs, source, strict, msgs).await?;
        serde_json::to_string(&infos).map_err(|error| tetrys::Error::internal(error.to_string()))
    })
}

/// Returns a recipe to start from, as TOML text.
#[pyfunction]
fn logs_plan(py: Python<'_>, logs: Vec<String>, source: Place, msgs: Vec<String>) -> PyResult<String> {
    wait_long(py, async move { plan(&infos(logs, source, false, msgs).await?) })
}
