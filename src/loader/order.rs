//! The order of the samples of an epoch. Any sample of it is computed on demand, so that an epoch starts at once.

use std::{ops::Range, sync::Arc};

use serde::Serialize;

use super::permutation::{Permutation, below, fraction, hash};
use crate::error::{Error, Result, counted};

/// The order in which a [`DataLoader`](super::DataLoader) delivers samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Shuffle {
    /// The order of the index.
    None,
    /// All samples in random order.
    #[default]
    Global,
    /// Blocks of neighbouring samples in random order; the samples of `window` consecutive blocks of that order are shuffled. A
    /// remote store then sees few large ranges. With 2, 4, 8, 16, 32 or 64 ranks, each rank reads its own blocks of a window, if the window
    /// has at least 16 samples for each rank.
    Block {
        /// Number of samples of a block; 0 for blocks of up to 8 MiB of samples that share a chunk.
        rows: u64,
        /// Number of blocks whose samples are shuffled together.
        window: u64,
    },
    /// Whole sequences in random order. The samples of a sequence keep their order.
    Sequence,
}

/// The rule by which an epoch draws samples.
#[derive(Clone, Debug, Default)]
pub(super) enum Draws {
    /// Every sample once.
    #[default]
    Once,
    /// By weight, with replacement. `sums[k]` is the sum of the weights of the samples `0..=k`.
    Replaced { sums: Arc<[f64]>, draws: u64 },
    /// By weight, without replacement: a sample of large weight is drawn early.
    Weighted { weights: Arc<[f64]>, draws: u64 },
    /// Every class equally often. `samples` lists the samples class by class, `starts` the first place of each class and the end.
    Balanced { samples: Arc<[u64]>, starts: Arc<[u64]>, draws: u64 },
}

/// The order of all epochs of a loader.
#[derive(Clone, Debug)]
pub(super) struct Order {
    seed: u64,
    /// Number of different samples.
    samples: u64,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    InOrder,
    Global,
    /// The first sample of each run of neighbours, and the number of samples. `window` runs are shuffled together; with 0, the
    /// samples of a run keep their order.
    Runs {
        starts: Arc<[u64]>,
        window: u64,
    },
    Drawn(Draws),
}

impl Order {
    /// Creates the order of `samples` samples. `starts` has the first sample of each block or sequence, in ascending order from 0,
    /// and the number of samples; only [`Shuffle::Block`] and [`Shuffle::Sequence`] use it.
    ///
    /// # Errors
    /// - `Invalid`: samples are drawn by weight or class, and `shuffle` is not global; or a window has no block.
    pub(super) fn new(seed: u64, samples: u64, shuffle: Shuffle, draws: Draws, starts: Arc<[u64]>) -> Result<Self> {
        let kind = match (draws, shuffle) {
            (Draws::Once, Shuffle::None) => Kind::InOrder,
            (Draws::Once, Shuffle::Global) => Kind::Global,
            (Draws::Once, Shuffle::Block { window: 0, .. }) => {
                return Err(Error::invalid("a shuffle window of 0 blocks: expected 1 or more"));
            }
            (Draws::Once, Shuffle::Block { window, .. }) => Kind::Runs { starts, window },
            (Draws::Once, Shuffle::Sequence) => Kind::Runs { starts, window: 0 },
            (draws, Shuffle::Global) => Kind::Drawn(draws),
            (_, shuffle) => {
                let found = match shuffle {
                    Shuffle::None => "no shuffle",
                    Shuffle::Block { .. } => "a shuffle of blocks",
                    _ => "a shuffle of sequences",
                };
                return Err(Error::invalid(format!(
                    "weights and balanced classes draw samples in random order: expected a global shuffle, found {found}"
                )));
            }
        };
        Ok(Self { seed, samples, kind })
    }

    /// Returns the same order with another seed.
    pub(super) fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Returns the seed.
    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the number of samples of an epoch.
    pub(super) fn len(&self) -> u64 {
        match &self.kind {
            Kind::InOrder | Kind::Global | Kind::Runs { .. } => self.samples,
            Kind::Drawn(draws) => draws.len(),
        }
    }

