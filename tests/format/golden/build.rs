//! Builds the golden tables: the purpose of each, and how it is written. A table that was checked in is never built again, so its
//! entry may change only before that. New tables are added at the end.
//!
//! The writer stores all chunks in its own table and writes one version. Other parts of the format are assembled here by the
//! writers of the format's structures.

use std::{collections::BTreeSet, fs, path::Path, sync::Arc, time::Duration};

use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, Float64Array, Int32Array, Int64Array, LargeBinaryArray, LargeListArray, RecordBatch,
    UInt64Array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field};
use arrow_select::take::take;
use serde_json::json;
use tetrys::{
    ColumnType, IndexTails, Preset, Schema, SchemaBuilder, Store, Table, TableWriter, WriteOptions,
    codec::Chain,
    format::{
        Condemned, ForeignTable, LayoutWriter, Manifest, Parent, StoredLists, View, ViewColumn, ViewIndexColumn, ViewSource,
        index_arrow_schema, read_layout, write_join,
    },
    id::{Hash, ObjectRef, Salt},
    table::{Cuts, GcSettings, now_ms},
};
use uuid::Uuid;

use crate::{
    common::plain,
    common::tables::{self, Rng, Taste, block_on, cut_by, joined, rows_of, tiny_cuts},
};

/// One golden table.
pub(crate) struct Golden {
    /// The name of its directory.
    pub(crate) name: &'static str,
    /// Writes the table at a path, and returns its schema and all its rows.
    write: fn(&Path) -> (Schema, RecordBatch),
    /// Whether the manifest shows that the table serves its purpose.
    pub(crate) holds: fn(&Manifest) -> bool,
}

/// All golden tables.
pub(crate) const TABLES: &[Golden] = &[
    Golden { name: "codecs-fast", write: |path| codecs(path, Preset::Fast), holds: |manifest| manifest.preset == "fast" },
    Golden { name: "codecs-balanced", write: |path| codecs(path, Preset::Balanced), holds: |_| true },
    Golden { name: "codecs-compact", write: |path| codecs(path, Preset::Compact), holds: |_| true },
    Golden {
        name: "every-type",
        write: every_type,
        holds: |manifest| {
            let index = manifest.schema.index().count();
            index == TYPES.iter().filter(|ty| is_indexable(ty)).count() + 2
                && manifest.schema.columns().len() == TYPES.len() + index
        },
    },
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
        name: "wide-rows",
        write: wide_rows,
        holds: |manifest| manifest.segments[0].groups[0].stored_bytes > 16_384 * manifest.rows(),
    },
    Golden {
        name: "two-segments",
        write: two_segments,
        holds: |manifest| manifest.segments.len() == 2 && manifest.segments[1].continues && manifest.version == 1,
    },
    Golden {
        name: "two-versions",
        write: two_versions,
        holds: |manifest| manifest.segments.len() == 2 && manifest.segments[1].continues && manifest.version == 2,
    },
    Golden {
        name: "column-in-two-groups",
        write: column_in_two_groups,
        holds: |manifest| {
            let groups = manifest.schema.groups();
            groups[0].columns.iter().any(|column| groups[1].columns.contains(column)) && !manifest.schema.has_masked_copies()
        },
    },
    Golden {
        name: "masked-copy",
        write: masked_copy,
        holds: |manifest| manifest.schema.groups()[0].masked.len() == 1 && manifest.version == 2,
    },
    Golden { name: "reference", write: reference, holds: |manifest| manifest.stores.len() == 2 },
    Golden {
        name: "around-the-rows",
        write: around_the_rows,
        holds: |manifest| !manifest.attachments.is_empty() && !manifest.properties.is_empty() && manifest.condemned.len() == 2,
    },
    Golden {
        name: "odd-names",
        write: odd_names,
        holds: |manifest| manifest.schema.columns().iter().any(|column| column.name.len() == 1_024),
    },
    Golden { name: "no-rows", write: no_rows, holds: |manifest| manifest.segments.is_empty() },
    Golden {
        name: "view",
        write: view,
        holds: |manifest| {
            let sources = &manifest.view.as_ref().unwrap().sources;
            sources.len() == 3 && sources[1].join.is_some() && sources[1].lists.is_none() && sources[2].lists.is_some()
        },
    },
    Golden {
        name: "index-tails",
        write: index_tails,
        holds: |manifest| manifest.segments.len() == 2 && manifest.segments.iter().all(|segment| segment.tail.is_some()),
    },
    Golden {
        name: "bloom-filters",
        write: bloom_filters,
        holds: |manifest| manifest.schema.index().count() > 9 && manifest.schema.index().all(|column| column.has_bloom_filter()),
    },
    Golden {
        name: "collected",
        write: collected,
        holds: |manifest| {
            let collections = manifest.collections.as_ref().unwrap();
            let StoredLists::Here(lists) = &collections.lists else { return false };
            let is_given_up = !lists.expired.is_empty() && !lists.condemned.is_empty();
            is_given_up && !lists.kept.is_empty() && collections.floor > 0 && collections.recent.len() > 3
        },
    },
];

