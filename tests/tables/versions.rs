//! Versions of one table: each version reads its own rows, stores only new data, and leaves earlier versions unchanged.
//! Concurrent writers are rebased, or one of them gets a conflict.

use std::{path::Path, sync::Arc};

use crate::common::hooked::{Act, Hooked, no_answer};
use crate::common::tables::{self, Rng, Taste, block_on, cut_by, joined, rows_of, sensors, tiny_cuts, two_partitions};
use arrow_array::{ArrayRef, Int64Array, LargeStringArray, RecordBatch, UInt32Array, UInt64Array};
use arrow_select::{concat::concat_batches, take::take_record_batch};
use tetrys::{ErrorKind, Store, Table, WriteOptions};

fn store(folder: &Path) -> Store {
    Store::open(folder.join("table").to_str().unwrap()).unwrap()
}

fn options() -> WriteOptions {
    cut_by(tiny_cuts())
}

/// Writes a table of twenty rows in two partitions and two segments.
async fn table(folder: &Path, seed: u64) -> (Table, RecordBatch) {
    let (schema, partitions) = two_partitions(seed);
    let options = options().segment_rows(1);
    let table = tables::write(store(folder), schema, options, &partitions).await.unwrap();
    assert_eq!(table.manifest().segments.len(), 2);
    (table, joined(&partitions))
}

async fn assert_reads(table: &Table, written: &RecordBatch) {
    tables::assert_reads(table, written).await;
    let index: Vec<RecordBatch> = table.index_batches().await.unwrap().collect::<Result<_, _>>().unwrap();
    if let Some(first) = index.first() {
        let index = concat_batches(&first.schema(), &index).unwrap();
        for (field, column) in index.schema().fields().iter().zip(index.columns()) {
            assert_eq!(column, written.column_by_name(field.name()).unwrap(), "index column `{}`", field.name());
        }
    }
    // A new reader sees the same version.
    assert_eq!(Table::open_version_in(table.store().clone(), table.version()).await.unwrap().manifest(), table.manifest());
}

fn taken(batch: &RecordBatch, rows: impl IntoIterator<Item = u64>) -> RecordBatch {
    take_record_batch(batch, &UInt64Array::from_iter_values(rows)).unwrap()
}

/// Returns the rows with other values in one column.
fn with_column(batch: &RecordBatch, name: &str, column: ArrayRef) -> RecordBatch {
    let mut columns = batch.columns().to_vec();
    columns[batch.schema().index_of(name).unwrap()] = column;
    RecordBatch::try_new(batch.schema(), columns).unwrap()
}

async fn append(table: &Table, rows: &RecordBatch) -> tetrys::Result<Table> {
    let writer = table.append(WriteOptions::default()).await?;
    let mut partition = writer.partition()?;
    partition.write(rows).await?;
    writer.commit([partition.finish().await?]).await
}

async fn chunks(table: &Table) -> Vec<(String, u64)> {
    table.store().list("chunks").await.unwrap()
}

#[test]
fn rows_that_are_appended_stand_behind_the_others() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (first, rows) = table(folder.path(), 1).await;
        // The append continues the last log and begins another log.
        let mut more = rows_of(&sensors(), &mut Rng(7), &[("e", 2), ("f", 3)], Taste::SMALL);
        let times: ArrayRef = Arc::new(Int64Array::from(vec![9_000, 9_100, 1, 2, 3]));
        more = with_column(&more, "time", times);
        let second = append(&first, &more).await.unwrap();
        let all = concat_batches(&rows.schema(), [&rows, &more]).unwrap();
        assert_reads(&second, &all).await;
        assert_reads(&first, &rows).await;
        assert_eq!((second.version(), second.manifest().sequences()), (2, first.manifest().sequences() + 1));
        assert!(second.manifest().segments[2].continues);
        let window = second.row_loader().get_rows(20, -2..=0).await.unwrap();
        assert_eq!(window.table_rows(), [Some(18), Some(19), Some(20)]);
        // An append cannot continue a log that has ended.
        let error = append(&second, &rows_of(&sensors(), &mut Rng(8), &[("a", 1)], Taste::SMALL)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains("appears again"), "{error}");
    });
}

