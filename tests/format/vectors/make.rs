//! Makes the vectors: small bytes of each structure of the format, and JSON with their content. The result does not depend on the
//! seed of the tests, only on the versions of the compressors.

use std::{fs, ops::Range, path::Path, sync::Arc};

use arrow_array::{Array, ArrayRef, LargeListArray, LargeStringArray, RecordBatch, UInt32Array};
use arrow_buffer::{BooleanBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field};
use serde_json::{Value, json};
use tetrys::{
    ColumnType, IndexTails, Schema,
    codec::{Chain, NumberType, Step},
    format::{
        Ancestor, Bound, CanonicalPage, ChunkSeed, ChunkWriter, Collections, Condemned, EncodedBlock, EncodedPage, Expired,
        ForeignTable, GivenUp, IndexStatistics, IndexTail, Kept, LayoutRun, LayoutWriter, Lists, Locator, Manifest,
        PackedLengths, PageBuilder, PageLengths, Parent, Pin, PinOwner, Segment, StoredLists, View, ViewColumn, ViewIndexColumn,
        ViewSource, chunk_seed, directory_len, encode_page, logical_block_hash, manifest_name, read_hashes, read_layout,
        read_sequences, write_join,
    },
    id::{ChunkId, Hash, ObjectRef, Salt},
    schema::{ColumnId, Primitive},
    table::Cuts,
};
use twox_hash::XxHash3_64;
use uuid::Uuid;

use crate::{
    common::plain::{self, hex},
    common::tables::{self, Rng, Taste, block_on, column, cut_by, rows_of},
};

const TABLE: &str = "00112233-4455-6677-8899-aabbccddeeff";
const COMMIT: &str = "ffeeddcc-bbaa-9988-7766-554433221100";

/// Writes all vectors into a folder.
pub(crate) fn vectors(folder: &Path) {
    let json = |name: &str, value: Value| fs::write(folder.join(name), serde_json::to_vec_pretty(&value).unwrap()).unwrap();
    json("types.json", types());
    json("validity.json", validity());
    json("lengths.json", lengths());
    json("pages.json", pages());
    json("block_hashes.json", block_hashes());
    json("checksums.json", checksums());
    json("chains.json", chains());
    json("cuts.json", cuts());
    json("locators.json", locators());
    block(folder);
    chunk(folder);
    table(folder);
    shared(folder);
    tails(folder);
    bloom_filters(folder);
    fs::write(
        folder.join("join.parquet"),
        write_join(&[Some(17), Some(18), None, Some(18), Some(4), Some(0)], Salt::NONE).unwrap(),
    )
    .unwrap();
    json("join.json", json!({"left": 6, "right": 19, "rows": [17, 18, null, 18, 4, 0]}));
    let owner = PinOwner { table: COMMIT.parse().unwrap(), version: 3, blake3: Hash::of(b"owner") };
    let (table, commit_id) = (TABLE.parse().unwrap(), COMMIT.parse().unwrap());
    let urls = vec!["../labels".to_owned(), "s3://bucket/labels".to_owned()];
    let pin = Pin { owner, table, version: 2, commit_id, of_commit: None, urls };
    let bytes = pin.to_bytes().unwrap();
    let members: Value = serde_json::from_slice(&bytes).unwrap();
    json("pin.json", json!({"name": pin.name(), "blake3": members["blake3"], "members": members}));
    fs::write(folder.join("pin.bin"), bytes).unwrap();
    // The pin of a second commit for the same owner has an id of its own.
    let second = Pin { commit_id: TABLE.parse().unwrap(), of_commit: Some(commit_id), ..pin };
    let bytes = second.to_bytes().unwrap();
    let members: Value = serde_json::from_slice(&bytes).unwrap();
    let says = json!({"name": second.name(), "commit": second.commit(), "blake3": members["blake3"], "members": members});
    json("pin_second.json", says);
    fs::write(folder.join("pin_second.bin"), bytes).unwrap();
}

fn wide(number: u64) -> String {
    format!("{number:016x}")
}

/// Returns one type of each kind.
fn type_texts() -> Vec<String> {
    let scalars = Primitive::ALL.iter().map(|element| element.name().to_owned());
    let others = [
        "date",
        "timestamp[s]",
        "timestamp[ms,UTC]",
        "timestamp[us,Europe/Zurich]",
        "timestamp[ns,+05:30]",
        "duration[s]",
        "duration[ms]",
        "duration[us]",
        "duration[ns]",
        "utf8",
        "categorical",
        "binary",
        "list<u8>",
        "list<utf8>",
        "list<binary>",
        "list<categorical>",
        "list<list<i16>>",
        "list<f32[?,2]>",
        "list<list<list<list<list<list<list<list<bool>>>>>>>>",
        "f64[]",
        "bool[3]",
        "u8[0]",
        "i64[2,3]",
        "f16[?]",
        "f32[?,4]",
        "u16[2,?,?]",
        "bf16[?,2]",
        "f64[?,0]",
    ];
    scalars.chain(others.map(str::to_owned)).collect()
}

fn types() -> Value {
    let types = type_texts();
    let in_index: Vec<_> = types.iter().filter(|ty| ty.parse::<ColumnType>().unwrap().is_indexable()).collect();
    let refused = [
        "",
        "i128",
        "F32",
        " f32",
        "f32 ",
        "string",
        "f32[",
        "f32]",
        "f32[4",
        "f32[04]",
        "f32[+4]",
        "f32[-1]",
        "f32[,]",
        "f32[4,]",
        "f32[4, 4]",
        "f32[2147483648]",
        "utf8[2]",
        "categorical[2]",
        "date[]",
        "timestamp",
        "timestamp[]",
        "timestamp[h]",
        "timestamp[s,]",
        "duration[s,UTC]",
        "list<>",
        "list<f32",
        "list<f32>>",
        "list<list<list<list<list<list<list<list<list<u8>>>>>>>>>",
        "f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]",
    ];
    json!({"types": types, "in_index": in_index, "refused": refused})
}

fn validity() -> Value {
    let cases = [
        vec![],
        vec![true],
        vec![false],
        vec![true, false],
        vec![false, false, false],
        vec![true; 9],
        (0..8).map(|slot| slot % 3 == 0).collect(),
        (0..17).map(|slot| slot == 16).collect(),
    ];
    let bytes = |valid: &Vec<bool>| {
        let mut builder = PageBuilder::new(&"bool".parse().unwrap());
        builder.push_validity(0, valid.len(), Some(BooleanBuffer::from(valid.clone())));
        hex(&builder.finish().structure)
    };
    cases.iter().map(|valid| json!({"valid": valid, "bytes": bytes(valid)})).collect()
}

fn lengths() -> Value {
    let cases: [&[u32]; 9] = [
        &[],
        &[0],
        &[7],
        &[3, 5, 4],
        &[1, 0, 2],
        &[640; 5],
        &[0, u32::MAX],
        &[u32::MAX],
        &[10, 11, 1_000, 12, 13, 14, 15, 16, 17],
    ];
    let node = |lengths: &&[u32]| {
        let mut bytes = Vec::new();
        PackedLengths::write(lengths, &mut bytes);
        json!({"lengths": lengths, "bytes": hex(&bytes)})
    };
    let refused = [
        (3, "0300000002", "cut before its bits"),
        (3, "030000000218ff", "one byte more"),
        (3, "030000000258", "a bit behind the last length"),
        (3, "02000000022d", "a base that is no length"),
        (3, "03000000035000", "a width of 3 where 2 do"),
        (2, "0500000001", "no bits"),
        (2, "050000000100", "a width of 1 where 0 does"),
        (0, "0100000000", "a base of no lengths"),
        (0, "0000000001", "a width of no lengths"),
        (1, "0000000021000000000000", "a width of 33"),
        (2, "ffffffff0102", "a length of 2^32"),
    ];
    let refused = refused.map(|(count, bytes, why)| json!({"count": count, "bytes": bytes, "why": why}));
    json!({"nodes": cases.iter().map(node).collect::<Vec<_>>(), "refused": refused})
}

