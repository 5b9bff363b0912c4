//! An open MCAP file: its channels, and its messages block by block. A block is a chunk, or a run of messages outside of chunks.

use std::{collections::BTreeMap, ops::ControlFlow};

use bytes::Bytes;
use tetrys::{Error, Result};

use super::{
    block::{Block, Kind},
    chunk,
    linear::{self, Scan},
    records::{self, Channel, HEAD, MAGIC, MESSAGE_HEAD, MessageHead, Schema, Statistics, op},
    summary::{self, Summary, Unusable, each},
};
use crate::input::Input;

/// An MCAP file.
///
/// ```
/// use tetrys_logs::{Input, mcap::McapFile};
/// let error = McapFile::open(Input::of_bytes("drive.mcap", "no recording"), false).unwrap_err();
/// assert!(error.to_string().contains("drive.mcap: expected a file that begins with the magic bytes of MCAP"));
/// ```
#[derive(Debug)]
pub struct McapFile {
    input: Input,
    strict: bool,
    schemas: BTreeMap<u16, Schema>,
    channels: BTreeMap<u16, Channel>,
    blocks: Vec<Block>,
    statistics: Statistics,
    indexed: bool,
    unchecked: Option<u64>,
    warnings: Vec<String>,
}

impl McapFile {
    /// Opens a file: reads the summary if it is complete, else the whole file. A file that is cut or damaged gives what can be
    /// read, and [`McapFile::warnings`] says what is missing; with `strict` it is an error, also where only the summary is damaged.
    ///
    /// # Errors
    /// - `Corrupt`: the file does not begin as an MCAP file does; with `strict`, it is cut or damaged.
    /// - Errors of the file system or the store.
    pub fn open(input: Input, strict: bool) -> Result<Self> {
        if let Some(fault) = input.fault().filter(|_| strict) {
            return Err(Error::corrupt(fault).at(input.url()));
        }
        let mut file = Self {
            input,
            strict,
            schemas: BTreeMap::new(),
            channels: BTreeMap::new(),
            blocks: Vec::new(),
            statistics: Statistics::default(),
            indexed: false,
            unchecked: None,
            warnings: Vec::new(),
        };
        match summary::read(&file.input).map_err(|error| error.at(file.input.url()))? {
            Ok(Summary { schemas, channels, statistics, chunks }) => {
                let blocks = chunks.into_iter().map(|index| Block {
                    index: Some(Box::new(index.clone())),
                    ..Block::new(index.start, index.len, Kind::Chunk)
                });
                (file.schemas, file.channels, file.blocks, file.statistics) = (schemas, channels, blocks.collect(), statistics);
                file.indexed = true;
                file.warn(Vec::new());
            }
            Err(why) => {
                file.scan()?;
                if let Unusable::Damaged(why) = why {
                    file.refuse_summary(why)?;
                }
            }
        }
        Ok(file)
    }

    /// Makes warnings of what is wrong with the data.
    fn warn(&mut self, faults: Vec<String>) {
        self.warnings = self.input.warnings(faults);
    }

    /// Warns of a damaged summary, or refuses it. Of a file whose data are damaged, the warnings say more.
    fn refuse_summary(&mut self, why: String) -> Result<()> {
        let fault = format!("{}: all data are there, and the summary behind them is damaged: {why}", self.input.url());
        match self.strict {
            true => Err(Error::corrupt(fault)),
            false => {
                self.warnings.extend(self.warnings.is_empty().then_some(fault));
                Ok(())
            }
        }
    }

    /// Reads the whole file, because its index is wrong or missing.
    pub(crate) fn scan(&mut self) -> Result<()> {
        // What the summary describes may be missing where a chunk is damaged.
        let chunks = self.blocks.iter().filter(|block| block.index.is_some()).map(|block| (block.start, block.len)).collect();
        let known = Scan { schemas: self.schemas.clone(), channels: self.channels.clone(), known: chunks, ..Scan::default() };
        let found = linear::scan(&self.input, self.strict, known).map_err(|error| error.at(self.input.url()))?;
        let Scan { schemas, channels, blocks, counts, times, unchecked, faults, .. } = found;
        let stated = std::mem::take(&mut self.statistics).by_channel;
        let is_stated = |(channel, count): (&u16, &u64)| stated.get(channel).copied().unwrap_or(0) == *count;
        let is_wrong =
            self.indexed && !(counts.iter().all(is_stated) && stated.values().sum::<u64>() == counts.values().sum::<u64>());
        self.statistics = Statistics {
            messages: counts.values().sum(),
            chunks: u32::try_from(blocks.iter().filter(|block| block.kind != Kind::Plain).count()).unwrap_or(u32::MAX),
            times: times.unwrap_or_default(),
            by_channel: counts,
            ..Statistics::default()
        };
        (self.schemas, self.channels, self.blocks) = (schemas, channels, blocks);
        (self.indexed, self.unchecked) = (false, Some(unchecked));
        self.warn(faults);
        if is_wrong {
            self.refuse_summary("its statistics count other messages than there are".to_owned())?;
        }
        Ok(())
    }

    /// Returns the file.
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// Returns the schemas by their numbers.
    pub fn schemas(&self) -> &BTreeMap<u16, Schema> {
        &self.schemas
    }

    /// Returns the channels by their numbers.
    pub fn channels(&self) -> &BTreeMap<u16, Channel> {
        &self.channels
    }

