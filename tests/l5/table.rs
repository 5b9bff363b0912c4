//! L5 data sets through a table and back.

use crate::common::{l5::records, shared_path};
use tetrys::{
    Preset, Store,
    format::{BlockDirectory, PagePlace, decode_page, encode_page, page_range},
    ingest::l5::{Dataset, IngestSettings, export_table, ingest},
};

const ARRAYS: [&str; 4] = ["scenes", "frames", "agents", "traffic_light_faces"];

#[tokio::test(flavor = "multi_thread")]
async fn a_data_set_becomes_a_table_and_comes_back_record_for_record() {
    for name in ["single_scene.zarr", "multi_scene.zarr", "oldformat_v1.zarr"] {
        let Some(source) = shared_path(&format!("l5/artefacts/{name}")) else { return };
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("table");
        let store = Store::open(root.to_str().unwrap()).unwrap();
        let dataset = Dataset::open(&source).unwrap();
        let table = ingest(&dataset, store, &IngestSettings::default(), |_| {}).await.unwrap();
        assert_eq!(table.rows(), dataset.frames_len());
        assert_eq!(table.manifest().sequences(), dataset.scenes().iter().filter(|scene| !scene.frames.is_empty()).count() as u64);
        let verified = table.verify(|_, _| {}).await.unwrap();
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
        let size = |path: &std::path::Path| -> u64 { walk(path).iter().map(|(_, bytes)| bytes).sum() };
        let stored: u64 = ARRAYS.iter().filter(|array| source.join(array).exists()).map(|array| size(&source.join(array))).sum();
        println!("{name}: {} of {stored} = {:.3}", size(&root), size(&root) as f64 / stored as f64);
        assert!(size(&root) * 10 <= stored * 9, "{name}: the table takes {} bytes, the arrays {stored}", size(&root));
    }
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

/// The choice sees the first block of a chunk, the other blocks have to be like it.
#[tokio::test(flavor = "multi_thread")]
async fn all_columns_are_within_two_percent_of_their_best_chains_and_each_within_six() {
    let Some(source) = shared_path("l5/artefacts/single_scene.zarr") else { return };
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("table").to_str().unwrap()).unwrap();
    let table = ingest(&Dataset::open(&source).unwrap(), store, &IngestSettings::default(), |_| {}).await.unwrap();
    let mut found = Vec::new();
    for (number, group) in table.schema().groups().iter().enumerate() {
        let columns: Vec<_> = group.columns.iter().map(|id| table.schema().column(*id).unwrap().clone()).collect();
        let layout = table.layout(number).await.unwrap();
        for (page, column) in columns.iter().enumerate() {
            let candidates = Preset::Balanced.candidates(&column.ty).unwrap();
            let (mut taken, mut best) = (0, 0);
            for run in layout.runs() {
                let chunk = bytes::Bytes::from(std::fs::read(folder.path().join("table").join(run.chunk.object_name())).unwrap());
                let mut sums = vec![0; candidates.len()];
                let mut start = run.first_offset as usize;
                for block in 0..run.lengths.len() {
                    let bytes = chunk.slice(start..start + 8 * run.lengths.get(block) as usize);
                    start += bytes.len();
                    let ordinal = run.first_block + block as u32;
                    let directory = BlockDirectory::parse(&bytes, run.seed, ordinal, columns.len()).unwrap();
                    let range = page_range(&directory, page).unwrap();
                    taken += range.len();
                    let (rows, chain, ty) = (directory.rows, &run.chains[page], &column.ty);
                    let place = PagePlace { seed: run.seed, ordinal, page: page as u16, rows, ty, chain };
                    let plain = decode_page(bytes.slice(range), place).unwrap().to_canonical();
                    for (sum, chain) in sums.iter_mut().zip(&candidates) {
                        *sum += encode_page(chain, &plain).unwrap().stored_len();
                    }
                }
                best += sums.into_iter().min().unwrap();
            }
            found.push((column.name.clone(), taken, best, 100.0 * (taken as f64 / best as f64 - 1.0)));
        }
    }
    let sum = |of: fn(&(String, usize, usize, f64)) -> usize| found.iter().map(of).sum::<usize>();
    assert!(found.len() > 8 && 100 * sum(|column| column.1) <= 102 * sum(|column| column.2), "{found:#?}");
    // One column's first block is not quite like the others (`agents.pose.yaw`, 5.1 %).
    assert!(found.iter().all(|(_, taken, best, _)| 100 * taken <= 106 * best), "{found:#?}");
}
