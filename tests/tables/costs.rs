//! What each look at a table and each change of it costs: requests and bytes, counted and not timed, by the rows of the table, its
//! versions and its column groups. `TETRYS_FULL=1` counts large tables too, and `--nocapture` prints the tables of costs:
//! `TETRYS_FULL=1 cargo test -p tetrys --test tables costs -- --nocapture`.

use std::{fmt::Write, ops::Range, sync::Arc, time::Duration};

use crate::common::{
    self,
    tables::{self, block_on, over},
};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, cast::AsArray, types::Int64Type};
use object_store::memory::InMemory;
use tetrys::{
    Schema, Store, Table, WriteOptions,
    store::{CountingStore, Counts},
    table::{GcSettings, Storage, now_ms},
};

/// Rows of a batch that is written.
const BATCH: i64 = 100_000;

/// Returns the ids of these rows, and columns whose values are the ids and a number.
fn batch(columns: &[(&str, i64)], rows: Range<i64>) -> RecordBatch {
    let values = |add: i64| Arc::new(Int64Array::from_iter_values(rows.clone().map(|row| row + add))) as ArrayRef;
    RecordBatch::try_from_iter(columns.iter().map(|(name, add)| (*name, values(*add)))).unwrap()
}

const ALL: [(&str, i64); 3] = [("id", 0), ("x", 1), ("y", 2)];

async fn append(table: &Table, rows: Range<i64>) -> Table {
    let writer = table.append(WriteOptions::default()).await.unwrap();
    let mut partition = writer.partition().unwrap();
    partition.write(&batch(&ALL, rows)).await.unwrap();
    writer.commit([partition.finish().await.unwrap()]).await.unwrap()
}

/// Writes a table of so many rows and versions: each further version appends a row.
async fn table(store: Store, rows: i64, versions: u64) -> Table {
    let schema = Schema::builder().index("id", "i64").group("a", [("x", "i64")]).group("b", [("y", "i64")]).build().unwrap();
    let starts = (0..rows).step_by(BATCH as usize);
    let partitions: Vec<RecordBatch> = starts.map(|start| batch(&ALL, start..(start + BATCH).min(rows))).collect();
    let mut table = tables::write(store, schema, WriteOptions::default(), &partitions).await.unwrap();
    for row in (rows..).take(versions as usize - 1) {
        table = append(&table, row..row + 1).await;
    }
    table
}

