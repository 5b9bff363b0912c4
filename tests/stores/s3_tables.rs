//! Tables on S3, on our server and on one by other authors: written, read, windowed, merged by reference, verified and imported
//! like on a disk. The server counts the cost of reads: it equals the plan, and the number of dependent requests is no higher
//! than the format requires.

use crate::common;
use std::sync::Arc;

use crate::common::{
    s3,
    tables::{self, Rng, Taste, assert_rows, block_on, cut_by, joined, rows_of, sensors, tiny_cuts, two_partitions},
};
use tetrys::{ErrorKind, Preset, Schema, Store, StoreOptions, Table, WriteOptions, table::Cuts};
use tetrys_s3_server::{Request, Server};

/// Writes a table, reads every row and every window, and verifies every byte.
async fn tells_the_whole_story(url: &str, options: &StoreOptions) {
    let (schema, partitions) = two_partitions(common::seed());
    let store = Store::open_with(url, options).unwrap();
    let table = tables::write(store.clone(), schema.clone(), cut_by(tiny_cuts()), &partitions).await.unwrap();
    let all = joined(&partitions);
    assert_eq!((table.version(), table.rows()), (1, all.num_rows() as u64));

    let again = tables::write(store, schema, cut_by(tiny_cuts()), &partitions).await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Exists, "{again}");

    for url in [url.to_owned(), format!("{url}@1")] {
        let table = Table::open_with(&url, options).await.unwrap();
        let loader = table.row_loader();
        let every: Vec<u64> = (0..table.rows()).collect();
        let rows = loader.take(&every).await.unwrap();
        assert_rows(&rows, &all, &every.iter().map(|row| Some(*row)).collect::<Vec<_>>());
        for row in [0, 6, 7, 11, table.rows() - 1] {
            let window = loader.get_rows(row, -2..=2).await.unwrap();
            let there: Vec<Option<u64>> = window.table_rows().to_vec();
            assert_eq!(there[2], Some(row));
            assert_rows(&window, &all, &there);
        }
    }
    let missing = Table::open_with(&format!("{url}@2"), options).await.unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound, "{missing}");
    let nothing = Table::open_with(&format!("{url}-nothing"), options).await.unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::NotFound, "{nothing}");

    let verified = Table::open_with(url, options).await.unwrap().storage().verify(|_, _| {}).await.unwrap();
    assert!(verified.damage.is_empty(), "{:?}", verified.damage);
}

#[test]
fn a_table_on_our_server_is_a_table() {
    let server = s3::server();
    block_on(tells_the_whole_story("s3://data/team/sensors", &s3::options(&server)));
    assert_eq!(server.open_uploads(), 0);
    let left: Vec<String> = server.names("data").into_iter().filter(|name| name.contains("/sessions/")).collect();
    assert!(left.is_empty(), "a finished session leaves nothing behind: {left:?}");
}

#[test]
fn a_table_on_a_server_written_by_others_is_a_table() {
    let Some(moto) = s3::Moto::start() else { return };
    moto.create_bucket("data");
    block_on(tells_the_whole_story("s3://data/team/sensors", &StoreOptions::only(moto.options())));
}

