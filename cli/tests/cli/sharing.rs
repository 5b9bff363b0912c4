//! Tests shared blocks, edits, deletes and garbage collection from the command line.

use crate::binary::{small_table, tetrys, tetrys_with};
use serde_json::json;

#[test]
fn a_table_taken_in_again_refers_to_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small_table(folder, 20);
    let output = tetrys(folder, "ingest l5 zarr again --reference table --preset fast").ok();
    let price = " 0 B new; windows cost as much as in a table that shares nothing\n";
    assert!(output.contains("\nshared  ") && output.contains(price), "{output}");
    let (first, again) = (tetrys(folder, "info table --json").json(), tetrys(folder, "info again --json").json());
    assert_eq!((&again["own_bytes"], &again["referenced_bytes"]), (&json!(0), &first["own_bytes"]));
    assert_eq!(again["references"], json!(["../table"]));
    assert!(tetrys(folder, "info again").ok().contains("refers to"));
    assert_eq!(tetrys(folder, "verify again --json").json()["damage"], json!([]));
    tetrys(folder, "export l5 again back.zarr").ok();
    let du = tetrys(folder, "du table --json").json();
    assert_eq!((&du["pins"], &du["unnamed_bytes"]), (&json!(1), &json!(0)));

    tetrys(folder, "materialize again").ok();
    std::fs::remove_dir_all(folder.join("table")).unwrap();
    assert_eq!(tetrys(folder, "verify again --json").json()["damage"], json!([]));
    assert!(tetrys(folder, "materialize again").ok().contains("refers to no other table"));
    let none = tetrys(folder, "ingest l5 zarr more --reference again --reuse none").ok();
    assert!(!none.contains("shared"), "{none}");
    // Without a bound no window is priced, so nothing is claimed about windows.
    let unbounded = tetrys(folder, "ingest l5 zarr unbounded --reference again --preset fast --locality none").ok();
    assert!(unbounded.contains("\nshared  ") && !unbounded.contains("window"), "{unbounded}");
    assert!(tetrys(folder, "ingest l5 zarr more2 --reference nowhere").fails(1).contains("--reference: "));
}

#[test]
fn a_table_is_edited_shortened_and_collected() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small_table(folder, 20);
    tetrys(folder, "edit table --tag gold --set license=CC0 --rename host=machine").ok();
    assert_eq!(tetrys(folder, "info table@gold --json").json()["version"], json!(1));
    let output = tetrys_with(folder, &["delete", "table", "--where", "scene_index = 1", "--dry-run"]).ok();
    assert_eq!(output, "20 rows of 40 would be deleted\n");
    tetrys_with(folder, &["delete", "table", "--where", "scene_index = 1"]).ok();
    assert_eq!(tetrys(folder, "info table --json").json()["rows"], json!(20));
    assert_eq!(tetrys(folder, "verify table --json").json()["damage"], json!([]));
    tetrys(folder, "ingest l5 zarr table --overwrite --quiet").ok();
    let versions = tetrys(folder, "versions table --json").json();
    let made: Vec<&str> = versions.as_array().unwrap().iter().map(|version| version["operation"].as_str().unwrap()).collect();
    assert_eq!(made, ["overwrite", "delete", "edit", "create"]);
    assert_eq!((&versions[3]["tags"], &versions[0]["rows"]), (&json!("gold"), &json!(40)));
    let du = tetrys(folder, "du table --json").json();
    assert_eq!(du["versions"][0]["rows"], json!(40));
    assert!(tetrys(folder, "du table").ok().contains("of which 0 B are used by no version"));

    // Nothing is old enough to collect, and nothing changes without `--yes`.
    let plan = tetrys(folder, "gc table --keep 1 --json").json();
    assert_eq!((&plan["done"], &plan["condemn"]), (&json!(false), &json!({})));
    let output = tetrys(folder, "gc table --keep 1 --age 0").ok();
    assert!(output.contains("dry run: nothing was changed; pass --yes"), "{output}");
    tetrys(folder, "gc table --keep 1 --age 0 --yes").ok();
    tetrys(folder, "gc table --keep 1 --age 0 --yes").ok();
    assert_eq!(tetrys(folder, "verify table --json").json()["damage"], json!([]));
    assert!(tetrys(folder, "info table@2").fails(1).contains("no version 2"));
    assert_eq!(tetrys(folder, "info table@gold --json").json()["version"], json!(1), "tagged versions stay");
    assert!(tetrys(folder, "compact table").ok().contains("nothing to compact"));
    for (arguments, expected) in [
        ("edit table", "nothing to change"),
        ("edit table --tag 12", "not digits alone"),
        ("edit table --drop nothing", "no column `nothing`"),
        ("delete table --where nonsense", "nonsense"),
    ] {
        assert!(tetrys(folder, arguments).fails(1).contains(expected), "{arguments}");
    }
}
