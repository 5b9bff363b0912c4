//! Web servers that do less than others: they ignore the header `Range`, or want the header `Authorization`.

use crate::common;
use std::{collections::BTreeMap, sync::Arc};

use crate::common::{
    raw::{Answer, Raw, answer},
    tables::{self, assert_rows, block_on, cut_by, joined, objects, tiny_cuts, two_partitions},
};
use tetrys::{ErrorKind, Store, StoreOptions, Table, store::RangeRequest};

const NONE: [(&str, &str); 0] = [];

/// Returns the objects of a table by their names, and its rows.
async fn stored() -> (BTreeMap<String, Vec<u8>>, arrow_array::RecordBatch) {
    let (schema, partitions) = two_partitions(common::seed());
    let (_, store) = tables::memory();
    tables::write(store.clone(), schema, cut_by(tiny_cuts()), &partitions).await.unwrap();
    (objects(&store).await.into_iter().collect(), joined(&partitions))
}

/// Starts a server that sends whole objects, whatever range a request wants; with `wanted`, only to those that have this header.
fn without_ranges(objects: BTreeMap<String, Vec<u8>>, wanted: Option<&'static str>) -> Raw {
    let objects = Arc::new(objects);
    Raw::start(move |_, head| {
        if wanted.is_some_and(|wanted| !head.lines().any(|line| line == wanted)) {
            // It repeats what it got.
            let token = head.lines().find_map(|line| line.strip_prefix("authorization: bearer ")).unwrap_or("none");
            return answer("401 Unauthorized", &[("WWW-Authenticate", "Bearer")], &format!("invalid token {token}"));
        }
        let path = head.split(' ').nth(1).unwrap_or_default();
        match path.strip_prefix("/t/").and_then(|name| objects.get(name)) {
            Some(bytes) => {
                let head =
                    "HTTP/1.1 200 OK\r\nConnection: close\r\nLast-Modified: Tue, 24 Nov 2026 10:00:00 GMT\r\nETag: \"1\"\r\n";
                Answer::Body(format!("{head}Content-Length: {}\r\n\r\n", bytes.len()), bytes.clone())
            }
            None => answer("404 Not Found", &[], ""),
        }
    })
}

#[test]
fn a_table_on_a_server_without_ranges_is_read_by_whole_objects() {
    block_on(async {
        let (objects, rows) = stored().await;
        let server = without_ranges(objects.clone(), None);
        let options = StoreOptions::only(NONE);
        let table = Table::open_with(&format!("{}/t@1", server.url()), &options).await.unwrap();
        let every: Vec<u64> = (0..table.rows()).collect();
        let found = table.row_loader().take(&every).await.unwrap();
        assert_rows(&found, &rows, &every.iter().map(|row| Some(*row)).collect::<Vec<_>>());
        // The first requests find it out. After that, none has a range.
        assert!(server.take_heads().iter().any(|head| head.contains("\r\nrange:")));
        table.row_loader().cache_bytes(0).take(&every).await.unwrap();
        let heads = server.take_heads();
        assert!(!heads.is_empty() && heads.iter().all(|head| !head.contains("\r\nrange:")), "{heads:?}");
        // What is kept is read once: the rows of a chunk one by one.
        let name = objects.keys().find(|name| name.starts_with("chunks/")).unwrap();
        let bytes = &objects[name];
        let store = Store::open_with(&format!("{}/t", server.url()), &options).unwrap();
        for at in 0..8 {
            let read = store.read(&[RangeRequest::new(name.as_str(), bytes.len() as u64, at..at + 5)]).await.unwrap();
            assert_eq!(read[0], bytes[at as usize..at as usize + 5]);
        }
        assert_eq!(server.take_heads().len(), 2);
        let many: Vec<RangeRequest> =
            (0..90).map(|at| RangeRequest::new(name.as_str(), bytes.len() as u64, at..at + 3)).collect();
        let read = Store::open_with(&format!("{}/t", server.url()), &options).unwrap().read(&many).await.unwrap();
        assert!((0..90).all(|at| read[at] == bytes[at..at + 3]));
        let whole = server.take_heads().iter().filter(|head| !head.contains("\r\nrange:")).count();
        assert_eq!(whole, 1, "ranges of one object share one answer");
        // An object of another length is told.
        let error = store.read(&[RangeRequest::new(name.as_str(), bytes.len() as u64 + 8, 0..5)]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        let large = store.read(&[RangeRequest::new(name.as_str(), (256 << 20) + 1, 0..5)]).await.unwrap_err();
        assert_eq!(large.kind(), ErrorKind::Unsupported, "{large}");
        let text = large.to_string();
        assert!(text.contains(name) && text.contains("sends no ranges") && text.contains("268435457 bytes"), "{text}");
    });
}

#[test]
fn a_server_that_wants_authorization_gets_it_and_no_message_repeats_it() {
    block_on(async {
        let (objects, rows) = stored().await;
        let server = without_ranges(objects, Some("authorization: bearer canary-7f3a"));
        let url = format!("{}/t@1", server.url());
        let refused = Table::open_with(&url, &StoreOptions::only(NONE)).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Denied, "{refused}");
        let table = Table::open_with(&url, &StoreOptions::only([("authorization", "bearer canary-7f3a")])).await.unwrap();
        assert_rows(&table.row_loader().take(&[2]).await.unwrap(), &rows, &[Some(2)]);
        let wrong = Table::open_with(&url, &StoreOptions::only([("authorization", "bearer canary-8888")])).await.unwrap_err();
        assert!(wrong.kind() == ErrorKind::Denied && !format!("{wrong:?}").contains("canary"), "{wrong:?}");
        let broken = Store::open_with(&url, &StoreOptions::only([("authorization", "Bearer canary\n8888")])).unwrap_err();
        assert!(broken.kind() == ErrorKind::Invalid && !broken.to_string().contains("canary"), "{broken}");
    });
}

