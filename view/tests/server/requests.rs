//! Each request of the page: rows, selections, summaries, windows and errors, compared with what was written.

use std::{path::Path, sync::Arc};

use arrow_array::{ArrayRef, Float32Array, LargeStringArray, RecordBatch, TimestampNanosecondArray, cast::AsArray, types};
use serde_json::{Value, json};
use tetrys::{Merge, Pick, Schema, Table, WriteOptions};
use tetrys_view::{Options, Server, Source};

use crate::common::{FRAMES, ROWS, ask, block_on, damage, rows, speed, weather, write_drives};

pub(crate) async fn drives(folder: &Path) -> (Table, Server) {
    let table = write_drives(&folder.join("drives")).await;
    let server = Server::start(vec![Source::of_table(table.clone())], Options::default()).await.unwrap();
    (table, server)
}

/// Writes a table with heights of the first drive.
async fn write_heights(root: &Path) -> Table {
    let schema = Schema::builder().index("log", "utf8").index("time", "timestamp[ns]").group("gps", [("gps.height", "f32")]);
    let schema = schema.sequence_by(["log"]).order_by(["time"]).build().unwrap();
    let times = (0..FRAMES as i64).map(|frame| 1_700_000_000_123_456_789 + frame * 100_000_000);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("log", Arc::new(LargeStringArray::from(vec!["drive-0"; FRAMES]))),
        ("time", Arc::new(TimestampNanosecondArray::from_iter_values(times))),
        ("gps.height", Arc::new(Float32Array::from_iter_values((0..FRAMES).map(|frame| frame as f32)))),
    ];
    let writer = Table::create(root.to_str().unwrap(), schema, WriteOptions::default()).await.unwrap();
    let mut partition = writer.partition().unwrap();
    partition.write(&RecordBatch::try_from_iter(columns).unwrap()).await.unwrap();
    writer.commit([partition.finish().await.unwrap()]).await.unwrap()
}

pub(crate) fn numbers(got: &crate::common::Got) -> Vec<u64> {
    let batch = rows(got);
    serde_json::from_str(&batch.schema_ref().metadata()["tetrys.rows"]).unwrap()
}

pub(crate) fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn rows_are_those_that_were_written() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (_, server) = drives(folder.path()).await;
        let answer = ask(&server, "/api/tables").json();
        let table = &answer["tables"][0];
        assert_eq!((&table["name"], &table["rows"], &table["version"]), (&json!("drives"), &json!(ROWS), &json!(1)));
        assert_eq!(table["scene"], false, "a picture from above is of other kinds of tables");
        assert_eq!(table["index"][3], json!({"name": "speed", "type": "f64", "unit": "m/s"}));
        assert_eq!(table["index"][1]["type"], "timestamp[ns]");
        assert_eq!(table["groups"][1]["columns"][0], json!({"name": "lidar.points", "type": "f32[?,4]", "unit": null}));
        let got = ask(&server, "/api/rows?table=0&start=58&count=4");
        let batch = rows(&got);
        assert_eq!(numbers(&got), [58, 59, 60, 61]);
        let speeds = batch.column_by_name("speed").unwrap().as_primitive::<types::Float64Type>();
        assert_eq!(speeds.iter().collect::<Vec<_>>(), (58..62).map(speed).collect::<Vec<_>>());
        // Nanoseconds arrive as the whole numbers that they are.
        let times = batch.column_by_name("time").unwrap().as_primitive::<types::Int64Type>();
        assert_eq!(times.value(2), 1_700_000_000_123_456_789 + 3_600_000_000_000);
        assert_eq!(batch.schema_ref().field_with_name("time").unwrap().metadata()["tetrys.type"], "timestamp[ns]");
        assert_eq!(numbers(&ask(&server, "/api/rows?table=0&start=178&count=1000")), [178, 179]);
        assert_eq!(numbers(&ask(&server, "/api/rows?table=0&start=18446744073709551615&count=1")), [0; 0]);
        assert_eq!(numbers(&ask(&server, "/api/rows?table=0&rows=7,3,7")), [7, 3, 7]);
        assert_eq!(ask(&server, "/api/sequence?table=0&row=61").json(), json!({"start": 60, "end": 120}));
    });
}

