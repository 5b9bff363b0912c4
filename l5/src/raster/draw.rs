//! Draws anti-aliased polygons and polylines of one pixel width, with the pixels of OpenCV.
//!
//! [`fill_polygons`] is `cv2.fillPoly(.., lineType=LINE_AA, shift=9)` and [`draw_polyline`] is `cv2.polylines(.., lineType=LINE_AA,
//! shift=9)`, bit for bit, as OpenCV 4.5 to 4.10 draws. The algorithm and the three tables are those of OpenCV's
//! `modules/imgproc/src/drawing.cpp` (Apache License 2.0); the code is our own. Any coordinates are allowed: what lies outside of
//! the image is cut off.

/// Bits after the point of the coordinates that this module takes: 512 units are one pixel.
pub const SHIFT: u32 = 9;

/// A point in units of 1/512 pixel.
pub type Point = [i32; 2];

/// Bits after the point while drawing.
const FRACTION: u32 = 16;
const ONE: i64 = 1 << FRACTION;

/// How much a line gets by its slope, from flat to 45 degrees: OpenCV's `SlopeCorrTable`, and 256 at the end.
const SLOPE_WEIGHTS: [u32; 33] = [
    181, 181, 181, 182, 182, 183, 184, 185, 187, 188, 190, 192, 194, 196, 198, 201, 203, 206, 209, 211, 214, 218, 221, 224, 227,
    231, 235, 238, 242, 246, 250, 254, 256,
];

/// How much a pixel gets by its distance from the line, in 1/32 pixel: OpenCV's `FilterTable`.
const DISTANCE_WEIGHTS: [u32; 64] = [
    168, 177, 185, 194, 202, 210, 218, 224, 231, 236, 241, 246, 249, 252, 254, 254, 254, 254, 252, 249, 246, 241, 236, 231, 224,
    218, 210, 202, 194, 185, 177, 168, 158, 149, 140, 131, 122, 114, 105, 97, 89, 82, 75, 68, 62, 56, 50, 45, 40, 36, 32, 28, 25,
    22, 19, 16, 14, 12, 11, 9, 8, 7, 5, 5,
];

/// An image of `C` bytes per pixel (1 to 3), row by row.
pub struct Canvas<'a, const C: usize> {
    pixels: &'a mut [[u8; C]],
    width: usize,
    height: usize,
}

impl<'a, const C: usize> Canvas<'a, C> {
    /// Wraps pixels, row by row. Rows beyond the last whole one are not drawn to.
    pub fn new(pixels: &'a mut [[u8; C]], width: usize) -> Self {
        let height = pixels.len().checked_div(width).unwrap_or(0);
        Self { pixels, width, height }
    }
}

/// The memory that [`fill_polygons`] works in. It is kept between calls, so that they need not allocate.
#[derive(Clone, Debug, Default)]
pub struct Edges {
    all: Vec<Edge>,
    active: Vec<Edge>,
}

/// An edge of a polygon on its way down: `x` (16.16) is its place in the row that is being filled.
#[derive(Clone, Copy, Debug)]
struct Edge {
    first_row: i64,
    end_row: i64,
    x: i64,
    step: i64,
}

/// Fills polygons with a colour, all at once: where two of them overlap there is a hole (the even-odd rule).
///
/// A polygon is a closed line through its points.
///
/// ```
/// use tetrys_l5::raster::draw::{Canvas, Edges, fill_polygons};
/// let mut pixels = [[0]; 16];
/// let square: &[[i32; 2]] = &[[512, 512], [512, 1024], [1024, 1024], [1024, 512]];
/// fill_polygons(&mut Canvas::new(&mut pixels, 4), [square], [255], &mut Edges::default());
/// assert_eq!(pixels.as_flattened()[4..8], [25, 255, 255, 31]);
/// ```
pub fn fill_polygons<'p, const C: usize>(
    canvas: &mut Canvas<'_, C>,
    polygons: impl IntoIterator<Item = &'p [Point]>,
    color: [u8; C],
    edges: &mut Edges,
) {
    if canvas.height == 0 {
        return;
    }
    edges.all.clear();
    for polygon in polygons {
        let Some(last) = polygon.last() else { continue };
        let mut from = polygon_point(*last);
        for point in polygon {
            let to = polygon_point(*point);
            draw_line(canvas, [from[0], from[1] << FRACTION], [to[0], to[1] << FRACTION], color);
            add_edge(&mut edges.all, from, to, canvas.height as i64);
            from = to;
        }
    }
    fill_between(canvas, edges, color);
}

