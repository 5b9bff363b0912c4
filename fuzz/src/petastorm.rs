//! The targets of `tetrys-petastorm`: pickles and footers. Nothing that a pickle names may run, and no walk of what it describes
//! may be long or deep.

use tetrys::ErrorKind;
use tetrys_petastorm::{
    footer,
    pickle::{Node, NodeId, Pickle},
    row_groups,
    unischema::Unischema,
};

use super::{about_bytes, sound};

/// Parses a pickle, and reads it as a schema and as row-group indexes.
pub fn pickle(data: &[u8]) {
    let found = sound(Pickle::parse(data));
    let schema = sound(Unischema::parse(data));
    let indexes = sound(row_groups::parse(data));
    let Some(found) = found else {
        assert!(schema.is_none() && indexes.is_none(), "a schema out of what is no pickle");
        return;
    };
    // One level is one call: a pickle that is too deep would end the program.
    let mut left = 10_000;
    walk(&found, found.root_id(), 0, &mut left);
    if let Some(schema) = schema {
        let json = schema.to_json();
        assert_eq!(json["fields"].as_array().map(Vec::len), Some(schema.fields.len()));
        assert!(schema.fields.iter().all(|field| schema.field(&field.name) == Some(field)), "names are unique");
    }
    for index in indexes.into_iter().flatten() {
        assert!(index.entries.iter().all(|(_, _, groups)| groups.is_sorted()));
        let _ = index.to_json();
    }
}

/// Looks at the nodes below a node, each as often as it is referred to, but no more than `left` of them.
fn walk(pickle: &Pickle, id: NodeId, depth: usize, left: &mut u32) {
    assert!(depth <= 64, "over 64 levels");
    *left = left.saturating_sub(1);
    if *left == 0 {
        return;
    }
    let _ = (pickle.described(id), pickle.text(id), pickle.bytes(id), pickle.entries(id), pickle.set(id));
    let mut below: Vec<NodeId> = Vec::new();
    match pickle.node(id) {
        Node::Tuple(items) | Node::List(items) | Node::Set(items) => below.extend(items),
        Node::Dict(entries) => below.extend(entries.iter().flat_map(|(key, value)| [key, value])),
        Node::Call(call) => {
            below.extend([call.callable, call.args]);
            below.extend(call.state.iter().chain(&call.items));
            below.extend(call.entries.iter().flat_map(|(key, value)| [key, value]));
        }
        _ => {}
    }
    for id in below {
        walk(pickle, id, depth + 1, left);
    }
}

/// Reads the key-value metadata of a footer, and the same bytes as the end of a file.
pub fn footer(data: &[u8]) {
    if let Some(entries) = sound(footer::key_values(data)) {
        let bytes: usize = entries.iter().map(|(key, value)| key.len() + value.len()).sum();
        assert!(bytes <= data.len(), "{bytes} bytes out of {}", data.len());
    }
    let tail = data.last_chunk::<{ footer::TAIL }>().map_or(data, |tail| tail);
    match footer::footer_len(tail, data.len() as u64) {
        Ok(len) => assert!(len + footer::TAIL <= data.len()),
        Err(error) => {
            assert_ne!(error.kind(), ErrorKind::Internal);
            about_bytes(&error);
        }
    }
}
