//! The centre of a raster: the pose of the ego car, or of an agent, in the current frame.

use tetrys::{Error, Result};

use super::context::RenderContext;
use super::trig::sin_cos;
use crate::arrays::Frames;
use crate::geometry::{Matrix3, yaw_of_rotation};

/// Frames up to the current one, and the agent to draw around.
#[derive(Clone, Copy, Debug)]
pub struct RasterInput<'a> {
    /// The history in the order of time: the **last** frame is the current one. There is at least one frame.
    pub frames: Frames<'a>,
    /// The selected agent. Without one, the raster is drawn around the ego.
    pub agent: Option<SelectedAgent>,
}

/// The agent that a raster is drawn around: its row in the current frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SelectedAgent {
    /// Its place in the world, m.
    pub centroid: [f64; 2],
    /// Its yaw, rad.
    pub yaw: f32,
    /// Its id, unique within a scene.
    pub track_id: u64,
}

/// A pose in the world, as the rasterizers of L5Kit see it.
///
/// L5Kit keeps the yaw of an agent as `f32`, so its sine and cosine and its degrees are rounded to `f32`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pose {
    /// The place, m.
    pub(crate) position: [f64; 3],
    /// The sine of the yaw.
    pub(crate) sin: f64,
    /// The cosine of the yaw.
    pub(crate) cos: f64,
    /// The yaw, negated, in degrees.
    pub(crate) negated_degrees: f64,
}

impl Pose {
    /// Returns the pose of the ego in a frame, or of the agent with the height of the ego.
    pub(crate) fn of(frames: &Frames<'_>, frame: usize, agent: Option<SelectedAgent>) -> Result<Self> {
        let ([x, y, z], yaw) = ego(frames, frame)?;
        Ok(match agent {
            None => Self {
                position: [x, y, z],
                sin: yaw.sin(),
                cos: yaw.cos(),
                negated_degrees: -yaw * (180.0 / std::f64::consts::PI),
            },
            Some(SelectedAgent { centroid: [x, y], yaw, .. }) => {
                let (sin, cos) = sin_cos(yaw);
                let (sin, cos) = (f64::from(sin), f64::from(cos));
                let negated_degrees = f64::from(-yaw * (180.0 / std::f32::consts::PI));
                Self { position: [x, y, z], sin, cos, negated_degrees }
            }
        })
    }

    /// Returns the transform from the world to pixels around this pose.
    pub(crate) fn raster_from_world(&self, context: &RenderContext) -> Matrix3 {
        let [x, y, _] = self.position;
        context.raster_from_direction([x, y], self.sin, self.cos)
    }
}

impl RasterInput<'_> {
    /// Returns the number of the current frame: the last.
    ///
    /// # Errors
    /// `Invalid` if there is no frame, or if a column of the ego has another length.
    pub(crate) fn current(&self) -> Result<usize> {
        let (count, frames) = (self.frames.len(), &self.frames);
        if frames.translations.len() != count || frames.rotations.len() != count {
            return Err(Error::invalid(format!(
                "the history of a raster has {count} timestamps, {} ego translations and {} ego rotations: expected as many of each",
                frames.translations.len(),
                frames.rotations.len()
            )));
        }
        count
            .checked_sub(1)
            .ok_or_else(|| Error::invalid("the history of a raster has no frame: expected the current one at least"))
    }
}

/// Returns place and yaw of the ego in a frame.
pub(crate) fn ego(frames: &Frames<'_>, frame: usize) -> Result<([f64; 3], f64)> {
    match (frames.translations.get(frame), frames.rotations.get(frame)) {
        (Some(place), Some(rotation)) => Ok((*place, yaw_of_rotation(rotation))),
        _ => Err(Error::invalid(format!("frame {frame} has no ego pose: the history has {} frames", frames.len()))),
    }
}
