//! Executes a read plan: fetches its ranges, decodes every block once, and assembles the columns. Each kind of store has its own
//! way to do so.

use super::{block_cache::CachedBlocks, columns::Columns, flights::Flights, local, plan::ReadPlan, reading::Reading, remote};
use crate::{
    error::Result,
    store::{StoreKind, Stores},
    work::boxed,
};

/// Executes a read plan and returns each wanted column with its rows: one group after another, the pages of a group in order.
///
/// `stores` has the store of every owner that the plan names. Blocks of which only some rows were wanted are added to `cache`.
///
/// Decoding work of about a millisecond or less runs on the calling thread; longer work runs off the executor. Dropping the
/// future stops that work soon.
///
/// # Errors
/// - `Corrupt`: stored bytes fail their checks, or a chunk that the layout names does not exist.
/// - Any error of the stores.
pub async fn execute(stores: &Stores, plan: ReadPlan, cache: &CachedBlocks, flights: &Flights) -> Result<Columns> {
    let kind = plan.kind;
    let reading = Reading { plan, cache: cache.clone() };
    match kind {
        StoreKind::Local | StoreKind::Direct => local::read(stores, reading).await,
        // Boxed, so that a read of local files does not carry what a remote one needs.
        StoreKind::Remote => boxed(|| remote::read(stores, reading, flights)).await,
    }
}
