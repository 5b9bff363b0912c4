//! Bounds the decompressed size of a Parquet file before any page is decoded. Follows `format-spec/segment.md#unfolding`.
//!
//! A page header claims the decompressed size of its page, and the Parquet reader allocates that much. A few bytes can claim, or
//! really hold, gigabytes. So this module parses the page headers for their sizes and encodings, and ignores their other fields.
//! It also parses the footer: a footer can claim a list of two billion booleans, which the Parquet reader would iterate over.

use crate::error::{Error, Result};

/// Decompressed bytes that the pages of any file may have, and additional ones per byte of the file.
const FLOOR: u64 = 32 << 20;
const RATIO: u64 = 64;
/// Code of an encoding in which a few bytes can repeat a long value any number of times.
const DELTA_BYTE_ARRAY: u64 = 7;
/// Maximum nesting of structs and lists.
const MAX_DEPTH: usize = 16;

/// Sums the decompressed bytes of the pages of a file, column by column.
pub(super) struct Unfolding {
    left: u64,
}

impl Unfolding {
    /// Creates the sum for a file of `size` bytes.
    pub(super) fn of(size: u64) -> Self {
        Self { left: RATIO.saturating_mul(size).saturating_add(FLOOR) }
    }

    /// Adds the pages of one column of one row group; `bytes` are the stored bytes of that column.
    ///
    /// # Errors
    /// - `Corrupt`: the pages do not fill the bytes, or their decompressed size is too large.
    /// - `Unsupported`: a page has an encoding whose decoded size cannot be bounded.
    pub(super) fn column(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let (header, after) = first_page(bytes)?;
            if header.delta {
                return Err(Error::unsupported("a page has the encoding DELTA_BYTE_ARRAY, whose decoded size cannot be bounded"));
            }
            self.left = self.left.checked_sub(header.uncompressed.unwrap_or(0)).ok_or_else(|| {
                Error::corrupt(format!("pages of more than {FLOOR} decompressed bytes plus {RATIO} per byte of the file"))
            })?;
            bytes = after;
        }
        Ok(())
    }
}

/// Parses the header of the first page of a column. Returns the header and the bytes after the page.
fn first_page(bytes: &[u8]) -> Result<(Struct<'_>, &[u8])> {
    let mut header = Struct::of(bytes);
    let parsed = header.fields(Place::Page, 0);
    let after = parsed.and_then(|()| {
        header.uncompressed?;
        header.rest.get(usize::try_from(header.compressed?).ok()?..)
    });
    after.map(|after| (header, after)).ok_or_else(|| Error::corrupt("a page does not fit its column"))
}

/// Returns the stored length of each page of a column of one row group, with its header. `bytes` are the stored bytes of the column.
///
/// # Errors
/// - `Corrupt`: the pages do not fill the bytes.
pub(super) fn page_lengths(mut bytes: &[u8]) -> Result<Vec<usize>> {
    let mut lengths = Vec::new();
    while !bytes.is_empty() {
        let (_, after) = first_page(bytes)?;
        lengths.push(bytes.len() - after.len());
        bytes = after;
    }
    Ok(lengths)
}

/// Checks that every list of a column index or an offset index has at least one byte per element.
///
/// # Errors
/// - `Corrupt`: the bytes are not one structure, or a list claims more elements than bytes follow it.
pub(super) fn check_page_index(index: &[u8]) -> Result<()> {
    let mut parsed = Struct::of(index);
    match parsed.fields(Place::Index, 0) {
        Some(()) if parsed.rest.is_empty() => Ok(()),
        _ => Err(Error::corrupt("a page index is not valid")),
    }
}

