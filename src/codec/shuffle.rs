//! Byte shuffle: the first bytes of all elements, then all second bytes, and so on; a rest shorter than an element stays
//! behind them as it is. Follows `format-spec/codecs.md#byte-shuffle`.

/// Elements handled together by the general case, so that one tile of input and output stays in cache.
const TILE: usize = 1024;

/// Brings bytes of equal significance together.
pub(super) fn shuffle(values: &[u8], width: usize) -> Vec<u8> {
    let count = values.len() / width;
    let mut out = vec![0; values.len()];
    let (body, rest) = values.split_at(count * width);
    let (planes, tail) = out.split_at_mut(count * width);
    tail.copy_from_slice(rest);
    if count == 0 {
        return out;
    }
    match width {
        2 => split_planes::<2>(body, planes, count),
        4 => split_planes::<4>(body, planes, count),
        8 => split_planes::<8>(body, planes, count),
        _ => {
            for start in (0..count).step_by(TILE) {
                let end = (start + TILE).min(count);
                for (byte, plane) in planes.chunks_exact_mut(count).enumerate() {
                    let tile = body[start * width + byte..end * width].iter().step_by(width);
                    plane[start..end].iter_mut().zip(tile).for_each(|(to, from)| *to = *from);
                }
            }
        }
    }
    out
}

/// The inverse of [`shuffle`].
pub(super) fn unshuffle(stored: &[u8], width: usize) -> Vec<u8> {
    let count = stored.len() / width;
    let mut out = vec![0; stored.len()];
    let (planes, rest) = stored.split_at(count * width);
    let (body, tail) = out.split_at_mut(count * width);
    tail.copy_from_slice(rest);
    if count == 0 {
        return out;
    }
    match width {
        2 => join_planes::<2>(planes, body, count),
        4 => join_planes::<4>(planes, body, count),
        8 => join_planes::<8>(planes, body, count),
        _ => {
            for start in (0..count).step_by(TILE) {
                let end = (start + TILE).min(count);
                for (byte, plane) in planes.chunks_exact(count).enumerate() {
                    let tile = body[start * width + byte..end * width].iter_mut().step_by(width);
                    tile.zip(&plane[start..end]).for_each(|(to, from)| *to = *from);
                }
            }
        }
    }
    out
}

fn split_planes<const W: usize>(body: &[u8], planes: &mut [u8], count: usize) {
    let (elements, _) = body.as_chunks::<W>();
    for (byte, plane) in planes.chunks_exact_mut(count).enumerate() {
        plane.iter_mut().zip(elements).for_each(|(to, element)| *to = element[byte]);
    }
}

fn join_planes<const W: usize>(planes: &[u8], body: &mut [u8], count: usize) {
    // One pass with W input streams: the loop that compilers turn into vector interleaves.
    let planes: [&[u8]; W] = std::array::from_fn(|byte| &planes[byte * count..(byte + 1) * count]);
    let (elements, _) = body.as_chunks_mut::<W>();
    for (i, element) in elements.iter_mut().enumerate().take(count) {
        *element = std::array::from_fn(|byte| planes[byte][i]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_equal_significance_stand_together() {
        assert_eq!(shuffle(&[1, 2, 3, 4, 5, 6, 7], 2), [1, 3, 5, 2, 4, 6, 7]);
        assert_eq!(shuffle(&[1, 2, 3, 4, 5, 6, 7], 3), [1, 4, 2, 5, 3, 6, 7]);
    }

    #[test]
    fn unshuffle_undoes_shuffle_for_every_width() {
        for width in [2, 3, 4, 8, 16, 17, 68, 255] {
            for len in [0, 1, width - 1, width, width + 1, 3000, TILE * width + 5] {
                let values: Vec<u8> = (0..len).map(|i| (i ^ (i >> 8)) as u8).collect();
                assert_eq!(unshuffle(&shuffle(&values, width), width), values, "{width} {len}");
            }
        }
    }
}
