//! The format from the outside: a reader in plain Python, written from `format-spec/README.md` and the pages it names, shares no
//! code with the library. It reads every value that the library writes, finds every flipped byte, and judges damaged bytes like
//! the library. The tests are skipped without python3.

use crate::common;
use crate::common::plain;
use std::{path::Path, sync::Arc};

use crate::common::tables::{self, Rng, Taste, block_on, cut_by, joined, rows_of, tiny_cuts};
use arrow_array::{ArrayRef, Float32Array, Float64Array, LargeStringArray, RecordBatch};
use serde_json::{Value, json};
use tetrys::{
    ColumnType, Preset, Schema, Store, Table, WriteOptions,
    codec::{Chain, NumberType, Step},
    format::{CanonicalPage, Manifest, Pin, Structure, page_to_array},
    id::Hash,
    schema::Primitive,
    table::Cuts,
};

const PRESETS: [Preset; 3] = [Preset::Fast, Preset::Balanced, Preset::Compact];

/// Returns the names of types of every kind: tensors of rank 0 and of extent 0, and lists of everything.
fn type_texts() -> Vec<String> {
    let shapes = ["", "[]", "[0]", "[3]", "[2,3]", "[?]", "[?,4]", "[2,?,?]", "[?,0]"];
    let tensors = Primitive::ALL.iter().flat_map(|element| shapes.iter().map(move |shape| format!("{}{shape}", element.name())));
    let times = ["s", "ms", "us", "ns"].iter().flat_map(|unit| {
        [
            format!("timestamp[{unit}]"),
            format!("timestamp[{unit},UTC]"),
            format!("timestamp[{unit},+05:30]"),
            format!("duration[{unit}]"),
        ]
    });
    let others = [
        "date",
        "utf8",
        "categorical",
        "binary",
        "list<utf8>",
        "list<categorical>",
        "list<binary>",
        "list<list<i16>>",
        "list<list<list<bool>>>",
        "list<f32[?,2]>",
        "list<bool[3]>",
        "list<f64[]>",
        "list<timestamp[ns,UTC]>",
        "list<list<list<list<list<list<list<list<u8>>>>>>>>",
    ];
    tensors.chain(times).chain(others.map(str::to_owned)).collect()
}

fn parsed(text: &str) -> ColumnType {
    text.parse().unwrap()
}

/// Returns a schema with an index column of every type that an index may have, and every type in groups.
fn every_type() -> Schema {
    let all = type_texts();
    let indexable = all.iter().filter(|ty| parsed(ty).is_indexable());
    let builder = indexable.fold(Schema::builder(), |builder, ty| builder.index(format!("i {ty}"), ty));
    let groups = all.chunks(25).enumerate();
    groups
        .fold(builder, |builder, (number, types)| {
            builder.group(format!("g{number}"), types.iter().map(|ty| (format!("c {ty}"), ty)))
        })
        .build()
        .unwrap()
}

/// Returns up to six columns of random types in up to three groups; some columns are in several groups.
fn any_schema(rng: &mut Rng) -> Schema {
    let all = type_texts();
    let mut groups: Vec<Vec<(String, String)>> = vec![Vec::new(); 3];
    let mut builder = Schema::builder().index("log", "utf8").index("time", "i64");
    for number in 0..rng.below(7) {
        let (ty, name) = (rng.pick(&all).clone(), format!("{number} {}", rng.pick(&["a.b", "ö/🚗", "\"\n", "*"])));
        match rng.below(8) {
            0 if parsed(&ty).is_indexable() => builder = builder.index(name, ty),
            bits => {
                let here = |group: usize| bits >> group & 1 == 1 || (bits == 0 && group == 0);
                groups.iter_mut().enumerate().filter(|(group, _)| here(*group)).for_each(|(_, columns)| {
                    columns.push((name.clone(), ty.clone()));
                });
            }
        }
    }
    if rng.once_in(2) {
        builder = builder.sequence_by(["log"]).order_by(["time"]);
    }
    let named = groups.into_iter().enumerate().filter(|(_, columns)| !columns.is_empty());
    named.fold(builder, |builder, (number, columns)| builder.group(format!("group {number}"), columns)).build().unwrap()
}

