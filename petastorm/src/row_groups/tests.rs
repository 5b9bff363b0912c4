//! Tests of the row-group indexes.

use super::*;

fn corpus(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../fuzz/corpus/petastorm_pickle/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn an_index_of_the_highest_protocol_has_the_values_that_petastorm_sees() {
    let found = parse(&corpus("index-index_highest_proto")).unwrap();
    let of = |name: &str| found.iter().find(|index| index.name == name).unwrap();
    let id: Vec<(i64, Vec<u64>)> =
        of("id").entries.iter().map(|(value, _, groups)| (value.as_i64().unwrap(), groups.clone())).collect();
    let groups = |value: i64| {
        if value < 3 {
            vec![0]
        } else if value < 5 {
            vec![0, 1]
        } else {
            vec![1]
        }
    };
    assert_eq!(id, (0..9).map(|value| (value, groups(value))).collect::<Vec<_>>());
    let names: Vec<&str> = of("name").entries.iter().map(|(value, ..)| value.as_str().unwrap()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(of("nn").entries, [(Value::Null, "None".to_owned(), vec![7])]);
}

#[test]
fn an_index_of_python_2_has_numpy_values() {
    let found = parse(&corpus("index-0.4.0")).unwrap();
    let id = found.iter().find(|index| index.name == "id").unwrap();
    assert_eq!((id.class.as_str(), id.column.as_str()), ("petastorm.etl.rowgroup_indexers.SingleFieldIndexer", "id"));
    assert_eq!(id.entries.len(), 100);
    assert!(id.entries.iter().all(|(value, kind, groups)| kind == "int64" && *groups == [value.as_u64().unwrap() / 10]));
}

#[test]
fn sets_that_entries_share_do_not_multiply_without_bound() {
    // A set of 1,000 row groups that 40,000 values share would be 40 million numbers.
    let text = |text: &str| [&[0x8c, u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    let mut bytes = b"\x80\x04}".to_vec();
    bytes.extend(text("x"));
    bytes.extend([text("petastorm.etl.rowgroup_indexers"), text("SingleFieldIndexer")].concat());
    bytes.extend(b"\x93)\x81}(");
    bytes.extend([text("_column_name"), text("c"), text("_index_data")].concat());
    bytes.extend(b"\x8f\x94(");
    (0..1000_u16).for_each(|group| bytes.extend([&b"M"[..], &group.to_le_bytes()].concat()));
    bytes.extend(b"\x900}(");
    (0..40_000_u32).for_each(|value| bytes.extend([&b"J"[..], &value.to_le_bytes(), b"h\x00"].concat()));
    bytes.extend(b"uubs.");
    let error = parse(&bytes).unwrap_err().to_string();
    assert!(error.contains("over 33554432 row groups in all entries"), "{error}");
}
