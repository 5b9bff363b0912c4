//! Replays the corpus of the fuzz targets without a fuzzer: the same functions run on the committed files, whole, cut, and with
//! changed bytes. Inputs that a fuzzer found are part of the corpus.

use crate::common;
use crate::targets;
use std::{fs, path::PathBuf};

use crate::common::tables::{self, Rng, Taste, block_on, column, cut_by, memory, rows_of, tiny_cuts, two_partitions};
use crate::targets::{CHAINS, CONFIG_NUMBERS, TARGETS, TYPES, index_schemas, sign_block};
use arrow_array::{ArrayRef, RecordBatch};
use bytes::Bytes;
use tetrys::{
    Preset, Schema, Store, WriteOptions,
    codec::Chain,
    format::{
        BlockDirectory, ChunkDirectory, ChunkHeader, ChunkSeed, EncodedBlock, IndexWriter, LayoutRun, LayoutWriter, Manifest,
        PageLengths, PagePlace, Pin, PinOwner, decode_page, directory_len, encode_page, page_range, read_layout, write_join,
    },
    id::{Hash, Salt},
    schema::BLOOM_FILTER,
};
use tetrys_l5::zarr::blosc;

fn folder(target: &str) -> PathBuf {
    common::root().join("fuzz/corpus").join(target)
}

fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder(target)).unwrap_or_else(|error| panic!("fuzz/corpus/{target}: {error}"));
    let mut files: Vec<_> = entries
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn every_file_of_the_corpus_keeps_the_promises_of_its_target() {
    for (target, run) in TARGETS {
        let files = corpus(target);
        assert!(files.len() >= 12, "{target}: {} files", files.len());
        for (name, bytes) in &files {
            println!("fuzz/corpus/{target}/{name}");
            assert!(bytes.len() <= 16 << 10, "{} bytes, a seed is small", bytes.len());
            run(bytes);
        }
    }
}

#[test]
fn some_manifest_of_the_corpus_marks_objects_for_deletion() {
    let sound = corpus("manifest").into_iter().filter_map(|(_, bytes)| Manifest::parse(&targets::with_tail(&bytes[1..]), 1).ok());
    assert!(sound.into_iter().any(|(manifest, _)| manifest.deleting.is_some_and(|marks| !marks.is_empty())));
}

#[test]
fn the_files_of_the_corpus_cut_and_changed_keep_the_promises_too() {
    let mut rng = Rng(common::seed());
    let mut runs = 0;
    for (target, run) in TARGETS {
        let files = corpus(target);
        for _ in 0..common::cases(400) {
            let (name, bytes) = rng.pick(&files);
            let mut bytes = bytes.clone();
            for _ in 0..=rng.below(4) {
                let at = rng.below(bytes.len() as u64) as usize;
                match rng.below(5) {
                    0 => bytes.truncate(at),
                    1 if at < bytes.len() => bytes[at] = *rng.pick(&[0, 1, 2, 0x7f, 0x80, 0xff]),
                    2 if at + 4 <= bytes.len() => bytes[at..at + 4].copy_from_slice(&rng.pick(&EXTREMES).to_le_bytes()[..4]),
                    3 if at + 8 <= bytes.len() => bytes[at..at + 8].copy_from_slice(&rng.pick(&EXTREMES).to_le_bytes()),
                    _ if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
                    _ => {}
                }
            }
            println!("fuzz/corpus/{target}/{name}, changed: {bytes:02x?}");
            run(&bytes);
            runs += 1;
        }
    }
    println!("{runs} changed files");
}

const EXTREMES: [u64; 8] = [0, 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, u64::MAX];

// -------------------------------------------------------------------------------------------------------------------- seeds

