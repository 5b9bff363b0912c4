//! The differences between two tables.

use std::collections::BTreeMap;

use numpy::PyArray1;
use pyo3::{prelude::*, types::PyDict};

use crate::{error::unpicklable, json::to_python};

/// Differences between two tables, as `new.diff(old)` returns them.
///
/// Example:
///     >>> old = tt.write_table("sweeps", {"time": [0, 1], "lidar.count": [7, 9]}, index=["time"])
///     >>> found = old.append({"time": [2], "lidar.count": [8]}).diff(old, on=["time"])
///     >>> found.added.tolist(), found.unchanged, found.groups["lidar"][0]
///     ([2], 2, 0)
#[pyclass(frozen, module = "tetrys")]
pub(crate) struct Diff(pub(crate) tetrys::table::Diff);

#[pymethods]
impl Diff {
    /// Columns that matched the rows; empty if row numbers did.
    #[getter]
    fn keys(&self) -> Vec<String> {
        self.0.keys.clone()
    }

    /// Number of rows of the old and of the new table.
    #[getter]
    fn rows(&self) -> (u64, u64) {
        let [before, now] = self.0.rows;
        (before, now)
    }

    /// Row numbers in the new table whose key the old table does not have, u64 [n].
    #[getter]
    fn added<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        PyArray1::from_slice(py, &self.0.added)
    }

    /// Row numbers in the old table whose key the new table does not have, u64 [n].
    #[getter]
    fn removed<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        PyArray1::from_slice(py, &self.0.removed)
    }

    /// Row numbers in the new table whose key is in both tables and whose index or payload differs, u64 [n].
    /// If `is_exact` is False, some of them may be equal.
    #[getter]
    fn changed<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        PyArray1::from_slice(py, &self.0.changed)
    }

    /// Number of rows that are equal in both tables. If `is_exact` is False, there may be more.
    #[getter]
    fn unchanged(&self) -> u64 {
        self.0.unchanged
    }

    /// Number of rows with equal keys in which each index column differs, {column: rows}.
    #[getter]
    fn index(&self) -> BTreeMap<String, u64> {
        self.0.index.iter().map(|column| (column.name.clone(), column.changed)).collect()
    }

    /// Number of rows with equal keys in which each column group differs, {group: (rows, exact)}.
    ///
    /// If `exact` is False, the number is an upper bound: all rows of a block that differs count. `rows` is None if the group has
    /// other columns in the two tables.
    #[getter]
    fn groups(&self) -> BTreeMap<String, (Option<u64>, bool)> {
        self.0.groups.iter().map(|group| (group.name.clone(), (group.changed, group.exact))).collect()
    }

    /// Columns that only the new table has, {column: type}.
    #[getter]
    fn columns_added(&self) -> BTreeMap<String, String> {
        self.0.columns_added.iter().cloned().collect()
    }

    /// Columns that only the old table has, {column: type}.
    #[getter]
    fn columns_removed(&self) -> BTreeMap<String, String> {
        self.0.columns_removed.iter().cloned().collect()
    }

    /// Bytes of index, layout and hash objects that were read.
    #[getter]
    fn bytes_read(&self) -> u64 {
        self.0.bytes_read
    }

    /// Returns a line about the rows, and one for each column and group that differs, as text.
    fn summary(&self) -> String {
        self.0.to_string()
    }

    /// Returns all differences as a dict of JSON values.
    ///
    /// Example:
    ///     >>> table = tt.Table("drives")
    ///     >>> found = table.delete([3, 4]).diff(table).to_dict()
    ///     >>> found["rows"], found["removed"]
    ///     ([20, 18], [3, 4])
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        Ok(to_python(py, &self.0)?.cast_into::<PyDict>()?)
    }

    /// Columns of both tables that were not compared, because their column groups differ in name or columns.
    #[getter]
    fn not_compared(&self) -> Vec<String> {
        self.0.not_compared.clone()
    }

    /// Whether every row in `changed` is known to differ. Rows that share a block with a changed row count as changed, unless
    /// `Table.diff` has `exact=True`. Columns in `not_compared` make the result inexact too.
    #[getter]
    fn is_exact(&self) -> bool {
        self.0.is_exact()
    }

    /// Whether the tables have no differences.
    #[getter]
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(unpicklable("the differences of two tables", "pickle `to_dict()`"))
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Diff: {}", self.0)
    }
}
