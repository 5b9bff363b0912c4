//! Counts for each agent row how many steps of reliable past and future it has: L5Kit's `select_agents`.
//!
//! The rows of one track form runs. A run grows by one row per frame, as long as the row is an agent near the ego car, and neither its
//! heading nor its size jumps. Row `k` of a run of `n` rows has `k` steps of past and `n - k - 1` of future; a row outside all runs has
//! `(0, 0)`. A mask of rows to train on then asks for a minimum of both ([`valid_rows`]).

use std::collections::HashMap;
use std::ops::AddAssign;

use tetrys::{Error, Result};

use crate::arrays::{Agents, Frames};
use crate::filter::keeps_labels;
use crate::geometry::wrap;

/// The steps of past that `AgentDataset` asks for.
pub const MIN_FRAME_HISTORY: i64 = 10;
/// The steps of future that `AgentDataset` asks for.
pub const MIN_FRAME_FUTURE: i64 = 1;
/// The smallest area in m² that L5Kit believes, of length times width.
const MIN_AREA: f64 = 0.01;

/// The limits within which a row is reliable. A value at a limit is rejected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// The probability that the row is an agent must lie above this value.
    pub label_probability: f64,
    /// The largest turn from one frame to the next, in degrees.
    pub yaw_degrees: f64,
    /// The largest ratio of the areas (length times width) in two consecutive frames.
    pub extent_ratio: f64,
    /// The largest distance to the ego car, in metres.
    pub ego_distance: f64,
}

impl Thresholds {
    /// Returns L5Kit's thresholds: 30 degrees, a ratio of 1.1 and 50 m. `label_probability` is `filter_agents_threshold` of a
    /// configuration.
    pub fn new(label_probability: f64) -> Self {
        Self { label_probability, yaw_degrees: 30.0, extent_ratio: 1.1, ego_distance: 50.0 }
    }
}

/// Numbers of rejected rows by reason: L5Kit's report. A row counts for the first reason in the order of these fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rejected {
    /// `reject_th_agent_filter_probability_threshold`: probably not an agent.
    pub labels: u64,
    /// `reject_th_AV_distance`: too far from the ego car.
    pub ego_distance: u64,
    /// `reject_th_hole`: the track was not in the frame before.
    pub hole: u64,
    /// `reject_th_yaw`: the heading jumped.
    pub yaw: u64,
    /// `reject_th_extent`: the size jumped, or is nearly zero.
    pub extent: u64,
}

impl Rejected {
    /// Returns the number of all rejected rows.
    pub fn total(&self) -> u64 {
        self.labels + self.ego_distance + self.hole + self.yaw + self.extent
    }
}

impl AddAssign for Rejected {
    fn add_assign(&mut self, other: Self) {
        self.labels += other.labels;
        self.ego_distance += other.ego_distance;
        self.hole += other.hole;
        self.yaw += other.yaw;
        self.extent += other.extent;
    }
}

/// Writes `[past, future]` of each agent row of one scene to `counts`, and returns how many rows were rejected.
///
/// `scene` needs timestamps and translations of the frames, and centroids, extents, yaws, track ids and label probabilities of the
/// agents. A row of `counts` is a row of `scene.agents`.
///
/// # Errors
/// `Invalid` if a column is missing, or if `counts` has another length than the agents.
pub fn select_agents(scene: &Frames<'_>, thresholds: &Thresholds, counts: &mut [[u32; 2]]) -> Result<Rejected> {
    check(scene, counts.len())?;
    counts.fill([0, 0]);
    let agents = &scene.agents;
    let mut rejected = Rejected::default();
    let mut runs: HashMap<u64, Run> = HashMap::new();
    for (frame, (rows, ego)) in scene.agent_bounds.windows(2).zip(scene.translations).enumerate() {
        for row in rows[0]..rows[1] {
            let track_id = agents.track_ids[row];
            let kept = keeps_labels(&agents.label_probabilities[row], thresholds.label_probability);
            if !kept || !is_near([ego[0], ego[1]], agents.centroids[row], thresholds.ego_distance) {
                let reason = if kept { &mut rejected.ego_distance } else { &mut rejected.labels };
                *reason += 1;
                if let Some(run) = runs.remove(&track_id) {
                    run.close(counts);
                }
                continue;
            }
            let run = runs.entry(track_id).or_insert(Run { frame, row, len: 0 });
            if run.len > 0
                && let Some(reason) = jump(run, frame, row, agents, thresholds, &mut rejected)
            {
                *reason += 1;
                run.close(counts);
                run.len = 0;
            }
            run.append(frame, row, counts);
        }
    }
    runs.values().for_each(|run| run.close(counts));
    Ok(rejected)
}

