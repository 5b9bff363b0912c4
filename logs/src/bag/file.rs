//! An open bag: its channels, and its messages block by block. A block is a chunk, or a run of messages outside of chunks.

use std::{collections::BTreeMap, ops::ControlFlow};

use bytes::Bytes;
use tetrys::{Error, ErrorKind, Result};

use super::{
    block::{Block, Kind},
    chunk,
    connections::Connections,
    index::{self, Head, Index, Unusable},
    records::{self, Header, op},
    scan::{self, Scan},
};
use crate::{
    input::{Input, MAX_READ},
    mcap::{Channel, MessageHead, Schema, Statistics},
};

/// Bytes of a chunk that are read for its header.
const CHUNK_HEAD: u64 = 256;
/// Bytes at the end of an indexed chunk that are read ahead: usually its index.
const INDEX: u64 = 4 << 10;

/// A ROS 1 bag.
///
/// ```
/// use tetrys_logs::{Input, bag::BagFile};
/// let error = BagFile::open(Input::of_bytes("drive.bag", "no recording"), false).unwrap_err();
/// assert!(error.to_string().contains("drive.bag: expected a file that begins with the line `#ROSBAG V2.0`"));
/// ```
#[derive(Debug)]
pub struct BagFile {
    input: Input,
    strict: bool,
    head: Head,
    connections: Connections,
    blocks: Vec<Block>,
    statistics: Statistics,
    indexed: bool,
    unchecked: Option<u64>,
    warnings: Vec<String>,
}

impl BagFile {
    /// Opens a bag: reads the index if it is complete, else the whole file. A bag that is cut or damaged, or that its recorder did not
    /// finish, gives what can be read, and [`BagFile::warnings`] says what is missing; with `strict` it is an error.
    ///
    /// # Errors
    /// - `Corrupt`: the file does not begin as a bag does; with `strict`, it is cut or damaged.
    /// - `Unsupported`: the bag is encrypted, or has another version than 2.0.
    /// - Errors of the file system or the store.
    pub fn open(input: Input, strict: bool) -> Result<Self> {
        if let Some(fault) = input.fault().filter(|_| strict) {
            return Err(Error::corrupt(fault).at(input.url()));
        }
        let mut file = Self {
            input,
            strict,
            head: Head::default(),
            connections: Connections::default(),
            blocks: Vec::new(),
            statistics: Statistics::default(),
            indexed: false,
            unchecked: None,
            warnings: Vec::new(),
        };
        let url = file.input.url().to_owned();
        let place = |error: Error| error.at(&url);
        let Some(head) = index::head(&file.input).map_err(place)? else {
            let fault = format!("the file is cut at byte {}, inside the header of the bag", file.input.size());
            file.warn(vec![fault.clone()]);
            return if strict { Err(place(Error::corrupt(fault))) } else { Ok(file) };
        };
        file.head = head;
        match index::read(&file.input, &head).map_err(place)? {
            Ok(found) => {
                file.take(found);
                file.warn(Vec::new());
            }
            Err(why) => {
                file.scan()?;
                if let Unusable::Damaged(why) = why {
                    file.refuse_index(why)?;
                }
            }
        }
        Ok(file)
    }

    /// Takes what an index says.
    fn take(&mut self, found: Index) {
        let Index { connections, chunks } = found;
        let starts = chunks.iter().map(|chunk| chunk.start);
        let ends = starts.skip(1).chain([self.head.index]);
        let number = |connection: &u32| connections.numbers.get(connection).copied();
        let block = |(chunk, end): (&records::ChunkInfo, u64)| Block {
            start: chunk.start,
            len: end - chunk.start,
            kind: Kind::Chunk,
            channels: Some(chunk.counts.iter().filter_map(|(connection, _)| number(connection)).collect()),
            is_indexed: true,
        };
        self.blocks = chunks.iter().zip(ends).map(block).collect();
        let mut by_channel = BTreeMap::<u16, u64>::new();
        for (connection, count) in chunks.iter().flat_map(|chunk| &chunk.counts) {
            if let Some(channel) = number(connection) {
                *by_channel.entry(channel).or_default() += u64::from(*count);
            }
        }
        let times = || chunks.iter().map(|chunk| chunk.times);
        self.statistics = Statistics {
            messages: by_channel.values().sum(),
            chunks: u32::try_from(chunks.len()).unwrap_or(u32::MAX),
            times: (times().map(|(first, _)| first).min().unwrap_or(0), times().map(|(_, last)| last).max().unwrap_or(0)),
            by_channel,
            ..Statistics::default()
        };
        self.connections = connections;
        self.indexed = true;
    }

