//! JPEG files, decoded by libjpeg.

use std::panic::{AssertUnwindSafe, catch_unwind};

use mozjpeg::{ColorSpace, Decompress};
use tetrys::{Error, Result};

use crate::{Pixels, check_size, size_of};

/// Decodes a JPEG. `scale_of` chooses the scale (1, 2, 4 or 8) from height and width.
///
/// # Errors
/// - `Corrupt`: the file is not a whole JPEG, or it claims to be too large.
pub(crate) fn decode(file: &[u8], scale_of: impl Fn(u32, u32) -> u32) -> Result<Pixels> {
    let broken = |why: &str| Error::corrupt(format!("not a whole JPEG ({}): {why}", size_of(file)));
    // libjpeg fills up what is missing with grey.
    if !has_end(file) {
        return Err(broken("its end is missing"));
    }
    // The crate reports errors of libjpeg by unwinding, without the panic hook.
    let decoded = catch_unwind(AssertUnwindSafe(|| decompress(file, scale_of)));
    match decoded {
        Ok(Ok(pixels)) => Ok(pixels),
        Ok(Err(Failure::Io(error))) => Err(broken(&error.to_string())),
        Ok(Err(Failure::Size(error))) => Err(error),
        Err(payload) => {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            Err(broken(text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("libjpeg refused it")))
        }
    }
}

enum Failure {
    Io(std::io::Error),
    Size(Error),
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

fn decompress(file: &[u8], scale_of: impl Fn(u32, u32) -> u32) -> std::result::Result<Pixels, Failure> {
    let mut header = Decompress::new_mem(file)?;
    let (width, height) = header.size();
    check_size(height as u64, width as u64).map_err(Failure::Size)?;
    let length = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let size = (length(height), length(width));
    let scale = scale_of(length(height), length(width));
    header.scale(u8::try_from(8 / scale.clamp(1, 8)).unwrap_or(8));
    let is_cmyk = matches!(header.color_space(), ColorSpace::JCS_CMYK | ColorSpace::JCS_YCCK);
    let mut lines = if is_cmyk { header.to_colorspace(ColorSpace::JCS_CMYK)? } else { header.rgb()? };
    let (width, height) = (length(lines.width()), length(lines.height()));
    let values: Vec<u8> = lines.read_scanlines()?;
    lines.finish()?;
    let rgb = if is_cmyk { of_cmyk(&values) } else { values };
    Ok(Pixels { width, height, scale, size, rgb })
}

/// Converts CMYK as Pillow does: with inverted values, as Adobe's programs write them.
fn of_cmyk(values: &[u8]) -> Vec<u8> {
    let mut rgb = Vec::with_capacity(values.len() / 4 * 3);
    for inks in values.chunks_exact(4) {
        let key = 255 - i32::from(255 - inks[3]);
        for ink in &inks[..3] {
            let product = i32::from(255 - *ink) * key + 128;
            let light = key - (((product >> 8) + product) >> 8);
            rgb.push(u8::try_from(light.clamp(0, 255)).unwrap_or(0));
        }
    }
    rgb
}

/// Whether the file reaches its end marker.
fn has_end(file: &[u8]) -> bool {
    let mut at = 2;
    let mut next = || {
        at += file.get(at..)?.iter().position(|byte| *byte == 0xff)?;
        at += file.get(at..)?.iter().position(|byte| *byte != 0xff)?;
        let code = *file.get(at)?;
        at += 1;
        // Bytes of the pixels and a few markers have no segment behind them.
        if !matches!(code, 0 | 1 | 0xd0..=0xd9) {
            let &[high, low, ..] = file.get(at..)? else { return None };
            at += usize::from(u16::from_be_bytes([high, low])).max(2);
        }
        Some(code)
    };
    std::iter::from_fn(&mut next).any(|code| code == 0xd9)
}
