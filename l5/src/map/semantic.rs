//! Converts a map to the lanes and crosswalks that the semantic rasterizer draws.

use super::{Bounds, Interpolation, MapApi, Point, TlColor};
use crate::raster::semantic::LANE_POINTS;
use crate::raster::{FaceColor, LaneControl, SemanticCrosswalk, SemanticLane, SemanticMap};
use tetrys::{Error, Result};

impl From<TlColor> for FaceColor {
    fn from(color: TlColor) -> Self {
        match color {
            TlColor::Red => Self::Red,
            TlColor::Green => Self::Green,
            TlColor::Yellow => Self::Yellow,
        }
    }
}

impl MapApi {
    /// Returns the lanes and the crosswalks as the semantic rasterizer needs them, in the order of the map: each boundary of a lane as 20
    /// points, from start to end, and all that controls the lane.
    ///
    /// # Errors
    /// None for a map that [`parse`](Self::parse) returned.
    pub fn to_semantic_input(&self) -> Result<SemanticMap> {
        let mut lanes = Vec::with_capacity(self.lanes.ids.len());
        for (position, id) in self.lanes.ids.iter().enumerate() {
            let Some(lane) = self.lane_at(position) else { continue };
            let lines = lane.coords.interpolate(Interpolation::EnsureLen(LANE_POINTS)).map_err(|error| error.at(id))?;
            let color = |id: &str| self.find(id).and_then(|index| self.elements[index].face_color()).map(FaceColor::from);
            lanes.push(SemanticLane {
                left: flat(&lines.left)?,
                right: flat(&lines.right)?,
                bounds: self.lanes.bounds[position],
                controls: lane
                    .traffic_controls
                    .iter()
                    .map(|id| LaneControl { face_id: id.to_string(), color: color(id) })
                    .collect(),
            });
        }
        let crosswalk = |(position, bounds): (usize, &Bounds)| SemanticCrosswalk {
            points: self.crosswalk_at(position).unwrap_or_default().iter().map(|[x, y, _]| [*x, *y]).collect(),
            bounds: *bounds,
        };
        let crosswalks = self.crosswalks.bounds.iter().enumerate().map(crosswalk).collect();
        Ok(SemanticMap::new(lanes, crosswalks))
    }
}

/// Takes x and y of the points of a boundary.
fn flat(points: &[Point]) -> Result<[[f64; 2]; LANE_POINTS]> {
    let points: &[Point; LANE_POINTS] =
        points.try_into().map_err(|_| Error::internal(format!("expected {LANE_POINTS} points, found {}", points.len())))?;
    Ok(points.map(|[x, y, _]| [x, y]))
}
