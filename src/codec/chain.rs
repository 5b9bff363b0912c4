//! A chain of codec steps: encoding, decoding, and the stored form with two bytes per step. Follows
//! `format-spec/codecs.md#chains`.

use std::{borrow::Cow, cell::RefCell, fmt};

use bytes::Bytes;

use super::{
    bitshuffle, lz4,
    pco::{self, NumberType},
    transpose, zstd,
};
use crate::error::{Error, Result, counted};

/// One step of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Byte shuffle: groups bytes of equal significance. The parameter is the width of one element in bytes, at least 2.
    Shuffle(u8),
    /// LZ4 raw block format.
    Lz4,
    /// Zstandard frame, written at this compression level.
    Zstd(u8),
    /// Bit shuffle: groups bits of equal significance. The parameter is the width of one element in bytes: 1, 2, 4 or 8.
    BitShuffle(u8),
    /// Component split: groups the elements of each component of a row.
    Split {
        /// Bytes of one element: 1, 2, 4 or 8.
        width: u8,
        /// Elements of one row, 2 to 64.
        components: u8,
    },
    /// A pco file of numbers of this type, written at this compression level, at most 12.
    Pco(NumberType, u8),
}

impl Step {
    /// Returns the codec id and the parameter. This is the registry of codec ids of format 1.
    fn code(self) -> [u8; 2] {
        match self {
            Self::Shuffle(width) => [1, width],
            Self::Lz4 => [2, 0],
            Self::Zstd(level) => [3, level],
            Self::BitShuffle(width) => [4, width],
            Self::Split { width, components } => [5, (width.trailing_zeros() as u8) << 6 | (components - 1) & 0x3f],
            Self::Pco(number, level) => [6, level << 4 | number as u8],
        }
    }

    fn from_code(code: [u8; 2]) -> Result<Self> {
        let step = match code {
            [1, width] => Some(Self::Shuffle(width)),
            [2, 0] => Some(Self::Lz4),
            [3, level] => Some(Self::Zstd(level)),
            [4, width] => Some(Self::BitShuffle(width)),
            [5, parameter] => Some(Self::Split { width: 1 << (parameter >> 6), components: (parameter & 0x3f) + 1 }),
            [6, parameter] => NumberType::from_code(parameter & 0xf).map(|number| Self::Pco(number, parameter >> 4)),
            [id @ (0 | 7..), _] => {
                return Err(Error::unsupported(format!(
                    "codec id {id}: this build knows 1 (shuffle), 2 (lz4), 3 (zstd), 4 (bitshuffle), 5 (split), 6 (pco)"
                )));
            }
            [2, _] => None,
        };
        let [id, parameter] = code;
        step.filter(|step| step.is_valid())
            .ok_or_else(|| Error::corrupt(format!("codec {id}: parameter {parameter} is not allowed")))
    }

    /// Whether the parameters are within the limits of the specification.
    fn is_valid(self) -> bool {
        let is_width = |width| matches!(width, 1 | 2 | 4 | 8);
        match self {
            Self::Shuffle(width) => width >= 2,
            Self::Lz4 | Self::Zstd(_) => true,
            Self::BitShuffle(width) => is_width(width),
            Self::Split { width, components } => is_width(width) && (2..=64).contains(&components),
            Self::Pco(_, level) => level <= pco::MAX_LEVEL,
        }
    }

    /// Returns the maximum number of decoded bytes per stored byte if the codec has such a bound. A reader checks the bound
    /// before it allocates memory.
    fn max_ratio(self) -> Option<usize> {
        match self {
            Self::Lz4 => Some(lz4::MAX_RATIO),
            Self::Zstd(_) => Some(zstd::MAX_RATIO),
            _ => None,
        }
    }

    /// Whether the step changes the number of bytes.
    fn compresses(self) -> bool {
        matches!(self, Self::Lz4 | Self::Zstd(_) | Self::Pco(..))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shuffle(width) => write!(f, "shuffle({width})"),
            Self::Lz4 => f.write_str("lz4"),
            Self::Zstd(level) => write!(f, "zstd({level})"),
            Self::BitShuffle(width) => write!(f, "bitshuffle({width})"),
            Self::Split { width, components } => write!(f, "split({width}x{components})"),
            Self::Pco(number, level) => write!(f, "pco({},{level})", number.name()),
        }
    }
}

