//! Invalid input is refused with an error that names the object, the place, the expected and the found value. Nothing is guessed,
//! and nothing panics.

use crate::common;
use std::{fs, path::PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use tetrys::{Error, ErrorKind};
use tetrys_l5::{Dataset, GeneratorSettings, zarr::blosc, zarr::dtype::Dtype};

/// A small data set: 2 scenes of 10 frames, in uncompressed chunks of 64 records, so that tests can change single fields.
struct Small {
    folder: TempDir,
}

impl Small {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = GeneratorSettings {
            scenes: 2,
            frames_per_scene: 10,
            agents_per_frame: 5,
            tl_faces_per_frame: 4,
            mask: true,
            chunk_len: 64,
            seed: 3,
        };
        settings.generate(folder.path().join("small.zarr")).unwrap();
        Self { folder }
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.path().join("small.zarr").join(key)
    }

    fn open(&self) -> Result<Dataset, Error> {
        Dataset::open(self.path(""))
    }

    /// Opens the data set and reads everything.
    fn read(&self) -> Result<u64, Error> {
        let dataset = self.open()?;
        let mut rows = 0;
        for batch in dataset.rows(0..dataset.frames_len())? {
            rows += batch?.num_rows() as u64;
        }
        Ok(rows)
    }

    fn change_meta(&self, array: &str, change: impl FnOnce(&mut Value)) -> &Self {
        let path = self.path(array).join(".zarray");
        let mut json: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        change(&mut json);
        fs::write(path, json.to_string()).unwrap();
        self
    }

    /// Writes `bytes` into a field of one record of chunk 0.
    fn change_field(&self, array: &str, record: usize, field: &str, at: usize, bytes: &[u8]) -> &Self {
        let meta: Value = serde_json::from_slice(&fs::read(self.path(array).join(".zarray")).unwrap()).unwrap();
        let dtype = Dtype::parse(&meta["dtype"]).unwrap();
        let len = dtype.record_len() * meta["chunks"][0].as_u64().unwrap() as usize;
        let path = self.path(array).join("0");
        let mut chunk = vec![0; len];
        blosc::Decoder::default().decode(&fs::read(&path).unwrap(), &mut chunk).unwrap();
        let from = record * dtype.record_len() + dtype.field(field).unwrap().offset + at;
        chunk[from..from + bytes.len()].copy_from_slice(bytes);
        fs::write(path, blosc::encode(&chunk, dtype.record_len(), blosc::Codec::Lz4, true).unwrap()).unwrap();
        self
    }
}

#[track_caller]
fn assert_refused<T>(outcome: Result<T, Error>, kind: ErrorKind, parts: &[&str]) {
    let error = outcome.err().expect("it was accepted");
    let text = error.to_string();
    assert_eq!(error.kind(), kind, "{text}");
    for part in parts {
        assert!(text.contains(part), "expected `{part}` in: {text}");
    }
}

#[test]
fn the_small_data_set_is_good() {
    assert_eq!(Small::new().read().unwrap(), 20);
}

#[test]
fn what_is_no_l5_zarr_is_named() {
    let folder = tempfile::tempdir().unwrap();
    assert_refused(Dataset::open(folder.path()), ErrorKind::Invalid, &["not a zarr group", "expected .zgroup"]);
    assert_refused(Dataset::open(folder.path().join("none")), ErrorKind::NotFound, &["none"]);
    fs::write(folder.path().join("file"), "text").unwrap();
    assert_refused(Dataset::open(folder.path().join("file")), ErrorKind::Invalid, &["not a zarr group", "zip"]);
    let small = Small::new();
    fs::remove_dir_all(small.path("agents")).unwrap();
    assert_refused(small.open(), ErrorKind::Invalid, &["expected an array agents, found", "frames", "scenes"]);
}

#[test]
fn unknown_types_compressors_orders_and_filters_name_the_array() {
    for (change, parts) in [
        (json!({"dtype": [["yaw", "<c8"]]}), ["array agents", "field `yaw`", "<c8"]),
        (json!({"dtype": [["yaw", ">f4"]]}), ["array agents", "field `yaw`", "big-endian"]),
        (json!({"compressor": {"id": "bz2"}}), ["array agents", "expected blosc or null", "bz2"]),
        (json!({"compressor": {"id": "blosc", "cname": "blosclz"}}), ["array agents", "expected cname", "blosclz"]),
        (json!({"order": "F"}), ["array agents", "expected \"C\"", "\"F\""]),
        (json!({"filters": [{"id": "delta"}]}), ["array agents", "expected null", "delta"]),
        (json!({"zarr_format": 1}), ["array agents", "expected 2", "found 1"]),
    ] {
        let small = Small::new();
        small.change_meta("agents", |json| {
            for (key, value) in change.as_object().unwrap() {
                json[key] = value.clone();
            }
        });
        assert_refused(small.open(), ErrorKind::Unsupported, &parts);
    }
}

