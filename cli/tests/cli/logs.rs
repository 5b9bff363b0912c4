//! Tests `tetrys logs` and `tetrys ingest logs`: what logs have, recipes, logs that fail, and the same command again.

use std::{fs, path::Path};

use serde_json::json;

use crate::binary::{tetrys, tetrys_with};

/// Writes a recording with 20 messages of `/a` at 10 Hz and 10 of `/b` at 5 Hz, in JSON. Their stamps are 2 ms before the log time.
pub(crate) fn recording(path: &Path) {
    let text = |text: &str| [&u32::try_from(text.len()).unwrap().to_le_bytes()[..], text.as_bytes()].concat();
    let record = |opcode: u8, body: &[u8]| [&[opcode][..], &(body.len() as u64).to_le_bytes(), body].concat();
    let integer = json!({"type": "integer"});
    let stamp = json!({"type": "object", "properties": {"sec": integer, "nsec": integer}});
    let schema = json!({"type": "object", "properties": {"timestamp": stamp, "x": {"type": "number"}}}).to_string();
    let mut out = [b"\x89MCAP0\r\n".to_vec(), record(1, &[0; 8])].concat();
    let mut messages = Vec::new();
    for (number, topic, count, period) in [(1_u16, "/a", 20_u64, 100_000_000), (2, "/b", 10, 200_000_000)] {
        let id = number.to_le_bytes();
        out.extend(record(3, &[&id[..], &text("here"), &text("jsonschema"), &text(&schema)].concat()));
        out.extend(record(4, &[&id[..], &id, &text(topic), &text("json"), &text("")].concat()));
        for tick in 0..count {
            let at = 1_770_000_000_000_000_000 + tick * period;
            let message = json!({"timestamp": {"sec": at / 1_000_000_000, "nsec": at % 1_000_000_000}, "x": tick}).to_string();
            let logged = at + 2_000_000;
            let head = [&id[..], &0_u32.to_le_bytes(), &logged.to_le_bytes(), &0_u64.to_le_bytes()].concat();
            messages.push((logged, record(5, &[&head[..], message.as_bytes()].concat())));
        }
    }
    messages.sort();
    out.extend(messages.into_iter().flat_map(|(_, message)| message));
    out.extend(record(15, &[0; 4]));
    out.extend(record(2, &[0; 20]));
    out.extend(b"\x89MCAP0\r\n");
    fs::write(path, out).unwrap();
}

/// A recipe for it.
pub(crate) const RECIPE: &str = "[clock]\ntopic = \"/a\"\nname = \"a\"\ntime = \"stamp\"\n[[match]]\nname = \"b\"\ntopic = \"/b\"\ntime = \"stamp\"\n\
    policy = \"last\"\ntolerance = \"50ms\"\n";

#[test]
fn logs_are_shown_planned_and_imported() {
    let folder = tempfile::tempdir().unwrap();
    recording(&folder.path().join("monday.mcap"));
    let shown = tetrys(folder.path(), "logs info monday.mcap").ok();
    assert!(shown.starts_with("monday: 30 messages, 1.9 s, "), "{shown}");
    let info = tetrys(folder.path(), "logs info monday.mcap --json").json();
    assert_eq!(info[0]["topics"][0]["delay"], json!([2_000_000, 2_000_000, 2_000_000]));
    assert_eq!(info[0]["topics"][1]["rate"], 5.0);
    let plan = tetrys(folder.path(), "logs plan monday.mcap").ok();
    assert!(
        plan.contains("topic = \"/a\"\nname = \"a\"\ntime = \"stamp\"\n") && plan.contains("tolerance = \"400ms\""),
        "{plan}"
    );
    fs::write(folder.path().join("plan.toml"), plan).unwrap();
    fs::write(folder.path().join("sync.toml"), RECIPE).unwrap();
    tetrys(folder.path(), "ingest logs monday.mcap planned --recipe plan.toml").ok();
    let made = tetrys(folder.path(), "ingest logs monday.mcap table --recipe sync.toml --json").json();
    assert_eq!(made["rows"], 20);
    let b = &made["report"]["logs"][0]["matches"][1];
    assert_eq!((&b["matched"], &b["missing"], &b["largest_dt"]), (&json!(10), &json!(10), &json!(0)));
    assert_eq!(made["lineage"]["matches"]["b"]["matched"], 10);
    let query = "SELECT COUNT(*) AS n FROM t WHERE \"b.dt\" IS NULL AND \"b.x\" IS NULL";
    let missing = tetrys_with(folder.path(), &["query", "table", query, "--json"]).json();
    assert_eq!(missing[0]["n"], 10);
}

