//! Presets: the candidate chains of a column type, and the choice among them.
//!
//! The choice is a pure function of the preset, the column type and some pages of the column, so the same rows and settings
//! give the same bytes on any machine. A writer passes pages from all over the chunk. Follows `format-spec/codecs.md#choice`.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::{Chain, NumberType, Step};
use crate::{
    error::{Error, Result},
    schema::{ColumnType, Primitive},
};

/// The trade-off between size and speed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Preset {
    /// LZ4, usually after a shuffle, if that saves an eighth, else plain: reads at memory speed. Pco only for numbers that it
    /// reduces to a 64th.
    Fast,
    /// The smallest chain (within a 64th) if it saves at least a 32nd, else plain. Candidates are pco at its fastest level for
    /// numbers, and Zstandard after a shuffle.
    #[default]
    Balanced,
    /// The smallest chain (within a 64th) of the most candidates: slow to write, slower to read.
    Compact,
}

impl Preset {
    /// Returns the name in manifests and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Balanced => "balanced",
            Self::Compact => "compact",
        }
    }

    fn compressor(self) -> Step {
        match self {
            Self::Fast => Step::Lz4,
            Self::Balanced => Step::Zstd(3),
            Self::Compact => Step::Zstd(12),
        }
    }

    fn pco_level(self) -> u8 {
        match self {
            Self::Fast | Self::Balanced => 0,
            Self::Compact => 8,
        }
    }

    /// Returns the savings by which a later candidate wins: at least one n-th of the best size so far. The first n applies while
    /// plain is the best, because plain values are read without a copy; the second n applies afterwards.
    fn margins(self) -> (usize, usize) {
        match self {
            Self::Fast => (8, 8),
            Self::Balanced => (32, 64),
            Self::Compact => (64, 64),
        }
    }

    /// Chooses the chain for a column with these values: the smallest candidate. Simpler chains come first, because they decode
    /// faster, and a later chain wins only if it saves enough. Only the first 256 KiB of the values count.
    ///
    /// ```
    /// use tetrys::{ColumnType, Preset};
    /// let counter: Vec<u8> = (0..10_000_i64).flat_map(i64::to_le_bytes).collect();
    /// let chain = Preset::Balanced.choose(&"i64".parse::<ColumnType>()?, &counter)?;
    /// assert!(chain.encode(&counter)?.len() < counter.len() / 100);
    /// # Ok::<(), tetrys::Error>(())
    /// ```
    ///
    /// # Errors
    /// - `Internal`: a compressor fails. No input is known to cause this.
    pub fn choose(self, ty: &ColumnType, values: &[u8]) -> Result<Chain> {
        self.choose_for(ty, &[&values[..values.len().min(SAMPLE)]])
    }

    /// Chooses the chain for a column that is stored in several pages: like [`Preset::choose`], but each page is encoded
    /// separately, the sizes are summed, and all bytes of all pages count.
    ///
    /// # Errors
    /// - `Internal`: a compressor fails. No input is known to cause this.
    pub fn choose_for<P: AsRef<[u8]>>(self, ty: &ColumnType, pages: &[P]) -> Result<Chain> {
        let plain = stored_size(&Chain::PLAIN, pages)?;
        let mut best = (Chain::PLAIN, plain);
        for chain in self.candidates(ty)? {
            let is_slow = self == Self::Fast && chain.is_pco();
            if is_slow && best.1 > plain / 8 {
                continue;
            }
            let size = stored_size(&chain, pages)?;
            let margin = if best.0.is_plain() { self.margins().0 } else { self.margins().1 };
            let wins = size < best.1 && best.1 - size >= best.1.div_ceil(margin);
            if wins && (!is_slow || size <= plain / 64) {
                best = (chain, size);
            }
        }
        Ok(best.0)
    }

    /// Chooses the chain for the rest of a column whose first page chose `current`, as [`Preset::choose_for`] does with these
    /// pages. If the sizes differ by less than a 256th, `current` stays: encoding the page again would gain nothing.
    ///
    /// # Errors
    /// - `Internal`: a compressor fails. No input is known to cause this.
    pub(crate) fn choose_again<P: AsRef<[u8]>>(self, ty: &ColumnType, current: &Chain, pages: &[P]) -> Result<Chain> {
        let chosen = self.choose_for(ty, pages)?;
        if chosen == *current {
            return Ok(chosen);
        }
        let (before, after) = (stored_size(current, pages)?, stored_size(&chosen, pages)?);
        Ok(if before.abs_diff(after) < before.max(after).div_ceil(256) { current.clone() } else { chosen })
    }

    /// Whether this preset could have chosen the chain for a column of this type.
    ///
    /// # Errors
    /// - `Internal`: a candidate is not a valid chain.
    pub fn could_choose(self, ty: &ColumnType, chain: &Chain) -> Result<bool> {
        Ok(chain.is_plain() || self.candidates(ty)?.contains(chain))
    }

    /// Returns the candidate chains of this preset for a column of this type, in the order of trial. Plain is always a candidate
    /// and not in the list.
    ///
    /// # Errors
    /// - `Internal`: a candidate is not a valid chain.
    pub fn candidates(self, ty: &ColumnType) -> Result<Vec<Chain>> {
        let (last, pco_level) = (self.compressor(), self.pco_level());
        let Elements { width, number, is_numeric, components } = Elements::of(ty);
        let split = components.and_then(|components| u8::try_from(components).ok()).filter(|components| *components <= 64);
        let split = split.map(|components| Step::Split { width, components });
        let wide = components.and_then(|components| u8::try_from(u64::from(components) * u64::from(width)).ok());
        let compact = self == Self::Compact;

        let mut chains = vec![vec![last]];
        if width > 1 {
            chains.push(vec![Step::Shuffle(width), last]);
        }
        if is_numeric {
            chains.push(vec![Step::BitShuffle(width), last]);
        }
        chains.extend(wide.map(|wide| vec![Step::Shuffle(wide), last]));
        if let Some(split) = split {
            if compact && width > 1 {
                chains.push(vec![split, last]);
                chains.push(vec![split, Step::Shuffle(width), last]);
            }
            if self != Self::Balanced {
                chains.push(vec![split, Step::BitShuffle(width), last]);
            }
        }
        if let Some(number) = number {
            chains.push(vec![Step::Pco(number, pco_level)]);
            chains.extend(split.map(|split| vec![split, Step::Pco(number, pco_level)]));
        }
        chains.into_iter().map(Chain::new).collect()
    }
}

