//! Vectorized samples against L5Kit's `EgoDatasetVectorized`.

use crate::npz::{Npz, golden};
use std::sync::Arc;
use tetrys_l5::arrays::{Agents, Faces, Frames};
use tetrys_l5::map::MapApi;
use tetrys_l5::vectorized::{AgentOrder, Batch, Column, LaneSettings, Request, Scratch, Settings, Values, Vectorizer};

/// The columns of the artefact's only scene.
struct Scene {
    timestamps: Vec<i64>,
    translations: Vec<[f64; 3]>,
    rotations: Vec<[[f64; 3]; 3]>,
    agent_bounds: Vec<usize>,
    centroids: Vec<[f64; 2]>,
    extents: Vec<[f32; 3]>,
    yaws: Vec<f32>,
    velocities: Vec<[f32; 2]>,
    track_ids: Vec<u64>,
    label_probabilities: Vec<[f32; 17]>,
    face_bounds: Vec<usize>,
    face_ids: Vec<String>,
    statuses: Vec<[f32; 3]>,
}

fn rows<T: Copy, const N: usize>(values: &[T]) -> Vec<[T; N]> {
    values.as_chunks::<N>().0.to_vec()
}

fn bounds(intervals: &[i64]) -> Vec<usize> {
    let ends = intervals.as_chunks::<2>().0.iter().map(|interval| interval[1] as usize);
    std::iter::once(intervals[0] as usize).chain(ends).collect()
}

impl Scene {
    fn read() -> Option<Self> {
        let raw = Npz::golden("raw.npz")?;
        Some(Self {
            timestamps: raw.i64("frames.timestamp"),
            translations: rows(&raw.f64("frames.ego_translation")),
            rotations: rows::<_, 9>(&raw.f64("frames.ego_rotation")).iter().map(|row| rows(row).try_into().unwrap()).collect(),
            agent_bounds: bounds(&raw.i64("frames.agent_index_interval")),
            centroids: rows(&raw.f64("agents.centroid")),
            extents: rows(&raw.f32("agents.extent")),
            yaws: raw.f32("agents.yaw"),
            velocities: rows(&raw.f32("agents.velocity")),
            track_ids: raw.u64("agents.track_id"),
            label_probabilities: rows(&raw.f32("agents.label_probabilities")),
            face_bounds: bounds(&raw.i64("frames.traffic_light_faces_index_interval")),
            face_ids: raw.text("tl_faces.face_id"),
            statuses: rows(&raw.f32("tl_faces.traffic_light_face_status")),
        })
    }

    /// Calls `use_it` with the frames of a range.
    fn with<R>(&self, frames: std::ops::Range<usize>, use_it: impl FnOnce(&Frames<'_>) -> R) -> R {
        let face_ids: Vec<&str> = self.face_ids.iter().map(String::as_str).collect();
        let cut = |bounds: &[usize]| -> Vec<usize> {
            bounds[frames.start..=frames.end].iter().map(|bound| bound - bounds[frames.start]).collect()
        };
        let agents = self.agent_bounds[frames.start]..self.agent_bounds[frames.end];
        let faces = self.face_bounds[frames.start]..self.face_bounds[frames.end];
        use_it(&Frames {
            timestamps: &self.timestamps[frames.clone()],
            translations: &self.translations[frames.clone()],
            rotations: &self.rotations[frames.clone()],
            agent_bounds: &cut(&self.agent_bounds),
            agents: Agents {
                centroids: &self.centroids,
                extents: &self.extents,
                yaws: &self.yaws,
                velocities: &self.velocities,
                track_ids: &self.track_ids,
                label_probabilities: &self.label_probabilities,
            }
            .slice(agents),
            face_bounds: &cut(&self.face_bounds),
            faces: Faces { face_ids: &face_ids, traffic_light_ids: &[], statuses: &self.statuses }.slice(faces),
        })
    }
}

fn map() -> Option<Arc<MapApi>> {
    let text = std::fs::read_to_string(golden("artefacts/meta.json")?).unwrap();
    let text = text.split_once("world_to_ecef").unwrap().1;
    let mut numbers =
        text.split(|c: char| !(c.is_ascii_digit() || "+-.eE".contains(c))).filter_map(|number| number.parse::<f64>().ok());
    let matrix = std::array::from_fn(|_| std::array::from_fn(|_| numbers.next().unwrap()));
    let bytes = std::fs::read(golden("golden/synth_semantic_map.pb")?).unwrap();
    Some(Arc::new(MapApi::parse(&bytes, matrix).unwrap()))
}

fn settings() -> Settings {
    Settings {
        history_num_frames_ego: 10,
        history_num_frames_agents: 5,
        future_num_frames: 50,
        step_time: 0.1,
        filter_agents_threshold: 0.5,
        other_agents_num: 30,
        max_agents_distance: 35.0,
        lanes: LaneSettings {
            max_num_lanes: 30,
            max_points_per_lane: 20,
            max_points_per_crosswalk: 20,
            max_retrieval_distance_m: 35.0,
            max_num_crosswalks: 20,
        },
        order: AgentOrder::PythonSet,
        ego_as_agent: false,
    }
}

fn ego(current: usize) -> Request<'static> {
    Request { current, ..Request::default() }
}

