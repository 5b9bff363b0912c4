//! Types of the standard packages of ROS 2: recordings without definitions are read without a folder of them.

use std::{collections::BTreeMap, path::Path};

use arrow_array::{RecordBatch, cast::AsArray, types::Float64Type};
use rusqlite::Connection;
use tetrys::Table;
use tetrys_logs::{LogSource, OpenOptions, info};

use crate::{
    bags::imported_by,
    common::python,
    rows::{stamped, topic},
    writing::{Message, Parts, Topic, write},
};

const RECIPE: &str = "[clock]\ntopic = \"/it\"\nname = \"it\"\ntime = \"stamp\"\n";
const COUNT: u32 = 20;

/// A `PoseStamped`: time, frame, position and orientation.
fn pose(at: u32) -> Vec<u8> {
    let numbers = [f64::from(at), 2.0, 3.0, 0.0, 0.0, 0.6, 0.8].map(f64::to_le_bytes);
    [&[0, 1, 0, 0][..], &at.to_le_bytes(), &7_u32.to_le_bytes(), &4_u32.to_le_bytes(), b"map\0", &numbers.concat()].concat()
}

/// Writes a bag without definitions, as rosbag2 did through Humble.
fn bag(path: &Path, ty: &str) {
    let connection = Connection::open(path).unwrap();
    let tables = "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL, serialization_format TEXT NOT NULL,
           offered_qos_profiles TEXT NOT NULL);
         CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL, data BLOB NOT NULL);";
    connection.execute_batch(tables).unwrap();
    connection.execute("INSERT INTO topics VALUES (1, '/it', ?1, 'cdr', '')", [ty]).unwrap();
    for at in 1..=COUNT {
        let row = "INSERT INTO messages(topic_id, timestamp, data) VALUES (1, ?1, ?2)";
        connection.execute(row, rusqlite::params![i64::from(at) * 1_000_000_000 + 50, pose(at)]).unwrap();
    }
}

/// Writes an MCAP file whose schema has this text.
fn mcap(path: &Path, ty: &str, schema_encoding: &'static str, text: &str) {
    let topics = [Topic { schema_encoding, encoding: "cdr", ..topic("/it", ty, text) }];
    let message = |at: u32| Message { data: pose(at), ..stamped(0, u64::from(at) * 1_000_000_000 + 50, 0, 0) };
    std::fs::write(path, write(&topics, &(1..=COUNT).map(message).collect::<Vec<_>>(), &Parts::default())).unwrap();
}

