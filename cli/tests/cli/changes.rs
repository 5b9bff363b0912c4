//! Tests commands that change a table: `patch`, `replace-group`, `add-group`, `edit --drop`, `compact --runs`, and `du --plot`.

use crate::binary;
use std::{
    fs::{self, File},
    path::Path,
    sync::Arc,
};

use crate::binary::{tetrys, tetrys_with};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use serde_json::{Value, json};

fn texts(rows: impl Iterator<Item = String>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(rows))
}

fn numbers(rows: impl Iterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(rows))
}

fn parquet<const N: usize>(folder: &Path, name: &str, columns: [(&str, ArrayRef); N]) {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = File::create(folder.join(name)).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// Makes a table of twelve rows in two logs, with a picture of a kilobyte, a name and a weight in each row.
fn drives(folder: &Path) {
    let pictures =
        (0..12_u32).map(|row| (0..1_000_u32).map(|place| char::from(b'a' + ((row * 31 + place * place) % 26) as u8)).collect());
    parquet(
        folder,
        "frame.parquet",
        [
            ("log", texts((0..12).map(|row| format!("log-{}", row / 6)))),
            ("time", numbers(0..12)),
            ("camera.picture", texts(pictures)),
            ("labels.name", texts((0..12).map(|row| format!("car {row}")))),
            ("labels.weight", Arc::new(Float64Array::from_iter_values((0..12).map(f64::from)))),
        ],
    );
    tetrys(folder, "ingest parquet frame.parquet drives --index log,time --group camera=camera.* --group labels=labels.* --sequence-by log -q").ok();
}

fn column(folder: &Path, name: &str) -> Vec<Value> {
    let rows = tetrys(folder, &format!("get drives 0 --columns {name} --offsets=0..=5 --json")).json();
    let rows = rows["rows"].as_array().unwrap().clone();
    rows.iter().map(|row| row["values"][name].clone()).collect()
}

fn camera(folder: &Path) -> Value {
    tetrys(folder, "layout drives --json").json()["groups"][0].clone()
}

#[test]
fn some_rows_are_patched_by_key() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drives(folder);
    let before = camera(folder);
    parquet(
        folder,
        "again.parquet",
        [
            ("time", numbers([4, 1].into_iter())),
            ("labels.name", texts(["bus", "van"].into_iter().map(str::to_owned))),
            ("reviewer", texts(["ann", "bob"].into_iter().map(str::to_owned))),
        ],
    );
    let output = tetrys(folder, "patch drives again.parquet --on time --drop reviewer").ok();
    assert!(output.contains("drives: version 2, 2 rows of column group labels, "), "{output}");
    assert_eq!(column(folder, "labels.name"), ["car 0", "van", "car 2", "car 3", "bus", "car 5"].map(Value::from));
    assert_eq!(column(folder, "labels.weight"), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0].map(Value::from));
    assert_eq!(camera(folder), before);
    let output = tetrys(folder, "patch drives again.parquet --on time --drop reviewer --json").json();
    assert_eq!((&output["version"], &output["lineage"]["rows_patched"]), (&json!(3), &json!(2)));
    for (arguments, code, says) in [
        ("patch drives again.parquet --on time", 1, "no column `reviewer`"),
        ("patch drives again.parquet --on log --drop reviewer", 1, "expected a column `log`, which is in the key"),
        ("patch drives again.parquet", 2, "--on"),
        ("patch drives nowhere.parquet --on time", 1, "nowhere.parquet"),
        ("patch drives frame.parquet --on time,log", 1, "the patch has columns of 2 column groups, expected one"),
    ] {
        assert!(tetrys(folder, arguments).fails(code).contains(says), "{arguments}");
    }
    assert_eq!(tetrys(folder, "info drives --json").json()["version"], json!(3));
}

