//! The goldens: typed arrays of NumPy's `.npz` files.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of this reader")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::environment::shared_path;
use crate::numpy::{self, Npy};

/// The arrays of one file, by name.
pub struct Npz(BTreeMap<String, Npy>);

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
        Self(numpy::read(path))
    }

    /// Whether the file has an array of this name.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns the values of an `<f4` array.
    pub fn f32(&self, name: &str) -> Vec<f32> {
        self.words(name, &["<f4"]).map(f32::from_le_bytes).collect()
    }

    /// Returns the values of an `<f8` array.
    pub fn f64(&self, name: &str) -> Vec<f64> {
        self.words(name, &["<f8"]).map(f64::from_le_bytes).collect()
    }

    /// Returns the values of an `<u8` array.
    pub fn u64(&self, name: &str) -> Vec<u64> {
        self.words(name, &["<u8"]).map(u64::from_le_bytes).collect()
    }

    /// Returns the values of an integer or boolean array.
    pub fn i64(&self, name: &str) -> Vec<i64> {
        match self.array(name).dtype.as_str() {
            "<i4" => self.words(name, &["<i4"]).map(|word| i64::from(i32::from_le_bytes(word))).collect(),
            "<u4" => self.words(name, &["<u4"]).map(|word| i64::from(u32::from_le_bytes(word))).collect(),
            "|u1" | "|b1" => self.u8(name).into_iter().map(i64::from).collect(),
            _ => self.words(name, &["<i8", "<u8"]).map(i64::from_le_bytes).collect(),
        }
    }

    /// Returns the values of an `|u1` or `|b1` array.
    pub fn u8(&self, name: &str) -> Vec<u8> {
        self.words::<1>(name, &["|u1", "|b1"]).map(|[byte]| byte).collect()
    }

    /// Returns the values of a `<U` array, without the padding.
    pub fn text(&self, name: &str) -> Vec<String> {
        let array = self.array(name);
        let width: usize = array.dtype.strip_prefix("<U").unwrap().parse().unwrap();
        let chars: Vec<char> =
            array.bytes.as_chunks().0.iter().map(|word| char::from_u32(u32::from_le_bytes(*word)).unwrap()).collect();
        chars.chunks(width).map(|row| row.iter().collect::<String>().trim_end_matches('\0').into()).collect()
    }

    /// Returns the names of all arrays.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns the NumPy type of an array, such as `<f4`.
    pub fn dtype(&self, name: &str) -> &str {
        &self.array(name).dtype
    }

    /// Returns the shape of an array.
    pub fn shape(&self, name: &str) -> &[usize] {
        &self.array(name).shape
    }

    fn array(&self, name: &str) -> &Npy {
        self.0.get(name).unwrap_or_else(|| panic!("no array {name}"))
    }

    /// Returns the values of an array of one of some types, as bytes.
    fn words<const N: usize>(&self, name: &str, dtypes: &[&str]) -> impl Iterator<Item = [u8; N]> {
        let array = self.array(name);
        assert!(dtypes.contains(&array.dtype.as_str()), "{name}: type {}, expected one of {dtypes:?}", array.dtype);
        array.bytes.as_chunks::<N>().0.iter().copied()
    }
}
