//! Tests bad input and damage: exit codes, messages, and that no partial output is left.

use std::{
    fs::{self, OpenOptions},
    io::{Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use crate::binary::{small_table, tetrys, tetrys_with};
use tetrys::format::{Manifest, manifest_name};

#[test]
fn bad_requests_are_errors_that_say_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small_table(folder, 5);
    for (arguments, code, says) in [
        ("get table 10", 1, "row 10 is outside 0..10"),
        ("get table 10 --offsets=0..=0", 1, "row 10 is outside 0..10"),
        ("explain table 18446744073709551615", 1, "row 18446744073709551615 is outside 0..10"),
        ("get table 0 --columns agents.pos", 1, "no column matches `agents.pos`; nearest: `agents.pose.yaw`"),
        ("get table 0 --columns re:(", 1, "column pattern `re:(`"),
        ("get table 0 --offsets=-1..=0 --edge error", 1, "offset -1 from row 0 leaves its sequence, rows 0..5"),
        ("get table 0 --offsets=0..=2147483648", 2, "less than 2^31"),
        ("get table 0 --offsets=-2147483648", 2, "expected less than 2^31 in size"),
        ("get table 0 --offsets=3..=1", 2, "offsets"),
        ("get table 0 --offsets=x", 2, "expected A..=B, A..B (with /STRIDE if wished) or A,B,.., e.g. -10..=0"),
        ("get table 0 --edge wrap", 2, "[possible values: pad, skip, error]"),
        ("get table minus", 2, "expected a whole number from 0 to 18446744073709551615"),
        ("get table", 2, "<ROW>"),
        ("plan table --batch 0", 1, "batch size 0"),
        ("plan table --columns lidar.*", 1, "no column matches `lidar.*`"),
        ("plan table --shuffle all", 2, "[possible values: global, block, sequence, none]"),
        ("plan table --latency 30", 2, "as in 30ms"),
        ("plan table --latency=-1s", 2, "negative"),
        ("plan table --bandwidth 0", 2, "above 0"),
        ("plan table --offsets=3..=1", 2, "offsets"),
        ("plan table --offsets=0..2000000", 1, "a batch of 10 windows of 2000000 rows each: expected at most 16777216 rows"),
        ("plan table --offsets=0..20000", 1, "20000 offsets: expected at most 10000, because the table has 10 rows"),
        ("get table 0 --offsets=0..16777216", 1, "16777216 offsets: expected at most 10000"),
        ("get table -1", 2, "'-1' for '<ROW>': expected a whole number from 0 to"),
        ("head table --rows -1", 2, "'-1' for '--rows <N>': expected a whole number from 0 to"),
        ("layout table --rows -5..3", 2, "expected A..B with A < B"),
        ("plan table --latency -1s", 2, "negative"),
        ("plan table --world-size 0", 1, "world size 0"),
        ("throughput table --seconds 0 -q", 2, "--seconds <S>': expected a number above 0"),
        ("throughput table --seconds soon", 2, "expected a number above 0"),
        ("throughput table --rate -3", 2, "--rate <N>': expected a number above 0"),
        ("paint", 2, "unrecognized subcommand 'paint'"),
        ("info nothing", 1, "no table there (no manifest)"),
        ("info table@2", 1, "no version 2"),
        ("info ftp://host/table", 1, "scheme `ftp`"),
        ("ingest l5 nowhere.zarr new", 1, "nowhere.zarr"),
        ("ingest l5 table new", 1, "not a zarr group: expected .zgroup"),
        ("ingest l5 zarr table", 1, "a table is there already, at version 1"),
        ("ingest l5 zarr zarr/.zgroup", 1, "is not a directory"),
        ("ingest l5 zarr new@3", 1, "expected a new table, found the name of a version"),
        ("ingest l5 zarr new --preset best", 2, "[possible values: fast, balanced, compact]"),
        ("ingest l5 zarr new --chunk-max 1", 1, "--chunk-max: largest chunk: expected 8 to 1073741824 bytes, found 1"),
        ("ingest l5 zarr new --chunk-max 1lb", 2, "expected a size, such as 512MiB or 4GB"),
        ("ingest csv s3://bucket/rows.csv new", 1, "s3://bucket/rows.csv: expected a file on this machine, found a URL"),
        ("ingest ndjson file:///rows.ndjson new", 1, "file:///rows.ndjson: expected a file on this machine, found a URL"),
        ("patch table https://host/rows.csv --on timestamp", 1, "expected a file on this machine, found a URL"),
        ("export parquet table --out zarr", 1, "zarr: expected the name of a new file, found a folder"),
        ("export arrow table --out zarr/.zgroup", 1, "expected the name of a new file, found a file"),
        ("ingest l5 zarr zarr", 1, "expected a new or empty folder for the table, found `.zattrs`"),
        ("concat table table --out zarr", 1, "expected a new or empty folder for the table, found `"),
        ("ingest l5 zarr new --workers 0", 2, "expected a whole number from 1 to 65535"),
        ("ingest csv x.csv new --max-blob 2GiB", 2, "expected at most 1GiB"),
        ("info table --option foo=1", 1, "unknown store option `foo`; there are: region, endpoint, "),
        ("edit table --tag ..", 1, "tag `..`: expected 1 to 64 letters, digits"),
        ("edit table --tag a=1 --tag a=2", 1, "--tag: found the name `a` twice, with `1` and `2`"),
        ("edit table --tag a --untag a", 1, "tag `a` is in --tag and in --untag"),
        ("edit table --set a=1 --set a=2", 1, "--set: found the name `a` twice, with `1` and `2`"),
        ("edit table --set a=1 --unset a", 1, "property `a` is in --set and in --unset"),
        ("ingest csv x.csv new --type a=i8 --type a=utf8", 1, "--type: found the name `a` twice, with `i8` and `utf8`"),
        ("select table --sample 11 --out view", 1, "sample: expected at most 10 rows, found 11"),
        ("select table --split host --shares a=x --out view", 2, "expected a number"),
        ("export l5 table zarr", 1, "expected a new folder, found something there"),
        ("generate l5 zarr", 1, "expected a new folder, found something there"),
        ("get table 0 --out zarr", 1, "zarr: expected a new or empty folder, found files in it"),
        ("get table 0 --out zarr/.zgroup", 1, "expected a new or empty folder, found a file"),
        ("get table 0 --out no/where", 1, "no"),
    ] {
        let message = tetrys(folder, arguments).fails(code);
        assert!(message.starts_with("error: ") && message.contains(says), "tetrys {arguments}: {message}");
    }
    let get = |variable: &str, value: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tetrys"));
        let output = command.args(["get", "table", "0"]).env(variable, value).current_dir(folder).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let wrong = |variable, values: &[&str], expected: &str| {
        for value in values {
            let (code, message) = get(variable, value);
            assert!(
                code == Some(1) && message.starts_with(&format!("error: {variable}={value}: expected {expected}")),
                "{message}"
            );
        }
    };
    wrong("TETRYS_THREADS", &["0", "many", "-1", ""], "a number of threads, 1 or more");
    wrong("TETRYS_BUFFERS", &["much", "-1", "", "1.5GiB"], "a size such as 64MiB, or 0");
    for right in ["0", "64MiB", "1000000"] {
        assert_eq!(get("TETRYS_BUFFERS", right).0, Some(0));
    }
    assert_eq!(names(folder), ["table", "zarr"], "partial output was left");
}

#[test]
fn texts_of_any_length_and_kind_are_shown_without_control_of_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let odd = ["\u{202e}gnp.exe", "a\u{200b}b", "\u{1b}[2J\u{9b}31m", "\u{feff}\u{e0041}", "\u{2028}x"].concat();
    let texts = ["x".repeat(65_536), "\u{1}".repeat(20_000), odd.clone(), "é".repeat(32_768), String::new()];
    let lines =
        texts.iter().enumerate().map(|(row, text)| format!("{}\n", serde_json::json!({"id": row, "text": text, "log.x": row})));
    fs::write(folder.join("rows.ndjson"), lines.collect::<String>()).unwrap();
    tetrys(folder, "ingest ndjson rows.ndjson table --index id,text --group log=log.x -q").ok();
    tetrys_with(folder, &["edit", "table", "--set", &format!("note={odd}"), "--tag", "gold=1"]).ok();
    // A version of another program, whose lineage says anything.
    let file = folder.join("table").join(manifest_name(2));
    let (mut manifest, _) = Manifest::parse(&fs::read(&file).unwrap(), 2).unwrap();
    let message = [odd.as_str(), &"\u{1}".repeat(20_000)].concat();
    for member in ["writer", "operation", "note"] {
        manifest.lineage[member] = message.as_str().into();
    }
    fs::write(&file, manifest.to_bytes().unwrap().0).unwrap();
    let hidden = |character: char| {
        character != '\n' && (character.is_control() || "\u{202e}\u{200b}\u{feff}\u{e0041}\u{2028}".contains(character))
    };
    for arguments in [
        &["head", "table"][..],
        &["head", "table", "--json"],
        &["head", "table", "--ndjson"],
        &["query", "table", "SELECT * FROM t"],
        &["query", "table", "SELECT text AS \">\u{202e}\" FROM t"],
        &["query", "table", "SELECT * FROM t", "--json"],
        &["get", "table", "2"],
        &["stats", "table"],
        &["info", "table"],
        &["schema", "table"],
        &["versions", "table"],
        &["versions", "table", "--json"],
        &["du", "table"],
        &["du", "table", "--json"],
    ] {
        let message = tetrys_with(folder, arguments).ok();
        assert!(!message.chars().any(hidden), "{arguments:?}");
        if !arguments.iter().any(|argument| argument.ends_with("json")) {
            assert!(message.lines().all(|line| line.chars().count() < 4_000), "{arguments:?}");
        }
    }
    // Programs get the stored text.
    for (arguments, rows) in [(&["head", "table", "--json"][..], 5), (&["query", "table", "SELECT * FROM t", "--json"], 5)] {
        let message = tetrys_with(folder, arguments).json();
        let found: Vec<&str> = message.as_array().unwrap().iter().map(|row| row["text"].as_str().unwrap()).collect();
        assert!(found.len() == rows && found == texts, "{arguments:?}");
    }
    assert_eq!(
        tetrys_with(folder, &["query", "table", "SELECT text FROM t WHERE id = 2", "--csv"]).ok(),
        format!("text\n{odd}\n")
    );
    for arguments in [vec!["info", &odd], vec!["query", "table", &odd], vec!["paint", &odd], vec![&odd]] {
        let ran = tetrys_with(folder, &arguments);
        assert!([1, 2].contains(&ran.code) && !ran.err.chars().any(hidden), "{arguments:?}: {}", ran.err);
    }
}

