//! Columns for writing: converts Python values to Arrow arrays, and decides which column type they have and whether they fit
//! another type.
//!
//! A declared column stores its values exactly or rejects them, with one exception: floats are rounded to a narrower float type.

use std::{iter, sync::Arc};

use arrow_array::{
    Array, ArrayRef, BinaryArray, FixedSizeListArray, GenericListArray, Int32Array, LargeBinaryArray, LargeListArray,
    LargeStringArray, OffsetSizeTrait, StructArray, UInt64Array, cast::AsArray, new_null_array, types,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, Field};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::{
    prelude::*,
    pybacked::{PyBackedBytes, PyBackedStr},
};
use tetrys::{ColumnType, schema::Primitive};

use crate::{
    arrays, capsule,
    error::{IntoPython, Invalid},
    exact,
    known_type::{known_type, named},
};

/// Values of a column to be written, and the type that they suggest.
#[pyclass(frozen, module = "tetrys._tetrys")]
#[derive(Clone)]
pub(crate) struct Column {
    pub(crate) array: ArrayRef,
    /// The suggested type, or the reason why there is none.
    ty: Result<ColumnType, String>,
    /// Whether times without a zone are instants in UTC, as those of numpy are.
    in_utc: bool,
}

impl Column {
    fn of(array: ArrayRef, ty: ColumnType) -> Self {
        Self { array, ty: Ok(ty), in_utc: false }
    }

    /// Makes a column of an Arrow array of any library.
    fn of_arrow(field: &Field, array: &ArrayRef) -> PyResult<Self> {
        let (array, field) = plain_column(field, array)?;
        let ty = known_type(&field);
        Ok(Self { array, ty, in_utc: false })
    }
}

type Mask<'py> = Option<PyReadonlyArray1<'py, bool>>;

fn nulls_of(valid: &Mask<'_>) -> Option<NullBuffer> {
    let valid = valid.as_ref()?;
    Some(NullBuffer::new(valid.as_array().iter().copied().collect::<BooleanBuffer>())).filter(|nulls| nulls.null_count() > 0)
}

/// Copies the flat values of a numpy array; returns them with their type. `bf16` says that the values are bits of bf16.
fn flat(values: &Bound<'_, PyAny>, bf16: bool, valid: &Mask<'_>) -> PyResult<(ArrayRef, Primitive)> {
    let (array, element) = arrays::from_numpy(values)?;
    let data = array.to_data().into_builder().nulls(nulls_of(valid)).build().map_err(|error| malformed(&error))?;
    Ok((arrow_array::make_array(data), if bf16 { Primitive::Bf16 } else { element }))
}

#[pymethods]
impl Column {
    /// Makes a column of text; None is null.
    #[staticmethod]
    fn text(values: Vec<Option<PyBackedStr>>) -> Self {
        let values: LargeStringArray = values.iter().map(Option::as_deref).collect();
        Self::of(Arc::new(values), ColumnType::Utf8)
    }

    /// Makes a column of bytes; None is null.
    #[staticmethod]
    fn bytes(values: Vec<Option<PyBackedBytes>>) -> Self {
        let values: LargeBinaryArray = values.iter().map(Option::as_deref).collect();
        Self::of(Arc::new(values), ColumnType::Binary)
    }

    /// Makes a column of null rows. Its type must be declared.
    #[staticmethod]
    fn nulls(rows: usize) -> PyResult<Self> {
        let array = arrow_array::new_null_array(&DataType::Null, rows);
        Self::of_arrow(&Field::new("", DataType::Null, true), &array)
    }

