//! Merges of changed frames: the keys come from the frames, names are unique, and time zones stay. Random frames are compared
//! with a plain model that compares all pairs.
#![cfg(feature = "frame")]

use crate::common;
use std::{collections::BTreeSet, path::Path, sync::Arc};

use crate::common::tables::{Rng, block_on, cut_by, memory, tiny_cuts, write};
use arrow_array::{
    Array, ArrayRef, Int64Array, LargeStringArray, RecordBatch, TimestampMillisecondArray, TimestampSecondArray, cast::AsArray,
    types::Int64Type,
};
use polars::prelude::{DataType, TimeUnit, TimeZone, col, lit, when};
use tetrys::{ErrorKind, Index, Merge, Pick, Recipe, RowLoader, Rows, Schema, Store, StoreOptions, Table, ViewOptions};

/// The key of a row: log and time, both nullable.
type Key = (Option<String>, Option<i64>);

/// A row of a frame: its row in the table, and its key.
#[derive(Clone, Debug)]
struct Row {
    row: usize,
    key: Key,
}

fn table_of(name: &str, keys: &[Key]) -> Table {
    stored(memory().1, name, keys)
}

fn table_in(folder: &Path, name: &str, keys: &[Key]) -> Table {
    stored(Store::open(folder.join(name).to_str().unwrap()).unwrap(), name, keys)
}

fn stored(store: Store, name: &str, keys: &[Key]) -> Table {
    let schema = Schema::builder().index("log", "utf8").index("time", "i64").index(format!("{name}_id"), "i64");
    let schema = schema.group(name, [(format!("{name}.value"), "i64")]).build().unwrap();
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..keys.len() as i64));
    let (id, value) = (format!("{name}_id"), format!("{name}.value"));
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("log", Arc::new(keys.iter().map(|(log, _)| log.as_deref()).collect::<LargeStringArray>()) as ArrayRef, true),
        ("time", Arc::new(keys.iter().map(|(_, time)| *time).collect::<Int64Array>()), true),
        (id.as_str(), Arc::clone(&ids), true),
        (value.as_str(), ids, true),
    ]);
    block_on(write(store, schema, cut_by(tiny_cuts()), &[batch.unwrap()])).unwrap()
}

fn index(table: &Table) -> Index {
    block_on(table.index()).unwrap()
}

fn keys(rng: &mut Rng) -> Vec<Key> {
    let rows = 1 + rng.below(14);
    let row = |_| {
        let log = (!rng.once_in(9)).then(|| (*rng.pick(&["x", "y"])).to_owned());
        (log, (!rng.once_in(9)).then(|| rng.below(9) as i64))
    };
    (0..rows).map(row).collect()
}

/// Applies random changes to a frame and to the model. `known` has the keys of all rows of the table, from the last frame that
/// had all rows in table order.
fn changed(rng: &mut Rng, mut index: Index, id: &str, rows: &mut Vec<Row>, known: &mut Vec<Key>) -> Index {
    for _ in 0..rng.below(4) {
        let number = 2 + rng.below(3) as i64;
        match rng.below(5) {
            0 => {
                index = index.with_columns([col("time") + lit(number)]).unwrap();
                rows.iter_mut().for_each(|row| row.key.1 = row.key.1.map(|time| time + number));
            }
            1 => {
                let gone = (col(id) % lit(number)).eq(lit(0));
                let null = lit(polars::prelude::NULL).cast(DataType::String);
                index = index.with_columns([when(gone).then(null).otherwise(col("log")).alias("log")]).unwrap();
                rows.iter_mut().filter(|row| row.row as i64 % number == 0).for_each(|row| row.key.0 = None);
            }
            2 => {
                index = index.filter((col(id) % lit(number)).neq(lit(0))).unwrap();
                rows.retain(|row| row.row as i64 % number != 0);
            }
            3 => {
                index = index.sort([id], true).unwrap();
                rows.sort_by_key(|row| std::cmp::Reverse(row.row));
            }
            _ => {
                index = index.sort([id], false).unwrap();
                rows.sort_by_key(|row| row.row);
            }
        }
        if rows.len() == known.len() && rows.iter().enumerate().all(|(place, row)| row.row == place) {
            *known = rows.iter().map(|row| row.key.clone()).collect();
        }
    }
    index
}

