//! Conditions of users as predicates: which of the columns a condition needs, and which rows it may choose.
//!
//! Rows may be left out before a condition is evaluated only if the condition looks at one row at a time. So this file knows the
//! operations that do, and takes every other condition for one that needs all rows.

use std::{collections::BTreeSet, ops::Deref};

use chrono::{NaiveDate, NaiveDateTime};
use polars::prelude::{AggExpr, AnyValue, BooleanFunction, DataType, Expr, FunctionExpr, LiteralValue, Operator, Series};
use sqlparser::ast::{BinaryOperator, Expr as Sql, Ident, UnaryOperator, Value as SqlValue};

use super::{
    depth::{within, within_sql},
    predicate::{Comparison, Predicate, Value},
    sql::{expression, simple_query},
    unframe::stored_unit,
};
use crate::{
    error::{Error, Result, hint},
    schema::{ColumnType, Primitive},
};

/// The columns that a condition reads, and the rows for which it may be true.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pushdown {
    /// The rows that it may choose.
    pub(crate) predicate: Predicate,
    /// The columns that it reads; `None` if that is unknown, so that all columns are needed.
    pub(crate) columns: Option<BTreeSet<usize>>,
    /// Whether it looks at one row at a time. Otherwise no row may be left out before it is evaluated.
    pub(crate) by_row: bool,
}

impl Pushdown {
    /// A condition of which nothing is known.
    pub(crate) const UNKNOWN: Self = Self { predicate: Predicate::Anything, columns: None, by_row: false };

    /// Returns the needs of no condition: no column, and any row.
    pub(crate) fn nothing() -> Self {
        Self { predicate: Predicate::Anything, columns: Some(BTreeSet::new()), by_row: true }
    }

    /// Returns the needs of both conditions, if `other` is evaluated over the rows that this condition chooses.
    pub(crate) fn then(self, other: Self) -> Self {
        let columns = self.columns.zip(other.columns).map(|(mut one, other)| {
            one.extend(other);
            one
        });
        let predicate = match self.by_row {
            true => self.predicate.and(other.predicate),
            false => self.predicate,
        };
        Self { predicate, columns, by_row: self.by_row && other.by_row }
    }
}

/// The index columns by name.
pub(crate) type Named<'a> = [(&'a str, &'a ColumnType)];

pub(super) fn place(named: &Named<'_>, name: &str) -> Option<usize> {
    named.iter().position(|(existing, _)| *existing == name)
}

/// A literal of a condition.
#[derive(Clone, Debug)]
pub(super) enum Literal {
    /// An integer that takes the type of the column.
    Integer(i128),
    /// An integer of a type of its own, which may be unsigned.
    Typed(i128, bool),
    Float(f64),
    Text(String),
    Bool(bool),
    /// Days since 1970.
    Date(i64),
    /// Ticks since 1970, how many of them a second has, and whether there is a time zone.
    Time(i64, i64, bool),
    /// Ticks, and how many of them a second has.
    Duration(i64, i64),
    Null,
}

/// Most literals of a list that exclude rows.
const MAX_LITERALS: usize = 1_000;

/// Returns the comparison of a column with a literal, or `Anything` if the bounds of the column do not tell.
pub(super) fn compared(named: &Named<'_>, column: usize, comparison: Comparison, literal: Literal) -> Predicate {
    let Some((_, ty)) = named.get(column) else { return Predicate::Anything };
    let is_unsigned = matches!(ty, ColumnType::Scalar(Primitive::U64));
    let value = match (ty, literal) {
        (ColumnType::Utf8, Literal::Text(text)) => Some(Value::Text(text)),
        // The order of categories need not be that of their texts.
        (ColumnType::Categorical, Literal::Text(text)) if comparison == Comparison::Equal => Some(Value::Text(text)),
        (ColumnType::Scalar(Primitive::Bool), Literal::Bool(value)) if comparison == Comparison::Equal => {
            Some(Value::Integer(value.into()))
        }
        (ColumnType::Scalar(Primitive::Bool), _) => None,
        (ColumnType::Scalar(Primitive::F32 | Primitive::F64), Literal::Integer(value) | Literal::Typed(value, _)) => {
            Value::rounded(as_float(value))
        }
        (ColumnType::Scalar(_), Literal::Float(value)) => Value::rounded(value),
        // 64-bit integers of both signs are compared as floats.
        (ColumnType::Scalar(_), Literal::Typed(value, unsigned))
            if unsigned != is_unsigned && value.unsigned_abs() >= 1 << 53 =>
        {
            Value::rounded(as_float(value))
        }
        (ColumnType::Scalar(_), Literal::Integer(value) | Literal::Typed(value, _)) => Some(Value::Integer(value)),
        (ColumnType::Date, Literal::Date(days)) => Some(Value::Integer(days.into())),
        (ColumnType::Date, Literal::Time(ticks, per_second, false)) => Some(in_ticks(ticks, per_second * DAY, 1)),
        (ColumnType::Timestamp(unit, None), Literal::Date(days)) => Some(in_ticks(days, 1, DAY * unit.per_second())),
        (ColumnType::Timestamp(unit, zone), Literal::Time(ticks, of, zoned)) if zone.is_some() == zoned => {
            Some(in_ticks(ticks, of, unit.per_second()))
        }
        (ColumnType::Duration(unit), Literal::Duration(ticks, of)) => Some(in_ticks(ticks, of, unit.per_second())),
        _ => None,
    };
    value.map_or(Predicate::Anything, |value| Predicate::Compare(column, comparison, value))
}

