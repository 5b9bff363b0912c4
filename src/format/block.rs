//! Blocks: a directory, then one self-contained page per column. Follows `format-spec/block.md#directory` and
//! `format-spec/block.md#page`.
//!
//! ```text
//! rows u32 │ pages u32 │ page_len u32 .. │ 0-pad to 8 │ checksum u64     directory
//! structure_len │ stored_len │ values_len │ flags │ structure │ 0-pad │ values │ 0-pad │ checksum     one page per column
//! ```
//! Each page ends with its checksum, so a reader fetches and verifies one column of one block with one byte range.

use std::ops::Range;

use arrow_array::ArrayRef;
use bytes::Bytes;

use super::{
    canonical::{CanonicalPage, Structure},
    checksum::ChunkSeed,
    cursor::{Cursor, pad8},
    page::page_to_array,
};
use crate::{
    codec::Chain,
    error::{Error, Result, counted},
    schema::ColumnType,
};

/// Bytes of a page's header.
const PAGE_HEADER: usize = 16;
/// Bytes of a checksum.
const CHECKSUM: usize = 8;
/// Bytes of the smallest page: one byte of structure, padding, and no values.
pub(super) const MIN_PAGE: usize = PAGE_HEADER + 8 + CHECKSUM;
/// Flag: the values are stored plain although the chunk has a codec chain for the column.
const STORED_PLAIN: u8 = 1;
/// Maximum size of a block in bytes, stored or decoded.
const MAX_BLOCK: usize = 1 << 30;
/// Maximum number of rows of a block.
const MAX_ROWS: u32 = 1 << 20;

/// An encoded page without its checksum. The checksum needs the seed of the chunk, which is known later.
#[derive(Clone, Debug)]
pub struct EncodedPage(Vec<u8>);

impl EncodedPage {
    /// Returns the stored bytes of the page, including the checksum; a multiple of 8.
    pub fn stored_len(&self) -> usize {
        self.0.len() + CHECKSUM
    }

    /// Returns the bytes of the page without the checksum.
    pub fn unsigned(&self) -> &[u8] {
        &self.0
    }

    /// Returns the decoded length of the values in bytes.
    pub fn values_len(&self) -> u64 {
        let length = self.0.get(8..12).and_then(<[u8]>::first_chunk::<4>);
        length.map_or(0, |length| u64::from(u32::from_le_bytes(*length)))
    }

    /// Encodes the page with the chain `to`; `from` is its current chain.
    ///
    /// # Errors
    /// - `Corrupt`: the page is not encoded with `from`.
    pub(crate) fn recoded(&self, from: &Chain, to: &Chain) -> Result<Self> {
        let mut cursor = Cursor::new(&self.0, "page");
        let (structure_len, stored_len, values_len) = (cursor.len32()?, cursor.len32()?, cursor.len32()?);
        let flags = cursor.u32()?;
        let structure = cursor.take(structure_len)?.to_vec();
        cursor.pad8()?;
        let stored = Bytes::copy_from_slice(cursor.take(stored_len)?);
        let chain = if flags == u32::from(STORED_PLAIN) { &Chain::PLAIN } else { from };
        let values = chain.decode(stored, values_len)?.to_vec();
        encode_page(to, &CanonicalPage { structure, values })
    }

