//! The vectors of `format-spec/vectors/README.md`: the library and the reference reader read them and, where encoding is
//! deterministic, write them again byte for byte. All files of the folder are listed, and nothing rewrites them.

mod make;

use crate::common;
use crate::common::plain;
use crate::sums;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::common::plain::{hex, unhex};
use crate::common::tables::{self, block_on, cut_by};
use arrow_array::{Array, ArrayRef, LargeBinaryArray, LargeStringArray, RecordBatch, StringArray, cast::AsArray};
use arrow_buffer::BooleanBuffer;
use bytes::Bytes;
use serde_json::{Value, json};
use tetrys::{
    ColumnType, Schema,
    codec::Chain,
    format::{
        BlockDirectory, Bound, CanonicalPage, ChunkDirectory, ChunkHeader, ChunkSeed, ChunkWriter, Collections, EncodedBlock,
        EncodedPage, IndexTail, LayoutWriter, Lists, Locator, Manifest, PackedLengths, PageBuilder, PagePlace, Pin, StoredLists,
        Structure, chunk_seed, decode_page, encode_page, index_arrow_schema, index_reader, logical_block_hash, manifest_name,
        page_to_array, read_hashes, read_join, read_layout, read_lists, read_sequences,
    },
    id::{Hash, ObjectRef, Salt},
    table::Cuts,
};

/// Reads files of a folder and asserts that they match their JSON.
type Check = fn(&Folder);

/// Every file of the folder, and the test that reads it.
const FILES: &[(&str, Check)] = &[
    ("types.json", types),
    ("validity.json", validity),
    ("lengths.json", lengths),
    ("pages.json", pages),
    ("block_hashes.json", block_hashes),
    ("checksums.json", checksums),
    ("chains.json", chains),
    ("block.bin", block),
    ("block.json", block),
    ("chunk.bin", chunk),
    ("chunk.json", chunk),
    ("cuts.json", cuts),
    ("locators.json", locators),
    ("manifest.bin", manifest),
    ("manifest.json", manifest),
    ("index.parquet", segment),
    ("index.json", segment),
    ("layout.parquet", segment),
    ("layout.json", segment),
    ("hashes.parquet", segment),
    ("hashes.json", segment),
    ("layout_shared.parquet", layout_shared),
    ("layout_shared.json", layout_shared),
    ("manifest_collections.bin", manifest_collections),
    ("manifest_collections.json", manifest_collections),
    ("manifest_deleting.bin", manifest_deleting),
    ("manifest_deleting.json", manifest_deleting),
    ("manifest_shared.bin", manifest_shared),
    ("manifest_shared.json", manifest_shared),
    ("manifests.json", manifests),
    ("join.parquet", join),
    ("join.json", join),
    ("pin.bin", pin),
    ("pin.json", pin),
    ("pin_second.bin", pin_second),
    ("pin_second.json", pin_second),
    ("manifest_tails.bin", tails),
    ("manifest_tails.json", tails),
    ("index_tail.parquet", tails),
    ("index_tail.json", tails),
    ("index_filters.parquet", bloom_filters),
    ("index_filters.json", bloom_filters),
    ("manifest_tags.bin", manifest_tags),
    ("manifest_tags.json", manifest_tags),
    ("manifest_view.bin", view),
    ("manifest_view.json", view),
    ("lists.parquet", lists),
    ("lists.json", lists),
];

fn stored() -> PathBuf {
    common::root().join("format-spec/vectors")
}

fn read_all(folder: &Path) {
    let folder = Folder(folder.to_owned());
    FILES.iter().for_each(|(_, read)| read(&folder));
}

#[test]
fn vectors_made_now_are_read_and_written_again() {
    let folder = tempfile::tempdir().unwrap();
    make::vectors(folder.path());
    read_all(folder.path());
    let made: BTreeSet<String> = sums::files(folder.path());
    assert_eq!(made, FILES.iter().map(|(name, _)| (*name).to_owned()).collect());
}

#[test]
fn the_stored_vectors_are_read_and_written_again() {
    read_all(&stored());
}

#[test]
fn every_stored_vector_is_listed_and_has_a_test_that_reads_it() {
    sums::check(&stored(), &["README.md"]);
    let found: BTreeSet<String> = sums::files(&stored());
    let others = ["README.md", sums::NAME].into_iter();
    assert_eq!(found, FILES.iter().map(|(name, _)| *name).chain(others).map(str::to_owned).collect());
}

#[test]
fn every_page_of_the_format_has_vectors_and_every_vector_is_explained() {
    let pages = fs::read_dir(common::root().join("format-spec")).unwrap();
    let pages = pages.map(|entry| entry.unwrap().file_name().into_string().unwrap()).filter(|name| name.ends_with(".md"));
    let readme = fs::read_to_string(stored().join("README.md")).unwrap();
    for page in pages.filter(|page| page != "README.md" && page != "CHANGES.md") {
        assert!(readme.contains(&format!("](../{page}")), "{page} has no vectors");
    }
    for (file, _) in FILES {
        assert!(readme.contains(&format!("`{file}`")), "{file} is not in the table of README.md");
    }
}

