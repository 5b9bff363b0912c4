//! Manifests that name one object many times, so that a few bytes stand for very many rows.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use serde_json::json;
use tetrys::{Schema, WriteOptions};

use super::{Sound, alone, sound_of};

/// The number of segments that name the objects.
const SEGMENTS: u64 = 2_000;

/// Returns a table of so many rows, each of which is a sequence.
fn sound(rows: i64) -> Sound {
    let schema = Schema::builder().index("id", "i64").group("g", [("g.value", "i64")]).sequence_by(["id"]);
    let column = || Arc::new(Int64Array::from_iter_values(0..rows)) as ArrayRef;
    let written = RecordBatch::try_from_iter([("id", column()), ("g.value", column())]).unwrap();
    sound_of(schema.build().unwrap(), WriteOptions::default(), written)
}

/// Lets many segments name the objects of the first one.
fn repeated(sound: &Sound) -> Vec<(String, Vec<u8>)> {
    let mut forged = sound.forged.clone();
    let first = forged.manifest["segments"][0].clone();
    let (rows, sequences) = (first["rows"].as_u64().unwrap(), first["sequences"].as_u64().unwrap());
    let segment = |number: u64| {
        let mut segment = first.clone();
        segment["first_row"] = json!(number * rows);
        segment
    };
    forged.manifest["segments"] = (0..SEGMENTS).map(segment).collect();
    forged.manifest["rows"] = json!(SEGMENTS * rows);
    forged.manifest["sequences"] = json!(SEGMENTS * sequences);
    forged.sealed()
}

#[test]
fn an_index_object_with_several_sequences_belongs_to_one_segment() {
    let _alone = alone();
    let sound = sound(5_000);
    let error = sound.refused("2,000 segments of one index", &repeated(&sound));
    assert!(error.contains("segments 0 and 1 have the same index object"), "{error}");
}
