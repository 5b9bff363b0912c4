//! Identifiers as distinct types, so that they cannot be confused: content hashes and the objects that they name.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use crate::error::{Error, Result};

/// A BLAKE3 hash; 64 lower-case hex digits in text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// Computes the plain BLAKE3 of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// Returns the first 8 bytes as a little-endian number. Cuts and seeds use this number.
    pub fn first_u64(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }

    /// Creates a hash from exactly 32 bytes; `None` for any other length.
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Returns the 64 hex digits. Every read builds names of chunks, and this takes a tenth of the time of formatting 32 bytes.
    fn digits(&self) -> [u8; 64] {
        let digit = |nibble: u8| if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 };
        let mut digits = [0; 64];
        for (two, byte) in digits.as_chunks_mut::<2>().0.iter_mut().zip(self.0) {
            *two = [digit(byte >> 4), digit(byte & 15)];
        }
        digits
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.digits()).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Hash {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let canonical = text.len() == 64 && text.bytes().all(|c| c.is_ascii_digit() || (b'a'..=b'f').contains(&c));
        let hash = canonical.then(|| blake3::Hash::from_hex(text).ok()).flatten();
        hash.map(|hash| Self(*hash.as_bytes())).ok_or_else(|| {
            Error::corrupt(format!("hash `{}`: expected 64 lower-case hex digits", text.chars().take(80).collect::<String>()))
        })
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The name of a chunk: the BLAKE3 of its stored bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChunkId(pub Hash);

impl ChunkId {
    /// Returns the name of the object that holds the chunk: `chunks/{aa}/{blake3}`.
    pub fn object_name(&self) -> String {
        let digits = self.0.digits();
        let hex = std::str::from_utf8(&digits).unwrap_or_default();
        ["chunks/", hex.get(..2).unwrap_or_default(), "/", hex].concat()
    }
}

impl fmt::Display for ChunkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A change puts its salt into every object that it stores. So two changes never make objects of the same name, and a late delete of a
/// garbage collection removes nothing that was written since. Without a salt, the same rows make the same bytes
/// (`format-spec/collections.md#salt`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Salt(pub Option<Uuid>);

impl Salt {
    /// No salt: the same rows make the same bytes.
    pub const NONE: Self = Self(None);
}

/// A reference to an object in a manifest. Readers check size and content of the object before they parse it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectRef {
    /// BLAKE3 of the object's bytes; also its name within its folder.
    pub blake3: Hash,
    /// Length of the object in bytes.
    pub bytes: u64,
}

impl ObjectRef {
    /// Returns the reference to an object with this content.
    pub fn of(content: &[u8]) -> Self {
        Self { blake3: Hash::of(content), bytes: content.len() as u64 }
    }

    /// Returns the name of the object in a folder of the table (`format-spec/README.md#objects`).
    pub fn name_in(&self, folder: &str) -> String {
        match folder {
            "chunks" => ChunkId(self.blake3).object_name(),
            "attachments" => format!("attachments/{}", self.blake3),
            "collections" => format!("collections/{}.json", self.blake3),
            _ => format!("{folder}/{}.parquet", self.blake3),
        }
    }
}

/// Hashes a list of numbers and texts. Different lists have different bytes: 8 for a number, 16 for a wide one, low byte first, and for a
/// text its length and its UTF-8.
#[derive(Default)]
pub(crate) struct Digest(blake3::Hasher);

impl Digest {
    pub(crate) fn number(&mut self, number: u64) -> &mut Self {
        self.0.update(&number.to_le_bytes());
        self
    }

    pub(crate) fn wide(&mut self, number: i128) -> &mut Self {
        self.0.update(&number.to_le_bytes());
        self
    }

    pub(crate) fn numbers(&mut self, numbers: impl ExactSizeIterator<Item = u64>) -> &mut Self {
        self.number(numbers.len() as u64);
        numbers.for_each(|number| {
            self.number(number);
        });
        self
    }

    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.number(text.len() as u64).0.update(text.as_bytes());
        self
    }

    pub(crate) fn hash(&mut self, hash: &Hash) -> &mut Self {
        self.0.update(&hash.0);
        self
    }

    pub(crate) fn finish(&self) -> Hash {
        Hash(*self.0.finalize().as_bytes())
    }

    /// Returns the first 8 bytes of the hash as 16 hexadecimal digits.
    pub(crate) fn digits(&self) -> String {
        self.finish().to_string().chars().take(16).collect()
    }
}
