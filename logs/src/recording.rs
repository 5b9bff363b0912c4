//! A file of a log: an MCAP file or a ROS 1 bag. Both give channels, and messages block by block.

use std::collections::BTreeMap;

use bytes::Bytes;
use tetrys::Result;

use crate::{
    bag::{self, BagFile},
    input::Input,
    mcap::{Channel, McapFile, MessageHead, Schema, Statistics},
};

/// A file of a log.
#[derive(Debug)]
pub enum Recording {
    /// An MCAP file, or a SQLite bag that was copied to one.
    Mcap(McapFile),
    /// A ROS 1 bag.
    Bag(BagFile),
}

/// Calls the same method of both.
macro_rules! of {
    ($recording:expr, $file:ident => $call:expr) => {
        match $recording {
            Recording::Mcap($file) => $call,
            Recording::Bag($file) => $call,
        }
    };
}

impl From<McapFile> for Recording {
    fn from(file: McapFile) -> Self {
        Self::Mcap(file)
    }
}

impl From<BagFile> for Recording {
    fn from(file: BagFile) -> Self {
        Self::Bag(file)
    }
}

impl Recording {
    /// Opens a file by the end of its name: a ROS 1 bag, or else an MCAP file.
    pub(crate) fn open(input: Input, strict: bool) -> Result<Self> {
        match bag::is_bag(input.url()) {
            true => BagFile::open(input, strict).map(Self::Bag),
            false => McapFile::open(input, strict).map(Self::Mcap),
        }
    }

    /// Returns the file.
    pub fn input(&self) -> &Input {
        of!(self, file => file.input())
    }

    /// Returns the schemas by their numbers.
    pub fn schemas(&self) -> &BTreeMap<u16, Schema> {
        of!(self, file => file.schemas())
    }

    /// Returns the channels by their numbers.
    pub fn channels(&self) -> &BTreeMap<u16, Channel> {
        of!(self, file => file.channels())
    }

    /// Returns how many messages there are, and when.
    pub fn statistics(&self) -> &Statistics {
        of!(self, file => file.statistics())
    }

    /// Whether the index at the end of the file is used.
    pub fn is_indexed(&self) -> bool {
        of!(self, file => file.is_indexed())
    }

    /// Returns the number of chunks without a checksum, if the whole file was read.
    pub fn unchecked_chunks(&self) -> Option<u64> {
        of!(self, file => file.unchecked_chunks())
    }

    /// Returns a sentence for each thing that is missing or damaged.
    pub fn warnings(&self) -> &[String] {
        of!(self, file => file.warnings())
    }

    /// Reads the whole file, because its index is wrong or missing.
    pub(crate) fn scan(&mut self) -> Result<()> {
        of!(self, file => file.scan())
    }

    /// Returns the number of blocks, which are in the order of the file.
    pub(crate) fn blocks(&self) -> u32 {
        let blocks = match self {
            Self::Mcap(file) => file.blocks().len(),
            Self::Bag(file) => file.blocks(),
        };
        u32::try_from(blocks).unwrap_or(u32::MAX)
    }

    /// Returns where a block begins.
    pub(crate) fn start(&self, block: u32) -> u64 {
        match self {
            Self::Mcap(file) => file.blocks()[block as usize].start,
            Self::Bag(file) => file.start(block as usize),
        }
    }

    /// Returns the range of a block: where it begins, and its bytes.
    pub(crate) fn range(&self, block: u32) -> (u64, u64) {
        match self {
            Self::Mcap(file) => (file.blocks()[block as usize].start, file.blocks()[block as usize].len),
            Self::Bag(file) => file.range(block as usize),
        }
    }

    /// Returns the ranges in which the index of a block probably is: none if it has none.
    pub(crate) fn index_parts(&self, block: u32) -> Vec<(u64, u64)> {
        match self {
            Self::Mcap(file) => file.blocks()[block as usize].index_range().into_iter().collect(),
            Self::Bag(file) => file.index_parts(block as usize),
        }
    }

    /// Returns the range of the index of a block, if it has one. Reads the header of a chunk of a bag.
    pub(crate) fn index_range(&self, block: u32) -> Option<(u64, u64)> {
        match self {
            Self::Mcap(file) => file.blocks()[block as usize].index_range(),
            Self::Bag(file) => file.index_range(block as usize).ok().flatten(),
        }
    }

    /// Whether a block may have messages of these channels, as far as the index says.
    pub(crate) fn may_have(&self, block: u32, channels: &dyn Fn(u16) -> bool) -> bool {
        match self {
            Self::Mcap(file) => file.blocks()[block as usize].may_have(channels),
            Self::Bag(file) => file.may_have(block as usize, channels),
        }
    }

    /// Reads a block. Also whether a checksum proved its bytes.
    ///
    /// # Errors
    /// - `Corrupt`: the block is damaged, or the index names another record.
    /// - Errors of the file system or the store.
    pub(crate) fn read(&self, block: u32) -> Result<(Bytes, bool)> {
        match self {
            Self::Mcap(file) => file.read(&file.blocks()[block as usize]),
            Self::Bag(file) => file.read(block as usize),
        }
    }

    /// Calls `visit` with the offset, the head and the data of each message in the bytes of a block.
    ///
    /// # Errors
    /// - `Corrupt`: a record is damaged.
    /// - Errors of `visit`.
    pub(crate) fn messages(
        &self,
        block: u32,
        bytes: &Bytes,
        visit: impl FnMut(u64, MessageHead, Bytes) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Mcap(file) => file.messages(&file.blocks()[block as usize], bytes, visit),
            Self::Bag(file) => file.messages(block as usize, bytes, visit),
        }
    }

    /// Returns the head and the data of the message at an offset of a block.
    ///
    /// # Errors
    /// - `Corrupt`: there is no message.
    pub(crate) fn message(&self, block: u32, bytes: &Bytes, offset: u64) -> Result<(MessageHead, Bytes)> {
        match self {
            Self::Mcap(file) => file.message(&file.blocks()[block as usize], bytes, offset),
            Self::Bag(file) => file.message(block as usize, bytes, offset),
        }
    }

    /// Returns the log time and the offset of each message of these channels in a block, if the index has them: without reading it.
    ///
    /// # Errors
    /// - Errors of the file system or the store.
    pub(crate) fn index_of(&self, block: u32, wanted: &dyn Fn(u16) -> bool) -> Result<Option<Vec<(u16, u64, u64)>>> {
        match self {
            Self::Mcap(file) => file.index_of(&file.blocks()[block as usize], wanted),
            Self::Bag(file) => file.index_of(block as usize, wanted),
        }
    }
}
