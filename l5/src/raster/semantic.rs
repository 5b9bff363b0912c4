//! The semantic rasterizer: lanes and crosswalks of the map in colour, with lanes coloured by their active traffic lights
//! (`semantic_debug`).
//!
//! On white, each lane is filled with dark blue; then the borders of all lanes are drawn, then the crosswalks. A border is yellow-brown
//! without an active light, else it has the colour of the light.

use tetrys::{Error, Result};

use super::context::{RenderContext, invert};
use super::draw::{Canvas, Edges, Point, draw_polyline, fill_polygons};
use super::pixels::{check_len, fixed, write_planes};
use super::pose::{Pose, RasterInput};
use crate::arrays::Faces;
use crate::geometry::transform_point;

/// The number of points of each border of a lane.
pub const LANE_POINTS: usize = 20;

const ROAD: [u8; 3] = [17, 17, 31];
const CROSSWALK: [u8; 3] = [255, 117, 69];

/// Lower and upper corner of the rectangle around an element, m: `[[x_min, y_min], [x_max, y_max]]`.
pub type Bounds = [[f64; 2]; 2];

/// The colour of a traffic light face.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaceColor {
    /// Stop.
    Red,
    /// Go.
    Green,
    /// Caution.
    Yellow,
}

/// A traffic control of a lane. Only those with an active face of this id colour the lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneControl {
    /// The id of the element, as `traffic_light_faces.face_id` has it.
    pub face_id: String,
    /// The colour, or nothing if the element is no face of a traffic light, or is not in the map.
    pub color: Option<FaceColor>,
}

/// A lane of the map.
#[derive(Clone, Debug, PartialEq)]
pub struct SemanticLane {
    /// The left border, from start to end: the lane's points, interpolated to [`LANE_POINTS`], m.
    pub left: [[f64; 2]; LANE_POINTS],
    /// The right border, from start to end.
    pub right: [[f64; 2]; LANE_POINTS],
    /// The rectangle around all points of the lane as the map has them.
    pub bounds: Bounds,
    /// The traffic control elements of the lane, in the order of the map.
    pub controls: Vec<LaneControl>,
}

/// A crosswalk of the map.
#[derive(Clone, Debug, PartialEq)]
pub struct SemanticCrosswalk {
    /// The points around it, m.
    pub points: Vec<[f64; 2]>,
    /// The rectangle around the points.
    pub bounds: Bounds,
}

/// The lanes and crosswalks of a map, as the semantic rasterizer draws them. All coordinates are in the world frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SemanticMap {
    lanes: Vec<SemanticLane>,
    lane_bounds: Vec<Bounds>,
    crosswalks: Vec<SemanticCrosswalk>,
}

impl SemanticMap {
    /// Collects lanes and crosswalks, each in the order of the map: later ones are drawn over earlier ones.
    pub fn new(lanes: Vec<SemanticLane>, crosswalks: Vec<SemanticCrosswalk>) -> Self {
        // The bounds lie apart, because each raster walks over all of them.
        let lane_bounds = lanes.iter().map(|lane| lane.bounds).collect();
        Self { lanes, lane_bounds, crosswalks }
    }

    /// Returns the lanes.
    pub fn lanes(&self) -> &[SemanticLane] {
        &self.lanes
    }

    /// Returns the crosswalks.
    pub fn crosswalks(&self) -> &[SemanticCrosswalk] {
        &self.crosswalks
    }
}

/// The memory that [`rasterize_semantic`] works in. One per thread, kept between samples.
#[derive(Clone, Debug, Default)]
pub struct SemanticScratch {
    pixels: Vec<[u8; 3]>,
    lanes: Vec<VisibleLane>,
    points: Vec<Point>,
    edges: Edges,
}

/// A lane in the raster: the left border, then the right one from end to start.
#[derive(Clone, Debug)]
struct VisibleLane {
    outline: [Point; 2 * LANE_POINTS],
    light: Option<FaceColor>,
}

