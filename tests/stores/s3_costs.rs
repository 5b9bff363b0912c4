//! The server counts the requests of changes and collections of a table on S3, by their kind. `--nocapture` prints them, with the longest
//! chain of requests that depend on each other. `tests/tables/costs.rs` counts requests and bytes in memory.

use std::{collections::BTreeMap, fmt::Write, ops::Range, sync::Arc, time::Duration};

use crate::common::{
    self, s3,
    tables::{self, Rng, block_on, cut_by},
};
use arrow_array::{ArrayRef, Int64Array, LargeBinaryArray, RecordBatch};
use futures::{FutureExt, future::BoxFuture};
use tetrys::{
    Schema, Store, Table, WriteOptions,
    table::{Cuts, GcSettings, Storage, now_ms},
};
use tetrys_s3_server::{Fault, Latency, Server, dependent};

/// Requests by their kind, such as `GET`, `LIST` or `PUT manifest`.
type Kinds = BTreeMap<String, usize>;

fn batch(rows: Range<i64>) -> RecordBatch {
    let values = |add: i64| Arc::new(Int64Array::from_iter_values(rows.clone().map(|row| row + add))) as ArrayRef;
    RecordBatch::try_from_iter([("id", values(0)), ("x", values(1)), ("y", values(2))]).unwrap()
}

async fn append(table: &Table, rows: Range<i64>) -> tetrys::Result<Table> {
    let writer = table.append(WriteOptions::default()).await?;
    let mut partition = writer.partition()?;
    partition.write(&batch(rows)).await?;
    writer.commit([partition.finish().await?]).await
}

struct Meter<'a> {
    server: &'a Server,
    store: Store,
    found: Vec<(&'static str, Kinds, usize)>,
}

impl Meter<'_> {
    async fn count<T>(&mut self, what: &'static str, work: impl AsyncFnOnce(&Table) -> tetrys::Result<T>) -> T {
        let table = Table::open_in(self.store.clone()).await.unwrap();
        self.server.take_served();
        let done = work(&table).await.unwrap();
        let served = self.server.take_served();
        let mut kinds = Kinds::new();
        for request in served.iter().map(|served| &served.request) {
            let kind = if request.is_list() { "LIST" } else { request.method.as_str() };
            *kinds.entry(kind.to_owned()).or_default() += 1;
        }
        self.found.push((what, kinds, dependent(&served)));
        done
    }

    fn requests(&self, what: &str) -> usize {
        self.found.iter().filter(|(name, ..)| *name == what).flat_map(|(_, kinds, _)| kinds.values()).sum()
    }
}

/// Counts in a table of so many versions, each of which appended a row.
async fn costs(server: &Server, versions: i64) -> Meter<'_> {
    const ROWS: i64 = 1_000;
    let store = s3::store(server, &format!("of-{versions}"));
    let schema = Schema::builder().index("id", "i64").group("a", [("x", "i64")]).group("b", [("y", "i64")]).build().unwrap();
    let mut table = tables::write(store.clone(), schema, WriteOptions::default(), &[batch(0..ROWS)]).await.unwrap();
    for row in 1..versions {
        table = append(&table, ROWS + row..ROWS + row + 1).await.unwrap();
    }
    server
        .set_latency(Latency { per_request: Duration::from_millis(if common::full() { 30 } else { 0 }), bytes_per_second: None });
    let settings = GcSettings { keep_versions: 2, age: Duration::from_secs(3600) };
    let later = |hours: i64| now_ms() + 3_600_000 * hours;
    let mut meter = Meter { server, store, found: Vec::new() };
    meter.count("open", async |table| Table::open_in(table.store().clone()).await).await;
    meter.count("edit", async |table| table.edit().set_property("a", 1).commit().await).await;
    meter.count("append a row", async |table| append(table, 5_000..5_001).await).await;
    let of = |value: i64| Arc::new(Int64Array::from(vec![value])) as ArrayRef;
    let patch = RecordBatch::try_from_iter([("id", of(ROWS / 2)), ("y", of(7))]).unwrap();
    meter.count("patch a row", async |table| table.patch(&["id"], &patch, WriteOptions::default()).await).await;
    meter.count("delete a row", async |table| table.delete([ROWS as u64 / 3], WriteOptions::default()).await).await;
    meter.count("verify", async |table| table.storage().verify(|_, _| {}).await).await;
    let collect = async |table: &Table, hours| table.storage().collect_garbage(settings, later(hours)).await;
    meter.count("gc: gives up", async |table| collect(table, 2).await).await;
    let deleted = meter.count("gc: deletes", async |table| collect(table, 4).await).await;
    assert!(!deleted.delete.is_empty(), "{deleted:?}");
    meter.count("gc: forgets", async |table| collect(table, 6).await).await;
    meter.count("gc of nothing", async |table| collect(table, 8).await).await;
    server.set_latency(Latency::default());
    meter
}

