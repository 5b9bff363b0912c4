//! Reads a plan from local files. A small plan fetches all ranges first. For a larger one, the threads that decode also read the
//! files, piece by piece, and long plain pages are read directly into the result.

use std::{cmp::Reverse, collections::BTreeMap};

use super::{
    columns::Columns,
    files::{self, Files},
    group::{GroupRead, Ranges},
    land::Landing,
    plan::{GroupPlan, ReadPlan},
    reading::{Reading, fetch},
    sizes::{PARALLEL_ABOVE, PIECE},
};
use crate::{
    error::{Error, Result},
    offload::Stop,
    store::Store,
    threads::{others_for, share},
};

/// Reads the ranges of a plan, decodes and assembles its columns.
///
/// # Errors
/// As [`super::execute()`].
pub(super) async fn read(stores: &BTreeMap<u32, Store>, reading: Reading) -> Result<Columns> {
    if is_piecewise(&reading.plan) {
        let files = Files::new(stores);
        return reading.work_on(move |reading, stop| read_piecewise(reading, &files, stop)).await;
    }
    files::prefetch(stores, &reading.plan);
    let fetched = fetch(stores, &reading.plan).await?;
    reading.read(fetched).await
}

/// Whether the threads that decode a local read also read its files, piece by piece. A small read fetches all ranges first.
fn is_piecewise(plan: &ReadPlan) -> bool {
    let ranges = plan.groups.iter().flat_map(|group| &group.ranges);
    ranges.map(|range| range.range.end - range.range.start).sum::<u64>() > PIECE
}

/// Splits the groups of a plan for reads piece by piece: the columns that are read directly into the result, and the rest of the
/// group in short ranges, each of which is read once.
fn local_parts(plan: ReadPlan) -> Result<Vec<(Option<Landing>, GroupPlan)>> {
    let parts = plan.groups.into_iter().map(|mut group| {
        let landing = Landing::take_from(&mut group)?;
        Ok((landing, if group.pages.is_empty() { group } else { group.in_short_ranges(PIECE) }))
    });
    parts.collect()
}

/// Returns the number of file reads that [`super::execute()`] makes for this plan if all of its stores are local.
///
/// # Errors
/// - `Internal`: the plan names a block that its layout does not have.
pub fn file_reads(plan: ReadPlan) -> Result<usize> {
    if !is_piecewise(&plan) {
        return Ok(plan.groups.iter().map(|group| group.ranges.len()).sum());
    }
    let reads = local_parts(plan)?.into_iter().map(|(landing, rest)| {
        landing.map_or(0, |landing| landing.file_reads()) + if rest.pages.is_empty() { 0 } else { rest.ranges.len() }
    });
    Ok(reads.sum())
}

fn read_piecewise(reading: Reading, files: &Files, stop: &Stop) -> Result<Columns> {
    let Reading { plan, cache } = reading;
    files.start(&plan);
    // The columns of each group: first those that are read directly into the result, then the others.
    let mut columns: Vec<Columns> = Vec::with_capacity(plan.groups.len());
    let mut reads = Vec::new();
    for (landing, rest) in local_parts(plan)? {
        let landed = landing.map_or_else(|| Ok(Columns::new()), |landing| landing.read(files, stop))?;
        if !rest.pages.is_empty() {
            reads.push((columns.len(), GroupRead::new(rest, Ranges::Files(files.clone()), &cache, stop)));
        }
        columns.push(landed);
    }
    let (few, many): (Vec<_>, Vec<_>) = reads.into_iter().partition(|(_, read)| read.stored() <= PARALLEL_ABOVE);
    let mut read = read_together(few)?;
    for (group, many) in many {
        read.push((group, many.read()?));
    }
    for (group, others) in read {
        columns.get_mut(group).ok_or_else(|| Error::internal(format!("no group {group}")))?.extend(others);
    }
    Ok(columns.into_iter().flatten().collect())
}

/// Reads small groups from local files, the largest group first. The threads share the groups.
fn read_together(mut reads: Vec<(usize, GroupRead)>) -> Result<Vec<(usize, Columns)>> {
    reads.sort_by_key(|(_, read)| Reverse(read.stored()));
    let bytes = reads.iter().map(|(_, read)| read.stored()).sum();
    share(reads, others_for(bytes), |(group, read)| Ok((group, read.read_here()?)))
}
