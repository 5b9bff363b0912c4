//! A table with a column of each kind that the page shows, a server for it, and requests without a browser.

#![allow(dead_code, unreachable_pub, missing_docs, reason = "each suite uses its part")]

mod asking;
#[path = "../../../tests/common/environment.rs"]
pub(crate) mod environment;

use std::{fs, path::Path, sync::Arc};

use arrow_array::{
    ArrayRef, BooleanArray, Float32Array, Float64Array, Int64Array, LargeBinaryArray, LargeStringArray, RecordBatch,
    TimestampNanosecondArray,
};
use tetrys::{ColumnType, Schema, Table, WriteOptions, arrow::buffer::OffsetBuffer, schema::Primitive};

pub(crate) use asking::*;

pub(crate) const LOGS: usize = 3;
pub(crate) const FRAMES: usize = 60;
pub(crate) const ROWS: usize = LOGS * FRAMES;

fn named(ty: &str) -> ColumnType {
    ty.parse().unwrap()
}

/// Writes a table of three drives of sixty frames: each row has two pictures, a sweep with boxes, a pose, numbers, text and bytes.
///
/// The table is written once for all tests of a suite; each gets a copy of its files, which it may damage.
pub(crate) async fn write_drives(root: &Path) -> Table {
    static WRITTEN: tokio::sync::OnceCell<tempfile::TempDir> = tokio::sync::OnceCell::const_new();
    let written = WRITTEN
        .get_or_init(async || {
            let folder = tempfile::tempdir().unwrap();
            create_drives(&folder.path().join("drives")).await;
            folder
        })
        .await;
    copy(&written.path().join("drives"), root);
    Table::open(root.to_str().unwrap()).await.unwrap()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for file in fs::read_dir(from).unwrap().map(|file| file.unwrap().path()) {
        let target = to.join(file.file_name().unwrap());
        match file.is_dir() {
            true => copy(&file, &target),
            false => drop(fs::copy(&file, &target).unwrap()),
        }
    }
}

async fn create_drives(root: &Path) {
    let schema = Schema::builder()
        .index("log", "utf8")
        .index("time", "timestamp[ns]")
        .index("frame", "i64")
        .index("speed", "f64")
        .index("night", "bool")
        .index("weather", "utf8")
        .group("cameras", [("front.png", "binary"), ("rear.png", "binary")])
        .group("lidar", [("lidar.points", "f32[?,4]"), ("lidar.boxes", "f32[?,7]")])
        .group("ego", [("ego.pose", "f64[4,4]"), ("ego.speed", "f32"), ("ego.yaw_rate", "f32"), ("ego.gear", "utf8")])
        .group("model", [("model.features", "f32[24,32]"), ("model.logits", "f32[5]")])
        .group("notes", [("notes.json", "utf8"), ("notes.raw", "binary")])
        .sequence_by(["log"])
        .order_by(["time"])
        .property("speed", "unit", "m/s")
        .property("ego.speed", "unit", "m/s")
        .property("ego.yaw_rate", "unit", "rad/s")
        .build()
        .unwrap();
    let writer = Table::create(root.to_str().unwrap(), schema, WriteOptions::default()).await.unwrap();
    let mut receipts = Vec::new();
    for log in 0..LOGS {
        let mut partition = writer.partition().unwrap();
        partition.write(&drive(log)).await.unwrap();
        receipts.push(partition.finish().await.unwrap());
    }
    writer.commit(receipts).await.unwrap();
}

/// Returns the speed of a row, which some rows do not have.
pub(crate) fn speed(row: usize) -> Option<f64> {
    let (log, frame) = (row / FRAMES, row % FRAMES);
    (row % 17 != 5).then(|| 8.0 + 4.0 * log as f64 + 5.0 * (frame as f64 / 9.0).sin())
}

pub(crate) fn weather(row: usize) -> &'static str {
    ["clear", "rain", "clear", "fog"][(row / 20) % 4]
}

