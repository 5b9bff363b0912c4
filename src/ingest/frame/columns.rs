//! The columns of a frame: what an Arrow field is as a column, and its arrays in a form that partitions take.
//!
//! The fields of a struct are columns of their own, `image.bytes` and `image.path`; lists of numbers are tensors whose first
//! extent differs from row to row, lists of fixed size are tensors of fixed shape.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{
    Array, ArrayRef, BinaryArray, FixedSizeListArray, LargeBinaryArray, LargeListArray, LargeStringArray, ListArray, RecordBatch,
    StructArray, cast::AsArray, make_array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Fields};
use arrow_select::take::take;
use serde_json::Value;

use crate::{
    error::{Error, Result},
    schema::{ColumnType, Primitive, TimeUnit},
};

/// One column of a frame.
#[derive(Clone, Debug)]
pub(super) struct FrameColumn {
    /// Field names from the top, joined by dots.
    pub(super) name: String,
    /// What its Arrow type is here, if there is a type for it.
    pub(super) ty: Option<ColumnType>,
    /// Its Arrow type.
    pub(super) arrow: DataType,
    /// What the frame says of it: its field's metadata.
    pub(super) properties: BTreeMap<String, Value>,
    /// The field at the top.
    pub(super) root: String,
    /// The field's number in each struct below it.
    path: Vec<usize>,
}

/// Structs nest at most this deep.
const MAX_DEPTH: usize = 16;

/// The columns of a frame's fields.
///
/// # Errors
/// `Invalid` for two columns of one name.
pub(super) fn columns(fields: &Fields) -> Result<Vec<FrameColumn>> {
    let mut columns = Vec::new();
    for field in fields {
        push(field, field.name(), field.name(), Vec::new(), &mut columns);
    }
    let mut names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair.first() == pair.last()) {
        Some(pair) => Err(Error::invalid(format!("column `{}` is there twice", pair[0]))),
        None => Ok(columns),
    }
}

fn push(field: &Field, name: &str, root: &str, path: Vec<usize>, columns: &mut Vec<FrameColumn>) {
    let ty = column_type(field);
    match field.data_type() {
        DataType::Struct(inner) if ty.is_none() && path.len() < MAX_DEPTH => {
            for (number, field) in inner.iter().enumerate() {
                let path = path.iter().copied().chain([number]).collect();
                push(field, &format!("{name}.{}", field.name()), root, path, columns);
            }
        }
        arrow => {
            let own = |key: &&String| !key.starts_with("ARROW:") && !key.starts_with("PARQUET:");
            let said = field.metadata().iter().filter(|(key, _)| own(key));
            columns.push(FrameColumn {
                name: name.to_owned(),
                ty,
                arrow: arrow.clone(),
                properties: said.map(|(key, value)| (key.clone(), Value::from(value.as_str()))).collect(),
                root: root.to_owned(),
                path,
            });
        }
    }
}

impl FrameColumn {
    /// The column in a batch of the frame, as partitions take it.
    ///
    /// # Errors
    /// `Invalid` where the batch has no such column, or its dictionary does not decode.
    pub(super) fn array(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        let missing = || Error::invalid(format!("column `{}` is not in every batch", self.name));
        let mut array = Arc::clone(batch.column_by_name(&self.root).ok_or_else(missing)?);
        for number in &self.path {
            let parts: &StructArray = array.as_struct_opt().ok_or_else(missing)?;
            let inner = parts.columns().get(*number).ok_or_else(missing)?;
            array = under(inner, parts.nulls())?;
        }
        plain(&array).map_err(|error| error.at(format!("column `{}`", self.name)))
    }
}

/// The array, null also where what is around it is.
fn under(array: &ArrayRef, outer: Option<&NullBuffer>) -> Result<ArrayRef> {
    let Some(outer) = outer.filter(|outer| outer.null_count() > 0) else { return Ok(Arc::clone(array)) };
    let nulls = NullBuffer::union(array.nulls(), Some(outer));
    let data = array.to_data().into_builder().nulls(nulls).build();
    data.map(make_array).map_err(|error| Error::invalid(format!("a struct that does not add up: {error}")))
}

/// What a field is as a column; `None` where no type fits.
fn column_type(field: &Field) -> Option<ColumnType> {
    let extension = field.metadata().get("ARROW:extension:name").map(String::as_str);
    match (extension, field.data_type()) {
        (Some("arrow.fixed_shape_tensor"), DataType::FixedSizeList(item, size)) => {
            let ColumnType::Scalar(element) = of_type(item.data_type())? else { return None };
            let said: Value = serde_json::from_str(field.metadata().get("ARROW:extension:metadata")?).ok()?;
            // A permutation says that the axes lie in another order than they are named.
            if said.get("permutation").is_some_and(|permutation| !permutation.is_null()) {
                return None;
            }
            let extents = said.get("shape")?.as_array()?.iter().map(|extent| u32::try_from(extent.as_u64()?).ok().map(Some));
            let tensor = ColumnType::tensor(element, extents.collect::<Option<Vec<_>>>()?);
            (tensor.fixed_elements() == u64::try_from(*size).ok()).then_some(tensor)
        }
        (Some("arrow.variable_shape_tensor"), DataType::Struct(parts)) => {
            let named = |name: &str| parts.iter().find(|part| part.name() == name).map(|part| part.data_type());
            let (DataType::List(item) | DataType::LargeList(item)) = named("data")? else { return None };
            let ColumnType::Scalar(element) = of_type(item.data_type())? else { return None };
            let DataType::FixedSizeList(_, rank) = named("shape")? else { return None };
            Some(ColumnType::tensor(element, vec![None; usize::try_from(*rank).ok()?]))
        }
        (_, data_type) => of_type(data_type),
    }
}

