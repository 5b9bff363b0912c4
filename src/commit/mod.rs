//! Receipts to one manifest, exactly once.
//!
//! [`in_order`] decides which receipts make the table (pure), [`merge`] joins their parts into segments, [`publish`] claims the
//! version. Follows `format-spec/manifest.md#commit`.

mod merge;
mod publish;
mod receipts;
mod statistics;

pub use merge::merge;
pub use publish::{hash_of, load, newest_version, publish, sealed, versions};
pub use receipts::in_order;