#[test]
fn what_is_listed_is_never_rewritten_and_a_change_is_found() {
    let (made, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let write = |folder: &Path, file: &str, text: &str| fs::write(folder.join(file), text).unwrap();
    let fails = |what: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(what)).is_err();
    write(made.path(), "a", "one");
    sums::add(made.path(), to.path(), &[]);
    write(made.path(), "a", "another");
    write(made.path(), "b", "two");
    sums::add(made.path(), to.path(), &[]);
    assert_eq!(fs::read_to_string(to.path().join("a")).unwrap(), "one");
    sums::check(to.path(), &[]);
    write(to.path(), "c", "no test reads it");
    assert!(fails(&|| sums::check(to.path(), &[])));
    sums::check(to.path(), &["c"]);
    write(to.path(), "a", "another");
    assert!(fails(&|| sums::check(to.path(), &["c"])));
    fs::remove_file(to.path().join("a")).unwrap();
    assert!(fails(&|| sums::add(made.path(), to.path(), &["c"])), "a listed file that is gone is not made anew");
}

#[test]
fn the_reference_reader_reads_the_same_vectors() {
    let Some(python) = plain::python() else { return };
    let made = tempfile::tempdir().unwrap();
    make::vectors(made.path());
    for folder in [made.path().to_owned(), stored()] {
        let output = plain::printed(&python, "check_vectors.py", &[folder.to_str().unwrap()]);
        let missed: Vec<_> = FILES.iter().filter(|(name, _)| !output.lines().any(|line| line == *name)).collect();
        assert!(missed.is_empty(), "not read: {missed:?}\n{output}");
    }
}

/// Makes the vectors that do not exist yet. Existing vectors are never changed.
///
/// ```sh
/// cargo test -p tetrys --no-default-features --test format vectors -- --ignored build_the_vectors
/// ```
#[test]
#[ignore = "writes into format-spec/vectors"]
fn build_the_vectors() {
    let made = tempfile::tempdir().unwrap();
    make::vectors(made.path());
    read_all(made.path());
    sums::add(made.path(), &stored(), &["README.md"]);
}

/// A folder of vectors.
struct Folder(PathBuf);

