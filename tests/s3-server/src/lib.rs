//! An S3 server in memory, for the tests: it checks signatures, honours conditions, takes uploads in parts, answers ranges and
//! lists in order; a hook of the test decides which request fails, and how. It listens on the loopback alone, on threads of
//! its own, and stops when it is dropped.
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
