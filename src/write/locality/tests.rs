//! Compares the bound with a plain pricing of every window, with the best of all choices on tiny cases, and over histories of
//! many versions whose stored rows are asserted.

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
    // With two gaps, one has to be read over, which reads too many bytes.
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
fn a_block_that_repeats_costs_no_range() {
    assert_eq!(again("a0 a0 a1 a2 a2 a2 a3 a3", 8), (vec![], Worst { extra_ranges: 0, percent: 100 }));
    // A block that comes again behind another one does.
    assert_eq!(again("a0 a1 a0 a1", 4), (vec![], Worst { extra_ranges: 1, percent: 100 }));
}

#[test]
fn no_window_leaves_its_sequence() {
    assert_eq!(again("a0 b7| c3| d9| e1|", 4), (vec![], Worst { extra_ranges: 0, percent: 100 }));
}

#[test]
fn what_is_fixed_stays() {
    let mut moved = spots("a0 b7 c3 d9 e1");
    let (again, _) = keep_within(&mut moved, 2, Locality { window: 5, ..Locality::default() });
    assert!(again.iter().all(|number| *number >= 2), "{again:?}");
}

#[test]
fn a_row_of_an_earlier_version_moves_and_its_neighbours_stay() {
    assert_eq!(again("a0 a1 a2 b0 a3 . a4 a5 a6 a7", 8).0, [3]);
    assert_eq!(again("a0 a1 b0 a2 b1 a3 a4 . a5 a6 a7", 8).0, [2, 4]);
    // Rows of another sequence stay, and so do rows that no window reaches together with the new row.
    assert_eq!(again("a0 a1 b0 a2 a3| . a4 a5 a6 a7", 4).0, Vec::<usize>::new());
    assert_eq!(again("a0 b0 a1 a2 a3 a4 a5 a6 . a7", 4).0, Vec::<usize>::new());
}

#[test]
fn a_region_that_moves_again_and_again_is_stored_whole() {
    // One row of nine moves alone. If five of eleven rows would move, all of them move.
    assert_eq!(again("a0 b0 a1 a2 a3 a4 . a5 a6 a7", 16).0, [1]);
    assert_eq!(again("b0 a0 b1 a1 b2 a2 . a3 b3 a4 a5 b4", 16).0, [0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11]);
    // Mending alone moves the necessary rows only.
    let mut moved = spots("b0 a0 b1 a1 b2 a2 . a3 b3 a4 a5 b4");
    assert_eq!(mend(&mut moved, 0, Locality::default()).0, [0, 2, 4, 8, 11]);
}

#[test]
fn regions_end_where_sequences_do_and_where_no_new_block_is_near() {
    let bound = Locality { window: 2, ..Locality::default() };
    assert_eq!(regions(&spots("a0 . a1 a2| a3 . . a4| a5 a6"), bound), [0..3, 3..7]);
    let far = ["."].into_iter().chain(["a0"; 7]).chain(["."]).chain(["a0"; 7]).collect::<Vec<_>>().join(" ");
    assert_eq!(regions(&spots(&far), bound), [0..1, 8..9]);
    let last = 8..10;
    assert_eq!(regions(&spots("a0 a1 a2 a3 a4 a5 a6 a7 . a8"), bound), vec![last]);
}

/// Plain pricing of a window: the blocks of each chunk in order, reading over as few gaps as the bound demands.
fn price(window: &[Spot], bound: Locality) -> Worst {
    let mut chunks: BTreeMap<(bool, u64), Vec<(u64, u64)>> = BTreeMap::new();
    let mut stretches: Vec<u64> = window.iter().map(|spot| spot.stretch).collect();
    stretches.dedup();
    let (mut own, mut ranges, mut gaps) = (0, 0, Vec::new());
    for spot in window {
        own += spot.bytes;
        let (key, offset) = spot.shared.map_or(((false, spot.stretch), None), |(chunk, offset)| ((true, chunk), Some(offset)));
        let entry = chunks.entry(key).or_default();
        let offset = offset.unwrap_or_else(|| entry.last().map_or(0, |last| last.1));
        entry.push((offset, offset + spot.bytes));
    }
    for entry in chunks.values() {
        let between = entry.windows(2).map(|pair| pair[1].0 - pair[0].1).filter(|gap| *gap > 0);
        let before = gaps.len();
        gaps.extend(between);
        ranges += 1 + gaps.len() - before;
    }
    gaps.sort_unstable();
    let read = ranges.saturating_sub(stretches.len() + bound.extra_ranges).min(gaps.len());
    let bytes = own + gaps[..read].iter().sum::<u64>();
    let extra_ranges = (ranges - read).saturating_sub(stretches.len()) as u64;
    let is_shared = window.iter().any(|spot| spot.shared.is_some());
    if is_shared { Worst { extra_ranges, percent: (100 * bytes).div_ceil(own) } } else { Worst::default() }
}

