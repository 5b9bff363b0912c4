//! Petastorm: imports data sets with the crate `tetrys-petastorm`, and shows what their metadata say.

use pyo3::prelude::*;
use tetrys::ingest::{IngestOptions, Target};
use tetrys_petastorm::{Dataset, IngestSettings, ingest, warnings};

use crate::{
    place::{Place, store_of},
    runtime::wait_long,
    table::Table,
    write::Options,
};

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(ingest_petastorm, module)?)?;
    module.add_function(wrap_pyfunction!(petastorm_metadata, module)?)
}

/// Settings of an import: the fields of `tetrys._ingest_petastorm.Settings`.
#[derive(FromPyObject)]
struct Settings {
    decode: bool,
    index: Option<Vec<String>>,
    groups: Vec<(String, Vec<String>)>,
    drop: Vec<String>,
    sequence_by: Vec<String>,
    order_by: Vec<String>,
    partition_rows: u64,
    workers: usize,
    mode: String,
    references: Vec<Py<Table>>,
}

/// Imports a data set. Returns the table, and one sentence for each thing that a user should know.
#[pyfunction]
fn ingest_petastorm(
    py: Python<'_>,
    source: Place,
    place: Place,
    settings: Settings,
    options: Options,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Table, Vec<String>)> {
    let settings = IngestSettings {
        decode: settings.decode,
        index: settings.index,
        groups: settings.groups,
        drop: settings.drop,
        sequence_by: settings.sequence_by,
        order_by: settings.order_by,
        options: IngestOptions {
            write: options.write()?,
            workers: settings.workers,
            partition_rows: settings.partition_rows,
            references: settings.references.iter().map(|table| table.get().table.clone()).collect(),
            target: match settings.mode.as_str() {
                "append" => Target::Append,
                "overwrite" => Target::Overwrite,
                _ => Target::New,
            },
        },
    };
    let store = store_of(place)?;
    let work = async move {
        let dataset = opened(source).await?;
        let mut messages = dataset.warnings().to_vec();
        messages.extend(warnings(&dataset, &settings)?);
        let report = move |done: u64| {
            if let Some(progress) = &progress {
                // An exception of the function must not stop the import: it is printed and ignored.
                Python::attach(|py| progress.call1(py, (done,)).map(drop).unwrap_or_else(|error| error.print(py)));
            }
        };
        let table = ingest(&dataset, store, &settings, report).await?;
        Ok((table, messages))
    };
    wait_long(py, work).map(|(table, messages)| (Table::from(table), messages))
}

/// Returns schema, row groups and row-group indexes as JSON text.
#[pyfunction]
fn petastorm_metadata(py: Python<'_>, source: Place) -> PyResult<String> {
    wait_long(py, async move { opened(source).await?.to_json().map(|json| json.to_string()) })
}

/// Opens a data set with options of its store.
async fn opened((url, options, _): Place) -> tetrys::Result<Dataset> {
    Dataset::open_with(url, options.unwrap_or_default()).await
}