/// Draws a line of one pixel width through points, and back to the first if `closed`.
///
/// ```
/// use tetrys_l5::raster::draw::{Canvas, draw_polyline};
/// let mut pixels = [[0, 0, 0]; 25];
/// draw_polyline(&mut Canvas::new(&mut pixels, 5), &[[0, 1024], [2048, 1024]], false, [255, 0, 9]);
/// assert_eq!(pixels[12], [232, 0, 8]);
/// ```
pub fn draw_polyline<const C: usize>(canvas: &mut Canvas<'_, C>, points: &[Point], closed: bool, color: [u8; C]) {
    let fine = |point: &Point| point.map(|value| i64::from(value) << (FRACTION - SHIFT));
    let mut lines = points.iter().map(fine);
    let Some(mut from) = (if closed { points.last().map(fine) } else { lines.next() }) else { return };
    for to in lines {
        draw_line(canvas, from, to, color);
        from = to;
    }
}

/// Returns a corner of a polygon: x in 16.16, y rounded to a row.
fn polygon_point([x, y]: Point) -> [i64; 2] {
    [i64::from(x) << (FRACTION - SHIFT), (i64::from(y) + (1 << SHIFT >> 1)) >> SHIFT]
}

/// Adds the rows of an edge that lie in the image.
fn add_edge(edges: &mut Vec<Edge>, from: [i64; 2], to: [i64; 2], height: i64) {
    let (upper, lower) = if from[1] < to[1] { (from, to) } else { (to, from) };
    if upper[1] == lower[1] || lower[1] <= 0 || upper[1] >= height {
        return;
    }
    let step = divide(to[0] - from[0], to[1] - from[1]);
    let hidden = (-upper[1]).max(0);
    edges.push(Edge { first_row: upper[1] + hidden, end_row: lower[1], x: upper[0] + hidden * step, step });
}

/// Fills each row between its first and second edge, third and fourth, and so on.
fn fill_between<const C: usize>(canvas: &mut Canvas<'_, C>, edges: &mut Edges, color: [u8; C]) {
    let Edges { all, active } = edges;
    all.sort_unstable_by_key(|edge| edge.first_row);
    active.clear();
    let mut coming = all.iter().peekable();
    let mut y = 0;
    loop {
        if active.is_empty() {
            match coming.peek() {
                Some(edge) => y = edge.first_row,
                None => return,
            }
        }
        while let Some(edge) = coming.next_if(|edge| edge.first_row == y) {
            active.push(*edge);
        }
        sort_by_place(active);
        let (Ok(from), width) = (usize::try_from(y), canvas.width) else { return };
        let Some(row) = canvas.pixels.get_mut(from * width..(from + 1) * width) else { return };
        for pair in active.as_chunks_mut::<2>().0 {
            let [left, right] = pair;
            let (first, last) = ((left.x + ONE - 1) >> FRACTION, right.x >> FRACTION);
            if first < width as i64 && last >= 0 {
                let (first, end) = (first.max(0) as usize, (last + 1).min(width as i64) as usize);
                if let Some(span) = row.get_mut(first..end) {
                    span.fill(color);
                }
            }
            left.x += left.step;
            right.x += right.step;
        }
        y += 1;
        active.retain(|edge| edge.end_row > y);
    }
}

/// Sorts edges by their place in the row. There are few, and they are nearly in order.
fn sort_by_place(edges: &mut [Edge]) {
    for sorted in 1..edges.len() {
        let mut to = sorted;
        while to > 0 && edges[to].x < edges[to - 1].x {
            edges.swap(to, to - 1);
            to -= 1;
        }
    }
}

