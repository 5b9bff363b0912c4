//! Lists of rows: several rows of a source that belong to one row of its base are read as one list. Follows
//! `format-spec/views.md#lists`.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, LargeListArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::Field;

use crate::error::{Error, Result};

/// The lists of a table. The first row of a list identifies the list.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::table) struct Lists {
    /// A pair for each row in a list: the first row of the list, and the row. The pairs are ascending.
    members: Vec<(u64, u64)>,
}

impl Lists {
    /// Creates the lists of a table: row r is in the list that begins with row `firsts[r]`, or in no list.
    pub(in crate::table) fn new(firsts: &[Option<u64>]) -> Self {
        let rows = firsts.iter().zip(0_u64..).filter_map(|(first, row)| first.map(|first| (first, row)));
        let mut members: Vec<(u64, u64)> = rows.collect();
        members.sort_unstable();
        Self { members }
    }

    /// Returns the rows of the list that begins with `first`, in ascending order.
    pub(in crate::table) fn rows(&self, first: u64) -> impl ExactSizeIterator<Item = u64> {
        let start = self.members.partition_point(|(other, _)| *other < first);
        let end = self.members.partition_point(|(other, _)| *other <= first);
        self.members.get(start..end).unwrap_or_default().iter().map(|(_, row)| *row)
    }

    /// Returns the first of `rows` that is not the first row of a list. A row of −1 means that there is no row, and is skipped.
    pub(in crate::table) fn first_stranger(&self, rows: &[i64]) -> Option<i64> {
        let begins = |row: u64| self.members.binary_search(&(row, row)).is_ok();
        rows.iter().copied().find(|row| u64::try_from(*row).is_ok_and(|row| !begins(row)))
    }

    /// Returns the rows of the lists that begin with `firsts`, one list after another.
    pub(in crate::table) fn rows_of(&self, firsts: &[Option<u64>]) -> Vec<Option<u64>> {
        firsts.iter().flatten().flat_map(|first| self.rows(*first)).map(Some).collect()
    }

    /// Cuts `values`, the values at the rows of [`Lists::rows_of`], into one list for each of `firsts`. The list is null if there
    /// is no row.
    pub(in crate::table) fn arrays(&self, firsts: &[Option<u64>], values: ArrayRef) -> Result<ArrayRef> {
        let lengths = firsts.iter().map(|first| first.map_or(0, |first| self.rows(first).len()));
        let nulls: NullBuffer = firsts.iter().map(Option::is_some).collect();
        let field = Arc::new(Field::new("item", values.data_type().clone(), true));
        let lists = LargeListArray::try_new(field, OffsetBuffer::from_lengths(lengths), values, Some(nulls));
        Ok(Arc::new(lists.map_err(|error| Error::internal(format!("lists of rows: {error}")))?))
    }

    /// Returns for each row of a table of `rows` rows the first row of its list, or `None` if the row is in no list.
    #[cfg(feature = "frame")]
    pub(in crate::table) fn firsts(&self, rows: u64) -> Vec<Option<u64>> {
        let mut firsts = vec![None; usize::try_from(rows).unwrap_or_default()];
        for (first, row) in &self.members {
            if let Some(slot) = usize::try_from(*row).ok().and_then(|row| firsts.get_mut(row)) {
                *slot = Some(*first);
            }
        }
        firsts
    }
}
