//! The schema of a version as readers see it, and the rows of a view: of a view, the columns of its tables beside its own index.

use std::{collections::BTreeMap, sync::Arc};

use super::lists::Lists;
use crate::{
    format::Manifest,
    schema::{Column, ColumnGroup, ColumnId, Schema},
};

/// The rows of the sources that a view refers to. Each list has one entry for each source.
#[derive(Debug)]
pub(super) struct ViewRows {
    /// The row for each row of the view.
    pub(super) at: Vec<Arc<[i64]>>,
    /// The row for each row of the base; none of a base.
    pub(super) partners: Vec<Option<Arc<[i64]>>>,
    /// The rows that are lists together.
    pub(super) lists: Vec<Option<Arc<Lists>>>,
}

/// The schema that the user of a table sees. Of a view: its index without the row columns, and a column group for each source,
/// named after where it lies.
pub(super) fn seen_schema(manifest: &Manifest) -> Schema {
    let Some(view) = &manifest.view else { return manifest.schema.clone() };
    let rows = |id: ColumnId| view.sources.iter().any(|source| source.row == id);
    let mut columns: Vec<Column> = manifest.schema.index().filter(|column| !rows(column.id)).cloned().collect();
    let index: Vec<ColumnId> = columns.iter().map(|column| column.id).collect();
    let mut next = manifest.schema.columns().iter().map(|column| column.id.0).max().unwrap_or_default();
    let mut groups: Vec<ColumnGroup> = Vec::new();
    for source in &view.sources {
        let mut members = Vec::new();
        for column in &source.columns {
            let held = columns.iter().find(|held| held.name == column.name).map(|held| held.id);
            let id = held.unwrap_or_else(|| {
                next = next.saturating_add(1);
                let (id, name) = (ColumnId(next), column.name.clone());
                columns.push(Column { id, name, ty: source.type_of(column), properties: BTreeMap::new() });
                id
            });
            // A column of the index that has the same name is the one that is seen.
            if !index.contains(&id) {
                members.push(id);
            }
        }
        let url = manifest.stores.get((source.store as usize).saturating_sub(1)).and_then(|store| store.urls.first());
        let last = url.and_then(|url| url.rsplit('/').find(|part| !part.is_empty() && *part != "..")).unwrap_or("source");
        let mut name = last.to_owned();
        while groups.iter().any(|group| group.name == name) {
            name.push('\'');
        }
        if !members.is_empty() {
            groups.push(ColumnGroup { name, columns: members, masked: Vec::new() });
        }
    }
    // Over some limit of a schema, the index alone is shown.
    let stored = || manifest.schema.clone();
    Schema::from_parts(columns, groups, index, Vec::new(), Vec::new()).unwrap_or_else(|_| stored())
}

/// The places of the index columns that a user of the view sees: all but the row columns.
pub(super) fn seen_columns(manifest: &Manifest) -> Vec<usize> {
    let rows = |id| manifest.view.as_ref().is_some_and(|view| view.sources.iter().any(|source| source.row == id));
    let places = manifest.schema.index().enumerate().filter(|(_, column)| !rows(column.id));
    places.map(|(place, _)| place).collect()
}
