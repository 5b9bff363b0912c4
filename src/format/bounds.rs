//! Bounds of the values of an index column: in a segment, in a row group, or in a page. Follows
//! `format-spec/segment.md#statistics`.
//!
//! A bound that is missing, or that does not fit the type of its column, bounds nothing. Readers may skip rows by bounds, and
//! never need them.

use arrow_array::{Array, ArrayRef, cast::AsArray, types};
use arrow_schema::DataType;
use serde_json::Value;

use super::manifest::IndexStatistics;
use crate::schema::{ColumnType, Primitive};

/// Bounds of the values of a column in some rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounds {
    /// At most the smallest value that is neither null nor NaN.
    pub min: Option<Bound>,
    /// At least the largest value that is neither null nor NaN.
    pub max: Option<Bound>,
    /// Number of nulls.
    pub nulls: Option<u64>,
    /// Number of NaN.
    pub nans: Option<u64>,
}

/// A bound. Booleans, dates, timestamps and durations are integers.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    /// An integer.
    Integer(i128),
    /// A float that is not NaN.
    Float(f64),
    /// Text, possibly cut within a character. Texts have the order of their bytes.
    Text(Vec<u8>),
}

/// How the values of an index column are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Signed,
    Unsigned,
    Float,
    Text,
}

impl Kind {
    /// Returns the kind of an index column; `None` for a type that an index cannot have.
    pub(super) fn of(ty: &ColumnType) -> Option<Self> {
        match ty {
            ColumnType::Scalar(Primitive::Bool | Primitive::U8 | Primitive::U16 | Primitive::U32 | Primitive::U64) => {
                Some(Self::Unsigned)
            }
            ColumnType::Scalar(Primitive::F32 | Primitive::F64) => Some(Self::Float),
            ColumnType::Scalar(Primitive::I8 | Primitive::I16 | Primitive::I32 | Primitive::I64) => Some(Self::Signed),
            ColumnType::Date | ColumnType::Timestamp(..) | ColumnType::Duration(_) => Some(Self::Signed),
            ColumnType::Utf8 | ColumnType::Categorical => Some(Self::Text),
            _ => None,
        }
    }
}

impl Bound {
    fn of_json(value: &Value, kind: Kind) -> Option<Self> {
        match kind {
            Kind::Signed | Kind::Unsigned => {
                let signed = || value.as_i64().map(i128::from);
                signed().or_else(|| value.as_u64().map(i128::from)).map(Self::Integer)
            }
            Kind::Float => value.as_f64().filter(|value| !value.is_nan()).map(Self::Float),
            Kind::Text => value.as_str().map(|text| Self::Text(text.as_bytes().to_vec())),
        }
    }

    /// Whether this is less than another bound of the same column.
    fn is_less(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Integer(one), Self::Integer(two)) => one < two,
            (Self::Float(one), Self::Float(two)) => one < two,
            (Self::Text(one), Self::Text(two)) => one < two,
            _ => false,
        }
    }

    fn lesser(self, other: Self) -> Self {
        if other.is_less(&self) { other } else { self }
    }

    fn greater(self, other: Self) -> Self {
        if self.is_less(&other) { other } else { self }
    }
}

impl Bounds {
    /// Returns the bounds that the manifest has for a column of a segment.
    pub fn of_segment(statistics: &IndexStatistics, ty: &ColumnType) -> Self {
        let bound = |value: &Option<Value>| Bound::of_json(value.as_ref()?, Kind::of(ty)?);
        let (min, max) = (bound(&statistics.min), bound(&statistics.max));
        Self { min, max, nulls: Some(statistics.nulls), nans: None }
    }

