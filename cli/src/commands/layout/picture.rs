//! The picture: a band for each column group, rows from left to right, a block as high as it has bytes a row.

use std::ops::Range;

use super::{
    canvas::{Canvas, Colour, LETTER},
    map::{Block, GroupMap, seams},
};
use crate::text;

/// What the picture shows, in words.
pub(crate) const LEGEND: &str =
    "left to right: rows; height: bytes a row; shades: chunks by turns; lines through all bands: where all groups begin a chunk";

const WIDTH: usize = 1200;
const MARGIN: usize = 16;
const BAND: usize = 56;
/// A group's name above its band.
const LABEL: usize = 14;

const GROUND: Colour = [18, 20, 26];
const INK: Colour = [205, 208, 214];
const FAINT: Colour = [110, 116, 128];
const LIT: Colour = [255, 214, 64];
/// One for each group by turns, like the pieces of the game.
const PIECES: [Colour; 7] =
    [[0, 168, 180], [60, 110, 220], [220, 130, 40], [70, 170, 70], [160, 80, 200], [210, 70, 80], [150, 150, 60]];

/// Draws the blocks of `maps` in `rows`; `lit` says what is lit.
pub(super) fn picture(title: &str, maps: &[GroupMap], rows: &Range<u64>, lit: Option<&str>) -> Canvas {
    let inner = WIDTH - 2 * MARGIN;
    let top = MARGIN + LETTER + 12;
    let bottom = top + maps.len() * (LABEL + BAND + 8);
    let mut canvas = Canvas::new(WIDTH, bottom + 3 * (LETTER + 6) + MARGIN, GROUND);
    let most = inner / LETTER;
    canvas.text(MARGIN, MARGIN, &cut(title, most), INK);
    let count = rows.end.saturating_sub(rows.start).max(1);
    let x_of = |row: u64| MARGIN + usize::try_from(u128::from(row - rows.start) * inner as u128 / u128::from(count)).unwrap_or(0);
    for (number, map) in maps.iter().enumerate() {
        let label = top + number * (LABEL + BAND + 8);
        let floor = label + LABEL + BAND;
        let (blocks, bytes) = (map.blocks.len() as u64, map.blocks.iter().map(|block| block.bytes).sum());
        let said = format!(
            "{}  {} in {}, {}",
            map.name,
            text::counted(blocks, "block"),
            text::counted(map.chunks, "chunk"),
            text::bytes(bytes)
        );
        canvas.text(MARGIN, label, &cut(&said, most), INK);
        canvas.fill(MARGIN, floor, inner, 1, FAINT);
        let a_row = |block: &Block| block.bytes as f64 / (block.rows.end - block.rows.start) as f64;
        let highest = map.blocks.iter().map(a_row).fold(1.0, f64::max);
        let piece = PIECES[number % PIECES.len()];
        // Lit ones last and at least two pixels wide: they may be one row among millions.
        for drawn in [false, true] {
            for block in map.blocks.iter().filter(|block| block.lit == drawn) {
                let (left, right) = (x_of(block.rows.start), x_of(block.rows.end));
                let width = (right - left).max(if drawn { 2 } else { 1 });
                let height = ((a_row(block) / highest * BAND as f64).round() as usize).clamp(2, BAND);
                let colour = match (drawn, lit.is_some()) {
                    (true, _) => LIT,
                    (false, dimmed) => shade(piece, block.chunk, dimmed),
                };
                // A gap on the right parts blocks that are wide enough to have one.
                let gap = usize::from(width >= 4);
                canvas.fill(left, floor - height, width - gap, height, colour);
            }
        }
    }
    for row in seams(maps) {
        canvas.fill(x_of(row).saturating_sub(1), top + LABEL, 1, bottom - top - LABEL, FAINT);
    }
    let (first, last) = (text::count(rows.start), text::count(rows.end));
    canvas.text(MARGIN, bottom, &first, FAINT);
    canvas.text((MARGIN + inner).saturating_sub(last.len() * LETTER), bottom, &last, FAINT);
    canvas.text(MARGIN, bottom + LETTER + 6, &cut(LEGEND, most), FAINT);
    if let Some(lit) = lit {
        canvas.text(MARGIN, bottom + 2 * (LETTER + 6), &cut(lit, most), LIT);
    }
    canvas
}

/// A group's colour in its chunks, by turns; darker where something else is to be seen.
fn shade(piece: Colour, chunk: u64, dimmed: bool) -> Colour {
    let strength = match (chunk % 2, dimmed) {
        (0, false) => 100,
        (_, false) => 68,
        (0, true) => 52,
        (_, true) => 34,
    };
    piece.map(|part| u8::try_from(u32::from(part) * strength / 100).unwrap_or(u8::MAX))
}

fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lit_blocks_are_bright_and_as_high_as_they_are_wide_in_bytes() {
        let block = |row: u64, bytes, lit| Block { rows: row..row + 1, bytes, chunk: row / 2, lit };
        let blocks = vec![block(0, 50, false), block(1, 100, true), block(2, 100, false), block(3, 100, false)];
        let map = GroupMap { name: "lidar".to_owned(), blocks, chunks: 2, names: Vec::new() };
        let canvas = picture("t", &[map], &(0..4), Some("row 1"));
        let mut png = Vec::new();
        canvas.write(&mut png).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        let at = |x: usize, y: usize| &pixels[3 * (y * WIDTH + x)..][..3];
        let floor = MARGIN + LETTER + 12 + LABEL + BAND;
        let middle = |row: usize| MARGIN + (WIDTH - 2 * MARGIN) * (2 * row + 1) / 8;
        assert_eq!(at(middle(1), floor - BAND), LIT);
        assert_eq!(at(middle(0), floor - BAND), GROUND);
        assert_eq!(at(middle(0), floor - BAND / 2), shade(PIECES[0], 0, true));
        assert_eq!(at(middle(3), floor - BAND), shade(PIECES[0], 1, true));
    }
}
