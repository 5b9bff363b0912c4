//! The table has every field of every record of the published L5 data, bit for bit, compared with arrays that the original
//! library decoded.

use std::collections::BTreeMap;

use crate::common::{
    l5::{batches, column, records},
    npz::{self, Npy},
    shared_path,
};
use arrow_array::{Array as _, LargeStringArray, RecordBatch, UInt32Array};
use tetrys_l5::Dataset;

const AGENTS: [(&str, &str); 6] = [
    ("agents.pose.centroid", "agents.centroid"),
    ("agents.pose.yaw", "agents.yaw"),
    ("agents.pose.extent", "agents.extent"),
    ("agents.pose.track_id", "agents.track_id"),
    ("agents.velocity", "agents.velocity"),
    ("agents.label_probabilities", "agents.label_probabilities"),
];
const FRAMES: [(&str, &str); 3] =
    [("timestamp", "frames.timestamp"), ("ego.translation", "frames.ego_translation"), ("ego.rotation", "frames.ego_rotation")];
const TL_FACES: [(&str, &str); 3] = [
    ("tl_faces.face_id", "tl_faces.face_id"),
    ("tl_faces.traffic_light_id", "tl_faces.traffic_light_id"),
    ("tl_faces.status", "tl_faces.traffic_light_face_status"),
];

/// Compares batches with the raw arrays. `raw` holds one scene. The data set has its first `parts[i]` frames as scene `i`, one
/// scene after the other.
fn assert_equal_to_raw(batches: &[RecordBatch], raw: &BTreeMap<String, Npy>, parts: &[usize]) {
    let records_of = |interval: &str, frames: usize| raw[interval].i64s()[frames * 2 - 1] as usize;
    let expected = |name: &str, rows: &dyn Fn(usize) -> usize| -> Vec<u8> {
        parts.iter().flat_map(|frames| raw[name].head(rows(*frames)).to_vec()).collect()
    };
    for (ours, theirs) in FRAMES {
        assert!(column(batches, ours) == expected(theirs, &|frames| frames), "{ours}");
    }
    for (ours, theirs) in AGENTS {
        assert!(column(batches, ours) == expected(theirs, &|frames| records_of("frames.agent_index_interval", frames)), "{ours}");
    }
    if raw.contains_key("tl_faces.face_id") {
        let rows = |frames| records_of("frames.traffic_light_faces_index_interval", frames);
        for (ours, theirs) in TL_FACES {
            assert!(column(batches, ours) == expected(theirs, &rows), "{ours}");
        }
    }
    for (prefix, interval) in
        [("agents", "frames.agent_index_interval"), ("tl_faces", "frames.traffic_light_faces_index_interval")]
    {
        let Some(interval) = raw.get(interval) else { continue };
        let starts = column(batches, &format!("{prefix}_start"));
        let counts = column(batches, &format!("{prefix}_count"));
        let found: Vec<(u64, u32)> = starts
            .chunks_exact(8)
            .zip(counts.chunks_exact(4))
            .map(|(start, count)| (u64::from_le_bytes(start.try_into().unwrap()), u32::from_le_bytes(count.try_into().unwrap())))
            .collect();
        let interval = interval.i64s();
        let mut base = 0;
        let mut expected = Vec::new();
        for frames in parts {
            expected.extend(
                (0..*frames).map(|at| ((base + interval[2 * at]) as u64, (interval[2 * at + 1] - interval[2 * at]) as u32)),
            );
            base += interval[2 * frames - 1];
        }
        assert_eq!(found, expected, "{prefix}");
    }
    let scene_index: Vec<u8> =
        parts.iter().zip(0_u32..).flat_map(|(frames, scene)| scene.to_le_bytes().repeat(*frames)).collect();
    assert_eq!(column(batches, "scene_index"), scene_index);
    let frame_index: Vec<u8> = parts.iter().flat_map(|frames| (0..*frames as u32).flat_map(u32::to_le_bytes)).collect();
    assert_eq!(column(batches, "frame_index"), frame_index);
    let frame: Vec<u8> = (0..parts.iter().sum::<usize>() as u64).flat_map(u64::to_le_bytes).collect();
    assert_eq!(column(batches, "frame"), frame);
}

#[test]
fn single_scene_equals_what_the_library_decodes() {
    let (Some(zarr), Some(raw)) = (shared_path("l5/artefacts/single_scene.zarr"), shared_path("l5/golden/raw.npz")) else {
        return;
    };
    let dataset = Dataset::open(zarr).unwrap();
    let (batches, raw) = (batches(&dataset), npz::read(&raw));
    assert_equal_to_raw(&batches, &raw, &[248]);
    assert_eq!(column(&batches, "host"), raw["scenes.host"].bytes.repeat(248));
    assert_eq!(column(&batches, "scene_start_time"), raw["scenes.start_time"].bytes.repeat(248));
    assert_eq!(column(&batches, "scene_end_time"), raw["scenes.end_time"].bytes.repeat(248));
    assert!(dataset.warnings().is_empty());
    let types: Vec<String> = dataset.schema().columns().iter().map(|column| format!("{} {}", column.name, column.ty)).collect();
    assert_eq!(
        types[11..],
        [
            "ego.translation f64[3]",
            "ego.rotation f64[3,3]",
            "agents.pose.centroid f64[?,2]",
            "agents.pose.yaw f32[?]",
            "agents.pose.extent f32[?,3]",
            "agents.pose.track_id u64[?]",
            "agents.velocity f32[?,2]",
            "agents.label_probabilities f32[?,17]",
            "tl_faces.face_id list<utf8>",
            "tl_faces.traffic_light_id list<utf8>",
            "tl_faces.status f32[?,3]",
        ]
    );
}

