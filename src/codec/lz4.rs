//! LZ4, raw block format (`format-spec/codecs.md#lz4`). Encoded by `lz4_flex`; decoded by the C library, which is two to three
//! times as fast and checks every length that it reads.

use crate::error::{Error, Result, counted};

/// Compresses; incompressible input grows by less than one percent.
pub(super) fn encode(values: &[u8]) -> Vec<u8> {
    lz4_flex::block::compress(values)
}

/// A byte that prolongs a match stands for 255 bytes, and no byte for more.
pub(super) const MAX_RATIO: usize = 255;

/// Decodes exactly as many bytes as `out` has.
pub(super) fn decode(stored: &[u8], out: &mut [u8]) -> Result<()> {
    // An offset of 0 is two bytes of 0, and most blocks have none.
    if memchr::memmem::find(stored, &[0, 0]).is_some() && has_offset_zero(stored) {
        return Err(Error::corrupt("lz4: a match of offset 0"));
    }
    match lz4::block::decompress_to_buffer(stored, i32::try_from(out.len()).ok().or(Some(i32::MAX)), out) {
        Ok(found) if found == out.len() => Ok(()),
        Ok(found) => Err(Error::corrupt(format!("lz4: {}, expected {}", counted(found, "byte"), out.len()))),
        Err(error) => Err(Error::corrupt(format!("lz4: {error}, expected {}", counted(out.len(), "byte")))),
    }
}

/// Whether a match has the offset 0, which the C library takes for zeros. Looks no further than where the block breaks off.
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

/// A length of four bits with the bytes that prolong it, and what follows them.
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
        // Literals, a match, and the twelve literals behind the last one that the format asks for.
        let block = |offset: [u8; 2]| [&[0x40, 1, 2, 3, 4][..], &offset, &[0xc0], &[9; 12]].concat();
        assert_eq!(decode(&block([4, 0]), 20), Ok([&[1, 2, 3, 4, 1, 2, 3, 4][..], &[9; 12]].concat()));
        assert_eq!(decode(&block([0, 0]), 20), Err("lz4: a match of offset 0".to_owned()));
        assert!(decode(&block([5, 0]), 20).is_err(), "before the first byte");
        // Zeros that are no offset: literals, and an offset's high byte before a token of 0.
        assert_eq!(decode(&[0x50, 0, 0, 0, 0, 0], 5), Ok(vec![0; 5]));
        let plain = [&vec![3; 70_000][..], &[0, 0, 0, 0, 0, 1, 2, 3], &vec![0; 400]].concat();
        assert_eq!(decode(&encode(&plain), plain.len()), Ok(plain));
        let prolonged = [&[0xf4][..], &[255, 0], &vec![1; 270], &[0, 0], &[0xc0], &[9; 12]].concat();
        assert_eq!(decode(&prolonged, 270 + 8 + 12), Err("lz4: a match of offset 0".to_owned()));
    }
}
