//! Converts a decoded page to an Arrow array, zero-copy if the bytes are aligned. Follows `format-spec/canonical.md#structure`.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeListArray, Int32Array, LargeBinaryArray, LargeListArray, LargeStringArray, PrimitiveArray,
    StructArray, downcast_primitive, make_array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field};
use bytes::Bytes;

use super::canonical::{Node, Structure, slot_elements};
use crate::{
    error::{Error, Result, counted},
    schema::{ColumnType, Primitive},
};

/// Converts the rows of a page to an array of type [`ColumnType::arrow`].
///
/// # Errors
/// - `Corrupt`: text is not UTF-8, a bool is neither 0 nor 1, an extent exceeds 2^31, or null slots hold bytes.
/// - `Unsupported`: a tensor has over 2^31 elements per row.
pub fn page_to_array(ty: &ColumnType, structure: &Structure, values: Bytes) -> Result<ArrayRef> {
    debug_assert_eq!(structure.value_bytes, values.len());
    let mut nodes = structure.nodes.as_slice();
    build(ty, &mut nodes, structure, values)
}

/// Builds the array of `ty` and removes its nodes from the front of `nodes`.
fn build(ty: &ColumnType, nodes: &mut &[Node], structure: &Structure, values: Bytes) -> Result<ArrayRef> {
    let nulls = take_validity(nodes)?;
    match ty {
        ColumnType::List(item) => {
            let offsets = take_offsets(nodes)?;
            let items = build(item, nodes, structure, values)?;
            let field = Arc::new(Field::new("item", item.arrow(), true));
            Ok(Arc::new(LargeListArray::try_new(field, offsets, items, nulls).map_err(corrupt)?))
        }
        ColumnType::Utf8 | ColumnType::Categorical => {
            let offsets = take_offsets(nodes)?;
            Ok(Arc::new(LargeStringArray::try_new(offsets, Buffer::from(values), nulls).map_err(corrupt)?))
        }
        ColumnType::Binary => {
            let offsets = take_offsets(nodes)?;
            Ok(Arc::new(LargeBinaryArray::try_new(offsets, Buffer::from(values), nulls).map_err(corrupt)?))
        }
        ColumnType::Scalar(_) | ColumnType::Date | ColumnType::Timestamp(..) | ColumnType::Duration(_) => {
            primitive(&ty.arrow(), ty.element_width(), values, nulls)
        }
        ColumnType::Tensor { element, shape } => tensor(ty, *element, shape, nodes, structure.slots, values, nulls),
    }
}

fn tensor(
    ty: &ColumnType,
    element: Primitive,
    shape: &[Option<u32>],
    nodes: &mut &[Node],
    slots: usize,
    values: Bytes,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let (extents, rest) = nodes.split_at_checked(shape.iter().filter(|extent| extent.is_none()).count()).unwrap_or((&[], nodes));
    *nodes = rest;
    let elements = primitive(&element.arrow(), element.width(), values, take_validity(nodes)?)?;
    let item = Arc::new(Field::new("item", element.arrow(), true));
    if let Some(size) = ty.fixed_elements() {
        let size = i32::try_from(size).map_err(|_| Error::unsupported(format!("{ty}: over 2^31 elements a row")))?;
        return Ok(Arc::new(FixedSizeListArray::try_new_with_length(item, size, elements, nulls, slots).map_err(corrupt)?));
    }
    let fixed = shape.iter().flatten().fold(1_u64, |product, extent| product.saturating_mul(u64::from(*extent)));
    let mut offsets = Vec::with_capacity(slots + 1);
    let mut end = 0_i64;
    offsets.push(end);
    for slot in 0..slots {
        // No overflow: `Structure::parse` has checked the sum of these products against the value stream.
        end += i64::try_from(slot_elements(extents, slot, fixed).unwrap_or(0)).unwrap_or(0);
        offsets.push(end);
    }
    let rank = i32::try_from(shape.len()).map_err(|_| Error::unsupported("a tensor of over 2^31 dimensions"))?;
    let mut flat_shape = Vec::with_capacity(slots * shape.len());
    for slot in 0..slots {
        let mut extents = extents.iter();
        for extent in shape {
            let extent = match (extent, extent.is_none().then(|| extents.next()).flatten()) {
                (Some(extent), _) => *extent,
                (None, Some(Node::Lengths(lengths))) => lengths.get(slot),
                (None, _) => 0,
            };
            flat_shape
                .push(i32::try_from(extent).map_err(|_| Error::corrupt(format!("{ty}: an extent of {extent}, over 2^31")))?);
        }
    }
    let data = LargeListArray::try_new(Arc::clone(&item), OffsetBuffer::new(offsets.into()), elements, None).map_err(corrupt)?;
    let shape_item = Arc::new(Field::new("item", DataType::Int32, true));
    let shapes = FixedSizeListArray::try_new(shape_item, rank, Arc::new(Int32Array::from(flat_shape)), None).map_err(corrupt)?;
    let DataType::Struct(fields) = ty.arrow() else { return Err(Error::internal(format!("{ty} is not a struct in Arrow"))) };
    Ok(Arc::new(StructArray::try_new(fields, vec![Arc::new(data), Arc::new(shapes)], nulls).map_err(corrupt)?))
}

fn take_validity(nodes: &mut &[Node]) -> Result<Option<NullBuffer>> {
    match nodes.split_first() {
        Some((Node::Validity(bits), rest)) => {
            *nodes = rest;
            Ok(bits.clone().map(NullBuffer::new))
        }
        Some((Node::AllNull(slots), rest)) => {
            *nodes = rest;
            Ok(Some(NullBuffer::new_null(*slots)))
        }
        _ => Err(Error::internal("page structure: a validity node is missing")),
    }
}

