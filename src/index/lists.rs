//! Lists in index columns. An index column of format 1 has one value in each row, so a list is stored as text: a JSON array. The
//! property `arrow` of the column names its type, such as `list<utf8>`, and frames show the lists again. Follows
//! `format-spec/manifest.md#schema`.
//!
//! Floats that JSON lacks are the texts `NaN`, `inf` and `-inf`. Dates, times and durations are numbers, as in index columns.

use std::sync::Arc;

use arrow_array::{ArrayRef, builder::LargeStringBuilder};
use polars::prelude::*;
use serde_json::Value;

use super::frame::{internal, shown_zone};
use crate::{
    error::{Error, Result},
    schema::{Column as TableColumn, ColumnType, Primitive, TimeUnit as Unit},
};

/// Column property with the type of the values.
pub(super) const ARROW: &str = "arrow";

/// Returns the type of the items, if the texts of an index column are lists.
pub(super) fn item_of(column: &TableColumn) -> Option<ColumnType> {
    if column.ty != ColumnType::Utf8 {
        return None;
    }
    match column.properties.get(ARROW)?.as_str()?.parse().ok()? {
        ColumnType::List(item) if item.is_indexable() => Some(*item),
        _ => None,
    }
}

/// Converts lists to texts.
pub(super) fn texts_of(lists: &ListChunked) -> Result<ArrayRef> {
    let mut texts = LargeStringBuilder::new();
    for list in lists.amortized_iter() {
        let Some(list) = list else {
            texts.append_null();
            continue;
        };
        let items = list.as_ref().iter().map(json_of).collect::<Result<Vec<Value>>>()?;
        texts.append_value(Value::from(items).to_string());
    }
    Ok(Arc::new(texts.finish()))
}

fn json_of(value: AnyValue<'_>) -> Result<Value> {
    let float = |value: f64| match value {
        _ if value.is_nan() => "NaN".into(),
        _ if value.is_infinite() => if value > 0.0 { "inf" } else { "-inf" }.into(),
        value => value.into(),
    };
    Ok(match value {
        AnyValue::Null => Value::Null,
        AnyValue::Boolean(value) => value.into(),
        AnyValue::Int8(value) => value.into(),
        AnyValue::Int16(value) => value.into(),
        AnyValue::Int32(value) | AnyValue::Date(value) => value.into(),
        AnyValue::Int64(value)
        | AnyValue::Datetime(value, ..)
        | AnyValue::DatetimeOwned(value, ..)
        | AnyValue::Duration(value, _) => value.into(),
        AnyValue::UInt8(value) => value.into(),
        AnyValue::UInt16(value) => value.into(),
        AnyValue::UInt32(value) => value.into(),
        AnyValue::UInt64(value) => value.into(),
        AnyValue::Float32(value) => float(value.into()),
        AnyValue::Float64(value) => float(value),
        AnyValue::String(text) => text.into(),
        AnyValue::StringOwned(text) => text.as_str().into(),
        value => match value.get_str() {
            Some(text) => text.into(),
            None => return Err(Error::internal(format!("a list of {} in an index", value.dtype()))),
        },
    })
}

/// Converts texts to lists of items of this type. Returns `None` if a text is no list of them: users can set the property.
///
/// # Errors
/// - `Internal`: polars refuses a column.
pub(super) fn lists_of(texts: &StringChunked, item: &ColumnType) -> Result<Option<Series>> {
    let Some(physical) = Items::new(item) else { return Ok(None) };
    let (mut items, mut ends) = (physical, Vec::with_capacity(texts.len()));
    for text in texts.iter() {
        let Some(text) = text else {
            ends.push(None);
            continue;
        };
        let Ok(Value::Array(values)) = serde_json::from_str(text) else { return Ok(None) };
        if values.iter().any(|value| items.push(value).is_none()) {
            return Ok(None);
        }
        ends.push(Some(items.len()));
    }
    let Ok(values) = items.series(item) else { return Ok(None) };
    let mut start = 0;
    let lists = ends.into_iter().map(|end| {
        let end = end?;
        let list = values.slice(start as i64, end - start);
        start = end;
        Some(list)
    });
    let mut lists: ListChunked = lists.collect();
    lists.rename(texts.name().clone());
    // Without any item, polars does not know the type.
    lists.into_series().cast(&DataType::List(Box::new(values.dtype().clone()))).map(Some).map_err(internal)
}

