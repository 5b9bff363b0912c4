//! Blocks: a directory and one self-contained page a column. Follows `format-spec/block.md#directory` and
//! `format-spec/block.md#page`.
//!
//! ```text
//! rows u32 │ pages u32 │ page_len u32 .. │ 0-pad to 8 │ checksum u64     directory
//! structure_len │ stored_len │ values_len │ flags │ structure │ 0-pad │ values │ 0-pad │ checksum     page, once a column
//! ```
//! The checksum lies with the page, so one field of one row is one range and still verified.

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
/// The smallest page: one byte of structure, padded, and no values.
pub(super) const MIN_PAGE: usize = PAGE_HEADER + 8 + CHECKSUM;
/// Flag: the values are stored plain although the chunk's chain says otherwise.
const STORED_PLAIN: u8 = 1;
/// A block has at most this many bytes, stored or decoded.
const MAX_BLOCK: usize = 1 << 30;
/// A block has at most this many rows.
const MAX_ROWS: u32 = 1 << 20;

/// A page whose checksum is not known yet, because the seed of its chunk is not.
#[derive(Clone, Debug)]
pub struct EncodedPage(Vec<u8>);

impl EncodedPage {
    /// Stored bytes, checksum included; a multiple of 8.
    pub fn stored_len(&self) -> usize {
        self.0.len() + CHECKSUM
    }

    /// Its bytes without the checksum.
    pub fn unsigned(&self) -> &[u8] {
        &self.0
    }

    /// Bytes of the values when decoded.
    pub fn values_len(&self) -> u64 {
        let length = self.0.get(8..12).and_then(<[u8]>::first_chunk::<4>);
        length.map_or(0, |length| u64::from(u32::from_le_bytes(*length)))
    }

    /// The same page encoded by another chain; `from` is the chain that it was encoded by.
    ///
    /// # Errors
    /// `Corrupt` where the page is not encoded by `from`.
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

    /// A page from what [`EncodedPage::unsigned`] gave.
    pub fn from_unsigned(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

/// A block whose checksums are not known yet.
#[derive(Clone, Debug)]
pub struct EncodedBlock {
    /// Rows in it.
    pub rows: u32,
    /// One page for each column of the group.
    pub pages: Vec<EncodedPage>,
}

/// Bytes of the directory of a block with this many pages.
pub fn directory_len(pages: usize) -> usize {
    (8 + 4 * pages).next_multiple_of(8) + CHECKSUM
}

/// Encodes a canonical page by its chunk's chain.
///
/// # Errors
/// `Invalid` where the page is over the limits of a block.
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
    /// Stored bytes; a multiple of 8.
    pub fn stored_len(&self) -> usize {
        directory_len(self.pages.len()) + self.pages.iter().map(EncodedPage::stored_len).sum::<usize>()
    }

    /// Appends the block as number `ordinal` of the chunk with this seed.
    ///
    /// # Errors
    /// `Invalid` where the block is over its limits.
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
    /// Rows in the block.
    pub rows: u32,
    /// Where each page lies, relative to the block.
    pub pages: Vec<Range<usize>>,
}

impl BlockDirectory {
    /// Checks the directory of the stored block `block`, number `ordinal` of its chunk, of a group with `columns` columns.
    ///
    /// # Errors
    /// `Corrupt` where the checksum differs, or pages do not tile the block.
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

/// Where page `page` lies within a block.
///
/// # Errors
/// `Internal` where the block has no such page.
pub fn page_range(directory: &BlockDirectory, page: usize) -> Result<Range<usize>> {
    directory
        .pages
        .get(page)
        .cloned()
        .ok_or_else(|| Error::internal(format!("no page {page} in a block of {}", directory.pages.len())))
}

/// A page that passed its checksum, decoded.
#[derive(Clone, Debug)]
pub struct DecodedPage {
    /// The structure section as stored.
    pub structure_bytes: Bytes,
    /// The structure, checked.
    pub structure: Structure,
    /// The value stream.
    pub values: Bytes,
}

impl DecodedPage {
    /// The rows as an Arrow array.
    ///
    /// # Errors
    /// As [`page_to_array`].
    pub fn to_array(&self, ty: &ColumnType) -> Result<ArrayRef> {
        page_to_array(ty, &self.structure, self.values.clone())
    }

