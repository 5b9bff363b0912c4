//! Tests the output of `query`, `stats`, `head` and `layout` on a small table.

use std::fs;

use crate::binary::{small_table, tetrys, tetrys_with};
use serde_json::json;

#[test]
fn a_query_over_the_index_gives_rows_that_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small_table(folder, 20);
    let query = |arguments: &[&str]| tetrys_with(folder, &[&["query", "table"], arguments].concat());
    let found = query(&["SELECT row, scene_index, frame_index FROM t WHERE frame_index > 17 ORDER BY row DESC", "--json"]).json();
    assert_eq!(found.as_array().unwrap().len(), 4);
    assert_eq!(found[0], json!({"row": 39, "scene_index": 1, "frame_index": 19}));
    let shown = query(&["SELECT scene_index, COUNT(*) AS frames FROM t GROUP BY scene_index ORDER BY scene_index"]).ok();
    assert_eq!(shown, "scene_index  frames\n          0      20\n          1      20\n");
    let csv = query(&["SELECT host, row FROM t LIMIT 2", "--csv"]).ok();
    assert_eq!(csv, "host,row\nhost-a101,0\nhost-a101,1\n");
    let lines = query(&["SELECT row FROM t LIMIT 2", "--ndjson"]).ok();
    assert_eq!(lines, "{\"row\":0}\n{\"row\":1}\n");
    assert_eq!(query(&["SELECT row FROM t WHERE row < 0", "--json"]).json(), json!([]));
    // Locator columns are hidden by default.
    for sql in ["SELECT * FROM t LIMIT 1", "SELECT * FROM t, t AS other, t AS third LIMIT 1"] {
        let all = query(&[sql, "--json"]).json();
        assert!(all[0].as_object().unwrap().keys().all(|name| !name.starts_with("_row_")), "{all}");
    }
    let all = query(&["SELECT * FROM t LIMIT 1", "--json", "--locators"]).json();
    assert!(all[0].as_object().unwrap().keys().any(|name| name.starts_with("_row_")), "{all}");
    // `-n` limits the shown rows.
    let ran = query(&["SELECT row FROM t", "-n", "3"]);
    assert_eq!((ran.code, ran.out.lines().count()), (0, 4));
    assert!(ran.err.starts_with("40 rows, the first 3 shown"), "{}", ran.err);
}

#[test]
fn a_query_that_is_wrong_is_told_what_was_probably_meant() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small_table(folder, 3);
    for (sql, says) in [
        ("SELECT agent_count FROM t", "nearest: `agents_count`"),
        ("SELECT \"ego.rotation\" FROM t", "a column of a group, which SQL does not read"),
        ("SELECT row FROM frames", "the index is called t; index columns: row, "),
        ("SELEC row", "the index is called t; index columns: row, "),
        ("", "query: "),
    ] {
        let message = tetrys_with(folder, &["query", "table", sql]).fails(1);
        assert!(message.starts_with("error: query: ") && message.contains(says), "{sql}: {message}");
    }
    let message = tetrys(folder, "stats table --columns agent_count").fails(1);
    assert_eq!(message, "error: no column matches `agent_count`; nearest: `agents_count`\n");
    let message = tetrys(folder, "get table 0 --columns agnts.*").fails(1);
    assert!(message.contains("no column matches `agnts.*`; nearest: `agents.*`"), "{message}");
}

