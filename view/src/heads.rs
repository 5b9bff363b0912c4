//! Summaries of columns that grow part by part: histograms of numbers and times, the most frequent values of text and booleans, the range,
//! and nulls. A summary does not depend on the order of the rows, and every row of the selection counts.

use std::collections::HashMap;

use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, cast::AsArray, types};
use arrow_schema::{DataType, TimeUnit};
use serde_json::{Value, json};

/// Most bins of a histogram. Bins are as wide as powers of two, so that at least half of them are between the least and greatest value.
const BINS: usize = 64;
/// Most distinct texts that are counted.
const DISTINCT: usize = 10_000;
/// Most bytes of the distinct texts that are counted.
const DISTINCT_BYTES: usize = 16 << 20;
/// Most frequent values that are told.
const FREQUENT: usize = 6;
/// Most characters of a text that is told.
const SHOWN: usize = 80;

/// The summary of a column after some of its rows.
#[derive(Debug)]
pub(crate) struct Head {
    rows: u64,
    nulls: u64,
    values: Values,
}

#[derive(Debug)]
enum Values {
    Whole(Whole),
    Float(Float),
    Bool {
        no: u64,
        yes: u64,
    },
    Text(Texts),
    /// Of values of this type, nulls are counted alone.
    Other,
}

impl Head {
    /// Creates a summary of no rows of a column of this type.
    pub(crate) fn of(ty: &DataType) -> Self {
        let values = match ty {
            DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => Values::Whole(Whole::default()),
            DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => Values::Whole(Whole::default()),
            DataType::Date32 | DataType::Timestamp(..) | DataType::Duration(_) => Values::Whole(Whole::default()),
            DataType::UInt64 => Values::Whole(Whole { is_unsigned: true, ..Whole::default() }),
            DataType::Float16 | DataType::Float32 | DataType::Float64 => Values::Float(Float::default()),
            DataType::Boolean => Values::Bool { no: 0, yes: 0 },
            DataType::LargeUtf8 => Values::Text(Texts::default()),
            _ => Values::Other,
        };
        Self { rows: 0, nulls: 0, values }
    }

    /// Adds the values of some rows.
    pub(crate) fn add(&mut self, array: &ArrayRef) {
        self.rows += array.len() as u64;
        self.nulls += array.null_count() as u64;
        match &mut self.values {
            Values::Whole(whole) => match array.data_type() {
                DataType::Int8 => whole.add(array.as_primitive::<types::Int8Type>(), i64::from),
                DataType::Int16 => whole.add(array.as_primitive::<types::Int16Type>(), i64::from),
                DataType::Int32 => whole.add(array.as_primitive::<types::Int32Type>(), i64::from),
                DataType::Int64 => whole.add(array.as_primitive::<types::Int64Type>(), |value| value),
                DataType::UInt8 => whole.add(array.as_primitive::<types::UInt8Type>(), i64::from),
                DataType::UInt16 => whole.add(array.as_primitive::<types::UInt16Type>(), i64::from),
                DataType::UInt32 => whole.add(array.as_primitive::<types::UInt32Type>(), i64::from),
                DataType::UInt64 => whole.add(array.as_primitive::<types::UInt64Type>(), |value| (value ^ SIGN).cast_signed()),
                DataType::Date32 => whole.add(array.as_primitive::<types::Date32Type>(), i64::from),
                DataType::Timestamp(TimeUnit::Second, _) => {
                    whole.add(array.as_primitive::<types::TimestampSecondType>(), |value| value)
                }
                DataType::Timestamp(TimeUnit::Millisecond, _) => {
                    whole.add(array.as_primitive::<types::TimestampMillisecondType>(), |value| value);
                }
                DataType::Timestamp(TimeUnit::Microsecond, _) => {
                    whole.add(array.as_primitive::<types::TimestampMicrosecondType>(), |value| value);
                }
                DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                    whole.add(array.as_primitive::<types::TimestampNanosecondType>(), |value| value);
                }
                DataType::Duration(TimeUnit::Second) => {
                    whole.add(array.as_primitive::<types::DurationSecondType>(), |value| value)
                }
                DataType::Duration(TimeUnit::Millisecond) => {
                    whole.add(array.as_primitive::<types::DurationMillisecondType>(), |value| value);
                }
                DataType::Duration(TimeUnit::Microsecond) => {
                    whole.add(array.as_primitive::<types::DurationMicrosecondType>(), |value| value);
                }
                DataType::Duration(TimeUnit::Nanosecond) => {
                    whole.add(array.as_primitive::<types::DurationNanosecondType>(), |value| value);
                }
                _ => {}
            },
            Values::Float(float) => match array.data_type() {
                DataType::Float16 => float.add(array.as_primitive::<types::Float16Type>(), f64::from),
                DataType::Float32 => float.add(array.as_primitive::<types::Float32Type>(), f64::from),
                DataType::Float64 => float.add(array.as_primitive::<types::Float64Type>(), |value| value),
                _ => {}
            },
            Values::Bool { no, yes } => {
                if let Some(array) = array.as_boolean_opt() {
                    *yes += array.true_count() as u64;
                    *no += array.false_count() as u64;
                }
            }
            Values::Text(texts) => {
                if let Some(array) = array.as_string_opt::<i64>() {
                    array.iter().flatten().for_each(|text| texts.add(text));
                }
            }
            Values::Other => {}
        }
    }

    /// Returns what the page gets. Whole numbers are texts, since those of JSON are exact up to 53 bits alone.
    pub(crate) fn json(&self) -> Value {
        let (rows, nulls) = (self.rows, self.nulls);
        let mut rendered = match &self.values {
            Values::Whole(whole) => whole.json(),
            Values::Float(float) => float.json(),
            Values::Bool { no, yes } => {
                let mut values = vec![("true", *yes), ("false", *no)];
                values.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
                values.retain(|(_, count)| *count > 0);
                json!({"kind": "values", "distinct": values.len(), "values": values})
            }
            Values::Text(texts) => texts.json(),
            Values::Other => json!({"kind": "other"}),
        };
        if let Some(rendered) = rendered.as_object_mut() {
            rendered.extend([("rows".to_owned(), rows.into()), ("nulls".to_owned(), nulls.into())]);
        }
        rendered
    }
}

