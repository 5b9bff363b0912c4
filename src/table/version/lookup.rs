//! Finds the rows of a version that have one of some keys, by little of its index.
//!
//! ```text
//! keys -> segments, by the statistics of the manifest
//!      -> row groups, by the tail of each segment
//!      -> row groups, by their bloom filters
//!      -> rows
//! ```
//!
//! A segment without a tail is read as a whole, and so is one whose tail or pages fail their checks.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
    sync::{Arc, OnceLock},
};

use arrow_array::RecordBatch;
use futures::future::try_join_all;

use super::{index_rows::BYTES_TOGETHER, table::Table, tails::TAILS_AT_ONCE};
use crate::{
    error::Result,
    format::{BloomFilter, Bound, Bounds, IndexTail, Segment, SequenceKey},
    work::{offload_large, waves},
};

/// The most keys that are looked for in bloom filters.
const MOST_FILTERED: usize = 10_000;

/// Keys to look for: values in some index columns.
#[derive(Debug)]
pub(in crate::table) struct Keys {
    /// The places of the columns among the index columns, in the order of the key.
    columns: Vec<usize>,
    /// These places, ascending, each once.
    places: Vec<usize>,
    /// The columns of the keys, in the order of the key.
    batches: Vec<RecordBatch>,
    /// The bounds of each column.
    bounds: Vec<Bounds>,
    /// Made where rows are compared with them.
    numbers: OnceLock<Numbers>,
}

/// The numbers of keys.
#[derive(Debug, Default)]
struct Numbers {
    /// By the digests of the keys.
    of: HashMap<[u8; 16], usize>,
    /// The values of each key; `None` for what is null or NaN. Empty if there are many keys.
    values: Vec<Vec<Option<Bound>>>,
}

impl Keys {
    /// Returns the keys in these batches, which have the columns at `columns` of the index, in this order and with the types there. Equal
    /// keys have the number of the last of them.
    pub(in crate::table) fn new(columns: &[usize], batches: Vec<RecordBatch>) -> Self {
        let of = |place: usize| {
            let bounds = batches.iter().filter_map(|batch| batch.columns().get(place)).map(Bounds::of_values);
            bounds.reduce(Bounds::or).unwrap_or_default()
        };
        let bounds = (0..columns.len()).map(of).collect();
        let mut places = columns.to_vec();
        places.sort_unstable();
        places.dedup();
        Self { columns: columns.to_vec(), places, batches, bounds, numbers: OnceLock::new() }
    }

    /// Returns the batch of a key and its row there.
    pub(in crate::table) fn row(&self, number: usize) -> Option<(&RecordBatch, usize)> {
        let mut place = number;
        self.batches.iter().find_map(|batch| match place.checked_sub(batch.num_rows()) {
            Some(rest) => {
                place = rest;
                None
            }
            None => Some((batch, place)),
        })
    }

    /// Makes the numbers, unless they are made.
    ///
    /// # Errors
    /// - `Internal`: a column has another type.
    fn numbers(&self) -> Result<&Numbers> {
        if let Some(numbers) = self.numbers.get() {
            return Ok(numbers);
        }
        let every: Vec<usize> = (0..self.columns.len()).collect();
        let (mut numbers, mut number) = (Numbers::default(), 0);
        let is_filtered = self.batches.iter().map(RecordBatch::num_rows).sum::<usize>() <= MOST_FILTERED;
        for batch in &self.batches {
            for row in 0..batch.num_rows() {
                numbers.of.insert(SequenceKey::of(batch, &every, row)?.digest(), number);
                number += 1;
                if is_filtered {
                    let values = batch.columns().iter().map(|column| Bounds::of_values(&column.slice(row, 1)).min);
                    numbers.values.push(values.collect());
                }
            }
        }
        Ok(self.numbers.get_or_init(|| numbers))
    }

    /// Returns the number of the key of a row, if it is one of these. `among` has the places of the columns of the key in the batch.
    ///
    /// # Errors
    /// - `Internal`: a column has another type.
    pub(in crate::table) fn number_of(&self, batch: &RecordBatch, among: &[usize], row: usize) -> Result<Option<usize>> {
        Ok(self.numbers()?.of.get(&SequenceKey::of(batch, among, row)?.digest()).copied())
    }

    /// Whether rows with these bounds may have one of the keys. `of` returns the bounds of an index column, if they are known.
    fn are_admitted(&self, of: impl Fn(usize) -> Option<Bounds>) -> bool {
        self.columns.iter().zip(&self.bounds).all(|(place, keys)| of(*place).is_none_or(|rows| rows.may_meet(keys)))
    }
}

