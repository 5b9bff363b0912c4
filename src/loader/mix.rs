//! Mixes the samples of several sources by weight.
//!
//! The order of a mix is a pure function. Of a source with the share w of all weights, draw j (from 0) has the deadline
//! (j + 1/2) / w, and the mix takes the draws of all sources by their deadlines. So after n draws, a source has given n·w samples,
//! give or take one; and the k-th draw is found without those before it. This is earliest-deadline-first scheduling, as in C. L. Liu
//! and J. W. Layland, "Scheduling algorithms for multiprogramming in a hard-real-time environment", 1973.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// When an epoch of a mix ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// When the next sample would be one of a loader that has given all of its samples.
    #[default]
    First,
    /// When every loader has given all of its samples. Loaders that are done earlier begin again, in the order of another epoch.
    Longest,
    /// After this number of samples. Loaders that are done earlier begin again, in the order of another epoch.
    Samples(u64),
}

/// The choice of a source for each draw of an epoch.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mix {
    /// The share of each source; they add up to 1.
    shares: Vec<f64>,
    /// Number of samples of each source.
    lens: Vec<u64>,
    stop: Stop,
    change: Change,
}

/// The last change of the weights in this epoch, as it is kept in the state of a loader.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Change {
    /// The weights from here on.
    weights: Vec<f64>,
    /// Number of samples that were drawn before.
    after: u64,
    /// How many of them each source gave.
    drawn: Vec<u64>,
}

/// The most sources: each draw looks at all of them.
const MOST: usize = 256;

/// A place in the order of a mix: a draw, and how many of those before it each source has given.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    draw: u64,
    drawn: Vec<u64>,
}

impl Mix {
    /// Creates a mix of sources with `lens[i]` samples and `weights[i]`.
    ///
    /// # Errors
    /// - `Invalid`: there are no sources or too many, their number is not that of the weights, a weight is not above 0, or a source is
    ///   empty.
    pub(super) fn new(lens: Vec<u64>, weights: &[f64], stop: Stop) -> Result<Self> {
        if lens.is_empty() || lens.len() > MOST || lens.len() != weights.len() {
            return Err(Error::invalid(format!(
                "a mix of {} loaders with {} weights: expected 1 to {MOST} loaders, and a weight for each",
                lens.len(),
                weights.len()
            )));
        }
        if let Some(place) = weights.iter().position(|weight| !weight.is_finite() || *weight <= 0.0) {
            return Err(Error::invalid(format!("weight of loader {place}: {:?}, expected more than 0", weights[place])));
        }
        if let Some(place) = lens.iter().position(|len| *len == 0) {
            return Err(Error::invalid(format!("loader {place} has no samples")));
        }
        let sum: f64 = weights.iter().sum();
        if !sum.is_finite() {
            return Err(Error::invalid("the sum of all weights is not finite: use smaller weights"));
        }
        let change = Change { weights: weights.to_vec(), after: 0, drawn: vec![0; lens.len()] };
        Ok(Self { shares: weights.iter().map(|weight| weight / sum).collect(), lens, stop, change })
    }

    /// Returns the mix at the start of an epoch.
    pub(super) fn fresh(self) -> Self {
        let change = Change { after: 0, drawn: vec![0; self.lens.len()], ..self.change };
        Self { change, ..self }
    }

    /// Returns the last change of the weights.
    pub(super) fn change(&self) -> &Change {
        &self.change
    }

    /// Continues after `offset` draws of an epoch whose weights changed as `change` says, with the weights of this mix.
    ///
    /// # Errors
    /// - `Invalid`: the change does not fit the sources or the offset.
    pub(super) fn resumed(&self, change: &Change, offset: u64) -> Result<Self> {
        let sum = change.drawn.iter().try_fold(0_u64, |sum, drawn| sum.checked_add(*drawn));
        if change.drawn.len() != self.lens.len() || sum != Some(change.after) || change.after > offset {
            return Err(Error::invalid(format!("loader state: a mix of {:?} samples after {offset}", change.drawn)));
        }
        let saved = Self { change: change.clone(), ..Self::new(self.lens.clone(), &change.weights, self.stop)? };
        if saved.shares == self.shares {
            return Ok(saved);
        }
        let change = Change { weights: self.change.weights.clone(), after: offset, drawn: saved.drawn(offset) };
        Ok(Self { change, ..self.clone() })
    }