/// Returns whether a column is equal to one of these literals.
pub(super) fn one_of(named: &Named<'_>, column: usize, literals: Vec<Literal>) -> Predicate {
    if literals.len() > MAX_LITERALS || literals.is_empty() {
        return Predicate::Anything;
    }
    let ty = named.get(column).map(|(_, ty)| *ty);
    let one = |literal| match literal {
        Literal::Null => Predicate::Null(column),
        // polars compares the ticks of lists in other units without converting them.
        literal if is_in_other_unit(ty, &literal) => Predicate::Anything,
        literal => compared(named, column, Comparison::Equal, literal),
    };
    Predicate::Any(literals.into_iter().map(one).collect())
}

/// Whether a date, a time or a duration counts other units than the column.
fn is_in_other_unit(ty: Option<&ColumnType>, literal: &Literal) -> bool {
    match (ty, literal) {
        (Some(ColumnType::Timestamp(unit, _)), Literal::Time(_, of, _))
        | (Some(ColumnType::Duration(unit)), Literal::Duration(_, of)) => *of != unit.per_second(),
        (Some(ColumnType::Date), Literal::Date(_)) => false,
        (_, literal) => matches!(literal, Literal::Date(_) | Literal::Time(..) | Literal::Duration(..)),
    }
}

/// Seconds of a day.
const DAY: i64 = 86_400;

/// Converts ticks from a unit with `from` ticks in a day or second to one with `to` ticks in the same time. polars may round either
/// side to the coarser unit, so the result is a range of one coarser tick on both sides.
fn in_ticks(ticks: i64, from: i64, to: i64) -> Value {
    if from == to {
        return Value::Integer(ticks.into());
    }
    let (from, to) = (i128::from(from), i128::from(to));
    let (scaled, slack) = (i128::from(ticks) * to, (to / from).max(1));
    Value::Integers(scaled.div_euclid(from) - slack, scaled.div_euclid(from) + 1 + slack)
}

fn as_float(value: i128) -> f64 {
    value as f64
}

/// Returns the columns that a polars expression reads, and the rows for which it may be true.
///
/// # Errors
/// - `Invalid`: the expression has too many levels.
pub(crate) fn of_expression(named: &Named<'_>, expression: &Expr) -> Result<Pushdown> {
    within([expression], || {
        let mut columns = BTreeSet::new();
        Ok(match reads(named, expression, &mut columns) {
            Some(()) => Pushdown { predicate: predicate_of(named, expression), columns: Some(columns), by_row: true },
            None => Pushdown::UNKNOWN,
        })
    })
}