async fn rows_of(table: &Table) -> (Vec<RecordBatch>, RecordBatch) {
    let index = table.index_batches().await.unwrap().map(Result::unwrap).collect();
    let all: Vec<u64> = (0..table.rows()).collect();
    (index, table.row_loader().take(&all).await.unwrap().batch().clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_without_definitions_has_those_of_the_standard_packages() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str| folder.path().join(name);
    std::fs::create_dir(of("with")).unwrap();
    let ty = "geometry_msgs/msg/PoseStamped";
    let whole = "std_msgs/Header header\nPose pose\n===\nMSG: geometry_msgs/Pose\nPoint position\nQuaternion orientation\n===\n\
        MSG: geometry_msgs/Point\nfloat64 x\nfloat64 y\nfloat64 z\n===\n\
        MSG: geometry_msgs/Quaternion\nfloat64 x\nfloat64 y\nfloat64 z\nfloat64 w\n";
    mcap(&of("with/drive.mcap"), ty, "ros2msg", whole);
    mcap(&of("drive.mcap"), ty, "ros2msg", "");
    bag(&of("drive.db3"), ty);
    let import = async |name: &str| {
        imported_by(RECIPE, &of(name), OpenOptions { strict: true, ..OpenOptions::default() }).await.unwrap().table
    };
    let expected = rows_of(&import("with/drive.mcap").await).await;
    let position = expected.0[0].column_by_name("it.position").or(expected.1.column_by_name("it.position")).unwrap();
    assert_eq!(position.as_fixed_size_list().value(4).as_primitive::<Float64Type>().values(), &[5.0, 2.0, 3.0]);
    for name in ["drive.mcap", "drive.db3"] {
        assert_eq!(rows_of(&import(name).await).await, expected, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_type_that_changed_between_releases_needs_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.db3");
    bag(&path, "sensor_msgs/msg/Range");
    let found = info(&LogSource::of(path.to_str().unwrap()).unwrap(), &OpenOptions::default()).await.unwrap();
    let expected = "the recording has no definition of sensor_msgs/msg/Range; name a folder of .msg files that has it (`--msgs`, in Python `msgs=`)";
    assert_eq!(found.topics[0].problem.as_deref(), Some(expected));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_that_cannot_be_read_is_not_replaced_by_a_standard_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.mcap");
    for (schema_encoding, text) in [("ros2msg", "Pose pose but not like this\n"), ("ros2idl", "// no type\n")] {
        mcap(&path, "geometry_msgs/msg/PoseStamped", schema_encoding, text);
        let found = info(&LogSource::of(path.to_str().unwrap()).unwrap(), &OpenOptions::default()).await.unwrap();
        let problem = found.topics[0].problem.as_ref().unwrap();
        assert!(problem.starts_with("the definition of geometry_msgs/msg/PoseStamped"), "{problem}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_counts_more_than_the_standard_packages() {
    let folder = tempfile::tempdir().unwrap();
    let package = folder.path().join("share/geometry_msgs/msg");
    std::fs::create_dir_all(&package).unwrap();
    let msgs = vec![folder.path().join("share").display().to_string()];
    let ty = "geometry_msgs/msg/PoseStamped";
    let paths = ["drive.mcap", "drive.db3"].map(|name| folder.path().join(name));
    mcap(&paths[0], ty, "ros2msg", "");
    bag(&paths[1], ty);
    // The same bytes, with other names.
    let idl = "module geometry_msgs { module msg { struct PoseStamped { long sec; unsigned long nanosec; string in_idl; double of[7]; }; }; };";
    let msg = "int32 sec\nuint32 nanosec\nstring in_msg\nfloat64[7] of\n";
    let other = "this cannot be read\n";
    let files = [("Unused.msg", "", "it.frame_id"), ("PoseStamped.idl", idl, "it.in_idl"), ("PoseStamped.msg", msg, "it.in_msg")];
    for (file, text, expected) in files.into_iter().chain([("PoseStamped.msg", other, "it.in_idl")]) {
        std::fs::write(package.join(file), text).unwrap();
        for path in &paths {
            let options = OpenOptions { strict: true, msgs: msgs.clone(), ..OpenOptions::default() };
            let table = imported_by(&RECIPE.replace("stamp", "log"), path, options).await.unwrap().table;
            assert!(table.schema().column_named(expected).is_some(), "{file}: {:?}", table.schema());
        }
    }
}

#[test]
fn the_definitions_are_those_of_the_package_that_they_are_made_with() {
    let Some(python) = python(&["tests/ros_python/requirements.txt"]) else { return };
    let root = crate::common::root();
    let made = std::process::Command::new(python).arg(root.join("tests/ros_python/standard.py")).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let shipped = std::fs::read_to_string(root.join("logs/src/standard/ros2.txt")).unwrap();
    let types = |text: &str| {
        let types = text.split("MSG: ").skip(1).map(|text| text.split_once('\n').unwrap());
        types.map(|(name, text)| (name.to_owned(), text.to_owned())).collect::<BTreeMap<_, _>>()
    };
    let (made, shipped) = (types(&String::from_utf8(made.stdout).unwrap()), types(&shipped));
    // Another version of the package knows other releases, and may leave out types that changed in them.
    let both: Vec<&String> = made.keys().filter(|name| shipped.contains_key(*name)).collect();
    assert!(both.len() > 140, "{} types", both.len());
    for name in both {
        assert_eq!(made[name], shipped[name], "{name}");
    }
}
