//! How far shared blocks may lie apart: what a window of neighbouring rows costs where its blocks lie in several chunks, against
//! what it would cost had they been stored together. Pure.
//!
//! A match that breaks the bound is stored again, so that sharing never makes a table slow. Windows of up to
//! [`Locality::window`] rows are looked at, every one of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{format::LayoutRun, id::ChunkId};

/// What sharing may cost a window of neighbouring rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Locality {
    /// Rows of the widest window that is kept within the bound.
    pub window: u64,
    /// Ranges that it may take beyond those of a table that shares nothing.
    pub extra_ranges: usize,
    /// Bytes that it may read, in percent of those of its blocks.
    pub percent: u64,
}

impl Default for Locality {
    fn default() -> Self {
        Self { window: 16, extra_ranges: 1, percent: 150 }
    }
}

impl Locality {
    /// No bound: every known block is used, wherever it lies.
    pub const NONE: Self = Self { window: 0, extra_ranges: usize::MAX, percent: u64::MAX };
}

/// What the worst windows cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worst {
    /// Ranges beyond those of a table that shares nothing.
    pub extra_ranges: u64,
    /// Bytes read in percent of those of the window's blocks; 0 where nothing is shared.
    pub percent: u64,
}

impl Worst {
    /// The worse of both, in each respect.
    pub fn or(self, other: Self) -> Self {
        Self { extra_ranges: self.extra_ranges.max(other.extra_ranges), percent: self.percent.max(other.percent) }
    }
}

/// A block as the bound sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) rows: u32,
    /// Whether a sequence starts here: no window reaches further back.
    pub(super) starts: bool,
    /// Stored bytes.
    pub(super) bytes: u64,
    /// The cut chunk it belongs to: a table that shares nothing needs a range for each.
    pub(super) stretch: u64,
    /// The chunk it lies in, by a number of the caller, and where; `None`: it is stored anew, behind the new block before it.
    pub(super) shared: Option<(u64, u64)>,
}

/// Makes shared blocks of `spots` new until every window keeps the bound; those before `fixed` stay as they are. Gives the
/// numbers of the blocks to be stored again, and the worst that is left.
pub(super) fn keep_within(spots: &mut [Spot], fixed: usize, bound: Locality) -> (Vec<usize>, Worst) {
    let mut again = Vec::new();
    let mut worst = Worst::default();
    let mut last = 0;
    while last < spots.len() {
        let mut broken = None;
        for (first, cost) in windows_to(spots, last, bound) {
            if cost.percent > bound.percent || cost.extra_ranges > bound.extra_ranges as u64 {
                let start = first.max(fixed).min(last + 1);
                if let Some(chunk) = smallest(&spots[start..=last]) {
                    broken = Some((start, chunk));
                    break;
                }
            }
            worst = worst.or(cost);
        }
        match broken {
            None => last += 1,
            Some((start, chunk)) => {
                for (number, spot) in (start..).zip(&mut spots[start..=last]) {
                    if spot.shared.is_some_and(|(held, _)| held == chunk) {
                        spot.shared = None;
                        again.push(number);
                    }
                }
                // Windows that end before may be another matter now.
                let mut rows = 0;
                last = start;
                while last > 0 && rows < bound.window {
                    rows += u64::from(spots[last].rows);
                    last -= 1;
                }
            }
        }
    }
    again.sort_unstable();
    // What was seen on the way may have been mended since.
    let all = |spots: &[Spot]| {
        let costs = (0..spots.len()).flat_map(|last| windows_to(spots, last, bound)).map(|(_, cost)| cost);
        costs.fold(Worst::default(), Worst::or)
    };
    let left = if again.is_empty() { worst } else { all(spots) };
    (again, left)
}

/// The chunk of which these blocks have the fewest bytes.
fn smallest(spots: &[Spot]) -> Option<u64> {
    let mut bytes: BTreeMap<u64, u64> = BTreeMap::new();
    for spot in spots {
        if let Some((chunk, _)) = spot.shared {
            *bytes.entry(chunk).or_default() += spot.bytes;
        }
    }
    bytes.into_iter().min_by_key(|(chunk, bytes)| (*bytes, *chunk)).map(|(chunk, _)| chunk)
}

/// The first block and the cost of every window that ends in block `last`, shortest first.
fn windows_to(spots: &[Spot], last: usize, bound: Locality) -> impl Iterator<Item = (usize, Worst)> {
    let mut price = Price::default();
    let (mut next, mut within) = (Some(last), 1);
    std::iter::from_fn(move || {
        // A window touches its first and its last block with one row each, and has all rows between.
        let first = next.filter(|_| within <= bound.window)?;
        let spot = spots.get(first)?;
        price.reach_back_to(spot);
        within += if first == last { 1 } else { u64::from(spot.rows) };
        next = first.checked_sub(1).filter(|_| !spot.starts);
        Some((first, price.cost(bound)))
    })
}

/// What reading neighbouring blocks costs, as the window reaches further back.
#[derive(Debug, Default)]
struct Price {
    /// Bytes of the blocks.
    own: u64,
    ranges: usize,
    /// Between ranges of one chunk, sorted.
    gaps: Vec<u64>,
    /// Where the first range of each chunk begins; new blocks of a stretch lie behind each other in a chunk of their own.
    starts: Vec<((bool, u64), u64)>,
    stretches: usize,
    stretch: Option<u64>,
    is_shared: bool,
}