#[test]
fn fields_of_other_types_missing_and_additional_ones_are_named() {
    let null = |json: &mut Value| json["fill_value"] = Value::Null;
    let small = Small::new();
    small.change_meta("frames", |json| {
        null(json);
        json["dtype"][1] = json!(["agent_index_interval", "<i4", [2]]);
    });
    let parts = ["array frames", "field `agent_index_interval`", "expected i64[2]", "found i32[2]"];
    assert_refused(small.open(), ErrorKind::Unsupported, &parts);
    let small = Small::new();
    small.change_meta("agents", |json| {
        null(json);
        json["dtype"][2] = json!(["heading", "<f4"]);
    });
    assert_refused(small.open(), ErrorKind::Unsupported, &["array agents", "expected the fields", "found `heading` (f32)"]);
    let small = Small::new();
    small.change_meta("agents", |json| {
        null(json);
        json["dtype"].as_array_mut().unwrap().remove(2);
    });
    assert_refused(small.open(), ErrorKind::Unsupported, &["array agents", "expected a field `yaw`, found centroid"]);
}

#[test]
fn sizes_that_overflow_or_do_not_match_are_errors() {
    for (key, value) in [
        ("chunks", json!([u64::MAX])),
        ("chunks", json!([1_u64 << 40])),
        ("shape", json!([u64::MAX])),
        ("shape", json!([-3])),
        ("shape", json!([1e30])),
        ("chunks", json!([0])),
        ("shape", json!([10, 10])),
    ] {
        let small = Small::new();
        small.change_meta("agents", |json| json[key] = value.clone());
        assert_refused(small.open(), ErrorKind::Invalid, &["array agents: .zarray", "expected", "found"]);
    }
    let small = Small::new();
    small.change_meta("agents", |json| json["chunks"] = json!([127]));
    let parts = ["array agents, chunk 0", "expected 14732 decoded bytes", "says 14848"];
    assert_refused(small.read(), ErrorKind::Corrupt, &parts);
    let small = Small::new();
    small.change_meta("agents_mask/0.5", |json| json["shape"][0] = json!(7));
    assert_refused(small.open(), ErrorKind::Corrupt, &["array agents_mask/0.5", "expected", "as agents has, found 7"]);
}

#[test]
fn intervals_outside_with_gaps_or_overlaps_name_the_record() {
    let le = i64::to_le_bytes;
    for (array, field, at, value, expected) in [
        ("scenes", "frame_index_interval", 8, 21, "expected records of frames inside 0..20, found 10..21"),
        ("scenes", "frame_index_interval", 0, 11, "expected a start at 10 where the record before ends (gap), found 11..20"),
        ("scenes", "frame_index_interval", 0, 9, "(overlap), found 9..20"),
        ("scenes", "frame_index_interval", 8, 19, "expected the last record to end at 20"),
        ("frames", "agent_index_interval", 0, -1, "found -1.."),
        ("frames", "agent_index_interval", 8, i64::MAX, "..9223372036854775807"),
        ("frames", "traffic_light_faces_index_interval", 0, 1, "(gap), found 1.."),
    ] {
        let small = Small::new();
        // The last of two scenes; for agents a frame in the middle; for faces the first frame.
        let record = match (array, field) {
            ("scenes", _) => 1,
            ("frames", "agent_index_interval") => 7,
            _ => 0,
        };
        small.change_field(array, record, field, at, &le(value));
        let outcome = small.open();
        let place = format!("array {array}");
        let record = format!("record {record}");
        let parts = if expected.contains("the last record") {
            vec![&*place, field, expected]
        } else {
            vec![&*place, &*record, field, expected]
        };
        assert_refused(outcome, ErrorKind::Corrupt, &parts);
    }
}

#[test]
fn timestamps_are_never_judged() {
    let small = Small::new();
    small.change_field("frames", 3, "timestamp", 0, &i64::MIN.to_le_bytes());
    small.change_field("scenes", 0, "end_time", 0, &0_i64.to_le_bytes());
    assert_eq!(small.read().unwrap(), 20);
}

#[test]
fn text_that_is_no_unicode_names_the_record() {
    let small = Small::new();
    small.change_field("scenes", 1, "host", 8, &0x11_0000_u32.to_le_bytes());
    let parts = ["array scenes, record 1", "host", "character 2", "found 0x110000"];
    assert_refused(small.open(), ErrorKind::Corrupt, &parts);
}

#[test]
fn a_missing_chunk_is_the_fill_value() {
    let small = Small::new();
    fs::remove_file(small.path("agents_mask/0.5/0.0")).unwrap();
    let dataset = small.open().unwrap();
    let batches: Vec<_> = dataset.rows(0..20).unwrap().map(Result::unwrap).collect();
    let mask = common::l5::column(&batches, "agents_mask.0.5");
    let in_chunk = 64.min(dataset.agents_len() as usize) * 8;
    assert!(mask[..in_chunk].iter().all(|byte| *byte == 0));
}