fn write(folder: &Path, schema: &Schema, options: WriteOptions, partitions: &[RecordBatch]) -> Table {
    let store = Store::open(folder.to_str().unwrap()).unwrap();
    block_on(tables::write(store, schema.clone(), options, partitions)).unwrap()
}

/// Asserts that the reference reader printed these rows.
#[track_caller]
fn assert_printed(line: &str, schema: &Schema, written: &RecordBatch) {
    let found: Value = serde_json::from_str(line).unwrap();
    assert_eq!(found["rows"], written.num_rows());
    let expected = plain::columns(schema, written);
    for (found, expected) in found["columns"].as_array().unwrap().iter().zip(expected.as_array().unwrap()) {
        assert!(found == expected, "found    {found:.800}\nexpected {expected:.800}");
    }
    assert_eq!(found["columns"].as_array().unwrap().len(), schema.columns().len());
}

#[test]
fn it_reads_every_type_under_every_preset() {
    let Some(python) = plain::python() else { return };
    let (folder, mut rng, schema) = (tempfile::tempdir().unwrap(), Rng(common::seed()), every_type());
    for (number, preset) in PRESETS.into_iter().enumerate() {
        let taste = [Taste::SMALL, Taste::NOISE, Taste { nulls: 1, ..Taste::SMALL }][number];
        let written = rows_of(&schema, &mut rng, &[("", 37)], taste);
        let cuts = Cuts { chunk_min: 9_000, chunk_target: 20_000, chunk_max: 50_000, ..tiny_cuts() };
        let options = cut_by(cuts).preset(preset);
        let path = folder.path().join(preset.name());
        write(&path, &schema, options, std::slice::from_ref(&written));
        assert_printed(&plain::printed(&python, "read_table.py", &[path.to_str().unwrap(), "--values"]), &schema, &written);
    }
}

#[test]
fn it_reads_any_rows_of_any_schema() {
    let Some(python) = plain::python() else { return };
    let (folder, mut rng) = (tempfile::tempdir().unwrap(), Rng(common::seed()));
    let (mut paths, mut tables) = (Vec::new(), Vec::new());
    for number in 0..common::cases(40) {
        let schema = any_schema(&mut rng);
        let taste = Taste { nulls: rng.below(4), length: 1 + rng.below(6), smooth: rng.once_in(2) };
        let partitions: Vec<RecordBatch> = (0..rng.below(4))
            .map(|partition| {
                let logs: Vec<String> = (0..rng.below(4)).map(|log| format!("log {partition} {log}")).collect();
                let runs: Vec<_> = logs.iter().map(|log| (log.as_str(), 1 + rng.below(30) as usize)).collect();
                rows_of(&schema, &mut rng, &runs, taste)
            })
            .collect();
        let preset = *rng.pick(&PRESETS);
        let cuts = *rng.pick(&[tiny_cuts(), tiny_cuts(), Cuts::default()]);
        let path = folder.path().join(number.to_string());
        write(&path, &schema, cut_by(cuts).preset(preset), &partitions);
        paths.push(path);
        let empty = rows_of(&schema, &mut rng, &[], taste);
        tables.push((schema, joined(&[vec![empty], partitions].concat())));
    }
    let paths: Vec<&str> = paths.iter().map(|path| path.to_str().unwrap()).collect();
    let printed = plain::printed(&python, "read_table.py", &[&["--values"], paths.as_slice()].concat());
    for (line, (schema, written)) in printed.lines().zip(&tables) {
        assert_printed(line, schema, written);
    }
    assert_eq!(printed.lines().count(), tables.len());
    let rows: usize = tables.iter().map(|(_, written)| written.num_rows()).sum();
    println!("{} tables, {rows} rows", tables.len());
}

