//! numpy's array files, `.npy` of versions 1 to 3.
//!
//! Headers come from strangers. A header is parsed as the literal that numpy writes, not evaluated. Arrays of Python objects are
//! pickles, and are refused. Sizes are checked before memory is taken. See
//! <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.
//!
//! ```
//! use tetrys::extension::npy::{in_c_order, parse};
//! // np.save(file, np.array([[1, 2], [3, 4]], ">i2", order="F"))
//! let header = b"{'descr': '>i2', 'fortran_order': True, 'shape': (2, 2), }\n";
//! let file = [b"\x93NUMPY\x01\x00\x3b\x00", &header[..], &[0, 1, 0, 3, 0, 2, 0, 4]].concat();
//! let (header, elements) = parse(&file)?;
//! assert_eq!(header.shape, [2, 2]);
//! assert_eq!(*in_c_order(&header, elements), [1, 0, 2, 0, 3, 0, 4, 0]);
//! # Ok::<(), tetrys::Error>(())
//! ```

use std::{borrow::Cow, io::Read};

use crate::error::{Error, Result, counted};

/// Maximum bytes of the elements of an array: a page of a table cannot hold more.
pub const MAX_ARRAY: u64 = 1 << 30;
/// Maximum bytes of a header, with the bytes before it.
pub const MAX_HEADER: usize = 64 << 10;
/// Maximum dimensions, as in numpy.
const MAX_DIMENSIONS: usize = 32;

/// The type of the elements: `<f4`, `|S10`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Descr {
    /// numpy's letter of the kind: `b i u f c S U M m V`.
    pub kind: u8,
    /// Bytes of an element.
    pub width: usize,
    /// Whether elements are big-endian.
    pub big_endian: bool,
}

/// An array in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Header {
    /// Type of the elements.
    pub descr: Descr,
    /// Whether the first dimension varies fastest.
    pub fortran: bool,
    /// Extent of each dimension.
    pub shape: Vec<u64>,
}

impl Header {
    /// Returns the number of elements.
    pub fn elements(&self) -> u64 {
        self.shape.iter().product()
    }

    /// Returns the bytes of all elements.
    pub fn bytes(&self) -> u64 {
        self.elements() * self.descr.width as u64
    }
}

/// Parses a `.npy` file. Returns its header, and the bytes of its elements.
///
/// # Errors
/// - `Corrupt`: the file is no `.npy` file, its header breaks a rule, or it has more or fewer bytes than the header says.
/// - `Unsupported`: the array has Python objects, fields, over 32 dimensions or over 1 GiB.
pub fn parse(file: &[u8]) -> Result<(Header, &[u8])> {
    let (header, start) = header(file)?;
    let elements = file.get(start..).unwrap_or_default();
    check_length(&header, elements.len() as u64)?;
    Ok((header, elements))
}

/// Reads the header alone of a file of `size` bytes, and checks that the elements have the bytes that are left.
///
/// # Errors
/// - As for [`parse`].
/// - Errors of the reader.
pub fn read_header(mut file: impl Read, size: u64) -> Result<Header> {
    let mut bytes = Vec::new();
    file.by_ref().take(LONGEST_PREFIX as u64).read_to_end(&mut bytes)?;
    let (length, before) = prefix(&bytes)?;
    file.take((before + length).saturating_sub(bytes.len()) as u64).read_to_end(&mut bytes)?;
    let (header, start) = header(&bytes)?;
    check_length(&header, size.saturating_sub(start as u64))?;
    Ok(header)
}

fn check_length(header: &Header, found: u64) -> Result<()> {
    let expected = header.bytes();
    match found == expected {
        true => Ok(()),
        false => Err(Error::corrupt(format!(
            "a .npy file of shape {:?}: expected {} of elements, found {found}",
            header.shape,
            counted(expected, "byte")
        ))),
    }
}

