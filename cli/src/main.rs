//! The `tetrys` command line.

fn main() {}
