//! Rotations between two quaternions: spherical linear interpolation. Pure.
//!
//! Follows Shoemake, *Animating Rotation with Quaternion Curves*, 1985. Quaternions are in the order x, y, z, w.

use tetrys::{ColumnType, Result, schema::Primitive};

use crate::cells::Cell;

/// A quaternion: x, y, z, w.
pub(crate) type Quaternion = [f64; 4];

/// Sines of smaller angles are the angles themselves, and the sphere is a plane.
const FLAT: f64 = 1e-9;

/// Returns the quaternion of length 1 in the same direction. `None` if it is zero or not finite: then it is no rotation.
pub(crate) fn normalised(of: Quaternion) -> Option<Quaternion> {
    // Squares of very large or small numbers are infinite or zero.
    let largest = of.iter().fold(0.0_f64, |largest, number| largest.max(number.abs()));
    if largest == 0.0 || !of.iter().all(|number| number.is_finite()) {
        return None;
    }
    let scaled = of.map(|number| number / largest);
    let length = dot(scaled, scaled).sqrt();
    Some(scaled.map(|number| number / length))
}

fn dot(a: Quaternion, b: Quaternion) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns the rotation from `a` to `b`, the short way, of which `weight` is done. `None` if one of them is no rotation.
pub(crate) fn slerp(a: Quaternion, b: Quaternion, weight: f64) -> Option<Quaternion> {
    let (a, b) = (normalised(a)?, normalised(b)?);
    // A quaternion and its negative are the same rotation. The nearer one is the short way.
    let b = if dot(a, b) < 0.0 { b.map(|number| -number) } else { b };
    let zip = |of: fn(f64, f64) -> f64| {
        let mut all = a;
        all.iter_mut().zip(b).for_each(|(a, b)| *a = of(*a, b));
        dot(all, all).sqrt()
    };
    // The arc cosine of the product is wrong by 1e-8 for small angles, this is not.
    let angle = 2.0 * zip(|a, b| a - b).atan2(zip(|a, b| a + b));
    let (of_a, of_b) = match angle.sin() {
        sine if sine < FLAT => (1.0 - weight, weight),
        sine => (((1.0 - weight) * angle).sin() / sine, (weight * angle).sin() / sine),
    };
    let mut between = a;
    between.iter_mut().zip(b).for_each(|(a, b)| *a = *a * of_a + b * of_b);
    Some(between)
}

/// Whether a column of this type has quaternions.
pub(crate) fn has_quaternions(ty: &ColumnType) -> bool {
    let floats = [Primitive::F32, Primitive::F64];
    matches!(ty, ColumnType::Tensor { element, shape } if floats.contains(element) && shape[..] == [Some(4)])
}

/// Returns the quaternion of a cell. `None` if it is null, or no rotation.
pub(crate) fn rotation(ty: &ColumnType, cell: &Cell) -> Option<Quaternion> {
    let (_, bytes, None) = cell.numbers()? else { return None };
    let mut quaternion = [0.0; 4];
    match ty.element_width() {
        8 => quaternion.iter_mut().zip(bytes.as_chunks().0).for_each(|(number, bytes)| *number = f64::from_le_bytes(*bytes)),
        _ => {
            quaternion.iter_mut().zip(bytes.as_chunks().0).for_each(|(number, bytes)| *number = f32::from_le_bytes(*bytes).into())
        }
    }
    normalised(quaternion).map(|_| quaternion)
}

/// Returns the value between those of two messages, or that of one: null if a quaternion is no rotation. The value of one message is
/// taken as it is.
pub(crate) fn between(ty: &ColumnType, a: &Cell, b: Option<(&Cell, f64)>) -> Result<Cell> {
    let Some(one) = rotation(ty, a) else { return Ok(Cell::Null) };
    let Some((b, weight)) = b else { return Ok(a.clone()) };
    let found = rotation(ty, b).and_then(|other| slerp(one, other, weight));
    let Some(found) = found else { return Ok(Cell::Null) };
    #[expect(clippy::cast_possible_truncation, reason = "the number has the type of its column")]
    let bytes: Vec<u8> = match ty.element_width() {
        8 => found.iter().flat_map(|number| number.to_le_bytes()).collect(),
        _ => found.iter().flat_map(|number| (*number as f32).to_le_bytes()).collect(),
    };
    Ok(Cell::Tensor(vec![4], bytes.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_a_quarter_turn_is_an_eighth() {
        let quarter = [0.0, 0.0, 0.5_f64.sqrt(), 0.5_f64.sqrt()];
        let found = slerp([0.0, 0.0, 0.0, 2.0], quarter, 0.5).unwrap();
        let eighth = std::f64::consts::FRAC_PI_8;
        assert!((found[2] - eighth.sin()).abs() < 1e-15 && (found[3] - eighth.cos()).abs() < 1e-15, "{found:?}");
        // The negative of a quaternion is the same rotation.
        assert_eq!(slerp([0.0, 0.0, 0.0, 2.0], quarter.map(|number| -number), 0.5), Some(found));
        assert_eq!(slerp(quarter, quarter, 0.3).unwrap(), normalised(quarter).unwrap());
    }

    #[test]
    fn what_is_no_rotation_has_no_way() {
        let good = [0.0, 0.0, 0.0, 1.0];
        for bad in [[0.0; 4], [f64::NAN, 0.0, 0.0, 1.0], [f64::INFINITY, 0.0, 0.0, 0.0], [-0.0; 4]] {
            assert_eq!((slerp(good, bad, 0.5), slerp(bad, good, 0.5)), (None, None));
        }
        for scale in [1e300, 1e-300, 5e-324] {
            assert_eq!(normalised([0.0, scale, 0.0, 0.0]), Some([0.0, 1.0, 0.0, 0.0]));
        }
    }
}
