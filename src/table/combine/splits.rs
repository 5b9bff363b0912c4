//! Splits rows into parts, e.g. for training, validation and test, by the hash of a key.
//!
//! The part of a row depends only on its key. So all rows of one recording are in one part, and rows that are appended later do
//! not change the part of any other row.

use std::{collections::BTreeSet, ops::Range};

use polars::prelude::{BooleanChunked, Column, DataFrame, DataType, Int64Chunked, PolarsError, StringChunked};

use crate::{
    error::{Error, Result, listed, short},
    index::{check_process, is_locator},
    table::index::index::Index,
};

/// The context string of the key hash. A change would move rows between the parts of all existing splits.
const CONTEXT: &str = "tetrys split 1";

impl Index {
    /// Splits the rows by the hash of a key into named parts of about these shares. The parts have the order of the shares.
    ///
    /// All rows with equal keys are in the same part, also after rows are appended. If the shares add up to less than 1, the
    /// other rows are in no part. Another `salt` gives other parts.
    ///
    /// ```no_run
    /// # async fn example() -> tetrys::Result<()> {
    /// use tetrys::Table;
    /// let index = Table::open("/data/sensors").await?.index().await?;
    /// let parts = index.split(["log_id"], [("train", 0.8), ("val", 0.1), ("test", 0.1)], "")?;
    /// for (name, part) in &parts {
    ///     part.save(&format!("/data/splits/{name}")).await?;
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// - `NotFound`: the index has no column with the name of a key.
    /// - `Invalid`: there is no key, a key column is not text, integers, booleans or times, there are no shares, a share is not
    ///   positive, the shares add up to more than 1, two parts have one name, or the name of a part is empty, `.`, `..`, or has a
    ///   slash or backslash.
    /// - `Unsupported`: this process was forked from one that has used frames.
    pub fn split<K: AsRef<str>, N: Into<String>>(
        &self,
        keys: impl IntoIterator<Item = K>,
        shares: impl IntoIterator<Item = (N, f64)>,
        salt: &str,
    ) -> Result<Vec<(String, Self)>> {
        check_process()?;
        let shares: Vec<(String, f64)> = shares.into_iter().map(|(name, share)| (name.into(), share)).collect();
        let (ranges, whole) = (ranges(&shares)?, self.to_frame());
        let places = places(self.frame.bare(), keys, salt)?;
        let part = |((name, _), range): ((String, f64), Range<f64>)| {
            let here: BooleanChunked = places.iter().map(|place| Some(range.contains(place))).collect();
            let frame = whole.filter(&here).map_err(|error| Error::internal(format!("polars: {error}")))?;
            Ok((name, self.with_frame(frame)?))
        };
        shares.into_iter().zip(ranges).map(part).collect()
    }
}

/// Checks the names of parts, which become names of folders: they differ, and lead nowhere else.
///
/// # Errors
/// - `Invalid`: two parts have one name, or a name is empty, `.`, `..`, or has a slash or backslash.
pub(crate) fn check_part_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<()> {
    let mut seen = BTreeSet::new();
    for name in names {
        if ["", ".", ".."].contains(&name) || name.contains(['/', '\\', '\0']) {
            let name = short(name);
            return Err(Error::invalid(format!(
                "split: part `{name}`: expected the name of a folder, without slash or backslash"
            )));
        }
        if !seen.insert(name) {
            let name = short(name);
            return Err(Error::invalid(format!("split: two parts have the name `{name}`; give each part its own name")));
        }
    }
    Ok(())
}

/// Returns the numbers in 0..1 that belong to each share.
///
/// # Errors
/// - `Invalid`: there are no shares, a share is not positive, the shares add up to more than 1, or the names of the parts are not
///   those of different folders.
pub(super) fn ranges(shares: &[(String, f64)]) -> Result<Vec<Range<f64>>> {
    check_part_names(shares.iter().map(|(name, _)| name.as_str()))?;
    let sum: f64 = shares.iter().map(|(_, share)| share).sum();
    if shares.is_empty() || shares.iter().any(|(_, share)| *share <= 0.0 || share.is_nan()) || sum > 1.0 + 1e-9 {
        let share_texts: Vec<String> = shares.iter().map(|(name, share)| format!("{}={share:?}", short(name))).collect();
        let share_texts = listed(share_texts.iter().map(String::as_str));
        return Err(Error::invalid(format!("split: shares {share_texts}: expected positive shares that add up to at most 1")));
    }
    let mut start = 0.0;
    let range = |(number, (_, share)): (usize, &(String, f64))| {
        // Rounding must not leave a gap between the end of the last part and 1.
        let is_last = number + 1 == shares.len() && (1.0 - sum).abs() <= 1e-9;
        let end = if is_last { 1.0 } else { start + share };
        std::mem::replace(&mut start, end)..end
    };
    Ok(shares.iter().enumerate().map(range).collect())
}

