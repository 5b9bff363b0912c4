//! The requests of a cold reader from opening a table to its first row, and how many of them depend on each other: the newest
//! manifest is listed and read, then one layout for each group (for windows, the index before the layouts), then the ranges of
//! chunks.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::common::tables::{self, block_on, cut_by, memory, over, tiny_cuts, two_partitions};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, cast::AsArray, types::Int64Type};
use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt};
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions,
    PutPayload, PutResult, Result, memory::InMemory, path::Path,
};
use tetrys::{
    Schema, Store, Table, WriteOptions,
    store::{CountingStore, Counts},
};

/// A backend that groups requests into waves of concurrent requests. A request belongs to a wave if it starts before any request
/// of that wave is answered. The backend answers after all requests that can start have started.
#[derive(Clone, Debug)]
struct Waves {
    inner: CountingStore,
    answered: Arc<AtomicU64>,
}

impl Waves {
    async fn enter(&self) {
        let wave = self.answered.load(Ordering::SeqCst) + 1;
        for _ in 0..64 {
            tokio::task::yield_now().await;
        }
        self.answered.fetch_max(wave, Ordering::SeqCst);
    }

    /// Returns the number of waves since the last call.
    fn take(&self) -> u64 {
        self.answered.swap(0, Ordering::SeqCst)
    }
}

impl fmt::Display for Waves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Waves({})", self.inner)
    }
}

#[async_trait]
impl ObjectStore for Waves {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        self.enter().await;
        self.inner.put_opts(location, payload, opts).await
    }

    async fn put_multipart_opts(&self, location: &Path, opts: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, opts).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.enter().await;
        self.inner.get_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (waves, listing) = (self.clone(), self.inner.list(prefix));
        stream::once(async move { waves.enter().await }).flat_map(|()| stream::empty()).chain(listing).boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

/// Writes a table of three groups in a store that counts requests and waves.
fn cold() -> (CountingStore, Waves) {
    let (raw, store) = memory();
    let (schema, partitions) = two_partitions(1);
    block_on(tables::write(store, schema, cut_by(tiny_cuts()), &partitions)).unwrap();
    let counting = CountingStore::new(raw);
    (counting.clone(), Waves { inner: counting, answered: Arc::default() })
}

/// Returns the number of listings, and the folders of the objects that were read, in order.
fn asked(counts: &Counts) -> (u64, Vec<&str>) {
    assert_eq!(counts.requests(), counts.lists + counts.gets.len() as u64, "{counts:?}");
    assert_eq!(counts.failed, 0);
    (counts.lists, counts.gets.iter().map(|get| get.path.split('/').next().unwrap()).collect())
}

/// Writes five rows of so many column groups.
async fn of_groups(store: Store, count: usize) -> Table {
    let names: Vec<String> = (0..count).map(|group| format!("g{group}")).collect();
    let column = |group: usize| format!("g{group}.x");
    let schema = names
        .iter()
        .enumerate()
        .fold(Schema::builder().index("id", "i64"), |schema, (group, name)| schema.group(name, [(column(group), "i64")]));
    let values = |group: i64| Arc::new(Int64Array::from_iter_values((0..5).map(|row| 100 * group + row))) as ArrayRef;
    let columns = (0..count).map(|group| (column(group), values(group as i64)));
    let rows = RecordBatch::try_from_iter([("id".to_owned(), values(0))].into_iter().chain(columns)).unwrap();
    tables::write(store, schema.build().unwrap(), WriteOptions::default(), &[rows]).await.unwrap()
}

#[test]
fn the_requests_of_a_write_grow_with_the_groups_and_few_wait_for_others() {
    let of = |groups: usize| {
        let counting = CountingStore::new(InMemory::new());
        let waves = Waves { inner: counting.clone(), answered: Arc::default() };
        block_on(of_groups(over(Arc::new(waves.clone())), groups));
        (counting.snapshot().requests(), waves.take())
    };
    let ((few_requests, few), (many_requests, many)) = (of(8), of(136));
    assert!(many_requests - few_requests <= 128 * 10, "{few_requests} and {many_requests} requests");
    assert!(many - few < 128 / 2, "{few} and {many} waves");
}

