//! Bad input: every violated rule gives an error of the right kind. Its message names the object, the place, the expected and the
//! found value. No incomplete table ever becomes visible.

use crate::common;
use std::sync::{Arc, Mutex};

use crate::common::{
    hooked::{Act, Hooked, disk_failure},
    tables::{self, Rng, Taste, block_on, cut_by, memory, over, rows_of, sensors, tiny_cuts, two_partitions},
};
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, Float32Array, Int32Array, Int64Array, LargeListArray, RecordBatch, StructArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};
use object_store::memory::InMemory;
use tetrys::{Error, ErrorKind, Receipt, Schema, Store, Table, TableWriter, WriteOptions, table::Cuts};

#[track_caller]
fn says<T>(result: Result<T, Error>, kind: ErrorKind, text: &str) {
    let Err(error) = result else { panic!("accepted; expected: {text}") };
    assert_eq!((error.kind(), error.to_string().as_str()), (kind, text));
}

/// Returns the error message of a commit without all receipts.
fn no_receipt(missing: impl std::fmt::Display, of: u32) -> String {
    format!(
        "no receipt for partition {missing} of {of}: the session keeps the receipts of finished partitions, and the \
         session's `receipts` (--found) returns them; `abandon` (--abandon NUMBER) leaves out the rows of a partition"
    )
}

/// Asserts that the store holds no table.
#[track_caller]
fn nothing_there(store: &Store) {
    says(block_on(Table::open_in(store.clone())), ErrorKind::NotFound, &format!("{}: no table there (no manifest)", store.url()));
}

fn sensors_table() -> Table {
    let (schema, partitions) = two_partitions(1);
    block_on(tables::write(memory().1, schema, cut_by(tiny_cuts()), &partitions)).unwrap()
}

#[test]
fn rows_outside_the_table_are_named_with_its_rows() {
    let table = sensors_table();
    let loader = table.row_loader();
    says(block_on(loader.get_row(20)), ErrorKind::Invalid, "row 20 is outside 0..20");
    says(block_on(loader.get_row(u64::MAX)), ErrorKind::Invalid, "row 18446744073709551615 is outside 0..20");
    says(block_on(loader.take(&[0, 19, 21, 5])), ErrorKind::Invalid, "row 21 is outside 0..20");
    says(block_on(loader.get_rows(20, -1..=0)), ErrorKind::Invalid, "row 20 is outside 0..20");
    says(block_on(loader.explain(20, 0..=0)), ErrorKind::Invalid, "row 20 is outside 0..20");
}

#[test]
fn a_pattern_that_matches_nothing_names_the_nearest_column() {
    let columns = |pattern: &str| sensors_table().row_loader().columns([pattern]).map(|_| ());
    says(columns("lidr.*"), ErrorKind::NotFound, "no column matches `lidr.*`; nearest: `lidar.*`");
    says(columns("camera.jpg"), ErrorKind::NotFound, "no column matches `camera.jpg`; nearest: `camera.jpeg`");
    assert_eq!(columns("re:(").unwrap_err().kind(), ErrorKind::Invalid);
    // A pattern that matches no group column selects index columns.
    assert!(columns("log").is_ok() && columns("lo*").is_ok());
    says(columns("logg"), ErrorKind::NotFound, "no column matches `logg`; nearest: `log`");
}

#[test]
fn offsets_past_2_to_the_31_are_refused() {
    let get = |offsets: Vec<i64>| block_on(sensors_table().row_loader().get_rows(0, offsets)).map(|_| ());
    let text = "offset 2147483648: expected less than 2^31 in size";
    says(get(vec![0, 1 << 31]), ErrorKind::Invalid, text);
    says(get(vec![i64::MIN]), ErrorKind::Invalid, "offset -9223372036854775808: expected less than 2^31 in size");
    says(get(Vec::new()), ErrorKind::Invalid, "0 offsets: expected 1 to 16777216");
    let range = block_on(sensors_table().row_loader().get_rows(0, i64::MIN..=i64::MAX)).map(|_| ());
    let text = "offsets -9223372036854775808..=9223372036854775807: expected at most 16777216, each less than 2^31 in size";
    says(range, ErrorKind::Invalid, text);
}

