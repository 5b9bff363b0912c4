//! The frames around several positions, read with one plan.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use futures::{StreamExt, TryStreamExt, stream};
use tetrys::{Error, Offsets, Result, RowLoader};

use super::{
    columns::{Columns, Poses},
    frames::{FrameTable, Source},
    scene_cache::{SceneCache, decode},
    wanted::Wanted,
};
use crate::{
    arrays::{Agents, Faces, Frames},
    parallel,
};

/// Scenes that are read at a time.
const AT_ONCE: usize = 16;

/// The frames around several positions. A window ends at the ends of its scene.
#[derive(Clone, Debug)]
pub struct FrameWindows {
    wanted: Wanted,
    /// The frames of each window, as positions in the table, and the position that it is around.
    windows: Vec<(Range<u64>, u64)>,
    /// The times of the frames of all windows, and where those of each window begin.
    timestamps: Vec<i64>,
    starts: Vec<usize>,
    data: Data,
}

#[derive(Clone, Debug)]
enum Data {
    /// Windows that were read: the rows of each window follow each other, and missing frames have rows too.
    Read(Box<Columns>),
    /// The columns that hold the frames of each window, and the row of its first frame.
    InMemory(Vec<(Arc<Columns>, usize)>),
}

/// The first rows of a window in the columns of each part.
struct FirstRows {
    ego: usize,
    agents: usize,
    labels: usize,
    /// Row of the current frame.
    faces: usize,
}

/// Memory that [`FrameWindows::frames`] uses again for each window.
#[derive(Debug, Default)]
pub struct Scratch<'a> {
    agent_bounds: Vec<usize>,
    face_bounds: Vec<usize>,
    face_ids: Vec<&'a str>,
    traffic_light_ids: Vec<&'a str>,
}

impl FrameTable {
    /// Reads the frames around several positions with one plan: one byte range for each column group and window, two at the end of a
    /// chunk.
    ///
    /// # Errors
    /// - `NotFound`: a position is not in the table.
    /// - `Corrupt`: stored data is damaged.
    /// - Errors of the store.
    pub async fn windows(&self, positions: &[u64], wanted: Wanted) -> Result<FrameWindows> {
        let windows = positions.iter().map(|position| self.window(*position, wanted)).collect::<Result<Vec<_>>>()?;
        let wanted = Wanted { faces: wanted.faces && self.has_faces(), ..wanted };
        let data = match &self.source {
            Source::Table(rows, None) => Data::Read(Box::new(read(rows, positions, wanted, 0).await?)),
            Source::Table(_, Some(cache)) | Source::Zarr(_, cache) => Data::InMemory(self.scenes_of(cache, &windows).await?),
            Source::Memory(columns) => {
                Data::InMemory(windows.iter().map(|(frames, _)| (Arc::clone(columns), frames.start as usize)).collect())
            }
        };
        let (mut timestamps, mut starts) = (Vec::new(), vec![0]);
        for (frames, _) in &windows {
            timestamps.extend_from_slice(&self.timestamps()[frames.start as usize..frames.end as usize]);
            starts.push(timestamps.len());
        }
        Ok(FrameWindows { wanted, windows, timestamps, starts, data })
    }

    /// Returns the scene of each window and the row of its first frame in it. Reads the scenes that are not in the cache.
    async fn scenes_of(&self, cache: &SceneCache, windows: &[(Range<u64>, u64)]) -> Result<Vec<(Arc<Columns>, usize)>> {
        let mut scenes: BTreeMap<u64, (Range<u64>, Option<Arc<Columns>>)> = BTreeMap::new();
        for (_, position) in windows {
            let scene = self.frames_of_scene(*position)?;
            scenes.entry(scene.start).or_insert_with(|| (scene.clone(), cache.get(scene.start)));
        }
        let missing: Vec<Range<u64>> =
            scenes.values().filter(|(_, cached)| cached.is_none()).map(|(scene, _)| scene.clone()).collect();
        for (scene, columns) in missing.iter().zip(self.load(&missing).await?) {
            let columns = Arc::new(columns);
            cache.put(scene.start, &columns);
            if let Some((_, cached)) = scenes.get_mut(&scene.start) {
                *cached = Some(columns);
            }
        }
        let found = windows.iter().map(|(frames, position)| {
            let scene = self.frames_of_scene(*position)?;
            let cached = scenes.get(&scene.start).and_then(|(_, cached)| cached.clone());
            let cached = cached.ok_or_else(|| Error::internal(format!("the scene of frame {position} was not read")))?;
            Ok((cached, (frames.start - scene.start) as usize))
        });
        found.collect()
    }

