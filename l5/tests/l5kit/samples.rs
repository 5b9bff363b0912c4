//! Compares samples of the ego car and of agents with those of L5Kit, within the tolerances of the goldens.

use crate::npz::Npz;
use crate::raw::Raw;
use tetrys::{ErrorKind, Result};
use tetrys_l5::sampling::{Kind, Moment, SampleSettings, SampleShape, Samples, fill_sample};

/// The configuration of the goldens: 224 x 224 pixels of 0.5 m, the ego car at (0.25, 0.5), the origin at the bottom.
const SETTINGS: SampleSettings = SampleSettings {
    step_time: 0.1,
    filter_threshold: 0.5,
    raster_from_local: [[2.0, 0.0, 56.0], [0.0, -2.0, 112.0], [0.0, 0.0, 1.0]],
};

/// How many values of an array differ, and by how much at most.
#[derive(Debug, Default)]
struct Differences {
    bits: usize,
    largest: f64,
}

/// Compares an array with a golden: each value may differ by `tolerance` and one unit in the last place of `f32`.
fn compare<T: Copy + Into<f64>>(name: &str, found: &[T], expected: &[T], tolerance: f64, ulp: f64) {
    assert_eq!(found.len(), expected.len(), "{name}");
    let mut differences = Differences::default();
    for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
        let (found, expected): (f64, f64) = ((*found).into(), (*expected).into());
        let difference = (found - expected).abs();
        assert!(difference <= tolerance + ulp * expected.abs(), "{name}: value {place} is {found}, expected {expected}");
        differences.bits += usize::from(found != expected);
        differences.largest = differences.largest.max(difference);
    }
    println!("{name}: {} of {} values differ, by {:e} at most", differences.bits, found.len(), differences.largest);
}

/// Compares all arrays of a batch with a golden.
pub(crate) fn compare_all(samples: &Samples, golden: &Npz) {
    let exact = |name: &str, found: &[f32]| compare(name, found, &golden.f32(name), 0.0, 0.0);
    let close = |name: &str, found: &[f32]| compare(name, found, &golden.f32(name), 1e-9, f64::from(f32::EPSILON));
    let pose = |name: &str, found: &[f64], tolerance: f64| compare(name, found, &golden.f64(name), tolerance, 0.0);
    for (name, found) in [
        ("frame_index", &samples.frame_index),
        ("scene_index", &samples.scene_index),
        ("timestamp", &samples.timestamp),
        ("track_id", &samples.track_id),
    ] {
        assert_eq!(*found, golden.i64(name), "{name}");
    }
    assert_eq!(samples.host_id, golden.u8("host_id"));
    for (name, found) in [
        ("target_availabilities", &samples.target_availabilities),
        ("history_availabilities", &samples.history_availabilities),
        ("target_yaws", &samples.target_yaws),
        ("history_yaws", &samples.history_yaws),
        ("history_extents", &samples.history_extents),
        ("future_extents", &samples.future_extents),
    ] {
        exact(name, found);
    }
    for (name, found) in [
        ("target_positions", &samples.target_positions),
        ("history_positions", &samples.history_positions),
        ("target_velocities", &samples.target_velocities),
        ("history_velocities", &samples.history_velocities),
    ] {
        close(name, found);
    }
    assert_eq!(golden.has("curr_speed"), samples.shape.history > 0);
    if golden.has("curr_speed") {
        close("curr_speed", &samples.curr_speed);
    }
    pose("world_from_agent", &samples.world_from_agent, 0.0);
    pose("centroid", &samples.centroid, 0.0);
    pose("yaw", &samples.yaw, 0.0);
    pose("agent_from_world", &samples.agent_from_world, 1e-11);
    pose("raster_from_world", &samples.raster_from_world, 1e-11);
    pose("world_to_image", &samples.raster_from_world, 1e-11);
    pose("raster_from_agent", &samples.raster_from_agent, 1e-11);
    match samples.shape.kind {
        Kind::Ego => pose("extent", &samples.ego_extent, 0.0),
        Kind::Agent => exact("extent", &samples.agent_extent),
    }
}

/// Writes the sample of a frame of the data set.
fn fill(raw: &Raw, frame: usize, track_id: Option<u64>, samples: &mut Samples, at: usize) -> Result<()> {
    let scene = raw.scenes.iter().position(|scene| frame < scene[1]).unwrap();
    let ([start, end], SampleShape { history, future, .. }) = (raw.scenes[scene], samples.shape);
    let first = start.max(frame.saturating_sub(history));
    let (state, current) = (frame - start, frame - first);
    let window = raw.frames(first..end.min(frame + future + 1));
    let moment = Moment {
        frames: window,
        current,
        labels: if track_id.is_some() { window.agents_of(current).label_probabilities } else { &[] },
        track_id,
        frame_index: state,
        scene_index: scene,
        host: &raw.hosts[scene],
    };
    fill_sample(&SETTINGS, &moment, &mut samples.slots(), at)
}

/// Makes a batch of garbage, so that a value that nobody writes is seen.
fn garbage(history: usize, future: usize, kind: Kind, len: usize) -> Samples {
    let mut samples = Samples::new(SampleShape { history, future, kind }, len).unwrap();
    samples.history_yaws.fill(f32::NAN);
    samples.target_positions.fill(f32::NAN);
    samples.target_yaws.fill(f32::NAN);
    samples.history_extents.fill(f32::NAN);
    samples.host_id.fill(77);
    samples
}

#[test]
fn ego_samples_are_l5kits() {
    for (name, history, future) in [("ego_h10_f50.npz", 10, 50), ("ego_h0_f12.npz", 0, 12)] {
        let (Some(golden), Some(npz)) = (Npz::golden(name), Npz::golden("raw.npz")) else { return };
        let raw = Raw::new(&npz);
        let mut samples = garbage(history, future, Kind::Ego, 248);
        for frame in 0..248 {
            fill(&raw, frame, None, &mut samples, frame).unwrap();
        }
        println!("{name}");
        compare_all(&samples, &golden);
    }
}

#[test]
fn agent_samples_are_l5kits() {
    for (name, history, future) in [("agent_h10_f50.npz", 10, 50), ("agent_h0_f12.npz", 0, 12)] {
        let (Some(golden), Some(npz)) = (Npz::golden(name), Npz::golden("raw.npz")) else { return };
        let raw = Raw::new(&npz);
        let rows = golden.i64("__agent_row");
        let mut samples = garbage(history, future, Kind::Agent, rows.len());
        for (at, row) in rows.iter().map(|row| *row as usize).enumerate() {
            let frame = raw.agent_bounds[1..].iter().position(|end| row < *end).unwrap();
            fill(&raw, frame, Some(raw.track_ids[row]), &mut samples, at).unwrap();
        }
        println!("{name}");
        compare_all(&samples, &golden);
    }
}

#[test]
fn an_agent_that_is_not_there_or_no_agent_is_not_found() {
    let Some(npz) = Npz::golden("raw.npz") else { return };
    let raw = Raw::new(&npz);
    let mut samples = garbage(10, 50, Kind::Agent, 1);
    let error = fill(&raw, 5, Some(99_999), &mut samples, 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(error.to_string(), "frame 5 of scene 0 has no track 99999 with a label probability above 0.5");
    let unknown = (0..raw.track_ids.len()).find(|row| fill(&raw, 0, Some(raw.track_ids[*row]), &mut samples, 0).is_err());
    assert!(unknown.is_some(), "some track of frame 0 is not an agent");
    assert_eq!(fill(&raw, 5, None, &mut samples, 0).unwrap_err().kind(), ErrorKind::Invalid, "the ego car in a batch of agents");
}
