//! Pictures to look at: a raster as red, green and blue bytes, as L5Kit's `to_rgb` makes them.
//!
//! Agents are blue, the ego or the selected agent is green, and both fade with their age. A map lies below.

/// By how much a box fades per frame.
const FADE: f32 = 0.85;

/// Writes box channels as colours to `out`: height x width x 3 bytes, black where no box is.
///
/// `channels` are those of a box rasterizer: the planes of the agents, newest first, then those of the ego.
pub(crate) fn boxes_to_rgb(channels: &[f32], pixels: usize, out: &mut [u8]) {
    out.fill(0);
    let (others, own) = channels.split_at(channels.len() / 2);
    for (planes, color) in [(others, 2), (own, 1)] {
        // From the oldest to the newest: a newer box covers an older one.
        for (age, plane) in planes.chunks_exact(pixels.max(1)).enumerate().rev() {
            let shade = (1..=age).fold(1.0_f32, |shade, _| shade * FADE);
            let byte = (shade * 255.0) as u8;
            for (value, pixel) in plane.iter().zip(out.as_chunks_mut::<3>().0) {
                if *value > 0.0 {
                    pixel[color] = byte;
                }
            }
        }
    }
}

/// Writes three planes as pixels to `out`, where `out` is still black.
pub(crate) fn planes_below(planes: &[f32], pixels: usize, out: &mut [u8]) {
    for (at, pixel) in out.as_chunks_mut::<3>().0.iter_mut().enumerate() {
        if *pixel == [0; 3] {
            for (color, value) in pixel.iter_mut().enumerate() {
                *value = planes.get(color * pixels + at).map_or(0, |value| (value * 255.0).round() as u8);
            }
        }
    }
}
