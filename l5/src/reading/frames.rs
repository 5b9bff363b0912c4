//! The scenes and frames of a table: where they are, when they were recorded, and how many agents and faces they have.

use std::{ops::Range, sync::Arc};

use arrow_array::{Array, Int64Array, LargeStringArray, RecordBatch, UInt32Array};
use tetrys::{Error, Result, RowLoader, Table};

use super::{
    columns::{Column, Columns, FaceColumns, Poses, Texts},
    read_rows::missing_column,
    scene_cache::SceneCache,
};
use crate::zarr::{Dataset, Scene, scenes_from_json};

/// A table that an ingest of Level 5 data made, or a view of such tables.
///
/// Frames, agents and faces are numbered from 0 in the order of the rows, whatever their numbers were in the zarr group: a view of a
/// part has the numbers that L5Kit gives to an exported copy of it. A scene ends where the next row has another scene, or does not
/// follow in the scene.
#[derive(Clone, Debug)]
pub struct FrameTable {
    pub(super) source: Source,
    url: String,
    scenes: Vec<Scene>,
    timestamps: Vec<i64>,
    /// The number of agents up to the end of each frame, and the same for faces.
    agent_ends: Vec<u64>,
    face_ends: Vec<u64>,
    has_faces: bool,
}

/// The place that frames are read from.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// A table. Its scenes are read whole and stay in memory, if all of them fit into the cache.
    Table(RowLoader, Option<Arc<SceneCache>>),
    Memory(Arc<Columns>),
    Zarr(Dataset, Arc<SceneCache>),
}

/// The columns of a data set in memory, as L5Kit's structured arrays have them. Agents and faces are those of all frames in order.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "the names of the fields of the arrays")]
pub struct Arrays {
    pub timestamps: Vec<i64>,
    pub translations: Vec<f64>,
    pub rotations: Vec<f64>,
    pub centroids: Vec<f64>,
    pub extents: Vec<f32>,
    pub yaws: Vec<f32>,
    pub track_ids: Vec<u64>,
    pub label_probabilities: Vec<f32>,
    pub face_ids: Vec<String>,
    pub traffic_light_ids: Vec<String>,
    pub statuses: Vec<f32>,
}

impl FrameTable {
    /// Opens the frames of a zarr group without an ingest. Decoded scenes stay in memory, up to `cache_bytes`.
    ///
    /// # Errors
    /// - `Corrupt`: the data set is damaged.
    /// - Errors of the file system.
    pub fn of_zarr(dataset: &Dataset, cache_bytes: usize) -> Result<Self> {
        let (timestamps, agent_ends, face_ends) = dataset.frame_columns()?;
        Ok(Self {
            url: dataset.group().to_string(),
            scenes: dataset.scenes().to_vec(),
            timestamps,
            has_faces: face_ends.is_some(),
            face_ends: face_ends.unwrap_or_else(|| vec![0; agent_ends.len()]),
            agent_ends,
            source: Source::Zarr(dataset.clone(), Arc::new(SceneCache::new(cache_bytes))),
        })
    }

    /// Takes a data set in memory. `agent_ends` and `face_ends` have the number of agents and faces up to the end of each frame.
    ///
    /// # Errors
    /// - `Invalid`: arrays have other lengths than the ends say, or scenes do not follow each other.
    pub fn of_arrays(scenes: Vec<Scene>, agent_ends: Vec<u64>, face_ends: Vec<u64>, arrays: Arrays) -> Result<Self> {
        let (frames, last) = (arrays.timestamps.len(), |ends: &[u64]| ends.last().map_or(0, |end| *end as usize));
        let (agents, faces) = (last(&agent_ends), last(&face_ends));
        for (name, found, expected) in [
            ("agent_index_interval", agent_ends.len(), frames),
            ("traffic_light_faces_index_interval", face_ends.len(), frames),
            ("ego_translation", arrays.translations.len(), frames * 3),
            ("ego_rotation", arrays.rotations.len(), frames * 9),
            ("centroid", arrays.centroids.len(), agents * 2),
            ("extent", arrays.extents.len(), agents * 3),
            ("yaw", arrays.yaws.len(), agents),
            ("track_id", arrays.track_ids.len(), agents),
            ("label_probabilities", arrays.label_probabilities.len(), agents * 17),
            ("face_id", arrays.face_ids.len(), faces),
            ("traffic_light_id", arrays.traffic_light_ids.len(), faces),
            ("traffic_light_face_status", arrays.statuses.len(), faces * 3),
        ] {
            if found != expected {
                return Err(Error::invalid(format!("array {name}: expected {expected} values, found {found}")));
            }
        }
        let mut end = 0;
        for scene in &scenes {
            if scene.frames.start != end || scene.frames.end < scene.frames.start {
                let found = &scene.frames;
                return Err(Error::invalid(format!("frame_index_interval: expected a scene from frame {end}, found {found:?}")));
            }
            end = scene.frames.end;
        }
        if end != frames as u64 || !agent_ends.is_sorted() || !face_ends.is_sorted() {
            return Err(Error::invalid(format!("{frames} frames: scenes end at {end}, or intervals go back")));
        }
        let columns = Columns {
            translations: Column::of_values(arrays.translations, 3, None),
            rotations: Column::of_values(arrays.rotations, 9, None),
            agents: Some(Poses {
                track_ids: Column::of_values(arrays.track_ids, 1, Some(&agent_ends)),
                centroids: Column::of_values(arrays.centroids, 2, Some(&agent_ends)),
                extents: Column::of_values(arrays.extents, 3, Some(&agent_ends)),
                yaws: Column::of_values(arrays.yaws, 1, Some(&agent_ends)),
            }),
            labels: Some(Column::of_values(arrays.label_probabilities, 17, Some(&agent_ends))),
            faces: Some(FaceColumns {
                face_ids: Texts::of_values(arrays.face_ids, &face_ends),
                traffic_light_ids: Texts::of_values(arrays.traffic_light_ids, &face_ends),
                statuses: Column::of_values(arrays.statuses, 3, Some(&face_ends)),
            }),
        };
        let (source, timestamps) = (Source::Memory(Arc::new(columns)), arrays.timestamps);
        Ok(Self { source, url: "arrays".into(), scenes, timestamps, agent_ends, face_ends, has_faces: faces > 0 })
    }

