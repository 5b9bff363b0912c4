//! Tests that the commands of the guide run in order and print what the guide shows. Also tests one walk (ingest, window, cost,
//! verification, export) whose values are compared with those that the library reads.

use crate::common;
use std::{fs, path::Path, process::Command};

use crate::{
    across::{Lab, blocks},
    binary::{arrays, tetrys},
};
use tetrys::Table;

/// The chapters whose commands run here, in reading order. The tests of the Python package run the Python code of all pages.
/// Commands that install packages are marked `shell` instead of `sh`: they do not run.
const CHAPTERS: [&str; 12] = [
    "your-logs.md",
    "logs.md",
    "first-table.md",
    "reading.md",
    "windows.md",
    "merging.md",
    "versions.md",
    "object-stores.md",
    "level5.md",
    "operations.md",
    "production.md",
    "troubles.md",
];

#[test]
fn the_commands_of_the_guide_print_what_it_shows() {
    let lab = Lab::new();
    let folder = lab.folder.path().canonicalize().unwrap().display().to_string();
    for chapter in CHAPTERS {
        let path = common::root().join("docs/guide").join(chapter);
        let mut page = fs::read_to_string(&path).unwrap();
        let blocks = blocks(&page);
        assert!(blocks.iter().any(|(language, _)| language == "sh"), "{chapter} has no commands");
        // The first code of these chapters makes the recordings that their commands take in.
        if ["your-logs.md", "logs.md"].contains(&chapter) && !makes_recordings(lab.folder.path(), &blocks) {
            continue;
        }
        for (number, (_, script)) in blocks.iter().enumerate().filter(|(_, (language, _))| language == "sh") {
            let ran = lab.script(script);
            let output = format!("{}{}", ran.err, ran.out).replace(&folder, "/home/me");
            assert_eq!(ran.code, 0, "{chapter}: {script}{output}");
            let Some((_, shown)) = blocks.get(number + 1).filter(|(language, _)| language == "text") else { continue };
            if std::env::var_os("TETRYS_REWRITE").is_some() {
                page = page.replacen(&format!("```text\n{shown}```"), &format!("```text\n{}```", rewritten(shown, &output)), 1);
            } else {
                let (mut expected, mut found) = (shapes(shown), shapes(&output));
                if expected.last().is_some_and(|line| line == "...") {
                    expected.pop();
                    found.truncate(expected.len());
                }
                assert_eq!(
                    found, expected,
                    "{chapter} shows something else (TETRYS_REWRITE=1 writes it anew):\n{script}{output}"
                );
            }
        }
        if std::env::var_os("TETRYS_REWRITE").is_some() {
            fs::write(&path, page).unwrap();
        }
    }
}

/// Runs the first Python code of a page. Returns false if there is no Python to run it with.
fn makes_recordings(folder: &Path, blocks: &[(String, String)]) -> bool {
    let Some(python) = common::python(&["python/tests/requirements.txt"]) else { return false };
    let (_, code) = blocks.iter().find(|(language, _)| language == "python").unwrap();
    let ran = Command::new(python).args(["-c", code]).current_dir(folder).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    true
}

#[test]
fn every_chapter_of_the_guide_is_run() {
    let pages = fs::read_dir(common::root().join("docs/guide")).unwrap();
    let mut pages: Vec<String> = pages.map(|page| page.unwrap().file_name().into_string().unwrap()).collect();
    pages.sort();
    let mut known = CHAPTERS.to_vec();
    // The Python tests run the code of these; the last five have none that ends.
    known.extend(["cluster.md", "coming-from.md", "object-training.md", "petastorm.md", "python.md", "training.md"]);
    known.extend(["README.md", "glossary.md", "runtimes.md", "scale.md", "viewer.md"]);
    known.sort_unstable();
    assert_eq!(pages, known);
}

#[test]
fn the_shape_of_a_line_has_its_names_and_not_its_figures() {
    let shown = "ego   2  3  5.90 kB  f64[3]  0.34\n\n░░██  180 rows in 3 sequences, 27 ms";
    assert_eq!(shapes(shown), ["ego # # # unit f64[3] #", "# rows in # sequences, # unit"]);
    assert_eq!(shapes("uuid  c5823d75-65d1-455c-b90f-50b7e37bc3a5 (1.5 s)"), ["uuid # # unit"]);
    assert_ne!(shapes("group ego"), shapes("group lidar"));
}

/// Returns the non-empty lines of a text, with placeholders for figures, hashes and units, and without bars of charts.
fn shapes(text: &str) -> Vec<String> {
    const UNITS: [&str; 10] = ["B", "kB", "MB", "GB", "ns", "us", "µs", "ms", "s", "min"];
    let is_bar = |word: &str| word.chars().all(|c| "[░▁▂▃▄▅▆▇█]".contains(c));
    let is_hash = |word: &str| word.len() >= 16 && word.chars().all(|c| c == '-' || c.is_ascii_hexdigit());
    let shape_of = |word: &str| {
        let bare = word.trim_matches(|c: char| "(),;".contains(c));
        match bare {
            _ if bare.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit()) || is_hash(bare) => "#".to_owned(),
            _ if UNITS.contains(&bare) => "unit".to_owned(),
            _ => word.to_owned(),
        }
    };
    let shape = |line: &str| line.split_whitespace().filter(|word| !is_bar(word)).map(shape_of).collect::<Vec<_>>().join(" ");
    text.lines().map(shape).filter(|shape| !shape.is_empty()).collect()
}

