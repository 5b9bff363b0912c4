//! Tests the binary as users run it: what each command does, prints and refuses.

mod across;
mod arrays;
mod asking;
mod bad_input;
#[path = "../binary/mod.rs"]
mod binary;
mod changes;
#[path = "../common/mod.rs"]
mod common;
#[cfg(unix)]
mod copying;
#[cfg(unix)]
mod files;
mod frames;
mod help;
#[cfg(unix)]
mod kills;
mod logs;
mod production;
mod reading;
mod remote;
mod sharing;
mod sweeps;
mod text;
mod upkeep;
mod viewing;
mod views;
mod walk;