/// Returns the canonical pages that the writer makes of columns, with all rows in one block.
pub(crate) fn canonical_pages(columns: &[(ColumnType, ArrayRef)]) -> Vec<(String, u32, CanonicalPage)> {
    let named = || columns.iter().enumerate().map(|(number, column)| (format!("c{number}"), column));
    let schema = Schema::builder().index("log", "utf8").group("g", named().map(|(name, (ty, _))| (name, ty))).build().unwrap();
    let rows = columns[0].1.len();
    let log: ArrayRef = Arc::new(LargeStringArray::from(vec![""; rows]));
    let arrays = named().map(|(name, (_, array))| (name, Arc::clone(array)));
    let batch = RecordBatch::try_from_iter_with_nullable(
        std::iter::once(("log".to_owned(), log)).chain(arrays).map(|(name, array)| (name, array, true)),
    );
    let (_, store) = tables::memory();
    let cuts = Cuts { block_min: 1 << 19, block_target: (1 << 19) + 1, block_max: 1 << 20, ..Cuts::default() };
    let objects = block_on(async {
        tables::write(store.clone(), schema, cut_by(cuts), &[batch.unwrap()]).await.unwrap();
        tables::objects(&store).await
    });
    let chunks = objects.into_iter().filter(|(name, _)| name.starts_with("chunks/"));
    chunks.flat_map(|(_, chunk)| plain::pages_of_chunk(&chunk)).collect()
}

fn page_json(ty: &str, page: &CanonicalPage) -> Value {
    json!({"type": ty, "structure": hex(&page.structure), "values": hex(&page.values)})
}

fn pages() -> Value {
    let (mut rng, mut cases) = (Rng(1), Vec::new());
    for taste in [Taste::SMALL, Taste::NOISE, Taste { nulls: 0, ..Taste::SMALL }, Taste { nulls: 1, ..Taste::SMALL }] {
        for text in type_texts() {
            let ty: ColumnType = text.parse().unwrap();
            // The size of eight nested lists grows fast.
            let length = if text.starts_with("list<list<list") { 3 } else { taste.length };
            let array = column(&mut rng, &ty, 5, Taste { length, ..taste });
            for (text, rows, page) in canonical_pages(&[(ty.clone(), Arc::clone(&array))]) {
                let mut case = page_json(&text, &page);
                case["rows"] = rows.into();
                case["holds"] = plain::values(&ty, &array).into();
                cases.push(case);
            }
        }
    }
    cases.into()
}

fn block_hashes() -> Value {
    let mut rng = Rng(2);
    [vec!["u8"], vec!["utf8", "f32[?,4]"], vec!["list<list<i16>>", "bool", "timestamp[ms,UTC]"]]
        .into_iter()
        .map(|texts| {
            let types: Vec<ColumnType> = texts.iter().map(|ty| ty.parse().unwrap()).collect();
            let columns: Vec<_> = types.into_iter().map(|ty| (ty.clone(), column(&mut rng, &ty, 4, Taste::SMALL))).collect();
            let pages = canonical_pages(&columns);
            let hash = logical_block_hash(4, pages.iter().map(|(ty, _, page)| (ty.as_str(), page)));
            let pages: Vec<_> = pages.iter().map(|(ty, _, page)| page_json(ty, page)).collect();
            json!({"rows": 4, "pages": pages, "hash": hash.to_string()})
        })
        .collect()
}

fn checksums() -> Value {
    let hashes: Vec<Hash> = (0_u8..3).map(|number| Hash::of(&[number])).collect();
    let seeds: Vec<_> = (1..=3)
        .map(|count| {
            let hashes = &hashes[..count];
            let texts: Vec<_> = hashes.iter().map(ToString::to_string).collect();
            json!({"hashes": texts, "seed": wide(chunk_seed(hashes).0)})
        })
        .collect();
    let mut pages = Vec::new();
    for (seed, ordinal, page, len) in
        [(0, 0, 0, 24), (1, 0, 1, 24), (0x0123_4567_89ab_cdef, 7, 2, 32), (u64::MAX, u32::MAX - 1, 5, 256)]
    {
        let unsigned: Vec<u8> = (0..len).map(|byte| byte as u8).collect();
        let block = EncodedBlock { rows: 1, pages: vec![EncodedPage::from_unsigned(unsigned.clone()); page + 1] };
        let mut out = Vec::new();
        block.write(ChunkSeed(seed), ordinal, &mut out).unwrap();
        let checksum = u64::from_le_bytes(*out.split_last_chunk::<8>().unwrap().1);
        let place = json!({"chunk_seed": wide(seed), "ordinal": ordinal, "page": page});
        let mut case = json!({"unsigned": hex(&unsigned), "checksum": wide(checksum)});
        case.as_object_mut().unwrap().extend(place.as_object().unwrap().clone());
        pages.push(case);
    }
    json!({"seeds": seeds, "pages": pages})
}

fn chains() -> Value {
    let slow: Vec<u8> = (0..150_u32).flat_map(|number| (1_000 + number * number / 7).to_le_bytes()).collect();
    let rows: Vec<u8> = (0..60_u32).flat_map(|row| [row as u8, 7, (row / 9) as u8, 1, 2, 3]).collect();
    let floats: Vec<u8> = (0..300_i32).flat_map(|n| (f64::from(n * n % 1_000) / 100.0).to_le_bytes()).collect();
    let split = |width, components| Step::Split { width, components };
    let mut cases = Vec::new();
    let mut chains = vec![
        (vec![], slow.clone(), true),
        (vec![Step::Shuffle(2)], b"a0b1c2r".to_vec(), true),
        (vec![Step::Shuffle(4), Step::Shuffle(3)], slow[..50].to_vec(), true),
        (vec![Step::BitShuffle(1)], [1, 1, 0, 0, 0, 0, 0, 0x81, b'r'].to_vec(), true),
        (vec![Step::BitShuffle(2)], slow[..37].to_vec(), true),
        (vec![Step::BitShuffle(4)], slow[..99].to_vec(), true),
        (vec![Step::BitShuffle(8)], slow[..200].to_vec(), true),
        (vec![Step::BitShuffle(8)], slow[..63].to_vec(), true),
        (vec![split(1, 3)], slow[..20].to_vec(), true),
        (vec![split(2, 2)], b"x0y0x1y1x2y2rst".to_vec(), true),
        (vec![split(4, 64)], slow[..530].to_vec(), true),
        (vec![split(8, 2), Step::BitShuffle(8), Step::Shuffle(2)], slow[..150].to_vec(), true),
        (vec![Step::Lz4], rows.clone(), false),
        (vec![Step::Zstd(3)], rows.clone(), false),
        (vec![Step::Shuffle(4), Step::Lz4], slow.clone(), false),
        (vec![Step::Shuffle(4), Step::Zstd(3)], slow.clone(), false),
        (vec![Step::Shuffle(6), Step::Zstd(12)], rows.clone(), false),
        (vec![Step::BitShuffle(4), Step::Lz4], slow.clone(), false),
        (vec![split(1, 6), Step::Shuffle(2), Step::Zstd(1)], rows.clone(), false),
        (vec![Step::Pco(NumberType::F64, 8)], floats.clone(), false),
        (vec![Step::Pco(NumberType::U32, 0)], slow[..98].to_vec(), false),
        (vec![split(4, 3), Step::Pco(NumberType::I32, 8)], slow[..250].to_vec(), false),
        (vec![split(8, 7), Step::Pco(NumberType::F64, 0)], floats[..900].to_vec(), false),
        (vec![split(1, 6), Step::Pco(NumberType::U8, 12)], rows[..100].to_vec(), false),
        (vec![Step::Shuffle(2), Step::Pco(NumberType::U16, 4)], vec![7], false),
    ];
    use NumberType::{F16, F32, I8, I16, I64, U8, U16, U64};
    chains.extend([U64, I64, F32, U16, I16, F16, U8, I8].map(|number| (vec![Step::Pco(number, 0)], slow[..160].to_vec(), false)));
    for (steps, values, deterministic) in chains {
        let chain = Chain::new(steps).unwrap();
        let mut bytes = Vec::new();
        chain.write(&mut bytes);
        cases.push(json!({
            "chain": hex(&bytes), "text": chain.to_string(), "decoded": hex(&values),
            "encoded": hex(&chain.encode(&values).unwrap()), "deterministic": deterministic,
        }));
    }
    let refused = [
        ("", "nothing"),
        ("0101", "cut"),
        ("000104", "bytes behind the chain"),
        ("050104010401040104010402", "five steps"),
        ("010000", "codec 0"),
        ("010704", "codec 7"),
        ("010100", "byte shuffle of 0 bytes"),
        ("010101", "byte shuffle of 1 byte"),
        ("010201", "LZ4 with a parameter"),
        ("010403", "bit shuffle of 3 bytes"),
        ("010410", "bit shuffle of 16 bytes"),
        ("010500", "a split into one component"),
        ("0105c0", "a split into one component of 8 bytes"),
        ("010600", "pco of no number type"),
        ("01060c", "pco of number type 12"),
        ("0106d1", "pco at level 13"),
        ("0202000104", "LZ4 before another step"),
        ("0203030104", "Zstandard before another step"),
        ("0206010101", "pco before another step"),
        ("0205830606", "a split of 4 bytes before pco of 8"),
    ];
    let refused = refused.map(|(chain, why)| json!({"chain": chain, "why": why}));
    let pco = |number, level, values: &[u8]| Chain::new([Step::Pco(number, level)]).unwrap().encode(values).unwrap().to_vec();
    let sound = pco(NumberType::U32, 0, &slow[..98]);
    let changed = |place: usize, byte: u8| {
        let mut bytes = sound.clone();
        bytes[place] = byte;
        bytes
    };
    let zstd = Chain::new([Step::Zstd(3)]).unwrap().encode(&rows).unwrap().to_vec();
    let behind = |bytes: &[u8], more: &[u8]| [bytes, more].concat();
    let encoded = [
        ("010200", vec![0x1f], 255, "LZ4 that ends in a match"),
        ("010200", vec![0; 3], 766, "more than 255 bytes for each byte of LZ4"),
        ("010303", zstd[..zstd.len() - 1].to_vec(), rows.len(), "half a Zstandard frame"),
        ("010303", behind(&zstd, &zstd), 2 * rows.len(), "two Zstandard frames"),
        ("010303", behind(&zstd, b"\x50\x2a\x4d\x18\0\0\0\0"), rows.len(), "a skippable frame behind the frame"),
        ("010303", zstd.clone(), rows.len() - 1, "a Zstandard frame of more bytes"),
        ("010303", zstd.clone(), rows.len() + 1, "a Zstandard frame of fewer bytes"),
        ("010601", sound[..sound.len() - 1].to_vec(), 98, "half a pco file"),
        ("010601", behind(&sound, b"\0"), 98, "a byte behind a pco file"),
        ("010601", sound.clone(), 102, "a pco file of fewer numbers"),
        ("010601", sound.clone(), 94, "a pco file of more numbers"),
        ("010603", sound.clone(), 98, "a pco file of another number type"),
        ("010601", changed(4, 2), 98, "standalone version 2"),
        ("010601", changed(5, 3), 98, "a file of another uniform type"),
    ];
    let encoded = encoded
        .map(|(chain, encoded, len, why)| json!({"chain": chain, "encoded": hex(&encoded), "values_len": len, "why": why}));
    json!({"chains": cases, "refused": refused, "refused_encoded": encoded})
}

