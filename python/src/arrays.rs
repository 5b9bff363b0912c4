//! Converts columns to numpy arrays: read-only views of the buffers if numpy has the type, copies if it has not (bits, text,
//! days).
#![allow(unsafe_code, reason = "numpy borrows Arrow's memory in one function, `view`")]

use std::ops::Range;

use arrow_array::{Array, ArrayRef, FixedSizeListArray, RecordBatch, cast::AsArray, types};
use arrow_buffer::NullBuffer;
use arrow_schema::{Field, Schema};
use numpy::{Element, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods, ndarray::ArrayViewD, npyffi};
use pyo3::{
    intern,
    prelude::*,
    sync::PyOnceLock,
    types::{PyBool, PyBytes, PyInt, PyList, PyString, PyTuple},
};
use tetrys::{ColumnType, TimeUnit, schema::Primitive};

use crate::{
    capsule,
    error::{Internal, IntoPython, Invalid, found, no_place, short, wrong_type},
    pickle,
};

/// Keeps the buffers of an Arrow array alive while a numpy array uses them.
#[pyclass(frozen)]
struct Memory {
    _array: ArrayRef,
}

/// Returns a read-only numpy array over `values`, which belong to `owner`.
fn view<'py, T: Element>(py: Python<'py>, values: &[T], shape: &[usize], owner: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    let values = ArrayViewD::from_shape(shape, values).map_err(|error| Internal::new_err(error.to_string()))?;
    let memory = Bound::new(py, Memory { _array: ArrayRef::clone(owner) })?;
    // SAFETY: the buffers of an Arrow array neither move nor change while an array holds them. numpy holds `memory`, which holds
    // `owner`. The numpy array becomes read-only before any other code can access it, so that nothing writes to the buffers.
    let array = unsafe {
        let array = PyArrayDyn::borrow_from_array(&values, memory.into_any());
        (*npyffi::_PyArray_GET_ITEM_DATA(array.as_array_ptr())).flags &= !npyffi::NPY_ARRAY_WRITEABLE;
        array
    };
    Ok(array.into_any())
}

fn copy<'py, T: Element>(py: Python<'py>, values: Vec<T>, shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    numpy::PyArray1::from_vec(py, values).call_method1(intern!(py, "reshape"), (shape.to_vec(),))
}

/// Returns a range of the elements of an array, in this shape.
fn elements<'py>(
    py: Python<'py>,
    element: Primitive,
    array: &ArrayRef,
    range: Range<usize>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    macro_rules! view_of {
        ($arrow:ty) => {
            view(py, &array.as_primitive::<$arrow>().values()[range], shape, array)
        };
    }
    match element {
        Primitive::Bool => copy(py, array.as_boolean().slice(range.start, range.len()).values().iter().collect(), shape),
        Primitive::I8 => view_of!(types::Int8Type),
        Primitive::I16 => view_of!(types::Int16Type),
        Primitive::I32 => view_of!(types::Int32Type),
        Primitive::I64 => view_of!(types::Int64Type),
        Primitive::U8 => view_of!(types::UInt8Type),
        Primitive::U16 => view_of!(types::UInt16Type),
        Primitive::U32 => view_of!(types::UInt32Type),
        Primitive::U64 => view_of!(types::UInt64Type),
        Primitive::F16 => view_of!(types::Float16Type),
        Primitive::F32 => view_of!(types::Float32Type),
        Primitive::F64 => view_of!(types::Float64Type),
        Primitive::Bf16 => {
            let bits = view_of!(types::UInt16Type)?;
            match bfloat16(py) {
                Some(dtype) => bits.call_method1(intern!(py, "view"), (dtype,)),
                None => Ok(bits),
            }
        }
    }
}

/// Returns a range of the elements of tensors or lists, in this shape: a masked array of numpy if an element is null.
fn parts<'py>(
    py: Python<'py>,
    element: Primitive,
    array: &ArrayRef,
    range: Range<usize>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    let values = elements(py, element, array, range.clone(), shape)?;
    let nulls = array.nulls().map(|nulls| nulls.slice(range.start, range.len()));
    let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) else { return Ok(values) };
    let hidden = copy(py, nulls.iter().map(|valid| !valid).collect(), shape)?;
    py.import(intern!(py, "numpy.ma"))?.call_method1(intern!(py, "masked_array"), (values, hidden))
}

/// Whether a row that is not null has null elements. The elements of null rows say nothing.
fn has_null_elements(list: &FixedSizeListArray) -> bool {
    let size = list.value_length() as usize;
    let Some(nulls) = list.values().nulls().filter(|nulls| nulls.null_count() > 0) else { return false };
    (0..list.len()).any(|row| list.is_valid(row) && nulls.slice(row * size, size).null_count() > 0)
}