fn take_offsets(nodes: &mut &[Node]) -> Result<OffsetBuffer<i64>> {
    let Some((Node::Lengths(lengths), rest)) = nodes.split_first() else {
        return Err(Error::internal("page structure: a lengths node is missing"));
    };
    *nodes = rest;
    let mut offsets = Vec::with_capacity(lengths.len() + 1);
    let mut end = 0_i64;
    offsets.push(end);
    for length in lengths.iter() {
        end += i64::from(length);
        offsets.push(end);
    }
    Ok(OffsetBuffer::new(ScalarBuffer::from(offsets)))
}

fn primitive(ty: &DataType, width: usize, values: Bytes, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    if *ty == DataType::Boolean {
        if values.iter().any(|byte| *byte > 1) {
            return Err(Error::corrupt("a bool that is neither 0 nor 1"));
        }
        let bits = BooleanBuffer::collect_bool(values.len(), |position| values.get(position) == Some(&1));
        return Ok(Arc::new(BooleanArray::new(bits, nulls)));
    }
    let len = values.len() / width;
    let data = ArrayData::builder(ty.clone())
        .len(len)
        .nulls(nulls)
        .add_buffer(in_place(Buffer::from(values), width))
        .build()
        .map_err(corrupt)?;
    Ok(make_array(data))
}

/// Returns an array of `rows` rows of equal length without nulls. `values` holds all values as Arrow stores them; they are copied only
/// if they are not aligned. `ty` is the type of numbers, dates or times, or a list of a fixed number of them.
///
/// # Errors
/// - `Internal`: the values are not those of `rows` rows of this type.
pub fn fixed_to_array(ty: &DataType, values: Buffer, rows: usize) -> Result<ArrayRef> {
    let wrong = |error: &dyn std::fmt::Display| Error::internal(format!("{} of type {ty}: {error}", counted(rows, "row")));
    if let DataType::FixedSizeList(item, size) = ty {
        let count = usize::try_from(*size).map_or(usize::MAX, |size| rows.saturating_mul(size));
        let items = fixed_to_array(item.data_type(), values, count)?;
        let list = FixedSizeListArray::try_new_with_length(Arc::clone(item), *size, items, None, rows);
        return Ok(Arc::new(list.map_err(|error| wrong(&error))?));
    }
    let width = ty.primitive_width().ok_or_else(|| wrong(&"not of a fixed width"))?;
    if values.len() != rows.saturating_mul(width) {
        return Err(wrong(&format!("{} of values", counted(values.len(), "byte"))));
    }
    macro_rules! of {
        ($ty:ty) => {
            Arc::new(
                PrimitiveArray::<$ty>::new(ScalarBuffer::new(in_place(values, width), 0, rows), None).with_data_type(ty.clone()),
            )
        };
    }
    Ok(downcast_primitive! {
        ty => (of),
        _ => return Err(wrong(&"not a primitive type"))
    })
}

/// Returns the buffer itself if its elements are aligned, else an aligned copy.
fn in_place(values: Buffer, width: usize) -> Buffer {
    match values.as_ptr().align_offset(width.min(MOST_ALIGNED)) {
        0 => values,
        _ => Buffer::from_slice_ref(values.as_slice()),
    }
}

/// No Arrow type needs a greater alignment than this, in bytes.
const MOST_ALIGNED: usize = 16;

fn corrupt(error: arrow_schema::ArrowError) -> Error {
    Error::corrupt(error.to_string())
}

#[cfg(test)]
mod tests {
    use arrow_array::{Array, Float64Array, TimestampNanosecondArray, cast::AsArray};

    use super::*;
    use crate::ErrorKind;

    #[test]
    fn values_of_equal_length_are_rows_wherever_they_begin() {
        let values: Vec<f64> = (0..12).map(f64::from).collect();
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let item = Arc::new(Field::new("item", DataType::Float64, true));
        let lists = DataType::FixedSizeList(item, 3);
        for before in 0..9 {
            let padded = Buffer::from_vec([vec![255; before], bytes.clone()].concat()).slice(before);
            let found = fixed_to_array(&lists, padded.clone(), 4).expect("these rows");
            assert_eq!((found.len(), found.null_count(), found.data_type()), (4, 0, &lists));
            assert_eq!(found.as_fixed_size_list().values().as_ref(), &Float64Array::from(values.clone()));
            let utc = DataType::Timestamp(arrow_schema::TimeUnit::Nanosecond, Some("UTC".into()));
            let times = fixed_to_array(&utc, padded, 12).expect("these rows");
            assert_eq!(times.data_type(), &utc);
            assert_eq!(times.as_primitive::<arrow_array::types::TimestampNanosecondType>().values().len(), 12);
            assert!(times.as_any().is::<TimestampNanosecondArray>());
        }
        let whole = Buffer::from_vec(bytes);
        let at = whole.as_ptr();
        let found = fixed_to_array(&DataType::Float64, whole.clone(), 12).expect("these rows");
        assert_eq!(found.as_primitive::<arrow_array::types::Float64Type>().values().as_ptr().cast(), at, "no copy");
        let wrong =
            [(DataType::Float64, 11), (lists.clone(), 3), (lists, usize::MAX), (DataType::Boolean, 12), (DataType::Utf8, 1)];
        for (ty, rows) in wrong {
            let error = fixed_to_array(&ty, whole.clone(), rows).expect_err("wrong rows");
            assert!(error.kind() == ErrorKind::Internal && error.to_string().contains("of type"), "{ty} {rows}: {error}");
        }
    }
}
