//! Tests `tetrys ingest` of Parquet, Arrow, CSV and NDJSON files, sessions, exports, and error messages for bad input.

use crate::binary;
use std::{
    fs::{self, File},
    path::Path,
    sync::Arc,
};

use crate::binary::{tetrys, tetrys_with};
use arrow_array::{ArrayRef, DictionaryArray, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray, types::Int32Type};
use serde_json::json;

/// The first bytes of a PNG of 640 by 480 pixels.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0";

/// Writes twelve rows of two logs as Parquet and Arrow, and the picture files that they name.
fn dump(folder: &Path) {
    fs::create_dir(folder.join("pictures")).unwrap();
    for row in 0..12 {
        fs::write(folder.join(format!("pictures/{row}.png")), [PNG, &vec![row; 1000]].concat()).unwrap();
    }
    let texts = |text: &dyn Fn(i64) -> String| Arc::new(StringArray::from_iter_values((0..12).map(text))) as ArrayRef;
    let columns = [
        ("log_id", texts(&|row| format!("log-{}", row / 6))),
        ("time", Arc::new(TimestampMillisecondArray::from_iter_values((0..12).map(|row| 1_500_000_000_000 + 100 * row)))),
        ("vehicle", Arc::new((0..12).map(|row| if row < 6 { "a101" } else { "a102" }).collect::<DictionaryArray<Int32Type>>())),
        ("path", texts(&|row| format!("pictures/{row}.png"))),
        ("ego.speed", Arc::new((0..12).collect::<Int64Array>())),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = |name: &str| File::create(folder.join(name)).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(file("frame.parquet"), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let mut writer = arrow_ipc::writer::FileWriter::try_new(file("frame.arrow"), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
}

#[test]
fn a_dump_becomes_a_table_that_can_be_asked() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    dump(folder);
    let text = tetrys(
        folder,
        "ingest parquet frame.parquet drives --blob camera.png=path --group ego=ego.* --sequence-by log_id --order-by time",
    );
    let text = text.ok();
    assert!(text.contains("drives: 12 rows, 2 sequences in ") && text.contains("\nego "), "{text}");
    tetrys(folder, "ingest arrow frame.arrow again --blob camera.png=path --group ego=ego.* --sequence-by log_id -q").ok();
    let chunks = |table: &str| tetrys(folder, &format!("layout {table} --json")).json()["groups"].clone();
    assert_eq!(chunks("drives"), chunks("again"));

    let sql = "SELECT vehicle, MAX(time) AS last, COUNT(*) AS rows FROM t GROUP BY vehicle ORDER BY vehicle DESC";
    let found = tetrys_with(folder, &["query", "drives", sql, "--csv"]).ok();
    assert_eq!(found, "vehicle,last,rows\na102,2017-07-14T02:40:01.1,6\na101,2017-07-14T02:40:00.5,6\n");
    let stats = tetrys(folder, "stats drives --columns vehicle --json").json();
    assert_eq!(
        (&stats[0]["type"], &stats[0]["histogram"]["top"][1]),
        (&json!("categorical"), &json!({"value": "a102", "count": 6}))
    );
    let head = tetrys(folder, "head drives -n 3").ok();
    assert!(head.contains("2017-07-14T02:40:00.1") && head.contains("1.02 kB, png 640x480"), "{head}");
    let head = tetrys(folder, "head drives -n 1 --columns camera.png --json").json();
    assert_eq!(head[0]["camera.png"], json!({"bytes": 1024, "picture": "png", "width": 640, "height": 480}));
    let window = tetrys(folder, "get drives 7 --columns ego.speed --offsets=-2..=0 --ndjson").ok();
    assert_eq!(window, "{\"row\":null,\"ego.speed\":null}\n{\"row\":6,\"ego.speed\":6}\n{\"row\":7,\"ego.speed\":7}\n");
    tetrys(folder, "get drives 11 --columns camera.png --out rows").ok();
    assert_eq!(binary::arrays(&folder.join("rows"))["camera.png"].bytes, [PNG, &[11; 1000]].concat());
    assert!(tetrys(folder, "verify drives").ok().starts_with("sound: "));
    assert!(tetrys(folder, "export l5 drives back").fails(1).contains("not made from an L5 data set"));
}

#[test]
fn wrong_frames_and_wishes_are_named_and_leave_no_table() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    dump(folder);
    fs::remove_file(folder.join("pictures/7.png")).unwrap();
    fs::write(folder.join("cut.parquet"), &fs::read(folder.join("frame.parquet")).unwrap()[..100]).unwrap();
    for (arguments, code, says) in [
        ("parquet nowhere new", 1, "nowhere: "),
        ("parquet frame.arrow new", 1, "frame.arrow: not a valid Parquet file"),
        ("arrow frame.parquet new", 1, "frame.parquet: not an Arrow IPC file"),
        ("parquet cut.parquet new", 1, "cut.parquet: not a valid Parquet file"),
        ("parquet frame.parquet new --index log,time", 1, "index: no column matches `log`; nearest: `log_id`"),
        ("parquet frame.parquet new --group ego=ego*,pth", 1, "group `ego`: no column matches `pth`; nearest: `path`"),
        ("parquet frame.parquet new --group ego", 2, "expected NAME=COLUMN,.."),
        ("parquet frame.parquet new --blob camera", 2, "expected COLUMN=PATHS"),
        ("parquet frame.parquet new --blob a=time", 1, "expected the name of a column of paths, found `time`"),
        ("parquet frame.parquet new --blob a=path", 1, "row 7: blob `a`, file pictures/7.png: not in "),
        ("parquet frame.parquet new --blob a=path --root pictures", 1, "row 0: blob `a`, file pictures/0.png: not in "),
        ("parquet frame.parquet new --blob a=path --missing zero", 2, "[possible values: error, null]"),
        ("parquet frame.parquet new --sequence-by ego.speed --order-by nothing", 1, "order_by: no column matches `nothing`"),
        ("parquet frame.parquet new --order-by log_id --index path --sequence-by path", 0, ""),
    ] {
        let ran = tetrys(folder, &format!("ingest {arguments}"));
        assert_eq!(ran.code, code, "{arguments}: {}", ran.err);
        assert!(ran.err.contains(says), "{arguments}: {}", ran.err);
        if code > 0 {
            assert!(tetrys(folder, "info new").fails(1).contains("no table there"), "{arguments}");
        }
    }
    assert!(tetrys(folder, "ingest parquet frame.parquet new").fails(1).contains("a table is there already"));
    tetrys(folder, "ingest parquet frame.parquet nulls --blob a=path --missing null --quiet").ok();
    let row = tetrys(folder, "get nulls 7 --columns a --json").json();
    assert_eq!(row["rows"][0]["values"]["a"], json!(null));
}

#[test]
fn a_time_is_written_in_one_way_whatever_asks_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    dump(folder);
    tetrys(folder, "ingest arrow frame.arrow t --sequence-by log_id -q").ok();
    let time = json!("2017-07-14T02:40:00");
    for sql in [
        "SELECT time FROM t WHERE row = 0",
        "SELECT MIN(time) AS time FROM t",
        "SELECT time FROM t ORDER BY time LIMIT 1",
        "SELECT log_id, MIN(time) AS time FROM t GROUP BY log_id ORDER BY log_id",
        "SELECT FIRST(time) AS time FROM t",
        "SELECT DISTINCT time FROM t ORDER BY time",
        "SELECT a.time FROM t AS a JOIN t AS b ON a.path = b.path ORDER BY a.time",
    ] {
        assert_eq!(tetrys_with(folder, &["query", "t", sql, "--json"]).json()[0]["time"], time, "{sql}");
    }
    let list = tetrys_with(folder, &["query", "t", "SELECT ARRAY_AGG(time) AS time FROM t", "--json"]).json();
    assert_eq!(list[0]["time"][0], time, "{list}");
}

