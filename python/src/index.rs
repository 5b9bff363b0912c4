//! Indexes: their frames, merges and splits, and views saved from them.

use std::sync::{Arc, Mutex, PoisonError};

use polars::prelude::{DataFrame, PolarsError};
use pyo3::{
    prelude::*,
    types::{PyCapsule, PyDict},
};
use tetrys::{IndexRequest, Merge, Pick, ViewOptions, ViewTarget, table};

use crate::{
    capsule,
    error::{Internal, IntoPython, Invalid},
    json::{from_python, to_python},
    place::{Place, options_of},
    runtime::{wait_long, with_frames},
    table::Table,
};

/// A frame whose rows can be read; `tetrys.Index` wraps it.
#[pyclass(frozen, module = "tetrys._tetrys")]
pub(crate) struct Index(pub(crate) tetrys::Index);

#[pymethods]
impl Index {
    /// Loads the index of a table: the columns that match any of the patterns, and the rows for which an SQL condition is true; text as
    /// categorical columns if wanted. Leaves out rows for which `predicate` cannot be true: an expression of polars as JSON. `mask` has
    /// columns and a function that evaluates that expression: it gets a frame of the columns and returns a frame with one column, whether
    /// each row is kept. It may be left out.
    #[staticmethod]
    #[pyo3(signature = (table, columns = None, categorical = false, condition = None, predicate = None, mask = None))]
    fn of_table(
        py: Python<'_>,
        table: &Table,
        columns: Option<Vec<String>>,
        categorical: bool,
        condition: Option<String>,
        predicate: Option<String>,
        mask: Option<(Vec<String>, Py<PyAny>)>,
    ) -> PyResult<Self> {
        tetrys::Index::check_process().py()?;
        let mut request = requested(table, columns, condition, predicate.clone());
        if categorical {
            request = request.categorical();
        }
        let raised = Arc::new(Mutex::new(None));
        if let Some((columns, mask)) = mask {
            request = pruned_with(request, columns, predicate.as_deref(), mask, Arc::clone(&raised));
        }
        wait_long(py, request).map(Self).map_err(|error| match error.is_instance_of::<Invalid>(py) {
            true => raised.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or(error),
            false => error,
        })
    }

    /// Makes an index from a frame with locators of a table version.
    #[staticmethod]
    fn of_frame(py: Python<'_>, table: &Table, frame: &Bound<'_, PyAny>) -> PyResult<Self> {
        tetrys::Index::check_process().py()?;
        let frame = capsule::frame(frame)?;
        with_frames(py, || table.table.index_from(frame)).map(Self)
    }

