//! An in-memory server for tests, which speaks S3, the REST API of Azure Blob Storage or the XML API of Google Cloud Storage. It checks
//! signatures of S3 and tokens of the others, honours conditions, accepts multipart uploads, answers byte ranges and lists in order. A
//! hook of the test decides which requests fail, and how. The server listens on the loopback interface only,
//! runs on threads of its own, and stops when it is dropped.
//!
//! ```
//! let server = tetrys_s3_server::Server::start();
//! server.create_bucket("data");
//! assert!(server.endpoint().starts_with("http://127.0.0.1:"));
//! server.put("data", "a/b", "bytes");
//! assert_eq!(server.names("data"), ["a/b"]);
//! ```

mod azure;
mod faults;
mod google;
mod objects;
mod protocol;
mod rest;
mod serve;
mod service;

pub use faults::{Fault, Request};
pub use protocol::Protocol;
pub use serve::{Latency, Served, Server, dependent};
