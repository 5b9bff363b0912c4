//! The frame of a raster: its size, the size of a pixel, and where the pose that it is drawn around lies in it.
//!
//! A [`RenderContext`] turns poses into 3x3 matrices from metres to pixels, as L5Kit's class of this name does. Pixel (0, 0) is the
//! first pixel of the first row.

use tetrys::{Error, Result};

use crate::geometry::{Matrix3, multiply};

/// The largest width and height of a raster, in pixels.
pub const MAX_RASTER_SIDE: usize = 16_384;

/// The frame of a raster: sizes, and the place of the pose that it is drawn around.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RenderContext {
    raster_size: [usize; 2],
    pixel_size: f64,
    center: [f64; 2],
    set_origin_to_bottom: bool,
}

impl RenderContext {
    /// Creates a frame from L5Kit's configuration.
    ///
    /// `raster_size` is (width, height) in pixels, `pixel_size` the metres per pixel along x and y, `center` the place of the pose as a
    /// fraction of width and height (`ego_center`). With `set_origin_to_bottom`, y grows upwards in the image.
    ///
    /// ```
    /// use tetrys_l5::raster::RenderContext;
    /// let context = RenderContext::new([224, 224], [0.5, 0.5], [0.25, 0.5], true).unwrap();
    /// assert_eq!(context.raster_from_local(), [[2.0, 0.0, 56.0], [0.0, -2.0, 112.0], [0.0, 0.0, 1.0]]);
    /// ```
    ///
    /// # Errors
    /// `Invalid` if a side of the raster is 0 or above [`MAX_RASTER_SIDE`], if a pixel is not a square with a positive side, or if the
    /// center is not finite.
    pub fn new(raster_size: [usize; 2], pixel_size: [f64; 2], center: [f64; 2], set_origin_to_bottom: bool) -> Result<Self> {
        if raster_size.iter().any(|side| !(1..=MAX_RASTER_SIDE).contains(side)) {
            return Err(Error::invalid(format!(
                "raster_size {raster_size:?}: each side must be in 1..={MAX_RASTER_SIDE} pixels"
            )));
        }
        let [size, other] = pixel_size;
        if size != other || !size.is_finite() || size <= 0.0 {
            return Err(Error::invalid(format!("pixel_size {pixel_size:?}: both must be the same positive number of metres")));
        }
        if !center.iter().all(|part| part.is_finite()) {
            return Err(Error::invalid(format!("ego_center {center:?}: expected two finite fractions of the raster")));
        }
        Ok(Self { raster_size, pixel_size: size, center, set_origin_to_bottom })
    }

    /// Returns (width, height), in pixels.
    pub fn raster_size(&self) -> [usize; 2] {
        self.raster_size
    }

    /// Returns the number of pixels.
    pub fn pixels(&self) -> usize {
        self.raster_size[0] * self.raster_size[1]
    }

    /// Returns the side of a pixel, in metres.
    pub fn pixel_size(&self) -> f64 {
        self.pixel_size
    }

    /// Whether y grows upwards in the image.
    pub fn set_origin_to_bottom(&self) -> bool {
        self.set_origin_to_bottom
    }

    /// Returns the pixel in the middle of the raster.
    pub fn middle(&self) -> [f64; 2] {
        self.raster_size.map(|side| side as f64 * 0.5)
    }

    /// Returns the transform from the frame of the pose, in metres, to pixels.
    pub fn raster_from_local(&self) -> Matrix3 {
        let scale = 1.0 / self.pixel_size;
        let [x, y] = [0, 1].map(|axis| self.center[axis] * self.raster_size[axis] as f64);
        if self.set_origin_to_bottom {
            [[scale, 0.0, x], [0.0, -scale, -y + self.raster_size[1] as f64], [0.0, 0.0, 1.0]]
        } else {
            [[scale, 0.0, x], [0.0, scale, y], [0.0, 0.0, 1.0]]
        }
    }

    /// Returns the transform from the world, in metres, to pixels, around a position (m) with a yaw (rad).
    pub fn raster_from_world(&self, position: [f64; 2], yaw: f64) -> Matrix3 {
        self.raster_from_direction(position, yaw.sin(), yaw.cos())
    }

    /// Returns the transform from the world to pixels for a yaw given by its sine and cosine.
    ///
    /// The two may be rounded, so that they are no exact rotation: the pose is inverted as the general matrix that it is.
    pub fn raster_from_direction(&self, [x, y]: [f64; 2], sin: f64, cos: f64) -> Matrix3 {
        let determinant = cos * cos + sin * sin;
        let (sin, cos) = (sin / determinant, cos / determinant);
        let local_from_world = [[cos, sin, -(cos * x + sin * y)], [-sin, cos, sin * x - cos * y], [0.0, 0.0, 1.0]];
        multiply(&self.raster_from_local(), &local_from_world)
    }
}

/// Returns the inverse of a transform of the plane.
pub(crate) fn invert(transform: &Matrix3) -> Matrix3 {
    let [[a, b, x], [c, d, y], _] = *transform;
    let determinant = a * d - b * c;
    let (a, b, c, d) = (d / determinant, -b / determinant, -c / determinant, a / determinant);
    [[a, b, -(a * x + b * y)], [c, d, -(c * x + d * y)], [0.0, 0.0, 1.0]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::transform_point;

    #[test]
    fn a_raster_without_pixels_and_a_long_pixel_are_refused() {
        for (size, pixel) in [([0, 5], [0.5, 0.5]), ([5, 99_999], [0.5, 0.5]), ([5, 5], [0.5, 0.25]), ([5, 5], [0.0, 0.0])] {
            assert!(RenderContext::new(size, pixel, [0.5, 0.5], true).is_err(), "{size:?} {pixel:?}");
        }
    }

    #[test]
    fn the_pose_lies_at_the_center_and_the_inverse_leads_back() {
        let context = RenderContext::new([300, 200], [0.25, 0.25], [0.25, 0.5], true).unwrap();
        let raster_from_world = context.raster_from_world([-664.1, 1069.5], 2.3);
        let [x, y] = transform_point(&raster_from_world, [-664.1, 1069.5]);
        assert!((x - 75.0).abs() < 1e-9 && (y - 100.0).abs() < 1e-9, "{x} {y}");
        let [x, y] = transform_point(&invert(&raster_from_world), [75.0, 100.0]);
        assert!((x + 664.1).abs() < 1e-9 && (y - 1069.5).abs() < 1e-9, "{x} {y}");
    }
}