/// Returns the bfloat16 dtype of `ml_dtypes` if it is installed. Without it, bf16 values are returned as their bits in u16.
fn bfloat16(py: Python<'_>) -> Option<&Py<PyAny>> {
    static DTYPE: PyOnceLock<Option<Py<PyAny>>> = PyOnceLock::new();
    let import = || Some(py.import("ml_dtypes").ok()?.getattr("bfloat16").ok()?.unbind());
    DTYPE.get_or_init(py, import).as_ref()
}

/// Converts i64 ticks to the numpy type of this kind (`M8` or `m8`) and unit; null is NaT.
fn ticks<'py>(py: Python<'py>, kind: &str, unit: TimeUnit, array: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    let data = array.to_data();
    let values = &data.buffer::<i64>(0)[..array.len()];
    let ticks = match array.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => view(py, values, &[array.len()], array)?,
        Some(nulls) => {
            let known = |(value, valid): (&i64, bool)| if valid { *value } else { i64::MIN };
            copy(py, values.iter().zip(nulls.iter()).map(known).collect(), &[array.len()])?
        }
    };
    let unit = match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    };
    ticks.call_method1(intern!(py, "view"), (format!("{kind}[{unit}]"),))
}

fn days<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    let days = array.as_primitive::<types::Date32Type>();
    let days = days.iter().map(|day| day.map_or(i64::MIN, i64::from)).collect();
    copy(py, days, &[array.len()])?.call_method1(intern!(py, "view"), ("M8[D]",))
}

/// Converts all rows of a column. Null numbers are 0 (see [`valid`]), null times NaT, null text and lists `None`, null elements of
/// tensors masked.
pub(crate) fn column<'py>(py: Python<'py>, ty: &ColumnType, array: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    let rows = array.len();
    match ty {
        ColumnType::Scalar(element) => elements(py, *element, array, 0..rows, &[rows]),
        ColumnType::Date => days(py, array),
        ColumnType::Timestamp(unit, _) => ticks(py, "M8", *unit, array),
        ColumnType::Duration(unit) => ticks(py, "m8", *unit, array),
        ColumnType::Tensor { element, shape } if ty.fixed_elements().is_some() => {
            let list = array.as_fixed_size_list();
            let inner = list.values();
            let shape: Vec<usize> = std::iter::once(rows).chain(shape.iter().flatten().map(|extent| *extent as usize)).collect();
            let convert = if has_null_elements(list) { parts } else { elements };
            convert(py, *element, inner, 0..inner.len(), &shape)
        }
        _ => match Ragged::of(ty, array) {
            Some(ragged) => Ok(Bound::new(py, ragged)?.into_any()),
            None => {
                let values = (0..rows).map(|row| value(py, ty, array, row)).collect::<PyResult<Vec<_>>>()?;
                let objects = py.import(intern!(py, "numpy"))?.call_method1(intern!(py, "empty"), (rows, "object"))?;
                for (row, value) in values.into_iter().enumerate() {
                    objects.set_item(row, value)?;
                }
                Ok(objects)
            }
        },
    }
}

/// Converts one row of a column; null is `None`.
pub(crate) fn value<'py>(py: Python<'py>, ty: &ColumnType, array: &ArrayRef, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if array.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    let only = |array: Bound<'py, PyAny>| array.get_item(PyTuple::empty(py));
    match ty {
        ColumnType::Scalar(Primitive::Bool) => Ok(PyBool::new(py, array.as_boolean().value(row)).to_owned().into_any()),
        ColumnType::Scalar(element) => only(elements(py, *element, array, row..row + 1, &[])?),
        ColumnType::Date | ColumnType::Timestamp(..) | ColumnType::Duration(_) => {
            column(py, ty, &array.slice(row, 1))?.get_item(0)
        }
        ColumnType::Utf8 | ColumnType::Categorical => Ok(PyString::new(py, array.as_string::<i64>().value(row)).into_any()),
        ColumnType::Tensor { element, shape } if ty.fixed_elements().is_some() => {
            let list = array.as_fixed_size_list();
            let size = list.value_length() as usize;
            let shape: Vec<usize> = shape.iter().flatten().map(|extent| *extent as usize).collect();
            parts(py, *element, list.values(), row * size..(row + 1) * size, &shape)
        }
        _ => match (ty, Ragged::of(ty, array)) {
            (_, Some(ragged)) => ragged.row(py, row),
            (ColumnType::List(item), None) => {
                let items = array.as_list::<i64>().value(row);
                let items = (0..items.len()).map(|place| value(py, item, &items, place)).collect::<PyResult<Vec<_>>>()?;
                Ok(PyList::new(py, items)?.into_any())
            }
            _ => Err(Internal::new_err(format!("no Python value for the type {ty}"))),
        },
    }
}

