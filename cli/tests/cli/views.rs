//! Tests views from the command line: merge, concat, select, run, diff, rebind, and their error messages.

use crate::common;
use std::{fs, path::Path, process::Command};

use crate::binary::{small_table, tetrys, tetrys_with};
use serde_json::json;

/// Makes two tables, `table` and `labels`, of the same 40 frames.
fn two_tables(folder: &Path) {
    small_table(folder, 20);
    tetrys(folder, "ingest l5 zarr labels --quiet").ok();
}

#[test]
fn a_merge_is_made_of_two_tables_and_read_like_one() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    two_tables(folder);
    let planned = tetrys(folder, "merge table labels --on scene_index,frame_index --out view --dry-run --json").json();
    assert_eq!((&planned["rows"], &planned["payload_bytes"], &planned["written"]), (&json!(40), &json!(0), &json!(false)));
    assert!(!folder.join("view").exists());
    let made = tetrys(folder, "merge table labels --on scene_index,frame_index --out view --json").json();
    for member in ["rows", "columns", "sources", "index_bytes", "join_bytes"] {
        assert_eq!(made[member], planned[member], "{member}");
    }
    assert_eq!((&made["version"], &made["written"]), (&json!(1), &json!(true)));
    assert!(!folder.join("view/chunks").exists());
    // The view is read like a table.
    let info = tetrys(folder, "info view --json").json();
    assert_eq!((&info["rows"], &info["chunks"], info["sources"].as_array().unwrap().len()), (&json!(40), &json!(0), 2));
    assert!(tetrys(folder, "info view").ok().contains("windows follow"));
    assert!(tetrys(folder, "schema view").ok().contains("group labels"));
    assert!(tetrys(folder, "head view -n 3 --index-only").ok().lines().count() == 4);
    let rows = tetrys_with(folder, &["query", "view", "SELECT row, agents_count FROM t WHERE row = 7", "--json"]).json();
    let same = tetrys_with(folder, &["query", "table", "SELECT row, agents_count FROM t WHERE row = 7", "--json"]).json();
    assert_eq!(rows, same);
    tetrys(folder, "get view 25 --columns ego.* --columns *_right --offsets=-3..=0 --out rows").ok();
    assert!(folder.join("rows/mask.npy").exists());
    let explained = tetrys(folder, "explain view 25 --columns ego.* --offsets=-3..=0 --json").json();
    // One range for each table.
    assert_eq!(explained["ranges"], json!(2));
    assert!(tetrys(folder, "verify view").ok().contains("not checked: rows of "));
    let checked = tetrys(folder, "verify view --sources --json").json();
    assert_eq!((&checked["damage"], &checked["not_checked"]), (&json!([]), &json!([])));
    assert!(checked["chunks"].as_u64().unwrap() > 0, "{checked}");
    assert!(tetrys(folder, "layout view").fails(1).contains("no chunks of its own"));
    // The lineage has the recipe of the view.
    let manifest = fs::read_dir(folder.join("view/manifests")).unwrap().next().unwrap().unwrap().path();
    let manifest: serde_json::Value = serde_json::from_slice(&fs::read(manifest).unwrap()).unwrap();
    assert_eq!(manifest["lineage"]["recipe"]["join"][0]["on"], json!(["scene_index", "frame_index"]));
    // Saving again is an error, or with `--update` makes the next version.
    assert!(tetrys(folder, "merge table labels --on scene_index,frame_index --out view").fails(1).contains("there already"));
    let next = tetrys(folder, "merge table labels --on scene_index,frame_index --out view --update --json").json();
    assert_eq!(next["version"], json!(2));
}

