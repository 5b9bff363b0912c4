//! Tests of the builders: values become columns, and values that do not fit are refused.

use arrow_array::{Array as _, cast::AsArray};

use super::*;

#[test]
fn numbers_are_converted_as_numpy_does_but_never_wrap_around() {
    let bytes = |primitive, cell: Cell<'_>| number(primitive, &cell).map(|(bytes, width)| bytes[..width].to_vec());
    for (primitive, cell, expected) in [
        (Primitive::U8, Cell::Int(255), Some(vec![255])),
        (Primitive::U8, Cell::Int(256), None),
        (Primitive::U8, Cell::Int(-1), None),
        (Primitive::I16, Cell::Text("-2"), Some(vec![254, 255])),
        (Primitive::I16, Cell::Float(3.0), Some(vec![3, 0])),
        (Primitive::I16, Cell::Float(3.5), None),
        (Primitive::I16, Cell::Float(f64::NAN), None),
        (Primitive::U64, Cell::Int(i128::from(u64::MAX)), Some(vec![255; 8])),
        (Primitive::Bool, Cell::Bool(true), Some(vec![1])),
        (Primitive::Bool, Cell::Int(2), None),
        (Primitive::Bool, Cell::Text("False"), Some(vec![0])),
        (Primitive::F32, Cell::Float(0.1), Some(0.1_f32.to_le_bytes().to_vec())),
        (Primitive::F16, Cell::Int(1), Some(vec![0, 0x3c])),
        (Primitive::F64, Cell::Text("x"), None),
        (Primitive::I64, Cell::Bytes(b"1"), None),
    ] {
        assert_eq!(bytes(primitive, cell.clone()), expected, "{primitive:?} {cell:?}");
    }
}

fn builder(stored: Stored) -> Builder {
    Builder::new(&Column::for_tests("x", stored))
}

fn npy(descr: &str, shape: &str, elements: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let length = u16::try_from(header.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), elements].concat()
}

#[test]
fn arrays_of_any_extent_have_the_type_of_their_column() {
    for shape in [vec![Some(2), Some(2)], vec![None, Some(2)], vec![None, None]] {
        for (element, descr) in [(Primitive::U8, "|u1"), (Primitive::Bool, "|b1")] {
            let mut builder = builder(Stored::Tensor { element, shape: shape.clone(), file: Array::Npy });
            let file = npy(descr, "(2, 2)", &[1, 0, 0, 1]);
            builder.append(&Cell::Bytes(&file)).unwrap();
            builder.append(&Cell::Null).unwrap();
            builder.append(&Cell::Bytes(&file)).unwrap();
            let arrays = builder.finish().unwrap();
            assert_eq!(*arrays[0].data_type(), ColumnType::tensor(element, shape.clone()).arrow());
            assert_eq!((arrays[0].len(), arrays[0].is_null(1), arrays[0].is_null(2)), (3, true, false));
            // A builder starts anew.
            assert_eq!(builder.finish().unwrap()[0].len(), 0);
        }
    }
}

#[test]
fn arrays_of_another_type_or_shape_are_refused() {
    let mut builder = builder(Stored::Tensor { element: Primitive::F32, shape: vec![Some(2), None], file: Array::Npy });
    for (descr, shape, bytes, says) in [
        ("<f4", "(3, 1)", 12, "expected an array of shape [2, ?], found [3, 1]"),
        ("<f4", "(2,)", 8, "found [2]"),
        ("<f8", "(2, 1)", 16, "expected an array of f32, found one of numpy's type `f8`"),
        ("<i4", "(2, 1)", 8, "`i4`"),
    ] {
        let error = builder.append(&Cell::Bytes(&npy(descr, shape, &vec![0; bytes]))).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    assert!(builder.append(&Cell::Text("x")).unwrap_err().to_string().contains("expected the bytes of an array"));
}

#[test]
fn texts_keep_their_shape_and_width() {
    let mut builder = builder(Stored::Texts { bytes: true, shape: vec![None, None], file: Array::Npy });
    builder.append(&Cell::Bytes(&npy("|S3", "(1, 2)", b"a\0b\0\0\0"))).unwrap();
    builder.append(&Cell::Null).unwrap();
    builder.append(&Cell::Bytes(&npy("|S1", "(0, 4)", b""))).unwrap();
    let arrays = builder.finish().unwrap();
    let first = arrays[0].as_list::<i64>().value(0);
    assert_eq!(first.as_binary::<i64>().iter().flatten().collect::<Vec<_>>(), [&b"a\0b"[..], b""]);
    let widths = arrays[2].as_primitive::<arrow_array::types::Int32Type>();
    assert_eq!((widths.value(0), widths.is_null(1), widths.value(2)), (3, true, 1));
    let shapes = arrays[1].as_fixed_size_list();
    assert_eq!(shapes.value(2).as_primitive::<arrow_array::types::Int32Type>().values(), &[0, 4]);
    assert!(arrays.iter().all(|array| array.len() == 3 && array.is_null(1)));
}
