//! Bit shuffle: the lowest bits of all elements, then all second bits, and so on; a rest of fewer than eight elements stays
//! behind them as it is. Follows `format-spec/codecs.md#bit-shuffle`.
//!
//! Eight rows of bits are eight words; a butterfly of three stages over them transposes 64 blocks of 8 by 8 bits in plain
//! vector operations, and a byte transposition puts the elements in order.

/// Elements handled together: 128 bytes of each of eight rows.
const TILE: usize = 1024;
const ROW: usize = TILE / 8;

/// Brings bits of equal significance together.
pub(super) fn shuffle(values: &[u8], width: usize) -> Vec<u8> {
    match width {
        1 => split_bits::<1>(values),
        2 => split_bits::<2>(values),
        4 => split_bits::<4>(values),
        _ => split_bits::<8>(values),
    }
}

/// The inverse of [`shuffle`].
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
    let (elements, _) = values[..count * W].as_chunks::<W>();
    for (number, elements) in elements.chunks(TILE).enumerate() {
        let (start, len) = (number * ROW, elements.len() / 8);
        let (groups, _) = elements.as_chunks::<8>();
        for byte in 0..W {
            let mut rows = [[0; ROW]; 8];
            for (place, group) in groups.iter().enumerate() {
                for (row, element) in rows.iter_mut().zip(group) {
                    row[place] = element[byte];
                }
            }
            transpose_bits(&mut rows);
            for (bit, bits) in rows.iter().enumerate() {
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
    let mut planes = [[[0; 8]; ROW]; W];
    let mut tile = [[[0; W]; 8]; ROW];
    for start in (0..row).step_by(ROW) {
        let len = ROW.min(row - start);
        for (byte, plane) in planes.iter_mut().enumerate() {
            let mut rows = [[0; ROW]; 8];
            for (bit, bits) in rows.iter_mut().enumerate() {
                bits[..len].copy_from_slice(&stored[(8 * byte + bit) * row + start..][..len]);
            }
            transpose_bits(&mut rows);
            for (place, group) in plane.iter_mut().enumerate() {
                *group = std::array::from_fn(|element| rows[element][place]);
            }
        }
        for (place, group) in tile.iter_mut().enumerate() {
            *group = std::array::from_fn(|element| std::array::from_fn(|byte| planes[byte][place][element]));
        }
        out.extend_from_slice(tile[..len].as_flattened().as_flattened());
    }
    out.extend_from_slice(&stored[count * W..]);
    out
}

/// Exchanges bit b of row r with bit r of row b, in every byte of the rows: its own inverse. Each stage exchanges halves of
/// the blocks, then quarters, then single bits (Warren, Hacker's Delight, 7-3).
fn transpose_bits(rows: &mut [[u8; ROW]; 8]) {
    for place in (0..ROW).step_by(8) {
        let mut words: [u64; 8] =
            std::array::from_fn(|row| u64::from_le_bytes(rows[row][place..].first_chunk().copied().unwrap_or_default()));
        for (distance, mask) in [(4, 0x0f0f_0f0f_0f0f_0f0f_u64), (2, 0x3333_3333_3333_3333), (1, 0x5555_5555_5555_5555)] {
            for low in 0..8 {
                if low & distance == 0 {
                    let high = low + distance;
                    let exchanged = ((words[low] >> distance) ^ words[high]) & mask;
                    words[high] ^= exchanged;
                    words[low] ^= exchanged << distance;
                }
            }
        }
        for (row, word) in rows.iter_mut().zip(words) {
            row[place..place + 8].copy_from_slice(&word.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The specification's sentence, bit by bit.
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
                    let values: Vec<u8> = (0..count * width + rest).map(|i| (i * i * 31 >> 3) as u8).collect();
                    let shuffled = shuffle(&values, width);
                    assert_eq!(shuffled, by_definition(&values, width), "{width} {count} {rest}");
                    assert_eq!(unshuffle(&shuffled, width), values, "{width} {count} {rest}");
                }
            }
        }
    }
}
