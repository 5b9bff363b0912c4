//! zarr arrays: the reader refuses unsupported features by name, and streaming returns the stored records.

use std::path::Path;

use serde_json::json;

use super::*;
use crate::zarr::blosc;
use tetrys::error::ErrorKind;

fn zarray() -> Value {
    json!({
        "zarr_format": 2, "shape": [10], "chunks": [4], "dtype": [["a", "<u4"], ["b", "|u1"]], "order": "C", "filters": null,
        "fill_value": "AQAAAAI=", "compressor": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0},
    })
}

fn parse(change: impl FnOnce(&mut Value)) -> Result<ArrayMeta> {
    let mut json = zarray();
    change(&mut json);
    ArrayMeta::parse(json.to_string())
}

/// Writes a group with one array `a` of these chunks.
fn array(folder: &Path, meta: &Value, chunks: &[(u64, Vec<u8>)]) -> Arc<Array> {
    std::fs::create_dir_all(folder.join("a")).unwrap();
    std::fs::write(folder.join(".zgroup"), "{\"zarr_format\": 2}").unwrap();
    std::fs::write(folder.join("a/.zarray"), meta.to_string()).unwrap();
    for (chunk, bytes) in chunks {
        std::fs::write(folder.join(format!("a/{chunk}")), bytes).unwrap();
    }
    Arc::new(Array::open(&ZarrGroup::open(folder).unwrap(), "a").unwrap().unwrap())
}

#[test]
fn what_is_beyond_the_reader_is_refused_by_name() {
    for (key, value, kind, message) in [
        ("zarr_format", json!(3), ErrorKind::Unsupported, ".zarray zarr_format: expected 2, found 3"),
        ("order", json!("F"), ErrorKind::Unsupported, ".zarray order: expected \"C\", found \"F\""),
        (
            "filters",
            json!([{"id": "delta"}]),
            ErrorKind::Unsupported,
            ".zarray filters: expected null, found [{\"id\":\"delta\"}]",
        ),
        (
            "compressor",
            json!({"id": "zlib"}),
            ErrorKind::Unsupported,
            ".zarray compressor: expected blosc or null, found {\"id\":\"zlib\"}",
        ),
        (
            "dimension_separator",
            json!("x"),
            ErrorKind::Unsupported,
            ".zarray dimension_separator: expected \".\" or \"/\", found \"x\"",
        ),
        ("chunks", json!([0]), ErrorKind::Invalid, ".zarray chunks: expected 1 sizes above 0, found [0]"),
        (
            "chunks",
            json!([1_u64 << 60]),
            ErrorKind::Invalid,
            ".zarray chunks: expected chunks of at most 1073741824 bytes, found [1152921504606846976]",
        ),
        ("shape", json!([-1]), ErrorKind::Invalid, ".zarray shape: expected a list of sizes, found [-1]"),
        ("shape", json!([]), ErrorKind::Invalid, ".zarray shape: expected at least one dimension, found []"),
        (
            "shape",
            json!([u64::MAX]),
            ErrorKind::Invalid,
            ".zarray shape: expected at most 281474976710656 records, found [18446744073709551615]",
        ),
        ("fill_value", json!("AAAA"), ErrorKind::Invalid, ".zarray fill_value: expected 5 bytes for the dtype, found \"AAAA\""),
    ] {
        let error = parse(|json| json[key] = value).unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (kind, message));
    }
    let error = parse(|json| json["compressor"]["cname"] = json!("snappy")).unwrap_err();
    assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains("snappy"), "{error}");
    assert_eq!(ArrayMeta::parse("{".to_owned()).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn fill_values_are_base64_numbers_or_null() {
    assert_eq!(parse(|_| ()).unwrap().fill, [1, 0, 0, 0, 2]);
    assert_eq!(parse(|json| json["fill_value"] = Value::Null).unwrap().fill, [0; 5]);
    let plain = |dtype: &str, fill: Value| {
        parse(|json| {
            json["dtype"] = json!(dtype);
            json["fill_value"] = fill;
        })
        .map(|meta| meta.fill)
    };
    assert_eq!(plain("<i2", json!(-2)).unwrap(), (-2_i16).to_le_bytes());
    assert_eq!(plain("|b1", json!(true)).unwrap(), [1]);
    assert_eq!(plain("<f4", json!("NaN")).unwrap(), f32::NAN.to_le_bytes());
    assert!(plain("|u1", json!(256)).is_err());
    assert!(plain("<f4", json!("nonsense")).is_err());
}

#[test]
fn a_mask_of_two_dimensions_is_one_record_a_row() {
    let meta = parse(|json| {
        json["dtype"] = json!("<u4");
        json["fill_value"] = json!(7);
        json["shape"] = json!([10, 2]);
        json["chunks"] = json!([4, 2]);
        json["dimension_separator"] = json!("/");
    })
    .unwrap();
    assert_eq!((meta.record_len(), meta.chunk_bytes(), meta.chunk_key(3)), (8, 32, "3/0".to_owned()));
    assert_eq!(meta.fill, [7, 0, 0, 0, 7, 0, 0, 0]);
    let error = parse(|json| {
        json["dtype"] = json!("<u4");
        json["fill_value"] = json!(7);
        json["shape"] = json!([10, 2]);
        json["chunks"] = json!([4, 1]);
    });
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn streaming_trims_the_last_chunk_and_fills_a_missing_one() {
    let folder = tempfile::tempdir().unwrap();
    let chunk = |first: u8| -> Vec<u8> { (0..4).flat_map(|record| [first + record, 0, 0, 0, 9]).collect() };
    let stored = |first| blosc::encode(&chunk(first), 5, Codec::Lz4, true).unwrap();
    let array = array(folder.path(), &zarray(), &[(0, stored(0)), (2, stored(8))]);
    let mut cursor = Cursor::new(array);
    let all: Vec<u8> = [chunk(0), [1, 0, 0, 0, 2].repeat(4), chunk(8)[..10].to_vec()].concat();
    assert_eq!(cursor.records(0..10).unwrap(), all);
    for start in 0..10_u64 {
        for end in start..=10 {
            assert_eq!(cursor.records(start..end).unwrap(), all[start as usize * 5..end as usize * 5]);
        }
    }
    assert_eq!(cursor.records(9..11).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn a_chunk_of_the_wrong_size_names_array_chunk_expected_and_found() {
    let folder = tempfile::tempdir().unwrap();
    let stored = blosc::encode(&[7; 25], 5, Codec::Lz4, true).unwrap();
    let array = array(folder.path(), &zarray(), &[(1, stored)]);
    let error = Cursor::new(array.clone()).records(5..6).unwrap_err();
    assert!(error.to_string().ends_with("array a, chunk 1: blosc: expected 20 decoded bytes, the header says 25"), "{error}");
    std::fs::write(folder.path().join("a/1"), vec![0; 200_000]).unwrap();
    assert_eq!(Cursor::new(array).records(5..6).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn plain_chunks_need_their_exact_size() {
    let folder = tempfile::tempdir().unwrap();
    let mut meta = zarray();
    meta["compressor"] = Value::Null;
    let array = array(folder.path(), &meta, &[(0, vec![3; 20]), (1, vec![3; 19])]);
    let mut cursor = Cursor::new(array);
    assert_eq!(cursor.records(1..3).unwrap(), vec![3; 10]);
    let error = cursor.records(4..5).unwrap_err();
    assert!(error.to_string().ends_with("array a, chunk 1: expected 20 bytes, found 19"), "{error}");
}
