//! Writes ROS 1 bags for the tests, with every part of the format that the reader uses or must do without.

use std::{collections::BTreeMap, io::Write as _};

use crate::writing::{Message, Topic};

/// The layout of a bag: its chunks, their compression, and its index.
#[derive(Clone, Debug)]
pub(crate) struct BagParts {
    /// Messages of a chunk; 0: no chunks.
    pub(crate) chunk: usize,
    /// `none`, `bz2` or `lz4`.
    pub(crate) compression: &'static str,
    /// Whether the recorder finished the bag.
    pub(crate) finished: bool,
    /// Whether the recorder ended while it wrote the last chunk.
    pub(crate) open: bool,
    /// More fields of the header of the bag.
    pub(crate) header: Vec<(&'static str, Vec<u8>)>,
    /// The MD5 sum of each type.
    pub(crate) md5: &'static str,
}

impl Default for BagParts {
    fn default() -> Self {
        Self { chunk: 16, compression: "bz2", finished: true, open: false, header: Vec::new(), md5: "" }
    }
}

fn fields(fields: &[(&str, &[u8])]) -> Vec<u8> {
    let field = |(name, value): &(&str, &[u8])| {
        let text = [name.as_bytes(), b"=", value].concat();
        [&u32::try_from(text.len()).unwrap().to_le_bytes()[..], &text].concat()
    };
    fields.iter().flat_map(field).collect()
}

/// Returns the bytes of a record.
pub(crate) fn record(op: u8, header: &[(&str, &[u8])], data: &[u8]) -> Vec<u8> {
    let header = [fields(&[("op", &[op])]), fields(header)].concat();
    let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap().to_le_bytes();
    [&length(&header)[..], &header, &length(data), data].concat()
}

/// Returns a time as bags have it.
pub(crate) fn time(ns: u64) -> Vec<u8> {
    let [seconds, rest] = [ns / 1_000_000_000, ns % 1_000_000_000].map(|part| u32::try_from(part).unwrap().to_le_bytes());
    [seconds, rest].concat()
}

/// Returns the record of a connection.
pub(crate) fn connection(id: u32, topic: &Topic, md5: &str) -> Vec<u8> {
    let data = fields(&[
        ("topic", topic.name.as_bytes()),
        ("type", topic.schema.as_bytes()),
        ("md5sum", md5.as_bytes()),
        ("message_definition", topic.definition.as_bytes()),
    ]);
    record(7, &[("conn", &id.to_le_bytes()), ("topic", topic.name.as_bytes())], &data)
}

/// Returns the record of a message.
pub(crate) fn message(connection: u32, message: &Message) -> Vec<u8> {
    record(2, &[("conn", &connection.to_le_bytes()), ("time", &time(message.log_time))], &message.data)
}

fn compressed(compression: &str, bytes: &[u8]) -> Vec<u8> {
    match compression {
        "bz2" => {
            let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        "lz4" => {
            let info = lz4_flex::frame::FrameInfo::new().content_checksum(true);
            let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        _ => bytes.to_vec(),
    }
}

/// Returns the bytes of a bag with these messages, in this order. A topic is a connection.
pub(crate) fn write(topics: &[Topic], messages: &[Message], parts: &BagParts) -> Vec<u8> {
    let head = |index: u64, connections: usize, chunks: usize| {
        let [connections, chunks] = [connections, chunks].map(|count| u32::try_from(count).unwrap().to_le_bytes());
        let index = index.to_le_bytes();
        let mut header = vec![("index_pos", &index[..]), ("conn_count", &connections), ("chunk_count", &chunks)];
        header.extend(parts.header.iter().map(|(name, value)| (*name, &value[..])));
        [b"#ROSBAG V2.0\n".to_vec(), record(3, &header, &[b' '; 40])].concat()
    };
    let mut out = head(0, 0, 0);
    let (mut infos, mut described) = (Vec::new(), std::collections::BTreeSet::new());
    let size = if parts.chunk == 0 { messages.len().max(1) } else { parts.chunk };
    let chunks = messages.len().div_ceil(size);
    for (number, messages) in messages.chunks(size).enumerate() {
        let (mut inside, mut entries) = (Vec::new(), BTreeMap::<u32, Vec<u8>>::new());
        for of in messages {
            let id = u32::try_from(of.topic).unwrap();
            if described.insert(id) {
                inside.extend(connection(id, &topics[of.topic], parts.md5));
            }
            let entry = entries.entry(id).or_default();
            entry.extend(time(of.log_time));
            entry.extend(u32::try_from(inside.len()).unwrap().to_le_bytes());
            inside.extend(message(id, of));
        }
        if parts.chunk == 0 {
            out.extend(inside);
            continue;
        }
        let start = out.len() as u64;
        let stored = compressed(parts.compression, &inside);
        let is_open = parts.open && number + 1 == chunks;
        let size = if is_open { 0 } else { u32::try_from(inside.len()).unwrap() };
        let mut chunk = record(5, &[("compression", parts.compression.as_bytes()), ("size", &size.to_le_bytes())], &stored);
        if is_open {
            let at = chunk.len() - stored.len() - 4;
            chunk[at..at + 4].fill(0);
        }
        out.extend(chunk);
        if is_open {
            return out;
        }
        for (id, entry) in &entries {
            let count = u32::try_from(entry.len() / 12).unwrap().to_le_bytes();
            out.extend(record(4, &[("ver", &[1, 0, 0, 0]), ("conn", &id.to_le_bytes()), ("count", &count)], entry));
        }
        let times = messages.iter().map(|message| message.log_time);
        let (first, last) = (time(times.clone().min().unwrap()), time(times.max().unwrap()));
        let counts = entries
            .iter()
            .flat_map(|(id, entry)| [id.to_le_bytes(), u32::try_from(entry.len() / 12).unwrap().to_le_bytes()].concat());
        let counts: Vec<u8> = counts.collect();
        let count = u32::try_from(entries.len()).unwrap().to_le_bytes();
        let header: [(&str, &[u8]); 5] = [
            ("ver", &[1, 0, 0, 0]),
            ("chunk_pos", &start.to_le_bytes()),
            ("start_time", &first),
            ("end_time", &last),
            ("count", &count),
        ];
        infos.extend(record(6, &header, &counts));
    }
    if !parts.finished {
        return out;
    }
    let index = out.len() as u64;
    for id in &described {
        out.extend(connection(*id, &topics[*id as usize], parts.md5));
    }
    out.extend(infos);
    let head = head(index, described.len(), if parts.chunk == 0 { 0 } else { chunks });
    out[..head.len()].copy_from_slice(&head);
    out
}