#[test]
fn a_group_is_replaced_in_order_and_by_key_and_another_one_added() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drives(folder);
    let before = camera(folder);
    let names = |rows: &mut dyn Iterator<Item = i64>| texts(rows.map(|row| format!("new {row}")).collect::<Vec<_>>().into_iter());
    let weights = |rows: &mut dyn Iterator<Item = i64>| {
        Arc::new(Float64Array::from_iter_values(rows.map(|row| row as f64 / 2.0).collect::<Vec<_>>())) as ArrayRef
    };
    parquet(folder, "all.parquet", [("labels.name", names(&mut (0..12))), ("labels.weight", weights(&mut (0..12)))]);
    let output = tetrys(folder, "replace-group drives labels all.parquet").ok();
    assert!(output.contains("version 2, 12 rows of column group labels, "), "{output}");
    assert_eq!(column(folder, "labels.name")[5], "new 5");
    // By key, in any order. A row that is not in the frame gets nulls.
    let rows = || (0..12).rev().filter(|row| *row != 3);
    let some = [("time", numbers(rows())), ("labels.name", names(&mut rows())), ("labels.weight", weights(&mut rows()))];
    parquet(folder, "some.parquet", some);
    let output = tetrys(folder, "replace-group drives labels some.parquet --on time --json").json();
    assert_eq!((&output["version"], &output["lineage"]["operation"]), (&json!(3), &json!("replace_group")));
    assert_eq!(column(folder, "labels.weight"), [json!(0.0), json!(0.5), json!(1.0), json!(null), json!(2.0), json!(2.5)]);

    fs::create_dir(folder.join("masks")).unwrap();
    (0..12).for_each(|row| fs::write(folder.join(format!("masks/{row}")), vec![row; 100]).unwrap());
    parquet(folder, "masks.parquet", [("time", numbers(0..12)), ("path", texts((0..12).map(|row| format!("masks/{row}"))))]);
    let output = tetrys(folder, "add-group drives masks masks.parquet --on time --blob mask.png=path --drop path").ok();
    assert!(output.contains("version 4, 12 rows of column group masks, "), "{output}");
    tetrys(folder, "get drives 7 --columns mask.png --out rows").ok();
    assert_eq!(binary::arrays(&folder.join("rows"))["mask.png"].bytes, vec![7; 100]);
    assert_eq!(camera(folder), before);
    assert_eq!(tetrys(folder, "verify drives --json").json()["damage"], json!([]));
    for (arguments, says) in [
        ("replace-group drives label all.parquet", "no column group `label`; it has camera, labels, masks"),
        ("replace-group drives labels masks.parquet --on time --drop path", "no column `labels.name`"),
        // A frame with key columns is not applied in table order, and no column is dropped silently.
        (
            "replace-group drives labels masks.parquet --on time",
            "columns `path` are neither of column group `labels` nor of the key",
        ),
        ("replace-group drives labels some.parquet", "index columns `time` beside those of column group `labels`: name the key"),
        ("add-group drives more some.parquet", "index columns `time` beside those of column group `more`: name the key"),
        ("replace-group drives labels some.parquet --drop time", "found 11 rows written, the table has 12"),
        ("add-group drives masks masks.parquet --on time", "masks"),
    ] {
        assert!(tetrys(folder, arguments).fails(1).contains(says), "{arguments}");
    }
}

#[test]
fn a_column_of_a_group_that_keeps_another_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drives(folder);
    let before = camera(folder);
    tetrys(folder, "edit drives --drop labels.name").ok();
    assert_eq!(column(folder, "labels.weight")[5], 5.0);
    assert_eq!(camera(folder), before);
    assert!(tetrys(folder, "get drives 0 --columns labels.name").fails(1).contains("no column matches"));
    assert_eq!(tetrys(folder, "verify drives --json").json()["damage"], json!([]));
}

