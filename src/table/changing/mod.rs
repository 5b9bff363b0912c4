//! Changes of a table: of columns, rows, metadata and segments. Each is a session (`session/`), which publishes the next version.

mod columns;
mod compact;
mod edit;
mod keys;
mod restore;
mod splice;

pub use self::{columns::GroupReplacer, edit::Edit};
