//! Cuts the rows of a read into splits, which several tasks read independently. Pure: decides by the sizes of pieces of column
//! groups.
//!
//! A split begins where a chunk of the largest group begins, so that no two tasks read that chunk. Chunks of smaller groups may
//! be shared. If the largest group has fewer chunks than there are splits to make, splits begin at its blocks.
//!
//! ```text
//! largest group   |--- chunk ---|--- chunk ---|--- chunk ---|--- chunk ---|
//! another group   |------------ chunk ------------|-------- chunk --------|
//! two splits      [ 0                         ][ 1                        ]
//! ```

use std::ops::Range;

/// Consecutive rows of one column group whose stored bytes lie together: the rows of a run, or of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Number of the row after the last one. A piece begins where the piece before ends; the first begins at row 0.
    pub end: u64,
    /// Stored bytes to read for all rows.
    pub bytes: u64,
    /// Whether a split may begin with this piece.
    pub may_begin: bool,
}

/// Stored bytes of a split of payload, and of a split of an index that is read alone.
const PAYLOAD_BYTES: u64 = 128 << 20;
const INDEX_BYTES: u64 = 32 << 20;
/// Bytes in memory of a task, if an engine would make smaller ones. Ray takes about 20 ms of a core for each task.
const TASK_BYTES: u64 = 64 << 20;
/// Tasks for each core, if the engine would make fewer.
const TASKS_OF_A_CORE: u64 = 2;

/// How many splits to make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SplitSize {
    /// As many as make about 128 MiB of stored payload each, or 32 MiB of an index that is read alone: its bytes are more rows, and take
    /// longer to use.
    #[default]
    Usual,
    /// At most this number of splits.
    Count(u64),
    /// As many as make about this number of stored bytes each.
    Bytes(u64),
}

impl SplitSize {
    /// Returns the number of splits for a read of some rows with these stored bytes.
    fn count(self, bytes: u64, rows: u64, usual: u64) -> u64 {
        let wanted = match self {
            Self::Usual => bytes.div_ceil(usual),
            Self::Count(count) => count,
            Self::Bytes(each) => bytes.div_ceil(each.max(1)),
        };
        wanted.clamp(1, rows.max(1))
    }

    /// Returns how many tasks an engine should make of rows with so many bytes in memory: one for each 64 MiB, and at least two for each
    /// core, as long as each has `least` bytes.
    ///
    /// ```
    /// use tetrys::SplitSize;
    /// assert_eq!(SplitSize::tasks(640 << 20, 2, 1 << 20), 10);
    /// assert_eq!(SplitSize::tasks(640 << 20, 16, 1 << 20), 32);
    /// assert_eq!(SplitSize::tasks(3 << 20, 16, 1 << 20), 3); // at least 1 MiB each
    /// ```
    pub fn tasks(bytes: u64, cores: u64, least: u64) -> u64 {
        let of_cores = cores.saturating_mul(TASKS_OF_A_CORE).min(bytes / least.max(1));
        bytes.div_ceil(TASK_BYTES).max(of_cores).max(1)
    }
}

/// A part of a read for one task.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadSplit {
    /// Ranges of rows, in ascending order, none empty.
    pub rows: Vec<Range<u64>>,
    /// Stored bytes to read, approximately.
    pub bytes: u64,
    /// Bytes of the decoded rows in memory, approximately.
    pub memory_bytes: u64,
}

/// Splits, and how they were chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadSplits {
    /// The splits, in the order of their rows. Together they have all rows, each once.
    pub splits: Vec<ReadSplit>,
    /// Number of the group at whose pieces the rows were cut; `None` if no group has bytes.
    pub largest: Option<usize>,
    /// Whether that group has too few pieces for the wanted number of splits.
    pub too_few: bool,
}