/// Returns lists of numbers as an Arrow array.
pub(crate) fn lists(rows: impl Iterator<Item = Vec<u32>>) -> LargeListArray {
    let rows: Vec<Vec<u32>> = rows.collect();
    let offsets = OffsetBuffer::from_lengths(rows.iter().map(Vec::len));
    let items = Arc::new(rows.into_iter().flatten().collect::<UInt32Array>());
    LargeListArray::new(Arc::new(Field::new("item", DataType::UInt32, true)), offsets, items, None)
}

fn cuts() -> Value {
    let mut rng = Rng(3);
    let cuts = Cuts { block_min: 40, block_target: 120, block_max: 400, chunk_min: 300, chunk_target: 900, chunk_max: 2_500 };
    let (mut rows, mut filled, mut ends) = (Vec::new(), 0, Vec::new());
    for position in 0..60 {
        let starts = position % 23 == 0;
        // One row is larger than a block may be, and some rows have more lengths than one piece of the row hash holds.
        let size = if position == 31 { 500 } else { rng.below(30) };
        let (bytes, numbers) = (rng.bytes(size as usize), rng.below(4));
        let items: Vec<u8> = (0..numbers).flat_map(|_| (rng.below(9) as u32).to_le_bytes()).collect();
        let columns = [((bytes.len() as u32).to_le_bytes().to_vec(), bytes), ((numbers as u32).to_le_bytes().to_vec(), items)];
        let (mut size, mut hash) = (0, 0);
        for (lengths, values) in &columns {
            hash = lengths.chunks(64).fold(hash, XxHash3_64::oneshot_with_seed);
            hash = XxHash3_64::oneshot_with_seed(hash, values);
            size += (lengths.len() + values.len() + 1) as u64;
        }
        if filled > 0 && (starts || cuts.block_ends_before(filled, size)) {
            ends.push(position);
            filled = 0;
        }
        filled += size;
        if cuts.block_ends_after(filled, size, hash) {
            ends.push(position + 1);
            filled = 0;
        }
        let columns = columns.map(|(lengths, values)| json!({"lengths": hex(&lengths), "values": hex(&values)}));
        rows.push(json!({"starts": starts, "columns": columns, "size": size, "hash": wide(hash)}));
    }
    if filled > 0 {
        ends.push(60);
    }
    let (mut blocks, mut chunk_ends, mut filled, mut sequence, mut last) = (Vec::new(), Vec::new(), 0, 0, 0);
    for position in 0..80 {
        let (starts, size, hash) = (position % 7 == 0, 1 + rng.below(400), rng.next());
        if cuts.chunk_ends_before(filled, size, starts.then_some((sequence, last))) {
            chunk_ends.push(position);
            (filled, sequence) = (0, 0);
        }
        if starts {
            sequence = 0;
        }
        (filled, sequence, last) = (filled + size, sequence + size, hash);
        if cuts.chunk_ends_after(filled, size, hash) {
            chunk_ends.push(position + 1);
            (filled, sequence) = (0, 0);
        }
        blocks.push(json!({"starts": starts, "size": size, "hash": wide(hash)}));
    }
    if filled > 0 {
        chunk_ends.push(80);
    }
    let constants = serde_json::to_value(cuts).unwrap();
    json!({
        "rows_into_blocks": [{"cuts": constants, "rows": rows, "ends": ends}],
        "blocks_into_chunks": [{"cuts": constants, "blocks": blocks, "ends": chunk_ends}],
    })
}

fn locators() -> Value {
    [(TABLE, 1, 0), (TABLE, 2, 5), (COMMIT, 1, Locator::MAX_ROWS - 1), (COMMIT, u64::MAX, 1 << 40)]
        .into_iter()
        .map(|(table, version, row)| {
            let tag = Locator::tag(table.parse().unwrap(), version);
            json!({"table": table, "version": version, "tag": tag, "row": row, "locator": Locator { tag, row }.to_i64()})
        })
        .collect()
}

fn columns_json(columns: &[(ColumnType, Chain)]) -> Value {
    let column = |(ty, chain): &(ColumnType, Chain)| {
        let mut bytes = Vec::new();
        chain.write(&mut bytes);
        json!({"type": ty.to_string(), "chain": hex(&bytes)})
    };
    columns.iter().map(column).collect()
}

/// Returns a block of random rows: encoded, its hash, and the JSON of its content.
fn random_block(rng: &mut Rng, columns: &[(ColumnType, Chain)], rows: usize) -> (EncodedBlock, Hash, Value) {
    let arrays: Vec<_> = columns.iter().map(|(ty, _)| (ty.clone(), column(rng, ty, rows, Taste::SMALL))).collect();
    let pages = canonical_pages(&arrays);
    let hash = logical_block_hash(rows as u32, pages.iter().map(|(ty, _, page)| (ty.as_str(), page)));
    let encoded = columns.iter().zip(&pages).map(|((_, chain), (_, _, page))| encode_page(chain, page).unwrap());
    let holds: Vec<Vec<Value>> = arrays.iter().map(|(ty, array)| plain::values(ty, array)).collect();
    let block = EncodedBlock { rows: rows as u32, pages: encoded.collect() };
    (block, hash, json!({"rows": rows, "hash": hash.to_string(), "holds": holds}))
}

fn block(folder: &Path) {
    let shuffle = Chain::new([Step::Shuffle(4)]).unwrap();
    let columns = [("f32[?,2]".parse().unwrap(), shuffle), ("utf8".parse().unwrap(), Chain::PLAIN)];
    let (block, _, mut says) = random_block(&mut Rng(4), &columns, 6);
    let (seed, ordinal, mut out) = (0xfeed_5eed_0000_0001, 3, Vec::new());
    block.write(ChunkSeed(seed), ordinal, &mut out).unwrap();
    says["seed"] = wide(seed).into();
    says["ordinal"] = ordinal.into();
    says["columns"] = columns_json(&columns);
    fs::write(folder.join("block.bin"), out).unwrap();
    fs::write(folder.join("block.json"), serde_json::to_vec_pretty(&says).unwrap()).unwrap();
}

