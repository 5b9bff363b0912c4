//! Maps the columns of a frame to table columns: the column type for each Arrow field, and the conversion of its arrays.
//!
//! Fields of a struct are columns of their own: `image.bytes` and `image.path`. A list of structs becomes one list for each
//! field: `agents.id` and `agents.speed`. A map becomes a list of keys and a list of values. Lists of numbers become tensors
//! whose first dimension varies from row to row. Fixed-size lists become tensors of fixed shape. [`Foreign`] handles Arrow types
//! without a column type. A struct of nulls is told from a null struct by a column of its own (`nulls`). Column properties record the original type, so that an export can restore it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeListArray, LargeBinaryArray, LargeListArray, LargeStringArray, ListArray,
    RecordBatch, StructArray, cast::AsArray, make_array, new_null_array,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields};
use arrow_select::take::take;
use serde_json::Value;

use crate::{
    error::{Error, Result},
    ingest::{
        foreign::{Foreign, unlisted},
        nested::{self, IS_NULL, JSON, Kind, NULLS, TYPE, Within},
        seconds::{found_in_parquet, from_parquet},
    },
    schema::{Column as TableColumn, ColumnType, Primitive, Schema, TimeUnit},
};

/// One column of a frame.
#[derive(Clone, Debug)]
pub(super) struct FrameColumn {
    /// Field names from the top-level field down, joined by dots.
    pub(super) name: String,
    /// The column type for its Arrow type, if there is one.
    pub(super) ty: Option<ColumnType>,
    /// Its Arrow type.
    pub(super) arrow: DataType,
    /// Metadata of its field in the frame.
    pub(super) properties: BTreeMap<String, Value>,
    /// Name of the top-level field.
    pub(super) root: String,
    /// Whether its values say which structs are null.
    pub(super) is_nulls: bool,
    /// The path from there.
    path: Vec<Step>,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// A field of a struct, by number.
    Field(usize),
    /// The items of a list, or the entries of a map.
    Items,
    /// Whether a struct is null.
    IsNull,
}

/// Maximum nesting of structs.
const MAX_DEPTH: usize = 16;

/// Returns the columns for the fields of a frame. Each struct also has a column that says where it is null.
///
/// # Errors
/// - `Invalid`: two columns have the same name.
pub(super) fn columns(fields: &Fields) -> Result<Vec<FrameColumn>> {
    let mut columns = Vec::new();
    for field in fields {
        let start = Column { name: field.name().clone(), root: field.name(), path: Vec::new(), within: Vec::new() };
        push(field, start, &mut columns);
    }
    let taken: BTreeSet<String> =
        columns.iter().filter(|column: &&FrameColumn| !column.is_nulls).map(|column| column.name.clone()).collect();
    columns.retain(|column| !column.is_nulls || !taken.contains(&column.name));
    let mut names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair.first() == pair.last()) {
        Some(pair) => Err(Error::invalid(format!("column `{}` occurs twice", pair[0]))),
        None => Ok(columns),
    }
}

/// A field on the way down to the columns inside it.
#[derive(Clone)]
struct Column<'a> {
    name: String,
    root: &'a str,
    path: Vec<Step>,
    within: Vec<Within>,
}

impl<'a> Column<'a> {
    /// Returns the column of a part of the field `around`.
    fn inside(&self, around: &Field, kind: Kind, name: &str, steps: &[Step]) -> Self {
        let place = steps.iter().find_map(|step| if let Step::Field(number) = step { Some(*number) } else { None }).unwrap_or(0);
        let mut inner = self.clone();
        inner.name = format!("{}.{name}", self.name);
        inner.path.extend(steps);
        // Names inside a map come from the column names, not from the Arrow fields.
        let own = match self.within.last().map(|within| within.kind) {
            Some(Kind::Map) => self.name.rsplit('.').next().unwrap_or_default(),
            _ => around.name(),
        };
        inner.within.push(Within { name: own.to_owned(), kind, place });
        inner
    }
}