#[test]
fn a_table_goes_through_pipes_and_files() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    dump(folder);
    tetrys(folder, "ingest parquet frame.parquet t --sequence-by log_id --group ego=ego.* -q").ok();
    let output = tetrys(folder, "export parquet t --where row>5 --columns log_id,ego.* --out some.parquet").ok();
    assert!(output.starts_with("some.parquet: 6 rows, "), "{output}");
    assert!(tetrys(folder, "export parquet t --out some.parquet").fails(1).contains("expected the name of a new file"));
    assert!(tetrys(folder, "export arrow t --columns nothing --out new.arrow").fails(1).contains("no column matches `nothing`"));
    assert!(!folder.join("new.arrow").exists());
    for format in ["parquet", "arrow"] {
        let program = env!("CARGO_BIN_EXE_tetrys");
        let pipe =
            format!("{program} export {format} t --out - | {program} ingest {format} - piped-{format} --sequence-by log_id -q");
        assert!(std::process::Command::new("sh").args(["-c", &pipe]).current_dir(folder).status().unwrap().success());
        let differs = tetrys(folder, &format!("diff t piped-{format} --on log_id,time --json")).json();
        assert_eq!((&differs["unchanged"], &differs["changed"]["count"]), (&json!(12), &json!(0)), "{differs}");
    }
    // Overwriting keeps the columns and groups of the table; options that contradict them are an error.
    tetrys(folder, "ingest parquet frame.parquet t --overwrite -q").ok();
    assert_eq!(tetrys(folder, "schema t --json").json()["sequence_by"], json!(["log_id"]));
    let message = tetrys(folder, "ingest parquet frame.parquet t --append --group ego=path -q").fails(1);
    assert!(message.contains("group `ego`: rows to append must match the table: ego.speed; found path"), "{message}");
}

