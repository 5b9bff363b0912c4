//! Presets: which chains a column may get, and the choice among them.
//!
//! The choice is a pure function of (preset, column type, values of the first block of the chunk), so that the same rows and
//! settings give the same bytes on any machine. Follows `format-spec/codecs.md#choice`.

use std::{fmt, str::FromStr};

use super::{Chain, Step};
use crate::{
    error::{Error, Result},
    schema::ColumnType,
};

/// How much time to spend on size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Preset {
    /// Plain or LZ4: reads at memory speed.
    Fast,
    /// Zstandard behind a byte shuffle where that helps.
    #[default]
    Balanced,
    /// As balanced at a higher level: slower to write, as fast to read.
    Compact,
}

impl Preset {
    /// The name in manifests and on the command line.
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

    /// The chain for one column of a chunk, from the values of its first block: the smallest candidate; a plainer chain wins
    /// unless a later one saves at least 1/32 of the bytes.
    ///
    /// # Errors
    /// As [`Chain::encode`].
    pub fn choose(self, ty: &ColumnType, values: &[u8]) -> Result<Chain> {
        let sample = &values[..values.len().min(SAMPLE)];
        let mut best = (Chain::PLAIN, sample.len());
        for chain in self.candidates(ty)? {
            let size = chain.encode(sample)?.len();
            if size < best.1 && best.1 - size >= best.1.div_ceil(32) {
                best = (chain, size);
            }
        }
        Ok(best.0)
    }

    fn candidates(self, ty: &ColumnType) -> Result<Vec<Chain>> {
        let compressor = self.compressor();
        let mut widths = Vec::new();
        let element = ty.element_width();
        if element > 1 {
            widths.push(element);
        }
        // The bytes of a whole innermost row (x, y, z of a point; 17 probabilities) may be alike from row to row.
        if let ColumnType::Tensor { shape, .. } = ty
            && let [.., Some(last)] = shape.as_slice()
            && *last > 1
        {
            widths.push((element as u64 * u64::from(*last)).min(u64::from(u16::MAX)) as usize);
        }
        let mut chains = vec![Chain::new([compressor])?];
        for width in widths.into_iter().filter_map(|width| u8::try_from(width).ok()) {
            chains.push(Chain::new([Step::Shuffle(width), compressor])?);
        }
        Ok(chains)
    }
}

/// Bytes of the first block that the choice looks at.
const SAMPLE: usize = 256 << 10;

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
mod tests {
    use super::*;
    use crate::schema::Primitive;

    #[test]
    fn noise_stays_plain_and_slow_floats_get_a_shuffle() {
        let mut state = 1_u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .take(50_000)
        .collect();
        let slow: Vec<u8> = (0..20_000).flat_map(|i| (i as f32 * 0.001).to_le_bytes()).collect();
        let ty = ColumnType::tensor(Primitive::F32, [None]);
        for preset in [Preset::Fast, Preset::Balanced, Preset::Compact] {
            assert!(preset.choose(&ty, &noise).unwrap().is_plain());
            assert!(preset.choose(&ty, &slow).unwrap().to_string().starts_with("shuffle(4)+"));
            assert!(preset.choose(&ty, &[]).unwrap().is_plain());
        }
    }
}
