//! `Session` holds a change before it is published, and `publish.rs` is the one way to publish it: rebased onto what other writers have
//! published (`rebase.rs`), and without many small segments at the end (`folding.rs`).
//!
//! A write session, which makes a version from new rows, may have several processes: `start.rs` begins it, `writer.rs` writes and
//! commits, `rows_writer.rs` cuts rows into partitions, `ticket.rs` and `joined.rs` take it to other processes, `plan.rs` and
//! `planned.rs` to partitions that are known before, `files.rs` names its files and deletes them, and `sessions.rs` lists and ends what
//! is there. `following.rs` checks that appended rows follow those of the table, and `vacant.rs` that a new table may be made.

mod files;
mod folding;
mod following;
mod joined;
mod plan;
mod planned;
mod publish;
mod rebase;
mod rows_writer;
#[expect(clippy::module_inception, reason = "the file of the type `Session` is called after it")]
mod session;
mod sessions;
mod start;
mod ticket;
mod vacant;
mod writer;

#[cfg(feature = "frame")]
pub(in crate::table) use self::vacant::{is_new_name, is_vacant};
pub(in crate::table) use self::{
    files::{is_session_file, remove_empty_folders, since_of},
    following::Edge,
    publish::not_pinned,
    session::{Session, lineage},
};
pub use self::{plan::WritePlan, rows_writer::RowsWriter, sessions::SessionInfo, ticket::Ticket, writer::TableWriter};