/// Draws a map around the current frame to `out`: three planes (red, green, blue) of height x width values in 0..=1.
///
/// The faces of the current frame decide the colours. If a lane has several active faces, the last of its controls counts. (In L5Kit the
/// order is that of a Python set, which differs from process to process.)
///
/// # Errors
/// `Invalid` if there is no frame, if the faces lack ids or statuses, if `out` has another length, or if an active face has no colour
/// in the map, where L5Kit raises an error, too.
pub fn rasterize_semantic(
    context: &RenderContext,
    map: &SemanticMap,
    input: &RasterInput<'_>,
    scratch: &mut SemanticScratch,
    out: &mut [f32],
) -> Result<()> {
    check_len(out, 3 * context.pixels())?;
    let current = input.current()?;
    let faces = faces_of(input, current)?;
    let raster_from_world = Pose::of(&input.frames, current, input.agent)?.raster_from_world(context);
    let area = Area::around(transform_point(&invert(&raster_from_world), context.middle()), context);
    let to_raster = |point: &[f64; 2]| transform_point(&raster_from_world, *point).map(fixed);

    let SemanticScratch { pixels, lanes, points, edges } = scratch;
    pixels.clear();
    pixels.resize(context.pixels(), [255; 3]);
    let mut canvas = Canvas::new(pixels, context.raster_size()[0]);

    lanes.clear();
    for (lane, _) in map.lanes.iter().zip(&map.lane_bounds).filter(|(_, bounds)| area.meets(bounds)) {
        let mut outline = [[0; 2]; 2 * LANE_POINTS];
        for (corner, point) in outline.iter_mut().zip(lane.left.iter().chain(lane.right.iter().rev())) {
            *corner = to_raster(point);
        }
        fill_polygons(&mut canvas, [outline.as_slice()], ROAD, edges);
        lanes.push(VisibleLane { outline, light: light_of(lane, &faces)? });
    }
    draw_borders(&mut canvas, lanes);
    for crosswalk in map.crosswalks.iter().filter(|crosswalk| area.meets(&crosswalk.bounds)) {
        points.clear();
        points.extend(crosswalk.points.iter().map(to_raster));
        draw_polyline(&mut canvas, points, true, CROSSWALK);
    }
    write_planes(pixels, out);
    Ok(())
}

/// Draws the borders of lanes: one light after the other, in the order in which the lanes show them first.
fn draw_borders(canvas: &mut Canvas<'_, 3>, lanes: &[VisibleLane]) {
    let mut drawn: [Option<Option<FaceColor>>; 4] = [None; 4];
    for place in 0..drawn.len() {
        let Some(first) = lanes.iter().find(|lane| !drawn.contains(&Some(lane.light))) else { return };
        drawn[place] = Some(first.light);
        for lane in lanes.iter().filter(|lane| lane.light == first.light) {
            for border in lane.outline.chunks_exact(LANE_POINTS) {
                draw_polyline(canvas, border, false, border_color(lane.light));
            }
        }
    }
}

/// Returns the colour of the borders of a lane with this light.
fn border_color(light: Option<FaceColor>) -> [u8; 3] {
    match light {
        None => [255, 217, 82],
        Some(FaceColor::Red) => [255, 0, 0],
        Some(FaceColor::Green) => [0, 255, 0],
        Some(FaceColor::Yellow) => [255, 255, 0],
    }
}

/// Returns the colour of the last control of a lane that is active.
fn light_of(lane: &SemanticLane, faces: &Faces<'_>) -> Result<Option<FaceColor>> {
    let active = |control: &&LaneControl| {
        faces.face_ids.iter().zip(faces.statuses).any(|(id, [active, ..])| *active > 0.0 && *id == control.face_id)
    };
    let mut light = None;
    for control in lane.controls.iter().filter(active) {
        light = Some(control.color.ok_or_else(|| {
            let id = &control.face_id;
            Error::invalid(format!("traffic light face {id:?} is active and controls a lane, but has no colour in the map"))
        })?);
    }
    Ok(light)
}

/// Returns the faces of the current frame, after a check that ids and statuses fit to each other.
fn faces_of<'a>(input: &RasterInput<'a>, current: usize) -> Result<Faces<'a>> {
    let (faces, bounds) = (input.frames.faces, input.frames.face_bounds);
    if bounds.is_empty() {
        return Ok(Faces::default());
    }
    if faces.face_ids.len() != faces.statuses.len() {
        return Err(Error::invalid(format!(
            "traffic light faces have {} ids and {} statuses: expected as many of each",
            faces.face_ids.len(),
            faces.statuses.len()
        )));
    }
    match bounds.get(current..current + 2) {
        Some([from, to]) if from <= to && *to <= faces.face_ids.len() => Ok(faces.slice(*from..*to)),
        bounds => Err(Error::invalid(format!(
            "traffic light faces of frame {current} of the history: bounds {bounds:?}, expected two ascending ones within {} rows",
            faces.face_ids.len()
        ))),
    }
}

/// The square around the middle of a raster from which L5Kit takes elements of the map.
struct Area {
    middle: [f64; 2],
    reach: f64,
}

impl Area {
    fn around(middle: [f64; 2], context: &RenderContext) -> Self {
        let [width, height] = context.raster_size().map(|side| side as f64 * context.pixel_size());
        Self { middle, reach: (width * width + height * height).sqrt() / 2.0 }
    }

    /// Whether the rectangle around an element meets the square.
    fn meets(&self, [low, high]: &Bounds) -> bool {
        let [x, y] = self.middle;
        x > low[0] - self.reach && y > low[1] - self.reach && x < high[0] + self.reach && y < high[1] + self.reach
    }
}
