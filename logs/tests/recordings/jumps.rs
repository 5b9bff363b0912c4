//! Logs whose sensors' clock was set back: each part has the rows that it has as a log of its own.

use arrow_array::{Array, RecordBatch, cast::AsArray, types::UInt32Type};
use tetrys_logs::{Input, Log, Recipe, mcap::McapFile, rows};

use crate::{
    common::{Rng, cases, random},
    rows::{STAMPED, topic},
    writing::{Message, Parts, write},
};

const SECOND: u64 = 1_000_000_000;

/// Messages of the clock and of two topics: their stamps are `back` before their log times. The first is one of the clock.
fn messages(rng: &mut Rng, start: u64, back: u64) -> Vec<Message> {
    let mut messages = Vec::new();
    for topic in 0..3 {
        for number in 0..rng.below(40) + 1 {
            let log_time = start + 1 + 50 * number as u64 + rng.below(60) as u64;
            messages.push((topic, log_time));
        }
    }
    messages.push((0, start));
    messages.sort_by_key(|(_, log_time)| *log_time);
    let message = |(number, (topic, log_time)): (usize, (usize, u64))| {
        let stamp = log_time - back;
        let parts = [stamp / SECOND, stamp % SECOND].map(|part| u32::try_from(part).unwrap().to_le_bytes());
        let data = [&parts.concat()[..], &(number as i64).to_le_bytes()].concat();
        Message { topic, log_time, publish_time: 0, data }
    };
    messages.into_iter().enumerate().map(message).collect()
}

/// Returns the rows of a log with these messages, if there are any.
fn of(messages: &[Message], recipe: &str) -> tetrys::Result<Option<RecordBatch>> {
    let topics = ["/clock", "/jumping", "/steady"].map(|name| topic(name, "here/Value", STAMPED));
    let bytes = write(&topics, messages, &Parts::default());
    let log = Log::of_files("drive", vec![McapFile::open(Input::of_bytes("drive.mcap", bytes), true)?])?;
    let batches = rows(log, &Recipe::parse(recipe)?)?.collect::<tetrys::Result<Vec<_>>>()?;
    assert!(batches.len() < 2, "{} batches", batches.len());
    Ok(batches.into_iter().next())
}

/// A recipe with every policy. `/steady` has log times, which do not jump.
fn recipe(clock: &str, gap: &str) -> String {
    let of = |name: &str, topic: &str, time: &str, lines: &str| {
        format!("[[match]]\nname = \"{name}\"\ntopic = \"/{topic}\"\ntime = \"{time}\"\nfields = [\"id\"]\n{lines}\n")
    };
    let near = "policy = \"nearest\"\ntolerance = \"none\"\nfuture = true";
    let last = "policy = \"last\"\ntolerance = 70\nmissing = \"drop\"";
    [
        format!("[defaults]\njump = \"split\"\n[clock]\n{clock}\n{gap}\n"),
        of("nearest", "jumping", "stamp", near),
        of("last", "jumping", "stamp", last),
        of("all", "jumping", "stamp", "policy = \"all\""),
        of("steady", "steady", "log", near),
        of("every", "steady", "log", "policy = \"all\""),
    ]
    .concat()
}