#[test]
fn a_table_that_is_overwritten_stores_what_is_new() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (first, rows) = table(folder.path(), 2).await;
        let before = chunks(&first).await;
        let overwrite = async |rows: &RecordBatch| {
            let writer = first.overwrite(sensors(), options()).await.unwrap();
            let mut partition = writer.partition().unwrap();
            partition.write(rows).await.unwrap();
            writer.commit([partition.finish().await.unwrap()]).await.unwrap()
        };
        let same = overwrite(&rows).await;
        assert_reads(&same, &rows).await;
        assert_eq!(chunks(&same).await, before, "the same rows, in one partition instead of two");
        assert!(same.manifest().stores.is_empty());
        let ids = |table: &Table| table.schema().columns().iter().map(|column| column.id).collect::<Vec<_>>();
        assert_eq!(ids(&same), ids(&first));
    });
}

#[test]
fn a_group_is_not_replaced_after_a_write_that_failed() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (first, rows) = table(folder.path(), 3).await;
        let mut writer = first.replace_group("labels", options()).await.unwrap();
        writer.write(&tables::of_group(&rows.slice(0, 3), "labels")).await.unwrap();
        let sound = tables::of_group(&rows.slice(3, 2), "labels");
        let text: ArrayRef = Arc::new(LargeStringArray::from(vec!["many"; 2]));
        let mut columns = Vec::new();
        for (field, column) in sound.schema().fields().iter().zip(sound.columns()) {
            columns.push((field.name().clone(), if field.name() == "labels.count" { text.clone() } else { column.clone() }));
        }
        let ill_typed = RecordBatch::try_from_iter(columns).unwrap();
        writer.write(&ill_typed).await.unwrap_err();
        for error in
            [writer.write(&tables::of_group(&rows.slice(3, 17), "labels")).await.unwrap_err(), writer.commit().await.unwrap_err()]
        {
            assert!(error.to_string().contains("an earlier write of this column group failed"), "{error}");
        }
        assert_eq!(Table::open(first.url()).await.unwrap().version(), 1);
    });
}

#[test]
fn a_group_that_is_replaced_leaves_the_others_alone() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (first, rows) = table(folder.path(), 3).await;
        let mut rng = Rng(50);
        let counts: ArrayRef = Arc::new(UInt32Array::from_iter_values((0..20).map(|_| rng.below(1000) as u32)));
        let changed = with_column(&rows, "labels.count", counts);
        let mut writer = first.replace_group("labels", options()).await.unwrap();
        // The new values are written in two pieces that do not end at segment boundaries.
        writer.write(&tables::of_group(&changed.slice(0, 5), "labels")).await.unwrap();
        let error = first.replace_group("labels", options()).await.unwrap().commit().await.unwrap_err();
        assert!(error.to_string().contains("found 0 rows written, the table has 20"), "{error}");
        writer.write(&tables::of_group(&changed.slice(5, 15), "labels")).await.unwrap();
        assert!(
            writer
                .write(&tables::of_group(&changed.slice(0, 1), "labels"))
                .await
                .unwrap_err()
                .to_string()
                .contains("the table has 20")
        );
        let second = writer.commit().await.unwrap();
        assert_reads(&second, &changed).await;
        assert_reads(&first, &rows).await;
        for (before, after) in first.manifest().segments.iter().zip(&second.manifest().segments) {
            assert_eq!((&before.index, &before.groups[..2]), (&after.index, &after.groups[..2]));
        }
        let error = first.replace_group("label", options()).await.unwrap_err();
        assert!(error.to_string().ends_with("no column group `label`; it has camera, lidar, labels"), "{error}");
    });
}

