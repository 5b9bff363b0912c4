//! Times in Parquet files. Parquet has no seconds and no `date64`: files of these would have plain integers. An export writes finer
//! times instead, and an import takes the original types back by the metadata of the field.
//!
//! | exported type | in Parquet | restored by |
//! |---|---|---|
//! | `timestamp[s]` | `timestamp[ms]` | the column type in the metadata |
//! | `time32[s]` | `time64[us]`: any number of seconds fits | the column type in the metadata |
//! | `date64` | `timestamp[ms]`: a `date64` may have a time of day | the column property `arrow` |

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, LargeListArray, PrimitiveArray,
    cast::AsArray,
    types::{
        ArrowPrimitiveType, Date64Type, DurationMicrosecondType, DurationSecondType, Time32SecondType, Time64MicrosecondType,
        TimestampMillisecondType, TimestampSecondType,
    },
};
use arrow_schema::{DataType, Field, TimeUnit as ArrowUnit};

use crate::{
    error::{Error, Result},
    schema::{ColumnType, TimeUnit},
};

/// Milliseconds and microseconds of a second.
const MILLISECONDS: i64 = 1_000;
const MICROSECONDS: i64 = 1_000_000;

/// Returns the type that a Parquet file has for an exported type.
pub(super) fn parquet_type(ty: &DataType) -> DataType {
    match ty {
        DataType::Timestamp(ArrowUnit::Second, zone) => DataType::Timestamp(ArrowUnit::Millisecond, zone.clone()),
        DataType::Date64 => DataType::Timestamp(ArrowUnit::Millisecond, None),
        DataType::Time32(ArrowUnit::Second) => DataType::Time64(ArrowUnit::Microsecond),
        DataType::LargeList(item) => DataType::LargeList(list_item(parquet_type(item.data_type()))),
        other => other.clone(),
    }
}

/// Converts exported values to the type of [`parquet_type`].
///
/// # Errors
/// - `Invalid`: a time in seconds does not fit 64 bits in milliseconds.
pub(super) fn to_parquet(array: &ArrayRef) -> Result<ArrayRef> {
    Ok(match array.data_type() {
        DataType::Timestamp(ArrowUnit::Second, zone) => {
            let finer = |seconds: i64| {
                let found = || Error::invalid(format!("Parquet has milliseconds, and {seconds} s do not fit 64 bits; use Arrow"));
                seconds.checked_mul(MILLISECONDS).ok_or_else(found)
            };
            let times = mapped::<TimestampSecondType, TimestampMillisecondType>(array, finer)?;
            Arc::new(times.with_timezone_opt(zone.clone()))
        }
        DataType::Date64 => Arc::new(mapped::<Date64Type, TimestampMillisecondType>(array, Ok)?),
        DataType::Time32(ArrowUnit::Second) => {
            Arc::new(mapped::<Time32SecondType, Time64MicrosecondType>(array, |seconds| Ok(i64::from(seconds) * MICROSECONDS))?)
        }
        DataType::LargeList(_) => with_items(array, to_parquet)?,
        _ => Arc::clone(array),
    })
}

/// Returns the column type that an import finds in a Parquet file for a column type of an export.
pub(super) fn found_in_parquet(ty: &ColumnType) -> ColumnType {
    match ty {
        ColumnType::Timestamp(TimeUnit::Second, zone) => ColumnType::Timestamp(TimeUnit::Millisecond, zone.clone()),
        // Only times of day: a duration has the same type in Parquet, since Parquet knows none.
        ColumnType::Duration(TimeUnit::Second) => ColumnType::Duration(TimeUnit::Microsecond),
        ColumnType::List(item) => ColumnType::list(found_in_parquet(item)),
        other => other.clone(),
    }
}

/// Converts values of a Parquet file back to seconds, if the column has seconds.
///
/// # Errors
/// - `Invalid`: a time is between two seconds, because another program wrote the file.
pub(super) fn from_parquet(array: ArrayRef, wanted: &DataType) -> Result<ArrayRef> {
    let coarser = |unit: &'static str, each: i64| {
        move |time: i64| match time % each {
            0 => Ok(time / each),
            _ => Err(Error::invalid(format!("the field's metadata say that its times are whole seconds, found {time} {unit}"))),
        }
    };
    Ok(match (array.data_type(), wanted) {
        (DataType::Timestamp(ArrowUnit::Millisecond, zone), DataType::Timestamp(ArrowUnit::Second, other)) if zone == other => {
            let times = mapped::<TimestampMillisecondType, TimestampSecondType>(&array, coarser("ms", MILLISECONDS))?;
            Arc::new(times.with_timezone_opt(zone.clone()))
        }
        (DataType::Duration(ArrowUnit::Microsecond), DataType::Duration(ArrowUnit::Second)) => {
            Arc::new(mapped::<DurationMicrosecondType, DurationSecondType>(&array, coarser("us", MICROSECONDS))?)
        }
        (DataType::LargeList(item), DataType::LargeList(wanted)) if item.data_type() != wanted.data_type() => {
            with_items(&array, |items| from_parquet(Arc::clone(items), wanted.data_type()))?
        }
        _ => array,
    })
}

fn mapped<From: ArrowPrimitiveType, To: ArrowPrimitiveType>(
    array: &ArrayRef,
    convert: impl Fn(From::Native) -> Result<To::Native>,
) -> Result<PrimitiveArray<To>> {
    let values = array.as_primitive_opt::<From>().ok_or_else(|| Error::internal(format!("found {}", array.data_type())))?;
    values.iter().map(|value| value.map(&convert).transpose()).collect()
}

/// Returns a list with its items converted.
fn with_items(array: &ArrayRef, convert: impl Fn(&ArrayRef) -> Result<ArrayRef>) -> Result<ArrayRef> {
    let list = array.as_list::<i64>();
    let items = convert(list.values())?;
    let item = list_item(items.data_type().clone());
    let list = LargeListArray::try_new(item, list.offsets().clone(), items, list.nulls().cloned());
    Ok(Arc::new(list.map_err(|error| Error::internal(error.to_string()))?))
}

fn list_item(ty: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", ty, true))
}
