//! Sine and cosine of `f32` angles with the rounding of NumPy.
//!
//! NumPy computes them with vector instructions (x86-64 with FMA, and others), and about one result in ten is not the nearest `f32`.
//! L5Kit's rasters of agents depend on that: another last bit moves map points 100 m away by 1/100 of a drawing unit, so that a few
//! coordinates are cut off to another whole number. The method is the one that NumPy's source names: Cody and Waite's reduction to
//! [-pi/4, pi/4] in three steps, then one polynomial for each function. Its coefficients are NumPy's.

/// The largest angle that NumPy reduces so. Beyond, it calls the C library.
const LARGEST: f32 = 71_476.06;

/// Adding and subtracting this rounds to a whole number.
const ROUNDING: f32 = 12_582_912.0;

/// Returns sine and cosine of an angle in radians.
pub(crate) fn sin_cos(angle: f32) -> (f32, f32) {
    if angle.abs() >= LARGEST {
        let (sin, cos) = f64::from(angle).sin_cos();
        return (sin as f32, cos as f32);
    }
    let quarters = angle * std::f32::consts::FRAC_2_PI + ROUNDING - ROUNDING;
    // Minus pi/2 in three parts.
    let parts = [0xbfc9_0fd8_u32, 0xb4a8_885a, 0xa7c2_34c4];
    let rest = parts.iter().fold(angle, |rest, part| quarters.mul_add(f32::from_bits(*part), rest));
    let square = rest * rest;
    let polynomial = |coefficients: [u32; 4], last: f32| {
        let [first, others @ ..] = coefficients.map(f32::from_bits);
        others.into_iter().chain([last]).fold(first, |sum, coefficient| sum.mul_add(square, coefficient))
    };
    let cos = polynomial([0x37cc_730b, 0xbab6_036e, 0x3d2a_aa9e, 0xbf00_0000], 1.0);
    let sin = polynomial([0x363e_9dde, 0xb950_35dd, 0x3c08_88cd, 0xbe2a_aaab], 0.0).mul_add(rest, rest);
    match quarters as i32 & 3 {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_within_two_units_in_the_last_place() {
        for step in -40_000..40_000 {
            let angle = step as f32 * 0.000_37;
            let (sin, cos) = sin_cos(angle);
            let (exact_sin, exact_cos) = f64::from(angle).sin_cos();
            assert!((f64::from(sin) - exact_sin).abs() < 1.2e-7 && (f64::from(cos) - exact_cos).abs() < 1.2e-7, "{angle}");
        }
        assert_eq!(sin_cos(0.0), (0.0, 1.0));
    }
}