/// Codec steps, in the order of encoding.
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
    /// The chain without steps: values are stored as they are.
    pub const PLAIN: Self = Self(Vec::new());
    /// Maximum number of steps of a chain.
    const MAX_STEPS: usize = 4;

    /// Creates a chain of these steps.
    ///
    /// # Errors
    /// - `Invalid`: a compressor is not the last step (its output length varies, so the input length of the next step would be
    ///   unknown), a parameter is out of range, a split before pco has another width than the numbers of pco, or the chain is
    ///   too long.
    pub fn new(steps: impl Into<Vec<Step>>) -> Result<Self> {
        let steps = steps.into();
        let misplaced = steps.iter().rev().skip(1).any(|step| step.compresses());
        let mismatched = matches!(
            steps.as_slice(),
            [.., Step::Split { width, .. }, Step::Pco(number, _)] if usize::from(*width) != number.width()
        );
        if misplaced || mismatched || steps.len() > Self::MAX_STEPS || !steps.iter().all(|step| step.is_valid()) {
            return Err(Error::invalid(format!(
                "codec chain {}: expected at most {} steps, parameters inside their limits, a compressor only as the last, a \
                 split before pco as wide as its numbers",
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

    /// The steps in the order of encoding.
    pub(super) fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Whether the compressor of the chain is pco.
    pub(super) fn is_pco(&self) -> bool {
        matches!(self.0.last(), Some(Step::Pco(..)))
    }

    /// Appends the stored form: the number of steps, then two bytes per step.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(self.0.len() as u8);
        self.0.iter().for_each(|step| out.extend(step.code()));
    }

    /// Parses the chain at the start of `bytes`. Returns the chain and the bytes that follow it.
    ///
    /// # Errors
    /// - `Corrupt`: the chain is cut short or violates a rule of [`Chain::new`].
    /// - `Unsupported`: a codec id is unknown.
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
    /// - `Internal`: a compressor fails. No input is known to cause this.
    pub fn encode(&self, values: &[u8]) -> Result<Vec<u8>> {
        let mut bytes = Cow::Borrowed(values);
        for step in &self.0 {
            bytes = Cow::Owned(match *step {
                Step::Shuffle(width) => transpose::split(&bytes, 1, usize::from(width)),
                Step::BitShuffle(width) => bitshuffle::shuffle(&bytes, usize::from(width)),
                Step::Split { width, components } => transpose::split(&bytes, usize::from(width), usize::from(components)),
                Step::Lz4 => lz4::encode(&bytes),
                Step::Zstd(level) => zstd::encode(&bytes, i32::from(level))?,
                Step::Pco(number, level) => pco::encode(&bytes, number, level, self.pco_runs())?,
            });
        }
        Ok(bytes.into_owned())
    }

    /// Decodes to exactly `len` bytes. A plain chain returns the stored bytes without copying.
    ///
    /// # Errors
    /// - `Corrupt`: the stored bytes are not an encoding of `len` bytes.
    pub fn decode(&self, stored: Bytes, len: usize) -> Result<Bytes> {
        if let Some((compressor, ratio)) = self.0.last().and_then(|step| Some((step, step.max_ratio()?)))
            && len / ratio > stored.len()
        {
            return Err(Error::corrupt(format!(
                "{compressor}: {} from {} stored, at most {ratio} per stored byte",
                counted(len, "byte"),
                stored.len()
            )));
        }
        let (decoded, transforms) = match self.0.split_last() {
            Some((Step::Pco(number, _), transforms)) => (pco::decode(&stored, *number, self.pco_runs(), len)?, transforms),
            Some((compressor @ (Step::Lz4 | Step::Zstd(_)), [])) => {
                let mut out = vec![0; len];
                decompress(*compressor, &stored, &mut out)?;
                (out.into(), [].as_slice())
            }
            Some((compressor @ (Step::Lz4 | Step::Zstd(_)), [first @ .., last])) => {
                let undone = with_scratch(len, |scratch| {
                    decompress(*compressor, &stored, scratch)?;
                    Ok::<_, Error>(undo(*last, scratch))
                })?;
                (undone.into(), first)
            }
            _ if stored.len() != len => {
                return Err(Error::corrupt(format!("values of {}, expected {len}", counted(stored.len(), "byte"))));
            }
            _ => (stored, self.0.as_slice()),
        };
        let undone = transforms.iter().rev().fold(decoded, |bytes, step| undo(*step, &bytes).into());
        debug_assert_eq!(undone.len(), len);
        Ok(undone)
    }

    /// Returns the number of runs that pco encodes separately: the components of a split directly before pco, else 1.
    fn pco_runs(&self) -> usize {
        match self.0.as_slice() {
            [.., Step::Split { components, .. }, Step::Pco(..)] => usize::from(*components),
            _ => 1,
        }
    }
}

/// Inverts a step that keeps the number of bytes.
fn undo(step: Step, bytes: &[u8]) -> Vec<u8> {
    match step {
        Step::Shuffle(width) => transpose::join(bytes, 1, usize::from(width)),
        Step::BitShuffle(width) => bitshuffle::unshuffle(bytes, usize::from(width)),
        Step::Split { width, components } => transpose::join(bytes, usize::from(width), usize::from(components)),
        Step::Lz4 | Step::Zstd(_) | Step::Pco(..) => bytes.to_vec(),
    }
}

/// Decompresses LZ4 or Zstandard into `out`.
fn decompress(step: Step, stored: &[u8], out: &mut [u8]) -> Result<()> {
    match step {
        Step::Lz4 => lz4::decode(stored, out),
        _ => zstd::decode(stored, out),
    }
}

/// Maximum size of the scratch buffer that a thread keeps, in bytes.
const SCRATCH: usize = 4 << 20;

thread_local! {
    // The bytes between a compressor and a shuffle. The buffer is zeroed once, not for every page.
    static BETWEEN: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Calls `f` with `len` bytes of arbitrary content.
fn with_scratch<T>(len: usize, f: impl FnOnce(&mut [u8]) -> T) -> T {
    if len > SCRATCH {
        return f(&mut vec![0; len]);
    }
    BETWEEN.with_borrow_mut(|scratch| {
        if scratch.len() < len {
            scratch.resize(len, 0);
        }
        f(&mut scratch[..len])
    })
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
            step.fmt(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
