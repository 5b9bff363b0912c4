//! The approximate fit: a trajectory near the control points that nearly obeys the model of the motion.
//!
//! Five Gauss-Newton steps. Each solves a linear least-squares problem whose rows join one step with the next only, so it is solved step
//! by step: a QR decomposition of 12 rows takes the unknowns of one step out and hands four rows on to the next step.

use super::{Columns, check_columns};
use crate::geometry::angular_distance;
use tetrys::{Error, Result};

/// L5Kit's number of Gauss-Newton steps.
const ITERATIONS: usize = 5;
/// A row: four coefficients for a step, four for the next step, and the right side.
type Row = [f64; 9];

/// Fits a trajectory to control points.
///
/// The result minimises the sum of `(control_weights[i] * (result[i] - control[i]))^2` for x, y, yaw and speed, and of
/// `(motion_weights[i] * error[i])^2` for the errors of the motion from step `i` to step `i + 1`: of x and y, and the changes of yaw and
/// speed. Returns x (m), y (m), yaw (rad) and speed (m per step).
///
/// ```
/// use tetrys_l5::kinematic::fit_ackerman_model_approximate;
///
/// let (x, zero) = ([0.0, 1.0, 2.0], [0.0; 3]);
/// let weights = [&[5.0; 3][..]; 4];
/// let [fitted, ..] = fit_ackerman_model_approximate([&x, &zero, &zero, &[1.0; 3]], weights, weights).unwrap();
/// assert!(fitted.iter().zip(x).all(|(a, b)| (a - b).abs() < 1e-9));
/// ```
///
/// # Errors
/// `Invalid` if there is no step, if the columns have different lengths or values that are not finite, or if the weights leave a value
/// open. (NumPy would choose one of many solutions.)
pub fn fit_ackerman_model_approximate(
    control: Columns<'_>,
    motion_weights: Columns<'_>,
    control_weights: Columns<'_>,
) -> Result<[Vec<f64>; 4]> {
    let columns = [
        ("control points", control),
        ("weights of the motion", motion_weights),
        ("weights of the control points", control_weights),
    ];
    let steps = check_columns(&columns)?;
    let at = |columns: Columns<'_>, step: usize| columns.map(|column| column[step]);
    let mut state: Vec<[f64; 4]> = (0..steps).map(|step| at(control, step)).collect();
    let mut solved: Vec<[Row; 4]> = Vec::with_capacity(steps);
    for _ in 0..ITERATIONS {
        solved.clear();
        let mut carried = [[0.0; 9]; 4];
        for (step, now) in state.iter().enumerate() {
            let mut rows = [[0.0; 9]; 12];
            rows[..4].copy_from_slice(&carried);
            rows[4..8].copy_from_slice(&control_rows(*now, at(control, step), at(control_weights, step)));
            if let Some(next) = state.get(step + 1) {
                rows[8..].copy_from_slice(&motion_rows(*now, *next, at(motion_weights, step)));
            }
            triangulate(&mut rows);
            let [a, b, c, d, rest @ ..] = rows;
            solved.push([a, b, c, d]);
            // The unknowns of the next step come to the front.
            for (to, from) in carried.iter_mut().zip(rest) {
                *to = [from[4], from[5], from[6], from[7], 0.0, 0.0, 0.0, 0.0, from[8]];
            }
        }
        substitute(&solved, &mut state)?;
    }
    Ok([0, 1, 2, 3].map(|axis| state.iter().map(|step| step[axis]).collect()))
}

/// The rows for the distance from a control point.
fn control_rows(now: [f64; 4], control: [f64; 4], weights: [f64; 4]) -> [Row; 4] {
    std::array::from_fn(|axis| {
        let error = if axis == 2 { angular_distance(now[2], control[2]) } else { now[axis] - control[axis] };
        let mut row = [0.0; 9];
        row[axis] = weights[axis];
        row[8] = weights[axis] * error;
        row
    })
}

