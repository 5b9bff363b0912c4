//! Recordings: files of the format's authors and of real drives, and rows that are made of them.

mod common;
mod conformance;
mod damage;
mod decoders;
mod drive;
mod left_out;
mod plain;
mod rows;
mod writing;
