//! Loads rows and windows: positions and columns in, Arrow out.

use std::sync::{Arc, OnceLock};

use arrow_array::{Array, RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema as ArrowSchema, SchemaRef};
use futures::{Stream, StreamExt, future::try_join_all, stream};

use super::{
    rows::{Row, Rows},
    version::Table,
};
use crate::{
    error::{Error, Result},
    format::{PageLengths, Segment},
    read::{Coalesce, Edge, Explain, GroupCost, GroupRequest, Layout, Offsets, ReadPlan, cover, execute, plan, window},
    schema::{Column, ColumnId, ColumnType},
};

/// Reads rows of a table: by position in a frame, or by table row.
///
/// A loader is a plain value: cheap to clone, shared by threads, and free of polars once it is made.
#[derive(Clone, Debug)]
pub struct RowLoader {
    table: Table,
    /// Table row of each position; `None`: position p is row p.
    positions: Option<Arc<[u64]>>,
    columns: Vec<ColumnId>,
    edge: Edge,
    coalesce: Coalesce,
    /// Made by the first read, and again where columns or costs change: small rows are read in less time.
    prepared: Arc<OnceLock<Prepared>>,
}

/// What every read of the same columns has in common.
#[derive(Clone, Debug)]
struct Prepared {
    /// The groups read, and the wanted pages of each.
    groups: Vec<(usize, Vec<usize>)>,
    /// The columns that come out.
    schema: SchemaRef,
    types: Arc<[ColumnType]>,
}

/// How many batches a scan reads at a time, the one being used not counted.
const SCAN_AHEAD: usize = 2;

impl RowLoader {
    pub(super) fn of_table(table: &Table) -> Self {
        let coalesce = if table.store().is_local() { Coalesce::LOCAL } else { Coalesce::REMOTE };
        let columns = table.schema().groups().iter().flat_map(|group| &group.columns).copied();
        let mut loader = Self {
            table: table.clone(),
            positions: None,
            columns: Vec::new(),
            edge: Edge::default(),
            coalesce,
            prepared: Arc::default(),
        };
        for column in columns {
            if !loader.columns.contains(&column) {
                loader.columns.push(column);
            }
        }
        loader
    }

    /// A loader whose position p is table row `rows[p]`; rows must be inside the table.
    #[cfg(feature = "frame")]
    pub(crate) fn of_rows(table: &Table, rows: Arc<[u64]>) -> Self {
        Self { positions: Some(rows), ..Self::of_table(table) }
    }

    /// Reads only the columns that match any of the patterns: `lidar.*`, `*.jpeg`, `re:...`.
    ///
    /// # Errors
    /// `NotFound` for a pattern that matches nothing, naming the nearest column.
    pub fn columns<P: AsRef<str>>(mut self, patterns: impl IntoIterator<Item = P>) -> Result<Self> {
        self.columns = self.table.schema().select(patterns)?.into_iter().map(|column| column.id).collect();
        self.prepared = Arc::default();
        Ok(self)
    }

    /// What windows do where a sequence ends.
    pub fn edge(mut self, edge: Edge) -> Self {
        self.edge = edge;
        self
    }

    /// When neighbouring ranges become one request; by default as the store is local or remote.
    pub fn coalesce(mut self, coalesce: Coalesce) -> Self {
        self.coalesce = coalesce;
        self.prepared = Arc::default();
        self
    }

