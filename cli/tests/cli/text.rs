//! Tests what CSV and NDJSON files become: no row and no value is lost or changed silently, and a message names the place in the
//! user's file.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::binary::{tetrys, tetrys_with};

/// Returns the values of an index column, in the order of the rows.
fn column(folder: &Path, table: &str, name: &str) -> Vec<Value> {
    let asked = tetrys_with(folder, &["query", table, &format!("SELECT {name} FROM t"), "--json"]).json();
    asked.as_array().unwrap().iter().map(|row| row[name].clone()).collect()
}

fn types(folder: &Path, table: &str) -> Vec<String> {
    let schema = tetrys(folder, &format!("schema {table} --json")).json();
    let index = schema["index"].as_array().unwrap().clone();
    index.iter().map(|column| column["type"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_blank_line_is_an_empty_cell_where_a_line_is_a_cell() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let null = Value::Null;
    for (number, (text, values)) in [
        ("x\n1\n\n2\n", vec![json!(1), null.clone(), json!(2)]),
        ("\n\nx\r\n1\r\n\r\n\r\n2", vec![json!(1), null.clone(), null.clone(), json!(2)]),
        ("x\n\n\na\n\n", vec![null.clone(), null.clone(), json!("a"), null.clone()]),
        ("\"x\"\n\"a\n\n\"\"b\"\n\nc\n", vec![json!("a\n\n\"b"), null.clone(), json!("c")]),
        ("\u{feff}x\n1\n\n2\n", vec![json!(1), null.clone(), json!(2)]),
        ("x\n\n\n", vec![null.clone(), null.clone()]),
    ]
    .into_iter()
    .enumerate()
    {
        fs::write(folder.join("one.csv"), text).unwrap();
        tetrys(folder, &format!("ingest csv one.csv t{number} -q")).ok();
        assert_eq!(column(folder, &format!("t{number}"), "x"), values, "{text:?}");
        // What tetrys writes has the same rows.
        let written = tetrys_with(folder, &["query", &format!("t{number}"), "SELECT x FROM t", "--csv"]).ok();
        fs::write(folder.join("again.csv"), written).unwrap();
        tetrys(folder, &format!("ingest csv again.csv again{number} -q")).ok();
        assert_eq!(column(folder, &format!("again{number}"), "x"), values, "{text:?}");
    }
    // Rows in table order stay in their places.
    fs::write(folder.join("labels.csv"), "label\ncar\n\nbus\n").unwrap();
    tetrys(folder, "add-group t0 labels labels.csv").ok();
    let rows = tetrys(folder, "get t0 0 --offsets=0..=2 --edge skip --columns label --ndjson").ok();
    assert!(rows.contains("\"car\"}\n") && rows.contains("null}\n") && rows.ends_with("\"bus\"}\n"), "{rows}");
    // A blank line has no cells of several columns.
    fs::write(folder.join("two.csv"), "a,b\n1,2\n\n\r\n3,4\n\n").unwrap();
    tetrys(folder, "ingest csv two.csv two -q").ok();
    assert_eq!(column(folder, "two", "a"), [json!(1), json!(3)]);
}

#[test]
fn a_key_that_an_object_has_twice_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("sound.ndjson"), "{\"id\":1,\"x\":{\"y\":2}}\n").unwrap();
    tetrys(folder, "ingest ndjson sound.ndjson t --index id -q").ok();
    for (text, says) in [
        ("{\"id\":2,\"x\":{\"y\":1}}\n{\"id\":3,\"x\":{\"y\":1},\"id\":4}\n", "line 2: the object has the key `id` twice"),
        ("{\"id\":2,\"x\":{\"y\":1,\"\\u0079\":2}}\n", "line 1: `x`: the object has the key `y` twice"),
    ] {
        fs::write(folder.join("twice.ndjson"), text).unwrap();
        for command in ["ingest ndjson twice.ndjson new", "ingest ndjson twice.ndjson t --append", "patch t twice.ndjson --on id"]
        {
            let message = tetrys(folder, command).fails(1);
            assert!(message.contains("twice.ndjson") && message.contains(says), "{command}: {message}");
        }
    }
    assert!(tetrys(folder, "info new").fails(1).contains("no table there"));
    assert_eq!(tetrys(folder, "info t --json").json()["version"], 1);
}

