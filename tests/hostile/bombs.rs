//! Decompression bombs: pages that claim more than their bytes can give, frames that expand, and slots that take no bytes.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use tetrys::{
    Preset, Schema, WriteOptions,
    codec::{Chain, NumberType, Step},
};

use super::{
    Seen, Sound, alone, common,
    common::tables::{self, Rng, Taste, block_on, memory},
    sound_of,
    targets::sign_chunk,
};

/// Returns a table of one row whose page is the given one, with this codec chain.
fn one_page(ty: &str, chain: &[u8], page: Vec<u8>) -> (Sound, Vec<(String, Vec<u8>)>) {
    let schema = Schema::builder().index("time", "i64").group("g", [("g.value", ty)]).build().unwrap();
    let mut rng = Rng(1);
    let columns = schema
        .columns()
        .iter()
        .map(|column| (column.name.clone(), tables::column(&mut rng, &column.ty, 1, Taste { nulls: 0, ..Taste::SMALL })));
    let written = RecordBatch::try_from_iter(columns).unwrap();
    let sound = sound_of(schema, WriteOptions::default(), written);
    let seed = 7_u64;
    let mut chunk = Vec::new();
    chunk.extend(b"TETRYSCH");
    chunk.extend([1, 0, 0, 0, 0, 0, 0, 0]);
    chunk.extend(seed.to_le_bytes());
    chunk.extend(1_u32.to_le_bytes());
    chunk.extend((ty.len() as u16).to_le_bytes());
    chunk.extend(ty.as_bytes());
    chunk.extend(chain);
    chunk.resize(chunk.len().next_multiple_of(8) + 8, 0);
    let header = chunk.len();
    chunk[12..16].copy_from_slice(&(header as u32).to_le_bytes());
    chunk.extend([1_u32, 1, page.len() as u32 + 8, 0].map(u32::to_le_bytes).concat());
    chunk.extend([0; 8]);
    chunk.extend(&page);
    chunk.extend([0; 8]);
    let (end, block) = (chunk.len(), chunk.len() - header);
    chunk.extend([block as u32 / 8, 1].map(u32::to_le_bytes).concat());
    chunk.extend([0; 8]);
    chunk.extend([end as u64, 1].map(u64::to_le_bytes).concat());
    chunk.extend(b"TETRYSND");
    sign_chunk(&mut chunk);
    let mut forged = sound.forged.clone();
    let mut row = forged.layout(0)[0].clone();
    (row.seed, row.chains, row.first_offset) = (seed, chain.to_vec(), header as u64);
    row.lengths[..4].copy_from_slice(&(block as u32 / 8).to_le_bytes());
    forged.set_layout(0, &[row]);
    forged.set_chunk(0, 0, chunk);
    let objects = forged.sealed();
    (sound, objects)
}

/// Returns a page without its checksum. `values_len` is a claim that may be false.
fn page(structure: &[u8], stored: &[u8], values_len: u32) -> Vec<u8> {
    let mut page: Vec<u8> = [structure.len() as u32, stored.len() as u32, values_len, 0].map(u32::to_le_bytes).concat();
    page.extend(structure);
    page.resize(page.len().next_multiple_of(8), 0);
    page.extend(stored);
    page.resize(page.len().next_multiple_of(8), 0);
    page
}

/// Returns a structure without nulls, with one length or extent.
fn one(length: u32) -> Vec<u8> {
    [&[0][..], &length.to_le_bytes(), &[0]].concat()
}

#[test]
fn a_page_that_claims_more_than_its_bytes_can_give_is_refused_before_memory_is_taken() {
    let _alone = alone();
    const GIB: u32 = 1 << 30;
    let frame = zstd::bulk::compress(&[0; 100], 3).unwrap();
    let lz4 = lz4::block::compress(&[0; 100], None, false).unwrap();
    let pco = Chain::new([Step::Pco(NumberType::U8, 0)]).unwrap().encode(&[0; 100]).unwrap();
    for (chain, stored, text) in [
        (&[1, 3, 3][..], &frame, "zstd(3): 1073741824 bytes from"),
        (&[1, 2, 0], &lz4, "lz4: 1073741824 bytes from"),
        (&[2, 1, 4, 3, 3], &frame, "zstd(3): 1073741824 bytes from"),
        (&[2, 4, 4, 3, 3], &frame, "zstd(3): 1073741824 bytes from"),
        (&[3, 5, 0x83, 1, 4, 2, 0], &lz4, "lz4: 1073741824 bytes from"),
        (&[1, 6, 0x0a], &pco, "pco: 4096 pieces exceed"),
        (&[2, 5, 0x02, 6, 0x0a], &pco, "pco: 4099 pieces exceed"),
    ] {
        for (ty, structure) in [
            ("binary", one(GIB)),
            ("utf8", one(GIB)),
            ("u8[?]", [one(GIB), vec![0]].concat()),
            ("list<bool>", [one(GIB), vec![0]].concat()),
            ("list<list<u8>>", [one(GIB), one(1), vec![0]].concat()),
            ("list<list<u8>>", [one(GIB), vec![2, 1, 0, 0, 0, 0], vec![2]].concat()),
        ] {
            let (sound, objects) = one_page(ty, chain, page(&structure, stored, GIB));
            let error = sound.refused(ty, &objects);
            assert!(error.contains(text), "{ty}: {error}");
        }
    }
    // A claim that the stored bytes could give is checked against what the frame really gives.
    for claim in [frame.len() as u32 * (32 << 10), 1 << 20, 101] {
        let (sound, objects) = one_page("binary", &[1, 3, 3], page(&one(claim), &frame, claim));
        sound.refused("more than the frame gives", &objects);
    }
    // The frame gives a gibibyte, and the page claims less. The decoder stops at the claim of the page.
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    for _ in 0..1 << 10 {
        std::io::Write::write_all(&mut encoder, &vec![0; 1 << 20]).unwrap();
    }
    let bomb = encoder.finish().unwrap();
    assert!(bomb.len() < 200 << 10, "{}", bomb.len());
    for claim in [bomb.len() as u32 + 1, 1 << 20] {
        let (sound, objects) = one_page("binary", &[1, 3, 3], page(&one(claim), &bomb, claim));
        let error = sound.refused("a gibibyte of zeros", &objects);
        assert!(error.contains("zstd"), "{error}");
    }
    // The size in the header of a frame is a claim that may be false.
    for claimed in [0_u64, 1 << 31, 1 << 53, u64::MAX - 2] {
        let mut lying = vec![0x28, 0xb5, 0x2f, 0xfd, 0b1110_0000];
        lying.extend(claimed.to_le_bytes());
        lying.extend([0b0000_0011, 0, 0x10, 7]);
        let (sound, objects) = one_page("binary", &[1, 3, 3], page(&one(4096), &lying, 4096));
        sound.refused("a frame that lies about its size", &objects);
    }
}

