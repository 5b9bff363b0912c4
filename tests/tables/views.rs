//! Saved views: a saved merge, filter, sort, sample or concatenation reads the same rows and windows as the live index and can be
//! merged again. It copies no payload and trusts only its own sources.
#![cfg(feature = "frame")]

use crate::common;
use std::{path::Path, sync::Arc};

use crate::common::tables::{Rng, block_on, cut_by, memory, objects, over, overwrite, tiny_cuts, write};
use arrow_array::{
    ArrayRef, Int64Array, LargeBinaryArray, LargeStringArray, RecordBatch, TimestampMicrosecondArray, cast::AsArray,
    types::Int64Type,
};
use object_store::{ObjectStore, memory::InMemory};
use polars::prelude::{
    Categories, Column, DataType, IntoColumn, IntoSeries, ListChunked, NamedFrom, Series, TimeUnit, TimeZone, col, lit,
};
use serde_json::Value;
use tetrys::{
    ErrorKind, Index, Merge, Offsets, Pick, RowLoader, Rows, Schema, Store, Table, TimeOffsets, ViewOptions, WriteOptions,
    format::{Manifest, Pin, manifest_name},
    id::Hash,
    index::is_locator,
    store::CountingStore,
    table::{GcSettings, VerifyReach},
};

/// Log, time, and the value of the payload.
type Record = (String, Option<i64>, i64);

fn schema_of(name: &str) -> Schema {
    Schema::builder()
        .index("log", "utf8")
        .index("time", "i64")
        .index(format!("{name}_id"), "i64")
        .index(format!("{name}_at"), "timestamp[us,Europe/Zurich]")
        .index(format!("{name}_kind"), "categorical")
        .group(name, [(format!("{name}.value"), "i64"), (format!("{name}.bytes"), "binary")])
        .group("shared", [("note", "utf8")])
        .sequence_by(["log"])
        .property("time", "unit", "ms")
        .build()
        .unwrap()
}

fn batch_of(name: &str, records: &[Record]) -> RecordBatch {
    let logs: ArrayRef = Arc::new(LargeStringArray::from_iter_values(records.iter().map(|(log, ..)| log)));
    let times: ArrayRef = Arc::new(records.iter().map(|(_, time, _)| *time).collect::<Int64Array>());
    let values: ArrayRef = Arc::new(records.iter().map(|(.., value)| *value).collect::<Int64Array>());
    let at = records.iter().map(|(_, time, _)| *time).collect::<TimestampMicrosecondArray>().with_timezone("Europe/Zurich");
    let kinds = records.iter().map(|(.., value)| ["car", "bus"][*value as usize % 2]);
    let bytes = records.iter().map(|(.., value)| vec![7_u8; *value as usize % 300]);
    let notes = records.iter().map(|(.., value)| format!("{name} {value}"));
    RecordBatch::try_from_iter([
        ("log".to_owned(), logs),
        ("time".to_owned(), times),
        (format!("{name}_id"), Arc::clone(&values)),
        (format!("{name}_at"), Arc::new(at)),
        (format!("{name}_kind"), Arc::new(LargeStringArray::from_iter_values(kinds))),
        (format!("{name}.value"), values),
        (format!("{name}.bytes"), Arc::new(LargeBinaryArray::from_iter_values(bytes))),
        ("note".to_owned(), Arc::new(LargeStringArray::from_iter_values(notes))),
    ])
    .unwrap()
}

/// Writes a table of these rows in `folder/name`.
fn table_in(folder: &Path, name: &str, records: &[Record]) -> Table {
    let store = Store::open(folder.join(name).to_str().unwrap()).unwrap();
    block_on(write(store, schema_of(name), cut_by(tiny_cuts()), &[batch_of(name, records)])).unwrap()
}

/// Returns logs of random lengths, with time steps of 0 to 3 and some null times.
fn records(rng: &mut Rng, logs: &[&str]) -> Vec<Record> {
    let mut all: Vec<Record> = Vec::new();
    for log in logs {
        let mut time = rng.below(5) as i64;
        for _ in 0..1 + rng.below(9) {
            all.push(((*log).to_owned(), (!rng.once_in(9)).then_some(time), (all.len() as i64 + 1) * 7));
            time += rng.below(4) as i64;
        }
    }
    all
}

/// Returns rows of one log, one for each tick.
fn ticks(rows: std::ops::Range<i64>) -> Vec<Record> {
    rows.map(|row| ("x".to_owned(), Some(row), row + 100)).collect()
}

fn index(table: &Table) -> Index {
    block_on(table.index()).unwrap()
}

fn reopened(url: &str) -> Table {
    block_on(Table::open(url)).unwrap()
}

