//! Loaders of rows, and the rows that they give.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};
use futures::{StreamExt, stream::BoxStream};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyCapsule, PyDict, PyList},
};
use tetrys::{Edge, Explain, Offsets, TimeOffsets, Window};

use crate::{
    arrays, capsule,
    error::{Internal, IntoPython, Invalid, no_column, wrong_type},
    index::{Index, parse_pick},
    pickle,
    runtime::{wait, wait_long},
    table::Table,
};

/// Reads of so many rows leave the thread that waits for them, so that it sees Ctrl-C.
const MANY: usize = 64;

/// Reads rows by their position in an index.
#[pyclass(frozen, module = "tetrys._tetrys")]
pub(crate) struct RowLoader {
    /// Of every column.
    loader: tetrys::RowLoader,
    /// Of the columns that are read where a call names none.
    chosen: tetrys::RowLoader,
    /// The loader of the columns asked for last: most callers ask for the same ones again. Locked while the GIL is held only.
    last: Mutex<Option<(Vec<String>, tetrys::RowLoader)>>,
}

impl RowLoader {
    fn of(loader: tetrys::RowLoader, edge: &str, keep: usize, columns: Option<Vec<String>>) -> PyResult<Self> {
        let edge = match edge {
            "pad" => Edge::Pad,
            "skip" => Edge::Skip,
            "error" => Edge::Error,
            other => return Err(Invalid::new_err(format!("edge `{other}`: expected pad, skip or error"))),
        };
        let loader = loader.edge(edge).keep(keep);
        let chosen = match columns {
            Some(columns) => loader.clone().columns(columns).py()?,
            None => loader.clone(),
        };
        Ok(Self { loader, chosen, last: Mutex::default() })
    }

    fn with(&self, columns: Option<Vec<String>>) -> PyResult<tetrys::RowLoader> {
        let Some(columns) = columns else { return Ok(self.chosen.clone()) };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((held, loader)) = &*last
            && *held == columns
        {
            return Ok(loader.clone());
        }
        let loader = self.loader.clone().columns(&columns).py()?;
        *last = Some((columns, loader.clone()));
        Ok(loader)
    }

    fn position(&self, position: &Bound<'_, PyAny>) -> PyResult<u64> {
        let len = usize::try_from(self.loader.len()).unwrap_or(usize::MAX);
        arrays::place_of(position, len).map(|place| place as u64)
    }
}

#[pymethods]
impl RowLoader {
    /// Of the rows of an index.
    #[staticmethod]
    fn of_index(py: Python<'_>, index: &Index, edge: &str, keep: usize, columns: Option<Vec<String>>) -> PyResult<Self> {
        Self::of(py.detach(|| tetrys::RowLoader::new(&index.0)).py()?, edge, keep, columns)
    }

    /// Of all rows of a table; no frame is made, so that it works in a forked child.
    #[staticmethod]
    fn of_table(table: &Table, edge: &str, keep: usize, columns: Option<Vec<String>>) -> PyResult<Self> {
        Self::of(table.table.row_loader(), edge, keep, columns)
    }

    /// The columns that are read where a call names none.
    fn column_names(&self) -> Vec<String> {
        self.chosen.column_names().map(str::to_owned).collect()
    }

    /// The names of the columns that any of the patterns matches.
    fn matching(&self, patterns: Vec<String>) -> PyResult<Vec<String>> {
        Ok(self.loader.clone().columns(&patterns).py()?.column_names().map(str::to_owned).collect())
    }

