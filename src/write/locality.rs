//! Bounds how far shared blocks may lie apart: the cost of a window of neighbouring rows whose blocks lie in several chunks, against
//! what it would cost had they been stored together. Pure.
//!
//! A known block that breaks the bound is stored again, so that sharing never makes a table slow. Every window of up to
//! [`Locality::window`] rows inside a sequence is priced. Two rules say what is stored again:
//!
//! 1. **Mend.** Where a window breaks the bound, the blocks of one of its chunks are stored again: of the chunk that has the
//!    fewest bytes around this window. A row that an earlier version inserted moves, its many neighbours stay. (Now and then whole
//!    windows are the cheaper choice; what is stored again is never more than that.)
//! 2. **Renew.** What is mended has to be mended again with the next insertion nearby, and each time there is more of it. A
//!    region whose mending has become as expensive as storing all of it now and then is stored again whole. It lies in one chunk
//!    then, and the next versions add only their own rows.

use std::{collections::BTreeMap, fmt, ops::Range, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    format::LayoutRun,
    id::ChunkId,
};

/// The most that sharing may cost a window of neighbouring rows.
///
/// Its text is `ROWS,RANGES,PERCENT`, of which the last ones may be left out, or `none`:
///
/// ```
/// use tetrys::write::Locality;
/// assert_eq!("11".parse::<Locality>()?, Locality { window: 11, ..Locality::default() });
/// assert_eq!("32,2,120".parse::<Locality>()?, Locality { window: 32, extra_ranges: 2, percent: 120 });
/// assert_eq!("none".parse::<Locality>()?, Locality::NONE);
/// assert_eq!(Locality::default().to_string(), "16,1,150");
/// # Ok::<(), tetrys::Error>(())
/// ```
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
            let value: u64 = part.trim().parse().map_err(|_| wrong(&format!("`{part}` is no number")))?;
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

/// The widest window that a text can ask for: every window of up to so many rows is priced at every block.
const MAX_WINDOW: u64 = 4096;

/// The cost of the worst windows.
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

/// Makes shared blocks of `spots` new until every window keeps the bound, and where that has become too expensive whole regions;
/// those before `fixed` stay as they are. Gives the numbers of the blocks to be stored again, and the worst that is left.
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

/// Makes as few shared blocks of `spots` new as two rules find until every window keeps the bound; those before `fixed` stay as
/// they are. Gives the numbers of the blocks to be stored again, and the worst that is left.
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

/// Goes on until every window keeps the bound: the blocks of the chunk that `which` names are stored again, or if it names none
/// all blocks of the window.
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
                    if spot.shared.is_some_and(|(held, _)| chunk.is_none_or(|chunk| chunk == held)) {
                        spot.shared = None;
                        again.push(number);
                    }
                }
                // Windows that end before may be another matter now.
                last = within_rows(spots[..=window.start].iter().rev(), bound.window).map_or(0, |back| window.start - back);
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

/// Makes whole regions new in which mending has become too expensive: `before` is how the blocks lay before they were mended.
///
/// Say that every version inserts g bytes into a region that lies in one chunk but for that. Its inserted blocks move with each
/// version: g, 2g, 3g and so on. Storing all N bytes of the region again starts this anew. The cost of a version is least on
/// average where that is done as soon as r bytes would move with r * r = 2 * g * N (the economic order quantity).
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

/// Where new blocks lie, as far as those of one region are at most [`REACH`] windows from each other, and up to the ends of the
/// sequence where they are no farther: at an end inside a sequence three chunks meet as soon as a row is inserted there.
fn regions(spots: &[Spot], bound: Locality) -> Vec<Range<usize>> {
    let reach = bound.window.saturating_mul(REACH);
    let mut regions: Vec<Range<usize>> = Vec::new();
    // The rows since the last new block, or since the sequence began; the first block of the sequence where there was none yet.
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

/// Windows between new blocks of one region, at most.
const REACH: u64 = 3;

fn extend_to(regions: &mut [Range<usize>], end: usize, is_near: bool) {
    if let Some(region) = regions.last_mut().filter(|_| is_near) {
        region.end = end;
    }
}

/// Which of the shared chunks of a window has the fewest bytes in the windows that overlap it.
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
    // Backwards to where the sequence starts, forwards to where the next one does.
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

/// How many of these blocks come before so many rows are full; `None` where they have fewer.
fn within_rows<'a>(spots: impl Iterator<Item = &'a Spot>, rows: u64) -> Option<usize> {
    let mut sum = 0;
    spots.enumerate().find_map(|(number, spot)| {
        let full = sum >= rows;
        sum += u64::from(spot.rows);
        full.then_some(number)
    })
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

/// The cost of reading neighbouring blocks, as the window reaches further back.
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

/// The cost of the worst windows of a stored layout, if a table that shares nothing reads a window in one range, or in two where
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
    mend(&mut spots, fixed, bound).1
}

#[cfg(test)]
mod tests;
