//! Rows are read back bit by bit as they were written: random schemas of every type, random rows, presets, cuts, partitions and
//! slices; by row, by batch and by window; and tables and partitions without rows.

use crate::common;
use std::cell::Cell;

use crate::common::tables::{self, Rng, Taste, assert_rows, block_on, cut_by, joined, memory, rows_of, tiny_cuts};
use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use futures::StreamExt;
use proptest::{
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use tetrys::{ColumnType, Edge, Preset, Schema, Table, TimeUnit, WriteOptions, schema::Primitive, table::Cuts};

fn units() -> impl Strategy<Value = TimeUnit> {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    proptest::sample::select(vec![Second, Millisecond, Microsecond, Nanosecond])
}

fn primitives() -> impl Strategy<Value = Primitive> {
    proptest::sample::select(Primitive::ALL.to_vec())
}

/// Returns every type of the format, including tensors of rank 0 and of extent 0, and lists of lists and of tensors.
fn types() -> impl Strategy<Value = ColumnType> {
    let zone = proptest::option::of(proptest::sample::select(vec!["UTC", "+01:00", "Europe/Zurich"]));
    let extents = proptest::collection::vec(proptest::option::of(0..4_u32), 0..4);
    let leaf = prop_oneof![
        primitives().prop_map(ColumnType::Scalar),
        Just(ColumnType::Date),
        (units(), zone).prop_map(|(unit, zone)| ColumnType::Timestamp(unit, zone.map(str::to_owned))),
        units().prop_map(ColumnType::Duration),
        Just(ColumnType::Utf8),
        Just(ColumnType::Categorical),
        Just(ColumnType::Binary),
        (primitives(), extents).prop_map(|(element, shape)| ColumnType::tensor(element, shape)),
    ];
    leaf.prop_recursive(3, 6, 1, |item| item.prop_map(ColumnType::list))
}

fn names() -> impl Strategy<Value = String> {
    let odd = ["a.b", " ", "ö", "🚗", "re:(", "*", "../x", "a/b", "\u{0}", "\n", "NULL", "\"", "_row_"];
    prop_oneof![proptest::sample::select(odd.to_vec()).prop_map(str::to_owned), "[a-z.]{1,8}", Just("n".repeat(1_000))]
}

#[derive(Clone, Debug)]
struct Case {
    /// Name, type, and groups as a bit mask. With no bit set, the column is in the index if its type allows that.
    columns: Vec<(String, ColumnType, u8)>,
    sequences: bool,
    /// The number of rows of each sequence, for each partition.
    partitions: Vec<Vec<usize>>,
    slice: usize,
    preset: Preset,
    cuts: Cuts,
    taste: Taste,
    values: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    let columns = proptest::collection::vec((names(), types(), 0..8_u8), 0..6);
    let partitions = proptest::collection::vec(proptest::collection::vec(1..9_usize, 0..4), 0..4);
    let preset = proptest::sample::select(vec![Preset::Fast, Preset::Balanced, Preset::Compact]);
    let cuts = proptest::sample::select(vec![tiny_cuts(), Cuts::default()]);
    let taste = (0..4_u64, 1..7_u64, any::<bool>()).prop_map(|(nulls, length, smooth)| Taste { nulls, length, smooth });
    (columns, any::<bool>(), partitions, 1..12_usize, preset, cuts, taste, any::<u64>()).prop_map(
        |(columns, sequences, partitions, slice, preset, cuts, taste, values)| {
            // The number in the name makes each column name unique.
            let named =
                columns.into_iter().enumerate().map(|(number, (name, ty, groups))| (format!("{name}{number}"), ty, groups));
            Case { columns: named.collect(), sequences, partitions, slice, preset, cuts, taste, values }
        },
    )
}

fn schema_of(case: &Case) -> Schema {
    let mut builder = Schema::builder().index("log", "utf8").index("time", "i64");
    if case.sequences {
        builder = builder.sequence_by(["log"]).order_by(["time"]);
    }
    let in_index = |ty: &ColumnType, groups: u8| groups == 0 && ty.is_indexable();
    for (name, ty, _) in case.columns.iter().filter(|(_, ty, groups)| in_index(ty, *groups)) {
        builder = builder.index(name, ty);
    }
    for group in 0..3 {
        let here =
            |ty: &ColumnType, groups: u8| !in_index(ty, groups) && (groups >> group & 1 == 1 || (groups == 0 && group == 0));
        let members: Vec<_> =
            case.columns.iter().filter(|(_, ty, groups)| here(ty, *groups)).map(|(name, ty, _)| (name, ty)).collect();
        if !members.is_empty() {
            builder = builder.group(format!("group {group}"), members);
        }
    }
    builder.build().unwrap()
}

async fn written(case: &Case, schema: &Schema) -> (Table, Vec<RecordBatch>) {
    let mut rng = Rng(case.values);
    let (_, store) = memory();
    let options = cut_by(case.cuts).preset(case.preset);
    let writer = Table::create_in(store.clone(), schema.clone(), options).await.unwrap();
    let (mut receipts, mut batches) = (Vec::new(), vec![rows_of(schema, &mut rng, &[], case.taste)]);
    for (number, runs) in case.partitions.iter().enumerate() {
        let logs: Vec<String> = (0..runs.len()).map(|run| format!("log {number} {run}")).collect();
        let runs: Vec<_> = logs.iter().map(String::as_str).zip(runs.iter().copied()).collect();
        let batch = rows_of(schema, &mut rng, &runs, case.taste);
        let mut partition = writer.partition().unwrap();
        for start in (0..batch.num_rows()).step_by(case.slice) {
            partition.write(&batch.slice(start, case.slice.min(batch.num_rows() - start))).await.unwrap();
        }
        receipts.push(partition.finish().await.unwrap());
        batches.push(batch);
    }
    writer.commit(receipts).await.unwrap();
    (Table::open_in(store).await.unwrap(), batches)
}

/// Reads the table in every way and compares the rows with those that were written.
async fn comes_back(table: &Table, written: &RecordBatch, rng: &mut Rng) {
    let rows = written.num_rows() as u64;
    assert_eq!(table.rows(), rows);
    let loader = table.row_loader();
    let all: Vec<_> = (0..rows).map(Some).collect();
    let mut seen = 0;
    for batch in loader.scan(1 + rng.below(9) as usize).collect::<Vec<_>>().await {
        let batch = batch.unwrap();
        assert_rows(&batch, written, &all[seen..seen + batch.len()]);
        seen += batch.len();
    }
    assert_eq!(seen as u64, rows);
    let positions: Vec<u64> = if rows == 0 { Vec::new() } else { (0..rng.below(12)).map(|_| rng.below(rows)).collect() };
    let wanted: Vec<_> = positions.iter().copied().map(Some).collect();
    assert_rows(&loader.take(&positions).await.unwrap(), written, &wanted);
    for position in positions {
        assert_rows(loader.get_row(position).await.unwrap().as_rows(), written, &[Some(position)]);
        let window = loader.clone().edge(Edge::Pad).get_rows(position, -2..=2).await.unwrap();
        assert_rows(&window, written, window.table_rows());
        assert_eq!(window.table_rows()[2], Some(position));
    }
    let index: Vec<_> = table.index_batches().await.unwrap().collect::<Result<_, _>>().unwrap();
    let schema = tetrys::format::index_arrow_schema(table.schema());
    let index = concat_batches(&schema, &index).unwrap();
    for field in schema.fields() {
        assert_eq!(index.column_by_name(field.name()), written.column_by_name(field.name()), "index `{}`", field.name());
    }
    let verified = table.storage().verify(|_, _| {}).await.unwrap();
    assert!(verified.damage.is_empty(), "{verified:?}");
    let info = table.info().await.unwrap();
    assert_eq!(info.rows, rows);
}

#[test]
fn any_rows_of_any_schema_come_back_as_they_were_written() {
    let seed = common::seed();
    let config = Config { cases: common::cases(120) as u32, failure_persistence: None, ..Config::default() };
    let counted = Cell::new((0, 0));
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let result = runner.run(&cases(), |case| {
        let schema = schema_of(&case);
        block_on(async {
            let (table, batches) = written(&case, &schema).await;
            let written = joined(&batches);
            comes_back(&table, &written, &mut Rng(case.values ^ 1)).await;
            #[cfg(feature = "frame")]
            assert_eq!(table.index().await.unwrap().len(), written.num_rows());
            let (rows, columns) = counted.get();
            counted.set((rows + written.num_rows(), columns + written.num_columns()));
        });
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    let (rows, columns) = counted.get();
    println!("{} tables, {columns} columns, {rows} rows", common::cases(120));
}

#[test]
fn every_type_of_the_format_comes_back() {
    let all: Vec<String> = Primitive::ALL
        .iter()
        .flat_map(|element| {
            ["", "[]", "[0]", "[2,3]", "[?]", "[?,4]", "[2,?,?]", "[?,0]"].map(|shape| format!("{}{shape}", element.name()))
        })
        .chain(
            ["s", "ms", "us", "ns"]
                .iter()
                .flat_map(|unit| [format!("timestamp[{unit}]"), format!("timestamp[{unit},UTC]"), format!("duration[{unit}]")]),
        )
        .chain(
            [
                "date",
                "utf8",
                "categorical",
                "binary",
                "list<utf8>",
                "list<binary>",
                "list<list<i16>>",
                "list<f32[?,2]>",
                "list<bool[3]>",
            ]
            .map(str::to_owned),
        )
        .collect();
    let mut builder = Schema::builder();
    for (number, types) in all.chunks(20).enumerate() {
        builder = builder.group(format!("g{number}"), types.iter().map(|ty| (format!("c {ty}"), ty)));
    }
    let indexable = all.iter().filter(|ty| ty.parse::<ColumnType>().unwrap().is_indexable());
    let schema = indexable.fold(builder, |builder, ty| builder.index(format!("i {ty}"), ty)).build().unwrap();
    let mut rng = Rng(common::seed());
    for taste in [Taste::SMALL, Taste::NOISE, Taste { nulls: 1, ..Taste::SMALL }] {
        let written = rows_of(&schema, &mut rng, &[("", 33)], taste);
        block_on(async {
            let cut = cut_by(Cuts { chunk_min: 9_000, chunk_target: 20_000, chunk_max: 50_000, ..tiny_cuts() });
            let table = tables::write(memory().1, schema.clone(), cut, std::slice::from_ref(&written)).await.unwrap();
            comes_back(&table, &written, &mut rng).await;
        });
    }
    println!("{} types", all.len());
}

#[test]
fn a_table_without_rows_is_a_table() {
    for partitions in [0, 1, 3] {
        let schema = tables::sensors();
        let empty = rows_of(&schema, &mut Rng(1), &[], Taste::SMALL);
        block_on(async {
            let batches = vec![empty.clone(); partitions];
            let table = tables::write(memory().1, schema.clone(), WriteOptions::default(), &batches).await.unwrap();
            comes_back(&table, &empty, &mut Rng(1)).await;
            assert_eq!((table.rows(), table.manifest().segments.len()), (0, 0));
            assert_eq!(table.row_loader().get_row(0).await.unwrap_err().to_string(), "row 0 is outside 0..0");
        });
    }
}