    /// Returns the bytes of the columns and of the locators in memory.
    fn memory<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.0.memory())
    }

    /// Returns the names of the index columns that match any of the patterns.
    #[staticmethod]
    fn chosen(table: &Table, columns: Vec<String>) -> PyResult<Vec<String>> {
        table.table.index().columns(columns).column_names().py()
    }

    /// Returns what `of_table` with the same arguments reads.
    #[staticmethod]
    #[pyo3(signature = (table, columns = None, condition = None, predicate = None))]
    fn explain<'py>(
        py: Python<'py>,
        table: &Table,
        columns: Option<Vec<String>>,
        condition: Option<String>,
        predicate: Option<String>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let request = requested(table, columns, condition, predicate);
        let explain = wait_long(py, async move { request.explain().await })?;
        let explained = PyDict::new(py);
        for (name, value) in explain.entries() {
            explained.set_item(name, value)?;
        }
        Ok(explained)
    }

    fn tables(&self) -> Vec<Table> {
        self.0.tables().cloned().map(Table::from).collect()
    }

    fn column_names(&self) -> Vec<String> {
        self.0.column_names().map(str::to_owned).collect()
    }

    /// Returns the message for a column that the frame does not have.
    fn no_column(&self, name: &str) -> String {
        self.0.no_column(name).to_string()
    }

    /// Names of the locator columns, one for each table.
    fn locators(&self) -> Vec<String> {
        let names = self.0.frame().columns().iter().map(|column| column.name().to_string());
        names.filter(|name| tetrys::Index::is_locator(name)).collect()
    }

    fn with_frame(&self, py: Python<'_>, frame: &Bound<'_, PyAny>) -> PyResult<Self> {
        tetrys::Index::check_process().py()?;
        let frame = capsule::frame(frame)?;
        with_frames(py, || self.0.with_frame(frame)).map(Self)
    }

    /// Returns the result of a SQL query as an Arrow stream.
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

    #[expect(clippy::too_many_arguments, reason = "the options of a merge, named on the Python side")]
    fn merge(
        &self,
        py: Python<'_>,
        right: &Self,
        on: Vec<(String, String)>,
        times: Option<(String, String)>,
        direction: &str,
        tolerance: Option<String>,
        keep_left: bool,
        first: bool,
        last: bool,
        group_to_list: bool,
        suffix: String,
    ) -> PyResult<Self> {
        let mut merge = Merge::on_pairs(on).suffix(suffix);
        if let Some((left, right)) = times {
            let pick = match direction {
                "backward" => Pick::Before,
                "forward" => Pick::After,
                "nearest" => Pick::Nearest,
                other => return Err(Invalid::new_err(format!("direction `{other}`: expected backward, forward or nearest"))),
            };
            merge = merge.as_of_pair(left, right, pick);
        }
        if let Some(tolerance) = tolerance {
            merge = merge.tolerance(tolerance).py()?;
        }
        if keep_left {
            merge = merge.left();
        }
        if first {
            merge = merge.first();
        }
        if last {
            merge = merge.last();
        }
        if group_to_list {
            merge = merge.group_to_list();
        }
        let mut left = self.0.clone();
        if left.lacks_rows() {
            tetrys::Index::check_process().py()?;
            left = wait_long(py, async move { left.with_sources().await })?;
        }
        with_frames(py, || left.merge(&right.0, &merge)).map(Self)
    }

    fn with_sources(&self, py: Python<'_>) -> PyResult<Self> {
        tetrys::Index::check_process().py()?;
        let index = self.0.clone();
        wait_long(py, async move { index.with_sources().await }).map(Self)
    }

    fn split(&self, py: Python<'_>, keys: Vec<String>, shares: Vec<(String, f64)>, salt: &str) -> PyResult<Vec<(String, Self)>> {
        let parts = with_frames(py, || self.0.split(keys, shares, salt))?;
        Ok(parts.into_iter().map(|(name, part)| (name, Self(part))).collect())
    }

    /// Returns the rows of one of its tables that are in the frame.
    fn rows_of(&self, table: &Table) -> PyResult<Vec<u64>> {
        self.0.rows_of(&table.table).py()
    }

    /// Saves the index as a view, or as the next version of a view; returns the view and the sources that could not be pinned.
    fn save(
        &self,
        py: Python<'_>,
        place: Place,
        properties: Option<&Bound<'_, PyDict>>,
        update: bool,
        allow_unpinned: bool,
    ) -> PyResult<(Table, Unpinned)> {
        tetrys::Index::check_process().py()?;
        let properties = properties.map(|properties| from_python("properties", properties)).transpose()?.unwrap_or_default();
        let allow_unpinned = crate::unpinned_if(allow_unpinned);
        let options = ViewOptions { properties, allow_unpinned, ..ViewOptions::default() };
        let (index, (url, stores)) = (self.0.clone(), options_of(place));
        let saved = wait_long(py, async move {
            let target = match update {
                true => ViewTarget::from(&tetrys::Table::open_with(&url, &stores).await?),
                false => ViewTarget::New(url, stores),
            };
            index.save_with(target, &options).await
        })?;
        let unpinned = saved.unpinned.into_iter().map(|owner| (owner.url, owner.why)).collect();
        Ok((Table::from(saved.table), unpinned))
    }

    /// Returns the size of the view that `save` would write.
    fn view_size<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        tetrys::Index::check_process().py()?;
        let index = self.0.clone();
        to_python(py, &wait_long(py, async move { index.view_size().await })?)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows a producer to ignore the requested schema.
        let _ = requested_schema;
        tetrys::Index::check_process().py()?;
        capsule::of_frame(py, &self.0.to_frame())
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __repr__(&self) -> String {
        let tables: Vec<String> = self.0.tables().map(|table| format!("{}@{}", table.url(), table.version())).collect();
        let rows = format!("Index of {} rows of {}", self.0.len(), tables.join(", "));
        if tetrys::Index::check_process().is_ok() { format!("{rows}\n{}", self.0.to_frame()) } else { rows }
    }
}

/// Reads the index of a table part by part; `scan_index` makes a lazy frame of it.
#[pyclass(frozen, module = "tetrys._tetrys")]
pub(crate) struct IndexScan(Mutex<Option<table::IndexScan>>);

#[pymethods]
impl IndexScan {
    #[new]
    #[pyo3(signature = (table, categorical, columns = None, predicate = None))]
    fn new(table: &Table, categorical: bool, columns: Option<Vec<String>>, predicate: Option<&str>) -> PyResult<Self> {
        tetrys::Index::check_process().py()?;
        let mut scan = table.table.scan_index().py()?;
        if let Some(columns) = columns {
            scan = scan.columns(columns).py()?;
        }
        if let Some(predicate) = predicate {
            scan = scan.prune_json(predicate);
        }
        Ok(Self(Mutex::new(Some(if categorical { scan.categorical() } else { scan }))))
    }