fn chunk(folder: &Path) {
    let mut rng = Rng(5);
    let chain = |steps: &[Step]| Chain::new(steps).unwrap();
    let columns = [
        ("i64".parse().unwrap(), chain(&[Step::Shuffle(8), Step::Zstd(3)])),
        ("u16[4]".parse().unwrap(), chain(&[Step::Lz4])),
        ("binary".parse().unwrap(), Chain::PLAIN),
        ("list<utf8>".parse().unwrap(), chain(&[Step::Zstd(12)])),
    ];
    let blocks: Vec<_> = [20, 1, 33].into_iter().map(|rows| random_block(&mut rng, &columns, rows)).collect();
    let hashes: Vec<Hash> = blocks.iter().map(|(_, hash, _)| *hash).collect();
    let mut writer = ChunkWriter::new(&columns, &hashes, 0, Salt::NONE).unwrap();
    blocks.iter().for_each(|(block, ..)| writer.push(block).unwrap());
    let chunk = writer.finish();
    let (mut offset, mut says) = (chunk.first_offset, Vec::new());
    for ((_, _, mut block), length) in blocks.into_iter().zip(&chunk.lengths) {
        let bytes = 8 * u64::from(*length);
        block["offset"] = offset.into();
        block["bytes"] = bytes.into();
        offset += bytes;
        says.push(block);
    }
    let says = json!({
        "name": chunk.id.0.to_string(), "seed": wide(chunk.seed.0), "rows": 54, "columns": columns_json(&columns), "blocks": says,
    });
    fs::write(folder.join("chunk.bin"), chunk.bytes).unwrap();
    fs::write(folder.join("chunk.json"), serde_json::to_vec_pretty(&says).unwrap()).unwrap();
}

/// Returns a run of a layout as JSON, with lengths in bytes.
pub(crate) fn run_json(run: &LayoutRun) -> Value {
    let chains: Vec<String> = run
        .chains
        .iter()
        .map(|chain| {
            let mut bytes = Vec::new();
            chain.write(&mut bytes);
            hex(&bytes)
        })
        .collect();
    json!({
        "chunk": run.chunk.0.to_string(), "owner": run.owner, "chunk_bytes": run.chunk_bytes, "seed": wide(run.seed.0),
        "chains": chains, "first_block": run.first_block, "blocks": run.lengths.len(), "first_offset": run.first_offset,
        "rows": run.rows, "lengths": run.lengths.iter().map(|length| 8 * u64::from(length)).collect::<Vec<_>>(),
        "block_rows": run.block_rows.iter().collect::<Vec<_>>(),
        "page_lengths": run.pages.as_ref().map(|_| {
            let page = |block, page| run.page_range(block, page).map(|range| range.end - range.start).unwrap();
            let pages = |block| (0..run.chains.len()).map(|number| page(block, number)).collect::<Vec<_>>();
            (0..run.lengths.len()).map(pages).collect::<Vec<_>>()
        }),
    })
}

/// Writes the manifest of a small table, and the index, layout and hashes that it names.
fn table(folder: &Path) {
    let indexed = type_texts().into_iter().filter(|ty| ty.parse::<ColumnType>().unwrap().is_indexable());
    let builder = Schema::builder().index("log", "utf8").index("time", "i64");
    let builder = indexed.fold(builder, |builder, ty| builder.index(format!("i {ty}"), ty));
    let schema = builder.group("g", [("points", "f32[?,4]"), ("note", "utf8")]).property("points", "unit", "m");
    let schema = schema.sequence_by(["log"]).order_by(["time"]).build().unwrap();
    let mut rng = Rng(6);
    let batches =
        [rows_of(&schema, &mut rng, &[("a", 7), ("b", 1)], Taste::SMALL), rows_of(&schema, &mut rng, &[("c", 9)], Taste::NOISE)];
    let (_, store) = tables::memory();
    let mut manifest = block_on(async {
        let table = tables::write(store.clone(), schema.clone(), cut_by(tables::tiny_cuts()), &batches).await.unwrap();
        table.manifest().clone()
    });
    // These ids are random in each run.
    manifest.table = TABLE.parse().unwrap();
    manifest.commit_id = COMMIT.parse().unwrap();
    let (bytes, hash) = manifest.to_bytes().unwrap();
    let says = json!({
        "version": 1, "name": manifest_name(1), "blake3": hash.to_string(), "rows": manifest.rows(),
        "sequences": manifest.sequences(), "members": serde_json::from_slice::<Value>(&bytes).unwrap(),
    });
    let json = |name: &str, value: Value| fs::write(folder.join(name), serde_json::to_vec_pretty(&value).unwrap()).unwrap();
    fs::write(folder.join("manifest.bin"), bytes).unwrap();
    json("manifest.json", says);
    let segment = &manifest.segments[0];
    let object = |kind: &str, name: String| {
        let bytes = block_on(store.get(&format!("{kind}/{name}.parquet"), 1 << 20)).unwrap();
        fs::write(folder.join(format!("{kind}.parquet")), &bytes).unwrap();
        bytes
    };
    let index = object("index", segment.index.blake3.to_string());
    let all = tables::joined(&batches);
    let columns: Vec<Value> = schema
        .index()
        .map(|column| {
            let values = plain::values(&column.ty, all.column_by_name(&column.name).unwrap());
            json!({"name": column.name, "type": column.ty.to_string(), "values": values})
        })
        .collect();
    let runs: Vec<u32> = read_sequences(&index, segment.rows).unwrap().iter().collect();
    json("index.json", json!({"columns": columns, "runs": runs}));
    let layout = object("layout", segment.groups[0].layout.blake3.to_string());
    let runs = read_layout(layout, 2, segment.rows, 0).unwrap();
    json(
        "layout.json",
        json!({"columns": 2, "rows": segment.rows, "stores": 0, "runs": runs.iter().map(run_json).collect::<Vec<_>>()}),
    );
    let hashes = object("hashes", segment.groups[0].hashes.blake3.to_string());
    let hashes = read_hashes(hashes, segment.groups[0].blocks).unwrap();
    json("hashes.json", json!({"hashes": hashes.iter().map(ToString::to_string).collect::<Vec<_>>()}));
}

/// Writes the manifest of a table whose index has a tail, that index, and copies with one change that must be refused.
fn tails(folder: &Path) {
    let schema = Schema::builder().index("log", "utf8").index("time", "i64").index("weight", "f64").index("kind", "categorical");
    let schema = schema.group("g", [("n", "u32")]).sequence_by(["log"]).order_by(["time"]).build().unwrap();
    let rows = rows_of(&schema, &mut Rng(9), &[("a", 7), ("b", 4)], Taste { nulls: 3, ..Taste::SMALL });
    let (_, store) = tables::memory();
    let options = cut_by(tables::tiny_cuts()).index_tails(IndexTails::All);
    let table = block_on(tables::write(store.clone(), schema.clone(), options, std::slice::from_ref(&rows))).unwrap();
    let mut manifest = table.manifest().clone();
    (manifest.table, manifest.commit_id) = (TABLE.parse().unwrap(), COMMIT.parse().unwrap());
    let (bytes, hash) = manifest.to_bytes().unwrap();
    let segment = &manifest.segments[0];
    let (index, tail) = (&segment.index, segment.tail.as_ref().unwrap());
    let stored = block_on(store.get_exact(&format!("index/{}.parquet", index.blake3), index.bytes)).unwrap();
    let parsed = stored.slice((index.bytes - tail.bytes) as usize..);
    let parsed = IndexTail::parse(&parsed, index.bytes, &schema, segment.rows).unwrap();
    let part = parsed.part(&[0, 1, 2, 3], std::slice::from_ref(&(0..segment.rows)));
    let page =
        |(range, sum): &(Range<u64>, u64)| json!({"offset": range.start, "bytes": range.end - range.start, "sum": wide(*sum)});
    let columns = schema.index().map(|column| {
        let values = plain::values(&column.ty, rows.column_by_name(&column.name).unwrap());
        json!({"name": column.name, "type": column.ty.to_string(), "values": values})
    });
    let runs: Vec<u32> = parsed.sequences().unwrap().iter().collect();
    let says = json!({
        "rows": segment.rows, "tail": {"blake3": tail.blake3.to_string(), "bytes": tail.bytes},
        "pages": part.pages().iter().map(page).collect::<Vec<_>>(), "columns": columns.collect::<Vec<_>>(), "runs": runs,
    });
    fs::write(folder.join("index_tail.json"), serde_json::to_vec_pretty(&says).unwrap()).unwrap();
    fs::write(folder.join("index_tail.parquet"), &stored).unwrap();

    let plain = std::str::from_utf8(&bytes[..bytes.len() - 78]).unwrap().to_owned();
    let with = |old: &str, new: &str| {
        assert_eq!(plain.matches(old).count(), 1, "{old} in {plain}");
        plain.replace(old, new)
    };
    let member = format!("\"tail\":{}", serde_json::to_string(tail).unwrap());
    let says_bytes = |bytes: u64| member.replace(&format!(":{}", tail.bytes), &format!(":{bytes}"));
    let refused = [
        ("tails that are not announced", with("[\"index-tails\"]", "[]")),
        ("announced tails that are not there", with(&format!("{member},"), "")),
        ("a tail without bytes", with(&member, &says_bytes(0))),
        ("a tail as long as its object", with(&member, &says_bytes(index.bytes))),
        ("a tail of null", with(&member, "\"tail\":null")),
        ("a tail without a hash", with(&member, &format!("\"tail\":{{\"bytes\":{}}}", tail.bytes))),
        ("a tail with a member more", with(&member, &member.replace('{', "{\"more\":1,"))),
    ];
    let refused: Vec<Value> = refused.iter().map(|(why, signed)| json!({"why": why, "signed": signed})).collect();
    let says = json!({
        "version": 1, "name": manifest_name(1), "blake3": hash.to_string(), "refused": refused,
        "members": serde_json::from_slice::<Value>(&bytes).unwrap(),
    });
    fs::write(folder.join("manifest_tails.bin"), bytes).unwrap();
    fs::write(folder.join("manifest_tails.json"), serde_json::to_vec_pretty(&says).unwrap()).unwrap();
}

