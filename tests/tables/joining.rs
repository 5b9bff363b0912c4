//! Rows of files that join a table: text is read with the table's types, and columns and lists without values fit any type.

use std::{path::Path, sync::Arc};

use crate::common::tables::block_on;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, DurationMillisecondArray, Float32Array, Float64Array, Int64Array,
    LargeListArray, ListArray, NullArray, RecordBatch, StringArray, StructArray, Time32MillisecondArray,
    TimestampMicrosecondArray, UInt8Array, cast::AsArray, types::Float64Type,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field};
use tetrys::{
    ColumnType, ErrorKind, Result, Schema, Store, Table, WriteOptions,
    ingest::{
        IngestOptions, Target,
        export::{ExportFormat, ExportSettings, export},
        frame::{Frame, FrameFormat, FrameSettings, TextSettings, add_group, ingest, patch, replace_group},
    },
};

fn arrow_frame(folder: &Path, columns: Vec<(&str, ArrayRef)>) -> Frame {
    let columns = columns.into_iter().map(|(name, column)| (name, column, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let path = folder.join("rows.arrow");
    let mut writer = arrow_ipc::writer::FileWriter::try_new(std::fs::File::create(&path).unwrap(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    Frame::arrow(path).unwrap()
}

fn text(rows: &str, format: FrameFormat, table: &Table) -> Result<Frame> {
    let settings = TextSettings { table: Some(table.schema().clone()), ..TextSettings::default() };
    Frame::read(rows.as_bytes(), format, &settings)
}

fn taken(frame: &Frame, place: &Path, target: Target) -> Result<Table> {
    let index = (target == Target::New).then(|| vec!["id".to_owned()]);
    let options = IngestOptions { target, ..IngestOptions::default() };
    let settings = FrameSettings { options, index, ..FrameSettings::default() };
    block_on(ingest(frame, Store::open(place.to_str().unwrap())?, &settings, |_| {}))
}

/// Returns all rows with their original Arrow types.
fn rows(table: &Table) -> RecordBatch {
    let mut bytes = Vec::new();
    block_on(export(table, &mut bytes, ExportFormat::Arrow, &ExportSettings::default(), |_| {})).unwrap();
    let reader = arrow_ipc::reader::FileReader::try_new(std::io::Cursor::new(bytes), None).unwrap();
    let batches: Vec<RecordBatch> = reader.map(|batch| batch.unwrap()).collect();
    let names: Vec<String> = batches[0].schema().fields().iter().map(|field| field.name().clone()).collect();
    let whole = arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap();
    RecordBatch::try_from_iter(names.into_iter().map(|name| (name.clone(), whole.column_by_name(&name).unwrap().clone())))
        .unwrap()
}

/// Columns of every type that text has, with these rows.
fn typed(id: i64) -> Vec<(&'static str, ArrayRef)> {
    let zoned = TimestampMicrosecondArray::from(vec![Some(1_582_974_000_000_000), None]).with_timezone("Europe/Berlin");
    vec![
        ("id", Arc::new(Int64Array::from(vec![id, id + 1]))),
        ("f64", Arc::new(Float64Array::from(vec![Some(9.0), None]))),
        ("f32", Arc::new(Float32Array::from(vec![Some(0.1), None]))),
        ("u8", Arc::new(UInt8Array::from(vec![Some(200), None]))),
        ("bool", Arc::new(BooleanArray::from(vec![Some(true), None]))),
        ("text", Arc::new(StringArray::from(vec![Some("12"), None]))),
        ("date", Arc::new(Date32Array::from(vec![Some(18_321), None]))),
        ("naive", Arc::new(TimestampMicrosecondArray::from(vec![Some(1_582_974_000_500_000), None]))),
        ("zoned", Arc::new(zoned)),
        ("span", Arc::new(DurationMillisecondArray::from(vec![Some(1500), None]))),
        ("price", Arc::new(Decimal128Array::from(vec![Some(1250), None]).with_precision_and_scale(10, 2).unwrap())),
        ("clock", Arc::new(Time32MillisecondArray::from(vec![Some(43_200_250), None]))),
    ]
}

const CSV: &str = "id,f64,f32,u8,bool,text,date,naive,zoned,span,price,clock
7,9,0.1,200,true,12,2020-02-29,2020-02-29T11:00:00.5,2020-02-29T12:00:00+01:00,1500,12.5,12:00:00.25
8,,,,,,,,,,,
";

const NDJSON: &str = r#"{"id":7,"f64":9,"f32":0.1,"u8":200,"bool":true,"text":"12","date":"2020-02-29","naive":"2020-02-29T11:00:00.5","zoned":"2020-02-29T11:00:00Z","span":1500,"price":12.50,"clock":"12:00:00.25"}
{"id":8,"f64":null,"f32":null,"u8":null,"bool":null,"text":null,"date":null,"naive":null,"zoned":null,"span":null,"price":null,"clock":null}
"#;

#[test]
fn text_that_joins_a_table_has_its_types() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    taken(&arrow_frame(folder, typed(1)), &folder.join("arrow"), Target::New).unwrap();
    let expected = rows(&taken(&arrow_frame(folder, typed(7)), &folder.join("arrow"), Target::Append).unwrap());
    for (name, format, rows_of_it) in [("csv", FrameFormat::Csv, CSV), ("ndjson", FrameFormat::Ndjson, NDJSON)] {
        let table = taken(&arrow_frame(folder, typed(1)), &folder.join(name), Target::New).unwrap();
        let appended = taken(&text(rows_of_it, format, &table).unwrap(), &folder.join(name), Target::Append).unwrap();
        assert_eq!(rows(&appended), expected, "{name}");
        // Columns of nothing but nulls fit, too.
        let empty = rows_of_it.lines().filter(|line| !line.contains("12:00")).collect::<Vec<_>>().join("\n");
        let again = taken(&text(&empty, format, &table).unwrap(), &folder.join(name), Target::Append).unwrap();
        assert_eq!(again.rows(), 5, "{name}");
    }
}

#[test]
fn text_changes_groups_with_the_types_of_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let table = taken(&arrow_frame(folder, typed(1)), &folder.join("table"), Target::New).unwrap();
    let settings = FrameSettings::default();
    let f64_of = |table: &Table, name: &str| rows(table).column_by_name(name).unwrap().as_primitive::<Float64Type>().value(1);
    for (format, given) in [(FrameFormat::Csv, "id,f64\n2,9\n"), (FrameFormat::Ndjson, "{\"id\":2,\"f64\":9}\n")] {
        let patched = block_on(patch(&text(given, format, &table).unwrap(), &table, &["id"], &FrameSettings::default()));
        assert_eq!(f64_of(&patched.unwrap(), "f64"), 9.0);
        let table = block_on(Table::open(table.url())).unwrap();
        let replaced = given.replace('9', "4");
        let frame = text(&replaced.replace("f64", "extra"), format, &table).unwrap();
        let added = block_on(add_group(&frame, &table, &format!("extra {format:?}"), &["id"], &settings));
        // The second format finds the column of the first one there.
        match format {
            FrameFormat::Csv => assert!(added.unwrap().schema().column_named("extra").is_some()),
            _ => assert!(added.unwrap_err().to_string().contains("extra")),
        }
    }
    let table = block_on(Table::open(table.url())).unwrap();
    let group = table.schema().groups().iter().find(|group| group.columns.len() > 1).unwrap().name.clone();
    let csv = CSV.replace("\n7,", "\n1,").replace("\n8,", "\n2,");
    let replaced = block_on(replace_group(&text(&csv, FrameFormat::Csv, &table).unwrap(), &table, &group, &["id"], &settings));
    assert_eq!(rows(&replaced.unwrap()).column_by_name("f32"), rows(&table).column_by_name("f32"));
}

#[test]
fn nested_text_has_the_types_of_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let of = |text: &str| Frame::read(text.as_bytes(), FrameFormat::Ndjson, &TextSettings::default()).unwrap();
    let first = "{\"id\":0,\"ego\":{\"speed\":0.5},\"pose\":[0.5],\"agents\":[{\"x\":0.5,\"name\":\"a\"}],\"tags\":[\"a\"]}";
    let table = taken(&of(first), &folder.join("table"), Target::New).unwrap();
    let second = "{\"id\":1,\"ego\":{\"speed\":9},\"pose\":[1,2],\"agents\":[{\"x\":3,\"name\":null}],\"tags\":[]}\n\
                  {\"id\":2,\"ego.speed\":9,\"ego\":null,\"pose\":[],\"agents\":[],\"tags\":null}";
    let error = text(second, FrameFormat::Ndjson, &table).unwrap_err();
    assert!(error.to_string().contains("column `ego.speed` occurs twice"), "{error}");
    let second = second.replace("\"ego.speed\":9,", "");
    let appended = taken(&text(&second, FrameFormat::Ndjson, &table).unwrap(), &folder.join("table"), Target::Append).unwrap();
    let pose = rows(&appended).column_by_name("pose").unwrap().as_list::<i64>().value(1);
    assert_eq!(pose.as_primitive::<Float64Type>().values(), &[1.0, 2.0]);
    let error = text(&second.replace("[1,2]", "[1,\"b\"]"), FrameFormat::Ndjson, &table).unwrap_err();
    assert!(error.to_string().contains("line 1: `pose`: the table has f64"), "{error}");
}

#[test]
fn text_that_does_not_fit_the_table_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let table = taken(&arrow_frame(folder, typed(1)), &folder.join("table"), Target::New).unwrap();
    for (column, cell, has) in [
        ("f64", "x", "f64"),
        ("f64", "9007199254740993", "f64"),
        ("f64", "0.1234567890123456789", "f64"),
        ("f64", "1e400", "f64"),
        ("f32", "16777217", "f32"),
        ("f64", "007.5", "f64"),
        ("f64", "+1", "f64"),
        ("f32", "01", "f32"),
        ("u8", "256", "u8"),
        ("u8", "007", "u8"),
        ("u8", "1.5", "u8"),
        ("bool", "1", "bool"),
        ("naive", "2020-02-29T12:00:00Z", "timestamp[us]"),
        ("zoned", "2020-02-29T12:00:00", "timestamp[us,Europe/Berlin]"),
        ("date", "2020-02-30", "date"),
        ("span", "1.5", "duration[ms]"),
        ("span", "007", "duration[ms]"),
        ("price", "1.234", "Decimal128(10, 2)"),
        ("price", "123456789", "Decimal128(10, 2)"),
        ("price", "01.5", "Decimal128(10, 2)"),
        ("clock", "12:00:00.0005", "Time32(ms)"),
        ("clock", "120000", "Time32(ms)"),
    ] {
        let json = format!("{{\"id\":5,\"{column}\":null}}\n{{\"id\":6,\"{column}\":\"{cell}\"}}\n");
        let csv = format!("id,{column}\n5,\n6,{cell}\n");
        for (rows, format, line) in [(csv, FrameFormat::Csv, 3), (json, FrameFormat::Ndjson, 2)] {
            let error = text(&rows, format, &table).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            for says in [&format!("line {line}: "), column, &format!("the table has {has}"), cell] {
                assert!(error.to_string().contains(says), "{column}, {cell}, {says}: {error}");
            }
        }
    }
    let error = text("{\"id\":6,\"text\":5}\n", FrameFormat::Ndjson, &table).unwrap_err().to_string();
    assert!(error.contains("line 1: `text`: the table has utf8, found 5"), "{error}");
    // A declared type comes first.
    let types = [("f64".to_owned(), "i64".parse().unwrap())].into();
    let settings = TextSettings { types, table: Some(table.schema().clone()), ..TextSettings::default() };
    let frame = Frame::read("id,f64\n1,9\n".as_bytes(), FrameFormat::Csv, &settings).unwrap();
    assert_eq!(frame.column_types().nth(1).unwrap().1, Some(&"i64".parse::<ColumnType>().unwrap()));
}