/// Parses the header of a file, of which `file` has the start. Returns the header, and where the elements begin.
///
/// # Errors
/// - `Corrupt`: it is no `.npy` file, or its header is cut or breaks a rule.
/// - `Unsupported`: the array has Python objects, fields, over 32 dimensions or over 1 GiB.
pub fn header(file: &[u8]) -> Result<(Header, usize)> {
    let (length, before) = prefix(file)?;
    let text = file.get(before..before + length).ok_or_else(|| broken("its header is cut"))?;
    let text = std::str::from_utf8(text).map_err(|_| broken("its header is not UTF-8"))?;
    let header = Literal { rest: text }.header().map_err(|error| error.at("the header of a .npy file"))?;
    let elements = header.shape.iter().try_fold(1_u64, |product, extent| product.checked_mul(*extent));
    let bytes = elements.and_then(|elements| elements.checked_mul(header.descr.width as u64));
    match bytes {
        Some(bytes) if bytes <= MAX_ARRAY && elements <= Some(MAX_ARRAY) => Ok((header, before + length)),
        _ => Err(Error::unsupported(format!(
            "an array of shape {:?} with elements of {}: expected at most {}",
            header.shape,
            counted(header.descr.width, "byte"),
            counted(MAX_ARRAY, "byte")
        ))),
    }
}

/// Bytes before the header of versions 2 and 3: the magic, the version and the length of the header. Version 1 has two fewer.
const LONGEST_PREFIX: usize = 12;

/// Returns the length of the header, and the bytes before it.
fn prefix(file: &[u8]) -> Result<(usize, usize)> {
    let rest = file.strip_prefix(b"\x93NUMPY").ok_or_else(|| {
        let start = file.get(..8).unwrap_or(file).escape_ascii();
        broken(&format!("expected its magic bytes at the start, found `{start}`"))
    })?;
    let (length, before) = match rest {
        [1, 0, a, b, ..] => (usize::from(u16::from_le_bytes([*a, *b])), 10),
        [2 | 3, 0, a, b, c, d, ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, LONGEST_PREFIX),
        [1..=3, 0, ..] | [] | [_] => return Err(broken("its header is cut")),
        [major, minor, ..] => {
            return Err(Error::unsupported(format!("expected a .npy file of version 1, 2 or 3, found {major}.{minor}")));
        }
    };
    if length > MAX_HEADER - LONGEST_PREFIX {
        return Err(Error::unsupported(format!(
            "a .npy header of {}: expected at most {}",
            counted(length, "byte"),
            MAX_HEADER - LONGEST_PREFIX
        )));
    }
    Ok((length, before))
}

fn broken(why: &str) -> Error {
    Error::corrupt(format!("not a .npy file: {why}"))
}

/// A Python literal: a dict of the three entries that numpy writes.
struct Literal<'a> {
    rest: &'a str,
}

impl<'a> Literal<'a> {
    fn header(mut self) -> Result<Header> {
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        self.expect("{")?;
        while !self.eat("}") {
            let key = self.quoted()?;
            self.expect(":")?;
            match key {
                "descr" => descr = Some(self.descr()?),
                "fortran_order" => fortran = Some(self.bool()?),
                "shape" => shape = Some(self.shape()?),
                other => return Err(self.unlike("`descr`, `fortran_order` or `shape`", other)),
            }
            if !self.eat(",") {
                self.expect("}")?;
                break;
            }
        }
        if !self.rest.trim().is_empty() {
            return Err(self.unlike("its end", self.rest));
        }
        match (descr, fortran, shape) {
            (Some(descr), Some(fortran), Some(shape)) => Ok(Header { descr, fortran, shape }),
            _ => Err(Error::corrupt("expected `descr`, `fortran_order` and `shape`")),
        }
    }

    fn unlike(&self, expected: &str, found: &str) -> Error {
        Error::corrupt(format!("expected {expected}, found `{}`", found.chars().take(40).collect::<String>()))
    }

    fn eat(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> Result<()> {
        match self.eat(token) {
            true => Ok(()),
            false => Err(self.unlike(&format!("`{token}`"), self.rest)),
        }
    }

    fn quoted(&mut self) -> Result<&'a str> {
        self.rest = self.rest.trim_start();
        let quote = self.rest.chars().next().filter(|quote| matches!(quote, '\'' | '"'));
        let found = quote.and_then(|quote| self.rest[1..].split_once(quote));
        let (text, rest) = found.ok_or_else(|| self.unlike("a text in quotes", self.rest))?;
        self.rest = rest;
        Ok(text)
    }

    fn descr(&mut self) -> Result<Descr> {
        self.rest = self.rest.trim_start();
        if self.rest.starts_with('[') {
            return Err(Error::unsupported("an array of records: expected one element type"));
        }
        Descr::parse(self.quoted()?)
    }

