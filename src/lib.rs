//! Tetrys: a columnar engine for immutable, versioned tables of machine-learning data with wide rows.
//!
//! A [`Table`] is one version of a table in a directory or an object store. Its index columns are loaded into a polars frame, the
//! [`Index`]. All other columns are stored in column groups. A [`RowLoader`] reads single rows, and windows of neighbouring rows:
//! one byte range for each column group, or two where a chunk ends inside the window.
//!
//! ```
//! # #[cfg(feature = "frame")] {
//! use std::sync::Arc;
//! use arrow_array::{ArrayRef, Int64Array, RecordBatch};
//! use tetrys::{RowLoader, Schema, Table, WriteOptions};
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
//! # let folder = tempfile::tempdir()?; let url = folder.path().join("drive").display().to_string();
//!
//! let schema = Schema::builder().index("time", "i64").group("wheel", [("wheel.ticks", "i64")]).build()?;
//! let column = |values: std::ops::Range<i64>| Arc::new(Int64Array::from_iter_values(values)) as ArrayRef;
//! let writer = Table::create(&url, schema, WriteOptions::default()).await?;
//! let mut partition = writer.partition()?;
//! partition.write(&RecordBatch::try_from_iter([("time", column(0..50)), ("wheel.ticks", column(100..150))])?).await?;
//! let table = writer.commit([partition.finish().await?]).await?;
//!
//! let late = table.index().await?.filter_sql("time >= 20")?;
//! let loader = RowLoader::new(&late)?;
//! assert_eq!(loader.get_row(0).await?.tensor::<i64>("wheel.ticks")?.values(), [120]);
//! let window = loader.get_rows(0, -2..=0).await?;
//! assert_eq!(window.mask(), [true; 3]);
//! # Ok::<(), Box<dyn std::error::Error>>(()) })?;
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | content |
//! |---|---|
//! | [`table`] | arguments and results of table methods: write options, diffs, history, usage, garbage collection, layouts |
//! | [`schema`] | columns, types, column groups, column patterns |
//! | [`blocking`] | waiting for these methods without `async`: [`block_on`] |
//! | [`store`] | directories, S3, Google Cloud Storage, Azure, HTTP; the local cache |
//! | [`ingest`] | import of Parquet, Arrow, CSV and JSON; export of Parquet and Arrow |
//! | [`extension`] | what crates need that import other formats |
//! | [`loader`] | batches for training: shuffled, shared between ranks, resumable |
//! | `recipe` | merges and views described in a TOML file |
//! | [`error`] | the error type, whose kind says what to do next |
//! | [`arrow`], [`polars`], [`ndarray`], [`half`], [`object_store`] | crates whose types are part of this API |
//!
//! The feature `testing` adds stores that count, delay and fail to [`store`], for tests of crates that use this one.
//! The feature `unstable` makes the internal modules (`codec`, `commit`, `format`, ..) public for tests and fuzz targets.
//! Internal modules change without notice.
#![cfg_attr(not(feature = "unstable"), allow(unreachable_pub, reason = "public with the feature `unstable`"))]
#![cfg_attr(not(feature = "frame"), allow(dead_code, unused_imports, reason = "the frame uses it"))]

