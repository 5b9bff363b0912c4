//! The diff of two tables: the added, removed and changed rows equal those of a brute-force comparison, and no chunk is read.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use crate::{
    common::{
        self,
        tables::{Rng, block_on, cut_by, memory, over, tiny_cuts, write},
    },
    own_process,
};
use arrow_array::{ArrayRef, Int64Array, LargeBinaryArray, LargeStringArray, RecordBatch, cast::AsArray, types::Int64Type};
use object_store::{ObjectStore, memory::InMemory};
use tetrys::{
    ErrorKind, Preset, Schema, Table, WriteOptions,
    store::CountingStore,
    table::{Diff, DiffOptions},
};

/// Log, time, an index column, a wide value, and a small value.
type Record = (String, i64, i64, u64, i64);

fn table_of(records: &[Record], options: WriteOptions) -> (Table, CountingStore) {
    let schema = Schema::builder()
        .index("log", "utf8")
        .index("time", "i64")
        .index("score", "i64")
        .group("wide", [("image", "binary")])
        .group("small", [("count", "i64")])
        .sequence_by(["log"])
        .order_by(["time"])
        .build()
        .unwrap();
    let (raw, store) = memory();
    block_on(write(store, schema, options, &[batch_of(records)])).unwrap();
    let counting = CountingStore::new(raw as Arc<dyn ObjectStore>);
    (block_on(Table::open_in(over(Arc::new(counting.clone())))).unwrap(), counting)
}

fn batch_of(records: &[Record]) -> RecordBatch {
    let image = |seed: u64| Rng(seed).bytes(700);
    let batch = RecordBatch::try_from_iter([
        ("log", Arc::new(LargeStringArray::from_iter_values(records.iter().map(|row| &row.0))) as ArrayRef),
        ("time", Arc::new(Int64Array::from_iter_values(records.iter().map(|row| row.1)))),
        ("score", Arc::new(Int64Array::from_iter_values(records.iter().map(|row| row.2)))),
        ("image", Arc::new(LargeBinaryArray::from_iter_values(records.iter().map(|row| image(row.3))))),
        ("count", Arc::new(Int64Array::from_iter_values(records.iter().map(|row| row.4)))),
    ]);
    batch.unwrap()
}

fn records(rng: &mut Rng) -> Vec<Record> {
    let mut all = Vec::new();
    for log in ["a", "b", "c"] {
        for time in 0..rng.below(40) as i64 {
            all.push((log.to_owned(), time * 10, rng.below(5) as i64, rng.next(), rng.below(100) as i64));
        }
    }
    all
}

#[test]
fn rows_added_removed_and_changed_equal_brute_force_and_no_payload_is_read() {
    let mut rng = Rng(common::seed());
    for _ in 0..if common::full() { 60 } else { 12 } {
        let old = records(&mut rng);
        let mut new: Vec<Record> = old.iter().filter(|_| !rng.clone().once_in(9)).cloned().collect();
        let mut new = {
            new.retain(|_| !rng.once_in(9));
            new
        };
        for row in &mut new {
            row.2 += i64::from(rng.once_in(8));
            row.3 ^= u64::from(rng.once_in(7));
        }
        for time in 0..rng.below(6) as i64 {
            new.push(("z".to_owned(), time, 1, rng.next(), 1));
        }
        // Tables with another codec or at another place have the same diff.
        let ((a, _), (b, _)) = (table_of(&old, cut_by(tiny_cuts())), table_of(&new, cut_by(tiny_cuts()).preset(Preset::Fast)));
        let found = block_on(b.diff(&a, ["log", "time"])).unwrap();
        let key = |row: &Record| (row.0.clone(), row.1);
        let olds: BTreeMap<_, _> = old.iter().map(|row| (key(row), row)).collect();
        let news: BTreeMap<_, _> = new.iter().map(|row| (key(row), row)).collect();
        let rows = |records: &[Record], wanted: &dyn Fn(&Record) -> bool| -> Vec<u64> {
            (0..).zip(records).filter(|(_, row)| wanted(row)).map(|(row, _)| row).collect()
        };
        assert_eq!(found.added, rows(&new, &|row| !olds.contains_key(&key(row))));
        assert_eq!(found.removed, rows(&old, &|row| !news.contains_key(&key(row))));
        let differs = |of: &dyn Fn(&Record, &Record) -> bool| {
            rows(&new, &|row| olds.get(&key(row)).is_some_and(|before| of(row, before))).len() as u64
        };
        assert_eq!((found.index[0].name.as_str(), found.index[0].changed), ("score", differs(&|a, b| a.2 != b.2)));
        let group = |name: &str| found.groups.iter().find(|group| group.name == name).unwrap();
        assert_eq!((group("wide").changed, group("wide").exact), (Some(differs(&|a, b| a.3 != b.3)), true));
        // Small rows share blocks. The diff names all rows of a changed block, so it names at least the changed rows.
        assert!(group("small").changed.unwrap() >= differs(&|a, b| a.4 != b.4));
        let kept = new.len() - found.added.len();
        assert_eq!(found.unchanged, (kept - found.changed.len()) as u64);
        let same = block_on(b.diff(&b, ["log", "time"])).unwrap();
        assert_eq!((same.unchanged, same.changed.len() + same.added.len() + same.removed.len()), (new.len() as u64, 0));
        // Without keys, the rows are matched by sequence and order.
        let by_order = block_on(b.diff(&a, [""; 0])).unwrap();
        assert_eq!(
            (&by_order.keys[..], &by_order.added, &by_order.removed),
            (&["log".to_owned(), "time".to_owned()][..], &found.added, &found.removed)
        );
    }
}

