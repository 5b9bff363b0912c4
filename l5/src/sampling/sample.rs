//! Computes one sample from the frames around a moment: where the ego car or an agent was, is and will be, seen from where it is.
//!
//! Positions are transformed in `f64` and rounded to `f32`; turns and velocities are `f32` arithmetic, as in L5Kit. A frame without the
//! agent gives zeros, made by a product with 0, and velocities take these zeros for positions.
//!
//! L5Kit lets a perturbation change the ego poses of the window before a sample is computed. Here, the caller passes the changed poses as
//! [`Moment::frames`].

use tetrys::{Error, Result};

use crate::arrays::{Agents, Frames};
use crate::filter::{first_with_track_id, keeps_labels};
use crate::geometry::{Matrix3, angular_distance_f32, invert_pose, multiply, transform_point, world_from_agent, yaw_of_rotation};
use crate::sampling::batch::{HOST_BYTES, Kind, SampleSlots};

/// Length, width and height of the ego car, in metres.
pub const EGO_EXTENT: [f64; 3] = [4.87, 1.85, 1.8];

/// The settings of samples, from a configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleSettings {
    /// `step_time`: the time between two frames, in seconds.
    pub step_time: f64,
    /// `filter_agents_threshold`: the probability above which a row is an agent.
    pub filter_threshold: f64,
    /// From the frame of the agent to pixels, as a rasterizer places it.
    pub raster_from_local: Matrix3,
}

/// The input of a sample: the frames around a moment, and the ego car or an agent in them.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// The frames of one scene around the current one, in the order of time. Frames beyond the history and the future of the sample
    /// are ignored; frames that are not there are unavailable.
    ///
    /// The ego car needs timestamps, translations and rotations. An agent needs timestamps, centroids, extents, yaws and track ids.
    pub frames: Frames<'a>,
    /// The place of the current frame in these frames.
    pub current: usize,
    /// The label probabilities of the agents of the current frame. Empty for the ego car.
    pub labels: &'a [[f32; 17]],
    /// The track id of an agent in the current frame, or nothing for the ego car.
    pub track_id: Option<u64>,
    /// The place of the current frame in its scene.
    pub frame_index: usize,
    /// The scene.
    pub scene_index: usize,
    /// The host of the scene, in ASCII.
    pub host: &'a str,
}

/// The pose and size of the ego car or an agent in one frame.
#[derive(Clone, Copy, Default)]
struct State {
    centroid: [f64; 2],
    yaw: f32,
    extent: [f32; 2],
    availability: f32,
}

/// Writes one sample to its place in a batch: `generate_agent_sample` and `get_frame`, without the image.
///
/// If the result is an error, the contents of the place are unspecified.
///
/// # Errors
/// `NotFound` if the window does not have the current frame, if the agent is not in it, or if its label probability is not above the
/// threshold: L5Kit raises `IndexError`. `Invalid` if a column is missing or too short, if `step_time` is not positive, if the host is
/// longer than 70 characters or is not ASCII, if the batch has no such sample, or if the batch is of the other kind.
pub fn fill_sample(settings: &SampleSettings, moment: &Moment<'_>, batch: &mut SampleSlots<'_>, sample: usize) -> Result<()> {
    check(settings, moment)?;
    let slot = batch.one(sample)?;
    let frames = &moment.frames;
    match (moment.track_id, slot.shape.kind) {
        (None, Kind::Ego) => {
            let [x, y, _] = frames.translations[moment.current];
            let yaw = yaw_of_rotation(&frames.rotations[moment.current]);
            slot.ego_extent.copy_from_slice(&EGO_EXTENT);
            slot.track_id.fill(-1);
            fill(settings, moment, slot, [x, y], yaw, |frame| ego_state(frames, frame))
        }
        (Some(track_id), Kind::Agent) => {
            let agents = frames.agents_of(moment.current);
            let row = selected_row(&agents, track_id, moment, settings.filter_threshold)?;
            slot.agent_extent.copy_from_slice(&agents.extents[row]);
            slot.track_id.fill(track_id as i64);
            let (centroid, yaw) = (agents.centroids[row], f64::from(agents.yaws[row]));
            fill(settings, moment, slot, centroid, yaw, |frame| agent_state(frames, frame, track_id))
        }
        (track_id, kind) => Err(Error::invalid(format!("a sample of track {track_id:?} in a batch of kind {kind:?}"))),
    }
}

