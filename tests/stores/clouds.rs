//! Azure and Google: the servers of the tests pass the suite that `object_store` uses for its own backends, and a `Store` behaves there as
//! on S3. What the services do in another way has tests of its own: batches of deletions, conflicts, and emulators without credentials.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use object_store::{
    ObjectStore, azure::MicrosoftAzureBuilder, gcp::GoogleCloudStorageBuilder, integration, list::PaginatedListStore,
    multipart::MultipartStore,
};
use tetrys::{
    ErrorKind, Schema, Store, StoreOptions, WriteOptions,
    store::Put,
    table::{GcSettings, Storage, now_ms},
};
use tetrys_s3_server::{
    Fault,
    Protocol::{self, Azure, Google, S3},
    Request, Server,
};

use crate::{
    common::{
        s3,
        tables::{self, block_on},
    },
    s3_conformance::keeps_its_word,
};

/// Runs the suite, as `object_store` runs it for the service. `get_opts` expects that a bucket of Google keeps old versions of objects, and
/// after one upload to Azure another one to the same name has lost its blocks.
async fn conforms<T: ObjectStore + MultipartStore + PaginatedListStore>(protocol: Protocol, new: impl Fn() -> T) {
    integration::put_get_delete_list(&new()).await;
    if protocol != Google {
        integration::get_opts(&new()).await;
    }
    integration::put_opts(&new(), true).await;
    integration::stream_get(&new()).await;
    integration::list_uses_directories_correctly(&new()).await;
    integration::list_with_delimiter(&new()).await;
    integration::list_with_offset_exclusivity(&new()).await;
    integration::rename_and_copy(&new()).await;
    integration::copy_if_not_exists(&new()).await;
    integration::copy_rename_nonexistent_object(&new()).await;
    integration::multipart_out_of_order(&new()).await;
    integration::multipart_race_condition(&new(), protocol == Google).await;
    integration::put_get_attributes(&new()).await;
    let store = new();
    integration::multipart(&store, &store).await;
    let store = new();
    integration::multipart_put_part_out_of_order(&store, &store).await;
    let store = new();
    integration::list_paginated(&store, &store).await;
    let missing = integration::get_nonexistent_object(&new(), None).await.unwrap_err();
    assert!(matches!(missing, object_store::Error::NotFound { .. }), "{missing}");
}

#[test]
fn the_servers_pass_the_suite_of_object_store() {
    tetrys::store::install_crypto_provider();
    let buckets = AtomicUsize::new(0);
    let bucket = |server: &Server| {
        let name = format!("bucket-{}", buckets.fetch_add(1, Ordering::Relaxed));
        server.create_bucket(&name);
        name
    };
    let options = |server: &Server| server.options().into_iter();
    let azure = Server::start_as(Azure);
    block_on(conforms(Azure, || {
        let all =
            options(&azure).fold(MicrosoftAzureBuilder::new(), |all, (key, value)| all.with_config(key.parse().unwrap(), value));
        all.with_allow_http(true).with_container_name(bucket(&azure)).build().unwrap()
    }));
    let google = Server::start_as(Google);
    block_on(conforms(Google, || {
        let all = options(&google)
            .fold(GoogleCloudStorageBuilder::new(), |all, (key, value)| all.with_config(key.parse().unwrap(), value));
        let client = object_store::ClientOptions::new().with_allow_http(true);
        all.with_client_options(client).with_bucket_name(bucket(&google)).build().unwrap()
    }));
}

#[test]
fn a_store_keeps_its_word_on_azure_and_google() {
    for protocol in [Azure, Google] {
        let server = s3::server_of(protocol);
        let store = s3::store(&server, "some/where");
        block_on(async {
            let racers = (0..16).map(|racer| store.put_new("manifests/2", format!("racer {racer}").into()));
            let puts = futures::future::try_join_all(racers).await.unwrap();
            assert_eq!(puts.iter().filter(|put| **put == Put::Created).count(), 1, "{protocol:?}");
            store.delete("manifests/2").await.unwrap();
            keeps_its_word(&store).await;
            store.ensure_create_only().await.unwrap();
            server.ignore_conditions();
            let error = s3::store(&server, "some/where").ensure_create_only().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        });
        assert_eq!(server.open_uploads(), 0, "{protocol:?}");
    }
}

