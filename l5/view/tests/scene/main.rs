//! Level 5 frames from above: each number of an answer is the one that the reader of Level 5 tables gives, damage hides its part alone, and
//! an answer takes as many requests however large its table is.

mod browser;
mod common;
mod road;
#[path = "../../../../view/tests/browser/runner.rs"]
mod runner;

use std::{collections::BTreeMap, ops::Range, path::Path, sync::Arc};

use arrow_array::{
    ArrayRef, FixedSizeListArray, Float64Array, Int32Array, LargeListArray, LargeStringArray, RecordBatch, StructArray,
    UInt32Array, UInt64Array, cast::AsArray, new_empty_array, types::UInt64Type,
};
use serde_json::{Value, json};
use tetrys::{
    ColumnType, IndexTails, Merge, Preset, Schema, Store, StoreOptions, Table, WriteOptions,
    arrow::{buffer::OffsetBuffer, schema::DataType},
    extension::write_partitions,
    ingest::IngestOptions,
};
use tetrys_l5::{
    Dataset, GeneratorSettings,
    arrays::Frames,
    geometry::yaw_of_rotation,
    ingest,
    map::MapApi,
    reading::{FrameTable, Scratch, Wanted},
    sampling::sample::EGO_EXTENT,
};
use tetrys_l5_view::SceneMap;
use tetrys_s3_server::Server as S3;
use tetrys_view::{Server, Source};

use common::{
    ask, block_on, damage,
    environment::{seed, shared_path},
    map, served, table,
};

/// Rows to each side of the answers that are compared.
const BEFORE: usize = 12;
const AFTER: usize = 20;

fn scene(server: &Server, number: usize, row: u64) -> Value {
    let got = ask(server, &format!("/api/scene?table={number}&row={row}&before={BEFORE}&after={AFTER}"));
    assert_eq!(got.status, 200, "row {row}: {}", got.text());
    got.json()
}

/// Returns a number as an answer has it: none that JSON cannot say.
fn json_of(number: f64) -> Value {
    json!(number)
}

/// Compares an answer with the frames around a row of a table, in every number.
async fn compare(answer: &Value, table: &Table, frames: &FrameTable, row: u64) {
    let wanted = Wanted { history: BEFORE, future: AFTER, agents: Some(AFTER), labels: true, faces: true };
    let windows = frames.windows(&[row], wanted).await.unwrap();
    let mut scratch = Scratch::default();
    let (found, current) = windows.frames(0, &mut scratch).unwrap();
    assert_eq!((&answer["failures"], &answer["there"]), (&json!({}), &json!(true)), "row {row}");
    let ([x, y, z], yaw) = (found.translations[current], yaw_of_rotation(&found.rotations[current]));
    assert_eq!(answer["ego"], json!({"x": x, "y": y, "z": z, "yaw": yaw, "extent": EGO_EXTENT}), "row {row}");
    let agents = found.agents_of(current);
    assert_eq!(
        (answer["agent_count"].as_u64(), answer["agents"].as_array().map(Vec::len)),
        (Some(agents.len() as u64), Some(agents.len()))
    );
    let read = table.row_loader().columns(["agents.velocity"]).unwrap().get_row(row).await.unwrap();
    let velocities = read.tensor::<f32>("agents.velocity").unwrap();
    for (place, answer) in answer["agents"].as_array().unwrap().iter().enumerate() {
        let floats = |values: &[f32]| values.iter().map(|value| json_of(f64::from(*value))).collect::<Value>();
        assert_eq!(answer["track"], json!(agents.track_ids[place].to_string()));
        assert_eq!(answer["x"], json_of(agents.centroids[place][0]));
        assert_eq!(answer["y"], json_of(agents.centroids[place][1]));
        assert_eq!(answer["yaw"], json_of(f64::from(agents.yaws[place])));
        assert_eq!(answer["extent"], floats(&agents.extents[place]));
        assert_eq!(answer["velocity"], floats(&velocities.values()[2 * place..2 * place + 2]));
        let labels = agents.label_probabilities[place];
        let most = labels.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        assert_eq!(answer["probability"], json_of(f64::from(most)));
        let name = [(3, "car"), (12, "cyclist"), (14, "pedestrian"), (1, "unknown")]
            .into_iter()
            .find(|(label, _)| labels[*label] == most);
        if let Some((_, name)) = name.filter(|_| most > 0.5) {
            assert_eq!(answer["label"], json!(name), "{labels:?}");
        }
    }
    let faces = found.faces_of(current);
    assert_eq!(answer["lights"].as_array().unwrap().len(), faces.len());
    for (place, answer) in answer["lights"].as_array().unwrap().iter().enumerate() {
        assert_eq!((&answer["face"], &answer["light"]), (&json!(faces.face_ids[place]), &json!(faces.traffic_light_ids[place])));
        let status = faces.statuses[place];
        assert_eq!(answer["probabilities"], status.iter().map(|value| json_of(f64::from(*value))).collect::<Value>());
        let state = match status {
            [active, inactive, unknown] if active >= inactive && active >= unknown => "active",
            [_, inactive, unknown] if inactive >= unknown => "inactive",
            _ => "unknown",
        };
        assert_eq!(answer["state"], json!(state));
    }
    compare_around(&answer["around"], &found, current);
}

