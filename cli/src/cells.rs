//! Formats one value of a column: its shape and first elements for people, or the whole value as JSON.

use arrow_array::{Array, ArrayRef, cast::AsArray, types};
use serde_json::{Map, Value};
use tetrys::{ColumnType, schema::Primitive};

use crate::{
    text::{counted, printable},
    times,
};

/// One value of a column: elements of one type, in C order.
pub(crate) struct Cell {
    /// Extent of each dimension, outermost first. Empty for a single element.
    pub(crate) shape: Vec<usize>,
    items: ArrayRef,
    item: ColumnType,
}

impl Cell {
    /// Returns the value in a row, or `None` if it is null.
    pub(crate) fn of(ty: &ColumnType, array: &ArrayRef, row: usize) -> Option<Self> {
        if array.is_null(row) {
            return None;
        }
        let extents = |shape: &[Option<u32>]| shape.iter().flatten().map(|extent| *extent as usize).collect();
        Some(match ty {
            ColumnType::List(item) => {
                let items = array.as_list::<i64>().value(row);
                Self { shape: vec![items.len()], items, item: (**item).clone() }
            }
            ColumnType::Tensor { element, shape } if ty.fixed_elements().is_some() => {
                Self { shape: extents(shape), items: array.as_fixed_size_list().value(row), item: ColumnType::Scalar(*element) }
            }
            ColumnType::Tensor { element, .. } => {
                let parts = array.as_struct();
                let shape = parts.column(1).as_fixed_size_list().value(row);
                Self {
                    shape: shape.as_primitive::<types::Int32Type>().values().iter().map(|extent| *extent as usize).collect(),
                    items: parts.column(0).as_list::<i64>().value(row),
                    item: ColumnType::Scalar(*element),
                }
            }
            _ => Self { shape: Vec::new(), items: array.slice(row, 1), item: ty.clone() },
        })
    }

    /// Formats the first `most` elements, and appends `..` if there are more.
    pub(crate) fn preview(&self, most: usize) -> String {
        let mut shown: Vec<String> = (0..self.items.len().min(most)).map(|place| self.element_text(place)).collect();
        if self.items.len() > most {
            shown.push("..".to_owned());
        }
        shown.join(" ")
    }

    fn element_text(&self, place: usize) -> String {
        match &self.item {
            ColumnType::Binary if self.items.is_valid(place) => {
                let bytes = self.items.as_binary::<i64>().value(place);
                let first: Vec<String> = bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
                format!(
                    "{}: {}{}",
                    counted(bytes.len() as u64, "byte"),
                    first.join(" "),
                    if bytes.len() > 8 { " .." } else { "" }
                )
            }
            item => match element(item, &self.items, place) {
                Value::String(text) => format!("\"{}\"", printable(&text.chars().take(60).collect::<String>())),
                Value::Number(number) => shortened(&number.to_string()),
                other => other.to_string(),
            },
        }
    }

    /// Returns the whole value, as arrays nested by its shape.
    fn json(&self) -> Value {
        if self.shape.is_empty() {
            return element(&self.item, &self.items, 0);
        }
        nested(&self.shape, &mut (0..self.items.len()).map(|place| element(&self.item, &self.items, place)))
    }
}

/// Returns the value in a row as JSON: dates, timestamps, infinities and NaN as text, bytes as hexadecimal digits.
pub(crate) fn json(ty: &ColumnType, array: &ArrayRef, row: usize) -> Value {
    Cell::of(ty, array, row).map_or(Value::Null, |cell| cell.json())
}

/// Returns the values of one row as an object with a member for each column.
pub(crate) fn json_row<'a>(columns: impl IntoIterator<Item = (&'a str, &'a ColumnType, &'a ArrayRef)>, row: usize) -> Value {
    let named = columns.into_iter().map(|(name, ty, array)| (name.to_owned(), json(ty, array, row)));
    Value::Object(named.collect::<Map<_, _>>())
}

fn nested(shape: &[usize], items: &mut impl Iterator<Item = Value>) -> Value {
    match shape {
        [] => items.next().unwrap_or(Value::Null),
        [extent, inner @ ..] => Value::Array((0..*extent).map(|_| nested(inner, items)).collect()),
    }
}

fn element(ty: &ColumnType, array: &ArrayRef, place: usize) -> Value {
    if array.is_null(place) {
        return Value::Null;
    }
    macro_rules! number {
        ($arrow:ty) => {
            array.as_primitive::<$arrow>().value(place)
        };
    }
    match ty {
        ColumnType::Scalar(primitive) => match primitive {
            Primitive::Bool => array.as_boolean().value(place).into(),
            Primitive::I8 => number!(types::Int8Type).into(),
            Primitive::I16 => number!(types::Int16Type).into(),
            Primitive::I32 => number!(types::Int32Type).into(),
            Primitive::I64 => number!(types::Int64Type).into(),
            Primitive::U8 => number!(types::UInt8Type).into(),
            Primitive::U16 => number!(types::UInt16Type).into(),
            Primitive::U32 => number!(types::UInt32Type).into(),
            Primitive::U64 => number!(types::UInt64Type).into(),
            Primitive::F16 => float(number!(types::Float16Type).to_string()),
            Primitive::Bf16 => float(half::bf16::from_bits(number!(types::UInt16Type)).to_string()),
            Primitive::F32 => float(number!(types::Float32Type).to_string()),
            Primitive::F64 => float(number!(types::Float64Type).to_string()),
        },
        ColumnType::Date => times::date(number!(types::Date32Type).into()),
        ColumnType::Timestamp(unit, zone) => {
            ticks(array, place).map_or(Value::Null, |ticks| times::timestamp(ticks, *unit, zone.is_some()))
        }
        ColumnType::Duration(_) => ticks(array, place).into(),
        ColumnType::Utf8 | ColumnType::Categorical => array.as_string::<i64>().value(place).into(),
        ColumnType::Binary => {
            array.as_binary::<i64>().value(place).iter().map(|byte| format!("{byte:02x}")).collect::<String>().into()
        }
        nested => json(nested, array, place),
    }
}

/// Returns the raw number of a timestamp or duration, in the unit of its column.
fn ticks(array: &ArrayRef, place: usize) -> Option<i64> {
    let data = array.to_data();
    data.buffers().first().and_then(|buffer| buffer.typed_data::<i64>().get(data.offset() + place)).copied()
}

/// Returns a float, given in its shortest decimal form, as a JSON number. Infinities and NaN become text.
pub(crate) fn float(shortest: String) -> Value {
    match shortest.parse::<f64>().ok().and_then(serde_json::Number::from_f64) {
        Some(number) => Value::Number(number),
        None => Value::String(shortest),
    }
}

/// Rounds floats to six significant digits; leaves integers as they are.
fn shortened(number: &str) -> String {
    match number.parse::<f64>() {
        Ok(value) if number.contains(['.', 'e']) => {
            let digits = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
            if (-4..9).contains(&digits) {
                let fixed = format!("{value:.*}", (5 - digits).max(1) as usize);
                fixed.trim_end_matches('0').trim_end_matches('.').to_owned()
            } else {
                format!("{value:.5e}")
            }
        }
        _ => number.to_owned(),
    }
}
