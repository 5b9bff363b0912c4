//! Builds the golden tables: what each is there for, and how it is written. A table that was checked in is never built again,
//! so its entry may change only before that; new ones are added at the end.

use std::{collections::BTreeSet, fs, path::Path};

use arrow_array::RecordBatch;
use tetrys::{Cuts, Preset, Schema, Store, Table, WriteOptions, codec::Chain, format::Manifest};

use crate::{
    common::tables::{self, Rng, Taste, block_on, cut_by, joined, rows_of, tiny_cuts},
    plain,
};

/// One golden table.
pub(crate) struct Golden {
    /// Its directory.
    pub(crate) name: &'static str,
    /// Writes it at a path, and gives its schema and all its rows.
    write: fn(&Path) -> (Schema, RecordBatch),
    /// Whether it holds what it is there for, as far as its manifest tells.
    pub(crate) holds: fn(&Manifest) -> bool,
}

/// Every golden table.
pub(crate) const TABLES: &[Golden] = &[
    Golden { name: "codecs-fast", write: |path| codecs(path, Preset::Fast), holds: |manifest| manifest.preset == "fast" },
    Golden { name: "codecs-balanced", write: |path| codecs(path, Preset::Balanced), holds: |_| true },
    Golden { name: "codecs-compact", write: |path| codecs(path, Preset::Compact), holds: |_| true },
    Golden { name: "nulls", write: nulls, holds: |manifest| manifest.rows() > 0 },
    Golden { name: "ragged", write: ragged, holds: |manifest| manifest.rows() > 0 },
    Golden {
        name: "multi-row-blocks",
        write: multi_row_blocks,
        holds: |manifest| {
            let group = &manifest.segments[0].groups[0];
            group.blocks > 1 && group.blocks < manifest.rows() && group.runs > 1
        },
    },
    Golden {
        name: "two-segments",
        write: two_segments,
        holds: |manifest| manifest.segments.len() == 2 && manifest.segments[1].continues && manifest.version == 2,
    },
    Golden {
        name: "column-in-two-groups",
        write: column_in_two_groups,
        holds: |manifest| {
            let groups = manifest.schema.groups();
            groups[0].columns.iter().any(|column| groups[1].columns.contains(column))
        },
    },
    Golden { name: "no-rows", write: no_rows, holds: |manifest| manifest.segments.is_empty() },
];

/// Writes all of them, each with its `expected.json`, into an empty folder.
pub(crate) fn tables(folder: &Path) {
    for golden in TABLES {
        let path = folder.join(golden.name).join("table");
        let (schema, rows) = (golden.write)(&path);
        // What was written; only names that the writer draws come from the manifest.
        let manifest = block_on(Table::open(path.to_str().unwrap())).unwrap().manifest().clone();
        let expected = serde_json::json!({
            "table": manifest.table, "version": manifest.version, "rows": rows.num_rows(), "sequences": manifest.sequences(),
            "columns": plain::columns(&schema, &rows),
        });
        fs::write(folder.join(golden.name).join("expected.json"), serde_json::to_vec(&expected).unwrap()).unwrap();
    }
}

/// The codec ids that this build reads.
pub(crate) fn known_codecs() -> BTreeSet<u8> {
    let known = |id: &u8| (0..=255).any(|parameter| Chain::read(&[1, *id, parameter]).is_ok());
    (0..=255).filter(known).collect()
}

fn write(path: &Path, schema: &Schema, options: WriteOptions, partitions: &[RecordBatch]) {
    let store = Store::open(path.to_str().unwrap()).unwrap();
    block_on(tables::write(store, schema.clone(), options, partitions)).unwrap();
}

/// One segment of one partition.
fn one(path: &Path, schema: Schema, options: WriteOptions, rows: RecordBatch) -> (Schema, RecordBatch) {
    write(path, &schema, options, std::slice::from_ref(&rows));
    (schema, rows)
}

