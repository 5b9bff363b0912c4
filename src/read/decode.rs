//! Stored blocks to Arrow arrays: every directory and every wanted page is verified before it is decoded.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::Array;
use arrow_data::ArrayData;
use bytes::Bytes;

use super::plan::{BlockBytes, BlockRead, GroupPlan, Stretch};
use crate::{
    codec::Chain,
    error::{Error, Result},
    format::{BlockDirectory, PagePlace, decode_page, page_range},
    schema::ColumnType,
};

/// The rows of a block of one column, decoded.
pub type Page = Arc<ArrayData>;

/// What is known of a group when its blocks are decoded.
#[derive(Debug)]
pub(super) struct GroupTypes {
    /// Every column of the group, in page order.
    pub(super) types: Vec<ColumnType>,
    /// The name of the group, for errors.
    pub(super) name: String,
}

/// The wanted pages of one block as arrays; `ranges` are the ranges that hold it, by number.
///
/// # Errors
/// `Corrupt`, naming the block, its chunk and range.
pub(super) fn decode_block(
    group: &GroupPlan,
    types: &GroupTypes,
    chains: &[Chain],
    block: &BlockRead,
    ranges: &BTreeMap<usize, Bytes>,
) -> Result<Vec<Page>> {
    let decoded = match &block.bytes {
        BlockBytes::Block(stretch) => bytes_of(stretch, ranges).and_then(|bytes| whole(group, types, chains, block, &bytes)),
        BlockBytes::Pages(pages) => group
            .pages
            .iter()
            .zip(pages)
            .map(|(page, stretch)| decode_one(types, chains, block, *page, bytes_of(stretch, ranges)?))
            .collect(),
        BlockBytes::Kept(pages) => Ok(pages.clone()),
    };
    decoded.map_err(|error| {
        let first = block.bytes.stretches().first();
        let place =
            first.and_then(|first| Some((group.ranges.get(first.range)?, first))).map_or(String::new(), |(range, first)| {
                let start = range.range.start + first.within.start as u64;
                format!(" of chunk {} at {start}..{}", range.chunk, start + first.within.len() as u64)
            });
        error.at(format!("column group `{}`: block {}{place}", types.name, block.ordinal))
    })
}

fn bytes_of(stretch: &Stretch, ranges: &BTreeMap<usize, Bytes>) -> Result<Bytes> {
    let range = ranges.get(&stretch.range).ok_or_else(|| Error::internal("a range that was not fetched"))?;
    let bytes = range.get(stretch.within.clone()).map(|bytes| range.slice_ref(bytes));
    bytes.ok_or_else(|| Error::internal("a block outside its range"))
}

fn whole(group: &GroupPlan, types: &GroupTypes, chains: &[Chain], block: &BlockRead, bytes: &Bytes) -> Result<Vec<Page>> {
    let directory = BlockDirectory::parse(bytes, block.seed, block.ordinal, types.types.len())?;
    if directory.rows != block.rows {
        return Err(Error::corrupt(format!("{} rows, the layout says {}", directory.rows, block.rows)));
    }
    let page = |page: &usize| decode_one(types, chains, block, *page, bytes.slice(page_range(&directory, *page)?));
    group.pages.iter().map(page).collect()
}

fn decode_one(types: &GroupTypes, chains: &[Chain], block: &BlockRead, page: usize, bytes: Bytes) -> Result<Page> {
    let (ty, chain) = types.types.get(page).zip(chains.get(page)).ok_or_else(|| Error::internal(format!("no column {page}")))?;
    let number = u16::try_from(page).map_err(|_| Error::internal("over 65,534 pages"))?;
    let place = PagePlace { seed: block.seed, ordinal: block.ordinal, page: number, rows: block.rows, ty, chain };
    Ok(Arc::new(decode_page(bytes, place)?.to_array(ty)?.to_data()))
}