#[test]
fn a_group_is_added_by_position_or_by_key() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (first, rows) = table(folder.path(), 4).await;
        let scores: Vec<i64> = (0..20).map(|row| row * row).collect();
        let column: ArrayRef = Arc::new(Int64Array::from(scores.clone()));
        let mut writer = first.add_group("scores", [("score", "i64")], options()).await.unwrap();
        writer.write(&RecordBatch::try_from_iter([("score", Arc::clone(&column))]).unwrap()).await.unwrap();
        let second = writer.commit().await.unwrap();
        assert_eq!(
            second.row_loader().columns(["score"]).unwrap().take(&[3, 19]).await.unwrap().column("score").unwrap(),
            &(Arc::new(Int64Array::from(vec![9, 361])) as ArrayRef)
        );

        // Rows are matched by key: they have another order, and one is missing.
        let keyed = RecordBatch::try_from_iter([
            ("log", rows.column_by_name("log").unwrap().clone()),
            ("time", rows.column_by_name("time").unwrap().clone()),
            ("ranked", column),
        ])
        .unwrap();
        let shuffled = taken(&keyed, (0..20).rev().filter(|row| *row != 7));
        let mut writer = second.add_group("ranks", [("ranked", "i64")], options()).await.unwrap();
        writer.write_keyed(&["log", "time"], &shuffled).await.unwrap();
        let third = writer.commit().await.unwrap();
        let wanted: ArrayRef = Arc::new((0..20).map(|row| (row != 7).then_some(scores[row])).collect::<Int64Array>());
        let all: Vec<u64> = (0..20).collect();
        assert_eq!(third.row_loader().columns(["ranked"]).unwrap().take(&all).await.unwrap().column("ranked").unwrap(), &wanted);
        assert_eq!(third.storage().verify(|_, _| {}).await.unwrap().damage.len(), 0);
        let mut writer = third.add_group("more", [("m", "i64")], options()).await.unwrap();
        let nobody: ArrayRef = Arc::new(Int64Array::from(vec![-1; 20]));
        let log = rows.column_by_name("log").unwrap().clone();
        let stranger = RecordBatch::try_from_iter([("log", log), ("time", nobody.clone()), ("m", nobody)]).unwrap();
        let error = writer.write_keyed(&["log", "time"], &stranger).await.unwrap_err();
        assert!(error.to_string().contains("is not in the table"), "{error}");
        let error = third.add_group("ranks", [("other", "i64")], options()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    });
}

#[test]
fn deleted_rows_are_gone_and_nothing_else_is() {
    for seed in 0..12 {
        let folder = tempfile::tempdir().unwrap();
        block_on(async {
            let (first, rows) = table(folder.path(), 10 + seed).await;
            let mut rng = Rng(seed);
            let one_in = 1 + rng.below(6);
            let mut gone: Vec<u64> = (0..20).filter(|_| rng.once_in(one_in)).collect();
            if seed == 0 {
                gone = (0..12).collect(); // a whole segment
            }
            if seed == 1 {
                gone = (0..20).collect();
            }
            let stay: Vec<u64> = (0..20).filter(|row| !gone.contains(row)).collect();
            let second = first.delete(gone.iter().copied(), options()).await.unwrap();
            assert_reads(&second, &taken(&rows, stay.iter().copied())).await;
            assert_reads(&first, &rows).await;
            let error = second.delete([stay.len() as u64], options()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        });
    }
}

#[test]
fn deleting_wide_rows_writes_no_payload() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let schema =
            tetrys::Schema::builder().index("log", "utf8").index("time", "i64").group("camera", [("camera.jpeg", "u8[20000]")]);
        let schema = schema.sequence_by(["log"]).build().unwrap();
        let rows = rows_of(&schema, &mut Rng(3), &[("a", 30), ("b", 30)], Taste { nulls: 0, ..Taste::NOISE });
        let first =
            tables::write(store(folder.path()), schema, WriteOptions::default(), std::slice::from_ref(&rows)).await.unwrap();
        let before = chunks(&first).await;
        let second = first.delete((0..60).step_by(7), WriteOptions::default()).await.unwrap();
        assert_eq!(chunks(&second).await, before);
        assert_reads(&second, &taken(&rows, (0..60).filter(|row| row % 7 != 0))).await;
    });
}

