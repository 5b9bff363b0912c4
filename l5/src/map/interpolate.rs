//! New points along a chain of points, as NumPy computes them for L5Kit: `linspace` or `arange` over the length of the chain, then
//! `interp` for each coordinate.

use tetrys::{Error, Result};

/// A point in the world frame: x, y and z, m.
pub type Point = [f64; 3];

/// The most points that one interpolation may return.
const MAX_POINTS: usize = 1 << 20;

/// The distances of the new points along a chain of points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Interpolation {
    /// A point each so many metres, without the last point (L5Kit's `INTER_METER`).
    Meter(f64),
    /// So many points at equal distances, from the first point to the last (L5Kit's `INTER_ENSURE_LEN`).
    EnsureLen(usize),
}

impl Interpolation {
    /// Returns the distances from the first point, m, of the new points of a chain that is `total` metres long.
    fn steps(self, total: f64) -> Result<Vec<f64>> {
        match self {
            Self::EnsureLen(count) if count < 2 => {
                Err(Error::invalid(format!("interpolation: expected at least 2 points, found {count}")))
            }
            Self::EnsureLen(count) if count > MAX_POINTS => Err(too_many(count)),
            Self::EnsureLen(count) => Ok(linspace(total, count)),
            Self::Meter(step) if step > 0.0 => {
                let count = (total / step).ceil();
                if count.is_nan() || count > MAX_POINTS as f64 {
                    return Err(too_many(count));
                }
                Ok((0..count as usize).map(|at| at as f64 * step).collect())
            }
            Self::Meter(step) => Err(Error::invalid(format!("interpolation: expected a step greater than 0 m, found {step}"))),
        }
    }
}

fn too_many(count: impl std::fmt::Display) -> Error {
    Error::invalid(format!("interpolation: expected at most {MAX_POINTS} points, found {count}"))
}

/// Returns `count` numbers at equal distances, from 0 to `stop`.
fn linspace(stop: f64, count: usize) -> Vec<f64> {
    let last = count - 1;
    let step = stop / last as f64;
    let number = |at: usize| match at {
        at if at == last => stop,
        at if step == 0.0 => at as f64 / last as f64 * stop,
        at => at as f64 * step,
    };
    (0..count).map(number).collect()
}

/// Returns points along a chain of points.
///
/// ```
/// use tetrys_l5::map::{Interpolation, interpolate};
///
/// let chain = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [2.0, 2.0, 0.0]];
/// let points = interpolate(&chain, Interpolation::EnsureLen(3)).unwrap();
/// assert_eq!(points, [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [2.0, 2.0, 0.0]]);
/// let points = interpolate(&chain, Interpolation::Meter(1.5)).unwrap();
/// assert_eq!(points, [[0.0, 0.0, 0.0], [1.5, 0.0, 0.0], [2.0, 1.0, 0.0]]);
/// ```
///
/// # Errors
/// `Invalid` if there is no point, if fewer than 2 or more than 2^20 points are asked for, or if the step is not greater than 0 m.
pub fn interpolate(chain: &[Point], method: Interpolation) -> Result<Vec<Point>> {
    let mut total = 0.0;
    let mut distances = vec![0.0];
    for pair in chain.windows(2) {
        let [x, y, z]: Point = std::array::from_fn(|axis| pair[1][axis] - pair[0][axis]);
        total += (x * x + (y * y + z * z)).sqrt();
        distances.push(total);
    }
    let Some(last) = chain.last() else {
        return Err(Error::invalid("interpolation: expected at least 1 point, found 0"));
    };
    let mut from = 0;
    let mut points = Vec::new();
    for step in method.steps(total)? {
        // The steps increase, so the search goes on where it was: at the last point that is not behind the step.
        while distances.get(from + 1).is_some_and(|distance| *distance <= step) {
            from += 1;
        }
        points.push(match chain.get(from + 1) {
            None => *last,
            Some(next) => {
                let (near, start) = (chain[from], distances[from]);
                let length = distances[from + 1] - start;
                std::array::from_fn(|axis| (next[axis] - near[axis]) / length * (step - start) + near[axis])
            }
        });
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_that_coincide_do_not_divide_by_zero() {
        let chain = [[1.0; 3], [1.0; 3], [2.0, 1.0, 1.0], [2.0, 1.0, 1.0]];
        let points = interpolate(&chain, Interpolation::EnsureLen(3)).unwrap();
        assert_eq!(points, [[1.0; 3], [1.5, 1.0, 1.0], [2.0, 1.0, 1.0]]);
        assert_eq!(interpolate(&chain[..2], Interpolation::EnsureLen(2)).unwrap(), [[1.0; 3]; 2]);
        assert_eq!(interpolate(&chain[..1], Interpolation::EnsureLen(4)).unwrap(), [[1.0; 3]; 4]);
    }

    #[test]
    fn a_request_without_sense_is_refused() {
        let chain = [[0.0; 3], [1.0; 3]];
        for method in [
            Interpolation::EnsureLen(1),
            Interpolation::EnsureLen(usize::MAX),
            Interpolation::Meter(0.0),
            Interpolation::Meter(-1.0),
            Interpolation::Meter(f64::NAN),
            Interpolation::Meter(1e-300),
        ] {
            assert_eq!(interpolate(&chain, method).unwrap_err().kind(), tetrys::ErrorKind::Invalid, "{method:?}");
        }
        assert!(interpolate(&[], Interpolation::EnsureLen(2)).is_err());
    }
}
