//! Poses in the plane: 3x3 matrices between the world, an agent and a raster, headings, and differences of angles.
//!
//! The results are L5Kit's, including its rounding: positions are transformed in `f64`, differences of headings are `f32` arithmetic.
//! Only the inverse of a pose differs, because it has a closed form here: by at most 1e-11 from L5Kit's general inverse.

use std::f32::consts::{PI as PI_32, TAU as TAU_32};
use std::f64::consts::{PI, TAU};

/// A 3x3 matrix, row by row. As a transform of the plane, its last row is `[0, 0, 1]`.
pub type Matrix3 = [[f64; 3]; 3];

/// Returns the pose of an agent: the transform from its own frame (x forwards, y to the left) into the world.
///
/// `centroid` is in metres, `yaw` in radians counter-clockwise from the x axis of the world.
///
/// ```
/// let pose = tetrys_l5::geometry::world_from_agent([10.0, 20.0], 0.0);
/// assert_eq!(pose, [[1.0, -0.0, 10.0], [0.0, 1.0, 20.0], [0.0, 0.0, 1.0]]);
/// ```
pub fn world_from_agent(centroid: [f64; 2], yaw: f64) -> Matrix3 {
    let (sin, cos) = (yaw.sin(), yaw.cos());
    [[cos, -sin, centroid[0]], [sin, cos, centroid[1]], [0.0, 0.0, 1.0]]
}

/// Returns the inverse of a pose: of a rotation and a shift.
///
/// ```
/// use tetrys_l5::geometry::{invert_pose, transform_point, world_from_agent};
/// let agent_from_world = invert_pose(&world_from_agent([10.0, 20.0], std::f64::consts::FRAC_PI_2));
/// let [x, y] = transform_point(&agent_from_world, [10.0, 23.0]);
/// assert!((x - 3.0).abs() < 1e-12 && y.abs() < 1e-12, "3 m ahead");
/// ```
pub fn invert_pose(pose: &Matrix3) -> Matrix3 {
    let [[a, b, x], [c, d, y], _] = *pose;
    [[a, c, -(a * x + c * y)], [b, d, -(b * x + d * y)], [0.0, 0.0, 1.0]]
}

/// Returns the transform from the world into the frame of an agent: the inverse of [`world_from_agent`].
pub fn agent_from_world(centroid: [f64; 2], yaw: f64) -> Matrix3 {
    invert_pose(&world_from_agent(centroid, yaw))
}

/// Returns the product of two matrices: first `right`, then `left` is applied to a point.
pub fn multiply(left: &Matrix3, right: &Matrix3) -> Matrix3 {
    std::array::from_fn(|row| {
        std::array::from_fn(|column| {
            left[row][0] * right[0][column] + left[row][1] * right[1][column] + left[row][2] * right[2][column]
        })
    })
}

/// Returns the yaw of a rotation, in radians: the rotation about the z axis, which is applied last, after those about x and y.
///
/// The result is 0 if x and y cannot be told apart: if the rotation turns the x axis to the z axis.
///
/// ```
/// use tetrys_l5::geometry::{rotation_of_yaw, yaw_of_rotation};
/// assert_eq!(yaw_of_rotation(&rotation_of_yaw(0.25)), 0.25);
/// ```
pub fn yaw_of_rotation(rotation: &Matrix3) -> f64 {
    let [[x, ..], [y, ..], _] = *rotation;
    if (x * x + y * y).sqrt() > 4.0 * f64::EPSILON { y.atan2(x) } else { 0.0 }
}

/// Returns the rotation about the z axis by `yaw` radians.
pub fn rotation_of_yaw(yaw: f64) -> Matrix3 {
    let (sin, cos) = (yaw.sin(), yaw.cos());
    [[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]]
}

/// Returns `a - b` in radians, wrapped into [-π, π), with each step rounded to `f32`.
///
/// This is `angular_distance` of L5Kit for an `f32` array `a` and a Python float `b`, which NumPy rounds to `f32`.
///
/// ```
/// let turn = tetrys_l5::geometry::angular_distance_f32(3.0, -3.0);
/// assert!((turn + 0.2831853).abs() < 1e-6, "{turn}");
/// ```
pub fn angular_distance_f32(a: f32, b: f32) -> f32 {
    let remainder = (a - b + PI_32) % TAU_32;
    floored(remainder, remainder < 0.0, TAU_32) - PI_32
}

/// Returns `a - b` in radians, wrapped into [-π, π).
pub fn angular_distance(a: f64, b: f64) -> f64 {
    wrap(a - b)
}

/// Returns an angle in radians, wrapped into [-π, π).
pub fn wrap(angle: f64) -> f64 {
    let remainder = (angle + PI) % TAU;
    floored(remainder, remainder < 0.0, TAU) - PI
}

/// Turns the truncated remainder into the floored one of Python and NumPy, for a positive divisor.
fn floored<T: std::ops::Add<Output = T>>(remainder: T, negative: bool, divisor: T) -> T {
    if negative { remainder + divisor } else { remainder }
}

/// Returns the transform of a point, in `f64`.
pub fn transform_point(transform: &Matrix3, [x, y]: [f64; 2]) -> [f64; 2] {
    let [[a, b, p], [c, d, q], _] = *transform;
    [x * a + y * b + p, x * c + y * d + q]
}

/// Writes the transforms of points to `out`: computed in `f64`, then rounded to `f32`. The shorter of both slices sets the count.
///
/// ```
/// use tetrys_l5::geometry::{agent_from_world, transform_points};
/// let mut out = [[0.0; 2]; 2];
/// transform_points(&agent_from_world([1.0, 2.0], 0.0), &[[1.0, 2.0], [4.0, 2.5]], &mut out);
/// assert_eq!(out, [[0.0, 0.0], [3.0, 0.5]]);
/// ```
pub fn transform_points(transform: &Matrix3, points: &[[f64; 2]], out: &mut [[f32; 2]]) {
    for (out, point) in out.iter_mut().zip(points) {
        *out = transform_point(transform, *point).map(|value| value as f32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapping_gives_the_closed_lower_end_and_the_open_upper_end() {
        assert_eq!(wrap(PI), -PI);
        assert_eq!(wrap(-PI), -PI);
        assert_eq!(wrap(0.5), 0.5);
        assert_eq!(angular_distance_f32(PI_32, 0.0), -PI_32);
        assert!(angular_distance_f32(f32::INFINITY, 0.0).is_nan());
    }

    #[test]
    fn a_rotation_of_x_to_z_has_yaw_zero() {
        assert_eq!(yaw_of_rotation(&[[0.0, 0.0, 1.0], [1e-16, 1.0, 0.0], [-1.0, 0.0, 0.0]]), 0.0);
    }

    #[test]
    fn a_pose_times_its_inverse_is_the_identity() {
        let pose = world_from_agent([-700.0, 1100.0], 2.3);
        let product = multiply(&invert_pose(&pose), &pose);
        for (row, values) in product.iter().enumerate() {
            for (column, value) in values.iter().enumerate() {
                assert!((value - f64::from(u8::from(row == column))).abs() < 1e-12, "{product:?}");
            }
        }
    }
}
