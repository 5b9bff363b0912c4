//! Samples read from zarr groups, directories and S3: their values, and the requests that they cost.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use tetrys::{ErrorKind, Store, StoreOptions, Table, ingest::IngestOptions};
use tetrys_l5::{
    Dataset, Sampler, ingest,
    raster::{BoxRasterizer, Rasterizer, RenderContext},
    reading::{FrameTable, Wanted},
    sampling::{Kind, SampleSettings, SampleShape},
    zarr::source::ZarrGroup,
};
use tetrys_s3_server::Server;

use crate::{
    npz::{Npz, golden},
    samples::compare_all,
};

fn context() -> RenderContext {
    RenderContext::new([224, 224], [0.5, 0.5], [0.25, 0.5], true).unwrap()
}

fn sampler(kind: Kind, rasterizer: Rasterizer) -> Sampler {
    let raster_from_local = context().raster_from_local();
    Sampler {
        shape: SampleShape { history: 10, future: 50, kind },
        settings: SampleSettings { step_time: 0.1, filter_threshold: 0.5, raster_from_local },
        rasterizer,
        faces: true,
        threads: 2,
    }
}

/// Runs work that another thread could take over, as a runtime's threads do.
fn run<T>(work: impl Future<Output = T> + Send) -> T {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(work)
}

/// Returns a table on a new S3 server.
async fn on_s3(zarr: &str) -> Option<(Server, Table)> {
    let dataset = Dataset::open(golden(zarr)?).unwrap();
    let server = Server::start();
    server.create_bucket("data");
    let store = Store::open_with("s3://data/t", &StoreOptions::only(server.options())).unwrap();
    let table = ingest(&dataset, store, &IngestOptions::default(), |_| {}).await.unwrap();
    Some((server, table))
}

#[test]
fn samples_of_several_scenes_are_l5kits_from_zarr_and_from_s3() {
    run(async {
        let (Some(path), Some(wanted)) = (golden("artefacts/multi_scene.zarr"), Npz::golden("multi_ego_h10_f50.npz")) else {
            return;
        };
        let frames: Vec<u64> = wanted.i64("__dataset_index").iter().map(|index| index.rem_euclid(633) as u64).collect();
        let ego = sampler(Kind::Ego, Rasterizer::stub(context()));
        let direct = FrameTable::of_zarr(&Dataset::open(path).unwrap(), 64 << 20).unwrap();
        compare_all(&ego.ego(&direct, &frames).await.unwrap().samples, &wanted);
        let (_server, table) = on_s3("artefacts/multi_scene.zarr").await.unwrap();
        let stored = FrameTable::open(&table, 64 << 20).await.unwrap();
        assert_eq!(stored.scenes(), direct.scenes());
        assert_eq!((stored.agent_ends(), stored.face_ends()), (direct.agent_ends(), direct.face_ends()));
        compare_all(&ego.ego(&stored, &frames).await.unwrap().samples, &wanted);
    });
}

#[test]
fn agents_and_their_boxes_are_equal_from_zarr_and_from_s3_and_for_any_number_of_threads() {
    run(async {
        let Some(path) = golden("artefacts/multi_scene.zarr") else { return };
        let direct = FrameTable::of_zarr(&Dataset::open(path).unwrap(), 0).unwrap();
        let (_server, table) = on_s3("artefacts/multi_scene.zarr").await.unwrap();
        let stored = FrameTable::open(&table, 64 << 20).await.unwrap();
        let (counts, rejected) = stored.select_agents(&tetrys_l5::mask::Thresholds::new(0.5), 3, |_| {}).await.unwrap();
        assert_eq!(counts.len(), 52_578);
        assert!(rejected.total() > 40_000);
        let thresholds = tetrys_l5::mask::Thresholds::new(0.5);
        // Windows of several scenes, which have different lengths.
        let cold = FrameTable::open(&table, 0).await.unwrap();
        assert!(cold.select_agents(&thresholds, 4, |_| {}).await.unwrap() == (counts.clone(), rejected));
        for workers in [1, 2, 100] {
            let done = std::sync::Mutex::new(Vec::new());
            let progress = |frames| done.lock().unwrap().push(frames);
            let (found, reasons) = direct.select_agents(&thresholds, workers, progress).await.unwrap();
            assert!(found == counts && reasons == rejected, "{workers} workers");
            assert_eq!(done.into_inner().unwrap(), [248, 348, 385, 633], "the frames of each scene");
        }
        let mut stored_counts = Vec::new();
        let store = |found: &[[u32; 2]]| {
            stored_counts.extend_from_slice(found);
            Ok(())
        };
        let mask = stored.agents_mask(&thresholds, [10, 1], 2, store).await.unwrap();
        assert_eq!(stored_counts, counts);
        let valid: Vec<usize> = tetrys_l5::mask::valid_rows(&counts, 10, 1).collect();
        assert_eq!(mask.iter().enumerate().filter(|(_, valid)| **valid).map(|(row, _)| row).collect::<Vec<_>>(), valid);
        let full = || direct.agents_mask(&thresholds, [10, 1], 2, |_| Err(tetrys::Error::unavailable("the disk is full")));
        assert_eq!(full().await.unwrap_err().to_string(), "the disk is full");
        let rows: Vec<u64> = tetrys_l5::mask::valid_rows(&counts, 10, 1).step_by(97).map(|row| row as u64).collect();
        let boxes = BoxRasterizer { context: context(), threshold: 0.5, history: 10, render_ego_history: true };
        let agents = sampler(Kind::Agent, Rasterizer::boxes(boxes));
        let one = agents.agents(&direct, &rows).await.unwrap();
        for threads in [1, 2, 7, 100] {
            let agents = Sampler { threads, ..agents.clone() };
            assert_eq!(agents.agents(&stored, &rows).await.unwrap(), one, "{threads} threads");
            // Memory of another batch, which is larger, as large, or smaller, leaves nothing behind.
            for values in [one.images.len() + 7, one.images.len(), 7] {
                assert_eq!(
                    agents.agents_in(&stored, &rows, vec![f32::NAN; values]).await.unwrap(),
                    one,
                    "{threads} threads, {values} values"
                );
            }
        }
        assert!(one.images.iter().any(|value| *value > 0.0));
    });
}