    /// Reads or decodes whole scenes, by the frames that they have.
    async fn load(&self, scenes: &[Range<u64>]) -> Result<Vec<Columns>> {
        match &self.source {
            Source::Table(rows, _) => {
                let read = |scene: Range<u64>| {
                    let wanted = Wanted { faces: self.has_faces(), ..Wanted::scene(&scene) };
                    async move { read(rows, &[scene.end - 1], wanted, wanted.history).await }
                };
                stream::iter(scenes.to_vec()).map(read).buffered(AT_ONCE).try_collect().await
            }
            Source::Zarr(dataset, _) => {
                let share = scenes.len().div_ceil(parallel::threads(0)).max(1);
                let decoded = parallel::each(scenes.chunks(share), |scenes| {
                    scenes.iter().map(|scene| decode(dataset, scene.clone())).collect::<Result<Vec<_>>>()
                });
                Ok(decoded?.into_iter().flatten().collect())
            }
            Source::Memory(_) => Err(Error::internal("arrays in memory have no scenes to load")),
        }
    }

    /// Returns the frames of the scene of a position.
    fn frames_of_scene(&self, position: u64) -> Result<Range<u64>> {
        let (scene, _) = self.scene_of(position)?;
        Ok(self.scenes().get(scene).map_or(0..0, |scene| scene.frames.clone()))
    }

    /// Returns the frames of the window around a position, and the position.
    fn window(&self, position: u64, wanted: Wanted) -> Result<(Range<u64>, u64)> {
        let (scene, number) = self.scene_of(position)?;
        let end = self.scenes().get(scene).map_or(0, |scene| scene.frames.end);
        let start = position - number.min(wanted.history) as u64;
        Ok((start..position.saturating_add(wanted.future as u64).saturating_add(1).min(end), position))
    }
}

fn offsets(history: usize, future: usize) -> Result<Offsets> {
    let far =
        |frames: usize| i64::try_from(frames).map_err(|_| Error::invalid(format!("{frames} frames: expected fewer than 2^63")));
    Offsets::try_from(-far(history)?..=far(future)?)
}

/// Reads the columns around positions of a table, each part in its own window, with one plan.
/// Faces are read of `faces_history` frames before a position too.
async fn read(rows: &RowLoader, positions: &[u64], wanted: Wanted, faces_history: usize) -> Result<Columns> {
    let mut parts: Vec<(&str, Offsets)> = vec![("ego.*", offsets(wanted.history, wanted.future)?)];
    if let Some(future) = wanted.agents {
        parts.push(("agents.pose.*", offsets(wanted.history, future)?));
    }
    if wanted.labels {
        parts.push(("agents.label_probabilities", offsets(wanted.history, 0)?));
    }
    if wanted.faces {
        parts.push(("tl_faces.*", offsets(faces_history, 0)?));
    }
    let read = rows.get_parts_of_windows(positions, parts).await?;
    let column = |name: &str| {
        let column = read.iter().find_map(|part| part.rows().batch().column_by_name(name));
        column.cloned().ok_or_else(|| Error::internal(format!("column `{name}` was not read")))
    };
    Columns::of(&column, &wanted)
}

impl FrameWindows {
    /// Returns the number of windows.
    pub fn len(&self) -> usize {
        self.windows.len()
    }

    /// Whether there are no windows.
    pub fn is_empty(&self) -> bool {
        self.windows.is_empty()
    }

