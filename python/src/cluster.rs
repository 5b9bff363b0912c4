//! Reads and writes that many processes carry out; `tetrys.cluster` wraps this module.

use std::ops::Range;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use futures::{StreamExt, lock::Mutex as Turns, stream::BoxStream};
use pyo3::{prelude::*, types::PyCapsule};
use tetrys::{SplitSize, Window, WritePlan};

use crate::{
    capsule,
    error::IntoPython,
    index::Index,
    loader::{RowLoader, Rows, parse_window},
    place::{Place, options_of, store_of},
    runtime::{wait, wait_long, with_frames},
    table::Table,
    write::{Described, Options, Partition, Receipt, TableWriter},
};

/// Opens a table with options of its store.
#[pyfunction]
pub(crate) fn cluster_open(py: Python<'_>, place: Place) -> PyResult<Table> {
    let allow = place.2.clone();
    let (url, options) = options_of(place);
    let table = wait_long(py, async move { tetrys::Table::open_with(&url, &options).await })?;
    Ok(Table::from(table.allow(allow)))
}

/// A plan of a write session: its JSON text, its ticket, its session, the number of its partitions, their labels, the columns of the
/// rows with their types, the columns that define sequences, and those by which a task sorts its rows.
type Planned = (String, String, String, Option<u32>, Vec<String>, Vec<(String, String)>, Vec<String>, Vec<String>);

fn planned(plan: &WritePlan) -> Planned {
    let schema = plan.schema();
    let columns = schema.columns().iter().map(|column| (column.name.clone(), column.ty.to_string())).collect();
    let sequence_by = schema.sequence_by().map(|column| column.name.clone()).collect();
    let sorted_by = plan.sorted_by().into_iter().map(str::to_owned).collect();
    let (text, ticket, session) = (plan.to_json(), plan.ticket().to_json(), plan.session().to_string());
    (text, ticket, session, plan.partitions(), plan.labels().to_vec(), columns, sequence_by, sorted_by)
}

/// Starts a session that creates a table, in a store with options.
#[pyfunction]
pub(crate) fn cluster_create(py: Python<'_>, place: Place, schema: Described, options: Options) -> PyResult<TableWriter> {
    let (schema, write, (url, stores)) = (schema.schema(None)?, options.write()?, options_of(place));
    TableWriter::begun(py, &options, async move { tetrys::Table::create_with(&url, &stores, schema, write).await })
}

/// Starts a session that adds rows to a table, once their columns and settings agree with those of the table.
#[pyfunction]
pub(crate) fn cluster_append(py: Python<'_>, table: &Table, schema: Described, options: Options) -> PyResult<TableWriter> {
    let (columns, roles) = schema.roles()?;
    roles.check_appended(&columns, table.table.schema()).map_err(|error| error.at(table.table.url())).py()?;
    TableWriter::append(py, table, options)
}

/// Plans the partitions of a session, and stores the plan.
#[pyfunction]
pub(crate) fn cluster_plan(
    py: Python<'_>,
    writer: &TableWriter,
    partitions: Option<u32>,
    labels: Vec<String>,
) -> PyResult<Planned> {
    let writer = writer.take()?;
    wait(py, writer.plan(partitions, labels)).map(|plan| planned(&plan))
}

/// Joins a session to write its partitions: finds the stored blocks that they can reuse.
#[pyfunction]
pub(crate) fn cluster_join(py: Python<'_>, place: Place, ticket: &str) -> PyResult<TableWriter> {
    let ticket = tetrys::Ticket::from_json(ticket).py()?;
    let joined = tetrys::TableWriter::join(store_of(place)?, &ticket).py()?;
    wait_long(py, joined.with_known_blocks()).map(TableWriter::of)
}

/// Opens a partition of a session that is neither committed nor aborted.
#[pyfunction]
pub(crate) fn cluster_partition(py: Python<'_>, writer: &TableWriter, number: u32, label: Option<String>) -> PyResult<Partition> {
    let taken = writer.take()?;
    let opened = wait(py, taken.ensure_open()).and_then(|()| taken.partition_at(number).py());
    writer.put_back(taken);
    let partition = opened?;
    Ok(Partition::of(match label {
        Some(label) => partition.label(label),
        None => partition,
    }))
}

/// Returns the plans of the sessions that are neither committed nor aborted.
#[pyfunction]
pub(crate) fn cluster_open_sessions(py: Python<'_>, place: Place) -> PyResult<Vec<Planned>> {
    let store = store_of(place)?;
    let plans = wait_long(py, async move { WritePlan::open_in(&store).await })?;
    Ok(plans.iter().map(planned).collect())
}

