//! Each rule of security, over real connections.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, TcpStream},
    path::Path,
    time::Duration,
};

use tetrys_view::{Options, Server, Source};

use crate::common::{Got, ask, block_on, send, token, write_drives};

async fn started(folder: &Path, options: Options) -> Server {
    let table = write_drives(&folder.join("drives")).await;
    Server::start(vec![Source::of_table(table)], options).await.unwrap()
}

fn with_headers(server: &Server, path: &str, headers: &[(&str, &str)]) -> Got {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    send(server.address(), &format!("GET {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n"))
}

#[test]
fn every_request_names_this_server_and_every_one_for_data_has_the_token() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let server = started(folder.path(), Options::default()).await;
        let (host, bearer) = (server.address().to_string(), format!("Bearer {}", token(&server)));
        assert!(server.address().ip().is_loopback());
        assert_eq!(token(&server).len(), 64);
        let status = |path: &str, headers: &[(&str, &str)]| with_headers(&server, path, headers).status;
        // Another name of this address, as after DNS rebinding.
        assert_eq!(status("/", &[("Host", "evil.example")]), 421);
        assert_eq!(
            status("/api/tables", &[("Host", "evil.example"), ("Authorization", &bearer), ("Sec-Fetch-Site", "same-origin")]),
            421
        );
        // Files of the page need no token.
        for path in ["/", "/app.js", "/app.css", "/points.js", "/icon.svg"] {
            assert_eq!(status(path, &[("Host", &host)]), 200, "{path}");
        }
        assert_eq!(status("/api/tables", &[("Host", &host), ("Authorization", &bearer), ("Sec-Fetch-Site", "same-origin")]), 200);
        for path in [
            "tables",
            "select?table=0",
            "heads?table=0",
            "rows?table=0&start=0&count=1",
            "row?table=0&row=0",
            "series",
            "sequence",
            "copies",
            "about?table=0",
            "users?table=0",
            "versions?table=0",
            "layout?table=0&cells=9",
            "scene?table=0&row=0",
            "ground?table=0&x=0&y=0&radius=9",
            "none",
        ] {
            let path = format!("/api/{path}");
            assert_eq!(status(&path, &[("Host", &host), ("Sec-Fetch-Site", "same-origin")]), 401, "{path}");
            assert_eq!(
                status(&path, &[("Host", &host), ("Sec-Fetch-Site", "same-origin"), ("Authorization", "Bearer x")]),
                401,
                "{path}"
            );
            assert_eq!(
                status(&path, &[("Host", &host), ("Sec-Fetch-Site", "cross-site"), ("Authorization", &bearer)]),
                403,
                "{path}"
            );
            assert_eq!(status(&path, &[("Host", &host), ("Authorization", &bearer)]), 403, "{path}");
        }
        // A cookie or a parameter is no token.
        let cookie = format!("token={}", token(&server));
        assert_eq!(status("/api/tables", &[("Host", &host), ("Sec-Fetch-Site", "same-origin"), ("Cookie", &cookie)]), 401);
        let in_query = format!("/api/tables?token={}", token(&server));
        assert_eq!(status(&in_query, &[("Host", &host), ("Sec-Fetch-Site", "same-origin")]), 401);
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"] {
            let got = send(server.address(), &format!("{method} / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"));
            assert_eq!(got.status, 405, "{method}");
        }
    });
}

#[test]
fn every_answer_has_the_headers_that_confine_a_page() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let server = started(folder.path(), Options::default()).await;
        let host = server.address().to_string();
        let answers = [
            with_headers(&server, "/", &[("Host", &host)]),
            with_headers(&server, "/none", &[("Host", &host)]),
            with_headers(&server, "/", &[("Host", "evil")]),
            ask(&server, "/api/tables"),
            ask(&server, "/api/rows?table=0&start=0&count=5"),
            ask(&server, "/api/rows?table=7"),
            ask(&server, "/api/heads?table=0"),
            ask(&server, "/api/about?table=0"),
            ask(&server, "/api/layout?table=0&cells=60&row=3"),
            ask(&server, "/api/scene?table=0&row=3"),
            ask(&server, "/api/ground?table=0&x=0&y=0&radius=9"),
        ];
        for got in &answers {
            assert_eq!(
                got.header("content-security-policy").unwrap(),
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; base-uri 'none'; \
                 form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
            );
            assert_eq!(got.header("x-content-type-options"), Some("nosniff"), "{}", got.head);
            assert_eq!(got.header("cross-origin-resource-policy"), Some("same-origin"));
            assert_eq!(got.header("referrer-policy"), Some("no-referrer"));
            assert_eq!(got.header("cache-control"), Some("no-store"));
            assert_eq!(got.header("set-cookie"), None);
            assert_eq!(got.header("access-control-allow-origin"), None);
        }
        // Values of a table are never of a type that a browser runs or shows.
        for path in ["/api/rows?table=0&start=0&count=5", "/api/row?table=0&row=3&columns=cameras.*&columns=front.png"] {
            let got = ask(&server, path);
            assert!(
                ["application/octet-stream", "application/json"].contains(&got.header("content-type").unwrap()),
                "{}",
                got.head
            );
        }
        assert_eq!(
            ask(&server, "/api/row?table=0&row=3&columns=front.png").header("content-type"),
            Some("application/octet-stream")
        );
    });
}