#[test]
fn a_pco_file_that_claims_a_gigabyte_gets_room_for_what_it_gives() {
    let _alone = alone();
    const PIECE: usize = 1 << 18;
    let chain = Chain::new([Step::Pco(NumberType::U64, 0)]).unwrap();
    let mut stored_chain = Vec::new();
    chain.write(&mut stored_chain);
    // Two sound pieces are followed by bytes that are no piece. The page has as many bytes as 500 pieces need at least.
    let mut stored = chain.encode(&vec![7; 2 * 8 * PIECE]).unwrap();
    stored.pop();
    stored.resize(500 * 5 + 100, 0);
    let claim = 500 * 8 * PIECE as u32;
    let (sound, objects) = one_page("binary", &stored_chain, page(&one(claim), &stored, claim));
    let error = sound.refused("500 pieces, of which two are there", &objects);
    assert!(error.contains("pco: 1 numbers of type 0, expected 262144 of type 2"), "{error}");
}

#[test]
fn slots_that_take_no_bytes_are_bounded_in_number_and_counted_quickly() {
    let _alone = alone();
    let zeros = |count: u32| [&[0][..], &count.to_le_bytes(), &[0]].concat();
    for (ty, structure) in [
        ("list<utf8>", [zeros(u32::MAX), zeros(0)].concat()),
        ("list<utf8>", [zeros((1 << 20) + 1), zeros(0)].concat()),
        ("list<f32[?,?,0]>", [zeros(u32::MAX), vec![0], zeros(7)[1..].to_vec(), zeros(7)[1..].to_vec()].concat()),
        ("list<list<list<u8>>>", [zeros(1 << 20), zeros(1 << 20), zeros(1 << 20), vec![0]].concat()),
        (
            "u8[?,?,?]",
            [vec![0], zeros(u32::MAX)[1..].to_vec(), zeros(u32::MAX)[1..].to_vec(), zeros(u32::MAX)[1..].to_vec()].concat(),
        ),
    ] {
        let (sound, objects) = one_page(ty, &[0], page(&structure, &[], 0));
        sound.refused(ty, &objects);
    }
    // 2^20 empty texts, and 2^20 empty tensors: as many as a page may claim without any value bytes.
    for (ty, structure) in [
        ("list<utf8>", [zeros(1 << 20), zeros(0)].concat()),
        ("list<u8[?,?]>", [zeros(1 << 20), vec![0], zeros(0)[1..].to_vec(), zeros(9)[1..].to_vec(), vec![0]].concat()),
    ] {
        let (sound, objects) = one_page(ty, &[0], page(&structure, &[], 0));
        assert_eq!(sound.look(ty, &objects), Seen::Reported, "{ty}");
    }
}

#[test]
fn a_giant_tensor_of_zeros_comes_back() {
    // 500 MB of zeros compress so well that a wrong limit would refuse them as a bomb. 50 MB show the same.
    let bytes = if common::full() { 500_000_000 } else { 50_000_000 };
    let _alone = alone();
    let schema = Schema::builder().index("time", "i64").group("g", [("g.zeros", "u8[?]")]).build().unwrap();
    for preset in [Preset::Fast, Preset::Balanced, Preset::Compact] {
        let data = arrow_array::LargeListArray::new(
            Arc::new(arrow_schema::Field::new("item", arrow_schema::DataType::UInt8, true)),
            arrow_buffer::OffsetBuffer::from_lengths([bytes]),
            Arc::new(arrow_array::UInt8Array::from(vec![0; bytes])),
            None,
        );
        let shape = arrow_array::FixedSizeListArray::new(
            Arc::new(arrow_schema::Field::new("item", arrow_schema::DataType::Int32, true)),
            1,
            Arc::new(arrow_array::Int32Array::from(vec![bytes as i32])),
            None,
        );
        let arrow_schema::DataType::Struct(fields) = schema.columns()[1].ty.arrow() else { panic!("a tensor") };
        let tensor = arrow_array::StructArray::new(fields, vec![Arc::new(data), Arc::new(shape)], None);
        let time: ArrayRef = Arc::new(Int64Array::from(vec![0]));
        let written = RecordBatch::try_from_iter([("time", time), ("g.zeros", Arc::new(tensor))]).unwrap();
        let (_, store) = memory();
        let options = WriteOptions::default().preset(preset);
        let table = block_on(tables::write(store, schema.clone(), options, std::slice::from_ref(&written))).unwrap();
        let row = block_on(table.row_loader().get_rows(0, 0..=0)).unwrap();
        tables::assert_rows(&row, &written, &[Some(0)]);
    }
}
