//! The frame of an index, with the locators of consecutive rows as a range instead of a column.

use std::sync::{Arc, OnceLock};

use polars::prelude::{Column, DataFrame, DataType};

use crate::{
    format::Locator,
    index::{is_locator, locator_column, with_locators},
};

/// A frame of index columns and locator columns.
///
/// If the rows are consecutive rows of one table, as in an index that is not filtered, their locators take no memory. The column
/// is made when a caller needs it.
#[derive(Clone, Debug)]
pub(in crate::table) struct Located {
    /// All columns; without the locator column if `range` has the locators.
    columns: DataFrame,
    range: Option<LocatorRange>,
    /// All columns, with the locator column that was made for a caller who borrows the frame.
    whole: Arc<OnceLock<DataFrame>>,
}

/// The locators of consecutive rows.
#[derive(Clone, Copy, Debug)]
struct LocatorRange {
    tag: u16,
    first: u64,
}

impl Located {
    /// Creates the frame of consecutive rows of one table, from row `first` on. `columns` have no locator column.
    pub(in crate::table) fn of_rows(columns: DataFrame, tag: u16, first: u64) -> Self {
        Self { columns, range: Some(LocatorRange { tag, first }), whole: Arc::default() }
    }

    /// Creates a frame from all its columns. `tag` is the tag of the table if all rows belong to one. Then the last column may
    /// become a range.
    pub(in crate::table) fn new(frame: DataFrame, tag: Option<u16>) -> Self {
        let range = tag.and_then(|tag| Some(LocatorRange { tag, first: first_of_range(&frame, tag)? }));
        let columns = match range {
            // The last column has the locators.
            Some(_) => {
                frame.columns().split_last().and_then(|(_, columns)| DataFrame::new(frame.height(), columns.to_vec()).ok())
            }
            None => None,
        };
        match columns {
            Some(columns) => Self { columns, range, whole: Arc::default() },
            None => Self { columns: frame, range: None, whole: Arc::default() },
        }
    }

    /// Returns the frame with its locator columns. Keeps a locator column that it makes.
    pub(in crate::table) fn borrowed(&self) -> &DataFrame {
        match self.range {
            Some(_) => self.whole.get_or_init(|| self.frame()),
            None => &self.columns,
        }
    }

    /// Returns the frame with its locator columns.
    pub(in crate::table) fn frame(&self) -> DataFrame {
        let Some(range) = self.range else { return self.columns.clone() };
        if let Some(whole) = self.whole.get() {
            return whole.clone();
        }
        let (first, rows) = (range.first.cast_signed(), self.columns.height() as i64);
        // Both constructors know that no other column has the name of the locator column.
        with_locators(&self.columns, range.tag, first..first + rows).unwrap_or_else(|_| self.columns.clone())
    }

    /// Returns the columns in their order, with or without the locator columns.
    pub(in crate::table) fn bare(&self) -> &DataFrame {
        &self.columns
    }

    /// Returns the number of rows.
    pub(in crate::table) fn height(&self) -> usize {
        self.columns.height()
    }

    /// Returns the first row, if the rows are consecutive rows of the only table.
    pub(in crate::table) fn first_row(&self) -> Option<u64> {
        self.range.map(|range| range.first)
    }

    /// Returns up to `rows` consecutive rows, beginning with row `start`. A negative start counts from the end.
    pub(in crate::table) fn slice(&self, start: i64, rows: usize) -> Self {
        let height = i64::try_from(self.height()).unwrap_or(i64::MAX);
        let from = if start < 0 { start.saturating_add(height) } else { start }.clamp(0, height);
        let range = self.range.map(|range| LocatorRange { first: range.first + from.cast_unsigned(), ..range });
        Self { columns: self.columns.slice(start, rows), range, whole: Arc::default() }
    }
}

/// Returns the first row, if the last column has locators of consecutive rows of the table with this tag.
fn first_of_range(frame: &DataFrame, tag: u16) -> Option<u64> {
    let (last, others) = frame.columns().split_last()?;
    let is_one = |column: &Column| column.name().as_str() == locator_column(tag) && *column.dtype() == DataType::Int64;
    if !is_one(last) || others.iter().any(|column| is_locator(column.name())) || last.null_count() > 0 {
        return None;
    }
    let locators = last.as_materialized_series().i64().ok()?;
    let first = locators.iter().next().flatten()?;
    let mut expected = first;
    for chunk in locators.downcast_iter() {
        for locator in chunk.values().iter() {
            if *locator != expected {
                return None;
            }
            expected = expected.checked_add(1)?;
        }
    }
    Locator::from_i64(first).ok().flatten().filter(|locator| locator.tag == tag).map(|locator| locator.row)
}

#[cfg(test)]
mod tests {
    use polars::prelude::df;

    use super::*;

    fn frame(rows: &[i64]) -> DataFrame {
        let locators = rows.iter().map(|row| Locator { tag: 7, row: row.cast_unsigned() }.to_i64()).collect::<Vec<_>>();
        df!("x" => rows, locator_column(7).as_str() => locators).unwrap()
    }

    #[test]
    fn consecutive_rows_of_one_table_have_a_range_and_give_the_same_frame() {
        for (rows, first) in
            [(&[0, 1, 2][..], Some(0)), (&[5, 6], Some(5)), (&[9], Some(9)), (&[1, 0], None), (&[1, 3], None), (&[], None)]
        {
            let (frame, located) = (frame(rows), Located::new(frame(rows), Some(7)));
            assert_eq!(located.first_row(), first, "{rows:?}");
            assert_eq!(located.bare().width(), if first.is_some() { 1 } else { 2 });
            assert!(located.frame().equals(&frame) && located.borrowed().equals(&frame) && located.frame().equals(&frame));
            assert_eq!(Located::new(frame.clone(), None).first_row(), None, "rows of several tables");
            assert_eq!(Located::new(frame, Some(8)).first_row(), None, "another table");
        }
    }

    #[test]
    fn a_slice_of_a_range_is_the_slice_of_its_frame() {
        let whole = frame(&[3, 4, 5, 6]);
        let located = Located::new(whole.clone(), Some(7));
        for start in -6..6 {
            for rows in 0..6 {
                let (slice, expected) = (located.slice(start, rows), whole.slice(start, rows));
                assert!(slice.frame().equals(&expected), "{start} {rows}: {} {expected}", slice.frame());
            }
        }
    }

    #[test]
    fn a_locator_column_that_is_not_the_last_stays_where_it_is() {
        let frame = frame(&[0, 1]).select([locator_column(7).as_str(), "x"]).unwrap();
        let located = Located::new(frame.clone(), Some(7));
        assert!(located.first_row().is_none() && located.frame().equals(&frame));
    }
}
