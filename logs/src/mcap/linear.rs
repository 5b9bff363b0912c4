//! Reads a file from front to back: finds its channels, its messages and what is damaged. Needs no summary.

use std::{collections::BTreeMap, ops::ControlFlow};

use bytes::Bytes;
use tetrys::{Error, Result};

use super::{
    block::{Block, Kind},
    chunk,
    records::{self, Channel, HEAD, MAGIC, MessageHead, Schema, op},
    summary::each,
};
use crate::{
    input::{Input, MAX_READ},
    window::{WINDOW, Window},
};

/// Messages outside of chunks are read together up to this many bytes.
const PLAIN: u64 = 4 << 20;

/// The content of a file, found by reading it from front to back.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) schemas: BTreeMap<u16, Schema>,
    pub(super) channels: BTreeMap<u16, Channel>,
    /// Starts and bytes of the chunks that an index names.
    pub(super) known: BTreeMap<u64, u64>,
    pub(super) blocks: Vec<Block>,
    /// Messages of each channel.
    pub(super) counts: BTreeMap<u16, u64>,
    /// Smallest and largest log time.
    pub(super) times: Option<(u64, u64)>,
    /// Chunks without a CRC.
    pub(super) unchecked: u64,
    /// Messages of channels that no record describes.
    pub(super) orphans: u64,
    pub(super) faults: Vec<String>,
}

/// Reads all records up to the end of the data section. `scan` may have channels and chunks that are known already: behind damage,
/// the scan goes on at the next known chunk.
///
/// # Errors
/// - `Corrupt`: the file does not begin as an MCAP file does; with `strict`, it is cut or damaged.
/// - Errors of the file system or the store.
pub(super) fn scan(input: &Input, strict: bool, scan: Scan) -> Result<Scan> {
    let mut scan = read(input, strict, scan)?;
    if scan.orphans > 0 {
        let orphans = scan.orphans;
        let fault = format!("messages of channels that no record describes: {orphans} are left out");
        if strict {
            return Err(Error::corrupt(fault));
        }
        scan.faults.push(fault);
    }
    Ok(scan)
}

fn read(input: &Input, strict: bool, mut scan: Scan) -> Result<Scan> {
    let mut reader = Reader { window: Window::new(input), hasher: crc32fast::Hasher::new() };
    let size = input.size();
    let magic = reader.get(0, (MAGIC.len() as u64).min(size))?;
    if magic != MAGIC[..] {
        return Err(Error::corrupt("expected a file that begins with the magic bytes of MCAP, found others"));
    }
    reader.hasher.update(&MAGIC);
    let mut at = MAGIC.len() as u64;
    let fault = |scan: &mut Scan, error: Error| match strict {
        true => Err(error),
        false => {
            scan.faults.push(error.to_string());
            Ok(())
        }
    };
    let mut is_whole = true;
    loop {
        // Lengths lead from record to record. One that leads past a chunk of the index, or ends before it, is damaged.
        let next = scan.known.range(at + 1..).next().map(|(start, len)| (*start, *len));
        if let Some((next, len)) = next
            && reader.passes(at, next)?
            && reader.is_chunk(next, len)?
        {
            let place = format!("the record at byte {at} does not end where its length says");
            fault(&mut scan, Error::corrupt(format!("{place}; the file is read on at the next chunk, at byte {next}")))?;
            (at, is_whole) = (next, false);
            continue;
        }
        if at + HEAD as u64 > size {
            fault(&mut scan, Error::corrupt(format!("the file is cut at byte {size}: it has no end of data")))?;
            return Ok(scan);
        }
        let (opcode, len) = records::head(&reader.get(at, HEAD as u64)?)?;
        let body = at + HEAD as u64;
        let Some(end) = body.checked_add(len).filter(|end| *end <= size) else {
            // A writer of a chunk fills in its length when it closes the chunk.
            let inside = match (opcode, len) {
                (op::CHUNK, u64::MAX) => format!("in the chunk at {at}, which was not closed"),
                _ => format!("inside the record at {at} of {len} bytes"),
            };
            fault(&mut scan, Error::corrupt(format!("the file is cut at byte {size}, {inside}")))?;
            if opcode == op::CHUNK && size > body {
                let left = (size - body).min(MAX_READ - HEAD as u64);
                scan.take_chunk(&reader.get(body, left)?, Block::new(at, left + HEAD as u64, Kind::Cut)).ok();
            }
            return Ok(scan);
        };
        match opcode {
            op::DATA_END => {
                if len < 4 {
                    fault(&mut scan, Error::corrupt(format!("the end of data at byte {at} has {len} bytes, expected 4")))?;
                    return Ok(scan);
                }
                let expected = records::Fields::new(&reader.get(body, 4)?).u32()?;
                let found = reader.hasher.clone().finalize();
                if is_whole && expected != 0 && found != expected {
                    let place = format!("the data before byte {at}");
                    fault(&mut scan, Error::corrupt(format!("{place} have the CRC {found:#010x}, expected {expected:#010x}")))?;
                }
                return Ok(scan);
            }
            op::FOOTER => return Ok(scan),
            op::CHUNK if len <= MAX_READ => {
                let record = reader.get(body, len)?;
                if let Err(error) = scan.take_chunk(&record, Block::new(at, end - at, Kind::Chunk)) {
                    fault(&mut scan, error.at(format!("chunk at byte {at}")))?;
                }
            }
            op::SCHEMA | op::CHANNEL | op::MESSAGE if len <= MAX_READ => {
                let record = reader.get(body, len)?;
                match scan.take(opcode, &record) {
                    Ok(()) if opcode == op::MESSAGE => scan.extend_plain(at, end),
                    Ok(()) => {}
                    Err(error) => fault(&mut scan, error.at(format!("record at byte {at}")))?,
                }
            }
            op::MESSAGE | op::CHUNK => fault(&mut scan, Error::unsupported(format!("a record of {len} bytes at byte {at}")))?,
            _ => {}
        }
        reader.hash(at, end)?;
        at = end;
    }
}

