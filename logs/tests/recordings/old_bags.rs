//! ROS 1 bags: the same messages as of an MCAP file, also of bags that are cut, damaged, unfinished, or say what is not so.

use tetrys::{Error, ErrorKind, Store, StoreOptions};
use tetrys_logs::{IngestSettings, Input, Log, LogSource, OpenOptions, Recipe, bag::BagFile, info, ingest, mcap::McapFile, plan};

use crate::{
    bag_writing::{self, BagParts},
    bags::{ids, imported_by},
    common::random,
    rows::{STAMPED, blobs, stamped, topic},
    writing::{self, Message, Parts, Topic},
};

/// The topic, the log time and the bytes of each message.
type Messages = Vec<(String, u64, Vec<u8>)>;

fn value() -> Topic {
    topic("/t", "here/Value", "int64 id")
}

fn values() -> Vec<Message> {
    let message = |id: u64| Message { topic: 0, log_time: 1000 + id, publish_time: 0, data: id.to_le_bytes().to_vec() };
    (0..200).map(message).collect()
}

fn read(bytes: &[u8], strict: bool) -> tetrys::Result<(Messages, BagFile)> {
    let mut file = BagFile::open(Input::of_bytes("drive.bag", bytes.to_vec()), strict)?;
    let mut messages = Vec::new();
    file.for_each(|head, data| {
        messages.push((head.channel, head.log_time, data.to_vec()));
        Ok(())
    })?;
    let topic = |channel: u16| file.channels()[&channel].topic.clone();
    Ok((messages.into_iter().map(|(channel, time, data)| (topic(channel), time, data)).collect(), file))
}

/// The ids of the messages of a bag, and its warnings.
fn found(bytes: &[u8], strict: bool) -> tetrys::Result<(Vec<u64>, Vec<String>)> {
    let (messages, file) = read(bytes, strict)?;
    let ids = messages.into_iter().map(|(.., data)| u64::from_le_bytes(data[..8].try_into().unwrap()));
    Ok((ids.collect(), file.warnings().to_vec()))
}

#[test]
fn a_bag_has_the_channels_and_messages_of_an_mcap_file() {
    let mut rng = random();
    for _ in 0..50 {
        let topics: Vec<Topic> =
            (0..=rng.below(4)).map(|number| topic(&format!("/t{number}"), "here/Value", "int64 id")).collect();
        let message = |rng: &mut crate::common::Rng| Message {
            topic: rng.below(topics.len()),
            log_time: 1_700_000_000_000_000_000 + rng.below(5_000_000_000) as u64,
            publish_time: 0,
            data: (0..rng.below(200)).map(|_| u8::try_from(rng.below(256)).unwrap()).collect(),
        };
        let messages: Vec<Message> = (0..rng.below(60) + 1).map(|_| message(&mut rng)).collect();
        let mut mcap =
            McapFile::open(Input::of_bytes("drive.mcap", writing::write(&topics, &messages, &Parts::default())), true).unwrap();
        let (mut expected, mut numbers) = (Messages::new(), Vec::new());
        mcap.for_each(|head, data| {
            numbers.push(head.channel);
            expected.push((String::new(), head.log_time, data.to_vec()));
            Ok(())
        })
        .unwrap();
        expected.iter_mut().zip(numbers).for_each(|(message, number)| message.0.clone_from(&mcap.channels()[&number].topic));
        let compression = ["none", "bz2", "lz4"][rng.below(3)];
        let parts = BagParts { chunk: [0, 1, 7, 100][rng.below(4)], compression, ..BagParts::default() };
        let bytes = bag_writing::write(&topics, &messages, &parts);
        let (messages, file) = read(&bytes, true).unwrap();
        assert_eq!(messages, expected, "{parts:?}");
        // Messages outside of chunks are in no index.
        assert_eq!(file.is_indexed(), parts.chunk > 0, "{parts:?}");
        assert_eq!(file.statistics().messages, expected.len() as u64);
        for channel in file.channels().values() {
            let schema = &file.schemas()[&channel.schema_id];
            let found = (schema.name.as_str(), schema.encoding.as_str(), &schema.data[..], channel.message_encoding.as_str());
            assert_eq!(found, ("here/Value", "ros1msg", &b"int64 id"[..], "ros1"));
        }
        assert_eq!(file.warnings(), [""; 0]);
    }
}