    /// Returns the number of draws of an epoch.
    pub(super) fn len(&self) -> u64 {
        let left = self.lens.iter().zip(&self.change.drawn).map(|(len, drawn)| len.saturating_sub(*drawn));
        let by_deadline = |(one, a): &(f64, usize), (other, b): &(f64, usize)| one.total_cmp(other).then(a.cmp(b));
        let more: u64 = match self.stop {
            Stop::Samples(samples) => return samples,
            Stop::First => {
                let first = left.enumerate().map(|(source, left)| (self.deadline(source, left), source)).min_by(by_deadline);
                first.map_or(0, |(time, source)| self.counts(time, source).iter().sum())
            }
            Stop::Longest => {
                let open = left.enumerate().filter(|(_, left)| *left > 0);
                let last = open.map(|(source, left)| (self.deadline(source, left - 1), source)).max_by(by_deadline);
                last.map_or(0, |(time, source)| self.counts(time, source).iter().sum::<u64>() + 1)
            }
        };
        self.change.after + more
    }

    /// Returns the source of the `k`-th draw, and the number of its draws before. `place` is where the last call stood: from there,
    /// the next draws are found faster.
    pub(super) fn at(&self, k: u64, place: &mut Place) -> (usize, u64) {
        if place.drawn.len() != self.lens.len() || k < place.draw || k - place.draw > self.lens.len() as u64 {
            *place = Place { draw: k, drawn: self.drawn(k) };
        }
        self.step(&mut place.drawn, k - place.draw);
        place.draw = k;
        let source = self.next(&place.drawn);
        (source, place.drawn.get(source).copied().unwrap_or(0))
    }

    /// Returns how many of the first `k` draws each source has given.
    fn drawn(&self, k: u64) -> Vec<u64> {
        let more = k.saturating_sub(self.change.after);
        // Fewer than `more` draws have their deadline up to here: each source has at most one half more than its share.
        #[expect(clippy::cast_precision_loss, reason = "the counts below are corrected")]
        let time = (more as f64 - self.lens.len() as f64).max(0.0);
        let counts = self.counts(time, 0);
        let mut drawn: Vec<u64> = counts.iter().zip(&self.change.drawn).map(|(count, before)| count + before).collect();
        self.step(&mut drawn, more.saturating_sub(counts.iter().sum()));
        drawn
    }

    /// Takes the next `draws` draws one by one.
    fn step(&self, drawn: &mut [u64], draws: u64) {
        for _ in 0..draws {
            let next = self.next(drawn);
            if let Some(drawn) = drawn.get_mut(next) {
                *drawn += 1;
            }
        }
    }

    /// Returns the source of the next draw.
    fn next(&self, drawn: &[u64]) -> usize {
        let since = drawn.iter().zip(&self.change.drawn).map(|(drawn, before)| drawn - before);
        let deadlines = since.enumerate().map(|(source, since)| (self.deadline(source, since), source));
        deadlines.min_by(|(one, _), (other, _)| one.total_cmp(other)).map_or(0, |(_, source)| source)
    }

    /// Returns the number of draws of each source since the last change whose deadline lies before `time`; a deadline that is equal
    /// counts for sources before `source`.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "corrected below")]
    fn counts(&self, time: f64, source: usize) -> Vec<u64> {
        let is_before = |of: usize, number: u64| match self.deadline(of, number).total_cmp(&time) {
            Ordering::Equal => of < source,
            order => order.is_lt(),
        };
        let count = |(of, share): (usize, &f64)| {
            let mut count = (share * time + 0.5).floor() as u64;
            while is_before(of, count) {
                count += 1;
            }
            while count > 0 && !is_before(of, count - 1) {
                count -= 1;
            }
            count
        };
        self.shares.iter().enumerate().map(count).collect()
    }

    #[expect(clippy::cast_precision_loss, reason = "as exact as needed: equal numbers give equal deadlines")]
    fn deadline(&self, source: usize, number: u64) -> f64 {
        self.shares.get(source).map_or(f64::INFINITY, |share| (number as f64 + 0.5) / share)
    }
}
