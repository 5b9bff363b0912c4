//! L5 data sets (zarr v2 groups of structured arrays: scenes, frames, agents, traffic light faces). A table has one row per frame
//! and one sequence per scene. This folder reads data sets as Arrow batches, writes them back record by record, and generates
//! them in any size.
//!
//! From the bottom up: [`blosc`] decodes chunks, [`dtype`] parses record types, [`source`] reads objects, [`mod@array`] streams
//! records, `columns` maps fields to columns. On top of these are [`Dataset`] with its [`rows`], the export ([`export()`]) and
//! the generator.

// Records are little-endian and are copied as they lie.
const _: () = assert!(cfg!(target_endian = "little"), "the L5 ingest needs a little-endian machine");

pub mod array;
mod array_writer;
pub mod blosc;
mod columns;
mod dataset;
pub mod dtype;
mod export;
mod generate;
mod intervals;
mod renumber;
pub mod rows;
mod scenes;
pub mod source;
mod staging;
mod table;

pub use dataset::Dataset;
pub use export::{Exporter, export};
pub use generate::GeneratorSettings;
pub use scenes::Scene;
pub(crate) use scenes::from_json as scenes_from_json;
pub use table::{export_table, ingest};
