//! The pages about storage and about the table: what is stored where, what a read takes, and what a table is.

use serde_json::{Value, json};
use tetrys::{Table, table::BlockPlace};
use tetrys_view::{Options, Server, Source};

use crate::{
    common::{ROWS, ask, block_on},
    requests::drives,
};

/// Returns the row ranges, bytes, blocks and first chunks of the spans of a group.
fn spans(group: &Value) -> Vec<[u64; 4]> {
    let number = |span: &Value, place: usize| span[place].as_u64().unwrap();
    let span = |span: &Value| [number(span, 0), number(span, 1), number(span, 2), number(span, 3)];
    group["spans"].as_array().unwrap().iter().map(span).collect()
}

/// Returns the rows and bytes of each block of a group.
async fn blocks(table: &Table, group: usize) -> Vec<(u64, u64, u64)> {
    let layout = table.storage().layout(group).await.unwrap();
    let mut found = Vec::new();
    for (number, run) in layout.chunk_runs().enumerate() {
        for block in 0..run.blocks() {
            let place = BlockPlace { run: number, block };
            let (first, bytes) = (layout.first_row(place).unwrap(), layout.byte_range(place).unwrap());
            found.push((first, first + u64::from(run.block_rows(block)), bytes.end - bytes.start));
        }
    }
    found
}

#[test]
fn the_picture_of_the_storage_has_every_block_once_at_any_scale() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (table, server) = drives(folder.path()).await;
        for (start, end) in [(0, 180), (0, 60), (59, 61), (7, 8), (33, 179), (180, 180)] {
            for cells in [1, 2, 7, 60, 1000] {
                let answer = ask(&server, &format!("/api/layout?table=0&start={start}&end={end}&cells={cells}")).json();
                let layout = &answer["layout"];
                assert_eq!((&layout["start"], &layout["end"], &layout["rows"]), (&json!(start), &json!(end), &json!(ROWS)));
                assert_eq!(layout["level"], "blocks");
                let inside: Vec<u64> = [60, 120].into_iter().filter(|row| start < *row && *row < end).collect();
                if cells >= 2 {
                    assert_eq!(layout["seams"], json!(inside), "partitions begin");
                }
                for (number, group) in layout["groups"].as_array().unwrap().iter().enumerate() {
                    let found = spans(group);
                    let there: Vec<_> =
                        blocks(&table, number).await.into_iter().filter(|block| block.0 < end && start < block.1).collect();
                    assert!(found.windows(2).all(|pair| pair[0][1] == pair[1][0]), "{found:?}");
                    let ends = found.first().zip(found.last()).map(|(first, last)| (first[0], last[1]));
                    assert_eq!(ends, (start < end).then_some((start, end)));
                    assert_eq!(found.iter().map(|span| span[2]).sum::<u64>(), there.iter().map(|block| block.2).sum::<u64>());
                    assert_eq!(found.iter().map(|span| span[3]).sum::<u64>(), there.len() as u64);
                    assert_eq!(group["blocks"], there.len());
                    assert!(found.len() as u64 <= 2 * cells + 1, "{} spans for {cells} places", found.len());
                }
            }
        }
    });
}

#[test]
fn the_blocks_of_a_read_light_up_with_its_requests() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (table, server) = drives(folder.path()).await;
        let answer = ask(&server, "/api/layout?table=0&cells=500&row=118&before=3&after=3&window=front.png").json();
        let explain = table.row_loader().cache_bytes(0).explain_take(&[118]).await.unwrap();
        let window = table.row_loader().columns(["front.png"]).unwrap().cache_bytes(0).explain(118, -3..=3).await.unwrap();
        assert_eq!(answer["read"]["requests"], explain.requests + window.requests);
        assert_eq!(answer["read"]["bytes"], explain.bytes + window.bytes);
        assert_eq!(answer["read"]["places"].as_array().unwrap().len(), explain.ranges + window.ranges);
        for (number, group) in answer["layout"]["groups"].as_array().unwrap().iter().enumerate() {
            // The window ends with its sequence.
            let rows = if group["name"] == "cameras" { 115..120 } else { 118..119 };
            let there = blocks(&table, number).await.into_iter().filter(|block| block.0 < rows.end && rows.start < block.1);
            let expected: Vec<Value> = there.map(|block| json!([block.0, block.1])).collect();
            let lit = group["lit"].as_array().unwrap();
            match group["name"] == "model" {
                // The drives have the same features, so their rows share blocks, which light up at each of them.
                true => assert!(expected.iter().all(|rows| lit.contains(rows)), "{lit:?}"),
                false => assert_eq!(lit, &expected, "{}", group["name"]),
            }
        }
        // The answer has the requests of the row.
        let got = ask(&server, "/api/row?table=0&row=118&columns=notes.json");
        let metadata = crate::common::rows(&got).schema_ref().metadata().clone();
        let read: Value = serde_json::from_str(&metadata["tetrys.read"]).unwrap();
        assert!(
            read["requests"].as_u64() == Some(1) && read["bytes"].as_u64() > Some(0) && read["ms"].as_f64() > Some(0.0),
            "{read}"
        );
    });
}

