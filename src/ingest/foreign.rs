//! Arrow types that have no column type of their own. Defines the column type that their values are stored as, and the properties
//! from which an export restores the Arrow type.
//!
//! The property `arrow` of a column names the original type: `null`, `time[ms]`, `date64`, `decimal128` (with `precision` and
//! `scale`), `fixed_size_binary[16]`. Both conversions are exact or return an error. For lists, the property names the type of
//! the innermost items.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeBinaryArray, LargeBinaryArray, LargeListArray, LargeStringArray, NullArray,
    PrimitiveArray,
    builder::FixedSizeBinaryBuilder,
    cast::AsArray,
    types::{
        ArrowPrimitiveType, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType,
        DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType, Time32MillisecondType,
        Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMillisecondType,
    },
};
use arrow_buffer::i256;
use arrow_schema::{DataType, Field, TimeUnit as ArrowUnit};
use serde_json::Value;

use crate::{
    error::{Error, Result, counted, short},
    schema::{Column, ColumnType, Primitive, TimeUnit},
};

/// Column property with the original Arrow type.
pub(super) const ARROW: &str = "arrow";
/// Column property: digits of a decimal.
pub(super) const PRECISION: &str = "precision";
/// Column property: digits of a decimal after the point.
pub(super) const SCALE: &str = "scale";

/// An Arrow type without a column type of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Foreign {
    /// Only nulls, stored as `bool`.
    Null,
    /// Time since midnight, stored as a duration.
    Time(TimeUnit),
    /// Milliseconds since 1970, stored as a timestamp without zone.
    Date64,
    /// Exact decimal numbers, stored as text.
    Decimal { bits: u16, precision: u8, scale: i8 },
    /// Bytes of one length in every row, stored as `binary`.
    Bytes(i32),
}

impl Foreign {
    /// Returns the foreign type for an Arrow type, and the column type of its values.
    pub(super) fn of(ty: &DataType) -> Option<(Self, ColumnType)> {
        let decimal = |bits, precision, scale| (Self::Decimal { bits, precision, scale }, ColumnType::Utf8);
        Some(match ty {
            DataType::Null => (Self::Null, ColumnType::Scalar(Primitive::Bool)),
            DataType::Time32(unit) | DataType::Time64(unit) => {
                let unit = TimeUnit::of_arrow(*unit);
                (Self::Time(unit), ColumnType::Duration(unit))
            }
            DataType::Date64 => (Self::Date64, ColumnType::Timestamp(TimeUnit::Millisecond, None)),
            DataType::Decimal32(precision, scale) => decimal(32, *precision, *scale),
            DataType::Decimal64(precision, scale) => decimal(64, *precision, *scale),
            DataType::Decimal128(precision, scale) => decimal(128, *precision, *scale),
            DataType::Decimal256(precision, scale) => decimal(256, *precision, *scale),
            DataType::FixedSizeBinary(size) => (Self::Bytes(*size), ColumnType::Binary),
            _ => return None,
        })
    }

    /// Returns the column properties that describe the type.
    pub(super) fn properties(self) -> Vec<(&'static str, Value)> {
        let named = |name: String| (ARROW, Value::from(name));
        match self {
            Self::Null => vec![named("null".to_owned())],
            Self::Time(unit) => vec![named(ColumnType::Duration(unit).to_string().replace("duration", "time"))],
            Self::Date64 => vec![named("date64".to_owned())],
            Self::Decimal { bits, precision, scale } => {
                vec![named(format!("decimal{bits}")), (PRECISION, precision.into()), (SCALE, scale.into())]
            }
            Self::Bytes(size) => vec![named(format!("fixed_size_binary[{size}]"))],
        }
    }

    /// Parses the original type from the properties of a column.
    pub(super) fn from_properties(properties: &BTreeMap<String, Value>) -> Option<Self> {
        let name = properties.get(ARROW)?.as_str()?;
        let number = |key: &str| properties.get(key)?.as_i64();
        Some(match name {
            "null" => Self::Null,
            "date64" => Self::Date64,
            "decimal32" | "decimal64" | "decimal128" | "decimal256" => {
                let bits = name.strip_prefix("decimal")?.parse().ok()?;
                let precision = number(PRECISION)?.try_into().ok()?;
                let decimal = Self::Decimal { bits, precision, scale: number(SCALE)?.try_into().ok()? };
                return decimal.is_sound().then_some(decimal);
            }
            _ => match (name.strip_prefix("time"), name.strip_prefix("fixed_size_binary[")) {
                (Some(unit), _) => match format!("duration{unit}").parse().ok()? {
                    ColumnType::Duration(unit) => Self::Time(unit),
                    _ => return None,
                },
                (_, Some(size)) => Self::Bytes(size.strip_suffix(']')?.parse().ok().filter(|size| *size >= 0)?),
                _ => return None,
            },
        })
    }

