//! Changes of a table. Writers and edits prepare a version, `session.rs` holds the state that they share, and `publish.rs`
//! publishes the version.

pub(in crate::table) mod columns;
pub(in crate::table) mod compact;
pub(in crate::table) mod edit;
pub(in crate::table) mod folding;
pub(in crate::table) mod joined;
pub(in crate::table) mod keys;
pub(in crate::table) mod plan;
pub(in crate::table) mod planned;
pub(in crate::table) mod publish;
pub(in crate::table) mod rebasing;
pub(in crate::table) mod restore;
pub(in crate::table) mod session;
pub(in crate::table) mod session_files;
pub(in crate::table) mod sessions;
pub(in crate::table) mod splice;
pub(in crate::table) mod start;
pub(in crate::table) mod ticket;
pub(in crate::table) mod writer;

pub use columns::GroupReplacer;
pub use edit::Edit;
pub use plan::WritePlan;
pub use sessions::SessionInfo;
pub use ticket::Ticket;
pub use writer::TableWriter;
