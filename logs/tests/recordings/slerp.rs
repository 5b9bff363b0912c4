//! Rotations between messages: the rows of random logs against a plain matching, and a rotation by the exponential of a logarithm.

use arrow_array::{
    Array,
    cast::AsArray,
    types::{DurationNanosecondType, Float32Type, Float64Type, TimestampNanosecondType},
};
use tetrys_logs::{Ingested, Recipe, rows as rows_of};
use tetrys_logs::{Input, Log, mcap::McapFile};

use crate::{
    common::{Rng, cases, random},
    rows::{made, topic},
    writing::{Message, Parts, Topic, write},
};

pub(crate) type Quaternion = [f64; 4];

const DEFINITION: &str = "time stamp\ngeometry_msgs/Quaternion q\nfloat32[4] s\nfloat64[3] v\n===\nMSG: geometry_msgs/Quaternion\n\
    float64 x\nfloat64 y\nfloat64 z\nfloat64 w\n";

fn message(topic: usize, time: u32, q: Quaternion, s: [f32; 4]) -> Message {
    let mut data = [0_u32.to_le_bytes(), time.to_le_bytes()].concat();
    q.iter().for_each(|number| data.extend(number.to_le_bytes()));
    s.iter().for_each(|number| data.extend(number.to_le_bytes()));
    data.extend([0; 24]);
    Message { topic, log_time: u64::from(time), publish_time: 0, data }
}

pub(crate) fn unit(of: Quaternion) -> Option<Quaternion> {
    let largest = of.iter().fold(0.0, |largest: f64, number| if number.abs() > largest { number.abs() } else { largest });
    if !of.iter().all(|number| number.is_finite()) || largest == 0.0 {
        return None;
    }
    let of = of.map(|number| number / largest);
    let length = (of[0] * of[0] + of[1] * of[1] + of[2] * of[2] + of[3] * of[3]).sqrt();
    Some(of.map(|number| number / length))
}

fn product([ax, ay, az, aw]: Quaternion, [bx, by, bz, bw]: Quaternion) -> Quaternion {
    [
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    ]
}

/// Returns a (a^-1 b)^w: the axis stays, and the angle is w times as large.
pub(crate) fn turned(a: Quaternion, b: Quaternion, w: f64) -> Quaternion {
    let turn = product([-a[0], -a[1], -a[2], a[3]], b);
    let turn = if turn[3] < 0.0 { turn.map(|number| -number) } else { turn };
    let sine = (turn[0] * turn[0] + turn[1] * turn[1] + turn[2] * turn[2]).sqrt();
    let angle = sine.atan2(turn[3]) * w;
    let scale = if sine == 0.0 { 0.0 } else { angle.sin() / sine };
    product(a, [turn[0] * scale, turn[1] * scale, turn[2] * scale, angle.cos()])
}

/// The values of a row: of both quaternions, and the difference and the gap.
type Row = (i64, Option<Quaternion>, Option<Quaternion>, Option<i64>, Option<i64>);

fn plain(messages: &[(i64, Quaternion, Quaternion)], t: i64, max_gap: Option<i64>) -> Row {
    let nothing = (t, None, None, None, None);
    let Some(a) = messages.iter().rfind(|message| message.0 <= t) else { return nothing };
    let (q, s, dt, gap) = if a.0 == t {
        (unit(a.1).map(|_| a.1), unit(a.2).map(|_| a.2), 0, 0)
    } else {
        let Some(b) = messages.iter().find(|message| message.0 > t) else { return nothing };
        if max_gap.is_some_and(|gap| b.0 - a.0 > gap) {
            return nothing;
        }
        let w = (t - a.0) as f64 / (b.0 - a.0) as f64;
        let between = |a: Quaternion, b: Quaternion| unit(a).zip(unit(b)).map(|(a, b)| turned(a, b, w));
        let dt = if t - a.0 <= b.0 - t { a.0 - t } else { b.0 - t };
        (between(a.1, b.1), between(a.2, b.2), dt, b.0 - a.0)
    };
    match q.is_none() && s.is_none() {
        true => nothing,
        false => (t, q, s, Some(dt), Some(gap)),
    }
}

fn quaternion(rng: &mut Rng, before: Option<Quaternion>) -> Quaternion {
    let number = |rng: &mut Rng| rng.below(2_000_001) as f64 / 1e6 - 1.0;
    let fresh = [number(rng), number(rng), number(rng), number(rng)];
    let near = before.unwrap_or(fresh);
    match rng.below(14) {
        0 => [0.0; 4],
        1 => [f64::NAN, 0.0, 0.0, 1.0],
        2 => [0.0, f64::NEG_INFINITY, 0.0, 1.0],
        3 => fresh.map(|number| number * 1e30),
        4 => fresh.map(|number| number * 1e-30),
        5 => near.map(|number| -number),
        6 => near,
        7 | 8 => [near[0] + 1e-6 * fresh[0], near[1] + 1e-9 * fresh[1], near[2], near[3]],
        _ => fresh,
    }
}

fn close(found: Option<Quaternion>, expected: Option<Quaternion>, within: f64, exact: bool) -> bool {
    match (found, expected) {
        (None, None) => true,
        (Some(found), Some(expected)) if exact => found.map(f64::to_bits) == expected.map(f64::to_bits),
        (Some(found), Some(expected)) => found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() <= within),
        _ => false,
    }
}