#[test]
fn a_log_that_fails_is_named_and_the_same_command_imports_it_later() {
    let folder = tempfile::tempdir().unwrap();
    recording(&folder.path().join("monday.mcap"));
    fs::write(folder.path().join("tuesday.mcap"), "no recording").unwrap();
    fs::write(folder.path().join("sync.toml"), RECIPE).unwrap();
    let command = "ingest logs tuesday.mcap monday.mcap table --recipe sync.toml";
    let ran = tetrys(folder.path(), command);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("20 rows"), "{}", ran.out);
    let error = ran.err;
    assert!(
        error.contains("error: log tuesday: tuesday.mcap: expected a file that begins with the magic bytes of MCAP"),
        "{error}"
    );
    assert!(error.contains("1 log failed and is not in the table; the same command again imports what is missing"), "{error}");
    assert_eq!(tetrys(folder.path(), "info table --json").json()["rows"], 20);
    recording(&folder.path().join("tuesday.mcap"));
    let again = tetrys(folder.path(), command).ok();
    assert!(again.contains("40 rows") && again.contains("1 log already there"), "{again}");
    let nothing = tetrys(folder.path(), command).ok();
    assert!(nothing.contains("2 logs already there"), "{nothing}");
    fs::write(folder.path().join("sync.toml"), RECIPE.replace("50ms", "51ms")).unwrap();
    let error = tetrys(folder.path(), command).fails(1);
    assert!(error.contains("the table was made with another recipe"), "{error}");
}

#[test]
fn a_match_with_a_table_has_its_messages_there_and_the_table_is_a_view() {
    let folder = tempfile::tempdir().unwrap();
    recording(&folder.path().join("monday.mcap"));
    fs::write(folder.path().join("plain.toml"), RECIPE).unwrap();
    fs::write(folder.path().join("sync.toml"), format!("{RECIPE}table = \"own\"\n")).unwrap();
    tetrys(folder.path(), "ingest logs monday.mcap plain --recipe plain.toml").ok();
    let made = tetrys(folder.path(), "ingest logs monday.mcap table --recipe sync.toml --preset compact").ok();
    assert!(made.contains("/table: 20 rows of 2 tables in "), "{made}");
    let rows = |table: &str| tetrys(folder.path(), &format!("info {table} --json")).json()["rows"].clone();
    assert_eq!([rows("own"), rows("table-rows"), rows("table")], [json!(10), json!(20), json!(20)]);
    let query = "SELECT \"time\", \"b.dt\", \"b.x\" FROM t ORDER BY \"time\"";
    let values = |table: &str| tetrys_with(folder.path(), &["query", table, query, "--json"]).json();
    assert_eq!(values("table"), values("plain"));
    // The next import stores rows as the first one did.
    recording(&folder.path().join("tuesday.mcap"));
    let made = tetrys(folder.path(), "ingest logs monday.mcap tuesday.mcap table --recipe sync.toml --json").json();
    assert_eq!((&made["rows"], &made["version"], &made["present"]), (&json!(40), &json!(2), &json!(["monday"])));
    let tables = made["tables"].as_array().unwrap().iter().map(|table| (table["rows"].clone(), table["preset"].clone()));
    assert_eq!(tables.collect::<Vec<_>>(), [(json!(20), json!("compact")), (json!(40), json!("compact"))]);
    let error = tetrys(folder.path(), "ingest logs monday.mcap plain --recipe sync.toml").fails(1);
    assert!(error.contains("plain: the table was made with another recipe"), "{error}");
}

#[test]
fn wrong_arguments_are_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    recording(&folder.path().join("monday.mcap"));
    fs::create_dir(folder.path().join("other")).unwrap();
    recording(&folder.path().join("other/monday.mcap"));
    fs::write(folder.path().join("sync.toml"), RECIPE).unwrap();
    for (command, expected) in [
        ("ingest logs monday.mcap other/monday.mcap table --recipe sync.toml", "two logs are called `monday`"),
        ("ingest logs monday.mcap table --recipe nothing.toml", "nothing.toml"),
        ("ingest logs nothing.mcap table --recipe sync.toml", "nothing.mcap"),
        ("logs info sync.toml", "expected a file that begins with the magic bytes of MCAP"),
    ] {
        let error = tetrys(folder.path(), command).fails(1);
        assert!(error.contains(expected), "{command}: {error}");
    }
    assert!(
        tetrys(folder.path(), "ingest logs monday.mcap table --recipe sync.toml --from yesterday").fails(2).contains("yesterday")
    );
    assert!(!folder.path().join("table").exists());
    // A folder with recordings is one log.
    assert!(tetrys(folder.path(), "ingest logs other table --recipe sync.toml").ok().contains("20 rows, 1 sequence"));
}