#[test]
fn some_rows_of_a_group_are_patched_by_key() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (first, rows) = table(folder.path(), 5).await;
        let changed: Vec<u64> = vec![2, 9, 13];
        let notes = ["changed", "", "geändert"];
        let keys = taken(&rows, changed.iter().copied());
        let patch = RecordBatch::try_from_iter([
            ("labels.note", Arc::new(arrow_array::StringArray::from(notes.to_vec())) as ArrayRef),
            ("time", keys.column_by_name("time").unwrap().clone()),
            ("log", keys.column_by_name("log").unwrap().clone()),
        ])
        .unwrap();
        let second = first.patch(&["log", "time"], &patch, options()).await.unwrap();
        let column = rows.column_by_name("labels.note").unwrap();
        let column = column.as_any().downcast_ref::<LargeStringArray>().unwrap();
        let wanted = (0..20_u64).map(|row| match changed.iter().position(|changed| *changed == row) {
            Some(place) => Some(notes[place].to_owned()),
            None => arrow_array::Array::is_valid(column, row as usize).then(|| column.value(row as usize).to_owned()),
        });
        assert_reads(&second, &with_column(&rows, "labels.note", Arc::new(wanted.collect::<LargeStringArray>()))).await;
        for (before, after) in first.manifest().segments.iter().zip(&second.manifest().segments) {
            assert_eq!((&before.index, &before.groups[..2]), (&after.index, &after.groups[..2]));
        }
        let twice = concat_batches(&patch.schema(), [&patch, &patch]).unwrap();
        assert!(first.patch(&["log", "time"], &twice, options()).await.unwrap_err().to_string().contains("has the same key"));
        let error = first.patch(&["time"], &patch, options()).await.unwrap_err();
        assert!(error.to_string().contains("have the same key"), "{error}");
    });
}

#[test]
fn names_properties_and_tags_change_without_payload() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (first, rows) = table(folder.path(), 6).await;
        let before = tables::objects(first.store()).await;
        let edit = first.edit().rename_column("labels.note", "labels.remark").set_property("license", "CC0");
        let second = edit.set_column_property("lidar.points", "unit", Some("m".into())).tag("gold", 1).commit().await.unwrap();
        let after = tables::objects(first.store()).await;
        assert_eq!(after.len(), before.len() + 1, "a manifest and nothing else");
        assert_eq!(second.manifest().properties["license"], "CC0");
        assert_eq!(second.schema().column_named("lidar.points").unwrap().properties["unit"], "m");
        let found = second.row_loader().columns(["labels.remark"]).unwrap().take(&[4]).await.unwrap();
        assert_eq!(found.column("labels.remark").unwrap(), &rows.column_by_name("labels.note").unwrap().slice(4, 1));
        let url = first.url();
        assert_eq!(Table::open(&format!("{url}@gold")).await.unwrap().version(), 1);
        let error = Table::open(&format!("{url}@silver")).await.unwrap_err();
        assert!(error.to_string().contains("no tag `silver`; it has gold"), "{error}");

        // A rename of an index column writes the index again, and nothing else.
        let third = second.edit().rename_column("weight", "mass").untag("gold").commit().await.unwrap();
        let index: Vec<_> = third.schema().index().map(|column| column.name.clone()).collect();
        assert_eq!(index, ["log", "time", "mass"]);
        assert!(third.storage().verify(|_, _| {}).await.unwrap().damage.is_empty());
        let fourth = third.edit().drop_columns(&["mass", "lidar.points"]).commit().await.unwrap();
        assert!(fourth.storage().verify(|_, _| {}).await.unwrap().damage.is_empty());
        assert_eq!(fourth.schema().groups().len(), 2);
        let mut writer = fourth.add_group("again", [("lidar.points", "i64")], options()).await.unwrap();
        writer
            .write(&RecordBatch::try_from_iter([("lidar.points", Arc::new(Int64Array::from(vec![1; 20])) as ArrayRef)]).unwrap())
            .await
            .unwrap();
        let fifth = writer.commit().await.unwrap();
        let id = |table: &Table| table.schema().column_named("lidar.points").unwrap().id;
        assert!(id(&fifth) > id(&first), "ids are never used again");
        assert_eq!(chunks(&fifth).await.len(), chunks(&first).await.len());
        for (edit, expected) in [
            (first.edit().tag("7", 1), "not digits alone"),
            (first.edit().tag("far", 9), "the table has 1 to 1"),
            (first.edit().untag("gone"), "no tag `gone`"),
            (first.edit().drop_columns(&["log"]), "is in sequence_by and cannot be dropped"),
            (first.edit().rename_column("log", "time"), "appears twice"),
        ] {
            let error = edit.commit().await.unwrap_err();
            assert!(error.to_string().contains(expected), "{error}: expected {expected}");
        }
    });
}

/// Returns the bytes of all objects below the table's root that are not in `before`.
async fn added(table: &Table, before: &[(String, Vec<u8>)]) -> u64 {
    let now = tables::objects(table.store()).await;
    now.iter().filter(|object| !before.contains(object)).map(|(_, bytes)| bytes.len() as u64).sum()
}