    /// Makes a column of scalars (`shape` is None) or tensors of fixed shape from the flat values of all rows. `valid` marks the
    /// rows that are not null, `elements` the elements that are not null.
    #[staticmethod]
    fn fixed(
        rows: usize,
        shape: Option<Vec<u32>>,
        values: &Bound<'_, PyAny>,
        bf16: bool,
        valid: Mask<'_>,
        elements: Mask<'_>,
    ) -> PyResult<Self> {
        let Some(shape) = shape else {
            let (array, element) = flat(values, bf16, &valid)?;
            return Ok(Self::of(array, ColumnType::Scalar(element)));
        };
        let (flat, element) = flat(values, bf16, &elements)?;
        let ty = ColumnType::tensor(element, shape.iter().copied().map(Some).collect::<Vec<_>>());
        let size = ty.fixed_elements().and_then(|elements| i32::try_from(elements).ok());
        let size = size.ok_or_else(|| Invalid::new_err(format!("{ty} is too large")))?;
        Ok(Self::of(fixed_list(flat, size, nulls_of(&valid), rows)?, ty))
    }

    /// Makes a column of tensors of variable shape from the flat values of all rows and the shape of each, i32 [rows, rank].
    #[staticmethod]
    fn ragged(
        shapes: PyReadonlyArray2<'_, i32>,
        values: &Bound<'_, PyAny>,
        bf16: bool,
        valid: Mask<'_>,
        elements: Mask<'_>,
    ) -> PyResult<Self> {
        let (flat, element) = flat(values, bf16, &elements)?;
        let (shapes, nulls) = (shapes.as_array(), nulls_of(&valid));
        let rank = shapes.ncols();
        // An extent that all rows share becomes part of the type, except the first one.
        let known = |row: &usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*row));
        let extents = (0..rank).map(|axis| {
            let mut found = (0..shapes.nrows()).filter(known).map(|row| shapes[[row, axis]]);
            let first = found.next().filter(|_| axis > 0)?;
            found.all(|extent| extent == first).then(|| u32::try_from(first).ok()).flatten()
        });
        let ty = ColumnType::tensor(element, extents.collect::<Vec<_>>());
        let offsets = shapes.rows().into_iter().map(|shape| shape.iter().map(|extent| *extent as usize).product());
        let offsets = OffsetBuffer::<i64>::from_lengths(offsets);
        Ok(Self::of(ragged_struct(flat, offsets, shapes.iter().copied().collect(), rank, nulls)?, ty))
    }

    /// Makes a column of times from i64 ticks: of a `timestamp` or `duration` in its unit, or days of a `date`. `in_utc` says
    /// that times without a zone are instants in UTC.
    #[staticmethod]
    fn times(ty: &str, values: PyReadonlyArray1<'_, i64>, valid: Mask<'_>, in_utc: bool) -> PyResult<Self> {
        let ty: ColumnType = ty.parse().py()?;
        let ticks = arrow_array::Int64Array::new(values.as_array().iter().copied().collect(), nulls_of(&valid));
        Ok(Self { array: exact::times(&(Arc::new(ticks) as ArrayRef), &ty, in_utc)?, ty: Ok(ty), in_utc })
    }

    /// Makes a column of lists from the items of all rows in order, and the length of each list.
    #[staticmethod]
    fn lists(lengths: Vec<usize>, items: &Self, valid: Mask<'_>) -> PyResult<Self> {
        let field = Arc::new(Field::new("item", items.array.data_type().clone(), true));
        let offsets = OffsetBuffer::<i64>::from_lengths(lengths);
        let list = LargeListArray::try_new(field, offsets, ArrayRef::clone(&items.array), nulls_of(&valid));
        let ty = items.ty.clone().map(ColumnType::list);
        Ok(Self { array: Arc::new(list.map_err(|error| malformed(&error))?), ty, in_utc: items.in_utc })
    }

    /// Makes a column of Arrow data: a polars series, or an array or chunked array of pyarrow.
    #[staticmethod]
    fn arrow(values: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (field, chunks) = capsule::arrays(values)?;
        let chunks: Vec<&dyn Array> = chunks.iter().map(AsRef::as_ref).collect();
        let array = arrow_select::concat::concat(&chunks).map_err(|error| malformed(&error))?;
        Self::of_arrow(&field, &array)
    }

    /// Joins columns of one type.
    #[staticmethod]
    fn concat(columns: Vec<PyRef<'_, Self>>) -> PyResult<Self> {
        let arrays: Vec<&dyn Array> = columns.iter().map(|column| column.array.as_ref()).collect();
        let array = arrow_select::concat::concat(&arrays).map_err(|error| malformed(&error))?;
        let first = columns.first().ok_or_else(|| Invalid::new_err("no column"))?;
        Ok(Self { array, ty: first.ty.clone(), in_utc: first.in_utc })
    }

    /// Whether the values suggest a type.
    #[getter]
    fn is_typed(&self) -> bool {
        self.ty.is_ok()
    }

    /// The type as in a schema.
    #[getter]
    fn r#type(&self) -> PyResult<String> {
        self.ty.as_ref().map(ToString::to_string).map_err(|why| Invalid::new_err(why.clone()))
    }

    /// Converts to a declared type; rejects values that the type cannot hold exactly.
    fn cast(&self, ty: &str) -> PyResult<Self> {
        let wanted: ColumnType = ty.parse().py()?;
        match self.ty.as_ref().is_ok_and(|found| *found == wanted) {
            true => Ok(self.clone()),
            false => Ok(Self::of(fit(&self.array, self.ty.as_ref().ok(), &wanted, self.in_utc)?, wanted)),
        }
    }

    fn __len__(&self) -> usize {
        self.array.len()
    }

    fn __repr__(&self) -> String {
        format!("Column of {} rows, {}", self.array.len(), self.ty.as_ref().map_or("of no type".to_owned(), ToString::to_string))
    }
}