#[test]
fn a_target_that_exists_is_refused_before_anything_is_written() {
    let table = sensors_table();
    let objects = block_on(table.store().list("")).unwrap();
    let again = block_on(Table::create_in(table.store().clone(), sensors(), WriteOptions::default()));
    says(again.map(|_| ()), ErrorKind::Exists, "memory://table: a table is there already, at version 1");
    assert_eq!(block_on(table.store().list("")).unwrap(), objects);
}

#[test]
fn a_version_that_is_not_there_is_named() {
    let store = sensors_table().store().clone();
    let text = "memory://table: no version 2: the newest is 1, and the first was 1";
    says(block_on(Table::open_version_in(store, 2)).map(|_| ()), ErrorKind::NotFound, text);
}

fn small() -> Schema {
    let builder = Schema::builder().index("log", "utf8").index("time", "i64");
    builder.group("g", [("points", "f32[?,2]"), ("pose", "f64[2]")]).sequence_by(["log"]).order_by(["time"]).build().unwrap()
}

fn small_rows(log: &str, times: &[i64]) -> RecordBatch {
    let batch = rows_of(&small(), &mut Rng(3), &[(log, times.len())], Taste { nulls: 0, ..Taste::SMALL });
    replaced(&batch, "time", Arc::new(Int64Array::from(times.to_vec())))
}

/// Returns the batch with one array replaced, by column name.
fn replaced(batch: &RecordBatch, name: &str, array: ArrayRef) -> RecordBatch {
    let schema = batch.schema();
    let columns = schema
        .fields()
        .iter()
        .zip(batch.columns())
        .map(|(field, column)| (field.name().clone(), if field.name() == name { array.clone() } else { column.clone() }));
    RecordBatch::try_from_iter(columns.collect::<Vec<_>>()).unwrap()
}

/// Asserts the error of writing the batches as one partition, and that the partition cannot be finished after the error.
#[track_caller]
fn write_says(batches: &[RecordBatch], kind: ErrorKind, text: &str) {
    let (_, store) = memory();
    let writer = block_on(Table::create_in(store.clone(), small(), WriteOptions::default())).unwrap();
    let mut partition = writer.partition().unwrap();
    let (last, before) = batches.split_last().unwrap();
    before.iter().for_each(|batch| block_on(partition.write(batch)).unwrap());
    says(block_on(partition.write(last)), kind, text);
    // A good batch after the error does not repair the partition.
    let refused = "partition 0: an earlier write failed; write it again";
    says(block_on(partition.write(&small_rows("later", &[1]))), ErrorKind::Invalid, refused);
    says(block_on(partition.finish()), ErrorKind::Invalid, refused);
    says(block_on(writer.commit([])).map(|_| ()), ErrorKind::Invalid, &no_receipt(0, 1));
    nothing_there(&store);
}

#[test]
fn columns_that_are_missing_unknown_or_of_another_type_are_named() {
    let rows = small_rows("a", &[1, 2]);
    let without = rows.project(&[0, 1, 3]).unwrap();
    let text = "partition 0, rows from 0: no column `points` in the batch; expected f32[?,2]";
    write_says(&[without], ErrorKind::Invalid, text);
    let mut more: Vec<(String, ArrayRef)> =
        rows.schema().fields().iter().zip(rows.columns()).map(|(field, column)| (field.name().clone(), column.clone())).collect();
    more.push(("extra".to_owned(), rows.column(0).clone()));
    let text = "partition 0, rows from 0: column `extra` of the batch is not in the schema";
    write_says(&[RecordBatch::try_from_iter(more).unwrap()], ErrorKind::Invalid, text);
    let ints: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    let text = "partition 0, rows from 0: column `time`: expected i64 (in Arrow Int64), found Int32";
    write_says(&[replaced(&rows, "time", ints.clone())], ErrorKind::Invalid, text);
    let text = "partition 0, rows from 2: column `pose`: expected f64[2] (in Arrow FixedSizeList(2 x Float64)), found Int32";
    write_says(&[rows.clone(), replaced(&small_rows("b", &[1, 2]), "pose", ints)], ErrorKind::Invalid, text);
    let narrow =
        rows_of(&Schema::builder().group("g", [("pose", "f64[3]")]).build().unwrap(), &mut Rng(1), &[("", 2)], Taste::SMALL);
    let error = "partition 0, rows from 0: column `pose`: expected f64[2] (in Arrow FixedSizeList(2 x Float64)), \
                 found FixedSizeList(3 x Float64)";
    write_says(&[replaced(&rows, "pose", narrow.column(0).clone())], ErrorKind::Invalid, error);
}