#[test]
fn messages_show_a_part_of_a_long_input() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small_table(folder, 5);
    let long = "x".repeat(60_000);
    fs::write(folder.join("long.toml"), format!("from = '{long}'\n\n[sources]\na = '{long}'\n")).unwrap();
    fs::write(folder.join("long.csv"), format!("{long},{long}\n1,2\n")).unwrap();
    for arguments in [
        &["info", &long][..],
        &[&long],
        &["info", "table", &long],
        &["get", "table", &long],
        &["get", "table", "0", "--columns", &long],
        &["get", "table", "0", &format!("--offsets={long}")],
        &["query", "table", &long],
        &["query", "table", &format!("SELECT {long} FROM t")],
        &["select", "table", "--where", &long, "--out", "view"],
        &["select", "table", "--split", "scene_index", "--shares", &format!("{long}=2"), "--out", "view"],
        &["run", "long.toml"],
        &["ingest", "csv", "long.csv", "new"],
        &["plan", "table", "--latency", &long],
        &["edit", "table", "--rename", &format!("{long}={long}")],
        &["diff", "table", "table", "--on", &long],
        &["delete", "table", "--where", &format!("host = '{long}' AND")],
        &["edit", "table", "--tag", &long],
        &["edit", "table", "--set", &format!("{long}={long}"), "--set", &format!("{long}={long}")],
        &["concat", "table", &long, "--out", "view"],
        &["info", "table", "--option", &format!("{long}=1")],
        &["stats", "table", "--columns", &long],
        &["export", "parquet", "table", "--columns", &long, "--out", "t.parquet"],
    ] {
        let ran = tetrys_with(folder, arguments);
        assert!([1, 2].contains(&ran.code), "{:?}: {}", arguments[0], ran.out.len());
        assert!(ran.err.len() < 5_000, "{:?}: {} bytes", arguments[0], ran.err.len());
    }
}

