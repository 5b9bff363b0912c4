//! What loaders give: Arrow columns with a mask, and tensors without copying.

use std::{
    ops::{Deref, Range},
    sync::Arc,
};

use arrow_array::{
    Array, ArrayRef, RecordBatch,
    cast::AsArray,
    types::{
        Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
        UInt64Type,
    },
};
use arrow_buffer::NullBuffer;
use half::slice::HalfBitsSliceExt;

use crate::{
    error::{Error, Result, counted},
    schema::{ColumnType, Primitive},
};

/// Some rows: one Arrow column for each column asked for, and which of the rows exist.
#[derive(Clone, Debug)]
pub struct Rows {
    batch: RecordBatch,
    types: Arc<[ColumnType]>,
    rows: Vec<Option<u64>>,
    /// For each column which of its rows have a table behind them; `None`: those that exist.
    partners: Option<Vec<Vec<bool>>>,
}

impl Rows {
    /// `rows` has the row of the first table at each place.
    pub(in crate::table) fn new(batch: RecordBatch, types: Arc<[ColumnType]>, rows: Vec<Option<u64>>) -> Self {
        Self { batch, types, rows, partners: None }
    }

    /// The same, of several tables; `partners` says for each column which of its rows have a table behind them.
    pub(in crate::table) fn with_partners(self, partners: Vec<Vec<bool>>) -> Self {
        Self { partners: Some(partners), ..self }
    }

    /// Some of the rows, a view of these.
    pub(in crate::table) fn slice(&self, start: usize, len: usize) -> Self {
        let part = |partners: &Vec<Vec<bool>>| partners.iter().map(|there| there[start..start + len].to_vec()).collect();
        Self {
            batch: self.batch.slice(start, len),
            types: Arc::clone(&self.types),
            rows: self.rows[start..start + len].to_vec(),
            partners: self.partners.as_ref().map(part),
        }
    }

    /// Rows that were taken apart: `partners` has for each column which of its rows have a table behind them, none where these
    /// are the rows that exist.
    ///
    /// # Errors
    /// `Invalid` where a column is of another Arrow type than its column type, or of another length.
    pub fn from_parts(
        batch: RecordBatch,
        types: Vec<ColumnType>,
        rows: Vec<Option<u64>>,
        partners: Option<Vec<Vec<bool>>>,
    ) -> Result<Self> {
        let typed = batch.columns().iter().map(|array| array.data_type().clone()).eq(types.iter().map(ColumnType::arrow));
        let complete = partners.iter().flatten().all(|there| there.len() == rows.len());
        let columns = partners.as_ref().is_none_or(|partners| partners.len() == types.len());
        if !typed || !complete || !columns || batch.num_rows() != rows.len() {
            return Err(Error::invalid(format!(
                "types and masks do not fit a batch of {} and {}",
                counted(batch.num_rows(), "row"),
                counted(batch.num_columns(), "column")
            )));
        }
        Ok(Self { batch, types: types.into(), rows, partners })
    }

    /// For each column which of its rows have a table behind them; none where these are the rows that exist.
    pub fn partners(&self) -> Option<&[Vec<bool>]> {
        self.partners.as_deref()
    }

    /// How many rows, missing ones included.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Which rows exist; the others are null in every column.
    pub fn mask(&self) -> Vec<bool> {
        self.rows.iter().map(Option::is_some).collect()
    }

    /// Which rows of a column have a table behind them: as [`Rows::mask`], and for a column of a merged table only those that
    /// have a partner there.
    ///
    /// # Errors
    /// `NotFound` for a column that was not read.
    pub fn column_mask(&self, name: &str) -> Result<Vec<bool>> {
        self.column(name)?;
        let place = self.batch.schema_ref().index_of(name).ok();
        let there = place.zip(self.partners.as_ref()).and_then(|(place, partners)| partners.get(place).cloned());
        Ok(there.unwrap_or_else(|| self.mask()))
    }

    /// The table row of each row; of merged tables that of the first.
    pub fn table_rows(&self) -> &[Option<u64>] {
        &self.rows
    }

