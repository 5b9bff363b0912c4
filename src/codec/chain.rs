//! A chain of codec steps: encoding, decoding, and its two-bytes-a-step form (`format-spec/codecs.md#chains`).

use std::{borrow::Cow, fmt};

use bytes::Bytes;

use super::{lz4, shuffle, zstd};
use crate::error::{Error, Result};

/// One step of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Bytes of equal significance brought together; the parameter is the width of one element in bytes, at least 2.
    Shuffle(u8),
    /// LZ4 raw block format.
    Lz4,
    /// Zstandard frame, written at this level.
    Zstd(u8),
}

impl Step {
    /// The registry: every codec id of format 1 and its parameter.
    fn code(self) -> [u8; 2] {
        match self {
            Self::Shuffle(width) => [1, width],
            Self::Lz4 => [2, 0],
            Self::Zstd(level) => [3, level],
        }
    }

    fn from_code(code: [u8; 2]) -> Result<Self> {
        match code {
            [1, width] if width >= 2 => Ok(Self::Shuffle(width)),
            [2, 0] => Ok(Self::Lz4),
            [3, level] => Ok(Self::Zstd(level)),
            [id @ 1..=3, parameter] => Err(Error::corrupt(format!("codec {id}: parameter {parameter} is not allowed"))),
            [id, _] => Err(Error::unsupported(format!("codec id {id}: this build knows 1 (shuffle), 2 (lz4), 3 (zstd)"))),
        }
    }

    /// Whether the step changes the number of bytes.
    fn compresses(self) -> bool {
        !matches!(self, Self::Shuffle(_))
    }
}

/// Codec steps in the order of encoding.
///
/// ```
/// use tetrys::codec::{Chain, Step};
/// let chain = Chain::new([Step::Shuffle(4), Step::Zstd(3)])?;
/// let values: Vec<u8> = (0..1000_u32).flat_map(u32::to_le_bytes).collect();
/// let stored = chain.encode(&values)?;
/// assert_eq!(chain.decode(stored.into(), values.len())?, values);
/// assert_eq!(chain.to_string(), "shuffle(4)+zstd(3)");
/// # Ok::<(), tetrys::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Chain(Vec<Step>);

impl Chain {
    /// No step: values are stored as they are.
    pub const PLAIN: Self = Self(Vec::new());
    /// A chain has at most this many steps.
    const MAX_STEPS: usize = 4;

    /// A chain of these steps.
    ///
    /// # Errors
    /// `Invalid` where a compressor is followed by another step (its input length could not be known) or the chain is too long.
    pub fn new(steps: impl Into<Vec<Step>>) -> Result<Self> {
        let steps = steps.into();
        let misplaced = steps.iter().rev().skip(1).any(|step| step.compresses());
        if misplaced || steps.len() > Self::MAX_STEPS {
            return Err(Error::invalid(format!(
                "codec chain {}: expected at most {} steps, a compressor only as the last",
                Self(steps),
                Self::MAX_STEPS
            )));
        }
        Ok(Self(steps))
    }

    /// Whether values are stored as they are.
    pub fn is_plain(&self) -> bool {
        self.0.is_empty()
    }

