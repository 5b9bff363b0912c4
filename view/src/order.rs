//! Sorts rows by a column, part by part, so that a sort ends soon when nobody waits for it: as [`Index::sort`](tetrys::Index::sort) does, nulls
//! first, and rows of equal values in the order of the table.

use std::cmp::Ordering;

use tetrys::{
    Error, Result,
    polars::prelude::{Column, DataType, PolarsError, SortOptions},
};

use crate::work::Stop;

/// Rows that are sorted without a look at the flag.
const PART: usize = 128 << 10;

/// Returns the places of the values of a column in their order. Numbers are given back before they are sorted by their keys.
///
/// # Errors
/// - `Internal`: the work was stopped.
pub(crate) fn ordered(column: Column, descending: bool, stop: &Stop) -> Result<Vec<u32>> {
    stop.check()?;
    let values = column.take_materialized_series();
    let numbers = |ty: &DataType| values.to_physical_repr().cast(ty).map_err(internal);
    let items = match values.dtype() {
        DataType::UInt64 => keyed(values.u64().map_err(internal)?.iter(), |value| value, descending, stop)?,
        DataType::Float32 | DataType::Float64 => {
            keyed(numbers(&DataType::Float64)?.f64().map_err(internal)?.iter(), of_float, descending, stop)?
        }
        DataType::String => {
            let values = values.rechunk();
            let texts = values.str().map_err(internal)?;
            let array = texts.downcast_as_array();
            let items = keyed(texts.iter(), first_bytes, descending, stop)?;
            let compare = |left: &Item, right: &Item| {
                left.0.cmp(&right.0).then_with(|| {
                    let texts = array.value(left.1 as usize).cmp(array.value(right.1 as usize));
                    if descending { texts.reverse() } else { texts }.then(left.1.cmp(&right.1))
                })
            };
            return sorted(items, compare, PART, stop);
        }
        ty if ty.is_integer()
            || ty.is_bool()
            || matches!(ty, DataType::Date | DataType::Datetime(..) | DataType::Duration(_)) =>
        {
            keyed(numbers(&DataType::Int64)?.i64().map_err(internal)?.iter(), of_whole, descending, stop)?
        }
        // Other types are rare in an index: polars sorts them in one go.
        _ => {
            let options = SortOptions::default().with_order_descending(descending).with_maintain_order(true);
            return Ok(values.arg_sort(options).into_no_null_iter().collect());
        }
    };
    drop(values);
    sorted(items, Ord::cmp, PART, stop)
}

/// A number that is ordered as the values are, and a place.
type Item = (u64, u32);

/// The places of nulls, and the items of the other values.
type Items = (Vec<u32>, Vec<Item>);

fn keyed<T>(values: impl Iterator<Item = Option<T>>, key: impl Fn(T) -> u64, descending: bool, stop: &Stop) -> Result<Items> {
    let (mut nulls, mut items) = (Vec::new(), Vec::with_capacity(values.size_hint().0));
    for (place, value) in values.enumerate() {
        if place % PART == 0 {
            stop.check()?;
        }
        let row = u32::try_from(place).map_err(|_| Error::unsupported("the viewer sorts up to 4 billion rows"))?;
        match value.map(&key) {
            None => nulls.push(row),
            Some(key) => items.push((if descending { !key } else { key }, row)),
        }
    }
    Ok((nulls, items))
}

/// Returns the nulls, and the other places in the order of their items.
fn sorted(
    (mut places, mut items): Items,
    compare: impl Fn(&Item, &Item) -> Ordering + Copy + Sync,
    part: usize,
    stop: &Stop,
) -> Result<Vec<u32>> {
    sort(&mut items, compare, part, tetrys::extension::threads(), stop);
    stop.check()?;
    places.extend(items.into_iter().map(|(_, place)| place));
    Ok(places)
}

/// Moves the lesser half to the front until a part is small enough to be sorted in one go. Leaves early once it is stopped.
fn sort(items: &mut [Item], compare: impl Fn(&Item, &Item) -> Ordering + Copy + Sync, part: usize, threads: usize, stop: &Stop) {
    if stop.check().is_err() {
        return;
    }
    if items.len() <= part {
        return items.sort_unstable_by(compare);
    }
    let middle = items.len() / 2;
    items.select_nth_unstable_by(middle, compare);
    let (lesser, greater) = items.split_at_mut(middle);
    if threads < 2 {
        sort(lesser, compare, part, 1, stop);
        return sort(greater, compare, part, 1, stop);
    }
    std::thread::scope(|scope| {
        scope.spawn(|| sort(lesser, compare, part, threads / 2, stop));
        sort(greater, compare, part, threads - threads / 2, stop);
    });
}

/// -0.0 and 0.0 are equal, and NaN is above all numbers.
fn of_float(value: f64) -> u64 {
    let value = if value.is_nan() { f64::NAN.abs() } else { value + 0.0 };
    let bits = value.to_bits();
    if value.is_sign_negative() { !bits } else { bits | (1 << 63) }
}

