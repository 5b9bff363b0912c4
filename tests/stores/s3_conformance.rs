//! The S3 server of the tests conforms to S3: it passes the suite that `object_store` uses for its own backend, and checks
//! signatures. A `Store` behaves correctly over this server, over a server by other authors, and over plain HTTP. No message
//! contains a secret.

use std::{sync::Arc, time::Duration};

use crate::common::{s3, tables::block_on};
use object_store::{
    ObjectStore, ObjectStoreExt,
    aws::{AmazonS3, AmazonS3Builder, S3CopyIfNotExists},
    integration,
    path::Path,
};
use tetrys::{
    ErrorKind, Store, StoreOptions,
    store::{Put, RangeRequest},
};
use tetrys_s3_server::{Fault, Server};

fn client(server: &Server, bucket: &str) -> AmazonS3 {
    server.create_bucket(bucket);
    tetrys::store::install_crypto_provider();
    let builder = AmazonS3Builder::new()
        .with_endpoint(server.endpoint())
        .with_allow_http(true)
        .with_access_key_id("tester")
        .with_secret_access_key(server.secret())
        .with_copy_if_not_exists(S3CopyIfNotExists::Multipart)
        .with_bucket_name(bucket);
    builder.build().unwrap()
}

#[test]
fn the_server_passes_the_suite_of_object_store() {
    let server = Server::start();
    let mut number = 0;
    let mut new = || {
        number += 1;
        client(&server, &format!("bucket-{number}"))
    };
    block_on(async {
        integration::put_get_delete_list(&new()).await;
        integration::get_opts(&new()).await;
        integration::put_opts(&new(), true).await;
        integration::stream_get(&new()).await;
        integration::list_uses_directories_correctly(&new()).await;
        integration::list_with_delimiter(&new()).await;
        integration::list_with_offset_exclusivity(&new()).await;
        integration::rename_and_copy(&new()).await;
        integration::copy_if_not_exists(&new()).await;
        integration::copy_rename_nonexistent_object(&new()).await;
        integration::multipart_out_of_order(&new()).await;
        integration::multipart_race_condition(&new(), true).await;
        integration::put_get_attributes(&new()).await;
        let store = new();
        integration::multipart(&store, &store).await;
        let store = new();
        integration::multipart_put_part_out_of_order(&store, &store).await;
        let store = new();
        integration::list_paginated(&store, &store).await;
        let missing = integration::get_nonexistent_object(&new(), None).await.unwrap_err();
        assert!(matches!(missing, object_store::Error::NotFound { .. }), "{missing}");
    });
}

#[test]
fn a_listing_of_many_pages_is_whole_and_in_order() {
    let server = s3::server();
    let names: Vec<String> = (0..2_345).map(|number| format!("t/manifests/{number:020}.json")).collect();
    names.iter().for_each(|name| server.put("data", name, "x"));
    let store = s3::store(&server, "t");
    block_on(async {
        server.take_requests();
        assert_eq!(store.list("manifests").await.unwrap().len(), 2_345);
        assert_eq!(server.take_requests().len(), 3);
        let first = store.list_first("manifests", 1).await.unwrap();
        assert_eq!(first, ["manifests/00000000000000000000.json"]);
        assert_eq!(server.take_requests().len(), 1, "names come in order: the first page is enough");
    });
}

#[test]
fn a_wrong_key_is_denied_and_a_public_bucket_needs_none() {
    let server = s3::server();
    server.put("data", "t/a", "bytes");
    let with = |more: &[(&str, &str)]| Store::open_with("s3://data/t", &s3::options_and(&server, more)).unwrap();
    block_on(async {
        let wrong = with(&[("aws_secret_access_key", "not-the-secret")]).get("a", 9).await.unwrap_err();
        assert_eq!(wrong.kind(), ErrorKind::Denied, "{wrong}");
        assert!(wrong.to_string().contains("s3://data/t"), "{wrong}");
        let stranger = with(&[("skip_signature", "true")]);
        assert_eq!(stranger.get("a", 9).await.unwrap_err().kind(), ErrorKind::Denied);
        server.let_anybody_read();
        assert_eq!(stranger.get("a", 9).await.unwrap(), "bytes");
        assert_eq!(stranger.put_new("b", "x".into()).await.unwrap_err().kind(), ErrorKind::Denied);
    });
}

#[test]
fn a_missing_bucket_and_a_server_that_is_not_there_say_so() {
    let server = s3::server();
    let missing = Store::open_with("s3://nowhere/t", &s3::options(&server)).unwrap();
    let mut gone = server.options();
    gone.push(("max_retries".into(), "1".into()));
    // The discard port, on which no server listens.
    gone.push(("aws_endpoint".into(), "http://127.0.0.1:9".into()));
    let gone = Store::open_with("s3://data/t", &StoreOptions::only(gone)).unwrap();
    block_on(async {
        let error = missing.get("a", 9).await.unwrap_err();
        assert_eq!((error.kind(), error.to_string().contains("no such bucket")), (ErrorKind::NotFound, true), "{error}");
        assert_eq!(gone.get("a", 9).await.unwrap_err().kind(), ErrorKind::Unavailable);
    });
}