/// Cuts `rows`, ranges in ascending order, into splits of about equal bytes. `groups` has the pieces of each column group.
/// Without bytes, as when no group is read, splits have about equal numbers of rows.
pub fn splits(groups: &[Vec<Piece>], rows: &[Range<u64>], size: SplitSize) -> ReadSplits {
    let rows: Vec<Range<u64>> = rows.iter().filter(|range| !range.is_empty()).cloned().collect();
    let sums: Vec<Sums<'_>> = groups.iter().map(|pieces| Sums::of(pieces)).collect();
    let of_group = |sums: &Sums<'_>| rows.iter().map(|range| sums.bytes_in(range)).fold(0, u64::saturating_add);
    let each: Vec<u64> = sums.iter().map(of_group).collect();
    let total = each.iter().copied().fold(0, u64::saturating_add);
    let count = rows.iter().map(|range| range.end - range.start).sum::<u64>();
    let wanted = size.count(total, count, PAYLOAD_BYTES);
    // Of equal groups the first.
    let largest = (0..each.len()).rev().max_by_key(|group| each.get(*group)).filter(|_| total > 0);
    let bytes_in = |range: &Range<u64>| sums.iter().map(|sums| sums.bytes_in(range)).fold(0, u64::saturating_add);
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
        return ReadSplits { splits: Vec::new(), largest, too_few: false };
    };
    let Some(pieces) = largest.and_then(|group| groups.get(group)) else {
        let at = |part: u64| row_at(&rows, share(count, part, wanted));
        let cuts: Vec<u64> = (1..wanted).map(at).collect();
        return ReadSplits { splits: cut(&rows, &cuts, bytes_in), largest, too_few: false };
    };
    let starts = [0].into_iter().chain(pieces.iter().map(|piece| piece.end));
    let inside = |(start, piece): (u64, &Piece)| (piece.may_begin && start > first.start && start < last.end).then_some(start);
    let candidates: Vec<u64> = starts.zip(pieces).filter_map(inside).collect();
    let before = bytes_before(&rows, &candidates, bytes_in);
    let mut cuts: Vec<u64> = Vec::new();
    for part in 1..wanted {
        let target = share(total, part, wanted);
        let above = before.partition_point(|bytes| *bytes < target);
        let near = [above.checked_sub(1), Some(above)].into_iter().flatten();
        let near = near.filter_map(|place| Some((before.get(place)?.abs_diff(target), *candidates.get(place)?)));
        if let Some((_, row)) = near.min()
            && cuts.last().is_none_or(|last| *last < row)
        {
            cuts.push(row);
        }
    }
    ReadSplits { splits: cut(&rows, &cuts, bytes_in), largest, too_few: (candidates.len() as u64) < wanted - 1 }
}

/// Cuts `rows`, ranges in ascending order, into splits of about equal numbers of rows. All rows weigh the same: `of_rows` of them have
/// `bytes` stored bytes.
pub fn even_splits(rows: &[Range<u64>], bytes: u64, of_rows: u64, size: SplitSize) -> Vec<ReadSplit> {
    let count = rows.iter().map(|range| range.end.saturating_sub(range.start)).fold(0, u64::saturating_add);
    let read = u128::from(count) * u128::from(bytes);
    let read = u64::try_from(read.div_ceil(u128::from(of_rows.max(1)))).unwrap_or(u64::MAX);
    let wanted = SplitSize::Count(size.count(read, count, INDEX_BYTES));
    let mut found = splits(&[], rows, wanted).splits;
    for split in &mut found {
        let here = split.rows.iter().map(|range| range.end - range.start).sum();
        split.bytes = share(bytes, here, of_rows);
        split.memory_bytes = split.bytes;
    }
    found
}

/// Returns `part` of `parts` equal parts of a number.
fn share(of: u64, part: u64, parts: u64) -> u64 {
    u64::try_from(u128::from(of) * u128::from(part) / u128::from(parts.max(1))).unwrap_or(u64::MAX)
}

/// The bytes of a group before each row. Within a piece, all rows count the same.
struct Sums<'a> {
    pieces: &'a [Piece],
    /// Bytes of all pieces up to and including each.
    through: Vec<u64>,
}

impl ReadSplit {
    /// Returns the split of groups that have so many stored bytes, and so many when they are decoded.
    pub(crate) fn expanded(self, stored: u64, decoded: u64) -> Self {
        let memory_bytes = if stored == 0 { self.bytes } else { share(self.bytes, decoded, stored) };
        Self { memory_bytes, ..self }
    }
}