/// Divides towards zero, as integers do. Floats are faster where they are exact: a quotient below 2^31 of a divisor below 2^20 differs
/// from the next whole number by more than the rounding does, and so does a quotient of up to 2^16 by any divisor below 2^36.
fn divide(dividend: i64, divisor: i64) -> i64 {
    if dividend.unsigned_abs() < 1 << 31 && divisor.unsigned_abs() < 1 << 20 {
        (dividend as f64 / divisor as f64) as i64
    } else {
        dividend / divisor
    }
}

/// Cuts a line (16.16) to the image. Returns whether some of it is left.
fn clip(width: i64, height: i64, p: &mut [i64; 2], q: &mut [i64; 2]) -> bool {
    let (right, bottom) = ((width << FRACTION) - 1, (height << FRACTION) - 1);
    let beside = |x: i64| u8::from(x < 0) + 2 * u8::from(x > right);
    let above = |y: i64| 4 * u8::from(y < 0) + 8 * u8::from(y > bottom);
    let (mut side_p, mut side_q) = (beside(p[0]) + above(p[1]), beside(q[0]) + above(q[1]));
    if side_p | side_q == 0 {
        return true;
    }
    if side_p & side_q != 0 {
        return false;
    }
    // OpenCV divides as floats and cuts off: `along` moves by the part of `span` that `distance` is of `whole`.
    let along = |distance: i64, span: i64, whole: i64| (distance as f64 * span as f64 / whole as f64) as i64;
    if side_p & 12 != 0 {
        let edge = if side_p < 8 { 0 } else { bottom };
        p[0] += along(edge - p[1], q[0] - p[0], q[1] - p[1]);
        p[1] = edge;
        side_p = beside(p[0]);
    }
    if side_q & 12 != 0 {
        let edge = if side_q < 8 { 0 } else { bottom };
        q[0] += along(edge - q[1], q[0] - p[0], q[1] - p[1]);
        q[1] = edge;
        side_q = beside(q[0]);
    }
    if side_p & side_q != 0 {
        return false;
    }
    if side_p != 0 {
        let edge = if side_p == 1 { 0 } else { right };
        p[1] += along(edge - p[0], q[1] - p[1], q[0] - p[0]);
        p[0] = edge;
    }
    if side_q != 0 {
        let edge = if side_q == 1 { 0 } else { right };
        q[1] += along(edge - q[0], q[1] - p[1], q[0] - p[0]);
        q[0] = edge;
    }
    true
}

/// Draws a line between two points (16.16), three pixels wide with weights.
fn draw_line<const C: usize>(canvas: &mut Canvas<'_, C>, mut p: [i64; 2], mut q: [i64; 2], color: [u8; C]) {
    if canvas.height == 0 || !clip(canvas.width as i64, canvas.height as i64, &mut p, &mut q) {
        return;
    }
    // The line takes one step per pixel along the axis on which it is longer.
    if (q[0] - p[0]).abs() > (q[1] - p[1]).abs() {
        step_along::<C, 0>(canvas, p, q, color);
    } else {
        step_along::<C, 1>(canvas, p, q, color);
    }
}

/// Draws a line that is longer along `AXIS` (0 is x), one pixel along that axis after the other.
fn step_along<const C: usize, const AXIS: usize>(canvas: &mut Canvas<'_, C>, p: [i64; 2], q: [i64; 2], color: [u8; C]) {
    let (p, q) = if q[AXIS] < p[AXIS] { (q, p) } else { (p, q) };
    let step = divide_line((q[1 - AXIS] - p[1 - AXIS]) << FRACTION, (q[AXIS] - p[AXIS]) | 1);
    let end = q[AXIS] + ONE;
    let first = p[AXIS] >> FRACTION;
    let last = (end >> FRACTION) - first;
    let across = p[1 - AXIS] + ((step * -(p[AXIS] & (ONE - 1))) >> FRACTION) + (ONE >> 1);

    let (along_size, across_size) = if AXIS == 0 { (canvas.width, canvas.height) } else { (canvas.height, canvas.width) };
    // The line is cut to the image, but for one step after its last pixel, and one before its first if rounding lost a bit.
    let drawn = (-first).max(0)..last.min(along_size as i64 - 1 - first) + 1;
    let lows = [drawn.start, drawn.end - 1].map(|at| ((across + step * at) >> FRACTION) - 1);
    let mut stroke = Stroke::<C, AXIS> {
        width: canvas.width,
        pixels: canvas.pixels,
        color: Lanes::from(color),
        first,
        across,
        step,
        across_size: across_size as i64,
        inside: lows.iter().all(|low| *low >= 0 && low + 2 < across_size as i64),
    };
    let slope = slope_of(step);
    let weights = end_weights(SLOPE_WEIGHTS[slope], p[AXIS], end);
    let near_end = |at: i64, distance| alphas(weights[(at.min(2) * 3 + (last - at).min(2)) as usize], distance);
    let (from, to) = (drawn.start.max(2).min(drawn.end), (last - 1).min(drawn.end));
    stroke.draw(drawn.start..from, near_end);
    stroke.draw(from..to, |_, distance| ALPHAS[slope][distance]);
    stroke.draw(from.max(to)..drawn.end, near_end);
}