#[test]
fn a_data_set_taken_in_on_s3_is_the_one_taken_in_on_a_disk() {
    use tetrys::ingest::IngestOptions;
    use tetrys_l5::{Dataset, GeneratorSettings, ingest};
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("made.zarr");
    GeneratorSettings { scenes: 3, frames_per_scene: 50, ..Default::default() }.generate(&source).unwrap();
    let dataset = Dataset::open(&source).unwrap();
    let server = s3::server();
    for preset in [Preset::Fast, Preset::Balanced, Preset::Compact] {
        let write = WriteOptions::default().preset(preset);
        let settings = IngestOptions { partition_rows: 40, workers: 3, write, ..Default::default() };
        let (here, there) = block_on(async {
            let disk = Store::open(folder.path().join(preset.name()).to_str().unwrap()).unwrap();
            let here = ingest(&dataset, disk, &settings, |_| {}).await.unwrap();
            (here, ingest(&dataset, s3::store(&server, preset.name()), &settings, |_| {}).await.unwrap())
        });
        let objects = |table: &Table, folders: &[&str]| -> Vec<(String, u64)> {
            let names = block_on(table.store().list("")).unwrap().into_iter();
            names.filter(|(name, _)| folders.iter().any(|folder| name.starts_with(folder))).collect()
        };
        assert!(here.rows() > 0);
        // Blocks are compared by these hashes, so they are shared between directories and buckets whatever their codecs are.
        assert_eq!(objects(&here, &["hashes/", "index/"]), objects(&there, &["hashes/", "index/"]));
        let stored = [&here, &there].map(|table| objects(table, &["chunks/", "layout/"]));
        let bytes = stored.each_ref().map(|objects| objects.iter().map(|(_, bytes)| bytes).sum::<u64>());
        match preset {
            // Bytes cost more in a bucket.
            Preset::Balanced => assert!(bytes[1] < bytes[0], "{bytes:?}"),
            _ => assert_eq!(stored[0], stored[1], "{preset}: the same bytes by the same names, wherever they are"),
        }
        assert!(block_on(there.storage().verify(|_, _| {})).unwrap().damage.is_empty());
    }
}

/// Writes a table on the server that no reader has opened.
fn cold(server: &Server) -> Schema {
    let (schema, partitions) = two_partitions(1);
    block_on(tables::write(s3::store(server, "cold"), schema.clone(), cut_by(tiny_cuts()), &partitions)).unwrap();
    server.take_requests();
    schema
}

/// Runs `read` on a server that answers in waves of these kinds of objects: each wave once all of its requests have arrived. So no
/// request of a wave waits for the answer to another one of it, whatever the speed of the machine.
async fn in_waves<T>(server: &Server, waves: &[&[&str]], read: impl Future<Output = Result<T, tetrys::Error>>) -> T {
    server.answer_in_waves(&waves.iter().map(|wave| wave.len()).collect::<Vec<_>>());
    let done = read.await;
    let kind = |request: Request| match request.is_list() {
        true => "list".to_owned(),
        false => request.key.split('/').nth(1).unwrap_or_default().to_owned(),
    };
    let seen: Vec<Vec<String>> = server.take_waves().into_iter().map(|wave| sorted(wave.into_iter().map(kind))).collect();
    let none: &[&str] = &[];
    let expected: Vec<Vec<String>> =
        waves.iter().chain([&none]).map(|wave| sorted(wave.iter().map(|kind| (*kind).to_owned()))).collect();
    assert_eq!(seen, expected, "{:?}", done.as_ref().err());
    done.unwrap()
}

fn sorted(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn a_cold_url_gives_its_first_row_after_four_waits_and_three_with_a_version() {
    let server = s3::server();
    cold(&server);
    let options = s3::options(&server);
    block_on(async {
        let first = |url: &'static str| {
            let options = options.clone();
            async move { Table::open_with(url, &options).await?.row_loader().columns(["lidar.*"])?.get_row(3).await }
        };
        // Over plain HTTP, the reader requests the manifest of the next version together with that of the newest.
        in_waves(&server, &[&["list"], &["manifests"; 2], &["layout"], &["chunks"]], first("s3://data/cold")).await;
        in_waves(&server, &[&["manifests"], &["layout"], &["chunks"]], first("s3://data/cold@1")).await;

        // All three groups are read concurrently: more requests, but no more dependent requests.
        let whole = async { Table::open_with("s3://data/cold", &options).await?.row_loader().get_row(3).await };
        in_waves(&server, &[&["list"], &["manifests"; 2], &["layout"; 3], &["chunks"; 3]], whole).await;

        // A window needs the end of its sequence: the index is read together with the layouts.
        let window = async {
            let table = Table::open_with("s3://data/cold", &options).await?;
            table.row_loader().columns(["labels.*"])?.get_rows(3, 0..=0).await
        };
        in_waves(&server, &[&["list"], &["manifests"; 2], &["index", "layout"], &["chunks"]], window).await;
    });
}