/// The rule for several right rows with the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Several {
    Refused,
    First,
    Last,
    Lists,
}

/// Returns the right rows that belong to a key, by comparing all of them.
fn partners(key: &Key, right: &[Row], by_time: Option<(Pick, i64)>, several: Several) -> Vec<usize> {
    let (Some(log), Some(time)) = key else { return Vec::new() };
    let of_log = || right.iter().filter(|row| row.key.0.as_ref() == Some(log));
    let times = of_log().filter_map(|row| row.key.1);
    let wanted = match by_time {
        None => Some(*time),
        Some((pick, tolerance)) => {
            let near = times.filter(|other| (other - time).abs() <= tolerance);
            match pick {
                Pick::Nearest => near.min_by_key(|other| ((other - time).abs(), *other)),
                Pick::Before => near.filter(|other| other <= time).max(),
                Pick::After => near.filter(|other| other >= time).min(),
            }
        }
    };
    let mut found: Vec<usize> = of_log().filter(|row| wanted.is_some() && row.key.1 == wanted).map(|row| row.row).collect();
    match several {
        Several::Lists => found.sort_unstable(),
        Several::Last => drop(found.drain(..found.len().saturating_sub(1))),
        Several::First | Several::Refused => found.truncate(1),
    }
    found
}

/// Returns the values of a column, one for each row or a list.
fn values(rows: &Rows, name: &str) -> Vec<Vec<usize>> {
    let column = rows.column(name).unwrap();
    let numbers = |array: &dyn Array| -> Vec<usize> {
        array.as_primitive::<Int64Type>().iter().flatten().map(|value| value as usize).collect()
    };
    match column.as_list_opt::<i64>() {
        Some(lists) => lists.iter().map(|list| list.map(|list| numbers(&list)).unwrap_or_default()).collect(),
        None => (0..column.len()).map(|row| numbers(&column.slice(row, 1))).collect(),
    }
}

