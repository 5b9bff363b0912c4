//! Parts of an index: columns and rows that a condition chooses equal those of the whole index, whatever the condition is; a counting
//! store sees what `explain` says; and damage never drops a row.
#![cfg(feature = "frame")]

use std::{
    ops::Range,
    sync::{Arc, Mutex},
};

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Float32Array, Float64Array, Int8Array, Int64Array, LargeStringArray, RecordBatch,
    TimestampMicrosecondArray, UInt32Array, UInt64Array,
};
use object_store::{ObjectStore, ObjectStoreExt, memory::InMemory, path::Path};
use polars::prelude::{
    BooleanChunked, ChunkFull, ChunkFullNull, DataFrame, DataType, Expr, Int8Type, IntoLazy, IntoSeries, ListBuilderTrait,
    ListPrimitiveChunkedBuilder, LiteralValue, NamedFrom, PolarsResult, Scalar, Series, TimeUnit, col, lit, polars_err,
};
use tetrys::{
    Error, ErrorKind, Index, IndexTails, Merge, RowLoader, Schema, Table, WriteOptions,
    format::{Manifest, Parent},
    id::{Hash, ObjectRef},
    store::{CountingStore, Store},
};

use crate::common::{
    self,
    tables::{Rng, block_on, memory, over, overwrite, write},
};

pub(crate) fn schema() -> Schema {
    Schema::builder()
        .index("log", "utf8")
        .index("time", "i64")
        .index("big", "u64")
        .index("weight", "f64")
        .index("single", "f32")
        .index("note", "utf8")
        .index("kind", "categorical")
        .index("flag", "bool")
        .index("day", "date")
        .index("stamp", "timestamp[us]")
        .index("tiny", "i8")
        .group("g", [("n", "u32")])
        .sequence_by(["log"])
        .build()
        .unwrap()
}

/// Returns the rows of some logs. `rows_of_log` rows each; times rise over all logs.
pub(crate) fn rows(rng: &mut Rng, logs: Range<u64>, rows_of_log: u64, nulls: u64) -> RecordBatch {
    let count = (logs.end - logs.start) * rows_of_log;
    let each: Vec<(u64, u64)> = logs.flat_map(|log| (0..rows_of_log).map(move |row| (log, log * rows_of_log + row))).collect();
    let mut valid = || !rng.once_in(nulls);
    let flags: Vec<[bool; 11]> = (0..count).map(|_| std::array::from_fn(|_| valid())).collect();
    let keep = |place: usize, column: usize| flags[place][column];
    let weight = |rng: &mut Rng, row: u64| match rng.below(40) {
        0 => f64::NAN,
        1 => -0.0,
        2 if row.is_multiple_of(7) => f64::INFINITY,
        _ => (row % 5_000) as f64 / 10.0 - 100.0,
    };
    let weights: Vec<f64> = each.iter().map(|(_, row)| weight(rng, *row)).collect();
    // Texts that are longer than the bounds that Parquet keeps, and enough of them to overflow a dictionary.
    let note = |row: u64| {
        format!("{}{:08}{}", "a long common prefix ".repeat(4), row / 3, if row.is_multiple_of(2) { "ö" } else { "\u{10ffff}" })
    };
    macro_rules! column {
        ($array:ty, $at:expr, |$place:ident, $log:ident, $row:ident| $value:expr) => {{
            let values = each.iter().enumerate().map(|($place, ($log, $row))| {
                let _ = (&$log, &$row);
                keep($place, $at).then(|| $value)
            });
            Arc::new(values.collect::<$array>()) as ArrayRef
        }};
    }
    RecordBatch::try_from_iter([
        ("log", Arc::new(LargeStringArray::from_iter_values(each.iter().map(|(log, _)| format!("log-{log:04}")))) as ArrayRef),
        ("time", column!(Int64Array, 1, |place, log, row| *row as i64 * 1_000 + 1_700_000_000_000_000_000)),
        ("big", column!(UInt64Array, 2, |place, log, row| u64::MAX - 3 * (70_000 - row.min(&70_000)))),
        ("weight", column!(Float64Array, 3, |place, log, row| weights[place])),
        ("single", column!(Float32Array, 4, |place, log, row| (row % 977) as f32 / 10.0)),
        ("note", column!(LargeStringArray, 5, |place, log, row| note(*row))),
        ("kind", column!(LargeStringArray, 6, |place, log, row| ["car", "tram", "bus"][(log % 3) as usize].to_owned())),
        ("flag", column!(BooleanArray, 7, |place, log, row| log.is_multiple_of(5))),
        ("day", column!(Date32Array, 8, |place, log, row| (row / 500) as i32)),
        ("stamp", column!(TimestampMicrosecondArray, 9, |place, log, row| *row as i64)),
        ("tiny", column!(Int8Array, 10, |place, log, row| (row % 251) as u8 as i8)),
        ("n", Arc::new(UInt32Array::from_iter_values(each.iter().map(|(_, row)| *row as u32)))),
    ])
    .unwrap()
}

