//! Structs, lists of structs and maps: how the properties of their columns describe them, and how an export assembles the columns
//! again.
//!
//! The property `nested` of a column lists its enclosing types, the outermost first, with the position of the column inside each:
//! `[["agents","list",2],["size","struct",0]]` for `agents.size.length`. The columns of a list of structs, and of a map, are
//! parallel lists. Arrow distinguishes a null struct from a struct of nulls. A column `NAME.is_null` with the property
//! `nested_nulls` says which structs are null. Without it, an exported struct is null if all its fields are null.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{Array, ArrayRef, LargeListArray, MapArray, StructArray, cast::AsArray};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, FieldRef};
use serde_json::{Value, json};

use crate::error::{Error, Result};

/// Column property with the enclosing types.
pub(super) const NESTED: &str = "nested";
/// Property of a column that says which of its enclosing structs are null.
pub(super) const NULLS: &str = "nested_nulls";
/// Name of that column inside the struct.
pub(super) const IS_NULL: &str = "is_null";
/// Metadata of an Arrow field with its column type in the table.
pub(super) const TYPE: &str = "tetrys.type";
/// Metadata of an Arrow field that lists the keys of its JSON metadata. All other metadata that come from column properties are
/// text.
pub(super) const JSON: &str = "tetrys.json";

/// A type that encloses a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Within {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Position of the part that contains the column.
    pub(super) place: usize,
}

impl Within {
    fn is_same(&self, other: &Self) -> bool {
        (self.kind, &self.name) == (other.kind, &other.name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Struct,
    /// A list of structs.
    List,
    /// A map. Its columns are `key` and `value`.
    Map,
}

const KINDS: [(Kind, &str); 3] = [(Kind::Struct, "struct"), (Kind::List, "list"), (Kind::Map, "map")];

/// Returns the column property for these enclosing types, or `None` if there are none.
pub(super) fn nested_property(within: &[Within]) -> Option<(String, Value)> {
    let name = |kind: Kind| KINDS.iter().find(|(other, _)| *other == kind).map(|(_, name)| *name);
    let enclosing: Vec<Value> = within.iter().map(|within| json!([within.name, name(within.kind), within.place])).collect();
    (!enclosing.is_empty()).then(|| (NESTED.to_owned(), enclosing.into()))
}

/// Returns the types that enclose the column `name`, and its name inside. Returns `None` if the column was renamed or has no
/// valid property.
pub(super) fn around(name: &str, properties: &BTreeMap<String, Value>) -> Option<(Vec<Within>, String)> {
    let mut rest = name;
    let mut around = Vec::new();
    for enclosing in properties.get(NESTED)?.as_array()? {
        let [Value::String(name), Value::String(kind), place] = enclosing.as_array()?.as_slice() else { return None };
        let place = usize::try_from(place.as_u64()?).ok()?;
        let (kind, _) = KINDS.iter().find(|(_, name)| name == kind)?;
        rest = rest.strip_prefix(name.as_str())?.strip_prefix('.')?;
        around.push(Within { name: name.clone(), kind: *kind, place });
    }
    Some((around, rest.to_owned()))
}

/// A column to assemble.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    pub(super) around: Vec<Within>,
    /// Its field without the enclosing lists.
    pub(super) field: FieldRef,
    /// Whether it says which of its enclosing structs are null.
    pub(super) is_nulls: bool,
}

/// Returns the number of lists among the enclosing types.
pub(super) fn lists(around: &[Within]) -> usize {
    around.iter().filter(|within| within.kind != Kind::Struct).count()
}

/// An exported field, and the columns that it is assembled from.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// A column, by its number.
    Column(usize, FieldRef),
    /// The column that says where the struct around it is null. It is no field of the struct.
    Nulls(usize, FieldRef),
    Struct(FieldRef, Vec<Node>),
    List(FieldRef, Vec<Node>),
    Map(FieldRef, Vec<Node>),
}

/// Returns the exported fields of these columns. Columns are numbered in the order given.
pub(super) fn tree(leaves: &[Leaf]) -> Vec<Node> {
    of_depth(&leaves.iter().enumerate().collect::<Vec<_>>(), 0)
}

