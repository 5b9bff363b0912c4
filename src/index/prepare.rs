//! Prepares parsed SQL for polars: refuses or changes what polars computes wrongly, or needs too much time or memory for.
//!
//! - The powers of whole numbers soon leave the range of their type, and polars goes on with wrong numbers. So `POW` computes with
//!   floating point numbers, as in other databases.
//! - `LPAD` and `RPAD` write as many characters as they are told, and the decimals of `ROUND` are cut to 32 bits. They are bounded.
//! - polars panics on intervals of unknown units, and goes on with wrong numbers if they are too long.
//! - A chain of 1,000 comparisons with `OR` has 1,000 levels, and polars copies what is below each level. As a balanced tree the
//!   chain has 10 levels. polars turns every tree of `AND` into a deep chain. So a chain of `AND` stays as it is, and its length is
//!   bounded.
//! - polars reads no number with an exponent but without a point, no whole number above those of 64 bits with a sign, and not the least of
//!   these. They are written as it reads them.

use std::{collections::BTreeSet, mem, ops::ControlFlow};

use sqlparser::ast::{
    BinaryOperator as Op, CastKind, DataType, ExactNumberInfo, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    Ident, Interval, UnaryOperator, Value, ValueWithSpan, VisitMut, VisitorMut,
};

use super::depth::MAX_LEVELS;
use crate::error::{Error, Result, short};

/// Operands from which a chain of OR becomes a balanced tree.
const LONG_CHAIN: usize = 16;
/// Most characters that `LPAD` and `RPAD` fill a text up to.
const MOST_CHARACTERS: u64 = 1_000;
/// Most decimals that `ROUND` keeps: a floating point number has no more.
const MOST_DECIMALS: u64 = 1_000;

/// What was found in an SQL text, and done to it.
#[derive(Default)]
pub(super) struct Prepared {
    /// Whether the parsed text was changed.
    pub(super) changed: bool,
    /// The functions in it, in capital letters.
    pub(super) functions: BTreeSet<String>,
    /// Levels of the expression that is visited now.
    levels: usize,
    /// The columns of unsigned integers of 64 bits.
    unsigned: BTreeSet<String>,
}

/// Prepares parsed SQL for polars. `unsigned` are the columns of unsigned integers of 64 bits.
///
/// # Errors
/// - `Invalid`: an argument of a function is too large, or an interval is not known. The message names the function.
pub(super) fn prepare(sql: &mut impl VisitMut, unsigned: BTreeSet<String>) -> Result<Prepared> {
    let mut prepared = Prepared { unsigned, ..Prepared::default() };
    match VisitMut::visit(sql, &mut prepared) {
        ControlFlow::Continue(()) => Ok(prepared),
        ControlFlow::Break(error) => Err(error),
    }
}