#[test]
fn rows_of_random_rotations_equal_a_plain_matching_to_12_digits() {
    let mut rng = random();
    for _ in 0..cases(200) {
        let (mut messages, mut plains, mut time, mut before) = (Vec::new(), Vec::new(), 100, None);
        for _ in 0..rng.below(40) + 1 {
            time += [0, 1, 7, 20, 60, 200][rng.below(6)];
            let (q, s) = (quaternion(&mut rng, before), quaternion(&mut rng, None));
            #[expect(clippy::cast_possible_truncation, reason = "a column of f32")]
            let single = s.map(|number| number as f32);
            messages.push(message(0, time, q, single));
            plains.push((i64::from(time), q, single.map(f64::from)));
            before = Some(q);
        }
        // Of equal times the last is a, and the first is b.
        plains.sort_by_key(|message| message.0);
        let max_gap = [None, Some(0), Some(20), Some(100)][rng.below(4)];
        let missing = ["null", "drop"][rng.below(2)];
        let bound = max_gap.map_or("\"none\"".to_owned(), |gap: i64| gap.to_string());
        let recipe = format!(
            "[clock]\nrate = \"200000000Hz\"\nstart = 90\nend = {}\n[[match]]\nname = \"m\"\ntopic = \"/q\"\ntime = \"stamp\"\n\
             policy = \"slerp\"\nfuture = true\nmax_gap = {bound}\nmissing = \"{missing}\"\nfields = [\"q\", \"s\"]\n",
            time + 20
        );
        let mut expected: Vec<Row> = (90..=i64::from(time) + 20).step_by(5).map(|t| plain(&plains, t, max_gap)).collect();
        if missing == "drop" {
            expected.retain(|row| row.3.is_some());
        }
        let topics = [topic("/q", "here/Turn", DEFINITION)];
        let bytes = write(&topics, &messages, &Parts::default());
        let log = Log::of_files("drive", vec![McapFile::open(Input::of_bytes("drive.mcap", bytes), true).unwrap()]).unwrap();
        let mut found: Vec<Row> = Vec::new();
        for batch in rows_of(log, &Recipe::parse(&recipe).unwrap()).unwrap() {
            let batch = batch.unwrap();
            let column = |name: &str| batch.column_by_name(name).unwrap().clone();
            let (time, q, s) = (column("time"), column("m.q"), column("m.s"));
            for row in 0..batch.num_rows() {
                let duration = |name: &str| {
                    let column = column(name);
                    column.is_valid(row).then(|| column.as_primitive::<DurationNanosecondType>().value(row))
                };
                let of_q = q.is_valid(row).then(|| {
                    let value = q.as_fixed_size_list().value(row);
                    Quaternion::try_from(value.as_primitive::<Float64Type>().values().to_vec()).unwrap()
                });
                let of_s = s.is_valid(row).then(|| {
                    let value = s.as_fixed_size_list().value(row);
                    <[f32; 4]>::try_from(value.as_primitive::<Float32Type>().values().to_vec()).unwrap().map(f64::from)
                });
                let time = time.as_primitive::<TimestampNanosecondType>().value(row);
                found.push((time, of_q, of_s, duration("m.dt"), duration("m.gap")));
            }
        }
        assert_eq!(found.len(), expected.len(), "{recipe}");
        for (found, expected) in found.iter().zip(&expected) {
            let exact = expected.4 == Some(0);
            let is_same = (found.0, found.3, found.4) == (expected.0, expected.3, expected.4)
                && close(found.1, expected.1, 1e-12, exact)
                && close(found.2, expected.2, 1e-7, exact);
            assert!(is_same, "{recipe}\n{plains:?}\nfound {found:?}\nexpected {expected:?}");
        }
    }
}

fn recipe(fields: &str) -> String {
    format!(
        "[clock]\ntopic = \"/t\"\nname = \"t\"\ntime = \"log\"\n[[match]]\nname = \"m\"\ntopic = \"/q\"\ntime = \"stamp\"\n\
         policy = \"slerp\"\nfuture = true\nmax_gap = \"none\"\n{fields}"
    )
}

async fn imported(q: Quaternion, fields: &str) -> tetrys::Result<Ingested> {
    let topics: [Topic; 2] = [topic("/q", "here/Turn", DEFINITION), topic("/t", "here/Tick", "int64 id")];
    let tick = |time: u64| Message { topic: 1, log_time: time, publish_time: 0, data: vec![0; 8] };
    let messages = [message(0, 100, [0.0, 0.0, 0.0, 1.0], [1.0; 4]), tick(150), tick(200), message(0, 200, q, [1.0; 4])];
    Ok(made(&topics, &messages, &recipe(fields)).await?.0)
}

#[tokio::test(flavor = "multi_thread")]
async fn only_quaternions_are_turned_and_a_row_without_a_rotation_has_no_message() {
    let whole = imported([0.0, 0.0, 1.0, 0.0], "").await.unwrap();
    let names: Vec<&str> = whole.table.schema().columns().iter().map(|column| column.name.as_str()).collect();
    assert!(
        names.contains(&"m.q") && names.contains(&"m.gap") && !names.contains(&"m.s") && !names.contains(&"m.v"),
        "{names:?}"
    );
    assert_eq!((whole.report.logs[0].matches[1].matched, whole.report.logs[0].matches[1].missing), (2, 0));
    // The second message is no rotation: neither the row between, nor the one at its time has one.
    let broken = imported([0.0; 4], "").await.unwrap();
    let report = &broken.report.logs[0].matches[1];
    assert_eq!((report.matched, report.missing, report.skipped, report.largest_dt), (0, 2, 2, None));
    assert_eq!(imported([0.0; 4], "missing = \"drop\"\n").await.unwrap().table.rows(), 0);
    for (fields, expected) in [
        ("fields = [\"v\"]\n", "fields: slerp cannot interpolate `v` of type f64[3]; choose fields of f32[4] or f64[4]"),
        ("fields = [\"stamp\"]\n", "slerp cannot interpolate `stamp`"),
        ("missing = \"error\"\n", "no message for `m`, and missing = \"error\""),
    ] {
        let error = imported([0.0; 4], fields).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
