//! Reads the parts of a row: the ego car, the poses of the agents, their velocities and labels, the traffic lights, and the rows around it.
//! Each part is read for itself, so that one that is damaged does not hide the others. A picture takes as many requests as these column
//! groups, however large the table is.

use std::{
    fmt::Display,
    ops::{Range, RangeInclusive},
    sync::Arc,
};

use arrow_array::{Array, RecordBatch};
use futures::future::{join, join_all};
use serde_json::{Value, json};
use tetrys::{Error, ErrorKind, Result, RowLoader, Rows, Table};
use tetrys_l5::{arrays::Agents, reading::FrameRows};
use tetrys_view::{Ground, Scene, SceneAnswer, SceneRow};
use tokio::sync::{Mutex, Semaphore};

use crate::{
    ground::SceneMap,
    picture::{self, Around},
};

/// The parts of a row: how failures name them, and their columns.
const PARTS: [(&str, &[&str]); 5] = [
    ("ego", &["ego.translation", "ego.rotation"]),
    ("agents", &["agents.pose.centroid", "agents.pose.yaw", "agents.pose.extent", "agents.pose.track_id"]),
    ("velocity", &["agents.velocity"]),
    ("labels", &["agents.label_probabilities"]),
    ("lights", &["tl_faces.face_id", "tl_faces.traffic_light_id", "tl_faces.status"]),
];
const EGO: usize = 0;
const AGENTS: usize = 1;
const VELOCITY: usize = 2;
const LABELS: usize = 3;
const LIGHTS: usize = 4;

/// How a map is given.
const HINT: &str = "No map: give one with `tetrys view --l5-map FILE` or `tt.view(.., l5_map=FILE)`, or attach semantic_map.pb and meta.json \
                    to the table.";

/// The map that tables have as attachments, or why it cannot be read.
type Attached = std::result::Result<Option<SceneMap>, (ErrorKind, String)>;

/// Level 5 frames from above.
#[derive(Debug)]
pub(crate) struct FrameScene {
    /// The table, or those of a merge.
    tables: Arc<[Table]>,
    /// The loader of each part; `None` if the source lacks a column of it.
    loaders: Vec<Option<RowLoader>>,
    given: Option<SceneMap>,
    /// The map of the tables, once it was read. Whoever reads it holds the lock.
    attached: Arc<Mutex<Option<Attached>>>,
    /// The right to look up the ground. Work on a blocking thread keeps it until it ends, also when its request is gone.
    grounds: Arc<Semaphore>,
}

/// The requests and bytes of a read.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    requests: u64,
    bytes: u64,
}

/// A part of a row that was read.
struct Part {
    frames: FrameRows,
    /// Which of its rows there are.
    there: Vec<bool>,
    bytes: u64,
}

impl FrameScene {
    /// Takes the loader of a source that has the columns of Level 5 frames.
    pub(crate) fn new(tables: Arc<[Table]>, loader: &RowLoader, given: Option<SceneMap>) -> Result<Self> {
        let part = |(_, columns): &(&str, &[&str])| {
            let has = |column: &&str| loader.column_names().any(|name| name == *column);
            columns.iter().all(has).then(|| loader.clone().columns(*columns)).transpose()
        };
        let loaders: Vec<_> = PARTS.iter().map(part).collect::<Result<_>>()?;
        Ok(Self { tables, loaders, given, attached: Arc::default(), grounds: Arc::new(Semaphore::new(1)) })
    }

    fn loader(&self, part: usize) -> Option<&RowLoader> {
        self.loaders.get(part).and_then(Option::as_ref)
    }

    /// Returns the map: the one that was given, or that of the tables. A damaged one is not read again.
    async fn map(&self) -> Result<Option<SceneMap>> {
        if let Some(map) = &self.given {
            return Ok(Some(map.clone()));
        }
        let mut attached = Arc::clone(&self.attached).lock_owned().await;
        if attached.is_none() {
            let tables = Arc::clone(&self.tables);
            // A task of its own reads it to its end also when the request is gone, so that the next one finds it.
            let read = tokio::spawn(async move {
                *attached = Some(read_attached(&tables).await?);
                Ok::<_, Error>(attached)
            });
            attached = read.await.map_err(|error| Error::internal(format!("the map of a table: {error}")))??;
        }
        match attached.clone() {
            Some(Ok(map)) => Ok(map),
            Some(Err((ErrorKind::NotFound, message))) => Err(Error::not_found(message)),
            Some(Err((ErrorKind::Invalid, message))) => Err(Error::invalid(message)),
            Some(Err((_, message))) => Err(Error::corrupt(message)),
            None => Err(Error::internal("the map of a table was not read")),
        }
    }

