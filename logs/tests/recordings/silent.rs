//! Logs in which a topic has no messages, or no definition that can be read.

use std::path::Path;

use tetrys::{Store, Table};
use tetrys_logs::{IngestSettings, Ingested, LogSource, Recipe, ingest};

use crate::{
    rows::{STAMPED, stamped, topic},
    writing::{Message, Parts, Topic, write},
};

const PICTURE: &str = "uint32 height\nuint32 width\nstring encoding\nuint8 is_bigendian\nuint32 step\nuint8[] data\n";
const CLOUD: &str = "uint32 height\nuint32 width\nsensor_msgs/PointField[] fields\nbool is_bigendian\nuint32 point_step\nuint32 row_step\n\
    uint8[] data\nbool is_dense\n===\nMSG: sensor_msgs/PointField\nstring name\nuint32 offset\nuint8 datatype\nuint32 count\n";

fn topics() -> [Topic; 3] {
    [
        topic("/clock", "here/Value", STAMPED),
        topic("/camera", "sensor_msgs/Image", PICTURE),
        topic("/lidar", "sensor_msgs/PointCloud2", CLOUD),
    ]
}

fn text(text: &str) -> Vec<u8> {
    [&u32::try_from(text.len()).unwrap().to_le_bytes()[..], text.as_bytes()].concat()
}