fn of_type(data_type: &DataType) -> Option<ColumnType> {
    let unit = |unit: &arrow_schema::TimeUnit| match unit {
        arrow_schema::TimeUnit::Second => TimeUnit::Second,
        arrow_schema::TimeUnit::Millisecond => TimeUnit::Millisecond,
        arrow_schema::TimeUnit::Microsecond => TimeUnit::Microsecond,
        arrow_schema::TimeUnit::Nanosecond => TimeUnit::Nanosecond,
    };
    Some(match data_type {
        DataType::Boolean => ColumnType::Scalar(Primitive::Bool),
        DataType::Int8 => ColumnType::Scalar(Primitive::I8),
        DataType::Int16 => ColumnType::Scalar(Primitive::I16),
        DataType::Int32 => ColumnType::Scalar(Primitive::I32),
        DataType::Int64 => ColumnType::Scalar(Primitive::I64),
        DataType::UInt8 => ColumnType::Scalar(Primitive::U8),
        DataType::UInt16 => ColumnType::Scalar(Primitive::U16),
        DataType::UInt32 => ColumnType::Scalar(Primitive::U32),
        DataType::UInt64 => ColumnType::Scalar(Primitive::U64),
        DataType::Float16 => ColumnType::Scalar(Primitive::F16),
        DataType::Float32 => ColumnType::Scalar(Primitive::F32),
        DataType::Float64 => ColumnType::Scalar(Primitive::F64),
        DataType::Date32 => ColumnType::Date,
        DataType::Timestamp(ticks, zone) => ColumnType::Timestamp(unit(ticks), zone.as_deref().map(str::to_owned)),
        DataType::Duration(ticks) => ColumnType::Duration(unit(ticks)),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => ColumnType::Utf8,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => ColumnType::Binary,
        DataType::Dictionary(_, values) => match of_type(values)? {
            ColumnType::Utf8 => ColumnType::Categorical,
            other => other,
        },
        DataType::FixedSizeList(item, size) => match (of_type(item.data_type())?, u32::try_from(*size).ok()?) {
            (ColumnType::Scalar(element), size) => ColumnType::tensor(element, [Some(size)]),
            (ColumnType::Tensor { element, shape }, size) if shape.iter().all(Option::is_some) => {
                ColumnType::tensor(element, std::iter::once(Some(size)).chain(shape).collect::<Vec<_>>())
            }
            _ => return None,
        },
        DataType::List(item) | DataType::LargeList(item) => match of_type(item.data_type())? {
            ColumnType::Scalar(element) => ColumnType::tensor(element, [None]),
            ColumnType::Tensor { element, shape } if shape.iter().all(Option::is_some) => {
                ColumnType::tensor(element, std::iter::once(None).chain(shape).collect::<Vec<_>>())
            }
            item => ColumnType::list(item),
        },
        _ => return None,
    })
}

/// The same values without the Arrow forms that partitions do not take: dictionaries, views, bytes of fixed size, text with
/// 32-bit offsets; inside lists too.
fn plain(array: &ArrayRef) -> Result<ArrayRef> {
    if let Some(dictionary) = array.as_any_dictionary_opt() {
        let decoded = take(dictionary.values(), dictionary.keys(), None);
        return plain(&decoded.map_err(|error| Error::invalid(format!("a dictionary that does not decode: {error}")))?);
    }
    Ok(match array.data_type() {
        DataType::Utf8 => Arc::new(array.as_string::<i32>().iter().collect::<LargeStringArray>()),
        DataType::Utf8View => Arc::new(array.as_string_view().iter().collect::<LargeStringArray>()),
        DataType::BinaryView => Arc::new(array.as_binary_view().iter().collect::<LargeBinaryArray>()),
        DataType::FixedSizeBinary(_) => Arc::new(array.as_fixed_size_binary().iter().collect::<BinaryArray>()),
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let items = plain(list.values())?;
            let item = Arc::new(Field::new("item", items.data_type().clone(), true));
            Arc::new(ListArray::try_new(item, list.offsets().clone(), items, list.nulls().cloned()).map_err(unfit)?)
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            let items = plain(list.values())?;
            let item = Arc::new(Field::new("item", items.data_type().clone(), true));
            Arc::new(LargeListArray::try_new(item, list.offsets().clone(), items, list.nulls().cloned()).map_err(unfit)?)
        }
        DataType::FixedSizeList(_, size) => {
            let list = array.as_fixed_size_list();
            let items = plain(list.values())?;
            let item = Arc::new(Field::new("item", items.data_type().clone(), true));
            let rebuilt = FixedSizeListArray::try_new_with_length(item, *size, items, list.nulls().cloned(), list.len());
            Arc::new(rebuilt.map_err(unfit)?)
        }
        _ => Arc::clone(array),
    })
}

fn unfit(error: arrow_schema::ArrowError) -> Error {
    Error::invalid(format!("a list that does not add up: {error}"))
}