    /// Reads a part of a row alone.
    async fn part(&self, part: usize, row: u64) -> Option<Result<Part>> {
        let loader = self.loader(part)?;
        Some(async { decoded(loader.take(&[row]).await?, part) }.await)
    }

    /// Reads a part of the rows around a row.
    async fn window(&self, part: usize, asked: SceneRow<'_>) -> Option<Result<Part>> {
        let loader = self.loader(part)?;
        Some(async { decoded(loader.get_rows(asked.row, window_of(asked)).await?, part) }.await)
    }

    /// Returns the requests and bytes that a read of some parts will take.
    async fn cost(&self, parts: Range<usize>, row: u64, window: RangeInclusive<i64>) -> Cost {
        let mut cost = Cost::default();
        for loader in parts.filter_map(|part| self.loader(part)) {
            // What cannot be explained cannot be read, which the read says.
            if let Ok(explained) = loader.explain(row, window.clone()).await {
                cost.requests += explained.requests as u64;
                cost.bytes += explained.bytes;
            }
        }
        cost
    }

    async fn answer(&self, asked: SceneRow<'_>) -> Result<Value> {
        let most = |bytes: u64| match bytes <= asked.most_bytes {
            true => Ok(()),
            false => Err(Error::invalid(format!(
                "row {} and the rows around it take {:.1} MB: a picture takes at most {} MB",
                asked.row,
                bytes as f64 / 1e6,
                asked.most_bytes / 1_000_000
            ))),
        };
        let mut cost = self.cost(0..PARTS.len(), asked.row, 0..=0).await;
        most(cost.bytes)?;
        let mut failures = Failures::default();
        let map = failures.keep("map", self.map().await).flatten();
        let mut parts: Vec<Option<Part>> = Vec::new();
        for ((name, _), read) in PARTS.iter().zip(join_all((0..PARTS.len()).map(|part| self.part(part, asked.row))).await) {
            parts.push(read.and_then(|read| failures.keep(name, read)));
        }
        let here = |part: usize| parts.get(part).and_then(Option::as_ref).filter(|part| part.there.first() == Some(&true));
        let mut scene = picture::nothing();
        let mut set = |name: &str, value: Value| drop(scene.insert(name.to_owned(), value));
        set("facts", picture::facts(asked.index));
        set("there", parts.iter().flatten().any(|part| part.there.first() == Some(&true)).into());
        set("map", map.is_some().into());
        set("hint", if map.is_none() { HINT.into() } else { Value::Null });
        if let Some(ego) = here(EGO) {
            set("ego", picture::ego(&ego.frames, 0));
        }
        let mut agents = Agents::default();
        if let Some(poses) = here(AGENTS) {
            agents = failures.keep("agents", poses.frames.agents(0)).unwrap_or_default();
            if let Some(read) = here(VELOCITY) {
                let found = read.frames.agents(0).and_then(|other| same_len(other.velocities, agents.centroids.len()));
                agents.velocities = failures.keep("velocity", found).unwrap_or_default();
            }
            if let Some(read) = here(LABELS) {
                let found = read.frames.agents(0).and_then(|other| same_len(other.label_probabilities, agents.centroids.len()));
                agents.label_probabilities = failures.keep("labels", found).unwrap_or_default();
            }
        }
        set("agents", picture::agents(&agents));
        set("agent_count", agents.centroids.len().into());
        if let Some(lights) = here(LIGHTS)
            && let Some(faces) = failures.keep("lights", lights.frames.faces(0))
        {
            set("lights", picture::lights(&faces, map.as_ref()));
            set("light_count", faces.len().into());
        }
        if asked.before + asked.after > 0 {
            // Decoded, the rows around take about as much as this one.
            let bytes: u64 = [EGO, AGENTS].into_iter().filter_map(&here).map(|part| part.bytes).sum();
            most(bytes.saturating_mul(asked.before + asked.after + 1))?;
            let more = self.cost(EGO..AGENTS + 1, asked.row, window_of(asked)).await;
            most(more.bytes)?;
            cost = Cost { requests: cost.requests + more.requests, bytes: cost.bytes + more.bytes };
            let (ego, poses) = join(self.window(EGO, asked), self.window(AGENTS, asked)).await;
            let ego = ego.and_then(|read| failures.keep("around", read));
            let poses = poses.and_then(|read| failures.keep("around", read));
            let around = Around {
                before: asked.before as usize,
                after: asked.after as usize,
                ego: ego.as_ref().map(|part| (&part.frames, part.there.as_slice())),
                poses: poses.as_ref().map(|part| (&part.frames, part.there.as_slice())),
            };
            if around.ego.is_some() || around.poses.is_some() {
                set("around", failures.keep("around", picture::around(&around, &agents)).unwrap_or_default());
            }
        }
        set("read", json!({"requests": cost.requests, "bytes": cost.bytes}));
        set("failures", failures.0.into());
        Ok(scene.into())
    }
}

