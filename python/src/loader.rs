//! Row loaders, and the rows that they read.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};
use futures::{StreamExt, lock::Mutex as Turns, stream::BoxStream};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyCapsule, PyDict, PyList, PyString},
};
use tetrys::{Edge, Explain, Offsets, TimeOffsets, Window, table::RangePlace};

use crate::{
    arrays, capsule,
    error::{Internal, IntoPython, Invalid, found, no_column, short, unpicklable, wrong_type},
    index::{Index, parse_pick},
    pickle,
    runtime::{wait, wait_long},
    table::Table,
};

/// Reads of this many rows run on another thread, so that the waiting thread checks for Ctrl-C.
const MANY: usize = 64;

/// Reads rows by their position in an index; `tetrys.RowLoader` wraps it.
#[pyclass(frozen, module = "tetrys._tetrys")]
pub(crate) struct RowLoader {
    /// Loader of all columns.
    loader: tetrys::RowLoader,
    /// Loader of the columns that a call without columns reads.
    chosen: tetrys::RowLoader,
    /// Loader of the columns of the last call: most calls name the same columns again. Locked only while the GIL is held.
    last: Mutex<Option<(Vec<String>, tetrys::RowLoader)>>,
}

impl RowLoader {
    fn of(loader: tetrys::RowLoader, edge: &str, cache_bytes: usize, columns: Option<Vec<String>>) -> PyResult<Self> {
        let edge = match edge {
            "pad" => Edge::Pad,
            "skip" => Edge::Skip,
            "error" => Edge::Error,
            other => return Err(Invalid::new_err(format!("edge `{other}`: expected pad, skip or error"))),
        };
        let loader = loader.edge(edge).cache_bytes(cache_bytes);
        let chosen = match columns {
            Some(columns) => loader.clone().columns(columns).py()?,
            None => loader.clone(),
        };
        Ok(Self { loader, chosen, last: Mutex::default() })
    }

