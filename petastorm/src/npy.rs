//! The `.npz` archives of Petastorm with the one member `arr.npy`, and the texts of numpy. [`tetrys::extension::npy`] reads the
//! `.npy` files.

use std::io::{Cursor, Read};

use tetrys::{
    Error, Result,
    extension::npy::{MAX_HEADER, header},
};

pub use tetrys::extension::npy::{Descr, Header, MAX_ARRAY, in_c_order, parse};

/// The member of the archives that Petastorm writes.
const MEMBER: &str = "arr.npy";

/// Returns the member of an `.npz` file, a `.npy` file. Stops as soon as the archive has more bytes than the header of the array
/// says, or its header is not `wanted`.
///
/// # Errors
/// - `Corrupt`: the file is no archive of one array, or is damaged.
/// - `Unsupported`: the archive has other members or another compression, or the array is as for [`parse`].
/// - Errors of `wanted`.
pub fn unzip(file: &[u8], wanted: impl FnOnce(&Header) -> Result<()>) -> Result<Vec<u8>> {
    let corrupt =
        |error: &dyn std::fmt::Display| Error::corrupt(format!("not a valid .npz file ({} bytes): {error}", file.len()));
    let mut archive = zip::ZipArchive::new(Cursor::new(file)).map_err(|error| corrupt(&error))?;
    if archive.len() != 1 || archive.index_for_name(MEMBER).is_none() {
        return Err(Error::unsupported(format!("an .npz file with {} members: expected only {MEMBER}", archive.len())));
    }
    let mut member = archive.by_name(MEMBER).map_err(|error| match error {
        zip::result::ZipError::UnsupportedArchive(why) => Error::unsupported(format!("an .npz file: {why}")),
        error => corrupt(&error),
    })?;
    let mut out = Vec::new();
    member.by_ref().take(MAX_HEADER as u64).read_to_end(&mut out).map_err(|error| corrupt(&error))?;
    let (header, start) = header(&out)?;
    wanted(&header)?;
    let whole = start as u64 + header.bytes();
    let left = whole.saturating_sub(out.len() as u64);
    // One byte more shows that the archive has too many. `read_to_end` takes memory as bytes arrive.
    member.by_ref().take(left + 1).read_to_end(&mut out).map_err(|error| corrupt(&error))?;
    Ok(out)
}

/// Returns the bytes without NULs at the end, which numpy pads texts with.
pub(crate) fn without_nuls(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    &bytes[..end]
}

/// Returns the text of an element of kind `U`: UCS-4, little-endian, without NULs at the end. `None` if it has code points that
/// are no characters.
pub(crate) fn text(bytes: &[u8]) -> Option<String> {
    let codes = bytes.as_chunks::<4>().0;
    let end = codes.iter().rposition(|code| *code != [0; 4]).map_or(0, |last| last + 1);
    codes[..end].iter().map(|code| char::from_u32(u32::from_le_bytes(*code))).collect()
}

#[cfg(test)]
mod tests;