#[test]
fn merges_of_changed_frames_go_by_what_the_frames_say() {
    let mut rng = Rng(common::seed());
    let (mut merged, mut refused, mut windows) = (0, 0, 0);
    for turn in 0..if common::full() { 2_000 } else { 60 } {
        let (left_keys, right_keys) = (keys(&mut rng), keys(&mut rng));
        let all = |keys: &[Key]| -> Vec<Row> { keys.iter().cloned().enumerate().map(|(row, key)| Row { row, key }).collect() };
        let (mut left, mut right) = (all(&left_keys), all(&right_keys));
        let (mut known, mut of_right) = (left_keys.clone(), right_keys.clone());
        let a = changed(&mut rng, index(&table_of("a", &left_keys)), "a_id", &mut left, &mut known);
        let b = changed(&mut rng, index(&table_of("b", &right_keys)), "b_id", &mut right, &mut of_right);
        let by_time = rng.once_in(2).then(|| (*rng.pick(&[Pick::Nearest, Pick::Before, Pick::After]), rng.below(4) as i64));
        let several = *rng.pick(&[Several::Refused, Several::First, Several::Last, Several::Lists]);
        let several = if by_time.is_some() && several == Several::Lists { Several::Last } else { several };
        let keeps = rng.once_in(2);
        let merge = match by_time {
            None => Merge::on(["log", "time"]),
            Some((pick, tolerance)) => Merge::on(["log"]).as_of("time", pick).tolerance(tolerance.to_string()).unwrap(),
        };
        let merge = match several {
            Several::Refused => merge,
            Several::First => merge.first(),
            Several::Last => merge.last(),
            Several::Lists => merge.group_to_list(),
        };
        let merge = if keeps { merge.left() } else { merge };
        let what = format!("turn {turn}: {merge:?}\nleft {left:?}\nright {right:?}");
        let mut seen = BTreeSet::new();
        let is_twice = right.iter().any(|row| row.key.0.is_some() && row.key.1.is_some() && !seen.insert(&row.key));
        // The keys of rows outside the frame are known if the keys of the frame equal those of the last frame with all rows.
        let same = left.iter().all(|row| row.key == known[row.row]);
        let is_known = same || left.len() == known.len();
        let found = match a.merge(&b, &merge) {
            Ok(found) => found,
            Err(error) => {
                let message = error.to_string();
                let expected = match is_twice && several == Several::Refused {
                    true => message.contains("on the right ha"),
                    false => !is_known && message.contains("are not known"),
                };
                assert!(error.kind() == ErrorKind::Invalid && expected, "{error}\n{what}");
                refused += 1;
                continue;
            }
        };
        assert!(is_known && !(is_twice && several == Several::Refused), "{what}");
        let of_frame: Vec<Vec<usize>> = left.iter().map(|row| partners(&row.key, &right, by_time, several)).collect();
        let of_base = |row: usize| match left.iter().position(|existing| existing.row == row) {
            Some(place) => of_frame[place].clone(),
            None => partners(&known[row], &right, by_time, several),
        };
        let stay: Vec<usize> = (0..left.len()).filter(|place| keeps || !of_frame[*place].is_empty()).collect();
        let loader = RowLoader::new(&found).unwrap();
        let rows = block_on(loader.take(&(0..found.len() as u64).collect::<Vec<_>>())).unwrap();
        assert_eq!(values(&rows, "a.value"), stay.iter().map(|place| vec![left[*place].row]).collect::<Vec<_>>(), "{what}");
        assert_eq!(values(&rows, "b.value"), stay.iter().map(|place| of_frame[*place].clone()).collect::<Vec<_>>(), "{what}");
        for (position, place) in stay.iter().enumerate() {
            let window = block_on(loader.get_rows(position as u64, -1..=1)).unwrap();
            let around = (-1..=1_isize).map(|offset| {
                let row = left[*place].row.checked_add_signed(offset).filter(|row| *row < known.len());
                row.map(of_base).unwrap_or_default()
            });
            assert_eq!(values(&window, "b.value"), around.collect::<Vec<_>>(), "window at {position}, {what}");
            windows += 1;
        }
        // The merged frame is merged with a third table.
        let again = found.merge(&index(&table_of("c", &left_keys)), &Merge::on_pairs([("a_id", "c_id")]).left()).unwrap();
        let rows = block_on(RowLoader::new(&again).unwrap().take(&(0..again.len() as u64).collect::<Vec<_>>())).unwrap();
        assert_eq!(values(&rows, "c.value"), values(&rows, "a.value"), "{what}");
        merged += 1;
    }
    assert!(merged > 20 && refused > 2 && windows > 40, "{merged} merges, {refused} refused, {windows} windows");
}

#[test]
fn a_key_that_was_changed_in_some_rows_only_is_refused_and_one_that_was_cast_is_not() {
    let keys: Vec<Key> = (0..9).map(|row| (Some("x".to_owned()), Some(row))).collect();
    let (a, b) = (index(&table_of("a", &keys)), index(&table_of("b", &keys)));
    let merge = Merge::on(["log", "time"]);
    let few = a.filter(col("a_id").gt(lit(4))).unwrap();
    let shifted = few.with_columns([col("time") - lit(2)]).unwrap();
    let error = shifted.merge(&b, &merge).unwrap_err();
    assert!(error.to_string().contains("the left frame has 4 of 9 rows") && error.to_string().contains("log, time"), "{error}");
    // If the keys are changed before the filter, all rows have a key.
    let shifted = a.with_columns([col("time") - lit(2)]).unwrap().filter(col("a_id").gt(lit(4))).unwrap();
    let window = |merged: &Index| {
        let rows = block_on(RowLoader::new(merged).unwrap().columns(["b.*"]).unwrap().get_rows(0, -2..=0)).unwrap();
        values(&rows, "b.value")
    };
    assert_eq!(window(&shifted.merge(&b, &merge).unwrap()), [vec![1], vec![2], vec![3]]);
    // Equal values in another type are equal keys.
    let narrow = |index: &Index| index.with_columns([col("time").cast(DataType::Int32)]).unwrap();
    assert_eq!(window(&narrow(&few).merge(&narrow(&b), &merge).unwrap()), [vec![3], vec![4], vec![5]]);
    // A row that is in the frame twice, with two keys, has two partners. Its partner in a window is ambiguous.
    let twice = Index::concat([&a, &a.with_columns([col("time") + lit(1)]).unwrap()]);
    let error = twice.unwrap().merge(&b, &merge.left()).unwrap_err();
    assert!(error.to_string().contains("several tables") || error.to_string().contains("twice, with different keys"), "{error}");
}