/// Makes samples of the ego at frames of the scene.
fn samples(scene: &Scene, settings: Settings, map: &Arc<MapApi>, frames: &[usize]) -> Batch {
    let vectorizer = Vectorizer::new(settings, map.clone()).unwrap();
    let mut batch = vectorizer.batch(frames.len()).unwrap();
    let mut scratch = Scratch::default();
    scene.with(0..scene.timestamps.len(), |all| {
        for (slot, frame) in batch.slots().iter_mut().zip(frames) {
            vectorizer.sample(all, ego(*frame), &mut scratch, slot).unwrap();
        }
    });
    batch
}

/// Compares a column with a golden. Returns the number of values that differ and the largest difference beyond one unit in the last
/// place of an `f32`.
fn compare(column: &Column, npz: &Npz) -> (usize, f64) {
    assert_eq!(npz.shape(column.name), column.shape, "{}", column.name);
    let wide = |values: &[f32]| -> Vec<f64> { values.iter().map(|value| f64::from(*value)).collect() };
    let (found, expected, kind): (Vec<f64>, Vec<f64>, _) = match &column.values {
        Values::F32(values) => (wide(values), wide(&npz.f32(column.name)), "<f4"),
        Values::F64(values) => (values.clone(), npz.f64(column.name), "<f8"),
        Values::I64(values) => {
            (values.iter().map(|v| *v as f64).collect(), npz.i64(column.name).iter().map(|v| *v as f64).collect(), "<i8")
        }
        Values::Bool(values) => (
            values.iter().map(|v| f64::from(u8::from(*v))).collect(),
            npz.i64(column.name).iter().map(|v| *v as f64).collect(),
            "|b1",
        ),
    };
    assert_eq!(npz.dtype(column.name), kind, "{}", column.name);
    let place = if kind == "<f4" { f64::from(f32::EPSILON) } else { 0.0 };
    let differences = found.iter().zip(&expected).filter(|(a, b)| a != b).map(|(a, b)| (a - b).abs() - place * a.abs());
    differences.fold((0, 0.0), |(count, worst), difference| (count + 1, f64::max(worst, difference)))
}

#[test]
fn ego_samples_equal_those_of_l5kit() {
    let (Some(scene), Some(map), Some(npz)) = (Scene::read(), map(), Npz::golden("vectorized_ego_synth_e10_a5_f50.npz")) else {
        return;
    };
    let frames: Vec<usize> = npz.i64("__dataset_index").iter().map(|frame| *frame as usize).collect();
    let columns = samples(&scene, settings(), &map, &frames).into_columns();
    let mut seen = 0;
    for column in &columns {
        if column.name == "all_valid_agents_track_ids" {
            assert_eq!(column.shape, [20, 0]);
            continue;
        }
        let (count, worst) = compare(column, &npz);
        if count > 0 {
            println!("{}: {count} values differ, by at most {worst:e} and one place", column.name);
        }
        let tolerance = match column.name {
            "lanes" | "lanes_mid" | "crosswalks" => 4e-6,
            "agent_from_world" => 1e-11,
            name if name.ends_with("positions") || name.ends_with("polyline") => 1e-9,
            "speed" => 1e-9,
            _ if count > 0 => -1.0,
            _ => 0.0,
        };
        assert!(worst <= tolerance, "{}: {count} values differ, by at most {worst:e} and one place", column.name);
        seen += 1;
    }
    let ours = ["scene_index", "host_id"];
    let others = npz.names().filter(|key| !key.starts_with("__") && !ours.contains(key)).count();
    assert_eq!(seen, others, "all keys but those that need the scene");
}

#[test]
fn a_window_gives_the_same_sample_as_the_whole_scene() {
    let (Some(scene), Some(map)) = (Scene::read(), map()) else { return };
    let vectorizer = Vectorizer::new(settings(), map.clone()).unwrap();
    for current in [0, 5, 100, 230, 247] {
        let whole = samples(&scene, settings(), &map, &[current]);
        let window = current.saturating_sub(10)..(current + 51).min(scene.timestamps.len());
        let mut batch = vectorizer.batch(1).unwrap();
        let start = window.start;
        scene.with(window, |frames| {
            let mut slots = batch.slots();
            // A second sample in the same place leaves nothing of the first.
            vectorizer.sample(frames, ego(0), &mut Scratch::default(), &mut slots[0]).unwrap();
            vectorizer.sample(frames, ego(current - start), &mut Scratch::default(), &mut slots[0]).unwrap();
        });
        assert_eq!(batch, whole, "frame {current}");
    }
}