/// Values that codecs like: slow numbers of every width, points, poses, text, bytes that no codec helps.
fn codecs(path: &Path, preset: Preset) -> (Schema, RecordBatch) {
    let schema = Schema::builder()
        .index("log", "utf8")
        .index("time", "i64")
        .group("scalars", [("b", "bool"), ("i16", "i16"), ("u32", "u32"), ("i64", "i64"), ("f32", "f32"), ("f64", "f64")])
        .group("tensors", [("points", "f32[?,4]"), ("pose", "f64[3,3]"), ("mask", "bool[16]"), ("half", "f16[8]")])
        .group("others", [("text", "utf8"), ("bytes", "binary"), ("stamps", "list<timestamp[us,UTC]>")])
        .sequence_by(["log"])
        .order_by(["time"])
        .build()
        .unwrap();
    let rows = rows_of(&schema, &mut Rng(11), &[("a", 120)], Taste { nulls: 9, length: 6, smooth: true });
    one(path, schema, WriteOptions { preset, ..WriteOptions::default() }, rows)
}

fn nulls(path: &Path) -> (Schema, RecordBatch) {
    let schema = Schema::builder()
        .index("log", "utf8")
        .index("time", "i64")
        .index("weight", "f64")
        .index("day", "date")
        .index("flag", "bool")
        .group("g", [("i", "i32"), ("t", "utf8"), ("fixed", "f32[2,2]"), ("ragged", "u16[?,3]"), ("lists", "list<list<utf8>>")])
        .build()
        .unwrap();
    let mut rng = Rng(12);
    let parts = [2, 1, 0].map(|nulls| rows_of(&schema, &mut rng, &[("a", 8)], Taste { nulls, length: 4, smooth: false }));
    write(path, &schema, cut_by(tiny_cuts()), &parts);
    (schema, joined(&parts))
}

fn ragged(path: &Path) -> (Schema, RecordBatch) {
    let schema = Schema::builder()
        .index("log", "utf8")
        .index("time", "i64")
        .group(
            "g",
            [("points", "f32[?,4]"), ("image", "u8[?,?,3]"), ("none", "f64[?,0]"), ("one", "i16[]"), ("lists", "list<f32[?]>")],
        )
        .sequence_by(["log"])
        .build()
        .unwrap();
    let rows = rows_of(&schema, &mut Rng(13), &[("a", 12), ("b", 5)], Taste { nulls: 7, length: 4, smooth: false });
    one(path, schema, cut_by(tiny_cuts()), rows)
}

fn multi_row_blocks(path: &Path) -> (Schema, RecordBatch) {
    let schema = Schema::builder().index("log", "utf8").index("time", "i64").group("g", [("n", "u32"), ("note", "utf8")]);
    let schema = schema.sequence_by(["log"]).order_by(["time"]).build().unwrap();
    let rows = rows_of(&schema, &mut Rng(14), &[("a", 90), ("b", 1), ("c", 60)], Taste { nulls: 0, length: 9, smooth: false });
    one(path, schema, cut_by(tiny_cuts()), rows)
}

fn two_segments(path: &Path) -> (Schema, RecordBatch) {
    let (schema, mut rng) = (tables::sensors(), Rng(15));
    let first = rows_of(&schema, &mut rng, &[("a", 9), ("b", 4)], Taste::SMALL);
    // Times start anew in each batch; those behind the fourth row continue `b`.
    let second = rows_of(&schema, &mut rng, &[("b", 10), ("c", 3)], Taste::NOISE).slice(4, 9);
    write(path, &schema, cut_by(tiny_cuts()), std::slice::from_ref(&first));
    plain::append_segment(path, &schema, &cut_by(tiny_cuts()), &second);
    (schema, joined(&[first, second]))
}

fn column_in_two_groups(path: &Path) -> (Schema, RecordBatch) {
    let schema = Schema::builder()
        .index("log", "utf8")
        .index("time", "i64")
        .group("with image", [("image", "binary"), ("pose", "f64[3,3]")])
        .group("poses", [("pose", "f64[3,3]"), ("speed", "f32")])
        .sequence_by(["log"])
        .build()
        .unwrap();
    let rows = rows_of(&schema, &mut Rng(16), &[("a", 10), ("b", 6)], Taste::NOISE);
    let cuts = Cuts { chunk_min: 2_000, chunk_target: 4_000, chunk_max: 9_000, ..tiny_cuts() };
    one(path, schema, cut_by(cuts), rows)
}

fn no_rows(path: &Path) -> (Schema, RecordBatch) {
    let schema = tables::sensors();
    let rows = rows_of(&schema, &mut Rng(17), &[], Taste::SMALL);
    write(path, &schema, WriteOptions::default(), &[]);
    (schema, rows)
}