#[test]
fn multi_scene_equals_the_scenes_it_was_joined_from() {
    let (Some(zarr), Some(raw)) = (shared_path("l5/artefacts/multi_scene.zarr"), shared_path("l5/golden/raw.npz")) else {
        return;
    };
    let dataset = Dataset::open(&zarr).unwrap();
    let batches = batches(&dataset);
    assert_equal_to_raw(&batches, &npz::read(&raw), &[248, 100, 37, 248]);
    assert_eq!(column(&batches, "agents_mask.0.5"), records(&zarr, "agents_mask/0.5"));
    assert_eq!(dataset.schema().column_named("agents_mask.0.5").unwrap().ty.to_string(), "u32[?,2]");
    assert_eq!(dataset.partitions(100), [0..248, 248..348, 348..633]);
}

#[test]
fn the_old_format_keeps_its_narrow_types() {
    let (Some(zarr), Some(raw)) = (shared_path("l5/artefacts/oldformat_v1.zarr"), shared_path("l5/golden/raw_oldformat_v1.npz"))
    else {
        return;
    };
    let dataset = Dataset::open(zarr).unwrap();
    let (batches, raw) = (batches(&dataset), npz::read(&raw));
    assert_equal_to_raw(&batches, &raw, &[775]);
    assert_eq!(column(&batches, "agents_mask.0_12_0.5"), raw["agents_mask_0_12_0.5"].bytes);
    let ty = |name: &str| dataset.schema().column_named(name).map(|column| column.ty.to_string());
    assert_eq!(ty("agents.pose.centroid").unwrap(), "f32[?,2]");
    assert_eq!(ty("agents.pose.track_id").unwrap(), "i32[?]");
    assert_eq!(ty("agents_mask.0_12_0.5").unwrap(), "bool[?]");
    assert_eq!(ty("tl_faces.face_id"), None);
}

#[test]
fn a_range_of_rows_is_the_same_rows_as_in_the_whole() {
    let Some(zarr) = shared_path("l5/artefacts/multi_scene.zarr") else { return };
    let dataset = Dataset::open(zarr).unwrap();
    let all = dataset.rows(0..633).unwrap().map(Result::unwrap).collect::<Vec<_>>();
    let some = dataset.rows(240..400).unwrap().map(Result::unwrap).collect::<Vec<_>>();
    let rows: usize = some.iter().map(RecordBatch::num_rows).sum();
    assert_eq!(rows, 160);
    assert!(all.iter().all(|batch| batch.num_rows() <= 256));
    let scenes = column(&some, "scene_index");
    assert_eq!(scenes, column(&all, "scene_index")[240 * 4..400 * 4]);
    let first = some[0].column_by_name("agents_start").unwrap().to_data().buffers()[0].typed_data::<u64>()[0] as usize;
    let centroids = column(&some, "agents.pose.centroid");
    assert_eq!(centroids, column(&all, "agents.pose.centroid")[first * 16..][..centroids.len()]);
    assert!(dataset.rows(600..634).is_err());
}

#[test]
fn partitions_are_read_by_many_threads_at_once() {
    let Some(zarr) = shared_path("l5/artefacts/multi_scene.zarr") else { return };
    let dataset = Dataset::open(zarr).unwrap();
    let alone = batches(&dataset);
    let together: Vec<RecordBatch> = std::thread::scope(|scope| {
        let read = |rows| scope.spawn(|| dataset.rows(rows).unwrap().map(Result::unwrap).collect::<Vec<_>>());
        let threads: Vec<_> = dataset.partitions(100).into_iter().map(read).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(alone, together);
}

#[test]
fn columns_have_the_arrow_types_that_the_schema_says() {
    let Some(zarr) = shared_path("l5/artefacts/multi_scene.zarr") else { return };
    let dataset = Dataset::open(zarr).unwrap();
    let batch = dataset.rows(0..3).unwrap().next().unwrap().unwrap();
    for (column, array) in dataset.schema().columns().iter().zip(batch.columns()) {
        assert_eq!(*array.data_type(), column.ty.arrow(), "{}", column.name);
    }
    let hosts = batch.column_by_name("host").unwrap().as_any().downcast_ref::<LargeStringArray>().unwrap();
    assert_eq!(hosts.value(0), "host-a101");
    let counts = batch.column_by_name("agents_count").unwrap().as_any().downcast_ref::<UInt32Array>().unwrap();
    assert_eq!(counts.values(), &[87, 97, 109]);
}