/// Compares the places in the rows around: of each frame, the first agent with the track.
fn compare_around(around: &Value, found: &Frames<'_>, current: usize) {
    let offset = |frame: usize| frame as i64 - current as i64;
    let others = || (0..found.len()).filter(|frame| *frame != current);
    assert_eq!((&around["before"], &around["after"], &around["cut"]), (&json!(BEFORE), &json!(AFTER), &json!(false)));
    let there: Vec<bool> =
        (0..=BEFORE + AFTER).map(|row| (row + current).checked_sub(BEFORE).is_some_and(|frame| frame < found.len())).collect();
    assert_eq!(around["there"], json!(there));
    let ego: Value =
        others().map(|frame| json!([offset(frame), found.translations[frame][0], found.translations[frame][1]])).collect();
    assert_eq!(around["ego"], ego);
    let agents = found.agents_of(current);
    let mut first = BTreeMap::new();
    for (place, track) in agents.track_ids.iter().enumerate() {
        first.entry(*track).or_insert(place);
    }
    for (place, track) in agents.track_ids.iter().enumerate() {
        let mut expected = Vec::new();
        for frame in others().filter(|_| first[track] == place) {
            let other = found.agents_of(frame);
            if let Some(place) = other.track_ids.iter().position(|id| id == track) {
                expected.push(json!([offset(frame), other.centroids[place][0], other.centroids[place][1]]));
            }
        }
        assert_eq!(around["tracks"][place], Value::from(expected), "track {track}");
    }
}

/// Compares the first and the last frame of each scene, and some others.
async fn compare_some(server: &Server, number: usize, table: &Table, random: usize) {
    let frames = FrameTable::open(table, 0).await.unwrap();
    let mut generator = fastrand::Rng::with_seed(seed());
    let mut rows: Vec<u64> = frames.scenes().iter().flat_map(|scene| [scene.frames.start, scene.frames.end - 1]).collect();
    rows.extend((0..random).map(|_| generator.u64(0..frames.len())));
    for row in rows {
        let answer = scene(server, number, row);
        compare(&answer, table, &frames, row).await;
        let (of_scene, in_scene) = frames.scene_of(row).unwrap();
        let facts = answer["facts"].as_array().unwrap();
        assert_eq!(facts[0], json!(["scene", of_scene.to_string(), "u32"]));
        assert_eq!(facts[1], json!(["frame of the scene", in_scene.to_string(), "u32"]));
        assert_eq!(facts[2], json!(["time", frames.timestamps()[row as usize].to_string(), "timestamp[ns]"]));
        assert_eq!(facts[3], json!(["host", &*frames.scenes()[of_scene].host, "utf8"]));
    }
}

#[test]
fn every_number_is_that_of_the_reader_in_both_formats() {
    for zarr in ["multi_scene.zarr", "oldformat_v1.zarr"] {
        let folder = tempfile::tempdir().unwrap();
        block_on(async {
            let Some(table) = table(folder.path(), zarr).await else { return };
            let server = served(vec![Source::of_table(table.clone())], None).await;
            assert_eq!(ask(&server, "/api/tables").json()["tables"][0]["scene"], json!(true));
            compare_some(&server, 0, &table, 24).await;
            // A row alone.
            let got = ask(&server, "/api/scene?table=0&row=7").json();
            assert_eq!((&got["around"], &got["agents"]), (&Value::Null, &scene(&server, 0, 7)["agents"]));
        });
    }
}