fn of_whole(value: i64) -> u64 {
    value.cast_unsigned() ^ (1 << 63)
}

fn first_bytes(text: &str) -> u64 {
    let mut bytes = [0; 8];
    let len = text.len().min(8);
    bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
    u64::from_be_bytes(bytes)
}

fn internal(error: PolarsError) -> Error {
    Error::internal(error.to_string())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests may panic")]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering as Atomic};

    use tetrys::polars::prelude::{IntoColumn, NamedFrom, Series, TimeUnit};

    use super::*;

    fn random(state: &mut u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state
    }

    #[test]
    fn every_type_is_ordered_as_polars_does() {
        let mut state = 9;
        let texts = ["", "a", "ab", "abcdefgh", "abcdefgh\0", "abcdefghi", "abcdefgz", "\u{fffd}", "ü", "\0"];
        let floats = [f64::NAN, -f64::NAN, -0.0, 0.0, 5e-324, -5e-324, 1.5, -1.5, f64::INFINITY, f64::NEG_INFINITY];
        let wholes = [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX];
        for rows in [0, 1, 2, 50, 1000] {
            let mut places = || (0..rows).map(|_| random(&mut state) as usize % 11).collect::<Vec<_>>();
            let mut drawn = Vec::new();
            drawn.push(Series::new("text".into(), places().iter().map(|place| texts.get(*place).copied()).collect::<Vec<_>>()));
            let float = Series::new("float".into(), places().iter().map(|place| floats.get(*place).copied()).collect::<Vec<_>>());
            drawn.push(float.cast(&DataType::Float32).unwrap());
            drawn.push(float);
            let big = |place: &usize| wholes.get(*place).map(|value| value.cast_unsigned());
            drawn.push(Series::new("big".into(), places().iter().map(big).collect::<Vec<_>>()));
            let whole = Series::new("whole".into(), places().iter().map(|place| wholes.get(*place).copied()).collect::<Vec<_>>());
            drawn.push(whole.cast(&DataType::Datetime(TimeUnit::Nanoseconds, None)).unwrap());
            drawn.push(whole.cast(&DataType::Duration(TimeUnit::Milliseconds)).unwrap());
            drawn.push(whole);
            let small = Series::new(
                "small".into(),
                places().iter().map(|place| (*place > 2).then_some(*place as i32 - 5)).collect::<Vec<_>>(),
            );
            for ty in [DataType::Int8, DataType::Int16, DataType::Int32, DataType::Date, DataType::Boolean] {
                drawn.push(small.cast(&ty).unwrap());
            }
            drawn.push(
                Series::new("bytes".into(), places().iter().map(|place| texts.get(*place).copied()).collect::<Vec<_>>())
                    .cast(&DataType::Binary)
                    .unwrap(),
            );
            for series in drawn {
                for descending in [false, true] {
                    let options = SortOptions::default().with_order_descending(descending).with_maintain_order(true);
                    let expected: Vec<u32> = series.arg_sort(options).into_no_null_iter().collect();
                    let column = series.clone().into_column();
                    assert_eq!(ordered(column, descending, &Stop::default()).unwrap(), expected, "{descending} {series:?}");
                }
            }
        }
    }

    #[test]
    fn parts_are_sorted_on_any_number_of_threads_and_a_sort_that_is_stopped_ends_soon() {
        let mut state = 3;
        let items: Vec<Item> = (0..100_000).map(|place| (random(&mut state) % 5_000, place)).collect();
        let mut expected = items.clone();
        expected.sort_unstable();
        for (part, threads) in [(1_000, 1), (1_000, 3), (7, 8), (1 << 20, 2)] {
            let mut found = items.clone();
            sort(&mut found, Ord::cmp, part, threads, &Stop::default());
            assert_eq!(found, expected, "parts of {part}, {threads} threads");
        }
        let comparisons = |stopped_at: usize| {
            let (stop, done) = (Stop::default(), AtomicUsize::new(0));
            let compare = |left: &Item, right: &Item| {
                if done.fetch_add(1, Atomic::Relaxed) == stopped_at {
                    stop.set();
                }
                left.cmp(right)
            };
            sort(&mut items.clone(), compare, 1_000, 1, &stop);
            done.into_inner()
        };
        let (all, begun) = (comparisons(usize::MAX), comparisons(0));
        // It ends the step that it has begun: the first one looks at every item a few times.
        assert!(begun < 600_000 && begun * 2 < all, "{begun} of {all} comparisons");
        assert!(comparisons(all / 2) < all * 3 / 4, "also in its middle");
        let stop = Stop::default();
        stop.set();
        assert!(ordered(Series::new("a".into(), [3_i64, 1]).into_column(), false, &stop).is_err());
    }
}