#[test]
fn a_diff_reads_index_layout_and_hashes_alone() {
    let mut rng = Rng(common::seed());
    let (old, new) = (records(&mut rng), records(&mut rng));
    let ((a, counts_a), (b, counts_b)) = (table_of(&old, cut_by(tiny_cuts())), table_of(&new, cut_by(tiny_cuts())));
    counts_a.reset();
    counts_b.reset();
    let found = block_on(b.diff(&a, ["log", "time"])).unwrap();
    let seen = [counts_a.reset(), counts_b.reset()];
    let folders = |path: &str| ["index/", "layout/", "hashes/"].iter().any(|folder| path.starts_with(folder));
    assert!(seen.iter().flat_map(|seen| &seen.gets).all(|get| folders(&get.path)), "{seen:?}");
    assert_eq!(seen.iter().map(|seen| seen.bytes_read).sum::<u64>(), found.bytes_read);
}

#[test]
fn rows_of_one_key_are_compared_in_order_and_columns_that_come_and_go_are_named() {
    let row = |time: i64, score: i64| ("a".to_owned(), time, score, 7, 7);
    let (old, _) = table_of(&[row(0, 1), row(0, 2), row(1, 3)], cut_by(tiny_cuts()));
    let (new, _) = table_of(&[row(0, 1), row(0, 9), row(0, 4), row(1, 3)], cut_by(tiny_cuts()));
    let found = block_on(new.diff(&old, ["log", "time"])).unwrap();
    assert_eq!((found.added.as_slice(), found.removed.as_slice(), found.index[0].changed), (&[2][..], &[][..], 1));
    let schema = Schema::builder().index("log", "utf8").index("time", "f64").group("wide", [("image", "binary"), ("mask", "u8")]);
    let batch = RecordBatch::try_from_iter([
        ("log", Arc::new(LargeStringArray::from_iter_values(["a"])) as ArrayRef),
        ("time", Arc::new(arrow_array::Float64Array::from(vec![0.0]))),
        ("image", Arc::new(LargeBinaryArray::from_iter_values([b"x"]))),
        ("mask", Arc::new(arrow_array::UInt8Array::from(vec![1]))),
    ]);
    let other = block_on(write(memory().1, schema.build().unwrap(), WriteOptions::default(), &[batch.unwrap()])).unwrap();
    let found = block_on(other.diff(&old, ["log"])).unwrap();
    let typed = |columns: &[(String, String)]| columns.iter().map(|(name, ty)| format!("{name} {ty}")).collect::<Vec<_>>();
    assert_eq!(typed(&found.columns_added), ["time f64", "mask u8"]);
    assert_eq!(typed(&found.columns_removed), ["time i64", "score i64", "count i64"]);
    assert_eq!((found.groups.len(), found.groups[0].changed), (1, None));
    let error = block_on(other.diff(&old, ["time"])).unwrap_err();
    assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("key `time` is f64 in"), "{error}");
    let error = block_on(other.diff(&old, ["when"])).unwrap_err();
    assert!(error.kind() == ErrorKind::NotFound && error.to_string().contains("no index column `when`"), "{error}");
}

