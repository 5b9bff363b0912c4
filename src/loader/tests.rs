//! Tests of the pure parts: orders and shares.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "tests may panic"
)]

use std::collections::BTreeSet;

use super::{
    mix::{Mix, Place, Stop},
    options::share_of_prefetch,
    order::{Draws, Order, Shuffle, quality},
    permutation::{Permutation, hash},
    planner::{Planner, PlansAhead, Start},
    shards::{Last, Shards, Share},
};

/// Statistic of a chi-square test: the sum of (found - expected)^2 / expected.
fn chi_square(found: &[u64], expected: impl Fn(usize) -> f64) -> f64 {
    (0..).zip(found).map(|(cell, found)| (*found as f64 - expected(cell)).powi(2) / expected(cell)).sum()
}

/// Checks a statistic of `freedom` degrees of freedom. A chi-square variable has the mean `freedom` and the variance
/// `2 * freedom`; six standard deviations beyond the mean come up by chance less than once in a hundred thousand tests.
#[track_caller]
fn is_random(statistic: f64, freedom: usize) {
    let bound = freedom as f64 + 6.0 * (2.0 * freedom as f64).sqrt();
    assert!(statistic < bound, "chi-square {statistic} of {freedom} degrees of freedom, expected below {bound}");
}

fn order(seed: u64, samples: u64, shuffle: Shuffle, starts: Vec<u64>) -> Order {
    Order::new(seed, samples, shuffle, Draws::Once, starts.into()).unwrap()
}

/// Random runs of `0..samples`.
fn runs(rng: &mut fastrand::Rng, samples: u64) -> Vec<u64> {
    let mut starts: BTreeSet<u64> = (0..rng.u64(0..20)).map(|_| rng.u64(0..samples.max(1))).collect();
    starts.extend([0, samples]);
    starts.into_iter().collect()
}

#[test]
fn a_permutation_has_every_number_once() {
    for n in (0..400).chain([1_000, 4_096, 65_537]) {
        let permutation = Permutation::new(n, n ^ 7);
        let found: BTreeSet<u64> = (0..n).map(|k| permutation.at(k)).collect();
        assert_eq!(found, (0..n).collect());
    }
    // Too many to look at all: no two of a hundred thousand are the same.
    for n in [100_000_000_u64, (1 << 40) + 1, 1 << 62] {
        let permutation = Permutation::new(n, 3);
        let found: BTreeSet<u64> = (0..100_000).map(|k| permutation.at(k)).collect();
        assert!(found.len() == 100_000 && found.iter().all(|number| *number < n));
    }
}

#[test]
fn positions_pairs_and_neighbours_of_a_global_shuffle_are_random() {
    const SEEDS: u64 = 20_000;
    for n in [2_u64, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 33] {
        let size = n as usize;
        let (mut places, mut distances) = (vec![0; size * size], vec![0; size]);
        let (mut first_two, mut ends) = (vec![0; size * size], vec![0; size * size]);
        for seed in 0..SEEDS {
            let epoch = order(seed, n, Shuffle::Global, Vec::new()).epoch(seed % 3);
            let all: Vec<usize> = (0..n).map(|k| epoch.at(k) as usize).collect();
            all.iter().enumerate().for_each(|(k, sample)| places[k * size + sample] += 1);
            first_two[all[0] * size + all[1]] += 1;
            ends[all[0] * size + all[size - 1]] += 1;
            all.windows(2).for_each(|pair| distances[pair[0].abs_diff(pair[1])] += 1);
        }
        is_random(chi_square(&places, |_| SEEDS as f64 / n as f64), (size - 1) * (size - 1));
        // Equal numbers cannot be a pair.
        for pairs in [first_two, ends] {
            let different: Vec<u64> =
                (0..size * size).filter(|cell| cell / size != cell % size).map(|cell| pairs[cell]).collect();
            is_random(chi_square(&different, |_| SEEDS as f64 / (n * (n - 1)) as f64), different.len() - 1);
        }
        // Of all pairs of different numbers, 2 (n - d) of n (n - 1) differ by d.
        let expected = |d: usize| (SEEDS * (n - 1)) as f64 * 2.0 * (n - 1 - d as u64) as f64 / (n * (n - 1)) as f64;
        is_random(chi_square(&distances[1..], expected), size - 2 + usize::from(size == 2));
    }
}

