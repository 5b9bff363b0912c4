//! Converts numbers and times to another type, and rejects values that it cannot hold exactly.

use std::{iter, sync::Arc};

use arrow_array::{Array, ArrayRef, PrimitiveArray, cast::AsArray, types};
use arrow_schema::{DataType, TimeUnit};
use half::{bf16, f16};
use pyo3::PyErr;
use tetrys::{ColumnType, schema::Primitive};

use crate::{error::Invalid, known_type::named};

/// A number of any type. f64 holds every value of the float types exactly.
#[derive(Clone, Copy)]
enum Number {
    Whole(i128),
    Float(f64),
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole(whole) => write!(f, "{whole}"),
            // Without an exponent, 1e300 has 301 digits.
            Self::Float(float) => write!(f, "{float:?}"),
        }
    }
}

impl Number {
    fn whole<T: TryFrom<i128>>(self) -> Option<T> {
        match self {
            Self::Whole(whole) => T::try_from(whole).ok(),
            // No integer type holds 1e30. NaN fails the first comparison.
            Self::Float(float) if float.trunc() == float && float.abs() < 1e30 => T::try_from(float as i128).ok(),
            Self::Float(_) => None,
        }
    }

    /// Converts to a float type: a wider float is rounded unless it overflows, an integer must be exact.
    fn float<T: Copy>(self, narrow: impl Fn(f64) -> T, widen: impl Fn(T) -> f64) -> Option<T> {
        match self {
            Self::Whole(whole) => {
                let (wide, exact) = (whole as f64, |float: f64| float.is_finite() && float as i128 == whole);
                Some(narrow(wide)).filter(|found| exact(wide) && exact(widen(*found)))
            }
            Self::Float(float) => Some(narrow(float)).filter(|found| widen(*found).is_finite() || !float.is_finite()),
        }
    }
}

type Numbers<'a> = Box<dyn Iterator<Item = Option<Number>> + 'a>;

/// Returns the numbers of an array; `None` if it has another type.
fn numbers_of(array: &ArrayRef, bits: bool) -> Option<Numbers<'_>> {
    macro_rules! wholes {
        ($arrow:ty) => {
            Box::new(array.as_primitive::<$arrow>().iter().map(|value| value.map(|value| Number::Whole(value.into()))))
        };
    }
    Some(match array.data_type() {
        DataType::Int8 => wholes!(types::Int8Type),
        DataType::Int16 => wholes!(types::Int16Type),
        DataType::Int32 => wholes!(types::Int32Type),
        DataType::Int64 => wholes!(types::Int64Type),
        DataType::UInt8 => wholes!(types::UInt8Type),
        DataType::UInt16 if bits => {
            let floats = array.as_primitive::<types::UInt16Type>().iter();
            Box::new(floats.map(|value| value.map(|value| Number::Float(bf16::from_bits(value).to_f64()))))
        }
        DataType::UInt16 => wholes!(types::UInt16Type),
        DataType::UInt32 => wholes!(types::UInt32Type),
        DataType::UInt64 => wholes!(types::UInt64Type),
        DataType::Float16 => {
            let floats = array.as_primitive::<types::Float16Type>().iter();
            Box::new(floats.map(|value| value.map(|value| Number::Float(value.to_f64()))))
        }
        DataType::Float32 => {
            let floats = array.as_primitive::<types::Float32Type>().iter();
            Box::new(floats.map(|value| value.map(|value| Number::Float(value.into()))))
        }
        DataType::Float64 => {
            let floats = array.as_primitive::<types::Float64Type>().iter();
            Box::new(floats.map(|value| value.map(Number::Float)))
        }
        _ => return None,
    })
}

/// Converts the numbers of an array to type `wanted`. `bits` says that they are bits of bf16.
///
/// # Errors
/// - `Invalid`: a value does not fit; the message names it.
/// - `None`: the array has no numbers.
pub(crate) fn numbers(array: &ArrayRef, bits: bool, wanted: Primitive) -> Result<ArrayRef, Option<PyErr>> {
    if *array.data_type() == wanted.arrow() && bits == (wanted == Primitive::Bf16) {
        return Ok(ArrayRef::clone(array));
    }
    let found = numbers_of(array, bits).filter(|_| wanted != Primitive::Bool).ok_or(None)?;
    macro_rules! cast {
        ($arrow:ty, $to:expr) => {{
            let to = $to;
            let mut values = Vec::with_capacity(array.len());
            for (row, number) in found.enumerate() {
                values.push(match number {
                    None => None,
                    Some(number) => Some(to(number).ok_or_else(|| {
                        Some(Invalid::new_err(format!("value {row}: {number} does not fit {}", wanted.name())))
                    })?),
                });
            }
            Arc::new(values.into_iter().collect::<PrimitiveArray<$arrow>>())
        }};
    }
    Ok(match wanted {
        Primitive::Bool => return Err(None),
        Primitive::I8 => cast!(types::Int8Type, Number::whole::<i8>),
        Primitive::I16 => cast!(types::Int16Type, Number::whole::<i16>),
        Primitive::I32 => cast!(types::Int32Type, Number::whole::<i32>),
        Primitive::I64 => cast!(types::Int64Type, Number::whole::<i64>),
        Primitive::U8 => cast!(types::UInt8Type, Number::whole::<u8>),
        Primitive::U16 => cast!(types::UInt16Type, Number::whole::<u16>),
        Primitive::U32 => cast!(types::UInt32Type, Number::whole::<u32>),
        Primitive::U64 => cast!(types::UInt64Type, Number::whole::<u64>),
        Primitive::F16 => cast!(types::Float16Type, |number: Number| number.float(f16::from_f64, f16::to_f64)),
        Primitive::Bf16 => {
            let bits = |number: Number| number.float(bf16::from_f64, bf16::to_f64).map(bf16::to_bits);
            cast!(types::UInt16Type, bits)
        }
        Primitive::F32 => cast!(types::Float32Type, |number: Number| number.float(|wide| wide as f32, f64::from)),
        Primitive::F64 => cast!(types::Float64Type, |number: Number| number.float(|wide| wide, |found| found)),
    })
}

