//! Decodes stored blocks to pages. Every directory and every wanted page is verified before it is used.

use std::ops::Range;

use bytes::Bytes;

use super::{
    columns::GroupColumns,
    group_plan::{BlockBytes, BlockRead, GroupPlan, SubRange},
    page::Page,
};
use crate::{
    codec::Chain,
    error::{Error, Result, counted},
    format::{BlockDirectory, decode_page, page_range},
    id::ChunkId,
};

/// Decodes the wanted pages of one block, and appends them to `pages`. `fetched` returns the bytes of a range of the plan.
///
/// # Errors
/// - `Corrupt`: stored bytes fail their checks; the message names the block, its chunk and its byte range.
/// - `Internal`: a range of the block was not fetched.
pub(super) fn decode_block<'a>(
    group: &GroupPlan,
    block: &BlockRead,
    fetched: impl Fn(usize) -> Option<&'a Bytes>,
    pages: &mut Vec<Page>,
) -> Result<()> {
    let (columns, chains) = (&group.columns, &group.layout.run(block.place)?.chains);
    let decoded = match &block.bytes {
        BlockBytes::Block(sub_range) => {
            bytes_of(sub_range, &fetched).and_then(|bytes| whole(group, chains, block, &bytes, pages))
        }
        BlockBytes::Pages(places) => group.pages.iter().zip(places).try_for_each(|(page, sub_range)| {
            pages.push(decode_one(columns, chains, block, *page, bytes_of(sub_range, &fetched)?)?);
            Ok(())
        }),
        BlockBytes::Cached => Err(Error::internal("a cached block must not be decoded again")),
    };
    decoded.map_err(|error| {
        let first = block.bytes.sub_ranges().first();
        let place = first.and_then(|first| {
            let range = group.ranges.get(first.range)?;
            let start = range.range.start + first.within.start as u64;
            Some((range.chunk, start..start + first.within.len() as u64))
        });
        at_block(columns, block, place, error)
    })
}

/// Adds the column group, the block, its chunk and its byte range to an error.
pub(super) fn at_block(columns: &GroupColumns, block: &BlockRead, place: Option<(ChunkId, Range<u64>)>, error: Error) -> Error {
    let place = place.map_or(String::new(), |(chunk, range)| format!(" of chunk {chunk} at {}..{}", range.start, range.end));
    error.at(format!("column group `{}`: block {}{place}", columns.name, block.ordinal))
}

fn bytes_of<'a>(sub_range: &SubRange, fetched: &impl Fn(usize) -> Option<&'a Bytes>) -> Result<Bytes> {
    let range = fetched(sub_range.range).ok_or_else(|| Error::internal("a range was not fetched"))?;
    let bytes = range.get(sub_range.within.clone()).map(|bytes| range.slice_ref(bytes));
    bytes.ok_or_else(|| Error::internal("a block lies outside its range"))
}

fn whole(group: &GroupPlan, chains: &[Chain], block: &BlockRead, bytes: &Bytes, pages: &mut Vec<Page>) -> Result<()> {
    let columns = &group.columns;
    let directory = BlockDirectory::parse(bytes, block.seed, block.ordinal, columns.len())?;
    if directory.rows != block.rows {
        return Err(Error::corrupt(format!("{}, the layout says {}", counted(directory.rows, "row"), block.rows)));
    }
    for page in group.pages.iter() {
        pages.push(decode_one(columns, chains, block, *page, bytes.slice(page_range(&directory, *page)?))?);
    }
    Ok(())
}

fn decode_one(columns: &GroupColumns, chains: &[Chain], block: &BlockRead, page: usize, bytes: Bytes) -> Result<Page> {
    let place = block.place(columns, page, chains.get(page))?;
    Page::new(decode_page(bytes, place)?, &place, columns.width(page))
}
