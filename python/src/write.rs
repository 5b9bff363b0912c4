//! Writes tables: sessions, partitions, rows of any number, receipts and the commit.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema as ArrowSchema};
use pyo3::prelude::*;
use tetrys::{Preset, Schema, WriteOptions, ingest::Roles, table::Reuse};

use crate::{
    column::{Column, malformed},
    error::{IntoPython, Invalid, text},
    runtime::{wait, wait_long},
    table::Table,
};

/// Columns by name.
pub(crate) type Columns = Vec<(String, Py<Column>)>;

/// Converts columns of equal length to a record batch.
pub(crate) fn batch_of(columns: &[(String, Py<Column>)]) -> PyResult<RecordBatch> {
    let rows = columns.first().map_or(0, |(_, column)| column.get().array.len());
    if let Some((name, column)) = columns.iter().find(|(_, column)| column.get().array.len() != rows) {
        let found = column.get().array.len();
        return Err(Invalid::new_err(format!("column `{name}` has {found} rows, the first column {rows}")));
    }
    let field = |(name, column): &(String, Py<Column>)| Field::new(name, column.get().array.data_type().clone(), true);
    let schema = Arc::new(ArrowSchema::new(columns.iter().map(field).collect::<Vec<_>>()));
    let arrays = columns.iter().map(|(_, column)| ArrayRef::clone(&column.get().array)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema, arrays, &options).map_err(|error| malformed(&error))
}

/// Options of every call that writes payload: the fields of `tetrys._options.Options`.
#[derive(FromPyObject)]
pub(crate) struct Options {
    preset: String,
    reuse: String,
    locality: Option<String>,
    write_memory: Option<usize>,
    allow_unpinned: bool,
    references: Vec<Py<Table>>,
    properties: String,
}

impl Options {
    /// Converts the options to those of the library.
    pub(crate) fn write(&self) -> PyResult<WriteOptions> {
        let default = WriteOptions::default();
        Ok(WriteOptions::default()
            .preset(parse_preset(&self.preset)?)
            .write_memory(self.write_memory.unwrap_or(default.write_memory))
            .locality(self.locality.as_deref().map(str::parse).transpose().py()?.unwrap_or(default.locality))
            .reuse(match self.reuse.as_str() {
                "auto" => Reuse::Auto,
                "any" => Reuse::Any,
                "same-preset" => Reuse::SamePreset,
                "none" => Reuse::None,
                other => return Err(Invalid::new_err(format!("reuse `{other}`: expected auto, any, same-preset or none"))),
            })
            .allow_unpinned(crate::unpinned_if(self.allow_unpinned)))
    }
}

/// Receipt of a finished partition, for `Writer.commit`. It is small and can be pickled.
#[pyclass(frozen, module = "tetrys")]
#[derive(Clone)]
pub(crate) struct Receipt(pub(crate) tetrys::Receipt);

#[pymethods]
impl Receipt {
    /// Parses the text that `to_json` returns.
    #[new]
    fn new(json: &Bound<'_, PyAny>) -> PyResult<Self> {
        serde_json::from_str(&text("a receipt", json)?)
            .map(Self)
            .map_err(|error| tetrys::Error::invalid_json(&error).at("this is no receipt"))
            .py()
    }

    /// Number of rows of the partition.
    #[getter]
    fn rows(&self) -> u64 {
        self.0.rows
    }

    /// Number of the partition.
    #[getter]
    fn partition(&self) -> u32 {
        self.0.partition
    }

    /// Identifies this writing of the partition: each call that writes a partition makes another attempt.
    #[getter]
    fn attempt(&self) -> String {
        self.0.attempt.to_string()
    }

    /// Name of what the partition was made from, or None.
    #[getter]
    fn label(&self) -> Option<&str> {
        self.0.label.as_deref()
    }

    /// Stored bytes of the blocks of the partition that were stored for it.
    #[getter]
    fn new_bytes(&self) -> u64 {
        self.0.new_bytes()
    }

    /// Stored bytes of the blocks that the partition shares with blocks that were stored before.
    #[getter]
    fn shared_bytes(&self) -> u64 {
        self.0.sharing.bytes
    }

    /// Returns the receipt as one line of JSON. `Receipt(text)` parses it.
    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.0).map_err(|error| Invalid::new_err(error.to_string()))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((py.get_type::<Self>().into_any(), (self.to_json()?,)))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    fn __hash__(&self) -> u64 {
        // Each attempt has an identifier of its own.
        u64::from(self.0.partition) ^ self.0.attempt.as_u64_pair().0
    }

    fn __repr__(&self) -> String {
        let label = self.0.label.as_ref().map_or(String::new(), |label| format!(" ({label})"));
        format!("Receipt of partition {}{label}: {} rows", self.0.partition, self.0.rows)
    }
}

/// Session that writes a version; `tetrys.Writer` wraps it.
#[pyclass(frozen, module = "tetrys._tetrys")]
pub(crate) struct TableWriter(Mutex<Option<tetrys::TableWriter>>);