/// Collects the columns of an expression; `None` if it may look at more than one row at a time.
fn reads(named: &Named<'_>, expression: &Expr, columns: &mut BTreeSet<usize>) -> Option<()> {
    match expression {
        Expr::Column(name) => {
            columns.insert(place(named, name.as_str())?);
            Some(())
        }
        Expr::Literal(LiteralValue::Dyn(_) | LiteralValue::Scalar(_)) => Some(()),
        Expr::Alias(inner, _) => reads(named, inner, columns),
        Expr::BinaryExpr { left, right, .. } => {
            reads(named, left, columns)?;
            reads(named, right, columns)
        }
        Expr::Function { input, function: FunctionExpr::Boolean(function) } => {
            let by_row = matches!(
                function,
                BooleanFunction::IsNull
                    | BooleanFunction::IsNotNull
                    | BooleanFunction::IsNan
                    | BooleanFunction::IsNotNan
                    | BooleanFunction::IsFinite
                    | BooleanFunction::IsInfinite
                    | BooleanFunction::Not
            );
            // The list of `is_in` may be a literal of any length.
            if let (BooleanFunction::IsIn { .. }, [column, list]) = (function, input.as_slice())
                && list_literal(list).is_some()
            {
                return reads(named, column, columns);
            }
            by_row.then_some(())?;
            input.iter().try_for_each(|input| reads(named, input, columns))
        }
        _ => None,
    }
}

fn predicate_of(named: &Named<'_>, expression: &Expr) -> Predicate {
    match expression {
        Expr::Alias(inner, _) => predicate_of(named, inner),
        Expr::BinaryExpr { left, op: Operator::And | Operator::LogicalAnd, right } => {
            condition_of(named, left).and(condition_of(named, right))
        }
        Expr::BinaryExpr { left, op: Operator::Or | Operator::LogicalOr, right } => {
            condition_of(named, left).or(condition_of(named, right))
        }
        Expr::BinaryExpr { left, op, right } => {
            let comparison = match op {
                Operator::Eq => Comparison::Equal,
                Operator::Lt => Comparison::Less,
                Operator::LtEq => Comparison::LessEqual,
                Operator::Gt => Comparison::Greater,
                Operator::GtEq => Comparison::GreaterEqual,
                _ => return Predicate::Anything,
            };
            match (left.as_ref(), right.as_ref()) {
                (Expr::Column(name), Expr::Literal(literal)) => with_literal(named, name.as_str(), comparison, literal),
                (Expr::Literal(literal), Expr::Column(name)) => with_literal(named, name.as_str(), comparison.swapped(), literal),
                _ => Predicate::Anything,
            }
        }
        Expr::Function { input, function: FunctionExpr::Boolean(function) } => match (function, input.as_slice()) {
            (BooleanFunction::IsNull, [Expr::Column(name)]) => place(named, name).map_or(Predicate::Anything, Predicate::Null),
            (BooleanFunction::IsNotNull, [Expr::Column(name)]) => {
                place(named, name).map_or(Predicate::Anything, Predicate::Valid)
            }
            (BooleanFunction::IsIn { .. }, [Expr::Column(name), list]) => {
                let found = place(named, name).zip(list_literal(list).and_then(literals_of));
                found.map_or(Predicate::Anything, |(column, literals)| one_of(named, column, literals))
            }
            _ => Predicate::Anything,
        },
        _ => Predicate::Anything,
    }
}

/// Returns the predicate of a side of `&` or `|`. These operators also work on bits, so that a side must be a condition itself.
fn condition_of(named: &Named<'_>, expression: &Expr) -> Predicate {
    match expression {
        Expr::BinaryExpr { .. } | Expr::Function { .. } | Expr::Alias(..) => predicate_of(named, expression),
        _ => Predicate::Anything,
    }
}

/// Returns the literal of a list, which may be a column of one value. A column of several lists is none: polars matches its lists
/// with the rows.
fn list_literal(expression: &Expr) -> Option<&LiteralValue> {
    match expression {
        Expr::Literal(LiteralValue::Series(series)) if matches!(series.dtype(), DataType::List(_)) && series.len() != 1 => None,
        Expr::Literal(literal @ (LiteralValue::Series(_) | LiteralValue::Scalar(_))) => Some(literal),
        Expr::Agg(AggExpr::Implode { input, .. }) => match input.as_ref() {
            Expr::Literal(literal @ LiteralValue::Series(_)) => Some(literal),
            _ => None,
        },
        _ => None,
    }
}

fn with_literal(named: &Named<'_>, name: &str, comparison: Comparison, literal: &LiteralValue) -> Predicate {
    let literal = literal.to_any_value().and_then(|value| literal_of_value(value, matches!(literal, LiteralValue::Dyn(_))));
    place(named, name).zip(literal).map_or(Predicate::Anything, |(column, literal)| compared(named, column, comparison, literal))
}