/// Writes the seeds again: `cargo test --test format fuzz_corpus -- --ignored`. Files that a fuzzer added stay.
#[test]
#[ignore = "writes into fuzz/corpus"]
fn the_seeds_are_made_of_real_objects() {
    let mut rng = Rng(1);
    save("manifest", manifests());
    let (indexes, tails) = indexes(&mut rng);
    save("index", indexes);
    save("tail", tails);
    let (layouts, hashes, chunks) = objects(&mut rng);
    save("layout", layouts);
    save("hashes", hashes);
    save("block", blocks(&chunks));
    save("chunk", chunks);
    save("join", joins(&mut rng));
    save("pin", pins());
    save("codec", codecs(&mut rng));
    save("text", texts());
    save("blosc", containers(&mut rng));
    save("zarray", zarrays());
    save("semantic_map", semantic_maps());
    save("l5_config", configurations());
}

fn save(target: &str, seeds: Vec<Vec<u8>>) {
    fs::create_dir_all(folder(target)).unwrap();
    for (number, seed) in seeds.into_iter().enumerate() {
        fs::write(folder(target).join(format!("seed-{number:02}")), seed).unwrap();
    }
}

fn stored(schema: Schema, options: WriteOptions, partitions: &[RecordBatch]) -> Store {
    let (_, store) = memory();
    block_on(tables::write(store.clone(), schema, options, partitions)).unwrap();
    store
}

/// Returns a schema with one group for each type.
fn every_type(types: &[&str]) -> Schema {
    let builder = Schema::builder().index("log", "utf8").index("time", "i64");
    let builder = (0..)
        .zip(types)
        .fold(builder, |builder, (number, ty)| builder.group(format!("g{number}"), [(format!("c{number}"), *ty)]));
    builder.sequence_by(["log"]).order_by(["time"]).build().unwrap()
}

fn manifests() -> Vec<Vec<u8>> {
    let body = |store: &Store| {
        let objects = block_on(tables::objects(store));
        let (_, bytes) = objects.iter().find(|(name, _)| name.starts_with("manifests/")).unwrap();
        String::from_utf8(bytes[..bytes.len() - 78].to_vec()).unwrap()
    };
    let mut seeds = Vec::new();
    let (schema, partitions) = two_partitions(1);
    let sensors = body(&stored(schema, cut_by(tiny_cuts()), &partitions));
    for types in TYPES.chunks(4) {
        let schema = every_type(types);
        let rows = rows_of(&schema, &mut Rng(2), &[("a", 4), ("b", 2)], Taste::NOISE);
        seeds.push(body(&stored(schema, WriteOptions::default(), &[rows])));
    }
    let parent = format!("\"parent\":{{\"version\":1,\"blake3\":\"{}\"}}", "ab".repeat(32));
    let second = sensors.replace("\"version\":1", "\"version\":2").replace("\"parent\":null", &parent);
    let member = |text: &str| sensors.replace("\"properties\":{}", &format!("\"properties\":{text}"));
    for text in [
        r#"{"a":[1,-1,0.1,1e300,18446744073709551615,null,true,"\u00e9\ud83d\ude97"]}"#,
        r#"{"deep":[[[[[[[[{"a":{"b":{"c":[]}}}]]]]]]]]}"#,
        r#"{"a":1,"a":2}"#,
    ] {
        seeds.push(member(text));
    }
    for (from, to) in [
        ("\"read_features\":[]", "\"read_features\":[\"views\"]"),
        ("\"write_features\":[]", "\"write_features\":[\"condemned\",\"views\"]"),
        ("\"format\":1", "\"format\":2"),
        ("\"stores\":[]", "\"stores\":[{}]"),
        ("\"write_features\":[]", "\"write_features\":[\"views\"]"),
        ("\"attachments\":{}", &format!("\"attachments\":{{\"map\":{{\"blake3\":\"{}\",\"bytes\":7}}}}", "0".repeat(64))),
    ] {
        seeds.push(sensors.replace(from, to));
    }
    let others = with_others(&sensors);
    let [.., deleting] = &others;
    let parsed = Manifest::parse(&targets::with_tail(deleting.as_bytes()), 1).unwrap().0;
    assert_eq!(parsed.deleting.map(|marks| marks.len()), Some(1), "a seed has marks");
    seeds.extend(others);
    seeds.push(sensors);
    let mut seeds: Vec<Vec<u8>> = seeds.into_iter().map(|body| [b"\0", body.as_bytes()].concat()).collect();
    seeds.push([b"\x01", second.as_bytes()].concat());
    seeds
}