#[test]
fn a_number_keeps_its_value_and_what_is_more_than_a_number_stays_text() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("new.csv"), "price,zip,sign,big\n1.50,00789,+1,1E5\n1.10,12345,2,-0\n").unwrap();
    tetrys(folder, "ingest csv new.csv new -q").ok();
    assert_eq!(types(folder, "new"), ["f64", "utf8", "utf8", "f64"]);
    assert_eq!(column(folder, "new", "price"), [json!(1.5), json!(1.1)]);
    assert_eq!(column(folder, "new", "zip"), [json!("00789"), json!("12345")]);
    assert_eq!(column(folder, "new", "sign"), [json!("+1"), json!("2")]);
    fs::write(folder.join("t.csv"), "a,b\n1,0.5\n").unwrap();
    tetrys(folder, "ingest csv t.csv t -q").ok();
    tetrys(folder, "ingest csv t.csv typed --type a=i64 --type b=f32 -q").ok();
    for (text, says) in [
        (
            "a,b\n2,1\n00789,1\n",
            "line 3: column `a`: the table has i64 (a whole number without leading zeros or a plus sign), found `00789`",
        ),
        ("a,b\n-0,1\n", "line 2: column `a`: the table has i64"),
        ("a,b\n+5,1\n", "line 2: column `a`: the table has i64"),
        ("a,b\n1,007.5\n", "line 2: column `b`: the table has f64"),
        ("a,b\n1,+0.5\n", "line 2: column `b`: the table has f64"),
    ] {
        fs::write(folder.join("more.csv"), text).unwrap();
        let message = tetrys(folder, "ingest csv more.csv t --append").fails(1);
        assert!(message.contains(says), "{text:?}: {message}");
        // Whoever declares the type gets the number.
        tetrys(folder, "ingest csv more.csv typed --append --type a=i64 --type b=f32 -q").ok();
    }
    assert_eq!(tetrys(folder, "info t --json").json()["rows"], 1);
    assert_eq!(column(folder, "typed", "a"), [1, 2, 789, 0, 5, 1, 1].map(Value::from));
    fs::write(folder.join("more.csv"), "a,b\n-7,-0\n10,1.50\n").unwrap();
    tetrys(folder, "ingest csv more.csv t --append -q").ok();
    assert_eq!(column(folder, "t", "a"), [1, -7, 10].map(Value::from));
    fs::write(folder.join("more.ndjson"), "{\"a\":\"007\",\"b\":1}\n").unwrap();
    let message = tetrys(folder, "ingest ndjson more.ndjson t --append").fails(1);
    assert!(message.contains("line 1: `a`: the table has i64") && message.contains("found `007`"), "{message}");
}

#[test]
fn a_column_without_values_is_text_that_later_rows_can_join() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("header.csv"), "id,x\n").unwrap();
    fs::write(folder.join("empty.csv"), "id,x\n1,\n2,\n").unwrap();
    fs::write(folder.join("null.ndjson"), "{\"id\":\"1\",\"x\":null}\n").unwrap();
    fs::write(folder.join("more.csv"), "id,x\n3,1.50\n004,true\n").unwrap();
    for (command, before) in [
        ("ingest csv header.csv header", 0),
        ("ingest csv empty.csv empty --type id=utf8", 2),
        ("ingest ndjson null.ndjson null", 1),
    ] {
        tetrys(folder, &format!("{command} -q")).ok();
        let table = command.split(' ').nth(3).unwrap();
        assert_eq!(types(folder, table), ["utf8", "utf8"], "{command}");
        tetrys(folder, &format!("ingest csv more.csv {table} --append -q")).ok();
        assert_eq!(column(folder, table, "id")[before..], [json!("3"), json!("004")]);
        assert_eq!(column(folder, table, "x")[before..], [json!("1.50"), json!("true")]);
    }
    // The same for the partitions of a session that begins with such a file.
    tetrys(folder, "session begin joint header.csv --type x=f64 --out ticket").ok();
    fs::write(folder.join("more.csv"), "id,x\n3,1.50\n004,2\n").unwrap();
    tetrys(folder, "session write-partition joint ticket 0 more.csv --out receipt").ok();
    tetrys(folder, "session commit joint ticket receipt --partitions 1").ok();
    assert_eq!(column(folder, "joint", "id"), [json!("3"), json!("004")]);
    assert_eq!(column(folder, "joint", "x"), [json!(1.5), json!(2.0)]);
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_text() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("rows.ndjson"), "\u{feff}{\"id\":1}\n{\"id\":2}\n").unwrap();
    fs::write(folder.join("rows.csv"), "\u{feff}\"id\",\"x\"\r\n1,2\r\n").unwrap();
    fs::write(folder.join("rows.tsv"), "\u{feff}id\tx\n1\t2\n").unwrap();
    for (number, format) in ["ndjson rows.ndjson", "csv rows.csv", "csv rows.tsv"].into_iter().enumerate() {
        tetrys(folder, &format!("ingest {format} t{number} -q")).ok();
        assert_eq!(column(folder, &format!("t{number}"), "id")[0], 1, "{format}");
    }
}