/// Asserts that two indexes have the same columns, and read the same rows and windows at every position.
#[track_caller]
fn assert_same(found: &Index, wanted: &Index) {
    let columns = |index: &Index| {
        let all = index.frame().columns().iter().filter(|column| !is_locator(column.name()));
        all.map(|column| column.cast(&as_text(column.dtype())).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(columns(found), columns(wanted));
    let (found, wanted) = (RowLoader::new(found).unwrap(), RowLoader::new(wanted).unwrap());
    assert_eq!(found.column_names().collect::<Vec<_>>(), wanted.column_names().collect::<Vec<_>>());
    assert_same_loaders(&found, &wanted);
}

/// Converts categories to text, so that two frames can be compared.
fn as_text(ty: &DataType) -> DataType {
    match ty {
        DataType::List(item) => DataType::List(Box::new(as_text(item))),
        ty if ty.is_categorical() => DataType::String,
        ty => ty.clone(),
    }
}

#[track_caller]
fn assert_same_loaders(found: &RowLoader, wanted: &RowLoader) {
    assert_eq!(found.len(), wanted.len());
    // This comes before any other read, while the loader has not opened the source tables.
    let window = |loader: &RowLoader| block_on(loader.window_rows(0, -2..=2)).map_err(|error| error.to_string());
    assert_eq!(window(found), window(wanted));
    let all: Vec<u64> = (0..wanted.len()).collect();
    assert_same_rows(&block_on(found.take(&all)).unwrap(), &block_on(wanted.take(&all)).unwrap());
    for position in all {
        let windows = |loader: &RowLoader| block_on(loader.get_rows(position, -2..=2));
        match (windows(found), windows(wanted)) {
            (Ok(found), Ok(wanted)) => assert_same_rows(&found, &wanted),
            (found, wanted) => assert_eq!(found.unwrap_err().to_string(), wanted.unwrap_err().to_string()),
        }
    }
}

#[track_caller]
fn assert_same_rows(found: &Rows, wanted: &Rows) {
    assert_eq!(found.batch(), wanted.batch());
    assert_eq!((found.mask(), found.table_rows()), (wanted.mask(), wanted.table_rows()));
    for field in wanted.batch().schema().fields() {
        assert_eq!(found.column_mask(field.name()).unwrap(), wanted.column_mask(field.name()).unwrap());
    }
}

#[test]
fn a_saved_index_reads_as_the_live_one_did() {
    let mut rng = Rng(common::seed());
    for _ in 0..if common::full() { 20 } else { 4 } {
        let folder = tempfile::tempdir().unwrap();
        let a = index(&table_in(folder.path(), "a", &records(&mut rng, &["x", "y", "z"])));
        let b = index(&table_in(folder.path(), "b", &records(&mut rng, &["z", "q", "x"])));
        let c = index(&table_in(folder.path(), "c", &records(&mut rng, &["y", "z", "x"])));
        let by_key = Merge::on(["log", "time"]).first();
        let by_time = Merge::on(["log"]).as_of("time", Pick::Nearest).tolerance("3").unwrap().last();
        let ab = a.merge(&b, &by_key).unwrap();
        let abc = a.merge(&b, &by_time.clone().left()).unwrap().merge(&c, &by_key.clone().left()).unwrap();
        let lists = a.merge(&b, &Merge::on(["log", "time"]).group_to_list().left()).unwrap();
        let indexes = [
            lists.clone(),
            lists.filter(col("b_id").list().len().gt(lit(1))).unwrap(),
            a.clone(),
            a.filter(col("a_id").gt(lit(30))).unwrap(),
            a.slice(0, 0),
            ab.clone(),
            abc.sort(["a_id"], true).unwrap(),
            abc.sample(abc.len() / 2, 7).unwrap(),
            abc.filter(col("c_id").is_not_null()).unwrap(),
            a.merge(&b.merge(&c, &by_time).unwrap(), &by_key.clone().left()).unwrap(),
            ab.merge(&a, &by_key.clone().suffix("_again")).unwrap(),
            Index::concat([&a.slice(0, 3), &a.slice(1, 4)]).unwrap(),
            Index::concat_filling([&a, &b, &c.slice(1, 3)]).unwrap(),
            Index::concat_filling([&ab, &abc.filter(col("a_id").lt(lit(60))).unwrap()]).unwrap(),
        ];
        for (number, live) in indexes.iter().enumerate() {
            let url = folder.path().join(format!("view-{number}")).display().to_string();
            let saved = block_on(live.save(url.clone())).unwrap();
            assert!(saved.unpinned.is_empty());
            let view = reopened(&url);
            assert_eq!((view.rows(), view.version(), view.manifest_hash()), (live.len() as u64, 1, saved.table.manifest_hash()));
            assert_same(&index(&view), live);
            assert_same(&index(&saved.table), live);
            // The loaders are the same without a frame.
            assert_same_loaders(&view.row_loader(), &RowLoader::new(live).unwrap());
            assert!(block_on(view.storage().verify(|_, _| {})).unwrap().damage.is_empty());
            let folders: Vec<_> = std::fs::read_dir(&url).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            assert!(
                folders.iter().all(|folder| ["index", "joins", "manifests"].iter().any(|name| folder == name)),
                "{folders:?}"
            );
        }
    }
}

#[test]
fn what_was_computed_is_kept_and_types_and_units_stay() {
    let folder = tempfile::tempdir().unwrap();
    let a = table_in(folder.path(), "a", &ticks(0..9));
    let live = index(&a).with_columns([(col("a_id") * lit(2)).alias("twice"), col("a_id").gt(lit(104)).alias("late")]).unwrap();
    let live = live.filter(col("late")).unwrap();
    let url = folder.path().join("view").display().to_string();
    let view = block_on(live.save_with(&url, &ViewOptions::default().property("place", "Zurich").lineage("recipe", "late ones")))
        .unwrap()
        .table;
    assert_eq!(view.manifest().properties["place"], "Zurich");
    assert_eq!(view.manifest().lineage["recipe"], "late ones");
    let names: Vec<String> = view.schema().index().map(|column| format!("{} {}", column.name, column.ty)).collect();
    let wanted =
        ["log utf8", "time i64", "a_id i64", "a_at timestamp[us,Europe/Zurich]", "a_kind categorical", "twice i64", "late bool"];
    assert_eq!(names, wanted);
    assert_eq!(view.schema().column_named("time").unwrap().properties["unit"], "ms");
    assert_eq!(
        view.schema().groups().iter().map(|group| (group.name.as_str(), group.columns.len())).collect::<Vec<_>>(),
        [("a", 3)]
    );
    let opened = index(&reopened(&url));
    let twice: Vec<Option<i64>> = opened.frame().column("twice").unwrap().i64().unwrap().iter().collect();
    assert_eq!(twice, [Some(210), Some(212), Some(214), Some(216)]);
    // Time windows use the times of the source table and their unit.
    let window = TimeOffsets::new("time", ["-2ms", "0"]).unwrap();
    let rows = block_on(RowLoader::new(&opened).unwrap().columns(["a.value"]).unwrap().get_rows(0, window)).unwrap();
    assert_eq!(rows.table_rows(), [Some(3), Some(5)]);
    let few = block_on(reopened(&url).index_columns(["t*"])).unwrap();
    assert_eq!(few.column_names().collect::<Vec<_>>(), ["time", "twice"]);
    assert_same_loaders(&RowLoader::new(&few).unwrap(), &RowLoader::new(&live).unwrap());
}

#[test]
fn a_view_merges_again_as_the_live_index_does() {
    let mut rng = Rng(common::seed());
    let folder = tempfile::tempdir().unwrap();
    let a = index(&table_in(folder.path(), "a", &records(&mut rng, &["x", "y", "z"])));
    let b = index(&table_in(folder.path(), "b", &records(&mut rng, &["z", "y", "x"])));
    let c = index(&table_in(folder.path(), "c", &records(&mut rng, &["x", "y", "z"])));
    let by_time = Merge::on(["log"]).as_of("time", Pick::Before).first().left();
    let ab = a.merge(&b, &by_time).unwrap();
    let saved = |live: &Index, name: &str| {
        let url = folder.path().join(name).display().to_string();
        block_on(live.save(&url)).unwrap();
        index(&reopened(&url))
    };
    // A view with all rows of its base can be merged at once. A view on the right side can always be merged.
    assert_same(&saved(&ab, "ab").merge(&c, &by_time).unwrap(), &ab.merge(&c, &by_time).unwrap());
    let few = ab.filter(col("a_id").gt(lit(20))).unwrap();
    let view = saved(&few, "few");
    assert_same(&c.merge(&view, &by_time).unwrap(), &c.merge(&few, &by_time).unwrap());
    // A view with some rows of its base can be merged after the other rows are loaded.
    let error = view.merge(&c, &by_time).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("load the others by `with_sources` first"), "{error}");
    let whole = block_on(view.with_sources()).unwrap();
    let live = few.merge(&c, &by_time).unwrap();
    let again = whole.merge(&c, &by_time).unwrap();
    assert_same(&again, &live);
    // The key is a column of the right side, under its new name.
    let on_right = Merge::on_pairs([("b_id", "c_id")]).first().left();
    assert_same(&whole.merge(&c, &on_right).unwrap(), &few.merge(&c, &on_right).unwrap());
    // A view of a view is flat: it needs the source tables but not the first view.
    let of_view = saved(&again, "of-view");
    assert_same(&of_view, &live);
    std::fs::remove_dir_all(folder.path().join("few")).unwrap();
    let of_view = reopened(&folder.path().join("of-view").display().to_string());
    let sources = block_on(of_view.sources()).unwrap();
    assert!(sources.len() == 3 && sources.iter().all(|source| source.view().is_none()));
    assert_same(&index(&of_view), &live);
    // A saved view and a live index are concatenated.
    assert_same(&Index::concat([&index(&of_view), &live]).unwrap(), &Index::concat([&live, &live]).unwrap());
}

#[test]
fn a_view_has_versions_and_pins_its_sources() {
    let folder = tempfile::tempdir().unwrap();
    let a = table_in(folder.path(), "a", &ticks(0..9));
    let live = index(&a);
    let url = folder.path().join("view").display().to_string();
    let first = block_on(live.save_with(&url, &ViewOptions::default().property("who", "me"))).unwrap().table;
    let error = block_on(live.save(&url)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exists, "{error}");
    let late = live.filter(col("a_id").gt(lit(104))).unwrap().with_columns([lit(1_i64).alias("one")]).unwrap();
    let second = block_on(late.save(&first)).unwrap().table;
    assert_eq!((second.version(), second.rows(), second.manifest().table), (2, 4, first.manifest().table));
    assert_eq!(second.manifest().properties["who"], "me");
    assert_same(&index(&reopened(&url)), &late);
    assert_same(&index(&reopened(&format!("{url}@1"))), &live);
    // Ids only increase: a column keeps its id, and a row column never gets an id that another column had.
    let id = |table: &Table, name: &str| table.manifest().schema.column_named(name).unwrap().id;
    assert_eq!(id(&first, "a_id"), id(&second, "a_id"));
    assert!(id(&second, "_row_0") > id(&first, "_row_0") && id(&second, "one") > id(&first, "_row_0"));
    let error = block_on(live.save(&first)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    let error = block_on(live.save(&a)).unwrap_err();
    assert!(error.to_string().contains("has rows of its own"), "{error}");
    let pins = block_on(async {
        let mut pins = Vec::new();
        for (name, bytes) in a.store().list("pins").await.unwrap() {
            let pin = Pin::parse(&a.store().get_exact(&name, bytes).await.unwrap(), &name).unwrap();
            assert_eq!(
                (pin.table, pin.owner.blake3, pin.urls),
                (first.manifest().table, a.manifest_hash(), vec!["../view".to_owned()])
            );
            pins.push(pin.version);
        }
        pins.sort_unstable();
        pins
    });
    // The failed saves have left no pins.
    assert_eq!(pins, [1, 2]);
}

#[test]
fn changes_of_tables_and_collections_of_garbage_know_views() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (table_in(folder.path(), "a", &ticks(0..9)), table_in(folder.path(), "b", &ticks(0..9)));
    let live = index(&a).merge(&index(&b), &Merge::on(["log", "time"])).unwrap();
    let url = folder.path().join("view").display().to_string();
    let view = block_on(live.save(&url)).unwrap().table;
    // The view names its join map, so the map is never garbage.
    let usage = block_on(view.storage().usage()).unwrap();
    assert_eq!((usage.unnamed_bytes, usage.versions.len()), (0, 1));
    assert!(block_on(view.storage().objects()).unwrap().keys().any(|name| name.starts_with("joins/")));
    let settings = GcSettings { age: std::time::Duration::ZERO, ..GcSettings::default() };
    assert!(block_on(view.storage().plan_garbage(settings, i64::MAX)).unwrap().is_empty());
    // The rows of a view belong to other tables, so a view refuses an append.
    let error = block_on(view.append(WriteOptions::default())).unwrap_err();
    assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains("is a view"), "{error}");
    let error = block_on(view.storage().materialize(|_, _| {})).unwrap_err();
    assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains("write its rows to a new table"), "{error}");
}