/// Returns one row of `f32[?,2]` with these extents and elements.
fn points(extents: [i32; 2], elements: Vec<Option<f32>>) -> ArrayRef {
    let len = elements.len();
    let item = Arc::new(Field::new("item", DataType::Float32, true));
    let data = LargeListArray::new(item.clone(), OffsetBuffer::from_lengths([len]), Arc::new(Float32Array::from(elements)), None);
    let extent = Arc::new(Field::new("item", DataType::Int32, true));
    let shape = FixedSizeListArray::new(extent, 2, Arc::new(Int32Array::from(extents.to_vec())), None);
    let fields = vec![Field::new("data", data.data_type().clone(), true), Field::new("shape", shape.data_type().clone(), true)];
    Arc::new(StructArray::new(fields.into(), vec![Arc::new(data), Arc::new(shape)], None))
}

#[test]
fn a_null_part_of_a_tensor_and_a_shape_that_does_not_fit_are_refused() {
    let row = |points: ArrayRef| [replaced(&small_rows("a", &[1]), "points", points)];
    let place = "partition 0, rows from 0: column `points`";
    let text = format!(
        "{place}: a null among the parts of a tensor of type f32[?,2]: an element can be null, or the whole tensor; give the part null elements"
    );
    let item = Arc::new(Field::new("item", DataType::Float32, true));
    let pairs = FixedSizeListArray::new(item, 2, Arc::new(Float32Array::from(vec![1.0; 4])), Some(vec![true, false].into()));
    let list = Arc::new(Field::new("item", pairs.data_type().clone(), true));
    let parts = LargeListArray::new(list, OffsetBuffer::from_lengths([2]), Arc::new(pairs), None);
    write_says(&row(Arc::new(parts)), ErrorKind::Unsupported, &text);
    for (shape, elements, found) in [
        ([1, 3], 3, "[1, 3] with 3"),
        ([2, 2], 2, "[2, 2] with 2"),
        ([-1, 2], 0, "[-1, 2] with 0"),
        ([i32::MAX, 2], 2, "[2147483647, 2] with 2"),
    ] {
        let text = format!("{place}: row 0 of the batch: shape {found} elements, expected f32[?,2]");
        write_says(&row(points(shape, vec![Some(0.5); elements])), ErrorKind::Invalid, &text);
    }
}

#[test]
fn a_sequence_that_comes_back_and_an_order_that_falls_name_the_row() {
    let [a, b, again] = [small_rows("a", &[5, 6]), small_rows("b", &[1]), small_rows("a", &[7])];
    let text = "partition 0: row 3: sequence log=`a` appears again after another one; its rows must be consecutive";
    write_says(&[a.clone(), b, again], ErrorKind::Invalid, text);
    let text = "partition 0: row 2: time=4 is less than in the row before; order_by columns may not decrease in a sequence";
    write_says(&[a, small_rows("a", &[4])], ErrorKind::Invalid, text);
}

