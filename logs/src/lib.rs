//! Logs in Tetrys tables: messages of MCAP and ROS recordings become synchronised rows.
//!
//! A log has streams of many types and rates. A [`Recipe`] says which clock makes rows, and which messages each row gets. [`ingest`]
//! makes a table of logs by a recipe: one sequence for each log, and the time difference of each matched message beside its
//! values.
//!
//! ```no_run
//! # async fn example() -> tetrys::Result<()> {
//! use tetrys::Store;
//! use tetrys_logs::{IngestSettings, LogSource, Recipe, ingest};
//! let recipe = Recipe::parse(&std::fs::read_to_string("sync.toml")?)?;
//! let logs = [LogSource::of("monday.mcap")?, LogSource::of("tuesday.mcap")?];
//! let ingested = ingest(&logs, Store::open("table")?, &IngestSettings::new(recipe), |_| {}).await?;
//! println!("{} rows", ingested.table.rows());
//! # Ok(()) }
//! ```
//!
//! | module | content |
//! |---|---|
//! | [`recipe`] | clocks, matches and their settings |
//! | [`cluster`] | imports that several processes carry out |
//! | [`bag`] | ROS 1 bags: channels, messages |
//! | [`mcap`] | MCAP files: channels, blocks, messages |
//! | [`msg`], [`idl`] | definitions of ROS messages |
//! | [`types`] | types of messages of all encodings |
//!
//! [`info()`] says what a log has, [`plan`] writes a recipe to start from, and [`rows()`] gives rows without a table.

mod ahead;
pub mod bag;
mod cells;
pub mod cluster;
mod columns;
mod decoder;
mod definitions;
mod entries;
mod folder;
mod found;
pub mod idl;
mod images;
mod info;
mod input;
mod json;
mod layout;
mod limits;
mod log;
mod matching;
pub mod mcap;
pub mod msg;
mod points;
mod proto;
pub mod recipe;
mod recording;
mod report;
mod resume;
mod ros;
mod rows;
mod same;
mod slerp;
mod sparse;
mod sqlite;
mod table;
mod tables;
mod tf;
mod times;
mod transforms;
pub mod types;
mod unpack;
mod video;
mod window;

pub use info::{FileInfo, LogInfo, TopicReport, info, plan};
pub use input::Input;
pub use layout::{LOG, PART, TIME};
pub use log::{Log, LogSource, OpenOptions};
pub use recipe::Recipe;
pub use recording::Recording;
pub use report::{LogReport, MatchReport, Report};
pub use rows::rows;
pub use table::{IngestSettings, Ingested, RECIPE, REPORT};
pub use tables::ingest;
pub use tf::TfReport;
pub use times::parse_time;

// Numbers of messages are little-endian and are copied as they lie.
const _: () = assert!(cfg!(target_endian = "little"), "the import of logs needs a little-endian machine");