#[test]
fn lists_of_every_index_type_come_back_from_a_view() {
    let folder = tempfile::tempdir().unwrap();
    let live = index(&table_in(folder.path(), "a", &ticks(0..4)));
    let ticks = |name: &str| Series::new(name.into(), [Some(-1_i64), Some(i64::MAX), None]);
    let zone = TimeZone::opt_try_new(Some("Europe/Zurich")).unwrap();
    let items = [
        Series::new("bool".into(), [Some(true), Some(false), None]),
        Series::new("i8".into(), [Some(i8::MIN), Some(i8::MAX), None]),
        Series::new("i16".into(), [Some(i16::MIN), Some(i16::MAX), None]),
        Series::new("i32".into(), [Some(i32::MIN), Some(i32::MAX), None]),
        Series::new("i64".into(), [Some(i64::MIN), Some(i64::MAX), None]),
        Series::new("u8".into(), [Some(0), Some(u8::MAX), None]),
        Series::new("u16".into(), [Some(0), Some(u16::MAX), None]),
        Series::new("u32".into(), [Some(0), Some(u32::MAX), None]),
        Series::new("u64".into(), [Some(0), Some(u64::MAX), None]),
        Series::new("f32".into(), [Some(0.1_f32), Some(f32::MIN_POSITIVE), None]),
        Series::new("f64".into(), [Some(0.1_f64), Some(-0.0), None]),
        Series::new("odd".into(), [Some(f64::NAN), Some(f64::INFINITY), Some(f64::NEG_INFINITY)]),
        Series::new("text".into(), [Some("a \"b\", [c]"), Some(""), None]),
        Series::new("date".into(), [Some(-1_i32), Some(20_000), None]).cast(&DataType::Date).unwrap(),
        ticks("ms").cast(&DataType::Datetime(TimeUnit::Milliseconds, None)).unwrap(),
        ticks("ns").cast(&DataType::Datetime(TimeUnit::Nanoseconds, zone)).unwrap(),
        ticks("us").cast(&DataType::Duration(TimeUnit::Microseconds)).unwrap(),
        Series::new("kind".into(), [Some("x"), Some("y"), None]).cast(&DataType::from_categories(Categories::global())).unwrap(),
    ];
    let lists = items.iter().map(|items| {
        let lists = [Some(items.clone()), None, Some(items.slice(0, 0)), Some(items.slice(1, 1))];
        let mut lists: ListChunked = lists.into_iter().collect();
        lists.rename(items.name().clone());
        lists.into_series().into_column()
    });
    let frame = live.frame().hstack(&lists.collect::<Vec<_>>()).unwrap();
    let live = live.with_frame(frame).unwrap();
    let url = folder.path().join("view").display().to_string();
    let view = block_on(live.save(&url)).unwrap().table;
    let stored = view.schema().column_named("u16").unwrap();
    assert_eq!((stored.ty.to_string(), stored.properties["arrow"].as_str()), ("utf8".to_owned(), Some("list<u16>")));
    for found in [index(&view), index(&reopened(&url)), block_on(async { view.index().categorical().await }).unwrap()] {
        for items in &items {
            let (found, wanted) = (found.frame().column(items.name()).unwrap(), live.frame().column(items.name()).unwrap());
            assert_eq!(found.dtype(), wanted.dtype());
            let text = |column: &Column| column.cast(&as_text(column.dtype())).unwrap();
            assert!(text(found).equals_missing(&text(wanted)), "{found:?} {wanted:?}");
        }
    }
    // Nothing but nulls and empty lists.
    let none = live.filter(col("u16").list().len().fill_null(lit(0)).eq(lit(0))).unwrap();
    let url = folder.path().join("none").display().to_string();
    let found = index(&block_on(none.save(&url)).unwrap().table);
    assert_eq!(found.frame().column("ns").unwrap().dtype(), live.frame().column("ns").unwrap().dtype());
    assert!(found.frame().column("text").unwrap().equals_missing(none.frame().column("text").unwrap()));
}

