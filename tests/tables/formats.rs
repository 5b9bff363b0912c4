//! Frames survive import and export unchanged: random types and values, through every file format. Text files give back the
//! column types, broken files are errors, and files named by a frame are read only below its root.

use crate::common;
use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::Path,
    sync::Arc,
};

use crate::common::tables::block_on;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Decimal128Array, Int64Array, LargeListArray, ListArray, MapArray, RecordBatch,
    RecordBatchReader, StringArray, StructArray, TimestampSecondArray, UInt64Array,
    cast::AsArray,
    make_array, new_null_array,
    types::{Date64Type, Int32Type, Time32SecondType, Time64MicrosecondType, TimestampMillisecondType, TimestampSecondType},
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, i256};
use arrow_data::ArrayData;
use arrow_ipc::{
    reader::{FileReader, StreamReader},
    writer::{FileWriter, StreamWriter},
};
use arrow_schema::{DataType, Field, FieldRef, Fields, TimeUnit};
use arrow_select::take::take;
use fastrand::Rng;
use tetrys::{
    ErrorKind, Merge, Store, Table,
    ingest::{
        IngestOptions, Target,
        export::{ExportFormat, ExportSettings, export},
        frame::{Frame, FrameFormat, FrameSettings, Missing, TextSettings, ingest},
    },
};

const FORMATS: [ExportFormat; 3] = [ExportFormat::Parquet, ExportFormat::Arrow, ExportFormat::ArrowStream];

fn leaf(random: &mut Rng) -> DataType {
    let precision = |random: &mut Rng, most| random.u8(1..=most);
    match random.u8(0..33) {
        0 => DataType::Null,
        1 => DataType::Boolean,
        2 => DataType::Int8,
        3 => DataType::Int16,
        4 => DataType::Int32,
        5 => DataType::Int64,
        6 => DataType::UInt8,
        7 => DataType::UInt16,
        8 => DataType::UInt32,
        9 => DataType::UInt64,
        10 => DataType::Float16,
        11 => DataType::Float32,
        12 => DataType::Float64,
        13 => DataType::Utf8,
        14 => DataType::LargeUtf8,
        15 => DataType::Binary,
        16 => DataType::LargeBinary,
        17 => DataType::FixedSizeBinary(random.i32(1..9)),
        18 => DataType::Date32,
        19 => DataType::Date64,
        20 => DataType::Time32(TimeUnit::Second),
        21 => DataType::Time32(TimeUnit::Millisecond),
        22 => DataType::Time64(TimeUnit::Microsecond),
        23 => DataType::Time64(TimeUnit::Nanosecond),
        24 => DataType::Timestamp(TimeUnit::Microsecond, None),
        25 => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
        26 => DataType::Duration(TimeUnit::Millisecond),
        32 => DataType::Timestamp(TimeUnit::Second, random.bool().then(|| "Europe/Berlin".into())),
        27 => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        28 => {
            let precision = precision(random, 9);
            DataType::Decimal32(precision, random.i8(0..=precision.cast_signed()))
        }
        29 => {
            let precision = precision(random, 18);
            DataType::Decimal64(precision, random.i8(0..=precision.cast_signed()))
        }
        30 => {
            let precision = precision(random, 38);
            DataType::Decimal128(precision, random.i8(0..=precision.cast_signed()))
        }
        _ => {
            let precision = precision(random, 76);
            DataType::Decimal256(precision, random.i8(0..=precision.cast_signed()))
        }
    }
}

fn fields(random: &mut Rng, depth: usize) -> Vec<FieldRef> {
    let names = ["x", "a b", "key", "é", "value"];
    let count = random.usize(1..=names.len());
    names.iter().take(count).map(|name| Arc::new(Field::new(*name, any(random, depth), true))).collect()
}

/// Returns a random type of at most this nesting depth.
fn any(random: &mut Rng, depth: usize) -> DataType {
    let list = |random: &mut Rng, item| match random.bool() {
        true => DataType::List(Arc::new(Field::new("item", item, true))),
        false => DataType::LargeList(Arc::new(Field::new("element", item, true))),
    };
    match random.u8(0..10) {
        0 | 1 if depth > 0 => DataType::Struct(fields(random, depth - 1).into()),
        2 | 3 if depth > 0 => {
            let item = DataType::Struct(fields(random, depth - 1).into());
            list(random, item)
        }
        4 if depth > 0 => {
            let value = any(random, depth - 1);
            let entries = vec![Field::new("keys", DataType::Utf8, false), Field::new("values", value, true)];
            DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entries.into()), false)), false)
        }
        5 => {
            let item = leaf(random);
            list(random, item)
        }
        6 => {
            let item = leaf(random);
            let inner = list(random, item);
            list(random, inner)
        }
        // The elements of a tensor can be null, but its inner arrays cannot. So no tensor is used inside a struct, which may be
        // null.
        7 if depth == 2 => {
            let item = DataType::FixedSizeList(Arc::new(Field::new("item", DataType::Float32, true)), random.i32(1..4));
            if random.bool() { item } else { list(random, item) }
        }
        _ => leaf(random),
    }
}

fn nulls(random: &mut Rng, rows: usize) -> Option<NullBuffer> {
    random.bool().then(|| NullBuffer::from_iter((0..rows).map(|_| random.u8(0..4) > 0)))
}

fn lengths(random: &mut Rng, nulls: Option<&NullBuffer>, rows: usize) -> Vec<usize> {
    (0..rows).map(|row| if nulls.is_none_or(|nulls| nulls.is_valid(row)) { random.usize(0..4) } else { 0 }).collect()
}