#[test]
fn a_merge_to_lists_keeps_the_index_columns_of_the_right_table_as_lists() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("frames.csv"), "id,x\n1,10\n2,20\n3,30\n").unwrap();
    fs::write(folder.join("boxes.csv"), "id,label,score,y\n1,car,0.5,1\n1,bus,0.25,2\n3,car,,3\n").unwrap();
    tetrys(folder, "ingest csv frames.csv frames --index id -q").ok();
    tetrys(folder, "ingest csv boxes.csv boxes --index id,label,score -q").ok();
    let merge = "merge frames boxes --on id --how left --group-to-list --out view";
    assert_eq!(tetrys(folder, &format!("{merge} --dry-run --json")).json()["columns"], json!(["id", "label", "score"]));
    tetrys(folder, merge).ok();
    let rows = tetrys_with(folder, &["query", "view", "SELECT id, label, score FROM t", "--json"]).json();
    let expected = json!([
        {"id": 1, "label": ["car", "bus"], "score": [0.5, 0.25]},
        {"id": 2, "label": null, "score": null},
        {"id": 3, "label": ["car"], "score": [null]},
    ]);
    assert_eq!(rows, expected);
    assert!(tetrys(folder, "head view --index-only").ok().contains(r#"["car","bus"]"#));
    assert!(tetrys(folder, "stats view").ok().contains("label"));
    let recipe =
        "from = 'frames'\n[sources]\nframes = 'frames'\nboxes = 'boxes'\n[[join]]\nwith = 'boxes'\non = 'id'\nhow = 'left'\n";
    for (number, word) in ["group_to_list", "lists"].iter().enumerate() {
        let text = format!("{recipe}{word} = true\n[output]\nview = 'made{number}'\n");
        fs::write(folder.join("merge.toml"), text).unwrap();
        tetrys(folder, "run merge.toml").ok();
        let query = ["query", &format!("made{number}"), "SELECT id, label, score FROM t", "--json"];
        assert_eq!(tetrys_with(folder, &query).json(), expected);
    }
}

#[test]
fn a_row_of_a_view_is_shown_with_its_own_index_values_and_number() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small_table(folder, 20);
    tetrys_with(
        folder,
        &["select", "table", "--where", "frame_index > 9", "--sort", "timestamp", "--descending", "--out", "view"],
    )
    .ok();
    let all = tetrys_with(folder, &["query", "view", "SELECT row, frame_index, timestamp FROM t", "--json"]).json();
    let source = tetrys_with(folder, &["query", "table", "SELECT row, timestamp FROM t", "--json"]).json();
    let row_of = |timestamp: &serde_json::Value| {
        source.as_array().unwrap().iter().find(|row| row["timestamp"] == *timestamp).unwrap()["row"].clone()
    };
    for row in [0, 3, 19] {
        let (of_view, number) = (&all[row], row.to_string());
        let output = tetrys(folder, &format!("get view {number} --columns ego.*")).ok();
        assert!(output.starts_with(&format!("row {row}\n")), "{output}");
        assert!(output.contains(&format!("  frame_index: {}\n", of_view["frame_index"])), "{output}");
        let json = tetrys(folder, &format!("get view {number} --columns ego.* --json")).json();
        assert_eq!(json["rows"][0]["row"], json!(row));
        let of_table = row_of(&of_view["timestamp"]);
        let same = tetrys(folder, &format!("get table {of_table} --columns ego.* --json")).json();
        assert_eq!(json["rows"][0]["values"], same["rows"][0]["values"]);
        let line = tetrys(folder, &format!("get view {number} --columns ego.* --ndjson")).json();
        assert_eq!(line["row"], json!(row));
        // The rows of a window have the numbers of the table behind the view.
        let window = tetrys(folder, &format!("get view {number} --columns ego.* --offsets=0..=0 --json")).json();
        assert_eq!((&window["rows"][0]["source_row"], window["rows"][0].get("row")), (&of_table, None));
        let output = tetrys(folder, &format!("get view {number} --columns ego.* --offsets=0..=0")).ok();
        assert!(output.starts_with(&format!("rows {of_table}..={of_table} of the table behind the view")), "{output}");
        let head = tetrys(folder, "head view -n 20 --index-only --json").json();
        assert_eq!((&head[row]["row"], &head[row]["timestamp"]), (&json!(row), &of_view["timestamp"]));
    }
}