impl Folder {
    fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&self.bytes(name)).unwrap()
    }

    /// Returns the cases of a file that is one list.
    fn cases(&self, name: &str) -> Vec<Value> {
        let Value::Array(cases) = self.json(name) else { panic!("{name} is no list") };
        assert!(!cases.is_empty(), "{name} is empty");
        cases
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn hash(value: &Value) -> Hash {
    text(value).parse().unwrap()
}

/// Parses a 64-bit number stored as 16 hexadecimal digits, because JSON readers would round it.
fn wide(value: &Value) -> u64 {
    u64::from_str_radix(text(value), 16).unwrap()
}

fn column_type(value: &Value) -> ColumnType {
    text(value).parse().unwrap()
}

fn chain(value: &Value) -> Chain {
    let bytes = unhex(text(value));
    let (chain, rest) = Chain::read(&bytes).unwrap();
    assert!(rest.is_empty());
    let mut again = Vec::new();
    chain.write(&mut again);
    assert_eq!(again, bytes);
    chain
}

fn canonical(case: &Value) -> CanonicalPage {
    CanonicalPage { structure: unhex(text(&case["structure"])), values: unhex(text(&case["values"])) }
}

fn values_of(ty: &ColumnType, rows: u64, page: &CanonicalPage) -> Value {
    let structure = Structure::parse(ty, rows as u32, &page.structure, page.values.len()).unwrap();
    plain::values(ty, &page_to_array(ty, &structure, page.values.clone().into()).unwrap()).into()
}

fn types(folder: &Folder) {
    let file = folder.json("types.json");
    for ty in list(&file["types"]) {
        assert_eq!(column_type(ty).to_string(), text(ty));
    }
    for ty in list(&file["refused"]) {
        assert!(text(ty).parse::<ColumnType>().is_err(), "{ty}");
    }
    let indexable: Vec<_> = list(&file["types"]).iter().filter(|ty| column_type(ty).is_indexable()).cloned().collect();
    assert_eq!(Value::from(indexable), file["in_index"]);
}

fn validity(folder: &Folder) {
    let ty: ColumnType = "bool".parse().unwrap();
    for case in folder.cases("validity.json") {
        let valid: Vec<bool> = list(&case["valid"]).iter().map(|bit| bit.as_bool().unwrap()).collect();
        let mut builder = PageBuilder::new(&ty);
        builder.push_validity(0, valid.len(), Some(BooleanBuffer::from(valid.clone())));
        builder.push_values(&vec![0; valid.len()]);
        let page = builder.finish();
        assert_eq!(hex(&page.structure), text(&case["bytes"]));
        let structure = Structure::parse(&ty, valid.len() as u32, &page.structure, valid.len()).unwrap();
        let array = page_to_array(&ty, &structure, page.values.into()).unwrap();
        assert_eq!((0..array.len()).map(|slot| array.is_valid(slot)).collect::<Vec<_>>(), valid);
    }
}

fn lengths(folder: &Folder) {
    let file = folder.json("lengths.json");
    for case in list(&file["nodes"]) {
        let lengths: Vec<u32> = list(&case["lengths"]).iter().map(|length| number(length) as u32).collect();
        let mut bytes = Vec::new();
        PackedLengths::write(&lengths, &mut bytes);
        assert_eq!(hex(&bytes), text(&case["bytes"]));
        assert_eq!(PackedLengths::from_bytes(&bytes, lengths.len()).unwrap().iter().collect::<Vec<_>>(), lengths);
    }
    for case in list(&file["refused"]) {
        let (bytes, count) = (unhex(text(&case["bytes"])), number(&case["count"]) as usize);
        assert!(PackedLengths::from_bytes(&bytes, count).is_err(), "{case}");
    }
}

fn pages(folder: &Folder) {
    for case in folder.cases("pages.json") {
        let (ty, rows, page) = (column_type(&case["type"]), number(&case["rows"]), canonical(&case));
        assert_eq!(values_of(&ty, rows, &page), case["holds"], "{ty}");
        // The page is decoded and encoded again.
        let structure = Structure::parse(&ty, rows as u32, &page.structure, page.values.len()).unwrap();
        let array = page_to_array(&ty, &structure, page.values.clone().into()).unwrap();
        let again = make::canonical_pages(&[(ty.clone(), array)]);
        assert_eq!(again, [(ty.to_string(), rows as u32, page)], "{ty}");
    }
}

fn block_hashes(folder: &Folder) {
    for case in folder.cases("block_hashes.json") {
        let pages: Vec<(&str, CanonicalPage)> =
            list(&case["pages"]).iter().map(|page| (text(&page["type"]), canonical(page))).collect();
        let found = logical_block_hash(number(&case["rows"]) as u32, pages.iter().map(|(ty, page)| (*ty, page)));
        assert_eq!(found, hash(&case["hash"]));
    }
}

fn checksums(folder: &Folder) {
    let file = folder.json("checksums.json");
    for case in list(&file["seeds"]) {
        let hashes: Vec<Hash> = list(&case["hashes"]).iter().map(hash).collect();
        assert_eq!(chunk_seed(&hashes).0, wide(&case["seed"]));
    }
    for case in list(&file["pages"]) {
        let page = number(&case["page"]) as usize;
        let unsigned = unhex(text(&case["unsigned"]));
        let pages = vec![EncodedPage::from_unsigned(unsigned); page + 1];
        let (mut out, ordinal) = (Vec::new(), number(&case["ordinal"]) as u32);
        EncodedBlock { rows: 1, pages }.write(ChunkSeed(wide(&case["chunk_seed"])), ordinal, &mut out).unwrap();
        let (_, checksum) = out.split_last_chunk::<8>().unwrap();
        assert_eq!(u64::from_le_bytes(*checksum), wide(&case["checksum"]));
    }
}

fn chains(folder: &Folder) {
    let file = folder.json("chains.json");
    for case in list(&file["chains"]) {
        let (chain, decoded) = (chain(&case["chain"]), unhex(text(&case["decoded"])));
        let encoded = unhex(text(&case["encoded"]));
        assert_eq!(chain.decode(encoded.clone().into(), decoded.len()).unwrap(), decoded, "{chain}");
        let again = chain.encode(&decoded).unwrap();
        assert_eq!(chain.decode(again.clone().into(), decoded.len()).unwrap(), decoded, "{chain}");
        if case["deterministic"] == true {
            assert_eq!(again, encoded, "{chain}");
        }
    }
    for case in list(&file["refused"]) {
        let bytes = unhex(text(&case["chain"]));
        assert!(!Chain::read(&bytes).is_ok_and(|(_, rest)| rest.is_empty()), "{case}");
    }
    for case in list(&file["refused_encoded"]) {
        let (chain, encoded) = (chain(&case["chain"]), unhex(text(&case["encoded"])));
        assert!(chain.decode(encoded.into(), number(&case["values_len"]) as usize).is_err(), "{case}");
    }
}

/// Returns the type and chain of each column of a block or chunk, from its JSON.
fn columns(file: &Value) -> Vec<(ColumnType, Chain)> {
    let column = |column: &Value| (column_type(&column["type"]), chain(&column["chain"]));
    list(&file["columns"]).iter().map(column).collect()
}

/// Reads a block and compares it with its JSON. Returns its rows and pages.
fn check_block(bytes: &[u8], seed: ChunkSeed, ordinal: u32, columns: &[(ColumnType, Chain)], says: &Value) -> EncodedBlock {
    let directory = BlockDirectory::parse(bytes, seed, ordinal, columns.len()).unwrap();
    assert_eq!(u64::from(directory.rows), number(&says["rows"]));
    let (mut pages, mut encoded) = (Vec::new(), Vec::new());
    for (page, ((ty, chain), range)) in (0..).zip(columns.iter().zip(directory.pages)) {
        let place = PagePlace { seed, ordinal, page, rows: directory.rows, ty, chain };
        let decoded = decode_page(Bytes::copy_from_slice(&bytes[range]), place).unwrap().to_canonical();
        assert_eq!(values_of(ty, number(&says["rows"]), &decoded), says["holds"][usize::from(page)], "{ty}");
        encoded.push(encode_page(chain, &decoded).unwrap());
        pages.push((ty.to_string(), decoded));
    }
    let found = logical_block_hash(directory.rows, pages.iter().map(|(ty, page)| (ty.as_str(), page)));
    assert_eq!(found, hash(&says["hash"]));
    EncodedBlock { rows: directory.rows, pages: encoded }
}

fn block(folder: &Folder) {
    let (bytes, file) = (folder.bytes("block.bin"), folder.json("block.json"));
    let (seed, ordinal) = (ChunkSeed(wide(&file["seed"])), number(&file["ordinal"]) as u32);
    let block = check_block(&bytes, seed, ordinal, &columns(&file), &file);
    let mut again = Vec::new();
    block.write(seed, ordinal, &mut again).unwrap();
    assert_eq!(again, bytes);
    assert!(BlockDirectory::parse(&bytes, seed, ordinal + 1, 2).is_err(), "a block in another place");
}

fn chunk(folder: &Folder) {
    let (bytes, file) = (folder.bytes("chunk.bin"), folder.json("chunk.json"));
    assert_eq!(Hash::of(&bytes), hash(&file["name"]));
    let (header, columns) = (ChunkHeader::parse(&bytes).unwrap(), columns(&file));
    assert_eq!((header.seed.0, &header.columns), (wide(&file["seed"]), &columns));
    let directory = ChunkDirectory::parse(&bytes, &header).unwrap();
    let says = list(&file["blocks"]);
    assert_eq!(directory.blocks.len(), says.len());
    let hashes: Vec<Hash> = says.iter().map(|block| hash(&block["hash"])).collect();
    assert_eq!(chunk_seed(&hashes), header.seed);
    let mut writer = ChunkWriter::new(&columns, &hashes, bytes.len(), Salt::NONE).unwrap();
    for (ordinal, (says, (range, rows))) in (0..).zip(says.iter().zip(directory.blocks)) {
        let place = (range.start as u64, range.len() as u64, u64::from(rows));
        assert_eq!(place, (number(&says["offset"]), number(&says["bytes"]), number(&says["rows"])));
        writer.push(&check_block(&bytes[range], header.seed, ordinal, &columns, says)).unwrap();
    }
    // The writer gives the same blocks. The bytes may differ with another version of a compressor.
    assert_eq!(writer.finish().rows.iter().map(|rows| u64::from(*rows)).sum::<u64>(), number(&file["rows"]));
}

fn constants(value: &Value) -> Cuts {
    serde_json::from_value::<Cuts>(value.clone()).unwrap().check().unwrap()
}

/// Returns the row size and row hash of `format-spec/cuts.md#row-size`, from the bytes that a row adds to its pages.
fn measure(columns: &[Value]) -> (u64, u64) {
    columns.iter().fold((0, 0), |(size, hash), column| {
        let (lengths, values) = (unhex(text(&column["lengths"])), unhex(text(&column["values"])));
        let hash = lengths.chunks(64).fold(hash, twox_hash::XxHash3_64::oneshot_with_seed);
        let hash = twox_hash::XxHash3_64::oneshot_with_seed(hash, &values);
        (size + lengths.len() as u64 + values.len() as u64 + 1, hash)
    })
}

fn cuts(folder: &Folder) {
    let file = folder.json("cuts.json");
    for case in list(&file["rows_into_blocks"]) {
        let cuts = constants(&case["cuts"]);
        let (mut filled, mut ends) = (0, Vec::new());
        for (position, row) in list(&case["rows"]).iter().enumerate() {
            let (size, hash) = measure(list(&row["columns"]));
            assert_eq!((size, hash), (number(&row["size"]), wide(&row["hash"])));
            if filled > 0 && (row["starts"] == true || cuts.block_ends_before(filled, size)) {
                ends.push(position);
                filled = 0;
            }
            filled += size;
            if cuts.block_ends_after(filled, size, hash) {
                ends.push(position + 1);
                filled = 0;
            }
        }
        if filled > 0 {
            ends.push(list(&case["rows"]).len());
        }
        assert_eq!(json!(ends), case["ends"]);
        assert_eq!(json!(ends_of_the_writer(cuts, list(&case["rows"]))), case["ends"], "the writer");
    }
    for case in list(&file["blocks_into_chunks"]) {
        let cuts = constants(&case["cuts"]);
        let (mut filled, mut sequence, mut last, mut ends) = (0, 0, 0, Vec::new());
        for (position, block) in list(&case["blocks"]).iter().enumerate() {
            let (size, starts) = (number(&block["size"]), block["starts"] == true);
            if cuts.chunk_ends_before(filled, size, starts.then_some((sequence, last))) {
                ends.push(position);
                (filled, sequence) = (0, 0);
            }
            if starts {
                sequence = 0;
            }
            (filled, sequence, last) = (filled + size, sequence + size, wide(&block["hash"]));
            if cuts.chunk_ends_after(filled, size, last) {
                ends.push(position + 1);
                (filled, sequence) = (0, 0);
            }
        }
        if filled > 0 {
            ends.push(list(&case["blocks"]).len());
        }
        assert_eq!(json!(ends), case["ends"]);
    }
}

/// Returns the row numbers at which the library's writer ends blocks. Each row has a text and a list of numbers.
fn ends_of_the_writer(cuts: Cuts, rows: &[Value]) -> Vec<u64> {
    let mut log = 0;
    let logs: StringArray = rows
        .iter()
        .map(|row| {
            log += u64::from(row["starts"] == true);
            Some(format!("log {log}"))
        })
        .collect();
    let values = |column: usize| rows.iter().map(move |row| unhex(text(&row["columns"][column]["values"])));
    let bytes: ArrayRef = Arc::new(LargeBinaryArray::from_iter_values(values(0)));
    let numbers =
        values(1).map(|bytes| bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect::<Vec<_>>());
    let numbers: ArrayRef = Arc::new(make::lists(numbers));
    let columns: [(&str, ArrayRef); 3] = [("log", Arc::new(logs)), ("bytes", bytes), ("numbers", numbers)];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let schema = Schema::builder().index("log", "utf8").group("g", [("bytes", "binary"), ("numbers", "list<u32>")]);
    block_on(async {
        let table = tables::write(
            tables::memory().1,
            schema.sequence_by(["log"]).build().unwrap(),
            cut_by(cuts),
            std::slice::from_ref(&batch),
        );
        let table = table.await.unwrap();
        let layout = &table.manifest().segments[0].groups[0].layout;
        let bytes = table.store().get_exact(&format!("layout/{}.parquet", layout.blake3), layout.bytes).await.unwrap();
        let runs = read_layout(bytes, 2, rows.len() as u64, 0).unwrap();
        let mut end = 0;
        let blocks = runs.iter().flat_map(|run| run.block_rows.iter());
        blocks
            .map(|rows| {
                end += u64::from(rows);
                end
            })
            .collect()
    })
}

fn locators(folder: &Folder) {
    for case in folder.cases("locators.json") {
        let tag = Locator::tag(text(&case["table"]).parse().unwrap(), number(&case["version"]));
        assert_eq!(u64::from(tag), number(&case["tag"]));
        let locator = Locator { tag, row: number(&case["row"]) };
        assert_eq!(locator.to_i64(), case["locator"].as_i64().unwrap());
        assert_eq!(Locator::from_i64(locator.to_i64()).unwrap(), Some(locator));
    }
}

fn stored_manifest(folder: &Folder) -> Manifest {
    Manifest::parse(&folder.bytes("manifest.bin"), number(&folder.json("manifest.json")["version"])).unwrap().0
}

fn manifest(folder: &Folder) {
    let (bytes, file) = (folder.bytes("manifest.bin"), folder.json("manifest.json"));
    let (manifest, found) = Manifest::parse(&bytes, number(&file["version"])).unwrap();
    assert_eq!(found, hash(&file["blake3"]));
    assert_eq!(manifest_name(manifest.version), text(&file["name"]));
    assert_eq!((manifest.rows(), manifest.sequences()), (number(&file["rows"]), number(&file["sequences"])));
    assert_eq!(serde_json::from_slice::<Value>(&bytes).unwrap(), file["members"]);
    assert_eq!(manifest.to_bytes().unwrap(), (bytes, found));
}

/// Checks the Parquet objects of the only segment of the manifest.
fn segment(folder: &Folder) {
    let manifest = stored_manifest(folder);
    let segment = &manifest.segments[0];
    for (name, object) in
        [("index", &segment.index), ("layout", &segment.groups[0].layout), ("hashes", &segment.groups[0].hashes)]
    {
        let bytes = folder.bytes(&format!("{name}.parquet"));
        assert_eq!((Hash::of(&bytes), bytes.len() as u64), (object.blake3, object.bytes), "{name}");
    }
    let (bytes, file) = (Bytes::from(folder.bytes("index.parquet")), folder.json("index.json"));
    let batches: Vec<RecordBatch> =
        index_reader(bytes.clone(), &manifest.schema, manifest.rows()).unwrap().collect::<Result<_, _>>().unwrap();
    let batch = arrow_select::concat::concat_batches(&index_arrow_schema(&manifest.schema), &batches).unwrap();
    for (column, says) in manifest.schema.index().zip(list(&file["columns"])) {
        assert_eq!((json!(column.name), json!(column.ty.to_string())), (says["name"].clone(), says["type"].clone()));
        let values = plain::values(&column.ty, batch.column_by_name(&column.name).unwrap());
        assert_eq!(json!(values), says["values"]);
    }
    let runs: Vec<u32> = read_sequences(&bytes, segment.rows).unwrap().iter().collect();
    assert_eq!(json!(runs), file["runs"]);

    let columns = manifest.schema.groups()[0].columns.len();
    let runs = read_layout(folder.bytes("layout.parquet").into(), columns, segment.rows, 0).unwrap();
    assert_eq!(runs.iter().map(make::run_json).collect::<Value>(), folder.json("layout.json")["runs"]);
    let hashes = read_hashes(folder.bytes("hashes.parquet").into(), segment.groups[0].blocks).unwrap();
    let hashes: Vec<String> = hashes.iter().map(ToString::to_string).collect();
    assert_eq!(json!(hashes), folder.json("hashes.json")["hashes"]);
}

fn layout_shared(folder: &Folder) {
    let (bytes, file) = (Bytes::from(folder.bytes("layout_shared.parquet")), folder.json("layout_shared.json"));
    let read = |stores| read_layout(bytes.clone(), number(&file["columns"]) as usize, number(&file["rows"]), stores);
    let stores = number(&file["stores"]) as usize;
    let runs = read(stores).unwrap();
    assert_eq!(runs.iter().map(make::run_json).collect::<Value>(), file["runs"]);
    assert!(read(stores - 1).unwrap_err().to_string().contains("owner 2"));
    let again =
        read_layout(LayoutWriter::write(&runs).unwrap().into(), runs[0].chains.len(), number(&file["rows"]), stores).unwrap();
    assert_eq!(again, runs);
}

fn manifest_shared(folder: &Folder) {
    let (bytes, file) = (folder.bytes("manifest_shared.bin"), folder.json("manifest_shared.json"));
    let (manifest, found) = Manifest::parse(&bytes, number(&file["version"])).unwrap();
    assert_eq!((found, manifest_name(manifest.version).as_str()), (hash(&file["blake3"]), text(&file["name"])));
    assert_eq!(serde_json::from_slice::<Value>(&bytes).unwrap(), file["members"]);
    assert_eq!(json!(manifest.schema.groups().iter().map(|group| &group.masked).collect::<Vec<_>>()), file["masked"]);
    assert_eq!(manifest.to_bytes().unwrap(), (bytes, found));
}

fn manifests(folder: &Folder) {
    let file = folder.json("manifests.json");
    let parsed = |case: &Value| {
        let signed = text(&case["signed"]);
        Manifest::parse(format!("{signed},\"blake3\":\"{}\"}}\n", Hash::of(signed.as_bytes())).as_bytes(), 1)
    };
    for case in list(&file["taken"]) {
        let (manifest, _) = parsed(case).unwrap_or_else(|error| panic!("{error}: {case}"));
        assert_eq!(Manifest::parse(&manifest.to_bytes().unwrap().0, 1).unwrap().0, manifest, "{case}");
    }
    for case in list(&file["refused"]) {
        assert!(parsed(case).is_err(), "{case}");
    }
}

fn join(folder: &Folder) {
    let (bytes, file) = (Bytes::from(folder.bytes("join.parquet")), folder.json("join.json"));
    let (left, right) = (number(&file["left"]), number(&file["right"]));
    assert_eq!(json!(read_join(bytes.clone(), left, right).unwrap()), file["rows"]);
    assert!(read_join(bytes.clone(), left, right - 1).is_err() && read_join(bytes, left - 1, right).is_err());
}

fn view(folder: &Folder) {
    let (bytes, file) = (folder.bytes("manifest_view.bin"), folder.json("manifest_view.json"));
    let (manifest, hash) = Manifest::parse(&bytes, 1).unwrap();
    assert_eq!((hash.to_string().as_str(), manifest_name(1).as_str()), (text(&file["blake3"]), text(&file["name"])));
    assert_eq!(serde_json::from_slice::<Value>(&bytes).unwrap(), file["members"]);
    assert_eq!(manifest.to_bytes().unwrap(), (bytes, hash));
    let sources = &manifest.view.unwrap().sources;
    let columns = sources.iter().flat_map(|source| source.columns.iter().map(move |column| (source, column)));
    let types: Value = columns.map(|(source, column)| (column.name.clone(), json!(source.type_of(column).to_string()))).collect();
    assert_eq!(types, file["types"]);
    for case in file["refused"].as_array().unwrap() {
        let signed = text(&case["signed"]);
        let bytes = format!("{signed},\"blake3\":\"{}\"}}\n", Hash::of(signed.as_bytes()));
        assert!(Manifest::parse(bytes.as_bytes(), 1).is_err(), "{}", case["why"]);
    }
}

fn lists(folder: &Folder) {
    let (bytes, file) = (Bytes::from(folder.bytes("lists.parquet")), folder.json("lists.json"));
    let rows = file["firsts"].as_array().unwrap().len() as u64;
    assert_eq!(json!(read_lists(bytes.clone(), rows).unwrap()), file["firsts"]);
    assert!(read_lists(bytes, rows - 1).is_err());
    for case in file["refused"].as_array().unwrap() {
        let rows = case["firsts"].as_array().unwrap().len() as u64;
        assert!(read_lists(unhex(text(&case["file"])).into(), rows).is_err(), "{case}");
    }
}

fn pin(folder: &Folder) {
    let (bytes, file) = (folder.bytes("pin.bin"), folder.json("pin.json"));
    let pin = Pin::parse(&bytes, text(&file["name"])).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&bytes).unwrap(), file["members"]);
    assert_eq!((pin.to_bytes().unwrap(), pin.name()), (bytes, text(&file["name"]).to_owned()));
}

