//! Tables and their indexes.

use std::collections::BTreeMap;

use polars::prelude::{BooleanChunked, NewChunkedArray};
use pyo3::{prelude::*, types::PyCapsule};
use tetrys::{Merge, Pick};

use crate::{
    capsule,
    error::{IntoPython, Invalid},
    runtime::{check_frames, wait_long, with_frames},
};

/// One version of a table; immutable.
#[pyclass(frozen, module = "tetrys")]
pub(crate) struct Table(pub(crate) tetrys::Table);

#[pymethods]
impl Table {
    /// Opens the newest version of the table at `url`, or the one that `url@VERSION` names.
    #[new]
    fn new(py: Python<'_>, url: String) -> PyResult<Self> {
        wait_long(py, async move { tetrys::Table::open(&url).await }).map(Self)
    }

    /// Where the table lies.
    #[getter]
    fn url(&self) -> &str {
        self.0.url()
    }

    /// The number of this version.
    #[getter]
    fn version(&self) -> u64 {
        self.0.version()
    }

    /// The table, the same in all versions.
    #[getter]
    fn uuid(&self) -> String {
        self.0.manifest().table.to_string()
    }

    /// The index columns and their types.
    #[getter]
    fn index_columns(&self) -> Vec<(String, String)> {
        self.0.schema().index().map(|column| (column.name.clone(), column.ty.to_string())).collect()
    }

    /// The column groups, each with its columns and their types.
    #[getter]
    fn groups(&self) -> Vec<(String, Vec<(String, String)>)> {
        let schema = self.0.schema();
        let column = |id| schema.column(id).map(|column| (column.name.clone(), column.ty.to_string()));
        let columns = |group: &tetrys::ColumnGroup| group.columns.iter().filter_map(|id| column(*id)).collect();
        schema.groups().iter().map(|group| (group.name.clone(), columns(group))).collect()
    }

    /// Stored bytes, and bytes of the values, of each column group: {group: (stored, decoded)}.
    #[getter]
    fn group_sizes(&self) -> BTreeMap<String, (u64, u64)> {
        let segments = &self.0.manifest().segments;
        let sizes = |(number, group): (usize, &tetrys::ColumnGroup)| {
            let of = segments.iter().filter_map(|segment| segment.groups.get(number));
            let logical = of.clone().flat_map(|group| &group.columns).map(|column| column.logical).sum();
            (group.name.clone(), (of.map(|group| group.stored_bytes).sum(), logical))
        };
        self.0.schema().groups().iter().enumerate().map(sizes).collect()
    }

    /// What the table is, in numbers: what `tetrys info --json` prints, as a dict. Loads the layouts.
    ///
    ///     >>> info = tt.Table("drives").info()
    ///     >>> info["rows"], info["sequences"], info["preset"]
    ///     (20, 2, 'balanced')
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let table = self.0.clone();
        let info = wait_long(py, async move { table.info().await })?;
        let json = serde_json::to_string(&info).map_err(|error| Invalid::new_err(error.to_string()))?;
        py.import("json")?.call_method1("loads", (json,))
    }

    fn _repr_html_<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("tetrys._html")?.call_method1("of_table", (this,))
    }

    /// What the table says of itself.
    #[getter]
    fn properties<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let json = serde_json::to_string(&self.0.manifest().properties).map_err(|error| Invalid::new_err(error.to_string()))?;
        py.import("json")?.call_method1("loads", (json,))
    }

    /// The content of an attachment.
    fn attachment<'py>(&self, py: Python<'py>, name: String) -> PyResult<Bound<'py, pyo3::types::PyBytes>> {
        let table = self.0.clone();
        let content = wait_long(py, async move { table.attachment(&name).await })?;
        Ok(pyo3::types::PyBytes::new(py, &content))
    }

    /// The index, or those of its columns that match any of the patterns.
    #[pyo3(signature = (columns = None))]
    fn _index(&self, py: Python<'_>, columns: Option<Vec<String>>) -> PyResult<Index> {
        check_frames().py()?;
        let table = self.0.clone();
        let open = async move {
            match columns {
                None => table.index().await,
                Some(columns) => table.index_columns(columns).await,
            }
        };
        wait_long(py, open).map(Index)
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.0.rows()).unwrap_or(usize::MAX)
    }

    fn __repr__(&self) -> String {
        format!("Table {} version {}: {} rows", self.0.url(), self.0.version(), self.0.rows())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((py.get_type::<Self>().into_any(), (format!("{}@{}", self.0.url(), self.0.version()),)))
    }
}

/// A frame whose rows can be read; `tetrys.Index` is the face of it.
#[pyclass(frozen, module = "tetrys._tetrys")]
pub(crate) struct Index(pub(crate) tetrys::Index);

