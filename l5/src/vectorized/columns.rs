//! The columns of a batch of vectorized samples: one table of names, types and shapes, and all that follows from it.

use tetrys::{Error, Result};

/// The most values that one column may have.
const MAX_VALUES: usize = 1 << 34;

/// The lengths of the dimensions of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dims {
    /// The current frame and the frames before it: 1 + the longer one of both histories.
    pub history: usize,
    /// The frames after the current one.
    pub future: usize,
    /// The rows of other agents, and the ego's row if there is one.
    pub agents: usize,
    /// The lanes.
    pub lanes: usize,
    /// Two per lane.
    pub lane_sides: usize,
    /// The points per lane.
    pub lane_points: usize,
    /// The crosswalks.
    pub crosswalks: usize,
    /// The points per crosswalk.
    pub crosswalk_points: usize,
    /// The track ids to evaluate: 50, or 0 if the ego has no row.
    pub valid: usize,
}

/// The values of one column, sample after sample.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// NumPy's `float32`.
    F32(Vec<f32>),
    /// NumPy's `float64`.
    F64(Vec<f64>),
    /// NumPy's `int64`.
    I64(Vec<i64>),
    /// NumPy's `bool`.
    Bool(Vec<bool>),
}

/// One column of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// L5Kit's key.
    pub name: &'static str,
    /// The number of samples, then the shape of one sample.
    pub shape: Vec<usize>,
    /// The values, row by row.
    pub values: Values,
}

impl From<Vec<f32>> for Values {
    fn from(values: Vec<f32>) -> Self {
        Self::F32(values)
    }
}

impl From<Vec<f64>> for Values {
    fn from(values: Vec<f64>) -> Self {
        Self::F64(values)
    }
}

impl From<Vec<i64>> for Values {
    fn from(values: Vec<i64>) -> Self {
        Self::I64(values)
    }
}

impl From<Vec<bool>> for Values {
    fn from(values: Vec<bool>) -> Self {
        Self::Bool(values)
    }
}

macro_rules! length {
    ($dims:ident, $length:literal) => {
        $length
    };
    ($dims:ident, $name:ident) => {
        $dims.$name
    };
}

