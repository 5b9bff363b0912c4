//! Chunks: a header, consecutive blocks, and a directory at the end, from which the blocks can be recovered without a layout.
//! Follows `format-spec/chunk.md#header` and `format-spec/chunk.md#directory`.

use std::ops::Range;

use super::{
    block::{EncodedBlock, EncodedPage},
    checksum::{ChunkSeed, chunk_seed},
    cursor::{Cursor, pad8},
};
use crate::{
    codec::Chain,
    error::{Error, Result, counted},
    id::{ChunkId, Hash, Salt},
    schema::ColumnType,
};

const MAGIC: &[u8; 8] = b"TETRYSCH";
const END_MAGIC: &[u8; 8] = b"TETRYSND";
const VERSION: u16 = 1;
/// Maximum size of a chunk in stored bytes.
pub(super) const MAX_CHUNK: usize = 1 << 30;
/// Bytes of the trailer: directory offset, block count, magic.
pub const TRAILER_LEN: usize = 24;

/// The checked header of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkHeader {
    /// Seed of every checksum of the chunk.
    pub seed: ChunkSeed,
    /// Type and codec chain of each column.
    pub columns: Vec<(ColumnType, Chain)>,
    /// Length of the header in bytes: the offset of the first block.
    pub len: usize,
}

impl ChunkHeader {
    /// Parses and checks the header at the start of a chunk.
    ///
    /// # Errors
    /// - `Corrupt`: the header is damaged. The message names the expected and the found value.
    /// - `Unsupported`: the chunk has another version, or an unknown column type or codec.
    pub fn parse(chunk: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(chunk, "chunk header");
        if cursor.take(8)? != MAGIC {
            return Err(Error::corrupt("chunk header: the magic is not TETRYSCH"));
        }
        let (version, reserved) = (cursor.u16()?, cursor.u16()?);
        if version != VERSION {
            return Err(Error::unsupported(format!("chunk header: version {version}, this build reads {VERSION}")));
        }
        let len = cursor.len32()?;
        let signed_len = len.checked_sub(8).filter(|_| len % 8 == 0 && reserved == 0);
        let signed = signed_len.and_then(|len| chunk.get(..len));
        let signed = signed
            .ok_or_else(|| Error::corrupt(format!("chunk header: {} in a chunk of {}", counted(len, "byte"), chunk.len())))?;
        let seed = ChunkSeed(cursor.u64()?);
        let found = Cursor::new(chunk.get(signed.len()..).unwrap_or_default(), "chunk header").u64()?;
        let expected = seed.of_chunk(signed);
        if expected != found {
            return Err(Error::corrupt(format!("chunk header: checksum {found:016x}, computed {expected:016x}")));
        }
        let mut cursor = Cursor::new(signed, "chunk header");
        cursor.take(24)?;
        let count = cursor.u32()?;
        let mut columns = Vec::new();
        for _ in 0..count {
            let text_len = usize::from(cursor.u16()?);
            let text =
                std::str::from_utf8(cursor.take(text_len)?).map_err(|_| Error::corrupt("chunk header: a type is not UTF-8"))?;
            let ty = text.parse()?;
            let rest = signed.get(cursor.position()..).unwrap_or_default();
            let (chain, after) = Chain::read(rest)?;
            cursor.take(rest.len() - after.len())?;
            columns.push((ty, chain));
        }
        cursor.pad8()?;
        cursor.end()?;
        Ok(Self { seed, columns, len })
    }

