//! Sequences: consecutive rows with equal values in the `sequence_by` columns. Within a sequence, the `order_by` columns never
//! decrease. Follows `format-spec/segment.md#sequences`.

use std::{collections::HashSet, sync::Arc};

use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array, cast::AsArray, types};
use arrow_schema::DataType;
use arrow_select::take::take_record_batch;

use crate::{
    error::{Error, Result},
    id::Hash,
    schema::Schema,
};

/// The values of some index columns of one row, as bytes that sort like the values.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SequenceKey(Vec<u8>);

impl SequenceKey {
    /// Returns the key of a row: the values of `columns`, which have types of index columns.
    ///
    /// # Errors
    /// - `Internal`: a column has another type.
    pub fn of(batch: &RecordBatch, columns: &[usize], row: usize) -> Result<Self> {
        key(batch, columns, row)
    }

    /// Returns the bytes of the key. Two rows have the same bytes if and only if their values are the same (floats bit by bit).
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns a short hash of the key.
    pub(crate) fn digest(&self) -> [u8; 16] {
        Hash::of(&self.0).0.first_chunk::<16>().copied().unwrap_or_default()
    }
}

/// The index columns that decide about sequences, by their places among the index columns.
#[derive(Clone, Debug)]
pub struct SequenceColumns {
    sequence_by: Vec<usize>,
    order_by: Vec<usize>,
}

impl SequenceColumns {
    /// Returns the columns of a schema.
    pub fn of(schema: &Schema) -> Self {
        let names: Vec<&str> = schema.index().map(|column| column.name.as_str()).collect();
        let places = |columns: &mut dyn Iterator<Item = String>| -> Vec<usize> {
            columns.filter_map(|name| names.iter().position(|other| *other == name)).collect()
        };
        Self {
            sequence_by: places(&mut schema.sequence_by().map(|column| column.name.clone())),
            order_by: places(&mut schema.order_by().map(|column| column.name.clone())),
        }
    }

    /// Returns the places of all these columns, ascending.
    pub fn all(&self) -> Vec<usize> {
        let mut places = [self.sequence_by.as_slice(), &self.order_by].concat();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// Returns the places of the `sequence_by` columns, ascending.
    pub fn of_sequences(&self) -> Vec<usize> {
        let mut places = self.sequence_by.clone();
        places.sort_unstable();
        places
    }

    /// Returns the key of the sequence of a row of `batch`, which has the index columns at these places.
    ///
    /// # Errors
    /// - `Internal`: a column of the key is missing, or no index column.
    pub fn sequence(&self, batch: &RecordBatch, places: &[usize], row: usize) -> Result<SequenceKey> {
        key(batch, &among(&self.sequence_by, places), row)
    }

    /// Returns the keys of a row as [`SequenceColumns::sequence`] does: of its sequence, and of its order in it.
    ///
    /// # Errors
    /// - `Internal`: a column of the keys is missing, or no index column.
    pub fn keys(&self, batch: &RecordBatch, places: &[usize], row: usize) -> Result<(SequenceKey, SequenceKey)> {
        Ok((self.sequence(batch, places, row)?, key(batch, &among(&self.order_by, places), row)?))
    }

    /// Returns names and values of the `sequence_by` columns of a row, for messages.
    pub fn describe(&self, batch: &RecordBatch, places: &[usize], row: usize) -> String {
        describe(batch, &among(&self.sequence_by, places), row)
    }
}

/// Returns where each of `wanted` is among `places`.
fn among(wanted: &[usize], places: &[usize]) -> Vec<usize> {
    wanted.iter().map(|wanted| places.iter().position(|place| place == wanted).unwrap_or(usize::MAX)).collect()
}

/// The sequences that start in the rows that a tracker has seen.
#[derive(Clone, Debug, Default)]
pub struct StartedSequences {
    /// The number of the first row of each.
    pub rows: Vec<u64>,
    /// The values of the `sequence_by` columns in these rows, in the order of the columns of the index.
    pub values: Vec<RecordBatch>,
}

/// Finds the starts of sequences while rows are pushed in table order, and refuses rows that violate the rules.
#[derive(Debug)]
pub struct SequenceTracker {
    columns: SequenceColumns,
    seen: HashSet<[u8; 16]>,
    last: Option<(SequenceKey, SequenceKey)>,
    rows: u64,
    /// `None` if all rows of the table are pushed.
    started: Option<StartedSequences>,
}

impl SequenceTracker {
    /// Creates a tracker for index batches of `schema`.
    pub fn new(schema: &Schema) -> Self {
        Self { columns: SequenceColumns::of(schema), seen: HashSet::new(), last: None, rows: 0, started: None }
    }

