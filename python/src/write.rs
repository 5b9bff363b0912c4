//! Writing tables: columns from Python, partitions, receipts, the commit.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{
    Array, ArrayRef, BinaryArray, FixedSizeListArray, GenericListArray, Int32Array, LargeBinaryArray, LargeListArray,
    LargeStringArray, OffsetSizeTrait, RecordBatch, RecordBatchOptions, StructArray, cast::AsArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Schema as ArrowSchema, TimeUnit};
use pyo3::{
    prelude::*,
    pybacked::{PyBackedBytes, PyBackedStr},
};
use tetrys::{ColumnType, Preset, Primitive, Schema, WriteOptions, write::Reuse};

use crate::{
    arrays, capsule,
    error::{IntoPython, Invalid},
    runtime::{wait, wait_long},
    table::Table,
};

/// Values of a column on their way into a table, and the type that they suggest.
#[pyclass(frozen, module = "tetrys._tetrys")]
pub(crate) struct Column {
    array: ArrayRef,
    ty: ColumnType,
}

#[pymethods]
impl Column {
    /// Text, None where there is none.
    #[staticmethod]
    fn text(values: Vec<Option<PyBackedStr>>) -> Self {
        let values: LargeStringArray = values.iter().map(Option::as_deref).collect();
        Self { array: Arc::new(values), ty: ColumnType::Utf8 }
    }

    /// Bytes, None where there are none.
    #[staticmethod]
    fn bytes(values: Vec<Option<PyBackedBytes>>) -> Self {
        let values: LargeBinaryArray = values.iter().map(Option::as_deref).collect();
        Self { array: Arc::new(values), ty: ColumnType::Binary }
    }

    /// Scalars and tensors of fixed shape, from the flat values of all rows; `valid` says which rows are not null.
    #[staticmethod]
    fn fixed(ty: &str, rows: usize, values: &Bound<'_, PyAny>, valid: Option<Vec<bool>>) -> PyResult<Self> {
        let ty: ColumnType = ty.parse().py()?;
        let nulls = valid.map(NullBuffer::from);
        let (element, elements) = match (&ty, ty.fixed_elements()) {
            (ColumnType::Scalar(element) | ColumnType::Tensor { element, .. }, Some(elements)) => (*element, elements),
            (ColumnType::Date, _) => (Primitive::I32, 1),
            (ColumnType::Timestamp(..) | ColumnType::Duration(_), _) => (Primitive::I64, 1),
            _ => return Err(Invalid::new_err(format!("{ty} is of no fixed shape"))),
        };
        let flat = arrays::from_numpy(element, values)?;
        if Some(flat.len() as u64) != (rows as u64).checked_mul(elements) {
            return Err(Invalid::new_err(format!("{} values for {rows} rows of {ty}", flat.len())));
        }
        let array: ArrayRef = match &ty {
            ColumnType::Tensor { .. } => {
                let size = i32::try_from(elements).map_err(|_| Invalid::new_err(format!("{ty} is too large")))?;
                let field = Arc::new(Field::new("item", element.arrow(), true));
                Arc::new(
                    FixedSizeListArray::try_new_with_length(field, size, flat, nulls, rows).map_err(|error| malformed(&error))?,
                )
            }
            _ => {
                let data = flat.to_data().into_builder().data_type(ty.arrow()).nulls(nulls);
                arrow_array::make_array(data.build().map_err(|error| malformed(&error))?)
            }
        };
        Ok(Self { array, ty })
    }

