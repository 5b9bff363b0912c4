//! A real drive of 2017: rows and differences equal a plain matching of what its messages say.

use arrow_array::{
    Array,
    cast::AsArray,
    types::{DurationNanosecondType, TimestampNanosecondType},
};
use tetrys::{Store, Table};
use tetrys_logs::{IngestSettings, LogSource, OpenOptions, Recipe, info, ingest, plan};

use crate::common::{python, recording, skip};

async fn made(recipe: &str, logs: &[LogSource], folder: &std::path::Path) -> tetrys::Result<tetrys_logs::Ingested> {
    let store = Store::open(&folder.join("table").display().to_string())?;
    ingest(logs, store, &IngestSettings::new(Recipe::parse(recipe)?), |_| {}).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_drive_is_described_planned_and_imported() {
    let Some(path) = recording("uncompressed.mcap") else { return skip("cargo cannot fetch the recordings of the crate mcap") };
    let source = LogSource::of(path.to_str().unwrap()).unwrap();
    let found = info(&source, &OpenOptions::default()).await.unwrap();
    assert_eq!((found.log.as_str(), found.messages), ("uncompressed", 826));
    let tf = found.topics.iter().find(|topic| topic.topic == "/tf").unwrap();
    assert_eq!(tf.schema, "tf2_msgs/TFMessage");
    let (least, _, most) = tf.delay.unwrap();
    assert!(least < -20_000_000 && most < 0, "stamps are ahead of the log time: {:?}", tf.delay);
    assert!(found.topics.iter().map(|topic| topic.equal_log_times).sum::<u64>() > 0);
    let recipe = plan(&[found]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let made = made(&recipe, &[source], folder.path()).await.unwrap_or_else(|error| panic!("{error}\n{recipe}"));
    let table = Table::open(&folder.path().join("table").display().to_string()).await.unwrap();
    assert_eq!(table.rows(), made.report.logs[0].rows);
    assert!(table.rows() > 10 && made.failed.is_empty(), "{:?}", made.report);
    println!("{recipe}\n{:?}", made.report);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_a_real_drive_equal_those_of_an_independent_script() {
    let Some(path) = recording("compressed.mcap") else { return skip("cargo cannot fetch the recordings of the crate mcap") };
    let Some(python) = python(&["tests/ros_python/requirements.txt"]) else { return };
    let path = path.to_str().unwrap();
    let source = LogSource::of(path).unwrap();
    let infos = info(&source, &OpenOptions::default()).await.unwrap();
    // The clock is the topic with the most messages beside the transforms.
    let others = infos.topics.iter().filter(|topic| topic.topic != "/tf" && topic.messages > 5);
    let clock = others.max_by_key(|topic| topic.messages).unwrap().topic.clone();
    let script = crate::common::root().join("tests/ros_python/drive.py");
    let ran = std::process::Command::new(python).arg(script).args([path, &clock, "/tf"]).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let expected: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    let recipe = format!(
        "[clock]\ntopic = \"{clock}\"\nname = \"clock\"\ntime = \"log\"\nfields = []\n[[match]]\nname = \"tf\"\ntopic = \"/tf\"\n\
         policy = \"last\"\ntolerance = \"none\"\ntime = \"stamp\"\n"
    );
    let folder = tempfile::tempdir().unwrap();
    let made = made(&recipe, &[source], folder.path()).await.unwrap_or_else(|error| panic!("{error}\n{recipe}"));
    let table = made.table;
    let mut rows = Vec::new();
    for batch in table.index_batches().await.unwrap() {
        let batch = batch.unwrap();
        let time = batch.column_by_name("time").unwrap().as_primitive::<TimestampNanosecondType>().clone();
        let dt = batch.column_by_name("tf.dt").unwrap().as_primitive::<DurationNanosecondType>().clone();
        rows.extend((0..batch.num_rows()).map(|row| (time.value(row), dt.is_valid(row).then(|| dt.value(row)))));
    }
    let loader = table.row_loader();
    let expected = expected.as_array().unwrap();
    assert_eq!(rows.len(), expected.len());
    let mut with_tf = 0;
    for (number, ((time, dt), expected)) in rows.iter().zip(expected).enumerate() {
        assert_eq!((Some(*time), *dt), (expected[0].as_i64(), expected[1].as_i64()), "row {number}");
        let Some(moves) = expected[3].as_array() else { continue };
        let row = loader.get_row(number as u64).await.unwrap();
        let found = row.tensor::<f64>("tf.transforms.transform.translation").unwrap();
        assert_eq!(found.shape(), [moves.len(), 3]);
        let numbers: Vec<f64> =
            moves.iter().flat_map(|one| one.as_array().unwrap()).map(|number| number.as_f64().unwrap()).collect();
        assert_eq!(found.values(), numbers, "row {number}");
        with_tf += 1;
    }
    assert!(with_tf > 5, "{with_tf} of {} rows", rows.len());
}
