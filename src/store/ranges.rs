//! Byte ranges, their checks, and their split into parallel parts. Pure functions.
//!
//! A stored length is a claim. The range is checked against the length that the caller knows, the answer is checked against the
//! range, and a long range is split into parts of equal length that are fetched in parallel.

use std::ops::Range;
use std::sync::Arc;

use super::failure;
use crate::{Error, Result, error::counted};

/// Maximum length of a range in bytes. A longer range is refused before memory is allocated.
pub const MAX_RANGE: u64 = 4 << 30;

/// A range longer than this many bytes is fetched in parallel parts.
pub const SPLIT_ABOVE: u64 = 12 << 20;

/// Maximum length of a part of a split range in bytes.
const PART: u64 = 12 << 20;

/// The limits of a reader as pairs of name and limit. The command `tetrys limits` prints them.
pub const READ_LIMITS: [(&str, &str); 12] = [
    ("bytes of one range", "4 GiB; a longer range is refused before memory is allocated"),
    ("bytes of one request", "12 MiB; a longer range is fetched in parallel parts of about that size"),
    ("concurrent requests of one call", "64"),
    (
        "concurrent requests of one store",
        "256; 64 at first, halved when the store answers 429 or 503, growing with every success",
    ),
    (
        "idle timeout of one attempt",
        "15 s for a read, 30 s for a write (option read_timeout); an upload gets one more second per 32 KiB",
    ),
    (
        "attempts of a request",
        "as many as fit into 2 minutes, with backoff; a read without progress 1 minute (retry_timeout, max_retries)",
    ),
    ("length of an answer", "exactly the requested length: any other length is an error and allocates no more memory"),
    (
        "bytes of the cache on disk",
        "no cache unless the option cache names a folder; then 10 GiB (option cache_size), each file rounded up to 4 KiB",
    ),
    ("bytes of the cache in memory", "none; with a cache on disk 64 MiB (option cache_memory), for ranges up to 256 KiB"),
    (
        "memory of dropped results that a process keeps for later reads",
        "what results took at a time in the last seconds, less what they take now; or up to 256 MiB more (TETRYS_BUFFERS sets a bound)",
    ),
    ("decoded blocks of small rows in the cache of a row loader", "64 MiB (`keep` of the loader)"),
    ("rows of a window", "16,777,216"),
];

/// Returns the number of requests for a range of `bytes` bytes.
pub fn range_parts(bytes: u64) -> usize {
    let parts = if bytes > SPLIT_ABOVE { bytes.div_ceil(PART) } else { bytes.min(1) };
    usize::try_from(parts).unwrap_or(usize::MAX)
}

/// A byte range of an object of known size.
///
/// ```
/// let request = tetrys::store::RangeRequest::new("chunks/9f/9f2c", 4096, 1024..2048);
/// assert_eq!(request.bytes(), 1024);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RangeRequest {
    /// Name of the object.
    pub name: Arc<str>,
    /// Known size of the object in bytes. A shorter object is corrupt.
    pub object_bytes: u64,
    /// Byte range.
    pub range: Range<u64>,
}

impl RangeRequest {
    /// Creates a request for `range` of the object `name`, which has `object_bytes` bytes.
    pub fn new(name: impl Into<Arc<str>>, object_bytes: u64, range: Range<u64>) -> Self {
        Self { name: name.into(), object_bytes, range }
    }

    /// Returns the length of the range in bytes.
    pub fn bytes(&self) -> u64 {
        self.range.end.saturating_sub(self.range.start)
    }

    /// Checks that `start <= end <= object_bytes` and that the range has at most [`MAX_RANGE`] bytes.
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

    /// Returns the parts of the range, each for one request: none if the range is empty, the range itself if it is short.
    pub(super) fn parts(&self) -> impl Iterator<Item = Range<u64>> + use<> {
        let Range { start, end } = self.range;
        let bytes = self.bytes();
        let count = range_parts(bytes) as u64;
        let part = if count == 0 { 0 } else { bytes.div_ceil(count) };
        (0..count).map(move |i| start + i * part..(start + (i + 1) * part).min(end))
    }

    /// Creates the error for an object that has only `found` bytes.
    pub(super) fn short_object(&self, url: &str, found: u64) -> Error {
        let Range { start, end } = self.range;
        failure::length(&self.name, url, &format!("the object is short (range {start}..{end})"), self.object_bytes, found)
    }

    /// Creates the error for an answer to `part` that has `found` bytes (or more).
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