fn push(field: &Field, column: Column<'_>, columns: &mut Vec<FrameColumn>) {
    let deep = column.path.len() >= MAX_DEPTH;
    let typed = of_field(field);
    let inner = |data_type: &DataType| match data_type {
        DataType::Struct(inner) if !inner.is_empty() => Some(inner.clone()),
        _ => None,
    };
    match field.data_type() {
        _ if typed.is_some() || deep => {}
        DataType::Struct(fields) if !fields.is_empty() => {
            for (number, part) in fields.iter().enumerate() {
                push(part, column.inside(field, Kind::Struct, part.name(), &[Step::Field(number)]), columns);
            }
            push_nulls(column.inside(field, Kind::Struct, IS_NULL, &[Step::IsNull]), fields.len(), columns);
            return;
        }
        DataType::List(item) | DataType::LargeList(item) if let Some(fields) = inner(item.data_type()) => {
            for (number, part) in fields.iter().enumerate() {
                push(part, column.inside(field, Kind::List, part.name(), &[Step::Items, Step::Field(number)]), columns);
            }
            push_nulls(column.inside(field, Kind::List, IS_NULL, &[Step::Items, Step::IsNull]), fields.len(), columns);
            return;
        }
        DataType::Map(entries, _) if let Some(fields) = inner(entries.data_type()) => {
            for (number, (part, name)) in fields.iter().zip(["key", "value"]).enumerate() {
                push(part, column.inside(field, Kind::Map, name, &[Step::Items, Step::Field(number)]), columns);
            }
            return;
        }
        _ => {}
    }
    let own = |key: &&String| *key != TYPE && *key != JSON && !key.starts_with("ARROW:") && !key.starts_with("PARQUET:");
    let metadata = field.metadata().iter().filter(|(key, _)| own(key));
    // Metadata of our exports list the properties that are JSON.
    let json = field.metadata().get(JSON).and_then(|names| serde_json::from_str::<Vec<String>>(names).ok()).unwrap_or_default();
    let value = |key: &String, text: &String| match json.contains(key) {
        true => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str())),
        false => Value::from(text.as_str()),
    };
    let mut properties: BTreeMap<String, Value> = metadata.map(|(key, text)| (key.clone(), value(key, text))).collect();
    let lists = column.path.iter().filter(|step| matches!(step, Step::Items)).count();
    let ty = typed.map(|(ty, foreign)| {
        properties.extend(foreign.into_iter().flat_map(Foreign::properties).map(|(key, value)| (key.to_owned(), value)));
        (0..lists).fold(ty, |ty, _| listed(ty))
    });
    properties.extend(nested::nested_property(&column.within));
    let Column { name, root, path, .. } = column;
    let (arrow, root) = (field.data_type().clone(), root.to_owned());
    columns.push(FrameColumn { name, ty, arrow, properties, root, is_nulls: false, path });
}

/// Pushes the column that says which structs are null, after the `place` fields of the struct.
fn push_nulls(mut column: Column<'_>, place: usize, columns: &mut Vec<FrameColumn>) {
    if let Some(within) = column.within.last_mut() {
        within.place = place;
    }
    let lists = column.path.iter().filter(|step| matches!(step, Step::Items)).count();
    let ty = (0..lists).fold(ColumnType::Scalar(Primitive::Bool), |ty, _| listed(ty));
    let properties = nested::nested_property(&column.within).into_iter().chain([(NULLS.to_owned(), Value::from(true))]).collect();
    let Column { name, root, path, .. } = column;
    let (arrow, root) = (DataType::Boolean, root.to_owned());
    columns.push(FrameColumn { name, ty: Some(ty), arrow, properties, root, is_nulls: true, path });
}

impl FrameColumn {
    /// Returns the column for rows that join a table. A column of nothing but nulls, or of empty lists, has no type of its own, so
    /// it gets the type of the table's column.
    pub(super) fn joining(self, table: &Schema) -> Self {
        let Some(ty) = self.ty.as_ref().filter(|ty| Foreign::of_column(ty, &self.properties) == Some(Foreign::Null)) else {
            return self;
        };
        let lists = std::iter::successors(Some(ty.clone()), unlisted).skip(1).count();
        let fits = |here: &&TableColumn| (0..lists).try_fold(here.ty.clone(), |ty, _| unlisted(&ty)).is_some();
        match table.column_named(&self.name).filter(fits) {
            Some(here) => Self { ty: Some(here.ty.clone()), properties: here.properties.clone(), ..self },
            None => self,
        }
    }

    /// Returns the column's array from a batch of the frame, in an Arrow form that partitions accept.
    ///
    /// # Errors
    /// - `Invalid`: the batch lacks the column, or a dictionary cannot be decoded.
    pub(super) fn array(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        let missing = || Error::invalid(format!("column `{}` is missing in a batch", self.name));
        let array = batch.column_by_name(&self.root).ok_or_else(missing)?;
        let in_list = self.path.iter().any(|step| matches!(step, Step::Items));
        if let (DataType::Null, false, Some(ty)) = (&self.arrow, in_list, &self.ty) {
            return Ok(new_null_array(&ty.arrow(), array.len()));
        }
        walk(array, &self.path)
            .and_then(|array| array.ok_or_else(missing))
            .and_then(|array| match &self.ty {
                Some(ty) => from_parquet(array, &ty.arrow()),
                None => Ok(array),
            })
            .map_err(|error| error.at(format!("column `{}`", self.name)))
    }
}