#[test]
fn it_reads_the_bits_of_odd_floats_and_empty_text() {
    let Some(python) = plain::python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let schema = Schema::builder().index("f", "f64").index("t", "utf8").group("g", [("s", "f32"), ("u", "utf8")]).build();
    let schema = schema.unwrap();
    let wide = [0x8000_0000_0000_0000, 0x7ff8_0000_0000_beef, 0xfff0_0000_0000_0001, 0x7ff0_0000_0000_0000, 1];
    let narrow = [0x8000_0000, 0x7fc0_beef, 0xff80_0001, 0xff80_0000, 1];
    let texts = LargeStringArray::from(vec![Some(""), None, Some("\u{0}"), Some(""), Some("🚗")]);
    let columns: [(&str, ArrayRef); 4] = [
        ("f", Arc::new(wide.into_iter().map(|bits| Some(f64::from_bits(bits))).collect::<Float64Array>())),
        ("t", Arc::new(texts.clone())),
        ("s", Arc::new(narrow.into_iter().map(|bits| Some(f32::from_bits(bits))).collect::<Float32Array>())),
        ("u", Arc::new(texts)),
    ];
    let written = RecordBatch::try_from_iter(columns).unwrap();
    write(folder.path(), &schema, WriteOptions::default(), std::slice::from_ref(&written));
    let printed = plain::printed(&python, "read_table.py", &[folder.path().to_str().unwrap(), "--values"]);
    assert_printed(&printed, &schema, &written);
    let found: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(found["columns"][0]["values"][1], "7ff800000000beef");
    assert_eq!(found["columns"][2]["values"][2], "ff800001");
}

#[test]
fn it_reads_two_segments_with_a_sequence_across_them_and_the_version_before() {
    let Some(python) = plain::python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (schema, mut rng) = (tables::sensors(), Rng(common::seed()));
    let first = rows_of(&schema, &mut rng, &[("a", 9), ("b", 4)], Taste::SMALL);
    let all = rows_of(&schema, &mut rng, &[("b", 10), ("c", 3)], Taste::NOISE);
    // Times start again in each batch. The rows after the fourth continue sequence `b` of the first segment.
    let second = all.slice(4, 9);
    let path = folder.path().join("table");
    write(&path, &schema, cut_by(tiny_cuts()), std::slice::from_ref(&first));
    plain::append_segment(&path, &schema, &cut_by(tiny_cuts()), &second);
    let table = block_on(Table::open(path.to_str().unwrap())).unwrap();
    assert_eq!((table.version(), table.manifest().segments.len(), table.manifest().sequences()), (2, 2, 3));
    let path = path.to_str().unwrap();
    let newest = plain::printed(&python, "read_table.py", &[path, "--values"]);
    assert_printed(&newest, &schema, &joined(&[first.clone(), second]));
    assert_printed(&plain::printed(&python, "read_table.py", &[path, "--values", "--version", "1"]), &schema, &first);
}

#[test]
fn it_reads_a_group_that_lost_a_column_and_the_version_before() {
    let Some(python) = plain::python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (schema, mut rng) = (tables::sensors(), Rng(common::seed()));
    let written = rows_of(&schema, &mut rng, &[("a", 9), ("b", 14)], Taste::SMALL);
    let path = folder.path().join("table");
    let table = write(&path, &schema, cut_by(tiny_cuts()), std::slice::from_ref(&written));
    let shrunk = block_on(table.edit().drop_columns(&["camera.pose", "labels.names"]).commit()).unwrap();
    let path = path.to_str().unwrap();
    assert_printed(&plain::printed(&python, "read_table.py", &[path, "--values"]), shrunk.schema(), &written);
    assert_printed(&plain::printed(&python, "read_table.py", &[path, "--values", "--version", "1"]), &schema, &written);
}