/// Asserts the error of a commit of these partitions of [`small`], and that no table is visible after the error.
fn commit_says(partitions: &[RecordBatch], change: impl FnOnce(Vec<Receipt>) -> Vec<Receipt>, text: &str) {
    let (_, store) = memory();
    let writer = block_on(Table::create_in(store.clone(), small(), WriteOptions::default())).unwrap();
    let receipts = partitions.iter().map(|batch| {
        let mut partition = writer.partition().unwrap();
        block_on(partition.write(batch)).unwrap();
        block_on(partition.finish()).unwrap()
    });
    let receipts = change(receipts.collect());
    says(block_on(writer.commit(receipts)).map(|_| ()), ErrorKind::Invalid, text);
    nothing_there(&store);
}

#[test]
fn rules_of_sequences_hold_across_partitions() {
    let text = "partition 2: row 2: sequence log=`a` appears again after another one; its rows must be consecutive";
    let parts = [small_rows("a", &[1]), small_rows("b", &[1]), small_rows("a", &[2])];
    commit_says(&parts, |receipts| receipts, text);
    let text = "partition 1: row 1: time=1 is less than in the row before; order_by columns may not decrease in a sequence";
    commit_says(&[small_rows("a", &[2]), small_rows("a", &[1])], |receipts| receipts, text);
}

#[test]
fn missing_conflicting_and_foreign_receipts_are_named_and_equal_ones_are_one() {
    let parts = [small_rows("a", &[1]), small_rows("b", &[1])];
    let first = |receipts: Vec<Receipt>| receipts[..1].to_vec();
    commit_says(&parts, first, &no_receipt("1", 2));
    commit_says(&parts, |_| Vec::new(), &no_receipt("0, 1", 2));
    let conflicting = |mut receipts: Vec<Receipt>| {
        receipts.push(Receipt { rows: 9, ..receipts[1].clone() });
        receipts
    };
    let text = "two different receipts for partition 1, of 1 and 9 rows: it was written twice; keep one";
    commit_says(&parts, conflicting, text);
    let (_, store) = memory();
    let writer = block_on(Table::create_in(store.clone(), small(), WriteOptions::default())).unwrap();
    let own = block_on(writer.partition().unwrap().finish()).unwrap();
    let other = block_on(Table::create_in(memory().1, small(), WriteOptions::default())).unwrap();
    let foreign = block_on(other.partition().unwrap().finish()).unwrap();
    let text = format!(
        "receipt of partition 0 is of session {}, expected {}: pass the receipts of this session alone",
        foreign.session, own.session
    );
    says(block_on(writer.commit([own, foreign])).map(|_| ()), ErrorKind::Invalid, &text);
    nothing_there(&store);

    let writer = block_on(Table::create_in(store.clone(), small(), WriteOptions::default())).unwrap();
    let mut partition = writer.partition().unwrap();
    block_on(partition.write(&parts[0])).unwrap();
    let receipt = block_on(partition.finish()).unwrap();
    let copy: Receipt = serde_json::from_str(&serde_json::to_string(&receipt).unwrap()).unwrap();
    assert_eq!(block_on(writer.commit([copy, receipt.clone(), receipt])).unwrap().rows(), 1);
}

#[test]
fn a_receipt_of_impossible_numbers_is_refused_without_a_panic() {
    for (partition, rows) in [(u32::MAX, 1), (0, u64::MAX), (0, 2)] {
        let (_, store) = memory();
        let writer = block_on(Table::create_in(store.clone(), small(), WriteOptions::default())).unwrap();
        let mut written = writer.partition().unwrap();
        block_on(written.write(&small_rows("a", &[1]))).unwrap();
        let receipt = Receipt { partition, rows, ..block_on(written.finish()).unwrap() };
        assert!(block_on(writer.commit([receipt])).is_err(), "partition {partition}, {rows} rows");
        nothing_there(&store);
    }
}