/// Writes an index with bloom filters, and for each filter values that its column has and values that the filter excludes.
fn bloom_filters(folder: &Path) {
    let names = ["log", "id", "small", "negative", "at", "kind"];
    let schema = Schema::builder().index("log", "utf8").index("id", "u64").index("small", "u16").index("negative", "i8");
    let schema = schema.index("at", "timestamp[us]").index("kind", "categorical").group("g", [("n", "u32")]);
    let schema = names.iter().fold(schema, |schema, name| schema.bloom_filter(*name)).sequence_by(["log"]).build().unwrap();
    let rows = rows_of(&schema, &mut Rng(25), &[("a", 7), ("b", 4)], Taste { nulls: 3, ..Taste::SMALL });
    let (_, store) = tables::memory();
    let options = cut_by(tables::tiny_cuts()).index_tails(IndexTails::All);
    let table = block_on(tables::write(store.clone(), schema.clone(), options, std::slice::from_ref(&rows))).unwrap();
    let segment = &table.manifest().segments[0];
    let (index, tail) = (&segment.index, segment.tail.as_ref().unwrap());
    let stored = block_on(store.get_exact(&format!("index/{}.parquet", index.blake3), index.bytes)).unwrap();
    let parsed = stored.slice((index.bytes - tail.bytes) as usize..);
    let parsed = IndexTail::parse(&parsed, index.bytes, &schema, segment.rows).unwrap();
    let filters = parsed.filters(&[0, 1, 2, 3, 4, 5], std::slice::from_ref(&(0..segment.rows)));
    let filters = filters.iter().map(|filter| {
        let range = filter.range();
        let bytes = stored.slice(range.start as usize..range.end as usize);
        let opened = filter.open(&bytes).unwrap();
        let is_text = matches!(names[filter.column()], "log" | "kind");
        let is_excluded = |number: &u32| match is_text {
            true => !opened.may_have(&Bound::Text(format!("no {number}").into_bytes())),
            false => !opened.may_have(&Bound::Integer((*number).into())),
        };
        let json = |number: u32| if is_text { json!(format!("no {number}")) } else { json!(number) };
        let excluded = (0..120).filter(is_excluded).map(json);
        let sum = XxHash3_64::oneshot_with_seed(range.start, &bytes);
        json!({
            "column": names[filter.column()], "offset": range.start, "bytes": range.end - range.start, "sum": wide(sum),
            "excluded": excluded.collect::<Vec<_>>(),
        })
    });
    let columns = schema.index().map(|column| {
        let values = plain::values(&column.ty, rows.column_by_name(&column.name).unwrap());
        json!({"name": column.name, "type": column.ty.to_string(), "values": values})
    });
    let says = json!({
        "rows": segment.rows, "tail": {"blake3": tail.blake3.to_string(), "bytes": tail.bytes},
        "columns": columns.collect::<Vec<_>>(), "filters": filters.collect::<Vec<_>>(),
    });
    fs::write(folder.join("index_filters.json"), serde_json::to_vec_pretty(&says).unwrap()).unwrap();
    fs::write(folder.join("index_filters.parquet"), &stored).unwrap();
}

fn packed(numbers: &[u32]) -> PackedLengths {
    let mut node = Vec::new();
    PackedLengths::write(numbers, &mut node);
    PackedLengths::from_bytes(&node, numbers.len()).unwrap()
}

/// Writes a layout of chunks of two other tables, with and without page lengths; a manifest with every feature; and manifests of
/// an empty table, some of which must be refused.
fn shared(folder: &Path) {
    let json = |name: &str, value: Value| fs::write(folder.join(name), serde_json::to_vec_pretty(&value).unwrap()).unwrap();
    let mut rng = Rng(7);
    let chains: Arc<[Chain]> = [Chain::PLAIN, Chain::new([Step::Pco(NumberType::F32, 8)]).unwrap(), Chain::PLAIN].into();
    let mut run = |owner: u32, blocks: usize, first_block: u32, paged: bool| {
        // The middle page varies most. One run has no page lengths.
        let pages: Vec<Vec<u32>> = (0..blocks).map(|_| vec![4, 2_000 + rng.below(100) as u32, 5 + rng.below(2) as u32]).collect();
        let directory = directory_len(3) as u32 / 8;
        let lengths: Vec<u32> = pages.iter().map(|pages| directory + pages.iter().sum::<u32>()).collect();
        let block_rows: Vec<u32> = (0..blocks).map(|block| 1 + block as u32 % 3).collect();
        let first_offset = 64 + u64::from(first_block) * 4_096;
        LayoutRun {
            chunk: ChunkId(Hash::of(&owner.to_le_bytes())),
            owner,
            chunk_bytes: first_offset + 8 * lengths.iter().map(|length| u64::from(*length)).sum::<u64>() + 48,
            seed: ChunkSeed(rng.next()),
            chains: chains.clone(),
            first_block,
            first_offset,
            rows: block_rows.iter().map(|rows| u64::from(*rows)).sum(),
            lengths: packed(&lengths),
            block_rows: packed(&block_rows),
            pages: paged.then(|| PageLengths::of(&pages).unwrap()),
        }
    };
    let runs = [run(0, 3, 0, true), run(2, 20, 5, true), run(1, 1, 0, false), run(2, 6, 25, false), run(0, 1, 9, true)];
    let rows: u64 = runs.iter().map(|run| run.rows).sum();
    fs::write(folder.join("layout_shared.parquet"), LayoutWriter::write(&runs).unwrap()).unwrap();
    json(
        "layout_shared.json",
        json!({"columns": 3, "rows": rows, "stores": 2, "runs": runs.iter().map(run_json).collect::<Vec<_>>()}),
    );

    let schema = Schema::builder().index("log", "categorical").index("time", "i64");
    let schema = schema.group("a", [("x", "f32"), ("y", "utf8")]).group("b", [("y", "utf8"), ("z", "u8[?]")]).build().unwrap();
    let rows = rows_of(&schema, &mut rng, &[("a", 4)], Taste::SMALL);
    let (empty, manifest) = block_on(async {
        let write = |rows| tables::write(tables::memory().1, schema.clone(), cut_by(tables::tiny_cuts()), rows);
        (write(&[]).await.unwrap().manifest().clone(), write(&[rows]).await.unwrap().manifest().clone())
    });
    let mut groups = schema.groups().to_vec();
    groups[0].masked = vec![groups[0].columns[1]];
    let index = schema.index().map(|column| column.id).collect();
    let masked = Schema::from_parts(schema.columns().to_vec(), groups, index, vec![], vec![]).unwrap();
    let object = |bytes: &[u8]| ObjectRef { blake3: Hash::of(bytes), bytes: bytes.len() as u64 };
    let store = |table: &str, version: u64, urls: &[&str]| ForeignTable {
        table: table.parse().unwrap(),
        version,
        blake3: Hash::of(table.as_bytes()),
        urls: urls.iter().map(|url| (*url).to_owned()).collect(),
    };
    let condemned = ["attachments", "chunks", "hashes", "index", "joins", "layout"];
    let condemned = condemned.map(|folder| Condemned { folder: folder.to_owned(), object: object(folder.as_bytes()) });
    let manifest = Manifest {
        table: TABLE.parse().unwrap(),
        version: 2,
        parent: Some(Parent { version: 1, blake3: Hash::of(b"parent") }),
        commit_id: COMMIT.parse().unwrap(),
        schema: masked,
        stores: vec![store(COMMIT, u64::MAX, &["../sensors", "s3://bucket/sensors"]), store(TABLE, 1, &["file:///old"])],
        condemned: condemned.into(),
        deleting: None,
        write_features: vec!["of a later writer".to_owned()],
        view: None,
        attachments: [("map".to_owned(), object(b"a map"))].into(),
        properties: [("licence".to_owned(), json!("CC0"))].into(),
        ..manifest
    };
    let (bytes, hash) = manifest.to_bytes().unwrap();
    let masked: Vec<_> = manifest.schema.groups().iter().map(|group| &group.masked).collect();
    let says = json!({
        "version": 2, "name": manifest_name(2), "blake3": hash.to_string(), "masked": masked,
        "members": serde_json::from_slice::<Value>(&bytes).unwrap(),
    });
    fs::write(folder.join("manifest_shared.bin"), bytes).unwrap();
    json("manifest_shared.json", says);
    views(folder, &manifest, &store);
    tagged(folder, &empty);
    deleting(folder, &empty);
    collections(folder, &empty);
    json("manifests.json", manifests(Manifest { table: TABLE.parse().unwrap(), commit_id: COMMIT.parse().unwrap(), ..empty }));
}