/// Returns the cost of the most expensive windows, and every window that breaks the bound.
fn judged(spots: &[Spot], bound: Locality) -> (Worst, Vec<Range<usize>>) {
    let (mut worst, mut broken) = (Worst::default(), Vec::new());
    for first in 0..spots.len() {
        let mut rows = 0;
        for last in first..spots.len() {
            // A window takes one row each of its first and last block.
            let inner = if last > first + 1 { u64::from(spots[last - 1].rows) } else { 0 };
            rows = if last == first {
                1
            } else if last == first + 1 {
                2
            } else {
                rows + inner
            };
            if rows > bound.window || (last > first && spots[last].starts) {
                break;
            }
            let cost = price(&spots[first..=last], bound);
            worst = worst.or(cost);
            if cost.percent > bound.percent || cost.extra_ranges > bound.extra_ranges as u64 {
                broken.push(first..last + 1);
            }
        }
    }
    (worst, broken)
}

/// The naive rule: every block of a window that breaks the bound is stored again.
fn naive(spots: &mut [Spot], bound: Locality) -> Vec<usize> {
    mend_by(spots, 0, bound, |_, _, _| None).0
}

/// Returns random blocks in up to four chunks, in table order.
fn scattered(rng: &mut fastrand::Rng, blocks: usize) -> Vec<Spot> {
    let mut ends = [0; 4];
    let mut chunk = 0;
    let spots = (0..blocks).map(|number| {
        if rng.u8(..3) == 0 {
            chunk = rng.usize(..4);
        }
        let bytes = 100 * rng.u64(1..4);
        let gap = if rng.u8(..4) == 0 { 100 * rng.u64(1..4) } else { 0 };
        let offset = ends[chunk] + gap;
        let shared = (rng.u8(..5) > 0).then(|| {
            ends[chunk] = offset + bytes;
            (chunk as u64, offset)
        });
        Spot { rows: rng.u32(1..3), starts: number == 0 || rng.u8(..12) == 0, bytes, stretch: 0, shared }
    });
    spots.collect()
}

fn any_bound(rng: &mut fastrand::Rng) -> Locality {
    Locality { window: rng.u64(1..9), extra_ranges: rng.usize(..3), percent: [100, 120, 150, 300][rng.usize(..4)] }
}

#[test]
fn what_is_left_keeps_the_bound_and_is_said_right() {
    let mut rng = fastrand::Rng::with_seed(3);
    for case in 0..400 {
        let (bound, mut spots) = (any_bound(&mut rng), scattered(&mut rng, 30));
        let before = spots.clone();
        let (again, worst) = keep_within(&mut spots, 0, bound);
        let (found, broken) = judged(&spots, bound);
        assert_eq!((found, broken.len()), (worst, 0), "case {case}, {bound:?}: {before:?}");
        let gone = before.iter().zip(&spots).enumerate().filter(|(_, (was, is))| was.shared.is_some() && is.shared.is_none());
        assert_eq!(again, gone.map(|(number, _)| number).collect::<Vec<_>>(), "case {case}");
    }
}

#[test]
fn mending_is_near_the_best_of_all_choices_on_tiny_cases() {
    let mut rng = fastrand::Rng::with_seed(4);
    let (mut taken, mut best) = (0, 0);
    for case in 0..150 {
        let (bound, before) = (any_bound(&mut rng), scattered(&mut rng, 9));
        let mut spots = before.clone();
        let bytes_of = |again: &[usize]| again.iter().map(|number| before[*number].bytes).sum::<u64>();
        let bytes = bytes_of(&mend(&mut spots, 0, bound).0);
        let choices = (0..1_u32 << before.len()).filter_map(|choice| {
            let mut spots = before.clone();
            let mut bytes = 0;
            for (number, spot) in spots.iter_mut().enumerate().filter(|(number, _)| choice >> number & 1 == 1) {
                spot.shared.take()?;
                bytes += before[number].bytes;
            }
            Some((bytes, spots)).filter(|(_, spots)| judged(spots, bound).1.is_empty()).map(|(bytes, _)| bytes)
        });
        let least = choices.min().expect("all of it new keeps every bound");
        assert!(bytes >= least && bytes <= bytes_of(&naive(&mut before.clone(), bound)), "case {case}: {bytes}, {least}");
        (taken, best) = (taken + bytes, best + least);
    }
    println!("{taken} {best}");
    assert!(best > 0 && taken * 100 <= best * 115, "{taken} bytes, {best} would do");
}

/// Rows that are inserted and deleted over many versions, and the place of each row, sequence by sequence.
struct History {
    rng: fastrand::Rng,
    sequences: Vec<Vec<Option<(u64, u64)>>>,
    rows: usize,
}