#[test]
fn every_mode_has_every_sample_once_and_another_order_in_every_epoch() {
    let mut rng = fastrand::Rng::with_seed(1);
    for _ in 0..300 {
        let samples = rng.u64(0..600);
        let starts = runs(&mut rng, samples);
        for shuffle in [
            Shuffle::None,
            Shuffle::Global,
            Shuffle::Sequence,
            Shuffle::Block { rows: 0, window: rng.u64(1..6) },
            Shuffle::Block { rows: 0, window: u64::MAX },
        ] {
            let order = order(rng.u64(..), samples, shuffle, starts.clone());
            let epochs = [0, 1].map(|epoch| {
                let epoch = order.epoch(epoch);
                (0..samples).map(|k| epoch.at(k)).collect::<Vec<_>>()
            });
            for epoch in &epochs {
                assert_eq!(epoch.iter().copied().collect::<BTreeSet<_>>(), (0..samples).collect(), "{shuffle:?} {starts:?}");
            }
            let few = samples < 50 || (starts.len() < 12 && shuffle == Shuffle::Sequence);
            assert!(few || (epochs[0] == epochs[1]) == (shuffle == Shuffle::None), "{shuffle:?}");
        }
    }
}

#[test]
fn sequences_stay_whole_and_blocks_stay_within_their_window() {
    let mut rng = fastrand::Rng::with_seed(2);
    for _ in 0..200 {
        let samples = rng.u64(1..500);
        let starts = runs(&mut rng, samples);
        let run_of = |sample: u64| starts.partition_point(|start| *start <= sample) - 1;
        let epoch = order(rng.u64(..), samples, Shuffle::Sequence, starts.clone()).epoch(0);
        for k in 1..samples {
            let (before, sample) = (epoch.at(k - 1), epoch.at(k));
            assert!(sample == before + 1 || (starts.contains(&sample) && starts.contains(&(before + 1))));
        }
        let window = rng.u64(1..5);
        let epoch = order(rng.u64(..), samples, Shuffle::Block { rows: 0, window }, starts.clone()).epoch(0);
        let mut k = 0;
        while k < samples {
            let (start, end) = epoch.shuffled_with(k);
            assert!(start == k && end > k);
            let members: BTreeSet<usize> = (start..end).map(|k| run_of(epoch.at(k))).collect();
            let sizes: u64 = members.iter().map(|run| starts[run + 1] - starts[*run]).sum();
            assert!(sizes == end - start && members.len() as u64 <= window, "whole blocks, at most {window}");
            k = end;
        }
    }
}

#[test]
fn ranks_take_the_samples_of_a_window_from_blocks_of_their_own() {
    let mut rng = fastrand::Rng::with_seed(4);
    for _ in 0..300 {
        let (block, window, ranks) = (rng.u64(1..40), rng.u64(1..20), 1_u64 << rng.u32(0..5));
        let samples = block * window * rng.u64(1..4) + rng.u64(0..block);
        let starts = (0..samples).step_by(block as usize).chain([samples]).collect();
        let epoch = order(rng.u64(..), samples, Shuffle::Block { rows: block, window }, starts).epoch(rng.u64(0..3));
        let mut k = 0;
        while k < samples {
            let (start, end) = epoch.shuffled_with(k);
            // Each rank has its share of the blocks of the window, and at most two more: its places begin and end within blocks.
            let blocks = (end - start).div_ceil(block);
            let is_apart = (end - start) / 16 >= ranks;
            for rank in 0..ranks {
                let own = (start..end).filter(|k| k % ranks == rank).map(|k| epoch.at(k) / block).collect::<BTreeSet<u64>>();
                assert!(!is_apart || own.len() as u64 <= blocks.div_ceil(ranks) + 2, "{own:?} of {blocks} blocks, {ranks} ranks");
            }
            k = end;
        }
    }
}

