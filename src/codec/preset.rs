//! Presets: the candidate chains of a column type, and the choice among them.
//!
//! The choice is a pure function of the preset, the medium, the column type and some pages of the column, so the same rows and
//! settings give the same bytes in every directory, and the same in every object store. A writer passes pages from all over the chunk. `balanced` takes the chain that reads
//! fastest, by stated constants of bandwidth and decoding ([`Chooser::cost`]); the others judge by size. Follows
//! `format-spec/codecs.md#choice`.

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
    /// The chain whose values are read in the least time: 0.5 GB/s for each core from a disk, 0.1 from an object store. LZ4 (in an object
    /// store Zstandard), usually after a shuffle, or pco at its fastest level for numbers, if what it saves takes longer to read than
    /// it takes to decode.
    #[default]
    Balanced,
    /// The smallest chain (within a 64th) of the most candidates: slow to write, slower to read.
    Compact,
}

/// Where a table lies: how long a stored byte takes to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Medium {
    /// A directory: a core reads 0.5 GB/s.
    Disk,
    /// An object store: a core reads 0.1 GB/s, about what one request carries.
    ObjectStore,
}

impl Medium {
    /// Returns the picoseconds in which a core reads one stored byte.
    fn reading(self) -> u64 {
        match self {
            Self::Disk => 2_000,
            Self::ObjectStore => 10_000,
        }
    }
}

/// Chooses codec chains by a preset, for a table on a medium. [`Preset::on`] makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chooser {
    preset: Preset,
    medium: Medium,
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

    internal! {
        /// Returns the chooser for tables on a medium. Only `balanced` chooses by it.
        fn on(self, medium: Medium) -> Chooser {
            Chooser { preset: self, medium }
        }
    }

    internal! {
        /// Whether this preset could have chosen the chain for a column of this type, on any medium.
        ///
        /// # Errors
        /// - `Internal`: a candidate is not a valid chain.
        fn could_choose(self, ty: &ColumnType, chain: &Chain) -> Result<bool> {
            let mut all = [Medium::Disk, Medium::ObjectStore].map(|medium| self.on(medium).candidates(ty)).into_iter();
            all.try_fold(chain.is_plain(), |found, candidates| Ok(found || candidates?.contains(chain)))
        }
    }
}

impl Chooser {
    fn compressor(self) -> Step {
        match (self.preset, self.medium) {
            (Preset::Fast, _) | (Preset::Balanced, Medium::Disk) => Step::Lz4,
            (Preset::Balanced, Medium::ObjectStore) => Step::Zstd(3),
            (Preset::Compact, _) => Step::Zstd(12),
        }
    }

    fn pco_level(self) -> u8 {
        match self.preset {
            Preset::Fast | Preset::Balanced => 0,
            Preset::Compact => 8,
        }
    }

    /// Returns the savings by which a later candidate wins: at least one n-th of the best cost so far. The first n applies while
    /// plain is the best, because plain values are read without a copy; the second n applies afterwards.
    fn margins(self) -> (u64, u64) {
        match self.preset {
            Preset::Fast => (8, 8),
            Preset::Balanced => (16, 64),
            Preset::Compact => (64, 64),
        }
    }

    /// Returns what a chain costs that stores values of `values` bytes in `stored` bytes. [`Chooser::choose`] chooses by it: picoseconds
    /// of reading and decoding for `balanced`, stored bytes for the others. Follows `format-spec/codecs.md#choice`.
    pub fn cost(self, chain: &Chain, values: usize, stored: usize) -> u64 {
        let (values, stored) = (values as u64, stored as u64);
        match self.preset {
            Preset::Fast | Preset::Compact => stored,
            Preset::Balanced => stored * self.medium.reading() + values * chain.decoding(),
        }
    }

    /// Chooses the chain for a column with these values: the candidate that costs least. Simpler chains come first, because they
    /// decode faster, and a later chain wins only if it saves enough. Only the first 256 KiB of the values count.
    ///
    /// ```
    /// use tetrys::{ColumnType, Preset, codec::Medium};
    /// let counter: Vec<u8> = (0..10_000_i64).flat_map(i64::to_le_bytes).collect();
    /// let chain = Preset::Balanced.on(Medium::Disk).choose(&"i64".parse::<ColumnType>()?, &counter)?;
    /// assert!(chain.encode(&counter)?.len() < counter.len() / 100);
    /// # Ok::<(), tetrys::Error>(())
    /// ```
    ///
    /// # Errors
    /// - `Internal`: a compressor fails. No input is known to cause this.
    pub fn choose(self, ty: &ColumnType, values: &[u8]) -> Result<Chain> {
        self.choose_for(ty, &[&values[..values.len().min(SAMPLE)]])
    }

