//! The source tables of a loader, and the mapping between their rows.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use arrow_array::ArrayRef;
use futures::future::try_join_all;

use crate::{
    error::{Error, Result},
    format::{PageLengths, Segment},
    read::{
        CachedBlocks, Coalesce, Explain, Flights, GroupColumns, GroupCost, GroupPlan, GroupRequest, Layout, ReadPlan, cover,
        execute, locate, plan_group,
    },
    schema::{ColumnId, ColumnType},
    store::{Sent, Stores, verified},
    table::version::{lists::Lists, objects::is_missing, table::Table},
    work::{Stop, offload},
};

/// The most rows times column groups that are planned on the calling thread: about a millisecond of work.
const FEW: usize = 8 << 10;

/// The row number that means that there is no row.
pub(in crate::table) const NO_ROW: i64 = -1;

/// One source table of a loader.
#[derive(Clone, Debug)]
pub(in crate::table) struct LoaderSource {
    pub(in crate::table) table: Table,
    /// The number of the source whose rows windows follow: this source, or the source into which it was merged.
    pub(in crate::table) base: usize,
    /// The row of this source for each row of the base; `None` if this source is a base.
    pub(in crate::table) partners: Option<Arc<[i64]>>,
    /// The row of this source at each position; `None` if position p is row p.
    pub(in crate::table) at: Option<Arc<[i64]>>,
    /// The lists of this source, if its rows are read as lists. The first row of a list stands for the whole list.
    pub(in crate::table) lists: Option<Arc<Lists>>,
    /// The group columns, by the names in the result.
    pub(in crate::table) columns: Arc<[(String, ColumnId)]>,
    /// The index columns, by the names in the result.
    pub(in crate::table) index: Arc<[(String, ColumnId)]>,
}

/// The columns and rows that one part of a read needs from a source.
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

/// A column group to be read, and its wanted pages.
#[derive(Clone, Debug)]
pub(in crate::table) struct GroupPages {
    columns: Arc<GroupColumns>,
    pages: Arc<[usize]>,
}

impl GroupPages {
    /// Returns the ids of the columns of the wanted pages.
    pub(in crate::table) fn ids(&self) -> impl Iterator<Item = ColumnId> {
        self.pages.iter().filter_map(|page| self.columns.id(*page).ok())
    }

    /// Returns the number of the group in the schema.
    pub(in crate::table) fn group(&self) -> usize {
        self.columns.group()
    }
}

/// The read plan of a source, and the mapping from the rows of each group to the parts of the read.
pub(in crate::table) struct SourcePlan {
    pub(in crate::table) plan: ReadPlan,
    /// The stores that the plan names.
    stores: Stores,
    /// The spans of the rows of each group. Empty if there is one part, and it wants every page.
    spans: Vec<Spans>,
}

/// The rows of a group that each part of a read wants: the number of the part, the first row, and the number of rows.
type Spans = Vec<(usize, usize, usize)>;

impl LoaderSource {
    /// Creates the source of a single table: position p is row `at[p]`, or row p without `at`.
    pub(in crate::table) fn of_table(table: &Table, at: Option<Arc<[i64]>>) -> Self {
        let mut seen = BTreeSet::new();
        let ids = table.schema().groups().iter().flat_map(|group| &group.columns).filter(|id| seen.insert(**id));
        Self::of_columns(table, at, ids)
    }