/// Writes a table of three segments: one of several row groups, one of several pages, one of few rows that are all null but for
/// their log.
pub(crate) fn table(tails: bool) -> (Arc<InMemory>, Table, CountingStore) {
    let mut rng = Rng(common::seed());
    let parts = [rows(&mut rng, 0..93, 737, 9), rows(&mut rng, 93..113, 1_000, 0), rows(&mut rng, 113..114, 30, 1)];
    let options = WriteOptions::default().segment_rows(10).index_tails(if tails { IndexTails::All } else { IndexTails::None });
    let (raw, store) = memory();
    block_on(write(store, schema(), options, &parts)).unwrap();
    let counting = CountingStore::new(raw.clone() as Arc<dyn ObjectStore>);
    let table = block_on(Table::open_in(over(Arc::new(counting.clone())))).unwrap();
    assert_eq!(table.manifest().segments.len(), 3);
    assert_eq!(table.manifest().segments.iter().filter(|segment| segment.tail.is_some()).count(), if tails { 3 } else { 0 });
    (raw, table, counting)
}

/// Returns a handle that has read nothing yet.
pub(crate) fn fresh(table: &Table) -> Table {
    table.allow(Vec::<String>::new())
}

pub(crate) fn same(found: &Index, expected: &Index, what: &str) {
    assert_eq!(found.frame().schema(), expected.frame().schema(), "{what}");
    assert_eq!(found.len(), expected.len(), "{what}");
    assert!(found.frame().equals_missing(expected.frame()), "{what}:\n{}\n{}", found.frame(), expected.frame());
}

/// A condition, as SQL and as an expression.
pub(crate) fn condition(rng: &mut Rng, depth: u32) -> (String, Expr) {
    if depth > 0 && !rng.once_in(3) {
        let ((left, one), (right, other)) = (condition(rng, depth - 1), condition(rng, depth - 1));
        return match rng.below(5) {
            0 | 1 => (format!("({left} AND {right})"), one.and(other)),
            2 | 3 => (format!("({left} OR {right})"), one.or(other)),
            _ => (format!("(NOT {left})"), one.not()),
        };
    }
    let row = rng.below(91_000);
    let near = rng.below(3) as i64 - 1;
    let compare = |rng: &mut Rng, name: &str, text: String, value: Expr| {
        let (op, expression) = match rng.below(6) {
            0 => ("=", col(name).eq(value)),
            1 => ("<", col(name).lt(value)),
            2 => ("<=", col(name).lt_eq(value)),
            3 => (">", col(name).gt(value)),
            4 => (">=", col(name).gt_eq(value)),
            _ => ("<>", col(name).neq(value)),
        };
        (format!("{name} {op} {text}"), expression)
    };
    match rng.below(12) {
        0 => {
            let log = format!("log-{:04}", row / 700);
            compare(rng, "log", format!("'{log}'"), lit(log.clone()))
        }
        1 => {
            let time = row as i64 * 1_000 + 1_700_000_000_000_000_000 + near;
            compare(rng, "time", time.to_string(), lit(time))
        }
        2 => {
            let weight = (row % 5_000) as f64 / 10.0 - 100.0;
            compare(rng, "weight", format!("{weight:?}"), lit(weight))
        }
        3 => {
            let single = (row % 977) as f64 / 10.0;
            compare(rng, "single", format!("{single:?}"), lit(single))
        }
        4 => {
            let note = format!("{}{:08}", "a long common prefix ".repeat(4), row / 3);
            compare(rng, "note", format!("'{note}'"), lit(note.clone()))
        }
        5 => ("kind = 'bus'".to_owned(), col("kind").eq(lit("bus"))),
        6 => ("flag = true".to_owned(), col("flag").eq(lit(true))),
        7 => {
            let name = *rng.pick(&["time", "weight", "note", "log", "day"]);
            match rng.once_in(2) {
                true => (format!("{name} IS NULL"), col(name).is_null()),
                false => (format!("{name} IS NOT NULL"), col(name).is_not_null()),
            }
        }
        8 => {
            let tiny = rng.below(256) as i64 - 128;
            compare(rng, "tiny", tiny.to_string(), lit(tiny))
        }
        9 => {
            let big = i64::MAX - row as i64;
            compare(rng, "big", big.to_string(), lit(big))
        }
        10 => {
            let (low, high) = (row as f64 / 300.0, row as f64 / 200.0);
            (format!("single BETWEEN {low:?} AND {high:?}"), col("single").gt_eq(lit(low)).and(col("single").lt_eq(lit(high))))
        }
        _ => {
            let (one, other) = (row as i64 % 120, row as i64 % 77);
            (format!("tiny IN ({one}, {other})"), col("tiny").eq(lit(one)).or(col("tiny").eq(lit(other))))
        }
    }
}

/// Returns a function that evaluates a condition.
fn mask_of(condition: Expr) -> impl Fn(DataFrame) -> PolarsResult<BooleanChunked> {
    move |frame| Ok(frame.lazy().select([condition.clone().alias("kept")]).collect()?.column("kept")?.bool()?.clone())
}