#[test]
fn a_wrong_token_is_denied_and_a_public_bucket_needs_none() {
    for (protocol, token) in [(Azure, "azure_storage_token"), (Google, "google_bearer_token")] {
        let server = s3::server_of(protocol);
        server.put("data", "t/a", "bytes");
        let of = |url: &str, more: &[(&str, &str)]| Store::open_with(url, &s3::options_and(&server, more)).unwrap();
        let with = |more: &[(&str, &str)]| of(&server.url("data", "t"), more);
        block_on(async {
            let wrong = with(&[(token, "not-the-secret")]);
            for error in [
                wrong.get("a", 9).await.unwrap_err(),
                wrong.size("a").await.unwrap_err(),
                wrong.list("").await.unwrap_err(),
                wrong.put_new("b", "x".into()).await.unwrap_err(),
                wrong.delete("a").await.unwrap_err(),
            ] {
                assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
                let text = error.to_string();
                assert!(text.contains(&server.url("data", "t")) && !text.contains("not-the-secret"), "{text}");
            }
            let missing = of(&server.url("nowhere", "t"), &[]).get("a", 9).await.unwrap_err();
            assert_eq!(missing.kind(), ErrorKind::NotFound, "{missing}");
            assert!(missing.to_string().contains("no such") && missing.to_string().contains("`nowhere`"), "{missing}");
            let stranger = with(&[("skip_signature", "true")]);
            assert_eq!(stranger.get("a", 9).await.unwrap_err().kind(), ErrorKind::Denied);
            server.let_anybody_read();
            assert_eq!(stranger.get("a", 9).await.unwrap(), "bytes");
            let error = stranger.put_new("b", "x".into()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
            let error = stranger.delete("a").await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        });
        assert_eq!(server.names("data"), ["t/a"]);
    }
}

#[test]
fn a_shared_access_signature_of_azure_goes_with_each_request_and_each_part_of_a_batch() {
    let server = s3::server_of(Azure);
    let options = |signature: &str| {
        let [endpoint, account, _] = server.options().try_into().unwrap();
        let signature = ("azure_storage_sas_key".to_owned(), format!("sv=2021-12-02&sp=racwdl&sig={signature}"));
        StoreOptions::only([endpoint, account, signature])
    };
    let store = |signature: &str| Store::open_with("az://data/some/where", &options(signature)).unwrap();
    block_on(async {
        let wrong = store("not-the-secret");
        let answers =
            [wrong.get("a", 9).await.map(drop), wrong.put_new("a", "x".into()).await.map(drop), wrong.delete("a").await];
        for error in answers.map(Result::unwrap_err) {
            assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
            assert!(!format!("{error} {error:?}").contains("not-the-secret"), "{error:?}");
        }
        keeps_its_word(&store(server.secret())).await;
    });
}

#[test]
fn a_listing_of_many_pages_is_whole_and_in_order() {
    for (protocol, pages) in [(Azure, 2), (Google, 6)] {
        let server = s3::server_of(protocol);
        let names: Vec<String> = (0..5_002).map(|number| format!("manifests/{number:020}.json")).collect();
        names.iter().for_each(|name| server.put("data", &format!("t/{name}"), "x"));
        let store = s3::store(&server, "t");
        block_on(async {
            server.take_requests();
            let listed = store.list("manifests").await.unwrap();
            assert!(listed.iter().map(|(name, _)| name).eq(&names), "{protocol:?}: {}", listed.len());
            assert_eq!(server.take_requests().len(), pages, "{protocol:?}");
            assert_eq!(store.list_first("manifests", 1).await.unwrap(), names[..1], "{protocol:?}");
            assert_eq!(server.take_requests().len(), 1, "names come in order: the first page is enough");
        });
    }
}

/// Deletes an object on Azure while the answer to the first batch has a fault. Returns the number of requests.
fn delete_under(fault: Fault) -> (tetrys::Result<()>, usize) {
    let server = s3::server_of(Azure);
    server.put("data", "t/a", "bytes");
    let seen = AtomicUsize::new(0);
    server.on_request(move |_| (seen.fetch_add(1, Ordering::Relaxed) == 0).then(|| fault.clone()));
    let deleted = block_on(s3::store(&server, "t").delete("a"));
    assert_eq!(deleted.is_ok(), server.names("data").is_empty(), "{deleted:?}");
    (deleted, server.take_requests().len())
}

#[test]
fn a_deletion_that_azure_refuses_in_a_batch_is_denied() {
    for (status, code) in
        [(401, "InvalidAuthenticationInfo"), (403, "AuthorizationPermissionMismatch"), (409, "BlobImmutableDueToPolicy")]
    {
        let (deleted, requests) = delete_under(Fault::RefuseInside(status, code));
        let error = deleted.unwrap_err();
        assert_eq!((error.kind(), requests), (ErrorKind::Denied, 1), "{error}");
        assert!(error.to_string().contains("deleting a in az://data/t: ") && error.to_string().contains(code), "{error}");
    }
}

#[test]
fn a_deletion_that_fails_in_a_batch_is_sent_again() {
    for (status, code) in [(500, "InternalError"), (503, "ServerBusy"), (429, "TooManyRequests"), (408, "RequestTimeout")] {
        let (deleted, requests) = delete_under(Fault::RefuseInside(status, code));
        deleted.unwrap();
        assert_eq!(requests, 2, "{status} {code}");
    }
}

#[test]
fn a_batch_whose_answer_is_garbled_or_cut_is_sent_again() {
    // The identifier of the part, which is 0; and the status.
    let answer = "--batchresponse\r\nContent-Type: application/http\r\nContent-ID: 0\r\n\r\nHTTP/1.1 202";
    let (id, status) = (answer.find("ID: 0").unwrap() + 4, answer.len() - 1);
    for fault in [
        Fault::Replace(id, b'7'),
        Fault::Replace(id, b'x'),
        Fault::Replace(status, b'x'),
        Fault::Replace(5, b'x'),
        Fault::Cut(0),
        Fault::Cut(70),
        Fault::Short(30),
    ] {
        let (deleted, requests) = delete_under(fault.clone());
        deleted.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        assert_eq!(requests, 2, "{fault:?}");
    }
}

#[test]
fn a_conflict_that_is_about_something_else_is_not_an_object_that_is_there() {
    for (protocol, code, kind) in [
        (S3, "ConditionalRequestConflict", Some(ErrorKind::Unavailable)),
        (Azure, "ContainerBeingDeleted", Some(ErrorKind::Unavailable)),
        (Azure, "BlobImmutableDueToPolicy", Some(ErrorKind::Denied)),
        (Azure, "BlobAlreadyExists", None),
        (Google, "OperationAborted", Some(ErrorKind::Unavailable)),
    ] {
        let server = s3::server_of(protocol);
        server.on_request(move |request| (request.method == "PUT").then_some(Fault::Refuse(409, code)));
        let store = Store::open_with(&server.url("data", "t"), &s3::options_and(&server, &[("max_retries", "0")])).unwrap();
        match (block_on(store.put_new("a", "bytes".into())), kind) {
            (Ok(put), None) => assert_eq!(put, Put::AlreadyThere),
            (Err(error), Some(kind)) => {
                assert_eq!(error.kind(), kind, "{error}");
                assert!(error.to_string().contains(code), "{error}");
            }
            (put, _) => panic!("{protocol:?} {code}: {put:?}"),
        }
    }
}

#[test]
fn a_put_that_is_in_conflict_with_another_request_is_sent_again() {
    for (protocol, code) in [(S3, "ConditionalRequestConflict"), (Azure, "ContainerBeingDeleted"), (Google, "OperationAborted")] {
        let server = s3::server_of(protocol);
        server.on_request(move |request| (request.number < 2).then_some(Fault::Refuse(409, code)));
        assert_eq!(block_on(s3::store(&server, "t").put_new("a", "bytes".into())).unwrap(), Put::Created, "{protocol:?}");
        assert_eq!(server.take_requests().len(), 3, "{protocol:?}");
        // A put that the client has sent again may have been made already: whoever writes a manifest looks first.
        server.on_request(move |request| Some(Fault::Refuse(if request.number == 3 { 500 } else { 409 }, code)));
        let error = block_on(s3::store(&server, "t").put_new("b", "bytes".into())).unwrap_err();
        assert_eq!((error.kind(), server.take_requests().len()), (ErrorKind::Unavailable, 2), "{error}");
    }
}

#[test]
fn an_emulator_of_google_is_written_without_credentials() {
    let server = s3::server_of(Google);
    server.let_anybody_read();
    server.let_anybody_write();
    let options = StoreOptions::only([("google_base_url", server.endpoint())]);
    block_on(keeps_its_word(&Store::open_with("gs://data/some/where", &options).unwrap()));
}

fn batch(rows: std::ops::Range<i64>) -> RecordBatch {
    let values = |add: i64| Arc::new(Int64Array::from_iter_values(rows.clone().map(|row| row + add))) as ArrayRef;
    RecordBatch::try_from_iter([("id", values(0)), ("x", values(1))]).unwrap()
}

/// The requests of a change: listings, other reads, puts, and requests that delete.
type Count = [usize; 4];

fn count(requests: &[Request]) -> Count {
    let of = |is: &dyn Fn(&Request) -> bool| requests.iter().filter(|request| is(request)).count();
    let reads = |request: &Request| matches!(request.method.as_str(), "GET" | "HEAD");
    [
        of(&Request::is_list),
        of(&|request| reads(request) && !request.is_list()),
        of(&|request| request.method == "PUT"),
        of(&|request| matches!(request.method.as_str(), "DELETE" | "POST")),
    ]
}

/// The requests of each change, and the number of objects that the collection deleted.
fn costs(protocol: Protocol) -> (Vec<(&'static str, Count)>, usize) {
    let server = s3::server_of(protocol);
    let store = s3::store(&server, "t");
    let mut found = Vec::new();
    let mut took = |what| {
        let requests = server.take_requests();
        found.push((what, count(&requests)));
    };
    let deleted = block_on(async {
        let schema = Schema::builder().index("id", "i64").group("a", [("x", "i64")]).build().unwrap();
        let table = tables::write(store.clone(), schema, WriteOptions::default(), &[batch(0..1_000)]).await.unwrap();
        took("create");
        let writer = table.append(WriteOptions::default()).await.unwrap();
        let mut partition = writer.partition().unwrap();
        partition.write(&batch(1_000..1_001)).await.unwrap();
        let table = writer.commit([partition.finish().await.unwrap()]).await.unwrap();
        took("append");
        let of = |value: i64| Arc::new(Int64Array::from(vec![value])) as ArrayRef;
        let patch = RecordBatch::try_from_iter([("id", of(500)), ("x", of(7))]).unwrap();
        let table = table.patch(&["id"], &patch, WriteOptions::default()).await.unwrap();
        took("patch");
        let mut table = table.delete([300], WriteOptions::default()).await.unwrap();
        took("delete");
        for row in 0..20 {
            table = table.delete([row], WriteOptions::default()).await.unwrap();
        }
        server.take_requests();
        let settings = GcSettings { keep_versions: 1, age: std::time::Duration::from_secs(3600) };
        let before = server.names("data").len();
        for hours in [2, 4, 6] {
            Storage::of(&store).collect_garbage(settings, now_ms() + 3_600_000 * hours).await.unwrap();
        }
        took("collect garbage");
        before - server.names("data").len()
    });
    (found, deleted)
}

#[test]
fn a_change_takes_as_many_requests_on_azure_and_google_as_on_s3_and_google_deletes_one_object_with_each() {
    for (protocol, deletes) in [(S3, 2), (Azure, 2), (Google, 110)] {
        let (found, deleted) = costs(protocol);
        println!("{protocol:?}: {found:?}, {deleted} objects deleted");
        let expected = [
            ("create", [5, 1, 8, 2]),
            ("append", [4, 4, 6, 1]),
            ("patch", [2, 6, 4, 0]),
            ("delete", [2, 5, 5, 0]),
            ("collect garbage", [39, 64, 3, deletes]),
        ];
        assert_eq!((found.as_slice(), deleted), (&expected[..], 107), "{protocol:?}");
    }
}
