//! Compares views. Their rows may lie anywhere in their sources. Rows at one place of one content are equal: only of the rows that are not, the
//! hashes are read.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use futures::future::{try_join, try_join_all};

use super::{
    diff_hashes::Prints,
    diff_segments::{SegmentToCompare, whole},
};
use crate::{error::Result, format::Segment, id::Hash, offload::offload, table::table::Table};

/// The contents of column groups in segments: layout and hashes. Two segments with one content have equal rows at equal places.
pub(super) type Contents = BTreeSet<[Hash; 2]>;

/// For each column group, some rows of a table or view.
pub(super) type RowsOfGroups = BTreeMap<String, Vec<usize>>;

/// Returns the content of a column group in a segment.
pub(super) fn content(segment: &Segment, group: usize) -> Option<[Hash; 2]> {
    segment.groups.get(group).map(|group| [group.layout.blake3, group.hashes.blake3])
}

/// Returns the names of the column groups of a view in the order of its sources, with the number of the source and that of the group
/// there. A name that an earlier group has gets a prime.
fn names_of(tables: &[Table]) -> Vec<(String, (usize, usize))> {
    let (mut names, mut taken) = (Vec::new(), HashSet::new());
    for (source, table) in tables.iter().enumerate() {
        for (group, held) in table.manifest().schema.groups().iter().enumerate() {
            let mut name = held.name.clone();
            while !taken.insert(name.clone()) {
                name.push('\'');
            }
            names.push((name, (source, group)));
        }
    }
    names
}

impl Table {
    /// Returns the hashes of each column group by its name, and the bytes read. A view has the groups of its sources.
    pub(super) async fn prints(
        &self,
        chosen: &[SegmentToCompare],
        contents: Option<&Contents>,
    ) -> Result<(BTreeMap<String, Prints>, u64)> {
        if self.view().is_none() {
            let (groups, bytes) = self.own_prints(chosen, contents).await?;
            let names = self.manifest().schema.groups().iter().map(|group| group.name.clone());
            return Ok((names.zip(groups).collect(), bytes));
        }
        let (tables, rows) = try_join(self.sources(), self.view_rows()).await?;
        let found = tables.iter().map(|table| async move { table.own_prints(&whole(table), contents).await });
        let (mut sources, mut bytes) = (Vec::new(), 0);
        for (groups, read) in try_join_all(found).await? {
            sources.push(groups.into_iter());
            bytes += read;
        }
        let names = names_of(&tables);
        offload(move |_| {
            let mut groups = BTreeMap::new();
            for (name, (number, _)) in names {
                let prints = sources.get_mut(number).and_then(Iterator::next);
                if let (Some(prints), Some(at)) = (prints, rows.at.get(number)) {
                    let lists = rows.lists.get(number).and_then(Option::as_ref);
                    groups.insert(name, prints.at(at, lists.map(|lists| &**lists)));
                }
            }
            Ok((groups, bytes))
        })
        .await
    }

    /// Returns the contents with the given rows of column groups.
    pub(super) async fn contents(&self, rows: RowsOfGroups) -> Result<Contents> {
        let of_view = match self.is_view() {
            true => Some(try_join(self.sources(), self.view_rows()).await?),
            false => None,
        };
        let table = self.clone();
        offload(move |_| {
            let mut found = Contents::new();
            let Some((tables, places)) = of_view else {
                for (group, rows) in rows {
                    let number = table.manifest().schema.groups().iter().position(|held| held.name == group);
                    number
                        .into_iter()
                        .for_each(|number| found.extend(table.contents_at(number, rows.iter().map(|row| *row as u64))));
                }
                return Ok(found);
            };
            for (name, (source, group)) in names_of(&tables) {
                let (Some(rows), Some(at), Some(table)) = (rows.get(&name), places.at.get(source), tables.get(source)) else {
                    continue;
                };
                let lists = places.lists.get(source).and_then(Option::as_ref);
                let stored = rows.iter().filter_map(|row| u64::try_from(*at.get(*row)?).ok());
                let stored = stored.flat_map(|first| match lists {
                    Some(lists) => lists.rows(first).collect::<Vec<_>>(),
                    None => vec![first],
                });
                found.extend(table.contents_at(group, stored));
            }
            Ok(found)
        })
        .await
    }

    /// Returns the contents of a column group in the segments that have these rows.
    fn contents_at(&self, group: usize, rows: impl Iterator<Item = u64>) -> Contents {
        let segments = &self.manifest().segments;
        let of = |row: u64| segments.partition_point(|segment| segment.first_row + segment.rows <= row);
        let numbers: BTreeSet<usize> = rows.map(of).collect();
        numbers.into_iter().filter_map(|number| content(segments.get(number)?, group)).collect()
    }
}
