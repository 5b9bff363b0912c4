//! The metrics of the motion prediction competition, for one forecast of one agent.
//!
//! A forecast has M modes: M guesses of the positions in the next T steps, and a confidence for each. The formulas are those of
//! `competition.md` of L5Kit. Results agree with L5Kit's within the rounding of `exp` and `log`.

use std::str::FromStr;

use tetrys::{Error, Result};

/// A forecast next to what happened. All values are finite and the confidences add up to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast<'a> {
    truth: &'a [f64],
    predicted: &'a [f64],
    confidences: &'a [f64],
    availabilities: &'a [f64],
    coords: usize,
}

/// The modes that a displacement error takes into account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modes {
    /// Only the best mode counts.
    Oracle,
    /// The mean over all modes, whatever their confidence.
    Mean,
}

impl<'a> Forecast<'a> {
    /// Takes arrays, row by row: `truth` of `[T, C]`, `predicted` of `[M, T, C]`, `confidences` of `[M]`, and `availabilities` of `[T]`, by
    /// which the errors are multiplied. C is `coords`: 2 for x and y, in metres.
    ///
    /// ```
    /// use tetrys_l5::evaluation::Forecast;
    /// let forecast = Forecast::new(&[0.0, 0.0, 1.0, 0.0], &[0.0, 0.0, 1.0, 2.0], &[1.0], &[1.0, 1.0], 2)?;
    /// assert_eq!(forecast.neg_multi_log_likelihood(), 2.0);
    /// # Ok::<(), tetrys::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Invalid` if the lengths do not fit together, if there is no step, mode or coordinate, if a value is not finite, or if the
    /// confidences do not add up to 1 within 1e-5: L5Kit raises `AssertionError`.
    pub fn new(
        truth: &'a [f64],
        predicted: &'a [f64],
        confidences: &'a [f64],
        availabilities: &'a [f64],
        coords: usize,
    ) -> Result<Self> {
        let (steps, modes) = (availabilities.len(), confidences.len());
        if coords == 0 || steps == 0 || modes == 0 {
            return Err(Error::invalid(format!("a forecast of {modes} modes, {steps} steps and {coords} coordinates is empty")));
        }
        let expected = steps.checked_mul(coords);
        if Some(truth.len()) != expected || Some(predicted.len()) != expected.and_then(|len| len.checked_mul(modes)) {
            return Err(Error::invalid(format!(
                "ground truth of {} and prediction of {} values, expected {steps} steps times {coords} coordinates, and {modes} modes",
                truth.len(),
                predicted.len()
            )));
        }
        for (name, values) in
            [("prediction", predicted), ("ground truth", truth), ("confidences", confidences), ("availabilities", availabilities)]
        {
            if let Some(place) = values.iter().position(|value| !value.is_finite()) {
                return Err(Error::invalid(format!("value {place} of the {name} is {}, not finite", values[place])));
            }
        }
        check_confidences(confidences)?;
        Ok(Self { truth, predicted, confidences, availabilities, coords })
    }

    /// Returns the negative logarithm of the likelihood of the truth, under a mixture of normal distributions with variance 1 m² around
    /// each mode: the competition's score.
    pub fn neg_multi_log_likelihood(&self) -> f64 {
        let logs = self.log_likelihoods();
        let largest = maximum(&logs);
        -logs.iter().map(|log| (log - largest).exp()).sum::<f64>().ln() - largest
    }

    /// Returns the root of the mean squared error that this likelihood corresponds to, in metres.
    pub fn rmse(&self) -> f64 {
        (2.0 * self.neg_multi_log_likelihood() / self.steps() as f64).sqrt()
    }

    /// Returns the probability of each mode, given the truth: M values.
    pub fn prob_true_mode(&self) -> Vec<f64> {
        let logs = self.log_likelihoods();
        let largest = maximum(&logs);
        let sum: f64 = logs.iter().map(|log| (log - largest).exp()).sum();
        logs.iter().map(|log| (log - largest).exp() / sum).collect()
    }

    /// Returns the distance to the truth at each step in metres, averaged over the modes by their probability given the truth: T values.
    pub fn time_displace(&self) -> Vec<f64> {
        let probabilities = self.prob_true_mode();
        let distances: Vec<f64> = self.squared_errors().map(f64::sqrt).collect();
        let at = |step: usize| probabilities.iter().enumerate().map(|(mode, p)| p * distances[mode * self.steps() + step]).sum();
        (0..self.steps()).map(at).collect()
    }

    /// Returns the distance to the truth in metres, averaged over the steps.
    pub fn average_displacement_error(&self, modes: Modes) -> f64 {
        let distances: Vec<f64> = self.squared_errors().map(f64::sqrt).collect();
        modes.reduce(distances.chunks(self.steps()).map(mean))
    }

    /// Returns the distance to the truth at the last step, in metres. It is 0 if the last step is unavailable.
    pub fn final_displacement_error(&self, modes: Modes) -> f64 {
        modes.reduce(self.squared_errors().skip(self.steps() - 1).step_by(self.steps()).map(f64::sqrt))
    }