#[test]
fn scattered_rows_are_put_together_and_a_picture_shows_who_owns_them() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drives(folder);
    for version in 0..6 {
        let rows = || 12 + 2 * version..14 + 2 * version;
        let name = format!("more-{version}.parquet");
        let log = format!("more-{}", version / 3);
        parquet(
            folder,
            &name,
            [
                ("log", texts(rows().map(|_| log.clone()))),
                ("time", numbers(rows())),
                ("camera.picture", texts(rows().map(|row| format!("{row} ").repeat(300)))),
                ("labels.name", texts(rows().map(|row| format!("car {row}")))),
                ("labels.weight", Arc::new(Float64Array::from_iter_values(rows().map(|row| row as f64)))),
            ],
        );
        let groups = "--index log,time --group camera=camera.* --group labels=labels.* --sequence-by log -q";
        tetrys(folder, &format!("ingest parquet {name} drives --append {groups}")).ok();
    }
    let output = tetrys(folder, "du drives --plot owners.png").ok();
    assert!(
        output.contains("owners.png: version 7\n")
            && output.contains("  this version alone: ")
            && output.contains("other versions too: "),
        "{output}"
    );
    let output = tetrys(folder, "compact drives --runs --extra-ranges 0 --json").json();
    assert_eq!((&output["version"], &output["segments"]), (&json!(8), &json!({"before": 7, "after": 1})));
    assert!(output["runs"]["before"]["extra_ranges"].as_u64() > output["runs"]["after"]["extra_ranges"].as_u64(), "{output}");
    let output = tetrys(folder, "compact drives --runs --extra-ranges 0").ok();
    assert!(output.contains("nothing to compact") && output.contains("\ncopied  0 blocks, "), "{output}");
    assert!(tetrys(folder, "compact drives --window 8").fails(2).contains("--runs"));
    assert_eq!(tetrys(folder, "verify drives --json").json()["damage"], json!([]));

    tetrys(folder, "ingest parquet frame.parquet again --reference drives --index log,time --group camera=camera.* --group labels=labels.* --sequence-by log -q").ok();
    let output = tetrys(folder, "du again --plot again.png").ok();
    assert!(output.contains("  in ../drives: "), "{output}");
    let picture = fs::read(folder.join("again.png")).unwrap();
    assert!(picture.starts_with(b"\x89PNG\r\n\x1a\n"));
}

#[test]
fn bloom_filters_are_asked_for_added_and_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let line = |row: u64| format!("{row},{}\n", row * 7_919 % 20_011);
    fs::write(folder.join("keys.csv"), format!("time,id\n{}", (0..20_000).map(line).collect::<String>())).unwrap();
    tetrys(folder, "ingest csv keys.csv keys --index time,id -q").ok();
    let index_bytes = || tetrys(folder, "info keys --json").json()["index_bytes"].clone();
    let properties = || {
        let output = tetrys(folder, "schema keys --json").json();
        let columns = output["index"].as_array().unwrap().iter();
        columns.filter(|column| column["name"] == "id").map(|column| column["properties"].clone()).next_back().unwrap()
    };
    assert!(tetrys(folder, "edit keys --bloom-filter none").fails(1).contains("none"));
    assert!(tetrys(folder, "edit keys --bloom-filter id --no-bloom-filter id").fails(1).contains("`id`"));
    tetrys(folder, "edit keys --bloom-filter id,time").ok();
    assert_eq!(properties(), json!({"tetrys.bloom_filter": true}));
    let before = index_bytes();
    assert_eq!(tetrys(folder, "compact keys --index --json").json()["version"], json!(3));
    assert!(index_bytes().as_u64() > before.as_u64().map(|bytes| bytes + 20_000), "{before}, {}", index_bytes());
    assert!(tetrys(folder, "compact keys --index").ok().contains("nothing to compact"));
    tetrys(folder, "edit keys --no-bloom-filter id").ok();
    assert_eq!(properties(), json!({}));
    assert_eq!(tetrys(folder, "verify keys --json").json()["damage"], json!([]));
    let found = tetrys_with(folder, &["query", "keys", "SELECT time FROM t WHERE id = 7919", "--json"]);
    assert_eq!(found.json(), json!([{"time": 1}]));
}

