//! Draws rectangles and letters into a picture and writes it as PNG.

use std::io::Write;

use font8x8::UnicodeFonts;

/// Red, green and blue.
pub(super) type Colour = [u8; 3];

/// Width and height of a letter in pixels.
pub(super) const LETTER: usize = 8;

/// A picture in memory.
pub(super) struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<Colour>,
}

impl Canvas {
    /// Returns a picture of one colour.
    pub(super) fn new(width: usize, height: usize, ground: Colour) -> Self {
        Self { width, height, pixels: vec![ground; width * height] }
    }

    /// Fills the part of a rectangle that is inside the picture.
    pub(super) fn fill(&mut self, left: usize, top: usize, width: usize, height: usize, colour: Colour) {
        let (left, right) = (left.min(self.width), (left + width).min(self.width));
        for y in top.min(self.height)..(top + height).min(self.height) {
            self.pixels[y * self.width + left..y * self.width + right].fill(colour);
        }
    }

    /// Draws text. Letters that are not in the font become question marks.
    pub(super) fn text(&mut self, left: usize, top: usize, text: &str, colour: Colour) {
        for (place, letter) in text.chars().enumerate() {
            let lines = font8x8::BASIC_FONTS.get(letter).or_else(|| font8x8::BASIC_FONTS.get('?')).unwrap_or_default();
            for (y, line) in lines.iter().enumerate() {
                for x in (0..LETTER).filter(|x| line >> x & 1 == 1) {
                    self.fill(left + place * LETTER + x, top + y, 1, 1, colour);
                }
            }
        }
    }

    /// Writes the picture as PNG.
    pub(super) fn write(&self, out: impl Write) -> Result<(), png::EncodingError> {
        let size = |extent: usize| u32::try_from(extent).unwrap_or(u32::MAX);
        let mut encoder = png::Encoder::new(out, size(self.width), size(self.height));
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(self.pixels.as_flattened())?;
        writer.finish()
    }
}