#[test]
fn an_exact_diff_names_the_rows_that_differ_and_reads_those_that_share_blocks() {
    let mut rng = Rng(common::seed());
    for _ in 0..if common::full() { 60 } else { 12 } {
        let old = records(&mut rng);
        let mut new = old.clone();
        new.retain(|_| !rng.once_in(12));
        let mut changed = Vec::new();
        for (row, record) in new.iter_mut().enumerate() {
            let (wide, small) = (rng.once_in(15), rng.once_in(15));
            record.3 ^= u64::from(wide);
            record.4 += i64::from(small);
            if wide || small {
                changed.push(row as u64);
            }
        }
        let ((a, _), (b, counting)) = (table_of(&old, cut_by(tiny_cuts())), table_of(&new, cut_by(tiny_cuts())));
        let diff = block_on(b.diff(&a, ["log", "time"])).unwrap();
        assert!(changed.iter().all(|row| diff.changed.contains(row)));
        assert!(diff.is_exact() || diff.changed.len() >= changed.len());
        let head = diff.to_string().lines().next().unwrap().to_owned();
        assert_eq!(
            head.contains(&format!(" at most {} changed, at least {} unchanged", diff.changed.len(), diff.unchanged)),
            !diff.is_exact()
        );
        counting.reset();
        let exact = block_on(b.diff_exact(&a, ["log", "time"])).unwrap();
        assert!(exact.is_exact() && exact.changed == changed, "{exact:?}, expected {changed:?}");
        assert_eq!((diff.payload_bytes, exact.payload_bytes > 0), (0, !diff.is_exact()));
        assert_eq!(exact.is_empty(), changed.is_empty() && new.len() == old.len());
        let groups = |found: &tetrys::table::Diff| found.groups.iter().map(|group| group.changed).collect::<Vec<_>>();
        assert!(groups(&exact).iter().zip(groups(&diff)).all(|(exact, diff)| *exact <= diff));
        let chunks = counting.reset().gets.iter().any(|get| get.path.starts_with("chunks/"));
        assert_eq!(chunks, !diff.is_exact());
    }
}

#[test]
fn columns_that_moved_to_another_group_are_said_to_be_not_compared() {
    let mut rng = Rng(common::seed());
    let rows: Vec<Record> = (0..9).map(|row| ("a".to_owned(), row, 1, rng.next(), row)).collect();
    let (a, _) = table_of(&rows, cut_by(tiny_cuts()));
    let renamed = block_on(a.edit().rename_column("count", "amount").commit()).unwrap();
    let found = block_on(renamed.diff(&a, ["log", "time"])).unwrap();
    assert_eq!((found.is_exact(), found.not_compared.len()), (true, 0));
    let mut writer = block_on(a.add_group("more", [("more", "i64")], WriteOptions::default())).unwrap();
    let more = Arc::new(Int64Array::from_iter_values(0..9)) as ArrayRef;
    block_on(writer.write(&RecordBatch::try_from_iter([("more", more)]).unwrap())).unwrap();
    let more = block_on(writer.commit()).unwrap();
    let found = block_on(more.diff(&a, ["log", "time"])).unwrap();
    assert_eq!((found.is_exact(), found.is_empty(), found.not_compared.len()), (true, false, 0));
    let other = Schema::builder().index("log", "utf8").index("time", "i64").index("score", "i64");
    let other = other.group("all", [("image", "binary"), ("count", "i64")]).sequence_by(["log"]).order_by(["time"]);
    let batch = RecordBatch::try_from_iter([
        ("log", Arc::new(LargeStringArray::from_iter_values(rows.iter().map(|row| &row.0))) as ArrayRef),
        ("time", Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.1)))),
        ("score", Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.2)))),
        ("image", Arc::new(LargeBinaryArray::from_iter_values(rows.iter().map(|row| Rng(row.3).bytes(700))))),
        ("count", Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.4)))),
    ]);
    let other = block_on(write(memory().1, other.build().unwrap(), cut_by(tiny_cuts()), &[batch.unwrap()])).unwrap();
    let found = block_on(other.diff(&a, ["log", "time"])).unwrap();
    assert_eq!(
        (found.is_exact(), found.is_empty(), found.not_compared),
        (false, false, vec!["count".to_owned(), "image".to_owned()])
    );
}