#[cfg(feature = "frame")]
#[test]
fn the_index_and_a_row_of_it_take_four_waits_together() {
    let server = s3::server();
    cold(&server);
    let options = s3::options(&server);
    block_on(async {
        let read = async {
            let index = Table::open_with("s3://data/cold", &options).await?.index().await?;
            tetrys::RowLoader::new(&index)?.get_rows(3, -1..=1).await
        };
        in_waves(&server, &[&["list"], &["manifests"; 2], &["index", "layout", "layout", "layout"], &["chunks"; 3]], read).await;
    });
}

/// Writes wide rows in chunks of several MiB: points of 200 kB, images of 60 kB, and a few numbers.
fn wide(server: &Server, rows: usize) -> arrow_array::RecordBatch {
    let schema = Schema::builder()
        .index("log", "utf8")
        .index("time", "i64")
        .group("lidar", [("lidar.points", "f32[12500,4]")])
        .group("camera", [("camera.raw", "u8[200,300]"), ("camera.pose", "f64[3,3]")])
        .group("ego", [("ego.pose", "f64[3,3]")])
        .sequence_by(["log"])
        .order_by(["time"])
        .build()
        .unwrap();
    let batch = rows_of(&schema, &mut Rng(common::seed()), &[("a", rows)], Taste { nulls: 0, length: 5, smooth: false });
    let options = cut_by(Cuts::default().with_chunk_max(64 << 20).unwrap()).preset(Preset::Fast);
    block_on(tables::write(s3::store(server, "wide"), schema, options, std::slice::from_ref(&batch))).unwrap();
    server.take_requests();
    batch
}

#[test]
fn explain_says_what_the_server_then_counts() {
    let server = s3::server();
    let batch = wide(&server, 120);
    let mut rng = Rng(common::seed());
    block_on(async {
        let table = Table::open_with("s3://data/wide", &s3::options(&server)).await.unwrap();
        for patterns in [vec!["*"], vec!["lidar.*"], vec!["camera.pose"], vec!["ego.*", "camera.raw"]] {
            let loader = table.row_loader().columns(&patterns).unwrap();
            loader.get_rows(0, 0..=0).await.unwrap();
            for _ in 0..6 {
                let row = rng.below(120);
                let length = 1 + rng.below(90) as i64;
                let explained = loader.explain(row, -length..=0).await.unwrap();
                server.take_requests();
                let rows = loader.get_rows(row, -length..=0).await.unwrap();
                let seen = server.take_requests();
                let bytes: u64 = seen.iter().filter_map(|request| request.range).map(|(first, last)| last - first + 1).sum();
                assert_eq!((seen.len(), bytes), (explained.requests, explained.bytes), "{patterns:?} {row} -{length}");
                assert!(seen.iter().all(|request| request.range.is_some_and(|(first, last)| last - first < 16 << 20)));
                let there = rows.table_rows().to_vec();
                assert_rows(&rows, &batch, &there);
            }
            // A window needs as many ranges as a row if no chunk ends within the window.
            let one = loader.explain(60, 0..=0).await.unwrap();
            let ten = loader.explain(60, -4..=5).await.unwrap();
            assert_eq!(one.ranges, ten.ranges, "{patterns:?}");
        }
    });
}

#[test]
fn a_table_behind_the_web_is_read_by_its_version() {
    let server = s3::server();
    server.let_anybody_read();
    cold(&server);
    let url = format!("{}/data/cold", server.endpoint());
    block_on(async {
        let unnamed = Table::open(&url).await.unwrap_err();
        assert_eq!(unnamed.kind(), ErrorKind::Unsupported, "{unnamed}");
        assert!(unnamed.to_string().contains("URL@7"), "{unnamed}");
        let table = Table::open(&format!("{url}@1")).await.unwrap();
        let (_, partitions) = two_partitions(1);
        let rows = table.row_loader().take(&[3, 15]).await.unwrap();
        assert_rows(&rows, &joined(&partitions), &[Some(3), Some(15)]);
        let refused = Table::create(&format!("{}/data/new", server.endpoint()), sensors(), WriteOptions::default()).await;
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Unsupported);
    });
}

