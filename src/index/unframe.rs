//! Converts columns of a polars frame to the Arrow columns that an index segment stores.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, DurationMicrosecondArray, DurationMillisecondArray, DurationNanosecondArray,
    LargeStringArray, PrimitiveArray, TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
    builder::LargeStringBuilder, types,
};
use polars::prelude::*;
use serde_json::Value;

use super::{
    frame::internal,
    lists::{ARROW, texts_of},
};
use crate::{
    error::{Error, Result},
    schema::{ColumnType, Primitive, TimeUnit as Unit},
};

/// Returns the index column type for a column of a frame.
///
/// # Errors
/// - `Invalid`: an index cannot hold the type. The message says what to do.
pub fn column_type(column: &Column) -> Result<ColumnType> {
    let scalar = |primitive| Ok(ColumnType::Scalar(primitive));
    match column.dtype() {
        DataType::Boolean => scalar(Primitive::Bool),
        DataType::Int8 => scalar(Primitive::I8),
        DataType::Int16 => scalar(Primitive::I16),
        DataType::Int32 => scalar(Primitive::I32),
        DataType::Int64 => scalar(Primitive::I64),
        DataType::UInt8 => scalar(Primitive::U8),
        DataType::UInt16 => scalar(Primitive::U16),
        DataType::UInt32 => scalar(Primitive::U32),
        DataType::UInt64 => scalar(Primitive::U64),
        DataType::Float32 => scalar(Primitive::F32),
        DataType::Float64 => scalar(Primitive::F64),
        DataType::String => Ok(ColumnType::Utf8),
        DataType::Categorical(..) | DataType::Enum(..) => Ok(ColumnType::Categorical),
        DataType::Date => Ok(ColumnType::Date),
        DataType::Datetime(unit, zone) => {
            Ok(ColumnType::Timestamp(stored_unit(*unit), zone.as_ref().map(|zone| zone.to_string())))
        }
        DataType::Duration(unit) => Ok(ColumnType::Duration(stored_unit(*unit))),
        other => Err(Error::invalid(format!(
            "column `{}` is {other}, which an index cannot hold: cast it, or leave it out of the frame",
            column.name()
        ))),
    }
}

/// Returns the type of a column of a frame for a message.
pub(crate) fn type_text(column: &Column) -> String {
    column_type(column).map_or_else(|_| column.dtype().to_string(), |ty| ty.to_string())
}

/// Returns the index column type for a column of a frame, and the properties that say how its values are stored.
///
/// # Errors
/// - `Invalid`: an index cannot hold the type. The message says what to do.
pub fn stored_type(column: &Column) -> Result<(ColumnType, BTreeMap<String, Value>)> {
    let DataType::List(item) = column.dtype() else { return Ok((column_type(column)?, BTreeMap::new())) };
    let item = column_type(&Column::new_empty(column.name().clone(), item)).map_err(|_| {
        Error::invalid(format!(
            "column `{}` is a list of {item}: an index holds lists of booleans, numbers, text, dates and times only; leave it out of \
             the frame, or make another column of it",
            column.name()
        ))
    })?;
    let type_name = ColumnType::list(item).to_string();
    Ok((ColumnType::Utf8, [(ARROW.to_owned(), type_name.into())].into()))
}

/// Returns the unit of an index column for a unit of a frame.
pub(super) fn stored_unit(unit: TimeUnit) -> Unit {
    match unit {
        TimeUnit::Milliseconds => Unit::Millisecond,
        TimeUnit::Microseconds => Unit::Microsecond,
        TimeUnit::Nanoseconds => Unit::Nanosecond,
    }
}

/// Converts a column of a frame to the Arrow array of an index column of type `ty`. `ty` is the result of
/// [`stored_type`], or a timestamp of the same unit in another time zone.
///
/// # Errors
/// - `Internal`: the column has another type.
pub fn unframed(column: &Column, ty: &ColumnType) -> Result<ArrayRef> {
    let series = column.as_materialized_series();
    macro_rules! numbers {
        ($($pattern:pat => $get:ident, $arrow:ty;)*) => {
            match series.dtype() {
                $($pattern => {
                    let values = series.$get().map_err(internal)?;
                    return Ok(Arc::new(match values.cont_slice() {
                        Ok(values) => PrimitiveArray::<$arrow>::new(values.to_vec().into(), None),
                        Err(_) => values.iter().collect(),
                    }));
                })*
                _ => {}
            }
        };
    }
    numbers! {
        DataType::Int8 => i8, types::Int8Type;
        DataType::Int16 => i16, types::Int16Type;
        DataType::Int32 => i32, types::Int32Type;
        DataType::Int64 => i64, types::Int64Type;
        DataType::UInt8 => u8, types::UInt8Type;
        DataType::UInt16 => u16, types::UInt16Type;
        DataType::UInt32 => u32, types::UInt32Type;
        DataType::UInt64 => u64, types::UInt64Type;
        DataType::Float32 => f32, types::Float32Type;
        DataType::Float64 => f64, types::Float64Type;
    }
    let ticks = || -> Result<Vec<Option<i64>>> {
        let physical = series.to_physical_repr();
        Ok(physical.i64().map_err(internal)?.iter().collect())
    };
    match ty {
        ColumnType::Scalar(Primitive::Bool) => Ok(Arc::new(series.bool().map_err(internal)?.iter().collect::<BooleanArray>())),
        ColumnType::Utf8 if matches!(series.dtype(), DataType::List(_)) => texts_of(series.list().map_err(internal)?),
        ColumnType::Utf8 => {
            let texts = series.str().map_err(internal)?;
            let bytes = texts.iter().map(|text| text.map_or(0, str::len)).sum();
            let mut array = LargeStringBuilder::with_capacity(texts.len(), bytes);
            texts.iter().for_each(|text| array.append_option(text));
            Ok(Arc::new(array.finish()))
        }
        ColumnType::Categorical => {
            let text = series.cast(&DataType::String).map_err(internal)?;
            Ok(Arc::new(text.str().map_err(internal)?.iter().collect::<LargeStringArray>()))
        }
        ColumnType::Date => {
            let days = series.to_physical_repr();
            Ok(Arc::new(days.i32().map_err(internal)?.iter().collect::<Date32Array>()))
        }
        ColumnType::Timestamp(unit, zone) => Ok(match unit {
            Unit::Millisecond => {
                Arc::new(ticks()?.into_iter().collect::<TimestampMillisecondArray>().with_timezone_opt(zone.clone()))
            }
            Unit::Microsecond => {
                Arc::new(ticks()?.into_iter().collect::<TimestampMicrosecondArray>().with_timezone_opt(zone.clone()))
            }
            Unit::Nanosecond => {
                Arc::new(ticks()?.into_iter().collect::<TimestampNanosecondArray>().with_timezone_opt(zone.clone()))
            }
            Unit::Second => return Err(Error::internal("a frame with seconds")),
        }),
        ColumnType::Duration(unit) => Ok(match unit {
            Unit::Millisecond => Arc::new(ticks()?.into_iter().collect::<DurationMillisecondArray>()),
            Unit::Microsecond => Arc::new(ticks()?.into_iter().collect::<DurationMicrosecondArray>()),
            Unit::Nanosecond => Arc::new(ticks()?.into_iter().collect::<DurationNanosecondArray>()),
            Unit::Second => return Err(Error::internal("a frame with seconds")),
        }),
        other => Err(Error::internal(format!("column `{}`: {} as {other}", column.name(), column.dtype()))),
    }
}
