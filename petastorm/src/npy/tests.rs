//! Tests of the npy and npz readers: arrays, and hostile headers and archives.

use std::io::Write;

use super::*;

fn npy(header: &str, elements: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(elements);
    file
}

fn npz(name: &str, member: &[u8]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    archive.start_file(name, options).unwrap();
    archive.write_all(member).unwrap();
    archive.finish().unwrap().into_inner()
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
        assert_eq!(parse(&good[..end]).unwrap_err().kind(), tetrys::ErrorKind::Corrupt, "{end}");
    }
    let long = [&good[..], &[0]].concat();
    assert!(parse(&long).unwrap_err().to_string().contains("expected 8 bytes of elements, found 9"));
    let other = [b"\x93NUMPY\x04\x00".as_slice(), &good[8..]].concat();
    assert!(parse(&other).unwrap_err().to_string().contains("found 4.0"));
}

#[test]
fn a_zip_bomb_is_not_inflated() {
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (4,)}";
    // 64 MiB of zeros behind an array of four bytes, in an archive of 64 KiB.
    let bomb = npz(MEMBER, &npy(header, &vec![0; 64 << 20]));
    assert!(bomb.len() < 100 << 10);
    let out = unzip(&bomb, |_| Ok(())).unwrap();
    // The bytes in which a header may be, and one that is too many.
    assert!(out.len() <= MAX_HEADER + 1, "{} bytes", out.len());
    assert!(parse(&out).unwrap_err().to_string().contains("expected 4 bytes of elements"));
    // An array of 64 MiB where the schema says another shape.
    let large = "{'descr': '|u1', 'fortran_order': False, 'shape': (67108864,)}";
    let wanted = |header: &Header| if header.shape == [4] { Ok(()) } else { Err(Error::invalid("another shape")) };
    let error = unzip(&npz(MEMBER, &npy(large, &vec![0; 64 << 20])), wanted).unwrap_err();
    assert_eq!(error.to_string(), "another shape");
}

#[test]
fn only_archives_of_one_array_are_read() {
    let file = npy("{'descr': '<u2', 'fortran_order': False, 'shape': (2,)}", &[1, 0, 2, 0]);
    let good = npz(MEMBER, &file);
    assert_eq!(unzip(&good, |_| Ok(())).unwrap(), file);
    assert!(unzip(&npz("other.npy", &file), |_| Ok(())).unwrap_err().to_string().contains("expected only arr.npy"));
    for end in 0..good.len() {
        assert!(unzip(&good[..end], |_| Ok(())).is_err(), "{end}");
    }
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 0x41;
        let _ = unzip(&bytes, |_| Ok(())).and_then(|out| parse(&out).map(drop));
    }
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
fn texts_lose_the_nuls_at_their_end() {
    assert_eq!(without_nuls(b"a\0b\0\0"), b"a\0b");
    assert_eq!(without_nuls(b"\0\0"), b"");
    let codes = |codes: &[u32]| codes.iter().flat_map(|code| code.to_le_bytes()).collect::<Vec<_>>();
    assert_eq!(text(&codes(&[0xe9, 0, 0x1f600, 0])).unwrap(), "é\0😀");
    assert_eq!(text(&codes(&[0xd800])), None);
}