#[test]
fn what_cannot_be_saved_is_refused_by_name_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let a = table_in(folder.path(), "a", &ticks(0..9));
    let live = index(&a);
    let url = folder.path().join("view").display().to_string();
    let list = |tag: i64| Series::new("".into(), [Series::new("".into(), [tag])]);
    let lists = Series::new("tags".into(), (0..9).map(list).collect::<Vec<_>>());
    let frame = live.frame().hstack(&[lists.into_column()]).unwrap();
    let error = block_on(live.with_frame(frame).unwrap().save(&url)).unwrap_err();
    assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("column `tags` is a list of list"), "{error}");
    assert!(error.to_string().contains("leave it out of the frame"), "{error}");
    let none: [polars::prelude::Expr; 0] = [];
    let error = block_on(live.select(none).unwrap().save(&url)).unwrap_err();
    assert!(error.to_string().contains("a view without index columns"), "{error}");
    assert!(block_on(a.store().list("pins")).unwrap().is_empty());
    assert!(!folder.path().join("view/manifests").exists());
    // The size of a view is known before it is saved.
    let size = block_on(live.view_size()).unwrap();
    let view = block_on(live.save(&url)).unwrap().table;
    let info = block_on(view.info()).unwrap();
    assert_eq!((size.rows, size.index_bytes, size.join_bytes, size.payload_bytes), (9, info.index_bytes, 0, 0));
    assert_eq!((info.chunks, info.sources.len(), info.sources[0].merged_into, info.sources[0].version), (0, 1, None, 1));
}