/// Columns by name.
type Named = Vec<(String, Column)>;

/// Returns the columns of each batch of a frame, as pairs of name and column.
#[pyfunction]
pub(crate) fn columns_of(frame: &Bound<'_, PyAny>) -> PyResult<Vec<Named>> {
    let columns = |batch: arrow_array::RecordBatch| {
        let schema = batch.schema();
        let columns = schema.fields().iter().zip(batch.columns());
        let columns = columns.filter(|(field, _)| !field.name().starts_with(capsule::ROW_LABELS));
        let column = |(field, array): (&Arc<Field>, &ArrayRef)| Ok((field.name().clone(), Column::of_arrow(field, array)?));
        columns.map(column).collect()
    };
    capsule::batches(frame)?.into_iter().map(columns).collect()
}

/// Extension types whose storage array has the same values.
const TRANSPARENT: [&str; 4] = ["arrow.fixed_shape_tensor", "arrow.variable_shape_tensor", "arrow.json", "arrow.uuid"];

/// Converts a column and its field to the Arrow types that the library accepts.
fn plain_column(field: &Field, array: &ArrayRef) -> PyResult<(ArrayRef, Field)> {
    let extension = field.metadata().get("ARROW:extension:name").map(String::as_str);
    let array = match extension {
        Some("arrow.bool8") => {
            let bits = array.as_primitive_opt::<types::Int8Type>().ok_or_else(|| Invalid::new_err("arrow.bool8: expected i8"))?;
            Arc::new(bits.iter().map(|bit| bit.map(|bit| bit != 0)).collect::<arrow_array::BooleanArray>())
        }
        Some(name) if !TRANSPARENT.contains(&name) => {
            let advice = known_type(&Field::new("", array.data_type().clone(), true));
            let advice = advice.map_or_else(|_| String::new(), |ty| format!("; as {ty} they can be stored"));
            return Err(Invalid::new_err(format!("no column type for values of the extension type `{name}`{advice}")));
        }
        _ => plain(array)?,
    };
    let field = Field::clone(field).with_data_type(array.data_type().clone());
    Ok((array, field))
}