    fn bool(&mut self) -> Result<bool> {
        if self.eat("True") {
            return Ok(true);
        }
        self.expect("False").map(|()| false)
    }

    fn shape(&mut self) -> Result<Vec<u64>> {
        let mut shape = Vec::new();
        self.expect("(")?;
        while !self.eat(")") {
            self.rest = self.rest.trim_start();
            let end = self.rest.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(self.rest.len());
            let (digits, rest) = self.rest.split_at(end);
            shape.push(digits.parse().map_err(|_| self.unlike("an extent of 0 or more", self.rest))?);
            // Python 2 wrote long integers with an `L`.
            self.rest = rest.strip_prefix('L').unwrap_or(rest);
            if shape.len() > MAX_DIMENSIONS {
                return Err(Error::unsupported(format!("over {MAX_DIMENSIONS} dimensions")));
            }
            if !self.eat(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(shape)
    }
}

impl Descr {
    /// Parses numpy's name of a type: `<f4`.
    fn parse(text: &str) -> Result<Self> {
        let unknown = || Error::unsupported(format!("elements of type `{}`", text.chars().take(40).collect::<String>()));
        let (order, rest) = text.split_at_checked(1).ok_or_else(unknown)?;
        let (kind, width) = rest.split_at_checked(1).ok_or_else(unknown)?;
        let kind = kind.as_bytes().first().copied().unwrap_or_default();
        if kind == b'O' {
            return Err(Error::unsupported("an array of Python objects, which is a pickle: it is never decoded"));
        }
        // The unit of a time follows its width: `<M8[ns]`.
        let width = width.split_once('[').map_or(width, |(width, _)| width);
        let width: usize = width.parse().map_err(|_| unknown())?;
        let scale = if kind == b'U' { 4 } else { 1 };
        let fits = match kind {
            b'b' => width == 1,
            b'i' | b'u' => matches!(width, 1 | 2 | 4 | 8),
            b'f' => matches!(width, 2 | 4 | 8 | 12 | 16),
            b'c' => matches!(width, 8 | 16 | 24 | 32),
            b'M' | b'm' => width == 8,
            b'S' | b'U' | b'V' => width <= 1 << 24,
            _ => false,
        };
        match order {
            "<" | "|" | "=" if fits => Ok(Self { kind, width: width * scale, big_endian: false }),
            ">" if fits => Ok(Self { kind, width: width * scale, big_endian: true }),
            _ => Err(unknown()),
        }
    }
}

/// Returns the elements in C order and little-endian, as one buffer.
pub fn in_c_order<'a>(header: &Header, elements: &'a [u8]) -> Cow<'a, [u8]> {
    let Descr { kind, width, big_endian } = header.descr;
    // The unit that a byte order applies to.
    let unit = match kind {
        b'U' => 4,
        b'c' => width / 2,
        b'S' | b'V' => 1,
        _ => width,
    };
    let swap = big_endian && unit > 1;
    let transpose = header.fortran && header.shape.len() > 1;
    if !swap && !transpose {
        return elements.into();
    }
    let mut out = if transpose { transposed(&header.shape, width, elements) } else { elements.to_vec() };
    if swap {
        out.chunks_exact_mut(unit).for_each(<[u8]>::reverse);
    }
    out.into()
}

/// Copies elements whose first dimension varies fastest into C order.
fn transposed(shape: &[u64], width: usize, elements: &[u8]) -> Vec<u8> {
    let extents: Vec<usize> = shape.iter().map(|extent| usize::try_from(*extent).unwrap_or(usize::MAX)).collect();
    let mut out = Vec::with_capacity(elements.len());
    if elements.is_empty() {
        return out;
    }
    let strides: Vec<usize> =
        extents.iter().scan(1, |stride, extent| Some(std::mem::replace(stride, *stride * extent))).collect();
    let mut place = vec![0_usize; extents.len()];
    loop {
        let at: usize = place.iter().zip(&strides).map(|(place, stride)| place * stride).sum::<usize>() * width;
        out.extend_from_slice(elements.get(at..at + width).unwrap_or_default());
        let Some(dimension) = (0..place.len()).rev().find(|dimension| place[*dimension] + 1 < extents[*dimension]) else {
            return out;
        };
        place[dimension] += 1;
        place[dimension + 1..].fill(0);
    }
}

#[cfg(test)]
mod tests;