#[test]
fn names_are_there_once_over_index_and_groups_of_both_sides() {
    let mut rng = Rng(common::seed());
    let pool = ["a", "b", "c", "a_right", "b_right", "c_right"];
    let folder = tempfile::tempdir().unwrap();
    for turn in 0..if common::full() { 300 } else { 25 } {
        // Each column of each table has one value in all rows, and no other column has that value.
        let tables: Vec<(Index, BTreeSet<i64>)> = (0..3_i64)
            .map(|number| {
                let mut schema = Schema::builder().index("id", "i64");
                let mut columns: Vec<(String, ArrayRef)> = vec![("id".to_owned(), Arc::new(Int64Array::from(vec![0, 1])))];
                let (mut distinct, mut grouped) = (BTreeSet::new(), Vec::new());
                for (place, name) in (0..).zip(pool) {
                    if rng.once_in(2) {
                        continue;
                    }
                    let value = 100 * number + place + 10;
                    distinct.insert(value);
                    columns.push((name.to_owned(), Arc::new(Int64Array::from(vec![value, value]))));
                    match rng.once_in(2) {
                        true => schema = schema.index(name, "i64"),
                        false => grouped.push((name, "i64")),
                    }
                }
                grouped.push((["u", "v", "w"][number as usize], "i64"));
                columns.push((grouped.last().unwrap().0.to_owned(), Arc::new(Int64Array::from(vec![0, 0]))));
                let batch = RecordBatch::try_from_iter(columns).unwrap();
                let schema = schema.group("g", grouped).build().unwrap();
                let url = folder.path().join(format!("{turn}-{number}")).display().to_string();
                let store = Store::open(&url).unwrap();
                (index(&block_on(write(store, schema, cut_by(tiny_cuts()), &[batch])).unwrap()), distinct)
            })
            .collect();
        let merge = Merge::on(["id"]);
        let [a, b, c] = [0, 1, 2].map(|number| &tables[number].0);
        let made = match rng.once_in(2) {
            true => a.merge(b, &merge).unwrap().merge(c, &merge).unwrap(),
            false => a.merge(&b.merge(c, &merge).unwrap(), &merge).unwrap(),
        };
        let url = folder.path().join(format!("{turn}-view")).display().to_string();
        let saved = block_on(made.save(&url)).unwrap().table;
        for found in [made, index(&block_on(Table::open(&url)).unwrap())] {
            let loader = RowLoader::new(&found).unwrap();
            let row = block_on(loader.take(&[0])).unwrap();
            let mut names = BTreeSet::new();
            let mut distinct = BTreeSet::new();
            for name in found.column_names() {
                assert!(names.insert(name.to_owned()), "`{name}` is there twice");
                distinct.insert(
                    found
                        .query(&format!("SELECT \"{name}\" AS v FROM t"))
                        .unwrap()
                        .column("v")
                        .unwrap()
                        .i64()
                        .unwrap()
                        .get(0)
                        .unwrap(),
                );
            }
            for name in loader.column_names() {
                assert!(names.insert(name.to_owned()), "`{name}` is in the index and in a group");
                distinct.insert(values(&row, name)[0][0] as i64);
            }
            distinct.remove(&0);
            assert_eq!(distinct, tables.iter().flat_map(|(_, distinct)| distinct).copied().collect(), "{names:?}");
            let seen: BTreeSet<String> = saved.schema().columns().iter().map(|column| column.name.clone()).collect();
            assert_eq!(seen, names);
        }
    }
}