/// Converts view and run-end encoded arrays, and dictionaries of anything but text, to plain arrays.
fn plain(array: &ArrayRef) -> PyResult<ArrayRef> {
    let take = |values: &ArrayRef, at: &dyn Array| arrow_select::take::take(values, at, None).map_err(|error| malformed(&error));
    Ok(match array.data_type() {
        DataType::Utf8View => Arc::new(array.as_string_view().iter().collect::<LargeStringArray>()),
        DataType::BinaryView => Arc::new(array.as_binary_view().iter().collect::<LargeBinaryArray>()),
        DataType::FixedSizeBinary(_) => Arc::new(array.as_fixed_size_binary().iter().collect::<BinaryArray>()),
        DataType::List(item) => plain_list(array.as_list::<i32>(), item)?,
        DataType::LargeList(item) => plain_list(array.as_list::<i64>(), item)?,
        DataType::ListView(item) => {
            let list = array.as_list_view::<i32>();
            let bounds = list.offsets().iter().zip(list.sizes()).map(|(start, size)| (*start as usize, *size as usize));
            unviewed(item, bounds.collect(), list.values(), list.nulls().cloned())?
        }
        DataType::LargeListView(item) => {
            let list = array.as_list_view::<i64>();
            let bounds = list.offsets().iter().zip(list.sizes()).map(|(start, size)| (*start as usize, *size as usize));
            unviewed(item, bounds.collect(), list.values(), list.nulls().cloned())?
        }
        DataType::FixedSizeList(item, size) => {
            let list = array.as_fixed_size_list();
            let items = plain(list.values())?;
            let item = Arc::new(Field::clone(item).with_data_type(items.data_type().clone()));
            let width = usize::try_from(*size).unwrap_or_default().max(1);
            let null_part = || (0..items.len()).any(|part| items.is_null(part) && list.is_valid(part / width));
            let is_fixed = match known_type(&item) {
                // A tensor has null elements but no null parts: such rows stay lists.
                Ok(ColumnType::Tensor { .. }) if items.null_count() > 0 && null_part() => false,
                Ok(ty @ (ColumnType::Scalar(_) | ColumnType::Tensor { .. })) => ty.fixed_elements().is_some(),
                _ => false,
            };
            let nulls = list.nulls().cloned();
            match is_fixed {
                true => {
                    let list = FixedSizeListArray::try_new_with_length(item, *size, items, nulls, list.len());
                    Arc::new(list.map_err(|error| malformed(&error))?)
                }
                // Items without a fixed size make lists of equal length, not a tensor.
                false => {
                    let size = usize::try_from(*size).unwrap_or_default();
                    let offsets = OffsetBuffer::<i64>::from_repeated_length(size, list.len());
                    Arc::new(LargeListArray::try_new(item, offsets, items, nulls).map_err(|error| malformed(&error))?)
                }
            }
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let values = plain(dictionary.values())?;
            match values.data_type() {
                DataType::Utf8 | DataType::LargeUtf8 => dictionary.with_values(values),
                _ => take(&values, dictionary.keys())?,
            }
        }
        DataType::RunEndEncoded(..) => {
            let runs = array.as_any();
            let of =
                |values: &ArrayRef, at: Vec<usize>| take(values, &UInt64Array::from_iter_values(at.iter().map(|at| *at as u64)));
            macro_rules! runs_of {
                ($($ends:ty),*) => {$(
                    if let Some(runs) = runs.downcast_ref::<arrow_array::RunArray<$ends>>() {
                        return plain(&of(runs.values(), (0..runs.len()).map(|row| runs.get_physical_index(row)).collect())?);
                    }
                )*};
            }
            runs_of!(types::Int16Type, types::Int32Type, types::Int64Type);
            ArrayRef::clone(array)
        }
        DataType::Date64 => exact::times(array, &ColumnType::Date, false)?,
        _ => ArrayRef::clone(array),
    })
}

