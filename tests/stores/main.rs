//! Stores: directories, memory, and S3 servers on the loopback interface, with faults, lost responses and killed processes.

mod claims;
#[path = "../common/mod.rs"]
mod common;
mod crash;
mod crash_parts;
mod network;
mod s3_cache;
mod s3_changes;
mod s3_commits;
mod s3_conformance;
mod s3_costs;
mod s3_every_fault;
mod s3_faults;
mod s3_resets;
mod s3_tables;
mod simulator;
mod store_conformance;
mod web;