impl Table {
    /// Returns the rows that have one of these keys, ascending, with the number of the key of each.
    ///
    /// # Errors
    /// - `Corrupt`: the index is damaged.
    /// - Errors of the store.
    pub(in crate::table) async fn rows_with(&self, keys: &Arc<Keys>) -> Result<Vec<(u64, usize)>> {
        if keys.batches.iter().all(|batch| batch.num_rows() == 0) {
            return Ok(Vec::new());
        }
        let index: Vec<_> = self.manifest().schema.index().collect();
        let is_admitted = |segment: &Segment| {
            keys.are_admitted(|place| Some(Bounds::of_segment(segment.statistics.get(place)?, &index.get(place)?.ty)))
        };
        let looks = self.manifest().segments.iter().enumerate().filter(|(_, segment)| is_admitted(segment));
        let looks: Vec<(usize, &Segment)> = looks.collect();
        let mut found = Vec::new();
        // Together, they may be read as a whole.
        for wave in waves(looks.iter().map(|(_, segment)| segment.index.bytes), BYTES_TOGETHER, TAILS_AT_ONCE) {
            let here = looks[wave].iter().map(|(number, segment)| self.rows_in(*number, segment, keys));
            found.extend(try_join_all(here).await?.into_iter().flatten());
        }
        Ok(found)
    }

    /// Returns the rows of a segment that have one of these keys.
    async fn rows_in(&self, number: usize, segment: &Segment, keys: &Arc<Keys>) -> Result<Vec<(u64, usize)>> {
        let tail = self.useful_tail(number, segment).await?;
        let mut rows: Vec<Range<u64>> = std::iter::once(0..segment.rows).collect();
        if let Some(tail) = &tail {
            let mut groups: BTreeMap<u64, (Range<u64>, bool)> = BTreeMap::new();
            for (place, wanted) in keys.columns.iter().zip(&keys.bounds) {
                for (rows, bounds) in tail.row_group_bounds(*place) {
                    groups.entry(rows.start).or_insert((rows, true)).1 &= bounds.may_meet(wanted);
                }
            }
            if groups.len() == tail.row_groups() {
                rows = groups.into_values().filter(|(_, is_admitted)| *is_admitted).map(|(rows, _)| rows).collect();
            }
            rows = self.not_filtered(segment, tail, rows, keys).await?;
        }
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let read = self.read_rows(number, segment, tail, &keys.places, rows).await?;
        let (schema, rows, first_row, keys) = (self.manifest().schema.clone(), segment.rows, segment.first_row, Arc::clone(keys));
        offload_large(read.work(), move |stop| {
            let among = keys.columns.iter().filter_map(|column| keys.places.iter().position(|place| place == column));
            let among: Vec<usize> = among.collect();
            let mut found = Vec::new();
            for read in read.numbered(&schema, rows, &keys.places)? {
                stop.check()?;
                let (numbers, batch) = read?;
                for (row, number) in numbers.into_iter().enumerate() {
                    found.extend(keys.number_of(&batch, &among, row)?.map(|key| (first_row + number, key)));
                }
            }
            Ok(found)
        })
        .await
    }

    /// Leaves out the row groups of which a bloom filter says that they have none of the keys.
    async fn not_filtered(
        &self,
        segment: &Segment,
        tail: &IndexTail,
        rows: Vec<Range<u64>>,
        keys: &Keys,
    ) -> Result<Vec<Range<u64>>> {
        let filters = tail.useful_filters(&keys.places, &keys.places, &rows);
        if filters.is_empty() || keys.numbers()?.values.is_empty() {
            return Ok(rows);
        }
        let values = &keys.numbers()?.values;
        let Some(opened) = self.open_filters(segment, &filters).await? else { return Ok(rows) };
        let may_have = |group: usize| {
            let here: Vec<(usize, &BloomFilter)> = filters
                .iter()
                .zip(&opened)
                .filter(|(filter, _)| filter.group() == group)
                .filter_map(|(filter, opened)| Some((keys.columns.iter().position(|place| *place == filter.column())?, opened)))
                .collect();
            let has = |(column, filter): &(usize, &BloomFilter), values: &[Option<Bound>]| {
                values.get(*column).and_then(Option::as_ref).is_none_or(|value| filter.may_have(value))
            };
            values.iter().any(|values| here.iter().all(|filter| has(filter, values)))
        };
        let groups: Vec<Range<u64>> = tail.row_group_bounds(0).into_iter().map(|(rows, _)| rows).collect();
        let group_of = |rows: &Range<u64>| groups.iter().position(|group| group == rows);
        Ok(rows.into_iter().filter(|rows| group_of(rows).is_none_or(may_have)).collect())
    }
}
