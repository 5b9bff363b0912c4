//! Zstandard: one frame per page, without a dictionary. Follows `format-spec/codecs.md#zstd`.

use std::cell::RefCell;

use crate::error::{Error, Result, counted};

thread_local! {
    // Setting up a context initializes about 100 KB, and pages are small: each thread keeps its contexts.
    static COMPRESSOR: RefCell<Option<(i32, zstd::bulk::Compressor<'static>)>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Compresses at the given level.
pub(super) fn encode(values: &[u8], level: i32) -> Result<Vec<u8>> {
    COMPRESSOR.with_borrow_mut(|slot| {
        let compressor = match slot {
            Some((current, compressor)) if *current == level => compressor,
            _ => &mut slot.insert((level, zstd::bulk::Compressor::new(level).map_err(failed)?)).1,
        };
        compressor.compress(values).map_err(failed)
    })
}

fn failed(error: std::io::Error) -> Error {
    Error::internal(format!("zstd: {error}"))
}

/// Maximum number of decoded bytes per stored byte: a block of a frame takes at least 4 bytes and decodes to at most 128 KiB.
pub(super) const MAX_RATIO: usize = 32 << 10;

/// Decodes one frame, which must be all of `stored` and fill `out` exactly. Needs no memory beyond the context, whatever the
/// frame claims.
pub(super) fn decode(stored: &[u8], out: &mut [u8]) -> Result<()> {
    let frame = zstd::zstd_safe::find_frame_compressed_size(stored);
    if frame != Ok(stored.len()) || !stored.starts_with(&zstd::zstd_safe::MAGICNUMBER.to_le_bytes()) {
        return Err(Error::corrupt(format!("zstd: {}, expected exactly one frame", counted(stored.len(), "byte"))));
    }
    DECOMPRESSOR.with_borrow_mut(|slot| {
        let decompressor = match slot {
            Some(decompressor) => decompressor,
            None => slot.insert(zstd::bulk::Decompressor::new().map_err(failed)?),
        };
        match decompressor.decompress_to_buffer(stored, out) {
            Ok(found) if found == out.len() => Ok(()),
            Ok(found) => Err(Error::corrupt(format!("zstd: {}, expected {}", counted(found, "byte"), out.len()))),
            Err(error) => Err(Error::corrupt(format!("zstd: {error}"))),
        }
    })
}
