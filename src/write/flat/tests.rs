//! Tensors with null parts: one element may be null, or the whole tensor. Anything between is refused.

use std::sync::Arc;

use arrow_array::{FixedSizeListArray, Float32Array, LargeListArray, StructArray, types::Float32Type};
use arrow_buffer::OffsetBuffer;
use arrow_schema::Field;

use super::*;
use crate::error::ErrorKind;

fn any_nulls(random: &mut fastrand::Rng, len: usize) -> Option<NullBuffer> {
    random.bool().then(|| (0..len).map(|_| random.u8(..8) > 0).collect::<Vec<bool>>().into())
}

fn of_parts(items: ArrayRef, size: usize, nulls: Option<NullBuffer>) -> ArrayRef {
    let field = Arc::new(Field::new("item", items.data_type().clone(), true));
    Arc::new(FixedSizeListArray::new(field, size as i32, items, nulls))
}

/// Returns the innermost values of nested fixed-size lists.
fn leaf(array: &ArrayRef) -> Float32Array {
    let mut array = Arc::clone(array);
    while let Some(parts) = array.as_fixed_size_list_opt() {
        array = Arc::clone(parts.values());
    }
    array.as_primitive::<Float32Type>().clone()
}

#[test]
fn fixed_tensors_come_back_with_their_nulls_or_are_refused() {
    let mut random = fastrand::Rng::with_seed(3);
    let (mut refused, mut stored) = (0, 0);
    for case in 0..400 {
        let rows = random.usize(1..6);
        let elements: ArrayRef =
            Arc::new((0..rows * 6).map(|_| (random.u8(..9) > 0).then(|| random.f32())).collect::<Float32Array>());
        let (of_rows, parts) = (any_nulls(&mut random, rows), any_nulls(&mut random, rows * 2));
        let array = of_parts(of_parts(Arc::clone(&elements), 3, parts.clone()), 2, of_rows.clone());
        let is_null = |row: usize| of_rows.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let from = random.usize(..rows);
        let sliced = array.slice(from, rows - from);
        let null_part =
            (from * 2..rows * 2).any(|part| !is_null(part / 2) && parts.as_ref().is_some_and(|parts| parts.is_null(part)));
        // One tensor per row, and all rows together as one tensor with a variable first extent.
        let whole = LargeListArray::new(
            Arc::new(Field::new("item", sliced.data_type().clone(), true)),
            OffsetBuffer::from_lengths([rows - from]),
            Arc::clone(&sliced),
            None,
        );
        let whole = canonical_array(&"f32[?,2,3]".parse().unwrap(), &(Arc::new(whole) as ArrayRef));
        let null_row = (from..rows).any(is_null);
        assert_eq!(whole.is_err(), null_part || null_row, "case {case}: {whole:?}");
        match canonical_array(&"f32[2,3]".parse().unwrap(), &sliced) {
            Err(error) => {
                assert!(null_part && error.kind() == ErrorKind::Unsupported, "case {case}: {error}");
                assert!(error.to_string().contains("a null among the parts of a tensor of type f32[2,3]"), "{error}");
                assert_eq!(whole.unwrap_err().kind(), ErrorKind::Unsupported);
                refused += 1;
            }
            Ok(back) => {
                assert!(!null_part, "case {case}: a null part became values");
                let (found, expected) = (leaf(&back), elements.as_primitive::<Float32Type>().slice(from * 6, (rows - from) * 6));
                for row in 0..rows - from {
                    assert_eq!(back.is_null(row), is_null(from + row), "case {case}, row {row}");
                    if back.is_valid(row) {
                        assert_eq!(found.slice(row * 6, 6), expected.slice(row * 6, 6), "case {case}, row {row}");
                    }
                }
                stored += 1;
            }
        }
    }
    assert!(refused > 30 && stored > 30, "{refused} refused, {stored} stored");
}

#[test]
fn a_tensor_without_its_shape_or_its_data_is_refused() {
    let data = || {
        let field = Arc::new(Field::new("item", DataType::Float32, true));
        let values = Arc::new(Float32Array::from(Vec::<f32>::new()));
        LargeListArray::new(field, OffsetBuffer::from_lengths([0, 0]), values, None)
    };
    let shape = |nulls: Option<NullBuffer>| of_parts(Arc::new(arrow_array::Int32Array::from(vec![0, 0, 0, 0])), 2, nulls);
    let tensor = |shape: ArrayRef, nulls: Option<NullBuffer>| {
        let data: ArrayRef = Arc::new(data());
        let fields = [("data", &data), ("shape", &shape)].map(|(name, array)| Field::new(name, array.data_type().clone(), true));
        Arc::new(StructArray::new(fields.to_vec().into(), vec![data, shape], nulls)) as ArrayRef
    };
    let ty: ColumnType = "f32[?,?]".parse().unwrap();
    assert_eq!(canonical_array(&ty, &tensor(shape(None), None)).unwrap().null_count(), 0);
    let second = || Some(NullBuffer::from(vec![true, false]));
    let error = canonical_array(&ty, &tensor(shape(second()), None)).unwrap_err();
    assert!(error.to_string().contains("row 1 of the batch: a null shape in a tensor that is not null"), "{error}");
    // A null tensor may have a null shape.
    assert_eq!(canonical_array(&ty, &tensor(shape(second()), second())).unwrap().null_count(), 1);
}