    /// Returns the original type of a column from its properties. Users can set properties, so the result is `None` if values of
    /// the column's type cannot come from the named type.
    pub(super) fn of_column(ty: &ColumnType, properties: &BTreeMap<String, Value>) -> Option<Self> {
        let foreign = Self::from_properties(properties)?;
        let (_, own) = Self::of(&foreign.arrow())?;
        let inside = std::iter::successors(Some(ty.clone()), unlisted);
        inside.into_iter().any(|ty| ty == own).then_some(foreign)
    }

    fn is_sound(self) -> bool {
        let Self::Decimal { bits, precision, scale } = self else { return true };
        let most = match bits {
            32 => 9,
            64 => 18,
            128 => 38,
            _ => 76,
        };
        (1..=most).contains(&precision) && scale <= precision.cast_signed()
    }

    /// Returns the Arrow type.
    pub(super) fn arrow(self) -> DataType {
        match self {
            Self::Null => DataType::Null,
            Self::Time(TimeUnit::Second) => DataType::Time32(ArrowUnit::Second),
            Self::Time(TimeUnit::Millisecond) => DataType::Time32(ArrowUnit::Millisecond),
            Self::Time(TimeUnit::Microsecond) => DataType::Time64(ArrowUnit::Microsecond),
            Self::Time(TimeUnit::Nanosecond) => DataType::Time64(ArrowUnit::Nanosecond),
            Self::Date64 => DataType::Date64,
            Self::Decimal { bits: 32, precision, scale } => DataType::Decimal32(precision, scale),
            Self::Decimal { bits: 64, precision, scale } => DataType::Decimal64(precision, scale),
            Self::Decimal { bits: 128, precision, scale } => DataType::Decimal128(precision, scale),
            Self::Decimal { precision, scale, .. } => DataType::Decimal256(precision, scale),
            Self::Bytes(size) => DataType::FixedSizeBinary(size),
        }
    }

    /// Converts values of a foreign type to the stored column type. Returns `None` for any other type.
    pub(super) fn taken(array: &ArrayRef) -> Option<ArrayRef> {
        Some(match array.data_type() {
            DataType::Null => Arc::new(BooleanArray::new_null(array.len())),
            DataType::Time32(ArrowUnit::Second) => widened::<Time32SecondType, DurationSecondType>(array),
            DataType::Time32(_) => widened::<Time32MillisecondType, DurationMillisecondType>(array),
            DataType::Time64(ArrowUnit::Microsecond) => widened::<Time64MicrosecondType, DurationMicrosecondType>(array),
            DataType::Time64(_) => widened::<Time64NanosecondType, DurationNanosecondType>(array),
            DataType::Date64 => widened::<Date64Type, TimestampMillisecondType>(array),
            DataType::Decimal32(..) => decimals::<Decimal32Type>(array),
            DataType::Decimal64(..) => decimals::<Decimal64Type>(array),
            DataType::Decimal128(..) => decimals::<Decimal128Type>(array),
            DataType::Decimal256(..) => decimals::<Decimal256Type>(array),
            DataType::FixedSizeBinary(_) => Arc::new(array.as_fixed_size_binary().iter().collect::<LargeBinaryArray>()),
            _ => return None,
        })
    }

    /// Returns the Arrow type of an exported column: `plain` with its innermost items replaced by this type.
    pub(super) fn given_type(self, plain: &DataType) -> DataType {
        match plain {
            DataType::LargeList(item) => {
                DataType::LargeList(Arc::new(Field::new("item", self.given_type(item.data_type()), true)))
            }
            _ => self.arrow(),
        }
    }