#[test]
fn a_table_says_what_it_is_what_it_stands_on_and_who_uses_it() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (table, _) = drives(folder.path()).await;
        let view = folder.path().join("rainy").display().to_string();
        table.index().await.unwrap().filter_sql("weather = 'rain'").unwrap().save(&view).await.unwrap();
        let table = table.edit().set_property("place", "Zurich").tag("good", 1).commit().await.unwrap();
        let view = Table::open(&view).await.unwrap();
        let index = table.index().await.unwrap();
        let sources = vec![Source::of_table(table.clone()), Source::of_table(view), Source::of_index(index).unwrap()];
        let server = Server::start(sources, Options::default()).await.unwrap();

        let answer = ask(&server, "/api/about?table=0").json();
        assert_eq!(
            (&answer["version"], &answer["rows"], &answer["sequences"], &answer["view"]),
            (&json!(2), &json!(ROWS), &json!(3), &json!(false))
        );
        assert_eq!((&answer["properties"], &answer["tags"]), (&json!([["place", "Zurich"]]), &json!([["good", 1]])));
        assert_eq!((&answer["sequence_by"], &answer["order_by"]), (&json!(["log"]), &json!(["time"])));
        assert_eq!(answer["index"][3], json!({"name": "speed", "type": "f64", "properties": [["unit", "m/s"]]}));
        assert_eq!(answer["groups"][1]["columns"][0]["type"], "f32[?,4]");
        assert!(answer["groups"][1]["stored"].as_u64() > Some(1000) && answer["lineage"]["operation"].is_string(), "{answer}");

        let users = ask(&server, "/api/users?table=0").json();
        assert_eq!(users["count"], 1);
        let user = &users["users"][0];
        assert!(user["url"].as_str().unwrap().ends_with("rainy") && user["state"] == "exists" && user["version"] == 1, "{users}");
        let versions = ask(&server, "/api/versions?table=0").json();
        assert_eq!((versions["versions"].as_array().unwrap().len(), &versions["has_older"]), (2, &json!(false)));
        assert_eq!((&versions["versions"][0]["version"], &versions["versions"][1]["tags"]), (&json!(2), &json!(["good"])));
        assert!(versions["versions"][1]["bytes_added"].as_u64() > versions["versions"][0]["bytes_added"].as_u64(), "{versions}");

        let answer = ask(&server, "/api/about?table=1").json();
        assert_eq!(
            (&answer["view"], &answer["sources"][0]["version"], &answer["sources"][0]["rows"]),
            (&json!(true), &json!(1), &json!(ROWS))
        );
        assert_eq!(ask(&server, "/api/users?table=1").json()["count"], 0);
        // A view is drawn by the tables that hold its rows; what a read of it takes lights up there.
        for table in [1, 2] {
            let answer = ask(&server, &format!("/api/layout?table={table}&cells=60&row=5")).json();
            assert_eq!((&answer["layout"]["rows"], answer["holders"].as_array().unwrap().len()), (&json!(ROWS), 1));
            let row = if table == 1 { 25 } else { 5 };
            for group in answer["layout"]["groups"].as_array().unwrap() {
                let lit = group["lit"].as_array().unwrap();
                let has = |range: &Value| range[0].as_u64() <= Some(row) && Some(row) < range[1].as_u64();
                assert!((lit.len() == 1 || group["name"] == "model") && lit.iter().any(has), "{table}: {group}");
            }
        }
        for (query, status, says) in [
            ("layout?table=0", 400, "cells"),
            ("layout?table=0&cells=1001", 400, "up to 1000"),
            ("layout?table=0&cells=9&end=181", 400, "up to 180"),
            ("layout?table=0&cells=9&start=5&end=4", 400, "up to 4"),
            ("layout?table=0&cells=9&holder=1", 400, "up to 0"),
            ("layout?table=0&cells=9&row=180", 400, "up to 179"),
            ("layout?table=0&cells=9&row=0&window=nothing", 404, "nothing"),
            ("about?table=3", 400, "up to 2"),
            ("users?table=0&x=1", 400, "\"x\""),
        ] {
            let got = ask(&server, &format!("/api/{query}"));
            let answer = got.json();
            assert!(got.status == status && answer["error"]["message"].as_str().unwrap().contains(says), "{query}: {answer}");
        }
    });
}
