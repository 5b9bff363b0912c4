//! Tests the output of the reading commands on a small generated table.

use crate::common;
use std::process::{Command, Stdio};

use crate::binary::{small_table, tetrys};
use serde_json::json;

#[test]
fn info_schema_head_and_versions_say_what_the_table_is() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small_table(folder, 20);

    let info = tetrys(folder, "info table --json").json();
    assert_eq!((&info["rows"], &info["sequences"], &info["references"]), (&json!(40), &json!(2), &json!([])));
    for key in ["url", "uuid", "index_bytes", "layout_bytes", "chunks", "own_chunk_bytes", "referenced_chunk_bytes"] {
        assert!(!info[key].is_null(), "{key}");
    }
    for key in ["name", "columns", "blocks", "bytes"] {
        assert!(!info["column_groups"][0][key].is_null(), "{key}");
    }
    assert!(tetrys(folder, "info table@1").ok().contains("40 in 2 sequences"));

    let schema = tetrys(folder, "schema table --json").json();
    assert_eq!(schema["index"][0]["name"], "scene_index");
    assert_eq!((&schema["sequence_by"], &schema["order_by"]), (&json!(["scene_index"]), &json!(["frame_index"])));
    assert_eq!(
        schema["column_groups"][1]["columns"][0],
        json!({"name": "agents.pose.centroid", "type": "f64[?,2]", "properties": {}})
    );
    let output = tetrys(folder, "schema table").ok();
    assert!(output.contains("group agents_mask\n  agents_mask.0.5 ") && output.contains("\nproperty  l5  {"), "{output}");

    let head = tetrys(folder, "head table -n 21 --json").json();
    assert_eq!(head.as_array().unwrap().len(), 21);
    assert_eq!((&head[20]["row"], &head[20]["scene_index"], &head[20]["frame_index"]), (&json!(20), &json!(1), &json!(0)));
    assert_eq!(head[0]["host"], "host-a101");
    assert_eq!(tetrys(folder, "head table -n 3 --index-only").ok().lines().count(), 4);
    assert_eq!(tetrys(folder, "head table -n 0 --json").json(), json!([]));
    assert_eq!(tetrys(folder, "head table -n 1000 --json").json().as_array().unwrap().len(), 40);

    let versions = tetrys(folder, "versions table --json").json();
    assert_eq!((&versions[0]["version"], &versions[0]["rows"], &versions[0]["parent"]), (&json!(1), &json!(40), &json!(null)));
    assert_eq!(versions[0]["operation"], "create");
    let csv = tetrys(folder, "versions table --csv").ok();
    let (heads, line) = csv.split_once('\n').unwrap();
    assert_eq!(heads, "version,parent,when,operation,tags,rows,sequences,bytes_added,preset,writer,manifest_blake3,damage");
    assert!(line.starts_with("1,,2") && line.contains("Z,create,,40,2,"), "{line}");
    let newest = tetrys(folder, "versions table --limit 1 --json").json();
    assert_eq!(newest.as_array().unwrap(), &versions.as_array().unwrap()[..1]);
    assert_eq!(tetrys(folder, "versions table --limit 0 --json").json(), versions);
    let output = tetrys(folder, "versions table").ok();
    assert!(output.starts_with("version  when "), "{output}");
}

#[test]
fn get_shows_rows_and_windows() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small_table(folder, 20);
    let row = tetrys(folder, "get table 25 --columns ego.*").ok();
    assert!(row.starts_with("row 25\n  scene_index: 1\n") && row.contains("ego.rotation     f64[3,3]  [3,3]  "), "{row}");
    // Row 25 is the sixth row of its scene.
    let window = tetrys(folder, "get table 25 --columns agents.* --offsets -10..=1").ok();
    assert!(window.starts_with("rows 20..=26, 5 of 12 have no row in the sequence\n"), "{window}");
    assert!(window.contains("values of row 20"), "{window}");
    let window = tetrys(folder, "get table 25 --edge skip --offsets -10..=1 --json").json();
    assert_eq!(window["rows"].as_array().unwrap().len(), 7);

    let all = tetrys(folder, "get table 25 --columns ego.translation --offsets=-6..=0 --json").json();
    assert_eq!(all["columns"], json!([{"name": "ego.translation", "type": "f64[3]"}]));
    assert_eq!(all["rows"][0], json!({"row": null, "values": null}));
    assert_eq!(all["rows"][6]["row"], 25);
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    let read = runtime.block_on(async {
        let table = tetrys::Table::open(&folder.join("table").display().to_string()).await.unwrap();
        table.row_loader().get_row(25).await.unwrap()
    });
    let expected = read.tensor::<f64>("ego.translation").unwrap().to_vec();
    assert_eq!(all["rows"][6]["values"]["ego.translation"], json!(expected));
}

