//! The helpers of the library's suites that these tests use.

#![allow(dead_code, unreachable_pub, missing_docs, unused_imports, reason = "each suite uses its part")]

#[path = "../../../tests/common/chains.rs"]
pub(crate) mod chains;
#[path = "../../../tests/common/environment.rs"]
mod environment;
#[path = "../../../tests/common/l5.rs"]
pub(crate) mod l5;
#[path = "../../../tests/common/npz.rs"]
pub(crate) mod npz;

pub(crate) use environment::*;