fn pin_second(folder: &Folder) {
    let (bytes, file) = (folder.bytes("pin_second.bin"), folder.json("pin_second.json"));
    let pin = Pin::parse(&bytes, text(&file["name"])).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&bytes).unwrap(), file["members"]);
    assert_eq!(pin.commit().to_string(), text(&file["commit"]));
    assert_ne!(pin.commit(), pin.commit_id);
    assert_eq!((pin.to_bytes().unwrap(), pin.name()), (bytes, text(&file["name"]).to_owned()));
}

fn manifest_tags(folder: &Folder) {
    let (manifest, members) = manifest_and_refusals(folder, "manifest_tags");
    assert_eq!(
        (json!(manifest.tags), json!(manifest.schema.next_id())),
        (members["tags"].clone(), members["next_column"].clone())
    );
}

fn tails(folder: &Folder) {
    let (manifest, _) = manifest_and_refusals(folder, "manifest_tails");
    let (index, file) = (Bytes::from(folder.bytes("index_tail.parquet")), folder.json("index_tail.json"));
    let (segment, size) = (&manifest.segments[0], index.len() as u64);
    let of = segment.tail.as_ref().unwrap();
    assert_eq!((json!(of), number(&file["rows"])), (file["tail"].clone(), segment.rows));
    let bytes = index.slice((size - of.bytes) as usize..);
    assert_eq!(Hash::of(&bytes), of.blake3);
    let schema = &manifest.schema;
    let tail = IndexTail::parse(&bytes, size, schema, segment.rows).unwrap();
    assert_eq!(json!(tail.sequences().unwrap().iter().collect::<Vec<u32>>()), file["runs"]);
    let part = tail.part(&[0, 1, 2, 3], std::slice::from_ref(&(0..segment.rows)));
    let pages = part
        .pages()
        .iter()
        .map(|(range, sum)| json!({"offset": range.start, "bytes": range.end - range.start, "sum": format!("{sum:016x}")}));
    assert_eq!(json!(pages.collect::<Vec<_>>()), file["pages"]);
    // Single rows of single columns, from their pages alone.
    for row in 0..segment.rows {
        for (place, says) in list(&file["columns"]).iter().enumerate() {
            let part = tail.part(&[place], std::slice::from_ref(&(row..row + 1)));
            let fetched: Vec<Bytes> =
                part.ranges().iter().map(|range| index.slice(range.start as usize..range.end as usize)).collect();
            tail.verify(&part, &fetched).unwrap();
            let groups = tail.open(&part, &fetched).unwrap();
            let batches: Vec<RecordBatch> = groups.read(0, &[place]).unwrap().collect::<Result<_, _>>().unwrap();
            let column = manifest.schema.index().nth(place).unwrap();
            let values = match batches[0].column(0).as_string_view_opt() {
                Some(texts) => Arc::new(texts.iter().collect::<LargeStringArray>()) as ArrayRef,
                None => Arc::clone(batches[0].column(0)),
            };
            assert_eq!(json!(plain::values(&column.ty, &values)), json!([says["values"][row as usize]]), "{row}");
        }
    }
}