#[test]
fn a_change_on_s3_takes_few_requests_and_no_more_where_there_are_more_versions() {
    let server = s3::server();
    let [few, many] = [1, if common::full() { 100 } else { 12 }];
    let all = [few, many].map(|versions| block_on(costs(&server, versions)));
    let mut text = format!("{:16}{:>58}{:>58}", "", format!("versions: {few}"), many);
    for (number, (what, ..)) in all[0].found.iter().enumerate() {
        write!(text, "\n{what:16}").unwrap();
        for meter in &all {
            let (_, kinds, rounds) = &meter.found[number];
            let kinds: Vec<String> = kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
            write!(text, "{:>5} in {rounds:>3}: {:<46}", meter.requests(what), kinds.join(", ")).unwrap();
        }
    }
    println!(
        "requests, and the longest chain of dependent ones (too long without TETRYS_FULL=1: the server then has no latency)\n{text}"
    );
    let [few, many] = &all;
    for (what, most) in [("open", 3), ("edit", 4), ("append a row", 20), ("patch a row", 12), ("delete a row", 18)] {
        assert!(few.requests(what) <= most, "{what}: {}", few.requests(what));
        assert_eq!(few.requests(what), many.requests(what), "{what}");
    }
}

/// A wave of requests has no answer before the last one of them has come: a change that waits for an answer in between would not end.
#[test]
fn a_change_sends_what_it_can_at_a_time() {
    let server = s3::server();
    block_on(async {
        let schema = Schema::builder().index("id", "i64").group("a", [("x", "i64")]).group("b", [("y", "i64")]).build().unwrap();
        let store = s3::store(&server, "t");
        tables::write(store.clone(), schema, WriteOptions::default(), &[batch(0..1_000)]).await.unwrap();
        let waves = async |waves: &[usize], change: &dyn for<'a> Fn(&'a Table) -> BoxFuture<'a, tetrys::Result<Table>>| {
            let table = Table::open_in(store.clone()).await.unwrap();
            server.answer_in_waves(waves);
            let changed = change(&table).await;
            let sent = server.take_waves();
            changed.unwrap_or_else(|error| panic!("{error}: {sent:?}"));
            assert!(sent.len() == waves.len() + 1 && sent[waves.len()].is_empty(), "more than {waves:?}: {sent:?}");
        };
        // The versions, beside layouts and hashes of the last segment; the begin file; the versions again, beside the chunks; layouts, hashes
        // and index, beside a look at the begin file; the versions, beside the manifest of the base; the claim; the versions; the end.
        waves(&[5, 1, 3, 6, 2, 1, 1, 1], &|table| append(table, 1_000..1_001).boxed()).await;
        // The keys; sequences, layout and hashes; the chunk; the new chunk; layout and hashes; then as above.
        waves(&[1, 3, 1, 1, 2, 2, 1, 1], &|table| {
            let of = |value: i64| Arc::new(Int64Array::from(vec![value])) as ArrayRef;
            let patch = RecordBatch::try_from_iter([("id", of(500)), ("y", of(7))]).unwrap();
            async move { table.patch(&["id"], &patch, WriteOptions::default()).await }.boxed()
        })
        .await;
        // Index, layouts and hashes; the chunks, and the index without the row; new chunks; layouts and hashes; then as above.
        waves(&[5, 3, 2, 4, 2, 1, 1], &|table| table.delete([300], WriteOptions::default()).boxed()).await;
    });
}