fn of_depth(leaves: &[(usize, &Leaf)], depth: usize) -> Vec<Node> {
    let mut nodes = Vec::new();
    let mut done: Vec<&Within> = Vec::new();
    for (number, leaf) in leaves {
        let Some(within) = leaf.around.get(depth) else {
            let field = Arc::clone(&leaf.field);
            nodes.push(if leaf.is_nulls && depth > 0 { Node::Nulls(*number, field) } else { Node::Column(*number, field) });
            continue;
        };
        if done.iter().any(|done| done.is_same(within)) {
            continue;
        }
        done.push(within);
        let is_in = |(_, other): &&(usize, &Leaf)| other.around.get(depth).is_some_and(|other| other.is_same(within));
        let mut of_it: Vec<(usize, &Leaf)> = leaves.iter().filter(is_in).copied().collect();
        of_it.sort_by_key(|(_, leaf)| leaf.around.get(depth).map(|within| within.place));
        nodes.extend(made(within, of_depth(&of_it, depth + 1), &of_it, depth));
    }
    nodes
}

fn made(within: &Within, inner: Vec<Node>, leaves: &[(usize, &Leaf)], depth: usize) -> Vec<Node> {
    let fields: Vec<FieldRef> = inner.iter().filter(|node| !node.is_nulls()).map(Node::field).collect();
    if fields.is_empty() {
        return of_depth_alone(leaves, depth);
    }
    let of = |ty: DataType| Arc::new(Field::new(&within.name, ty, true));
    let parts = || DataType::Struct(fields.clone().into());
    match within.kind {
        Kind::Struct => vec![Node::Struct(of(parts()), inner)],
        Kind::List => vec![Node::List(of(DataType::LargeList(Arc::new(Field::new("item", parts(), true)))), inner)],
        Kind::Map if fields.len() == 2 && fields[0].name() == "key" && fields[1].name() == "value" => {
            let key = fields[0].as_ref().clone().with_nullable(false);
            let entries = DataType::Struct(vec![Arc::new(key), Arc::clone(&fields[1])].into());
            vec![Node::Map(of(DataType::Map(Arc::new(Field::new("entries", entries, false)), false)), inner)]
        }
        // Half a map becomes a plain list under the name of its column.
        Kind::Map => of_depth_alone(leaves, depth),
    }
}

/// Returns the columns of an incomplete map, each under its own full name.
fn of_depth_alone(leaves: &[(usize, &Leaf)], depth: usize) -> Vec<Node> {
    let alone = leaves.iter().map(|(number, leaf)| {
        let rest: Vec<&str> = leaf.around.iter().skip(depth).map(|within| within.name.as_str()).collect();
        let name = format!("{}.{}", rest.join("."), leaf.field.name());
        let list = |ty, _| DataType::LargeList(Arc::new(Field::new("item", ty, true)));
        let ty = (0..lists(&leaf.around[depth..])).fold(leaf.field.data_type().clone(), list);
        Node::Column(*number, Arc::new(leaf.field.as_ref().clone().with_name(name).with_data_type(ty)))
    });
    alone.collect()
}

/// Columns without their outermost list, and the offsets and nulls of that list.
type TakenOff = (Vec<ArrayRef>, OffsetBuffer<i64>, Option<NullBuffer>);

impl Node {
    /// Returns the field.
    pub(super) fn field(&self) -> FieldRef {
        let (Self::Column(_, field)
        | Self::Nulls(_, field)
        | Self::Struct(field, _)
        | Self::List(field, _)
        | Self::Map(field, _)) = self;
        Arc::clone(field)
    }

    fn is_nulls(&self) -> bool {
        matches!(self, Self::Nulls(..))
    }

    /// Assembles the values from those of all columns.
    ///
    /// # Errors
    /// - `Invalid`: columns of one list have different lengths in a row, because one column was changed and the others were not.
    pub(super) fn array(&self, columns: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let unfit = |error: arrow_schema::ArrowError| Error::invalid(format!("`{}`: {error}", self.field().name()));
        match self {
            Self::Column(number, _) | Self::Nulls(number, _) => {
                columns.get(*number).map(Arc::clone).ok_or_else(|| Error::internal("a column that was not read"))
            }
            Self::Struct(field, inner) => Ok(Arc::new(parts(field.data_type(), inner, columns, rows)?)),
            Self::List(field, inner) => {
                let DataType::LargeList(item) = field.data_type() else { return Err(Error::internal("a list of another type")) };
                let (columns, offsets, nulls) = self.taken_off(inner, columns, rows)?;
                let items = parts(item.data_type(), inner, &columns, last(&offsets) as usize)?;
                let list = LargeListArray::try_new(Arc::clone(item), offsets, Arc::new(items), nulls);
                Ok(Arc::new(list.map_err(unfit)?))
            }
            Self::Map(field, inner) => {
                let DataType::Map(entries, _) = field.data_type() else { return Err(Error::internal("a map of another type")) };
                let DataType::Struct(fields) = entries.data_type() else { return Err(Error::internal("a map of no entries")) };
                let (columns, offsets, nulls) = self.taken_off(inner, columns, rows)?;
                let rows = last(&offsets) as usize;
                let arrays = inner.iter().map(|node| node.array(&columns, rows)).collect::<Result<Vec<_>>>()?;
                let offsets = offsets.iter().map(|offset| i32::try_from(*offset)).collect::<Result<Vec<_>, _>>();
                let offsets = offsets.map_err(|_| Error::unsupported("over 2^31 entries of a map in a batch"))?;
                let pairs = StructArray::try_new(fields.clone(), arrays, None).map_err(unfit)?;
                let map = MapArray::try_new(Arc::clone(entries), OffsetBuffer::new(offsets.into()), pairs, nulls, false);
                Ok(Arc::new(map.map_err(unfit)?))
            }
        }
    }