/// Writes a sample whose pose is known. `state` says where the agent is in a frame of the window.
fn fill(
    settings: &SampleSettings,
    moment: &Moment<'_>,
    slot: SampleSlots<'_>,
    centroid: [f64; 2],
    yaw: f64,
    state: impl Fn(usize) -> State,
) -> Result<()> {
    let world_from_agent = world_from_agent(centroid, yaw);
    let agent_from_world = invert_pose(&world_from_agent);
    let raster_from_world = multiply(&settings.raster_from_local, &agent_from_world);
    slot.world_from_agent.copy_from_slice(world_from_agent.as_flattened());
    slot.agent_from_world.copy_from_slice(agent_from_world.as_flattened());
    slot.raster_from_world.copy_from_slice(raster_from_world.as_flattened());
    slot.raster_from_agent.copy_from_slice(multiply(&raster_from_world, &world_from_agent).as_flattened());

    let next = moment.current + 1;
    let future = (next..moment.frames.len()).map(&state);
    let history = (0..next).rev().map(&state);
    let here = Here { agent_from_world, yaw: yaw as f32 };
    here.view(future, slot.target_positions, slot.target_yaws, slot.future_extents, slot.target_availabilities);
    here.view(history, slot.history_positions, slot.history_yaws, slot.history_extents, slot.history_availabilities);

    let step_time = settings.step_time as f32;
    let mut before = [0.0; 2];
    for (velocity, position) in pairs_mut(slot.target_velocities).zip(pairs(slot.target_positions)) {
        *velocity = [0, 1].map(|axis| (position[axis] - before[axis]) / step_time);
        before = *position;
    }
    let positions = pairs(slot.history_positions);
    for ((velocity, now), before) in pairs_mut(slot.history_velocities).zip(positions.clone()).zip(positions.skip(1)) {
        *velocity = [0, 1].map(|axis| -(before[axis] - now[axis]) / step_time);
    }
    if let (Some(speed), Some([x, y])) = (slot.curr_speed.first_mut(), pairs(slot.history_velocities).next()) {
        *speed = (x * x + y * y).sqrt();
    }

    slot.centroid.copy_from_slice(&centroid);
    slot.yaw.fill(yaw);
    slot.frame_index.fill(moment.frame_index as i64);
    slot.scene_index.fill(moment.scene_index as i64);
    slot.timestamp.fill(moment.frames.timestamps[moment.current]);
    slot.host_id.fill(0);
    slot.host_id[..moment.host.len()].copy_from_slice(moment.host.as_bytes());
    Ok(())
}

/// The pose from which other poses are seen.
struct Here {
    agent_from_world: Matrix3,
    yaw: f32,
}

impl Here {
    /// Writes how states look from here, one per step. Steps without a state are unavailable.
    fn view(
        &self,
        states: impl Iterator<Item = State>,
        positions: &mut [f32],
        yaws: &mut [f32],
        extents: &mut [f32],
        availabilities: &mut [f32],
    ) {
        let states = states.chain(std::iter::repeat(State::default()));
        let places = pairs_mut(positions).zip(yaws).zip(pairs_mut(extents)).zip(availabilities);
        for ((((position, yaw), extent), availability), state) in places.zip(states) {
            let factor = f64::from(state.availability);
            *position = transform_point(&self.agent_from_world, state.centroid).map(|value| (value * factor) as f32);
            *yaw = angular_distance_f32(state.yaw, self.yaw) * state.availability;
            *extent = state.extent;
            *availability = state.availability;
        }
    }
}

/// Returns where the ego car is in a frame.
fn ego_state(frames: &Frames<'_>, frame: usize) -> State {
    let [x, y, _] = frames.translations[frame];
    let [length, width, _] = EGO_EXTENT.map(|side| side as f32);
    State { centroid: [x, y], yaw: yaw_of_rotation(&frames.rotations[frame]) as f32, extent: [length, width], availability: 1.0 }
}

/// Returns where an agent is in a frame: the first row with its track id, whatever its labels are.
fn agent_state(frames: &Frames<'_>, frame: usize, track_id: u64) -> State {
    let start = frames.agent_bounds[frame];
    match first_with_track_id(&frames.agents.track_ids[start..frames.agent_bounds[frame + 1]], track_id) {
        None => State::default(),
        Some(place) => {
            let row = start + place;
            let [length, width, _] = frames.agents.extents[row];
            let (centroid, yaw) = (frames.agents.centroids[row], frames.agents.yaws[row]);
            State { centroid, yaw, extent: [length, width], availability: 1.0 }
        }
    }
}