/// A line on its way through an image, one pixel along `AXIS` per step.
struct Stroke<'a, const C: usize, const AXIS: usize> {
    pixels: &'a mut [[u8; C]],
    width: usize,
    color: Lanes<C>,
    /// The first pixel along the line.
    first: i64,
    /// The place across the line at step 0 (16.16), and how it changes per step.
    across: i64,
    step: i64,
    /// The number of pixels of the image across the line.
    across_size: i64,
    /// Whether all steps stay in the image with all three pixels.
    inside: bool,
}

impl<const C: usize, const AXIS: usize> Stroke<'_, C, AXIS> {
    /// Draws some steps. `alphas_at` gets a step and the distance from the middle of the pixels, in 1/32 pixel.
    #[inline(always)]
    fn draw(&mut self, steps: std::ops::Range<i64>, alphas_at: impl Fn(i64, usize) -> [u8; 3]) {
        let (along_stride, across_stride) = if AXIS == 0 { (1, self.width) } else { (self.width, 1) };
        let mut across = self.across + self.step * steps.start;
        let mut base = (self.first + steps.start) as usize * along_stride;
        for at in steps {
            let alphas = alphas_at(at, (across >> (FRACTION - 5)) as usize & 31);
            let low = (across >> FRACTION) - 1;
            if self.inside {
                let start = base + low as usize * across_stride;
                for (number, alpha) in alphas.into_iter().enumerate() {
                    if let Some(pixel) = self.pixels.get_mut(start + number * across_stride) {
                        self.color.blend(pixel, alpha);
                    }
                }
            } else {
                for (place, alpha) in (low..).zip(alphas) {
                    if (0..self.across_size).contains(&place)
                        && let Some(pixel) = self.pixels.get_mut(base + place as usize * across_stride)
                    {
                        self.color.blend(pixel, alpha);
                    }
                }
            }
            across += self.step;
            base += along_stride;
        }
    }
}

/// Divides towards zero. The quotient is at most 2^16 and the divisor below 2^36, so floats are exact; see [`divide`].
fn divide_line(dividend: i64, divisor: i64) -> i64 {
    (dividend as f64 / divisor as f64) as i64
}

/// Returns the place of a slope (16.16) in [`SLOPE_WEIGHTS`].
fn slope_of(step: i64) -> usize {
    let slope = (step >> (FRACTION - 5)) as usize & 0x3f;
    (if step < 0 { slope ^ 0x3f } else { slope }).min(32)
}

/// Returns the weights of the pixels of a line: by 3 * (steps from the start, up to 2) + (steps to the end, up to 2).
///
/// `full` is the weight of the slope; `start` and `end` are the places of both ends along the line (16.16).
fn end_weights(full: u32, start: i64, end: i64) -> [u32; 9] {
    let [i, j] = [start, end].map(|place| (place >> (FRACTION - 7)) as i32 & 0x78);
    let part = |share: i32| ((share as u32 * full) >> 8) & 0x1ff;
    let short = part(((j - i) & 0x78) | 4);
    let longer = part(((j - i) + 0x80) | 4);
    let (from_start, to_end) = ((0x78 - i) | 4, j | 4);
    [0, short, part(from_start), short, longer, part(from_start + 128), part(to_end), part(to_end + 128), full]
}