#[test]
fn a_table_of_two_thousand_groups_is_written_and_read() {
    block_on(async {
        let table = of_groups(memory().1, 2_000).await;
        let table = Table::open_in(table.store().clone()).await.unwrap();
        let rows = table.row_loader().take(&[4, 2]).await.unwrap();
        assert_eq!(rows.batch().num_columns(), 2_000);
        assert_eq!(rows.batch().column(1_999).as_primitive::<Int64Type>().values(), &[199_904, 199_902]);
        let one = table.row_loader().columns(["g777.*"]).unwrap().get_row(3).await.unwrap();
        assert_eq!(one.as_rows().batch().column(0).as_primitive::<Int64Type>().values(), &[77_703]);
    });
}

#[test]
#[cfg(target_os = "linux")]
fn many_tables_that_are_read_keep_few_files_open() {
    let folder = tempfile::tempdir().unwrap();
    let open_files = || {
        let open = std::fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
        open.filter(|path| path.starts_with(folder.path())).count()
    };
    block_on(async {
        let mut tables = Vec::new();
        for number in 0..40 {
            let url = folder.path().join(number.to_string()).display().to_string();
            let table = of_groups(Store::open(&url).unwrap(), 8).await;
            table.row_loader().get_row(number % 5).await.unwrap();
            tables.push(table);
        }
        assert!(open_files() <= 256, "{} files", open_files());
        for (number, table) in tables.iter().enumerate() {
            let rows = table.row_loader().take(&[3, 1]).await.unwrap();
            assert_eq!(rows.batch().column(7).as_primitive::<Int64Type>().values(), &[703, 701], "table {number}");
        }
        assert!(open_files() <= 256, "{} files", open_files());
        drop(tables);
        assert_eq!(open_files(), 0, "closed with their tables");
    });
}

#[test]
fn opening_lists_the_manifests_and_reads_the_newest() {
    let (counting, waves) = cold();
    block_on(async {
        Table::open_in(over(Arc::new(waves.clone()))).await.unwrap();
        assert_eq!(asked(&counting.reset()), (1, vec!["manifests"]));
        assert_eq!(waves.take(), 2);
        Table::open_version_in(over(Arc::new(waves.clone())), 1).await.unwrap();
        assert_eq!(asked(&counting.reset()), (0, vec!["manifests"]));
        assert_eq!(waves.take(), 1);
    });
}

#[test]
fn the_first_row_of_one_group_costs_four_requests_and_the_next_one() {
    let (counting, waves) = cold();
    block_on(async {
        let table = Table::open_in(over(Arc::new(waves.clone()))).await.unwrap();
        let loader = table.row_loader().columns(["lidar.*"]).unwrap();
        loader.get_row(3).await.unwrap();
        assert_eq!(asked(&counting.reset()), (1, vec!["manifests", "layout", "chunks"]));
        assert_eq!(waves.take(), 4);
        loader.get_row(15).await.unwrap();
        assert_eq!(asked(&counting.reset()), (0, vec!["chunks"]));
        assert_eq!(waves.take(), 1);
    });
}

#[test]
fn the_first_row_of_all_groups_waits_no_longer_than_that_of_one() {
    let (counting, waves) = cold();
    block_on(async {
        let table = Table::open_in(over(Arc::new(waves.clone()))).await.unwrap();
        table.row_loader().get_row(3).await.unwrap();
        let all = ["manifests", "layout", "layout", "layout", "chunks", "chunks", "chunks"];
        assert_eq!(asked(&counting.reset()), (1, all.to_vec()));
        assert_eq!(waves.take(), 4);
    });
}

