//! Turns and resizes RGB pictures with the pixels of OpenCV.
//!
//! [`warp_affine`] is `cv2.warpAffine` (bilinear, zeros outside) and [`resize`] is `cv2.resize` (`INTER_LINEAR`) for three channels of
//! bytes, bit for bit, as OpenCV 4.5 to 4.10 computes them. The rounding is that of OpenCV's `modules/imgproc/src/imgwarp.cpp` and
//! `resize.cpp` (Apache License 2.0): places in 1/32 pixel from steps in 1/1024, weights in 1/1024, and 1/2048 for resizing. The code is
//! our own: `Warp` and `Resize` work row by row, so that a chain of both computes only the pixels that it needs.

/// Red, green and blue side by side, 21 bits each, so that one product or sum works on all three.
type Packed = u64;

const LANE: u32 = 21;

/// A part of a picture: rows of RGB pixels that lie `stride` pixels apart.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a> {
    pixels: &'a [[u8; 3]],
    stride: usize,
    width: usize,
    height: usize,
}

impl<'a> Picture<'a> {
    /// Wraps pixels, row by row. Pixels beyond the last whole row are left out.
    pub fn new(pixels: &'a [[u8; 3]], width: usize) -> Self {
        Self { pixels, stride: width, width, height: pixels.len().checked_div(width).unwrap_or(0) }
    }

    /// Returns width and height, in pixels.
    pub fn size(&self) -> [usize; 2] {
        [self.width, self.height]
    }

    /// Returns the part that starts at pixel `[x, y]`, or nothing if it is not within the picture.
    #[must_use]
    pub fn part(&self, [x, y]: [usize; 2], [width, height]: [usize; 2]) -> Option<Self> {
        if x.checked_add(width)? > self.width || y.checked_add(height)? > self.height {
            return None;
        }
        let pixels = self.pixels.get((y * self.stride + x).min(self.pixels.len())..)?;
        Some(Self { pixels, stride: self.stride, width, height })
    }

    /// Returns a row.
    fn row(&self, y: usize) -> &'a [[u8; 3]] {
        self.pixels.get(y * self.stride..y * self.stride + self.width).unwrap_or_default()
    }

    /// Returns the bytes of a pixel, red lowest, or black outside.
    fn pixel(&self, x: i32, y: i32) -> u64 {
        let inside = usize::try_from(x).ok().zip(usize::try_from(y).ok()).filter(|(x, y)| *x < self.width && *y < self.height);
        inside
            .and_then(|(x, y)| self.pixels.get(y * self.stride + x))
            .map_or(0, |[red, green, blue]| u64::from_le_bytes([*red, *green, *blue, 0, 0, 0, 0, 0]))
    }
}

/// Returns the matrix of a rotation about a point of a picture: `cv2.getRotationMatrix2D` with scale 1.
///
/// `degrees` count counter-clockwise in a picture whose first row is at the top. The center is rounded to `f32`, as OpenCV does.
pub fn rotation_about(center: [f64; 2], degrees: f64) -> [[f64; 3]; 2] {
    let [x, y] = center.map(|place| f64::from(place as f32));
    let angle = degrees * (std::f64::consts::PI / 180.0);
    let (a, b) = (angle.cos(), angle.sin());
    [[a, b, (1.0 - a) * x - b * y], [-b, a, b * x + (1.0 - a) * y]]
}

/// A turned picture, of which single rows can be computed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Warp {
    /// From a pixel of the result to a place in the source.
    inverse: [[f64; 3]; 2],
    /// For each column that is wanted: its part of the place in the source, in 1/1024 pixel.
    columns: Vec<[i32; 2]>,
}

impl Warp {
    /// Prepares the columns `columns` of a picture that `matrix` moves to a new place, as `cv2.warpAffine` takes it.
    ///
    /// `matrix` leads from places in the source to places in the result. One without inverse maps all pixels to one place.
    pub(crate) fn new(matrix: &[[f64; 3]; 2], columns: impl IntoIterator<Item = usize>) -> Self {
        let mut warp = Self::default();
        warp.prepare(matrix, columns);
        warp
    }