fn array(random: &mut Rng, ty: &DataType, rows: usize) -> ArrayRef {
    let fixed = |random: &mut Rng, width: usize| {
        let bytes: Vec<u8> = (0..width * rows).map(|_| random.u8(..)).collect();
        let nulls = nulls(random, rows).map(|nulls| nulls.into_inner().into_inner());
        let data = ArrayData::builder(ty.clone()).len(rows).add_buffer(Buffer::from(bytes)).null_bit_buffer(nulls);
        make_array(data.align_buffers(true).build().unwrap())
    };
    let text = |random: &mut Rng| -> String { (0..random.usize(0..6)).map(|_| random.char('a'..='ü')).collect() };
    // A random number with at most as many decimal digits as the precision allows.
    let number = |random: &mut Rng, precision: u8| -> i256 {
        let digits: String = (0..random.u8(1..=precision)).map(|_| random.digit(10)).collect();
        i256::from_string(&format!("{}{digits}", if random.bool() { "-" } else { "" })).unwrap()
    };
    match ty {
        DataType::Null => new_null_array(ty, rows),
        DataType::Boolean => {
            Arc::new((0..rows).map(|_| [None, Some(true), Some(false)][random.usize(0..3)]).collect::<BooleanArray>())
        }
        DataType::Int8 | DataType::UInt8 => fixed(random, 1),
        DataType::Int16 | DataType::UInt16 | DataType::Float16 => fixed(random, 2),
        DataType::Int32 | DataType::UInt32 | DataType::Float32 | DataType::Date32 | DataType::Time32(_) => fixed(random, 4),
        DataType::FixedSizeBinary(size) => fixed(random, *size as usize),
        DataType::Utf8 => Arc::new((0..rows).map(|_| random.bool().then(|| text(random))).collect::<StringArray>()),
        DataType::LargeUtf8 => {
            Arc::new((0..rows).map(|_| random.bool().then(|| text(random))).collect::<arrow_array::LargeStringArray>())
        }
        DataType::Binary => {
            Arc::new((0..rows).map(|_| random.bool().then(|| text(random))).collect::<arrow_array::BinaryArray>())
        }
        DataType::LargeBinary => {
            Arc::new((0..rows).map(|_| random.bool().then(|| text(random))).collect::<arrow_array::LargeBinaryArray>())
        }
        DataType::Dictionary(..) => {
            let values = ["left", "right", "straight"];
            Arc::new(
                (0..rows).map(|_| values.get(random.usize(0..4)).copied()).collect::<arrow_array::DictionaryArray<Int32Type>>(),
            )
        }
        DataType::Decimal32(precision, _) => {
            let values = (0..rows).map(|_| random.bool().then(|| number(random, *precision).to_i128().unwrap() as i32));
            Arc::new(values.collect::<arrow_array::Decimal32Array>().with_data_type(ty.clone()))
        }
        DataType::Decimal64(precision, _) => {
            let values = (0..rows).map(|_| random.bool().then(|| number(random, *precision).to_i128().unwrap() as i64));
            Arc::new(values.collect::<arrow_array::Decimal64Array>().with_data_type(ty.clone()))
        }
        DataType::Decimal128(precision, _) => {
            let values = (0..rows).map(|_| random.bool().then(|| number(random, *precision).to_i128().unwrap()));
            Arc::new(values.collect::<Decimal128Array>().with_data_type(ty.clone()))
        }
        DataType::Decimal256(precision, _) => {
            let values = (0..rows).map(|_| random.bool().then(|| number(random, *precision)));
            Arc::new(values.collect::<arrow_array::Decimal256Array>().with_data_type(ty.clone()))
        }
        DataType::Struct(fields) => {
            let arrays = fields.iter().map(|field| array(random, field.data_type(), rows)).collect();
            Arc::new(StructArray::new(fields.clone(), arrays, nulls(random, rows)))
        }
        DataType::List(item) => {
            let nulls = nulls(random, rows);
            let lengths = lengths(random, nulls.as_ref(), rows);
            let items = array(random, item.data_type(), lengths.iter().sum());
            Arc::new(ListArray::new(Arc::clone(item), OffsetBuffer::from_lengths(lengths), items, nulls))
        }
        DataType::LargeList(item) => {
            let nulls = nulls(random, rows);
            let lengths = lengths(random, nulls.as_ref(), rows);
            let items = array(random, item.data_type(), lengths.iter().sum());
            Arc::new(LargeListArray::new(Arc::clone(item), OffsetBuffer::from_lengths(lengths), items, nulls))
        }
        DataType::FixedSizeList(item, size) => {
            let items = array(random, item.data_type(), rows * *size as usize);
            Arc::new(arrow_array::FixedSizeListArray::new(Arc::clone(item), *size, items, None))
        }
        DataType::Map(entries, _) => {
            let nulls = nulls(random, rows);
            let lengths = lengths(random, nulls.as_ref(), rows);
            let total: usize = lengths.iter().sum();
            let DataType::Struct(parts) = entries.data_type() else { unreachable!() };
            let keys = Arc::new(StringArray::from_iter_values((0..total).map(|number| format!("key {number}"))));
            let values = array(random, parts[1].data_type(), total);
            let pairs = StructArray::new(parts.clone(), vec![keys, values], None);
            Arc::new(MapArray::new(Arc::clone(entries), OffsetBuffer::from_lengths(lengths), pairs, nulls, false))
        }
        DataType::Timestamp(TimeUnit::Second, zone) => {
            // Milliseconds of these times fit 64 bits.
            let most = i64::MAX / 1000;
            let times = (0..rows).map(|_| random.bool().then(|| random.i64(-most..=most)));
            Arc::new(times.collect::<TimestampSecondArray>().with_timezone_opt(zone.clone()))
        }
        _ => fixed(random, 8),
    }
}