/// Returns the first row of the current frame with a track id and a label probability above the threshold.
fn selected_row(agents: &Agents<'_>, track_id: u64, moment: &Moment<'_>, threshold: f64) -> Result<usize> {
    let mut rows = agents.track_ids.iter().zip(moment.labels);
    rows.position(|(id, labels)| *id == track_id && keeps_labels(labels, threshold)).ok_or_else(|| {
        let Moment { frame_index, scene_index, .. } = moment;
        Error::not_found(format!(
            "frame {frame_index} of scene {scene_index} has no track {track_id} with a label probability above {threshold:?}"
        ))
    })
}

/// Checks that the window has all columns and rows that a sample reads.
fn check(settings: &SampleSettings, moment: &Moment<'_>) -> Result<()> {
    let (frames, window) = (&moment.frames, moment.frames.len());
    if moment.current >= window {
        let Moment { frame_index, scene_index, .. } = moment;
        return Err(Error::not_found(format!(
            "frame {frame_index} of scene {scene_index} is not in a window of {window} frames"
        )));
    }
    if settings.step_time.is_nan() || settings.step_time <= f64::EPSILON {
        return Err(Error::invalid(format!(
            "step_time must be greater than {:e} s, found {:?}",
            f64::EPSILON,
            settings.step_time
        )));
    }
    if moment.host.len() > HOST_BYTES || !moment.host.is_ascii() {
        return Err(Error::invalid(format!("host {:?} must be ASCII of at most {HOST_BYTES} characters", moment.host)));
    }
    let column = |name: &str, found: usize, expected: usize| {
        if found == expected {
            return Ok(());
        }
        Err(Error::invalid(format!("column {name} of a window of {window} frames has {found} rows, expected {expected}")))
    };
    if moment.track_id.is_none() {
        column("frames.ego_translation", frames.translations.len(), window)?;
        return column("frames.ego_rotation", frames.rotations.len(), window);
    }
    let (bounds, agents) = (frames.agent_bounds, &frames.agents);
    let rows = agents.track_ids.len();
    if bounds.len() != window + 1 || !bounds.is_sorted() || bounds.last().is_some_and(|end| *end > rows) {
        return Err(Error::invalid(format!("the bounds of {window} frames must be {} rising rows up to {rows}", window + 1)));
    }
    column("agents.centroid", agents.centroids.len(), rows)?;
    column("agents.extent", agents.extents.len(), rows)?;
    column("agents.yaw", agents.yaws.len(), rows)?;
    let current = bounds[moment.current + 1] - bounds[moment.current];
    column("agents.label_probabilities of the current frame", moment.labels.len(), current)
}

/// Returns the pairs of a flat array.
fn pairs(values: &[f32]) -> std::slice::Iter<'_, [f32; 2]> {
    values.as_chunks().0.iter()
}