/// Compares in memory and in partitions on disk. Asserts that the results are equal.
fn compared(now: &Table, before: &Table, on: &[&str], exact: bool, memory: u64, folder: &Path) -> Diff {
    let with = |memory_limit| DiffOptions { exact, memory_limit, temporary_folder: Some(folder.to_owned()) };
    let expected = block_on(now.diff_with(before, on, &with(Some(u64::MAX)))).unwrap();
    let mut found = block_on(now.diff_with(before, on, &with(Some(memory)))).unwrap();
    if now.is_view() || before.is_view() {
        // The hashes of the sources are read for the rows of each segment of a view.
        found.bytes_read = expected.bytes_read;
    }
    assert_eq!(found, expected, "by {on:?}, memory {memory}");
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
    expected
}

#[test]
fn a_diff_in_partitions_equals_the_diff_in_memory() {
    let (mut rng, folder) = (Rng(common::seed()), tempfile::tempdir().unwrap());
    let (mut differing, mut read) = (0, 0);
    for _ in 0..if common::full() { 100 } else { 14 } {
        let mut old = records(&mut rng);
        // Some keys occur several times, and the rows are in some order.
        for row in old.clone() {
            if rng.once_in(10) {
                old.push(("a".to_owned(), row.1, row.2, row.3, row.4 + 1));
            }
        }
        let mut new: Vec<Record> = old.clone();
        new.retain(|_| !rng.once_in(9));
        for row in &mut new {
            row.2 += i64::from(rng.once_in(8));
            row.3 ^= u64::from(rng.once_in(9));
            row.4 += i64::from(rng.once_in(9));
        }
        (0..rng.below(6) as i64).for_each(|time| new.push(("z".to_owned(), time, 1, rng.next(), 1)));
        let sorted = |mut rows: Vec<Record>| {
            rows.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
            rows
        };
        let ((a, _), (b, _)) = (table_of(&sorted(old), cut_by(tiny_cuts())), table_of(&sorted(new), cut_by(tiny_cuts())));
        let more = sorted(records(&mut rng));
        let appended = match more.is_empty() {
            true => b.clone(),
            false => block_on(append(&b, &more)),
        };
        let smaller = block_on(b.edit().drop_columns(&["image"]).commit()).unwrap_or_else(|_| b.clone());
        for (now, before) in [(&b, &a), (&appended, &b), (&a, &appended), (&smaller, &a), (&b, &b)] {
            for on in [&["log", "time"][..], &["time"], &["score", "log"], &[]] {
                let (exact, memory) = (rng.once_in(2), *rng.pick(&[0, 1_000, 20_000]));
                let found = compared(now, before, on, exact, memory, folder.path());
                differing += usize::from(!found.is_empty());
                read += usize::from(found.payload_bytes > 0);
            }
        }
    }
    assert!(differing > 50 && read > 10, "{differing} differ, {read} read payload");
}