    /// Opens the frames of a table. `cache_bytes` is the size of the cache: of scenes if all of them fit, else of decoded blocks.
    ///
    /// # Errors
    /// - `Invalid`: the table was not made from Level 5 data; the message names the column that is missing.
    /// - Errors of the store.
    pub async fn open(table: &Table, cache_bytes: usize) -> Result<Self> {
        let rows = table.row_loader().cache_bytes(cache_bytes).cache_whole_blocks();
        if let Some(missing) = missing_column(rows.column_names()) {
            return Err(Error::invalid(format!("{}: not made from Level 5 data: it has no column `{missing}`", table.url())));
        }
        let has_faces = rows.column_names().any(|column| column == "tl_faces.face_id");
        let mut found = Self {
            source: Source::Table(rows, None),
            url: table.url().to_owned(),
            scenes: Vec::new(),
            timestamps: Vec::new(),
            agent_ends: Vec::new(),
            face_ends: Vec::new(),
            has_faces,
        };
        let mut last = None;
        for batch in table.index_batches().await? {
            found.push(&batch?, &mut last)?;
        }
        if found.decoded_bytes() <= cache_bytes as u64
            && let Source::Table(rows, scenes) = &mut found.source
        {
            // A scene is read once, so its blocks need no cache.
            *rows = rows.clone().cache_bytes(0);
            *scenes = Some(Arc::new(SceneCache::new(cache_bytes)));
        }
        // Scenes without frames have no row. The ingest notes all scenes in a property, which holds while the rows are as it wrote them.
        if let Some(noted) = table.properties().get("l5").and_then(|noted| scenes_from_json(noted.pointer("/l5/scenes")?).ok()) {
            let with_frames = noted.iter().filter(|scene| !scene.frames.is_empty());
            if with_frames.eq(&found.scenes) {
                found.scenes = noted;
            }
        }
        Ok(found)
    }

    /// Appends the rows of a batch of the index. `last` has the scene and the number in the scene of the row before.
    fn push(&mut self, batch: &RecordBatch, last: &mut Option<(u32, u32)>) -> Result<()> {
        let (scene, frame): (&UInt32Array, &UInt32Array) = (self.index(batch, "scene_index")?, self.index(batch, "frame_index")?);
        let (timestamp, host): (&Int64Array, &LargeStringArray) = (self.index(batch, "timestamp")?, self.index(batch, "host")?);
        let (start, end): (&Int64Array, &Int64Array) =
            (self.index(batch, "scene_start_time")?, self.index(batch, "scene_end_time")?);
        let (agents, faces): (&UInt32Array, &UInt32Array) =
            (self.index(batch, "agents_count")?, self.index(batch, "tl_faces_count")?);
        let mut ends = [self.agents_len(), self.faces_len()];
        for row in 0..batch.num_rows() {
            let position = self.timestamps.len() as u64;
            let (of_scene, number) = (scene.value(row), frame.value(row));
            let follows = last.is_some_and(|last| last == (of_scene, number.wrapping_sub(1)) && number > 0);
            let same = |before: &&mut Scene| {
                (before.start_time, before.end_time) == (start.value(row), end.value(row)) && *before.host == *host.value(row)
            };
            match self.scenes.last_mut().filter(|before| follows && same(before)) {
                Some(scene) => scene.frames.end = position + 1,
                None => self.scenes.push(Scene {
                    frames: position..position + 1,
                    host: host.value(row).into(),
                    start_time: start.value(row),
                    end_time: end.value(row),
                }),
            }
            *last = Some((of_scene, number));
            ends[0] += u64::from(agents.value(row));
            ends[1] += u64::from(faces.value(row));
            self.timestamps.push(timestamp.value(row));
            self.agent_ends.push(ends[0]);
            self.face_ends.push(ends[1]);
        }
        Ok(())
    }