    /// Makes warnings of what is wrong with the data.
    fn warn(&mut self, faults: Vec<String>) {
        self.warnings = self.input.warnings(faults);
    }

    /// Warns of a damaged index, or refuses it. Of a bag whose data are damaged, the warnings say more.
    fn refuse_index(&mut self, why: String) -> Result<()> {
        let fault = format!("{}: all data are there, and the index behind them is damaged: {why}", self.input.url());
        match self.strict {
            true => Err(Error::corrupt(fault)),
            false => {
                self.warnings.extend(self.warnings.is_empty().then_some(fault));
                Ok(())
            }
        }
    }

    /// Reads the whole bag, because its index is wrong or missing.
    pub(crate) fn scan(&mut self) -> Result<()> {
        let known = self.blocks.iter().filter(|block| block.is_indexed).map(|block| block.start).collect();
        let known = Scan { connections: self.connections.clone(), known, ..Scan::default() };
        let found = scan::scan(&self.input, self.strict, &self.head, known).map_err(|error| error.at(self.input.url()))?;
        let Scan { connections, blocks, counts, times, unchecked, faults, .. } = found;
        let mut by_channel = BTreeMap::<u16, u64>::new();
        for (connection, count) in counts {
            if let Some(channel) = connections.numbers.get(&connection) {
                *by_channel.entry(*channel).or_default() += count;
            }
        }
        let stated = std::mem::take(&mut self.statistics).by_channel;
        let counted = |counts: &BTreeMap<u16, u64>| -> Vec<(u16, u64)> {
            counts.iter().filter(|(_, count)| **count > 0).map(|(channel, count)| (*channel, *count)).collect()
        };
        let is_wrong = self.indexed && counted(&stated) != counted(&by_channel);
        self.statistics = Statistics {
            messages: by_channel.values().sum(),
            chunks: u32::try_from(blocks.iter().filter(|block| block.kind != Kind::Plain).count()).unwrap_or(u32::MAX),
            times: times.unwrap_or_default(),
            by_channel,
            ..Statistics::default()
        };
        (self.connections, self.blocks) = (connections, blocks);
        (self.indexed, self.unchecked) = (false, Some(unchecked));
        self.warn(faults);
        if is_wrong {
            self.refuse_index("it counts other messages than there are".to_owned())?;
        }
        Ok(())
    }

    /// Returns the file.
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// Returns the schemas by their numbers.
    pub fn schemas(&self) -> &BTreeMap<u16, Schema> {
        &self.connections.schemas
    }

    /// Returns the channels by their numbers: one for each connection.
    pub fn channels(&self) -> &BTreeMap<u16, Channel> {
        &self.connections.channels
    }

    /// Returns how many messages there are, and when.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Whether the index at the end of the bag is used.
    pub fn is_indexed(&self) -> bool {
        self.indexed
    }

    /// Returns the number of chunks without a checksum, if the whole bag was read. Chunks without compression have none.
    pub fn unchecked_chunks(&self) -> Option<u64> {
        self.unchecked
    }

    /// Returns a sentence for each thing that is missing or damaged.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Calls `visit` with the head and the data of each message, in the order of the file. Reads an indexed bag twice: its index is
    /// used only if it has all messages.
    ///
    /// # Errors
    /// - `Corrupt`: a chunk is damaged.
    /// - Errors of `visit`, of the file system or the store.
    pub fn for_each(&mut self, mut visit: impl FnMut(MessageHead, Bytes) -> Result<()>) -> Result<()> {
        let count = |count: &mut dyn FnMut(MessageHead)| {
            self.each_message(|head, _| {
                count(head);
                Ok(())
            })
        };
        if self.indexed && !self.statistics.hold(count) {
            self.scan()?;
        }
        self.each_message(&mut visit)
    }