/// Returns the values of a literal list.
fn literals_of(literal: &LiteralValue) -> Option<Vec<Literal>> {
    let series = match literal {
        LiteralValue::Series(series) => match series.dtype() {
            DataType::List(_) if series.len() == 1 => list_of(series.get(0).ok()?)?,
            _ => series.deref().clone(),
        },
        literal => list_of(literal.to_any_value()?)?,
    };
    if series.len() > MAX_LITERALS {
        return None;
    }
    series.iter().map(|value| literal_of_value(value, false)).collect()
}

fn list_of(value: AnyValue<'_>) -> Option<Series> {
    match value {
        AnyValue::List(series) => Some(series),
        _ => None,
    }
}

/// Returns a value of polars. `is_dynamic` if an integer takes the type of the column.
fn literal_of_value(value: AnyValue<'_>, is_dynamic: bool) -> Option<Literal> {
    let integer = |value: i128, unsigned| match is_dynamic {
        true => Literal::Integer(value),
        false => Literal::Typed(value, unsigned),
    };
    let ticks = |unit| stored_unit(unit).per_second();
    Some(match value {
        AnyValue::Null => Literal::Null,
        AnyValue::Boolean(value) => Literal::Bool(value),
        AnyValue::Int8(value) => integer(value.into(), false),
        AnyValue::Int16(value) => integer(value.into(), false),
        AnyValue::Int32(value) => integer(value.into(), false),
        AnyValue::Int64(value) => integer(value.into(), false),
        AnyValue::UInt8(value) => integer(value.into(), false),
        AnyValue::UInt16(value) => integer(value.into(), false),
        AnyValue::UInt32(value) => integer(value.into(), false),
        AnyValue::UInt64(value) => integer(value.into(), true),
        AnyValue::Float32(value) => Literal::Float(value.into()),
        AnyValue::Float64(value) => Literal::Float(value),
        AnyValue::String(text) => Literal::Text(text.to_owned()),
        AnyValue::StringOwned(text) => Literal::Text(text.to_string()),
        AnyValue::Date(days) => Literal::Date(days.into()),
        AnyValue::Datetime(value, unit, zone) => Literal::Time(value, ticks(unit), zone.is_some()),
        AnyValue::DatetimeOwned(value, unit, zone) => Literal::Time(value, ticks(unit), zone.is_some()),
        AnyValue::Duration(value, unit) => Literal::Duration(value, ticks(unit)),
        _ => return None,
    })
}

/// Returns the needs of a condition that reads these columns and looks at one row at a time.
///
/// # Errors
/// - `NotFound`: there is no such column.
pub(crate) fn of_columns(named: &Named<'_>, columns: &[String]) -> Result<Pushdown> {
    let known = |column: &String| {
        place(named, column).ok_or_else(|| {
            let names = named.iter().map(|(name, _)| *name);
            Error::not_found(format!("no index column `{column}`; {}", hint(column, names)))
        })
    };
    let columns = columns.iter().map(known).collect::<Result<_>>()?;
    Ok(Pushdown { columns: Some(columns), ..Pushdown::nothing() })
}

/// Returns the columns that an SQL condition reads, and the rows for which it may be true.
///
/// # Errors
/// - `Invalid`: the text is not exactly one expression over the columns.
pub(crate) fn of_condition(named: &Named<'_>, sql: &str) -> Result<Pushdown> {
    within_sql(sql, || Ok(of_sql(named, &expression(sql)?)))
}

/// Whether an SQL condition over these columns is known to look at one row at a time.
///
/// # Errors
/// - `Invalid`: the text is not exactly one expression over the columns.
pub(crate) fn is_by_row<'a>(names: impl IntoIterator<Item = &'a str>, sql: &str) -> Result<bool> {
    // Types only tell which rows may be left out, which is not asked here.
    let named: Vec<_> = names.into_iter().map(|name| (name, &ColumnType::Utf8)).collect();
    Ok(of_condition(&named, sql)?.by_row)
}

/// Returns the columns and the rows of the table `t` that an SQL query needs.
///
/// # Errors
/// - `Invalid`: the text is not exactly one read-only query.
pub(crate) fn of_query(named: &Named<'_>, sql: &str) -> Result<Pushdown> {
    within_sql(sql, || {
        let Some(query) = simple_query(sql)? else { return Ok(Pushdown::UNKNOWN) };
        let chosen = query.condition.map_or_else(Pushdown::nothing, |sql| of_sql(named, &sql));
        let columns = query.names.map(|names| names.iter().filter_map(|name| place(named, name)).collect());
        Ok(Pushdown { columns, ..chosen })
    })
}

