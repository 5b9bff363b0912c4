//! Stored blocks to Arrow arrays: every directory and every wanted page is verified before it is decoded.

use arrow_array::ArrayRef;
use bytes::Bytes;

use super::plan::{BlockRead, GroupPlan};
use crate::{
    codec::Chain,
    error::{Error, Result},
    format::{BlockDirectory, PagePlace, decode_page, page_range},
    schema::ColumnType,
};

/// What is known of a group when its blocks are decoded.
#[derive(Debug)]
pub(super) struct GroupTypes {
    /// Every column of the group, in page order.
    pub(super) types: Vec<ColumnType>,
    /// The name of the group, for errors.
    pub(super) name: String,
}

/// The wanted pages of one block as arrays.
///
/// # Errors
/// `Corrupt`, naming the block, its chunk and range.
pub(super) fn decode_block(
    group: &GroupPlan,
    types: &GroupTypes,
    chains: &[Chain],
    block: &BlockRead,
    range: &Bytes,
) -> Result<Vec<ArrayRef>> {
    let bytes = range.get(block.within.clone()).map(|bytes| range.slice_ref(bytes));
    let bytes = bytes.ok_or_else(|| Error::internal("a block outside its range"))?;
    decode(group, types, chains, block, &bytes).map_err(|error| {
        let place = group.ranges.get(block.range).map_or(String::new(), |range| {
            let start = range.range.start + block.within.start as u64;
            format!(" of chunk {} at {start}..{}", range.chunk, start + block.within.len() as u64)
        });
        error.at(format!("column group `{}`: block {}{place}", types.name, block.ordinal))
    })
}

fn decode(group: &GroupPlan, types: &GroupTypes, chains: &[Chain], block: &BlockRead, bytes: &Bytes) -> Result<Vec<ArrayRef>> {
    let directory = BlockDirectory::parse(bytes, block.seed, block.ordinal, types.types.len())?;
    if directory.rows != block.rows {
        return Err(Error::corrupt(format!("{} rows, the layout says {}", directory.rows, block.rows)));
    }
    let page = |page: &usize| {
        let (ty, chain) =
            types.types.get(*page).zip(chains.get(*page)).ok_or_else(|| Error::internal(format!("no column {page}")))?;
        let number = u16::try_from(*page).map_err(|_| Error::internal("over 65,534 pages"))?;
        let place = PagePlace { seed: block.seed, ordinal: block.ordinal, page: number, rows: block.rows, ty, chain };
        decode_page(bytes.slice(page_range(&directory, *page)?), place)?.to_array(ty)
    };
    group.pages.iter().map(page).collect()
}