/// Writes all tables into an empty folder, each with its `expected.json`.
pub(crate) fn tables(folder: &Path) {
    for golden in TABLES {
        let path = folder.join(golden.name).join("table");
        let (schema, rows) = (golden.write)(&path);
        // The expected values are those that were written. Only random ids come from the manifest.
        let manifest = block_on(Table::open(path.to_str().unwrap())).unwrap().manifest().clone();
        let mut columns = plain::columns(&schema, &rows);
        if manifest.view.is_some() {
            // The columns of a view have the ids of other tables.
            columns.as_array_mut().unwrap().iter_mut().for_each(|column| drop(column.as_object_mut().unwrap().remove("id")));
        }
        let expected = json!({
            "table": manifest.table, "version": manifest.version, "rows": rows.num_rows(), "sequences": manifest.sequences(),
            "columns": columns,
        });
        fs::write(folder.join(golden.name).join("expected.json"), serde_json::to_vec(&expected).unwrap()).unwrap();
    }
}

/// Returns the codec ids that this build can read.
pub(crate) fn known_codecs() -> BTreeSet<u8> {
    let known = |id: &u8| (0..=255).any(|parameter| Chain::read(&[1, *id, parameter]).is_ok());
    (0..=255).filter(known).collect()
}

fn open_store(path: &Path) -> Store {
    Store::open(path.to_str().unwrap()).unwrap()
}

fn write(path: &Path, schema: &Schema, options: WriteOptions, partitions: &[RecordBatch]) -> Table {
    block_on(tables::write(open_store(path), schema.clone(), options, partitions)).unwrap()
}

/// Writes one segment of one partition.
fn one(path: &Path, schema: Schema, options: WriteOptions, rows: RecordBatch) -> (Schema, RecordBatch) {
    write(path, &schema, options, std::slice::from_ref(&rows));
    (schema, rows)
}

/// Publishes the next version of a table with a changed manifest.
fn next_version(table: &Table, change: impl FnOnce(&mut Manifest)) {
    let mut manifest = table.manifest().clone();
    manifest.parent = Some(Parent { version: manifest.version, blake3: table.manifest_hash() });
    manifest.version += 1;
    manifest.commit_id = Uuid::from_u128(u128::from(manifest.version));
    change(&mut manifest);
    block_on(tetrys::commit::publish(table.store(), &manifest)).unwrap();
}

/// Stores an object under its hash.
fn put(store: &Store, folder: &str, suffix: &str, bytes: Vec<u8>) -> ObjectRef {
    let object = ObjectRef { blake3: Hash::of(&bytes), bytes: bytes.len() as u64 };
    block_on(store.put_content(&format!("{folder}/{}{suffix}", object.blake3), bytes.into())).unwrap();
    object
}

/// Writes values for all codecs: slowly changing numbers of every width, points, poses, text, and incompressible bytes.
fn codecs(path: &Path, preset: Preset) -> (Schema, RecordBatch) {
    let schema = Schema::builder()
        .index("log", "utf8")
        .index("time", "i64")
        .group("scalars", [("b", "bool"), ("i16", "i16"), ("u32", "u32"), ("i64", "i64"), ("f32", "f32"), ("f64", "f64")])
        .group("tensors", [("points", "f32[?,4]"), ("pose", "f64[3,3]"), ("mask", "bool[16]"), ("half", "f16[8]")])
        .group("tracks", [("track", "i32[8,3]")])
        .group("others", [("text", "utf8"), ("bytes", "binary"), ("stamps", "list<timestamp[us,UTC]>")])
        .sequence_by(["log"])
        .order_by(["time"])
        .build()
        .unwrap();
    let rows = rows_of(&schema, &mut Rng(11), &[("a", 100)], Taste { nulls: 9, length: 6, smooth: true });
    // Three components, each of which changes slowly.
    let moves = (0..100 * 8).flat_map(|step: i32| [step * 7 + step % 5, 1_000_000 - step * step / 9, step / 8 % 3 - 5]);
    let items = Arc::new(moves.collect::<Int32Array>());
    let track = FixedSizeListArray::new(Arc::new(Field::new("item", DataType::Int32, true)), 24, items, None);
    let (batch_schema, mut columns, _) = rows.into_parts();
    let place = batch_schema.index_of("track").unwrap();
    columns[place] = Arc::new(track);
    let rows = RecordBatch::try_new(batch_schema, columns).unwrap();
    one(path, schema, WriteOptions::default().preset(preset), rows)
}