#[test]
fn another_file_of_a_name_and_other_times_are_named_and_the_exit_code_is_1() {
    let folder = tempfile::tempdir().unwrap();
    let monday = folder.path().join("monday.mcap");
    recording(&monday);
    fs::write(folder.path().join("sync.toml"), RECIPE).unwrap();
    let whole = fs::read(&monday).unwrap();
    fs::write(&monday, &whole[..whole.len() - 30]).unwrap();
    // A warning says where the file is cut.
    assert_eq!(tetrys(folder.path(), "ingest logs monday.mcap table --recipe sync.toml").code, 0);
    fs::write(&monday, &whole).unwrap();
    let ran = tetrys(folder.path(), "ingest logs monday.mcap table --recipe sync.toml");
    let (error, out) = (ran.err, ran.out);
    assert!(ran.code == 1 && !out.contains("already there"), "{out}");
    assert!(error.contains("warning: log monday: this is not the file that was imported: "), "{error}");
    assert!(error.contains("1 log was not imported: the table has rows of another file"), "{error}");
    let ran = tetrys(folder.path(), "ingest logs monday.mcap table --recipe sync.toml --json");
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert!(ran.code == 1 && json["different"]["monday"].as_str().unwrap().contains("its rows stay as they are"), "{json}");
    let error = tetrys(folder.path(), "ingest logs monday.mcap late --recipe sync.toml --from 2030-01-01T00:00:00Z").fails(1);
    assert!(
        error.contains("log monday: no row between 2030-01-01T00:00:00Z and the end: its messages are from 2026-"),
        "{error}"
    );
    let error = tetrys(folder.path(), "ingest logs monday.mcap late --recipe sync.toml --from 5 --to 4").fails(1);
    assert!(error.contains("found 1970-01-01T00:00:00.000000005Z and 1970-01-01T00:00:00.000000004Z"), "{error}");
}

#[test]
fn a_log_in_the_place_of_the_table_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["monday.mcap", "tuesday.mcap"] {
        recording(&folder.path().join(name));
    }
    fs::write(folder.path().join("sync.toml"), RECIPE).unwrap();
    let error = tetrys(folder.path(), "ingest logs monday.mcap tuesday.mcap --recipe sync.toml").fails(2);
    assert!(error.contains("the last argument is the table, and tuesday.mcap is a log (a file): name the table"), "{error}");
    let error = tetrys(folder.path(), "ingest logs monday.mcap new.bag --recipe sync.toml").fails(2);
    assert!(error.contains("new.bag is the name of a log"), "{error}");
}

#[test]
fn a_recipe_that_is_wrong_or_another_one_is_shown_where() {
    let folder = tempfile::tempdir().unwrap();
    recording(&folder.path().join("monday.mcap"));
    let command = "ingest logs monday.mcap table --recipe sync.toml";
    fs::write(folder.path().join("sync.toml"), RECIPE.replace("tolerance", "tolerence")).unwrap();
    let error = tetrys(folder.path(), command).fails(1);
    assert!(error.contains("sync.toml: line 10: [[match]] has no key `tolerence`: did you mean `tolerance`?"), "{error}");
    fs::write(folder.path().join("sync.toml"), RECIPE.replace("\"50ms\"", "20")).unwrap();
    let made = tetrys(folder.path(), "ingest logs monday.mcap narrow --recipe sync.toml");
    // Half of the rows are at the time of a message.
    assert!(made.code == 0 && !made.err.contains("rows have no"), "{}", made.err);
    fs::write(folder.path().join("sync.toml"), RECIPE).unwrap();
    tetrys(folder.path(), command).ok();
    fs::write(folder.path().join("sync.toml"), RECIPE.replace("50ms", "51ms")).unwrap();
    let error = tetrys(folder.path(), command).fails(1);
    assert!(error.contains("`match b.tolerance` is \"51ms\" in the recipe, and \"50ms\" in that of the table"), "{error}");
    let topic = tetrys(folder.path(), "help recipe").ok();
    assert!(topic.contains("[[match]]\n  name, topic ") && topic.contains("max_lateness, on_late"), "{topic}");
}
