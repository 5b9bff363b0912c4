//! The records of MCAP: bytes to checked structs. No I/O.

use std::collections::BTreeMap;

use tetrys::{Error, Result};

/// The first and the last bytes of a file.
pub(crate) const MAGIC: [u8; 8] = [0x89, b'M', b'C', b'A', b'P', 0x30, b'\r', b'\n'];
/// Bytes of the opcode and the length of a record.
pub(crate) const HEAD: usize = 9;
/// Bytes before the data of a message.
pub(crate) const MESSAGE_HEAD: usize = 22;

/// Opcodes.
pub(crate) mod op {
    pub(crate) const HEADER: u8 = 0x01;
    pub(crate) const FOOTER: u8 = 0x02;
    pub(crate) const SCHEMA: u8 = 0x03;
    pub(crate) const CHANNEL: u8 = 0x04;
    pub(crate) const MESSAGE: u8 = 0x05;
    pub(crate) const CHUNK: u8 = 0x06;
    pub(crate) const MESSAGE_INDEX: u8 = 0x07;
    pub(crate) const CHUNK_INDEX: u8 = 0x08;
    pub(crate) const STATISTICS: u8 = 0x0B;
    pub(crate) const DATA_END: u8 = 0x0F;
}

/// A schema record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// Number in the file.
    pub id: u16,
    /// Name of the message type: `sensor_msgs/msg/Imu`, `foxglove.CompressedImage`.
    pub name: String,
    /// Encoding of `data`: `ros1msg`, `ros2msg`, `protobuf`, `jsonschema`, ..
    pub encoding: String,
    /// The definition.
    pub data: Vec<u8>,
}

/// A channel record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Number in the file.
    pub id: u16,
    /// Number of its schema; 0 is none.
    pub schema_id: u16,
    /// Name of the topic.
    pub topic: String,
    /// Encoding of messages: `ros1`, `cdr`, `protobuf`, `json`, ..
    pub message_encoding: String,
    /// More about the channel.
    pub metadata: BTreeMap<String, String>,
}

/// A statistics record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Messages of the file.
    pub messages: u64,
    /// Chunks of the file.
    pub chunks: u32,
    /// Attachments of the file.
    pub attachments: u32,
    /// Metadata records of the file.
    pub metadata: u32,
    /// Smallest and largest log time.
    pub times: (u64, u64),
    /// Messages of each channel.
    pub by_channel: BTreeMap<u16, u64>,
}

impl Statistics {
    /// Whether `each`, which calls its argument with the head of each message of a file, succeeds and finds as many messages of each
    /// channel as are stated here.
    pub(crate) fn hold(&self, each: impl FnOnce(&mut dyn FnMut(MessageHead)) -> Result<()>) -> bool {
        let mut counts = BTreeMap::<u16, u64>::new();
        let counted = each(&mut |head| *counts.entry(head.channel).or_default() += 1);
        counted.is_ok() && counts.iter().eq(self.by_channel.iter().filter(|(_, count)| **count > 0))
    }
}

/// The head of a message record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageHead {
    /// Number of its channel.
    pub channel: u16,
    /// Number that the publisher gave it.
    pub sequence: u32,
    /// Nanoseconds at which it was recorded.
    pub log_time: u64,
    /// Nanoseconds at which it was published.
    pub publish_time: u64,
}

/// The head of a chunk record. Its compressed bytes follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChunkHead {
    pub(crate) uncompressed_size: u64,
    pub(crate) crc: u32,
    pub(crate) compression: String,
    pub(crate) compressed_size: u64,
    /// Bytes of this head.
    pub(crate) len: usize,
}

/// A chunk index record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChunkIndex {
    pub(crate) start: u64,
    pub(crate) len: u64,
    pub(crate) message_indexes: BTreeMap<u16, u64>,
    pub(crate) message_index_len: u64,
}

