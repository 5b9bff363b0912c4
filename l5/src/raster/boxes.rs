//! The box rasterizer: agents and the ego as filled boxes, one channel per frame (`box_debug`).
//!
//! Channels `0..=H` show the other agents, channels `H + 1..=2 H + 1` the ego or the selected agent; within each half the newest frame
//! comes first. All boxes of one channel are one polygon with the even-odd rule, as in L5Kit: overlapping boxes cut holes in each other.

use tetrys::{Error, Result};

use super::context::RenderContext;
use super::draw::{Canvas, Edges, Point, SHIFT, fill_polygons};
use super::pixels::{FRACTION_OF_255, check_len, fixed};
use super::pose::{Pose, RasterInput, ego};
use super::trig::sin_cos;
use crate::arrays::{Agents, Frames};
use crate::filter::keeps_labels;
use crate::geometry::{Matrix3, transform_point};

/// Length and width of the ego, m, rounded to `f32` as the columns of agents are.
const EGO_EXTENT: [f32; 2] = [4.87, 1.85];

/// Pixels around the corners of a box that its lines may touch.
const MARGIN: i32 = 3;

/// Draws agents and the ego as boxes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoxRasterizer {
    /// The frame of the raster.
    pub context: RenderContext,
    /// An agent is drawn if its label probabilities are above this (`filter_agents_threshold`).
    pub threshold: f64,
    /// The number of frames before the current one (`history_num_frames`).
    pub history: usize,
    /// Whether the ego (or the selected agent) is drawn in all frames, or in the current one only.
    pub render_ego_history: bool,
}

/// The memory that a [`BoxRasterizer`] works in. One per thread, kept between samples.
#[derive(Clone, Debug, Default)]
pub struct BoxScratch {
    /// One channel. It is zero between calls.
    plane: Vec<[u8; 1]>,
    others: Vec<[Point; 4]>,
    own: Vec<[Point; 4]>,
    edges: Edges,
}

impl BoxRasterizer {
    /// Returns the number of channels: two per frame.
    pub fn num_channels(&self) -> usize {
        2 * (self.history + 1)
    }

    /// Draws one sample to `out`: [`num_channels`](Self::num_channels) planes of height x width values in 0..=1.
    ///
    /// The history may be shorter than asked for: the channels of missing frames are 0. Frames that are older than asked for are left
    /// out.
    ///
    /// # Errors
    /// `Invalid` if there is no frame, if a needed column is missing (centroid, extent, yaw, label probabilities; track id with a
    /// selected agent), if bounds and columns do not fit together, or if `out` has another length.
    pub fn rasterize(&self, input: &RasterInput<'_>, scratch: &mut BoxScratch, out: &mut [f32]) -> Result<()> {
        out.fill(0.0);
        self.rasterize_over_zeros(input, scratch, out)
    }

    /// Does what [`Self::rasterize`] does, where all values of `out` are 0 before: only the boxes are written.
    ///
    /// Most values of a channel are 0, and a batch is larger than the caches of a processor. Memory that is zeroed at once, for a whole
    /// batch, is written once.
    ///
    /// # Errors
    /// Those of [`Self::rasterize`].
    pub fn rasterize_over_zeros(&self, input: &RasterInput<'_>, scratch: &mut BoxScratch, out: &mut [f32]) -> Result<()> {
        let current = input.current()?;
        check_len(out, self.num_channels() * self.context.pixels())?;
        let raster_from_world = Pose::of(&input.frames, current, input.agent)?.raster_from_world(&self.context);
        let view = View::new(&self.context, raster_from_world);
        let (others, own) = out.split_at_mut(out.len() / 2);
        let planes = others.chunks_exact_mut(self.context.pixels()).zip(own.chunks_exact_mut(self.context.pixels()));
        for (age, (others, own)) in planes.enumerate() {
            scratch.others.clear();
            scratch.own.clear();
            if let Some(frame) = current.checked_sub(age) {
                self.add_boxes(&view, input, frame, scratch)?;
            }
            if age > 0 && !self.render_ego_history {
                scratch.own.clear();
            }
            let BoxScratch { plane, others: other_boxes, own: own_boxes, edges } = scratch;
            view.draw(other_boxes, plane, edges, others);
            view.draw(own_boxes, plane, edges, own);
        }
        Ok(())
    }

