//! Import of frames: Parquet and Arrow files of our own and of pyarrow, files that a frame names, and wrong input.

use crate::common;
use crate::common::plain;
use std::{
    collections::BTreeSet,
    fs::{self, File},
    path::Path,
    process::Command,
    sync::Arc,
};

use crate::common::tables::block_on;
use arrow_array::{
    Array, ArrayRef, BinaryArray, Decimal128Array, FixedSizeListArray, Float32Array, Int64Array, IntervalYearMonthArray,
    LargeBinaryArray, LargeStringArray, RecordBatch, StringArray, StringViewArray, StructArray, TimestampMicrosecondArray,
    builder::{Float32Builder, LargeListBuilder},
    cast::AsArray,
    types::Int64Type,
};
use arrow_schema::{DataType, Field};
use serde_json::json;
use tetrys::{
    ErrorKind, Result, Schema, Store, Table, WriteOptions,
    ingest::{
        IngestOptions, Target,
        export::{ExportFormat, ExportSettings, export},
        frame::{Frame, FrameFormat, FrameSettings, Missing, TextSettings, ingest, patch, replace_group},
    },
};

const ROWS: usize = 250;

/// Returns 250 rows of three logs: small columns, text views, lists, tensors, a struct of bytes and a path, and a column of an
/// unsupported type.
fn frame() -> RecordBatch {
    let mut ranges = LargeListBuilder::new(Float32Builder::new());
    for row in 0..ROWS {
        ranges.values().append_slice(&vec![row as f32; row % 4]);
        ranges.append(true);
    }
    let pose: Float32Array = (0..3 * ROWS).map(|number| number as f32).collect();
    let pose = FixedSizeListArray::new(Arc::new(Field::new("item", DataType::Float32, true)), 3, Arc::new(pose), None);
    let bytes = BinaryArray::from_iter_values((0..ROWS).map(|row| vec![row as u8; row]));
    let paths = StringArray::from_iter_values((0..ROWS).map(|row| format!("pictures/{row}.jpg")));
    let image = StructArray::try_from(vec![("bytes", Arc::new(bytes) as ArrayRef), ("path", Arc::new(paths))]).unwrap();
    let columns: [(&str, ArrayRef); 8] = [
        ("log", Arc::new(StringArray::from_iter_values((0..ROWS).map(|row| format!("log {}", row / 100))))),
        ("time", Arc::new(TimestampMicrosecondArray::from_iter_values((0..ROWS as i64).map(|row| row * 100)))),
        ("speed", Arc::new((0..ROWS).map(|row| (row % 7 > 0).then_some(row as f32 / 2.0)).collect::<Float32Array>())),
        ("note", Arc::new(StringViewArray::from_iter_values((0..ROWS).map(|row| format!("what was seen in row {row}"))))),
        ("ranges", Arc::new(ranges.finish())),
        ("pose", Arc::new(pose)),
        ("image", Arc::new(image)),
        ("price", Arc::new(IntervalYearMonthArray::from(vec![None; ROWS]))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
}

fn write_parquet(file: &Path, batch: &RecordBatch) {
    let properties = parquet::file::properties::WriterProperties::builder().set_max_row_group_row_count(Some(64)).build();
    let mut writer = parquet::arrow::ArrowWriter::try_new(File::create(file).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

fn write_arrow(file: &Path, batch: &RecordBatch) {
    let mut writer = arrow_ipc::writer::FileWriter::try_new(File::create(file).unwrap(), &batch.schema()).unwrap();
    for start in (0..batch.num_rows()).step_by(64) {
        writer.write(&batch.slice(start, 64.min(batch.num_rows() - start))).unwrap();
    }
    writer.finish().unwrap();
}

fn settings() -> FrameSettings {
    FrameSettings { drop: vec!["price".to_owned()], ..FrameSettings::default() }.sequence_by(["log"]).order_by(["time"])
}

fn taken(frame: &Frame, settings: &FrameSettings, folder: &Path) -> Result<Table> {
    block_on(ingest(frame, Store::open(&folder.display().to_string())?, settings, |_| {}))
}

fn error(frame: &Frame, settings: &FrameSettings) -> tetrys::Error {
    let folder = tempfile::tempdir().unwrap();
    let error = taken(frame, settings, folder.path()).unwrap_err();
    assert_eq!(block_on(Table::open(&folder.path().display().to_string())).unwrap_err().kind(), ErrorKind::NotFound);
    error
}

/// Returns the names of the chunks and index objects of a table. The names are hashes.
fn objects(table: &Table) -> BTreeSet<String> {
    let all = block_on(table.store().list("")).unwrap().into_iter().map(|(name, _)| name);
    all.filter(|name| name.starts_with("chunks/") || name.starts_with("index/")).collect()
}

#[test]
fn a_frame_becomes_the_same_table_from_either_file_and_with_any_number_of_workers() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_parquet(&folder.join("frame.parquet"), &frame());
    write_arrow(&folder.join("frame.arrow"), &frame());
    let (parquet, arrow) =
        (Frame::parquet(folder.join("frame.parquet")).unwrap(), Frame::arrow(folder.join("frame.arrow")).unwrap());
    assert_eq!((parquet.rows(), arrow.rows()), (250, 250));
    let by = |workers| {
        let options = IngestOptions { workers, partition_rows: 70, ..IngestOptions::default() };
        FrameSettings { options, ..settings() }
    };
    let one = taken(&parquet, &by(1), &folder.join("one")).unwrap();
    let two = taken(&arrow, &by(3), &folder.join("two")).unwrap();
    assert_eq!(objects(&one), objects(&two));
    assert_eq!((two.rows(), two.manifest().sequences()), (250, 3));

    let types: Vec<(String, String)> =
        two.schema().columns().iter().map(|column| (column.name.clone(), column.ty.to_string())).collect();
    let expected = [
        ("log", "utf8"),
        ("time", "timestamp[us]"),
        ("speed", "f32"),
        ("note", "utf8"),
        ("image.path", "utf8"),
        ("ranges", "f32[?]"),
        ("pose", "f32[3]"),
        ("image.bytes", "binary"),
    ];
    assert_eq!(types, expected.map(|(name, ty)| (name.to_owned(), ty.to_owned())));
    let loader = two.row_loader();
    for row in [0, 63, 64, 99, 100, 249] {
        let read = block_on(loader.get_row(row)).unwrap();
        assert_eq!(read.bytes("image.bytes").unwrap(), vec![row as u8; row as usize]);
        assert_eq!(read.tensor::<f32>("ranges").unwrap().values(), vec![row as f32; row as usize % 4]);
        assert_eq!(read.tensor::<f32>("pose").unwrap().values(), [0.0, 1.0, 2.0].map(|place| 3.0 * row as f32 + place));
    }
}

#[test]
fn columns_go_where_they_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("frame.parquet");
    write_parquet(&file, &frame());
    let frame = Frame::parquet(&file).unwrap();
    let settings = settings().index(["speed"]).group("seen", ["note", "image.*"]).group("again", ["note"]);
    let schema = settings.schema(&frame).unwrap();
    assert_eq!(schema.index().map(|column| column.name.as_str()).collect::<Vec<_>>(), ["log", "time", "speed"]);
    let groups: Vec<(&str, Vec<&str>)> = schema
        .groups()
        .iter()
        .map(|group| (group.name.as_str(), group.columns.iter().map(|id| schema.column(*id).unwrap().name.as_str()).collect()))
        .collect();
    let expected: [(&str, &[&str]); 4] =
        [("seen", &["note", "image.bytes", "image.path"]), ("again", &["note"]), ("ranges", &["ranges"]), ("pose", &["pose"])];
    assert_eq!(groups, expected.map(|(name, columns)| (name, columns.to_vec())));
    // Small columns that no setting names share a group.
    let schema =
        FrameSettings { drop: vec!["price".to_owned()], ..FrameSettings::default() }.index(["log"]).schema(&frame).unwrap();
    assert_eq!((schema.groups()[0].name.as_str(), schema.groups()[0].columns.len()), ("rest", 4));
    // No column is dropped silently.
    let error = FrameSettings::default().schema(&frame).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(
        error.to_string(),
        "no column type for the frame's `price` (Interval(YearMonth)); leave them out with drop, or all such columns with skip_unsupported"
    );
}

/// Writes a frame of paths, and the files that the frame names.
fn pictures(folder: &Path) -> Frame {
    fs::create_dir(folder.join("pictures")).unwrap();
    for row in 0..ROWS {
        fs::write(folder.join(format!("pictures/{row}.jpg")), vec![row as u8; 3 * row]).unwrap();
    }
    let file = folder.join("frame.parquet");
    write_parquet(&file, &frame());
    Frame::parquet(&file).unwrap()
}

#[test]
fn files_that_a_frame_names_become_a_column() {
    let folder = tempfile::tempdir().unwrap();
    let frame = pictures(folder.path());
    let settings = FrameSettings { drop: vec!["price".to_owned(), "image.bytes".to_owned()], ..settings() };
    let table = taken(&frame, &settings.clone().blob("camera.jpeg", "image.path"), &folder.path().join("table")).unwrap();
    let row = block_on(table.row_loader().get_row(249)).unwrap();
    assert_eq!(row.bytes("camera.jpeg").unwrap(), vec![249; 747]);
    assert_eq!(table.schema().column_named("camera.jpeg").unwrap().properties["paths"], "image.path");
    assert!(table.schema().index().any(|column| column.name == "image.path"));
    // The content of the files can replace the column of paths.
    let schema = settings.blob("image.path", "image.path").schema(&frame).unwrap();
    assert_eq!(schema.column_named("image.path").unwrap().ty.to_string(), "binary");
}

#[test]
fn a_file_that_is_not_there_is_named_with_its_row_or_is_null() {
    let folder = tempfile::tempdir().unwrap();
    let frame = pictures(folder.path());
    fs::remove_file(folder.path().join("pictures/130.jpg")).unwrap();
    let settings = settings().blob("camera.jpeg", "image.path");
    let message = error(&frame, &settings);
    assert_eq!(message.kind(), ErrorKind::NotFound);
    assert!(message.to_string().starts_with("row 130: blob `camera.jpeg`, file pictures/130.jpg: not in "), "{message}");
    let table = taken(&frame, &FrameSettings { missing: Missing::Null, ..settings }, &folder.path().join("table")).unwrap();
    let rows = block_on(table.row_loader().take(&[129, 130])).unwrap();
    let pictures = rows.column("camera.jpeg").unwrap();
    assert!(pictures.is_valid(0) && pictures.is_null(1));
}

#[test]
fn no_file_outside_the_root_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::create_dir_all(folder.join("data/inside")).unwrap();
    fs::write(folder.join("secret"), "secret").unwrap();
    fs::write(folder.join("data/known"), "known").unwrap();
    let of = |path: &str| {
        let batch = RecordBatch::try_from_iter([
            ("id", Arc::new(Int64Array::from(vec![7])) as ArrayRef),
            ("path", Arc::new(StringArray::from(vec![path])) as ArrayRef),
        ]);
        write_arrow(&folder.join("data/frame.arrow"), &batch.unwrap());
        Frame::arrow(folder.join("data/frame.arrow")).unwrap()
    };
    let settings = FrameSettings::default().blob("file", "path");
    for path in ["../secret", "inside/../../secret", &folder.join("secret").display().to_string()] {
        let message = error(&of(path), &settings);
        assert_eq!(message.kind(), ErrorKind::Denied, "{message}");
    }
    for (number, path) in ["known", "./inside/../known", &folder.join("data/known").display().to_string()].iter().enumerate() {
        let table = taken(&of(path), &settings, &folder.join(format!("table {number}"))).unwrap();
        assert_eq!(block_on(table.row_loader().get_row(0)).unwrap().bytes("file").unwrap(), b"known");
    }
    let settings = FrameSettings { root: Some(folder.to_owned()), ..settings };
    taken(&of("secret"), &settings, &folder.join("table")).unwrap();
}

#[test]
fn bad_settings_and_bad_frames_say_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("frame.parquet");
    write_parquet(&file, &frame());
    let frame = Frame::parquet(&file).unwrap();
    for (settings, kind, says) in [
        (settings().index(["sped"]), ErrorKind::NotFound, "index: no column matches `sped`; nearest: `speed`"),
        (settings().group("g", ["imag.*"]), ErrorKind::NotFound, "group `g`: no column matches `imag.*`; nearest: `image.*`"),
        (settings().blob("b", "path"), ErrorKind::NotFound, "blob: no column matches `path`; nearest: `image.path`"),
        (
            settings().blob("b", "speed"),
            ErrorKind::Invalid,
            "blob `b`: expected the name of a column of paths, found `speed` of type Float32",
        ),
        (settings().blob("pose", "note"), ErrorKind::Invalid, "blob `pose`: the frame has a column of that name"),
        (settings().index(["pose"]), ErrorKind::Invalid, "index column `pose`: type f32[3] cannot be indexed"),
        (
            settings().group("g", ["log"]),
            ErrorKind::Invalid,
            "column group `g`: column `log` appears twice or belongs to the index",
        ),
        (settings().sequence_by(["note"]).order_by(["speed"]).index(["*.x"]), ErrorKind::NotFound, "no column matches `*.x`"),
        (FrameSettings { drop: vec!["*".to_owned()], ..FrameSettings::default() }, ErrorKind::Invalid, "no index column"),
    ] {
        let message = error(&frame, &settings);
        assert!(message.kind() == kind && message.to_string().contains(says), "{:?} {message}", message.kind());
    }
    // The error is found before any payload is read.
    let message = error(&frame, &settings().sequence_by(["speed"]).order_by(["log"]));
    assert!(message.kind() == ErrorKind::Invalid && message.to_string().contains("appears again after another one"), "{message}");
    let twice = [("a", Arc::new(Int64Array::from(vec![1])) as ArrayRef), ("a", Arc::new(Int64Array::from(vec![1])))];
    write_arrow(&folder.path().join("twice.arrow"), &RecordBatch::try_from_iter(twice).unwrap());
    let message = Frame::arrow(folder.path().join("twice.arrow")).unwrap_err();
    assert!(message.to_string().ends_with("twice.arrow: column `a` occurs twice"), "{message}");
    assert_eq!(Frame::parquet(folder.path().join("nothing")).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(Frame::arrow(folder.path().join("nothing")).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(Frame::arrow(&file).unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(Frame::parquet(folder.path().join("twice.arrow")).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn text_that_a_declared_type_would_cut_is_an_error_that_names_it() {
    let read = |text: String, format, ty: &str| {
        let types = [("a".to_owned(), ty.parse().unwrap())].into();
        Frame::read(text.as_bytes(), format, &TextSettings { types, ..TextSettings::default() })
    };
    let csv = |ty: &str, cell: &str| read(format!("a,b\n,1\n{cell},2\n"), FrameFormat::Csv, ty);
    let json = |ty: &str, value: &str| read(format!("{{\"a\":null}}\n{{\"a\":{value}}}\n"), FrameFormat::Ndjson, ty);
    type Taking<'a> = &'a dyn Fn(&str, &str) -> Result<Frame>;
    for (ty, cut, fits) in [
        ("timestamp[s]", "2020-02-29T12:00:00.5", "2020-02-29T12:00:00.000"),
        ("timestamp[ms]", "2020-02-29 12:00:00.0005", "2020-02-29"),
        ("timestamp[us]", "2020-02-29T12:00:00+02:00", "2020-02-29T12:00:00.123456"),
        ("timestamp[us]", "2020-02-29T12:00:00Z", "2020-02-29 12:00:00"),
        ("timestamp[us,UTC]", "2020-02-29T12:00:00", "2020-02-29T12:00:00+02:00"),
        ("date", "2020-02-29T12:00:00", "2020-02-29"),
    ] {
        for (name, taken, line) in [("csv", &csv as Taking, "line 3"), ("json", &json as Taking, "line 2")] {
            let quoted = |text: &str| if name == "csv" { text.to_owned() } else { format!("\"{text}\"") };
            let error = taken(ty, &quoted(cut)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            for says in [line, "`a`", &format!("declared as {ty}"), cut] {
                assert!(error.to_string().contains(says), "{name}, {ty}, {cut}: {error}");
            }
            assert_eq!(taken(ty, &quoted(fits)).unwrap_or_else(|error| panic!("{name}, {ty}: {error}")).rows(), 2);
        }
    }
    for (ty, cut) in [
        ("i32", "1.9"),
        ("i32", "3000000000"),
        ("u8", "-1"),
        ("u64", "18446744073709551617"),
        ("i64", "9007199254740993.0"),
        ("duration[s]", "1.5"),
        ("i32", "[1]"),
    ] {
        let error = json(ty, cut).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{ty}, {cut}: {error}");
        if ty != "duration[s]" && ty != "u64" && cut != "[1]" {
            assert!(csv(ty, cut).is_err(), "{ty}, {cut}");
        }
    }
    assert_eq!(json("i32", "2.0").unwrap().rows(), 2);
    assert_eq!(json("f32", "0.1234567890123456789").unwrap().rows(), 2);
}

#[test]
fn values_of_another_arrow_type_do_not_join_those_of_a_column() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let made = |scale: i8, first: i64| {
        let price = Decimal128Array::from(vec![12345; 3]).with_data_type(DataType::Decimal128(10, scale));
        let columns = [("id", Arc::new((first..first + 3).collect::<Int64Array>()) as ArrayRef), ("price", Arc::new(price))];
        write_arrow(&folder.join("frame"), &RecordBatch::try_from_iter(columns).unwrap());
        Frame::arrow(folder.join("frame")).unwrap()
    };
    let grouped = || FrameSettings::default().index(["id"]).group("price", ["price"]);
    let table = taken(&made(2, 0), &grouped(), &folder.join("table")).unwrap();
    let options = IngestOptions { target: Target::Append, ..IngestOptions::default() };
    let append = FrameSettings { options, ..FrameSettings::default() };
    let more = |frame: &Frame| taken(frame, &append, &folder.join("table"));
    let other = made(4, 3);
    let mut errors = vec![more(&other).unwrap_err()];
    let other = made(4, 0);
    errors.push(block_on(patch(&other, &table, &["id"], &FrameSettings::default())).unwrap_err());
    errors.push(block_on(replace_group(&other, &table, "price", &["id"], &FrameSettings::default())).unwrap_err());
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        for says in ["`price`", "Decimal128(10, 4)", "Decimal128(10, 2)"] {
            assert!(error.to_string().contains(says), "{error}");
        }
    }
    assert_eq!(more(&made(2, 3)).unwrap().rows(), 6);
}

#[test]
fn an_export_gives_back_properties_and_a_flat_one_whatever_the_values_became() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let exported = |table: &Table, flat| {
        let mut bytes = Vec::new();
        let settings = ExportSettings { flat, ..ExportSettings::default() };
        block_on(export(table, &mut bytes, ExportFormat::Parquet, &settings, |_| {})).map(|_| bytes)
    };
    let schema = Schema::builder().index("id", "i64").group("rest", [("price", "utf8")]);
    let messages = [
        ("id", "tetrys.nullable", json!(false)),
        ("id", "range", json!([0, 1.5, null])),
        ("id", "code", json!("007")),
        ("id", "text", json!("3")),
        ("price", "arrow", json!("decimal128")),
        ("price", "precision", json!(10)),
        ("price", "scale", json!(2)),
    ];
    let schema = messages.into_iter().fold(schema, |schema, (column, key, value)| schema.property(column, key, value));
    let made = |name: &str, price: &str| {
        let store = Store::open(&folder.join(name).display().to_string()).unwrap();
        let columns =
            [("id", Arc::new(Int64Array::from(vec![7])) as ArrayRef), ("price", Arc::new(LargeStringArray::from(vec![price])))];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        block_on(async {
            let writer = Table::create_in(store, schema.clone().build()?, WriteOptions::default()).await?;
            let mut partition = writer.partition_at(0)?;
            partition.write(&batch).await?;
            writer.commit([partition.finish().await?]).await
        })
        .unwrap()
    };
    let table = made("table", "1.50");
    for flat in [false, true] {
        fs::write(folder.join("file"), exported(&table, flat).unwrap()).unwrap();
        let again = taken(
            &Frame::parquet(folder.join("file")).unwrap(),
            &FrameSettings::default().index(["id"]),
            &folder.join(flat.to_string()),
        );
        let again = again.unwrap();
        for column in table.schema().columns() {
            let other = again.schema().column_named(&column.name).unwrap();
            assert_eq!((&other.properties, other.is_nullable()), (&column.properties, column.is_nullable()), "flat {flat}");
        }
    }
    let broken = made("broken", "1.5000");
    let error = exported(&broken, false).unwrap_err().to_string();
    assert!(error.contains("`1.5000`") && error.contains("flat"), "{error}");
    exported(&broken, true).unwrap();
}

#[test]
fn a_root_that_is_not_there_is_an_error_and_not_missing_files() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_parquet(&folder.join("frame"), &frame());
    let frame = Frame::parquet(folder.join("frame")).unwrap();
    let wrong = FrameSettings { missing: Missing::Null, root: Some(folder.join("picturs")), ..settings() };
    let message = error(&frame, &wrong.clone().blob("jpeg", "image.path"));
    assert!(message.kind() == ErrorKind::NotFound && message.to_string().contains("picturs: no such folder"), "{message}");
    // Without files, the missing folder is not an error.
    taken(&frame, &wrong, &folder.join("table")).unwrap();
}

#[test]
fn a_damaged_frame_is_an_error_and_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let small = frame().slice(0, 20);
    write_parquet(&folder.path().join("frame.parquet"), &small);
    write_arrow(&folder.path().join("frame.arrow"), &small);
    let mut random = common::tables::Rng(common::seed());
    for name in ["frame.parquet", "frame.arrow"] {
        let sound = fs::read(folder.path().join(name)).unwrap();
        for case in 0..60 {
            let mut bytes = sound.clone();
            let place = random.below(bytes.len() as u64) as usize;
            match case % 3 {
                0 => bytes.truncate(place),
                _ => bytes[place] ^= 1 << random.below(8),
            }
            let file = folder.path().join("damaged");
            fs::write(&file, bytes).unwrap();
            let opened = if name.ends_with("arrow") { Frame::arrow(&file) } else { Frame::parquet(&file) };
            let Ok(frame) = opened else { continue };
            // Such files have no checksums, so a changed value may go unnoticed.
            let into = folder.path().join(format!("{name} {case}"));
            if let Err(error) = taken(&frame, &settings(), &into) {
                assert_ne!(error.kind(), ErrorKind::Internal, "{name}, byte {place}: {error}");
            }
        }
    }
}

#[test]
fn frames_of_no_rows_and_rows_of_megabytes() {
    let folder = tempfile::tempdir().unwrap();
    write_arrow(&folder.path().join("none.arrow"), &frame().slice(0, 0));
    write_parquet(&folder.path().join("none.parquet"), &frame().slice(0, 0));
    for (name, opened) in
        [("a", Frame::arrow(folder.path().join("none.arrow"))), ("p", Frame::parquet(folder.path().join("none.parquet")))]
    {
        assert_eq!(taken(&opened.unwrap(), &settings(), &folder.path().join(name)).unwrap().rows(), 0);
    }
    let bytes = LargeBinaryArray::from_iter_values((0..12).map(|row| vec![row; 3 << 20]));
    let id = Int64Array::from_iter_values(0..12);
    let batch = RecordBatch::try_from_iter([("id", Arc::new(id) as ArrayRef), ("bytes", Arc::new(bytes))]).unwrap();
    write_arrow(&folder.path().join("wide.arrow"), &batch);
    let frame = Frame::arrow(folder.path().join("wide.arrow")).unwrap();
    let table = taken(&frame, &FrameSettings::default(), &folder.path().join("wide")).unwrap();
    let row = block_on(table.row_loader().get_row(11)).unwrap();
    assert!(row.bytes("bytes").unwrap() == vec![11; 3 << 20]);
}

#[test]
fn what_pyarrow_writes_becomes_one_table_whatever_the_file_and_its_compression() {
    let Some(python) = plain::python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let script = common::root().join("tests/frames/write.py");
    let output = Command::new(python).arg(script).arg(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut seen: Option<BTreeSet<String>> = None;
    for name in ["none", "snappy", "gzip", "zstd", "lz4", "uncompressed.arrow", "lz4.arrow", "zstd.arrow"] {
        let frame = match name.strip_suffix(".arrow") {
            Some(name) => Frame::arrow(folder.join(format!("frame-{name}.arrow"))),
            None => Frame::parquet(folder.join(format!("frame-{name}.parquet"))),
        };
        let table = taken(&frame.unwrap(), &settings(), &folder.join(name)).unwrap();
        let objects = objects(&table);
        assert_eq!(*seen.get_or_insert(objects.clone()), objects, "{name}");
    }
    let table = block_on(Table::open(&folder.join("snappy").display().to_string())).unwrap();
    let ty = |name: &str| table.schema().column_named(name).unwrap().ty.to_string();
    assert_eq!(
        ["log", "time", "note", "ranges", "points", "pose", "tags", "image.bytes"].map(ty),
        ["categorical", "timestamp[us,Europe/Berlin]", "utf8", "f32[?]", "i32[?,2]", "f64[3]", "list<utf8>", "binary"]
    );
    assert_eq!(table.schema().column_named("speed").unwrap().properties["unit"], "m/s");
    let rows = block_on(table.row_loader().take(&[5, 299])).unwrap();
    let bytes = rows.column("image.bytes").unwrap();
    assert!(bytes.is_null(0) && bytes.as_binary::<i64>().value(1) == [43; 299]);
    assert_eq!(rows.tensor::<i32>("points", 1).unwrap().values(), [299, 0, 299, 1]);
    let tags = rows.column("tags").unwrap().as_list::<i64>().value(1);
    assert_eq!(tags.as_string::<i64>().iter().flatten().collect::<Vec<_>>(), ["a", "bc"]);
    let index = block_on(table.index_batches()).unwrap().next().unwrap().unwrap();
    assert_eq!(index.column_by_name("note").unwrap().null_count(), 200);
    assert!(index.column_by_name("log").unwrap().as_primitive_opt::<Int64Type>().is_none());
}