#[test]
fn a_view_and_a_selection_in_another_order_show_the_frames_of_their_table() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let Some(table) = table(folder.path(), "multi_scene.zarr").await else { return };
        let frames = FrameTable::open(&table, 0).await.unwrap();
        let index = table.index().await.unwrap();
        let odd = index.filter_sql("frame % 7 = 3").unwrap().sort(["frame"], true).unwrap();
        let view = folder.path().join("odd").display().to_string();
        odd.save(&view).await.unwrap();
        let sources = vec![Source::of_table(Table::open(&view).await.unwrap()), Source::of_index(odd.clone()).unwrap()];
        let server = served(sources, None).await;
        let batch = odd.to_batch().unwrap();
        let of_table = batch.column_by_name("frame").unwrap().as_primitive::<UInt64Type>();
        for number in [0, 1] {
            for row in [0, 1, 17, of_table.len() / 2, of_table.len() - 1] {
                // Windows follow the recording, also where the view left rows out.
                compare(&scene(&server, number, row as u64), &table, &frames, of_table.value(row)).await;
            }
        }
    });
}

/// Writes a table with a note for each frame of the first two scenes, and for one that is not recorded.
async fn write_notes(root: &Path) -> Table {
    let schema = Schema::builder().index("scene_index", "u32").index("frame_index", "u32").group("note", [("note.text", "utf8")]);
    let schema = schema.sequence_by(["scene_index"]).order_by(["frame_index"]).build().unwrap();
    let places: Vec<(u32, u32)> = [(0, 248), (1, 100), (9, 5)]
        .into_iter()
        .flat_map(|(scene, frames)| (0..frames).map(move |frame| (scene, frame)))
        .collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("scene_index", Arc::new(UInt32Array::from_iter_values(places.iter().map(|place| place.0)))),
        ("frame_index", Arc::new(UInt32Array::from_iter_values(places.iter().map(|place| place.1)))),
        ("note.text", Arc::new(LargeStringArray::from_iter_values(places.iter().map(|place| format!("{place:?}"))))),
    ];
    let writer = Table::create(root.to_str().unwrap(), schema, WriteOptions::default()).await.unwrap();
    let mut partition = writer.partition().unwrap();
    partition.write(&RecordBatch::try_from_iter(columns).unwrap()).await.unwrap();
    writer.commit([partition.finish().await.unwrap()]).await.unwrap()
}

#[test]
fn a_merge_shows_frames_and_says_where_there_are_none() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let Some(table) = table(folder.path(), "multi_scene.zarr").await else { return };
        let frames = FrameTable::open(&table, 0).await.unwrap();
        let notes = write_notes(&folder.path().join("notes")).await;
        let on = || Merge::on(["scene_index", "frame_index"]).left();
        let (frames_index, notes_index) = (table.index().await.unwrap(), notes.index().await.unwrap());
        let with_notes = frames_index.merge(&notes_index, &on()).unwrap();
        let with_frames = notes_index.merge(&frames_index, &on()).unwrap();
        let view = folder.path().join("merged").display().to_string();
        with_notes.save(&view).await.unwrap();
        let view = Table::open(&view).await.unwrap();
        let sources = vec![Source::of_table(view), Source::of_index(with_frames).unwrap(), Source::of_table(notes)];
        let server = served(sources, None).await;
        for row in [0, 100, 400] {
            compare(&scene(&server, 0, row), &table, &frames, row).await;
        }
        compare(&scene(&server, 1, 30), &table, &frames, 30).await;
        let answer = scene(&server, 1, 350);
        assert_eq!((&answer["there"], &answer["ego"], &answer["agents"]), (&json!(false), &Value::Null, &json!([])), "{answer}");
        assert_eq!(answer["failures"], json!({}));
        // A table of another kind has no picture.
        assert_eq!(ask(&server, "/api/tables").json()["tables"][2]["scene"], json!(false));
        let got = ask(&server, "/api/scene?table=2&row=0");
        assert!(got.status == 404 && got.text().contains("no picture from above"), "{}", got.text());
    });
}