    /// Adds the boxes of a frame that may be visible to `scratch.others` and `scratch.own`.
    fn add_boxes(&self, view: &View, input: &RasterInput<'_>, frame: usize, scratch: &mut BoxScratch) -> Result<()> {
        let agents = agents_of(&input.frames, frame, input.agent.is_some())?;
        let kept = |row: &usize| keeps_labels(&agents.label_probabilities[*row], self.threshold);
        let own_row = |row: &usize| input.agent.is_some_and(|agent| agents.track_ids[*row] == agent.track_id);
        let selected = (0..agents.len()).filter(own_row).find(kept);
        for row in (0..agents.len()).filter(kept) {
            let (centroid, [length, width, _], yaw) = (agents.centroids[row], agents.extents[row], agents.yaws[row]);
            // L5Kit takes out of the others all rows that equal the selected one, not all rows of its track.
            if !selected.is_some_and(|selected| equal_rows(&agents, row, selected)) {
                scratch.others.extend(view.corners(centroid, [length, width], yaw));
            }
            if own_row(&row) {
                scratch.own.extend(view.corners(centroid, [length, width], yaw));
            }
        }
        let ([x, y, _], yaw) = ego(&input.frames, frame)?;
        let ego_box = view.corners([x, y], EGO_EXTENT, yaw as f32);
        if input.agent.is_some() { &mut scratch.others } else { &mut scratch.own }.extend(ego_box);
        Ok(())
    }
}

/// Returns the agents of a frame, with all columns that the rasterizer reads.
fn agents_of<'a>(frames: &Frames<'a>, frame: usize, selected: bool) -> Result<Agents<'a>> {
    let len = frames.agents.len();
    let (from, to) = match frames.agent_bounds.get(frame..frame + 2) {
        Some([from, to]) if from <= to && *to <= len => (*from, *to),
        bounds => {
            return Err(Error::invalid(format!(
                "agents of frame {frame} of the history: bounds {bounds:?}, expected two ascending ones within {len} rows"
            )));
        }
    };
    for (column, found) in [
        ("centroid", frames.agents.centroids.len()),
        ("extent", frames.agents.extents.len()),
        ("yaw", frames.agents.yaws.len()),
        ("label_probabilities", frames.agents.label_probabilities.len()),
        ("track_id", if selected { frames.agents.track_ids.len() } else { len }),
    ] {
        if found != len {
            return Err(Error::invalid(format!("column agents.{column} has {found} rows: expected {len}, to draw boxes")));
        }
    }
    if !frames.agents.velocities.is_empty() && frames.agents.velocities.len() != len {
        let found = frames.agents.velocities.len();
        return Err(Error::invalid(format!("column agents.velocity has {found} rows: expected {len} or none")));
    }
    Ok(frames.agents.slice(from..to))
}

/// Whether two rows have equal values in all columns that were read.
fn equal_rows(agents: &Agents<'_>, a: usize, b: usize) -> bool {
    agents.track_ids[a] == agents.track_ids[b]
        && agents.centroids[a] == agents.centroids[b]
        && agents.extents[a] == agents.extents[b]
        && agents.yaws[a] == agents.yaws[b]
        && agents.velocities.get(a) == agents.velocities.get(b)
        && agents.label_probabilities[a] == agents.label_probabilities[b]
}

/// The part of the world that a raster shows.
struct View {
    raster_from_world: Matrix3,
    size: [usize; 2],
    /// Half a pixel per metre.
    half_scale: f64,
}

impl View {
    fn new(context: &RenderContext, raster_from_world: Matrix3) -> Self {
        Self { raster_from_world, size: context.raster_size(), half_scale: 0.5 / context.pixel_size() }
    }

