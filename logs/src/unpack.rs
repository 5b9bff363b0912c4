//! Decompresses the chunks of files. No I/O.

use std::io::{self, Read};

use bytes::Bytes;

/// Reads what a decoder gives until it ends or fails. `stored` is the number of compressed bytes, `size` the stated number of the others:
/// that is only a claim, so memory grows with what is found.
pub(crate) fn unpack(mut decoder: impl Read, size: u64, stored: usize) -> (Bytes, Option<io::Error>) {
    let claimed = usize::try_from(size).unwrap_or(usize::MAX);
    let mut data = Vec::with_capacity(claimed.min(stored.saturating_mul(16)).saturating_add(1));
    let failed = decoder.read_to_end(&mut data).err();
    (data.into(), failed)
}