impl<'a> Sums<'a> {
    fn of(pieces: &'a [Piece]) -> Self {
        let mut sum = 0_u64;
        let through = pieces.iter().map(|piece| {
            sum = sum.saturating_add(piece.bytes);
            sum
        });
        Self { pieces, through: through.collect() }
    }

    fn bytes_before(&self, row: u64) -> u64 {
        let place = self.pieces.partition_point(|piece| piece.end <= row);
        let (start, before) = match place.checked_sub(1) {
            Some(last) => (self.pieces.get(last).map_or(0, |piece| piece.end), self.through.get(last).copied().unwrap_or(0)),
            None => (0, 0),
        };
        let Some(piece) = self.pieces.get(place) else { return before };
        before.saturating_add(share(piece.bytes, row - start, piece.end - start))
    }

    fn bytes_in(&self, rows: &Range<u64>) -> u64 {
        self.bytes_before(rows.end).saturating_sub(self.bytes_before(rows.start))
    }
}

/// Returns the bytes of the chosen rows before each of these rows, which ascend.
fn bytes_before(rows: &[Range<u64>], at: &[u64], bytes_in: impl Fn(&Range<u64>) -> u64) -> Vec<u64> {
    let (mut sum, mut number, mut from) = (0_u64, 0, 0);
    let before = at.iter().map(|row| {
        while let Some(range) = rows.get(number) {
            let start = range.start.max(from);
            if start >= *row {
                break;
            }
            let end = range.end.min(*row);
            sum = sum.saturating_add(bytes_in(&(start..end)));
            from = end;
            if end < range.end {
                break;
            }
            number += 1;
        }
        sum
    });
    before.collect()
}

/// Returns the chosen row with this number among all chosen rows.
fn row_at(rows: &[Range<u64>], number: u64) -> u64 {
    let mut before = 0;
    for range in rows {
        let len = range.end - range.start;
        if number < before + len {
            return range.start + (number - before);
        }
        before += len;
    }
    rows.last().map_or(0, |range| range.end)
}

