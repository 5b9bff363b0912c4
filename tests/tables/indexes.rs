//! Indexes that are filtered, sorted, sampled, joined, merged and concatenated: after every operation on the frame, a loader
//! reads the rows that the locators name, and merges equal those of a brute-force search.
#![cfg(feature = "frame")]

use crate::common;
use std::{collections::BTreeMap, sync::Arc};

use crate::common::tables::{Rng, block_on, cut_by, memory, over, tiny_cuts, write};
use arrow_array::{ArrayRef, Int64Array, LargeBinaryArray, LargeStringArray, RecordBatch, cast::AsArray, types::Int64Type};
use object_store::ObjectStore;
use polars::prelude::{IntoLazy, JoinArgs, JoinType, col, lit};
use tetrys::{Edge, ErrorKind, Index, Merge, Offsets, Pick, RowLoader, Rows, Schema, Table, TimeOffsets, store::CountingStore};

/// A row of a small table: log, nullable time, and the value of the payload.
type Record = (String, Option<i64>, i64);

/// Writes a table of these rows, with the payload under `name`, in a store that counts requests.
fn table_of(name: &str, records: &[Record]) -> (Table, CountingStore) {
    let schema = Schema::builder()
        .index("log", "utf8")
        .index("time", "i64")
        .index(format!("{name}_id"), "i64")
        .group(name, [(format!("{name}.value"), "i64"), (format!("{name}.bytes"), "binary")])
        .group("shared", [("note", "utf8")])
        .sequence_by(["log"])
        .property("time", "unit", "ms")
        .build()
        .unwrap();
    let logs: ArrayRef = Arc::new(LargeStringArray::from_iter_values(records.iter().map(|(log, ..)| log)));
    let times: ArrayRef = Arc::new(records.iter().map(|(_, time, _)| *time).collect::<Int64Array>());
    let values: ArrayRef = Arc::new(records.iter().map(|(.., value)| *value).collect::<Int64Array>());
    let bytes: ArrayRef =
        Arc::new(LargeBinaryArray::from_iter_values(records.iter().map(|(.., value)| vec![7_u8; *value as usize % 300])));
    let notes: ArrayRef =
        Arc::new(LargeStringArray::from_iter_values(records.iter().map(|(.., value)| format!("{name} {value}"))));
    let (value, blob, id) = (format!("{name}.value"), format!("{name}.bytes"), format!("{name}_id"));
    let columns = [
        ("log", logs),
        ("time", times),
        (id.as_str(), Arc::clone(&values)),
        (value.as_str(), values),
        (blob.as_str(), bytes),
        ("note", notes),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let (raw, store) = memory();
    block_on(write(store, schema, cut_by(tiny_cuts()), std::slice::from_ref(&batch))).unwrap();
    let counting = CountingStore::new(raw as Arc<dyn ObjectStore>);
    (block_on(Table::open_in(over(Arc::new(counting.clone())))).unwrap(), counting)
}

/// Returns logs of random lengths, with time steps of 0 to 3 and some null times.
fn records(rng: &mut Rng, logs: &[&str], sorted: bool) -> Vec<Record> {
    let mut all = Vec::new();
    for log in logs {
        let mut time = rng.below(5) as i64;
        let start = all.len();
        for _ in 0..1 + rng.below(9) {
            let value = (all.len() as i64 + 1) * 7 + rng.below(7) as i64;
            all.push(((*log).to_owned(), (!rng.once_in(9)).then_some(time), value));
            time += rng.below(4) as i64;
        }
        if !sorted {
            for place in (start + 1..all.len()).rev() {
                let other = start + rng.below((place - start + 1) as u64) as usize;
                let (a, b) = (all[place].1, all[other].1);
                (all[place].1, all[other].1) = (b, a);
            }
        }
    }
    all
}

fn values(rows: &Rows, name: &str) -> Vec<Option<i64>> {
    rows.column(name).unwrap().as_primitive::<Int64Type>().iter().collect()
}

fn index(table: &Table) -> Index {
    block_on(table.index()).unwrap()
}

fn all_rows(index: &Index) -> Rows {
    let positions: Vec<u64> = (0..index.len() as u64).collect();
    block_on(RowLoader::new(index).unwrap().take(&positions)).unwrap()
}

/// Asserts that the value of each row in the frame equals its payload.
fn assert_frame_reads_itself(index: &Index, name: &str) {
    let rows = all_rows(index);
    let ids: Vec<Option<i64>> = index.frame().column(&format!("{name}_id")).unwrap().i64().unwrap().iter().collect();
    assert_eq!(values(&rows, &format!("{name}.value")), ids);
}

#[test]
fn whatever_is_done_to_the_frame_the_rows_read_are_its_own() {
    let mut rng = Rng(common::seed());
    let (table, _) = table_of("a", &records(&mut rng, &["x", "y", "z", "w"], true));
    let whole = index(&table);
    let many = whole.filter(col("a_id").gt(lit(40))).unwrap();
    for made in [
        whole.clone(),
        many.clone(),
        whole.sort(["time", "a_id"], true).unwrap(),
        whole.sample(3, 7).unwrap(),
        many.slice(-2, 9),
        whole.unique(["log"]).unwrap(),
        whole.select([col("a_id")]).unwrap(),
        whole.with_columns([(col("a_id") * lit(2)).alias("twice")]).unwrap(),
        whole.sql("SELECT * FROM t WHERE log <> 'x' ORDER BY a_id DESC LIMIT 5").unwrap(),
        whole.with_frame(whole.lazy().filter(col("log").eq(lit("y"))).collect().unwrap()).unwrap(),
        Index::concat([&many, &whole, &many]).unwrap(),
    ] {
        assert_frame_reads_itself(&made, "a");
    }
    assert_eq!(whole.sample(3, 7).unwrap().frame(), whole.sample(3, 7).unwrap().frame());
    assert_eq!(whole.query("SELECT log, COUNT(*) AS n FROM t GROUP BY log").unwrap().height(), 4);
    assert_eq!(whole.column_names().collect::<Vec<_>>(), ["log", "time", "a_id"]);
    let some = block_on(table.index_columns(["a_*"])).unwrap();
    assert_eq!(some.column_names().collect::<Vec<_>>(), ["a_id"]);
    assert_frame_reads_itself(&some, "a");
}

#[test]
fn what_lost_its_locators_or_has_those_of_another_table_is_refused_by_name() {
    let mut rng = Rng(common::seed());
    let (a, b) = (table_of("a", &records(&mut rng, &["x"], true)).0, table_of("b", &records(&mut rng, &["x"], true)).0);
    let (a, b) = (index(&a), index(&b));
    let refused = |found: tetrys::Result<Index>, text: &str| {
        let error = found.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains(text), "{error}");
    };
    refused(a.with_frame(b.frame().clone()), "the frame has no locator column `_row_");
    refused(a.sql("SELECT log FROM t"), "the frame has no locator column `_row_");
    refused(a.filter(col("nowhere").gt(lit(1))), "filter: ");
    refused(a.sort(["nowhere"], false), "sort: ");
    refused(a.sample(1_000_000, 1), "sample: ");
    refused(a.sql("SELECT FROM"), "`SELECT FROM`: ");
    let locator = a.frame().columns().last().unwrap().name().to_string();
    let moved = a.with_columns([(col(locator.as_str()) + lit(1_000_000_i64)).alias(locator.as_str())]);
    refused(moved, "is outside 0..");
    let nulls = a.lazy().with_column(lit(polars::prelude::NULL).cast(polars::prelude::DataType::Int64).alias(locator.as_str()));
    refused(a.with_frame(nulls.collect().unwrap()), "frame row 0: null");
    let none =
        a.lazy().with_column(lit(-1_i64).cast(polars::prelude::DataType::Int64).alias(locator.as_str())).collect().unwrap();
    refused(a.with_frame(none), "no partner (-1) in a frame that was not merged");
}

