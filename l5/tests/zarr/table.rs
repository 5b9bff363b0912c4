//! L5 data sets are imported into a table and exported again.

use crate::common::{chains::chains_of, l5::records, shared_path};
use tetrys::{Preset, Store, WriteOptions, ingest::IngestOptions};
use tetrys_l5::{Dataset, GeneratorSettings, export_table, ingest};

const ARRAYS: [&str; 4] = ["scenes", "frames", "agents", "traffic_light_faces"];

#[tokio::test(flavor = "multi_thread")]
async fn a_data_set_becomes_a_table_and_comes_back_record_for_record() {
    for name in ["single_scene.zarr", "multi_scene.zarr", "oldformat_v1.zarr"] {
        let Some(source) = shared_path(&format!("l5/artefacts/{name}")) else { return };
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("table");
        let store = Store::open(root.to_str().unwrap()).unwrap();
        let dataset = Dataset::open(&source).unwrap();
        let table = ingest(&dataset, store, &IngestOptions::default(), |_| {}).await.unwrap();
        assert_eq!(table.rows(), dataset.frames_len());
        assert_eq!(table.manifest().sequences(), dataset.scenes().iter().filter(|scene| !scene.frames.is_empty()).count() as u64);
        let verified = table.storage().verify(|_, _| {}).await.unwrap();
        assert!(verified.damage.is_empty(), "{:?}", verified.damage);
        let back = folder.path().join("back.zarr");
        export_table(&table, &back, |_| {}).await.unwrap();
        for array in ARRAYS.into_iter().filter(|array| source.join(array).exists()) {
            assert_eq!(records(&back, array), records(&source, array), "{name}: {array}");
        }
        assert!(
            walk(&root).iter().all(|(path, _)| !path.starts_with(root.join("sessions"))),
            "a finished session leaves no object"
        );
        let stored = stored(&source);
        println!("{name}: {} of {stored} = {:.3}", size(&root), size(&root) as f64 / stored as f64);
        // In a directory, `balanced` takes LZ4 as the arrays do. The table has an index, hashes and layouts on top.
        assert!(size(&root) * 10 <= stored * 11, "{name}: the table takes {} bytes, the arrays {stored}", size(&root));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn scenes_without_frames_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("made.zarr");
    GeneratorSettings { scenes: 2, frames_per_scene: 5, chunk_len: 10, ..Default::default() }.generate(&source).unwrap();
    // An array without a compressor is easy to change: the first scene loses its frames to the second.
    let meta = std::fs::read_to_string(source.join("scenes/.zarray")).unwrap();
    let mut meta: serde_json::Value = serde_json::from_str(&meta).unwrap();
    meta["compressor"] = serde_json::Value::Null;
    let mut scenes = records(&source, "scenes");
    let len = scenes.len() / 2;
    scenes[8..16].fill(0);
    scenes[len..len + 8].fill(0);
    scenes.resize(len * 10, 0);
    std::fs::write(source.join("scenes/.zarray"), meta.to_string()).unwrap();
    std::fs::write(source.join("scenes/0"), &scenes).unwrap();
    let store = Store::open(folder.path().join("table").to_str().unwrap()).unwrap();
    let table = ingest(&Dataset::open(&source).unwrap(), store, &IngestOptions::default(), |_| {}).await.unwrap();
    let back = folder.path().join("back.zarr");
    export_table(&table, &back, |_| {}).await.unwrap();
    let frames: Vec<_> = Dataset::open(&back).unwrap().scenes().iter().map(|scene| scene.frames.clone()).collect();
    assert_eq!(frames, [0..0, 0..10]);
    assert_eq!(records(&back, "scenes"), records(&source, "scenes"));
}

/// Returns the bytes of all files in a folder.
fn size(path: &std::path::Path) -> u64 {
    walk(path).iter().map(|(_, bytes)| bytes).sum()
}

/// Returns the bytes of the four arrays of a data set.
fn stored(source: &std::path::Path) -> u64 {
    ARRAYS.iter().filter(|array| source.join(array).exists()).map(|array| size(&source.join(array))).sum()
}

fn walk(path: &std::path::Path) -> Vec<(std::path::PathBuf, u64)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(walk(&entry.path())),
            false => found.push((entry.path(), entry.metadata().unwrap().len())),
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn each_column_costs_little_more_than_with_the_best_chain_that_its_preset_allows() {
    let folder = tempfile::tempdir().unwrap();
    // The data set that `benches/ingest.rs` generates.
    let generated = folder.path().join("generated.zarr");
    GeneratorSettings { seed: 11, scenes: 3, ..GeneratorSettings::default() }.generate(&generated).unwrap();
    let real = ["single_scene.zarr", "multi_scene.zarr"].map(|name| shared_path(&format!("l5/artefacts/{name}")));
    for (number, source) in real.into_iter().flatten().chain([generated]).enumerate() {
        for preset in [Preset::Balanced, Preset::Compact] {
            let root = folder.path().join(format!("{preset}{number}"));
            let store = Store::open(root.to_str().unwrap()).unwrap();
            let write = WriteOptions::default().preset(preset);
            let settings = IngestOptions { write, ..IngestOptions::default() };
            let table = ingest(&Dataset::open(&source).unwrap(), store, &settings, |_| {}).await.unwrap();
            let found = chains_of(&table, &root, preset).await;
            found.iter().for_each(|taken| println!("{}, {preset}: {:+.2} %: {taken:?}", source.display(), taken.more()));
            // `balanced` leaves plain values, which are read without a copy, only for a 16th of the cost.
            let most = if preset == Preset::Balanced { 100.0 / 15.0 } else { 2.0 };
            assert!(found.len() > 8 && found.iter().all(|taken| taken.more() <= most), "{}: {found:#?}", source.display());
            if preset == Preset::Compact {
                println!("{}: {:.3} of the arrays", source.display(), size(&root) as f64 / stored(&source) as f64);
                assert!(size(&root) * 10 <= stored(&source) * 9, "{}: the table takes {} bytes", source.display(), size(&root));
            }
        }
    }
}