#[test]
fn sql_that_polars_cannot_compute_is_an_error_that_names_the_function() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small_table(folder, 3);
    let query = |sql: &str| tetrys_with(folder, &["query", "table", sql, "--json"]);
    let powers =
        query("SELECT POW(10, 12) AS big, POWER(frame_index + 2, 70) AS bigger, POW(2, -1) AS half FROM t LIMIT 1").json();
    let power = |name: &str| powers[0][name].as_f64().unwrap();
    assert_eq!((power("big"), power("bigger"), power("half")), (1e12, 2_f64.powi(70), 0.5), "{powers}");
    assert_eq!(query("SELECT LPAD(host, 12, '.') AS host FROM t LIMIT 1").json(), json!([{"host": "...host-a101"}]));
    let conditions = [
        ("LPAD(host, 99999999999) = 'x'", "LPAD: the length: expected a whole number from 0 to 1000, found `99999999999`"),
        ("RPAD(host, timestamp) = 'x'", "RPAD: the length: expected a whole number from 0 to 1000, found `timestamp`"),
        ("ROUND(timestamp / 3, 4294967296) = 1", "ROUND: the decimals: expected a whole number"),
        ("INTERVAL '99999999999 days' > INTERVAL '1 day'", "INTERVAL '99999999999 days': expected whole numbers with units"),
        ("INTERVAL '2 fortnights' > INTERVAL '1 day'", "INTERVAL '2 fortnights': expected whole numbers with units"),
        ("COLUMNS('(') = 1", "polars cannot compute this SQL with these values; it uses COLUMNS"),
        ("host = x'abc'", "`abc`"),
    ];
    for (condition, says) in conditions {
        let sql = format!("SELECT * FROM t WHERE {condition}");
        for arguments in [
            &["query", "table", &sql][..],
            &["select", "table", "--where", condition, "--out", "view"],
            &["delete", "table", "--where", condition],
            &["export", "parquet", "table", "--where", condition, "--out", "rows.parquet"],
        ] {
            let message = tetrys_with(folder, arguments).fails(1);
            assert!(message.starts_with("error: ") && message.contains(says), "{arguments:?}: {message}");
        }
    }
    let message = query("SELECT CAST('99999-01-01' AS DATE) AS day FROM t").fails(1);
    assert!(message.starts_with("error: query: ") && message.contains("99999-01-01"), "{message}");
    let message = query("SELECT host, host FROM t").fails(1);
    assert!(message.contains("`AS new_name`"), "{message}");
}

#[test]
fn a_long_chain_of_comparisons_chooses_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small_table(folder, 3);
    let chain = |word: &str, sign: &str, most: u64| {
        (1..most).map(|number| format!("frame_index {sign} {}", number * 2)).collect::<Vec<_>>().join(word)
    };
    let rows = |condition: &str| {
        let sql = format!("SELECT row FROM t WHERE {condition}");
        let found = tetrys_with(folder, &["query", "table", &sql, "--json"]).json();
        found.as_array().unwrap().iter().map(|row| row["row"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(rows(&chain(" OR ", "=", 1_900)), [2, 5]);
    assert_eq!(rows(&chain(" AND ", "<>", 100)), [0, 1, 3, 4]);
    assert_eq!(rows(&format!("scene_index = 1 AND ({})", chain(" OR ", "=", 1_900))), [5]);
    let message = tetrys_with(folder, &["delete", "table", "--where", &chain(" AND ", "<>", 600)]).fails(1);
    assert!(message.contains("more than 500 levels: use `x IN (1, 2, ..)` or `x NOT IN (1, 2, ..)`"), "{message}");
}

#[test]
fn stats_count_what_the_index_holds() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small_table(folder, 24);
    let stats = tetrys(folder, "stats table --json").json();
    let of = |name: &str| stats.as_array().unwrap().iter().find(|column| column["column"] == name).unwrap().clone();
    let frame = of("frame_index");
    assert_eq!(
        (&frame["nulls"], &frame["distinct"], &frame["min"], &frame["max"]),
        (&json!(0), &json!(24), &json!(0), &json!(23))
    );
    assert_eq!(frame["histogram"], json!({"steps": vec![2; 24]}));
    let host = of("host");
    assert_eq!(host["histogram"]["top"][0]["value"], "host-a101");
    let shown = tetrys(folder, "stats table --columns frame_* --columns host").ok();
    assert!(shown.starts_with("48 rows in 2 sequences\n\ncolumn"), "{shown}");
    assert!(shown.contains("[████████████████████████]") && shown.contains("host-a101 "), "{shown}");
    let lines = tetrys(folder, "stats table --ndjson").ok();
    assert_eq!(lines.lines().count(), stats.as_array().unwrap().len());
}

#[test]
fn head_says_what_rows_hold() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small_table(folder, 20);
    let head = tetrys(folder, "head table -n 2").ok();
    assert!(head.contains("\ncolumn") && head.contains("  in 2 rows\n"), "{head}");
    assert!(head.lines().any(|line| line.starts_with("ego.rotation ") && line.ends_with("[3,3]")), "{head}");
    assert_eq!(tetrys(folder, "head table -n 2 --index-only").ok().lines().count(), 3);
    let head = tetrys(folder, "head table -n 11 --columns ego.rotation --json").json();
    assert_eq!((&head[0]["ego.rotation"], &head[10]["ego.rotation"]), (&json!({"shape": [3, 3]}), &json!(null)));
    let csv = tetrys(folder, "head table -n 2 --csv").ok();
    assert!(csv.starts_with("row,scene_index,") && csv.lines().count() == 3, "{csv}");
    assert!(tetrys(folder, "head table --json --csv").fails(2).contains("cannot be used with"));
    let window = tetrys(folder, "get table 1 --columns ego.translation --offsets=-2..=0 --ndjson").ok();
    assert!(window.starts_with("{\"row\":null,\"ego.translation\":null}\n{\"row\":0,\"ego.translation\":["), "{window}");
}