macro_rules! columns {
    ($($(#[doc = $doc:literal])+ $name:ident: $kind:ident [$($dim:tt),*]),+ $(,)?) => {
        /// A batch of samples. Each column has the values of the first sample, then those of the second, and so on.
        ///
        /// The shape of one sample is in brackets; its names are those of [`Dims`]. Units: metres, radians and m/s; all positions and
        /// yaws are relative to the ego (or to the selected agent) at the current frame. The history begins with the current frame and
        /// goes back in time. A step or a row that is not available is 0.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Batch {
            dims: Dims,
            len: usize,
            $($(#[doc = $doc])+ #[doc = concat!("\n\n`", stringify!($kind), " ", stringify!([$($dim),*]), "`")] pub $name: Vec<$kind>,)+
        }

        /// One sample of a [`Batch`], to be filled by one thread. The fields are those of the batch.
        #[derive(Debug)]
        pub struct Slot<'a> {
            pub(super) dims: Dims,
            $($(#[doc = $doc])+ pub $name: &'a mut [$kind],)+
        }

        impl Batch {
            /// Creates a batch of zeros.
            ///
            /// # Errors
            /// `Invalid` if a column would have more than 2^34 values.
            pub fn new(dims: Dims, len: usize) -> Result<Self> {
                Ok(Self {
                    dims,
                    len,
                    $($name: vec![Default::default(); count(stringify!($name), &[len $(, length!(dims, $dim))*])?],)+
                })
            }

            /// Returns the samples.
            pub fn slots(&mut self) -> Vec<Slot<'_>> {
                let dims = self.dims;
                $(let mut $name = self.$name.as_mut_slice();)+
                (0..self.len)
                    .map(|_| Slot { dims, $($name: split(&mut $name, [$(length!(dims, $dim)),*].iter().product()),)+ })
                    .collect()
            }

            /// Returns the columns, in the order of the fields.
            pub fn into_columns(self) -> Vec<Column> {
                let (dims, len) = (self.dims, self.len);
                vec![$(Column {
                    name: stringify!($name).trim_start_matches("r#"),
                    shape: vec![len $(, length!(dims, $dim))*],
                    values: self.$name.into(),
                }),+]
            }
        }

        impl Slot<'_> {
            /// Sets all values to 0 and `false`.
            pub fn clear(&mut self) {
                $(self.$name.fill(Default::default());)+
            }
        }
    };
}

columns! {
    /// Length, width and height of the ego or of the selected agent, m.
    extent: f64 [3],
    /// The perception label: 3 (car) for the ego.
    r#type: i64 [],
    /// The transform from the world to the agent.
    agent_from_world: f64 [3, 3],
    /// The transform from the agent to the world.
    world_from_agent: f64 [3, 3],
    /// Positions in the future.
    target_positions: f32 [future, 2],
    /// Yaws in the future.
    target_yaws: f32 [future, 1],
    /// Length and width in the future.
    target_extents: f32 [future, 2],
    /// Whether there is a value.
    target_availabilities: bool [future],
    /// Positions in the past.
    history_positions: f32 [history, 2],
    /// Yaws in the past.
    history_yaws: f32 [history, 1],
    /// Length and width in the past.
    history_extents: f32 [history, 2],
    /// Whether there is a value.
    history_availabilities: bool [history],
    /// Position in the world, m.
    centroid: f64 [2],
    /// Yaw in the world, rad.
    yaw: f64 [],
    /// Speed towards the first position of the future.
    speed: f32 [],
    /// Positions of the other agents in the past.
    all_other_agents_history_positions: f32 [agents, history, 2],
    /// Yaws of the other agents in the past.
    all_other_agents_history_yaws: f32 [agents, history, 1],
    /// Length and width of the other agents in the past.
    all_other_agents_history_extents: f32 [agents, history, 2],
    /// Whether there is a value.
    all_other_agents_history_availability: bool [agents, history],
    /// Positions of the other agents in the future.
    all_other_agents_future_positions: f32 [agents, future, 2],
    /// Yaws of the other agents in the future.
    all_other_agents_future_yaws: f32 [agents, future, 1],
    /// Length and width of the other agents in the future.
    all_other_agents_future_extents: f32 [agents, future, 2],
    /// Whether there is a value.
    all_other_agents_future_availability: bool [agents, future],
    /// The perception labels of the other agents.
    all_other_agents_types: i64 [agents],
    /// The track ids of the other agents: 0 if there is none, -1 for the ego.
    all_other_agents_track_ids: i64 [agents],
    /// x, y and yaw of the ego or of the selected agent in the past.
    agent_trajectory_polyline: f32 [history, 3],
    /// Whether there is a value.
    agent_polyline_availability: bool [history],
    /// x, y and yaw of the other agents in the past.
    other_agents_polyline: f32 [agents, history, 3],
    /// Whether there is a value.
    other_agents_polyline_availability: bool [agents, history],
    /// The boundaries of the nearest lanes: x, y and 0. Rows `2 i` and `2 i + 1` are the left and the right one of lane `i`.
    lanes: f32 [lane_sides, lane_points, 3],
    /// Whether there is a point and it is near enough.
    lanes_availabilities: bool [lane_sides, lane_points],
    /// The middle of the nearest lanes: x, y and the state of the lane's traffic lights.
    lanes_mid: f32 [lanes, lane_points, 3],
    /// Whether there is a point and it is near enough.
    lanes_mid_availabilities: bool [lanes, lane_points],
    /// The outlines of crosswalks, in the order of the map: x, y and 0.
    crosswalks: f32 [crosswalks, crosswalk_points, 3],
    /// Whether there is a point.
    crosswalks_availabilities: bool [crosswalks, crosswalk_points],
    /// The time of the current frame, ns.
    timestamp: i64 [],
    /// The track id of the selected agent: -1 for the ego.
    track_id: i64 [],
    /// The track ids to evaluate: 0 where there is none.
    all_valid_agents_track_ids: f64 [valid],
}

impl Batch {
    /// Returns the number of samples.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the lengths of the dimensions.
    pub fn dims(&self) -> Dims {
        self.dims
    }
}

/// Returns the number of values of a column.
fn count(name: &str, shape: &[usize]) -> Result<usize> {
    let count = shape.iter().try_fold(1_usize, |count, length| count.checked_mul(*length));
    count.filter(|count| *count <= MAX_VALUES).ok_or_else(|| {
        Error::invalid(format!(
            "column {name} of shape {shape:?}: expected at most {MAX_VALUES} values; ask for fewer or smaller samples"
        ))
    })
}

/// Takes the first `len` values off the front of a slice.
fn split<'a, T>(rest: &mut &'a mut [T], len: usize) -> &'a mut [T] {
    let (first, others) = std::mem::take(rest).split_at_mut(len);
    *rest = others;
    first
}
