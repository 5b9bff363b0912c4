//! Compares headings, angles, transforms of rasters and the label filter with outputs of L5Kit (`unit_functions.npz`).

use crate::npz::Npz;
use tetrys_l5::filter::keeps_labels;
use tetrys_l5::geometry::{Matrix3, angular_distance_f32, yaw_of_rotation};

fn matrices(values: &[f64]) -> Vec<Matrix3> {
    values.as_chunks::<9>().0.iter().map(|m| [[m[0], m[1], m[2]], [m[3], m[4], m[5]], [m[6], m[7], m[8]]]).collect()
}

#[test]
fn yaws_of_rotations_are_l5kits() {
    let Some(golden) = Npz::golden("unit_functions.npz") else { return };
    let yaws: Vec<f64> = matrices(&golden.f64("rot")).iter().map(yaw_of_rotation).collect();
    assert_eq!(yaws, golden.f64("rot_yaw"));
}

#[test]
fn differences_of_angles_are_l5kits_to_the_last_bit() {
    let Some(golden) = Npz::golden("unit_functions.npz") else { return };
    let (a, b) = (golden.f32("ang_a"), golden.f64("ang_b"));
    let expected = golden.f32("angular_distance_f32_minus_f64scalar");
    let found: Vec<f32> = b.iter().flat_map(|b| a.iter().map(|a| angular_distance_f32(*a, *b as f32))).collect();
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&found), bits(&expected));
}

#[test]
fn the_label_filter_keeps_the_same_rows_at_every_threshold() {
    let Some(golden) = Npz::golden("unit_functions.npz") else { return };
    let labels = golden.f32("label_probabilities");
    for threshold in ["0.0", "0.25", "0.5", "0.75", "0.9", "1.0"] {
        let kept: Vec<u8> =
            labels.as_chunks::<17>().0.iter().map(|row| u8::from(keeps_labels(row, threshold.parse().unwrap()))).collect();
        assert_eq!(kept, golden.u8(&format!("label_filter_{threshold}")), "threshold {threshold}");
    }
}
