//! The schema of a version as readers see it. The schema of a view has the columns of its source tables in addition to its own
//! index columns.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use super::lists::Lists;
use crate::{
    format::Manifest,
    schema::{Column, ColumnGroup, ColumnId, Schema},
};

/// The source rows to which a view refers. Each field has one entry for each source.
#[derive(Debug)]
pub(in crate::table) struct ViewRows {
    /// The source row for each row of the view; -1 means that there is none.
    pub(in crate::table) at: Vec<Arc<[i64]>>,
    /// The source row for each row of the base; -1 means that there is none. `None` for a base.
    pub(in crate::table) partners: Vec<Option<Arc<[i64]>>>,
    /// The lists of the source, if its rows are read as lists.
    pub(in crate::table) lists: Vec<Option<Arc<Lists>>>,
}

/// Returns the schema that the user of a table sees. A view shows its index columns without the row columns, and one column group
/// for each source. The name of the group comes from the URL of the source.
pub(in crate::table) fn seen_schema(manifest: &Manifest) -> Schema {
    let Some(view) = &manifest.view else { return manifest.schema.clone() };
    let rows = |id: ColumnId| view.sources.iter().any(|source| source.row == id);
    let mut columns: Vec<Column> = manifest.schema.index().filter(|column| !rows(column.id)).cloned().collect();
    let index: Vec<ColumnId> = columns.iter().map(|column| column.id).collect();
    let mut next = manifest.schema.columns().iter().map(|column| column.id.0).max().unwrap_or_default();
    let mut groups: Vec<ColumnGroup> = Vec::new();
    for source in &view.sources {
        let mut members = Vec::new();
        for column in &source.columns {
            let known = columns.iter().find(|known| known.name == column.name).map(|known| known.id);
            let id = known.unwrap_or_else(|| {
                next = next.saturating_add(1);
                let (id, name) = (ColumnId(next), column.name.clone());
                columns.push(Column { id, name, ty: source.type_of(column), properties: BTreeMap::new() });
                id
            });
            // An index column of the same name hides the group column.
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
    // If the result exceeds a limit of schemas, only the stored schema, the index, is shown.
    let stored = || manifest.schema.clone();
    Schema::from_parts(columns, groups, index, Vec::new(), Vec::new()).unwrap_or_else(|_| stored())
}

/// Returns the places of the index columns that the user of a table sees: all index columns except the row columns of a view.
pub(in crate::table) fn seen_columns(manifest: &Manifest) -> Vec<usize> {
    let rows = |id| manifest.view.as_ref().is_some_and(|view| view.sources.iter().any(|source| source.row == id));
    let places = manifest.schema.index().enumerate().filter(|(_, column)| !rows(column.id));
    places.map(|(place, _)| place).collect()
}

/// Returns the names of the index columns that the user of a table sees. Older writers left group columns of
/// these names in views: the index columns hide them. Follows `format-spec/views.md#members`.
pub(in crate::table) fn seen_index_names(manifest: &Manifest) -> HashSet<&str> {
    let index: Vec<&Column> = manifest.schema.index().collect();
    let seen = seen_columns(manifest).into_iter().filter_map(|place| index.get(place).copied());
    seen.map(|column| column.name.as_str()).collect()
}