#[test]
fn a_source_that_moved_is_found_again_and_another_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let url = |name: &str| place(name).display().to_string();
    let (a, b) = (table_in(folder.path(), "a", &ticks(0..9)), table_in(folder.path(), "b", &ticks(0..9)));
    let live = index(&a).merge(&index(&b), &Merge::on(["log", "time"])).unwrap();
    block_on(live.save(&url("view"))).unwrap();
    std::fs::rename(place("b"), place("moved")).unwrap();
    let view = reopened(&url("view"));
    for error in [block_on(view.index()).unwrap_err(), block_on(view.row_loader().get_row(0)).unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        assert!(error.to_string().contains("rebind`"), "{error}");
    }
    // The schema and the info of the view need no source.
    assert_eq!(view.schema().column_named("b.value").unwrap().ty.to_string(), "i64");
    assert!(block_on(view.info()).is_ok());
    let damage = block_on(view.storage().verify(|_, _| {})).unwrap().damage;
    assert!(damage.len() == 1 && damage[0].object.contains("sources"), "{damage:?}");
    // Another table with the same rows is not the source.
    table_in(&place("elsewhere"), "b", &ticks(0..9));
    for other in ["elsewhere/b", "nowhere"] {
        let error = block_on(view.rebind([url(other)])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        let b = b.manifest().table.to_string();
        assert!(error.to_string().contains(&b) && error.to_string().contains("found"), "{error}");
    }
    let error = block_on(view.bind([&reopened(&url("elsewhere/b"))])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    // First the source is bound for one handle, then permanently.
    let live = index(&a).merge(&index(&reopened(&url("moved"))), &Merge::on(["log", "time"])).unwrap();
    assert_same(&index(&block_on(view.bind([&reopened(&url("moved"))])).unwrap()), &live);
    let bound = block_on(view.rebind([url("moved")])).unwrap();
    assert_eq!(
        (bound.version(), bound.manifest().stores[1].urls.as_slice()),
        (2, &["../moved".to_owned(), "../b".to_owned()][..])
    );
    assert_same(&index(&reopened(&url("view"))), &live);
    assert_eq!(block_on(reopened(&url("moved")).store().list("pins")).unwrap().len(), 2);
    assert_eq!(block_on(a.store().list("pins")).unwrap().len(), 2);
    assert!(block_on(a.rebind([url("moved")])).unwrap_err().to_string().contains("it uses no other table"));
}

#[test]
fn a_source_that_lost_its_version_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let url = |name: &str| folder.path().join(name).display().to_string();
    let a = table_in(folder.path(), "a", &ticks(0..9));
    block_on(index(&a).save(&url("view"))).unwrap();
    let view = index(&reopened(&url("view"))).filter(col("a_id").gt(lit(103))).unwrap();
    block_on(view.save(&url("of-view"))).unwrap();
    // Another version was stored under the same number; the hash of the manifest detects the change.
    let path = folder.path().join("a").join(manifest_name(1));
    let kept = std::fs::read(&path).unwrap();
    let mut manifest = a.manifest().clone();
    manifest.properties.insert("changed".to_owned(), Value::Null);
    std::fs::write(&path, manifest.to_bytes().unwrap().0).unwrap();
    let error = block_on(reopened(&url("of-view")).index()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert!(error.to_string().contains("has the manifest hash"), "{error}");
    std::fs::remove_file(&path).unwrap();
    let error = block_on(reopened(&url("of-view")).index()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    // A view whose source no longer exists cannot be saved.
    let error = block_on(view.save(&url("too-late"))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    std::fs::write(&path, kept).unwrap();
    assert_eq!(index(&reopened(&url("of-view"))).len(), 5);
}

/// Writes a table under its own name in a counting store.
fn counted(name: &str, records: &[Record]) -> (Table, CountingStore) {
    let (raw, store) = memory();
    block_on(write(store, schema_of(name), cut_by(tiny_cuts()), &[batch_of(name, records)])).unwrap();
    let counting = CountingStore::new(raw as Arc<dyn ObjectStore>);
    let store = Store::new(Arc::new(counting.clone()), object_store::path::Path::default(), format!("memory://counted/{name}"));
    (block_on(Table::open_in(store)).unwrap(), counting)
}

#[test]
fn a_window_over_a_view_of_three_tables_costs_the_ranges_of_its_groups() {
    let tables = ["a", "b", "c"].map(|name| counted(name, &ticks(0..120)));
    let [a, b, c] = [0, 1, 2].map(|number| index(&tables[number].0));
    let merge = Merge::on(["log", "time"]);
    let live = a.merge(&b, &merge).unwrap().merge(&c, &merge).unwrap().filter(col("a_id").gt(lit(130))).unwrap();
    let (raw, store) = memory();
    let counting = CountingStore::new(raw as Arc<dyn ObjectStore>);
    drop(store);
    let view = Store::new(Arc::new(counting.clone()), object_store::path::Path::default(), "memory://counted/view");
    block_on(live.save(view.clone())).unwrap();
    // The view is opened again, over sources that count requests.
    let fresh: Vec<Table> = tables.iter().map(|(table, _)| block_on(Table::open_in(table.store().clone())).unwrap()).collect();
    counting.reset();
    tables.iter().for_each(|(_, counting)| drop(counting.reset()));
    let bound = block_on(async { Table::open_in(view).await.unwrap().bind(&fresh).await.unwrap() });
    let opened = index(&bound);
    let seen = counting.reset();
    let folders: Vec<&str> = seen.gets.iter().map(|get| get.path.split('/').next().unwrap()).collect();
    assert_eq!((seen.lists, folders), (1, vec!["manifests", "index", "joins", "joins"]));
    let loader = RowLoader::new(&opened).unwrap().columns(["*.bytes"]).unwrap().cache_bytes(0);
    let offsets = Offsets::try_from(-9..=0).unwrap();
    let here = loader.get_rows(50, 0..=0);
    let row = block_on(here).unwrap().table_rows()[0].unwrap();
    block_on(loader.get_rows(40, &offsets)).unwrap();
    let explained = block_on(loader.explain(50, &offsets)).unwrap();
    // The requests of each table alone for its rows of the window. The rows are the same in all three tables.
    let chunks = |counting: &CountingStore| -> Vec<(String, std::ops::Range<u64>)> {
        let gets = counting.reset().gets.into_iter();
        gets.inspect(|get| assert!(get.path.starts_with("chunks/"), "{}", get.path)).map(|get| (get.path, get.range)).collect()
    };
    let alone: Vec<_> = tables
        .iter()
        .map(|(table, counting)| {
            let alone = table.row_loader().columns(["*.bytes"]).unwrap();
            let cost = block_on(alone.explain(row, &offsets)).unwrap();
            counting.reset();
            block_on(alone.get_rows(row, &offsets)).unwrap();
            (cost, chunks(counting))
        })
        .collect();
    block_on(loader.get_rows(50, &offsets)).unwrap();
    for ((_, counting), ((cost, wanted), group)) in tables.iter().zip(alone.iter().zip(&explained.groups)) {
        let seen = chunks(counting);
        assert_eq!(&seen, wanted);
        // These requests equal the explained cost of each group; each store has one column group.
        let bytes: u64 = seen.iter().map(|(_, range)| range.end - range.start).sum();
        assert_eq!((seen.len(), bytes), (group.requests, group.bytes));
        assert_eq!((cost.ranges, cost.requests, cost.bytes), (group.ranges, group.requests, group.bytes));
    }
    let sum = |of: fn(&tetrys::Explain) -> u64| alone.iter().map(|(cost, _)| of(cost)).sum::<u64>();
    assert_eq!(
        (explained.ranges as u64, explained.requests as u64),
        (sum(|cost| cost.ranges as u64), sum(|cost| cost.requests as u64))
    );
    assert_eq!((explained.bytes, explained.payload_bytes), (sum(|cost| cost.bytes), sum(|cost| cost.payload_bytes)));
    assert_eq!(explained.groups.len(), 3);
    assert_eq!(counting.reset().requests(), 0);
}

#[test]
fn damaged_and_forged_views_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (table_in(folder.path(), "a", &ticks(0..12)), table_in(folder.path(), "b", &ticks(3..12)));
    let live = index(&a).merge(&index(&b), &Merge::on(["log", "time"]).left()).unwrap();
    let view = block_on(live.save(&folder.path().join("view").display().to_string())).unwrap().table;
    let stored = block_on(objects(view.store()));
    let open = |objects: &InMemory| {
        block_on(async {
            let store = over(Arc::new(objects.fork()));
            let found = Table::open_in(store).await?.bind([&a, &b]).await?;
            let index = found.index().await?;
            let rows = RowLoader::new(&index)?.get_rows(4, -2..=2).await?;
            Ok::<_, tetrys::Error>((index.len(), rows.len()))
        })
    };
    let copy = || {
        let raw = InMemory::new();
        stored.iter().for_each(|(name, bytes)| block_on(overwrite(&raw, name, bytes)));
        raw
    };
    assert_eq!(open(&copy()).unwrap(), (12, 5));
    // The manifest of the view is flipped and cut.
    let mut rng = Rng(common::seed());
    for (name, bytes) in &stored {
        for turn in 0..if common::full() { 400 } else { 40 } {
            let raw = copy();
            let mut bad = bytes.clone();
            let at = rng.below(bytes.len() as u64) as usize;
            if turn % 4 == 0 {
                bad.truncate(at)
            } else {
                bad[at] ^= 1 << rng.below(8)
            }
            block_on(overwrite(&raw, name, &bad));
            let error = open(&raw).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported), "{name}: {error}");
        }
    }
    // The manifest of the view is sealed again with one wrong member.
    let (bytes, _) = view.manifest().to_bytes().unwrap();
    let sealed = |edit: &dyn Fn(&mut Value)| {
        let mut json: Value = serde_json::from_slice(&bytes).unwrap();
        json.as_object_mut().unwrap().remove("blake3");
        edit(&mut json);
        let mut bytes = serde_json::to_vec(&json).unwrap();
        bytes.pop();
        let hash = Hash::of(&bytes);
        bytes.extend(format!(",\"blake3\":\"{hash}\"}}\n").bytes());
        let raw = copy();
        block_on(overwrite(&raw, &manifest_name(1), &bytes));
        let parsed = Manifest::parse(&bytes, 1).map(|_| ());
        parsed.and_then(|()| open(&raw).map(|_| ()))
    };
    sealed(&|_| {}).unwrap();
    let other = serde_json::json!({"blake3": Hash::of(b"x"), "bytes": 1});
    type Edit<'a> = &'a dyn Fn(&mut Value);
    let cases: [(Edit<'_>, &str); 20] = [
        (&|json| json["view"] = Value::Null, "expected an object, found null"),
        (&|json| drop(json.as_object_mut().unwrap().remove("view")), "announces `views` and does not use it"),
        (&|json| json["read_features"] = serde_json::json!(["references"]), "uses `views` and does not announce it"),
        (&|json| json["view"]["sources"] = serde_json::json!([]), "0 sources"),
        (&|json| json["view"]["sources"][0]["store"] = 0.into(), "store 0 of 2"),
        (&|json| json["view"]["sources"][1]["store"] = 3.into(), "store 3 of 2"),
        (&|json| json["view"]["sources"][1]["base"] = 1.into(), "its base is 1"),
        (&|json| json["view"]["sources"][0]["base"] = 1.into(), "its base is 1"),
        (&|json| json["view"]["sources"][1]["base"] = u64::MAX.into(), "its base is"),
        (&|json| json["view"]["sources"][1]["join"] = Value::Null, "its join map None"),
        (&|json| json["view"]["sources"][0]["row"] = 0.into(), "an index column of its own"),
        (&|json| json["view"]["sources"][0]["row"] = json["view"]["sources"][1]["row"].clone(), "an index column of its own"),
        (&|json| json["view"]["sources"][0]["rows"] = 13.into(), "the view says 13"),
        (&|json| json["view"]["sources"][1]["rows"] = 4.into(), "the view says 4"),
        (&|json| json["view"]["sources"][0]["columns"][0]["type"] = "i32".into(), "of type i32"),
        (&|json| json["view"]["sources"][0]["columns"][0]["id"] = 0.into(), "no group column 0"),
        (
            &|json| json["view"]["sources"][0]["columns"][1]["name"] = json["view"]["sources"][0]["columns"][0]["name"].clone(),
            "appears twice",
        ),
        (&|json| json["view"]["sources"][0]["index"][0]["id"] = 77.into(), "no index column 77"),
        (&|json| json["schema"]["sequence_by"] = serde_json::json!([0]), "sequences of its own"),
        (&|json| json["view"]["sources"][1]["lists"] = other.clone(), "is missing"),
    ];
    for (edit, expected) in cases {
        let error = sealed(edit).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains(expected), "{error}: expected {expected}");
    }
    // Every member gets extreme values. The view is refused, or reads the same rows.
    let json: Value = serde_json::from_slice(&bytes).unwrap();
    let mut members = Vec::new();
    paths(&json["view"], "/view".to_owned(), &mut members);
    let edges = [0, 1, 2, u64::from(u32::MAX), 1 << 48, (1 << 48) + 1, i64::MAX as u64, u64::MAX].map(Value::from);
    let others = ["null", "[]", "{}", "\"\"", "true", "-1", "1.5", "\"a\""].map(|text| serde_json::from_str(text).unwrap());
    let mut refused = 0;
    for path in &members {
        for value in edges.iter().chain(&others).filter(|_| common::full() || rng.once_in(3)) {
            refused += usize::from(sealed(&|json| *json.pointer_mut(path).unwrap() = value.clone()).is_err());
        }
    }
    assert!(members.len() > 40 && refused > members.len(), "{} members, {refused} refused", members.len());
}

