//! Draws the layout: a band for each column group, rows from left to right, a block as high as its bytes per row.

use std::ops::Range;

use super::{
    canvas::{Canvas, Colour, LETTER},
    map::{Block, GroupMap, seams},
    owners::Owners,
};
use crate::text;

/// The legend of the picture.
pub(crate) const LEGEND: &str =
    "left to right: rows; height: bytes per row; shades: alternate chunks; lines through all bands: every group begins a chunk";

const WIDTH: usize = 1200;
const MARGIN: usize = 16;
const BAND: usize = 56;
/// Height in pixels of the name of a group above its band.
const LABEL: usize = 14;

const GROUND: Colour = [18, 20, 26];
const INK: Colour = [205, 208, 214];
const FAINT: Colour = [110, 116, 128];
const LIT: Colour = [255, 214, 64];
/// Colours of the groups in turn, like the pieces of the game.
const PIECES: [Colour; 7] =
    [[0, 168, 180], [60, 110, 220], [220, 130, 40], [70, 170, 70], [160, 80, 200], [210, 70, 80], [150, 150, 60]];

/// The meaning of the colours of blocks.
#[derive(Clone, Copy)]
pub(super) enum Tint<'a> {
    /// The column group of the block.
    Groups,
    /// The column group, with the blocks of a read highlighted; the text describes the read.
    Lit(&'a str),
    /// The owner of the block.
    Owners(&'a Owners),
}

/// Draws the blocks of `maps` in `rows`.
pub(super) fn picture(title: &str, maps: &[GroupMap], rows: &Range<u64>, tint: Tint<'_>) -> Canvas {
    let inner = WIDTH - 2 * MARGIN;
    let top = MARGIN + LETTER + 12;
    let bottom = top + maps.len() * (LABEL + BAND + 8);
    let more = if let Tint::Owners(owners) = tint { owners.entries().len() } else { 1 };
    let mut canvas = Canvas::new(WIDTH, bottom + (2 + more) * (LETTER + 6) + MARGIN, GROUND);
    let most = inner / LETTER;
    canvas.text(MARGIN, MARGIN, &cut(title, most), INK);
    let count = rows.end.saturating_sub(rows.start).max(1);
    let x_of = |row: u64| MARGIN + usize::try_from(u128::from(row - rows.start) * inner as u128 / u128::from(count)).unwrap_or(0);
    for (number, map) in maps.iter().enumerate() {
        let label = top + number * (LABEL + BAND + 8);
        let floor = label + LABEL + BAND;
        let (blocks, bytes) = (map.blocks.len() as u64, map.blocks.iter().map(|block| block.bytes).sum());
        let title_text = format!(
            "{}  {} in {}, {}",
            map.name,
            text::counted(blocks, "block"),
            text::counted(map.chunks, "chunk"),
            text::bytes(bytes)
        );
        canvas.text(MARGIN, label, &cut(&title_text, most), INK);
        canvas.fill(MARGIN, floor, inner, 1, FAINT);
        let a_row = |block: &Block| block.bytes as f64 / (block.rows.end - block.rows.start) as f64;
        let highest = map.blocks.iter().map(a_row).fold(1.0, f64::max);
        let piece = PIECES[number % PIECES.len()];
        // Highlighted blocks last and at least two pixels wide: they may be one row among millions.
        for drawn in [false, true] {
            for block in map.blocks.iter().filter(|block| block.lit == drawn) {
                let (left, right) = (x_of(block.rows.start), x_of(block.rows.end));
                let width = (right - left).max(if drawn { 2 } else { 1 });
                let height = ((a_row(block) / highest * BAND as f64).round() as usize).clamp(2, BAND);
                let colour = match (drawn, tint) {
                    (true, _) => LIT,
                    (false, Tint::Owners(owners)) => shade(owners.colour(map, block), block.chunk, false),
                    (false, tint) => shade(piece, block.chunk, matches!(tint, Tint::Lit(_))),
                };
                // A gap on the right separates blocks that are wide enough.
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
    let line = |number: usize| bottom + (2 + number) * (LETTER + 6);
    match tint {
        Tint::Groups => {}
        Tint::Lit(description) => canvas.text(MARGIN, line(0), &cut(description, most), LIT),
        Tint::Owners(owners) => {
            for (number, entry) in owners.entries().iter().enumerate() {
                canvas.fill(MARGIN, line(number), 2 * LETTER, LETTER, entry.colour);
                canvas.text(MARGIN + 3 * LETTER, line(number), &cut(&entry.describe(), most - 3), INK);
            }
        }
    }
    canvas
}

/// Returns the colour of a block: two shades alternate from chunk to chunk, both darker if other blocks are highlighted.
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

    fn pixels(canvas: &Canvas) -> Vec<u8> {
        let mut png = Vec::new();
        canvas.write(&mut png).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        pixels
    }

    #[test]
    fn blocks_have_the_colour_of_their_owner_and_the_legend_has_it_too() {
        let block = |row: u64, owner| Block { rows: row..row + 1, bytes: 100, chunk: 0, owner, lit: false };
        let names = vec![tetrys::table::ChunkId(tetrys::table::Hash([1; 32]))];
        let map = GroupMap { name: "lidar".to_owned(), blocks: vec![block(0, 0), block(1, 2)], chunks: 1, names };
        let maps = [map];
        let owners = Owners::of(&maps, &["../first".to_owned(), "../second".to_owned()], &Default::default());
        let names: Vec<String> = owners.entries().iter().map(|entry| entry.describe()).collect();
        assert_eq!(names, ["this version alone: 1 block, 100 B", "in ../second: 1 block, 100 B"]);
        let pixels = pixels(&picture("t", &maps, &(0..2), Tint::Owners(&owners)));
        let at = |x: usize, y: usize| &pixels[3 * (y * WIDTH + x)..][..3];
        let floor = MARGIN + LETTER + 12 + LABEL + BAND;
        let found = [at(WIDTH / 4, floor - 9), at(3 * WIDTH / 4, floor - 9)];
        let legend = [0, 1].map(|line| at(MARGIN + 2, floor + 8 + (2 + line) * (LETTER + 6) + 2));
        assert_eq!(found, legend);
        assert_ne!(found[0], found[1]);
    }

    #[test]
    fn lit_blocks_are_bright_and_as_high_as_they_are_wide_in_bytes() {
        let block = |row: u64, bytes, lit| Block { rows: row..row + 1, bytes, chunk: row / 2, owner: 0, lit };
        let blocks = vec![block(0, 50, false), block(1, 100, true), block(2, 100, false), block(3, 100, false)];
        let map = GroupMap { name: "lidar".to_owned(), blocks, chunks: 2, names: Vec::new() };
        let pixels = pixels(&picture("t", &[map], &(0..4), Tint::Lit("row 1")));
        let at = |x: usize, y: usize| &pixels[3 * (y * WIDTH + x)..][..3];
        let floor = MARGIN + LETTER + 12 + LABEL + BAND;
        let middle = |row: usize| MARGIN + (WIDTH - 2 * MARGIN) * (2 * row + 1) / 8;
        assert_eq!(at(middle(1), floor - BAND), LIT);
        assert_eq!(at(middle(0), floor - BAND), GROUND);
        assert_eq!(at(middle(0), floor - BAND / 2), shade(PIECES[0], 0, true));
        assert_eq!(at(middle(3), floor - BAND), shade(PIECES[0], 1, true));
    }
}