    /// Collects the numbers of the columns in this node.
    fn numbers(&self, numbers: &mut Vec<usize>) {
        match self {
            Self::Column(number, _) | Self::Nulls(number, _) => numbers.push(*number),
            Self::Struct(_, inner) | Self::List(_, inner) | Self::Map(_, inner) => {
                inner.iter().for_each(|node| node.numbers(numbers));
            }
        }
    }

    /// Removes the list that encloses all columns of this node. Returns the columns, and the offsets and nulls of that list.
    fn taken_off(&self, inner: &[Self], columns: &[ArrayRef], rows: usize) -> Result<TakenOff> {
        let (mut numbers, mut columns) = (Vec::new(), columns.to_vec());
        inner.iter().for_each(|node| node.numbers(&mut numbers));
        let mut first: Option<(OffsetBuffer<i64>, Option<NullBuffer>)> = None;
        for number in numbers {
            let list = columns.get(number).and_then(|column| column.as_list_opt::<i64>());
            let list = list.ok_or_else(|| Error::invalid(format!("`{}`: a column is not a list", self.field().name())))?;
            let lengths = (0..rows).map(|row| if list.is_valid(row) { list.value_length(row) as usize } else { 0 });
            let offsets = OffsetBuffer::<i64>::from_lengths(lengths);
            let (start, end) = (list.value_offsets()[0] as usize, list.value_offsets()[rows] as usize);
            // Null lists of a table are empty, so the items have no gaps.
            let nulls = list.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
            if end - start != last(&offsets) as usize {
                return Err(Error::internal("a null list that is not empty"));
            }
            match &first {
                None => first = Some((offsets, nulls)),
                Some((one, null)) if *one == offsets && *null == nulls => {}
                Some((one, null)) => {
                    let valid = |nulls: &Option<NullBuffer>, row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
                    let row =
                        (0..rows).find(|row| one[*row + 1] != offsets[*row + 1] || valid(null, *row) != valid(&nulls, *row));
                    return Err(Error::invalid(format!(
                        "`{}`: its columns have lists of different lengths in row {} of the batch; export them flat, one by one",
                        self.field().name(),
                        row.unwrap_or_default()
                    )));
                }
            }
            let items = list.values().slice(start, end - start);
            if let Some(place) = columns.get_mut(number) {
                *place = items;
            }
        }
        let (offsets, nulls) = first.ok_or_else(|| Error::internal("a list of no columns"))?;
        Ok((columns, offsets, nulls))
    }
}

fn last(offsets: &OffsetBuffer<i64>) -> i64 {
    offsets.inner().last().copied().unwrap_or(0)
}

/// Assembles a struct. Without a column that says where it is null, it is null in rows where all its fields are null.
fn parts(ty: &DataType, inner: &[Node], columns: &[ArrayRef], rows: usize) -> Result<StructArray> {
    let DataType::Struct(fields) = ty else { return Err(Error::internal("a struct of another type")) };
    let null_flags = inner.iter().find(|node| node.is_nulls()).map(|node| node.array(columns, rows)).transpose()?;
    let null_flags = null_flags.as_ref().and_then(|null_flags| null_flags.as_boolean_opt());
    let arrays =
        inner.iter().filter(|node| !node.is_nulls()).map(|node| node.array(columns, rows)).collect::<Result<Vec<_>>>()?;
    let any = |row: usize| arrays.iter().any(|array| !matches!(array.data_type(), DataType::Null) && array.is_valid(row));
    // A field that has a value, written later, makes the struct valid.
    let valid = |row: usize| any(row) || null_flags.is_some_and(|null_flags| null_flags.is_valid(row) && !null_flags.value(row));
    let nulls = NullBuffer::new(BooleanBuffer::collect_bool(rows, valid));
    StructArray::try_new(fields.clone(), arrays, Some(nulls).filter(|nulls| nulls.null_count() > 0))
        .map_err(|error| Error::invalid(error.to_string()))
}