/// Returns a value as text, equal for all Arrow forms of the value, and for the times that Parquet has in other units.
fn text_of(array: &ArrayRef, row: usize) -> String {
    if array.is_null(row) || matches!(array.data_type(), DataType::Null) {
        return "null".to_owned();
    }
    let items =
        |items: ArrayRef| format!("[{}]", (0..items.len()).map(|place| text_of(&items, place)).collect::<Vec<_>>().join(","));
    match array.data_type() {
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            text_of(&take(dictionary.values(), dictionary.keys(), None).unwrap(), row)
        }
        DataType::Utf8 => format!("{:?}", array.as_string::<i32>().value(row).as_bytes()),
        DataType::LargeUtf8 => format!("{:?}", array.as_string::<i64>().value(row).as_bytes()),
        DataType::Binary => format!("{:?}", array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => format!("{:?}", array.as_binary::<i64>().value(row)),
        DataType::FixedSizeBinary(_) => format!("{:?}", array.as_fixed_size_binary().value(row)),
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::List(_) => items(array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => items(array.as_list::<i64>().value(row)),
        DataType::FixedSizeList(..) => items(array.as_fixed_size_list().value(row)),
        DataType::Map(..) => items(Arc::new(array.as_map().value(row))),
        DataType::Struct(_) => {
            let parts: Vec<String> = array.as_struct().columns().iter().map(|part| text_of(part, row)).collect();
            format!("{{{}}}", parts.join(","))
        }
        DataType::Date64 => format!("{} ms", array.as_primitive::<Date64Type>().value(row)),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            format!("{} ms", array.as_primitive::<TimestampMillisecondType>().value(row))
        }
        DataType::Timestamp(TimeUnit::Second, _) => {
            format!("{} ms", array.as_primitive::<TimestampSecondType>().value(row) * 1000)
        }
        DataType::Time32(TimeUnit::Second) => {
            format!("{} us", i64::from(array.as_primitive::<Time32SecondType>().value(row)) * 1_000_000)
        }
        DataType::Time64(TimeUnit::Microsecond) => format!("{} us", array.as_primitive::<Time64MicrosecondType>().value(row)),
        _ => {
            let one = take(array, &UInt64Array::from(vec![row as u64]), None).unwrap().to_data();
            let width = one.buffers()[0].len();
            format!("{:?}", &one.buffers()[0].as_slice()[..width.min(32)])
        }
    }
}

/// Returns the type that an export gives for a type: wide offsets, no dictionary, the field names that Arrow recommends, and in Parquet
/// times that Parquet has.
fn given_in(format: ExportFormat, ty: &DataType) -> DataType {
    let widened = |ty: &DataType| given_in(format, ty);
    let item = |field: &Field| Arc::new(Field::new("item", widened(field.data_type()), true));
    if format == ExportFormat::Parquet {
        match ty {
            DataType::Timestamp(TimeUnit::Second, zone) => return DataType::Timestamp(TimeUnit::Millisecond, zone.clone()),
            DataType::Date64 => return DataType::Timestamp(TimeUnit::Millisecond, None),
            DataType::Time32(TimeUnit::Second) => return DataType::Time64(TimeUnit::Microsecond),
            _ => {}
        }
    }
    match ty {
        DataType::Utf8 => DataType::LargeUtf8,
        DataType::Binary => DataType::LargeBinary,
        DataType::Dictionary(_, values) => widened(values),
        DataType::List(field) | DataType::LargeList(field) => DataType::LargeList(item(field)),
        DataType::FixedSizeList(field, size) => DataType::FixedSizeList(item(field), *size),
        DataType::Struct(fields) => {
            DataType::Struct(fields.iter().map(|field| Field::new(field.name(), widened(field.data_type()), true)).collect())
        }
        DataType::Map(entries, _) => {
            let DataType::Struct(parts) = entries.data_type() else { unreachable!() };
            let parts = [("key", &parts[0], false), ("value", &parts[1], true)];
            let parts = parts.map(|(name, part, nullable)| Field::new(name, widened(part.data_type()), nullable));
            DataType::Map(Arc::new(Field::new("entries", DataType::Struct(parts.to_vec().into()), false)), false)
        }
        other => other.clone(),
    }
}

fn write(file: &Path, batch: &RecordBatch, format: ExportFormat) {
    let out = File::create(file).unwrap();
    match format {
        ExportFormat::Parquet => {
            let mut writer = parquet::arrow::ArrowWriter::try_new(out, batch.schema(), None).unwrap();
            writer.write(batch).unwrap();
            writer.close().unwrap();
        }
        ExportFormat::Arrow => {
            let mut writer = FileWriter::try_new(out, &batch.schema()).unwrap();
            writer.write(batch).unwrap();
            writer.finish().unwrap();
        }
        ExportFormat::ArrowStream => {
            let mut writer = StreamWriter::try_new(out, &batch.schema()).unwrap();
            for start in (0..batch.num_rows()).step_by(7) {
                writer.write(&batch.slice(start, 7.min(batch.num_rows() - start))).unwrap();
            }
            writer.finish().unwrap();
        }
    }
}

fn read(bytes: Vec<u8>, format: ExportFormat) -> RecordBatch {
    let (schema, batches): (_, Vec<RecordBatch>) = match format {
        ExportFormat::Parquet => {
            let bytes = bytes::Bytes::from(bytes);
            let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap().build().unwrap();
            (reader.schema(), reader.map(Result::unwrap).collect())
        }
        ExportFormat::Arrow => {
            let reader = FileReader::try_new(std::io::Cursor::new(bytes), None).unwrap();
            (reader.schema(), reader.map(Result::unwrap).collect())
        }
        ExportFormat::ArrowStream => {
            let reader = StreamReader::try_new(std::io::Cursor::new(bytes), None).unwrap();
            (reader.schema(), reader.map(Result::unwrap).collect())
        }
    };
    arrow_select::concat::concat_batches(&schema, &batches).unwrap()
}

fn taken(frame: &Frame, settings: &FrameSettings, folder: &Path) -> tetrys::Result<Table> {
    block_on(ingest(frame, Store::open(&folder.display().to_string())?, settings, |_| {}))
}

