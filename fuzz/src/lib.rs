//! The fuzz targets: each parses its input. If that succeeds, it uses the value, writes it, and compares the result.
//!
//! `tests/format/fuzz_corpus.rs` includes this file and replays the committed corpus through the same functions, without a
//! fuzzer. The targets compute checksums and hashes anew before they parse, because a fuzzer cannot guess them and would never
//! get past them. A target panics if the library breaks a promise, and returns on an error of the right kind.

#![allow(missing_docs, unreachable_pub, reason = "a test crate")]

use arrow_array::{Array, RecordBatch};
use bytes::Bytes;
use std::{ops::Range, sync::Arc};
use tetrys::{
    ColumnType, Error, ErrorKind, Offsets, Preset, Schema,
    codec::Chain,
    format::{
        BlockDirectory, Bound, CanonicalPage, ChunkDirectory, ChunkHeader, ChunkSeed, ChunkWriter, DecodedPage, EncodedBlock,
        EncodedPage, HashesWriter, IndexTail, IndexWriter, LayoutRun, LayoutWriter, Manifest, PackedLengths, PagePlace, Pin,
        TRAILER_LEN, decode_page, directory_len, encode_page, index_arrow_schema, index_reader, logical_block_hash, page_range,
        read_hashes, read_join, read_layout, read_lists, read_sequences, write_join,
    },
    id::{Hash, Salt},
    read::Layout,
    schema::ColumnPattern,
};
use tetrys_l5::{
    Sampler, Scene, VectorPlace, VectorSampler,
    map::{Interpolation, MapApi},
    raster::{AerialMap, BoxRasterizer, Rasterizer, RenderContext},
    reading::{Arrays, FrameTable},
    sampling::{Kind, SampleSettings, SampleShape},
    vectorized::{AgentOrder, LaneSettings, Settings, Vectorizer},
    zarr::array::ArrayMeta,
    zarr::blosc::{self, Decoder},
};
use twox_hash::XxHash3_64;

pub mod logs;
pub mod petastorm;

/// A target and its name. Its corpus folder has the same name.
type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 25] = [
    ("manifest", manifest),
    ("index", index),
    ("tail", tail),
    ("layout", layout),
    ("hashes", hashes),
    ("join", join),
    ("pin", pin),
    ("chunk", chunk),
    ("block", block),
    ("codec", codec),
    ("text", text),
    ("blosc", blosc),
    ("zarray", zarray),
    ("semantic_map", semantic_map),
    ("l5_config", l5_config),
    ("petastorm_pickle", petastorm::pickle),
    ("petastorm_footer", petastorm::footer),
    ("mcap", logs::file),
    ("ros_bag", logs::ros_bag),
    ("ros_idl", logs::idl),
    ("ros_definition", logs::definition),
    ("ros_message", logs::message),
    ("point_cloud", logs::points),
    ("sqlite_bag", logs::sqlite_bag),
    ("bag_folder", logs::bag_folder),
];

/// Checks that an error blames the bytes (`Corrupt`) or the build (`Unsupported`), not the caller or the library.
#[track_caller]
fn about_bytes(error: &Error) {
    assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported), "{:?}: {error}", error.kind());
}

/// Returns the value; checks the kind of an error.
#[track_caller]
fn sound<T>(result: Result<T, Error>) -> Option<T> {
    result.inspect_err(|error| about_bytes(error)).ok()
}

/// Splits off the first byte.
fn byte(data: &[u8]) -> Option<(u8, &[u8])> {
    data.split_first().map(|(first, rest)| (*first, rest))
}

fn u16_of(data: &[u8]) -> Option<(u16, &[u8])> {
    data.split_first_chunk().map(|(first, rest)| (u16::from_le_bytes(*first), rest))
}

fn u32_of(data: &[u8]) -> Option<(u32, &[u8])> {
    data.split_first_chunk().map(|(first, rest)| (u32::from_le_bytes(*first), rest))
}

// --------------------------------------------------------------------------------------------------------------- manifest

/// Parses a manifest. Input: one byte (its lowest bit selects version 1 or 2), then the JSON without its tail, which is added.
pub fn manifest(data: &[u8]) {
    let Some((version, body)) = byte(data) else { return };
    let version = 1 + u64::from(version & 1);
    let Some((manifest, _)) = sound(Manifest::parse(&with_tail(body), version)) else { return };
    let (bytes, hash) = manifest.to_bytes().expect("what was parsed can be written");
    let (again, same) = Manifest::parse(&bytes, version).expect("what was written can be parsed");
    assert_eq!((again, same), (manifest, hash));
}

/// Adds the tail with the hash to the body of a manifest.
pub fn with_tail(body: &[u8]) -> Vec<u8> {
    [body, format!(",\"blake3\":\"{}\"}}\n", Hash::of(body)).as_bytes()].concat()
}

// --------------------------------------------------------------------------------------------------------------- segments