    /// The columns as an Arrow record batch; types as [`crate::ColumnType::arrow`] says.
    pub fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    /// The types of the columns, in the order of [`Rows::batch`]: Arrow has no bf16, for one.
    pub fn column_types(&self) -> &[ColumnType] {
        &self.types
    }

    /// One column.
    ///
    /// # Errors
    /// `NotFound` for a column that was not read.
    pub fn column(&self, name: &str) -> Result<&ArrayRef> {
        self.batch.column_by_name(name).ok_or_else(|| Error::not_found(format!("column `{name}` was not read")))
    }

    /// The tensor (or scalar, of rank 0) in row `row` of a column, without copying.
    ///
    /// # Errors
    /// `NotFound` for a column that was not read or a null, `Invalid` for another element type or a row outside.
    pub fn tensor<T: Element>(&self, name: &str, row: usize) -> Result<Tensor<'_, T>> {
        let column = self.column(name)?;
        let ty = self.batch.schema_ref().index_of(name).ok().and_then(|place| self.types.get(place));
        if row >= column.len() {
            return Err(Error::invalid(format!("row {row} is outside 0..{}", column.len())));
        }
        if column.is_null(row) {
            return Err(Error::not_found(format!("column `{name}`, row {row} is null")));
        }
        ty.and_then(|ty| view(ty, column, row)).ok_or_else(|| {
            Error::invalid(format!(
                "column `{name}` is {}, not a tensor of {}",
                ty.map_or(String::new(), ToString::to_string),
                T::NAME
            ))
        })
    }
}

/// One row.
#[derive(Clone, Debug)]
pub struct Row(Rows);

impl Row {
    pub(in crate::table) fn new(rows: Rows) -> Self {
        Self(rows)
    }

    /// The tensor (or scalar, of rank 0) in a column, without copying.
    ///
    /// # Errors
    /// As [`Rows::tensor`].
    pub fn tensor<T: Element>(&self, name: &str) -> Result<Tensor<'_, T>> {
        self.0.tensor(name, 0)
    }

    /// The text in a column.
    ///
    /// # Errors
    /// `NotFound` for a column that was not read or a null, `Invalid` for a column of another type.
    pub fn text(&self, name: &str) -> Result<&str> {
        let column = self.valid(name)?;
        column
            .as_string_opt::<i64>()
            .map(|text| text.value(0))
            .ok_or_else(|| Error::invalid(format!("column `{name}` is {}, not text", column.data_type())))
    }

    /// The bytes in a column.
    ///
    /// # Errors
    /// As [`Row::text`].
    pub fn bytes(&self, name: &str) -> Result<&[u8]> {
        let column = self.valid(name)?;
        column
            .as_binary_opt::<i64>()
            .map(|bytes| bytes.value(0))
            .ok_or_else(|| Error::invalid(format!("column `{name}` is {}, not bytes", column.data_type())))
    }

    pub(super) fn valid(&self, name: &str) -> Result<&ArrayRef> {
        let column = self.0.column(name)?;
        if column.is_null(0) { Err(Error::not_found(format!("column `{name}` is null"))) } else { Ok(column) }
    }

    /// The row as rows.
    pub fn as_rows(&self) -> &Rows {
        &self.0
    }
}

/// A tensor of one row, in C order, borrowed from the row.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor<'a, T> {
    shape: Vec<usize>,
    values: &'a [T],
    nulls: Option<NullBuffer>,
}

impl<'a, T> Tensor<'a, T> {
    /// Extent of each dimension, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Every element, the last dimension fastest; null ones are 0.
    pub fn values(&self) -> &'a [T] {
        self.values
    }

    /// The tensor as a view of the `ndarray` crate, without copying.
    ///
    /// ```
    /// # fn example(row: &tetrys::Row) -> tetrys::Result<()> {
    /// let points = row.tensor::<f32>("lidar.points")?.view();
    /// let mean = points.mean_axis(ndarray::Axis(0));
    /// # Ok(()) }
    /// ```
    pub fn view(&self) -> ndarray::ArrayViewD<'a, T> {
        // The shape is that of the values, or the tensor would not have been made.
        ndarray::ArrayViewD::from_shape(self.shape.as_slice(), self.values)
            .unwrap_or_else(|_| ndarray::ArrayView1::from(self.values).into_dyn())
    }

    /// Which elements are null, in the order of [`Tensor::values`]; `None` where none is.
    pub fn nulls(&self) -> Option<&NullBuffer> {
        self.nulls.as_ref()
    }
}

