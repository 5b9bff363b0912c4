//! Values of rows as Rust types and as frames, compared with the Arrow columns of the same rows.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, DurationSecondArray, Float32Array, Int64Array, LargeStringArray, RecordBatch,
    TimestampMicrosecondArray, TimestampSecondArray, cast::AsArray,
};
use tetrys::{Edge, ErrorKind, Schema, Table, WriteOptions, ndarray::Axis};

use crate::common::{
    self,
    tables::{block_on, cut_by, joined, memory, tiny_cuts, two_partitions, write},
};

fn table() -> (Table, RecordBatch) {
    let (schema, partitions) = two_partitions(common::seed());
    let table = block_on(write(memory().1, schema, cut_by(tiny_cuts()), &partitions)).unwrap();
    (table, joined(&partitions))
}

#[test]
fn arrays_have_the_elements_of_the_tensors_and_zeros_where_there_are_none() {
    let (table, written) = table();
    block_on(async {
        let loader = table.row_loader();
        let all: Vec<u64> = (0..table.rows()).collect();
        let rows = loader.take(&all).await.unwrap();
        let (poses, counts) = (rows.array::<f64>("camera.pose").unwrap(), rows.array::<u32>("labels.count").unwrap());
        assert_eq!((poses.shape(), counts.shape()), (&[all.len(), 3, 3][..], &[all.len()][..]));
        for row in 0..all.len() {
            let pose = poses.index_axis(Axis(0), row);
            match rows.tensor::<f64>("camera.pose", row) {
                Ok(tensor) => assert_eq!(pose.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), bits(tensor.values())),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::NotFound);
                    assert!(pose.iter().all(|x| *x == 0.0), "row {row}");
                }
            }
            assert_eq!(counts[row], rows.tensor::<u32>("labels.count", row).map_or(0, |count| count.values()[0]));
        }
        let windows = loader.get_windows(&[0, 7, 19], -2..=1).await.unwrap();
        let poses = windows.array::<f64>("camera.pose").unwrap();
        assert_eq!(poses.shape(), [3, 4, 3, 3]);
        for (number, row) in [0_u64, 7, 19].into_iter().enumerate() {
            let alone = loader.get_rows(row, -2..=1).await.unwrap();
            let (alone, of_all) = (alone.array::<f64>("camera.pose").unwrap(), poses.index_axis(Axis(0), number));
            assert_eq!(bits(alone.as_slice().unwrap()), bits(of_all.as_slice().unwrap()));
        }
        // Windows of several lengths have no one shape.
        let short = loader.clone().edge(Edge::Skip).get_windows(&[0, 3], -2..=1).await.unwrap();
        let error = short.array::<f64>("camera.pose").unwrap_err();
        assert!(error.to_string().contains("found 2 and 4 rows"), "{error}");
        for (name, error) in [
            ("lidar.points", rows.array::<f32>("lidar.points").unwrap_err()),
            ("labels.note", rows.array::<u8>("labels.note").unwrap_err()),
            ("camera.pose", rows.array::<f32>("camera.pose").unwrap_err()),
        ] {
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            assert!(error.to_string().starts_with(&format!("column `{name}` is ")), "{error}");
        }
        assert_eq!(rows.array::<f32>("nothing").unwrap_err().kind(), ErrorKind::NotFound);
        assert!(loader.take(&[]).await.unwrap().array::<f64>("camera.pose").unwrap().is_empty());
        drop(written);
    });
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn scalars_and_texts_of_a_row_are_those_that_were_written() {
    let (table, written) = table();
    block_on(async {
        let loader = table.row_loader();
        let names = written.column_by_name("labels.names").unwrap().as_list::<i64>().clone();
        let counts = written.column_by_name("labels.count").unwrap().clone();
        for place in 0..table.rows() {
            let row = loader.get_row(place).await.unwrap();
            let at = place as usize;
            match names.is_null(at) {
                true => assert_eq!(row.texts("labels.names").unwrap_err().kind(), ErrorKind::NotFound),
                false => {
                    let texts = names.value(at);
                    let texts: Vec<Option<&str>> = texts.as_string::<i64>().iter().collect();
                    assert_eq!(row.texts("labels.names").unwrap(), texts);
                }
            }
            let count = counts.as_primitive::<arrow_array::types::UInt32Type>();
            match count.is_null(at) {
                true => assert_eq!(row.scalar::<u32>("labels.count").unwrap_err().kind(), ErrorKind::NotFound),
                false => assert_eq!(row.scalar::<u32>("labels.count").unwrap(), count.value(at)),
            }
            for wrong in [row.scalar::<f32>("labels.count").unwrap_err(), row.bool("labels.count").unwrap_err()] {
                assert!(matches!(wrong.kind(), ErrorKind::Invalid | ErrorKind::NotFound), "{wrong}");
            }
        }
    });
}