/// Parses the footer of a file and checks that every list has at least one byte per element.
///
/// # Errors
/// - `Corrupt`: a list claims more elements than the footer has bytes, or is a list of booleans. Readers differ in whether a
///   boolean of a list takes a byte.
pub(super) fn check_footer(file: &[u8]) -> Result<()> {
    if !file.ends_with(b"PAR1") {
        // Another format, or encrypted: the Parquet reader reports that.
        return Ok(());
    }
    let footer = file.split_last_chunk::<8>().and_then(|(before, tail)| {
        let len = u32::from_le_bytes(*tail.first_chunk()?);
        before.get(before.len().checked_sub(usize::try_from(len).ok()?)?..)
    });
    let parsed = footer.and_then(|footer| Struct::of(footer).fields(Place::Other, 0));
    parsed.ok_or_else(|| Error::corrupt("the footer is not a valid Parquet footer"))
}

/// The kind of a struct, which determines the meaning of its fields.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Page,
    /// The header of a data or dictionary page, with the number of its field `encoding`.
    Kind(u64),
    /// A column index or an offset index. A boolean of its lists takes one byte, in all readers.
    Index,
    Other,
}

/// A page header or a footer in Thrift's compact protocol.
struct Struct<'a> {
    rest: &'a [u8],
    uncompressed: Option<u64>,
    compressed: Option<u64>,
    delta: bool,
}

impl<'a> Struct<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, uncompressed: None, compressed: None, delta: false }
    }

    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(byte)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn skip(&mut self, bytes: u64) -> Option<()> {
        self.rest = self.rest.get(usize::try_from(bytes).ok()?..)?;
        Some(())
    }

    /// Parses the fields of a struct up to its end.
    fn fields(&mut self, place: Place, depth: usize) -> Option<()> {
        let mut field = 0_u64;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(());
            }
            field = match head >> 4 {
                0 => self.varint().map(|zigzag| zigzag >> 1)?,
                delta => field.checked_add(u64::from(delta))?,
            };
            self.value(head & 0xf, place, field, depth)?;
        }
    }

    fn value(&mut self, kind: u8, place: Place, field: u64, depth: usize) -> Option<()> {
        match kind {
            1 | 2 => Some(()),
            3 => self.skip(1),
            4..=6 => {
                let zigzag = self.varint()?;
                match place {
                    // A negative size counts as missing, and `column` refuses a page without sizes.
                    Place::Page if field == 2 => {
                        self.uncompressed = Some(zigzag).filter(|zigzag| zigzag & 1 == 0).map(|even| even >> 1)
                    }
                    Place::Page if field == 3 => {
                        self.compressed = Some(zigzag).filter(|zigzag| zigzag & 1 == 0).map(|even| even >> 1)
                    }
                    Place::Kind(encoding) if field == encoding => self.delta |= zigzag >> 1 == DELTA_BYTE_ARRAY,
                    _ => {}
                }
                Some(())
            }
            7 => self.skip(8),
            8 => {
                let len = self.varint()?;
                self.skip(len)
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                match head & 0xf {
                    1 | 2 if place == Place::Index => self.skip(count),
                    kind => self.elements(kind, count, depth),
                }
            }
            12 if depth < MAX_DEPTH => {
                let inner = match (place, field) {
                    (Place::Page, 5 | 7) => Place::Kind(2),
                    (Place::Page, 8) => Place::Kind(4),
                    _ => Place::Other,
                };
                self.fields(inner, depth + 1)
            }
            _ => None,
        }
    }

    fn elements(&mut self, kind: u8, count: u64, depth: usize) -> Option<()> {
        // In the protocol a bool in a list takes one byte; the Parquet reader reads none. The two must not see different data.
        (kind > 2 && depth < MAX_DEPTH).then_some(())?;
        (0..count).try_for_each(|_| self.value(kind, Place::Other, 0, depth + 1))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "tests may panic")]
mod tests {
    use super::*;

    /// Returns a data page whose header claims these sizes and this encoding, with `behind` bytes after the header.
    fn page(uncompressed: u32, compressed: u32, encoding: u8, behind: usize) -> Vec<u8> {
        let varint = |value: u32| {
            let mut left = u64::from(value) << 1;
            let mut bytes = Vec::new();
            while left >= 0x80 {
                bytes.push(left as u8 | 0x80);
                left >>= 7;
            }
            bytes.push(left as u8);
            bytes
        };
        let mut page = vec![0x15, 0, 0x15];
        page.extend(varint(uncompressed));
        page.push(0x15);
        page.extend(varint(compressed));
        page.extend([0x2c, 0x15, 2, 0x15, encoding << 1, 0x15, 6, 0x15, 6, 0x1c, 0x18, 2, 1, 2, 0, 0, 0]);
        page.resize(page.len() + behind, 7);
        page
    }

