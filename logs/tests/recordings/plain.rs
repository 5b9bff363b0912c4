//! A slow and plain matching: every rule of the recipe by looking at all messages. The rows of random logs equal it, bit by bit.

use arrow_array::{
    Array,
    cast::AsArray,
    types::{DurationNanosecondType, Float64Type, Int64Type, TimestampNanosecondType, UInt32Type},
};
use tetrys::{Store, StoreOptions, Table};
use tetrys_logs::{IngestSettings, LogSource, OpenOptions, Recipe, ingest};
use tetrys_s3_server::Server;

use crate::{
    common::{Rng, full, random},
    writing::{Message, Parts, Topic, write},
};

/// A message as the model sees it.
#[derive(Clone, Copy, Debug)]
struct Seen {
    log: i64,
    time: i64,
    value: f64,
    id: i64,
}

/// The values of a row: its time and part; of each match the values, their differences and the gap.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    part: u32,
    time: i64,
    matches: Vec<Cell>,
}

#[derive(Clone, Debug, PartialEq, Default)]
struct Cell {
    /// Bits of the value, or of all of them.
    values: Option<Vec<u64>>,
    ids: Option<Vec<i64>>,
    dt: Option<Vec<i64>>,
    gap: Option<i64>,
}

struct Match {
    topic: usize,
    policy: &'static str,
    /// Tolerance, or the gap of `linear`.
    bound: Option<i64>,
    strict: bool,
    drops: bool,
}

/// Takes the messages in their order of arrival, and leaves out those that are too late. Then sorts them.
fn settled(mut messages: Vec<Seen>, lateness: i64) -> Vec<Seen> {
    messages.sort_by_key(|message| message.log);
    let mut kept: Vec<Seen> = Vec::new();
    for message in messages {
        let latest = kept.iter().map(|message| message.time).max().unwrap_or(i64::MIN);
        if latest == i64::MIN || latest - message.time <= lateness {
            kept.push(message);
        }
    }
    kept.sort_by_key(|message| (message.time, message.log));
    kept
}

fn plain(of: &Match, messages: &[Seen], t: i64, before: Option<i64>, is_first: bool) -> Option<Cell> {
    let near = |message: &Seen| of.bound.is_none_or(|bound| (message.time - t).abs() <= bound);
    let one = |message: Option<&Seen>| {
        let message = message.filter(|message| near(message))?;
        let cell = Cell { dt: Some(vec![message.time - t]), gap: None, ..Cell::default() };
        Some(Cell { values: Some(vec![message.value.to_bits()]), ids: Some(vec![message.id]), ..cell })
    };
    match of.policy {
        "last" if of.strict => one(messages.iter().rfind(|message| message.time < t)),
        "last" => one(messages.iter().rfind(|message| message.time <= t)),
        "next" => one(messages.iter().find(|message| message.time >= t)),
        "nearest" => {
            let least = messages.iter().map(|message| (message.time - t).abs()).min()?;
            let earlier = messages.iter().rfind(|message| message.time <= t && t - message.time == least);
            one(earlier.or_else(|| messages.iter().rfind(|message| (message.time - t).abs() == least)))
        }
        "linear" => {
            let a = messages.iter().rfind(|message| message.time <= t)?;
            if a.time == t {
                return Some(Cell { values: Some(vec![a.value.to_bits()]), dt: Some(vec![0]), gap: Some(0), ids: None });
            }
            let b = messages.iter().find(|message| message.time > t)?;
            if of.bound.is_some_and(|bound| b.time - a.time > bound) {
                return None;
            }
            let w = (t - a.time) as f64 / (b.time - a.time) as f64;
            let value = a.value + (b.value - a.value) * w;
            let dt = if t - a.time <= b.time - t { a.time - t } else { b.time - t };
            Some(Cell { values: Some(vec![value.to_bits()]), dt: Some(vec![dt]), gap: Some(b.time - a.time), ids: None })
        }
        "all" => {
            let found: Vec<&Seen> = messages
                .iter()
                .filter(|message| message.time <= t && before.is_none_or(|before| message.time > before))
                .filter(|message| !is_first || near(message))
                .collect();
            Some(Cell {
                values: Some(found.iter().map(|message| message.value.to_bits()).collect()),
                ids: Some(found.iter().map(|message| message.id).collect()),
                dt: Some(found.iter().map(|message| message.time - t).collect()),
                gap: None,
            })
        }
        _ => unreachable!(),
    }
}