#[test]
fn a_message_names_the_line_and_the_column_of_the_users_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("base.csv"), "id,day,at,clock\n1,2020-01-01,2020-01-01T00:00:00,0.5\n").unwrap();
    tetrys(folder, "ingest csv base.csv t -q").ok();
    let long = |bad: &str| format!("{}{bad}\n", "{\"id\":1}\n".repeat(20_000));
    for (command, text, says) in [
        ("ingest ndjson", long("{\"id\":x}"), "line 20001: `id`: expected value"),
        ("ingest ndjson", long("{\"id\":1"), "line 20001, column 7: the text ends inside an object"),
        ("ingest ndjson", long("{\"id\":\"x\"}"), "line 20001: `id`: expected a number as before, found text"),
        ("ingest csv", "a,b\n1,2\n\n\n1,2,3\n".to_owned(), "line 5: expected 2 cells as in the first line, found 3"),
        ("ingest csv", "a,b\r\n1,2\r\n\r\n1\r\n".to_owned(), "line 4: expected 2 cells as in the first line, found 1"),
        ("append csv", "id,day,at,clock\n1,,,1\n\nx,,,1\n".to_owned(), "line 4: column `id`: the table has i64"),
        (
            "append csv",
            "id,day,at,clock\n1,2020-02-30,,1\n".to_owned(),
            "line 2: column `day`: the table has date, found `2020-02-30`",
        ),
        ("append csv", "id,day,at,clock\n1,soon,,1\n".to_owned(), "line 2: column `day`: the table has date, found `soon`"),
        ("append csv", "id,day,at,clock\n1,,2020-01-01T25:00:00,1\n".to_owned(), "line 2: column `at`: the table has timestamp"),
        ("append csv", "id,day,at,clock\n1,, 2020-01-01,1\n".to_owned(), "line 2: column `at`: the table has timestamp"),
        (
            "append ndjson",
            "{\"id\":1,\"day\":\"soon\",\"at\":null,\"clock\":1}\n".to_owned(),
            "line 1: `day`: the table has date",
        ),
        (
            "append ndjson",
            "{\"id\":1,\"day\":null,\"at\":\"noon\",\"clock\":1}\n".to_owned(),
            "line 1: `at`: the table has timestamp",
        ),
    ] {
        fs::write(folder.join("bad"), &text).unwrap();
        let command = match command.strip_prefix("append ") {
            Some(format) => format!("ingest {format} bad t --append"),
            None => format!("{command} bad new"),
        };
        let message = tetrys(folder, &command).fails(1);
        assert!(message.starts_with("error: ") && message.contains(says), "{says}: {message}");
    }
    for (bytes, says) in [
        (&b"a,b\n1,2\n1,\xff\n"[..], "line 3: column `b`: expected text in UTF-8"),
        (b"a\n1\n\n\xff\n", "line 4: column `a`: expected text in UTF-8"),
        (b"a,\xff\n1,2\n", "line 1: cell 2: expected text in UTF-8"),
    ] {
        fs::write(folder.join("bad"), bytes).unwrap();
        let message = tetrys(folder, "ingest csv bad new").fails(1);
        assert!(message.contains(says), "{says}: {message}");
    }
    // Every spelling of dates and times that is understood joins the table.
    let more = "id,day,at,clock\n1,2020-2-9,2020-01-01 10:20:30.125,1\n2,20200229,2020-01-01,1\n3,,2020-01-01T102030,1\n";
    fs::write(folder.join("more.csv"), more).unwrap();
    tetrys(folder, "ingest csv more.csv t --append -q").ok();
    assert_eq!(column(folder, "t", "day")[1..], [json!("2020-02-09"), json!("2020-02-29"), Value::Null]);
    let times = ["2020-01-01T10:20:30.125", "2020-01-01T00:00:00", "2020-01-01T10:20:30"];
    assert_eq!(column(folder, "t", "at")[1..], times.map(Value::from));
}

#[test]
fn a_file_without_rows_changes_no_rows() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("base.csv"), "id,x\n1,2\n3,4\n").unwrap();
    tetrys(folder, "ingest csv base.csv t --index id --group g=x -q").ok();
    fs::write(folder.join("header.csv"), "id,x\n").unwrap();
    fs::write(folder.join("other.csv"), "id,y\n").unwrap();
    fs::write(folder.join("keyless.csv"), "x\n5\n").unwrap();
    for (command, says) in [
        ("patch t header.csv --on id", "header.csv: expected rows, found none"),
        ("replace-group t g header.csv --on id", "header.csv: expected rows, found none"),
        ("replace-group t g header.csv --drop id", "found 0 rows written, the table has 2"),
        ("add-group t h other.csv --on id", "other.csv: expected rows, found none"),
        ("patch t keyless.csv --on id", "keyless.csv: expected a column `id`, which is in the key"),
        ("replace-group t g keyless.csv --on id", "keyless.csv: expected a column `id`, which is in the key"),
        ("add-group t g other.csv --on id", "there is a column group `g` already; replace its values"),
        ("add-group t g base.csv", "there is a column group `g` already; replace its values"),
        ("add-group t h base.csv --on id", "there is a column `x` already"),
    ] {
        let message = tetrys(folder, command).fails(1);
        assert!(message.contains(says), "{command}: {message}");
    }
    assert_eq!(tetrys(folder, "info t --json").json()["version"], 1);
}