#[test]
fn a_condition_is_one_expression_and_a_query_only_asks() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small_table(folder, 20);
    for condition in ["1 = 0 UNION SELECT * FROM t", "1 = 0; SELECT 1", "frame_index > 3 -- ", "frame_index IN (SELECT 3)"] {
        for arguments in [
            vec!["delete", "table", "--where", condition],
            vec!["select", "table", "--where", condition, "--out", "view"],
            vec!["select", "table", "--column", &format!("more={condition}"), "--out", "view"],
        ] {
            let message = tetrys_with(folder, &arguments).fails(1);
            assert!(message.contains("expected one expression over index columns"), "{arguments:?}: {message}");
        }
    }
    for sql in ["DROP TABLE t", "DELETE FROM t", "TRUNCATE TABLE t"] {
        let message = tetrys_with(folder, &["query", "table", sql]).fails(1);
        assert!(message.contains("one read-only query"), "{message}");
    }
    assert!(!folder.join("view").exists());
    assert_eq!(tetrys(folder, "info table --json").json()["version"], json!(1));
}

#[test]
fn tables_are_concatenated_selected_and_split() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    two_tables(folder);
    assert!(tetrys(folder, "concat table labels table --out three").ok().contains("120 rows of 3 tables"));
    let select = |arguments: &[&str]| tetrys_with(folder, &[&["select", "table"], arguments].concat());
    let late = ["--where", "frame_index > 9", "--column", "later=frame_index + 1", "--sort", "frame_index", "--descending"];
    let made = select(&[&late[..], &["--keep", "scene_index,later", "--out", "late", "--json"]].concat()).json();
    assert_eq!((&made["rows"], &made["columns"]), (&json!(20), &json!(["scene_index", "later"])));
    let first = tetrys_with(folder, &["query", "late", "SELECT later FROM t LIMIT 1", "--json"]).json();
    assert_eq!(first, json!([{"later": 20}]));
    let parts =
        select(&["--split", "scene_index,frame_index", "--shares", "train=0.75,val=0.25", "--out", "parts", "--json"]).json();
    let rows: Vec<u64> = parts.as_array().unwrap().iter().map(|part| part["rows"].as_u64().unwrap()).collect();
    assert_eq!(rows.iter().sum::<u64>(), 40);
    assert!(rows[0] > rows[1] && rows[1] > 0, "{rows:?}");
    assert_eq!(tetrys(folder, "info parts/val --json").json()["rows"], json!(rows[1]));
}