fn drive(log: usize) -> RecordBatch {
    let rows: Vec<usize> = (log * FRAMES..(log + 1) * FRAMES).collect();
    let frames = || 0..FRAMES;
    let time = |frame: usize| 1_700_000_000_123_456_789 + log as i64 * 3_600_000_000_000 + frame as i64 * 100_000_000;
    let angle = |frame: usize| 0.05 * frame as f64 + log as f64;
    let text = |values: Vec<String>| Arc::new(LargeStringArray::from_iter_values(values)) as ArrayRef;
    let pose = |frame: usize| {
        let (sine, cosine) = angle(frame).sin_cos();
        let (x, y) = (40.0 * angle(frame).cos() + 3.0 * frame as f64, 40.0 * angle(frame).sin());
        [cosine, -sine, 0.0, x, sine, cosine, 0.0, y, 0.0, 0.0, 1.0, 1.5, 0.0, 0.0, 0.0, 1.0]
    };
    let pictures = |camera: usize| {
        let pictures: Vec<Option<Vec<u8>>> =
            rows.iter().map(|row| (camera == 0 || row % 11 != 3).then(|| picture(log, row % FRAMES, camera))).collect();
        Arc::new(LargeBinaryArray::from_iter(pictures)) as ArrayRef
    };
    let points: Vec<Vec<f32>> = frames().map(|frame| sweep(log, frame)).collect();
    let boxes: Vec<Vec<f32>> = frames().map(|frame| boxes(log, frame)).collect();
    let features = |frame: usize| {
        (0..24 * 32)
            .map(move |place: usize| ((place / 32) as f32 / 4.0 + frame as f32 / 6.0).sin() * ((place % 32) as f32 / 5.0).cos())
    };
    let json = |row: &usize| {
        format!(
            "{{\"weather\": \"{}\", \"labels\": [\"car\", \"cyclist\"], \"row\": {row}, \"comment\": \"Crossing with a tram; two cyclists wait.\"}}",
            weather(*row)
        )
    };
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("log", text(vec![format!("drive-{log}"); FRAMES])),
        ("time", Arc::new(TimestampNanosecondArray::from_iter_values(frames().map(time)))),
        ("frame", Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| *row as i64)))),
        ("speed", Arc::new(Float64Array::from_iter(rows.iter().map(|row| speed(*row))))),
        ("night", Arc::new(BooleanArray::from_iter(rows.iter().map(|row| Some(row % 5 == 0))))),
        ("weather", text(rows.iter().map(|row| weather(*row).to_owned()).collect())),
        ("front.png", pictures(0)),
        ("rear.png", pictures(1)),
        ("lidar.points", ragged(&points, 4)),
        ("lidar.boxes", ragged(&boxes, 7)),
        ("ego.pose", fixed("f64[4,4]", Arc::new(Float64Array::from_iter_values(frames().flat_map(pose))))),
        ("ego.speed", Arc::new(Float32Array::from_iter(rows.iter().map(|row| speed(*row).map(|speed| speed as f32))))),
        ("ego.yaw_rate", Arc::new(Float32Array::from_iter_values(frames().map(|frame| (frame as f32 / 5.0).cos() * 0.3)))),
        ("ego.gear", text(rows.iter().map(|row| ["D", "D", "N"][row % 3].to_owned()).collect())),
        ("model.features", fixed("f32[24,32]", Arc::new(Float32Array::from_iter_values(frames().flat_map(features))))),
        (
            "model.logits",
            fixed("f32[5]", Arc::new(Float32Array::from_iter_values((0..5 * FRAMES).map(|place| place as f32 / 10.0 - 4.0)))),
        ),
        ("notes.json", text(rows.iter().map(json).collect())),
        (
            "notes.raw",
            Arc::new(LargeBinaryArray::from_iter_values(rows.iter().map(|row| (0..100 + *row as u8 % 100).collect::<Vec<u8>>()))),
        ),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn fixed(ty: &str, values: ArrayRef) -> ArrayRef {
    let arrow_schema::DataType::FixedSizeList(item, size) = named(ty).arrow() else { panic!("{ty}") };
    Arc::new(arrow_array::FixedSizeListArray::new(item, size, values, None))
}