/// Asserts what every remote store must do for tables: create-only puts, exact ranges, multipart uploads, listings and deletes.
pub(crate) async fn keeps_its_word(store: &Store) {
    assert_eq!(store.put_new("manifests/1", "one".into()).await.unwrap(), Put::Created);
    assert_eq!(store.put_new("manifests/1", "two".into()).await.unwrap(), Put::AlreadyThere);
    assert_eq!(store.get("manifests/1", 9).await.unwrap(), "one");
    assert_eq!(store.put_new("manifests/2", "two".into()).await.unwrap(), Put::Created);
    let data: Vec<u8> = (0..20_000_003_usize).map(|i| (i ^ (i >> 8) ^ (i >> 16)) as u8).collect();
    let file = || {
        use std::io::{Seek, Write};
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&data).unwrap();
        file.rewind().unwrap();
        file
    };
    let bytes = data.len() as u64;
    assert_eq!(store.put_file("chunks/aa/1", file(), bytes).await.unwrap(), Put::Created);
    assert_eq!(store.put_file("chunks/aa/1", file(), bytes).await.unwrap(), Put::AlreadyThere);
    let ranges = [0..0, 0..1, bytes - 1..bytes, 5..5, 12_345..6_543_210, 0..bytes];
    let requests: Vec<_> = ranges.iter().map(|range| RangeRequest::new("chunks/aa/1", bytes, range.clone())).collect();
    for (range, answer) in ranges.iter().zip(store.read(&requests).await.unwrap()) {
        assert!(answer == data[range.start as usize..range.end as usize], "{range:?}");
    }
    let short = store.read(&[RangeRequest::new("manifests/1", 10, 7..9)]).await.unwrap_err();
    assert_eq!(short.kind(), ErrorKind::Corrupt, "{short}");
    assert_eq!(store.get("nothing", 9).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(store.list("").await.unwrap().len(), 3);
    for (name, _) in store.list("").await.unwrap() {
        store.delete(&name).await.unwrap();
    }
    store.delete("manifests/1").await.unwrap();
    assert_eq!(store.list("").await.unwrap(), []);
}

#[test]
fn a_store_keeps_its_word_on_our_server() {
    let server = s3::server();
    let store = s3::store(&server, "some/where");
    block_on(async {
        let racers = (0..16).map(|racer| store.put_new("manifests/2", format!("racer {racer}").into()));
        let puts = futures::future::try_join_all(racers).await.unwrap();
        assert_eq!(puts.iter().filter(|put| **put == Put::Created).count(), 1);
        store.delete("manifests/2").await.unwrap();
        keeps_its_word(&store).await;
    });
    assert_eq!(server.open_uploads(), 0);
}

/// Without racing writers: moto looks whether an object is there, and stores it afterwards, so that two of them may create it.
#[test]
fn a_store_keeps_its_word_on_a_server_written_by_others() {
    let Some(moto) = s3::Moto::start() else { return };
    moto.create_bucket("data");
    block_on(keeps_its_word(&Store::open_with("s3://data/some/where", &StoreOptions::only(moto.options())).unwrap()));
}

#[test]
fn google_azure_and_the_web_are_reached_by_their_urls() {
    let server = s3::server();
    server.let_anybody_read();
    server.put("data", "t/chunks/aa/1", "0123456789");
    let endpoint = server.endpoint();
    let google = [("google_base_url", endpoint.as_str()), ("google_skip_signature", "true")];
    let azure =
        [("azure_endpoint", endpoint.as_str()), ("azure_storage_account_name", "account"), ("azure_skip_signature", "true")];
    let stores = [
        Store::open_with(&format!("{endpoint}/data/t"), &StoreOptions::default()).unwrap(),
        Store::open_with("gs://data/t", &StoreOptions::only(google)).unwrap(),
        Store::open_with("az://data/t/", &StoreOptions::only(azure)).unwrap(),
    ];
    block_on(async {
        for store in &stores {
            let answer = store.read(&[RangeRequest::new("chunks/aa/1", 10, 3..7)]).await.unwrap();
            assert_eq!(answer, ["3456"], "{store:?}");
            assert_eq!(store.get("chunks/aa/1", 10).await.unwrap(), "0123456789", "{store:?}");
            assert_eq!(store.get("chunks/aa/2", 10).await.unwrap_err().kind(), ErrorKind::NotFound, "{store:?}");
        }
        let web = &stores[0];
        for error in
            [web.put_new("a", "x".into()).await.unwrap_err(), web.list("").await.unwrap_err(), web.delete("a").await.unwrap_err()]
        {
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        }
        let error = tetrys::Table::open_with(&format!("{endpoint}/data/t"), &StoreOptions::default()).await.unwrap_err();
        assert!(error.to_string().contains("URL@7"), "{error}");
    });
}