/// Number of bytes of one page that the choice encodes.
pub(crate) const SAMPLE: usize = 256 << 10;

/// Returns the stored bytes of the values of these pages. A page that does not get smaller is stored plain.
fn stored_size<P: AsRef<[u8]>>(chain: &Chain, pages: &[P]) -> Result<usize> {
    let sizes = pages.iter().map(|page| {
        let values = page.as_ref();
        if chain.is_plain() { Ok(values.len()) } else { Ok(chain.encode(values)?.len().min(values.len())) }
    });
    sizes.sum()
}

/// The elements of a type, below all lists.
struct Elements {
    width: u8,
    number: Option<NumberType>,
    /// Whether the elements are neither text nor bytes.
    is_numeric: bool,
    /// The last extent of a tensor if it is fixed and at least 2.
    components: Option<u32>,
}

impl Elements {
    fn of(ty: &ColumnType) -> Self {
        let (number, is_numeric, components) = match ty {
            ColumnType::List(item) => return Self::of(item),
            ColumnType::Scalar(element) => (number_of(*element), true, None),
            ColumnType::Tensor { element, shape } => {
                (number_of(*element), true, shape.last().copied().flatten().filter(|extent| *extent > 1))
            }
            ColumnType::Date => (Some(NumberType::I32), true, None),
            ColumnType::Timestamp(..) | ColumnType::Duration(_) => (Some(NumberType::I64), true, None),
            ColumnType::Utf8 | ColumnType::Categorical | ColumnType::Binary => (None, false, None),
        };
        Self { width: ty.element_width() as u8, number, is_numeric, components }
    }
}

/// Returns the pco type of an element. Elements without a pco type are encoded as unsigned integers of their width.
fn number_of(element: Primitive) -> Option<NumberType> {
    Some(match element {
        Primitive::Bool => return None,
        Primitive::I8 => NumberType::I8,
        Primitive::I16 => NumberType::I16,
        Primitive::I32 => NumberType::I32,
        Primitive::I64 => NumberType::I64,
        Primitive::F16 => NumberType::F16,
        Primitive::F32 => NumberType::F32,
        Primitive::F64 => NumberType::F64,
        other => match other.width() {
            1 => NumberType::U8,
            2 => NumberType::U16,
            4 => NumberType::U32,
            _ => NumberType::U64,
        },
    })
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Preset {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        [Self::Fast, Self::Balanced, Self::Compact]
            .into_iter()
            .find(|preset| preset.name() == text)
            .ok_or_else(|| Error::invalid(format!("preset `{text}`: expected fast, balanced or compact")))
    }
}

#[cfg(test)]
mod tests;
