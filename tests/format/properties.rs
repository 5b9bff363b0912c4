//! Properties that hold for every table, in addition to those of `roundtrip.rs`: floats keep their bits under every preset, a
//! thousand columns are read back, any allowed name is only a name, and the bytes do not depend on threads, slices or empty
//! batches.

use crate::common;
use std::sync::Arc;

use crate::common::tables::{self, Rng, Taste, assert_rows, block_on, cut_by, joined, memory, objects, rows_of, tiny_cuts};
use arrow_array::{Array, ArrayRef, RecordBatch, cast::AsArray, make_array};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use futures::StreamExt;
use proptest::{
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use tetrys::{
    ColumnType, Preset, Schema, Store, Table, WriteOptions,
    codec::{Chain, NumberType, Step},
    table::Cuts,
};

const PRESETS: [Preset; 3] = [Preset::Fast, Preset::Balanced, Preset::Compact];

/// Runs a property over `cases` cases, drawn from the seed of all randomized tests.
#[track_caller]
fn holds<S: Strategy>(few: usize, strategy: S, property: impl Fn(S::Value)) {
    let seed = common::seed();
    let config = Config { cases: common::cases(few) as u32, failure_persistence: None, ..Config::default() };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let result = runner.run(&strategy, |value| {
        property(value);
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

/// Reads every row by scan and some rows one by one, and verifies the table.
async fn comes_back(table: &Table, written: &RecordBatch) {
    let loader = table.row_loader();
    let mut seen = 0;
    let all: Vec<_> = (0..table.rows()).map(Some).collect();
    for batch in loader.scan(37).collect::<Vec<_>>().await {
        let batch = batch.unwrap();
        assert_rows(&batch, written, &all[seen..seen + batch.len()]);
        seen += batch.len();
    }
    assert_eq!(seen, written.num_rows());
    for row in [0, table.rows() / 2, table.rows().saturating_sub(1)].into_iter().filter(|row| *row < table.rows()) {
        assert_rows(loader.get_row(row).await.unwrap().as_rows(), written, &[Some(row)]);
    }
    let verified = table.storage().verify(|_, _| {}).await.unwrap();
    assert!(verified.damage.is_empty(), "{verified:?}");
}

// ------------------------------------------------------------------------------------------------------------------- floats

/// Returns both zeros, both infinities, the smallest and greatest numbers, and quiet and signalling NaNs with payloads, as bits
/// of a float with `exponent` and `mantissa` bits.
fn special_bits(exponent: u32, mantissa: u32) -> Vec<u64> {
    let (sign, inf, one) = (1_u64 << (exponent + mantissa), ((1_u64 << exponent) - 1) << mantissa, 1_u64);
    let plain = [
        0,
        one,
        (one << mantissa) - 1,
        one << mantissa,
        inf - 1,
        inf,
        inf | 1,
        inf | 3 << (mantissa - 2),
        inf | ((one << mantissa) - 1),
        ((one << (exponent - 1)) - 1) << mantissa,
    ];
    plain.into_iter().flat_map(|bits| [bits, bits | sign]).collect()
}

#[test]
fn nans_infinities_and_zeros_keep_their_bits_in_every_place() {
    for (name, exponent, mantissa) in [("f16", 5, 10), ("bf16", 8, 7), ("f32", 8, 23), ("f64", 11, 52)] {
        let special = special_bits(exponent, mantissa);
        let scalar: ColumnType = name.parse().unwrap();
        let floats = |rows: usize, every: usize| -> ArrayRef {
            let width = scalar.element_width();
            let bits = (0..rows).map(|row| if row % every == 0 { special[row / every % special.len()] } else { row as u64 / 50 });
            let bytes: Vec<u8> = bits.flat_map(|bits| bits.to_le_bytes()[..width].to_vec()).collect();
            make_array(ArrayData::builder(scalar.arrow()).len(rows).add_buffer(bytes.into()).align_buffers(true).build().unwrap())
        };
        let mut builder = Schema::builder().index("time", "i64");
        let in_index = scalar.is_indexable();
        if in_index {
            builder = builder.index("index", name);
        }
        let schema = builder.group("g", [("scalar", name.to_owned()), ("tensor", format!("{name}[4]"))]).build().unwrap();
        for every in [1, 3, 700] {
            let rows = 3 * 700;
            let DataType::FixedSizeList(field, size) = schema.column_named("tensor").unwrap().ty.arrow() else { panic!("fixed") };
            let tensor = arrow_array::FixedSizeListArray::new(field, size, floats(4 * rows, every), None);
            let time: ArrayRef = Arc::new(arrow_array::Int64Array::from_iter_values(0..rows as i64));
            let mut columns = vec![("time", time), ("scalar", floats(rows, every)), ("tensor", Arc::new(tensor) as ArrayRef)];
            if in_index {
                columns.insert(1, ("index", floats(rows, every)));
            }
            let written = RecordBatch::try_from_iter(columns).unwrap();
            for preset in PRESETS {
                block_on(async {
                    let options = WriteOptions::default().preset(preset);
                    let table = tables::write(memory().1, schema.clone(), options, std::slice::from_ref(&written)).await.unwrap();
                    comes_back(&table, &written).await;
                    let read = table.row_loader().take(&(0..rows as u64).collect::<Vec<_>>()).await.unwrap();
                    // The bytes are compared, because equality of floats depends on the library.
                    assert_eq!(buffers(read.batch().column_by_name("scalar").unwrap()), buffers(&floats(rows, every)), "{name}");
                    let items = read.batch().column_by_name("tensor").unwrap().as_fixed_size_list().values().clone();
                    assert_eq!(buffers(&items), buffers(&floats(4 * rows, every)), "{name}");
                });
            }
        }
    }
}

fn buffers(array: &ArrayRef) -> Vec<u8> {
    let data = array.to_data();
    let width = data.data_type().primitive_width().unwrap();
    data.buffers()[0][data.offset() * width..(data.offset() + data.len()) * width].to_vec()
}

// ------------------------------------------------------------------------------------------------------- columns and names

#[test]
fn a_thousand_columns_come_back_whole_and_one_by_one() {
    let types = ["f32", "i64", "bool", "utf8", "u8[3]", "f32[?,2]", "list<i16>", "binary", "timestamp[ns,UTC]", "bf16"];
    for groups in [1, 7, 500] {
        let mut builder = Schema::builder().index("log", "utf8").index("time", "i64").sequence_by(["log"]).order_by(["time"]);
        for group in 0..groups {
            let members = (0..1000).filter(|number| number % groups == group);
            let members = members.map(|number| (format!("column {number}"), types[(number / 3) % types.len()]));
            builder = builder.group(format!("group {group}"), members);
        }
        let schema = builder.build().unwrap();
        let written = rows_of(&schema, &mut Rng(common::seed()), &[("a", 3), ("b", 2)], Taste::SMALL);
        block_on(async {
            let table = tables::write(memory().1, schema, WriteOptions::default(), std::slice::from_ref(&written)).await.unwrap();
            comes_back(&table, &written).await;
            for wanted in [0, 499, 999] {
                let loader = table.row_loader().columns([format!("column {wanted}")]).unwrap();
                let rows = loader.take(&[4, 0]).await.unwrap();
                assert_eq!(rows.batch().num_columns(), 1);
                assert_rows(&rows, &written, &[Some(4), Some(0)]);
            }
            let nines = table.row_loader().columns(["*9"]).unwrap().get_row(2).await.unwrap();
            assert_eq!(nines.as_rows().batch().num_columns(), 100);
        });
    }
}

/// Returns names that are a path, a pattern, a URL, JSON, or invisible; from one byte to the longest name.
fn names() -> Vec<String> {
    let odd = [
        " ",
        "a b",
        "a.b.c",
        ".",
        "..",
        "../..",
        "a/b",
        "/etc/passwd",
        "C:\\x",
        "\u{0}",
        "\n",
        "\t",
        "\"",
        "\\",
        "'",
        "{}",
        "[0]",
        "null",
        "NULL",
        "true",
        "0",
        "-1",
        "%2e%2e",
        "%00",
        "a?b=c#d",
        "s3://b/k",
        "re:(",
        "re:.*",
        "**",
        "?",
        "ö",
        "o\u{308}",
        "峠",
        "🚗",
        "\u{202e}rtl",
        "\u{feff}",
        "\u{10ffff}",
        "_row_",
        "__index_level_0__",
        "log_id",
        "A",
        "a",
    ];
    let long = [("x", 255), ("x", 256), ("x", 1024), ("ö", 512), ("🚗", 256), ("../", 341)];
    odd.iter().map(|name| (*name).to_owned()).chain(long.map(|(text, times)| text.repeat(times))).collect()
}

#[test]
fn any_name_is_only_a_name() {
    let names = names();
    // The same names are used for columns of groups, for groups, and with a suffix for index columns, because a column name is
    // unique.
    let mut builder = Schema::builder().index("log", "utf8").index("time", "i64");
    for name in names.iter().filter(|name| name.len() < 1024) {
        builder = builder.index(format!("{name}i"), "i64");
    }
    for (number, name) in names.iter().enumerate() {
        builder = builder.group(name, [(name.clone(), "i32"), (format!("second {number}"), "utf8")]);
    }
    let schema = builder.sequence_by(["log"]).order_by(["time"]).build().unwrap();
    let written = rows_of(&schema, &mut Rng(common::seed()), &[("a", 9)], Taste::SMALL);
    let folder = tempfile::tempdir().unwrap();
    let url = folder.path().join("inside").display().to_string();
    block_on(async {
        let store = Store::open(&url).unwrap();
        tables::write(store, schema.clone(), WriteOptions::default(), std::slice::from_ref(&written)).await.unwrap();
        let table = Table::open(&url).await.unwrap();
        assert_eq!(table.schema(), &schema);
        comes_back(&table, &written).await;
        let index: Vec<RecordBatch> = table.index_batches().await.unwrap().collect::<Result<_, _>>().unwrap();
        for name in names.iter().filter(|name| name.len() < 1024) {
            let name = format!("{name}i");
            assert_eq!(index[0].column_by_name(&name), written.column_by_name(&name), "{name:?}");
        }
        for name in names.iter().filter(|name| !name.starts_with("re:") && !name.contains(['*', '?']) && *name != ".") {
            let rows = table.row_loader().columns([name]).unwrap().take(&[3]).await.unwrap();
            assert_eq!(rows.batch().schema().field(0).name(), name);
            assert_rows(&rows, &written, &[Some(3)]);
        }
    });
    let beside: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(beside, ["inside"], "a name is no path");
    for (name, text) in [(String::new(), "found 0"), ("x".repeat(1025), "found 1025")] {
        let refused = Schema::builder().index("time", "i64").group("g", [(name, "i32")]).build().unwrap_err();
        assert!(refused.to_string().contains(text), "{refused}");
    }
}

// ---------------------------------------------------------------------------------------------------------- threads and slices

/// Returns all stored objects except the manifest, which has random ids of table, commit and session.
async fn stored(store: &Store) -> Vec<(String, Vec<u8>)> {
    objects(store).await.into_iter().filter(|(name, _)| !name.starts_with("manifests/")).collect()
}

/// Writes all partitions concurrently on a runtime of `threads` threads, in slices, with empty batches between them.
fn written_by(threads: usize, slice: usize, schema: &Schema, options: &WriteOptions, partitions: &[RecordBatch]) -> Store {
    let (_, store) = memory();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build().unwrap();
    runtime.block_on(async {
        let writer = Table::create_in(store.clone(), schema.clone(), options.clone()).await.unwrap();
        let mut jobs = tokio::task::JoinSet::new();
        for batch in partitions {
            let (mut partition, batch) = (writer.partition().unwrap(), batch.clone());
            jobs.spawn(async move {
                for start in (0..batch.num_rows()).step_by(slice) {
                    partition.write(&batch.slice(start, slice.min(batch.num_rows() - start))).await.unwrap();
                    partition.write(&batch.slice(start, 0)).await.unwrap();
                    tokio::task::yield_now().await;
                }
                partition.finish().await.unwrap()
            });
        }
        writer.commit(jobs.join_all().await).await.unwrap();
    });
    store
}

#[test]
fn threads_slices_and_empty_batches_do_not_show_in_the_bytes() {
    let preset = proptest::sample::select(PRESETS.to_vec());
    let runs = proptest::collection::vec(proptest::collection::vec(1..25_usize, 0..4), 1..7);
    let strategy =
        (preset, runs, 1..9_usize, 1..30_usize, any::<u64>(), proptest::sample::select(vec![tiny_cuts(), Cuts::default()]));
    holds(20, strategy, |(preset, partitions, threads, slice, seed, cuts)| {
        let (schema, mut rng) = (tables::sensors(), Rng(seed));
        let batches: Vec<RecordBatch> = partitions
            .iter()
            .enumerate()
            .map(|(partition, runs)| {
                let logs: Vec<String> = (0..runs.len()).map(|run| format!("log {partition} {run}")).collect();
                let runs: Vec<_> = logs.iter().map(String::as_str).zip(runs.iter().copied()).collect();
                rows_of(&schema, &mut rng, &runs, Taste::SMALL)
            })
            .collect();
        let options = cut_by(cuts).preset(preset).segment_rows(40);
        let (one, many) =
            (written_by(1, usize::MAX, &schema, &options, &batches), written_by(threads, slice, &schema, &options, &batches));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build().unwrap();
        runtime.block_on(async {
            assert!(stored(&one).await == stored(&many).await, "{threads} threads, slices of {slice}: other bytes");
            let (table, written) = (Table::open_in(many).await.unwrap(), joined(&batches));
            comes_back(&table, &written).await;
            // Concurrent readers.
            let mut jobs = tokio::task::JoinSet::new();
            for reader in 0..threads as u64 {
                let (table, written) = (table.clone(), written.clone());
                jobs.spawn(async move {
                    for row in (reader..table.rows()).step_by(threads + 3) {
                        assert_rows(table.row_loader().get_row(row).await.unwrap().as_rows(), &written, &[Some(row)]);
                    }
                });
            }
            jobs.join_all().await;
        });
    });
}

// ------------------------------------------------------------------------------------------------------------------- codecs

/// Returns chains of steps that keep the number of bytes, optionally followed by a step that does not.
fn chains() -> impl Strategy<Value = Chain> {
    use NumberType::{F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    let width = || proptest::sample::select(vec![1, 2, 4, 8_u8]);
    let transform = prop_oneof![
        (2..=255_u8).prop_map(Step::Shuffle),
        width().prop_map(Step::BitShuffle),
        (width(), 2..=64_u8).prop_map(|(width, components)| Step::Split { width, components }),
    ];
    let numbers = proptest::sample::select(vec![U8, I8, U16, I16, F16, U32, I32, F32, U64, I64, F64]);
    let compressor = prop_oneof![
        Just(Step::Lz4),
        (0..=19_u8).prop_map(Step::Zstd),
        (numbers, 0..=12_u8).prop_map(|(number, level)| Step::Pco(number, level)),
    ];
    let steps = (proptest::collection::vec(transform, 0..4), proptest::option::of(compressor));
    steps.prop_filter_map("a split before pco as wide as its numbers", |(mut steps, compressor)| {
        steps.extend(compressor);
        Chain::new(steps).ok()
    })
}

#[test]
fn any_chain_gives_any_values_back() {
    let values = (any::<u64>(), 0..3_000_usize, 0..4_u8);
    holds(400, (chains(), values), |(chain, (seed, len, kind))| {
        let mut rng = Rng(seed);
        let values: Vec<u8> = match kind {
            0 => rng.bytes(len),
            1 => vec![seed as u8; len],
            2 => (0..len as u32 / 4).flat_map(|i| (i as f32 / 1000.0).to_le_bytes()).collect(),
            _ => (0..len as u64 / 8).flat_map(|i| (1_600_000_000_000_000_000 + i * 100_000_000).to_le_bytes()).collect(),
        };
        let stored = chain.encode(&values).unwrap();
        assert_eq!(chain.decode(stored.clone().into(), values.len()).unwrap(), values, "{chain}");
        if !values.is_empty() && !chain.is_plain() {
            // A wrong number of values is always an error.
            for len in [values.len() - 1, values.len() + 1] {
                let other = chain.decode(stored.clone().into(), len);
                assert!(other.is_err(), "{chain}: {len} of {}", values.len());
            }
        }
        let mut text = Vec::new();
        chain.write(&mut text);
        assert_eq!(Chain::read(&text).unwrap(), (chain, &[][..]));
    });
}

// -------------------------------------------------------------------------------------------------------------------- types

#[test]
fn every_type_comes_back_under_every_preset_with_and_without_nulls() {
    let leaves = ["bool", "i8", "u16", "i32", "u64", "f16", "bf16", "f32", "f64"];
    let shapes = ["", "[]", "[0]", "[3]", "[2,2]", "[?]", "[?,4]", "[?,0]"];
    let tensors = leaves.iter().flat_map(|leaf| shapes.map(|shape| format!("{leaf}{shape}")));
    let others = [
        "date",
        "timestamp[s]",
        "timestamp[ns,Europe/Zurich]",
        "duration[ms]",
        "utf8",
        "categorical",
        "binary",
        "list<utf8>",
        "list<binary>",
        "list<list<f64>>",
        "list<bf16[?]>",
        "list<timestamp[us,UTC]>",
        "list<list<list<bool>>>",
    ];
    let types: Vec<String> = tensors.chain(others.map(str::to_owned)).collect();
    let builder = Schema::builder().index("log", "utf8").index("time", "i64");
    let builder = types.chunks(24).enumerate().fold(builder, |builder, (number, types)| {
        builder.group(format!("g{number}"), types.iter().map(|ty| (format!("c {ty}"), ty)))
    });
    let schema = builder.sequence_by(["log"]).order_by(["time"]).build().unwrap();
    let mut rng = Rng(common::seed());
    let tastes = [Taste { nulls: 0, ..Taste::SMALL }, Taste::NOISE, Taste { nulls: 1, ..Taste::SMALL }];
    for (number, preset) in PRESETS.into_iter().enumerate() {
        for (other, taste) in tastes.into_iter().enumerate() {
            // In a full run, each preset is tested with each taste; otherwise each of them is tested once.
            if number != other && !common::full() {
                continue;
            }
            let written = rows_of(&schema, &mut rng, &[("a", 40), ("b", 1), ("c", 21)], taste);
            block_on(async {
                let options = WriteOptions::default().preset(preset);
                let table = tables::write(memory().1, schema.clone(), options, std::slice::from_ref(&written)).await.unwrap();
                comes_back(&table, &written).await;
            });
        }
    }
}
