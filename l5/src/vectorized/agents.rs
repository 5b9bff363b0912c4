//! The agents of a sample: the pose in the centre, its past and future, and those of the other agents.

use super::choice::{argmax, frame_rows};
use super::{Request, Scratch, Settings, Slot};
use crate::arrays::Frames;
use crate::filter::keeps_labels;
use crate::geometry::{Matrix3, agent_from_world, angular_distance_f32, transform_point, world_from_agent, yaw_of_rotation};
use std::f32::consts::{PI, TAU};
use tetrys::{Error, Result};

/// Length, width and height of the ego, m.
const EGO_EXTENT: [f64; 3] = [4.87, 1.85, 1.8];
/// The index of `PERCEPTION_LABEL_CAR`.
const CAR: i64 = 3;
/// With an ego row, an agent's future counts only after more history steps than this, the current one included.
const MIN_HISTORY: usize = 10;
/// With an ego row, an agent's future counts only if it has more steps than this.
const MIN_FUTURE: usize = 1;

/// The agent in the centre of a sample.
pub(super) struct Pose {
    pub(super) centroid: [f64; 2],
    yaw: f64,
    extent: [f64; 3],
    kind: i64,
    pub(super) agent_from_world: Matrix3,
}

impl Pose {
    /// Finds the ego or the selected agent in the current frame.
    pub(super) fn new(frames: &Frames<'_>, request: &Request<'_>, threshold: f64) -> Result<Self> {
        let (centroid, yaw, extent, kind) = match request.selected {
            None => {
                let [x, y, _] = frames.translations[request.current];
                ([x, y], yaw_of_rotation(&frames.rotations[request.current]), EGO_EXTENT, CAR)
            }
            Some(id) => {
                let agents = &frames.agents;
                let mut rows = frame_rows(frames, request.current);
                let fits =
                    |row: &usize| agents.track_ids[*row] == id && keeps_labels(&agents.label_probabilities[*row], threshold);
                let row = rows
                    .find(fits)
                    .ok_or_else(|| Error::invalid(format!("track_id {id} not in frame or below threshold {threshold}")))?;
                let kind = argmax(&agents.label_probabilities[row]);
                (agents.centroids[row], f64::from(agents.yaws[row]), agents.extents[row].map(f64::from), kind)
            }
        };
        Ok(Self { centroid, yaw, extent, kind, agent_from_world: agent_from_world(centroid, yaw) })
    }
}

/// Transforms steps of an agent into the frame of the sample. A missing step is a product with 0, as in L5Kit, so it may be -0.
struct Relative {
    transform: Matrix3,
    yaw: f32,
    missing: ([f32; 2], f32),
}

impl Relative {
    fn new(pose: &Pose) -> Self {
        let yaw = pose.yaw as f32;
        let origin = transform_point(&pose.agent_from_world, [0.0; 2]).map(|value| (value * 0.0) as f32);
        Self { transform: pose.agent_from_world, yaw, missing: (origin, angular_distance_f32(0.0, yaw) * 0.0) }
    }

    #[inline]
    fn position(&self, position: [f64; 2]) -> [f32; 2] {
        transform_point(&self.transform, position).map(|value| value as f32)
    }

    /// The remainder of L5Kit's formula is the dividend itself for most yaws, so the slow division is left out there.
    #[inline]
    fn yaw(&self, yaw: f32) -> f32 {
        let turned = yaw - self.yaw + PI;
        if (0.0..TAU).contains(&turned) { turned - PI } else { angular_distance_f32(yaw, self.yaw) }
    }
}

/// The past or the future of one agent or of several, one after the other.
struct Steps<'a> {
    positions: &'a mut [f32],
    yaws: &'a mut [f32],
    extents: &'a mut [f32],
    available: &'a mut [bool],
}