/// Property of a column: column, name, JSON text.
type Property = (String, String, String);

/// Columns with their types, and their roles: the fields of `tetrys._options.Described`.
#[derive(FromPyObject)]
pub(crate) struct Described {
    columns: Vec<(String, String)>,
    index: Option<Vec<String>>,
    groups: Option<Vec<(String, Vec<String>)>>,
    sequence_by: Option<Vec<String>>,
    order_by: Option<Vec<String>>,
    required: Option<Vec<String>>,
    bloom_filters: Option<Vec<String>>,
    properties: Vec<Property>,
    defaults: Vec<Property>,
}

impl Described {
    /// Returns the schema of a new table, or of a version that overwrites a table with the schema `base`.
    pub(crate) fn schema(self, base: Option<&Schema>) -> PyResult<Schema> {
        let (columns, roles) = self.roles()?;
        roles.schema(&columns, base).py()
    }

    /// Returns the columns with their types, and their roles.
    pub(crate) fn roles(self) -> PyResult<(Vec<(String, String)>, Roles)> {
        let parsed = |properties: Vec<Property>| {
            let parse = |(column, key, value): Property| match serde_json::from_str(&value) {
                Ok(value) => Ok((column, key, value)),
                Err(error) => Err(Invalid::new_err(format!("property `{key}` of `{column}`: {error}"))),
            };
            properties.into_iter().map(parse).collect::<PyResult<Vec<_>>>()
        };
        let (properties, defaults) = (parsed(self.properties)?, parsed(self.defaults)?);
        let Self { columns, index, groups, sequence_by, order_by, required, bloom_filters, .. } = self;
        Ok((columns, Roles { index, groups, sequence_by, order_by, required, bloom_filters, properties, defaults }))
    }
}

#[pymethods]
impl TableWriter {
    /// Starts a session that creates a table.
    #[new]
    fn new(py: Python<'_>, url: String, schema: Described, options: Options) -> PyResult<Self> {
        let (schema, write) = (schema.schema(None)?, options.write()?);
        Self::begun(py, &options, async move { tetrys::Table::create(&url, schema, write).await })
    }

    /// Starts a session that adds rows to a table.
    #[staticmethod]
    pub(crate) fn append(py: Python<'_>, table: &Table, options: Options) -> PyResult<Self> {
        let (table, write) = (table.table.clone(), options.write()?);
        Self::begun(py, &options, async move { table.append(write).await })
    }

    /// Starts a session that replaces the rows of a table. What the schema leaves out comes from the table if `inherit`.
    #[staticmethod]
    fn overwrite(py: Python<'_>, table: &Table, schema: Described, options: Options, inherit: bool) -> PyResult<Self> {
        let schema = schema.schema(inherit.then(|| table.table.schema()))?;
        let (table, write) = (table.table.clone(), options.write()?);
        Self::begun(py, &options, async move { table.overwrite(schema, write).await })
    }

    /// Returns the tables whose chunks may be used and that could not be pinned: URL and reason.
    fn unpinned(&self) -> PyResult<Vec<(String, String)>> {
        let writer = self.take()?;
        let unpinned = writer.unpinned().iter().map(|owner| (owner.url.clone(), owner.why.clone())).collect();
        self.put_back(writer);
        Ok(unpinned)
    }

    fn partition(&self) -> PyResult<Partition> {
        let writer = self.take()?;
        let partition = writer.partition().py();
        self.put_back(writer);
        partition.map(Partition::of)
    }

    /// Reserves the next partition for another process; returns the ticket of the session and the number of the partition.
    fn reserve(&self) -> PyResult<(String, u32)> {
        let writer = self.take()?;
        let reserved = writer.ticket().map(|ticket| (ticket.to_json(), writer.reserve())).py();
        self.put_back(writer);
        reserved
    }

    /// Opens a reserved partition.
    fn partition_at(&self, number: u32) -> PyResult<Partition> {
        let writer = self.take()?;
        let partition = writer.partition_at(number).py();
        self.put_back(writer);
        partition.map(Partition::of)
    }

    fn attach(&self, py: Python<'_>, name: String, content: Vec<u8>) -> PyResult<()> {
        let writer = self.take()?;
        let done = wait(py, writer.attach(name, content));
        self.put_back(writer);
        done
    }

    /// Returns the receipts of the partitions of this session that are finished.
    fn receipts(&self, py: Python<'_>) -> PyResult<Vec<Receipt>> {
        let writer = self.take()?;
        let found = wait(py, writer.receipts());
        self.put_back(writer);
        Ok(found?.into_iter().map(Receipt).collect())
    }

    fn abandon(&self, partition: u32) -> PyResult<()> {
        let writer = self.take()?;
        writer.abandon(partition);
        self.put_back(writer);
        Ok(())
    }