    /// Does the work of [`new`](Self::new) in the memory of an earlier one.
    pub(crate) fn prepare(&mut self, matrix: &[[f64; 3]; 2], columns: impl IntoIterator<Item = usize>) {
        let [[a, b, x], [c, d, y]] = *matrix;
        let determinant = a * d - b * c;
        let scale = if determinant == 0.0 { 0.0 } else { 1.0 / determinant };
        let (a, b, c, d) = (d * scale, b * -scale, c * -scale, a * scale);
        self.inverse = [[a, b, -a * x - b * y], [c, d, -c * x - d * y]];
        self.columns.clear();
        self.columns.extend(columns.into_iter().map(|column| [a, c].map(|part| rounded(part * column as f64 * 1024.0))));
    }

    /// Computes row `y` of the result: one packed pixel for each wanted column.
    pub(crate) fn row(&self, source: &Picture<'_>, y: usize, out: &mut [Packed]) {
        let [from_x, from_y] =
            self.inverse.map(|[_, slope, shift]| rounded((slope * y as f64 + shift) * 1024.0).wrapping_add(16));
        let place = |[x, y]: [i32; 2]| [from_x.wrapping_add(x) >> 5, from_y.wrapping_add(y) >> 5];
        // Places change in one direction along a row: if the four pixels of both ends are in the picture, so are all.
        let inner = [source.width, source.height].map(|side| side.saturating_sub(1) as u32);
        let is_inside = |[x, y]: [i32; 2]| ((x >> 5) as u32) < inner[0] && ((y >> 5) as u32) < inner[1];
        let inside = [self.columns.first(), self.columns.last()].into_iter().flatten().all(|end| is_inside(place(*end)));
        let (bytes, row) = (source.pixels.as_flattened(), 3 * source.stride);
        for (column, out) in self.columns.iter().zip(out) {
            let [x, y] = place(*column);
            if inside {
                let at = (y >> 5) as usize * row + 3 * (x >> 5) as usize;
                // From the first upper pixel to two bytes after the second lower one.
                let span = bytes.get(at..at + row + 8);
                if let Some((upper, lower)) = span.and_then(|span| span.first_chunk().zip(span.last_chunk())) {
                    *out = bilinear(u64::from_le_bytes(*upper), u64::from_le_bytes(*lower), x, y);
                    continue;
                }
            }
            let [upper, lower] = [y >> 5, (y >> 5) + 1].map(|y| source.pixel(x >> 5, y) | source.pixel((x >> 5) + 1, y) << 24);
            *out = bilinear(upper, lower, x, y);
        }
    }
}

/// Mixes four pixels: two side by side in the first six bytes of `upper`, and two in those of `lower`.
///
/// The last five bits of `x` and `y` are the weights of the right and the lower pixels, in 1/32.
#[inline(always)]
fn bilinear(upper: u64, lower: u64, x: i32, y: i32) -> Packed {
    const BOTH: u64 = 0xff00_00ff;
    let (right, down) = ((x & 31) as u64, (y & 31) as u64);
    // Both pixels of a channel lie 24 bits apart. The product adds them up in the upper one's place.
    let across = (32 - right) << 24 | right;
    let channel = |shift: u32| {
        let (upper, lower) = ((upper >> shift) & BOTH, (lower >> shift) & BOTH);
        // The difference may borrow from one pixel to the other; the sum gives it back.
        let mixed = (upper << 5).wrapping_add(lower.wrapping_sub(upper).wrapping_mul(down)).wrapping_mul(across);
        (mixed.wrapping_add(512 << 24) >> 34) & 0xff
    };
    channel(0) | channel(8) << LANE | channel(16) << (2 * LANE)
}