impl Scan {
    fn take(&mut self, opcode: u8, body: &[u8]) -> Result<()> {
        match opcode {
            op::SCHEMA => drop(records::schema(body).map(|schema| self.schemas.insert(schema.id, schema))?),
            op::CHANNEL => drop(records::channel(body).map(|channel| self.channels.insert(channel.id, channel))?),
            op::MESSAGE => self.count(records::message(body)?),
            _ => {}
        }
        Ok(())
    }

    fn count(&mut self, head: MessageHead) {
        if !self.channels.contains_key(&head.channel) {
            self.orphans += 1;
            return;
        }
        *self.counts.entry(head.channel).or_default() += 1;
        let (first, last) = self.times.unwrap_or((head.log_time, head.log_time));
        self.times = Some((first.min(head.log_time), last.max(head.log_time)));
    }

    fn take_chunk(&mut self, body: &Bytes, block: Block) -> Result<()> {
        let opened = chunk::open(body, block.kind == Kind::Cut)?;
        let mut heads = Vec::new();
        let taken = each(&opened.data, |_, opcode, body| {
            match opcode {
                op::MESSAGE => heads.push(records::message(body)?),
                opcode => self.take(opcode, body)?,
            }
            Ok(ControlFlow::Continue(()))
        });
        // The last record of a cut chunk is cut, too.
        taken.or_else(|error| if opened.fault.is_some() { Ok(()) } else { Err(error) })?;
        heads.into_iter().for_each(|head| self.count(head));
        self.unchecked += u64::from(!opened.checked);
        self.blocks.push(block);
        Ok(())
    }

    /// Adds a message outside of chunks to the block that ends before it, or to a new one.
    fn extend_plain(&mut self, start: u64, end: u64) {
        let is_near = |block: &Block| start == block.start + block.len && end - block.start <= PLAIN;
        match self.blocks.last_mut() {
            Some(block) if block.kind == Kind::Plain && is_near(block) => block.len = end - block.start,
            _ => self.blocks.push(Block::new(start, end - start, Kind::Plain)),
        }
    }
}

/// Reads ranges in order through a window, and computes the CRC of the data.
struct Reader<'a> {
    window: Window<'a>,
    hasher: crc32fast::Hasher,
}

impl Reader<'_> {
    fn get(&mut self, at: u64, len: u64) -> Result<Bytes> {
        self.window.get(at, len)
    }

    /// Whether the record at `at` is no record, is an end, or leads past `next`.
    fn passes(&mut self, at: u64, next: u64) -> Result<bool> {
        if at + HEAD as u64 > next {
            return Ok(true);
        }
        let (opcode, len) = records::head(&self.get(at, HEAD as u64)?)?;
        Ok([op::DATA_END, op::FOOTER].contains(&opcode) || (at + HEAD as u64).checked_add(len).is_none_or(|end| end > next))
    }

    /// Whether a chunk of `len` bytes begins at `at`.
    fn is_chunk(&mut self, at: u64, len: u64) -> Result<bool> {
        if at.checked_add(len).is_none_or(|end| end > self.window.input.size()) || len < HEAD as u64 {
            return Ok(false);
        }
        Ok(records::head(&self.get(at, HEAD as u64)?)? == (op::CHUNK, len - HEAD as u64))
    }

    /// Adds a range to the CRC of the data.
    fn hash(&mut self, mut at: u64, end: u64) -> Result<()> {
        while at < end {
            let there = self.window.bytes_from(at);
            let len = (end - at).min(if there > 0 { there } else { WINDOW });
            let bytes = self.get(at, len)?;
            self.hasher.update(&bytes);
            at += len;
        }
        Ok(())
    }
}
