//! Random changes of pictures: which part is taken, whether left and right are exchanged, and the colours. The parameters, and how they
//! are drawn, are those of torchvision 0.20: `RandomResizedCrop`, `RandomHorizontalFlip` and `ColorJitter` of
//! <https://github.com/pytorch/vision/blob/v0.20.0/torchvision/transforms/transforms.py>. The colours are computed as by `ImageEnhance`
//! of Pillow, which torchvision uses for pictures of Pillow.
//!
//! The changes of a sample are a pure function of its random number and a seed. Crop, flip and colours each have numbers of their own,
//! so that a column with all of them and one with a flip alone are flipped together.

use tetrys::{Error, Result};

use crate::Area;

/// Lower and upper bound.
type Bounds = (f64, f64);

/// The random changes of pictures; none by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Augment {
    /// Share of the area of the picture, and width divided by height.
    pub(crate) crop: Option<(Bounds, Bounds)>,
    pub(crate) flip: f64,
    pub(crate) brightness: Option<Bounds>,
    pub(crate) contrast: Option<Bounds>,
    pub(crate) saturation: Option<Bounds>,
    pub(crate) seed: u64,
}

/// The random changes of one sample.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    /// Share of the area and ratio of the crop, and the numbers that choose it.
    crop: Option<(Bounds, Bounds, Numbers)>,
    flip: bool,
    /// The changes of colours, in their order, and their factors.
    colours: Vec<(Colour, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Colour {
    Brightness,
    Contrast,
    Saturation,
}

impl Augment {
    /// Whether pictures of two samples may be changed differently.
    pub(crate) fn is_on(&self) -> bool {
        *self != Self { seed: self.seed, ..Self::default() }
    }

    /// Checks bounds and probabilities. Pictures that are cropped at random need a size.
    ///
    /// # Errors
    /// - `Invalid`: a bound or a probability is impossible, or there is no size.
    pub(crate) fn check(&self, has_size: bool) -> Result<()> {
        let within = |what: &str, found: Option<Bounds>, expected: &str, least: f64, most: f64| {
            let (low, high) = found.unwrap_or((most, most));
            // Not a number is in no order.
            match least <= low && low <= high && high <= most {
                true => Ok(()),
                false if low == high => Err(Error::invalid(format!("{what}: expected {expected}, found {low:?}"))),
                false => Err(Error::invalid(format!("{what}: expected {expected}, found {low:?} to {high:?}"))),
            }
        };
        let positive = "two numbers above 0, the smaller one first";
        let factors = "two factors of 0 or more, the smaller one first";
        let (scale, ratio) = self.crop.unzip();
        within("crop_scale", scale, "two shares above 0 and up to 1, the smaller one first", f64::MIN_POSITIVE, 1.0)?;
        within("crop_ratio", ratio, positive, f64::MIN_POSITIVE, f64::MAX)?;
        within("flip", Some((self.flip, self.flip)), "a probability from 0 to 1", 0.0, 1.0)?;
        within("brightness", self.brightness, factors, 0.0, f64::MAX)?;
        within("contrast", self.contrast, factors, 0.0, f64::MAX)?;
        within("saturation", self.saturation, factors, 0.0, f64::MAX)?;
        match self.crop.is_some() && !has_size {
            true => Err(Error::invalid("a random crop needs a size: its parts of pictures differ in size")),
            false => Ok(()),
        }
    }

    /// Draws the changes of the sample with this random number.
    pub(crate) fn drawn(&self, random: u64) -> Drawn {
        let of = |what| Numbers::new(random, self.seed, what);
        let mut numbers = of(2);
        let mut colours = Vec::with_capacity(3);
        // All numbers are drawn, so that another change takes no part in the factor of this one.
        for (colour, bounds) in
            [(Colour::Brightness, self.brightness), (Colour::Contrast, self.contrast), (Colour::Saturation, self.saturation)]
        {
            let place = numbers.below(colours.len() as u64 + 1);
            let factor = numbers.uniform(bounds.unwrap_or((1.0, 1.0)));
            colours.insert(usize::try_from(place).unwrap_or(0), (colour, factor));
        }
        // As Pillow, which returns a copy for 1.
        colours.retain(|(_, factor)| *factor != 1.0);
        Drawn {
            crop: self.crop.map(|(scale, ratio)| (scale, ratio, of(0))),
            flip: of(1).uniform((0.0, 1.0)) < self.flip,
            colours,
        }
    }
}

impl Drawn {
    /// Chooses a part of an area, as `RandomResizedCrop.get_params`: ten times a part of a random size and ratio, until one fits, and
    /// else the largest part in the middle whose ratio is within the bounds.
    pub(crate) fn crop(&self, area: Area) -> Area {
        let Some((scale, ratio, numbers)) = &self.crop else { return area };
        let (mut numbers, height, width) = (numbers.clone(), f64::from(area.height), f64::from(area.width));
        for _ in 0..10 {
            let target = height * width * numbers.uniform(*scale);
            let aspect = numbers.uniform((ratio.0.ln(), ratio.1.ln())).exp();
            let (wide, high) = (rounded((target * aspect).sqrt()), rounded((target / aspect).sqrt()));
            if (1..=area.width).contains(&wide) && (1..=area.height).contains(&high) {
                let top = numbers.below(u64::from(area.height - high) + 1);
                let left = numbers.below(u64::from(area.width - wide) + 1);
                let place = |start: u32, more: u64| start + u32::try_from(more).unwrap_or(0);
                return Area { top: place(area.top, top), left: place(area.left, left), height: high, width: wide };
            }
        }
        let (high, wide) = match width / height {
            found if found < ratio.0 => (rounded(width / ratio.0), area.width),
            found if found > ratio.1 => (area.height, rounded(height * ratio.1)),
            _ => (area.height, area.width),
        };
        let (high, wide) = (high.clamp(1, area.height), wide.clamp(1, area.width));
        Area { top: area.top + (area.height - high) / 2, left: area.left + (area.width - wide) / 2, height: high, width: wide }
    }

    /// Flips RGB pixels, in rows of `width`, and changes their colours.
    pub(crate) fn apply(&self, rgb: &mut [u8], width: u32) {
        let (pixels, _) = rgb.as_chunks_mut::<3>();
        if self.flip {
            pixels.chunks_exact_mut((width as usize).max(1)).for_each(|row| row.reverse());
        }
        for (colour, factor) in &self.colours {
            match colour {
                Colour::Brightness => blend(pixels, *factor, |_| 0),
                Colour::Contrast => {
                    let sum: u64 = pixels.iter().map(|pixel| u64::from(grey(pixel))).sum();
                    let count = pixels.len().max(1) as u64;
                    // The rounded mean, as of Pillow.
                    let mean = u8::try_from((2 * sum + count) / (2 * count)).unwrap_or(u8::MAX);
                    blend(pixels, *factor, |_| mean);
                }
                Colour::Saturation => blend(pixels, *factor, grey),
            }
        }
    }
}

/// Rounds to the nearest integer, halves to even, as Python does.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "too large for a picture stays too large")]
fn rounded(length: f64) -> u32 {
    length.round_ties_even() as u32
}

/// The luma of ITU-R 601-2, as Pillow computes it: <https://pillow.readthedocs.io/en/stable/reference/Image.html#PIL.Image.Image.convert>.
fn grey([red, green, blue]: &[u8; 3]) -> u8 {
    let luma = u32::from(*red) * 19_595 + u32::from(*green) * 38_470 + u32::from(*blue) * 7_471 + 0x8000;
    u8::try_from(luma >> 16).unwrap_or(u8::MAX)
}

/// Moves each value away from `other` of its pixel by a factor; below 1, towards it. Cut off, as Pillow's `Image.blend`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 255; Pillow's factor is a 32-bit float")]
fn blend(pixels: &mut [[u8; 3]], factor: f64, other: impl Fn(&[u8; 3]) -> u8) {
    let factor = factor as f32;
    for pixel in pixels {
        let from = f32::from(other(pixel));
        for value in pixel {
            *value = (from + factor * (f32::from(*value) - from)).clamp(0.0, 255.0) as u8;
        }
    }
}

/// Random numbers of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
struct Numbers(u64);

impl Numbers {
    /// Creates the numbers for one purpose, `what`, of a sample.
    fn new(random: u64, seed: u64, what: u64) -> Self {
        Self(mixed(mixed(random ^ seed) ^ what))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }

    /// Returns a number from 0 on, below `n`.
    fn below(&mut self, n: u64) -> u64 {
        u64::try_from((u128::from(self.next()) * u128::from(n)) >> 64).unwrap_or(0)
    }

    /// Returns a number between two bounds.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    fn uniform(&mut self, (least, most): Bounds) -> f64 {
        let fraction = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        least + (most - least) * fraction
    }
}

/// The output function of SplitMix64.
fn mixed(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