#[test]
fn times_that_stay_text_because_of_their_zones_are_named_with_a_type() {
    let csv = "a,b,c,d,e\n2020-02-29T12:00:00+01:00,2020-02-29T12:00:00+01:00,2020-02-29T12:00:00Z,x,2020-02-29T12:00:00\n\
               2020-02-29 12:00:00.25+01:00,2020-02-29T12:00:00.123456-02:30,2020-02-29T12:00:00Z,2020-02-29T12:00:00+01:00,\n,,,,\n";
    let json = "{\"a\":\"2020-02-29T12:00:00+01:00\",\"b\":\"2020-02-29T12:00:00.123456Z\",\"c\":1}\n\
                {\"a\":null,\"b\":\"2020-02-29T12:00:00-02:30\",\"c\":2}\n";
    for (text, format) in [(csv, FrameFormat::Csv), (json, FrameFormat::Ndjson)] {
        let frame = Frame::read(text.as_bytes(), format, &TextSettings::default()).unwrap();
        let type_texts: Vec<String> = frame.times_as_text().map(|(name, ty)| format!("{name} {ty}")).collect();
        assert_eq!(type_texts, ["a timestamp[ms,+01:00]", "b timestamp[us,UTC]"], "{format:?}");
        // The offered types hold all values.
        let types = frame.times_as_text().map(|(name, ty)| (name.to_owned(), ty.clone())).collect();
        let typed = Frame::read(text.as_bytes(), format, &TextSettings { types, ..TextSettings::default() }).unwrap();
        assert_eq!((typed.times_as_text().count(), typed.rows()), (0, frame.rows()));
    }
}

