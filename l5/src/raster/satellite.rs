//! The satellite rasterizer: an aerial picture, turned and scaled around the pose (`satellite_debug`).
//!
//! A square around the middle of the raster is cut from the picture, turned by the yaw, cut again and resized, in the steps and with the
//! rounding of L5Kit. Only the pixels that the raster shows are computed.

use tetrys::{Error, Result};

use super::context::{RenderContext, invert};
use super::pixels::check_len;
use super::pose::{Pose, RasterInput};
use super::warp::{Picture, Resize, ResizeScratch, Warp, resize_rows, rotation_about};
use crate::geometry::transform_point;

/// A 4x4 matrix, row by row: a transform of space if its last row is `[0, 0, 0, 1]`.
pub type Matrix4 = [[f64; 4]; 4];

/// An aerial picture and where it lies in the world.
#[derive(Clone, Debug)]
pub struct AerialMap {
    pixels: Vec<u8>,
    width: usize,
    /// From the world, m, to row and column of the picture.
    aerial_from_world: [[f64; 4]; 2],
    /// The side of a pixel of the picture, m.
    pixel_size: f64,
}

impl AerialMap {
    /// Takes a picture (RGB, row by row) and the matrices of the data set's `meta.json`.
    ///
    /// # Errors
    /// `Invalid` if the pixels are not `width` x `height` of 3 bytes, or if the matrices lead to no positive size of a pixel.
    pub fn new(pixels: Vec<u8>, [width, height]: [usize; 2], world_to_ecef: &Matrix4, ecef_to_aerial: &Matrix4) -> Result<Self> {
        if width.checked_mul(height).and_then(|count| count.checked_mul(3)) != Some(pixels.len()) {
            return Err(Error::invalid(format!(
                "the aerial picture has {} bytes: expected 3 for each of {width} x {height} pixels",
                pixels.len()
            )));
        }
        let aerial_from_world = [0, 1].map(|row: usize| {
            let row = &ecef_to_aerial[row];
            std::array::from_fn(|column| {
                (row[0] * world_to_ecef[0][column] + row[1] * world_to_ecef[1][column])
                    + (row[2] * world_to_ecef[2][column] + row[3] * world_to_ecef[3][column])
            })
        });
        let norm = |[x, y, z, _]: [f64; 4]| (x * x + y * y + z * z).sqrt();
        let pixel_size = (1.0 / norm(aerial_from_world[0]) + 1.0 / norm(aerial_from_world[1])) / 2.0;
        if !pixel_size.is_finite() || pixel_size <= 0.0 {
            return Err(Error::invalid(format!(
                "world_to_ecef and ecef_to_aerial: a pixel of the aerial picture would have {pixel_size} m, expected a positive size"
            )));
        }
        Ok(Self { pixels, width, aerial_from_world, pixel_size })
    }

    /// Returns the side of a pixel of the picture, in metres.
    pub fn pixel_size(&self) -> f64 {
        self.pixel_size
    }

    fn picture(&self) -> Picture<'_> {
        Picture::new(self.pixels.as_chunks::<3>().0, self.width)
    }
}

/// The memory that [`rasterize_satellite`] works in. One per thread, kept between samples.
#[derive(Clone, Debug, Default)]
pub struct SatelliteScratch {
    warp: Warp,
    columns: Resize,
    rows: Resize,
    resize: ResizeScratch,
}

/// Draws the aerial picture around the current frame to `out`: three planes (red, green, blue) of height x width values in 0..=1.
///
/// # Errors
/// `Invalid` if there is no frame, if `out` has another length, or if the raster is smaller than a pixel of the picture; `NotFound` if
/// the square to cut leaves the picture, where L5Kit raises `IndexError`.
pub fn rasterize_satellite(
    context: &RenderContext,
    map: &AerialMap,
    input: &RasterInput<'_>,
    scratch: &mut SatelliteScratch,
    out: &mut [f32],
) -> Result<()> {
    check_len(out, 3 * context.pixels())?;
    let pose = Pose::of(&input.frames, input.current()?, input.agent)?;
    let [x, y] = transform_point(&invert(&pose.raster_from_world(context)), context.middle());
    let z = pose.position[2];
    let middle = map.aerial_from_world.map(|[a, b, c, d]| x * a + y * b + z * c + d);

    let [width, height] = context.raster_size();
    let side = width.max(height);
    let wanted = (side as f64 * context.pixel_size() / map.pixel_size).round_ties_even();
    if !(1.0..1e6).contains(&wanted) {
        return Err(Error::invalid(format!("the raster spans {wanted} pixels of the aerial picture: expected 1 to 1,000,000")));
    }
    let cut = square_around(&map.picture(), middle, (wanted * std::f64::consts::SQRT_2).ceil() as usize)?;
    let (wanted, cut_side) = (wanted as usize, cut.size()[0]);
    let start = centered(cut_side, wanted);

    let SatelliteScratch { warp, columns, rows, resize } = scratch;
    columns.columns(wanted, side, centered(side, width)..centered(side, width) + width);
    rows.rows(wanted, side, centered(side, height)..centered(side, height) + height);
    let center = cut_side as f64 / 2.0;
    warp.prepare(&rotation_about([center, center], pose.negated_degrees), columns.sources().iter().map(|column| column + start));
    let write = |row: usize, planes: &[u8]| {
        let row = if context.set_origin_to_bottom() { row } else { height - 1 - row };
        for (plane, values) in out.chunks_exact_mut(width * height).zip(planes.chunks_exact(width)) {
            for (out, value) in plane[row * width..(row + 1) * width].iter_mut().zip(values) {
                *out = f32::from(*value) / 255.0;
            }
        }
    };
    resize_rows(columns, rows, resize, |row, packed| warp.row(&cut, row + start, packed), write);
    Ok(())
}

/// Returns where a part of `size` pixels starts in the middle of a side.
fn centered(side: usize, size: usize) -> usize {
    (side as f64 / 2.0 - size as f64 / 2.0) as usize
}

/// Cuts a square from a picture, around a place given as row and column.
fn square_around<'a>(picture: &Picture<'a>, middle: [f64; 2], side: usize) -> Result<Picture<'a>> {
    let [width, height] = picture.size();
    let [row, column] = middle.map(|place| place - (side / 2) as f64);
    // L5Kit wants one row and column more than it cuts.
    let within = |start: f64, size: usize| start.trunc() >= 0.0 && start.trunc() + (side as f64) < size as f64;
    let cut = if within(row, height) && within(column, width) {
        picture.part([column as usize, row as usize], [side, side])
    } else {
        None
    };
    cut.ok_or_else(|| {
        Error::not_found(format!(
            "the raster needs rows {row:.0}..{:.0} and columns {column:.0}..{:.0} of the aerial picture, which has {height} rows and \
             {width} columns",
            row.trunc() + side as f64,
            column.trunc() + side as f64
        ))
    })
}
