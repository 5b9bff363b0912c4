//! Matches with tables of their own: a row for each of their messages, and a view that gives each row what it would have without.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use arrow_array::{Array as _, ArrayRef};
use tetrys::{ErrorKind, Store, Table, polars::prelude::Column};
use tetrys_logs::{
    IngestSettings, Ingested, LogSource, OpenOptions, RECIPE, REPORT, Recipe, Report, cluster, info, ingest, plan,
};

use crate::{
    common::{Rng, cases, random},
    resuming::dropped_after,
    rows::{made, topic},
    writing::{Message, Parts, Topic, write},
};

const VALUE: &str = "time stamp\nfloat64 value\nint64 id\nuint8[] data\n";

fn value(topic: usize, log_time: u64, stamp: u32, id: i64) -> Message {
    let blob = id.to_le_bytes().repeat(id.unsigned_abs() as usize % 7);
    let data = [
        &0_u32.to_le_bytes()[..],
        &stamp.to_le_bytes(),
        &(id as f64 / 3.0).to_le_bytes(),
        &id.to_le_bytes(),
        &u32::try_from(blob.len()).unwrap().to_le_bytes(),
        &blob,
    ]
    .concat();
    Message { topic, log_time, publish_time: 0, data }
}

fn topics() -> [Topic; 3] {
    ["/a", "/b", "/c"].map(|name| topic(name, "here/Value", VALUE))
}

/// Messages of three topics: jitter, equal stamps, late ones, gaps.
fn messages(rng: &mut Rng, log: i64) -> Vec<Message> {
    let mut all = Vec::new();
    for topic in 0..3 {
        let (mut at, mut last) = (1_000 + rng.below(50) as u64, 1_000);
        for number in 0..rng.below(60) + 5 {
            at += [0, 7, 10, 10, 12, 90][rng.below(6)];
            let stamp = match rng.below(6) {
                0 => last,
                1 => at.saturating_sub(rng.below(60) as u64),
                _ => at,
            };
            last = stamp;
            all.push(value(topic, at, u32::try_from(stamp).unwrap(), 1_000_000 * log + 1_000 * topic as i64 + number as i64));
        }
    }
    all.sort_by_key(|message| message.log_time);
    all
}

/// A folder with logs, and what an import of them takes.
struct Case {
    folder: tempfile::TempDir,
    logs: Vec<LogSource>,
    paths: Vec<PathBuf>,
}

impl Case {
    fn of(logs: &[Vec<Message>]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> = (0..logs.len()).map(|number| folder.path().join(format!("log{number}.mcap"))).collect();
        for (path, messages) in paths.iter().zip(logs) {
            std::fs::write(path, write(&topics(), messages, &Parts::default())).unwrap();
        }
        let logs = paths.iter().map(|path| LogSource::of(path.to_str().unwrap()).unwrap()).collect();
        Self { folder, logs, paths }
    }

    fn random(rng: &mut Rng, logs: i64) -> Self {
        Self::of(&(0..logs).map(|log| messages(rng, log)).collect::<Vec<_>>())
    }

