//! Selects the rows for which a condition may be true, by minimum, maximum and nulls of the columns. Pure functions, without polars.
//!
//! A [`Predicate`] chooses every row that the condition chooses, and possibly more. So rows that it does not choose need not be read,
//! and the condition itself is evaluated over the rest.

use std::{collections::BTreeSet, ops::Range};

use crate::{
    format::{BloomFilter, Bound, Bounds},
    ranges::joined,
};

/// A condition over index columns, which are numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Predicate {
    /// Any row may be chosen.
    Anything,
    /// All of these hold.
    All(Vec<Self>),
    /// At least one of these holds.
    Any(Vec<Self>),
    /// The column is null.
    Null(usize),
    /// The column is not null.
    Valid(usize),
    /// The column compares so with a value.
    Compare(usize, Comparison, Value),
}

/// How a column compares with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl Comparison {
    /// Returns the comparison with both sides swapped.
    pub(crate) fn swapped(self) -> Self {
        match self {
            Self::Equal => Self::Equal,
            Self::Less => Self::Greater,
            Self::LessEqual => Self::GreaterEqual,
            Self::Greater => Self::Less,
            Self::GreaterEqual => Self::LessEqual,
        }
    }
}

/// A value of a condition.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// An integer that is compared exactly.
    Integer(i128),
    /// An integer between these two, such as a time in another unit than that of the column.
    Integers(i128, i128),
    /// A number between these two: one side or the other may be rounded before the comparison.
    Between(f64, f64),
    /// A text.
    Text(String),
}

impl Value {
    /// Returns a float, or an integer that may be compared as a float. Floats may be rounded to 32 bits. `None` for NaN.
    pub(crate) fn rounded(value: f64) -> Option<Self> {
        let slack = value.abs() * 1e-6 + 1e-37;
        (!value.is_nan()).then(|| match value.is_infinite() {
            // Large 64-bit values become infinite in 32 bits.
            true if value > 0.0 => Self::Between(f64::from(f32::MAX), value),
            true => Self::Between(value, f64::from(f32::MIN)),
            false => Self::Between(value - slack, value + slack),
        })
    }

    /// Returns the one value that a column must have to be equal to this; `None` if several values may be.
    fn exact(&self) -> Option<Bound> {
        match self {
            Self::Integer(value) => Some(Bound::Integer(*value)),
            Self::Text(text) => Some(Bound::Text(text.clone().into_bytes())),
            Self::Integers(..) | Self::Between(..) => None,
        }
    }
}

/// Some rows with the bounds of a column in them, and the bloom filter of the column in these rows if it was read.
pub(crate) struct Piece<'a> {
    pub(crate) rows: Range<u64>,
    pub(crate) bounds: &'a Bounds,
    pub(crate) filter: Option<&'a BloomFilter>,
}

/// Pieces of one column: each begins with the row behind the piece before.
pub(crate) type Pieces<'a> = Vec<Piece<'a>>;

/// Returns pieces with bounds and without bloom filters.
pub(crate) fn bounded<'a>(pieces: impl IntoIterator<Item = (Range<u64>, &'a Bounds)>) -> Pieces<'a> {
    pieces.into_iter().map(|(rows, bounds)| Piece { rows, bounds, filter: None }).collect()
}

/// Maximum levels of a predicate, whose methods call themselves for each level.
const MAX_LEVELS: usize = 64;

impl Predicate {
    /// Returns the predicate that both hold.
    pub(crate) fn and(self, other: Self) -> Self {
        let parts = |part| match part {
            Self::All(parts) => parts,
            part => vec![part],
        };
        Self::joined(parts(self), parts(other)).map_or(Self::Anything, Self::All)
    }

    /// Returns the predicate that at least one of both holds.
    pub(crate) fn or(self, other: Self) -> Self {
        let parts = |part| match part {
            Self::Any(parts) => parts,
            part => vec![part],
        };
        Self::joined(parts(self), parts(other)).map_or(Self::Anything, Self::Any)
    }

    /// Joins parts, so that a chain of conditions has one level. `None` if there would be too many levels.
    fn joined(mut parts: Vec<Self>, more: Vec<Self>) -> Option<Vec<Self>> {
        let fits = |part: &Self| part.levels() < MAX_LEVELS;
        // Several parts have been joined before, and fit.
        let checked = if parts.len() > 1 { &[] } else { parts.as_slice() };
        let all_fit = checked.iter().chain(&more).all(fits);
        parts.extend(more);
        all_fit.then_some(parts)
    }

    fn levels(&self) -> usize {
        match self {
            Self::All(parts) | Self::Any(parts) => 1 + parts.iter().map(Self::levels).max().unwrap_or(0),
            _ => 1,
        }
    }

    /// Whether the predicate can exclude any row.
    pub(crate) fn is_useful(&self) -> bool {
        match self {
            Self::Anything => false,
            Self::All(parts) => parts.iter().any(Self::is_useful),
            Self::Any(parts) => parts.iter().all(Self::is_useful),
            Self::Null(_) | Self::Valid(_) | Self::Compare(..) => true,
        }
    }