    /// Tensors of variable shape, or lists of scalars, from the flat values of all rows and the shape of each.
    #[staticmethod]
    fn ragged(ty: &str, shapes: Vec<Vec<i32>>, values: &Bound<'_, PyAny>, valid: Option<Vec<bool>>) -> PyResult<Self> {
        let ty: ColumnType = ty.parse().py()?;
        let nulls = valid.map(NullBuffer::from);
        let lengths = shapes.iter().map(|shape| shape.iter().map(|extent| *extent as usize).product());
        let offsets = OffsetBuffer::<i64>::from_lengths(lengths);
        let element = match &ty {
            ColumnType::Tensor { element, .. } => element,
            ColumnType::List(item) if let ColumnType::Scalar(element) = &**item => element,
            _ => return Err(Invalid::new_err(format!("{ty} is no tensor of variable shape"))),
        };
        let item = Arc::new(Field::new("item", element.arrow(), true));
        let flat = arrays::from_numpy(*element, values)?;
        let array: ArrayRef = match &ty {
            ColumnType::Tensor { shape, .. } => {
                let rank = i32::try_from(shape.len()).map_err(|_| Invalid::new_err("a rank past 2^31"))?;
                let extents: Int32Array = shapes.iter().flatten().copied().collect();
                let shape = Arc::new(Field::new("item", DataType::Int32, true));
                let shapes = FixedSizeListArray::try_new_with_length(shape, rank, Arc::new(extents), None, shapes.len());
                let shapes: ArrayRef = Arc::new(shapes.map_err(|error| malformed(&error))?);
                let data: ArrayRef =
                    Arc::new(LargeListArray::try_new(item, offsets, flat, None).map_err(|error| malformed(&error))?);
                let DataType::Struct(fields) = ty.arrow() else { return Err(Invalid::new_err(format!("{ty} is no struct"))) };
                Arc::new(StructArray::try_new(fields, vec![data, shapes], nulls).map_err(|error| malformed(&error))?)
            }
            _ => Arc::new(LargeListArray::try_new(item, offsets, flat, nulls).map_err(|error| malformed(&error))?),
        };
        Ok(Self { array, ty })
    }

    /// A list in each row, of the items of all rows one behind the other.
    #[staticmethod]
    fn lists(lengths: Vec<usize>, items: &Self, valid: Option<Vec<bool>>) -> PyResult<Self> {
        let field = Arc::new(Field::new("item", items.array.data_type().clone(), true));
        let offsets = OffsetBuffer::<i64>::from_lengths(lengths);
        let list = LargeListArray::try_new(field, offsets, ArrayRef::clone(&items.array), valid.map(NullBuffer::from));
        Ok(Self { array: Arc::new(list.map_err(|error| malformed(&error))?), ty: ColumnType::list(items.ty.clone()) })
    }

    /// A column of a library that speaks Arrow: a polars series, a pyarrow array.
    #[staticmethod]
    fn arrow(values: &Bound<'_, PyAny>) -> PyResult<Self> {
        let chunks = capsule::arrays(values)?.iter().map(plain).collect::<PyResult<Vec<_>>>()?;
        let chunks: Vec<&dyn Array> = chunks.iter().map(AsRef::as_ref).collect();
        let array = arrow_select::concat::concat(&chunks).map_err(|error| malformed(&error))?;
        let ty = type_of(&Field::new("", array.data_type().clone(), true))?;
        Ok(Self { array, ty })
    }

    /// The type as schemas write it.
    #[getter]
    fn r#type(&self) -> String {
        self.ty.to_string()
    }

    fn __len__(&self) -> usize {
        self.array.len()
    }

    fn __repr__(&self) -> String {
        format!("Column of {} rows, {}", self.array.len(), self.ty)
    }
}

