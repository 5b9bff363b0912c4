//! Manifests that name one object many times, so that a few bytes stand for very many rows.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use serde_json::json;
use tetrys::{Schema, Table, WriteOptions};

use super::{
    MEMORY, MOST_MEMORY, Sound, alone,
    common::tables::{block_on, cut_by, memory, overwrite, tiny_cuts, write},
    forge::Forged,
    sound_of,
};

/// Returns a table of so many rows, each of which is a sequence.
fn sound(rows: i64) -> Sound {
    let schema = Schema::builder().index("id", "i64").group("g", [("g.value", "i64")]).sequence_by(["id"]);
    let column = || Arc::new(Int64Array::from_iter_values(0..rows)) as ArrayRef;
    let written = RecordBatch::try_from_iter([("id", column()), ("g.value", column())]).unwrap();
    sound_of(schema.build().unwrap(), WriteOptions::default(), written)
}

/// Lets so many segments name the objects of the first one.
fn repeated(sound: &Sound, segments: u64) -> Vec<(String, Vec<u8>)> {
    let mut forged = sound.forged.clone();
    let first = forged.manifest["segments"][0].clone();
    let (rows, sequences) = (first["rows"].as_u64().unwrap(), first["sequences"].as_u64().unwrap());
    let segment = |number: u64| {
        let mut segment = first.clone();
        segment["first_row"] = json!(number * rows);
        segment
    };
    forged.manifest["segments"] = (0..segments).map(segment).collect();
    forged.manifest["rows"] = json!(segments * rows);
    forged.manifest["sequences"] = json!(segments * sequences);
    forged.sealed()
}

#[test]
fn many_segments_that_name_one_layout_take_no_more_memory_than_it_has() {
    let _alone = alone();
    let schema = Schema::builder().index("id", "i64").group("g", [("g.value", "i64")]).build().unwrap();
    let column = |times: i64| Arc::new(Int64Array::from_iter_values((0..30_000).map(|row| row * times))) as ArrayRef;
    let written = RecordBatch::try_from_iter([("id", column(1)), ("g.value", column(0x0123_4567_89ab))]).unwrap();
    let (_, store) = memory();
    block_on(write(store.clone(), schema, cut_by(tiny_cuts()), std::slice::from_ref(&written))).unwrap();
    let sound = Sound { forged: Forged::of(&store), written };
    let runs = sound.forged.layout(0).len();
    assert!(runs >= 120, "{runs} runs");
    let (raw, store) = memory();
    let error = block_on(async {
        for (name, bytes) in repeated(&sound, 10_000) {
            overwrite(&*raw, &name, &bytes).await;
        }
        let table = Table::open_in(store).await.unwrap();
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        let error = table.storage().layout(0).await.unwrap_err();
        let memory = MEMORY.peak_usage().saturating_sub(before);
        assert!(memory <= MOST_MEMORY, "{memory} bytes of memory: {error}");
        error.to_string()
    });
    assert!(error.contains("because many segments name the same layout objects, which have "), "{error}");
}

#[test]
fn an_index_object_with_several_sequences_belongs_to_one_segment() {
    let _alone = alone();
    let sound = sound(5_000);
    let error = sound.refused("2,000 segments of one index", &repeated(&sound, 2_000));
    assert!(error.contains("segments 0 and 1 have the same index object"), "{error}");
}