/// Schemas of the fuzzed index segments.
pub fn index_schemas() -> Vec<Schema> {
    let build = |columns: &[(&str, &str)]| {
        let builder = columns.iter().fold(Schema::builder(), |builder, (name, ty)| builder.index(*name, ty));
        builder.build().expect("a schema")
    };
    vec![
        build(&[("log", "utf8"), ("time", "i64"), ("weight", "f64")]),
        build(&[("a", "bool"), ("b", "i8"), ("c", "u16"), ("d", "u32"), ("e", "u64"), ("f", "f32")]),
        build(&[("at", "timestamp[ns]"), ("zoned", "timestamp[s,UTC]"), ("day", "date"), ("took", "duration[us]")]),
    ]
}

#[allow(dead_code, reason = "only the targets need it")]
/// Keeps panics of the Parquet reader from ending the fuzzer: the library catches them and returns an error.
pub fn parquet_may_panic() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let file = info.location().map_or("", |location| location.file());
        if !["/parquet-", "/arrow-"].iter().any(|package| file.contains(package)) {
            before(info);
        }
    }));
}

/// Parses an index segment. Input: one byte selects the schema, two are the row count of the manifest; the rest is Parquet.
pub fn index(data: &[u8]) {
    let Some((which, data)) = byte(data) else { return };
    let Some((rows, parquet)) = u16_of(data) else { return };
    let schemas = index_schemas();
    let (schema, rows) = (&schemas[usize::from(which) % schemas.len()], u64::from(rows));
    let bytes = Bytes::copy_from_slice(parquet);
    let sequences = sound(read_sequences(&bytes, rows));
    if let Some(runs) = &sequences {
        assert_eq!(runs.sum(), rows);
    }
    let Some(reader) = sound(index_reader(bytes, schema, rows)) else { return };
    let mut batches = Vec::new();
    for batch in reader {
        let Some(batch) = sound(batch) else { return };
        assert_eq!(batch.schema(), index_arrow_schema(schema));
        valid(&batch);
        batches.push(batch);
    }
    assert_eq!(batches.iter().map(|batch| batch.num_rows() as u64).sum::<u64>(), rows);
    let mut writer = IndexWriter::new(Vec::new(), schema, false).expect("a writer");
    batches.iter().for_each(|batch| writer.write(batch).expect("what was read can be written"));
    let runs: Vec<u32> = sequences.iter().flat_map(|runs| runs.iter()).collect();
    let again = Bytes::from(writer.finish(&runs).expect("an index"));
    let reader = index_reader(again.clone(), schema, rows).expect("what was written can be read");
    let read: Vec<RecordBatch> = reader.map(|batch| batch.expect("what was written can be read")).collect();
    assert_eq!(whole(&read), whole(&batches));
    if let Some(runs) = sequences {
        assert_eq!(read_sequences(&again, rows).expect("what was written can be read"), runs);
    }
}

/// Parses the tail of an index segment and reads parts of the segment. Input: one byte selects the schema, two are the row count of
/// the manifest, two the length of the tail; the rest is Parquet, with a wrong checksum for each page that was changed.
pub fn tail(data: &[u8]) {
    let Some((which, data)) = byte(data) else { return };
    let Some((rows, data)) = u16_of(data) else { return };
    let Some((len, parquet)) = u16_of(data) else { return };
    let schemas = index_schemas();
    let (schema, rows) = (schemas[usize::from(which) % schemas.len()].clone(), u64::from(rows));
    let bytes = Bytes::copy_from_slice(parquet);
    let stored = bytes.slice(bytes.len().saturating_sub(usize::from(len))..);
    let Some(tail) = sound(IndexTail::parse(&stored, bytes.len() as u64, &schema, rows)) else { return };
    if let Some(runs) = sound(tail.sequences()) {
        assert_eq!(runs.sum(), rows);
    }
    let columns: Vec<usize> = (0..schema.index().len()).collect();
    for column in &columns {
        for pieces in [tail.row_group_bounds(*column), tail.page_bounds(*column)] {
            let mut next = 0;
            for (piece, _) in pieces {
                assert_eq!(piece.start, next, "pieces follow each other");
                next = piece.end;
            }
            assert_eq!(next, rows, "pieces have all rows");
        }
    }
    for filter in tail.filters(&columns, std::slice::from_ref(&(0..rows))) {
        let range = filter.range();
        assert!(range.end <= (bytes.len() - stored.len()) as u64, "filters lie before the tail");
        if let Some(opened) = sound(filter.open(&bytes.slice(range.start as usize..range.end as usize))) {
            let _ = (opened.may_have(&Bound::Integer(rows.into())), opened.may_have(&Bound::Text(b"a".to_vec())));
        }
    }
    let ends = [0..1, rows.saturating_sub(1).max(2)..rows];
    for wanted in [ends, [0..rows, rows..rows], [rows / 3..rows / 2, rows..rows]] {
        let wanted: Vec<Range<u64>> = wanted.into_iter().filter(|range| range.start < range.end && range.end <= rows).collect();
        let part = tail.part(&columns, &wanted);
        assert!(part.ranges().windows(2).all(|pair| pair[0].end < pair[1].start));
        let ranges = part.ranges().iter().map(|range| {
            assert!(range.end <= (bytes.len() - stored.len()) as u64, "pages lie before the tail");
            bytes.slice(range.start as usize..range.end as usize)
        });
        let ranges: Vec<Bytes> = ranges.collect();
        if sound(tail.verify(&part, &ranges)).is_none() {
            continue;
        }
        let groups = tail.open(&part, &ranges).expect("the ranges of the part");
        let all = (0..groups.rows().len()).map(|group| -> Option<u64> {
            sound(groups.read(group, &columns))?.map(|batch| Some(sound(batch)?.num_rows() as u64)).sum()
        });
        let Some(found) = all.sum::<Option<u64>>() else { continue };
        assert_eq!(found, wanted.iter().map(|range| range.end - range.start).sum::<u64>());
    }
}

