//! Decodes and assembles the columns of a plan whose ranges are in memory.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures::future::try_join_all;

use super::{
    block_cache::CachedBlocks,
    columns::Columns,
    group::{GroupRead, Ranges, is_small, read_small},
    group_plan::RangeRead,
    page::{lost, not_local},
    plan::ReadPlan,
    sizes::{BYTES_AS_ONE, HERE, INLINE_RANGES, VALUE},
};
use crate::{
    error::{Error, Result},
    store::{RangeRequest, Store, StoreKind, Stores},
    work::{Stop, offload},
};

/// A plan, and the cache that its blocks are added to.
pub(super) struct Reading {
    pub(super) plan: ReadPlan,
    pub(super) cache: CachedBlocks,
}

impl Reading {
    /// Decodes and assembles the columns from the bytes of all ranges, in the order of the plan.
    pub(super) async fn read(self, fetched: Vec<Bytes>) -> Result<Columns> {
        self.work_on(move |reading, stop| reading.decode(fetched, stop)).await
    }

    /// Runs `work`: on the calling thread if it is little, else off the executor.
    #[tracing::instrument(level = "debug", name = "decode", skip_all, fields(groups = self.plan.groups.len()))]
    pub(super) async fn work_on(self, work: impl FnOnce(Self, &Stop) -> Result<Columns> + Send + 'static) -> Result<Columns> {
        match self.work()? <= HERE {
            true => work(self, &Stop::default()),
            false => offload(|stop: &Stop| work(self, stop)).await,
        }
    }

    /// Estimates the work of decoding and assembling, in stored bytes to decode.
    fn work(&self) -> Result<u64> {
        let mut work = 0_u64;
        for group in &self.plan.groups {
            let stored = group.stored();
            let bytes = match stored > HERE && group.is_plain()? {
                true => stored / BYTES_AS_ONE,
                false => stored.max(stored.saturating_mul(group.layout.expansion()) / BYTES_AS_ONE),
            };
            work = work.saturating_add(bytes).saturating_add(VALUE * group.rows as u64 * group.pages.len() as u64);
        }
        Ok(work)
    }

    fn decode(self, fetched: Vec<Bytes>, stop: &Stop) -> Result<Columns> {
        let mut groups = self.plan.groups;
        if let [only] = groups.as_mut_slice()
            && is_small(only)
        {
            return read_small(only, &fetched, &self.cache, stop);
        }
        let mut fetched = fetched.into_iter();
        let mut columns = Columns::new();
        for mut group in groups.into_iter().filter(|group| !group.pages.is_empty()) {
            let of_group: Vec<Bytes> = fetched.by_ref().take(group.ranges.len()).collect();
            columns.extend(match is_small(&group) {
                true => read_small(&mut group, &of_group, &self.cache, stop)?,
                false => GroupRead::new(group, Ranges::Fetched(of_group), &self.cache, stop).read()?,
            });
        }
        Ok(columns)
    }
}

/// Fetches the ranges of all groups and returns their bytes in the order of the plan.
pub(super) async fn fetch(stores: &Stores, plan: &ReadPlan) -> Result<Vec<Bytes>> {
    let all = plan.groups.iter().flat_map(|group| &group.ranges);
    if all.clone().nth(INLINE_RANGES).is_none() && plan.kind == StoreKind::Local {
        let url = stores.iter().next().map_or("", Store::url);
        let _span = tracing::debug_span!("fetch", url, ranges = all.clone().count()).entered();
        let read = |range: &RangeRead| stores.of(range.owner)?.read_now(&range.request()).unwrap_or_else(|| Err(not_local()));
        return all.map(|range| read(range).map_err(lost)).collect();
    }
    let mut requests: BTreeMap<u32, Vec<RangeRequest>> = BTreeMap::new();
    for range in all.clone() {
        requests.entry(range.owner).or_default().push(range.request());
    }
    let reads = requests.iter().map(|(owner, requests)| async move {
        Ok::<_, Error>((*owner, stores.of(*owner)?.read(requests).await.map_err(lost)?.into_iter()))
    });
    let mut fetched: BTreeMap<u32, std::vec::IntoIter<Bytes>> = try_join_all(reads).await?.into_iter().collect();
    let mut next = |range: &RangeRead| fetched.get_mut(&range.owner).and_then(Iterator::next);
    all.map(|range| next(range).ok_or_else(|| Error::internal("the store returned too few ranges"))).collect()
}
