//! LZ4, raw block format (`format-spec/codecs.md#lz4`), through the C library, whose decoder checks every length that it reads and
//! is two to three times as fast as the one in Rust without `unsafe`.

use lz4::block;

use crate::error::{Error, Result};

/// Compresses; incompressible input grows by less than one percent.
///
/// # Errors
/// `Internal` for input over 2 GiB, of which no page is.
pub(super) fn encode(values: &[u8]) -> Result<Vec<u8>> {
    block::compress(values, None, false).map_err(|error| Error::internal(format!("lz4: {error}")).with_source(error))
}

/// A byte that prolongs a match stands for 255 bytes, and no byte for more.
pub(super) const MAX_RATIO: usize = 255;

/// Decodes exactly as many bytes as `out` has.
///
/// # Errors
/// `Corrupt` where `stored` is not an encoding of so many bytes.
pub(super) fn decode(stored: &[u8], out: &mut [u8]) -> Result<()> {
    match block::decompress_to_buffer(stored, i32::try_from(out.len()).ok().or(Some(i32::MAX)), out) {
        Ok(found) if found == out.len() => Ok(()),
        Ok(found) => Err(Error::corrupt(format!("lz4: {found} bytes, expected {}", out.len()))),
        Err(error) => Err(Error::corrupt(format!("lz4: {error}, expected {} bytes", out.len())).with_source(error)),
    }
}
