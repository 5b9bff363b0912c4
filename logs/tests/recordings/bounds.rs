//! Compressed recordings in which a few bytes stand for very many: what a chunk, a message and a row may have is bounded, and the error
//! says so.

use std::io::Write;

use tetrys::ErrorKind;
use tetrys_logs::{Input, OpenOptions, bag::BagFile, mcap::McapFile};

use crate::{
    bag_writing::{self, BagParts},
    bags::imported_by,
    rows::topic,
    writing::{Message, Parts, Topic, write},
};

const BOUND: usize = 512 << 20;
const MIB: usize = 1 << 20;

/// A compressed message of a text of so many MiB of zeros.
fn message(at: u64, mib: usize) -> Message {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    let len = u32::try_from(mib * MIB).unwrap();
    encoder.write_all(&[&[0, 1, 0, 0], &len.to_le_bytes()[..]].concat()).unwrap();
    (0..mib).for_each(|_| encoder.write_all(&[0; MIB]).unwrap());
    Message { topic: 0, log_time: 1000 + at, publish_time: 0, data: encoder.finish().unwrap() }
}

fn topics() -> [Topic; 1] {
    [Topic { schema_encoding: "ros2msg", encoding: "cdr", ..topic("/a", "here/msg/Data", "uint8[] data\n") }]
}

/// Imports messages by a recipe, and returns the error, and the size of the file.
async fn refused(messages: &[Message], recipe: &str) -> (String, usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.mcap");
    let bytes = write(&topics(), messages, &Parts::default());
    std::fs::write(&path, &bytes).unwrap();
    let error = imported_by(recipe, &path, OpenOptions::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    (error.to_string(), bytes.len())
}

const CLOCK: &str = "[clock]\ntopic = \"/a\"\nname = \"a\"\ntime = \"log\"\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_row_has_at_most_512_mib_of_messages() {
    let messages: Vec<Message> = (0..20).map(|at| message(at, 32)).collect();
    let all = "[clock]\nrate = \"1Hz\"\nstart = 1030\nend = 1030\n[[match]]\nname = \"all\"\ntopic = \"/a\"\ntime = \"log\"\npolicy = \"all\"\n";
    let (error, size) = refused(&messages, all).await;
    let expected = format!(
        "log drive: row at 1030: topic /a: the messages of one row have over {BOUND} bytes: take fewer of them, or more rows"
    );
    assert_eq!(error, expected);
    assert!(size < MIB, "{size} bytes stand for {} MiB", 20 * 32);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_has_at_most_512_mib() {
    let (error, size) = refused(&[message(0, 1), message(7, 512)], CLOCK).await;
    let expected = format!("message logged at 1007: a compressed message: expected at most {BOUND} bytes, found more");
    assert!(error.contains(&expected) && error.starts_with("log drive: row at 1007: topic /a: "), "{error}");
    assert!(size < MIB, "{size} bytes");
}

#[test]
fn a_chunk_has_at_most_512_mib() {
    let bytes = write(&topics(), &[message(0, 1)], &Parts::default());
    let chunk = bytes.windows(4).position(|part| part == b"zstd").unwrap();
    for (claimed, is_refused) in [(BOUND as u64, false), (BOUND as u64 + 1, true)] {
        let mut damaged = bytes.clone();
        damaged[chunk - 16..chunk - 8].copy_from_slice(&claimed.to_le_bytes());
        let read = |strict: bool| {
            let mut file = McapFile::open(Input::of_bytes("drive.mcap", damaged.clone()), strict)?;
            file.for_each(|_, _| Ok(()))?;
            Ok::<_, tetrys::Error>(file.warnings().join("; "))
        };
        // The claim is wrong in any case.
        let messages = [read(false).unwrap_or_else(|error| error.to_string()), read(true).unwrap_err().to_string()];
        let expected = format!("a chunk of {claimed} bytes, decompressed: expected at most {BOUND}");
        assert!(
            messages.iter().all(|message| message.contains(&expected) == is_refused && message.contains("drive.mcap")),
            "{messages:?}"
        );
    }
}

/// A bag with one chunk of lz4.
fn bag(finished: bool) -> Vec<u8> {
    let message = Message { topic: 0, log_time: 1000, publish_time: 0, data: vec![7; 8] };
    let parts = BagParts { compression: "lz4", finished, open: !finished, ..BagParts::default() };
    bag_writing::write(&[topic("/a", "here/Value", "int64 id")], &[message], &parts)
}

/// The error or the warnings of a bag.
fn read_error(bytes: &[u8], strict: bool) -> String {
    let read = || {
        let mut file = BagFile::open(Input::of_bytes("drive.bag", bytes.to_vec()), strict)?;
        file.for_each(|_, _| Ok(()))?;
        Ok::<_, tetrys::Error>(file.warnings().join("; "))
    };
    read().unwrap_or_else(|error| error.to_string())
}

#[test]
fn a_chunk_of_a_ros_1_bag_has_at_most_512_mib() {
    let bytes = bag(true);
    let size = bytes.windows(5).position(|part| part == b"size=").unwrap() + 5;
    for (claimed, is_refused) in [(BOUND, false), (BOUND + 1, true)] {
        let mut damaged = bytes.clone();
        damaged[size..size + 4].copy_from_slice(&u32::try_from(claimed).unwrap().to_le_bytes());
        let expected = format!("a chunk of {claimed} bytes, decompressed: expected at most {BOUND}");
        for message in [read_error(&damaged, false), read_error(&damaged, true)] {
            // The claim is wrong in any case.
            assert!(message.contains(&expected) == is_refused && message.contains("drive.bag: "), "{message}");
        }
    }
    // The header of a chunk that its recorder did not finish claims nothing. Each block stands for 4 MiB.
    let info = lz4_flex::frame::FrameInfo::new().block_size(lz4_flex::frame::BlockSize::Max4MB);
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(&[0; 4 * MIB]).unwrap();
    let frame = encoder.finish().unwrap();
    let (head, end) = (7, frame.len() - 4);
    let mut open = bag(false);
    open.truncate(open.windows(4).position(|part| part == &frame[..4]).unwrap());
    open.extend([&frame[..head], &frame[head..end].repeat(BOUND / (4 * MIB) + 1)].concat());
    assert!(open.len() < 4 * MIB, "{} bytes", open.len());
    let (message, expected) =
        (read_error(&open, false), format!("a chunk of over {BOUND} bytes, decompressed: expected at most {BOUND}"));
    assert!(message.contains(&expected), "{message}");
}
