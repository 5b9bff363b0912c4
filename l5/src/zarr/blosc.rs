//! Decoder and encoder of the Blosc-1 container, in which zarr v2 stores its chunks.
//!
//! A container has a 16-byte header (version, codec version, flags, typesize, then `nbytes`, `blocksize`, `cbytes` as u32), one
//! i32 offset per block, and the blocks. A block is one stream, or `typesize` streams if it is split. A stream has an i32 length
//! and that many bytes; it is not compressed if its length equals its decoded length. The filter (byte or bit shuffle) applies to
//! each block. c-blosc's `README_CHUNK_FORMAT.rst` describes the format.
//!
//! The decoder knows the decoded size of the chunk and accepts no other. It checks each length against the available bytes before
//! use. The encoder writes lz4 or zstd with byte shuffle and one stream per block, which every Blosc-1 decoder reads.

use crate::count::counted;
use tetrys::{Error, Result};

/// Bytes of the container's header.
const HEADER: usize = 16;
/// Blosc splits blocks only if elements are at most this wide.
const MAX_SPLITS: usize = 16;
/// Blosc splits blocks only if they have at least this many elements.
const MIN_SPLIT_ELEMENTS: usize = 128;
/// Maximum bytes of an encoded block. A block and its shuffled copy then fit into the L2 cache.
const ENCODED_BLOCK: usize = 128 * 1024;

const SHUFFLED: u8 = 0x01;
const MEMCPYED: u8 = 0x02;
const BIT_SHUFFLED: u8 = 0x04;
const NOT_SPLIT: u8 = 0x10;

/// Compressor of the streams of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// LZ4 blocks. lz4hc writes the same format.
    Lz4,
    /// Zstandard frames.
    Zstd {
        /// Compression level, 1 to 22.
        level: i32,
    },
}