/// Returns the plan of the session with these labels that has the most finished partitions, if there is one.
#[pyfunction]
pub(crate) fn cluster_to_resume(py: Python<'_>, place: Place, labels: Vec<String>) -> PyResult<Option<Planned>> {
    let store = store_of(place)?;
    let plan = wait_long(py, async move { WritePlan::to_resume(&store, &labels).await })?;
    Ok(plan.as_ref().map(planned))
}

/// Returns the numbers of the planned partitions that have no receipt among these.
#[pyfunction]
pub(crate) fn cluster_missing(plan: &str, receipts: Vec<Py<Receipt>>) -> PyResult<Vec<u32>> {
    Ok(WritePlan::from_json(plan).py()?.missing(receipts.iter().map(|receipt| &receipt.get().0)))
}

/// Returns the number of partitions to make of rows with so many bytes, if these are known.
#[pyfunction]
#[pyo3(signature = (bytes, cores))]
pub(crate) fn cluster_partitions(bytes: Option<u64>, cores: u64) -> u64 {
    WritePlan::usual_partitions(bytes, cores)
}

/// Returns the receipts in the store.
#[pyfunction]
pub(crate) fn cluster_found(py: Python<'_>, place: Place, plan: &str) -> PyResult<Vec<Receipt>> {
    let (plan, store) = (WritePlan::from_json(plan).py()?, store_of(place)?);
    let found = wait_long(py, async move { plan.found(&store).await })?;
    Ok(found.into_iter().map(Receipt).collect())
}

/// Commits these receipts, or those in the store.
#[pyfunction]
pub(crate) fn cluster_commit(py: Python<'_>, place: Place, plan: &str, receipts: Option<Vec<Py<Receipt>>>) -> PyResult<Table> {
    let allow = place.2.clone();
    let (plan, store) = (WritePlan::from_json(plan).py()?, store_of(place)?);
    let receipts = receipts.map(|receipts| receipts.iter().map(|receipt| receipt.get().0.clone()).collect());
    let table = wait_long(py, async move { plan.commit(&store, receipts).await })?;
    Ok(Table::from(table.allow(allow)))
}

/// Ends a session without a commit.
#[pyfunction]
pub(crate) fn cluster_abort(py: Python<'_>, place: Place, plan: &str) -> PyResult<()> {
    let (plan, store) = (WritePlan::from_json(plan).py()?, store_of(place)?);
    wait_long(py, async move { plan.abort(&store).await })
}

/// Returns the number of rows of a window.
#[pyfunction]
pub(crate) fn window_length(window: &Bound<'_, PyAny>) -> PyResult<usize> {
    Ok(parse_window(window)?.len())
}

/// Ranges of rows, as starts and ends.
type Ranges = Vec<(u64, u64)>;

/// Rows, stored bytes, and bytes in memory.
type SplitParts = (Ranges, u64, u64);

fn ranges_of(rows: &Ranges) -> Vec<Range<u64>> {
    rows.iter().map(|(start, end)| *start..*end).collect()
}

fn ends_of(rows: Vec<Range<u64>>) -> Ranges {
    rows.into_iter().map(|rows| (rows.start, rows.end)).collect()
}

/// Returns the table of an index, which is the only one without `table`, and the rows as ranges.
#[pyfunction]
#[pyo3(signature = (index, table = None))]
pub(crate) fn cluster_rows(py: Python<'_>, index: &Index, table: Option<&Table>) -> PyResult<(Table, Ranges)> {
    let (index, table) = (&index.0, table.map(|table| &table.table));
    let (table, rows) = with_frames(py, || {
        let table = table.map_or_else(|| index.only_table(), Ok)?;
        Ok((table.clone(), index.row_ranges(table)?))
    })?;
    Ok((Table::from(table), ends_of(rows)))
}

/// Cuts rows of a loader, or all of them, into splits: at most `count`, or else of about `bytes` each, or else of the usual size.
#[pyfunction]
#[pyo3(signature = (loader, rows = None, count = None, bytes = None))]
pub(crate) fn cluster_splits(
    py: Python<'_>,
    loader: &RowLoader,
    rows: Option<Ranges>,
    count: Option<u64>,
    bytes: Option<u64>,
) -> PyResult<Vec<SplitParts>> {
    let loader = loader.with(None)?;
    let rows = rows.map_or_else(|| std::iter::once(0..loader.len()).collect(), |rows| ranges_of(&rows));
    let size = count.map(SplitSize::Count).or(bytes.map(SplitSize::Bytes)).unwrap_or_default();
    let splits = wait_long(py, async move { loader.splits(&rows, size).await })?;
    Ok(splits.into_iter().map(|split| (ends_of(split.rows), split.bytes, split.memory_bytes)).collect())
}