#[test]
fn it_reads_a_table_whose_scattered_blocks_were_put_side_by_side() {
    let Some(python) = plain::python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (schema, mut rng) = (tables::sensors(), Rng(common::seed()));
    let written = rows_of(&schema, &mut rng, &[("a", 24)], Taste::SMALL);
    let path = folder.path().join("table");
    let cuts = Cuts { block_min: 16, block_target: 32, block_max: 64, ..Cuts::default() };
    let mut table = write(&path, &schema, cut_by(cuts), &[written.slice(0, 4)]);
    for row in (4..24).step_by(4) {
        table = block_on(async {
            let writer = table.append(cut_by(cuts)).await?;
            let mut partition = writer.partition()?;
            partition.write(&written.slice(row, 4)).await?;
            writer.commit([partition.finish().await?]).await
        })
        .unwrap();
    }
    let bound = tetrys::write::Locality { extra_ranges: 0, ..Default::default() };
    let (next, moved) = block_on(table.storage().compact_runs(1 << 20, bound)).unwrap();
    assert!(moved.blocks > 20 && moved.chunks == 3, "{moved:?}");
    assert_eq!(next.manifest().segments.len(), 1);
    let path = path.to_str().unwrap();
    assert_printed(&plain::printed(&python, "read_table.py", &[path, "--values"]), &schema, &written);
}

#[test]
fn it_refuses_every_flipped_byte() {
    let Some(python) = plain::python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (schema, partitions) = tables::two_partitions(common::seed());
    write(folder.path(), &schema, cut_by(tiny_cuts()), &partitions);
    let (count, seed) = (common::cases(400).to_string(), common::seed().to_string());
    let arguments = [folder.path().to_str().unwrap(), "--count", &count, "--seed", &seed];
    let output = plain::printed(&python, "flip_bytes.py", &arguments);
    assert!(output.contains(&format!("{count} flipped bytes")), "{output}");
    print!("{output}");
}

#[test]
fn it_refuses_by_name_what_a_later_format_needs() {
    let Some(python) = plain::python() else { return };
    for (what, change) in [
        ("unknown read feature `deletion-vectors`", ("\"read_features\":[]", "\"read_features\":[\"deletion-vectors\"]")),
        ("format 2", ("\"format\":1", "\"format\":2")),
        ("a member name occurs twice", ("\"format\":1", "\"format\":1,\"format\":1")),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let schema = tables::sensors();
        let table = write(folder.path(), &schema, WriteOptions::default(), &[]);
        let (bytes, _) = table.manifest().to_bytes().unwrap();
        let signed = std::str::from_utf8(&bytes[..bytes.len() - 78]).unwrap().replacen(change.0, change.1, 1);
        let changed = sealed(&signed);
        let name = folder.path().join(tetrys::format::manifest_name(1));
        std::fs::write(name, &changed).unwrap();
        assert!(Manifest::parse(&changed, 1).is_err(), "{what}");
        let output = plain::run(&python, "read_table.py", &[folder.path().to_str().unwrap()]);
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && printed.contains(what), "{printed}");
    }
}

/// Returns a manifest with its hash; `signed` is everything before the last member.
fn sealed(signed: &str) -> Vec<u8> {
    format!("{signed},\"blake3\":\"{}\"}}\n", Hash::of(signed.as_bytes())).into_bytes()
}

/// Returns the library's result of a case for `judge.py`.
fn judged(case: &Value) -> Option<Value> {
    let bytes = |name: &str| -> Vec<u8> {
        let text = case[name].as_str().unwrap().as_bytes();
        text.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    };
    if let Some(text) = case["type"].as_str() {
        return text.parse::<ColumnType>().ok().map(|ty| ty.to_string().into());
    }
    if case["chain"].is_string() {
        let bytes_of_chain = bytes("chain");
        let (chain, rest) = Chain::read(&bytes_of_chain).ok()?;
        if case["stored"].is_string() {
            let decoded = chain.decode(bytes("stored").into(), case["values_len"].as_u64().unwrap() as usize);
            return decoded.ok().map(|decoded| plain::hex(&decoded).into());
        }
        return rest.is_empty().then(|| bytes_of_chain[1..].chunks(2).map(<[u8]>::to_vec).collect::<Vec<_>>().into());
    }
    if let Some(signed) = case["manifest"].as_str() {
        let version = case["version"].as_u64().unwrap_or(1);
        let (manifest, _) = Manifest::parse(&sealed(signed), version).ok()?;
        return Some(manifest.table.to_string().into());
    }
    if let Some(signed) = case["pin"].as_str() {
        return Some(Pin::parse(&sealed(signed), case["name"].as_str().unwrap()).ok()?.commit_id.to_string().into());
    }
    let ty: ColumnType = case["page"].as_str().unwrap().parse().unwrap();
    let (structure, values) = (bytes("structure"), bytes("values"));
    let parsed = Structure::parse(&ty, case["rows"].as_u64().unwrap() as u32, &structure, values.len()).ok()?;
    let array = page_to_array(&ty, &parsed, values.into()).ok()?;
    Some(plain::values(&ty, &array).into())
}

