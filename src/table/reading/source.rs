//! The tables that a loader reads from, and which of their rows belong together.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use arrow_array::ArrayRef;
use futures::future::{join_all, try_join_all};

use crate::{
    error::{Error, ErrorKind, Result},
    format::{PageLengths, Segment},
    offload::{Stop, offload},
    read::{Coalesce, Explain, GroupCost, GroupRequest, Kept, Layout, ReadPlan, cover, execute, plan},
    schema::{ColumnId, ColumnType},
    store::Store,
    table::{lists::Lists, table::Table},
};

/// Rows times column groups that are planned on the calling thread at most: about a millisecond of work.
const FEW: usize = 8 << 10;

/// A row of a table; −1 stands for none.
pub(in crate::table) const NO_ROW: i64 = -1;

/// One table of a loader.
#[derive(Clone, Debug)]
pub(in crate::table) struct Source {
    pub(in crate::table) table: Table,
    /// The number of the source whose rows windows follow: its own, or that of the table it was merged into.
    pub(in crate::table) base: usize,
    /// Its row for each row of the base; `None` for a base itself.
    pub(in crate::table) partners: Option<Arc<[i64]>>,
    /// Its row at each position; `None`: position p is row p.
    pub(in crate::table) at: Option<Arc<[i64]>>,
    /// Its rows that are lists together: a row stands for all of its list then.
    pub(in crate::table) lists: Option<Arc<Lists>>,
    /// The group columns, under the names by which they are read.
    pub(in crate::table) columns: Arc<[(String, ColumnId)]>,
    /// The index columns, likewise.
    pub(in crate::table) index: Arc<[(String, ColumnId)]>,
}

/// Rows that a read gives: for each source its row at each place.
#[derive(Clone, Debug)]
pub(in crate::table) struct Slots {
    pub(in crate::table) of: Vec<Vec<Option<u64>>>,
}

impl Slots {
    /// How many rows come out, missing ones included.
    pub(in crate::table) fn len(&self) -> usize {
        self.of.first().map_or(0, Vec::len)
    }

    /// Other slots behind these.
    pub(in crate::table) fn extend(&mut self, more: Self) {
        self.of.iter_mut().zip(more.of).for_each(|(rows, more)| rows.extend(more));
    }
}

/// What one part of a read wants of a source: columns at rows.
#[derive(Clone, Debug)]
pub(in crate::table) struct SourcePart<'a> {
    pub(in crate::table) columns: Vec<ColumnId>,
    pub(in crate::table) rows: Cow<'a, [Option<u64>]>,
}

impl SourcePart<'_> {
    fn into_owned(self) -> SourcePart<'static> {
        SourcePart { columns: self.columns, rows: Cow::Owned(self.rows.into_owned()) }
    }
}

/// A column group that is read, and its wanted pages.
#[derive(Clone, Debug)]
pub(in crate::table) struct GroupPages {
    group: usize,
    pages: Vec<usize>,
}

impl GroupPages {
    /// The number of the group.
    pub(in crate::table) fn group(&self) -> usize {
        self.group
    }
}

/// The plan of a source: groups, and which part each stretch of a group's rows is for.
pub(in crate::table) struct SourcePlan {
    pub(in crate::table) plan: ReadPlan,
    layouts: Vec<Arc<Layout>>,
    kept: Kept,
    /// For each group: part, first row, rows.
    spans: Vec<Vec<(usize, usize, usize)>>,
}

impl Source {
    /// A table alone: position p is row p, or `at[p]`.
    pub(in crate::table) fn of_table(table: &Table, at: Option<Arc<[i64]>>) -> Self {
        let schema = table.schema();
        let mut seen = BTreeSet::new();
        let ids = schema.groups().iter().flat_map(|group| &group.columns).filter(|id| seen.insert(**id));
        let columns = ids.filter_map(|id| schema.column(*id)).map(|column| (column.name.clone(), column.id)).collect();
        let index = schema.index().map(|column| (column.name.clone(), column.id)).collect();
        Self { table: table.clone(), base: 0, partners: None, at, lists: None, columns, index }
    }

    /// The type of the values read of a column.
    pub(in crate::table) fn type_of(&self, id: ColumnId) -> Option<ColumnType> {
        let ty = self.table.schema().column(id)?.ty.clone();
        Some(if self.lists.is_some() { ColumnType::list(ty) } else { ty })
    }