#[test]
fn a_cut_bag_gives_what_comes_before_the_cut_and_says_where_it_is_cut() {
    for (compression, chunk) in [("none", 0), ("none", 20), ("bz2", 20), ("lz4", 20)] {
        let parts = BagParts { chunk, compression, ..BagParts::default() };
        let bytes = bag_writing::write(&[value()], &values(), &parts);
        assert_eq!(found(&bytes, true).unwrap(), ((0..200).collect(), Vec::new()));
        let mut last = 0;
        for cut in (13..bytes.len()).step_by(100) {
            let (ids, warnings) = found(&bytes[..cut], false).unwrap();
            assert_eq!(ids, (0..ids.len() as u64).collect::<Vec<_>>(), "{compression} cut at {cut}");
            assert!(ids.len() >= last, "{compression} cut at {cut}: fewer messages than before");
            last = ids.len();
            // A bag that lacks only its index has all of its data.
            let expected = match ids.len() < 200 || !warnings[0].contains("index behind") {
                true => format!("drive.bag: the file is cut at byte {cut}"),
                false => "drive.bag: all data are there, and the index behind them is damaged: ".to_owned(),
            };
            assert!(warnings[0].starts_with(&expected), "{cut}: {warnings:?}");
            let error = found(&bytes[..cut], true).unwrap_err();
            assert!(error.kind() == ErrorKind::Corrupt && error.to_string().starts_with(&expected), "{error}");
        }
        assert_eq!(last, 200);
    }
}

#[test]
fn a_bag_that_its_recorder_did_not_finish_gives_all_that_it_has() {
    for compression in ["none", "bz2", "lz4"] {
        for open in [false, true] {
            let parts = BagParts { compression, finished: false, open, ..BagParts::default() };
            let bytes = bag_writing::write(&[value()], &values(), &parts);
            let (ids, warnings) = found(&bytes, false).unwrap();
            assert_eq!(ids, (0..200).collect::<Vec<_>>(), "{parts:?}");
            let expected = "drive.bag: the bag has no index, because its recorder did not finish it";
            assert!(warnings.len() == 1 && warnings[0].starts_with(expected), "{warnings:?}");
            assert!(found(&bytes, true).unwrap_err().to_string().starts_with(expected));
            assert_eq!(Log::of_files("drive", vec![read(&bytes, false).unwrap().1]).unwrap().topics(), [("/t", 200)]);
            // It ends inside of the chunk that was being written, or of its index.
            let (cut, warnings) = found(&bytes[..bytes.len() - 50], false).unwrap();
            assert!(cut == (0..cut.len() as u64).collect::<Vec<_>>() && !warnings.is_empty(), "{parts:?}");
            assert!(if open { (192..200).contains(&cut.len()) } else { cut.len() == 200 }, "{parts:?}: {}", cut.len());
        }
    }
}

#[test]
fn a_flipped_byte_is_found_or_leads_to_the_same_messages() {
    let mut rng = random();
    for compression in ["none", "bz2", "lz4"] {
        let bytes = bag_writing::write(&[value()], &values(), &BagParts { compression, ..BagParts::default() });
        let (mut refused, mut warned, mut same, mut other) = (0, 0, 0, 0);
        for at in (13..bytes.len()).step_by(13) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << rng.below(8);
            match found(&damaged, false) {
                Err(error) => {
                    assert!(error.to_string().starts_with("drive.bag: "), "{error}");
                    refused += 1;
                }
                Ok((_, warnings)) if !warnings.is_empty() => warned += 1,
                Ok((ids, _)) if ids == (0..200).collect::<Vec<_>>() => same += 1,
                Ok(_) => other += 1,
            }
        }
        // Only chunks without compression have no checksum.
        assert!(
            warned > 10 && same > 10 && (other == 0 || compression == "none"),
            "{compression}: {refused} {warned} {same} {other}"
        );
    }
}

/// Returns where the record of a chunk begins.
fn chunk(bytes: &[u8], number: usize) -> usize {
    let starts = bytes.windows(8).enumerate().filter(|(_, bytes)| *bytes == [&[4, 0, 0, 0][..], b"op=\x05"].concat());
    starts.map(|(at, _)| at - 4).nth(number).unwrap()
}