/// Times of messages: a rate with jitter, gaps, equal stamps and late messages.
fn times(rng: &mut Rng, jumpy: bool) -> Vec<(i64, i64)> {
    let period = [7, 10, 33, 100][rng.below(4)];
    let count = rng.below(60) + usize::from(rng.below(8) > 0);
    let mut log = 1_000 + rng.below(50) as i64;
    let mut times: Vec<(i64, i64)> = Vec::new();
    for _ in 0..count {
        log += match rng.below(10) {
            0 => 0,
            1 => period * 7,
            _ => (period + rng.below(5) as i64 - 2).max(0),
        };
        let stamp = match rng.below(8) {
            0 => times.last().map_or(log, |(_, stamp)| *stamp),
            1 if jumpy => log - rng.below(300) as i64,
            _ => log - rng.below(9) as i64,
        };
        times.push((log, stamp));
    }
    times
}

fn topic(name: &str) -> Topic {
    Topic {
        name: name.to_owned(),
        schema: "here/Value".to_owned(),
        schema_encoding: "ros1msg",
        definition: "time stamp\nfloat64 value\nint64 id\n".to_owned(),
        encoding: "ros1",
    }
}

async fn one_case(rng: &mut Rng, server: &Server) {
    let topics = rng.below(3) + 2;
    let jumpy = rng.below(2) == 0;
    let lateness = [0, 20, 100, 1_000_000][rng.below(4)];
    let use_stamp: Vec<bool> = (0..topics).map(|_| rng.below(3) > 0).collect();
    let (mut seen, mut messages) = (Vec::new(), Vec::new());
    for (number, use_stamp) in use_stamp.iter().enumerate() {
        let of: Vec<Seen> = times(rng, jumpy)
            .into_iter()
            .enumerate()
            .map(|(id, (log, stamp))| {
                let value =
                    f64::from_bits([1.5_f64, -0.0, f64::NAN, 1e300, 0.1][rng.below(5)].to_bits()) + rng.below(100) as f64 / 7.0;
                let time = if *use_stamp { stamp } else { log };
                let data =
                    [&[0; 4][..], &u32::try_from(stamp).unwrap().to_le_bytes(), &value.to_le_bytes(), &(id as i64).to_le_bytes()];
                messages.push(Message {
                    topic: number,
                    log_time: u64::try_from(log).unwrap(),
                    publish_time: 0,
                    data: data.concat(),
                });
                Seen { log, time, value, id: id as i64 }
            })
            .collect();
        seen.push(settled(of, lateness));
    }
    // The file has the messages of a topic in their order, and those of topics mixed.
    messages.sort_by_key(|message| message.log_time);
    let parts = Parts {
        chunk: [0, 1, 5, 1000][rng.below(4)],
        compression: ["", "zstd", "lz4"][rng.below(3)],
        crc: rng.below(4) > 0,
        message_indexes: rng.below(4) > 0,
        statistics: rng.below(4) > 0,
    };
    let by_rate = rng.below(3) == 0;
    let on_equal = ["keep", "first", "last"][rng.below(3)];
    let gap = (rng.below(3) == 0).then_some(60);
    let mut recipe = String::from("[defaults]\njump = \"none\"\non_late = \"drop\"\nmax_lateness = ");
    recipe += &format!("{lateness}\nzero_stamp = \"keep\"\n[clock]\n");
    match by_rate {
        true => recipe += "rate = \"50000000Hz\"\nstart = \"overlap\"\nend = \"any\"\n",
        false => {
            recipe += &format!(
                "topic = \"/t0\"\nname = \"clock\"\nfields = [\"id\"]\non_equal = \"{on_equal}\"\ntime = \"{}\"\n",
                if use_stamp[0] { "stamp" } else { "log" }
            )
        }
    }
    if let Some(gap) = gap {
        recipe += &format!("gap = {gap}\n");
    }
    let matches: Vec<Match> = (0..rng.below(4) + 1)
        .map(|_| {
            let policy = ["last", "next", "nearest", "linear", "all"][rng.below(5)];
            let bound = (rng.below(4) > 0).then(|| [0, 3, 15, 200][rng.below(4)]);
            let drops = rng.below(5) == 0 && policy != "all";
            Match { topic: rng.below(topics), policy, bound, strict: policy == "last" && rng.below(2) == 0, drops }
        })
        .collect();
    for (number, of) in matches.iter().enumerate() {
        let bound = of.bound.map_or("\"none\"".to_owned(), |bound| bound.to_string());
        recipe += &format!("[[match]]\nname = \"m{number}\"\ntopic = \"/t{}\"\npolicy = \"{}\"\n", of.topic, of.policy);
        recipe += &format!("{} = {bound}\n", if of.policy == "linear" { "max_gap" } else { "tolerance" });
        recipe += &format!("time = \"{}\"\n", if use_stamp[of.topic] { "stamp" } else { "log" });
        recipe += if of.policy == "linear" { "fields = [\"value\"]\n" } else { "fields = [\"value\", \"id\"]\n" };
        recipe += if ["next", "nearest", "linear"].contains(&of.policy) { "future = true\n" } else { "" };
        recipe += if of.strict { "strict = true\n" } else { "" };
        recipe += if of.drops { "missing = \"drop\"\n" } else { "" };
    }
    // The model.
    let mut ticks: Vec<(i64, Option<i64>)> = Vec::new();
    if by_rate {
        let used: Vec<&Vec<Seen>> = matches.iter().map(|of| &seen[of.topic]).collect();
        if used.iter().all(|messages| !messages.is_empty()) {
            let start = used.iter().map(|messages| messages[0].time).max().unwrap();
            let end = used.iter().map(|messages| messages.last().unwrap().time).max().unwrap();
            ticks = (0..).map(|number| (start + number * 20, None)).take_while(|(time, _)| *time <= end).collect();
        }
    } else {
        for (number, message) in seen[0].iter().enumerate() {
            let equal = |other: usize| seen[0].get(other).is_some_and(|other| other.time == message.time);
            if (on_equal == "first" && number > 0 && equal(number - 1)) || (on_equal == "last" && equal(number + 1)) {
                continue;
            }
            ticks.push((message.time, Some(message.id)));
        }
    }
    let (mut rows, mut part, mut before, mut matched_at, mut begins) = (Vec::<Row>::new(), 0, None, None::<i64>, false);
    for (t, clock) in ticks {
        let is_gap = |since: Option<i64>| since.zip(gap).is_some_and(|(since, gap)| t - since > gap);
        let is_new = !by_rate && is_gap(before);
        let found: Vec<Option<Cell>> =
            matches.iter().map(|of| plain(of, &seen[of.topic], t, before, before.is_none() || is_new)).collect();
        let any = found.iter().flatten().any(|cell| cell.values.as_ref().is_some_and(|values| !values.is_empty()));
        begins |= is_new || (by_rate && any && is_gap(matched_at));
        (before, matched_at) = (Some(t), if any { Some(t) } else { matched_at });
        // A tick whose row is left out has had its messages.
        if found.iter().zip(&matches).any(|(cell, of)| cell.is_none() && of.drops) {
            continue;
        }
        if std::mem::take(&mut begins) && !rows.is_empty() {
            part += 1;
        }
        let clock = clock.map(|id| Cell { ids: Some(vec![id]), ..Cell::default() });
        let matched = found.into_iter().map(Option::unwrap_or_default);
        rows.push(Row { part, time: t, matches: clock.into_iter().chain(matched).collect() });
    }
    // A part of the log has the same rows as all of it. Only the numbers of its parts begin with 0.
    let edge = |rng: &mut Rng| (rng.below(3) == 0).then(|| 1_000 + rng.below(600) as i64);
    let (from, to) = (edge(rng), edge(rng).map(|to| to + 300));
    let span = (from, to.max(from.filter(|_| to.is_some())));
    rows.retain(|row| span.0.is_none_or(|from| row.time >= from) && span.1.is_none_or(|to| row.time <= to));
    let first = rows.first().map_or(0, |row| row.part);
    rows.iter_mut().for_each(|row| row.part -= first);
    // The table.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("drive.mcap");
    let names: Vec<Topic> = (0..topics).map(|number| topic(&format!("/t{number}"))).collect();
    let (bytes, is_remote) = (write(&names, &messages, &parts), rng.below(4) == 0);
    let (source, options) = match is_remote {
        true => {
            server.put("data", "logs/drive.mcap", bytes);
            ("s3://data/logs/drive.mcap", StoreOptions::only(server.options()))
        }
        false => {
            std::fs::write(&file, bytes).unwrap();
            (file.to_str().unwrap(), StoreOptions::default())
        }
    };
    let url = folder.path().join("table").display().to_string();
    let context = format!("{recipe}\n{parts:?}\n{span:?}");
    let parsed = Recipe::parse(&recipe).unwrap_or_else(|error| panic!("{error}\n{context}"));
    let logs = [LogSource::of(source).unwrap()];
    let open = OpenOptions { store: options, ..OpenOptions::default() };
    let mut settings = IngestSettings { span, open, ..IngestSettings::new(parsed) };
    // In bytes. The least that counts are 256 messages of each topic.
    settings.message_memory = [0, 1_000, settings.message_memory][rng.below(3)];
    let made = ingest(&logs, Store::open(&url).unwrap(), &settings, |_| {}).await;
    let made = match made {
        // Without ticks between two times, there is nothing to import.
        Err(error) if rows.is_empty() && error.to_string().contains(": no row between ") => return,
        made => made.unwrap_or_else(|error| panic!("{error}\n{context}")),
    };
    let names: Vec<(String, bool)> = (!by_rate)
        .then(|| ("clock".to_owned(), false))
        .into_iter()
        .chain(matches.iter().enumerate().map(|(number, of)| (format!("m{number}"), of.policy == "all")))
        .collect();
    let found = read(&made.table, &names).await;
    assert_eq!(found.len(), rows.len(), "rows\n{context}\n{seen:?}");
    for (found, expected) in found.iter().zip(&rows) {
        assert_eq!(found, expected, "{context}\n{seen:?}");
    }
}