/// Versions of a table with many segments, made by changes of every kind, against a comparison of all rows.
#[test]
fn a_diff_of_versions_equals_brute_force_and_reads_the_segments_that_differ() {
    let (mut rng, folder) = (Rng(common::seed()), tempfile::tempdir().unwrap());
    let (mut skipped, mut pairs, mut unread) = (0, 0, 0);
    for _ in 0..common::cases(12) {
        let schema =
            Schema::builder().index("id", "i64").index("score", "i64").group("a", [("x", "i64")]).group("b", [("y", "i64")]);
        let schema = schema.build().unwrap();
        let batch = |ids: &[i64], score: i64| {
            let column = |of: &dyn Fn(&i64) -> i64| Arc::new(Int64Array::from_iter_values(ids.iter().map(of))) as ArrayRef;
            let (score, x, y) = (column(&|id| id % 5 + score), column(&|id| id * 2), column(&|id| id * 3));
            RecordBatch::try_from_iter([("id", column(&|id| *id)), ("score", score), ("x", x), ("y", y)]).unwrap()
        };
        // Cut limits of one row, so that no two rows share a block.
        let options = || cut_by(tetrys::table::Cuts { block_min: 1, block_target: 2, ..tiny_cuts() }).segment_rows(1);
        let parts: Vec<RecordBatch> = (0..5_i64).map(|part| batch(&(part * 10..part * 10 + 10).collect::<Vec<_>>(), 0)).collect();
        let counting = CountingStore::new(InMemory::new());
        let store = over(Arc::new(counting.clone()));
        let mut versions = vec![block_on(write(store, schema.clone(), options(), &parts)).unwrap()];
        for step in 0..3 + rng.below(4) as i64 {
            let now = versions.last().unwrap();
            let ids: Vec<i64> = block_on(rows_of(now)).keys().copied().collect();
            let one = *rng.pick(&ids);
            let change = rng.below(6);
            let made = block_on(async {
                match change {
                    0 => {
                        let writer = now.append(options()).await?;
                        let mut partition = writer.partition()?;
                        partition.write(&batch(&[1000 * (step + 1), 1000 * (step + 1) + 1], 0)).await?;
                        writer.commit([partition.finish().await?]).await
                    }
                    1 => now.delete([rng.below(now.rows())], options()).await,
                    2 | 3 => {
                        let other = Arc::new(Int64Array::from(vec![-one - step])) as ArrayRef;
                        let id = Arc::new(Int64Array::from(vec![one])) as ArrayRef;
                        let column = if change == 2 { "x" } else { "y" };
                        now.patch(&["id"], &RecordBatch::try_from_iter([("id", id), (column, other)]).unwrap(), options()).await
                    }
                    4 => now.versions().restore(1 + rng.below(now.version())).await,
                    _ => {
                        // The parts in another order, and some of them changed.
                        let writer = now.overwrite(schema.clone(), options()).await?;
                        let mut receipts = Vec::new();
                        for part in [3, 0, 4, 1] {
                            let mut partition = writer.partition()?;
                            partition
                                .write(&batch(&(part * 10..part * 10 + 10).collect::<Vec<_>>(), i64::from(rng.once_in(3))))
                                .await?;
                            receipts.push(partition.finish().await?);
                        }
                        writer.commit(receipts).await
                    }
                }
            });
            versions.push(made.unwrap());
        }
        for _ in 0..6 {
            let (before, now) = (rng.pick(&versions).clone(), rng.pick(&versions).clone());
            let found = compared(&now, &before, &["id"], rng.once_in(2), *rng.pick(&[0, 1_000]), folder.path());
            let (old, new) = (block_on(rows_of(&before)), block_on(rows_of(&now)));
            let numbers = |rows: &Rows, wanted: &dyn Fn(i64, &Values) -> bool| -> Vec<u64> {
                let mut found: Vec<u64> =
                    rows.iter().filter(|(id, (_, values))| wanted(**id, values)).map(|(_, (row, _))| *row).collect();
                found.sort_unstable();
                found
            };
            assert_eq!(found.added, numbers(&new, &|id, _| !old.contains_key(&id)));
            assert_eq!(found.removed, numbers(&old, &|id, _| !new.contains_key(&id)));
            assert_eq!(found.changed, numbers(&new, &|id, values| old.get(&id).is_some_and(|(_, before)| before != values)));
            assert_eq!((found.rows, found.is_exact()), ([old.len() as u64, new.len() as u64], true));
            assert_eq!(found.unchanged, new.len() as u64 - (found.added.len() + found.changed.len()) as u64);
            let all = |table: &Table| -> u64 {
                let groups = |segment: &tetrys::format::Segment| {
                    segment.groups.iter().map(|group| group.layout.bytes + group.hashes.bytes).sum::<u64>()
                };
                table.manifest().segments.iter().map(|segment| segment.index.bytes + groups(segment)).sum()
            };
            skipped += u32::from(found.bytes_read < all(&before) + all(&now));
            counting.reset();
            assert_eq!(block_on(now.diff(&before, ["id"])).unwrap().changed, found.changed);
            let gets = counting.reset().gets;
            assert_eq!(gets.iter().map(|get| get.bytes).sum::<u64>(), found.bytes_read);
            // Patches change column groups, and leave the index as it is.
            pairs += u32::from(!gets.is_empty() && gets.iter().all(|get| !get.path.starts_with("index/")));
            // Rows in the same places are equal also without keys.
            let by_number = compared(&now, &before, &[], false, 0, folder.path());
            if before.rows() == now.rows() {
                assert!(by_number.added.is_empty() && by_number.removed.is_empty());
            }
            // Views of some of the rows in another order, and a view beside a table.
            let view = |table: &Table, rng: &mut Rng| {
                let (rest, descending) = (rng.below(4), rng.once_in(2));
                block_on(async {
                    let index = table.index().filter_sql(format!("id % 4 <> {rest}")).await.unwrap();
                    let index = index.sort(["score", "id"], descending).unwrap();
                    index.save(memory().1).await.unwrap().table
                })
            };
            let of_now = view(&now, &mut rng);
            let of_before = if rng.once_in(3) { before } else { view(&before, &mut rng) };
            if of_now.rows() == 0 {
                continue;
            }
            counting.reset();
            let found = block_on(of_now.diff(&of_before, ["id"])).unwrap();
            unread += u32::from(counting.reset().gets.iter().all(|get| !get.path.contains("hashes/")));
            let (old, new) = (block_on(rows_of(&of_before)), block_on(rows_of(&of_now)));
            assert_eq!(found.added, numbers(&new, &|id, _| !old.contains_key(&id)));
            assert_eq!(found.removed, numbers(&old, &|id, _| !new.contains_key(&id)));
            assert_eq!(found.changed, numbers(&new, &|id, values| old.get(&id).is_some_and(|(_, before)| before != values)));
            assert!(found.is_exact(), "{found}");
            let on: &[&str] = if rng.once_in(3) { &[] } else { &["id"] };
            compared(&of_now, &of_before, on, rng.once_in(2), *rng.pick(&[0, 1_000, 100_000]), folder.path());
        }
    }
    assert!(skipped > 40 && pairs > 2 && unread > 5, "{skipped} skipped, {pairs} pairs, {unread} without hashes");
}

