//! Ranges asked for and their checks, before and after the store answers. Pure: values in, values out.
//!
//! A stored length is a claim. The range is checked against the length its asker knows, the answer against the range, and
//! long ranges are cut into parts of even length that travel side by side.

use std::ops::Range;
use std::sync::Arc;

use super::failure;
use crate::{Error, Result, error::counted};

/// Longest range of one request, in bytes; a longer one is refused before memory is taken for it.
pub const MAX_RANGE: u64 = 4 << 30;

/// A range longer than this many bytes is fetched in parallel parts.
pub const SPLIT_ABOVE: u64 = 12 << 20;

/// What a part of a split range holds at most, in bytes.
const PART: u64 = 12 << 20;

/// What a reader takes upon itself at most, for people to read; `tetrys limits` prints it.
pub const READ_LIMITS: [(&str, &str); 12] = [
    ("one range, in bytes", "4 GiB; it is refused before memory is taken for it"),
    ("a range in one request", "12 MiB; a longer one goes in parts of about that size, side by side"),
    ("requests on their way, of one call", "64"),
    (
        "requests that wait for an answer, of one store",
        "256; 64 at first, halved where the store says 429 or 503, growing with every success",
    ),
    (
        "silence of a store before it is given up",
        "30 s for the answer to begin and for each next piece of it (option read_timeout); an upload gets a second more for every 32 KiB",
    ),
    ("tries of a request", "16, at growing intervals, within 3 minutes (options max_retries, retry_timeout)"),
    ("an answer", "exactly as long as asked: longer or shorter ones are errors, and no memory is taken beyond it"),
    (
        "bytes kept on this machine",
        "none, unless a cache is named (options cache, cache_size: 10 GiB); all processes together, each file rounded up to 4 KiB",
    ),
    ("answers kept in memory, of one process", "none; beside a cache 64 MiB (option cache_memory), of answers up to 256 KiB"),
    (
        "memory of results that were dropped, kept for the next ones, of one process",
        "twice what results took at a time in the last seconds, less what they take now; 512 MiB at most",
    ),
    ("decoded blocks of small rows kept by a row loader", "64 MiB (`keep` of the loader)"),
    ("rows of a window", "16,777,216"),
];

/// How many requests a range of so many bytes takes.
pub fn range_parts(bytes: u64) -> usize {
    let parts = if bytes > SPLIT_ABOVE { bytes.div_ceil(PART) } else { bytes.min(1) };
    usize::try_from(parts).unwrap_or(usize::MAX)
}

/// Some bytes of an object whose length is known.
///
/// ```
/// let request = tetrys::store::RangeRequest::new("chunks/9f/9f2c", 4096, 1024..2048);
/// assert_eq!(request.bytes(), 1024);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RangeRequest {
    /// The object.
    pub name: Arc<str>,
    /// How many bytes the object is known to hold; a shorter object is corrupt.
    pub object_bytes: u64,
    /// The bytes wanted.
    pub range: Range<u64>,
}

impl RangeRequest {
    /// Bytes `range` of the object `name`, which holds `object_bytes` bytes.
    pub fn new(name: impl Into<Arc<str>>, object_bytes: u64, range: Range<u64>) -> Self {
        Self { name: name.into(), object_bytes, range }
    }

    /// How many bytes are wanted.
    pub fn bytes(&self) -> u64 {
        self.range.end.saturating_sub(self.range.start)
    }

    /// Checks `start <= end <= object_bytes` and that the range is one that may be asked for at once.
    pub(super) fn check(&self, url: &str) -> Result<()> {
        let Range { start, end } = self.range;
        if start > end || end > self.object_bytes {
            return Err(Error::corrupt(format!(
                "{} in {url}: range {start}..{end} is not inside the object's {}",
                self.name,
                counted(self.object_bytes, "byte")
            )));
        }
        if self.bytes() > MAX_RANGE {
            return Err(Error::invalid(format!(
                "{} in {url}: range {start}..{end} has {}; at most {MAX_RANGE} are read at once",
                self.name,
                counted(self.bytes(), "byte")
            )));
        }
        Ok(())
    }

    /// The parts it is fetched in: none if it is empty, itself if it is short.
    pub(super) fn parts(&self) -> impl Iterator<Item = Range<u64>> + use<> {
        let Range { start, end } = self.range;
        let bytes = self.bytes();
        let count = range_parts(bytes) as u64;
        let part = if count == 0 { 0 } else { bytes.div_ceil(count) };
        (0..count).map(move |i| start + i * part..(start + (i + 1) * part).min(end))
    }

    /// The object turned out to hold `found` bytes, too few for what was claimed.
    pub(super) fn short_object(&self, url: &str, found: u64) -> Error {
        let Range { start, end } = self.range;
        failure::length(&self.name, url, &format!("the object is short (range {start}..{end})"), self.object_bytes, found)
    }

    /// The answer to the part `part` held `found` bytes (or more), not what was asked.
    pub(super) fn wrong_answer(&self, url: &str, part: &Range<u64>, found: u64) -> Error {
        failure::length(&self.name, url, &format!("answer to range {}..{}", part.start, part.end), part.end - part.start, found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn parts(range: Range<u64>) -> Vec<Range<u64>> {
        RangeRequest::new("a", u64::MAX, range).parts().collect()
    }

    #[test]
    fn parts_tile_the_range_and_are_eight_to_twelve_mib_or_near_it() {
        let mib = 1 << 20;
        assert_eq!(parts(5..5), []);
        let whole = 5..5 + SPLIT_ABOVE;
        assert_eq!(parts(whole.clone()), [whole]);
        for bytes in [SPLIT_ABOVE + 1, 13 * mib, 24 * mib, 24 * mib + 1, 25 * mib, 100 * mib + 7, MAX_RANGE] {
            let parts = parts(7..7 + bytes);
            assert_eq!(parts.first().unwrap().start, 7);
            assert_eq!(parts.last().unwrap().end, 7 + bytes);
            assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert!(parts.iter().all(|part| (6 * mib..=12 * mib).contains(&(part.end - part.start))), "{bytes}: {parts:?}");
        }
    }

    #[test]
    fn ranges_outside_the_object_are_refused() {
        let check = |object, range| RangeRequest::new("a", object, range).check("memory://").map_err(|error| error.kind());
        assert_eq!(check(10, 0..10), Ok(()));
        assert_eq!(check(10, 10..10), Ok(()));
        assert_eq!(check(10, 0..11), Err(ErrorKind::Corrupt));
        assert_eq!(check(10, 11..11), Err(ErrorKind::Corrupt));
        #[expect(clippy::reversed_empty_ranges, reason = "what is refused")]
        let backwards = 6..5;
        assert_eq!(check(10, backwards), Err(ErrorKind::Corrupt));
        assert_eq!(check(u64::MAX, 0..MAX_RANGE + 1), Err(ErrorKind::Invalid));
    }
}
