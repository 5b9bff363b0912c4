//! Reads the arrays of a NumPy `.npz` file: a zip of `.npy` files. Only what the goldens use: little-endian arrays in C order.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of this reader")]

use crate::environment::shared_path;
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// One array: its shape and its values.
#[derive(Clone, Debug)]
pub struct Array {
    /// The length of each dimension.
    pub shape: Vec<usize>,
    /// The NumPy type, such as `<f4`.
    pub kind: String,
    /// The values, little-endian, row by row.
    pub bytes: Vec<u8>,
}

/// The arrays of one file, by name.
pub struct Npz(pub HashMap<String, Array>);

/// Returns a file of the Level 5 data. If there is no folder of real data, the test is recorded as skipped.
pub fn golden(name: &str) -> Option<PathBuf> {
    shared_path(&format!("l5/{name}"))
}

impl Npz {
    /// Opens `golden/<name>`, or returns nothing if it does not exist.
    pub fn golden(name: &str) -> Option<Self> {
        golden(&format!("golden/{name}")).map(|path| Self::open(&path))
    }

    /// Reads all arrays of a file.
    pub fn open(path: &Path) -> Self {
        let mut zip = zip::ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap();
        let mut arrays = HashMap::new();
        for entry in 0..zip.len() {
            let mut file = zip.by_index(entry).unwrap();
            let name = file.name().unwrap().into_owned();
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).unwrap();
            arrays.insert(name.strip_suffix(".npy").unwrap_or(&name).to_owned(), Array::parse(&bytes));
        }
        Self(arrays)
    }

    /// Whether the file has an array of this name.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns an array by its name.
    pub fn array(&self, name: &str) -> &Array {
        self.0.get(name).unwrap_or_else(|| panic!("no array {name}"))
    }

    /// Returns the values of an `<f4` array.
    pub fn f32(&self, name: &str) -> Vec<f32> {
        self.array(name).f32()
    }

    /// Returns the values of an `<f8` array.
    pub fn f64(&self, name: &str) -> Vec<f64> {
        self.array(name).f64()
    }

    /// Returns the values of an integer or boolean array.
    pub fn i64(&self, name: &str) -> Vec<i64> {
        self.array(name).i64()
    }

    /// Returns the values of an `|u1` or `|b1` array.
    pub fn u8(&self, name: &str) -> Vec<u8> {
        self.array(name).of(&["|u1", "|b1"]).bytes.clone()
    }

    /// Returns the values of a `<U` array, without the padding.
    pub fn text(&self, name: &str) -> Vec<String> {
        self.array(name).text()
    }

    /// Returns the shape of an array.
    pub fn shape(&self, name: &str) -> &[usize] {
        &self.array(name).shape
    }
}

impl Array {
    /// Reads one `.npy` file.
    pub fn parse(bytes: &[u8]) -> Self {
        assert_eq!(&bytes[..6], b"\x93NUMPY");
        let (at, len) = match bytes[6] {
            1 => (10, usize::from(u16::from_le_bytes([bytes[8], bytes[9]]))),
            _ => (12, u32::from_le_bytes(bytes[8..12].try_into().unwrap()) as usize),
        };
        let header = std::str::from_utf8(&bytes[at..at + len]).unwrap();
        let after = |key: &str| header.split_once(&format!("'{key}':")).unwrap().1.trim_start();
        let kind = after("descr")[1..].split('\'').next().unwrap().to_owned();
        assert!(after("fortran_order").starts_with("False"), "{header}");
        let shape = after("shape")[1..].split(')').next().unwrap();
        let shape = shape.split(',').map(str::trim).filter(|part| !part.is_empty()).map(|part| part.parse().unwrap()).collect();
        Self { shape, kind, bytes: bytes[at + len..].to_vec() }
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the values of an `<f4` array.
    pub fn f32(&self) -> Vec<f32> {
        self.of(&["<f4"]).words().map(f32::from_le_bytes).collect()
    }

    /// Returns the values of an `<f8` array.
    pub fn f64(&self) -> Vec<f64> {
        self.of(&["<f8"]).words().map(f64::from_le_bytes).collect()
    }

    /// Returns the values of an `<u8` array.
    pub fn u64(&self) -> Vec<u64> {
        self.of(&["<u8"]).words().map(u64::from_le_bytes).collect()
    }

    /// Returns the values of an integer or boolean array.
    pub fn i64(&self) -> Vec<i64> {
        match self.kind.as_str() {
            "<i8" | "<u8" => self.words().map(i64::from_le_bytes).collect(),
            "<i4" => self.words().map(|word| i64::from(i32::from_le_bytes(word))).collect(),
            "<u4" => self.words().map(|word| i64::from(u32::from_le_bytes(word))).collect(),
            "|u1" | "|b1" => self.bytes.iter().map(|byte| i64::from(*byte)).collect(),
            kind => panic!("{kind} is not an integer type of this reader"),
        }
    }

    /// Returns the values of a `<U` array, without the padding.
    pub fn text(&self) -> Vec<String> {
        let width: usize = self.kind.strip_prefix("<U").unwrap().parse().unwrap();
        let chars: Vec<char> = self.words().map(|word| char::from_u32(u32::from_le_bytes(word)).unwrap()).collect();
        (0..self.len())
            .map(|row| chars[row * width..][..width].iter().collect::<String>().trim_end_matches('\0').into())
            .collect()
    }

    fn of(&self, kinds: &[&str]) -> &Self {
        assert!(kinds.contains(&self.kind.as_str()), "type {}, expected one of {kinds:?}", self.kind);
        self
    }

    fn words<const N: usize>(&self) -> impl Iterator<Item = [u8; N]> + '_ {
        self.bytes.as_chunks::<N>().0.iter().copied()
    }
}
