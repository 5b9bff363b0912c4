//! Checksums of pages, directories and headers: XXH3-64. The seed depends on chunk and position, so a valid block at the wrong
//! position fails its checksum. Follows `format-spec/checksums.md#seeds`.

use std::hash::Hasher;

use twox_hash::XxHash3_64;

use crate::id::{Hash, Salt};

/// The 64-bit seed of a chunk, derived from its logical block hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChunkSeed(pub u64);

impl ChunkSeed {
    /// Returns the seed of a chunk with this salt.
    pub(super) fn salted(self, salt: Salt) -> Self {
        Self(salt.0.map_or(self.0, |salt| self.0 ^ salt.as_u64_pair().0))
    }

    /// Computes the checksum of the header or the directory of the chunk.
    pub(super) fn of_chunk(self, bytes: &[u8]) -> u64 {
        XxHash3_64::oneshot_with_seed(self.0, bytes)
    }

    /// Computes the checksum of a block directory: slot 0 of block `ordinal`.
    pub(super) fn of_directory(self, ordinal: u32, bytes: &[u8]) -> u64 {
        self.of_slot(ordinal, 0, bytes)
    }

    /// Computes the checksum of a page: slot `page + 1` of block `ordinal`.
    pub(super) fn of_page(self, ordinal: u32, page: u16, bytes: &[u8]) -> u64 {
        self.of_slot(ordinal, u64::from(page) + 1, bytes)
    }

    /// Computes the checksum of a page whose bytes are in three parts, as [`ChunkSeed::of_page`] does for one slice.
    pub(super) fn of_page_parts(self, ordinal: u32, page: u16, parts: [&[u8]; 3]) -> u64 {
        let mut hasher = XxHash3_64::with_seed(self.of_place(ordinal, u64::from(page) + 1));
        parts.into_iter().for_each(|part| hasher.write(part));
        hasher.finish()
    }

    fn of_slot(self, ordinal: u32, slot: u64, bytes: &[u8]) -> u64 {
        XxHash3_64::oneshot_with_seed(self.of_place(ordinal, slot), bytes)
    }

    fn of_place(self, ordinal: u32, slot: u64) -> u64 {
        self.0 ^ (u64::from(ordinal) * 65_536 + slot).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}

/// Computes the seed of a chunk from the logical hashes of its blocks (`format-spec/chunk.md#seed`).
pub fn chunk_seed<'a>(hashes: impl IntoIterator<Item = &'a Hash>) -> ChunkSeed {
    let mut hasher = blake3::Hasher::new_derive_key("tetrys format 1 chunk seed");
    for hash in hashes {
        hasher.update(&hash.0);
    }
    ChunkSeed(Hash(*hasher.finalize().as_bytes()).first_u64())
}
