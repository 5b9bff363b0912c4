//! Files that are cut, damaged, or say what is not so: everything that can be read is read, and nothing panics.

use tetrys::Store;
use tetrys_logs::{IngestSettings, Input, LogSource, Recipe, ingest, mcap::McapFile};

use crate::{
    common::random,
    writing::{Message, Parts, Topic, write},
};

fn topic() -> Topic {
    Topic {
        name: "/t".to_owned(),
        schema: "here/Value".to_owned(),
        schema_encoding: "ros1msg",
        definition: "int64 id".to_owned(),
        encoding: "ros1",
    }
}

fn messages() -> Vec<Message> {
    let message = |id: u64| Message { topic: 0, log_time: 1000 + id, publish_time: 0, data: id.to_le_bytes().to_vec() };
    (0..200).map(message).collect()
}

/// The ids of the messages of a file, and its warnings.
fn ids(bytes: &[u8], strict: bool) -> tetrys::Result<(Vec<u64>, Vec<String>)> {
    let mut file = McapFile::open(Input::of_bytes("drive.mcap", bytes.to_vec()), strict)?;
    let mut ids = Vec::new();
    file.for_each(|_, data| {
        ids.push(u64::from_le_bytes(data[..8].try_into().unwrap()));
        Ok(())
    })?;
    Ok((ids, file.warnings().to_vec()))
}

#[test]
fn a_cut_file_gives_what_comes_before_the_cut_and_says_where_it_is_cut() {
    for (compression, chunk) in [("", 0), ("", 20), ("zstd", 20), ("lz4", 20)] {
        let bytes = write(&[topic()], &messages(), &Parts { chunk, compression, ..Parts::default() });
        let whole = ids(&bytes, true).unwrap();
        assert_eq!(whole, ((0..200).collect(), Vec::new()));
        let mut last = 0;
        for cut in (8..bytes.len()).step_by(97) {
            let (found, warnings) = ids(&bytes[..cut], false).unwrap();
            assert_eq!(found, (0..found.len() as u64).collect::<Vec<_>>(), "{compression} cut at {cut}");
            assert!(found.len() >= last, "{compression} cut at {cut}: fewer messages than before");
            last = found.len();
            // A file that lacks only its summary has all of its data.
            let expected = match found.len() < 200 || !warnings[0].contains("summary") {
                true => format!("drive.mcap: the file is cut at byte {cut}"),
                false => "drive.mcap: all data are there, and the summary behind them is damaged: ".to_owned(),
            };
            assert!(warnings[0].starts_with(&expected), "{warnings:?}");
            let error = ids(&bytes[..cut], true).unwrap_err().to_string();
            assert!(error.starts_with(&expected), "{error}");
        }
        assert!(last == 200);
    }
}

#[test]
fn a_flipped_byte_is_found_or_leads_to_the_same_messages() {
    let mut rng = random();
    for compression in ["", "zstd", "lz4"] {
        let bytes = write(&[topic()], &messages(), &Parts { compression, ..Parts::default() });
        let (mut refused, mut warned, mut same) = (0, 0, 0);
        for at in (8..bytes.len()).step_by(13) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << rng.below(8);
            match ids(&damaged, false) {
                Err(error) => {
                    assert!(error.to_string().starts_with("drive.mcap: "), "{error}");
                    refused += 1;
                }
                Ok((_, warnings)) if !warnings.is_empty() => warned += 1,
                Ok((found, _)) => {
                    // Texts of the schema and the summary have no part in the messages.
                    assert_eq!(found, (0..200).collect::<Vec<_>>(), "byte {at} of {}", bytes.len());
                    same += 1;
                }
            }
        }
        assert!(warned > 20 && same > 20, "{compression}: {refused} {warned} {same}");
    }
}

#[test]
fn behind_a_damaged_chunk_the_messages_are_read() {
    let bytes = write(&[topic()], &messages(), &Parts { compression: "", ..Parts::default() });
    // The data of message 40 in the third chunk.
    let at = bytes.windows(16).position(|part| part[..8] == 40_u64.to_le_bytes() && part[8] == 5).unwrap();
    let mut damaged = bytes;
    damaged[at] = 99;
    let (found, warnings) = ids(&damaged, false).unwrap();
    assert_eq!(found, (0..32).chain(48..200).collect::<Vec<_>>());
    assert!(warnings[0].contains("chunk at byte") && warnings[0].contains("CRC"), "{warnings:?}");
    assert!(ids(&damaged, true).unwrap_err().to_string().contains("CRC"));
}

