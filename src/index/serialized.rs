//! Expressions that polars has written as JSON, as predicates: Python gives those of a lazy frame.
//!
//! The form of this JSON belongs to polars. So an expression that this file does not know excludes no row.

use std::io::Cursor;

use arrow_array::{Array, ArrayRef, cast::AsArray, types};
use arrow_ipc::reader::StreamReader;
use arrow_schema::DataType;
use serde_json::Value as Json;

use super::{
    predicate::{Comparison, Predicate},
    pushdown::{Literal, Named, compared, one_of, place},
};
use crate::schema::TimeUnit;

/// Maximum bytes of an expression that is parsed. A list of `is_in` has a number for each of its bytes.
const MAX_BYTES: usize = 1 << 20;

/// Returns the rows for which an expression may be true. polars gives a source only expressions that look at one row at a time.
pub(crate) fn of_serialized(named: &Named<'_>, expression: &str) -> Predicate {
    if expression.len() > MAX_BYTES {
        return Predicate::Anything;
    }
    serde_json::from_str(expression).map_or(Predicate::Anything, |json| predicate_of(named, &json))
}

/// Whether an expression may see the numbers of categories, as a cast and all functions but tests do. polars numbers the categories of each
/// frame anew, so such an expression may be true for other rows in a part of a frame. Also true for an expression that is not known here.
pub(crate) fn sees_categories(expression: &str) -> bool {
    if expression.len() > MAX_BYTES {
        return true;
    }
    serde_json::from_str(expression).map_or(true, |json| has_cast(&json))
}

/// Whether an expression has a cast, or a function that is no test.
fn has_cast(json: &Json) -> bool {
    match json {
        Json::Object(members) => members.iter().any(|(name, value)| match name.as_str() {
            "Cast" => true,
            "function" => value.get("Boolean").is_none() || has_cast(value),
            _ => has_cast(value),
        }),
        Json::Array(items) => items.iter().any(has_cast),
        _ => false,
    }
}

fn predicate_of(named: &Named<'_>, json: &Json) -> Predicate {
    comparison_of(named, &json["BinaryExpr"]).or_else(|| function_of(named, &json["Function"])).unwrap_or(Predicate::Anything)
}

fn column_of(named: &Named<'_>, json: &Json) -> Option<usize> {
    place(named, json["Column"].as_str()?)
}

fn comparison_of(named: &Named<'_>, json: &Json) -> Option<Predicate> {
    let (left, right) = (json.get("left")?, json.get("right")?);
    let comparison = match json["op"].as_str()? {
        "And" | "LogicalAnd" => return Some(predicate_of(named, left).and(predicate_of(named, right))),
        "Or" | "LogicalOr" => return Some(predicate_of(named, left).or(predicate_of(named, right))),
        "Eq" => Comparison::Equal,
        "Lt" => Comparison::Less,
        "LtEq" => Comparison::LessEqual,
        "Gt" => Comparison::Greater,
        "GtEq" => Comparison::GreaterEqual,
        _ => return None,
    };
    match (column_of(named, left), column_of(named, right)) {
        (Some(column), None) => Some(compared(named, column, comparison, literal_of(right)?)),
        (None, Some(column)) => Some(compared(named, column, comparison.swapped(), literal_of(left)?)),
        _ => None,
    }
}

fn function_of(named: &Named<'_>, json: &Json) -> Option<Predicate> {
    let (input, function) = (json.get("input")?.as_array()?, &json["function"]["Boolean"]);
    let column = column_of(named, input.first()?)?;
    match (function.as_str(), input.as_slice()) {
        (Some("IsNull"), [_]) => Some(Predicate::Null(column)),
        (Some("IsNotNull"), [_]) => Some(Predicate::Valid(column)),
        (None, [_, low, high]) if function.get("IsBetween").is_some() => Some(Predicate::All(vec![
            compared(named, column, Comparison::GreaterEqual, literal_of(low)?),
            compared(named, column, Comparison::LessEqual, literal_of(high)?),
        ])),
        (None, [_, list]) if function.get("IsIn").is_some() => {
            let bytes = list["Literal"]["Scalar"]["List"].as_array()?.iter();
            let bytes = bytes.map(|byte| u8::try_from(byte.as_u64()?).ok()).collect::<Option<Vec<u8>>>()?;
            let batch = StreamReader::try_new(Cursor::new(bytes), None).ok()?.next()?.ok()?;
            Some(one_of(named, column, literals_of(batch.columns().first()?)?))
        }
        _ => None,
    }
}

/// Returns a literal that has a type.
fn literal_of(json: &Json) -> Option<Literal> {
    let (kind, value) = json["Literal"]["Scalar"].as_object()?.iter().next()?;
    let per_second = |unit: &Json| {
        let unit = match unit.as_str()? {
            "Milliseconds" => TimeUnit::Millisecond,
            "Microseconds" => TimeUnit::Microsecond,
            "Nanoseconds" => TimeUnit::Nanosecond,
            _ => return None,
        };
        Some(unit.per_second())
    };
    match kind.as_str() {
        "Int8" | "Int16" | "Int32" | "Int64" => Some(Literal::Typed(value.as_i64()?.into(), false)),
        "UInt8" | "UInt16" | "UInt32" => Some(Literal::Typed(value.as_u64()?.into(), false)),
        "UInt64" => Some(Literal::Typed(value.as_u64()?.into(), true)),
        "Float32" | "Float64" => Some(Literal::Float(value.as_f64()?)),
        "String" => Some(Literal::Text(value.as_str()?.to_owned())),
        "Boolean" => Some(Literal::Bool(value.as_bool()?)),
        "Date" => Some(Literal::Date(value.as_i64()?)),
        "Datetime" => Some(Literal::Time(value[0].as_i64()?, per_second(&value[1])?, !value[2].is_null())),
        "Duration" => Some(Literal::Duration(value[0].as_i64()?, per_second(&value[1])?)),
        _ => None,
    }
}