#[test]
fn a_window_in_time_takes_the_rows_of_those_times() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small_table(folder, 20);
    // Frames are 100 ms apart.
    let rows = |arguments: &str| -> Vec<Option<u64>> {
        let window = tetrys(folder, &format!("get table 5 --columns ego.translation --json {arguments}")).json();
        window["rows"].as_array().unwrap().iter().map(|row| row["row"].as_u64()).collect()
    };
    assert_eq!(rows("--times=-1s,-200ms,0s --tolerance 20ms"), [None, Some(3), Some(5)]);
    assert_eq!(rows("--times=-1s,-200ms,0s --tolerance 20ms --edge skip"), [Some(3), Some(5)]);
    assert_eq!(rows("--times=-140ms,140ms --pick before"), [Some(3), Some(6)]);
    assert_eq!(rows("--times=-140ms,140ms --pick after --time-column timestamp"), [Some(4), Some(7)]);
    let question = "table 5 --columns ego.translation --times=-200ms,0s";
    assert_eq!(tetrys(folder, &format!("explain {question} --json")).json()["groups"].as_array().unwrap().len(), 1);
    assert!(tetrys(folder, &format!("layout {question}")).ok().contains("█ row 5 with the window 3..=5 takes "));
    for (arguments, code, says) in [
        ("--times=-1parsec", 1, "-1parsec"),
        ("--times=-1s --time-column host", 1, "index column `host` is utf8: it has no times"),
        ("--times=-1s --offsets=0..=1", 2, "cannot be used with"),
        ("--tolerance 5ms", 2, "--times"),
        ("--times=-1s --tolerance 5ms --edge error", 1, "row 5"),
    ] {
        let message = tetrys(folder, &format!("get table 5 {arguments}")).fails(code);
        assert!(message.contains(says), "{arguments}: {message}");
    }
}

#[test]
fn a_layout_lights_what_a_read_takes() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small_table(folder, 300);
    let all = tetrys(folder, "layout table").ok();
    assert!(all.contains(": 600 rows in 6 column groups\n") && !all.contains('█'), "{all}");
    let question = "table 100 --columns agents.pose.* --offsets=-10..=0";
    let lit = tetrys(folder, &format!("layout {question}")).ok();
    assert!(lit.contains("█ row 100 with the window 90..=100 takes "), "{lit}");
    let drawn = |group: &str| lit.lines().find(|line| line.starts_with(group)).unwrap().contains('█');
    assert!(drawn("agents.pose ") && !drawn("ego "), "{lit}");
    // The number of highlighted blocks equals the number in the plan.
    let json = tetrys(folder, &format!("layout {question} --json")).json();
    let explain = tetrys(folder, &format!("explain {question} --json")).json();
    assert_eq!(json["read"], explain);
    let lit: Vec<usize> = json["groups"].as_array().unwrap().iter().map(|group| group["lit"].as_array().unwrap().len()).collect();
    assert_eq!(lit.iter().sum::<usize>() as u64, explain["groups"][0]["blocks"].as_u64().unwrap());
    let rows: u64 = json["groups"][0]["chunks"].as_array().unwrap().iter().map(|chunk| chunk["rows"].as_u64().unwrap()).sum();
    assert_eq!(rows, 600);

    let output = tetrys(folder, &format!("layout {question} --png picture.png")).ok();
    assert!(output.starts_with("picture.png: ") && output.contains("\nbright: row 100 "), "{output}");
    let picture = fs::read(folder.join("picture.png")).unwrap();
    assert!(picture.starts_with(b"\x89PNG") && picture.len() > 1000);
    assert!(tetrys(folder, "layout table --rows 90..110").ok().contains(", shown 90..110"));
    for (arguments, code, says) in [
        ("layout table 600", 1, "row 600 is outside 0..600"),
        ("layout table --offsets=0..=1", 2, "required"),
        ("layout table --rows 5..5", 2, "expected A..B"),
        ("layout table --rows 600..700", 1, "the table has rows 0..600"),
        ("layout table --png no/where.png", 1, "no/where.png"),
        ("layout table --png table/manifests/18446744073709551614.json", 1, "expected a new file or a PNG picture to replace"),
    ] {
        let message = tetrys(folder, arguments).fails(code);
        assert!(message.contains(says), "{arguments}: {message}");
    }
}