/// Formats batches as one text: equal for other batch sizes, and for NaN.
fn whole(batches: &[RecordBatch]) -> Vec<String> {
    let rows = batches.iter().flat_map(|batch| (0..batch.num_rows()).map(move |row| (batch, row)));
    rows.map(|(batch, row)| batch.columns().iter().map(|column| format!("{:?}", column.slice(row, 1))).collect()).collect()
}

fn valid(batch: &RecordBatch) {
    for column in batch.columns() {
        column.to_data().validate_full().expect("an array that Arrow accepts");
    }
}

/// Parses a layout. Input: one byte is the number of columns of the group, four are the rows of the segment; the rest is Parquet.
pub fn layout(data: &[u8]) {
    let Some((columns, data)) = byte(data) else { return };
    let Some((rows, parquet)) = u32_of(data) else { return };
    let (columns, rows) = (usize::from(columns), u64::from(rows) % (1 << 22));
    let Some(runs) = sound(read_layout(Bytes::copy_from_slice(parquet), columns, rows, 1)) else { return };
    let written = LayoutWriter::write(&runs).expect("what was read can be written");
    assert_eq!(read_layout(written.into(), columns, rows, 1).expect("what was written can be read"), runs);
    runs.iter().for_each(|run| pages_lie_in_their_blocks(run, columns));
    let layout = Layout::new(runs);
    assert_eq!(layout.rows(), rows);
    for row in [0, 1, rows / 2, rows.saturating_sub(2), rows.saturating_sub(1)].into_iter().filter(|row| *row < rows) {
        let place = layout.locate(row).expect("a row of the table");
        let run = layout.run(place.block).expect("a block of the layout");
        let bytes = layout.byte_range(place.block).expect("a block of the layout");
        assert!(bytes.start < bytes.end && bytes.end <= run.chunk_bytes, "{bytes:?} of {}", run.chunk_bytes);
        assert_eq!(layout.first_row(place.block).expect("a block of the layout") + place.row as u64, row);
    }
    assert!(layout.locate(rows).is_err());
}

/// Checks that the page ranges of a layout, if it has any, fill the block without gaps.
fn pages_lie_in_their_blocks(run: &LayoutRun, columns: usize) {
    let Some(last) = run.lengths.len().checked_sub(1).filter(|_| run.pages.is_some()) else { return };
    for block in [0, last] {
        let start = run.first_offset + 8 * run.lengths.sum_of_first(block);
        let mut at = start + directory_len(columns) as u64;
        for page in 0..columns {
            let range = run.page_range(block, page).expect("a page of the block");
            assert!(range.start == at && range.end > at, "page {page}: {range:?} behind {at}");
            at = range.end;
        }
        assert_eq!(at, start + 8 * u64::from(run.lengths.get(block)));
    }
}

/// Parses the hashes of a group. Input: two bytes are the block count of the manifest; the rest is Parquet.
pub fn hashes(data: &[u8]) {
    let Some((blocks, parquet)) = u16_of(data) else { return };
    let Some(read) = sound(read_hashes(Bytes::copy_from_slice(parquet), u64::from(blocks))) else { return };
    let mut writer = HashesWriter::new(Vec::new()).expect("a writer");
    writer.write(&read).expect("what was read can be written");
    let written = writer.finish().expect("hashes");
    assert_eq!(read_hashes(written.into(), u64::from(blocks)).expect("what was written can be read"), read);
}

// -------------------------------------------------------------------------------------------------------- views and pins

