//! Checksums of the pages and the bloom filters of an index segment, computed while the segment is written. Follows
//! `format-spec/tails.md#page-checksums` and `format-spec/tails.md#bloom-filters`.
//!
//! The Parquet writer does not say where pages end, so this file keeps the bytes of a row group until the row group is complete,
//! and finds its pages by their headers.

use std::io::Write;

use parquet::arrow::ArrowWriter;
use twox_hash::XxHash3_64;

use super::{bloom_filter::place_of, unfold::page_lengths};
use crate::error::{Error, Result};

/// Key of the page checksums in the file metadata of an index segment.
pub(super) const PAGES_KEY: &str = "tetrys.pages";

/// Computes the checksum of the page, or of the bloom filter, that begins at `offset` in its object.
pub(super) fn page_sum(offset: u64, page: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(offset, page)
}

/// An output that also keeps the bytes after the last complete row group.
pub(super) struct Kept<W> {
    out: W,
    /// Offset of the first byte of `bytes` in the object.
    start: u64,
    bytes: Option<Vec<u8>>,
}

impl<W: Write> Kept<W> {
    /// Creates an output that keeps bytes if `keeps`.
    pub(super) fn new(out: W, keeps: bool) -> Self {
        Self { out, start: 0, bytes: keeps.then(Vec::new) }
    }

    /// Returns the output and the bytes after the last complete row group.
    pub(super) fn into_parts(self) -> (W, Option<Vec<u8>>) {
        (self.out, self.bytes)
    }
}

impl<W: Write> Write for Kept<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.out.write(bytes)?;
        if let Some(kept) = &mut self.bytes {
            kept.extend_from_slice(bytes.get(..written).unwrap_or_default());
        }
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

/// The checksums of the pages and bloom filters so far, in the order of row groups, columns and pages.
#[derive(Default)]
pub(super) struct PageSums {
    row_groups: usize,
    pages: Vec<u8>,
    filters: Vec<u8>,
}

impl PageSums {
    /// Adds the pages and bloom filters of the row groups that `writer` has completed since the last call.
    ///
    /// # Errors
    /// - `Unavailable`: the output cannot be written.
    pub(super) fn add<W: Write + Send>(&mut self, writer: &mut ArrowWriter<Kept<W>>) -> Result<()> {
        let columns = writer.flushed_row_groups().iter().skip(self.row_groups).flat_map(|group| group.columns());
        let filters: Vec<(u64, u64)> = columns.clone().filter_map(place_of).collect();
        let columns: Vec<(u64, u64)> = columns.map(|column| column.byte_range()).collect();
        if columns.is_empty() {
            return Ok(());
        }
        self.row_groups = writer.flushed_row_groups().len();
        writer.sync().map_err(|error| Error::from(error).at("writing a segment"))?;
        let kept = writer.inner_mut();
        let last = columns.iter().chain(&filters).map(|(offset, len)| offset + len).max();
        let (Some(bytes), Some(end)) = (&mut kept.bytes, last) else { return Ok(()) };
        let place = |offset: u64| usize::try_from(offset.checked_sub(kept.start)?).ok();
        let lost = || Error::internal("the Parquet writer did not write a column that it has completed");
        let stored = |(offset, len): (u64, u64)| {
            let range = place(offset).zip(place(offset + len)).and_then(|(start, end)| bytes.get(start..end));
            range.map(|bytes| (offset, bytes)).ok_or_else(lost)
        };
        for column in columns {
            let (mut offset, mut rest) = stored(column)?;
            for len in page_lengths(rest)? {
                let (page, after) = rest.split_at_checked(len).ok_or_else(lost)?;
                self.pages.extend(page_sum(offset, page).to_le_bytes());
                (rest, offset) = (after, offset + len as u64);
            }
        }
        for filter in filters {
            let (offset, filter) = stored(filter)?;
            self.filters.extend(page_sum(offset, filter).to_le_bytes());
        }
        bytes.drain(..place(end).ok_or_else(lost)?.min(bytes.len()));
        kept.start = end;
        Ok(())
    }

    /// Returns the checksums of the pages as lower-case hexadecimal text.
    pub(super) fn pages_to_hex(&self) -> String {
        hex_of(&self.pages)
    }

    /// Returns the checksums of the bloom filters as lower-case hexadecimal text; `None` if there are no filters.
    pub(super) fn filters_to_hex(&self) -> Option<String> {
        (!self.filters.is_empty()).then(|| hex_of(&self.filters))
    }
}

/// Returns bytes as lower-case hexadecimal text.
pub(super) fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Parses lower-case hexadecimal text; `None` for any other text.
pub(super) fn bytes_of_hex(hex: &str) -> Option<Vec<u8>> {
    let digit = |digit: &u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let (pairs, odd) = hex.as_bytes().as_chunks::<2>();
    let bytes = pairs.iter().map(|[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect::<Option<Vec<u8>>>();
    bytes.filter(|_| odd.is_empty())
}
