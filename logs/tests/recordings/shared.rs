//! Messages that serve several rows are stored once.

use arrow_array::{Array, cast::AsArray};
use tetrys::{Store, table::Coalesce};
use tetrys_logs::{IngestSettings, LogSource, Recipe, ingest};

use crate::{
    common::random,
    rows::topic,
    writing::{Message, Parts, write},
};

const PICTURE: usize = 40_000;
const PICTURES: usize = 60;

/// Rows at 50 Hz with pictures at 10 Hz, in two matches of one topic, and numbers at 100 Hz.
const RECIPE: &str = "[clock]\nrate = \"50Hz\"\n[defaults]\ntime = \"log\"\n\
    [[match]]\nname = \"last\"\ntopic = \"/camera\"\npolicy = \"last\"\ntolerance = \"none\"\n\
    [[match]]\nname = \"near\"\ntopic = \"/camera\"\npolicy = \"nearest\"\ntolerance = \"25ms\"\nfuture = true\n\
    [[match]]\nname = \"speed\"\ntopic = \"/speed\"\npolicy = \"last\"\ntolerance = \"none\"\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_serves_several_rows_is_stored_once() {
    let mut rng = random();
    let pictures: Vec<Vec<u8>> = (0..PICTURES).map(|_| (0..PICTURE).map(|_| rng.below(256) as u8).collect()).collect();
    let mut messages = Vec::new();
    for (number, picture) in pictures.iter().enumerate() {
        let data = [&u32::try_from(PICTURE).unwrap().to_le_bytes()[..], picture].concat();
        messages.push(Message { topic: 0, log_time: 1_000_000_000 + 100_000_000 * number as u64, publish_time: 0, data });
        for tick in 0..10 {
            let log_time = 1_000_000_000 + 100_000_000 * number as u64 + 10_000_000 * tick;
            messages.push(Message { topic: 1, log_time, publish_time: 0, data: (tick as f64).to_le_bytes().to_vec() });
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.mcap");
    let topics = [topic("/camera", "here/Picture", "uint8[] data"), topic("/speed", "here/Speed", "float64 x")];
    std::fs::write(&path, write(&topics, &messages, &Parts::default())).unwrap();
    let logs = [LogSource::of(path.to_str().unwrap()).unwrap()];
    let store = Store::open(folder.path().join("table").to_str().unwrap()).unwrap();
    let made = ingest(&logs, store, &IngestSettings::new(Recipe::parse(RECIPE).unwrap()), |_| {}).await.unwrap();
    let (table, report) = (made.table, &made.report.logs[0].matches);
    let rows = table.rows();
    assert!(rows > 290 && report[0].matched == rows && report[0].reused > 230, "{rows} rows, {report:?}");
    assert!(report[1].missing > 50, "the tolerance of `near` leaves rows out: {report:?}");
    // Each match stores each of its pictures once, and a few bytes of other columns.
    let stored = table.info().await.unwrap().own_chunk_bytes;
    let expected = 2 * (PICTURE * PICTURES) as u64;
    assert!((expected * 97 / 100..expected * 103 / 100).contains(&stored), "{stored} bytes stored, expected about {expected}");
    assert!(table.storage().verify(|_, _| {}).await.unwrap().damage.is_empty());
    // The rows have them all the same, and a window reads each once.
    let all: Vec<u64> = (0..rows).collect();
    let values = table.row_loader().take(&all).await.unwrap();
    let column = |name: &str| values.batch().column_by_name(name).unwrap().as_struct().column(0).clone();
    let (last, near) = (column("last.data"), column("near.data"));
    let nulls = values.batch().column_by_name("near.data").unwrap().clone();
    for row in 0..rows as usize {
        let bytes = last.as_list::<i64>().value(row);
        assert_eq!(bytes.as_primitive::<arrow_array::types::UInt8Type>().values()[..], pictures[row / 5][..], "row {row}");
        let nearest = (2 * row + 5) / 10;
        let is_far = row % 5 != 0 && row % 5 != 1 && row % 5 != 4;
        assert_eq!(nulls.is_null(row), is_far, "row {row}");
        if !is_far {
            let bytes = near.as_list::<i64>().value(row);
            assert_eq!(bytes.as_primitive::<arrow_array::types::UInt8Type>().values()[..], pictures[nearest][..], "row {row}");
        }
    }
    let loader = table.row_loader().columns(["last.*"]).unwrap().coalesce(Coalesce::REMOTE);
    let explained = loader.explain(100, -9..=0).await.unwrap();
    assert!(explained.ranges == 1 && explained.bytes < 3 * PICTURE as u64 + 3_000, "{explained:?}");
}