/// Parses a join map, and the lists of a view from the same file. Input: two bytes are the rows of the left table, two the rows of
/// the right one; the rest is Parquet.
pub fn join(data: &[u8]) {
    let Some((left, rest)) = u16_of(data) else { return };
    let Some((right, parquet)) = u16_of(rest) else { return };
    let (left, right, parquet) = (u64::from(left), u64::from(right), Bytes::copy_from_slice(parquet));
    if let Some(firsts) = sound(read_lists(parquet.clone(), left)) {
        assert_eq!(firsts.len() as u64, left);
        assert!((0..).zip(&firsts).all(|(row, first)| first.is_none_or(|first| first <= row)));
    }
    let Some(partners) = sound(read_join(parquet, left, right)) else { return };
    assert_eq!(partners.len() as u64, left);
    assert!(partners.iter().flatten().all(|row| *row < right));
    let written = write_join(&partners, Salt::NONE).expect("what was read can be written");
    assert_eq!(read_join(written.into(), left, right).expect("what was written can be read"), partners);
}

/// Parses a pin under the name that its commit id gives. Input: the JSON without its tail, which is added.
pub fn pin(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let id = text.split_once("\"commit_id\":\"").and_then(|(_, rest)| rest.get(..36)).unwrap_or_default();
    let Some(pin) = sound(Pin::parse(&with_tail(data), &format!("pins/{id}.json"))) else { return };
    let Ok(bytes) = pin.to_bytes() else { return };
    assert_eq!(Pin::parse(&bytes, &pin.name()).expect("what was written can be parsed"), pin);
}

// ------------------------------------------------------------------------------------------------------ chunks and blocks

/// Parses a chunk with new checksums: decodes header, directory, blocks and pages, and writes them again.
pub fn chunk(data: &[u8]) {
    let mut bytes = data.to_vec();
    sign_chunk(&mut bytes);
    let Some(header) = sound(ChunkHeader::parse(&bytes)) else { return };
    let Some(directory) = sound(ChunkDirectory::parse(&bytes, &header)) else { return };
    let mut blocks = Vec::new();
    for (ordinal, (place, _)) in (0..).zip(&directory.blocks).take(64) {
        let Some(pages) = pages(&header.columns, Bytes::copy_from_slice(&bytes[place.clone()]), header.seed, ordinal) else {
            return;
        };
        blocks.push(pages);
    }
    if blocks.len() < directory.blocks.len() || !header.columns.iter().all(|(_, chain)| is_quick(chain)) {
        return;
    }
    let texts: Vec<String> = header.columns.iter().map(|(ty, _)| ty.to_string()).collect();
    let names = |pages: &[CanonicalPage]| texts.iter().map(String::as_str).zip(pages.to_vec()).collect::<Vec<_>>();
    let hashes: Vec<Hash> =
        blocks.iter().map(|(rows, pages)| logical_block_hash(*rows, names(pages).iter().map(|(ty, page)| (*ty, page)))).collect();
    let mut writer = ChunkWriter::new(&header.columns, &hashes, 0, Salt::NONE).expect("what was parsed can be written");
    for (rows, pages) in &blocks {
        let encode = |((_, chain), page): (&(ColumnType, Chain), &CanonicalPage)| encode_page(chain, page).expect("a page");
        let pages = header.columns.iter().zip(pages).map(encode).collect();
        writer.push(&EncodedBlock { rows: *rows, pages }).expect("what was parsed can be written");
    }
    let written = writer.finish();
    let header = ChunkHeader::parse(&written.bytes).expect("what was written can be parsed");
    let directory = ChunkDirectory::parse(&written.bytes, &header).expect("what was written can be parsed");
    for (ordinal, ((place, _), expected)) in (0..).zip(directory.blocks.iter().zip(&blocks)) {
        let bytes = Bytes::copy_from_slice(&written.bytes[place.clone()]);
        assert_eq!(pages(&header.columns, bytes, header.seed, ordinal).as_ref(), Some(expected));
    }
}

/// Returns the rows and the decoded pages of a block, and checks that each page makes a valid array; `None` on an error.
fn pages(columns: &[(ColumnType, Chain)], block: Bytes, seed: ChunkSeed, ordinal: u32) -> Option<(u32, Vec<CanonicalPage>)> {
    let directory = sound(BlockDirectory::parse(&block, seed, ordinal, columns.len()))?;
    let mut pages = Vec::new();
    for (number, (ty, chain)) in (0_u16..).zip(columns) {
        let stored = block.slice(page_range(&directory, number.into()).expect("a page of the block"));
        let place = PagePlace { seed, ordinal, page: number, rows: directory.rows, ty, chain };
        let decoded = sound(decode_page(stored, place))?;
        usable(&decoded, ty, directory.rows)?;
        pages.push(decoded.to_canonical());
    }
    Some((directory.rows, pages))
}

fn usable(page: &DecodedPage, ty: &ColumnType, rows: u32) -> Option<()> {
    let array = sound(page.to_array(ty))?;
    assert_eq!((array.len(), array.data_type()), (rows as usize, &ty.arrow()));
    array.to_data().validate_full().expect("an array that Arrow accepts");
    Some(())
}