    fn get_row<'py>(
        &self,
        py: Python<'py>,
        position: &Bound<'py, PyAny>,
        columns: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (loader, position) = (self.with(columns)?, self.position(position)?);
        let row = wait(py, loader.get_row(position))?;
        dict_of(py, row.as_rows(), 0)
    }

    fn get_rows(
        &self,
        py: Python<'_>,
        position: &Bound<'_, PyAny>,
        columns: Option<Vec<String>>,
        window: &Bound<'_, PyAny>,
    ) -> PyResult<Rows> {
        let (loader, position, window) = (self.with(columns)?, self.position(position)?, parse_window(window)?);
        wait(py, loader.get_rows(position, &window)).map(Rows)
    }

    /// The rows of all windows, those of each, and how many rows a window has at most.
    fn get_windows(
        &self,
        py: Python<'_>,
        positions: Vec<u64>,
        columns: Option<Vec<String>>,
        window: &Bound<'_, PyAny>,
    ) -> PyResult<(Rows, Vec<Rows>, usize)> {
        let (loader, window) = (self.with(columns)?, parse_window(window)?);
        let most = match &window {
            Window::Rows(offsets) => offsets.len(),
            Window::Times(times) => times.len(),
        };
        let windows = match positions.len() {
            0..MANY => wait(py, loader.get_windows(&positions, &window))?,
            _ => wait_long(py, async move { loader.get_windows(&positions, &window).await })?,
        };
        let each = (0..windows.len()).map(|window| windows.get(window).py().map(Rows)).collect::<PyResult<_>>()?;
        Ok((Rows(windows.rows().clone()), each, most))
    }

    fn take(&self, py: Python<'_>, positions: Vec<u64>, columns: Option<Vec<String>>) -> PyResult<Rows> {
        let loader = self.with(columns)?;
        match positions.len() {
            0..MANY => wait(py, loader.take(&positions)).map(Rows),
            _ => wait_long(py, async move { loader.take(&positions).await }).map(Rows),
        }
    }

    fn scan(&self, batch_rows: usize, columns: Option<Vec<String>>) -> PyResult<Scan> {
        if batch_rows == 0 {
            return Err(Invalid::new_err("batches of 0 rows"));
        }
        Ok(Scan { loader: self.with(columns)?, batch_rows, batches: Mutex::default() })
    }

    /// What a window costs; without one, what these positions cost.
    fn explain<'py>(
        &self,
        py: Python<'py>,
        positions: Vec<u64>,
        columns: Option<Vec<String>>,
        window: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let loader = self.with(columns)?;
        let cost = match window {
            Some(window) => {
                let window = parse_window(&window)?;
                wait(py, loader.explain_windows(&positions, &window))?
            }
            None => wait(py, loader.explain_take(&positions))?,
        };
        explained(py, &cost)
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.loader.len()).unwrap_or(usize::MAX)
    }
}

fn explained<'py>(py: Python<'py>, cost: &Explain) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    let groups = PyList::empty(py);
    for group in &cost.groups {
        let one = PyDict::new(py);
        one.set_item("name", &group.name)?;
        one.set_item("columns", &group.columns)?;
        one.set_item("blocks", group.blocks)?;
        one.set_item("ranges", group.ranges)?;
        one.set_item("requests", group.requests)?;
        one.set_item("bytes", group.bytes)?;
        one.set_item("payload_bytes", group.payload_bytes)?;
        groups.append(one)?;
    }
    found.set_item("groups", groups)?;
    found.set_item("ranges", cost.ranges)?;
    found.set_item("requests", cost.requests)?;
    found.set_item("bytes", cost.bytes)?;
    found.set_item("payload_bytes", cost.payload_bytes)?;
    found.set_item("hops", cost.hops)?;
    Ok(found)
}

/// Row offsets (`range(-10, 1)`, a list, `"-10..=0"`), or `tetrys.times(..)`.
fn parse_window(window: &Bound<'_, PyAny>) -> PyResult<Window> {
    if let Ok(times) = window.cast::<Times>() {
        return Ok(Window::Times(times.get().offsets.clone()));
    }
    if let Ok(text) = window.extract::<String>() {
        return text.parse::<Offsets>().map(Window::Rows).py();
    }
    let offsets = window.try_iter()?.map(|offset| offset?.extract::<i64>()).collect::<PyResult<Vec<_>>>()?;
    Offsets::new(offsets).map(Window::Rows).py()
}

/// Column, deltas, pick, and tolerance.
type Said = (String, Vec<String>, String, Option<String>);

/// The rows at these times around a row.
#[pyclass(frozen, module = "tetrys._tetrys")]
pub(crate) struct Times {
    offsets: TimeOffsets,
    /// What it was made of.
    said: Said,
}

#[pymethods]
impl Times {
    #[new]
    #[pyo3(signature = (column, deltas, pick = "nearest", tolerance = None))]
    fn new(column: String, deltas: Vec<String>, pick: &str, tolerance: Option<String>) -> PyResult<Self> {
        let said = (column.clone(), deltas.clone(), pick.to_owned(), tolerance.clone());
        let offsets = TimeOffsets::new(column, deltas).py()?.pick(parse_pick(pick)?);
        let offsets = match tolerance {
            Some(tolerance) => offsets.within(tolerance).py()?,
            None => offsets,
        };
        Ok(Self { offsets, said })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyAny>, Said) {
        (py.get_type::<Self>().into_any(), self.said.clone())
    }

    fn __len__(&self) -> usize {
        self.offsets.len()
    }

    fn __repr__(&self) -> String {
        let (column, deltas, pick, tolerance) = &self.said;
        let within = tolerance.as_ref().map_or(String::new(), |tolerance| format!(" within {tolerance}"));
        format!("times of `{column}`: {pick} to {}{within}", deltas.join(", "))
    }
}