#[test]
fn an_index_column_of_an_old_view_hides_the_group_column_of_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let a = table_in(folder.path(), "a", &ticks(0..5));
    let view = block_on(index(&a).save(&folder.path().join("view").display().to_string())).unwrap().table;
    // As older writers left it: the texts have the name of the index column `a_id`.
    let mut json: Value = serde_json::from_slice(&view.manifest().to_bytes().unwrap().0).unwrap();
    json.as_object_mut().unwrap().remove("blake3");
    let columns = json["view"]["sources"][0]["columns"].as_array_mut().unwrap();
    columns.iter_mut().find(|column| column["name"] == "note").unwrap()["name"] = "a_id".into();
    let mut bytes = serde_json::to_vec(&json).unwrap();
    bytes.pop();
    let hash = Hash::of(&bytes);
    bytes.extend(format!(",\"blake3\":\"{hash}\"}}\n").bytes());
    let raw = InMemory::new();
    block_on(objects(view.store())).iter().for_each(|(name, bytes)| block_on(overwrite(&raw, name, bytes)));
    block_on(overwrite(&raw, &manifest_name(1), &bytes));
    let old = block_on(async { Table::open_in(over(Arc::new(raw))).await.unwrap().bind([&a]).await.unwrap() });
    let live = index(&old);
    for loader in [old.row_loader(), RowLoader::new(&live).unwrap()] {
        assert_eq!(loader.column_names().collect::<Vec<_>>(), ["a.value", "a.bytes"]);
        let all = loader.clone().all_columns().unwrap();
        assert_eq!(all.column_names().collect::<Vec<_>>(), ["log", "time", "a_id", "a_at", "a_kind", "a.value", "a.bytes"]);
        let rows = block_on(loader.columns(["a_id"]).unwrap().take(&[1, 4])).unwrap();
        assert_eq!(rows.column("a_id").unwrap().as_primitive::<Int64Type>().values().to_vec(), [101, 104]);
    }
    // Its rows are saved again under names that are there once.
    let again = block_on(live.save(&folder.path().join("again").display().to_string())).unwrap().table;
    assert!(again.schema().column_named("note").is_none());
}

