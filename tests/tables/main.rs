//! Tables: written, read, changed, shared, merged and garbage collected, compared with plain models.

mod api;
mod bad_input;
mod batches;
mod blocking;
mod bloom_filters;
#[path = "../common/mod.rs"]
mod common;
mod compacting;
mod diff;
mod foreign_files;
mod formats;
mod frames;
mod garbage;
mod histories;
mod indexes;
mod layouts;
mod loading;
mod long_values;
mod merge_writer;
mod merges;
mod one_field;
mod open_cost;
mod own_process;
mod partial;
mod planner;
mod references;
mod runtimes;
mod sessions;
mod sharing;
mod spans;
mod split_writer;
mod splits;
mod typed;
mod versions;
mod views;
mod windows;