#[test]
fn impossible_cuts_are_named() {
    let cuts = Cuts { block_min: 0, ..Cuts::default() };
    let created = block_on(Table::create_in(memory().1, small(), cut_by(cuts))).map(|_| ());
    let text = "cuts: block min/target/max 0/16384/65536: expected 1 <= min < target < max <= 1048576";
    says(created, ErrorKind::Invalid, text);
    assert_eq!(Cuts::default().with_chunk_max(u64::MAX).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn a_schema_without_index_columns_is_refused() {
    let schema = Schema::builder().group("g", [("points", "f32[?,2]")]).build().unwrap();
    let created = block_on(Table::create_in(memory().1, schema, WriteOptions::default())).map(|_| ());
    says(created, ErrorKind::Invalid, "the schema has no index column, at least one is needed");
}

#[test]
fn a_url_or_path_that_cannot_be_a_table_is_named() {
    let text = "scheme `gopher`: expected a path, or a URL that begins with file://, s3://, gs://, az://, abfss://, http://, \
                https:// or memory://";
    says(block_on(Table::open("gopher://h/t")).map(|_| ()), ErrorKind::Unsupported, text);
    let folder = tempfile::tempdir().unwrap();
    let absent = folder.path().join("absent");
    let error = block_on(Table::open(absent.to_str().unwrap())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().ends_with("/absent: no table there (no manifest)"), "{error}");
    let file = folder.path().join("file");
    std::fs::write(&file, "not a directory").unwrap();
    for path in [file.clone(), file.join("inside")] {
        let error = block_on(Table::create(path.to_str().unwrap(), small(), WriteOptions::default())).map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains("file"), "{error}");
    }
}

/// Asserts the error of writing a table to a backend whose puts fail from the n-th on, for each n, and that no table is visible
/// after the error.
fn failing_says(words: &'static str, cause: std::io::ErrorKind, kind: ErrorKind, text: &str) {
    let (schema, partitions) = two_partitions(1);
    for from in 0..14 {
        let raw = Arc::new(InMemory::new());
        let seen = Mutex::new(0);
        let hooked = Hooked::new(raw.clone(), move |_, verb, _| {
            let mut seen = seen.lock().unwrap();
            *seen += usize::from(verb == "put");
            if verb == "put" && *seen > from { Act::Before(disk_failure(words, cause)) } else { Act::Pass }
        });
        let written = block_on(tables::write(over(Arc::new(hooked)), schema.clone(), cut_by(tiny_cuts()), &partitions));
        let error = written.map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(text), "{error}");
        nothing_there(&over(raw));
    }
}

#[test]
fn a_full_disk_and_missing_rights_are_named_and_leave_nothing_visible() {
    let words = "Unable to copy data to file";
    failing_says(words, std::io::ErrorKind::StorageFull, ErrorKind::Unavailable, " in memory://table: the disk is full");
    let text = " in memory://table: the disk quota is used up";
    failing_says(words, std::io::ErrorKind::QuotaExceeded, ErrorKind::Unavailable, text);
    let text = " in memory://table: permission denied by the file system";
    failing_says("Unable to open file", std::io::ErrorKind::PermissionDenied, ErrorKind::Denied, text);
}

/// The environment variable with the folder to which the child process of the next test may not write.
#[cfg(target_os = "linux")]
const READ_ONLY: &str = "TETRYS_TEST_READ_ONLY";

#[cfg(target_os = "linux")]
#[test]
fn a_directory_without_the_right_to_write_is_denied() {
    use std::os::unix::{fs::PermissionsExt, process::CommandExt};
    if let Some(folder) = std::env::var_os(READ_ONLY) {
        return writing_is_denied(&folder.into_string().unwrap());
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o555)).unwrap();
    if std::fs::write(folder.path().join("probe"), "").is_err() {
        return writing_is_denied(folder.path().to_str().unwrap());
    }
    std::fs::remove_file(folder.path().join("probe")).unwrap();
    // The superuser may write anywhere, so the test runs once more in a child process as the user nobody.
    let mut child = std::process::Command::new("/proc/self/exe");
    child.uid(65534).gid(65534).current_dir("/").env(READ_ONLY, folder.path());
    let output =
        child.args(["--exact", "bad_input::a_directory_without_the_right_to_write_is_denied", "--nocapture"]).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[cfg(target_os = "linux")]