/// A type of every kind; each scalar type alone and in tensors.
const TYPES: &[&str] = &[
    "bool",
    "i8",
    "i16",
    "i32",
    "i64",
    "u8",
    "u16",
    "u32",
    "u64",
    "f16",
    "bf16",
    "f32",
    "f64",
    "date",
    "timestamp[s]",
    "timestamp[ms]",
    "timestamp[us]",
    "timestamp[ns]",
    "timestamp[s,UTC]",
    "timestamp[ms,Europe/Zurich]",
    "timestamp[us,+05:30]",
    "timestamp[ns,UTC]",
    "duration[s]",
    "duration[ms]",
    "duration[us]",
    "duration[ns]",
    "utf8",
    "categorical",
    "binary",
    "bool[3]",
    "i8[2]",
    "i16[2,2]",
    "i32[]",
    "i64[0]",
    "u8[?]",
    "u16[?,2]",
    "u32[2,?,?]",
    "u64[1]",
    "f16[?,0]",
    "bf16[?]",
    "f32[?,4]",
    "f64[3,3]",
    "list<bool>",
    "list<utf8>",
    "list<categorical>",
    "list<binary>",
    "list<list<i16>>",
    "list<f32[?,2]>",
    "list<bool[3]>",
    "list<f64[]>",
    "list<date>",
    "list<timestamp[ns,UTC]>",
    "list<list<list<list<list<list<list<list<u8>>>>>>>>",
];

fn is_indexable(ty: &str) -> bool {
    ty.parse::<tetrys::ColumnType>().unwrap().is_indexable()
}

fn every_type(path: &Path) -> (Schema, RecordBatch) {
    let builder = Schema::builder().index("log", "utf8").index("time", "i64");
    let builder = TYPES.iter().filter(|ty| is_indexable(ty)).fold(builder, |builder, ty| builder.index(format!("i {ty}"), ty));
    let groups = TYPES.chunks(18).enumerate();
    let builder = groups.fold(builder, |builder, (number, types)| {
        builder.group(format!("g{number}"), types.iter().map(|ty| (format!("c {ty}"), *ty)))
    });
    let schema = builder.sequence_by(["log"]).order_by(["time"]).build().unwrap();
    let rows = rows_of(&schema, &mut Rng(18), &[("a", 11), ("b", 6)], Taste { nulls: 5, length: 4, smooth: false });
    one(path, schema, WriteOptions::default(), rows)
}

/// Writes index columns of every type with tails, in two segments.
fn index_tails(path: &Path) -> (Schema, RecordBatch) {
    let builder = Schema::builder().index("log", "utf8").index("time", "i64");
    let builder = TYPES.iter().filter(|ty| is_indexable(ty)).fold(builder, |builder, ty| builder.index(format!("i {ty}"), ty));
    let schema = builder.group("g", [("n", "u32")]).sequence_by(["log"]).order_by(["time"]).build().unwrap();
    let mut rng = Rng(23);
    let parts = [(["a", "b"], 5), (["c", "d"], 1)]
        .map(|(logs, nulls)| rows_of(&schema, &mut rng, &logs.map(|log| (log, 8)), Taste { nulls, length: 4, smooth: false }));
    write(path, &schema, WriteOptions::default().segment_rows(16).index_tails(IndexTails::All), &parts);
    (schema, joined(&parts))
}

