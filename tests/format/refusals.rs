//! The library refuses bytes that the format pages forbid, even if all hashes and checksums are right. No writer may write such
//! bytes.

use std::sync::Arc;

use crate::common::tables::{block_on, cut_by, memory, tiny_cuts, two_partitions, write};
use serde_json::{Value, json};
use tetrys::{
    ColumnType, Error, ErrorKind,
    codec::{Chain, Step},
    format::{
        BlockDirectory, CanonicalPage, ChunkDirectory, ChunkHeader, ChunkSeed, ChunkWriter, EncodedBlock, EncodedPage, LayoutRun,
        LayoutWriter, Manifest, PackedLengths, PagePlace, decode_page, encode_page, read_layout, version_of_name,
    },
    id::{ChunkId, Hash, Salt},
};
use twox_hash::XxHash3_64;

fn refused<T: std::fmt::Debug>(result: Result<T, Error>, kind: ErrorKind, text: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(text), "{error}");
}

/// Parses the manifest of a small table as version `version`, after `edit` has changed it and its hash is updated.
fn edited(version: u64, edit: impl FnOnce(&mut Value)) -> Result<(Manifest, Hash), Error> {
    let (schema, partitions) = two_partitions(1);
    let table = block_on(write(memory().1, schema, cut_by(tiny_cuts()), &partitions)).unwrap();
    let (bytes, _) = table.manifest().to_bytes().unwrap();
    let mut json: Value = serde_json::from_slice(&bytes).unwrap();
    json.as_object_mut().unwrap().remove("blake3");
    edit(&mut json);
    let mut bytes = serde_json::to_vec(&json).unwrap();
    bytes.pop();
    let tail = format!(",\"blake3\":\"{}\"}}\n", Hash::of(&bytes));
    bytes.extend(tail.as_bytes());
    Manifest::parse(&bytes, version)
}

#[test]
fn a_manifest_that_uses_what_is_reserved_is_refused_by_name() {
    assert!(edited(1, |_| {}).is_ok());
    for feature in ["encryption", "redaction", "deletion-vectors", "dictionaries"] {
        let read = edited(1, |manifest| manifest["read_features"] = json!([feature]));
        refused(read, ErrorKind::Unsupported, &format!("`{feature}`"));
    }
}

#[test]
fn stores_and_condemned_objects_must_be_what_they_are_said_to_be() {
    let condemned = |folder: &str| json!([{"folder": folder, "blake3": Hash::of(b""), "bytes": 1}]);
    let read = |value: Value| {
        edited(1, |manifest| {
            manifest["condemned"] = value;
            manifest["write_features"] = json!(["condemned"]);
        })
    };
    for folder in ["attachments", "chunks", "hashes", "index", "joins", "layout"] {
        assert_eq!(read(condemned(folder)).unwrap().0.condemned[0].folder, folder);
    }
    for folder in ["manifests", "sessions", "pins", "", "../chunks", "chunks/aa"] {
        refused(read(condemned(folder)), ErrorKind::Corrupt, &format!("a condemned object in `{folder}`"));
    }
    refused(read(json!(["chunks/aa/bb"])), ErrorKind::Corrupt, "expected an object, found string");
    refused(read(json!([])), ErrorKind::Corrupt, "announces `condemned`");
    let marked = |value: Value, features: &[&str]| {
        edited(1, |manifest| {
            manifest["deleting"] = value;
            manifest["write_features"] = json!(features);
        })
    };
    assert_eq!(marked(condemned("chunks"), &["deleting"]).unwrap().0.marked().count(), 1);
    assert_eq!(marked(json!([]), &["deleting"]).unwrap().0.marked().count(), 0);
    refused(marked(condemned("pins"), &["deleting"]), ErrorKind::Corrupt, "a condemned object in `pins`");
    refused(marked(condemned("chunks"), &[]), ErrorKind::Corrupt, "`deleting`");
    refused(marked(Value::Null, &["deleting"]), ErrorKind::Corrupt, "announces `deleting`");
    let twice = [condemned("chunks").as_array().unwrap().clone(), condemned("chunks").as_array().unwrap().clone()].concat();
    refused(marked(twice.into(), &["deleting"]), ErrorKind::Corrupt, "condemned twice, or condemned and being deleted");
    let stores = |urls: Value| {
        edited(1, |manifest| {
            let table = "00000000-0000-0000-0000-000000000007";
            manifest["stores"] = json!([{"table": table, "version": 3, "blake3": Hash::of(b""), "urls": urls}]);
            manifest["read_features"] = json!(["references"]);
            manifest["write_features"] = json!(["references"]);
        })
    };
    assert_eq!(stores(json!(vec!["../a"; 16])).unwrap().0.stores[0].urls.len(), 16);
    for urls in [json!([]), json!([""]), json!(vec!["../a"; 17])] {
        refused(stores(urls), ErrorKind::Corrupt, "store 1: version 3");
    }
}

#[test]
fn features_for_writers_do_not_keep_readers_out_and_are_not_lost() {
    let (manifest, _) = edited(1, |manifest| manifest["write_features"] = json!(["later", "views"])).unwrap();
    assert_eq!(manifest.write_features, ["later", "views"]);
    let (again, _) = Manifest::parse(&manifest.to_bytes().unwrap().0, 1).unwrap();
    assert_eq!(again, manifest);
    refused(edited(1, |manifest| manifest["write_features"] = json!(["b", "a"])), ErrorKind::Corrupt, "not sorted");
}

