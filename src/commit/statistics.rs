//! Minimum, maximum and number of nulls of the index columns of a segment (`format-spec/segment.md#statistics`).

use arrow_array::{Array, ArrayRef, cast::AsArray, types};
use arrow_schema::DataType;
use serde_json::Value;

use crate::{format::IndexStatistics, schema::ColumnId};

/// Maximum length of a text bound, in bytes. A longer bound is left out.
const MAX_TEXT: usize = 64;

/// Statistics of one column, collected batch by batch.
#[derive(Debug)]
pub(super) struct Collector {
    column: ColumnId,
    bounds: Option<(Bound, Bound)>,
    nulls: u64,
}

#[derive(Clone, Debug, PartialEq, PartialOrd)]
enum Bound {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Text(String),
}

impl Collector {
    pub(super) fn new(column: ColumnId) -> Self {
        Self { column, bounds: None, nulls: 0 }
    }

    pub(super) fn push(&mut self, array: &ArrayRef) {
        self.nulls += array.null_count() as u64;
        macro_rules! scan {
            ($($pattern:pat => $arrow:ty, $bound:expr;)*) => {
                match array.data_type() {
                    $($pattern => array.as_primitive::<$arrow>().iter().flatten().for_each(|value| self.widen($bound(value))),)*
                    DataType::Timestamp(..) | DataType::Duration(_) => {
                        let data = array.to_data();
                        let values = data.buffer::<i64>(0);
                        let valid = (0..array.len()).filter(|row| array.is_valid(*row)).filter_map(|row| values.get(row));
                        valid.for_each(|value| self.widen(Bound::Signed(*value)));
                    }
                    DataType::Boolean => array.as_boolean().iter().flatten().for_each(|value| self.widen(Bound::Unsigned(value.into()))),
                    DataType::LargeUtf8 => array.as_string::<i64>().iter().flatten().for_each(|value| self.widen_text(value)),
                    _ => {}
                }
            };
        }
        scan! {
            DataType::Int8 => types::Int8Type, |value| Bound::Signed(i64::from(value));
            DataType::Int16 => types::Int16Type, |value| Bound::Signed(i64::from(value));
            DataType::Int32 => types::Int32Type, |value| Bound::Signed(i64::from(value));
            DataType::Date32 => types::Date32Type, |value| Bound::Signed(i64::from(value));
            DataType::Int64 => types::Int64Type, Bound::Signed;
            DataType::UInt8 => types::UInt8Type, |value| Bound::Unsigned(u64::from(value));
            DataType::UInt16 => types::UInt16Type, |value| Bound::Unsigned(u64::from(value));
            DataType::UInt32 => types::UInt32Type, |value| Bound::Unsigned(u64::from(value));
            DataType::UInt64 => types::UInt64Type, Bound::Unsigned;
            DataType::Float32 => types::Float32Type, |value| Bound::Float(f64::from(value));
            DataType::Float64 => types::Float64Type, Bound::Float;
        }
    }

    fn widen(&mut self, value: Bound) {
        if matches!(value, Bound::Float(value) if value.is_nan()) {
            return;
        }
        match &mut self.bounds {
            Some((min, max)) => {
                if value < *min {
                    *min = value;
                } else if value > *max {
                    *max = value;
                }
            }
            None => self.bounds = Some((value.clone(), value)),
        }
    }

    fn widen_text(&mut self, value: &str) {
        if let Some((Bound::Text(min), Bound::Text(max))) = &self.bounds
            && min.as_str() <= value
            && value <= max.as_str()
        {
            return;
        }
        self.widen(Bound::Text(value.to_owned()));
    }

    pub(super) fn finish(self) -> IndexStatistics {
        let json = |bound: Bound| match bound {
            Bound::Signed(value) => Some(value.into()),
            Bound::Unsigned(value) => Some(value.into()),
            // JSON cannot represent infinities, so such a bound is left out.
            Bound::Float(value) => serde_json::Number::from_f64(value).map(Value::Number),
            Bound::Text(value) => (value.len() <= MAX_TEXT).then(|| value.into()),
        };
        let (min, max) = self.bounds.map_or((None, None), |(min, max)| (json(min), json(max)));
        IndexStatistics { column: self.column, min, max, nulls: self.nulls }
    }
}