impl Steps<'_> {
    /// Marks all steps as missing.
    fn miss(&mut self, relative: &Relative) {
        let (position, yaw) = relative.missing;
        self.positions.as_chunks_mut::<2>().0.fill(position);
        self.yaws.fill(yaw);
    }

    #[inline]
    fn set(&mut self, step: usize, position: [f32; 2], yaw: f32, extent: [f32; 2]) {
        self.positions[2 * step..][..2].copy_from_slice(&position);
        self.yaws[step] = yaw;
        self.extents[2 * step..][..2].copy_from_slice(&extent);
        self.available[step] = true;
    }

    /// Writes the steps of the ego or of the selected agent: step `i` is the `i`-th frame.
    fn write(&mut self, frames: &Frames<'_>, selected: Option<u64>, steps: impl Iterator<Item = usize>, relative: &Relative) {
        self.miss(relative);
        for (step, frame) in steps.enumerate() {
            match selected {
                None => {
                    let [x, y, _] = frames.translations[frame];
                    let yaw = yaw_of_rotation(&frames.rotations[frame]) as f32;
                    self.set(step, relative.position([x, y]), relative.yaw(yaw), [EGO_EXTENT[0] as f32, EGO_EXTENT[1] as f32]);
                }
                Some(id) => {
                    let agents = &frames.agents;
                    if let Some(row) = frame_rows(frames, frame).find(|row| agents.track_ids[*row] == id) {
                        let [length, width, _] = agents.extents[row];
                        let position = relative.position(agents.centroids[row]);
                        self.set(step, position, relative.yaw(agents.yaws[row]), [length, width]);
                    }
                }
            }
        }
    }

    /// Writes the steps of the other agents. Each agent has `len` steps. The first row of a track id in a frame counts.
    fn write_others(
        &mut self,
        frames: &Frames<'_>,
        scratch: &Scratch,
        len: usize,
        steps: impl Iterator<Item = usize>,
        relative: &Relative,
    ) {
        let chosen = scratch.chosen.len() * len;
        self.positions[..2 * chosen].as_chunks_mut::<2>().0.fill(relative.missing.0);
        self.yaws[..chosen].fill(relative.missing.1);
        let agents = &frames.agents;
        for (step, frame) in steps.enumerate() {
            let rows = frame_rows(frames, frame);
            for (row, id) in rows.clone().zip(&agents.track_ids[rows]) {
                let Some(agent) = scratch.find(*id) else { continue };
                let step = agent * len + step;
                if !self.available[step] {
                    let [length, width, _] = agents.extents[row];
                    let position = relative.position(agents.centroids[row]);
                    self.set(step, position, relative.yaw(agents.yaws[row]), [length, width]);
                }
            }
        }
    }
}

/// Writes all columns of a sample except those of the map.
pub(super) fn write(
    settings: &Settings,
    frames: &Frames<'_>,
    request: &Request<'_>,
    pose: &Pose,
    scratch: &mut Scratch,
    slot: &mut Slot<'_>,
) -> Result<()> {
    let relative = Relative::new(pose);
    let current = request.current;
    // The current frame and a number of frames before it, in the order of time.
    let past = |frames: usize| current.saturating_sub(frames)..current + 1;
    let future = current + 1..frames.len().min(current.saturating_add(1).saturating_add(settings.future_num_frames));
    slot.extent.copy_from_slice(&pose.extent);
    slot.r#type.fill(pose.kind);
    slot.centroid.copy_from_slice(&pose.centroid);
    slot.yaw.fill(pose.yaw);
    slot.agent_from_world.copy_from_slice(pose.agent_from_world.as_flattened());
    slot.world_from_agent.copy_from_slice(world_from_agent(pose.centroid, pose.yaw).as_flattened());
    slot.timestamp.fill(frames.timestamps[current]);
    slot.track_id.fill(request.selected.map_or(-1, |id| id as i64));
    write_valid(request.valid_track_ids, slot)?;

    main_future(slot).write(frames, request.selected, future.clone(), &relative);
    main_history(slot).write(frames, request.selected, past(settings.history_num_frames_ego).rev(), &relative);
    slot.speed.fill(speed(slot.target_positions, settings.step_time));

    let first = usize::from(settings.ego_as_agent);
    let history = past(settings.history_num_frames());
    scratch.choose(settings, frames, history, request.selected, pose.centroid, &mut slot.all_other_agents_types[first..]);
    for (row, id) in slot.all_other_agents_track_ids[first..].iter_mut().zip(&scratch.chosen) {
        *row = *id as i64;
    }
    let dims = slot.dims;
    let steps = past(settings.history_num_frames_agents).rev();
    others_history(slot, first).write_others(frames, scratch, dims.history, steps, &relative);
    others_future(slot, first).write_others(frames, scratch, dims.future, future, &relative);
    if settings.ego_as_agent {
        write_ego_row(slot);
    }
    write_polylines(slot);
    Ok(())
}

fn main_future<'a>(slot: &'a mut Slot<'_>) -> Steps<'a> {
    Steps {
        positions: slot.target_positions,
        yaws: slot.target_yaws,
        extents: slot.target_extents,
        available: slot.target_availabilities,
    }
}