#[test]
fn chosen_rows_equal_those_of_the_whole_index_for_any_condition() {
    let mut rng = Rng(common::seed());
    for tails in [true, false] {
        let (_, table, counting) = table(tails);
        let whole = block_on(table.index()).unwrap();
        let mut pruned = 0;
        for case in 0..if common::full() { 600 } else { 24 } {
            let (sql, expression) = condition(&mut rng, case % 4);
            let by_expression = block_on(table.index().filter(expression.clone())).unwrap();
            same(&by_expression, &whole.filter(expression.clone()).unwrap(), &sql);
            let names: Vec<String> = table.schema().index().map(|column| column.name.clone()).collect();
            let by_function = block_on(table.index().filter_with(names, mask_of(expression)));
            same(&by_function.unwrap(), &by_expression, &sql);
            let explained = block_on(table.index().filter_sql(&*sql).columns(["time", "log"]).explain()).unwrap();
            counting.reset();
            let by_sql = block_on(fresh(&table).index().filter_sql(&*sql).columns(["time", "log"]));
            let counts = counting.reset();
            let expected = whole.filter_sql(&sql).and_then(|found| found.select([col("log"), col("time")]));
            same(&by_sql.unwrap(), &expected.unwrap(), &sql);
            // A new handle also prefetches small layouts.
            let gets: Vec<u64> = counts.gets.iter().filter(|get| get.path.starts_with("index/")).map(|get| get.bytes).collect();
            let counted = (gets.len() as u64, gets.iter().sum::<u64>());
            assert_eq!(counted, (explained.requests, explained.bytes), "{sql}: {explained}");
            assert!(explained.rows <= table.rows(), "{sql}: {explained}");
            pruned += u64::from(explained.rows < table.rows());
        }
        assert!(pruned > 4, "{pruned} conditions left out rows");
    }
}

/// A time of this many ticks.
fn ticks(value: i64, unit: TimeUnit) -> Expr {
    Expr::Literal(LiteralValue::Scalar(Scalar::new_datetime(value, unit, None)))
}

/// A list of times, one of them null.
fn stamps(row: i64, unit: TimeUnit) -> Expr {
    let stamps = Series::new("".into(), [Some(row), None, Some(row / 1_000)]).cast(&DataType::Datetime(unit, None));
    lit(stamps.unwrap()).implode(true)
}

/// A condition over times, days or lists.
fn later_condition(rng: &mut Rng) -> Expr {
    let row = rng.below(91_000) as i64;
    let value = match rng.below(6) {
        0 => (col("stamp"), ticks(row, TimeUnit::Microseconds)),
        1 => (col("stamp"), ticks(row * 1_000 + rng.below(999) as i64, TimeUnit::Nanoseconds)),
        2 => (col("stamp"), ticks(row / 1_000, TimeUnit::Milliseconds)),
        3 => (col("day"), Expr::Literal(LiteralValue::Scalar(Scalar::new_date((row / 500) as i32)))),
        4 => (col("day"), ticks(row / 500 * 86_400_000_000 + row % 3 - 1, TimeUnit::Microseconds)),
        _ => {
            let (tiny, log) = (Series::new("".into(), [Some(3_i8), None, Some(-7)]), format!("log-{:04}", row / 800));
            let logs = Series::new("".into(), [log.as_str(), "log-0003"]);
            return match rng.below(4) {
                0 | 1 => col("stamp").is_in(stamps(row, TimeUnit::Microseconds), rng.once_in(2)),
                2 => col("tiny").is_in(lit(tiny).implode(true), rng.once_in(2)),
                _ => col("log").is_in(lit(logs).implode(true), false),
            };
        }
    };
    match rng.below(5) {
        0 => value.0.eq(value.1),
        1 => value.0.lt(value.1),
        2 => value.0.lt_eq(value.1),
        3 => value.0.gt(value.1),
        _ => value.0.gt_eq(value.1),
    }
}

