//! Reads a plan from local files. A small plan fetches all ranges first. For a larger one, the threads that decode also read the
//! files, piece by piece, and long plain pages are read directly into the result.

use std::cmp::Reverse;

use super::{
    block_cache::CachedBlocks,
    columns::Columns,
    files::{self, Files},
    group::{GroupRead, Ranges},
    pieces::Pieces,
    reading::{Reading, fetch},
    sizes::PARALLEL_ABOVE,
};
use crate::{
    error::{Error, Result},
    store::{StoreKind, Stores},
    work::{Stop, others_for, share},
};

/// Reads the ranges of a plan, decodes and assembles its columns.
///
/// # Errors
/// As [`super::execute()`].
pub(super) async fn read(stores: &Stores, reading: Reading) -> Result<Columns> {
    if reading.plan.in_pieces {
        let files = Files::new(stores);
        let read = move |reading: Reading, stop: &Stop| {
            files.start(&reading.plan.groups);
            let pieces = reading.plan.groups.into_iter().map(Pieces::of).collect::<Result<Vec<_>>>()?;
            read_pieces(pieces, &files, &reading.cache, stop)
        };
        return reading.work_on(read).await;
    }
    if reading.plan.kind == StoreKind::Local {
        files::prefetch(stores, &reading.plan.groups);
    }
    let fetched = fetch(stores, &reading.plan).await?;
    reading.read(fetched).await
}

fn read_pieces(groups: Vec<Pieces>, files: &Files, cache: &CachedBlocks, stop: &Stop) -> Result<Columns> {
    // The columns of each group, with their pages: first those that are read directly into the result, then the others.
    let mut columns: Vec<(Vec<usize>, Columns)> = Vec::with_capacity(groups.len());
    let mut reads = Vec::new();
    for Pieces { landing, rest } in groups {
        let landed = landing.as_ref().map_or_else(|| Ok(Columns::new()), |landing| landing.read(files, stop))?;
        let mut pages: Vec<usize> = landing.iter().flat_map(|landing| &landing.columns).map(|column| column.page).collect();
        if let Some(rest) = rest {
            pages.extend_from_slice(&rest.pages);
            reads.push((columns.len(), GroupRead::new(rest, Ranges::Files(files.clone()), cache, stop)));
        }
        columns.push((pages, landed));
    }
    let (few, many): (Vec<_>, Vec<_>) = reads.into_iter().partition(|(_, read)| read.stored() <= PARALLEL_ABOVE);
    let mut read = read_together(few)?;
    for (group, many) in many {
        read.push((group, many.read()?));
    }
    for (group, others) in read {
        columns.get_mut(group).ok_or_else(|| Error::internal(format!("no group {group}")))?.1.extend(others);
    }
    let in_order = |(pages, columns): (Vec<usize>, Columns)| {
        let mut paged: Vec<_> = pages.into_iter().zip(columns).collect();
        paged.sort_unstable_by_key(|(page, _)| *page);
        paged.into_iter().map(|(_, column)| column)
    };
    Ok(columns.into_iter().flat_map(in_order).collect())
}

/// Reads small groups from local files, the largest group first. The threads share the groups.
fn read_together(mut reads: Vec<(usize, GroupRead)>) -> Result<Vec<(usize, Columns)>> {
    reads.sort_by_key(|(_, read)| Reverse(read.stored()));
    let bytes = reads.iter().map(|(_, read)| read.stored()).sum();
    share(reads, others_for(bytes), |(group, read)| Ok((group, read.read_here()?)))
}
