//! The results of loaders: Arrow columns with a mask of missing rows, and zero-copy tensors.

use std::{
    ops::{Deref, Range},
    sync::Arc,
};

use arrow_array::{
    Array, ArrayRef, RecordBatch, RecordBatchOptions,
    cast::AsArray,
    types::{
        Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
        UInt64Type,
    },
};
use arrow_buffer::NullBuffer;
use arrow_select::interleave::interleave_record_batch;
use half::slice::HalfBitsSliceExt;

use crate::{
    error::{Error, Result, counted},
    schema::{ColumnType, Primitive},
};

/// Rows of a loader: one Arrow column for each requested column, and a mask of the rows that exist.
#[derive(Clone, Debug)]
pub struct Rows {
    batch: RecordBatch,
    types: Arc<[ColumnType]>,
    rows: Vec<Option<u64>>,
    /// The mask of each column: which rows exist in a table that holds the column. `None` for a single table, where
    /// [`Rows::mask`] holds for all columns.
    partners: Option<Vec<Vec<bool>>>,
}

impl Rows {
    /// Creates rows. `rows` has the row of the first table for each row of the batch.
    pub(in crate::table) fn new(batch: RecordBatch, types: Arc<[ColumnType]>, rows: Vec<Option<u64>>) -> Self {
        Self { batch, types, rows, partners: None }
    }

    /// Sets the mask of each column, for rows of several tables.
    pub(in crate::table) fn with_partners(self, partners: Vec<Vec<bool>>) -> Self {
        Self { partners: Some(partners), ..self }
    }

    /// Returns some of the rows, without copying values.
    pub(in crate::table) fn slice(&self, start: usize, len: usize) -> Self {
        let part = |partners: &Vec<Vec<bool>>| partners.iter().map(|there| there[start..start + len].to_vec()).collect();
        Self {
            batch: self.batch.slice(start, len),
            types: Arc::clone(&self.types),
            rows: self.rows[start..start + len].to_vec(),
            partners: self.partners.as_ref().map(part),
        }
    }

    /// Copies rows of several results, which have the same columns, into one: row i of the result is row `places[i].1` of
    /// `all[places[i].0]`.
    ///
    /// # Errors
    /// - `Invalid`: the columns differ.
    pub(super) fn interleave(all: &[&Self], places: &[(usize, usize)]) -> Result<Self> {
        let batches: Vec<&RecordBatch> = all.iter().map(|rows| &rows.batch).collect();
        let batch = match batches.first().filter(|batch| batch.num_columns() == 0) {
            Some(batch) => {
                let options = RecordBatchOptions::new().with_row_count(Some(places.len()));
                RecordBatch::try_new_with_options(batch.schema(), Vec::new(), &options)
            }
            None => interleave_record_batch(&batches, places),
        };
        let batch = batch.map_err(|error| Error::invalid(format!("rows of tables with different columns: {error}")))?;
        let rows = places.iter().map(|(number, row)| all[*number].rows[*row]).collect();
        let masks: Vec<Vec<Vec<bool>>> = match all.iter().any(|rows| rows.partners.is_some()) {
            true => all.iter().map(|rows| rows.partners.clone().unwrap_or_else(|| vec![rows.mask(); rows.types.len()])).collect(),
            false => Vec::new(),
        };
        let of_column = |column: usize| places.iter().map(|(number, row)| masks[*number][column][*row]).collect();
        let types = all.first().map_or_else(|| Arc::from([]), |rows| Arc::clone(&rows.types));
        let partners = (!masks.is_empty()).then(|| (0..types.len()).map(of_column).collect());
        Ok(Self { batch, types, rows, partners })
    }

    /// Creates rows from their parts: the columns, their types, the table row of each row ([`Rows::table_rows`]), and the mask of
    /// each column ([`Rows::partners`]).
    ///
    /// # Errors
    /// - `Invalid`: the Arrow type of a column does not match its column type, or the lengths of the parts differ.
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

    /// Returns the mask of each column: which rows exist in a table that holds the column. `None` for rows of a single table,
    /// where [`Rows::mask`] holds for all columns.
    pub fn partners(&self) -> Option<&[Vec<bool>]> {
        self.partners.as_deref()
    }

    /// Returns the number of rows, including missing rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns for each row whether it exists. A missing row is null in every column.
    pub fn mask(&self) -> Vec<bool> {
        self.rows.iter().map(Option::is_some).collect()
    }