#[pymethods]
impl Index {
    fn tables(&self) -> Vec<Table> {
        self.0.tables().cloned().map(Table).collect()
    }

    fn column_names(&self) -> Vec<String> {
        self.0.column_names().map(str::to_owned).collect()
    }

    /// The names of the locator columns, one for each table.
    fn locators(&self) -> Vec<String> {
        let names = self.0.frame().columns().iter().map(|column| column.name().to_string());
        names.filter(|name| tetrys::index::is_locator(name)).collect()
    }

    fn with_frame(&self, py: Python<'_>, frame: &Bound<'_, PyAny>) -> PyResult<Self> {
        check_frames().py()?;
        let frame = capsule::frame(frame)?;
        with_frames(py, || self.0.with_frame(frame)).map(Self)
    }

    /// The answer of a query, as any frame.
    fn query<'py>(&self, py: Python<'py>, query: &str) -> PyResult<Bound<'py, PyCapsule>> {
        let frame = with_frames(py, || self.0.query(query))?;
        capsule::of_frame(py, &frame)
    }

    fn sql(&self, py: Python<'_>, query: &str) -> PyResult<Self> {
        with_frames(py, || self.0.sql(query)).map(Self)
    }

    fn sort(&self, py: Python<'_>, by: Vec<String>, descending: bool) -> PyResult<Self> {
        with_frames(py, || self.0.sort(by, descending)).map(Self)
    }

    fn sample(&self, py: Python<'_>, rows: usize, seed: u64) -> PyResult<Self> {
        with_frames(py, || self.0.sample(rows, seed)).map(Self)
    }

    fn mask(&self, py: Python<'_>, mask: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mask = mask.cast::<numpy::PyArray1<bool>>()?;
        let mask: Vec<bool> = numpy::PyArrayMethods::readonly(mask).as_array().iter().copied().collect();
        if mask.len() != self.0.len() {
            return Err(Invalid::new_err(format!("a mask of {} rows for an index of {}", mask.len(), self.0.len())));
        }
        with_frames(py, || {
            let mask = BooleanChunked::from_slice("mask".into(), &mask);
            let frame = self.0.frame().filter(&mask).map_err(|error| tetrys::Error::invalid(format!("polars: {error}")))?;
            self.0.with_frame(frame)
        })
        .map(Self)
    }

    #[pyo3(signature = (right, on, right_on, left, by_time, right_time, pick, tolerance, first, suffix))]
    #[expect(clippy::too_many_arguments, reason = "the options of a merge, named on the Python side")]
    fn merge(
        &self,
        py: Python<'_>,
        right: &Self,
        on: Vec<String>,
        right_on: Vec<String>,
        left: bool,
        by_time: Option<String>,
        right_time: Option<String>,
        pick: &str,
        tolerance: Option<String>,
        first: bool,
        suffix: String,
    ) -> PyResult<Self> {
        if on.len() != right_on.len() {
            return Err(Invalid::new_err(format!("{} keys on the left, {} on the right", on.len(), right_on.len())));
        }
        let mut merge = Merge::on_pairs(on.into_iter().zip(right_on)).suffix(suffix);
        if let Some(time) = by_time {
            merge = merge.as_of_pair(time.clone(), right_time.unwrap_or(time), parse_pick(pick)?);
        }
        if let Some(tolerance) = tolerance {
            merge = merge.tolerance(tolerance).py()?;
        }
        if left {
            merge = merge.left();
        }
        if first {
            merge = merge.first();
        }
        with_frames(py, || self.0.merge(&right.0, &merge)).map(Self)
    }

    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets the producer choose where it cannot follow.
        let _ = requested_schema;
        check_frames().py()?;
        capsule::of_frame(py, self.0.frame())
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __repr__(&self) -> String {
        let tables: Vec<String> = self.0.tables().map(|table| format!("{}@{}", table.url(), table.version())).collect();
        let rows = format!("Index of {} rows of {}", self.0.len(), tables.join(", "));
        if check_frames().is_ok() { format!("{rows}\n{}", self.0.frame()) } else { rows }
    }
}

/// Indexes one below the other.
#[pyfunction]
pub(crate) fn concat(py: Python<'_>, indexes: Vec<Py<Index>>, fill: bool) -> PyResult<Index> {
    let indexes: Vec<&tetrys::Index> = indexes.iter().map(|index| &index.get().0).collect();
    with_frames(py, || if fill { tetrys::Index::concat_filling(indexes) } else { tetrys::Index::concat(indexes) }).map(Index)
}

pub(crate) fn parse_pick(pick: &str) -> PyResult<Pick> {
    match pick {
        "nearest" => Ok(Pick::Nearest),
        "before" => Ok(Pick::Before),
        "after" => Ok(Pick::After),
        other => Err(Invalid::new_err(format!("pick `{other}`: expected nearest, before or after"))),
    }
}
