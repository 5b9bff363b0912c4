//! The exact fit: steering and acceleration within bounds whose motion comes near the control points.

use super::trust_region::{Bounds, Matrix, least_squares};
use super::{Columns, check_columns};
use crate::geometry::angular_distance;
use tetrys::{Error, Result};

/// Weights and bounds of the exact fit, per step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExactSettings {
    /// The weight of the steering.
    pub steer_weight: f64,
    /// The weight of the acceleration.
    pub acceleration_weight: f64,
    /// The smallest and the largest change of the speed, m per step.
    pub acceleration: [f64; 2],
    /// The smallest and the largest change of the yaw, rad per step.
    pub steer: [f64; 2],
}

impl Default for ExactSettings {
    /// L5Kit's settings: weights of 5, up to 3 m/s^2 and 45 degrees a second, for steps of 0.1 s.
    fn default() -> Self {
        let steer = 45.0_f64.to_radians() * 0.1;
        Self { steer_weight: 5.0, acceleration_weight: 5.0, acceleration: [-0.3, 0.3], steer: [-steer, steer] }
    }
}

/// The result of the exact fit.
#[derive(Clone, Debug, PartialEq)]
pub struct ExactFit {
    /// x, m.
    pub x: Vec<f64>,
    /// y, m.
    pub y: Vec<f64>,
    /// Yaw, rad.
    pub yaw: Vec<f64>,
    /// Speed, m per step.
    pub speed: Vec<f64>,
    /// The change of the speed at each step, m per step.
    pub acceleration: Vec<f64>,
    /// The change of the yaw at each step, rad.
    pub steer: Vec<f64>,
}

/// Fits the steering and the acceleration of a car that starts at `start` (x, y, yaw, speed) to control points.
///
/// Step `i` first changes yaw and speed, then moves by the new speed in the direction of the new yaw. The result minimises the sum of
/// `(weights[i] * (result[i] - control[i]))^2` for x, y, yaw and speed, and of the squares of weighted steering and acceleration.
///
/// ```
/// use tetrys_l5::kinematic::{ExactSettings, fit_ackerman_model_exact};
///
/// let (x, zero, one) = ([1.0, 2.0, 3.0], [0.0; 3], [1.0; 3]);
/// let fit = fit_ackerman_model_exact([0.0, 0.0, 0.0, 1.0], [&x, &zero, &zero, &one], [&one; 4], ExactSettings::default()).unwrap();
/// assert!(fit.x.iter().zip(x).all(|(a, b)| (a - b).abs() < 1e-9));
/// ```
///
/// # Errors
/// `Invalid` if there is no step, if the columns have different lengths or values that are not finite, or if a lower bound is not below
/// the upper one.
pub fn fit_ackerman_model_exact(
    start: [f64; 4],
    control: Columns<'_>,
    weights: Columns<'_>,
    settings: ExactSettings,
) -> Result<ExactFit> {
    fit_ackerman_model_exact_until(start, control, weights, settings, || false)
}

/// Fits as [`fit_ackerman_model_exact`] does, and stops once `is_over` is true. The search asks before each of its steps: a fit of thousands
/// of points takes minutes.
///
/// ```
/// use tetrys_l5::kinematic::{ExactSettings, fit_ackerman_model_exact_until};
///
/// let one = [1.0; 3];
/// let stopped = fit_ackerman_model_exact_until([0.0; 4], [&one; 4], [&one; 4], ExactSettings::default(), || true);
/// assert_eq!(stopped.unwrap_err().kind(), tetrys::ErrorKind::Unavailable);
/// ```
///
/// # Errors
/// `Unavailable` if it was stopped. The errors of [`fit_ackerman_model_exact`].
pub fn fit_ackerman_model_exact_until(
    start: [f64; 4],
    control: Columns<'_>,
    weights: Columns<'_>,
    settings: ExactSettings,
    is_over: impl Fn() -> bool,
) -> Result<ExactFit> {
    let steps = check_columns(&[("control points", control), ("weights", weights)])?;
    let numbers = start.iter().chain(&settings.steer).chain(&settings.acceleration);
    if !numbers.chain([&settings.steer_weight, &settings.acceleration_weight]).all(|number| number.is_finite()) {
        return Err(Error::invalid(format!("expected finite numbers, found {start:?} and {settings:?}")));
    }
    let fit = Fit { start, control, weights, settings, steps };
    let both = |steer: f64, acceleration: f64| [vec![steer; steps], vec![acceleration; steps]].concat();
    let bounds = Bounds {
        lower: both(settings.steer[0], settings.acceleration[0]),
        upper: both(settings.steer[1], settings.acceleration[1]),
    };
    let residuals = |x: &[f64], out: &mut Vec<f64>| match is_over() {
        true => Err(Error::unavailable("the fit was stopped")),
        false => {
            fit.residuals(x, out);
            Ok(())
        }
    };
    let mut controls = least_squares(&bounds, residuals, |x, out| fit.jacobian(x, out))?;
    let [x, y, yaw, speed] = fit.motion(&controls);
    let acceleration = controls.split_off(steps);
    Ok(ExactFit { x, y, yaw, speed, acceleration, steer: controls })
}

