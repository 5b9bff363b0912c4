//! Changes of a table: writers and edits prepare a version, a session holds what they share, and one function publishes it.

pub(in crate::table) mod columns;
pub(in crate::table) mod compact;
pub(in crate::table) mod edit;
pub(in crate::table) mod folding;
pub(in crate::table) mod keys;
pub(in crate::table) mod publish;
pub(in crate::table) mod rebasing;
pub(in crate::table) mod session;
pub(in crate::table) mod splice;
pub(in crate::table) mod ticket;
pub(in crate::table) mod writer;

pub use columns::GroupReplacer;
pub use edit::Edit;
pub use ticket::Ticket;
pub use writer::TableWriter;