#[test]
fn verification_says_what_it_left_out_and_reaches_versions_and_sources_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let a = table_in(folder.path(), "a", &ticks(0..9));
    let a = block_on(a.edit().set_property("who", "me").commit()).unwrap();
    let live = index(&a);
    let url = folder.path().join("view").display().to_string();
    let first = block_on(live.save(&url)).unwrap().table;
    let view = block_on(live.filter(col("a_id").gt(lit(104))).unwrap().save(&first)).unwrap().table;
    let verify = |table: &Table, all_versions, sources| {
        block_on(table.storage().verify_more(VerifyReach { all_versions, sources }, |_, _| {})).unwrap()
    };
    let rows = format!("rows of {} version 2", a.url());
    assert_eq!(block_on(view.storage().verify(|_, _| {})).unwrap().not_checked, ["versions: 1".to_owned(), rows.clone()]);
    assert_eq!(verify(&view, true, false).not_checked, [rows]);
    assert_eq!(verify(&view, false, true).not_checked, ["versions: 1"]);
    let all = verify(&view, true, true);
    assert!(all.not_checked.is_empty() && all.damage.is_empty() && all.chunks > 0, "{all:?}");
    // Objects that two versions share are read once.
    let (one, both) = (verify(&a, false, false), verify(&a, true, false));
    assert_eq!((one.not_checked, both.not_checked.len()), (vec!["versions: 1".to_owned()], 0));
    assert_eq!((both.chunks, both.blocks), (one.chunks, one.blocks));
    // Damage in a source, or in another version, is reported with its place.
    let name = block_on(a.storage().objects()).unwrap().into_keys().find(|name| name.starts_with("chunks/")).unwrap();
    let path = folder.path().join("a").join(&name);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    std::fs::write(&path, bytes).unwrap();
    assert!(verify(&view, true, false).damage.is_empty());
    let damage = verify(&view, false, true).damage;
    assert!(damage.len() == 1 && damage[0].object == format!("{} version 2: {name}", a.url()), "{damage:?}");
    std::fs::write(folder.path().join("view").join(manifest_name(1)), b"{}").unwrap();
    assert!(verify(&view, false, false).damage.is_empty());
    let damage = verify(&view, true, false).damage;
    assert!(damage.len() == 1 && damage[0].object == "version 1: manifest", "{damage:?}");
}

