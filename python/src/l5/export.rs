//! Export of tables and views as zarr groups.

use pyo3::prelude::*;

use crate::{runtime::wait_long, table::Table};

/// Writes a table as a zarr group; `tetrys.l5.export` calls it.
#[pyfunction]
pub(super) fn l5_export(py: Python<'_>, table: &Table, target: String, progress: Option<Py<PyAny>>) -> PyResult<()> {
    let table = table.table.clone();
    let report = move |done: u64| {
        if let Some(progress) = &progress {
            // An exception of the function must not stop the export: it is printed and ignored.
            Python::attach(|py| progress.call1(py, (done,)).map(drop).unwrap_or_else(|error| error.print(py)));
        }
    };
    wait_long(py, async move { tetrys_l5::export_table(&table, target, report).await })
}