#[test]
fn damage_hides_its_part_alone() {
    for (group, row, shown, damaged) in [
        ("agents.velocity", 50, 50, "velocity"),
        ("agents.label_probabilities", 50, 50, "labels"),
        ("tl_faces", 50, 50, "lights"),
        ("ego", 50, 50, "ego"),
        ("agents.pose", 50, 50, "agents"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        block_on(async {
            let Some(table) = table(folder.path(), "single_scene.zarr").await else { return };
            damage(&table, &folder.path().join("table"), group, row).await;
            let server = served(vec![Source::of_table(table.clone())], None).await;
            let answer = scene(&server, 0, shown);
            assert!(answer["failures"][damaged].as_str().unwrap().contains("checksum"), "{group}: {}", answer["failures"]);
            assert_eq!(answer["ego"].is_null(), group == "ego");
            assert_eq!(answer["agents"].as_array().unwrap().is_empty(), group == "agents.pose");
            let has_faces = !FrameTable::open(&table, 0).await.unwrap().faces_of(shown).is_empty();
            assert_eq!(answer["lights"].as_array().unwrap().is_empty(), group == "tl_faces" || !has_faces);
            if let Some(agent) = answer["agents"].get(0) {
                assert_eq!(
                    (agent["velocity"].is_null(), agent["label"].is_null()),
                    (group == "agents.velocity", group.contains("label"))
                );
            }
            assert_eq!(ask(&server, "/api/rows?table=0&start=50&count=1").status, 200);
        });
    }
}

#[test]
fn a_damaged_neighbour_hides_the_tracks_and_not_the_row() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let Some(table) = table(folder.path(), "single_scene.zarr").await else { return };
        let group = table.schema().groups().iter().position(|group| group.name == "agents.pose").unwrap();
        let layout = table.storage().layout(group).await.unwrap();
        // The next block of the group.
        let (here, row) = (
            layout.locate(50).unwrap().block,
            (50..70).find(|row| layout.locate(*row).unwrap().block != layout.locate(50).unwrap().block),
        );
        let row = row.unwrap_or_else(|| panic!("block {here:?} has all rows"));
        damage(&table, &folder.path().join("table"), "agents.pose", row).await;
        let server = served(vec![Source::of_table(table)], None).await;
        let answer = scene(&server, 0, 50);
        assert!(answer["failures"]["around"].as_str().unwrap().contains("checksum"), "{}", answer["failures"]);
        assert!(!answer["agents"].as_array().unwrap().is_empty() && answer["failures"]["agents"].is_null());
        assert!(!answer["around"]["ego"].as_array().unwrap().is_empty(), "the path of the own car is another group");
    });
}