#[test]
fn explain_counts_each_group() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small_table(folder, 20);
    let all = tetrys(folder, "explain table 7 --json").json();
    assert_eq!((&all["ranges"], &all["requests"], &all["hops"]), (&json!(6), &json!(6), &json!(1)));
    let window = tetrys(folder, "explain table 7 --columns agents.pose.* --columns ego.* --offsets=-3..=0").ok();
    assert!(window.starts_with("2 ranges, 2 requests, ") && window.contains("\nagents.pose "), "{window}");
    assert!(all["groups"][0].get("places").is_none() && !window.contains("chunks/"), "only when asked");
    let group = &tetrys(folder, "explain table 7 --columns ego.* --places --json").json()["groups"][0];
    let [place] = group["places"].as_array().unwrap().as_slice() else { panic!("one range: {group}") };
    let (object, owner) = (place["object"].as_str().unwrap(), &place["owner"]);
    assert!(folder.join("table").join(object).is_file() && *owner == json!(0), "{place}");
    let of = |bytes: &serde_json::Value| bytes["end"].as_u64().unwrap() - bytes["start"].as_u64().unwrap();
    let blocks = place["blocks"].as_array().unwrap().iter().flat_map(|block| block["bytes"].as_array().unwrap());
    assert_eq!(
        (json!(of(&place["bytes"])), json!(blocks.map(of).sum::<u64>())),
        (group["bytes"].clone(), group["payload_bytes"].clone())
    );
    let shown = tetrys(folder, "explain table 7 --columns ego.* --places").ok();
    assert!(shown.contains(object) && shown.contains("first byte"), "{shown}");
}

#[test]
fn plan_predicts_what_throughput_measures() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small_table(folder, 50);
    for choices in ["--seed 1", "--shuffle block", "--shuffle sequence", "--shuffle none", "--offsets=-2..=0", "--columns ego.*"]
    {
        let plan = tetrys(folder, &format!("plan table --batch 7 {choices} --json")).json();
        let of = |name: &str| plan["plan"][name].as_f64().unwrap();
        assert_eq!((of("samples"), of("batches")), (100.0, 15.0), "{choices}");
        assert!(of("requests_of_batch") > 0.0 && of("bytes_of_batch") >= of("payload_of_batch"), "{plan}");
        let throughput = tetrys(folder, &format!("throughput table --batch 7 {choices} -q --json")).json();
        assert_eq!(throughput["plan"], plan["plan"]);
        let measured = |name: &str| throughput["measured"][name].as_f64().unwrap();
        assert_eq!((measured("batches"), measured("samples")), (15.0, 105.0), "the last batch is padded");
        assert!(measured("planned_requests") >= measured("requests") && measured("requests") > 0.0, "{throughput}");
        let found = measured("requested_bytes") / measured("batches");
        // The first batch is read alone, and later plans may share blocks that the forecast counts for each of its plans.
        assert!((0.2..5.0).contains(&(found / of("bytes_of_batch"))), "{choices}: {found} {plan}");
    }
    let slow = tetrys(folder, "plan table --batch 7 --latency 1s --bandwidth 0.1 --json").json();
    let fast = tetrys(folder, "plan table --batch 7 --latency 1us --bandwidth 1e6 --json").json();
    assert!(slow["samples_per_second"].as_f64().unwrap() * 1e3 < fast["samples_per_second"].as_f64().unwrap());
    let text = tetrys(folder, "plan table --batch 7 --latency 30ms").ok();
    assert!(text.contains("samples of an epoch") && text.contains("from a store of 30ms"), "{text}");
    let text = tetrys(folder, "throughput table --batch 7 --seconds 0.5").ok();
    assert!(text.contains("predicted") && text.contains("requests of a batch") && text.contains("15 batches in"), "{text}");
    assert!(text.contains("a loop that takes up to ") && text.contains(" samples/s should not wait"), "{text}");
    // A batch of 7 samples takes 10 ms, and a rate that is far too slow ends with the time.
    let text = tetrys(folder, "throughput table --batch 7 --rate 700").ok();
    assert!(text.contains("a loop that takes 700 samples/s waited ") && text.contains(" from the second batch on"), "{text}");
    let slow = tetrys(folder, "throughput table --batch 7 --rate 1e-300 --seconds 0.1 --json -q").json();
    assert!(slow["measured"]["batches"].as_u64() == Some(1) && slow["measured"]["wait_share"].is_null(), "{slow}");
    let all = tetrys(folder, "throughput table --batch 7 --rate 700 --json -q").json();
    assert!(all["measured"]["wait_share"].as_f64().is_some_and(|share| (0.0..=1.0).contains(&share)), "{all}");
}

