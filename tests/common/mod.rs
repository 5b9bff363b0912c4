//! Helpers of all suites: small tables, a backend with a hook, readers of L5 data and of NumPy files, the environment.

#![allow(dead_code, unreachable_pub, missing_docs, unused_imports, reason = "each suite uses its part")]

pub(crate) mod chains;
mod environment;
pub(crate) mod hooked;
pub(crate) mod l5;
pub(crate) mod npz;
pub(crate) mod plain;
pub(crate) mod raw;
pub(crate) mod s3;
pub(crate) mod tables;

pub(crate) use environment::*;