#[test]
fn selections_are_those_of_a_plain_model() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (table, server) = drives(folder.path()).await;
        let index = table.index().await.unwrap();
        let by_index = Server::start(vec![Source::of_index(index).unwrap()], Options::default()).await.unwrap();
        let fast = |row: &usize| speed(*row).is_some_and(|speed| speed > 14.0);
        let mut by_speed: Vec<usize> = (0..ROWS).filter(|row| weather(*row) == "rain").collect();
        by_speed.sort_by(|left, right| speed(*right).partial_cmp(&speed(*left)).unwrap());
        let cases: [(String, Vec<usize>); 6] = [
            (format!("where={}", encoded("speed > 14")), (0..ROWS).filter(fast).collect()),
            (
                format!("where={}&where={}", encoded("speed > 14"), encoded("weather = 'fog' OR night")),
                (0..ROWS).filter(fast).filter(|row| weather(*row) == "fog" || row % 5 == 0).collect(),
            ),
            (format!("where={}", encoded("speed IS NULL")), (0..ROWS).filter(|row| speed(*row).is_none()).collect()),
            // A condition that looks at several rows at once.
            (format!("where={}", encoded("frame = MAX(frame)")), vec![ROWS - 1]),
            ("sort=frame&descending=1".to_owned(), (0..ROWS).rev().collect()),
            (format!("only=9,3,150&where={}", encoded("frame < 100")), vec![3, 9]),
        ];
        for server in [&server, &by_index] {
            for (query, expected) in &cases {
                let answer = ask(server, &format!("/api/select?table=0&{query}")).json();
                assert_eq!((&answer["rows"], &answer["of"]), (&json!(expected.len()), &json!(ROWS)), "{query}: {answer}");
                let got = ask(server, &format!("/api/rows?table=0&start=0&count=1000&{query}"));
                assert_eq!(numbers(&got), expected.iter().map(|row| *row as u64).collect::<Vec<_>>(), "{query}");
            }
            // Sorted by a column with nulls and equal values: the values are in order, and the rows are these.
            let got = ask(
                server,
                &format!("/api/rows?table=0&start=0&count=1000&sort=speed&descending=1&where={}", encoded("weather = 'rain'")),
            );
            let found: Vec<usize> = numbers(&got).into_iter().map(|row| row as usize).collect();
            let speeds: Vec<f64> = found.iter().filter_map(|row| speed(*row)).collect();
            assert!(speeds.is_sorted_by(|left, right| left >= right), "{speeds:?}");
            let (mut found, mut expected) = (found, by_speed.clone());
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected);
        }
    });
}

#[test]
fn summaries_count_every_row_of_the_selection() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (_, server) = drives(folder.path()).await;
        let last = |query: &str| -> Value {
            let text = ask(&server, &format!("/api/heads?table=0{query}")).text();
            serde_json::from_str(text.lines().last().unwrap()).unwrap()
        };
        let answer = last("");
        assert_eq!((&answer["done"], &answer["of"]), (&json!(ROWS), &json!(ROWS)));
        let columns = &answer["columns"];
        assert_eq!(columns["log"]["values"], json!([["drive-0", FRAMES], ["drive-1", FRAMES], ["drive-2", FRAMES]]));
        assert_eq!(columns["speed"]["nulls"], (0..ROWS).filter(|row| speed(*row).is_none()).count());
        assert_eq!((&columns["frame"]["least"], &columns["frame"]["most"]), (&json!("0"), &json!("179")));
        let counted: u64 = columns["speed"]["counts"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(counted + columns["speed"]["nulls"].as_u64().unwrap(), ROWS as u64);
        let answer = last(&format!("&sort=speed&where={}", encoded("weather = 'fog'")));
        let fog: Vec<usize> = (0..ROWS).filter(|row| weather(*row) == "fog").collect();
        assert_eq!((&answer["done"], &answer["columns"]["frame"]["least"]), (&json!(fog.len()), &json!(fog[0].to_string())));
        assert_eq!(answer["columns"]["weather"]["values"], json!([["fog", fog.len()]]));
        assert_eq!(last(&format!("&where={}", encoded("frame < 0")))["done"], 0);
    });
}