#[test]
fn files_that_are_not_there_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    dump(folder);
    fs::remove_file(folder.join("pictures/7.png")).unwrap();
    fs::remove_file(folder.join("pictures/8.png")).unwrap();
    let ran = tetrys(folder, "ingest parquet frame.parquet t --blob png=path --sequence-by log_id --missing null --json");
    assert_eq!(ran.err, "note: 2 files of `png` missing, stored as null\n");
    let output: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(output["lineage"]["missing_files"], json!({"png": 2}));
    let drop = "log_id,time,vehicle,path,ego.speed";
    let ran = tetrys(folder, &format!("add-group t again frame.parquet --blob again=path --drop {drop} --missing null"));
    assert_eq!((ran.code, ran.err.as_str()), (0, "note: 2 files of `again` missing, stored as null\n"));
    let output = tetrys(folder, "ingest parquet frame.parquet small --blob png=path --max-blob 1000 --missing null").fails(1);
    assert!(output.contains("1024 bytes, expected at most 1000"), "{output}");
}

#[test]
fn every_command_takes_any_frame_and_names_what_it_leaves_out() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let write = |name: &str, column: &str| {
        let months = arrow_array::IntervalYearMonthArray::from(vec![1, 2]);
        let columns = [
            ("id", Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef),
            (column, Arc::new(Int64Array::from(vec![3, 4]))),
            ("months", Arc::new(months)),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let file = File::create(folder.join(name)).unwrap();
        let mut writer = arrow_ipc::writer::FileWriter::try_new(file, &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
    };
    write("x.arrow", "x");
    write("y.arrow", "y");
    fs::write(folder.join("base.tsv"), "id\tx\n1\t5\n2\t6\n").unwrap();
    tetrys(folder, "ingest csv base.tsv t --index id --group g=x -q").ok();
    for command in [
        "patch t x.arrow --on id",
        "replace-group t g x.arrow --on id",
        "add-group t h y.arrow --on id",
        "session begin s x.arrow --index id --out ticket",
        "session write-partition s ticket 0 x.arrow --index id --out receipt",
    ] {
        let ran = tetrys(folder, &format!("{command} --skip-unsupported"));
        assert_eq!((ran.code, ran.err.contains("note: column `months` is left out")), (0, true), "{command}: {}", ran.err);
    }
    // `--format` wins over the ending of the file name.
    fs::write(folder.join("rows"), "id;z\n1;5\n2;6\n").unwrap();
    tetrys(folder, "add-group t z rows --format csv --delimiter ; --on id").ok();
    assert_eq!(
        tetrys(folder, "get t 1 --columns x --columns y --columns z --ndjson").ok(),
        "{\"row\":1,\"x\":4,\"y\":4,\"z\":6}\n"
    );
    tetrys(folder, "export parquet t --out t.parquet -q").ok();
    #[cfg(unix)]
    for name in ["t.parquet", "receipt", "ticket"] {
        use std::os::unix::fs::PermissionsExt;
        let mode = |name: &str| fs::metadata(folder.join(name)).unwrap().permissions().mode();
        assert_eq!(mode(name), mode("rows"), "{name}");
    }
}

#[test]
fn a_broken_frame_is_an_error_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    dump(folder);
    let whole = fs::read(folder.join("frame.arrow")).unwrap();
    for place in (0..whole.len()).step_by(97) {
        let mut broken = whole.clone();
        broken[place..(place + 9).min(whole.len())].fill(0xee);
        fs::write(folder.join("broken.arrow"), broken).unwrap();
        let ran = tetrys(folder, &format!("ingest arrow broken.arrow t{place} -q"));
        assert!(!ran.err.contains("panicked") && !ran.err.contains("RUST_BACKTRACE"), "byte {place}: {}", ran.err);
        assert!(ran.code == 0 || ran.err.starts_with("error: broken.arrow"), "byte {place}: {}", ran.err);
    }
}

