//! LZ4, raw block format (`format-spec/codecs.md#lz4`), through `lz4_flex` with its safe decoder.

use crate::error::{Error, Result};

/// Compresses; incompressible input grows by less than one percent.
pub(super) fn encode(values: &[u8]) -> Vec<u8> {
    lz4_flex::block::compress(values)
}

/// Decodes to exactly `len` bytes.
pub(super) fn decode(stored: &[u8], len: usize) -> Result<Vec<u8>> {
    let mut out = vec![0; len];
    match lz4_flex::block::decompress_into(stored, &mut out) {
        Ok(found) if found == len => Ok(out),
        Ok(found) => Err(Error::corrupt(format!("lz4: {found} bytes, expected {len}"))),
        Err(error) => Err(Error::corrupt(format!("lz4: {error}"))),
    }
}