/// Returns by how much three pixels across a line move towards its colour, in 1/256.
const fn alphas(weight: u32, distance: usize) -> [u8; 3] {
    [
        ((weight * DISTANCE_WEIGHTS[distance + 32]) >> 8) as u8,
        ((weight * DISTANCE_WEIGHTS[distance]) >> 8) as u8,
        ((weight * DISTANCE_WEIGHTS[63 - distance]) >> 8) as u8,
    ]
}

/// The [`alphas`] of each slope and distance, away from the ends of a line.
const ALPHAS: [[[u8; 3]; 32]; 33] = {
    let mut table = [[[0; 3]; 32]; 33];
    let mut slope = 0;
    while slope < 33 {
        let mut distance = 0;
        while distance < 32 {
            table[slope][distance] = alphas(SLOPE_WEIGHTS[slope], distance);
            distance += 1;
        }
        slope += 1;
    }
    table
};

/// A colour with 16 bits for each byte, so that one product or sum works on all of them.
#[derive(Clone, Copy)]
struct Lanes<const C: usize>(u64);

impl<const C: usize> Lanes<C> {
    /// The lowest byte of each lane.
    const BYTES: u64 = Self::all(255);

    const fn all(byte: u64) -> u64 {
        match C {
            1 => byte,
            2 => byte * 0x1_0001,
            _ => byte * 0x1_0001_0001,
        }
    }

    fn from(bytes: [u8; C]) -> Self {
        Self(bytes.iter().rev().fold(0, |lanes, byte| lanes << 16 | u64::from(*byte)))
    }

    /// Moves a pixel towards this colour, twice, by `alpha` of 256.
    ///
    /// OpenCV's `v += ((c - v) * a + 127) >> 8` is `(v * (256 - a) + c * a + 127) >> 8`, which needs no sign and fits into 16 bits.
    #[inline(always)]
    fn blend(self, pixel: &mut [u8; C], alpha: u8) {
        let alpha = u64::from(alpha);
        let (kept, added) = (256 - alpha, self.0 * alpha + Self::all(127));
        let mut mixed = Self::from(*pixel).0;
        mixed = ((mixed * kept + added) >> 8) & Self::BYTES;
        mixed = ((mixed * kept + added) >> 8) & Self::BYTES;
        for (lane, value) in pixel.iter_mut().enumerate() {
            *value = (mixed >> (16 * lane)) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_is_that_of_integers() {
        let mut state = 1u64;
        for _ in 0..200_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let dividend = (state >> 20) as i64 - (1 << 43);
            let divisor = ((state >> 3) % 100_000) as i64 + 1;
            for (dividend, divisor) in [(dividend >> 12, divisor), (dividend, -divisor), ((divisor * 77) << 4, divisor)] {
                assert_eq!(divide(dividend, divisor), dividend / divisor, "{dividend} / {divisor}");
            }
            let length = (state >> 33) as i64 | 1;
            let span = (state >> 13) as i64 % length;
            assert_eq!(divide_line(span << FRACTION, length), (span << FRACTION) / length, "{span} {length}");
        }
    }

    #[test]
    fn extreme_points_and_empty_images_draw_without_overflow() {
        let extremes = [i32::MIN, -1, 0, 600, i32::MAX];
        let points: Vec<Point> = extremes.iter().flat_map(|x| extremes.map(|y| [*x, y])).collect();
        let mut edges = Edges::default();
        for (width, len) in [(0, 0), (1, 1), (3, 9), (20, 200), (20, 7)] {
            let mut pixels = vec![[0u8; 3]; len];
            let mut canvas = Canvas::new(&mut pixels, width);
            for three in points.windows(3) {
                fill_polygons(&mut canvas, [three, &[], &three[..1]], [255, 1, 2], &mut edges);
                draw_polyline(&mut canvas, three, true, [255, 1, 2]);
            }
            draw_polyline(&mut canvas, &[], true, [255, 1, 2]);
        }
    }
}