    /// How many positions.
    pub fn len(&self) -> u64 {
        self.positions.as_ref().map_or(self.table.rows(), |rows| rows.len() as u64)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The row at a position.
    ///
    /// # Errors
    /// `Invalid` for a position outside, `Corrupt`, errors of the store.
    pub async fn get_row(&self, position: u64) -> Result<Row> {
        let row = self.table_row(position)?;
        Ok(Row::new(self.read(vec![Some(row)]).await?))
    }

    /// The rows at `offsets` around a position, inside its sequence of the unfiltered table, with a mask of those that exist.
    ///
    /// # Errors
    /// `Invalid` for a position outside, impossible offsets, or a missing row under [`Edge::Error`]; `Corrupt`; errors of the
    /// store.
    pub async fn get_rows<O>(&self, position: u64, offsets: O) -> Result<Rows>
    where
        Offsets: TryFrom<O>,
        Error: From<<Offsets as TryFrom<O>>::Error>,
    {
        self.read(self.window_rows(position, &Offsets::try_from(offsets)?).await?).await
    }

    /// The rows at these positions, in this order; they may repeat. One plan: each block is read and decoded once.
    ///
    /// # Errors
    /// As [`RowLoader::get_row`].
    pub async fn take(&self, positions: &[u64]) -> Result<Rows> {
        let rows = positions.iter().map(|position| self.table_row(*position).map(Some)).collect::<Result<Vec<_>>>()?;
        self.read(rows).await
    }

    /// All positions in order, `batch_rows` at a time. While one batch is used, the next two are read.
    pub fn scan(&self, batch_rows: usize) -> impl Stream<Item = Result<Rows>> + use<> {
        let batch_rows = batch_rows.max(1);
        let starts = (0..self.len()).step_by(batch_rows);
        let loader = self.clone();
        stream::iter(starts)
            .map(move |start| {
                let loader = loader.clone();
                ahead(async move {
                    let end = (start + batch_rows as u64).min(loader.len());
                    let rows = (start..end).map(|position| loader.table_row(position).map(Some)).collect::<Result<Vec<_>>>()?;
                    loader.read(rows).await
                })
            })
            .buffered(SCAN_AHEAD)
    }

    /// What reading the window around a position costs; `0..=0` for the row alone.
    ///
    /// # Errors
    /// As [`RowLoader::get_rows`].
    pub async fn explain<O>(&self, position: u64, offsets: O) -> Result<Explain>
    where
        Offsets: TryFrom<O>,
        Error: From<<Offsets as TryFrom<O>>::Error>,
    {
        let rows = self.window_rows(position, &Offsets::try_from(offsets)?).await?;
        Ok(self.explain_plan(&self.plan(&rows).await?.0))
    }

    /// What [`RowLoader::take`] of these positions costs.
    ///
    /// # Errors
    /// As [`RowLoader::take`].
    pub async fn explain_take(&self, positions: &[u64]) -> Result<Explain> {
        let rows = positions.iter().map(|position| self.table_row(*position).map(Some)).collect::<Result<Vec<_>>>()?;
        Ok(self.explain_plan(&self.plan(&rows).await?.0))
    }

    fn explain_plan(&self, plan: &ReadPlan) -> Explain {
        plan.explain(|group| {
            let described = &self.table.schema().groups()[group.group];
            let names = group.pages.iter().filter_map(|page| self.table.schema().column(described.columns[*page]));
            (described.name.clone(), names.map(|column| column.name.clone()).collect())
        })
    }

    fn table_row(&self, position: u64) -> Result<u64> {
        let row = match &self.positions {
            Some(rows) => usize::try_from(position).ok().and_then(|position| rows.get(position)).copied(),
            None => (position < self.table.rows()).then_some(position),
        };
        row.ok_or_else(|| Error::invalid(format!("row {position} is outside 0..{}", self.len())))
    }

    async fn window_rows(&self, position: u64, offsets: &Offsets) -> Result<Vec<Option<u64>>> {
        let row = self.table_row(position)?;
        window(&*self.table.sequences().await?, row, offsets, self.edge)
    }

    fn prepared(&self) -> Result<&Prepared> {
        match self.prepared.get() {
            Some(prepared) => Ok(prepared),
            None => {
                let prepared = self.prepare()?;
                Ok(self.prepared.get_or_init(|| prepared))
            }
        }
    }

    fn prepare(&self) -> Result<Prepared> {
        let schema = self.table.schema();
        let costs: Vec<GroupCost> = schema
            .groups()
            .iter()
            .enumerate()
            .map(|(number, group)| {
                let stored: u64 = self.table.manifest().segments.iter().map(|segment| self.read_bytes(segment, number)).sum();
                // A request weighs as much as the gap that would be read to avoid it.
                let request = self.coalesce.max_gap.max(1);
                let valid = group.columns.iter().filter(|id| !group.masked.contains(id)).copied();
                GroupCost { columns: valid.collect(), cost: stored / self.table.rows().max(1) + request }
            })
            .collect();
        let mut left = self.columns.clone();
        let groups = cover(&self.columns, &costs)?.into_iter().map(|group| {
            let members = schema.groups()[group].columns.iter().enumerate();
            let valid = |id: &ColumnId| left.contains(id) && !schema.groups()[group].masked.contains(id);
            let pages = members.filter(|(_, id)| valid(id)).map(|(page, _)| page).collect::<Vec<_>>();
            left.retain(|id| !pages.iter().any(|page| schema.groups()[group].columns[*page] == *id));
            (group, pages)
        });
        let groups = groups.collect();
        let columns = self.columns.iter().map(|id| schema.column(*id).ok_or_else(|| Error::internal("a column without schema")));
        let columns = columns.collect::<Result<Vec<&Column>>>()?;
        let fields: Vec<_> = columns.iter().map(|column| column.ty.arrow_field(&column.name)).collect();
        let types = columns.iter().map(|column| column.ty.clone()).collect();
        Ok(Prepared { groups, schema: Arc::new(ArrowSchema::new(fields)), types })
    }

    async fn plan(&self, rows: &[Option<u64>]) -> Result<(ReadPlan, Vec<Arc<Layout>>)> {
        let groups = &self.prepared()?.groups;
        let layouts = try_join_all(groups.iter().map(|(group, _)| self.table.layout(*group))).await?;
        let requests = groups.iter().zip(&layouts);
        let requests: Vec<GroupRequest<'_>> =
            requests.map(|((group, pages), layout)| GroupRequest { group: *group, pages: pages.clone(), layout }).collect();
        Ok((plan(&requests, rows, self.coalesce)?, layouts))
    }

    /// Stored bytes that reading all rows of a group's wanted columns takes: of those pages alone, where the layout has their places.
    fn read_bytes(&self, segment: &Segment, group: usize) -> u64 {
        let stored = &segment.groups[group];
        let columns = &self.table.schema().groups()[group].columns;
        if !PageLengths::pay(columns.len(), stored.blocks, stored.stored_bytes) {
            return stored.stored_bytes;
        }
        columns.iter().zip(&stored.columns).filter(|(id, _)| self.columns.contains(id)).map(|(_, bytes)| bytes.stored).sum()
    }

    async fn read(&self, rows: Vec<Option<u64>>) -> Result<Rows> {
        let (plan, layouts) = self.plan(&rows).await?;
        let stores = self.table.stores_of(&plan).await?;
        let mut found = execute(&stores, self.table.schema(), &layouts, plan)
            .await
            .map_err(|error| error.at(format!("{} version {}", self.table.url(), self.table.version())))?;
        let mut arrays = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            let place = found.iter().position(|(id, _)| id == column);
            let missing = || Error::internal(format!("column id {} was not read", column.0));
            let (_, array) = found.swap_remove(place.ok_or_else(missing)?);
            debug_assert_eq!(array.len(), rows.len());
            arrays.push(array);
        }
        let Prepared { schema, types, .. } = self.prepared()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options);
        Ok(Rows::new(batch.map_err(|error| Error::internal(error.to_string()))?, Arc::clone(types), rows))
    }
}

/// Starts `work` at once where a runtime is there to run it; without one it runs when it is asked for. Dropping it ends it.
async fn ahead<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return work.await };
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn_on(work, &runtime);
    match tasks.join_next().await {
        Some(Ok(done)) => done,
        Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        _ => Err(Error::unavailable("the runtime is shutting down")),
    }
}