#[test]
fn an_added_group_is_stored_as_the_table_is() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    dump(folder);
    tetrys(folder, "ingest parquet frame.parquet t --sequence-by log_id --preset compact -q").ok();
    fs::write(folder.join("more.csv"), format!("x\n{}", "1.5\n".repeat(12))).unwrap();
    tetrys(folder, "add-group t one more.csv").ok();
    fs::write(folder.join("more.csv"), format!("y\n{}", "1.5\n".repeat(12))).unwrap();
    tetrys(folder, "add-group t two more.csv --preset fast").ok();
    let groups = tetrys(folder, "schema t --json").json()["column_groups"].clone();
    let preset = |group: &str| {
        let group = groups.as_array().unwrap().iter().find(|other| other["name"] == group).unwrap().clone();
        group["columns"][0]["properties"]["tetrys.preset"].clone()
    };
    assert_eq!((preset("one"), preset("two")), (json!(null), json!("fast")));
    assert_eq!(tetrys(folder, "info t --json").json()["preset"], json!("compact"));
}

#[test]
fn several_processes_append_to_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (name, ids) in [("base", 0..3), ("one", 3..5), ("two", 5..7), ("other", 7..9)] {
        let rows: String = ids.map(|id| format!("{id},{}.5\n", 10 * id)).collect();
        fs::write(folder.join(format!("{name}.csv")), format!("id,x\n{rows}")).unwrap();
    }
    tetrys(folder, "ingest csv base.csv t --index id --preset compact -q").ok();
    assert!(tetrys(folder, "session begin t base.csv --append --index x").fails(1).contains("index: rows to append must match"));
    tetrys(folder, "session begin t base.csv --append --out ticket").ok();
    tetrys(folder, "session write-partition t ticket 1 two.csv --out 1.receipt").ok();
    tetrys(folder, "session write-partition t ticket 0 one.csv --out 0.receipt").ok();
    tetrys(folder, "ingest csv other.csv t --append -q").ok();
    let commit = "session commit t ticket --partitions 2 1.receipt 0.receipt --json";
    let output = tetrys(folder, commit).json();
    assert_eq!((&output["version"], &output["rows"], &output["preset"]), (&json!(3), &json!(9), &json!("compact")));
    assert_eq!(tetrys(folder, commit).json()["version"], json!(3));
    let ids = tetrys_with(folder, &["query", "t", "SELECT id FROM t", "--csv"]).ok();
    assert_eq!(ids, "id\n0\n1\n2\n7\n8\n3\n4\n5\n6\n");
    let rows = tetrys(folder, "get t 7 --columns x --offsets=-7..=1 --ndjson").ok();
    assert!(rows.ends_with("{\"row\":7,\"x\":50.5}\n{\"row\":8,\"x\":60.5}\n"), "{rows}");
}

