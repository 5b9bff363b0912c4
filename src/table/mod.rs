//! What a user holds: tables, their writers, and loaders of rows. The only place where writing, committing, the frame and
//! reading meet.

mod version;

mod reading;
mod session;

#[cfg(feature = "frame")]
mod index;

mod changing;
mod combine;
mod upkeep;

pub use crate::{
    commit::{Fate, Unpinned},
    format::{Cuts, ForeignTable, LIMITS},
    id::{ChunkId, Hash},
    read::{BlockPlace, BlockPlaces, ChunkRun, Coalesce, ExplainGroup, Layout, RangePlace, RowPlace, Sequences},
    write::{Gathered, Locality, Reuse, Sharing, Worst},
};
pub use changing::{Edit, GroupReplacer};
#[cfg(feature = "frame")]
pub use combine::{SavedView, TableMerge, TableSplit, ViewOptions, ViewSize, ViewTarget};
#[cfg(feature = "frame")]
pub(crate) use combine::{ViewInput, check_part_names, save_views, view_sizes};
#[cfg(feature = "frame")]
pub use index::{ColumnMemory, Index, IndexExplain, IndexMemory, IndexPart, IndexRequest, IndexScan};
pub use reading::{Element, Row, RowLoader, Rows, Tensor, Windows};
pub(crate) use reading::{SampleColumns, SampleKey};
pub use session::{RowsWriter, SessionInfo, TableWriter, Ticket, WritePlan};
pub use upkeep::{
    ColumnDiff, Cure, Damage, Diagnosis, Diff, DiffOptions, Finding, GcPlan, GcSettings, GroupDiff, GroupInfo, Repair,
    SourceInfo, Storage, TableInfo, Usage, User, UserInfo, Verification, VerifyReach, VersionInfo, VersionUsage, Versions,
    now_ms,
};
pub(crate) use version::ranges_of;
pub use version::{GroupBytes, SegmentGroup, SegmentInfo, Table, TableUrl};