    /// Returns the exact bounds of these values of an index column.
    pub fn of_values(values: &ArrayRef) -> Self {
        let mut found = Self { nulls: Some(values.null_count() as u64), nans: Some(0), ..Self::default() };
        macro_rules! integers {
            ($($arrow:ty),*) => {
                match values.data_type() {
                    $(ty if *ty == <$arrow as types::ArrowPrimitiveType>::DATA_TYPE => {
                        let values = || values.as_primitive::<$arrow>().iter().flatten();
                        found.min = values().min().map(|value| Bound::Integer(value.into()));
                        found.max = values().max().map(|value| Bound::Integer(value.into()));
                        return found;
                    })*
                    _ => {}
                }
            };
        }
        integers!(
            types::Int8Type,
            types::Int16Type,
            types::Int32Type,
            types::Int64Type,
            types::UInt8Type,
            types::UInt16Type,
            types::UInt32Type,
            types::UInt64Type,
            types::Date32Type
        );
        let mut floats = |values: &mut dyn Iterator<Item = f64>| {
            let (mut nans, mut range) = (0, None::<(f64, f64)>);
            for value in values {
                match (value.is_nan(), range) {
                    (true, _) => nans += 1,
                    (false, Some((min, max))) => range = Some((min.min(value), max.max(value))),
                    (false, None) => range = Some((value, value)),
                }
            }
            found.nans = Some(nans);
            (found.min, found.max) = range.map(|(min, max)| (Bound::Float(min), Bound::Float(max))).unzip();
        };
        match values.data_type() {
            DataType::Float32 => {
                floats(&mut values.as_primitive::<types::Float32Type>().iter().flatten().map(f64::from));
            }
            DataType::Float64 => floats(&mut values.as_primitive::<types::Float64Type>().iter().flatten()),
            DataType::Boolean => {
                let values = || values.as_boolean().iter().flatten();
                found.min = values().min().map(|value| Bound::Integer(value.into()));
                found.max = values().max().map(|value| Bound::Integer(value.into()));
            }
            DataType::LargeUtf8 => {
                let texts = || values.as_string::<i64>().iter().flatten();
                found.min = texts().min().map(|text| Bound::Text(text.as_bytes().to_vec()));
                found.max = texts().max().map(|text| Bound::Text(text.as_bytes().to_vec()));
            }
            DataType::Timestamp(..) | DataType::Duration(_) => {
                let data = values.to_data();
                let ticks = data.buffer::<i64>(0);
                let valid = || (0..values.len()).filter(|row| values.is_valid(*row)).filter_map(|row| ticks.get(row));
                found.min = valid().min().map(|ticks| Bound::Integer((*ticks).into()));
                found.max = valid().max().map(|ticks| Bound::Integer((*ticks).into()));
            }
            _ => {}
        }
        found
    }

    /// Returns bounds of the values of both.
    pub fn or(self, other: Self) -> Self {
        // A side without values bounds nothing: then the other side does.
        let min = match (self.min, other.min) {
            (Some(one), Some(two)) => Some(one.lesser(two)),
            (one, two) => one.or(two),
        };
        let max = match (self.max, other.max) {
            (Some(one), Some(two)) => Some(one.greater(two)),
            (one, two) => one.or(two),
        };
        let sum = |one: Option<u64>, two: Option<u64>| Some(one?.saturating_add(two?));
        Self { min, max, nulls: sum(self.nulls, other.nulls), nans: sum(self.nans, other.nans) }
    }

    /// Whether some values with these bounds may be equal to some of those with the exact bounds `found`, as
    /// [`Bounds::of_values`] returns them. Nulls are equal, and so are NaN.
    pub fn may_meet(&self, found: &Self) -> bool {
        let both = |claimed: Option<u64>, found: Option<u64>| claimed != Some(0) && found != Some(0);
        let is_below = |low: &Option<Bound>, high: &Option<Bound>| match (low, high) {
            (Some(low), Some(high)) => low.is_less(high),
            _ => false,
        };
        let have_values = found.min.is_some();
        // A float column whose NaN were not counted may have some.
        both(self.nulls, found.nulls)
            || both(self.nans, found.nans)
            || have_values && !is_below(&self.max, &found.min) && !is_below(&found.max, &self.min)
    }