/// Turns or moves a picture: `cv2.warpAffine(source, matrix, size)`, with zeros where the source does not reach.
///
/// `out` has the rows of the result, `width` pixels each.
pub fn warp_affine(source: &Picture<'_>, matrix: &[[f64; 3]; 2], out: &mut [[u8; 3]], width: usize) {
    let warp = Warp::new(matrix, 0..width);
    let mut packed = vec![0; width];
    for (y, out) in out.chunks_exact_mut(width.max(1)).enumerate() {
        warp.row(source, y, &mut packed);
        for (out, packed) in out.iter_mut().zip(&packed) {
            *out = unpack(*packed);
        }
    }
}

/// The resizing along one side of a picture: the two source pixels, and their weights, of each pixel of the result.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resize {
    /// The arguments of the last call: `from`, `to` and `part`, and whether it prepared columns or rows.
    prepared: Option<(usize, usize, std::ops::Range<usize>, bool)>,
    /// The pixels of the source that are read, in ascending order.
    sources: Vec<usize>,
    taps: Vec<Tap>,
}

/// Two pixels, as places in `sources`, and their weights in 1/2048.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tap {
    at: [u32; 2],
    weights: [i16; 2],
}

impl Resize {
    /// Prepares the resizing of rows from `from` to `to` pixels, of which only `part` is wanted.
    pub(crate) fn columns(&mut self, from: usize, to: usize, part: std::ops::Range<usize>) {
        self.prepare((from, to, part, false), |first, weight| match first {
            before if before < 0 => (0, 0.0),
            last if last >= from as i64 - 1 => (from as i64 - 1, 0.0),
            inner => (inner, weight),
        });
    }

    /// Prepares the resizing of columns from `from` to `to` pixels, of which only `part` is wanted.
    ///
    /// OpenCV treats the edges otherwise than along rows: it repeats the outer row, but keeps its weights.
    pub(crate) fn rows(&mut self, from: usize, to: usize, part: std::ops::Range<usize>) {
        self.prepare((from, to, part, true), |first, weight| (first, weight));
    }

    fn prepare(&mut self, what: (usize, usize, std::ops::Range<usize>, bool), edges: impl Fn(i64, f32) -> (i64, f32)) {
        // Samples of one rasterizer need the same again.
        if self.prepared.as_ref() == Some(&what) {
            return;
        }
        self.prepared = Some(what.clone());
        let ((from, to, part, _), Self { sources, taps, .. }) = (what, self);
        sources.clear();
        taps.clear();
        let scale = 1.0 / (to as f64 / from as f64);
        let inside = |pixel: i64| usize::try_from(pixel).unwrap_or(0).min(from.saturating_sub(1));
        for pixel in part {
            let place = ((pixel as f64 + 0.5) * scale - 0.5) as f32;
            let (first, weight) = edges(place.floor() as i64, place - place.floor());
            let weights = [1.0 - weight, weight].map(|weight| (weight * 2048.0).round_ties_even() as i16);
            let second = if weights[1] == 0 { first } else { first + 1 };
            let at = [first, second].map(|pixel| {
                let pixel = inside(pixel);
                // The pixel is new, or one of the last two.
                sources.iter().rposition(|source| *source == pixel).unwrap_or_else(|| {
                    sources.push(pixel);
                    sources.len() - 1
                })
            });
            taps.push(Tap { at: at.map(|place| place as u32), weights });
        }
    }

    /// Returns the pixels of the source that are read, in ascending order.
    pub(crate) fn sources(&self) -> &[usize] {
        &self.sources
    }
}

/// The memory of [`resize_rows`].
#[derive(Clone, Debug, Default)]
pub(crate) struct ResizeScratch {
    packed: Vec<Packed>,
    /// The last two rows of the source, resized: red, green and blue one after the other, in 1/128.
    rows: [Vec<i16>; 2],
    out: Vec<u8>,
}

