//! Stores: directories, memory, and servers of S3, Azure and Google on the loopback interface, with faults, lost responses and killed processes.

mod changes;
mod claims;
mod clouds;
#[path = "../common/mod.rs"]
mod common;
mod crash;
mod crash_parts;
mod every_fault;
mod network;
mod s3_cache;
mod s3_commits;
mod s3_conformance;
mod s3_costs;
mod s3_faults;
mod s3_resets;
mod s3_tables;
mod simulator;
mod store_conformance;
mod web;