/// Follows the path and returns the array at its end, wrapped in the lists on the path. Returns `None` if the path does not
/// exist.
fn walk(array: &ArrayRef, path: &[Step]) -> Result<Option<ArrayRef>> {
    let Some((step, rest)) = path.split_first() else { return plain(array).map(Some) };
    match step {
        Step::Field(number) => {
            let parts: Option<&StructArray> = array.as_struct_opt();
            let Some((parts, inner)) = parts.and_then(|parts| Some((parts, parts.columns().get(*number)?))) else {
                return Ok(None);
            };
            walk(&under(inner, parts.nulls())?, rest)
        }
        Step::IsNull => {
            let nulls = BooleanBuffer::collect_bool(array.len(), |row| array.is_null(row));
            Ok(Some(Arc::new(BooleanArray::new(nulls, None))))
        }
        Step::Items => {
            let (offsets, items, nulls) = match array.data_type() {
                DataType::List(_) => {
                    let list = array.as_list::<i32>();
                    (widened(list.offsets()), Arc::clone(list.values()), list.nulls())
                }
                DataType::LargeList(_) => {
                    let list = array.as_list::<i64>();
                    (list.offsets().clone(), Arc::clone(list.values()), list.nulls())
                }
                DataType::Map(..) => {
                    let map = array.as_map();
                    (widened(map.offsets()), Arc::new(map.entries().clone()) as ArrayRef, map.nulls())
                }
                _ => return Ok(None),
            };
            let Some(items) = walk(&items, rest)? else { return Ok(None) };
            let item = Arc::new(Field::new("item", items.data_type().clone(), true));
            let list = LargeListArray::try_new(item, offsets, items, nulls.cloned()).map_err(unfit)?;
            Ok(Some(Arc::new(list)))
        }
    }
}

fn widened(offsets: &OffsetBuffer<i32>) -> OffsetBuffer<i64> {
    OffsetBuffer::new(offsets.iter().map(|offset| i64::from(*offset)).collect())
}

/// Returns the array with the nulls of its enclosing struct added.
pub(super) fn under(array: &ArrayRef, outer: Option<&NullBuffer>) -> Result<ArrayRef> {
    // A null array has no mask, and is null in any case.
    let Some(outer) = outer.filter(|outer| outer.null_count() > 0 && array.data_type() != &DataType::Null) else {
        return Ok(Arc::clone(array));
    };
    let nulls = NullBuffer::union(array.nulls(), Some(outer));
    let data = array.to_data().into_builder().nulls(nulls).build();
    data.map(make_array).map_err(|error| Error::invalid(format!("inconsistent struct: {error}")))
}

/// Returns the column type of a field, and its foreign Arrow type if it has one. Returns `None` if no type fits.
fn of_field(field: &Field) -> Option<(ColumnType, Option<Foreign>)> {
    let (ty, foreign) = of_extension(field).or_else(|| of_arrow(field.data_type()))?;
    // Metadata of our exports name the column type, where several column types or none share the Arrow type.
    Some(match field.metadata().get(TYPE).and_then(|declared| declared.parse::<ColumnType>().ok()) {
        Some(declared) if declared.arrow() == ty.arrow() => (declared, foreign),
        Some(declared) if found_in_parquet(&declared) == ty => (declared, foreign.map(|_| Foreign::Time(TimeUnit::Second))),
        _ => (ty, foreign),
    })
}

/// Returns the column type of a field, if there is one.
pub(super) fn type_of(field: &Field) -> Option<ColumnType> {
    of_field(field).map(|(ty, _)| ty)
}