/// Batches of rows in order; the next ones are read while one is used.
#[pyclass(frozen, module = "tetrys._tetrys")]
pub(crate) struct Scan {
    loader: tetrys::RowLoader,
    batch_rows: usize,
    /// Started by the first call of `next`, so that a scan begun before a fork can be used behind it.
    batches: Mutex<Option<BoxStream<'static, tetrys::Result<tetrys::Rows>>>>,
}

#[pymethods]
impl Scan {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Rows>> {
        // Taken out, so that nothing is locked while the GIL is not held.
        let held = self.batches.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut batches = held.unwrap_or_else(|| self.loader.scan(self.batch_rows).boxed());
        let next = wait(py, async { batches.next().await.transpose() });
        *self.batches.lock().unwrap_or_else(PoisonError::into_inner) = Some(batches);
        Ok(next?.map(Rows))
    }
}

fn dict_of<'py>(py: Python<'py>, rows: &tetrys::Rows, row: usize) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    let batch = rows.batch();
    for ((field, array), ty) in batch.schema_ref().fields().iter().zip(batch.columns()).zip(rows.column_types()) {
        found.set_item(field.name(), arrays::value(py, ty, array, row)?)?;
    }
    Ok(found)
}

/// Some rows: a mapping of column names to arrays with one entry a row, and a mask of the rows that exist.
///
/// Columns of fixed shape are numpy arrays `[rows, *shape]`, views of the memory that was read; bytes, lists of numbers and
/// tensors of variable shape are `Ragged`; text and other lists are object arrays. Null slots of numbers are 0: `valid(name)`
/// says which are null.
#[pyclass(frozen, mapping, module = "tetrys")]
pub(crate) struct Rows(tetrys::Rows);

#[pymethods]
impl Rows {
    /// Which of the rows exist, bool [rows].
    #[getter]
    fn mask<'py>(&self, py: Python<'py>) -> Bound<'py, numpy::PyArray1<bool>> {
        numpy::PyArray1::from_vec(py, self.0.mask())
    }

    /// The row of the table at each place (of merged tables that of the first), -1 for none; i64 [rows].
    #[getter]
    fn table_rows<'py>(&self, py: Python<'py>) -> Bound<'py, numpy::PyArray1<i64>> {
        let rows = self.0.table_rows().iter().map(|row| row.and_then(|row| i64::try_from(row).ok()).unwrap_or(-1));
        numpy::PyArray1::from_vec(py, rows.collect())
    }

    /// Which rows of a column have a table behind them, bool [rows]: as `mask`, less those without a partner in a merge.
    fn column_mask<'py>(&self, py: Python<'py>, name: &Bound<'py, PyAny>) -> PyResult<Bound<'py, numpy::PyArray1<bool>>> {
        let place = self.place(name)?;
        let name = self.0.batch().schema_ref().field(place).name().clone();
        Ok(numpy::PyArray1::from_vec(py, self.0.column_mask(&name).py()?))
    }

    /// Which rows of a column are not null, bool [rows].
    fn valid<'py>(&self, py: Python<'py>, name: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        arrays::valid(py, self.0.batch().column(self.place(name)?))
    }

    /// The type of each column, as schemas write it: {name: "f32[?,4]"}.
    #[getter]
    fn types<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let types = PyDict::new(py);
        for (name, ty) in self.keys().into_iter().zip(self.0.column_types()) {
            types.set_item(name, ty.to_string())?;
        }
        Ok(types)
    }

    /// The pixels of each row of a column of pictures, None where it is null: u8 [height, width, 3] and what else
    /// `tetrys.decode` gives.
    ///
    ///     >>> rows = tt.row_loader(tt.read_index("drives")).take([3, 4])
    ///     >>> [image.shape for image in rows.images("camera.jpeg")]
    ///     [(6, 8, 3), (6, 8, 3)]
    fn images<'py>(&self, py: Python<'py>, name: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let values = self.__getitem__(py, name)?;
        py.import("tetrys._images")?.call_method1("decode_all", (name, values))
    }

    /// The columns as tensors of PyTorch: numbers, times (as i64 ticks) and tensors of fixed shape as one tensor [rows, *shape],
    /// tensors of variable shape, lists of numbers and bytes as a list of tensors (None for null), text as a list of str.
    ///
    /// The tensors share the memory that numpy's arrays do (booleans are copied, by numpy already): clone one before writing into
    /// it. Raises `Unsupported` where PyTorch is not installed.
    fn to_torch<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("tetrys._torch")?.call_method1("tensors", (this,))
    }

    fn _repr_html_<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("tetrys._html")?.call_method1("of_rows", (this,))
    }

    /// One row, as `RowLoader.get_row` gives it.
    fn row<'py>(&self, py: Python<'py>, row: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        dict_of(py, &self.0, arrays::place_of(row, self.0.len())?)
    }

    /// The names of the columns.
    fn keys(&self) -> Vec<String> {
        self.0.batch().schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The arrays of the columns.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let batch = self.0.batch();
        batch.columns().iter().zip(self.0.column_types()).map(|(array, ty)| arrays::column(py, ty, array)).collect()
    }

    /// Pairs of name and array.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
        Ok(self.keys().into_iter().zip(self.values(py)?).collect())
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let place = self.place(name)?;
        arrays::column(py, &self.0.column_types()[place], self.0.batch().column(place))
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> bool {
        name.extract::<String>().is_ok_and(|name| self.0.batch().schema_ref().index_of(&name).is_ok())
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyList::new(py, self.keys())?.try_iter()?.into_any())
    }

    /// How many rows, missing ones included (not columns, as with a frame).
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Takes the values along.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Pickled<'py>)> {
        let restore = py.import("tetrys._tetrys")?.getattr("restore_rows")?;
        let bytes = PyBytes::new(py, &pickle::to_bytes(self.0.batch())?);
        let types = self.0.column_types().iter().map(ToString::to_string).collect();
        let partners = self.0.partners().map(<[_]>::to_vec);
        Ok((restore, (bytes, types, self.0.table_rows().to_vec(), partners)))
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        // pyarrow takes the canonical tensor of variable shape with 32-bit offsets alone: here it goes as the struct that it is.
        let canonical = |field: &Field| field.extension_type_name() == Some("arrow.variable_shape_tensor");
        let plain = |field: &Field| {
            if canonical(field) { field.clone().with_metadata(arrow_schema::Metadata::default()) } else { field.clone() }
        };
        let batch = self.0.batch();
        let schema = Arc::new(Schema::new(batch.schema_ref().fields().iter().map(|field| plain(field)).collect::<Vec<_>>()));
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), batch.columns().to_vec(), &options);
        let batch = batch.map_err(|error| Internal::new_err(error.to_string()))?;
        capsule::of_batches(py, schema, vec![batch])
    }

    fn __repr__(&self) -> String {
        let there = self.0.mask().iter().filter(|there| **there).count();
        let columns: Vec<String> =
            self.keys().iter().zip(self.0.column_types()).map(|(name, ty)| format!("{name}: {ty}")).collect();
        format!("Rows: {} of which {there} exist; {}", self.0.len(), columns.join(", "))
    }
}

