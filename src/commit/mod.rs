//! Commits: the receipts of a session become one manifest, exactly once. Follows `format-spec/manifest.md#commit`.
//!
//! [`in_order`] and [`planned`] decide which receipts make the table (pure). [`merge`] joins their parts into segments. [`publish`] claims the
//! version, and [`fate_of`] tells the outcome of a claim. [`rebase`] puts a change on top of another change (pure). [`Owners`] tracks the
//! other tables whose chunks a table uses.

mod claim;
mod decided;
pub mod decisions;
mod index_segments;
mod merge;
mod owners;
mod rebase;
mod receipts;
mod statistics;
mod versions;

pub use claim::{Fate, publish};
pub(crate) use claim::{NOT_PINNED, WITHOUT_PINS, fate_of, fate_of_hash, rule_out};
pub(crate) use decided::{
    Decided, SESSION, ancestor, existing, lists_object, lists_of, next_collections, session_of, store_lists,
};
pub use index_segments::{IndexSegments, index_segments};
pub use merge::{MergeInto, SegmentIndex, merge, put_file, put_group, put_layout};
pub use owners::{Borrower, Owners, Unpinned};
pub use rebase::SameRows;
pub(crate) use rebase::rebase;
pub use receipts::{first_attempts, in_order, planned};
pub(crate) use versions::manifests;
pub use versions::{hash_of, load, load_newest, load_sealed, newest_version, no_version, sealed, stated_hash, versions};