/// Times before and after 1970 in every unit, and nulls; in the index and in a group.
#[test]
fn times_of_a_row_are_nanoseconds_and_index_columns_are_read_by_a_pattern() {
    let ticks = [Some(-7), None, Some(0), Some(8_999_999_999)];
    let units = [("s", 1_000_000_000_i128), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
    let values: ArrayRef = Arc::new(Int64Array::from(ticks.to_vec()));
    let days: ArrayRef = Arc::new(Date32Array::from(vec![Some(-1), None, Some(20_000), Some(0)]));
    let mut schema = Schema::builder().index("id", "i64").index("day", "date");
    let mut columns: Vec<(String, ArrayRef)> =
        vec![("id".to_owned(), Arc::new(Int64Array::from(vec![0, 1, 2, 3]))), ("day".to_owned(), Arc::clone(&days))];
    let mut of_group = Vec::new();
    for (unit, _) in units {
        schema = schema.index(format!("at_{unit}"), format!("timestamp[{unit}]"));
        for kind in ["timestamp", "duration"] {
            let ty: tetrys::ColumnType = format!("{kind}[{unit}]").parse().unwrap();
            let array = arrow_array::make_array(values.to_data().into_builder().data_type(ty.arrow()).build().unwrap());
            if kind == "timestamp" {
                columns.push((format!("at_{unit}"), Arc::clone(&array)));
            }
            of_group.push((format!("times.{kind}_{unit}"), ty));
            columns.push((format!("times.{kind}_{unit}"), array));
        }
    }
    of_group.push(("times.day".to_owned(), "date".parse().unwrap()));
    columns.push(("times.day".to_owned(), days));
    let schema = schema.group("times", of_group).build().unwrap();
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    block_on(async {
        let table = write(memory().1, schema, WriteOptions::default(), &[batch]).await.unwrap();
        let loader = table.row_loader().columns(["index:*", "times.*"]).unwrap();
        assert_eq!(loader.column_names().take(6).collect::<Vec<_>>(), ["id", "day", "at_s", "at_ms", "at_us", "at_ns"]);
        assert_eq!(loader.column_names().len(), 6 + 9);
        for (place, ticks) in ticks.into_iter().enumerate() {
            let row = loader.get_row(place as u64).await.unwrap();
            for (unit, each) in units {
                let index = row.timestamp(&format!("at_{unit}"));
                let [time, span] = ["timestamp", "duration"].map(|kind| format!("times.{kind}_{unit}"));
                let found = [index, row.timestamp(&time), row.duration(&span)];
                for found in found.map(|found| found.map_err(|error| error.kind())) {
                    assert_eq!(
                        found,
                        ticks.map(|ticks| i128::from(ticks) * each).ok_or(ErrorKind::NotFound),
                        "row {place}, {unit}"
                    );
                }
                if ticks.is_some() {
                    for wrong in
                        [row.timestamp(&span).unwrap_err(), row.duration(&time).unwrap_err(), row.date(&time).unwrap_err()]
                    {
                        assert_eq!(wrong.kind(), ErrorKind::Invalid, "{wrong}");
                        assert!(wrong.to_string().contains(", expected a "), "{wrong}");
                    }
                }
            }
            let expected = [Ok(-1), Err(ErrorKind::NotFound), Ok(20_000), Ok(0)][place];
            for day in ["day", "times.day"] {
                assert_eq!(row.date(day).map_err(|error| error.kind()), expected, "row {place}");
            }
        }
        let one = table.row_loader().columns(["index:at_?s"]).unwrap();
        assert_eq!(one.column_names().collect::<Vec<_>>(), ["at_ms", "at_us", "at_ns"]);
        let none = table.row_loader().columns(["index:times.*"]).unwrap_err();
        assert_eq!(none.kind(), ErrorKind::NotFound, "{none}");
        assert_eq!(table.row_loader().columns(["*"]).unwrap().column_names().len(), 9, "no index column");
    });
}

#[test]
fn times_and_days_that_are_not_there_are_refused_by_name_and_the_extreme_ones_are_right() {
    let ends = || [i64::MIN, i64::MAX].map(Some).to_vec();
    let schema = Schema::builder().index("id", "i64").group(
        "t",
        [("t.s", "timestamp[s]"), ("t.span", "duration[s]"), ("t.day", "date"), ("t.text", "utf8"), ("t.list", "list<utf8>")],
    );
    let schema = schema.build().unwrap();
    let list = arrow_array::new_null_array(&schema.column_named("t.list").unwrap().ty.arrow(), 2);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from(vec![0, 1]))),
        ("t.s", Arc::new(TimestampSecondArray::from(ends()))),
        ("t.span", Arc::new(DurationSecondArray::from(ends()))),
        ("t.day", Arc::new(Date32Array::from(vec![i32::MIN, i32::MAX]))),
        ("t.text", Arc::new(LargeStringArray::from(vec!["1970-01-01", ""]))),
        ("t.list", list),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true))).unwrap();
    block_on(async {
        let table = write(memory().1, schema, WriteOptions::default(), &[batch]).await.unwrap();
        let loader = table.row_loader().columns(["index:*", "t.*"]).unwrap();
        for (place, (ticks, day)) in [(i64::MIN, i32::MIN), (i64::MAX, i32::MAX)].into_iter().enumerate() {
            let row = loader.get_row(place as u64).await.unwrap();
            let expected = i128::from(ticks) * 1_000_000_000;
            assert_eq!((row.timestamp("t.s").unwrap(), row.duration("t.span").unwrap()), (expected, expected));
            assert_eq!(row.date("t.day").unwrap(), day);
            for name in ["id", "t.text", "t.day", "t.span"] {
                let error = row.timestamp(name).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
                assert!(error.to_string().starts_with(&format!("column `{name}` is ")), "{error}");
            }
            for name in ["id", "t.text", "t.day", "t.s"] {
                assert_eq!(row.duration(name).unwrap_err().kind(), ErrorKind::Invalid, "{name}");
            }
            for name in ["id", "t.text", "t.span", "t.s"] {
                let error = row.date(name).unwrap_err();
                assert!(error.kind() == ErrorKind::Invalid && error.to_string().ends_with(", expected a date"), "{error}");
            }
            // A null list, a column that nobody has, and no name at all.
            for name in ["t.list", "t.S", ""] {
                for error in [row.timestamp(name).unwrap_err(), row.duration(name).unwrap_err(), row.date(name).unwrap_err()] {
                    assert!(error.kind() == ErrorKind::NotFound && error.to_string().contains(name), "{error}");
                }
            }
        }
        // A column that was not read.
        let row = table.row_loader().columns(["t.s"]).unwrap().get_row(0).await.unwrap();
        assert!(row.timestamp("t.s").is_ok());
        assert_eq!(row.date("t.day").unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(loader.get_row(2).await.unwrap_err().kind(), ErrorKind::Invalid);
    });
}

