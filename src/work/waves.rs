//! Cuts a list into waves: neighbours that are read or decoded together, so that they fit into memory together.

use std::ops::Range;

/// Cuts items of these sizes into waves, in order. A wave has as many neighbours as fit into `room`, at most `most` of them, and at
/// least one.
pub(crate) fn waves(sizes: impl IntoIterator<Item = u64>, room: u64, most: usize) -> Vec<Range<usize>> {
    let (mut waves, mut total) = (Vec::<Range<usize>>::new(), 0_u64);
    for (number, size) in sizes.into_iter().enumerate() {
        total = total.saturating_add(size);
        match waves.last_mut() {
            Some(wave) if total <= room && wave.len() < most => wave.end = number + 1,
            _ => {
                waves.push(number..number + 1);
                total = size;
            }
        }
    }
    waves
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waves_have_all_items_in_order_and_fit() {
        assert!(waves([], 10, 10).is_empty());
        assert_eq!(waves([4, 6, 1, 11, 3, 3], 10, 10), [0..2, 2..3, 3..4, 4..6]);
        assert_eq!(waves([0; 5], 0, 2), [0..2, 2..4, 4..5]);
        assert_eq!(waves([u64::MAX, u64::MAX, 0, 1], u64::MAX, 3), [0..3, 3..4], "sums that overflow saturate");
        assert_eq!(waves([u64::MAX, 1], 10, 9), [0..1, 1..2]);
    }
}
