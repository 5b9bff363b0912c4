//! Publishes versions with changed values: replaces or adds column groups, patches rows.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;

use crate::{
    error::{IntoPython, Invalid},
    runtime::wait_long,
    table::Table,
    write::{Columns, Options, batch_of},
};

/// Writes one column group of every row of a table.
#[pyclass(frozen, module = "tetrys._tetrys")]
pub(crate) struct GroupReplacer(Mutex<Option<tetrys::table::GroupReplacer>>);

#[pymethods]
impl GroupReplacer {
    /// Starts a version with new values in the columns of a group.
    #[staticmethod]
    fn replace(py: Python<'_>, table: &Table, name: String, options: Options) -> PyResult<Self> {
        let (table, write) = (table.table.clone(), options.write()?);
        let writer = wait_long(py, async move { table.replace_group(&name, write).await })?;
        Ok(Self(Mutex::new(Some(writer))))
    }

    /// Starts a version with one more group, with columns of these names and types.
    #[staticmethod]
    fn add(py: Python<'_>, table: &Table, name: String, columns: Vec<(String, String)>, options: Options) -> PyResult<Self> {
        let (table, write) = (table.table.clone(), options.write()?);
        let writer = wait_long(py, async move { table.add_group(&name, columns, write).await })?;
        Ok(Self(Mutex::new(Some(writer))))
    }

    /// Writes the next rows in table order; with `on`, all rows, matched by key.
    fn write(&self, py: Python<'_>, columns: Columns, on: Option<Vec<String>>) -> PyResult<()> {
        let batch = batch_of(&columns)?;
        let mut writer = self.take()?;
        let (writer, done) = wait_long(py, async move {
            let done = match &on {
                Some(on) => writer.write_keyed(&on.iter().map(String::as_str).collect::<Vec<_>>(), &batch).await,
                None => writer.write(&batch).await,
            };
            Ok((writer, done))
        })?;
        done.py()?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(writer);
        Ok(())
    }

    fn commit(&self, py: Python<'_>) -> PyResult<Table> {
        let writer = self.take()?;
        wait_long(py, writer.commit()).map(Table::from)
    }
}

impl GroupReplacer {
    /// Takes the writer out, so that the mutex is not locked while the GIL is released.
    fn take(&self) -> PyResult<tetrys::table::GroupReplacer> {
        let change = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        change.ok_or_else(|| Invalid::new_err("the group is committed, or a write failed"))
    }
}

/// Publishes a version with new values in the rows that the columns `on` identify.
#[pyfunction]
pub(crate) fn patch(py: Python<'_>, table: &Table, on: Vec<String>, columns: Columns, options: Options) -> PyResult<Table> {
    let (batch, write) = (batch_of(&columns)?, options.write()?);
    let table = table.table.clone();
    let work = async move { table.patch(&on.iter().map(String::as_str).collect::<Vec<_>>(), &batch, write).await };
    wait_long(py, work).map(Table::from)
}
