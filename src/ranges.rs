//! Ascending ranges of rows.

use std::ops::Range;

use crate::error::{Error, Result};

/// Joins ascending ranges that touch each other, and drops empty ones.
pub(crate) fn joined(ranges: impl IntoIterator<Item = Range<u64>>) -> Vec<Range<u64>> {
    let mut all: Vec<Range<u64>> = Vec::new();
    for range in ranges.into_iter().filter(|range| range.start < range.end) {
        match all.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => all.push(range),
        }
    }
    all
}

/// Checks that ranges ascend and lie within `0..len`.
///
/// # Errors
/// - `Invalid`: a range ends outside, or before the range in front of it.
pub(crate) fn check_ranges(rows: &[Range<u64>], len: u64) -> Result<()> {
    let mut before = 0;
    for range in rows {
        if range.start < before || range.end < range.start || range.end > len {
            return Err(Error::invalid(format!(
                "rows {}..{}: expected ranges in ascending order within 0..{len}",
                range.start, range.end
            )));
        }
        before = range.end;
    }
    Ok(())
}
