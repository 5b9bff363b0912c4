//! Locators: the `i64` values in a frame that identify a row of a table version. Follows `format-spec/locator.md#layout`.

use std::fmt;

use uuid::Uuid;

use crate::error::{Error, Result};
use crate::id::Hash;

/// Identifies a row of a table version in a non-negative `i64`: a 15-bit tag of table and version in the high bits, and a 48-bit
/// row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Locator {
    /// Tag of the table and version.
    pub tag: u16,
    /// Row within that version.
    pub row: u64,
}

impl Locator {
    /// Maximum number of rows of a table.
    pub const MAX_ROWS: u64 = 1 << 48;
    /// The value for "no partner" in a frame.
    pub const NONE: i64 = -1;

    /// Returns the tag of a table version.
    pub fn tag(table: Uuid, version: u64) -> u16 {
        let mut hasher = blake3::Hasher::new_derive_key("tetrys format 1 locator tag");
        hasher.update(table.as_bytes());
        hasher.update(&version.to_le_bytes());
        let [low, high, ..] = Hash(*hasher.finalize().as_bytes()).0;
        u16::from_le_bytes([low, high]) & 0x7fff
    }

    /// Returns the value that a frame stores.
    pub fn to_i64(self) -> i64 {
        (i64::from(self.tag) << 48) | i64::try_from(self.row & (Self::MAX_ROWS - 1)).unwrap_or(0)
    }

    /// Parses a value of a frame; `None` for "no partner".
    ///
    /// # Errors
    /// - `Invalid`: the value is negative and not [`Locator::NONE`].
    pub fn from_i64(value: i64) -> Result<Option<Self>> {
        match u64::try_from(value) {
            Ok(bits) => {
                let tag = u16::try_from(bits >> 48).unwrap_or(u16::MAX);
                Ok(Some(Self { tag, row: bits & (Self::MAX_ROWS - 1) }))
            }
            Err(_) if value == Self::NONE => Ok(None),
            Err(_) => Err(Error::invalid(format!("locator {value}: expected -1 (no partner) or a non-negative number"))),
        }
    }
}

impl fmt::Display for Locator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {} of source {:04x}", self.row, self.tag)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests may panic")]
mod tests {
    use super::*;

    #[test]
    fn a_locator_is_never_negative_and_comes_back() {
        for locator in [Locator { tag: 0, row: 0 }, Locator { tag: 0x7fff, row: Locator::MAX_ROWS - 1 }] {
            assert!(locator.to_i64() >= 0);
            assert_eq!(Locator::from_i64(locator.to_i64()).unwrap(), Some(locator));
        }
        assert_eq!(Locator::from_i64(-1).unwrap(), None);
        assert!(Locator::from_i64(-2).is_err());
    }
}