    /// Returns the order of one epoch.
    pub(super) fn epoch(&self, epoch: u64) -> Epoch {
        let key = |salt: u64| hash(&[self.seed, epoch, salt]);
        let epoch = match &self.kind {
            Kind::InOrder => EpochKind::InOrder,
            Kind::Global => EpochKind::Global(Permutation::new(self.samples, key(0))),
            Kind::Runs { starts, window } => {
                let runs = Permutation::new(starts.len().saturating_sub(1) as u64, key(0));
                let mut end = 0;
                let ends = (0..runs.len()).map(|place| {
                    end += run(starts, runs.at(place)).1;
                    end
                });
                EpochKind::Runs { starts: Arc::clone(starts), runs, ends: ends.collect(), window: *window, key: key(1) }
            }
            Kind::Drawn(draws) => draws.epoch(key(0)),
        };
        Epoch { kind: epoch, len: self.len() }
    }
}

/// Returns the first sample and the length of a run.
fn run(starts: &[u64], number: u64) -> (u64, u64) {
    let place = usize::try_from(number).unwrap_or(usize::MAX);
    match starts.get(place..).unwrap_or_default() {
        [start, end, ..] => (*start, end - start),
        _ => (0, 0),
    }
}

impl Draws {
    fn len(&self) -> u64 {
        match self {
            Self::Once => 0,
            Self::Replaced { draws, .. } | Self::Weighted { draws, .. } | Self::Balanced { draws, .. } => *draws,
        }
    }

    /// Creates draws by weight, `weights[k]` for sample k.
    ///
    /// # Errors
    /// - `Invalid`: a weight is negative, infinite or not a number, all are 0, or without replacement fewer samples have a weight
    ///   than are drawn.
    pub(super) fn by_weight(weights: Vec<f64>, replace: bool, draws: u64) -> Result<Self> {
        if let Some(place) = weights.iter().position(|weight| !weight.is_finite() || *weight < 0.0) {
            return Err(Error::invalid(format!("weight of sample {place}: {:?}, expected 0 or more", weights[place])));
        }
        let drawable = weights.iter().filter(|weight| **weight > 0.0).count() as u64;
        if drawable == 0 || (!replace && drawable < draws) {
            return Err(Error::invalid(format!(
                "{} of a weight above 0, {} are drawn",
                counted(drawable, "sample"),
                counted(draws, "sample")
            )));
        }
        if !replace {
            return Ok(Self::Weighted { weights: weights.into(), draws });
        }
        let mut sum = 0.0;
        let sums = weights.into_iter().map(|weight| {
            sum += weight;
            sum
        });
        let sums: Arc<[f64]> = sums.collect();
        match sum.is_finite() {
            true => Ok(Self::Replaced { sums, draws }),
            false => Err(Error::invalid("the sum of all weights is not finite: use smaller weights")),
        }
    }

    /// Creates draws with equal shares for all classes, `classes[k]` for sample k: numbers from 0 without gaps.
    ///
    /// # Errors
    /// - `Invalid`: there is no sample to draw.
    pub(super) fn by_class(classes: &[u32], draws: u64) -> Result<Self> {
        if classes.is_empty() && draws > 0 {
            return Err(Error::invalid(format!("no sample is left, {} are drawn", counted(draws, "sample"))));
        }
        let count = classes.iter().max().map_or(0, |class| *class as usize + 1);
        let mut sizes = vec![0_u64; count + 1];
        classes.iter().for_each(|class| sizes[*class as usize + 1] += 1);
        let mut end = 0;
        let starts: Vec<u64> = sizes
            .iter()
            .map(|size| {
                end += size;
                end
            })
            .collect();
        let mut next = starts.clone();
        let mut samples = vec![0; classes.len()];
        for (sample, class) in (0..).zip(classes) {
            let place = &mut next[*class as usize];
            samples[usize::try_from(*place).unwrap_or(usize::MAX)] = sample;
            *place += 1;
        }
        Ok(Self::Balanced { samples: samples.into(), starts: starts.into(), draws })
    }

