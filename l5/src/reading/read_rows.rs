//! Frames in rows that a caller has read itself, such as the window around a row of a selection.

use arrow_array::{ArrayRef, RecordBatch};
use tetrys::{Error, Result};

use super::columns::{Column, FaceColumns, Poses, f32s, f64s};
use crate::{arrays::Agents, geometry::Matrix3};

/// The columns without which a table is not one of Level 5 frames.
pub const REQUIRED_COLUMNS: [&str; 4] = ["ego.translation", "ego.rotation", "agents.pose.centroid", "agents.pose.track_id"];

/// Returns the first of [`REQUIRED_COLUMNS`] that is not among these columns. `None`: an ingest of Level 5 data made a table of these.
///
/// ```
/// use tetrys_l5::reading::{REQUIRED_COLUMNS, missing_column};
/// assert_eq!(missing_column(REQUIRED_COLUMNS), None);
/// assert_eq!(missing_column(["ego.translation", "ego.speed"]), Some("ego.rotation"));
/// ```
pub fn missing_column<'a>(columns: impl IntoIterator<Item = &'a str>) -> Option<&'static str> {
    let columns: Vec<&str> = columns.into_iter().collect();
    REQUIRED_COLUMNS.into_iter().find(|name| !columns.contains(name))
}

/// The frames in some rows: those of the columns that were read.
///
/// ```no_run
/// # async fn example(table: tetrys::Table) -> tetrys::Result<()> {
/// use tetrys_l5::reading::FrameRows;
/// let loader = table.row_loader().columns(["agents.pose.*", "agents.velocity"])?;
/// let rows = loader.get_rows(120, -10..=0).await?;
/// let frames = FrameRows::of(rows.batch())?;
/// let agents = frames.agents(10)?;
/// assert_eq!(agents.centroids.len(), agents.velocities.len());
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct FrameRows {
    ego: Option<(Column<f64>, Column<f64>)>,
    poses: Option<Poses>,
    velocities: Option<Column<f32>>,
    labels: Option<Column<f32>>,
    faces: Option<FaceColumns>,
}

/// A traffic light face.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Face<'a> {
    /// `traffic_light_faces.face_id`.
    pub face_id: &'a str,
    /// `traffic_light_faces.traffic_light_id`.
    pub traffic_light_id: &'a str,
    /// `traffic_light_faces.traffic_light_face_status`: probabilities of active, inactive and unknown.
    pub status: [f32; 3],
}

impl FrameRows {
    /// Takes the columns of rows. A column of a pose or of a face comes with all others of its group.
    ///
    /// # Errors
    /// - `Invalid`: a column is not as the ingest of Level 5 data wrote it; the message names it.
    /// - `Corrupt`: a row ends within a record.
    /// - `NotFound`: only some columns of a group were read.
    pub fn of(batch: &RecordBatch) -> Result<Self> {
        let is_there = |name: &str| batch.column_by_name(name).is_some();
        let column = |name: &str| -> Result<ArrayRef> {
            batch.column_by_name(name).cloned().ok_or_else(|| Error::not_found(format!("column `{name}` was not read")))
        };
        let doubles = |name: &str, width| f64s(&column(name)?, name, width);
        let ego = || -> Result<_> { Ok((doubles("ego.translation", 3)?, doubles("ego.rotation", 9)?)) };
        let floats = |name: &str, width| f32s(&column(name)?, name, width);
        Ok(Self {
            ego: is_there("ego.translation").then(ego).transpose()?,
            poses: is_there("agents.pose.centroid").then(|| Poses::of(&column)).transpose()?,
            velocities: is_there("agents.velocity").then(|| floats("agents.velocity", 2)).transpose()?,
            labels: is_there("agents.label_probabilities").then(|| floats("agents.label_probabilities", 17)).transpose()?,
            faces: is_there("tl_faces.face_id").then(|| FaceColumns::of(&column)).transpose()?,
        })
    }

    /// Returns the translation of the ego car, m, and its rotation; `None` if they were not read.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn ego(&self, row: usize) -> Option<([f64; 3], Matrix3)> {
        let (translations, rotations) = self.ego.as_ref()?;
        let translation = translations.of(row..row + 1).as_chunks().0.first()?;
        let rotation: &[[f64; 3]; 3] = rotations.of(row..row + 1).as_chunks().0.as_chunks().0.first()?;
        Some((*translation, *rotation))
    }

    /// Returns the agents of a row. Columns that were not read are empty.
    ///
    /// # Errors
    /// - `Corrupt`: the columns have different numbers of agents.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn agents(&self, row: usize) -> Result<Agents<'_>> {
        let mut agents = match &self.poses {
            Some(poses) => poses.agents(row..row + 1, &mut Vec::new())?,
            None => Agents::default(),
        };
        if let Some(velocities) = &self.velocities {
            agents.velocities = velocities.of(velocities.records(row)).as_chunks().0;
        }
        if let Some(labels) = &self.labels {
            agents.label_probabilities = labels.of(labels.records(row)).as_chunks().0;
        }
        let lens = [
            self.poses.as_ref().map(|_| agents.centroids.len()),
            self.velocities.as_ref().map(|_| agents.velocities.len()),
            self.labels.as_ref().map(|_| agents.label_probabilities.len()),
        ];
        if lens.into_iter().flatten().any(|len| len != agents.len()) {
            return Err(Error::corrupt("the columns of the agents have different numbers of agents in a frame"));
        }
        Ok(agents)
    }

    /// Returns the traffic light faces of a row: none if they were not read.
    ///
    /// # Errors
    /// - `Corrupt`: the columns have different numbers of faces.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn faces(&self, row: usize) -> Result<Vec<Face<'_>>> {
        let Some(FaceColumns { face_ids, traffic_light_ids, statuses }) = &self.faces else { return Ok(Vec::new()) };
        let statuses: &[[f32; 3]] = statuses.of(statuses.records(row)).as_chunks().0;
        let (face_ids, lights): (Vec<&str>, Vec<&str>) = (face_ids.row(row).collect(), traffic_light_ids.row(row).collect());
        if face_ids.len() != lights.len() || lights.len() != statuses.len() {
            return Err(Error::corrupt(format!(
                "the columns of the traffic light faces have {}, {} and {} faces in a frame",
                face_ids.len(),
                lights.len(),
                statuses.len()
            )));
        }
        let named = face_ids.into_iter().zip(lights).zip(statuses);
        Ok(named.map(|((face_id, traffic_light_id), status)| Face { face_id, traffic_light_id, status: *status }).collect())
    }
}
