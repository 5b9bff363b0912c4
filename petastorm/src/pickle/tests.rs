//! Tests of the pickle interpreter: protocols 0 to 5, bounds, and hostile pickles.

use super::*;

fn corpus(name: &str) -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/petastorm_pickle");
    std::fs::read(format!("{path}/{name}")).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Shows what a pickle describes, the same for all forms in which protocols write it.
fn shown(pickle: &Pickle, id: NodeId) -> String {
    let all = |ids: &[NodeId]| ids.iter().map(|id| shown(pickle, *id)).collect::<Vec<_>>().join(", ");
    if let Some(bytes) = pickle.bytes(id) {
        return format!("bytes {bytes:?}");
    }
    if let Some(items) = pickle.set(id) {
        return format!("{{{}}}", all(items));
    }
    if let Some(entries) = pickle.entries(id) {
        let entries = entries.iter().map(|(key, value)| format!("{}: {}", shown(pickle, *key), shown(pickle, *value)));
        return format!("{{{}}}", entries.collect::<Vec<_>>().join(", "));
    }
    match pickle.node(id) {
        Node::Tuple(items) => format!("({})", all(items)),
        Node::List(items) => format!("[{}]", all(items)),
        Node::Call(_) => {
            let object = pickle.object(id).unwrap();
            format!("{}({})", object.class_name(), all(&object.values))
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn every_protocol_describes_the_same_values() {
    let expected = r#"[{Int(1): (Float(2.5), Text("ü"), bytes [255], {Int(3)}, [None, Bool(true)], Int(1048576), Int(-3), decimal.Decimal(Text("1.50")), Text("a\\b\nc€"))}, {Text("a"): Int(1)}]"#;
    for protocol in 0..=5 {
        let pickle = Pickle::parse(&corpus(&format!("python-protocol-{protocol}"))).unwrap();
        assert_eq!(shown(&pickle, pickle.root_id()), expected, "protocol {protocol}");
    }
}

#[test]
fn no_prefix_of_a_pickle_is_a_pickle() {
    for name in ["python-protocol-0", "python-protocol-4", "schema-hello_world_spark35_py311", "schema-small"] {
        let bytes = corpus(name);
        for end in 0..bytes.len() {
            let error = Pickle::parse(&bytes[..end]).unwrap_err();
            assert_eq!(error.kind(), tetrys::ErrorKind::Corrupt, "{name}, {end} bytes: {error}");
        }
        assert!(Pickle::parse(&bytes).is_ok());
    }
}

#[test]
fn what_contains_itself_or_is_too_deep_is_refused() {
    for (name, says) in [
        ("cycle", "contains itself"),
        ("cycle-dict", "contains itself"),
        ("deep", "more than 64 levels"),
        ("persistent", "from outside of it"),
        ("extension", "from outside of it"),
        ("buffers", "from outside of it"),
        ("big-length", "found the end of the pickle"),
    ] {
        let error = Pickle::parse(&corpus(name)).unwrap_err().to_string();
        assert!(error.contains(says), "{name}: {error}");
    }
}

#[test]
fn a_value_that_is_shared_often_is_stored_once() {
    let pickle = Pickle::parse(&corpus("laughs")).unwrap();
    assert!(pickle.nodes.len() < 50, "{}", pickle.nodes.len());
}

#[test]
fn the_number_of_values_is_bounded() {
    let mut bytes = vec![b'('];
    bytes.resize(MAX_NODES + 10, b'N');
    bytes.extend(b"t.");
    let error = Pickle::parse(&bytes).unwrap_err().to_string();
    assert!(error.contains("more than 4194304 values"), "{error}");
    let error = Pickle::parse(&vec![b'N'; MAX_PICKLE + 1]).unwrap_err().to_string();
    assert!(error.contains("expected at most 67108864"), "{error}");
}

#[test]
fn numbers_and_texts_are_those_of_python() {
    for (bytes, expected) in [
        (&b"I42\n."[..], Node::Int(42)),
        (b"I01\n.", Node::Bool(true)),
        (b"I00\n.", Node::Bool(false)),
        (b"L-7L\n.", Node::Int(-7)),
        (b"F-1.5e3\n.", Node::Float(-1500.0)),
        (b"J\xff\xff\xff\xff.", Node::Int(-1)),
        (b"M\xff\xff.", Node::Int(65535)),
        (b"\x8a\x00.", Node::Int(0)),
        (b"\x8a\x02\x00\x80.", Node::Int(-32768)),
        (b"\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01.", Node::BigInt(vec![0, 0, 0, 0, 0, 0, 0, 0, 1])),
        (b"S'a\\x41\\n\\'\\\\'\n.", Node::Bytes(b"aA\n'\\".to_vec())),
        (b"V\\u00e9\\ud83d\\ude00\xe9\n.", Node::Text("é😀é".into())),
        (b"G\x40\x04\x00\x00\x00\x00\x00\x00.", Node::Float(2.5)),
    ] {
        assert_eq!(*Pickle::parse(bytes).unwrap().root(), expected, "{bytes:?}");
    }
    for bytes in [
        &b"Ix\n."[..],
        b"S'a\n.",
        b"S'\\q'\n.",
        b"V\\ud800\n.",
        b"V\\u12\n.",
        b"I1",
        b"\xff.",
        b"a.",
        b"t.",
        b"R.",
        b"0.",
        b"\x80\x09N.",
    ] {
        assert!(Pickle::parse(bytes).is_err(), "{bytes:?}");
    }
}