/// Also beyond the memory limit, rows at equal places need no hashes.
#[test]
fn a_diff_of_views_in_partitions_reads_the_hashes_of_the_segments_that_differ() {
    let schema = Schema::builder().index("id", "i64").group("a", [("x", "i64")]).build().unwrap();
    let counting = CountingStore::new(InMemory::new());
    let store = over(Arc::new(counting.clone()));
    let options = || cut_by(tetrys::table::Cuts { block_min: 1, block_target: 2, ..tiny_cuts() }).segment_rows(1);
    let batch = |part: i64| {
        let numbers = || Arc::new(Int64Array::from_iter_values(part * 10..part * 10 + 10)) as ArrayRef;
        RecordBatch::try_from_iter([("id", numbers()), ("x", numbers())]).unwrap()
    };
    let parts: Vec<RecordBatch> = (0..6).map(batch).collect();
    let old = block_on(write(store, schema, options(), &parts)).unwrap();
    let one = |value: i64| Arc::new(Int64Array::from(vec![value])) as ArrayRef;
    let patch = RecordBatch::try_from_iter([("id", one(23)), ("x", one(-1))]).unwrap();
    let new = block_on(old.patch(&["id"], &patch, options())).unwrap();
    let view = |table: &Table| block_on(async { table.index().await.unwrap().save(memory().1).await.unwrap().table });
    let (before, now) = (view(&old), view(&new));
    counting.reset();
    let options = DiffOptions { memory_limit: Some(0), ..DiffOptions::default() };
    let found = block_on(now.diff_with(&before, ["id"], &options)).unwrap();
    let hashes = counting.reset().gets.iter().filter(|get| get.path.contains("hashes/")).count();
    assert_eq!((found.changed, found.added.len(), found.removed.len()), (vec![23], 0, 0));
    assert!((1..=2).contains(&hashes), "{hashes} objects of the 12 of both tables");
}

/// Score, x and y.
type Values = [i64; 3];

/// The number and the values of each row, by its id.
type Rows = BTreeMap<i64, (u64, Values)>;

async fn rows_of(table: &Table) -> Rows {
    let all: Vec<u64> = (0..table.rows()).collect();
    let (index, payload) = (table.take_index(&all).await.unwrap(), table.row_loader().take(&all).await.unwrap());
    let of = |array: &ArrayRef| array.as_primitive::<Int64Type>().values().to_vec();
    let (ids, scores) = (of(index.column(0)), of(index.column(1)));
    let (x, y) = (of(payload.column("x").unwrap()), of(payload.column("y").unwrap()));
    all.into_iter().map(|row| (ids[row as usize], (row, [scores[row as usize], x[row as usize], y[row as usize]]))).collect()
}