#[test]
fn a_frame_joined_by_hand_gives_rows_and_refuses_windows_by_name() {
    let mut rng = Rng(common::seed());
    let left = records(&mut rng, &["x", "y"], true);
    let (a, b) = (table_of("a", &left).0, table_of("b", &left).0);
    let (a, b) = (index(&a), index(&b));
    let on = [col("a_id")];
    let joined = a.frame().clone().lazy().join(b.frame().clone().lazy(), on, [col("b_id")], JoinArgs::new(JoinType::Inner));
    // Both tables have a column `note`.
    let error = Index::joined_by_hand(joined.clone().collect().unwrap(), [&a, &b]).unwrap_err();
    assert!(error.to_string().contains("column `note` is in two tables: merge the indexes instead"), "{error}");
    let merged = a.merge(&b, &Merge::on_pairs([("a_id", "b_id")])).unwrap();
    assert_eq!(merged.len(), left.len());
    let only_a = a.with_frame(joined.collect().unwrap()).unwrap();
    assert_frame_reads_itself(&only_a, "a");
}

/// Returns for each left row the value of its right row, by comparing all pairs. Of several right rows at one time, the last or
/// the first is taken.
fn brute_force(left: &[Record], right: &[Record], by_time: Option<(Pick, i64)>, last: bool) -> Vec<Option<i64>> {
    let partner = |(log, time, _): &Record| -> Option<i64> {
        let time = (*time)?;
        let same_log = || right.iter().enumerate().filter(|(_, other)| other.0 == *log && other.1.is_some());
        let at = |wanted: i64| {
            let mut there = same_log().filter(|(_, other)| other.1 == Some(wanted)).map(|(_, other)| other.2);
            if last { there.next_back() } else { there.next() }
        };
        let Some((pick, tolerance)) = by_time else { return at(time) };
        let near = same_log().map(|(_, other)| other.1.unwrap()).filter(|other| (other - time).abs() <= tolerance);
        match pick {
            Pick::Nearest => near.min_by_key(|other| ((other - time).abs(), *other)),
            Pick::Before => near.filter(|other| *other <= time).max(),
            Pick::After => near.filter(|other| *other >= time).min(),
        }
        .and_then(at)
    };
    left.iter().map(partner).collect()
}