    /// Two bytes a step, behind their count.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(self.0.len() as u8);
        self.0.iter().for_each(|step| out.extend(step.code()));
    }

    /// The chain at the start of `bytes`, and what follows it.
    ///
    /// # Errors
    /// `Corrupt` for a cut or impossible chain, `Unsupported` for an unknown codec id.
    pub fn read(bytes: &[u8]) -> Result<(Self, &[u8])> {
        let cut = || Error::corrupt("codec chain: cut short");
        let (&count, rest) = bytes.split_first().ok_or_else(cut)?;
        let (codes, rest) = rest.split_at_checked(usize::from(count) * 2).ok_or_else(cut)?;
        let (pairs, _) = codes.as_chunks::<2>();
        let steps = pairs.iter().map(|code| Step::from_code(*code)).collect::<Result<Vec<_>>>()?;
        let chain = Self::new(steps).map_err(|error| Error::corrupt(error.to_string()))?;
        Ok((chain, rest))
    }

    /// Encodes the values of one page.
    ///
    /// # Errors
    /// `Internal` if a compressor fails, which it does not on any input.
    pub fn encode(&self, values: &[u8]) -> Result<Vec<u8>> {
        let mut bytes = Cow::Borrowed(values);
        for step in &self.0 {
            bytes = Cow::Owned(match step {
                Step::Shuffle(width) => shuffle::shuffle(&bytes, usize::from(*width)),
                Step::Lz4 => lz4::encode(&bytes),
                Step::Zstd(level) => zstd::encode(&bytes, i32::from(*level))?,
            });
        }
        Ok(bytes.into_owned())
    }

    /// Decodes to exactly `len` bytes; a plain chain gives the stored bytes back without copying.
    ///
    /// # Errors
    /// `Corrupt` where the stored bytes are not an encoding of `len` bytes.
    pub fn decode(&self, stored: Bytes, len: usize) -> Result<Bytes> {
        let mut bytes = stored;
        for step in self.0.iter().rev() {
            bytes = match step {
                Step::Shuffle(width) => shuffle::unshuffle(&bytes, usize::from(*width)).into(),
                Step::Lz4 => lz4::decode(&bytes, len)?.into(),
                Step::Zstd(_) => zstd::decode(&bytes, len)?.into(),
            };
        }
        if bytes.len() != len {
            return Err(Error::corrupt(format!("values of {} bytes, expected {len}", bytes.len())));
        }
        Ok(bytes)
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("plain");
        }
        for (position, step) in self.0.iter().enumerate() {
            if position > 0 {
                f.write_str("+")?;
            }
            match step {
                Step::Shuffle(width) => write!(f, "shuffle({width})")?,
                Step::Lz4 => f.write_str("lz4")?,
                Step::Zstd(level) => write!(f, "zstd({level})")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chains() -> Vec<Chain> {
        [
            vec![],
            vec![Step::Lz4],
            vec![Step::Zstd(3)],
            vec![Step::Shuffle(2)],
            vec![Step::Shuffle(4), Step::Lz4],
            vec![Step::Shuffle(8), Step::Zstd(1)],
            vec![Step::Shuffle(68), Step::Zstd(1)],
        ]
        .into_iter()
        .map(|steps| Chain::new(steps).unwrap())
        .collect()
    }

    #[test]
    fn every_chain_gives_its_input_back() {
        for chain in chains() {
            for len in [0, 1, 2, 3, 7, 8, 9, 15, 64, 67, 68, 69, 1000, 65_537] {
                let values: Vec<u8> = (0..len).map(|i| (i * i / 7) as u8).collect();
                let stored = chain.encode(&values).unwrap();
                assert_eq!(chain.decode(stored.into(), len).unwrap(), values, "{chain} {len}");
            }
            let mut bytes = Vec::new();
            chain.write(&mut bytes);
            bytes.push(9);
            assert_eq!(Chain::read(&bytes).unwrap(), (chain, &[9][..]));
        }
    }

    #[test]
    fn hostile_bytes_give_an_error_or_the_asked_length() {
        for chain in chains() {
            let values: Vec<u8> = (0..600_u32).map(|i| (i / 5) as u8).collect();
            let stored = chain.encode(&values).unwrap();
            for cut in 0..stored.len() {
                assert!(chain.decode(Bytes::copy_from_slice(&stored[..cut]), values.len()).is_err(), "{chain} {cut}");
            }
            for position in 0..stored.len() {
                let mut flipped = stored.clone();
                flipped[position] ^= 0x41;
                if let Ok(decoded) = chain.decode(flipped.into(), values.len()) {
                    assert_eq!(decoded.len(), values.len());
                }
            }
            assert!(chain.decode(stored.into(), values.len() + 1).is_err());
        }
    }

    #[test]
    fn an_unknown_codec_is_refused_by_its_id() {
        assert_eq!(
            Chain::read(&[1, 77, 0]).unwrap_err().to_string(),
            "codec id 77: this build knows 1 (shuffle), 2 (lz4), 3 (zstd)"
        );
        assert!(Chain::read(&[2, 3, 1, 2, 0]).is_err(), "a compressor before the last step");
        assert!(Chain::read(&[1, 1]).is_err());
    }
}