    /// Converts stored values back to the original Arrow type.
    ///
    /// # Errors
    /// - `Invalid`: a value does not fit the original type, because it was changed after the import.
    pub(super) fn given(self, array: &ArrayRef) -> Result<ArrayRef> {
        if let Some(list) = array.as_list_opt::<i64>() {
            let items = self.given(list.values())?;
            let item = Arc::new(Field::new("item", items.data_type().clone(), true));
            let list = LargeListArray::try_new(item, list.offsets().clone(), items, list.nulls().cloned());
            return Ok(Arc::new(list.map_err(|error| Error::invalid(error.to_string()))?));
        }
        match self {
            Self::Null if array.null_count() == array.len() => Ok(Arc::new(NullArray::new(array.len()))),
            Self::Null => Err(self.unlike("a value that is not null")),
            Self::Time(TimeUnit::Second) => self.narrowed::<DurationSecondType, Time32SecondType>(array),
            Self::Time(TimeUnit::Millisecond) => self.narrowed::<DurationMillisecondType, Time32MillisecondType>(array),
            Self::Time(TimeUnit::Microsecond) => self.narrowed::<DurationMicrosecondType, Time64MicrosecondType>(array),
            Self::Time(TimeUnit::Nanosecond) => self.narrowed::<DurationNanosecondType, Time64NanosecondType>(array),
            Self::Date64 => self.narrowed::<TimestampMillisecondType, Date64Type>(array),
            Self::Decimal { bits: 32, .. } => self.parsed::<Decimal32Type>(array, |value| value.to_i128()?.try_into().ok()),
            Self::Decimal { bits: 64, .. } => self.parsed::<Decimal64Type>(array, |value| value.to_i128()?.try_into().ok()),
            Self::Decimal { bits: 128, .. } => self.parsed::<Decimal128Type>(array, i256::to_i128),
            Self::Decimal { .. } => self.parsed::<Decimal256Type>(array, Some),
            Self::Bytes(size) => {
                let bytes = array.as_binary_opt::<i64>().ok_or_else(|| self.unlike(array.data_type()))?;
                let mut builder = FixedSizeBinaryBuilder::with_capacity(bytes.len(), size);
                for value in bytes {
                    match value {
                        None => builder.append_null(),
                        Some(value) => builder
                            .append_value(value)
                            .map_err(|_| self.unlike(format!("a value of {}", counted(value.len(), "byte"))))?,
                    }
                }
                let array: FixedSizeBinaryArray = builder.finish();
                Ok(Arc::new(array))
            }
        }
    }

    fn narrowed<From, To>(self, array: &ArrayRef) -> Result<ArrayRef>
    where
        From: ArrowPrimitiveType<Native = i64>,
        To: ArrowPrimitiveType,
        To::Native: TryFrom<i64>,
    {
        let values = array.as_primitive_opt::<From>().ok_or_else(|| self.unlike(array.data_type()))?;
        let given =
            values.iter().map(|value| value.map(|value| To::Native::try_from(value).map_err(|_| self.unlike(value))).transpose());
        Ok(Arc::new(given.collect::<Result<PrimitiveArray<To>>>()?))
    }

    fn parsed<T: DecimalType>(self, array: &ArrayRef, narrow: impl Fn(i256) -> Option<T::Native>) -> Result<ArrayRef> {
        let Self::Decimal { precision, scale, .. } = self else { return Err(self.unlike("a decimal")) };
        let texts = array.as_string_opt::<i64>().ok_or_else(|| self.unlike(array.data_type()))?;
        let number = |text: &str| {
            let value = narrow(unscaled(text, scale)?)?;
            T::is_valid_decimal_precision(value, precision).then_some(value)
        };
        let given = texts
            .iter()
            .map(|text| text.map(|text| number(text).ok_or_else(|| self.unlike(format!("`{}`", short(text))))).transpose());
        let given = given.collect::<Result<PrimitiveArray<T>>>()?;
        Ok(Arc::new(given.with_data_type(self.arrow())))
    }

    fn unlike(self, found: impl std::fmt::Display) -> Error {
        Error::invalid(format!(
            "the column's properties say that its values are {}, found {found}; a flat export writes them as they are",
            self.arrow()
        ))
    }
}

/// Returns the item type of a list.
pub(super) fn unlisted(ty: &ColumnType) -> Option<ColumnType> {
    match ty {
        ColumnType::List(item) => Some((**item).clone()),
        ColumnType::Tensor { element, shape } => match shape.split_first() {
            Some((None, [])) => Some(ColumnType::Scalar(*element)),
            Some((None, rest)) if rest.iter().all(Option::is_some) => Some(ColumnType::tensor(*element, rest)),
            _ => None,
        },
        _ => None,
    }
}

