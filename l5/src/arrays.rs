//! Columns of frames, agents and traffic light faces: the input of all computations of this crate.
//!
//! A table, a zarr group and arrays in memory all end up here. The columns are borrowed, so nothing is copied. Units: metres, radians
//! and nanoseconds; all coordinates are in the world frame.

/// Consecutive frames of one scene, in the order of time.
///
/// The agents of frame `i` are the rows `agent_bounds[i]..agent_bounds[i + 1]` of [`agents`](Self::agents), and likewise its faces.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frames<'a> {
    /// `frames.timestamp`, ns.
    pub timestamps: &'a [i64],
    /// `frames.ego_translation`, m.
    pub translations: &'a [[f64; 3]],
    /// `frames.ego_rotation`, row by row.
    pub rotations: &'a [[[f64; 3]; 3]],
    /// One more than frames. Empty if no agents were read.
    pub agent_bounds: &'a [usize],
    /// The agents of all frames.
    pub agents: Agents<'a>,
    /// One more than frames. Empty if no faces were read.
    pub face_bounds: &'a [usize],
    /// The traffic light faces of all frames.
    pub faces: Faces<'a>,
}

/// Agents, one per row. A column that was not read is empty; a column that was read of the first frames only is shorter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Agents<'a> {
    /// `agents.centroid`, m.
    pub centroids: &'a [[f64; 2]],
    /// `agents.extent`: length, width and height, m.
    pub extents: &'a [[f32; 3]],
    /// `agents.yaw`, rad.
    pub yaws: &'a [f32],
    /// `agents.velocity`, m/s.
    pub velocities: &'a [[f32; 2]],
    /// `agents.track_id`, unique within a scene.
    pub track_ids: &'a [u64],
    /// `agents.label_probabilities`, in the order of the perception labels.
    pub label_probabilities: &'a [[f32; 17]],
}

/// Traffic light faces, one per row. A column that was not read is empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faces<'a> {
    /// `traffic_light_faces.face_id`.
    pub face_ids: &'a [&'a str],
    /// `traffic_light_faces.traffic_light_id`.
    pub traffic_light_ids: &'a [&'a str],
    /// `traffic_light_faces.traffic_light_face_status`: probabilities of active, inactive and unknown.
    pub statuses: &'a [[f32; 3]],
}

impl<'a> Frames<'a> {
    /// Returns the number of frames.
    pub fn len(&self) -> usize {
        self.timestamps.len()
    }

    /// Whether there are no frames.
    pub fn is_empty(&self) -> bool {
        self.timestamps.is_empty()
    }

    /// Returns the frames up to a number of them.
    ///
    /// # Panics
    /// If there are fewer frames.
    #[must_use]
    pub fn first(&self, len: usize) -> Self {
        let bounds = |bounds: &'a [usize]| bounds.get(..=len).unwrap_or_default();
        let rows = |bounds: &[usize]| 0..bounds.get(len).copied().unwrap_or(0);
        Self {
            timestamps: &self.timestamps[..len],
            translations: self.translations.get(..len).unwrap_or_default(),
            rotations: self.rotations.get(..len).unwrap_or_default(),
            agent_bounds: bounds(self.agent_bounds),
            agents: self.agents.slice(rows(self.agent_bounds)),
            face_bounds: bounds(self.face_bounds),
            faces: self.faces.slice(rows(self.face_bounds)),
        }
    }

    /// Returns the agents of one frame.
    ///
    /// # Panics
    /// If there is no such frame, or if no agents were read.
    pub fn agents_of(&self, frame: usize) -> Agents<'a> {
        self.agents.slice(self.agent_bounds[frame]..self.agent_bounds[frame + 1])
    }

    /// Returns the faces of one frame: none if no faces were read.
    ///
    /// # Panics
    /// If faces were read, and there is no such frame.
    pub fn faces_of(&self, frame: usize) -> Faces<'a> {
        match self.face_bounds {
            [] => Faces::default(),
            bounds => self.faces.slice(bounds[frame]..bounds[frame + 1]),
        }
    }
}

impl<'a> Agents<'a> {
    /// Returns the number of agents: the length of the longest column.
    pub fn len(&self) -> usize {
        [
            self.centroids.len(),
            self.extents.len(),
            self.yaws.len(),
            self.velocities.len(),
            self.track_ids.len(),
            self.label_probabilities.len(),
        ]
        .into_iter()
        .fold(0, usize::max)
    }

    /// Whether there are no agents.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the agents in a range of rows.
    #[must_use]
    pub fn slice(&self, rows: std::ops::Range<usize>) -> Self {
        Self {
            centroids: part(self.centroids, &rows),
            extents: part(self.extents, &rows),
            yaws: part(self.yaws, &rows),
            velocities: part(self.velocities, &rows),
            track_ids: part(self.track_ids, &rows),
            label_probabilities: part(self.label_probabilities, &rows),
        }
    }
}

impl<'a> Faces<'a> {
    /// Returns the number of faces: the length of the longest column.
    pub fn len(&self) -> usize {
        self.face_ids.len().max(self.traffic_light_ids.len()).max(self.statuses.len())
    }

    /// Whether there are no faces.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the faces in a range of rows.
    #[must_use]
    pub fn slice(&self, rows: std::ops::Range<usize>) -> Self {
        Self {
            face_ids: part(self.face_ids, &rows),
            traffic_light_ids: part(self.traffic_light_ids, &rows),
            statuses: part(self.statuses, &rows),
        }
    }
}

/// Returns a range of a column, or nothing if these rows of it were not read.
fn part<'a, T>(column: &'a [T], rows: &std::ops::Range<usize>) -> &'a [T] {
    column.get(rows.clone()).unwrap_or_default()
}