#[test]
fn the_ground_is_that_of_the_map_and_lights_stand_where_their_lanes_end() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (Some(table), Some(map)) = (table(folder.path(), "single_scene.zarr").await, map()) else { return };
        let bytes = std::fs::read(shared_path("l5/golden/synth_semantic_map.pb").unwrap()).unwrap();
        let meta = std::fs::read(shared_path("l5/artefacts/meta.json").unwrap()).unwrap();
        let matrix = serde_json::from_value(serde_json::from_slice::<Value>(&meta).unwrap()["world_to_ecef"].clone()).unwrap();
        let api = MapApi::parse(&bytes, matrix).unwrap();
        // The same map as attachments, and without one.
        let writer = table.append(WriteOptions::default()).await.unwrap();
        writer.attach("semantic_map.pb", bytes).await.unwrap();
        writer.attach("meta.json", meta).await.unwrap();
        let attached = writer.commit([]).await.unwrap();
        // Behind a table of another kind, as a merge in memory and as a view.
        let notes = write_notes(&folder.path().join("notes")).await.index().await.unwrap();
        let on = Merge::on(["scene_index", "frame_index"]).left();
        let merged = notes.merge(&attached.index().await.unwrap(), &on).unwrap();
        let view = folder.path().join("merged").display().to_string();
        merged.save(&view).await.unwrap();
        let merges = vec![Source::of_index(merged).unwrap(), Source::of_table(Table::open(&view).await.unwrap())];
        let merges = served(merges, None).await;
        for number in [0, 1] {
            let answer = scene(&merges, number, 100);
            assert_eq!((&answer["map"], &answer["failures"]), (&json!(true), &json!({})));
        }
        let given = served(vec![Source::of_table(table.clone())], Some(&map)).await;
        let own = served(vec![Source::of_table(attached), Source::of_table(table.clone())], None).await;
        for server in [&given, &own] {
            let answer = scene(server, 0, 100);
            assert_eq!((&answer["map"], &answer["hint"], &answer["failures"]), (&json!(true), &Value::Null, &json!({})));
            let (x, y) = (answer["ego"]["x"].as_f64().unwrap(), answer["ego"]["y"].as_f64().unwrap());
            let mut counted = 0;
            for radius in [0.0, 20.0, 60.0, 1000.0] {
                let ground = ask(server, &format!("/api/ground?table=0&x={x}&y={y}&radius={radius}")).json();
                let ids = |of: &str| {
                    let mut ids: Vec<String> =
                        ground[of].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect();
                    ids.sort();
                    ids
                };
                let near = |info: &tetrys_l5::map::BoundsInfo| {
                    let mut ids: Vec<String> =
                        info.indices_in_bounds([x, y], radius).map(|place| info.ids[place].to_string()).collect();
                    ids.sort();
                    ids
                };
                assert_eq!((ids("lanes"), ids("crosswalks")), (near(api.lanes()), near(api.crosswalks())), "radius {radius}");
                for lane in ground["lanes"].as_array().unwrap() {
                    let coords = api.lane_coords(lane["id"].as_str().unwrap()).unwrap();
                    let flat = |points: &[[f64; 3]]| points.iter().map(|[x, y, _]| json!([x, y])).collect::<Value>();
                    assert_eq!((&lane["left"], &lane["right"]), (&flat(&coords.left), &flat(&coords.right)));
                    counted += 1;
                }
            }
            assert!(counted > 50, "{counted} lanes");
            let mut placed = 0;
            for light in answer["lights"].as_array().unwrap() {
                let face = light["face"].as_str().unwrap();
                let colour = api.color_for_face(face).ok().map(|colour| colour.name().to_lowercase());
                assert_eq!(light["colour"], json!(colour), "{face}");
                let ends = api
                    .lanes()
                    .ids
                    .iter()
                    .filter(|id| api.lane_traffic_control_ids(id).unwrap().iter().any(|control| **control == *face))
                    .map(|id| {
                        let coords = api.lane_coords(id).unwrap();
                        let (left, right) = (coords.left.last().unwrap(), coords.right.last().unwrap());
                        json!([(left[0] + right[0]) / 2.0, (left[1] + right[1]) / 2.0])
                    });
                let ends: Vec<Value> = ends.take(16).collect();
                placed += ends.len();
                assert_eq!(light["ends"], json!(ends));
            }
            assert!(placed > 0, "no light of the data has a lane");
        }
        let answer = scene(&own, 1, 100);
        assert_eq!(answer["map"], json!(false));
        assert!(answer["hint"].as_str().unwrap().contains("--l5-map"));
        let got = ask(&own, "/api/ground?table=1&x=0&y=0&radius=10");
        assert!(got.status == 404 && got.text().contains("no map"), "{}", got.text());
    });
}

