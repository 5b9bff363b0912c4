//! SQLite bags of rosbag2, and definitions that come from folders.

use std::path::Path;

use arrow_array::{cast::AsArray, types::Int64Type};
use rusqlite::Connection;
use tetrys::Store;
use tetrys_logs::{IngestSettings, Ingested, LogSource, OpenOptions, Recipe, info, ingest};

use crate::{
    rows::{stamped, topic},
    writing::{Message, Parts, Topic, write},
};

const DEFINITION: &str = "here/Part part\nint64 id\n";
const WHOLE: &str = "here/Part part\nint64 id\n===\nMSG: here/Part\nint32 sec\nuint32 nanosec\n";
const RECIPE: &str = "[clock]\ntopic = \"/a\"\nname = \"a\"\ntime = \"log\"\n";
const COUNT: i64 = 500;

fn payload(id: i64) -> Vec<u8> {
    [&[0, 1, 0, 0][..], &7_i32.to_le_bytes(), &8_u32.to_le_bytes(), &id.to_le_bytes()].concat()
}

/// Writes a bag as rosbag2 does: since Iron with definitions.
fn bag(path: &Path, definition: Option<&str>) {
    let mut connection = Connection::open(path).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL, serialization_format TEXT NOT NULL,
               offered_qos_profiles TEXT NOT NULL);
             CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL, data BLOB NOT NULL);
             INSERT INTO topics VALUES (3, '/silent', 'here/msg/Value', 'cdr', ''), (7, '/a', 'here/msg/Value', 'cdr', '');",
        )
        .unwrap();
    if let Some(definition) = definition {
        let table = "CREATE TABLE message_definitions(id INTEGER PRIMARY KEY, topic_type TEXT NOT NULL, encoding TEXT NOT NULL,
             encoded_message_definition TEXT NOT NULL, type_description_hash TEXT NOT NULL)";
        connection.execute_batch(table).unwrap();
        let row = "INSERT INTO message_definitions VALUES (1, 'here/msg/Value', 'ros2msg', ?1, '')";
        connection.execute(row, [definition]).unwrap();
    }
    let all = connection.transaction().unwrap();
    for id in 0..COUNT {
        let row = "INSERT INTO messages(topic_id, timestamp, data) VALUES (7, ?1, ?2)";
        all.execute(row, rusqlite::params![1000 + id, payload(id)]).unwrap();
    }
    all.commit().unwrap();
    connection.close().unwrap();
}

/// Writes the definitions of the types as files.
fn definitions(folder: &Path) -> Vec<String> {
    let msg = folder.join("share/here/msg");
    std::fs::create_dir_all(&msg).unwrap();
    std::fs::write(msg.join("Value.msg"), DEFINITION).unwrap();
    std::fs::write(msg.join("Part.msg"), "int32 sec\nuint32 nanosec\n").unwrap();
    vec![folder.join("share").display().to_string()]
}

async fn imported(path: &Path, strict: bool, msgs: Vec<String>) -> tetrys::Result<Ingested> {
    imported_by(RECIPE, path, OpenOptions { strict, msgs, ..OpenOptions::default() }).await
}

/// Imports the log `drive` by a recipe.
pub(crate) async fn imported_by(recipe: &str, path: &Path, open: OpenOptions) -> tetrys::Result<Ingested> {
    let settings = IngestSettings { open, ..IngestSettings::new(Recipe::parse(recipe).unwrap()) };
    let log = LogSource::of(path.to_str().unwrap()).unwrap();
    assert_eq!(log.name, "drive");
    ingest(&[log], Store::open("memory://").unwrap(), &settings, |_| {}).await
}