/// The highest bit of 64.
const SIGN: u64 = 1 << 63;

/// A histogram of whole numbers. Bin `b` has the values from `b << shift`, up to the next bin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Whole {
    /// Whether `SIGN` was subtracted from the values. It is a multiple of every width, so the bins are those of the values themselves.
    is_unsigned: bool,
    range: Option<(i64, i64)>,
    shift: u32,
    /// Number of the first bin.
    first: i64,
    counts: Vec<u64>,
}

impl Whole {
    fn add<T: ArrowPrimitiveType>(&mut self, array: &PrimitiveArray<T>, value: impl Fn(T::Native) -> i64 + Copy) {
        match array.null_count() {
            0 => self.extend(array.values().iter().map(|number| value(*number))),
            _ => self.extend(array.iter().flatten().map(value)),
        }
    }

    fn extend(&mut self, values: impl Iterator<Item = i64> + Clone) {
        let found = values.clone().fold((i64::MAX, i64::MIN), |(least, most), value| (least.min(value), most.max(value)));
        if found.0 > found.1 {
            return;
        }
        let (least, most) = self.range.map_or(found, |(least, most)| (least.min(found.0), most.max(found.1)));
        let mut shift = self.shift;
        while (most >> shift).abs_diff(least >> shift) >= BINS as u64 {
            shift += 1;
        }
        let first = least >> shift;
        if Some((least, most)) != self.range {
            let mut counts = vec![0; (most >> shift).abs_diff(first) as usize + 1];
            for (place, count) in self.counts.iter().enumerate() {
                let bin = (self.first + place as i64) >> (shift - self.shift);
                counts[bin.abs_diff(first) as usize] += count;
            }
            (self.range, self.shift, self.first, self.counts) = (Some((least, most)), shift, first, counts);
        }
        for value in values {
            self.counts[(value >> shift).abs_diff(first) as usize] += 1;
        }
    }

    fn json(&self) -> Value {
        let Some((least, most)) = self.range else { return json!({"kind": "numbers", "whole": true}) };
        let rendered = |value: i128| (value + if self.is_unsigned { i128::from(SIGN) } else { 0 }).to_string();
        json!({
            "kind": "numbers", "whole": true, "least": rendered(least.into()), "most": rendered(most.into()), "counts": self.counts,
            "start": rendered(i128::from(self.first) << self.shift), "width": (1_i128 << self.shift).to_string(),
        })
    }
}

/// A histogram of floats. Bin `b` has the values from `b` times two to the power of `exponent`, up to the next bin.
#[derive(Clone, Debug, Default, PartialEq)]
struct Float {
    range: Option<(f64, f64)>,
    exponent: i32,
    first: i64,
    counts: Vec<u64>,
    not_numbers: u64,
    infinite: u64,
}

/// The exponent of the least float that is above 0.
const LEAST_EXPONENT: i32 = -1074;