fn exported(table: &Table, format: ExportFormat, settings: &ExportSettings) -> RecordBatch {
    let mut out = Vec::new();
    block_on(export(table, &mut out, format, settings, |_| {})).unwrap();
    read(out, format)
}

fn opened(file: &Path, format: ExportFormat) -> Frame {
    match format {
        ExportFormat::Parquet => Frame::parquet(file).unwrap(),
        _ => Frame::arrow(file).unwrap(),
    }
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> &'a ArrayRef {
    batch.column_by_name(name).unwrap_or_else(|| panic!("no {name} in {}", batch.schema()))
}

#[test]
fn any_frame_comes_back_from_its_export() {
    let mut random = Rng::with_seed(common::seed());
    for round in 0..common::cases(24) {
        let folder = tempfile::tempdir().unwrap();
        let rows = random.usize(0..40);
        let mut given: Vec<(String, ArrayRef)> = vec![("id".to_owned(), Arc::new((0..rows as i64).collect::<Int64Array>()))];
        for number in 0..random.usize(1..6) {
            let ty = any(&mut random, 2);
            given.push((format!("c{number}"), array(&mut random, &ty, rows)));
        }
        let batch =
            RecordBatch::try_from_iter_with_nullable(given.iter().map(|(name, array)| (name, Arc::clone(array), true))).unwrap();
        let (from, to) = (FORMATS[random.usize(0..3)], FORMATS[random.usize(0..3)]);
        let place = format!("round {round}, {from:?} to {to:?}, {}", batch.schema());
        let file = folder.path().join("frame");
        write(&file, &batch, from);
        let table = taken(&opened(&file, from), &FrameSettings::default(), &folder.path().join("table"))
            .unwrap_or_else(|error| panic!("{place}: {error}"));
        let back = exported(&table, to, &ExportSettings::default());
        assert_eq!((back.num_rows(), back.num_columns()), (rows, given.len()), "{place}");
        for (name, array) in &given {
            let back = column(&back, name);
            // The comparison ignores the metadata of the fields.
            assert_eq!(given_in(to, back.data_type()), given_in(to, array.data_type()), "{place}: {name}");
            for row in 0..rows {
                assert_eq!(text_of(back, row), text_of(array, row), "{place}: {name} row {row}");
            }
        }
        // An export can be imported again and gives the same columns.
        write(&folder.path().join("again"), &back, ExportFormat::Arrow);
        let mut bytes = Vec::new();
        block_on(export(&table, &mut bytes, to, &ExportSettings::default(), |_| {})).unwrap();
        fs::write(folder.path().join("again"), bytes).unwrap();
        let again = taken(&opened(&folder.path().join("again"), to), &FrameSettings::default(), &folder.path().join("second"));
        let again = again.unwrap_or_else(|error| panic!("{place}: again: {error}"));
        let columns = |table: &Table| -> BTreeMap<String, (String, BTreeMap<String, serde_json::Value>)> {
            let columns = table.schema().columns().iter();
            columns.map(|column| (column.name.clone(), (column.ty.to_string(), column.properties.clone()))).collect()
        };
        assert_eq!(columns(&again), columns(&table), "{place}");
    }
}

#[test]
fn a_struct_of_nulls_is_not_a_null_struct() {
    let numbers = |values: [Option<i32>; 3]| Arc::new(arrow_array::Int32Array::from(values.to_vec())) as ArrayRef;
    let fields = Fields::from(vec![Field::new("x", DataType::Int32, true), Field::new("y", DataType::Int32, true)]);
    for valid in [vec![true, true, true], vec![true, false, true]] {
        // The first row has a struct of nulls; the second has one too, or none.
        let parts = vec![numbers([None, None, Some(7)]), numbers([None, None, None])];
        let given = Arc::new(StructArray::new(fields.clone(), parts, Some(valid.clone().into()))) as ArrayRef;
        let ids = Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef;
        let batch = RecordBatch::try_from_iter_with_nullable([("id", ids, false), ("c", Arc::clone(&given), true)]).unwrap();
        for format in FORMATS {
            let folder = tempfile::tempdir().unwrap();
            write(&folder.path().join("frame"), &batch, format);
            let frame = opened(&folder.path().join("frame"), format);
            let table = taken(&frame, &FrameSettings::default(), &folder.path().join("table")).unwrap();
            let back = exported(&table, format, &ExportSettings::default());
            let nulls: Vec<bool> = (0..3).map(|row| column(&back, "c").is_valid(row)).collect();
            assert_eq!(nulls, valid, "{format:?}");
            for row in 0..3 {
                assert_eq!(text_of(column(&back, "c"), row), text_of(&given, row), "{format:?}: row {row}");
            }
        }
    }
}

