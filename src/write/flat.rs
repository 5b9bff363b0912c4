//! Flattens one Arrow column of a batch: one node for each part of its type, over contiguous buffers without offsets. Null slots
//! are zero or empty.
//!
//! Every Arrow form of a column (sliced arrays, 32- or 64-bit offsets, lists for tensors) becomes the same flat form, so that the
//! stored bytes do not depend on how batches were sliced (`format-spec/canonical.md#canonical-form`).

use std::ops::Range;

use arrow_array::{Array, ArrayRef, OffsetSizeTrait, cast::AsArray, new_null_array, types::Int32Type};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_data::transform::MutableArrayData;
use arrow_schema::DataType;
use arrow_select::take::take;
use twox_hash::XxHash3_64;

use crate::{
    error::{Error, ErrorKind, Result, counted},
    format::{PageBuilder, Structure, page_to_array},
    schema::{ColumnType, Primitive},
};

/// A flattened column.
#[derive(Debug)]
pub(super) struct FlatColumn {
    nodes: Vec<FlatNode>,
    values: Buffer,
    width: usize,
}

#[derive(Clone, Debug)]
enum FlatNode {
    /// Stored: which slots hold a value. `None` means all.
    Validity(Option<BooleanBuffer>),
    /// Stored as lengths: offsets of the items of each slot. The items are the slots of the next node.
    Items(Vec<i64>),
    /// Stored: the extent of one `?` dimension in each slot.
    Extents(Vec<u32>),
    /// Not stored: offsets of the elements of each tensor.
    Elements(Vec<i64>),
    /// Not stored: the number of elements, equal in every slot.
    Times(usize),
}

impl FlatColumn {
    /// Flattens `array` as a column of type `ty`.
    ///
    /// # Errors
    /// - `Invalid`: the array has another type or shape.
    /// - `Unsupported`: a part of a tensor is null, which is neither one element nor the whole tensor.
    pub(super) fn new(ty: &ColumnType, array: &ArrayRef) -> Result<Self> {
        let mut nodes = Vec::new();
        let values = flatten(ty, array, &mut nodes)?;
        Ok(Self { nodes, values, width: ty.element_width() })
    }

    /// Appends a range of rows to a page of the same type.
    pub(super) fn append_to(&self, rows: Range<usize>, page: &mut PageBuilder) {
        let mut slots = rows;
        let mut stored = 0;
        for node in &self.nodes {
            match node {
                FlatNode::Validity(bits) => {
                    page.push_validity(stored, slots.len(), bits.as_ref().map(|bits| bits.slice(slots.start, slots.len())));
                    stored += 1;
                }
                FlatNode::Items(offsets) => {
                    page.push_lengths(stored, offsets[slots.start..=slots.end].windows(2).map(|pair| (pair[1] - pair[0]) as u32));
                    stored += 1;
                    slots = offsets[slots.start] as usize..offsets[slots.end] as usize;
                }
                FlatNode::Extents(extents) => {
                    page.push_lengths(stored, extents[slots.clone()].iter().copied());
                    stored += 1;
                }
                FlatNode::Elements(offsets) => slots = offsets[slots.start] as usize..offsets[slots.end] as usize,
                FlatNode::Times(elements) => slots = slots.start * elements..slots.end * elements,
            }
        }
        page.push_values(&self.values[slots.start * self.width..slots.end * self.width]);
    }

    /// Returns the logical size of one row and the running hash of its bytes (`format-spec/cuts.md#row-size`).
    pub(super) fn measure(&self, row: usize, hash: u64) -> (u64, u64) {
        let mut slots = row..row + 1;
        let mut lengths = Lengths { bytes: [0; 64], filled: 0, hash, count: 0 };
        for node in &self.nodes {
            match node {
                FlatNode::Validity(_) => {}
                FlatNode::Items(offsets) => {
                    offsets[slots.start..=slots.end].windows(2).for_each(|pair| lengths.push((pair[1] - pair[0]) as u32));
                    slots = offsets[slots.start] as usize..offsets[slots.end] as usize;
                }
                FlatNode::Extents(extents) => extents[slots.clone()].iter().for_each(|extent| lengths.push(*extent)),
                FlatNode::Elements(offsets) => slots = offsets[slots.start] as usize..offsets[slots.end] as usize,
                FlatNode::Times(elements) => slots = slots.start * elements..slots.end * elements,
            }
        }
        let values = &self.values[slots.start * self.width..slots.end * self.width];
        let (count, hash) = lengths.finish();
        (values.len() as u64 + 4 * count + 1, XxHash3_64::oneshot_with_seed(hash, values))
    }
}