impl Rows {
    /// The place of a column.
    fn place(&self, name: &Bound<'_, PyAny>) -> PyResult<usize> {
        let Ok(text) = name.extract::<String>() else {
            return Err(wrong_type(&format!("a column is named by its name, found {}", name.repr()?)));
        };
        let schema = self.0.batch().schema_ref();
        schema.index_of(&text).map_err(|_| no_column(&format!("no column `{text}`; there are: {}", self.keys().join(", "))))
    }
}

/// Values, types, rows of the table, and which rows of each column have a table behind them.
type Pickled<'py> = (Bound<'py, PyBytes>, Vec<String>, Vec<Option<u64>>, Option<Vec<Vec<bool>>>);

/// What pickled rows become.
#[pyfunction]
pub(crate) fn restore_rows(
    bytes: &[u8],
    types: Vec<String>,
    rows: Vec<Option<u64>>,
    partners: Option<Vec<Vec<bool>>>,
) -> PyResult<Rows> {
    let types = types.iter().map(|ty| ty.parse().py()).collect::<PyResult<_>>()?;
    tetrys::Rows::from_parts(pickle::from_bytes(bytes)?, types, rows, partners).py().map(Rows)
}

/// Takes a Level 5 data set in as a new table.
#[pyfunction]
pub(crate) fn ingest_l5(
    py: Python<'_>,
    source: String,
    url: String,
    preset: &str,
    workers: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Table> {
    let mut settings = tetrys::ingest::l5::IngestSettings { workers, ..Default::default() };
    settings.write.preset = crate::write::parse_preset(preset)?;
    let work = async move {
        let dataset = tetrys::ingest::l5::Dataset::open(&source)?;
        let report = move |done: u64| {
            if let Some(progress) = &progress {
                // What a progress bar raises cannot stop the ingest; it is printed.
                Python::attach(|py| progress.call1(py, (done,)).map(drop).unwrap_or_else(|error| error.print(py)));
            }
        };
        tetrys::ingest::l5::ingest(&dataset, tetrys::Store::open(&url)?, &settings, report).await
    };
    wait_long(py, work).map(Table::from)
}
