//! The beginning of a bag and the index at its end: its connections and its chunks, if all of them are there.

use std::ops::ControlFlow;

use tetrys::{Error, Result};

use super::{
    connections::Connections,
    records::{self, ChunkInfo, Header, LENGTH, MAGIC, op},
};
use crate::input::Input;

/// Bytes at the beginning that are read first: the header of a bag has 4 KiB.
const HEAD: u64 = 64 << 10;
/// Maximum bytes of an index.
const MAX_INDEX: u64 = 256 << 20;

/// The header of a bag.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Head {
    /// Where the index begins; 0: the recorder did not finish the bag.
    pub(super) index: u64,
    connections: u32,
    chunks: u32,
    /// Where the header ends.
    pub(super) end: u64,
}

/// A complete index.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) connections: Connections,
    /// The chunks by their places.
    pub(super) chunks: Vec<ChunkInfo>,
}

/// Why an index is not used.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unusable {
    /// The bag has none, or the file ends before it.
    Missing,
    /// It is cut or damaged, or says what is not so.
    Damaged(String),
}

/// Reads the header of a bag. `None`: the file is cut inside of it.
///
/// # Errors
/// - `Corrupt`: the file does not begin as a bag does.
/// - `Unsupported`: the bag is encrypted, or has another version.
/// - Errors of the file system or the store.
pub(super) fn head(input: &Input) -> Result<Option<Head>> {
    let first = input.read(0, HEAD.min(input.size()))?;
    if !first.starts_with(MAGIC) {
        let line = first.strip_prefix(b"#ROSBAG V").and_then(|rest| rest.split(|byte| *byte == b'\n').next());
        return Err(match line {
            Some(version) if version.len() < 10 && first.len() > MAGIC.len() => Error::unsupported(format!(
                "a bag of version {}: expected 2.0, which `rosbag filter old.bag new.bag True` writes",
                String::from_utf8_lossy(version).escape_debug()
            )),
            _ => Error::corrupt("expected a file that begins with the line `#ROSBAG V2.0`, found others"),
        });
    }
    match records::record(&first, MAGIC.len()) {
        Some((header, _, end)) => {
            let place = |error: Error| error.at("the header of the bag");
            Header::parse(header).and_then(|header| parse(header, end as u64)).map(Some).map_err(place)
        }
        None if input.size() < HEAD => Ok(None),
        None => Err(Error::corrupt(format!("the header of the bag: expected at most {HEAD} bytes"))),
    }
}

fn parse(header: Header<'_>, end: u64) -> Result<Head> {
    if header.op()? != op::BAG {
        return Err(Error::corrupt("expected the header of a bag, found another record"));
    }
    if let Some(name) = header.get("encryptor").filter(|name| !name.is_empty() && *name != b"rosbag/NoEncryptor") {
        let name = String::from_utf8_lossy(name).escape_debug().to_string();
        return Err(Error::unsupported(format!("the bag is encrypted by `{name}`; decrypt it first (`rosbag decrypt`)")));
    }
    let (connections, chunks) = (header.u32("conn_count")?, header.u32("chunk_count")?);
    Ok(Head { index: header.u64("index_pos")?, connections, chunks, end })
}

/// Reads the index with one request. Returns why it is not used, if it is not.
///
/// # Errors
/// - Errors of the file system or the store.
pub(super) fn read(input: &Input, head: &Head) -> Result<Result<Index, Unusable>> {
    let damaged = |why: String| Ok(Err(Unusable::Damaged(why)));
    let (start, size) = (head.index, input.size());
    if start == 0 || start > size {
        return Ok(Err(Unusable::Missing));
    }
    if start < head.end {
        return damaged(format!("it begins at byte {start}, inside the header of the bag"));
    }
    if size - start > MAX_INDEX {
        return damaged(format!("it has {} bytes, expected at most {MAX_INDEX}", size - start));
    }
    let section = input.read(start, size - start)?;
    let (mut connections, mut chunks, mut count) = (Connections::default(), Vec::new(), 0_u32);
    let parsed = records::each(&section, |_, header, data| {
        match header.op()? {
            op::CONNECTION => {
                count = count.saturating_add(1);
                connections.add(records::connection(header, &data)?)?;
            }
            op::CHUNK_INFO => chunks.push(records::chunk_info(header, &data)?),
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    });
    if let Err(error) = parsed {
        return damaged(error.to_string());
    }
    if (count as usize, chunks.len()) != (head.connections as usize, head.chunks as usize) {
        let found = format!("{count} connections and {} chunks", chunks.len());
        return damaged(format!("it has {found}, the header says {} and {}", head.connections, head.chunks));
    }
    chunks.sort_by_key(|chunk| chunk.start);
    let is_twice = chunks.windows(2).any(|pair| pair[0].start == pair[1].start);
    let is_outside = |chunk: &ChunkInfo| chunk.start < head.end || chunk.start.saturating_add(2 * LENGTH as u64) > start;
    if is_twice || chunks.iter().any(is_outside) {
        return damaged("two chunks begin at one place, or one outside of the data".to_owned());
    }
    // Messages before the first chunk are in no index.
    if chunks.first().map_or(start, |chunk| chunk.start) != head.end {
        return Ok(Err(Unusable::Missing));
    }
    let is_known = |(connection, _): &(u32, u32)| connections.numbers.contains_key(connection);
    if !chunks.iter().flat_map(|chunk| &chunk.counts).all(is_known) {
        return damaged("a chunk has messages of a connection that no record describes".to_owned());
    }
    Ok(Ok(Index { connections, chunks }))
}
