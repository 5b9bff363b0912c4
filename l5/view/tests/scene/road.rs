//! A map for generated data, in which the own car has a road: lanes along its path, crosswalks, and the lights of the data at the end of a
//! lane. The map is written as protobuf by hand, in the coordinates of the world.

use tetrys_l5::reading::{FrameTable, Scratch, Wanted};
use tetrys_l5_view::SceneMap;

/// Metres of a lane from side to side.
const BROAD: f64 = 3.6;
/// Frames of a lane.
const LONG: usize = 40;

/// The axes of the world as those of a local frame at latitude and longitude 0.
const WORLD_TO_ECEF: [[f64; 4]; 4] =
    [[0.0, 0.0, 1.0, 6_378_137.0], [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]];

fn varint(mut value: u64, into: &mut Vec<u8>) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

fn field(tag: u64, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint(tag << 3 | 2, &mut bytes);
    varint(content.len() as u64, &mut bytes);
    bytes.extend_from_slice(content);
    bytes
}

fn joined(parts: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    parts.into_iter().flatten().collect()
}

/// Writes points as differences to the point before, cm, into three fields from a tag on.
fn chain(points: &[[f64; 2]], tag: u64) -> Vec<u8> {
    let along = |axis: usize| {
        let (mut bytes, mut before) = (Vec::new(), 0);
        for point in points {
            let here = point.get(axis).map_or(0, |metres| (metres * 100.0).round() as i64);
            let delta = here - before;
            before = here;
            varint(((delta << 1) ^ (delta >> 63)) as u64, &mut bytes);
        }
        field(tag + axis as u64, &bytes)
    };
    joined([along(0), along(1), along(2)])
}

fn id(name: &str) -> Vec<u8> {
    field(1, name.as_bytes())
}

fn element(name: &str, kind: u64, content: &[u8]) -> Vec<u8> {
    field(2, &joined([field(1, &id(name)), field(2, &field(kind, content))]))
}

/// Returns a map of crosswalks and of lanes that are squares around the origin, m.
pub(crate) fn squares(crosswalks: usize, lanes: usize, side: f64) -> SceneMap {
    let half = side / 2.0;
    let (left, right) = ([[-half, half], [half, half]], [[-half, -half], [half, -half]]);
    let outline = chain(&[left[0], left[1], right[1], right[0]], 3);
    let lane = joined([field(3, &chain(&left, 1)), field(4, &chain(&right, 1))]);
    let mut map = Vec::new();
    for number in 0..crosswalks {
        map.extend(element(&format!("crosswalk {number}"), 4, &joined([outline.clone(), field(16, &[])])));
    }
    for number in 0..lanes {
        map.extend(element(&format!("lane {number}"), 3, &lane));
    }
    SceneMap::parse(&map, WORLD_TO_ECEF).unwrap()
}

/// Returns a map of the first scene of a generated table.
pub(crate) async fn along(frames: &FrameTable) -> SceneMap {
    let scene = frames.scenes()[0].frames.clone();
    let wanted = Wanted { history: (scene.end - scene.start - 1) as usize, faces: true, ..Default::default() };
    let windows = frames.windows(&[scene.end - 1], wanted).await.unwrap();
    let mut scratch = Scratch::default();
    let (found, current) = windows.frames(0, &mut scratch).unwrap();
    let path: Vec<[f64; 2]> = found.translations.iter().map(|[x, y, _]| [*x, *y]).collect();
    // To the left of the path at a frame, m.
    let aside = |frame: usize, left: f64| {
        let (from, to) = (path[frame.saturating_sub(3)], path[(frame + 3).min(path.len() - 1)]);
        let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
        let long = dx.hypot(dy).max(1e-9);
        [path[frame][0] - left * dy / long, path[frame][1] + left * dx / long]
    };
    let faces = found.faces_of(current);
    let mut map = Vec::new();
    for (number, face) in faces.face_ids.iter().enumerate() {
        map.extend(element(face, 4, &field([11, 12, 13][number % 3], &[])));
    }
    for start in (0..path.len() - 1).step_by(LONG) {
        let frames: Vec<usize> = (start..=(start + LONG).min(path.len() - 1)).step_by(4).collect();
        let line = |left: f64| -> Vec<[f64; 2]> { frames.iter().map(|frame| aside(*frame, left)).collect() };
        for lane in -2..3_i32 {
            let middle = f64::from(lane) * BROAD;
            // The lane of the own car has the lights of the data, beside it one light each.
            let controls = faces
                .face_ids
                .iter()
                .enumerate()
                .filter(|(number, _)| start == 3 * LONG && number / 3 == lane.unsigned_abs() as usize);
            let controls = joined(controls.map(|(_, face)| field(8, &id(face))));
            let boundaries =
                joined([field(3, &chain(&line(middle + BROAD / 2.0), 1)), field(4, &chain(&line(middle - BROAD / 2.0), 1))]);
            map.extend(element(&format!("lane {start} {lane}"), 3, &joined([boundaries, controls])));
        }
        let (before, behind) = (frames[0], (frames[0] + 3).min(path.len() - 1));
        let outline = [aside(before, -9.0), aside(behind, -9.0), aside(behind, 9.0), aside(before, 9.0)];
        map.extend(element(&format!("crosswalk {start}"), 4, &joined([chain(&outline, 3), field(16, &[])])));
    }
    SceneMap::parse(&map, WORLD_TO_ECEF).unwrap()
}