/// Converts a column from any accepted Arrow form to the one form that reads return.
///
/// # Errors
/// - `Invalid`: the array has another type, or holds a value that cannot be stored.
/// - `Unsupported`: a part of a tensor is null, which is neither one element nor the whole tensor.
pub fn canonical_array(ty: &ColumnType, array: &ArrayRef) -> Result<ArrayRef> {
    let flat = FlatColumn::new(ty, array)?;
    let mut page = PageBuilder::new(ty);
    flat.append_to(0..array.len(), &mut page);
    let page = page.finish();
    let rows = u32::try_from(array.len()).map_err(|_| Error::invalid("over 2^32 rows at once"))?;
    let structure = Structure::parse(ty, rows, &page.structure, page.values.len())
        .map_err(|error| Error::invalid(format!("cannot store a value: {error}")))?;
    page_to_array(ty, &structure, page.values.into())
}

/// Hashes lengths, sixteen at a time. Each hash is the seed of the next one.
struct Lengths {
    bytes: [u8; 64],
    filled: usize,
    hash: u64,
    count: u64,
}

impl Lengths {
    fn push(&mut self, length: u32) {
        self.bytes[self.filled..self.filled + 4].copy_from_slice(&length.to_le_bytes());
        self.filled += 4;
        self.count += 1;
        if self.filled == self.bytes.len() {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if self.filled > 0 {
            self.hash = XxHash3_64::oneshot_with_seed(self.hash, &self.bytes[..self.filled]);
            self.filled = 0;
        }
    }

    fn finish(mut self) -> (u64, u64) {
        self.flush();
        (self.count, self.hash)
    }
}

fn wrong_type(ty: &ColumnType, found: &DataType) -> Error {
    Error::invalid(format!("expected {ty} (in Arrow {}), found {found}", ty.arrow()))
}

/// Pushes the nodes of `array` and returns its value stream.
fn flatten(ty: &ColumnType, array: &ArrayRef, nodes: &mut Vec<FlatNode>) -> Result<Buffer> {
    if let Some(dictionary) = array.as_any_dictionary_opt() {
        let decoded = take(dictionary.values(), dictionary.keys(), None);
        let decoded = decoded.map_err(|error| Error::invalid(format!("cannot decode a dictionary: {error}")))?;
        return flatten(ty, &decoded, nodes);
    }
    if *array.data_type() == DataType::Null {
        // Values of no type are nulls of every type.
        return flatten(ty, &new_null_array(&ty.arrow(), array.len()), nodes);
    }
    let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
    nodes.push(FlatNode::Validity(nulls.map(|nulls| nulls.inner().clone())));
    match ty {
        ColumnType::Scalar(_) | ColumnType::Date | ColumnType::Timestamp(..) | ColumnType::Duration(_) => {
            if *array.data_type() != ty.arrow() {
                return Err(wrong_type(ty, array.data_type()));
            }
            Ok(zeroed(element_bytes(array), ty.element_width(), nulls))
        }
        ColumnType::Utf8 | ColumnType::Categorical | ColumnType::Binary => {
            let (offsets, values) = match (ty, array.data_type()) {
                (ColumnType::Utf8 | ColumnType::Categorical, DataType::Utf8) => {
                    text(array.as_string::<i32>().value_offsets(), array.as_string::<i32>().values(), nulls)
                }
                (ColumnType::Utf8 | ColumnType::Categorical, DataType::LargeUtf8) => {
                    text(array.as_string::<i64>().value_offsets(), array.as_string::<i64>().values(), nulls)
                }
                (ColumnType::Binary, DataType::Binary) => {
                    text(array.as_binary::<i32>().value_offsets(), array.as_binary::<i32>().values(), nulls)
                }
                (ColumnType::Binary, DataType::LargeBinary) => {
                    text(array.as_binary::<i64>().value_offsets(), array.as_binary::<i64>().values(), nulls)
                }
                (_, found) => return Err(wrong_type(ty, found)),
            };
            check_lengths(&offsets)?;
            nodes.push(FlatNode::Items(offsets));
            Ok(values)
        }
        ColumnType::List(item) => {
            let (offsets, items) = list(array, nulls)?.ok_or_else(|| wrong_type(ty, array.data_type()))?;
            check_lengths(&offsets)?;
            nodes.push(FlatNode::Items(offsets));
            // Empty lists have no items of another type.
            let items = if items.is_empty() { new_null_array(&DataType::Null, 0) } else { items };
            flatten(item, &items, nodes)
        }
        ColumnType::Tensor { element, shape } => match ty.fixed_elements() {
            Some(_) => fixed_tensor(ty, *element, shape, array, nulls, nodes),
            None => variable_tensor(ty, *element, shape, array, nulls, nodes),
        },
    }
}

fn fixed_tensor(
    ty: &ColumnType,
    element: Primitive,
    shape: &[Option<u32>],
    array: &ArrayRef,
    nulls: Option<&NullBuffer>,
    nodes: &mut Vec<FlatNode>,
) -> Result<Buffer> {
    let elements = ty.fixed_elements().and_then(|elements| usize::try_from(elements).ok());
    let elements = elements.ok_or_else(|| Error::invalid(format!("{ty} is larger than memory")))?;
    let mut extents: Vec<i32> = Vec::new();
    let mut items = array.clone();
    while let DataType::FixedSizeList(_, size) = items.data_type() {
        let parts = items.as_fixed_size_list();
        // The parts of a null tensor may be null or not.
        let in_row = parts.len() / array.len().max(1);
        let hidden = |part: usize| nulls.is_some_and(|nulls| nulls.is_null(part / in_row.max(1)));
        let inside = parts.nulls().filter(|_| !extents.is_empty());
        if inside.is_some_and(|inside| (0..parts.len()).any(|part| inside.is_null(part) && !hidden(part))) {
            return Err(null_part(ty));
        }
        extents.push(*size);
        items = parts.values().clone();
    }
    let wanted: Vec<i32> = shape.iter().flatten().map(|extent| *extent as i32).collect();
    let scalar = shape.is_empty() && extents.is_empty();
    let flat = extents.len() == 1 && extents.first().is_some_and(|size| *size as usize == elements);
    if items.data_type() != &element.arrow() || !(flat || scalar || extents == wanted) || items.len() != array.len() * elements {
        return Err(wrong_type(ty, array.data_type()));
    }
    nodes.push(FlatNode::Times(elements));
    // Elements of a null tensor count as valid, so that equal columns have equal bytes.
    let valid = items.nulls().filter(|inside| inside.null_count() > 0).map(|inside| {
        BooleanBuffer::collect_bool(items.len(), |position| {
            inside.is_valid(position) || nulls.is_some_and(|nulls| nulls.is_null(position / elements.max(1)))
        })
    });
    let values = zeroed(element_bytes(&items), element.width() * elements, nulls);
    Ok(null_elements(valid, values, element, nodes))
}

fn variable_tensor(
    ty: &ColumnType,
    element: Primitive,
    shape: &[Option<u32>],
    array: &ArrayRef,
    nulls: Option<&NullBuffer>,
    nodes: &mut Vec<FlatNode>,
) -> Result<Buffer> {
    let wrong = || wrong_type(ty, array.data_type());
    if let DataType::List(_) | DataType::LargeList(_) = array.data_type() {
        let (offsets, items) = list(array, nulls)?.ok_or_else(wrong)?;
        if items.is_empty() && shape.first() == Some(&None) {
            // Empty lists of any type are empty tensors: all their dimensions that vary are 0.
            let varying = shape.iter().filter(|extent| extent.is_none()).count();
            nodes.extend(vec![FlatNode::Extents(vec![0; array.len()]); varying]);
            nodes.extend([FlatNode::Elements(offsets), FlatNode::Validity(None)]);
            return Ok(Buffer::default());
        }
        // A list can represent a tensor if only the first dimension varies from row to row.
        if shape.first() != Some(&None) || shape.iter().skip(1).any(Option::is_none) {
            return Err(wrong());
        }
        let inner = ColumnType::tensor(element, shape[1..].to_vec());
        let items = match items.data_type() {
            DataType::Null => new_null_array(&inner.arrow(), items.len()),
            _ => items,
        };
        let mut inner_nodes = Vec::new();
        let values = flatten(&inner, &items, &mut inner_nodes).map_err(|error| match error.kind() {
            ErrorKind::Unsupported => null_part(ty),
            _ => wrong(),
        })?;
        if shape.len() > 1 && items.null_count() > 0 {
            return Err(null_part(ty));
        }
        check_lengths(&offsets)?;
        nodes.push(FlatNode::Extents(offsets.windows(2).map(|pair| (pair[1] - pair[0]) as u32).collect()));
        nodes.push(FlatNode::Elements(offsets));
        // Of the inner tensors' nodes only those of the elements are kept. A null inner tensor without dimensions is a null
        // element.
        let (own, elements) = inner_nodes.split_at(1);
        nodes.extend(elements.iter().filter(|node| matches!(node, FlatNode::Times(_))).cloned());
        nodes.push(if shape.len() > 1 { elements[elements.len() - 1].clone() } else { own[0].clone() });
        return Ok(values);
    }
    let parts = array.as_struct_opt().and_then(|parts| Some((parts.column_by_name("data")?, parts.column_by_name("shape")?)));
    let (data, shapes) = parts.ok_or_else(wrong)?;
    let data_nulls = NullBuffer::union(nulls, data.nulls());
    let (offsets, items) = list(data, data_nulls.as_ref())?.ok_or_else(wrong)?;
    let rank = shape.len();
    let shapes = shapes.as_fixed_size_list_opt().filter(|shapes| shapes.value_length() as usize == rank).ok_or_else(wrong)?;
    let extents = shapes.values().as_primitive_opt::<Int32Type>().ok_or_else(wrong)?;
    let no_shape = |row: usize| shapes.is_null(row) || (row * rank..(row + 1) * rank).any(|extent| extents.is_null(extent));
    let data_null = |row: usize| data.is_null(row);
    let items = match items.data_type() {
        DataType::Null => new_null_array(&element.arrow(), items.len()),
        ty if *ty == element.arrow() => items,
        _ => return Err(wrong()),
    };
    let mut variable = vec![Vec::with_capacity(array.len()); shape.iter().filter(|extent| extent.is_none()).count()];
    for row in 0..array.len() {
        let found = &extents.values()[row * rank..(row + 1) * rank];
        let is_null = nulls.is_some_and(|nulls| nulls.is_null(row));
        if !is_null && (no_shape(row) || data_null(row)) {
            let part = if no_shape(row) { "shape" } else { "data" };
            return Err(Error::invalid(format!(
                "row {row} of the batch: a null {part} in a tensor that is not null, of type {ty}"
            )));
        }
        let elements: Option<i64> = found.iter().try_fold(1_i64, |product, extent| product.checked_mul(i64::from(*extent)));
        let fits =
            found.iter().zip(shape).all(|(found, wanted)| *found >= 0 && wanted.is_none_or(|wanted| wanted as i32 == *found));
        if !is_null && (!fits || elements != Some(offsets[row + 1] - offsets[row])) {
            return Err(Error::invalid(format!(
                "row {row} of the batch: shape {found:?} with {}, expected {ty}",
                counted(offsets[row + 1] - offsets[row], "element")
            )));
        }
        let chosen = found.iter().zip(shape).filter(|(_, wanted)| wanted.is_none()).map(|(found, _)| *found);
        for (extents, extent) in variable.iter_mut().zip(chosen) {
            extents.push(if is_null { 0 } else { extent as u32 });
        }
    }
    check_lengths(&offsets)?;
    nodes.extend(variable.into_iter().map(FlatNode::Extents));
    nodes.push(FlatNode::Elements(offsets));
    let valid = items.nulls().filter(|inside| inside.null_count() > 0).map(|inside| inside.inner().clone());
    Ok(null_elements(valid, element_bytes(&items), element, nodes))
}

fn null_part(ty: &ColumnType) -> Error {
    Error::unsupported(format!(
        "a null among the parts of a tensor of type {ty}: an element can be null, or the whole tensor; give the part null elements"
    ))
}

/// Pushes the validity of a tensor's elements. Returns the values with null elements zeroed.
fn null_elements(valid: Option<BooleanBuffer>, values: Buffer, element: Primitive, nodes: &mut Vec<FlatNode>) -> Buffer {
    let nulls = valid.clone().map(NullBuffer::new);
    nodes.push(FlatNode::Validity(valid));
    zeroed(values, element.width(), nulls.as_ref())
}

fn check_lengths(offsets: &[i64]) -> Result<()> {
    match offsets.windows(2).find(|pair| u32::try_from(pair[1] - pair[0]).is_err()) {
        Some(pair) => Err(Error::invalid(format!("a value of {}, at most {}", counted(pair[1] - pair[0], "item"), u32::MAX))),
        None => Ok(()),
    }
}

/// Returns the elements of a primitive array as bytes. A bool takes one byte.
fn element_bytes(array: &ArrayRef) -> Buffer {
    if let Some(bools) = array.as_boolean_opt() {
        return bools.values().iter().map(u8::from).collect::<Vec<_>>().into();
    }
    let data = array.to_data();
    let width = data.data_type().primitive_width().unwrap_or(1);
    data.buffers()[0].slice_with_length(data.offset() * width, data.len() * width)
}

/// Returns the bytes with every null slot of `width` bytes zeroed.
fn zeroed(bytes: Buffer, width: usize, nulls: Option<&NullBuffer>) -> Buffer {
    let Some(nulls) = nulls else { return bytes };
    let mut bytes = bytes.to_vec();
    if width > 0 {
        for (position, slot) in bytes.chunks_exact_mut(width).enumerate() {
            if nulls.is_null(position) {
                slot.fill(0);
            }
        }
    }
    bytes.into()
}

/// Returns offsets that start at 0, and the bytes that they cover. Null slots are empty.
fn text<O: OffsetSizeTrait>(offsets: &[O], values: &[u8], nulls: Option<&NullBuffer>) -> (Vec<i64>, Buffer) {
    let first = offsets[0].as_usize();
    let Some(nulls) = nulls else {
        let last = offsets[offsets.len() - 1].as_usize();
        let from_zero = offsets.iter().map(|offset| (offset.as_usize() - first) as i64).collect();
        return (from_zero, Buffer::from(&values[first..last]));
    };
    let mut out = Vec::with_capacity(values.len());
    let mut ends = vec![0];
    for (slot, pair) in offsets.windows(2).enumerate() {
        if nulls.is_valid(slot) {
            out.extend_from_slice(&values[pair[0].as_usize()..pair[1].as_usize()]);
        }
        ends.push(out.len() as i64);
    }
    (ends, out.into())
}

/// Returns offsets that start at 0, and the items that they cover. Null slots are empty. Returns `None` if the array is not a
/// list.
fn list(array: &ArrayRef, nulls: Option<&NullBuffer>) -> Result<Option<(Vec<i64>, ArrayRef)>> {
    if let Some(list) = array.as_list_opt::<i64>() {
        return list_items(list.value_offsets(), list.values(), nulls).map(Some);
    }
    array.as_list_opt::<i32>().map(|list| list_items(list.value_offsets(), list.values(), nulls)).transpose()
}

fn list_items<O: OffsetSizeTrait>(offsets: &[O], items: &ArrayRef, nulls: Option<&NullBuffer>) -> Result<(Vec<i64>, ArrayRef)> {
    let (first, last) = (offsets[0].as_usize(), offsets[offsets.len() - 1].as_usize());
    let hidden =
        nulls.is_some_and(|nulls| offsets.windows(2).enumerate().any(|(slot, pair)| nulls.is_null(slot) && pair[0] != pair[1]));
    if !hidden {
        let from_zero = offsets.iter().map(|offset| (offset.as_usize() - first) as i64).collect();
        return Ok((from_zero, items.slice(first, last - first)));
    }
    let data = items.to_data();
    let mut kept = MutableArrayData::new(vec![&data], false, last - first);
    let mut ends = vec![0];
    for (slot, pair) in offsets.windows(2).enumerate() {
        if nulls.is_none_or(|nulls| nulls.is_valid(slot)) {
            let copied = kept.try_extend(0, pair[0].as_usize(), pair[1].as_usize());
            copied.map_err(|error| Error::internal(format!("compacting a list: {error}")))?;
        }
        ends.push(kept.len() as i64);
    }
    Ok((ends, arrow_array::make_array(kept.freeze())))
}

#[cfg(test)]
mod tests;
