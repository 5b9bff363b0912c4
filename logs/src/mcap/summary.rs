//! The summary at the end of a file: its channels, its statistics and the index of its chunks, if all of them are there.

use std::{collections::BTreeMap, ops::ControlFlow};

use bytes::Bytes;
use tetrys::{Error, Result};

use super::records::{self, Channel, ChunkIndex, HEAD, MAGIC, Schema, Statistics, op};
use crate::input::Input;

/// Bytes at the end of a file that are read first. Most summaries fit.
const TAIL: u64 = 256 << 10;
/// Bytes of a footer record and the magic behind it.
const FOOTER: u64 = HEAD as u64 + 20 + MAGIC.len() as u64;
/// Maximum bytes of a summary.
const MAX_SUMMARY: u64 = 1 << 30;

/// A complete summary.
#[derive(Debug)]
pub(super) struct Summary {
    pub(super) schemas: BTreeMap<u16, Schema>,
    pub(super) channels: BTreeMap<u16, Channel>,
    pub(super) statistics: Statistics,
    pub(super) chunks: Vec<ChunkIndex>,
}

/// Why a summary is not used.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unusable {
    /// The file has none, or its writer left out what the reader needs. Both are allowed.
    Incomplete,
    /// The end of the file is cut or damaged, or says what is not so.
    Damaged(String),
}

/// Reads the summary with at most two requests. Returns why it is not used, if it is not.
///
/// # Errors
/// - Errors of the file system or the store.
pub(super) fn read(input: &Input) -> Result<Result<Summary, Unusable>> {
    let damaged = |why: String| Ok(Err(Unusable::Damaged(why)));
    let size = input.size();
    if size < MAGIC.len() as u64 + FOOTER {
        return damaged(format!("the file has {size} bytes: no footer"));
    }
    let tail = input.read(size - TAIL.min(size), TAIL.min(size))?;
    let footer = tail.slice(tail.len() - FOOTER as usize..);
    if footer[FOOTER as usize - MAGIC.len()..] != MAGIC {
        return damaged("the file does not end with the magic bytes of MCAP".to_owned());
    }
    let Ok((op::FOOTER, 20)) = records::head(&footer) else {
        return damaged(format!("expected a footer at byte {}, found another record", size - FOOTER));
    };
    let Ok((start, crc)) = records::footer(&footer[HEAD..]) else {
        return damaged(format!("the footer at byte {} cannot be read", size - FOOTER));
    };
    let end = size - FOOTER;
    if start == 0 {
        return Ok(Err(Unusable::Incomplete));
    }
    if start < MAGIC.len() as u64 || start > end {
        return damaged(format!("the footer says that the summary begins at byte {start}, and the file has {size} bytes"));
    }
    if end - start > MAX_SUMMARY {
        return Ok(Err(Unusable::Incomplete));
    }
    let section = match start.checked_sub(size - tail.len() as u64) {
        Some(at) => tail.slice(usize::try_from(at).unwrap_or(usize::MAX)..),
        None => input.read(start, size - start)?,
    };
    Ok(parse(&section, crc))
}

/// Parses the summary section. `section` also has the footer and the magic.
fn parse(section: &Bytes, crc: u32) -> Result<Summary, Unusable> {
    let damaged = |why: String| Err(Unusable::Damaged(why));
    // The CRC covers the summary up to its own place in the footer.
    let covered = section.len() - MAGIC.len() - 4;
    let found = crc32fast::hash(&section[..covered]);
    if crc != 0 && found != crc {
        return damaged(format!("the summary has the CRC {found:#010x}, the footer says {crc:#010x}"));
    }
    let (mut schemas, mut channels, mut statistics, mut chunks) = (BTreeMap::new(), BTreeMap::new(), None, Vec::new());
    let footer = section.len() - FOOTER as usize;
    each(&section.slice(..footer), |_, opcode, body| {
        match opcode {
            op::SCHEMA => drop(records::schema(body).map(|schema| schemas.insert(schema.id, schema))?),
            op::CHANNEL => drop(records::channel(body).map(|channel| channels.insert(channel.id, channel))?),
            op::STATISTICS => statistics = Some(records::statistics(body)?),
            op::CHUNK_INDEX => chunks.push(records::chunk_index(body)?),
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    })
    .map_err(|error| Unusable::Damaged(format!("the summary: {error}")))?;
    let Some(statistics) = statistics else { return Err(Unusable::Incomplete) };
    let by_channel = statistics.by_channel.values().try_fold(0_u64, |sum, count| sum.checked_add(*count));
    if !statistics.by_channel.is_empty() && by_channel != Some(statistics.messages) {
        let sum = by_channel.map_or("over 2^64".to_owned(), |sum| sum.to_string());
        return damaged(format!("the statistics say {} messages, and {sum} of all channels", statistics.messages));
    }
    if statistics.chunks as usize != chunks.len() && !chunks.is_empty() {
        let (stated, found) = (statistics.chunks, chunks.len());
        return damaged(format!("the statistics say {stated} chunks, the index has {found}"));
    }
    // Messages outside of chunks are in no index. An index need not be there, and neither need the channels.
    if statistics.chunks as usize != chunks.len()
        || (chunks.is_empty() && statistics.messages > 0)
        || by_channel != Some(statistics.messages)
    {
        return Err(Unusable::Incomplete);
    }
    let known = |id: &u16| channels.get(id).is_some_and(|channel| has_schema(&schemas, channel));
    let indexed = chunks.iter().flat_map(|chunk| chunk.message_indexes.keys());
    if !statistics.by_channel.keys().chain(indexed).all(known) {
        return Err(Unusable::Incomplete);
    }
    chunks.sort_by_key(|chunk| chunk.start);
    Ok(Summary { schemas, channels, statistics, chunks })
}

pub(super) fn has_schema(schemas: &BTreeMap<u16, Schema>, channel: &Channel) -> bool {
    channel.schema_id == 0 || schemas.contains_key(&channel.schema_id)
}

/// Calls `visit` with the place, the opcode and the body of each record, until it breaks.
///
/// # Errors
/// - `Corrupt`: the bytes end inside a record.
pub(super) fn each(section: &Bytes, mut visit: impl FnMut(usize, u8, &Bytes) -> Result<ControlFlow<()>>) -> Result<()> {
    let mut at = 0;
    while at < section.len() {
        let short = || Error::corrupt(format!("the bytes end inside the record at {at} of {}", section.len()));
        let (opcode, len) = records::head(section.get(at..at + HEAD).ok_or_else(short)?)?;
        let end = usize::try_from(len).ok().and_then(|len| (at + HEAD).checked_add(len));
        let end = end.filter(|end| *end <= section.len()).ok_or_else(short)?;
        let body = section.slice(at + HEAD..end);
        if visit(at, opcode, &body).map_err(|error| error.at(format!("record at {at}")))?.is_break() {
            return Ok(());
        }
        at = end;
    }
    Ok(())
}