#[test]
fn a_loader_that_reads_nothing_has_no_plan() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("rows.csv"), "id,name\n1,a\n2,b\n").unwrap();
    tetrys(folder, "ingest csv rows.csv table --index id,name -q").ok();
    for arguments in ["plan table", "plan table --json", "throughput table -q", "throughput table -q --json"] {
        let message = tetrys(folder, arguments).fails(1);
        assert!(
            message.contains("table: a data loader reads no bytes: expected a column of a column group"),
            "{arguments}: {message}"
        );
    }
}

#[test]
fn an_index_column_that_is_named_is_read_like_any_column() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small_table(folder, 5);
    let read = tetrys(folder, "get table 7 --columns timestamp --columns ego.translation --json").json();
    let names: Vec<_> = read["columns"].as_array().unwrap().iter().map(|column| column["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["timestamp", "ego.translation"]);
    let asked = tetrys_with(folder, &["query", "table", "SELECT timestamp FROM t WHERE row = 7", "--json"]).json();
    assert_eq!(read["rows"][0]["values"]["timestamp"], asked[0]["timestamp"]);
    assert!(asked[0]["timestamp"].is_i64(), "{asked}");
}

#[test]
fn a_read_that_fails_leaves_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small_table(folder, 5);
    tetrys(folder, "get table 99 --out rows").fails(1);
    assert_eq!(names(folder), ["table", "zarr"]);
    // An empty folder is accepted.
    fs::create_dir(folder.join("rows")).unwrap();
    tetrys(folder, "get table 9 --columns ego.* --out rows").ok();
    assert_eq!(names(&folder.join("rows")), ["ego.rotation.npy", "ego.translation.npy"]);
    assert_eq!(names(folder), ["rows", "table", "zarr"]);
}