/// Returns the values of a list, which is an Arrow array.
fn literals_of(array: &ArrayRef) -> Option<Vec<Literal>> {
    macro_rules! all {
        ($values:expr, |$value:ident| $literal:expr) => {
            $values.iter().map(|value| value.map_or(Literal::Null, |$value| $literal)).collect()
        };
    }
    let ticks = |of: i64, zoned: bool, as_time: bool| -> Option<Vec<Literal>> {
        let data = array.to_data();
        let values = data.buffer::<i64>(0).get(..array.len())?;
        let literal = |(row, value): (usize, &i64)| match (array.is_null(row), as_time) {
            (true, _) => Literal::Null,
            (false, true) => Literal::Time(*value, of, zoned),
            (false, false) => Literal::Duration(*value, of),
        };
        Some(values.iter().enumerate().map(literal).collect())
    };
    Some(match array.data_type() {
        DataType::Int8 => all!(array.as_primitive::<types::Int8Type>(), |value| Literal::Typed(value.into(), false)),
        DataType::Int16 => all!(array.as_primitive::<types::Int16Type>(), |value| Literal::Typed(value.into(), false)),
        DataType::Int32 => all!(array.as_primitive::<types::Int32Type>(), |value| Literal::Typed(value.into(), false)),
        DataType::Int64 => all!(array.as_primitive::<types::Int64Type>(), |value| Literal::Typed(value.into(), false)),
        DataType::UInt8 => all!(array.as_primitive::<types::UInt8Type>(), |value| Literal::Typed(value.into(), false)),
        DataType::UInt16 => all!(array.as_primitive::<types::UInt16Type>(), |value| Literal::Typed(value.into(), false)),
        DataType::UInt32 => all!(array.as_primitive::<types::UInt32Type>(), |value| Literal::Typed(value.into(), false)),
        DataType::UInt64 => all!(array.as_primitive::<types::UInt64Type>(), |value| Literal::Typed(value.into(), true)),
        DataType::Float32 => all!(array.as_primitive::<types::Float32Type>(), |value| Literal::Float(value.into())),
        DataType::Float64 => all!(array.as_primitive::<types::Float64Type>(), |value| Literal::Float(value)),
        DataType::Date32 => all!(array.as_primitive::<types::Date32Type>(), |value| Literal::Date(value.into())),
        DataType::LargeUtf8 => all!(array.as_string::<i64>(), |value| Literal::Text(value.to_owned())),
        DataType::Utf8View => all!(array.as_string_view(), |value| Literal::Text(value.to_owned())),
        DataType::Boolean => all!(array.as_boolean(), |value| Literal::Bool(value)),
        DataType::Timestamp(unit, zone) => ticks(TimeUnit::of_arrow(*unit).per_second(), zone.is_some(), true)?,
        DataType::Duration(unit) => ticks(TimeUnit::of_arrow(*unit).per_second(), false, false)?,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Numbers that look random.
    fn random(state: &mut u64, below: u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) % below.max(1)
    }

    /// Returns a random expression as polars writes it, and whether it sees the numbers of categories.
    fn expression(state: &mut u64, depth: u64) -> (Json, bool) {
        // A text or a column may have the name of anything.
        let names = ["log", "Cast", "function", "\"Cast\""];
        let name = names[random(state, names.len() as u64) as usize];
        match if depth == 0 { random(state, 2) } else { random(state, 6) } {
            0 => (json!({"Column": name}), false),
            1 => (json!({"Literal": {"Scalar": {"String": name}}}), false),
            2 => {
                let ((left, one), (right, other)) = (expression(state, depth - 1), expression(state, depth - 1));
                (json!({"BinaryExpr": {"left": left, "op": "Eq", "right": right}}), one || other)
            }
            3 => {
                let (inner, sees) = expression(state, depth - 1);
                (json!({"Function": {"input": [inner], "function": {"Boolean": "IsNull"}}}), sees)
            }
            4 => {
                let (inner, _) = expression(state, depth - 1);
                (json!({"Cast": {"expr": inner, "dtype": {"Literal": "UInt32"}, "options": "Strict"}}), true)
            }
            _ => {
                let (inner, _) = expression(state, depth - 1);
                (json!({"Function": {"input": [inner], "function": "ToPhysical"}}), true)
            }
        }
    }

    #[test]
    fn random_expressions_see_the_numbers_of_categories_by_casts_and_functions() {
        let mut seen = [0; 2];
        for seed in 0..500 {
            let mut state = seed * 2 + 1;
            let (json, sees) = expression(&mut state, 4);
            assert_eq!(sees_categories(&json.to_string()), sees, "{json}");
            seen[usize::from(sees)] += 1;
        }
        assert!(seen[0] > 50 && seen[1] > 50, "{seen:?}");
        let deep = format!("{}{}", r#"{"Alias":["#.repeat(200), "]}".repeat(200));
        for unknown in ["", "not json", &deep, &format!("[{}0]", "0,".repeat(MAX_BYTES))] {
            assert!(sees_categories(unknown));
        }
    }
}
