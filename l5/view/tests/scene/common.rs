//! Level 5 tables and a map for these tests, and what they share with those of the viewer.

#[path = "../../../../view/tests/common/asking.rs"]
mod asking;
#[path = "../../../../tests/common/environment.rs"]
pub(crate) mod environment;

use std::path::Path;

use tetrys::{Store, Table, ingest::IngestOptions};
use tetrys_l5::{Dataset, ingest};
use tetrys_l5_view::{SceneMap, with_scene};
use tetrys_view::{Options, Server, Source};

pub(crate) use asking::*;
use environment::shared_path;

/// Ingests a recorded data set into a folder.
pub(crate) async fn table(folder: &Path, zarr: &str) -> Option<Table> {
    let dataset = Dataset::open(shared_path(&format!("l5/artefacts/{zarr}"))?).unwrap();
    let store = Store::open(folder.join("table").to_str().unwrap()).unwrap();
    Some(ingest(&dataset, store, &IngestOptions::default(), |_| {}).await.unwrap())
}

/// Returns the synthetic map, whose lights are those of the recorded data.
pub(crate) fn map() -> Option<SceneMap> {
    let (map, meta) = (shared_path("l5/golden/synth_semantic_map.pb")?, shared_path("l5/artefacts/meta.json")?);
    Some(SceneMap::read(map, Some(&meta)).unwrap())
}

pub(crate) async fn served(sources: Vec<Source>, map: Option<&SceneMap>) -> Server {
    let sources = sources.into_iter().map(|source| with_scene(source, map).unwrap()).collect();
    Server::start(sources, Options::default()).await.unwrap()
}