#[test]
fn other_readers_of_an_exported_parquet_file_see_dates_and_times() {
    let folder = tempfile::tempdir().unwrap();
    let item = |ty: DataType| Arc::new(Field::new("item", ty, true));
    let seconds = TimestampSecondArray::from(vec![Some(1), None, Some(-86_400)]);
    let of_day = Arc::new(arrow_array::Time32SecondArray::from(vec![Some(86_399), None, Some(0)])) as ArrayRef;
    let days = Arc::new(arrow_array::Date64Array::from(vec![Some(86_400_000), None, Some(1)])) as ArrayRef;
    let listed = |items: ArrayRef| -> ArrayRef {
        let item = item(items.data_type().clone());
        Arc::new(LargeListArray::new(item, OffsetBuffer::from_lengths([2, 0, 1]), items, None))
    };
    let given = [
        ("plain", Arc::new(seconds.clone()) as ArrayRef, "Timestamp(ms)"),
        ("zoned", Arc::new(seconds.with_timezone("UTC")), "Timestamp(ms, \"UTC\")"),
        ("time", Arc::clone(&of_day), "Time64(µs)"),
        ("day", Arc::clone(&days), "Timestamp(ms)"),
        ("times", listed(of_day), "Time64(µs)"),
        ("days", listed(days), "Timestamp(ms)"),
    ];
    let batch = RecordBatch::try_from_iter(given.iter().map(|(name, array, _)| (*name, Arc::clone(array)))).unwrap();
    write(&folder.path().join("in"), &batch, ExportFormat::Arrow);
    let frame = Frame::arrow(folder.path().join("in")).unwrap();
    let table = taken(&frame, &FrameSettings::default(), &folder.path().join("table")).unwrap();
    let mut out = Vec::new();
    block_on(export(&table, &mut out, ExportFormat::Parquet, &ExportSettings::default(), |_| {})).unwrap();
    // The types of the file alone, without the Arrow schema that the writer adds.
    let options = parquet::arrow::arrow_reader::ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let bytes = bytes::Bytes::from(out);
    let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new_with_options(bytes, options).unwrap();
    let back = reader.build().unwrap().next().unwrap().unwrap();
    for (name, array, ty) in given {
        let found = column(&back, name);
        let inner = match found.data_type() {
            DataType::List(item) | DataType::LargeList(item) => item.data_type(),
            other => other,
        };
        assert_eq!(inner.to_string(), ty, "{name}");
        for row in 0..3 {
            assert_eq!(text_of(found, row), text_of(&array, row), "{name} row {row}");
        }
    }
    let far = TimestampSecondArray::from(vec![i64::MAX / 1000 + 1]);
    write(
        &folder.path().join("far"),
        &RecordBatch::try_from_iter([("far", Arc::new(far) as ArrayRef)]).unwrap(),
        ExportFormat::Arrow,
    );
    let frame = Frame::arrow(folder.path().join("far")).unwrap();
    let table = taken(&frame, &FrameSettings::default(), &folder.path().join("far table")).unwrap();
    let error = block_on(export(&table, Vec::new(), ExportFormat::Parquet, &ExportSettings::default(), |_| {})).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("column `far`: Parquet has milliseconds, and 9223372036854776 s do not fit"), "{error}");
}

/// Writes a table of 300 rows in two sequences, and a second table with labels of some of the rows.
fn two_tables(folder: &Path) -> (Table, Table) {
    let ids = Arc::new((0..300).collect::<Int64Array>()) as ArrayRef;
    let logs = Arc::new(StringArray::from_iter_values((0..300).map(|row| format!("log {}", row / 150)))) as ArrayRef;
    let prices = Arc::new(
        (0..300).map(|row| Some(i128::from(row) * 101)).collect::<Decimal128Array>().with_data_type(DataType::Decimal128(9, 2)),
    );
    let ranges = array(&mut Rng::with_seed(1), &DataType::List(Arc::new(Field::new("item", DataType::Float32, true))), 300);
    let batch =
        RecordBatch::try_from_iter([("id", ids), ("log", logs), ("price", prices as ArrayRef), ("ranges", ranges)]).unwrap();
    write(&folder.join("left.parquet"), &batch, ExportFormat::Parquet);
    let settings = FrameSettings::default().sequence_by(["log"]).order_by(["id"]).group("price", ["price"]);
    let left = taken(&Frame::parquet(folder.join("left.parquet")).unwrap(), &settings, &folder.join("left")).unwrap();
    let ids = Arc::new((0..300).step_by(3).collect::<Int64Array>()) as ArrayRef;
    let labels = array(
        &mut Rng::with_seed(2),
        &DataType::Map(
            Arc::new(Field::new(
                "entries",
                DataType::Struct(vec![Field::new("k", DataType::Utf8, false), Field::new("v", DataType::Int32, true)].into()),
                false,
            )),
            false,
        ),
        100,
    );
    let batch = RecordBatch::try_from_iter([("id", ids), ("labels", labels)]).unwrap();
    write(&folder.join("right.arrow"), &batch, ExportFormat::Arrow);
    let settings = FrameSettings::default().order_by(["id"]);
    let right = taken(&Frame::arrow(folder.join("right.arrow")).unwrap(), &settings, &folder.join("right")).unwrap();
    (left, right)
}