    fn write(seed: ChunkSeed, columns: &[(ColumnType, Chain)]) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        out.extend(MAGIC);
        out.extend(VERSION.to_le_bytes());
        out.extend([0; 6]); // reserved, header_len
        out.extend(seed.0.to_le_bytes());
        out.extend(u32::try_from(columns.len()).map_err(|_| Error::invalid("too many columns in a group"))?.to_le_bytes());
        for (ty, chain) in columns {
            let text = ty.to_string();
            out.extend(
                u16::try_from(text.len())
                    .map_err(|_| Error::invalid(format!("type text of {}", counted(text.len(), "byte"))))?
                    .to_le_bytes(),
            );
            out.extend(text.as_bytes());
            chain.write(&mut out);
        }
        pad8(&mut out);
        let len = u32::try_from(out.len() + 8).map_err(|_| Error::invalid("a chunk header over 4 GiB"))?;
        if let Some(place) = out.get_mut(12..16) {
            place.copy_from_slice(&len.to_le_bytes());
        }
        let checksum = seed.of_chunk(&out);
        out.extend(checksum.to_le_bytes());
        Ok(out)
    }
}

/// A complete chunk, and the fields of its layout run.
#[derive(Debug)]
pub struct FinishedChunk {
    /// The BLAKE3 of `bytes`.
    pub id: ChunkId,
    /// Stored bytes.
    pub bytes: Vec<u8>,
    /// Seed of its checksums.
    pub seed: ChunkSeed,
    /// Offset of the first block.
    pub first_offset: u64,
    /// Stored length of each block, in units of 8 bytes.
    pub lengths: Vec<u32>,
    /// Number of rows of each block.
    pub rows: Vec<u32>,
    /// Stored length of each page of each block, in units of 8 bytes.
    pub page_lengths: Vec<Vec<u32>>,
}

/// Writes a chunk. All its blocks and their hashes are known before it starts, because the hashes and the salt determine the seed.
#[derive(Debug)]
pub struct ChunkWriter {
    seed: ChunkSeed,
    out: Vec<u8>,
    first_offset: u64,
    lengths: Vec<u32>,
    rows: Vec<u32>,
    page_lengths: Vec<Vec<u32>>,
}

impl ChunkWriter {
    /// Starts a chunk whose blocks have these logical hashes. `capacity` is the expected size of the blocks in bytes.
    ///
    /// # Errors
    /// - `Invalid`: the group exceeds the limits of a header.
    pub fn new(columns: &[(ColumnType, Chain)], hashes: &[Hash], capacity: usize, salt: Salt) -> Result<Self> {
        let seed = chunk_seed(hashes).salted(salt);
        let header = ChunkHeader::write(seed, columns)?;
        let directory = hashes.len() * 8 + 8 + TRAILER_LEN;
        let mut out = Vec::with_capacity(header.len() + capacity + directory);
        out.extend(&header);
        let first_offset = header.len() as u64;
        Ok(Self { seed, first_offset, out, lengths: Vec::new(), rows: Vec::new(), page_lengths: Vec::new() })
    }

    /// Appends the next block.
    ///
    /// # Errors
    /// - `Invalid`: the chunk or the block exceeds its limits.
    pub fn push(&mut self, block: &EncodedBlock) -> Result<()> {
        let ordinal = u32::try_from(self.rows.len()).map_err(|_| Error::invalid("over 2^32 blocks in a chunk"))?;
        // Includes the directory that `finish` writes.
        let stored = self.out.len() + block.stored_len() + (self.rows.len() + 1) * 8 + 8 + TRAILER_LEN;
        if stored > MAX_CHUNK {
            return Err(Error::invalid(format!(
                "a chunk of {}, at most {MAX_CHUNK}: write the table with a smaller chunk_max",
                counted(stored, "stored byte")
            )));
        }
        let start = self.out.len();
        block.write(self.seed, ordinal, &mut self.out)?;
        self.lengths.push(u32::try_from((self.out.len() - start) / 8).map_err(|_| Error::invalid("a block over 32 GiB"))?);
        self.rows.push(block.rows);
        let eights = |page: &EncodedPage| u32::try_from(page.stored_len() / 8).unwrap_or(u32::MAX);
        self.page_lengths.push(block.pages.iter().map(eights).collect());
        Ok(())
    }

