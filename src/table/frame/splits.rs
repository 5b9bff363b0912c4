//! Splits: which rows are for training, which for validation and which for a test, by the hash of a key. A row's split depends on
//! its key alone: rows that are appended later change nobody's, and all rows of one recording stay together.

use polars::prelude::{BooleanChunked, Column, DataType, Int64Chunked, PolarsError, StringChunked};

use super::index::Index;
use crate::error::{Error, Result};

/// What the hash of a key is taken for; a change would move rows between the splits of everybody.
const CONTEXT: &str = "tetrys split 1";

impl Index {
    /// Splits the rows by the hash of a key into parts of about these shares, in this order.
    ///
    /// All rows with equal keys are in one part, and stay there whatever rows come later. Shares that add up to less than 1 leave
    /// rows out. Another `salt` gives other parts.
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
    /// `NotFound` for a key that is not there, `Invalid` for a key of floats, for no key, and for shares that are not positive or
    /// add up to more than 1.
    pub fn split<K: AsRef<str>, N: Into<String>>(
        &self,
        keys: impl IntoIterator<Item = K>,
        shares: impl IntoIterator<Item = (N, f64)>,
        salt: &str,
    ) -> Result<Vec<(String, Self)>> {
        let shares: Vec<(String, f64)> = shares.into_iter().map(|(name, share)| (name.into(), share)).collect();
        let sum: f64 = shares.iter().map(|(_, share)| share).sum();
        if shares.is_empty() || shares.iter().any(|(_, share)| *share <= 0.0 || share.is_nan()) || sum > 1.0 + 1e-9 {
            return Err(Error::invalid(format!("split: shares {shares:?}: expected positive ones that add up to 1 at most")));
        }
        let places = self.places(keys, salt)?;
        let (mut start, mut parts) = (0.0, Vec::new());
        for (number, (name, share)) in shares.iter().enumerate() {
            // Rounding must not leave rows between the last part and 1.
            let is_last = number + 1 == shares.len() && (1.0 - sum).abs() <= 1e-9;
            let end = if is_last { 1.0 } else { start + share };
            let here: BooleanChunked = places.iter().map(|place| Some((start..end).contains(place))).collect();
            let frame = self.frame().filter(&here).map_err(|error| Error::internal(format!("polars: {error}")))?;
            parts.push((name.clone(), self.with_frame(frame)?));
            start = end;
        }
        Ok(parts)
    }

    /// A number from 0 to 1 for each row, from the hash of its key.
    fn places<K: AsRef<str>>(&self, keys: impl IntoIterator<Item = K>, salt: &str) -> Result<Vec<f64>> {
        let mut columns: Vec<Values> = Vec::new();
        for key in keys {
            let column = self.frame().column(key.as_ref()).map_err(|_| {
                let names: Vec<&str> = self.column_names().collect();
                Error::not_found(format!("split: no column `{}`; there are: {}", key.as_ref(), names.join(", ")))
            })?;
            columns.push(Values::of(column)?);
        }
        if columns.is_empty() {
            return Err(Error::invalid("split: no key to split by"));
        }
        let mut base = blake3::Hasher::new_derive_key(CONTEXT);
        base.update(&(salt.len() as u64).to_le_bytes()).update(salt.as_bytes());
        let (mut places, mut key, mut last) = (Vec::with_capacity(self.len()), Vec::new(), Vec::new());
        for row in 0..self.len() {
            key.clear();
            columns.iter().for_each(|column| column.write(row, &mut key));
            // Rows of one recording stand together as a rule.
            let place = match places.last() {
                Some(place) if key == last => *place,
                _ => {
                    let [a, b, c, d, e, f, g, h, ..] = *base.clone().update(&key).finalize().as_bytes();
                    // 53 bits are a float exactly.
                    (u64::from_le_bytes([a, b, c, d, e, f, g, h]) >> 11) as f64 / (1_u64 << 53) as f64
                }
            };
            places.push(place);
            std::mem::swap(&mut key, &mut last);
        }
        Ok(places)
    }
}

/// A column of the key.
enum Values {
    Text(StringChunked),
    Numbers(Int64Chunked),
}

impl Values {
    fn of(column: &Column) -> Result<Self> {
        let failed = |error: PolarsError| Error::invalid(format!("split: column `{}`: {error}", column.name()));
        let series = column.as_materialized_series();
        match column.dtype() {
            DataType::String | DataType::Categorical(..) | DataType::Enum(..) => {
                let text = series.cast(&DataType::String).map_err(failed)?.rechunk();
                Ok(Self::Text(text.str().map_err(failed)?.clone()))
            }
            ty if ty.is_integer() || ty.is_temporal() || ty.is_bool() => {
                let numbers = series.to_physical_repr().strict_cast(&DataType::Int64).map_err(failed)?.rechunk();
                Ok(Self::Numbers(numbers.i64().map_err(failed)?.clone()))
            }
            ty => Err(Error::invalid(format!("split: column `{}` is {ty}: it is no key", column.name()))),
        }
    }

    /// Appends a value: null as one byte 0, else a byte 1, the length of the value as u64, and the value: text as UTF-8, all others
    /// as i64; little-endian.
    fn write(&self, row: usize, key: &mut Vec<u8>) {
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