    /// Creates a page from the bytes of [`EncodedPage::unsigned`].
    pub fn from_unsigned(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

/// An encoded block without its checksums.
#[derive(Clone, Debug)]
pub struct EncodedBlock {
    /// Number of rows.
    pub rows: u32,
    /// One page for each column of the group.
    pub pages: Vec<EncodedPage>,
}

/// Returns the bytes of the directory of a block with `pages` pages.
pub fn directory_len(pages: usize) -> usize {
    (8 + 4 * pages).next_multiple_of(8) + CHECKSUM
}

/// Encodes a canonical page with the chain of its column. The values are stored plain if encoding does not make them shorter.
///
/// # Errors
/// - `Invalid`: the page exceeds the limits of a block.
pub fn encode_page(chain: &Chain, page: &CanonicalPage) -> Result<EncodedPage> {
    let encoded = if chain.is_plain() { None } else { Some(chain.encode(&page.values)?) };
    let (flags, values) = match &encoded {
        Some(encoded) if encoded.len() < page.values.len() => (0, encoded),
        Some(_) => (STORED_PLAIN, &page.values),
        None => (0, &page.values),
    };
    let over = |what: &str, bytes: usize| {
        Error::invalid(format!("{what} of {} in one page, at most {MAX_BLOCK}", counted(bytes, "byte")))
    };
    let length = |what: &str, bytes: usize| match u32::try_from(bytes) {
        Ok(length) if bytes <= MAX_BLOCK => Ok(length.to_le_bytes()),
        _ => Err(over(what, bytes)),
    };
    let mut out = Vec::with_capacity(PAGE_HEADER + page.structure.len() + values.len() + 3 * 8);
    out.extend(length("structure", page.structure.len())?);
    out.extend(length("values", values.len())?);
    out.extend(length("values", page.values.len())?);
    out.extend([flags, 0, 0, 0]);
    out.extend(&page.structure);
    pad8(&mut out);
    out.extend(values);
    pad8(&mut out);
    Ok(EncodedPage(out))
}

impl EncodedBlock {
    /// Returns the stored bytes of the block; a multiple of 8.
    pub fn stored_len(&self) -> usize {
        directory_len(self.pages.len()) + self.pages.iter().map(EncodedPage::stored_len).sum::<usize>()
    }

    /// Appends the stored block to `out`, as block number `ordinal` of the chunk with this seed.
    ///
    /// # Errors
    /// - `Invalid`: the block exceeds its limits.
    pub fn write(&self, seed: ChunkSeed, ordinal: u32, out: &mut Vec<u8>) -> Result<()> {
        let stored = self.stored_len();
        if stored > MAX_BLOCK || self.rows > MAX_ROWS || self.pages.len() >= usize::from(u16::MAX) {
            return Err(Error::invalid(format!(
                "a block of {}, {}, {}: at most {MAX_BLOCK} bytes, {MAX_ROWS} rows, 65,534 pages",
                counted(stored, "byte"),
                counted(self.rows, "row"),
                counted(self.pages.len(), "page")
            )));
        }
        let start = out.len();
        out.extend(self.rows.to_le_bytes());
        out.extend(u32::try_from(self.pages.len()).unwrap_or(u32::MAX).to_le_bytes());
        for page in &self.pages {
            out.extend(u32::try_from(page.stored_len()).unwrap_or(u32::MAX).to_le_bytes());
        }
        pad8(out);
        let checksum = seed.of_directory(ordinal, out.get(start..).unwrap_or_default());
        out.extend(checksum.to_le_bytes());
        for (number, EncodedPage(page)) in (0_u16..).zip(&self.pages) {
            out.extend(page);
            out.extend(seed.of_page(ordinal, number, page).to_le_bytes());
        }
        Ok(())
    }
}

/// The checked directory of a stored block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockDirectory {
    /// Number of rows of the block.
    pub rows: u32,
    /// Byte range of each page within the block.
    pub pages: Vec<Range<usize>>,
}

impl BlockDirectory {
    /// Parses and checks the directory of a stored block: number `ordinal` of its chunk, in a group with `columns` columns.
    ///
    /// # Errors
    /// - `Corrupt`: the checksum is wrong, the counts are out of bounds, or the pages do not fill the block.
    pub fn parse(block: &[u8], seed: ChunkSeed, ordinal: u32, columns: usize) -> Result<Self> {
        let mut cursor = Cursor::new(block, "block directory");
        let (rows, count) = (cursor.u32()?, cursor.len32()?);
        if count != columns || rows == 0 || rows > MAX_ROWS {
            return Err(Error::corrupt(format!(
                "block directory: {} and {}, expected {} and 1 to {MAX_ROWS} rows",
                counted(count, "page"),
                counted(rows, "row"),
                counted(columns, "page")
            )));
        }
        let mut start = directory_len(columns);
        let mut pages = Vec::with_capacity(columns);
        for _ in 0..count {
            let len = cursor.len32()?;
            let end = start.checked_add(len).filter(|_| len % 8 == 0 && len >= MIN_PAGE);
            let end = end.ok_or_else(|| Error::corrupt(format!("block directory: a page of {}", counted(len, "byte"))))?;
            pages.push(start..end);
            start = end;
        }
        cursor.pad8()?;
        let signed = block.get(..cursor.position()).unwrap_or_default();
        let (expected, found) = (seed.of_directory(ordinal, signed), cursor.u64()?);
        if expected != found {
            return Err(Error::corrupt(format!("block directory: checksum {found:016x}, computed {expected:016x}")));
        }
        if start != block.len() {
            return Err(Error::corrupt(format!("block directory: pages end at {start}, the block at {}", block.len())));
        }
        Ok(Self { rows, pages })
    }
}

/// Returns the byte range of a page within a block.
///
/// # Errors
/// - `Internal`: the block has no such page.
pub fn page_range(directory: &BlockDirectory, page: usize) -> Result<Range<usize>> {
    directory
        .pages
        .get(page)
        .cloned()
        .ok_or_else(|| Error::internal(format!("no page {page} in a block of {}", directory.pages.len())))
}

/// A decoded page whose checksum is verified.
#[derive(Clone, Debug)]
pub struct DecodedPage {
    /// The structure section as stored.
    pub structure_bytes: Bytes,
    /// The parsed structure.
    pub structure: Structure,
    /// The value stream.
    pub values: Bytes,
}

impl DecodedPage {
    /// Returns the rows as an Arrow array.
    ///
    /// # Errors
    /// - `Corrupt`: text is not UTF-8, a bool is neither 0 nor 1, an extent exceeds 2^31, or null slots hold bytes.
    /// - `Unsupported`: a tensor has over 2^31 elements per row.
    pub fn to_array(&self, ty: &ColumnType) -> Result<ArrayRef> {
        page_to_array(ty, &self.structure, self.values.clone())
    }