/// Whether an agent has at least so many steps of past and future.
pub fn is_valid(counts: [u32; 2], least: [i64; 2]) -> bool {
    i64::from(counts[0]) >= least[0] && i64::from(counts[1]) >= least[1]
}

/// Returns the rows with at least so many steps of past and future: the mask of `AgentDataset`.
///
/// ```
/// use tetrys_l5::mask::valid_rows;
/// let rows: Vec<usize> = valid_rows(&[[0, 12], [10, 2], [11, 1], [12, 0]], 10, 1).collect();
/// assert_eq!(rows, [1, 2]);
/// ```
pub fn valid_rows(counts: &[[u32; 2]], min_past: i64, min_future: i64) -> impl Iterator<Item = usize> {
    counts.iter().enumerate().filter(move |(_, counts)| is_valid(**counts, [min_past, min_future])).map(|(row, _)| row)
}

/// The rows of one track that belong together so far.
///
/// The counts of its rows hold `[past, row before]` until the run is closed. So the run needs no list of its rows.
struct Run {
    /// The frame of the last row.
    frame: usize,
    /// The last row.
    row: usize,
    /// The number of rows.
    len: u32,
}

impl Run {
    /// Appends a row.
    fn append(&mut self, frame: usize, row: usize, counts: &mut [[u32; 2]]) {
        counts[row] = [self.len, self.row as u32];
        *self = Self { frame, row, len: self.len + 1 };
    }

    /// Replaces the row before by the steps of future in all rows.
    fn close(&self, counts: &mut [[u32; 2]]) {
        let mut row = self.row;
        for future in 0..self.len {
            let before = counts[row][1] as usize;
            counts[row][1] = future;
            row = before;
        }
    }
}

/// Returns the counter of the reason why a row cannot follow a run, or nothing if it can.
fn jump<'a>(
    run: &Run,
    frame: usize,
    row: usize,
    agents: &Agents<'_>,
    thresholds: &Thresholds,
    rejected: &'a mut Rejected,
) -> Option<&'a mut u64> {
    if frame != run.frame + 1 {
        Some(&mut rejected.hole)
    } else if !is_small_turn(agents.yaws[run.row], agents.yaws[row], thresholds.yaw_degrees) {
        Some(&mut rejected.yaw)
    } else if !is_same_size(agents.extents[run.row], agents.extents[row], thresholds.extent_ratio) {
        Some(&mut rejected.extent)
    } else {
        None
    }
}

/// Whether an agent is nearer to the ego car than a distance. Not if a coordinate is NaN.
fn is_near(ego: [f64; 2], agent: [f64; 2], distance: f64) -> bool {
    let [x, y] = [ego[0] - agent[0], ego[1] - agent[1]];
    (x * x + y * y).sqrt() < distance
}

/// Whether a heading turned by less than so many degrees. The difference is `f32`, the rest `f64`, as in NumPy.
fn is_small_turn(before: f32, now: f32, degrees: f64) -> bool {
    wrap(f64::from(now - before)).abs() * 180.0 / std::f64::consts::PI < degrees
}

/// Whether two areas differ by less than a ratio, and both are large enough. The areas and their ratio are `f32`, as in NumPy.
fn is_same_size([length_a, width_a, _]: [f32; 3], [length_b, width_b, _]: [f32; 3], ratio: f64) -> bool {
    let (a, b) = (length_a * width_a, length_b * width_b);
    let larger_by = if a > b { a / b } else { b / a };
    !(f64::from(a) < MIN_AREA || f64::from(b) < MIN_AREA) && f64::from(larger_by) < ratio
}