    fn epoch(&self, key: u64) -> EpochKind {
        match self {
            Self::Once => EpochKind::InOrder,
            Self::Replaced { sums, .. } => EpochKind::Replaced { sums: Arc::clone(sums), key },
            Self::Weighted { weights, draws } => {
                // Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006: the samples with the smallest
                // -ln(u) / w, with u uniform in 0..1, are a weighted sample without replacement, in the order of the draws.
                let mut keyed: Vec<(f64, u64)> = (0..)
                    .zip(weights.iter())
                    .filter(|(_, weight)| **weight > 0.0)
                    .map(|(sample, weight)| (-(1.0 - fraction(hash(&[key, sample]))).ln() / weight, sample))
                    .collect();
                keyed.sort_unstable_by(|(one, a), (other, b)| one.total_cmp(other).then(a.cmp(b)));
                keyed.truncate(usize::try_from(*draws).unwrap_or(usize::MAX));
                EpochKind::Listed(keyed.into_iter().map(|(_, sample)| sample).collect())
            }
            Self::Balanced { samples, starts, draws } => EpochKind::Balanced {
                samples: Arc::clone(samples),
                starts: Arc::clone(starts),
                order: Permutation::new(*draws, key),
                key,
            },
        }
    }
}

/// The order of one epoch.
#[derive(Clone, Debug)]
pub(super) struct Epoch {
    kind: EpochKind,
    len: u64,
}

#[derive(Clone, Debug)]
enum EpochKind {
    InOrder,
    Global(Permutation),
    Runs {
        starts: Arc<[u64]>,
        runs: Permutation,
        /// The number of samples up to the end of each run, in the order of the epoch.
        ends: Vec<u64>,
        window: u64,
        key: u64,
    },
    Replaced {
        sums: Arc<[f64]>,
        key: u64,
    },
    Listed(Vec<u64>),
    Balanced {
        samples: Arc<[u64]>,
        starts: Arc<[u64]>,
        order: Permutation,
        key: u64,
    },
}

impl Epoch {
    /// Returns the `k`-th sample of the epoch. `k` is below the length of the order.
    pub(super) fn at(&self, k: u64) -> u64 {
        match &self.kind {
            EpochKind::InOrder => k,
            EpochKind::Global(order) => order.at(k),
            EpochKind::Runs { starts, runs, ends, window, key } => {
                let (first, end) = self.shuffled_with(k);
                // Places within the window are permuted; with a window of 0, `first..end` is only one sample.
                let k = match window {
                    0 => k,
                    _ => shuffled(first..end, k, hash(&[*key, first])),
                };
                let place = ends.partition_point(|end| *end <= k);
                let before = place.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
                run(starts, runs.at((place as u64).min(runs.len().saturating_sub(1)))).0 + (k - before)
            }
            EpochKind::Replaced { sums, key } => {
                let whole = sums.last().copied().unwrap_or(0.0);
                let drawn = fraction(hash(&[*key, k])) * whole;
                let place = sums.partition_point(|sum| *sum <= drawn);
                // Rounding may give the whole sum, which no sample has: take the last one with a weight.
                place.min(sums.partition_point(|sum| *sum < whole)) as u64
            }
            EpochKind::Listed(samples) => usize::try_from(k).ok().and_then(|k| samples.get(k)).copied().unwrap_or(0),
            EpochKind::Balanced { samples, starts, order, key } => {
                let classes = starts.len().saturating_sub(1).max(1) as u64;
                let draw = order.at(k);
                let (class, number) = (draw % classes, draw / classes);
                let (start, size) = run(starts, class);
                // A class is run through as often as its share asks for, each time in another order.
                let (pass, number) = (number / size.max(1), number % size.max(1));
                let place = start + Permutation::new(size, hash(&[*key, class, pass])).at(number);
                usize::try_from(place).ok().and_then(|place| samples.get(place)).copied().unwrap_or(0)
            }
        }
    }

    /// Whether samples are shuffled within windows of blocks.
    pub(super) fn shuffles_in_windows(&self) -> bool {
        matches!(&self.kind, EpochKind::Runs { window, .. } if *window > 0)
    }

    /// Returns the range of places that are shuffled together with place `k`: what is read together is needed together.
    pub(super) fn shuffled_with(&self, k: u64) -> (u64, u64) {
        match &self.kind {
            EpochKind::Runs { ends, window, .. } if *window > 0 => {
                let window = usize::try_from(*window).unwrap_or(usize::MAX);
                let group = ends.partition_point(|end| *end <= k) / window;
                let end_of = |groups: usize| match groups.saturating_mul(window).min(ends.len()) {
                    0 => 0,
                    runs => ends.get(runs - 1).copied().unwrap_or(self.len),
                };
                (end_of(group), end_of(group + 1))
            }
            _ => (k, k + 1),
        }
    }
}