fn bloom_filters(folder: &Folder) {
    let (index, file) = (Bytes::from(folder.bytes("index_filters.parquet")), folder.json("index_filters.json"));
    let (rows, size) = (number(&file["rows"]), index.len() as u64);
    let bytes = index.slice((size - number(&file["tail"]["bytes"])) as usize..);
    assert_eq!(json!(Hash::of(&bytes).to_string()), file["tail"]["blake3"]);
    let columns = list(&file["columns"]);
    let schema =
        columns.iter().fold(Schema::builder(), |schema, column| schema.index(text(&column["name"]), text(&column["type"])));
    let schema = schema.group("g", [("n", "u32")]).sequence_by(["log"]).build().unwrap();
    let tail = IndexTail::parse(&bytes, size, &schema, rows).unwrap();
    let every: Vec<usize> = (0..columns.len()).collect();
    let filters = tail.filters(&every, std::slice::from_ref(&(0..rows)));
    assert_eq!(filters.len(), list(&file["filters"]).len());
    for (filter, says) in filters.iter().zip(list(&file["filters"])) {
        let (range, column) = (filter.range(), &columns[filter.column()]);
        assert_eq!(
            json!([column["name"], range.start, range.end - range.start]),
            json!([says["column"], says["offset"], says["bytes"]])
        );
        let bytes = index.slice(range.start as usize..range.end as usize);
        let opened = filter.open(&bytes).unwrap();
        let bound = |value: &Value| match value.as_str() {
            Some(text) => Bound::Text(text.as_bytes().to_vec()),
            None => Bound::Integer(value.as_i64().map_or_else(|| i128::from(value.as_u64().unwrap()), i128::from)),
        };
        let mut values = list(&column["values"]).iter().filter(|value| !value.is_null());
        assert!(values.all(|value| opened.may_have(&bound(value))), "{column}");
        assert!(
            !list(&says["excluded"]).is_empty() && list(&says["excluded"]).iter().all(|value| !opened.may_have(&bound(value)))
        );
        let mut damaged = bytes.to_vec();
        *damaged.last_mut().unwrap() ^= 1;
        assert!(filter.open(&damaged.into()).is_err());
    }
}

