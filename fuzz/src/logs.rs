//! The targets of `tetrys-logs`: MCAP files, SQLite bags, folders of rosbag2, ROS 1 bags, definitions of ROS messages, messages, and clouds
//! of points.

use tetrys::{Error, ErrorKind};
use tetrys_logs::{
    Input, Log, LogSource, OpenOptions, Recipe,
    bag::BagFile,
    idl,
    mcap::McapFile,
    msg::{Ros, parse},
    rows,
    types::{Message, Type},
};

use super::sound;

/// The messages of a file: channel, log time, and bytes.
type Messages = Vec<(u16, u64, Vec<u8>)>;

/// Reads messages with `open`, first leniently and then strictly. If the strict reader accepts the file, both find the same messages, and it has
/// no warnings. `open` returns the messages and the number of warnings.
fn same_if_strict(open: impl Fn(bool) -> Result<(Messages, usize), Error>) {
    let found = sound(open(false));
    if let Some((messages, warnings)) = sound(open(true)) {
        assert_eq!(warnings, 0, "a strict reader with warnings");
        assert_eq!(found.map(|(found, _)| found), Some(messages), "a strict reader finds other messages");
    }
}

/// Reads an MCAP file leniently and strictly.
pub fn file(data: &[u8]) {
    let open = |strict: bool| {
        let mut file = McapFile::open(Input::of_bytes("fuzz", data.to_vec()), strict)?;
        let mut messages = Messages::new();
        file.for_each(|head, bytes| {
            messages.push((head.channel, head.log_time, bytes.to_vec()));
            Ok(())
        })?;
        assert!(messages.iter().all(|(channel, ..)| file.channels().contains_key(channel)), "a message without a channel");
        Ok::<_, Error>((messages, file.warnings().len()))
    };
    same_if_strict(open);
}

/// Reads a SQLite bag as it is, and a second time strictly, and makes rows of its topic `/it`. The bag stays as it is, and nothing lies
/// beside it.
pub fn sqlite_bag(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("drive.db3");
    std::fs::write(&path, data).expect("a file");
    let recipe = Recipe::parse("[clock]\ntopic = \"/it\"\nname = \"it\"\ntime = \"log\"").expect("a recipe");
    let source = LogSource::of(path.to_str().expect("a path")).expect("a log");
    let open = |strict: bool| {
        let log = Log::open(&source, &OpenOptions { strict, ..OpenOptions::default() })?;
        let (topics, warnings) = (log.topics().len(), log.warnings().len());
        let batches = match log.topics().iter().any(|(name, _)| *name == "/it") {
            true => rows(log, &recipe)?.collect::<Result<Vec<_>, _>>()?,
            false => Vec::new(),
        };
        Ok::<_, Error>((topics, warnings, batches))
    };
    let [found, strictly] = [false, true].map(|strict| {
        let kinds = [ErrorKind::Corrupt, ErrorKind::Unsupported, ErrorKind::Invalid];
        open(strict).inspect_err(|error| assert!(kinds.contains(&error.kind()), "{:?}: {error}", error.kind())).ok()
    });
    if let Some((topics, warnings, batches)) = strictly {
        let (others, _, all) = found.expect("what a strict reader takes");
        assert_eq!((topics, warnings, batches), (others, 0, all), "a strict reader finds something else, or warns");
    }
    assert_eq!(std::fs::read(&path).expect("the file"), data, "the bag was changed");
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 1, "something lies beside the bag");
}

/// Opens a folder of rosbag2 with this `metadata.yaml` and four recordings, and a second time strictly.
pub fn bag_folder(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let bag = folder.path().join("bag");
    std::fs::create_dir(&bag).expect("a folder");
    let recording = recording("here/It", b"uint8 x", &[7], ("ros1msg", "ros1"));
    // Nothing outside of the folder belongs to the bag.
    for name in ["bag/drive_0.mcap", "bag/drive_1.mcap", "bag/drive_10.mcap", "bag/other.mcap", "outside.mcap"] {
        std::fs::write(folder.path().join(name), &recording).expect("a file");
    }
    std::fs::write(bag.join("metadata.yaml"), data).expect("a file");
    let source = LogSource::of(bag.to_str().expect("a path")).expect("a log");
    let open = |strict: bool| {
        let log = Log::open(&source, &OpenOptions { strict, ..OpenOptions::default() })?;
        let files: Vec<String> = log.files().iter().map(|file| file.input().url().to_owned()).collect();
        Ok::<_, Error>((files, log.warnings().len()))
    };
    let [found, strictly] = [false, true].map(|strict| {
        let kinds = [ErrorKind::NotFound, ErrorKind::Unsupported, ErrorKind::Invalid];
        open(strict).inspect_err(|error| assert!(kinds.contains(&error.kind()), "{:?}: {error}", error.kind())).ok()
    });
    if let Some((files, _)) = &found {
        let mut names: Vec<&String> = files.iter().collect();
        assert!(names.iter().all(|name| std::path::Path::new(name).parent() == Some(&bag)), "{names:?}");
        names.sort();
        names.dedup();
        assert!(!names.is_empty() && names.len() == files.len(), "{files:?}");
    }
    if let Some((files, warnings)) = strictly {
        assert_eq!((Some(files), warnings), (found.map(|(files, _)| files), 0), "a strict reader finds other files, or warns");
    }
}

