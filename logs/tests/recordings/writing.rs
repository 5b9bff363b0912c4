//! Writes MCAP files for the tests, with every part of the format that the reader uses or must do without.

use std::collections::BTreeMap;

/// What a file has besides its messages.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    /// Messages of a chunk; 0: no chunks.
    pub(crate) chunk: usize,
    /// `""`, `"zstd"` or `"lz4"`.
    pub(crate) compression: &'static str,
    pub(crate) crc: bool,
    pub(crate) message_indexes: bool,
    pub(crate) statistics: bool,
}

impl Default for Parts {
    fn default() -> Self {
        Self { chunk: 16, compression: "zstd", crc: true, message_indexes: true, statistics: true }
    }
}

/// A topic: its name, its schema, and how its messages are encoded.
#[derive(Clone, Debug)]
pub(crate) struct Topic {
    pub(crate) name: String,
    pub(crate) schema: String,
    pub(crate) schema_encoding: &'static str,
    pub(crate) definition: String,
    pub(crate) encoding: &'static str,
}

/// A message: the number of its topic, its log and publish times, and its bytes.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) topic: usize,
    pub(crate) log_time: u64,
    pub(crate) publish_time: u64,
    pub(crate) data: Vec<u8>,
}

const MAGIC: &[u8] = b"\x89MCAP0\r\n";

fn record(out: &mut Vec<u8>, opcode: u8, body: &[u8]) {
    out.push(opcode);
    out.extend((body.len() as u64).to_le_bytes());
    out.extend(body);
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend(u32::try_from(text.len()).unwrap().to_le_bytes());
    out.extend(text.as_bytes());
}

fn map(out: &mut Vec<u8>, items: &[u8]) {
    out.extend(u32::try_from(items.len()).unwrap().to_le_bytes());
    out.extend(items);
}

fn describe(topics: &[Topic]) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, topic) in (1_u16..).zip(topics) {
        let mut body = Vec::new();
        body.extend(number.to_le_bytes());
        text(&mut body, &topic.schema);
        text(&mut body, topic.schema_encoding);
        map(&mut body, topic.definition.as_bytes());
        record(&mut out, 3, &body);
        let mut body = Vec::new();
        body.extend(number.to_le_bytes());
        body.extend(number.to_le_bytes());
        text(&mut body, &topic.name);
        text(&mut body, topic.encoding);
        map(&mut body, &[]);
        record(&mut out, 4, &body);
    }
    out
}

/// Returns the bytes of a file with these messages, in this order.
pub(crate) fn write(topics: &[Topic], messages: &[Message], parts: &Parts) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    let mut header = Vec::new();
    text(&mut header, "");
    text(&mut header, "tests");
    record(&mut out, 1, &header);
    let (mut indexes, mut counts) = (Vec::new(), BTreeMap::<u16, u64>::new());
    let size = if parts.chunk == 0 { messages.len().max(1) } else { parts.chunk };
    let mut chunks = 0_u32;
    for (number, messages) in messages.chunks(size).enumerate() {
        let mut inside = if number == 0 { describe(topics) } else { Vec::new() };
        let mut entries = BTreeMap::<u16, Vec<u8>>::new();
        for (sequence, message) in messages.iter().enumerate() {
            let channel = u16::try_from(message.topic + 1).unwrap();
            *counts.entry(channel).or_default() += 1;
            let entry = entries.entry(channel).or_default();
            entry.extend(message.log_time.to_le_bytes());
            entry.extend((inside.len() as u64).to_le_bytes());
            let mut body = Vec::new();
            body.extend(channel.to_le_bytes());
            body.extend(u32::try_from(sequence).unwrap().to_le_bytes());
            body.extend(message.log_time.to_le_bytes());
            body.extend(message.publish_time.to_le_bytes());
            body.extend(&message.data);
            record(&mut inside, 5, &body);
        }
        if parts.chunk == 0 {
            out.extend(inside);
            continue;
        }
        chunks += 1;
        let times = messages.iter().map(|message| message.log_time);
        let (first, last) = (times.clone().min().unwrap(), times.max().unwrap());
        let stored = match parts.compression {
            "zstd" => zstd::bulk::compress(&inside, 1).unwrap(),
            "lz4" => {
                let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
                std::io::Write::write_all(&mut encoder, &inside).unwrap();
                encoder.finish().unwrap()
            }
            _ => inside.clone(),
        };
        let mut body = Vec::new();
        body.extend(first.to_le_bytes());
        body.extend(last.to_le_bytes());
        body.extend((inside.len() as u64).to_le_bytes());
        body.extend(if parts.crc { crc32fast::hash(&inside) } else { 0 }.to_le_bytes());
        text(&mut body, parts.compression);
        body.extend((stored.len() as u64).to_le_bytes());
        body.extend(&stored);
        let start = out.len() as u64;
        record(&mut out, 6, &body);
        let len = out.len() as u64 - start;
        let (mut offsets, behind) = (Vec::new(), out.len() as u64);
        for (channel, entry) in entries.iter().filter(|_| parts.message_indexes) {
            offsets.extend(channel.to_le_bytes());
            offsets.extend((out.len() as u64).to_le_bytes());
            let mut body = channel.to_le_bytes().to_vec();
            map(&mut body, entry);
            record(&mut out, 7, &body);
        }
        let mut index = Vec::new();
        index.extend(first.to_le_bytes());
        index.extend(last.to_le_bytes());
        index.extend(start.to_le_bytes());
        index.extend(len.to_le_bytes());
        map(&mut index, &offsets);
        index.extend((out.len() as u64 - behind).to_le_bytes());
        text(&mut index, parts.compression);
        index.extend((stored.len() as u64).to_le_bytes());
        index.extend((inside.len() as u64).to_le_bytes());
        record(&mut indexes, 8, &index);
    }
    let crc = crc32fast::hash(&out);
    record(&mut out, 15, &crc.to_le_bytes());
    let start = out.len() as u64;
    let mut summary = describe(topics);
    if parts.statistics {
        let times = || messages.iter().map(|message| message.log_time);
        let mut body = Vec::new();
        body.extend((messages.len() as u64).to_le_bytes());
        body.extend(u16::try_from(topics.len()).unwrap().to_le_bytes());
        body.extend(u32::try_from(topics.len()).unwrap().to_le_bytes());
        body.extend([0; 8]);
        body.extend(chunks.to_le_bytes());
        body.extend(times().min().unwrap_or(0).to_le_bytes());
        body.extend(times().max().unwrap_or(0).to_le_bytes());
        let by: Vec<u8> =
            counts.iter().flat_map(|(channel, count)| [&channel.to_le_bytes()[..], &count.to_le_bytes()].concat()).collect();
        map(&mut body, &by);
        record(&mut summary, 11, &body);
    }
    summary.extend(indexes);
    let mut footer = vec![2];
    footer.extend(20_u64.to_le_bytes());
    footer.extend(start.to_le_bytes());
    footer.extend(0_u64.to_le_bytes());
    let crc = crc32fast::hash(&[&summary[..], &footer].concat());
    out.extend(summary);
    out.extend(footer);
    out.extend(crc.to_le_bytes());
    out.extend(MAGIC);
    out
}