#[test]
fn lengths_are_claims_that_take_no_memory() {
    let bytes = write(&[topic()], &messages(), &Parts { compression: "zstd", ..Parts::default() });
    let chunk = bytes.windows(4).position(|part| part == b"zstd").unwrap();
    for (at, what) in [(chunk - 4 - 4 - 8, "uncompressed size"), (chunk + 4, "compressed size")] {
        let mut damaged = bytes.clone();
        damaged[at..at + 8].copy_from_slice(&(1_u64 << 40).to_le_bytes());
        let (found, warnings) = ids(&damaged, false).unwrap_or_else(|error| panic!("{what}: {error}"));
        // The first chunk describes the channel: behind it, no message has one.
        assert!(found.len() < 200 && !warnings.is_empty(), "{what}: {warnings:?}");
    }
    for bytes in [&b""[..], b"\x89MCAP0\r", b"\x89MCAP0\r\n\x06\xff\xff\xff\xff\xff\xff\xff\xff", b"SQLite format 3\0"] {
        assert!(ids(bytes, true).is_err());
    }
}

#[test]
fn an_index_that_lacks_messages_is_not_used() {
    // The statistics count the messages outside of chunks, which no index has.
    let all = messages();
    let bytes = write(&[topic()], &all, &Parts { chunk: 0, ..Parts::default() });
    let file = McapFile::open(Input::of_bytes("drive.mcap", bytes), true).unwrap();
    assert!(!file.is_indexed());
    let bytes = write(&[topic()], &all, &Parts { statistics: false, ..Parts::default() });
    let file = McapFile::open(Input::of_bytes("drive.mcap", bytes), true).unwrap();
    assert!(!file.is_indexed() && file.statistics().messages == 200);
    let bytes = write(&[topic()], &all, &Parts::default());
    let file = McapFile::open(Input::of_bytes("drive.mcap", bytes), true).unwrap();
    assert!(file.is_indexed() && file.input().requests().0 == 1);
}

#[test]
fn a_damaged_summary_is_a_warning_and_strict_refuses_it() {
    let bytes = write(&[topic()], &messages(), &Parts::default());
    let footer = bytes.len() - 8 - 9 - 20;
    let start = usize::try_from(u64::from_le_bytes(bytes[footer + 9..footer + 17].try_into().unwrap())).unwrap();
    let statistics = (start..footer).find(|at| bytes[*at..].starts_with(&[11, 56, 0, 0, 0, 0, 0, 0, 0])).unwrap();
    let with = |at: usize, new: &[u8], has_crc: bool| {
        let mut bytes = bytes.clone();
        bytes[at..at + new.len()].copy_from_slice(new);
        if !has_crc {
            bytes[footer + 25..footer + 29].copy_from_slice(&[0; 4]);
        }
        bytes
    };
    let one = 1_u64.to_le_bytes();
    for (damaged, expected) in [
        (with(start + 20, b"x", true), "the summary has the CRC"),
        (with(statistics, &[0xff; 4], false), "the summary: the bytes end inside the record at"),
        (with(statistics + 9, &one, false), "the statistics say 1 messages, and 200 of all channels"),
        (with(statistics + 9 + 8 + 2 + 4 + 8, &[7], false), "the statistics say 7 chunks, the index has 13"),
        (
            with(footer + 9, &u64::MAX.to_le_bytes(), false),
            "the footer says that the summary begins at byte 18446744073709551615",
        ),
        (with(footer, &[1], false), "expected a footer at byte"),
        (with(bytes.len() - 1, b"x", true), "the file does not end with the magic bytes of MCAP"),
        // All channels have as many messages as the file, and the file has others.
        (
            with(statistics + 9, &[&one[..], &bytes[statistics + 17..statistics + 57], &one].concat(), false),
            "count other messages",
        ),
    ] {
        let (found, warnings) = ids(&damaged, false).unwrap();
        assert_eq!((found, warnings.len()), ((0..200).collect(), 1), "{expected}: {warnings:?}");
        let is_named =
            |text: &str| text.starts_with("drive.mcap: all data are there, and the summary") && text.contains(expected);
        assert!(is_named(&warnings[0]), "{warnings:?}");
        let error = ids(&damaged, true).unwrap_err();
        assert!(error.kind() == tetrys::ErrorKind::Corrupt && is_named(&error.to_string()), "{error}");
    }
    // A writer may leave out the statistics, the summary, or chunks.
    for parts in [Parts { statistics: false, ..Parts::default() }, Parts { chunk: 0, ..Parts::default() }] {
        assert_eq!(ids(&write(&[topic()], &messages(), &parts), true).unwrap().1, [""; 0]);
    }
    assert_eq!(ids(&with(footer + 9, &[0; 8], false), true).unwrap().1, [""; 0]);
}

#[test]
fn an_error_of_the_visitor_in_a_cut_chunk_is_no_end_of_the_file() {
    let bytes = write(&[topic()], &messages(), &Parts { chunk: 100, compression: "", ..Parts::default() });
    let mut file = McapFile::open(Input::of_bytes("drive.mcap", bytes[..2000].to_vec()), false).unwrap();
    let mut seen = 0;
    let error = file.for_each(|_, _| {
        seen += 1;
        if seen == 3 { Err(tetrys::Error::corrupt("this message")) } else { Ok(()) }
    });
    assert!(error.unwrap_err().to_string().contains("this message"));
    assert_eq!(seen, 3);
}