/// Text that would control a terminal: 7-bit and 8-bit escape sequences, a bell, a carriage return, a delete character.
const STEERING: &str = "\u{1b}[31m\u{9b}31m\u{7}\r\u{7f}\u{1b}]0;title\u{7}";

#[test]
fn no_stored_text_steers_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let csv = format!("id,\"na{STEERING}me\",text\n1,\"a{STEERING}\",\"b{STEERING}\"\n2,\"a\",\"b\"\n");
    fs::write(folder.join("frame.csv"), csv).unwrap();
    let group = format!("g{STEERING}=text");
    let ingest = ["ingest", "csv", "frame.csv", "t", "--index", "id,na*", "--group", &group];
    let property = format!("k{STEERING}=v{STEERING}");
    let unknown = format!("x{STEERING}");
    let sql = format!("SELECT * FROM t WHERE \"{unknown}\" = 1");
    let calls: Vec<Vec<&str>> = vec![
        ingest.to_vec(),
        vec!["edit", "t", "--set", &property],
        vec!["info", "t"],
        vec!["schema", "t"],
        vec!["head", "t"],
        vec!["stats", "t"],
        vec!["query", "t", "SELECT * FROM t"],
        vec!["query", "t", "SELECT * FROM t", "--ndjson"],
        vec!["query", "t", "SELECT * FROM t", "--json"],
        vec!["query", "t", &sql],
        vec!["versions", "t"],
        vec!["du", "t"],
        vec!["get", "t", "0"],
        vec!["get", "t", "0", "--json"],
        vec!["get", "t", "0", "--columns", &unknown],
        vec!["explain", "t", "0"],
        vec!["layout", "t"],
        vec!["diff", "t@1", "t"],
        vec!["verify", "t"],
        vec!["gc", "t"],
        vec!["info", &unknown],
        vec!["export", "parquet", "t", "--out", "t.parquet"],
    ];
    for call in calls {
        let ran = tetrys_with(folder, &call);
        assert!(ran.code == 0 || !matches!(call[0], "ingest" | "edit"), "{call:?}: {}", ran.err);
        for text in [&ran.out, &ran.err] {
            let steers = text.chars().find(|character| character.is_control() && !matches!(character, '\n' | '\t'));
            assert_eq!(steers, None, "{call:?}: {text}");
        }
        assert!(!ran.out.is_empty() || !ran.err.is_empty() || call[0] == "verify", "{call:?}");
    }
    // CSV that does not go to a terminal has the stored bytes.
    let csv = tetrys_with(folder, &["query", "t", "SELECT * FROM t", "--csv"]).ok();
    assert!(csv.contains(&format!("a{STEERING}")), "{csv:?}");
}

#[test]
fn properties_of_a_table_are_shown_with_their_values() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small_table(folder, 5);
    tetrys_with(folder, &["edit", "table", "--set", "owner=the lab", "--set", "size=[1,2]", "--tag", "gold=1"]).ok();
    for command in ["info", "schema"] {
        let output = tetrys(folder, &format!("{command} table")).ok();
        assert!(output.contains("property  owner") && output.contains("the lab") && output.contains("[1,2]"), "{output}");
        let json = tetrys(folder, &format!("{command} table --json")).json();
        assert_eq!((&json["properties"]["owner"], &json["properties"]["size"]), (&json!("the lab"), &json!([1, 2])));
    }
    assert!(tetrys(folder, "info table").ok().contains("gold = version 1"));
}

#[test]
fn lines_follow_the_width_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small_table(folder, 5);
    let longest = |columns: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tetrys"));
        let output = command.args(["schema", "table"]).env("COLUMNS", columns).current_dir(folder).output().unwrap();
        String::from_utf8(output.stdout).unwrap().lines().map(|line| line.chars().count()).max().unwrap()
    };
    assert!(longest("60") <= 60 && longest("1000") > 60, "{} {}", longest("60"), longest("1000"));
}
