//! LZ4 in the raw block format. `lz4_flex` encodes; the C library decodes, because it is two to three times as fast and checks
//! every length that it reads. Follows `format-spec/codecs.md#lz4`.

use crate::error::{Error, Result, counted};

/// Compresses. Incompressible input grows by less than one percent.
pub(super) fn encode(values: &[u8]) -> Vec<u8> {
    lz4_flex::block::compress(values)
}

/// Maximum number of decoded bytes per stored byte: a byte that extends a match stands for up to 255 bytes.
pub(super) const MAX_RATIO: usize = 255;

/// Decodes `stored`, which must fill `out` exactly.
pub(super) fn decode(stored: &[u8], out: &mut [u8]) -> Result<()> {
    // An offset of 0 is two zero bytes, and most blocks have no two zero bytes in a row.
    if memchr::memmem::find(stored, &[0, 0]).is_some() && has_offset_zero(stored) {
        return Err(Error::corrupt("lz4: a match of offset 0"));
    }
    match lz4::block::decompress_to_buffer(stored, i32::try_from(out.len()).ok().or(Some(i32::MAX)), out) {
        Ok(found) if found == out.len() => Ok(()),
        Ok(found) => Err(Error::corrupt(format!("lz4: {}, expected {}", counted(found, "byte"), out.len()))),
        Err(error) => Err(Error::corrupt(format!("lz4: {error}, expected {}", counted(out.len(), "byte")))),
    }
}

/// Whether a match has the offset 0, which the C library accepts and decodes to zeros. Stops where the block is malformed.
fn has_offset_zero(mut rest: &[u8]) -> bool {
    while let Some((token, behind)) = rest.split_first() {
        let literals = prolonged(usize::from(token >> 4), behind);
        let offset = literals.and_then(|(length, behind)| behind.get(length..)?.split_first_chunk::<2>());
        match offset {
            Some(([0, 0], _)) => return true,
            Some((_, behind)) => match prolonged(usize::from(token & 15), behind) {
                Some((_, behind)) => rest = behind,
                None => return false,
            },
            None => return false,
        }
    }
    false
}

/// Parses the bytes that extend a 4-bit length. Returns the full length and the bytes that follow.
fn prolonged(mut length: usize, mut rest: &[u8]) -> Option<(usize, &[u8])> {
    if length == 15 {
        loop {
            let (more, behind) = rest.split_first()?;
            (length, rest) = (length + usize::from(*more), behind);
            if *more < 255 {
                break;
            }
        }
    }
    Some((length, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_match_of_offset_0_is_refused_wherever_it_stands() {
        let decode = |stored: &[u8], len: usize| {
            let mut out = vec![7; len];
            decode(stored, &mut out).map(|()| out).map_err(|error| error.to_string())
        };
        // Literals, a match, and the twelve literals that the format requires after the last match.
        let block = |offset: [u8; 2]| [&[0x40, 1, 2, 3, 4][..], &offset, &[0xc0], &[9; 12]].concat();
        assert_eq!(decode(&block([4, 0]), 20), Ok([&[1, 2, 3, 4, 1, 2, 3, 4][..], &[9; 12]].concat()));
        assert_eq!(decode(&block([0, 0]), 20), Err("lz4: a match of offset 0".to_owned()));
        assert!(decode(&block([5, 0]), 20).is_err(), "before the first byte");
        // Zeros that are not an offset: literals, and the high byte of an offset before a token of 0.
        assert_eq!(decode(&[0x50, 0, 0, 0, 0, 0], 5), Ok(vec![0; 5]));
        let plain = [&vec![3; 70_000][..], &[0, 0, 0, 0, 0, 1, 2, 3], &vec![0; 400]].concat();
        assert_eq!(decode(&encode(&plain), plain.len()), Ok(plain));
        let prolonged = [&[0xf4][..], &[255, 0], &vec![1; 270], &[0, 0], &[0xc0], &[9; 12]].concat();
        assert_eq!(decode(&prolonged, 270 + 8 + 12), Err("lz4: a match of offset 0".to_owned()));
    }
}