#[test]
fn merges_by_key_and_by_time_equal_brute_force() {
    let mut rng = Rng(common::seed());
    let (mut merged, mut partners) = (0, 0);
    for _ in 0..if common::full() { 60 } else { 12 } {
        let sorted = rng.once_in(2);
        let left = records(&mut rng, &["x", "y", "z"], sorted);
        let right = records(&mut rng, &["z", "q", "x"], !sorted);
        let (a, b) = (table_of("a", &left), table_of("b", &right));
        let (index_a, index_b) = (index(&a.0), index(&b.0));
        let mut cases: Vec<(Merge, Option<(Pick, i64)>)> = vec![(Merge::on(["log", "time"]), None)];
        for pick in [Pick::Nearest, Pick::Before, Pick::After] {
            for tolerance in [0, 1, 3, 1_000] {
                let merge = Merge::on(["log"]).as_of("time", pick).tolerance(tolerance.to_string()).unwrap();
                cases.push((merge, Some((pick, tolerance))));
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        let is_twice = right.iter().any(|(log, time, _)| time.is_some() && !seen.insert((log, time)));
        for (merge, by_time) in cases {
            // A log may have several rows at one time. Then the caller must choose, whatever the direction.
            assert_eq!(index_a.merge(&index_b, &merge).is_err(), is_twice, "{merge:?}");
            let last = rng.once_in(2);
            let merge = if last { merge.last() } else { merge.first() };
            let expected = brute_force(&left, &right, by_time, last);
            let kept = index_a.merge(&index_b, &merge.clone().left()).unwrap();
            assert_eq!(kept.len(), left.len());
            let rows = all_rows(&kept);
            assert_eq!(values(&rows, "b.value"), expected, "{merge:?}");
            assert_eq!(rows.column_mask("b.value").unwrap(), expected.iter().map(Option::is_some).collect::<Vec<_>>());
            assert_eq!(rows.mask(), vec![true; left.len()]);
            assert_eq!(values(&rows, "a.value"), left.iter().map(|(.., value)| Some(*value)).collect::<Vec<_>>());
            let notes = rows.column("note_right").unwrap().as_string::<i64>();
            assert!(expected.iter().zip(notes).all(|(value, note)| value.map(|value| format!("b {value}")).as_deref() == note));
            let there = index_a.merge(&index_b, &merge).unwrap();
            let with_partner: Vec<Option<i64>> = expected.iter().copied().filter(Option::is_some).collect();
            assert_eq!(values(&all_rows(&there), "b.value"), with_partner);
            // Windows follow the rows of the left table, including rows without a partner.
            let loader = RowLoader::new(&there).unwrap().columns(["*.value"]).unwrap();
            let starts: Vec<usize> = (0..left.len()).filter(|row| expected[*row].is_some()).collect();
            for (position, row) in starts.iter().enumerate() {
                let window = block_on(loader.get_rows(position as u64, -2..=1)).unwrap();
                let around = (-2..=1_i64).map(|offset| {
                    row.checked_add_signed(offset as isize)
                        .filter(|near| left.get(*near).is_some_and(|near| near.0 == left[*row].0))
                });
                let around: Vec<Option<usize>> = around.collect();
                assert_eq!(window.mask(), around.iter().map(Option::is_some).collect::<Vec<_>>());
                assert_eq!(values(&window, "a.value"), around.iter().map(|row| row.map(|row| left[row].2)).collect::<Vec<_>>());
                assert_eq!(
                    values(&window, "b.value"),
                    around.iter().map(|row| row.and_then(|row| expected[row])).collect::<Vec<_>>()
                );
                partners += 1;
            }
            merged += 1;
        }
    }
    println!("{merged} merges, {partners} windows over them");
}

#[test]
fn a_merge_reads_no_payload_and_many_left_rows_on_one_right_block_read_it_once() {
    let left: Vec<Record> = (0..60).map(|row| ("x".to_owned(), Some(row), row + 10)).collect();
    let right: Vec<Record> = (0..6).map(|row| ("x".to_owned(), Some(row * 10), row + 100)).collect();
    let (a, b) = (table_of("a", &left), table_of("b", &right));
    let (index_a, index_b) = (index(&a.0), index(&b.0));
    a.1.reset();
    b.1.reset();
    let merged = index_a.merge(&index_b, &Merge::on(["log"]).as_of("time", Pick::Before)).unwrap();
    let loader = RowLoader::new(&merged).unwrap().columns(["b.*"]).unwrap();
    assert_eq!((a.1.reset().requests(), b.1.reset().requests()), (0, 0));
    let positions: Vec<u64> = (0..10).collect();
    let rows = block_on(loader.take(&positions)).unwrap();
    assert_eq!(values(&rows, "b.value"), vec![Some(100); 10]);
    let explained = block_on(loader.explain_take(&positions)).unwrap();
    assert_eq!(explained.groups.iter().map(|group| group.blocks).collect::<Vec<_>>(), [1]);
    // The layout of the group was loaded with the index, so the store sees only the range of the plan.
    let seen = b.1.reset();
    assert_eq!((seen.requests(), seen.bytes_read), (explained.requests as u64, explained.bytes));
    assert_eq!(a.1.reset().requests(), 0);
}

#[test]
fn a_merge_of_merges_and_of_a_table_with_itself() {
    let left: Vec<Record> = (0..9).map(|row| ("x".to_owned(), Some(row), row + 10)).collect();
    let (a, b, c) = (table_of("a", &left).0, table_of("b", &left[2..]).0, table_of("c", &left[..7]).0);
    let (a, b, c) = (index(&a), index(&b), index(&c));
    let bc = b.merge(&c, &Merge::on(["log", "time"])).unwrap();
    let abc = a.merge(&bc, &Merge::on(["log", "time"]).left()).unwrap();
    let abac = abc.merge(&a, &Merge::on(["log", "time"]).suffix("_again")).unwrap();
    assert_eq!((abac.len(), abac.tables().len()), (9, 4));
    let rows = all_rows(&abac);
    let expected =
        |there: std::ops::Range<usize>| (0..9).map(|row| there.contains(&row).then_some(left[row].2)).collect::<Vec<_>>();
    assert_eq!(values(&rows, "a.value"), expected(0..9));
    assert_eq!(values(&rows, "b.value"), expected(2..7));
    assert_eq!(values(&rows, "c.value"), expected(2..7));
    assert_eq!(values(&rows, "a.value_again"), expected(0..9));
    let window = block_on(RowLoader::new(&abac).unwrap().get_rows(1, 0..=2)).unwrap();
    assert_eq!(values(&window, "c.value"), [None, Some(12), Some(13)]);
    assert_eq!(values(&window, "a.value_again"), [Some(11), Some(12), Some(13)]);
}

#[test]
fn merges_that_cannot_be_are_refused_by_name() {
    let left: Vec<Record> = (0..4).map(|row| ("x".to_owned(), Some(row), row)).collect();
    let twice: Vec<Record> = (0..4).map(|row| ("x".to_owned(), Some(row / 2), row)).collect();
    let (a, b) = (index(&table_of("a", &left).0), index(&table_of("b", &twice).0));
    let refused = |merge: Merge, kind, text: &str| {
        let error = a.merge(&b, &merge).unwrap_err();
        assert_eq!((error.kind(), error.to_string().contains(text)), (kind, true), "{error}");
    };
    refused(Merge::on(["log", "time"]), ErrorKind::Invalid, "row 1 on the right has the same log, time as row 0");
    refused(Merge::on(["log", "tim"]), ErrorKind::NotFound, "no column `tim` on the left; there are: log, time, a_id");
    refused(Merge::on(["a_id"]), ErrorKind::NotFound, "no column `a_id` on the right");
    refused(
        Merge::on_pairs([("log", "time")]),
        ErrorKind::Invalid,
        "key `log` is utf8 on the left and `time` is i64 on the right",
    );
    refused(Merge::on(Vec::<String>::new()), ErrorKind::Invalid, "no key");
    refused(Merge::on(["time"]).as_of("log", Pick::Nearest), ErrorKind::Invalid, "column `log` is str: it has no times");
    let by_time = Merge::on(["log"]).as_of("time", Pick::Nearest);
    refused(by_time.clone().tolerance("-5").unwrap(), ErrorKind::Invalid, "tolerance -5");
    assert!(by_time.tolerance("soon").is_err());
    let below = Index::concat_filling([&a, &b]).unwrap();
    let error = below.merge(&a, &Merge::on(["time"]).first()).unwrap_err();
    assert!(error.to_string().contains("merge each of them, then concat"), "{error}");
}

#[test]
fn tables_one_below_the_other_read_as_one() {
    let mut rng = Rng(common::seed());
    let (upper, lower) = (records(&mut rng, &["x", "y"], true), records(&mut rng, &["y", "z"], true));
    let rename = |index: Index| index.with_frame(index.lazy().rename(["b_id"], ["a_id"], true).collect().unwrap()).unwrap();
    let (a, b) = (index(&table_of("a", &upper).0), index(&table_of("b", &lower).0));
    let error = Index::concat([&a, &b]).unwrap_err();
    assert!(error.to_string().contains("column `a.value` is not in all tables"), "{error}");
    let both = Index::concat_filling([&a, &rename(b.clone())]).unwrap();
    let rows = all_rows(&both);
    let value = |records: &[Record]| records.iter().map(|(.., value)| Some(*value)).collect::<Vec<_>>();
    let nulls = |records: &[Record]| vec![None; records.len()];
    assert_eq!(values(&rows, "a.value"), [value(&upper), nulls(&lower)].concat());
    assert_eq!(values(&rows, "b.value"), [nulls(&upper), value(&lower)].concat());
    assert_eq!(rows.mask(), vec![true; upper.len() + lower.len()]);
    let notes: Vec<String> =
        rows.column("note").unwrap().as_string::<i64>().iter().map(|note| note.unwrap().to_owned()).collect();
    let note = |name: &str, records: &[Record]| records.iter().map(|(.., value)| format!("{name} {value}")).collect::<Vec<_>>();
    assert_eq!(notes, [note("a", &upper), note("b", &lower)].concat());
    // A window in the second table stays in that table.
    let loader = RowLoader::new(&both).unwrap().columns(["note", "b.value"]).unwrap();
    let first = upper.len() as u64;
    let window = block_on(loader.get_rows(first, -1..=1)).unwrap();
    assert_eq!(window.mask()[..2], [false, true]);
    assert_eq!(values(&window, "b.value")[1], Some(lower[0].2));
    // Windows of both tables in one batch.
    let windows = block_on(loader.get_windows(&[0, first, 1], 0..=0)).unwrap();
    assert_eq!((windows.len(), windows.starts()), (3, [0, 1, 2, 3].as_slice()));
    assert_eq!(values(windows.rows(), "b.value"), [None, Some(lower[0].2), None]);
}

#[test]
fn a_batch_of_overlapping_windows_reads_each_block_once() {
    let rows: Vec<Record> = (0..200).map(|row| ("x".to_owned(), Some(row), row + 1)).collect();
    let (table, counting) = table_of("a", &rows);
    let loader = table.row_loader().columns(["a.*"]).unwrap();
    let positions: Vec<u64> = (50..114).collect();
    let offsets = Offsets::try_from(-9..=0).unwrap();
    let explained = block_on(loader.explain_windows(&positions, &offsets)).unwrap();
    let layout = block_on(table.storage().layout(0)).unwrap();
    let blocks: std::collections::BTreeSet<_> = (41..114).map(|row| layout.locate(row).unwrap().block).collect();
    assert_eq!(explained.groups[0].blocks, blocks.len());
    counting.reset();
    let windows = block_on(loader.get_windows(&positions, &offsets)).unwrap();
    let seen = counting.reset();
    assert_eq!((seen.requests(), seen.bytes_read), (explained.requests as u64, explained.bytes));
    assert!(explained.bytes == explained.payload_bytes && windows.rows().len() == 640);
    for (number, position) in positions.iter().enumerate() {
        let expected: Vec<Option<i64>> = (position - 9..=*position).map(|row| Some(row as i64 + 1)).collect();
        assert_eq!(values(&windows.get(number).unwrap(), "a.value"), expected);
    }
    assert!(windows.get(64).unwrap_err().to_string().contains("window 64 is outside 0..64"));
    let skipped = block_on(loader.clone().edge(Edge::Skip).get_windows(&[0, 3], &offsets)).unwrap();
    assert_eq!(skipped.starts(), [0, 1, 5]);
}

#[test]
fn windows_of_several_column_sets_are_one_plan() {
    let rows: Vec<Record> = (0..40).map(|row| ("x".to_owned(), Some(row * 10), row + 1)).collect();
    let (table, counting) = table_of("a", &rows);
    let loader = table.row_loader().cache_bytes(0);
    let parts = || {
        [
            ("a.value", Offsets::try_from(-4..=0).unwrap()),
            ("note", Offsets::new([0]).unwrap()),
            ("a.bytes", Offsets::new([-4, 2]).unwrap()),
        ]
    };
    let explained = block_on(loader.explain_of_parts(20, parts())).unwrap();
    block_on(loader.get_parts(20, parts())).unwrap();
    counting.reset();
    let found = block_on(loader.get_parts(20, parts())).unwrap();
    let seen = counting.reset();
    assert_eq!((seen.requests(), seen.bytes_read), (explained.requests as u64, explained.bytes));
    assert_eq!(explained.groups.len(), 2);
    assert_eq!(found.iter().map(Rows::len).collect::<Vec<_>>(), [5, 1, 2]);
    assert_eq!(values(&found[0], "a.value"), (17..=21).map(Some).collect::<Vec<_>>());
    assert_eq!(found[1].column("note").unwrap().as_string::<i64>().value(0), "a 21");
    let bytes = found[2].column("a.bytes").unwrap().as_binary::<i64>();
    assert_eq!((bytes.value(0).len(), bytes.value(1).len(), found[2].batch().num_columns()), (17, 23, 1));

    // All rows of one part are missing, so none of its columns is read.
    let parts = || [("note", Offsets::new([-1]).unwrap()), ("a.value", Offsets::new([0]).unwrap())];
    counting.reset();
    let found = block_on(loader.get_parts(0, parts())).unwrap();
    assert_eq!((found[0].mask(), values(&found[1], "a.value")), (vec![false], vec![Some(1)]));
    let value = block_on(table.row_loader().cache_bytes(0).columns(["a.value"]).unwrap().explain(0, 0..=0)).unwrap();
    assert_eq!(block_on(loader.explain_of_parts(0, parts())).unwrap().bytes, value.bytes);
    assert_eq!(counting.reset().bytes_read, value.bytes);
}

#[test]
fn windows_in_time_find_the_rows_of_their_times() {
    let times: BTreeMap<&str, Vec<i64>> = [("x", vec![0, 100, 199, 302, 400]), ("y", vec![0, 100])].into();
    let rows: Vec<Record> = times
        .iter()
        .flat_map(|(log, times)| times.iter().map(|time| ((*log).to_owned(), Some(*time))))
        .enumerate()
        .map(|(row, (log, time))| (log, time, row as i64))
        .collect();
    let (table, _) = table_of("a", &rows);
    let loader = table.row_loader().columns(["a.value"]).unwrap();
    let window =
        |row, window: TimeOffsets| block_on(loader.get_rows(row, window)).map(|rows| (values(&rows, "a.value"), rows.mask()));
    let history = TimeOffsets::new("time", ["-200ms", "-100ms", "0"]).unwrap();
    let near = history.clone().nearest("5ms").unwrap();
    assert_eq!(window(3, near.clone()).unwrap(), (vec![Some(1), Some(2), Some(3)], vec![true; 3]));
    assert_eq!(window(0, near.clone()).unwrap(), (vec![None, None, Some(0)], vec![false, false, true]));
    assert_eq!(window(3, history.clone().nearest("1ms").unwrap()).unwrap().0, [None, None, Some(3)]);
    assert_eq!(window(6, history.clone().pick(Pick::Before)).unwrap().0, [None, Some(5), Some(6)]);
    let strict = loader.clone().edge(Edge::Error);
    let error = block_on(strict.get_rows(0, near.clone())).unwrap_err();
    assert!(error.to_string().contains("time offset number 0 from row 0 has no row in its sequence, rows 0..5"), "{error}");
    let skipping = loader.clone().edge(Edge::Skip);
    assert_eq!(values(&block_on(skipping.get_rows(0, near)).unwrap(), "a.value"), [Some(0)]);
    let error = window(0, TimeOffsets::new("when", ["1"]).unwrap()).unwrap_err();
    assert!(error.to_string().contains("no index column `when`; there are: log, time, a_id"), "{error}");
    let error = window(0, TimeOffsets::new("log", ["1"]).unwrap()).unwrap_err();
    assert!(error.to_string().contains("index column `log` is utf8: it has no times"), "{error}");
    let error = window(0, TimeOffsets::new("a_id", ["1s"]).unwrap()).unwrap_err();
    assert!(error.to_string().contains("index column `a_id` has no unit of time"), "{error}");
}

#[test]
fn right_rows_of_one_key_become_a_list() {
    let left: Vec<Record> = (0..5).map(|row| ("x".to_owned(), Some(row), row + 10)).collect();
    let right: Vec<Record> =
        [3, 0, 0, 1, 9, 3, 0].iter().enumerate().map(|(row, time)| ("x".to_owned(), Some(*time), row as i64 + 100)).collect();
    let (a, b) = (index(&table_of("a", &left).0), index(&table_of("b", &right).0));
    let grouped = Merge::on(["log", "time"]).group_to_list().left();
    let listed = |rows: &Rows, column: &str| -> Vec<Option<Vec<i64>>> {
        let lists = rows.column(column).unwrap().as_list::<i64>();
        lists.iter().map(|list| list.map(|list| list.as_primitive::<Int64Type>().values().to_vec())).collect()
    };
    let expected = [Some(vec![101, 102, 106]), Some(vec![103]), None, Some(vec![100, 105]), None];
    let merged = a.merge(&b, &grouped).unwrap();
    let rows = all_rows(&merged);
    assert_eq!(listed(&rows, "b.value"), expected);
    assert_eq!(rows.column_mask("b.value").unwrap(), [true, true, false, true, false]);
    assert_eq!(values(&rows, "a.value"), (10..15).map(Some).collect::<Vec<_>>());
    // In the frame, the index columns of the right table are lists.
    let ids = merged.frame().column("b_id").unwrap().list().unwrap().get_as_series(3).unwrap();
    assert_eq!(ids.i64().unwrap().iter().collect::<Vec<_>>(), [Some(100), Some(105)]);
    // Windows work for any order of the right frame, and blocks are read once.
    let turned = a.merge(&b.sort(["b_id"], true).unwrap(), &grouped).unwrap();
    let loader = RowLoader::new(&turned).unwrap().columns(["b.*"]).unwrap();
    let window = block_on(loader.get_rows(1, -2..=2)).unwrap();
    assert_eq!(listed(&window, "b.value"), [None, expected[0].clone(), expected[1].clone(), None, expected[3].clone()]);
    assert_eq!(window.mask(), [false, true, true, true, true]);
    // An inner merge keeps only rows with a list.
    assert_eq!(a.merge(&b, &Merge::on(["log", "time"]).group_to_list()).unwrap().len(), 3);
    let error = a.merge(&b, &Merge::on(["log"]).as_of("time", Pick::Nearest).group_to_list()).unwrap_err();
    assert!(error.to_string().contains("lists of rows need key columns, and are not merged by time"), "{error}");
    let error = Index::concat_filling([&merged, &b]).unwrap_err();
    assert!(error.to_string().contains("concat: column `"), "{error}");
    let twice = Index::concat([&b, &b]).unwrap();
    let error = a.merge(&twice, &grouped).unwrap_err();
    assert!(error.to_string().contains("is in its index twice"), "{error}");
    let error = b.merge(&merged, &Merge::on(["time"]).group_to_list()).unwrap_err();
    assert!(error.to_string().contains("lists of rows of 2 tables"), "{error}");
}

#[test]
fn a_tolerance_with_a_unit_goes_by_the_unit_of_integer_times() {
    let left: Vec<Record> = (0..4).map(|row| ("x".to_owned(), Some(row * 100), row)).collect();
    let right: Vec<Record> = [3, 120, 205].iter().map(|time| ("x".to_owned(), Some(*time), *time)).collect();
    let (a, b) = (index(&table_of("a", &left).0), index(&table_of("b", &right).0));
    let near = |tolerance: &str| {
        let merge = Merge::on(["log"]).as_of("time", Pick::Nearest).tolerance(tolerance).unwrap().left();
        values(&all_rows(&a.merge(&b, &merge).unwrap()), "b.value")
    };
    assert_eq!(near("5ms"), [Some(3), None, Some(205), None]);
    assert_eq!(near("5ms"), near("5"));
    assert_eq!(near("0.02s"), [Some(3), Some(120), Some(205), None]);
    // A computed column has no unit.
    let other = b.with_columns([(col("time") * lit(1000)).alias("when")]).unwrap();
    let merge = Merge::on(["log"]).as_of_pair("time", "when", Pick::Nearest).tolerance("5ms").unwrap();
    assert!(a.merge(&other, &merge).is_ok());
    let merge = Merge::on(["log"]).as_of_pair("a_id", "b_id", Pick::Nearest).tolerance("5ms").unwrap();
    let error = a.merge(&b, &merge).unwrap_err();
    assert!(error.to_string().contains("`a_id` has no unit of time"), "{error}");
}

/// The expected result of a condition for a row; `None` means unknown, as in SQL.
type Condition = Box<dyn Fn(&Record) -> Option<bool>>;

/// Returns a random condition as SQL, and a function with its expected result.
fn condition(rng: &mut Rng, depth: u64) -> (String, Condition) {
    let number = rng.below(60) as i64;
    match if depth == 0 { rng.below(4) } else { 4 + rng.below(4) } {
        0 => (format!("a_id > {number}"), Box::new(move |row| Some(row.2 > number))),
        1 => (format!("\"time\" <= {}", number / 5), Box::new(move |row| row.1.map(|time| time <= number / 5))),
        2 => ("time IS NULL".to_owned(), Box::new(|row| Some(row.1.is_none()))),
        3 => {
            let log = *rng.pick(&["x", "y", "no -- comment; DROP TABLE t"]);
            (format!("log = '{log}'"), Box::new(move |row| Some(row.0 == log)))
        }
        4 => {
            let (sql, of) = condition(rng, depth - 1);
            (format!("NOT ({sql})"), Box::new(move |row| of(row).map(|is| !is)))
        }
        5 => {
            let ((a, of_a), (b, of_b)) = (condition(rng, depth - 1), condition(rng, depth - 1));
            let and = move |row: &Record| match (of_a(row), of_b(row)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            };
            (format!("({a})\nAND ({b})"), Box::new(and))
        }
        6 => {
            let ((a, of_a), (b, of_b)) = (condition(rng, depth - 1), condition(rng, depth - 1));
            let or = move |row: &Record| match (of_a(row), of_b(row)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            };
            (format!("({a}) OR ({b})"), Box::new(or))
        }
        _ => (
            format!("a_id BETWEEN {number} AND {} OR a_id IN (7, 14)", number + 20),
            Box::new(move |row| Some((number..=number + 20).contains(&row.2) || [7, 14].contains(&row.2))),
        ),
    }
}

#[test]
fn a_condition_chooses_rows_and_can_do_nothing_else() {
    let mut rng = Rng(common::seed());
    let rows = records(&mut rng, &["x", "y", "z"], true);
    let a = index(&table_of("a", &rows).0);
    let ids = |index: &Index| -> Vec<i64> { index.frame().column("a_id").unwrap().i64().unwrap().iter().flatten().collect() };
    let hostile = [
        " UNION SELECT * FROM t",
        " UNION ALL SELECT * FROM t",
        "; SELECT * FROM t",
        ";",
        " -- rest",
        " /* rest",
        " /* rest */",
        " ORDER BY a_id LIMIT 1",
        " GROUP BY log",
        ") OR (1 = 1",
        ")",
        " OR a_id IN (SELECT a_id FROM t)",
        " OR EXISTS (SELECT 1)",
        " OR (SELECT TRUE)",
        " AS chosen",
        ", a_id",
    ];
    for _ in 0..if common::full() { 400 } else { 30 } {
        let depth = rng.below(3);
        let (sql, of) = condition(&mut rng, depth);
        let expected: Vec<i64> = rows.iter().filter(|row| of(row) == Some(true)).map(|row| row.2).collect();
        let found = a.filter_sql(&sql).unwrap();
        assert_eq!(ids(&found), expected, "{sql}");
        assert_eq!(found.frame().get_column_names(), a.frame().get_column_names());
        let tail = *rng.pick(&hostile);
        for text in [format!("{sql}{tail}"), format!("({sql}){tail}")] {
            let error = a.filter_sql(&text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{text}: {error}");
            let error = a.with_columns_sql([("more", &text)]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{text}: {error}");
        }
    }
    for text in ["", "*", "SELECT * FROM t", "a_id", "t; DROP TABLE t", "nowhere > 1"] {
        assert!(a.filter_sql(text).is_err(), "{text}");
    }
    let error = a.with_columns_sql([("log", "a_id")]).unwrap_err();
    assert!(error.to_string().contains("column `log` exists already"), "{error}");
    let twice = a.with_columns_sql([("twice", "a_id * 2"), ("late", "time > 3")]).unwrap();
    assert_eq!(twice.column_names().collect::<Vec<_>>(), ["log", "time", "a_id", "twice", "late"]);
    // Only a SELECT is accepted.
    for sql in [
        "DROP TABLE t",
        "DELETE FROM t",
        "TRUNCATE TABLE t",
        "SHOW TABLES",
        "CREATE TABLE u AS SELECT * FROM t",
        "",
        "EXPLAIN SELECT * FROM t",
        "SELECT 1; SELECT 2",
        "INSERT INTO t VALUES (1)",
        "UPDATE t SET a_id = 1",
        "VALUES (1)",
        "WITH u AS (DELETE FROM t) SELECT * FROM t",
    ] {
        let error = a.query(sql).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{sql}: {error}");
    }
    assert_eq!(a.query("WITH u AS (SELECT * FROM t WHERE log = 'x') SELECT COUNT(*) AS n FROM u").unwrap().height(), 1);
    assert_eq!(a.query("(SELECT log FROM t) UNION (SELECT log FROM t)").unwrap().height(), 3);
}

/// Expressions over `a_id` with about this many levels, which are true for the rows 3 and 4.
fn deep(levels: usize) -> Vec<(String, polars::prelude::Expr)> {
    let long = |first: &str, next: &str| {
        let words = next.split_whitespace().count();
        format!("{first}{}", next.repeat(4 * levels / words.clamp(4, 6)))
    };
    let is = |number: i64| col("a_id").eq(lit(number));
    let or = (5..levels).fold(is(3).or(is(4)), |all, number| all.or(is(1_000_000 + number as i64)));
    let right = (5..levels).fold(is(3).or(is(4)), |all, number| is(1_000_000 + number as i64).or(all));
    let mixed = (0..levels / 2).fold(is(3).or(is(4)), |all, _| all.and(is(3).or(is(4))).or(is(-1)));
    let zeros = (1..levels).fold(col("a_id"), |all, _| all + lit(0));
    vec![
        (long("a_id IN (3, 4)", " OR a_id = -1"), or),
        (long("a_id IN (3, 4)", " AND ( a_id = 3 OR a_id = 4 )"), right),
        (format!("{} IN (3, 4)", long("a_id", " + 0")), zeros.clone().eq(lit(3)).or(zeros.eq(lit(4)))),
        (format!("CASE{} ELSE a_id END IN (3, 4)", " WHEN a_id = -1 THEN 7".repeat(levels / 4)), mixed),
    ]
}

#[test]
fn conditions_of_many_levels_are_evaluated_and_of_too_many_refused() {
    let records: Vec<Record> = (0..9).map(|number| ("x".to_owned(), Some(number), number)).collect();
    let (table, _) = table_of("a", &records);
    let whole = index(&table);
    // On a thread with a stack as small as those of most threads.
    let each = |levels: usize, check: &(dyn Fn(&str, tetrys::Result<Index>) + Sync)| {
        std::thread::scope(|scope| {
            let work = || {
                for (sql, expression) in deep(levels) {
                    let name: String = sql.chars().take(40).collect();
                    check(&name, whole.filter_sql(&sql));
                    check(&name, whole.sql(&format!("SELECT * FROM t WHERE {sql}")));
                    check(&name, whole.with_columns_sql([("kept", &sql)]).and_then(|index| index.filter(col("kept"))));
                    check(&name, block_on(async { table.index().filter_sql(sql.as_str()).await }));
                    check("expression", whole.filter(expression.clone()));
                    check("expression", block_on(async { table.index().filter(expression.clone()).await }));
                }
            };
            let thread = std::thread::Builder::new().stack_size(2 << 20);
            thread.spawn_scoped(scope, work).unwrap().join().unwrap();
        });
    };
    let chosen = |name: &str, found: tetrys::Result<Index>| {
        let ids = found.unwrap_or_else(|error| panic!("{name}: {error}")).frame().column("a_id").unwrap().clone();
        assert_eq!(ids.as_materialized_series().i64().unwrap().iter().flatten().collect::<Vec<_>>(), [3, 4], "{name}");
    };
    each(60, &chosen);
    each(250, &chosen);
    chosen("long", whole.filter_sql(&deep(700)[0].0));
    // Short texts of many levels.
    for sql in [format!("a_id{} = 3", " + 0".repeat(600)), format!("CASE{} ELSE 3 END = 3", " WHEN a_id = 1 THEN 7".repeat(600))]
    {
        let error = whole.filter_sql(&sql).unwrap_err().to_string();
        assert!(error.contains("more than 500 levels"), "{error}");
    }
    each(6_000, &|name, found| {
        let error = found.err().unwrap_or_else(|| panic!("{name}: too many levels"));
        let message = error.to_string();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(message.contains("expected at most 8000") || message.contains("more than 500 levels"), "{error}");
        assert!(message.len() < 1_000, "{}", message.len());
    });
    let nested = |depth: usize| format!("{}a_id{} IN (3, 4)", "(".repeat(depth), ")".repeat(depth));
    chosen("nested", whole.filter_sql(&nested(20)));
    for depth in [100, 1_000, 1_000_000] {
        assert_eq!(whole.filter_sql(&nested(depth)).unwrap_err().kind(), ErrorKind::Invalid, "{depth}");
    }
    // A long list is not deep.
    let list: Vec<String> = (3..5).chain(1_000..60_000).map(|number| number.to_string()).collect();
    chosen("list", whole.filter_sql(&format!("a_id IN ({})", list.join(","))));
}

#[test]
fn columns_whose_names_are_patterns_of_polars_work_like_all_others() {
    let names = ["id", "*", "^.*$", "^id$", "row", "^"];
    let mut schema = Schema::builder();
    let columns = names.map(|name| {
        let place = names.iter().position(|existing| *existing == name).unwrap() as i64;
        (
            name,
            Arc::new(Int64Array::from_iter_values((0..6).map(|row| if place == 0 { row } else { row * place % 4 }))) as ArrayRef,
        )
    });
    for name in names {
        schema = schema.index(name, "i64");
    }
    let value = ("v", Arc::new(Int64Array::from_iter_values(0..6)) as ArrayRef);
    let batch = RecordBatch::try_from_iter(columns.into_iter().chain([value])).unwrap();
    let (raw, store) = memory();
    drop(raw);
    let schema = schema.group("g", [("v", "i64")]).build().unwrap();
    let table = block_on(write(store, schema, cut_by(tiny_cuts()), &[batch])).unwrap();
    let a = index(&table);
    let ids = |index: &Index| values(&all_rows(index), "v").into_iter().flatten().collect::<Vec<_>>();
    for (place, name) in (1_i64..).zip(&names[1..]) {
        let wanted: Vec<i64> = (0..6).filter(|row| row * place % 4 == 2).collect();
        assert_eq!(ids(&a.filter_sql(&format!("\"{name}\" = 2")).unwrap()), wanted, "{name}");
        let all = a.sql(&format!("SELECT * FROM t WHERE t.\"{name}\" = 2 ORDER BY id")).unwrap();
        assert_eq!((ids(&all), all.column_names().collect::<Vec<_>>()), (wanted, names.to_vec()), "{name}");
        let one = a.query(&format!("SELECT \"{name}\", COUNT(*) AS n FROM t GROUP BY \"{name}\" ORDER BY n")).unwrap();
        assert_eq!(one.get_column_names(), [*name, "n"]);
        assert_eq!(ids(&a.sort([*name, "id"], false).unwrap()).len(), 6);
        assert_eq!(a.unique([*name]).unwrap().len(), one.height(), "{name}");
        let made = a.with_columns_sql([("more", format!("\"{name}\" + id"))]).unwrap();
        let more: Vec<i64> = made.frame().column("more").unwrap().i64().unwrap().iter().flatten().collect();
        assert_eq!(more, (0..6).map(|row| row * place % 4 + row).collect::<Vec<_>>());
        let merged = a.merge(&a, &Merge::on([*name]).group_to_list()).unwrap();
        assert_eq!(merged.len(), 6, "{name}");
        assert_eq!(a.merge(&a, &Merge::on(["id", *name])).unwrap().len(), 6);
        assert_eq!(a.split([*name], [("all", 1.0)], "").unwrap()[0].1.len(), 6);
    }
    let named = a.with_columns_sql([("^more$", "id"), ("**", "\"*\"")]).unwrap();
    assert_eq!(named.column_names().skip(names.len()).collect::<Vec<_>>(), ["^more$", "**"]);
    let folder = tempfile::tempdir().unwrap();
    let view = block_on(named.save(&folder.path().join("view").display().to_string())).unwrap().table;
    assert_eq!(index(&view).column_names().collect::<Vec<_>>(), named.column_names().collect::<Vec<_>>());
}

#[test]
fn a_condition_that_is_by_row_chooses_the_same_rows_part_by_part() {
    let mut rng = Rng(common::seed());
    let mut records: Vec<Record> = (0..60)
        .map(|row| ((*rng.pick(&["a", "b", "c"])).to_owned(), (!rng.once_in(6)).then(|| rng.below(30) as i64), row))
        .collect();
    records.sort_by(|left, right| left.0.cmp(&right.0));
    let (table, _) = table_of("x", &records);
    let index = block_on(table.index()).unwrap();
    for (condition, expected) in [
        ("time > 12", true),
        ("time > 3 AND log = 'b' OR NOT (x_id + 1 < time)", true),
        ("time BETWEEN 5 AND 20 AND log IN ('a', 'c')", true),
        ("time IS NULL OR log LIKE 'b%'", true),
        ("time = MAX(time)", false),
        ("x_id > AVG(x_id)", false),
        ("ABS(time) > 9", false),
    ] {
        assert_eq!(index.is_by_row(condition).unwrap(), expected, "{condition}");
        // The rows of a selection do not decide.
        assert_eq!(index.slice(7, 0).is_by_row(condition).unwrap(), expected, "{condition}");
        let whole = index.filter_sql(condition).unwrap().rows_of(&table).unwrap();
        assert!(!whole.is_empty() && whole.len() < 60, "{condition}: {} rows", whole.len());
        for part in [1, 7, 25].into_iter().filter(|_| expected) {
            let parts = (0..60).step_by(part).map(|first| index.slice(first, part).filter_sql(condition).unwrap());
            let rows: Vec<u64> = parts.flat_map(|part| part.rows_of(&table).unwrap()).collect();
            assert_eq!(rows, whole, "{condition} in parts of {part} rows");
        }
    }
    for silly in ["", "   ", "time >", "SELECT * FROM t", "time > 1; log = 'a'", "time > 1, log = 'a'", "'"] {
        let error = index.is_by_row(silly).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{silly}: {error}");
    }
}