/// Returns how many tasks to make of rows with so many bytes in memory.
#[pyfunction]
pub(crate) fn cluster_tasks(bytes: u64, cores: u64, least: u64) -> u64 {
    SplitSize::tasks(bytes, cores, least)
}

/// The index columns of some rows that a loader reads. Exports them as a stream of Arrow batches.
#[pyclass(frozen, module = "tetrys._tetrys")]
pub(crate) struct IndexRows(SchemaRef, Vec<RecordBatch>);

#[pymethods]
impl IndexRows {
    #[new]
    fn new(py: Python<'_>, loader: &RowLoader, rows: Ranges) -> PyResult<Self> {
        let loader = loader.with(None)?;
        wait_long(py, async move { loader.index_rows(&ranges_of(&rows)).await }).map(|(schema, batches)| Self(schema, batches))
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        capsule::of_batches(py, SchemaRef::clone(&self.0), self.1.clone())
    }
}

/// A batch of rows: its parts, each with the number of rows of its windows, if it has any.
type Parts = Vec<(Rows, Option<usize>)>;

/// Iterator over the batches of a split. Threads that share it take turns.
#[pyclass(frozen, module = "tetrys._tetrys")]
pub(crate) struct SplitBatches {
    loader: tetrys::RowLoader,
    rows: Ranges,
    batch_bytes: usize,
    windows: Vec<(String, Window)>,
    /// Started by the first call of `next`, so that an iterator made before a fork works in the child.
    batches: Turns<Option<BoxStream<'static, tetrys::Result<Vec<tetrys::Windows>>>>>,
}

#[pymethods]
impl SplitBatches {
    #[new]
    fn new(loader: &RowLoader, rows: Ranges, batch_bytes: usize, windows: Vec<(String, Bound<'_, PyAny>)>) -> PyResult<Self> {
        let windows =
            windows.into_iter().map(|(pattern, window)| Ok((pattern, parse_window(&window)?))).collect::<PyResult<_>>()?;
        Ok(Self { loader: loader.with(None)?, rows, batch_bytes, windows, batches: Turns::default() })
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Parts>> {
        let next = wait(py, async {
            let mut guard = self.batches.lock().await;
            let batches = match guard.take() {
                Some(batches) => batches,
                None => self.loader.batches(ranges_of(&self.rows), self.batch_bytes, self.windows.clone())?.boxed(),
            };
            guard.insert(batches).next().await.transpose()
        });
        let times = || self.windows.iter().map(|(_, window)| Some(window.len())).chain(std::iter::repeat(None));
        Ok(next?.map(|parts| parts.iter().zip(times()).map(|(part, time)| (Rows(part.rows().clone()), time)).collect()))
    }
}

/// Adds the functions and classes of this file to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<SplitBatches>()?;
    module.add_class::<IndexRows>()?;
    module.add_function(wrap_pyfunction!(cluster_open, module)?)?;
    module.add_function(wrap_pyfunction!(window_length, module)?)?;
    module.add_function(wrap_pyfunction!(cluster_open_sessions, module)?)?;
    module.add_function(wrap_pyfunction!(cluster_create, module)?)?;
    module.add_function(wrap_pyfunction!(cluster_append, module)?)?;
    module.add_function(wrap_pyfunction!(cluster_plan, module)?)?;
    module.add_function(wrap_pyfunction!(cluster_join, module)?)?;
    module.add_function(wrap_pyfunction!(cluster_partition, module)?)?;
    module.add_function(wrap_pyfunction!(cluster_found, module)?)?;
    module.add_function(wrap_pyfunction!(cluster_commit, module)?)?;
    module.add_function(wrap_pyfunction!(cluster_abort, module)?)?;
    module.add_function(wrap_pyfunction!(cluster_to_resume, module)?)?;
    module.add_function(wrap_pyfunction!(cluster_missing, module)?)?;
    module.add_function(wrap_pyfunction!(cluster_partitions, module)?)?;
    module.add_function(wrap_pyfunction!(cluster_rows, module)?)?;
    module.add_function(wrap_pyfunction!(cluster_splits, module)?)?;
    module.add_function(wrap_pyfunction!(cluster_tasks, module)?)?;
    Ok(())
}
