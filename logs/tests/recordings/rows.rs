//! Rows: columns of standard types, messages that serve several rows, missing messages, late ones, and logs in a store.

use std::sync::Arc;

use arrow_array::{cast::AsArray, types::Int64Type};
use tetrys::{
    Store, StoreOptions,
    object_store::{ObjectStoreExt as _, memory::InMemory, path::Path},
};
use tetrys_logs::{IngestSettings, Ingested, Input, LogSource, OpenOptions, Recipe, info, ingest, mcap::McapFile};

use crate::writing::{Message, Parts, Topic, write};

pub(crate) fn topic(name: &str, schema: &str, definition: &str) -> Topic {
    let (schema, definition) = (schema.to_owned(), definition.to_owned());
    Topic { name: name.to_owned(), schema, schema_encoding: "ros1msg", definition, encoding: "ros1" }
}

/// Returns 400 messages of 10 kB: the first half of topic `/a`, the second one of `/b`.
pub(crate) fn blobs() -> ([Topic; 2], Vec<Message>) {
    let blob = |at: u64| Message {
        topic: usize::from(at >= 200),
        log_time: 1000 + at,
        publish_time: 0,
        data: [&10_000_u32.to_le_bytes()[..], &[u8::try_from(at % 251).unwrap(); 10_000]].concat(),
    };
    let topics = ["/a", "/b"].map(|name| topic(name, "here/Blob", "uint8[] data"));
    (topics, (0..400).map(blob).collect())
}

/// Imports messages by a recipe.
pub(crate) async fn made(topics: &[Topic], messages: &[Message], recipe: &str) -> tetrys::Result<(Ingested, tempfile::TempDir)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.mcap");
    std::fs::write(&path, write(topics, messages, &Parts::default())).unwrap();
    let logs = [LogSource::of(path.to_str().unwrap())?];
    let store = Store::open(&folder.path().join("table").display().to_string())?;
    let made = ingest(&logs, store, &IngestSettings::new(Recipe::parse(recipe)?), |_| {}).await?;
    Ok((made, folder))
}

pub(crate) const STAMPED: &str = "time stamp\nint64 id\n";

pub(crate) fn stamped(topic: usize, log_time: u64, stamp: u32, id: i64) -> Message {
    let data = [&0_u32.to_le_bytes()[..], &stamp.to_le_bytes(), &id.to_le_bytes()].concat();
    Message { topic, log_time, publish_time: 0, data }
}

