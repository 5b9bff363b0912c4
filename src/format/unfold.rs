//! How far a Parquet file unfolds, asked before a page of it is decoded (`format-spec/segment.md#unfolding`).
//!
//! A page header claims how many bytes its page has when decompressed, and the Parquet reader makes room for as many; few bytes
//! can claim, or truly hold, gigabytes. The headers are read here as far as they say so, and nothing else of them. So is the
//! footer: it can claim a list of two thousand million booleans, which the reader would count one by one.

use crate::error::{Error, Result};

/// What all pages of a file may have in any case, and what they may have for each byte of the file.
const FLOOR: u64 = 32 << 20;
const RATIO: u64 = 64;
/// An encoding in which a few bytes repeat a long value any number of times.
const DELTA_BYTE_ARRAY: u64 = 7;
/// Structs and lists within one another.
const MAX_DEPTH: usize = 16;

/// Adds up the decompressed bytes of the pages of a file, column by column.
pub(super) struct Unfolding {
    left: u64,
}

impl Unfolding {
    /// Of a file of so many bytes.
    pub(super) fn of(size: u64) -> Self {
        Self { left: RATIO.saturating_mul(size).saturating_add(FLOOR) }
    }

    /// Counts the pages in the bytes of one column of one row group.
    ///
    /// # Errors
    /// `Corrupt` where the pages do not fill the bytes, or unfold too far; `Unsupported` for an encoding that no reader can bound.
    pub(super) fn column(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let mut header = Struct { rest: bytes, uncompressed: None, compressed: None, delta: false };
            let parsed = header.fields(Place::Page, 0);
            let page = parsed.and_then(|()| Some((header.uncompressed?, usize::try_from(header.compressed?).ok()?)));
            let after = page.and_then(|(uncompressed, compressed)| Some((uncompressed, header.rest.get(compressed..)?)));
            let Some((uncompressed, after)) = after else { return Err(Error::corrupt("a page that does not lie in its column")) };
            if header.delta {
                return Err(Error::unsupported("a page in the encoding DELTA_BYTE_ARRAY"));
            }
            self.left = self.left.checked_sub(uncompressed).ok_or_else(|| {
                Error::corrupt(format!("pages of more than {FLOOR} bytes and {RATIO} for each byte of the file"))
            })?;
            bytes = after;
        }
        Ok(())
    }
}

/// Reads the footer of a file as far as its lists go: each has as many bytes as elements, at least.
///
/// # Errors
/// `Corrupt` where one has not, or is a list of booleans, for which readers differ in whether an element has a byte.
pub(super) fn check_footer(file: &[u8]) -> Result<()> {
    if !file.ends_with(b"PAR1") {
        // Another format, or encrypted: the reader says which.
        return Ok(());
    }
    let footer = file.split_last_chunk::<8>().and_then(|(before, tail)| {
        let len = u32::from_le_bytes(*tail.first_chunk()?);
        before.get(before.len().checked_sub(usize::try_from(len).ok()?)?..)
    });
    let parsed = footer
        .and_then(|footer| Struct { rest: footer, uncompressed: None, compressed: None, delta: false }.fields(Place::Other, 0));
    parsed.ok_or_else(|| Error::corrupt("a footer that is no structure of Parquet"))
}

/// Where a struct of a page header stands, which says what its fields mean.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Page,
    /// The header of a data or dictionary page; the number of its field `encoding`.
    Kind(u64),
    Other,
}

/// A page header or a footer in Thrift's compact protocol.
struct Struct<'a> {
    rest: &'a [u8],
    uncompressed: Option<u64>,
    compressed: Option<u64>,
    delta: bool,
}

impl Struct<'_> {
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

    /// The fields of a struct up to its end.
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
                    // A negative size is refused with those that do not fit.
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
                self.elements(head & 0xf, count, depth)
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
        // The protocol gives a bool in a list a byte, the Parquet reader none: the two must not see different things.
        (kind > 2 && depth < MAX_DEPTH).then_some(())?;
        (0..count).try_for_each(|_| self.value(kind, Place::Other, 0, depth + 1))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "tests may panic")]
mod tests {
    use super::*;

    /// A data page that claims these sizes, in this encoding, with so many bytes behind its header.
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
        // Field 1: a list of 2^31 - 1 booleans, alone and within a struct of a list; one of as many structs.
        let booleans = [0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 0x07];
        assert!(check_footer(&file(&[&booleans[..], &[0]].concat())).is_err());
        assert!(check_footer(&file(&[&[0x19, 0x1c][..], &booleans, &[0, 0]].concat())).is_err());
        assert!(check_footer(&file(&[0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0, 0, 0])).is_err());
        // In a page header too.
        let with_list = [&booleans[..], &page(100, 10, 0, 10)].concat();
        assert!(Unfolding::of(1000).column(&with_list).is_err());
        // A length of the footer that the file does not have.
        assert!(check_footer(&[&u32::MAX.to_le_bytes()[..], b"PAR1"].concat()).is_err());
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