#[test]
fn an_index_column_with_the_name_of_a_group_column_is_not_saved() {
    let keys: Vec<Key> = (0..3).map(|row| (Some("x".to_owned()), Some(row))).collect();
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (index(&table_in(folder.path(), "a", &keys)), index(&table_in(folder.path(), "b", &keys)));
    let same = a.with_columns([lit(1_i64).alias("a.value")]).unwrap();
    let error = block_on(same.save(&folder.path().join("view").display().to_string())).unwrap_err();
    assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("column `a.value` is an index column"), "{error}");
    let other = b.with_columns([col("b_id").alias("a.value"), col("b_id").alias("a_id")]).unwrap();
    let error = Index::concat_filling([&a, &other]).unwrap_err();
    assert!(error.to_string().contains("column `a.value` is an index column"), "{error}");
    // The merge adds a suffix to the name, and the result can be saved.
    let merged = a.merge(&other, &Merge::on(["log", "time"])).unwrap();
    assert_eq!(merged.column_names().collect::<Vec<_>>(), ["log", "time", "a_id", "b_id", "a.value_right", "a_id_right"]);
    block_on(merged.save(&folder.path().join("view").display().to_string())).unwrap();
}

#[test]
fn a_recipe_with_an_index_column_of_the_name_of_a_group_column_is_refused_with_both_places() {
    let keys: Vec<Key> = (0..3).map(|row| (Some("x".to_owned()), Some(row))).collect();
    let folder = tempfile::tempdir().unwrap();
    let url = |name: &str| folder.path().join(name).display().to_string();
    table_in(folder.path(), "a", &keys);
    table_in(folder.path(), "b", &keys);
    let stores = StoreOptions::from_env();
    for (how, expected) in [
        ("from = 'a'\ncolumns = { 'a.value' = 'a_id * 2' }", url("a")),
        ("from = 'a'\njoin = [{ with = 'b', on = ['log', 'time'] }]\ncolumns = { 'b.value' = 'a_id' }", url("b")),
        ("from = 'a'\ncolumns = { 'a.value' = 'a_id' }\nsplit = { by = 'log', shares = { train = 1 } }", url("a")),
    ] {
        let text =
            format!("{how}\nsources = {{ a = '{}', b = '{}' }}\noutput = {{ view = '{}' }}", url("a"), url("b"), url("view"));
        let recipe = Recipe::parse(&text).unwrap();
        let runs = block_on(async {
            [
                recipe.dry_run(&stores, &ViewOptions::default()).await.map(|_| ()),
                recipe.run(&stores, &ViewOptions::default()).await.map(|_| ()),
            ]
        });
        for error in runs.map(Result::unwrap_err) {
            assert_eq!(error.kind(), ErrorKind::Invalid, "{how}: {error}");
            let message = error.to_string();
            assert!(
                message.contains("is an index column of the frame and a group column of") && message.contains(&expected),
                "{message}"
            );
            assert!(message.contains("rename the index column in the frame, or drop it"), "{message}");
        }
        assert!(!folder.path().join("view/manifests").exists() && !folder.path().join("view/train/manifests").exists());
    }
}

/// Writes a table with an index column with a time zone, and one with integer seconds.
fn zoned(folder: &Path, zone: &str, seconds: &[Option<i64>]) -> Table {
    let schema = Schema::builder()
        .index("at", format!("timestamp[ms,{zone}]"))
        .index("second", "timestamp[s]")
        .group("v", [("v.value", "i64")])
        .property("at", "note", "local")
        .build()
        .unwrap();
    let at: TimestampMillisecondArray = (0..seconds.len() as i64).map(|row| Some(1_700_000_000_000 + row * 1000)).collect();
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("at", Arc::new(at.with_timezone(zone)) as ArrayRef, true),
        ("second", Arc::new(seconds.iter().copied().collect::<TimestampSecondArray>()), true),
        ("v.value", Arc::new(Int64Array::from_iter_values(0..seconds.len() as i64)), true),
    ]);
    let url = (0..).map(|number| folder.join(format!("zoned-{number}"))).find(|url| !url.exists()).unwrap();
    let store = Store::open(url.to_str().unwrap()).unwrap();
    block_on(write(store, schema, cut_by(tiny_cuts()), &[batch.unwrap()])).unwrap()
}

