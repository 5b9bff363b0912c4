//! L5 data sets (zarr v2 groups of structured arrays: scenes, frames, agents, traffic light faces): one row a frame, a sequence
//! a scene. Read as Arrow batches, written back record for record, and generated in any size.
//!
//! Bottom up: [`blosc`] decodes chunks, [`dtype`] says what records are, [`source`] finds bytes, [`mod@array`] streams records,
//! `columns` maps fields to columns; then [`Dataset`], its [`rows`], the way back ([`export()`]) and the generator.

// Records are little-endian and are taken over as they lie.
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
pub mod rows;
mod scenes;
pub mod source;
mod staging;
mod table;

pub use dataset::Dataset;
pub use export::{Exporter, export};
pub use generate::GeneratorSettings;
pub use scenes::Scene;
pub use table::{IngestSettings, export_table, ingest};
