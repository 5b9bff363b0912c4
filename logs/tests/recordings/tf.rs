//! Transforms between coordinate frames: the rows of random trees against a plain walk with matrices.

use arrow_array::{Array, cast::AsArray, types::Float64Type};
use tetrys::ErrorKind;
use tetrys_logs::{Input, Log, Recipe, mcap::McapFile, rows as rows_of};

use crate::{
    common::{Rng, cases, random},
    rows::{made, topic},
    slerp::{Quaternion, turned, unit},
    writing::{Message, Parts, Topic, write},
};

const DEFINITION: &str = "geometry_msgs/TransformStamped[] transforms\n===\nMSG: geometry_msgs/TransformStamped\nHeader header\n\
    string child_frame_id\nTransform transform\n===\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n===\n\
    MSG: geometry_msgs/Transform\nVector3 translation\nQuaternion rotation\n===\nMSG: geometry_msgs/Vector3\nfloat64 x\nfloat64 y\n\
    float64 z\n===\nMSG: geometry_msgs/Quaternion\nfloat64 x\nfloat64 y\nfloat64 z\nfloat64 w\n";

type Matrix = [[f64; 4]; 4];

/// A transform that a message says.
#[derive(Clone, Debug)]
struct StampedTransform {
    parent: String,
    child: String,
    stamp: u32,
    translation: [f64; 3],
    rotation: Quaternion,
}

fn topics() -> [Topic; 4] {
    [
        topic("/c", "here/Tick", "int64 id"),
        topic("/tf", "tf2_msgs/TFMessage", DEFINITION),
        topic("/tf_static", "tf2_msgs/TFMessage", DEFINITION),
        topic("/d", "here/Tick", "int64 id"),
    ]
}

fn tick(topic: usize, log_time: u64) -> Message {
    Message { topic, log_time, publish_time: 0, data: vec![0; 8] }
}

fn tf(topic: usize, log_time: u64, transforms: &[StampedTransform]) -> Message {
    let mut data = u32::try_from(transforms.len()).unwrap().to_le_bytes().to_vec();
    let text = |data: &mut Vec<u8>, text: &str| {
        data.extend(u32::try_from(text.len()).unwrap().to_le_bytes());
        data.extend(text.as_bytes());
    };
    for transform in transforms {
        data.extend([0; 8]);
        data.extend(transform.stamp.to_le_bytes());
        text(&mut data, &transform.parent);
        text(&mut data, &transform.child);
        transform.translation.iter().chain(&transform.rotation).for_each(|number| data.extend(number.to_le_bytes()));
    }
    Message { topic, log_time, publish_time: 0, data }
}

fn matrix(translation: [f64; 3], rotation: Quaternion) -> Option<Matrix> {
    let [x, y, z, w] = unit(rotation)?;
    let [a, b, c] = translation;
    let matrix = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w), a],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w), b],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y), c],
        [0.0, 0.0, 0.0, 1.0],
    ];
    matrix.iter().flatten().all(|number| number.is_finite()).then_some(matrix)
}

fn times(a: &Matrix, b: &Matrix) -> Matrix {
    std::array::from_fn(|row| std::array::from_fn(|column| (0..4).map(|at| a[row][at] * b[at][column]).sum()))
}

/// Returns the inverse of a rotation and a translation.
fn inverse(of: &Matrix) -> Matrix {
    let mut found: Matrix =
        std::array::from_fn(|row| std::array::from_fn(|column| if row < 3 && column < 3 { of[column][row] } else { 0.0 }));
    for row in 0..3 {
        found[row][3] = -(0..3).map(|at| of[at][row] * of[at][3]).sum::<f64>();
    }
    found[3][3] = 1.0;
    found
}

const IDENTITY: Matrix = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];

/// All transforms of a log in the order of arrival: those that hold always, and those that move with their times.
#[derive(Default, Debug)]
struct Model {
    fixed: Vec<StampedTransform>,
    moving: Vec<(i64, StampedTransform)>,
}

