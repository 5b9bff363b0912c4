//! Reads a plan from stores of which at least one is remote: all ranges are requested at once, and requests in flight are shared with
//! other reads.

use super::{
    columns::Columns,
    flights::Flights,
    plan::ReadPlan,
    reading::{Reading, fetch},
};
use crate::{
    error::{ErrorKind, Result},
    store::Stores,
};

/// Fetches the ranges of a plan, then decodes and assembles its columns.
///
/// # Errors
/// As [`super::execute()`].
pub(super) async fn read(stores: &Stores, reading: Reading, flights: &Flights) -> Result<Columns> {
    let mut joined = flights.join(stores, reading.plan.clone(), &reading.cache)?;
    let read = async {
        let fetched = joined.wait().await?;
        if joined.joins() {
            joined.take_cached(&reading.cache);
        }
        let plan = ReadPlan { groups: std::mem::take(&mut joined.plan.groups), ..ReadPlan::default() };
        Reading { plan, cache: reading.cache.clone() }.read(fetched).await
    };
    match read.await {
        // If a request of another read failed, or gave bytes that fail their checks, this read sends its own requests.
        Err(error) if joined.joins() && (joined.others_failed() || error.kind() == ErrorKind::Corrupt) => {
            drop(joined);
            let fetched = fetch(stores, &reading.plan).await?;
            reading.read(fetched).await
        }
        read => read,
    }
}