#[test]
fn a_group_that_loses_a_column_is_written_anew_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (first, rows) = table(folder.path(), 61).await;
        let before = tables::objects(first.store()).await;
        let edit = first.edit().drop_columns(&["labels.names", "camera.pose"]).rename_column("labels.count", "labels.number");
        let second = edit.commit().await.unwrap();
        let groups: Vec<usize> = second.schema().groups().iter().map(|group| group.columns.len()).collect();
        assert_eq!(groups, [1, 1, 2]);
        let schema = rows.schema();
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        for (field, column) in schema.fields().iter().zip(rows.columns()) {
            match field.name().as_str() {
                "labels.names" | "camera.pose" => continue,
                "labels.count" => fields.push(field.as_ref().clone().with_name("labels.number")),
                _ => fields.push(field.as_ref().clone()),
            }
            columns.push(column.clone());
        }
        assert_reads(&second, &RecordBatch::try_new(arrow_schema::Schema::new(fields).into(), columns).unwrap()).await;
        for (before, after) in first.manifest().segments.iter().zip(&second.manifest().segments) {
            assert_eq!((&before.index, &before.groups[1]), (&after.index, &after.groups[1]));
        }
        let manifest = tetrys::format::manifest_name(2);
        let manifest = second.store().size(&manifest).await.unwrap();
        assert_eq!(second.manifest().lineage["bytes_added"], added(&second, &before).await - manifest);
        // The other columns are cut and stored as if the dropped columns had never existed: a table of only these columns has the
        // same block hashes.
        let alone = tetrys::Schema::builder().index("log", "utf8").index("time", "i64").sequence_by(["log"]);
        let alone = alone.group("camera", [("camera.jpeg", "binary")]).build().unwrap();
        let options = options().segment_rows(1);
        let store = Store::open(folder.path().join("alone").to_str().unwrap()).unwrap();
        let parts: Vec<RecordBatch> = two_partitions(61).1.iter().map(|part| part.project(&[0, 1, 3]).unwrap()).collect();
        let alone = tables::write(store, alone, options, &parts).await.unwrap();
        let hashes =
            |table: &Table| table.manifest().segments.iter().map(|segment| segment.groups[0].hashes.clone()).collect::<Vec<_>>();
        assert_eq!(hashes(&alone), hashes(&second));
        assert_reads(&first, &rows).await;

        // All columns of the group are dropped; no chunk is written.
        let third = second.edit().drop_columns(&["camera.jpeg"]).commit().await.unwrap();
        assert_eq!((third.schema().groups().len(), chunks(&third).await), (2, chunks(&second).await));
    });
}

#[test]
fn a_copy_that_is_not_valid_any_more_goes_with_the_column_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let schema = tetrys::Schema::builder().index("log", "utf8").index("time", "i64").sequence_by(["log"]);
        let schema = schema.group("all", [("speed", "f32"), ("gear", "u8"), ("brake", "u8")]).group("car", [("gear", "u8")]);
        let schema = schema.build().unwrap();
        let rows = rows_of(&schema, &mut Rng(62), &[("a", 12)], Taste::SMALL);
        let first = tables::write(store(folder.path()), schema, options(), std::slice::from_ref(&rows)).await.unwrap();
        let gears: ArrayRef = Arc::new(arrow_array::UInt8Array::from(vec![3; 12]));
        let changed = with_column(&rows, "gear", gears);
        let mut writer = first.replace_group("car", options()).await.unwrap();
        writer.write(&changed.project(&[changed.schema().index_of("gear").unwrap()]).unwrap()).await.unwrap();
        let second = writer.commit().await.unwrap();
        assert!(second.schema().has_masked_copies());
        let third = second.edit().drop_columns(&["brake"]).commit().await.unwrap();
        let names = |group: usize| third.schema().groups()[group].columns.len();
        assert_eq!((names(0), names(1), third.schema().has_masked_copies()), (1, 1, false));
        assert_reads(&third, &changed.project(&[0, 1, 2, 3]).unwrap()).await;
        let fourth = third.edit().drop_columns(&["speed"]).commit().await.unwrap();
        assert_eq!(fourth.schema().groups().len(), 1);
    });
}