#[test]
fn a_map_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (map, meta) = (folder.path().join("maps/semantic_map.pb"), folder.path().join("meta.json"));
    std::fs::create_dir(folder.path().join("maps")).unwrap();
    let refused = |says: &str, other: Option<&Path>| {
        let error = SceneMap::read(&map, other).unwrap_err().to_string();
        assert!(error.contains(says), "{says}: {error}");
    };
    refused("semantic_map.pb", None);
    std::fs::write(&map, []).unwrap();
    refused("meta.json", None);
    for (content, says) in
        [("{", "JSON"), ("{}", "world_to_ecef"), ("[]", "world_to_ecef"), (r#"{"world_to_ecef": [[1, 2], [3, 4]]}"#, "4 x 4")]
    {
        std::fs::write(&meta, content).unwrap();
        refused(says, None);
    }
    std::fs::write(&meta, vec![b' '; (1 << 20) + 1]).unwrap();
    refused("meta.json: expected at most 1048576 bytes", None);
    std::fs::write(&meta, r#"{"world_to_ecef": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]}"#).unwrap();
    SceneMap::read(&map, None).unwrap();
    refused("other.json", Some(Path::new("other.json")));
    std::fs::write(&map, [0xff; 9]).unwrap();
    refused("semantic_map.pb", None);
    // A table whose attachment is damaged shows its frames without the map.
    block_on(async {
        let zarr = folder.path().join("zarr");
        GeneratorSettings { frames_per_scene: 5, ..Default::default() }.generate(&zarr).unwrap();
        let store = Store::open(folder.path().join("table").to_str().unwrap()).unwrap();
        let table = ingest(&Dataset::open(&zarr).unwrap(), store, &IngestOptions::default(), |_| {}).await.unwrap();
        let writer = table.append(WriteOptions::default()).await.unwrap();
        writer.attach("semantic_map.pb", vec![0xff; 9]).await.unwrap();
        let table = writer.commit([]).await.unwrap();
        let server = served(vec![Source::of_table(table)], None).await;
        for _ in 0..2 {
            let answer = scene(&server, 0, 2);
            assert!(answer["failures"]["map"].as_str().unwrap().contains("meta.json"), "{}", answer["failures"]);
            assert!(!answer["agents"].as_array().unwrap().is_empty());
        }
        // Nor does one that is too large, which is not read.
        for (name, most) in [("semantic_map.pb", 32 << 20), ("meta.json", 1 << 20)] {
            let folder = tempfile::tempdir().unwrap();
            let store = Store::open(folder.path().join("table").to_str().unwrap()).unwrap();
            let table = ingest(&Dataset::open(&zarr).unwrap(), store, &IngestOptions::default(), |_| {}).await.unwrap();
            let writer = table.append(WriteOptions::default()).await.unwrap();
            for other in ["semantic_map.pb", "meta.json"] {
                writer.attach(other, vec![b' '; if other == name { most + 1 } else { 9 }]).await.unwrap();
            }
            let server = served(vec![Source::of_table(writer.commit([]).await.unwrap())], None).await;
            let answer = scene(&server, 0, 2);
            let text = answer["failures"]["map"].as_str().unwrap();
            assert!(text.contains(&format!("attachment {name}: expected at most {most} bytes, found {}", most + 1)), "{text}");
            assert!(!answer["agents"].as_array().unwrap().is_empty());
        }
    });
}

#[test]
fn a_map_of_more_than_a_page_draws_in_time_is_cut_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let zarr = folder.path().join("zarr");
        GeneratorSettings { frames_per_scene: 5, ..Default::default() }.generate(&zarr).unwrap();
        let store = Store::open(folder.path().join("table").to_str().unwrap()).unwrap();
        let table = ingest(&Dataset::open(&zarr).unwrap(), store, &IngestOptions::default(), |_| {}).await.unwrap();
        for (map, query, expected) in [
            // As wide as the square, or wider.
            (road::squares(20_000, 1_000, 400.0), "radius=100", (64, 256, true)),
            // A little less than a quarter of its width, and than a sixteenth of it.
            (road::squares(300, 5_000, 99.9), "radius=200", (256, 4_104, true)),
            (road::squares(100, 200, 100.0), "radius=200", (100, 200, false)),
            (road::squares(100, 200, 4.0), "radius=1000", (100, 200, false)),
            // A square without a size.
            (road::squares(100, 300, 4.0), "radius=0", (100, 300, false)),
        ] {
            let server = served(vec![Source::of_table(table.clone())], Some(&map)).await;
            let ground = ask(&server, &format!("/api/ground?table=0&x=0&y=0&{query}")).json();
            let count = |of: &str| ground[of].as_array().unwrap().len();
            assert_eq!((count("crosswalks"), count("lanes"), ground["cut"] == json!(true)), expected, "{query}");
        }
    });
}

