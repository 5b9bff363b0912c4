//! Servers that redirect, answer without end, or cannot be reached: no token leaves the host, no memory grows without bound, what
//! cannot change is not retried, and each error names its cause.

use crate::common;
use std::{
    env,
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
};

use crate::common::{
    raw::{Answer, Raw, answer, head, tls},
    s3,
    tables::block_on,
};
use tetrys::{Error, ErrorKind, Store, StoreOptions, Table, store::RangeRequest};

/// The options of S3 on a server that does not check signatures.
fn s3_at(endpoint: &str, more: &[(&str, &str)]) -> StoreOptions {
    let options = [
        ("endpoint", endpoint),
        ("region", "us-east-1"),
        ("access_key_id", "AKIDCANARY"),
        ("secret_access_key", "canary-secret"),
        ("session_token", "canary-token"),
    ];
    StoreOptions::only(options.into_iter().chain(more.iter().copied()).map(|(name, value)| (name.to_owned(), value.to_owned())))
}

fn s3_store(server: &Raw) -> Store {
    Store::open_with("s3://data/t", &s3_at(&server.url(), &[])).unwrap()
}

/// Returns the errors of every kind of request.
async fn every_request(store: &Store) -> Vec<(&'static str, Error)> {
    let content = "content".to_owned();
    let large = tempfile::tempfile().unwrap();
    large.set_len(9 << 20).unwrap();
    let results = [
        ("get", store.get("a", 100).await.err()),
        ("range", store.read(&[RangeRequest::new("a", 100, 10..20)]).await.err()),
        ("size", store.size("a").await.err()),
        ("list", store.list("").await.err()),
        ("put", store.put_new("a", content.into()).await.err()),
        ("upload", store.put_file("chunks/a", large, 9 << 20).await.err()),
        ("delete", store.delete("a").await.err()),
    ];
    results.into_iter().map(|(what, error)| (what, error.expect(what))).collect()
}

const REDIRECTS: [&str; 5] =
    ["301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect"];

#[test]
fn no_request_of_an_object_store_follows_a_redirect_and_the_region_is_named() {
    let elsewhere = Raw::start(|_, _| answer("200 OK", &[], "stolen"));
    for status in REDIRECTS {
        for region in [None, Some("eu-west-1")] {
            let target = format!("{}/data/t/a?sig=x", elsewhere.url());
            let server = Raw::start(move |_, _| {
                let region = region.map(|region| ("x-amz-bucket-region", region));
                let headers: Vec<(&str, &str)> = [("Location", target.as_str())].into_iter().chain(region).collect();
                answer(status, &headers, "")
            });
            for (what, error) in block_on(every_request(&s3_store(&server))) {
                let expected = if region.is_some() { "the store option region=eu-west-1" } else { "follow no redirects" };
                assert!(error.to_string().contains(expected), "{status} {what}: {error}");
                assert_eq!(error.kind(), ErrorKind::Invalid, "{status} {what}: {error}");
            }
            assert_eq!(server.take_heads().len(), 7, "{status}: a redirect is not retried");
        }
    }
    assert_eq!(elsewhere.take_heads(), Vec::<String>::new(), "nothing leaves the host");
}