/// Writes the third manifest of an empty table with tags and with ids of dropped columns, and copies with one change that must be
/// refused.
fn tagged(folder: &Path, empty: &Manifest) {
    let (schema, _) = empty.schema.without(&["z"]).unwrap();
    let manifest = Manifest {
        table: TABLE.parse().unwrap(),
        version: 3,
        parent: Some(Parent { version: 2, blake3: Hash::of(b"parent") }),
        commit_id: COMMIT.parse().unwrap(),
        schema,
        tags: [("gold".to_owned(), 2), ("v1.0_b-1".to_owned(), 1), ("first".to_owned(), 1)].into(),
        ..empty.clone()
    };
    let (bytes, hash) = manifest.to_bytes().unwrap();
    let plain = std::str::from_utf8(&bytes[..bytes.len() - 78]).unwrap().to_owned();
    let with = |old: &str, new: &str| {
        assert_eq!(plain.matches(old).count(), 1, "{old} in {plain}");
        plain.replace(old, new)
    };
    let next = format!("\"next_column\":{}", schema_next(&manifest));
    let refused = [
        ("tags that are not announced", with("[\"next-column\",\"tags\"]", "[\"next-column\"]")),
        ("a next column that is not announced", with("[\"next-column\",\"tags\"]", "[\"tags\"]")),
        ("announced tags that are not there", with("\"tags\":{\"first\":1,\"gold\":2,\"v1.0_b-1\":1},", "")),
        ("an announced next column that is not there", with(&format!("{next},"), "")),
        ("a tag of the version itself", with("\"gold\":2", "\"gold\":3")),
        ("a tag of version 0", with("\"gold\":2", "\"gold\":0")),
        ("a tag of digits alone", with("\"gold\"", "\"12\"")),
        ("a tag without a name", with("\"gold\"", "\"\"")),
        ("a tag with a slash", with("\"gold\"", "\"g/d\"")),
        ("a tag of 65 letters", with("\"gold\"", &format!("\"{}\"", "g".repeat(65)))),
        ("a tag twice", with("\"gold\":2", "\"gold\":2,\"gold\":2")),
        ("tags in a list", with("{\"first\":1,\"gold\":2,\"v1.0_b-1\":1}", "[\"gold\"]")),
        ("a next column that is in use", with(&next, "\"next_column\":2")),
        ("a next column that follows anyhow", with(&next, &format!("\"next_column\":{}", schema_next(&manifest) - 1))),
        ("a next column beyond 32 bits", with(&next, "\"next_column\":4294967296")),
    ];
    let refused: Vec<Value> = refused.iter().map(|(why, signed)| json!({"why": why, "signed": signed})).collect();
    let says = json!({
        "version": 3, "name": manifest_name(3), "blake3": hash.to_string(), "refused": refused,
        "members": serde_json::from_slice::<Value>(&bytes).unwrap(),
    });
    fs::write(folder.join("manifest_tags.bin"), bytes).unwrap();
    fs::write(folder.join("manifest_tags.json"), serde_json::to_vec_pretty(&says).unwrap()).unwrap();
}

/// Writes the third manifest of an empty table, which condemns objects and marks them for deletion, and copies with one change
/// that must be refused.
fn deleting(folder: &Path, empty: &Manifest) {
    let object = |folder: &str, text: &str| {
        let object = ObjectRef { blake3: Hash::of(text.as_bytes()), bytes: text.len() as u64 };
        Condemned { folder: folder.to_owned(), object }
    };
    let manifest = Manifest {
        table: TABLE.parse().unwrap(),
        version: 3,
        parent: Some(Parent { version: 2, blake3: Hash::of(b"parent") }),
        commit_id: COMMIT.parse().unwrap(),
        condemned: vec![object("chunks", "one"), object("layout", "two")],
        deleting: Some(vec![object("chunks", "three"), object("hashes", "one")]),
        ..empty.clone()
    };
    let (bytes, hash) = manifest.to_bytes().unwrap();
    let plain = std::str::from_utf8(&bytes[..bytes.len() - 78]).unwrap().to_owned();
    let with = |old: &str, new: &str| {
        assert_eq!(plain.matches(old).count(), 1, "{old} in {plain}");
        plain.replace(old, new)
    };
    let list = |list: &[Condemned]| serde_json::to_string(list).unwrap();
    let (condemned, marked) = (list(&manifest.condemned), list(manifest.deleting.as_deref().unwrap()));
    let both = "[\"condemned\",\"deleting\"]";
    let refused = [
        ("marks that are not announced", with(both, "[\"condemned\"]")),
        ("announced marks that are not there", with(&format!("\"deleting\":{marked},"), "")),
        ("condemned objects that are not announced", with(both, "[\"deleting\"]")),
        ("an object that is condemned and marked", with(&marked, &condemned)),
        ("an object that is marked twice", with(&marked, &list(&[object("chunks", "three"), object("chunks", "three")]))),
        ("an object that is condemned twice", with(&condemned, &list(&[object("chunks", "one"), object("chunks", "one")]))),
        ("a marked manifest", with(&marked, &marked.replace("\"hashes\"", "\"manifests\""))),
        ("marks in an object", with(&marked, "{}")),
        ("a mark that is a name", with(&marked, "[\"chunks/aa/bb\"]")),
        ("a mark without a size", with(&marked, &marked.replace(",\"bytes\":5", ""))),
    ];
    let refused: Vec<Value> = refused.iter().map(|(why, signed)| json!({"why": why, "signed": signed})).collect();
    let says = json!({
        "version": 3, "name": manifest_name(3), "blake3": hash.to_string(), "refused": refused,
        "members": serde_json::from_slice::<Value>(&bytes).unwrap(),
    });
    fs::write(folder.join("manifest_deleting.bin"), bytes).unwrap();
    fs::write(folder.join("manifest_deleting.json"), serde_json::to_vec_pretty(&says).unwrap()).unwrap();
}