/// Resizes a picture row by row.
///
/// `read` gets the number of a row of the source, and writes its packed pixels at the places `columns.sources()`; it is called once for
/// each row that is needed, from the first to the last. `write` gets the number of a row of the result and its red, green and blue bytes
/// one after the other.
pub(crate) fn resize_rows(
    columns: &Resize,
    rows: &Resize,
    scratch: &mut ResizeScratch,
    mut read: impl FnMut(usize, &mut [Packed]),
    mut write: impl FnMut(usize, &[u8]),
) {
    let ResizeScratch { packed, rows: resized, out } = scratch;
    let width = columns.taps.len();
    packed.resize(columns.sources.len(), 0);
    resized.iter_mut().for_each(|row| row.resize(3 * width, 0));
    out.resize(3 * width, 0);
    let mut ready = 0;
    for (y, Tap { at, weights }) in rows.taps.iter().enumerate() {
        let at = at.map(|place| place as usize);
        while ready <= at[1] {
            read(rows.sources[ready], packed);
            resize_row(columns, packed, &mut resized[ready % 2]);
            ready += 1;
        }
        let part = |weight: i16, value: i16| ((i32::from(weight) * i32::from(value)) >> 16) as i16;
        for ((upper, lower), out) in resized[at[0] % 2].iter().zip(&resized[at[1] % 2]).zip(out.iter_mut()) {
            *out = ((part(weights[0], *upper) + part(weights[1], *lower) + 2) >> 2) as u8;
        }
        write(y, out);
    }
}

/// Resizes one row, to values in 1/128.
fn resize_row(columns: &Resize, packed: &[Packed], out: &mut [i16]) {
    let (red, rest) = out.split_at_mut(columns.taps.len());
    let (green, blue) = rest.split_at_mut(columns.taps.len());
    for (((Tap { at, weights }, red), green), blue) in columns.taps.iter().zip(red).zip(green).zip(blue) {
        let [left, right] = weights.map(|weight| weight as Packed);
        let sum = packed[at[0] as usize] * left + packed[at[1] as usize] * right;
        let lane = |number: u32| ((sum >> (number * LANE + 4)) & ((1 << (LANE - 4)) - 1)) as i16;
        (*red, *green, *blue) = (lane(0), lane(1), lane(2));
    }
}

/// Resizes a picture: `cv2.resize(source, (width, height), interpolation=INTER_LINEAR)`.
///
/// `out` has the rows of the result, `width` pixels each. Nothing happens if the source or the result is empty.
///
/// ```
/// use tetrys_l5::raster::warp::{Picture, resize};
/// let mut out = [[0; 3]; 3];
/// resize(&Picture::new(&[[0; 3], [90; 3]], 2), &mut out, 3);
/// assert_eq!(out, [[0; 3], [45; 3], [90; 3]]);
/// ```
pub fn resize(source: &Picture<'_>, out: &mut [[u8; 3]], width: usize) {
    let height = out.len().checked_div(width).unwrap_or(0);
    if source.width == 0 || source.height == 0 || height == 0 {
        return;
    }
    let (mut columns, mut rows) = (Resize::default(), Resize::default());
    columns.columns(source.width, width, 0..width);
    rows.rows(source.height, height, 0..height);
    let read = |y: usize, packed: &mut [Packed]| {
        let row = source.row(y);
        for (packed, column) in packed.iter_mut().zip(&columns.sources) {
            *packed = row.get(*column).map_or(0, pack);
        }
    };
    let write = |y: usize, planes: &[u8]| {
        for (x, pixel) in out[y * width..(y + 1) * width].iter_mut().enumerate() {
            *pixel = [planes[x], planes[width + x], planes[2 * width + x]];
        }
    };
    resize_rows(&columns, &rows, &mut ResizeScratch::default(), read, write);
}

/// Packs a pixel.
#[inline(always)]
fn pack(pixel: &[u8; 3]) -> Packed {
    pixel.iter().rev().fold(0, |packed, value| packed << LANE | Packed::from(*value))
}

/// Returns the bytes of a packed pixel.
fn unpack(packed: Packed) -> [u8; 3] {
    [packed as u8, (packed >> LANE) as u8, (packed >> (2 * LANE)) as u8]
}

/// Rounds to the nearest whole number, or to the even one of two.
fn rounded(value: f64) -> i32 {
    value.round_ties_even() as i32
}
