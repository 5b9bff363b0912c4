//! What is read around a position.

/// What is read around each position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Frames before the position whose ego pose is read.
    pub history: usize,
    /// Frames behind the position whose ego pose is read.
    pub future: usize,
    /// Whether agents are read, and of how many frames behind the position: track, centroid, extent and yaw.
    pub agents: Option<usize>,
    /// Whether the label probabilities of the agents up to the position are read.
    pub labels: bool,
    /// Whether the traffic light faces of the position are read.
    pub faces: bool,
}
