//! Tests of the npz reader: hostile archives.

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
fn texts_lose_the_nuls_at_their_end() {
    assert_eq!(without_nuls(b"a\0b\0\0"), b"a\0b");
    assert_eq!(without_nuls(b"\0\0"), b"");
    let codes = |codes: &[u32]| codes.iter().flat_map(|code| code.to_le_bytes()).collect::<Vec<_>>();
    assert_eq!(text(&codes(&[0xe9, 0, 0x1f600, 0])).unwrap(), "é\0😀");
    assert_eq!(text(&codes(&[0xd800])), None);
}