#[test]
fn a_web_server_redirects_to_allowed_urls_only_and_no_header_goes_along() {
    let range = [("Content-Range", "bytes 10-14/100"), ("Last-Modified", "Tue, 24 Nov 2026 10:00:00 GMT"), ("ETag", "\"1\"")];
    let elsewhere = Raw::start(move |_, _| answer("206 Partial Content", &range, "bytes"));
    for status in REDIRECTS {
        let target = format!("{}/mirror/a?sig=x", elsewhere.url());
        let server = Raw::start(move |_, _| answer(status, &[("Location", &target), ("Set-Cookie", "canary=1")], ""));
        let read = |options: StoreOptions| {
            let store = Store::open_with(&format!("{}/t", server.url()), &options).unwrap();
            block_on(store.read(&[RangeRequest::new("a", 100, 10..15)]))
        };
        let none: [(&str, &str); 0] = [];
        let mirror = format!("{}/mirror", elsewhere.url());
        for allowed in [vec![], vec![format!("{mirror}s")], vec![server.url()]] {
            let error = read(StoreOptions::only(none).allow(allowed)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{status}: {error}");
            let text = error.to_string();
            assert!(text.contains(&format!("{mirror}/a")) && text.contains("--allow") && !text.contains("sig="), "{text}");
        }
        assert_eq!(elsewhere.take_heads(), Vec::<String>::new(), "{status}");
        assert_eq!(read(StoreOptions::only(none).allow([mirror])).unwrap()[0], "bytes", "{status}");
        let heads = elsewhere.take_heads();
        assert_eq!(heads.len(), 1, "{heads:?}");
        let names: Vec<&str> = heads[0].lines().skip(1).filter_map(|line| line.split(':').next()).collect();
        assert!(names.iter().all(|name| ["range", "host", "accept", "user-agent"].contains(name)), "{names:?}");
    }
    // Redirects that lead back do not go on for ever.
    let server = Raw::start(|number, _| answer("302 Found", &[("Location", &format!("/t/{number}"))], ""));
    let store = Store::open_with(&format!("{}/t", server.url()), &StoreOptions::only([("max_retries", "3")])).unwrap();
    let error = block_on(store.get("a", 9)).unwrap_err();
    assert!(error.to_string().contains("redirects more than 5 times"), "{error}");
    assert_eq!(server.take_heads().len(), 6);
}

#[test]
fn an_answer_without_end_is_an_error_and_not_read_to_its_end() {
    const BOUND: u64 = 64 << 20;
    let key = "<Contents><Key>t/a</Key><Size>1</Size><LastModified>2026-01-01T00:00:00Z</LastModified></Contents>";
    let list = "<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>false</IsTruncated>";
    for (status, first, again) in
        [("200 OK", list, key), ("200 OK", list, " "), ("200 OK", "<ListBucketResult><Message>", "\u{1b}[2J\u{202e}")]
    {
        let server = Raw::start(move |_, _| Answer::Endless(head(status) + first, again.to_owned()));
        let store = s3_store(&server);
        let error = block_on(store.list("")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("an answer has over 33554432 bytes"), "{error}");
        assert_eq!(server.take_heads().len(), 1, "the same answer comes again, so it is not asked for");
        assert!(server.take_sent() < BOUND);
        // Only a listing and the begin of an upload need a body; of all else the body is not read.
        let (deleted, put) = block_on(async { (store.delete("a").await, store.put_new("a", "x".into()).await) });
        deleted.unwrap();
        let _ = put;
        assert!(server.take_sent() < BOUND);
        let large = tempfile::tempfile().unwrap();
        large.set_len(9 << 20).unwrap();
        let error = block_on(store.put_file("chunks/a", large, 9 << 20)).unwrap_err();
        let (sent, requests) = (server.take_sent(), server.take_heads().len() as u64);
        assert!(sent < requests * BOUND, "{sent} bytes for {requests} requests of an upload: {error}");
    }
    for status in
        ["400 Bad Request", "403 Forbidden", "404 Not Found", "409 Conflict", "500 Internal Server Error", "501 Not Implemented"]
    {
        let first = head(status) + "no \u{1b}[31mXML\r\n";
        let server = Raw::start(move |_, _| Answer::Endless(first.clone(), "\u{1b}[2J\u{202e}canary ".to_owned()));
        for (what, error) in block_on(async {
            let store = Store::open_with("s3://data/t", &s3_at(&server.url(), &[("max_retries", "1")])).unwrap();
            let list = store.list("").await.unwrap_err();
            [("get", store.get("a", 100).await.unwrap_err()), ("list", list)]
        }) {
            let text = error.to_string();
            assert!(text.len() < 4_000, "{status} {what}: {} bytes", text.len());
            assert!(!text.contains(['\u{1b}', '\u{202e}', '\n']), "{status} {what}: {text}");
        }
        // The buffers of a connection hold some MiB.
        let (sent, requests) = (server.take_sent(), server.take_heads().len() as u64);
        assert!(sent < requests * (16 << 20), "{status}: {sent} bytes for {requests} requests");
    }
    // A length that no memory holds is refused before memory is asked for.
    let huge = "HTTP/1.1 200 OK\r\nContent-Length: 9000000000000000000\r\nConnection: close\r\n\r\n<";
    let server = Raw::start(move |_, _| Answer::Whole(huge.to_owned()));
    let error = block_on(s3_store(&server).list("")).unwrap_err();
    assert!(error.to_string().contains("an answer has over"), "{error}");
}

#[test]
fn a_listing_that_gives_a_token_twice_or_pages_without_names_ends() {
    let page = |token: &str, names: &str| {
        let text = format!(
            "<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>{token}\
             </NextContinuationToken>{names}</ListBucketResult>"
        );
        answer("200 OK", &[("Content-Type", "application/xml")], &text)
    };
    let name = "<Contents><Key>t/a</Key><Size>1</Size><LastModified>2026-01-01T00:00:00Z</LastModified></Contents>";
    for names in ["", name] {
        let server = Raw::start(move |_, _| page("again", names));
        let error = block_on(s3_store(&server).list("")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("the same continuation token twice"), "{error}");
        assert_eq!(server.take_heads().len(), 3, "without a token, with it, and with it once more");
    }
    let server = Raw::start(move |number, _| page(&format!("token{number}"), ""));
    let error = block_on(s3_store(&server).list("")).unwrap_err();
    assert!(error.to_string().contains("1000 pages have no name"), "{error}");
    assert_eq!(server.take_heads().len(), 1_001);
}

#[test]
fn an_answer_that_is_no_listing_is_asked_for_three_times() {
    for body in ["<html><body>Please log in</body></html>", "", "{}", "<?xml version=\"1.0\"?><Other/>"] {
        let server = Raw::start(move |_, _| answer("200 OK", &[("Content-Type", "text/html")], body));
        let error = block_on(Table::open_with("s3://data/t", &s3_at(&server.url(), &[]))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{body}: {error}");
        assert!(error.to_string().contains("is no listing"), "{body}: {error}");
        assert_eq!(server.take_heads().len(), 3, "{body}");
    }
}

#[test]
fn a_server_that_is_not_there_is_named_after_a_few_requests() {
    // A port that was free a moment ago, and a name that no resolver asks another machine for: a part of it is too long.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let nowhere = format!("http://127.0.0.1:{port}");
    let nobody = format!("http://{}.localhost", "x".repeat(70));
    for (url, expected) in
        [(&nowhere, format!("127.0.0.1:{port} refuses connections")), (&nobody, "cannot be resolved".to_owned())]
    {
        let open = |retries: &str| Store::open_with("s3://data/t", &s3_at(url, &[("max_retries", retries)])).unwrap();
        for (retries, asked) in [("15", 1..=16), ("2", 1..=3), ("0", 1..=1)] {
            let store = open(retries);
            let error = block_on(store.get("a", 9)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
            assert!(error.to_string().contains(&expected), "{error}");
            assert!(store.requests_sent().is_some_and(|sent| asked.contains(&sent)), "{:?}: {error}", store.requests_sent());
        }
        for (what, error) in block_on(every_request(&open("0"))) {
            assert!(error.to_string().contains(&expected), "{what}: {error}");
        }
        let web = StoreOptions::only([("max_retries", "0")]);
        let error = block_on(Table::open_with(&format!("{url}/t@1"), &web)).unwrap_err();
        assert!(error.to_string().contains(&expected), "{error}");
    }
}

/// Returns a server whose every answer is the object `secure`.
fn secure() -> Raw {
    let headers = [("Last-Modified", "Tue, 24 Nov 2026 10:00:00 GMT"), ("ETag", "\"1\"")];
    Raw::start_tls(move |_, _| answer("200 OK", &headers, "secure"))
}

#[test]
fn a_certificate_that_is_not_trusted_or_for_another_name_is_named_after_one_request() {
    let server = secure();
    let [address, name] = server.urls();
    let authority = tls("authority.pem");
    let plain = Raw::start(|_, _| answer("200 OK", &[], "plain"));
    let as_if_secure = plain.url().replace("http:", "https:");
    for (url, bundle, expected) in [
        (&name, None, "is not trusted: its issuer is unknown"),
        (&address, Some(&authority), "is for another name"),
        (&as_if_secure, Some(&authority), "does not speak TLS"),
    ] {
        let bundle = bundle.map(|path| ("ca_bundle", path.as_str()));
        let options = s3_at(url, &bundle.into_iter().collect::<Vec<_>>());
        let store = Store::open_with("s3://data/t", &options).unwrap();
        for (sent, (what, error)) in block_on(every_request(&store)).into_iter().enumerate() {
            assert!(error.to_string().contains(expected), "{what}: {error}");
            assert_eq!(error.kind(), ErrorKind::Invalid, "{what} {sent}: {error}");
        }
        assert_eq!(store.requests_sent(), Some(7), "one request for each call: {expected}");
    }
    // Trusted by the option, also on a web server.
    let store = Store::open_with("s3://data/t", &s3_at(&name, &[("ca_bundle", &authority)])).unwrap();
    assert_eq!(block_on(store.get("a", 9)).unwrap(), "secure");
    let store = Store::open_with(&format!("{name}/t"), &StoreOptions::only([("ca_bundle", &authority)])).unwrap();
    assert_eq!(block_on(store.get("a", 9)).unwrap(), "secure");
}

#[test]
fn a_bundle_that_is_none_is_refused_when_the_store_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let none = folder.path().join("none.pem").display().to_string();
    let empty = folder.path().join("empty.pem").display().to_string();
    std::fs::write(&empty, "no certificate").unwrap();
    let directory = folder.path().display().to_string();
    for path in [&none, &empty, &directory] {
        for name in ["ca_bundle", "aws_ca_bundle", "AWS_CA_BUNDLE"] {
            let error = Store::open_with("s3://data/t", &s3_at("https://localhost:1", &[(name, path)])).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            assert!(error.to_string().contains(path.as_str()) && error.to_string().contains("AWS_CA_BUNDLE"), "{error}");
        }
    }
}

const CHILD_URL: &str = "TETRYS_TLS_URL";

/// Not a test of its own: a process that reads from a server with the options of its environment.
#[test]
fn a_process_that_trusts_its_environment() {
    let Ok(url) = env::var(CHILD_URL) else { return };
    assert_eq!(block_on(Store::open(&url).unwrap().get("a", 9)).unwrap(), "secure");
}

#[test]
fn the_environment_names_whom_to_trust() {
    let server = secure();
    let name = &server.urls()[1];
    let web = format!("{name}/t");
    let trusted = tls("authority.pem");
    let config = tempfile::NamedTempFile::new().unwrap();
    let profile = format!("[default]\naws_access_key_id = a\naws_secret_access_key = b\nca_bundle = {trusted}\n");
    std::fs::write(config.path(), profile).unwrap();
    let config = config.path().to_str().unwrap();
    for (url, variables, works) in [
        (
            "s3://data/t",
            vec![("AWS_CA_BUNDLE", trusted.as_str()), ("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b")],
            true,
        ),
        (
            "s3://data/t",
            vec![("SSL_CERT_FILE", trusted.as_str()), ("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b")],
            true,
        ),
        ("s3://data/t", vec![("AWS_SHARED_CREDENTIALS_FILE", config)], true),
        ("s3://data/t", vec![("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b")], false),
        (&web, vec![("SSL_CERT_FILE", trusted.as_str())], true),
        // The variable of the AWS tools is about AWS alone.
        (&web, vec![("AWS_CA_BUNDLE", trusted.as_str())], false),
    ] {
        let mut child = Command::new(env::current_exe().unwrap());
        child.args(["--exact", "network::a_process_that_trusts_its_environment"]).env(CHILD_URL, url);
        for name in ["AWS_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR", "AWS_PROFILE"] {
            child.env_remove(name);
        }
        child.env("AWS_ENDPOINT_URL", name).env("AWS_REGION", "r").env("AWS_CONFIG_FILE", "/nonexistent/config");
        let done = child.envs(variables.clone()).output().unwrap();
        let output = String::from_utf8_lossy(&done.stdout);
        assert_eq!(done.status.success(), works, "{url} {variables:?}: {output}");
        assert!(works || output.contains("is not trusted"), "{url} {variables:?}: {output}");
    }
}

#[test]
fn a_connection_that_breaks_is_named_by_its_cause() {
    let server = s3::server();
    server.on_request(|_| Some(tetrys_s3_server::Fault::Reset));
    let store = Store::open_with("s3://data/t", &s3::options_and(&server, &[("max_retries", "1")])).unwrap();
    for (what, error) in block_on(every_request(&store)) {
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{what}: {error}");
        let text = error.to_string().to_lowercase();
        assert!(text.contains("reset") || text.contains("connection closed") || text.contains("broken pipe"), "{what}: {error}");
    }
}

/// Runs a future outside of a runtime (0), without timers and I/O (1), without timers (2), and without I/O (3).
fn run<T>(lacking: usize, future: impl Future<Output = T>) -> T {
    use tokio::runtime::Builder;
    match lacking {
        0 => futures::executor::block_on(future),
        1 => Builder::new_current_thread().build().unwrap().block_on(future),
        2 => Builder::new_multi_thread().worker_threads(1).enable_io().build().unwrap().block_on(future),
        _ => Builder::new_current_thread().enable_time().build().unwrap().block_on(future),
    }
}

#[test]
fn without_a_runtime_with_timers_and_io_a_remote_store_says_what_to_do() {
    let server = s3::server();
    server.put("data", "t/a", "bytes");
    let options = s3::options(&server);
    let store = s3::store(&server, "t");
    for (lacking, what) in ["outside of one", "with timers", "with timers", "with I/O"].into_iter().enumerate() {
        let errors = [
            run(lacking, Table::open_with("s3://data/t", &options)).err(),
            run(lacking, Table::open_with("s3://data/t@1", &options)).err(),
            run(lacking, store.get("a", 9)).err(),
            run(lacking, store.read(&[RangeRequest::new("a", 5, 0..2)])).err(),
            run(lacking, store.size("a")).err(),
            run(lacking, store.list("")).err(),
            run(lacking, store.put_new("b", "x".into())).err(),
            run(lacking, store.put_content("b", "x".into())).err(),
            run(lacking, store.delete("a")).err(),
            run(lacking, store.ensure_create_only()).err(),
        ];
        for error in errors {
            let error = error.expect(what);
            assert_eq!(error.kind(), ErrorKind::Invalid, "{what}: {error}");
            let text = error.to_string();
            assert!(text.contains(what) && text.contains("enable_all") && text.contains("tetrys::block_on"), "{what}: {text}");
        }
        // The store is whole afterwards.
        assert_eq!(block_on(store.get("a", 9)).unwrap(), "bytes");
    }
    assert_eq!(server.names("data"), ["t/a"]);
}

const CHILD_FILES: &str = "TETRYS_FEW_FILES";

/// Not a test of its own: a process that may have few files open, and has them all open.
#[test]
fn a_process_with_all_its_files_open() {
    let Ok(folder) = env::var(CHILD_FILES) else { return };
    let url = format!("{folder}/t");
    let opened = || block_on(Table::open(&url));
    assert!(opened().is_ok());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let failed = AtomicUsize::new(0);
    // With fewer and fewer free descriptors, another step fails.
    let mut open_files: Vec<std::fs::File> = std::iter::from_fn(|| std::fs::File::open(&folder).ok()).collect();
    for _ in 0..6 {
        if let Err(error) = runtime.block_on(Table::open(&url)) {
            failed.fetch_add(1, Ordering::Relaxed);
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
            let text = error.to_string();
            assert!(text.contains("Too many open files"), "{text}");
            assert!(!cfg!(target_os = "linux") || text.contains("this process may have 60 open"), "{text}");
            assert!(text.contains("ulimit -n") && !text.contains("configuration"), "{text}");
        }
        open_files.pop();
    }
    assert!(failed.into_inner() > 0);
    drop(open_files);
    assert!(runtime.block_on(Table::open(&url)).is_ok());
}

#[cfg(unix)]
#[test]
fn too_many_open_files_are_named_with_the_limit() {
    use crate::common::tables::{self, cut_by, tiny_cuts, two_partitions};
    let folder = tempfile::tempdir().unwrap();
    let (schema, partitions) = two_partitions(common::seed());
    let url = folder.path().join("t").display().to_string();
    block_on(tables::write(Store::open(&url).unwrap(), schema, cut_by(tiny_cuts()), &partitions)).unwrap();
    // The files of a user are read before any file of a table.
    let config = folder.path().join("config.toml");
    std::fs::write(&config, "allow = []\n").unwrap();
    let script = format!("ulimit -n 60; exec \"$0\" --exact {}", "network::a_process_with_all_its_files_open");
    let mut child = Command::new("sh");
    child.args(["-c", &script]).arg(env::current_exe().unwrap());
    for configured in [false, true] {
        child.env(CHILD_FILES, folder.path());
        if configured {
            child.env("TETRYS_CONFIG", &config);
        }
        let done = child.output().unwrap();
        assert!(done.status.success(), "{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    }
}
