//! `tetrys ingest parquet` and `tetrys ingest arrow`: a dump of rows and files becomes a table, and bad ones say what is wrong.

mod common;

mod binary;

use std::{
    fs::{self, File},
    path::Path,
    sync::Arc,
};

use arrow_array::{ArrayRef, DictionaryArray, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray, types::Int32Type};
use binary::{tetrys, tetrys_with};
use serde_json::json;

/// The start of a PNG of 640 by 480.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0";

/// Twelve rows of two logs and the pictures that they name.
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
    let told = tetrys(
        folder,
        "ingest parquet frame.parquet drives --blob camera.png=path --group ego=ego.* --sequence-by log_id --order-by time",
    );
    let told = told.ok();
    assert!(told.contains("drives: 12 rows, 2 sequences in ") && told.contains("\nego "), "{told}");
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
        ("parquet frame.arrow new", 1, "frame.arrow: no sound Parquet"),
        ("arrow frame.parquet new", 1, "frame.parquet: no Arrow IPC file"),
        ("parquet cut.parquet new", 1, "cut.parquet: no sound Parquet"),
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