/// Makes a method public with the feature `unstable` alone: its types are those of internal modules.
macro_rules! internal {
    ($(#[$attribute:meta])* $kind:ident $($rest:tt)*) => {
        #[cfg(feature = "unstable")]
        $(#[$attribute])*
        pub $kind $($rest)*
        #[cfg(not(feature = "unstable"))]
        #[allow(dead_code, reason = "some are called by tests alone")]
        $(#[$attribute])*
        pub(crate) $kind $($rest)*
    };
}

pub mod arrow;
pub mod blocking;
mod environment;
pub mod error;
pub mod extension {
    //! For crates that import another format. The crates `tetrys-l5`, `tetrys-logs` and `tetrys-petastorm` are written with this module.
    //!
    //! [`writer`] begins a new table, more rows or other rows, as [`IngestOptions`](crate::ingest::IngestOptions) say, and
    //! [`write_partitions`] writes sources in parallel. [`LocalFile`] reads ranges of a file that a data set names, and [`npy`] its
    //! arrays of numpy. [`blocking`] runs work that computes off the executor, [`threads`] says how many threads a call may use, and
    //! [`guarded`] makes an error of a panic of another crate. [`check_columns`] and [`check_setting`] compare rows and settings with the
    //! table that they are added to.
    //!
    //! ```no_run
    //! # async fn example(batches: Vec<tetrys::arrow::array::RecordBatch>) -> tetrys::Result<()> {
    //! use tetrys::{Schema, Store, extension::writer, ingest::IngestOptions};
    //! let schema = Schema::builder().index("id", "i64").group("image", [("image", "binary")]).build()?;
    //! let writer = writer(Store::open("pictures")?, None, schema, &IngestOptions::default()).await?;
    //! let mut partition = writer.partition()?;
    //! for batch in &batches {
    //!     partition.write(batch).await?;
    //! }
    //! writer.commit([partition.finish().await?]).await?;
    //! # Ok(()) }
    //! ```
    pub use crate::{
        error::panics::guarded,
        ingest::{
            local::LocalFile,
            partitions::write_partitions,
            target::{check_columns, check_setting, writer},
        },
        work::{blocking, threads},
    };

    pub mod npy {
        //! Arrays of numpy in files: what their headers say, and their elements in the order of C.
        pub use crate::ingest::npy::*;
    }
}
pub mod ingest;
pub mod loader;
mod progress;
mod ranges;
#[cfg(feature = "frame")]
pub mod recipe;
pub mod schema;
pub mod store;
pub mod table;
mod work;

#[cfg(not(feature = "unstable"))]
mod codec;
#[cfg(not(feature = "unstable"))]
mod commit;
#[cfg(not(feature = "unstable"))]
mod format;
#[cfg(not(feature = "unstable"))]
mod id;
#[cfg(all(feature = "frame", not(feature = "unstable")))]
mod index;
#[cfg(not(feature = "unstable"))]
mod machine;
#[cfg(not(feature = "unstable"))]
mod read;
#[cfg(not(feature = "unstable"))]
mod write;

#[cfg(feature = "unstable")]
pub mod codec;
#[cfg(feature = "unstable")]
pub mod commit;
#[cfg(feature = "unstable")]
pub mod format;
#[cfg(feature = "unstable")]
pub mod id;
#[cfg(all(feature = "frame", feature = "unstable"))]
pub mod index;
#[cfg(feature = "unstable")]
pub mod machine;
#[cfg(feature = "unstable")]
pub mod read;
#[cfg(feature = "unstable")]
pub mod write;

pub use half;
pub use ndarray;
pub use object_store;
#[cfg(feature = "frame")]
pub use polars;

pub use blocking::block_on;
pub use codec::Preset;
pub use error::{Error, ErrorKind, Result};
#[cfg(feature = "frame")]
pub use index::Merge;
pub use read::{Edge, Explain, Offsets, Pick, ReadSplit, SplitSize, TimeOffsets, Window};
#[cfg(feature = "frame")]
pub use recipe::Recipe;
pub use schema::{ColumnType, Schema, SchemaBuilder, TimeUnit};
pub use store::{Store, StoreOptions};
pub use table::{
    GroupReplacer, Row, RowLoader, Rows, RowsWriter, Table, TableUrl, TableWriter, Tensor, Ticket, Windows, WritePlan,
};
#[cfg(feature = "frame")]
pub use table::{Index, IndexExplain, IndexRequest, SavedView, TableMerge, TableSplit, ViewOptions, ViewTarget};
pub use write::{IndexTails, PartitionWriter, Receipt, WriteOptions};
