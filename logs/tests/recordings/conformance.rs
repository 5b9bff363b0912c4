//! The conformance files of MCAP: every message equals the JSON of the format's authors.

use std::collections::BTreeMap;

use serde_json::Value;
use tetrys_logs::{Input, mcap::McapFile};

use crate::common::{shared_path, untar};

#[derive(Debug, PartialEq, Eq)]
struct Message {
    topic: String,
    channel: u64,
    sequence: u64,
    log_time: u64,
    publish_time: u64,
    data: Vec<u8>,
}

fn number(value: &Value) -> u64 {
    value.as_str().unwrap().parse().unwrap()
}

/// The messages that the JSON of a file lists.
fn expected(json: &Value) -> Vec<Message> {
    let mut topics = BTreeMap::new();
    let mut messages = Vec::new();
    for record in json["records"].as_array().unwrap() {
        let fields: BTreeMap<&str, &Value> =
            record["fields"].as_array().unwrap().iter().map(|field| (field[0].as_str().unwrap(), &field[1])).collect();
        match record["type"].as_str().unwrap() {
            "Channel" => drop(topics.insert(number(fields["id"]), fields["topic"].as_str().unwrap().to_owned())),
            "Message" => messages.push(Message {
                topic: topics[&number(fields["channel_id"])].clone(),
                channel: number(fields["channel_id"]),
                sequence: number(fields["sequence"]),
                log_time: number(fields["log_time"]),
                publish_time: number(fields["publish_time"]),
                data: fields["data"].as_array().unwrap().iter().map(|byte| u8::try_from(number(byte)).unwrap()).collect(),
            }),
            _ => {}
        }
    }
    messages
}

fn found(file: &mut McapFile) -> Vec<Message> {
    let topics: BTreeMap<u16, String> = file.channels().iter().map(|(id, channel)| (*id, channel.topic.clone())).collect();
    let mut messages = Vec::new();
    file.for_each(|head, data| {
        messages.push(Message {
            topic: topics[&head.channel].clone(),
            channel: u64::from(head.channel),
            sequence: u64::from(head.sequence),
            log_time: head.log_time,
            publish_time: head.publish_time,
            data: data.to_vec(),
        });
        Ok(())
    })
    .unwrap();
    messages
}

#[test]
fn all_conformance_files_have_the_messages_that_their_json_lists() {
    let Some(archive) = shared_path("mcap/mcap-conformance.tar.zst") else { return };
    let files: BTreeMap<String, Vec<u8>> = untar(&archive).into_iter().collect();
    let (mut seen, mut with_index, mut messages) = (0, 0, 0);
    for (name, bytes) in files.iter().filter(|(name, _)| name.ends_with(".mcap")) {
        let json: Value = serde_json::from_slice(&files[&name.replace(".mcap", ".json")]).unwrap();
        let mut file = McapFile::open(Input::of_bytes(name, bytes.clone()), true).unwrap_or_else(|error| panic!("{error}"));
        let expected = expected(&json);
        // Both ways lead to the same messages, where there are two.
        with_index += usize::from(file.is_indexed());
        assert_eq!(found(&mut file), expected, "{name}");
        messages += expected.len();
        let damaged = [&bytes[..bytes.len() - 1], b"x"].concat();
        assert!(McapFile::open(Input::of_bytes(name, damaged.clone()), true).is_err(), "{name}: the end of the file is damaged");
        let mut file = McapFile::open(Input::of_bytes(name, damaged), false).unwrap_or_else(|error| panic!("{error}"));
        assert!(!file.is_indexed() && file.warnings().len() == 1);
        assert_eq!(found(&mut file), expected, "{name} without its index");
        seen += 1;
    }
    assert_eq!(seen, 416);
    assert!(with_index > 40 && messages > 1000, "{with_index} with an index, {messages} messages");
}
