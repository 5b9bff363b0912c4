//! Loads the index of a view: a frame with the locators of its sources, and their join maps. It equals the index that was saved.

use std::collections::HashSet;

use bytes::Bytes;
use futures::future::try_join3;
use polars::prelude::{Column, DataFrame, IdxCa, IdxSize, PolarsError};

use super::index::{Index, IndexSource, refused};
use crate::{
    error::{Error, Result},
    format::{Locator, ViewSource},
    index::{Filling, with_locators},
    table::{
        reading::view::JoinMaps,
        version::{
            seen::{seen_columns, seen_index_names},
            table::Table,
        },
    },
    work::offload_large,
};

impl Table {
    /// Loads the index of a view. The locators in its frame are those of the sources.
    ///
    /// `columns` are ascending places. If `categorical`, text becomes categorical.
    pub(in crate::table) async fn index_of_view(&self, columns: &[usize], categorical: bool) -> Result<Index> {
        let (objects, maps, tables) = try_join3(self.index_objects(), self.join_maps(), self.sources()).await?;
        let work = self.index_work(&objects, columns.len() + maps.len());
        let (table, columns) = (self.clone(), columns.to_vec());
        offload_large(work, move |_| table.view_index(&objects, maps, &tables, &columns, categorical)).await
    }

    /// Builds the index of a view from its objects, its join maps and the tables of its sources.
    fn view_index(
        &self,
        objects: &[Bytes],
        maps: Vec<JoinMaps>,
        tables: &[Self],
        columns: &[usize],
        categorical: bool,
    ) -> Result<Index> {
        let view = self.view().ok_or_else(|| Error::internal("the index of a view that is none"))?;
        let rows = self.view_rows_of(objects, maps)?;
        let mut frame = self.frame_of(objects, columns, categorical)?;
        let hidden = &seen_index_names(self.manifest());
        let whole = frame.clone();
        let mut sources: Vec<IndexSource> = Vec::with_capacity(tables.len());
        for (number, (source, (table, tag))) in view.sources.iter().zip(tables.iter().zip(tags(tables)?)).enumerate() {
            let at = &rows.at[number];
            frame = with_locators(&frame, tag, at.iter().copied())?;
            // If the view has all rows of its only base source in their order, its frame can be merged further.
            let every = view.sources.iter().all(|source| source.base == 0)
                && source.base == number
                && at.len() as u64 == source.rows
                && at.iter().zip(0..).all(|(row, place)| *row == place);
            sources.push(IndexSource {
                partners: rows.partners[number].clone(),
                lists: rows.lists[number].clone(),
                whole: every.then(|| whole.clone()),
                ..without_rows(table, tag, source, hidden)
            });
        }
        Ok(Index::of(frame, sources.into()))
    }
}

impl Table {
    /// Returns the index of a table or a view without its rows, join maps and lists.
    pub(crate) async fn index_without_rows(&self) -> Result<Index> {
        let Some(view) = self.view() else { return self.empty_index() };
        let tables = self.sources().await?;
        let hidden = &seen_index_names(self.manifest());
        let mut frame = Filling::new(&self.described(&seen_columns(self.manifest())), 0, false)?.finish()?;
        let mut sources: Vec<IndexSource> = Vec::with_capacity(tables.len());
        for (source, (table, tag)) in view.sources.iter().zip(tables.iter().zip(tags(&tables)?)) {
            frame = with_locators(&frame, tag, 0..0)?;
            sources.push(without_rows(table, tag, source, hidden));
        }
        Ok(Index::of(frame, sources.into()))
    }
}

/// Returns a source of a view whose rows are not loaded, without the group columns of `hidden` names.
fn without_rows(table: &Table, tag: u16, source: &ViewSource, hidden: &HashSet<&str>) -> IndexSource {
    let columns = source.columns.iter().filter(|column| !hidden.contains(column.name.as_str()));
    IndexSource {
        table: table.clone(),
        tag,
        base: source.base,
        columns: columns.map(|column| (column.name.clone(), column.id)).collect(),
        index: source.index.iter().map(|column| (column.name.clone(), column.id)).collect(),
        partners: None,
        lists: None,
        whole: None,
    }
}

/// Returns a tag for each table. Two tables have different tags.
fn tags(tables: &[Table]) -> Result<Vec<u16>> {
    let mut tags: Vec<u16> = Vec::with_capacity(tables.len());
    for table in tables {
        let tag = Locator::tag(table.manifest().table, table.version());
        let tag = (0..1 << 15).map(|step| tag.wrapping_add(step) & 0x7fff).find(|tag| !tags.contains(tag));
        tags.push(tag.ok_or_else(|| Error::invalid("more tables in one index than there are tags"))?);
    }
    Ok(tags)
}

impl Index {
    /// Loads all rows of the tables behind this index, so that it can be the left side of a merge. The index of a view with only some
    /// rows of its sources needs this, and so does an index whose rows a condition chose while they were loaded. An index with all
    /// rows of its tables does not.
    ///
    /// A merge matches all rows of the left table, so that windows find the partners of rows that a filter removed. The keys of
    /// these rows come from the sources. Columns that were computed before the view was saved exist only for the rows of the
    /// view.
    ///
    /// ```no_run
    /// # async fn example() -> tetrys::Result<()> {
    /// use tetrys::{Merge, Table};
    /// let busy = Table::open("/data/busy").await?.index().await?.with_sources().await?;
    /// let labels = Table::open("/data/labels").await?.index().await?;
    /// let merged = busy.merge(&labels, &Merge::on(["log_id", "timestamp"]))?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// - `Corrupt`: an index object of a source is damaged.
    /// - Errors of the stores.
    pub async fn with_sources(&self) -> Result<Self> {
        let mut sources = self.sources.to_vec();
        for base in 0..sources.len() {
            if sources[base].base != base || sources[base].whole.is_some() {
                continue;
            }
            let mut columns: Vec<Column> = Vec::new();
            for source in sources.iter().filter(|source| source.base == base && !source.index.is_empty()) {
                let stored = source.table.manifest().schema.index().enumerate();
                let wanted = stored.filter(|(_, column)| source.index.iter().any(|(_, id)| *id == column.id));
                let wanted = wanted.map(|(place, _)| place).collect();
                let loaded = source.table.index_of(Some(wanted), false).await?.to_frame();
                let rows = source.partners.as_ref();
                let rows = rows.map(|rows| rows.iter().map(|row| IdxSize::try_from(*row).ok()).collect::<IdxCa>());
                for (name, id) in source.index.iter() {
                    let stored = source.table.schema().column(*id).map(|column| column.name.as_str()).unwrap_or_default();
                    let failed = |error: PolarsError| refused(stored, &error);
                    let column = loaded.column(stored).map_err(failed)?;
                    let column = match &rows {
                        Some(rows) => column.take(rows).map_err(failed)?,
                        None => column.clone(),
                    };
                    if columns.iter().all(|existing| existing.name() != name.as_str()) {
                        columns.push(column.with_name(name.into()));
                    }
                }
            }
            let height = usize::try_from(sources[base].table.rows()).map_err(|_| Error::unsupported("too many rows"))?;
            sources[base].whole = Some(DataFrame::new(height, columns).map_err(|error| refused("with_sources", &error))?);
        }
        Ok(Self { frame: self.frame.clone(), sources: sources.into() })
    }
}