impl VisitorMut for Prepared {
    type Break = Error;

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<Error> {
        self.levels += levels(expression);
        let done = match expression {
            _ if self.levels > MAX_LEVELS => Err(Error::invalid(format!(
                "the expression has more than {MAX_LEVELS} levels: use `x IN (1, 2, ..)` or `x NOT IN (1, 2, ..)` instead of many \
                 comparisons, or join with a table of the values"
            ))),
            Expr::BinaryOp { op: Op::Or, .. } => {
                self.changed |= balance(expression);
                Ok(())
            }
            Expr::Function(function) => self.function(function),
            Expr::BinaryOp { left, op: Op::Eq | Op::NotEq | Op::Lt | Op::LtEq | Op::Gt | Op::GtEq, right } => {
                self.compared(left, right);
                self.compared(right, left);
                Ok(())
            }
            Expr::Between { expr, low, high, .. } => {
                self.compared(expr, low);
                self.compared(expr, high);
                Ok(())
            }
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } if number(expr) == Some(LEAST) => {
                let less = |text: &str| Value::Number(text.to_owned(), false).with_empty_span();
                let left = Expr::UnaryOp { op: UnaryOperator::Minus, expr: Expr::Value(less(MOST)).into() };
                let least = Expr::BinaryOp { left: left.into(), op: Op::Minus, right: Expr::Value(less("1")).into() };
                (*expression, self.changed) = (Expr::Nested(least.into()), true);
                Ok(())
            }
            Expr::Value(ValueWithSpan { value: Value::Number(text, _), .. }) => {
                if let (Some(place), false) = (text.find(['e', 'E']), text.contains('.')) {
                    text.insert_str(place, ".0");
                    self.changed = true;
                }
                Ok(())
            }
            Expr::Interval(interval) => check_interval(interval),
            _ => Ok(()),
        };
        match done {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<Error> {
        self.levels -= levels(expression);
        ControlFlow::Continue(())
    }
}

/// Returns the levels that an expression adds to those below it. polars nests the branches of CASE.
fn levels(expression: &Expr) -> usize {
    match expression {
        Expr::Case { conditions, .. } => conditions.len(),
        _ => 1,
    }
}

/// The greatest integer of 64 bits with a sign, and the least one without its sign.
const MOST: &str = "9223372036854775807";
const LEAST: &str = "9223372036854775808";

/// Returns the digits of a number.
fn number(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Value(ValueWithSpan { value: Value::Number(text, _), .. }) => Some(text.as_str()),
        _ => None,
    }
}

impl Prepared {
    /// Gives a number that only unsigned integers have their type, if it is compared with a column of this type. polars compares all others
    /// with it as rounded numbers.
    fn compared(&mut self, column: &Expr, literal: &mut Expr) {
        let is_unsigned = matches!(column, Expr::Identifier(ident) if self.unsigned.contains(&ident.value));
        let Some(text) = number(literal).filter(|text| is_unsigned && text.parse::<i64>().is_err()) else { return };
        if text.parse::<u64>().is_ok() {
            let digits = Value::SingleQuotedString(text.to_owned()).with_empty_span();
            (*literal, self.changed) = (cast(Expr::Value(digits), DataType::BigIntUnsigned(None)), true);
        }
    }

    fn function(&mut self, function: &mut Function) -> Result<()> {
        let name = function.name.to_string().to_uppercase();
        if let FunctionArguments::List(list) = &mut function.args {
            match (name.as_str(), list.args.as_mut_slice()) {
                ("POW" | "POWER", [FunctionArg::Unnamed(FunctionArgExpr::Expr(base)), _]) => {
                    self.changed = true;
                    *base = cast(mem::replace(base, nothing()), DataType::Double(ExactNumberInfo::None));
                }
                ("LPAD" | "RPAD", [_, length, ..]) => check_whole(&name, "length", length, MOST_CHARACTERS)?,
                ("ROUND" | "TRUNC" | "TRUNCATE", [_, decimals]) => check_whole(&name, "decimals", decimals, MOST_DECIMALS)?,
                _ => {}
            }
        }
        self.functions.insert(name);
        Ok(())
    }
}

fn cast(expression: Expr, data_type: DataType) -> Expr {
    Expr::Cast { kind: CastKind::Cast, expr: Box::new(expression), data_type, array: false, format: None }
}

/// Checks that an argument of a function is a whole number of at most `most`.
fn check_whole(function: &str, what: &str, found: &FunctionArg, most: u64) -> Result<()> {
    if let FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value))) = found
        && let Value::Number(digits, _) = &value.value
        && digits.parse::<u64>().is_ok_and(|number| number <= most)
    {
        return Ok(());
    }
    Err(Error::invalid(format!("{function}: the {what}: expected a whole number from 0 to {most}, found `{}`", short(found))))
}

