//! Reads a bag from front to back: finds its connections, its chunks, its messages and what is damaged. Needs no index.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
};

use bytes::Bytes;
use tetrys::{Error, ErrorKind, Result};

use super::{
    block::{Block, Kind},
    chunk,
    connections::Connections,
    index::Head,
    records::{self, Header, LENGTH, op},
};
use crate::{
    input::{Input, MAX_READ},
    window::Window,
};

/// Messages outside of chunks are read together up to this many bytes.
const PLAIN: u64 = 4 << 20;
/// Maximum bytes of a header.
const MAX_HEADER: u32 = 1 << 20;

/// The content of a bag, found by reading it from front to back.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) connections: Connections,
    /// Where chunks begin that an index names.
    pub(super) known: BTreeSet<u64>,
    pub(super) blocks: Vec<Block>,
    /// Messages of each connection.
    pub(super) counts: BTreeMap<u32, u64>,
    /// Smallest and largest log time.
    pub(super) times: Option<(u64, u64)>,
    /// Chunks without a checksum.
    pub(super) unchecked: u64,
    pub(super) faults: Vec<String>,
}

/// A record of the file: its header, and where its data begin and end. They may end behind the file.
struct Found {
    header: Bytes,
    data: u64,
    end: u64,
}

/// Reads all records. `scan` may have connections and chunks that are known already: behind damage, the scan goes on at the next
/// known chunk.
///
/// # Errors
/// - `Corrupt`: with `strict`, the bag is cut or damaged, or its recorder did not finish it.
/// - Errors of the file system or the store.
pub(super) fn scan(input: &Input, strict: bool, head: &Head, mut scan: Scan) -> Result<Scan> {
    read(input, strict, head, &mut scan)?;
    let is_orphan = |connection: &u32| !scan.connections.numbers.contains_key(connection);
    let orphans: u64 = scan.counts.iter().filter(|(connection, _)| is_orphan(connection)).map(|(_, count)| count).sum();
    if orphans > 0 {
        scan.fault(strict, Error::corrupt(format!("messages of connections that no record describes: {orphans} are left out")))?;
    }
    Ok(scan)
}

fn read(input: &Input, strict: bool, head: &Head, scan: &mut Scan) -> Result<()> {
    let mut window = Window::new(input);
    let size = input.size();
    let (mut at, mut data_end) = (head.end, head.end);
    while at < size {
        let next = scan.known.range(at + 1..).next().copied();
        let found = match window.record(at) {
            Ok(found) => found,
            Err(error) if error.kind() != ErrorKind::Corrupt => return Err(error),
            Err(error) => {
                let error = error.at(format!("record at byte {at}"));
                if let Some(next) = next
                    && !window.is_chunk(next)?
                {
                    scan.known.remove(&next);
                    continue;
                }
                let Some(next) = next else {
                    // Behind the data is only the index, and whoever could not use it says why.
                    return if is_index(head, at, data_end) { Ok(()) } else { scan.fault(strict, error) };
                };
                scan.fault(strict, error.at(format!("the file is read on at the next chunk, at byte {next}")))?;
                at = next;
                continue;
            }
        };
        if let Some((next, _)) = next.zip(found.as_ref()).filter(|(next, found)| found.end > *next) {
            if !window.is_chunk(next)? {
                scan.known.remove(&next);
                continue;
            }
            let why = format!("the record at byte {at} does not end where its length says");
            scan.fault(strict, Error::corrupt(format!("{why}; the file is read on at the next chunk, at byte {next}")))?;
            at = next;
            continue;
        }
        let Some(Found { header, data, end }) = found.filter(|found| found.end <= size || found.data < size) else {
            return match is_index(head, at, data_end) {
                true => Ok(()),
                false => scan.fault(strict, Error::corrupt(format!("the file is cut at byte {size}, inside the record at {at}"))),
            };
        };
        let header = Header::parse(&header)?;
        let op = header.op()?;
        if op != op::CHUNK && scan.known.contains(&at) {
            scan.fault(strict, Error::corrupt(format!("record at byte {at}: expected a chunk, found another record")))?;
        }
        let is_open = op == op::CHUNK && head.index == 0 && chunk::is_open(header, end - data);
        if end > size || is_open {
            if is_index(head, at, data_end) {
                return Ok(());
            }
            if op == op::CHUNK && size > data {
                let len = (size - at).min(MAX_READ);
                let stored = window.get(data, len - (data - at))?;
                let (start, kind) = (at, Kind::Cut);
                let taken = scan.take_chunk(header, &stored, Block { start, len, kind, channels: None, is_indexed: false });
                // Other errors come of the cut.
                if let Err(error) = taken
                    && error.kind() == ErrorKind::Unsupported
                {
                    scan.fault(strict, error.at(format!("record at byte {at}")))?;
                }
            }
            let why = match is_open {
                true => {
                    format!("the bag has no index, because its recorder did not finish it: the chunk at byte {at} is the last")
                }
                false => format!("the file is cut at byte {size}, inside the record at {at} of {} bytes", end - at),
            };
            return scan.fault(strict, Error::corrupt(why));
        }
        let taken = match op {
            op::CHUNK | op::CONNECTION | op::MESSAGE if end - at > MAX_READ => {
                Err(Error::unsupported(format!("a record of {} bytes", end - at)))
            }
            op::CHUNK => {
                let block = Block { start: at, len: end - at, kind: Kind::Chunk, channels: None, is_indexed: false };
                window.get(data, end - data).and_then(|stored| scan.take_chunk(header, &stored, block))
            }
            op::CONNECTION => {
                let data = window.get(data, end - data)?;
                records::connection(header, &data).and_then(|connection| scan.connections.add(connection))
            }
            op::MESSAGE => scan.count(header).map(|()| scan.extend_plain(at, end)),
            _ => Ok(()),
        };
        match taken {
            Ok(()) => {}
            Err(error) if [ErrorKind::Corrupt, ErrorKind::Unsupported].contains(&error.kind()) => {
                scan.fault(strict, error.at(format!("record at byte {at}")))?;
            }
            Err(error) => return Err(error),
        }
        if [op::CHUNK, op::MESSAGE, op::INDEX].contains(&op) {
            data_end = end;
        }
        at = end;
    }
    match head.index {
        0 => scan.fault(strict, Error::corrupt("the bag has no index, because its recorder did not finish it")),
        index if index > size => {
            scan.fault(strict, Error::corrupt(format!("the file is cut at byte {size}: its index would begin at byte {index}")))
        }
        _ => Ok(()),
    }
}

