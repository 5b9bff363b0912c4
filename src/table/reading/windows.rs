//! The windows around several rows, read together.

use super::rows::Rows;
use crate::error::{Error, Result};

/// Several windows, one behind the other in one set of columns.
///
/// With padded edges all have the same length w, so that a column of n windows is an array of n × w rows, ready to be shaped
/// as `[n, w, ..]`.
#[derive(Clone, Debug)]
pub struct Windows {
    rows: Rows,
    /// Where each window starts, and where the last ends.
    starts: Vec<usize>,
}

impl Windows {
    pub(in crate::table) fn new(rows: Rows, starts: Vec<usize>) -> Self {
        Self { rows, starts }
    }

    /// How many windows.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows of all windows.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Where each window starts in [`Windows::rows`], and behind them the number of rows.
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// The rows of one window, a view of the rows of all.
    ///
    /// # Errors
    /// `Invalid` for a window outside.
    pub fn get(&self, window: usize) -> Result<Rows> {
        match self.starts.get(window..=window.saturating_add(1)) {
            Some(&[start, end]) => Ok(self.rows.slice(start, end - start)),
            _ => Err(Error::invalid(format!("window {window} is outside 0..{}", self.len()))),
        }
    }
}