    /// Publishes the version. After an error the writer is kept, so that a commit that lacked receipts can be called again.
    fn commit(&self, py: Python<'_>, receipts: Vec<Py<Receipt>>) -> PyResult<Table> {
        let writer = self.take()?;
        let receipts: Vec<tetrys::Receipt> = receipts.iter().map(|receipt| receipt.get().0.clone()).collect();
        let committed = async move {
            let table = writer.commit(receipts).await;
            Ok((writer, table))
        };
        let (writer, table) = wait_long(py, committed)?;
        if table.is_err() {
            self.put_back(writer);
        }
        table.map(Table::from).py()
    }
}

impl TableWriter {
    pub(crate) fn begun(
        py: Python<'_>,
        options: &Options,
        writer: impl Future<Output = tetrys::Result<tetrys::TableWriter>> + Send + 'static,
    ) -> PyResult<Self> {
        let properties: std::collections::BTreeMap<String, serde_json::Value> =
            serde_json::from_str(&options.properties).map_err(|error| Invalid::new_err(format!("properties: {error}")))?;
        let references: Vec<tetrys::Table> = options.references.iter().map(|table| table.get().table.clone()).collect();
        let writer = wait_long(py, async move { writer.await?.references(&references).await })?;
        for (key, value) in properties {
            writer.set_property(key, value);
        }
        Ok(Self::of(writer))
    }

    /// Wraps a session.
    pub(crate) fn of(writer: tetrys::TableWriter) -> Self {
        Self(Mutex::new(Some(writer)))
    }

    /// Puts back the writer that [`TableWriter::take`] took out.
    pub(crate) fn put_back(&self, writer: tetrys::TableWriter) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(writer);
    }

    /// Takes the writer out, so that the mutex is not locked while the GIL is released.
    pub(crate) fn take(&self) -> PyResult<tetrys::TableWriter> {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        guard.take().ok_or_else(|| Invalid::new_err("the table is committed, its commit failed, or another thread is writing"))
    }
}

/// Writer of one partition; `tetrys.Partition` wraps it.
#[pyclass(frozen, module = "tetrys._tetrys")]
pub(crate) struct Partition(Mutex<Option<tetrys::PartitionWriter>>);

#[pymethods]
impl Partition {
    fn write(&self, py: Python<'_>, columns: Columns) -> PyResult<()> {
        let batch = batch_of(&columns)?;
        let mut writer = self.take()?;
        let (writer, done) = wait_long(py, async move {
            let done = writer.write(&batch).await;
            Ok((writer, done))
        })?;
        *self.lock() = Some(writer);
        done.py()
    }

    fn finish(&self, py: Python<'_>) -> PyResult<Receipt> {
        let writer = self.take()?;
        wait_long(py, writer.finish()).map(Receipt)
    }
}

impl Partition {
    pub(crate) fn of(writer: tetrys::PartitionWriter) -> Self {
        Self(Mutex::new(Some(writer)))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<tetrys::PartitionWriter>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> PyResult<tetrys::PartitionWriter> {
        self.lock().take().ok_or_else(|| Invalid::new_err("the partition is finished, broken off, or in use by another thread"))
    }
}

/// Rows of a session that become as many partitions as they need; `tetrys._data.Rows` wraps it.
#[pyclass(frozen, module = "tetrys._tetrys")]
pub(crate) struct RowsWriter(Mutex<Option<tetrys::table::RowsWriter>>);

#[pymethods]
impl RowsWriter {
    /// Starts rows of a session, with at most so many rows in a partition if a number is given.
    #[new]
    fn new(writer: &TableWriter, most: Option<u64>) -> PyResult<Self> {
        let session = writer.take()?;
        let rows = most.map_or_else(|| session.rows(), |most| session.rows_up_to(most)).py();
        writer.put_back(session);
        rows.map(|rows| Self(Mutex::new(Some(rows))))
    }

    fn write(&self, py: Python<'_>, writer: &TableWriter, columns: Columns) -> PyResult<()> {
        let batch = batch_of(&columns)?;
        let (mut rows, session) = (self.take()?, writer.take()?);
        let (rows, session, done) = wait_long(py, async move {
            let done = rows.write(&session, &batch).await;
            Ok((rows, session, done))
        })?;
        *self.lock() = Some(rows);
        writer.put_back(session);
        done.py()
    }

    /// Returns the receipts of all partitions.
    fn finish(&self, py: Python<'_>) -> PyResult<Vec<Receipt>> {
        let rows = self.take()?;
        let receipts = wait_long(py, rows.finish())?;
        Ok(receipts.into_iter().map(Receipt).collect())
    }
}

impl RowsWriter {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<tetrys::table::RowsWriter>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> PyResult<tetrys::table::RowsWriter> {
        self.lock().take().ok_or_else(|| Invalid::new_err("the rows are finished, broken off, or in use by another thread"))
    }
}

pub(crate) fn parse_preset(name: &str) -> PyResult<Preset> {
    let presets = [Preset::Fast, Preset::Balanced, Preset::Compact];
    let found = presets.into_iter().find(|preset| preset.name() == name);
    found.ok_or_else(|| Invalid::new_err(format!("preset `{name}`: expected fast, balanced or compact")))
}
