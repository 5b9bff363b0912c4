//! Coordinates of a semantic map: from centimetres in a local frame to metres in the world frame.
//!
//! A local frame has axes to the east, to the north and up (ENU) at a point of the WGS84 ellipsoid. It is turned into Earth-centred
//! coordinates (ECEF), and those into the world frame by the inverse of the data set's `world_to_ecef`. The order of the operations is the
//! one of pymap3d 2.7, which L5Kit calls, so the results differ from L5Kit's by rounding only.

use super::proto;
use tetrys::{Error, Result};

/// The equatorial radius of WGS84, m.
const MAJOR: f64 = 6_378_137.0;
/// The polar radius of WGS84, m.
const MINOR: f64 = 6_356_752.314_245_18;

/// A matrix in homogeneous coordinates, row by row. Its last row is not used.
pub(super) type Affine = [[f64; 4]; 4];

/// A local frame: its origin in ECEF and the sines and cosines of its place.
struct Frame {
    origin: [f64; 3],
    latitude: (f64, f64),
    longitude: (f64, f64),
}

impl Frame {
    /// The frame at a place, degrees, at altitude 0.
    fn at(latitude: f64, longitude: f64) -> Self {
        let (latitude, longitude) = (latitude.to_radians().sin_cos(), longitude.to_radians().sin_cos());
        let flattening = (MAJOR - MINOR) / MAJOR;
        let eccentricity = (2.0 * flattening - flattening * flattening).sqrt();
        let sine = eccentricity * latitude.0;
        let normal = MAJOR / (1.0 - sine * sine).sqrt();
        let ratio = MINOR / MAJOR;
        let origin =
            [normal * latitude.1 * longitude.1, normal * latitude.1 * longitude.0, normal * (ratio * ratio) * latitude.0];
        Self { origin, latitude, longitude }
    }

    /// Turns a point of the frame into ECEF, m.
    fn ecef(&self, [east, north, up]: [f64; 3]) -> [f64; 3] {
        let ((lat_sin, lat_cos), (lng_sin, lng_cos)) = (self.latitude, self.longitude);
        let outward = lat_cos * up - lat_sin * north;
        let z = lat_sin * up + lat_cos * north;
        let x = lng_cos * outward - lng_sin * east;
        let y = lng_sin * outward + lng_cos * east;
        [self.origin[0] + x, self.origin[1] + y, self.origin[2] + z]
    }
}

/// Transforms a point. Metres in, metres out.
fn transform(matrix: &Affine, point: [f64; 3]) -> [f64; 3] {
    let row = |row: [f64; 4]| row[0] * point[0] + row[1] * point[1] + row[2] * point[2] + row[3];
    [row(matrix[0]), row(matrix[1]), row(matrix[2])]
}

/// Returns the latitude and longitude of a frame in degrees: 0 if the file has none.
pub(super) fn origin_of(frame: Option<&proto::GeoFrame>) -> [f64; 2] {
    let origin = frame.and_then(|frame| frame.origin.as_ref());
    [origin.map(|origin| origin.latitude), origin.map(|origin| origin.longitude)]
        .map(|degrees| f64::from(degrees.unwrap_or_default()) / 1e7)
}

/// Turns a chain of points into world coordinates, m. `x`, `y` and `z` are differences to the point before, cm. `origin` is the latitude
/// and longitude of the local frame, degrees.
///
/// # Errors
/// `Corrupt` if the three columns do not have the same length.
pub(super) fn unpack([x, y, z]: [&[i32]; 3], origin: [f64; 2], world_from_ecef: &Affine) -> Result<Box<[[f64; 3]]>> {
    if x.len() != y.len() || x.len() != z.len() {
        let found = format!("{}, {} and {}", x.len(), y.len(), z.len());
        return Err(Error::corrupt(format!("expected as many x as y and z coordinates, found {found}")));
    }
    let frame = Frame::at(origin[0], origin[1]);
    let mut sum = [0.0; 3];
    let mut points = Vec::with_capacity(x.len());
    for ((x, y), z) in x.iter().zip(y).zip(z) {
        for (sum, delta) in sum.iter_mut().zip([x, y, z]) {
            *sum += f64::from(*delta) / 100.0;
        }
        points.push(transform(world_from_ecef, frame.ecef(sum)));
    }
    Ok(points.into())
}

/// Inverts a 4x4 matrix by elimination with row exchange, in the order of LAPACK, which NumPy calls.
///
/// # Errors
/// `Invalid` if the matrix is singular or not finite.
pub(super) fn invert(matrix: &Affine) -> Result<Affine> {
    let mut left = *matrix;
    let mut right: Affine = std::array::from_fn(|row| std::array::from_fn(|column| f64::from(u8::from(row == column))));
    let singular = || Error::invalid(format!("world_to_ecef: expected a matrix that has an inverse, found {matrix:?}"));
    for column in 0..4 {
        let pivot = (column..4).rev().max_by(|a, b| left[*a][column].abs().total_cmp(&left[*b][column].abs())).unwrap_or(column);
        left.swap(column, pivot);
        right.swap(column, pivot);
        let (pivot_left, pivot_right) = (left[column], right[column]);
        if pivot_left[column] == 0.0 || !pivot_left[column].is_finite() {
            return Err(singular());
        }
        let reciprocal = 1.0 / pivot_left[column];
        for row in column + 1..4 {
            let factor = left[row][column] * reciprocal;
            for at in 0..4 {
                left[row][at] -= factor * pivot_left[at];
                right[row][at] -= factor * pivot_right[at];
            }
        }
    }
    for column in (0..4).rev() {
        let solved = right[column].map(|value| value / left[column][column]);
        right[column] = solved;
        for (left, right) in left.iter().zip(&mut right).take(column) {
            for (value, solved) in right.iter_mut().zip(solved) {
                *value -= left[column] * solved;
            }
        }
    }
    if right.iter().flatten().all(|value| value.is_finite()) { Ok(right) } else { Err(singular()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_of_the_ellipsoid_is_on_the_equator() {
        let frame = Frame::at(0.0, 0.0);
        assert_eq!(frame.ecef([0.0; 3]), [MAJOR, 0.0, 0.0]);
        assert_eq!(frame.ecef([1.0, 2.0, 3.0]), [MAJOR + 3.0, 1.0, 2.0]);
        assert!((Frame::at(90.0, 0.0).origin[2] - MINOR).abs() < 1e-8);
    }

    #[test]
    fn an_inverse_gives_the_identity() {
        let matrix = [[0.0, 2.0, 0.0, 5.0], [1.0, 0.0, 0.0, -7.0], [0.0, 0.5, 4.0, 1.0], [0.0, 0.0, 0.0, 1.0]];
        let inverse = invert(&matrix).unwrap();
        let moved = transform(&inverse, transform(&matrix, [3.0, 4.0, 5.0]));
        assert!(moved.iter().zip([3.0, 4.0, 5.0]).all(|(a, b)| (a - b).abs() < 1e-12), "{moved:?}");
    }

    #[test]
    fn a_singular_matrix_is_refused() {
        assert_eq!(invert(&[[0.0; 4]; 4]).unwrap_err().kind(), tetrys::ErrorKind::Invalid);
        assert_eq!(invert(&[[f64::NAN; 4]; 4]).unwrap_err().kind(), tetrys::ErrorKind::Invalid);
    }

    #[test]
    fn columns_of_different_lengths_are_corrupt() {
        let error = unpack([&[1], &[1, 2], &[1]], [0.0; 2], &[[0.0; 4]; 4]).unwrap_err();
        assert_eq!(error.kind(), tetrys::ErrorKind::Corrupt);
    }
}