#[test]
fn time_zones_stay_in_frames_filters_keys_and_views() {
    let folder = tempfile::tempdir().unwrap();
    let seconds = [Some(0), Some(1_700_000_000), None, Some(-5), Some(7)];
    for (number, (zone, shown)) in
        [("Europe/Berlin", "Europe/Berlin"), ("UTC", "UTC"), ("+05:30", "UTC"), ("Atlantis/Harbour", "UTC")]
            .into_iter()
            .enumerate()
    {
        let a = index(&zoned(folder.path(), zone, &seconds));
        let zoned_type = |zone: &str| DataType::Datetime(TimeUnit::Milliseconds, TimeZone::opt_try_new(Some(zone)).unwrap());
        assert_eq!(*a.frame().column("at").unwrap().dtype(), zoned_type(shown), "{zone}");
        let ticks: Vec<Option<i64>> = a.frame().column("second").unwrap().to_physical_repr().i64().unwrap().iter().collect();
        assert_eq!(ticks, seconds.map(|second| second.map(|second| second * 1000)));
        // A literal with a time zone filters rows, also in SQL, and can be printed without a panic.
        let instant = lit(1_700_000_002_000_i64).cast(zoned_type(shown));
        assert_eq!(a.filter(col("at").gt_eq(instant)).unwrap().len(), 3);
        assert_eq!(a.filter_sql("second > '1999-01-01'").unwrap().len(), 1);
        assert!(format!("{}", a.frame()).contains("second"));
        // Keys are instants, so different time zones match.
        let b = index(&zoned(folder.path(), "America/New_York", &seconds));
        let merged = a.merge(&b, &Merge::on(["at"])).unwrap();
        assert_eq!(merged.len(), 5);
        let near = Merge::on(Vec::<String>::new()).as_of("at", Pick::Nearest).tolerance("10ms").unwrap();
        assert_eq!(a.merge(&b, &near).unwrap().len(), 5);
        let naive = b.with_columns([col("at").cast(DataType::Datetime(TimeUnit::Milliseconds, None))]).unwrap();
        let error = a.merge(&naive, &Merge::on(["at"])).unwrap_err();
        assert!(error.to_string().contains("cast one of them"), "{error}");
        // A view keeps the stored time zone, or the time zone that the caller chose.
        let url = folder.path().join(format!("view-{number}")).display().to_string();
        let view = block_on(merged.select([col("at"), col("second")]).unwrap().save(&url)).unwrap().table;
        let types = |table: &Table| table.schema().index().map(|column| column.ty.to_string()).collect::<Vec<_>>();
        assert_eq!(types(&view), [format!("timestamp[ms,{zone}]"), "timestamp[ms]".to_owned()]);
        assert_eq!(view.schema().column_named("at").unwrap().properties["note"], "local");
        let again = index(&block_on(Table::open(&url)).unwrap());
        assert_eq!(again.frame().column("at").unwrap(), a.frame().column("at").unwrap());
        let tokyo = a.with_columns([col("at").cast(zoned_type("Asia/Tokyo"))]).unwrap();
        let view = block_on(tokyo.save(&format!("{url}-tokyo"))).unwrap().table;
        assert_eq!(types(&view)[0], "timestamp[ms,Asia/Tokyo]");
    }
    // A time that cannot be expressed in milliseconds is refused; the other columns can be read.
    let table = zoned(folder.path(), "UTC", &[Some(i64::MAX / 1000 + 1)]);
    let error = block_on(table.index()).unwrap_err();
    assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains("index column `second`"), "{error}");
    assert_eq!(block_on(table.index_columns(["at"])).unwrap().len(), 1);
    assert_eq!(index(&zoned(folder.path(), "UTC", &[Some(i64::MAX / 1000), Some(i64::MIN / 1000)])).len(), 2);
}