    /// Returns the columns that are compared for equality with a value that bloom filters can tell.
    pub(crate) fn equal_columns(&self) -> BTreeSet<usize> {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().flat_map(Self::equal_columns).collect(),
            Self::Compare(column, Comparison::Equal, value) if value.exact().is_some() => [*column].into(),
            Self::Anything | Self::Null(_) | Self::Valid(_) | Self::Compare(..) => BTreeSet::new(),
        }
    }

    /// Returns the rows of `rows` that the predicate may choose, as ascending ranges that do not touch each other. `pieces` returns
    /// the bounds of a column, in pieces that cover these rows.
    pub(crate) fn rows<'a>(&self, rows: &Range<u64>, pieces: &impl Fn(usize) -> Pieces<'a>) -> Vec<Range<u64>> {
        let chosen = |column: usize, may: &dyn Fn(u64, &Piece<'_>) -> bool| {
            let pieces = pieces(column);
            joined(pieces.into_iter().filter(|piece| may(piece.rows.end - piece.rows.start, piece)).map(|piece| piece.rows))
        };
        match self {
            Self::Anything => joined([rows.clone()]),
            Self::All(parts) => parts.iter().fold(joined([rows.clone()]), |all, part| both(&all, &part.rows(rows, pieces))),
            Self::Any(parts) => either(parts.iter().flat_map(|part| part.rows(rows, pieces)).collect()),
            Self::Null(column) => chosen(*column, &|_, piece| piece.bounds.nulls != Some(0)),
            Self::Valid(column) => chosen(*column, &|rows, piece| piece.bounds.nulls != Some(rows)),
            Self::Compare(column, comparison, value) => chosen(*column, &|rows, piece| {
                let may_be_equal = || piece.filter.zip(value.exact()).is_none_or(|(filter, value)| filter.may_have(&value));
                piece.bounds.nulls != Some(rows)
                    && may_hold(*comparison, value, piece.bounds)
                    && (*comparison != Comparison::Equal || may_be_equal())
            }),
        }
    }
}

/// Whether a value within these bounds may compare so with `value`. NaN is greater than every other value.
fn may_hold(comparison: Comparison, value: &Value, bounds: &Bounds) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    // The order of a bound and the lower or the upper end of the value; `None` if they cannot be compared.
    let order = |bound: &Option<Bound>, upper: bool| {
        let number = match value {
            Value::Integer(_) | Value::Integers(..) | Value::Text(_) => None,
            Value::Between(low, high) => Some(if upper { *high } else { *low }),
        };
        match (bound.as_ref()?, value, number) {
            (Bound::Integer(bound), Value::Integer(value), _) => Some(bound.cmp(value)),
            (Bound::Integer(bound), Value::Integers(low, high), _) => Some(bound.cmp(if upper { high } else { low })),
            (Bound::Integer(bound), _, Some(number)) => (*bound as f64).partial_cmp(&number),
            (Bound::Float(bound), _, Some(number)) => bound.partial_cmp(&number),
            (Bound::Text(bound), Value::Text(value), _) => Some(bound.as_slice().cmp(value.as_bytes())),
            _ => None,
        }
    };
    let is_float = [&bounds.min, &bounds.max].into_iter().flatten().any(|bound| matches!(bound, Bound::Float(_)));
    // Without any bound, the column may have floats.
    let nan = (is_float || bounds.min.is_none() && bounds.max.is_none()) && bounds.nans != Some(0);
    let min_is = |orders: &[std::cmp::Ordering], upper| order(&bounds.min, upper).is_some_and(|found| orders.contains(&found));
    let max_is = |orders: &[std::cmp::Ordering], upper| order(&bounds.max, upper).is_some_and(|found| orders.contains(&found));
    match comparison {
        Comparison::Equal => !min_is(&[Greater], true) && !max_is(&[Less], false),
        Comparison::Less => !min_is(&[Greater, Equal], true),
        Comparison::LessEqual => !min_is(&[Greater], true),
        Comparison::Greater => nan || !max_is(&[Less, Equal], false),
        Comparison::GreaterEqual => nan || !max_is(&[Less], false),
    }
}

/// Returns the rows that are in both lists of ascending ranges.
pub(crate) fn both(left: &[Range<u64>], right: &[Range<u64>]) -> Vec<Range<u64>> {
    let (mut found, mut at, mut of) = (Vec::new(), 0, 0);
    while let (Some(one), Some(other)) = (left.get(at), right.get(of)) {
        found.push(one.start.max(other.start)..one.end.min(other.end));
        if one.end <= other.end { at += 1 } else { of += 1 }
    }
    joined(found)
}

/// Returns the rows that are in any of these ranges.
fn either(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    joined(ranges)
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "lists of one range")]
mod tests {
    use super::*;