#[test]
fn every_cut_and_damage_of_a_chunk_is_an_error_or_a_value() {
    let small = Small::new();
    let path = small.path("agents/0");
    let stored = fs::read(&path).unwrap();
    for cut in (0..stored.len()).step_by(97) {
        fs::write(&path, &stored[..cut]).unwrap();
        assert_refused(small.read(), ErrorKind::Corrupt, &["array agents, chunk 0", "blosc"]);
    }
    for at in (0..stored.len()).step_by(53) {
        let mut damaged = stored.clone();
        damaged[at] ^= 0xff;
        fs::write(&path, damaged).unwrap();
        // Blosc has no checksum, so some damage only gives another value.
        let _ = small.read();
    }
}

#[test]
fn a_missing_chunk_of_records_is_refused_and_one_of_a_mask_is_a_warning() {
    for array in ["scenes", "frames", "agents", "traffic_light_faces"] {
        let small = Small::new();
        fs::remove_file(small.path(array).join("0")).unwrap();
        let place = format!("array {array}: chunk 0 of 0..");
        assert_refused(small.read(), ErrorKind::Corrupt, &[&place, "is missing", "copy the data set again"]);
    }
    let small = Small::new();
    let mask =
        fs::read_dir(small.path("agents_mask")).unwrap().find_map(|entry| entry.ok().filter(|entry| entry.path().is_dir()));
    let mask = mask.unwrap().path();
    fs::remove_file(mask.join("0.0")).unwrap();
    let dataset = small.open().unwrap();
    assert_eq!(dataset.warnings().len(), 1);
    assert!(dataset.warnings()[0].contains("array agents_mask/0.5: chunk 0 of 0.."), "{:?}", dataset.warnings());
    assert_eq!(small.read().unwrap(), 20);
}

#[test]
fn missing_chunks_are_named_in_runs_in_a_folder_a_store_and_a_zip_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.zarr");
    GeneratorSettings { frames_per_scene: 60, chunk_len: 5, ..Default::default() }.generate(&path).unwrap();
    let zip = |path: &std::path::Path| {
        let file = folder.path().join("many.zarr.zip");
        let mut writer = zip::ZipWriter::new(fs::File::create(&file).unwrap());
        let mut folders = vec![path.to_owned()];
        while let Some(inside) = folders.pop() {
            for entry in fs::read_dir(&inside).unwrap().map(|entry| entry.unwrap().path()) {
                match entry.is_dir() {
                    true => folders.push(entry),
                    false => {
                        let name = entry.strip_prefix(path).unwrap().to_str().unwrap().to_owned();
                        writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
                        std::io::Write::write_all(&mut writer, &fs::read(&entry).unwrap()).unwrap();
                    }
                }
            }
        }
        writer.finish().unwrap();
        file
    };
    let opened = |path: &std::path::Path| {
        let url = format!("file://{}", path.display());
        [Dataset::open(path), Dataset::open(url), Dataset::open(zip(path))]
    };
    opened(&path).into_iter().for_each(|dataset| assert!(dataset.unwrap().warnings().is_empty()));
    for chunk in [1, 3, 4, 5, 11] {
        fs::remove_file(path.join("frames").join(chunk.to_string())).unwrap();
    }
    for dataset in opened(&path) {
        assert_refused(dataset.map(|_| 0), ErrorKind::Corrupt, &["array frames: chunks 1, 3..=5, 11 of 0..12 are missing"]);
    }
}

#[test]
fn arrays_that_are_not_known_are_warnings() {
    let small = Small::new();
    fs::create_dir_all(small.path("extra/deep")).unwrap();
    fs::copy(small.path("scenes/.zarray"), small.path("extra/deep/.zarray")).unwrap();
    let dataset = small.open().unwrap();
    assert_eq!(dataset.warnings().len(), 1);
    assert!(dataset.warnings()[0].ends_with("array extra/deep is not part of an L5 data set and is left out"));
    assert_eq!(small.read().unwrap(), 20);
}

#[test]
fn data_without_traffic_lights_has_no_such_group() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dark.zarr");
    GeneratorSettings { frames_per_scene: 10, tl_faces_per_frame: 0, ..Default::default() }.generate(&path).unwrap();
    assert!(Dataset::open(&path).unwrap().schema().column_named("tl_faces.status").is_some());
    fs::remove_dir_all(path.join("traffic_light_faces")).unwrap();
    let dataset = Dataset::open(&path).unwrap();
    assert!(dataset.schema().column_named("tl_faces.status").is_none());
    assert_eq!(dataset.rows(0..10).unwrap().map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 10);
}

#[test]
fn scenes_without_frames_are_kept() {
    let small = Small::new();
    // The first scene gets all frames, the second none.
    small.change_field("scenes", 0, "frame_index_interval", 8, &20_i64.to_le_bytes());
    small.change_field("scenes", 1, "frame_index_interval", 0, &20_i64.to_le_bytes());
    let dataset = small.open().unwrap();
    assert_eq!(dataset.scenes()[1].frames, 20..20);
    assert_eq!(dataset.partitions(1), vec![0..20; 1]);
    let target = small.folder.path().join("back.zarr");
    tetrys_l5::export(dataset.properties(), dataset.rows(0..20).unwrap(), &target).unwrap();
    assert_eq!(common::l5::records(&target, "scenes"), common::l5::records(&small.path(""), "scenes"));
}