#[test]
fn a_sample_of_a_window_comes_anywhere_in_it() {
    const SEEDS: u64 = 20_000;
    // Windows of 1, 2 and 4 parts, in one or two blocks, of which the first has another number of samples.
    for (samples, starts) in [(31, vec![0, 31]), (40, vec![0, 40]), (72, vec![0, 13, 72])] {
        let size = samples as usize;
        let mut places = vec![0; size * size];
        for seed in 0..SEEDS {
            let epoch = order(seed, samples, Shuffle::Block { rows: 0, window: 2 }, starts.clone()).epoch(seed % 3);
            (0..samples).for_each(|k| places[k as usize * size + epoch.at(k) as usize] += 1);
        }
        is_random(chi_square(&places, |_| SEEDS as f64 / samples as f64), (size - 1) * (size - 1));
    }
}

#[test]
fn ranks_share_an_epoch_and_resume_it_with_other_sizes() {
    let mut rng = fastrand::Rng::with_seed(3);
    for _ in 0..2_000 {
        let samples = rng.u64(0..300);
        let last = [Last::Drop, Last::Pad, Last::Short][rng.usize(0..3)];
        let draw = |rng: &mut fastrand::Rng| (rng.u64(1..9), rng.u64(1..6));
        let (batch_size, world_size) = draw(&mut rng);
        let ranks = |batch_size, world_size| (0..world_size).map(move |rank| Shards { batch_size, rank, world_size, last });
        // Returns the samples from `offset` on, in order, and checks that all ranks do the same number of steps.
        let deliver = |offset: u64, steps: u64, batch_size, world_size| {
            let (mut all, mut padding) = (Vec::new(), 0);
            let mut at = offset;
            for _ in 0..steps {
                let shares: Vec<_> = ranks(batch_size, world_size).map(|shards| shards.share(samples, at).unwrap()).collect();
                for place in 0..batch_size as usize {
                    for share in &shares {
                        let real = share.numbers.len() - share.padding;
                        all.extend(share.numbers.get(place).filter(|_| place < real));
                        padding += usize::from(place >= real && place < share.numbers.len());
                        assert!(last != Last::Pad || share.numbers.len() == batch_size as usize);
                    }
                }
                at += batch_size * world_size;
            }
            (all, padding)
        };
        let steps = |offset, batch_size, world_size| Shards { batch_size, rank: 0, world_size, last }.steps(samples, offset);
        let whole = steps(0, batch_size, world_size);
        let before = if whole == 0 { 0 } else { rng.u64(0..=whole) };
        let (first, padding) = deliver(0, before, batch_size, world_size);
        let offset = (before * batch_size * world_size).min(samples);
        assert!(padding == 0 || before == whole);
        let (batch_size, world_size) = draw(&mut rng);
        let (rest, _) = deliver(offset, steps(offset, batch_size, world_size), batch_size, world_size);
        let all: Vec<u64> = first.into_iter().chain(rest).collect();
        let expected = match last {
            Last::Drop => all.len() as u64,
            _ => samples,
        };
        assert_eq!(all, (0..expected).collect::<Vec<_>>(), "{last:?}");
        assert!(samples - expected < batch_size * world_size);
    }
}