    /// Returns how many messages there are, and when.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Returns the parts that are read at once, in the order of the file.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Whether the index at the end of the file is used.
    pub fn is_indexed(&self) -> bool {
        self.indexed
    }

    /// Returns the number of chunks without a CRC, if the whole file was read.
    pub fn unchecked_chunks(&self) -> Option<u64> {
        self.unchecked
    }

    /// Returns a sentence for each thing that is missing or damaged.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Calls `visit` with the head and the data of each message, in the order of the file. Reads an indexed file twice: its
    /// index is used only if it has all messages.
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
        for block in &self.blocks {
            let (bytes, _) = self.read(block)?;
            self.messages(block, &bytes, |_, head, data| visit(head, data))?;
        }
        Ok(())
    }

    /// Reads a block: the records of a chunk, checked, or the bytes of messages outside of chunks. Also whether a CRC proved them.
    ///
    /// # Errors
    /// - `Corrupt`: the chunk is damaged, or the index names another record.
    /// - Errors of the file system or the store.
    pub(crate) fn read(&self, block: &Block) -> Result<(Bytes, bool)> {
        let place = |error: Error| error.at(format!("{}: chunk at byte {}", self.input.url(), block.start));
        let bytes = self.input.read(block.start, block.len).map_err(place)?;
        if block.kind == Kind::Plain {
            return Ok((bytes, true));
        }
        let head = bytes.get(..HEAD).map(records::head).transpose().map_err(place)?;
        match head {
            Some((op::CHUNK, len)) if block.kind == Kind::Cut || len == block.len - HEAD as u64 => {}
            _ => return Err(place(Error::corrupt(format!("expected a chunk of {} bytes, found another record", block.len)))),
        }
        let opened = chunk::open(&bytes.slice(HEAD..), block.kind == Kind::Cut).map_err(place)?;
        Ok((opened.data, opened.checked))
    }

    /// Calls `visit` with the offset, the head and the data of each message in the bytes of a block.
    ///
    /// # Errors
    /// - `Corrupt`: a record is damaged.
    /// - Errors of `visit`.
    pub(crate) fn messages(
        &self,
        block: &Block,
        bytes: &Bytes,
        mut visit: impl FnMut(u64, MessageHead, Bytes) -> Result<()>,
    ) -> Result<()> {
        let cut = block.kind == Kind::Cut;
        let mut refused = false;
        let found = each(bytes, |at, opcode, body| {
            if opcode == op::MESSAGE {
                let head = records::message(body)?;
                match self.channels.contains_key(&head.channel) {
                    true => visit(at as u64, head, body.slice(MESSAGE_HEAD..)).inspect_err(|_| refused = true)?,
                    // The scan counted it.
                    false if !self.indexed => {}
                    false => {
                        return Err(Error::corrupt(format!("a message of channel {}, which no record describes", head.channel)));
                    }
                }
            }
            Ok(ControlFlow::Continue(()))
        });
        match found {
            // The last record of a cut chunk is cut, too.
            Err(error) if cut && !refused && error.kind() == tetrys::ErrorKind::Corrupt => Ok(()),
            found => found.map_err(|error| error.at(format!("{}: chunk at byte {}", self.input.url(), block.start))),
        }
    }

    /// Returns the head and the data of the message at an offset of a block.
    ///
    /// # Errors
    /// - `Corrupt`: there is no message.
    pub(crate) fn message(&self, block: &Block, bytes: &Bytes, offset: u64) -> Result<(MessageHead, Bytes)> {
        let place = || format!("{}: chunk at byte {}: message at {offset}", self.input.url(), block.start);
        let at = usize::try_from(offset).ok().filter(|at| *at <= bytes.len());
        let record = at.map(|at| bytes.slice(at..)).ok_or_else(|| Error::corrupt("behind the chunk").at(place()))?;
        let mut found = None;
        each(&record, |_, opcode, body| {
            if opcode == op::MESSAGE {
                found = Some((records::message(body)?, body.slice(MESSAGE_HEAD..)));
            }
            Ok(ControlFlow::Break(()))
        })
        .map_err(|error| error.at(place()))?;
        found.ok_or_else(|| Error::corrupt("expected a message, found another record").at(place()))
    }

    /// Returns the log time and the offset of each message of these channels in a chunk, if the index has them: without reading
    /// the chunk.
    ///
    /// # Errors
    /// - Errors of the file system or the store.
    pub(crate) fn index_of(&self, block: &Block, wanted: &dyn Fn(u16) -> bool) -> Result<Option<Vec<(u16, u64, u64)>>> {
        let Some((start, len)) = block.index_range() else { return Ok(None) };
        let Ok(section) = self.input.read(start, len) else { return Ok(None) };
        let mut found = Vec::new();
        let parsed = each(&section, |_, opcode, body| {
            if opcode == op::MESSAGE_INDEX {
                let (channel, entries) = records::message_index(body)?;
                if wanted(channel) {
                    found.extend(entries.into_iter().map(|(time, offset)| (channel, time, offset)));
                }
            }
            Ok(ControlFlow::Continue(()))
        });
        // Entries may have any order; offsets order them as they were written.
        found.sort_by_key(|(_, _, offset)| *offset);
        Ok(parsed.is_ok().then_some(found))
    }

    /// The first bytes of every MCAP file.
    pub const MAGIC: [u8; 8] = MAGIC;
}