/// Collects the path of every value of a JSON document.
fn paths(value: &Value, path: String, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| paths(value, format!("{path}/{name}"), found)),
        Value::Array(items) => items.iter().enumerate().for_each(|(at, value)| paths(value, format!("{path}/{at}"), found)),
        _ => {}
    }
    found.push(path);
}

#[test]
fn splits_are_by_key_and_stable_under_appends() {
    let folder = tempfile::tempdir().unwrap();
    let logs: Vec<String> = (0..400).map(|log| format!("log-{log}")).collect();
    let rows = |logs: &[String]| -> Vec<Record> {
        logs.iter().flat_map(|log| (0..3).map(|time| (log.clone(), Some(time), time + 1))).collect()
    };
    let (few, all) = (rows(&logs[..250]), rows(&logs));
    let shares = [("train", 0.8), ("val", 0.1), ("test", 0.1)];
    let split = |name: &str, records: &[Record], salt: &str| {
        let parts = index(&table_in(folder.path(), name, records)).split(["log"], shares, salt).unwrap();
        let logs_of = |part: &Index| -> Vec<String> {
            part.frame().column("log").unwrap().str().unwrap().iter().map(|log| log.unwrap().to_owned()).collect()
        };
        parts.into_iter().map(|(name, part)| (name, logs_of(&part))).collect::<Vec<_>>()
    };
    let (before, after) = (split("few", &few, ""), split("all", &all, ""));
    assert_eq!(after.iter().map(|(_, logs)| logs.len()).sum::<usize>(), all.len());
    for ((name, before), (_, after)) in before.iter().zip(&after) {
        // No log has changed its part, all three rows of a log are in one part, and the sizes are close to the shares.
        assert!(before.iter().all(|log| after.contains(log)), "{name}");
        assert!(after.chunks(3).all(|log| log[0] == log[2]), "{name}");
    }
    let sizes: Vec<usize> = after.iter().map(|(_, logs)| logs.len() / 3).collect();
    assert!((280..=360).contains(&sizes[0]) && (20..=60).contains(&sizes[1]), "{sizes:?}");
    // The parts of these logs must never change in any later build.
    let place = |log: &str| after.iter().find(|(_, logs)| logs.iter().any(|existing| existing == log)).unwrap().0.as_str();
    assert_eq!(["log-0", "log-1", "log-2", "log-3", "log-4", "log-5"].map(place), PLACES);
    assert_ne!(split("salted", &all, "again"), after);
    let a = index(&table_in(folder.path(), "a", &few));
    for (keys, shares, expected) in [
        (vec!["lg"], vec![("a", 1.0)], "no column `lg`; there are: log"),
        (vec![], vec![("a", 1.0)], "no key to split by"),
        (vec!["log"], vec![("a", 0.9), ("b", 0.2)], "add up to at most 1"),
        (vec!["log"], vec![("a", -0.1)], "expected positive shares"),
        (vec!["log"], vec![], "expected positive shares"),
        (vec!["log"], vec![("a", 0.5), ("b", 0.2), ("a", 0.1)], "two parts have the name `a`; give each part its own name"),
        (vec!["log"], vec![("../x", 0.5)], "part `../x`: expected the name of a folder, without slash or backslash"),
        (vec!["log"], vec![("a/b", 0.5)], "part `a/b`: expected the name of a folder"),
        (vec!["log"], vec![("a\\b", 0.5)], "part `a\\b`: expected the name of a folder"),
        (vec!["log"], vec![("..", 0.5)], "part `..`: expected"),
        (vec!["log"], vec![(".", 0.5)], "part `.`: expected"),
        (vec!["log"], vec![("", 0.5)], "part ``: expected"),
    ] {
        let error = a.split(keys, shares, "").unwrap_err();
        assert!(error.kind() == ErrorKind::Invalid || expected.starts_with("no column"), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    assert_eq!(a.split(["log"], [("half", 0.5)], "").unwrap()[0].1.len() / 3, HALF);
}

/// The parts of the first logs.
const PLACES: [&str; 6] = ["train", "test", "train", "train", "train", "train"];
/// The number of logs, out of 250, in the first half.
const HALF: usize = 125;
