//! Runs the commands that the viewer's page offers to copy. One prints the rows that the page shows, and one saves them as a view. Filters, sorts
//! and flags are random, and values lie at the edges of their types.

use std::{cmp::Ordering, io::Cursor, path::Path, sync::Arc};

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, DurationMillisecondArray, Float32Array, Float64Array, Int8Array, Int64Array,
    LargeStringArray, RecordBatch, TimestampMicrosecondArray, TimestampNanosecondArray, UInt64Array, cast::AsArray,
    types::Int64Type,
};
use serde_json::Value;
use tetrys::{Schema, Table, WriteOptions};

use crate::{
    common,
    viewing::{asked, run_copied, started},
};

/// Rows of the table.
const ROWS: usize = 48;

const BIG: [u64; 10] =
    [0, 1, (1 << 53) - 1, 1 << 53, (1 << 53) + 1, i64::MAX as u64, 1 << 63, (1 << 63) + 1, u64::MAX - 1, u64::MAX];
const WHOLE: [i64; 9] = [i64::MIN, i64::MIN + 1, -(1 << 53) - 1, -1, 0, 1, (1 << 53) + 1, i64::MAX - 1, i64::MAX];
const FLOAT: [f64; 10] = [f64::NAN, -0.0, 0.0, 5e-324, 0.1, -1.5, 1e21, f64::MAX, f64::INFINITY, f64::NEG_INFINITY];
const HALF: [f32; 6] = [f32::NAN, -0.0, 0.0, 0.1, f32::MAX, 1e-45];
const TEXT: [&str; 12] = [
    "",
    "it's",
    "a \"b\"",
    "line\nbreak",
    "\r\n\t",
    "back\\slash \\n",
    "ünï 😀",
    "$HOME `id` $(id)",
    "100 %",
    "'; --",
    "/* not a comment */",
    "-",
];
/// Columns whose names mean something elsewhere.
const ODD: &str = "an \"odd\" [name]*";
const PATTERN: &str = "^.*$";

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }

    fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    /// Returns a value for each row; one of six has none.
    fn column<T: Copy>(&mut self, values: &[T]) -> Vec<Option<T>> {
        (0..ROWS).map(|_| (self.below(6) > 0).then(|| self.of(values))).collect()
    }
}

/// Values of some columns of the table.
struct Edges {
    big: Vec<Option<u64>>,
    whole: Vec<Option<i64>>,
    float: Vec<Option<f64>>,
}

/// Writes a table of values at the edges of their types, in two partitions. Column `id` counts its rows.
async fn write_edges(root: &Path, random: &mut Random) -> Edges {
    let edges = Edges { big: random.column(&BIG), whole: random.column(&WHOLE), float: random.column(&FLOAT) };
    let schema = Schema::builder().index("id", "i64").index("big", "u64").index("whole", "i64").index("small", "i8");
    let schema = schema.index("float", "f64").index("half", "f32").index("text", "utf8").index(ODD, "bool");
    let schema = schema.index("row", "i64").index("day", "date").index("time", "timestamp[ns]");
    let schema = schema.index("zoned", "timestamp[us,UTC]").index("span", "duration[ms]").index(PATTERN, "i64");
    let writer = Table::create(root.to_str().unwrap(), schema.build().unwrap(), WriteOptions::default()).await.unwrap();
    let zoned = TimestampMicrosecondArray::from(random.column(&[-1, 0, 1_700_000_000_000_000])).with_timezone("UTC");
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from_iter_values(0..ROWS as i64))),
        ("big", Arc::new(UInt64Array::from(edges.big.clone()))),
        ("whole", Arc::new(Int64Array::from(edges.whole.clone()))),
        ("small", Arc::new(Int8Array::from(random.column(&[i8::MIN, -1, 0, 1, i8::MAX])))),
        ("float", Arc::new(Float64Array::from(edges.float.clone()))),
        ("half", Arc::new(Float32Array::from(random.column(&HALF)))),
        ("text", Arc::new(LargeStringArray::from(random.column(&TEXT)))),
        (ODD, Arc::new(BooleanArray::from(random.column(&[true, false])))),
        ("row", Arc::new(Int64Array::from(random.column(&[3, 5, 8])))),
        ("day", Arc::new(Date32Array::from(random.column(&[-1, 0, 18_262, 19_000])))),
        ("time", Arc::new(TimestampNanosecondArray::from(random.column(&[-1, 0, 1, 1_577_836_800_000_000_001])))),
        ("zoned", Arc::new(zoned)),
        ("span", Arc::new(DurationMillisecondArray::from(random.column(&[-1, 0, 86_400_000])))),
        (PATTERN, Arc::new(Int64Array::from(random.column(&[1, 2])))),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap();
    let mut receipts = Vec::new();
    for (start, rows) in [(0, 20), (20, ROWS - 20)] {
        let mut partition = writer.partition().unwrap();
        partition.write(&batch.slice(start, rows)).await.unwrap();
        receipts.push(partition.finish().await.unwrap());
    }
    writer.commit(receipts).await.unwrap();
    edges
}