    fn each_message(&self, mut visit: impl FnMut(MessageHead, Bytes) -> Result<()>) -> Result<()> {
        for number in 0..self.blocks.len() {
            let (bytes, _) = self.read(number)?;
            self.messages(number, &bytes, |_, head, data| visit(head, data))?;
        }
        Ok(())
    }

    /// Returns the number of blocks, which are in the order of the file.
    pub(crate) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Returns where a block begins.
    pub(crate) fn start(&self, block: usize) -> u64 {
        self.blocks[block].start
    }

    /// Whether a block may have messages of these channels, as far as the index says.
    pub(crate) fn may_have(&self, block: usize, channels: &dyn Fn(u16) -> bool) -> bool {
        self.blocks[block].channels.as_ref().is_none_or(|own| own.iter().any(|channel| channels(*channel)))
    }

    fn place(&self, block: usize) -> String {
        format!("{}: chunk at byte {}", self.input.url(), self.blocks[block].start)
    }

    /// Reads a block: the records of a chunk, or the bytes of messages outside of chunks. Also whether a checksum proved them.
    ///
    /// # Errors
    /// - `Corrupt`: the chunk is damaged, or the index names another record.
    /// - Errors of the file system or the store.
    pub(crate) fn read(&self, block: usize) -> Result<(Bytes, bool)> {
        let Block { start, len, kind, .. } = self.blocks[block];
        let place = |error: Error| error.at(self.place(block));
        let bytes = self.input.read(start, len.min(MAX_READ)).map_err(place)?;
        if kind == Kind::Plain {
            return Ok((bytes, true));
        }
        let is_cut = kind == Kind::Cut;
        let (header, behind, end) = chunk_of(&bytes).map_err(place)?;
        let header = Header::parse(&header).map_err(place)?;
        let stored = match end {
            end if end <= bytes.len() && !(is_cut && end == behind) => bytes.slice(behind..end),
            _ if is_cut => bytes.slice(behind..),
            end => return Err(place(Error::corrupt(format!("expected {end} bytes, found {}", bytes.len())))),
        };
        let opened = chunk::open(header, &stored, is_cut).map_err(place)?;
        Ok((opened.data, opened.checked))
    }

    /// Calls `visit` with the offset, the head and the data of each message in the bytes of a block.
    ///
    /// # Errors
    /// - `Corrupt`: a record is damaged.
    /// - Errors of `visit`.
    pub(crate) fn messages(
        &self,
        block: usize,
        bytes: &Bytes,
        mut visit: impl FnMut(u64, MessageHead, Bytes) -> Result<()>,
    ) -> Result<()> {
        let is_cut = self.blocks[block].kind == Kind::Cut;
        let mut refused = false;
        let found = records::each(bytes, |at, header, data| {
            if header.op()? == op::MESSAGE {
                match self.message_head(header)? {
                    Some(head) => visit(at as u64, head, data).inspect_err(|_| refused = true)?,
                    // The scan counted it.
                    None if !self.indexed => {}
                    None => {
                        let connection = header.u32("conn")?;
                        return Err(Error::corrupt(format!("a message of connection {connection}, which no record describes")));
                    }
                }
            }
            Ok(ControlFlow::Continue(()))
        });
        match found {
            // The last record of a cut chunk is cut, too.
            Err(error) if is_cut && !refused && error.kind() == ErrorKind::Corrupt => Ok(()),
            found => found.map_err(|error| error.at(self.place(block))),
        }
    }

    /// Returns the head of a message. `None`: no record describes its connection. Bags have no publish times.
    fn message_head(&self, header: Header<'_>) -> Result<Option<MessageHead>> {
        let (connection, log_time) = (header.u32("conn")?, header.time("time")?);
        let channel = self.connections.numbers.get(&connection);
        Ok(channel.map(|channel| MessageHead { channel: *channel, sequence: 0, log_time, publish_time: 0 }))
    }