    fn steps(&self) -> usize {
        self.availabilities.len()
    }

    /// Returns the squared distances to the truth, mode by mode and step by step.
    fn squared_errors(&self) -> impl Iterator<Item = f64> {
        self.predicted.chunks(self.truth.len()).flat_map(|mode| {
            let steps = mode.chunks(self.coords).zip(self.truth.chunks(self.coords)).zip(self.availabilities);
            steps.map(|((predicted, truth), available)| {
                predicted.iter().zip(truth).map(|(predicted, truth)| ((truth - predicted) * available).powi(2)).sum()
            })
        })
    }

    /// Returns the logarithm of confidence times likelihood of each mode. It is -inf for the confidence 0.
    fn log_likelihoods(&self) -> Vec<f64> {
        let errors: Vec<f64> = self.squared_errors().collect();
        let sums = errors.chunks(self.steps()).map(|errors| errors.iter().sum::<f64>());
        self.confidences.iter().zip(sums).map(|(confidence, sum)| confidence.ln() - 0.5 * sum).collect()
    }
}

impl Modes {
    fn reduce(self, errors: impl Iterator<Item = f64>) -> f64 {
        match self {
            Self::Oracle => errors.fold(f64::INFINITY, f64::min),
            Self::Mean => mean(&errors.collect::<Vec<_>>()),
        }
    }
}

/// A metric by its name in L5Kit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each metric is a method of Forecast of the same name")]
pub enum Metric {
    NegMultiLogLikelihood,
    Rmse,
    ProbTrueMode,
    TimeDisplace,
    AverageDisplacementErrorOracle,
    AverageDisplacementErrorMean,
    FinalDisplacementErrorOracle,
    FinalDisplacementErrorMean,
}

impl Metric {
    /// All metrics.
    pub const ALL: [Self; 8] = [
        Self::NegMultiLogLikelihood,
        Self::Rmse,
        Self::ProbTrueMode,
        Self::TimeDisplace,
        Self::AverageDisplacementErrorOracle,
        Self::AverageDisplacementErrorMean,
        Self::FinalDisplacementErrorOracle,
        Self::FinalDisplacementErrorMean,
    ];

    /// Returns the name of L5Kit's function.
    pub fn name(self) -> &'static str {
        match self {
            Self::NegMultiLogLikelihood => "neg_multi_log_likelihood",
            Self::Rmse => "rmse",
            Self::ProbTrueMode => "prob_true_mode",
            Self::TimeDisplace => "time_displace",
            Self::AverageDisplacementErrorOracle => "average_displacement_error_oracle",
            Self::AverageDisplacementErrorMean => "average_displacement_error_mean",
            Self::FinalDisplacementErrorOracle => "final_displacement_error_oracle",
            Self::FinalDisplacementErrorMean => "final_displacement_error_mean",
        }
    }

    /// Computes the metric: one value, or one per mode or step.
    pub fn compute(self, forecast: &Forecast<'_>) -> Vec<f64> {
        match self {
            Self::NegMultiLogLikelihood => vec![forecast.neg_multi_log_likelihood()],
            Self::Rmse => vec![forecast.rmse()],
            Self::ProbTrueMode => forecast.prob_true_mode(),
            Self::TimeDisplace => forecast.time_displace(),
            Self::AverageDisplacementErrorOracle => vec![forecast.average_displacement_error(Modes::Oracle)],
            Self::AverageDisplacementErrorMean => vec![forecast.average_displacement_error(Modes::Mean)],
            Self::FinalDisplacementErrorOracle => vec![forecast.final_displacement_error(Modes::Oracle)],
            Self::FinalDisplacementErrorMean => vec![forecast.final_displacement_error(Modes::Mean)],
        }
    }
}

impl FromStr for Metric {
    type Err = Error;

    /// Finds a metric by its name.
    ///
    /// # Errors
    /// `NotFound` if there is none of this name.
    fn from_str(name: &str) -> Result<Self> {
        let unknown = || Error::not_found(format!("metric {name:?}: known are {}", Self::ALL.map(Self::name).join(", ")));
        Self::ALL.into_iter().find(|metric| metric.name() == name).ok_or_else(unknown)
    }
}

/// Checks that confidences add up to 1, as closely as NumPy's `allclose` asks.
pub(crate) fn check_confidences(confidences: &[f64]) -> Result<()> {
    let sum: f64 = confidences.iter().sum();
    if (sum - 1.0).abs() <= 1e-8 + 1e-5 {
        return Ok(());
    }
    Err(Error::invalid(format!("the confidences add up to {sum:?}, expected 1")))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the largest value, or NaN if there is one.
fn maximum(values: &[f64]) -> f64 {
    values
        .iter()
        .copied()
        .fold(f64::NEG_INFINITY, |largest, value| if value > largest || value.is_nan() { value } else { largest })
}
