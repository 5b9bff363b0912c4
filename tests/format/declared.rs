//! Column properties for writers: a preset of its own, and the promise that a column has no nulls. Both properties hold in every
//! later version.

use std::sync::Arc;

use crate::common::tables::{Rng, block_on, memory, write};
use arrow_array::{ArrayRef, Float32Array, Int64Array, LargeStringArray, RecordBatch};
use tetrys::{ErrorKind, Preset, Schema, SchemaBuilder, Table, WriteOptions};

fn schema() -> SchemaBuilder {
    Schema::builder().index("log", "utf8").index("time", "i64").group("a", [("a.near", "f32"), ("a.far", "f32")])
}

/// Returns smooth numbers, which each preset encodes differently.
fn rows(count: i64, null_at: Option<(&str, usize)>) -> RecordBatch {
    let is_null = |name: &str, row: i64| null_at == Some((name, row as usize));
    let mut rng = Rng(7);
    let mut noise = || (rng.below(64) as f32) / 64.0;
    let numbers: Vec<f32> = (0..count).map(|row| row as f32 * 0.5 + noise()).collect();
    let column = |name: &str| -> ArrayRef {
        let values = (0..count).map(|row| (!is_null(name, row)).then(|| numbers[row as usize]));
        Arc::new(values.collect::<Float32Array>())
    };
    let logs: LargeStringArray = (0..count).map(|row| (!is_null("log", row)).then_some("x")).collect();
    RecordBatch::try_from_iter([
        ("log", Arc::new(logs) as ArrayRef),
        ("time", Arc::new(Int64Array::from_iter_values(0..count))),
        ("a.near", column("a.near")),
        ("a.far", column("a.far")),
    ])
    .unwrap()
}

fn table(schema: Schema, preset: Preset) -> Table {
    let options = WriteOptions::default().preset(preset);
    block_on(write(memory().1, schema, options, &[rows(4000, None)])).unwrap()
}

/// Returns the codec chains of `a.near` and `a.far`.
fn chains(table: &Table) -> [Vec<String>; 2] {
    let layout = block_on(table.storage().layout(0)).unwrap();
    let of = |column: usize| layout.runs().iter().map(|run| run.chains[column].to_string()).collect();
    [of(0), of(1)]
}

#[test]
fn a_column_has_the_codecs_of_its_own_preset_and_the_others_those_of_the_table() {
    let plain = |preset| chains(&table(schema().build().unwrap(), preset));
    let (fast, compact) = (plain(Preset::Fast), plain(Preset::Compact));
    assert_ne!(fast[0], compact[0]);
    let own = table(schema().preset("a.near", Preset::Fast).build().unwrap(), Preset::Compact);
    assert_eq!(chains(&own), [fast[0].clone(), compact[1].clone()]);
    assert_eq!(own.manifest().preset, "compact");
    // The property is part of the schema, so it also holds for rows of later versions by any writer.
    let longer = block_on(async {
        let reopened = Table::open_in(own.store().clone()).await.unwrap();
        let writer = reopened.append(WriteOptions::default().preset(Preset::Compact)).await.unwrap();
        let mut partition = writer.partition().unwrap();
        let (count, more) = (4000, rows(8000, None));
        partition.write(&more.slice(count, count)).await.unwrap();
        writer.commit([partition.finish().await.unwrap()]).await.unwrap()
    });
    let [near, far] = chains(&longer);
    assert!(near.len() >= 2 && near.iter().all(|chain| *chain == fast[0][0]), "{near:?}");
    assert!(far.iter().all(|chain| *chain == compact[1][0]), "{far:?}");
    assert!(block_on(longer.storage().verify(|_, _| {})).unwrap().damage.is_empty());

    let wrong = schema().preset("a.near", "quick").build().unwrap();
    let writer = block_on(Table::create_in(memory().1, wrong, WriteOptions::default())).unwrap();
    let error = writer.partition().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("column `a.near`: its property `tetrys.preset`"), "{error}");
}

#[test]
fn a_null_in_a_column_declared_without_is_refused_by_column_and_row() {
    for column in ["log", "a.far"] {
        let declared = schema().required(column).build().unwrap();
        let written = |batch: RecordBatch| block_on(write(memory().1, declared.clone(), WriteOptions::default(), &[batch]));
        let error = written(rows(10, Some((column, 6)))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let expected = format!("column `{column}`: row 6 of the batch is null");
        assert!(error.to_string().contains(&expected) && error.to_string().contains("partition 0, rows from 0"), "{error}");
        // Other columns may have nulls.
        let table = written(rows(10, Some(("a.near", 6)))).unwrap();
        block_on(async {
            let mut writer = table.replace_group("a", WriteOptions::default()).await.unwrap();
            let batch = rows(10, Some(("a.far", 3))).project(&[2, 3]).unwrap();
            let replaced = writer.write(&batch).await;
            assert_eq!(replaced.is_err(), column == "a.far", "{replaced:?}");
            // A patch is refused as well. The property can be removed again.
            let patch = rows(4, Some(("a.far", 2))).project(&[1, 3]).unwrap();
            let patched = table.patch(&["time"], &patch, WriteOptions::default()).await;
            assert_eq!(patched.is_err(), column == "a.far", "{patched:?}");
            let edit = table.edit().set_column_property(column, tetrys::schema::NULLABLE, None);
            if patched.is_err() {
                let free = edit.commit().await.unwrap();
                free.patch(&["time"], &patch, WriteOptions::default()).await.unwrap();
            }
        });
    }
}