impl Model {
    /// The parent of a frame, and the transform to it. `None`: it is a root. An error: there is none at this time.
    fn edge(&self, child: &str, t: i64, tolerance: Option<i64>) -> Result<Option<(String, Matrix)>, ()> {
        let whole = |transform: &StampedTransform| {
            matrix(transform.translation, transform.rotation).map(|matrix| Some((transform.parent.clone(), matrix))).ok_or(())
        };
        if let Some(transform) = self.fixed.iter().rfind(|transform| transform.child == child) {
            return whole(transform);
        }
        let of: Vec<&(i64, StampedTransform)> = self.moving.iter().filter(|(_, transform)| transform.child == child).collect();
        let near = |time: i64| tolerance.is_none_or(|tolerance| (time - t).abs() <= tolerance);
        // Of equal times the first one that arrived.
        let first = |time: i64| of.iter().find(|(other, _)| *other == time).unwrap();
        let a = of.iter().map(|(time, _)| *time).filter(|time| *time <= t).max().map(first);
        let b = of.iter().map(|(time, _)| *time).filter(|time| *time > t).min().map(first);
        match (a, b) {
            (None, None) => Ok(None),
            (Some((time, transform)), _) if *time == t => whole(transform),
            (Some((from, a)), Some((to, b))) if a.parent == b.parent => {
                if tolerance.is_some_and(|tolerance| to - from > tolerance) {
                    return Err(());
                }
                whole(a)?;
                whole(b)?;
                let w = (t - from) as f64 / (to - from) as f64;
                let translation = std::array::from_fn(|at| a.translation[at] + (b.translation[at] - a.translation[at]) * w);
                let (one, other) = (unit(a.rotation).unwrap(), unit(b.rotation).unwrap());
                Ok(Some((a.parent.clone(), matrix(translation, turned(one, other, w)).unwrap())))
            }
            (Some((from, a)), Some((to, b))) => {
                let (time, transform) = if t - from <= to - t { (from, a) } else { (to, b) };
                if near(*time) { whole(transform) } else { Err(()) }
            }
            (Some((time, transform)), None) | (None, Some((time, transform))) => {
                if near(*time) {
                    whole(transform)
                } else {
                    Err(())
                }
            }
        }
    }

    /// The frames above one, each with the transform from it.
    fn above(&self, frame: &str, t: i64, tolerance: Option<i64>) -> Vec<(String, Matrix)> {
        let mut found = vec![(frame.to_owned(), IDENTITY)];
        while let Ok(Some((parent, matrix))) = self.edge(&found.last().unwrap().0, t, tolerance) {
            if found.len() > 20 {
                break;
            }
            let all = times(&matrix, &found.last().unwrap().1);
            found.push((parent, all));
        }
        found
    }

    fn lookup(&self, target: &str, source: &str, t: i64, tolerance: Option<i64>) -> Option<Matrix> {
        let says = |frame: &str| {
            let all = self.fixed.iter().chain(self.moving.iter().map(|(_, transform)| transform));
            all.into_iter().any(|transform| transform.parent == frame || transform.child == frame)
        };
        if !says(target) || !says(source) {
            return None;
        }
        let (of_source, of_target) = (self.above(source, t, tolerance), self.above(target, t, tolerance));
        let (target, source) = of_target
            .iter()
            .find_map(|(frame, target)| Some((target, &of_source.iter().find(|(other, _)| other == frame)?.1)))?;
        Some(times(&inverse(target), source))
    }
}

fn random_transform(rng: &mut Rng, parent: usize, child: usize, stamp: u32) -> StampedTransform {
    let mut number = || rng.below(2_000_001) as f64 / 1e5 - 10.0;
    let translation = [number(), number(), number()];
    let mut rotation = [number(), number(), number(), number()];
    match rng.below(30) {
        0 => rotation = [0.0; 4],
        1 => rotation[2] = f64::NAN,
        _ => {}
    }
    StampedTransform { parent: format!("f{parent}"), child: format!("f{child}"), stamp, translation, rotation }
}

