//! What differs between two tables.

use std::collections::BTreeMap;

use numpy::PyArray1;
use pyo3::{prelude::*, types::PyDict};

use crate::json::to_python;

/// What differs between two tables, by `Table.diff`.
///
///     >>> old = tt.write_table("sweeps", {"time": [0, 1], "lidar.count": [7, 9]}, index=["time"])
///     >>> found = old.append({"time": [2], "lidar.count": [8]}).diff(old, on=["time"])
///     >>> found.added.tolist(), found.unchanged, found.groups["lidar"][0]
///     ([2], 2, 0)
#[pyclass(frozen, module = "tetrys")]
pub(crate) struct Diff(pub(crate) tetrys::table::Diff);

#[pymethods]
impl Diff {
    /// The columns by which rows are told apart; none where they are by their numbers.
    #[getter]
    fn keys(&self) -> Vec<String> {
        self.0.keys.clone()
    }

    /// Rows of the table before, and of the one now.
    #[getter]
    fn rows(&self) -> (u64, u64) {
        let [before, now] = self.0.rows;
        (before, now)
    }

    /// Rows of the table now whose key the one before does not have, u64 [n].
    #[getter]
    fn added<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        PyArray1::from_slice(py, &self.0.added)
    }

    /// Rows of the table before whose key the one now does not have, u64 [n].
    #[getter]
    fn removed<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        PyArray1::from_slice(py, &self.0.removed)
    }

    /// Rows of the table now that differ in the index or in some group, u64 [n].
    #[getter]
    fn changed<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        PyArray1::from_slice(py, &self.0.changed)
    }

    /// How many rows are the same in both.
    #[getter]
    fn unchanged(&self) -> u64 {
        self.0.unchanged
    }

    /// In how many of the rows with equal keys each index column differs: {column: rows}.
    #[getter]
    fn index(&self) -> BTreeMap<String, u64> {
        self.0.index.iter().map(|column| (column.name.clone(), column.changed)).collect()
    }

    /// In how many of the rows with equal keys each column group differs, and whether that is exact or an upper bound (rows that
    /// share a block are known to differ together only): {group: (rows, exact)}; rows are None where the group has other columns.
    #[getter]
    fn groups(&self) -> BTreeMap<String, (Option<u64>, bool)> {
        self.0.groups.iter().map(|group| (group.name.clone(), (group.changed, group.exact))).collect()
    }

    /// Columns of the table now alone, and their types.
    #[getter]
    fn columns_added(&self) -> BTreeMap<String, String> {
        self.0.columns_added.iter().cloned().collect()
    }

    /// Columns of the table before alone, and their types.
    #[getter]
    fn columns_removed(&self) -> BTreeMap<String, String> {
        self.0.columns_removed.iter().cloned().collect()
    }

    /// Bytes of index, layout and hashes that were looked at.
    #[getter]
    fn bytes_read(&self) -> u64 {
        self.0.bytes_read
    }

    /// A line on rows, and one for each column and group that differs.
    fn summary(&self) -> String {
        self.0.to_string()
    }

    /// All of it as a dict of numbers, text and lists, that JSON can hold.
    ///
    ///     >>> table = tt.Table("drives")
    ///     >>> found = table.delete([3, 4]).diff(table).to_dict()
    ///     >>> found["rows"], found["removed"]
    ///     ([20, 18], [3, 4])
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        Ok(to_python(py, &self.0)?.cast_into::<PyDict>()?)
    }

    /// Columns of both that were not compared, their column groups being others.
    #[getter]
    fn not_compared(&self) -> Vec<String> {
        self.0.not_compared.clone()
    }

    /// Whether the changed rows are known to differ, and the others to be the same: `Table.diff(.., exact=True)` is.
    #[getter]
    fn is_exact(&self) -> bool {
        self.0.is_exact()
    }

    /// Whether nothing differs.
    #[getter]
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Diff: {}", self.0)
    }
}