    pub(crate) fn with(&self, columns: Option<Vec<String>>) -> PyResult<tetrys::RowLoader> {
        let Some(columns) = columns else { return Ok(self.chosen.clone()) };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((key, loader)) = &*last
            && *key == columns
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
    /// Makes a loader of the rows of an index.
    #[staticmethod]
    fn of_index(py: Python<'_>, index: &Index, edge: &str, cache_bytes: usize, columns: Option<Vec<String>>) -> PyResult<Self> {
        Self::of(py.detach(|| tetrys::RowLoader::new(&index.0)).py()?, edge, cache_bytes, columns)
    }

    /// Makes a loader of all rows of a table. Uses no frame, so that it works in a forked child.
    #[staticmethod]
    fn of_table(table: &Table, edge: &str, cache_bytes: usize, columns: Option<Vec<String>>) -> PyResult<Self> {
        Self::of(table.table.row_loader(), edge, cache_bytes, columns)
    }

    /// Makes a loader of the rows of a table that reads these columns, or all columns, with those of the index.
    #[staticmethod]
    #[pyo3(signature = (table, columns = None))]
    fn of_split(table: &Table, columns: Option<Vec<String>>) -> PyResult<Self> {
        let loader = table.table.row_loader();
        let chosen = match columns {
            Some(columns) => loader.clone().columns(columns).py()?,
            None => loader.clone().all_columns().py()?,
        };
        Ok(Self { loader, chosen, last: Mutex::default() })
    }

    /// Names of the columns that a call without columns reads.
    fn column_names(&self) -> Vec<String> {
        self.chosen.column_names().map(str::to_owned).collect()
    }

    /// Returns the names of the columns that any of the patterns matches.
    fn matching(&self, patterns: Vec<String>) -> PyResult<Vec<String>> {
        Ok(self.loader.clone().columns(&patterns).py()?.column_names().map(str::to_owned).collect())
    }

    /// Returns the names of the columns that a call with these columns reads and that a pattern matches.
    fn selected(&self, pattern: &str, columns: Option<Vec<String>>) -> PyResult<Vec<String>> {
        Ok(self.with(columns)?.column_names_matching(pattern).py()?.into_iter().map(str::to_owned).collect())
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

    /// Returns the rows of all windows, the rows of each window, and the largest number of rows of a window.
    fn get_windows(
        &self,
        py: Python<'_>,
        positions: Vec<u64>,
        columns: Option<Vec<String>>,
        window: &Bound<'_, PyAny>,
    ) -> PyResult<StackedWindows> {
        let (loader, window) = (self.with(columns)?, parse_window(window)?);
        let most = window.len();
        let windows = match positions.len() {
            0..MANY => wait(py, loader.get_windows(&positions, &window))?,
            _ => wait_long(py, async move { loader.get_windows(&positions, &window).await })?,
        };
        stacked(&windows, most)
    }

    /// Returns the windows of each part, which is a pattern and a window.
    fn get_parts(
        &self,
        py: Python<'_>,
        positions: Vec<u64>,
        columns: Option<Vec<String>>,
        parts: Vec<(String, Bound<'_, PyAny>)>,
    ) -> PyResult<Vec<StackedWindows>> {
        let (loader, parts) = (self.with(columns)?, parse_parts(parts)?);
        let most: Vec<usize> = parts.iter().map(|(_, window)| window.len()).collect();
        let found = match positions.len() {
            0..MANY => wait(py, loader.get_parts_of_windows(&positions, parts))?,
            _ => wait_long(py, async move { loader.get_parts_of_windows(&positions, parts).await })?,
        };
        found.iter().zip(most).map(|(windows, most)| stacked(windows, most)).collect()
    }

    /// Returns the cost of `get_parts`.
    fn explain_parts<'py>(
        &self,
        py: Python<'py>,
        positions: Vec<u64>,
        columns: Option<Vec<String>>,
        parts: Vec<(String, Bound<'py, PyAny>)>,
        places: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (loader, parts) = (placing(self.with(columns)?, places), parse_parts(parts)?);
        explained(py, &wait(py, loader.explain_parts_of_windows(&positions, parts))?)
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
            return Err(Invalid::new_err("batches of 0 rows: expected 1 or more"));
        }
        Ok(Scan { loader: self.with(columns)?, batch_rows, batches: Turns::default() })
    }

    /// Returns the cost of the windows around these positions, or of the rows alone.
    fn explain<'py>(
        &self,
        py: Python<'py>,
        positions: Vec<u64>,
        columns: Option<Vec<String>>,
        window: Option<Bound<'py, PyAny>>,
        places: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let loader = placing(self.with(columns)?, places);
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

/// The rows of all windows, the rows of each window, and the largest number of rows of a window.
type StackedWindows = (Rows, Vec<Rows>, usize);

fn stacked(windows: &tetrys::Windows, most: usize) -> PyResult<StackedWindows> {
    let each = (0..windows.len()).map(|window| windows.get(window).py().map(Rows)).collect::<PyResult<_>>()?;
    Ok((Rows(windows.rows().clone()), each, most))
}

fn parse_parts(parts: Vec<(String, Bound<'_, PyAny>)>) -> PyResult<Vec<(String, Window)>> {
    parts.into_iter().map(|(pattern, window)| Ok((pattern, parse_window(&window)?))).collect()
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
        if !group.places.is_empty() {
            one.set_item("places", group.places.iter().map(|range| place(py, range)).collect::<PyResult<Vec<_>>>()?)?;
        }
        groups.append(one)?;
    }
    found.set_item("groups", groups)?;
    found.set_item("ranges", cost.ranges)?;
    found.set_item("requests", cost.requests)?;
    found.set_item("bytes", cost.bytes)?;
    found.set_item("payload_bytes", cost.payload_bytes)?;
    found.set_item("hops", cost.hops)?;
    found.set_item("file_reads", cost.file_reads)?;
    Ok(found)
}

fn placing(loader: tetrys::RowLoader, places: bool) -> tetrys::RowLoader {
    if places { loader.explain_places() } else { loader }
}

fn place<'py>(py: Python<'py>, range: &RangePlace) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    found.set_item("object", &*range.object)?;
    found.set_item("owner", range.owner)?;
    found.set_item("bytes", (range.bytes.start, range.bytes.end))?;
    let blocks = range.blocks.iter().map(|block| {
        let one = PyDict::new(py);
        one.set_item("block", block.block)?;
        one.set_item("rows", block.rows)?;
        one.set_item("bytes", block.bytes.iter().map(|bytes| (bytes.start, bytes.end)).collect::<Vec<_>>())?;
        Ok(one)
    });
    found.set_item("blocks", blocks.collect::<PyResult<Vec<_>>>()?)?;
    Ok(found)
}

/// Parses row offsets (`range(-10, 1)`, a list, `"-10..=0"`) or `tetrys.times(..)`.
pub(crate) fn parse_window(window: &Bound<'_, PyAny>) -> PyResult<Window> {
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
type OffsetsArguments = (String, Vec<String>, String, Option<String>);

/// Time offsets of a window, as `tetrys.times` makes them.
#[pyclass(frozen, module = "tetrys._tetrys")]
pub(crate) struct Times {
    offsets: TimeOffsets,
    /// The arguments, for pickling.
    arguments: OffsetsArguments,
}

#[pymethods]
impl Times {
    #[new]
    #[pyo3(signature = (column, deltas, pick = "nearest", tolerance = None))]
    fn new(column: String, deltas: Vec<String>, pick: &str, tolerance: Option<String>) -> PyResult<Self> {
        let arguments = (column.clone(), deltas.clone(), pick.to_owned(), tolerance.clone());
        let offsets = TimeOffsets::new(column, deltas).py()?.pick(parse_pick(pick)?);
        let offsets = match tolerance {
            Some(tolerance) => offsets.within(tolerance).py()?,
            None => offsets,
        };
        Ok(Self { offsets, arguments })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyAny>, OffsetsArguments) {
        (py.get_type::<Self>().into_any(), self.arguments.clone())
    }

    fn __len__(&self) -> usize {
        self.offsets.len()
    }

    fn __repr__(&self) -> String {
        let (column, deltas, pick, tolerance) = &self.arguments;
        let within = tolerance.as_ref().map_or(String::new(), |tolerance| format!(" within {tolerance}"));
        format!("times of `{column}`: {pick} to {}{within}", deltas.join(", "))
    }
}

/// Iterator over batches of rows in order. Prefetches the next batches. Threads that share it take turns.
#[pyclass(frozen, module = "tetrys._tetrys")]
pub(crate) struct Scan {
    loader: tetrys::RowLoader,
    batch_rows: usize,
    /// Started by the first call of `next`, so that a scan made before a fork works in the child.
    batches: Turns<Option<BoxStream<'static, tetrys::Result<tetrys::Rows>>>>,
}

#[pymethods]
impl Scan {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Rows>> {
        let next = wait(py, async {
            let mut batches = self.batches.lock().await;
            batches.get_or_insert_with(|| self.loader.scan(self.batch_rows).boxed()).next().await.transpose()
        });
        Ok(next?.map(Rows))
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(unpicklable("a scan", "pickle the row loader, and call `scan` in the other process"))
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

/// Rows that were read: a mapping of column names to arrays with one entry for each row.
///
/// Numbers and tensors of fixed shape are numpy arrays `[rows, *shape]`: read-only views of the buffers that were read. Bytes,
/// lists of numbers and tensors of variable shape are `Ragged`. Text and other lists are object arrays. Null numbers read as 0;
/// `valid(name)` tells null from 0. An array with a null element inside a tensor or a list of numbers is a masked array of numpy.
/// `len(rows)` is the number of rows, missing ones included.
#[pyclass(frozen, mapping, module = "tetrys")]
pub(crate) struct Rows(pub(crate) tetrys::Rows);

#[pymethods]
impl Rows {
    /// Whether each row exists, bool [rows]. A place of a window is False if its sequence has no such row.
    #[getter]
    fn mask<'py>(&self, py: Python<'py>) -> Bound<'py, numpy::PyArray1<bool>> {
        numpy::PyArray1::from_vec(py, self.0.mask())
    }

    /// Row number in the table at each place, i64 [rows]; -1 for a missing row. Of merged tables, that of the left table.
    #[getter]
    fn table_rows<'py>(&self, py: Python<'py>) -> Bound<'py, numpy::PyArray1<i64>> {
        let rows = self.0.table_rows().iter().map(|row| row.and_then(|row| i64::try_from(row).ok()).unwrap_or(-1));
        numpy::PyArray1::from_vec(py, rows.collect())
    }