    /// Returns the corners of a box in the raster, or nothing if it is surely outside.
    fn corners(&self, [x, y]: [f64; 2], [length, width]: [f32; 2], yaw: f32) -> Option<[Point; 4]> {
        let (length, width) = (f64::from(length), f64::from(width));
        let middle = transform_point(&self.raster_from_world, [x, y]);
        let reach = self.half_scale * (length.abs() + width.abs()) + 2.0;
        // A box so far away that its coordinates wrap around is not left out: OpenCV draws it where they end up.
        let outside = |axis: usize| middle[axis] < -reach || middle[axis] > self.size[axis] as f64 + reach;
        if (outside(0) || outside(1)) && middle[0].abs() + reach < 4e6 && middle[1].abs() + reach < 4e6 {
            return None;
        }
        let (sin, cos) = sin_cos(yaw);
        let (sin, cos) = (f64::from(sin), f64::from(cos));
        Some([[-0.5, -0.5], [-0.5, 0.5], [0.5, 0.5], [0.5, -0.5]].map(|[along, across]| {
            let (along, across) = (along * length, across * width);
            let corner = [along * cos - across * sin + x, along * sin + across * cos + y];
            transform_point(&self.raster_from_world, corner).map(fixed)
        }))
    }

    /// Draws boxes to a channel. `out` is zero before, and `plane` before and after.
    fn draw(&self, boxes: &[[Point; 4]], plane: &mut Vec<[u8; 1]>, edges: &mut Edges, out: &mut [f32]) {
        if boxes.is_empty() {
            return;
        }
        plane.resize(out.len(), [0]);
        fill_polygons(&mut Canvas::new(plane, self.size[0]), boxes.iter().map(<[Point; 4]>::as_slice), [255], edges);
        for range in boxes.iter().flat_map(|corners| self.rows_around(corners)) {
            if let (Some(out), Some(drawn)) = (out.get_mut(range.clone()), plane.get(range)) {
                for (out, [value]) in out.iter_mut().zip(drawn) {
                    *out = FRACTION_OF_255[usize::from(*value)];
                }
            }
        }
        for range in boxes.iter().flat_map(|corners| self.rows_around(corners)) {
            if let Some(drawn) = plane.get_mut(range) {
                drawn.fill([0]);
            }
        }
    }