#[test]
fn each_part_behind_a_jump_has_the_rows_of_a_log_of_its_own() {
    let mut rng = random();
    let mut seen = 0;
    for _ in 0..cases(100) {
        let backs = [1, 100, 20, 500].map(|seconds| seconds * SECOND);
        let count = rng.below(4) + 1;
        // The second and the fourth part jump back; the third one jumps forwards, which is no jump.
        let parts: Vec<Vec<Message>> =
            (0..count).map(|part| messages(&mut rng, (1000 + part as u64) * SECOND, backs[part])).collect();
        let clock = ["topic = \"/clock\"\nname = \"clock\"\ntime = \"stamp\"", "rate = \"50000000Hz\""]
            [usize::from(count == 1 && rng.below(2) == 0)];
        let recipe = recipe(clock, ["", "gap = 100"][rng.below(2)]);
        // What lies between two jumps is one part: the first message of the third part is later than all of the second.
        let alone: Vec<Vec<Message>> = match count {
            1 => vec![parts[0].clone()],
            2 => vec![parts[0].clone(), parts[1].clone()],
            3 => vec![parts[0].clone(), [parts[1].clone(), parts[2].clone()].concat()],
            _ => vec![parts[0].clone(), [parts[1].clone(), parts[2].clone()].concat(), parts[3].clone()],
        };
        let expected: Vec<RecordBatch> = alone.iter().filter_map(|messages| of(messages, &recipe).unwrap()).collect();
        let Some(found) = of(&parts.concat(), &recipe).unwrap() else {
            assert!(expected.is_empty(), "{recipe}");
            continue;
        };
        assert_eq!(found.num_rows(), expected.iter().map(RecordBatch::num_rows).sum::<usize>(), "{recipe}");
        let (mut row, mut first_part) = (0, 0);
        for expected in expected {
            let found = found.slice(row, expected.num_rows());
            for (name, column) in found.schema().fields().iter().zip(found.columns()) {
                let other = expected.column_by_name(name.name()).unwrap();
                if name.name() != "part" {
                    assert_eq!(column, other, "{}\n{recipe}", name.name());
                    continue;
                }
                let parts = |column: &dyn Array| column.as_primitive::<UInt32Type>().values().to_vec();
                let shifted: Vec<u32> = parts(other).into_iter().map(|part| part + first_part).collect();
                assert_eq!(parts(column), shifted, "{recipe}");
                first_part = shifted.last().map_or(first_part, |part| part + 1);
            }
            row += expected.num_rows();
            seen += 1;
        }
    }
    assert!(seen > 50, "{seen} parts");
}

#[test]
fn the_rows_of_a_rate_are_bounded_over_all_parts() {
    let message = |(number, stamp): (u64, u64)| {
        let parts = [stamp / SECOND, stamp % SECOND].map(|part| u32::try_from(part).unwrap().to_le_bytes());
        Message { topic: 1, log_time: 1 + number, publish_time: 0, data: [&parts.concat()[..], &[0; 8]].concat() }
    };
    // Two parts of three million rows.
    let stamps = [10, 13, 10, 13].map(|seconds| seconds * SECOND);
    let messages: Vec<Message> = (0..).zip(stamps).map(message).collect();
    let recipe = "[defaults]\ntime = \"stamp\"\njump = \"split\"\n[clock]\nrate = \"1000000Hz\"\n\
        [[match]]\nname = \"a\"\ntopic = \"/jumping\"\npolicy = \"last\"\ntolerance = \"none\"\n";
    let error = of(&messages, recipe).unwrap_err().to_string();
    assert!(error.contains("log drive: over 4194304 rows, with those between 10000000000 and 13000000000"), "{error}");
}

#[test]
fn topics_that_jump_a_different_number_of_times_are_named() {
    let mut rng = random();
    let (first, second) = (messages(&mut rng, 1000 * SECOND, SECOND), messages(&mut rng, 1010 * SECOND, 100 * SECOND));
    // Of one topic, everything is behind the jump.
    let second: Vec<Message> = second
        .into_iter()
        .map(|message| match message.topic {
            1 => Message { data: first[0].data.clone(), ..message },
            _ => message,
        })
        .collect();
    let all = [first, second].concat();
    let clock = "topic = \"/clock\"\nname = \"clock\"\ntime = \"log\"";
    let mut last = all.clone();
    last.push(Message { topic: 1, log_time: 2000 * SECOND, publish_time: 0, data: all[0].data.clone() });
    last.insert(last.len() - 1, Message { topic: 1, log_time: 1999 * SECOND, publish_time: 0, data: vec![0xff; 16] });
    let error = of(&last, &recipe(clock, "")).unwrap_err().to_string();
    let expected = "log drive: the time of topic /jumping jumps back 1 times, and that of topic /clock 0 times: parts of the log need the same jumps";
    assert_eq!(error, expected);
    let without = recipe(clock, "").replace("\"split\"", "\"1s\"");
    let error = of(&last, &without).unwrap_err().to_string();
    assert!(error.contains("set jump = \"split\" or \"none\""), "{error}");
}