#[test]
fn a_dropped_column_and_rows_of_it_written_meanwhile_are_a_conflict() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (first, rows) = table(folder.path(), 63).await;
        let more = rows_of(&sensors(), &mut Rng(64), &[("x", 2)], Taste::SMALL);
        append(&first, &more).await.unwrap();
        let error = first.edit().drop_columns(&["camera.pose"]).commit().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        assert!(error.to_string().contains("column group `camera` in the segment at row 20"), "{error}");
        let newest = Table::open_in(first.store().clone()).await.unwrap();
        newest.edit().drop_columns(&["camera.pose"]).commit().await.unwrap();
        // The opposite order: an append that still has both columns comes too late.
        let rest = rows_of(&sensors(), &mut Rng(65), &[("y", 2)], Taste::SMALL);
        assert_eq!(append(&newest, &rest).await.unwrap_err().kind(), ErrorKind::Conflict);
        let mut late = newest.replace_group("camera", options()).await.unwrap();
        late.write(&tables::of_group(&concat_batches(&rows.schema(), [&more, &rows]).unwrap(), "camera")).await.unwrap();
        assert_eq!(late.commit().await.unwrap_err().kind(), ErrorKind::Conflict);
    });
}

#[test]
fn two_writers_of_different_things_both_succeed() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (first, rows) = table(folder.path(), 7).await;
        let counts: ArrayRef = Arc::new(UInt32Array::from(vec![7; 20]));
        let changed = with_column(&rows, "labels.count", counts);
        // All writers begin with version 1.
        let mut replacing = first.replace_group("labels", options()).await.unwrap();
        replacing.write(&tables::of_group(&changed, "labels")).await.unwrap();
        let appending = first.append(options()).await.unwrap();
        let more = rows_of(&sensors(), &mut Rng(70), &[("x", 2)], Taste::SMALL);
        let mut partition = appending.partition().unwrap();
        partition.write(&more).await.unwrap();
        let receipt = partition.finish().await.unwrap();
        let also = first.append(options()).await.unwrap();
        let others = rows_of(&sensors(), &mut Rng(71), &[("y", 3)], Taste::SMALL);
        let mut partition = also.partition().unwrap();
        partition.write(&others).await.unwrap();
        let other_receipt = partition.finish().await.unwrap();

        first.edit().set_property("by", "somebody").commit().await.unwrap();
        let appended = appending.commit([receipt]).await.unwrap();
        let replaced = replacing.commit().await.unwrap();
        let last = also.commit([other_receipt]).await.unwrap();
        assert_eq!((appended.version(), replaced.version(), last.version()), (3, 4, 5));
        assert_reads(&last, &concat_batches(&rows.schema(), [&changed, &more, &others]).unwrap()).await;
        assert_eq!(last.manifest().properties["by"], "somebody");
        assert_eq!(last.manifest().parent.as_ref().unwrap().version, 4);
    });
}

#[test]
fn two_writers_of_one_thing_are_a_conflict() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (first, rows) = table(folder.path(), 8).await;
        let replacing = async |value: u32| {
            let mut writer = first.replace_group("labels", options()).await.unwrap();
            let changed = with_column(&rows, "labels.count", Arc::new(UInt32Array::from(vec![value; 20])));
            writer.write(&tables::of_group(&changed, "labels")).await.unwrap();
            writer
        };
        let (one, other) = (replacing(1).await, replacing(2).await);
        let deleting = first.edit().set_property("p", 1);
        one.commit().await.unwrap();
        let error = other.commit().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        assert!(error.to_string().contains("column group `labels`"), "{error}");
        assert_eq!(first.delete([1], options()).await.unwrap_err().kind(), ErrorKind::Conflict);
        deleting.commit().await.unwrap();
        assert_eq!(first.edit().set_property("p", 2).commit().await.unwrap_err().kind(), ErrorKind::Conflict);
        // Two writers append the same log.
        let base = Table::open_in(first.store().clone()).await.unwrap();
        let rows = rows_of(&sensors(), &mut Rng(70), &[("x", 2)], Taste::SMALL);
        append(&base, &rows).await.unwrap();
        let error = append(&base, &rows).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    });
}