#[test]
fn shares_of_impossible_sizes_are_refused() {
    let shards = |batch_size, rank, world_size| Shards { batch_size, rank, world_size, last: Last::Short };
    for (wrong, text) in [
        (shards(0, 0, 1), "batch size 0"),
        (shards(1, 0, 0), "world size 0"),
        (shards(1, 3, 3), "rank 3: expected 0 to 2"),
        (shards(u64::MAX, 0, 1), "batch size 18446744073709551615"),
    ] {
        assert!(wrong.check().unwrap_err().to_string().contains(text), "{wrong:?}");
    }
    assert!(shards(4, 0, 3).check_last(14, 0).unwrap_err().to_string().contains("2 samples for 3 ranks"));
    shards(4, 0, 3).check_last(15, 0).unwrap();
    shards(4, 0, 3).check_last(24, 0).unwrap();
}

#[test]
fn weighted_draws_follow_the_weights() {
    const EPOCHS: u64 = 4_000;
    let weights = vec![1.0, 0.0, 3.0, 0.5, 0.0, 5.5];
    let drawable = [0, 2, 3, 5];
    let shares = |found: &[u64]| drawable.map(|sample| found[sample]);
    for replace in [true, false] {
        let draws = Draws::by_weight(weights.clone(), replace, if replace { 10 } else { 4 }).unwrap();
        let order = Order::new(9, 6, Shuffle::Global, draws, [].into()).unwrap();
        let (mut first, mut all) = (vec![0; 6], vec![0; 6]);
        for epoch in 0..EPOCHS {
            let epoch = order.epoch(epoch);
            let drawn: Vec<u64> = (0..order.len()).map(|k| epoch.at(k)).collect();
            first[drawn[0] as usize] += 1;
            drawn.iter().for_each(|sample| all[*sample as usize] += 1);
            assert!(replace || drawn.iter().collect::<BTreeSet<_>>().len() == 4);
        }
        // The first draw of an epoch follows the weights, with replacement every draw does.
        for (found, draws) in [(&first, EPOCHS), (&all, EPOCHS * order.len())].into_iter().take(1 + usize::from(replace)) {
            assert_eq!((found[1], found[4]), (0, 0), "a weight of 0 is never drawn");
            is_random(chi_square(&shares(found), |cell| draws as f64 * weights[drawable[cell]] / 10.0), 3);
        }
    }
    for (wrong, text) in [
        (vec![1.0, -1.0], "weight of sample 1: -1"),
        (vec![f64::NAN], "NaN"),
        (vec![0.0, 0.0], "0 samples of a weight above 0"),
        (vec![f64::INFINITY], "inf"),
        (vec![1.0, 0.0], "1 sample of a weight above 0, 2 samples are drawn"),
    ] {
        assert!(Draws::by_weight(wrong, false, 2).unwrap_err().to_string().contains(text), "{text}");
    }
    let draws = Draws::by_weight(weights, true, 6).unwrap();
    assert!(Order::new(0, 6, Shuffle::Sequence, draws, [0, 6].into()).is_err());
}

#[test]
fn balanced_draws_give_every_class_its_share_and_repeat_only_small_classes() {
    let mut rng = fastrand::Rng::with_seed(4);
    for _ in 0..200 {
        let count = rng.u32(1..5);
        let mut classes: Vec<u32> = (0..count).chain((0..rng.u32(0..100)).map(|_| rng.u32(0..count))).collect();
        rng.shuffle(&mut classes);
        let draws = rng.u64(0..300);
        let order =
            Order::new(rng.u64(..), classes.len() as u64, Shuffle::Global, Draws::by_class(&classes, draws).unwrap(), [].into());
        let epoch = order.unwrap().epoch(5);
        let mut found = vec![0_u64; classes.len()];
        (0..draws).for_each(|k| found[epoch.at(k) as usize] += 1);
        for class in 0..count {
            let of_class: Vec<u64> =
                found.iter().zip(&classes).filter(|(_, existing)| **existing == class).map(|(n, _)| *n).collect();
            let share = of_class.iter().sum::<u64>();
            assert!(share.abs_diff(draws / u64::from(count)) <= 1, "{share} of {draws} draws in {count} classes");
            let (least, most) = (of_class.iter().min().unwrap(), of_class.iter().max().unwrap());
            assert!(most - least <= 1, "a class repeats only after all of its samples");
        }
    }
}