#[test]
fn behind_damage_the_messages_are_read() {
    let bytes = bag_writing::write(&[value()], &values(), &BagParts::default());
    let (third, fourth) = (chunk(&bytes, 2), chunk(&bytes, 3));
    let length = third + 4 + usize::try_from(u32::from_le_bytes(bytes[third..third + 4].try_into().unwrap())).unwrap();
    let with = |at: usize, new: &[u8]| {
        let mut damaged = bytes.clone();
        damaged[at..at + new.len()].copy_from_slice(new);
        damaged
    };
    // The compressed bytes; the length of the header; that of the data: too large for the file, and a little too large; the kind.
    let longer = u32::try_from(fourth - length + 1).unwrap().to_le_bytes();
    for (at, new) in
        [(length + 30, &[0xaa; 4][..]), (third, &[0xff; 4]), (length, &[0xff; 4]), (length, &longer), (third + 11, &[9])]
    {
        let damaged = with(at, new);
        let (ids, warnings) = found(&damaged, false).unwrap();
        assert_eq!(ids, (0..32).chain(48..200).collect::<Vec<_>>(), "{new:?}: {warnings:?}");
        assert!(warnings[0].contains(&third.to_string()), "{third}: {warnings:?}");
        assert_eq!(found(&damaged, true).unwrap_err().kind(), ErrorKind::Corrupt);
    }
    // Without an index, nothing says where the next chunk begins.
    let mut unfinished = with(third, &[0xff; 4]);
    let index = unfinished.windows(10).position(|bytes| bytes == b"index_pos=").unwrap();
    unfinished[index + 10..index + 18].fill(0);
    let (ids, warnings) = found(&unfinished, false).unwrap();
    assert_eq!(ids, (0..32).collect::<Vec<_>>());
    assert!(warnings[0].contains(&format!("record at byte {third}: a header of 4294967295 bytes")), "{warnings:?}");
}

#[test]
fn a_damaged_index_is_a_warning_and_strict_refuses_it() {
    let bytes = bag_writing::write(&[value()], &values(), &BagParts::default());
    let place =
        |text: &[u8], from: usize| from + bytes[from..].windows(text.len()).position(|bytes| bytes == text).unwrap() + text.len();
    let index = place(b"index_pos=", 0);
    let start = usize::try_from(u64::from_le_bytes(bytes[index..index + 8].try_into().unwrap())).unwrap();
    let position = place(b"chunk_pos=", start);
    let count = place(b"count=", position);
    for (at, new, expected) in [
        (place(b"chunk_count=", 0), &[1, 0, 0, 0][..], "it has 1 connections and 13 chunks, the header says 1 and 1"),
        (index, &[20, 0, 0, 0, 0, 0, 0, 0], "it begins at byte 20, inside the header of the bag"),
        (position, &[0xff; 8], "one outside of the data"),
        (position, &u64::try_from(chunk(&bytes, 1)).unwrap().to_le_bytes(), "two chunks begin at one place"),
        (count, &[0xff; 4], "an index of 4294967295 entries"),
        (count + 4 + 4, &[7, 0, 0, 0], "a connection that no record describes"),
        (count + 4 + 8, &[7, 0, 0, 0], "it counts other messages than there are"),
        (start + 4, &[0xff; 4], "expected a field"),
    ] {
        let mut damaged = bytes.clone();
        damaged[at..at + new.len()].copy_from_slice(new);
        let (ids, warnings) = found(&damaged, false).unwrap_or_else(|error| panic!("{expected}: {error}"));
        assert_eq!((ids, warnings.len()), ((0..200).collect(), 1), "{expected}: {warnings:?}");
        let is_named = |text: &str| text.contains("the index behind them is damaged: ") && text.contains(expected);
        assert!(is_named(&warnings[0]), "{expected}: {warnings:?}");
        let error = found(&damaged, true).unwrap_err();
        assert!(error.kind() == ErrorKind::Corrupt && is_named(&error.to_string()), "{error}");
    }
    // An index that would begin behind the file.
    let mut cut = bytes.clone();
    cut[index..index + 8].copy_from_slice(&(1_u64 << 60).to_le_bytes());
    let (ids, warnings) = found(&cut, false).unwrap();
    assert_eq!(ids.len(), 200);
    assert!(warnings[0].contains("its index would begin at byte 1152921504606846976"), "{warnings:?}");
}

#[test]
fn encrypted_bags_other_versions_and_unknown_compressions_are_refused_by_name() {
    let error = |bytes: &[u8]| found(bytes, false).unwrap_err();
    let with = |name: &str| {
        let header = vec![("encryptor", name.as_bytes().to_vec()), ("encrypted_key", vec![7; 300])];
        bag_writing::write(&[value()], &values(), &BagParts { header, ..BagParts::default() })
    };
    let encrypted = error(&with("rosbag/AesCbcEncryptor"));
    assert_eq!(encrypted.kind(), ErrorKind::Unsupported);
    assert!(encrypted.to_string().contains("drive.bag: the header of the bag: the bag is encrypted by `rosbag/AesCbcEncryptor`"));
    assert_eq!(found(&with("rosbag/NoEncryptor"), true).unwrap().0.len(), 200);
    let bytes = bag_writing::write(&[value()], &values(), &BagParts::default());
    let old = [b"#ROSBAG V1.2\n", &bytes[13..]].concat();
    assert!(error(&old).to_string().contains("a bag of version 1.2: expected 2.0"));
    for bytes in [&b""[..], b"#ROSBAG V2", b"\x89MCAP0\r\n", &[7; 100]] {
        assert!(error(bytes).to_string().contains("expected a file that begins with the line `#ROSBAG V2.0`"));
    }
    let at = chunk(&bytes, 0);
    let name = bytes[at..].windows(15).position(|bytes| bytes == b"compression=bz2").unwrap() + at + 12;
    let mut other = bytes;
    other[name..name + 3].copy_from_slice(b"xyz");
    let (ids, warnings) = found(&other, false).unwrap();
    assert_eq!(ids, (16..200).collect::<Vec<_>>());
    assert!(warnings[0].contains("a chunk with compression `xyz`: expected `none`, `bz2` or `lz4`"), "{warnings:?}");
}

