//! Bit shuffle: stores the lowest bits of all elements, then all second bits, and so on. The last `count % 8` elements follow
//! unchanged. Follows `format-spec/codecs.md#bit-shuffle`.
//!
//! Eight rows of bits are loaded as eight words. Three butterfly stages over these words transpose 8 blocks of 8 by 8 bits with
//! plain vector operations. Interleaving byte planes then puts the elements in order.

use super::interleave::{interleave, part};

/// Number of elements processed together: 128 bytes in each of eight rows.
const TILE: usize = 1024;
const ROW: usize = TILE / 8;

/// Groups bits of equal significance.
pub(super) fn shuffle(values: &[u8], width: usize) -> Vec<u8> {
    match width {
        1 => split_bits::<1>(values),
        2 => split_bits::<2>(values),
        4 => split_bits::<4>(values),
        _ => split_bits::<8>(values),
    }
}

/// Inverts [`shuffle`].
pub(super) fn unshuffle(stored: &[u8], width: usize) -> Vec<u8> {
    match width {
        1 => join_bits::<1>(stored),
        2 => join_bits::<2>(stored),
        4 => join_bits::<4>(stored),
        _ => join_bits::<8>(stored),
    }
}

fn split_bits<const W: usize>(values: &[u8]) -> Vec<u8> {
    let count = values.len() / (8 * W) * 8;
    let row = count / 8;
    let mut out = vec![0; values.len()];
    out[count * W..].copy_from_slice(&values[count * W..]);
    let (mut tile, mut spare) = ([[0; TILE]; W], [[0; TILE]; W]);
    let (mut rows, mut other) = ([0; TILE], [0; TILE]);
    for (number, elements) in values[..count * W].chunks(TILE * W).enumerate() {
        let (start, len) = (number * ROW, elements.len() / (8 * W));
        tile.as_flattened_mut()[..elements.len()].copy_from_slice(elements);
        let planes = part::<TILE>(tile.as_flattened_mut(), spare.as_flattened_mut());
        for (byte, plane) in planes.as_chunks::<TILE>().0.iter().enumerate() {
            rows.copy_from_slice(plane);
            let rows = part::<ROW>(&mut rows, &mut other);
            transpose_bits(rows);
            for (bit, bits) in rows.chunks_exact(ROW).enumerate() {
                out[(8 * byte + bit) * row + start..][..len].copy_from_slice(&bits[..len]);
            }
        }
    }
    out
}

fn join_bits<const W: usize>(stored: &[u8]) -> Vec<u8> {
    let count = stored.len() / (8 * W) * 8;
    let row = count / 8;
    let mut out = Vec::with_capacity(stored.len());
    let (mut tile, mut spare) = ([[0; TILE]; W], [[0; TILE]; W]);
    let (mut rows, mut other) = ([0; TILE], [0; TILE]);
    for start in (0..row).step_by(ROW) {
        let len = ROW.min(row - start);
        for (byte, plane) in tile.iter_mut().enumerate() {
            for (bit, bits) in rows.chunks_exact_mut(ROW).enumerate() {
                bits[..len].copy_from_slice(&stored[(8 * byte + bit) * row + start..][..len]);
            }
            transpose_bits(&mut rows);
            plane.copy_from_slice(interleave::<ROW>(&mut rows, &mut other));
        }
        let elements = interleave::<TILE>(tile.as_flattened_mut(), spare.as_flattened_mut());
        out.extend_from_slice(&elements[..len * 8 * W]);
    }
    out.extend_from_slice(&stored[count * W..]);
    out
}

/// Exchanges bit b of row r with bit r of row b, in every byte of the eight rows. The function is its own inverse. The stages
/// exchange halves of the blocks, then quarters, then single bits (Warren, Hacker's Delight, 7-3).
fn transpose_bits(rows: &mut [u8]) {
    let mut words = [[0_u64; ROW / 8]; 8];
    for (word, bytes) in words.as_flattened_mut().iter_mut().zip(rows.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    for (distance, mask) in [(4, 0x0f0f_0f0f_0f0f_0f0f_u64), (2, 0x3333_3333_3333_3333), (1, 0x5555_5555_5555_5555)] {
        for rows in words.chunks_exact_mut(2 * distance) {
            let (low, high) = rows.split_at_mut(distance);
            for (low, high) in low.as_flattened_mut().iter_mut().zip(high.as_flattened_mut()) {
                let exchanged = ((*low >> distance) ^ *high) & mask;
                *high ^= exchanged;
                *low ^= exchanged << distance;
            }
        }
    }
    for (word, bytes) in words.as_flattened().iter().zip(rows.as_chunks_mut::<8>().0) {
        *bytes = word.to_le_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition of the specification, bit by bit.
    fn by_definition(values: &[u8], width: usize) -> Vec<u8> {
        let count = values.len() / (8 * width) * 8;
        let mut out = values.to_vec();
        out[..count * width].fill(0);
        for element in 0..count {
            for byte in 0..width {
                for bit in 0..8 {
                    let value = values[element * width + byte] >> bit & 1;
                    out[(8 * byte + bit) * (count / 8) + element / 8] |= value << (element % 8);
                }
            }
        }
        out
    }

    #[test]
    fn the_example_of_the_specification() {
        assert_eq!(shuffle(&[1, 1, 0, 0, 0, 0, 0, 0x81, 9], 1), [0x83, 0, 0, 0, 0, 0, 0, 0x80, 9]);
    }

    #[test]
    fn bits_go_where_the_definition_says_and_come_back() {
        for width in [1, 2, 4, 8] {
            for count in [0, 1, 7, 8, 9, 64, 1000, TILE, TILE + 8, 3 * TILE + 77] {
                for rest in [0, width - 1] {
                    let values: Vec<u8> = (0..count * width + rest).map(|i| ((i * i * 31) >> 3) as u8).collect();
                    let shuffled = shuffle(&values, width);
                    assert_eq!(shuffled, by_definition(&values, width), "{width} {count} {rest}");
                    assert_eq!(unshuffle(&shuffled, width), values, "{width} {count} {rest}");
                }
            }
        }
    }
}