/// Empty lists of two rows, of which the second is null, as other libraries write them.
fn empty_lists() -> Vec<ArrayRef> {
    let nulls = || Some(NullBuffer::from(vec![true, false]));
    let lists = |items: ArrayRef| {
        let field = Arc::new(Field::new("item", items.data_type().clone(), true));
        let large = LargeListArray::new(Arc::clone(&field), OffsetBuffer::from_lengths([0, 0]), Arc::clone(&items), nulls());
        let small = ListArray::new(field, OffsetBuffer::from_lengths([0, 0]), items, nulls());
        [Arc::new(large) as ArrayRef, Arc::new(small)]
    };
    let item = |ty: DataType| arrow_array::new_empty_array(&ty);
    [DataType::Null, DataType::Float32, DataType::Int64, DataType::List(Arc::new(Field::new("item", DataType::Null, true)))]
        .into_iter()
        .flat_map(|ty| lists(item(ty)))
        .collect()
}

#[test]
fn empty_lists_of_any_type_are_values_of_every_list_and_tensor() {
    for ty in
        ["f32[?,4]", "f32[?]", "f32[?,?]", "bool[?,2,2]", "bf16[?,3]", "list<utf8>", "list<f32[?,4]>", "list<timestamp[ms]>"]
    {
        for given in empty_lists() {
            let folder = tempfile::tempdir().unwrap();
            let schema = Schema::builder().index("id", "i64").group("a", [("a.x", ty)]).build().unwrap();
            let place = folder.path().to_str().unwrap();
            let store = Store::open(place).unwrap();
            let batch = |id: i64| {
                let id = Arc::new(Int64Array::from(vec![id, id + 1])) as ArrayRef;
                RecordBatch::try_from_iter([("id", id), ("a.x", given.clone())]).unwrap()
            };
            let table = block_on(async {
                let writer = Table::create_in(store, schema, WriteOptions::default()).await?;
                let mut partition = writer.partition()?;
                partition.write(&batch(0)).await?;
                let table = writer.commit([partition.finish().await?]).await?;
                let writer = table.append(WriteOptions::default()).await?;
                let mut partition = writer.partition()?;
                partition.write(&batch(2)).await?;
                let table = writer.commit([partition.finish().await?]).await?;
                table.patch(&["id"], &batch(2), WriteOptions::default()).await
            });
            let table = table.unwrap_or_else(|error| panic!("{ty}, {}: {error}", given.data_type()));
            let read = block_on(table.row_loader().columns(["a.x"]).unwrap().take(&[0, 1, 2, 3])).unwrap();
            let column = read.column("a.x").unwrap();
            assert_eq!((0..4).map(|row| column.is_null(row)).collect::<Vec<_>>(), [false, true, false, true], "{ty}");
            assert_eq!(column.data_type(), &ty.parse::<ColumnType>().unwrap().arrow());
        }
    }
}