/// Writes the ninth manifest of an empty table, which has what garbage collections have decided, the same with its lists in an object, and
/// copies with one change that must be refused.
fn collections(folder: &Path, empty: &Manifest) {
    let hash = |text: &str| Hash::of(text.as_bytes());
    let given_up = |folder: &str, text: &str, at: u64| GivenUp {
        object: Condemned { folder: folder.to_owned(), object: ObjectRef { blake3: hash(text), bytes: text.len() as u64 } },
        at,
    };
    let ancestor = |version: u64, session: Option<&str>| Ancestor {
        version,
        blake3: hash(&format!("version {version}")),
        commit_id: Uuid::from_u128(version.into()),
        session: session.map(|session| session.parse().unwrap()),
    };
    let lists = Lists {
        kept: vec![Kept { version: 1, blake3: hash("version 1") }, Kept { version: 4, blake3: hash("version 4") }],
        expired: vec![
            Expired { version: 3, blake3: hash("version 3"), at: 4 },
            Expired { version: 6, blake3: hash("version 6"), at: 7 },
        ],
        condemned: vec![given_up("chunks", "one", 0), given_up("collections", "two", 7), given_up("layout", "three", 4)],
    };
    let made = |lists: StoredLists| Manifest {
        table: TABLE.parse().unwrap(),
        version: 9,
        parent: Some(Parent { version: 8, blake3: hash("version 8") }),
        commit_id: COMMIT.parse().unwrap(),
        collections: Some(Collections {
            floor: 4,
            last: 7,
            session: Some(COMMIT.parse().unwrap()),
            recent: vec![ancestor(8, Some(TABLE)), ancestor(6, None)],
            lists,
        }),
        ..empty.clone()
    };
    let manifest = made(StoredLists::Here(lists.clone()));
    let (bytes, digest) = manifest.to_bytes().unwrap();
    let plain = std::str::from_utf8(&bytes[..bytes.len() - 78]).unwrap().to_owned();
    let with = |old: &str, new: &str| {
        assert_eq!(plain.matches(old).count(), 1, "{old} in {plain}");
        plain.replace(old, new)
    };
    let kept = serde_json::to_string(&lists.kept).unwrap();
    let expired = serde_json::to_string(&lists.expired).unwrap();
    let condemned = serde_json::to_string(&lists.condemned).unwrap();
    let recent = serde_json::to_string(&manifest.collections.as_ref().unwrap().recent).unwrap();
    let reversed = |list: &str| {
        let mut list: Vec<Value> = serde_json::from_str(list).unwrap();
        list.reverse();
        Value::from(list).to_string()
    };
    let refused = [
        ("collections that are not announced", with("[\"collections\"]", "[]")),
        (
            "condemned objects of another build",
            with("\"condemned\":[],\"coll", &format!("\"condemned\":{},\"coll", { json!([lists.condemned[0].object]) }))
                .replace("[\"collections\"]", "[\"collections\",\"condemned\"]"),
        ),
        ("a floor above the last collection", with("\"floor\":4", "\"floor\":8")),
        ("a floor that is the version", with("\"floor\":4,\"last\":7", "\"floor\":9,\"last\":9")),
        ("a collection in the future", with("\"last\":7", "\"last\":10")),
        ("no ancestors", with(&recent, "[]")),
        ("ancestors without the parent", with("\"recent\":[{\"version\":8", "\"recent\":[{\"version\":7")),
        ("ancestors in rising order", with(&recent, &reversed(&recent))),
        (
            "a parent with another hash",
            with(
                &format!("\"recent\":[{{\"version\":8,\"blake3\":\"{}\"", hash("version 8")),
                &format!("\"recent\":[{{\"version\":8,\"blake3\":\"{}\"", hash("another"),),
            ),
        ),
        ("a session that is null", with(&format!("\"session\":\"{COMMIT}\""), "\"session\":null")),
        ("kept versions in falling order", with(&kept, &reversed(&kept))),
        ("a kept version above the floor", with("{\"version\":4,", "{\"version\":5,")),
        ("a version that is kept and expired", with("{\"version\":3,", "{\"version\":4,")),
        ("a version that expired before it was made", with("\"at\":7}],\"condemned\"", "\"at\":6}],\"condemned\"")),
        ("a version that expires later", with("\"at\":7}],\"condemned\"", "\"at\":10}],\"condemned\"")),
        ("expired versions in falling order", with(&expired, &reversed(&expired))),
        ("condemned objects that are not sorted", with(&condemned, &reversed(&condemned))),
        ("a condemned manifest", with("\"folder\":\"collections\"", "\"folder\":\"manifests\"")),
        ("an object that is condemned later", with("\"at\":4}]}", "\"at\":10}]}")),
        ("no condemned objects", with(&format!(",\"condemned\":{condemned}"), "")),
        (
            "lists beside lists",
            with(
                &format!(",\"condemned\":{condemned}"),
                &format!(",\"condemned\":{condemned},\"lists\":{{\"blake3\":\"{}\",\"bytes\":1}}", hash("one"),),
            ),
        ),
    ];
    let refused: Vec<Value> = refused.iter().map(|(why, signed)| json!({"why": why, "signed": signed})).collect();
    let object = lists.to_bytes(7).unwrap();
    let stored = made(StoredLists::Object(ObjectRef::of(&object)));
    let (stored, _) = stored.to_bytes().unwrap();
    let says = json!({
        "version": 9, "name": manifest_name(9), "blake3": digest.to_string(), "refused": refused,
        "members": serde_json::from_slice::<Value>(&bytes).unwrap(),
        "object": std::str::from_utf8(&object).unwrap(),
        "name_of_object": ObjectRef::of(&object).name_in("collections"),
        "signed_with_object": std::str::from_utf8(&stored[..stored.len() - 78]).unwrap(),
    });
    fs::write(folder.join("manifest_collections.bin"), bytes).unwrap();
    fs::write(folder.join("manifest_collections.json"), serde_json::to_vec_pretty(&says).unwrap()).unwrap();
}

/// Returns the id of the next new column of a table whose last column was dropped.
fn schema_next(manifest: &Manifest) -> u32 {
    manifest.schema.columns().iter().map(|column| column.id.0).max().unwrap() + 2
}

/// Writes the manifest of a view, copies with one change that must be refused, and lists of rows.
fn views(folder: &Path, manifest: &Manifest, store: &dyn Fn(&str, u64, &[&str]) -> ForeignTable) {
    let object = |bytes: &[u8]| ObjectRef { blake3: Hash::of(bytes), bytes: bytes.len() as u64 };
    let schema = Schema::builder().index("log", "utf8").index("_row_0", "i64").index("_row_1", "i64").build().unwrap();
    let column = |id: u32, name: &str, ty: &str| ViewColumn { id: ColumnId(id), name: name.to_owned(), ty: ty.parse().unwrap() };
    let index = vec![ViewIndexColumn { id: ColumnId(0), name: "log".to_owned() }];
    let statistics = (0..3).map(|id| IndexStatistics { column: ColumnId(id), min: None, max: None, nulls: 0 }).collect();
    let segment = Segment {
        first_row: 0,
        rows: 5,
        sequences: 1,
        continues: false,
        index: object(b"index"),
        tail: None,
        statistics,
        groups: Vec::new(),
    };
    let sources = vec![
        ViewSource {
            store: 1,
            rows: 7,
            row: ColumnId(1),
            base: 0,
            join: None,
            lists: None,
            columns: vec![column(2, "pose", "f64[3,3]"), column(3, "note", "utf8")],
            index,
        },
        ViewSource {
            store: 2,
            rows: 9,
            row: ColumnId(2),
            base: 0,
            join: Some(object(b"join")),
            lists: Some(object(b"lists")),
            columns: vec![column(2, "track", "u32")],
            index: Vec::new(),
        },
    ];
    let view = Manifest {
        version: 1,
        parent: None,
        schema,
        segments: vec![segment],
        stores: vec![store(COMMIT, 3, &["../sensors"]), store(COMMIT, 4, &["../tracks"])],
        condemned: Vec::new(),
        deleting: None,
        write_features: Vec::new(),
        view: Some(View { sources }),
        attachments: Default::default(),
        ..manifest.clone()
    };
    let (bytes, hash) = view.to_bytes().unwrap();
    let plain = std::str::from_utf8(&bytes[..bytes.len() - 78]).unwrap().to_owned();
    let with = |old: &str, new: &str| {
        assert_eq!(plain.matches(old).count(), 1, "{old} in {plain}");
        plain.replace(old, new)
    };
    let sources = plain[plain.find("\"sources\":[").unwrap()..].to_owned();
    let join = format!("\"join\":{}", serde_json::to_string(&object(b"join")).unwrap());
    let refused = [
        ("a view that is not announced", with("[\"references\",\"views\"]", "[\"references\"]")),
        ("no member for the view", with(&format!(",\"view\":{{{sources}"), "")),
        ("null for the view", with(&format!("\"view\":{{{sources}"), "\"view\":null")),
        ("no sources", with(&sources, "\"sources\":[]}")),
        ("the store before the first", with("{\"store\":1,", "{\"store\":0,")),
        ("a store behind the last", with("{\"store\":2,", "{\"store\":3,")),
        ("a base with a join map", with("\"row\":2,\"base\":0,", "\"row\":2,\"base\":1,")),
        ("a base that is no source", with("\"row\":2,\"base\":0,", "\"row\":2,\"base\":2,")),
        ("a base behind", with("\"row\":1,\"base\":0,", "\"row\":1,\"base\":1,")),
        ("no join map", with(&join, "\"join\":null")),
        ("a row column of two sources", with("\"row\":2,", "\"row\":1,")),
        ("text as a row column", with("\"row\":2,", "\"row\":0,")),
        ("a name twice", with("\"name\":\"note\",\"type\":\"utf8\"", "\"name\":\"pose\",\"type\":\"utf8\"")),
        ("an id twice", with("{\"id\":3,\"name\":\"note\"", "{\"id\":2,\"name\":\"note\"")),
        ("one name of two types", with("\"name\":\"track\",\"type\":\"u32\"", "\"name\":\"note\",\"type\":\"utf8\"")),
        ("an unknown type", with("\"type\":\"u32\"", "\"type\":\"u128\"")),
        ("a sequence of its own", with("\"sequence_by\":[]", "\"sequence_by\":[0]")),
    ];
    let refused: Vec<Value> = refused.iter().map(|(why, signed)| json!({"why": why, "signed": signed})).collect();
    let says = json!({
        "name": manifest_name(1), "blake3": hash.to_string(), "members": serde_json::from_slice::<Value>(&bytes).unwrap(),
        "types": {"pose": "f64[3,3]", "note": "utf8", "track": "list<u32>"}, "refused": refused,
    });
    fs::write(folder.join("manifest_view.bin"), bytes).unwrap();
    let json = |name: &str, value: Value| fs::write(folder.join(name), serde_json::to_vec_pretty(&value).unwrap()).unwrap();
    json("manifest_view.json", says);
    let firsts = [Some(0), Some(0), None, Some(3), Some(3), Some(0)];
    fs::write(folder.join("lists.parquet"), write_join(&firsts, Salt::NONE).unwrap()).unwrap();
    let wrong = [vec![Some(1), Some(1)], vec![Some(0), None, Some(1)], vec![None, Some(0)]];
    let wrong: Vec<Value> =
        wrong.iter().map(|firsts| json!({"firsts": firsts, "file": hex(&write_join(firsts, Salt::NONE).unwrap())})).collect();
    json("lists.json", json!({"firsts": firsts, "refused": wrong}));
}