/// Returns the transforms of each row.
fn imported(messages: &[Message], recipe: &str, names: &[String]) -> Vec<Vec<Option<Matrix>>> {
    let bytes = write(&topics(), messages, &Parts::default());
    let log = Log::of_files("drive", vec![McapFile::open(Input::of_bytes("drive.mcap", bytes), true).unwrap()]).unwrap();
    let mut found = Vec::new();
    for batch in rows_of(log, &Recipe::parse(recipe).unwrap()).unwrap_or_else(|error| panic!("{error}\n{recipe}")) {
        let batch = batch.unwrap();
        for row in 0..batch.num_rows() {
            let numbers = |column: &str| {
                let column = batch.column_by_name(column).unwrap();
                let list = column.as_fixed_size_list().clone();
                column.is_valid(row).then(|| list.value(row).as_primitive::<Float64Type>().values().to_vec())
            };
            let transform = |name: &String| {
                let (translation, rotation) = (numbers(&format!("{name}.translation")), numbers(&format!("{name}.rotation")));
                assert_eq!(translation.is_some(), rotation.is_some());
                let rotation: Quaternion = rotation?.try_into().unwrap();
                let length: f64 = rotation.iter().map(|number| number * number).sum();
                assert!((length - 1.0).abs() < 1e-12, "{rotation:?}");
                matrix(translation?.try_into().unwrap(), rotation)
            };
            found.push(names.iter().map(transform).collect());
        }
    }
    found
}

