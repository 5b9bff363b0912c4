//! The key-value metadata of a Parquet file, read with their bytes: Petastorm stores pickles in values that Thrift declares as
//! text, so Parquet readers refuse such a file ("invalid utf-8").
//!
//! Reads the Thrift compact protocol and skips every field but `FileMetaData.key_value_metadata`.

use std::fmt::Display;

use tetrys::{Error, Result};

/// Maximum bytes of a footer.
pub const MAX_FOOTER: u64 = 128 << 20;
/// Maximum nesting of Thrift structs and lists. Parquet needs 6.
const MAX_DEPTH: u32 = 24;
/// Bytes at the end of a Parquet file: the length of the footer, and `PAR1`.
pub const TAIL: usize = 8;
/// Field number of the key-value metadata.
const KEY_VALUES: i64 = 5;

/// A key and a value.
pub type Entry<'a> = (&'a [u8], &'a [u8]);

/// Calls a Parquet reader, which may panic on damaged bytes. Its errors and panics become `Corrupt`.
pub(crate) fn guarded<T, E: Display>(read: impl FnOnce() -> Result<T, E>) -> Result<T> {
    let corrupt =
        |message: String| Error::corrupt(format!("not a valid Parquet file: {}", message.chars().take(200).collect::<String>()));
    tetrys::extension::guarded(read).map_err(corrupt)
}

/// Returns the length of the footer from the last [`TAIL`] bytes of a Parquet file of `file_len` bytes.
///
/// # Errors
/// - `Corrupt`: the file does not end as a Parquet file does, or the footer is larger than the file.
/// - `Unsupported`: the footer is encrypted, or has over 128 MiB.
pub fn footer_len(tail: &[u8], file_len: u64) -> Result<usize> {
    let (length, magic) = match tail {
        [a, b, c, d, magic @ ..] => (u64::from(u32::from_le_bytes([*a, *b, *c, *d])), magic),
        _ => return Err(Error::corrupt(format!("a file of {file_len} bytes is no Parquet file"))),
    };
    match magic {
        b"PAR1" => {}
        b"PARE" => return Err(Error::unsupported("the footer is encrypted")),
        _ => return Err(Error::corrupt("not a Parquet file: expected `PAR1` at its end")),
    }
    // The file begins with `PAR1` too.
    if length + TAIL as u64 + 4 > file_len {
        return Err(Error::corrupt(format!("a footer of {length} bytes in a file of {file_len} bytes")));
    }
    if length > MAX_FOOTER {
        return Err(Error::unsupported(format!("a footer of {length} bytes: expected at most {MAX_FOOTER}")));
    }
    Ok(usize::try_from(length).unwrap_or(usize::MAX))
}

/// Returns the key-value metadata of a footer. Values may have any bytes.
///
/// # Errors
/// - `Corrupt`: the footer is no valid Thrift. The message names the byte.
pub fn key_values(footer: &[u8]) -> Result<Vec<Entry<'_>>> {
    let mut reader = Reader { bytes: footer, at: 0 };
    let mut found = Vec::new();
    let read = reader.fields(0, &mut |reader, field, kind| {
        if field != KEY_VALUES || kind != LIST {
            return reader.skip(kind, 1);
        }
        let (count, item) = reader.list()?;
        if item != STRUCT && count > 0 {
            return Err(Error::corrupt(format!("expected a list of structs, found type {item}")));
        }
        for _ in 0..count {
            found.push(reader.entry()?);
        }
        Ok(())
    });
    read.map_err(|error| error.at(format!("footer, byte {}", reader.at)))?;
    Ok(found)
}

const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(len).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or_else(|| Error::corrupt(format!("expected {len} bytes, found {}", self.bytes.len() - self.at)))?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8> {
        self.take(1).map(|byte| byte[0])
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Error::corrupt("a number of over 64 bits"))
    }

    fn binary(&mut self) -> Result<&'a [u8]> {
        let len = self.varint()?;
        self.take(usize::try_from(len).unwrap_or(usize::MAX))
    }

    /// Returns length and element type. Each element has a byte at least, so a length beyond the end is refused here.
    fn list(&mut self) -> Result<(usize, u8)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.varint()?,
            count => u64::from(count),
        };
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        match count <= self.bytes.len() - self.at {
            true => Ok((count, head & 15)),
            false => Err(Error::corrupt(format!("a list of {count} elements at the end of the footer"))),
        }
    }

    /// Reads the fields of a struct.
    fn fields(&mut self, depth: u32, each: &mut dyn FnMut(&mut Self, i64, u8) -> Result<()>) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(Error::corrupt(format!("over {MAX_DEPTH} levels of structs")));
        }
        let mut field = 0_i64;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(());
            }
            field = match head >> 4 {
                0 => {
                    let number = self.varint()?;
                    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
                }
                delta => field.saturating_add(i64::from(delta)),
            };
            each(self, field, head & 15)?;
        }
    }

    fn entry(&mut self) -> Result<Entry<'a>> {
        let (mut key, mut value): Entry<'a> = (&[], &[]);
        self.fields(1, &mut |reader, field, kind| {
            match (field, kind) {
                (1, BINARY) => key = reader.binary()?,
                (2, BINARY) => value = reader.binary()?,
                _ => reader.skip(kind, 2)?,
            }
            Ok(())
        })?;
        Ok((key, value))
    }

    fn skip(&mut self, kind: u8, depth: u32) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(Error::corrupt(format!("over {MAX_DEPTH} levels")));
        }
        match kind {
            // A bool of a field is in its type.
            1 | 2 => {}
            3 => drop(self.byte()?),
            4..=6 => drop(self.varint()?),
            7 => drop(self.take(8)?),
            BINARY => drop(self.binary()?),
            LIST | SET => {
                let (count, item) = self.list()?;
                for _ in 0..count {
                    self.skip_item(item, depth + 1)?;
                }
            }
            MAP => {
                let count = self.varint()?;
                let kinds = if count == 0 { 0 } else { self.byte()? };
                for _ in 0..count {
                    self.skip_item(kinds >> 4, depth + 1)?;
                    self.skip_item(kinds & 15, depth + 1)?;
                }
            }
            STRUCT => self.fields(depth, &mut |reader, _, kind| reader.skip(kind, depth + 1))?,
            13 => drop(self.take(16)?),
            other => return Err(Error::corrupt(format!("no such type: {other}"))),
        }
        Ok(())
    }

    /// Skips an element of a list, set or map, where a bool has a byte of its own.
    fn skip_item(&mut self, kind: u8, depth: u32) -> Result<()> {
        match kind {
            1 | 2 => self.byte().map(drop),
            other => self.skip(other, depth),
        }
    }
}