#[test]
fn only_version_1_has_no_parent() {
    let parent = |version: u64| json!({"version": version, "blake3": Hash::of(b"")});
    refused(edited(1, |manifest| manifest["parent"] = parent(1)), ErrorKind::Corrupt, "version 1 with parent Some(1)");
    for (version, before, sound) in [(2, None, false), (2, Some(1), true), (2, Some(2), false), (2, Some(0), false)] {
        let read = edited(version, |manifest| {
            manifest["version"] = version.into();
            manifest["parent"] = before.map_or(Value::Null, parent);
        });
        assert_eq!(read.is_ok(), sound, "version {version}, parent {before:?}");
    }
    assert_eq!(version_of_name("manifests/18446744073709551615.json"), None, "there is no version 0");
    assert_eq!(version_of_name("manifests/18446744073709551614.json"), Some(1));
}

fn run(owner: u32, chunk_bytes: u64) -> LayoutRun {
    let lengths = PackedLengths::from_bytes(&[4, 0, 0, 0, 0], 1).unwrap();
    LayoutRun {
        chunk: ChunkId(Hash::of(b"chunk")),
        owner,
        chunk_bytes,
        seed: ChunkSeed(1),
        chains: Arc::from([Chain::PLAIN]),
        first_block: 0,
        first_offset: 64,
        rows: 4,
        lengths: lengths.clone(),
        block_rows: lengths,
        pages: None,
    }
}

#[test]
fn a_layout_that_points_into_an_unnamed_table_or_a_chunk_over_the_limit_is_refused() {
    let read = |run| read_layout(LayoutWriter::write(&[run]).unwrap().into(), 1, 4, 2);
    assert!(read(run(0, 1 << 30)).is_ok());
    assert!(read(run(2, 4096)).is_ok());
    refused(read(run(3, 4096)), ErrorKind::Corrupt, "owner 3, the manifest names 2 other tables");
    refused(read(run(0, (1 << 30) + 1)), ErrorKind::Corrupt, "does not add up");
}

/// Returns the checksum of a slot of block 0 (`format-spec/checksums.md#seeds`).
fn checksum(seed: u64, slot: u64, bytes: &[u8]) -> [u8; 8] {
    XxHash3_64::oneshot_with_seed(seed ^ slot.wrapping_mul(0x9E37_79B9_7F4A_7C15), bytes).to_le_bytes()
}

/// Returns a stored block of one page with a valid directory.
fn block(rows: u32, page_len: u32) -> Vec<u8> {
    let mut bytes = [rows, 1, page_len, 0].iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>();
    bytes.extend(checksum(7, 0, &bytes));
    bytes.resize(bytes.len() + page_len as usize, 0);
    bytes
}

#[test]
fn a_block_without_rows_or_with_a_page_too_short_to_be_one_is_refused() {
    let read = |rows, page_len| BlockDirectory::parse(&block(rows, page_len), ChunkSeed(7), 0, 1);
    assert_eq!(read(5, 32).unwrap().rows, 5);
    refused(read(0, 32), ErrorKind::Corrupt, "0 rows");
    refused(read(5, 24), ErrorKind::Corrupt, "a page of 24 bytes");
}

#[test]
fn a_page_stored_in_another_way_than_its_chain_says_is_refused() {
    let ty: ColumnType = "u8".parse().unwrap();
    let page = CanonicalPage { structure: vec![0], values: vec![1, 2, 3] };
    let read = |stored_for: &Chain, flags: u8, read_by: &Chain| {
        let mut bytes = encode_page(stored_for, &page).unwrap().unsigned().to_vec();
        bytes[12] = flags;
        bytes.extend(checksum(7, 1, &bytes));
        let place = PagePlace { seed: ChunkSeed(7), ordinal: 0, page: 0, rows: 3, ty: &ty, chain: read_by };
        decode_page(bytes.into(), place).map(|page| page.values)
    };
    let shuffled = Chain::new([Step::Shuffle(2)]).unwrap();
    assert_eq!(read(&Chain::PLAIN, 0, &Chain::PLAIN).unwrap(), [1_u8, 2, 3][..]);
    assert_eq!(read(&Chain::PLAIN, 1, &shuffled).unwrap(), [1_u8, 2, 3][..]);
    refused(read(&Chain::PLAIN, 1, &Chain::PLAIN), ErrorKind::Corrupt, "flags 1, chain plain");
    refused(read(&Chain::PLAIN, 0, &shuffled), ErrorKind::Corrupt, "3 bytes of values stored in 3: does not fit flags 0");
    refused(read(&Chain::PLAIN, 2, &shuffled), ErrorKind::Corrupt, "flags 2");
}

#[test]
fn a_chunk_without_blocks_is_refused() {
    let columns = [("u8".parse().unwrap(), Chain::PLAIN)];
    let chunk = ChunkWriter::new(&columns, &[], 0, Salt::NONE).unwrap().finish();
    let header = ChunkHeader::parse(&chunk.bytes).unwrap();
    refused(ChunkDirectory::parse(&chunk.bytes, &header), ErrorKind::Corrupt, "0 blocks");
}

#[test]
fn a_chunk_over_1_gib_is_not_written() {
    // The page is zeroed memory that is never touched: the size is refused before any byte is copied.
    let block = EncodedBlock { rows: 1, pages: vec![EncodedPage::from_unsigned(vec![0; (1 << 30) - 64])] };
    let mut chunk = ChunkWriter::new(&[("binary".parse().unwrap(), Chain::PLAIN)], &[Hash::of(b"")], 0, Salt::NONE).unwrap();
    refused(chunk.push(&block), ErrorKind::Invalid, "at most 1073741824");
}