#[test]
fn transforms_of_random_trees_equal_a_plain_walk_with_matrices() {
    let mut rng = random();
    let (mut present, mut absent) = (0, 0);
    for _ in 0..cases(150) {
        let frames = rng.below(6) + 2;
        let by_log = rng.below(4) == 0;
        let (mut model, mut messages, mut time) = (Model::default(), Vec::new(), 1000_u32);
        // A frame has one below it as parent, or is a root.
        let parents: Vec<Option<usize>> = (0..frames).map(|of| (of > 0 && rng.below(8) > 0).then(|| rng.below(of))).collect();
        let fixed: Vec<bool> = (0..frames).map(|_| rng.below(3) == 0).collect();
        for _ in 0..rng.below(40) + 1 {
            time += [0, 1, 5, 10, 30][rng.below(5)];
            let (mut always, mut now) = (Vec::new(), Vec::new());
            for child in 0..frames {
                let Some(parent) = parents[child].filter(|_| rng.below(2) == 0) else { continue };
                let parent = if rng.below(12) == 0 { rng.below(child) } else { parent };
                let stamp = time - [0, 0, 3, 12][rng.below(4)];
                let mut transform = random_transform(&mut rng, parent, child, stamp);
                match fixed[child] {
                    true if rng.below(5) == 0 => {
                        model.fixed.push(transform.clone());
                        transform.parent = format!("/{}", transform.parent);
                        always.push(transform);
                    }
                    true => {}
                    false => {
                        model.moving.push((i64::from(if by_log { time } else { stamp }), transform.clone()));
                        now.push(transform);
                    }
                }
            }
            messages.push(tf(2, u64::from(time), &always));
            messages.push(tf(1, u64::from(time), &now));
        }
        let ends = (990_i64, i64::from(time) + 20);
        let other: Vec<i64> =
            (0..rng.below(20)).map(|_| 1000 + rng.below(usize::try_from(ends.1).unwrap() - 1000) as i64).collect();
        messages.extend(other.iter().map(|time| tick(3, u64::try_from(*time).unwrap())));
        messages.extend((ends.0..ends.1).step_by(3).map(|time| tick(0, u64::try_from(time).unwrap())));
        messages.sort_by_key(|message| message.log_time);
        let mut recipe = String::from(
            "[clock]\ntopic = \"/c\"\nname = \"c\"\ntime = \"log\"\n[[match]]\nname = \"d\"\ntopic = \"/d\"\ntime = \"log\"\n\
             policy = \"last\"\ntolerance = 20\n",
        );
        let wanted: Vec<(String, String, Option<i64>, bool)> = (0..3)
            .map(|_| {
                let frame = |rng: &mut Rng| {
                    // Sometimes one that no transform has.
                    let all = frames + usize::from(rng.below(10) == 0);
                    format!("f{}", rng.below(all))
                };
                (frame(&mut rng), frame(&mut rng), [None, Some(0), Some(6), Some(25)][rng.below(4)], rng.below(3) == 0)
            })
            .collect();
        let names: Vec<String> = (0..wanted.len()).map(|number| format!("t{number}")).collect();
        for (name, (target, source, tolerance, at_match)) in names.iter().zip(&wanted) {
            let tolerance = tolerance.map_or("\"none\"".to_owned(), |tolerance| tolerance.to_string());
            recipe += &format!("[tf.{name}]\ntarget = \"{target}\"\nsource = \"/{source}\"\ntolerance = {tolerance}\n");
            recipe += if *at_match { "at = \"d\"\n" } else { "" };
            recipe += if by_log { "time = \"log\"\n" } else { "" };
        }
        let found = imported(&messages, &recipe, &names);
        let rows: Vec<i64> = (ends.0..ends.1).step_by(3).collect();
        assert_eq!(found.len(), rows.len());
        for (found, t) in found.iter().zip(rows) {
            let matched = other.iter().copied().filter(|time| *time <= t && t - time <= 20).max();
            for (found, (target, source, tolerance, at_match)) in found.iter().zip(&wanted) {
                let at = if *at_match { matched } else { Some(t) };
                let expected = at.and_then(|at| model.lookup(target, source, at, *tolerance));
                let is_same = match (found, &expected) {
                    (None, None) => true,
                    (Some(found), Some(expected)) => found
                        .iter()
                        .flatten()
                        .zip(expected.iter().flatten())
                        .all(|(found, expected)| (found - expected).abs() < 1e-9),
                    _ => false,
                };
                assert!(is_same, "{t}: {target} {source} {tolerance:?}\n{found:?}\n{expected:?}\n{recipe}\n{model:?}");
                present += usize::from(found.is_some());
                absent += usize::from(found.is_none());
            }
        }
    }
    assert!(present > 500 && absent > 500, "{present} {absent}");
}

fn shift(parent: &str, child: &str, stamp: u32, x: f64) -> StampedTransform {
    let (parent, child) = (parent.to_owned(), child.to_owned());
    StampedTransform { parent, child, stamp, translation: [x, 0.0, 0.0], rotation: [0.0, 0.0, 0.0, 1.0] }
}

const RECIPE: &str =
    "[clock]\ntopic = \"/c\"\nname = \"c\"\ntime = \"log\"\n[tf.a]\ntarget = \"map\"\nsource = \"lidar\"\ntolerance = 20\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_table_has_the_transforms_and_the_report_the_reasons() {
    let messages = [
        tf(2, 90, &[shift("base", "lidar", 0, 1.0)]),
        tf(1, 100, &[shift("map", "base", 100, 10.0)]),
        tick(0, 105),
        tf(1, 110, &[shift("map", "base", 110, 20.0)]),
        tick(0, 125),
        tick(0, 140),
    ];
    let other = "[tf.b]\ntarget = \"map\"\nsource = \"wheel\"\ntolerance = \"none\"\n";
    let (made, _folder) = made(&topics(), &messages, &format!("{RECIPE}{other}")).await.unwrap();
    let schema = made.table.schema();
    assert_eq!(schema.column_named("a.translation").unwrap().ty.to_string(), "f64[3]");
    assert_eq!(schema.column_named("a.rotation").unwrap().ty.to_string(), "f64[4]");
    let loader = made.table.row_loader();
    for (row, x) in [(0, 16.0), (1, 21.0)] {
        let row = loader.get_row(row).await.unwrap();
        assert_eq!(row.tensor::<f64>("a.translation").unwrap().values(), [x, 0.0, 0.0]);
        assert_eq!(row.tensor::<f64>("a.rotation").unwrap().values(), [0.0, 0.0, 0.0, 1.0]);
    }
    let reports = &made.report.logs[0].transforms;
    assert_eq!((reports[0].name.as_str(), reports[0].found), ("a", 2));
    assert_eq!(
        reports[0].missing.clone().into_iter().collect::<Vec<_>>(),
        [("no transform of `base` within the tolerance".to_owned(), 1)]
    );
    assert_eq!(
        reports[1].missing.clone().into_iter().collect::<Vec<_>>(),
        [("no transform has the frame `wheel`".to_owned(), 3)]
    );
}

