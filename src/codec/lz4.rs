//! LZ4, raw block format (`format-spec/codecs.md#lz4`), through `lz4_flex` with its safe decoder.

use crate::error::{Error, Result};

/// Compresses; incompressible input grows by less than one percent.
pub(super) fn encode(values: &[u8]) -> Vec<u8> {
    lz4_flex::block::compress(values)
}

/// A byte that prolongs a match stands for 255 bytes, and no byte for more.
pub(super) const MAX_RATIO: usize = 255;

/// Decodes exactly as many bytes as `out` has.
pub(super) fn decode(stored: &[u8], out: &mut [u8]) -> Result<()> {
    match lz4_flex::block::decompress_into(stored, out) {
        Ok(found) if found == out.len() => Ok(()),
        Ok(found) => Err(Error::corrupt(format!("lz4: {found} bytes, expected {}", out.len()))),
        Err(error) => Err(Error::corrupt(format!("lz4: {error}"))),
    }
}