#[test]
fn ingest_settings_reach_the_table_and_workers_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small_table(folder, 20);
    let output = tetrys(folder, "ingest l5 zarr one --preset compact --workers 1 --partition-rows 1 --chunk-max 64KiB").ok();
    assert!(output.contains(": 40 rows, 2 sequences in ") && output.contains("\nstored  "), "{output}");
    tetrys(folder, "ingest l5 zarr two --preset compact --workers 2 --partition-rows 1 --chunk-max 65536 -q").ok();
    let (one, two) = (tetrys(folder, "info one --json").json(), tetrys(folder, "info two --json").json());
    assert_eq!(one["preset"], "compact");
    assert!(one["chunks"].as_u64().unwrap() >= 12);
    assert_eq!((&one["column_groups"], &one["own_chunk_bytes"]), (&two["column_groups"], &two["own_chunk_bytes"]));
    let chunks = |table: &str| {
        let store = tetrys::Store::open(&folder.join(table).display().to_string()).unwrap();
        tokio::runtime::Builder::new_multi_thread().build().unwrap().block_on(async move { store.list("chunks").await.unwrap() })
    };
    assert_eq!(chunks("one"), chunks("two"));
}

#[test]
fn arrays_that_are_no_part_of_a_data_set_are_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small_table(folder, 3);
    std::fs::create_dir(folder.join("zarr/weather")).unwrap();
    std::fs::copy(folder.join("zarr/agents/.zarray"), folder.join("zarr/weather/.zarray")).unwrap();
    let ran = tetrys(folder, "ingest l5 zarr again --quiet");
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert!(ran.err.starts_with("warning: ") && ran.err.contains("array weather"), "{}", ran.err);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    small_table(folder.path(), 400);
    let mut command = Command::new(env!("CARGO_BIN_EXE_tetrys"));
    let command = command.args(["head", "table", "-n", "800", "--json"]).current_dir(folder.path());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), [].as_slice()));
}

#[test]
fn the_demo_tells_its_story_and_cleans_up() {
    let folder = tempfile::tempdir().unwrap();
    let demo = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tetrys"));
        command.args(["demo", "--scenes", "2", "--frames", "13"]).args(arguments).current_dir(folder.path());
        let output = command.env("TMPDIR", folder.path()).output().unwrap();
        assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""));
        String::from_utf8(output.stdout).unwrap()
    };
    let printed = demo(&[]);
    for part in [
        "26 rows, 2 sequences",
        "3 ranges, 3 requests",
        "camera and lidar are what was written",
        "█",
        "without frame 17, the first table as reference",
        " are references to the first table, ",
        "1 damaged object",
        "demo keep",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    if cfg!(unix) {
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the demo left something behind");
    }
    let kept = demo(&["keep"]);
    let (_, next) = kept.split_once("Next:\n").unwrap();
    assert!(next.contains("verify keep/drives\n"), "{kept}");
    // The last command shows the table until it is ended.
    let (next, view) = next.split_once("and look at it in the browser:\n").unwrap();
    assert!(view.ends_with("view keep/drives\n"), "{kept}");
    for command in next.lines() {
        let output = Command::new("sh").args(["-c", command]).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
    tetrys(folder.path(), "verify keep/drives").ok();
    tetrys(folder.path(), "verify keep/again").ok();
    let again = tetrys(folder.path(), "info keep/again --json").json();
    assert!(again["referenced_bytes"].as_u64().unwrap() > 20 * again["own_bytes"].as_u64().unwrap(), "{again}");
    assert!(folder.path().join("keep/drives.png").is_file());
    let drives = folder.path().join("keep/drives");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let columns = runtime.block_on(async {
        let table = tetrys::Table::open(drives.to_str().unwrap()).await.unwrap();
        common::chains::chains_of(&table, &drives, tetrys::Preset::Balanced).await
    });
    // The preset balanced keeps plain pages, which are read without a copy, unless another chain saves a 32nd.
    let most = |column: &common::chains::Taken| if column.chains.0 == "plain" { 3.3 } else { 2.0 };
    assert!(columns.len() > 8 && columns.iter().all(|column| column.more() <= most(column)), "{columns:#?}");
    // The output fits on one screen. The path of the program may be long.
    let printed = printed.replace(env!("CARGO_BIN_EXE_tetrys"), "tetrys");
    assert!(printed.lines().count() <= 46 && printed.lines().all(|line| line.chars().count() <= 130), "{printed}");
    let again = tetrys(folder.path(), "demo keep").fails(1);
    assert_eq!(again, "error: keep: expected a new or empty folder, found files in it\n");
}
