//! Page, directory and header checksums: XXH3-64, seeded so that a valid block in the wrong place fails.
//! Follows `format-spec/checksums.md#seeds`.

use std::hash::Hasher;

use twox_hash::XxHash3_64;

use crate::id::Hash;

/// The 8-byte seed of a chunk; from its logical block hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChunkSeed(pub u64);

impl ChunkSeed {
    /// The checksum of a header or salvage directory of the chunk.
    pub(super) fn of_chunk(self, bytes: &[u8]) -> u64 {
        XxHash3_64::oneshot_with_seed(self.0, bytes)
    }

    /// The checksum of a block directory: slot 0 of block `ordinal`.
    pub(super) fn of_directory(self, ordinal: u32, bytes: &[u8]) -> u64 {
        self.of_slot(ordinal, 0, bytes)
    }

    /// The checksum of a page: slot `page + 1` of block `ordinal`.
    pub(super) fn of_page(self, ordinal: u32, page: u16, bytes: &[u8]) -> u64 {
        self.of_slot(ordinal, u64::from(page) + 1, bytes)
    }

    /// As [`ChunkSeed::of_page`], of bytes that lie in parts.
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

/// The seed of a chunk that holds blocks with these logical hashes (`format-spec/chunk.md#seed`).
pub fn chunk_seed<'a>(hashes: impl IntoIterator<Item = &'a Hash>) -> ChunkSeed {
    let mut hasher = blake3::Hasher::new_derive_key("tetrys format 1 chunk seed");
    for hash in hashes {
        hasher.update(&hash.0);
    }
    ChunkSeed(Hash(*hasher.finalize().as_bytes()).first_u64())
}