/// Applies [`plain`] to the items of a list.
fn plain_list<O: OffsetSizeTrait>(list: &GenericListArray<O>, item: &Field) -> PyResult<ArrayRef> {
    let items = plain(list.values())?;
    let item = Arc::new(item.clone().with_data_type(items.data_type().clone()));
    let list = GenericListArray::try_new(item, list.offsets().clone(), items, list.nulls().cloned());
    Ok(Arc::new(list.map_err(|error| malformed(&error))?))
}

/// Converts a list view (start and length of each row) to a list with its items in order.
fn unviewed(item: &Field, bounds: Vec<(usize, usize)>, items: &ArrayRef, nulls: Option<NullBuffer>) -> PyResult<ArrayRef> {
    let known = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
    let bounds: Vec<(usize, usize)> =
        bounds.into_iter().enumerate().map(|(row, (start, size))| (start, if known(row) { size } else { 0 })).collect();
    let at = bounds.iter().flat_map(|(start, size)| *start..*start + *size).map(|at| at as u64);
    let taken = arrow_select::take::take(items, &UInt64Array::from_iter_values(at), None).map_err(|error| malformed(&error))?;
    let items = plain(&taken)?;
    let item = Arc::new(item.clone().with_data_type(items.data_type().clone()));
    let offsets = OffsetBuffer::<i64>::from_lengths(bounds.iter().map(|(_, size)| *size));
    Ok(Arc::new(LargeListArray::try_new(item, offsets, items, nulls).map_err(|error| malformed(&error))?))
}

fn fixed_list(flat: ArrayRef, size: i32, nulls: Option<NullBuffer>, rows: usize) -> PyResult<ArrayRef> {
    let field = Arc::new(Field::new("item", flat.data_type().clone(), true));
    let list = FixedSizeListArray::try_new_with_length(field, size, flat, nulls, rows);
    Ok(Arc::new(list.map_err(|error| malformed(&error))?))
}

/// Makes the struct of a column of tensors of variable shape: the values, and the shape of each row.
fn ragged_struct(
    flat: ArrayRef,
    offsets: OffsetBuffer<i64>,
    extents: Vec<i32>,
    rank: usize,
    nulls: Option<NullBuffer>,
) -> PyResult<ArrayRef> {
    let rows = offsets.len() - 1;
    let item = |ty: DataType| Arc::new(Field::new("item", ty, true));
    let data = LargeListArray::try_new(item(flat.data_type().clone()), offsets, flat, None).map_err(|error| malformed(&error))?;
    let rank = i32::try_from(rank).map_err(|_| Invalid::new_err("a tensor of more than 2^31 - 1 dimensions"))?;
    let extents: ArrayRef = Arc::new(Int32Array::from(extents));
    let shapes = FixedSizeListArray::try_new_with_length(item(DataType::Int32), rank, extents, None, rows);
    let shapes = shapes.map_err(|error| malformed(&error))?;
    let fields = vec![Field::new("data", data.data_type().clone(), true), Field::new("shape", shapes.data_type().clone(), true)];
    let parts = StructArray::try_new(fields.into(), vec![Arc::new(data), Arc::new(shapes)], nulls);
    Ok(Arc::new(parts.map_err(|error| malformed(&error))?))
}

/// Rows of tensors: all elements, the range of elements of each row, and the shape of each row.
struct Tensors {
    elements: ArrayRef,
    offsets: Vec<usize>,
    extents: Vec<i32>,
    rank: usize,
}