#[test]
fn another_address_needs_a_host_that_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let table = write_drives(&folder.path().join("drives")).await;
        let sources = || vec![Source::of_table(table.clone())];
        let mut options = Options::default();
        options.bind = Ipv4Addr::UNSPECIFIED.into();
        let refused = Server::start(sources(), options.clone()).await.unwrap_err();
        assert!(refused.to_string().contains("--allow-host"), "{refused}");
        for host in [
            "",
            "a b",
            "a/b",
            "a\r\nX: y",
            "https://a",
            "a,b",
            "ä",
            "gpu7",
            "gpu7:",
            "gpu7:x",
            "gpu7:65536",
            ":9000",
            "::1",
            "[a]:1",
        ] {
            options.allow_hosts = vec![host.to_owned()];
            assert!(Server::start(sources(), options.clone()).await.is_err(), "{host:?}");
        }
        options.allow_hosts = vec!["gpu7:9000".to_owned()];
        let server = Server::start(sources(), options).await.unwrap();
        assert!(server.url().starts_with("http://gpu7:9000/#token="), "{}", server.url());
        let (port, bearer) = (server.address().port(), format!("Bearer {}", token(&server)));
        let status = |host: &str| {
            let request =
                format!("GET /api/tables HTTP/1.1\r\nHost: {host}\r\nAuthorization: {bearer}\r\nConnection: close\r\n\r\n");
            send((Ipv4Addr::LOCALHOST, port).into(), &request).status
        };
        assert_eq!((status("gpu7:9000"), status("gpu8:9000"), status(&format!("0.0.0.0:{port}"))), (200, 421, 421));
        assert!(Server::start(Vec::new(), Options::default()).await.is_err(), "a server needs a table");
        let mut taken = Options::default();
        taken.port = port;
        let refused = Server::start(sources(), taken).await.unwrap_err();
        assert!(refused.to_string().contains(&format!("127.0.0.1:{port}")), "{refused}");
    });
}

/// Reads until the server has closed a connection, and returns the number of bytes; `None` if it stays open.
fn ended(stream: &mut TcpStream, within: Duration) -> Option<usize> {
    stream.set_read_timeout(Some(within)).unwrap();
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => None,
        _ => Some(bytes.len()),
    }
}

#[test]
fn connections_that_do_nothing_are_closed_and_make_room_for_others() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let mut options = Options::default();
        options.limits.connections = 3;
        options.limits.header = Duration::from_millis(700);
        let server = started(folder.path(), options).await;
        // Nothing sent, half of a head, and more of these than there is room for.
        let mut silent: Vec<TcpStream> = (0..6).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
        for stream in silent.iter_mut().skip(1).step_by(2) {
            stream.write_all(b"GET / HTTP/1.1\r\nHost:").unwrap();
        }
        assert_eq!(ask(&server, "/api/tables").status, 200, "there is room again");
        assert!(silent.iter_mut().all(|stream| ended(stream, Duration::from_secs(20)).is_some()));
    });
}

#[test]
fn a_reader_that_takes_no_bytes_is_closed_and_others_get_all_of_it() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let mut options = Options::default();
        options.limits.reader = Duration::from_millis(600);
        let server = started(folder.path(), options).await;
        let (address, token) = (server.address(), token(&server));
        // Many requests on one connection, whose answers are more than the buffers of the system hold.
        let one = format!(
            "GET /api/row?table=0&row=90&before=25&after=25&columns=lidar.points HTTP/1.1\r\nHost: {address}\r\nSec-Fetch-Site: same-origin\r\nAuthorization: Bearer {token}\r\n\r\n"
        );
        let mut slow = TcpStream::connect(address).unwrap();
        slow.write_all(one.repeat(20).as_bytes()).unwrap();
        // It reads nothing for a while; then the connection ends before all answers.
        std::thread::sleep(Duration::from_secs(3));
        let bytes = ended(&mut slow, Duration::from_secs(30)).unwrap();
        assert!(bytes < 20 * 4_000_000, "{bytes} bytes of more than 80 MB");
        // One that reads gets all of it, of a server whose limit a busy machine does not reach.
        let other = tempfile::tempdir().unwrap();
        let server = started(other.path(), Options::default()).await;
        let whole = ask(&server, "/api/row?table=0&row=90&before=25&after=25&columns=lidar.points");
        assert!(whole.status == 200 && whole.body.len() > 4_000_000, "{} bytes", whole.body.len());
        assert_eq!(ask(&server, "/api/tables").status, 200);
    });
}

#[test]
fn garbage_is_refused_and_the_server_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let server = started(folder.path(), Options::default()).await;
        let address = server.address();
        for request in [
            "\r\n\r\n".to_owned(),
            "GET\r\n\r\n".to_owned(),
            "GET / HTTP/9.9\r\n\r\n".to_owned(),
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
            format!("GET / HTTP/1.1\r\nHost: {address}\r\nX: {}\r\n\r\n", "x".repeat(200_000)),
            format!("GET http://{address}/ HTTP/1.1\r\nHost: {address}\r\n\r\n"),
            format!("GET //evil/%2e%2e/etc/passwd HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"),
            format!("GET / HTTP/1.1\r\nHost: {address}\r\nHost: {address}\r\nConnection: close\r\n\r\n"),
            "\u{0}\u{1}\u{2}\u{3}\r\n\r\n".to_owned(),
        ] {
            let got = send(address, &request);
            assert!(got.status == 0 || (400..600).contains(&got.status), "{request:.60?}: {}", got.head);
        }
        assert_eq!(ask(&server, "/api/tables").status, 200);
        let server_address = server.address();
        server.close().await;
        assert!(TcpStream::connect(server_address).is_err(), "the port is free");
    });
}