/// Checks that polars knows an interval, and that its nanoseconds fit into 64 bits.
fn check_interval(interval: &Interval) -> Result<()> {
    let Expr::Value(value) = &*interval.value else { return Ok(()) };
    let Value::SingleQuotedString(text) = &value.value else { return Ok(()) };
    match nanoseconds(text) {
        Some(sum) if sum <= i128::from(i64::MAX) => Ok(()),
        _ => Err(Error::invalid(format!(
            "INTERVAL '{}': expected whole numbers with units, at most 292 years, as in '2 days 6 hours'; units are year, quarter, \
             month, week, day, hour, minute, second, millisecond, microsecond, nanosecond",
            short(text)
        ))),
    }
}

/// Returns the sum of an interval, with months of 31 days.
fn nanoseconds(text: &str) -> Option<i128> {
    const DAY: i128 = 86_400_000_000_000;
    let text = text.to_ascii_lowercase();
    let text = text.trim_start();
    let (mut rest, mut sum) = (text.strip_prefix('+').unwrap_or(text).trim_start(), 0_i128);
    while !rest.is_empty() {
        let (digits, after) = rest.split_at(rest.find(|digit: char| !digit.is_ascii_digit())?);
        let after = after.trim_start_matches([' ', ',']);
        let (unit, after) = after.split_at(after.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(after.len()));
        let scale = match unit.strip_suffix('s').filter(|one| one.len() > 1).unwrap_or(unit) {
            "ns" | "nanosecond" => 1,
            "us" | "microsecond" => 1_000,
            "ms" | "millisecond" => 1_000_000,
            "s" | "sec" | "second" => 1_000_000_000,
            "m" | "min" | "minute" => 60_000_000_000,
            "h" | "hour" => 3_600_000_000_000,
            "d" | "day" => DAY,
            "w" | "week" => 7 * DAY,
            "mo" | "mon" | "month" => 31 * DAY,
            "q" | "quarter" => 93 * DAY,
            "y" | "year" => 372 * DAY,
            _ => return None,
        };
        sum = sum.checked_add(digits.parse::<i64>().ok().map(i128::from)?.checked_mul(scale)?)?;
        rest = after.trim_start_matches([' ', ',']);
    }
    Some(sum)
}

/// Makes a balanced tree of a long chain of OR. The parser makes it as deep as it is long. Returns whether it did.
fn balance(chain: &mut Expr) -> bool {
    let (mut operands, mut at) = (1, &*chain);
    while let Expr::BinaryOp { left, op: Op::Or, .. } = at {
        operands += 1;
        at = left;
    }
    if operands < LONG_CHAIN {
        return false;
    }
    let mut level = Vec::with_capacity(operands);
    let mut rest = mem::replace(chain, nothing());
    loop {
        match rest {
            Expr::BinaryOp { left, op: Op::Or, right } => {
                level.push(*right);
                rest = *left;
            }
            first => {
                level.push(first);
                break;
            }
        }
    }
    level.reverse();
    // Joins neighbours until one is left. The text has parentheses, so that polars parses the same tree.
    while level.len() > 1 {
        let mut next = Vec::with_capacity(level.len().div_ceil(2));
        let mut operands = level.into_iter();
        while let Some(left) = operands.next() {
            next.push(match operands.next() {
                Some(right) => {
                    let both = Expr::BinaryOp { left: left.into(), op: Op::Or, right: right.into() };
                    Expr::Nested(both.into())
                }
                None => left,
            });
        }
        level = next;
    }
    level.into_iter().for_each(|tree| *chain = tree);
    true
}