    /// Returns the parts of the rows around a box that drawing it may change.
    fn rows_around(&self, corners: &[Point; 4]) -> impl Iterator<Item = std::ops::Range<usize>> + use<> {
        let [columns, rows] = [0, 1].map(|axis| {
            let (low, high) =
                corners.iter().fold((i32::MAX, i32::MIN), |(low, high), at| (low.min(at[axis]), high.max(at[axis])));
            let end = self.size[axis];
            let within = |pixel: i32| usize::try_from(pixel).unwrap_or(0).min(end);
            within((low >> SHIFT) - MARGIN)..within((high >> SHIFT) + MARGIN + 1)
        });
        let width = self.size[0];
        rows.map(move |row| row * width + columns.start..row * width + columns.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raster::SelectedAgent;

    const CAR: [f32; 17] = [0., 0., 0., 1., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.];
    const UPRIGHT: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    const PIXELS: usize = 40 * 20;

    fn rasterizer(history: usize) -> BoxRasterizer {
        let context = RenderContext::new([40, 20], [1.0, 1.0], [0.5, 0.5], true).unwrap();
        BoxRasterizer { context, threshold: 0.5, history, render_ego_history: true }
    }

    /// Two frames: the ego at (0, 0), an agent at (10, 0) in both, one at (-10, 0) in the second, which repeats the first agent's row.
    fn frames<'a>() -> Frames<'a> {
        Frames {
            timestamps: &[0, 1],
            translations: &[[0.0; 3]; 2],
            rotations: &[UPRIGHT; 2],
            agent_bounds: &[0, 1, 4],
            agents: Agents {
                centroids: &[[10.0, 0.0], [10.0, 0.0], [-10.0, 0.0], [10.0, 0.0]],
                extents: &[[8.0, 6.0, 1.0]; 4],
                yaws: &[0.0; 4],
                velocities: &[],
                track_ids: &[7, 7, 8, 7],
                label_probabilities: &[CAR; 4],
            },
            ..Frames::default()
        }
    }

    /// Draws, and returns the values at the ego, at the agent ahead and at the one behind, by channel.
    fn draw(rasterizer: &BoxRasterizer, agent: Option<u64>) -> Result<Vec<[f32; 3]>> {
        let agent = agent.map(|track_id| SelectedAgent { centroid: [0.0, 0.0], yaw: 0.0, track_id });
        let mut out = vec![f32::NAN; rasterizer.num_channels() * PIXELS];
        rasterizer.rasterize(&RasterInput { frames: frames(), agent }, &mut BoxScratch::default(), &mut out)?;
        Ok(out.chunks(PIXELS).map(|plane| [20, 30, 10].map(|column| plane[10 * 40 + column])).collect())
    }

    #[test]
    fn the_ego_has_its_own_channels_and_missing_frames_are_empty() {
        // Frame 1 has the agent ahead twice: the second box cuts a hole in the first.
        let others = [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0; 3]];
        let own = [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0; 3]];
        assert_eq!(draw(&rasterizer(2), None).unwrap(), [others, own].concat());
        let now_only = BoxRasterizer { render_ego_history: false, ..rasterizer(1) };
        assert_eq!(draw(&now_only, None).unwrap(), [others[0], others[1], own[0], [0.0; 3]]);
    }

    #[test]
    fn over_zeros_only_boxes_are_written() {
        let (mut whole, mut over_zeros) = (vec![f32::NAN; 4 * PIXELS], vec![0.0; 4 * PIXELS]);
        let input = RasterInput { frames: frames(), agent: None };
        rasterizer(1).rasterize(&input, &mut BoxScratch::default(), &mut whole).unwrap();
        rasterizer(1).rasterize_over_zeros(&input, &mut BoxScratch::default(), &mut over_zeros).unwrap();
        assert_eq!(whole, over_zeros);
        // What lies beside the boxes stays.
        let mut over_ones = vec![1.0; 4 * PIXELS];
        rasterizer(1).rasterize_over_zeros(&input, &mut BoxScratch::default(), &mut over_ones).unwrap();
        assert_eq!((over_ones[0], whole[0]), (1.0, 0.0));
    }

    #[test]
    fn a_selected_agent_changes_places_with_the_ego() {
        let found = draw(&rasterizer(1), Some(8)).unwrap();
        assert_eq!(found, [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0; 3]]);
        let found = draw(&rasterizer(1), Some(7)).unwrap();
        assert_eq!(found, [[1.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0; 3], [0.0, 1.0, 0.0]], "all equal rows leave the others");
    }

    #[test]
    fn missing_columns_and_wrong_bounds_are_refused() {
        let good = frames();
        let agents = good.agents;
        let bad = [
            Frames { agents: Agents { yaws: &[], ..agents }, ..good },
            Frames { agents: Agents { velocities: &[[0.0; 2]], ..agents }, ..good },
            Frames { agent_bounds: &[0, 1], ..good },
            Frames { agent_bounds: &[0, 3, 2], ..good },
            Frames { agent_bounds: &[0, 1, 9], ..good },
            Frames { translations: &[], ..good },
            Frames::default(),
        ];
        let mut out = vec![0.0; 2 * PIXELS];
        for frames in bad {
            let error = rasterizer(0).rasterize(&RasterInput { frames, agent: None }, &mut BoxScratch::default(), &mut out);
            assert!(error.is_err(), "{frames:?}");
        }
        let input = RasterInput { frames: good, agent: None };
        assert!(rasterizer(0).rasterize(&input, &mut BoxScratch::default(), &mut out[1..]).is_err());
    }
}