#[test]
fn the_quality_of_a_global_shuffle_is_perfect_and_that_of_no_shuffle_is_not() {
    let starts: Vec<u64> = (0..=100).map(|run| run * 100).collect();
    let of = |shuffle| quality(&order(1, 10_000, shuffle, starts.clone()), 64, 0, |sample| sample / 100);
    let (global, none) = (of(Shuffle::Global), of(Shuffle::None));
    assert!((global.neighbour_distance / global.perfect_distance - 1.0).abs() < 0.03, "{global:?}");
    assert!((global.largest_share / global.perfect_share - 1.0).abs() < 0.1, "{global:?}");
    assert!(none.neighbour_distance < 0.001 && none.largest_share > 0.6, "{none:?}");
    let block = of(Shuffle::Block { rows: 0, window: 10 });
    assert!(
        block.neighbour_distance > 0.1 && block.largest_share < 0.5 && block.largest_share > global.largest_share,
        "{block:?}"
    );
}

#[test]
fn an_epoch_over_a_hundred_million_samples_takes_no_memory() {
    let order = order(1, 100_000_000, Shuffle::Global, Vec::new());
    assert!(size_of_val(&order) + size_of_val(&order.epoch(1)) < 1024, "the whole state is in these values");
    assert_ne!(order.epoch(1).at(99_999_999), order.epoch(2).at(99_999_999));
    assert_ne!(hash(&[1, 2]), hash(&[2, 1]));
}

/// The draws of a mix one after another: the source whose next draw has the earliest deadline.
fn one_by_one(lens: &[u64], weights: &[f64], drawn: &[u64], draws: u64) -> Vec<(usize, u64)> {
    let sum: f64 = weights.iter().sum();
    let mut since = vec![0_u64; lens.len()];
    let next = |_| {
        let deadline = |source: &usize| (since[*source] as f64 + 0.5) / (weights[*source] / sum);
        let source = (0..lens.len()).min_by(|one, other| deadline(one).total_cmp(&deadline(other))).unwrap();
        since[source] += 1;
        (source, drawn[source] + since[source] - 1)
    };
    (0..draws).map(next).collect()
}