    /// Appends the directory and computes the id of the chunk.
    pub fn finish(self) -> FinishedChunk {
        let Self { seed, mut out, first_offset, lengths, rows, page_lengths } = self;
        let offset = out.len();
        for number in lengths.iter().chain(&rows) {
            out.extend(number.to_le_bytes());
        }
        let checksum = seed.of_chunk(out.get(offset..).unwrap_or_default());
        out.extend(checksum.to_le_bytes());
        out.extend((offset as u64).to_le_bytes());
        out.extend((rows.len() as u64).to_le_bytes());
        out.extend(END_MAGIC);
        FinishedChunk { id: ChunkId(Hash::of(&out)), bytes: out, seed, first_offset, lengths, rows, page_lengths }
    }
}

/// The directory after the blocks of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkDirectory {
    /// Byte range within the chunk and number of rows of each block.
    pub blocks: Vec<(Range<usize>, u32)>,
}

impl ChunkDirectory {
    /// Parses and checks the directory of a complete chunk.
    ///
    /// # Errors
    /// - `Corrupt`: the directory is cut short, its checksum is wrong, or the blocks do not fill the chunk.
    pub fn parse(chunk: &[u8], header: &ChunkHeader) -> Result<Self> {
        let trailer_start = chunk.len().checked_sub(TRAILER_LEN);
        let trailer = trailer_start.and_then(|start| chunk.get(start..));
        let (Some(trailer_start), Some(trailer)) = (trailer_start, trailer) else {
            return Err(Error::corrupt(format!("chunk of {}: too short for its trailer", counted(chunk.len(), "byte"))));
        };
        let mut cursor = Cursor::new(trailer, "chunk trailer");
        let (offset, count) = (cursor.u64()?, cursor.u64()?);
        if cursor.take(8)? != END_MAGIC {
            return Err(Error::corrupt("chunk trailer: the magic is not TETRYSND"));
        }
        if count == 0 {
            return Err(Error::corrupt("chunk trailer: 0 blocks, expected at least 1"));
        }
        let size = count.checked_mul(8).and_then(|bytes| bytes.checked_add(8)).and_then(|bytes| bytes.checked_add(offset));
        if size != Some(trailer_start as u64) {
            return Err(Error::corrupt(format!(
                "chunk trailer: {} and a directory at {offset} do not fit a chunk of {}",
                counted(count, "block"),
                counted(chunk.len(), "byte")
            )));
        }
        let start = usize::try_from(offset).map_err(|_| Error::corrupt("chunk trailer: the directory offset is too large"))?;
        let (signed, checksum) = chunk
            .get(start..trailer_start)
            .and_then(|directory| directory.split_last_chunk::<8>())
            .ok_or_else(|| Error::corrupt("chunk directory: cut short"))?;
        let (found, expected) = (u64::from_le_bytes(*checksum), header.seed.of_chunk(signed));
        if expected != found {
            return Err(Error::corrupt(format!("chunk directory: checksum {found:016x}, computed {expected:016x}")));
        }
        let (lengths, rows) = signed.split_at(signed.len() / 2);
        let numbers =
            |bytes: &[u8]| bytes.as_chunks::<4>().0.iter().map(|number| u32::from_le_bytes(*number)).collect::<Vec<_>>();
        let mut end = header.len;
        let mut blocks = Vec::new();
        for (length, rows) in numbers(lengths).into_iter().zip(numbers(rows)) {
            let next =
                usize::try_from(length).ok().and_then(|length| length.checked_mul(8)).and_then(|length| end.checked_add(length));
            let next =
                next.filter(|next| *next <= start).ok_or_else(|| Error::corrupt("chunk directory: blocks outside the chunk"))?;
            blocks.push((end..next, rows));
            end = next;
        }
        if end != start {
            return Err(Error::corrupt(format!("chunk directory: blocks end at {end}, the directory starts at {start}")));
        }
        Ok(Self { blocks })
    }
}
