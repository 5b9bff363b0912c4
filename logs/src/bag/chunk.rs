//! The bytes of a chunk: decompressed, and checked where the compression has a checksum. No I/O.

use std::io::Read;

use bytes::Bytes;
use tetrys::{Error, Result};

use super::records::Header;
use crate::{limits::MAX_BYTES, unpack::unpack};

/// The records of a chunk.
pub(super) struct Opened {
    /// The records; of a cut chunk those before the cut.
    pub(super) data: Bytes,
    /// Whether a checksum proves the bytes. Chunks without compression have none.
    pub(super) checked: bool,
}

/// Whether the recorder was writing into this chunk when it ended: then the header has no sizes yet.
pub(super) fn is_open(header: Header<'_>, data: u64) -> bool {
    data == 0 && header.u32("size").is_ok_and(|size| size == 0)
}

/// Decompresses a chunk. With `cut`, it may lack its end.
///
/// # Errors
/// - `Corrupt`: the chunk does not decompress to the size in its header, or a checksum differs.
/// - `Unsupported`: the compression is unknown, or the chunk is larger than 512 MiB.
pub(super) fn open(header: Header<'_>, stored: &Bytes, cut: bool) -> Result<Opened> {
    let (compression, size) = (header.text("compression")?, u64::from(header.u32("size")?));
    let too_large = |found: String| {
        let why = format!("a chunk of {found} bytes, decompressed: expected at most {MAX_BYTES}");
        Err(Error::unsupported(why))
    };
    if size > MAX_BYTES as u64 {
        return too_large(size.to_string());
    }
    // One more byte shows that the chunk is longer than its header says, and has the decoder compare its checksum. The header of a cut
    // chunk may lack the size.
    let limit = 1 + if cut { MAX_BYTES as u64 } else { size };
    let (data, failed, checked) = match compression {
        "none" => (stored.clone(), None, false),
        "bz2" => {
            let (data, failed) = unpack(bzip2::bufread::BzDecoder::new(&stored[..]).take(limit), size, stored.len());
            (data, failed, true)
        }
        "lz4" => {
            let (data, failed) = unpack(lz4_flex::frame::FrameDecoder::new(&stored[..]).take(limit), size, stored.len());
            // The flags of the frame say whether it has a checksum of its content, or of its blocks.
            (data, failed, stored.get(4).is_some_and(|flags| flags & 0b0001_0100 != 0))
        }
        other => {
            let other = other.escape_debug();
            return Err(Error::unsupported(format!("a chunk with compression `{other}`: expected `none`, `bz2` or `lz4`")));
        }
    };
    match failed {
        _ if cut && data.len() > MAX_BYTES => too_large(format!("over {MAX_BYTES}")),
        _ if cut => Ok(Opened { data, checked: false }),
        Some(error) => Err(Error::corrupt(format!("{compression}: {error}"))),
        None if data.len() as u64 != size => {
            Err(Error::corrupt(format!("a chunk of {} bytes, decompressed: its header says {size}", data.len())))
        }
        None => Ok(Opened { data, checked }),
    }
}