/// Returns canonical pages of random values, as the library writes them.
fn pages(rng: &mut Rng, texts: &[String]) -> Vec<(String, u32, CanonicalPage)> {
    let columns = texts.iter().enumerate().map(|(number, ty)| (number.to_string(), ty));
    let schema = Schema::builder().index("log", "utf8").group("g", columns).build().unwrap();
    let taste = Taste { nulls: 3, length: 4, smooth: rng.once_in(2) };
    let written = rows_of(&schema, rng, &[("", 40)], taste);
    let (_, store) = tables::memory();
    let cuts = Cuts { chunk_min: 9_000, chunk_target: 20_000, chunk_max: 50_000, ..tiny_cuts() };
    block_on(async {
        tables::write(store.clone(), schema, cut_by(cuts), &[written]).await.unwrap();
        let mut found = Vec::new();
        for (_, chunk) in tables::objects(&store).await.into_iter().filter(|(name, _)| name.starts_with("chunks/")) {
            found.extend(plain::pages_of_chunk(&chunk));
        }
        found
    })
}

/// Returns the bytes with one or more of them changed; sometimes one byte is missing or added.
fn broken(rng: &mut Rng, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=rng.below(2) {
        let place = rng.below(bytes.len() as u64) as usize;
        match rng.below(8) {
            0 if bytes.len() > 1 => drop(bytes.remove(place)),
            1 => bytes.insert(place, rng.below(4) as u8),
            2 if !bytes.is_empty() => bytes[place] = rng.below(4) as u8,
            _ if !bytes.is_empty() => bytes[place] ^= 1 << rng.below(8),
            _ => {}
        }
    }
    bytes
}

/// Returns the results of `judge.py` for the cases.
fn judged_in_python(python: &Path, cases: &[Value]) -> Vec<Value> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), serde_json::to_vec(&cases).unwrap()).unwrap();
    let theirs: Vec<Value> = serde_json::from_str(&plain::printed(python, "judge.py", &[file.path().to_str().unwrap()])).unwrap();
    assert_eq!(theirs.len(), cases.len());
    theirs
}

/// Returns some values encoded by a random chain, and several damaged copies.
fn encoded(rng: &mut Rng) -> Vec<Value> {
    use NumberType::*;
    let width = *rng.pick(&[1_u8, 2, 4, 8]);
    let numbers = match width {
        1 => [U8, I8, U8],
        2 => [U16, I16, F16],
        4 => [U32, I32, F32],
        _ => [U64, I64, F64],
    };
    let split = Step::Split { width, components: 2 + rng.below(6) as u8 };
    let before = [vec![], vec![], vec![split], vec![split, Step::BitShuffle(width)], vec![Step::Shuffle(2 + rng.below(9) as u8)]];
    let last = [Step::Lz4, Step::Zstd(3), Step::Pco(*rng.pick(&numbers), rng.below(9) as u8), Step::BitShuffle(width)];
    let chain = Chain::new([rng.pick(&before).clone(), vec![*rng.pick(&last)]].concat()).unwrap();
    let count = rng.below(400) as usize;
    let smooth = rng.once_in(2);
    let values: Vec<u8> = (0..count).map(|byte| if smooth { (byte / 7) as u8 } else { rng.below(9) as u8 }).collect();
    let mut steps = Vec::new();
    chain.write(&mut steps);
    let encoded = chain.encode(&values).unwrap().to_vec();
    let case = |stored: &[u8], len: usize| json!({"chain": plain::hex(&steps), "stored": plain::hex(stored), "values_len": len});
    let mut cases = vec![case(&encoded, count), case(&encoded, count + 1), case(&encoded, count.saturating_sub(1))];
    if !encoded.is_empty() {
        cases.extend((0..6).map(|_| case(&broken(rng, &encoded), count)));
    }
    cases
}