impl Tensors {
    /// Reads an array of tensors of this shape; `None` if a part of a tensor is null.
    fn of(array: &ArrayRef, shape: &[Option<u32>]) -> Option<Self> {
        let (rows, rank) = (array.len(), shape.len());
        if let Some(parts) = array.as_struct_opt() {
            let data = parts.column_by_name("data")?.as_list_opt::<i64>()?;
            let extents = parts.column_by_name("shape")?.as_fixed_size_list_opt()?;
            let extents = extents.values().as_primitive_opt::<types::Int32Type>()?.values().to_vec();
            let offsets = data.value_offsets().iter().map(|offset| *offset as usize).collect();
            return Some(Self { elements: ArrayRef::clone(data.values()), offsets, extents, rank });
        }
        // Lists of tensors of one shape, or tensors of one shape.
        let (mut elements, lengths): (ArrayRef, Option<Vec<usize>>) = if let Some(list) = array.as_list_opt::<i64>() {
            (ArrayRef::clone(list.values()), Some(list.value_offsets().iter().map(|offset| *offset as usize).collect()))
        } else if let Some(list) = array.as_list_opt::<i32>() {
            (ArrayRef::clone(list.values()), Some(list.value_offsets().iter().map(|offset| *offset as usize).collect()))
        } else {
            (ArrayRef::clone(array), None)
        };
        let inner: Vec<i32> = shape.iter().skip(usize::from(lengths.is_some())).flatten().map(|extent| *extent as i32).collect();
        // The range of each row at each depth. Rows that are not null must not have null parts.
        let mut bounds = lengths.clone().unwrap_or_else(|| (0..=rows).collect());
        let mut is_part = lengths.is_some();
        while let Some(list) = elements.clone().as_fixed_size_list_opt() {
            let is_null = |pair: &[usize]| (pair[0]..pair[1]).any(|part| list.is_null(part));
            let mut there = bounds.windows(2).enumerate().filter(|(row, _)| array.is_valid(*row));
            if is_part && list.null_count() > 0 && there.any(|(_, pair)| is_null(pair)) {
                return None;
            }
            is_part = true;
            let size = usize::try_from(list.value_length()).ok()?;
            bounds.iter_mut().for_each(|bound| *bound *= size);
            elements = ArrayRef::clone(list.values());
        }
        let step: usize = inner.iter().map(|extent| *extent as usize).product();
        let (offsets, extents) = match lengths {
            Some(lengths) => {
                let extents = lengths.windows(2).flat_map(|pair| iter::once((pair[1] - pair[0]) as i32).chain(inner.clone()));
                (lengths.iter().map(|offset| offset * step).collect(), extents.collect())
            }
            None => ((0..=rows).map(|row| row * step).collect(), inner.repeat(rows)),
        };
        Some(Self { elements, offsets, extents, rank })
    }
}