/// Computes the checksums of a chunk, as far as its parts can be located.
pub fn sign_chunk(bytes: &mut [u8]) {
    let Some(header_len) = bytes.get(12..).and_then(u32_of).map(|(len, _)| len as usize) else { return };
    let Some(seed) = bytes.get(16..).and_then(|rest| rest.first_chunk()).map(|seed| u64::from_le_bytes(*seed)) else { return };
    sign(bytes, 0..header_len, seed);
    let Some(start) = bytes.len().checked_sub(TRAILER_LEN) else { return };
    let number = |at: usize| bytes.get(at..).and_then(|rest| rest.first_chunk()).map(|number| u64::from_le_bytes(*number));
    let (Some(offset), Some(count)) = (number(start), number(start + 8)) else { return };
    let (offset, count) = (usize::try_from(offset).unwrap_or(usize::MAX), usize::try_from(count).unwrap_or(usize::MAX));
    if offset > start || count > (start - offset) / 8 {
        return;
    }
    let lengths: Vec<usize> = bytes[offset..offset + count * 4]
        .chunks_exact(4)
        .map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]) as usize * 8)
        .collect();
    sign(bytes, offset..start, seed);
    let mut at = header_len;
    for (ordinal, length) in (0..).zip(lengths.into_iter().take(64)) {
        let Some(block) = at.checked_add(length).and_then(|end| bytes.get_mut(at..end)) else { return };
        sign_block(block, seed, ordinal);
        at += length;
    }
}

/// Computes the checksums of a block, as far as its parts can be located (`format-spec/checksums.md#seeds`).
pub fn sign_block(block: &mut [u8], seed: u64, ordinal: u32) {
    let seed_of = |slot: u64| seed ^ (u64::from(ordinal) * 65_536 + slot).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let Some(pages) = block.get(4..).and_then(u32_of).map(|(pages, _)| pages as usize).filter(|pages| *pages < 70_000) else {
        return;
    };
    let mut at = directory_len(pages);
    let Some(lengths) = block.get(8..8 + 4 * pages) else { return };
    let lengths: Vec<usize> =
        lengths.chunks_exact(4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]) as usize).collect();
    sign(block, 0..at, seed_of(0));
    for (slot, length) in (1..).zip(lengths) {
        let Some(end) = at.checked_add(length).filter(|end| *end <= block.len()) else { return };
        sign(block, at..end, seed_of(slot));
        at = end;
    }
}

/// Writes the checksum of a range into its last 8 bytes.
fn sign(bytes: &mut [u8], range: std::ops::Range<usize>, seed: u64) {
    if let Some((signed, checksum)) = bytes.get_mut(range).and_then(|part| part.split_last_chunk_mut::<8>()) {
        *checksum = XxHash3_64::oneshot_with_seed(seed, signed).to_le_bytes();
    }
}

/// Column types of the fuzzed blocks.
pub const TYPES: [&str; 24] = [
    "bool",
    "i8",
    "u16",
    "i32",
    "f32",
    "f64",
    "f16",
    "date",
    "timestamp[ns]",
    "timestamp[us,UTC]",
    "duration[ms]",
    "utf8",
    "binary",
    "list<utf8>",
    "list<i64>",
    "list<list<u8>>",
    "list<f32[?,4]>",
    "list<bool>",
    "f32[3,3]",
    "f32[?,4]",
    "u8[?,?,3]",
    "bool[?]",
    "f64[]",
    "list<list<list<list<f32[?,?,0]>>>>",
];

/// Codec chains of the fuzzed blocks, in their stored form (`format-spec/codecs.md#chains`): shuffles, splits and pco of several
/// widths.
pub const CHAINS: [&[u8]; 20] = [
    &[0],
    &[1, 2, 0],
    &[1, 3, 3],
    &[1, 1, 4],
    &[2, 1, 2, 2, 0],
    &[2, 1, 4, 3, 3],
    &[2, 1, 8, 3, 1],
    &[2, 1, 7, 3, 1],
    &[1, 4, 4],
    &[2, 4, 1, 2, 0],
    &[2, 4, 8, 3, 3],
    &[2, 5, 0x83, 3, 3],
    &[3, 5, 0x83, 4, 4, 2, 0],
    &[4, 5, 0xc2, 1, 8, 4, 2, 3, 1],
    &[1, 6, 0x05],
    &[1, 6, 0x84],
    &[1, 6, 0x0a],
    &[1, 6, 0x09],
    &[2, 5, 0x83, 6, 0x05],
    &[2, 5, 0x02, 6, 0xcb],
];

fn chain(which: u8) -> Chain {
    Chain::read(CHAINS[usize::from(which) % CHAINS.len()]).expect("a chain").0
}

