//! Bounds how far shared blocks may lie apart. The bound compares two costs of a window of neighbouring rows: to read its blocks
//! from several chunks, and to read them in a table without shared blocks. All functions are pure.
//!
//! A writer stores a known block again if the block breaks the bound, so that sharing never makes a table slow. The bound holds
//! for every window of up to [`Locality::window`] rows inside a sequence. Two rules choose the blocks to store again:
//!
//! 1. **Mend.** If a window breaks the bound, the blocks of one of its chunks are stored again: of the chunk with the fewest
//!    bytes around this window. A single row that an earlier version inserted moves, and its many neighbours stay. If storing
//!    whole windows again takes fewer bytes in total, that is done instead.
//! 2. **Renew.** Mended blocks must be mended again after the next insertion nearby, and there are more of them each time. Once
//!    mending a region costs as much as storing the whole region again from time to time, the whole region is stored again. The
//!    region then lies in one chunk, and the next versions add only their own rows.

use std::{collections::BTreeMap, fmt, ops::Range, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    format::LayoutRun,
    id::ChunkId,
};

/// Maximum read cost that sharing blocks may add to a window of neighbouring rows.
///
/// The text form is `ROWS`, `ROWS,RANGES`, `ROWS,RANGES,PERCENT` or `none`. Omitted numbers have their defaults:
///
/// ```
/// use tetrys::table::Locality;
/// assert_eq!("11".parse::<Locality>()?, Locality { window: 11, ..Locality::default() });
/// assert_eq!("32,2,120".parse::<Locality>()?, Locality { window: 32, extra_ranges: 2, percent: 120 });
/// assert_eq!("none".parse::<Locality>()?, Locality::NONE);
/// assert_eq!(Locality::default().to_string(), "16,1,150");
/// # Ok::<(), tetrys::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Locality {
    /// Rows of the widest window that the bound applies to.
    pub window: u64,
    /// Byte ranges that a window may need beyond those in a table without shared blocks.
    pub extra_ranges: usize,
    /// Maximum bytes that a window may read, in percent of the bytes of its blocks.
    pub percent: u64,
}

impl Default for Locality {
    fn default() -> Self {
        Self { window: 16, extra_ranges: 1, percent: 150 }
    }
}

impl Locality {
    /// No bound: every known block is reused, wherever it lies.
    pub const NONE: Self = Self { window: 0, extra_ranges: usize::MAX, percent: u64::MAX };
}

impl fmt::Display for Locality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NONE => f.write_str("none"),
            Self { window, extra_ranges, percent } => write!(f, "{window},{extra_ranges},{percent}"),
        }
    }
}

impl FromStr for Locality {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = |what: &str| {
            Error::invalid(format!(
                "locality `{text}`: {what}; expected ROWS, ROWS,RANGES or ROWS,RANGES,PERCENT (the default is {}), or none",
                Self::default()
            ))
        };
        if text == "none" {
            return Ok(Self::NONE);
        }
        let mut bound = Self::default();
        for (number, part) in text.split(',').enumerate() {
            let value: u64 = part.trim().parse().map_err(|_| wrong(&format!("`{part}` is not a number")))?;
            match number {
                0 if !(1..=MAX_WINDOW).contains(&value) => return Err(wrong(&format!("a window has 1 to {MAX_WINDOW} rows"))),
                0 => bound.window = value,
                1 => bound.extra_ranges = usize::try_from(value).unwrap_or(usize::MAX),
                2 if value < 100 => return Err(wrong("a window reads at least 100 percent of its bytes")),
                2 => bound.percent = value,
                _ => return Err(wrong("more than three numbers")),
            }
        }
        Ok(bound)
    }
}

/// Widest window that a text may name. Every block is priced with every window of up to this many rows.
const MAX_WINDOW: u64 = 4096;

/// Cost of the most expensive windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Worst {
    /// Ranges beyond those in a table without shared blocks.
    pub extra_ranges: u64,
    /// Bytes read, in percent of the bytes of the window's blocks; 0 if no block is shared.
    pub percent: u64,
}

impl Worst {
    /// Returns the larger value of both, for each field.
    pub fn or(self, other: Self) -> Self {
        Self { extra_ranges: self.extra_ranges.max(other.extra_ranges), percent: self.percent.max(other.percent) }
    }
}

