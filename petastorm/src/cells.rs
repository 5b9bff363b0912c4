//! One value of a Parquet column, whatever the type of its array.

use arrow_array::{
    Array, ArrayRef,
    cast::AsArray,
    types::{
        Date32Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType, Float16Type, Float32Type,
        Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
        TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_schema::{DataType, TimeUnit};

/// A value.
#[derive(Clone, Debug)]
pub(crate) enum Cell<'a> {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(&'a str),
    Bytes(&'a [u8]),
    /// A decimal number with as many digits after the point as its column has.
    Decimal(String),
    /// Days since 1970.
    Date(i32),
    /// Ticks of the column's unit since 1970.
    Time(i64),
    List(ArrayRef),
    /// A value of a type that Petastorm does not have.
    Other,
}

impl<'a> Cell<'a> {
    /// Returns the value of a row.
    pub(crate) fn of(array: &'a dyn Array, row: usize) -> Self {
        if array.is_null(row) {
            return Self::Null;
        }
        macro_rules! int {
            ($ty:ty) => {
                Self::Int(array.as_primitive::<$ty>().value(row).into())
            };
        }
        match array.data_type() {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Bool(array.as_boolean().value(row)),
            DataType::Int8 => int!(Int8Type),
            DataType::Int16 => int!(Int16Type),
            DataType::Int32 => int!(Int32Type),
            DataType::Int64 => int!(Int64Type),
            DataType::UInt8 => int!(UInt8Type),
            DataType::UInt16 => int!(UInt16Type),
            DataType::UInt32 => int!(UInt32Type),
            DataType::UInt64 => int!(UInt64Type),
            DataType::Float16 => Self::Float(array.as_primitive::<Float16Type>().value(row).into()),
            DataType::Float32 => Self::Float(array.as_primitive::<Float32Type>().value(row).into()),
            DataType::Float64 => Self::Float(array.as_primitive::<Float64Type>().value(row)),
            DataType::Utf8 => Self::Text(array.as_string::<i32>().value(row)),
            DataType::LargeUtf8 => Self::Text(array.as_string::<i64>().value(row)),
            DataType::Binary => Self::Bytes(array.as_binary::<i32>().value(row)),
            DataType::LargeBinary => Self::Bytes(array.as_binary::<i64>().value(row)),
            DataType::FixedSizeBinary(_) => Self::Bytes(array.as_fixed_size_binary().value(row)),
            DataType::Decimal32(..) => decimal::<Decimal32Type>(array, row),
            DataType::Decimal64(..) => decimal::<Decimal64Type>(array, row),
            DataType::Decimal128(..) => decimal::<Decimal128Type>(array, row),
            DataType::Decimal256(..) => decimal::<Decimal256Type>(array, row),
            DataType::Date32 => Self::Date(array.as_primitive::<Date32Type>().value(row)),
            DataType::Timestamp(unit, _) => Self::Time(match unit {
                TimeUnit::Second => array.as_primitive::<TimestampSecondType>().value(row),
                TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().value(row),
                TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().value(row),
                TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().value(row),
            }),
            DataType::List(_) => Self::List(array.as_list::<i32>().value(row)),
            DataType::LargeList(_) => Self::List(array.as_list::<i64>().value(row)),
            _ => Self::Other,
        }
    }

    /// Shows the value in a message.
    pub(crate) fn described(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Int(value) => value.to_string(),
            Self::Float(value) => value.to_string(),
            Self::Text(text) => format!("the text `{}`", text.chars().take(40).collect::<String>()),
            Self::Bytes(bytes) => format!("{} bytes", bytes.len()),
            Self::Decimal(text) => text.clone(),
            Self::Date(days) => format!("day {days} since 1970"),
            Self::Time(ticks) => format!("time {ticks} since 1970"),
            Self::List(items) => format!("a list of {} items", items.len()),
            Self::Other => "a value of a type that Petastorm does not have".to_owned(),
        }
    }
}

fn decimal<'a, T: DecimalType>(array: &dyn Array, row: usize) -> Cell<'a> {
    let array = array.as_primitive::<T>();
    Cell::Decimal(T::format_decimal(array.value(row), array.precision(), array.scale()))
}
