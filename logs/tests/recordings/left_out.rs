//! What comes before a row: rows that `missing = "drop"` leaves out, and those before the start of an import.

use arrow_array::{
    cast::AsArray,
    types::{DurationNanosecondType, TimestampNanosecondType, UInt32Type},
};
use tetrys::{Store, Table};
use tetrys_logs::{IngestSettings, Ingested, LogSource, Recipe, ingest};

use crate::{
    rows::{STAMPED, made, stamped, topic},
    writing::{Message, Parts, write},
};

/// The parts and the times of a table, and the differences that the column `all.dt` has.
async fn read(table: &Table) -> Vec<(u32, i64, Vec<i64>)> {
    let mut rows = Vec::new();
    for batch in table.index_batches().await.unwrap() {
        let batch = batch.unwrap();
        let parts = batch.column_by_name("part").unwrap().as_primitive::<UInt32Type>().values().to_vec();
        let times = batch.column_by_name("time").unwrap().as_primitive::<TimestampNanosecondType>().values().to_vec();
        rows.extend(parts.into_iter().zip(times).map(|(part, time)| (part, time, Vec::new())));
    }
    let numbers: Vec<u64> = (0..table.rows()).collect();
    let read = table.row_loader().take(&numbers).await.unwrap();
    let lists = read.batch().column_by_name("all.dt").unwrap().as_list::<i64>().clone();
    for (row, of) in rows.iter_mut().enumerate() {
        of.2 = lists.value(row).as_primitive::<DurationNanosecondType>().values().to_vec();
    }
    rows
}

/// A clock every 100 ns, a stream for `all` at 30 and 70 ns behind each tick, and one that lacks messages near the ticks 300 to 500.
fn messages() -> Vec<Message> {
    let mut messages = Vec::new();
    for tick in 1..=8 {
        messages.push(stamped(0, tick * 100, 7, 0));
        messages.extend([30, 70].map(|behind| stamped(1, tick * 100 + behind, 7, 0)));
        if !(3..=5).contains(&tick) {
            messages.push(stamped(2, tick * 100, 7, 0));
        }
    }
    messages.sort_by_key(|message| message.log_time);
    messages
}

fn recipe(gap: &str, tolerance: &str) -> String {
    format!(
        "[defaults]\ntime = \"log\"\n[clock]\ntopic = \"/clock\"\nname = \"clock\"\n{gap}\n\
         [[match]]\nname = \"all\"\ntopic = \"/all\"\npolicy = \"all\"\n{tolerance}\n\
         [[match]]\nname = \"near\"\ntopic = \"/near\"\npolicy = \"last\"\ntolerance = 0\nmissing = \"drop\"\n"
    )
}

fn topics() -> [crate::writing::Topic; 3] {
    ["/clock", "/all", "/near"].map(|name| topic(name, "here/Value", STAMPED))
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_of_a_row_that_is_left_out_are_in_no_other_row() {
    let (Ingested { table, report, .. }, _folder) = made(&topics(), &messages(), &recipe("", "")).await.unwrap();
    let expected = [100, 200, 600, 700, 800].map(|time| (0, time, if time == 100 { vec![] } else { vec![-70, -30] }));
    assert_eq!(read(&table).await, expected);
    // Two messages of each of the three rows, and the two behind the last row.
    assert_eq!((report.logs[0].dropped, report.logs[0].matches[1].skipped), (3, 8));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gap_of_the_clock_begins_a_new_part_also_where_the_row_behind_it_is_left_out() {
    // Rows that are left out are no gap of the clock.
    let (Ingested { table, report, .. }, _folder) = made(&topics(), &messages(), &recipe("gap = 100", "")).await.unwrap();
    assert!(read(&table).await.iter().all(|(part, ..)| *part == 0));
    assert_eq!(report.logs[0].parts, 1);
    // The clock has no message from 300 to 500, and the row at 600 is left out.
    let is_left = |message: &Message| match message.topic {
        0 => !(300..=500).contains(&message.log_time),
        2 => message.log_time != 600,
        _ => true,
    };
    let messages: Vec<Message> = messages().into_iter().filter(is_left).collect();
    for (gap, part) in [("gap = 400", 0), ("gap = 399", 1)] {
        let (Ingested { table, report, .. }, _folder) = made(&topics(), &messages, &recipe(gap, "")).await.unwrap();
        let rows = read(&table).await;
        let parts: Vec<(u32, i64)> = rows.iter().map(|(part, time, _)| (*part, *time)).collect();
        assert_eq!(parts, [(0, 100), (0, 200), (part, 700), (part, 800)], "{gap}");
        assert_eq!((report.logs[0].parts, &rows[2].2), (part + 1, &vec![-70, -30]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_row_behind_the_start_of_an_import_has_what_it_has_in_the_whole_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.mcap");
    std::fs::write(&path, write(&topics(), &messages(), &Parts::default())).unwrap();
    let logs = [LogSource::of(path.to_str().unwrap()).unwrap()];
    let of = async |span: (Option<i64>, Option<i64>), lines: &str| {
        let recipe = Recipe::parse(&recipe("gap = 399", "").replace("missing = \"drop\"", lines)).unwrap();
        let settings = IngestSettings { span, ..IngestSettings::new(recipe) };
        ingest(&logs, Store::open("memory://").unwrap(), &settings, |_| {}).await
    };
    let rows = read(&of((Some(200), Some(700)), "missing = \"drop\"").await.unwrap().table).await;
    assert_eq!(rows[0], (0, 200, vec![-70, -30]));
    assert_eq!(rows.iter().map(|(part, time, _)| (*part, *time)).collect::<Vec<_>>(), [(0, 200), (0, 600), (0, 700)]);
    // Rows before the start are no rows of the import: what they lack is no error, and is not counted.
    let made = of((Some(600), None), "missing = \"error\"").await.unwrap();
    assert_eq!((made.table.rows(), made.report.logs[0].matches[2].missing), (3, 0));
    assert!(of((Some(500), None), "missing = \"error\"").await.unwrap_err().to_string().contains("row at 500: topic /near"));
}
