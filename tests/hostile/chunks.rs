//! Hostile chunks: every number in headers, directories, pages and trailers gets extreme values, under valid checksums.

use tetrys::{
    Preset,
    format::{BlockDirectory, ChunkDirectory, ChunkHeader},
};

use super::{Tally, Turns, alone, common, edges, sound, targets::sign_chunk};

/// Returns the numbers of a chunk: a description, the offset, and the length in bytes.
fn numbers_of(chunk: &[u8]) -> Vec<(String, usize, usize)> {
    let header = ChunkHeader::parse(chunk).unwrap();
    let directory = ChunkDirectory::parse(chunk, &header).unwrap();
    let u32_at = |at: usize| u32::from_le_bytes(chunk[at..at + 4].try_into().unwrap()) as usize;
    let mut found: Vec<(String, usize, usize)> =
        [("version", 8, 2), ("reserved", 10, 2), ("header_len", 12, 4), ("seed", 16, 8), ("columns", 24, 4)]
            .map(|(name, at, width)| (name.to_owned(), at, width))
            .to_vec();
    let mut at = 28;
    for (column, (ty, _)) in header.columns.iter().enumerate() {
        found.push((format!("type length of column {column}"), at, 2));
        at += 2 + ty.to_string().len();
        let steps = usize::from(chunk[at]);
        found.push((format!("steps of column {column}"), at, 1));
        for step in 0..steps {
            found.push((format!("codec of step {step} of column {column}"), at + 1 + 2 * step, 1));
            found.push((format!("parameter of step {step} of column {column}"), at + 2 + 2 * step, 1));
        }
        at += 1 + 2 * steps;
    }
    let trailer = chunk.len() - 24;
    found.extend([
        ("directory offset".to_owned(), trailer, 8),
        ("blocks".to_owned(), trailer + 8, 8),
        ("end magic".to_owned(), trailer + 16, 8),
    ]);
    let (offset, count) = (u32_at(trailer), directory.blocks.len());
    for number in [0, count - 1] {
        found.push((format!("length of block {number}"), offset + 4 * number, 4));
        found.push((format!("rows of block {number}"), offset + 4 * (count + number), 4));
        let (place, _) = &directory.blocks[number];
        let block = bytes::Bytes::copy_from_slice(&chunk[place.clone()]);
        let pages = BlockDirectory::parse(&block, header.seed, number as u32, header.columns.len()).unwrap().pages;
        found.push((format!("rows in block {number}"), place.start, 4));
        found.push((format!("pages of block {number}"), place.start + 4, 4));
        for (page, range) in pages.iter().enumerate() {
            let name = format!("page {page} of block {number}");
            found.push((format!("length of {name}"), place.start + 8 + 4 * page, 4));
            let start = place.start + range.start;
            for (what, at, width) in [
                ("structure_len", 0, 4),
                ("values_stored_len", 4, 4),
                ("values_len", 8, 4),
                ("flags", 12, 1),
                ("reserved", 13, 1),
            ] {
                found.push((format!("{what} of {name}"), start + at, width));
            }
            // Validity kinds, bases, widths and bits: every byte of the structure, and every four bytes.
            let structure = u32_at(start);
            for at in 0..structure {
                found.push((format!("byte {at} of the structure of {name}"), start + 16 + at, 1));
                if at + 4 <= structure {
                    found.push((format!("bytes {at}.. of the structure of {name}"), start + 16 + at, 4));
                }
            }
            let values = start + 16 + structure.next_multiple_of(8);
            found.extend((0..u32_at(start + 4).min(12)).map(|at| (format!("byte {at} of the values of {name}"), values + at, 1)));
        }
    }
    found
}

#[test]
fn every_number_of_a_chunk_at_every_edge_harms_nobody() {
    let _alone = alone();
    let (mut cases, mut turns) = (0, Turns::new(16));
    for preset in [Preset::Balanced, Preset::Fast, Preset::Compact] {
        let sound = sound(preset);
        let (mut tally, mut fields) = (Tally::default(), 0);
        for group in 0..3 {
            let run = 0;
            let chunk = sound.forged.chunk(&sound.forged.layout(group)[run]);
            for (name, at, width) in numbers_of(&chunk) {
                fields += 1;
                for value in edges(width) {
                    if width == 1 && !common::full() && ![0, 1, 2, 3, 4, 32, 127, 128, 255].contains(&value) {
                        continue;
                    }
                    if !turns.take() {
                        continue;
                    }
                    let mut bytes = chunk.clone();
                    bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
                    sign_chunk(&mut bytes);
                    let mut forged = sound.forged.clone();
                    forged.set_chunk(group, run, bytes);
                    tally.add(&sound.look(&format!("{preset}, chunk of group {group}: {name} = {value}"), &forged.sealed()));
                }
            }
        }
        println!("{preset}: {fields} numbers in chunks: {tally:?}");
        cases += tally.refused + tally.harmless + tally.reported;
    }
    assert!(cases > turns.of(4_000), "{cases}");
}