#[test]
fn every_version_of_a_long_history_reads_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (mut newest, mut rows) = table(folder.path(), 9).await;
        let mut history = vec![(newest.clone(), rows.clone())];
        let mut rng = Rng(90);
        for step in 0..14_u64 {
            (newest, rows) = match rng.below(4) {
                0 => {
                    let log = format!("new-{step}");
                    let more = rows_of(&sensors(), &mut rng, &[(&log, 4)], Taste::SMALL);
                    (append(&newest, &more).await.unwrap(), concat_batches(&rows.schema(), [&rows, &more]).unwrap())
                }
                1 => {
                    let gone: Vec<u64> = (0..newest.rows()).filter(|_| rng.once_in(5)).collect();
                    let stay = (0..newest.rows()).filter(|row| !gone.contains(row));
                    let kept = taken(&rows, stay);
                    (newest.delete(gone, options()).await.unwrap(), kept)
                }
                2 => {
                    let counts = (0..newest.rows()).map(|_| rng.below(100) as u32);
                    let changed = with_column(&rows, "labels.count", Arc::new(UInt32Array::from_iter_values(counts)));
                    let mut writer = newest.replace_group("labels", options()).await.unwrap();
                    writer.write(&tables::of_group(&changed, "labels")).await.unwrap();
                    (writer.commit().await.unwrap(), changed)
                }
                _ => {
                    let some: Vec<u64> = (0..newest.rows()).filter(|_| rng.once_in(4)).collect();
                    if some.is_empty() {
                        continue;
                    }
                    let values = (0..newest.rows() as usize).map(|_| rng.below(9) as u32).collect::<Vec<_>>();
                    let column = rows.column_by_name("labels.count").unwrap();
                    let column = column.as_any().downcast_ref::<UInt32Array>().unwrap();
                    let valid = |row: usize| arrow_array::Array::is_valid(column, row).then(|| column.value(row));
                    let wanted: UInt32Array = (0..newest.rows())
                        .map(|row| if some.contains(&row) { Some(values[row as usize]) } else { valid(row as usize) })
                        .collect();
                    let changed = with_column(&rows, "labels.count", Arc::new(wanted));
                    let patch = taken(&changed, some).project(&[
                        rows.schema().index_of("log").unwrap(),
                        rows.schema().index_of("time").unwrap(),
                        rows.schema().index_of("labels.count").unwrap(),
                    ]);
                    (newest.patch(&["log", "time"], &patch.unwrap(), options()).await.unwrap(), changed)
                }
            };
            history.push((newest.clone(), rows.clone()));
        }
        for (table, rows) in &history {
            assert_reads(table, rows).await;
        }
    });
}

#[test]
fn small_segments_are_put_together_and_payload_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (mut newest, mut rows) = table(folder.path(), 31).await;
        for step in 0..5_u64 {
            let more = rows_of(&sensors(), &mut Rng(step), &[(&format!("log-{step}"), 3)], Taste::SMALL);
            newest = append(&newest, &more).await.unwrap();
            rows = concat_batches(&rows.schema(), [&rows, &more]).unwrap();
        }
        let before = chunks(&newest).await;
        let compacted = newest.storage().compact(30).await.unwrap();
        assert_eq!((newest.manifest().segments.len(), compacted.manifest().segments.len()), (7, 2));
        assert_eq!(chunks(&compacted).await, before);
        assert_reads(&compacted, &rows).await;
        assert_eq!(compacted.storage().compact(30).await.unwrap().version(), compacted.version(), "nothing left to do");
        let usage = newest.storage().usage().await.unwrap();
        assert_eq!(usage.versions.len(), 7);
        assert_eq!(usage.unnamed_bytes, 0);
        assert_eq!(usage.versions.iter().map(|version| version.added_bytes).sum::<u64>(), usage.stored_bytes);
    });
}

#[test]
fn two_writers_that_only_append_one_after_the_other_lose_no_row() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (first, rows) = table(folder.path(), 32).await;
        let (mut receipts, mut added) = (Vec::new(), Vec::new());
        for writer in 0..5_u64 {
            let more = rows_of(&sensors(), &mut Rng(writer), &[(&format!("w-{writer}"), 2)], Taste::NOISE);
            let session = first.append(WriteOptions::default()).await.unwrap();
            let mut partition = session.partition().unwrap();
            partition.write(&more).await.unwrap();
            receipts.push((session, partition.finish().await.unwrap()));
            added.push(more);
        }
        for (session, receipt) in receipts {
            session.commit([receipt]).await.unwrap();
        }
        let newest = Table::open_in(first.store().clone()).await.unwrap();
        assert_eq!(newest.version(), 6);
        added.insert(0, rows.clone());
        assert_reads(&newest, &concat_batches(&rows.schema(), &added).unwrap()).await;
    });
}

