//! Samples of `EgoDatasetVectorized` and `EgoAgentDatasetVectorized`: the agents and the lanes around the ego as arrays of numbers.
//!
//! [`Vectorizer::sample`] fills one sample from a window of frames. It is a pure function, so several threads can fill one [`Batch`]. The
//! values are those of L5Kit, including the order of the other agents, which comes from a Python `set` ([`SetOrder`]).
//!
//! Intended differences: a map is not changed by reading it (see [`crate::map`]), and the number of other agents belongs to the settings
//! and is not decremented by each dataset that is built.

mod agents;
mod choice;
mod columns;
mod lanes;
mod set_order;

pub use choice::Scratch;
pub use columns::{Batch, Column, Dims, Slot, Values};
pub use set_order::SetOrder;

use crate::arrays::Frames;
use crate::map::MapApi;
use lanes::LaneTable;
use std::sync::Arc;
use tetrys::{Error, Result};

/// The number of track ids that `all_valid_agents_track_ids` has room for.
pub const VALID_TRACK_IDS: usize = 50;

/// The order of the other agents of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AgentOrder {
    /// L5Kit's order: that of a Python `set` of the track ids.
    #[default]
    PythonSet,
    /// Agents of the current frame first, the nearest first; then those that were seen before.
    Distance,
}

/// The settings of vectorized samples: lengths of the arrays, thresholds and order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Frames before the current one, for the ego or the selected agent.
    pub history_num_frames_ego: usize,
    /// Frames before the current one, for other agents.
    pub history_num_frames_agents: usize,
    /// Frames after the current one: at least 1.
    pub future_num_frames: usize,
    /// Time between two frames, s.
    pub step_time: f64,
    /// A selected agent has a greater probability of being an agent at all. (For other agents, L5Kit always takes 0.5.)
    pub filter_agents_threshold: f64,
    /// Rows for other agents, without the ego's row.
    pub other_agents_num: usize,
    /// Other agents are nearer than this, m.
    pub max_agents_distance: f64,
    /// Lanes and crosswalks.
    pub lanes: LaneSettings,
    /// The order of the other agents.
    pub order: AgentOrder,
    /// Whether the ego is the first row of the other agents, as in `EgoAgentDatasetVectorized`.
    pub ego_as_agent: bool,
}

/// The settings of lanes and crosswalks in a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaneSettings {
    /// Lanes.
    pub max_num_lanes: usize,
    /// Points per lane: at least 2.
    pub max_points_per_lane: usize,
    /// Points per crosswalk. Further points are left out.
    pub max_points_per_crosswalk: usize,
    /// Half of the side of the square around the agent from which lanes and crosswalks are taken, m.
    pub max_retrieval_distance_m: f64,
    /// Crosswalks.
    pub max_num_crosswalks: usize,
}

impl Settings {
    /// Returns the number of history frames of a window, without the current one.
    pub fn history_num_frames(&self) -> usize {
        self.history_num_frames_ego.max(self.history_num_frames_agents)
    }

    /// Returns the lengths of the dimensions of a sample.
    pub fn dims(&self) -> Dims {
        Dims {
            history: self.history_num_frames().saturating_add(1),
            future: self.future_num_frames,
            agents: self.other_agents_num.saturating_add(usize::from(self.ego_as_agent)),
            lanes: self.lanes.max_num_lanes,
            lane_sides: self.lanes.max_num_lanes.saturating_mul(2),
            lane_points: self.lanes.max_points_per_lane,
            crosswalks: self.lanes.max_num_crosswalks,
            crosswalk_points: self.lanes.max_points_per_crosswalk,
            valid: if self.ego_as_agent { VALID_TRACK_IDS } else { 0 },
        }
    }
}

/// Makes samples for one map and one set of settings.
#[derive(Clone, Debug)]
pub struct Vectorizer {
    settings: Settings,
    lanes: LaneTable,
}

/// The frame and the agent that a sample is computed for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request<'a> {
    /// The index of the current frame in the window.
    pub current: usize,
    /// The track id of the agent in the centre. None: the ego.
    pub selected: Option<u64>,
    /// The track ids of the agents to evaluate, for `all_valid_agents_track_ids`. Empty without an evaluation.
    pub valid_track_ids: &'a [u64],
}

