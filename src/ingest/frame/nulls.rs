//! Structs that are not null although all their fields are null. The columns of a table are the fields of its structs, so without
//! a further column such a struct could not be told from a null one. A frame that has such structs gets a column
//! `NAME.is_null` for them, from which an export makes the same structs again.

use std::{collections::BTreeSet, sync::Arc};

use arrow_array::{Array, ArrayRef, OffsetSizeTrait, RecordBatch, cast::AsArray};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field};
use parquet::{
    arrow::arrow_reader::ArrowReaderMetadata,
    file::metadata::{ParquetMetaData, RowGroupMetaData},
};

use super::columns::{type_of, under};
use crate::error::Result;

/// Adds the names of structs in the top-level field `root` of which a row is not null, although all its fields are null.
pub(super) fn find(batch: &RecordBatch, root: &str, found: &mut BTreeSet<String>) -> Result<()> {
    if let Some((number, field)) = batch.schema().column_with_name(root) {
        valid(field, batch.column(number), root, found)?;
    }
    Ok(())
}

/// Returns the rows that an export without further columns makes valid.
fn valid(field: &Field, array: &ArrayRef, name: &str, found: &mut BTreeSet<String>) -> Result<Option<NullBuffer>> {
    if type_of(field).is_some() {
        return Ok(array.logical_nulls());
    }
    match field.data_type() {
        DataType::Struct(fields) if !fields.is_empty() => {
            let parts = array.as_struct();
            let mut any = BooleanBuffer::new_unset(array.len());
            for (field, values) in fields.iter().zip(parts.columns()) {
                let name = format!("{name}.{}", field.name());
                any = match valid(field, &under(values, parts.nulls())?, &name, found)? {
                    Some(nulls) => &any | nulls.inner(),
                    None => BooleanBuffer::new_set(array.len()),
                };
            }
            if (0..array.len()).any(|row| parts.is_valid(row) && !any.value(row)) {
                found.insert(name.to_owned());
            }
            Ok(Some(NullBuffer::new(any)))
        }
        DataType::List(item) => {
            let list = array.as_list::<i32>();
            valid(item, &items_in_lists(list.values(), list.offsets(), array.nulls())?, name, found)?;
            Ok(array.nulls().cloned())
        }
        DataType::LargeList(item) => {
            let list = array.as_list::<i64>();
            valid(item, &items_in_lists(list.values(), list.offsets(), array.nulls())?, name, found)?;
            Ok(array.nulls().cloned())
        }
        DataType::Map(entries, _) => {
            if let DataType::Struct(parts) = entries.data_type()
                && let Some(value) = parts.get(1)
            {
                let map = array.as_map();
                valid(value, &items_in_lists(map.values(), map.offsets(), array.nulls())?, &format!("{name}.value"), found)?;
            }
            Ok(array.nulls().cloned())
        }
        _ => Ok(array.logical_nulls()),
    }
}

/// Returns the items with nulls in place of those that no valid list holds: a null list may lie over items, too.
fn items_in_lists<O: OffsetSizeTrait>(
    items: &ArrayRef,
    offsets: &OffsetBuffer<O>,
    lists: Option<&NullBuffer>,
) -> Result<ArrayRef> {
    let mut is_used = BooleanBufferBuilder::new(items.len());
    is_used.append_n(items.len(), false);
    for (row, ends) in offsets.windows(2).enumerate() {
        if lists.is_none_or(|lists| lists.is_valid(row)) {
            (ends[0].as_usize()..ends[1].as_usize()).for_each(|item| is_used.set_bit(item, true));
        }
    }
    under(items, Some(&NullBuffer::new(is_used.finish())))
}

/// Whether the statistics of a Parquet file say that no struct in a top-level field has only nulls.
pub(super) fn has_values(metadata: &ArrowReaderMetadata, root: &str) -> bool {
    let metadata: &Arc<ParquetMetaData> = metadata.metadata();
    let columns = metadata.file_metadata().schema_descr().columns();
    let leaves = columns.iter().enumerate();
    let leaves: Vec<_> = leaves.filter(|(_, leaf)| leaf.path().parts().first().is_some_and(|part| part == root)).collect();
    let is_full = |group: &RowGroupMetaData, leaf: usize| {
        let statistics = group.columns().get(leaf).and_then(|column| column.statistics());
        statistics.and_then(|statistics| statistics.null_count_opt()) == Some(0)
    };
    // One field without nulls is enough if all of them are fields of the same struct.
    let is_flat = leaves.iter().all(|(_, leaf)| leaf.path().parts().len() == 2 && leaf.max_rep_level() == 0);
    metadata.row_groups().iter().all(|group| match is_flat {
        true => leaves.iter().any(|(number, _)| is_full(group, *number)),
        false => leaves.iter().all(|(number, _)| is_full(group, *number)),
    })
}