/// Parses a block. Input: one byte selects the type, one the chain. If the third byte is 0, the rest is a block (ordinal 3 of its
/// chunk), which gets new checksums. Else two bytes are the rows, two the length of the structure; a page is made of the
/// structure and the values that follow.
pub fn block(data: &[u8]) {
    let [ty, chain_number, kind, rest @ ..] = data else { return };
    let ty: ColumnType = TYPES[usize::from(*ty) % TYPES.len()].parse().expect("a type");
    let chain = chain(*chain_number);
    const SEED: u64 = 0x1234_5678_9abc_def0;
    if *kind == 0 {
        let mut bytes = rest.to_vec();
        sign_block(&mut bytes, SEED, 3);
        let columns = rest.get(4..).and_then(u32_of).map_or(1, |(pages, _)| pages.clamp(1, 16));
        let columns = vec![(ty, chain); columns as usize];
        let Some((rows, found)) = pages(&columns, bytes.into(), ChunkSeed(SEED), 3) else { return };
        let encoded: Vec<EncodedPage> =
            columns.iter().zip(&found).map(|((_, chain), page)| encode_page(chain, page).expect("a page")).collect();
        let mut out = Vec::new();
        EncodedBlock { rows, pages: encoded }.write(ChunkSeed(7), 9, &mut out).expect("a block");
        assert_eq!(pages(&columns, out.into(), ChunkSeed(7), 9), Some((rows, found)));
        return;
    }
    let Some((rows, rest)) = u16_of(rest) else { return };
    let Some((structure, rest)) = u16_of(rest) else { return };
    let (structure, values) = rest.split_at(usize::from(structure).min(rest.len()));
    let page = CanonicalPage { structure: structure.to_vec(), values: values.to_vec() };
    let rows = u32::from(rows);
    let Ok(encoded) = encode_page(&chain, &page) else { return };
    let mut out = Vec::new();
    EncodedBlock { rows, pages: vec![encoded] }.write(ChunkSeed(SEED), 3, &mut out).expect("a block");
    if let Some(found) = pages(&[(ty, chain)], out.into(), ChunkSeed(SEED), 3) {
        assert_eq!(found, (rows, vec![page]));
    }
    let _ = PackedLengths::from_bytes(structure, usize::from(*kind)).inspect_err(about_bytes);
}

/// Whether the compressor of a chain is fast enough for a fuzzer. The highest levels are not; readers ignore the level.
fn is_quick(chain: &Chain) -> bool {
    let mut stored = Vec::new();
    chain.write(&mut stored);
    stored[1..].chunks_exact(2).all(|step| match step {
        [3, level] => *level <= 9,
        [6, parameter] => parameter >> 4 <= 8,
        _ => true,
    })
}

/// Runs a codec chain. Input: the stored form of a chain, then four bytes for the decoded length; the rest is decoded as stored
/// bytes, and encoded as values.
pub fn codec(data: &[u8]) {
    let Some((chain, rest)) = sound(Chain::read(data)) else { return };
    let mut again = Vec::new();
    chain.write(&mut again);
    assert_eq!(Chain::read(&again).expect("what was written can be read").0, chain);
    let Some((len, rest)) = u32_of(rest) else { return };
    let len = len as usize % (1 << 20);
    if let Some(values) = sound(chain.decode(Bytes::copy_from_slice(rest), len)) {
        assert_eq!(values.len(), len);
    }
    if !is_quick(&chain) {
        return;
    }
    let stored = chain.encode(rest).expect("any bytes can be encoded");
    assert_eq!(chain.decode(stored.into(), rest.len()).expect("what was encoded can be decoded"), rest);
}

// ------------------------------------------------------------------------------------------------------- texts and zarr

/// Parses a text as a column type, a column pattern, offsets, a preset and a hash.
pub fn text(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Some(ty) = sound(text.parse::<ColumnType>()) {
        assert_eq!(ty.to_string(), text, "one type has one spelling");
        let _ = (ty.arrow_field("a"), ty.fixed_elements(), ty.element_width(), ty.is_indexable());
    }
    let invalid = |error: &Error| assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    if let Ok(pattern) = text.parse::<ColumnPattern>().inspect_err(invalid) {
        let _ = (pattern.matches("lidar.points"), pattern.matches(text));
        if !text.starts_with("re:") && !text.contains(['*', '?']) {
            assert!(pattern.matches(text), "a pattern without wildcards is a name");
        }
    }
    if let Ok(offsets) = text.parse::<Offsets>().inspect_err(invalid) {
        assert!(offsets.as_slice().iter().all(|offset| offset.unsigned_abs() < 1 << 31));
        assert_eq!(Offsets::new(offsets.as_slice().to_vec()).expect("offsets"), offsets);
    }
    if let Ok(preset) = text.parse::<Preset>().inspect_err(invalid) {
        assert_eq!(preset.to_string(), text);
    }
    if let Some(hash) = sound(text.parse::<Hash>()) {
        assert_eq!(hash.to_string(), text);
    }
}