/// Returns a number in 0..1 for each row of a frame, derived from the hash of its key.
///
/// # Errors
/// - `NotFound`: the frame has no column with the name of a key.
/// - `Invalid`: there is no key, or a key column is not text, integers, booleans or times.
pub(super) fn places<K: AsRef<str>>(frame: &DataFrame, keys: impl IntoIterator<Item = K>, salt: &str) -> Result<Vec<f64>> {
    let mut columns: Vec<Values> = Vec::new();
    for key in keys {
        let column = frame.column(key.as_ref()).map_err(|_| {
            let names = frame.columns().iter().map(|column| column.name().as_str()).filter(|name| !is_locator(name));
            let names: Vec<&str> = names.collect();
            Error::not_found(format!("split: no column `{}`; there are: {}", key.as_ref(), names.join(", ")))
        })?;
        columns.push(Values::of(column)?);
    }
    if columns.is_empty() {
        return Err(Error::invalid("split: no key to split by"));
    }
    let mut base = blake3::Hasher::new_derive_key(CONTEXT);
    base.update(&(salt.len() as u64).to_le_bytes()).update(salt.as_bytes());
    let (mut places, mut key, mut last) = (Vec::with_capacity(frame.height()), Vec::new(), Vec::new());
    for row in 0..frame.height() {
        key.clear();
        columns.iter().for_each(|column| column.write(row, &mut key));
        // Consecutive rows usually belong to one recording and have equal keys.
        let place = match places.last() {
            Some(place) if key == last => *place,
            _ => {
                let [a, b, c, d, e, f, g, h, ..] = *base.clone().update(&key).finalize().as_bytes();
                // An f64 holds 53 bits exactly.
                (u64::from_le_bytes([a, b, c, d, e, f, g, h]) >> 11) as f64 / (1_u64 << 53) as f64
            }
        };
        places.push(place);
        std::mem::swap(&mut key, &mut last);
    }
    Ok(places)
}

/// A column of the key.
pub(super) enum Values {
    Text(StringChunked),
    Numbers(Int64Chunked),
}

impl Values {
    /// Reads a column of text, integers, booleans or times.
    pub(super) fn of(column: &Column) -> Result<Self> {
        let failed = |error: PolarsError| Error::invalid(format!("split: column `{}`: {error}", column.name()));
        let series = column.as_materialized_series();
        match column.dtype() {
            DataType::String | DataType::Categorical(..) | DataType::Enum(..) => {
                let text = series.cast(&DataType::String).map_err(failed)?.rechunk();
                Ok(Self::Text(text.str().map_err(failed)?.clone()))
            }
            // The bits of an u64 are those of an i64, which may be negative.
            DataType::UInt64 => {
                let numbers = series.u64().map_err(failed)?.iter().map(|number| number.map(u64::cast_signed));
                Ok(Self::Numbers(numbers.collect()))
            }
            ty if ty.is_integer() || ty.is_temporal() || ty.is_bool() => {
                let numbers = series.to_physical_repr().strict_cast(&DataType::Int64).map_err(failed)?.rechunk();
                Ok(Self::Numbers(numbers.i64().map_err(failed)?.clone()))
            }
            ty => Err(Error::invalid(format!(
                "split: column `{}` is {ty}: expected text, integers, booleans or times",
                column.name()
            ))),
        }
    }

    /// Appends the value of a row to the key. Null is a byte 0. Any other value is a byte 1, its length in bytes as u64, and the
    /// value: text as UTF-8, numbers as i64 (u64 by their bits). Integers are little-endian.
    pub(super) fn write(&self, row: usize, key: &mut Vec<u8>) {
        let mut put = |value: &[u8]| {
            key.push(1);
            key.extend((value.len() as u64).to_le_bytes());
            key.extend(value);
        };
        match self {
            Self::Text(text) if let Some(value) = text.get(row) => put(value.as_bytes()),
            Self::Numbers(numbers) if let Some(value) = numbers.get(row) => put(&value.to_le_bytes()),
            _ => key.push(0),
        }
    }
}