    /// Returns the canonical page, for the logical block hash.
    pub fn to_canonical(&self) -> CanonicalPage {
        CanonicalPage { structure: self.structure_bytes.to_vec(), values: self.values.to_vec() }
    }
}

/// The position of a page and its expected content. The position seeds the checksum.
#[derive(Clone, Copy, Debug)]
pub struct PagePlace<'a> {
    /// Seed of the chunk.
    pub seed: ChunkSeed,
    /// Number of the block within the chunk.
    pub ordinal: u32,
    /// Number of the page within the block.
    pub page: u16,
    /// Number of rows of the block.
    pub rows: u32,
    /// Type of the column.
    pub ty: &'a ColumnType,
    /// Codec chain of the column in this chunk.
    pub chain: &'a Chain,
}

/// Verifies the checksum of a stored page and returns the page without decoding it, for a copy into another chunk. The page is
/// number `page` of block `ordinal`.
///
/// # Errors
/// - `Corrupt`: the checksum is wrong.
pub fn stored_page(stored: &[u8], seed: ChunkSeed, ordinal: u32, page: u16) -> Result<EncodedPage> {
    Ok(EncodedPage(signed_page(stored, seed, ordinal, page)?.to_vec()))
}

/// Verifies the checksum of a stored page and returns the other bytes of the page.
fn signed_page(stored: &[u8], seed: ChunkSeed, ordinal: u32, page: u16) -> Result<&[u8]> {
    let Some((signed, checksum)) = stored.split_last_chunk::<CHECKSUM>() else {
        return Err(Error::corrupt(format!("page of {}: too short for its checksum", counted(stored.len(), "byte"))));
    };
    compare(page, *checksum, seed.of_page(ordinal, page, signed))?;
    Ok(signed)
}

/// Compares the stored checksum of a page with the computed one.
fn compare(page: u16, checksum: [u8; CHECKSUM], expected: u64) -> Result<()> {
    match u64::from_le_bytes(checksum) {
        found if found == expected => Ok(()),
        found => Err(Error::corrupt(format!("page {page}: checksum {found:016x}, computed {expected:016x}"))),
    }
}