/// Returns whether each row of a column is not null.
pub(crate) fn valid<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    let valid = array.nulls().map_or_else(|| vec![true; array.len()], |nulls| nulls.iter().collect());
    copy(py, valid, &[array.len()])
}

/// Rows of different lengths in one array: row i is `values[offsets[i]:offsets[i + 1]]`.
///
/// `ragged[i]` is row i as an array of its own shape (a view), or None if it is null. If dimensions other than the first differ
/// between rows, `values` is flat and `shapes` has the shape of each row. Arrays with null elements are masked arrays of numpy.
#[pyclass(frozen, module = "tetrys")]
pub(crate) struct Ragged {
    ty: ColumnType,
    /// The whole column, as it was read.
    array: ArrayRef,
    element: Primitive,
    values: ArrayRef,
    /// Where each row starts in `values`, in elements, and the end of the last row.
    offsets: Vec<usize>,
    /// Shape of each row, flat, and the rank; `None` if rows have one dimension.
    shapes: Option<(Vec<i32>, usize)>,
    /// Extents after the first; `None` if they differ between rows.
    trailing: Option<Vec<usize>>,
    nulls: Option<NullBuffer>,
}

impl Ragged {
    /// Makes a `Ragged` of bytes, lists of scalars, and tensors of variable shape; `None` for other types.
    fn of(ty: &ColumnType, array: &ArrayRef) -> Option<Self> {
        let usizes = |offsets: &[i64]| offsets.iter().map(|offset| *offset as usize).collect();
        let nulls = array.nulls().cloned();
        let (element, values, offsets, shapes, trailing) = match ty {
            ColumnType::Binary => {
                let bytes = array.as_binary::<i64>();
                let values: ArrayRef = std::sync::Arc::new(arrow_array::UInt8Array::new(bytes.values().clone().into(), None));
                (Primitive::U8, values, usizes(bytes.value_offsets()), None, Some(Vec::new()))
            }
            ColumnType::List(item) => {
                let ColumnType::Scalar(element) = **item else { return None };
                let list = array.as_list::<i64>();
                (element, ArrayRef::clone(list.values()), usizes(list.value_offsets()), None, Some(Vec::new()))
            }
            ColumnType::Tensor { element, shape } => {
                let parts = array.as_struct_opt()?;
                let data = parts.column_by_name("data")?.as_list_opt::<i64>()?;
                let extents = parts.column_by_name("shape")?.as_fixed_size_list_opt()?;
                let shapes = extents.values().as_primitive_opt::<types::Int32Type>()?.values().to_vec();
                let trailing = shape.iter().skip(1).map(|extent| extent.map(|extent| extent as usize)).collect();
                let offsets = usizes(data.value_offsets());
                (*element, ArrayRef::clone(data.values()), offsets, Some((shapes, shape.len())), trailing)
            }
            _ => return None,
        };
        Some(Self { ty: ty.clone(), array: ArrayRef::clone(array), element, values, offsets, shapes, trailing, nulls })
    }

    fn row<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, PyAny>> {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return Ok(py.None().into_bound(py));
        }
        let range = self.offsets[row]..self.offsets[row + 1];
        let shape = match &self.shapes {
            Some((shapes, rank)) => shapes[row * rank..(row + 1) * rank].iter().map(|extent| *extent as usize).collect(),
            None => vec![range.len()],
        };
        parts(py, self.element, &self.values, range, &shape)
    }

    fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of elements of one step in the first dimension.
    fn step(&self) -> usize {
        self.trailing.as_ref().map_or(1, |trailing| trailing.iter().product::<usize>()).max(1)
    }
}

#[pymethods]
impl Ragged {
    /// Values of all rows in order.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let range = self.offsets[0]..self.offsets[self.rows()];
        let mut shape = vec![range.len() / self.step()];
        shape.extend(self.trailing.iter().flatten());
        if shape.iter().product::<usize>() != range.len() {
            shape = vec![range.len()];
        }
        parts(py, self.element, &self.values, range, &shape)
    }

    /// Start of each row in `values`, and the end of the last row, i64 [rows + 1].
    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let offset = |offset: &usize| ((offset - self.offsets[0]) / self.step()) as i64;
        copy(py, self.offsets.iter().map(offset).collect(), &[self.offsets.len()])
    }

    /// Shape of each row, i64 [rows, rank].
    #[getter]
    fn shapes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.shapes {
            Some((shapes, rank)) => copy(py, shapes.iter().map(|extent| i64::from(*extent)).collect(), &[self.rows(), *rank]),
            None => copy(py, self.offsets.windows(2).map(|pair| (pair[1] - pair[0]) as i64).collect(), &[self.rows(), 1]),
        }
    }

    /// Returns each row as an array; None for a null row.
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, (0..self.rows()).map(|row| self.row(py, row)).collect::<PyResult<Vec<_>>>()?)
    }

    fn __len__(&self) -> usize {
        self.rows()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, row: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.row(py, place_of(row, self.rows())?)
    }

    /// Whether each row is not null, bool [rows].
    #[getter]
    fn valid<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        valid(py, &self.array)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<capsule::Capsules<'py>> {
        // The interface allows a producer to ignore the requested schema.
        let _ = requested_schema;
        capsule::of_array(py, &self.array)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Pickled<'py>)> {
        let restore = py.import("tetrys._tetrys")?.getattr("restore_ragged")?;
        let field = Field::new("values", self.array.data_type().clone(), true);
        let batch = RecordBatch::try_new(Schema::new(vec![field]).into(), vec![ArrayRef::clone(&self.array)]);
        let batch = batch.map_err(|error| Internal::new_err(error.to_string()))?;
        Ok((restore, (self.ty.to_string(), PyBytes::new(py, &pickle::to_bytes(&batch)?))))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.to_list(py)?.try_iter()?.into_any())
    }

    fn __repr__(&self) -> String {
        format!("Ragged of {} rows, {} {}", self.rows(), self.offsets[self.rows()] - self.offsets[0], self.element.name())
    }
}