async fn append(table: &Table, records: &[Record]) -> Table {
    let renamed = records.iter().map(|row| (format!("more {}", row.0), row.1, row.2, row.3, row.4)).collect::<Vec<_>>();
    let writer = table.append(cut_by(tiny_cuts())).await.unwrap();
    let mut partition = writer.partition().unwrap();
    partition.write(&batch_of(&renamed)).await.unwrap();
    writer.commit([partition.finish().await.unwrap()]).await.unwrap()
}

#[test]
fn a_full_disk_is_an_error_that_names_the_folder_and_the_bytes() {
    const CHILD: &str = "TETRYS_TEST_DIFF_FULL_DISK";
    if let Some(folder) = own_process::asked(CHILD) {
        let folder = Path::new(&folder);
        let table = block_on(Table::open(folder.join("t").to_str().unwrap())).unwrap();
        let options = DiffOptions { memory_limit: Some(0), temporary_folder: Some(folder.to_owned()), ..DiffOptions::default() };
        let other = block_on(Table::open(folder.join("u").to_str().unwrap())).unwrap();
        println!("{}", block_on(table.diff_with(&other, [""; 0], &options)).unwrap_err());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<Record> = (0..9_000).map(|row| ("a".to_owned(), row, 1, row as u64 % 7, row)).collect();
    let schema = Schema::builder().index("log", "utf8").index("time", "i64").index("score", "i64");
    let schema = schema.group("wide", [("image", "binary")]).group("small", [("count", "i64")]).build().unwrap();
    for (name, rows) in [("t", &rows[..]), ("u", &rows[1..])] {
        let store = tetrys::Store::open(folder.path().join(name).to_str().unwrap()).unwrap();
        block_on(write(store, schema.clone(), WriteOptions::default(), &[batch_of(rows)])).unwrap();
    }
    let message =
        own_process::on_full_disk("diff::a_full_disk_is_an_error_that_names_the_folder_and_the_bytes", CHILD, folder.path());
    let expected = format!("diff: the temporary files in {} have ", folder.path().display());
    assert!(
        message.contains(&expected) && message.contains("bytes and cannot grow") && message.contains("higher memory limit"),
        "{message}"
    );
}

#[test]
fn a_diff_in_partitions_takes_a_part_of_the_memory() {
    const CHILD: &str = "TETRYS_TEST_DIFF_MEMORY";
    if let Some((limit, folder)) = own_process::asked_limit(CHILD) {
        let [a, b] = ["a", "b"].map(|name| block_on(Table::open(folder.join(name).to_str().unwrap())).unwrap());
        own_process::print_peak(|| {
            let options = DiffOptions { memory_limit: Some(limit), ..DiffOptions::default() };
            let found = block_on(b.diff_with(&a, ["time"], &options)).unwrap();
            assert_eq!((found.added.len(), found.removed.len(), found.changed.len()), (1_000, 1_000, 2_999));
        });
        return;
    }
    if !own_process::memory_is_measured() {
        return;
    }
    const ROWS: i64 = 3_000_000;
    let folder = tempfile::tempdir().unwrap();
    let schema = || Schema::builder().index("time", "i64").index("score", "i64").index("speed", "i64").build().unwrap();
    for (name, first) in [("a", 0), ("b", 1_000)] {
        let numbers = |step: i64| Arc::new(Int64Array::from_iter_values((first..first + ROWS).map(|row| row / step))) as ArrayRef;
        // Every thousandth row has another score.
        let scores = (first..first + ROWS).map(|row| row % 7 + if row % 1_000 == 0 { first } else { 0 });
        let scores = Arc::new(Int64Array::from_iter_values(scores)) as ArrayRef;
        let batch = RecordBatch::try_from_iter([("time", numbers(1)), ("score", scores), ("speed", numbers(3))]).unwrap();
        let store = tetrys::Store::open(folder.path().join(name).to_str().unwrap()).unwrap();
        let parts: Vec<RecordBatch> = (0..6).map(|part| batch.slice(part * ROWS as usize / 6, ROWS as usize / 6)).collect();
        block_on(write(store, schema(), WriteOptions::default().segment_rows(1), &parts)).unwrap();
    }
    own_process::assert_limit_halves_peak(
        "diff::a_diff_in_partitions_takes_a_part_of_the_memory",
        CHILD,
        32 << 20,
        folder.path(),
    );
}