    /// Creates the source of a single table as [`LoaderSource::of_table`] does, with these group columns only.
    pub(in crate::table) fn of_columns<'a>(
        table: &Table,
        at: Option<Arc<[i64]>>,
        ids: impl IntoIterator<Item = &'a ColumnId>,
    ) -> Self {
        let schema = table.schema();
        let columns = ids.into_iter().filter_map(|id| schema.column(*id));
        let columns = columns.map(|column| (column.name.clone(), column.id)).collect();
        let index = schema.index().map(|column| (column.name.clone(), column.id)).collect();
        Self { table: table.clone(), base: 0, partners: None, at, lists: None, columns, index }
    }

    /// Returns the type of a column in the result: the type of the table, or a list of it.
    pub(in crate::table) fn type_of(&self, id: ColumnId) -> Option<ColumnType> {
        let ty = self.table.schema().column(id)?.ty.clone();
        Some(if self.lists.is_some() { ColumnType::list(ty) } else { ty })
    }

    /// Returns the row at a position, or `None` if this source has no row there.
    pub(in crate::table) fn row_at(&self, position: u64) -> Option<u64> {
        match &self.at {
            Some(rows) => usize::try_from(position).ok().and_then(|position| rows.get(position)).and_then(|row| row_of(*row)),
            None => (position < self.table.rows()).then_some(position),
        }
    }

    /// Returns the row that belongs to a row of the base, or `None` if there is none.
    pub(in crate::table) fn partner(&self, row: u64) -> Option<u64> {
        match &self.partners {
            Some(partners) => usize::try_from(row).ok().and_then(|row| partners.get(row)).and_then(|row| row_of(*row)),
            None => Some(row),
        }
    }

    /// Chooses the cheapest groups that hold these columns, and the wanted pages of each group.
    pub(in crate::table) fn choose_groups(&self, columns: &[ColumnId], coalesce: Option<Coalesce>) -> Result<Vec<GroupPages>> {
        let schema = self.table.schema();
        // Look-ups use a set because a table may have 100,000 columns. The ids in `masked` are sorted.
        let mut wanted: BTreeSet<ColumnId> = columns.iter().copied().collect();
        // A change of many groups chooses for each of them, so a group without a wanted column costs no more than this look.
        let candidates = schema.groups().iter().enumerate();
        let candidates = candidates.filter(|(_, group)| group.columns.iter().any(|id| wanted.contains(id)));
        let candidates: Vec<usize> = candidates.map(|(number, _)| number).collect();
        let costs: Vec<GroupCost> = candidates
            .iter()
            .map(|&number| {
                let group = &schema.groups()[number];
                let segments = self.table.manifest().segments.iter();
                let stored: u64 = segments.map(|segment| self.read_bytes(segment, number, &wanted)).sum();
                // A request costs as much as the longest gap that is read to avoid a request.
                let request = self.coalesce_or(coalesce).max_gap.max(1);
                let valid = group.columns.iter().filter(|id| group.masked.binary_search(id).is_err()).copied();
                GroupCost { columns: valid.collect(), cost: (stored / self.table.rows().max(1)).saturating_add(request) }
            })
            .collect();
        let distinct: Vec<ColumnId> = wanted.iter().copied().collect();
        let groups = cover(&distinct, &costs)?.into_iter().map(|place| {
            let number = candidates[place];
            let group = &schema.groups()[number];
            let members = group.columns.iter().enumerate();
            let taken = members.filter(|(_, id)| group.masked.binary_search(id).is_err() && wanted.remove(*id));
            Ok(GroupPages { columns: self.table.group_columns(number)?, pages: taken.map(|(page, _)| page).collect() })
        });
        groups.collect()
    }

    fn coalesce_or(&self, coalesce: Option<Coalesce>) -> Coalesce {
        coalesce.unwrap_or(if self.table.store().is_local() { Coalesce::LOCAL } else { Coalesce::REMOTE })
    }

    /// Plans all parts together, so that each block is read and decoded once. `groups` must hold the columns of all parts. Large
    /// plans are made off the executor.
    #[tracing::instrument(level = "debug", skip_all, fields(url = self.table.url(), groups = groups.len()))]
    pub(in crate::table) async fn plan(
        &self,
        parts: Vec<SourcePart<'_>>,
        groups: &[GroupPages],
        coalesce: Option<Coalesce>,
        cache: &CachedBlocks,
    ) -> Result<SourcePlan> {
        let users = self.users(&parts, groups);
        let layouts = match groups.iter().map(|group| self.table.layout_now(group.group())).collect::<Option<Vec<_>>>() {
            Some(layouts) => layouts,
            None => self.layouts(&parts, groups, &users).await?,
        };
        let rows: usize = parts.iter().map(|part| part.rows.len()).sum();
        let (groups, spans) = match rows.saturating_mul(groups.len()) <= FEW {
            true => self.plan_groups(&parts, (groups, &users), layouts, coalesce, cache, &Stop::default())?,
            false => {
                let (source, groups, cache) = (self.clone(), groups.to_vec(), cache.clone());
                let parts: Vec<_> = parts.into_iter().map(SourcePart::into_owned).collect();
                offload(move |stop| source.plan_groups(&parts, (&groups, &users), layouts, coalesce, &cache, stop)).await?
            }
        };
        self.complete(groups, spans).await
    }

    /// Returns the layouts of the groups, if the rows are few and all layouts are in memory.
    pub(in crate::table) fn layouts_of_few(&self, rows: usize, groups: &[GroupPages]) -> Option<Vec<Arc<Layout>>> {
        let is_small = rows.saturating_mul(groups.len()) <= FEW;
        if is_small { groups.iter().map(|group| self.table.layout_now(group.group())).collect() } else { None }
    }

    /// Plans the read of all wanted pages of some groups for few rows, as [`LoaderSource::plan`] does for one part.
    pub(in crate::table) async fn plan_few(
        &self,
        rows: &[Option<u64>],
        (groups, layouts): (&[GroupPages], &[Arc<Layout>]),
        coalesce: Option<Coalesce>,
        cache: &CachedBlocks,
    ) -> Result<SourcePlan> {
        let plans = tracing::debug_span!("plan", url = self.table.url(), groups = groups.len()).in_scope(|| {
            let plans = groups.iter().zip(layouts).map(|(group, layout)| self.plan_one(group, layout, rows, coalesce, cache));
            plans.collect::<Result<_>>()
        });
        self.complete(plans?, Vec::new()).await
    }

    /// Completes a plan with the stores that its groups name.
    async fn complete(&self, groups: Vec<GroupPlan>, spans: Vec<Spans>) -> Result<SourcePlan> {
        let stores = self.table.stores_of(&groups).await?;
        let plan = ReadPlan::new(groups, stores.kind());
        Ok(SourcePlan { plan, stores, spans })
    }

    fn plan_one(
        &self,
        GroupPages { columns, pages }: &GroupPages,
        layout: &Arc<Layout>,
        rows: &[Option<u64>],
        coalesce: Option<Coalesce>,
        cache: &CachedBlocks,
    ) -> Result<GroupPlan> {
        let located = locate(layout, rows)?;
        let cached = cache.snapshot(columns.group(), located.blocks.iter().map(|(block, _)| *block), pages);
        plan_group(&GroupRequest { columns, pages, layout }, located, cached, self.coalesce_or(coalesce))
    }

    /// Loads the layouts of the groups. Of a large layout, loads only the segments that have rows of the parts.
    async fn layouts(
        &self,
        parts: &[SourcePart<'_>],
        groups: &[GroupPages],
        users: &[Cow<'static, [usize]>],
    ) -> Result<Vec<Arc<Layout>>> {
        let layouts = groups.iter().zip(users).map(|(group, users)| {
            let rows = users.iter().filter_map(|part| parts.get(*part)).flat_map(|part| part.rows.iter().flatten().copied());
            self.table.layout_of(group.group(), self.table.segments_of(group.group(), rows))
        });
        try_join_all(layouts.collect::<Vec<_>>()).await
    }

    /// Returns, for each group, the numbers of the parts that want one of its pages.
    fn users(&self, parts: &[SourcePart<'_>], groups: &[GroupPages]) -> Vec<Cow<'static, [usize]>> {
        if is_one(parts, groups) {
            return vec![Cow::Borrowed(&[0]); groups.len()];
        }
        // Each column is looked up once: a table may have 100,000 columns in as many groups.
        let mut wanting: BTreeMap<ColumnId, Vec<usize>> = BTreeMap::new();
        for (number, part) in parts.iter().enumerate() {
            part.columns.iter().for_each(|id| wanting.entry(*id).or_default().push(number));
        }
        let users = |wanted: &GroupPages| {
            let columns = &self.table.schema().groups()[wanted.group()].columns;
            let users: BTreeSet<usize> =
                wanted.pages.iter().filter_map(|page| wanting.get(&columns[*page])).flatten().copied().collect();
            Cow::Owned(users.into_iter().collect())
        };
        groups.iter().map(users).collect()
    }

    /// Returns the plan of each group, and the spans of its rows as in [`SourcePlan::spans`].
    fn plan_groups(
        &self,
        parts: &[SourcePart<'_>],
        (groups, users): (&[GroupPages], &[Cow<'static, [usize]>]),
        layouts: Vec<Arc<Layout>>,
        coalesce: Option<Coalesce>,
        cache: &CachedBlocks,
        stop: &Stop,
    ) -> Result<(Vec<GroupPlan>, Vec<Spans>)> {
        let (mut all, mut spans, has_spans) = (Vec::with_capacity(groups.len()), Vec::new(), !is_one(parts, groups));
        for ((group, users), layout) in groups.iter().zip(users).zip(&layouts) {
            stop.check()?;
            let mut joined = Vec::new();
            if has_spans {
                let mut of_group = Vec::with_capacity(users.len());
                for &part in &**users {
                    of_group.push((part, joined.len(), parts[part].rows.len()));
                    if users.len() > 1 {
                        joined.extend_from_slice(&parts[part].rows);
                    }
                }
                spans.push(of_group);
            }
            let rows = if let [only] = **users { &*parts[only].rows } else { joined.as_slice() };
            all.push(self.plan_one(group, layout, rows, coalesce, cache)?);
        }
        Ok((all, spans))
    }

    /// Returns the stored bytes to read for the wanted columns of a group in all rows of a segment. Only the wanted pages count
    /// if the layout stores page lengths; otherwise the whole group counts.
    pub(super) fn read_bytes(&self, segment: &Segment, group: usize, wanted: &BTreeSet<ColumnId>) -> u64 {
        let stored = &segment.groups[group];
        let columns = &self.table.schema().groups()[group].columns;
        if !PageLengths::pay(columns.len(), stored.blocks, stored.stored_bytes) {
            return stored.stored_bytes;
        }
        columns.iter().zip(&stored.columns).filter(|(id, _)| wanted.contains(id)).map(|(_, bytes)| bytes.stored).sum()
    }

    /// Executes a plan, and returns one array for each part and column. Counts the requests in `sent`.
    pub(in crate::table) async fn read(
        &self,
        mut planned: SourcePlan,
        cache: &CachedBlocks,
        flights: &Flights,
        sent: &Arc<Sent>,
    ) -> Result<Vec<((usize, ColumnId), ArrayRef)>> {
        let spans = std::mem::take(&mut planned.spans);
        let pages = planned.plan.groups.iter().map(|group| group.pages.len());
        let per_group: Vec<usize> = if spans.is_empty() { Vec::new() } else { pages.collect() };
        let found = self.execute(planned, cache, flights, sent).await?;
        if spans.is_empty() {
            return Ok(found.into_iter().map(|(id, array)| ((0, id), array)).collect());
        }
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

    /// Executes a plan, and returns one array for each page that it wants. Counts the requests in `sent`.
    pub(in crate::table) async fn execute(
        &self,
        SourcePlan { plan, stores, .. }: SourcePlan,
        cache: &CachedBlocks,
        flights: &Flights,
        sent: &Arc<Sent>,
    ) -> Result<Vec<(ColumnId, ArrayRef)>> {
        let stores = stores.counting(sent);
        let mut plan = Some(plan);
        let read = |stores: Stores, is_last: bool| {
            let plan = if is_last { plan.take() } else { plan.clone() };
            async move { execute(&stores, plan.ok_or_else(|| Error::internal("a plan that was used up"))?, cache, flights).await }
        };
        match verified(&stores, read).await {
            // A chunk is missing.
            Err(error) if is_missing(&error) => match self.table.collected(stores.owners().collect::<Vec<_>>()).await {
                Some(collected) => Err(collected.with_source(error)),
                None => Err(self.at(error)),
            },
            found => found.map_err(|error| self.at(error)),
        }
    }

    /// Returns an error of a read, with the version that was read.
    fn at(&self, error: Error) -> Error {
        error.at(format!("{} version {}", self.table.url(), self.table.version()))
    }

    /// Returns the cost of a plan. The cost of a large plan is computed off the executor.
    pub(in crate::table) async fn explain(&self, planned: SourcePlan, places: bool) -> Result<Explain> {
        let SourcePlan { plan, .. } = planned;
        if plan.groups.iter().map(|group| group.rows).sum::<usize>() <= FEW {
            return Ok(self.explain_here(&plan, places));
        }
        let source = self.clone();
        offload(move |_| Ok(source.explain_here(&plan, places))).await
    }

    fn explain_here(&self, plan: &ReadPlan, places: bool) -> Explain {
        let named: BTreeMap<ColumnId, &String> = self.columns.iter().rev().map(|(name, id)| (*id, name)).collect();
        let name = |group: &GroupPlan| {
            let described = &self.table.schema().groups()[group.group()];
            let id = |page: &usize| described.columns.get(*page);
            let name = |id: &ColumnId| named.get(id).map(|name| (*name).clone());
            (described.name.clone(), group.pages.iter().filter_map(id).filter_map(name).collect())
        };
        plan.explain(name, places)
    }

    /// Returns the error for a window over a column of a table that was joined by hand.
    pub(in crate::table) fn no_join_map(&self, column: &str) -> Error {
        Error::invalid(format!(
            "a window over column `{column}`: its table {} was joined by hand, so its partners of the other rows are unknown; \
             merge the indexes instead",
            self.table.url()
        ))
    }
}

/// Whether there is one part, which wants all pages of all groups. The groups may also hold columns of parts that have no row here.
fn is_one(parts: &[SourcePart<'_>], groups: &[GroupPages]) -> bool {
    let pages = || groups.iter().map(|group| group.pages.len()).sum::<usize>();
    matches!(parts, [only] if only.columns.len() == pages())
}

fn row_of(row: i64) -> Option<u64> {
    u64::try_from(row).ok()
}
