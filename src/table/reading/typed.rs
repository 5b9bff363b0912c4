//! Values of rows as Rust types: scalars, times, texts, and whole columns as n-dimensional arrays without copying.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, cast::AsArray, types::Date32Type};
use arrow_schema::{DataType, TimeUnit};
use ndarray::ArrayViewD;

use super::{
    rows::{Element, Row, Rows},
    windows::Windows,
};
use crate::{
    error::{Error, Result, counted},
    schema::ColumnType,
};

impl Row {
    /// Returns the number in a scalar column.
    ///
    /// ```
    /// # fn example(row: &tetrys::Row) -> tetrys::Result<()> {
    /// let speed: f32 = row.scalar("ego.speed")?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// - `NotFound`: the column was not read, or the value is null.
    /// - `Invalid`: the column has another type, or is a tensor.
    pub fn scalar<T: Element>(&self, name: &str) -> Result<T> {
        let tensor = self.tensor::<T>(name)?;
        match (tensor.shape(), tensor.values()) {
            ([], [value]) => Ok(*value),
            (shape, _) => Err(Error::invalid(format!("column `{name}` is a tensor of shape {shape:?}, expected a scalar"))),
        }
    }

    /// Returns the value in a boolean column.
    ///
    /// # Errors
    /// - `NotFound`: the column was not read, or the value is null.
    /// - `Invalid`: the column has another type.
    pub fn bool(&self, name: &str) -> Result<bool> {
        let column = self.valid(name)?;
        let bits = column.as_boolean_opt().ok_or_else(|| other_type(name, column, "bool"))?;
        Ok(bits.value(0))
    }

    /// Returns the time in a column of type `timestamp`, in nanoseconds since 1970-01-01T00:00Z, whatever the unit of the column is.
    ///
    /// ```
    /// # fn example(row: &tetrys::Row, before: &tetrys::Row) -> tetrys::Result<()> {
    /// let passed = row.timestamp("timestamp")? - before.timestamp("timestamp")?;
    /// println!("{} ms", passed / 1_000_000);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// - `NotFound`: the column was not read, or the value is null.
    /// - `Invalid`: the column has another type.
    pub fn timestamp(&self, name: &str) -> Result<i128> {
        let column = self.valid(name)?;
        match column.data_type() {
            DataType::Timestamp(unit, _) => nanoseconds(column, *unit),
            _ => Err(other_type(name, column, "a timestamp")),
        }
    }

    /// Returns the span of time in a column of type `duration`, in nanoseconds, whatever the unit of the column is.
    ///
    /// # Errors
    /// - `NotFound`: the column was not read, or the value is null.
    /// - `Invalid`: the column has another type.
    pub fn duration(&self, name: &str) -> Result<i128> {
        let column = self.valid(name)?;
        match column.data_type() {
            DataType::Duration(unit) => nanoseconds(column, *unit),
            _ => Err(other_type(name, column, "a duration")),
        }
    }

    /// Returns the day in a column of type `date`, in days since 1970-01-01.
    ///
    /// # Errors
    /// - `NotFound`: the column was not read, or the value is null.
    /// - `Invalid`: the column has another type.
    pub fn date(&self, name: &str) -> Result<i32> {
        let column = self.valid(name)?;
        let days = column.as_primitive_opt::<Date32Type>().ok_or_else(|| other_type(name, column, "a date"))?;
        Ok(days.value(0))
    }

    /// Returns the texts in a column of type `list<utf8>`; `None` for each null text.
    ///
    /// # Errors
    /// - `NotFound`: the column was not read, or the list is null.
    /// - `Invalid`: the column has another type.
    pub fn texts(&self, name: &str) -> Result<Vec<Option<&str>>> {
        let column = self.valid(name)?;
        let list = column.as_list_opt::<i64>().ok_or_else(|| other_type(name, column, "a list of texts"))?;
        let texts = list.values().as_string_opt::<i64>().ok_or_else(|| other_type(name, column, "a list of texts"))?;
        let offsets = list.value_offsets();
        let place = |number: usize| offsets.get(number).and_then(|offset| usize::try_from(*offset).ok()).unwrap_or_default();
        Ok((place(0)..place(1)).map(|number| texts.is_valid(number).then(|| texts.value(number))).collect())
    }
}