    /// Returns the head and the data of the message at an offset of a block.
    ///
    /// # Errors
    /// - `Corrupt`: there is no message.
    pub(crate) fn message(&self, block: usize, bytes: &Bytes, offset: u64) -> Result<(MessageHead, Bytes)> {
        let place = |error: Error| error.at(format!("{}: message at {offset}", self.place(block)));
        let found = usize::try_from(offset).ok().and_then(|at| records::record(bytes, at));
        let (header, data, _) = found.ok_or_else(|| place(Error::corrupt("behind the chunk, or cut")))?;
        let header = Header::parse(header).map_err(place)?;
        if header.op().map_err(place)? != op::MESSAGE {
            return Err(place(Error::corrupt("expected a message, found another record")));
        }
        let head = self.message_head(header).map_err(place)?;
        let head = head.ok_or_else(|| place(Error::corrupt("a message of a connection that no record describes")))?;
        Ok((head, bytes.slice_ref(data)))
    }

    /// Returns the range of a block.
    pub(crate) fn range(&self, block: usize) -> (u64, u64) {
        let Block { start, len, .. } = self.blocks[block];
        (start, len.min(MAX_READ))
    }

    /// Returns the ranges in which the index of a chunk probably is: that of the header, which says where the index begins, and the end.
    pub(crate) fn index_parts(&self, block: usize) -> Vec<(u64, u64)> {
        let Block { start, len, is_indexed: true, .. } = self.blocks[block] else { return Vec::new() };
        let end = len.min(INDEX);
        vec![(start, len.min(CHUNK_HEAD)), (start + len - end, end)]
    }

    /// Returns the range of the index of a chunk, if there is one. Reads the header of the chunk.
    ///
    /// # Errors
    /// - Errors of the file system or the store.
    pub(crate) fn index_range(&self, block: usize) -> Result<Option<(u64, u64)>> {
        let Block { start, len, is_indexed: true, .. } = self.blocks[block] else { return Ok(None) };
        let first = self.input.read(start, len.min(CHUNK_HEAD))?;
        let Ok((.., end)) = chunk_of(&first) else { return Ok(None) };
        let left = len.checked_sub(end as u64).filter(|left| *left <= MAX_READ);
        Ok(left.map(|left| (start + end as u64, left)))
    }

    /// Returns the log time and the offset of each message of these channels in a chunk, if the index has them: without reading
    /// the chunk.
    ///
    /// # Errors
    /// - Errors of the file system or the store.
    pub(crate) fn index_of(&self, block: usize, wanted: &dyn Fn(u16) -> bool) -> Result<Option<Vec<(u16, u64, u64)>>> {
        let Some((start, len)) = self.index_range(block)? else { return Ok(None) };
        let section = self.input.read(start, len)?;
        let mut found = Vec::new();
        let parsed = records::each(&section, |_, header, data| {
            if header.op()? == op::INDEX {
                let (connection, entries) = records::index(header, &data)?;
                if let Some(channel) = self.connections.numbers.get(&connection).filter(|channel| wanted(**channel)) {
                    found.extend(entries.into_iter().map(|(time, offset)| (*channel, time, offset)));
                }
            }
            Ok(ControlFlow::Continue(()))
        });
        // Entries are by connection; offsets order them as they were written.
        found.sort_by_key(|(_, _, offset)| *offset);
        Ok(parsed.is_ok().then_some(found))
    }
}

/// Returns the header of the chunk that the bytes begin with, and where its data begin and end. They may end behind the bytes.
fn chunk_of(bytes: &Bytes) -> Result<(Bytes, usize, usize)> {
    let length = |at: usize| {
        let length = bytes.get(at..).and_then(<[u8]>::first_chunk::<{ records::LENGTH }>);
        length.and_then(|length| usize::try_from(u32::from_le_bytes(*length)).ok())
    };
    let short = || Error::corrupt(format!("expected a chunk, found {} bytes", bytes.len()));
    let header = length(0).ok_or_else(short)?;
    let behind = records::LENGTH + header;
    let data = length(behind).ok_or_else(short)?;
    let header = bytes.slice(records::LENGTH..behind);
    match Header::parse(&header)?.op()? {
        op::CHUNK => Ok((header, behind + records::LENGTH, behind + records::LENGTH + data)),
        _ => Err(Error::corrupt("expected a chunk, found another record")),
    }
}
