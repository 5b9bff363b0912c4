//! Loads rows and windows: positions and columns in, Arrow out.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::Schema as ArrowSchema;
use futures::{Stream, StreamExt, future::try_join_all, stream};

use super::{
    rows::{Row, Rows},
    version::Table,
};
use crate::{
    error::{Error, Result},
    format::{PageLengths, Segment},
    read::{Coalesce, Edge, Explain, GroupCost, GroupRequest, Layout, Offsets, ReadPlan, cover, execute, plan, window},
    schema::{Column, ColumnId},
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
}

/// How many batches a scan reads at a time, the one being used not counted.
const SCAN_AHEAD: usize = 2;

impl RowLoader {
    pub(super) fn of_table(table: &Table) -> Self {
        let coalesce = if table.store().is_local() { Coalesce::LOCAL } else { Coalesce::REMOTE };
        let columns = table.schema().groups().iter().flat_map(|group| &group.columns).copied();
        let mut seen = BTreeSet::new();
        let columns = columns.filter(|column| seen.insert(*column)).collect();
        Self { table: table.clone(), positions: None, columns, edge: Edge::default(), coalesce }
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

    async fn plan(&self, rows: &[Option<u64>]) -> Result<(ReadPlan, Vec<Arc<Layout>>)> {
        let schema = self.table.schema();
        // Sets: a table may have 100,000 columns. Masked columns are sorted.
        let mut left: BTreeSet<ColumnId> = self.columns.iter().copied().collect();
        let costs: Vec<GroupCost> = schema
            .groups()
            .iter()
            .enumerate()
            .map(|(number, group)| {
                let stored: u64 =
                    self.table.manifest().segments.iter().map(|segment| self.read_bytes(segment, number, &left)).sum();
                // A request weighs as much as the gap that would be read to avoid it.
                let request = self.coalesce.max_gap.max(1);
                let valid = group.columns.iter().filter(|id| group.masked.binary_search(id).is_err()).copied();
                GroupCost { columns: valid.collect(), cost: stored / self.table.rows().max(1) + request }
            })
            .collect();
        let chosen = cover(&self.columns, &costs)?;
        let layouts = try_join_all(chosen.iter().map(|group| self.table.layout(*group))).await?;
        let requests: Vec<GroupRequest<'_>> = chosen
            .iter()
            .zip(&layouts)
            .map(|(group, layout)| {
                let stored = &schema.groups()[*group];
                let members = stored.columns.iter().enumerate();
                let taken = members.filter(|(_, id)| stored.masked.binary_search(id).is_err() && left.remove(*id));
                let pages = taken.map(|(page, _)| page).collect();
                GroupRequest { group: *group, pages, layout }
            })
            .collect();
        Ok((plan(&requests, rows, self.coalesce)?, layouts))
    }

    /// Stored bytes that reading all rows of a group's wanted columns takes: of those pages alone, where the layout has their places.
    fn read_bytes(&self, segment: &Segment, group: usize, wanted: &BTreeSet<ColumnId>) -> u64 {
        let stored = &segment.groups[group];
        let columns = &self.table.schema().groups()[group].columns;
        if !PageLengths::pay(columns.len(), stored.blocks, stored.stored_bytes) {
            return stored.stored_bytes;
        }
        columns.iter().zip(&stored.columns).filter(|(id, _)| wanted.contains(id)).map(|(_, bytes)| bytes.stored).sum()
    }

    async fn read(&self, rows: Vec<Option<u64>>) -> Result<Rows> {
        let (plan, layouts) = self.plan(&rows).await?;
        let stores = self.table.stores_of(&plan).await?;
        let found = execute(&stores, self.table.schema(), &layouts, plan)
            .await
            .map_err(|error| error.at(format!("{} version {}", self.table.url(), self.table.version())))?;
        let mut found: BTreeMap<ColumnId, ArrayRef> = found.into_iter().collect();
        let (mut fields, mut types, mut arrays) = (Vec::new(), Vec::new(), Vec::new());
        for column in &self.columns {
            let column: &Column =
                self.table.schema().column(*column).ok_or_else(|| Error::internal("a column without schema"))?;
            let array = found.remove(&column.id);
            let array = array.ok_or_else(|| Error::internal(format!("column `{}` was not read", column.name)))?;
            debug_assert_eq!(array.len(), rows.len());
            fields.push(column.ty.arrow_field(&column.name));
            types.push(column.ty.clone());
            arrays.push(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let batch = RecordBatch::try_new_with_options(Arc::new(ArrowSchema::new(fields)), arrays, &options);
        Ok(Rows::new(batch.map_err(|error| Error::internal(error.to_string()))?, types, rows))
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
