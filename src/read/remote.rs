//! Reads a plan from stores of which at least one is remote: all ranges are requested at once, and requests in flight are shared with
//! other reads.

use std::collections::BTreeMap;

use super::{
    columns::Columns,
    flights::Flights,
    plan::ReadPlan,
    reading::{Reading, fetch},
};
use crate::{
    error::{ErrorKind, Result},
    store::Store,
};

/// Fetches the ranges of a plan, then decodes and assembles its columns.
///
/// # Errors
/// As [`super::execute()`].
pub(super) async fn read(stores: &BTreeMap<u32, Store>, reading: Reading, flights: &Flights) -> Result<Columns> {
    let mut boarded = flights.board(stores, reading.plan.clone(), &reading.cache)?;
    let read = async {
        let fetched = boarded.arrive().await?;
        let mut plan = ReadPlan { groups: std::mem::take(&mut boarded.plan.groups) };
        if boarded.joins() {
            // Another read that waited for the same blocks may have decoded and cached them.
            for group in &mut plan.groups {
                group.look_again(&reading.cache, |_| true);
            }
        }
        Reading { plan, cache: reading.cache.clone() }.read(fetched).await
    };
    match read.await {
        // If a request of another read failed, or gave bytes that fail their checks, this read sends its own requests.
        Err(error) if boarded.joins() && (boarded.others_failed() || error.kind() == ErrorKind::Corrupt) => {
            drop(boarded);
            let fetched = fetch(stores, &reading.plan).await?;
            reading.read(fetched).await
        }
        read => read,
    }
}