#[test]
fn views_and_chosen_rows_and_columns_are_exported_with_the_types_of_their_tables() {
    let folder = tempfile::tempdir().unwrap();
    let (left, right) = two_tables(folder.path());
    let url = folder.path().join("view").display().to_string();
    let view = block_on(async {
        let merged = left.index().await?.merge(&right.index().await?, &Merge::on(["id"]).left())?;
        merged.save(&url).await?;
        Table::open(&url).await
    })
    .unwrap();
    let right_rows = exported(&right, ExportFormat::Arrow, &ExportSettings::default());
    for format in FORMATS {
        let rows = exported(&view, format, &ExportSettings::default());
        let of_left = exported(&left, format, &ExportSettings::default());
        assert_eq!(column(&rows, "price").data_type(), &DataType::Decimal128(9, 2));
        for row in 0..300 {
            assert_eq!(text_of(column(&rows, "ranges"), row), text_of(column(&of_left, "ranges"), row));
            let label = if row % 3 == 0 { text_of(column(&right_rows, "labels"), row / 3) } else { "null".to_owned() };
            assert_eq!(text_of(column(&rows, "labels"), row), label, "{format:?} {row}");
        }
    }
    let some = ExportSettings { columns: vec!["id".into(), "lab*".into()], rows: Some(vec![299, 3, 4]), flat: true };
    let rows = exported(&view, ExportFormat::Parquet, &some);
    let names: Vec<String> = rows.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!((names, rows.num_rows()), (vec!["id".to_owned(), "labels.key".into(), "labels.value".into()], 3));
    let ids: Vec<i64> = column(&rows, "id").as_primitive::<arrow_array::types::Int64Type>().values().to_vec();
    assert_eq!(ids, [3, 4, 299]);
    let mut out = Vec::new();
    for (settings, says) in [
        (ExportSettings { rows: Some(vec![300]), ..ExportSettings::default() }, "row 300 of 300"),
        (ExportSettings { columns: vec!["labelz".into()], ..ExportSettings::default() }, "nearest"),
    ] {
        let error = block_on(export(&view, &mut out, ExportFormat::Arrow, &settings, |_| {})).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn text_comes_in_with_the_types_that_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let csv = "id;zip;time;ok;note\n1;007;2020-02-29T12:00:00;true;\"a;b\n\"\"c\"\"\"\n2;081;2020-02-29T12:00:00.25;;\n";
    fs::write(folder.join("a.csv"), csv).unwrap();
    let text = TextSettings { delimiter: Some(b';'), ..TextSettings::default() };
    let frame = Frame::open(folder.join("a.csv"), FrameFormat::Csv, &text).unwrap();
    let types: Vec<String> = frame.column_types().map(|(name, ty)| format!("{name} {}", ty.unwrap())).collect();
    assert_eq!(types, ["id i64", "zip utf8", "time timestamp[ms]", "ok bool", "note utf8"]);
    let table = taken(&frame, &FrameSettings::default(), &folder.join("a")).unwrap();
    let rows = exported(&table, ExportFormat::Arrow, &ExportSettings::default());
    assert_eq!(column(&rows, "zip").as_string::<i64>().value(0), "007");
    assert_eq!(column(&rows, "note").as_string::<i64>().value(0), "a;b\n\"c\"");
    assert!(column(&rows, "note").is_null(1) && column(&rows, "ok").is_null(1));

    let column_types = [("zip".to_owned(), "categorical".parse().unwrap()), ("id".to_owned(), "u16".parse().unwrap())];
    let text = TextSettings { delimiter: Some(b';'), types: column_types.into(), ..TextSettings::default() };
    let frame = Frame::open(folder.join("a.csv"), FrameFormat::Csv, &text).unwrap();
    let types: Vec<String> = frame.column_types().map(|(name, ty)| format!("{name} {}", ty.unwrap())).take(2).collect();
    assert_eq!(types, ["id u16", "zip categorical"]);

    // The file name determines the separator, unless the caller sets one.
    fs::write(folder.join("a.TSV"), "id\tnote\n1\ta,b\n").unwrap();
    let tabs = |delimiter| {
        let text = TextSettings { delimiter, ..TextSettings::default() };
        let frame = Frame::open(folder.join("a.TSV"), FrameFormat::Csv, &text).unwrap();
        frame.column_types().map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(tabs(None), ["id", "note"]);
    assert_eq!(tabs(Some(b'|')), ["id\tnote"]);

    let json = "{\"id\":1,\"agents\":[{\"x\":1.5},{\"x\":2}],\"pose\":[1,2]}\n\n{\"id\":2,\"agents\":[],\"tags\":{\"a\":null}}";
    let frame = Frame::read(json.as_bytes(), FrameFormat::Ndjson, &TextSettings::default()).unwrap();
    let types: Vec<String> = frame.column_types().map(|(name, ty)| format!("{name} {}", ty.unwrap())).collect();
    assert_eq!(types, ["id i64", "agents.x f64[?]", "pose i64[?]", "tags.a utf8", "tags.is_null bool"]);
    let table = taken(&frame, &FrameSettings::default(), &folder.join("b")).unwrap();
    let rows = exported(&table, ExportFormat::Parquet, &ExportSettings::default());
    assert_eq!(text_of(column(&rows, "agents"), 1), "[]");
    assert_eq!(column(&rows, "agents").as_list::<i64>().value(0).len(), 2);

    for (text, format, types, says) in [
        ("a,b\n1\n", FrameFormat::Csv, None, "line 2: expected 2 cells as in the first line, found 1"),
        ("a,a\n1,2\n", FrameFormat::Csv, None, "column `a` occurs twice"),
        ("a\n1\n", FrameFormat::Csv, Some(("b", "i64")), "no column"),
        ("a\n300\n", FrameFormat::Csv, Some(("a", "u8")), "300"),
        ("a\n300\n", FrameFormat::Csv, Some(("a", "f32[3]")), "cannot be read from text"),
        ("{\"a\":1}\n{\"a\":true}", FrameFormat::Ndjson, None, "line 2: `a`: expected a number as before, found a bool"),
    ] {
        let types = types.into_iter().map(|(name, ty)| (name.to_owned(), ty.parse().unwrap())).collect();
        let settings = TextSettings { types, ..TextSettings::default() };
        let error = Frame::read(text.as_bytes(), format, &settings).unwrap_err().to_string();
        assert!(error.starts_with("standard input: ") && error.contains(says), "{text}: {error}");
    }
}

#[test]
fn all_columns_of_no_type_are_named_at_once_or_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let months = Arc::new(arrow_array::IntervalYearMonthArray::from(vec![1, 2])) as ArrayRef;
    let lists = DataType::List(Arc::new(Field::new("item", DataType::Interval(arrow_schema::IntervalUnit::YearMonth), true)));
    let columns =
        [("id", Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef), ("months", months), ("lists", new_null_array(&lists, 2))];
    write(&folder.join("frame"), &RecordBatch::try_from_iter(columns).unwrap(), ExportFormat::Arrow);
    let frame = Frame::arrow(folder.join("frame")).unwrap();
    let error = taken(&frame, &FrameSettings::default(), &folder.join("table")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    for name in ["`months` (Interval", "`lists` (List", "skip_unsupported"] {
        assert!(error.to_string().contains(name), "{error}");
    }
    assert_eq!(frame.unsupported().map(|(name, _)| name).collect::<Vec<_>>(), ["months", "lists"]);
    let settings = FrameSettings { skip_unsupported: true, ..FrameSettings::default() };
    assert_eq!(taken(&frame, &settings, &folder.join("table")).unwrap().schema().columns().len(), 1);
}

#[test]
fn broken_files_are_errors_of_every_reader() {
    let mut random = Rng::with_seed(common::seed());
    let folder = tempfile::tempdir().unwrap();
    let rows = 20;
    let types = [DataType::Utf8, DataType::Decimal128(9, 2), DataType::Struct(fields(&mut random, 1).into())];
    let columns = types.iter().enumerate().map(|(number, ty)| (format!("c{number}"), array(&mut random, ty, rows), true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let file = folder.path().join("frame");
    let mut sources: Vec<(FrameFormat, Vec<u8>)> = Vec::new();
    for format in FORMATS {
        write(&file, &batch, format);
        let kind = if format == ExportFormat::Parquet { FrameFormat::Parquet } else { FrameFormat::Arrow };
        sources.push((kind, fs::read(&file).unwrap()));
    }
    sources.push((FrameFormat::Csv, b"id,time,x\n1,2020-02-29,0.5\n2,2020-03-01,7\n".to_vec()));
    sources.push((FrameFormat::Ndjson, b"{\"id\":1,\"a\":[{\"x\":1}]}\n{\"id\":2,\"a\":[]}\n".to_vec()));
    for (number, (format, bytes)) in sources.iter().enumerate() {
        for round in 0..common::cases(60) {
            let mut broken = bytes.clone();
            match round % 3 {
                0 => broken.truncate(random.usize(0..bytes.len())),
                1 => broken[random.usize(0..bytes.len())] ^= 1 << random.u8(0..8),
                _ => {
                    let place = random.usize(0..bytes.len());
                    let end = (place + random.usize(1..9)).min(bytes.len());
                    broken[place..end].iter_mut().for_each(|byte| *byte = random.u8(..));
                }
            }
            // A flipped bit may give another valid value. The import must not panic, and must not leave a partial table.
            let Ok(frame) = Frame::read(&broken[..], *format, &TextSettings::default()) else { continue };
            let table = folder.path().join(format!("{number}-{round}"));
            if let Err(error) = taken(&frame, &FrameSettings::default(), &table) {
                assert_ne!(error.kind(), ErrorKind::Internal, "{format:?}: {error}");
                let left = block_on(Table::open(&table.display().to_string())).map(|_| ());
                assert_eq!(left.unwrap_err().kind(), ErrorKind::NotFound);
            }
        }
    }
}

#[test]
fn a_frame_of_too_many_partitions_is_refused() {
    // A damaged file may say that it has any number of rows.
    let folder = tempfile::tempdir().unwrap();
    let ids = Arc::new((0..1_000_001).collect::<Int64Array>()) as ArrayRef;
    write(&folder.path().join("frame"), &RecordBatch::try_from_iter([("id", ids)]).unwrap(), ExportFormat::Parquet);
    let options = IngestOptions { partition_rows: 1, ..IngestOptions::default() };
    let settings = FrameSettings { options, ..FrameSettings::default() };
    let table = folder.path().join("table");
    let error = taken(&Frame::parquet(folder.path().join("frame")).unwrap(), &settings, &table).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("1000001 rows in partitions of 1: more than 1000000 partitions"), "{error}");
    assert!(block_on(Table::open(&table.display().to_string())).is_err());
}

#[test]
fn items_that_lie_under_a_null_list_are_no_part_of_the_frame() {
    let folder = tempfile::tempdir().unwrap();
    // The first two items are structs of nulls, but the list that has them is null.
    let numbers = Arc::new(arrow_array::Int32Array::from(vec![None, None, Some(7)])) as ArrayRef;
    let fields = Fields::from(vec![Field::new("x", DataType::Int32, true)]);
    let items = Arc::new(StructArray::new(fields.clone(), vec![numbers], None)) as ArrayRef;
    let lists = |nulls: Vec<bool>| {
        let item = Arc::new(Field::new("item", DataType::Struct(fields.clone()), true));
        let list = LargeListArray::new(item, OffsetBuffer::from_lengths([2, 1]), Arc::clone(&items), Some(nulls.into()));
        let id = Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef;
        RecordBatch::try_from_iter_with_nullable([("id", id, false), ("c", Arc::new(list) as ArrayRef, true)]).unwrap()
    };
    for (number, (nulls, expected)) in
        [(vec![false, true], vec!["id", "c.x"]), (vec![true, true], vec!["id", "c.x", "c.is_null"])].into_iter().enumerate()
    {
        let file = folder.path().join(format!("frame{number}"));
        write(&file, &lists(nulls), ExportFormat::Arrow);
        let table =
            taken(&Frame::arrow(&file).unwrap(), &FrameSettings::default(), &folder.path().join(format!("t{number}"))).unwrap();
        let names: Vec<&str> = table.schema().columns().iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, expected);
    }
}

#[cfg(unix)]
#[test]
fn files_are_regular_ones_inside_the_root_and_of_bounded_size() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let (root, secret) = (folder.path().join("root"), folder.path().join("secret"));
    fs::create_dir_all(root.join("inner")).unwrap();
    fs::write(&secret, b"secret").unwrap();
    fs::write(root.join("inner/real"), b"fine").unwrap();
    fs::write(root.join("large"), vec![0; 1001]).unwrap();
    symlink("inner/real", root.join("link")).unwrap();
    symlink(&root, root.join("loop")).unwrap();
    symlink(&secret, root.join("out")).unwrap();
    symlink(folder.path(), root.join("up")).unwrap();
    symlink("/dev/zero", root.join("zero")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    symlink("circle", root.join("circle")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(root.join("pipe")).status().unwrap().success());
    /// The bytes of the file, the counts of missing files, and the lineage.
    type Taken = (Option<Vec<u8>>, BTreeMap<String, u64>, serde_json::Value);
    let taken_of = |path: &str, missing: Missing| -> tetrys::Result<Taken> {
        let columns =
            [("id", Arc::new(Int64Array::from(vec![1])) as ArrayRef), ("path", Arc::new(StringArray::from(vec![path])))];
        write(&folder.path().join("frame"), &RecordBatch::try_from_iter(columns).unwrap(), ExportFormat::Arrow);
        let frame = Frame::arrow(folder.path().join("frame")).unwrap();
        let settings = FrameSettings { root: Some(root.clone()), missing, max_blob: Some(1000), ..FrameSettings::default() };
        let target = tempfile::tempdir().unwrap();
        let settings = settings.blob("file", "path");
        let table = taken(&frame, &settings, target.path())?;
        let row = block_on(table.row_loader().get_row(0))?;
        let bytes = row.as_rows().column("file")?.is_valid(0).then(|| row.bytes("file").unwrap().to_vec());
        Ok((bytes, settings.missing_files.counts(), table.manifest().lineage.clone()))
    };
    for path in ["inner/real", "link", "loop/inner/real", "./inner/../link", &root.join("link").display().to_string()] {
        assert_eq!(taken_of(path, Missing::Error).unwrap().0.unwrap(), b"fine", "{path}");
    }
    for (path, kind, says) in [
        ("out", ErrorKind::Denied, "a link leads to"),
        ("up/secret", ErrorKind::Denied, "a link leads to"),
        ("../secret", ErrorKind::Denied, "outside of"),
        ("/dev/zero", ErrorKind::Denied, "outside of"),
        ("zero", ErrorKind::Denied, "a link leads to /dev/zero"),
        ("pipe", ErrorKind::Invalid, "expected a regular file"),
        ("inner", ErrorKind::Invalid, "expected a regular file"),
        ("large", ErrorKind::Invalid, "1001 bytes, expected at most 1000"),
        ("dangling", ErrorKind::NotFound, "not in"),
        ("inner/real/x", ErrorKind::NotFound, "not in"),
    ] {
        let error = taken_of(path, Missing::Error).unwrap_err();
        assert_eq!(error.kind(), kind, "{path}: {error}");
        assert!(error.to_string().contains(says) && error.to_string().contains("row 0: blob `file`"), "{path}: {error}");
    }
    assert!(taken_of("circle", Missing::Null).is_err());
    let (bytes, missing, lineage) = taken_of("dangling", Missing::Null).unwrap();
    assert_eq!((bytes, missing["file"], &lineage["missing_files"]["file"]), (None, 1, &1.into()));
    assert!(taken_of("out", Missing::Null).is_err());
}

#[test]
fn other_rows_of_a_table_keep_what_it_says_of_its_columns() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (left, _) = two_tables(folder);
    let frame = Frame::parquet(folder.join("left.parquet")).unwrap();
    let to = |target| IngestOptions { target, ..IngestOptions::default() };
    let over = FrameSettings { options: to(Target::Overwrite), ..FrameSettings::default() };
    let again = taken(&frame, &over, &folder.join("left")).unwrap();
    let shape = |table: &Table| {
        let names = |columns: &mut dyn Iterator<Item = &tetrys::schema::Column>| {
            columns.map(|column| column.name.clone()).collect::<Vec<_>>()
        };
        let schema = table.schema();
        let groups: Vec<String> = schema.groups().iter().map(|group| group.name.clone()).collect();
        (names(&mut schema.index()), names(&mut schema.sequence_by()), names(&mut schema.order_by()), groups)
    };
    assert_eq!((shape(&again), again.manifest().sequences(), again.version()), (shape(&left), 2, 2));
    // A setting of the caller replaces that of the earlier version; all other settings stay.
    let by_id = FrameSettings { sequence_by: vec!["id".into()], ..over.clone() };
    assert_eq!(taken(&frame, &by_id, &folder.join("left")).unwrap().manifest().sequences(), 300);
    taken(&frame, &FrameSettings { sequence_by: vec!["log".into()], order_by: vec!["id".into()], ..over }, &folder.join("left"))
        .unwrap();

    let more = |settings: FrameSettings| {
        let settings = FrameSettings { options: to(Target::Append), drop: vec!["label".into()], ..settings };
        let ids = Arc::new((300..310).collect::<Int64Array>()) as ArrayRef;
        let logs = Arc::new(StringArray::from_iter_values((0..10).map(|_| "log 2"))) as ArrayRef;
        let price = Arc::new(Decimal128Array::from(vec![7; 10]).with_data_type(DataType::Decimal128(9, 2))) as ArrayRef;
        let ranges = array(&mut Rng::with_seed(3), &DataType::List(Arc::new(Field::new("item", DataType::Float32, true))), 10);
        let columns = [
            ("id", ids),
            ("log", logs),
            ("price", price),
            ("ranges", ranges),
            ("label", Arc::new(Int64Array::from(vec![0; 10]))),
        ];
        write(&folder.join("more"), &RecordBatch::try_from_iter(columns).unwrap(), ExportFormat::Arrow);
        taken(&Frame::arrow(folder.join("more")).unwrap(), &settings, &folder.join("left"))
    };
    for (settings, says) in [
        (FrameSettings::default().index(["price"]), "index: rows to append must match the table: id, log; found id, log, price"),
        (FrameSettings::default().group("all", ["price", "ranges"]), "group `all`: rows to append must match the table: none"),
        (FrameSettings::default().group("price", ["ranges"]), "group `price`"),
        (FrameSettings::default().sequence_by(["id"]), "sequence_by: rows to append must match the table: log; found id"),
        (FrameSettings::default().order_by(["log"]), "order_by: rows to append must match the table: id"),
    ] {
        let error = more(settings).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    let same = FrameSettings::default().group("price", ["price"]).sequence_by(["log"]).index(["id"]);
    let longer = more(same).unwrap();
    assert_eq!((longer.rows(), longer.manifest().sequences()), (310, 3));
    assert_eq!(more(FrameSettings::default()).unwrap_err().kind(), ErrorKind::Invalid, "the times of log 2 fall");
}
