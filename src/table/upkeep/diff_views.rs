//! Compares views. Their rows may lie anywhere in their sources. Rows at one place of one content are equal: only of the rows that are not, the
//! hashes are read.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    ops::Range,
    sync::Arc,
};

use futures::future::{try_join, try_join_all};

use super::{
    diff_hashes::{Prints, of_view_row, rows_at},
    diff_rows::Origin,
    diff_segments::{SegmentToCompare, whole},
};
use crate::{
    error::{Error, Result},
    format::Segment,
    id::Hash,
    table::{
        reading::source::NO_ROW,
        version::{lists::Lists, seen::ViewRows, table::Table},
    },
    work::offload,
};

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
        for (group, column_group) in table.manifest().schema.groups().iter().enumerate() {
            let mut name = column_group.name.clone();
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
        let places = Places::of(self).await?;
        offload(move |_| Ok(places.contents(rows))).await
    }

    /// Returns the contents of a column group in the segments that have these rows.
    fn contents_at(&self, group: usize, rows: impl Iterator<Item = u64>) -> Contents {
        let segments = &self.manifest().segments;
        let of = |row: u64| segments.partition_point(|segment| segment.first_row + segment.rows <= row);
        let numbers: BTreeSet<usize> = rows.map(of).collect();
        numbers.into_iter().filter_map(|number| content(segments.get(number)?, group)).collect()
    }
}

/// Where the rows of a table are: those of a view are rows of its source tables.
#[derive(Clone)]
pub(super) struct Places {
    table: Table,
    view: Option<(Arc<[Table]>, Arc<ViewRows>)>,
}

/// A column group whose rows are compared, with its source table: the table itself, or one of a view.
pub(super) struct GroupAt {
    pub(super) name: String,
    pub(super) table: Table,
    pub(super) group: usize,
    /// Number of the source of the view.
    pub(super) source: usize,
    /// Source from which single rows can be read; `None` if a row stands for a list of rows.
    pub(super) origin: Option<Origin>,
}

impl Places {
    /// Finds the rows of a table. Of a view, this opens the source tables and reads the row numbers: 8 bytes for each row and source.
    ///
    /// # Errors
    /// - `Denied`, `NotFound`: a source table is not allowed, or cannot be found.
    /// - `Corrupt`: stored data is damaged.
    /// - Errors of the stores.
    pub(super) async fn of(table: &Table) -> Result<Self> {
        let view = match table.is_view() {
            true => Some(try_join(table.sources(), table.view_rows()).await?),
            false => None,
        };
        Ok(Self { table: table.clone(), view })
    }

    pub(super) fn table(&self) -> &Table {
        &self.table
    }

    /// Returns the column groups, as a comparison names them.
    pub(super) fn groups(&self) -> Vec<GroupAt> {
        let Some((tables, rows)) = &self.view else {
            let groups = self.table.manifest().schema.groups().iter().enumerate();
            let whole = |group| Some(Origin { table: self.table.clone(), group, at: None });
            return groups
                .map(|(group, column_group)| {
                    let (name, table, origin) = (column_group.name.clone(), self.table.clone(), whole(group));
                    GroupAt { name, table, group, source: 0, origin }
                })
                .collect();
        };
        let found = names_of(tables).into_iter().filter_map(|(name, (source, group))| {
            let (table, at) = (tables.get(source)?.clone(), rows.at.get(source)?);
            let is_list = rows.lists.get(source).is_some_and(Option::is_some);
            let origin = (!is_list).then(|| Origin { table: table.clone(), group, at: Some(Arc::clone(at)) });
            Some(GroupAt { name, table, group, source, origin })
        });
        found.collect()
    }

    /// Returns the contents with the given rows of column groups.
    pub(super) fn contents(&self, rows: RowsOfGroups) -> Contents {
        let mut found = Contents::new();
        for GroupAt { name, table, group, source, .. } in self.groups() {
            let Some(rows) = rows.get(&name) else { continue };
            let stored = rows.iter().flat_map(|row| match &self.view {
                Some((_, places)) => {
                    let at = places.at.get(source).and_then(|at| at.get(*row)).copied().unwrap_or(NO_ROW);
                    rows_at(at, lists_of(places, source))
                }
                None => vec![*row as u64],
            });
            found.extend(table.contents_at(group, stored));
        }
        found
    }
}