impl<T> Deref for Tensor<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.values
    }
}

/// The Rust type of a tensor's elements: the integers and floats, [`half::f16`] and [`half::bf16`] among them.
pub trait Element: Copy + 'static {
    /// Its name in schemas.
    const NAME: &'static str;

    /// The elements of an array that holds the elements of a column, if they are of this type.
    #[doc(hidden)]
    fn elements<'a>(ty: &ColumnType, array: &'a ArrayRef) -> Option<&'a [Self]>;
}

fn element_of(ty: &ColumnType) -> Option<Primitive> {
    match ty {
        ColumnType::Scalar(element) | ColumnType::Tensor { element, .. } => Some(*element),
        _ => None,
    }
}

macro_rules! elements {
    ($($native:ty => $primitive:ident, $arrow:ty);*) => {$(
        impl Element for $native {
            const NAME: &'static str = stringify!($native);

            fn elements<'a>(ty: &ColumnType, array: &'a ArrayRef) -> Option<&'a [Self]> {
                let named = element_of(ty).is_none_or(|element| element == Primitive::$primitive);
                if named { array.as_primitive_opt::<$arrow>().map(|array| array.values().as_ref()) } else { None }
            }
        }
    )*};
}

elements!(
    i8 => I8, Int8Type; i16 => I16, Int16Type; i32 => I32, Int32Type; i64 => I64, Int64Type; u8 => U8, UInt8Type;
    u16 => U16, UInt16Type; u32 => U32, UInt32Type; u64 => U64, UInt64Type; half::f16 => F16, Float16Type;
    f32 => F32, Float32Type; f64 => F64, Float64Type
);

impl Element for half::bf16 {
    const NAME: &'static str = "bf16";

    fn elements<'a>(ty: &ColumnType, array: &'a ArrayRef) -> Option<&'a [Self]> {
        let bits = array.as_primitive_opt::<UInt16Type>().filter(|_| element_of(ty) == Some(Primitive::Bf16))?;
        Some(bits.values().as_ref().reinterpret_cast())
    }
}

fn view<'a, T: Element>(ty: &ColumnType, column: &'a ArrayRef, row: usize) -> Option<Tensor<'a, T>> {
    if let ColumnType::Scalar(_) = ty {
        return tensor(T::elements(ty, column)?, column, row..row + 1, Vec::new());
    }
    if let Some(list) = column.as_fixed_size_list_opt() {
        let size = usize::try_from(list.value_length()).ok()?;
        let ColumnType::Tensor { shape, .. } = ty else { return None };
        let shape = shape.iter().flatten().map(|extent| usize::try_from(*extent).ok()).collect::<Option<_>>()?;
        return tensor(T::elements(ty, list.values())?, list.values(), row * size..(row + 1) * size, shape);
    }
    let parts = column.as_struct_opt()?;
    let data = parts.column_by_name("data")?.as_list_opt::<i64>()?;
    let shapes = parts.column_by_name("shape")?.as_fixed_size_list_opt()?;
    let rank = usize::try_from(shapes.value_length()).ok()?;
    let extents = shapes.values().as_primitive_opt::<Int32Type>()?.values();
    let shape =
        extents.get(row * rank..(row + 1) * rank)?.iter().map(|extent| usize::try_from(*extent).ok()).collect::<Option<_>>()?;
    let (start, end) = (*data.value_offsets().get(row)?, *data.value_offsets().get(row + 1)?);
    let range = usize::try_from(start).ok()?..usize::try_from(end).ok()?;
    tensor(T::elements(ty, data.values())?, data.values(), range, shape)
}

fn tensor<'a, T>(values: &'a [T], array: &ArrayRef, range: Range<usize>, shape: Vec<usize>) -> Option<Tensor<'a, T>> {
    let nulls = array.nulls().map(|nulls| nulls.slice(range.start, range.len())).filter(|nulls| nulls.null_count() > 0);
    Some(Tensor { shape, values: values.get(range)?, nulls })
}