#[test]
fn a_window_costs_one_range_for_each_group_and_two_at_the_end_of_a_chunk() {
    run(async {
        let Some((server, table)) = on_s3("artefacts/single_scene.zarr").await else { return };
        let cold = FrameTable::open(&table, 0).await.unwrap();
        let wanted = Wanted { history: 10, future: 50, agents: Some(50), labels: true, faces: true };
        // Layouts are read once.
        cold.windows(&[100], wanted).await.unwrap();
        for (frames, parts) in [(vec![100], 4), (vec![3], 4), (vec![247], 4)] {
            server.take_requests();
            let windows = cold.windows(&frames, wanted).await.unwrap();
            assert_eq!(windows.len(), frames.len());
            let requests = server.take_requests();
            assert!(requests.iter().all(|request| request.range.is_some()));
            assert!((1..=2 * parts).contains(&requests.len()), "{} requests for {parts} groups", requests.len());
            let ranges: Vec<_> = requests.iter().map(|request| (request.key.clone(), request.range)).collect();
            assert_eq!(ranges.len(), parts, "a scene lies in one chunk of each group: {ranges:?}");
        }
        // With a cache of all scenes, the same frames cost nothing any more.
        let warm = FrameTable::open(&table, 64 << 20).await.unwrap();
        warm.windows(&[100], wanted).await.unwrap();
        server.take_requests();
        warm.windows(&[100], wanted).await.unwrap();
        assert_eq!(server.take_requests().len(), 0);
        let ego = Wanted { history: 10, future: 50, ..Default::default() };
        server.take_requests();
        cold.windows(&[100], ego).await.unwrap();
        assert_eq!(server.take_requests().len(), 1, "a sample of the ego car reads its poses alone");
    });
}

/// Returns the files below a folder, with their names relative to it.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                found.push((name, std::fs::read(&path).unwrap()));
            }
        }
    }
    found
}

#[test]
fn a_zarr_group_and_a_zip_in_an_object_store_are_those_of_the_directory() {
    let Some(path) = golden("artefacts/multi_scene.zarr") else { return };
    let (server, files) = (Server::start(), files(&path));
    server.create_bucket("data");
    let open = |url: &str| Store::open_with(url, &StoreOptions::only(server.options())).unwrap();
    let mut zipped = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in &files {
        zipped.start_file(format!("sample.zarr/{name}"), zip::write::SimpleFileOptions::default()).unwrap();
        zipped.write_all(bytes).unwrap();
    }
    let zipped = zipped.finish().unwrap().into_inner();
    run(async {
        for (name, bytes) in &files {
            open("s3://data/sample.zarr").put_new(name, bytes.clone().into()).await.unwrap();
        }
        open("s3://data").put_new("sample.zarr.zip", zipped.into()).await.unwrap();
    });
    let local = Dataset::open(&path).unwrap();
    let rows = |dataset: &Dataset| dataset.rows(0..633).unwrap().collect::<tetrys::Result<Vec<_>>>().unwrap();
    let groups =
        [ZarrGroup::open_in(open("s3://data/sample.zarr")), ZarrGroup::open_zip_in(&open("s3://data"), "sample.zarr.zip")];
    for group in groups {
        let remote = Dataset::of(group.unwrap()).unwrap();
        assert_eq!(remote.group().arrays().unwrap(), local.group().arrays().unwrap());
        assert_eq!((remote.scenes(), remote.properties()), (local.scenes(), local.properties()));
        assert!(rows(&remote) == rows(&local), "{}", remote.group());
        run(async {
            // An ingest, and samples without one, inside a runtime.
            let folder = tempfile::tempdir().unwrap();
            let store = Store::open(folder.path().join("t").to_str().unwrap()).unwrap();
            let table = ingest(&remote, store, &IngestOptions::default(), |_| {}).await.unwrap();
            let ego = sampler(Kind::Ego, Rasterizer::stub(context()));
            let direct = FrameTable::of_zarr(&remote, 64 << 20).unwrap();
            let stored = FrameTable::open(&table, 64 << 20).await.unwrap();
            let frames = [0, 100, 300, 632];
            assert_eq!(ego.ego(&direct, &frames).await.unwrap(), ego.ego(&stored, &frames).await.unwrap());
        });
    }
    let nothing = ZarrGroup::open_in(open("s3://data/nothing.zarr")).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::Invalid);
    assert!(nothing.to_string().contains("s3://data/nothing.zarr: not a zarr group"), "{nothing}");
    assert_eq!(ZarrGroup::open_zip_in(&open("s3://data"), "nothing.zip").unwrap_err().kind(), ErrorKind::NotFound);
    let no_zip = ZarrGroup::open_zip_in(&open("s3://data/sample.zarr"), ".zgroup").unwrap_err();
    assert_eq!(no_zip.kind(), ErrorKind::Invalid, "{no_zip}");
}