#[test]
fn selections_splits_and_diffs_part_by_part_equal_those_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    two_tables(folder);
    let small = ["--memory-limit", "0", "--temporary-folder", "."];
    let made = |arguments: &[&str], more: &[&str]| -> serde_json::Value {
        let mut made = tetrys_with(folder, &[&["select", "table", "--json"], arguments, more].concat()).json();
        let views = if made.is_array() { made.as_array_mut().unwrap().iter_mut().collect() } else { vec![&mut made] };
        for view in views {
            for name in ["uuid", "view", "version", "written"] {
                view.as_object_mut().unwrap().remove(name);
            }
        }
        made
    };
    let select = ["--where", "frame_index > 3", "--keep", "timestamp,scene_index"];
    let split = ["--split", "frame_index", "--shares", "train=0.6,test=0.3", "--salt", "some"];
    let sorted = ["--sort", "timestamp", "--descending"];
    for (number, arguments) in [&select[..], &split, &[&select[..2], &split].concat(), &sorted].into_iter().enumerate() {
        let out = [format!("plain-{number}"), format!("parts-{number}")];
        let expected = made(arguments, &["--out", &out[0]]);
        assert_eq!(made(arguments, &[&small[..], &["--out", &out[1], "--dry-run"]].concat()), expected);
        assert!(!folder.join(&out[1]).exists());
        assert_eq!(made(arguments, &[&small[..], &["--out", &out[1]]].concat()), expected);
        assert_eq!(made(arguments, &[&small[..], &["--out", &out[1], "--update"]].concat()), expected);
        tetrys_with(folder, &[&["select", "table", "--out", &out[1]], arguments, &small].concat()).fails(1);
        let part = if number == 1 { "/test" } else { "" };
        let rows = |view: &str, version: &str| {
            tetrys_with(folder, &["query", &format!("{view}{part}{version}"), "SELECT * FROM t", "--json"]).json()
        };
        if number != 2 {
            assert_eq!(rows(&out[1], "@1"), rows(&out[0], ""));
            assert_eq!(rows(&out[1], "@2"), rows(&out[0], ""));
        }
    }
    for (arguments, expected_text) in [
        (&["--where", "frame_indx > 3"][..], "nearest: `frame_index`"),
        (&["--keep", "frame_indx"], "nearest: `frame_index`"),
        (&["--split", "scene", "--shares", "a=0.5"], "no column `scene`; there are: "),
        (&["--split", "scene_index", "--shares", "a=1.5"], "positive shares that add up to at most 1"),
        (&["--split", "scene_index", "--shares", "../x=0.5"], "part `../x`: expected the name of a folder"),
        (&["--split", "scene_index", "--shares", "a=0.5,b=0.1,a=0.4"], "--shares: found the name `a` twice"),
        (&["--column", "a=1", "--column", "a=2"], "--column: found the name `a` twice"),
    ] {
        for more in [&small[..], &[]] {
            let error = tetrys_with(folder, &[&["select", "table", "--out", "wrong"], arguments, more].concat()).fails(1);
            assert!(error.contains(expected_text), "{error}: expected {expected_text}");
        }
    }
    tetrys(folder, "generate l5 other.zarr --scenes 2 --frames 18 --agents 12 --seed 6").ok();
    tetrys(folder, "ingest l5 other.zarr other --quiet").ok();
    for options in ["", " --exact", " --on scene_index,frame_index --all"] {
        let found = |more: &str| tetrys(folder, &format!("diff table other --json{options}{more}")).json();
        assert_eq!(found(" --memory-limit 0 --temporary-folder ."), found(""));
    }
}

