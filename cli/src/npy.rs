//! Writes NumPy's `.npy` files, format version 1.0: a header (a Python dict) and the elements in C order.
//! <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>

use std::{fs, path::Path};

use tetrys::{Error, Result};

/// One array.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Npy {
    /// NumPy's name of the element type: `<f4`, `|b1`, `<U16`.
    pub(crate) descr: String,
    /// Extent of each dimension, outermost first. Empty for a single element.
    pub(crate) shape: Vec<usize>,
    /// The elements, little-endian.
    pub(crate) bytes: Vec<u8>,
}

impl Npy {
    pub(crate) fn bools(values: &[bool]) -> Self {
        Self { descr: "|b1".to_owned(), shape: vec![values.len()], bytes: values.iter().map(|value| u8::from(*value)).collect() }
    }

    pub(crate) fn i64s(values: impl IntoIterator<Item = i64>, shape: Vec<usize>) -> Self {
        Self { descr: "<i8".to_owned(), shape, bytes: values.into_iter().flat_map(i64::to_le_bytes).collect() }
    }

    /// Returns the bytes of the file.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let extents: String = self.shape.iter().map(|extent| format!("{extent}, ")).collect();
        // A Python tuple of one element needs its trailing comma; old readers refuse one in longer tuples.
        let extents = match self.shape.len() {
            1 => extents.trim_end(),
            _ => extents.trim_end_matches(", "),
        };
        let mut header = format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({extents}), }}", self.descr);
        // The format requires that elements begin at a multiple of 64 and that the header ends in a line feed.
        let padding = (64 - (PREFIX + header.len() + 1) % 64) % 64;
        header.push_str(&" ".repeat(padding));
        header.push('\n');
        let mut file = Vec::with_capacity(PREFIX + header.len() + self.bytes.len());
        file.extend_from_slice(b"\x93NUMPY\x01\x00");
        // A header is a few hundred bytes long: a tensor has at most 32 dimensions.
        file.extend_from_slice(&u16::try_from(header.len()).unwrap_or(u16::MAX).to_le_bytes());
        file.extend_from_slice(header.as_bytes());
        file.extend_from_slice(&self.bytes);
        file
    }

    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        fs::write(path, self.to_bytes()).map_err(|error| Error::from(error).at(path.display()))
    }
}

/// Bytes of the magic, the version and the length of the header.
const PREFIX: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_what_numpy_writes() {
        let file = Npy::i64s([1, 2, 3], vec![3]).to_bytes();
        assert_eq!(&file[..10], b"\x93NUMPY\x01\x00\x76\x00");
        assert!(file[10..].starts_with(b"{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }    "));
        assert_eq!((file[127], file.len()), (b'\n', 128 + 24));
        let text = |shape: Vec<usize>| String::from_utf8(Npy::i64s([], shape).to_bytes().split_off(10)).unwrap();
        assert!(text(vec![]).contains("'shape': (), }") && text(vec![0, 4]).contains("'shape': (0, 4), }"));
    }
}
