//! A plan with everything that is needed to decode and assemble its columns; and the whole of this work, if the ranges of the plan
//! are in memory.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::ArrayRef;
use bytes::Bytes;
use futures::future::try_join_all;

use super::{
    block_cache::CachedBlocks,
    group::{Described, GroupRead, Ranges, is_plain},
    layout::Layout,
    page::{lost, store_of},
    plan::{RangeRead, ReadPlan},
    sizes::{BYTES_AS_ONE, HERE, VALUE},
};
use crate::{
    error::{Error, Result},
    offload::{Stop, offload},
    schema::{ColumnId, Schema},
    store::{RangeRequest, Store},
};

/// The columns of a result.
pub(super) type Columns = Vec<(ColumnId, ArrayRef)>;

/// A plan with everything that is needed to decode and assemble its columns.
pub(super) struct Reading {
    pub(super) groups: Vec<Described>,
    pub(super) layouts: Vec<Arc<Layout>>,
    pub(super) plan: ReadPlan,
    pub(super) cache: CachedBlocks,
}

impl Reading {
    pub(super) fn new(schema: &Schema, layouts: &[Arc<Layout>], plan: ReadPlan, cache: &CachedBlocks) -> Result<Self> {
        let groups = plan.groups.iter().map(|group| Described::new(schema, group)).collect::<Result<_>>()?;
        Ok(Self { groups, layouts: layouts.to_vec(), plan, cache: cache.clone() })
    }

    /// Decodes and assembles the columns from the bytes of all ranges, in the order of the plan.
    pub(super) async fn read(self, fetched: Vec<Bytes>) -> Result<Columns> {
        self.work_on(move |reading, stop| reading.decode(fetched, stop)).await
    }

    /// Runs `work`: on the calling thread if it is little, else off the executor.
    #[tracing::instrument(level = "debug", name = "decode", skip_all, fields(groups = self.groups.len()))]
    pub(super) async fn work_on(self, work: impl FnOnce(Self, &Stop) -> Result<Columns> + Send + 'static) -> Result<Columns> {
        match self.work()? <= HERE {
            true => work(self, &Stop::default()),
            false => offload(|stop: &Stop| work(self, stop)).await,
        }
    }

    /// Estimates the work of decoding and assembling, in stored bytes to decode.
    fn work(&self) -> Result<u64> {
        let mut work = 0_u64;
        for (group, layout) in self.plan.groups.iter().zip(&self.layouts) {
            let stored = group.stored();
            let bytes = match stored > HERE && is_plain(group, layout)? {
                true => stored / BYTES_AS_ONE,
                false => stored.max(stored.saturating_mul(layout.expansion()) / BYTES_AS_ONE),
            };
            work = work.saturating_add(bytes).saturating_add(VALUE * group.rows.len() as u64 * group.pages.len() as u64);
        }
        Ok(work)
    }

    fn decode(self, fetched: Vec<Bytes>, stop: &Stop) -> Result<Columns> {
        let mut fetched = fetched.into_iter();
        let mut columns = Columns::new();
        for ((group, described), layout) in self.plan.groups.into_iter().zip(&self.groups).zip(&self.layouts) {
            if group.pages.is_empty() {
                continue;
            }
            let ranges = Ranges::Fetched(fetched.by_ref().take(group.ranges.len()).collect());
            let read = GroupRead::new(group, described, layout, ranges, &self.cache, stop);
            columns.extend(described.ids.iter().copied().zip(read.read()?));
        }
        Ok(columns)
    }
}

/// Fetches the ranges of all groups and returns their bytes in the order of the plan.
pub(super) async fn fetch(stores: &BTreeMap<u32, Store>, plan: &ReadPlan) -> Result<Vec<Bytes>> {
    let mut requests: BTreeMap<u32, Vec<RangeRequest>> = BTreeMap::new();
    for range in plan.groups.iter().flat_map(|group| &group.ranges) {
        requests.entry(range.owner).or_default().push(range.request());
    }
    let reads = requests.iter().map(|(owner, requests)| async move {
        Ok::<_, Error>((*owner, store_of(stores, *owner)?.read(requests).await.map_err(lost)?.into_iter()))
    });
    let mut fetched: BTreeMap<u32, std::vec::IntoIter<Bytes>> = try_join_all(reads).await?.into_iter().collect();
    let mut next = |range: &RangeRead| fetched.get_mut(&range.owner).and_then(Iterator::next);
    let ranges = plan.groups.iter().flat_map(|group| &group.ranges);
    ranges.map(|range| next(range).ok_or_else(|| Error::internal("the store returned too few ranges"))).collect()
}