#[cfg(feature = "frame")]
#[test]
fn a_frame_is_written_and_read_back_as_the_same_frame() {
    let columns: Vec<(&str, &str, ArrayRef)> = vec![
        ("id", "i64", Arc::new(Int64Array::from(vec![3, 1, 2, 0]))),
        ("a.flag", "bool", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false), Some(true)]))),
        ("a.x", "f32", Arc::new(Float32Array::from(vec![Some(1.5), Some(f32::NAN), None, Some(-0.0)]))),
        ("a.day", "date", Arc::new(Date32Array::from(vec![Some(-1), None, Some(20_000), Some(0)]))),
        ("b.at", "timestamp[us]", Arc::new(TimestampMicrosecondArray::from(vec![Some(5), None, Some(-7), Some(0)]))),
        ("b.note", "utf8", Arc::new(LargeStringArray::from(vec![Some("rain"), None, Some(""), Some("ü")]))),
    ];
    let batch = RecordBatch::try_from_iter(columns.iter().map(|(name, _, array)| (*name, Arc::clone(array)))).unwrap();
    let of =
        |group: &str| columns.iter().filter(|(name, ..)| name.starts_with(group)).map(|(name, ty, _)| (*name, *ty)).collect();
    let (a, b): (Vec<_>, Vec<_>) = (of("a."), of("b."));
    let schema = Schema::builder().index("id", "i64").group("a", a).group("b", b).build().unwrap();
    let (sensors, _) = table();
    block_on(async {
        let by_batch = write(memory().1, schema.clone(), WriteOptions::default(), &[batch]).await.unwrap();
        let everything = |table: &Table| table.row_loader().columns(["id", "a.*", "b.*"]).unwrap();
        let all = [0, 1, 2, 3];
        let frame = everything(&by_batch).take(&all).await.unwrap().to_frame().unwrap();
        assert_eq!((frame.height(), frame.width()), (4, 6));
        let writer = Table::create_in(memory().1, schema, WriteOptions::default()).await.unwrap();
        let mut partition = writer.partition().unwrap();
        partition.write_frame(&frame).await.unwrap();
        let by_frame = writer.commit([partition.finish().await.unwrap()]).await.unwrap();
        let read = everything(&by_frame).take(&all).await.unwrap();
        assert_eq!(read.batch(), everything(&by_batch).take(&all).await.unwrap().batch());
        assert!(read.to_frame().unwrap().equals_missing(&frame));
        // Rows that do not exist are null.
        let window = everything(&by_frame).get_rows(0, -1..=0).await.unwrap().to_frame().unwrap();
        assert_eq!(window.column("b.note").unwrap().null_count(), 1);
        // Columns that no frame holds are named.
        let error = sensors.row_loader().take(&[0]).await.unwrap().to_frame().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains("column `camera.jpeg` is binary"), "{error}");
    });
}