fn main_history<'a>(slot: &'a mut Slot<'_>) -> Steps<'a> {
    Steps {
        positions: slot.history_positions,
        yaws: slot.history_yaws,
        extents: slot.history_extents,
        available: slot.history_availabilities,
    }
}

fn others_history<'a>(slot: &'a mut Slot<'_>, first: usize) -> Steps<'a> {
    let skip = first * slot.dims.history;
    Steps {
        positions: &mut slot.all_other_agents_history_positions[2 * skip..],
        yaws: &mut slot.all_other_agents_history_yaws[skip..],
        extents: &mut slot.all_other_agents_history_extents[2 * skip..],
        available: &mut slot.all_other_agents_history_availability[skip..],
    }
}

fn others_future<'a>(slot: &'a mut Slot<'_>, first: usize) -> Steps<'a> {
    let skip = first * slot.dims.future;
    Steps {
        positions: &mut slot.all_other_agents_future_positions[2 * skip..],
        yaws: &mut slot.all_other_agents_future_yaws[skip..],
        extents: &mut slot.all_other_agents_future_extents[2 * skip..],
        available: &mut slot.all_other_agents_future_availability[skip..],
    }
}

/// Writes the track ids to evaluate.
fn write_valid(ids: &[u64], slot: &mut Slot<'_>) -> Result<()> {
    let room = slot.all_valid_agents_track_ids.len();
    if ids.len() > room {
        return Err(Error::invalid(format!(
            "all_valid_agents_track_ids: expected at most {room} track ids, found {}",
            ids.len()
        )));
    }
    for (row, id) in slot.all_valid_agents_track_ids.iter_mut().zip(ids) {
        *row = *id as f64;
    }
    Ok(())
}

/// The speed towards the first position, m/s, in `f32`.
fn speed(positions: &[f32], step_time: f64) -> f32 {
    let [x, y] = [0, 1].map(|axis| positions[axis] / step_time as f32);
    (x * x + y * y).sqrt()
}

/// Copies the ego to the first row of the other agents, and takes the future from agents that were not seen long enough.
fn write_ego_row(slot: &mut Slot<'_>) {
    let (history, future) = (slot.dims.history, slot.dims.future);
    slot.all_other_agents_history_positions[..2 * history].copy_from_slice(slot.history_positions);
    slot.all_other_agents_history_yaws[..history].copy_from_slice(slot.history_yaws);
    slot.all_other_agents_history_extents[..2 * history].copy_from_slice(slot.history_extents);
    slot.all_other_agents_history_availability[..history].copy_from_slice(slot.history_availabilities);
    slot.all_other_agents_future_positions[..2 * future].copy_from_slice(slot.target_positions);
    slot.all_other_agents_future_yaws[..future].copy_from_slice(slot.target_yaws);
    slot.all_other_agents_future_extents[..2 * future].copy_from_slice(slot.target_extents);
    slot.all_other_agents_future_availability[..future].copy_from_slice(slot.target_availabilities);
    slot.all_other_agents_types[0] = CAR;
    slot.all_other_agents_track_ids[0] = slot.track_id[0];
    let steps = |available: &[bool]| available.iter().filter(|available| **available).count();
    let past = slot.all_other_agents_history_availability.chunks_exact(history);
    for (past, future) in past.zip(slot.all_other_agents_future_availability.chunks_exact_mut(future)) {
        if steps(past) <= MIN_HISTORY || steps(future) <= MIN_FUTURE {
            future.fill(false);
        }
    }
}

/// Joins positions and yaws of the past to polylines.
fn write_polylines(slot: &mut Slot<'_>) {
    join(slot.agent_trajectory_polyline, slot.history_positions, slot.history_yaws);
    slot.agent_polyline_availability.copy_from_slice(slot.history_availabilities);
    join(slot.other_agents_polyline, slot.all_other_agents_history_positions, slot.all_other_agents_history_yaws);
    slot.other_agents_polyline_availability.copy_from_slice(slot.all_other_agents_history_availability);
}

fn join(polyline: &mut [f32], positions: &[f32], yaws: &[f32]) {
    let points = polyline.as_chunks_mut::<3>().0.iter_mut();
    for ((point, [x, y]), yaw) in points.zip(positions.as_chunks::<2>().0).zip(yaws) {
        *point = [*x, *y, *yaw];
    }
}