#[test]
fn a_recipe_makes_what_the_commands_make_and_a_wrong_word_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    two_tables(folder);
    let recipe = "from = 'sensors'\nfilter = ['agents_count >= 0', 'frame_index > 4']\nsort = 'frame_index'\n\n[sources]\nsensors = 'table'\nlabels = { table = 'labels', filter = 'frame_index < 15' }\n\n[[join]]\nwith = 'labels'\non = ['scene_index', 'timestamp']\nhow = 'asof'\npick = 'nearest'\ntolerance = '10000000'\n\n[columns]\nmany = 'agents_count > 10'\n\n[split]\nby = 'scene_index'\nshares = { train = 1.0 }\n\n[output]\nview = 'made'\n";
    fs::write(folder.join("recipe.toml"), recipe).unwrap();
    let planned = tetrys(folder, "run recipe.toml --dry-run --json").json();
    assert_eq!(planned[0]["rows"], json!(20), "{planned}");
    assert!(tetrys(folder, "run recipe.toml").ok().contains("made/train version 1: 20 rows of 2 tables"));
    for (from, to, expected) in [
        ("[[join]]", "[[joins]]", "no word `joins` in the recipe; nearest: `join`"),
        ("tolerance", "tolerence", "no word `tolerence` in [[join]]; nearest: `tolerance`"),
        ("shares", "share", "no word `share` in [split]; nearest: `shares`"),
        ("view =", "views =", "no word `views` in [output]; nearest: `view`"),
        ("with = 'labels'", "with = 'label'", "no source `label` in [sources]; nearest: `labels`"),
        ("'asof'", "'assof'", "no kind of join `assof` in `how`; nearest: `asof`"),
        ("'nearest'", "'near'", "no way to pick a row `near` in `pick`; nearest: `nearest`"),
        ("from = 'sensors'", "", "say where the rows come from"),
        (
            "'scene_index', 'timestamp'",
            "'scene', 'timestamp'",
            "join with `labels`: merge: no column `scene` on the left; there are: ",
        ),
        ("agents_count > 10", "agent_count > 10", "nearest: `agents_count`"),
        ("table = 'labels'", "table = 'lables'", "source `labels`"),
        (
            "sort = 'frame_index'",
            "sample = 'many'",
            "recipe: `sample` in the recipe is \"many\", expected a whole number of 0 or more",
        ),
        ("sort = 'frame_index'", "sample = -1", "recipe: `sample` in the recipe is -1, expected a whole number of 0 or more"),
        ("sort = 'frame_index'", "seed = 1.5", "recipe: `seed` in the recipe is 1.5, expected a whole number of 0 or more"),
        ("sort = 'frame_index'", "sort = 3", "recipe: `sort` in the recipe is 3, expected a text or a list of texts"),
        ("sort = 'frame_index'", "descending = 'yes'", "recipe: `descending` in the recipe is \"yes\", expected true or false"),
        ("tolerance = '10000000'", "tolerance = 5", "recipe: `tolerance` in [[join]] is 5, expected a text"),
        (
            "train = 1.0",
            "train = 'all'",
            "recipe: `shares` in [split] is {\"train\":\"all\"}, expected a mapping of names to numbers",
        ),
        ("view = 'made'", "view = 1", "recipe: `view` in [output] is 1, expected a text"),
        ("'agents_count > 10'", "10", "recipe: `columns` in the recipe is {\"many\":10}, expected a mapping of names to texts"),
        ("[split]", "[split", "recipe.toml: recipe: TOML parse error"),
    ] {
        assert!(recipe.contains(from), "{from}");
        fs::write(folder.join("recipe.toml"), recipe.replace(from, to)).unwrap();
        let error = tetrys(folder, "run recipe.toml --dry-run").fails(1);
        assert!(error.contains(expected), "{error}: expected {expected}");
    }
    // A recipe that merges two tables and does no more says it too, whatever fits into memory.
    let merged = |on: &str| {
        format!(
            "from = 's'\n[sources]\ns = 'table'\nl = 'labels'\n[[join]]\nwith = 'l'\non = ['{on}']\n[output]\nview = 'made'\n"
        )
    };
    for (on, expected) in [("scene", "left"), ("scene_index=scene", "right")] {
        fs::write(folder.join("recipe.toml"), merged(on)).unwrap();
        for limit in ["", " --memory-limit 1"] {
            let error = tetrys(folder, &format!("run recipe.toml --dry-run{limit}")).fails(1);
            assert!(error.contains(&format!("join with `l`: merge: no column `scene` on the {expected}")), "{error}");
        }
    }
    assert!(tetrys(folder, "run nothing.toml").fails(1).contains("nothing.toml"));
    let error = tetrys_with(folder, &["concat", "table", "", "--out", "view"]).fails(1);
    assert!(error.contains("source `table-0002`: ") && error.contains("expected a path or URL, found an empty text"), "{error}");
    fs::write(folder.join("notes.csv"), "host\n1\n").unwrap();
    tetrys(folder, "ingest csv notes.csv notes --index host -q").ok();
    for (arguments, expected) in [
        ("concat table notes --out view", "set `fill` to fill it with nulls"),
        ("concat table notes --fill --out view", " above and i64 below"),
        ("merge table notes --on host --out view", " on the left and `host` is i64 on the right"),
        ("select table --where frame_index --out view", "must be of type bool, got u32"),
    ] {
        let error = tetrys(folder, arguments).fails(1);
        assert!(error.contains(expected), "{arguments}: {error}");
    }
}