/// A block, as far as the bound needs it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) rows: u32,
    /// Whether a sequence starts here. No window reaches further back.
    pub(super) starts: bool,
    /// Stored bytes.
    pub(super) bytes: u64,
    /// Number of the chunk that the writer would cut here. A table without shared blocks needs one range for each of them.
    pub(super) stretch: u64,
    /// Number of the chunk that holds the block, and its offset there. `None`: the block is stored in a new chunk, behind the
    /// previous new block.
    pub(super) shared: Option<(u64, u64)>,
}

/// Stores shared blocks of `spots` again until every window is within the bound, and whole regions where mending has become too
/// expensive. Blocks before `fixed` stay as they are. Returns the numbers of the blocks to store again, and the most expensive
/// windows after that.
pub(super) fn keep_within(spots: &mut [Spot], fixed: usize, bound: Locality) -> (Vec<usize>, Worst) {
    let before = spots.to_vec();
    let (again, worst) = mend(spots, fixed, bound);
    let mut renewed = spots.to_vec();
    let mut all = renew(&before, &mut renewed, fixed, bound);
    if all.is_empty() {
        return (again, worst);
    }
    let (more, left) = mend(&mut renewed, fixed, bound);
    all.extend(again.iter().chain(&more));
    all.sort_unstable();
    let (most, _) = mend_by(&mut before.clone(), fixed, bound, |_, _, _| None);
    if bytes_of(&before, &all) > bytes_of(&before, &most) {
        return (again, worst);
    }
    spots.copy_from_slice(&renewed);
    (all, left)
}

fn bytes_of(spots: &[Spot], numbers: &[usize]) -> u64 {
    numbers.iter().map(|number| spots[*number].bytes).sum()
}

/// Chooses shared blocks of `spots` to store again until every window is within the bound. Tries two rules, single chunks of a
/// window and whole windows, and takes the one that stores fewer bytes. Blocks before `fixed` stay as they are. Returns the
/// numbers of the blocks to store again, and the most expensive windows after that.
pub(super) fn mend(spots: &mut [Spot], fixed: usize, bound: Locality) -> (Vec<usize>, Worst) {
    let before = spots.to_vec();
    let (again, worst) = mend_by(spots, fixed, bound, least_around);
    if again.is_empty() {
        return (again, worst);
    }
    let mut whole = before.clone();
    let (more, left) = mend_by(&mut whole, fixed, bound, |_, _, _| None);
    if bytes_of(&before, &more) < bytes_of(&before, &again) {
        spots.copy_from_slice(&whole);
        return (more, left);
    }
    (again, worst)
}

/// Returns what the windows cost beyond the bound, summed over all of them: percents, and 100 for each range.
pub(super) fn excess(spots: &[Spot], bound: Locality) -> u64 {
    let costs = (0..spots.len()).flat_map(|last| windows_to(spots, last, bound)).map(|(_, cost)| {
        let ranges = cost.extra_ranges.saturating_sub(bound.extra_ranges as u64);
        cost.percent.saturating_sub(bound.percent).saturating_add(ranges.saturating_mul(100))
    });
    costs.fold(0, u64::saturating_add)
}

/// Repeats until every window is within the bound: stores again the blocks of the chunk that `which` returns, or all blocks of
/// the window if `which` returns `None`.
fn mend_by(
    spots: &mut [Spot],
    fixed: usize,
    bound: Locality,
    which: impl Fn(&[Spot], Range<usize>, Locality) -> Option<u64>,
) -> (Vec<usize>, Worst) {
    let mut again = Vec::new();
    let mut worst = Worst::default();
    let mut last = 0;
    while last < spots.len() {
        let mut broken = None;
        for (first, cost) in windows_to(spots, last, bound) {
            if cost.percent > bound.percent || cost.extra_ranges > bound.extra_ranges as u64 {
                let window = first.max(fixed).min(last + 1)..last + 1;
                if spots[window.clone()].iter().any(|spot| spot.shared.is_some()) {
                    broken = Some(window);
                    break;
                }
            }
            worst = worst.or(cost);
        }
        match broken {
            None => last += 1,
            Some(window) => {
                let chunk = which(spots, window.clone(), bound);
                for (number, spot) in window.clone().zip(&mut spots[window.clone()]) {
                    if spot.shared.is_some_and(|(existing, _)| chunk.is_none_or(|chunk| chunk == existing)) {
                        spot.shared = None;
                        again.push(number);
                    }
                }
                // Windows that end earlier may have another cost now.
                last = within_rows(spots[..=window.start].iter().rev(), bound.window).map_or(0, |back| window.start - back);
            }
        }
    }
    again.sort_unstable();
    // Costs that were seen on the way may be out of date, because blocks were mended since.
    let all = |spots: &[Spot]| {
        let costs = (0..spots.len()).flat_map(|last| windows_to(spots, last, bound)).map(|(_, cost)| cost);
        costs.fold(Worst::default(), Worst::or)
    };
    let left = if again.is_empty() { worst } else { all(spots) };
    (again, left)
}