/// Reads a table back in the form of the model.
async fn read(table: &Table, names: &[(String, bool)]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for batch in table.index_batches().await.unwrap() {
        let batch = batch.unwrap();
        let part = batch.column_by_name("part").unwrap().as_primitive::<UInt32Type>().clone();
        let time = batch.column_by_name("time").unwrap().as_primitive::<TimestampNanosecondType>().clone();
        for row in 0..batch.num_rows() {
            let cell = |(name, is_all): &(String, bool)| {
                if *is_all {
                    return Cell::default();
                }
                let column = |of: &str| batch.column_by_name(&format!("{name}.{of}")).filter(|column| column.is_valid(row));
                Cell {
                    values: column("value").map(|column| vec![column.as_primitive::<Float64Type>().value(row).to_bits()]),
                    ids: column("id").map(|column| vec![column.as_primitive::<Int64Type>().value(row)]),
                    dt: column("dt").map(|column| vec![column.as_primitive::<DurationNanosecondType>().value(row)]),
                    gap: column("gap").map(|column| column.as_primitive::<DurationNanosecondType>().value(row)),
                }
            };
            rows.push(Row { part: part.value(row), time: time.value(row), matches: names.iter().map(cell).collect() });
        }
    }
    if names.iter().any(|(_, is_all)| *is_all) && !rows.is_empty() {
        let loader = table.row_loader();
        let all: Vec<u64> = (0..rows.len() as u64).collect();
        let read = loader.take(&all).await.unwrap();
        let batch = read.batch();
        for (number, (name, _)) in names.iter().enumerate().filter(|(_, (_, is_all))| *is_all) {
            for (row, of) in rows.iter_mut().enumerate() {
                let tensor = |column: &str| {
                    let column = batch.column_by_name(&format!("{name}.{column}")).unwrap().as_struct().clone();
                    column.column_by_name("data").unwrap().as_list::<i64>().value(row)
                };
                let (values, ids) = (tensor("value"), tensor("id"));
                let dt = batch.column_by_name(&format!("{name}.dt")).unwrap().as_list::<i64>().value(row);
                let lists = (
                    values.as_primitive::<Float64Type>(),
                    ids.as_primitive::<Int64Type>(),
                    dt.as_primitive::<DurationNanosecondType>(),
                );
                of.matches[number] = Cell {
                    values: Some(lists.0.values().iter().map(|value| value.to_bits()).collect()),
                    ids: Some(lists.1.values().to_vec()),
                    dt: Some(lists.2.values().to_vec()),
                    gap: None,
                };
            }
        }
    }
    rows
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_random_logs_equal_a_plain_matching_of_all_messages() {
    let mut rng = random();
    let server = Server::start();
    server.create_bucket("data");
    let cases = if full() { 5000 } else { 200 };
    for _ in 0..cases {
        one_case(&mut rng, &server).await;
    }
}