#[test]
fn times_days_and_lists_exclude_only_rows_that_the_condition_excludes() {
    let mut rng = Rng(common::seed());
    let (_, table, _) = table(true);
    let (whole, mut pruned) = (block_on(table.index()).unwrap(), 0);
    for _ in 0..if common::full() { 600 } else { 60 } {
        let condition = later_condition(&mut rng);
        let found = block_on(table.index().filter(condition.clone())).unwrap();
        same(&found, &whole.filter(condition.clone()).unwrap(), &condition.to_string());
        pruned += u64::from(block_on(table.index().filter(condition).explain()).unwrap().rows < table.rows());
    }
    assert!(pruned > 20, "{pruned} conditions left out rows");
    // polars refuses lists of times in a finer unit. So does a request that skips rows.
    for unit in [TimeUnit::Milliseconds, TimeUnit::Nanoseconds] {
        let condition = col("stamp").is_in(stamps(5_000, unit), false);
        match (block_on(table.index().filter(condition.clone())), whole.filter(condition)) {
            (Ok(found), Ok(expected)) => same(&found, &expected, "times in another unit"),
            (found, expected) => assert_eq!(found.unwrap_err().to_string(), expected.unwrap_err().to_string()),
        }
    }
    // One list for each row: polars refuses it where it splits the rows. No other rows may come out of it.
    let mut lists = ListPrimitiveChunkedBuilder::<Int8Type>::new("".into(), whole.len(), whole.len(), DataType::Int8);
    (0..whole.len()).for_each(|row| lists.append_slice(&[(row % 251) as u8 as i8, 3][row % 2..]));
    let each = col("tiny").is_in(lit(lists.finish().into_series()), false);
    // The message has the rows of the thread of polars that failed first.
    let error_text = |error: Error| error.to_string().replace(|letter: char| letter.is_ascii_digit(), "");
    for condition in [each.clone(), each.and(col("stamp").gt(ticks(80_000, TimeUnit::Microseconds)))] {
        match (block_on(table.index().filter(condition.clone())), whole.filter(condition)) {
            (Ok(found), Ok(expected)) => same(&found, &expected, "lists of rows"),
            (found, expected) => assert_eq!(error_text(found.unwrap_err()), error_text(expected.unwrap_err())),
        }
    }
    for (sql, less) in [("day > '1970-05-03'", true), ("stamp <= '1970-01-01'", true), ("stamp > '1970-01-01T00:00:00'", false)] {
        let found = block_on(table.index().filter_sql(sql)).unwrap();
        same(&found, &whole.filter_sql(sql).unwrap(), sql);
        let rows = block_on(table.index().filter_sql(sql).explain()).unwrap().rows;
        assert!(!less || rows < table.rows(), "{sql}: {rows} rows");
    }
}