    /// Returns a frame without rows, with all columns, as an Arrow stream.
    fn empty<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let frame = self.lock().as_ref().map(table::IndexScan::empty);
        capsule::of_frame(py, &frame.ok_or_else(|| Internal::new_err("the scan has failed"))?.py()?)
    }

    /// Returns the next rows; None after the last ones.
    fn next(&self, py: Python<'_>) -> PyResult<Option<IndexPart>> {
        let scan = self.lock().take();
        let mut scan = scan.ok_or_else(|| Internal::new_err("the scan has failed, or another thread uses it"))?;
        let (part, scan) = wait_long(py, async move {
            let part = scan.next().await?;
            Ok((part, scan))
        })?;
        *self.lock() = Some(scan);
        Ok(part.map(IndexPart))
    }
}

impl IndexScan {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<table::IndexScan>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Neighbouring rows of an index, whose columns are decoded on demand.
#[pyclass(frozen, module = "tetrys._tetrys")]
pub(crate) struct IndexPart(table::IndexPart);

#[pymethods]
impl IndexPart {
    /// Returns some index columns, in table order, and the locators if wanted, as an Arrow stream.
    fn frame<'py>(&self, py: Python<'py>, columns: Vec<String>, locators: bool) -> PyResult<Bound<'py, PyCapsule>> {
        let frame = with_frames(py, || self.0.frame(columns, locators))?;
        capsule::of_frame(py, &frame)
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.0.len()).unwrap_or(usize::MAX)
    }
}

fn requested(table: &Table, columns: Option<Vec<String>>, condition: Option<String>, predicate: Option<String>) -> IndexRequest {
    let mut request = table.table.index();
    if let Some(columns) = columns {
        request = request.columns(columns);
    }
    if let Some(condition) = condition {
        request = request.filter_sql(condition);
    }
    match predicate {
        Some(predicate) => request.prune_json(predicate),
        None => request,
    }
}

/// Leaves out rows for which a Python function does not return true, where that is safe. Keeps its first exception, with its type, in `raised`.
fn pruned_with(
    request: IndexRequest,
    columns: Vec<String>,
    expression: Option<&str>,
    mask: Py<PyAny>,
    raised: Arc<Mutex<Option<PyErr>>>,
) -> IndexRequest {
    let call = move |frame: DataFrame| {
        let called = Python::try_attach(|py| {
            let found = capsule::frame(&mask.bind(py).call1((capsule::of_frame(py, &frame)?,))?)?;
            let found = found.columns().first().and_then(|column| column.bool().ok().cloned());
            found.ok_or_else(|| Invalid::new_err("expected a column of bool"))
        });
        called.unwrap_or_else(|| Err(Invalid::new_err("the interpreter is shutting down")))
    };
    request.prune_with(columns, expression, move |frame| {
        call(frame).map_err(|error| {
            let error_text = PolarsError::ComputeError(error.to_string().into());
            raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            error_text
        })
    })
}

/// Concatenates the rows of indexes.
#[pyfunction]
pub(crate) fn concat(py: Python<'_>, indexes: Vec<Py<Index>>, fill: bool) -> PyResult<Index> {
    let indexes: Vec<&tetrys::Index> = indexes.iter().map(|index| &index.get().0).collect();
    with_frames(py, || if fill { tetrys::Index::concat_filling(indexes) } else { tetrys::Index::concat(indexes) }).map(Index)
}

/// Tables that could not be pinned: URL and reason.
type Unpinned = Vec<(String, String)>;

/// Makes the views of a recipe: a TOML text, or a dict with the same keys. The options of `place` are for all tables and views of the
/// recipe; its URL is not used.
#[pyfunction]
pub(crate) fn run<'py>(
    py: Python<'py>,
    recipe: &Bound<'_, PyAny>,
    dry_run: bool,
    place: Place,
    allow_unpinned: bool,
    memory_limit: Option<u64>,
    temporary_folder: Option<String>,
) -> PyResult<(Bound<'py, PyAny>, Unpinned)> {
    tetrys::Index::check_process().py()?;
    let recipe = match recipe.extract::<String>() {
        Ok(text) => tetrys::Recipe::parse(&text),
        Err(_) => tetrys::Recipe::from_value(from_python("recipe", recipe)?),
    };
    let recipe = recipe.py()?;
    let (_, stores) = options_of(place);
    let (allow_unpinned, temporary_folder) = (crate::unpinned_if(allow_unpinned), temporary_folder.map(Into::into));
    let options = ViewOptions { allow_unpinned, memory_limit, temporary_folder, ..ViewOptions::default() };
    let made = wait_long(py, async move {
        match dry_run {
            true => recipe.dry_run(&stores, &options).await,
            false => recipe.run(&stores, &options).await,
        }
    })?;
    let unpinned = made.iter().flat_map(|view| &view.unpinned).map(|owner| (owner.url.clone(), owner.why.clone())).collect();
    Ok((to_python(py, &made)?, unpinned))
}

pub(crate) fn parse_pick(pick: &str) -> PyResult<Pick> {
    match pick {
        "nearest" => Ok(Pick::Nearest),
        "before" => Ok(Pick::Before),
        "after" => Ok(Pick::After),
        other => Err(Invalid::new_err(format!("pick `{other}`: expected nearest, before or after"))),
    }
}