/// Whether all data are before `at`, so that only the index is cut or damaged there.
fn is_index(head: &Head, at: u64, data_end: u64) -> bool {
    head.index > 0 && data_end <= head.index && at >= head.index
}

impl Scan {
    fn fault(&mut self, strict: bool, error: Error) -> Result<()> {
        if strict {
            return Err(error);
        }
        self.faults.push(error.to_string());
        Ok(())
    }

    fn count(&mut self, header: Header<'_>) -> Result<()> {
        let (connection, time) = (header.u32("conn")?, header.time("time")?);
        *self.counts.entry(connection).or_default() += 1;
        let (first, last) = self.times.unwrap_or((time, time));
        self.times = Some((first.min(time), last.max(time)));
        Ok(())
    }

    /// Takes a chunk. Nothing of one that is damaged is taken; of a cut one, the records before the cut.
    fn take_chunk(&mut self, header: Header<'_>, stored: &Bytes, block: Block) -> Result<()> {
        let is_cut = block.kind == Kind::Cut;
        let opened = chunk::open(header, stored, is_cut)?;
        let checked = records::each(&opened.data, |_, header, data| {
            match header.op()? {
                op::MESSAGE => drop((header.u32("conn")?, header.time("time")?)),
                op::CONNECTION => self.connections.add(records::connection(header, &data)?)?,
                _ => {}
            }
            Ok(ControlFlow::Continue(()))
        });
        // The last record of a cut chunk is cut, too.
        let lenient = |read: Result<()>| read.or_else(|error| if is_cut { Ok(()) } else { Err(error) });
        lenient(checked)?;
        lenient(records::each(&opened.data, |_, header, _| {
            if header.op()? == op::MESSAGE {
                self.count(header)?;
            }
            Ok(ControlFlow::Continue(()))
        }))?;
        self.unchecked += u64::from(!opened.checked);
        self.blocks.push(block);
        Ok(())
    }

    /// Adds a message outside of chunks to the block that ends before it, or to a new one.
    fn extend_plain(&mut self, start: u64, end: u64) {
        let is_near = |block: &Block| start == block.start + block.len && end - block.start <= PLAIN;
        match self.blocks.last_mut() {
            Some(block) if block.kind == Kind::Plain && is_near(block) => block.len = end - block.start,
            _ => self.blocks.push(Block { start, len: end - start, kind: Kind::Plain, channels: None, is_indexed: false }),
        }
    }
}

impl Window<'_> {
    /// Whether a chunk begins at `at`.
    fn is_chunk(&mut self, at: u64) -> Result<bool> {
        match self.record(at) {
            Ok(Some(found)) => Ok(Header::parse(&found.header)?.op()? == op::CHUNK),
            Err(error) if error.kind() != ErrorKind::Corrupt => Err(error),
            Ok(None) | Err(_) => Ok(false),
        }
    }

    /// Returns the record at `at`. `None`: the file ends before its data.
    ///
    /// # Errors
    /// - `Corrupt`: the header is damaged.
    fn record(&mut self, at: u64) -> Result<Option<Found>> {
        let size = self.input.size();
        let width = LENGTH as u64;
        let mut length = |at: u64| -> Result<Option<u32>> {
            if at + width > size {
                return Ok(None);
            }
            let bytes = self.get(at, width)?;
            Ok(bytes.first_chunk::<LENGTH>().map(|bytes| u32::from_le_bytes(*bytes)))
        };
        let Some(header) = length(at)? else { return Ok(None) };
        if header > MAX_HEADER {
            return Err(Error::corrupt(format!("a header of {header} bytes: expected at most {MAX_HEADER}")));
        }
        let (start, behind) = (at + width, at + width + u64::from(header));
        let Some(data) = length(behind)? else { return Ok(None) };
        let header = self.get(start, u64::from(header))?;
        Header::parse(&header)?.op()?;
        Ok(Some(Found { header, data: behind + width, end: behind + width + u64::from(data) }))
    }
}