fn of_extension(field: &Field) -> Option<(ColumnType, Option<Foreign>)> {
    let extension = field.metadata().get("ARROW:extension:name").map(String::as_str);
    let metadata = || serde_json::from_str::<Value>(field.metadata().get("ARROW:extension:metadata")?).ok();
    let scalar = |item: &Field| match of_arrow(item.data_type())? {
        (ColumnType::Scalar(element), None) => Some(element),
        _ => None,
    };
    let extents = |shape: &Value| {
        let extent = |extent: &Value| match extent {
            Value::Null => Some(None),
            extent => Some(Some(u32::try_from(extent.as_u64()?).ok()?)),
        };
        shape.as_array()?.iter().map(extent).collect::<Option<Vec<_>>>()
    };
    let tensor = match (extension, field.data_type()) {
        (Some("arrow.fixed_shape_tensor"), DataType::FixedSizeList(item, size)) => {
            let metadata = metadata()?;
            // With a permutation, the axes lie in another order than the shape.
            if metadata.get("permutation").is_some_and(|permutation| !permutation.is_null()) {
                return None;
            }
            let tensor = ColumnType::tensor(scalar(item)?, extents(metadata.get("shape")?)?);
            (tensor.fixed_elements() == u64::try_from(*size).ok()).then_some(tensor)
        }
        (Some("arrow.variable_shape_tensor"), DataType::Struct(parts)) => {
            let named = |name: &str| parts.iter().find(|part| part.name() == name).map(|part| part.data_type());
            let (DataType::List(item) | DataType::LargeList(item)) = named("data")? else { return None };
            let DataType::FixedSizeList(_, rank) = named("shape")? else { return None };
            let rank = usize::try_from(*rank).ok()?;
            let known =
                metadata().and_then(|metadata| extents(metadata.get("uniform_shape")?)).filter(|shape| shape.len() == rank);
            // At least one dimension must vary.
            let known = known.filter(|shape| shape.iter().any(Option::is_none));
            Some(ColumnType::tensor(scalar(item)?, known.unwrap_or(vec![None; rank])))
        }
        _ => None,
    };
    tensor.map(|tensor| (tensor, None))
}

/// Returns the type of a list of such values.
fn listed(item: ColumnType) -> ColumnType {
    match item {
        ColumnType::Scalar(element) => ColumnType::tensor(element, [None]),
        ColumnType::Tensor { element, shape } if shape.iter().all(Option::is_some) => {
            ColumnType::tensor(element, std::iter::once(None).chain(shape).collect::<Vec<_>>())
        }
        item => ColumnType::list(item),
    }
}

fn of_arrow(data_type: &DataType) -> Option<(ColumnType, Option<Foreign>)> {
    let ty = match data_type {
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
        DataType::Timestamp(unit, zone) => ColumnType::Timestamp(TimeUnit::of_arrow(*unit), zone.as_deref().map(str::to_owned)),
        DataType::Duration(unit) => ColumnType::Duration(TimeUnit::of_arrow(*unit)),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => ColumnType::Utf8,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => ColumnType::Binary,
        DataType::Dictionary(_, values) => match of_arrow(values)? {
            (ColumnType::Utf8, None) => ColumnType::Categorical,
            other => return Some(other),
        },
        DataType::FixedSizeList(item, size) => match (of_arrow(item.data_type())?, u32::try_from(*size).ok()?) {
            ((ColumnType::Scalar(element), None), size) => ColumnType::tensor(element, [Some(size)]),
            ((ColumnType::Tensor { element, shape }, None), size) if shape.iter().all(Option::is_some) => {
                ColumnType::tensor(element, std::iter::once(Some(size)).chain(shape).collect::<Vec<_>>())
            }
            _ => return None,
        },
        DataType::List(item) | DataType::LargeList(item) => {
            let (item, foreign) = of_field(item)?;
            return Some((listed(item), foreign));
        }
        other => {
            let (foreign, ty) = Foreign::of(other)?;
            return Some((ty, Some(foreign)));
        }
    };
    Some((ty, None))
}

/// Converts to the Arrow forms that partitions accept: no dictionaries, no views, no fixed-size bytes, and no text with 32-bit
/// offsets, inside lists too.
fn plain(array: &ArrayRef) -> Result<ArrayRef> {
    if let Some(dictionary) = array.as_any_dictionary_opt() {
        let decoded = take(dictionary.values(), dictionary.keys(), None);
        return plain(&decoded.map_err(|error| Error::invalid(format!("cannot decode a dictionary: {error}")))?);
    }
    if let Some(taken) = Foreign::taken(array) {
        return Ok(taken);
    }
    Ok(match array.data_type() {
        DataType::Utf8 => Arc::new(array.as_string::<i32>().iter().collect::<LargeStringArray>()),
        DataType::Utf8View => Arc::new(array.as_string_view().iter().collect::<LargeStringArray>()),
        DataType::BinaryView => Arc::new(array.as_binary_view().iter().collect::<LargeBinaryArray>()),
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
    Error::invalid(format!("inconsistent list: {error}"))
}