fn manifest_deleting(folder: &Folder) {
    let (manifest, members) = manifest_and_refusals(folder, "manifest_deleting");
    assert_eq!(
        (json!(manifest.condemned), json!(manifest.deleting)),
        (members["condemned"].clone(), members["deleting"].clone())
    );
    assert_eq!(manifest.marked().collect::<Vec<_>>(), manifest.deleting.iter().flatten().collect::<Vec<_>>());
}

fn manifest_collections(folder: &Folder) {
    let (manifest, _) = manifest_and_refusals(folder, "manifest_collections");
    let file = folder.json("manifest_collections.json");
    let Collections { floor, lists, .. } = manifest.collections.clone().unwrap();
    let StoredLists::Here(lists) = lists else { panic!("the lists are in the manifest") };
    let object = text(&file["object"]).as_bytes();
    assert_eq!(Lists::parse(object, floor, manifest.version).unwrap(), lists);
    let signed = text(&file["signed_with_object"]);
    let bytes = format!("{signed},\"blake3\":\"{}\"}}\n", Hash::of(signed.as_bytes()));
    let (stored, _) = Manifest::parse(bytes.as_bytes(), manifest.version).unwrap();
    let StoredLists::Object(reference) = stored.collections.unwrap().lists else { panic!("the lists are in an object") };
    assert_eq!((&reference, reference.name_in("collections").as_str()), (&ObjectRef::of(object), text(&file["name_of_object"])));
}

/// Checks a manifest and its members, and that the same manifest with one change is refused.
fn manifest_and_refusals(folder: &Folder, name: &str) -> (Manifest, Value) {
    let (bytes, file) = (folder.bytes(&format!("{name}.bin")), folder.json(&format!("{name}.json")));
    let version = number(&file["version"]);
    let (manifest, found) = Manifest::parse(&bytes, version).unwrap();
    assert_eq!((found, manifest_name(version).as_str()), (hash(&file["blake3"]), text(&file["name"])));
    assert_eq!(serde_json::from_slice::<Value>(&bytes).unwrap(), file["members"]);
    assert_eq!(manifest.to_bytes().unwrap(), (bytes, found));
    for case in list(&file["refused"]) {
        let signed = text(&case["signed"]);
        let bytes = format!("{signed},\"blake3\":\"{}\"}}\n", Hash::of(signed.as_bytes()));
        assert!(Manifest::parse(bytes.as_bytes(), version).is_err(), "{}", case["why"]);
    }
    (manifest, file["members"].clone())
}
