//! Decoded blocks to the rows asked for: consecutive rows of a block are one slice, slices are joined once.

use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_select::concat::concat;

use super::plan::GroupPlan;
use crate::{
    error::{Error, Result},
    schema::ColumnType,
};

/// One column of the result: `blocks[b]` holds the rows of the plan's block `b`.
///
/// A result that is exactly one block is that block's array, without copying; any other one is copied, so that a few rows never
/// keep a large buffer alive.
///
/// # Errors
/// `Unsupported` where the rows do not fit one Arrow array.
pub(super) fn assemble(plan: &GroupPlan, ty: &ColumnType, blocks: &[&ArrayRef]) -> Result<ArrayRef> {
    let slices = slices(plan)?;
    if let [Slice::Rows { block, start: 0, len }] = slices.as_slice()
        && let Some(array) = blocks.get(*block).filter(|array| array.len() == *len)
    {
        return Ok(ArrayRef::clone(array));
    }
    let mut parts: Vec<ArrayRef> = Vec::with_capacity(slices.len());
    for slice in &slices {
        parts.push(match slice {
            Slice::Missing(rows) => new_null_array(&ty.arrow(), *rows),
            Slice::Rows { block, start, len } => {
                let array = blocks.get(*block).filter(|array| start + len <= array.len());
                array.ok_or_else(|| Error::internal("a row outside its block"))?.slice(*start, *len)
            }
        });
    }
    if parts.is_empty() {
        return Ok(new_null_array(&ty.arrow(), 0));
    }
    let parts: Vec<&dyn Array> = parts.iter().map(|part| part.as_ref()).collect();
    concat(&parts).map_err(|error| Error::unsupported(format!("{} rows of type {ty} in one array: {error}", plan.rows.len())))
}

enum Slice {
    Missing(usize),
    Rows { block: usize, start: usize, len: usize },
}

fn slices(plan: &GroupPlan) -> Result<Vec<Slice>> {
    let mut slices: Vec<Slice> = Vec::new();
    for row in &plan.rows {
        match (slices.last_mut(), row) {
            (Some(Slice::Missing(rows)), None) => *rows += 1,
            (Some(Slice::Rows { block, start, len }), Some((next, row))) if block == next && *start + *len == *row => *len += 1,
            (_, None) => slices.push(Slice::Missing(1)),
            (_, Some((block, row))) => slices.push(Slice::Rows { block: *block, start: *row, len: 1 }),
        }
    }
    Ok(slices)
}