#[test]
fn fixed_transforms_cross_parts_and_those_that_move_do_not() {
    // The clock steps back by ten seconds behind the third message.
    let stamped = |log_time: u64, stamp: u32| Message {
        topic: 0,
        log_time,
        publish_time: 0,
        data: [stamp.to_le_bytes(), 0_u32.to_le_bytes(), [0; 4], [0; 4]].concat(),
    };
    let mut topics = topics();
    topics[0].definition = "time stamp\nint64 id\n".to_owned();
    let second = 1_000_000_000_u64;
    let moving = |log_time: u64, stamp: u32, x: f64| {
        let mut message = tf(1, log_time, &[shift("map", "base", 0, x)]);
        message.data[8..12].copy_from_slice(&stamp.to_le_bytes());
        message
    };
    let messages = [
        tf(2, second, &[shift("base", "lidar", 0, 1.0)]),
        moving(20 * second, 20, 10.0),
        stamped(20 * second + 1, 20),
        moving(22 * second, 22, 30.0),
        stamped(22 * second + 1, 21),
        stamped(23 * second, 11),
        moving(24 * second, 12, 500.0),
        stamped(25 * second, 20),
    ];
    let recipe =
        RECIPE.replace("time = \"log\"", "time = \"stamp\"\njump = \"split\"").replace("tolerance = 20", "tolerance = \"none\"");
    let bytes = write(&topics, &messages, &Parts::default());
    let log = Log::of_files("drive", vec![McapFile::open(Input::of_bytes("drive.mcap", bytes), true).unwrap()]).unwrap();
    let mut found = Vec::new();
    for batch in rows_of(log, &Recipe::parse(&recipe).unwrap()).unwrap() {
        let batch = batch.unwrap();
        let list = batch.column_by_name("a.translation").unwrap().as_fixed_size_list();
        found.extend((0..batch.num_rows()).map(|row| list.value(row).as_primitive::<Float64Type>().value(0)));
    }
    // Behind the jump, only the transform that arrived there counts: at 20 s it is the nearest, not that of before at 20 s.
    assert_eq!(found, [11.0, 21.0, 501.0, 501.0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_has_no_transforms_is_refused() {
    for (lines, kind, expected) in [
        (
            "topic = \"/d\"\n",
            ErrorKind::Invalid,
            "log drive: transform `a`: topic /d: expected transforms (tf2_msgs/TFMessage), found here/Tick",
        ),
        ("topic = \"/none\"\nstatic_topic = \"/none\"\n", ErrorKind::NotFound, "no topic `/none` and no topic `/none`"),
    ] {
        let error = made(&topics(), &[tick(0, 100), tick(3, 100)], &format!("{RECIPE}{lines}")).await.map(|_| ()).unwrap_err();
        assert!(error.kind() == kind && error.to_string().contains(expected), "{error}");
    }
    // A log without any transform has nulls.
    let (whole, _folder) = made(&topics(), &[tick(0, 100)], RECIPE).await.unwrap();
    assert_eq!(whole.report.logs[0].transforms[0].missing.values().sum::<u64>(), 1);
}