    /// The row at a position.
    pub(in crate::table) fn row_at(&self, position: u64) -> Option<u64> {
        match &self.at {
            Some(rows) => usize::try_from(position).ok().and_then(|position| rows.get(position)).and_then(|row| row_of(*row)),
            None => (position < self.table.rows()).then_some(position),
        }
    }

    /// The row that belongs to a row of the base.
    pub(in crate::table) fn partner(&self, row: u64) -> Option<u64> {
        match &self.partners {
            Some(partners) => usize::try_from(row).ok().and_then(|row| partners.get(row)).and_then(|row| row_of(*row)),
            None => Some(row),
        }
    }

    /// The cheapest groups that hold these columns, and the pages of them in each.
    pub(in crate::table) fn choose_groups(&self, columns: &[ColumnId], coalesce: Option<Coalesce>) -> Result<Vec<GroupPages>> {
        let schema = self.table.schema();
        // Sets: a table may have 100,000 columns. Masked columns are sorted.
        let mut wanted: BTreeSet<ColumnId> = columns.iter().copied().collect();
        let costs: Vec<GroupCost> = schema
            .groups()
            .iter()
            .enumerate()
            .map(|(number, group)| {
                let segments = self.table.manifest().segments.iter();
                let stored: u64 = segments.map(|segment| self.read_bytes(segment, number, &wanted)).sum();
                // A request weighs as much as the gap that would be read to avoid it.
                let request = self.coalesce_or(coalesce).max_gap.max(1);
                let valid = group.columns.iter().filter(|id| group.masked.binary_search(id).is_err()).copied();
                GroupCost { columns: valid.collect(), cost: (stored / self.table.rows().max(1)).saturating_add(request) }
            })
            .collect();
        let distinct: Vec<ColumnId> = wanted.iter().copied().collect();
        let groups = cover(&distinct, &costs)?.into_iter().map(|number| {
            let group = &schema.groups()[number];
            let members = group.columns.iter().enumerate();
            let taken = members.filter(|(_, id)| group.masked.binary_search(id).is_err() && wanted.remove(*id));
            GroupPages { group: number, pages: taken.map(|(page, _)| page).collect() }
        });
        Ok(groups.collect())
    }

    fn coalesce_or(&self, coalesce: Option<Coalesce>) -> Coalesce {
        coalesce.unwrap_or(if self.table.store().is_local() { Coalesce::LOCAL } else { Coalesce::REMOTE })
    }

    /// Plans all parts together, over groups that hold their columns: each block is read and decoded once. Many rows are planned off
    /// the executor.
    pub(in crate::table) async fn plan(
        &self,
        parts: Vec<SourcePart<'_>>,
        groups: &[GroupPages],
        coalesce: Option<Coalesce>,
        kept: Kept,
    ) -> Result<SourcePlan> {
        let layouts = try_join_all(groups.iter().map(|group| self.table.layout(group.group))).await?;
        let rows: usize = parts.iter().map(|part| part.rows.len()).sum();
        if rows.saturating_mul(groups.len()) <= FEW {
            return self.plan_here(&parts, groups, layouts, coalesce, kept, &Stop::default());
        }
        let (source, groups) = (self.clone(), groups.to_vec());
        let parts: Vec<_> = parts.into_iter().map(SourcePart::into_owned).collect();
        offload(move |stop| source.plan_here(&parts, &groups, layouts, coalesce, kept, stop)).await
    }