/// Decodes a Blosc container. Input: four bytes are the decoded length, the rest is the container; if they are 0, the rest is
/// encoded.
pub fn blosc(data: &[u8]) {
    let Some((len, rest)) = u32_of(data) else { return };
    if len == 0 {
        let Some((typesize, plain)) = byte(rest) else { return };
        let codec = if typesize & 1 == 0 { blosc::Codec::Lz4 } else { blosc::Codec::Zstd { level: 1 } };
        let stored = blosc::encode(plain, usize::from(typesize), codec, typesize & 2 == 0).expect("any bytes can be encoded");
        let mut back = vec![0xee; plain.len()];
        Decoder::default().decode(&stored, &mut back).expect("what was encoded can be decoded");
        assert_eq!(back, plain);
        return;
    }
    let mut decoded = vec![0; len as usize % (1 << 20)];
    let mut decoder = Decoder::default();
    if sound(decoder.decode(rest, &mut decoded)).is_some() {
        let mut again = vec![1; decoded.len()];
        decoder.decode(rest, &mut again).expect("what decodes once decodes twice");
        assert_eq!(again, decoded);
    }
}

/// Parses the text of a `.zarray`.
pub fn zarray(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let meta = match ArrayMeta::parse(text.to_owned()) {
        Ok(meta) => meta,
        // A text that describes no array is `Invalid`: the caller chose the file.
        Err(error) if error.kind() == ErrorKind::Invalid => return,
        Err(error) => return about_bytes(&error),
    };
    assert!(meta.record_len() > 0 || meta.dtype.record_len() == 0);
    assert!(meta.chunk_bytes() as u64 / meta.chunk_len == meta.record_len() as u64);
    let _ = (meta.chunk_key(0), meta.chunk_key(u64::MAX));
    assert_eq!(meta.text, text);
}

/// Parses a semantic map, and looks at every lane and crosswalk of it.
pub fn semantic_map(data: &[u8]) {
    let world_to_ecef = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
    let map = match MapApi::parse(data, world_to_ecef) {
        Ok(map) => map,
        // Of a well-formed map that breaks a rule: two elements of one id.
        Err(error) if error.kind() == ErrorKind::Invalid => return,
        Err(error) => return about_bytes(&error),
    };
    assert_eq!(map.lanes().ids.len(), map.lanes().bounds.len());
    for id in &map.lanes().ids {
        if let Ok(lines) = map.lane_as_interpolation(id, Interpolation::EnsureLen(5)) {
            assert_eq!((lines.left.len(), lines.right.len(), lines.middle.len()), (5, 5, 5));
        }
    }
    for id in &map.crosswalks().ids {
        let _ = map.crosswalk_coords(id);
    }
    let _ = map.to_semantic_input();
}

/// Numbers of a configuration in the input of [`l5_config`]: whole ones, then floats.
pub const CONFIG_NUMBERS: [usize; 2] = [11, 9];

const IDENTITY: [[f64; 4]; 4] = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];

