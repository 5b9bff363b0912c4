//! Requests to a viewer without a browser, and damage to a table.

#![allow(dead_code, unreachable_pub, missing_docs, reason = "each suite uses its part")]

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    time::Duration,
};

use tetrys::Table;
use tetrys_view::Server;

/// Runs asynchronous code as a program does.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(work)
}

/// An answer, as it came over the wire.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Got {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found =
            self.head.lines().filter_map(|line| line.split_once(": ")).find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}

/// Sends bytes and reads the answer until the connection ends.
pub(crate) fn send(address: SocketAddr, request: &str) -> Got {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").map_or(bytes.len(), |end| end + 4);
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    let mut body = bytes[end..].to_vec();
    if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        body = unchunked(&body);
    }
    Got { status, head, body }
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
        let len = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        body.extend_from_slice(&rest[end + 2..end + 2 + len]);
        rest = &rest[end + 4 + len..];
        if len == 0 {
            break;
        }
    }
    body
}

pub(crate) fn token(server: &Server) -> String {
    server.url().split_once("#token=").unwrap().1.to_owned()
}

/// Asks as the page does.
pub(crate) fn ask(server: &Server, path: &str) -> Got {
    let (address, token) = (server.address(), token(server));
    send(
        address,
        &format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nSec-Fetch-Site: same-origin\r\nAuthorization: Bearer {token}\r\n\r\n"
        ),
    )
}

/// Flips a byte in the block of a row of a column group. `folder` is that of the table.
pub(crate) async fn damage(table: &Table, folder: &Path, group: &str, row: u64) {
    let group = table.schema().groups().iter().position(|existing| existing.name == group).unwrap();
    let layout = table.storage().layout(group).await.unwrap();
    let block = layout.locate(row).unwrap().block;
    let range = layout.byte_range(block).unwrap();
    let file = folder.join(layout.chunk_run(block).unwrap().chunk().object_name());
    let mut bytes = fs::read(&file).unwrap();
    bytes[(range.start + range.end) as usize / 2] ^= 0xff;
    fs::write(&file, bytes).unwrap();
}