#[test]
fn windows_have_the_rows_of_the_sequence_and_say_which_are_missing() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (_, server) = drives(folder.path()).await;
        let got = ask(&server, "/api/row?table=0&row=60&before=2&after=2&columns=rear.png&columns=ego.pose");
        let batch = rows(&got);
        assert_eq!(batch.schema_ref().metadata()["tetrys.rows"], "[null,null,60,61,62]");
        assert_eq!(batch.column_by_name("rear.png").unwrap().as_binary::<i64>().value(2)[..4], *b"\x89PNG");
        assert_eq!(batch.schema_ref().field_with_name("ego.pose").unwrap().metadata()["tetrys.type"], "f64[4,4]");
        let got = ask(&server, "/api/series?table=0&start=60&end=120&points=4&columns=ego.speed&index=speed&index=frame");
        assert_eq!(numbers(&got), [60, 79, 99, 119]);
        assert_eq!(rows(&got).column_by_name("frame").unwrap().as_primitive::<types::Int64Type>().values(), &[60, 79, 99, 119]);
    });
}

#[test]
fn silly_requests_get_a_clear_error() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (_, server) = drives(folder.path()).await;
        let bad = encoded("speed >");
        let several = encoded("1 = 1; DROP TABLE t");
        let nested = encoded("frame IN (SELECT frame FROM t)");
        for (query, status, says) in [
            ("rows", 400, "table"),
            ("rows?table=1&start=0&count=1", 400, "up to 0"),
            ("rows?table=0&start=0&count=1001", 400, "up to 1000"),
            ("rows?table=0&start=-1&count=1", 400, "start"),
            ("rows?table=0&rows=180", 400, "180"),
            ("rows?table=0&rows=1,x", 400, "row numbers"),
            ("rows?table=0&start=0&count=1&x=1", 400, "\"x\""),
            ("row?table=0&row=180&columns=front.png", 400, "up to 179"),
            ("row?table=0&row=0&columns=nothing", 404, "nothing"),
            ("row?table=0&row=0&columns=lidar.*", 404, "lidar.*"),
            ("row?table=0&row=0&before=101&columns=front.png", 400, "up to 100"),
            ("series?table=0&start=0&end=181&points=10", 400, "end"),
            ("series?table=0&start=9&end=5&points=10", 400, "start"),
            ("series?table=0&start=0&end=5&points=10&index=nothing", 404, "nothing"),
            ("select?table=0&sort=nothing", 404, "nothing"),
            (&format!("select?table=0&where={bad}"), 400, "speed >"),
            (&format!("select?table=0&where={several}"), 400, "DROP"),
            (&format!("select?table=0&where={nested}"), 400, "SELECT"),
            ("select?table=0&only=180", 400, "180"),
            ("sequence?table=0", 400, "row"),
            ("scene?table=0&row=0", 404, "no picture from above"),
            ("scene?table=0&row=0&columns=x", 400, "columns"),
            ("ground?table=0&x=0&y=0&radius=1", 404, "no picture from above"),
            ("nothing", 404, "no such request"),
        ] {
            let got = ask(&server, &format!("/api/{query}"));
            let answer = got.json();
            assert_eq!(got.status, status, "{query}: {answer}");
            assert!(answer["error"]["message"].as_str().unwrap().contains(says), "{query}: {answer}");
        }
    });
}

#[test]
fn a_damaged_row_is_an_error_of_its_group_alone() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (table, server) = drives(folder.path()).await;
        damage(&table, &folder.path().join("drives"), "lidar", 70).await;
        let got = ask(&server, "/api/row?table=0&row=70&columns=lidar.points");
        assert_eq!((got.status, &got.json()["error"]["kind"]), (500, &json!("Corrupt")));
        assert_eq!(ask(&server, "/api/row?table=0&row=70&columns=front.png").status, 200);
    });
}

