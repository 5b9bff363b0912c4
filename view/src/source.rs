//! The sources of the viewer: a table or an index, its rows, and selections of them. Rows are numbers from 0 in the order of the table or index.

use std::{
    collections::{BTreeSet, VecDeque},
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use arrow_array::RecordBatch;
use serde_json::{Value, json};
use tetrys::{
    ColumnType, Error, Index, Result, RowLoader, Table,
    polars::prelude::{IdxCa, IdxSize, NamedFrom},
    schema::Column as TableColumn,
};
use tokio::sync::OnceCell;

use crate::{
    asked::Choice,
    choose::{of_index, of_table},
    scene::Scene,
    wire::type_name,
    work::{Stop, Turn, on_blocking_thread},
};

/// Selections that are kept, so that scrolling through one does not compute it again.
const KEPT: usize = 2;

/// A table or an index, to be shown.
#[derive(Debug)]
pub struct Source {
    kind: Kind,
    loader: RowLoader,
    scene: Option<Arc<dyn Scene>>,
    kept: Mutex<VecDeque<(Choice, Arc<Selected>)>>,
}

#[derive(Debug)]
enum Kind {
    /// A table, and its index once something needs it whole.
    Table(Table, OnceCell<Index>),
    Index(Index),
}

/// The rows of a selection.
#[derive(Debug)]
pub(crate) struct Selected {
    /// The rows in their order; `None` for all rows as they stand.
    pub(crate) rows: Option<Vec<u64>>,
    pub(crate) count: u64,
}

impl Source {
    /// Shows a version of a table or view. Only the parts of its index that are looked at are read, except of a view that is filtered or
    /// sorted.
    pub fn of_table(table: Table) -> Self {
        let loader = table.row_loader();
        Self { kind: Kind::Table(table, OnceCell::new()), loader, scene: None, kept: Mutex::default() }
    }

    /// Shows the rows of an index, in its order.
    ///
    /// # Errors
    /// - `Invalid`: a locator is not a row of its table version.
    pub fn of_index(index: Index) -> Result<Self> {
        Ok(Self { loader: RowLoader::new(&index)?, kind: Kind::Index(index), scene: None, kept: Mutex::default() })
    }

    /// Adds the picture of each row from above, which the page then shows.
    #[must_use]
    pub fn with_scene(self, scene: Arc<dyn Scene>) -> Self {
        Self { scene: Some(scene), ..self }
    }

    pub(crate) fn scene(&self) -> Option<&dyn Scene> {
        self.scene.as_deref()
    }

    /// Returns the table, or the first of those of an index.
    pub fn table(&self) -> &Table {
        match &self.kind {
            Kind::Table(table, _) => table,
            Kind::Index(index) => index.table(),
        }
    }

    /// Returns the table, or those of an index in the order in which they were merged.
    pub fn tables(&self) -> Vec<&Table> {
        match &self.kind {
            Kind::Table(table, _) => vec![table],
            Kind::Index(index) => index.tables().collect(),
        }
    }

    /// Returns `url@version` of a table; `None` for an index, which nothing else can open.
    pub(crate) fn url(&self) -> Option<String> {
        match &self.kind {
            Kind::Table(table, _) => Some(format!("{}@{}", table.url(), table.version())),
            Kind::Index(_) => None,
        }
    }

    /// Returns the tables that hold the rows: this one, those behind a view, or those of an index.
    pub(crate) async fn holders(&self) -> Result<Vec<Table>> {
        match &self.kind {
            Kind::Table(table, _) if table.is_view() => Ok(table.sources().await?.to_vec()),
            Kind::Table(table, _) => Ok(vec![table.clone()]),
            Kind::Index(index) => Ok(index.tables().cloned().collect()),
        }
    }

    pub(crate) fn rows(&self) -> u64 {
        match &self.kind {
            Kind::Table(table, _) => table.rows(),
            Kind::Index(index) => index.len() as u64,
        }
    }

    /// Returns the type of a column that the schema of a table has.
    pub(crate) fn column_type(&self, name: &str) -> Option<ColumnType> {
        let of = |table: &Table| table.schema().column_named(name).map(|column| column.ty.clone());
        match &self.kind {
            Kind::Table(table, _) => of(table),
            Kind::Index(index) => index.tables().find_map(of),
        }
    }

    /// Returns the loader of the rows: their numbers are its positions.
    pub fn loader(&self) -> &RowLoader {
        &self.loader
    }

    /// Returns the index columns of these rows, in this order.
    pub(crate) async fn take(&self, rows: &[u64], turn: Option<&Turn>) -> Result<RecordBatch> {
        let index = match &self.kind {
            Kind::Table(table, _) => return table.take_index(rows).await,
            Kind::Index(index) => index.clone(),
        };
        if let Some(row) = rows.iter().find(|row| **row >= index.len() as u64) {
            return Err(Error::invalid(format!("row {row} is outside 0..{}", index.len())));
        }
        let places: Vec<IdxSize> = rows.iter().map(|row| *row as IdxSize).collect();
        let work = move |_: &Stop| {
            let frame = index.to_frame().take(&IdxCa::new("rows".into(), places));
            index.with_frame(frame.map_err(|error| Error::internal(error.to_string()))?)?.to_batch()
        };
        on_blocking_thread(turn, work).await
    }

    /// Returns the index columns of consecutive rows.
    pub(crate) async fn slice(&self, rows: Range<u64>, turn: &Turn) -> Result<Vec<RecordBatch>> {
        match &self.kind {
            Kind::Table(table, _) => Ok(table.index_rows(&[rows]).await?.1),
            Kind::Index(index) => {
                let (index, len) = (index.clone(), (rows.end - rows.start) as usize);
                let work = move |_: &Stop| index.slice(rows.start.cast_signed(), len).to_batch();
                Ok(vec![on_blocking_thread(Some(turn), work).await?])
            }
        }
    }

    /// Returns all rows.
    pub(crate) fn everything(&self) -> Arc<Selected> {
        Arc::new(Selected { rows: None, count: self.rows() })
    }

    /// Returns the rows of a choice. Dropping the future ends the work: at once where it waits, at the next part where it computes.
    pub(crate) async fn select(&self, choice: &Choice, turn: &Turn) -> Result<Arc<Selected>> {
        if let Some(found) = self.kept(choice) {
            return Ok(found);
        }
        let rows = self.chosen(choice, turn).await?;
        let found = Arc::new(Selected { count: rows.len() as u64, rows: Some(rows) });
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.truncate(KEPT - 1);
        kept.push_front((choice.clone(), Arc::clone(&found)));
        Ok(found)
    }

    /// Returns a selection that is kept.
    pub(crate) fn kept(&self, choice: &Choice) -> Option<Arc<Selected>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.iter().position(|(other, _)| other == choice)?;
        let found = kept.remove(place)?;
        kept.push_front(found.clone());
        Some(found.1)
    }

    async fn chosen(&self, choice: &Choice, turn: &Turn) -> Result<Vec<u64>> {
        if let Some(row) = choice.only.iter().flatten().find(|row| **row >= self.rows()) {
            return Err(Error::invalid(format!("row {row} is outside 0..{}", self.rows())));
        }
        if let (Some(only), true, None) = (&choice.only, choice.conditions.is_empty(), &choice.sort) {
            return Ok(only.clone());
        }
        match &self.kind {
            Kind::Table(table, _) if !table.is_view() => of_table(table, choice, turn).await,
            Kind::Table(table, index) => of_index(index.get_or_try_init(async || table.index().await).await?, choice, turn).await,
            Kind::Index(index) => of_index(index, choice, turn).await,
        }
    }

    /// Returns the rows of the sequence that has this row; all rows if there are no sequences to go by.
    pub(crate) async fn sequence(&self, row: u64) -> Result<Range<u64>> {
        match &self.kind {
            Kind::Table(table, _) if !table.is_view() => {
                let sequences = table.sequences().await?;
                sequences.around(row).ok_or_else(|| Error::invalid(format!("row {row} is outside 0..{}", table.rows())))
            }
            _ => Ok(0..self.rows()),
        }
    }

    /// Describes the columns for the page.
    pub(crate) async fn described(&self) -> Result<Value> {
        let (table, tables) = (self.table(), self.tables());
        let column_named = |name: &str| tables.iter().find_map(|table| table.schema().column_named(name));
        let column_json = |name: &str, ty: Option<String>| {
            let column = column_named(name);
            let ty = ty.or_else(|| column.map(|column| column.ty.to_string()));
            json!({"name": name, "type": ty, "unit": column.and_then(unit)})
        };
        let first = self.take(&[], None).await?;
        let index = first.schema_ref().fields().iter().map(|field| column_json(field.name(), Some(type_name(field.data_type()))));
        let index: Vec<Value> = index.collect();
        let groups: Vec<Value> = match &self.kind {
            Kind::Table(table, _) => {
                let schema = table.schema();
                let names = |columns: &[_]| {
                    columns.iter().filter_map(|id| schema.column(*id)).map(|column| column_json(&column.name, None)).collect()
                };
                schema
                    .groups()
                    .iter()
                    .map(|group| {
                        let shown: Vec<_> = group.columns.iter().filter(|id| !group.masked.contains(id)).copied().collect();
                        let columns: Vec<Value> = names(&shown);
                        json!({"name": group.name, "columns": columns})
                    })
                    .collect()
            }
            Kind::Index(_) => {
                let names: BTreeSet<&str> = self.loader.column_names().collect();
                let mut groups: Vec<(String, Vec<Value>)> = Vec::new();
                for name in self.loader.column_names().filter(|name| names.contains(name)) {
                    let group = group_of(&tables, name);
                    match groups.iter_mut().find(|(other, _)| *other == group) {
                        Some((_, columns)) => columns.push(column_json(name, None)),
                        None => groups.push((group, vec![column_json(name, None)])),
                    }
                }
                groups.into_iter().map(|(name, columns)| json!({"name": name, "columns": columns})).collect()
            }
        };
        let names =
            |columns: &mut dyn Iterator<Item = &TableColumn>| columns.map(|column| column.name.clone()).collect::<Vec<_>>();
        Ok(json!({
            "name": name_of(table.url()),
            "url": self.url(),
            "version": table.version(),
            "view": table.is_view(),
            "selection": matches!(self.kind, Kind::Index(_)),
            "rows": self.rows(),
            "index": index,
            "groups": groups,
            "scene": self.scene.is_some(),
            "sequence_by": names(&mut table.schema().sequence_by()),
            "order_by": names(&mut table.schema().order_by()),
        }))
    }
}

fn unit(column: &TableColumn) -> Option<String> {
    let value = column.properties.get("unit").or_else(|| column.properties.get("units"))?;
    Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

fn group_of(tables: &[&Table], column: &str) -> String {
    let group = tables.iter().find_map(|table| {
        let id = table.schema().column_named(column)?.id;
        table.schema().groups().iter().find(|group| group.columns.contains(&id)).map(|group| group.name.clone())
    });
    group.unwrap_or_else(|| column.split('.').next().unwrap_or(column).to_owned())
}

/// Returns the last part of a URL.
fn name_of(url: &str) -> String {
    url.trim_end_matches('/').rsplit(['/', '\\']).next().unwrap_or(url).to_owned()
}