#[test]
fn columns_named_row_or_like_a_pattern_are_columns_like_all_others() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let names = ["row", "*", "^a$", "^.*$"];
    let [a, b, c, d] = names.map(|name| (name, numbers((0..6).map(|row| row % 3 + name.len() as i64))));
    parquet(folder, "frame.parquet", [a, b, c, d, ("v.value", numbers(0..6)), ("v.row", numbers(0..6))]);
    tetrys(folder, "ingest parquet frame.parquet odd --group v=v.* --quiet").ok();
    tetrys(folder, "edit odd --rename v.row=row_").ok();
    let ran = tetrys_with(folder, &["query", "odd", "SELECT * FROM t WHERE row_ = 4", "--json"]);
    assert!(ran.err.contains("the index has a column `row`; the number of a row is in `row_`"), "{}", ran.err);
    assert_eq!(serde_json::from_str::<Value>(&ran.out).unwrap(), json!([{"row_": 4, "row": 4, "*": 2, "^a$": 4, "^.*$": 5}]));
    let found =
        tetrys_with(folder, &["query", "odd", "SELECT \"*\", SUM(\"^a$\") AS s FROM t GROUP BY \"*\" ORDER BY \"*\"", "--csv"]);
    assert_eq!(found.out, "*,s\n1,6\n2,8\n3,10\n");
    let head = tetrys(folder, "head odd -n 1 --index-only --json").json();
    assert_eq!(head, json!([{"row__": 0, "row": 3, "*": 1, "^a$": 3, "^.*$": 4}]));
    let stats = tetrys(folder, "stats odd --json").json();
    assert_eq!(stats.as_array().unwrap().iter().map(|column| column["column"].as_str().unwrap()).collect::<Vec<_>>(), names);
    // The row number gets another name if a group column is named `row_`.
    let line = tetrys(folder, "get odd 5 --columns row_ --ndjson").json();
    assert_eq!(line, json!({"row": 5, "row_": 5}));
    for name in names {
        let condition = format!("\"{name}\" > {}", name.len() + 1);
        let made = tetrys_with(
            folder,
            &["select", "odd", "--where", &condition, "--keep", "row", "--out", "view", "--dry-run", "--json"],
        );
        assert_eq!(made.json()["rows"], json!(2), "{name}");
        let output = tetrys_with(folder, &["delete", "odd", "--where", &condition, "--dry-run"]).ok();
        assert_eq!(output, "2 rows of 6 would be deleted\n", "{name}");
    }
    tetrys_with(folder, &["delete", "odd", "--where", "\"*\" = 1 AND \"^a$\" = 3"]).ok();
    assert_eq!(tetrys(folder, "info odd --json").json()["rows"], json!(4));
}

#[test]
fn a_folder_with_the_name_of_a_version_is_not_hidden_by_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (name, rows) in [("one", "id\n1\n"), ("three", "id\n1\n2\n3\n")] {
        fs::write(folder.join(format!("{name}.csv")), rows).unwrap();
        tetrys(folder, &format!("ingest csv {name}.csv {name} -q")).ok();
    }
    fs::rename(folder.join("three"), folder.join("x@2")).unwrap();
    let rows = |table: &str| tetrys(folder, &format!("info {table} --json")).json()["rows"].clone();
    assert_eq!((rows("x@2"), rows("x@2/"), rows("x@2@1")), (3.into(), 3.into(), 3.into()));
    // A version of the table comes first, and a slash names the folder.
    fs::rename(folder.join("one"), folder.join("x")).unwrap();
    assert_eq!(rows("x@2"), 3);
    tetrys(folder, "ingest csv one.csv x --append -q").ok();
    assert_eq!((rows("x@1"), rows("x@2"), rows("x@2/")), (1.into(), 2.into(), 3.into()));
    assert!(tetrys(folder, "info x@3").fails(1).contains("version 3"));
    let message = tetrys(folder, "ingest csv one.csv x@2 --append -q").fails(1);
    assert!(message.contains("expected a table without a version") && message.contains("is x@2/"), "{message}");
    tetrys(folder, "ingest csv one.csv x@2/ --append -q").ok();
    assert_eq!((rows("x@2"), rows("x@2/")), (2.into(), 4.into()));
}

#[test]
fn a_change_of_an_older_version_says_which_version_is_newer() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("rows.csv"), "id,x\n1,1\n2,2\n3,3\n").unwrap();
    tetrys(folder, "ingest csv rows.csv t --index id --group g=x -q").ok();
    tetrys(folder, "delete t --where id=1").ok();
    for change in ["delete t@1 --where id=2", "delete t@1 --where id<3"] {
        let message = tetrys(folder, change).fails(1);
        assert!(
            message.contains("this change was made from version 1, and version 2 is newer: both change "),
            "{change}: {message}"
        );
        assert!(
            message.contains("open the newest version and retry") && !message.contains("another writer"),
            "{change}: {message}"
        );
    }
    // Where only one of both changed something, the change goes onto the newest version.
    tetrys(folder, "edit t@1 --set license=CC0").ok();
    assert_eq!(tetrys(folder, "info t --json").json()["rows"], 2);
}