#[test]
fn profiles_of_the_aws_files_give_region_endpoint_and_keys() {
    let server = s3::server();
    server.put("data", "t/a", "bytes");
    let folder = tempfile::tempdir().unwrap();
    let (config, credentials) = (folder.path().join("config"), folder.path().join("credentials"));
    std::fs::write(&config, format!("[profile lab]\nregion = us-east-1\nendpoint_url = {}\n", server.endpoint())).unwrap();
    let keys = format!("[lab]\naws_access_key_id = tester\naws_secret_access_key = {}\n", server.secret());
    std::fs::write(&credentials, keys).unwrap();
    let files =
        [("aws_config_file", config.display().to_string()), ("aws_shared_credentials_file", credentials.display().to_string())];
    let named = |profile: &str| StoreOptions::only(files.clone().into_iter().chain([("aws_profile", profile.to_owned())]));
    let store = Store::open_with("s3://data/t", &named("lab")).unwrap();
    assert_eq!(block_on(store.get("a", 9)).unwrap(), "bytes");
    let nobody = Store::open_with("s3://data/t", &named("nobody")).unwrap_err();
    assert_eq!(nobody.kind(), ErrorKind::Invalid);
    assert!(nobody.to_string().contains("`nobody`"), "{nobody}");
}

/// Collects all texts that the stores of this test produce, for every outcome of a request.
#[test]
fn no_error_and_no_debug_holds_a_secret() {
    let server = s3::server();
    server.put("data", "t/a", vec![7; 1000]);
    let (token, key) = ("canary-token-5f2a", "canary-key-id-77d1");
    let secrets = [server.secret(), token, key];
    let given = s3::options_and(&server, &[("session_token", token), ("max_retries", "1"), ("retry_timeout", "1s")]);
    let wrong_key = s3::options_and(&server, &[("access_key_id", key), ("session_token", token), ("max_retries", "0")]);
    let mut texts = vec![format!("{given:?} {given:#?} {wrong_key:?}")];
    let mut keep = |what: &dyn std::fmt::Debug| texts.push(format!("{what:?} {what:#?}"));
    let faults = [
        None,
        Some(Fault::Refuse(403, "AccessDenied")),
        Some(Fault::Refuse(400, "ExpiredToken")),
        Some(Fault::Refuse(500, "InternalError")),
        Some(Fault::Refuse(301, "PermanentRedirect")),
        Some(Fault::Refuse(409, "OperationAborted")),
        Some(Fault::Drop),
        Some(Fault::Cut(10)),
        Some(Fault::Short(3)),
        Some(Fault::Whole),
        Some(Fault::Hide),
    ];
    block_on(async {
        for options in [&given, &wrong_key] {
            let store = Store::open_with("s3://data/t", options).unwrap();
            keep(&store);
            for fault in &faults {
                let always = fault.clone();
                server.on_request(move |_| always.clone());
                let errors = [
                    store.get("a", 5000).await.err(),
                    store.read(&[RangeRequest::new("a", 1000, 10..500)]).await.err(),
                    store.put_new("b", "x".into()).await.err(),
                    store.list("").await.err(),
                    store.delete("c").await.err(),
                ];
                for error in errors.into_iter().flatten() {
                    keep(&error);
                    keep(&error.to_string());
                    let mut source = std::error::Error::source(&error);
                    while let Some(error) = source {
                        keep(&error);
                        keep(&error.to_string());
                        source = error.source();
                    }
                }
            }
            server.behave();
        }
        for url in ["s3://canary-key-id-77d1:canary-token-5f2a@data/t", "s3://data/t?token=canary-token-5f2a"] {
            keep(&Store::open_with(url, &given).unwrap_err().to_string());
        }
        keep(&Store::open_with("s3://data/t", &s3::options_and(&server, &[("allow_http", token)])).unwrap_err().to_string());
        keep(&StoreOptions::parse_pair(token).unwrap_err().to_string());
    });
    assert!(texts.len() > 60, "{} texts", texts.len());
    for text in &texts {
        for secret in secrets {
            assert!(!text.contains(secret), "a secret in: {text}");
        }
    }
}