fn of_sql(named: &Named<'_>, sql: &Sql) -> Pushdown {
    let mut columns = BTreeSet::new();
    match sql_reads(named, sql, &mut columns) {
        Some(known) => Pushdown { predicate: predicate_of_sql(named, sql), columns: known.then_some(columns), by_row: true },
        None => Pushdown::UNKNOWN,
    }
}

/// Collects the columns of a condition. Returns `None` if it may look at more than one row at a time, and false if it names columns
/// that are unknown here.
fn sql_reads(named: &Named<'_>, sql: &Sql, columns: &mut BTreeSet<usize>) -> Option<bool> {
    match sql {
        Sql::Identifier(Ident { value, .. }) => match place(named, value) {
            Some(column) => {
                columns.insert(column);
                Some(true)
            }
            None if value.starts_with('^') || value == "*" => None,
            None => Some(false),
        },
        Sql::Value(_) => Some(true),
        Sql::Nested(inner) | Sql::IsNull(inner) | Sql::IsNotNull(inner) => sql_reads(named, inner, columns),
        Sql::UnaryOp { op: UnaryOperator::Not | UnaryOperator::Minus | UnaryOperator::Plus, expr } => {
            sql_reads(named, expr, columns)
        }
        Sql::BinaryOp { left, right, op } => {
            use BinaryOperator as Op;
            let by_row = matches!(
                op,
                Op::And
                    | Op::Or
                    | Op::Eq
                    | Op::NotEq
                    | Op::Lt
                    | Op::LtEq
                    | Op::Gt
                    | Op::GtEq
                    | Op::Plus
                    | Op::Minus
                    | Op::Multiply
            );
            by_row.then_some(())?;
            Some(sql_reads(named, left, columns)? & sql_reads(named, right, columns)?)
        }
        Sql::Between { expr, low, high, .. } => {
            Some(sql_reads(named, expr, columns)? & sql_reads(named, low, columns)? & sql_reads(named, high, columns)?)
        }
        Sql::Like { expr, pattern, .. } | Sql::ILike { expr, pattern, .. } if literal_of(pattern).is_some() => {
            sql_reads(named, expr, columns)
        }
        Sql::InList { expr, list, .. } => {
            let literals = list.iter().all(|item| literal_of(item).is_some());
            literals.then(|| sql_reads(named, expr, columns))?
        }
        _ => None,
    }
}

fn predicate_of_sql(named: &Named<'_>, sql: &Sql) -> Predicate {
    let column = |sql: &Sql| match sql {
        Sql::Identifier(ident) => place(named, &ident.value),
        _ => None,
    };
    let compared = |column: usize, comparison, literal| {
        let ty = named.get(column).map(|(_, ty)| *ty);
        match time_of(ty, literal) {
            Some(literal) => compared(named, column, comparison, literal),
            None => Predicate::Anything,
        }
    };
    match sql {
        Sql::Nested(inner) => predicate_of_sql(named, inner),
        Sql::IsNull(inner) => column(inner).map_or(Predicate::Anything, Predicate::Null),
        Sql::IsNotNull(inner) => column(inner).map_or(Predicate::Anything, Predicate::Valid),
        Sql::BinaryOp { left, op: BinaryOperator::And, right } => {
            predicate_of_sql(named, left).and(predicate_of_sql(named, right))
        }
        Sql::BinaryOp { left, op: BinaryOperator::Or, right } => predicate_of_sql(named, left).or(predicate_of_sql(named, right)),
        Sql::BinaryOp { left, op, right } => {
            let comparison = match op {
                BinaryOperator::Eq => Comparison::Equal,
                BinaryOperator::Lt => Comparison::Less,
                BinaryOperator::LtEq => Comparison::LessEqual,
                BinaryOperator::Gt => Comparison::Greater,
                BinaryOperator::GtEq => Comparison::GreaterEqual,
                _ => return Predicate::Anything,
            };
            match (column(left), literal_of(left), column(right), literal_of(right)) {
                (Some(column), _, _, Some(literal)) => compared(column, comparison, literal),
                (_, Some(literal), Some(column), _) => compared(column, comparison.swapped(), literal),
                _ => Predicate::Anything,
            }
        }
        Sql::Between { expr, negated: false, low, high } => match (column(expr), literal_of(low), literal_of(high)) {
            (Some(column), Some(low), Some(high)) => Predicate::All(vec![
                compared(column, Comparison::GreaterEqual, low),
                compared(column, Comparison::LessEqual, high),
            ]),
            _ => Predicate::Anything,
        },
        Sql::InList { expr, list, negated: false } if !list.is_empty() => match column(expr) {
            Some(column) => {
                let one = |item: &Sql| literal_of(item).map(|literal| compared(column, Comparison::Equal, literal));
                Predicate::Any(list.iter().map(|item| one(item).unwrap_or(Predicate::Anything)).collect())
            }
            None => Predicate::Anything,
        },
        _ => Predicate::Anything,
    }
}

