//! The columns of a read of several tables.

use std::collections::{BTreeMap, HashMap};

use arrow_array::ArrayRef;

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

/// The arrays read from one source, by the number of the part and the column.
pub(in crate::table) type Found = BTreeMap<(usize, ColumnId), ArrayRef>;

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

/// Checks that index columns have one type in all tables.
///
/// # Errors
/// - `Invalid`: a column has several types.
pub(super) fn ensure_one_type(columns: &[Wanted]) -> Result<()> {
    match columns.iter().find(|column| column.is_mixed) {
        Some(column) => Err(Error::invalid(format!(
            "index column `{}` has different types in the concatenated tables: read it from the frame instead",
            column.name
        ))),
        None => Ok(()),
    }
}