fn lists_of(places: &ViewRows, source: usize) -> Option<&Lists> {
    places.lists.get(source).and_then(Option::as_deref)
}

/// The hash of each row of a segment, and whether it has a block of its own.
type SegmentPrints = (Vec<u64>, Vec<bool>);

/// The hashes of the rows of a view, read from the segments of its sources that have the rows. Keeps those of the last segments in memory, up
/// to a limit, or those of one segment.
pub(super) struct PrintsOfView<'a> {
    places: &'a Places,
    contents: Option<&'a Contents>,
    /// By source, group and segment.
    cached: BTreeMap<[usize; 3], Arc<SegmentPrints>>,
    bytes: u64,
    limit: u64,
}

impl<'a> PrintsOfView<'a> {
    pub(super) fn new(places: &'a Places, contents: Option<&'a Contents>, limit: u64) -> Self {
        Self { places, contents, cached: BTreeMap::new(), bytes: 0, limit }
    }

    /// Returns the hashes of some rows of the view in a column group, whether each row has blocks of its own, and the bytes read.
    pub(super) async fn of_rows(&mut self, of: &GroupAt, rows: Range<u64>) -> Result<(Vec<u64>, Vec<bool>, u64)> {
        let Some((_, places)) = self.places.view.clone() else { return Err(Error::internal("the places of a view")) };
        let source = of.source;
        let range = usize::try_from(rows.start).unwrap_or(usize::MAX)..usize::try_from(rows.end).unwrap_or(usize::MAX);
        let (here, within) = (Arc::clone(&places), range.clone());
        let wanted = offload(move |_| {
            let at = here.at.get(source).and_then(|at| at.get(within)).unwrap_or_default();
            let mut wanted: Vec<u64> = at.iter().flat_map(|row| rows_at(*row, lists_of(&here, source))).collect();
            wanted.sort_unstable();
            wanted.dedup();
            Ok(wanted)
        })
        .await?;
        let (mut prints, mut bytes, mut rest) = (Vec::with_capacity(wanted.len()), 0, wanted.as_slice());
        while let Some(first) = rest.first() {
            let segments = &of.table.manifest().segments;
            let number = segments.partition_point(|segment| segment.first_row + segment.rows <= *first);
            let segment = of.table.segment(number)?;
            let (segment_prints, read) = self.segment(of, number).await?;
            let (of_rows, alone) = &*segment_prints;
            bytes += read;
            let count = rest.partition_point(|row| *row < segment.first_row + segment.rows);
            let (now, later) = rest.split_at(count);
            prints.extend(now.iter().map(|row| {
                let place = usize::try_from(row - segment.first_row).unwrap_or(usize::MAX);
                (of_rows.get(place).copied().unwrap_or_default(), alone.get(place) == Some(&true))
            }));
            rest = later;
        }
        offload(move |_| {
            let look =
                |row: u64| wanted.binary_search(&row).ok().and_then(|place| prints.get(place)).copied().unwrap_or_default();
            let at = places.at.get(source).and_then(|at| at.get(range)).unwrap_or_default();
            let (rows, alone) = at.iter().map(|row| of_view_row(*row, lists_of(&places, source), look)).unzip();
            Ok((rows, alone, bytes))
        })
        .await
    }

    /// Returns the hashes of a segment of a source, and the bytes read for them.
    async fn segment(&mut self, of: &GroupAt, segment: usize) -> Result<(Arc<SegmentPrints>, u64)> {
        let place = [of.source, of.group, segment];
        if let Some(cached) = self.cached.get(&place) {
            return Ok((Arc::clone(cached), 0));
        }
        let chosen = SegmentToCompare { segment, pair: None, groups: vec![of.group] };
        let (rows, alone, read) = of.table.segment_prints(&chosen, of.group, self.contents).await?;
        let bytes = 9 * rows.len() as u64;
        if self.bytes + bytes > self.limit {
            self.cached.clear();
            self.bytes = 0;
        }
        self.bytes += bytes;
        let cached = Arc::new((rows, alone));
        self.cached.insert(place, Arc::clone(&cached));
        Ok((cached, read))
    }
}