#[test]
fn silly_requests_get_a_clear_error() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let Some(table) = table(folder.path(), "single_scene.zarr").await else { return };
        let server = served(vec![Source::of_table(table)], map().as_ref()).await;
        for (query, says) in [
            ("scene?table=0", "row"),
            ("scene?table=0&row=248", "up to 247"),
            ("scene?table=0&row=-1", "row"),
            ("scene?table=0&row=1&before=101", "up to 100"),
            ("scene?table=0&row=1&after=x", "after"),
            ("scene?table=1&row=1", "table"),
            ("scene?table=0&row=1&columns=ego.*", "columns"),
            ("ground?table=0", "x"),
            ("ground?table=0&x=NaN&y=0&radius=1", "x"),
            ("ground?table=0&x=-inf&y=0&radius=1", "x"),
            ("ground?table=0&x=0&y=0&radius=-1", "radius"),
            ("ground?table=0&x=0&y=0&radius=1001", "up to 1000"),
            ("ground?table=0&x=0&y=0&radius=1&row=1", "row"),
        ] {
            let got = ask(&server, &format!("/api/{query}"));
            assert!(got.status == 400 && got.text().contains(says), "{query}: {} {}", got.status, got.text());
        }
    });
}

/// Writes a generated data set to a server of S3.
async fn on_s3(server: &S3, name: &str, scenes: u32) -> Table {
    let folder = tempfile::tempdir().unwrap();
    let zarr = folder.path().join("zarr");
    GeneratorSettings { scenes, frames_per_scene: 60, agents_per_frame: 20, ..Default::default() }.generate(&zarr).unwrap();
    let store = Store::open_with(&format!("s3://data/{name}"), &StoreOptions::only(server.options())).unwrap();
    ingest(&Dataset::open(&zarr).unwrap(), store, &IngestOptions::default(), |_| {}).await.unwrap()
}

#[test]
fn an_answer_takes_as_many_requests_however_large_the_table_is() {
    block_on(async {
        let s3 = S3::start();
        s3.create_bucket("data");
        let small = on_s3(&s3, "small", 1).await;
        let large = on_s3(&s3, "large", 12).await;
        let mut newest = small.clone();
        for number in 0..100 {
            newest = newest.edit().set_property("number", number).commit().await.unwrap();
        }
        assert_eq!(newest.version(), 101);
        let mut counts = Vec::new();
        for table in [&small, &large, &newest] {
            // Opened anew, so that nothing of it was read before.
            let table = Table::open_version_in(table.store().clone(), table.version()).await.unwrap();
            let server = served(vec![Source::of_table(table)], None).await;
            let mut counted = Vec::new();
            for row in [30, 5, 45] {
                s3.take_requests();
                let answer = scene(&server, 0, row);
                assert_eq!(answer["failures"], json!({}));
                let requests = s3.take_requests();
                counted.push((requests.iter().filter(|request| request.range.is_some()).count(), requests.len()));
            }
            counts.push(counted);
        }
        println!("{counts:?}");
        // Five groups, the poses of the own car and of the agents around, and the pages of the index. The first answer also reads the layouts.
        for counted in &counts {
            assert!(counted.iter().skip(1).all(|(_, all)| *all <= 12), "{counts:?}");
            assert!(counted[0].1 <= 40, "{counts:?}");
        }
        assert_eq!(counts[0], counts[2], "of one version and of a hundred");
    });
}

/// Returns a column of frames without agents, of a type that varies in its first extent, or of zeros for a type of one shape.
fn zeros(ty: &str, rows: usize) -> ArrayRef {
    let ty: ColumnType = ty.parse().unwrap();
    let ColumnType::Tensor { shape, .. } = &ty else { panic!("{ty}") };
    let (fields, shape) = match ty.arrow() {
        DataType::FixedSizeList(item, size) => {
            let zeros: ArrayRef = Arc::new(Float64Array::from(vec![0.0; rows * size as usize]));
            return Arc::new(FixedSizeListArray::new(item, size, zeros, None));
        }
        DataType::Struct(fields) => (fields, shape),
        other => panic!("{other}"),
    };
    let (DataType::LargeList(item), DataType::FixedSizeList(extent, rank)) = (fields[0].data_type(), fields[1].data_type())
    else {
        panic!("{fields:?}")
    };
    let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(0, rows));
    let data = LargeListArray::new(Arc::clone(item), offsets, new_empty_array(item.data_type()), None);
    let extents = (0..rows).flat_map(|_| shape.iter().map(|extent| extent.unwrap_or(0) as i32));
    let shapes = FixedSizeListArray::new(Arc::clone(extent), *rank, Arc::new(Int32Array::from_iter_values(extents)), None);
    Arc::new(StructArray::new(fields.clone(), vec![Arc::new(data), Arc::new(shapes)], None))
}

