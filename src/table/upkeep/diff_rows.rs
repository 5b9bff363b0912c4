//! Compares rows of two tables by their values. Logical block hashes do not tell which rows of a shared block differ; these rows
//! are read.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use arrow_array::ArrayRef;
use futures::future::try_join;

use crate::{
    error::{Error, Result},
    table::{
        reading::{RowLoader, source::NO_ROW},
        version::table::Table,
    },
};

/// Number of rows that are read at a time. The rows share blocks, so they are small.
const BATCH: usize = 1 << 12;

/// Source of the rows of a column group: a column group of a table.
#[derive(Clone)]
pub(in crate::table) struct Origin {
    pub(in crate::table) table: Table,
    pub(in crate::table) group: usize,
    /// For a view: the row of `table` for each row of the view.
    pub(in crate::table) at: Option<Arc<[i64]>>,
}

/// For each column group, the pairs of rows (before, now) that may be equal although their blocks differ, since other rows share
/// these blocks.
pub(in crate::table) type Doubts = BTreeMap<String, Vec<(usize, usize)>>;

/// The rows of one of the two tables that are compared.
struct Side<'a> {
    origin: &'a Origin,
    rows: Vec<usize>,
}

impl Side<'_> {
    /// Returns for each row the row of the source table; `None` where a view has no row of that table.
    fn stored(&self) -> Vec<Option<u64>> {
        let stored = |row: &usize| match &self.origin.at {
            Some(at) => at.get(*row).copied().filter(|row| *row != NO_ROW).and_then(|row| u64::try_from(row).ok()),
            None => u64::try_from(*row).ok(),
        };
        self.rows.iter().map(stored).collect()
    }

    /// Reads the columns of the group at rows of the table. Returns also the bytes read.
    async fn read(&self, rows: &[u64]) -> Result<(Vec<ArrayRef>, u64)> {
        let table = &self.origin.table;
        let group = table.schema().groups().get(self.origin.group);
        let group = group.ok_or_else(|| Error::internal(format!("no column group {}", self.origin.group)))?;
        let loader = RowLoader::of_group_columns(table, &group.columns);
        let bytes = loader.explain_take(rows).await?.bytes;
        let found = loader.take(rows).await?;
        let names = group.columns.iter().filter_map(|id| table.schema().column(*id)).map(|column| &column.name);
        Ok((names.map(|name| found.column(name).cloned()).collect::<Result<_>>()?, bytes))
    }
}

/// Returns for each column group the rows of `now` whose values equal those before, and the bytes of payload that were read.
pub(in crate::table) async fn settled(
    before: &BTreeMap<String, Origin>,
    now: &BTreeMap<String, Origin>,
    doubts: &Doubts,
) -> Result<(BTreeMap<String, BTreeSet<usize>>, u64)> {
    let (mut same, mut bytes) = (BTreeMap::new(), 0);
    for (group, pairs) in doubts {
        let (Some(before), Some(now)) = (before.get(group), now.get(group)) else { continue };
        let found: &mut BTreeSet<usize> = same.entry(group.clone()).or_default();
        for pairs in pairs.chunks(BATCH) {
            let old = Side { origin: before, rows: pairs.iter().map(|(row, _)| *row).collect() };
            let new = Side { origin: now, rows: pairs.iter().map(|(_, row)| *row).collect() };
            let there = old.stored().into_iter().zip(new.stored()).zip(pairs);
            let (mut olds, mut news, mut rows) = (Vec::new(), Vec::new(), Vec::new());
            for ((old, new), (_, row)) in there {
                // A row that only one of two views has counts as different.
                if let (Some(old), Some(new)) = (old, new) {
                    olds.push(old);
                    news.push(new);
                    rows.push(*row);
                }
            }
            if rows.is_empty() {
                continue;
            }
            let ((olds, read), (news, more)) = try_join(old.read(&olds), new.read(&news)).await?;
            bytes += read + more;
            let equal = |place: usize| olds.iter().zip(&news).all(|(old, new)| old.slice(place, 1) == new.slice(place, 1));
            found.extend(rows.iter().enumerate().filter(|(place, _)| equal(*place)).map(|(_, row)| *row));
        }
    }
    Ok((same, bytes))
}