/// Returns manifests of an empty table without their hash, each with one change.
fn manifests(empty: Manifest) -> Value {
    let (bytes, _) = empty.to_bytes().unwrap();
    let plain = std::str::from_utf8(&bytes[..bytes.len() - 78]).unwrap().to_owned();
    let with = |old: &str, new: &str| {
        assert_eq!(plain.matches(old).count(), 1, "{old} in {plain}");
        plain.replace(old, new)
    };
    let no_object = format!("{{\"blake3\":\"{}\",\"bytes\":", Hash::of(b""));
    let store = |urls: &str| {
        let hash = Hash::of(b"");
        format!("\"stores\":[{{\"table\":\"{COMMIT}\",\"version\":1,\"blake3\":\"{hash}\",\"urls\":{urls}}}]")
    };
    let nested = |depth: usize| format!("\"lineage\":{}{}", "[".repeat(depth), "]".repeat(depth));
    let lineage = format!("\"lineage\":{}", serde_json::to_string(&empty.lineage).unwrap());
    let announced = |text: String, features: &str| text.replace("_features\":[]", &format!("_features\":[{features}]"));
    let taken = vec![
        ("nothing", plain.clone()),
        ("a member that nobody knows", with("\"properties\":{}", "\"properties\":{},\"later\":[1,2]")),
        ("blanks", with("\"format\":1", " \"format\" : 1 ")),
        ("escapes", with("\"format\":1", "\"form\\u0061t\":1")),
        ("nested 127 deep", with(&lineage, &nested(126))),
        ("an unknown write feature", with("\"write_features\":[]", "\"write_features\":[\"views\"]")),
        ("references", announced(with("\"stores\":[]", &store("[\"../x\"]")), "\"references\"")),
        (
            "sizes of 2^64 - 1 in all",
            with(
                "\"attachments\":{}",
                &format!("\"attachments\":{{\"a\":{no_object}18446744073709551614}},\"b\":{no_object}1}}}}"),
            ),
        ),
    ];
    let refused = vec![
        ("format 2", with("\"format\":1", "\"format\":2")),
        ("format 1.0", with("\"format\":1", "\"format\":1.0")),
        ("a member twice", with("\"format\":1", "\"format\":1,\"format\":1")),
        ("a member twice, spelt otherwise", with("\"format\":1", "\"format\":1,\"form\\u0061t\":1")),
        ("a member twice, deep in the properties", with("\"properties\":{}", "\"properties\":{\"a\":[{\"b\":1,\"b\":1}]}")),
        ("a member twice that nobody knows", with("\"properties\":{}", "\"properties\":{},\"later\":1,\"later\":2")),
        ("nested 128 deep", with(&lineage, &nested(127))),
        ("NaN", with("\"properties\":{}", "\"properties\":{\"a\":NaN}")),
        ("a number beyond 64 bits", with("\"properties\":{}", "\"properties\":{\"a\":1e999}")),
        ("half a surrogate pair", with("\"properties\":{}", "\"properties\":{\"a\":\"\\ud800\"}")),
        ("no list of stores", with("\"stores\":[],", "")),
        ("an unknown read feature", with("\"read_features\":[]", "\"read_features\":[\"views\"]")),
        ("features out of order", with("\"write_features\":[]", "\"write_features\":[\"b\",\"a\"]")),
        ("a feature twice", with("\"write_features\":[]", "\"write_features\":[\"a\",\"a\"]")),
        ("references that are not announced", with("\"stores\":[]", &store("[\"../x\"]"))),
        (
            "references announced to readers only",
            with("\"stores\":[]", &store("[\"../x\"]")).replace("\"read_features\":[]", "\"read_features\":[\"references\"]"),
        ),
        ("announced references that are not there", announced(plain.clone(), "\"references\"")),
        ("announced masked copies that are not there", with("\"read_features\":[]", "\"read_features\":[\"masked-copies\"]")),
        ("announced condemned objects that are not there", with("\"write_features\":[]", "\"write_features\":[\"condemned\"]")),
        ("a store without a URL", announced(with("\"stores\":[]", &store("[]")), "\"references\"")),
        ("a store with an empty URL", announced(with("\"stores\":[]", &store("[\"\"]")), "\"references\"")),
        ("itself as a store", announced(with("\"stores\":[]", &store("[\"../x\"]").replace(COMMIT, TABLE)), "\"references\"")),
        (
            "a condemned manifest",
            with("\"condemned\":[]", &format!("\"condemned\":[{{\"folder\":\"manifests\",{}1}}]", &no_object[1..]))
                .replace("\"write_features\":[]", "\"write_features\":[\"condemned\"]"),
        ),
        (
            "sizes of 2^64 in all",
            with(
                "\"attachments\":{}",
                &format!("\"attachments\":{{\"a\":{no_object}18446744073709551615}},\"b\":{no_object}1}}}}"),
            ),
        ),
        (
            "a reference with another member",
            with("\"attachments\":{}", &format!("\"attachments\":{{\"a\":{no_object}1,\"x\":1}}}}")),
        ),
        ("an unknown cut", with("\"block_min\":", "\"x\":1,\"block_min\":")),
        (
            "a column masked in all groups",
            with("{\"name\":\"a\",", "{\"name\":\"a\",\"masked\":[2],")
                .replace("\"read_features\":[]", "\"read_features\":[\"masked-copies\"]"),
        ),
        ("a property without a name", with("\"properties\":{}", "\"properties\":{\"\":1}")),
        ("one row", with("\"rows\":0", "\"rows\":1")),
    ];
    let list = |cases: Vec<(&str, String)>| {
        cases.into_iter().map(|(why, signed)| json!({"why": why, "signed": signed})).collect::<Vec<_>>()
    };
    json!({"taken": list(taken), "refused": list(refused)})
}