impl Float {
    fn add<T: ArrowPrimitiveType>(&mut self, array: &PrimitiveArray<T>, value: impl Fn(T::Native) -> f64 + Copy) {
        match array.null_count() {
            0 => self.extend(array.values().iter().map(|number| value(*number))),
            _ => self.extend(array.iter().flatten().map(value)),
        }
    }

    fn extend(&mut self, values: impl Iterator<Item = f64> + Clone) {
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.clone() {
            match value.is_finite() {
                true => (least, most) = (least.min(value), most.max(value)),
                false if value.is_nan() => self.not_numbers += 1,
                false => self.infinite += 1,
            }
        }
        if least > most {
            return;
        }
        // -0.0 and 0.0 are one value.
        let (mut least, mut most) = (least + 0.0, most + 0.0);
        if let Some(range) = self.range {
            (least, most) = (least.min(range.0), most.max(range.1));
        }
        if Some((least, most)) != self.range {
            let exponent = exponent(least, most);
            let first = bin(least, exponent);
            let mut counts = vec![0; bin(most, exponent).abs_diff(first) as usize + 1];
            match self.range {
                // One value has no bins yet.
                Some((one, other)) if one == other => {
                    counts[bin(one, exponent).abs_diff(first) as usize] += self.counts.iter().sum::<u64>()
                }
                Some(_) => {
                    for (place, count) in self.counts.iter().enumerate() {
                        let bin = (self.first + place as i64) >> (exponent - self.exponent).min(63);
                        counts[bin.abs_diff(first) as usize] += count;
                    }
                }
                None => {}
            }
            (self.range, self.exponent, self.first, self.counts) = (Some((least, most)), exponent, first, counts);
        }
        let (first, exponent) = (self.first, self.exponent);
        for value in values.filter(|value| value.is_finite()) {
            self.counts[bin(value, exponent).abs_diff(first) as usize] += 1;
        }
    }

    fn json(&self) -> Value {
        let mut rendered = json!({"kind": "numbers", "whole": false, "nan": self.not_numbers, "infinite": self.infinite});
        if let (Some((least, most)), Some(rendered)) = (self.range, rendered.as_object_mut()) {
            let width = power(self.exponent);
            rendered.extend([
                ("least".to_owned(), least.into()),
                ("most".to_owned(), most.into()),
                ("counts".to_owned(), self.counts.clone().into()),
                // The bin of the least floats would begin below them.
                ("start".to_owned(), (self.first as f64 * width).max(f64::MIN).into()),
                ("width".to_owned(), width.into()),
            ]);
        }
        rendered
    }
}

/// Returns the least exponent at which a range takes at most [`BINS`] bins. It only grows when the range grows.
fn exponent(least: f64, most: f64) -> i32 {
    if least == most {
        return exponent(0.0, least.abs().max(f64::MIN_POSITIVE));
    }
    // The widths of a range of floats may be infinite; their halves are not.
    let span = (most / 2.0 - least / 2.0).max(f64::MIN_POSITIVE);
    let mut exponent = (span.log2().floor() as i32 - 6).max(LEAST_EXPONENT);
    while !fits(least, most, exponent) {
        exponent += 1;
    }
    exponent
}

fn fits(least: f64, most: f64, exponent: i32) -> bool {
    // A bin number that a float does not hold exactly would not be that of the value.
    let is_exact = |value: f64| scaled(value, exponent).abs() < (1_u64 << 53) as f64;
    is_exact(least) && is_exact(most) && bin(most, exponent).abs_diff(bin(least, exponent)) < BINS as u64
}

fn bin(value: f64, exponent: i32) -> i64 {
    match scaled(value, exponent) {
        // So small that dividing it gives 0, but below it.
        0.0 if value < 0.0 => -1,
        scaled => scaled.floor() as i64,
    }
}

/// Divides by a power of two, which changes no digit.
fn scaled(value: f64, exponent: i32) -> f64 {
    match exponent {
        -1022..=1022 => value * power(-exponent),
        _ => value * power(-exponent / 2) * power(-exponent - -exponent / 2),
    }
}

fn power(exponent: i32) -> f64 {
    f64::from(exponent).exp2()
}

/// The numbers of texts.
#[derive(Debug, Default)]
struct Texts {
    counts: HashMap<Box<str>, u64>,
    /// Bytes of these texts.
    bytes: usize,
    /// Whether there are more distinct texts than are counted.
    is_over: bool,
    range: Option<(Box<str>, Box<str>)>,
}

impl Texts {
    fn add(&mut self, text: &str) {
        if let Some(count) = self.counts.get_mut(text) {
            *count += 1;
            return;
        }
        self.bytes = self.bytes.saturating_add(text.len());
        let is_counted = !self.is_over && self.counts.len() < DISTINCT && self.bytes <= DISTINCT_BYTES;
        self.new_text(text, is_counted);
    }