    fn plan_here(
        &self,
        parts: &[SourcePart<'_>],
        groups: &[GroupPages],
        layouts: Vec<Arc<Layout>>,
        coalesce: Option<Coalesce>,
        kept: Kept,
        stop: &Stop,
    ) -> Result<SourcePlan> {
        let mut planned = SourcePlan { plan: ReadPlan { groups: Vec::new() }, layouts, kept, spans: Vec::new() };
        for (GroupPages { group, pages }, layout) in groups.iter().zip(&planned.layouts) {
            stop.check()?;
            let columns = &self.table.schema().groups()[*group].columns;
            let held: BTreeSet<ColumnId> = pages.iter().map(|page| columns[*page]).collect();
            let is_held = |id: &ColumnId| held.contains(id);
            let (mut spans, mut rows) = (Vec::new(), Vec::new());
            let users: Vec<usize> = (0..parts.len()).filter(|part| parts[*part].columns.iter().any(is_held)).collect();
            for &part in &users {
                spans.push((part, rows.len(), parts[part].rows.len()));
                if users.len() > 1 {
                    rows.extend_from_slice(&parts[part].rows);
                }
            }
            let rows = if let [only] = users.as_slice() { &*parts[*only].rows } else { rows.as_slice() };
            let request = GroupRequest { group: *group, pages: pages.clone(), layout, kept: &planned.kept };
            planned.plan.groups.extend(plan(&[request], rows, self.coalesce_or(coalesce))?.groups);
            planned.spans.push(spans);
        }
        Ok(planned)
    }

    /// Stored bytes that reading all rows of a group's wanted columns takes: of those pages alone, where the layout has their
    /// places.
    fn read_bytes(&self, segment: &Segment, group: usize, wanted: &BTreeSet<ColumnId>) -> u64 {
        let stored = &segment.groups[group];
        let columns = &self.table.schema().groups()[group].columns;
        if !PageLengths::pay(columns.len(), stored.blocks, stored.stored_bytes) {
            return stored.stored_bytes;
        }
        columns.iter().zip(&stored.columns).filter(|(id, _)| wanted.contains(id)).map(|(_, bytes)| bytes.stored).sum()
    }

    /// Executes a plan: the array of each part's columns.
    pub(in crate::table) async fn read(&self, planned: SourcePlan) -> Result<Vec<((usize, ColumnId), ArrayRef)>> {
        let SourcePlan { plan, layouts, kept, spans } = planned;
        let stores = self.table.stores_of(&plan).await?;
        let per_group: Vec<usize> = plan.groups.iter().map(|group| group.pages.len()).collect();
        let found = self
            .execute(&stores, &layouts, plan, &kept)
            .await
            .map_err(|error| error.at(format!("{} version {}", self.table.url(), self.table.version())))?;
        let mut found = found.into_iter();
        let mut arrays = Vec::new();
        for (pages, spans) in per_group.into_iter().zip(spans) {
            for (id, array) in found.by_ref().take(pages) {
                for &(part, start, len) in &spans {
                    let whole = start == 0 && len == array.len();
                    arrays.push(((part, id), if whole { ArrayRef::clone(&array) } else { array.slice(start, len) }));
                }
            }
        }
        Ok(arrays)
    }

    /// Executes a plan, through the caches of the stores where there are any: answers are kept once every page that was wanted
    /// of them has passed its checksum, and where one has not, what the cache had is dropped and the stores themselves are read,
    /// once: a bit may have flipped on the way here.
    async fn execute(
        &self,
        stores: &BTreeMap<u32, Store>,
        layouts: &[Arc<Layout>],
        plan: ReadPlan,
        kept: &Kept,
    ) -> Result<Vec<(ColumnId, ArrayRef)>> {
        let schema = self.table.schema();
        if stores.values().all(Store::is_local) {
            return execute(stores, schema, layouts, plan, kept).await;
        }
        let trials: BTreeMap<u32, Store> = stores.iter().map(|(owner, store)| (*owner, store.on_trial())).collect();
        let found = execute(&trials, schema, layouts, plan.clone(), kept).await;
        match &found {
            Ok(_) => {
                join_all(trials.values().map(Store::keep)).await;
            }
            // Of a cache, or of the way here, and not of the stores: once more, from there.
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                join_all(trials.values().map(Store::reject)).await;
                return execute(stores, schema, layouts, plan, kept).await;
            }
            Err(_) => {}
        }
        found
    }

    /// The cost of a plan. A plan of many rows is added up off the executor.
    pub(in crate::table) async fn explain(&self, plan: ReadPlan) -> Result<Explain> {
        if plan.groups.iter().map(|group| group.rows.len()).sum::<usize>() <= FEW {
            return Ok(self.explain_here(&plan));
        }
        let source = self.clone();
        offload(move |_| Ok(source.explain_here(&plan))).await
    }

    fn explain_here(&self, plan: &ReadPlan) -> Explain {
        plan.explain(|group| {
            let described = &self.table.schema().groups()[group.group];
            let id = |page: &usize| described.columns.get(*page);
            let name = |id: &ColumnId| self.columns.iter().find(|(_, held)| held == id).map(|(name, _)| name.clone());
            (described.name.clone(), group.pages.iter().filter_map(id).filter_map(name).collect())
        })
    }

    /// The error for a window over a table that was joined by hand.
    pub(in crate::table) fn no_join_map(&self, column: &str) -> Error {
        Error::invalid(format!(
            "a window over column `{column}`: its table {} was joined by hand, so nobody knows its rows around another row; \
             merge the indexes instead",
            self.table.url()
        ))
    }
}

fn row_of(row: i64) -> Option<u64> {
    u64::try_from(row).ok()
}
