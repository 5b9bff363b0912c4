//! Views: versions whose rows are rows of other tables. Follows `format-spec/views.md#members`.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{join::read_join, locator::Locator};
use crate::{
    error::{Error, Result, counted, short},
    id::ObjectRef,
    schema::{ColumnId, ColumnType, Primitive, Schema},
};

/// A view has at most this many sources.
const MAX_SOURCES: usize = 4096;
/// Names of columns are at most this long, in bytes.
const MAX_NAME: usize = 1024;

/// Where the rows of a view are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// The tables, in the order in which they were put together.
    pub sources: Vec<ViewSource>,
}

/// A table version that a view takes rows from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewSource {
    /// Which of the manifest's `stores`, from 1.
    pub store: u32,
    /// Its rows.
    pub rows: u64,
    /// The index column of the view that holds its row for each row of the view.
    pub row: ColumnId,
    /// The number of the source whose rows windows follow: its own, or that of the one it was merged into.
    pub base: usize,
    /// Its row for each row of the base; none of a base itself.
    #[serde(deserialize_with = "Option::deserialize")]
    pub join: Option<ObjectRef>,
    /// Which of its rows are lists together.
    #[serde(deserialize_with = "Option::deserialize")]
    pub lists: Option<ObjectRef>,
    /// Its group columns, under their names in the view.
    pub columns: Vec<ViewColumn>,
    /// Its index columns, likewise.
    pub index: Vec<ViewIndexColumn>,
}

impl ViewSource {
    /// The objects that map its rows: its join map and its lists.
    pub fn maps(&self) -> impl Iterator<Item = &ObjectRef> {
        self.join.iter().chain(&self.lists)
    }
}

/// A group column of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewColumn {
    /// Its id in the source.
    pub id: ColumnId,
    /// Its name in the view.
    pub name: String,
    /// Its type in the source.
    #[serde(rename = "type", with = "type_text")]
    pub ty: ColumnType,
}

/// An index column of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewIndexColumn {
    /// Its id in the source.
    pub id: ColumnId,
    /// Its name in the view.
    pub name: String,
}

impl ViewSource {
    /// The type that a column has in the view: a list where rows are lists.
    pub fn type_of(&self, column: &ViewColumn) -> ColumnType {
        match self.lists {
            Some(_) => ColumnType::List(Box::new(column.ty.clone())),
            None => column.ty.clone(),
        }
    }
}

impl View {
    /// Checks what follows from the manifest alone: `stores` of them, and the schema and the runs of sequences of its segments.
    pub(super) fn check(&self, stores: usize, schema: &Schema, one_sequence: bool) -> Result<()> {
        let wrong = |why: String| Err(Error::corrupt(format!("manifest: view: {why}")));
        if !(1..=MAX_SOURCES).contains(&self.sources.len()) {
            return wrong(format!("{} sources, expected 1 to {MAX_SOURCES}", self.sources.len()));
        }
        if !schema.groups().is_empty() || schema.sequence_by().len() + schema.order_by().len() > 0 || !one_sequence {
            return wrong("it has column groups or sequences of its own".to_owned());
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
                    "its base is {}, its join map {:?}",
                    source.base,
                    source.join.as_ref().map(|join| join.blake3)
                ));
            }
            let column = schema.index().find(|column| column.id == source.row);
            if column.is_none_or(|column| column.ty != ColumnType::Scalar(Primitive::I64)) || !rows.insert(source.row) {
                return here(format!("index column {} as its row column: not an i64 of its own", source.row.0));
            }
            let found = twice(source.columns.iter().map(|column| (column.id, column.name.as_str())))
                .or_else(|| twice(source.index.iter().map(|column| (column.id, column.name.as_str()))));
            if let Some(name) = found {
                return here(format!("column `{name}` is there twice, or its name is too long"));
            }
            for column in &source.columns {
                let ty = source.type_of(column);
                if source.lists.is_some() && ty.to_string().parse::<ColumnType>().is_err() {
                    return here(format!("column `{}` as {ty}", short(&column.name)));
                }
                match types.insert(&column.name, ty.clone()) {
                    Some(held) if held != ty => {
                        return here(format!("column `{}` is {ty}, in a source before {held}", short(&column.name)));
                    }
                    _ => {}
                }
            }
        }
        match rows.len() < schema.index().len() {
            true => Ok(()),
            false => wrong("no index column but row columns".to_owned()),
        }
    }
}

/// The first of the columns whose id or name was there before, or whose name is too long.
fn twice<'a>(mut columns: impl Iterator<Item = (ColumnId, &'a str)>) -> Option<String> {
    let (mut ids, mut names) = (BTreeSet::new(), BTreeSet::new());
    let wrong =
        |(id, name): &(ColumnId, &'a str)| !ids.insert(*id) || !names.insert(*name) || !(1..=MAX_NAME).contains(&name.len());
    columns.find(wrong).map(|(_, name)| short(name))
}

/// The first row of the list that each of `rows` rows is in (`format-spec/views.md#lists`).
///
/// # Errors
/// `Corrupt` where the file is no join map of a table with itself, or a first row is not in its list.
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
    //! A type as its text.
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    use crate::schema::ColumnType;

    pub(super) fn serialize<S: Serializer>(ty: &ColumnType, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(ty)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ColumnType, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