#[test]
fn a_pruned_scan_has_every_row_that_the_condition_chooses_and_reads_less() {
    let mut rng = Rng(common::seed());
    let (_, table, counting) = table(true);
    let whole = block_on(table.index()).unwrap();
    let index_bytes: u64 = table.manifest().segments.iter().map(|segment| segment.index.bytes).sum();
    let names: Vec<String> = table.schema().index().map(|column| column.name.clone()).collect();
    let scanned = |columns: &[&str], condition: &Expr| {
        let mut scan = fresh(&table).scan_index().unwrap().columns(columns).unwrap().prune(condition);
        let empty = scan.empty().unwrap();
        let locator = empty.get_column_names().last().unwrap().as_str();
        let mut found = empty.select(columns.iter().copied().chain([locator])).unwrap();
        let mut rows = 0;
        while let Some(part) = block_on(scan.next()).unwrap() {
            assert_eq!(part.len(), part.rows().iter().map(|rows| rows.end - rows.start).sum::<u64>());
            rows += part.len();
            let frame = part.frame(columns, true).unwrap();
            found.vstack_mut(&frame.lazy().filter(condition.clone()).collect().unwrap()).unwrap();
        }
        (rows, found)
    };
    let every: Vec<&str> = names.iter().map(String::as_str).collect();
    for case in 0..if common::full() { 200 } else { 12 } {
        let condition = if case % 2 == 0 { condition(&mut rng, case % 3).1 } else { later_condition(&mut rng) };
        let (_, found) = scanned(&every, &condition);
        let expected = whole.filter(condition.clone()).unwrap();
        assert!(found.equals_missing(expected.frame()), "{condition}: {found} {}", expected.frame());
    }
    counting.reset();
    let (rows, found) = scanned(&["log", "time"], &col("log").eq(lit("log-0042")));
    let bytes = counting.reset().bytes_read;
    assert!(found.height() == 737 && rows <= 2 * 8_192 && bytes * 4 < index_bytes, "{rows} rows, {bytes} of {index_bytes}");
    let mut scan = table.scan_index().unwrap().columns(["log"]).unwrap();
    let part = block_on(scan.next()).unwrap().unwrap();
    assert_eq!(part.frame(["time"], false).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn an_expression_as_json_leaves_out_rows_for_which_it_is_not_true() {
    let (_, table, _) = table(true);
    let whole = block_on(table.index()).unwrap();
    let of_log = r#"{"BinaryExpr":{"left":{"Column":"log"},"op":"Eq","right":{"Literal":{"Scalar":{"String":"log-0042"}}}}}"#;
    let (condition, request) = (col("log").eq(lit("log-0042")), || table.index().prune_json(of_log));
    let found = block_on(request()).unwrap();
    assert!(found.len() < 2 * 8_192, "{} rows", found.len());
    assert_eq!(found.len() as u64, block_on(request().explain()).unwrap().rows);
    same(&found.filter(condition.clone()).unwrap(), &whole.filter(condition.clone()).unwrap(), "rows of a log");
    // The mean is that of all rows.
    let above = col("tiny").gt(col("tiny").mean());
    let found = block_on(request().filter(above.clone())).unwrap();
    same(&found, &whole.filter(above).unwrap(), "a mean");
    for unknown in ["", "{}", "no JSON", r#"{"BinaryExpr":{"left":{"Column":"logs"},"op":"Eq","right":{}}}"#] {
        same(&block_on(table.index().prune_json(unknown)).unwrap(), &whole, unknown);
    }
}

#[test]
fn a_condition_over_all_rows_sees_all_rows() {
    let (_, table, _) = table(true);
    let whole = block_on(table.index()).unwrap();
    let late = col("time").gt(lit(1_700_000_000_080_000_000_i64));
    let above = col("tiny").gt(col("tiny").mean());
    let first = late.clone().and(above.clone());
    same(&block_on(table.index().filter(first.clone())).unwrap(), &whole.filter(first).unwrap(), "one condition");
    let expected = whole.filter(above.clone()).unwrap().filter(late.clone()).unwrap();
    same(&block_on(table.index().filter(above.clone()).filter(late.clone())).unwrap(), &expected, "the mean first");
    let expected = whole.filter(late.clone()).unwrap().filter(above.clone()).unwrap();
    same(&block_on(table.index().filter(late).filter(above)).unwrap(), &expected, "the mean second");
    let sql = "tiny > 5 AND LAG(tiny) OVER (ORDER BY time) < 3";
    let (found, expected) = (block_on(table.index().filter_sql(sql)), whole.filter_sql(sql));
    match expected {
        Ok(expected) => same(&found.unwrap(), &expected, sql),
        Err(error) => assert_eq!(found.unwrap_err().to_string(), error.to_string()),
    }
}

#[test]
fn chosen_rows_keep_no_other_rows_in_memory_and_merge_after_these_are_loaded() {
    let (_, table, _) = table(true);
    let whole = block_on(table.index()).unwrap();
    let right = whole.select([col("log"), col("time")]).unwrap();
    let merge = Merge::on(["log", "time"]).last();
    for (sql, most) in [
        // One row in 251, with texts of about a hundred bytes.
        ("tiny = 3", 450),
        // Consecutive rows.
        ("time < 1700000000000100000 AND time >= 1700000000000000000", 100),
        ("log >= 'a'", 88_571),
    ] {
        let (chosen, expected) = (block_on(table.index().filter_sql(sql)).unwrap(), whole.filter_sql(sql).unwrap());
        same(&chosen, &expected, sql);
        assert!((1..=most).contains(&chosen.len()), "{} rows", chosen.len());
        let each = chosen.memory().bytes() / chosen.len() as u64;
        assert!(each < 400, "{each} bytes a row");
        assert!(chosen.lacks_rows() && !expected.lacks_rows());
        let refused = chosen.merge(&right, &merge).unwrap_err();
        assert!(refused.kind() == ErrorKind::Invalid && refused.to_string().contains("with_sources"), "{refused}");
        let merged = block_on(chosen.with_sources()).unwrap();
        assert!(!merged.lacks_rows());
        let (merged, expected) = (merged.merge(&right, &merge).unwrap(), expected.merge(&right, &merge).unwrap());
        same(&merged, &expected, sql);
        let windows = [merged, expected].map(|index| block_on(RowLoader::new(&index).unwrap().get_rows(0, -3..=3)).unwrap());
        assert_eq!(windows[0].table_rows(), windows[1].table_rows());
    }
}

#[test]
fn a_long_text_that_repeats_is_in_memory_once_also_if_a_row_is_left_out() {
    let rows = 70_000;
    let schema = Schema::builder().index("row", "i64").index("url", "utf8").build().unwrap();
    let url = |row: i64| format!("https://recordings.example.org/a/long/path/to/a/drive-{:02}", row / 20_000);
    let batch = RecordBatch::try_from_iter([
        ("row", Arc::new(Int64Array::from_iter_values(0..rows)) as ArrayRef),
        ("url", Arc::new(LargeStringArray::from_iter_values((0..rows).map(url))) as ArrayRef),
    ]);
    let table = block_on(write(memory().1, schema, WriteOptions::default(), &[batch.unwrap()])).unwrap();
    let most = block_on(table.index().filter_sql("row <> 17")).unwrap();
    same(&most, &block_on(table.index()).unwrap().filter_sql("row <> 17").unwrap(), "most rows");
    assert!(most.memory().bytes() < rows as u64 * (8 + 16 + 8) + 4_096, "{:?}", most.memory());
}

#[test]
fn a_condition_that_is_refused_reads_nothing() {
    let (_, table, counting) = table(true);
    let whole = block_on(table.index()).unwrap();
    for sql in ["nothing_like_it > 3", "log > 3 + 'a'", "tiny"] {
        let expected = whole.filter_sql(sql).unwrap_err();
        let request = fresh(&table).index().filter_sql(sql);
        counting.reset();
        let found = block_on(request).unwrap_err();
        assert_eq!((found.kind(), found.to_string()), (expected.kind(), expected.to_string()));
        assert_eq!(counting.reset().gets.len(), 0, "{sql}");
    }
}

#[test]
fn a_function_sees_its_columns_of_parts_of_the_rows() {
    let (_, table, counting) = table(true);
    let whole = block_on(table.index()).unwrap();
    let expected = whole.filter(col("tiny").eq(lit(3))).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let tiny = |value: i8| {
        let seen = Arc::clone(&seen);
        move |frame: DataFrame| {
            seen.lock().unwrap().push(frame.height());
            assert_eq!(frame.get_column_names(), ["tiny"]);
            Ok(frame.column("tiny")?.i8()?.iter().map(|tiny| Some(tiny? == value)).collect())
        }
    };
    same(&block_on(table.index().filter_with(["tiny"], tiny(3))).unwrap(), &expected, "one function");
    let heights = std::mem::take(&mut *seen.lock().unwrap());
    assert_eq!((heights[0], heights.iter().sum::<usize>()), (0, whole.len()), "{heights:?}");
    // Only rows of a log are read, and all rows for a mean.
    let of_log = col("log").eq(lit("log-0042"));
    let found = block_on(table.index().columns(["time"]).filter(of_log.clone()).filter_with(["tiny"], tiny(3))).unwrap();
    same(&found, &expected.filter(of_log).unwrap().select([col("time")]).unwrap(), "of a log");
    assert!(seen.lock().unwrap().iter().sum::<usize>() <= 8_192);
    let above = col("tiny").gt(col("tiny").mean());
    let found = block_on(table.index().filter_with(["tiny"], tiny(100)).filter(above.clone())).unwrap();
    same(&found, &whole.filter(col("tiny").eq(lit(100))).unwrap().filter(above).unwrap(), "and a mean");
    // Nothing is true for a row without a value, and a function without columns only knows how many rows there are.
    let none = |frame: DataFrame| Ok(BooleanChunked::full_null("".into(), frame.height()));
    assert_eq!(block_on(table.index().filter_with(["tiny"], none)).unwrap().len(), 0);
    let all = |frame: DataFrame| Ok(BooleanChunked::full("".into(), true, frame.height()));
    same(&block_on(table.index().filter_with([""; 0], all)).unwrap(), &whole, "no columns");
    // The index of a view is loaded as a whole.
    let folder = tempfile::tempdir().unwrap();
    let url = |name: &str| folder.path().join(name).display().to_string();
    let schema = Schema::builder().index("tiny", "i8").build().unwrap();
    let batch = RecordBatch::try_from_iter([("tiny", Arc::new(Int8Array::from_iter_values(0..9)) as ArrayRef)]).unwrap();
    let small = block_on(write(Store::open(&url("t")).unwrap(), schema, WriteOptions::default(), &[batch])).unwrap();
    let view = block_on(block_on(small.index().filter_sql("tiny > 2")).unwrap().save(&url("view"))).unwrap().table;
    assert_eq!([2, 3].map(|value| block_on(view.index().filter_with(["tiny"], tiny(value))).unwrap().len()), [0, 1]);
    // What fails, fails before anything is read if it fails without rows.
    let table = fresh(&table);
    counting.reset();
    let error = block_on(table.index().filter_with(["tinny"], all)).unwrap_err();
    assert_eq!((error.kind(), error.to_string()), (ErrorKind::NotFound, "no index column `tinny`; nearest: `tiny`".to_owned()));
    let wrong = |frame: DataFrame| frame.column("tiny")?.bool().cloned();
    let error = block_on(table.index().filter_with(["tiny"], wrong)).unwrap_err();
    assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("filter_with: "), "{error}");
    let one = |_| Ok(BooleanChunked::full("".into(), true, 1));
    let error = block_on(table.index().filter_with(["tiny"], one)).unwrap_err();
    assert_eq!(error.to_string(), "filter_with: the function returned 1 value for 0 rows");
    assert_eq!(counting.reset().gets.len(), 0);
    let late = |frame: DataFrame| match frame.height() {
        0 => Ok(BooleanChunked::full("".into(), true, 0)),
        _ => Err(polars_err!(ComputeError: "no more")),
    };
    let error = block_on(table.index().filter_with(["tiny"], late)).unwrap_err();
    assert_eq!((error.kind(), error.to_string()), (ErrorKind::Invalid, "filter_with: no more".to_owned()));
}

/// Categories have other numbers in each part of an index.
#[test]
fn a_function_prunes_rows_only_where_it_gives_the_same_rows_in_every_part() {
    let (_, table, _) = table(true);
    let all = block_on(table.index()).unwrap().len();
    let test = r#"{"BinaryExpr":{"left":{"Column":"log"},"op":"Eq","right":{"Literal":{"Scalar":{"String":"log-0042"}}}}}"#;
    let cast = r#"{"Cast":{"expr":{"Column":"log"},"dtype":{"Literal":"UInt32"},"options":"Strict"}}"#;
    for (columns, expression, categorical, prunes) in [
        (&["log"][..], Some(test), true, true),
        (&["log"], Some(cast), true, false),
        (&["log"], Some(cast), false, true),
        (&["log"], None, true, false),
        (&["log"], None, false, true),
        (&["tiny", "time"], Some(cast), true, true),
        (&["tiny", "log"], Some(cast), true, false),
        (&[], Some(test), false, false),
        (&["no such column"], Some(test), false, false),
    ] {
        let request = if categorical { table.index().categorical() } else { table.index() };
        let nothing = |frame: DataFrame| Ok(BooleanChunked::full("".into(), false, frame.height()));
        let found = block_on(request.prune_with(columns.iter().copied(), expression, nothing)).unwrap();
        assert_eq!(found.len(), if prunes { 0 } else { all }, "{columns:?} {expression:?} {categorical}");
    }
}

#[test]
fn a_log_takes_a_small_part_of_the_index_and_its_rows_can_be_read() {
    let (_, table, counting) = table(true);
    let request = || table.index().filter_sql("log = 'log-0042'");
    let explained = block_on(request().explain()).unwrap();
    assert_eq!((explained.segments, explained.objects, explained.whole_objects), (3, 1, 0), "{explained}");
    assert_eq!((explained.row_groups, explained.row_groups_read), (2, 1), "{explained}");
    assert!(explained.rows <= 2 * 8_192 && explained.bytes * 2 < explained.index_bytes, "{explained}");
    assert!(explained.to_string().contains("1 of 3"), "{explained}");
    let index = block_on(request()).unwrap();
    same(&index, &block_on(fresh(&table).index()).unwrap().filter_sql("log = 'log-0042'").unwrap(), "one log");
    assert_eq!((index.len(), index.frame().column("note").unwrap().null_count() > 0), (737, true));
    let loader = RowLoader::new(&index).unwrap();
    counting.reset();
    let window = block_on(loader.get_rows(0, -5..=5)).unwrap();
    assert_eq!(window.table_rows()[5..], (0..6).map(|row| Some(42 * 737 + row)).collect::<Vec<_>>());
    assert!(window.mask()[..5].iter().all(|there| !there), "the window ends where the log begins");
    // The sequences come from the tails.
    let index_bytes: u64 = table.manifest().segments.iter().map(|segment| segment.index.bytes).sum();
    let gets = counting.reset().gets;
    let read: u64 = gets.iter().filter(|get| get.path.starts_with("index/")).map(|get| get.bytes).sum();
    let tails: u64 = table.manifest().segments.iter().filter_map(|segment| segment.tail.as_ref()).map(|tail| tail.bytes).sum();
    assert!(0 < read && read < tails && tails * 5 < index_bytes, "{read} of {index_bytes}, tails of {tails}; one was held");
}

#[test]
fn chosen_columns_are_read_alone() {
    let (_, with, counting) = table(true);
    let whole = block_on(with.index()).unwrap();
    counting.reset();
    let found = block_on(with.index().columns(["time", "w*"])).unwrap();
    let bytes = counting.reset().bytes_read;
    same(&found, &whole.select([col("time"), col("weight")]).unwrap(), "columns");
    assert_eq!(bytes, block_on(with.index().columns(["time", "w*"]).explain()).unwrap().bytes);
    // The second time, the tails are there.
    let again = block_on(with.index().columns(["time", "w*"]).categorical()).unwrap();
    let tails: u64 = with.manifest().segments.iter().filter_map(|segment| segment.tail.as_ref()).map(|tail| tail.bytes).sum();
    assert_eq!((again.len(), counting.reset().bytes_read), (found.len(), bytes - tails));
    let all: u64 = with.manifest().segments.iter().map(|segment| segment.index.bytes).sum();
    assert!(bytes * 2 < all, "{bytes} of {all}");
    // Conditions may need columns that are not chosen.
    let found = block_on(with.index().columns(["tiny"]).filter_sql("flag = true AND weight > 100.0")).unwrap();
    let expected = whole.filter_sql("flag = true AND weight > 100.0").unwrap().select([col("tiny")]).unwrap();
    same(&found, &expected, "a condition over other columns");
    let error = block_on(with.index().columns(["tims"])).unwrap_err();
    assert!(error.kind() == ErrorKind::NotFound && error.to_string().contains("time"), "{error}");
    let error = block_on(with.index().filter_sql("time > 3; DROP TABLE t")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
}

#[test]
fn queries_have_the_same_answer_over_the_part_that_they_need() {
    let (_, table, _) = table(true);
    let whole = block_on(table.index()).unwrap();
    let all = block_on(table.index().explain()).unwrap().bytes;
    for (sql, less) in [
        ("SELECT log, COUNT(*) AS rows FROM t WHERE log > 'log-0100' GROUP BY log ORDER BY log", true),
        ("SELECT COUNT(*) FROM t", true),
        ("SELECT MAX(tiny) AS m, MIN(weight) FROM t WHERE day = '1970-01-03' AND flag IS NOT NULL", true),
        ("SELECT time FROM t WHERE time > 1700000000080000000 AND tiny > (SELECT AVG(tiny) FROM t) ORDER BY time", false),
        ("SELECT * FROM t WHERE log = 'log-0003' ORDER BY time LIMIT 3", true),
        ("SELECT tiny FROM t WHERE log = 'log-0003' UNION ALL SELECT tiny FROM t WHERE log = 'log-0004'", false),
        ("WITH t2 AS (SELECT * FROM t) SELECT log FROM t2 WHERE tiny = 5 ORDER BY log LIMIT 7", false),
        ("SELECT a.tiny FROM t AS a WHERE a.log = 'log-0009' ORDER BY a.time", false),
        ("SELECT \"^ti.*$\" FROM t WHERE log = 'log-0003' ORDER BY time", false),
    ] {
        let request = || table.index().for_query(sql);
        let explained = block_on(request().explain()).unwrap();
        let (found, expected) = (block_on(request()).unwrap().query(sql), whole.query(sql));
        match expected {
            Ok(expected) => assert!(found.unwrap().equals_missing(&expected), "{sql}"),
            Err(error) => assert_eq!(found.unwrap_err().to_string(), error.to_string(), "{sql}"),
        }
        assert!(!less || explained.bytes < all, "{sql}: {explained}");
    }
}

#[test]
fn a_tail_that_fails_its_check_drops_no_row() {
    let (raw, table, _) = table(true);
    let whole = block_on(table.index()).unwrap();
    let sql = "log = 'log-0042' OR weight > 390.0";
    let expected = whole.filter_sql(sql).unwrap();
    let other = |tail: &ObjectRef| ObjectRef { blake3: Hash::of(b"another"), ..tail.clone() };
    let short = |tail: &ObjectRef| ObjectRef { bytes: tail.bytes - 1, ..tail.clone() };
    let long = |tail: &ObjectRef| ObjectRef { bytes: tail.bytes + 1, ..tail.clone() };
    let changes: [&dyn Fn(&ObjectRef) -> ObjectRef; 3] = [&other, &short, &long];
    for change in changes {
        let mut manifest: Manifest = table.manifest().clone();
        manifest.segments.iter_mut().for_each(|segment| segment.tail = segment.tail.as_ref().map(change));
        manifest.parent = Some(Parent { version: manifest.version, blake3: table.manifest_hash() });
        manifest.version += 1;
        let (bytes, _) = manifest.to_bytes().unwrap();
        block_on(overwrite(&*raw, &tetrys::format::manifest_name(manifest.version), &bytes));
        let forged = block_on(Table::open_in(over(raw.clone()))).unwrap();
        let found = block_on(forged.index().filter_sql(sql)).unwrap();
        assert_eq!(found.len(), expected.len());
        assert!(
            found.select([col("note")]).unwrap().frame().columns()[0].equals_missing(expected.frame().column("note").unwrap())
        );
        assert_eq!(block_on(forged.sequences()).unwrap().len(), 114);
        let verified = block_on(forged.storage().verify(|_, _| {})).unwrap();
        assert!(verified.damage.iter().any(|damage| damage.problem.contains("tail")), "{:?}", verified.damage);
    }
}

#[test]
fn a_flipped_byte_of_an_index_is_found_or_harmless() {
    let (raw, table, _) = table(true);
    let whole = block_on(table.index()).unwrap();
    let segment = &table.manifest().segments[1];
    let name = format!("index/{}.parquet", segment.index.blake3);
    let sound = block_on(async { raw.get(&Path::from(name.as_str())).await.unwrap().bytes().await.unwrap() });
    let sql = "log = 'log-0110' AND weight > 0.0";
    let expected = whole.filter_sql(sql).unwrap();
    let (mut rng, tail) = (Rng(common::seed()), segment.tail.as_ref().unwrap().bytes);
    let (mut found, mut harmless) = (0, 0);
    for case in 0..if common::full() { 600 } else { 60 } {
        let mut bytes = sound.to_vec();
        let place = match case % 2 {
            0 => sound.len() as u64 - 1 - rng.below(tail),
            _ => rng.below(sound.len() as u64),
        };
        bytes[place as usize] ^= 1 << rng.below(8);
        if case == 5 {
            bytes.truncate(sound.len() / 2);
        }
        block_on(overwrite(&*raw, &name, &bytes));
        match block_on(fresh(&table).index().filter_sql(sql)) {
            Ok(index) => {
                same(&index, &expected, &format!("byte {place}"));
                harmless += 1;
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
                found += 1;
            }
        }
    }
    assert!(found > 25 && harmless > 5, "{found} found, {harmless} harmless");
}

#[test]
fn later_versions_keep_tails_and_compaction_and_edits_write_them() {
    let (_, table, _) = table(true);
    block_on(async {
        let writer = table.append(WriteOptions::default()).await.unwrap();
        let mut partition = writer.partition().unwrap();
        partition.write(&rows(&mut Rng(5), 114..116, 50, 3)).await.unwrap();
        let longer = writer.commit([partition.finish().await.unwrap()]).await.unwrap();
        let renamed = longer.edit().rename_column("weight", "mass").commit().await.unwrap();
        let fewer = renamed.delete([0, 5, 80_000], WriteOptions::default()).await.unwrap();
        for version in [longer, renamed, fewer] {
            assert!(version.manifest().segments.iter().all(|segment| segment.tail.is_some()), "version {}", version.version());
            let whole = version.index().await.unwrap();
            let found = version.index().filter_sql("log >= 'log-0112'").await.unwrap();
            same(&found, &whole.filter_sql("log >= 'log-0112'").unwrap(), "a later version");
            let verified = version.storage().verify(|_, _| {}).await.unwrap();
            assert!(verified.damage.is_empty(), "{:?}", verified.damage);
        }
    });
}
