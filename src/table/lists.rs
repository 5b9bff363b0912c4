//! Rows of a table that belong to one row of another: they are read as lists. Follows `format-spec/views.md#lists`.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, LargeListArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::Field;

use crate::error::{Error, Result};

/// Rows of a table that belong together, found by the first of them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Lists {
    /// First row of the list and row, rising.
    members: Vec<(u64, u64)>,
}

impl Lists {
    /// The lists of a table in which row r is in that of `firsts[r]`.
    pub(super) fn new(firsts: &[Option<u64>]) -> Self {
        let rows = firsts.iter().zip(0_u64..).filter_map(|(first, row)| first.map(|first| (first, row)));
        let mut members: Vec<(u64, u64)> = rows.collect();
        members.sort_unstable();
        Self { members }
    }

    /// The rows of the list that begins with `first`, rising.
    pub(super) fn rows(&self, first: u64) -> impl ExactSizeIterator<Item = u64> {
        let start = self.members.partition_point(|(other, _)| *other < first);
        let end = self.members.partition_point(|(other, _)| *other <= first);
        self.members.get(start..end).unwrap_or_default().iter().map(|(_, row)| *row)
    }

    /// The first of these rows that begins no list; −1 stands for no row.
    pub(super) fn first_stranger(&self, rows: &[i64]) -> Option<i64> {
        let begins = |row: u64| self.members.binary_search(&(row, row)).is_ok();
        rows.iter().copied().find(|row| u64::try_from(*row).is_ok_and(|row| !begins(row)))
    }

    /// The rows of the lists that these rows begin, one list behind the other.
    pub(super) fn rows_of(&self, firsts: &[Option<u64>]) -> Vec<Option<u64>> {
        firsts.iter().flatten().flat_map(|first| self.rows(*first)).map(Some).collect()
    }

    /// The values of [`Lists::rows_of`] as one list for each of these rows, null where there is none.
    pub(super) fn arrays(&self, firsts: &[Option<u64>], values: ArrayRef) -> Result<ArrayRef> {
        let lengths = firsts.iter().map(|first| first.map_or(0, |first| self.rows(first).len()));
        let nulls: NullBuffer = firsts.iter().map(Option::is_some).collect();
        let field = Arc::new(Field::new("item", values.data_type().clone(), true));
        let lists = LargeListArray::try_new(field, OffsetBuffer::from_lengths(lengths), values, Some(nulls));
        Ok(Arc::new(lists.map_err(|error| Error::internal(format!("lists of rows: {error}")))?))
    }

    /// The first row of the list of each of `rows` rows.
    #[cfg(feature = "frame")]
    pub(super) fn firsts(&self, rows: u64) -> Vec<Option<u64>> {
        let mut firsts = vec![None; usize::try_from(rows).unwrap_or_default()];
        for (first, row) in &self.members {
            if let Some(slot) = usize::try_from(*row).ok().and_then(|row| firsts.get_mut(row)) {
                *slot = Some(*first);
            }
        }
        firsts
    }
}