#[test]
fn a_data_set_with_a_hole_is_bad_input_not_damage() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small_table(folder, 5);
    let chunk = folder.join("zarr/agents/0");
    let bytes = fs::read(&chunk).unwrap();
    fs::write(&chunk, &bytes[..bytes.len() / 2]).unwrap();
    let message = tetrys(folder, "ingest l5 zarr new").fails(1);
    assert!(message.starts_with("error: ") && message.contains("agents"), "{message}");
    assert!(tetrys(folder, "info new").fails(1).contains("no table there"));
}

#[test]
fn a_data_set_that_claims_very_many_chunks_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small_table(folder, 5);
    for (array, says) in [("frames", "array frames: chunk"), ("agents", "array agents: chunk"), ("scenes", "array scenes: chunk")]
    {
        let file = folder.join(format!("zarr/{array}/.zarray"));
        let text = fs::read_to_string(&file).unwrap();
        let mut claimed: serde_json::Value = serde_json::from_str(&text).unwrap();
        claimed["shape"][0] = 6_000_000_000_000_u64.into();
        claimed["chunks"][0] = 1.into();
        fs::write(&file, claimed.to_string()).unwrap();
        let message = tetrys(folder, "ingest l5 zarr new").fails(1);
        assert!(message.contains(says) && message.contains("and more of 0..6000000000000 are missing"), "{array}: {message}");
        fs::write(&file, text).unwrap();
    }
}