#[test]
fn it_and_the_library_judge_broken_bytes_alike() {
    let Some(python) = plain::python() else { return };
    let mut rng = Rng(common::seed());
    let mut cases = Vec::new();
    let texts = type_texts();
    for text in &texts {
        cases.push(json!({"type": text}));
        for _ in 0..common::cases(6) {
            let text = String::from_utf8_lossy(&broken(&mut rng, text.as_bytes())).into_owned();
            cases.push(json!({"type": text}));
        }
    }
    for _ in 0..common::cases(400) {
        let steps = rng.below(6) as u8;
        let codes = (0..steps)
            .flat_map(|_| [rng.below(9) as u8, if rng.once_in(2) { rng.below(12) } else { rng.below(256) } as u8])
            .collect::<Vec<_>>();
        cases.push(json!({"chain": plain::hex(&[vec![steps], codes].concat())}));
    }
    for texts in texts.chunks(20) {
        for (ty, rows, page) in pages(&mut rng, texts) {
            let case = |rows: u32, structure: &[u8], values: &[u8]| json!({"page": ty, "rows": rows, "structure": plain::hex(structure), "values": plain::hex(values)});
            cases.push(case(rows, &page.structure, &page.values));
            for _ in 0..common::cases(3) {
                cases.push(case(rows, &broken(&mut rng, &page.structure), &page.values));
                if !page.values.is_empty() {
                    cases.push(case(rows, &page.structure, &broken(&mut rng, &page.values)));
                }
            }
            cases.push(case(rows + 1, &page.structure, &page.values));
        }
    }
    cases.extend((0..common::cases(60)).flat_map(|_| encoded(&mut rng)));
    // Enough numbers for several pco chunks.
    let split = Step::Split { width: 2, components: 2 };
    for steps in [vec![Step::Pco(NumberType::U16, 0)], vec![split, Step::Pco(NumberType::I16, 1)]] {
        let (chain, values): (_, Vec<u8>) =
            (Chain::new(steps).unwrap(), (0..1_100_003_u32).map(|byte| (byte / 9) as u8).collect());
        let mut steps = Vec::new();
        chain.write(&mut steps);
        let stored = plain::hex(&chain.encode(&values).unwrap());
        cases.push(json!({"chain": plain::hex(&steps), "stored": stored, "values_len": values.len()}));
    }
    // Empty zstd frames: a sound one, and one with a truncated block.
    for stored in ["28b52ffd2000010000", "28b52ffd2000110000"] {
        cases.push(json!({"chain": "010303", "stored": stored, "values_len": 0}));
    }
    let theirs = judged_in_python(&python, &cases);
    let (mut intact, mut stray) = (0, 0);
    for (case, theirs) in cases.iter().zip(theirs) {
        let ours = judged(case);
        if theirs.get("stray").is_some() {
            stray += 1;
            continue;
        }
        intact += usize::from(ours.is_some());
        assert!(ours.as_ref() == theirs.get("holds"), "{case}\nlibrary {ours:?}\npython  {theirs}");
    }
    println!("{} cases, {intact} of them held, {stray} left to deep verification", cases.len());
}

/// Collects the JSON pointers of all values.
fn pointers(value: &Value, here: &str, found: &mut Vec<String>) {
    let mut inside = |name: &str, value: &Value| {
        let pointer = format!("{here}/{}", name.replace('~', "~0").replace('/', "~1"));
        pointers(value, &pointer, found);
        found.push(pointer);
    };
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| inside(name, value)),
        Value::Array(items) => items.iter().enumerate().for_each(|(item, value)| inside(&item.to_string(), value)),
        _ => {}
    }
}