#[test]
fn a_change_that_fails_at_any_operation_leaves_a_whole_version() {
    block_on(async {
        let (schema, partitions) = two_partitions(33);
        let rows = joined(&partitions);
        let (objects, target) = tables::memory();
        tables::write(target, schema, options(), &partitions).await.unwrap();
        let gone = [1, 7, 19];
        let stay = taken(&rows, (0..20).filter(|row| !gone.contains(row)));
        let more = rows_of(&sensors(), &mut Rng(7), &[("x", 3)], Taste::SMALL);
        let longer = concat_batches(&rows.schema(), [&rows, &more]).unwrap();
        for (change, changed) in [("delete", &stay), ("append", &longer)] {
            let mut failed = 0;
            for fail_at in 0.. {
                let here = Arc::new(objects.fork());
                let hooked = Hooked::new(here.clone(), move |number, _, _| match number == fail_at {
                    true => Act::Before(no_answer()),
                    false => Act::Pass,
                });
                let made = match Table::open_in(tables::over(Arc::new(hooked.clone()))).await {
                    Err(error) => Err(error),
                    Ok(table) if change == "delete" => table.delete(gone, options()).await,
                    Ok(table) => append(&table, &more).await,
                };
                let newest = Table::open_in(tables::over(here)).await.unwrap();
                match newest.version() {
                    1 => assert_reads(&newest, &rows).await,
                    _ => assert_reads(&newest, changed).await,
                }
                // Without the listing that settles the claim, the change may be in the table and is not called done.
                let is_unknown = made.as_ref().is_err_and(|error| error.kind() == ErrorKind::OutcomeUnknown);
                let is_reported = made.is_ok() == (newest.version() == 2) || (is_unknown && newest.version() == 2);
                assert!(is_reported, "{change}, operation {fail_at}: version {}, {made:?}", newest.version());
                failed += u64::from(made.is_err());
                if hooked.operations() <= fail_at {
                    break;
                }
            }
            assert!(failed > 10, "{change}: {failed} operations failed");
        }
    });
}

#[cfg(target_os = "linux")]
#[test]
fn the_versions_on_a_disk_are_found_among_other_files() {
    use std::{
        ffi::OsStr,
        fs,
        os::unix::{ffi::OsStrExt, fs::symlink},
    };
    use tetrys::{
        commit::{newest_version, versions},
        format::manifest_name,
    };
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("table");
    let manifest = |version: u64| root.join(manifest_name(version));
    block_on(async {
        assert_eq!(newest_version(&store(folder.path())).await.unwrap(), None);
        let (mut last, _) = table(folder.path(), 3).await;
        while last.version() < 12 {
            last = last.edit().set_property("turn", last.version()).commit().await.unwrap();
        }
        let all: Vec<u64> = (1..=12).rev().collect();
        // What a killed writer leaves, folders, links to nothing, and strange names are no versions. Some sort before all.
        fs::write(root.join(format!("{}#1", manifest_name(40))), "{").unwrap();
        fs::create_dir(manifest(30)).unwrap();
        symlink(root.join("nothing"), manifest(20)).unwrap();
        (0..9).for_each(|number| fs::write(root.join(format!("manifests/0{number}.json")), "{}").unwrap());
        fs::write(root.join("manifests/notes.txt"), "notes").unwrap();
        fs::write(root.join("manifests").join(OsStr::from_bytes(b"\xff.json")), "notes").unwrap();
        // A link to a manifest is one.
        fs::rename(manifest(12), root.join("kept")).unwrap();
        symlink(root.join("kept"), manifest(12)).unwrap();
        let store = store(folder.path());
        assert_eq!(versions(&store).await.unwrap(), all);
        assert_eq!(newest_version(&store).await.unwrap(), Some(12));
        assert_eq!(Table::open_in(store.clone()).await.unwrap().version(), 12);
        fs::remove_dir_all(root.join("manifests")).unwrap();
        fs::write(root.join("manifests"), "no folder").unwrap();
        let error = newest_version(&store).await.unwrap_err().to_string();
        assert!(error.contains("manifests") && error.contains(store.url()), "{error}");
    });
}