/// Cuts the ranges at these rows, which ascend.
fn cut(rows: &[Range<u64>], cuts: &[u64], bytes_in: impl Fn(&Range<u64>) -> u64) -> Vec<ReadSplit> {
    let mut splits = Vec::with_capacity(cuts.len() + 1);
    let (mut number, mut from) = (0, 0);
    for end in cuts.iter().copied().chain([u64::MAX]) {
        let mut here = Vec::new();
        while let Some(range) = rows.get(number) {
            let part = range.start.max(from)..range.end.min(end);
            if part.is_empty() {
                break;
            }
            from = part.end;
            here.push(part);
            if from < range.end {
                break;
            }
            number += 1;
        }
        if !here.is_empty() {
            let bytes = here.iter().map(&bytes_in).fold(0, u64::saturating_add);
            splits.push(ReadSplit { rows: here, bytes, memory_bytes: bytes });
        }
    }
    splits
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may panic")]
#[allow(clippy::single_range_in_vec_init, reason = "one range of rows is meant")]
mod tests {
    use super::*;

    /// Pieces of so many rows and bytes each. A split may begin at each.
    fn pieces(of: &[(u64, u64)]) -> Vec<Piece> {
        let mut end = 0;
        let piece = |(rows, bytes): &(u64, u64)| {
            end += rows;
            Piece { end, bytes: *bytes, may_begin: true }
        };
        of.iter().map(piece).collect()
    }

    fn rows_of(splits: &ReadSplits) -> Vec<Vec<Range<u64>>> {
        splits.splits.iter().map(|split| split.rows.clone()).collect()
    }

    #[test]
    fn splits_begin_at_chunks_of_the_largest_group_and_have_equal_bytes() {
        let large = pieces(&[(10, 1000), (10, 1000), (30, 1000), (10, 1000)]);
        let small = pieces(&[(25, 10), (35, 10)]);
        let found = splits(&[small, large], &[0..60], SplitSize::Count(2));
        assert_eq!((rows_of(&found), found.largest, found.too_few), (vec![vec![0..20], vec![20..60]], Some(1), false));
        assert!(found.splits.iter().all(|split| (2005..=2015).contains(&split.bytes)), "{found:?}");
    }

    #[test]
    fn a_group_of_one_chunk_is_too_few() {
        let one = pieces(&[(50, 1000)]);
        let found = splits(&[one], &[0..50], SplitSize::Count(4));
        assert_eq!((rows_of(&found), found.too_few), (vec![vec![0..50]], true));
        assert!(!splits(&[pieces(&[(50, 1000)])], &[0..50], SplitSize::Count(1)).too_few);
    }

    #[test]
    fn rows_without_bytes_are_cut_evenly() {
        let found = splits(&[], &[0..4, 10..16], SplitSize::Count(3));
        assert_eq!(rows_of(&found), [vec![0..3], vec![3..4, 10..12], vec![12..16]]);
        assert_eq!(splits(&[], &[], SplitSize::Count(3)).splits, []);
        assert_eq!(splits(&[], &[3..3], SplitSize::Bytes(0)).splits, []);
        assert_eq!(rows_of(&splits(&[], &[0..2], SplitSize::Count(u64::MAX))), [vec![0..1], vec![1..2]]);
    }

    #[test]
    fn a_size_in_bytes_makes_as_many_splits() {
        let group = pieces(&[(1, 100); 12]);
        for (bytes, count) in [(100, 12), (300, 4), (1200, 1), (u64::MAX, 1), (0, 12)] {
            assert_eq!(splits(std::slice::from_ref(&group), &[0..12], SplitSize::Bytes(bytes)).splits.len(), count, "{bytes}");
        }
    }

    /// The usual size depends on what is read, and a number or a size of the caller does not.
    #[test]
    fn the_usual_split_has_128_mib_of_payload_or_32_mib_of_an_index() {
        let group = pieces(&[(1, 64 << 20); 12]);
        assert_eq!(splits(std::slice::from_ref(&group), &[0..12], SplitSize::Usual).splits.len(), 6);
        let even = |size| even_splits(&[0..12], 12 << 26, 12, size).len();
        assert_eq!((even(SplitSize::Usual), even(SplitSize::Bytes(128 << 20)), even(SplitSize::Count(4))), (12, 6, 4));
        assert_eq!(even_splits(&[0..480], 12 << 26, 480, SplitSize::Usual).len(), 24);
        assert_eq!(splits(&[group], &[0..12], SplitSize::Bytes(32 << 20)).splits.len(), 12);
    }

    #[test]
    fn decoded_bytes_are_those_of_the_groups_that_are_read() {
        let split = |bytes| ReadSplit { rows: vec![0..1], bytes, memory_bytes: bytes };
        assert_eq!(split(100).expanded(1_000, 3_500).memory_bytes, 350);
        assert_eq!(split(100).expanded(0, 0).memory_bytes, 100);
        assert_eq!(split(u64::MAX).expanded(1, u64::MAX).memory_bytes, u64::MAX);
    }

    #[test]
    fn random_even_splits_have_all_rows_once_and_weigh_the_same() {
        for seed in 0..500 {
            let mut state = seed * 2 + 1;
            let (mut rows, mut row) = (Vec::new(), 0);
            for _ in 0..random(&mut state, 6) {
                let start = row + random(&mut state, 40);
                row = start + random(&mut state, 200);
                rows.push(start..row);
            }
            let (of_rows, bytes) = (row + random(&mut state, 9), random(&mut state, 1 << 16));
            let every: Vec<u64> = rows.iter().cloned().flatten().collect();
            let (each, most) = (1 + random(&mut state, 5_000), 1 + random(&mut state, 12));
            for (size, wanted) in [
                (SplitSize::Count(most), most),
                // A plain model: as many bytes as rows, then as many splits as bytes, both rounded up.
                (SplitSize::Bytes(each), (every.len() as u64 * bytes).div_ceil(of_rows.max(1)).div_ceil(each)),
            ] {
                let found = even_splits(&rows, bytes, of_rows, size);
                let all: Vec<u64> = found.iter().flat_map(|split| split.rows.iter().cloned().flatten()).collect();
                assert_eq!(all, every, "seed {seed}");
                assert_eq!(found.len() as u64, wanted.clamp(1, every.len().max(1) as u64).min(every.len() as u64), "seed {seed}");
                let counts: Vec<u64> =
                    found.iter().map(|split| split.rows.iter().map(|range| range.end - range.start).sum()).collect();
                assert!(counts.iter().max().unwrap_or(&0) - counts.iter().min().unwrap_or(&0) <= 1, "seed {seed}: {counts:?}");
                for (split, count) in found.iter().zip(counts) {
                    assert_eq!(
                        (split.bytes, split.memory_bytes),
                        (bytes * count / of_rows, bytes * count / of_rows),
                        "seed {seed}"
                    );
                }
            }
        }
    }

    /// Numbers that look random.
    fn random(state: &mut u64, below: u64) -> u64 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*state >> 33) % below.max(1)
    }

    #[test]
    fn random_splits_have_all_rows_once_begin_where_they_may_and_are_balanced() {
        for seed in 0..500 {
            let mut state = seed * 2 + 1;
            let count = 1 + random(&mut state, 2000);
            let groups: Vec<Vec<Piece>> = (0..1 + random(&mut state, 3))
                .map(|_| {
                    let (mut pieces, mut end) = (Vec::new(), 0);
                    while end < count {
                        end = (end + 1 + random(&mut state, 60)).min(count);
                        pieces.push(Piece { end, bytes: random(&mut state, 1000), may_begin: random(&mut state, 3) > 0 });
                    }
                    pieces
                })
                .collect();
            let mut rows = Vec::new();
            let mut row = 0;
            while row < count {
                let start = row + random(&mut state, 40);
                row = (start + random(&mut state, 200)).min(count);
                if start < row {
                    rows.push(start..row);
                }
            }
            let wanted = 1 + random(&mut state, 12);
            let found = splits(&groups, &rows, SplitSize::Count(wanted));
            let all: Vec<u64> = found.splits.iter().flat_map(|split| split.rows.iter().cloned().flatten()).collect();
            assert_eq!(all, rows.iter().cloned().flatten().collect::<Vec<_>>(), "seed {seed}");
            assert!(
                found.splits.len() as u64 <= wanted && found.splits.iter().all(|split| !split.rows.is_empty()),
                "seed {seed}"
            );
            let Some(largest) = found.largest else { continue };
            let starts: Vec<u64> = [0].into_iter().chain(groups[largest].iter().map(|piece| piece.end)).collect();
            let begins: Vec<u64> =
                starts.iter().zip(&groups[largest]).filter(|(_, piece)| piece.may_begin).map(|(start, _)| *start).collect();
            // Each cut lies at a begin, or in the gap of unchosen rows around one.
            for pair in found.splits.windows(2) {
                let (end, start) = (pair[0].rows.last().unwrap().end, pair[1].rows[0].start);
                assert!(begins.iter().any(|begin| (end..=start).contains(begin)), "seed {seed}: {end}..{start}");
            }
            // No split is larger than its share and what lies between two begins on either side.
            let total: u64 = found.splits.iter().map(|split| split.bytes).sum();
            let sums: Vec<Sums<'_>> = groups.iter().map(|pieces| Sums::of(pieces)).collect();
            let ends = begins.iter().skip(1).chain([&count]);
            let between = [&0].into_iter().chain(&begins).zip(begins.iter().take(1).chain(ends));
            let heaviest = between.map(|(start, end)| sums.iter().map(|sums| sums.bytes_in(&(*start..*end))).sum()).max();
            let heaviest: u64 = heaviest.unwrap_or(0);
            let most = found.splits.iter().map(|split| split.bytes).max().unwrap_or(0);
            let rounded = groups.len() as u64 * (rows.len() as u64 + 1);
            assert!(most <= total / wanted + heaviest + 2 * rounded, "seed {seed}: {most} of {total}, {heaviest}");
        }
    }
}