/// Type and values.
type Pickled<'py> = (String, Bound<'py, PyBytes>);

/// Restores a pickled `Ragged`.
#[pyfunction]
pub(crate) fn restore_ragged(ty: &str, bytes: &[u8]) -> PyResult<Ragged> {
    let ty: ColumnType = ty.parse().py()?;
    let batch = pickle::from_bytes(bytes)?;
    let array = batch.columns().first().filter(|array| *array.data_type() == ty.arrow());
    let ragged = array.and_then(|array| Ragged::of(&ty, array));
    ragged.ok_or_else(|| Invalid::new_err(format!("pickled rows: expected values of {ty}")))
}

/// Returns the row that an argument selects: an integer; negative ones count from the end.
pub(crate) fn place_of(row: &Bound<'_, PyAny>, len: usize) -> PyResult<usize> {
    if row.is_instance_of::<PyBool>() || row.is_none() {
        return Err(wrong_type(&format!("a row number is an integer, found {}", found(row)?)));
    }
    match row.extract::<isize>() {
        Ok(row) => place(row, len),
        Err(_) if row.is_instance_of::<PyInt>() => Err(no_place(&format!("{} is outside 0..{len}", short(row)?))),
        Err(_) => Err(wrong_type(&format!("a row number is an integer, found {}", found(row)?))),
    }
}

/// Resolves a row number; negative ones count from the end.
pub(crate) fn place(place: isize, len: usize) -> PyResult<usize> {
    let counted = if place < 0 { place.checked_add_unsigned(len) } else { Some(place) };
    let found = counted.and_then(|place| usize::try_from(place).ok()).filter(|place| *place < len);
    found.ok_or_else(|| no_place(&format!("{place} is outside 0..{len}")))
}

/// Copies a flat numpy array to an Arrow array; returns it with the type of its elements.
pub(crate) fn from_numpy(values: &Bound<'_, PyAny>) -> PyResult<(ArrayRef, Primitive)> {
    macro_rules! copied {
        ($($native:ty, $arrow:ty, $element:ident;)*) => {$(
            if let Ok(values) = values.cast::<numpy::PyArray1<$native>>() {
                let values = values.try_readonly().map_err(|error| Internal::new_err(error.to_string()))?;
                let values: Vec<$native> = match values.as_slice() {
                    Ok(slice) => slice.to_vec(),
                    Err(_) => values.as_array().iter().copied().collect(),
                };
                let array = arrow_array::PrimitiveArray::<$arrow>::from_iter_values(values);
                return Ok((std::sync::Arc::new(array), Primitive::$element));
            }
        )*};
    }
    copied!(
        i8, types::Int8Type, I8;
        i16, types::Int16Type, I16;
        i32, types::Int32Type, I32;
        i64, types::Int64Type, I64;
        u8, types::UInt8Type, U8;
        u16, types::UInt16Type, U16;
        u32, types::UInt32Type, U32;
        u64, types::UInt64Type, U64;
        half::f16, types::Float16Type, F16;
        f32, types::Float32Type, F32;
        f64, types::Float64Type, F64;
    );
    if let Ok(values) = values.cast::<numpy::PyArray1<bool>>() {
        let values = values.try_readonly().map_err(|error| Internal::new_err(error.to_string()))?;
        let values: Vec<bool> = values.as_array().iter().copied().collect();
        return Ok((std::sync::Arc::new(arrow_array::BooleanArray::from(values)), Primitive::Bool));
    }
    let found = values.getattr(intern!(values.py(), "dtype"))?;
    Err(Invalid::new_err(format!("no column type for numpy's {found}")))
}
