//! Packed lengths: each number is stored as its distance from the smallest number, in as few bits as the largest distance needs.
//! Follows `format-spec/canonical.md#lengths`.
//!
//! The structure of pages, the layouts and the sequence lengths use this node. Layouts keep it packed in memory and compute
//! single numbers and prefix sums from it.

use std::{ops::RangeInclusive, sync::Arc};

use super::cursor::Cursor;
use crate::error::{Error, Result};

/// Interval of the stored prefix sums, in numbers.
const CHECKPOINT: usize = 16;

/// Packed `u32` lengths with prefix sums. Clones share their memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedLengths {
    count: usize,
    base: u32,
    width: u8,
    bits: Arc<[u8]>,
    /// `checkpoints[k]` is the sum of the first `(k + 1) * CHECKPOINT` numbers. Empty if all numbers are equal.
    checkpoints: Arc<[u64]>,
}

impl PackedLengths {
    /// Bytes of the header of a node: base and width.
    const HEADER: usize = 5;

    /// Appends the node of `lengths` to `out`.
    pub fn write(lengths: &[u32], out: &mut Vec<u8>) {
        let base = lengths.iter().copied().min().unwrap_or(0);
        let span = lengths.iter().copied().max().unwrap_or(0) - base;
        let width = u32::BITS - span.leading_zeros();
        out.extend(base.to_le_bytes());
        out.push(width.to_le_bytes()[0]);
        if width == 0 {
            return;
        }
        let (mut buffer, mut filled) = (0_u64, 0_u32);
        for length in lengths {
            buffer |= u64::from(length - base) << filled;
            filled += width;
            while filled >= 8 {
                out.push(buffer.to_le_bytes()[0]);
                buffer >>= 8;
                filled -= 8;
            }
        }
        if filled > 0 {
            out.push(buffer.to_le_bytes()[0]);
        }
    }

    /// Reads the node of `count` numbers. Only the canonical encoding is accepted.
    pub(super) fn read(cursor: &mut Cursor<'_>, count: usize) -> Result<Self> {
        let base = cursor.u32()?;
        let width = cursor.u8()?;
        if width > 32 || (count == 0 && (base != 0 || width != 0)) {
            return Err(Error::corrupt(format!("packed lengths: base {base}, width {width} for {count} numbers")));
        }
        let bits = count.checked_mul(usize::from(width)).ok_or_else(|| Error::corrupt("packed lengths: too many"))?;
        let bytes = cursor.take(bits.div_ceil(8))?;
        let mut lengths = Self { count, base, width, bits: bytes.into(), checkpoints: Arc::default() };
        if width > 0 {
            lengths.check(bits)?;
        }
        Ok(lengths)
    }

    /// Parses a node of `count` numbers that fills `bytes`.
    ///
    /// # Errors
    /// - `Corrupt`: the bytes are not the canonical node of `count` numbers.
    pub fn from_bytes(bytes: &[u8], count: usize) -> Result<Self> {
        let mut cursor = Cursor::new(bytes, "packed lengths");
        let lengths = Self::read(&mut cursor, count)?;
        cursor.end()?;
        Ok(lengths)
    }

    fn check(&mut self, bits: usize) -> Result<()> {
        let (mut any, mut zero, mut sum) = (0_u32, false, 0_u64);
        let mut checkpoints = Vec::with_capacity(self.count / CHECKPOINT);
        for position in 0..self.count {
            let distance = self.distance(position);
            any |= distance;
            zero |= distance == 0;
            let length = self.base.checked_add(distance).ok_or_else(|| Error::corrupt("packed lengths: a length over 2^32"))?;
            sum += u64::from(length);
            if (position + 1) % CHECKPOINT == 0 {
                checkpoints.push(sum);
            }
        }
        let unused = bits.next_multiple_of(8) - bits;
        let tail = self.bits.last().copied().unwrap_or(0);
        if any.leading_zeros() != 32 - u32::from(self.width) || !zero || (unused > 0 && tail >> (8 - unused) != 0) {
            return Err(Error::corrupt(format!(
                "packed lengths: width {} and base {} are not the smallest for these numbers",
                self.width, self.base
            )));
        }
        self.checkpoints = checkpoints.into();
        Ok(())
    }

    /// Returns how many numbers the node has.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether the node has no numbers.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether all numbers are equal and therefore take no bits.
    pub(super) fn is_uniform(&self) -> bool {
        self.width == 0
    }