#[test]
fn lengths_are_claims_that_take_no_memory() {
    for compression in ["none", "bz2", "lz4"] {
        let bytes = bag_writing::write(&[value()], &values(), &BagParts { compression, ..BagParts::default() });
        let at = chunk(&bytes, 3);
        let size = bytes[at..].windows(5).position(|bytes| bytes == b"size=").unwrap() + at + 5;
        for claim in [0_u32, 1 << 29, u32::MAX] {
            let mut damaged = bytes.clone();
            damaged[size..size + 4].copy_from_slice(&claim.to_le_bytes());
            let (ids, warnings) = found(&damaged, false).unwrap();
            assert_eq!(ids, (0..48).chain(64..200).collect::<Vec<_>>(), "{claim}");
            assert!(warnings[0].contains("a chunk of "), "{warnings:?}");
        }
    }
}

#[test]
fn connections_of_one_type_share_it_and_others_of_one_topic_are_refused() {
    // Two publishers of one topic, whose languages write the definition with other comments.
    let topics = [topic("/t", "here/Value", "int64 id"), topic("/t", "here/Value", "# The number\nint64  id\n")];
    let messages: Vec<Message> = values().into_iter().enumerate().map(|(at, of)| Message { topic: at % 2, ..of }).collect();
    let of = |md5: &'static str| {
        read(&bag_writing::write(&topics, &messages, &BagParts { md5, ..BagParts::default() }), true).unwrap().1
    };
    assert_eq!((of("0123").channels().len(), of("0123").schemas().len()), (2, 1));
    assert_eq!((of("*").channels().len(), of("*").schemas().len()), (2, 2));
    // A comment in another encoding than UTF-8.
    let bytes = bag_writing::write(
        &[topic("/t", "here/Value", "int64 id # 20 XC")],
        &values(),
        &BagParts { compression: "none", ..BagParts::default() },
    );
    let degrees: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(b"20 XC")).collect();
    let mut latin = bytes;
    degrees.iter().for_each(|at| latin[at + 3] = 0xb0);
    let (_, file) = read(&latin, true).unwrap();
    assert_eq!(file.schemas()[&1].data, "int64 id # 20 \u{fffd}C".as_bytes());
    // One number for two topics.
    let mut twice = bag_writing::write(&[value()], &values(), &BagParts { chunk: 0, ..BagParts::default() });
    let index = twice.windows(10).position(|bytes| bytes == b"index_pos=").unwrap() + 10;
    twice[index..index + 8].fill(0);
    twice.extend(bag_writing::connection(0, &topic("/other", "here/Value", "int64 id"), ""));
    let (ids, warnings) = found(&twice, false).unwrap();
    assert_eq!(ids.len(), 200);
    assert!(warnings[0].contains("connection 0 is of topic /t and of topic /other"), "{warnings:?}");
}

const RECIPE: &str = "[clock]\ntopic = \"/a\"\nname = \"a\"\ntime = \"stamp\"\n";