    /// Returns the frames of a window in the order of time, and the place in them of the frame that the window is around.
    ///
    /// # Errors
    /// - `Corrupt`: the columns of the agents have different lengths.
    ///
    /// # Panics
    /// If there is no such window.
    pub fn frames<'a: 's, 's>(&'a self, window: usize, scratch: &'s mut Scratch<'a>) -> Result<(Frames<'s>, usize)> {
        let (frames, position) = &self.windows[window];
        let (current, len) = ((position - frames.start) as usize, (frames.end - frames.start) as usize);
        let Wanted { history, future, agents: agents_future, .. } = self.wanted;
        let (columns, first) = match &self.data {
            Data::InMemory(scenes) => {
                let (columns, row) = &scenes[window];
                (&**columns, FirstRows { ego: *row, agents: *row, labels: *row, faces: row + current })
            }
            Data::Read(columns) => {
                let row = |rows: usize| window * rows + history - current;
                let agents = row(history + 1 + agents_future.unwrap_or(0));
                (&**columns, FirstRows { ego: row(history + 1 + future), agents, labels: row(history + 1), faces: window })
            }
        };
        scratch.agent_bounds.clear();
        let mut agents = Agents::default();
        if let (Some(poses), Some(future)) = (&columns.agents, agents_future) {
            agents = poses.agents(first.agents..first.agents + len.min(current + 1 + future), &mut scratch.agent_bounds)?;
            // Frames after those whose agents were read have none.
            scratch.agent_bounds.resize(len + 1, agents.track_ids.len());
        }
        if let (Some(labels), true) = (&columns.labels, self.wanted.labels) {
            let records = labels.records(first.labels).start..labels.records(first.labels + current).end;
            agents.label_probabilities = labels.of(records).as_chunks::<17>().0;
        }
        scratch.face_bounds.clear();
        scratch.face_ids.clear();
        scratch.traffic_light_ids.clear();
        let mut statuses = &[][..];
        if let (Some(faces), true) = (&columns.faces, self.wanted.faces) {
            scratch.face_ids.extend(faces.face_ids.row(first.faces));
            scratch.traffic_light_ids.extend(faces.traffic_light_ids.row(first.faces));
            statuses = faces.statuses.of(faces.statuses.records(first.faces)).as_chunks::<3>().0;
            let count = scratch.face_ids.len();
            // The current frame has all faces that were read.
            scratch.face_bounds.extend((0..=len).map(|frame| if frame <= current { 0 } else { count }));
        }
        let found = Frames {
            timestamps: &self.timestamps[self.starts[window]..self.starts[window + 1]],
            translations: columns.translations.of(first.ego..first.ego + len).as_chunks::<3>().0,
            rotations: columns.rotations.of(first.ego..first.ego + len).as_chunks::<3>().0.as_chunks::<3>().0,
            agent_bounds: &scratch.agent_bounds,
            agents,
            face_bounds: &scratch.face_bounds,
            faces: Faces { face_ids: &scratch.face_ids, traffic_light_ids: &scratch.traffic_light_ids, statuses },
        };
        Ok((found, current))
    }
}

impl Poses {
    /// Returns the agents of some rows, and appends where the agents of each row begin.
    pub(super) fn agents(&self, rows: Range<usize>, bounds: &mut Vec<usize>) -> Result<Agents<'_>> {
        let all = |first: Range<usize>, last: Range<usize>| first.start..last.end;
        let (first, last) = (rows.start, rows.end - 1);
        let records = all(self.track_ids.records(first), self.track_ids.records(last));
        bounds.push(0);
        bounds.extend(rows.map(|row| self.track_ids.records(row).end - records.start));
        let others = [
            all(self.centroids.records(first), self.centroids.records(last)),
            all(self.extents.records(first), self.extents.records(last)),
            all(self.yaws.records(first), self.yaws.records(last)),
        ];
        if others.iter().any(|other| *other != records) {
            return Err(Error::corrupt("the columns of the agents have different numbers of agents in a frame"));
        }
        Ok(Agents {
            centroids: self.centroids.of(records.clone()).as_chunks::<2>().0,
            extents: self.extents.of(records.clone()).as_chunks::<3>().0,
            yaws: self.yaws.of(records.clone()),
            velocities: &[],
            track_ids: self.track_ids.of(records),
            label_probabilities: &[],
        })
    }
}
