//! The engine reports what it does as spans of the `tracing` crate.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use arrow_array::{Float32Array, Int64Array, RecordBatch};
use tetrys::{Schema, Table, WriteOptions};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::set_global_default,
};

use crate::common::tables::block_on;

/// Collects the names of the spans of one table, and whether anything was decoded. It serves all threads: with a subscriber for one
/// thread, spans that another thread meets first stay off for all.
struct Spans {
    folder: String,
    seen: Arc<Mutex<Vec<&'static str>>>,
    ids: AtomicU64,
}

struct Fields<'a>(&'a mut BTreeMap<String, String>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").trim_matches('"').to_owned());
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("tetrys")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = BTreeMap::new();
        span.record(&mut Fields(&mut fields));
        let name = span.metadata().name();
        if name == "decode" || fields.get("url").is_some_and(|url| url.contains(&self.folder)) {
            self.seen.lock().unwrap().push(name);
        }
        Id::from_u64(self.ids.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[test]
fn opening_planning_fetching_decoding_and_committing_are_spans_with_the_url_of_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let url = folder.path().join("t").display().to_string();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let spans = Spans { folder: folder.path().display().to_string(), seen: Arc::clone(&seen), ids: AtomicU64::new(0) };
    set_global_default(spans).unwrap();
    block_on(async {
        let schema = Schema::builder().index("id", "i64").group("a", [("a.x", "f32")]).build().unwrap();
        let writer = Table::create(&url, schema, WriteOptions::default()).await.unwrap();
        let mut partition = writer.partition().unwrap();
        let columns =
            [("id", Arc::new(Int64Array::from(vec![1, 2])) as _), ("a.x", Arc::new(Float32Array::from(vec![0.5, 1.5])) as _)];
        partition.write(&RecordBatch::try_from_iter(columns).unwrap()).await.unwrap();
        writer.commit([partition.finish().await.unwrap()]).await.unwrap();
        let table = Table::open(&url).await.unwrap();
        // The second read finds the layouts in memory.
        let loader = table.row_loader().cache_bytes(0);
        for _ in 0..2 {
            assert_eq!(loader.take(&[1, 0]).await.unwrap().len(), 2);
        }
    });
    let seen = seen.lock().unwrap();
    assert!(seen.contains(&"decode"));
    let of_table: Vec<&str> = seen.iter().copied().filter(|name| *name != "decode").collect();
    assert_eq!(of_table, ["commit", "open", "plan", "fetch", "plan", "fetch"]);
}