/// The part of a stored page before its values: header and structure.
#[derive(Clone, Debug)]
pub struct PageHead {
    /// The parsed structure; it matches the length of the values.
    pub structure: Structure,
    /// Byte range of the structure section within the page.
    structure_bytes: Range<usize>,
    /// Byte range of the values within the page.
    pub values: Range<usize>,
    /// Decoded length of the values in bytes.
    values_len: usize,
    /// Whether the values are stored without a codec.
    pub is_plain: bool,
}

impl PageHead {
    /// Returns the number of bytes before the values of a page that begins with `page`.
    ///
    /// # Errors
    /// - `Corrupt`: `page` has fewer than 4 bytes.
    pub fn len(page: &[u8]) -> Result<usize> {
        let structure_len = Cursor::new(page, "page").len32()?;
        Ok(PAGE_HEADER.saturating_add(structure_len).saturating_add(7) & !7)
    }

    /// Parses and checks the part of a page before its values. The bytes after that part are not read.
    ///
    /// # Errors
    /// - `Corrupt`: the head does not fit the type, or is cut short.
    pub fn parse(page: &[u8], place: &PagePlace<'_>) -> Result<Self> {
        let mut cursor = Cursor::new(page, "page");
        let (structure_len, stored_len, values_len) = (cursor.len32()?, cursor.len32()?, cursor.len32()?);
        let flags = cursor.u32()?;
        if values_len > MAX_BLOCK || flags > u32::from(STORED_PLAIN) {
            return Err(Error::corrupt(format!("page: {} of values, flags {flags}: not allowed", counted(values_len, "byte"))));
        }
        // Each value stream has one stored form: encoded is shorter than plain, and the flag is set only if the column has
        // a chain.
        let encoded = flags == 0 && !place.chain.is_plain();
        if (flags != 0 && place.chain.is_plain())
            || (encoded && stored_len >= values_len)
            || (!encoded && stored_len != values_len)
        {
            return Err(Error::corrupt(format!(
                "page: {} of values stored in {stored_len}: does not fit flags {flags}, chain {}",
                counted(values_len, "byte"),
                place.chain
            )));
        }
        let structure_start = cursor.position();
        let structure = Structure::parse(place.ty, place.rows, cursor.take(structure_len)?, values_len)?;
        cursor.pad8()?;
        let start = cursor.position();
        Ok(Self {
            structure,
            structure_bytes: structure_start..structure_start + structure_len,
            values: start..start.saturating_add(stored_len),
            values_len,
            is_plain: !encoded,
        })
    }
}

/// Verifies a page that is given in three parts: header and structure, the values, and the bytes after the values.
///
/// # Errors
/// - `Corrupt`: the checksum is wrong, or the values are not followed by zero padding and the checksum.
pub fn verify_parts(place: &PagePlace<'_>, head: &[u8], values: &[u8], after: &[u8]) -> Result<()> {
    let Some((padding, checksum)) = after.split_last_chunk::<CHECKSUM>() else {
        return Err(Error::corrupt(format!("page: {} after its values: no checksum", counted(after.len(), "byte"))));
    };
    compare(place.page, *checksum, place.seed.of_page_parts(place.ordinal, place.page, [head, values, padding]))?;
    if padding.len() != values.len().next_multiple_of(8) - values.len() || padding.iter().any(|byte| *byte != 0) {
        return Err(Error::corrupt(format!(
            "page: padding of {} after values of length {}: wrong length, or not zero",
            counted(padding.len(), "byte"),
            values.len()
        )));
    }
    Ok(())
}

/// Verifies and decodes a stored page.
///
/// # Errors
/// - `Corrupt`: the checksum is wrong, or the content does not fit the type.
pub fn decode_page(stored: Bytes, place: PagePlace<'_>) -> Result<DecodedPage> {
    let signed = signed_page(&stored, place.seed, place.ordinal, place.page)?;
    let head = PageHead::parse(signed, &place)?;
    let mut cursor = Cursor::new(signed, "page");
    cursor.take(head.values.start)?;
    cursor.take(head.values.len())?;
    cursor.pad8()?;
    cursor.end()?;
    let chain = if head.is_plain { &Chain::PLAIN } else { place.chain };
    let values = chain.decode(stored.slice(head.values), head.values_len)?;
    Ok(DecodedPage { structure_bytes: stored.slice(head.structure_bytes), structure: head.structure, values })
}