    fn integers(min: i128, max: i128) -> Bounds {
        Bounds { min: Some(Bound::Integer(min)), max: Some(Bound::Integer(max)), nulls: Some(0), nans: None }
    }

    fn floats(min: f64, max: f64, nans: Option<u64>) -> Bounds {
        Bounds { min: Some(Bound::Float(min)), max: Some(Bound::Float(max)), nulls: Some(0), nans }
    }

    #[test]
    fn a_predicate_chooses_every_piece_that_may_have_a_row() {
        let pieces = [integers(0, 9), integers(10, 19), integers(5, 30)];
        let of = |_| bounded(pieces.iter().enumerate().map(|(at, bounds)| (at as u64 * 10..at as u64 * 10 + 10, bounds)));
        let rows = |predicate: Predicate| predicate.rows(&(0..30), &of);
        let is = |comparison, value| Predicate::Compare(0, comparison, Value::Integer(value));
        assert_eq!(rows(is(Comparison::Equal, 9)), [0..10, 20..30]);
        assert_eq!(rows(is(Comparison::Equal, 31)), []);
        assert_eq!(rows(is(Comparison::Less, 5)), [0..10]);
        assert_eq!(rows(is(Comparison::LessEqual, 5)), [0..10, 20..30]);
        assert_eq!(rows(is(Comparison::Greater, 19)), [20..30]);
        assert_eq!(rows(is(Comparison::GreaterEqual, 19)), [10..30]);
        assert_eq!(rows(Predicate::All(vec![is(Comparison::Greater, 9), is(Comparison::Less, 10)])), [20..30]);
        assert_eq!(rows(Predicate::Any(vec![is(Comparison::Equal, 0), is(Comparison::Equal, 12)])), [0..30]);
        assert_eq!(rows(Predicate::Any(vec![Predicate::Anything, is(Comparison::Equal, 77)])), [0..30]);
        assert_eq!(rows(Predicate::Null(0)), []);
        assert_eq!(rows(Predicate::Valid(0)), [0..30]);
        assert!(!Predicate::Any(vec![Predicate::Anything, Predicate::Null(0)]).is_useful());
        assert!(Predicate::All(vec![Predicate::Anything, Predicate::Null(0)]).is_useful());
    }

    #[test]
    fn nan_is_greater_than_every_bound() {
        let value = Value::rounded(5.0).unwrap();
        for (nans, chosen) in [(None, true), (Some(1), true), (Some(0), false)] {
            assert_eq!(may_hold(Comparison::Greater, &value, &floats(0.0, 1.0, nans)), chosen, "{nans:?}");
            assert_eq!(may_hold(Comparison::GreaterEqual, &value, &floats(0.0, 1.0, nans)), chosen, "{nans:?}");
            assert!(!may_hold(Comparison::Equal, &value, &floats(0.0, 1.0, nans)));
            assert!(!may_hold(Comparison::Less, &value, &floats(6.0, 7.0, nans)));
        }
        assert!(may_hold(Comparison::Greater, &value, &Bounds::default()));
        assert_eq!(Value::rounded(f64::NAN), None);
    }

    #[test]
    fn values_that_may_be_rounded_are_never_missed() {
        let value = Value::rounded(0.1).unwrap();
        let single = f64::from(0.1_f32);
        assert!(may_hold(Comparison::Equal, &value, &floats(single, single, Some(0))));
        assert!(may_hold(Comparison::Greater, &value, &floats(0.0, single, Some(0))));
        assert!(may_hold(Comparison::Less, &value, &floats(0.1, 1.0, Some(0))));
        let large = Value::rounded(9_007_199_254_740_993.0).unwrap();
        assert!(may_hold(Comparison::Equal, &large, &integers(9_007_199_254_740_992, 9_007_199_254_740_992)));
        assert!(!may_hold(Comparison::Equal, &large, &integers(0, 9_000_000_000_000)));
    }

    #[test]
    fn bounds_of_another_type_exclude_nothing() {
        let texts = Bounds { min: Some(Bound::Text(b"b".to_vec())), max: Some(Bound::Text(b"d".to_vec())), ..Bounds::default() };
        for comparison in [Comparison::Equal, Comparison::Less, Comparison::Greater] {
            assert!(may_hold(comparison, &Value::Integer(1), &texts));
            assert!(may_hold(comparison, &Value::Text("a".to_owned()), &integers(1, 2)));
        }
        assert!(!may_hold(Comparison::Equal, &Value::Text("a".to_owned()), &texts));
        assert!(!may_hold(Comparison::Greater, &Value::Text("dd".to_owned()), &texts));
    }

    #[test]
    fn ranges_are_cut_and_joined() {
        assert_eq!(both(&[0..5, 7..9], &[3..8]), [3..5, 7..8]);
        assert_eq!(both(&[0..5], &[]), []);
        assert_eq!(joined([0..2, 2..3, 5..5, 6..7]), [0..3, 6..7]);
        assert_eq!(either(vec![6..8, 0..2, 1..7]), [0..8]);
    }
}