/// Returns a manifest with one value changed, removed or duplicated, and a description of the change.
fn changed(rng: &mut Rng, manifest: &Value, pointers: &[String]) -> (String, Value) {
    let mut changed = manifest.clone();
    let pointer = rng.pick(pointers);
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match (rng.below(4), changed.pointer_mut(parent).unwrap()) {
        (0, Value::Object(members)) => {
            members.remove(name);
            (format!("{pointer} gone"), changed)
        }
        (0, Value::Array(items)) => {
            items.remove(name.parse().unwrap());
            (format!("{pointer} gone"), changed)
        }
        (1, Value::Array(items)) => {
            items.push(items[name.parse::<usize>().unwrap()].clone());
            (format!("{pointer} twice"), changed)
        }
        _ => {
            let numbers = [json!(0), json!(1), json!(2), json!(-1), json!(1.0), json!(1.5), json!(u64::MAX), json!(1_u64 << 33)];
            let others = [json!(null), json!(true), json!("x"), json!(""), json!([]), json!({}), json!({"x": 1}), json!(["x"])];
            let types = [json!("f32[2]"), json!("utf8"), json!("note"), json!("00".repeat(32)), json!("balanced")];
            let other = rng.pick(&[numbers.as_slice(), &others, &types].concat()).clone();
            let what = format!("{pointer} = {other}");
            *changed.pointer_mut(pointer).unwrap() = other;
            (what, changed)
        }
    }
}

/// Returns JSON with something inserted between two bytes, or with one byte removed, and a description of the change.
fn misspelt(rng: &mut Rng, text: &str) -> (String, String) {
    let between = [
        "0",
        "-",
        "1",
        ".5",
        "e2",
        "e999",
        "\"",
        "\\",
        "\\u0061",
        "\\ud800",
        "\\ud83d\\ude97",
        "\u{0}",
        "\u{7f}",
        "\u{feff}",
        "🚗",
        " ",
        "\t\r\n",
        "\u{a0}",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "null",
        "NaN",
        "/**/",
    ];
    let mut place = rng.below(text.len() as u64) as usize;
    // Half of the places are after a punctuation mark, where more insertions are valid.
    if rng.once_in(2) {
        place = text[place..].find([':', ',', '[', '{', '"']).map_or(place, |more| place + more + 1);
    }
    let (before, behind) = (&text[..place], &text[place..]);
    match rng.below(5) {
        0 if !behind.is_empty() => (format!("without byte {place}"), before.to_owned() + &behind[1..]),
        _ => {
            let more = rng.pick(&between);
            let near = &before[before.len().saturating_sub(20)..];
            (format!("{more:?} behind `{near}`"), format!("{before}{more}{behind}"))
        }
    }
}