/// The most parts of a window, and the least samples of a part.
const PARTS: u64 = 64;
const PART: u64 = 16;

/// Returns the place of a window whose sample comes at place `k`: a permutation of the window.
///
/// A window consists of parts, `2^n` of about equal length. Places with the same remainder modulo `2^n` take the samples of one part, in
/// random order. So neighbouring samples come from different parts, and a rank, whose places have one remainder modulo the number of
/// ranks, takes its samples from few parts. These stand side by side, because the remainder with its bits reversed is the number of the
/// part: the parts of the remainders `r` and `r + 2^n / 2` are neighbours, and so on. All numbers of parts are shifted by `key` (an
/// exclusive or, which keeps neighbours together), so that a rank does not take the same parts of each window.
fn shuffled(window: Range<u64>, k: u64, key: u64) -> u64 {
    let parts = ((window.end - window.start) / PART).clamp(1, PARTS);
    let bits = parts.ilog2();
    let parts = 1 << bits;
    // Numbers below 2^0 are all 0.
    let reversed = |number: u64| number.reverse_bits().checked_shr(u64::BITS - bits).unwrap_or(0);
    let shift = key % parts;
    // Number of places before `end` with a remainder.
    let places = |remainder: u64, end: u64| (end + parts - 1 - remainder) / parts;
    let samples = |remainder: u64| places(remainder, window.end) - places(remainder, window.start);
    let remainder = k % parts;
    let before: u64 = (0..reversed(remainder) ^ shift).map(|part| samples(reversed(part ^ shift))).sum();
    let order = Permutation::new(samples(remainder), hash(&[key, remainder]));
    window.start + before + order.at(k / parts - places(remainder, window.start))
}

/// How well an order mixes neighbours, beside the values of a perfect shuffle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ShuffleQuality {
    /// Mean distance in the index of two samples that follow each other in the epoch, divided by the number of samples.
    pub neighbour_distance: f64,
    /// The same for a perfect shuffle: (n + 1) / 3n.
    pub perfect_distance: f64,
    /// Mean share of the samples of a batch that come from the sequence with most samples in it.
    pub largest_share: f64,
    /// The same for a perfect shuffle of the same samples, measured on one.
    pub perfect_share: f64,
}

/// The most batches that are looked at.
const LOOKED_AT: u64 = 256;

/// Measures the quality of an order over `samples` samples. `group_of` gives the sequence of a sample.
#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
pub(super) fn quality(order: &Order, batch_size: u64, epoch: u64, group_of: impl Fn(u64) -> u64) -> ShuffleQuality {
    let samples = order.samples;
    let (ordered, perfect) = (order.epoch(epoch), Permutation::new(samples, hash(&[order.seed, epoch, 2])));
    let batches = (order.len() / batch_size.max(1)).clamp(1, LOOKED_AT);
    // Batches from all over the epoch.
    let starts = |len: u64| (0..batches).map(move |batch| below(hash(&[batch]), len.saturating_sub(batch_size).max(1)));
    let share = |len: u64, at: &dyn Fn(u64) -> u64| {
        let of_one = |start: u64| {
            let mut groups: Vec<u64> = (start..(start + batch_size).min(len)).map(|k| group_of(at(k))).collect();
            groups.sort_unstable();
            let largest = groups.chunk_by(|one, other| one == other).map(<[u64]>::len).max().unwrap_or(0);
            largest as f64 / groups.len().max(1) as f64
        };
        starts(len).map(of_one).sum::<f64>() / batches as f64
    };
    let (mut distance, mut pairs) = (0.0, 0_u64);
    for start in starts(order.len()) {
        for k in start..(start + batch_size).min(order.len()).saturating_sub(1) {
            distance += ordered.at(k).abs_diff(ordered.at(k + 1)) as f64;
            pairs += 1;
        }
    }
    let n = samples.max(1) as f64;
    ShuffleQuality {
        neighbour_distance: distance / pairs.max(1) as f64 / n,
        perfect_distance: (n + 1.0) / (3.0 * n),
        largest_share: share(order.len(), &|k| ordered.at(k)),
        perfect_share: share(samples, &|k| perfect.at(k)),
    }
}