fn stamps() -> Vec<Message> {
    (1..300).map(|id| stamped(0, 100 + u64::from(id), id, i64::from(id))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn bags_are_imported_described_and_planned_like_other_logs() {
    let folder = tempfile::tempdir().unwrap();
    let topics = [topic("/a", "here/Value", STAMPED)];
    for (name, finished) in [("drive.bag", true), ("drive.bag.active", false), ("drive.bag.zst", true)] {
        let bytes = bag_writing::write(&topics, &stamps(), &BagParts { finished, ..BagParts::default() });
        let bytes = if name.ends_with(".zst") { zstd::bulk::compress(&bytes, 1).unwrap() } else { bytes };
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        for time in ["stamp", "log"] {
            let made = imported_by(&RECIPE.replace("stamp", time), &path, OpenOptions::default()).await.unwrap();
            assert_eq!(ids(&made).await, (1..300).collect::<Vec<_>>(), "{name}");
            assert_eq!(made.report.logs[0].log, "drive");
            assert_eq!(made.report.logs[0].warnings.is_empty(), finished, "{name}");
        }
        let strict = OpenOptions { strict: true, ..OpenOptions::default() };
        assert_eq!(imported_by(RECIPE, &path, strict).await.is_ok(), finished, "{name}");
        let found = info(&LogSource::of(path.to_str().unwrap()).unwrap(), &OpenOptions::default()).await.unwrap();
        let (file, of) = (&found.files[0], &found.topics[0]);
        assert_eq!((file.chunks, file.indexed, file.chunks_without_crc), (19, finished, 0), "{name}");
        assert_eq!((of.schema.as_str(), of.encoding.as_str(), of.messages, of.with_publish_time), ("here/Value", "ros1", 299, 0));
        assert!(plan(&[found]).unwrap().contains("topic = \"/a\""));
        let error = imported_by(&RECIPE.replace("stamp", "publish"), &path, OpenOptions::default()).await.unwrap_err();
        assert!(error.to_string().contains("there is no publish time"), "{error}");
    }
    // A damaged chunk, by the log times that its index has.
    let mut bytes = bag_writing::write(&topics, &stamps(), &BagParts::default());
    let at = chunk(&bytes, 2) + 80;
    bytes[at] ^= 0xff;
    let path = folder.path().join("drive.bag");
    std::fs::write(&path, bytes).unwrap();
    let made = imported_by(&RECIPE.replace("stamp", "log"), &path, OpenOptions::default()).await.unwrap();
    assert_eq!(ids(&made).await, (1..=32).chain(49..300).collect::<Vec<_>>());
    assert!(made.report.logs[0].warnings[0].contains("bz2"), "{:?}", made.report.logs[0].warnings);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_says_other_times_than_the_messages_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.bag");
    let mut bytes = bag_writing::write(&[topic("/a", "here/Value", STAMPED)], &stamps(), &BagParts::default());
    // The time of the first message in the index of the first chunk.
    let index = bytes.windows(8).position(|bytes| bytes == [&[4, 0, 0, 0][..], b"op=\x04"].concat()).unwrap();
    let count = bytes[index..].windows(6).position(|bytes| bytes == b"count=").unwrap() + index + 6;
    bytes[count + 8 + 4] ^= 0x40;
    std::fs::write(&path, bytes).unwrap();
    let made = imported_by(&RECIPE.replace("stamp", "log"), &path, OpenOptions::default()).await.unwrap();
    assert_eq!(ids(&made).await, (1..300).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_bag_in_s3_only_the_chunks_with_wanted_topics_are_fetched() {
    // In chunks of ten messages.
    let (topics, messages) = blobs();
    let bytes = bag_writing::write(&topics, &messages, &BagParts { chunk: 10, compression: "none", ..BagParts::default() });
    let middle = chunk(&bytes, 20) as u64;
    let server = tetrys_s3_server::Server::start();
    server.create_bucket("data");
    server.put("data", "logs/drive.bag", bytes);
    let recipe = Recipe::parse("[clock]\ntopic = \"/b\"\nname = \"b\"\ntime = \"log\"").unwrap();
    let settings = IngestSettings {
        open: OpenOptions { strict: true, store: StoreOptions::only(server.options()), ..OpenOptions::default() },
        ..IngestSettings::new(recipe)
    };
    let logs = [LogSource::of("s3://data/logs/drive.bag").unwrap()];
    let made = ingest(&logs, Store::open("memory://").unwrap(), &settings, |_| {})
        .await
        .unwrap_or_else(|error: Error| panic!("{error}"));
    assert_eq!(made.table.rows(), 200);
    let row = made.table.row_loader().get_row(7).await.unwrap();
    assert_eq!(row.tensor::<u8>("b.data").unwrap().values(), [207; 10_000]);
    let reads: Vec<(u64, u64)> = server.take_requests().into_iter().filter_map(|request| request.range).collect();
    // The header at the beginning is read, and nothing else of the other topic.
    assert!(reads.iter().all(|(first, _)| *first == 0 || *first >= middle), "{reads:?}");
    // The header and the index of the bag, those of 20 chunks where two chunks meet, one or two chunks for the types, and the others.
    assert!((25..=26).contains(&reads.len()), "{reads:?}");
    assert!(made.report.logs[0].warnings[0].contains("20 chunks without a CRC"), "{:?}", made.report.logs[0].warnings);
}