#[test]
fn it_and_the_library_judge_changed_manifests_alike() {
    let Some(python) = plain::python() else { return };
    let (schema, partitions) = tables::two_partitions(1);
    let table = block_on(tables::write(tables::memory().1, schema, cut_by(tiny_cuts()), &partitions)).unwrap();
    let (bytes, _) = table.manifest().to_bytes().unwrap();
    let mut plain: Value = serde_json::from_slice(&bytes).unwrap();
    plain.as_object_mut().unwrap().remove("blake3");
    plain["properties"] = json!({"a": {"b": [1]}});
    plain["schema"]["columns"][0]["properties"] = json!({"unit": "m"});
    plain["attachments"] = json!({"map": {"blake3": "00".repeat(32), "bytes": 5}});
    // A manifest that uses every feature.
    let mut shared = plain.clone();
    let (other, blake3) = ("00112233-4455-6677-8899-aabbccddeeff", "11".repeat(32));
    shared["stores"] = json!([{"table": other, "version": 3, "blake3": blake3, "urls": ["../a", "s3://b/c"]}]);
    shared["condemned"] = json!([{"folder": "chunks", "blake3": blake3, "bytes": 7}]);
    shared["deleting"] = json!([{"folder": "layout", "blake3": blake3, "bytes": 7}]);
    let column = shared["schema"]["groups"][0]["columns"][0].clone();
    let columns = shared["schema"]["groups"][1]["columns"].as_array_mut().unwrap();
    columns.push(column.clone());
    shared["segments"][0]["groups"][1]["columns"].as_array_mut().unwrap().push(json!({"stored": 1, "logical": 1}));
    shared["schema"]["groups"][0]["masked"] = json!([column]);
    shared["read_features"] = json!(["masked-copies", "references"]);
    shared["write_features"] = json!(["condemned", "deleting", "references"]);
    // One after garbage collections.
    let mut collected = plain.clone();
    let (hash, id) = (|digits: &str| digits.repeat(32), uuid::Uuid::from_u128);
    collected["version"] = json!(9);
    collected["parent"] = json!({"version": 8, "blake3": hash("88")});
    collected["collections"] = json!({
        "floor": 4, "last": 7, "session": other,
        "recent": [
            {"version": 8, "blake3": hash("88"), "commit_id": id(8), "session": other},
            {"version": 6, "blake3": hash("66"), "commit_id": id(6)},
        ],
        "kept": [{"version": 1, "blake3": hash("11")}, {"version": 4, "blake3": hash("44")}],
        "expired": [{"version": 3, "blake3": hash("33"), "at": 4}, {"version": 6, "blake3": hash("66"), "at": 7}],
        "condemned": [
            {"folder": "chunks", "blake3": hash("01"), "bytes": 3, "at": 0},
            {"folder": "collections", "blake3": hash("02"), "bytes": 3, "at": 7},
        ],
    });
    collected["write_features"] = json!(["collections"]);
    let pin = json!({
        "format": 1, "owner": {"table": other, "version": 3, "blake3": blake3}, "table": other, "version": 2, "commit_id": other,
        "urls": ["../x", "s3://b/c"],
    });
    let (mut rng, mut cases, mut what) = (Rng(common::seed()), Vec::new(), Vec::new());
    let kinds = [
        ("manifest", 1, &plain, 2_500),
        ("manifest", 1, &shared, 2_500),
        ("manifest", 9, &collected, 2_500),
        ("pin", 2, &pin, 500),
    ];
    for (kind, version, whole, count) in kinds {
        let mut places = Vec::new();
        pointers(whole, "", &mut places);
        for number in 0..common::cases(count) {
            let (name, changed) =
                if number == 0 { ("nothing".to_owned(), whole.clone()) } else { changed(&mut rng, whole, &places) };
            let text = changed.to_string();
            let signed = text.strip_suffix('}').unwrap();
            cases.push(json!({kind: signed, "version": version, "name": format!("pins/{other}.json")}));
            what.push(format!("{kind} {name}"));
        }
        for _ in 0..common::cases(count / 2) {
            let (what_else, text) = misspelt(&mut rng, &whole.to_string());
            let signed = text.strip_suffix('}').unwrap_or(&text);
            cases.push(json!({kind: signed, "version": version, "name": format!("pins/{other}.json")}));
            what.push(format!("{kind} {what_else}"));
        }
    }
    let theirs = judged_in_python(&python, &cases);
    let mut differ = std::collections::BTreeSet::new();
    let mut intact = 0;
    for ((case, theirs), what) in cases.iter().zip(theirs).zip(what) {
        let ours = judged(case);
        intact += usize::from(ours.is_some());
        assert!(ours.is_some() || !what.ends_with(" nothing"), "{what}");
        if ours.is_some() != theirs.get("holds").is_some() {
            let does = if ours.is_some() { "takes it" } else { "refuses it" };
            differ.insert(format!("{what}: the library {does}, python {theirs}"));
        }
    }
    println!("{} cases, {intact} of them held", cases.len());
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.into_iter().collect::<Vec<_>>().join("\n"));
}