/// Returns the pairs of a flat array, to be written.
fn pairs_mut(values: &mut [f32]) -> std::slice::IterMut<'_, [f32; 2]> {
    values.as_chunks_mut().0.iter_mut()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::batch::{SampleShape, Samples};
    use tetrys::ErrorKind;

    const SETTINGS: SampleSettings = SampleSettings {
        step_time: 0.5,
        filter_threshold: 0.5,
        raster_from_local: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    };
    const TURNED: Matrix3 = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    const BAD: [f32; 17] = [0.0; 17];

    fn good() -> [f32; 17] {
        let mut labels = BAD;
        labels[3] = 1.0;
        labels
    }

    /// Three frames with the rows (track 7), (track 7, track 7), and none. Row `r` lies at (10 r, 0) and is `r` metres long.
    fn with_window<T>(test: impl FnOnce(Frames<'_>) -> T) -> T {
        test(Frames {
            timestamps: &[100, 200, 300],
            translations: &[[0.0, 0.0, 9.0], [1.0, 0.0, 9.0], [3.0, 0.0, 9.0]],
            rotations: &[TURNED; 3],
            agent_bounds: &[0, 1, 3, 3],
            agents: Agents {
                centroids: &[[0.0, 0.0], [10.0, 0.0], [20.0, 0.0]],
                extents: &[[0.0, 2.0, 1.0], [1.0, 2.0, 1.0], [2.0, 2.0, 1.0]],
                yaws: &[0.0; 3],
                track_ids: &[7; 3],
                ..Agents::default()
            },
            ..Frames::default()
        })
    }

    fn sample(frames: Frames<'_>, current: usize, track_id: Option<u64>, labels: &[[f32; 17]]) -> Result<Samples> {
        let kind = if track_id.is_some() { Kind::Agent } else { Kind::Ego };
        let mut samples = Samples::new(SampleShape { history: 1, future: 2, kind }, 1)?;
        let moment = Moment { frames, current, labels, track_id, frame_index: current, scene_index: 0, host: "host-a1" };
        fill_sample(&SETTINGS, &moment, &mut samples.slots(), 0)?;
        Ok(samples)
    }

    #[test]
    fn the_first_row_of_a_track_wins_unless_it_is_no_agent() {
        with_window(|frames| {
            let first = sample(frames, 1, Some(7), &[good(), good()]).unwrap();
            assert_eq!((first.centroid[0], first.history_positions[0], first.agent_extent[0]), (10.0, 0.0, 1.0));
            let second = sample(frames, 1, Some(7), &[BAD, good()]).unwrap();
            assert_eq!((second.centroid[0], second.agent_extent[0]), (20.0, 2.0));
            assert_eq!(second.history_positions, [-10.0, 0.0, -20.0, 0.0], "the history has the first row, whatever its labels");
            assert_eq!(sample(frames, 1, Some(7), &[BAD, BAD]).unwrap_err().kind(), ErrorKind::NotFound);
            assert_eq!(sample(frames, 2, Some(7), &[]).unwrap_err().kind(), ErrorKind::NotFound);
        });
    }

    #[test]
    fn unavailable_steps_are_zero_and_velocities_take_them_for_positions() {
        with_window(|frames| {
            let found = sample(frames, 0, Some(7), &[good()]).unwrap();
            assert_eq!(found.target_availabilities, [1.0, 0.0], "frame 1 has the track, frame 2 has not");
            assert_eq!(found.history_availabilities, [1.0, 0.0]);
            assert_eq!(found.target_positions, [10.0, 0.0, 0.0, 0.0]);
            assert_eq!(found.target_velocities, [20.0, 0.0, -20.0, 0.0]);
            assert_eq!(found.future_extents, [1.0, 2.0, 0.0, 0.0]);
        });
    }

    #[test]
    fn the_ego_car_needs_no_agents_and_takes_its_pose_from_the_window() {
        with_window(|frames| {
            let frames = Frames { agent_bounds: &[], agents: Agents::default(), ..frames };
            let found = sample(frames, 1, None, &[]).unwrap();
            assert_eq!(found.target_positions, [2.0, 0.0, 0.0, 0.0]);
            assert_eq!((found.history_velocities[0], found.curr_speed[0]), (2.0, 2.0));
            assert_eq!((found.track_id[0], found.timestamp[0], found.ego_extent[0]), (-1, 200, 4.87));
            let moved = sample(Frames { translations: &[[0.0; 3], [1.0, 5.0, 0.0], [3.0, 0.0, 0.0]], ..frames }, 1, None, &[]);
            assert_eq!(moved.unwrap().target_positions[..2], [2.0, -5.0]);
        });
    }

    #[test]
    fn broken_windows_and_settings_are_errors() {
        with_window(|frames| {
            let kind = |frames, current, track_id, labels: &[_]| sample(frames, current, track_id, labels).unwrap_err().kind();
            assert_eq!(kind(frames, 3, None, &[]), ErrorKind::NotFound);
            assert_eq!(kind(frames, 0, Some(7), &[]), ErrorKind::Invalid, "labels are missing");
            assert_eq!(kind(Frames { agent_bounds: &[0, 1, 4, 3], ..frames }, 0, Some(7), &[good()]), ErrorKind::Invalid);
            assert_eq!(kind(Frames { agent_bounds: &[], ..frames }, 0, Some(7), &[good()]), ErrorKind::Invalid);
            assert_eq!(kind(Frames { rotations: &[], ..frames }, 0, None, &[]), ErrorKind::Invalid);
            let agents = Agents { yaws: &[], ..frames.agents };
            assert_eq!(kind(Frames { agents, ..frames }, 0, Some(7), &[good()]), ErrorKind::Invalid);
            let mut samples = Samples::new(SampleShape { history: 1, future: 2, kind: Kind::Ego }, 1).unwrap();
            let moment = Moment { frames, current: 0, labels: &[], track_id: None, frame_index: 0, scene_index: 0, host: "ö" };
            assert!(fill_sample(&SETTINGS, &moment, &mut samples.slots(), 0).is_err(), "a host that is not ASCII");
            let still = SampleSettings { step_time: 0.0, ..SETTINGS };
            assert!(fill_sample(&still, &Moment { host: "a", ..moment }, &mut samples.slots(), 0).is_err());
            assert!(fill_sample(&SETTINGS, &Moment { host: "a", ..moment }, &mut samples.slots(), 1).is_err());
        });
    }
}