fn writing_is_denied(folder: &str) {
    let (schema, partitions) = two_partitions(1);
    let store = Store::open(folder).unwrap();
    let error = block_on(tables::write(store.clone(), schema, cut_by(tiny_cuts()), &partitions)).map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(error.to_string().contains("permission denied"), "{error}");
    nothing_there(&store);
}

#[test]
fn what_was_not_attached_is_named() {
    says(block_on(sensors_table().attachment("map")).map(|_| ()), ErrorKind::NotFound, "no attachment `map`");
}

#[test]
fn a_long_text_in_the_index_is_refused_by_its_column() {
    let schema = || Schema::builder().index("log", "utf8").group("g", [("v", "i64")]).build().unwrap();
    let batch = |texts: Vec<String>| {
        let values = Int64Array::from(vec![0; texts.len()]);
        RecordBatch::try_from_iter([
            ("log", Arc::new(arrow_array::LargeStringArray::from(texts)) as ArrayRef),
            ("v", Arc::new(values)),
        ])
        .unwrap()
    };
    let written = |texts: Vec<String>| {
        block_on(async {
            let writer = Table::create_in(memory().1, schema(), WriteOptions::default()).await?;
            let mut partition = writer.partition()?;
            partition.write(&batch(texts)).await?;
            writer.commit([partition.finish().await?]).await
        })
    };
    let error = written(vec!["short".into(), "x".repeat(65_537)]).unwrap_err();
    assert!(error.to_string().contains("index column `log`: a text of 65537 bytes, at most 65536"), "{error}");
    // An index column of a segment may have 16 MiB of text plus 1 KiB for each row; 300 rows of 64 KiB exceed that.
    let error = written(vec!["x".repeat(65_536); 300]).unwrap_err();
    assert!(error.to_string().contains("with 19660800 bytes of text in 300 rows, at most 17084416"), "{error}");
    assert_eq!(written(vec!["x".repeat(65_536); 250]).unwrap().rows(), 250);
}