/// Checks that a scene has the columns that [`select_agents`] reads, and that all rows are within them.
fn check(scene: &Frames<'_>, counts: usize) -> Result<()> {
    let agents = &scene.agents;
    let columns = [
        ("centroid", agents.centroids.len()),
        ("extent", agents.extents.len()),
        ("yaw", agents.yaws.len()),
        ("track_id", agents.track_ids.len()),
        ("label_probabilities", agents.label_probabilities.len()),
    ];
    if let Some((name, rows)) = columns.iter().find(|(_, rows)| *rows != counts) {
        return Err(Error::invalid(format!("agents.{name} has {rows} rows, expected {counts}")));
    }
    if scene.translations.len() != scene.len() {
        let found = scene.translations.len();
        return Err(Error::invalid(format!("frames.ego_translation has {found} rows, expected {}", scene.len())));
    }
    let bounds = scene.agent_bounds;
    let fits = bounds.len() == scene.len() + 1 && bounds.is_sorted() && bounds.last().is_some_and(|end| *end <= counts);
    let no_agents = bounds.is_empty() && counts == 0;
    if !(fits || no_agents) {
        return Err(Error::invalid(format!("the bounds of the agents of {} frames must rise from 0 to {counts}", scene.len())));
    }
    if u32::try_from(counts).is_err() {
        return Err(Error::invalid(format!("a scene of {counts} agent rows: at most {} are possible", u32::MAX)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One track in one frame.
    #[derive(Clone, Copy)]
    struct Row {
        frame: usize,
        track: u64,
        label: f32,
        x: f64,
        yaw: f32,
        length: f32,
    }

    const CAR: Row = Row { frame: 0, track: 1, label: 1.0, x: 0.0, yaw: 0.0, length: 4.0 };

    fn select(rows: &[Row]) -> (Vec<[u32; 2]>, Rejected) {
        let frames = rows.iter().map(|row| row.frame).max().unwrap() + 1;
        let bounds: Vec<usize> = (0..=frames).map(|frame| rows.iter().filter(|row| row.frame < frame).count()).collect();
        let labels: Vec<[f32; 17]> = rows
            .iter()
            .map(|row| {
                let mut labels = [0.0; 17];
                labels[3] = row.label;
                labels
            })
            .collect();
        let agents = Agents {
            centroids: &rows.iter().map(|row| [row.x, 0.0]).collect::<Vec<_>>(),
            extents: &rows.iter().map(|row| [row.length, 2.0, 1.5]).collect::<Vec<_>>(),
            yaws: &rows.iter().map(|row| row.yaw).collect::<Vec<_>>(),
            velocities: &[],
            track_ids: &rows.iter().map(|row| row.track).collect::<Vec<_>>(),
            label_probabilities: &labels,
        };
        let (timestamps, translations) = (vec![0; frames], vec![[0.0; 3]; frames]);
        let scene =
            Frames { timestamps: &timestamps, translations: &translations, agent_bounds: &bounds, agents, ..Frames::default() };
        let mut counts = vec![[9; 2]; rows.len()];
        let rejected = select_agents(&scene, &Thresholds::new(0.5), &mut counts).unwrap();
        (counts, rejected)
    }

    #[test]
    fn a_run_without_a_jump_counts_its_past_and_future() {
        let rows = [CAR, Row { frame: 1, yaw: 0.5, ..CAR }, Row { frame: 2, yaw: 1.0, ..CAR }];
        assert_eq!(select(&rows), (vec![[0, 2], [1, 1], [2, 0]], Rejected::default()));
    }

    #[test]
    fn a_jump_starts_a_new_run_with_its_row() {
        let at = |frame| Row { frame, ..CAR };
        let (counts, rejected) = select(&[
            at(0),
            at(1),
            Row { yaw: 2.0, ..at(2) },
            Row { yaw: 2.0, length: 5.0, ..at(3) },
            Row { yaw: 2.0, length: 5.0, ..at(4) },
            Row { yaw: 2.0, length: 5.0, ..at(6) },
        ]);
        assert_eq!(counts, [[0, 1], [1, 0], [0, 0], [0, 1], [1, 0], [0, 0]]);
        assert_eq!(rejected, Rejected { yaw: 1, extent: 1, hole: 1, ..Rejected::default() });
    }

    #[test]
    fn a_row_that_is_no_agent_or_far_away_belongs_to_no_run() {
        let at = |frame| Row { frame, ..CAR };
        let (counts, rejected) = select(&[at(0), at(1), Row { label: 0.5, ..at(2) }, at(3), Row { x: 50.0, ..at(4) }, at(5)]);
        assert_eq!(counts, [[0, 1], [1, 0], [0, 0], [0, 0], [0, 0], [0, 0]]);
        assert_eq!(rejected, Rejected { labels: 1, ego_distance: 1, ..Rejected::default() });
    }

    #[test]
    fn a_track_twice_in_a_frame_is_a_hole() {
        let (counts, rejected) = select(&[CAR, Row { length: 4.1, ..CAR }, Row { frame: 1, ..CAR }]);
        assert_eq!(counts, [[0, 0], [0, 1], [1, 0]]);
        assert_eq!(rejected.hole, 1);
    }

    #[test]
    fn a_car_of_one_square_millimetre_is_an_error_of_perception() {
        let rows = [Row { length: 0.0005, ..CAR }, Row { frame: 1, length: 0.0005, ..CAR }];
        assert_eq!(select(&rows).1.extent, 1);
    }

    #[test]
    fn missing_columns_and_wrong_bounds_are_errors() {
        let scene = Frames { timestamps: &[0], translations: &[[0.0; 3]], agent_bounds: &[0, 2], ..Frames::default() };
        let error = select_agents(&scene, &Thresholds::new(0.5), &mut [[0; 2]; 2]).unwrap_err();
        assert_eq!(error.to_string(), "agents.centroid has 0 rows, expected 2");
        assert!(select_agents(&scene, &Thresholds::new(0.5), &mut []).is_err(), "bounds beyond the rows");
    }
}
