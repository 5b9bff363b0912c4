//! Buckets for tests: on the servers of this workspace (S3, Azure, Google), and on `moto`, an S3 server which other people wrote.

use std::{
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use tetrys::{Store, StoreOptions};
use tetrys_s3_server::{Protocol, Server};

/// Starts a server of S3 with an empty bucket `data`.
pub fn server() -> Server {
    server_of(Protocol::S3)
}

/// Starts a server of a protocol with an empty bucket `data`.
pub fn server_of(protocol: Protocol) -> Server {
    let server = Server::start_as(protocol);
    server.create_bucket("data");
    server
}

/// Returns the options of that server, independent of the environment.
pub fn options(server: &Server) -> StoreOptions {
    StoreOptions::only(server.options())
}

/// Returns the options of that server and some more.
pub fn options_and(server: &Server, more: &[(&str, &str)]) -> StoreOptions {
    let more = more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    StoreOptions::only(server.options().into_iter().chain(more))
}

/// Opens a store in the bucket `data`.
pub fn store(server: &Server, path: &str) -> Store {
    Store::open_with(&server.url("data", path), &options(server)).unwrap()
}

/// A `moto` server in a child process. Dropping it ends the process.
pub struct Moto {
    child: Child,
    endpoint: String,
}

impl Moto {
    /// Starts a server. If there is no python3, or no network to install moto, records the test as skipped and returns `None`.
    pub fn start() -> Option<Self> {
        let script = super::root().join("tests/moto/venv.sh");
        let made = Command::new("sh").arg(script).stderr(Stdio::inherit()).output().unwrap();
        if !made.status.success() {
            super::skip("no python3 with venv, or no network, to get moto with");
            return None;
        }
        let python = String::from_utf8(made.stdout).unwrap();
        // This port was free a moment ago. moto does not tell which port it takes, so it cannot choose one.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let code = "import sys; from moto.server import main; main(['-H', '127.0.0.1', '-p', sys.argv[1]])";
        let child = Command::new(python.trim())
            .args(["-c", code, &port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let moto = Self { child, endpoint: format!("http://127.0.0.1:{port}") };
        let begin = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begin.elapsed() < Duration::from_secs(600), "moto does not listen");
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(moto)
    }

    /// Returns the options of the server.
    pub fn options(&self) -> Vec<(String, String)> {
        let pairs = [
            ("endpoint", self.endpoint.as_str()),
            ("region", "us-east-1"),
            ("access_key_id", "testing"),
            ("secret_access_key", "testing"),
        ];
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
    }

    /// Creates a bucket by a plain PUT.
    pub fn create_bucket(&self, bucket: &str) {
        use std::io::{Read, Write};
        let address = self.endpoint.trim_start_matches("http://");
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        write!(stream, "PUT /{bucket} HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