#[test]
fn a_new_table_goes_into_a_new_or_an_empty_folder() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("rows.csv"), "id,x\n1,2\n3,4\n").unwrap();
    tetrys(folder, "ingest csv rows.csv t -q").ok();
    fs::create_dir(folder.join("photos")).unwrap();
    fs::write(folder.join("photos/1.jpg"), "photo").unwrap();
    fs::write(folder.join("photos/2.jpg"), "photo").unwrap();
    fs::write(folder.join("recipe.toml"), "from = 't'\nfilter = 'id >= 0'\n[sources]\nt = 't'\n[output]\nview = 'photos'\n")
        .unwrap();
    for command in [
        "ingest csv rows.csv photos",
        "session begin photos rows.csv",
        "concat t t --out photos",
        "merge t t --on id --out photos",
        "select t --where id>0 --out photos",
        "run recipe.toml",
        "ingest csv rows.csv .",
    ] {
        let message = tetrys(folder, command).fails(1);
        let found = if command.ends_with('.') { "`photos/`" } else { "`1.jpg`" };
        assert!(
            message.contains(&format!("expected a new or empty folder for the table, found {found}")),
            "{command}: {message}"
        );
    }
    assert_eq!(names(&folder.join("photos")), ["1.jpg", "2.jpg"]);
    assert_eq!(names(folder), ["photos", "recipe.toml", "rows.csv", "t"]);
    // An empty folder is as good as a new one, and so is what a writer left that was killed.
    fs::create_dir(folder.join("empty")).unwrap();
    fs::create_dir_all(folder.join("left/chunks/aa")).unwrap();
    fs::write(folder.join("left/chunks/aa/one#1"), "half of it").unwrap();
    tetrys(folder, "ingest csv rows.csv empty -q").ok();
    tetrys(folder, "ingest csv rows.csv left -q").ok();
    // Files of others in a table of long ago do not keep it from growing.
    fs::write(folder.join("t/notes.txt"), "mine").unwrap();
    tetrys(folder, "ingest csv rows.csv t --append -q").ok();
    tetrys(folder, "ingest csv rows.csv t --overwrite -q").ok();
}

#[test]
fn a_flipped_byte_in_any_object_is_found_and_exits_with_3() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small_table(folder, 5);
    for kind in ["chunks", "index", "layout", "hashes", "manifests"] {
        for file in files(&folder.join("table").join(kind)) {
            let middle = fs::metadata(&file).unwrap().len() / 2;
            flip(&file, middle);
            let ran = tetrys(folder, "verify table");
            assert_eq!((ran.code, ran.err.as_str()), (3, ""), "{kind}: {}", ran.out);
            assert!(ran.out.starts_with("damage: ") && ran.out.contains("damaged in 1 place"), "{kind}: {}", ran.out);
            let ran = tetrys(folder, "verify table --json");
            let found: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
            assert_eq!((ran.code, found["damage"].as_array().unwrap().len()), (3, 1));
            flip(&file, middle);
        }
    }
    let sound = tetrys(folder, "verify table --json").json();
    assert_eq!(sound["damage"].as_array().unwrap().len(), 0);
}

#[test]
fn reading_damage_exits_with_3_and_names_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small_table(folder, 5);
    let manifest = files(&folder.join("table/manifests")).remove(0);
    flip(&manifest, 100);
    for command in ["info table", "get table 0", "head table", "export l5 table out"] {
        assert!(tetrys(folder, command).fails(3).starts_with("error: "), "{command}");
    }
    flip(&manifest, 100);
    let chunks = files(&folder.join("table/chunks"));
    for chunk in &chunks {
        // In the first of two blocks.
        flip(chunk, fs::metadata(chunk).unwrap().len() / 3);
    }
    let message = tetrys(folder, "get table 0 --offsets=0..=4 --out rows").fails(3);
    assert!(message.contains("version 1: column group `") && message.contains("block 0 of chunk"), "{message}");
    chunks.iter().for_each(|chunk| fs::remove_file(chunk).unwrap());
    let message = tetrys(folder, "get table 0").fails(3);
    assert!(message.contains("no such object"), "{message}");
    assert_eq!(names(folder), ["table", "zarr"]);
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn flip(file: &Path, byte: u64) {
    let original = fs::read(file).unwrap()[byte as usize];
    let mut file = OpenOptions::new().write(true).open(file).unwrap();
    file.seek(SeekFrom::Start(byte)).unwrap();
    file.write_all(&[!original]).unwrap();
}