/// Returns four manifests with the required features: with stores, with condemned objects, with masked copies, and with objects
/// that are being deleted.
fn with_others(manifest: &str) -> [String; 4] {
    let digits = "ab".repeat(32);
    let table = "00000000-0000-0000-0000-000000000007";
    let stores = format!(r#""stores":[{{"table":"{table}","version":3,"blake3":"{digits}","urls":["../a","s3://b/c"]}}]"#);
    let condemned = format!(r#""condemned":[{{"folder":"chunks","blake3":"{digits}","bytes":1}}]"#);
    let announced = |list: &str, feature: &str, text: &str| {
        text.replace(&format!("\"{list}_features\":[]"), &format!("\"{list}_features\":[\"{feature}\"]"))
    };
    // The first group with its first column masked, and another group with that column.
    let group = r#"{"name":"camera","columns":[3,4]}"#;
    let masked = r#"{"name":"camera","columns":[3,4],"masked":[3]},{"name":"again","columns":[3]}"#;
    let stored = manifest.split_once("\"groups\":[{\"layout\"").map(|(_, rest)| rest.split_once("]},").map(|(group, _)| group));
    let stored = format!("{{\"layout\"{}]}}", stored.flatten().unwrap());
    let one_column = stored.split_once(",{\"stored\"").map_or(stored.clone(), |(first, _)| format!("{first}]}}"));
    let with_group = manifest.replace(group, masked).replace(&stored, &format!("{stored},{one_column}"));
    [
        announced("write", "references", &announced("read", "references", &manifest.replace("\"stores\":[]", &stores))),
        announced("write", "condemned", &manifest.replace("\"condemned\":[]", &condemned)),
        announced("read", "masked-copies", &with_group),
        announced(
            "write",
            "condemned\",\"deleting",
            &manifest.replace(
                "\"condemned\":[]",
                &format!("{condemned},{}", condemned.replace("condemned", "deleting").replace("chunks", "hashes")),
            ),
        ),
    ]
}

/// Returns index segments, without and with tails.
fn indexes(rng: &mut Rng) -> (Seeds, Seeds) {
    let (mut seeds, mut tails) = (Vec::new(), Vec::new());
    for (which, schema) in (0_u8..).zip(index_schemas()) {
        for (rows, taste) in [
            (1, Taste::SMALL),
            (2, Taste::NOISE),
            (9, Taste::NOISE),
            (40, Taste::SMALL),
            (200, Taste { nulls: 1, ..Taste::SMALL }),
        ] {
            let columns = schema.index().map(|described| (described.name.as_str(), column(rng, &described.ty, rows, taste)));
            let columns: Vec<(&str, ArrayRef)> = columns.collect();
            let batch =
                RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap();
            let mut writer = IndexWriter::new(Vec::new(), &schema, false).unwrap();
            writer.write(&batch).unwrap();
            let runs = if rows < 9 { vec![rows as u32] } else { vec![2, 3, rows as u32 - 5] };
            let parquet = writer.finish(&runs).unwrap();
            seeds.push([&[which], &(rows as u16).to_le_bytes()[..], &parquet].concat());
            let mut writer = IndexWriter::new(Vec::new(), &schema, true).unwrap();
            writer.write(&batch).unwrap();
            let (parquet, tail) = writer.finish_with_tail(&runs).unwrap();
            let len = tail.unwrap().bytes as u16;
            tails.push([&[which], &(rows as u16).to_le_bytes()[..], &len.to_le_bytes()[..], &parquet].concat());
        }
    }
    let schemas = index_schemas();
    let filtered = schemas[0].with_property("time", BLOOM_FILTER, Some(true.into())).unwrap();
    let rows = rows_of(&filtered, &mut Rng(2), &[("a", 30)], Taste { nulls: 3, ..Taste::SMALL });
    let mut writer = IndexWriter::new(Vec::new(), &filtered, true).unwrap();
    writer.write(&rows.project(&[0, 1, 2]).unwrap()).unwrap();
    let (parquet, tail) = writer.finish_with_tail(&[30]).unwrap();
    let len = tail.unwrap().bytes as u16;
    tails.push([&[0], &30_u16.to_le_bytes()[..], &len.to_le_bytes()[..], &parquet].concat());
    (seeds, tails)
}

type Seeds = Vec<Vec<u8>>;

/// Returns layouts, hashes and chunks of small tables.
fn objects(rng: &mut Rng) -> (Seeds, Seeds, Seeds) {
    let (mut layouts, mut hashes, mut chunks) = (Vec::new(), Vec::new(), Vec::new());
    let mut take = |store: &Store, rows: u32, columns: &dyn Fn(usize) -> u8, some: usize| {
        let table = block_on(tetrys::Table::open_in(store.clone())).unwrap();
        let mut of_this = 0;
        for (name, bytes) in block_on(tables::objects(store)) {
            if name.starts_with("chunks/") && of_this < some && bytes.len() < 4096 {
                chunks.push(bytes);
                of_this += 1;
            }
        }
        for segment in &table.manifest().segments {
            for (number, group) in segment.groups.iter().enumerate().take(some) {
                let read = |folder: &str, object: &tetrys::id::Hash, bytes| {
                    block_on(store.get_exact(&format!("{folder}/{object}.parquet"), bytes)).unwrap()
                };
                let layout = read("layout", &group.layout.blake3, group.layout.bytes);
                let named = |layout: &[u8]| [&[columns(number)], &rows.to_le_bytes()[..], layout].concat();
                layouts.push(named(&layout));
                let width = group.columns.len();
                let mut runs = read_layout(layout, width, segment.rows, 0).unwrap();
                runs.iter_mut().for_each(|run| run.pages = page_lengths(run, width));
                if runs.iter().any(|run| run.pages.is_some()) {
                    layouts.push(named(&LayoutWriter::write(&runs).unwrap()));
                }
                let read = read("hashes", &group.hashes.blake3, group.hashes.bytes);
                hashes.push([&(group.blocks as u16).to_le_bytes()[..], &read].concat());
            }
        }
    };
    for (seed, preset) in [(1, Preset::Balanced), (2, Preset::Fast), (3, Preset::Compact)] {
        let (schema, partitions) = two_partitions(seed);
        let widths: Vec<u8> = schema.groups().iter().map(|group| group.columns.len() as u8).collect();
        let store = stored(schema, cut_by(tiny_cuts()).preset(preset), &partitions);
        take(&store, 20, &|group| widths[group], 3);
    }
    for types in TYPES.chunks(6) {
        let schema = every_type(types);
        let rows = rows_of(&schema, rng, &[("a", 30), ("b", 11)], Taste::SMALL);
        take(&stored(schema, WriteOptions::default(), &[rows]), 41, &|_| 1, 6);
    }
    layouts.truncate(32);
    hashes.truncate(16);
    (layouts, hashes, chunks)
}

/// Returns page lengths as a layout of larger blocks has them: all pages but the last have the minimum length, or one unit more.
fn page_lengths(run: &LayoutRun, columns: usize) -> Option<PageLengths> {
    let directory = directory_len(columns) as u32 / 8;
    let blocks = (0..).zip(run.lengths.iter()).map(|(block, length): (u32, u32)| {
        let mut pages: Vec<u32> = (1..columns as u32).map(|page| 4 + (page + block) % 2).collect();
        pages.push(length.checked_sub(directory + pages.iter().sum::<u32>()).filter(|last| *last >= 4)?);
        Some(pages)
    });
    PageLengths::of(&blocks.collect::<Option<Vec<_>>>()?)
}

/// Returns blocks of the chunks, each under several chains, and their pages as structure and values.
fn blocks(chunks: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (number, chunk) in chunks.iter().enumerate() {
        let header = ChunkHeader::parse(chunk).unwrap();
        let directory = ChunkDirectory::parse(chunk, &header).unwrap();
        let (place, rows) = directory.blocks[0].clone();
        let block = Bytes::copy_from_slice(&chunk[place]);
        let pages = BlockDirectory::parse(&block, header.seed, 0, header.columns.len()).unwrap();
        let (ty, chain) = &header.columns[0];
        let Some(named) = TYPES.iter().position(|text| *text == ty.to_string()) else { continue };
        let stored = block.slice(page_range(&pages, 0).unwrap());
        let page =
            decode_page(stored, PagePlace { seed: header.seed, ordinal: 0, page: 0, rows, ty, chain }).unwrap().to_canonical();
        let which = number % CHAINS.len();
        let chain = Chain::read(CHAINS[which]).unwrap().0;
        let mut bytes = Vec::new();
        let encoded = encode_page(&chain, &page).unwrap();
        EncodedBlock { rows, pages: vec![encoded] }.write(ChunkSeed(0), 0, &mut bytes).unwrap();
        sign_block(&mut bytes, 0, 0);
        let which = which as u8;
        seeds.push([&[named as u8, which, 0], &bytes[..]].concat());
        let lengths = [(rows as u16).to_le_bytes(), (page.structure.len() as u16).to_le_bytes()].concat();
        seeds.push([&[named as u8, which, 1], &lengths[..], &page.structure, &page.values].concat());
    }
    seeds.retain(|seed| seed.len() < 2048);
    seeds
}

/// Returns join maps: in order, at random, without partners, and lists of neighbouring rows.
fn joins(rng: &mut Rng) -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for rows in [0_u16, 1, 7, 300] {
        let (all, wide) = (u64::from(rows), u64::from(rows) * 2);
        let random: Vec<_> = (0..rows).map(|_| (!rng.once_in(3)).then(|| rng.below(wide))).collect();
        let lists = (0..all).map(|row| Some(row / 3 * 3)).collect();
        for partners in [(0..all).map(Some).collect(), random, vec![None; usize::from(rows)], lists] {
            let parquet = write_join(&partners, Salt::NONE).unwrap();
            seeds.push([&rows.to_le_bytes()[..], &(wide as u16).to_le_bytes(), &parquet].concat());
        }
    }
    seeds
}

/// Returns pins, and JSON that almost is one.
fn pins() -> Vec<Vec<u8>> {
    let id = |number: u8| format!("00000000-0000-0000-0000-0000000000{number:02x}");
    let pin = |version: u64, of_commit: Option<u8>, urls: &[&str]| {
        let owner = PinOwner { table: id(1).parse().unwrap(), version: 7, blake3: Hash::of(b"manifest") };
        let (table, commit_id) = (id(2).parse().unwrap(), id(3).parse().unwrap());
        let of_commit = of_commit.map(|number| id(number).parse().unwrap());
        let urls = urls.iter().map(|url| (*url).to_owned()).collect();
        let bytes = Pin { owner, table, version, commit_id, of_commit, urls }.to_bytes().unwrap();
        String::from_utf8(bytes[..bytes.len() - 78].to_vec()).unwrap()
    };
    let plain = pin(3, None, &["../labels"]);
    let mut seeds = vec![
        pin(1, None, &[]),
        pin(u64::MAX >> 11, Some(4), &["s3://bucket/labels", "../labels"]),
        pin(2, Some(255), &["\u{1f697}", "\"\\\n"]),
        pin(0, None, &[]),
    ];
    for (from, to) in [
        ("\"format\":1", "\"format\":2"),
        ("\"version\":3", "\"version\":-3"),
        ("\"version\":3", "\"version\":3.5"),
        ("\"version\":3", "\"version\":3,\"version\":4"),
        ("\"version\":3", "\"version\":18446744073709551616"),
        ("\"urls\":[\"../labels\"]", "\"urls\":[[]]"),
        ("\"urls\":[\"../labels\"]", "\"urls\":null"),
        ("\"urls\":[\"../labels\"]", "\"more\":{}"),
        ("00000002", "0000000g"),
        ("-0000-", "-"),
    ] {
        seeds.push(plain.replace(from, to));
    }
    seeds.push(plain);
    seeds.into_iter().map(String::into_bytes).collect()
}

fn codecs(rng: &mut Rng) -> Vec<Vec<u8>> {
    let smooth: Vec<u8> = (0..300_u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
    let inputs = [smooth, rng.bytes(40), vec![0; 5000], b"a text, a text, a text".to_vec()];
    let seed = |chain: &&[u8], input: &Vec<u8>| {
        let stored = Chain::read(chain).unwrap().0.encode(input).unwrap();
        [*chain, &(input.len() as u32).to_le_bytes(), &stored].concat()
    };
    let seeds = CHAINS.iter().flat_map(|chain| inputs.iter().map(move |input| seed(chain, input)));
    seeds.filter(|seed| seed.len() < 2048).collect()
}

fn texts() -> Vec<Vec<u8>> {
    let others = [
        "timestamp[us,Europe/Berlin]",
        "f32[0]",
        "u8[?,?,?,2147483647]",
        "list<list<list<list<list<list<list<list<i8>>>>>>>>",
        "lidar.*",
        ".*",
        "*",
        "a?c",
        "re:cam.*\\.jpeg",
        "re:(a|b)+[0-9]{2,5}$",
        "re:\\p{L}+",
        "",
        "-10..=0",
        "0..5",
        "-20,-10,0",
        "2147483647",
        "fast",
        "balanced",
        "compact",
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    ];
    TYPES.iter().chain(&others).map(|text| text.as_bytes().to_vec()).collect()
}

fn containers(rng: &mut Rng) -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    let slow: Vec<u8> = (0..900_u32).flat_map(|i| (i / 9).to_le_bytes()).collect();
    for plain in [slow, rng.bytes(64), vec![7; 3000]] {
        for (typesize, codec) in [
            (1, blosc::Codec::Lz4),
            (4, blosc::Codec::Lz4),
            (8, blosc::Codec::Zstd { level: 1 }),
            (7, blosc::Codec::Zstd { level: 9 }),
        ] {
            let stored = blosc::encode(&plain, typesize, codec, typesize > 1).unwrap();
            seeds.push([&(plain.len() as u32).to_le_bytes()[..], &stored].concat());
            let mut split = stored.clone();
            split[2] &= !0x10;
            seeds.push([&(plain.len() as u32).to_le_bytes()[..], &split].concat());
        }
        seeds.push([&[0, 0, 0, 0, 4], &plain[..plain.len().min(500)]].concat());
    }
    seeds
}

/// Makes maps by hand: messages are fields, and a field is its tag, its length and its bytes.
fn semantic_maps() -> Vec<Vec<u8>> {
    let field = |tag: u8, body: &[u8]| {
        let mut bytes = if tag < 16 { vec![tag << 3 | 2] } else { vec![(tag & 15) << 3 | 0x82, tag >> 4] };
        bytes.push(u8::try_from(body.len()).expect("a short message"));
        bytes.extend_from_slice(body);
        bytes
    };
    let id = |tag: u8, name: &str| field(tag, &field(1, name.as_bytes()));
    let frame = |tag: u8| field(tag, &field(1, &[0x0d, 0, 0, 0, 21, 0x15, 0, 0, 0, 77]));
    let chain = |x: u8| [field(1, &[x, 20, 40]), field(2, &[0, 2, 4]), field(3, &[0, 0, 0])].concat();
    let lane = [frame(2), field(3, &chain(10)), field(4, &chain(30)), id(5, "next"), id(8, "red")].concat();
    let element = |name: &str, kind: u8, body: &[u8]| field(2, &[id(1, name), field(2, &field(kind, body))].concat());
    let face = field(11, &[]);
    let light = field(29, &id(3, "red"));
    let crosswalk = [frame(2), field(3, &[10, 20, 30]), field(4, &[0, 40, 0]), field(5, &[0, 0, 0]), field(16, &[])].concat();
    let all = [element("lane", 3, &lane), element("red", 4, &face), element("light", 4, &light), element("walk", 4, &crosswalk)];
    let mut seeds = vec![Vec::new(), all.concat(), [all[0].clone(), all[0].clone()].concat()];
    // Maps that are cut off, and pairs of elements.
    seeds.extend([1, 2, 5, 9, 20, 40].map(|len| all[0][..len.min(all[0].len())].to_vec()));
    seeds.extend((0..3).map(|first| [all[first].clone(), all[first + 1].clone()].concat()));
    seeds.extend(all);
    seeds
}

fn zarrays() -> Vec<Vec<u8>> {
    let array = |shape: &str, chunks: &str, dtype: &str, fill: &str, more: &str| {
        format!(
            r#"{{"zarr_format":2,"shape":{shape},"chunks":{chunks},"dtype":{dtype},"order":"C","filters":null,"fill_value":{fill}{more}}}"#
        )
    };
    let blosc = |name: &str| format!(r#","compressor":{{"id":"blosc","cname":"{name}","clevel":5,"shuffle":1,"blocksize":0}}"#);
    let structured = r#"[["centroid","<f8",[2]],["yaw","<f4"],["track_id","<u8"],["host","<U16"],["ok","|b1"]]"#;
    let mut seeds = vec![
        array("[100]", "[10]", structured, "null", &blosc("lz4")),
        array("[100]", "[10]", structured, "0", &blosc("zstd")),
        array("[100]", "[10]", structured, "\"AAAA\"", ",\"compressor\":null"),
        array("[7,3]", "[2,3]", "\"|b1\"", "false", ",\"compressor\":null"),
        array("[7,3,2,2]", "[2,3,2,2]", "\"<f4\"", "\"NaN\"", &blosc("lz4hc")),
        array("[7]", "[7]", "\"<U4\"", "\"abcd\"", &blosc("lz4")),
        array("[7]", "[7]", "\"<M8[ns]\"", "0", ",\"compressor\":null"),
        array("[0]", "[1]", "\"<f2\"", "\"-Infinity\"", ",\"compressor\":null,\"dimension_separator\":\"/\""),
        array("[18446744073709551615]", "[1]", "\"|u1\"", "255", ",\"compressor\":null"),
        array("[5]", "[1073741824]", "\"|u1\"", "1", ",\"compressor\":null"),
        array("[5,1000]", "[5,1000]", "\"<f8\"", "1e300", ",\"compressor\":null"),
    ];
    for dtype in ["<i1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f8", ">f8"] {
        seeds.push(array("[9]", "[3]", &format!("\"{dtype}\""), "-1", ",\"compressor\":null"));
    }
    seeds.into_iter().map(String::into_bytes).collect()
}

/// Returns configurations of Level 5 samples: each rasterizer for the ego car and for an agent, and two with extreme numbers.
fn configurations() -> Vec<Vec<u8>> {
    let maps = semantic_maps();
    let seed = |map_type: u8, switches: u8, whole: [u32; CONFIG_NUMBERS[0]], floats: [f64; CONFIG_NUMBERS[1]], map: &[u8]| {
        let mut bytes = vec![map_type, switches];
        bytes.extend(whole.iter().flat_map(|number| number.to_le_bytes()));
        bytes.extend(floats.iter().flat_map(|number| number.to_le_bytes()));
        bytes.extend(map);
        bytes
    };
    let whole = |row| [24, 16, 2, 3, 1, 4, 3, 5, 6, 2, row];
    let floats = [0.5, 0.5, 0.25, 0.5, 0.1, 0.5, 35.0, 30.0, 0.7];
    let mut seeds = Vec::new();
    for map_type in 0..6 {
        let map = &maps[usize::from(map_type) % maps.len()];
        seeds.push(seed(map_type, 0b00_1011, whole(2), floats, map));
        seeds.push(seed(map_type, 0b11_1100, whole(4), floats, map));
    }
    seeds.push(seed(1, 0xff, [u32::MAX; CONFIG_NUMBERS[0]], [f64::NAN; CONFIG_NUMBERS[1]], &[]));
    seeds.push(seed(4, 0, whole(0), [1e-300, 1e-300, 1e300, -1e300, 1e-12, -1.0, f64::INFINITY, -5.0, 1e18], &maps[0]));
    seeds
}