#[test]
fn the_ego_becomes_the_first_agent() {
    let (Some(scene), Some(map)) = (Scene::read(), map()) else { return };
    let plain = Settings { history_num_frames_agents: 10, other_agents_num: 29, ..settings() };
    let with_ego = Settings { ego_as_agent: true, ..plain };
    let one = samples(&scene, plain, &map, &[100]);
    let both = samples(&scene, with_ego, &map, &[100]);
    assert_eq!(both.dims().agents, 30);
    assert_eq!((both.all_other_agents_track_ids[0], both.all_other_agents_types[0]), (-1, 3));
    assert_eq!(both.all_other_agents_track_ids[1..], one.all_other_agents_track_ids);
    assert_eq!(both.all_other_agents_future_positions[..100], one.target_positions);
    assert_eq!(both.all_other_agents_future_positions[100..], one.all_other_agents_future_positions);
    assert_eq!(both.other_agents_polyline[..33], one.agent_trajectory_polyline);
    assert_eq!(both.all_valid_agents_track_ids, [0.0; 50]);
    let seen = |row: usize| both.all_other_agents_history_availability[row * 11..][..11].iter().filter(|seen| **seen).count();
    for row in 0..30 {
        let future = both.all_other_agents_future_availability[row * 50..][..50].iter().filter(|seen| **seen).count();
        assert!(seen(row) > 10 || future == 0, "row {row} has {} history steps and {future} future steps", seen(row));
    }
}

#[test]
fn the_order_by_distance_has_the_same_agents() {
    let (Some(scene), Some(map)) = (Scene::read(), map()) else { return };
    let near = samples(&scene, Settings { order: AgentOrder::Distance, ..settings() }, &map, &[60]);
    let usual = samples(&scene, settings(), &map, &[60]);
    let sorted = |batch: &Batch| {
        let mut ids = batch.all_other_agents_track_ids.clone();
        ids.sort_unstable();
        ids
    };
    assert_eq!(sorted(&near), sorted(&usual));
    assert_ne!(near.all_other_agents_track_ids, usual.all_other_agents_track_ids);
}

#[test]
fn a_selected_agent_is_in_the_centre_and_not_among_the_others() {
    let (Some(scene), Some(map)) = (Scene::read(), map()) else { return };
    let vectorizer = Vectorizer::new(settings(), map.clone()).unwrap();
    let others = samples(&scene, settings(), &map, &[60]).all_other_agents_track_ids;
    let id = others[0] as u64;
    let mut batch = vectorizer.batch(1).unwrap();
    scene.with(0..scene.timestamps.len(), |frames| {
        let request = Request { current: 60, selected: Some(id), valid_track_ids: &[] };
        vectorizer.sample(frames, request, &mut Scratch::default(), &mut batch.slots()[0]).unwrap();
        let absent = Request { selected: Some(999_999), ..request };
        let error = vectorizer.sample(frames, absent, &mut Scratch::default(), &mut vectorizer.batch(1).unwrap().slots()[0]);
        assert_eq!(error.unwrap_err().kind(), tetrys::ErrorKind::Invalid);
    });
    assert!(!batch.all_other_agents_track_ids.contains(&(id as i64)));
    assert_eq!(batch.track_id, [id as i64]);
    assert!(batch.history_positions[..2].iter().all(|value| value.abs() < 1e-9));
}

#[test]
fn input_that_does_not_fit_is_invalid() {
    let (Some(scene), Some(map)) = (Scene::read(), map()) else { return };
    let vectorizer = Vectorizer::new(settings(), map.clone()).unwrap();
    let mut batch = vectorizer.batch(1).unwrap();
    let mut slots = batch.slots();
    scene.with(0..3, |frames| {
        let mut fails = |frames: &Frames<'_>, request: Request<'_>| {
            let error = vectorizer.sample(frames, request, &mut Scratch::default(), &mut slots[0]).unwrap_err();
            assert_eq!(error.kind(), tetrys::ErrorKind::Invalid, "{error}");
        };
        fails(frames, ego(3));
        fails(&Frames { translations: &frames.translations[1..], ..*frames }, ego(0));
        fails(&Frames { agent_bounds: &[0, 5, 2, 7], ..*frames }, ego(0));
        fails(&Frames { agent_bounds: &[0, 5], ..*frames }, ego(0));
        fails(&Frames { agents: Agents { yaws: &[], ..frames.agents }, ..*frames }, ego(0));
        fails(frames, Request { valid_track_ids: &[1], ..ego(0) });
        let no_agents = Frames { agent_bounds: &[], agents: Agents::default(), face_bounds: &[], ..*frames };
        vectorizer.sample(&no_agents, ego(0), &mut Scratch::default(), &mut slots[0]).unwrap();
    });
    let broken = [
        Settings { future_num_frames: 0, ..settings() },
        Settings { step_time: 0.0, ..settings() },
        Settings { lanes: LaneSettings { max_points_per_lane: 1, ..settings().lanes }, ..settings() },
    ];
    for settings in broken {
        assert!(Vectorizer::new(settings, map.clone()).is_err(), "{settings:?}");
    }
    let other = Vectorizer::new(Settings { other_agents_num: usize::MAX, ..settings() }, map.clone()).unwrap();
    assert!(other.batch(1).is_err());
    scene.with(0..3, |frames| assert!(other.sample(frames, ego(0), &mut Scratch::default(), &mut slots[0]).is_err()));
}