#[test]
fn two_roots_on_a_server_without_ranges_do_not_mix_and_what_is_garbled_is_not_kept() {
    let content = |root: char| format!("{root}{root} of the root {root}");
    let hash = "5c".repeat(32);
    let named = format!("chunks/5c/{hash}");
    let server = Raw::start(move |_, head| {
        let root = head.split('/').nth(1).and_then(|root| root.chars().next()).unwrap_or('?');
        answer("200 OK", &[("Last-Modified", "Tue, 24 Nov 2026 10:00:00 GMT"), ("ETag", "\"1\"")], &content(root))
    });
    block_on(async {
        let options = StoreOptions::only(NONE);
        let one = Store::open_with(&format!("{}/a", server.url()), &options).unwrap();
        let bytes = content('a').len() as u64;
        for _ in 0..2 {
            assert_eq!(one.read(&[RangeRequest::new("x", bytes, 0..2)]).await.unwrap()[0], "aa");
            let other = Store::open_with(&format!("{}/b", server.url()), &options).unwrap();
            assert_eq!(other.read(&[RangeRequest::new("x", bytes, 0..2)]).await.unwrap()[0], "bb");
        }
        server.take_heads();
        for _ in 0..2 {
            let error = one.read(&[RangeRequest::new(named.as_str(), bytes, 0..2)]).await.unwrap_err();
            assert!(error.kind() == ErrorKind::Corrupt && error.to_string().contains(&hash), "{error}");
            assert_eq!(server.take_heads().len(), 1, "it is read again");
        }
    });
}

#[test]
fn a_redirected_request_does_not_carry_the_authorization() {
    let range = [("Content-Range", "bytes 10-14/100"), ("Last-Modified", "Tue, 24 Nov 2026 10:00:00 GMT"), ("ETag", "\"1\"")];
    let elsewhere = Raw::start(move |_, _| answer("206 Partial Content", &range, "bytes"));
    let target = format!("{}/a", elsewhere.url());
    let server = Raw::start(move |_, _| answer("302 Found", &[("Location", &target)], ""));
    let options = StoreOptions::only([("authorization", "Bearer canary-7f3a")]).allow([elsewhere.url()]);
    let store = Store::open_with(&format!("{}/t", server.url()), &options).unwrap();
    assert_eq!(block_on(store.read(&[RangeRequest::new("a", 100, 10..15)])).unwrap()[0], "bytes");
    assert!(server.take_heads()[0].contains("authorization: bearer canary-7f3a"));
    let heads = elsewhere.take_heads();
    assert!(heads.len() == 1 && !heads[0].contains("canary"), "{heads:?}");
}