/// Decodes containers. Reuses its buffers between calls.
///
/// ```
/// use tetrys_l5::zarr::blosc::{Codec, Decoder, encode};
/// let records: Vec<u8> = (0..4000_u32).flat_map(u32::to_le_bytes).collect();
/// let stored = encode(&records, 4, Codec::Lz4, true)?;
/// let mut back = vec![0; records.len()];
/// Decoder::default().decode(&stored, &mut back)?;
/// assert!(stored.len() < records.len() && back == records);
/// # Ok::<(), tetrys::Error>(())
/// ```
#[derive(Default)]
pub struct Decoder {
    filtered: Vec<u8>,
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl Decoder {
    /// Decodes `stored` into `decoded`, which has the expected size. After an error the content of `decoded` is unspecified.
    ///
    /// # Errors
    /// - `Corrupt`: a size does not match, or a stream cannot be decoded. The message names what was expected and found.
    /// - `Unsupported`: the container has another version, or uses blosclz, snappy or zlib. The message names the codec.
    pub fn decode(&mut self, stored: &[u8], decoded: &mut [u8]) -> Result<()> {
        let header = Header::parse(stored, decoded.len())?;
        if header.flags & MEMCPYED != 0 {
            let plain = stored.get(HEADER..).filter(|plain| plain.len() == decoded.len()).ok_or_else(|| {
                Error::corrupt(format!(
                    "blosc: expected {} plain bytes after the header, found {}",
                    decoded.len(),
                    stored.len().saturating_sub(HEADER)
                ))
            })?;
            decoded.copy_from_slice(plain);
            return Ok(());
        }
        if decoded.is_empty() {
            return Ok(());
        }
        let codec = StreamCodec::from_flags(header.flags)?;
        let mut filtered = std::mem::take(&mut self.filtered);
        let outcome = self.decode_blocks(stored, &header, codec, &mut filtered, decoded);
        self.filtered = filtered;
        outcome
    }

    fn decode_blocks(
        &mut self,
        stored: &[u8],
        header: &Header,
        codec: StreamCodec,
        filtered: &mut Vec<u8>,
        decoded: &mut [u8],
    ) -> Result<()> {
        let whole = header.blocksize;
        let blocks = decoded.len().div_ceil(whole);
        let starts = stored.get(HEADER..).and_then(|rest| rest.get(..blocks.checked_mul(4)?)).ok_or_else(|| {
            Error::corrupt(format!("blosc: expected {blocks} block starts, found {}", counted(stored.len() - HEADER, "byte")))
        })?;
        for (number, (block, start)) in decoded.chunks_mut(whole).zip(starts.chunks_exact(4)).enumerate() {
            let start = u32_at(start, 0) as usize;
            let streams = stored.get(start..).filter(|_| start >= HEADER + blocks * 4).ok_or_else(|| {
                Error::corrupt(format!(
                    "blosc: block {number} starts at {start}, the container has {}",
                    counted(stored.len(), "byte")
                ))
            })?;
            let element = header.typesize;
            let leftover = block.len() != whole;
            let split = header.flags & NOT_SPLIT == 0
                && element <= MAX_SPLITS
                && block.len() / element >= MIN_SPLIT_ELEMENTS
                && block.len().is_multiple_of(element)
                && !leftover;
            let streams_here = if split { element } else { 1 };
            let byte_shuffled = header.flags & SHUFFLED != 0 && element > 1;
            let bit_shuffled = !byte_shuffled && header.flags & BIT_SHUFFLED != 0 && block.len() >= element;
            let place = |error: Error| error.at(format!("blosc: block {number}"));
            if byte_shuffled || bit_shuffled {
                filtered.resize(whole, 0);
                let filtered = &mut filtered[..block.len()];
                self.decode_streams(streams, streams_here, codec, filtered).map_err(place)?;
                if byte_shuffled {
                    unshuffle(filtered, element, block);
                } else {
                    bit_unshuffle(filtered, element, block);
                }
            } else {
                self.decode_streams(streams, streams_here, codec, block).map_err(place)?;
            }
        }
        Ok(())
    }

    fn decode_streams(&mut self, mut stored: &[u8], streams: usize, codec: StreamCodec, decoded: &mut [u8]) -> Result<()> {
        let each = decoded.len() / streams;
        for stream in decoded.chunks_exact_mut(each) {
            let (length, rest) =
                stored.split_at_checked(4).ok_or_else(|| Error::corrupt("the container ends inside a stream's length"))?;
            let length = u32_at(length, 0) as usize;
            let (bytes, rest) = rest.split_at_checked(length).ok_or_else(|| {
                Error::corrupt(format!("a stream of {}, the container has {} left", counted(length, "byte"), rest.len()))
            })?;
            stored = rest;
            if length == stream.len() {
                stream.copy_from_slice(bytes);
                continue;
            }
            let expected = stream.len();
            let found = match codec {
                StreamCodec::Lz4 => {
                    lz4::block::decompress_to_buffer(bytes, i32::try_from(expected).ok().or(Some(i32::MAX)), stream)
                        .map_err(|error| Error::corrupt(format!("lz4 stream: {error}")).with_source(error))?
                }
                StreamCodec::Zstd => {
                    let zstd = match &mut self.zstd {
                        Some(zstd) => zstd,
                        none => none.insert(zstd::bulk::Decompressor::new()?),
                    };
                    zstd.decompress_to_buffer(bytes, stream)
                        .map_err(|error| Error::corrupt(format!("zstd stream: {error}")).with_source(error))?
                }
            };
            if found != expected {
                return Err(Error::corrupt(format!("expected a stream of {}, found {found}", counted(expected, "byte"))));
            }
        }
        Ok(())
    }
}

/// The checked header: `blocksize` and `typesize` are at least 1, `nbytes` and `cbytes` match the actual sizes.
struct Header {
    flags: u8,
    typesize: usize,
    blocksize: usize,
}

impl Header {
    fn parse(stored: &[u8], expected: usize) -> Result<Self> {
        let [version, _, flags, typesize, sizes @ ..] = stored else {
            return Err(Error::corrupt(format!("blosc: expected a header of {HEADER} bytes, found {}", stored.len())));
        };
        if stored.len() < HEADER {
            return Err(Error::corrupt(format!("blosc: expected a header of {HEADER} bytes, found {}", stored.len())));
        }
        if *version != 2 {
            return Err(Error::unsupported(format!("blosc: expected container version 2, found {version}")));
        }
        let (nbytes, blocksize, cbytes) = (u32_at(sizes, 0), u32_at(sizes, 4), u32_at(sizes, 8));
        if nbytes as usize != expected {
            return Err(Error::corrupt(format!("blosc: expected {expected} decoded bytes, the header says {nbytes}")));
        }
        if cbytes as usize != stored.len() {
            return Err(Error::corrupt(format!(
                "blosc: the header says {}, found {}",
                counted(cbytes, "stored byte"),
                stored.len()
            )));
        }
        if *typesize == 0 || (blocksize == 0 && nbytes > 0) {
            return Err(Error::corrupt(format!("blosc: typesize {typesize}, blocksize {blocksize}: expected at least 1")));
        }
        // A block longer than the decoded data would only enlarge the scratch buffer.
        let blocksize = (blocksize as usize).min(expected.max(1));
        Ok(Self { flags: *flags, typesize: usize::from(*typesize), blocksize })
    }
}

#[derive(Clone, Copy)]
enum StreamCodec {
    Lz4,
    Zstd,
}

impl StreamCodec {
    fn from_flags(flags: u8) -> Result<Self> {
        match flags >> 5 {
            1 => Ok(Self::Lz4),
            4 => Ok(Self::Zstd),
            other => {
                let name = ["blosclz", "lz4", "snappy", "zlib", "zstd"].get(usize::from(other)).copied();
                let found = name.map_or_else(|| format!("codec number {other}"), |name| format!("codec {name}"));
                Err(Error::unsupported(format!("blosc: expected lz4 or zstd, found {found}")))
            }
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |bytes| u32::from_le_bytes(bytes.try_into().unwrap_or_default()))
}

/// Encodes `plain`, whose elements have `typesize` bytes (above 255: 1 byte), as a container. Shuffles bytes if `shuffle` is set.
/// Stores uncompressed bytes if compression gains nothing.
///
/// # Errors
/// - `Invalid`: there are 2 GiB or more, the limit of the container.
/// - `Internal`: the codec fails.
pub fn encode(plain: &[u8], typesize: usize, codec: Codec, shuffle: bool) -> Result<Vec<u8>> {
    let nbytes = u32::try_from(plain.len())
        .ok()
        .filter(|nbytes| *nbytes <= i32::MAX as u32 - HEADER as u32)
        .ok_or_else(|| Error::invalid(format!("blosc: at most 2 GiB a container, found {}", counted(plain.len(), "byte"))))?;
    let element = if (1..=255).contains(&typesize) { typesize } else { 1 };
    let blocksize = (ENCODED_BLOCK / element * element).min(plain.len()).max(1);
    let blocks = plain.len().div_ceil(blocksize);
    let shuffle = shuffle && element > 1;
    let codec_flag = match codec {
        Codec::Lz4 => 1 << 5,
        Codec::Zstd { .. } => 4 << 5,
    };
    let mut header = [0; HEADER];
    header[0] = 2;
    header[1] = 1;
    header[2] = codec_flag | NOT_SPLIT | if shuffle { SHUFFLED } else { 0 };
    header[3] = element as u8;
    header[4..8].copy_from_slice(&nbytes.to_le_bytes());
    header[8..12].copy_from_slice(&(blocksize as u32).to_le_bytes());

    let mut zstd = match codec {
        Codec::Lz4 => None,
        Codec::Zstd { level } => Some(zstd::bulk::Compressor::new(level)?),
    };
    let mut stored = Vec::with_capacity(plain.len() / 2 + HEADER);
    stored.extend_from_slice(&header);
    stored.resize(HEADER + blocks * 4, 0);
    let mut shuffled = vec![0; if shuffle { blocksize } else { 0 }];
    let mut stream = vec![0; lz4::block::compress_bound(blocksize)?.max(zstd::zstd_safe::compress_bound(blocksize))];
    for (number, block) in plain.chunks(blocksize).enumerate() {
        let source = if shuffle {
            let shuffled = &mut shuffled[..block.len()];
            self::shuffle(block, element, shuffled);
            shuffled
        } else {
            block
        };
        let length = match &mut zstd {
            None => lz4::block::compress_to_buffer(source, None, false, &mut stream)
                .map_err(|error| Error::internal(format!("lz4: {error}")).with_source(error))?,
            Some(zstd) => zstd
                .compress_to_buffer(source, &mut stream[..])
                .map_err(|error| Error::internal(format!("zstd: {error}")).with_source(error))?,
        };
        let stream = if length < source.len() { &stream[..length] } else { source };
        let start = stored.len() as u32;
        stored[HEADER + number * 4..][..4].copy_from_slice(&start.to_le_bytes());
        stored.extend_from_slice(&(stream.len() as u32).to_le_bytes());
        stored.extend_from_slice(stream);
        if stored.len() >= plain.len() + HEADER {
            break;
        }
    }
    if stored.len() >= plain.len() + HEADER {
        header[2] |= MEMCPYED;
        stored.clear();
        stored.extend_from_slice(&header);
        stored.extend_from_slice(plain);
    }
    let cbytes = stored.len() as u32;
    stored[12..16].copy_from_slice(&cbytes.to_le_bytes());
    Ok(stored)
}

/// Number of elements shuffled at a time.
const TILE: usize = 64;

/// Returns the starts of tiles that cover `n` elements. The last tile overlaps the previous one, so that no rest remains.
fn tiles(n: usize) -> impl Iterator<Item = usize> {
    (0..n.div_ceil(TILE)).map(move |tile| (tile * TILE).min(n - TILE))
}

/// Moves `shuffled[j * n + i]` to `plain[i * element + j]`. Bytes after the last whole element stay in place. Joins byte columns
/// to u16, u32 and u64 columns in loops that the compiler vectorizes, then stores one word per element.
fn unshuffle(shuffled: &[u8], element: usize, plain: &mut [u8]) {
    let n = plain.len() / element;
    plain[n * element..].copy_from_slice(&shuffled[n * element..]);
    if n < TILE {
        for i in 0..n {
            for j in 0..element {
                plain[i * element + j] = shuffled[j * n + i];
            }
        }
        return;
    }
    for i in tiles(n) {
        let rows = &mut plain[i * element..(i + TILE) * element];
        let column = |j: usize| -> [u8; TILE] { std::array::from_fn(|k| shuffled[j * n + i..][..TILE][k]) };
        let two = |j| -> [u16; TILE] {
            let (low, high) = (column(j), column(j + 1));
            std::array::from_fn(|k| u16::from(low[k]) | u16::from(high[k]) << 8)
        };
        let four = |j| -> [u32; TILE] {
            let (low, high) = (two(j), two(j + 2));
            std::array::from_fn(|k| u32::from(low[k]) | u32::from(high[k]) << 16)
        };
        let mut j = 0;
        while j + 8 <= element {
            let (low, high) = (four(j), four(j + 4));
            for (k, row) in rows.chunks_exact_mut(element).enumerate().take(TILE) {
                let word = u64::from(low[k]) | u64::from(high[k]) << 32;
                row[j..j + 8].copy_from_slice(&word.to_le_bytes());
            }
            j += 8;
        }
        if j + 4 <= element {
            for (row, word) in rows.chunks_exact_mut(element).zip(four(j)) {
                row[j..j + 4].copy_from_slice(&word.to_le_bytes());
            }
            j += 4;
        }
        for j in j..element {
            for (row, byte) in rows.chunks_exact_mut(element).zip(column(j)) {
                row[j] = byte;
            }
        }
    }
}

/// The inverse of [`unshuffle`].
fn shuffle(plain: &[u8], element: usize, shuffled: &mut [u8]) {
    let n = plain.len() / element;
    shuffled[n * element..].copy_from_slice(&plain[n * element..]);
    if n < TILE {
        for i in 0..n {
            for j in 0..element {
                shuffled[j * n + i] = plain[i * element + j];
            }
        }
        return;
    }
    for i in tiles(n) {
        let rows = &plain[i * element..(i + TILE) * element];
        let mut j = 0;
        while j + 8 <= element {
            let mut words = [0_u64; TILE];
            for (word, row) in words.iter_mut().zip(rows.chunks_exact(element)) {
                let mut bytes = [0; 8];
                bytes.copy_from_slice(&row[j..j + 8]);
                *word = u64::from_le_bytes(bytes);
            }
            for byte in 0..8 {
                for (out, word) in shuffled[(j + byte) * n + i..][..TILE].iter_mut().zip(&words) {
                    *out = (word >> (8 * byte)) as u8;
                }
            }
            j += 8;
        }
        for j in j..element {
            for (out, row) in shuffled[j * n + i..][..TILE].iter_mut().zip(rows.chunks_exact(element)) {
                *out = row[j];
            }
        }
    }
}

/// Reverses bit shuffle: bit `b` of byte `j` of element `i` lies in row `8 j + b` of `n / 8` bytes. Blosc does not shuffle blocks
/// whose number of elements is not a multiple of 8.
fn bit_unshuffle(shuffled: &[u8], element: usize, plain: &mut [u8]) {
    let n = plain.len() / element;
    if !n.is_multiple_of(8) {
        plain.copy_from_slice(shuffled);
        return;
    }
    let row = n / 8;
    for j in 0..element {
        for i in 0..row {
            let bits = u64::from_le_bytes(std::array::from_fn(|bit| shuffled[(8 * j + bit) * row + i]));
            for (k, byte) in transpose_bits(bits).to_le_bytes().into_iter().enumerate() {
                plain[(8 * i + k) * element + j] = byte;
            }
        }
    }
    plain[n * element..].copy_from_slice(&shuffled[n * element..]);
}

/// Transposes an 8 x 8 bit matrix with row `r` in byte `r` (Hacker's Delight, 7-3).
fn transpose_bits(mut x: u64) -> u64 {
    for (shift, mask) in [(7, 0x00aa_00aa_00aa_00aa_u64), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)] {
        let swap = (x ^ (x >> shift)) & mask;
        x ^= swap ^ (swap << shift);
    }
    x
}

#[cfg(test)]
mod tests;