/// Converts an array to type `wanted`; `found` is the type that its values suggest.
fn fit(array: &ArrayRef, found: Option<&ColumnType>, wanted: &ColumnType, in_utc: bool) -> PyResult<ArrayRef> {
    let misfit = || {
        let found = found.map_or_else(|| named(array.data_type()), ToString::to_string);
        Invalid::new_err(format!("{found} does not fit {wanted}"))
    };
    let bits = matches!(found, Some(ColumnType::Scalar(Primitive::Bf16) | ColumnType::Tensor { element: Primitive::Bf16, .. }));
    if *array.data_type() == DataType::Null {
        return Ok(new_null_array(&wanted.arrow(), array.len()));
    }
    if let Some(empty) = empty_lists(array, found, wanted)? {
        return Ok(empty);
    }
    match wanted {
        ColumnType::Scalar(element) => exact::numbers(array, bits, *element).map_err(|why| why.unwrap_or_else(misfit)),
        ColumnType::Date | ColumnType::Timestamp(..) | ColumnType::Duration(_) => exact::times(array, wanted, in_utc),
        ColumnType::Utf8 | ColumnType::Categorical => match found {
            Some(ColumnType::Utf8 | ColumnType::Categorical) => Ok(ArrayRef::clone(array)),
            _ => Err(misfit()),
        },
        ColumnType::Binary => match found {
            Some(ColumnType::Binary) => Ok(ArrayRef::clone(array)),
            Some(ColumnType::Tensor { element: Primitive::U8, shape }) if shape.len() == 1 => {
                let tensors =
                    Tensors::of(array, shape).filter(|tensors| tensors.elements.null_count() == 0).ok_or_else(misfit)?;
                let bytes = tensors.elements.as_primitive::<types::UInt8Type>().values();
                let rows = tensors.offsets.windows(2).enumerate();
                let rows = rows.map(|(row, pair)| array.is_valid(row).then(|| &bytes[pair[0]..pair[1]]));
                Ok(Arc::new(rows.collect::<LargeBinaryArray>()))
            }
            _ => Err(misfit()),
        },
        ColumnType::List(item) => {
            let (offsets, items) = match (array.as_list_opt::<i64>(), array.as_list_opt::<i32>(), found) {
                (Some(list), ..) => (list.offsets().clone(), ArrayRef::clone(list.values())),
                (_, Some(list), _) => (
                    OffsetBuffer::from_lengths(list.offsets().lengths()),
                    list.values().slice(
                        list.value_offsets()[0] as usize,
                        list.value_offsets()[list.len()] as usize - list.value_offsets()[0] as usize,
                    ),
                ),
                (_, _, Some(ColumnType::Tensor { shape, .. })) if shape.len() == 1 => {
                    let tensors = Tensors::of(array, shape).ok_or_else(misfit)?;
                    let (first, last) = (tensors.offsets[0], tensors.offsets[array.len()]);
                    let lengths = tensors.offsets.windows(2).map(|pair| pair[1] - pair[0]);
                    (OffsetBuffer::from_lengths(lengths), tensors.elements.slice(first, last - first))
                }
                _ => return Err(misfit()),
            };
            let of_items = match found {
                Some(ColumnType::List(found)) => Some(ColumnType::clone(found)),
                Some(ColumnType::Tensor { element, shape }) if shape.len() > 1 => {
                    Some(ColumnType::tensor(*element, shape[1..].to_vec()))
                }
                Some(ColumnType::Tensor { element, .. }) => Some(ColumnType::Scalar(*element)),
                _ => known_type(&Field::new("", items.data_type().clone(), true)).ok(),
            };
            let items = fit(&items, of_items.as_ref(), item, in_utc)?;
            let field = Arc::new(Field::new("item", items.data_type().clone(), true));
            let list = LargeListArray::try_new(field, offsets, items, array.nulls().cloned());
            Ok(Arc::new(list.map_err(|error| malformed(&error))?))
        }
        ColumnType::Tensor { element, shape } => tensors(array, found, *element, shape, bits, &misfit),
        _ => Err(misfit()),
    }
}

/// Converts rows that are empty lists, or one-dimensional arrays without items: these are values of every type of lists, of tensors
/// without rows, and of binary unless they are arrays of other numbers. Returns `None` for other rows and other types.
fn empty_lists(array: &ArrayRef, found: Option<&ColumnType>, wanted: &ColumnType) -> PyResult<Option<ArrayRef>> {
    let rows = array.len();
    let is_list = array.as_list_opt::<i64>().is_some() || array.as_list_opt::<i32>().is_some();
    let shape = match found {
        Some(ColumnType::Tensor { shape, .. }) if shape.len() == 1 || is_list => shape.clone(),
        _ if is_list => vec![None],
        _ => return Ok(None),
    };
    let Some(of) = Tensors::of(array, &shape[..1]) else { return Ok(None) };
    if (0..rows).any(|row| array.is_valid(row) && of.offsets[row] != of.offsets[row + 1]) {
        return Ok(None);
    }
    let (nulls, offsets) = (array.nulls().cloned(), OffsetBuffer::<i64>::from_repeated_length(0, rows));
    let is_bytes = !matches!(found, Some(ColumnType::Tensor { element, .. }) if *element != Primitive::U8);
    Ok(match wanted {
        ColumnType::Binary if is_bytes => {
            let valid = (0..rows).map(|row| array.is_valid(row).then_some(&b""[..]));
            Some(Arc::new(valid.collect::<LargeBinaryArray>()))
        }
        ColumnType::List(item) => {
            let field = Arc::new(Field::new("item", item.arrow(), true));
            let list = LargeListArray::try_new(field, offsets, new_null_array(&item.arrow(), 0), nulls);
            Some(Arc::new(list.map_err(|error| malformed(&error))?))
        }
        ColumnType::Tensor { element, shape } if shape.first() == Some(&None) => {
            let extents: Vec<i32> = shape.iter().map(|extent| extent.map_or(0, |extent| extent as i32)).collect();
            Some(ragged_struct(new_null_array(&element.arrow(), 0), offsets, extents.repeat(rows), shape.len(), nulls)?)
        }
        _ => None,
    })
}