impl Rows {
    /// Returns a column of numbers as an array of shape `[rows, ..]`, without copying. The column is a scalar or a tensor of fixed
    /// shape. Elements of rows that do not exist, and null elements, are 0: see [`Rows::mask`], and the nulls of [`Rows::column`].
    ///
    /// ```
    /// # async fn example(loader: &tetrys::RowLoader) -> tetrys::Result<()> {
    /// let rows = loader.take(&[4, 8, 15]).await?;
    /// let intrinsics = rows.array::<f64>("camera.intrinsics")?; // shape [3, 3, 3]
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// - `NotFound`: the column was not read.
    /// - `Invalid`: the column has another type, or its shape differs from row to row.
    pub fn array<T: Element>(&self, name: &str) -> Result<ArrayViewD<'_, T>> {
        self.shaped(name, &[self.len()])
    }

    /// The column as an array with these extents in the place of the number of rows.
    fn shaped<T: Element>(&self, name: &str, rows: &[usize]) -> Result<ArrayViewD<'_, T>> {
        let column = self.column(name)?;
        let place = self.batch().schema_ref().index_of(name).ok();
        let ty = place.and_then(|place| self.column_types().get(place));
        let ty = ty.ok_or_else(|| Error::internal(format!("column `{name}` has no type")))?;
        let refused =
            || Error::invalid(format!("column `{name}` is {ty}, expected a scalar or a tensor of fixed shape of {}", T::NAME));
        let (values, extents): (&ArrayRef, Option<Vec<usize>>) = match ty {
            ColumnType::Tensor { shape, .. } if ty.fixed_elements().is_some() => {
                let list = column.as_fixed_size_list_opt().ok_or_else(refused)?;
                (list.values(), shape.iter().flatten().map(|extent| usize::try_from(*extent).ok()).collect())
            }
            ColumnType::Scalar(_) => (column, Some(Vec::new())),
            _ => return Err(refused()),
        };
        let shape: Vec<usize> = rows.iter().copied().chain(extents.ok_or_else(refused)?).collect();
        let values = T::elements(ty, values).ok_or_else(refused)?;
        ArrayViewD::from_shape(shape, values).map_err(|error| Error::internal(format!("column `{name}`: {error}")))
    }
}

impl Windows {
    /// Returns a column of numbers as an array of shape `[windows, rows of a window, ..]`, without copying, as [`Rows::array`] does.
    ///
    /// # Errors
    /// - `NotFound`: the column was not read.
    /// - `Invalid`: the column has another type, its shape differs from row to row, or the windows have different lengths
    ///   ([`crate::Edge`] decides whether windows at the edge of a sequence are padded).
    pub fn array<T: Element>(&self, name: &str) -> Result<ArrayViewD<'_, T>> {
        let mut lengths = self.starts().windows(2).map(|pair| pair[1] - pair[0]);
        let length = lengths.next().unwrap_or(0);
        if let Some(other) = lengths.find(|other| *other != length) {
            return Err(Error::invalid(format!(
                "column `{name}`: expected windows of one length, found {length} and {}; read them with padded edges",
                counted(other, "row")
            )));
        }
        self.rows().shaped(name, &[self.len(), length])
    }
}

/// Returns the first value of a column of times with this unit.
fn nanoseconds(column: &ArrayRef, unit: TimeUnit) -> Result<i128> {
    let ticks = column.to_data().buffer::<i64>(0).first().copied();
    let ticks = ticks.ok_or_else(|| Error::internal("a column of times without a value"))?;
    let each = match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    };
    Ok(i128::from(ticks) * each)
}

fn other_type(name: &str, column: &Arc<dyn Array>, expected: &str) -> Error {
    Error::invalid(format!("column `{name}` is {}, expected {expected}", column.data_type()))
}
