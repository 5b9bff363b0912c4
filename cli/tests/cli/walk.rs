//! The walk of the README: a data set in, a window out, its cost, a check, and the data set back.

use crate::common;
use std::path::Path;

use crate::binary::{arrays, tetrys};
use tetrys::Table;

#[test]
fn the_walk_on_generated_data() {
    let folder = tempfile::tempdir().unwrap();
    tetrys(folder.path(), "generate l5 own.zarr --scenes 3 --frames 60 --agents 30 --mask").ok();
    walk(folder.path(), &folder.path().join("own.zarr"), 100);
}

#[test]
fn the_walk_on_recorded_data() {
    let Some(zarr) = common::shared_path("l5/artefacts/single_scene.zarr") else { return };
    let folder = tempfile::tempdir().unwrap();
    walk(folder.path(), &zarr, 120);
}

fn walk(folder: &Path, zarr: &Path, row: u64) {
    let told = tetrys(folder, &format!("ingest l5 {} scene", zarr.display())).ok();
    assert!(told.contains("rows") && told.contains("of what came in"), "{told}");

    let info = tetrys(folder, "info scene --json").json();
    assert_eq!(info["version"], 1);
    assert_eq!(info["column_groups"][1]["name"], "agents.pose");

    let patterns = "--columns agents.* --columns ego.* --offsets=-10..=0";
    let told = tetrys(folder, &format!("get scene {row} {patterns} --out rows")).ok();
    assert!(told.starts_with(&format!("rows: rows {}..={row}, all 11 exist\n", row - 10)), "{told}");
    compare(folder, row);

    let plan = tetrys(folder, &format!("explain scene {row} --columns agents.pose.* --offsets=-10..=0 --json")).json();
    assert_eq!((&plan["ranges"], &plan["requests"], &plan["hops"]), (&1.into(), &1.into(), &1.into()));
    assert_eq!(plan["groups"][0]["name"], "agents.pose");
    assert!(plan["bytes"].as_u64().unwrap() >= plan["payload_bytes"].as_u64().unwrap());

    assert!(tetrys(folder, "verify scene").ok().starts_with("sound: "));
    tetrys(folder, "export l5 scene back.zarr").ok();
    for array in ["scenes", "frames", "agents", "traffic_light_faces"] {
        let back = common::l5::records(&folder.join("back.zarr"), array);
        assert!(back == common::l5::records(zarr, array), "{array} came back changed");
    }
}

/// The files that `get` wrote hold what the library reads.
fn compare(folder: &Path, row: u64) {
    let files = arrays(&folder.join("rows"));
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    let rows = runtime.block_on(async {
        let table = Table::open(&folder.join("scene").display().to_string()).await.unwrap();
        table.row_loader().get_rows(row, -10..=0).await.unwrap()
    });
    assert_eq!((files["mask"].dtype.as_str(), files["mask"].bytes.as_slice()), ("|b1", [1; 11].as_slice()));
    let (mut centroids, mut yaws, mut offsets, mut places) = (Vec::new(), Vec::new(), vec![0], Vec::new());
    for place in 0..rows.len() {
        let centroid = rows.tensor::<f64>("agents.pose.centroid", place).unwrap();
        centroids.extend(centroid.iter().flat_map(|value| value.to_le_bytes()));
        yaws.extend(rows.tensor::<f32>("agents.pose.yaw", place).unwrap().iter().flat_map(|value| value.to_le_bytes()));
        places.extend(rows.tensor::<f64>("ego.translation", place).unwrap().iter().flat_map(|value| value.to_le_bytes()));
        offsets.push(offsets[place] + centroid.shape()[0] as i64);
    }
    let total = offsets[11] as usize;
    let centroid = &files["agents.pose.centroid"];
    assert_eq!((centroid.dtype.as_str(), &centroid.shape, &centroid.bytes), ("<f8", &vec![total, 2], &centroids));
    assert_eq!((&files["agents.pose.yaw"].shape, &files["agents.pose.yaw"].bytes), (&vec![total], &yaws));
    assert_eq!(files["agents.pose.centroid.offsets"].i64s(), offsets);
    assert_eq!(files["agents.label_probabilities"].shape, [total, 17]);
    assert_eq!((&files["ego.translation"].shape, &files["ego.translation"].bytes), (&vec![11, 3], &places));
    assert_eq!(files["ego.rotation"].shape, [11, 3, 3]);
}