impl History {
    fn new(seed: u64, sequences: usize, each: usize) -> Self {
        Self { rng: fastrand::Rng::with_seed(seed), sequences: vec![vec![None; each]; sequences], rows: sequences * each }
    }

    /// Deletes and inserts a percentage of the rows at random positions.
    fn change(&mut self, deleted: usize, inserted: usize) {
        let rows = self.sequences.iter().map(Vec::len).sum::<usize>();
        for _ in 0..rows * deleted / 100 {
            let used: Vec<usize> = (0..self.sequences.len()).filter(|number| !self.sequences[*number].is_empty()).collect();
            let sequence = &mut self.sequences[used[self.rng.usize(..used.len())]];
            sequence.remove(self.rng.usize(..sequence.len()));
        }
        for _ in 0..rows * inserted / 100 {
            let number = self.rng.usize(..self.sequences.len());
            let sequence = &mut self.sequences[number];
            sequence.insert(self.rng.usize(..=sequence.len()), None);
            self.rows += 1;
        }
    }

    /// Stores the version. Returns the number of rows stored.
    fn store(&mut self, version: u64, bound: Locality, rule: impl Fn(&mut [Spot])) -> u64 {
        let spot = |(row, shared): (usize, &Option<(u64, u64)>)| Spot {
            rows: 1,
            starts: row == 0,
            bytes: 100,
            stretch: 0,
            shared: *shared,
        };
        let mut spots: Vec<Spot> = self.sequences.iter().flat_map(|rows| rows.iter().enumerate().map(spot)).collect();
        rule(&mut spots);
        assert!(judged(&spots, bound).1.is_empty(), "version {version}");
        let mut stored = 0;
        for (place, spot) in self.sequences.iter_mut().flatten().zip(&spots) {
            if spot.shared.is_none() {
                *place = Some((version, 100 * stored));
                stored += 1;
            }
        }
        stored
    }
}

/// Returns the rows stored by `versions` versions, divided by all rows that ever existed.
fn stored(seed: u64, shape: (usize, usize), changes: (usize, usize), versions: u64, bound: Locality, renews: bool) -> f64 {
    let mut history = History::new(seed, shape.0, shape.1);
    let mut stored = 0;
    for version in 0..versions {
        if version > 0 {
            history.change(changes.0, changes.1);
        }
        stored += history.store(version, bound, |spots| {
            let rule = if renews { keep_within } else { mend };
            rule(spots, 0, bound);
        });
    }
    stored as f64 / history.rows as f64
}

#[test]
fn twenty_versions_store_little_again() {
    let mean = |changes, bound, renews| (1..=3).map(|seed| stored(seed, (20, 50), changes, 20, bound, renews)).sum::<f64>() / 3.0;
    let bound = Locality::default();
    let figures = [mean((1, 2), bound, true), mean((0, 2), bound, true), mean((1, 0), bound, true)];
    println!("{figures:?}");
    assert!(figures[0] <= 2.6 && figures[1] <= 2.75 && figures[2] <= 1.1, "{figures:?}");
    assert_eq!(mean((1, 2), Locality::NONE, true), 1.0);
    // A narrower window costs less.
    let narrow = Locality { window: 8, ..bound };
    assert!(mean((1, 2), narrow, true) < figures[0] - 0.2);
    // Renewing pays off, and more so over more versions.
    assert!(figures[0] < mean((1, 2), bound, false) - 0.2);
    let long = |renews| stored(1, (10, 50), (1, 2), 60, bound, renews);
    assert!(long(true) * 1.5 < long(false), "{} {}", long(true), long(false));
}

#[test]
fn random_histories_keep_the_bound_and_store_no_more_than_the_naive_rule() {
    let mut rng = fastrand::Rng::with_seed(5);
    for case in 0..20 {
        let bound = Locality { window: rng.u64(1..17), extra_ranges: rng.usize(..3), percent: 100 + 50 * rng.u64(..3) };
        let (shape, changes) = ((rng.usize(1..6), rng.usize(5..40)), (rng.usize(..8), rng.usize(..8)));
        let run = |rule: &dyn Fn(&mut [Spot])| {
            let mut history = History::new(case, shape.0, shape.1);
            let versions = (0..8).map(|version| {
                if version > 0 {
                    history.change(changes.0, changes.1);
                }
                history.store(version, bound, rule)
            });
            versions.sum::<u64>()
        };
        let mended = run(&|spots| drop(mend(spots, 0, bound)));
        let renewed = run(&|spots| drop(keep_within(spots, 0, bound)));
        let naive = run(&|spots| drop(naive(spots, bound)));
        println!("case {case}: {mended} {renewed} rows, the naive rule {naive}: {bound:?} {shape:?} {changes:?}");
    }
}