    /// Returns for each row whether it exists in a table that holds this column. For a column of a merged table, rows without a
    /// partner in that table are false; otherwise the result is [`Rows::mask`].
    ///
    /// # Errors
    /// - `NotFound`: the column was not read.
    pub fn column_mask(&self, name: &str) -> Result<Vec<bool>> {
        self.column(name)?;
        let place = self.batch.schema_ref().index_of(name).ok();
        let there = place.zip(self.partners.as_ref()).and_then(|(place, partners)| partners.get(place).cloned());
        Ok(there.unwrap_or_else(|| self.mask()))
    }

    /// Returns the table row of each row, or `None` for a missing row. For merged tables, it is the row of the first table.
    pub fn table_rows(&self) -> &[Option<u64>] {
        &self.rows
    }

    /// Returns the columns as an Arrow record batch. [`crate::ColumnType::arrow`] defines the Arrow types.
    pub fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    /// Returns the types of the columns, in the order of [`Rows::batch`]. They say more than the Arrow types: Arrow has no bf16,
    /// for example.
    pub fn column_types(&self) -> &[ColumnType] {
        &self.types
    }

    /// Returns one column.
    ///
    /// # Errors
    /// - `NotFound`: the column was not read.
    pub fn column(&self, name: &str) -> Result<&ArrayRef> {
        self.batch.column_by_name(name).ok_or_else(|| Error::not_found(format!("column `{name}` was not read")))
    }

    /// Returns the tensor in row `row` of a column, without a copy. A scalar is a tensor of rank 0.
    ///
    /// # Errors
    /// - `NotFound`: the column was not read, or the value is null.
    /// - `Invalid`: the row is outside, or the column has another element type.
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

/// One row of a loader.
#[derive(Clone, Debug)]
pub struct Row(Rows);

impl Row {
    pub(in crate::table) fn new(rows: Rows) -> Self {
        Self(rows)
    }

    /// Returns the tensor in a column, without a copy. A scalar is a tensor of rank 0.
    ///
    /// # Errors
    /// - `NotFound`: the column was not read, or the value is null.
    /// - `Invalid`: the column has another element type.
    pub fn tensor<T: Element>(&self, name: &str) -> Result<Tensor<'_, T>> {
        self.0.tensor(name, 0)
    }

    /// Returns the text in a column.
    ///
    /// # Errors
    /// - `NotFound`: the column was not read, or the value is null.
    /// - `Invalid`: the column has another type.
    pub fn text(&self, name: &str) -> Result<&str> {
        let column = self.valid(name)?;
        column
            .as_string_opt::<i64>()
            .map(|text| text.value(0))
            .ok_or_else(|| Error::invalid(format!("column `{name}` is {}, not text", column.data_type())))
    }

    /// Returns the bytes in a column.
    ///
    /// # Errors
    /// - `NotFound`: the column was not read, or the value is null.
    /// - `Invalid`: the column has another type.
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

    /// Returns the row as [`Rows`] of length 1.
    pub fn as_rows(&self) -> &Rows {
        &self.0
    }
}

/// A tensor of one row, in row-major (C) order, borrowed from the row.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor<'a, T> {
    shape: Vec<usize>,
    values: &'a [T],
    nulls: Option<NullBuffer>,
}

impl<'a, T> Tensor<'a, T> {
    /// Returns the extent of each dimension, outermost first; empty for a scalar.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns all elements in row-major order. Null elements are 0.
    pub fn values(&self) -> &'a [T] {
        self.values
    }

    /// Returns the tensor as a view of the `ndarray` crate, without a copy.
    ///
    /// ```
    /// # fn example(row: &tetrys::Row) -> tetrys::Result<()> {
    /// let points = row.tensor::<f32>("lidar.points")?.view();
    /// let mean = points.mean_axis(ndarray::Axis(0));
    /// # Ok(()) }
    /// ```
    pub fn view(&self) -> ndarray::ArrayViewD<'a, T> {
        // The shape fits the values; otherwise the tensor would not have been created.
        ndarray::ArrayViewD::from_shape(self.shape.as_slice(), self.values)
            .unwrap_or_else(|_| ndarray::ArrayView1::from(self.values).into_dyn())
    }

    /// Returns which elements are null, in the order of [`Tensor::values`]; `None` if no element is null.
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

/// A Rust type of tensor elements: integers and floats, including [`half::f16`] and [`half::bf16`].
pub trait Element: Copy + 'static {
    /// The name of the element type in schemas.
    const NAME: &'static str;

    /// Returns the elements of an array, if the column has elements of this type.
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