impl Vectorizer {
    /// Creates a vectorizer. All lanes of the map are interpolated here, once.
    ///
    /// # Errors
    /// `Invalid` if there is no future frame, if the step time is not greater than 2.3e-16 s, or if a lane has fewer than 2 points.
    pub fn new(settings: Settings, map: Arc<MapApi>) -> Result<Self> {
        if settings.future_num_frames == 0 {
            return Err(Error::invalid("future_num_frames: a vectorized sample needs at least 1, found 0"));
        }
        if settings.step_time.is_nan() || settings.step_time <= f64::EPSILON {
            return Err(Error::invalid(format!("step_time: expected more than 2.3e-16 s, found {} s", settings.step_time)));
        }
        Ok(Self { settings, lanes: LaneTable::new(map, settings.lanes)? })
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Creates a batch of zeros for `len` samples.
    ///
    /// # Errors
    /// `Invalid` if a column would have more than 2^34 values.
    pub fn batch(&self, len: usize) -> Result<Batch> {
        Batch::new(self.settings.dims(), len)
    }

    /// Fills one sample.
    ///
    /// `frames` is a window of one scene, in the order of time: the history, the current frame and the future, as far as the scene has
    /// them. Frames outside the window count as missing; the window may be longer than needed. The columns `centroids`, `extents`,
    /// `yaws` and `track_ids` of the agents are needed, `label_probabilities` up to the current frame, and `face_ids` and `statuses` of
    /// the faces. For a perturbed sample, the caller changes the ego's translations and rotations first.
    ///
    /// # Errors
    /// `Invalid` if the columns do not fit together, if the batch was made for other settings, if the selected agent is not in the
    /// current frame or below the threshold, if there are more than 50 valid track ids, or if an active face has no colour in the map.
    /// `NotFound` if an element that controls a lane is not in the map.
    pub fn sample(&self, frames: &Frames<'_>, request: Request<'_>, scratch: &mut Scratch, slot: &mut Slot<'_>) -> Result<()> {
        check(frames, request.current)?;
        if slot.dims != self.settings.dims() {
            return Err(Error::invalid(format!("batch of {:?}: the settings need {:?}", slot.dims, self.settings.dims())));
        }
        slot.clear();
        let pose = agents::Pose::new(frames, &request, self.settings.filter_agents_threshold)?;
        agents::write(&self.settings, frames, &request, &pose, scratch, slot)?;
        self.lanes.write(frames.faces_of(request.current), pose.centroid, &pose.agent_from_world, slot)
    }
}

/// Checks that the columns of a window fit together.
fn check(frames: &Frames<'_>, current: usize) -> Result<()> {
    let fail = |message: String| Err(Error::invalid(format!("window of {} frames: {message}", frames.len())));
    if current >= frames.len() {
        return fail(format!("the current frame is {current}"));
    }
    if frames.translations.len() != frames.len() || frames.rotations.len() != frames.len() {
        return fail(format!("found {} translations and {} rotations", frames.translations.len(), frames.rotations.len()));
    }
    let agents = &frames.agents;
    let columns = [agents.centroids.len(), agents.extents.len(), agents.yaws.len(), agents.track_ids.len()];
    check_bounds("agents", frames, frames.agent_bounds, &columns)?;
    // Labels of later frames are not read.
    let (labels, needed) = (agents.label_probabilities.len(), frames.agent_bounds.get(current + 1).copied().unwrap_or(0));
    if labels < needed {
        return fail(format!("expected the labels of the {needed} agents up to the current frame, found {labels}"));
    }
    check_bounds("faces", frames, frames.face_bounds, &[frames.faces.face_ids.len(), frames.faces.statuses.len()])
}

/// Checks the rows of agents or faces: ascending bounds, and all columns long enough.
fn check_bounds(what: &str, frames: &Frames<'_>, bounds: &[usize], columns: &[usize]) -> Result<()> {
    let Some(last) = bounds.last() else { return Ok(()) };
    let fail = |message: String| Err(Error::invalid(format!("{what} of {} frames: {message}", frames.len())));
    if bounds.len() != frames.len() + 1 {
        return fail(format!("expected {} bounds, found {}", frames.len() + 1, bounds.len()));
    }
    if !bounds.is_sorted() {
        return fail("the bounds are not in ascending order".into());
    }
    match columns.iter().find(|rows| *rows < last) {
        Some(rows) => fail(format!("expected {last} rows in each column that is needed, found {rows}")),
        None => Ok(()),
    }
}