    fn distance(&self, position: usize) -> u32 {
        let first = position * usize::from(self.width);
        let mut word = [0_u8; 8];
        let bytes = self.bits.get(first / 8..).unwrap_or_default();
        match bytes.first_chunk::<8>() {
            Some(eight) => word = *eight,
            None => word.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from),
        }
        let mask = (1_u64 << self.width) - 1;
        u32::try_from((u64::from_le_bytes(word) >> (first % 8)) & mask).unwrap_or(u32::MAX)
    }

    /// Returns the number at `position`, which must be less than [`PackedLengths::len`].
    pub fn get(&self, position: usize) -> u32 {
        debug_assert!(position < self.count);
        if self.width == 0 { self.base } else { self.base.wrapping_add(self.distance(position)) }
    }

    /// Returns the sum of the first `count` numbers.
    pub fn sum_of_first(&self, count: usize) -> u64 {
        let count = count.min(self.count);
        if self.width == 0 {
            return u64::from(self.base).saturating_mul(count as u64);
        }
        let (mut sum, mut position) = match (count / CHECKPOINT).checked_sub(1).and_then(|k| self.checkpoints.get(k)) {
            Some(sum) => (*sum, count / CHECKPOINT * CHECKPOINT),
            None => (0, 0),
        };
        while position < count {
            sum += u64::from(self.get(position));
            position += 1;
        }
        sum
    }

    /// Returns the sum of all numbers.
    pub fn sum(&self) -> u64 {
        self.sum_of_first(self.count)
    }

    /// Lays the numbers end to end as spans, and returns the position of the span with `target` and the start of that span;
    /// `None` past the end. The span of a zero is empty.
    pub fn find(&self, target: u64) -> Option<(usize, u64)> {
        if self.width == 0 {
            let base = u64::from(self.base);
            let position = usize::try_from(target.checked_div(base)?).ok()?;
            return (position < self.count).then(|| (position, position as u64 * base));
        }
        let passed = self.checkpoints.partition_point(|sum| *sum <= target);
        let mut start = passed.checked_sub(1).and_then(|k| self.checkpoints.get(k)).copied().unwrap_or(0);
        for position in passed * CHECKPOINT..self.count {
            let end = start + u64::from(self.get(position));
            if target < end {
                return Some((position, start));
            }
            start = end;
        }
        None
    }

    /// Iterates over the numbers in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u32> {
        (0..self.count).map(|position| self.get(position))
    }

    /// Whether every number is in `range`. Usually the base and the width decide, without a look at the numbers.
    pub(super) fn all_within(&self, range: RangeInclusive<u32>) -> bool {
        let most = u64::from(self.base) + ((1_u64 << self.width) - 1);
        let below = most <= u64::from(*range.end()) || self.iter().all(|number| number <= *range.end());
        self.count == 0 || (self.base >= *range.start() && below)
    }

    /// Returns the smallest number; 0 if the node is empty.
    pub(super) fn least(&self) -> u32 {
        self.base
    }

    /// Returns the bits of each distance.
    pub(super) fn width(&self) -> u8 {
        self.width
    }

    /// Returns the bytes that the node takes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.bits.len() + self.checkpoints.len() * 8
    }

    /// Returns the stored bytes of the node.
    pub fn stored_bytes(&self) -> usize {
        Self::HEADER + self.bits.len()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may panic")]
mod tests {
    use super::*;

    fn pack(lengths: &[u32]) -> (Vec<u8>, PackedLengths) {
        let mut bytes = Vec::new();
        PackedLengths::write(lengths, &mut bytes);
        let packed = PackedLengths::from_bytes(&bytes, lengths.len()).unwrap();
        (bytes, packed)
    }

    fn samples() -> Vec<Vec<u32>> {
        vec![
            vec![],
            vec![7],
            vec![u32::MAX, 0],
            vec![5; 1000],
            (0..1000).map(|i| i * i % 977).collect(),
            (0..129).map(|i| if i == 128 { u32::MAX } else { 3 }).collect(),
        ]
    }

    #[test]
    fn numbers_sums_and_places_equal_those_of_the_plain_list() {
        for lengths in samples() {
            let (_, packed) = pack(&lengths);
            assert_eq!(packed.iter().collect::<Vec<_>>(), lengths);
            let mut start = 0;
            for (position, length) in lengths.iter().enumerate() {
                assert_eq!(packed.sum_of_first(position), start);
                if *length > 0 {
                    assert_eq!(packed.find(start), Some((position, start)));
                    assert_eq!(packed.find(start + u64::from(*length) - 1), Some((position, start)));
                }
                start += u64::from(*length);
            }
            let (least, most) = (lengths.iter().copied().min().unwrap_or(1), lengths.iter().copied().max().unwrap_or(0));
            assert!(packed.all_within(least..=most));
            assert_eq!(packed.all_within(least + 1..=u32::MAX), lengths.is_empty());
            assert_eq!(packed.all_within(0..=most.wrapping_sub(1)), lengths.is_empty());
            assert_eq!(packed.sum(), start);
            assert_eq!(packed.find(start), None);
        }
    }

    #[test]
    fn there_is_one_spelling() {
        for lengths in samples() {
            let (bytes, packed) = pack(&lengths);
            for cut in 0..bytes.len() {
                assert!(PackedLengths::from_bytes(&bytes[..cut], lengths.len()).is_err());
            }
            for position in 0..bytes.len() {
                for bit in 0..8 {
                    let mut flipped = bytes.clone();
                    flipped[position] ^= 1 << bit;
                    if let Ok(other) = PackedLengths::from_bytes(&flipped, lengths.len()) {
                        assert_ne!(other, packed);
                        let mut again = Vec::new();
                        PackedLengths::write(&other.iter().collect::<Vec<_>>(), &mut again);
                        assert_eq!(again, flipped);
                    }
                }
            }
        }
    }
}