/// Collects the garbage of a table until nothing is left. Returns the folders of the objects that stay.
fn collected(server: &Server, path: &str) -> Vec<String> {
    let store = s3::store(server, path);
    let settings = GcSettings { keep_versions: 1, age: Duration::from_secs(3600) };
    for hours in [2, 4, 6, 8] {
        block_on(Storage::of(&store).collect_garbage(settings, now_ms() + 3_600_000 * hours)).unwrap();
    }
    let names = server.names("data").into_iter();
    let mut folders: Vec<String> =
        names.filter_map(|name| Some(name.strip_prefix(path)?.split('/').nth(1)?.to_owned())).collect();
    folders.sort_unstable();
    folders
}

#[test]
fn one_request_deletes_many_objects_and_a_service_without_such_requests_is_asked_for_each() {
    let server = s3::server();
    let makes = |path: &str| {
        block_on(async {
            let schema = Schema::builder().index("id", "i64").group("a", [("x", "i64")]).build().unwrap();
            let rows = batch(0..50).project(&[0, 1]).unwrap();
            let mut table = tables::write(s3::store(&server, path), schema, WriteOptions::default(), std::slice::from_ref(&rows))
                .await
                .unwrap();
            for row in 0..20 {
                table = table.delete([row], WriteOptions::default()).await.unwrap();
            }
        });
        server.take_requests();
        let left = collected(&server, path);
        let requests = server.take_requests();
        let count = |of: fn(&tetrys_s3_server::Request) -> bool| requests.iter().filter(|request| of(request)).count();
        (
            left,
            count(|request| request.method == "DELETE"),
            count(|request| request.method == "POST" && request.query == "delete"),
        )
    };
    let (bulk, single, many) = makes("bulk");
    let deleted = server.take_deleted().len();
    assert!(deleted >= 80 && many <= 6 && single <= many, "{deleted} objects: {many} requests for many, {single} for one");
    for (path, code, name) in
        [("without-501", 501, "NotImplemented"), ("without-405", 405, "MethodNotAllowed"), ("without-400", 400, "MalformedXML")]
    {
        let refused = move |request: &tetrys_s3_server::Request| request.query == "delete" && request.method == "POST";
        server.on_request(move |request| refused(request).then_some(Fault::Refuse(code, name)));
        let (left, single, many) = makes(path);
        assert!(single >= 80 && many <= 6, "{code}: {many} requests for many, {single} for one");
        assert_eq!(left, bulk, "{code}: what is left");
    }
}

#[test]
fn a_verification_reads_many_chunks_at_a_time() {
    let server = s3::server();
    block_on(async {
        let schema = Schema::builder().index("id", "i64").group("a", [("x", "binary")]).build().unwrap();
        let mut rng = Rng(common::seed());
        let bytes: Vec<Vec<u8>> = (0..24).map(|_| rng.bytes(9_000)).collect();
        let column = Arc::new(LargeBinaryArray::from_iter_values(&bytes)) as ArrayRef;
        let ids = Arc::new(Int64Array::from_iter_values(0..24)) as ArrayRef;
        let rows = RecordBatch::try_from_iter([("id", ids), ("x", column)]).unwrap();
        let cuts = Cuts { block_min: 1, block_target: 64, ..Cuts::default() }.with_chunk_max(9_200).unwrap();
        let table = tables::write(s3::store(&server, "t"), schema, cut_by(cuts), &[rows]).await.unwrap();
        let chunks = table.info().await.unwrap().chunks;
        assert!((12..=32).contains(&chunks), "{chunks}");
        let table = Table::open_in(s3::store(&server, "t")).await.unwrap();
        // A listing; a manifest; the index; layout and hashes; all chunks, none of which is answered before the last one is asked for;
        // the pins.
        server.answer_in_waves(&[1, 1, 1, 2, chunks as usize, 1]);
        let found = table.storage().verify(|_, _| {}).await;
        let waves = server.take_waves();
        let found = found.unwrap_or_else(|error| panic!("{error}: {waves:?}"));
        assert!(found.damage.is_empty() && found.chunks == chunks, "{found:?}");
        assert!(waves[4].iter().all(|request| request.key.contains("/chunks/")) && waves[6].is_empty(), "{waves:?}");
    });
}