    #[test]
    fn pages_are_counted_one_behind_the_other() {
        let bytes = [page(100, 10, 0, 10), page(FLOOR as u32, 3, 8, 3)].concat();
        assert!(Unfolding::of(1000).column(&bytes).is_ok());
        assert!(Unfolding::of(1).column(&bytes).unwrap_err().to_string().contains("pages of more than"));
        for len in (1..bytes.len()).filter(|len| *len != page(100, 10, 0, 10).len()) {
            assert!(Unfolding::of(1000).column(&bytes[..len]).is_err(), "{len}");
        }
        assert!(Unfolding::of(1000).column(&page(100, 10, 7, 10)).unwrap_err().to_string().contains("DELTA_BYTE_ARRAY"));
        assert!(Unfolding::of(1000).column(&page(u32::MAX >> 1, 10, 0, 10)).is_err());
    }

    #[test]
    fn a_list_without_bytes_is_refused_wherever_it_stands() {
        let file = |footer: &[u8]| [b"PAR1", footer, &(footer.len() as u32).to_le_bytes(), b"PAR1"].concat();
        let sound = [0x15, 2, 0x19, 0x1c, 0x15, 8, 0, 0];
        assert!(check_footer(&file(&sound)).is_ok());
        for cut in 0..sound.len() {
            assert!(check_footer(&file(&sound[..cut])).is_err(), "{cut}");
        }
        // Field 1: a list of 2^31 - 1 booleans, alone and within a struct in a list; then a list of 2^31 - 1 structs.
        let booleans = [0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 0x07];
        assert!(check_footer(&file(&[&booleans[..], &[0]].concat())).is_err());
        assert!(check_footer(&file(&[&[0x19, 0x1c][..], &booleans, &[0, 0]].concat())).is_err());
        assert!(check_footer(&file(&[0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0, 0, 0])).is_err());
        // The same list in a page header.
        let with_list = [&booleans[..], &page(100, 10, 0, 10)].concat();
        assert!(Unfolding::of(1000).column(&with_list).is_err());
        // A footer length that exceeds the file.
        assert!(check_footer(&[&u32::MAX.to_le_bytes()[..], b"PAR1"].concat()).is_err());
    }

    #[test]
    fn the_lists_of_a_page_index_have_a_byte_for_each_element() {
        // A list of three booleans, a list of two texts, an integer.
        let sound = [0x19, 0x32, 1, 2, 1, 0x19, 0x28, 1, 7, 0, 0x15, 2, 0];
        assert!(check_page_index(&sound).is_ok());
        for cut in 0..sound.len() {
            assert!(check_page_index(&sound[..cut]).is_err(), "{cut}");
        }
        assert!(check_page_index(&[&sound[..], &[0]].concat()).is_err());
        for kind in [0x1, 0x2, 0x5, 0x8, 0xc] {
            assert!(check_page_index(&[0x19, 0xf0 | kind, 0xff, 0xff, 0xff, 0xff, 0x07, 0, 0]).is_err(), "{kind}");
        }
    }

    #[test]
    fn pages_have_the_lengths_of_their_headers_and_bytes() {
        let pages = [page(100, 10, 0, 10), page(7, 3, 8, 3)];
        assert_eq!(page_lengths(&pages.concat()).unwrap(), [pages[0].len(), pages[1].len()]);
        assert!(page_lengths(&pages.concat()[..pages[0].len() + 3]).is_err());
    }

    #[test]
    fn any_byte_in_a_header_gives_an_answer() {
        let bytes = page(100, 10, 0, 10);
        for place in 0..bytes.len() {
            for value in 0..=255 {
                let mut changed = bytes.clone();
                changed[place] = value;
                let _ = Unfolding::of(1000).column(&changed);
            }
        }
    }
}