#[tokio::test(flavor = "multi_thread")]
async fn standard_types_have_short_columns_without_a_word_in_the_recipe() {
    let header = "===\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n";
    let vector = "===\nMSG: geometry_msgs/Vector3\nfloat64 x\nfloat64 y\nfloat64 z\n";
    let point = "===\nMSG: geometry_msgs/Point\nfloat64 x\nfloat64 y\nfloat64 z\n";
    let quaternion = "===\nMSG: geometry_msgs/Quaternion\nfloat64 x\nfloat64 y\nfloat64 z\nfloat64 w\n";
    let pose = "===\nMSG: geometry_msgs/Pose\nPoint position\nQuaternion orientation\n";
    let types: [(&str, String, &[&str]); 6] = [
        (
            "sensor_msgs/CompressedImage",
            format!("Header header\nstring format\nuint8[] data\n{header}"),
            &["stamp timestamp[ns]", "frame_id utf8", "format utf8", "data binary"],
        ),
        (
            "sensor_msgs/Imu",
            format!(
                "Header header\ngeometry_msgs/Quaternion orientation\nfloat64[9] orientation_covariance\n\
                 geometry_msgs/Vector3 angular_velocity\n{header}{vector}{quaternion}"
            ),
            &[
                "stamp timestamp[ns]",
                "frame_id utf8",
                "orientation f64[4]",
                "orientation_covariance f64[9]",
                "angular_velocity f64[3]",
            ],
        ),
        (
            "geometry_msgs/PoseStamped",
            format!("Header header\nPose pose\n{header}{pose}{point}{quaternion}"),
            &["stamp timestamp[ns]", "frame_id utf8", "position f64[3]", "orientation f64[4]"],
        ),
        (
            "sensor_msgs/CameraInfo",
            format!("Header header\nuint32 height\nfloat64[] D\nfloat64[9] K\nfloat64[12] P\n{header}"),
            &["stamp timestamp[ns]", "frame_id utf8", "height u32", "D f64[?]", "K f64[3,3]", "P f64[3,4]"],
        ),
        (
            "sensor_msgs/LaserScan",
            format!("Header header\nfloat32 angle_min\nfloat32[] ranges\n{header}"),
            &["stamp timestamp[ns]", "frame_id utf8", "angle_min f32", "ranges f32[?]"],
        ),
        (
            "here/Detections",
            format!(
                "Box[] boxes\nBox first\n===\nMSG: here/Box\ngeometry_msgs/Point centre\nfloat32 score\nstring label\nfloat32[] mask\n{point}"
            ),
            &[
                "boxes.centre f64[?,3]",
                "boxes.score f32[?]",
                "boxes.label list<utf8>",
                "boxes.mask list<f32[?]>",
                "first.centre f64[3]",
                "first.score f32",
                "first.label utf8",
                "first.mask f32[?]",
            ],
        ),
    ];
    let topics: Vec<Topic> = types.iter().map(|(name, text, _)| topic(&format!("/{name}"), name, text)).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.mcap");
    std::fs::write(&path, write(&topics, &[], &Parts::default())).unwrap();
    let found = info(&LogSource::of(path.to_str().unwrap()).unwrap(), &OpenOptions::default()).await.unwrap();
    for (name, _, expected) in types {
        let topic = found.topics.iter().find(|topic| topic.schema == name).unwrap();
        assert_eq!(topic.problem, None);
        let columns: Vec<String> = topic.columns.iter().map(|(name, ty)| format!("{name} {ty}")).collect();
        let without_seq: Vec<&String> = columns.iter().filter(|column| *column != "seq u32").collect();
        assert_eq!(without_seq, expected, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_uses_a_message_again_for_all_rows_until_the_next_one() {
    let messages: Vec<Message> = (0..10).map(|id| stamped(0, id * 100, 7, i64::try_from(id).unwrap())).collect();
    let recipe = "[clock]\nrate = \"100000000Hz\"\n[[match]]\nname = \"a\"\ntopic = \"/a\"\ntime = \"log\"\npolicy = \"last\"\ntolerance = \"none\"";
    let (made, _folder) = made(&[topic("/a", "here/Value", STAMPED)], &messages, recipe).await.unwrap();
    assert_eq!(made.table.rows(), 91);
    let report = &made.report.logs[0].matches[0];
    assert_eq!((report.matched, report.reused, report.skipped, report.largest_dt), (91, 81, 0, Some(90)));
    assert_eq!(made.table.lineage()["matches"]["a"]["reused"], 81);
}

#[tokio::test(flavor = "multi_thread")]
async fn zero_stamps_late_messages_and_jumps_are_errors_unless_the_recipe_says_otherwise() {
    let topics = [topic("/a", "here/Value", STAMPED)];
    let recipe = |lines: &str| format!("[clock]\ntopic = \"/a\"\nname = \"a\"\ntime = \"stamp\"\n{lines}");
    let ids = [stamped(0, 100, 100, 0), stamped(0, 200, 0, 1), stamped(0, 300, 300, 2)];
    let error = made(&topics, &ids, &recipe("")).await.unwrap_err().to_string();
    assert!(error.contains("topic /a: message logged at 200: the stamp is 0 or missing"), "{error}");
    for (how, rows) in [("drop", 2), ("keep", 3)] {
        let (made, _folder) = made(&topics, &ids, &recipe(&format!("zero_stamp = \"{how}\""))).await.unwrap();
        assert_eq!((made.table.rows(), made.report.logs[0].matches[0].without_stamp), (rows, 3 - rows));
    }
    let late = [stamped(0, 100, 100, 0), stamped(0, 200, 200, 1), stamped(0, 300, 150, 2), stamped(0, 400, 120, 3)];
    let error = made(&topics, &late, &recipe("max_lateness = 60")).await.unwrap_err().to_string();
    assert!(error.contains("the message at 120 is 80 ns late: more than max_lateness"), "{error}");
    let (dropped, _folder) = made(&topics, &late, &recipe("max_lateness = 60\non_late = \"drop\"")).await.unwrap();
    assert_eq!((dropped.table.rows(), dropped.report.logs[0].matches[0].late), (3, 1));
    // Late by more than the second that is allowed if a recipe says nothing.
    let old = Message { data: stamped(0, 0, 0, 3).data, ..stamped(0, 300, 100, 3) };
    let mut new = stamped(0, 100, 5, 1);
    new.data[..4].copy_from_slice(&2_u32.to_le_bytes());
    let (dropped, _folder) = made(&topics, &[new, old], &recipe("zero_stamp = \"keep\"\non_late = \"drop\"")).await.unwrap();
    assert_eq!((dropped.table.rows(), dropped.report.logs[0].matches[0].late), (1, 1));
    let error = made(&topics, &late, &recipe("jump = 40")).await.unwrap_err().to_string();
    assert!(error.contains("the time steps back by 50 ns to 150: more than jump"), "{error}");
    let error = made(&topics, &late, &recipe("").replace("stamp", "publish")).await.unwrap_err().to_string();
    assert!(error.contains("there is no publish time"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_in_a_store_is_opened_with_three_requests_and_read_by_chunks() {
    let topics = [topic("/a", "here/Value", STAMPED)];
    let messages: Vec<Message> = (0..20_000).map(|id| stamped(0, 1000 + id, u32::try_from(id).unwrap(), 7)).collect();
    let parts = Parts { chunk: 5, compression: "", ..Parts::default() };
    let bytes = write(&topics, &messages, &parts);
    let objects = Arc::new(InMemory::new());
    objects.put(&Path::from("logs/drive.mcap"), bytes.into()).await.unwrap();
    let store = Store::new(objects, Path::from("logs"), "memory://logs");
    let opened = tokio::task::spawn_blocking(move || {
        let file = McapFile::open(Input::of_store(store, "drive.mcap").unwrap(), true).unwrap();
        (file.is_indexed(), file.blocks().len(), file.input().requests().0)
    });
    // The summary of 4,000 chunks is larger than what is read first.
    assert_eq!(opened.await.unwrap(), (true, 4000, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_log_in_s3_only_the_chunks_with_wanted_topics_are_fetched() {
    // In chunks of ten messages.
    let (topics, messages) = blobs();
    let bytes = write(&topics, &messages, &Parts { chunk: 10, compression: "", ..Parts::default() });
    let server = tetrys_s3_server::Server::start();
    server.create_bucket("data");
    server.put("data", "logs/drive.mcap", bytes);
    let recipe = "[clock]\ntopic = \"/b\"\nname = \"b\"\ntime = \"log\"";
    let settings = IngestSettings {
        open: OpenOptions { strict: true, store: StoreOptions::only(server.options()), ..OpenOptions::default() },
        ..IngestSettings::new(Recipe::parse(recipe).unwrap())
    };
    let logs = [LogSource::of("s3://data/logs/drive.mcap").unwrap()];
    let made = ingest(&logs, Store::open("memory://").unwrap(), &settings, |_| {}).await.unwrap();
    assert_eq!(made.table.rows(), 200);
    let row = made.table.row_loader().get_row(7).await.unwrap();
    assert_eq!(row.tensor::<u8>("b.data").unwrap().values(), [207; 10_000]);
    let reads: Vec<(u64, u64)> = server.take_requests().into_iter().filter_map(|request| request.range).collect();
    // The first half of the file has the chunks of the other topic; the tail that is read first begins far behind them.
    assert!(reads.iter().all(|(first, _)| *first > 2_000_000), "{reads:?}");
    // The end of the file, the message indexes of 20 chunks once, one or two chunks for the types, and the others together.
    assert!((23..=24).contains(&reads.len()), "{reads:?}");
    let bytes: u64 = reads.iter().map(|(first, last)| last - first).sum();
    assert!(bytes < 2_500_000, "{bytes} bytes");
    let missing = LogSource::of("s3://data/logs/none.mcap").unwrap();
    let error = ingest(&[missing], Store::open("memory://").unwrap(), &settings, |_| {}).await.unwrap_err();
    assert_eq!(error.kind(), tetrys::ErrorKind::NotFound, "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_of_split_files_is_one_log_and_joined_files_too() {
    let topics = [topic("/a", "here/Value", STAMPED)];
    let ids = |range: std::ops::Range<u64>| -> Vec<Message> {
        range.map(|id| stamped(0, 100 + id, u32::try_from(id).unwrap(), i64::try_from(id).unwrap())).collect()
    };
    let folder = tempfile::tempdir().unwrap();
    let bag = folder.path().join("monday");
    std::fs::create_dir(&bag).unwrap();
    // The second file has messages of before the first one's last.
    std::fs::write(bag.join("monday_0.mcap"), write(&topics, &[ids(0..10), ids(12..20)].concat(), &Parts::default())).unwrap();
    std::fs::write(bag.join("monday_1.mcap"), write(&topics, &[ids(10..12), ids(20..30)].concat(), &Parts::default())).unwrap();
    let recipe = Recipe::parse("[clock]\ntopic = \"/a\"\nname = \"a\"\ntime = \"stamp\"\nzero_stamp = \"keep\"").unwrap();
    let names: Vec<String> =
        ["monday_0.mcap", "monday_1.mcap"].map(|name| bag.join(name).display().to_string()).into_iter().collect();
    for (source, name) in
        [(LogSource::of(bag.to_str().unwrap()).unwrap(), "monday"), (LogSource::joined(&names).unwrap(), "monday_0")]
    {
        assert_eq!(source.name, name);
        let store = Store::open("memory://").unwrap();
        let made = ingest(&[source], store, &IngestSettings::new(recipe.clone()), |_| {}).await.unwrap();
        let mut found = Vec::new();
        for batch in made.table.index_batches().await.unwrap() {
            found.extend(batch.unwrap().column_by_name("a.id").unwrap().as_primitive::<Int64Type>().values().to_vec());
        }
        assert_eq!(found, (0..30).collect::<Vec<_>>(), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_of_unknown_encodings_stay_bytes_with_the_reason() {
    let mut topics = [topic("/a", "here/Value", STAMPED), topic("/b", "here/Wide", "wstring text"), topic("/c", "here/C", "")];
    topics[2].encoding = "cbor";
    let messages: Vec<Message> = (0..3).map(|topic| Message { data: vec![1, 2, 3], ..stamped(topic, 100, 100, 1) }).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.mcap");
    std::fs::write(&path, write(&topics, &messages, &Parts::default())).unwrap();
    let found = info(&LogSource::of(path.to_str().unwrap()).unwrap(), &OpenOptions::default()).await.unwrap();
    let problems: Vec<&str> = found.topics.iter().map(|topic| topic.problem.as_deref().unwrap()).collect();
    assert!(problems[0].contains("field `stamp`"), "{problems:?}");
    assert!(problems[1].contains("`wstring`") && problems[2].contains("messages in `cbor`"), "{problems:?}");
    let recipe = "[clock]\ntopic = \"/b\"\nname = \"b\"\ntime = \"log\"";
    let (made, _folder) = made(&topics, &messages, recipe).await.unwrap();
    let row = made.table.row_loader().get_row(0).await.unwrap();
    assert_eq!(row.bytes("b.data").unwrap(), [1, 2, 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_without_messages_does_not_say_what_the_messages_of_its_topic_are() {
    let one = topic("/a", "here/One", "time stamp\nint64 id\n");
    let other = topic("/a", "here/Other", "int64 value\nint64 id\n");
    let (of_one, of_other) = ([stamped(0, 100, 1, 5)], [stamped(0, 200, 1, 6)]);
    let folder = tempfile::tempdir().unwrap();
    let recipe = Recipe::parse("[clock]\ntopic = \"/a\"\nname = \"a\"\ntime = \"log\"").unwrap();
    let made = async |files: &[Vec<u8>]| {
        let names: Vec<String> =
            (0..files.len()).map(|number| folder.path().join(format!("part_{number}.mcap")).display().to_string()).collect();
        names.iter().zip(files).for_each(|(name, bytes)| std::fs::write(name, bytes).unwrap());
        let source = LogSource::joined(&names).unwrap();
        ingest(&[source], Store::open("memory://").unwrap(), &IngestSettings::new(recipe.clone()), |_| {}).await
    };
    let part = |topic: &Topic, messages: &[Message]| write(std::slice::from_ref(topic), messages, &Parts::default());
    let (silent, first, second) = (part(&one, &[]), part(&other, &of_other), part(&one, &of_one));
    let made_of = made(&[silent.clone(), first.clone()]).await.unwrap();
    assert!(made_of.table.schema().column_named("a.value").is_some());
    let error = made(&[silent, first, second]).await.unwrap_err().to_string();
    assert!(error.contains("topic /a: messages of two types: here/Other and here/One"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn quaternions_of_json_are_in_the_order_of_their_names() {
    let quaternion = r#"{"title": "foxglove.Quaternion", "type": "object", "properties": {"x": {"type": "number"},
        "y": {"type": "number"}, "z": {"type": "number"}, "w": {"type": "number"}}}"#;
    let definition = format!(r#"{{"type": "object", "properties": {{"q": {quaternion}}}}}"#);
    let topics = [Topic { schema_encoding: "jsonschema", encoding: "json", ..topic("/a", "here/It", &definition) }];
    let data = br#"{"q": {"w": 4, "x": 1, "y": 2, "z": 3}}"#.to_vec();
    let messages = [Message { data, ..stamped(0, 100, 1, 1) }];
    let (made, _folder) = made(&topics, &messages, "[clock]\ntopic = \"/a\"\nname = \"a\"\ntime = \"log\"").await.unwrap();
    assert_eq!(made.table.schema().column_named("a.q").unwrap().ty.to_string(), "f64[4]");
    let row = made.table.row_loader().get_row(0).await.unwrap();
    assert_eq!(row.tensor::<f64>("a.q").unwrap().values(), [1.0, 2.0, 3.0, 4.0]);
}