#[test]
fn a_ticket_is_for_its_table_and_a_commit_has_the_partitions_that_it_names() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("rows.csv"), "id,x\n1,2\n").unwrap();
    for table in ["t", "u", "moved/t"] {
        fs::create_dir_all(folder.join("moved")).unwrap();
        tetrys(folder, &format!("ingest csv rows.csv {table} --index id -q")).ok();
    }
    tetrys(folder, "session begin new rows.csv --out new.ticket").ok();
    tetrys(folder, "session begin t rows.csv --append --out t.ticket").ok();
    tetrys(folder, "session begin t rows.csv --overwrite --out over.ticket").ok();
    for (ticket, table) in
        [("new", "u"), ("new", "fresh"), ("t", "u"), ("t", "fresh"), ("over", "u"), ("t", "moved/t"), ("over", "moved/t")]
    {
        for command in
            [format!("write-partition {table} {ticket}.ticket 0 rows.csv"), format!("commit {table} {ticket}.ticket --found")]
        {
            let message = tetrys(folder, &format!("session {command}")).fails(1);
            assert!(message.contains("the session was begun for another table: expected file://"), "{command}: {message}");
        }
    }
    assert!(!folder.join("fresh").exists());
    // The folder may be mounted elsewhere. The table is known by its id, so the folder may have any name.
    std::fs::rename(folder.join("t"), folder.join("moved/again")).unwrap();
    fs::create_dir(folder.join("mounted")).unwrap();
    std::fs::rename(folder.join("moved/again"), folder.join("mounted/renamed")).unwrap();
    tetrys(folder, "session write-partition mounted/renamed t.ticket 0 rows.csv --out 0.receipt").ok();
    std::fs::rename(folder.join("mounted/renamed"), folder.join("mounted/t")).unwrap();
    for number in [0, 1] {
        tetrys(folder, &format!("session write-partition mounted/t t.ticket {number} rows.csv --out {number}.receipt")).ok();
    }
    let message = tetrys(folder, "session commit mounted/t t.ticket 0.receipt 1.receipt --partitions 1").fails(1);
    assert!(message.contains("--partitions 1: expected receipts of partitions below 1, found one of partition 1"), "{message}");
    let message = tetrys(folder, "session commit mounted/t t.ticket --found --partitions 1").fails(1);
    assert!(message.contains("--partitions 1: expected receipts of partitions below 1, found one of partition 1"), "{message}");
    tetrys(folder, "session commit mounted/t t.ticket 0.receipt 1.receipt --partitions 2").ok();
    assert_eq!(tetrys(folder, "info mounted/t --json").json()["rows"], json!(3));
}

#[test]
fn files_of_one_data_set_with_other_columns_are_named_with_the_column() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let write = |name: &str, columns: Vec<(&str, ArrayRef)>| {
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let file = File::create(folder.join(name)).unwrap();
        let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    };
    let numbers = || Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef;
    let texts = || Arc::new(StringArray::from(vec!["a", "b"])) as ArrayRef;
    fs::create_dir(folder.join("mixed")).unwrap();
    write("mixed/a.parquet", vec![("id", numbers()), ("x", numbers())]);
    for (columns, says) in [
        (vec![("id", numbers()), ("x", texts())], "column `x`: expected i64, found utf8"),
        (vec![("id", numbers())], "column `x` (i64) is missing"),
        (vec![("id", numbers()), ("x", numbers()), ("y", texts())], "column `y` (utf8) is not among them"),
        (vec![("x", numbers()), ("id", numbers())], "the index, the groups, the order or the properties of the columns differ"),
    ] {
        write("mixed/b.parquet", columns);
        let message = tetrys(folder, "ingest petastorm mixed new").fails(1);
        assert!(message.contains("b.parquet: expected the columns of the other rows") && message.contains(says), "{message}");
        assert!(!message.contains("session"), "{message}");
    }
}

#[test]
fn several_processes_overwrite_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (name, ids) in [("base", 0..5), ("one", 1..4), ("two", 4..6)] {
        let rows: String = ids.map(|id| format!("{id},{}.5\n", 10 * id)).collect();
        fs::write(folder.join(format!("{name}.csv")), format!("id,x\n{rows}")).unwrap();
    }
    tetrys(folder, "ingest csv base.csv t --index id -q").ok();
    tetrys(folder, "session begin t one.csv --overwrite --out ticket").ok();
    tetrys(folder, "session write-partition t ticket 1 two.csv --out 1.receipt").ok();
    fs::write(folder.join("other.csv"), "id,y\n7,1\n").unwrap();
    let refused = tetrys(folder, "session write-partition t ticket 0 other.csv").fails(1);
    assert!(refused.contains("other.csv: expected the columns of the other rows"), "{refused}");
    tetrys(folder, "session write-partition t ticket 0 one.csv --out 0.receipt").ok();
    assert_eq!(tetrys(folder, "info t --json").json()["rows"], json!(5));
    let output = tetrys(folder, "session commit t ticket --partitions 2 1.receipt 0.receipt --json").json();
    assert_eq!((&output["version"], &output["rows"]), (&json!(2), &json!(5)));
    assert_eq!(tetrys_with(folder, &["query", "t", "SELECT id FROM t", "--csv"]).ok(), "id\n1\n2\n3\n4\n5\n");
    assert!(tetrys(folder, "get t 4 --columns x --ndjson").ok().contains("50.5"));
}
