//! Pictures: checks that a PNG or JPEG file says that it has the declared shape and type, and decodes it.

use std::io::Cursor;

use png::{BitDepth, Decoder, Limits, Transformations};
use tetrys::{Error, Result, loader::Decode, schema::Primitive};
use tetrys_images::Image;

use crate::{columns::shape_fits, npy::MAX_ARRAY};

/// What the header of a picture says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ImageHeader {
    height: u32,
    width: u32,
    channels: u8,
    /// Bits of a sample.
    bits: u8,
    is_png: bool,
}

/// Checks the header of a picture against the declared type and shape. Decodes nothing.
///
/// # Errors
/// - `Corrupt`: the file is neither a PNG nor a JPEG, or its header is cut.
/// - `Invalid`: the picture has another shape or type.
pub(crate) fn check(file: &[u8], element: Primitive, shape: &[Option<u32>]) -> Result<()> {
    fits(header_of(file)?, element, shape).map(drop)
}

/// Decodes a picture. Returns its shape, and its samples, row by row.
///
/// # Errors
/// - `Corrupt`: the file is damaged, or has less pixels than it says.
/// - `Invalid`: the picture has another shape or type than declared.
pub(crate) fn decode(file: &[u8], element: Primitive, shape: &[Option<u32>]) -> Result<(Vec<u64>, Vec<u8>)> {
    let header = header_of(file)?;
    let shape = fits(header, element, shape)?;
    if header.is_png {
        return Ok((shape, png(file, header)?));
    }
    let (_, rgb) = Image::new().decode(file)?;
    let samples = match header.channels {
        1 => rgb.chunks_exact(3).map(|pixel| pixel[0]).collect(),
        _ => rgb,
    };
    Ok((shape, samples))
}

/// Returns the shape of the picture, which is the declared one.
fn fits(header: ImageHeader, element: Primitive, declared: &[Option<u32>]) -> Result<Vec<u64>> {
    let ImageHeader { height, width, channels, bits, .. } = header;
    if usize::from(bits.div_ceil(8)) != element.width() {
        return Err(Error::invalid(format!("expected a picture of {} samples, found one of {bits} bits", element.name())));
    }
    let mut shape = vec![u64::from(height), u64::from(width)];
    if channels > 1 || declared.len() == 3 {
        shape.push(channels.into());
    }
    shape_fits(&shape, declared)?;
    let bytes = shape.iter().product::<u64>() * element.width() as u64;
    if bytes > MAX_ARRAY {
        return Err(Error::unsupported(format!("a picture of {height} x {width} pixels: expected at most {MAX_ARRAY} bytes")));
    }
    Ok(shape)
}

fn header_of(file: &[u8]) -> Result<ImageHeader> {
    match file {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, rest @ ..] => of_png(rest),
        [0xff, 0xd8, rest @ ..] => of_jpeg(rest),
        _ => None,
    }
    .ok_or_else(|| Error::corrupt(format!("{} bytes that do not begin as a whole PNG or JPEG file does", file.len())))
}

/// Reads the first chunk, `IHDR`.
fn of_png(rest: &[u8]) -> Option<ImageHeader> {
    let header = rest.get(..21)?;
    let number = |at: usize| Some(u32::from_be_bytes(header.get(at..at + 4)?.try_into().ok()?));
    let (bits, color) = (header[16], header[17]);
    let channels = match color {
        0 => 1,
        2 | 3 => 3,
        4 => 2,
        6 => 4,
        _ => return None,
    };
    let sound = header.get(4..8) == Some(b"IHDR") && matches!(bits, 1 | 2 | 4 | 8 | 16);
    // Palettes have 8-bit colours whatever the bits of their indexes.
    let bits = if color == 3 { 8 } else { bits };
    sound.then_some(ImageHeader { width: number(8)?, height: number(12)?, channels, bits, is_png: true })
}

/// Looks for the segment that begins a frame, which says the size.
fn of_jpeg(mut rest: &[u8]) -> Option<ImageHeader> {
    loop {
        let [0xff, code, after @ ..] = rest else { return None };
        match code {
            0xff => rest = rest.get(1..)?,
            0x01 | 0xd0..=0xd7 => rest = after,
            0xc0..=0xcf if !matches!(code, 0xc4 | 0xc8 | 0xcc) => {
                let &[_, _, bits, high, low, wide, narrow, channels, ..] = after else { return None };
                let (height, width) = (u16::from_be_bytes([high, low]), u16::from_be_bytes([wide, narrow]));
                // libjpeg decodes the four inks of CMYK to three colours, as OpenCV does.
                let channels = if channels == 1 { 1 } else { 3 };
                return Some(ImageHeader { height: height.into(), width: width.into(), channels, bits, is_png: false });
            }
            _ => {
                let &[high, low, ..] = after else { return None };
                rest = after.get(usize::from(u16::from_be_bytes([high, low])).max(2)..)?;
            }
        }
    }
}

fn png(file: &[u8], header: ImageHeader) -> Result<Vec<u8>> {
    let broken = |error: png::DecodingError| Error::corrupt(format!("not a whole PNG ({} bytes): {error}", file.len()));
    let bytes =
        u64::from(header.height) * u64::from(header.width) * u64::from(header.channels) * u64::from(header.bits.div_ceil(8));
    let room = usize::try_from(bytes).unwrap_or(usize::MAX).saturating_add(64 << 20);
    let mut decoder = Decoder::new_with_limits(Cursor::new(file), Limits { bytes: room });
    decoder.set_transformations(if header.bits == 16 { Transformations::IDENTITY } else { Transformations::EXPAND });
    let mut reader = decoder.read_info().map_err(broken)?;
    // A transparent colour of the palette would add a channel.
    if (reader.output_color_type().0.samples(), reader.output_color_type().1)
        != (usize::from(header.channels), depth(header.bits))
    {
        return Err(Error::unsupported("a PNG with a transparent colour"));
    }
    let size = reader.output_buffer_size().filter(|size| *size as u64 == bytes);
    let mut samples = vec![0; size.ok_or_else(|| Error::corrupt("a PNG whose rows do not add up"))?];
    reader.next_frame(&mut samples).map_err(broken)?;
    reader.finish().map_err(broken)?;
    if header.bits == 16 {
        samples.as_chunks_mut::<2>().0.iter_mut().for_each(|sample| sample.reverse());
    }
    Ok(samples)
}

fn depth(bits: u8) -> BitDepth {
    if bits == 16 { BitDepth::Sixteen } else { BitDepth::Eight }
}

#[cfg(test)]
mod tests;