    /// Returns whether each row of a column exists in the table of the column, bool [rows]: `mask` without rows that have no
    /// partner in a merge.
    fn column_mask<'py>(&self, py: Python<'py>, name: &Bound<'py, PyAny>) -> PyResult<Bound<'py, numpy::PyArray1<bool>>> {
        let place = self.place(name)?;
        let name = self.0.batch().schema_ref().field(place).name().clone();
        Ok(numpy::PyArray1::from_vec(py, self.0.column_mask(&name).py()?))
    }

    /// Returns whether each value of a column is not null, bool [rows].
    fn valid<'py>(&self, py: Python<'py>, name: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        arrays::valid(py, self.0.batch().column(self.place(name)?))
    }

    /// Type of each column as in a schema, {name: "f32[?,4]"}.
    #[getter]
    fn types<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let types = PyDict::new(py);
        for (name, ty) in self.keys().into_iter().zip(self.0.column_types()) {
            types.set_item(name, ty.to_string())?;
        }
        Ok(types)
    }

    /// Decodes a column of pictures: a list with the pixels of each row, u8 [height, width, 3] or another shape that
    /// `tetrys.decode` returns; None for a null value.
    ///
    /// Example:
    ///     >>> rows = tt.row_loader(tt.read_index("drives")).take([3, 4])
    ///     >>> [image.shape for image in rows.images("camera.jpeg")]
    ///     [(6, 8, 3), (6, 8, 3)]
    fn images<'py>(&self, py: Python<'py>, name: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let values = self.__getitem__(py, name)?;
        py.import("tetrys._images")?.call_method1("decode_all", (name, values))
    }

    /// Returns the columns as PyTorch tensors, {name: tensor}.
    ///
    /// Numbers, times (as i64 ticks) and tensors of fixed shape become one tensor [rows, *shape]. Tensors of variable shape,
    /// lists of numbers and bytes become a list of tensors, None for null. Text and other lists become Python lists.
    ///
    /// The tensors share memory with the arrays of this object, which are read-only: call `clone()` before you write to one.
    /// Booleans are copies.
    ///
    /// Raises:
    ///     Unsupported: PyTorch is not installed, or an element inside a tensor or a list of numbers is null.
    fn to_torch<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("tetrys._torch")?.call_method1("tensors", (this,))
    }

    /// Returns the columns as a pyarrow table of plain types, for libraries that do not know the tensors of Arrow, such as Hugging
    /// Face's `datasets`. `pyarrow.table(rows)` has the tensors.
    ///
    /// A tensor is a list of lists, with a fixed size where the type has a fixed extent: `f32[?,4]` is
    /// `large_list<fixed_size_list<float>[4]>`. Its numbers are not copied. Bytes, text and lists are as in `pyarrow.table(rows)`.
    /// Null values and missing rows are null.
    ///
    /// Example:
    ///     >>> rows = tt.row_loader(tt.read_index("drives")).take([4, 5], ["lidar.*", "camera.intrinsics"])
    ///     >>> str(rows.to_arrow()["camera.intrinsics"].type)
    ///     'fixed_size_list<item: fixed_size_list<item: double>[3]>[3]'
    ///     >>> len(rows.to_arrow()["lidar.points"][1].as_py()), rows["lidar.points"][1].shape
    ///     (1, (1, 4))
    ///
    /// Raises:
    ///     Unsupported: pyarrow is not installed.
    fn to_arrow<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("tetrys._plain")?.call_method1("table_of", (this,))
    }

    fn _repr_html_<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("tetrys._html")?.call_method1("of_rows", (this,))
    }

    /// Returns one row as a dict, as `RowLoader.get_row` does. Negative numbers count from the end.
    fn row<'py>(&self, py: Python<'py>, row: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        dict_of(py, &self.0, arrays::place_of(row, self.0.len())?)
    }

    /// Returns the names of the columns.
    fn keys(&self) -> Vec<String> {
        self.0.batch().schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Returns the arrays of the columns.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let batch = self.0.batch();
        batch.columns().iter().zip(self.0.column_types()).map(|(array, ty)| arrays::column(py, ty, array)).collect()
    }

    /// Returns pairs of column name and array.
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

    /// Number of rows, missing ones included.
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Pickles the values.
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
        // pyarrow accepts the canonical extension type for tensors of variable shape only with 32-bit offsets. The columns have
        // 64-bit offsets, and leave as plain structs.
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
    /// Returns the position of a column.
    fn place(&self, name: &Bound<'_, PyAny>) -> PyResult<usize> {
        if !name.is_instance_of::<PyString>() {
            return Err(wrong_type(&format!("a column is selected by its name, found {}", found(name)?)));
        }
        let schema = self.0.batch().schema_ref();
        // Not all text of Python is Unicode.
        if let Some(place) = name.extract::<String>().ok().and_then(|text| schema.index_of(&text).ok()) {
            return Ok(place);
        }
        Err(no_column(&format!("no column `{}`; there are: {}", short(name)?, self.keys().join(", "))))
    }
}

/// Values, types, table rows, and whether each row of each column exists in the table of the column.
type Pickled<'py> = (Bound<'py, PyBytes>, Vec<String>, Vec<Option<u64>>, Option<Vec<Vec<bool>>>);

/// Restores pickled rows.
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