    /// Returns a column of the index of a type, without nulls.
    fn index<'a, T: Array + 'static>(&self, batch: &'a RecordBatch, name: &str) -> Result<&'a T> {
        let column = batch.column_by_name(name);
        let column = column.ok_or_else(|| {
            Error::invalid(format!("{}: not made from Level 5 data: it has no index column `{name}`", self.url))
        })?;
        column.as_any().downcast_ref::<T>().filter(|column| column.null_count() == 0).ok_or_else(|| {
            let found = column.data_type();
            Error::invalid(format!("{}: index column `{name}` is not as the ingest wrote it, found {found}", self.url))
        })
    }

    /// Estimates the memory that all scenes take.
    fn decoded_bytes(&self) -> u64 {
        // An agent has 40 bytes of pose and 68 of labels; a face has a status and two ids.
        self.len() * 128 + self.agents_len() * 112 + self.faces_len() * 64
    }

    /// Whether the frames are read from a table. Reads of a zarr group or of arrays block the thread that polls them.
    pub fn is_table(&self) -> bool {
        matches!(self.source, Source::Table(..))
    }

    /// Returns the URL of the table.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the scenes in order.
    pub fn scenes(&self) -> &[Scene] {
        &self.scenes
    }

    /// Returns the number of frames.
    pub fn len(&self) -> u64 {
        self.timestamps.len() as u64
    }

    /// Whether there are no frames.
    pub fn is_empty(&self) -> bool {
        self.timestamps.is_empty()
    }

    /// Returns the time of each frame, ns since 1970.
    pub fn timestamps(&self) -> &[i64] {
        &self.timestamps
    }

    /// Returns the number of agents in all frames up to the end of each frame.
    pub fn agent_ends(&self) -> &[u64] {
        &self.agent_ends
    }

    /// Returns the number of traffic light faces in all frames up to the end of each frame.
    pub fn face_ends(&self) -> &[u64] {
        &self.face_ends
    }

    /// Returns the rows of the agents of a frame: none if there is no such frame.
    pub fn agents_of(&self, frame: u64) -> Range<u64> {
        interval(&self.agent_ends, frame)
    }

    /// Returns the rows of the traffic light faces of a frame: none if there is no such frame.
    pub fn faces_of(&self, frame: u64) -> Range<u64> {
        interval(&self.face_ends, frame)
    }

    /// Returns the number of agents in all frames.
    pub fn agents_len(&self) -> u64 {
        self.agent_ends.last().copied().unwrap_or(0)
    }

    /// Returns the number of traffic light faces in all frames.
    pub fn faces_len(&self) -> u64 {
        self.face_ends.last().copied().unwrap_or(0)
    }

    /// Whether the data has traffic light faces. Early data sets have none.
    pub fn has_faces(&self) -> bool {
        self.has_faces
    }

    /// Returns the scene of a frame: its number, and the number of the frame in it.
    ///
    /// # Errors
    /// - `NotFound`: there is no such frame.
    pub fn scene_of(&self, frame: u64) -> Result<(usize, usize)> {
        let scene = self.scenes.partition_point(|scene| scene.frames.end <= frame);
        match self.scenes.get(scene) {
            Some(found) => Ok((scene, (frame - found.frames.start) as usize)),
            None => Err(Error::not_found(format!("{}: frame {frame} is outside 0..{}", self.url, self.len()))),
        }
    }

    /// Returns the frame of an agent row.
    ///
    /// # Errors
    /// - `NotFound`: there is no such agent.
    pub fn frame_of_agent(&self, agent: u64) -> Result<u64> {
        match self.agent_ends.partition_point(|end| *end <= agent) {
            frame if frame < self.agent_ends.len() => Ok(frame as u64),
            _ => Err(Error::not_found(format!("{}: agent {agent} is outside 0..{}", self.url, self.agents_len()))),
        }
    }
}

/// Returns an interval of consecutive ones by their ends. After the last one, all are empty.
fn interval(ends: &[u64], place: u64) -> Range<u64> {
    let end = |count: usize| ends.get(..count).unwrap_or(ends).last().copied().unwrap_or(0);
    let place = usize::try_from(place).unwrap_or(usize::MAX);
    end(place)..end(place.saturating_add(1))
}
