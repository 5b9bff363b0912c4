//! Converts stored values to the Arrow types that other tools expect: lists of numbers become Arrow lists instead of tensors.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, FixedSizeListArray, LargeListArray, cast::AsArray, types::Int32Type};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{ArrowError, DataType, Field};

use crate::{
    error::{Error, Result},
    schema::ColumnType,
};

/// Returns the exported Arrow type. `top` is false inside of lists.
pub(super) fn natural_type(ty: &ColumnType, top: bool) -> DataType {
    match ty {
        ColumnType::Tensor { element, shape } => match fixed_behind(shape) {
            Some(inner) => DataType::LargeList(item(nested_type(element.arrow(), &inner))),
            None if !top && ty.fixed_elements().is_some() => nested_type(element.arrow(), &extents(shape)),
            None => ty.arrow(),
        },
        ColumnType::List(inner) => DataType::LargeList(item(natural_type(inner, false))),
        other => other.arrow(),
    }
}

/// Converts values to the type of [`natural_type`].
///
/// # Errors
/// - `Internal`: the values do not have the column's type.
/// - `Unsupported`: a list has items without elements.
pub(super) fn natural(ty: &ColumnType, array: &ArrayRef, top: bool) -> Result<ArrayRef> {
    match ty {
        ColumnType::Tensor { shape, .. } => match fixed_behind(shape) {
            Some(inner) => listed(array, shape.len(), &inner),
            None if !top && ty.fixed_elements().is_some() => {
                let list = array.as_fixed_size_list();
                let values = nested(list.values(), extents(shape).get(1..).unwrap_or_default())?;
                let size = extents(shape).first().copied().unwrap_or(1);
                let list = FixedSizeListArray::try_new_with_length(
                    item(values.data_type().clone()),
                    size,
                    values,
                    list.nulls().cloned(),
                    list.len(),
                );
                Ok(Arc::new(list.map_err(unfit)?))
            }
            None => Ok(Arc::clone(array)),
        },
        ColumnType::List(inner) => {
            let list = array.as_list::<i64>();
            let items = natural(inner, list.values(), false)?;
            let list =
                LargeListArray::try_new(item(items.data_type().clone()), list.offsets().clone(), items, list.nulls().cloned());
            Ok(Arc::new(list.map_err(unfit)?))
        }
        _ => Ok(Arc::clone(array)),
    }
}

/// Returns the inner extents of a tensor whose only variable dimension is the first one.
fn fixed_behind(shape: &[Option<u32>]) -> Option<Vec<i32>> {
    match shape.split_first()? {
        (None, inner) if inner.iter().all(Option::is_some) => Some(extents(inner)),
        _ => None,
    }
}

fn extents(shape: &[Option<u32>]) -> Vec<i32> {
    shape.iter().flatten().map(|extent| i32::try_from(*extent).unwrap_or(i32::MAX)).collect()
}

fn item(ty: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", ty, true))
}

/// Returns the type of nested fixed-size lists. The last extent is the innermost.
fn nested_type(element: DataType, extents: &[i32]) -> DataType {
    extents.iter().rev().fold(element, |ty, extent| DataType::FixedSizeList(item(ty), *extent))
}

fn nested(elements: &ArrayRef, extents: &[i32]) -> Result<ArrayRef> {
    let mut values = Arc::clone(elements);
    for (axis, extent) in extents.iter().enumerate().rev() {
        let inside: usize = extents[axis..].iter().map(|extent| *extent as usize).product();
        let Some(lists) = elements.len().checked_div(inside) else {
            return Err(Error::unsupported("cannot export a list of values without elements; leave the column out"));
        };
        let list = FixedSizeListArray::try_new_with_length(item(values.data_type().clone()), *extent, values, None, lists);
        values = Arc::new(list.map_err(unfit)?);
    }
    Ok(values)
}

/// Converts tensors whose only variable dimension is the first one to lists.
fn listed(array: &ArrayRef, rank: usize, inner: &[i32]) -> Result<ArrayRef> {
    let parts = array.as_struct();
    let (data, shapes) = (parts.column(0).as_list::<i64>(), parts.column(1).as_fixed_size_list());
    let shapes = shapes.values().as_primitive::<Int32Type>();
    let extent = |row: usize| match array.is_valid(row) {
        true => usize::try_from(shapes.value(row * rank)).unwrap_or(0),
        false => 0,
    };
    let offsets = OffsetBuffer::<i64>::from_lengths((0..array.len()).map(extent));
    let (first, last) = (data.value_offsets()[0] as usize, data.value_offsets()[array.len()] as usize);
    let items = nested(&data.values().slice(first, last - first), inner)?;
    let list = LargeListArray::try_new(item(items.data_type().clone()), offsets, items, parts.nulls().cloned());
    Ok(Arc::new(list.map_err(unfit)?))
}

fn unfit(error: ArrowError) -> Error {
    Error::internal(error.to_string())
}