/// The columns of a frame or of record batches, as pairs of name and column, for each batch.
#[pyfunction]
pub(crate) fn columns_of(frame: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<(String, Column)>>> {
    let columns = |batch: &RecordBatch| {
        let schema = batch.schema();
        let columns = schema.fields().iter().zip(batch.columns()).map(|(field, array)| {
            let array = plain(array)?;
            let ty = type_of(&Field::clone(field).with_data_type(array.data_type().clone()))?;
            Ok((field.name().clone(), Column { array, ty }))
        });
        columns.collect()
    };
    capsule::batches(frame)?.iter().map(columns).collect()
}

/// The type that a schema would give a column of this field.
fn type_of(field: &Field) -> PyResult<ColumnType> {
    let unknown = || Invalid::new_err(format!("column `{}`: no column type for Arrow's {}", field.name(), field.data_type()));
    known_type(field).ok_or_else(unknown)
}

/// As [`type_of`]; none where there is no such type.
fn known_type(field: &Field) -> Option<ColumnType> {
    let unit = |unit: &TimeUnit| match unit {
        TimeUnit::Second => tetrys::TimeUnit::Second,
        TimeUnit::Millisecond => tetrys::TimeUnit::Millisecond,
        TimeUnit::Microsecond => tetrys::TimeUnit::Microsecond,
        TimeUnit::Nanosecond => tetrys::TimeUnit::Nanosecond,
    };
    let scalar = |ty: &DataType| Primitive::ALL.into_iter().find(|one| *one != Primitive::Bf16 && one.arrow() == *ty);
    if let Some(element) = scalar(field.data_type()) {
        return Some(ColumnType::Scalar(element));
    }
    Some(match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 => ColumnType::Utf8,
        DataType::Dictionary(_, values) if matches!(**values, DataType::Utf8 | DataType::LargeUtf8) => ColumnType::Categorical,
        DataType::Binary | DataType::LargeBinary => ColumnType::Binary,
        DataType::Date32 => ColumnType::Date,
        DataType::Timestamp(found, zone) => ColumnType::Timestamp(unit(found), zone.as_deref().map(str::to_owned)),
        DataType::Duration(found) => ColumnType::Duration(unit(found)),
        // A list of numbers, or of tensors of numbers, is a tensor whose first extent each row chooses.
        DataType::List(item) | DataType::LargeList(item) => match known_type(item)? {
            ColumnType::Scalar(element) => ColumnType::tensor(element, [None]),
            ColumnType::Tensor { element, shape } if shape.iter().all(Option::is_some) => {
                ColumnType::tensor(element, [vec![None], shape].concat())
            }
            item => ColumnType::list(item),
        },
        // What `Rows` hand out for tensors of variable shape: their values, and the shape of each.
        DataType::Struct(fields) => match &fields[..] {
            [data, shape] if (data.name().as_str(), shape.name().as_str()) == ("data", "shape") => {
                let (DataType::LargeList(item), DataType::FixedSizeList(extent, rank)) = (data.data_type(), shape.data_type())
                else {
                    return None;
                };
                let element = scalar(item.data_type()).filter(|_| *extent.data_type() == DataType::Int32)?;
                ColumnType::tensor(element, vec![None; usize::try_from(*rank).ok()?])
            }
            _ => return None,
        },
        DataType::FixedSizeList(item, size) => {
            let size = u32::try_from(*size).ok()?;
            match known_type(item)? {
                ColumnType::Scalar(element) => ColumnType::tensor(element, shape_of(field, size)),
                ColumnType::Tensor { element, shape } => ColumnType::tensor(element, [vec![Some(size)], shape].concat()),
                _ => return None,
            }
        }
        _ => return None,
    })
}

/// The shape of a canonical fixed-shape tensor of `size` elements, or one dimension.
fn shape_of(field: &Field, size: u32) -> Vec<Option<u32>> {
    let metadata = field.metadata().get("ARROW:extension:metadata");
    let parsed = metadata.and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok());
    let shape: Option<Vec<u32>> = parsed.and_then(|parsed| serde_json::from_value(parsed.get("shape")?.clone()).ok());
    match shape.filter(|shape| shape.iter().try_fold(1_u32, |all, one| all.checked_mul(*one)) == Some(size)) {
        Some(shape) => shape.into_iter().map(Some).collect(),
        None => vec![Some(size)],
    }
}

/// As [`plain`], of the items.
fn plain_list<O: OffsetSizeTrait>(list: &GenericListArray<O>, item: &Field) -> PyResult<ArrayRef> {
    let items = plain(list.values())?;
    let item = Arc::new(item.clone().with_data_type(items.data_type().clone()));
    let list = GenericListArray::try_new(item, list.offsets().clone(), items, list.nulls().cloned());
    Ok(Arc::new(list.map_err(|error| malformed(&error))?))
}