impl Price {
    fn reach_back_to(&mut self, spot: &Spot) {
        self.own += spot.bytes;
        if self.stretch.replace(spot.stretch) != Some(spot.stretch) {
            self.stretches += 1;
        }
        let (key, offset) = match spot.shared {
            Some((chunk, offset)) => ((true, chunk), offset),
            None => ((false, spot.stretch), 0),
        };
        self.is_shared |= key.0;
        match self.starts.iter_mut().find(|(held, _)| *held == key) {
            None => {
                self.ranges += 1;
                self.starts.push((key, offset));
            }
            Some(_) if !key.0 => {}
            Some((_, start)) => {
                let (end, before) = (offset + spot.bytes, std::mem::replace(start, offset));
                if end != before {
                    self.ranges += 1;
                }
                // Backwards, or the same block twice, is no gap that could be read.
                if end < before {
                    let gap = before - end;
                    self.gaps.insert(self.gaps.partition_point(|held| *held < gap), gap);
                }
            }
        }
    }

    /// Gaps are read as far as the bound on ranges demands, the smallest first.
    fn cost(&self, bound: Locality) -> Worst {
        if !self.is_shared {
            return Worst::default();
        }
        let most = self.stretches.saturating_add(bound.extra_ranges);
        let read = self.ranges.saturating_sub(most).min(self.gaps.len());
        let bytes = self.own + self.gaps.iter().take(read).sum::<u64>();
        Worst {
            extra_ranges: (self.ranges - read).saturating_sub(self.stretches) as u64,
            percent: (100 * bytes).div_ceil(self.own.max(1)),
        }
    }
}

/// What the worst windows of a stored layout cost, if a table that shares nothing reads a window in one range, or in two where
/// another chunk of its own begins. `starts` says of a row whether it starts a sequence.
///
/// ```
/// use tetrys::write::{Locality, Worst, worst_windows};
/// assert_eq!(worst_windows(&[], |_| false, Locality::default()), Worst::default());
/// ```
pub fn worst_windows(runs: &[LayoutRun], starts: impl Fn(u64) -> bool, bound: Locality) -> Worst {
    let mut numbers: BTreeMap<(u32, ChunkId), u64> = BTreeMap::new();
    let mut spots = Vec::new();
    let mut stretch = (0, None);
    let mut row = 0;
    for run in runs {
        let next = numbers.len() as u64;
        let chunk = *numbers.entry((run.owner, run.chunk)).or_insert(next);
        // Two of the table's own chunks in a row are two also where nothing is shared.
        if run.owner == 0 {
            if stretch.1.is_some_and(|before| before != chunk) {
                stretch.0 += 1;
            }
            stretch.1 = Some(chunk);
        }
        let mut offset = run.first_offset;
        for (length, rows) in run.lengths.iter().zip(run.block_rows.iter()) {
            let bytes = 8 * u64::from(length);
            spots.push(Spot { rows, starts: starts(row), bytes, stretch: stretch.0, shared: Some((chunk, offset)) });
            offset += bytes;
            row += u64::from(rows);
        }
    }
    let fixed = spots.len();
    keep_within(&mut spots, fixed, bound).1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of one row and 100 bytes: `a0` lies first in chunk a, `.` is new, `b3|` starts a sequence.
    fn spots(text: &str) -> Vec<Spot> {
        let spot = |word: &str| Spot {
            rows: 1,
            starts: word.ends_with('|'),
            bytes: 100,
            stretch: 0,
            shared: word
                .strip_prefix(|c: char| c.is_ascii_lowercase())
                .map(|number| (u64::from(word.as_bytes()[0]), 100 * number.trim_end_matches('|').parse::<u64>().unwrap())),
        };
        text.split_whitespace().map(spot).collect()
    }

    fn again(text: &str, window: u64) -> (Vec<usize>, Worst) {
        keep_within(&mut spots(text), 0, Locality { window, ..Locality::default() })
    }

    #[test]
    fn a_run_of_known_blocks_costs_nothing() {
        assert_eq!(again("a4 a5 a6 a7 a8", 4), (vec![], Worst { extra_ranges: 0, percent: 100 }));
    }

    #[test]
    fn a_changed_row_among_known_ones_costs_a_range_and_the_block_it_replaces() {
        let (again, worst) = again("a0 a1 a2 . a4 a5 a6 a7", 4);
        assert_eq!(again, Vec::<usize>::new());
        assert_eq!(worst, Worst { extra_ranges: 1, percent: 134 });
    }

    #[test]
    fn deleted_rows_are_a_gap_that_is_jumped_or_read() {
        assert_eq!(again("a0 a1 a50 a51", 4), (vec![], Worst { extra_ranges: 1, percent: 100 }));
        // Two of them: one has to be read, and reads too much.
        let (again, worst) = again("a0 a1 a50 a51 a90 a91", 6);
        assert!(!again.is_empty() && worst.extra_ranges <= 1 && worst.percent <= 150, "{again:?} {worst:?}");
    }

    #[test]
    fn blocks_from_many_chunks_are_stored_again_until_every_window_keeps_the_bound() {
        let scattered = "a0 b7 c3 d9 e1 f5 g2 h8";
        let (again, worst) = again(scattered, 4);
        assert!(again.len() >= 4, "{again:?}");
        assert!(worst.extra_ranges <= 1 && worst.percent <= 150, "{worst:?}");
        assert_eq!(keep_within(&mut spots(scattered), 0, Locality::NONE).0, Vec::<usize>::new());
    }

    #[test]
    fn no_window_leaves_its_sequence() {
        assert_eq!(again("a0 b7| c3| d9| e1|", 4), (vec![], Worst { extra_ranges: 0, percent: 100 }));
    }

    #[test]
    fn what_is_fixed_stays() {
        let mut held = spots("a0 b7 c3 d9 e1");
        let (again, _) = keep_within(&mut held, 2, Locality { window: 5, ..Locality::default() });
        assert!(again.iter().all(|number| *number >= 2), "{again:?}");
    }
}