/// Counts what is done with a table that was opened just before.
struct Meter {
    counting: CountingStore,
    store: Store,
    found: Vec<(&'static str, Counts)>,
}

impl Meter {
    async fn count<T>(&mut self, what: &'static str, work: impl AsyncFnOnce(&Table) -> tetrys::Result<T>) -> T {
        let table = Table::open_in(self.store.clone()).await.unwrap();
        self.counting.reset();
        let done = work(&table).await.unwrap();
        self.found.push((what, self.counting.reset()));
        done
    }
}

/// Returns the costs of looks and changes, in a table of so many rows and versions.
async fn costs(rows: i64, versions: u64) -> Vec<(&'static str, Counts)> {
    let counting = CountingStore::new(InMemory::new());
    let store = over(Arc::new(counting.clone()));
    table(store.clone(), rows, versions).await;
    let mut meter = Meter { counting, store, found: Vec::new() };
    let (settings, options) = (GcSettings { keep_versions: 0, age: Duration::from_secs(3600) }, WriteOptions::default);
    let later = |hours: i64| now_ms() + 3_600_000 * hours;
    // An append that is merged with small segments leaves objects of its own.
    for hours in [2, 4, 6] {
        Storage::of(&meter.store).collect_garbage(settings, later(hours)).await.unwrap();
    }
    meter.count("open", async |table| Table::open_in(table.store().clone()).await).await;
    meter.count("first row", async |table| table.row_loader().take(&[rows as u64 / 2]).await).await;
    meter.count("info", async |table| table.info().await).await;
    meter.count("versions", async |table| table.versions().list().await).await;
    meter.count("doctor", async |table| table.storage().diagnose(settings.age, now_ms()).await).await;
    meter.count("users", async |table| table.storage().users().await).await;
    meter.count("sessions", async |table| table.storage().sessions().await).await;
    meter
        .count("fate of the newest", async |table| table.versions().fate_of(table.version(), table.manifest().commit_id).await)
        .await;
    let gc = meter.count("gc of nothing", async |table| table.storage().collect_garbage(settings, later(8)).await).await;
    assert!(gc.is_empty(), "{gc:?}");
    meter.count("edit", async |table| table.edit().set_property("a", 1).commit().await).await;
    meter.count("append a row", async |table| Ok(append(table, rows + 1000..rows + 1001).await)).await;
    let patch = batch(&[("id", 0), ("x", 7)], rows / 2..rows / 2 + 1);
    meter.count("patch a row", async |table| table.patch(&["id"], &patch, options()).await).await;
    let diff = meter
        .count("diff of that", async |table| {
            let before = Table::open_version_in(table.store().clone(), table.version() - 1).await?;
            table.diff(&before, ["id"]).await
        })
        .await;
    assert!(diff.added.is_empty() && diff.removed.is_empty() && !diff.is_empty());
    meter.count("delete a row", async |table| table.delete([rows as u64 / 3], options()).await).await;
    meter
        .count("add a group", async |table| {
            let mut writer = table.add_group("c", [("z", "i64")], options()).await?;
            let rows = table.rows() as i64;
            for start in (0..rows).step_by(BATCH as usize) {
                writer.write(&batch(&[("z", 3)], start..(start + BATCH).min(rows))).await?;
            }
            writer.commit().await
        })
        .await;
    meter.count("compact", async |table| table.storage().compact(4 << 20).await).await;
    meter.count("compact of nothing", async |table| table.storage().compact(4 << 20).await).await;
    meter.found
}

/// Prints requests and bytes, a line for each cost and a column for each table.
fn print(heads: &[String], all: &[Vec<(&'static str, Counts)>]) {
    let mut text = format!("{:20}", "");
    heads.iter().for_each(|head| write!(text, "{head:>34}").unwrap());
    for (number, (what, _)) in all[0].iter().enumerate() {
        write!(text, "\n{what:20}").unwrap();
        for (_, counts) in all.iter().map(|costs| &costs[number]) {
            let (requests, read, written) = (counts.requests(), counts.bytes_read, counts.bytes_written);
            write!(text, "{requests:>10}{read:>12}{written:>12}").unwrap();
        }
    }
    println!("requests, bytes read, bytes written\n{text}");
}

#[test]
fn more_rows_take_no_more_requests_and_small_changes_write_little() {
    let (rows, versions) = if common::full() { ([10_000, 1_000_000], [1, 100]) } else { ([1_000, 20_000], [1, 12]) };
    let tables = rows.into_iter().flat_map(|rows| versions.map(|versions| (rows, versions)));
    let all: Vec<_> = tables.clone().map(|(rows, versions)| block_on(costs(rows, versions))).collect();
    print(&tables.map(|(rows, versions)| format!("{rows} rows, {versions} versions")).collect::<Vec<_>>(), &all);
    let [few, few_old, many, many_old] = &all[..] else { panic!("two by two tables") };
    for ((what, few), (_, many)) in few.iter().zip(many).chain(few_old.iter().zip(many_old)) {
        // Of a large segment, a tail and pages are read, and of a small one the whole.
        let tails = if ["append a row", "patch a row", "delete a row"].contains(what) { 4 } else { 0 };
        assert!((few.requests()..=few.requests() + tails).contains(&many.requests()), "{what}: {few:?}, {many:?}");
        // The layouts of column groups grow slowly with the rows, and so does what reads or writes them. A deletion writes the index of
        // the segment, and a comparison reads the keys.
        let is_small = ["open", "versions", "edit", "compact of nothing"].contains(what);
        assert!(!is_small || !grown(few.bytes_read, many.bytes_read), "{what}: {few:?}, {many:?}");
        let writes_little = is_small || *what == "append a row";
        assert!(!writes_little || !grown(few.bytes_written, many.bytes_written), "{what}: {few:?}, {many:?}");
    }
    for ((what, young), (_, old)) in few.iter().zip(few_old).filter(|((what, _), _)| ["open", "edit"].contains(what)) {
        assert_eq!(young.requests(), old.requests(), "{what}");
    }
}

/// Whether bytes have grown by more than longer numbers take.
fn grown(few: u64, many: u64) -> bool {
    many > few + few / 5 + 512
}

/// Writes 20 rows of so many column groups.
async fn of_groups(store: Store, count: usize) -> Table {
    let names: Vec<String> = (0..count).map(|group| format!("g{group}.x")).collect();
    let groups = names.iter().enumerate().map(|(group, name)| (format!("g{group}"), [(name.as_str(), "i64")]));
    let schema = groups.fold(Schema::builder().index("id", "i64"), |schema, (group, columns)| schema.group(group, columns));
    let columns = names.iter().zip(0..).map(|(name, group)| (name.as_str(), 100 * group));
    let rows = batch(&[("id", 0)].into_iter().chain(columns).collect::<Vec<_>>(), 0..20);
    tables::write(store, schema.build().unwrap(), WriteOptions::default(), &[rows]).await.unwrap()
}

/// Returns the costs of a table of so many column groups: of writing it, of looks and of changes.
async fn costs_of_groups(groups: usize) -> Vec<(&'static str, Counts)> {
    let counting = CountingStore::new(InMemory::new());
    let store = over(Arc::new(counting.clone()));
    of_groups(store.clone(), groups).await;
    let mut meter = Meter { counting: counting.clone(), store: store.clone(), found: vec![("write", counting.reset())] };
    let options = WriteOptions::default;
    meter.count("open", async |table| Table::open_in(table.store().clone()).await).await;
    let rows = meter.count("two rows", async |table| table.row_loader().take(&[4, 17]).await).await;
    let (last, add) = (rows.batch().column(groups - 1), 100 * (groups as i64 - 1));
    assert_eq!(last.as_primitive::<Int64Type>().values(), &[4 + add, 17 + add]);
    meter.count("info", async |table| table.info().await).await;
    meter.count("edit", async |table| table.edit().set_property("a", 1).commit().await).await;
    let patch = batch(&[("id", 0), ("g7.x", 9)], 3..4);
    meter.count("patch a value", async |table| table.patch(&["id"], &patch, options()).await).await;
    meter.count("delete a row", async |table| table.delete([5], options()).await).await;
    let found = meter.count("verify", async |table| table.storage().verify(|_, _| {}).await).await;
    assert!(found.damage.is_empty());
    meter.found
}

#[test]
fn the_costs_of_a_table_grow_with_its_groups_and_no_faster() {
    let groups: &[usize] = if common::full() { &[10, 100, 1_000, 3_000, 10_000] } else { &[10, 100, 400] };
    let all: Vec<_> = groups.iter().map(|groups| block_on(costs_of_groups(*groups))).collect();
    print(&groups.iter().map(|groups| format!("{groups} groups")).collect::<Vec<_>>(), &all);
    for (groups, costs) in groups.iter().zip(&all) {
        for ((what, least), (_, counts)) in all[0].iter().zip(costs) {
            // The digits of the names and numbers of more groups take some bytes.
            let most = |least: u64| least * *groups as u64 / 9;
            assert!(counts.requests() <= most(least.requests()), "{groups} groups: {what}: {counts:?}");
            assert!(counts.bytes_read <= most(least.bytes_read), "{groups} groups: {what}: {counts:?}");
            assert!(counts.bytes_written <= most(least.bytes_written), "{groups} groups: {what}: {counts:?}");
            let is_of_one_group = ["open", "edit", "patch a value"].contains(what);
            assert!(!is_of_one_group || counts.requests() == least.requests(), "{groups} groups: {what}: {counts:?}");
        }
    }
}