/// The same values without views of text and bytes, which the library does not take.
fn plain(array: &ArrayRef) -> PyResult<ArrayRef> {
    Ok(match array.data_type() {
        DataType::Utf8View => Arc::new(array.as_string_view().iter().collect::<LargeStringArray>()),
        DataType::BinaryView => Arc::new(array.as_binary_view().iter().collect::<LargeBinaryArray>()),
        DataType::List(item) => plain_list(array.as_list::<i32>(), item)?,
        DataType::LargeList(item) => plain_list(array.as_list::<i64>(), item)?,
        DataType::FixedSizeList(item, size) => {
            let list = array.as_fixed_size_list();
            let items = plain(list.values())?;
            let item = Arc::new(Field::clone(item).with_data_type(items.data_type().clone()));
            let is_fixed = match known_type(&item) {
                Some(ty @ (ColumnType::Scalar(_) | ColumnType::Tensor { .. })) => ty.fixed_elements().is_some(),
                _ => false,
            };
            let nulls = list.nulls().cloned();
            match is_fixed {
                true => {
                    let list = FixedSizeListArray::try_new_with_length(item, *size, items, nulls, list.len());
                    Arc::new(list.map_err(|error| malformed(&error))?)
                }
                // A tensor of things of no fixed size is a list that happens to have one length.
                false => {
                    let offsets =
                        OffsetBuffer::<i64>::from_repeated_length(usize::try_from(*size).unwrap_or_default(), list.len());
                    Arc::new(LargeListArray::try_new(item, offsets, items, nulls).map_err(|error| malformed(&error))?)
                }
            }
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            dictionary.with_values(plain(dictionary.values())?)
        }
        DataType::FixedSizeBinary(_) => {
            let bytes: BinaryArray = array.as_fixed_size_binary().iter().collect();
            Arc::new(bytes)
        }
        _ => ArrayRef::clone(array),
    })
}

fn malformed(error: &arrow_schema::ArrowError) -> PyErr {
    Invalid::new_err(format!("Arrow: {error}"))
}

/// Columns by name.
pub(crate) type Columns = Vec<(String, Py<Column>)>;

/// Columns as a record batch.
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

/// How much is written again of what is known: options of every writer.
pub(crate) fn options_of(
    preset: &str,
    write_memory: Option<usize>,
    reuse: &str,
    locality: Option<&str>,
) -> PyResult<WriteOptions> {
    let mut options = WriteOptions { preset: parse_preset(preset)?, ..WriteOptions::default() };
    options.write_memory = write_memory.unwrap_or(options.write_memory);
    options.locality = locality.map(str::parse).transpose().py()?.unwrap_or(options.locality);
    options.reuse = match reuse {
        "any" => Reuse::Any,
        "same-preset" => Reuse::SamePreset,
        "none" => Reuse::None,
        other => return Err(Invalid::new_err(format!("reuse `{other}`: expected any, same-preset or none"))),
    };
    Ok(options)
}

/// What a finished partition hands to the commit; small, and picklable.
#[pyclass(frozen, module = "tetrys")]
#[derive(Clone)]
pub(crate) struct Receipt(tetrys::Receipt);

#[pymethods]
impl Receipt {
    #[new]
    fn new(json: &str) -> PyResult<Self> {
        serde_json::from_str(json).map(Self).map_err(|error| Invalid::new_err(format!("a receipt: {error}")))
    }

    /// How many rows the partition has.
    #[getter]
    fn rows(&self) -> u64 {
        self.0.rows
    }

    /// The number of the partition.
    #[getter]
    fn partition(&self) -> u32 {
        self.0.partition
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let json = serde_json::to_string(&self.0).map_err(|error| Invalid::new_err(error.to_string()))?;
        Ok((py.get_type::<Self>().into_any(), (json,)))
    }