/// Writes index columns of every type that may have bloom filters, with filters, in two segments.
fn bloom_filters(path: &Path) -> (Schema, RecordBatch) {
    let builder = Schema::builder().index("log", "utf8").bloom_filter("log");
    let filtered = |builder: SchemaBuilder, ty: &&str| builder.index(format!("i.{ty}"), ty).bloom_filter(format!("i.{ty}"));
    let types = TYPES.iter().filter(|ty| ty.parse::<ColumnType>().unwrap().may_have_bloom_filter());
    let schema = types.fold(builder, filtered).group("g", [("n", "u32")]).sequence_by(["log"]).build().unwrap();
    let mut rng = Rng(24);
    let parts = [(["a", "b"], 5), (["c", "d"], 1)]
        .map(|(logs, nulls)| rows_of(&schema, &mut rng, &logs.map(|log| (log, 8)), Taste { nulls, length: 4, smooth: false }));
    write(path, &schema, WriteOptions::default().segment_rows(16).index_tails(IndexTails::All), &parts);
    (schema, joined(&parts))
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

/// Writes blocks that are so wide that the layout stores page lengths.
fn wide_rows(path: &Path) -> (Schema, RecordBatch) {
    let schema = Schema::builder()
        .index("log", "utf8")
        .index("time", "i64")
        .group("camera", [("pose", "f64[3,3]"), ("image", "binary"), ("note", "utf8")])
        .sequence_by(["log"])
        .build()
        .unwrap();
    let rng = &mut Rng(19);
    let (batch_schema, mut columns, _) = rows_of(&schema, rng, &[("a", 2)], Taste::SMALL).into_parts();
    let images = [rng.bytes(16_500), rng.bytes(16_600)];
    columns[batch_schema.index_of("image").unwrap()] = Arc::new(LargeBinaryArray::from_iter_values(images));
    let rows = RecordBatch::try_new(batch_schema, columns).unwrap();
    one(path, schema, WriteOptions::default(), rows)
}

/// Writes segments that end at partitions, and one sequence that continues in the next segment.
fn two_segments(path: &Path) -> (Schema, RecordBatch) {
    let (schema, mut rng) = (tables::sensors(), Rng(20));
    let whole = rows_of(&schema, &mut rng, &[("a", 9), ("b", 14)], Taste::SMALL);
    let parts = [whole.slice(0, 9), whole.slice(9, 6), whole.slice(15, 8), rows_of(&schema, &mut rng, &[("c", 7)], Taste::NOISE)];
    write(path, &schema, cut_by(tiny_cuts()).segment_rows(15), &parts);
    (schema, joined(&parts))
}

fn two_versions(path: &Path) -> (Schema, RecordBatch) {
    let (schema, mut rng) = (tables::sensors(), Rng(15));
    let first = rows_of(&schema, &mut rng, &[("a", 9), ("b", 4)], Taste::SMALL);
    // Times start again in each batch. The rows after the fourth continue `b`.
    let second = rows_of(&schema, &mut rng, &[("b", 10), ("c", 3)], Taste::NOISE).slice(4, 9);
    write(path, &schema, cut_by(tiny_cuts()), std::slice::from_ref(&first));
    plain::append_segment(path, &schema, &cut_by(tiny_cuts()), &second);
    (schema, joined(&[first, second]))
}

fn poses() -> (Schema, WriteOptions) {
    let schema = Schema::builder()
        .index("log", "utf8")
        .index("time", "i64")
        .group("with image", [("image", "binary"), ("pose", "f64[3,3]")])
        .group("poses", [("pose", "f64[3,3]"), ("speed", "f32")])
        .sequence_by(["log"])
        .build()
        .unwrap();
    (schema, cut_by(Cuts { chunk_min: 2_000, chunk_target: 4_000, chunk_max: 9_000, ..tiny_cuts() }))
}

fn column_in_two_groups(path: &Path) -> (Schema, RecordBatch) {
    let (schema, options) = poses();
    let rows = rows_of(&schema, &mut Rng(16), &[("a", 10), ("b", 6)], Taste::NOISE);
    one(path, schema, options, rows)
}

/// Writes a column again in one of its two groups. The masked copy in the other group holds the old values.
fn masked_copy(path: &Path) -> (Schema, RecordBatch) {
    let (schema, options) = poses();
    let mut rng = Rng(21);
    let [old, new] = [0, 1].map(|_| rows_of(&schema, &mut rng, &[("a", 10), ("b", 6)], Taste::NOISE));
    // The images stay; poses and speeds are new.
    let columns = ["log", "time", "image"].map(|name| old.column_by_name(name).unwrap().clone());
    let others = ["pose", "speed"].map(|name| new.column_by_name(name).unwrap().clone());
    let rows = [&columns[..], &others].concat();
    let rows = RecordBatch::try_new(old.schema(), rows).unwrap();
    let table = write(path, &schema, options.clone(), std::slice::from_ref(&old));
    let (_, beside) = tables::memory();
    let other = block_on(tables::write(beside.clone(), schema.clone(), options, std::slice::from_ref(&rows))).unwrap();
    for (name, bytes) in block_on(tables::objects(&beside)) {
        if !name.starts_with("manifests/") {
            block_on(table.store().put_content(&name, bytes.into())).unwrap();
        }
    }
    let (mut groups, pose) = (schema.groups().to_vec(), schema.groups()[1].columns[0]);
    groups[0].masked = vec![pose];
    let ids = |columns: &mut dyn Iterator<Item = &tetrys::schema::Column>| columns.map(|column| column.id).collect::<Vec<_>>();
    let (index, sequence_by) = (ids(&mut schema.index()), ids(&mut schema.sequence_by()));
    let masked = Schema::from_parts(schema.columns().to_vec(), groups, index, sequence_by, vec![]).unwrap();
    next_version(&table, |manifest| {
        manifest.schema = masked.clone();
        // Group 0 keeps its chunks, which hold the old poses.
        manifest.segments[0].groups[1] = other.manifest().segments[0].groups[1].clone();
    });
    (masked, rows)
}

/// Writes a table that refers to chunks of the neighbour table `original`, also to a part of a chunk, and has chunks of its own.
fn reference(path: &Path) -> (Schema, RecordBatch) {
    let (schema, partitions) = tables::two_partitions(22);
    let original = write(&path.with_file_name("original"), &schema, cut_by(tiny_cuts()), &partitions);
    let target = open_store(path);
    let manifest = original.manifest();
    let read = |name: String, bytes: u64| block_on(original.store().get_exact(&name, bytes)).unwrap();
    let mut segments = manifest.segments.clone();
    for segment in &mut segments {
        put(&target, "index", ".parquet", read(format!("index/{}.parquet", segment.index.blake3), segment.index.bytes).to_vec());
        for (number, group) in segment.groups.iter_mut().enumerate() {
            let hashes = read(format!("hashes/{}.parquet", group.hashes.blake3), group.hashes.bytes);
            put(&target, "hashes", ".parquet", hashes.to_vec());
            let layout = read(format!("layout/{}.parquet", group.layout.blake3), group.layout.bytes);
            let mut runs = read_layout(layout, group.columns.len(), segment.rows, 0).unwrap();
            for (place, run) in runs.iter_mut().enumerate() {
                if number == 0 && place % 2 == 1 {
                    let chunk = read(run.chunk.object_name(), run.chunk_bytes);
                    block_on(target.put_content(&run.chunk.object_name(), chunk)).unwrap();
                } else {
                    run.owner = 1 + (place as u32 + number as u32) % 2;
                }
            }
            group.layout = put(&target, "layout", ".parquet", LayoutWriter::write(&runs).unwrap());
        }
    }
    let (table, version, blake3) = (manifest.table, manifest.version, original.manifest_hash());
    let neighbour =
        |urls: &[&str]| ForeignTable { table, version, blake3, urls: urls.iter().map(|url| (*url).to_owned()).collect() };
    let stores = vec![neighbour(&["../original"]), neighbour(&["../gone", "../original"])];
    let manifest = Manifest { table: Uuid::from_u128(7), commit_id: Uuid::from_u128(8), segments, stores, ..manifest.clone() };
    block_on(tetrys::commit::publish(&target, &manifest)).unwrap();
    (schema, joined(&partitions))
}

/// Writes a view over three neighbour tables: one row twice, a row without a partner, lists of rows, and a computed column.
fn view(path: &Path) -> (Schema, RecordBatch) {
    let mut rng = Rng(25);
    let mut source = |name: &str, columns: &[(&str, &str)], count: usize| {
        let schema = Schema::builder().index("log", "utf8").index("time", "i64").group("g", columns.iter().copied());
        let schema = schema.sequence_by(["log"]).build().unwrap();
        let rows = rows_of(&schema, &mut rng, &[("a", count)], Taste::SMALL);
        (write(&path.with_file_name(name), &schema, cut_by(tiny_cuts()), std::slice::from_ref(&rows)), rows)
    };
    let (sensors, sensor_rows) = source("sensors", &[("pose", "f64[3,3]"), ("note", "utf8")], 8);
    let (labels, label_rows) = source("labels", &[("label", "utf8")], 6);
    let (tracks, track_rows) = source("tracks", &[("track", "u32"), ("box", "f32[?,2]")], 7);
    let target = open_store(path);
    let at = [[3, 5, 3], [2, -1, 2], [0, 3, -1]];
    let schema = Schema::builder().index("log", "utf8").index("score", "f64");
    let schema = (0..3).fold(schema, |schema, number| schema.index(format!("_row_{number}"), "i64")).build().unwrap();
    let scores: ArrayRef = Arc::new(Float64Array::from(vec![Some(0.5), None, Some(-0.0)]));
    let logs = taken(&sensor_rows, "log", &at[0]);
    let rows = at.map(|rows| Arc::new(Int64Array::from(rows.to_vec())) as ArrayRef);
    let columns = [Arc::clone(&logs), Arc::clone(&scores)].into_iter().chain(rows);
    let index = RecordBatch::try_new(index_arrow_schema(&schema), columns.collect()).unwrap();
    let segments = block_on(tetrys::commit::index_segments(&target, &schema, false, [Ok(index)])).unwrap();
    let join = |partners: &[Option<u64>]| Some(put(&target, "joins", ".parquet", write_join(partners, Salt::NONE).unwrap()));
    let partners = [None, Some(0), Some(1), Some(2), None, None, Some(5), Some(5)];
    let firsts = [Some(0), Some(0), None, Some(3), Some(0), Some(3), None];
    let first_rows = [None, None, None, Some(0), Some(3), Some(3), None, None];
    let tables = [&sensors, &labels, &tracks];
    let view_source = |number: usize, join: Option<ObjectRef>, lists: Option<ObjectRef>| {
        let from = tables[number].schema();
        let column = |id: &tetrys::schema::ColumnId| {
            let column = from.column(*id).unwrap();
            ViewColumn { id: *id, name: column.name.clone(), ty: column.ty.clone() }
        };
        let index = from.index().map(|column| ViewIndexColumn { id: column.id, name: column.name.clone() });
        let row = schema.column_named(&format!("_row_{number}")).unwrap().id;
        let columns = from.groups()[0].columns.iter().map(column).collect();
        let index = if number == 0 { index.collect() } else { Vec::new() };
        ViewSource { store: number as u32 + 1, rows: tables[number].rows(), row, base: 0, join, lists, columns, index }
    };
    let sources =
        vec![view_source(0, None, None), view_source(1, join(&partners), None), view_source(2, join(&first_rows), join(&firsts))];
    let store = |table: &Table, name: &str| ForeignTable {
        table: table.manifest().table,
        version: 1,
        blake3: table.manifest_hash(),
        urls: vec![format!("../{name}")],
    };
    let manifest = Manifest {
        table: Uuid::from_u128(9),
        commit_id: Uuid::from_u128(10),
        segments,
        stores: vec![store(&sensors, "sensors"), store(&labels, "labels"), store(&tracks, "tracks")],
        schema,
        view: Some(View { sources }),
        ..sensors.manifest().clone()
    };
    block_on(tetrys::commit::publish(&target, &manifest)).unwrap();
    let lists = |name: &str| -> ArrayRef {
        let values = taken(&track_rows, name, &[0, 1, 4, 3, 5]);
        let field = Arc::new(Field::new("item", values.data_type().clone(), true));
        let there = Some(NullBuffer::from(vec![true, true, false]));
        Arc::new(LargeListArray::new(field, OffsetBuffer::from_lengths([3, 2, 0]), values, there))
    };
    let seen =
        Schema::builder().index("log", "utf8").index("score", "f64").group("sensors", [("pose", "f64[3,3]"), ("note", "utf8")]);
    let seen = seen.group("labels", [("label", "utf8")]).group("tracks", [("track", "list<u32>"), ("box", "list<f32[?,2]>")]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("log", logs),
        ("score", scores),
        ("pose", taken(&sensor_rows, "pose", &at[0])),
        ("note", taken(&sensor_rows, "note", &at[0])),
        ("label", taken(&label_rows, "label", &at[1])),
        ("track", lists("track")),
        ("box", lists("box")),
    ];
    (seen.build().unwrap(), RecordBatch::try_from_iter(columns).unwrap())
}

/// Returns some rows of a column; −1 gives null.
fn taken(rows: &RecordBatch, column: &str, wanted: &[i64]) -> ArrayRef {
    let wanted: UInt64Array = wanted.iter().map(|row| u64::try_from(*row).ok()).collect();
    take(rows.column_by_name(column).unwrap(), &wanted, None).unwrap()
}

/// Writes attachments, properties of the table and of columns, and objects that are about to be deleted.
fn around_the_rows(path: &Path) -> (Schema, RecordBatch) {
    let schema = Schema::builder()
        .index("log", "utf8")
        .index("time", "i64")
        .group("g", [("distance", "f32")])
        .property("distance", "unit", "m")
        .property("distance", "range", json!([0, 1e-3, 18_446_744_073_709_551_615_u64]))
        .build()
        .unwrap();
    let rows = rows_of(&schema, &mut Rng(23), &[("a", 3)], Taste::SMALL);
    let table = write(path, &schema, WriteOptions::default(), std::slice::from_ref(&rows));
    let (map, empty) = (put(table.store(), "attachments", "", b"a map".to_vec()), put(table.store(), "attachments", "", vec![]));
    next_version(&table, |manifest| {
        manifest.attachments = [("map.txt".to_owned(), map), ("ö/\"\u{0}".to_owned(), empty)].into();
        manifest.properties =
            [("licence".to_owned(), json!("CC0")), ("nested".to_owned(), json!({"a": [null, true, -1, 0.1]}))].into();
        manifest.lineage = json!({"by": "hand"});
        let gone = |folder: &str, bytes: &[u8]| Condemned {
            folder: folder.to_owned(),
            object: ObjectRef { blake3: Hash::of(bytes), bytes: bytes.len() as u64 },
        };
        manifest.condemned = vec![gone("chunks", b"gone"), gone("layout", b"gone too")];
    });
    (schema, rows)
}

fn odd_names(path: &Path) -> (Schema, RecordBatch) {
    let long = "n".repeat(1_024);
    let names = [" ", "a.b", "ö/🚗", "o\u{308}", "\"\n\u{0}", "../x", long.as_str()];
    let columns = names.iter().map(|name| ((*name).to_owned(), "u8".to_owned()));
    let schema = Schema::builder().index("log", "utf8").index("time", "i64").index("i\u{0}🚗", "utf8").group("*/\\", columns);
    let schema = schema.build().unwrap();
    let rows = rows_of(&schema, &mut Rng(24), &[("a", 5)], Taste::SMALL);
    one(path, schema, WriteOptions::default(), rows)
}

/// Replaces all rows twice, collects garbage, and appends rows: with a version that is tagged, versions that are given up, and objects with
/// a salt.
fn collected(path: &Path) -> (Schema, RecordBatch) {
    let (schema, mut rng) = (tables::sensors(), Rng(23));
    let parts: Vec<RecordBatch> =
        ["a", "b", "c", "d"].iter().map(|log| rows_of(&schema, &mut rng, &[(log, 9)], Taste::SMALL)).collect();
    let table = write(path, &schema, cut_by(tiny_cuts()), &parts[..1]);
    let of = |writer: TableWriter, rows: &RecordBatch| {
        block_on(async {
            let mut partition = writer.partition()?;
            partition.write(rows).await?;
            writer.commit([partition.finish().await?]).await
        })
        .unwrap()
    };
    let next =
        |table: &Table, rows: &RecordBatch| of(block_on(table.overwrite(schema.clone(), cut_by(tiny_cuts()))).unwrap(), rows);
    let table = next(&table, &parts[1]);
    let table = block_on(table.edit().tag("first", 1).commit()).unwrap();
    let table = next(&next(&table, &parts[2]), &parts[3]);
    let settings = GcSettings { keep_versions: 1, age: Duration::ZERO };
    for _ in 0..2 {
        block_on(table.storage().collect_garbage(settings, now_ms() + 1_000)).unwrap();
    }
    let newest = block_on(Table::open_in(table.store().clone())).unwrap();
    // Times start again in each batch, so the rows are of another log.
    let table = of(block_on(newest.append(cut_by(tiny_cuts()))).unwrap(), &parts[0]);
    (table.schema().clone(), joined(&[parts[3].clone(), parts[0].clone()]))
}

fn no_rows(path: &Path) -> (Schema, RecordBatch) {
    let schema = tables::sensors();
    let rows = rows_of(&schema, &mut Rng(17), &[], Taste::SMALL);
    write(path, &schema, WriteOptions::default(), &[]);
    (schema, rows)
}
