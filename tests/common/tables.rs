//! Small tables: random columns of any type, a schema with every kind of column, cut limits so small that a few rows fill many
//! blocks and chunks, and the expected results of reads.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeListArray, Int32Array, Int64Array, LargeBinaryArray, LargeListArray, LargeStringArray,
    RecordBatch, RecordBatchOptions, StructArray, UInt64Array, make_array,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, Schema as ArrowSchema};
use arrow_select::{concat::concat_batches, take::take};
use object_store::{ObjectStore, ObjectStoreExt, memory::InMemory, path::Path};
use tetrys::{ColumnType, Edge, Result, Rows, Schema, Store, Table, TableWriter, WriteOptions, schema::Primitive, table::Cuts};

/// SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Clone, Debug)]
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `end`, or 0 if `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        if end == 0 { 0 } else { self.next() % end }
    }

    /// Returns true once in `one_in` times on average, or never if `one_in` is 0.
    pub fn once_in(&mut self, one_in: u64) -> bool {
        one_in > 0 && self.below(one_in) == 0
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u64) as usize]
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}

/// Properties of random values.
#[derive(Clone, Copy, Debug)]
pub struct Taste {
    /// One value in this many is null. 0 means none.
    pub nulls: u64,
    /// Exclusive upper bound of the length of lists, texts and `?` dimensions.
    pub length: u64,
    /// Whether values compress well (small numbers) instead of being noise.
    pub smooth: bool,
}

impl Taste {
    pub const SMALL: Self = Self { nulls: 5, length: 6, smooth: true };
    pub const NOISE: Self = Self { nulls: 4, length: 5, smooth: false };
}

/// Returns `rows` random values of `ty` in the Arrow form that reads return. Null slots may hide values, as Arrow allows.
pub fn column(rng: &mut Rng, ty: &ColumnType, rows: usize, taste: Taste) -> ArrayRef {
    let nulls = (taste.nulls > 0).then(|| (0..rows).map(|_| !rng.once_in(taste.nulls)).collect::<NullBuffer>());
    let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
    let arrow = ty.arrow();
    match ty {
        ColumnType::Utf8 | ColumnType::Categorical => {
            const LETTERS: [&str; 8] = ["a", "b", "z", "\u{0}", "ö", "峠", "🚗", " "];
            let length = taste.length;
            let text = |rng: &mut Rng| (0..rng.below(length)).map(|_| *rng.pick(&LETTERS)).collect::<String>();
            let values: Vec<String> = (0..rows).map(|_| text(rng)).collect();
            let plain = LargeStringArray::from_iter_values(values);
            Arc::new(LargeStringArray::new(plain.offsets().clone(), plain.values().clone(), nulls))
        }
        ColumnType::Binary => {
            let bytes = |rng: &mut Rng| -> Vec<u8> {
                let len = rng.below(taste.length * 3) as usize;
                if taste.smooth { (0..len).map(|i| (i / 3) as u8).collect() } else { rng.bytes(len) }
            };
            let plain = LargeBinaryArray::from_iter_values((0..rows).map(|_| bytes(rng)));
            Arc::new(LargeBinaryArray::new(plain.offsets().clone(), plain.values().clone(), nulls))
        }
        ColumnType::List(item) => {
            let lengths: Vec<usize> = (0..rows).map(|_| rng.below(taste.length) as usize).collect();
            let items = column(rng, item, lengths.iter().sum(), taste);
            let field = Arc::new(Field::new("item", item.arrow(), true));
            Arc::new(LargeListArray::new(field, OffsetBuffer::from_lengths(lengths), items, nulls))
        }
        ColumnType::Tensor { element, shape } => match ty.fixed_elements() {
            Some(elements) => {
                let items = elements_of(rng, *element, rows * elements as usize, taste);
                let field = Arc::new(Field::new("item", element.arrow(), true));
                let size = i32::try_from(elements).unwrap();
                Arc::new(FixedSizeListArray::try_new_with_length(field, size, items, nulls, rows).unwrap())
            }
            None => variable(rng, ty, *element, shape, rows, nulls, taste),
        },
        ColumnType::Scalar(Primitive::Bool) => {
            Arc::new(BooleanArray::new((0..rows).map(|_| rng.once_in(2)).collect::<BooleanBuffer>(), nulls))
        }
        _ => primitives(rng, &arrow, ty.element_width(), rows, nulls, taste),
    }
}

fn variable(
    rng: &mut Rng,
    ty: &ColumnType,
    element: Primitive,
    shape: &[Option<u32>],
    rows: usize,
    nulls: Option<NullBuffer>,
    taste: Taste,
) -> ArrayRef {
    let (mut extents, mut lengths) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        let chosen: Vec<i32> =
            shape.iter().map(|extent| extent.unwrap_or_else(|| rng.below(taste.length) as u32) as i32).collect();
        lengths.push(chosen.iter().map(|extent| *extent as usize).product());
        extents.extend(chosen);
    }
    let items = elements_of(rng, element, lengths.iter().sum(), taste);
    let field = Arc::new(Field::new("item", element.arrow(), true));
    let data = LargeListArray::new(field, OffsetBuffer::from_lengths(lengths), items, None);
    let field = Arc::new(Field::new("item", DataType::Int32, true));
    let shapes = FixedSizeListArray::new(field, shape.len() as i32, Arc::new(Int32Array::from(extents)), None);
    let DataType::Struct(fields) = ty.arrow() else { panic!("{ty} is no struct") };
    Arc::new(StructArray::new(fields, vec![Arc::new(data), Arc::new(shapes)], nulls))
}

fn elements_of(rng: &mut Rng, element: Primitive, count: usize, taste: Taste) -> ArrayRef {
    // Every third column has null elements, half as often as null values.
    let nulls = if rng.once_in(3) { taste.nulls * 2 } else { 0 };
    column(rng, &ColumnType::Scalar(element), count, Taste { nulls, ..taste })
}

fn primitives(rng: &mut Rng, arrow: &DataType, width: usize, rows: usize, nulls: Option<NullBuffer>, taste: Taste) -> ArrayRef {
    let mut values: Vec<u8> = Vec::with_capacity(rows * width);
    for _ in 0..rows {
        // Noise includes NaNs with payloads and negative zeros. Both must keep their bits.
        let value = match (taste.smooth, rng.below(6)) {
            (true, _) => rng.below(20),
            (false, 0) => 0x8000_0000_0000_0000 >> (64 - 8 * width),
            (false, 1) => u64::MAX - rng.below(3),
            (false, _) => rng.next(),
        };
        values.extend(&value.to_le_bytes()[..width]);
    }
    let data = ArrayData::builder(arrow.clone()).len(rows).nulls(nulls).add_buffer(values.into()).align_buffers(true);
    make_array(data.build().unwrap())
}

/// Returns a schema with index columns, and with groups of scalars, text, lists, tensors of fixed and variable shape, and bytes.
pub fn sensors() -> Schema {
    Schema::builder()
        .index("log", "utf8")
        .index("time", "i64")
        .index("weight", "f64")
        .group("camera", [("camera.jpeg", "binary"), ("camera.pose", "f64[3,3]")])
        .group("lidar", [("lidar.points", "f32[?,4]")])
        .group("labels", [("labels.names", "list<utf8>"), ("labels.count", "u32"), ("labels.note", "utf8")])
        .sequence_by(["log"])
        .order_by(["time"])
        .build()
        .unwrap()
}

/// Returns rows of `schema`, which has the index columns `log` and `time`. `runs` has the number of consecutive rows for each
/// log.
pub fn rows_of(schema: &Schema, rng: &mut Rng, runs: &[(&str, usize)], taste: Taste) -> RecordBatch {
    let logs: Vec<&str> = runs.iter().flat_map(|(log, rows)| std::iter::repeat_n(*log, *rows)).collect();
    let times: Vec<i64> = runs.iter().flat_map(|(_, rows)| 0..*rows as i64).map(|time| 1_000 + 100 * time).collect();
    let (mut fields, mut arrays): (Vec<Field>, Vec<ArrayRef>) = Default::default();
    for described in schema.columns() {
        fields.push(Field::new(&described.name, described.ty.arrow(), true));
        arrays.push(match described.name.as_str() {
            "log" => Arc::new(LargeStringArray::from(logs.clone())),
            "time" => Arc::new(Int64Array::from(times.clone())),
            _ => column(rng, &described.ty, logs.len(), taste),
        });
    }
    let options = RecordBatchOptions::new().with_row_count(Some(logs.len()));
    RecordBatch::try_new_with_options(Arc::new(ArrowSchema::new(fields)), arrays, &options).unwrap()
}

/// Returns limits for blocks of a few rows and chunks of a few blocks.
pub fn tiny_cuts() -> Cuts {
    Cuts { block_min: 64, block_target: 160, block_max: 640, chunk_min: 500, chunk_target: 1_200, chunk_max: 3_000 }
}

/// Returns [`WriteOptions`] with these cut limits.
pub fn cut_by(cuts: Cuts) -> WriteOptions {
    WriteOptions::default().cuts(cuts)
}

/// Writes the partitions, each in one batch, and commits.
pub async fn write(store: Store, schema: Schema, options: WriteOptions, partitions: &[RecordBatch]) -> Result<Table> {
    let writer = Table::create_in(store, schema, options).await?;
    let mut receipts = Vec::new();
    for batch in partitions {
        let mut partition = writer.partition()?;
        partition.write(batch).await?;
        receipts.push(partition.finish().await?);
    }
    writer.commit(receipts).await
}

/// Returns the sensors of five recordings in two partitions, smooth and noisy. Most suites read these.
pub fn two_partitions(seed: u64) -> (Schema, Vec<RecordBatch>) {
    let mut rng = Rng(seed);
    let schema = sensors();
    let first = rows_of(&schema, &mut rng, &[("a", 7), ("b", 1), ("c", 4)], Taste::SMALL);
    let second = rows_of(&schema, &mut rng, &[("d", 5), ("e", 3)], Taste::NOISE);
    (schema, vec![first, second])
}

/// Returns all rows of the partitions in one batch.
pub fn joined(partitions: &[RecordBatch]) -> RecordBatch {
    concat_batches(&partitions[0].schema(), partitions).unwrap()
}

/// Returns only the columns of a group, to replace that group.
pub fn of_group(rows: &RecordBatch, group: &str) -> RecordBatch {
    let fields = rows.schema();
    let is_of_group = |name: &str| name.strip_prefix(group).is_some_and(|rest| rest.starts_with('.'));
    let places: Vec<usize> = (0..fields.fields().len()).filter(|place| is_of_group(fields.field(*place).name())).collect();
    rows.project(&places).unwrap()
}

/// Asserts that a table has exactly these rows and that none of its bytes is damaged.
pub async fn assert_reads(table: &Table, written: &RecordBatch) {
    let all: Vec<u64> = (0..table.rows()).collect();
    let rows: Vec<_> = all.iter().copied().map(Some).collect();
    assert_eq!(table.rows(), written.num_rows() as u64);
    assert_rows(&table.row_loader().take(&all).await.unwrap(), written, &rows);
    let verified = table.storage().verify(|_, _| {}).await.unwrap();
    assert!(verified.damage.is_empty(), "{:?}", verified.damage);
}

/// Asserts that `found` has the rows `wanted` of `written`, bit by bit. `None` is a row of nulls.
#[track_caller]
pub fn assert_rows(found: &Rows, written: &RecordBatch, wanted: &[Option<u64>]) {
    assert_eq!(found.table_rows(), wanted);
    let wanted = UInt64Array::from(wanted.to_vec());
    for (field, column) in found.batch().schema().fields().iter().zip(found.batch().columns()) {
        let expected = take(written.column_by_name(field.name()).unwrap(), &wanted, None).unwrap();
        assert_eq!(column, &expected, "column `{}`", field.name());
    }
}

/// Returns the rows of a window by definition: those in the sequence of `row`. Sequence `i` ends before row `ends[i]`.
pub fn window_rows(ends: &[u64], row: u64, offsets: &[i64], edge: Edge) -> Vec<Option<u64>> {
    let sequence = |row: u64| ends.iter().position(|end| row < *end);
    let rows = offsets.iter().map(|offset| row.checked_add_signed(*offset).filter(|other| sequence(*other) == sequence(row)));
    rows.filter(|row| row.is_some() || edge != Edge::Skip).collect()
}

/// Returns a store in memory, and its backend.
pub fn memory() -> (Arc<InMemory>, Store) {
    let objects = Arc::new(InMemory::new());
    (objects.clone(), over(objects))
}

/// Returns a store over any backend.
pub fn over(objects: Arc<dyn ObjectStore>) -> Store {
    Store::new(objects, Path::default(), "memory://table")
}

/// Returns every object of a store: its name and its bytes.
pub async fn objects(store: &Store) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for (name, bytes) in store.list("").await.unwrap() {
        found.push((name.clone(), store.get_exact(&name, bytes).await.unwrap().to_vec()));
    }
    found
}

/// Puts bytes under a name, and replaces any object with that name.
pub async fn overwrite(objects: &dyn ObjectStore, name: &str, bytes: &[u8]) {
    objects.put(&Path::from(name), bytes.to_vec().into()).await.unwrap();
}

/// Boxes a large future outside the frame of its caller, as `tetrys::work::boxed` does.
#[inline(never)]
pub fn boxed<F: Future>(make: impl FnOnce() -> F) -> std::pin::Pin<Box<F>> {
    Box::pin(make())
}

/// Runs a future on a new runtime.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