#[test]
fn merges_and_views_show_as_one() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (table, _) = drives(folder.path()).await;
        let index = table.index().await.unwrap();
        let view = folder.path().join("rainy").display().to_string();
        index.filter_sql("weather = 'rain'").unwrap().save(&view).await.unwrap();
        let view = Table::open(&view).await.unwrap();
        let heights = write_heights(&folder.path().join("heights")).await.index().await.unwrap();
        let merged = index.merge(&heights, &Merge::on(["log"]).as_of("time", Pick::Nearest).left()).unwrap();
        let sources = vec![Source::of_table(view.clone()), Source::of_index(merged.clone()).unwrap()];
        let server = Server::start(sources, Options::default()).await.unwrap();
        let answer = ask(&server, "/api/tables").json();
        assert_eq!(answer["tables"].as_array().unwrap().len(), 2);
        assert_eq!((&answer["tables"][0]["view"], &answer["tables"][0]["rows"]), (&json!(true), &json!(view.rows())));
        assert_eq!((&answer["tables"][1]["selection"], &answer["tables"][1]["rows"]), (&json!(true), &json!(merged.len())));
        let rainy: Vec<i64> = (0..ROWS as i64).filter(|row| weather(*row as usize) == "rain").collect();
        let got = ask(&server, "/api/rows?table=0&start=0&count=1000");
        assert_eq!(rows(&got).column_by_name("frame").unwrap().as_primitive::<types::Int64Type>().values(), rainy.as_slice());
        let got = ask(&server, &format!("/api/rows?table=0&start=0&count=1000&where={}", encoded("night")));
        assert_eq!(rows(&got).num_rows(), rainy.iter().filter(|row| *row % 5 == 0).count());
        let got = rows(&ask(&server, "/api/row?table=0&row=2&columns=notes.json"));
        assert!(got.column(0).as_string::<i64>().value(0).contains(&format!("\"row\": {}", rainy[2])));
        assert_eq!(rows(&ask(&server, "/api/rows?table=1&start=0&count=1000")).num_rows(), merged.len());
        let groups: Vec<&str> =
            answer["tables"][1]["groups"].as_array().unwrap().iter().map(|group| group["name"].as_str().unwrap()).collect();
        assert!(groups.contains(&"gps") && groups.contains(&"lidar"), "{groups:?}");
        // Of the second drive on, the other table has no rows.
        for (row, there) in [(7, true), (70, false)] {
            let got = rows(&ask(&server, &format!("/api/row?table=1&row={row}&columns=gps.height")));
            let masks: Value = serde_json::from_str(&got.schema_ref().metadata()["tetrys.masks"]).unwrap();
            assert_eq!(masks, json!([[there]]), "row {row}");
        }
    });
}

#[test]
fn small_files_of_large_rows_are_refused_before_they_are_read_and_long_texts_are_cut() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        const LONG: usize = 100;
        let ty = tetrys::ColumnType::tensor(tetrys::schema::Primitive::U8, [Some(1 << 20)]);
        let schema =
            Schema::builder().index("text", "utf8").group("zeros", [("zeros", ty.to_string().as_str())]).build().unwrap();
        let root = folder.path().join("zeros").display().to_string();
        let writer = Table::create(&root, schema, WriteOptions::default()).await.unwrap();
        let mut partition = writer.partition().unwrap();
        let arrow_schema::DataType::FixedSizeList(item, size) = ty.arrow() else { panic!("{ty}") };
        let zeros: ArrayRef = Arc::new(arrow_array::UInt8Array::from(vec![0; LONG << 20]));
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("text", Arc::new(LargeStringArray::from_iter_values((0..LONG).map(|_| "ä".repeat(1 << 14))))),
            ("zeros", Arc::new(arrow_array::FixedSizeListArray::new(item, size, zeros, None))),
        ];
        partition.write(&RecordBatch::try_from_iter(columns).unwrap()).await.unwrap();
        let table = writer.commit([partition.finish().await.unwrap()]).await.unwrap();
        let server = Server::start(vec![Source::of_table(table)], Options::default()).await.unwrap();
        assert_eq!(rows(&ask(&server, "/api/row?table=0&row=50&before=5&after=5&columns=zeros")).num_rows(), 11);
        let got = ask(&server, "/api/row?table=0&row=50&before=49&after=49&columns=zeros");
        assert!(got.status == 400 && got.text().contains("103.8 MB"), "{}", got.text());
        assert_eq!(numbers(&ask(&server, "/api/series?table=0&start=0&end=100&points=1000&columns=zeros")).len(), 32);
        let got = rows(&ask(&server, "/api/rows?table=0&start=0&count=100"));
        let texts = got.column_by_name("text").unwrap().as_string::<i64>();
        assert_eq!(texts.iter().count(), LONG);
        assert!(texts.iter().all(|text| text == Some(&format!("{}\u{2026}", "ä".repeat(300)))));
    });
}