/// Returns a condition as people write it, or as the page writes it after a click.
fn condition(random: &mut Random) -> String {
    let odd = "\"an \"\"odd\"\" [name]*\"";
    let comparison = random.of(&["=", "<>", "<", "<=", ">", ">="]);
    match random.below(16) {
        0 => format!("\"big\" {comparison} {}", random.of(&BIG)),
        1 => format!("\"big\" >= {} AND \"big\" < {}", random.of(&BIG), random.of(&BIG)),
        2 => format!("\"whole\" {comparison} {}", random.of(&WHOLE)),
        3 => format!("\"float\" {comparison} {}", random.of(&["-0.0", "0.0", "0.1", "5e-324", "1e+21", "-1.5"])),
        4 => format!("\"half\" {comparison} {}", random.of(&["0.10000000149011612", "0", "3.4028234663852886e+38"])),
        5 | 6 => format!("\"text\" {comparison} '{}'", random.of(&TEXT).replace('\'', "''")),
        7 => format!("{odd} = {}", random.of(&["true", "false"])),
        8 => format!("\"{}\" IS NULL", random.of(&["big", "text", "time", "day", "row"])),
        9 => "-small > -2\n  AND id > 3".to_owned(),
        10 => format!("day {comparison} '2020-01-01'"),
        11 => format!("time {comparison} '2020-01-01'"),
        12 => "\"text\" LIKE '%n%' OR small = 1".to_owned(),
        13 => format!("whole = {}(whole)", random.of(&["MAX", "MIN"])),
        14 => format!("\"row\" IN ({}, 8)", random.of(&[3, 5])),
        _ => format!("id % {} = 1", 2 + random.below(3)),
    }
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Returns random parameters of a choice of rows.
fn parameters(random: &mut Random) -> String {
    let mut query = String::from("table=0");
    for _ in 0..random.below(3) {
        query.push_str(&format!("&where={}", encoded(&condition(random))));
    }
    if random.below(3) > 0 {
        let column = random.of(&["big", "whole", "float", "half", "text", ODD, "row", "day", "time", "zoned", "span", PATTERN]);
        query.push_str(&format!("&sort={}&descending={}", encoded(column), random.below(2)));
    }
    if random.below(4) == 0 {
        let rows: Vec<String> = (0..random.below(12)).map(|_| random.below(ROWS).to_string()).collect();
        query.push_str(&format!("&only={}", rows.join(",")));
    }
    query
}

/// Returns column `id` of an answer with rows.
fn ids(body: Vec<u8>) -> Vec<i64> {
    let body_text = String::from_utf8_lossy(&body).into_owned();
    let reader = arrow_ipc::reader::StreamReader::try_new(Cursor::new(body), None);
    let batch = reader.unwrap_or_else(|_| panic!("{body_text}")).next().unwrap().unwrap();
    batch.column_by_name("id").unwrap().as_primitive::<Int64Type>().values().to_vec()
}

/// Compares columns with literals as the page and people write them, and the rows with those of a plain model.
fn comparisons_are_exact(edges: &Edges, shown: impl Fn(&str) -> Vec<i64>) {
    fn check<T: Copy>(
        values: &[Option<T>],
        column: &str,
        literals: &[(String, T)],
        order: impl Fn(&T, &T) -> Ordering,
        shown: &impl Fn(&str) -> Vec<i64>,
    ) {
        type Holds = fn(Ordering) -> bool;
        let operators: [(&str, Holds); 6] = [
            ("=", Ordering::is_eq),
            ("<>", Ordering::is_ne),
            ("<", Ordering::is_lt),
            ("<=", Ordering::is_le),
            (">", Ordering::is_gt),
            (">=", Ordering::is_ge),
        ];
        for (text, literal) in literals {
            for (operator, holds) in operators {
                let condition = format!("\"{column}\" {operator} {text}");
                let is_chosen = |value: &Option<T>| value.is_some_and(|value| holds(order(&value, literal)));
                let expected: Vec<i64> = (0..ROWS).filter(|row| is_chosen(&values[*row])).map(|row| row as i64).collect();
                assert_eq!(shown(&condition), expected, "{condition}");
            }
        }
    }
    check(&edges.big, "big", &BIG.map(|value| (value.to_string(), value)), Ord::cmp, &shown);
    check(&edges.whole, "whole", &WHOLE.map(|value| (value.to_string(), value)), Ord::cmp, &shown);
    // As JavaScript writes them. NaN is above all other values.
    let floats =
        [("-0", 0.0), ("5e-324", 5e-324), ("0.1", 0.1), ("-1.5", -1.5), ("1e+21", 1e21), ("1.7976931348623157e+308", f64::MAX)];
    let order = |left: &f64, right: &f64| match left.partial_cmp(right) {
        Some(order) => order,
        None => left.is_nan().cmp(&right.is_nan()),
    };
    check(&edges.float, "float", &floats.map(|(text, value)| (text.to_owned(), value)), order, &shown);
}

#[test]
fn copied_commands_give_the_rows_that_the_page_shows() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    let mut random = Random(common::seed());
    let edges = runtime.block_on(write_edges(&folder.path().join("edges"), &mut random));
    let (_viewer, host, token) = started(folder.path(), &["edges", "--no-open"]);
    comparisons_are_exact(&edges, |condition| {
        ids(asked(&host, &token, &format!("/api/rows?table=0&start=0&count=1000&where={}", encoded(condition))))
    });
    let (mut saved, mut found) = (0, 0);
    for case in 0..common::cases(40) {
        let choice = parameters(&mut random);
        let shown = ids(asked(&host, &token, &format!("/api/rows?start=0&count=1000&{choice}")));
        found += shown.len();
        let copies: Value = serde_json::from_slice(&asked(&host, &token, &format!("/api/copies?{choice}"))).unwrap();
        let printed = run_copied(folder.path(), copies["command"].as_str().unwrap());
        let mut reader = csv::Reader::from_reader(printed.as_bytes());
        let printed: Vec<i64> = reader.records().map(|record| record.unwrap()[0].parse().unwrap()).collect();
        assert_eq!(printed, shown, "case {case}: {copies}");
        // Flagged rows are no view.
        assert_eq!(copies["view"].is_null(), choice.contains("&only="), "{copies}");
        let Some(view) = copies["view"].as_str() else { continue };
        let name = format!("view{case}");
        run_copied(folder.path(), &view.replace("NAME", &name));
        let root = folder.path().join(&name).display().to_string();
        let index = runtime.block_on(async { Table::open(&root).await.unwrap().index().await.unwrap() });
        let kept = index.to_frame().column("id").unwrap().i64().unwrap().into_no_null_iter().collect::<Vec<_>>();
        assert_eq!(kept, shown, "case {case}: {copies}");
        saved += 1;
    }
    assert!(saved > 10 && found > 100, "{saved} views, {found} rows");
}