/// An expression in the place of one that is moved.
fn nothing() -> Expr {
    Expr::Identifier(Ident::new(""))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests may panic")]
mod tests {
    use super::{super::sql::expression, *};

    fn prepared(sql: &str) -> Result<String> {
        let mut parsed = expression(sql)?;
        prepare(&mut parsed, ["big".to_owned()].into())?;
        Ok(parsed.to_string())
    }

    #[test]
    fn powers_are_floating_point_numbers() {
        assert_eq!(
            prepared("POW(a, 2) > Power(b + 1, c)").unwrap(),
            "POW(CAST(a AS DOUBLE), 2) > Power(CAST(b + 1 AS DOUBLE), c)"
        );
    }

    #[test]
    fn numbers_are_written_as_polars_reads_them() {
        for (sql, expected) in [
            ("a = 1e+21 OR a > -5E-324", "a = 1.0e+21 OR a > -5.0E-324"),
            ("a IN (1e3, 2.5e3)", "a IN (1.0e3, 2.5e3)"),
            ("a >= -9223372036854775808", "a >= (-9223372036854775807 - 1)"),
            ("big < 9223372036854775808", "big < CAST('9223372036854775808' AS BIGINT UNSIGNED)"),
            ("18446744073709551615 = \"big\"", "CAST('18446744073709551615' AS BIGINT UNSIGNED) = \"big\""),
            ("big BETWEEN 3 AND 9223372036854775808", "big BETWEEN 3 AND CAST('9223372036854775808' AS BIGINT UNSIGNED)"),
            // Numbers that are none of the type, and other columns.
            ("big < 18446744073709551616", "big < 18446744073709551616"),
            ("a < 9223372036854775808", "a < 9223372036854775808"),
            ("big > 9223372036854775807", "big > 9223372036854775807"),
        ] {
            assert_eq!(prepared(sql).unwrap(), expected);
        }
    }

    #[test]
    fn a_long_chain_has_few_levels_and_the_same_operands() {
        let terms: Vec<String> = (0..1_000).map(|number| format!("a = {number}")).collect();
        let balanced = prepared(&terms.join(" OR ")).unwrap();
        let (mut depth, mut most) = (0_i32, 0);
        for character in balanced.chars() {
            depth += i32::from(character == '(') - i32::from(character == ')');
            most = most.max(depth);
        }
        assert!((1..=10).contains(&most), "{most} levels");
        assert_eq!(balanced.replace(['(', ')'], ""), terms.join(" OR "));
        assert_eq!(prepared(&balanced).unwrap(), balanced);
        let error = prepared(&terms.join(" AND ")).unwrap_err().to_string();
        assert!(error.contains("more than 500 levels: use `x IN (1, 2, ..)` or `x NOT IN"), "{error}");
        // Chains inside of chains, and short ones.
        let inner = format!("({}) AND b", terms.join(" OR "));
        assert!(prepared(&inner).unwrap().starts_with("(((") && prepared("a OR b AND c").unwrap() == "a OR b AND c");
    }

    #[test]
    fn what_polars_cannot_compute_is_refused_by_name() {
        for (sql, expected) in [
            ("LPAD(a, 99999999999) = 'x'", "LPAD: the length: expected a whole number from 0 to 1000, found `99999999999`"),
            ("rpad(a, n, '-') = 'x'", "RPAD: the length: expected a whole number from 0 to 1000, found `n`"),
            ("ROUND(a, 4294967296) = 1", "ROUND: the decimals: expected a whole number from 0 to 1000, found `4294967296`"),
            ("t > INTERVAL '9999999999 days'", "INTERVAL '9999999999 days': expected whole numbers with units"),
            ("t > INTERVAL '99999999999999999999 ns'", "INTERVAL '99999999999999999999 ns': expected"),
            ("t > INTERVAL '3 fortnights'", "INTERVAL '3 fortnights': expected"),
            ("t > INTERVAL '3'", "INTERVAL '3': expected"),
        ] {
            let error = prepared(sql).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{sql}: {error}");
        }
        for sql in
            ["LPAD(a, 8, '0') = 'x'", "t > INTERVAL '1 year, 2 mons 3d 4h 5 minutes 6s 7ms 8us 9ns'", "ROUND(a) = ROUND(a, 2)"]
        {
            assert_eq!(prepared(sql).unwrap(), sql);
        }
    }
}