    fn new_text(&mut self, text: &str, is_counted: bool) {
        match &mut self.range {
            Some((least, _)) if text < &**least => *least = text.into(),
            Some((_, most)) if text > &**most => *most = text.into(),
            Some(_) => {}
            None => self.range = Some((text.into(), text.into())),
        }
        match is_counted {
            true => drop(self.counts.insert(text.into(), 1)),
            false => {
                self.is_over = true;
                self.counts = HashMap::new();
            }
        }
    }

    fn json(&self) -> Value {
        let mut values: Vec<(&str, u64)> = self.counts.iter().map(|(text, count)| (&**text, *count)).collect();
        values.sort_by(|left, right| right.1.cmp(&left.1).then(left.0.cmp(right.0)));
        values.truncate(FREQUENT);
        // A shortened text would be another value, so a filter by it would be wrong.
        let values: Vec<_> = values.into_iter().filter(|(text, _)| text.chars().count() <= SHOWN).collect();
        let shown = |text: &str| text.chars().take(SHOWN).collect::<String>();
        let range = self.range.as_ref().map(|(least, most)| [shown(least), shown(most)]);
        let distinct = if self.is_over { Value::Null } else { self.counts.len().into() };
        json!({"kind": "values", "distinct": distinct, "values": values, "range": range})
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests may panic")]
mod tests {
    use std::sync::Arc;

    use arrow_array::{BooleanArray, Float64Array, Int64Array, LargeStringArray, UInt64Array};

    use super::*;

    /// SplitMix64.
    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn head(parts: &[ArrayRef]) -> Value {
        let mut head = Head::of(parts[0].data_type());
        parts.iter().for_each(|part| head.add(part));
        head.json()
    }

    fn counts(json: &Value) -> Vec<u64> {
        json["counts"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).collect()
    }

    #[test]
    fn histograms_of_whole_numbers_are_those_of_a_plain_model_in_any_order_and_parts() {
        let mut state = 7;
        for case in 0..300 {
            let spread = 1_u64 << (random(&mut state) % 63);
            let middle = (random(&mut state) as i64) >> (random(&mut state) % 64);
            let values: Vec<Option<i64>> = (0..1 + random(&mut state) % 200)
                .map(|_| match random(&mut state) % 10 {
                    0 => None,
                    1 if case % 7 == 0 => Some(if random(&mut state).is_multiple_of(2) { i64::MIN } else { i64::MAX }),
                    _ => Some(middle.wrapping_add((random(&mut state) % spread) as i64)),
                })
                .collect();
            let there: Vec<i64> = values.iter().flatten().copied().collect();
            let whole = head(&[Arc::new(Int64Array::from(values.clone()))]);
            let parts: Vec<ArrayRef> =
                values.rchunks(7).map(|part| Arc::new(Int64Array::from(part.to_vec())) as ArrayRef).collect();
            assert_eq!(head(&parts), whole, "in other parts and another order");
            assert_eq!(whole["nulls"], values.len() - there.len());
            let Some(least) = there.iter().min() else { continue };
            let number = |name: &str| whole[name].as_str().unwrap().parse::<i128>().unwrap();
            assert_eq!((number("least"), number("most")), (i128::from(*least), i128::from(*there.iter().max().unwrap())));
            let counts = counts(&whole);
            let (start, width) = (number("start"), number("width"));
            let expected: Vec<u64> = (0..counts.len() as i128)
                .map(|bin| there.iter().filter(|value| (i128::from(**value) - start).div_euclid(width) == bin).count() as u64)
                .collect();
            assert_eq!(counts, expected);
            assert!(counts.len() <= BINS && counts[0] > 0 && *counts.last().unwrap() > 0);
            assert!(width == 1 || counts.len() > BINS / 2 - 1, "{} bins of {width}", counts.len());
        }
    }

    #[test]
    fn bins_of_unsigned_numbers_have_exact_edges() {
        let mut state = 5;
        for case in 0..200 {
            let (shift, middle) = (random(&mut state) % 64, random(&mut state) >> (random(&mut state) % 64));
            let mut values: Vec<u64> =
                (0..1 + random(&mut state) % 100).map(|_| middle.saturating_add(random(&mut state) >> shift)).collect();
            if case % 5 == 0 {
                values.extend([0, (1 << 53) + 1, SIGN - 1, SIGN, u64::MAX]);
            }
            let json = head(&[Arc::new(UInt64Array::from(values.clone()))]);
            let number = |name: &str| json[name].as_str().unwrap().parse::<i128>().unwrap();
            let ends = (*values.iter().min().unwrap(), *values.iter().max().unwrap());
            assert_eq!((number("least"), number("most")), (ends.0.into(), ends.1.into()));
            let (start, width, counts) = (number("start"), number("width"), counts(&json));
            let bin = |value: &u64| (i128::from(*value) - start).div_euclid(width);
            let expected: Vec<u64> =
                (0..counts.len() as i128).map(|one| values.iter().filter(|value| bin(value) == one).count() as u64).collect();
            assert_eq!((counts, start.rem_euclid(width)), (expected, 0), "case {case}: {json}");
        }
    }

    #[test]
    fn histograms_of_floats_are_those_of_a_plain_model_in_any_order_and_parts() {
        let mut state = 11;
        for case in 0..400 {
            let scale = f64::from((random(&mut state) % 600) as i32 - 300).exp2();
            let middle = if case % 3 == 0 { scale * 1e6 } else { 0.0 };
            let values: Vec<Option<f64>> = (0..1 + random(&mut state) % 200)
                .map(|_| match random(&mut state) % 20 {
                    0 => None,
                    1 => Some(f64::NAN),
                    2 => Some(f64::INFINITY),
                    3 if case % 5 == 0 => Some(if random(&mut state).is_multiple_of(2) { f64::MIN } else { f64::MAX }),
                    4 => Some(-0.0),
                    5 if case % 11 == 0 => Some(f64::from_bits(random(&mut state) % 9)),
                    _ => Some(middle + scale * ((random(&mut state) % 1000) as f64 / 1000.0 - 0.3)),
                })
                .collect();
            let there: Vec<f64> = values.iter().flatten().copied().filter(|value| value.is_finite()).collect();
            let whole = head(&[Arc::new(Float64Array::from(values.clone()))]);
            let parts: Vec<ArrayRef> =
                values.rchunks(5).map(|part| Arc::new(Float64Array::from(part.to_vec())) as ArrayRef).collect();
            assert_eq!(head(&parts), whole, "case {case}: in other parts and another order");
            assert_eq!(whole["nan"], values.iter().flatten().filter(|value| value.is_nan()).count());
            if there.is_empty() {
                continue;
            }
            let counts = counts(&whole);
            assert_eq!(counts.iter().sum::<u64>(), there.len() as u64);
            let number = |name: &str| whole[name].as_f64().unwrap();
            let (start, width) = (number("start"), number("width"));
            // No float is where this bin begins.
            if start == f64::MIN {
                continue;
            }
            let expected: Vec<u64> = (0..counts.len())
                .map(|bin| {
                    // Exact, since widths are powers of two; the last bin may end above all floats.
                    let edge = |bin: usize| (start / width + bin as f64) * width;
                    there.iter().filter(|value| **value >= edge(bin) && **value < edge(bin + 1)).count() as u64
                })
                .collect();
            assert_eq!(counts, expected, "case {case}: {whole}");
            assert!(counts.len() <= BINS);
        }
    }

    #[test]
    fn texts_and_booleans_are_counted() {
        let texts = LargeStringArray::from(vec![Some("b"), Some("a"), None, Some("b"), Some("")]);
        let json = head(&[Arc::new(texts)]);
        assert_eq!(json["values"], json!([["b", 2], ["", 1], ["a", 1]]));
        assert_eq!((&json["distinct"], &json["nulls"], &json["range"]), (&json!(3), &json!(1), &json!(["", "b"])));
        let json = head(&[Arc::new(BooleanArray::from(vec![Some(true), None, Some(false), Some(true)]))]);
        assert_eq!((&json["values"], &json["nulls"]), (&json!([["true", 2], ["false", 1]]), &json!(1)));
    }

    #[test]
    fn long_distinct_texts_are_not_held() {
        let texts = |count: usize| {
            LargeStringArray::from_iter_values((0..count).map(|number| format!("{number:04}{}", "x".repeat((1 << 20) - 4))))
        };
        assert_eq!(head(&[Arc::new(texts(16))])["distinct"], json!(16));
        let json = head(&[Arc::new(texts(17))]);
        assert_eq!((&json["distinct"], &json["values"]), (&Value::Null, &json!([])));
    }

    #[test]
    fn too_many_distinct_texts_are_said_and_not_counted() {
        let texts = LargeStringArray::from_iter_values((0..=DISTINCT).map(|number| format!("{number:06}")));
        let json = head(&[Arc::new(texts.clone()), Arc::new(texts)]);
        assert_eq!((&json["distinct"], &json["values"]), (&Value::Null, &json!([])));
        assert_eq!(json["range"], json!(["000000", "010000"]));
    }
}