const DAY: i128 = 86_400_000_000_000;

fn nanoseconds(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}

/// Converts the times of an array to a type of dates, timestamps or durations; changes the unit if that is exact. Integers are
/// ticks (of dates: days). Times with a zone may get another zone. Times without a zone get one only if `in_utc` is true.
///
/// # Errors
/// - `Invalid`: a value does not fit, or the types do not match; the message names them.
pub(crate) fn times(array: &ArrayRef, wanted: &ColumnType, in_utc: bool) -> Result<ArrayRef, PyErr> {
    let found = array.data_type().clone();
    let arrow = wanted.arrow();
    if found == arrow {
        return Ok(ArrayRef::clone(array));
    }
    let to = match &arrow {
        DataType::Timestamp(unit, _) | DataType::Duration(unit) => nanoseconds(*unit),
        _ => DAY,
    };
    let from = match (&found, wanted) {
        (DataType::Timestamp(unit, zone), ColumnType::Timestamp(_, wanted))
            if zone.is_some() == wanted.is_some() || (zone.is_none() && in_utc) =>
        {
            Some(nanoseconds(*unit))
        }
        (DataType::Timestamp(unit, None), ColumnType::Date) => Some(nanoseconds(*unit)),
        (DataType::Date32, ColumnType::Timestamp(_, None) | ColumnType::Date) => Some(DAY),
        (DataType::Date64, ColumnType::Timestamp(_, None) | ColumnType::Date) => Some(1_000_000),
        (DataType::Duration(unit), ColumnType::Duration(_)) => Some(nanoseconds(*unit)),
        (ty, _) if ty.is_integer() => Some(to),
        _ => None,
    };
    let misfit = || {
        let hint = match (&found, wanted) {
            (DataType::Timestamp(_, None), ColumnType::Timestamp(_, Some(_))) => ": the times have no zone",
            (DataType::Timestamp(_, Some(_)), ColumnType::Timestamp(_, None)) => ": the column has no zone",
            _ => "",
        };
        Invalid::new_err(format!("{} does not fit {wanted}{hint}", named(&found)))
    };
    let from = from.ok_or_else(misfit)?;
    let ticks: Box<dyn Iterator<Item = Option<i128>>> = match &found {
        DataType::Date32 => Box::new(array.as_primitive::<types::Date32Type>().iter().map(|day| day.map(i128::from))),
        DataType::Timestamp(..) | DataType::Duration(_) | DataType::Date64 => {
            let data = array.to_data();
            let values = data.buffer::<i64>(0)[..array.len()].to_vec();
            Box::new(values.into_iter().enumerate().map(|(row, value)| array.is_valid(row).then(|| value.into())))
        }
        _ => match numbers_of(array, false) {
            Some(numbers) => Box::new(numbers.map(|number| number.and_then(Number::whole))),
            None => Box::new(iter::empty()),
        },
    };
    let mut values: Vec<Option<i64>> = Vec::with_capacity(array.len());
    for (row, ticks) in ticks.enumerate() {
        values.push(match ticks {
            None => None,
            Some(ticks) => {
                let nanoseconds = ticks * from;
                let exact = Some(nanoseconds / to).filter(|_| nanoseconds % to == 0);
                let fits = |ticks: &i64| arrow != DataType::Date32 || i32::try_from(*ticks).is_ok();
                let exact = exact.and_then(|ticks| i64::try_from(ticks).ok()).filter(fits);
                let message = || format!("value {row}: {ticks} of {} does not fit {wanted}", named(&found));
                Some(exact.ok_or_else(|| Invalid::new_err(message()))?)
            }
        });
    }
    if arrow == DataType::Date32 {
        let days = values.into_iter().map(|day| day.map(|day| day as i32));
        return Ok(Arc::new(days.collect::<PrimitiveArray<types::Date32Type>>()));
    }
    let ticks = values.into_iter().collect::<PrimitiveArray<types::Int64Type>>();
    let data = ticks.to_data().into_builder().data_type(arrow).build();
    Ok(arrow_array::make_array(data.map_err(|error| Invalid::new_err(format!("Arrow: {error}")))?))
}
