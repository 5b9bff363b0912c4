//! Operations on a table: history, statistics, storage use, verification, comparison of versions, and garbage collection.

pub(in crate::table) mod diff;
pub(in crate::table) mod diff_hashes;
pub(in crate::table) mod diff_parts;
pub(in crate::table) mod diff_rows;
pub(in crate::table) mod diff_segments;
mod diff_views;
pub(in crate::table) mod doctor;
pub(in crate::table) mod gc;
pub(in crate::table) mod history;
pub(in crate::table) mod info;
pub(in crate::table) mod repair;
mod storage;
pub(in crate::table) mod usage;
pub(in crate::table) mod users;
pub(in crate::table) mod verify;
mod verify_groups;
mod versions;

pub use crate::machine::now_ms;
pub use diff::{ColumnDiff, Diff, DiffOptions, GroupDiff};
pub use doctor::{Cure, Diagnosis, Finding};
pub use gc::{GcPlan, GcSettings, User};
pub use history::VersionInfo;
pub use info::{GroupInfo, SourceInfo, TableInfo};
pub use repair::Repair;
pub use storage::Storage;
pub use usage::{Usage, VersionUsage};
pub use users::UserInfo;
pub use verify::{Damage, Verification, VerifyReach};
pub use versions::Versions;