/// The values of the column `id`, if the messages were decoded.
pub(crate) async fn ids(made: &Ingested) -> Vec<i64> {
    let mut found = Vec::new();
    for batch in made.table.index_batches().await.unwrap() {
        let batch = batch.unwrap();
        let column = batch.column_by_name("a.id").unwrap_or_else(|| panic!("{:?}", batch.schema()));
        found.extend(column.as_primitive::<Int64Type>().values().to_vec());
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sqlite_bag_has_the_rows_of_its_messages() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.db3");
    bag(&path, Some(WHOLE));
    let bytes = std::fs::read(&path).unwrap();
    let made = imported(&path, true, Vec::new()).await.unwrap();
    assert_eq!(ids(&made).await, (0..COUNT).collect::<Vec<_>>());
    assert_eq!(std::fs::read(&path).unwrap(), bytes, "the bag was changed");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "SQLite left a file");
    // Compressed, and in a folder of rosbag2.
    let bag = folder.path().join("drive");
    std::fs::create_dir(&bag).unwrap();
    std::fs::write(bag.join("drive_0.db3.zstd"), zstd::bulk::compress(&bytes, 3).unwrap()).unwrap();
    let yaml = "  relative_file_paths:\n    - drive_0.db3.zstd\n  compression_format: zstd\n  compression_mode: FILE\n";
    std::fs::write(bag.join("metadata.yaml"), yaml).unwrap();
    assert_eq!(ids(&imported(&bag, true, Vec::new()).await.unwrap()).await.len(), 500);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_recorder_that_crashed_left_beside_its_bag_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.db3");
    bag(&path, Some(WHOLE));
    let recorder = Connection::open(&path).unwrap();
    recorder.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0").unwrap();
    let row = "INSERT INTO messages(topic_id, timestamp, data) VALUES (7, 9000, ?1)";
    recorder.execute(row, [payload(COUNT)]).unwrap();
    let copy = tempfile::tempdir().unwrap();
    for name in ["drive.db3", "drive.db3-wal"] {
        std::fs::copy(folder.path().join(name), copy.path().join(name)).unwrap();
    }
    let made = imported(&copy.path().join("drive.db3"), true, Vec::new()).await.unwrap();
    assert_eq!(ids(&made).await, (0..=COUNT).collect::<Vec<_>>());
    assert_eq!(std::fs::read_dir(copy.path()).unwrap().count(), 2, "SQLite left a file");
    #[cfg(unix)]
    {
        let links = tempfile::tempdir().unwrap();
        let link = links.path().join("drive.db3");
        std::os::unix::fs::symlink(copy.path().join("drive.db3"), &link).unwrap();
        let made = imported(&link, true, Vec::new()).await.unwrap();
        assert_eq!(ids(&made).await, (0..=COUNT).collect::<Vec<_>>());
    }
}