/// Returns the text to show in a block: all lines, or as many as before if the last line of the block is `...`.
fn rewritten(shown: &str, output: &str) -> String {
    let cut = shown.lines().last() == Some("...");
    let lines = if cut { shown.lines().count() - 1 } else { usize::MAX };
    let mut text: String = output.lines().take(lines).map(|line| line.trim_end().to_owned() + "\n").collect();
    if cut {
        text.push_str("...\n");
    }
    text
}

#[test]
fn the_walk_on_generated_data() {
    let folder = tempfile::tempdir().unwrap();
    tetrys(folder.path(), "generate l5 own.zarr --scenes 3 --frames 60 --agents 30 --mask").ok();
    walk(folder.path(), &folder.path().join("own.zarr"), 100);
}

#[test]
fn the_walk_on_recorded_data() {
    let Some(zarr) = common::shared_path("l5/artefacts/single_scene.zarr") else { return };
    let folder = tempfile::tempdir().unwrap();
    walk(folder.path(), &zarr, 120);
}

fn walk(folder: &Path, zarr: &Path, row: u64) {
    let output = tetrys(folder, &format!("ingest l5 {} scene", zarr.display())).ok();
    assert!(output.contains("rows") && output.contains("of the input"), "{output}");

    let info = tetrys(folder, "info scene --json").json();
    assert_eq!(info["version"], 1);
    assert_eq!(info["column_groups"][1]["name"], "agents.pose");

    let patterns = "--columns agents.* --columns ego.* --offsets=-10..=0";
    let output = tetrys(folder, &format!("get scene {row} {patterns} --out rows")).ok();
    assert!(output.starts_with(&format!("rows: rows {}..={row}, all 11 exist\n", row - 10)), "{output}");
    compare(folder, row);

    let plan = tetrys(folder, &format!("explain scene {row} --columns agents.pose.* --offsets=-10..=0 --json")).json();
    assert_eq!((&plan["ranges"], &plan["requests"], &plan["hops"]), (&1.into(), &1.into(), &1.into()));
    assert_eq!(plan["groups"][0]["name"], "agents.pose");
    assert!(plan["bytes"].as_u64().unwrap() >= plan["payload_bytes"].as_u64().unwrap());

    assert!(tetrys(folder, "verify scene").ok().starts_with("sound: "));
    tetrys(folder, "export l5 scene back.zarr").ok();
    for array in ["scenes", "frames", "agents", "traffic_light_faces"] {
        let back = common::l5::records(&folder.join("back.zarr"), array);
        assert!(back == common::l5::records(zarr, array), "{array} came back changed");
    }
}

/// Compares the files that `get` wrote with the values that the library reads.
fn compare(folder: &Path, row: u64) {
    let files = arrays(&folder.join("rows"));
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    let rows = runtime.block_on(async {
        let table = Table::open(&folder.join("scene").display().to_string()).await.unwrap();
        table.row_loader().get_rows(row, -10..=0).await.unwrap()
    });
    assert_eq!((files["mask"].dtype.as_str(), files["mask"].bytes.as_slice()), ("|b1", [1; 11].as_slice()));
    let (mut centroids, mut yaws, mut offsets, mut places) = (Vec::new(), Vec::new(), vec![0], Vec::new());
    for place in 0..rows.len() {
        let centroid = rows.tensor::<f64>("agents.pose.centroid", place).unwrap();
        centroids.extend(centroid.iter().flat_map(|value| value.to_le_bytes()));
        yaws.extend(rows.tensor::<f32>("agents.pose.yaw", place).unwrap().iter().flat_map(|value| value.to_le_bytes()));
        places.extend(rows.tensor::<f64>("ego.translation", place).unwrap().iter().flat_map(|value| value.to_le_bytes()));
        offsets.push(offsets[place] + centroid.shape()[0] as i64);
    }
    let total = offsets[11] as usize;
    let centroid = &files["agents.pose.centroid"];
    assert_eq!((centroid.dtype.as_str(), &centroid.shape, &centroid.bytes), ("<f8", &vec![total, 2], &centroids));
    assert_eq!((&files["agents.pose.yaw"].shape, &files["agents.pose.yaw"].bytes), (&vec![total], &yaws));
    assert_eq!(files["agents.pose.centroid.offsets"].i64s(), offsets);
    assert_eq!(files["agents.label_probabilities"].shape, [total, 17]);
    assert_eq!((&files["ego.translation"].shape, &files["ego.translation"].bytes), (&vec![11, 3], &places));
    assert_eq!(files["ego.rotation"].shape, [11, 3, 3]);
}