impl Scene for FrameScene {
    fn row<'a>(&'a self, asked: SceneRow<'a>) -> SceneAnswer<'a> {
        Box::pin(self.answer(asked))
    }

    fn ground(&self, around: Ground) -> SceneAnswer<'_> {
        Box::pin(async move {
            let Some(map) = self.map().await? else {
                return Err(Error::not_found("no map was given, and the table has none"));
            };
            let failed = |error: &dyn Display| Error::internal(format!("the ground of a picture: {error}"));
            let turn = Arc::clone(&self.grounds).acquire_owned().await.map_err(|error| failed(&error))?;
            let work = move || {
                let found = map.around(around);
                drop(turn);
                found
            };
            tokio::task::spawn_blocking(work).await.map_err(|error| failed(&error))
        })
    }
}

/// Reads the map that tables have as attachments. An error that may pass is an error here too; another one is kept in place of the map.
async fn read_attached(tables: &[Table]) -> Result<Attached> {
    match SceneMap::of_attachments(tables).await {
        Ok(map) => Ok(Ok(map)),
        Err(error) if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Denied | ErrorKind::Conflict) => Err(error),
        Err(error) => Ok(Err((error.kind(), error.to_string()))),
    }
}

/// The errors of parts that could not be read: of each part the first.
#[derive(Default)]
struct Failures(serde_json::Map<String, Value>);

impl Failures {
    fn keep<T>(&mut self, part: &str, read: Result<T>) -> Option<T> {
        match read {
            Ok(read) => Some(read),
            Err(error) => {
                self.0.entry(part).or_insert_with(|| error.to_string().into());
                None
            }
        }
    }
}

fn window_of(asked: SceneRow<'_>) -> RangeInclusive<i64> {
    -asked.before.cast_signed()..=asked.after.cast_signed()
}

fn decoded(rows: Rows, part: usize) -> Result<Part> {
    let there = match PARTS.get(part).and_then(|(_, columns)| columns.first()) {
        Some(column) => rows.column_mask(column)?,
        None => rows.mask(),
    };
    Ok(Part { frames: FrameRows::of(rows.batch())?, there, bytes: size(rows.batch()) })
}

fn size(batch: &RecordBatch) -> u64 {
    let bytes = batch.columns().iter().map(|column| column.to_data().get_slice_memory_size().unwrap_or(usize::MAX));
    bytes.fold(0, usize::saturating_add) as u64
}

/// Checks that another column has as many agents as the poses.
fn same_len<T>(values: &[T], len: usize) -> Result<&[T]> {
    match values.len() == len {
        true => Ok(values),
        false => Err(Error::corrupt(format!("expected {len} agents as in their poses, found {}", values.len()))),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests may panic")]
mod tests {
    use tetrys::{Store, StoreOptions, WriteOptions, ingest::IngestOptions};
    use tetrys_l5::{Dataset, GeneratorSettings, ingest};
    use tetrys_s3_server::Server as S3;

    use super::*;

    #[test]
    fn a_map_is_read_once_also_when_the_first_request_for_it_is_given_up() {
        tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
            let s3 = S3::start();
            s3.create_bucket("data");
            let folder = tempfile::tempdir().unwrap();
            let zarr = folder.path().join("zarr");
            GeneratorSettings { scenes: 1, frames_per_scene: 5, ..Default::default() }.generate(&zarr).unwrap();
            let store = Store::open_with("s3://data/table", &StoreOptions::only(s3.options())).unwrap();
            let table = ingest(&Dataset::open(&zarr).unwrap(), store, &IngestOptions::default(), |_| {}).await.unwrap();
            let writer = table.append(WriteOptions::default()).await.unwrap();
            // A message with an unknown field: a map without elements.
            writer.attach("semantic_map.pb", vec![0x78, 1]).await.unwrap();
            let matrix = r#"{"world_to_ecef": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]}"#;
            writer.attach("meta.json", matrix.as_bytes().to_vec()).await.unwrap();
            let table = writer.commit([]).await.unwrap();
            let table = Table::open_version_in(table.store().clone(), table.version()).await.unwrap();
            let scene = FrameScene::new([table.clone()].into(), &table.row_loader(), None).unwrap();
            s3.take_requests();
            let mut keys = Vec::new();
            let mut take = || {
                keys.extend(s3.take_requests().into_iter().map(|request| request.key).filter(|key| key.contains("attachments")));
                keys.len()
            };
            {
                let mut map = std::pin::pin!(scene.map());
                while take() == 0 && futures::poll!(map.as_mut()).is_pending() {
                    tokio::task::yield_now().await;
                }
            }
            assert!(scene.map().await.unwrap().is_some());
            assert_eq!(take(), 2, "the map and its meta.json");
        });
    }
}