/// Returns the literal as polars compares it with a column of this type: a text becomes a date or a time. `None` if it is none, or if
/// the column has a time zone, in which polars reads the text.
fn time_of(ty: Option<&ColumnType>, literal: Literal) -> Option<Literal> {
    let Literal::Text(text) = &literal else { return Some(literal) };
    let date = |text: &str| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
    let days = |date: NaiveDate| date.signed_duration_since(NaiveDate::default()).num_days();
    match ty {
        Some(ColumnType::Date) => date(text).map(|date| Literal::Date(days(date))),
        Some(ColumnType::Timestamp(_, None)) => {
            let time = NaiveDateTime::parse_from_str(&text.replacen(' ', "T", 1), "%Y-%m-%dT%H:%M:%S%.f").ok();
            let ticks = time.map(|time| Literal::Time(time.and_utc().timestamp_micros(), 1_000_000, false));
            ticks.or_else(|| date(text).map(|date| Literal::Date(days(date))))
        }
        Some(ColumnType::Timestamp(..) | ColumnType::Duration(_)) => None,
        _ => Some(literal),
    }
}

fn literal_of(sql: &Sql) -> Option<Literal> {
    match sql {
        Sql::Nested(inner) => literal_of(inner),
        Sql::UnaryOp { op: UnaryOperator::Minus, expr } => match literal_of(expr)? {
            Literal::Typed(value, _) => Some(Literal::Typed(-value, false)),
            Literal::Float(value) => Some(Literal::Float(-value)),
            _ => None,
        },
        Sql::Value(found) => match &found.value {
            SqlValue::Number(text, _) => match (text.parse::<i64>(), text.parse::<u64>()) {
                (Ok(value), _) => Some(Literal::Typed(value.into(), false)),
                (_, Ok(value)) => Some(Literal::Typed(value.into(), true)),
                _ => text.parse().ok().map(Literal::Float),
            },
            SqlValue::SingleQuotedString(text) => Some(Literal::Text(text.clone())),
            SqlValue::Boolean(value) => Some(Literal::Bool(*value)),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests may panic")]
mod tests {
    use super::*;

    #[test]
    fn conditions_that_look_at_one_row_are_known() {
        for (sql, expected) in [
            ("a > 3 AND b = 'x' OR NOT (c + 1 < a)", true),
            ("a BETWEEN 1 AND 2 AND b LIKE 'x%' AND c IN (1, 2) AND d IS NULL", true),
            ("a = MAX(a)", false),
            ("ABS(a) > 1", false),
            ("a / b > 1", false),
        ] {
            assert_eq!(is_by_row(["a", "b", "c"], sql).unwrap(), expected, "{sql}");
        }
        assert!(is_by_row(["a"], "a >").is_err());
    }

    #[test]
    fn literals_have_the_values_that_polars_compares_with() {
        let literal = |sql: &str| literal_of(&expression(sql).unwrap());
        assert!(matches!(literal("9223372036854775807"), Some(Literal::Typed(9_223_372_036_854_775_807, false))));
        assert!(matches!(literal("-9223372036854775808"), Some(Literal::Typed(-9_223_372_036_854_775_808, false))));
        assert!(matches!(literal("18446744073709551615"), Some(Literal::Typed(18_446_744_073_709_551_615, true))));
        assert!(matches!(literal("1e+21"), Some(Literal::Float(1e21))));
        assert!(matches!(literal("-5e-324"), Some(Literal::Float(-5e-324))));
    }
}
