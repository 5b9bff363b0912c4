//! Recordings: files of the format's authors and of real drives, and rows that are made of them.

mod bags;
mod common;
mod compressed;
mod conformance;
mod damage;
mod decoders;
mod drive;
mod jumps;
mod left_out;
mod lists;
mod plain;
mod reports;
mod rows;
mod silent;
mod writing;