#[test]
fn text_that_changes_a_table_is_parsed_with_the_types_of_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // Alone, each of these files would give other types: digits are numbers, 9 is whole, and a column without values has no type.
    let files = [
        ("rows.csv", "id,x,name\n1,1.5,a\n2,2.5,b\n"),
        ("more.csv", "id,x,name\n3,3,\n"),
        ("patch.csv", "id,x\n1,9\n"),
        ("patch.ndjson", "{\"id\": \"2\", \"x\": 4}\n"),
        ("labels.csv", "id,label\n3,c\n1,a\n2,b\n"),
        ("new.csv", "id,x,name\n1,7,\n2,8,\n3,9,\n"),
    ];
    files.iter().for_each(|(name, text)| fs::write(folder.join(name), text).unwrap());
    let row = |number: u64| {
        let row = tetrys(folder, &format!("get t {number} --json")).json().to_string();
        row.chars().filter(|character| !character.is_whitespace()).collect::<String>()
    };
    tetrys(folder, "ingest csv rows.csv t --index id --type id=utf8 --type x=f64 --group g=x,name -q").ok();
    tetrys(folder, "ingest csv more.csv t --append -q").ok();
    assert!(row(2).contains("\"x\":3.0") && row(2).contains("\"name\":null"), "{}", row(2));
    tetrys(folder, "patch t patch.csv --on id").ok();
    tetrys(folder, "patch t patch.ndjson --on id").ok();
    assert!(row(0).contains("\"x\":9.0") && row(1).contains("\"x\":4.0"), "{} {}", row(0), row(1));
    tetrys(folder, "add-group t labels labels.csv --on id").ok();
    assert!(row(0).contains("\"label\":\"a\"") && row(2).contains("\"label\":\"c\""), "{} {}", row(0), row(2));
    tetrys(folder, "replace-group t g new.csv --on id").ok();
    assert!(row(2).contains("\"x\":9.0") && row(2).contains("\"name\":null"), "{}", row(2));
}

#[test]
fn times_with_an_offset_stay_text_and_a_note_names_their_type() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("rows.csv"), "id,at\n1,2024-05-01T12:00:00+02:00\n").unwrap();
    let ran = tetrys(folder, "ingest csv rows.csv t --index id");
    assert!(ran.err.contains("note: column `at` stays text") && ran.err.contains("--type 'at=timestamp["), "{}", ran.err);
    assert!(tetrys(folder, "schema t").ok().contains("utf8"));
}

#[test]
fn a_tag_on_a_deleted_version_a_part_outside_and_a_folder_without_a_table_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let data = folder.join("data");
    fs::create_dir_all(data.join("sessions/mine")).unwrap();
    fs::write(data.join("sessions/mine/notes.txt"), "ours").unwrap();
    fs::write(data.join("rows.csv"), "id,x\n1,1\n2,2\n").unwrap();
    tetrys(&data, "ingest csv rows.csv t --index id --group g=x -q").ok();
    tetrys(&data, "ingest csv rows.csv t --overwrite -q").ok();
    for _ in 0..2 {
        tetrys(&data, "gc t --keep 1 --age 0 --yes").ok();
    }
    let message = tetrys(&data, "edit t --tag gold=1").fails(1);
    assert!(message.contains("version 1"), "{message}");
    let message = tetrys(&data, "select t --split id --shares ../outside=0.5,b=0.5 --out parts").fails(1);
    assert!(message.contains("../outside") && !data.join("outside").exists(), "{message}");
    // One folder too high: no table, and nothing of others is deleted.
    for call in ["gc . --age 0 --yes", "gc . --abandoned --age 0 --yes", "gc .. --abandoned --age 0 --yes"] {
        let ran = tetrys(&data, call);
        assert!(ran.code == 1 || ran.code == 0 && call.contains("--abandoned"), "{call}: {}", ran.out);
        assert_eq!(fs::read_to_string(data.join("sessions/mine/notes.txt")).unwrap(), "ours", "{call}");
        assert_eq!(tetrys(&data, "info t --json").json()["rows"], 2, "{call}");
    }
}
