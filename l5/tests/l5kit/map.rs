//! The semantic map against L5Kit's `MapAPI`: ids, bounds, boundaries and points along them.

use crate::npz::{Npz, golden};
use tetrys_l5::map::{Interpolation, MapApi, Point};

/// Metres.
const TOLERANCE: f64 = 1e-8;

fn map() -> Option<MapApi> {
    let bytes = std::fs::read(golden("golden/synth_semantic_map.pb")?).unwrap();
    Some(MapApi::parse(&bytes, world_to_ecef()?).unwrap())
}

/// The matrix of the artefact's `meta.json`.
fn world_to_ecef() -> Option<[[f64; 4]; 4]> {
    let text = std::fs::read_to_string(golden("artefacts/meta.json")?).unwrap();
    let text = text.split_once("world_to_ecef").unwrap().1;
    let mut numbers =
        text.split(|c: char| !(c.is_ascii_digit() || "+-.eE".contains(c))).filter_map(|number| number.parse::<f64>().ok());
    Some(std::array::from_fn(|_| std::array::from_fn(|_| numbers.next().unwrap())))
}

/// Returns the largest difference.
fn compare<'a>(what: &str, found: impl IntoIterator<Item = &'a Point>, expected: &[f64]) -> f64 {
    let found: Vec<f64> = found.into_iter().flatten().copied().collect();
    assert_eq!(found.len(), expected.len(), "{what}");
    let worst = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst <= TOLERANCE, "{what}: differs by {worst} m");
    worst
}

#[test]
fn coordinates_equal_those_of_l5kit() {
    let (Some(map), Some(npz)) = (map(), Npz::golden("mapapi_synth.npz")) else { return };
    assert_eq!(map.len(), 84);
    let ids = |ids: &[Box<str>]| ids.iter().map(|id| id.to_string()).collect::<Vec<_>>();
    assert_eq!(ids(&map.lanes().ids), npz.text("lane_ids"));
    assert_eq!(ids(&map.crosswalks().ids), npz.text("crosswalk_ids"));
    let mut worst = 0.0_f64;
    for (bounds, name) in [(&map.lanes().bounds, "lane_bounds"), (&map.crosswalks().bounds, "crosswalk_bounds")] {
        let flat: Vec<f64> = bounds.iter().flatten().flatten().copied().collect();
        let difference = flat.iter().zip(npz.f64(name)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(flat.len() == npz.f64(name).len() && difference <= TOLERANCE, "{name}: {difference}");
        worst = worst.max(difference);
    }
    for id in &map.lanes().ids {
        let coords = map.lane_coords(id).unwrap();
        worst = worst.max(compare("left", &coords.left, &npz.f64(&format!("lane_left.{id}"))));
        worst = worst.max(compare("right", &coords.right, &npz.f64(&format!("lane_right.{id}"))));
    }
    for id in &map.crosswalks().ids {
        worst = worst.max(compare("crosswalk", map.crosswalk_coords(id).unwrap(), &npz.f64(&format!("crosswalk.{id}"))));
    }
    println!("largest difference of coordinates: {worst} m");
}

#[test]
fn twenty_points_of_each_lane_equal_those_of_l5kit() {
    let (Some(map), Some(npz)) = (map(), Npz::golden("mapapi_synth.npz")) else { return };
    let all: Vec<_> =
        map.lanes().ids.iter().map(|id| map.lane_as_interpolation(id, Interpolation::EnsureLen(20)).unwrap()).collect();
    let left = compare("left", all.iter().flat_map(|lane| &lane.left), &npz.f64("interp20_xyz_left"));
    let right = compare("right", all.iter().flat_map(|lane| &lane.right), &npz.f64("interp20_xyz_right"));
    let middle = compare("middle", all.iter().flat_map(|lane| &lane.middle), &npz.f64("interp20_xyz_midlane"));
    println!("largest difference of points: {left} {right} {middle} m");
}

#[test]
fn a_damaged_map_never_panics() {
    let (Some(path), Some(matrix)) = (golden("golden/synth_semantic_map.pb"), world_to_ecef()) else { return };
    let whole = std::fs::read(path).unwrap();
    for step in 0..whole.len() {
        let _ = MapApi::parse(&whole[..step], matrix);
        let mut bytes = whole.clone();
        bytes[step] ^= 1 << (step % 8);
        let _ = MapApi::parse(&bytes, matrix);
    }
}

#[test]
fn the_mock_map_of_l5kit_has_one_lane() {
    let (Some(path), Some(matrix)) = (golden("artefacts/semantic_map.pb"), world_to_ecef()) else { return };
    let map = MapApi::parse(&std::fs::read(path).unwrap(), matrix).unwrap();
    assert_eq!((map.len(), map.lanes().ids.len(), map.crosswalks().ids.len()), (1, 1, 0));
}