    fn __repr__(&self) -> String {
        format!("Receipt of partition {}: {} rows", self.0.partition, self.0.rows)
    }
}

/// The session that makes a table; `tetrys.Writer` is the face of it.
#[pyclass(frozen, module = "tetrys._tetrys")]
pub(crate) struct TableWriter(Mutex<Option<tetrys::TableWriter>>);

type Named = Vec<(String, String)>;

/// Index columns, groups, `sequence_by`, `order_by`, and what is said of columns: column, property, JSON.
type Described = (Named, Vec<(String, Named)>, Vec<String>, Vec<String>, Vec<(String, String, String)>);

fn schema_of((index, groups, sequence_by, order_by, properties): Described) -> PyResult<Schema> {
    let mut builder = Schema::builder().sequence_by(sequence_by).order_by(order_by);
    for (name, ty) in index {
        builder = builder.index(name, ty);
    }
    for (name, columns) in groups {
        builder = builder.group(name, columns);
    }
    for (column, key, value) in properties {
        let value: serde_json::Value =
            serde_json::from_str(&value).map_err(|error| Invalid::new_err(format!("property `{key}` of `{column}`: {error}")))?;
        builder = builder.property(column, key, value);
    }
    builder.build().py()
}

#[pymethods]
impl TableWriter {
    /// A new session, or with `session` one that was begun in another process.
    #[new]
    #[pyo3(signature = (url, schema, preset, properties, write_memory, session, references = Vec::new(), reuse = "any", locality = None))]
    #[expect(clippy::too_many_arguments, reason = "options, named on the Python side")]
    fn new(
        py: Python<'_>,
        url: String,
        schema: Described,
        preset: &str,
        properties: &str,
        write_memory: Option<usize>,
        session: Option<&str>,
        references: Vec<Py<Table>>,
        reuse: &str,
        locality: Option<&str>,
    ) -> PyResult<Self> {
        if let Some(session) = session {
            let ticket = tetrys::Ticket::from_json(session).py()?;
            let joined = tetrys::TableWriter::join(tetrys::Store::open(&url).py()?, &ticket);
            return Ok(Self(Mutex::new(Some(joined.py()?))));
        }
        let (schema, options) = (schema_of(schema)?, options_of(preset, write_memory, reuse, locality)?);
        Self::begun(py, properties, references, async move { tetrys::Table::create(&url, schema, options).await })
    }

