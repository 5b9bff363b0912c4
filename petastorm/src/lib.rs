//! Petastorm data sets in Tetrys tables: imports their rows, and never runs their pickles.
//!
//! A Petastorm data set is a folder of Parquet files. Its schema, the Unischema, is a pickled Python object in the footer of the
//! file `_common_metadata`, and so are its row-group indexes. Loading a pickle runs code of whoever wrote it. [`pickle`] reads
//! the same bytes as data: it imports and calls nothing.
//!
//! [`ingest`] makes a table of a data set: each field becomes a column, decoded and checked against its declared type and shape.
//! Column properties keep the schema. A folder of Parquet files without a Petastorm schema is imported as
//! [frames](tetrys::ingest::frame) are.
//!
//! ```no_run
//! # async fn example() -> tetrys::Result<()> {
//! use tetrys::Store;
//! use tetrys_petastorm::{Dataset, IngestSettings, ingest};
//! let dataset = Dataset::open("hello_world").await?;
//! let table = ingest(&dataset, Store::open("table")?, &IngestSettings::default(), |_| {}).await?;
//! # Ok(()) }
//! ```
//!
//! | module | content |
//! |---|---|
//! | [`footer`] | the metadata of a Parquet file whose values have any bytes |
//! | [`pickle`] | pickles as data |
//! | [`unischema`] | names, types, shapes and codecs of fields |
//! | [`row_groups`] | row-group indexes |
//! | [`npy`] | numpy's array files, and archives of one |
//!
//! The behaviour is that of Petastorm 0.13.1. It is compared with what Petastorm 0.12.1 decodes of data sets that Petastorm
//! 0.4.0, 0.5.1 and 0.7.6 wrote.

mod builders;
mod cells;
mod columns;
mod dataset;
pub mod footer;
pub mod npy;
pub mod pickle;
mod pictures;
mod plain;
pub mod row_groups;
mod rows;
mod settings;
mod source;
mod table;
pub mod unischema;

pub use columns::{INDEXES, ROW_GROUP, SCHEMA};
pub use dataset::Dataset;
pub use row_groups::RowGroupIndex;
pub use settings::IngestSettings;
pub use table::{ingest, warnings};
pub use unischema::Unischema;

// Numbers of arrays are little-endian and are copied as they lie.
const _: () = assert!(cfg!(target_endian = "little"), "the Petastorm import needs a little-endian machine");