struct Fit<'a> {
    start: [f64; 4],
    control: Columns<'a>,
    weights: Columns<'a>,
    settings: ExactSettings,
    steps: usize,
}

impl Fit<'_> {
    /// Returns x, y, yaw and speed. The sums have the order of NumPy's `cumsum`, which begins without the start.
    fn motion(&self, controls: &[f64]) -> [Vec<f64>; 4] {
        let (steer, acceleration) = controls.split_at(self.steps);
        let sum = |start: f64, changes: &mut dyn Iterator<Item = f64>| -> Vec<f64> {
            changes
                .scan(0.0, |sum, change| {
                    *sum += change;
                    Some(start + *sum)
                })
                .collect()
        };
        let [x, y, yaw, speed] = self.start;
        let yaw = sum(yaw, &mut steer.iter().copied());
        let speed = sum(speed, &mut acceleration.iter().copied());
        let x = sum(x, &mut yaw.iter().zip(&speed).map(|(yaw, speed)| yaw.cos() * speed));
        let y = sum(y, &mut yaw.iter().zip(&speed).map(|(yaw, speed)| yaw.sin() * speed));
        [x, y, yaw, speed]
    }

    /// The weight of each of the controls.
    fn control_weight(&self, control: usize) -> f64 {
        if control < self.steps { self.settings.steer_weight } else { self.settings.acceleration_weight }
    }

    fn residuals(&self, controls: &[f64], out: &mut Vec<f64>) {
        out.clear();
        for (axis, column) in self.motion(controls).iter().enumerate() {
            for ((value, control), weight) in column.iter().zip(self.control[axis]).zip(self.weights[axis]) {
                out.push(weight * if axis == 2 { angular_distance(*value, *control) } else { value - control });
            }
        }
        out.extend(controls.iter().enumerate().map(|(at, control)| self.control_weight(at) * control));
    }

    /// The derivatives: a control changes the yaw or the speed from its step on, and so each later position.
    fn jacobian(&self, controls: &[f64], out: &mut Matrix) {
        let steps = self.steps;
        let [_, _, yaw, speed] = self.motion(controls);
        out.resize(6 * steps, 2 * steps);
        for from in 0..steps {
            let mut sums = [0.0; 4];
            for to in from..steps {
                let (sin, cos) = (yaw[to].sin(), yaw[to].cos());
                for (sum, part) in sums.iter_mut().zip([-sin * speed[to], cos * speed[to], cos, sin]) {
                    *sum += part;
                }
                let weight = self.weights.map(|column| column[to]);
                out.set(to, from, sums[0] * weight[0]);
                out.set(steps + to, from, sums[1] * weight[1]);
                out.set(2 * steps + to, from, weight[2]);
                out.set(to, steps + from, sums[2] * weight[0]);
                out.set(steps + to, steps + from, sums[3] * weight[1]);
                out.set(3 * steps + to, steps + from, weight[3]);
            }
        }
        for control in 0..2 * steps {
            out.set(4 * steps + control, control, self.control_weight(control));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_derivatives_are_those_of_the_residuals() {
        let columns: [Vec<f64>; 4] = std::array::from_fn(|axis| (0..5).map(|step| (step * (axis + 1)) as f64 * 0.3).collect());
        let columns = [&columns[0][..], &columns[1], &columns[2], &columns[3]];
        let fit =
            Fit { start: [0.1, 0.2, 0.3, 1.4], control: columns, weights: columns, settings: ExactSettings::default(), steps: 5 };
        let controls: Vec<f64> = (0..10).map(|at| f64::from(at) * 0.02 - 0.1).collect();
        let mut jacobian = Matrix::default();
        fit.jacobian(&controls, &mut jacobian);
        for at in 0..10 {
            let [mut low, mut high] = [vec![], vec![]];
            let mut moved = controls.clone();
            moved[at] += 1e-6;
            fit.residuals(&moved, &mut high);
            moved[at] -= 2e-6;
            fit.residuals(&moved, &mut low);
            for (row, (high, low)) in high.iter().zip(&low).enumerate() {
                assert!(((high - low) / 2e-6 - jacobian.get(row, at)).abs() < 1e-7, "row {row}, control {at}");
            }
        }
    }

    #[test]
    fn the_bounds_hold() {
        let far: Vec<f64> = (1..=20).map(|step| f64::from(step) * 9.0).collect();
        let (zero, one) = ([0.0; 20], [1.0; 20]);
        let fit = fit_ackerman_model_exact(
            [0.0, 0.0, 0.0, 1.0],
            [&zero, &far, &zero, &zero],
            [&one, &one, &zero, &zero],
            ExactSettings::default(),
        );
        let fit = fit.unwrap();
        let settings = ExactSettings::default();
        assert!(fit.acceleration.iter().all(|value| (settings.acceleration[0]..=settings.acceleration[1]).contains(value)));
        assert!(fit.steer.iter().all(|value| (settings.steer[0]..=settings.steer[1]).contains(value)));
        assert!(fit.speed[19] > 4.0 && fit.yaw[19] > 0.5, "{fit:?}");
    }

    #[test]
    fn a_fit_asks_before_each_step_whether_it_is_over() {
        let far: Vec<f64> = (1..=20).map(|step| f64::from(step) * 9.0).collect();
        let (zero, one) = ([0.0; 20], [1.0; 20]);
        let asked = |most: usize| {
            let count = std::cell::Cell::new(0);
            let is_over = || count.replace(count.get() + 1) >= most;
            let settings = ExactSettings::default();
            let (control, weights) = ([&zero[..], &far, &zero, &zero], [&one[..], &one, &zero, &zero]);
            let fit = fit_ackerman_model_exact_until([0.0, 0.0, 0.0, 1.0], control, weights, settings, is_over);
            (fit.is_ok(), count.get())
        };
        let (_, all) = asked(usize::MAX);
        assert!(all > 5, "{all}");
        for most in 0..all {
            assert_eq!(asked(most), (false, most + 1));
        }
        assert_eq!(asked(all), (true, all));
    }

    #[test]
    fn bounds_may_leave_zero_out() {
        let one = [1.0; 3];
        for steer in [[0.1, 0.2], [0.0, 0.2], [-0.2, -0.1]] {
            let settings = ExactSettings { steer, ..ExactSettings::default() };
            let fit = fit_ackerman_model_exact([0.0; 4], [&one; 4], [&one; 4], settings).unwrap();
            assert!(fit.steer.iter().all(|value| (steer[0]..=steer[1]).contains(value)), "{steer:?}: {fit:?}");
        }
    }

    #[test]
    fn bounds_that_are_not_in_order_are_refused() {
        let one = [1.0; 3];
        for steer in [[0.2, 0.2], [0.2, -0.2], [f64::NAN, 1.0]] {
            let settings = ExactSettings { steer, ..ExactSettings::default() };
            let error = fit_ackerman_model_exact([0.0; 4], [&one; 4], [&one; 4], settings).unwrap_err();
            assert_eq!(error.kind(), tetrys::ErrorKind::Invalid);
        }
    }
}
