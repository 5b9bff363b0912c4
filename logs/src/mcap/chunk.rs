//! The bytes of a chunk: decompressed, and checked against the CRC. No I/O.

use std::io::Read;

use bytes::Bytes;
use tetrys::{Error, Result};

use super::records::{self, ChunkHead};
use crate::{limits::MAX_BYTES, unpack::unpack};

/// The records of a chunk.
pub(crate) struct Opened {
    /// The records.
    pub(crate) data: Bytes,
    /// Whether a CRC proves the bytes.
    pub(crate) checked: bool,
    /// The error of a cut or damaged chunk. `data` has the bytes before the damage.
    pub(crate) fault: Option<Error>,
}

/// Decompresses the body of a chunk record, and checks it. With `cut`, the body may lack its end.
///
/// # Errors
/// - `Corrupt`: the chunk does not decompress to its stated size, or its CRC differs.
/// - `Unsupported`: the compression is unknown, or the chunk is larger than 512 MiB.
pub(crate) fn open(body: &Bytes, cut: bool) -> Result<Opened> {
    let head = records::chunk(body)?;
    let ChunkHead { uncompressed_size, crc, ref compression, compressed_size, len } = head;
    if uncompressed_size > MAX_BYTES as u64 {
        return Err(Error::unsupported(format!(
            "a chunk of {uncompressed_size} bytes, decompressed: expected at most {MAX_BYTES}"
        )));
    }
    let stored = body.slice(len..);
    let stored = match usize::try_from(compressed_size).ok().filter(|len| *len <= stored.len()) {
        Some(len) => stored.slice(..len),
        None if cut => stored,
        None => {
            let found = stored.len();
            return Err(Error::corrupt(format!("a chunk with {found} compressed bytes: its head says {compressed_size}")));
        }
    };
    let size = usize::try_from(uncompressed_size).unwrap_or(usize::MAX);
    // One more byte shows that the chunk is longer than its head says.
    let limit = uncompressed_size.saturating_add(1);
    let (data, failed) = match compression.as_str() {
        "" => (stored, None),
        "zstd" => {
            let decoder = zstd::stream::read::Decoder::with_buffer(&stored[..]);
            let decoder = decoder.map_err(|error| Error::corrupt(format!("zstd: {error}")))?;
            unpack(decoder.take(limit), uncompressed_size, stored.len())
        }
        "lz4" => unpack(lz4_flex::frame::FrameDecoder::new(&stored[..]).take(limit), uncompressed_size, stored.len()),
        other => {
            let other = other.escape_debug();
            return Err(Error::unsupported(format!("a chunk with compression `{other}`: expected none, `lz4` or `zstd`")));
        }
    };
    // A frame may be followed by padding, which no decoder takes for a frame.
    let failed = failed.filter(|_| data.len() < size);
    if cut {
        // Only the length of the record may be wrong: then the chunk is all there, and its CRC tells.
        if data.len() == size && crc != 0 && crc32fast::hash(&data) != crc {
            return Err(Error::corrupt(format!("CRC of a chunk, its head says {crc:#010x}")));
        }
        let fault = Some(Error::corrupt("the file ends inside this chunk"));
        return Ok(Opened { data, checked: false, fault });
    }
    let fault = match failed {
        Some(error) => Some(Error::corrupt(format!("{compression}: {error}"))),
        None if data.len() != size => {
            Some(Error::corrupt(format!("a chunk of {uncompressed_size} bytes decompresses to {} bytes", data.len())))
        }
        None if crc != 0 => {
            let found = crc32fast::hash(&data);
            (found != crc).then(|| Error::corrupt(format!("CRC {found:#010x} of a chunk, its head says {crc:#010x}")))
        }
        None => None,
    };
    match fault {
        Some(fault) => Err(fault),
        None => Ok(Opened { data, checked: crc != 0, fault: None }),
    }
}
