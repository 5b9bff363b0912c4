//! Tables: written, read, changed, shared, merged and garbage collected, compared with plain models.

mod api;
mod bad_input;
mod batches;
mod blocking;
mod bloom_filters;
mod collections;
#[path = "../common/mod.rs"]
mod common;
mod compacting;
mod costs;
mod damaged_versions;
mod diff;
mod doctor;
mod foreign_files;
mod formats;
mod frames;
mod garbage;
mod handles;
mod histories;
mod index_rows;
mod indexes;
mod joining;
mod large_merges;
mod large_splits;
mod late_columns;
mod layouts;
mod loading;
mod long_values;
mod lookups;
mod many_partitions;
mod merges;
mod one_field;
mod one_process;
mod open_cost;
mod own_process;
mod partial;
mod planner;
mod power_cuts;
mod references;
mod repairing;
mod repeats;
mod restoring;
mod rows_by_number;
mod runtimes;
mod sessions;
mod sharing;
mod spans;
mod splits;
mod typed;
mod versions;
mod views;
mod windows;
mod write_memory;

/// Counts the memory of the process, for the tests that run in a process of their own.
#[global_allocator]
static MEMORY: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;