/// Reads a ROS 1 bag leniently and strictly.
pub fn ros_bag(data: &[u8]) {
    let open = |strict: bool| {
        let mut file = BagFile::open(Input::of_bytes("fuzz", data.to_vec()), strict)?;
        let mut messages = Messages::new();
        file.for_each(|head, bytes| {
            messages.push((head.channel, head.log_time, bytes.to_vec()));
            Ok(())
        })?;
        assert!(messages.iter().all(|(channel, ..)| file.channels().contains_key(channel)), "a message without a channel");
        assert!(
            file.channels().values().all(|channel| file.schemas().contains_key(&channel.schema_id)),
            "a channel without a schema"
        );
        assert_eq!(file.statistics().messages, messages.len() as u64);
        Ok::<_, Error>((messages, file.warnings().len()))
    };
    same_if_strict(open);
}

/// Parses a definition in IDL, and walks through its types.
pub fn idl(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match idl::parse("here/msg/It", text) {
        Ok(message) => walk(&message, 0, &mut 10_000),
        Err(error) => assert!(matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Unsupported), "{error}"),
    }
}

/// Parses a definition of both versions of ROS, and walks through its types.
pub fn definition(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for ros in [Ros::One, Ros::Two] {
        match parse("here/It", text, ros) {
            Ok(message) => walk(&message, 0, &mut 10_000),
            Err(error) => assert!(matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Unsupported), "{error}"),
        }
    }
}

/// Looks at the fields below a message, but at no more than `left` of them.
fn walk(message: &Message, depth: usize, left: &mut u32) {
    assert!(depth <= 64, "over 64 levels");
    for field in &message.fields {
        *left = left.saturating_sub(1);
        if *left == 0 {
            return;
        }
        assert!(!field.name.is_empty());
        match &field.ty {
            Type::Message(inner) => walk(inner, depth + 1, left),
            Type::Array(item, _) => {
                if let Type::Message(inner) = &**item {
                    walk(inner, depth + 1, left);
                }
            }
            _ => {}
        }
    }
}

/// The definition of a cloud of points.
const CLOUD: &str = "uint32 height\nuint32 width\nsensor_msgs/PointField[] fields\nbool is_bigendian\nuint32 point_step\nuint32 row_step\n\
    uint8[] data\nbool is_dense\n===\nMSG: sensor_msgs/PointField\nstring name\nuint32 offset\nuint8 datatype\nuint32 count\n";

/// Decodes a message of ROS 1 (the first byte is even) or 2 (odd) by the definition that stands before the first byte of 0.
pub fn message(data: &[u8]) {
    let Some((version, data)) = data.split_first() else { return };
    let Some(end) = data.iter().position(|byte| *byte == 0) else { return };
    decode("here/It", &data[..end], &data[end + 1..], version % 2 == 1);
}

/// Decodes a `PointCloud2` of ROS 1 (the first byte is even) or 2 (odd).
pub fn points(data: &[u8]) {
    let Some((version, data)) = data.split_first() else { return };
    decode("sensor_msgs/PointCloud2", CLOUD.as_bytes(), data, version % 2 == 1);
}

/// Makes a row of a message, as an import does: its columns, its values and their arrays.
fn decode(name: &str, definition: &[u8], payload: &[u8], is_two: bool) {
    let recipe = Recipe::parse("[clock]\ntopic = \"/it\"\nname = \"it\"\ntime = \"log\"").unwrap();
    let recording = recording(name, definition, payload, if is_two { ("ros2msg", "cdr") } else { ("ros1msg", "ros1") });
    let file = McapFile::open(Input::of_bytes("fuzz", recording), true).unwrap();
    assert_eq!(file.statistics().messages, 1);
    let log = Log::of_files("fuzz", vec![file]).unwrap();
    let batches = match rows(log, &recipe).and_then(|rows| rows.collect::<Result<Vec<_>, Error>>()) {
        Ok(batches) => batches,
        Err(error) => {
            let kinds = [ErrorKind::Corrupt, ErrorKind::Unsupported, ErrorKind::Invalid];
            return assert!(kinds.contains(&error.kind()), "{:?}: {error}", error.kind());
        }
    };
    assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 1);
    // Lengths are claims: a row has no more than its message. An item of a list takes some bytes more, and so does an empty column.
    let bytes: usize = batches.iter().map(|batch| batch.get_array_memory_size()).sum();
    let columns: usize = batches.iter().map(|batch| batch.num_columns()).sum();
    assert!(bytes <= (columns << 15) + 512 * payload.len(), "{bytes} bytes in {columns} columns of {}", payload.len());
}

/// Returns an MCAP file with one message.
fn recording(name: &str, definition: &[u8], payload: &[u8], (schema_encoding, encoding): (&str, &str)) -> Vec<u8> {
    let long = |bytes: &[u8]| [&u32::try_from(bytes.len()).unwrap().to_le_bytes()[..], bytes].concat();
    let record = |opcode: u8, body: &[u8]| [&[opcode][..], &(body.len() as u64).to_le_bytes(), body].concat();
    let one = 1_u16.to_le_bytes();
    [
        McapFile::MAGIC.to_vec(),
        record(1, &[0; 8]),
        record(3, &[&one[..], &long(name.as_bytes()), &long(schema_encoding.as_bytes()), &long(definition)].concat()),
        record(4, &[&one[..], &one, &long(b"/it"), &long(encoding.as_bytes()), &long(b"")].concat()),
        record(5, &[&one[..], &[0; 20], payload].concat()),
        record(15, &[0; 4]),
        record(2, &[0; 20]),
        McapFile::MAGIC.to_vec(),
    ]
    .concat()
}