    /// Whether these bounds hold for some of their values, which have the exact bounds `found`.
    pub fn hold_for(&self, found: &Self) -> bool {
        let is_at_most = |low: &Option<Bound>, high: &Option<Bound>| match (low, high) {
            (Some(Bound::Integer(low)), Some(Bound::Integer(high))) => low <= high,
            (Some(Bound::Float(low)), Some(Bound::Float(high))) => low <= high,
            (Some(Bound::Text(low)), Some(Bound::Text(high))) => low <= high,
            (Some(_), Some(_)) => false,
            _ => true,
        };
        let is_none = |claimed: Option<u64>, found: Option<u64>| claimed != Some(0) || found == Some(0);
        is_at_most(&self.min, &found.min)
            && is_at_most(&found.max, &self.max)
            && is_none(self.nulls, found.nulls)
            && is_none(self.nans, found.nans)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::ColumnId;

    #[test]
    fn bounds_hold_for_values_between_them() {
        use arrow_array::{Float32Array, LargeStringArray, TimestampSecondArray};
        use std::sync::Arc;
        let floats: ArrayRef = Arc::new(Float32Array::from(vec![Some(1.5), None, Some(f32::NAN), Some(-2.0)]));
        let found = Bounds::of_values(&floats);
        let exact = Bounds { min: Some(Bound::Float(-2.0)), max: Some(Bound::Float(1.5)), nulls: Some(1), nans: Some(1) };
        assert_eq!(found, exact);
        for (wrong, sound) in [
            (Bounds { min: Some(Bound::Float(-1.9)), ..exact.clone() }, Bounds { min: None, ..exact.clone() }),
            (Bounds { max: Some(Bound::Float(1.4)), ..exact.clone() }, Bounds { max: Some(Bound::Float(9.0)), ..exact.clone() }),
            (Bounds { nulls: Some(0), ..exact.clone() }, Bounds { nulls: Some(4), ..exact.clone() }),
            (Bounds { nans: Some(0), ..exact.clone() }, Bounds { nans: None, ..exact.clone() }),
            (Bounds { max: Some(Bound::Integer(9)), ..exact.clone() }, exact.clone()),
        ] {
            assert!(!wrong.hold_for(&found) && sound.hold_for(&found), "{wrong:?}");
        }
        let texts: ArrayRef = Arc::new(LargeStringArray::from(vec!["b", "ab", "c"]));
        assert_eq!(Bounds::of_values(&texts).min, Some(Bound::Text(b"ab".to_vec())));
        let times: ArrayRef = Arc::new(TimestampSecondArray::from(vec![Some(7), None, Some(-3)]));
        assert_eq!(Bounds::of_values(&times.slice(1, 2)).max, Some(Bound::Integer(-3)));
    }

    #[test]
    fn bounds_of_another_type_bound_nothing() {
        let statistics =
            |min: Value, max: Value| IndexStatistics { column: ColumnId(0), min: Some(min), max: Some(max), nulls: 3 };
        let integers = Bounds::of_segment(&statistics((-5).into(), u64::MAX.into()), &ColumnType::Scalar(Primitive::I64));
        assert_eq!(integers.min, Some(Bound::Integer(-5)));
        assert_eq!((integers.max, integers.nulls, integers.nans), (Some(Bound::Integer(u64::MAX.into())), Some(3), None));
        let wrong = Bounds::of_segment(&statistics("a".into(), 1.5.into()), &ColumnType::Scalar(Primitive::I64));
        assert_eq!((wrong.min, wrong.max), (None, None));
        let texts = Bounds::of_segment(&statistics("a".into(), 7.into()), &ColumnType::Utf8);
        assert_eq!((texts.min, texts.max), (Some(Bound::Text(b"a".to_vec())), None));
        let floats = Bounds::of_segment(&statistics(1.into(), 1.5.into()), &ColumnType::Scalar(Primitive::F32));
        assert_eq!((floats.min, floats.max), (Some(Bound::Float(1.0)), Some(Bound::Float(1.5))));
    }
}
