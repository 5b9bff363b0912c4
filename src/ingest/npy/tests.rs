//! Tests of the npy reader: arrays, and hostile headers.

use super::*;
use crate::error::ErrorKind;

fn npy(header: &str, elements: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(elements);
    file
}

#[test]
fn a_header_that_numpy_wrote_is_read() {
    let file = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }          \n", &[0; 24]);
    let (header, elements) = parse(&file).unwrap();
    assert_eq!((header.shape.as_slice(), header.descr.kind, header.descr.width, elements.len()), (&[2, 3][..], b'f', 4, 24));
    // Python 2 wrote long integers; a header may have its entries in any order.
    let file = npy("{'shape':(2L,), 'fortran_order':True,'descr':\"|S3\"}", &[0; 6]);
    assert_eq!(parse(&file).unwrap().0.shape, [2]);
    let file = npy("{'descr': '<i8', 'fortran_order': False, 'shape': (), }", &[1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(parse(&file).unwrap().0.elements(), 1);
}

#[test]
fn hostile_headers_are_refused() {
    let dict = |descr: &str, shape: &str| format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}");
    for (header, says) in [
        (dict("'|O'", "(2,)"), "Python objects"),
        (dict("'O8'", "(2,)"), "elements of type `O8`"),
        (dict("[('a', '<f4')]", "(2,)"), "records"),
        (dict("'<f4'", "(-1,)"), "an extent of 0 or more, found `-1"),
        (dict("'<f4'", "(2147483648, 2147483648, 4)"), "expected at most 1073741824 bytes"),
        (dict("'<f4'", "(99999999999999999999999,)"), "an extent of 0 or more"),
        (dict("'|S0'", "(4611686018427387904,)"), "expected at most"),
        (dict("'<f4'", "(1e3,)"), "expected `)`"),
        (dict("'<f4'", &format!("({})", "1,".repeat(40))), "over 32 dimensions"),
        (dict("'<f3'", "(1,)"), "elements of type `<f3`"),
        (dict("__import__('os').system('id')", "(1,)"), "expected a text in quotes"),
        ("{'descr': '<f4', 'shape': (1,)}".to_owned(), "expected `descr`, `fortran_order` and `shape`"),
        ("{'descr': '<f4'".to_owned(), "expected `}`"),
        (dict("'<f4'", "(1,)") + " 7", "expected its end, found ` 7`"),
        ("é".to_owned(), "expected `{`"),
    ] {
        let error = parse(&npy(&header, &[0; 8])).unwrap_err().to_string();
        assert!(error.contains(says), "{header}: {error}");
    }
    let good = npy(&dict("'<f4'", "(2,)"), &[0; 8]);
    for end in 0..good.len() {
        assert_eq!(parse(&good[..end]).unwrap_err().kind(), ErrorKind::Corrupt, "{end}");
    }
    let long = [&good[..], &[0]].concat();
    assert!(parse(&long).unwrap_err().to_string().contains("expected 8 bytes of elements, found 9"));
    let other = [b"\x93NUMPY\x04\x00".as_slice(), &good[8..]].concat();
    assert!(parse(&other).unwrap_err().to_string().contains("found 4.0"));
}

#[test]
fn elements_of_any_order_become_c_order_and_little_endian() {
    for shape in [vec![2, 3], vec![3, 1, 4, 2], vec![5], vec![2, 0, 3]] {
        let count: u64 = shape.iter().product();
        // The element at a place has its number in C order; the file has them in Fortran order and big-endian.
        let strides: Vec<u64> = (0..shape.len()).map(|dimension| shape[dimension + 1..].iter().product()).collect();
        let mut elements = Vec::new();
        for mut number in 0..count {
            let mut c_order = 0;
            for (extent, stride) in shape.iter().zip(&strides) {
                c_order += number % extent * stride;
                number /= extent;
            }
            elements.extend(u16::try_from(c_order).unwrap().to_be_bytes());
        }
        let header = Header { descr: Descr { kind: b'u', width: 2, big_endian: true }, fortran: true, shape };
        let expected: Vec<u8> = (0..u16::try_from(count).unwrap()).flat_map(u16::to_le_bytes).collect();
        assert_eq!(in_c_order(&header, &elements), expected, "{header:?}");
    }
}

#[test]
fn a_header_is_read_without_its_elements() {
    let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }          \n";
    let file = npy(text, &[0; 24]);
    let size = file.len() as u64;
    let header = read_header(&file[..], size).unwrap();
    assert_eq!(header, parse(&file).unwrap().0);
    // Versions 2 and 3 have longer lengths.
    let longer = [b"\x93NUMPY\x03\x00", &u32::try_from(text.len()).unwrap().to_le_bytes()[..], text.as_bytes()].concat();
    assert_eq!(read_header(&longer[..], longer.len() as u64 + 24).unwrap(), header);
    for found in [size - 1, size + 1, 0] {
        let error = read_header(&file[..], found).unwrap_err();
        assert!(error.kind() == ErrorKind::Corrupt && error.to_string().contains("expected 24 bytes of elements"), "{error}");
    }
    for end in 0..file.len() - 24 {
        assert_eq!(read_header(&file[..end], size).unwrap_err().kind(), ErrorKind::Corrupt, "{end}");
    }
    let error = read_header(&b"PK\x03\x04 and so on"[..], 17).unwrap_err().to_string();
    assert!(error.ends_with("expected its magic bytes at the start, found `PK\\x03\\x04 and`"), "{error}");
}