/// Renews whole regions in which mending has become too expensive. `before` has the blocks as they lay before mending.
///
/// Suppose that a region lies in one chunk and every version inserts g bytes into it. All inserted blocks move with each version:
/// g, 2g, 3g and so on. Storing all N bytes of the region again resets this to zero. The average cost of a version is least if
/// the region is stored again as soon as r bytes would move, where r * r = 2 * g * N (the economic order quantity).
fn renew(before: &[Spot], spots: &mut [Spot], fixed: usize, bound: Locality) -> Vec<usize> {
    let mut renewed = Vec::new();
    for region in regions(spots, bound) {
        let sum = |counts: &dyn Fn(&(&Spot, &Spot)) -> bool| {
            let pairs = before[region.clone()].iter().zip(&spots[region.clone()]);
            pairs.filter(|pair| counts(pair)).map(|(was, _)| u128::from(was.bytes)).sum::<u128>()
        };
        let all = sum(&|(was, _)| was.shared.is_some());
        let moved = sum(&|(was, now)| was.shared.is_some() && now.shared.is_none());
        let inserted = sum(&|(was, _)| was.shared.is_none());
        if inserted > 0 && moved * moved >= 2 * inserted * all {
            let first = region.start.max(fixed).min(region.end);
            for (number, spot) in (first..).zip(&mut spots[first..region.end]) {
                if spot.shared.take().is_some() {
                    renewed.push(number);
                }
            }
        }
    }
    renewed
}

/// Returns the regions of new blocks. New blocks of one region are at most [`REACH`] windows apart. A region extends to an end of
/// its sequence that is no farther away: otherwise three chunks would meet there as soon as a row is inserted.
fn regions(spots: &[Spot], bound: Locality) -> Vec<Range<usize>> {
    let reach = bound.window.saturating_mul(REACH);
    let mut regions: Vec<Range<usize>> = Vec::new();
    // Rows since the last new block or the start of the sequence; and the first block of the sequence if no new block followed
    // yet.
    let (mut rows, mut start) = (0_u64, Some(0));
    for (number, spot) in spots.iter().enumerate() {
        if spot.starts {
            extend_to(&mut regions, number, rows <= reach && start.is_none());
            (rows, start) = (0, Some(number));
        }
        if spot.shared.is_none() {
            match regions.last_mut().filter(|_| start.is_none() && rows <= reach) {
                Some(region) => region.end = number + 1,
                None => regions.push(start.filter(|_| rows <= reach).unwrap_or(number)..number + 1),
            }
            (rows, start) = (0, None);
        } else {
            rows += u64::from(spot.rows);
        }
    }
    extend_to(&mut regions, spots.len(), rows <= reach && start.is_none());
    regions
}

/// Maximum distance between new blocks of one region, in windows.
const REACH: u64 = 3;

fn extend_to(regions: &mut [Range<usize>], end: usize, is_near: bool) {
    if let Some(region) = regions.last_mut().filter(|_| is_near) {
        region.end = end;
    }
}

/// Returns the shared chunk of a window that has the fewest bytes in all windows that overlap it.
fn least_around(spots: &[Spot], window: Range<usize>, bound: Locality) -> Option<u64> {
    let mut bytes: BTreeMap<u64, u64> = BTreeMap::new();
    for spot in &spots[window.clone()] {
        if let Some((chunk, _)) = spot.shared {
            bytes.entry(chunk).or_default();
        }
    }
    let mut count = |spot: &Spot| {
        if let Some(bytes) = spot.shared.and_then(|(chunk, _)| bytes.get_mut(&chunk)) {
            *bytes += spot.bytes;
        }
    };
    spots[window.clone()].iter().for_each(&mut count);
    // Backwards to the start of the sequence, forwards to the start of the next one.
    let mut rows = 0;
    for pair in spots[..=window.start].windows(2).rev() {
        if pair[1].starts || rows >= bound.window {
            break;
        }
        rows += u64::from(pair[0].rows);
        count(&pair[0]);
    }
    rows = 0;
    for spot in &spots[window.end..] {
        if spot.starts || rows >= bound.window {
            break;
        }
        rows += u64::from(spot.rows);
        count(spot);
    }
    bytes.into_iter().min_by_key(|(chunk, bytes)| (*bytes, std::cmp::Reverse(*chunk))).map(|(chunk, _)| chunk)
}