#[test]
fn a_mix_draws_by_weight_stops_as_asked_and_changes_its_weights_anywhere() {
    let mut rng = fastrand::Rng::with_seed(7);
    for _ in 0..60 {
        let sources = rng.usize(1..6);
        let lens: Vec<u64> = (0..sources).map(|_| rng.u64(1..200)).collect();
        let mut weights = || (0..sources).map(|_| [1.0, 3.0, 0.1, 7.5, 1.0 / 3.0][rng.usize(0..5)]).collect::<Vec<f64>>();
        let (first, second) = (weights(), weights());
        let mix = |weights: &[f64], stop| Mix::new(lens.clone(), weights, stop).unwrap();
        let nothing = vec![0; sources];
        let whole = one_by_one(&lens, &first, &nothing, 8_000);
        let short = mix(&first, Stop::First);
        let end = whole.iter().position(|(source, number)| *number == lens[*source]).unwrap() as u64;
        assert_eq!(short.len(), end);
        let left = |upto: usize| {
            let mut left = lens.clone();
            whole[..upto].iter().for_each(|(source, _)| left[*source] = left[*source].saturating_sub(1));
            left.iter().sum::<u64>()
        };
        if let Some(longest) = (1..whole.len()).find(|upto| left(*upto) == 0) {
            assert_eq!(mix(&first, Stop::Longest).len(), longest as u64);
        }
        assert_eq!(mix(&first, Stop::Samples(7_777)).len(), 7_777);
        let mut place = Place::default();
        // Any draw is found without those before it, and from a place near it.
        assert!((0..500).all(|k| short.at(k, &mut place) == whole[k as usize]));
        for k in (0..300).map(|_| rng.u64(0..8_000)) {
            assert_eq!(short.at(k, &mut place), whole[k as usize], "draw {k} of {lens:?} by {first:?}");
        }
        // Of any number of draws, each source gives its share, give or take one.
        let sum: f64 = first.iter().sum();
        for (source, weight) in first.iter().enumerate() {
            let share = weight / sum;
            let mut given = 0.0;
            for (k, (drawn, _)) in whole.iter().enumerate() {
                given += f64::from(u8::from(*drawn == source));
                assert!((given - share * (k + 1) as f64).abs() < 1.0 + sources as f64 / 2.0);
            }
        }
        // With other weights from a draw on: each source goes on where it was. Changed back, a third time.
        let at = rng.u64(0..=end);
        let changed = mix(&second, Stop::First).resumed(short.change(), at).unwrap();
        let counts = |upto: u64, of: &[(usize, u64)]| {
            let mut counts = nothing.clone();
            of[..upto as usize].iter().for_each(|(source, _)| counts[*source] += 1);
            counts
        };
        if first.iter().zip(&second).any(|(one, other)| one != other) {
            let mut place = Place::default();
            let rest = one_by_one(&lens, &second, &counts(at, &whole), 3_000);
            for k in (0..100).map(|_| rng.u64(0..3_000)) {
                assert_eq!(changed.at(at + k, &mut place), rest[k as usize]);
            }
            let end = rest.iter().position(|(source, number)| *number >= lens[*source]).map(|end| at + end as u64);
            assert!(end.is_none_or(|end| end == changed.len()), "{end:?} {}", changed.len());
            let again = mix(&first, Stop::First).resumed(changed.change(), at + 17).unwrap();
            let mut place = Place::default();
            let mut drawn = counts(at, &whole);
            rest[..17].iter().for_each(|(source, _)| drawn[*source] += 1);
            let end = one_by_one(&lens, &first, &drawn, 100);
            assert!((0..100).all(|k| again.at(at + 17 + k, &mut place) == end[k as usize]));
            assert_eq!(again.clone().fresh(), mix(&first, Stop::First));
        } else {
            assert_eq!(changed, short);
        }
    }
    let large = Mix::new(vec![1 << 50, 3], &[1.0, 1e-9], Stop::Longest).unwrap();
    assert_eq!(large.at((1 << 50) - 5, &mut Place::default()).0, 0);
    for (lens, weights) in [(vec![], vec![]), (vec![1], vec![]), (vec![1, 0], vec![1.0, 1.0]), (vec![5], vec![0.0])] {
        assert!(Mix::new(lens.clone(), &weights, Stop::First).is_err(), "{lens:?} {weights:?}");
    }
    for weight in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(Mix::new(vec![1, 1], &[1.0, weight], Stop::First).is_err());
    }
}

#[test]
fn little_is_read_at_a_time_and_much_may_wait() {
    const MIB: u64 = 1 << 20;
    let shards = Shards { batch_size: 1, rank: 0, world_size: 1, last: Last::Drop };
    let planner = |batch_bytes| Planner { shards, samples: 100, batch_bytes, prefetch: 512 * MIB };
    let ahead =
        |bytes, running_bytes| PlansAhead { plans: 20, bytes: bytes * MIB, running: 2, running_bytes: running_bytes * MIB };
    let may_read = |bytes, waiting, running| planner(MIB).may_read(bytes * MIB, ahead(waiting, running));
    assert!(may_read(4, 124, 124) && !may_read(4, 128, 125), "128 MiB at a time");
    assert!(may_read(4, 508, 0) && may_read(4, 508, 124) && !may_read(4, 509, 0), "512 MiB in all");
    let one = PlansAhead { running: 1, ..ahead(300, 201) };
    assert!(
        planner(MIB).may_read(200 * MIB, one) && !may_read(200, 300, 201) && !may_read(200, 313, 0),
        "two large plans at a time"
    );
    assert!(!planner(0).may_read(MIB, PlansAhead::default()), "one plan alone, before the size of a sample is known");
    assert!(planner(1).may_read(1, PlansAhead { plans: 255, running: 15, ..ahead(1, 1) }), "finished plans wait");
    assert!(!planner(1).may_read(1, PlansAhead { plans: 256, ..ahead(1, 1) }), "not too many of small ones");
    assert!(!planner(1).may_read(1, PlansAhead { running: 16, ..ahead(1, 1) }), "16 plans at a time");
}