/// Checks that new values for the column `here` come from the same Arrow type as its old values. A column of nulls fits any type.
///
/// # Errors
/// - `Invalid`: the types differ, so that no export could restore the column. The message names both types.
pub(super) fn check_same(here: &Column, ty: &ColumnType, properties: &BTreeMap<String, Value>) -> Result<()> {
    let (own, new) = (Foreign::of_column(&here.ty, &here.properties), Foreign::of_column(ty, properties));
    if own == new || new == Some(Foreign::Null) {
        return Ok(());
    }
    let named = |foreign: Option<Foreign>, ty: &ColumnType| foreign.map_or(ty.to_string(), |foreign| foreign.arrow().to_string());
    Err(Error::invalid(format!(
        "column `{}`: the rows have type {}, the table's column had type {}; convert the rows to that type",
        here.name,
        named(new, ty),
        named(own, &here.ty)
    )))
}

fn widened<From, To>(array: &ArrayRef) -> ArrayRef
where
    From: ArrowPrimitiveType,
    From::Native: Into<i64>,
    To: ArrowPrimitiveType<Native = i64>,
{
    let values = array.as_primitive::<From>();
    let given: PrimitiveArray<To> = values.iter().map(|value| value.map(Into::into)).collect();
    Arc::new(given)
}

fn decimals<T: DecimalType>(array: &ArrayRef) -> ArrayRef {
    let values = array.as_primitive::<T>();
    let (DataType::Decimal32(precision, scale)
    | DataType::Decimal64(precision, scale)
    | DataType::Decimal128(precision, scale)
    | DataType::Decimal256(precision, scale)) = *array.data_type()
    else {
        return Arc::new(LargeStringArray::new_null(array.len()));
    };
    Arc::new(
        values.iter().map(|value| value.map(|value| T::format_decimal(value, precision, scale))).collect::<LargeStringArray>(),
    )
}

/// Parses a decimal without its point: `-1.50` with scale 2 is -150. Returns `None` if the number of digits after the point
/// differs from the scale.
fn unscaled(text: &str, scale: i8) -> Option<i256> {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let digits = match usize::try_from(scale) {
        Ok(scale) if fraction.len() == scale => format!("{sign}{whole}{fraction}"),
        // With a negative scale, the trailing zeros are not stored.
        Err(_) if fraction.is_empty() => {
            let zeros = "0".repeat(scale.unsigned_abs().into());
            match whole.strip_suffix(&zeros) {
                Some(whole) if !whole.is_empty() => format!("{sign}{whole}"),
                _ if whole.chars().all(|digit| digit == '0') => "0".to_owned(),
                _ => return None,
            }
        }
        _ => return None,
    };
    digits.trim_start_matches('-').chars().all(|digit| digit.is_ascii_digit()).then(|| i256::from_string(&digits)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_column_says_is_the_type_that_it_had() {
        let units = [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];
        let decimals = [(32, 9, 9), (64, 18, -3), (128, 38, 0), (256, 76, 76)];
        let decimals = decimals.map(|(bits, precision, scale)| Foreign::Decimal { bits, precision, scale });
        let others = [Foreign::Null, Foreign::Date64, Foreign::Bytes(16), Foreign::Bytes(0)];
        for foreign in units.map(Foreign::Time).into_iter().chain(decimals).chain(others) {
            let properties = foreign.properties().into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
            assert_eq!(Foreign::from_properties(&properties), Some(foreign));
            assert_eq!(Foreign::of(&foreign.arrow()).unwrap().0, foreign);
        }
        for text in ["", "time", "time[h]", "timestamp[ms]", "decimal128", "fixed_size_binary[-1]", "fixed_size_binary[", "utf8"]
        {
            assert_eq!(Foreign::from_properties(&[(ARROW.to_owned(), text.into())].into()), None, "{text}");
        }
    }

    #[test]
    fn text_that_is_no_such_number_is_refused() {
        let decimal = Foreign::Decimal { bits: 32, precision: 4, scale: 2 };
        let texts = |text: &str| Arc::new(LargeStringArray::from(vec![Some(text), None])) as ArrayRef;
        assert_eq!(decimal.given(&texts("-12.34")).unwrap().as_primitive::<Decimal32Type>().value(0), -1234);
        for text in ["1.2", "1.234", "123.45", "1e2", "", "-", "--1.00", "+1.00", "1.-1", "NaN"] {
            let error = decimal.given(&texts(text)).unwrap_err().to_string();
            assert!(error.contains(&format!("found `{text}`")), "{error}");
        }
    }
}