    /// Creates a tracker for rows that follow `rows` others, of which it knows only the keys of the last one. What it starts
    /// ([`SequenceTracker::started`]) must not be among the others.
    pub fn after(schema: &Schema, rows: u64, last: (SequenceKey, SequenceKey)) -> Self {
        let seen = HashSet::from([last.0.digest()]);
        Self { columns: SequenceColumns::of(schema), seen, last: Some(last), rows, started: Some(StartedSequences::default()) }
    }

    /// Returns the sequences that have started, if the tracker does not know all rows before.
    pub fn started(&self) -> Option<&StartedSequences> {
        self.started.as_ref()
    }

    /// Returns the keys of the last row.
    pub fn last(&self) -> Option<&(SequenceKey, SequenceKey)> {
        self.last.as_ref()
    }

    /// Returns the rows of `batch` at which a sequence starts. The batch has the index columns in index order.
    ///
    /// # Errors
    /// - `Invalid`: a sequence appears again after another one, or an `order_by` column decreases. The message names the row
    ///   and the values.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<Vec<usize>> {
        let SequenceColumns { sequence_by, order_by } = &self.columns;
        let mut starts = Vec::new();
        for row in 0..batch.num_rows() {
            let sequence = key(batch, sequence_by, row)?;
            let order = key(batch, order_by, row)?;
            let place = self.rows + row as u64;
            match &self.last {
                Some((last, before)) if *last == sequence => {
                    if order < *before {
                        let what = describe(batch, order_by, row);
                        return Err(Error::invalid(format!(
                            "row {place}: {what} is less than in the row before; order_by columns may not decrease in a sequence"
                        )));
                    }
                }
                _ => {
                    if !self.seen.insert(sequence.digest()) {
                        return Err(Error::invalid(appears_again(place, &describe(batch, sequence_by, row))));
                    }
                    starts.push(row);
                }
            }
            self.last = Some((sequence, order));
        }
        if let Some(started) = self.started.as_mut().filter(|_| !starts.is_empty()) {
            let failed = |error| Error::internal(format!("starts of sequences: {error}"));
            let rows = UInt64Array::from_iter_values(starts.iter().map(|row| *row as u64));
            let values = batch.project(&self.columns.of_sequences()).and_then(|values| take_record_batch(&values, &rows));
            started.values.push(values.map_err(failed)?);
            started.rows.extend(starts.iter().map(|row| self.rows + *row as u64));
        }
        self.rows += batch.num_rows() as u64;
        Ok(starts)
    }
}

/// Returns the message for a sequence whose rows are not consecutive. `what` has its names and values.
pub(crate) fn appears_again(row: u64, what: &str) -> String {
    format!("row {row}: sequence {what} appears again after another one; its rows must be consecutive")
}

