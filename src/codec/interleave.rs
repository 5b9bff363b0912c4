//! Interleaves planes of bytes, and separates them again: the kernel of the byte shuffle and the bit shuffle.
//!
//! Each stage merges pairs of planes until one plane is left, in loops of constant length that compilers turn into vector
//! interleaves. A single pass that gathers one byte from each plane takes two to four times as long.

/// Interleaves `from`, which holds 1, 2, 4, 8 or 16 planes of `LEN` bytes one after the other: the result has byte 0 of every
/// plane, then byte 1 of every plane, and so on. Uses `spare`, of equal length. Returns whichever of the two slices holds
/// the result.
pub(super) fn interleave<'a, const LEN: usize>(mut from: &'a mut [u8], mut spare: &'a mut [u8]) -> &'a mut [u8] {
    let planes = from.len() / LEN;
    for (least, merge) in [(2, merge::<LEN, 1> as Stage), (4, merge::<LEN, 2>), (8, merge::<LEN, 4>), (16, merge::<LEN, 8>)] {
        if planes >= least {
            merge(from, spare);
            std::mem::swap(&mut from, &mut spare);
        }
    }
    from
}

/// Inverts [`interleave`]: `from` holds `LEN` elements of 1, 2, 4, 8 or 16 bytes.
pub(super) fn part<'a, const LEN: usize>(mut from: &'a mut [u8], mut spare: &'a mut [u8]) -> &'a mut [u8] {
    let planes = from.len() / LEN;
    for (least, halve) in [(16, halve::<LEN, 8> as Stage), (8, halve::<LEN, 4>), (4, halve::<LEN, 2>), (2, halve::<LEN, 1>)] {
        if planes >= least {
            halve(from, spare);
            std::mem::swap(&mut from, &mut spare);
        }
    }
    from
}

type Stage = fn(&[u8], &mut [u8]);

/// Interleaves each pair of neighbouring planes of `LEN` elements of `K` bytes.
fn merge<const LEN: usize, const K: usize>(from: &[u8], to: &mut [u8]) {
    for (pair, merged) in from.chunks_exact(2 * LEN * K).zip(to.chunks_exact_mut(2 * LEN * K)) {
        let (first, second) = pair.split_at(LEN * K);
        let (both, _) = merged.as_chunks_mut::<K>().0.as_chunks_mut::<2>();
        for ((both, first), second) in both.iter_mut().zip(first.as_chunks::<K>().0).zip(second.as_chunks::<K>().0) {
            *both = [*first, *second];
        }
    }
}

/// Inverts [`merge`].
fn halve<const LEN: usize, const K: usize>(from: &[u8], to: &mut [u8]) {
    for (merged, pair) in from.chunks_exact(2 * LEN * K).zip(to.chunks_exact_mut(2 * LEN * K)) {
        let (first, second) = pair.split_at_mut(LEN * K);
        let (both, _) = merged.as_chunks::<K>().0.as_chunks::<2>();
        let to = first.as_chunks_mut::<K>().0.iter_mut().zip(second.as_chunks_mut::<K>().0);
        for ((first, second), both) in to.zip(both) {
            [*first, *second] = *both;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_goes_to_its_element_and_back() {
        for planes in [1, 2, 4, 8, 16] {
            let values: Vec<u8> = (0..planes * 64).map(|i| (i * 7 + i / 64) as u8).collect();
            let (mut tile, mut spare) = (values.clone(), vec![0; values.len()]);
            let mut found = interleave::<64>(&mut tile, &mut spare).to_vec();
            for (position, byte) in found.iter().enumerate() {
                assert_eq!(*byte, values[position % planes * 64 + position / planes], "{planes} {position}");
            }
            assert_eq!(part::<64>(&mut found, &mut spare), values, "{planes}");
        }
    }
}
