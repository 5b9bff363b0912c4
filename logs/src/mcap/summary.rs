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

/// Reads the summary with at most two requests. Returns why it cannot be trusted, if it cannot.
///
/// # Errors
/// - Errors of the file system or the store.
pub(super) fn read(input: &Input) -> Result<Result<Summary, String>> {
    let size = input.size();
    if size < MAGIC.len() as u64 + FOOTER {
        return Ok(Err(format!("the file has {size} bytes")));
    }
    let tail = input.read(size - TAIL.min(size), TAIL.min(size))?;
    let footer = tail.slice(tail.len() - FOOTER as usize..);
    if footer[FOOTER as usize - MAGIC.len()..] != MAGIC {
        return Ok(Err("the file does not end with the magic bytes of MCAP".to_owned()));
    }
    let Ok((op::FOOTER, 20)) = records::head(&footer) else { return Ok(Err("the file does not end with a footer".to_owned())) };
    let Ok((start, crc)) = records::footer(&footer[HEAD..]) else { return Ok(Err("the footer cannot be read".to_owned())) };
    let end = size - FOOTER;
    if start == 0 {
        return Ok(Err("the file has no summary".to_owned()));
    }
    if start < MAGIC.len() as u64 || start > end || end - start > MAX_SUMMARY {
        return Ok(Err(format!("the footer says that the summary begins at {start}, and the file has {size} bytes")));
    }
    let section = match start.checked_sub(size - tail.len() as u64) {
        Some(at) => tail.slice(usize::try_from(at).unwrap_or(usize::MAX)..),
        None => input.read(start, size - start)?,
    };
    Ok(parse(&section, crc).map_err(|error| error.to_string()))
}

/// Parses the summary section. `section` also has the footer and the magic.
fn parse(section: &Bytes, crc: u32) -> Result<Summary> {
    let untrusted = |why: String| Err(Error::corrupt(why));
    // The CRC covers the summary up to its own place in the footer.
    let covered = section.len() - MAGIC.len() - 4;
    let found = crc32fast::hash(&section[..covered]);
    if crc != 0 && found != crc {
        return untrusted(format!("the summary has the CRC {found:#010x}, the footer says {crc:#010x}"));
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
    })?;
    let Some(statistics) = statistics else { return untrusted("the summary has no statistics".to_owned()) };
    if statistics.chunks as usize != chunks.len() {
        let (stated, found) = (statistics.chunks, chunks.len());
        return untrusted(format!("the statistics say {stated} chunks, the index has {found}"));
    }
    if chunks.is_empty() && statistics.messages > 0 {
        return untrusted("messages lie outside of chunks, where no index has them".to_owned());
    }
    if statistics.by_channel.values().try_fold(0_u64, |sum, count| sum.checked_add(*count)) != Some(statistics.messages) {
        return untrusted("the messages of the channels are not all messages, as the statistics say".to_owned());
    }
    let known = |id: &u16| channels.get(id).is_some_and(|channel| has_schema(&schemas, channel));
    let indexed = chunks.iter().flat_map(|chunk| chunk.message_indexes.keys());
    if let Some(id) = statistics.by_channel.keys().chain(indexed).find(|id| !known(id)) {
        return untrusted(format!("the summary lacks channel {id} or its schema"));
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
