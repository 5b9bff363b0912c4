//! The result of reading several windows together.

use super::rows::Rows;
use crate::error::{Error, Result};

/// Several windows, one after another in one set of columns.
///
/// With [`Edge::Pad`](crate::Edge::Pad), the default, all windows have the same length w. A column of n windows then has n × w
/// rows, and can be reshaped to `[n, w, ..]` without a copy.
#[derive(Clone, Debug)]
pub struct Windows {
    rows: Rows,
    /// The start of each window, then the end of the last window.
    starts: Vec<usize>,
}

impl Windows {
    pub(in crate::table) fn new(rows: Rows, starts: Vec<usize>) -> Self {
        Self { rows, starts }
    }

    /// Returns the number of windows.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are no windows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the rows of all windows.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Returns the start of each window in [`Windows::rows`], followed by the number of rows.
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// Replaces the columns of the rows; the rows stay.
    pub(crate) fn try_map(self, map: impl FnOnce(&Rows) -> Result<Rows>) -> Result<Self> {
        Ok(Self { rows: map(&self.rows)?, ..self })
    }

    /// Returns some of the windows, without copying values.
    pub(crate) fn slice(&self, windows: std::ops::Range<usize>) -> Self {
        let starts = &self.starts[windows.start..=windows.end];
        let (first, end) = (starts[0], starts[starts.len() - 1]);
        Self { rows: self.rows.slice(first, end - first), starts: starts.iter().map(|start| start - first).collect() }
    }

    /// Copies windows of several results, which have the same columns, into one: window i of the result is window `places[i].1` of
    /// `all[places[i].0]`.
    ///
    /// # Errors
    /// - `Invalid`: the columns differ.
    pub(crate) fn interleave(all: &[&Self], places: &[(usize, usize)]) -> Result<Self> {
        let (mut starts, mut rows) = (vec![0], Vec::new());
        for (number, window) in places {
            let bounds = all.get(*number).and_then(|windows| windows.starts.get(*window..=window + 1));
            let Some(&[start, end]) = bounds else {
                return Err(Error::internal(format!("window {window} of result {number}")));
            };
            rows.extend((start..end).map(|row| (*number, row)));
            starts.push(rows.len());
        }
        Ok(Self { rows: Rows::interleave(&all.iter().map(|windows| &windows.rows).collect::<Vec<_>>(), &rows)?, starts })
    }

    /// Returns the rows of one window, without copying values.
    ///
    /// # Errors
    /// - `Invalid`: there is no window with this number.
    pub fn get(&self, window: usize) -> Result<Rows> {
        match self.starts.get(window..=window.saturating_add(1)) {
            Some(&[start, end]) => Ok(self.rows.slice(start, end - start)),
            _ => Err(Error::invalid(format!("window {window} is outside 0..{}", self.len()))),
        }
    }
}
