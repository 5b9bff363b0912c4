//! Views: versions whose rows refer to rows of other tables. Follows `format-spec/views.md#members`.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{join::read_join, locator::Locator};
use crate::{
    error::{Error, Result, counted, short},
    id::ObjectRef,
    schema::{ColumnId, ColumnType, Primitive, Schema},
};

/// Maximum number of sources of a view.
const MAX_SOURCES: usize = 4096;
/// Maximum length of a column name in bytes.
const MAX_NAME: usize = 1024;

/// The sources of a view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// The source tables, in the order in which they were combined.
    pub sources: Vec<ViewSource>,
}

/// A table version that a view takes rows from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewSource {
    /// Position of the table in the `stores` of the manifest, from 1.
    pub store: u32,
    /// Number of rows of the source.
    pub rows: u64,
    /// Index column of the view with the row of the source for each row of the view.
    pub row: ColumnId,
    /// Number of the base: the source whose row order windows follow. A source is its own base, or was merged into its base.
    pub base: usize,
    /// Join map from rows of the base to rows of this source; `None` for a base.
    #[serde(deserialize_with = "Option::deserialize")]
    pub join: Option<ObjectRef>,
    /// Object that says which rows of the source form a list.
    #[serde(deserialize_with = "Option::deserialize")]
    pub lists: Option<ObjectRef>,
    /// Group columns of the source, with their names in the view.
    pub columns: Vec<ViewColumn>,
    /// Index columns of the source, with their names in the view.
    pub index: Vec<ViewIndexColumn>,
}

impl ViewSource {
    /// Returns the objects that map the rows of the source: its join map and its lists.
    pub fn maps(&self) -> impl Iterator<Item = &ObjectRef> {
        self.join.iter().chain(&self.lists)
    }
}

/// A group column of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewColumn {
    /// Id of the column in the source.
    pub id: ColumnId,
    /// Name of the column in the view.
    pub name: String,
    /// Type of the column in the source.
    #[serde(rename = "type", with = "type_text")]
    pub ty: ColumnType,
}

/// An index column of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewIndexColumn {
    /// Id of the column in the source.
    pub id: ColumnId,
    /// Name of the column in the view.
    pub name: String,
}

impl ViewSource {
    /// Returns the type of a column in the view: a list of the source type if rows of the source form lists.
    pub fn type_of(&self, column: &ViewColumn) -> ColumnType {
        match self.lists {
            Some(_) => ColumnType::List(Box::new(column.ty.clone())),
            None => column.ty.clone(),
        }
    }
}

impl View {
    /// Checks the view against its manifest: the number of `stores`, the schema, and whether the segments are one sequence.
    pub(super) fn check(&self, stores: usize, schema: &Schema, one_sequence: bool) -> Result<()> {
        let wrong = |why: String| Err(Error::corrupt(format!("manifest: view: {why}")));
        if !(1..=MAX_SOURCES).contains(&self.sources.len()) {
            return wrong(format!("{} sources, expected 1 to {MAX_SOURCES}", self.sources.len()));
        }
        if !schema.groups().is_empty() || schema.sequence_by().len() + schema.order_by().len() > 0 || !one_sequence {
            return wrong("a view cannot have column groups or sequences of its own".to_owned());
        }
        let mut rows = BTreeSet::new();
        let mut types: BTreeMap<&str, ColumnType> = BTreeMap::new();
        for (number, source) in self.sources.iter().enumerate() {
            let here = |why: String| wrong(format!("source {number}: {why}"));
            if !(1..=stores).contains(&(source.store as usize)) {
                return here(format!("store {} of {stores}", source.store));
            }
            if source.rows > Locator::MAX_ROWS {
                return here(format!("{}, expected at most {}", counted(source.rows, "row"), Locator::MAX_ROWS));
            }
            let base = self.sources.get(source.base).map(|base| base.base);
            if source.base > number || base != Some(source.base) || source.join.is_some() != (source.base < number) {
                return here(format!(
                    "its base is {}, its join map {:?}; only a base is its own base, and only a base has no join map",
                    source.base,
                    source.join.as_ref().map(|join| join.blake3)
                ));
            }
            let column = schema.index().find(|column| column.id == source.row);
            if column.is_none_or(|column| column.ty != ColumnType::Scalar(Primitive::I64)) || !rows.insert(source.row) {
                return here(format!("row column {}: it must be an index column of its own, of type i64", source.row.0));
            }
            let found = twice(source.columns.iter().map(|column| (column.id, column.name.as_str())))
                .or_else(|| twice(source.index.iter().map(|column| (column.id, column.name.as_str()))));
            if let Some(name) = found {
                return here(format!("column `{name}` appears twice, or its name is too long"));
            }
            for column in &source.columns {
                let ty = source.type_of(column);
                if source.lists.is_some() && ty.to_string().parse::<ColumnType>().is_err() {
                    return here(format!("column `{}`: {ty} is not a supported type", short(&column.name)));
                }
                match types.insert(&column.name, ty.clone()) {
                    Some(existing) if existing != ty => {
                        return here(format!("column `{}` is {ty}, but {existing} in an earlier source", short(&column.name)));
                    }
                    _ => {}
                }
            }
        }
        match rows.len() < schema.index().len() {
            true => Ok(()),
            false => wrong("it has no index columns other than row columns".to_owned()),
        }
    }
}

/// Returns the name of the first column with a duplicate id, a duplicate name, or a name of invalid length.
fn twice<'a>(mut columns: impl Iterator<Item = (ColumnId, &'a str)>) -> Option<String> {
    let (mut ids, mut names) = (BTreeSet::new(), BTreeSet::new());
    let wrong =
        |(id, name): &(ColumnId, &'a str)| !ids.insert(*id) || !names.insert(*name) || !(1..=MAX_NAME).contains(&name.len());
    columns.find(wrong).map(|(_, name)| short(name))
}

/// Reads, for each of `rows` rows, the first row of its list (`format-spec/views.md#lists`).
///
/// # Errors
/// - `Corrupt`: the file is not a join map of a table with itself, or a first row does not belong to its own list.
pub fn read_lists(bytes: Bytes, rows: u64) -> Result<Vec<Option<u64>>> {
    let firsts = read_join(bytes, rows, rows)?;
    for (row, first) in firsts.iter().enumerate() {
        let Some(first) = first else { continue };
        let of_first = usize::try_from(*first).ok().and_then(|first| firsts.get(first)).copied().flatten();
        if of_first != Some(*first) || *first > row as u64 {
            return Err(Error::corrupt(format!(
                "lists: row {row} is in the list of row {first}, which is in that of {of_first:?}"
            )));
        }
    }
    Ok(firsts)
}

mod type_text {
    //! Serializes a type as its text.
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    use crate::schema::ColumnType;

    pub(super) fn serialize<S: Serializer>(ty: &ColumnType, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(ty)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ColumnType, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