/// Converts an array to tensors of this shape and element type; see [`fit`].
fn tensors(
    array: &ArrayRef,
    found: Option<&ColumnType>,
    element: Primitive,
    shape: &[Option<u32>],
    bits: bool,
    misfit: &dyn Fn() -> PyErr,
) -> PyResult<ArrayRef> {
    let found_shape = match found {
        Some(ColumnType::Tensor { shape, .. }) => shape.clone(),
        Some(ColumnType::Scalar(_)) if shape.is_empty() => Vec::new(),
        // Empty lists suggest no element type.
        _ if shape.len() == 1 && (array.as_list_opt::<i64>().is_some() || array.as_list_opt::<i32>().is_some()) => vec![None],
        _ => return Err(misfit()),
    };
    if found_shape.len() != shape.len() {
        return Err(misfit());
    }
    let of = Tensors::of(array, &found_shape).ok_or_else(misfit)?;
    let (first, last) = (of.offsets[0], of.offsets[array.len()]);
    let elements = of.elements.slice(first, last - first);
    let elements = match *elements.data_type() == DataType::Null {
        true => new_null_array(&element.arrow(), elements.len()),
        false => exact::numbers(&elements, bits, element).map_err(|why| why.unwrap_or_else(misfit))?,
    };
    for row in (0..array.len()).filter(|row| array.is_valid(*row)) {
        let extents = &of.extents[row * of.rank..(row + 1) * of.rank];
        if extents.iter().zip(shape).any(|(found, wanted)| wanted.is_some_and(|wanted| wanted as i32 != *found)) {
            let wanted = ColumnType::tensor(element, shape);
            return Err(Invalid::new_err(format!("row {row}: an array of shape {extents:?}: expected {wanted}")));
        }
    }
    let nulls = array.nulls().cloned();
    let fixed: Option<usize> = shape.iter().map(|extent| extent.map(|extent| extent as usize)).product();
    match fixed {
        Some(size) => {
            // A null row may have no elements in the source; the fixed-size list needs null elements for it.
            let at = (0..array.len()).flat_map(|row| {
                let (start, valid) = (of.offsets[row] - first, array.is_valid(row));
                (0..size).map(move |place| valid.then_some((start + place) as u64))
            });
            let flat = match nulls.is_none() {
                true => elements,
                false => {
                    let at: UInt64Array = at.collect();
                    arrow_select::take::take(&elements, &at, None).map_err(|error| malformed(&error))?
                }
            };
            let size = i32::try_from(size).map_err(|_| Invalid::new_err("a tensor of more than 2^31 - 1 elements"))?;
            fixed_list(flat, size, nulls, array.len())
        }
        None => {
            let lengths = OffsetBuffer::from_lengths(of.offsets.windows(2).map(|pair| pair[1] - pair[0]));
            ragged_struct(elements, lengths, of.extents, of.rank, nulls)
        }
    }
}

pub(crate) fn malformed(error: &ArrowError) -> PyErr {
    Invalid::new_err(format!("Arrow: {error}"))
}
