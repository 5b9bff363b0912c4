//! The columns and frames to read around a position.

use std::ops::Range;

/// The columns and frames to read around each position. The current frame is the one at the position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Frames before the position whose ego pose is read.
    pub history: usize,
    /// Frames after the position whose ego pose is read.
    pub future: usize,
    /// Whether agents are read, and of how many frames after the position: track, centroid, extent and yaw.
    pub agents: Option<usize>,
    /// Whether the label probabilities of the agents up to the position are read.
    pub labels: bool,
    /// Whether the traffic light faces of the position are read.
    pub faces: bool,
}

impl Wanted {
    /// Returns the agents and labels of a whole scene, which is the window up to its last frame. `frames` is not empty.
    pub(crate) fn scene(frames: &Range<u64>) -> Self {
        Self { history: (frames.end - frames.start - 1) as usize, agents: Some(0), labels: true, ..Default::default() }
    }
}
