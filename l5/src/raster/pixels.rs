//! Small steps that all rasterizers share: whole numbers for coordinates, floats for bytes, and the check of the output's length.

use tetrys::{Error, Result};

use super::draw::SHIFT;

/// The value of each byte in an image of floats: `byte / 255`.
pub(crate) const FRACTION_OF_255: [f32; 256] = {
    let mut values = [0.0; 256];
    let mut byte = 0;
    while byte < 256 {
        values[byte] = byte as f32 / 255.0;
        byte += 1;
    }
    values
};

/// Returns a coordinate in pixels as a whole number of 1/512 pixels, cut off towards 0.
///
/// A result that needs more than 32 bits loses its upper bits, as when OpenCV takes the `i64` of NumPy.
pub(crate) fn fixed(pixels: f64) -> i32 {
    let scaled = pixels * f64::from(1 << SHIFT);
    // The bound is 2^63, where NumPy's whole numbers end: it turns all beyond into -2^63.
    if scaled.abs() < 9_223_372_036_854_775_808.0 { scaled as i64 as i32 } else { 0 }
}

/// Checks the length of an output.
///
/// # Errors
/// `Invalid` if it is not the number of values of the raster.
pub(crate) fn check_len(out: &[f32], expected: usize) -> Result<()> {
    if out.len() == expected {
        Ok(())
    } else {
        Err(Error::invalid(format!("the output of a rasterizer has {} values: expected {expected}", out.len())))
    }
}

/// Writes RGB pixels to three planes of `byte / 255`.
pub(crate) fn write_planes(pixels: &[[u8; 3]], out: &mut [f32]) {
    let (red, rest) = out.split_at_mut(pixels.len().min(out.len()));
    let (green, blue) = rest.split_at_mut(pixels.len().min(rest.len()));
    for (((pixel, red), green), blue) in pixels.iter().zip(red).zip(green).zip(blue) {
        *red = FRACTION_OF_255[usize::from(pixel[0])];
        *green = FRACTION_OF_255[usize::from(pixel[1])];
        *blue = FRACTION_OF_255[usize::from(pixel[2])];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_cut_off_towards_zero_and_wrap_around() {
        assert_eq!([1.5, -1.0 / 600.0, -0.999].map(fixed), [768, 0, -511]);
        assert_eq!([4_194_304.0, 8_388_608.5, f64::NAN, f64::INFINITY, 1e300].map(fixed), [i32::MIN, 256, 0, 0, 0]);
    }
}