    /// The canonical page, for the logical block hash.
    pub fn to_canonical(&self) -> CanonicalPage {
        CanonicalPage { structure: self.structure_bytes.to_vec(), values: self.values.to_vec() }
    }
}

/// Where a page stands: what its checksum is seeded with and what it must hold.
#[derive(Clone, Copy, Debug)]
pub struct PagePlace<'a> {
    /// The seed of the chunk.
    pub seed: ChunkSeed,
    /// The block's number within the chunk.
    pub ordinal: u32,
    /// The page's number within the block.
    pub page: u16,
    /// Rows of the block.
    pub rows: u32,
    /// The column's type.
    pub ty: &'a ColumnType,
    /// The chunk's chain for the column.
    pub chain: &'a Chain,
}

/// Verifies the checksum of page `page` of a stored block, number `ordinal` of its chunk, and gives the page as it is, to be
/// stored elsewhere.
///
/// # Errors
/// `Corrupt` where the checksum differs.
pub fn stored_page(stored: &[u8], seed: ChunkSeed, ordinal: u32, page: u16) -> Result<EncodedPage> {
    Ok(EncodedPage(signed_page(stored, seed, ordinal, page)?.to_vec()))
}

/// A stored page without its checksum, which is that of its bytes.
fn signed_page(stored: &[u8], seed: ChunkSeed, ordinal: u32, page: u16) -> Result<&[u8]> {
    let Some((signed, checksum)) = stored.split_last_chunk::<CHECKSUM>() else {
        return Err(Error::corrupt(format!("page of {}, too short", counted(stored.len(), "byte"))));
    };
    compare(page, *checksum, seed.of_page(ordinal, page, signed))?;
    Ok(signed)
}

/// The checksum that a page has against that of its bytes.
fn compare(page: u16, checksum: [u8; CHECKSUM], expected: u64) -> Result<()> {
    match u64::from_le_bytes(checksum) {
        found if found == expected => Ok(()),
        found => Err(Error::corrupt(format!("page {page}: checksum {found:016x}, computed {expected:016x}"))),
    }
}

/// What stands before the values of a stored page.
#[derive(Clone, Debug)]
pub struct PageHead {
    /// The structure, checked against the length of the values.
    pub structure: Structure,
    /// Where the structure section lies in the page.
    structure_bytes: Range<usize>,
    /// Where the values do.
    pub values: Range<usize>,
    /// Bytes of the values when decoded.
    values_len: usize,
    /// Whether the values are stored as they are.
    pub is_plain: bool,
}

impl PageHead {
    /// Bytes before the values of a page that begins with these.
    ///
    /// # Errors
    /// `Corrupt` where they are too few.
    pub fn len(page: &[u8]) -> Result<usize> {
        let structure_len = Cursor::new(page, "page").len32()?;
        Ok(PAGE_HEADER.saturating_add(structure_len).saturating_add(7) & !7)
    }

    /// Checks what stands before the values of a page; what comes after is not looked at.
    ///
    /// # Errors
    /// `Corrupt` where it does not fit the type, or is cut.
    pub fn parse(page: &[u8], place: &PagePlace<'_>) -> Result<Self> {
        let mut cursor = Cursor::new(page, "page");
        let (structure_len, stored_len, values_len) = (cursor.len32()?, cursor.len32()?, cursor.len32()?);
        let flags = cursor.u32()?;
        if values_len > MAX_BLOCK || flags > u32::from(STORED_PLAIN) {
            return Err(Error::corrupt(format!("page: {} of values, flags {flags}", counted(values_len, "byte"))));
        }
        // There is one way to store values: plain is flagged where there is a chain, and encoded is shorter.
        let encoded = flags == 0 && !place.chain.is_plain();
        if (flags != 0 && place.chain.is_plain())
            || (encoded && stored_len >= values_len)
            || (!encoded && stored_len != values_len)
        {
            return Err(Error::corrupt(format!(
                "page: {} of values stored in {stored_len}, flags {flags}, chain {}",
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

/// Verifies a page that lies in parts: what stands before its values, the values, and what follows them.
///
/// # Errors
/// `Corrupt` where the checksum differs, or something else than it follows the values.
pub fn verify_parts(place: &PagePlace<'_>, head: &[u8], values: &[u8], after: &[u8]) -> Result<()> {
    let Some((padding, checksum)) = after.split_last_chunk::<CHECKSUM>() else {
        return Err(Error::corrupt(format!("page: {} after its values, too few", counted(after.len(), "byte"))));
    };
    compare(place.page, *checksum, place.seed.of_page_parts(place.ordinal, place.page, [head, values, padding]))?;
    if padding.len() != values.len().next_multiple_of(8) - values.len() || padding.iter().any(|byte| *byte != 0) {
        return Err(Error::corrupt(format!(
            "page: {} after {} of values, or not zero",
            counted(padding.len(), "byte"),
            values.len()
        )));
    }
    Ok(())
}

/// Verifies and decodes a stored page.
///
/// # Errors
/// `Corrupt` where the checksum differs or the content does not fit the type.
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
