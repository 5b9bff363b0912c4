//! The columns and rows of a read of several tables.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap},
};

use arrow_array::ArrayRef;
use arrow_select::interleave::interleave;

use super::source::Slots;
use crate::{
    error::{Error, Result},
    schema::{ColumnId, ColumnType},
};

/// A column to be read.
#[derive(Clone, Debug)]
pub(in crate::table) struct Wanted {
    pub(in crate::table) name: String,
    pub(in crate::table) ty: ColumnType,
    /// The sources that hold the column, and its id in each. A column of concatenated tables has several.
    pub(in crate::table) origins: Vec<(usize, ColumnId)>,
    /// Whether it is an index column.
    pub(in crate::table) of_index: bool,
    /// Whether another source has an index column of this name with another type.
    pub(in crate::table) is_mixed: bool,
}

impl Wanted {
    pub(in crate::table) fn is_stored_in(&self, source: usize) -> bool {
        !self.of_index && self.origins.iter().any(|(origin, _)| *origin == source)
    }
}

/// A part of a read: columns, by their indexes in the columns of the loader, at rows.
pub(in crate::table) struct Part<'a> {
    pub(in crate::table) columns: Vec<usize>,
    pub(in crate::table) slots: &'a Slots,
}

/// The arrays read from one source, by the number of the part and the column.
pub(in crate::table) type Found = BTreeMap<(usize, ColumnId), ArrayRef>;

/// Returns the columns of all parts, each once.
pub(in crate::table) fn distinct<'a>(parts: &'a [Part<'_>]) -> Cow<'a, [usize]> {
    match parts {
        [only] => Cow::Borrowed(&only.columns),
        several => {
            let columns: BTreeSet<usize> = several.iter().flat_map(|part| &part.columns).copied().collect();
            Cow::Owned(columns.into_iter().collect())
        }
    }
}

/// Groups columns by name, each with all of its origins. An index column's origin of another type than the first is left out.
pub(in crate::table) fn named<'a>(
    columns: impl Iterator<Item = (usize, &'a str, ColumnId, ColumnType)>,
    of_index: bool,
) -> Vec<Wanted> {
    let mut found: Vec<Wanted> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (number, name, id, ty) in columns {
        if let Some(column) = places.get(name).and_then(|place| found.get_mut(*place)) {
            match !of_index || column.ty == ty {
                true => column.origins.push((number, id)),
                false => column.is_mixed = true,
            }
        } else {
            places.insert(name, found.len());
            found.push(Wanted { name: name.to_owned(), ty, origins: vec![(number, id)], of_index, is_mixed: false });
        }
    }
    found
}

/// Assembles a column of concatenated tables: each row comes from the first source that has the row.
pub(in crate::table) fn one_below_the_other(origins: &[(usize, ArrayRef)], slots: &Slots) -> Result<ArrayRef> {
    let there = |source: usize, row: usize| slots.of.get(source).and_then(|rows| rows.get(row)).is_some_and(Option::is_some);
    let rows: Vec<(usize, usize)> =
        (0..slots.len()).map(|row| (origins.iter().position(|(source, _)| there(*source, row)).unwrap_or(0), row)).collect();
    let arrays: Vec<&dyn arrow_array::Array> = origins.iter().map(|(_, array)| array.as_ref()).collect();
    interleave(&arrays, &rows).map_err(|error| Error::unsupported(format!("rows of several tables in one array: {error}")))
}