#[test]
fn plans_have_every_batch_and_end_with_windows() {
    let mut rng = fastrand::Rng::with_seed(5);
    for case in 0..3_000 {
        let (samples, world_size) = (rng.u64(1..400), rng.u64(1..5));
        let last = [Last::Drop, Last::Pad, Last::Short][rng.usize(0..3)];
        let shards = Shards { batch_size: rng.u64(1..20), rank: rng.u64(0..world_size), world_size, last };
        let planner = Planner { shards, samples, batch_bytes: rng.u64(0..8), prefetch: rng.u64(0..300) };
        let windows = runs(&mut rng, samples);
        let end_of = |draw: u64| windows[windows.partition_point(|end| *end <= draw).min(windows.len() - 1)];
        let first = rng.u64(0..=samples / shards.step()) * shards.step();
        if shards.check_last(samples, first).is_err() {
            continue;
        }
        let (mut found, mut part, mut start) = (Vec::new(), None::<Share>, Start::of_step(first));
        loop {
            let plan = planner.shares(|draw| (Some(end_of(draw)), true), start);
            let mut planned = shards.share(samples, start.step).into_iter().flat_map(|share| share.numbers.into_iter().take(1));
            let continues = start.draw > start.step && planned.any(|number| number >= start.step && number < start.draw);
            assert_eq!(continues, part.is_some(), "case {case}: {plan:?}");
            let Some(own) = plan.batches.first().and_then(|batch| batch.numbers.first().copied()) else { break };
            // A window that fits is read whole, and nothing of the window behind the last one.
            let fits =
                planner.batch_bytes > 0 && (end_of(own) - own) * planner.batch_bytes <= planner.prefetch / 3 * shards.step();
            if fits && shards.share(samples, plan.next.step).is_some() {
                let share = shards.share(samples, plan.next.step).unwrap();
                let next = share.numbers.into_iter().find(|number| *number >= plan.next.draw).unwrap_or(samples);
                let read = plan.batches.iter().flat_map(|batch| &batch.numbers).max().unwrap();
                assert!(end_of(*read) <= next, "case {case}: {planner:?} {start:?} {plan:?}, windows {windows:?}");
            }
            let batches = plan.batches.len();
            for (number, mut share) in plan.batches.into_iter().enumerate() {
                if let Some(part) = part.take() {
                    share.numbers.splice(0..0, part.numbers);
                }
                if plan.goes_on && number + 1 == batches {
                    part = Some(share);
                } else {
                    found.push(share);
                }
            }
            start = plan.next;
        }
        assert_eq!(part, None, "case {case}");
        let offsets = (0..).map(|step| first + step * shards.step());
        let expected: Vec<Share> = offsets.map_while(|offset| shards.share(samples, offset)).collect();
        assert_eq!(found, expected, "case {case}: {planner:?}, windows {windows:?}");
    }
}

#[test]
fn the_processes_of_a_machine_share_the_default_of_prefetch() {
    for (processes, mib) in [(0, 512), (1, 512), (3, 170), (4, 128), (8, 64), (64, 64), (u64::MAX, 64)] {
        assert_eq!(share_of_prefetch(processes) >> 20, mib, "{processes} processes");
    }
}
