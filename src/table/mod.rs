//! What a user holds: tables, their writers, and loaders of rows. The only place where writing, committing, the frame and
//! reading meet.

#[expect(clippy::module_inception, reason = "the file of the type `Table` is called after it")]
mod table;

mod reading;

mod session;

mod changing;
mod upkeep;

#[cfg(feature = "frame")]
mod frame;
mod views;

mod described;
mod held_layouts;
mod held_tails;
mod index_rows;
mod layouts;
mod lists;
mod lookup;
mod objects;
mod seen;
mod tails;
mod temporary;

pub use crate::{
    commit::{Fate, Unpinned},
    format::{Cuts, ForeignTable, LIMITS},
    id::{ChunkId, Hash},
    read::{BlockPlace, Coalesce, ExplainGroup, Layout, RowPlace, Sequences},
    write::{Gathered, Locality, Reuse, Sharing, Worst},
};
pub use changing::{Edit, GroupReplacer};
pub use described::GroupBytes;
#[cfg(feature = "frame")]
pub use frame::{ColumnMemory, Index, IndexExplain, IndexMemory, IndexPart, IndexRequest, IndexScan, MergeWriter, SplitWriter};
pub(crate) use index_rows::ranges_of;
pub use reading::{Element, Row, RowLoader, Rows, Tensor, Windows};
pub(crate) use reading::{SampleColumns, SampleKey, more_than_nothing};
pub use session::{SessionInfo, TableWriter, Ticket, WritePlan};
pub use table::Table;
pub use upkeep::{
    ColumnDiff, Cure, Damage, Diagnosis, Diff, DiffOptions, Finding, GcPlan, GcSettings, GroupDiff, GroupInfo, Repair,
    SourceInfo, TableInfo, Usage, User, UserInfo, Verification, VerifyReach, VersionInfo, VersionUsage, now_ms,
};
#[cfg(feature = "frame")]
pub use views::{SavedView, ViewSize, ViewWriter};
#[cfg(feature = "frame")]
pub(crate) use {frame::splits::check_part_names, table::split_name, views::check_targets};