#[test]
fn a_session_whose_receipts_were_lost_is_committed_with_those_in_the_store() {
    let (_, store) = memory();
    block_on(async {
        let writer = Table::create_in(store.clone(), small(), WriteOptions::default()).await.unwrap();
        for log in ["a", "b"] {
            let mut partition = writer.partition().unwrap();
            partition.write(&small_rows(log, &[1, 2])).await.unwrap();
            partition.finish().await.unwrap();
        }
        let dead = writer.partition().unwrap();
        let error = writer.commit([]).await.unwrap_err();
        assert!(error.to_string().contains("no receipt for partition 0, 1, 2 of 3"), "{error}");
        let error = writer.commit(writer.receipts().await.unwrap()).await.unwrap_err();
        assert!(error.to_string().contains("no receipt for partition 2 of 3"), "{error}");
        writer.abandon(dead.number());
        let table = writer.commit(writer.receipts().await.unwrap()).await.unwrap();
        assert_eq!((table.rows(), store.list("sessions").await.unwrap().len()), (4, 0));
        let error = writer.commit(writer.receipts().await.unwrap()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        // The same holds for appended rows.
        let writer = table.append(WriteOptions::default()).await.unwrap();
        let mut partition = writer.partition().unwrap();
        partition.write(&small_rows("c", &[1])).await.unwrap();
        partition.finish().await.unwrap();
        assert_eq!(writer.commit([]).await.unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(writer.commit(writer.receipts().await.unwrap()).await.unwrap().rows(), 5);
    });
}

#[test]
fn a_commit_never_leaves_out_a_partition_that_another_process_finished() {
    let (_, store) = memory();
    block_on(async {
        let mut rows = 0;
        for appends in [false, true] {
            let began = match appends {
                false => Table::create_in(store.clone(), small(), WriteOptions::default()).await.unwrap(),
                true => Table::open_in(store.clone()).await.unwrap().append(WriteOptions::default()).await.unwrap(),
            };
            let ticket = began.ticket().unwrap();
            let worker = TableWriter::join(store.clone(), &ticket).unwrap();
            let mut receipts = Vec::new();
            for number in 0..3 {
                let mut partition = worker.partition_at(number).unwrap();
                partition.write(&small_rows(&format!("{appends} {number}"), &[1, 2])).await.unwrap();
                receipts.push(partition.finish().await.unwrap());
            }
            // The last receipts are lost. The commit fails in the process that began the session and in one that joined the
            // session.
            let joined = TableWriter::join(store.clone(), &ticket).unwrap();
            for committer in [&began, &joined] {
                for (given, missing) in [(2, "2"), (1, "1, 2"), (0, "0, 1, 2")] {
                    let error = committer.commit(receipts[..given].to_vec()).await.unwrap_err();
                    assert!(error.to_string().starts_with(&no_receipt(missing, 3)), "{error}");
                }
            }
            // A commit without a partition succeeds after the caller has abandoned the partition.
            joined.abandon(2);
            rows += 4;
            let made = joined.commit(receipts[..2].to_vec()).await.unwrap();
            assert_eq!(made.rows(), rows);
            // A partition that is finished only now leaves its receipt. The same commit made again still finds its version.
            let mut late = worker.partition_at(7).unwrap();
            late.write(&small_rows(&format!("{appends} late"), &[1])).await.unwrap();
            late.finish().await.unwrap();
            for committer in [&began, &TableWriter::join(store.clone(), &ticket).unwrap()] {
                let again = committer.commit(receipts[..2].to_vec()).await.unwrap();
                assert_eq!((again.version(), again.manifest_hash()), (made.version(), made.manifest_hash()));
            }
        }
    });
}

#[test]
fn a_session_of_several_processes_adds_its_rows_once_whoever_commits_it_and_whatever_came_before() {
    let (_, store) = memory();
    block_on(async {
        let rows = small_rows("a", &[1, 2]);
        let table = common::tables::write(store.clone(), small(), WriteOptions::default(), &[rows]).await.unwrap();
        let writer = table.append(WriteOptions::default()).await.unwrap();
        let ticket = writer.ticket().unwrap();
        let mut partition = writer.partition().unwrap();
        partition.write(&small_rows("b", &[1, 2])).await.unwrap();
        let receipt = partition.finish().await.unwrap();
        // A second process is ready to commit. Another writer appends rows, and the first process commits on top of those rows.
        let late = TableWriter::join(store.clone(), &ticket).unwrap();
        late.expect_partitions(1);
        let other = table.append(WriteOptions::default()).await.unwrap();
        let mut partition = other.partition().unwrap();
        partition.write(&small_rows("c", &[1])).await.unwrap();
        other.commit([partition.finish().await.unwrap()]).await.unwrap();
        let made = writer.commit([receipt.clone()]).await.unwrap();
        assert_eq!((made.version(), made.rows()), (3, 5));
        let again = late.commit([receipt]).await.unwrap();
        assert_eq!((again.version(), again.manifest_hash()), (3, made.manifest_hash()));
        let newest = Table::open_in(store.clone()).await.unwrap();
        assert_eq!((newest.version(), newest.rows()), (3, 5));
    });
}

#[test]
fn no_table_is_made_under_the_name_of_a_version() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    for (name, is_fine) in [("x@1", false), ("x@gold", false), ("a@1/x", true), ("x@", true), ("@1", false), ("x@a b", true)] {
        let store = tetrys::Store::open(&format!("{place}/{name}")).unwrap();
        let made = block_on(Table::create_in(store, small(), WriteOptions::default())).map(|_| ());
        match made {
            Ok(()) => assert!(is_fine, "{name}"),
            Err(error) => {
                assert!(!is_fine && error.kind() == ErrorKind::Invalid, "{name}: {error}");
                assert!(error.to_string().contains("expected a new table, found the name of a version"), "{error}");
            }
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
