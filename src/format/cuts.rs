//! Decides where to cut rows into blocks and blocks into chunks. The rules are pure functions of logical bytes and hashes, so an
//! inserted or deleted row changes nearby blocks and chunks, not all that follow. Follows `format-spec/cuts.md#rows-into-blocks`
//! and `format-spec/cuts.md#blocks-into-chunks`.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The sizes that control the cuts, in logical bytes. The manifest stores them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "named by the rules below")]
#[must_use]
pub struct Cuts {
    pub block_min: u64,
    pub block_target: u64,
    pub block_max: u64,
    pub chunk_min: u64,
    pub chunk_target: u64,
    pub chunk_max: u64,
}

/// The most bytes of a chunk.
const MAX_CHUNK: u64 = 1 << 30;

impl Default for Cuts {
    fn default() -> Self {
        const KIB: u64 = 1 << 10;
        const MIB: u64 = 1 << 20;
        Self {
            block_min: 8 * KIB,
            block_target: 16 * KIB,
            block_max: 64 * KIB,
            chunk_min: 16 * MIB,
            chunk_target: 64 * MIB,
            chunk_max: 128 * MIB,
        }
    }
}

impl Cuts {
    /// Returns these cuts with chunks of at most `max` bytes; the target is half of `max`, the minimum an eighth.
    ///
    /// # Errors
    /// - `Invalid`: `max` is less than 8, or more than 1 GiB.
    pub fn with_chunk_max(mut self, max: u64) -> Result<Self> {
        if !(8..=MAX_CHUNK).contains(&max) {
            return Err(Error::invalid(format!("largest chunk: expected 8 to {MAX_CHUNK} bytes, found {max}")));
        }
        (self.chunk_min, self.chunk_target, self.chunk_max) = (max / 8, max / 2, max);
        self.check()
    }

    /// Checks the sizes: 1 <= min < target < max, with max at most 1 MiB for blocks and at most 1 GiB for chunks.
    ///
    /// # Errors
    /// - `Invalid`: the sizes violate a rule. The message names them.
    pub fn check(self) -> Result<Self> {
        for (what, min, target, max, most) in [
            ("block", self.block_min, self.block_target, self.block_max, 1_u64 << 20),
            ("chunk", self.chunk_min, self.chunk_target, self.chunk_max, MAX_CHUNK),
        ] {
            if min < 1 || target <= min || max <= target || max > most {
                return Err(Error::invalid(format!(
                    "cuts: {what} min/target/max {min}/{target}/{max}: expected 1 <= min < target < max <= {most}"
                )));
            }
        }
        Ok(self)
    }

    internal! {
        /// Whether a block of `filled` bytes ends before a next row of `row` bytes.
        fn block_ends_before(&self, filled: u64, row: u64) -> bool {
            filled > 0 && filled.saturating_add(row) > self.block_max
        }
    }

    internal! {
        /// Whether a block of `filled` bytes ends after its last row, which has `row` bytes and this hash.
        fn block_ends_after(&self, filled: u64, row: u64, row_hash: u64) -> bool {
            filled >= self.block_min && falls_below(row_hash, self.block_target - self.block_min, row)
        }
    }

    internal! {
        /// Whether a chunk of `filled` bytes ends before a next block of `next` bytes. If that block starts a sequence, `ended` has the
        /// bytes in this chunk of the sequence before, and the hash of the last block of that sequence.
        fn chunk_ends_before(&self, filled: u64, next: u64, ended: Option<(u64, u64)>) -> bool {
            if filled > 0 && filled.saturating_add(next) > self.chunk_max {
                return true;
            }
            ended.is_some_and(|(sequence, hash)| {
                filled >= self.chunk_min && falls_below(hash, self.chunk_target - self.chunk_min, sequence.saturating_mul(4))
            })
        }
    }

    internal! {
        /// Whether a chunk of `filled` bytes ends after its last block, which has `last` bytes and this hash.
        fn chunk_ends_after(&self, filled: u64, last: u64, hash: u64) -> bool {
            filled >= self.chunk_target && falls_below(hash, (self.chunk_max - self.chunk_target) / 2, last)
        }
    }
}

/// Returns true with probability `weight / span` for random hashes.
fn falls_below(hash: u64, span: u64, weight: u64) -> bool {
    (u128::from(hash) * u128::from(span)) >> 64 < u128::from(weight)
}