#[test]
fn the_first_window_also_reads_the_index_once() {
    let (counting, waves) = cold();
    block_on(async {
        let table = Table::open_in(over(Arc::new(waves.clone()))).await.unwrap();
        let loader = table.row_loader().columns(["labels.*"]).unwrap();
        // A window of one row is one range, however the rows are cut into blocks.
        loader.get_rows(3, 0..=0).await.unwrap();
        assert_eq!(asked(&counting.reset()), (1, vec!["manifests", "index", "layout", "chunks"]));
        assert_eq!(waves.take(), 4);
        loader.get_rows(9, 0..=0).await.unwrap();
        assert_eq!(asked(&counting.reset()), (0, vec!["chunks"]));
        assert_eq!(waves.take(), 1);
    });
}

#[cfg(feature = "frame")]
#[test]
fn a_window_of_an_index_that_is_loaded_reads_no_index_again() {
    let (counting, waves) = cold();
    block_on(async {
        let table = Table::open_in(over(Arc::new(waves.clone()))).await.unwrap();
        let index = table.index().await.unwrap();
        // The layouts are small, so they are prefetched with the index before the wanted columns are known.
        assert_eq!(asked(&counting.reset()), (1, vec!["manifests", "index", "layout", "layout", "layout"]));
        assert_eq!(waves.take(), 3);
        let loader = tetrys::RowLoader::new(&index).unwrap().columns(["camera.pose"]).unwrap();
        loader.get_rows(3, 0..=0).await.unwrap();
        assert_eq!(asked(&counting.reset()), (0, vec!["chunks"]));
        assert_eq!(waves.take(), 1);
        // Nor does one of which a condition chose the rows.
        let table = Table::open_in(over(Arc::new(waves.clone()))).await.unwrap();
        let index = table.index().filter_sql("time + 0 >= 0").await.unwrap();
        counting.reset();
        let loader = tetrys::RowLoader::new(&index).unwrap().columns(["camera.pose"]).unwrap();
        loader.get_rows(3, -1..=0).await.unwrap();
        assert_eq!(asked(&counting.reset()), (0, vec!["chunks"]));
    });
}

#[cfg(feature = "frame")]
#[test]
fn a_view_opens_in_three_hops_and_its_first_row_takes_two_more() {
    use tetrys::{Merge, RowLoader, Store};

    let tables = [cold(), cold()];
    let opened = |number: usize| {
        let (_, waves) = &tables[number];
        let store = Store::new(Arc::new(waves.clone()), Path::default(), format!("memory://hops/{number}"));
        block_on(Table::open_in(store)).unwrap()
    };
    let [a, b] = [0, 1].map(opened);
    let (raw, _) = memory();
    let counting = CountingStore::new(raw);
    let waves = Waves { inner: counting.clone(), answered: Arc::default() };
    let store = Store::new(Arc::new(waves.clone()), Path::default(), "memory://hops/view");
    let [left, right] = [&a, &b].map(|table| block_on(table.index()).unwrap());
    let merged = left.merge(&right, &Merge::on(["log", "time"])).unwrap();
    // The tables are opened again, because their handles hold what the merge has loaded.
    let [a, b] = [0, 1].map(opened);
    block_on(async {
        merged.save(&store).await.unwrap();
        tables.iter().for_each(|(counting, waves)| drop((counting.reset(), waves.take())));
        counting.reset();
        waves.take();
        let view = Table::open_in(store).await.unwrap().bind([&a, &b]).await.unwrap();
        let loader = RowLoader::new(&view.index().await.unwrap()).unwrap().columns(["lidar.points"]).unwrap();
        // Each source manifest is one request, sent in the third wave together with the index.
        assert_eq!(asked(&counting.reset()), (1, vec!["manifests", "index", "joins"]));
        assert_eq!(waves.take(), 3);
        loader.get_row(3).await.unwrap();
        assert_eq!(asked(&tables[0].0.reset()), (0, vec!["layout", "chunks"]));
        assert_eq!((tables[0].1.take(), tables[1].0.reset().requests(), counting.reset().requests()), (2, 0, 0));
    });
}