/// A cursor over the fields of a record.
pub(crate) struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn take(&mut self, len: u64) -> Result<&'a [u8]> {
        let left = self.bytes.len() - self.at;
        let taken = usize::try_from(len).ok().and_then(|len| self.bytes.get(self.at..)?.get(..len));
        let taken = taken
            .ok_or_else(|| Error::corrupt(format!("expected {len} bytes at byte {} of the record, found {left}", self.at)))?;
        self.at += taken.len();
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N as u64)?);
        Ok(array)
    }

    pub(crate) fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Result<String> {
        let (at, len) = (self.at, self.u32()?);
        let bytes = self.take(u64::from(len))?;
        String::from_utf8(bytes.to_vec()).map_err(|_| Error::corrupt(format!("the text at byte {at} of the record is not UTF-8")))
    }

    fn map<K: Ord, V>(&mut self, mut item: impl FnMut(&mut Fields<'a>) -> Result<(K, V)>) -> Result<BTreeMap<K, V>> {
        let len = self.u32()?;
        let mut items = Fields::new(self.take(u64::from(len))?);
        let mut map = BTreeMap::new();
        while items.at < items.bytes.len() {
            let (key, value) = item(&mut items)?;
            map.insert(key, value);
        }
        Ok(map)
    }
}

/// Returns the opcode and the length of the record that begins with these nine bytes.
pub(crate) fn head(bytes: &[u8]) -> Result<(u8, u64)> {
    let mut fields = Fields::new(bytes);
    let opcode = fields.take(1)?[0];
    Ok((opcode, fields.u64()?))
}

/// Returns the start of the summary (0: none) and the CRC of the summary (0: none).
pub(crate) fn footer(body: &[u8]) -> Result<(u64, u32)> {
    let mut fields = Fields::new(body);
    let start = fields.u64()?;
    fields.u64()?;
    Ok((start, fields.u32()?))
}

pub(crate) fn schema(body: &[u8]) -> Result<Schema> {
    let mut fields = Fields::new(body);
    let (id, name, encoding, len) = (fields.u16()?, fields.text()?, fields.text()?, fields.u32()?);
    Ok(Schema { id, name, encoding, data: fields.take(u64::from(len))?.to_vec() })
}

pub(crate) fn channel(body: &[u8]) -> Result<Channel> {
    let mut fields = Fields::new(body);
    Ok(Channel {
        id: fields.u16()?,
        schema_id: fields.u16()?,
        topic: fields.text()?,
        message_encoding: fields.text()?,
        metadata: fields.map(|fields| Ok((fields.text()?, fields.text()?)))?,
    })
}

pub(crate) fn message(body: &[u8]) -> Result<MessageHead> {
    let mut fields = Fields::new(body);
    Ok(MessageHead { channel: fields.u16()?, sequence: fields.u32()?, log_time: fields.u64()?, publish_time: fields.u64()? })
}

pub(crate) fn chunk(body: &[u8]) -> Result<ChunkHead> {
    let mut fields = Fields::new(body);
    fields.take(16)?;
    let (uncompressed_size, crc, compression, compressed_size) = (fields.u64()?, fields.u32()?, fields.text()?, fields.u64()?);
    Ok(ChunkHead { uncompressed_size, crc, compression, compressed_size, len: fields.at })
}

pub(crate) fn chunk_index(body: &[u8]) -> Result<ChunkIndex> {
    let mut fields = Fields::new(body);
    // The times of chunks may be wrong, and nothing needs them.
    fields.take(16)?;
    let (start, len) = (fields.u64()?, fields.u64()?);
    let message_indexes = fields.map(|fields| Ok((fields.u16()?, fields.u64()?)))?;
    Ok(ChunkIndex { start, len, message_indexes, message_index_len: fields.u64()? })
}

/// Returns the channel of a message index, and the log time and the offset in the chunk of each of its messages.
pub(crate) fn message_index(body: &[u8]) -> Result<(u16, Vec<(u64, u64)>)> {
    let mut fields = Fields::new(body);
    let channel = fields.u16()?;
    let len = fields.u32()?;
    let entries = fields.take(u64::from(len))?;
    if entries.len() % 16 != 0 {
        return Err(Error::corrupt(format!("a message index of {len} bytes: expected a multiple of 16")));
    }
    let mut entries = Fields::new(entries);
    let count = entries.bytes.len() / 16;
    Ok((channel, (0..count).map(|_| Ok((entries.u64()?, entries.u64()?))).collect::<Result<_>>()?))
}

pub(crate) fn statistics(body: &[u8]) -> Result<Statistics> {
    let mut fields = Fields::new(body);
    let messages = fields.u64()?;
    fields.u16()?;
    fields.u32()?;
    Ok(Statistics {
        messages,
        attachments: fields.u32()?,
        metadata: fields.u32()?,
        chunks: fields.u32()?,
        times: (fields.u64()?, fields.u64()?),
        by_channel: fields.map(|fields| Ok((fields.u16()?, fields.u64()?)))?,
    })
}