/// Returns the number of leading blocks that it takes to reach `rows` rows; `None` if all blocks together have fewer.
fn within_rows<'a>(spots: impl Iterator<Item = &'a Spot>, rows: u64) -> Option<usize> {
    let mut sum = 0;
    spots.enumerate().find_map(|(number, spot)| {
        let full = sum >= rows;
        sum += u64::from(spot.rows);
        full.then_some(number)
    })
}

/// Returns the last blocks that have `rows` rows together, or all blocks if they have fewer.
pub(super) fn last_rows(spots: &[Spot], rows: u64) -> &[Spot] {
    let count = within_rows(spots.iter().rev(), rows).unwrap_or(spots.len());
    &spots[spots.len() - count..]
}

/// Returns the first block and the cost of every window that ends in block `last`, the shortest first.
fn windows_to(spots: &[Spot], last: usize, bound: Locality) -> impl Iterator<Item = (usize, Worst)> {
    let mut price = Price::default();
    let (mut next, mut within) = (Some(last), 1);
    std::iter::from_fn(move || {
        // A window needs one row of its first and of its last block, and all rows between.
        let first = next.filter(|_| within <= bound.window)?;
        let spot = spots.get(first)?;
        price.reach_back_to(spot);
        within += if first == last { 1 } else { u64::from(spot.rows) };
        next = first.checked_sub(1).filter(|_| !spot.starts);
        Some((first, price.cost(bound)))
    })
}

/// Cost of reading consecutive blocks. The window grows backwards.
#[derive(Debug, Default)]
struct Price {
    /// Bytes of the blocks.
    own: u64,
    ranges: usize,
    /// Sizes of the gaps between ranges of one chunk, sorted.
    gaps: Vec<u64>,
    /// Start of the first range in each chunk. The new blocks of one stretch follow each other in one new chunk.
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
        match self.starts.iter_mut().find(|(existing, _)| *existing == key) {
            None => {
                self.ranges += 1;
                self.starts.push((key, offset));
            }
            Some(_) if !key.0 => {}
            Some((_, start)) => {
                let (end, before) = (offset + spot.bytes, std::mem::replace(start, offset));
                // The same block twice is read once.
                if end != before && offset != before {
                    self.ranges += 1;
                }
                // A block that lies before its predecessor, or the same block twice, leaves no gap to read over.
                if end < before {
                    let gap = before - end;
                    self.gaps.insert(self.gaps.partition_point(|existing| *existing < gap), gap);
                }
            }
        }
    }

    /// Reads over gaps, the smallest first, until the number of ranges is within the bound.
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

/// Returns the cost of the most expensive windows of a stored layout. The comparison is a table without shared blocks, which
/// reads a window in one range, or in two ranges at a boundary between two of its own chunks. `starts` says for each row whether
/// it starts a sequence.
///
/// ```
/// use tetrys::write::{Locality, Worst, worst_windows};
/// assert_eq!(worst_windows(&[], |_| false, Locality::default()), Worst::default());
/// ```
#[cfg_attr(not(feature = "unstable"), expect(dead_code, reason = "tests and benchmarks call it"))]
pub fn worst_windows(runs: &[LayoutRun], starts: impl Fn(u64) -> bool, bound: Locality) -> Worst {
    let mut numbers: BTreeMap<(u32, ChunkId), u64> = BTreeMap::new();
    let mut spots = Vec::new();
    let mut stretch = (0, None);
    let mut row = 0;
    for run in runs {
        let next = numbers.len() as u64;
        let chunk = *numbers.entry((run.owner, run.chunk)).or_insert(next);
        // A boundary between two of the table's own chunks would also exist without shared blocks.
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
    mend(&mut spots, fixed, bound).1
}

#[cfg(test)]
mod tests;