#[test]
fn differences_are_told_and_a_moved_table_is_bound_again() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    two_tables(folder);
    tetrys(folder, "generate l5 other.zarr --scenes 2 --frames 18 --agents 12 --seed 6").ok();
    tetrys(folder, "ingest l5 other.zarr other --quiet").ok();
    let same = tetrys(folder, "diff table labels --json").json();
    assert_eq!((&same["unchanged"], &same["added"]["count"], &same["payload_bytes"]), (&json!(40), &json!(0), &json!(0)));
    let found = tetrys(folder, "diff table other --on scene_index,frame_index --json").json();
    assert_eq!((&found["removed"]["count"], &found["added"]["count"]), (&json!(4), &json!(0)));
    let output = tetrys(folder, "diff table other --on scene_index,frame_index").ok();
    assert!(output.contains("no payload read") && output.contains("column group ego"), "{output}");
    assert!(tetrys(folder, "diff table other --on scene").fails(1).contains("no index column `scene`"));
    // Tests `--exit-code` and `--exact`.
    assert_eq!(tetrys(folder, "diff table other --on scene_index,frame_index --exit-code").code, 4);
    assert_eq!(tetrys(folder, "diff table labels --exit-code").code, 0);
    let exact = tetrys(folder, "diff table other --on scene_index,frame_index --exact --json").json();
    assert_eq!((&exact["exact"], &exact["not_compared"]), (&json!(true), &json!([])));
    assert!(exact["changed"]["count"].as_u64() <= found["changed"]["count"].as_u64(), "{exact}");
    // Older versions are verified only with `--all-versions`.
    tetrys(folder, "edit labels --set who=me").ok();
    assert!(tetrys(folder, "verify labels").ok().contains("not checked: versions: 1 (--all-versions)"));
    assert!(!tetrys(folder, "verify labels --all-versions").ok().contains("not checked"));
    tetrys(folder, "select table --where 'frame_index>3' --out view").fails(1);
    tetrys_with(folder, &["select", "table", "--where", "frame_index > 3", "--out", "view"]).ok();
    fs::rename(folder.join("table"), folder.join("moved")).unwrap();
    assert!(tetrys(folder, "get view 0").fails(1).contains("rebind`"));
    assert!(tetrys(folder, "rebind view labels").fails(1).contains("expected version 1 of table"));
    assert!(tetrys(folder, "rebind view moved").ok().contains("at ../moved, then ../table"));
    assert_eq!(tetrys(folder, "get view 0").code, 0);
}

#[test]
fn a_diff_counts_rows_that_may_differ_as_at_most() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let rows: String = (0..90).map(|row| format!("{row},{row}\n")).collect();
    fs::write(folder.join("rows.csv"), format!("key,log.value\n{rows}")).unwrap();
    tetrys(folder, "ingest csv rows.csv table --index key --group log=log.value -q").ok();
    fs::write(folder.join("patch.csv"), "key,log.value\n7,-7\n").unwrap();
    tetrys(folder, "patch table patch.csv --on key").ok();
    let lines = |output: String| {
        output.lines().map(|line| line.split_whitespace().take(4).collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    let output = lines(tetrys(folder, "diff table@1 table@2 --on key").ok());
    assert!(
        output.contains(&"changed at most 90".to_owned()) && output.contains(&"unchanged at least 0".to_owned()),
        "{output:?}"
    );
    let output = lines(tetrys(folder, "diff table@1 table@2 --on key --exact").ok());
    assert!(output.contains(&"changed 1 7".to_owned()) && output.contains(&"unchanged 89".to_owned()), "{output:?}");
}

#[test]
fn the_merge_script_in_shell_does_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let script = common::root().join("examples/merge.sh");
    let ran = Command::new("sh").arg(script).arg(folder.path()).env("TETRYS", env!("CARGO_BIN_EXE_tetrys")).output().unwrap();
    let (out, err) = (String::from_utf8(ran.stdout).unwrap(), String::from_utf8(ran.stderr).unwrap());
    assert!(ran.status.success(), "{out}\n{err}");
    assert!(out.contains("would be 1,000 rows of 2 tables") && out.contains("no payload read"), "{out}");
}