/// The place of the second chunk's record.
fn second_chunk(bytes: &[u8]) -> usize {
    let (mut at, mut chunks) = (8, 0);
    loop {
        chunks += usize::from(bytes[at] == 6);
        if chunks == 2 {
            return at;
        }
        at += 9 + usize::try_from(u64::from_le_bytes(bytes[at + 1..at + 9].try_into().unwrap())).unwrap();
    }
}

#[test]
fn behind_a_damaged_length_reading_goes_on_at_the_next_chunk_of_the_index() {
    let bytes = write(&[topic()], &messages(), &Parts { compression: "", ..Parts::default() });
    let at = second_chunk(&bytes);
    let len = u64::from_le_bytes(bytes[at + 1..at + 9].try_into().unwrap());
    // Behind the end, into a later chunk, back into the chunk itself, and an end of data.
    for (len, opcode) in [(len | 1 << 30, 6), (len + 700, 6), (20, 6), (4, 15)] {
        let mut damaged = bytes.clone();
        damaged[at] = opcode;
        damaged[at + 1..at + 9].copy_from_slice(&len.to_le_bytes());
        let (found, warnings) = ids(&damaged, false).unwrap();
        assert_eq!(found, (0..16).chain(32..200).collect::<Vec<_>>(), "{len} {warnings:?}");
        assert!(warnings.iter().any(|warning| warning.contains("the file is read on at the next chunk")), "{warnings:?}");
        assert!(ids(&damaged, true).is_err());
    }
    // Without the index, what comes before is there, and nothing of a chunk that its CRC does not prove.
    let at = at + 9 + 60 + 16;
    let mut damaged = bytes[..bytes.len() - 1].to_vec();
    damaged[at] ^= 1;
    let start = second_chunk(&bytes);
    damaged[start + 5] = 1;
    assert_eq!(ids(&damaged, false).unwrap().0, (0..16).collect::<Vec<_>>());
}

#[test]
fn a_damaged_message_outside_of_chunks_does_not_take_its_neighbours_with_it() {
    let bytes = write(&[topic()], &messages(), &Parts { chunk: 0, ..Parts::default() });
    // A record of a message that is too short, and one that nobody knows, between two good ones.
    let at = bytes.windows(9).position(|part| part == [5, 30, 0, 0, 0, 0, 0, 0, 0]).unwrap() + 39 * 7;
    let between = [&[5, 3, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3][..], &[0x99, 1, 0, 0, 0, 0, 0, 0, 0, 7]].concat();
    let damaged = [&bytes[..at], &between, &bytes[at..]].concat();
    let (found, warnings) = ids(&damaged, false).unwrap();
    assert_eq!(found, (0..200).collect::<Vec<_>>());
    assert!(warnings[0].contains(&format!("record at byte {at}")), "{warnings:?}");
}

#[test]
fn an_end_of_data_that_is_too_short_is_a_warning() {
    let bytes = write(&[topic()], &messages(), &Parts { chunk: 0, ..Parts::default() });
    let at = bytes.windows(9).rposition(|part| part == [15, 4, 0, 0, 0, 0, 0, 0, 0]).unwrap();
    let damaged = [&bytes[..at], &[15, 2, 0, 0, 0, 0, 0, 0, 0, 1, 2]].concat();
    let (found, warnings) = ids(&damaged, false).unwrap();
    assert_eq!((found.len(), warnings.len()), (200, 1));
    assert!(warnings[0].contains("has 2 bytes, expected 4"), "{warnings:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_by_log_times_leaves_out_a_damaged_chunk() {
    let bytes = write(&[topic()], &messages(), &Parts { compression: "", ..Parts::default() });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.mcap");
    let recipe = Recipe::parse("[clock]\ntopic = \"/t\"\nname = \"t\"\ntime = \"log\"").unwrap();
    let id = bytes.windows(16).position(|part| part[..8] == 40_u64.to_le_bytes() && part[8] == 5).unwrap();
    let index = bytes.windows(9).position(|part| part[0] == 7 && part[1..] == 262_u64.to_le_bytes()).unwrap();
    // The data of a message in the third chunk; the log time and the channel of a message in the first index.
    for (at, rows) in [(id, 184), (index + 9 + 6, 200), (index + 9 + 6 + 8, 200)] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        std::fs::write(&path, damaged).unwrap();
        for strict in [false, true] {
            let mut settings = IngestSettings::new(recipe.clone());
            settings.open.strict = strict;
            let logs = [LogSource::of(path.to_str().unwrap()).unwrap()];
            let made = ingest(&logs, Store::open("memory://").unwrap(), &settings, |_| {}).await;
            if strict {
                assert!(made.is_err(), "{at}");
                continue;
            }
            let made = made.unwrap();
            assert_eq!(made.table.rows(), rows, "{at}");
            assert!(!made.report.logs[0].warnings.is_empty());
        }
    }
}