/// Writes a bag, and changes it.
fn changed(path: &Path, statements: &str) {
    std::fs::remove_file(path).ok();
    bag(path, Some(WHOLE));
    Connection::open(path).unwrap().execute_batch(statements).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_without_a_topic_or_a_time_are_left_out_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.db3");
    changed(&path, "UPDATE messages SET topic_id = 99 WHERE id = 3; UPDATE messages SET timestamp = -1 WHERE id = 5");
    let made = imported(&path, false, Vec::new()).await.unwrap();
    assert_eq!(ids(&made).await, (0..COUNT).filter(|id| ![2, 4].contains(id)).collect::<Vec<_>>());
    let expected = "messages of topics that the bag does not have, or with a time before 1970: 2 are left out";
    let warnings = &made.report.logs[0].warnings;
    assert!(warnings.len() == 1 && warnings[0].ends_with(expected), "{warnings:?}");
    let error = imported(&path, true, Vec::new()).await.unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bag_cannot_have_more_than_its_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.db3");
    let columns = "topic_id INTEGER, timestamp INTEGER";
    let row = |id: i64| format!("({id}, 7, {}, x'{}')", 1000 + id, hex(&payload(id)));
    for (statements, rows, expected) in [
        (
            format!(
                "DROP TABLE messages; CREATE TABLE messages(id INTEGER PRIMARY KEY, {columns}, data BLOB AS (zeroblob(10000000)));
                 INSERT INTO messages(topic_id, timestamp) VALUES (7, 1000)"
            ),
            0,
            "damaged before the first message: the messages have more bytes than the bag",
        ),
        (
            format!(
                "DROP TABLE messages; CREATE TABLE messages(id INTEGER, {columns}, data BLOB);
                 INSERT INTO messages VALUES {}, {}, {}, {}",
                row(1),
                row(2),
                row(2),
                row(3)
            ),
            2,
            "damaged behind message 2: expected a larger number, found message 2",
        ),
    ] {
        changed(&path, &statements);
        let made = imported(&path, false, Vec::new()).await.unwrap();
        let warnings = &made.report.logs[0].warnings;
        assert!(made.table.rows() == rows && warnings[0].contains(expected), "{warnings:?}");
        assert!(imported(&path, true, Vec::new()).await.is_err());
    }
    let topics = "DROP TABLE topics; CREATE TABLE topics(id INTEGER PRIMARY KEY, type TEXT, serialization_format TEXT";
    for (statements, expected) in [
        (
            format!("{topics}, name TEXT AS (hex(zeroblob(1000000)))); INSERT INTO topics VALUES (7, 'here/msg/Value', 'cdr')"),
            "a text of 2000000 bytes, expected at most 1048576",
        ),
        (
            format!("{topics}, name TEXT AS (hex(zeroblob(500000)))); INSERT INTO topics VALUES (7, 'here/msg/Value', 'cdr')"),
            "the topics and the definitions have more bytes than the bag",
        ),
        (
            "WITH RECURSIVE n(i) AS (SELECT 8 UNION ALL SELECT i + 1 FROM n WHERE i < 66000) \
             INSERT INTO topics SELECT i, 't' || i, 'here/msg/Value', 'cdr', '' FROM n"
                .to_owned(),
            "over 65535 topics",
        ),
    ] {
        changed(&path, &statements);
        let error = imported(&path, false, Vec::new()).await.unwrap_err().to_string();
        assert!(error.contains("drive.db3: ") && error.contains(expected), "{error}");
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_file_of_a_folder_is_the_definition_of_a_type_without_fields() {
    let folder = tempfile::tempdir().unwrap();
    let msgs = definitions(folder.path());
    std::fs::write(folder.path().join("share/here/msg/Value.msg"), "").unwrap();
    let path = folder.path().join("drive.db3");
    bag(&path, None);
    let log = LogSource::of(path.to_str().unwrap()).unwrap();
    let found = info(&log, &OpenOptions { msgs, ..OpenOptions::default() }).await.unwrap();
    assert_eq!((found.topics[0].problem.as_deref(), found.topics[0].columns.len()), (None, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn definitions_that_a_recording_lacks_come_from_folders() {
    let folder = tempfile::tempdir().unwrap();
    let msgs = definitions(folder.path());
    let path = folder.path().join("drive.db3");
    bag(&path, None);
    // Without them, messages stay bytes, and it is said why.
    let made = imported(&path, false, Vec::new()).await.unwrap();
    assert!(made.table.schema().column_named("a.data").is_some());
    let log = LogSource::of(path.to_str().unwrap()).unwrap();
    let found = info(&log, &OpenOptions::default()).await.unwrap();
    let expected = "the recording has no definition of here/msg/Value; name a folder of .msg files that has it (`--msgs`, in Python `msgs=`)";
    assert_eq!(found.topics[0].problem.as_deref(), Some(expected));
    let found = info(&log, &OpenOptions { msgs: msgs.clone(), ..OpenOptions::default() }).await.unwrap();
    assert_eq!(found.topics[0].problem, None);
    assert_eq!(ids(&imported(&path, true, msgs.clone()).await.unwrap()).await, (0..COUNT).collect::<Vec<_>>());
    // An MCAP file whose schema has no text.
    let topics = [Topic { schema_encoding: "ros2msg", encoding: "cdr", ..topic("/a", "here/msg/Value", "") }];
    let message = |id: i64| Message { data: payload(id), ..stamped(0, 1000 + u64::try_from(id).unwrap(), 0, 0) };
    let messages: Vec<Message> = (0..20).map(message).collect();
    let path = folder.path().join("drive.mcap");
    std::fs::write(&path, write(&topics, &messages, &Parts::default())).unwrap();
    assert_eq!(ids(&imported(&path, true, msgs).await.unwrap()).await, (0..20).collect::<Vec<_>>());
    let error = imported(&path, true, vec![folder.path().join("none").display().to_string()]).await.unwrap_err();
    assert!(error.kind() == tetrys::ErrorKind::NotFound && error.to_string().starts_with("msgs: "), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_bag_gives_what_comes_before_the_damage_and_nothing_else_is_taken_for_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.db3");
    bag(&path, Some(WHOLE));
    let bytes = std::fs::read(&path).unwrap();
    let (mut whole, mut part, mut refused) = (0, 0, 0);
    for at in (0..bytes.len()).step_by(bytes.len() / 60 + 1) {
        let mut damaged = bytes.clone();
        let end = (at + 200).min(bytes.len());
        damaged[at..end].iter_mut().for_each(|byte| *byte ^= 0x5a);
        std::fs::write(&path, damaged).unwrap();
        match imported(&path, false, Vec::new()).await {
            Ok(made) if made.report.logs[0].warnings.is_empty() => whole += 1,
            Ok(made) => {
                let warnings = &made.report.logs[0].warnings;
                assert!(warnings[0].contains("drive.db3: "), "{warnings:?}");
                assert!(imported(&path, true, Vec::new()).await.is_err());
                part += 1;
            }
            Err(error) => {
                assert!(error.kind() != tetrys::ErrorKind::Internal, "{error}");
                refused += 1;
            }
        }
    }
    assert!(part > 3 && refused > 0, "{whole} whole, {part} in part, {refused} refused");
    for (bytes, expected) in
        [(&b"no SQLite file, and long enough for a header: 0123456789"[..], "file is not a database"), (b"", "the file is empty")]
    {
        std::fs::write(&path, bytes).unwrap();
        let error = imported(&path, false, Vec::new()).await.unwrap_err().to_string();
        assert!(error.contains("drive.db3: ") && error.contains(expected), "{error}");
    }
    // A view could run anything.
    std::fs::remove_file(&path).unwrap();
    let views = "CREATE TABLE topics(id, name, type, serialization_format); CREATE VIEW messages AS SELECT 1 AS id";
    Connection::open(&path).unwrap().execute_batch(views).unwrap();
    let error = imported(&path, false, Vec::new()).await.unwrap_err().to_string();
    assert!(error.contains("without the table `messages`"), "{error}");
}