/// Makes rasterizers and samples of a configuration, over a scene of four frames. Input: one byte chooses the rasterizer, one has
/// switches; then the numbers of the configuration; the rest is a semantic map.
pub fn l5_config(data: &[u8]) {
    let Some((map_type, rest)) = byte(data) else { return };
    let Some((switches, mut rest)) = byte(rest) else { return };
    let (mut whole, mut floats) = ([0_u32; CONFIG_NUMBERS[0]], [0.0_f64; CONFIG_NUMBERS[1]]);
    for number in &mut whole {
        let Some((found, others)) = u32_of(rest) else { return };
        (*number, rest) = (found, others);
    }
    for number in &mut floats {
        let Some((found, others)) = rest.split_first_chunk() else { return };
        (*number, rest) = (f64::from_le_bytes(*found), others);
    }
    let [width, height, history, future, history_agents, others, lanes, lane_points, crosswalk_points, crosswalks, row] =
        whole.map(|number| number as usize);
    let [pixel_x, pixel_y, center_x, center_y, step_time, threshold, agents_distance, map_distance, yaw] = floats;
    let switch = |bit: u8| switches >> bit & 1 == 1;
    let blames_caller = |error: Error| {
        assert!(matches!(error.kind(), ErrorKind::Invalid | ErrorKind::NotFound), "{:?}: {error}", error.kind());
    };
    let map = MapApi::parse(rest, IDENTITY).or_else(|_| MapApi::parse(&[], IDENTITY)).expect("a map without elements");
    let map = Arc::new(map);
    let runtime = tetrys::blocking::runtime().expect("threads");
    let table = four_frames(yaw);
    let context = RenderContext::new([width, height], [pixel_x, pixel_y], [center_x, center_y], switch(0));
    // Large rasters and windows are allowed, but a fuzzer has no time for them.
    if let Ok(context) = context.map_err(blames_caller)
        && context.pixels() <= 1 << 12
        && history.max(future) <= 1 << 10
    {
        let boxes = BoxRasterizer { context, threshold, history, render_ego_history: switch(1) };
        let ground = || Arc::new(map.to_semantic_input().expect("a map that was parsed"));
        let aerial = || AerialMap::new(vec![9; 48 * 48 * 3], [48, 48], &IDENTITY, &IDENTITY).map(Arc::new).expect("pixels");
        let rasterizer = match map_type % 6 {
            0 => Rasterizer::stub(context),
            1 => Rasterizer::boxes(boxes),
            2 => Rasterizer::semantic(context, ground()),
            3 => Rasterizer::satellite(context, aerial()),
            4 => Rasterizer::semantic_boxes(boxes, ground()),
            _ => Rasterizer::satellite_boxes(boxes, aerial()),
        };
        let kind = if switch(2) { Kind::Agent } else { Kind::Ego };
        let sampler = Sampler {
            shape: SampleShape { history, future, kind },
            settings: SampleSettings { step_time, filter_threshold: threshold, raster_from_local: context.raster_from_local() },
            rasterizer,
            faces: switch(3),
            threads: 1,
        };
        let place = [row as u64];
        let batch = runtime.block_on(async {
            match kind {
                Kind::Ego => sampler.ego(&table, &place).await,
                Kind::Agent => sampler.agents(&table, &place).await,
            }
        });
        if let Ok(batch) = batch.map_err(blames_caller) {
            assert_eq!(batch.images.len(), sampler.rasterizer.len());
            assert!(batch.images.iter().all(|value| (0.0..=1.0).contains(value)));
            assert_eq!((batch.samples.target_positions.len(), batch.samples.history_yaws.len()), (future * 2, history + 1));
            let mut picture = vec![0; context.pixels() * 3];
            sampler.rasterizer.to_rgb(&batch.images, &mut picture).expect("an image of this rasterizer");
        }
    }
    let settings = Settings {
        history_num_frames_ego: history,
        history_num_frames_agents: history_agents,
        future_num_frames: future,
        step_time,
        filter_agents_threshold: threshold,
        other_agents_num: others,
        max_agents_distance: agents_distance,
        lanes: LaneSettings {
            max_num_lanes: lanes,
            max_points_per_lane: lane_points,
            max_points_per_crosswalk: crosswalk_points,
            max_retrieval_distance_m: map_distance,
            max_num_crosswalks: crosswalks,
        },
        order: if switch(4) { AgentOrder::Distance } else { AgentOrder::PythonSet },
        ego_as_agent: switch(5),
    };
    let small = |numbers: &[usize], most: usize| numbers.iter().all(|number| *number <= most);
    if !small(&[history, history_agents, future, others, lanes, lane_points, crosswalks, crosswalk_points], 64) {
        return;
    }
    let Ok(vectorizer) = Vectorizer::new(settings, map).map_err(blames_caller) else { return };
    let sampler = VectorSampler { vectorizer, faces: switch(3), threads: 1 };
    let place = VectorPlace { frame: row as u64, track_id: switch(2).then_some(7), ..VectorPlace::default() };
    if let Ok(batch) = runtime.block_on(sampler.samples(&table, &[place])).map_err(blames_caller) {
        assert_eq!((batch.vectors.len(), batch.scene_index.as_slice()), (1, &[0][..]));
    }
}

/// Returns a scene of four frames with two agents each, the first of which is a car, and a traffic light face in each.
fn four_frames(yaw: f64) -> FrameTable {
    const FRAMES: usize = 4;
    let each = |count: Range<usize>| count.map(|number| number as f64);
    let turn = [yaw.cos(), -yaw.sin(), 0.0, yaw.sin(), yaw.cos(), 0.0, 0.0, 0.0, 1.0];
    let mut label = [0.0; 17];
    label[3] = 1.0;
    let arrays = Arrays {
        timestamps: (0..FRAMES as i64).collect(),
        translations: each(0..FRAMES).flat_map(|frame| [20.0 + frame, 20.0, 0.0]).collect(),
        rotations: turn.repeat(FRAMES),
        centroids: each(0..FRAMES * 2).flat_map(|row| [18.0 + row, 21.5]).collect(),
        extents: [4.0, 2.0, 1.5].repeat(FRAMES * 2),
        yaws: vec![yaw as f32; FRAMES * 2],
        track_ids: [7, 8].repeat(FRAMES),
        label_probabilities: [label, [0.0; 17]].as_flattened().repeat(FRAMES),
        face_ids: vec!["face".to_owned(); FRAMES],
        traffic_light_ids: vec!["light".to_owned(); FRAMES],
        statuses: [1.0, 0.0, 0.0].repeat(FRAMES),
    };
    let scene = Scene { frames: 0..FRAMES as u64, host: "host".into(), start_time: 0, end_time: 1 };
    let ends = |each: u64| (1..=FRAMES as u64).map(|frame| frame * each).collect();
    FrameTable::of_arrays(vec![scene], ends(2), ends(1), arrays).expect("a scene")
}
