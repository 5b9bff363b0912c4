//! PNG files.

use std::io::Cursor;

use png::{BitDepth, ColorType, Decoder, Transformations};
use tetrys::{Error, Result};

use crate::{Pixels, check_size, size_of};

/// Decodes a PNG. Palettes and grey become RGB, transparency is left out, and 16-bit colours keep their upper 8 bits.
///
/// # Errors
/// - `Corrupt`: the file is not a whole PNG, it claims to be too large, or it has 16-bit grey.
pub(crate) fn decode(file: &[u8]) -> Result<Pixels> {
    let broken = |error: png::DecodingError| Error::corrupt(format!("not a whole PNG ({}): {error}", size_of(file)));
    let mut decoder = Decoder::new(Cursor::new(file));
    decoder.set_transformations(Transformations::EXPAND | Transformations::STRIP_16);
    let mut reader = decoder.read_info().map_err(broken)?;
    let info = reader.info();
    let (width, height) = (info.width, info.height);
    if (info.color_type, info.bit_depth) == (ColorType::Grayscale, BitDepth::Sixteen) {
        return Err(Error::corrupt(
            "a PNG of 16-bit grey has no 8-bit colours: read its bytes, and decode them with another library",
        ));
    }
    check_size(u64::from(height), u64::from(width))?;
    let size =
        reader.output_buffer_size().ok_or_else(|| Error::corrupt(format!("a PNG of {height} x {width} pixels is too large")))?;
    let mut values = vec![0; size];
    let frame = reader.next_frame(&mut values).map_err(broken)?;
    reader.finish().map_err(broken)?;
    values.truncate(frame.buffer_size());
    let rgb = match frame.color_type {
        ColorType::Rgb | ColorType::Indexed => values,
        ColorType::Rgba => values.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect(),
        ColorType::Grayscale => values.iter().flat_map(|level| [*level; 3]).collect(),
        ColorType::GrayscaleAlpha => values.chunks_exact(2).flat_map(|pixel| [pixel[0]; 3]).collect(),
    };
    Ok(Pixels { width, height, scale: 1, size: (height, width), rgb })
}