#[test]
fn nothing_that_a_table_stores_holds_a_secret() {
    let server = s3::server();
    let (schema, partitions) = two_partitions(1);
    let options = s3::options_and(&server, &[("session_token", "canary-token-1b7e")]);
    block_on(async {
        let writer = Table::create_with("s3://data/t", &options, schema, cut_by(tiny_cuts())).await.unwrap();
        let mut partition = writer.partition().unwrap();
        for batch in &partitions {
            partition.write(batch).await.unwrap();
        }
        let receipt = partition.finish().await.unwrap();
        let texts = [serde_json::to_string(&receipt).unwrap(), format!("{receipt:?}"), format!("{writer:?}")];
        let table = writer.commit([receipt]).await.unwrap();
        let texts = texts.into_iter().chain([format!("{table:?}"), format!("{:?}", table.manifest())]);
        for text in texts {
            assert!(!text.contains(server.secret()) && !text.contains("canary-token"), "{text}");
        }
    });
    for name in server.names("data") {
        let bytes = server.get("data", &name).unwrap();
        for secret in [server.secret(), "canary-token-1b7e"] {
            assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()), "{name}");
        }
    }
}

#[test]
fn many_readers_share_a_table() {
    let server = s3::server();
    let batch = Arc::new(wide(&server, 60));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let table = Table::open_with("s3://data/wide", &s3::options(&server)).await.unwrap();
        let reads = (0..32_u64).map(|reader| {
            let (loader, batch) = (table.row_loader().columns(["ego.*", "camera.pose"]).unwrap(), Arc::clone(&batch));
            tokio::spawn(async move {
                for step in 0..4 {
                    let row = (reader * 7 + step * 13) % 60;
                    let rows = loader.take(&[row]).await.unwrap();
                    assert_rows(&rows, &batch, &[Some(row)]);
                }
            })
        });
        for read in futures::future::join_all(reads).await {
            read.unwrap();
        }
    });
}

#[test]
fn buckets_of_one_name_at_different_endpoints_are_no_neighbours() {
    let (one, other) = (s3::server(), s3::server());
    let (here, there) = (s3::store(&one, "labels"), s3::store(&other, "sensors"));
    assert_eq!(here.url_of(&s3::store(&one, "sensors")).unwrap(), "../sensors");
    let error = here.url_of(&there).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("s3://data/sensors: this store is at another endpoint"), "{error}");
    // So no table is written whose references would lead to the other bucket.
    let (schema, partitions) = two_partitions(common::seed());
    block_on(async {
        let sensors = tables::write(there, schema.clone(), cut_by(tiny_cuts()), &partitions).await.unwrap();
        let writer = Table::create_in(here, schema, cut_by(tiny_cuts())).await.unwrap();
        let error = writer.references([&sensors]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    });
    assert_eq!(one.names("data"), Vec::<String>::new());
    // At Amazon, the region is not part of a place, but the partition is.
    let amazon = |path: &str, options: &[(&str, &str)]| {
        let more = [("access_key_id", "a"), ("secret_access_key", "s")];
        let options = StoreOptions::only(options.iter().chain(&more).map(|(name, value)| (name.to_string(), value.to_string())));
        Store::open_with(&format!("s3://data/{path}"), &options).unwrap()
    };
    let labels = amazon("labels", &[("region", "eu-west-1")]);
    for options in
        [&[("region", "us-east-1")][..], &[("region", "eu-west-1"), ("endpoint", "https://s3.eu-west-1.amazonaws.com")]]
    {
        assert_eq!(labels.url_of(&amazon("sensors", options)).unwrap(), "../sensors", "{options:?}");
    }
    assert_eq!(labels.url_of(&amazon("sensors", &[("region", "cn-north-1")])).unwrap_err().kind(), ErrorKind::Invalid);
}