/// The items of all lists of a column, one after the other.
enum Items {
    Booleans(Vec<Option<bool>>),
    Signed(Vec<Option<i64>>),
    Unsigned(Vec<Option<u64>>),
    Floats(Vec<Option<f64>>),
    Texts(Vec<Option<String>>),
}

impl Items {
    fn new(item: &ColumnType) -> Option<Self> {
        Some(match item {
            // Frames have no seconds.
            ColumnType::Timestamp(Unit::Second, _) | ColumnType::Duration(Unit::Second) => return None,
            ColumnType::Scalar(Primitive::Bool) => Self::Booleans(Vec::new()),
            ColumnType::Scalar(Primitive::F32 | Primitive::F64) => Self::Floats(Vec::new()),
            ColumnType::Scalar(Primitive::U8 | Primitive::U16 | Primitive::U32 | Primitive::U64) => Self::Unsigned(Vec::new()),
            ColumnType::Scalar(Primitive::I8 | Primitive::I16 | Primitive::I32 | Primitive::I64)
            | ColumnType::Date
            | ColumnType::Timestamp(..)
            | ColumnType::Duration(_) => Self::Signed(Vec::new()),
            ColumnType::Utf8 | ColumnType::Categorical => Self::Texts(Vec::new()),
            _ => return None,
        })
    }

    fn len(&self) -> usize {
        match self {
            Self::Booleans(values) => values.len(),
            Self::Signed(values) => values.len(),
            Self::Unsigned(values) => values.len(),
            Self::Floats(values) => values.len(),
            Self::Texts(values) => values.len(),
        }
    }

    /// Appends an item; `None` if it has another type.
    fn push(&mut self, value: &Value) -> Option<()> {
        let is_null = value.is_null();
        match self {
            Self::Booleans(values) => values.push(if is_null { None } else { Some(value.as_bool()?) }),
            Self::Signed(values) => values.push(if is_null { None } else { Some(value.as_i64()?) }),
            Self::Unsigned(values) => values.push(if is_null { None } else { Some(value.as_u64()?) }),
            Self::Floats(values) => values.push(match value {
                Value::Null => None,
                Value::String(text) => Some(text.parse().ok()?),
                number => Some(number.as_f64()?),
            }),
            Self::Texts(values) => values.push(if is_null { None } else { Some(value.as_str()?.to_owned()) }),
        }
        Some(())
    }

    /// Returns the items as a series of their type.
    fn series(self, item: &ColumnType) -> Result<Series> {
        let name = PlSmallStr::EMPTY;
        let series = match self {
            Self::Booleans(values) => Series::new(name, values),
            Self::Signed(values) => Series::new(name, values),
            Self::Unsigned(values) => Series::new(name, values),
            Self::Floats(values) => Series::new(name, values),
            Self::Texts(values) => Series::new(name, values),
        };
        let unit = |unit: Unit| match unit {
            Unit::Second | Unit::Millisecond => TimeUnit::Milliseconds,
            Unit::Microsecond => TimeUnit::Microseconds,
            Unit::Nanosecond => TimeUnit::Nanoseconds,
        };
        let ty = match item {
            ColumnType::Scalar(Primitive::I8) => DataType::Int8,
            ColumnType::Scalar(Primitive::I16) => DataType::Int16,
            ColumnType::Scalar(Primitive::I32) => DataType::Int32,
            ColumnType::Scalar(Primitive::U8) => DataType::UInt8,
            ColumnType::Scalar(Primitive::U16) => DataType::UInt16,
            ColumnType::Scalar(Primitive::U32) => DataType::UInt32,
            ColumnType::Scalar(Primitive::F32) => DataType::Float32,
            ColumnType::Date => {
                let days = series.strict_cast(&DataType::Int32).map_err(internal)?;
                return days.cast(&DataType::Date).map_err(internal);
            }
            ColumnType::Timestamp(stored, zone) => DataType::Datetime(unit(*stored), shown_zone(zone.as_deref())),
            ColumnType::Duration(stored) => DataType::Duration(unit(*stored)),
            ColumnType::Categorical => DataType::from_categories(Categories::global()),
            _ => return Ok(series),
        };
        series.strict_cast(&ty).map_err(internal)
    }
}