    fn url(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn store(&self, name: &str) -> Store {
        Store::open(&self.url(name)).unwrap()
    }

    /// The settings of a recipe in which `FOLDER` stands for the folder.
    fn settings(&self, recipe: &str) -> IngestSettings {
        let recipe = recipe.replace("FOLDER", &self.folder.path().display().to_string());
        IngestSettings {
            workers: 2,
            ..IngestSettings::new(Recipe::parse(&recipe).unwrap_or_else(|error| panic!("{error}\n{recipe}")))
        }
    }

    async fn opened(&self, name: &str) -> Table {
        Table::open(&self.url(name)).await.unwrap()
    }

    async fn versions(&self, names: &[&str]) -> Vec<u64> {
        let mut versions = Vec::new();
        for name in names {
            versions.push(self.opened(name).await.version());
        }
        versions
    }
}

/// The columns of the index and of the groups, by their names.
type Content = (BTreeMap<String, Column>, BTreeMap<String, ArrayRef>);

async fn content(table: &Table) -> Content {
    let index = table.index().await.unwrap();
    let frame = index.to_frame();
    let of_index = index.column_names().map(|name| (name.to_owned(), frame.column(name).unwrap().rechunk())).collect();
    let all: Vec<u64> = (0..table.rows()).collect();
    let rows = table.row_loader().take(&all).await.unwrap();
    let batch = rows.batch();
    let arrays = batch.schema().fields().iter().map(|field| field.name().clone()).zip(batch.columns().to_vec()).collect();
    (of_index, arrays)
}

/// Checks that two tables have the same values in columns of the same names.
fn assert_alike(found: &Content, expected: &Content, context: &str) {
    let names = |content: &Content| content.0.keys().chain(content.1.keys()).cloned().collect::<BTreeSet<String>>();
    assert_eq!(names(found), names(expected), "{context}");
    for (name, column) in &expected.0 {
        assert!(found.0[name].equals_missing(column), "{name}: {:?} {column:?}\n{context}", found.0[name]);
    }
    for (name, array) in &expected.1 {
        assert_eq!(found.1[name].to_data(), array.to_data(), "{name}\n{context}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_a_view_equal_those_of_an_import_without_tables_of_matches() {
    let mut rng = random();
    for case in 0..cases(25) {
        let logs = rng.below(3) as i64 + 1;
        let of = Case::random(&mut rng, logs);
        let mut recipe = String::from("[defaults]\ntime = \"stamp\"\njump = \"none\"\non_late = \"drop\"\nmax_lateness = ");
        recipe += &format!("{}\n[clock]\n", [0, 20, 1_000][rng.below(3)]);
        recipe += if rng.below(3) == 0 { "rate = \"100000000Hz\"\n" } else { "topic = \"/a\"\nname = \"a\"\n" };
        recipe += if rng.below(3) == 0 { "gap = 50\n" } else { "" };
        let mut apart = Vec::new();
        for number in 0..rng.below(3) + 1 {
            let policy = ["last", "next", "nearest"][rng.below(3)];
            recipe +=
                &format!("[[match]]\nname = \"m{number}\"\ntopic = \"/{}\"\npolicy = \"{policy}\"\n", ["b", "c"][rng.below(2)]);
            recipe += &format!("tolerance = {}\n", ["\"none\"", "0", "5", "30"][rng.below(4)]);
            recipe += if policy == "last" { "" } else { "future = true\n" };
            recipe += ["", "missing = \"drop\"\n"][rng.below(2)];
            recipe += ["", "", "dt = false\n"][rng.below(3)];
            if number == 0 || rng.below(2) == 0 {
                apart.push(format!("m{number}"));
                recipe += &format!("table = \"FOLDER/m{number}\"\n");
            }
        }
        let settings = of.settings(&recipe);
        let mut plain = settings.recipe.clone();
        plain.matches.iter_mut().for_each(|matched| matched.table = None);
        let plain = IngestSettings { recipe: plain, ..settings.clone() };
        let expected = ingest(&of.logs, of.store("plain"), &plain, |_| {}).await;
        let found = ingest(&of.logs, of.store("table"), &settings, |_| {}).await;
        let (found, expected) = match (found, expected) {
            (Ok(found), Ok(expected)) => (found, expected),
            (found, expected) => panic!("{:?} {:?}\n{recipe}", found.err(), expected.err()),
        };
        let context = format!("case {case}\n{recipe}");
        assert!(found.table.is_view() && found.failed.is_empty(), "{context}");
        assert_alike(&content(&found.table).await, &content(&expected.table).await, &context);
        assert_eq!(found.report, expected.report, "{context}");
        assert_eq!(found.tables.len(), apart.len() + 1, "{context}");
        // Each message has one row in the table of its match.
        for (name, table) in apart.iter().zip(&found.tables) {
            let matches = expected.report.logs.iter().flat_map(|log| &log.matches).filter(|of| of.name == *name);
            assert_eq!(table.rows(), matches.map(|of| of.messages - of.late).sum::<u64>(), "{context}");
            assert_eq!(table.url(), of.opened(name).await.url());
        }
    }
}

const RECIPE_APART: &str = "[defaults]\ntime = \"stamp\"\njump = \"none\"\nmax_lateness = \"none\"\n[clock]\ntopic = \"/a\"\nname = \"a\"\n\
    [[match]]\nname = \"b\"\ntopic = \"/b\"\npolicy = \"nearest\"\ntolerance = 30\nfuture = true\ntable = \"FOLDER/b\"\n\
    [[match]]\nname = \"c\"\ntopic = \"/c\"\npolicy = \"last\"\ntolerance = \"none\"\ntable = \"FOLDER/c\"\n";
const TABLES: [&str; 4] = ["b", "c", "table-rows", "table"];

#[tokio::test(flavor = "multi_thread")]
async fn the_same_import_again_adds_what_each_table_lacks() {
    let of = Case::random(&mut random(), 4);
    let settings = of.settings(RECIPE_APART);
    let first = ingest(&of.logs[..2], of.store("table"), &settings, |_| {}).await.unwrap();
    assert_eq!(of.versions(&TABLES).await, [1; 4]);
    assert_eq!(first.table.properties()[RECIPE], settings.recipe.to_json().unwrap());
    // Nothing to do.
    let again = ingest(&of.logs[..2], of.store("table"), &settings, |_| {}).await.unwrap();
    assert_eq!((again.present.len(), again.table.version(), again.report), (2, 1, Report::default()));
    assert_eq!(of.versions(&TABLES).await, [1; 4]);
    // One of the tables is lost: it is made again, and the view looks at it.
    std::fs::remove_dir_all(of.url("c")).unwrap();
    let more = ingest(&of.logs[..3], of.store("table"), &settings, |_| {}).await.unwrap();
    assert_eq!(of.versions(&TABLES).await, [2, 1, 2, 2]);
    assert_eq!(more.present, [""; 0], "no log was in all of the tables");
    assert_eq!(of.opened("c").await.sequence_count(), 3);
    let whole = IngestSettings { recipe: without_tables(&settings.recipe), ..settings.clone() };
    let expected = ingest(&of.logs, of.store("plain"), &whole, |_| {}).await.unwrap();
    let all = ingest(&of.logs, of.store("table"), &settings, |_| {}).await.unwrap();
    assert_alike(&content(&all.table).await, &content(&expected.table).await, "");
    let report: Report = serde_json::from_slice(&of.opened("table-rows").await.attachment(REPORT).await.unwrap()).unwrap();
    assert_eq!(report.logs, expected.report.logs);
    assert_eq!(all.table.lineage()["source"]["logs"], 1);
    // The view alone is lost, or was never saved.
    std::fs::remove_dir_all(of.url("table")).unwrap();
    let all = ingest(&of.logs, of.store("table"), &settings, |_| {}).await.unwrap();
    assert_eq!((all.present.len(), all.table.version(), all.report), (4, 1, Report::default()));
    assert_eq!(all.table.lineage()["source"]["logs"], 4);
    assert_eq!(all.table.lineage()["matches"], expected.table.lineage()["matches"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn warnings_of_a_log_whose_rows_were_there_already_are_in_the_report() {
    let of = Case::random(&mut random(), 1);
    let bytes = std::fs::read(&of.paths[0]).unwrap();
    std::fs::write(&of.paths[0], &bytes[..bytes.len() - 4]).unwrap();
    let settings = of.settings(RECIPE_APART);
    let first = ingest(&of.logs, of.store("table"), &settings, |_| {}).await.unwrap();
    assert!(!first.report.logs[0].warnings.is_empty() && first.report.warnings.is_empty(), "{:?}", first.report);
    std::fs::remove_dir_all(of.url("b")).unwrap();
    let again = ingest(&of.logs, of.store("table"), &settings, |_| {}).await.unwrap();
    assert!(again.report.logs.is_empty() && again.report.warnings.iter().any(|text| text.contains("log0.mcap: ")), "{again:?}");
}

fn without_tables(recipe: &Recipe) -> Recipe {
    let mut recipe = recipe.clone();
    recipe.matches.iter_mut().for_each(|matched| matched.table = None);
    recipe
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_is_refused_if_the_table_of_a_match_lacks_a_log_of_the_rows() {
    let of = Case::random(&mut random(), 2);
    let settings = of.settings(RECIPE_APART);
    ingest(&of.logs[..1], of.store("table"), &settings, |_| {}).await.unwrap();
    // As in another working folder, where the path of the table leads to none.
    std::fs::remove_dir_all(of.url("b")).unwrap();
    let error = ingest(&of.logs[1..], of.store("table"), &settings, |_| {}).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("b: expected log `log0`, whose rows are in "), "{error}");
    assert_eq!(of.versions(&["table"]).await, [1]);
    // With the log, the table has all of them again.
    let whole = IngestSettings { recipe: without_tables(&settings.recipe), ..settings.clone() };
    let expected = ingest(&of.logs, of.store("plain"), &whole, |_| {}).await.unwrap();
    let made = ingest(&of.logs, of.store("table"), &settings, |_| {}).await.unwrap();
    assert_eq!(of.versions(&TABLES).await, [2; 4]);
    assert_alike(&content(&made.table).await, &content(&expected.table).await, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_of_several_tables_that_is_interrupted_goes_on() {
    let mut rng = random();
    for _ in 0..cases(4) {
        let of = Case::random(&mut rng, 5);
        let settings = of.settings(RECIPE_APART);
        let whole = IngestSettings { recipe: without_tables(&settings.recipe), ..settings.clone() };
        let expected = ingest(&of.logs, of.store("plain"), &whole, |_| {}).await.unwrap();
        let rows: u64 = expected.report.logs.iter().flat_map(|log| &log.matches).map(|of| of.messages).sum();
        for _ in 0..3 {
            dropped_after(rng.below(rows as usize) as u64 + 1, &of.logs, &of.store("table"), &settings).await;
        }
        let made = ingest(&of.logs, of.store("table"), &settings, |_| {}).await.unwrap();
        assert_alike(&content(&made.table).await, &content(&expected.table).await, "");
        // No log is in a table twice.
        let again = ingest(&of.logs, of.store("table"), &settings, |_| {}).await.unwrap();
        assert_eq!((again.table.version(), again.present.len()), (made.table.version(), 5));
        for table in &made.tables {
            assert_eq!(table.sequence_count(), 5);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_fails_in_one_of_the_tables_is_in_no_row() {
    let of = Case::random(&mut random(), 3);
    let bytes = std::fs::read(&of.paths[1]).unwrap();
    std::fs::write(&of.paths[1], b"no recording").unwrap();
    let settings = of.settings(RECIPE_APART);
    let made = ingest(&of.logs, of.store("table"), &settings, |_| {}).await.unwrap();
    assert_eq!(made.failed.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["log1"]);
    assert!(made.report.failed["log1"].contains("expected a file that begins with"), "{:?}", made.report.failed);
    for table in &made.tables {
        assert_eq!(table.sequence_count(), 2);
    }
    std::fs::write(&of.paths[1], bytes).unwrap();
    let made = ingest(&of.logs, of.store("table"), &settings, |_| {}).await.unwrap();
    assert!(made.failed.is_empty() && made.tables.iter().all(|table| table.sequence_count() == 3));
    assert_eq!(made.table.version(), 2);
    // No log at all.
    std::fs::write(&of.paths[0], b"no recording").unwrap();
    let error =
        ingest(&of.logs[..1], of.store("other"), &of.settings(&RECIPE_APART.replace("FOLDER/", "FOLDER/other-")), |_| {}).await;
    assert!(error.unwrap_err().to_string().contains("log0.mcap: expected a file that begins with"));
    assert!(!Path::new(&of.url("other")).exists() && !Path::new(&of.url("other-rows")).exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_import_goes_on_without_a_log_that_can_never_be_read() {
    let mut rng = random();
    let of = Case::random(&mut rng, 3);
    let bytes = std::fs::read(&of.paths[1]).unwrap();
    std::fs::write(&of.paths[1], b"no recording").unwrap();
    let settings = of.settings(RECIPE_APART);
    // An import wrote its first table, and then was interrupted.
    let first = cluster::parts(&of.store("table"), &settings).unwrap().swap_remove(0);
    ingest(&of.logs, first.store, &first.settings, |_| {}).await.unwrap();
    assert_eq!(of.versions(&["b"]).await, [1]);
    for _ in 0..2 {
        let made = ingest(&of.logs, of.store("table"), &settings, |_| {}).await.unwrap();
        assert_eq!(made.failed.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["log1"]);
        assert!(made.report.failed["log1"].contains("expected a file that begins with"), "{:?}", made.report.failed);
        assert!(made.tables.iter().all(|table| table.sequence_count() == 2));
        assert_eq!(of.versions(&TABLES).await, [1; 4]);
    }
    let made = in_turns(&mut rng, &of, &of.store("table"), &settings).await;
    assert!(made.tables.iter().all(|table| table.sequence_count() == 2));
    assert_eq!(of.versions(&TABLES).await, [1; 4]);
    // Alone, such a log is an error.
    let error = ingest(&of.logs[1..2], of.store("table"), &settings, |_| {}).await.unwrap_err();
    assert!(error.to_string().contains("log1.mcap: expected a file that begins with"), "{error}");
    std::fs::write(&of.paths[1], bytes).unwrap();
    let made = ingest(&of.logs, of.store("table"), &settings, |_| {}).await.unwrap();
    assert!(made.failed.is_empty() && made.tables.iter().all(|table| table.sequence_count() == 3));
    assert_eq!(of.versions(&TABLES).await, [2; 4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recipe_that_no_view_can_follow_is_refused() {
    let clock = "[defaults]\ntime = \"log\"\n[clock]\ntopic = \"/a\"\nname = \"a\"\n[[match]]\nname = \"b\"\ntopic = \"/b\"\n";
    let cases = [
        ("policy = \"all\"\ntable = \"t\"\n", "match `b`: table: a view joins by last without strict, next or nearest"),
        (
            "policy = \"linear\"\nmax_gap = 1\nfuture = true\ntable = \"t\"\n",
            "match `b`: table: a view joins by last without strict",
        ),
        (
            "policy = \"last\"\ntolerance = 1\nstrict = true\ntable = \"t\"\n",
            "match `b`: table: a view joins by last without strict",
        ),
        (
            "policy = \"last\"\ntolerance = 1\ntable = \"\"\n",
            "match `b`: table: expected the URL or path of a table, without a version",
        ),
        (
            "policy = \"last\"\ntolerance = 1\ntable = \"t@3\"\n",
            "match `b`: table: expected the URL or path of a table, without a version",
        ),
        (
            "policy = \"last\"\ntolerance = 1\njump = \"split\"\ntable = \"t\"\n",
            "match `b`: table: with jump = \"split\", a time may come twice",
        ),
        (
            "policy = \"last\"\ntolerance = 1\ntable = \"t\"\n[[match]]\nname = \"b.x\"\ntopic = \"/c\"\npolicy = \"last\"\ntolerance = 1\n",
            "match `b`: table: the name `b.x` begins like this one",
        ),
        (
            "policy = \"last\"\ntolerance = 1\ntable = \"t\"\n[[match]]\nname = \"c\"\ntopic = \"/c\"\npolicy = \"last\"\ntolerance = 1\ntable = \"t\"\n",
            "match `b`: table: another match has this table, too",
        ),
    ];
    for (rest, message) in cases {
        let error = Recipe::parse(&format!("{clock}{rest}")).unwrap_err();
        assert!(error.to_string().contains(message), "{rest}: {error}");
    }
    let unnamed = "[defaults]\ntime = \"log\"\n[clock]\ntopic = \"/here/a\"\n";
    for (name, message) in [
        ("here_a", "match `here_a`: table: the clock has this name, too; give it another one"),
        ("here_a.b", "match `here_a.b`: table: the name `here_a` begins like this one"),
    ] {
        let rest = "topic = \"/b\"\npolicy = \"last\"\ntolerance = 1\ntable = \"t\"\n";
        let error = Recipe::parse(&format!("{unnamed}[[match]]\nname = \"{name}\"\n{rest}")).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }
    let of = Case::random(&mut random(), 1);
    let settings = of.settings(RECIPE_APART);
    let plain = IngestSettings { recipe: without_tables(&settings.recipe), ..settings.clone() };
    ingest(&of.logs, of.store("plain"), &plain, |_| {}).await.unwrap();
    let errors = [
        ("plain", &settings, "plain: the table was made with another recipe"),
        ("b", &settings, "b: expected a table of its own for each match, for the rows and for the view"),
    ];
    for (name, settings, message) in errors {
        let error = ingest(&of.logs, of.store(name), settings, |_| {}).await.unwrap_err();
        assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains(message), "{error}");
    }
    let error = ingest(&of.logs, Store::open("memory://").unwrap(), &settings, |_| {}).await.unwrap_err();
    assert!(error.to_string().contains("expected a table with a name, because its rows become the table NAME-rows"), "{error}");
    // A table in the folder of another one.
    for (table, place) in [("inside", "FOLDER/inside/b"), ("inside/table", "FOLDER/inside")] {
        let settings = of.settings(&RECIPE_APART.replace("FOLDER/b", place));
        let error = ingest(&of.logs, of.store(table), &settings, |_| {}).await.unwrap_err();
        assert!(error.to_string().contains("inside: expected no table in the folder of another one"), "{error}");
    }
    assert!(!Path::new(&of.url("inside")).exists());
    // A folder in which no table can be made.
    std::fs::create_dir(of.url("full")).unwrap();
    std::fs::write(Path::new(&of.url("full")).join("notes.txt"), "mine").unwrap();
    let error = ingest(&of.logs, of.store("full"), &settings, |_| {}).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Exists && error.to_string().contains("found `notes.txt`"), "{error}");
    assert!(!Path::new(&of.url("b")).exists(), "nothing was written");
    // A view of other tables is no table of rows.
    ingest(&of.logs, of.store("table"), &settings, |_| {}).await.unwrap();
    let error = ingest(&of.logs, of.store("table-rows"), &settings, |_| {}).await.unwrap_err();
    assert!(error.to_string().contains("table-rows: expected a view, because a match has a table of its own"), "{error}");
}

const VIDEO: &str = "[defaults]\ntime = \"log\"\n[clock]\ntopic = \"/video\"\nname = \"video\"\n";
const MATCHED: &str =
    "[defaults]\ntime = \"log\"\n[clock]\ntopic = \"/a\"\nname = \"a\"\n[[match]]\nname = \"video\"\ntopic = \"/video\"\n";

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_may_lack_frames_of_encoded_video_get_a_warning() {
    for schema in ["foxglove_msgs/CompressedVideo", "foxglove.CompressedVideo", "ffmpeg_image_transport_msgs/FFMPEGPacket"] {
        let topics = [topic("/a", "here/Id", "int64 id\n"), topic("/video", schema, "string format\nuint8[] data\n")];
        let mut messages = Vec::new();
        for at in 0..40_u64 {
            let frame = [&4_u32.to_le_bytes()[..], b"h264", &3_u32.to_le_bytes(), &[u8::try_from(at).unwrap(); 3]].concat();
            // The frames 7 and 8 have one time.
            messages.push(Message { topic: 1, log_time: 100 + 10 * at - 10 * u64::from(at == 8), publish_time: 0, data: frame });
            if at % 3 == 0 {
                messages.push(Message { topic: 0, log_time: 104 + 10 * at, publish_time: 0, data: at.to_le_bytes().to_vec() });
            }
        }
        messages.sort_by_key(|message| message.log_time);
        let last = "policy = \"last\"\ntolerance = \"none\"\n";
        let lacking = "log drive: topic /video: a decoder of encoded video needs all frames in their order, and";
        let cases = [
            (VIDEO.to_owned(), None),
            (format!("{VIDEO}on_equal = \"first\"\n"), Some(format!("{lacking} 1 of 40 are in no row: keep them with on_equal"))),
            (
                format!("{VIDEO}[[match]]\nname = \"a\"\ntopic = \"/a\"\n{last}missing = \"drop\"\n"),
                Some(format!("{lacking} 1 of 40 are in no row")),
            ),
            (
                format!("{MATCHED}{last}"),
                Some(format!(
                    "{lacking} 26 of 40 are in no row: make the topic the clock with on_equal = \"keep\", or give the match"
                )),
            ),
            (format!("{MATCHED}policy = \"all\"\n"), None),
        ];
        for (recipe, expected) in cases {
            let (made, _folder) = made(&topics, &messages, &recipe).await.unwrap();
            let warnings = &made.report.logs[0].warnings;
            match &expected {
                None => assert!(warnings.is_empty(), "{recipe}: {warnings:?}"),
                Some(text) => assert!(warnings.len() == 1 && warnings[0].starts_with(text.as_str()), "{recipe}: {warnings:?}"),
            }
            // The frames are bytes in any case.
            let ty = made.table.schema().column_named("video.data").unwrap().ty.to_string();
            assert_eq!(ty, if recipe.contains("\"all\"") { "list<binary>" } else { "binary" });
        }
        // A table of its own has them all.
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("video").display().to_string();
        let (made, _folder) = made(&topics, &messages, &format!("{MATCHED}{last}table = \"{own}\"\n")).await.unwrap();
        assert_eq!((made.tables[0].rows(), made.report.logs[0].warnings.len()), (40, 0));
        assert!(made.table.is_view() && made.table.rows() == 14);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_says_how_to_keep_all_frames_of_encoded_video() {
    let topics =
        [topic("/big", "here/Blob", "uint8[] data\n"), topic("/video", "foxglove_msgs/CompressedVideo", "uint8[] data\n")];
    let message = |topic: usize, log_time: u64, bytes: usize| Message {
        topic,
        log_time,
        publish_time: 0,
        data: [&u32::try_from(bytes).unwrap().to_le_bytes()[..], &vec![7; bytes]].concat(),
    };
    let messages: Vec<Message> = (0..20).flat_map(|at| [message(0, 100 * at, 1_000), message(1, 100 * at + 1, 10)]).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.mcap");
    std::fs::write(&path, write(&topics, &messages, &Parts::default())).unwrap();
    let found = info(&LogSource::of(path.to_str().unwrap()).unwrap(), &OpenOptions::default()).await.unwrap();
    let text = plan(&[found]).unwrap();
    assert_eq!(text.matches("# Encoded video: a decoder needs all frames. table = \"URL\" keeps them").count(), 1, "{text}");
    Recipe::parse(&text).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_write_logs_one_by_one_make_the_same_table() {
    let mut rng = random();
    for case in 0..cases(3) {
        let of = Case::random(&mut rng, 4);
        if case % 2 == 1 {
            std::fs::write(&of.paths[2], b"no recording").unwrap();
        }
        let alone = of.settings(&RECIPE_APART.replace("FOLDER/", "FOLDER/alone-"));
        let expected = ingest(&of.logs, of.store("alone"), &alone, |_| {}).await.unwrap();
        let settings = of.settings(RECIPE_APART);
        let found = in_turns(&mut rng, &of, &of.store("table"), &settings).await;
        assert_alike(&content(&found.table).await, &content(&expected.table).await, "");
        assert_eq!(found.report.logs, expected.report.logs);
        if found.table.rows() > 0 && case % 2 == 0 {
            let again = in_turns(&mut rng, &of, &of.store("table"), &settings).await;
            assert_eq!(again.table.version(), 1, "there was nothing to do");
        }
    }
}

/// Imports logs as a cluster does: each table is begun, its logs are written in any order, some of them twice, and committed.
async fn in_turns(rng: &mut Rng, of: &Case, store: &Store, settings: &IngestSettings) -> Ingested {
    let (mut tables, mut left, mut report) = (Vec::new(), of.logs.clone(), Report::default());
    for part in cluster::parts(store, settings).unwrap() {
        let begun = cluster::begin(&left, part.store.clone(), &part.settings).await.unwrap();
        let (mut receipts, mut failed) = (begun.done, Vec::new());
        let mut logs = begun.left;
        logs.extend(logs.clone().into_iter().filter(|_| rng.below(3) == 0));
        rng.shuffle(&mut logs);
        for (number, log) in logs {
            let ticket = begun.plan.as_ref().unwrap().ticket();
            match cluster::write(&log, part.store.clone(), &part.settings, ticket, number).await {
                Ok(receipt) => receipts.push(receipt),
                Err(error) => failed.push((log.name, error)),
            }
        }
        let made = cluster::finish(&left, part.store, &part.settings, begun.plan.as_ref(), receipts, failed).await.unwrap();
        left.retain(|log| made.failed.iter().all(|(name, _)| *name != log.name));
        tables.push(made.table);
        report = made.report;
    }
    let table = cluster::view(store, settings, &tables, &report).await.unwrap();
    let (failed, present, resumed, went_on) = Default::default();
    Ingested { table, report, failed, present, resumed, went_on, tables }
}