/// Returns tensors of shape `[?, wide]`.
fn ragged(values: &[Vec<f32>], wide: i32) -> ArrayRef {
    use arrow_array::{FixedSizeListArray, Int32Array, LargeListArray, StructArray};
    let ty = ColumnType::tensor(Primitive::F32, [None, Some(wide as u32)]).arrow();
    let arrow_schema::DataType::Struct(fields) = &ty else { panic!("{ty}") };
    let (arrow_schema::DataType::LargeList(item), arrow_schema::DataType::FixedSizeList(extent, two)) =
        (fields[0].data_type(), fields[1].data_type())
    else {
        panic!("{ty}")
    };
    let mut offsets = vec![0_i64];
    values.iter().for_each(|one| offsets.push(offsets[offsets.len() - 1] + one.len() as i64));
    let data = LargeListArray::new(
        Arc::clone(item),
        OffsetBuffer::new(offsets.into()),
        Arc::new(Float32Array::from_iter_values(values.iter().flatten().copied())),
        None,
    );
    let extents = Int32Array::from_iter_values(values.iter().flat_map(|one| [one.len() as i32 / wide, wide]));
    let shape = FixedSizeListArray::new(Arc::clone(extent), *two, Arc::new(extents), None);
    Arc::new(StructArray::new(fields.clone(), vec![Arc::new(data) as ArrayRef, Arc::new(shape)], None))
}

/// Returns a small picture of a road, as PNG, that shows where the car is.
fn picture(log: usize, frame: usize, camera: usize) -> Vec<u8> {
    let (wide, high) = (192_usize, 108_usize);
    let mut pixels = Vec::with_capacity(wide * high * 3);
    let sky = [[150, 190, 230], [120, 130, 150], [235, 190, 150]][log % 3];
    let shift = frame as f32 * 7.0 * if camera == 0 { 1.0 } else { -1.0 };
    for y in 0..high {
        for x in 0..wide {
            let (across, down) = (x as f32 * 4.0 / 3.0 - 128.0, y as f32 * 4.0 / 3.0 - 60.0);
            let colour = if down < 0.0 {
                let hill = 12.0 * ((x as f32 * 1.33 + shift * 0.4) / 31.0).sin()
                    + 6.0 * ((x as f32 * 1.33 + shift * 0.4) / 13.0).sin()
                    - 16.0;
                if down > hill { [96, 122, 96] } else { sky.map(|value: i32| value + (down / 3.0) as i32) }
            } else {
                let depth = 90.0 / (down + 4.0);
                let lane = across * depth / 9.0;
                let dash = (depth * 6.0 + shift / 4.0).rem_euclid(8.0) < 4.0;
                match lane.abs() {
                    near if near < 0.8 && dash => [235, 232, 214],
                    near if near < 22.0 => [78, 80, 84],
                    near if near < 24.0 => [225, 225, 220],
                    _ => [112, 140, 92],
                }
            };
            pixels.extend(colour.map(|value| value.clamp(0, 255) as u8));
        }
    }
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, wide as u32, high as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
    bytes
}

/// Returns points of a street with walls, and of the boxes on it.
fn sweep(log: usize, frame: usize) -> Vec<f32> {
    let mut points = Vec::new();
    for beam in 0..40 {
        for step in 0..150 {
            let angle = step as f32 / 150.0 * std::f32::consts::TAU;
            let slope = -0.4 + 0.62 * beam as f32 / 40.0;
            let wall = (9.0 + 2.0 * (angle * 3.0 + log as f32 + frame as f32 / 15.0).sin()) / angle.sin().abs().max(0.12);
            let ground = if slope < 0.0 { -1.8 / slope } else { f32::INFINITY };
            let range = wall.min(ground).min(60.0);
            points.extend([range * angle.cos(), range * angle.sin(), range * slope + 1.8, (step % 100) as f32]);
        }
    }
    points
}

fn boxes(log: usize, frame: usize) -> Vec<f32> {
    let car = |car: usize| {
        let along = (car as f32 * 13.0 + frame as f32 * (0.6 + car as f32 * 0.13)).rem_euclid(70.0) - 35.0;
        [along, [-3.2, 3.2, 6.0, -6.0][(car + log) % 4], 0.8, 4.4, 1.9, 1.6, 0.05 * car as f32]
    };
    (0..6).flat_map(car).collect()
}

/// Reads the rows of an answer.
pub(crate) fn rows(got: &Got) -> RecordBatch {
    assert_eq!(got.status, 200, "{}", got.text());
    arrow_ipc::reader::StreamReader::try_new(std::io::Cursor::new(&got.body), None).unwrap().next().unwrap().unwrap()
}