#[test]
fn what_was_given_for_one_store_goes_to_no_other() {
    let server = s3::server();
    server.create_bucket("other");
    server.put("data", "labels/a", "bytes");
    server.put("other", "sensors/a", "bytes");
    let store = Store::open_with("s3://data/tables", &s3::options(&server)).unwrap();
    let neighbour = store.open_other("s3://data/labels").unwrap();
    assert_eq!(block_on(neighbour.get("a", 9)).unwrap(), "bytes");
    server.take_requests();
    let stranger = store.open_other("s3://other/sensors").unwrap_err();
    assert_eq!(stranger.kind(), ErrorKind::Denied, "{stranger}");
    // A plain web server gets a request without a signature.
    let web = store.open_other(&format!("{}/other/sensors", server.endpoint())).unwrap();
    assert_eq!(block_on(web.get("a", 9)).unwrap_err().kind(), ErrorKind::Denied);
    server.let_anybody_read();
    assert_eq!(block_on(web.get("a", 9)).unwrap(), "bytes");
}

#[test]
fn requests_beside_each_other_are_bounded_and_slowing_down_is_heard() {
    let server = s3::server();
    server.put("data", "t/a", vec![7; 100_000]);
    server.set_latency(tetrys_s3_server::Latency { per_request: Duration::from_millis(5), bytes_per_second: None });
    // No request is sent again because this machine is slow.
    let patient = s3::options_and(&server, &[("read_timeout", "1h"), ("retry_timeout", "1h")]);
    let store = Store::open_with("s3://data/t", &patient).unwrap();
    let requests: Vec<_> = (0..2_000_u64).map(|i| RangeRequest::new("a", 100_000, i * 50..i * 50 + 50)).collect();
    block_on(async {
        store.get("a", 100_000).await.unwrap();
        server.take_requests();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let reads = (0..8).map(|_| {
            let (store, requests) = (store.clone(), requests.clone());
            runtime.spawn(async move { store.read(&requests[..500]).await.map(|answers| answers.len()) })
        });
        for read in futures::future::join_all(reads).await {
            assert_eq!(read.unwrap().unwrap(), 500);
        }
        assert!(server.most_at_once() <= 256, "{} at once", server.most_at_once());
        assert_eq!(server.take_requests().len(), 4_000);
        // One request in three is refused for a while.
        let refused = std::sync::atomic::AtomicU64::new(0);
        server.on_request(move |request| {
            let refuse = request.number % 3 == 0 && refused.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 100;
            refuse.then_some(Fault::Refuse(503, "SlowDown"))
        });
        let answers = store.read(&requests[..500]).await.unwrap();
        assert!(answers.iter().all(|answer| answer.len() == 50));
        assert_eq!(server.take_requests().len(), 600, "refused requests were sent again");
        runtime.shutdown_background();
    });
}

#[test]
fn a_body_that_stands_still_is_given_up_and_one_that_flows_slowly_is_not() {
    let server = s3::server();
    server.put("data", "t/a", vec![7; 400_000]);
    let patient = |time: &str| {
        let options = s3::options_and(&server, &[("read_timeout", time), ("max_retries", "0")]);
        Store::open_with("s3://data/t", &options).unwrap()
    };
    let read = |store: Store| async move { store.read(&[RangeRequest::new("a", 400_000, 0..400_000)]).await };
    block_on(async {
        // Seven pieces, 0.2 s apart: the whole takes longer than the timeout, but no gap between two pieces does, unless the machine
        // is busy for so long. Then the read is tried again.
        server.set_latency(tetrys_s3_server::Latency { per_request: Duration::ZERO, bytes_per_second: Some(330_000) });
        let mut flows = false;
        for _ in 0..50 {
            flows = read(patient("1s")).await.is_ok_and(|answers| answers[0].len() == 400_000);
            if flows {
                break;
            }
        }
        assert!(flows, "a body that flows is not given up");
        server.set_latency(Default::default());
        const NEVER: Duration = Duration::from_secs(86_400);
        server.on_request(|_| Some(Fault::Stall(100_000, NEVER)));
        let error = read(patient("300ms")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        server.on_request(|request| (request.number % 2 == 0).then_some(Fault::Wait(NEVER)));
        let again = Store::open_with("s3://data/t", &s3::options_and(&server, &[("read_timeout", "1s")])).unwrap();
        assert_eq!(read(again).await.unwrap()[0].len(), 400_000, "what got no answer is asked again");
    });
}

#[test]
fn a_backend_that_was_wrapped_is_still_a_backend() {
    let server = s3::server();
    let counting = tetrys::store::CountingStore::new(client(&server, "data"));
    let store = Store::new(Arc::new(counting.clone()) as Arc<dyn ObjectStore>, "t".into(), "s3://data/t");
    block_on(async {
        counting.put(&Path::from("t/a"), "bytes".into()).await.unwrap();
        assert_eq!(store.open_other("s3://data/t").unwrap().get("a", 9).await.unwrap(), "bytes");
        assert_eq!(counting.snapshot().gets.len(), 1, "the neighbour is reached through the same wrapper");
    });
}
