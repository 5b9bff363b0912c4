//! LZ4, raw block format (`format-spec/codecs.md#lz4`), through `lz4_flex` with its safe decoder.

use crate::error::{Error, Result};

/// Compresses; incompressible input grows by less than one percent.
pub(super) fn encode(values: &[u8]) -> Vec<u8> {
    lz4_flex::block::compress(values)
}

/// A byte that prolongs a match stands for 255 bytes, and no byte for more.
const MAX_RATIO: usize = 255;

/// Decodes to exactly `len` bytes.
pub(super) fn decode(stored: &[u8], len: usize) -> Result<Vec<u8>> {
    if len / MAX_RATIO > stored.len() {
        return Err(Error::corrupt(format!("lz4: {len} bytes from a block of {}, at most {MAX_RATIO} from each", stored.len())));
    }
    let mut out = vec![0; len];
    match lz4_flex::block::decompress_into(stored, &mut out) {
        Ok(found) if found == len => Ok(out),
        Ok(found) => Err(Error::corrupt(format!("lz4: {found} bytes, expected {len}"))),
        Err(error) => Err(Error::corrupt(format!("lz4: {error}"))),
    }
}
