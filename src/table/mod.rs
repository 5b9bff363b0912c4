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
mod index_rows;
mod layout_cache;
mod layouts;
mod lists;
mod lookup;
mod objects;
mod seen;
mod storage;
mod tail_cache;
mod tails;
mod temporary;
mod url;
mod versions;

pub use crate::{
    commit::{Fate, Unpinned},
    format::{Cuts, ForeignTable, LIMITS},
    id::{ChunkId, Hash},
    read::{BlockPlace, BlockPlaces, ChunkRun, Coalesce, ExplainGroup, Layout, RangePlace, RowPlace, Sequences},
    write::{Gathered, Locality, Reuse, Sharing, Worst},
};
pub use changing::{Edit, GroupReplacer};
pub use described::{GroupBytes, SegmentGroup, SegmentInfo};
#[cfg(feature = "frame")]
pub use frame::{ColumnMemory, Index, IndexExplain, IndexMemory, IndexPart, IndexRequest, IndexScan, TableMerge, TableSplit};
pub(crate) use index_rows::ranges_of;
pub use reading::{Element, Row, RowLoader, Rows, Tensor, Windows};
pub(crate) use reading::{SampleColumns, SampleKey};
pub use session::{RowsWriter, SessionInfo, TableWriter, Ticket, WritePlan};
pub use storage::Storage;
pub use table::Table;
pub use upkeep::{
    ColumnDiff, Cure, Damage, Diagnosis, Diff, DiffOptions, Finding, GcPlan, GcSettings, GroupDiff, GroupInfo, Repair,
    SourceInfo, TableInfo, Usage, User, UserInfo, Verification, VerifyReach, VersionInfo, VersionUsage, now_ms,
};
pub use url::TableUrl;
pub use versions::Versions;
#[cfg(feature = "frame")]
pub use views::{SavedView, ViewOptions, ViewSize, ViewTarget};
#[cfg(feature = "frame")]
pub(crate) use {
    frame::splits::check_part_names,
    views::{ViewInput, save_views, view_sizes},
};
