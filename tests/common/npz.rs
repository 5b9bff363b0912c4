//! A small reader of NumPy's `.npz`: a zip of `.npy` files. Each has a header (a Python dict) and the bytes in C order.

use std::{collections::BTreeMap, fs::File, io::Read, path::Path};

/// One array.
#[derive(Debug)]
pub struct Npy {
    /// NumPy's type string: `<f8`.
    pub dtype: String,
    pub shape: Vec<usize>,
    pub bytes: Vec<u8>,
}

impl Npy {
    /// Returns the bytes of one entry of the first dimension.
    pub fn row_len(&self) -> usize {
        self.bytes.len() / self.shape[0]
    }

    /// Returns the bytes of the first `rows` entries.
    pub fn head(&self, rows: usize) -> &[u8] {
        &self.bytes[..rows * self.row_len()]
    }

    /// Returns all elements of an `<i8` array.
    pub fn i64s(&self) -> Vec<i64> {
        assert_eq!(self.dtype, "<i8");
        self.bytes.chunks_exact(8).map(|word| i64::from_le_bytes(word.try_into().unwrap())).collect()
    }
}

/// Returns every array of the file by name.
pub fn read(path: &Path) -> BTreeMap<String, Npy> {
    let mut archive = zip::ZipArchive::new(File::open(path).unwrap()).unwrap();
    (0..archive.len())
        .map(|at| {
            let mut entry = archive.by_index(at).unwrap();
            let name = entry.name().unwrap().trim_end_matches(".npy").to_owned();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            (name, parse(bytes))
        })
        .collect()
}

/// Parses one `.npy` file.
pub fn parse(mut bytes: Vec<u8>) -> Npy {
    assert_eq!(&bytes[..6], b"\x93NUMPY");
    let (header_at, header_len) = match bytes[6] {
        1 => (10, u16::from_le_bytes([bytes[8], bytes[9]]) as usize),
        _ => (12, u32::from_le_bytes(bytes[8..12].try_into().unwrap()) as usize),
    };
    let header = String::from_utf8(bytes[header_at..header_at + header_len].to_vec()).unwrap();
    let after = |key: &str| header.split_once(&format!("'{key}': ")).unwrap().1;
    assert!(after("fortran_order").starts_with("False"));
    let dtype = after("descr").split('\'').nth(1).unwrap().to_owned();
    let extents = after("shape").trim_start_matches('(').split(')').next().unwrap();
    let shape =
        extents.split(',').map(str::trim).filter(|extent| !extent.is_empty()).map(|extent| extent.parse().unwrap()).collect();
    Npy { dtype, shape, bytes: bytes.split_off(header_at + header_len) }
}