#[test]
fn columns_of_nothing_but_nulls_join_columns_of_every_type() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let part = |values: ArrayRef| {
        let field = Arc::new(Field::new("x", values.data_type().clone(), true));
        Arc::new(StructArray::new(vec![field].into(), vec![values], None)) as ArrayRef
    };
    let with = |id: i64, nested: ArrayRef| {
        let mut columns = typed(id);
        columns.push(("part", part(nested)));
        columns
    };
    let floats = || Arc::new(Float32Array::from(vec![Some(0.5), None])) as ArrayRef;
    let table = taken(&arrow_frame(folder, with(1, floats())), &folder.join("table"), Target::New).unwrap();
    let nulls = || Arc::new(NullArray::new(2)) as ArrayRef;
    let empty = with(3, nulls()).into_iter().map(|(name, column)| match name {
        "id" | "part" => (name, column),
        _ => (name, nulls()),
    });
    let appended = taken(&arrow_frame(folder, empty.collect()), &folder.join("table"), Target::Append).unwrap();
    assert_eq!((appended.rows(), appended.schema()), (4, table.schema()));
    let frame = arrow_frame(folder, vec![("id", Arc::new(Int64Array::from(vec![1, 2]))), ("price", nulls())]);
    let patched = block_on(patch(&frame, &appended, &["id"], &FrameSettings::default())).unwrap();
    assert_eq!(rows(&patched).column_by_name("price").unwrap().null_count(), 4);
}
