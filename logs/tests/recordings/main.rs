//! Recordings: files of the format's authors and of real drives, and rows that are made of them.

mod apart;
mod bag_writing;
mod bags;
mod bounds;
mod common;
mod compressed;
mod conformance;
mod damage;
mod decoders;
mod drive;
mod jumps;
mod left_out;
mod lists;
mod mistaken;
mod old_bags;
mod plain;
mod reports;
mod resuming;
mod rows;
mod shared;
mod silent;
mod slerp;
mod standard;
mod tf;
mod writing;