fn describe(batch: &RecordBatch, places: &[usize], row: usize) -> String {
    let schema = batch.schema();
    let parts = places.iter().filter_map(|place| {
        let field = schema.fields().get(*place)?;
        let value = value_text(batch.columns().get(*place)?, row);
        Some(format!("{}={value}", field.name()))
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn key(batch: &RecordBatch, places: &[usize], row: usize) -> Result<SequenceKey> {
    let mut out = Vec::with_capacity(places.len() * 9);
    for place in places {
        let column = batch.columns().get(*place).ok_or_else(|| Error::internal(format!("no index column {place}")))?;
        if column.is_null(row) {
            out.push(0);
        } else {
            out.push(1);
            sortable(column, row, &mut out)?;
        }
    }
    Ok(SequenceKey(out))
}

macro_rules! integers {
    ($array:expr, $row:expr, $out:expr, $ty:expr; $($pattern:pat => $arrow:ty, $bias:expr;)*) => {
        match $ty {
            $($pattern => {
                let value = $array.as_primitive::<$arrow>().value($row);
                $out.extend((value ^ $bias).to_be_bytes());
                return Ok(());
            })*
            _ => {}
        }
    };
}

/// Appends bytes that sort like the value.
fn sortable(array: &ArrayRef, row: usize, out: &mut Vec<u8>) -> Result<()> {
    let ty = array.data_type();
    integers!(array, row, out, ty;
        DataType::Int8 => types::Int8Type, i8::MIN;
        DataType::Int16 => types::Int16Type, i16::MIN;
        DataType::Int32 => types::Int32Type, i32::MIN;
        DataType::Date32 => types::Date32Type, i32::MIN;
        DataType::Int64 => types::Int64Type, i64::MIN;
        DataType::UInt8 => types::UInt8Type, 0;
        DataType::UInt16 => types::UInt16Type, 0;
        DataType::UInt32 => types::UInt32Type, 0;
        DataType::UInt64 => types::UInt64Type, 0;
    );
    match ty {
        DataType::Timestamp(..) | DataType::Duration(_) => {
            let data = array.to_data();
            let value = data.buffer::<i64>(0).get(row).copied().unwrap_or_default();
            out.extend((value ^ i64::MIN).to_be_bytes());
        }
        DataType::Boolean => out.push(u8::from(array.as_boolean().value(row))),
        DataType::Float32 => {
            let bits = array.as_primitive::<types::Float32Type>().value(row).to_bits();
            out.extend((if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }).to_be_bytes());
        }
        DataType::Float64 => {
            let bits = array.as_primitive::<types::Float64Type>().value(row).to_bits();
            out.extend((if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }).to_be_bytes());
        }
        DataType::LargeUtf8 => {
            // Two zero bytes end the text and sort before every other byte; a zero byte within the text becomes 0 255.
            for byte in array.as_string::<i64>().value(row).bytes() {
                out.push(byte);
                if byte == 0 {
                    out.push(255);
                }
            }
            out.extend([0, 0]);
        }
        other => return Err(Error::internal(format!("an index column of type {other}"))),
    }
    Ok(())
}

fn value_text(array: &ArrayRef, row: usize) -> String {
    if array.is_null(row) {
        return "null".to_owned();
    }
    match array.data_type() {
        DataType::LargeUtf8 => format!("`{}`", array.as_string::<i64>().value(row)),
        _ => {
            let one = Arc::clone(array).slice(row, 1);
            let text = format!("{one:?}");
            // Arrow prints an array as a header line and its values, one per line.
            text.lines().nth(2).unwrap_or_default().trim().trim_end_matches(',').to_owned()
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests may panic")]
mod tests {
    use arrow_array::{Int64Array, LargeStringArray};

    use super::*;

    fn batch(logs: &[&str], times: &[i64]) -> RecordBatch {
        let logs: ArrayRef = Arc::new(LargeStringArray::from(logs.to_vec()));
        let times: ArrayRef = Arc::new(Int64Array::from(times.to_vec()));
        RecordBatch::try_from_iter([("log", logs), ("time", times)]).unwrap()
    }

    fn tracker() -> SequenceTracker {
        let schema = Schema::builder().index("log", "utf8").index("time", "i64").sequence_by(["log"]).order_by(["time"]);
        SequenceTracker::new(&schema.build().unwrap())
    }

    #[test]
    fn a_sequence_starts_where_its_key_changes_also_across_batches() {
        let mut tracker = tracker();
        assert_eq!(tracker.push(&batch(&["a", "a", "b"], &[-5, 3, -9])).unwrap(), [0, 2]);
        assert_eq!(tracker.push(&batch(&["b", "c"], &[-9, 0])).unwrap(), [1]);
    }

    #[test]
    fn a_sequence_that_comes_back_and_an_order_that_falls_are_named() {
        let error = tracker().push(&batch(&["a", "b", "a"], &[0, 0, 1])).unwrap_err();
        assert_eq!(error.to_string(), "row 2: sequence log=`a` appears again after another one; its rows must be consecutive");
        let error = tracker().push(&batch(&["a", "a"], &[7, -7])).unwrap_err();
        assert!(error.to_string().starts_with("row 1: time=-7 is less than in the row before"), "{error}");
    }
}
