//! Assembles the result of a read from the arrays of its sources.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{Schema as ArrowSchema, SchemaRef};
use arrow_select::interleave::interleave;

use super::{
    rows::Rows,
    select::Slots,
    source::LoaderSource,
    wanted::{Found, Wanted},
};
use crate::{
    error::{Error, Result},
    schema::ColumnType,
};

/// The schema and the types of the columns of a result.
#[derive(Clone, Copy)]
pub(super) struct Described<'a> {
    pub(super) schema: &'a SchemaRef,
    pub(super) types: &'a Arc<[ColumnType]>,
}

/// Assembles the rows of a part of a read: `columns` at `slots`. `found` has the arrays of each source; those of this part, whose
/// number is `place`, are taken out of it. `described` describes the columns if that is prepared.
///
/// # Errors
/// - `Unsupported`: a column does not fit in one Arrow array.
pub(super) fn result(
    sources: &[LoaderSource],
    place: usize,
    columns: &[&Wanted],
    described: Option<Described<'_>>,
    slots: &Slots,
    found: &mut [Found],
) -> Result<Rows> {
    let len = slots.len();
    let mut arrays = Vec::with_capacity(columns.len());
    for column in columns {
        let array = array_of(sources, place, column, slots, found)?;
        debug_assert_eq!(array.len(), len);
        arrays.push(array);
    }
    let (schema, types) = match described {
        Some(Described { schema, types }) => (Arc::clone(schema), Arc::clone(types)),
        None => {
            let fields: Vec<_> = columns.iter().map(|column| column.ty.arrow_field(&column.name)).collect();
            (Arc::new(ArrowSchema::new(fields)), columns.iter().map(|column| column.ty.clone()).collect())
        }
    };
    let options = RecordBatchOptions::new().with_row_count(Some(len));
    let batch = RecordBatch::try_new_with_options(schema, arrays, &options);
    let batch = batch.map_err(|error| Error::internal(error.to_string()))?;
    if let [only] = slots.of.as_slice() {
        return Ok(Rows::new(batch, types, only.clone()));
    }
    let there = |source: usize, row: usize| slots.of.get(source).and_then(|rows| rows.get(row)).copied().flatten();
    let bases = sources.iter().enumerate().filter(|(number, source)| source.base == *number);
    let bases: Vec<usize> = bases.map(|(number, _)| number).collect();
    let rows = (0..len).map(|row| bases.iter().find_map(|base| there(*base, row))).collect();
    let partners = columns
        .iter()
        .map(|column| (0..len).map(|row| column.origins.iter().any(|(source, _)| there(*source, row).is_some())).collect());
    Ok(Rows::new(batch, types, rows).with_partners(partners.collect()))
}

/// Returns the rows of a read of one table.
///
/// # Errors
/// - `Internal`: the arrays do not fit the schema.
pub(super) fn rows_of_one(Described { schema, types }: Described<'_>, arrays: Vec<ArrayRef>, mut slots: Slots) -> Result<Rows> {
    let options = RecordBatchOptions::new().with_row_count(Some(slots.len()));
    let batch = RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options);
    let batch = batch.map_err(|error| Error::internal(error.to_string()))?;
    Ok(Rows::new(batch, Arc::clone(types), slots.of.pop().unwrap_or_default()))
}

/// Takes the arrays of a column from all sources, and joins them.
fn array_of(sources: &[LoaderSource], place: usize, column: &Wanted, slots: &Slots, found: &mut [Found]) -> Result<ArrayRef> {
    let mut origins = Vec::new();
    for (source, id) in &column.origins {
        let Some(array) = found.get_mut(*source).and_then(|found| found.remove(&(place, *id))) else { continue };
        let lists = sources.get(*source).and_then(|source| source.lists.as_ref());
        let array = match (lists, slots.of.get(*source)) {
            (Some(lists), Some(slots)) => lists.arrays(slots, array)?,
            _ => array,
        };
        if column.origins.len() == 1 {
            return Ok(array);
        }
        origins.push((*source, array));
    }
    match origins.as_slice() {
        [] => Ok(new_null_array(&column.ty.arrow(), slots.len())),
        [(_, array)] => Ok(ArrayRef::clone(array)),
        several => one_below_the_other(several, slots),
    }
}

/// Joins a column of concatenated tables: each row comes from the first source that has the row.
fn one_below_the_other(origins: &[(usize, ArrayRef)], slots: &Slots) -> Result<ArrayRef> {
    let there = |source: usize, row: usize| slots.of.get(source).and_then(|rows| rows.get(row)).is_some_and(Option::is_some);
    let rows: Vec<(usize, usize)> =
        (0..slots.len()).map(|row| (origins.iter().position(|(source, _)| there(*source, row)).unwrap_or(0), row)).collect();
    let arrays: Vec<&dyn Array> = origins.iter().map(|(_, array)| array.as_ref()).collect();
    interleave(&arrays, &rows).map_err(|error| Error::unsupported(format!("rows of several tables in one array: {error}")))
}