/// The rows for the errors of the motion.
fn motion_rows([x, y, yaw, speed]: [f64; 4], next: [f64; 4], weights: [f64; 4]) -> [Row; 4] {
    let (sin, cos) = (yaw.sin(), yaw.cos());
    let rows = [
        [1.0, 0.0, -sin * speed, cos, -1.0, 0.0, 0.0, 0.0, x + cos * speed - next[0]],
        [0.0, 1.0, cos * speed, sin, 0.0, -1.0, 0.0, 0.0, y + sin * speed - next[1]],
        [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, -1.0, 0.0, angular_distance(yaw, next[2])],
        [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, -1.0, speed - next[3]],
    ];
    std::array::from_fn(|axis| rows[axis].map(|value| value * weights[axis]))
}

/// Makes the first eight columns upper triangular with Householder reflections.
fn triangulate(rows: &mut [Row; 12]) {
    for column in 0..8 {
        let norm = rows[column..].iter().map(|row| row[column] * row[column]).sum::<f64>().sqrt();
        if norm == 0.0 {
            continue;
        }
        let diagonal = if rows[column][column] > 0.0 { -norm } else { norm };
        let mut mirror: [f64; 12] = std::array::from_fn(|row| if row < column { 0.0 } else { rows[row][column] });
        mirror[column] -= diagonal;
        let square: f64 = mirror.iter().map(|value| value * value).sum();
        for at in column..9 {
            let dot: f64 = mirror.iter().zip(rows.iter()).map(|(mirror, row)| mirror * row[at]).sum();
            for (row, mirror) in rows.iter_mut().zip(mirror) {
                row[at] -= 2.0 * dot / square * mirror;
            }
        }
    }
}

/// Solves from the last step to the first, and subtracts the solution from the state.
fn substitute(solved: &[[Row; 4]], state: &mut [[f64; 4]]) -> Result<()> {
    let largest = solved.iter().flat_map(|rows| (0..4).map(move |axis| rows[axis][axis].abs())).fold(0.0, f64::max);
    let smallest = largest * f64::EPSILON * 8.0 * solved.len() as f64;
    let mut next = [0.0; 4];
    for (step, rows) in solved.iter().enumerate().rev() {
        let mut now = [0.0; 4];
        for axis in (0..4).rev() {
            let row = rows[axis];
            let known: f64 =
                (axis + 1..4).map(|at| row[at] * now[at]).sum::<f64>() + (0..4).map(|at| row[4 + at] * next[at]).sum::<f64>();
            if row[axis].abs() <= smallest || !row[axis].is_finite() {
                return Err(Error::invalid(format!("weights: {} of step {step} is not determined", super::NAMES[axis])));
            }
            now[axis] = (row[8] - known) / row[axis];
        }
        for (value, change) in state[step].iter_mut().zip(now) {
            *value -= change;
        }
        next = now;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_without_a_weight_are_refused() {
        let (one, zero) = ([1.0; 3], [0.0; 3]);
        let points = [&one[..]; 4];
        let error = fit_ackerman_model_approximate(points, [&zero; 4], [&zero; 4]).unwrap_err();
        assert_eq!(error.kind(), tetrys::ErrorKind::Invalid);
        // Speeds without a control point are determined by the motion.
        fit_ackerman_model_approximate(points, [&one; 4], [&one, &one, &one, &zero]).unwrap();
    }

    #[test]
    fn columns_that_do_not_fit_are_refused() {
        let (one, short, nan) = ([1.0; 3], [1.0; 2], [1.0, f64::NAN, 1.0]);
        let weights = [&one[..]; 4];
        for points in [[&one[..], &short, &one, &one], [&one, &nan, &one, &one], [&[][..]; 4]] {
            assert_eq!(fit_ackerman_model_approximate(points, weights, weights).unwrap_err().kind(), tetrys::ErrorKind::Invalid);
        }
    }
}