fn numbers(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// A grey picture of 2 x 1 pixels, or one that has nothing.
fn picture(log_time: u64, is_empty: bool) -> Message {
    let data = match is_empty {
        true => [numbers(&[0, 0]), text(""), vec![0], numbers(&[0, 0])].concat(),
        false => [numbers(&[1, 2]), text("mono8"), vec![0], numbers(&[2, 2]), vec![7, 8]].concat(),
    };
    Message { data, ..stamped(1, log_time, 0, 0) }
}

/// A cloud of two points with `x`, or one that has nothing.
fn cloud(log_time: u64, is_empty: bool) -> Message {
    let data = match is_empty {
        true => [numbers(&[0, 0, 0]), vec![0], numbers(&[0, 0, 0]), vec![1]].concat(),
        false => {
            let field = [text("x"), numbers(&[0]), vec![7], numbers(&[1])].concat();
            let points: Vec<u8> = [1.5_f32, 2.5].into_iter().flat_map(f32::to_le_bytes).collect();
            [numbers(&[1, 2, 1]), field, vec![0], numbers(&[4, 8, 8]), points, vec![1]].concat()
        }
    };
    Message { data, ..stamped(2, log_time, 0, 0) }
}

fn recipe(policy: &str) -> Recipe {
    let of = |name: &str, field: &str| {
        format!(
            "[[match]]\nname = \"{name}\"\ntopic = \"/{name}\"\npolicy = \"{policy}\"\ntolerance = 5\nfields = [\"{field}\"]\n"
        )
    };
    let clock = "[defaults]\ntime = \"log\"\n[clock]\ntopic = \"/clock\"\nname = \"clock\"\n";
    Recipe::parse(&format!("{clock}{}{}", of("camera", "image"), of("lidar", "points"))).unwrap()
}

/// Imports logs, each with these messages, into the table in a folder.
async fn imported(folder: &Path, logs: &[(&str, &[Message])], policy: &str) -> tetrys::Result<Ingested> {
    imported_by(folder, logs, recipe(policy)).await
}

async fn imported_by(folder: &Path, logs: &[(&str, &[Message])], recipe: Recipe) -> tetrys::Result<Ingested> {
    let mut sources = Vec::new();
    for (name, messages) in logs {
        let path = folder.join(format!("{name}.mcap"));
        std::fs::write(&path, write(&topics(), messages, &Parts::default())).unwrap();
        sources.push(LogSource::of(path.to_str().unwrap()).unwrap());
    }
    let store = Store::open(folder.join("table").to_str().unwrap()).unwrap();
    ingest(&sources, store, &IngestSettings::new(recipe), |_| {}).await
}

/// The recipe without `fields`.
fn default_recipe() -> Recipe {
    let of = |name: &str| format!("[[match]]\nname = \"{name}\"\ntopic = \"/{name}\"\npolicy = \"last\"\ntolerance = 5\n");
    let clock = "[defaults]\ntime = \"log\"\n[clock]\ntopic = \"/clock\"\nname = \"clock\"\n";
    Recipe::parse(&format!("{clock}{}{}", of("camera"), of("lidar"))).unwrap()
}

fn types(table: &Table) -> [String; 2] {
    ["camera.image", "lidar.points"].map(|name| table.schema().column_named(name).unwrap().ty.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_without_pictures_or_points_fit_those_that_have_them() {
    let clock = |at| stamped(0, at, 0, 0);
    let (seeing, blind) = ([clock(100), picture(100, false)], [clock(100), cloud(100, false)]);
    for (policy, expected) in [("last", ["u8[?,?]", "f32[?,1]"]), ("all", ["list<u8[?,?]>", "list<f32[?,1]>"])] {
        let folder = tempfile::tempdir().unwrap();
        // No log has both; the types are those of the first that has messages.
        let made = imported(folder.path(), &[("monday", &seeing), ("tuesday", &blind)], policy).await.unwrap();
        assert_eq!((made.failed.len(), made.table.rows()), (0, 2));
        assert_eq!(types(&made.table), expected);
        // A log that has nothing fits the table, too.
        let made = imported(folder.path(), &[("wednesday", &[clock(100)])], policy).await.unwrap();
        assert_eq!((made.failed.len(), made.table.rows()), (0, 3));
        let found = made.table.row_loader().take(&[0, 1, 2]).await.unwrap();
        let lacks = |name: &str| found.batch().column_by_name(name).unwrap().logical_null_count();
        let nulls = if policy == "last" { 2 } else { 0 };
        assert_eq!((lacks("camera.image"), lacks("lidar.points")), (nulls, nulls), "{policy}");
    }
    let folder = tempfile::tempdir().unwrap();
    let error = imported(folder.path(), &[("monday", &seeing)], "last").await.unwrap_err().to_string();
    let expected = "topic /lidar: no log has a message that says which columns there are: fields: none matches `points`";
    assert!(error.contains(expected), "{error}");
    assert!(!folder.path().join("table").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_pictures_and_clouds_before_the_first_real_one_are_null() {
    let mut messages = Vec::new();
    for (at, is_empty) in [(100, true), (200, false), (300, true)] {
        messages.extend([stamped(0, at, 0, 0), picture(at, is_empty), cloud(at, is_empty)]);
    }
    let folder = tempfile::tempdir().unwrap();
    let table = imported(folder.path(), &[("monday", &messages)], "last").await.unwrap().table;
    assert_eq!(types(&table), ["u8[?,?]", "f32[?,1]"]);
    let row = table.row_loader().get_row(1).await.unwrap();
    assert_eq!(row.tensor::<u8>("camera.image").unwrap().values(), [7, 8]);
    assert_eq!(row.tensor::<f32>("lidar.points").unwrap().values(), [1.5, 2.5]);
    let found = table.row_loader().take(&[0, 1, 2]).await.unwrap();
    for name in ["camera.image", "lidar.points"] {
        let column = found.batch().column_by_name(name).unwrap();
        assert_eq!([0, 1, 2].map(|row| column.is_null(row)), [true, false, true], "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_that_do_not_say_what_their_pictures_are_fix_no_columns() {
    let clock = |at| stamped(0, at, 0, 0);
    let silent = [clock(100)];
    let empty = [clock(100), picture(100, true), cloud(100, true)];
    let seeing = [clock(100), picture(100, false), cloud(100, false)];
    // The columns are those of the first log that says them.
    let folder = tempfile::tempdir().unwrap();
    let logs: [(&str, &[Message]); 2] = [("monday", &silent), ("tuesday", &seeing)];
    let made = imported_by(folder.path(), &logs, default_recipe()).await.unwrap();
    assert_eq!((made.failed.len(), made.table.rows(), types(&made.table)), (0, 2, ["u8[?,?]", "f32[?,1]"].map(str::to_owned)));
    let folder = tempfile::tempdir().unwrap();
    let logs: [(&str, &[Message]); 2] = [("monday", &empty), ("tuesday", &seeing)];
    let made = imported_by(folder.path(), &logs, default_recipe()).await.unwrap();
    assert_eq!(types(&made.table), ["u8[?,?]", "f32[?,1]"]);
    // Without one, there is no table; what made a log fail is said.
    for only in [&silent[..], &empty[..]] {
        let folder = tempfile::tempdir().unwrap();
        let error = imported_by(folder.path(), &[("monday", only)], default_recipe()).await.unwrap_err().to_string();
        let expected = "topic /camera: no log has a message that says which columns there are: pictures and points";
        assert!(error.starts_with(expected), "{error}");
        assert!(!folder.path().join("table").exists());
    }
    let folder = tempfile::tempdir().unwrap();
    let broken = [Message { data: vec![1], ..clock(100) }, Message { data: vec![1], ..picture(100, false) }];
    let logs: [(&str, &[Message]); 2] = [("monday", &broken), ("tuesday", &silent)];
    let error = imported_by(folder.path(), &logs, default_recipe()).await.unwrap_err().to_string();
    assert!(error.contains("; a log could not be read: log monday: topic "), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_whose_pictures_cannot_be_decoded_fails_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let messages = [stamped(0, 100, 0, 0), picture(100, false)];
    let recipe = "[defaults]\ntime = \"log\"\n[clock]\ntopic = \"/camera\"\nname = \"camera\"\n";
    let mut sources = Vec::new();
    for (name, definition) in [("monday", PICTURE), ("tuesday", "")] {
        let path = folder.path().join(format!("{name}.mcap"));
        let mut topics = topics();
        topics[1].definition = definition.to_owned();
        if definition.is_empty() {
            topics[1].schema_encoding = "ros2idl";
        }
        std::fs::write(&path, write(&topics, &messages, &Parts::default())).unwrap();
        sources.push(LogSource::of(path.to_str().unwrap()).unwrap());
    }
    let settings = IngestSettings::new(Recipe::parse(recipe).unwrap());
    let made = ingest(&sources, Store::open("memory://").unwrap(), &settings, |_| {}).await.unwrap();
    let (name, error) = &made.failed[0];
    assert_eq!((name.as_str(), made.table.rows()), ("tuesday", 1));
    let expected = "log tuesday: column `camera.data`: found binary, the other logs of the table have no such column; the messages of topic \
        /camera stay bytes: messages in `ros1`, described in `ros2idl`";
    assert_eq!(error.to_string(), expected);
}