    /// A session that adds rows to a table.
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "options, named on the Python side")]
    fn append(
        py: Python<'_>,
        table: &Table,
        preset: &str,
        properties: &str,
        write_memory: Option<usize>,
        references: Vec<Py<Table>>,
        reuse: &str,
        locality: Option<&str>,
    ) -> PyResult<Self> {
        let (table, options) = (table.table.clone(), options_of(preset, write_memory, reuse, locality)?);
        Self::begun(py, properties, references, async move { table.append(options).await })
    }

    /// A session that gives a table other rows.
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "options, named on the Python side")]
    fn overwrite(
        py: Python<'_>,
        table: &Table,
        schema: Described,
        preset: &str,
        properties: &str,
        write_memory: Option<usize>,
        references: Vec<Py<Table>>,
        reuse: &str,
        locality: Option<&str>,
    ) -> PyResult<Self> {
        let (table, schema, options) =
            (table.table.clone(), schema_of(schema)?, options_of(preset, write_memory, reuse, locality)?);
        Self::begun(py, properties, references, async move { table.overwrite(schema, options).await })
    }

    /// Tables whose chunks may be used and that could not be told: URL and why.
    fn untold(&self) -> PyResult<Vec<(String, String)>> {
        let writer = self.take()?;
        let untold = writer.unpinned().iter().map(|owner| (owner.url.clone(), owner.why.clone())).collect();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(writer);
        Ok(untold)
    }

    fn partition(&self) -> PyResult<Partition> {
        let writer = self.take()?;
        let partition = writer.partition().py();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(writer);
        Ok(Partition(Mutex::new(Some(partition?))))
    }

    /// The ticket of the session, and the number of the next partition, which another process will write.
    fn reserve(&self) -> PyResult<(String, u32)> {
        let writer = self.take()?;
        let reserved = writer.ticket().map(|ticket| (ticket.to_json(), writer.reserve())).py();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(writer);
        reserved
    }

    /// A partition that was reserved.
    fn partition_at(&self, number: u32) -> PyResult<Partition> {
        let writer = self.take()?;
        let partition = writer.partition_at(number).py();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(writer);
        Ok(Partition(Mutex::new(Some(partition?))))
    }

    fn attach(&self, py: Python<'_>, name: String, content: Vec<u8>) -> PyResult<()> {
        let writer = self.take()?;
        let done = wait(py, writer.attach(name, content));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(writer);
        done
    }

    /// The receipts that finished partitions left in the store.
    fn receipts(&self, py: Python<'_>) -> PyResult<Vec<Receipt>> {
        let writer = self.take()?;
        let found = wait(py, writer.receipts());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(writer);
        Ok(found?.into_iter().map(Receipt).collect())
    }

    fn abandon(&self, partition: u32) -> PyResult<()> {
        let writer = self.take()?;
        writer.abandon(partition);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(writer);
        Ok(())
    }

    /// A commit that lacks receipts can be called again.
    fn commit(&self, py: Python<'_>, receipts: Vec<Py<Receipt>>) -> PyResult<Table> {
        let writer = self.take()?;
        let receipts: Vec<tetrys::Receipt> = receipts.iter().map(|receipt| receipt.get().0.clone()).collect();
        let committed = async move {
            let table = writer.commit(receipts).await;
            Ok((writer, table))
        };
        let (writer, table) = wait_long(py, committed)?;
        if table.is_err() {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(writer);
        }
        table.map(Table::from).py()
    }
}

impl TableWriter {
    fn begun(
        py: Python<'_>,
        properties: &str,
        references: Vec<Py<Table>>,
        writer: impl Future<Output = tetrys::Result<tetrys::TableWriter>> + Send + 'static,
    ) -> PyResult<Self> {
        let properties: std::collections::BTreeMap<String, serde_json::Value> =
            serde_json::from_str(properties).map_err(|error| Invalid::new_err(format!("properties: {error}")))?;
        let references: Vec<tetrys::Table> = references.iter().map(|table| table.get().table.clone()).collect();
        let writer = wait_long(py, async move { writer.await?.references(&references).await })?;
        for (key, value) in properties {
            writer.set_property(key, value);
        }
        Ok(Self(Mutex::new(Some(writer))))
    }

    /// Nothing stays locked while the GIL is not held.
    fn take(&self) -> PyResult<tetrys::TableWriter> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.take().ok_or_else(|| Invalid::new_err("the table is committed, its commit failed, or another thread is at it"))
    }
}

/// Writes one partition; `tetrys.Partition` is the face of it.
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
        *self.held() = Some(writer);
        done.py()
    }

    fn finish(&self, py: Python<'_>) -> PyResult<Receipt> {
        let writer = self.take()?;
        wait_long(py, writer.finish()).map(Receipt)
    }
}

impl Partition {
    fn held(&self) -> std::sync::MutexGuard<'_, Option<tetrys::PartitionWriter>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> PyResult<tetrys::PartitionWriter> {
        self.held().take().ok_or_else(|| Invalid::new_err("the partition is finished, broken off, or in use by another thread"))
    }
}

pub(crate) fn parse_preset(name: &str) -> PyResult<Preset> {
    let presets = [Preset::Fast, Preset::Balanced, Preset::Compact];
    let found = presets.into_iter().find(|preset| preset.name() == name);
    found.ok_or_else(|| Invalid::new_err(format!("preset `{name}`: expected fast, balanced or compact")))
}
