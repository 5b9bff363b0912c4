//! Draws a sample as a picture: boxes, the past and future of the ego car or the agent, and the traffic light faces.

use tetrys::{Error, Result};

use crate::{
    raster::{
        Rasterizer,
        draw::{Canvas, SHIFT, draw_polyline},
    },
    sampler::Batch,
};

const PAST: [u8; 3] = [255, 178, 102];
const FUTURE: [u8; 3] = [255, 64, 160];
/// Colours of an active, an inactive and an unknown face.
const FACES: [[u8; 3]; 3] = [[255, 255, 255], [96, 96, 96], [160, 160, 64]];
/// Side of the square of a face and the gap after it, in pixels.
const FACE: usize = 6;
const GAP: usize = 2;

/// Draws one sample of a batch. Returns the pixels, RGB of height x width, row by row.
///
/// The past is orange and the future pink, as far as they are available. Each traffic light face of the frame is a square in the upper
/// left corner: white if it is probably active, grey if inactive, olive if unknown.
///
/// # Errors
/// - `NotFound`: the batch has no such sample.
/// - `Invalid`: the batch has images of another rasterizer.
pub fn draw_sample(rasterizer: &Rasterizer, batch: &Batch, sample: usize, statuses: &[[f32; 3]]) -> Result<Vec<u8>> {
    let (samples, [width, height]) = (&batch.samples, rasterizer.context().raster_size());
    let images = batch.images.chunks_exact(rasterizer.len());
    if batch.images.len() != samples.len * rasterizer.len() {
        return Err(Error::invalid(format!(
            "the batch has {} values of images, expected {}",
            batch.images.len(),
            samples.len * rasterizer.len()
        )));
    }
    let image = images.into_iter().nth(sample);
    let image = image.ok_or_else(|| Error::not_found(format!("sample {sample} is outside of a batch of {}", samples.len)))?;
    let mut pixels = vec![[0; 3]; width * height];
    rasterizer.to_rgb(image, pixels.as_flattened_mut())?;
    let (history, future) = (samples.shape.history + 1, samples.shape.future);
    let matrix = samples.raster_from_agent[sample * 9..sample * 9 + 9].as_chunks::<3>().0;
    let place = |[x, y]: [f32; 2]| {
        let at = |row: usize| matrix[row][0] * f64::from(x) + matrix[row][1] * f64::from(y) + matrix[row][2];
        [0, 1].map(|row| (at(row) * f64::from(1 << SHIFT)).clamp(-1e9, 1e9) as i32)
    };
    let track = |positions: &[f32], available: &[f32]| -> Vec<[i32; 2]> {
        let there = positions.as_chunks::<2>().0.iter().zip(available).take_while(|(_, available)| **available > 0.0);
        there.map(|(position, _)| place(*position)).collect()
    };
    let of = |values: usize| sample * values..(sample + 1) * values;
    let past = track(&samples.history_positions[of(history * 2)], &samples.history_availabilities[of(history)]);
    let mut next = track(&samples.target_positions[of(future * 2)], &samples.target_availabilities[of(future)]);
    next.insert(0, place([0.0, 0.0]));
    let mut canvas = Canvas::new(&mut pixels, width);
    for (points, color) in [(past, PAST), (next, FUTURE)] {
        draw_polyline(&mut canvas, &points, false, color);
    }
    for (number, status) in statuses.iter().enumerate() {
        let most = (0..3).max_by(|a, b| status[*a].total_cmp(&status[*b])).unwrap_or(2);
        let in_row = width.saturating_sub(GAP) / (FACE + GAP);
        let Some(row) = number.checked_div(in_row) else { break };
        let (top, left) = (GAP + row * (FACE + GAP), GAP + number % in_row * (FACE + GAP));
        for y in top..(top + FACE).min(height) {
            pixels[y * width + left..y * width + left + FACE].fill(FACES[most]);
        }
    }
    Ok(pixels.into_flattened())
}
