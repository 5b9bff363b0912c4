//! Logs: imports recordings with the crate `tetrys-logs`, shows what they have, and writes a recipe to start from.

use pyo3::prelude::*;
use tetrys::ingest::LocalFile;
use tetrys_logs::{IngestSettings, LogInfo, LogSource, OpenOptions, Recipe, info, ingest, parse_time, plan};

use crate::{
    error::IntoPython,
    place::{Place, options_of, store_of},
    runtime::wait_long,
    table::Table,
    write::Options,
};

/// Maximum bytes of a recipe.
const MAX_RECIPE: u64 = 1 << 20;

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(ingest_logs, module)?)?;
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

/// Imports logs. Returns the table, the report as JSON text, the logs that failed with their errors, and those that were there.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "a tuple for Python")]
fn ingest_logs(
    py: Python<'_>,
    logs: Vec<String>,
    source: Place,
    place: Place,
    settings: Settings,
    options: Options,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Table, String, Vec<(String, String)>, Vec<String>)> {
    let join = settings.join;
    let recipe = match settings.is_json {
        true => Recipe::from_json(&settings.recipe).map_err(|error| error.at("recipe")),
        false => LocalFile::text(&settings.recipe, MAX_RECIPE)
            .and_then(|text| Recipe::parse(&text).map_err(|error| error.at(&settings.recipe))),
    };
    let time = |text: &Option<String>| {
        let wrong = |text: &String| {
            tetrys::Error::invalid(format!("`{text}`: expected a time such as 2026-05-01T12:00:00Z, or nanoseconds"))
        };
        text.as_ref().map(|text| parse_time(text).ok_or_else(|| wrong(text))).transpose()
    };
    let settings = IngestSettings {
        recipe: recipe.py()?,
        open: OpenOptions { strict: settings.strict, store: options_of(source).1, msgs: settings.msgs },
        span: (time(&settings.start).py()?, time(&settings.end).py()?),
        write: options.write()?,
        workers: settings.workers,
        references: Vec::new(),
    };
    let sources = sources(&logs, join).py()?;
    let store = store_of(place)?;
    let work = async move {
        let report = move |done: u64| {
            if let Some(progress) = &progress {
                // An exception of the function must not stop the import: it is printed and ignored.
                Python::attach(|py| progress.call1(py, (done,)).map(drop).unwrap_or_else(|error| error.print(py)));
            }
        };
        let made = ingest(&sources, store, &settings, report).await?;
        let report = serde_json::to_string(&made.report).map_err(|error| tetrys::Error::internal(error.to_string()))?;
        let failed = made.failed.into_iter().map(|(name, error)| (name, error.to_string())).collect::<Vec<_>>();
        Ok((made.table, report, failed, made.present))
    };
    wait_long(py, work).map(|(table, report, failed, present)| (Table::from(table), report, failed, present))
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
