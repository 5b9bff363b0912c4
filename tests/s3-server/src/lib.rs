//! An in-memory S3 server for tests. It checks signatures, honours conditions, accepts multipart uploads, answers byte ranges and
//! lists in order. A hook of the test decides which requests fail, and how. The server listens on the loopback interface only,
//! runs on threads of its own, and stops when it is dropped.
//!
//! ```
//! let server = tetrys_s3_server::Server::start();
//! server.create_bucket("data");
//! assert!(server.endpoint().starts_with("http://127.0.0.1:"));
//! server.put("data", "a/b", "bytes");
//! assert_eq!(server.names("data"), ["a/b"]);
//! ```

mod faults;
mod objects;
mod serve;
mod service;

pub use faults::{Fault, Request};
pub use serve::{Latency, Served, Server, dependent};
