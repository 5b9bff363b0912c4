//! The intervals by which L5 records refer to records of another array: `[start, end)`, consecutive without gap or overlap, from
//! the first record to the last. L5Kit assumes this everywhere. This file checks it, so that the table can omit the intervals and
//! restore them.

use std::ops::Range;

use tetrys::error::{Error, Result};

/// Checks the intervals of consecutive records.
pub(super) struct Intervals {
    field: &'static str,
    into: &'static str,
    next: u64,
    len: u64,
}

impl Intervals {
    /// Creates a check of the intervals `field` into the `len` records of the array `into`.
    pub(super) fn new(field: &'static str, into: &'static str, len: u64) -> Self {
        Self { field, into, next: 0, len }
    }

    /// Starts the check in the middle, where the previous interval ended at `next`.
    pub(super) fn resume(mut self, next: u64) -> Self {
        self.next = next;
        self
    }

    /// Returns the interval of the next record, from the 16 bytes of its field. `place` names the record.
    ///
    /// # Errors
    /// - `Corrupt`: the interval is outside of the array, or does not start where the previous one ended.
    pub(super) fn take(&mut self, field: &[u8], place: impl FnOnce() -> String) -> Result<Range<u64>> {
        let (start, end) = (i64_at(field, 0), i64_at(field, 8));
        let corrupt = |expected: String| {
            Err(Error::corrupt(format!("{}: {}: expected {expected}, found {start}..{end}", place(), self.field)))
        };
        let (Ok(from), Ok(to)) = (u64::try_from(start), u64::try_from(end)) else {
            return corrupt(format!("records of {} inside 0..{}", self.into, self.len));
        };
        if from > to || to > self.len {
            return corrupt(format!("records of {} inside 0..{}", self.into, self.len));
        }
        if from != self.next {
            let fault = if from > self.next { "gap" } else { "overlap" };
            return corrupt(format!("a start at {} where the record before ends ({fault})", self.next));
        }
        self.next = to;
        Ok(from..to)
    }

    /// Ends the check: the last interval must end at the end of the array.
    ///
    /// # Errors
    /// - `Corrupt`: some records belong to no interval.
    pub(super) fn finish(self, place: impl FnOnce() -> String) -> Result<()> {
        if self.next == self.len {
            return Ok(());
        }
        Err(Error::corrupt(format!(
            "{}: {}: expected the last record to end at {}, the length of {}, found {} (gap)",
            place(),
            self.field,
            self.len,
            self.into,
            self.next
        )))
    }
}

/// Reads a little-endian i64 at `at`.
pub(super) fn i64_at(bytes: &[u8], at: usize) -> i64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    i64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(intervals: &[(i64, i64)], len: u64) -> Result<()> {
        let mut check = Intervals::new("agent_index_interval", "agents", len);
        for (record, (start, end)) in intervals.iter().enumerate() {
            let bytes = [start.to_le_bytes(), end.to_le_bytes()].concat();
            check.take(&bytes, || format!("array frames, record {record}"))?;
        }
        check.finish(|| "array frames".to_owned())
    }

    #[test]
    fn gaps_overlaps_and_ends_outside_name_the_record() {
        assert!(check(&[(0, 3), (3, 3), (3, 9)], 9).is_ok());
        assert!(check(&[], 0).is_ok());
        let place = "array frames, record 1: agent_index_interval: expected";
        for (intervals, message) in [
            ([(0, 3), (4, 9)], format!("{place} a start at 3 where the record before ends (gap), found 4..9")),
            ([(0, 3), (2, 9)], format!("{place} a start at 3 where the record before ends (overlap), found 2..9")),
            ([(0, 3), (3, 10)], format!("{place} records of agents inside 0..9, found 3..10")),
            ([(0, 3), (3, -1)], format!("{place} records of agents inside 0..9, found 3..-1")),
            ([(0, 3), (3, 2)], format!("{place} records of agents inside 0..9, found 3..2")),
            (
                [(0, 3), (3, 8)],
                "array frames: agent_index_interval: expected the last record to end at 9, the length of agents, found 8 (gap)"
                    .into(),
            ),
        ] {
            assert_eq!(check(&intervals, 9).unwrap_err().to_string(), message);
        }
    }
}