#[cfg(feature = "frame")]
#[test]
fn frames_that_do_not_fit_the_schema_are_refused_and_write_nothing() {
    use tetrys::polars::prelude::{Column, DataFrame, NamedFrom, Series};
    let schema = Schema::builder().index("id", "i64").group("a", [("a.x", "f32")]).build().unwrap();
    let (id, x) = (Column::new("id".into(), [1_i64, 2]), Column::new("a.x".into(), [0.5_f32, 1.5]));
    let frame = |columns: Vec<Column>| DataFrame::new(columns.first().map_or(0, Column::len), columns).unwrap();
    let list = Series::new("a.x".into(), [Series::new("".into(), [1_i64]), Series::new("".into(), [2_i64])]);
    for (what, wrong) in [
        ("no columns", frame(vec![])),
        ("no rows and no columns of the group", frame(vec![id.clone().slice(0, 0)])),
        ("a column is missing", frame(vec![id.clone()])),
        ("a column too many", frame(vec![id.clone(), x.clone(), Column::new("more".into(), [1_i64, 2])])),
        ("another type", frame(vec![id.clone(), Column::new("a.x".into(), ["a", "b"])])),
        ("a list", frame(vec![id.clone(), list.into()])),
    ] {
        block_on(async {
            let writer = Table::create_in(memory().1, schema.clone(), WriteOptions::default()).await.unwrap();
            let mut partition = writer.partition().unwrap();
            let error = partition.write_frame(&wrong).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{what}: {error}");
            drop(partition);
            // The partition is written again, and has only the rows that fit.
            let mut partition = writer.partition_at(0).unwrap();
            partition.write_frame(&frame(vec![id.clone(), x.clone()])).await.unwrap();
            let table = writer.commit([partition.finish().await.unwrap()]).await.unwrap();
            assert_eq!(table.rows(), 2, "{what}");
        });
    }
}
