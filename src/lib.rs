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
//! | [`blocking`] | the same methods without `async` |
//! | [`store`] | directories, S3, Google Cloud Storage, Azure, HTTP; the local cache |
//! | [`ingest`] | import and export of Parquet, Arrow, CSV, JSON and Level 5 data |
//! | [`loader`] | batches for training: shuffled, shared between ranks, resumable |
//! | `recipe` | merges and views described in a TOML file |
//! | [`error`] | the error type, whose kind says what to do next |
//! | [`arrow`], [`polars`], [`ndarray`], [`half`], [`object_store`] | crates whose types are part of this API |
//!
//! The feature `unstable` makes the internal modules (`codec`, `commit`, `format`, ..) public for tests and fuzz targets.
//! Internal modules change without notice.
#![cfg_attr(
    not(feature = "unstable"),
    allow(dead_code, unreachable_pub, unused_imports, reason = "public with the feature `unstable`")
)]

mod ahead;
pub mod arrow;
pub mod blocking;
mod environment;
pub mod error;
mod flight;
#[cfg(feature = "frame")]
mod hints;
pub mod ingest;
pub mod loader;
mod offload;
mod once;
mod panics;
mod progress;
mod ranges;
#[cfg(feature = "frame")]
pub mod recipe;
pub mod schema;
pub mod store;
pub mod table;
mod threads;
mod waves;
mod words;

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

pub use codec::Preset;
pub use error::{Error, ErrorKind, Result};
#[cfg(feature = "frame")]
pub use index::Merge;
pub use read::{Edge, Explain, Offsets, Pick, Split, SplitSize, TimeOffsets, Window};
#[cfg(feature = "frame")]
pub use recipe::Recipe;
pub use schema::{ColumnType, Schema, SchemaBuilder, TimeUnit};
pub use store::{Store, StoreOptions};
pub use table::{GroupReplacer, Row, RowLoader, Rows, Table, TableWriter, Tensor, Ticket, Windows, WritePlan};
#[cfg(feature = "frame")]
pub use table::{Index, IndexExplain, IndexRequest, MergeWriter, SavedView, SplitWriter, ViewWriter};
pub use write::{IndexTails, PartitionWriter, Receipt, WriteOptions};