/// Writes so many frames without agents to a server of S3. The first frames of two tables are the same.
async fn empty_frames(server: &S3, name: &str, rows: u64) -> Table {
    const COLUMNS: [(&str, &str); 6] = [
        ("ego.translation", "f64[3]"),
        ("ego.rotation", "f64[3,3]"),
        ("agents.pose.centroid", "f64[?,2]"),
        ("agents.pose.yaw", "f32[?]"),
        ("agents.pose.extent", "f32[?,3]"),
        ("agents.pose.track_id", "u64[?]"),
    ];
    let (ego, pose) = COLUMNS.split_at(2);
    let schema =
        Schema::builder().index("frame", "u64").group("ego", ego.to_vec()).group("agents.pose", pose.to_vec()).build().unwrap();
    let store = Store::open_with(&format!("s3://data/{name}"), &StoreOptions::only(server.options())).unwrap();
    // Small indexes have tails too, so that both tables read their index by rows.
    let options = WriteOptions::default().preset(Preset::Fast).index_tails(IndexTails::All);
    let writer = Table::create_in(store, schema, options).await.unwrap();
    let partitions = (0..rows).step_by(100_000).map(|first| first..(first + 100_000).min(rows)).collect();
    let batch = |rows: Range<u64>| {
        let count = (rows.end - rows.start) as usize;
        let frames: ArrayRef = Arc::new(UInt64Array::from_iter_values(rows));
        let columns = COLUMNS.map(|(name, ty)| (name, zeros(ty, count)));
        let batch = RecordBatch::try_from_iter(std::iter::once(("frame", frames)).chain(columns)).unwrap();
        Ok(std::iter::once(Ok(batch)))
    };
    write_partitions(writer, partitions, 0, batch, |_| {}, |_| {}).await.unwrap()
}

#[test]
fn a_frame_takes_as_many_requests_for_payload_in_a_table_of_a_million_rows() {
    block_on(async {
        let s3 = S3::start();
        s3.create_bucket("data");
        let small = empty_frames(&s3, "small", 10_000).await;
        let large = empty_frames(&s3, "large", 1_000_000).await;
        let mut newest = large.clone();
        for number in 0..99 {
            newest = newest.edit().set_property("number", number).commit().await.unwrap();
        }
        assert_eq!((small.rows(), large.rows(), newest.version()), (10_000, 1_000_000, 100));
        let mut counts = Vec::new();
        for table in [&small, &large, &newest] {
            let table = Table::open_version_in(table.store().clone(), table.version()).await.unwrap();
            let (last, mut counted) = (table.rows() - 5_000, Vec::new());
            let server = served(vec![Source::of_table(table)], None).await;
            for row in [5_000, 30, 8_000, last] {
                s3.take_requests();
                let answer = scene(&server, 0, row);
                assert_eq!((&answer["failures"], &answer["there"]), (&json!({}), &json!(true)), "row {row}");
                let requests = s3.take_requests();
                let of_chunks = requests.iter().filter(|request| request.key.contains("chunks/")).count();
                counted.push((of_chunks, requests.len()));
            }
            counts.push(counted);
        }
        println!("{counts:?}");
        // The ego car and the poses, and the rows around of both; the pages of the index; and first the layouts.
        for counted in &counts {
            assert!(counted.iter().all(|(of_chunks, _)| *of_chunks <= 6), "{counts:?}");
            assert!(counted[0].1 <= 40 && counted.iter().skip(1).all(|(_, all)| *all <= 12), "{counts:?}");
        }
        let payload = |counted: &[(usize, usize)]| counted.iter().take(3).map(|(of_chunks, _)| *of_chunks).collect::<Vec<_>>();
        assert_eq!(payload(&counts[0]), payload(&counts[1]), "of ten thousand rows and of a million: {counts:?}");
        assert_eq!(payload(&counts[1]), payload(&counts[2]), "of one version and of a hundred: {counts:?}");
    });
}