    /// Chooses the chain for a column that is stored in several pages: like [`Chooser::choose`], but each page is encoded
    /// separately, the sizes are summed, and all bytes of all pages count.
    ///
    /// # Errors
    /// - `Internal`: a compressor fails. No input is known to cause this.
    pub fn choose_for<P: AsRef<[u8]>>(self, ty: &ColumnType, pages: &[P]) -> Result<Chain> {
        let plain = stored_size(&Chain::PLAIN, pages)?;
        let mut best = (Chain::PLAIN, self.cost(&Chain::PLAIN, plain, plain));
        for chain in self.candidates(ty)? {
            let is_slow = self.preset == Preset::Fast && chain.is_pco();
            if is_slow && best.1 > plain as u64 / 8 {
                continue;
            }
            let size = stored_size(&chain, pages)?;
            let cost = self.cost(&chain, plain, size);
            let margin = if best.0.is_plain() { self.margins().0 } else { self.margins().1 };
            let wins = cost < best.1 && best.1 - cost >= best.1.div_ceil(margin);
            if wins && (!is_slow || size <= plain / 64) {
                best = (chain, cost);
            }
        }
        Ok(best.0)
    }

    /// Chooses the chain for the rest of a column whose first page chose `current`, as [`Chooser::choose_for`] does with these
    /// pages. If the costs differ by less than a 256th, `current` stays: encoding the page again would gain nothing.
    ///
    /// # Errors
    /// - `Internal`: a compressor fails. No input is known to cause this.
    pub(crate) fn choose_again<P: AsRef<[u8]>>(self, ty: &ColumnType, current: &Chain, pages: &[P]) -> Result<Chain> {
        let chosen = self.choose_for(ty, pages)?;
        if chosen == *current {
            return Ok(chosen);
        }
        let values = stored_size(&Chain::PLAIN, pages)?;
        let cost = |chain: &Chain| Ok::<_, Error>(self.cost(chain, values, stored_size(chain, pages)?));
        let (before, after) = (cost(current)?, cost(&chosen)?);
        Ok(if before.abs_diff(after) < before.max(after).div_ceil(256) { current.clone() } else { chosen })
    }

    /// Returns the candidate chains for a column of this type, in the order of trial. Plain is always a candidate
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

        let mut chains = vec![vec![last]];
        if width > 1 {
            chains.push(vec![Step::Shuffle(width), last]);
        }
        if is_numeric {
            chains.push(vec![Step::BitShuffle(width), last]);
        }
        chains.extend(wide.map(|wide| vec![Step::Shuffle(wide), last]));
        if let Some(split) = split {
            if self.preset == Preset::Compact && width > 1 {
                chains.push(vec![split, last]);
                chains.push(vec![split, Step::Shuffle(width), last]);
            }
            chains.push(vec![split, Step::BitShuffle(width), last]);
        }
        if let Some(number) = number {
            chains.push(vec![Step::Pco(number, pco_level)]);
            chains.extend(split.map(|split| vec![split, Step::Pco(number, pco_level)]));
        }
        chains.into_iter().map(Chain::new).collect()
    }
}

// The picoseconds of decoding are those of a slow core: `benches/codecs.rs` measures up to twice the speed.
impl Chain {
    /// Returns the picoseconds that decoding takes for each byte of values, as `format-spec/codecs.md#choice` states them.
    fn decoding(&self) -> u64 {
        self.steps().iter().map(|step| step.decoding()).sum()
    }
}

impl Step {
    /// Returns the picoseconds that decoding takes for each byte of values.
    fn decoding(self) -> u64 {
        match self {
            Self::Shuffle(_) | Self::Split { .. } => 100,
            Self::Lz4 => 200,
            Self::BitShuffle(_) => 200,
            Self::Zstd(_) => 800,
            Self::Pco(number, _) => 3_200 / number.width() as u64,
        }
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
